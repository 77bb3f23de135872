"""What several runs retrieved, with one number for a document wherever it stands.

Whatever is said of two runs at once needs to know which documents they share, judged or not. Judging
more documents, to ask what that would change, happens here too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.data.fast.tokens import Words, same_words
from sounding.data.tables import Run
from sounding.runs.align import POOLED, Judged, align, matches, order_documents, topic_rows
from sounding.runs.pairs import Pairs
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Documents that one run retrieved for judged topics."""

    doc: Numbers  # (entry,) the number that the document of this topic has in every run
    topic: Numbers
    rank: Numbers  # from 1
    row: Numbers  # of the run's table

    def where(self, chosen: NDArray[np.bool_]) -> Listed:
        """Some of the entries."""
        return Listed(self.doc[chosen], self.topic[chosen], self.rank[chosen], self.row[chosen])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Listings:
    """The documents of several runs over the same judgments."""

    runs: tuple[Run, ...]
    policies: Policies
    judgments: Judgments
    rankings: tuple[Ranking, ...]  # (run,)
    lists: tuple[Listed, ...]  # (run,)
    grade: Values  # (doc,) at least 0, or POOLED: not judged
    topic: Numbers  # (doc,)
    elsewhere: Counts  # (topic,) unjudged documents that may be relevant and that no run here retrieved

    @staticmethod
    def of(runs: Sequence[Run], judged: Judged, policies: Policies = DEFAULT_POLICIES) -> Listings:
        """The listings of runs; the universe `+N` puts N documents elsewhere, others put none there."""
        if policies.ties == "average":
            raise DataError(
                "which runs stay in order is asked of one order of the documents, and ties are averaged;"
                " use ties trec, score-file, file or rank"
            )
        parts = [_list_run(run, judged, policies) for run in runs]
        lists, topic = _numbered(parts, judged)
        grade = np.full(len(topic), POOLED)
        grade[: len(judged.grades)] = judged.grades
        extra = int(policies.universe[1:]) if policies.universe.startswith("+") else 0
        return Listings(
            runs=tuple(runs), policies=policies, judgments=judged.judgments,
            rankings=tuple(part.ranking for part in parts), lists=lists, grade=grade, topic=topic,
            elsewhere=np.full(len(judged.judgments.topics), extra),
        )  # fmt: skip

    @property
    def deepest(self) -> int:
        """The deepest rank that counts, at least 1."""
        return max([1, *(int(ranking.retrieved.max(initial=0)) for ranking in self.rankings)])

    def unjudged(self, run: int) -> Listed:
        """The unjudged documents of a run."""
        listed = self.lists[run]
        return listed.where(self.grade[listed.doc] < 0)

    def relevant(self, run: int, level: float) -> Listed:
        """The documents of a run that were judged `level` or better."""
        listed = self.lists[run]
        return listed.where(self.grade[listed.doc] >= level)

    def may_be_relevant(self) -> Counts:
        """How many unjudged documents each topic has, in any of the runs and elsewhere."""
        seen = np.zeros(len(self.grade), np.bool_)
        for listed in self.lists:
            seen[listed.doc] = True
        open_docs = self.topic[seen & (self.grade < 0)]
        return np.bincount(open_docs, minlength=len(self.judgments.topics)) + self.elsewhere

    def outside(self) -> list[Counts]:
        """For each run: unjudged documents that may be relevant and that it does not rank, by topic."""
        whole = self.may_be_relevant()
        ranked = [np.bincount(one.topic, minlength=len(whole)) for one in self.rankings]
        return [whole - (r.retrieved - judged) for r, judged in zip(self.rankings, ranked, strict=True)]

    def pick(self, chosen: Sequence[int]) -> Listings:
        """Some of the runs; what only the others retrieved is elsewhere now."""
        fewer = replace(
            self,
            runs=tuple(self.runs[run] for run in chosen),
            rankings=tuple(self.rankings[run] for run in chosen),
            lists=tuple(self.lists[run] for run in chosen),
            elsewhere=np.zeros_like(self.elsewhere),
        )
        return replace(fewer, elsewhere=self.may_be_relevant() - fewer.may_be_relevant())

    def judge(self, docs: Numbers, grades: Values) -> Listings:
        """The same runs when these unjudged documents have these grades."""
        grade = self.grade.copy()
        grade[docs] = grades
        judgments = _with_judgments(self.judgments, self.topic[docs], grades)
        rankings = [
            _ranked(ranking, judgments, listed, grade, self.policies.depth)
            for ranking, listed in zip(self.rankings, self.lists, strict=True)
        ]
        return replace(self, judgments=judgments, rankings=tuple(rankings), grade=grade)

    def meetings(self, pairs: Pairs, lists: Mapping[int, Listed]) -> Iterator[tuple[int, Listed, Numbers]]:
        """For every pair: its number, the first run's list, and the rank of each entry in the second's.

        Rank 0: the second run does not list the document. `lists` has those of all runs in the pairs.
        """
        rank = np.zeros(len(self.grade), np.int32)
        for second in np.unique(pairs[:, 1]).tolist():
            other = lists[second]
            rank[other.doc] = other.rank
            for number in (pairs[:, 1] == second).nonzero()[0].tolist():
                first = lists[int(pairs[number, 0])]
                yield number, first, rank[first.doc]
            rank[other.doc] = 0


