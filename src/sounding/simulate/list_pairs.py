"""How many judgments tell two lists apart, what that depends on, and whether differences are normal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

import numpy as np

from sounding.core.workers import Progress, map_items
from sounding.runs.ranking import Values
from sounding.runs.retrieved import NONE, Retrieved
from sounding.selection.mtc.session import Session, SessionParameters
from sounding.selection.strategies import judging
from sounding.simulate.trial import Truth
from sounding.statistics.rank_correlation import pearson


class ListPair(NamedTuple):
    """Two lists of a topic, and the judgments it took to be sure which is better."""

    topic: str
    run: str
    other: str
    difference: float  # between their true values, without sign
    distance: float  # sum over documents of the difference between their reciprocal ranks, without sign
    judgments: int | None  # until the order was as sure as wanted; None: it never was
    right: bool | None  # whether that order is the true one; None: never sure, or equal in truth


class Correlations(NamedTuple):
    """Pearson's coefficients over the pairs that were told apart; NaN where they cannot be had."""

    difference_judgments: float
    distance_judgments: float
    difference_distance: float


def list_pairs(
    retrieved: Retrieved,
    truth: Truth,
    parameters: SessionParameters,
    *,
    sure: float = 0.95,
    most: int | None = None,
    seeds: Sequence[int] = (0,),
    processes: int = 1,
    progress: Progress | None = None,
) -> list[ListPair]:
    """Every pair of lists of every topic, or `most` of them drawn at random by each seed, judged by itself.

    Pairs of which one run lacks the topic, and pairs of equal lists, are left out: nothing tells these apart.
    """
    cut = retrieved.cut(parameters.depth)
    every = [
        (topic, first, second)
        for topic in range(len(cut.topics))
        for first in range(len(cut.runs))
        for second in range(first + 1, len(cut.runs))
        if _can_differ(cut, topic, first, second)
    ]
    items = [(seed, *every[place]) for seed in seeds for place in _drawn(len(every), most, seed)]
    return map_items(
        lambda item: _told_apart(cut, truth, parameters, sure, *item),
        items, processes=processes, progress=progress,
    )  # fmt: skip


def _drawn(number: int, most: int | None, seed: int) -> list[int]:
    """The places of so many items at most, in their order."""
    if most is None or number <= most:
        return list(range(number))
    chosen = np.random.default_rng(seed).choice(number, most, replace=False)
    return [int(place) for place in np.sort(chosen)]


def correlations(found: Sequence[ListPair]) -> Correlations:
    """How judgments, difference and distance go together."""
    known = [pair for pair in found if pair.judgments is not None]
    difference = np.array([pair.difference for pair in known])
    distance = np.array([pair.distance for pair in known])
    judgments = np.array([float(pair.judgments or 0) for pair in known])
    return Correlations(
        _pearson(difference, judgments), _pearson(distance, judgments), _pearson(difference, distance)
    )


def _pearson(left: Values, right: Values) -> float:
    if len(left) < 2 or np.ptp(left) == 0 or np.ptp(right) == 0:
        return float("nan")
    return pearson(left, right)


def _can_differ(retrieved: Retrieved, topic: int, first: int, second: int) -> bool:
    own, other = retrieved.lists[first, topic], retrieved.lists[second, topic]
    return own[0] != NONE and other[0] != NONE and not np.array_equal(own, other)


def _told_apart(
    retrieved: Retrieved,
    truth: Truth,
    parameters: SessionParameters,
    sure: float,
    seed: int,
    topic: int,
    first: int,
    second: int,
) -> ListPair:
    two = retrieved.pick([first, second]).of_topics([topic])
    session = Session(two, seed=seed, **asdict(parameters))
    begin, end = retrieved.starts[topic : topic + 2]
    picks = judging(session, truth.grades[begin:end])
    number, confidence = 0, session.confidence()
    while confidence.of_ranking() < sure and next(picks, None):
        number, confidence = number + 1, session.confidence()
    gap = float(truth.by_topic[topic, first] - truth.by_topic[topic, second])
    reached = confidence.of_ranking() >= sure
    said = confidence.values[0] - confidence.values[1]
    return ListPair(
        retrieved.topics[topic], retrieved.runs[first], retrieved.runs[second], abs(gap),
        _distance(retrieved, topic, first, second), number if reached else None,
        bool(np.sign(said) == np.sign(gap)) if reached and gap else None,
    )  # fmt: skip


def _distance(retrieved: Retrieved, topic: int, first: int, second: int) -> float:
    begin, end = retrieved.starts[topic : topic + 2].tolist()
    inverse = np.zeros((2, end - begin))
    for row, run in enumerate((first, second)):
        documents = retrieved.lists[run, topic]
        documents = documents[documents != NONE] - begin
        inverse[row, documents] = 1 / np.arange(1, len(documents) + 1)
    return float(np.abs(inverse[0] - inverse[1]).sum())


@dataclass(frozen=True, slots=True, eq=False)
class Normality:
    """Differences in many completions, and how far they are from a normal distribution."""

    standardized: Values  # (draw,) less their mean, over their deviation; ascending
    mean: float
    deviation: float
    statistic: float  # Anderson and Darling's, both parameters estimated
    p: float  # Stephens's approximation


def normality(differences: Values) -> Normality | None:
    """The Anderson-Darling test that differences (draw,) are normal; None: they do not vary."""
    from scipy.special import log_ndtr

    mean, deviation = float(differences.mean()), float(differences.std(ddof=1))
    if not deviation > 1e-12 * max(1.0, abs(mean)):
        return None
    ordered = np.sort((differences - mean) / deviation)
    number = len(ordered)
    weight = 2 * np.arange(1, number + 1) - 1
    statistic = float(-number - (weight * (log_ndtr(ordered) + log_ndtr(-ordered[::-1]))).sum() / number)
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
