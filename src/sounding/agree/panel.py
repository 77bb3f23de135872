"""What several assessors said of the same documents as one table, and which judgment of a log stands."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.agree.command import Outside
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError
from sounding.data.columns import Records, describe_value, records_of_items
from sounding.data.delimited import first_record
from sounding.data.fast.tokens import Tokens
from sounding.data.judgment_log import StandingJudgments
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.structured import decode_lines
from sounding.data.tables import Places, Qrels

MARKS = ('"kind"', '"sequence"')  # members that every event has and no other table of judgments
FOLLOWED = ("judge", "withdraw", "skip", "unskip", "adjudicate")  # kinds of events that are about judgments
NAMED = ("topic", "doc", "assessor")

Members = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCounts:
    """What a judgment log holds: the judgments that stand, and all that was left out."""

    source: str
    standing: int
    changed: int  # grades that the same assessor gave another time
    withdrawn: int  # judgments and changes that were taken back
    cannot: int  # judgments that stand and say that the document could not be judged
    skipped: int  # times that a document was passed over, and this was not taken back
    adjudicated: int  # decisions between assessors, which are no assessor's own judgment


def is_log(content: Content) -> bool:
    """Return whether lines of JSON are the events of a judgment log."""
    line = first_record(content)
    return all(mark in line for mark in MARKS)


def standing_records(content: Content, problems: Problems) -> tuple[Records | None, LogCounts]:
    """One row for every judgment that stands, and what was left out."""
    seen: Counter[str] = Counter()
    standing: StandingJudgments[tuple[str, ...], tuple[int, Members]] = StandingJudgments()
    for line, event in _in_order(content, problems):
        kind = str(event["kind"])
        if kind not in FOLLOWED:
            continue
        lacking = [name for name in NAMED if not isinstance(event.get(name), str)]
        if lacking:
            problems.note(line, f"an event {kind!r} without {lacking[0]}; expected {', '.join(NAMED)}")
            continue
        place = tuple(str(event[name]) for name in NAMED)
        goes_back = kind == "judge" and "undoes" in dict(event.get("detail") or {})
        seen["withdraw" if goes_back else kind] += 1
        standing.follow(place, kind, (line, event), undoes=goes_back)
    last = {place: history[-1] for place, history in standing.items()}
    graded = {place: row for place, row in last.items() if row[1].get("grade") is not None}
    counts = LogCounts(
        source=content.source, standing=len(graded), withdrawn=seen["withdraw"],
        changed=sum(len(history) - 1 for history in standing.values()),
        cannot=len(standing) - len(graded), skipped=seen["skip"] - seen["unskip"],
        adjudicated=seen["adjudicate"],
    )  # fmt: skip
    return _records(graded, problems), counts


def _in_order(content: Content, problems: Problems) -> list[tuple[int, Members]]:
    """(line, event) by sequence number; what is no event, or comes twice, is noted and left out."""
    numbered: dict[int, tuple[int, Members]] = {}
    for line, members in decode_lines(content, problems):
        event = dict(members)
        sequence = event.get("sequence")
        if "kind" not in event or not str(sequence).isdigit():
            problems.note(
                line, f"the sequence is {describe_value(sequence)}; expected an event with kind and number"
            )
        elif int(str(sequence)) in numbered:
            problems.note(line, f"event {sequence} stands here a second time; expected every event once")
        else:
            numbered[int(str(sequence))] = (line, event)
    return [numbered[number] for number in sorted(numbered)]


def _records(graded: dict[tuple[str, ...], tuple[int, Members]], problems: Problems) -> Records | None:
    if not graded:
        return None
    events = [event for _, event in graded.values()]
    columns: dict[str, list[Any]] = {
        role: [event[name] for event in events]
        for role, name in (("topic", "topic"), ("doc", "doc"), ("group", "assessor"), ("grade", "grade"))
    }
    return records_of_items(columns, np.array([line for line, _ in graded.values()], np.int64), problems)


Marks = NDArray[np.bool_]

MOST_GRADES = 50  # beyond so many different ones they are measurements, not grades


def everyone(marks: Marks) -> Marks:
    """(row,): where a mark (row, assessor) is set for all."""
    return np.logical_and.reduce(marks, axis=1)


def anyone(marks: Marks) -> Marks:
    """(row,): where a mark (row, assessor) is set for at least one."""
    return np.logical_or.reduce(marks, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """What one assessor said more than once, and what was made of it."""

    assessor: str
    pairs: int  # documents of a topic that are listed more than once
    rows: int  # rows beyond the first of each
    contradictory: int  # of these documents, those with different grades
    policy: str
    example: str  # the first contradiction, or else the first repeat


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Panel:
    """Grades by document and assessor: the documents of topic t are rows starts[t] to starts[t + 1].

    A document is there if anybody judged it. Within a topic documents stand in the byte order of their ids.
    """

    assessors: tuple[str, ...]
    topics: tuple[str, ...]  # in byte order
    starts: Places  # (topic + 1,)
    docs: Tokens  # (row,)
    grades: NDArray[np.float64]  # (row, assessor) at least 0; NaN: not judged
    repeats: tuple[Repeats, ...] = ()
    logs: tuple[LogCounts, ...] = ()  # of every judgment log that was read
    filled: tuple[int, ...] = ()  # (assessor,) grades that came from `fill_outside`, where it was used

    @property
    def topic(self) -> Places:
        """The topic of every row."""
        return np.repeat(np.arange(len(self.topics)), np.diff(self.starts))

    @property
    def judged(self) -> Marks:
        """(row, assessor): who judged what."""
        return ~np.isnan(self.grades)

    def relevant(self, level: float = 1) -> Marks:
        """(row, assessor): who found what relevant; a document that was not judged is not."""
        return self.grades >= level

    def count(self, rows: Marks) -> Places:
        """(topic, ...): how many rows of each topic are true."""
        sums = np.concatenate([np.zeros((1, *rows.shape[1:]), np.int64), np.cumsum(rows, axis=0)])
        return sums[self.starts[1:]] - sums[self.starts[:-1]]

    def scale(self) -> NDArray[np.float64]:
        """Every grade that anybody gave, ascending."""
        found = np.unique(self.grades[self.judged])
        if len(found) > MOST_GRADES:
            raise DataError(
                f"{len(found)} different grades; agreement is defined for at most {MOST_GRADES}:"
                " round them, or settle repeated rows by majority"
            )
        return found

    def place(self, assessor: str) -> int:
        """The column of an assessor."""
        if assessor not in self.assessors:
            raise UnknownNameError("assessor", assessor, self.assessors)
        return self.assessors.index(assessor)

    def qrels_of(self, assessor: int) -> Qrels:
        """One assessor's judgments; all topics stay, those without any are empty."""
        return self.as_qrels(self.grades[:, assessor], self.assessors[assessor])

    def as_qrels(self, grades: NDArray[np.float64], source: str) -> Qrels:
        """A column of grades for these documents as judgments, on the scale of all; NaN: not judged."""
        whole = Qrels(
            source=source, topics=self.topics, starts=self.starts, docs=self.docs, grades=grades,
            highest=float(np.nanmax(self.grades)),
        )  # fmt: skip
        return whole.keep(~np.isnan(grades))


def fill_outside(panel: Panel, how: Outside, *, primary: int = 0, level: float = 1) -> Panel:
    """The panel with a grade for documents that an assessor of the topic was not shown.

    `common`: they stay unjudged, and pairs of assessors are compared on what both judged. `primary`: what the
    primary assessor found relevant counts as relevant for the others too (Voorhees 2002, Table 1).
    `nonrelevant`: whatever an assessor did not judge in a topic of theirs has grade 0.
    """
    if how == "common":
        return panel
    open_to = ~panel.judged & (panel.count(panel.judged) > 0)[panel.topic]
    if how == "primary":
        theirs = panel.grades[:, [primary]]
        taken = open_to & (theirs >= level)
        grades = np.where(taken, theirs, panel.grades)
    else:
        taken = open_to
        grades = np.where(taken, 0.0, panel.grades)
    return replace(panel, grades=grades, filled=tuple(np.count_nonzero(taken, axis=0).tolist()))
