"""The requests and responses of the HTTP API, from which /openapi.json is generated."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sounding.judge.ids import MOST_DOC, MOST_TOPIC
from sounding.judge.progress import FEWEST
from sounding.judge.records import MOST_EVENTS, TopicStatus, Undone
from sounding.judge.search import Hit
from sounding.judge.settings import MOST_ASSESSORS, MOST_LEASE, MOST_TITLE, Feed

NO_ZERO = r"^[^\x00]*$"  # PostgreSQL cannot even search for a text with a zero byte
Id = Annotated[str, Field(min_length=1, max_length=MOST_TOPIC, pattern=NO_ZERO)]
DocId = Annotated[str, Field(min_length=1, max_length=MOST_DOC, pattern=NO_ZERO)]
Key = Annotated[str, Field(min_length=8, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]
Seconds = Annotated[
    float, Field(ge=0, allow_inf_nan=False), AfterValidator(lambda seconds: min(seconds, MOST_NOTED))
]
Loaded = Annotated[list[DocId], Field(max_length=10)]
Later = Annotated[list[DocId], Field(max_length=100)]
MOST_SAMPLED = 1000  # judgments of an audit
MOST_NOTED = 86400.0  # longer absences are recorded as this many seconds
MOST_AHEAD = 6  # documents that a page holds: the one in view and five more
MOST_BATCH = 1000  # documents in a batch or a warm-up
MOST_INSTRUCTIONS = 100_000  # characters
MOST_SPAN = 20_000  # characters
MOST_MARKS = 500  # of each kind in a document
PartName = Annotated[str, Field(max_length=300, pattern=NO_ZERO)]


class Message(BaseModel):
    """Base class of messages; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid")


class Refusal(Message):
    """The reason why a request was refused."""

    detail: str


class Credentials(Message):
    """A name and password to sign in."""

    name: str = Field(min_length=1, max_length=200)
    password: str = Field(min_length=1, max_length=1000)


class Identity(Message):
    """The signed-in person, and the token that changing requests must carry as X-Page-Token."""

    token: str
    name: str | None = Field(description="null: not signed in")
    account: str | None = Field(description="your pseudonym")
    lasting: str = Field(description="account id that is unique across projects; empty: not signed in")
    role: str | None


class Span(Message):
    """A piece of text that supports the grade."""

    part: str = Field(max_length=300, description="name of the part; `text` if the document has no parts")
    start: int = Field(ge=0, le=10**9, description="characters other than blanks before it in the part")
    text: str = Field(min_length=1, max_length=MOST_SPAN)


class MarksSent(Message):
    """What a judgment marks within a document."""

    contexts: dict[PartName, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        {}, max_length=MOST_MARKS, description="grades of parts that are items of a list"
    )
    spans: list[Span] = Field([], max_length=MOST_MARKS)
    subtopics: dict[Id, Annotated[float, Field(allow_inf_nan=False)]] = Field(
        {},
        max_length=MOST_MARKS,
        description="the grade for each subtopic; `grade` is the highest",
    )
    nuggets: dict[Id, bool] = Field(
        {}, max_length=MOST_MARKS, description="whether the document contains each nugget of the topic"
    )


class ShownSide(Message):
    """One of the two documents of a pair."""

    doc: str
    heading: str = Field(description="title as safe HTML; empty: none, or it is part of `html`")
    html: str = Field(description="text as safe HTML; empty: the corpus lacks it")


class ShownDocument(Message):
    """A document to judge, or a pair of them, without any hint of which run retrieved it."""

    doc: str = Field(description="its id; of a pair the two ids, left and right, with a blank between them")
    heading: str = Field(description="title as safe HTML; empty: none, or it is part of `html`")
    html: str | None = Field(description="text as safe HTML; null: the page already has it")
    missing: bool = Field(description="the corpus lacks the text, of a pair at least one")
    grade: float | None = Field(description="your grade; null: not judged, or cannot be judged")
    judged: bool
    comment: str
    sides: list[ShownSide] = Field([], description="the documents of a pair, left and right")
    marks: MarksSent | None = Field(None, description="what your judgment marks; null: nothing")
    labels: dict[str, float] = Field(
        {}, description="labels by machines, by name; before you have judged, only those that are suggestions"
    )


class TextPart(Message):
    """A further part of a long document."""

    html: str = Field(description="safe HTML; a button with `data-more` follows if there is still more")


