"""Judging orders: fixed beforehand, by the weight of documents, and by which runs were right so far."""

from __future__ import annotations

import heapq
from abc import abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from sounding.core.errors import DataError
from sounding.relevance.growth import expected_beyond
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE
from sounding.runs.topic_lists import TopicLists
from sounding.selection.strategies import Queue, Relevance, register


class FixedQueue(Queue):
    """Documents in an order that no judgment changes."""

    def __init__(self, order: Sequence[int], weights: Sequence[float] | None = None) -> None:
        self._order, self._weights, self._at = order, weights, 0  # weights: (position,)

    @property
    def weight(self) -> float | None:
        """The weight of the next document."""
        return None if self._weights is None else self._weights[self.next()]

    def next(self) -> int:
        """Return the next position, or NONE."""
        return self._order[self._at] if self._at < len(self._order) else NONE

    def tell(self, position: int, relevant: Relevance) -> None:
        """Move past the current document."""
        self._at += 1


def heaviest_first(weights: Values) -> FixedQueue:
    """Return a queue with the heaviest document first; equal ones by document id."""
    order = np.argsort(-weights, kind="stable")
    return FixedQueue(order.tolist(), weights.tolist())


@register("depth")
def depth_pool(pool: TopicLists, _: np.random.Generator) -> FixedQueue:
    """All documents down to the pool depth, in doc-id order.

    The order reveals neither ranks nor which runs have a document.
    """
    return FixedQueue(range(pool.size))


@register("rank")
def rank_order(pool: TopicLists, _: np.random.Generator) -> FixedQueue:
    """By best rank in any run, so that the pool deepens rank by rank; ties by doc id."""
    return FixedQueue(by_best_rank(pool).tolist())


@register("rrf")
def reciprocal_rank_fusion(pool: TopicLists, _: np.random.Generator, *, c: float = 60) -> FixedQueue:
    """By reciprocal-rank fusion: the sum over runs of 1 / (c + rank).

    Cormack, Clarke and Buettcher (2009), with their c of 60.
    """
    if not c >= 0:
        raise DataError(f"c is {c}; expected a number from 0")
    return heaviest_first(pool.sums(1 / (c + 1 + np.arange(pool.places.shape[1]))))


def by_best_rank(pool: TopicLists) -> Counts:
    """Return positions by best rank in any run, equal ones by document id."""
    return np.argsort(pool.best, kind="stable")


Interest = Callable[[Values, Values], Values]  # in runs with these scores and residuals


def rbp_weights(p: float, depth: int) -> Values:
    """(rank,): Return what a relevant document adds to RBP at each rank."""
    if not 0 < p < 1:
        raise DataError(f"p is {p}; expected a number between 0 and 1")
    return (1 - p) * np.power(p, np.arange(depth))


@register("rbp-a")
def rbp_sum(pool: TopicLists, _: np.random.Generator, *, p: float = 0.8) -> FixedQueue:
    """By the document's weight in RBP, summed over the runs: (1 - p) p^(rank - 1).

    Method A of Moffat, Webber and Zobel (2007).
    """
    return heaviest_first(pool.sums(rbp_weights(p, pool.places.shape[1])))


class HeaviestQueue(Queue):
    """The heaviest document first, equal ones by document id; judgments change the weights."""

    def __init__(self, pool: TopicLists) -> None:
        self._pool = pool
        self._open = np.ones(pool.size, np.bool_)
        self._weigh()

    @abstractmethod
    def _present_weights(self) -> Values:
        """(document,) Return the current weights."""

    @abstractmethod
    def _learn(self, runs: Counts, ranks: Counts, *, relevant: bool) -> None:
        """Update the run weights with one judged document, given the runs' ranks of it, from 0."""

    @property
    def weight(self) -> float | None:
        """The weight of the next document."""
        return float(self._weights[self._front])

    def next(self) -> int:
        """Return the heaviest document."""
        return self._front

    def tell(self, position: int, relevant: Relevance) -> None:
        """Update the runs, and with them all weights."""
        self._open[position] = False
        if relevant is not None:
            self._learn(*self._pool.holders(position), relevant=relevant)
        self._weigh()

    def _weigh(self) -> None:
        self._weights = np.where(self._open, self._present_weights(), -np.inf)
        self._front = int(self._weights.argmax()) if self._open.any() else NONE