@dataclass(frozen=True, slots=True, eq=False)
class _ListedRun:
    """What one run gives: documents that the qrels list have their row there for a number, others none."""

    ranking: Ranking
    listed: Listed  # doc: -1 where it has no number yet
    keys: Words  # of the entries without a number
    words: Words


def _list_run(run: Run, judged: Judged, policies: Policies) -> _ListedRun:
    found = matches(run, judged)
    number = np.full(len(run.docs), -1, np.int32)
    number[found[0]] = found[1]
    asked = topic_rows(run, judged)
    rows = np.repeat(asked >= 0, run.sizes).nonzero()[0]
    run_topic = np.repeat(np.arange(len(run.topics)), run.sizes)[rows]
    positions, _ = order_documents(run, rows, policies)
    listed = Listed(
        number[rows],
        asked[run_topic].astype(np.int32),
        (positions - run.starts[run_topic] + 1).astype(np.int32),
        rows.astype(np.int32),
    )
    unknown = rows[listed.doc < 0]
    return _ListedRun(
        align(run, judged, policies, found), listed, run.pair_keys()[unknown], run.docs[unknown].words()
    )


def _numbered(parts: Sequence[_ListedRun], judged: Judged) -> tuple[tuple[Listed, ...], Numbers]:
    """The lists with a number for every document, and the topic of each number."""
    keys = np.concatenate([part.keys for part in parts])
    _, first, number = np.unique(keys, return_index=True, return_inverse=True)
    words = _side_by_side([part.words for part in parts])
    # Two documents with one key are told apart: each one after the first has a number of its own.
    alone = (~same_words(words, words, first[number])).nonzero()[0]
    number[alone] = len(first) + np.arange(len(alone))
    number = (number + len(judged.grades)).astype(np.int32)
    topic = np.empty(len(judged.grades) + len(first) + len(alone), np.int32)
    topic[: len(judged.grades)] = judged.topic
    lists, begin = [], 0
    for part in parts:
        own = number[begin : begin + len(part.keys)]
        begin += len(own)
        new = part.listed.doc < 0
        topic[own] = part.listed.topic[new]
        doc = part.listed.doc.copy()
        doc[new] = own
        lists.append(replace(part.listed, doc=doc))
    return tuple(lists), topic


def _side_by_side(tables: Sequence[Words]) -> Words:
    """The texts of all tables in one; where a text needs fewer words than the longest, the rest is 0."""
    joined = np.zeros((max(map(len, tables)), sum(table.shape[1] for table in tables)), np.uint64)
    begin = 0
    for table in tables:
        joined[: len(table), begin : begin + table.shape[1]] = table
        begin += table.shape[1]
    return joined


def _with_judgments(old: Judgments, topic: Numbers, grades: Values) -> Judgments:
    """Judgments and some more."""
    topics = np.concatenate([old.topic, topic])
    every = np.concatenate([old.grades, grades])
    order = np.lexsort((-every, topics))
    pool_ranks = old.pool_ranks
    if pool_ranks is not None:
        pool_ranks = np.concatenate([pool_ranks, np.zeros(len(grades), np.int64)])[order]
    counts = np.bincount(topics, minlength=len(old.topics))
    return replace(
        old,
        starts=np.concatenate([[0], np.cumsum(counts)]),
        grades=every[order],
        pool_ranks=pool_ranks,
        highest=float(max(old.highest, grades.max(initial=0.0))),
        sampling=None,
        _known={},
    )


def _ranked(old: Ranking, judgments: Judgments, listed: Listed, grade: Values, depth: int | None) -> Ranking:
    """The ranking of a list when its documents have these grades."""
    known = grade[listed.doc] >= 0
    if depth is not None:
        known &= listed.rank <= depth
    seen = listed.where(known)
    order = np.lexsort((seen.rank, seen.topic))
    return replace(
        old,
        judgments=judgments,
        topic=seen.topic[order].astype(np.int64),
        rank=seen.rank[order].astype(np.int64),
        grade=grade[seen.doc[order]],
        judgment=None,
        pooled_stratum=None,
    )