class Coming(Message):
    """Number of documents that you still have to judge in a topic."""

    left: int | None = Field(description="documents left; null: unknown, because it depends on judgments")
    batch_left: int = Field(description="documents left in the current batch")
    batch_size: int = Field(description="0: no batches")
    elsewhere: int = Field(default=0, description="in an audit: documents left in other topics")
    words: str


class DocumentsAtHand(Message):
    """Your next documents: judge the first one now, and preload the others."""

    topic: str
    documents: list[ShownDocument]
    coming: Coming
    judged: int = Field(description="your current judgments for the topic; in an audit, for the sample")
    guide: str = Field("", description="a hash of title, instructions and topic text; empty: not given")


class SeenJudgment(Message):
    """Your judgment as the page showed it with a document."""

    judged: bool = Field(description="false: it showed no judgment")
    grade: float | None = Field(None, description="null: cannot be judged, or no judgment")


class Grading(Message):
    """A judgment, or a change of one."""

    topic: Id
    doc: DocId
    grade: float | None = Field(description="a grade of the scale; null: the document cannot be judged")
    key: Key = Field(description="a repeated key records nothing new")
    comment: str = Field("", max_length=10_000)
    active: Seconds | None = Field(None, description="seconds spent on the document")
    away: Seconds | None = Field(None, description="seconds during which the page was not in view")
    seen: SeenJudgment | None = Field(
        None,
        description="if your current judgment is neither this nor the new one, the new one is refused with"
        " status 412; null: replace any judgment",
    )
    marks: MarksSent | None = Field(None, description="null: nothing")
    labels: list[Id] | None = Field(
        None, max_length=100, description="machines whose labels your page showed; null: all that were sent"
    )
    count: int = Field(2, ge=0, le=MOST_AHEAD, description="documents to return")
    have: Loaded = Field([], description="documents whose text the page already has")


class Skipping(Message):
    """A document to skip."""

    topic: Id
    doc: DocId
    key: Key
    active: Seconds | None = Field(None, description="seconds spent on the document")
    away: Seconds | None = Field(None, description="seconds during which the page was not in view")
    count: int = Field(2, ge=0, le=MOST_AHEAD)
    have: Loaded = []


class Withdrawal(Message):
    """A request to undo your last judgment, change or skip."""

    topic: Id
    doc: DocId | None = Field(None, description="undo on this document; null: on any of the topic")
    key: Key
    count: int = Field(2, ge=0, le=MOST_AHEAD)
    have: Loaded = []


class AuditDraw(Message):
    """A request to draw a sample of a person's judgments."""

    assessor: Id = Field(description="pseudonym of the person to audit")
    size: int = Field(ge=1, le=MOST_SAMPLED, description="number of judgments to draw, if there are enough")


class AuditDrawn(Message):
    """A sample that was drawn; it never changes."""

    audit: int = Field(description="number of the event that drew the sample")
    topics: list[str] = Field(description="topics of the sample")
    size: int = Field(description="number of drawn judgments")
    of: int = Field(description="number of judgments to draw from: current ones for topics in use")


class _OfAudit(Message):
    """The sample that a request is about."""

    audit: int = Field(ge=1, le=MOST_EVENTS, description="number of the event that drew the sample")
    later: Later = Field([], description="skipped documents, which come last")


class AuditGrading(_OfAudit, Grading):
    """An expert's grade for a judgment of a sample."""


class AuditWithdrawal(_OfAudit, Withdrawal):
    """A request to undo an expert's last grade for a document."""

    doc: DocId = Field(description="a document of the sample")


class Recorded(DocumentsAtHand):
    """The recorded event, and your next documents."""

    sequence: int = Field(description="number of the event; 0: there was nothing to undo")
    repeated: bool = Field(description="nothing new: the key was used before, or the judgment is unchanged")
    doc: str | None
    undid: Undone | None = Field(
        None,
        description="what was undone: a first judgment, a change (back to the judgment before it) or a skip;"
        " null: nothing",
    )
    restored: float | None = Field(
        None, description="the restored grade after a change was undone; null: cannot be judged"
    )
    title: str = Field("", description="title of the document after an undo; empty: none")


class TopicProgress(Message):
    """One of your topics, with your progress."""

    topic: str
    title: str
    judged: int
    cannot: int
    relevant: int
    coming: Coming