class InterestQueue(HeaviestQueue):
    """By weight in RBP, where each run counts with its interest: a function of score and residual."""

    _changing = ("_open", "_score", "_residual")

    def __init__(self, pool: TopicLists, p: float, interest: Interest) -> None:
        self._interest = interest
        self._by_rank = rbp_weights(p, pool.places.shape[1])
        self._score = np.zeros(len(pool.places))  # (run,) RBP of the judged documents
        self._residual = np.ones(len(pool.places))  # (run,) weight of the unjudged ones
        super().__init__(pool)

    def _learn(self, runs: Counts, ranks: Counts, *, relevant: bool) -> None:
        self._residual[runs] -= self._by_rank[ranks]
        if relevant:
            self._score[runs] += self._by_rank[ranks]

    def _present_weights(self) -> Values:
        # Recomputed each time: accumulated changes would drown the small weights of deep ranks.
        factor = self._interest(self._score, np.maximum(self._residual, 0))
        return self._pool.sums(factor[:, np.newaxis] * self._by_rank)


@register("rbp-b", adaptive=True)
def rbp_residual(pool: TopicLists, _: np.random.Generator, *, p: float = 0.8) -> InterestQueue:
    """As rbp-a, but weighted by each run's residual: the least-judged runs come first.

    Method B of Moffat, Webber and Zobel (2007). It uses which documents were judged, not the outcome.
    """
    return InterestQueue(pool, p, lambda score, residual: residual)


@register("rbp-c", adaptive=True)
def rbp_projected(pool: TopicLists, _: np.random.Generator, *, p: float = 0.8) -> InterestQueue:
    """As rbp-b, but good runs count more: residual times (score + residual / 2) cubed.

    Method C of Moffat, Webber and Zobel (2007): judgments go to the runs that may turn out best.
    """
    return InterestQueue(pool, p, lambda score, residual: residual * (score + residual / 2) ** 3)


class HedgeQueue(HeaviestQueue):
    """By the mixture of the runs' opinions of a document; runs that were wrong lose influence."""

    _changing = ("_open", "_loss")

    def __init__(self, pool: TopicLists, beta: float) -> None:
        self._beta = beta
        depth, size = pool.places.shape[1], pool.size
        logs = np.log(np.arange(1, size + 1))
        ranks = np.arange(1, depth + 1)
        self._listed = (np.log(max(size, 1)) - np.log(ranks)) / 2  # (rank,) gain of a relevant document
        lengths = np.count_nonzero(pool.places < size, axis=1)
        below = logs.sum() - np.concatenate([[0.0], np.cumsum(logs)])[lengths]
        mean = np.divide(below, size - lengths, out=np.zeros(len(lengths)), where=lengths < size)
        # (run,) average gain of a document that the run lacks, somewhere below its list
        self._unlisted = np.where(lengths < size, (np.log(max(size, 1)) - mean) / 2, 0.0)
        self._loss = np.zeros(len(lengths))  # (run,)
        super().__init__(pool)

    def _learn(self, runs: Counts, ranks: Counts, *, relevant: bool) -> None:
        """Add to every run's loss: a gain if it ranked a relevant document high, otherwise a loss."""
        gain = self._unlisted.copy()
        gain[runs] = self._listed[ranks]
        self._loss += -gain if relevant else gain

    def _present_weights(self) -> Values:
        """(document,) Return its mean value under the runs' current influence."""
        say = self._beta ** (self._loss - self._loss.min(initial=np.inf))
        say /= max(say.sum(), np.finfo(float).tiny)
        excess = say[:, np.newaxis] * (self._listed - self._unlisted[:, np.newaxis])
        return self._pool.sums(excess) + say @ self._unlisted


@register("hedge", adaptive=True)
def hedge(pool: TopicLists, _: np.random.Generator, *, beta: float = 0.1) -> HedgeQueue:
    """Hedge: the document ranked highest, with more weight for runs that were right so far.

    Aslam, Pavlu and Savell (2003). A document at rank r is worth log(n / r) / 2 to a run, n being the size
    of the pool, and one that the run lacks the mean over the ranks below its list; a run's say is beta to
    the power of its losses.
    """
    if not 0 < beta < 1:
        raise DataError(f"beta is {beta}; expected a number between 0 and 1")
    return HedgeQueue(pool, beta)


# -- runs that find relevant documents come first --------------------------------------------------

Merit = Callable[[int, int], float]  # of a run with this many relevant and other documents


