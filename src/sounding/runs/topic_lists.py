"""The documents that count, topic by topic: those that a run has among its first `depth`.

Everything about a topic is stored by run and rank. Most documents are in few runs, so this is smaller than a
table of runs by documents, and sums over a ranking are running sums along a row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.limits import check_count
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE, Retrieved

ByRank = NDArray[np.float64]  # (run, rank)
ByDocument = NDArray[np.float64]  # (run, document)


@dataclass(frozen=True, eq=False)
class TopicLists:
    """The lists of all runs for one topic; its documents are numbered from 0, and `size` means none."""

    documents: Counts  # (document,) their numbers in Retrieved, ascending, in the order of document ids
    # (run, rank) the document there; `size`: the list has ended, or the document does not count
    places: Counts
    topic: str = ""

    @property
    def size(self) -> int:
        """The number of different documents."""
        return len(self.documents)

    @cached_property
    def best(self) -> Counts:
        """(document,) its best rank in any run, from 1; 0 if no run has it."""
        runs, depth = self.places.shape
        best = np.zeros(self.size + 1, np.int64)
        # Assignments go from the deepest rank up, because the last one to a place wins.
        best[self.places.T[::-1].ravel()] = np.repeat(np.arange(depth, 0, -1), runs)
        return best[:-1]

    @cached_property
    def filled(self) -> ByRank:
        """1 where there is a document, 0 after the end of a list."""
        return (self.places < self.size).astype(np.float64)

    @cached_property
    def entries(self) -> Counts:
        """The flat places of all documents, grouped by document and ordered by run."""
        flat = self.places.ravel()
        return np.argsort(flat, kind="stable")[: np.count_nonzero(flat < self.size)]

    @cached_property
    def starts(self) -> Counts:
        """(document + 1,) where the entries of each document begin."""
        ends = np.cumsum(np.bincount(self.places.ravel(), minlength=self.size + 1)[: self.size])
        return np.concatenate([[0], ends])

    @cached_property
    def everywhere(self) -> NDArray[np.bool_]:
        """(document,) whether every run has it."""
        return np.diff(self.starts) == len(self.places)

    @cached_property
    def shared(self) -> Counts:
        """The documents that at least two runs have."""
        return (np.diff(self.starts) > 1).nonzero()[0]

    @cached_property
    def _columns(self) -> Counts:
        """(run, rank) flat places in a table of runs by shared documents, with one column for all others."""
        width = len(self.shared) + 1
        column = np.full(self.size + 1, width - 1)
        column[self.shared] = np.arange(width - 1)
        return column[self.places] + width * np.arange(len(self.places))[:, np.newaxis]

    def by_shared_document(self, values: ByRank) -> ByDocument:
        """Arrange values by run and rank as runs by shared documents; 0 if a run lacks one."""
        table = np.zeros((len(self.places), len(self.shared) + 1))
        table.reshape(-1)[self._columns] = values
        return table[:, :-1]

    def by_document(self, values: ByRank) -> ByDocument:
        """Arrange values by run and rank as runs by documents; 0 if a run lacks one."""
        table = np.zeros((len(self.places), self.size + 1))
        np.put_along_axis(table, self.places, values, axis=1)
        return table[:, :-1]

    def holders(self, document: int) -> tuple[Counts, Counts]:
        """Return the runs that have a document, and its place in each, from 0."""
        flat = self.entries[self.starts[document] : self.starts[document + 1]]
        return np.divmod(flat, self.places.shape[1])

    def sums(self, weights: Values | ByRank) -> Values:
        """(document,) Sum the weights of the ranks that the runs give each document.

        `weights` are by run and rank, or by rank if all runs share them.
        """
        spread = np.broadcast_to(weights, self.places.shape)
        sums = np.bincount(self.places.ravel(), spread.ravel(), self.size + 1)
        return sums[: self.size].astype(np.float64, copy=False)

    def new_from(self, first: int, last: int, old: NDArray[np.bool_]) -> tuple[TopicLists, Counts]:
        """Return the lists of runs `first` to `last` without the `old` documents, and the other documents.

        Ranks do not change.
        """
        own = TopicLists(self.documents, self.places[first:last])
        new = ((own.best > 0) & ~old).nonzero()[0]
        place = np.full(self.size + 1, len(new))
        place[new] = np.arange(len(new))
        return TopicLists(self.documents[new], place[own.places], self.topic), new

    def range_over_runs(self, values: ByRank) -> Values:
        """(document,) Return the largest minus the smallest of its values over all runs.

        Values are not negative.

        A run that lacks the document has 0.
        """
        if not self.size:
            return np.zeros(0)
        listed = values.reshape(-1).take(self.entries)
        most = np.maximum.reduceat(listed, self.starts[:-1])
        if not self.everywhere.any():
            return most
        return most - np.where(self.everywhere, np.minimum.reduceat(listed, self.starts[:-1]), 0.0)


def topic_lists(
    retrieved: Retrieved, depth: int | None = None, chosen: NDArray[np.bool_] | None = None
) -> list[TopicLists]:
    """Return the first `depth` documents of every run (None: all), topic by topic.

    `chosen` says which documents count; the ranks of others stay empty. None: all that a run has at this
    depth.
    """
    if depth is not None:
        check_count("depth", depth, 1)
        retrieved = retrieved.cut(depth)
    return [_lists_of(retrieved, number, chosen) for number in range(len(retrieved.topics))]


def _lists_of(retrieved: Retrieved, topic: int, chosen: NDArray[np.bool_] | None) -> TopicLists:
    begin, end = retrieved.starts[topic : topic + 2].tolist()
    numbers = retrieved.lists[:, topic]
    local = np.where(numbers == NONE, end - begin, numbers - begin)  # the last place means no document
    if chosen is None:
        kept = np.zeros(end - begin + 1, np.bool_)
        kept[local] = True
    else:
        kept = np.append(chosen[begin:end], False)
    documents = kept[:-1].nonzero()[0]
    place = np.full(end - begin + 1, len(documents))
    place[documents] = np.arange(len(documents))
    return TopicLists(begin + documents, place[local], retrieved.topics[topic])


def places_of(lists: Sequence[TopicLists], documents: int) -> list[int]:
    """(document,) Return the place of each document in its topic's lists; NONE if it does not count."""
    places = np.full(documents, NONE)
    for topic in lists:
        places[topic.documents] = np.arange(topic.size)
    return places.tolist()


def rows_below(values: ByRank) -> ByRank:
    """Sum the values to the right in each row."""
    below = np.zeros_like(values)
    below[:, :-1] = np.cumsum(values[:, :0:-1], axis=1)[:, ::-1]
    return below
