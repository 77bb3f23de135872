"""What the log and the store hold: events, people, topics, leases, judgments; and rows made into them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from sounding.core.errors import DataError, SoundingError
from sounding.judge import sql

Kind = Literal[
    "project", "setting", "topic", "assign", "unassign", "run", "order", "judge", "withdraw", "skip",
    "unskip", "adjudicate", "audit", "fit", "refit",
]  # fmt: skip
Undone = Literal["judge", "change", "skip"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """How a document came to be judged: what an estimate from a sample needs to know.

    `probability` is the chance that the sampling design gave the document; `belief` how likely it was
    thought to be relevant when it was chosen. The two are never the same thing.
    """

    policy: str  # name of the strategy; `import`, `audit`, or `free`: the assessor found the document alone
    policy_version: int = 0  # the event that put the strategy in force; 0: since the beginning
    step: int | None = None  # place among all that the strategy has had judged, from 1
    stratum: int | None = None
    probability: float | None = None
    belief: float | None = None
    weight: float | None = None
    seed: int | None = None
    model_version: int | None = None  # judgments that the model of relevance knew
    known: int = 0  # last event that the choice could know of


def plain(record: Selection | Event) -> dict[str, Any]:
    """The fields of a record by name; unlike `dataclasses.asdict`, without a copy of what they hold."""
    return {name: getattr(record, name) for name in record.__slots__}


Pair = tuple[str, str]  # topic, document
MOST_EVENTS = 2**62  # no log has so many
FREE = Selection(policy="free")
AUDIT = "audit"  # the policy of what an expert graded anew


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One act, as the log keeps it."""

    sequence: int
    kind: Kind
    time: float  # of the server, seconds since 1970; shown, and never used to order anything
    topic: str | None = None
    doc: str | None = None
    assessor: str | None = None  # a pseudonym
    grade: float | None = None  # None, for a judgment: the document could not be judged
    comment: str = ""
    active: float | None = None  # seconds at work on the document
    away: float | None = None  # seconds that the page was not looked at
    key: str | None = None  # of the submission: the same one twice is one act
    selection: Selection | None = None
    detail: dict[str, Any] = field(default_factory=dict)  # what only this kind of event has

    @property
    def undid(self) -> Undone | None:
        """Return what the event took back: a first judgment, the change of one, a skip; None: nothing.

        A change goes back to the judgment before it, whose grade and comment the event has: `restores`, in
        `detail`, says which.
        """
        if self.kind == "withdraw":
            return "judge"
        if self.kind == "unskip":
            return "skip"
        return None if self.undoes is None else "change"

    @property
    def undoes(self) -> int | None:
        """The number of the event that this one took back; None: it took nothing back."""
        return self.detail.get("undoes")

    def line(self) -> str:
        """The event as one line of JSON, always in the same spelling."""
        record = plain(self)
        record["selection"] = None if self.selection is None else plain(self.selection)
        return json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


Role = Literal["assessor", "organizer"]
TopicStatus = Literal["candidate", "chosen", "dropped"]
TokenKind = Literal["invitation", "reset"]

IN_USE: TopicStatus = "chosen"  # judged by an order, and part of what is exported and ranked

CANDIDATE: TopicStatus = "candidate"
DROPPED: TopicStatus = "dropped"

_OWN = tuple(name for name in sql.EVENT if name not in (*sql.SELECTION, "detail"))
OWN_OF_LEASE = ("topic", "doc", "assessor", "expires")  # what a lease has beside its selection


class ConflictError(SoundingError):
    """What was asked does not fit what is recorded: a name that is taken, a key used for something else."""


class Seen(NamedTuple):
    """The judgment of one's own that was in view when another grade was given."""

    judged: bool
    grade: float | None  # None: could not be judged, or there was no judgment


class UnseenError(ConflictError):
    """A judgment that would change another one of the same person, which was not in view."""


