"""Which judgments of a judging log stand: one rule for the judging server and for whoever reads its log.

The last word of each assessor on each document counts. `judge` is a judgment, or the change of one; one that
undoes a change goes back to the judgment before it. `withdraw` takes back the only judgment there is.
`skip` puts a document off, `unskip` takes that back. What undoes an act names its number.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Generic, Protocol, TypeVar

Place = TypeVar("Place", bound=Hashable)  # an assessor and a document, in whatever form
Judgment = TypeVar("Judgment")


class StandingJudgments(dict[Place, list[Judgment]], Generic[Place, Judgment]):
    """Place -> the judgment that stands there, last, behind all that it was changed from.

    Places stand in the order in which they were first judged; one that was withdrawn begins anew.
    """

    def follow(self, place: Place, kind: str, judgment: Judgment, *, undoes: bool) -> None:
        """Take in the next event of a place; events other than `judge` and `withdraw` change nothing."""
        if kind == "withdraw":
            self.pop(place, None)
        elif kind == "judge":
            history = self.setdefault(place, [])
            if undoes and len(history) > 1:
                history.pop()
            elif undoes and history:  # of a log without its beginning: the event repeats what stands again
                history[-1] = judgment
            else:
                history.append(judgment)


class Act(Protocol):
    """What it takes to know of an event."""

    @property
    def kind(self) -> str:
        """What was done."""

    @property
    def sequence(self) -> int:
        """The number of the event."""

    @property
    def doc(self) -> str | None:
        """The document that it is about."""

    @property
    def undoes(self) -> int | None:
        """The number of the event that this one takes back; None: it takes nothing back."""


SomeAct = TypeVar("SomeAct", bound=Act)


def standing_acts(newest_first: Iterable[SomeAct]) -> Iterator[SomeAct]:
    """Yield an assessor's judgments, changes and skips that were not taken back, from the newest on.

    The first judgment of a document among them is the one that `StandingJudgments` has.
    """
    undone: set[int] = set()
    ended: set[str | None] = set()  # documents of which all before was taken back at once
    judged: set[str | None] = set()  # a judgment ends a skip of before
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