class Judgment(Message):
    """One of your current judgments."""

    topic: str
    doc: str
    grade: float | None
    comment: str
    time: float


class SearchResults(Message):
    """The hits of a search: documents with all words first, then those with some."""

    found: list[Hit]
    first: int = Field(description="rank of the first of these hits, from 1")
    total: int = Field(description="documents with any of the words")
    complete: int = Field(description="of these: documents with all of the words")


class Leases(Message):
    """The number of documents leased to you."""

    held: int


class RunStanding(Message):
    """A run in the ranking by expected value."""

    name: str
    value: float | None
    above_next: float | None = Field(description="probability that it is above the next run")
    coverage: list[float | None] = Field(
        description="share of its documents with a grade, down to each of `depths`"
    )
    ungraded: int = Field(description="documents in its lists without a grade")
    joined: int = Field(description="documents that were judged when it was added")


class AssessorWork(Message):
    """Counts of an assessor's judgments, one for each document and topic."""

    name: str
    judged: int = Field(description="current judgments for the topics in `topics`")
    relevant: int = Field(description="of these: relevant")
    cannot: int = Field(description="of these: cannot be judged")
    changed: int = Field(description="of these: changed from another grade")
    last_hour: int = Field(description="of these: made or changed in the last hour")
    elsewhere: int = Field(description="current judgments for topics that do not count")
    per_active_hour: float | None = Field(description="judgments per hour of work, for all topics")


class PairAgreement(Message):
    """The agreement of two assessors on documents that both could judge."""

    first: str
    second: str
    common: int
    observed: float
    kappa: float | None = Field(
        description=f"Cohen's kappa; null: fewer than {FEWEST} documents, or undefined"
    )


class TopicWork(Message):
    """The progress of a topic, in documents; judged, unsettled and left are disjoint."""

    id: str
    title: str
    judged: int = Field(description="documents with a grade that counts, or that nobody could judge")
    relevant: int = Field(description="of the judged")
    cannot: int = Field(description="of the judged: nobody could judge them")
    unsettled: int = Field(description="documents on which assessors differ, not yet settled")
    left: int = Field(description="documents that nobody has judged and that the order would still bring")
    again: int = Field(description="judged documents that need more assessors")


class UnusedTopic(Message):
    """A topic that is not in use and does not count, with its number of judged documents."""

    id: str
    title: str
    judged: int


class Matrix(Message):
    """The decision matrix, based on the judgments so far."""

    reason: str = Field(description="why there is none; empty if there is one")
    cases: list[tuple[int, int, str]] = Field([], description="case, number of pairs of runs, meaning")
    early: str = Field("", description="why it is too early to interpret cases; empty if it is not")
    untested: int = Field(0, description="pairs without a case")
    unseen: int = Field(0, description="of these: pairs with a run without judged documents")
    topics: int = 0
    method: str = ""
    depth: int = Field(0, description="depth at which assessment was compared")


class Forecast(Message):
    """The number of judgments needed until the ranking is as certain as `sure`."""

    reason: str = Field(description="why there is none; empty if there is one")
    needed: list[int | None] = Field(description="judgments needed in each simulation; null: not reached")
    note: str = ""
    so_far: bool = Field(False, description="more simulations are still running")


class ProspectState(Message):
    """The results of background computations, and the event they are based on."""

    sequence: int
    judged: int
    matrix: Matrix | None = None
    held: list[tuple[str, str, str, str]] = Field(
        [], description="run, other run, the test's conclusion, the probability that it holds"
    )
    forecast: Forecast | None = Field(None, description="null: not computed yet")


