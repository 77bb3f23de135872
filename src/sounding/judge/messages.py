"""What the programming interface takes and gives; the description at /openapi.json is made of these."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from sounding.judge.ids import MOST_DOC, MOST_TOPIC
from sounding.judge.progress import FEWEST
from sounding.judge.records import MOST_EVENTS, TopicStatus, Undone
from sounding.judge.search import Hit
from sounding.judge.settings import MOST_ASSESSORS, MOST_LEASE, MOST_TITLE, Feed

NO_ZERO = r"^[^\x00]*$"  # PostgreSQL cannot even look for a text with a zero byte
Id = Annotated[str, Field(min_length=1, max_length=MOST_TOPIC, pattern=NO_ZERO)]
DocId = Annotated[str, Field(min_length=1, max_length=MOST_DOC, pattern=NO_ZERO)]
Key = Annotated[str, Field(min_length=8, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]
Seconds = Annotated[
    float, Field(ge=0, allow_inf_nan=False), AfterValidator(lambda seconds: min(seconds, MOST_NOTED))
]
Loaded = Annotated[list[DocId], Field(max_length=10)]
Later = Annotated[list[DocId], Field(max_length=100)]
MOST_SAMPLED = 1000  # judgments of an audit
MOST_NOTED = 86400.0  # seconds; who stayed away for longer has their grade recorded all the same
MOST_BATCH = 1000  # documents of a batch, or to warm up
MOST_INSTRUCTIONS = 100_000  # characters


class Message(BaseModel):
    """A message without members that nobody knows."""

    model_config = ConfigDict(extra="forbid")


class Refusal(Message):
    """Why a request was refused."""

    detail: str


class Credentials(Message):
    """Who wants to sign in."""

    name: str = Field(min_length=1, max_length=200)
    password: str = Field(min_length=1, max_length=1000)


class Identity(Message):
    """Who is asking, and the token that requests which change something carry as X-Page-Token."""

    token: str
    name: str | None = Field(description="null: nobody is signed in")
    account: str | None = Field(description="a pseudonym")
    lasting: str = Field(description="an id that no account of another project has; empty: nobody")
    role: str | None


class ShownDocument(Message):
    """A document to judge. Nothing here says where it came from."""

    doc: str
    heading: str = Field(description="its title, safe to show as HTML; empty: it has none, or see `html`")
    html: str | None = Field(description="safe to show; null: the page said that it has it")
    missing: bool = Field(description="the corpus does not have the text")
    grade: float | None = Field(description="as you judged it; null: you did not, or could not")
    judged: bool
    comment: str


class Coming(Message):
    """What is still to come for you in a topic."""

    left: int | None = Field(description="documents; null: not fixed, since it goes by the judgments so far")
    batch_left: int = Field(description="documents of the batch at hand that are left for you")
    batch_size: int = Field(description="0: there are no batches")
    elsewhere: int = Field(default=0, description="left of the sample of an audit in its other topics")
    words: str


class DocumentsAtHand(Message):
    """The documents at hand: the first one to be judged now, the others to be loaded meanwhile."""

    topic: str
    documents: list[ShownDocument]
    coming: Coming
    judged: int = Field(description="judgments of yours that stand for the topic; of the sample, in an audit")
    guide: str = Field(
        "", description="changes with the title, the instructions and the topic's text; empty: not said"
    )


class SeenJudgment(Message):
    """The judgment of yours that a page showed with a document."""

    judged: bool = Field(description="false: it showed none")
    grade: float | None = Field(None, description="null: cannot be judged, or none")


class Grading(Message):
    """A judgment, or the change of one."""

    topic: Id
    doc: DocId
    grade: float | None = Field(description="a grade of the scale; null: the document cannot be judged")
    key: Key = Field(description="the same key twice is one judgment")
    comment: str = Field("", max_length=10_000)
    active: Seconds | None = Field(None, description="seconds at work on the document")
    away: Seconds | None = Field(None, description="seconds that the page was not looked at")
    seen: SeenJudgment | None = Field(
        None,
        description="where another judgment of yours stands than this one, and it says something else, the"
        " new one is refused with 412; null: whatever stands is changed",
    )
    count: int = Field(2, ge=0, le=5, description="documents wanted in reply")
    have: Loaded = Field([], description="documents whose text the page has already")


class Skipping(Message):
    """A document that is put off."""

    topic: Id
    doc: DocId
    key: Key
    active: Seconds | None = Field(None, description="seconds at work on the document")
    away: Seconds | None = Field(None, description="seconds that the page was not looked at")
    count: int = Field(2, ge=0, le=5)
    have: Loaded = []


class Withdrawal(Message):
    """The last judgment, change or skip, taken back."""

    topic: Id
    doc: DocId | None = Field(None, description="of this document; null: of any of the topic")
    key: Key
    count: int = Field(2, ge=0, le=5)
    have: Loaded = []


class AuditDraw(Message):
    """A sample of somebody's judgments that is wanted."""

    assessor: Id = Field(description="whose judgments are looked at, by pseudonym")
    size: int = Field(ge=1, le=MOST_SAMPLED, description="judgments that are drawn, if there are so many")


