"""Measures that compare two runs: which of the two a reader would prefer, topic by topic.

A preference is 1 for the first run, -1 for the second, 0 for neither, or between these. It depends on nothing
but the ranks of relevant documents: the n-th of one run is compared with the n-th of the other. A document
that a run did not retrieve ranks below all others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures.registry import Measure, measure
from sounding.measures.totals import share
from sounding.runs.pairs import Pairs, blocks
from sounding.runs.ranking import Counts, Ranking, Values

NOT_RETRIEVED = np.iinfo(np.int32).max
BY_TOPIC = NDArray[np.object_]  # (topic,) the ranks of its relevant documents, ascending
_AT_ONCE = 4_000_000  # places of pairs that are compared together

Weights = Literal["uniform", "inverse", "dcg"]


class Placings(NamedTuple):
    """The ranks of the relevant documents of several runs, and the pairs of runs to compare."""

    rank: NDArray[np.int32]  # (run, place) topic after topic; ascending within a topic
    relevant: Counts  # (topic,) number of relevant documents
    pairs: Pairs

    @property
    def nth(self) -> Counts:
        """(place,): Return the number of the place within its topic, from 1."""
        first = np.cumsum(self.relevant) - self.relevant
        return np.arange(1, self.rank.shape[1] + 1) - np.repeat(first, self.relevant)

    def ahead(self) -> NDArray[np.int8]:
        """(pair, place): Return 1 where the first run of a pair ranks higher, -1 where the second does."""
        first, second = self.rank[self.pairs[:, 0]], self.rank[self.pairs[:, 1]]
        return (first < second).astype(np.int8) - (first > second)

    def by_topic(self, combine: np.ufunc, table: NDArray[Any], empty: float) -> NDArray[Any]:
        """(pair, topic): Combine what stands at the places of each topic."""
        found = np.full((len(table), len(self.relevant)), empty, table.dtype)
        some = self.relevant > 0
        if some.any():
            first = (np.cumsum(self.relevant) - self.relevant)[some]
            found[:, some] = combine.reduceat(table, first, axis=1)
        return found


@measure("RPP", basis="recall", monotone=False, bounds=(-1.0, 1.0))
def recall_paired_preference(runs: Placings, *, rel: float = 1, weights: Weights = "uniform") -> Values:
    """Share of the relevant documents that one run ranks higher, less the share that the other does.

    Recall-paired preference, Diaz & Ferraro (2022). For every n, a reader who wants n relevant documents
    prefers the run that has its n-th higher. All n weigh the same; with `weights` 'inverse' they weigh 1/n,
    and with 'dcg' 1/log2(n + 1). A document is relevant from the grade `rel` on.
    """
    nth = runs.nth.astype(np.float64)
    weight = 1 / {"uniform": np.ones_like(nth), "inverse": nth, "dcg": np.log2(nth + 1)}[weights]
    topic = np.repeat(np.arange(len(runs.relevant)), runs.relevant)
    possible = np.bincount(topic, weight, len(runs.relevant))
    return share(runs.by_topic(np.add, runs.ahead() * weight, 0.0), possible)


@measure("LexiRecall", basis="recall", monotone=False, bounds=(-1.0, 1.0))
def lexicographic_recall(runs: Placings, *, rel: float = 1) -> Values:
    """1 for the run that has its last relevant document higher, -1 for the other.

    Lexicographic recall, Diaz, Ekstrand & Mitra (2023). If the last are equally high, the last but one
    decide, and so on; 0 if none decides. It is the preference of the reader who is served worst.
    """
    return _decided(runs, from_last=True)


@measure("LexiPrecision", basis="recall", monotone=False, bounds=(-1.0, 1.0))
def lexicographic_precision(runs: Placings, *, rel: float = 1) -> Values:
    """1 for the run that has its first relevant document higher, -1 for the other.

    Lexicographic precision, Diaz (2023). If the first are equally high, the second decide, and so on; 0 if
    none decides. It is the preference of the reader who is served best, and breaks the ties of RR.
    """
    return _decided(runs, from_last=False)


def _decided(runs: Placings, *, from_last: bool) -> Values:
    """Return the preference at the first, or last, place of each topic at which two runs differ."""
    ahead = runs.ahead()
    decides = np.where(ahead != 0, runs.nth * 2 + (ahead > 0), 0 if from_last else NOT_RETRIEVED)
    found = runs.by_topic(np.maximum if from_last else np.minimum, decides, 0)
    return np.where((found == 0) | (found == NOT_RETRIEVED), 0.0, np.where(found % 2, 1.0, -1.0))


def relevant_ranks(measure: Measure, ranking: Ranking) -> BY_TOPIC:
    """(topic,): Return the ranks of the relevant documents, from which a measure of two runs follows."""
    ranking = measure.seen(ranking)
    if ranking.ties is not None:
        raise DataError(
            f"{measure}: the average over tied documents is not available for this measure;"
            " use ties trec, score-file, file or rank"
        )
    hits = ranking.hits(measure.get("rel"))
    relevant = ranking.relevant(measure.get("rel"))
    ends = np.cumsum(relevant)
    ranks = np.full(int(relevant.sum()), NOT_RETRIEVED, np.int32)
    ranks[(ends - relevant)[hits.topic] + hits.nth - 1] = hits.rank
    found = np.empty(len(relevant), object)
    found[:] = np.split(ranks, ends[:-1]) if len(relevant) > 1 else [ranks] * len(relevant)
    return found


def preferences(measure: Measure, ranks: NDArray[np.object_], pairs: Pairs) -> Values:
    """(pair, topic): Return by how much the first run of each pair is preferred; `ranks` is (run, topic)."""
    relevant = np.array([len(own) for own in ranks[0]], np.int64)
    rank = np.array([np.concatenate([np.empty(0, np.int32), *row]) for row in ranks], np.int32)
    found = np.zeros((len(pairs), len(relevant)))
    for rows in blocks(len(pairs), rank.shape[1], _AT_ONCE):
        found[rows] = measure.definition.kernel(Placings(rank, relevant, pairs[rows]), **measure.arguments)
    return found


def mean_preferences(measure: Measure, ranks: NDArray[np.object_], missing: NDArray[np.bool_]) -> Values:
    """(run, topic): Return the mean preference of each run over the others; NaN where it has no value.

    `missing` marks topics of a run that count neither for it nor for the others.
    """
    runs = len(ranks)
    total, others = np.zeros(missing.shape), (~missing).sum(axis=0) - 1
    for run in range(runs - 1):
        rest = np.arange(run + 1, runs)
        ahead = preferences(measure, ranks, np.column_stack([np.full_like(rest, run), rest]))
        ahead = np.where(missing[run] | missing[rest], 0.0, ahead)
        total[run] += ahead.sum(axis=0)
        total[rest] -= ahead
    known = ~missing & (others > 0)
    return np.divide(total, others, out=np.full(total.shape, np.nan), where=known)


def pairwise(measures: Sequence[Measure]) -> list[Measure]:
    """Return the measures that compare two runs."""
    return [measure for measure in measures if measure.definition.pairwise]
