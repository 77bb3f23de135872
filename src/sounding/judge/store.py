"""The data of a judging project, in SQLite or PostgreSQL with the same behavior.

The log of events is append-only. Every method that writes is one transaction, and its changes are on disk
when it returns. Assessors appear by their pseudonym everywhere except in `User`.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import count, islice, zip_longest
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

from sounding.core.errors import DataError
from sounding.judge import log, records, sql
from sounding.judge.database import POSTGRESQL, Database, Row, Statements, StoreError, readable, storable
from sounding.judge.people import PeopleTables
from sounding.judge.postgresql import PostgresDatabase
from sounding.judge.sqlite import SqliteDatabase

STRANGE = "not the database of a judging project; restore a backup"


def open_database(place: str | Path) -> Database:
    """Open the database at a path (SQLite) or at an address that begins with postgresql://."""
    if urlsplit(str(place)).scheme in POSTGRESQL:
        return PostgresDatabase(str(place))
    return SqliteDatabase(Path(place))


def open_store(place: str | Path, *, made: bool = False) -> Store:
    """Open the store in a SQLite file or at a postgresql:// address; create it if it does not exist.

    With `made`, the store must exist; nothing is created.
    """
    database = open_database(place)
    try:
        with database.read() as run:
            found = _has_log(database, run)
            if made and not found:
                raise records.DamagedError(f"{database.place}: {STRANGE}")
            if found:
                _refuse_other_version(database, run)
        if not found:
            with database.write() as run:
                _create_schema(database, run)
    except BaseException:
        database.close()
        raise
    return Store(database)


@contextmanager
def new_store(place: str | Path) -> Iterator[Store]:
    """Create a store in an empty database, in one transaction with the block."""
    database = open_database(place)
    try:
        with database.write() as run:
            tables = [row["name"] for row in run(sql.TABLES[database.dialect])]
            if {"event", "schema_version"} <= {*tables}:
                raise DataError(f"{database.place}: the database has a project already; give another one")
            if tables:
                raise DataError(
                    f"{database.place}: the database has the table {tables[0]!r} already; give an empty one"
                )
            _create_schema(database, run)
            yield Store(database)
    finally:
        database.close()


def copy_tables(source: Store, target: Store) -> int:
    """Copy every row of a store to an empty one and compare the copies; return the number of rows.

    Both are parts of transactions of the caller.
    """
    rows = 0
    with source._database.read() as read, target._database.write() as write:
        for table in sql.COPIED:
            for page in _pages(read, table):
                write.many(sql.copy_of(table, tuple(page[0])), page)
                rows += len(page)
    if different := differing_table(source, target):
        raise StoreError(f"{target.place}: the copy of the table {different} differs; nothing was moved")
    return rows


def differing_table(source: Store, target: Store) -> str:
    """Return the first table whose rows differ in two stores; empty if there is none."""
    with source._database.read() as one, target._database.read() as other:
        for table in sql.COPIED:
            if any(page != copied for page, copied in zip_longest(_pages(one, table), _pages(other, table))):
                return table
    return ""


