"""Hold the grades of several assessors as one table, and find the judgments of a log that are in force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Any

import numpy as np

from sounding.agree.command import Outside
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.data.columns import Records, describe_value, records_of_items
from sounding.data.delimited import first_record
from sounding.data.fast.tokens import Tokens
from sounding.data.judgment_log import StandingJudgments
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.structured import decode_lines
from sounding.data.tables import Places, Qrels

MARKS = ('"kind"', '"sequence"')  # members that only events of a log have
# Kinds of events that affect judgments; a label is one by a machine.
FOLLOWED = ("judge", "label", "withdraw", "skip", "unskip", "adjudicate")
NAMED = ("topic", "doc", "assessor")

Members = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCounts:
    """Number of judgments of a log that are in force, and of events that were left out."""

    source: str
    standing: int
    changed: int  # grades that the same assessor replaced
    withdrawn: int  # judgments and changes that were withdrawn
    cannot: int  # judgments in force saying that the document could not be judged
    skipped: int  # skips that were not undone
    adjudicated: int  # decisions between assessors, which belong to no single one


def is_log(content: Content) -> bool:
    """Return whether lines of JSON are the events of a judgment log."""
    line = first_record(content)
    return all(mark in line for mark in MARKS)


def standing_records(content: Content, problems: Problems) -> tuple[Records | None, LogCounts]:
    """Return a row for each judgment that is in force, and the counts of what was left out."""
    seen: Counter[str] = Counter()
    standing: StandingJudgments[tuple[str, ...], tuple[int, Members]] = StandingJudgments()
    for line, event in _in_order(content, problems):
        kind = str(event["kind"])
        if kind == "project" and dict(event.get("detail") or {}).get("kind") == "preferences":
            raise FormatError(
                content.source, line,
                "the log of a project of preferences; expected one of grades: write the preferences with"
                " `sounding judge export DIR prefs`, and give agree that file",
            )  # fmt: skip
        if kind not in FOLLOWED:
            continue
        lacking = [name for name in NAMED if not isinstance(event.get(name), str)]
        if lacking:
            problems.note(line, f"an event {kind!r} without {lacking[0]}; expected {', '.join(NAMED)}")
            continue
        place = tuple(str(event[name]) for name in NAMED)
        goes_back = kind == "judge" and "undoes" in dict(event.get("detail") or {})
        seen["withdraw" if goes_back else kind] += 1
        standing.follow(place, "judge" if kind == "label" else kind, (line, event), undoes=goes_back)
    last = {place: _independent(history) for place, history in standing.items()}
    graded = {place: row for place, row in last.items() if row[1].get("grade") is not None}
    counts = LogCounts(
        source=content.source, standing=len(graded), withdrawn=seen["withdraw"],
        changed=sum(len(history) - 1 for history in standing.values()),
        cannot=len(standing) - len(graded), skipped=seen["skip"] - seen["unskip"],
        adjudicated=seen["adjudicate"],
    )  # fmt: skip
    return _records(graded, problems), counts


def _independent(history: Sequence[tuple[int, Members]]) -> tuple[int, Members]:
    """Return the last judgment from before its assessor saw a label; if there is none, the last one."""
    blind = takewhile(lambda row: not dict(row[1].get("detail") or {}).get("labels"), history)
    return (list(blind) or history)[-1]


def _in_order(content: Content, problems: Problems) -> list[tuple[int, Members]]:
    """Return (line, event) by sequence number; report and omit repeated events and what is not an event."""
    numbered: dict[int, tuple[int, Members]] = {}
    for line, members in decode_lines(content, problems):
        event = dict(members)
        sequence = event.get("sequence")
        if "kind" not in event or not str(sequence).isdigit():
            problems.note(
                line, f"the sequence is {describe_value(sequence)}; expected an event with kind and number"
            )
        elif int(str(sequence)) in numbered:
            problems.note(line, f"event {sequence} occurs here a second time; expected every event once")
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

MOST_GRADES = 50  # more distinct values than this are measurements, not grades


def everyone(marks: Marks) -> Marks:
    """Return for each row whether all assessors have the mark."""
    return np.logical_and.reduce(marks, axis=1)


def anyone(marks: Marks) -> Marks:
    """Return for each row whether at least one assessor has the mark."""
    return np.logical_or.reduce(marks, axis=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """Documents that one assessor judged more than once, and how they were resolved."""

    assessor: str
    pairs: int  # (topic, document) pairs that are listed more than once
    rows: int  # rows after the first of each pair
    contradictory: int  # pairs with different grades
    policy: str
    example: str  # the first contradiction, or else the first repeat


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Panel:
    """Grades by document and assessor; the documents of topic t are rows starts[t] to starts[t + 1] - 1.

    It holds each document that at least one assessor judged, by topic and then in the byte order of the ids.
    """

    assessors: tuple[str, ...]
    topics: tuple[str, ...]  # in byte order
    starts: Places  # (topic + 1,)
    docs: Tokens  # (row,)
    grades: NDArray[np.float64]  # (row, assessor) at least 0; NaN: not judged
    repeats: tuple[Repeats, ...] = ()
    logs: tuple[LogCounts, ...] = ()  # one for each judgment log that was read
    filled: tuple[int, ...] = ()  # (assessor,) number of grades that `fill_outside` added

    @property
    def topic(self) -> Places:
        """Return the topic of each row."""
        return np.repeat(np.arange(len(self.topics)), np.diff(self.starts))

    @property
    def judged(self) -> Marks:
        """Return (row, assessor): whether the assessor judged the document."""
        return ~np.isnan(self.grades)

    def relevant(self, level: float = 1) -> Marks:
        """Return (row, assessor): whether the assessor found the document relevant; False if unjudged."""
        return self.grades >= level

    def count(self, rows: Marks) -> Places:
        """Return (topic, ...): the number of true rows in each topic."""
        sums = np.concatenate([np.zeros((1, *rows.shape[1:]), np.int64), np.cumsum(rows, axis=0)])
        return sums[self.starts[1:]] - sums[self.starts[:-1]]

    def scale(self) -> NDArray[np.float64]:
        """Return the distinct grades, ascending."""
        found = np.unique(self.grades[self.judged])
        if len(found) > MOST_GRADES:
            raise DataError(
                f"{len(found)} different grades; agreement is defined for at most {MOST_GRADES}:"
                " round them, or settle repeated rows by majority"
            )
        return found

    def place(self, assessor: str) -> int:
        """Return the column of an assessor."""
        if assessor not in self.assessors:
            raise UnknownNameError("assessor", assessor, self.assessors)
        return self.assessors.index(assessor)

    def qrels_of(self, assessor: int) -> Qrels:
        """Return one assessor's judgments, with all topics, even those without judgments."""
        return self.as_qrels(self.grades[:, assessor], self.assessors[assessor])

    def as_qrels(self, grades: NDArray[np.float64], source: str) -> Qrels:
        """Return a column of grades as qrels, on the scale of all assessors; NaN: unjudged."""
        whole = Qrels(
            source=source, topics=self.topics, starts=self.starts, docs=self.docs, grades=grades,
            highest=float(np.nanmax(self.grades)),
        )  # fmt: skip
        return whole.keep(~np.isnan(grades))


def fill_outside(panel: Panel, how: Outside, *, primary: int = 0, level: float = 1) -> Panel:
    """Return the panel with grades filled in for documents that an assessor of the topic did not judge.

    `common`: they stay unjudged, and pairs of assessors are compared on what both judged. `primary`:
    documents that the primary assessor found relevant count as relevant for the others too (Voorhees 2002,
    Table 1). `nonrelevant`: they get grade 0.
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
