"""Experiments beside the curves: pairs of lists, each run left out, whether differences are normal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.lazy import special
from sounding.data.finding import RunIndex
from sounding.runs.ranking import Values
from sounding.runs.retrieved import NONE, Retrieved
from sounding.selection.mtc.session import Session
from sounding.selection.strategies import judging
from sounding.simulate.trial import TrialSetup
from sounding.statistics.rank_correlation import kendall_tau, pearson

HISTOGRAM_DRAWS = 5000  # as in the paper


# -- how many judgments separate two lists of a topic --------------------------------------------


class ListPair(NamedTuple):
    """Two lists of a topic, and the judgments it took to be sure which is better."""

    topic: str
    run: str
    other: str
    difference: float  # between their true values, without sign
    distance: float  # sum over documents of the difference between their reciprocal ranks, without sign
    judgments: int | None  # until the order was as sure as wanted; None: it never was
    right: bool | None  # True: that order is the true one; None: never sure, or equal in truth


def list_pairs(setup: TrialSetup, most: int) -> list[ListPair]:
    """Judge `most` of all pairs of lists of a topic, drawn at random by each seed, each pair by itself.

    Pairs of which one run lacks the topic, and pairs of equal lists, are left out: nothing separates these.
    """
    cut = setup.retrieved.cut(setup.parameters.depth)
    every = [
        (topic, first, second)
        for topic in range(len(cut.topics))
        for first, second in combinations(range(len(cut.runs)), 2)
        if _can_differ(cut, topic, first, second)
    ]
    items = []
    for seed in setup.seeds:
        chosen = np.arange(len(every))
        if len(every) > most:
            chosen = np.sort(np.random.default_rng(seed).choice(len(every), most, replace=False))
        items += [(seed, *every[place]) for place in chosen]
    return setup.map("pairs of lists", lambda item: _judge_pair(setup, cut, *item), items)


def _can_differ(retrieved: Retrieved, topic: int, first: int, second: int) -> bool:
    own, other = retrieved.lists[first, topic], retrieved.lists[second, topic]
    return own[0] != NONE and other[0] != NONE and not np.array_equal(own, other)


def _judge_pair(
    setup: TrialSetup, cut: Retrieved, seed: int, topic: int, first: int, second: int
) -> ListPair:
    """Judge two lists of a topic until it is sure which is better."""
    truth = setup.truth
    session = setup.session(seed, cut.pick([first, second]).of_topics([topic]))
    begin, end = cut.starts[topic : topic + 2]
    picks = judging(session, truth.grades[begin:end])
    number, confidence = 0, session.confidence()
    while confidence.of_ranking() < setup.sure and next(picks, None):
        number, confidence = number + 1, session.confidence()
    gap = float(truth.by_topic[topic, first] - truth.by_topic[topic, second])
    reached = confidence.of_ranking() >= setup.sure
    expected_gap = confidence.values[0] - confidence.values[1]
    return ListPair(
        cut.topics[topic], cut.runs[first], cut.runs[second], abs(gap), _distance(cut, topic, first, second),
        number if reached else None,
        bool(np.sign(expected_gap) == np.sign(gap)) if reached and gap else None,
    )  # fmt: skip


def _distance(retrieved: Retrieved, topic: int, first: int, second: int) -> float:
    begin, end = retrieved.starts[topic : topic + 2].tolist()
    inverse = np.zeros((2, end - begin))
    for row, run in enumerate((first, second)):
        documents = retrieved.lists[run, topic]
        documents = documents[documents != NONE] - begin
        inverse[row, documents] = 1 / np.arange(1, len(documents) + 1)
    return float(np.abs(inverse[0] - inverse[1]).sum())


def correlations(pairs: Sequence[ListPair]) -> tuple[float, float, float]:
    """Return Pearson's r of difference and judgments, distance and judgments, difference and distance.

    Pairs that were never separated do not count; NaN where there is no r.
    """
    reached = [pair for pair in pairs if pair.judgments is not None]
    judgments = np.array([pair.judgments for pair in reached], np.float64)
    difference = np.array([pair.difference for pair in reached])
    distance = np.array([pair.distance for pair in reached])
    return _pearson(difference, judgments), _pearson(distance, judgments), _pearson(difference, distance)


def _pearson(left: Values, right: Values) -> float:
    if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return pearson(left, right)


# -- whether judgments that were made for some runs serve one more ---------------------------------


class Reuse(NamedTuple):
    """State of knowledge about a run that was left out, after a number of judgments."""

    run: str  # the run left out
    seed: int
    judgments: int
    without: float  # confidence in the order of the other runs
    confidence: float  # confidence in the order of all runs, with that one put back
    tau: float  # of the expected values of all runs with the truth
    place: int  # of the run by expected values, from 1
    true_place: int


def prior_when_back(prior: str) -> str:
    """The prior for ranking all runs: one number for all documents gives way to the rate of relevance."""
    try:
        float(prior)
    except ValueError:
        return prior
    return "rate"


def reuse(setup: TrialSetup, checkpoints: Sequence[int]) -> list[Reuse]:
    """Collect judgments without each run in turn, then put it back and rank all with what was judged.

    One row for every run left out, seed and number of judgments, as far as there is something to judge.
    """
    runs = len(setup.retrieved.runs)
    if runs < 3:
        raise DataError("--leave-out needs three runs or more: one alone is no ranking")
    items = [(seed, run) for run in range(runs) for seed in setup.seeds]
    rows = setup.map("leaving out", lambda item: _leave_out(setup, checkpoints, *item), items)
    return [row for own in rows for row in own]


def _leave_out(setup: TrialSetup, checkpoints: Sequence[int], seed: int, left_out: int) -> list[Reuse]:
    retrieved, truth = setup.retrieved, setup.truth
    session = setup.session(seed, retrieved.pick(np.arange(len(retrieved.runs)) != left_out))
    back = replace(setup.parameters, prior=prior_when_back(setup.parameters.prior))
    judged: list[tuple[int, float]] = []
    rows = []
    for number, pick in enumerate(judging(session, truth.grades, max(checkpoints, default=0)), 1):
        judged.append((pick.document, float(truth.grades[pick.document])))
        if number in checkpoints:
            every = Session(retrieved, seed=seed, given=judged, **asdict(back)).confidence()
            row = Reuse(
                run=retrieved.runs[left_out], seed=seed, judgments=number,
                without=session.knowing([], seed).confidence().of_ranking(),
                confidence=every.of_ranking(), tau=kendall_tau(every.values, truth.values),
                place=_place(every.values, left_out), true_place=_place(truth.values, left_out),
            )  # fmt: skip
            rows.append(row)
    return rows


def _place(values: Values, run: int) -> int:
    """The place of a run, from 1; of equal ones the first."""
    return 1 + int(np.count_nonzero(values > values[run]))


# -- whether the difference of two runs is normal --------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Normality:
    """Differences in many completions, and how far they are from a normal distribution."""

    standardized: Values  # (draw,) less their mean, over their deviation; ascending
    mean: float
    deviation: float
    statistic: float  # Anderson and Darling's, both parameters estimated
    p: float  # Stephens's approximation


def normality_of_difference(setup: TrialSetup, runs: tuple[str, str], topic: str | None) -> Normality:
    """Test whether the difference of two runs over completions of the judgments is normal."""
    index, topics = RunIndex(setup.retrieved.runs, setup.retrieved.tags), setup.retrieved.topics
    two = setup.retrieved.pick([index.place(name) for name in runs])
    if topic is not None and topic not in topics:
        raise UnknownNameError("topic", topic, topics)
    parameters = asdict(replace(setup.parameters, draws=HISTOGRAM_DRAWS))
    chosen = slice(None) if topic is None else [topics.index(topic)]
    gaps = []
    for seed in setup.seeds:
        values = Session(two, seed=seed, **parameters).drawn_values()[chosen]
        gaps.append((values[:, 0] - values[:, 1]).mean(axis=0, dtype=float))
    result = normality(np.concatenate(gaps))
    if result is None:
        raise DataError(
            f"{two.runs[0]} and {two.runs[1]} differ by the same in every completion: nothing varies"
        )
    return result


def normality(differences: Values) -> Normality | None:
    """The Anderson-Darling test that differences (draw,) are normal; None: they do not vary."""
    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    if not deviation > 1e-12 * max(1.0, abs(mean)):
        return None
    ordered = np.sort((differences - mean) / deviation)
    number = len(ordered)
    weight = 2 * np.arange(1, number + 1) - 1
    statistic = float(
        -number - (weight * (special.log_ndtr(ordered) + special.log_ndtr(-ordered[::-1]))).sum() / number
    )
    return Normality(ordered, mean, deviation, statistic, _p(statistic, number))


def _p(statistic: float, number: int) -> float:
    """The chance of a statistic this large where all is normal (D'Agostino & Stephens 1986, table 4.9)."""
    a = statistic * (1 + 0.75 / number + 2.25 / number**2)
    if a < 0.2:
        return float(1 - np.exp(-13.436 + 101.14 * a - 223.73 * a**2))
    if a < 0.34:
        return float(1 - np.exp(-8.318 + 42.796 * a - 59.938 * a**2))
    if a < 0.6:
        return float(np.exp(0.9177 - 4.279 * a - 1.38 * a**2))
    return float(np.exp(1.2937 - 5.709 * a + 0.0186 * a**2)) if a < 10 else 0.0