class DamagedError(DataError):
    """The database of a project does not hold what its log says; nothing that anybody sent is wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """Somebody who can sign in; the pseudonym alone stays when personal data are erased."""

    id: int
    name: str  # to sign in with, compared without case
    role: Role
    pseudonym: str
    password_hash: str | None  # None: has not accepted the invitation yet
    active: bool  # False: may not sign in
    created: float

    @property
    def erased(self) -> bool:
        """Return whether nothing but the pseudonym is left of the user."""
        return self.name == self.pseudonym and self.password_hash is None and not self.active


@dataclass(frozen=True, slots=True, kw_only=True)
class SignIn:
    """A signed-in browser; `digest` is a hash of its cookie, which itself is kept nowhere."""

    digest: str
    user: User
    created: float
    expires: float
    note: str  # browser and address, for the list of sign-ins


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """A topic as one of its versions has it."""

    id: str
    version: int
    title: str
    description: str
    narrative: str
    status: TopicStatus
    estimate: int | None  # relevant documents that its author expects
    author: str | None  # pseudonym; None: imported
    time: float  # of this version

    @property
    def in_use(self) -> bool:
        """Return whether the topic is judged by an order and counts."""
        return self.status == IN_USE

    @property
    def candidate(self) -> bool:
        """Return whether the topic is still being developed."""
        return self.status == CANDIDATE

    @property
    def dropped(self) -> bool:
        """Return whether nobody is to judge the topic any more."""
        return self.status == DROPPED


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A document that an assessor has at hand until the lease expires."""

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
    """What is still to come for an assessor in a topic."""

    left: int | None  # documents; None: not fixed, since the order goes by the judgments
    batch_left: int  # documents of the batch at hand that the assessor may still judge
    batch_size: int  # 0: the order has no batches


@dataclass(frozen=True, slots=True, kw_only=True)
class StandingJudgment:
    """The judgment of an assessor on a document that stands now."""

    topic: str
    doc: str
    assessor: str
    grade: float | None  # None: could not be judged
    comment: str
    sequence: int  # of the event that says so
    time: float
    active: float | None
    away: float | None
    selection: Selection

    @property
    def pair(self) -> Pair:
        """Return what the judgment is about."""
        return self.topic, self.doc


@dataclass(frozen=True, slots=True, kw_only=True)
class Submission:
    """A judgment as it comes in: a grade, or None for a document that cannot be judged."""

    assessor: str
    topic: str
    doc: str
    grade: float | None
    key: str
    comment: str = ""
    active: float | None = None
    away: float | None = None
    selection: Selection | None = None  # None: that of the lease, or of the judgment that this one changes
    seen: Seen | None = None  # the judgment that this one is to change; None: whichever there is


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a submission came to; the same key or judgment again gives the same event, with `repeated`."""

    event: Event
    repeated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssessorProgress:
    """How far an assessor is with a topic."""

    topic: str
    judged: int
    cannot: int  # among them: could not be judged
    relevant: int  # among them: at or above the level that was asked for


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchEntry:
    """An entry of the search log: a query, or a document opened from its results."""

    sequence: int
    time: float
    assessor: str
    topic: str | None
    query: str
    doc: str | None  # None: the query itself
    results: int | None  # that were shown
    first_hit: int | None  # place of the first of them, from 1 on; None: not known
    total: int | None  # that there were


def is_relevant(grade: float | None, level: float) -> bool:
    """Return whether a grade is at least the lowest relevant one; None: there is no grade."""
    return grade is not None and grade >= level


def user_of(row: Mapping[str, Any]) -> User:
    """The user of a row with the columns of an account."""
    return User(**{name: row[name] for name in sql.USER} | {"active": bool(row["active"])})


def topic_of(row: Mapping[str, Any]) -> Topic:
    """The topic of a row."""
    return Topic(**{name: row[name] for name in sql.TOPIC})


def selection_of(row: Mapping[str, Any]) -> Selection | None:
    """Return how the document of a row was selected; None: the row is of no document."""
    return None if row["policy"] is None else Selection(**{name: row[name] for name in sql.SELECTION})


def event_of(row: Mapping[str, Any]) -> Event:
    """The event of a row."""
    own = {name: row[name] for name in _OWN}
    return Event(**own, selection=selection_of(row), detail=json.loads(row["detail"]))


def row_of(event: Event) -> dict[str, Any]:
    """The row of an event."""
    row = plain(event)
    row |= dict.fromkeys(sql.SELECTION) if event.selection is None else plain(event.selection)
    row["detail"] = json.dumps(event.detail, ensure_ascii=False, sort_keys=True)
    del row["selection"]
    return row


def lease_of(row: Mapping[str, Any]) -> Lease:
    """The lease of a row."""
    return Lease(**{name: row[name] for name in OWN_OF_LEASE}, selection=_certain_selection(row))


def standing_of(row: Mapping[str, Any]) -> StandingJudgment:
    """The judgment that stands, of a row."""
    own = {name: row[name] for name in _OWN if name not in ("kind", "key")}
    return StandingJudgment(**own, selection=_certain_selection(row))


def _certain_selection(row: Mapping[str, Any]) -> Selection:
    selection = selection_of(row)
    assert selection is not None  # noqa: S101 - no lease and no judgment is written without
    return selection
