"""Learn how much to trust each run: the probability of relevance from where runs rank a document."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol, TypeVar

import numpy as np

from sounding.core.arrays import NDArray
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import TopicLists

Matrix = NDArray[np.float64]
FloatT = TypeVar("FloatT", np.float32, np.float64)

FUSION = 60.0  # ranks of all runs are fused as the sum of 1 / (60 + rank)
FLAT = 30.0  # a run contributes the log of 30 + rank: its first ranks are nearly equal
# Mean and standard deviation of the weights before any judgment: the log odds of a document of average fused
# rank, the effect of one standard deviation of the fused rank, and the effect of one run.
LEVEL, FUSED, RUN = (-2.5, 1.5), (1.0, 0.75), (0.1, 0.6)
TOPIC_SPREAD = 1.5  # standard deviation of the topics' levels
# Posterior draws narrow with every judgment, but the model's own error does not. In real and simulated
# collections, both were equal after about this many judgments per topic. Draws are widened to cover both.
AS_WRONG_AS_UNSURE = 40
STEPS = 50
ENOUGH = 1e-10  # stop when the relative improvement of the log likelihood is smaller
_BLOCK = 1 << 13  # documents processed at a time
_ROWS = 512  # judgments processed at a time


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The judged documents, by their place among all that count, and which of them are relevant."""

    documents: Counts
    relevant: NDArray[np.bool_]


class Belief(Protocol):
    """The result of one fit for every document that counts."""

    @property
    def probability(self) -> Values:
        """(document,) its probability of relevance."""

    def drawn(self, draws: int, seed: Sequence[int]) -> DrawnOdds:
        """Draw the probabilities themselves `draws` times, as log odds.

        The same seed gives the same draws.
        """

    def wider(self, judgments: int) -> float:
        """Return how much wider the spread should be than that of the draws after this many judgments."""

    def level_precision(self, topic: int) -> float:
        """Return the precision (1 / variance) of a topic's level; infinite if probabilities are known."""


class DrawnOdds(Protocol):
    """Log odds of relevance under each of several draws."""

    def of_topic(self, documents: slice | Counts, topic: int) -> NDArray[np.float32]:
        """Return the log odds of one topic's documents: (document, draw)."""


class DocumentPrior(Protocol):
    """A way to estimate how likely the unjudged documents of several runs are to be relevant."""

    @property
    def learns(self) -> bool:
        """Return whether judgments change the estimates."""

    def fitted(self, evidence: Evidence, near: Belief | None = None) -> Belief:
        """Fit it to these judgments; `near` is a fit to nearly the same ones, to begin from."""


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """The input of the model for each document that counts: its topic, and a row of numbers."""

    topics: int
    topic: Counts  # (document,)
    rows: NDArray[np.float32]  # (document, feature): 1, fused rank, then one per run

    @staticmethod
    def of(lists: Sequence[TopicLists]) -> Features:
        """Compute features from the ranks that the runs give the documents."""
        runs, depth = lists[0].places.shape
        near = np.log((depth + FLAT) / (FLAT + np.arange(1, depth + 1)))
        fusion = 1 / (FUSION + np.arange(1, depth + 1))
        rows = np.ones((sum(topic.size for topic in lists), 2 + runs), np.float32)
        begin = 0
        for topic in lists:
            end = begin + topic.size
            rows[begin:end, 2:] = topic.by_document(near * topic.filled).T
            rows[begin:end, 1] = np.log(topic.by_document(fusion * topic.filled).sum(axis=0))
            begin = end
        fused = rows[:, 1].astype(np.float64)
        if len(fused):
            rows[:, 1] = (fused - fused.mean()) / max(fused.std(), 1e-6)
        return Features(len(lists), np.repeat(np.arange(len(lists)), [topic.size for topic in lists]), rows)


@dataclass(frozen=True, slots=True, eq=False)
class RunWeights:
    """The model before it has seen judgments."""

    features: Features
    learns: bool = True

    def fitted(self, evidence: Evidence, near: Belief | None = None) -> Belief:
        """Fit the weights to these judgments; `near` is a fit to nearly the same ones, to begin from."""
        runs = self.features.rows.shape[1] - 2
        center, spread = np.array([LEVEL, FUSED] + [RUN] * runs).T
        by_topic = np.argsort(self.features.topic[evidence.documents], kind="stable")
        documents = evidence.documents[by_topic]
        problem = _Problem(
            self.features.rows[documents], self.features.topic[documents],
            evidence.relevant[by_topic], center, spread**-2.0, self.features.topics,
        )  # fmt: skip
        begin = (near.weights, near.levels) if isinstance(near, RunWeightedBelief) else None
        return RunWeightedBelief(self.features, *problem.solved(begin))


