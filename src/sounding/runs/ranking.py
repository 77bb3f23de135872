"""One run as the measures see it: its judged documents in rank order, topic after topic.

Every measure here can be computed from the judged documents alone, their ranks, and a few counts
for each topic. Unjudged documents are the ranks in between. That makes a kernel a line or two over
flat arrays, and its cost the number of judged documents retrieved, however long the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray

Values = NDArray[np.float64]  # one number a topic
Counts = NDArray[np.int64]


class Strata(NamedTuple):
    """Parts of the pool that were sampled each at its own rate; numbered from 0 through all topics."""

    judged: Counts  # (judgment,) the stratum that each judged document was in
    sizes: Counts  # (stratum,) documents that it had, judged or not
    starts: Counts  # (topic + 1,) the strata of topic t are starts[t] to starts[t + 1]


class Sampling(NamedTuple):
    """How judged documents were chosen: from strata of the pool, or each with a chance of its own."""

    strata: Strata | None = None
    probabilities: Values | None = None  # (judgment,) above 0, at most 1
    methods: Counts | None = None  # (judgment,) which method chose the document (prels)


def distinct(values: Values) -> Values:
    """Each value once, ascending; np.unique would load NumPy's masked arrays, which is slow."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def padded(rows: Sequence[Counts]) -> Counts:
    """Rows of different lengths as one table, filled up with 0."""
    table = np.zeros((len(rows), max(map(len, rows), default=0)), np.int64)
    for row, own in zip(table, rows, strict=True):
        row[: len(own)] = own
    return table


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Judgments:
    """The judged side: for topic t, grades[starts[t]:starts[t + 1]] holds every grade, best first."""

    topics: tuple[str, ...]
    starts: Counts  # (topic + 1,)
    grades: Values  # (judgment,) at least 0
    pool_ranks: Counts | None  # (judgment,) best rank in a contributing run; None: not known
    pooled: Counts  # (topic,) documents that were pooled and not judged (grade -1)
    highest: float  # the best grade of the whole scale: over all topics, at least 1
    sampling: Sampling | None = None  # None: not a sample, or nothing is known of it
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def remember(self, key: Any, compute: Callable[[], Any]) -> Any:
        """What `compute` gives, computed once for all runs: ideal rankings, totals."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    @property
    def levels(self) -> Values:
        """The grades that occur, ascending."""
        return self.remember("levels", lambda: distinct(self.grades))

    @property
    def best_grades(self) -> Values:
        """The highest grade among each topic's own judgments, at least 1."""

        def find() -> Values:
            best, some = np.ones(len(self.topics)), self.judged > 0
            best[some] = np.maximum(self.grades[self.starts[:-1][some]], 1.0)
            return best

        return self.remember("best grades", find)

    @property
    def judged(self) -> Counts:
        """How many documents of each topic were judged."""
        return np.diff(self.starts)

    @property
    def topic(self) -> Counts:
        """The topic of every judgment."""
        return self.remember("topic", lambda: np.repeat(np.arange(len(self.topics)), self.judged))

    def relevant(self, level: float = 1) -> Counts:
        """How many documents of each topic were judged `level` or better."""

        def count() -> Counts:
            return np.bincount(self.topic[self.grades >= level], minlength=len(self.topics))

        return self.remember(("relevant", level), count)

    def assessed(self, grade: float = 1.0) -> Judgments:
        """The same judgments with this grade for every judged document, on a scale that ends there."""

        def flatten() -> Judgments:
            return replace(self, grades=np.full_like(self.grades, grade), highest=grade, _known={})

        return self.remember(("assessed", grade), flatten)


class TieBlocks(NamedTuple):
    """Documents that share a score with others: for every judged document, where its block stands."""

    first: Counts  # (document,) rank of the first document of the block, from 1
    size: Counts  # (document,) how many documents, judged or not, share the score


