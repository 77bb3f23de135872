"""What the programming interface takes and gives; the description at /openapi.json is made of these."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Id = Annotated[str, Field(min_length=1, max_length=500)]
Key = Annotated[str, Field(min_length=8, max_length=100, pattern=r"^[A-Za-z0-9_-]+$")]
Seconds = Annotated[float, Field(ge=0, le=86400, allow_inf_nan=False)]
Loaded = Annotated[list[Id], Field(max_length=10)]


class Message(BaseModel):
    """A message without members that nobody knows."""

    model_config = ConfigDict(extra="forbid")


class Problem(Message):
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
    batch_left: int = Field(description="documents of the batch at hand that nobody has judged")
    batch_size: int = Field(description="0: there are no batches")
    words: str


class Work(Message):
    """The documents at hand: the first one to be judged now, the others to be loaded meanwhile."""

    topic: str
    documents: list[ShownDocument]
    coming: Coming


class Grading(Message):
    """A judgment, or the change of one."""

    topic: Id
    doc: Id
    grade: float | None = Field(description="a grade of the scale; null: the document cannot be judged")
    key: Key = Field(description="the same key twice is one judgment")
    comment: str = Field("", max_length=10_000)
    active: Seconds | None = Field(None, description="seconds at work on the document")
    away: Seconds | None = Field(None, description="seconds that the page was not looked at")
    count: int = Field(2, ge=0, le=5, description="documents wanted in reply")
    have: Loaded = Field([], description="documents whose text the page has already")


class Skipping(Message):
    """A document that is put off."""

    topic: Id
    doc: Id
    key: Key
    count: int = Field(2, ge=0, le=5)
    have: Loaded = []


class Withdrawal(Message):
    """A judgment that is taken back."""

    topic: Id
    doc: Id | None = Field(None, description="null: the one you judged last")
    key: Key
    count: int = Field(2, ge=0, le=5)
    have: Loaded = []


class Recorded(Work):
    """What was recorded, and what is at hand now."""

    sequence: int = Field(description="number of the event; 0: there was nothing to take back")
    repeated: bool = Field(description="this key had been used for it before")
    doc: str | None


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


class Found(Message):
    """A document that a search found."""

    doc: str
    title: str
    snippet: str


class Leases(Message):
    """How many documents you have at hand."""

    held: int


class RunStanding(Message):
    """A run in the ranking by expected value."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    above_next: float | None = Field(description="how sure it is to be above the next run")
    coverage: list[float | None] = Field(
        description="share of its documents down to each of `depths` that have a grade"
    )
    ungraded: int = Field(description="documents of its lists that have none")
    joined: int = Field(description="documents that were judged when it came")


class AssessorWork(Message):
    """What an assessor has done so far."""

    name: str
    judged: int
    relevant: int
    cannot: int
    changed: int
    last_hour: int
    per_active_hour: float | None


class Agreement(Message):
    """How well two assessors agree on the documents that both could judge."""

    first: str
    second: str
    common: int
    observed: float
    kappa: float | None = Field(description="Cohen's; null: chance alone would give as much")


class TopicWork(Message):
    """How far a topic is."""

    id: str
    title: str
    judged: int
    relevant: int
    left: int


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
    judged: int = Field(description="documents that are judged, and settled")
    relevant: int
    cannot: int
    unsettled: int = Field(description="documents on which assessors differ, to be settled by an organiser")
    fitted: int = Field(description="judgments that the model of relevance was fitted to")
    fittable: int = Field(description="judgments that it could be fitted to by now")
    measure: str
    sure: float
    ranking: float | None = Field(None, description="mean confidence over all pairs of runs")
    pairs: int = 0
    open_pairs: int = Field(0, description="pairs whose order is less sure than `sure`")
    depths: list[int] = Field([], description="at which coverage is told")
    runs: list[RunStanding] = []
    chances: list[list[float | None]] = Field(
        [], description="how sure the order of each pair of runs is; null where a run meets itself"
    )
    curve: list[tuple[int, float | None]]
    assessors: list[AssessorWork]
    agreement: list[Agreement]
    topics: list[TopicWork] = Field(description="in use, and in some run")
    unused: list[UnusedTopic] = Field(
        description="candidate, dropped or in no run, with judgments: they count nowhere"
    )
    reason: str = Field(description="why the runs are not ranked; empty: they are")
    prospects: ProspectState | None = Field(None, description="null: none yet")
