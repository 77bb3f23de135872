"""The pool of one topic, and the queue in which a strategy wants its documents judged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Self

import numpy as np

from sounding.arrays import NDArray
from sounding.ranking import Counts, Values
from sounding.retrieved import NONE, Retrieved

Relevance = bool | None  # None: it could not be judged


@dataclass(frozen=True, eq=False)
class TopicPool:
    """The documents that the runs bring for one topic, by position: 0, 1, ... in the order of doc ids."""

    name: str
    documents: Counts  # (position,) their numbers among all documents, ascending
    best: Counts  # (position,) best rank in any run, from 1
    lists: Counts  # (run, rank) positions; as many as there are documents: the list has ended

    @property
    def size(self) -> int:
        """How many documents there are."""
        return len(self.documents)

    def sums(self, weights: Values) -> Values:
        """(position,): the sum over the runs of the weight of the place where each has the document.

        `weights` are by run and rank, or by rank where all runs have the same.
        """
        spread = np.broadcast_to(weights, self.lists.shape)
        sums = np.bincount(self.lists.ravel(), spread.ravel(), self.size + 1)
        return sums[: self.size].astype(np.float64, copy=False)

    def brought(self, first: int, last: int, old: NDArray[np.bool_]) -> tuple[TopicPool, Counts]:
        """The pool of some of the runs without the `old` documents, and the positions of the others here.

        Ranks stay what they are in the lists.
        """
        own = self.lists[first:last]
        best = np.zeros(self.size + 1, np.int64)
        for rank in range(own.shape[1], 0, -1):
            best[own[:, rank - 1]] = rank
        new = ((best[:-1] > 0) & ~old).nonzero()[0]
        position = np.full(self.size + 1, len(new))
        position[new] = np.arange(len(new))
        return TopicPool(self.name, self.documents[new], best[new], position[own]), new

    @cached_property
    def holders(self) -> Holders:
        """Which runs have each document, and where."""
        flat = self.lists.ravel()
        order = np.argsort(flat, kind="stable")
        starts = np.searchsorted(flat[order], np.arange(self.size + 1))
        return Holders(starts, *np.divmod(order, self.lists.shape[1]))


class Holders(NamedTuple):
    """Runs and ranks (from 0) of the document at position i are those from starts[i] to starts[i + 1]."""

    starts: Counts
    run: Counts
    rank: Counts

    def of(self, position: int) -> tuple[Counts, Counts]:
        """The runs that have a document, and its rank in each, from 0."""
        own = slice(self.starts[position], self.starts[position + 1])
        return self.run[own], self.rank[own]


def topic_pools(pool: Retrieved) -> list[TopicPool]:
    """The pool of every topic."""
    best = pool.best_ranks()
    pools = []
    for topic, name in enumerate(pool.topics):
        first, last = int(pool.starts[topic]), int(pool.starts[topic + 1])
        inside = best[first:last] > 0
        position = np.append(np.cumsum(inside) - 1, np.count_nonzero(inside))
        own = pool.lists[:, topic, :]
        lists = position[np.where(own == NONE, last - first, own - first)]
        pools.append(TopicPool(name, first + inside.nonzero()[0], best[first:last][inside], lists))
    return pools


class Queue(ABC):
    """The documents of a topic in the order in which they should be judged.

    A queue is told the relevance of the document that it gave, and of no other: whoever knows more
    waits until the queue comes to it. So its order depends on what is known, not on when it was known.
    """

    @property
    def urgency(self) -> float:
        """How much sooner than those of other topics its next document should be judged."""
        return 0.0

    @property
    def weight(self) -> float | None:
        """The weight of the next document, where there is one."""
        return None

    def design(self, position: int) -> tuple[int | None, float | None]:
        """Stratum and probability of a document that was sampled; None: this is no sample."""
        return None, None

    @abstractmethod
    def next(self) -> int:
        """The position of the next document; NONE: no more are left."""

    @abstractmethod
    def tell(self, position: int, relevant: Relevance) -> None:
        """What the document that `next` gave turned out to be."""

    @abstractmethod
    def copy(self) -> Self:
        """A queue that goes its own way from here."""