class Hits(NamedTuple):
    """Some of a ranking's documents, in its order."""

    topic: Counts
    rank: Counts  # from 1
    grade: Values
    nth: Counts  # from 1: how many of these documents the topic has down to this one


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Ranking:
    """The judged documents that a run retrieved, by topic and rank, with what the topics hold."""

    run: str
    judgments: Judgments
    topic: Counts  # (document,) ascending
    rank: Counts  # (document,) from 1, ascending within a topic
    grade: Values  # (document,) at least 0
    retrieved: Counts  # (topic,) documents retrieved, judged or not
    missing: NDArray[np.bool_]  # (topic,) the run has no such topic
    pooled_topic: Counts  # retrieved documents that were pooled and not judged: their topics, ascending
    pooled_rank: Counts  # and ranks, ascending within a topic
    judgment: Counts | None = None  # (document,) its place in `judgments`; filled where these were sampled
    pooled_stratum: Counts | None = None  # of the pooled documents; filled where there are strata
    ties: TieBlocks | None = None  # filled where ties are to be averaged
    old_recall_points: bool = False  # trec_eval 9 rounds recall points another way than 10

    @property
    def topics(self) -> tuple[str, ...]:
        """The judged topics, in byte order."""
        return self.judgments.topics

    def relevant(self, level: float = 1) -> Counts:
        """How many documents of each topic were judged `level` or better, retrieved or not."""
        return self.judgments.relevant(level)

    @property
    def starts(self) -> Counts:
        """Where the documents of each topic begin, and where those of the last one end: (topic + 1,)."""
        return np.searchsorted(self.topic, np.arange(len(self.topics) + 1))

    def judged(self, k: int | None = None) -> Counts:
        """How many judged documents each topic has among the first k."""
        if k is None:
            return np.diff(self.starts)
        return np.bincount(self.topic.take((self.rank <= k).nonzero()[0]), minlength=len(self.topics))

    def judged_by_rank(self) -> Counts:
        """(rank,): how many documents at each rank, from 1, are judged, over all topics."""
        return np.bincount(self.rank, minlength=1)[1:]

    def first_unjudged(self) -> Values:
        """(topic,): the rank of the first document that was not judged; NaN: all that were retrieved were."""
        every = self.select(np.ones(len(self.rank), np.bool_))
        # Down to the first gap the n-th judged document stands at rank n.
        first = self.total(every.topic[every.rank == every.nth]) + 1
        return np.where(first <= self.retrieved, first, np.nan)

    def total(self, topic: Counts, weight: Values | None = None) -> Values:
        """The sum of `weight` (default: 1 each) over documents, for every topic."""
        return np.bincount(topic, weight, len(self.topics)).astype(np.float64, copy=False)

    def select(self, chosen: NDArray[np.bool_]) -> Hits:
        """The judged documents where `chosen` holds, numbered within their topic."""
        rows = chosen.nonzero()[0]
        topic = self.topic.take(rows)
        first = np.searchsorted(topic, np.arange(len(self.topics)))
        nth = np.arange(1, len(rows) + 1) - first.take(topic)
        return Hits(topic, self.rank.take(rows), self.grade.take(rows), nth)

    def hits(self, level: float = 1, k: int | None = None) -> Hits:
        """Documents judged `level` or better among the first k."""
        chosen = self.grade >= level
        if k is not None:
            chosen &= self.rank <= k
        return self.select(chosen)

    def cut(self, depth: int) -> Ranking:
        """The first `depth` documents of every topic."""
        keep, pooled = self.rank <= depth, self.pooled_rank <= depth
        ties = None
        if self.ties is not None:
            ties = TieBlocks(self.ties.first[keep], self.ties.size[keep])
        return replace(
            self,
            topic=self.topic[keep], rank=self.rank[keep], grade=self.grade[keep], ties=ties,
            retrieved=np.minimum(self.retrieved, depth),
            pooled_topic=self.pooled_topic[pooled], pooled_rank=self.pooled_rank[pooled],
            judgment=None if self.judgment is None else self.judgment[keep],
            pooled_stratum=None if self.pooled_stratum is None else self.pooled_stratum[pooled],
        )  # fmt: skip

    def condensed(self) -> Ranking:
        """The ranking without its unjudged documents: the others move up."""
        every = self.select(np.ones(len(self.rank), np.bool_))
        none = np.empty(0, np.int64)
        ties = None
        if self.ties is not None:
            first = self.ties.first
            new_block = np.ones(len(first), np.bool_)
            new_block[1:] = (first[1:] != first[:-1]) | (self.topic[1:] != self.topic[:-1])
            head = new_block.nonzero()[0]
            size = np.diff(head, append=len(first))
            ties = TieBlocks(np.repeat(every.nth[head], size), np.repeat(size, size))
        return replace(
            self,
            rank=every.nth,
            ties=ties,
            retrieved=self.judged(),
            pooled_topic=none,
            pooled_rank=none,
            pooled_stratum=None if self.pooled_stratum is None else none,
        )

    def assessed(self, grade: float = 1.0) -> Ranking:
        """The ranking with this grade, the highest there is, for every judged document."""
        return replace(self, grade=np.full_like(self.grade, grade), judgments=self.judgments.assessed(grade))


NO_JUDGMENTS = Judgments(
    topics=(), starts=np.zeros(1, np.int64), grades=np.empty(0), pool_ranks=None,
    pooled=np.empty(0, np.int64), highest=1.0,
)  # fmt: skip