def _pages(run: Statements, table: str) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows of a table, in pages if it may be long."""
    after, size = 0, 1 if table == "run" else log.PAGE
    if sql.COPIED[table] != "sequence":
        if rows := run(sql.page_of(table)):
            yield [_plain(row) for row in rows]
        return
    while rows := run(sql.page_of(table), after=after, count=size):
        yield [_plain(row) for row in rows]
        after = rows[-1]["sequence"]


def _plain(row: Row) -> dict[str, Any]:
    """Return a row with the same types from every database."""
    values = {name: row[name] for name in row.keys()}  # noqa: SIM118 - a row of SQLite iterates over values
    return {name: bytes(one) if isinstance(one, memoryview) else one for name, one in values.items()}


def _has_log(database: Database, run: Statements) -> bool:
    return bool(run(sql.HAS_LOG[database.dialect])[0]["found"])


def _create_schema(database: Database, run: Statements) -> None:
    """Create the tables, unless another process has done so meanwhile."""
    if _has_log(database, run):
        _refuse_other_version(database, run)
        return
    for statement in sql.SCHEMA:
        run(statement.format(**sql.SPELLING[database.dialect]))
    for statement in sql.APPEND_ONLY[database.dialect]:
        run(statement)
    run(sql.SET_VERSION, version=sql.VERSION)


def _refuse_other_version(database: Database, run: Statements) -> None:
    version = run(sql.SCHEMA_VERSION)[0]["version"]
    if version != sql.VERSION:
        raise StoreError(
            f"{database.place}: the database has version {version}, and this release knows version"
            f" {sql.VERSION}; use the release that wrote it"
        )


class Store(PeopleTables, log.EventLog):
    """The database of a project, opened once per process; its methods may be called from any thread."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def place(self) -> str:
        """Return where the database is, without a password."""
        return self._database.place

    def kind(self) -> str:
        """Describe the database and how it journals writes."""
        return self._database.kind()

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Run the block as one transaction, recorded completely or not at all."""
        with self._database.write():
            yield

    def retire(self) -> None:
        """Let the database itself refuse every further change, because the project has moved."""
        with self._database.write() as run:
            for statement in sql.RETIRE[self._database.dialect]:
                run(statement)

    def revive(self) -> None:
        """Accept changes again, because the project has moved back."""
        with self._database.write() as run:
            for statement in sql.REVIVE[self._database.dialect]:
                run(statement)

    def refuse(self, why: str) -> StoreError:
        """Refuse all further writes with this reason; return the error to raise."""
        return self._database.refuse(why)

    def check_writable(self) -> None:
        """Raise an error if nothing can be recorded."""
        with self._database.write() as run:
            run(sql.WRITE_NOTHING)

    def backup(self, target: Path) -> None:
        """Write a copy of the database; refuse to overwrite a file."""
        try:
            # The copy holds password hashes, so only its owner may read it.
            os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            raise DataError(f"{target}: there is a file already; give a new name") from None
        except OSError as error:
            raise DataError(f"{target} cannot be written: {error.strerror or error}") from error
        try:
            self._database.backup(target)
        except BaseException:
            target.unlink(missing_ok=True)
            raise

    def damage(self) -> list[str]:
        """Return a sentence for each fault in the database itself; empty if it is intact."""
        return self._database.damage()

    def write_back(self) -> None:
        """Do background maintenance of the database while people judge."""
        self._database.write_back()

    # ---- leases

    def lease(
        self,
        assessor: str,
        topic: str,
        offers: Callable[[int], Sequence[records.Offer]],
        *,
        overlap: int,
        seconds: float,
        count: int = 1,
    ) -> list[records.Lease]:
        """Lease up to `count` documents to an assessor: those already leased, then the first free offers.

        `offers` returns a given number of documents, best first, or all if there are fewer. A document is
        free if fewer than `overlap` others have leased or judged it, not counting audits. Expired leases
        are released, and the assessor's own are renewed.
        """
        with self._database.write() as run:
            now = run.now()
            run(sql.DROP_EXPIRED, now=now)
            run(sql.RENEW_TOPIC, assessor=assessor, topic=topic, expires=now + seconds)
            held = run(sql.LEASES["topic"], topic=topic, now=now)
            own = [row for row in held if row["assessor"] == assessor]
            leases = [records.lease_of(row) for row in own]
            position = max((row["position"] for row in own), default=0)
            if len(leases) < count:
                for offer in _free_offers(run, offers, assessor, topic, held, overlap, count, now):
                    position += 1
                    lease = records.Lease(
                        topic=topic, doc=offer.doc, assessor=assessor, expires=now + seconds,
                        selection=offer.selection,
                    )  # fmt: skip
                    _add_lease(run, lease, position)
                    leases.append(lease)
                    if len(leases) == count:
                        break
        return leases[:count]

    def leases(self, assessor: str | None = None, topic: str | None = None) -> list[records.Lease]:
        """Return the current leases, optionally of one assessor or topic."""
        statement, given = sql.narrowed(sql.LEASES, topic=topic, assessor=assessor)
        with self._database.read() as run:
            return [records.lease_of(row) for row in run(statement, now=run.now(), **given)]

    def renew(self, assessor: str, seconds: float) -> int:
        """Extend the leases of an assessor who is still at work; return their number."""
        with self._database.write() as run:
            now = run.now()
            run(sql.RENEW, assessor=assessor, expires=now + seconds, now=now)
            return len(run(sql.LEASES["assessor"], assessor=assessor, now=now))

    def release(self, assessor: str, topic: str | None = None, doc: str | None = None) -> None:
        """Release leases of an assessor: all, those of a topic, or that of a document."""
        statement, given = sql.narrowed(sql.RELEASE, topic=topic, doc=doc)
        with self._database.write() as run:
            run(statement, assessor=assessor, **given)

    # ---- the log

    def judge(self, submission: records.Submission) -> records.Receipt:
        """Record a judgment or a change of one, and release its lease; a repeated key records nothing new.

        A judgment counts even if its lease has expired, so that no work is lost. A judgment equal to the
        current one, with the same comment, records nothing. If the current judgment is not the one that was
        `seen`, it raises UnseenError.
        """
        with self._database.write() as run:
            return log.record_judgment(run, log.storable_submission(submission))

    def judge_all(self, submissions: Iterable[records.Submission]) -> int:
        """Record many judgments without their keys, all or none; return how many changed something.

        Judgments equal to the current ones are ignored, so reading a file twice changes nothing.
        """
        known: dict[tuple[str, str], dict[str, log.Given]] = {}  # (assessor, topic) -> current judgments
        every = iter(submissions)
        changed = 0
        with self._database.write() as run:
            while page := [log.storable_submission(submission) for submission in islice(every, log.PAGE)]:
                changed += log.judge_page(run, page, known)
        return changed

    def withdraw(
        self, assessor: str, topic: str, doc: str | None, *, key: str, overlap: int, seconds: float
    ) -> records.Receipt | None:
        """Undo an assessor's last action on a document (None: in the topic); return None if there is none.

        An action is a judgment, a change of one, or a skip. Undoing a change restores the judgment before it.
        Otherwise the document comes next again, unless enough others have leased or judged it meanwhile.
        """
        with self._database.write() as run:
            now = run.now()
            found = log.earlier_receipt(run, "undo", assessor, topic, doc, key)
            if found is not None:
                return found
            if log.is_void(run, assessor, topic, doc, key):
                return None
            last = next(log.acts(run, assessor, topic, doc), None)
            if last is None:  # a repetition of this request must find nothing either
                run(sql.ADD_VOID_KEY, assessor=assessor, key=key, topic=topic, doc=doc, stood=None)
                return None
            event = log.take_back(run, last, assessor, topic, key)
            run(sql.DROP_EXPIRED, now=now)  # a clock set back must not revive an expired lease
            if _is_free(run(sql.HOLDERS, topic=topic, doc=last.doc, now=now), assessor, overlap):
                held = run(sql.OWN_LEASES, assessor=assessor, topic=topic)
                lease = records.Lease(
                    topic=topic, doc=last.doc or "", assessor=assessor, expires=now + seconds,
                    selection=last.selection or records.FREE,
                )  # fmt: skip
                _add_lease(run, lease, min((row["position"] for row in held), default=1) - 1)
            return records.Receipt(event=event, repeated=False)

    def skip(
        self,
        assessor: str,
        topic: str,
        doc: str,
        *,
        key: str,
        active: float | None = None,
        away: float | None = None,
    ) -> records.Receipt:
        """Skip a document: release its lease, so that the assessor sees it again at the end."""
        with self._database.write() as run:
            found = log.earlier_receipt(run, "skip", assessor, topic, doc, key)
            if found is not None:
                return found
            selection = log.selection_of_pair(run, assessor, topic, doc)
            run(sql.RELEASE["topic doc"], assessor=assessor, topic=topic, doc=doc)
            event = log.append(
                run, "skip", topic=topic, doc=doc, assessor=assessor, key=key, selection=selection,
                active=active, away=away,
            )  # fmt: skip
            return records.Receipt(event=event, repeated=False)

    def append(
        self,
        kind: records.Kind,
        *,
        assessor: str | None = None,
        topic: str | None = None,
        doc: str | None = None,
        grade: float | None = None,
        key: str | None = None,
        detail: dict[str, Any] | None = None,
    ) -> records.Receipt:
        """Record an event other than an assessor's judgment, such as an adjudication, an order or a fit."""
        with self._database.write() as run:
            if key is not None and assessor is not None:
                found = log.earlier_receipt(run, kind, assessor, topic, doc, key, grade)
                if found is not None:
                    return found
            event = log.append(
                run, kind, topic=topic, doc=doc, assessor=assessor, grade=grade, key=key, detail=detail or {}
            )  # fmt: skip
            return records.Receipt(event=event, repeated=False)

    def standing(
        self, *, topic: str | None = None, assessor: str | None = None, doc: str | None = None
    ) -> list[records.StandingJudgment]:
        """Return the current judgments, newest last; `doc` requires `topic`."""
        statement, given = sql.narrowed(sql.STANDING, topic=topic, assessor=assessor, doc=doc)
        return [records.standing_of(row) for row in self._rows(statement, **given)]

    def add_labels(self, machine: str, labels: Mapping[records.Pair, float]) -> int:
        """Record labels of a machine that differ from its last ones; return their number."""
        with self._database.write() as run:
            known = self.labels_by(machine)
            first, now = log.last_event(run).sequence + 1, time.time()
            new = [(pair, grade) for pair, grade in labels.items() if known.get(pair) != grade]
            events = [
                records.Event(
                    sequence=first + number, kind="label", time=now, topic=storable(topic, "a topic id"),
                    doc=storable(doc, "a doc id"), assessor=machine, grade=grade,
                )
                for number, ((topic, doc), grade) in enumerate(new)
            ]  # fmt: skip
            for page in range(0, len(events), log.PAGE):
                log.record(run, events[page : page + log.PAGE])
        return len(events)

    def labels_by(self, machine: str, until: int = records.MOST_EVENTS) -> dict[records.Pair, float]:
        """Return the last label of each document by a machine, up to a sequence number."""
        rows = self._rows(sql.LABELS_BY, assessor=machine, until=until)
        return {(row["topic"], row["doc"]): float(row["grade"]) for row in rows}

    def labels_of(self, topic: str, doc: str) -> dict[str, float]:
        """Return the last label of a document by each machine."""
        rows = self._rows(sql.LABELS_OF, topic=topic, doc=doc)
        return {row["assessor"]: float(row["grade"]) for row in rows}

    def labels_before_withdrawal(self, assessor: str, topic: str, doc: str) -> dict[str, float]:
        """Return the labels that an assessor could see beside a judgment that was withdrawn."""
        rows = self._rows(sql.LABELS_SEEN, assessor=assessor, topic=topic, doc=doc)
        return {row["assessor"]: float(row["grade"]) for row in rows}

    def progress(self, assessor: str, level: float) -> list[records.AssessorProgress]:
        """Return an assessor's progress on each topic begun; `level` is the lowest relevant grade."""
        rows = self._rows(sql.PROGRESS, assessor=assessor)
        grades: dict[str, dict[float | None, int]] = {}
        for row in rows:
            grades.setdefault(row["topic"], {})[row["grade"]] = int(row["judged"])
        return [
            records.AssessorProgress(
                topic=topic, judged=sum(given.values()), cannot=given.get(None, 0),
                relevant=sum(count for grade, count in given.items() if records.is_relevant(grade, level)),
            )
            for topic, given in grades.items()
        ]  # fmt: skip

    def judged_by(self, assessor: str, topic: str) -> int:
        """Return the number of current judgments of an assessor for a topic."""
        return int(self._rows(sql.JUDGED_BY, assessor=assessor, topic=topic)[0]["judged"])

    def judgments_given(self) -> Counter[str]:
        """Return the number of current judgments of each assessor."""
        rows = self._rows(sql.JUDGMENTS_OF_ASSESSORS)
        return Counter({row["assessor"]: int(row["judged"]) for row in rows})

    # ---- topics
    #
    # Texts are stored in versions outside of the log. Each new version, with the topic's status, is an event,
    # so that the log alone determines which topics counted at any moment.

    def begin_topic(self, *, title: str, author: str) -> records.Topic:
        """Create a new topic of an assessor under a free id."""
        with self._database.write() as run:
            taken = {row["id"] for row in run(sql.TOPICS)}
            id = next(name for number in count(1) if (name := f"N{number:03d}") not in taken)  # noqa: A001
            return self.save_topic(id, title=title, author=author)

    def save_topic(
        self,
        id: str,  # noqa: A002
        *,
        title: str,
        description: str = "",
        narrative: str = "",
        status: records.TopicStatus | None = None,
        estimate: int | None = None,
        author: str | None = None,
        after: int | None = None,
    ) -> records.Topic:
        """Save a new version of a topic, unless it equals the newest one.

        Without a status, the topic keeps its own; a new topic is a candidate. If the newest version is not
        `after`, this raises ConflictError.
        """
        id = storable(id.strip(), "a topic id")  # noqa: A001
        if len(id.split()) != 1:
            raise DataError(f"topic id {id!r} has blanks in it; expected one word")
        with self._database.write() as run:
            last = _newest(run, id)
            newest = 0 if last is None else last.version
            if after not in (None, newest):
                raise records.ConflictError(
                    f"topic {id} has version {newest} by now; look at it and save yours again"
                )
            present = records.CANDIDATE if last is None else last.status
            topic = records.Topic(
                id=id, version=1, title=readable(title), description=readable(description),
                narrative=readable(narrative), status=status or present, estimate=estimate, author=author,
                time=time.time(),
            )  # fmt: skip
            return _save_version(run, topic, last)

    def set_status(self, id: str, status: records.TopicStatus, *, author: str | None = None) -> records.Topic:  # noqa: A002
        """Change the status of a topic and keep its text; the same status changes nothing."""
        with self._database.write() as run:
            last = _newest(run, id)
            if last is None:
                raise DataError(f"there is no topic {id!r}; its status cannot change")
            return _save_version(run, replace(last, status=status, author=author, time=time.time()), last)

    def topic(self, id: str) -> records.Topic | None:  # noqa: A002
        """Return the newest version of a topic."""
        with self._database.read() as run:
            return _newest(run, id)

    def topics(self) -> list[records.Topic]:
        """Return the newest version of all topics, by id."""
        return [records.topic_of(row) for row in self._rows(sql.TOPICS)]

    def topic_versions(self, id: str) -> list[records.Topic]:  # noqa: A002
        """Return all versions of a topic, oldest first."""
        return [records.topic_of(row) for row in self._rows(sql.TOPIC_VERSIONS, id=readable(id))]

    def topic_events(self, until: int) -> list[records.Event]:
        """Return the events about versions of topics, up to a sequence number."""
        return [records.event_of(row) for row in self._rows(sql.TOPIC_EVENTS, until=until)]

    def judged_topics(self, until: int) -> list[str]:
        """Return the topics that had judgments after an event, by id."""
        return [row["topic"] for row in self._rows(sql.JUDGED_TOPICS, until=until)]

    def assign(self, topic: str, assessor: str) -> None:
        """Assign a topic to an assessor; repeating this changes nothing."""
        with self._database.write() as run:
            if _newest(run, topic) is None:
                raise DataError(f"there is no topic {topic!r}; assign one that exists")
            if not run(sql.ASSIGNED, topic=topic, assessor=assessor):
                run(sql.ASSIGN, topic=topic, assessor=assessor)
                log.append(run, "assign", topic=topic, assessor=assessor)

    def unassign(self, topic: str, assessor: str) -> None:
        """Remove a topic from an assessor and release the leases on it."""
        with self._database.write() as run:
            if run(sql.ASSIGNED, topic=topic, assessor=assessor):
                run(sql.UNASSIGN, topic=topic, assessor=assessor)
                log.append(run, "unassign", topic=topic, assessor=assessor)
            run(sql.RELEASE["topic"], topic=topic, assessor=assessor)

    def assignments(self) -> list[tuple[str, str]]:
        """Return all assignments as (topic, assessor)."""
        return [(row["topic"], row["assessor"]) for row in self._rows(sql.ASSIGNMENTS)]

    def was_assigned(self, topic: str, assessor: str) -> bool:
        """Return whether a topic is or ever was assigned to an assessor."""
        return bool(self._rows(sql.WAS_ASSIGNED, topic=readable(topic), assessor=assessor))

    def topics_by(self, author: str) -> list[records.Topic]:
        """Return the newest version of the topics that an assessor created."""
        return [records.topic_of(row) for row in self._rows(sql.TOPICS_BY, author=author)]

    def topics_of(self, assessor: str) -> list[records.Topic]:
        """Return the topics assigned to an assessor."""
        return [records.topic_of(row) for row in self._rows(sql.TOPICS_OF, assessor=assessor)]

    # ---- who judges which topics
    #
    # Assignments of people who become organizers or cannot sign in are kept for when they can judge again.
    # Until then they do not count.

    def assessors(self) -> list[records.User]:
        """Return the assessors who can sign in."""
        return [one for one in self.users() if one.role == "assessor" and one.active]

    def assigned(self) -> list[tuple[str, records.User]]:
        """Return the assignments of assessors who can sign in, as (topic, assessor)."""
        ready = {one.pseudonym: one for one in self.assessors()}
        return [(topic, ready[assessor]) for topic, assessor in self.assignments() if assessor in ready]

    def topics_given(self) -> Counter[str]:
        """Return the number of topics assigned to each assessor who can sign in, by pseudonym."""
        return Counter(assessor.pseudonym for _, assessor in self.assigned())

    # ---- runs

    def add_run(self, name: str, content: bytes, detail: dict[str, Any]) -> records.Event:
        """Store a run and record that it was added; raise ConflictError if its name is taken."""
        name = storable(name, "the name of a run")
        with self._database.write() as run:
            if run(sql.RUN, name=name):
                raise records.ConflictError(f"there is a run {name!r} already; runs are never replaced")
            digest = hashlib.sha256(content).hexdigest()
            event = log.append(run, "run", detail={"name": name, "digest": digest, **detail})
            run(sql.ADD_RUN, name=name, sequence=event.sequence, content=content)
        return event

    def run(self, name: str) -> bytes:
        """Return the content of a run."""
        rows = self._rows(sql.RUN, name=name)
        if not rows:
            raise records.DamagedError(
                f"{self.place}: the run {name!r} of the log is missing; restore a backup"
            )
        return bytes(rows[0]["content"])

    def run_names(self) -> list[str]:
        """Return the names of all runs in the order in which they were added."""
        return [row["name"] for row in self._rows(sql.RUN_NAMES)]

    # ---- searches and settings

    def log_search(
        self, assessor: str, topic: str | None, query: str, results: int, *, first: int, total: int
    ) -> None:
        """Log a query: the number of hits shown, the rank of the first, and the total."""
        self._add_search(assessor, topic, query, results=results, first_hit=first, total=total)

    def log_opening(self, assessor: str, topic: str | None, query: str, doc: str) -> None:
        """Log a document that was opened from the results of a query."""
        self._add_search(assessor, topic, query, doc=doc)

    def _add_search(self, assessor: str, topic: str | None, query: str, **more: str | int) -> None:
        """Add an entry to the search log; columns not in `more` stay empty."""
        known = {"assessor": assessor, "topic": topic, "query": readable(query), **more}
        with self._database.write() as run:
            number = run(sql.NEXT_SEARCH)[0]["sequence"]
            run(
                sql.ADD_SEARCH,
                **dict.fromkeys(sql.SEARCH) | known | {"sequence": number, "time": time.time()},
            )

    def searches(self) -> Iterator[records.SearchEntry]:
        """Yield the search log."""
        after = 0
        while True:
            rows = self._rows(sql.SEARCHES, after=after, count=log.PAGE)
            yield from (records.SearchEntry(**dict(row)) for row in rows)
            if len(rows) < log.PAGE:
                return
            after = rows[-1]["sequence"]

    def setting(self, name: str) -> str | None:
        """Return a setting that can change while people judge, such as the instructions, or None."""
        rows = self._rows(sql.SETTING, name=name)
        return rows[0]["value"] if rows else None

    def set_setting(self, name: str, value: str, *, by: str | None = None) -> None:
        """Change a setting; the same value changes nothing."""
        value = readable(value)
        with self._database.write() as run:
            if not any(row["value"] == value for row in run(sql.SETTING, name=name)):
                run(sql.SET_SETTING, name=name, value=value)
                log.append(run, "setting", assessor=by, detail={"name": name, "value": value})


