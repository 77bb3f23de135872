"""What a document counts as when several people judged it: a stated policy, never a matter of timing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from sounding.data.judgment_log import StandingJudgments
from sounding.judge.records import AUDIT, Event, Selection
from sounding.judge.settings import Feed


class CountedGrade(NamedTuple):
    """Whether anybody judged a document, and its grade; None: nobody could, or it is not settled yet."""

    judged: bool
    grade: float | None


NOT_JUDGED = CountedGrade(False, None)


@dataclass(slots=True)
class Opinions:
    """All that is said of one document: the grade of every assessor, whoever judged first being first.

    Who looks at what others did, in an audit, comes after them all.
    """

    given: StandingJudgments[str, Event] = field(default_factory=StandingJudgments)  # by assessor
    adjudicated: CountedGrade = NOT_JUDGED
    withdrawn: Selection | None = None  # of the last judgment that was taken back, audits apart

    def take(self, event: Event) -> None:
        """Follow a judgment, a change, a withdrawal or an adjudication."""
        who = event.assessor or ""
        if event.kind == "adjudicate":
            self.adjudicated = CountedGrade(True, event.grade)
            return
        if event.kind == "withdraw" and who in self.given:
            selection = self.given[who][-1].selection
            if selection is not None and selection.policy != AUDIT:
                self.withdrawn = selection
        self.given.follow(who, event.kind, event, undoes=event.undoes is not None)

    @property
    def grades(self) -> dict[str, float | None]:
        """The grade of every assessor; None: could not judge it."""
        return {who: history[-1].grade for who, history in self.given.items()}

    @property
    def selections(self) -> dict[str, Selection | None]:
        """How the document came to every assessor."""
        return {who: history[-1].selection for who, history in self.given.items()}

    def verdict(self, feed: Feed) -> CountedGrade:
        """What the document counts as."""
        in_turn = sorted((history[-1] for history in self.given.values()), key=_looks_after_others)
        given = [one.grade for one in in_turn if one.grade is not None]
        if feed == "adjudicated" and self.adjudicated.judged:
            return self.adjudicated
        if not self.given:
            return NOT_JUDGED
        if not given or (feed == "adjudicated" and len(set(given)) > 1):
            return CountedGrade(True, None)
        if feed == "majority":
            counts = Counter(given)
            return CountedGrade(True, max(given, key=lambda grade: (counts[grade], -given.index(grade))))
        return CountedGrade(True, given[0])

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


def _looks_after_others(judgment: Event) -> bool:
    """Whether a judgment is of an audit."""
    return judgment.selection is not None and judgment.selection.policy == AUDIT


def opinions_of(events: Iterable[Event]) -> Opinions:
    """All that the events of one document say of it."""
    opinions = Opinions()
    for event in events:
        opinions.take(event)
    return opinions
