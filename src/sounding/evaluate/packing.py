"""Compact storage of a run's values until all runs are read.

First use of a memory page costs more than evaluating what the page holds. Ranks and grades are therefore
stored as small integers, in one block apart from the arrays of each run: between those, they would leave
gaps too small for the arrays of the next run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, overload

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures import Measure
from sounding.measures.universe import Marks
from sounding.runs.ranking import NO_JUDGMENTS, Counts, Judgments, Ranking

POOL_MEASURE = Measure.of("FirstUnjudged")  # whoever asks for it asks about the pool
CHUNK = 33 << 20  # bytes: the C library takes so much from the system itself, and none of it is touched yet


class Shelf:
    """Room for arrays that stay."""

    def __init__(self) -> None:
        self._chunk = np.empty(0, np.uint8)
        self._used = 0

    def keep(self, array: NDArray[Any]) -> NDArray[Any]:
        """A copy that stands here."""
        begin = -(-self._used // 64) * 64  # where any type may stand
        if begin + array.nbytes > len(self._chunk):
            self._chunk, begin = np.empty(max(CHUNK, array.nbytes), np.uint8), 0
        self._used = begin + array.nbytes
        copy = self._chunk[begin : self._used].view(array.dtype)
        copy[:] = array
        return copy


class PackedRanking(NamedTuple):
    """One ranking without its judgments, which all runs share."""

    rest: Ranking  # everything but judgments and documents
    judged: Counts  # (topic,) how many of the documents it has
    rank: NDArray[Any]  # (document,)
    grade: NDArray[Any]  # (document,)

    @staticmethod
    def of(ranking: Ranking, shelf: Shelf) -> PackedRanking:
        """The ranking, packed; the topic of each document follows from the counts."""
        nothing = np.empty(0, np.int64)  # not a slice, which would hold on to the whole
        rest = replace(
            ranking, judgments=NO_JUDGMENTS, topic=nothing, rank=nothing, grade=np.empty(0)
        )  # fmt: skip
        ranks = ranking.rank.astype(np.min_scalar_type(int(ranking.retrieved.max(initial=0))))
        return PackedRanking(rest, ranking.judged(), shelf.keep(ranks), shelf.keep(_small(ranking)))

    def unpacked(self, judgments: Judgments) -> Ranking:
        """The ranking as it was."""
        return replace(
            self.rest, judgments=judgments, topic=np.repeat(np.arange(len(self.judged)), self.judged),
            rank=self.rank.astype(np.int64), grade=self.grade.astype(np.float64),
        )  # fmt: skip


def _small(ranking: Ranking) -> NDArray[Any]:
    """The grades as bytes, where they are whole and small enough."""
    if ranking.judgments.highest > 255:
        return ranking.grade
    small = ranking.grade.astype(np.uint8)
    return small if (small == ranking.grade).all() else ranking.grade


class PackedRankings(Sequence[Ranking]):
    """Rankings that are unpacked one by one, whenever one is asked for."""

    def __init__(self, packed: Sequence[PackedRanking], judgments: Judgments) -> None:
        self._packed = packed
        self._judgments = judgments

    def __len__(self) -> int:
        return len(self._packed)

    @overload
    def __getitem__(self, place: int) -> Ranking: ...
    @overload
    def __getitem__(self, place: slice) -> PackedRankings: ...
    def __getitem__(self, place: int | slice) -> Ranking | PackedRankings:
        if isinstance(place, slice):
            return PackedRankings(self._packed[place], self._judgments)
        return self._packed[place].unpacked(self._judgments)


class RunValues(NamedTuple):
    """Values of one run: a column of the Scores."""

    name: str
    tag: str
    source: str
    values: NDArray[np.float64]  # (measure, topic)
    texts: dict[Measure, NDArray[np.object_]]
    covered: NDArray[np.bool_]  # (intent,) a retrieved document is relevant to it; empty: not looked at
    ranks: dict[Measure, NDArray[np.object_]]  # of relevant documents, for measures that compare two runs
    judged: NDArray[np.float64]  # (measure, topic)
    errors: NDArray[np.float64]  # (measure, topic) of estimates from a sample
    lengths: NDArray[np.int64]  # (topic,)
    missing: NDArray[np.bool_]  # (topic,)
    ignored: int
    ranking: PackedRanking | None  # kept where the unjudged documents are to be reckoned with
    marks: Marks | None  # of the unjudged documents, where those of all runs are to be counted
    judged_by_rank: Counts  # (rank,) over all topics, where FirstUnjudged is asked for; otherwise empty
