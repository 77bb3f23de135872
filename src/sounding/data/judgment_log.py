"""Decide which judgments of a judging log are valid, for the judging server and for readers of its log.

The last judgment of each assessor on each document counts. `judge` is a judgment or a change of one; undoing
a change restores the previous judgment. `withdraw` takes back the only judgment. `skip` postpones a document
and `unskip` undoes that. An event that undoes another one names its number.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

Place = TypeVar("Place", bound=Hashable)  # identifies an assessor and a document
Judgment = TypeVar("Judgment")


class StandingJudgments(dict[Place, list[Judgment]], Generic[Place, Judgment]):
    """Map each place to its judgments, oldest first; the last one is valid, the others are its history.

    Places are in the order of their first judgment; after a withdrawal a place starts again at the end.
    """

    def follow(self, place: Place, kind: str, judgment: Judgment, *, undoes: bool) -> None:
        """Apply the next event of a place; events other than `judge` and `withdraw` change nothing."""
        if kind == "withdraw":
            self.pop(place, None)
        elif kind == "judge":
            history = self.setdefault(place, [])
            if undoes and len(history) > 1:
                history.pop()
            # the log lacks its beginning: the event repeats the judgment that is valid again
            elif undoes and history:
                history[-1] = judgment
            else:
                history.append(judgment)


def before_labels(
    history: Sequence[Judgment], shown: Callable[[Judgment], Collection[str]]
) -> dict[str, Judgment | None]:
    """Map each machine whose label was shown to the last judgment made before that; None: there is none."""
    found: dict[str, Judgment | None] = {}
    for place, one in enumerate(history):
        found |= {who: history[place - 1] if place else None for who in shown(one) if who not in found}
    return found


class Act(Protocol):
    """An event of the log, as far as these rules need it."""

    @property
    def kind(self) -> str:
        """Return what was done."""

    @property
    def sequence(self) -> int:
        """The number of the event."""

    @property
    def doc(self) -> str | None:
        """The document of the event."""

    @property
    def undoes(self) -> int | None:
        """The number of the event that this one undoes, or None."""


SomeAct = TypeVar("SomeAct", bound=Act)


def standing_acts(newest_first: Iterable[SomeAct]) -> Iterator[SomeAct]:
    """Yield an assessor's judgments, changes and skips that were not undone, newest first.

    The first judgment of a document is the one that `StandingJudgments` holds.
    """
    undone: set[int] = set()
    ended: set[str | None] = set()  # documents whose judgments were withdrawn
    judged: set[str | None] = set()  # a judgment ends an earlier skip
    for event in newest_first:
        if event.undoes is not None:
            undone.add(event.undoes)
        elif event.kind == "withdraw":
            ended.add(event.doc)
        elif event.sequence not in undone and event.doc not in (
            ended if event.kind == "judge" else ended | judged
        ):
            yield event
        if event.kind == "judge":
            judged.add(event.doc)