class AuditDrawn(Message):
    """A sample that was drawn; it stays as it is."""

    audit: int = Field(description="number of the event that drew the sample")
    topics: list[str] = Field(description="that the sample is about")
    size: int = Field(description="judgments that were drawn")
    of: int = Field(description="judgments that could be drawn: those that stood for topics in use")


class _OfAudit(Message):
    """Which sample something is about."""

    audit: int = Field(ge=1, le=MOST_EVENTS, description="number of the event that drew the sample")
    later: Later = Field([], description="documents that are put off: they come last")


class AuditGrading(_OfAudit, Grading):
    """An expert's grade for a judgment of a sample."""


class AuditWithdrawal(_OfAudit, Withdrawal):
    """An expert's last grade for a document, taken back."""

    doc: DocId = Field(description="of the sample")


class Recorded(DocumentsAtHand):
    """What was recorded, and what is at hand now."""

    sequence: int = Field(description="number of the event; 0: there was nothing to take back")
    repeated: bool = Field(description="nothing new: its key had come before, or it says what stood already")
    doc: str | None
    undid: Undone | None = Field(
        None,
        description="what was taken back: a first judgment, a change, which goes back to the judgment before"
        " it, or a skip; null: nothing",
    )
    restored: float | None = Field(
        None, description="the grade that stands again, after a change was taken back; null: cannot judge"
    )
    title: str = Field("", description="of the document, after something was taken back; empty: it has none")


class TopicProgress(Message):
    """A topic of yours and how far you are with it."""

    topic: str
    title: str
    judged: int
    cannot: int
    relevant: int
    coming: Coming


class Judgment(Message):
    """A judgment of yours that stands."""

    topic: str
    doc: str
    grade: float | None
    comment: str
    time: float


class SearchResults(Message):
    """What a search found: those with all of its words first, then those with some."""

    found: list[Hit]
    first: int = Field(description="place of the first of them among all, from 1 on")
    total: int = Field(description="documents with any of the words")
    complete: int = Field(description="among them: documents with all of the words")


class Leases(Message):
    """How many documents you have at hand."""

    held: int


class RunStanding(Message):
    """A run in the ranking by expected value."""

    name: str
    value: float | None
    above_next: float | None = Field(description="how sure it is to be above the next run")
    coverage: list[float | None] = Field(
        description="share of its documents down to each of `depths` that have a grade"
    )
    ungraded: int = Field(description="documents of its lists that have none")
    joined: int = Field(description="documents that were judged when it came")