def logistic(log_odds: NDArray[FloatT]) -> NDArray[FloatT]:
    """Convert log odds to probabilities."""
    with np.errstate(over="ignore"):  # far below 0 the probability is 0
        return np.reciprocal(1 + np.exp(-log_odds))


@dataclass(slots=True)
class _Problem:
    """A penalized logistic regression with one level per topic."""

    rows: NDArray[np.float32]  # (judgment, feature)
    topic: Counts  # (judgment,) never decreasing
    relevant: NDArray[np.bool_]
    center: Values  # (feature,) prior mean of the weights
    precision: Values  # (feature,) prior precision of the weights
    topics: int

    def blocks(self) -> Iterator[tuple[slice, Matrix]]:
        """Yield blocks of judgments that fit into the cache, with their rows in double precision."""
        for begin in range(0, len(self.rows), _ROWS):
            block = slice(begin, begin + _ROWS)
            yield block, self.rows[block].astype(np.float64)

    def log_odds(self, weights: Values, levels: Values) -> Values:
        parts = [rows @ weights for _, rows in self.blocks()]
        return np.concatenate([np.zeros(0), *parts]) + levels[self.topic]

    def cost(self, odds: Values, weights: Values, levels: Values) -> float:
        """Return minus the penalized log likelihood."""
        misfit = np.logaddexp(0, np.where(self.relevant, -odds, odds)).sum()
        away = self.precision @ (weights - self.center) ** 2 + levels @ levels * TOPIC_SPREAD**-2.0
        return float(misfit + away / 2)

    def derivatives(self, odds: Values) -> tuple[Values, Values, Matrix, Matrix, Values]:
        """Return the residuals, their pull on the weights, and the second derivatives.

        These are of weights, between both, and of levels.
        """
        chance = logistic(odds)
        left, spread = self.relevant - chance, chance * (1 - chance)
        pull, among = np.zeros(len(self.center)), np.diag(self.precision)
        cross = np.zeros((self.topics, len(self.center)))
        for block, rows in self.blocks():
            pull += left[block] @ rows
            here, first = np.unique(self.topic[block], return_index=True)
            for topic, begin, end in zip(here, first, [*first[1:], len(rows)], strict=True):
                cross[topic] += spread[block][begin:end] @ rows[begin:end]
            rows *= np.sqrt(spread[block])[:, np.newaxis]
            among += rows.T @ rows
        own = np.bincount(self.topic, spread, self.topics) + TOPIC_SPREAD**-2.0
        return left, pull, among, cross, own

    def solved(self, begin: tuple[Values, Values] | None) -> tuple[Values, Values, Matrix, Matrix, Values]:
        """Return the best weights and levels by Newton's method, and the parts of their posterior precision.

        A level affects only its own topic's documents, so all levels are eliminated first. A step that makes
        the fit worse is halved.
        """
        weights, levels = (self.center, np.zeros(self.topics)) if begin is None else begin
        odds = self.log_odds(weights, levels)
        cost = self.cost(odds, weights, levels)
        for _ in range(STEPS):
            left, pull, among, cross, own = self.derivatives(odds)
            schur = among - cross.T @ (cross / own[:, np.newaxis])
            pull -= self.precision * (weights - self.center)
            topic_pull = np.bincount(self.topic, left, self.topics) - levels * TOPIC_SPREAD**-2.0
            step = np.linalg.solve(schur, pull - cross.T @ (topic_pull / own))
            topic_step = (topic_pull - cross @ step) / own
            gain = pull @ step + topic_pull @ topic_step
            if gain < ENOUGH * (1 + cost):
                break
            before, size = (cost, weights, levels), 1.0
            while True:
                weights, levels = before[1] + size * step, before[2] + size * topic_step
                odds = self.log_odds(weights, levels)
                cost = self.cost(odds, weights, levels)
                if not cost > before[0] - 1e-4 * size * gain:
                    break
                size /= 2
        return weights, levels, schur, cross, own


