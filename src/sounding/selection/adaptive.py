"""Orders that follow the judgments: runs that bring relevant documents are heard first."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Self

import numpy as np

from sounding.core.errors import DataError
from sounding.relevance.growth import expected_beyond
from sounding.runs.retrieved import NONE
from sounding.selection.orders import by_best_rank
from sounding.selection.queues import Queue, Relevance, TopicPool, by_topic

Merit = Callable[[int, int], float]  # of a run that has given so many relevant and so many other documents


class RunQueue(Queue):
    """The best run gives its first document that was not judged; its merit then follows the judgment.

    Of equally good runs the one that was drawn to come first does.
    """

    def __init__(self, pool: TopicPool, merit: Merit, places: list[int], *, across: bool) -> None:
        self._merit, self._across = merit, across
        self._lists: list[list[int]] = [row[row < pool.size].tolist() for row in pool.lists]
        self._seen = bytearray(pool.size)
        self._at = [0] * len(places)  # (run,) ranks that were passed
        self._given = [(0, 0)] * len(places)  # (run,) relevant and other documents that it gave
        # A heap, the best run first: merit with a minus, place drawn, run.
        self._runs = sorted((-merit(0, 0), place, run) for run, place in enumerate(places))
        self._front = self._first_unseen()

    @property
    def urgency(self) -> float:
        """The merit of the best run where topics compete; 0 where they take turns."""
        return -self._runs[0][0] if self._across and self._runs else 0.0

    def next(self) -> int:
        """The document that the best run has next."""
        return self._front

    def tell(self, position: int, relevant: Relevance) -> None:
        """Judge the run that gave the document; one that could not be judged tells nothing of it."""
        self._seen[position] = 1
        if relevant is not None:
            _, place, run = self._runs[0]
            hits, misses = self._given[run]
            self._given[run] = hits + relevant, misses + (not relevant)
            heapq.heapreplace(self._runs, (-self._merit(*self._given[run]), place, run))
        self._front = self._first_unseen()

    def copy(self) -> Self:
        """A queue that goes its own way from here."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._seen, other._at = bytearray(self._seen), list(self._at)
        other._given, other._runs = list(self._given), list(self._runs)
        return other

    def _first_unseen(self) -> int:
        """The first document of the best run that nobody has seen; runs that have none left are dropped."""
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


def _move_to_front(pool: TopicPool, rng: np.random.Generator, *, across: bool) -> RunQueue:
    places = rng.permutation(len(pool.lists)).tolist()
    return RunQueue(pool, lambda hits, misses: -float(misses), places, across=across)


@by_topic("move-to-front", adaptive=True, drawn=True)
def move_to_front(pool: TopicPool, rng: np.random.Generator) -> RunQueue:
    """Move-to-front: a run goes on as long as its documents are relevant; each other one sets it back.

    Cormack, Palmer and Clarke (1998), their local form: every topic by itself. The run with the fewest
    non-relevant documents so far is heard; among equals the order is drawn.
    """
    return _move_to_front(pool, rng, across=False)


@by_topic("global-move-to-front", adaptive=True, drawn=True)
def global_move_to_front(pool: TopicPool, rng: np.random.Generator) -> RunQueue:
    """Move-to-front over all topics at once: topics that go on giving relevant documents get more.

    Cormack, Palmer and Clarke (1998), their global form.
    """
    return _move_to_front(pool, rng, across=True)


@by_topic("max-mean", adaptive=True, drawn=True)
def max_mean(pool: TopicPool, rng: np.random.Generator) -> RunQueue:
    """The bandit MaxMean: the run with the highest expected share of relevant documents is heard.

    Losada, Parapar and Barreiro (2016): the mean of a beta law that starts uniform, of the run that gave
    each document alone. Greedy pools were unfair to some of their own runs when TREC used one.
    """
    places = rng.permutation(len(pool.lists)).tolist()
    return RunQueue(pool, lambda hits, misses: (1 + hits) / (2 + hits + misses), places, across=False)


class DeepeningQueue(Queue):
    """A topic's pool by rank; its urgency is the share of relevant documents expected in the next step."""

    def __init__(self, pool: TopicPool, initial: int, step: int) -> None:
        order = by_best_rank(pool)
        self._order: list[int] = order.tolist()
        self._ranks: list[int] = pool.best[order].tolist()
        self._sizes = np.bincount(pool.best, minlength=pool.lists.shape[1] + 1)[1:]
        self._found = np.zeros(len(self._sizes), np.int64)  # (rank,) relevant documents first seen there
        self._step, self._reached, self._at = step, min(initial, len(self._sizes)), 0
        self._urgency = np.inf

    @property
    def urgency(self) -> float:
        """The share of relevant documents that is expected in this step; without end in the first."""
        return self._urgency

    def next(self) -> int:
        """The next document by rank."""
        return self._order[self._at] if self._at < len(self._order) else NONE

    def tell(self, position: int, relevant: Relevance) -> None:
        """Count what was found; where a step is done, expect what the next will bring."""
        self._found[self._ranks[self._at] - 1] += bool(relevant)
        self._at += 1
        while self._at < len(self._order) and self._ranks[self._at] > self._reached:
            deeper = min(self._reached + self._step, len(self._sizes))
            documents = int(self._sizes[self._reached : deeper].sum())
            expected = expected_beyond(self._found[np.newaxis, : self._reached], deeper)[0]
            self._urgency = float(expected) / documents if documents else np.inf
            self._reached = deeper

    def copy(self) -> Self:
        """A queue that goes its own way from here."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._found = self._found.copy()
        return other


@by_topic("adaptive-depth", adaptive=True)
def adaptive_depth(
    pool: TopicPool, _: np.random.Generator, *, initial: int = 20, step: int = 10
) -> DeepeningQueue:
    """Zobel's topic-adaptive depth: the pools that still give relevant documents are made deeper.

    Zobel (1998). All pools are judged to the depth `initial`, by rank; then the pool goes `step` ranks
    deeper whose growth, extrapolated, promises the most relevant documents for each one judged.
    """
    if initial < 2 or step < 1:
        raise DataError(
            f"depth {initial} and steps of {step}; expected at least 2, which show a growth, and 1"
        )
    return DeepeningQueue(pool, initial, step)
