"""What a document counts as when several people judged it: a stated policy, never a matter of timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sounding.judge.records import AUDIT, Event, Selection
from sounding.judge.settings import Feed


class Verdict(NamedTuple):
    """Whether anybody judged a document, and its grade; None: nobody could, or it is not settled yet."""

    judged: bool
    grade: float | None


NOT_JUDGED = Verdict(False, None)


@dataclass(slots=True)
class Opinions:
    """All that is said of one document: the grade of every assessor, whoever judged first being first.

    Who looks at what others did, in an audit, comes after them all.
    """

    grades: dict[str, float | None] = field(default_factory=dict)  # None: could not judge it
    selections: dict[str, Selection | None] = field(default_factory=dict)
    adjudicated: Verdict = NOT_JUDGED
    withdrawn: Selection | None = None  # of the last judgment that was taken back, audits apart

    def take(self, event: Event) -> None:
        """Follow a judgment, a change, a withdrawal or an adjudication."""
        if event.kind == "adjudicate":
            self.adjudicated = Verdict(True, event.grade)
        elif event.kind == "withdraw":
            self.grades.pop(event.assessor or "", None)
            selection = self.selections.pop(event.assessor or "", None)
            if selection is not None and selection.policy != AUDIT:
                self.withdrawn = selection
        elif event.kind == "judge":
            self.grades[event.assessor or ""] = event.grade
            self.selections[event.assessor or ""] = event.selection

    def verdict(self, feed: Feed) -> Verdict:
        """What the document counts as."""
        in_turn = sorted(self.grades, key=self._looks_after_others)
        given = [grade for grade in map(self.grades.__getitem__, in_turn) if grade is not None]
        if feed == "adjudicated" and self.adjudicated.judged:
            return self.adjudicated
        if not self.grades:
            return NOT_JUDGED
        if not given or (feed == "adjudicated" and len(set(given)) > 1):
            return Verdict(True, None)
        if feed == "majority":
            counts = Counter(given)
            return Verdict(True, max(given, key=lambda grade: (counts[grade], -given.index(grade))))
        return Verdict(True, given[0])

    def _looks_after_others(self, who: str) -> bool:
        """Whether a grade is of an audit; those that do not name their draw stand where they stood before."""
        selection = self.selections.get(who)
        return selection is not None and selection.policy == AUDIT and selection.policy_version > 0

    @property
    def differ(self) -> bool:
        """Whether assessors gave different grades; who could not judge it has no vote."""
        return len({grade for grade in self.grades.values() if grade is not None}) > 1

    def unsettled(self, feed: Feed) -> bool:
        """Whether assessors differ, so that only an organiser can say what the document counts as."""
        return feed == "adjudicated" and not self.adjudicated.judged and self.differ

    @property
    def judges(self) -> set[str]:
        """Those among whom an overlap is shared out; who graded the document in an audit is none of them."""
        return {who for who, one in self.selections.items() if one is None or one.policy != AUDIT}

    @property
    def selection(self) -> Selection | None:
        """How the document came to be judged first, other than by an audit."""
        given = (one for one in self.selections.values() if one is None or one.policy != AUDIT)
        return next(given, self.withdrawn)


def opinions_of(events: Iterable[Event]) -> Opinions:
    """All that the events of one document say of it."""
    opinions = Opinions()
    for event in events:
        opinions.take(event)
    return opinions