def _free_offers(
    run: Statements,
    offers: Callable[[int], Sequence[records.Offer]],
    assessor: str,
    topic: str,
    held: Sequence[Row],
    overlap: int,
    count: int,
    now: float,
) -> Iterator[records.Offer]:
    """Yield the offers of a topic that are free for an assessor; `held` are the topic's leases."""
    holders: dict[str, list[Row]] = {}
    for row in held:
        holders.setdefault(row["doc"], []).append(row)
    asked = count + len(held)
    tried: set[str] = set()
    while True:
        found = offers(asked)
        for offer in found:
            if offer.doc in tried:
                continue
            tried.add(offer.doc)
            # Check the known leases first: they explain most documents that are not free.
            if _is_free(holders.get(offer.doc, ()), assessor, overlap) and _is_free(
                run(sql.HOLDERS, topic=topic, doc=offer.doc, now=now), assessor, overlap
            ):
                yield offer
        if len(found) < asked:
            return
        asked *= 2


def _is_free(holders: Sequence[Row], assessor: str, overlap: int) -> bool:
    """Return whether an assessor may get a document with these holders."""
    sharing = {row["assessor"] for row in holders if row["policy"] != records.AUDIT}
    return len(sharing) < overlap and all(row["assessor"] != assessor for row in holders)


def _add_lease(run: Statements, lease: records.Lease, position: int) -> None:
    own = {name: getattr(lease, name) for name in records.OWN_OF_LEASE}
    run(sql.ADD_LEASE, **own, position=position, **records.plain(lease.selection))


def _newest(run: Statements, id: str) -> records.Topic | None:  # noqa: A002
    rows = run(sql.NEWEST_TOPIC, id=readable(id))
    return records.topic_of(rows[0]) if rows else None


def _save_version(run: Statements, topic: records.Topic, last: records.Topic | None) -> records.Topic:
    """Save a topic as the newest version and log it, unless it equals the last version."""
    if last is not None:
        if replace(topic, version=last.version, author=last.author, time=last.time) == last:
            return last
        topic = replace(topic, version=last.version + 1)
    run(sql.ADD_TOPIC, **asdict(topic))
    log.append(
        run, "topic", topic=topic.id, assessor=topic.author,
        detail={"status": topic.status, "version": topic.version},
    )  # fmt: skip
    if not topic.in_use:
        run(sql.RELEASE_TOPIC, topic=topic.id)
    return topic