@dataclass(frozen=True, slots=True, eq=False)
class RunWeightedBelief:
    """The fitted model: weights and topic levels with their uncertainty."""

    features: Features
    weights: Values  # (feature,)
    levels: Values  # (topic,)
    schur: Matrix  # posterior precision of the weights, with levels integrated out
    cross: Matrix  # (topic, feature) posterior precision between both
    own: Values  # (topic,) posterior precision of each level, given the weights

    @property
    def probability(self) -> Values:
        """Return the posterior mean, by the usual approximation of the logistic-normal integral."""
        factor = np.linalg.inv(np.linalg.cholesky(self.schur)).T  # its square is the covariance
        parts = [
            self._chances(slice(begin, begin + _BLOCK), factor)
            for begin in range(0, len(self.features.topic), _BLOCK)
        ]
        return np.concatenate([np.zeros(0), *parts])

    def _chances(self, documents: slice, factor: NDArray[np.floating]) -> Values:
        rows, topic = self.features.rows[documents].astype(np.float64), self.features.topic[documents]
        middle = rows @ self.weights + self.levels[topic]
        # A level depends on the weights: the part of each row that this does not explain, and its own spread.
        left = rows - (self.cross / self.own[:, np.newaxis])[topic]
        away = left @ factor
        spread = np.einsum("ij,ij->i", away, away) + 1 / self.own[topic]
        return logistic(middle / np.sqrt(1 + np.pi / 8 * spread))

    def wider(self, judgments: int) -> float:
        """Return the widening: the more is judged, the larger the model's own share of the error."""
        return math.sqrt(1 + judgments / (AS_WRONG_AS_UNSURE * self.features.topics))

    def level_precision(self, topic: int) -> float:
        """Return the posterior precision of a topic's level, given the weights."""
        return float(self.own[topic])

    def drawn(self, draws: int, seed: Sequence[int]) -> DrawnOdds:
        """Draw weights from their posterior, and for every topic a level given these weights."""
        normal = generator("weights", *seed).standard_normal((len(self.weights), draws))
        away = np.linalg.solve(np.linalg.cholesky(self.schur).T, normal)
        return _DrawnWeights(self, away, tuple(seed))


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnWeights:
    belief: RunWeightedBelief
    away: Matrix  # (feature, draw) distance of each draw from the best fit
    seed: tuple[int, ...]

    def of_topic(self, documents: slice | Counts, topic: int) -> NDArray[np.float32]:
        belief = self.belief
        own = generator("levels", *self.seed, topic).standard_normal(self.away.shape[1])
        level = belief.levels[topic] + own / np.sqrt(belief.own[topic])
        level -= belief.cross[topic] @ self.away / belief.own[topic]
        weights = (belief.weights[:, np.newaxis] + self.away).astype(np.float32)
        return belief.features.rows[documents] @ weights + level.astype(np.float32)


Purpose = Literal["order", "weights", "levels", "relevance"]

# The purpose goes first, because NumPy ignores zeros at the end of a seed.
_NUMBERS: dict[Purpose, int] = {"order": 1, "weights": 2, "levels": 3, "relevance": 4}


def generator(purpose: Purpose, *seed: int) -> np.random.Generator:
    """Create a random generator for one purpose; a purpose always has seeds of the same length."""
    return np.random.default_rng([_NUMBERS[purpose], *seed])


FIRST_REFIT = 8  # judgments; then at every doubling

Judged = tuple[int, bool]  # a document that counts, and whether it is relevant


@dataclass(frozen=True, eq=False)
class Fit:
    """The prior as fitted to the first judgments of a session."""

    judged: tuple[Judged, ...]  # in the order of the log
    belief: Belief
    by_topic: Counts  # (topic,) number of judgments

    @cached_property
    def probability(self) -> Values:
        """(document that counts,) The probability of relevance, computed when it is first needed."""
        return self.belief.probability

    def begins(self, judged: Sequence[Judged]) -> bool:
        """Return whether these judgments begin with those of the fit."""
        return self.judged == tuple(judged[: len(self.judged)])


def due_size(first: int, judgments: int) -> int:
    """Return the number of judgments to which the prior should be fitted when there are this many."""
    size = first
    while (doubled := max(FIRST_REFIT, 2 * size)) <= judgments:
        size = doubled
    return size
