"""The records of log and store: events, users, topics, leases and judgments; and how rows become records."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sounding.core.errors import DataError, SoundingError
from sounding.judge import sql

Kind = Literal[
    "project", "setting", "topic", "assign", "unassign", "run", "order", "judge", "withdraw", "skip",
    "unskip", "label", "adjudicate", "audit", "fit", "refit",
]  # fmt: skip
Undone = Literal["judge", "change", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Record of how a document was selected for judging, as estimates from a sample need it.

    `probability` is that of being drawn under the sampling design. `belief` is the estimated probability of
    relevance at that time.
    """

    policy: str  # a strategy, `import`, `audit`, or `free` if the assessor found the document
    policy_version: int = 0  # the event that put the strategy in force; 0: since the beginning
    step: int | None = None  # number of the document in the order of the strategy, from 1
    stratum: int | None = None
    probability: float | None = None
    belief: float | None = None
    weight: float | None = None
    seed: int | None = None
    model_version: int | None = None  # number of judgments that the relevance model knew
    known: int = 0  # last event that the choice could depend on


def plain(record: Selection | Event) -> dict[str, Any]:
    """Return the fields of a record by name; unlike `dataclasses.asdict`, without copying the values."""
    return {name: getattr(record, name) for name in record.__slots__}


Pair = tuple[str, str]  # topic, document
MOST_EVENTS = 2**62  # more than any log has
FREE = Selection(policy="free")
MARKS = "marks"  # key of the detail of a judgment
LABELS = "labels"  # key of the detail of a judgment: the labels that the page showed, by machine
Marks = dict[str, Any]  # as the log holds them; see `sounding.judge.marks`
AUDIT = "audit"  # the policy of an expert's audit


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of the log."""

    sequence: int
    kind: Kind
    time: float  # server time, seconds since 1970; only shown, never used for ordering
    topic: str | None = None
    doc: str | None = None
    assessor: str | None = None  # a pseudonym
    grade: float | None = None  # None in a judgment: the document cannot be judged
    comment: str = ""
    active: float | None = None  # seconds spent on the document
    away: float | None = None  # seconds during which the page was not in view
    key: str | None = None  # of the submission; a repeated key records nothing new
    selection: Selection | None = None
    detail: dict[str, Any] = field(default_factory=dict)  # fields that only this kind of event has

    @property
    def undid(self) -> Undone | None:
        """Return what the event undid: a first judgment, a change, or a skip; None: nothing.

        Undoing a change restores the judgment before it: the event has its grade and comment, and its number
        as `restores` in `detail`.
        """
        if self.kind == "withdraw":
            return "judge"
        if self.kind == "unskip":
            return "skip"
        return None if self.undoes is None else "change"

    @property
    def undoes(self) -> int | None:
        """Return the number of the event that this one undid, or None."""
        return self.detail.get("undoes")

    @property
    def marks(self) -> Marks:
        """Return what a judgment marks within the document."""
        marks: Marks = self.detail.get(MARKS, {})
        return marks

    def line(self) -> str:
        """Return the event as one line of canonical JSON."""
        record = plain(self)
        record["selection"] = None if self.selection is None else plain(self.selection)
        return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


Role = Literal["assessor", "organizer"]
TopicStatus = Literal["candidate", "chosen", "dropped"]
TokenKind = Literal["invitation", "reset"]

IN_USE: TopicStatus = "chosen"  # judged, exported, and used to rank the runs

CANDIDATE: TopicStatus = "candidate"
DROPPED: TopicStatus = "dropped"

_OWN = tuple(name for name in sql.EVENT if name not in (*sql.SELECTION, "detail"))
OWN_OF_LEASE = ("topic", "doc", "assessor", "expires")  # fields of a lease other than its selection


class ConflictError(SoundingError):
    """A request conflicts with what is recorded, such as a name that is taken or a key that was used."""


class Seen(NamedTuple):
    """The judgment that the assessor's page showed when another grade was given."""

    judged: bool
    grade: float | None  # None: cannot be judged, or no judgment


class UnseenError(ConflictError):
    """A judgment would replace one of the same person that the page did not show."""


