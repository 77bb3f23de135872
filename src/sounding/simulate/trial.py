"""Judging with a truth that is known: what it says in the end, and how things stand on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.workers import Bars, Progress, map_items, no_bars, worth_sharing
from sounding.data.tables import Qrels
from sounding.measures import Measure
from sounding.measures.forms import Form, known_values
from sounding.runs.align import prepare
from sounding.runs.pairs import all_pairs
from sounding.runs.ranking import Counts, Judgments, Ranking, Values
from sounding.runs.retrieved import NONE, Retrieved
from sounding.runs.topic_lists import topic_lists
from sounding.selection.mtc.confidence import Confidence
from sounding.selection.mtc.session import Session, SessionParameters, known_judgments
from sounding.selection.strategies import Strategy, judging
from sounding.statistics.pairwise import pairwise_tests
from sounding.statistics.rank_correlation import kendall_tau

ALPHA = 0.05

Item = TypeVar("Item")
Result = TypeVar("Result")


def bins_of(by_topic: NDArray[np.float64]) -> Counts:
    """(run,) the bin of each run, 0 the best, from values by topic and run; two topics or more are needed.

    From the best run down, the first that differs significantly from the best of its bin begins the next
    one: paired t test, each pair for itself.
    """
    runs = by_topic.shape[1]
    bins = np.zeros(runs, np.int64)
    if runs < 2:
        return bins
    pairs = all_pairs(runs)
    tests = pairwise_tests(
        by_topic.T, pairs, test="t", correction="none", alpha=ALPHA, rng=np.random.default_rng(0)
    )
    differ = np.zeros((runs, runs), np.bool_)
    differ[pairs[:, 0], pairs[:, 1]] = tests.significant_alone
    differ |= differ.T
    order = np.argsort(-by_topic.mean(axis=0), kind="stable").tolist()
    best, number = order[0], 0
    for run in order[1:]:
        if differ[best, run]:
            best, number = run, number + 1
        bins[run] = number
    return bins


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Values, bins and relevant documents according to all judgments."""

    grades: Values  # (document,) 0 where nobody judged it
    by_topic: NDArray[np.float64]  # (topic, run) the measure
    values: Values  # (run,) the measure over topics
    bins: Counts | None  # (run,) the bin of each, 0 the best; None: one topic tells no runs apart
    relevant: Counts  # (topic,) documents that are relevant, found by a run or not
    pool: Counts  # the documents that count, as a pool that is deepened rank by rank takes them in
    never_judged: int  # of these, those that nobody judged: they are taken as not relevant

    @staticmethod
    def of(retrieved: Retrieved, qrels: Qrels, form: Form) -> Truth:
        """The values of all runs with all given judgments."""
        prepared = prepare(qrels)
        judged = retrieved.grades(prepared)
        grades = np.nan_to_num(judged)
        depth = len(form.weights)
        relevant = grades >= form.level
        lists = topic_lists(retrieved, depth)
        form = replace(form, weights=form.weights[: lists[0].places.shape[1]])
        _, outside = known_judgments(retrieved, prepared, form.level)
        total = np.bincount(retrieved.topic, relevant, len(retrieved.topics)) + outside
        elsewhere = total - [np.count_nonzero(relevant[topic.documents]) for topic in lists]
        by_topic = known_values(form, lists, relevant, elsewhere)
        bins = bins_of(by_topic) if len(by_topic) > 1 else None
        best = retrieved.cut(depth).best_ranks()
        pool = np.argsort(best, kind="stable")[np.count_nonzero(best == 0) :]
        return Truth(
            grades, by_topic, by_topic.mean(axis=0), bins, total.astype(np.int64), pool,
            int(np.count_nonzero(np.isnan(judged[pool]))),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class TrialSetup:
    """Data that all parts of a simulation share: the runs, the truth, and how judging is replayed."""

    retrieved: Retrieved
    truth: Truth
    parameters: SessionParameters
    seeds: Sequence[int] = (0,)
    sure: float = 0.95  # from which on the order of two runs counts as claimed
    jobs: int | None = 1
    bars: Bars = no_bars

    def session(self, seed: int, retrieved: Retrieved | None = None) -> Session:
        """Begin a session over all runs, or over what others retrieved."""
        return Session(retrieved or self.retrieved, seed=seed, **asdict(self.parameters))

    def map(self, label: str, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """Do the work for every item, in several processes where that pays."""
        with self.bars(len(items), label) as progress:
            return map_items(work, items, processes=worth_sharing(len(items), self.jobs), progress=progress)


class Checkpoint(NamedTuple):
    """State of knowledge after a number of judgments; the taus are with the truth."""

    strategy: str
    seed: int
    judgments: int
    relevant: int  # found so far
    confidence: float  # of the ranking by expected values
    tau_expected: float  # of the expected values
    tau_plain: float  # of the measure, with unjudged documents as not relevant
    tau_bpref: float
    accuracy: float  # share of the pairs that differ in truth which expected values have in the right order
    claimed: float  # share of these pairs whose order was at least `sure`
    right: float  # share of the claimed ones that are right; NaN: none was claimed
    proven: float  # share of these pairs whose order equation 3 proves
    bins: float  # share of the runs that expected values put into their bin; NaN: there are no bins
    cost: float  # share of the whole pool that is judged
    overlap: float  # share of the judged documents that a pool of the same size has too


def doublings(most: int) -> list[int]:
    """1, 2, 4, ... and the last number itself."""
    return sorted({2**power for power in range(most.bit_length())} | {most}) if most > 0 else []


class Look(NamedTuple):
    """The state of a replay at a checkpoint."""

    row: Checkpoint
    documents: list[int]  # judged so far, in order
    confidence: Confidence


def trial_looks(
    session: Session,
    truth: Truth,
    checkpoints: Sequence[int],
    *,
    name: str = "mtc",
    strategy: Strategy | None = None,
    sure: float = 0.95,
    progress: Progress | None = None,
) -> Iterator[Look]:
    """Judge as if the truth were not known; one look per checkpoint, the last when nothing is left to judge.

    Checkpoints are numbers of judgments. `strategy` chooses the documents; None: the session itself. Expected
    values and confidence are those of a session whose prior is fitted to all judgments so far. What is chosen
    next does not depend on the checkpoints.
    """
    judged = np.full(len(truth.grades), np.nan)
    documents: list[int] = []
    last, seen = max(checkpoints, default=0), 0

    def look() -> Look:
        now = session.up_to_date()
        if strategy is not None:  # a session that chooses nothing need not follow each judgment
            now = session.knowing([(one, float(truth.grades[one])) for one in documents], session.seed)
        confidence = now.confidence()
        proven = _proven(now, confidence, truth.values)
        row = _row(session, confidence, truth, judged, name, len(documents), sure, proven)
        return Look(row, list(documents), confidence)

    for pick in judging(strategy or session, truth.grades, last, progress):
        judged[pick.document] = truth.grades[pick.document]
        documents.append(pick.document)
        if len(documents) in checkpoints:
            seen = len(documents)
            yield look()
    if len(documents) > seen:
        yield look()


def _row(
    session: Session,
    confidence: Confidence,
    truth: Truth,
    judged: Values,
    name: str,
    number: int,
    sure: float,
    proven: float,
) -> Checkpoint:
    plain, bpref = values_so_far(session, judged)
    accuracy, claimed, right = _scored(confidence, truth.values, sure)
    return Checkpoint(
        strategy=name, seed=session.seed, judgments=number,
        relevant=int(np.count_nonzero(judged >= session.form.level)),
        confidence=confidence.of_ranking(),
        tau_expected=kendall_tau(confidence.values, truth.values),
        tau_plain=kendall_tau(plain, truth.values),
        tau_bpref=kendall_tau(bpref, truth.values),
        accuracy=accuracy, claimed=claimed, right=right, proven=proven,
        bins=_in_their_bins(confidence, truth), cost=number / len(truth.pool),
        overlap=float(np.isfinite(judged[truth.pool[:number]]).mean()),
    )  # fmt: skip


def _proven(session: Session, confidence: Confidence, truth: Values) -> float:
    """Return the share of proven pairs among those that differ in truth; NaN: none differ."""
    first, second = np.triu_indices(len(truth), 1)
    differs = truth[first] != truth[second]
    if not differs.any():
        return np.nan
    # Only the run with the larger expected value can be proven better.
    swap = confidence.values[first] < confidence.values[second]
    pairs = np.where(swap[:, np.newaxis], np.stack([second, first], 1), np.stack([first, second], 1))[differs]
    return float(session.proven(pairs)[pairs[:, 0], pairs[:, 1]].mean())


def _in_their_bins(confidence: Confidence, truth: Truth) -> float:
    if truth.bins is None:
        return np.nan
    return float((np.sort(truth.bins) == truth.bins[confidence.order]).mean())


def _scored(confidence: Confidence, truth: Values, sure: float) -> tuple[float, float, float]:
    """Share of pairs in the right order, share of those that were claimed, and share right of these."""
    first, second = np.triu_indices(len(truth), 1)
    differs = truth[first] != truth[second]
    first, second = first[differs], second[differs]
    if not len(first):
        return np.nan, np.nan, np.nan
    same = np.sign(confidence.values[first] - confidence.values[second]) == np.sign(
        truth[first] - truth[second]
    )
    claimed = confidence.of_pairs()[first, second] >= sure
    right = float(same[claimed].mean()) if claimed.any() else np.nan
    return float(same.mean()), float(claimed.mean()), right


def values_so_far(session: Session, judged: Values) -> tuple[Values, Values]:
    """(run,): Return the measure and bpref over topics by the judgments alone; NaN: unjudged."""
    depth = len(session.form.weights)
    numbers = session.retrieved.cut(depth).lists
    ranking = _every_run(session.retrieved, numbers, judged)
    shape = numbers.shape[:2]
    bpref = Measure.of("Bpref", rel=session.form.level)(ranking).reshape(shape).mean(axis=1)
    lists = topic_lists(session.retrieved, depth)
    relevant = judged >= session.form.level
    return known_values(session.form, lists, relevant, np.zeros(len(lists))).mean(axis=0), bpref


def _every_run(retrieved: Retrieved, numbers: NDArray[np.int32], judged: Values) -> Ranking:
    """Return all runs as one ranking, in which each run has its own copy of every topic."""
    runs, topics, depth = numbers.shape
    documents = np.isfinite(judged).nonzero()[0]
    topic = retrieved.topic[documents]
    order = np.lexsort((-judged[documents], topic))
    sizes = np.bincount(topic, minlength=topics)
    judgments = Judgments(
        topics=("",) * (runs * topics), starts=np.concatenate([[0], np.cumsum(np.tile(sizes, runs))]),
        grades=np.tile(judged[documents][order], runs), pool_ranks=None,
        pooled=np.zeros(runs * topics, np.int64), highest=max(1.0, float(np.nanmax(judged))),
    )  # fmt: skip
    grades = np.append(judged, np.nan)[numbers].reshape(runs * topics, depth)
    place, rank = np.isfinite(grades).nonzero()
    return Ranking(
        run="", judgments=judgments, topic=place, rank=rank + 1, grade=grades[place, rank],
        retrieved=np.count_nonzero(numbers != NONE, axis=2).ravel(),
        missing=np.zeros(runs * topics, np.bool_),
        pooled_topic=np.empty(0, np.int64), pooled_rank=np.empty(0, np.int64),
    )  # fmt: skip
