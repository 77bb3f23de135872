"""Learn how much to trust each run: the probability of relevance from where runs rank a document.

The log odds are a topic's level, plus the effect of the rank in the fusion of all runs, plus that of the rank
in each run. Both effects differ by topic; the judgments show how much.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, Protocol

import numpy as np

from sounding.core.arrays import NDArray
from sounding.relevance.regression import (
    MOST_WORK,
    Matrix,
    Regression,
    Solution,
    logistic,
    topic_deviations,
)
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import TopicLists

FUSION = 60.0  # ranks of all runs are fused as the sum of 1 / (60 + rank)
FLAT = 30.0  # a run contributes the log of 30 + rank: its first ranks are nearly equal
# For each new relevant document that is drawn there are exp(spread |normal|) - 1 more that no run has, at
# most MOST_UNSEEN. The spread is UNSEEN by the root of the number of runs.
UNSEEN, MOST_UNSEEN = 6.0, 30.0


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

    def level_precision(self, topic: int) -> float:
        """Return the precision (1 / variance) of a topic's level; infinite if probabilities are known."""


class DrawnOdds(Protocol):
    """Log odds of relevance under each of several draws."""

    def of_topic(self, documents: slice | Counts, topic: int) -> NDArray[np.float32]:
        """Return the log odds of one topic's documents: (document, draw)."""

    def unseen(self, topic: int) -> Values:
        """(draw,): Return how many relevant documents no run has, for each new one that a run has."""


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
        rows = np.zeros((sum(topic.size for topic in lists), 2 + runs), np.float32)
        rows[:, 0] = 1
        begin = 0
        for topic in lists:
            run, rank = topic.filled.nonzero()
            rows[begin + topic.places[run, rank], 2 + run] = near[rank]
            end = begin + topic.size
            rows[begin:end, 1] = np.log(topic.sums(fusion * topic.filled))
            begin = end
        fused = rows[:, 1].astype(np.float64)
        if len(fused):
            rows[:, 1] = (fused - fused.mean()) / max(fused.std(), 1e-6)
        return Features(len(lists), np.repeat(np.arange(len(lists)), [topic.size for topic in lists]), rows)

    def places(self) -> list[slice]:
        """(topic,): Return where the documents of each topic stand."""
        starts = np.searchsorted(self.topic, np.arange(self.topics + 1)).tolist()
        return [slice(begin, end) for begin, end in pairwise(starts)]


@dataclass(frozen=True, slots=True, eq=False)
class RunWeights:
    """The model before it has seen judgments."""

    features: Features
    learns: bool = True

    def fitted(self, evidence: Evidence, near: Belief | None = None) -> RunWeightedBelief:
        """Fit the weights to these judgments; `near` is a fit to nearly the same ones, to begin from."""
        rows, documents = self.features.rows, evidence.documents
        topic, relevant = self.features.topic[documents], evidence.relevant
        begin = near.solution if isinstance(near, RunWeightedBelief) else None
        some = every = Regression.of(rows, topic, relevant, documents=documents, work=MOST_WORK)
        spreads, nearly = some.learned(begin)
        if len(some.topics) < len(np.unique(topic)):
            every = Regression.of(rows, topic, relevant, documents=documents)
        else:
            begin = nearly
        return RunWeightedBelief(self.features, every.solved(spreads, begin))


@dataclass(frozen=True, slots=True, eq=False)
class RunWeightedBelief:
    """The fitted model: weights, what each topic adds to them, and their uncertainty."""

    features: Features
    solution: Solution

    @property
    def log_odds(self) -> Values:
        """(document,): The log odds of the best fit."""
        odds = np.empty(len(self.features.topic))
        for topic, documents in enumerate(self.features.places()):
            odds[documents] = self.features.rows[documents].astype(np.float64) @ self._weights(topic)
        return odds

    @property
    def probability(self) -> Values:
        """Return the posterior mean, by the usual approximation of the logistic-normal integral."""
        covariance = np.asarray(np.linalg.inv(self.solution.schur), np.float64)
        chances = np.empty(len(self.features.topic))
        for topic, documents in enumerate(self.features.places()):
            rows = self.features.rows[documents].astype(np.float64)
            spread = ((rows @ self._covariance(topic, covariance)) * rows).sum(axis=1)
            chances[documents] = logistic(rows @ self._weights(topic) / np.sqrt(1 + np.pi / 8 * spread))
        return chances

    def level_precision(self, topic: int) -> float:
        """Return the posterior precision of a topic's level, given all other weights."""
        at, alone = self._place(topic), float(self.deviations[0] ** -2)
        return alone if at is None else alone + float(self.solution.curvature[at])

    def drawn(self, draws: int, seed: Sequence[int]) -> DrawnOdds:
        """Draw weights from their posterior, and for every topic what it adds, given these weights."""
        normal = generator("weights", *seed).standard_normal((len(self.solution.weights), draws))
        away = np.linalg.solve(np.linalg.cholesky(self.solution.schur).T, normal)
        return _DrawnWeights(self, away, tuple(seed))

    @property
    def deviations(self) -> Values:
        """(feature,): The prior standard deviation of what a topic adds."""
        return topic_deviations(self.solution.spreads, len(self.solution.weights) - 2)

    def _place(self, topic: int) -> int | None:
        """Return where a topic stands among the judged ones; None: it has no judgments."""
        topics = self.solution.topics
        at = int(np.searchsorted(topics, topic))
        return at if at < len(topics) and topics[at] == topic else None

    def _weights(self, topic: int) -> Values:
        at = self._place(topic)
        return self.solution.weights if at is None else self.solution.weights + self.solution.added[at]

    def _covariance(self, topic: int, of_weights: Matrix) -> Matrix:
        """Return the posterior covariance of a topic's weights, given that of the common ones."""
        variance = self.deviations**2
        if (at := self._place(topic)) is None:
            return of_weights + np.diag(variance)
        follows = variance[:, np.newaxis] * self.solution.core[at]
        stays = np.eye(len(variance)) - follows
        return np.asarray(stays @ of_weights @ stays.T + np.diag(variance) - follows * variance)


@dataclass(frozen=True, slots=True, eq=False)
class _DrawnWeights:
    belief: RunWeightedBelief
    away: Matrix  # (feature, draw) distance of each draw from the best fit
    seed: tuple[int, ...]

    def of_topic(self, documents: slice | Counts, topic: int) -> NDArray[np.float32]:
        belief, variance = self.belief, self.belief.deviations**2
        at = belief._place(topic)
        own = generator("levels", *self.seed, topic).standard_normal(self.away.shape)
        if at is None:
            added = belief.deviations[:, np.newaxis] * own
        else:
            follows = variance[:, np.newaxis] * belief.solution.core[at]
            added = np.linalg.cholesky(np.diag(variance) - follows * variance) @ own - follows @ self.away
        weights = belief._weights(topic)[:, np.newaxis] + self.away + added
        return belief.features.rows[documents] @ weights.astype(np.float32)

    def unseen(self, topic: int) -> Values:
        normal = generator("unseen", *self.seed, topic).standard_normal(self.away.shape[1])
        spread = UNSEEN / math.sqrt(max(len(self.away) - 2, 1))
        return np.minimum(np.expm1(spread * np.abs(normal)), MOST_UNSEEN)


Purpose = Literal["order", "weights", "levels", "relevance", "unseen", "grades"]

# The purpose goes first, because NumPy ignores zeros at the end of a seed.
_NUMBERS: dict[Purpose, int] = {
    "order": 1, "weights": 2, "levels": 3, "relevance": 4, "unseen": 5, "grades": 6,
}  # fmt: skip


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