class DamagedError(DataError):
    """The database of a project contradicts its log; the request itself is not at fault."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """A user; when personal data are erased, only the pseudonym stays."""

    id: int
    name: str  # for signing in, in any case
    role: Role
    pseudonym: str
    password_hash: str | None  # None: no password set yet
    active: bool  # False: cannot sign in
    created: float

    @property
    def erased(self) -> bool:
        """Return whether the personal data of the user were erased."""
        return self.name == self.pseudonym and self.password_hash is None and not self.active


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """The session of a browser; `digest` is a hash of its cookie, which is not stored."""

    digest: str
    user: User
    created: float
    expires: float
    note: str  # browser and address, for the list of sign-ins


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """One version of a topic."""

    id: str
    version: int
    title: str
    description: str
    narrative: str
    status: TopicStatus
    estimate: int | None  # number of relevant documents that its author expects
    author: str | None  # pseudonym; None: imported
    time: float  # of this version

    @property
    def in_use(self) -> bool:
        """Return whether the topic is judged and counts."""
        return self.status == IN_USE

    @property
    def candidate(self) -> bool:
        """Return whether the topic is still being developed."""
        return self.status == CANDIDATE

    @property
    def dropped(self) -> bool:
        """Return whether the topic was dropped, so that nobody judges it."""
        return self.status == DROPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A document that is reserved for an assessor until the lease expires."""

    topic: str
    doc: str
    assessor: str
    expires: float
    selection: Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A document that may be leased, and how it was selected."""

    doc: str
    selection: Selection


@dataclass(frozen=True, slots=True, kw_only=True)
class Ahead:
    """Number of documents that an assessor still has to judge in a topic."""

    left: int | None  # documents; None: unknown, because the order depends on judgments
    batch_left: int  # documents of the current batch left for the assessor
    batch_size: int  # 0: the order has no batches


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingJudgment:
    """An assessor's current judgment of a document."""

    topic: str
    doc: str
    assessor: str
    grade: float | None  # None: could not be judged
    comment: str
    sequence: int  # number of its event
    time: float
    active: float | None
    away: float | None
    selection: Selection

    marks: Marks = field(default_factory=dict)

    @property
    def pair(self) -> Pair:
        """Return topic and document of the judgment."""
        return self.topic, self.doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A judgment to record: a grade, or None for a document that cannot be judged."""

    assessor: str
    topic: str
    doc: str
    grade: float | None
    key: str
    comment: str = ""
    active: float | None = None
    away: float | None = None
    selection: Selection | None = None  # None: that of the lease or of the changed judgment
    seen: Seen | None = None  # the judgment that this one may replace; None: any
    marks: Marks = field(default_factory=dict)
    labels: dict[str, float] = field(default_factory=dict)  # by machines, as far as the page showed them

    @property
    def detail(self) -> dict[str, Any]:
        """Return the fields of its event that only judgments have."""
        found = {MARKS: self.marks, LABELS: self.labels}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The result of a submission; repeating it returns the same event, with `repeated`."""

    event: Event
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessorProgress:
    """The progress of an assessor on a topic."""

    topic: str
    judged: int
    cannot: int  # of these: cannot be judged
    relevant: int  # of these: at or above the requested level


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """An entry of the search log: a query, or a document opened from its results."""

    sequence: int
    time: float
    assessor: str
    topic: str | None
    query: str
    doc: str | None  # None: the query itself
    results: int | None  # number of hits shown
    first_hit: int | None  # rank of the first hit shown, from 1; None: unknown
    total: int | None  # number of all hits


def is_relevant(grade: float | None, level: float) -> bool:
    """Return whether a grade is relevant; False for None."""
    return grade is not None and grade >= level


def user_of(row: Mapping[str, Any]) -> User:
    """Return the user in a row with the columns of an account."""
    return User(**{name: row[name] for name in sql.USER} | {"active": bool(row["active"])})


def topic_of(row: Mapping[str, Any]) -> Topic:
    """Return the topic in a row."""
    return Topic(**{name: row[name] for name in sql.TOPIC})


def selection_of(row: Mapping[str, Any]) -> Selection | None:
    """Return the selection in a row; None if the row has no document."""
    return None if row["policy"] is None else Selection(**{name: row[name] for name in sql.SELECTION})


def event_of(row: Mapping[str, Any]) -> Event:
    """Return the event in a row."""
    own = {name: row[name] for name in _OWN}
    return Event(**own, selection=selection_of(row), detail=json.loads(row["detail"]))


def event_in(line: str) -> Event | None:
    """Return the event in a line of an exported log; None if there is none."""
    try:
        record = json.loads(line)
        chosen = record.pop("selection")
        event = Event(**record, selection=None if chosen is None else Selection(**chosen))
        texts = (event.topic, event.doc, event.assessor)
        sound = event.kind not in ("judge", "withdraw") or all(
            isinstance(text, str) and len(text.encode()) > 0 for text in texts
        )
        numbers = (event.grade, event.active, event.away)
        if not sound or not all(one is None or isinstance(one, (int, float)) for one in numbers):
            return None
        return event if isinstance(event.comment, str) and isinstance(event.detail, dict) else None
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def row_of(event: Event) -> dict[str, Any]:
    """Return an event as a row."""
    row = plain(event)
    row |= dict.fromkeys(sql.SELECTION) if event.selection is None else plain(event.selection)
    row["detail"] = json.dumps(event.detail, ensure_ascii=False, sort_keys=True)
    del row["selection"]
    return row


def lease_of(row: Mapping[str, Any]) -> Lease:
    """Return the lease in a row."""
    return Lease(**{name: row[name] for name in OWN_OF_LEASE}, selection=_certain_selection(row))


def standing_of(row: Mapping[str, Any]) -> StandingJudgment:
    """Return the current judgment in a row."""
    own = {name: row[name] for name in _OWN if name not in ("kind", "key")}
    marks = json.loads(row["detail"]).get(MARKS, {}) if MARKS in row["detail"] else {}
    return StandingJudgment(**own, selection=_certain_selection(row), marks=marks)


def _certain_selection(row: Mapping[str, Any]) -> Selection:
    selection = selection_of(row)
    assert selection is not None  # noqa: S101 - no lease and no judgment is written without
    return selection
