"""Orders that are known before anything is judged: by doc id, by rank, by fused rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import numpy as np

from sounding.collection.strategies.topic_pool import Queue, Relevance, TopicPool
from sounding.collection.strategies.turns import by_topic
from sounding.errors import DataError
from sounding.ranking import Counts, Values
from sounding.retrieved import NONE


class FixedQueue(Queue):
    """Documents in an order that no judgment changes."""

    def __init__(self, order: Sequence[int], weights: Sequence[float] | None = None, at: int = 0) -> None:
        self._order, self._weights, self._at = order, weights, at  # weights: (position,)

    @property
    def weight(self) -> float | None:
        """The weight of the next document."""
        return None if self._weights is None else self._weights[self.next()]

    def next(self) -> int:
        """The next position, or NONE."""
        return self._order[self._at] if self._at < len(self._order) else NONE

    def tell(self, position: int, relevant: Relevance) -> None:
        """The document at hand has been seen to."""
        self._at += 1

    def copy(self) -> Self:
        """Another one that stands at the same place."""
        return type(self)(self._order, self._weights, self._at)


def heaviest_first(weights: Values) -> FixedQueue:
    """The queue in which the heaviest document comes first; equal ones by doc id."""
    order = np.argsort(-weights, kind="stable")
    return FixedQueue(order.tolist(), weights.tolist())


@by_topic("depth")
def depth_pool(pool: TopicPool, _: np.random.Generator) -> FixedQueue:
    """Everything that the runs have down to the depth, in the order of doc ids.

    The order says nothing of ranks, of how many runs have a document or of which.
    """
    return FixedQueue(range(pool.size))


@by_topic("rank")
def rank_order(pool: TopicPool, _: np.random.Generator) -> FixedQueue:
    """By best rank in any run: a pool that is deepened rank by rank; equal ones by doc id."""
    return FixedQueue(by_best_rank(pool).tolist())


@by_topic("rrf")
def reciprocal_rank_fusion(pool: TopicPool, _: np.random.Generator, *, c: float = 60) -> FixedQueue:
    """By the sum over runs of 1 / (c + rank): reciprocal-rank fusion.

    Cormack, Clarke and Buettcher (2009), with their c of 60.
    """
    if not c >= 0:
        raise DataError(f"c is {c}; expected a number from 0")
    return heaviest_first(pool.sums(1 / (c + 1 + np.arange(pool.lists.shape[1]))))


def by_best_rank(pool: TopicPool) -> Counts:
    """Positions by best rank in any run, equal ones by doc id."""
    return np.argsort(pool.best, kind="stable")
