"""A run as the measures see it: its judged documents by topic and rank.

Every measure can be computed from the judged documents, their ranks, and a few counts per topic. Unjudged
documents are the ranks in between. So a kernel is a line or two over flat arrays, and its cost depends on the
number of judged documents retrieved, not on the length of the run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray

Values = NDArray[np.float64]  # one number per topic
Counts = NDArray[np.int64]


class Strata(NamedTuple):
    """Parts of the pool, each sampled at its own rate; numbered from 0 through all topics."""

    judged: Counts  # (judgment,) the stratum of each judged document
    sizes: Counts  # (stratum,) its number of documents, judged or not
    starts: Counts  # (topic + 1,) the strata of topic t are starts[t] to starts[t + 1]


class Sampling(NamedTuple):
    """Sampling design of the judgments: strata of the pool, or a probability for each document."""

    strata: Strata | None = None
    probabilities: Values | None = None  # (judgment,) above 0, at most 1
    methods: Counts | None = None  # (judgment,) the sampling method (prels)


class Intents(NamedTuple):
    """For which intents (subtopics) of its topic each document was judged, and how."""

    starts: Counts  # (judgment + 1,) the entries of judgment j are starts[j] to starts[j + 1]
    intent: Counts  # (entry,) numbered from 0 through all topics
    grade: Values  # (entry,) below 0: not judged
    order: Counts  # (judgment,) places of a topic's documents by descending id
    part: Counts | None = None  # (entry,) subgroup in which documents were compared; None: there are none


def distinct(values: Values) -> Values:
    """Return each value once, ascending; np.unique would load NumPy's masked arrays, which is slow."""
    ordered = np.sort(values)
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def pad_rows(rows: Sequence[Counts]) -> Counts:
    """Stack rows of different lengths into one table, padded with 0."""
    table = np.zeros((len(rows), max(map(len, rows), default=0)), np.int64)
    for row, own in zip(table, rows, strict=True):
        row[: len(own)] = own
    return table


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Judgments:
    """The judgments: for topic t, grades[starts[t]:starts[t + 1]] holds every grade, best first."""

    topics: tuple[str, ...]
    starts: Counts  # (topic + 1,)
    grades: Values  # (judgment,) at least 0
    pool_ranks: Counts | None  # (judgment,) best rank in a contributing run; None: unknown
    pooled: Counts  # (topic,) documents that were pooled but not judged (grade -1)
    highest: float  # the best grade of the whole scale, over all topics; at least 1
    sampling: Sampling | None = None  # None: not a sample, or nothing is known about it
    once: Judgments | None = None  # these are copies of its topics, one after the other; None: they are not
    intents: Intents | None = None  # None: judged for the topic as a whole
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def remember(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return compute(), computed once for all runs: ideal rankings, totals."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    def by_topic(self, key: Any, compute: Callable[[Judgments], NDArray[Any]]) -> NDArray[Any]:
        """Return compute(judgments), a number for each topic, computed once, for copies of topics as well."""
        once = self.once
        if once is None:
            return self.remember(key, lambda: compute(self))
        copies = len(self.topics) // max(len(once.topics), 1)
        return self.remember(key, lambda: np.tile(once.by_topic(key, compute), copies))

    def copied(self, copies: int) -> Judgments:
        """Return the same topics several times, one after the other."""
        ranks = None if self.pool_ranks is None else np.tile(self.pool_ranks, copies)
        return Judgments(
            topics=self.topics * copies,
            starts=np.concatenate([[0], np.cumsum(np.tile(self.judged, copies))]),
            grades=np.tile(self.grades, copies), pool_ranks=ranks, pooled=np.tile(self.pooled, copies),
            highest=self.highest, once=self,
        )  # fmt: skip

    def relevant_only(self) -> Judgments:
        """Return the judgments without those of grade 0."""
        kept = self.grades > 0
        counts = np.bincount(self.topic[kept], minlength=len(self.topics))
        return replace(
            self, starts=np.concatenate([[0], np.cumsum(counts)]), grades=self.grades[kept],
            pool_ranks=None if self.pool_ranks is None else self.pool_ranks[kept],
            sampling=None, intents=None, once=None, _known={},
        )  # fmt: skip

    @property
    def levels(self) -> Values:
        """Return the distinct grades, ascending."""
        return self.remember("levels", lambda: distinct(self.grades))

    @property
    def best_grades(self) -> Values:
        """Return the highest grade among each topic's judgments, at least 1."""

        def find(own: Judgments) -> Values:
            best, some = np.ones(len(own.topics)), own.judged > 0
            best[some] = np.maximum(own.grades[own.starts[:-1][some]], 1.0)
            return best

        return self.by_topic("best grades", find)

    @property
    def judged(self) -> Counts:
        """Return the number of judged documents of each topic."""
        return np.diff(self.starts)

    @property
    def topic(self) -> Counts:
        """Return the topic of each judgment."""
        return self.remember("topic", lambda: np.repeat(np.arange(len(self.topics)), self.judged))

    def relevant(self, level: float = 1) -> Counts:
        """Return the number of documents of each topic judged `level` or better."""

        def count(own: Judgments) -> Counts:
            return np.bincount(own.topic[own.grades >= level], minlength=len(own.topics))

        return self.by_topic(("relevant", level), count)

    def assessed(self, grade: float = 1.0) -> Judgments:
        """Return the judgments with this grade for every document, as the top of the scale."""

        def flatten() -> Judgments:
            intents = self.intents
            if intents is not None:
                intents = intents._replace(grade=np.where(intents.grade >= 0, grade, intents.grade))
            flat = np.full_like(self.grades, grade)
            return replace(self, grades=flat, intents=intents, highest=grade, once=None, _known={})

        return self.remember(("assessed", grade), flatten)


class TieBlocks(NamedTuple):
    """Blocks of documents with equal scores: for every judged document, the block it belongs to."""

    first: Counts  # (document,) rank of the first document of the block, from 1
    size: Counts  # (document,) number of documents, judged or not, with this score


class Hits(NamedTuple):
    """Some of a ranking's documents, in rank order."""

    topic: Counts
    rank: Counts  # from 1
    grade: Values
    nth: Counts  # its number among these documents of the topic, from 1


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Ranking:
    """The judged documents that a run retrieved, by topic and rank, with the topics' judgments."""

    run: str
    judgments: Judgments
    topic: Counts  # (document,) ascending
    rank: Counts  # (document,) from 1, ascending within a topic
    grade: Values  # (document,) at least 0
    retrieved: Counts  # (topic,) documents retrieved, judged or not
    missing: NDArray[np.bool_]  # (topic,) the run lacks the topic
    pooled_topic: Counts  # topics of retrieved documents that were pooled but not judged, ascending
    pooled_rank: Counts  # ranks of these documents, ascending within a topic
    judgment: Counts | None = None  # (document,) index in `judgments`; only of samples and intents
    pooled_stratum: Counts | None = None  # of the pooled documents; only if there are strata
    ties: TieBlocks | None = None  # only if ties are averaged
    old_recall_points: bool = False  # trec_eval 9 rounds recall points differently from 10
    _known: dict[Any, Any] = field(default_factory=dict, init=False)  # a changed copy begins with nothing

    def remember(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return compute(), computed once for all measures of this ranking."""
        if key not in self._known:
            self._known[key] = compute()
        return self._known[key]

    @property
    def topics(self) -> tuple[str, ...]:
        """Return the judged topics, in byte order."""
        return self.judgments.topics

    def relevant(self, level: float = 1) -> Counts:
        """Return the number of documents of each topic judged `level` or better, retrieved or not."""
        return self.judgments.relevant(level)

    @property
    def starts(self) -> Counts:
        """Return (topic + 1,): where the documents of each topic begin, and the end of the last topic."""
        return np.searchsorted(self.topic, np.arange(len(self.topics) + 1))

    def judged(self, k: int | None = None) -> Counts:
        """Return the number of judged documents among the first k of each topic."""
        if k is None:
            return np.diff(self.starts)
        return np.bincount(self.topic.take((self.rank <= k).nonzero()[0]), minlength=len(self.topics))

    def judged_by_rank(self) -> Counts:
        """Return the number of judged documents at each rank from 1, over all topics: (rank,)."""
        return np.bincount(self.rank, minlength=1)[1:]

    def first_unjudged(self) -> Values:
        """(topic,): Return the rank of the first unjudged document; NaN if all retrieved ones were judged."""
        every = self.select(np.ones(len(self.rank), np.bool_))
        # Until the first gap, the n-th judged document has rank n.
        first = self.total(every.topic[every.rank == every.nth]) + 1
        return np.where(first <= self.retrieved, first, np.nan)

    def total(self, topic: Counts, weight: Values | None = None) -> Values:
        """Sum `weight` (default: 1) over the documents of each topic."""
        return np.bincount(topic, weight, len(self.topics)).astype(np.float64, copy=False)

    def select(self, chosen: NDArray[np.bool_]) -> Hits:
        """Return the judged documents where `chosen` is true, numbered within their topic."""
        rows = chosen.nonzero()[0]
        topic = self.topic.take(rows)
        first = np.searchsorted(topic, np.arange(len(self.topics)))
        nth = np.arange(1, len(rows) + 1) - first.take(topic)
        return Hits(topic, self.rank.take(rows), self.grade.take(rows), nth)

    def hits(self, level: float = 1, k: int | None = None) -> Hits:
        """Return the documents among the first k that were judged `level` or better."""
        chosen = self.grade >= level
        if k is not None:
            chosen &= self.rank <= k
        return self.select(chosen)

    def cut(self, depth: int) -> Ranking:
        """Return the ranking cut to the first `depth` documents of every topic."""
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
        """Return the ranking without its unjudged documents, so that the others move up."""
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
        """Return the ranking with this grade, as the highest, for every judged document."""
        return replace(self, grade=np.full_like(self.grade, grade), judgments=self.judgments.assessed(grade))


NO_JUDGMENTS = Judgments(
    topics=(), starts=np.zeros(1, np.int64), grades=np.empty(0), pool_ranks=None,
    pooled=np.empty(0, np.int64), highest=1.0,
)  # fmt: skip
