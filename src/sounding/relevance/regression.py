"""Fit a logistic regression whose weights differ by topic, and learn from the data by how much."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import numpy as np

from sounding.core.arrays import NDArray
from sounding.runs.ranking import Counts, Values

Matrix = NDArray[np.float64]
Stack = NDArray[np.float64]  # (topic, feature, feature)
FloatT = TypeVar("FloatT", np.float32, np.float64)

# Mean and standard deviation of the weights before any judgment: the log odds of a document of average fused
# rank, and the effect of one standard deviation of the fused rank.
LEVEL, FUSED = (-2.5, 1.5), (1.0, 0.75)
RUNS_TOTAL = 0.5  # mean of the effects of all runs together: more runs do not make a prior more confident
STEPS = 50
ENOUGH = 1e-10  # stop when the relative improvement of the log likelihood is smaller
_LEAST_STEP = 1e-6
_CLOSE = 0.02  # stop when the spreads change by less
_CELLS = 1 << 19  # numbers processed at a time
MOST_WORK = 200_000_000  # judgments times squared features from which spreads are learned


class Spreads(NamedTuple):
    """Standard deviations of weights around their mean."""

    run: float  # of the effect of a run
    level: float  # of a topic's level
    slope: float  # of what a topic adds to the effect of the fused rank
    by_topic: float  # of what a topic adds to the effect of a run


SPREADS = Spreads(run=0.6, level=1.2, slope=0.3, by_topic=0.2)  # before any judgment
SPREADS_WORTH = 4.0  # number of weights, and of topics, that these count as


def logistic(log_odds: NDArray[FloatT]) -> NDArray[FloatT]:
    """Convert log odds to probabilities."""
    with np.errstate(over="ignore"):  # far below 0 the probability is 0
        return np.reciprocal(1 + np.exp(-log_odds))


def topic_deviations(spreads: Spreads, runs: int) -> Values:
    """(feature,): Return the prior standard deviation of what a topic adds to each weight."""
    return np.array([spreads.level, spreads.slope] + [spreads.by_topic] * runs)


class Solution(NamedTuple):
    """The best weights, and the posterior around them (Laplace's approximation)."""

    weights: Values  # (feature,)
    topics: Counts  # (judged topic,) ascending
    added: Matrix  # (judged topic, feature) what a topic adds to the weights
    spreads: Spreads
    schur: Matrix  # posterior precision of the weights, with those of topics integrated out
    # What the judgments of each topic contribute to that precision. With P the prior precision of what a
    # topic adds, its posterior covariance given the weights is 1/P - 1/P core 1/P, and its mean falls by
    # 1/P core for each unit by which the weights rise.
    core: Stack
    curvature: Values  # (judged topic,) the precision that the judgments give its level by itself


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Topics with a similar number of judgments; shorter ones are padded with zeros."""

    topics: Counts  # places among the judged topics
    rows: NDArray[np.float32]  # (topic, judgment, feature)
    relevant: Matrix  # (topic, judgment)
    real: Matrix  # (topic, judgment) 1, or 0 for padding

    def odds(self, weights: Matrix) -> Matrix:
        """(topic, judgment): Return the log odds under these weights of each topic."""
        return np.matmul(self.rows.astype(np.float64), weights[self.topics][:, :, np.newaxis])[:, :, 0]


@dataclass(frozen=True, slots=True, eq=False)
class _Curve:
    """Slopes and second derivatives of the penalized log likelihood."""

    pull: Values  # (feature,)
    topic_pull: Matrix  # (judged topic, feature)
    schur: Matrix
    core: Stack
    curvature: Values


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Judgments with their features, topic by topic."""

    topics: Counts  # (judged topic,) ascending
    features: int
    chunks: tuple[_Chunk, ...]

    @staticmethod
    def of(
        rows: NDArray[np.float32], topic: Counts, relevant: NDArray[np.bool_], work: int | None = None
    ) -> Regression:
        """Arrange judgments; `work`: only of some topics, spread evenly, whose fit costs about this much."""
        topics, number, sizes = np.unique(topic, return_inverse=True, return_counts=True)
        cost = max(rows.size * rows.shape[1], 1)
        if work is not None and (count := max(1, len(topics) * work // cost)) < len(topics):
            chosen = np.isin(number, np.linspace(0, len(topics) - 1, count).astype(np.int64))
            return Regression.of(rows[chosen], topic[chosen], relevant[chosen])
        order = np.argsort(number, kind="stable")
        starts = np.cumsum(sizes) - sizes
        chunks = tuple(
            _chunk(rows, relevant, order, starts[some], sizes[some], some)
            for some in _alike(sizes, rows.shape[1])
        )
        return Regression(topics, rows.shape[1], chunks)

    def solved(self, spreads: Spreads, near: Solution | None = None) -> Solution:
        """Return the best weights by Newton's method; `near` solves nearly the same judgments."""
        weights, added = self._begin(near)
        for _ in range(STEPS):
            curve = self._curve(weights, added, spreads)
            weights, added, is_best = self._step(weights, added, spreads, curve)
            if is_best:
                break
        return Solution(weights, self.topics, added, spreads, curve.schur, curve.core, curve.curvature)

    def learned(self, near: Solution | None = None) -> Spreads:
        """Return the spreads that the judgments suggest (expectation maximization, with Newton's steps)."""
        if not len(self.topics):
            return SPREADS
        weights, added = self._begin(near)
        spreads, start = SPREADS if near is None else near.spreads, np.array(SPREADS)
        for step in range(STEPS):
            curve = self._curve(weights, added, spreads)
            weights, added, _ = self._step(weights, added, spreads, curve)
            squares = self._squares(weights, added, spreads, curve)
            count = np.array([self.features - 2, *[len(self.topics)] * 3])
            found = np.sqrt((squares + SPREADS_WORTH * start**2) / (count + SPREADS_WORTH))
            change = np.log(found / np.array(spreads))
            if step:  # the steps of the method itself are short
                found = np.clip(found * np.exp(change / 2), 1e-3, 5.0)
            spreads = Spreads(*found.tolist())
            if np.abs(change).max() < _CLOSE:
                break
        return spreads

    @property
    def _center(self) -> Values:
        runs = self.features - 2
        return np.array([LEVEL[0], FUSED[0]] + [RUNS_TOTAL / max(runs, 1)] * runs)

    def _precisions(self, spreads: Spreads) -> tuple[Values, Values]:
        """(feature,) twice: Return the prior precisions of the weights, and of what a topic adds to them."""
        runs = self.features - 2
        common = np.array([LEVEL[1], FUSED[1]] + [spreads.run] * runs)
        return common**-2.0, topic_deviations(spreads, runs) ** -2.0

    def _begin(self, near: Solution | None) -> tuple[Values, Matrix]:
        added = np.zeros((len(self.topics), self.features))
        if near is None:
            return self._center, added
        _, here, there = np.intersect1d(self.topics, near.topics, return_indices=True)
        added[here] = near.added[there]
        return near.weights, added

    def _cost(self, weights: Values, added: Matrix, spreads: Spreads) -> float:
        """Return minus the penalized log likelihood."""
        common, by_topic = self._precisions(spreads)
        away = common @ (weights - self._center) ** 2 + (added**2 @ by_topic).sum()
        misfit = 0.0
        for chunk in self.chunks:
            odds = chunk.odds(weights + added)
            misfit += float(chunk.real.ravel() @ np.logaddexp(0, (1 - 2 * chunk.relevant) * odds).ravel())
        return misfit + float(away) / 2

    def _curve(self, weights: Values, added: Matrix, spreads: Spreads) -> _Curve:
        common, by_topic = self._precisions(spreads)
        core = np.empty((len(self.topics), self.features, self.features))
        pulls, curvature = np.empty((len(self.topics), self.features)), np.empty(len(self.topics))
        for chunk in self.chunks:
            rows = chunk.rows.astype(np.float64)
            chance = logistic(chunk.odds(weights + added))
            pulls[chunk.topics] = np.matmul((chunk.real * (chunk.relevant - chance))[:, np.newaxis], rows)[
                :, 0
            ]
            weight = chunk.real * chance * (1 - chance)
            curvature[chunk.topics] = weight.sum(axis=1)
            rows *= np.sqrt(weight)[:, :, np.newaxis]
            core[chunk.topics] = _core(rows, by_topic)
        pull = pulls.sum(axis=0) - common * (weights - self._center)
        return _Curve(pull, pulls - by_topic * added, core.sum(axis=0) + np.diag(common), core, curvature)

    def _step(
        self, weights: Values, added: Matrix, spreads: Spreads, curve: _Curve
    ) -> tuple[Values, Matrix, bool]:
        """Return better weights, and whether they were already best.

        A step that makes the fit worse is halved.
        """
        _, by_topic = self._precisions(spreads)
        given_way = np.matmul(curve.core, (curve.topic_pull / by_topic)[:, :, np.newaxis])[:, :, 0]
        step = np.linalg.solve(curve.schur, curve.pull - given_way.sum(axis=0))
        of_topics = (curve.topic_pull - given_way - curve.core @ step) / by_topic
        cost = self._cost(weights, added, spreads)
        gain = float(curve.pull @ step + (curve.topic_pull * of_topics).sum())
        if gain < ENOUGH * (1 + cost):
            return weights, added, True
        size = 1.0
        while (
            self._cost(weights + size * step, added + size * of_topics, spreads) > cost - 1e-4 * size * gain
            and size > _LEAST_STEP
        ):
            size /= 2
        return weights + size * step, added + size * of_topics, False

    def _squares(self, weights: Values, added: Matrix, spreads: Spreads, curve: _Curve) -> Values:
        """(spread,): Return the expected sum of squares of what each spread describes."""
        _, by_topic = self._precisions(spreads)
        covariance = np.linalg.inv(curve.schur)
        carried = (np.matmul(curve.core, covariance) * curve.core).sum(axis=2)
        own = np.diagonal(curve.core, axis1=1, axis2=2)
        of_topics = added**2 + 1 / by_topic + (carried - own) / by_topic**2
        of_runs = ((weights - self._center) ** 2 + np.diag(covariance))[2:].sum()
        runs = max(self.features - 2, 1)
        return np.array(
            [of_runs, of_topics[:, 0].sum(), of_topics[:, 1].sum(), of_topics[:, 2:].sum() / runs]
        )


def _core(rows: Stack, by_topic: Values) -> Stack:
    """(topic, feature, feature): Return what weighted rows contribute to the precision of the weights."""
    turned = rows.transpose(0, 2, 1)
    if rows.shape[1] < rows.shape[2]:  # the same by Woodbury's identity
        inner = np.matmul(rows / by_topic, turned) + np.eye(rows.shape[1])
        return np.asarray(np.matmul(turned, np.linalg.solve(inner, rows)))
    own = np.linalg.inv(np.matmul(turned, rows) + np.diag(by_topic))
    return np.diag(by_topic) - by_topic[:, np.newaxis] * own * by_topic


def _alike(sizes: Counts, features: int) -> Iterator[Counts]:
    """Yield groups of topics with a similar number of judgments, each small enough for the cache."""
    order = np.argsort(-sizes, kind="stable")
    begin = 0
    while begin < len(order):
        count = max(1, _CELLS // int(sizes[order[begin]] * features))
        some = order[begin : begin + count]
        some = some[2 * sizes[some] >= sizes[order[begin]]]
        yield some
        begin += len(some)


def _chunk(
    rows: NDArray[np.float32], relevant: NDArray[np.bool_], order: Counts, starts: Counts, sizes: Counts,
    topics: Counts,
) -> _Chunk:  # fmt: skip
    column = np.arange(int(sizes[0]))
    real = column < sizes[:, np.newaxis]
    at = order[np.minimum(starts[:, np.newaxis] + column, len(order) - 1)]
    padded = rows[at] * real[:, :, np.newaxis].astype(np.float32)
    return _Chunk(topics, padded, (relevant[at] & real).astype(np.float64), real.astype(np.float64))
