"""The log: events are added behind all others and read in their order, and nothing else is done to them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sounding.judge import sql
from sounding.judge.database import Database, Statements
from sounding.judge.events import Event, Kind
from sounding.judge.records import event_of, row_of

PAGE = 1000  # rows that are read at once, so that long exports hold neither memory nor locks


class Log:
    """The part of a store that only ever grows."""

    _database: Database

    def events(self, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """The events after a sequence number, up to one (None: the last that there is now), in order."""
        last = self.last_sequence() if until is None else until
        while after < last:
            with self._database.read() as run:
                rows = run(sql.EVENTS, after=after, until=last, count=PAGE)
            if not rows:
                return
            yield from map(event_of, rows)
            after = rows[-1]["sequence"]

    def plan_events(self, until: int) -> list[Event]:
        """The events that say what is judged and in which order, up to a sequence number."""
        with self._database.read() as run:
            return [event_of(row) for row in run(sql.PLAN_EVENTS, until=until)]

    def gradings(self, until: int | None = None) -> Iterator[Event]:
        """Judgments, withdrawals and adjudications by topic, document, assessor and sequence number."""
        last = self.last_sequence() if until is None else until
        place: dict[str, Any] = {"topic": "", "doc": "", "assessor": "", "sequence": 0}
        while True:
            with self._database.read() as run:
                rows = run(sql.GRADINGS, **place, until=last, count=PAGE)
            yield from map(event_of, rows)
            if len(rows) < PAGE:
                return
            place = {name: rows[-1][name] for name in place}

    def audits(self, expert: str) -> list[Event]:
        """The samples of judgments that an expert has drawn, the newest last."""
        with self._database.read() as run:
            return [event_of(row) for row in run(sql.AUDITS, assessor=expert)]

    def has_key(self, assessor: str, key: str) -> bool:
        """Whether somebody has used a key for some act."""
        with self._database.read() as run:
            return bool(run(sql.EVENT_OF_KEY, assessor=assessor, key=key))

    def last_sequence(self) -> int:
        """The sequence number of the last event; 0: there is none."""
        return self.last_event().sequence

    def last_event(self) -> Last:
        """Which event is the last."""
        with self._database.read() as run:
            return last_event(run)


class Last(NamedTuple):
    """The last event of a log; number 0: there is none."""

    sequence: int
    time: float


def last_event(run: Statements) -> Last:
    """Which event is the last; a transaction asks for it once."""
    if "sequence" not in run.known:
        rows = run(sql.LAST_EVENT)
        run.known["sequence"], run.known["time"] = (rows[0]["sequence"], rows[0]["time"]) if rows else (0, 0)
    return Last(int(run.known["sequence"]), float(run.known["time"]))


def record(run: Statements, events: Sequence[Event]) -> None:
    """Write events that stand behind all others, in the order of their numbers."""
    if len(events) == 1:
        run(sql.ADD_EVENT, **row_of(events[0]))
    else:
        run.many(sql.ADD_EVENT, [row_of(event) for event in events])
    if events:
        run.known["sequence"], run.known["time"] = events[-1].sequence, events[-1].time


def append(run: Statements, kind: Kind, **given: Any) -> Event:
    """Add an event behind all others; the transaction lets no other one in between."""
    number = last_event(run).sequence + 1
    # As the database will give them back, so that a receipt and its repetition are the same.
    given |= {
        name: float(given[name]) + 0.0 for name in ("grade", "active", "away") if given.get(name) is not None
    }
    event = Event(sequence=number, kind=kind, time=time.time(), **given)
    record(run, [event])
    return event