class AssessorWork(Message):
    """What an assessor has done so far, in judgments: one for each document and topic."""

    name: str
    judged: int = Field(description="judgments that stand, for the topics in `topics` of all this")
    relevant: int = Field(description="among them")
    cannot: int = Field(description="among them: could not be judged")
    changed: int = Field(description="among them: had another grade before")
    last_hour: int = Field(description="among them: given, or changed, in the last hour")
    elsewhere: int = Field(description="judgments that stand besides, for topics that do not count")
    per_active_hour: float | None = Field(description="judgments in an hour of work, of any topic")


class PairAgreement(Message):
    """How well two assessors agree on the documents that both could judge."""

    first: str
    second: str
    common: int
    observed: float
    kappa: float | None = Field(
        description=f"Cohen's; null: of fewer than {FEWEST} documents, or chance alone would give as much"
    )


class TopicWork(Message):
    """How far a topic is, in documents. Judged, unsettled and left have none in common."""

    id: str
    title: str
    judged: int = Field(description="with a grade that counts, or that nobody who looked could judge")
    relevant: int = Field(description="among those judged")
    cannot: int = Field(description="among those judged: nobody could")
    unsettled: int = Field(description="whose assessors differ, to be settled by an organizer")
    left: int = Field(description="that nobody has judged, and that the order could still bring")
    again: int = Field(description="that are judged, by fewer people than are to judge each")


class UnusedTopic(Message):
    """A topic that is not in use and counts nowhere, and what was judged for it."""

    id: str
    title: str
    judged: int


class Matrix(Message):
    """The decision matrix by what is judged so far."""

    reason: str = Field(description="why there is none; empty: there is one")
    cases: list[tuple[int, int, str]] = Field([], description="case, pairs of runs, what it means")
    early: str = Field("", description="why the cases mean little as yet; empty: they do not")
    untested: int = Field(0, description="pairs without a case")
    unseen: int = Field(0, description="among them: pairs with a run of which nothing is judged")
    topics: int = 0
    method: str = ""
    depth: int = Field(0, description="down to which assessment was compared")


class Forecast(Message):
    """What it would take until the order of the runs is as sure as `sure`."""

    reason: str = Field(description="why there is none; empty: there is one")
    needed: list[int | None] = Field(description="more judgments, in each completion; null: not reached")
    note: str = ""
    so_far: bool = Field(False, description="judging is still being tried out in more completions")


class ProspectState(Message):
    """What was worked out in the background, and when."""

    sequence: int
    judged: int
    matrix: Matrix | None = None
    held: list[tuple[str, str, str, str]] = Field(
        [], description="run, other run, what a test concludes of the first, the chance that it holds"
    )
    forecast: Forecast | None = Field(None, description="null: still being worked out")


class LiveState(Message):
    """How sure the ranking is, and who judges how much."""

    sequence: int
    judged: int = Field(
        description="documents that are judged, and settled; one counts for each of its topics"
    )
    relevant: int = Field(description="among those judged")
    cannot: int = Field(description="among those judged: nobody could")
    unsettled: int = Field(description="documents on which assessors differ, to be settled by an organizer")
    again: int = Field(description="documents that are judged, by fewer people than are to judge each")
    fitted: int = Field(description="judgments that the model of relevance was fitted to")
    fittable: int = Field(description="judgments that it could be fitted to by now")
    not_stated: str = Field(description="why no confidence is stated; empty: it is")
    measure: str
    sure: float
    ranking: float | None = Field(
        None, description="mean confidence over all pairs of runs; null: not stated"
    )
    pairs: int = 0
    open_pairs: int = Field(0, description="pairs whose order is not known to be as sure as `sure`")
    depths: list[int] = Field([], description="at which coverage is told")
    runs: list[RunStanding] = []
    chances: list[list[float | None]] = Field(
        [], description="how sure the order of each pair of runs is; null: a run meets itself, or not stated"
    )
    curve: list[tuple[int, float | None]]
    assessors: list[AssessorWork]
    agreement: list[PairAgreement]
    topics: list[TopicWork] = Field(description="in use, and in some run")
    unused: list[UnusedTopic] = Field(
        description="candidate, dropped or in no run, with judgments: they count nowhere"
    )
    nothing_left: str = Field(
        description="that all is judged that the orders bring, and what is still to do; empty: it is not, or"
        " the ranking is as sure as `sure`"
    )
    staffing: str = Field(description="which topics have too few assessors to be finished; empty: none")
    reason: str = Field(description="why the runs are not ranked; empty: they are")
    prospects: ProspectState | None = Field(None, description="null: none yet")


