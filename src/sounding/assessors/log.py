"""The judgments that stand in a judgment log: of each assessor and document the last, unless taken back.

A log holds one event a line, in JSON. Its order is that of the sequence numbers, never of times.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from sounding.data.columns import Records, records_of_items, shown
from sounding.data.delimited import first_record
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.structured import decoded_lines

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

    def __str__(self) -> str:
        return (
            f"{self.source}: {self.standing:,} judgments stand; left out: could not judge {self.cannot:,},"
            f" skipped {self.skipped:,}, taken back {self.withdrawn:,}, changed later {self.changed:,},"
            f" adjudications {self.adjudicated:,}"
        )


def is_log(content: Content) -> bool:
    """Whether lines of JSON are the events of a judgment log."""
    line = first_record(content)
    return all(mark in line for mark in MARKS)


def standing_records(content: Content, problems: Problems) -> tuple[Records | None, LogCounts]:
    """One row for every judgment that stands, and what was left out."""
    seen: Counter[str] = Counter()
    standing: dict[tuple[str, ...], tuple[int, Members]] = {}
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
        if kind in ("judge", "withdraw"):
            before = standing.pop(place, None)
            # A change that was taken back is no change: its event has the grade of before it.
            seen["changed"] += -1 if goes_back else kind == "judge" and before is not None
        if kind == "judge":
            standing[place] = (line, event)
    told = {place: row for place, row in standing.items() if row[1].get("grade") is not None}
    counts = LogCounts(
        source=content.source, standing=len(told), changed=seen["changed"], withdrawn=seen["withdraw"],
        cannot=len(standing) - len(told), skipped=seen["skip"] - seen["unskip"],
        adjudicated=seen["adjudicate"],
    )  # fmt: skip
    return _records(told, problems), counts


def _in_order(content: Content, problems: Problems) -> list[tuple[int, Members]]:
    """(line, event) by sequence number; what is no event, or comes twice, is noted and left out."""
    numbered: dict[int, tuple[int, Members]] = {}
    for line, members in decoded_lines(content, problems):
        event = dict(members)
        sequence = event.get("sequence")
        if "kind" not in event or not str(sequence).isdigit():
            problems.note(line, f"the sequence is {shown(sequence)}; expected an event with kind and number")
        elif int(str(sequence)) in numbered:
            problems.note(line, f"event {sequence} stands here a second time; expected every event once")
        else:
            numbered[int(str(sequence))] = (line, event)
    return [numbered[number] for number in sorted(numbered)]


def _records(told: dict[tuple[str, ...], tuple[int, Members]], problems: Problems) -> Records | None:
    if not told:
        return None
    events = [event for _, event in told.values()]
    columns: dict[str, list[Any]] = {
        role: [event[name] for event in events]
        for role, name in (("topic", "topic"), ("doc", "doc"), ("group", "assessor"), ("grade", "grade"))
    }
    return records_of_items(columns, np.array([line for line, _ in told.values()], np.int64), problems)