class LiveState(Message):
    """The data of the live page: confidence in the ranking, and the progress of judging."""

    sequence: int
    judged: int = Field(description="judged and settled (topic, document) pairs")
    relevant: int = Field(description="of the judged")
    cannot: int = Field(description="of the judged: nobody could judge them")
    unsettled: int = Field(description="documents on which assessors differ, not yet settled")
    again: int = Field(description="judged documents that need more assessors")
    fitted: int = Field(description="judgments to which the relevance model was fitted")
    fittable: int = Field(description="judgments to which it could be fitted now")
    not_stated: str = Field(description="why no confidence is stated; empty if it is")
    measure: str
    sure: float
    ranking: float | None = Field(
        None, description="mean confidence over all pairs of runs; null: not stated"
    )
    pairs: int = 0
    open_pairs: int = Field(0, description="pairs whose order is less certain than `sure`")
    depths: list[int] = Field([], description="depths at which `coverage` is given")
    runs: list[RunStanding] = []
    chances: list[list[float | None]] = Field(
        [], description="probability that a run is above another; null: the same run, or not stated"
    )
    curve: list[tuple[int, float | None]]
    assessors: list[AssessorWork]
    agreement: list[PairAgreement]
    topics: list[TopicWork] = Field(description="topics in use that any run has")
    unused: list[UnusedTopic] = Field(
        description="topics with judgments that do not count: candidate, dropped, or in no run"
    )
    nothing_left: str = Field(
        description="what to do when all documents of the orders are judged; empty: some are left, or the"
        " ranking is as certain as `sure`"
    )
    staffing: str = Field(description="topics with too few assessors to be finished; empty: none")
    reason: str = Field(description="why the runs are not ranked; empty if they are")
    prospects: ProspectState | None = Field(None, description="null: none yet")


# ---- what organizers change


class ShownOrder(Message):
    """The order in which documents are judged."""

    policy: str = Field(description="mtc, or a strategy")
    parameters: dict[str, float | str]
    batch: int = Field(description="documents per batch")
    warm_up: int = Field(description="top-ranked documents that come first, shuffled")


class OrganizedTopic(Message):
    """A topic with its status, assessors, order and progress."""

    topic: str
    title: str
    version: int
    status: TopicStatus
    estimate: int | None = Field(description="number of relevant documents that its author expects")
    assessors: list[str] = Field(description="names of assessors who can sign in")
    order: ShownOrder
    judged: int
    unsettled: int = Field(description="documents on which assessors differ, not yet settled")
    left: int
    again: int = Field(description="judged documents that need more assessors")


class StatusChange(Message):
    """A request to choose topics, drop them, or make them candidates again."""

    topics: list[Id] = Field(max_length=10_000)
    status: TopicStatus


class Assignment(Message):
    """The assessors of a topic, replacing earlier ones; without any, it is closed but its judgments count."""

    topic: Id
    assessors: list[Id] = Field(max_length=1000, description="names, or pseudonyms")


class Sharing(Message):
    """A request to assign assessors to all chosen topics."""

    count: int | None = Field(
        None, ge=1, le=MOST_ASSESSORS, description="assessors per topic; null: as many as judge each document"
    )


Number = Annotated[float, Field(allow_inf_nan=False)]
Word = Annotated[str, Field(max_length=500)]


class OrderChange(Message):
    """A request to change the order in which topics are judged."""

    topics: list[Id] | None = Field(None, max_length=10_000, description="null: all, including future ones")
    policy: Id
    parameters: dict[Id, Number | Word] = Field({}, max_length=20)
    batch: int = Field(1, ge=1, le=MOST_BATCH)
    warm_up: int = Field(0, ge=0, le=MOST_BATCH)


class Instructions(Message):
    """The instructions that assessors see next to every topic."""

    text: str = Field(max_length=MOST_INSTRUCTIONS)


class ProjectSettings(Message):
    """The settings that can change while people judge."""

    title: str
    overlap: int = Field(description="assessors who judge each document")
    feed: str = Field(description="which grade counts if assessors differ")
    level: float = Field(description="lowest relevant grade")
    measure: str = Field(description="measure used to rank the runs")
    lease: float = Field(description="minutes before an idle assessor's document is released")
    language: str = Field(description="language of the pages unless a person chooses another, such as de")


class SettingsChange(Message):
    """Settings to change; omitted ones stay."""

    title: str | None = Field(None, min_length=1, max_length=MOST_TITLE)
    overlap: int | None = Field(None, ge=1, le=MOST_ASSESSORS)
    feed: Feed | None = None
    level: float | None = Field(None, allow_inf_nan=False)
    measure: str | None = Field(None, min_length=1, max_length=100)
    lease: float | None = Field(None, gt=0, le=MOST_LEASE)
    language: str | None = Field(None, min_length=1, max_length=20, pattern=NO_ZERO)


class Settlement(Message):
    """The grade of a document on which assessors differ, decided by an organizer."""

    topic: Id
    doc: DocId
    grade: float | None = Field(description="a grade of the scale; null: it cannot be judged")
    key: Key = Field(description="a repeated key records nothing new")


class Changed(Message):
    """The number of topics or documents that changed, or of new assignments."""

    changed: int