# ---- what organizers change


class ShownOrder(Message):
    """In which order documents are judged."""

    policy: str = Field(description="mtc, or a strategy")
    parameters: dict[str, float | str]
    batch: int = Field(description="documents that are shuffled together")
    warm_up: int = Field(description="first documents, by rank and shuffled")


class OrganizedTopic(Message):
    """A topic, who judges it in which order, and how far it is."""

    topic: str
    title: str
    version: int
    status: TopicStatus
    estimate: int | None = Field(description="relevant documents that its author expects")
    assessors: list[str] = Field(description="names of those who can sign in")
    order: ShownOrder
    judged: int
    unsettled: int = Field(description="documents on which assessors differ, to be settled by an organizer")
    left: int
    again: int = Field(description="documents that are judged, by fewer people than are to judge each")


class StatusChange(Message):
    """Topics that are chosen, dropped, or candidates again."""

    topics: list[Id] = Field(max_length=10_000)
    status: TopicStatus


class Assignment(Message):
    """Exactly those who are to judge a topic; nobody: it is closed, and what is judged of it counts on."""

    topic: Id
    assessors: list[Id] = Field(max_length=1000, description="names, or pseudonyms")


class Sharing(Message):
    """How the chosen topics are shared out."""

    count: int | None = Field(
        None, ge=1, le=MOST_ASSESSORS, description="assessors for each; null: as many as judge a document"
    )


Number = Annotated[float, Field(allow_inf_nan=False)]
Word = Annotated[str, Field(max_length=500)]


class OrderChange(Message):
    """The order in which topics are judged from now on."""

    topics: list[Id] | None = Field(None, max_length=10_000, description="null: all, also those to come")
    policy: Id
    parameters: dict[Id, Number | Word] = Field({}, max_length=20)
    batch: int = Field(1, ge=1, le=MOST_BATCH)
    warm_up: int = Field(0, ge=0, le=MOST_BATCH)


class Instructions(Message):
    """What assessors read beside every topic."""

    text: str = Field(max_length=MOST_INSTRUCTIONS)


class ProjectSettings(Message):
    """What may change while people judge."""

    title: str
    overlap: int = Field(description="assessors who judge each document")
    feed: str = Field(description="which of several grades counts")
    level: float = Field(description="lowest relevant grade")
    measure: str = Field(description="whose order of the runs is to become certain")
    lease: float = Field(description="minutes that a document stays with an assessor who is gone")


class SettingsChange(Message):
    """Settings that are to change; those that are missing stay."""

    title: str | None = Field(None, min_length=1, max_length=MOST_TITLE)
    overlap: int | None = Field(None, ge=1, le=MOST_ASSESSORS)
    feed: Feed | None = None
    level: float | None = Field(None, allow_inf_nan=False)
    measure: str | None = Field(None, min_length=1, max_length=100)
    lease: float | None = Field(None, gt=0, le=MOST_LEASE)


class Settlement(Message):
    """What a document counts as on which assessors differ."""

    topic: Id
    doc: DocId
    grade: float | None = Field(description="a grade of the scale; null: it cannot be judged")
    key: Key = Field(description="the same key twice is one settlement")


class Changed(Message):
    """How many topics or documents are other than before, or how many were given out."""

    changed: int
