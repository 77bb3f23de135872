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
PAYS = 0.1  # a step pays if what is left to gain falls to this share
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

    @property
    def curve(self) -> _Curve:
        """Return the second derivatives at the best weights."""
        by_topic = topic_deviations(self.spreads, len(self.weights) - 2) ** -2.0
        return _Curve(by_topic, self.schur, self.core, self.curvature)


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Topics with a similar number of judgments; shorter ones are padded with zeros."""

    topics: Counts  # places among the judged topics
    rows: NDArray[np.float32]  # (topic, judgment, feature)
    relevant: Matrix  # (topic, judgment)
    real: Matrix  # (topic, judgment) 1, or 0 for padding


@dataclass(frozen=True, slots=True, eq=False)
class _Point:
    """Weights, and how well they fit the judgments."""

    weights: Values  # (feature,)
    added: Matrix  # (judged topic, feature)
    chances: tuple[Matrix, ...]  # (topic, judgment) of each chunk
    pulls: Matrix  # (judged topic, feature) slopes of the log likelihood
    misfit: float  # minus the log likelihood


class _Curve(NamedTuple):
    """Second derivatives of the penalized log likelihood."""

    by_topic: Values  # (feature,) prior precision of what a topic adds
    schur: Matrix
    core: Stack
    curvature: Values


class _Move(NamedTuple):
    """A step to better weights, and twice the improvement that the second derivatives promise."""

    step: Values  # (feature,)
    of_topics: Matrix  # (judged topic, feature)
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Judgments with their features, topic by topic."""

    topics: Counts  # (judged topic,) ascending
    features: int
    chunks: tuple[_Chunk, ...]

    @staticmethod
    def of(
        rows: NDArray[np.float32],
        topic: Counts,
        relevant: NDArray[np.bool_],
        *,
        documents: Counts | None = None,
        work: int | None = None,
    ) -> Regression:
        """Arrange judgments: of these `documents`, each with its row; None: of every row.

        `topic` and `relevant` are theirs. `work`: take only some topics, spread evenly, whose fit costs about
        this much.
        """
        judged = np.arange(len(topic)) if documents is None else documents
        topics, number, sizes = np.unique(topic, return_inverse=True, return_counts=True)
        cost = max(len(topic) * rows.shape[1] ** 2, 1)
        if work is not None and (count := max(1, len(topics) * work // cost)) < len(topics):
            chosen = np.isin(number, np.linspace(0, len(topics) - 1, count).astype(np.int64))
            return Regression.of(rows, topic[chosen], relevant[chosen], documents=judged[chosen])
        order = np.argsort(number, kind="stable")
        judged, relevant, starts = judged[order], relevant[order], np.cumsum(sizes) - sizes
        chunks = tuple(
            _chunk(rows, judged, relevant, starts[some], sizes[some], some)
            for some in _alike(sizes, rows.shape[1])
        )
        return Regression(topics, rows.shape[1], chunks)

    def solved(self, spreads: Spreads, near: Solution | None = None) -> Solution:
        """Return the best weights by Newton's method; `near` solves nearly the same judgments.

        Second derivatives, which cost most, are used again for as long as the steps they give pay. In single
        precision they serve for all steps but the last.
        """
        point = self._point(*self._begin(near))
        is_exact, last = near is None or not np.array_equal(self.topics, near.topics), np.inf
        is_rough = is_exact
        curve = self._curve(point, spreads, rough=True) if near is None or is_exact else near.curve
        for _ in range(STEPS):
            move = self._move(point, spreads, curve)
            if not is_exact and move.gain > PAYS * last:
                curve, is_exact, is_rough = self._curve(point, spreads, rough=True), True, True
                move = self._move(point, spreads, curve)
            enough = ENOUGH * (1 + self._cost(point, spreads))
            if is_exact and is_rough and move.gain < enough:
                curve, is_rough = self._curve(point, spreads), False
                move = self._move(point, spreads, curve)
            if move.gain >= enough:
                point, is_exact, last = self._better(point, spreads, move), False, move.gain
                continue
            weights, added = point.weights + move.step, point.added + move.of_topics
            if is_exact:
                break
            point = self._point(weights, added)
            curve, is_exact, is_rough = self._curve(point, spreads), True, False
        else:
            weights, added = point.weights, point.added
        return self._solution(weights, added, spreads, curve)

    def learned(self, near: Solution | None = None) -> tuple[Spreads, Solution | None]:
        """Return the spreads that the judgments suggest, and nearly the best weights; None: no judgments.

        This is expectation maximization, with Newton's steps.
        """
        if not len(self.topics):
            return SPREADS, None
        point = self._point(*self._begin(near))
        spreads, start = SPREADS if near is None else near.spreads, np.array(SPREADS)
        for step in range(STEPS):
            curve = self._curve(point, spreads)
            move = self._move(point, spreads, curve)
            if move.gain >= ENOUGH * (1 + self._cost(point, spreads)):
                point = self._better(point, spreads, move)
            squares = self._squares(point, spreads, curve)
            nearly = self._solution(point.weights, point.added, spreads, curve)
            count = np.array([self.features - 2, *[len(self.topics)] * 3])
            found = np.sqrt((squares + SPREADS_WORTH * start**2) / (count + SPREADS_WORTH))
            change = np.log(found / np.array(spreads))
            if step:  # the steps of the method itself are short
                found = np.clip(found * np.exp(change / 2), 1e-3, 5.0)
            spreads = Spreads(*found.tolist())
            if np.abs(change).max() < _CLOSE:
                break
        return spreads, nearly

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

    def _solution(self, weights: Values, added: Matrix, spreads: Spreads, curve: _Curve) -> Solution:
        return Solution(weights, self.topics, added, spreads, curve.schur, curve.core, curve.curvature)

    def _point(self, weights: Values, added: Matrix) -> _Point:
        chances, pulls, misfit = [], np.empty_like(added), 0.0
        for chunk in self.chunks:
            rows = chunk.rows.astype(np.float64)
            own = (weights + added)[chunk.topics]
            odds = np.matmul(rows, own[:, :, np.newaxis])[:, :, 0]
            misfit += float(chunk.real.ravel() @ np.logaddexp(0, (1 - 2 * chunk.relevant) * odds).ravel())
            chances.append(logistic(odds))
            away = chunk.real * (chunk.relevant - chances[-1])
            pulls[chunk.topics] = np.matmul(away[:, np.newaxis], rows)[:, 0]
        return _Point(weights, added, tuple(chances), pulls, misfit)

    def _cost(self, point: _Point, spreads: Spreads) -> float:
        """Return minus the penalized log likelihood."""
        common, by_topic = self._precisions(spreads)
        away = common @ (point.weights - self._center) ** 2 + (point.added**2 @ by_topic).sum()
        return point.misfit + float(away) / 2

    def _curve(self, point: _Point, spreads: Spreads, *, rough: bool = False) -> _Curve:
        """Return the second derivatives; `rough`: in single precision."""
        common, by_topic = self._precisions(spreads)
        core = np.empty((len(self.topics), self.features, self.features))
        curvature = np.empty(len(self.topics))
        for chunk, chance in zip(self.chunks, point.chances, strict=True):
            weight = chunk.real * chance * (1 - chance)
            curvature[chunk.topics] = weight.sum(axis=1)
            scale = np.sqrt(weight)[:, :, np.newaxis]
            rows = chunk.rows * (scale.astype(np.float32) if rough else scale)
            core[chunk.topics] = _core(rows, by_topic)
        return _Curve(by_topic, core.sum(axis=0) + np.diag(common), core, curvature)

    def _move(self, point: _Point, spreads: Spreads, curve: _Curve) -> _Move:
        common, by_topic = self._precisions(spreads)
        pull = point.pulls.sum(axis=0) - common * (point.weights - self._center)
        topic_pull = point.pulls - by_topic * point.added
        given_way = np.matmul(curve.core, (topic_pull / curve.by_topic)[:, :, np.newaxis])[:, :, 0]
        step = np.linalg.solve(curve.schur, pull - given_way.sum(axis=0))
        of_topics = (topic_pull - given_way - curve.core @ step) / curve.by_topic
        return _Move(step, of_topics, float(pull @ step + (topic_pull * of_topics).sum()))

    def _better(self, point: _Point, spreads: Spreads, move: _Move) -> _Point:
        """Return where the step leads; one that makes the fit worse is halved."""
        size, cost = 1.0, self._cost(point, spreads)
        while True:
            there = self._point(point.weights + size * move.step, point.added + size * move.of_topics)
            if self._cost(there, spreads) <= cost - 1e-4 * size * move.gain or size <= _LEAST_STEP:
                return there
            size /= 2

    def _squares(self, point: _Point, spreads: Spreads, curve: _Curve) -> Values:
        """(spread,): Return the expected sum of squares of what each spread describes."""
        _, by_topic = self._precisions(spreads)
        covariance = np.linalg.inv(curve.schur)
        carried = (np.matmul(curve.core, covariance) * curve.core).sum(axis=2)
        own = np.diagonal(curve.core, axis1=1, axis2=2)
        of_topics = point.added**2 + 1 / by_topic + (carried - own) / by_topic**2
        of_runs = ((point.weights - self._center) ** 2 + np.diag(covariance))[2:].sum()
        runs = max(self.features - 2, 1)
        return np.array(
            [of_runs, of_topics[:, 0].sum(), of_topics[:, 1].sum(), of_topics[:, 2:].sum() / runs]
        )


def _core(rows: NDArray[np.floating], by_topic: Values) -> Stack:
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
    rows: NDArray[np.float32], judged: Counts, relevant: NDArray[np.bool_], starts: Counts, sizes: Counts,
    topics: Counts,
) -> _Chunk:  # fmt: skip
    column = np.arange(int(sizes[0]))
    real = column < sizes[:, np.newaxis]
    at = np.minimum(starts[:, np.newaxis] + column, len(judged) - 1)
    padded = rows[judged[at]]
    padded[~real] = 0
    return _Chunk(topics, padded, (relevant[at] & real).astype(np.float64), real.astype(np.float64))