class RunQueue(Queue):
    """The best run provides its first unjudged document; the judgment then changes its merit.

    Equally good runs come in a drawn order.
    """

    _changing = ("_seen", "_at", "_given", "_runs")

    def __init__(self, pool: TopicLists, merit: Merit, places: list[int], *, across: bool) -> None:
        self._merit, self._across = merit, across
        self._lists: list[list[int]] = [row[row < pool.size].tolist() for row in pool.places]
        self._seen = bytearray(pool.size)
        self._at = [0] * len(places)  # (run,) ranks that were passed
        self._given = [(0, 0)] * len(places)  # (run,) relevant and other documents that it provided
        # A heap with the best run first: negative merit, drawn place, run.
        self._runs = sorted((-merit(0, 0), place, run) for run, place in enumerate(places))
        self._front = self._first_unseen()

    @property
    def urgency(self) -> float:
        """The merit of the best run if topics compete; 0 if they take turns."""
        return -self._runs[0][0] if self._across and self._runs else 0.0

    def next(self) -> int:
        """Return the next document of the best run."""
        return self._front

    def tell(self, position: int, relevant: Relevance) -> None:
        """Update the run that provided the document; one that could not be judged changes nothing."""
        self._seen[position] = 1
        if relevant is not None:
            _, place, run = self._runs[0]
            hits, misses = self._given[run]
            self._given[run] = hits + relevant, misses + (not relevant)
            heapq.heapreplace(self._runs, (-self._merit(*self._given[run]), place, run))
        self._front = self._first_unseen()

    def _first_unseen(self) -> int:
        """Return the first unseen document of the best run; drop runs that have none left."""
        while self._runs:
            run = self._runs[0][2]
            own, at = self._lists[run], self._at[run]
            while at < len(own) and self._seen[own[at]]:
                at += 1
            self._at[run] = at
            if at < len(own):
                return own[at]
            heapq.heappop(self._runs)
        return NONE


def _move_to_front(pool: TopicLists, rng: np.random.Generator, *, across: bool) -> RunQueue:
    places = rng.permutation(len(pool.places)).tolist()
    return RunQueue(pool, lambda hits, misses: -float(misses), places, across=across)


@register("move-to-front", adaptive=True, drawn=True)
def move_to_front(pool: TopicLists, rng: np.random.Generator) -> RunQueue:
    """Move-to-front: follow a run while its documents are relevant; each other one sets it back.

    Cormack, Palmer and Clarke (1998), their local form: every topic by itself. The run with the fewest
    non-relevant documents so far is heard; among equals the order is drawn.
    """
    return _move_to_front(pool, rng, across=False)


@register("global-move-to-front", adaptive=True, drawn=True)
def global_move_to_front(pool: TopicLists, rng: np.random.Generator) -> RunQueue:
    """Move-to-front over all topics: topics that keep yielding relevant documents get more.

    Cormack, Palmer and Clarke (1998), their global form.
    """
    return _move_to_front(pool, rng, across=True)


@register("max-mean", adaptive=True, drawn=True)
def max_mean(pool: TopicLists, rng: np.random.Generator) -> RunQueue:
    """MaxMean bandit: follow the run with the highest expected share of relevant documents.

    Losada, Parapar and Barreiro (2016): the mean of a beta law that starts uniform, of the run that gave
    each document alone. Greedy pools were unfair to some of their own runs when TREC used one.
    """
    places = rng.permutation(len(pool.places)).tolist()
    return RunQueue(pool, lambda hits, misses: (1 + hits) / (2 + hits + misses), places, across=False)


class DeepeningQueue(FixedQueue):
    """A topic's pool by rank; its urgency is the expected share of relevant documents in the next step."""

    urgency = np.inf  # infinite in the first step
    _changing = ("_found",)

    def __init__(self, pool: TopicLists, initial: int, step: int) -> None:
        order = by_best_rank(pool)
        super().__init__(order.tolist())
        self._ranks: list[int] = pool.best[order].tolist()
        self._sizes = np.bincount(pool.best, minlength=pool.places.shape[1] + 1)[1:]
        self._found = np.zeros(len(self._sizes), np.int64)  # (rank,) relevant documents first found there
        self._step, self._reached = step, min(initial, len(self._sizes))

    def tell(self, position: int, relevant: Relevance) -> None:
        """Count what was found; after a step, estimate what the next will find."""
        self._found[self._ranks[self._at] - 1] += bool(relevant)
        super().tell(position, relevant)
        while self._at < len(self._order) and self._ranks[self._at] > self._reached:
            deeper = min(self._reached + self._step, len(self._sizes))
            documents = int(self._sizes[self._reached : deeper].sum())
            expected = expected_beyond(self._found[np.newaxis, : self._reached], deeper)[0]
            self.urgency = float(expected) / documents if documents else np.inf
            self._reached = deeper


@register("adaptive-depth", adaptive=True)
def adaptive_depth(
    pool: TopicLists, _: np.random.Generator, *, initial: int = 20, step: int = 10
) -> DeepeningQueue:
    """Zobel's adaptive depth: deepen the pools that still yield relevant documents.

    Zobel (1998). All pools are judged to the depth `initial`, by rank; then the pool goes `step` ranks
    deeper whose growth, extrapolated, promises the most relevant documents for each one judged.
    """
    if initial < 2 or step < 1:
        raise DataError(
            f"depth {initial} and steps of {step}; expected at least 2, which show a growth, and 1"
        )
    return DeepeningQueue(pool, initial, step)
