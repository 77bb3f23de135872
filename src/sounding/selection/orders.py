"""Orders that are known before anything is judged, and orders by what a document weighs."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, Self

import numpy as np

from sounding.core.errors import DataError
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE
from sounding.selection.queues import Queue, Relevance, TopicPool, by_topic


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


Interest = Callable[[Values, Values], Values]  # in runs of these scores and residuals


def rbp_weights(p: float, depth: int) -> Values:
    """(rank,): what a relevant document adds to RBP at each rank."""
    if not 0 < p < 1:
        raise DataError(f"p is {p}; expected a number between 0 and 1")
    return (1 - p) * np.power(p, np.arange(depth))


@by_topic("rbp-a")
def rbp_sum(pool: TopicPool, _: np.random.Generator, *, p: float = 0.8) -> FixedQueue:
    """By what the document weighs in the RBP of all runs: the sum over runs of (1 - p) p^(rank - 1).

    Method A of Moffat, Webber and Zobel (2007).
    """
    return heaviest_first(pool.sums(rbp_weights(p, pool.lists.shape[1])))


class HeaviestQueue(Queue):
    """The heaviest document first, of equal ones the first by doc id; judgments change the weights."""

    _learnt: ClassVar[tuple[str, ...]]  # the arrays that judgments change

    def __init__(self, pool: TopicPool) -> None:
        self._pool = pool
        self._open = np.ones(pool.size, np.bool_)
        self._weigh()

    @abstractmethod
    def _present_weights(self) -> Values:
        """(document,) what each weighs by what is known."""

    @abstractmethod
    def _learn(self, runs: Counts, ranks: Counts, *, relevant: bool) -> None:
        """Take in what a document is that these runs have at these ranks, from 0."""

    @property
    def weight(self) -> float | None:
        """The weight of the next document."""
        return float(self._weights[self._front])

    def next(self) -> int:
        """The heaviest document."""
        return self._front

    def tell(self, position: int, relevant: Relevance) -> None:
        """What is known of the runs changes, and with it all weights."""
        self._open[position] = False
        if relevant is not None:
            self._learn(*self._pool.holders.of(position), relevant=relevant)
        self._weigh()

    def copy(self) -> Self:
        """A queue that goes its own way from here."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        for name in ("_open", *self._learnt):
            setattr(other, name, getattr(self, name).copy())
        return other

    def _weigh(self) -> None:
        self._weights = np.where(self._open, self._present_weights(), -np.inf)
        self._front = int(self._weights.argmax()) if self._open.any() else NONE


class InterestQueue(HeaviestQueue):
    """By the weight in RBP, each run counting with its interest: a function of its score and residual."""

    _learnt = ("_score", "_residual")

    def __init__(self, pool: TopicPool, p: float, interest: Interest) -> None:
        self._interest = interest
        self._by_rank = rbp_weights(p, pool.lists.shape[1])
        self._score = np.zeros(len(pool.lists))  # (run,) RBP of what was judged
        self._residual = np.ones(len(pool.lists))  # (run,) weight of what was not
        super().__init__(pool)

    def _learn(self, runs: Counts, ranks: Counts, *, relevant: bool) -> None:
        self._residual[runs] -= self._by_rank[ranks]
        if relevant:
            self._score[runs] += self._by_rank[ranks]

    def _present_weights(self) -> Values:
        # From the start each time: changes added up would drown the small weights of deep ranks.
        factor = self._interest(self._score, np.maximum(self._residual, 0))
        return self._pool.sums(factor[:, np.newaxis] * self._by_rank)


@by_topic("rbp-b", adaptive=True)
def rbp_residual(pool: TopicPool, _: np.random.Generator, *, p: float = 0.8) -> InterestQueue:
    """As rbp-a, each run counting with its residual: runs of which least is known come first.

    Method B of Moffat, Webber and Zobel (2007). It uses which documents were judged, not the outcome.
    """
    return InterestQueue(pool, p, lambda score, residual: residual)


@by_topic("rbp-c", adaptive=True)
def rbp_projected(pool: TopicPool, _: np.random.Generator, *, p: float = 0.8) -> InterestQueue:
    """As rbp-b, and runs that look good count more: residual times (score + residual / 2) cubed.

    Method C of Moffat, Webber and Zobel (2007): judgments go to the runs that may turn out best.
    """
    return InterestQueue(pool, p, lambda score, residual: residual * (score + residual / 2) ** 3)


class HedgeQueue(HeaviestQueue):
    """By the mixture of the runs' opinions of a document; runs that were wrong lose their say."""

    _learnt = ("_loss",)

    def __init__(self, pool: TopicPool, beta: float) -> None:
        self._beta = beta
        depth, size = pool.lists.shape[1], pool.size
        logs = np.log(np.arange(1, size + 1))
        ranks = np.arange(1, depth + 1)
        self._listed = (np.log(max(size, 1)) - np.log(ranks)) / 2  # (rank,) gain of a relevant document
        lengths = np.count_nonzero(pool.lists < size, axis=1)
        below = logs.sum() - np.concatenate([[0.0], np.cumsum(logs)])[lengths]
        mean = np.divide(below, size - lengths, out=np.zeros(len(lengths)), where=lengths < size)
        # (run,) what a document that the run lacks gains on average, somewhere below its list
        self._unlisted = np.where(lengths < size, (np.log(max(size, 1)) - mean) / 2, 0.0)
        self._loss = np.zeros(len(lengths))  # (run,)
        super().__init__(pool)

    def _learn(self, runs: Counts, ranks: Counts, *, relevant: bool) -> None:
        """Every run gains where it ranked a relevant document high, and loses by the same amount else."""
        gain = self._unlisted.copy()
        gain[runs] = self._listed[ranks]
        self._loss += -gain if relevant else gain

    def _present_weights(self) -> Values:
        """(document,) its mean worth under the runs' present say."""
        say = self._beta ** (self._loss - self._loss.min(initial=np.inf))
        say /= max(say.sum(), np.finfo(float).tiny)
        excess = say[:, np.newaxis] * (self._listed - self._unlisted[:, np.newaxis])
        return self._pool.sums(excess) + say @ self._unlisted


@by_topic("hedge", adaptive=True)
def hedge(pool: TopicPool, _: np.random.Generator, *, beta: float = 0.1) -> HedgeQueue:
    """Hedge: the document that the runs rank highest, those that were right so far having more say.

    Aslam, Pavlu and Savell (2003). A document at rank r is worth log(n / r) / 2 to a run, n being the size
    of the pool, and one that the run lacks the mean over the ranks below its list; a run's say is beta to
    the power of its losses.
    """
    if not 0 < beta < 1:
        raise DataError(f"beta is {beta}; expected a number between 0 and 1")
    return HedgeQueue(pool, beta)
