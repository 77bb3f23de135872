"""The append-only log of events, and the rules for the actions of assessors."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

from sounding.data.judgment_log import standing_acts
from sounding.judge import sql
from sounding.judge.database import Statements, Tables, readable, storable
from sounding.judge.records import (
    FREE,
    LABELS,
    MARKS,
    MOST_EVENTS,
    ConflictError,
    Event,
    Kind,
    Marks,
    Receipt,
    Seen,
    Selection,
    Submission,
    UnseenError,
    event_of,
    row_of,
    selection_of,
    standing_of,
)

PAGE = 1000  # rows read at a time, so that long exports hold little memory and no locks


Given = tuple[float | None, Marks]  # grade and marks of a judgment
FEW = 50  # actions read at a time


class EventLog(Tables):
    """The part of a store that holds the log."""

    def events(self, after: int = 0, until: int | None = None) -> Iterator[Event]:
        """Yield the events after a sequence number, up to `until` (None: the last one now), in order."""
        last = self.last_sequence() if until is None else until
        while after < last:
            rows = self._rows(sql.EVENTS, after=after, until=last, count=PAGE)
            if not rows:
                return
            yield from map(event_of, rows)
            after = rows[-1]["sequence"]

    def plan_events(self, until: int) -> list[Event]:
        """Return the events that determine what is judged and in which order, up to a sequence number."""
        return [event_of(row) for row in self._rows(sql.PLAN_EVENTS, until=until)]

    def gradings(self, until: int | None = None) -> Iterator[Event]:
        """Yield judgments, withdrawals and adjudications, sorted by topic, document, assessor and number."""
        last = self.last_sequence() if until is None else until
        place: dict[str, Any] = {"topic": "", "doc": "", "assessor": "", "sequence": 0}
        while True:
            rows = self._rows(sql.GRADINGS, **place, until=last, count=PAGE)
            yield from map(event_of, rows)
            if len(rows) < PAGE:
                return
            place = {name: rows[-1][name] for name in place}

    def audits(self, expert: str) -> list[Event]:
        """Return the audits that an expert has drawn, newest last."""
        return [event_of(row) for row in self._rows(sql.AUDITS, assessor=expert)]

    def has_key(self, assessor: str, key: str) -> bool:
        """Return whether an assessor has already used a key."""
        return bool(self._rows(sql.EVENT_OF_KEY, assessor=assessor, key=key))

    def last_sequence(self) -> int:
        """Return the sequence number of the last event; 0 if there is none."""
        return self.last_event().sequence

    def last_event(self) -> Last:
        """Return which event is the last."""
        with self._database.read() as run:
            return last_event(run)


class Last(NamedTuple):
    """The last event of a log; number 0 if there is none."""

    sequence: int
    time: float


def last_event(run: Statements) -> Last:
    """Return the last event; a transaction queries it only once."""
    if "sequence" not in run.known:
        rows = run(sql.LAST_EVENT)
        run.known["sequence"], run.known["time"] = (rows[0]["sequence"], rows[0]["time"]) if rows else (0, 0)
    return Last(int(run.known["sequence"]), float(run.known["time"]))


def record(run: Statements, events: Sequence[Event]) -> None:
    """Append events, in the order of their numbers."""
    if len(events) == 1:
        run(sql.ADD_EVENT, **row_of(events[0]))
    else:
        run.many(sql.ADD_EVENT, [row_of(event) for event in events])
    if events:
        run.known["sequence"], run.known["time"] = events[-1].sequence, events[-1].time


def append(run: Statements, kind: Kind, **given: Any) -> Event:
    """Append an event; the transaction lets no other one in between."""
    number = last_event(run).sequence + 1
    # Convert as the database will, so that a receipt equals its repetition.
    given |= {
        name: float(given[name]) + 0.0 for name in ("grade", "active", "away") if given.get(name) is not None
    }
    event = Event(sequence=number, kind=kind, time=time.time(), **given)
    record(run, [event])
    return event


def storable_submission(submission: Submission) -> Submission:
    """Return a submission with its comment made storable; refuse ids that a database cannot hold."""
    storable(submission.topic, "a topic id")
    storable(submission.doc, "a doc id")
    storable(submission.key, "the key of a submission")
    return replace(submission, comment=readable(submission.comment))


def judge_page(
    run: Statements, page: Sequence[Submission], known: dict[tuple[str, str], dict[str, Given]]
) -> int:
    """Record the submissions that change a grade or marks; return their number and update those `known`."""
    now = time.time()
    events: list[Event] = []
    sequence = last_event(run).sequence
    for one in page:
        place = (one.assessor, one.topic)
        if place not in known:
            found = run(sql.STANDING["topic assessor"], assessor=one.assessor, topic=one.topic)
            standing = map(standing_of, found)
            known[place] = {each.doc: (each.grade, each.marks) for each in standing}
        if known[place].get(one.doc) != (one.grade, one.marks):
            known[place][one.doc] = (one.grade, one.marks)
            events.append(Event(
                sequence=sequence + len(events) + 1, kind="judge", time=now, topic=one.topic,
                doc=one.doc, assessor=one.assessor, grade=one.grade, comment=one.comment,
                active=one.active, away=one.away, selection=one.selection or FREE, detail=one.detail,
            ))  # fmt: skip
    record(run, events)
    return len(events)


def record_judgment(run: Statements, submission: Submission) -> Receipt:
    """Record a judgment, unless it repeats an earlier one."""
    assessor, topic, doc = submission.assessor, submission.topic, submission.doc
    _expect_what_judging_asks(run, assessor, topic, doc, submission.key)
    found = earlier_receipt(run, "judge", assessor, topic, doc, submission.key, submission.grade)
    if found is not None:
        return found
    last = next((act for act in acts(run, assessor, topic, doc) if act.kind == "judge"), None)
    if last is not None and _says_the_same(last, submission):
        run(sql.RELEASE["topic doc"], assessor=assessor, topic=topic, doc=doc)
        given = {"assessor": assessor, "key": submission.key, "topic": topic, "doc": doc}
        run(sql.ADD_VOID_KEY, **given, stood=last.sequence)
        return Receipt(event=last, repeated=True)
    _check_seen(run, submission)
    selection = submission.selection or selection_of_pair(run, assessor, topic, doc)
    run(sql.RELEASE["topic doc"], assessor=assessor, topic=topic, doc=doc)
    event = append(
        run, "judge", topic=topic, doc=doc, assessor=assessor, grade=submission.grade,
        comment=submission.comment, active=submission.active, away=submission.away, key=submission.key,
        selection=selection, detail=submission.detail,
    )  # fmt: skip
    return Receipt(event=event, repeated=False)


def _expect_what_judging_asks(run: Statements, assessor: str, topic: str, doc: str, key: str) -> None:
    """Announce the queries that `record_judgment` makes for a new judgment."""
    run.expect(sql.EVENT_OF_KEY, assessor=assessor, key=key)
    run.expect(sql.VOID_KEY, assessor=assessor, key=key)
    run.expect(sql.ACTS["doc"], assessor=assessor, topic=topic, before=MOST_EVENTS, count=FEW, doc=doc)
    run.expect(sql.LEASE_OF_PAIR, assessor=assessor, topic=topic, doc=doc)


def _says_the_same(last: Event, submission: Submission) -> bool:
    """Return whether a judgment equals the current one of its assessor."""
    chosen_alike = submission.selection in (None, last.selection)
    given = (submission.grade, submission.comment, submission.marks)
    return chosen_alike and (last.grade, last.comment, last.marks) == given


def _check_seen(run: Statements, submission: Submission) -> None:
    """Refuse to change a judgment that the page did not show."""
    if submission.seen is None:
        return
    given = {"assessor": submission.assessor, "topic": submission.topic, "doc": submission.doc}
    rows = run(sql.STANDING["topic assessor doc"], **given)
    standing = standing_of(rows[0]) if rows else None
    if submission.seen == Seen(standing is not None, None if standing is None else standing.grade):
        return
    if standing is None:
        raise UnseenError("your earlier judgment of this document was taken back meanwhile on another page")
    if standing.grade is None:
        raise UnseenError("you said meanwhile on another page that you cannot judge this document")
    raise UnseenError(f"you gave this document the grade {standing.grade:g} meanwhile on another page")


def acts(run: Statements, assessor: str, topic: str, doc: str | None) -> Iterator[Event]:
    """Yield the judgments, changes and skips of an assessor that were not undone, newest first."""
    statement, given = sql.narrowed(sql.ACTS, doc=doc)

    def newest_first() -> Iterator[Event]:
        before = MOST_EVENTS
        while True:
            rows = run(statement, assessor=assessor, topic=topic, before=before, count=FEW, **given)
            yield from map(event_of, rows)
            if len(rows) < FEW:
                return
            before = rows[-1]["sequence"]

    return standing_acts(newest_first())


def take_back(run: Statements, last: Event, assessor: str, topic: str, key: str) -> Event:
    """Record that the last action on a document was undone, and restore the judgment before it, if any."""
    place: dict[str, Any] = {"topic": topic, "doc": last.doc, "assessor": assessor, "key": key}
    detail = {"undoes": last.sequence}
    if last.kind == "skip":
        return append(run, "unskip", **place, selection=last.selection, detail=detail)
    judgments = [act for act in acts(run, assessor, topic, last.doc) if act.kind == "judge"]
    if len(judgments) == 1:
        return append(run, "withdraw", **place, selection=last.selection, detail=detail)
    before = judgments[1]
    kept = {name: before.detail[name] for name in (MARKS, LABELS) if name in before.detail}
    return append(
        run, "judge", **place, grade=before.grade, comment=before.comment, selection=before.selection,
        detail={**detail, "restores": before.sequence, **kept},
    )  # fmt: skip


def earlier_receipt(
    run: Statements,
    act: Kind | Literal["undo"],
    assessor: str,
    topic: str | None,
    doc: str | None,
    key: str,
    grade: float | None = None,
) -> Receipt | None:
    """Return the receipt of an earlier use of a key, or None; refuse a key used for something else."""
    rows = run(sql.EVENT_OF_KEY, assessor=assessor, key=key)
    void = [] if rows else run(sql.VOID_KEY, assessor=assessor, key=key)
    if void and void[0]["stood"] is not None:
        stood = int(void[0]["stood"])
        rows = run(sql.EVENTS, after=stood - 1, until=stood, count=1)
    if not rows:
        if act != "undo" and void:
            raise _key_of_another(key, "an undo")
        return None
    event = event_of(rows[0])
    present = (event.kind, event.grade) if event.undid is None else ("undo", None)
    if (*present, event.topic, event.doc) != (act, grade, topic, event.doc if doc is None else doc):
        raise _key_of_another(key, f"{event.kind} {event.topic} {event.doc}")
    return Receipt(event=event, repeated=True)


def is_void(run: Statements, assessor: str, topic: str, doc: str | None, key: str) -> bool:
    """Return whether an earlier undo with this key found nothing; refuse a key used for another undo."""
    rows = run(sql.VOID_KEY, assessor=assessor, key=key)
    if rows and (rows[0]["topic"], doc and rows[0]["doc"]) != (topic, doc):
        raise _key_of_another(key, "an undo")
    return bool(rows)


def _key_of_another(key: str, what: str) -> ConflictError:
    return ConflictError(
        f"the key {key!r} was used for another submission ({what}); give every submission a key of its own"
    )


def _last_of_pair(run: Statements, assessor: str, topic: str, doc: str) -> Event | None:
    rows = run(sql.LAST_OF_PAIR, assessor=assessor, topic=topic, doc=doc)
    return event_of(rows[0]) if rows else None


def selection_of_pair(run: Statements, assessor: str, topic: str, doc: str) -> Selection:
    """Return how an assessor got a document: by a lease, an earlier judgment, or a search."""
    rows = run(sql.LEASE_OF_PAIR, assessor=assessor, topic=topic, doc=doc)
    if rows:
        return selection_of(rows[0]) or FREE
    last = _last_of_pair(run, assessor, topic, doc)
    return FREE if last is None or last.selection is None else last.selection
