"""The documents of several runs, as bounds of their differences need them: a view of `Regrading`.

Statements about two runs need to know which documents they share, judged or not. This module can also add
judgments, to see what they would change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.policies import Policies
from sounding.measures.regrading import JUDGED, Regrading, View
from sounding.runs.pairs import Pairs
from sounding.runs.ranking import Counts, Judgments, Ranking, Values
from sounding.runs.retrieved import NONE

Numbers = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Listed:
    """Documents that one run retrieved for judged topics."""

    doc: Numbers  # (entry,) the number of the document, which is the same in every run
    topic: Numbers
    rank: Numbers  # from 1

    def where(self, chosen: NDArray[np.bool_]) -> Listed:
        """Return only these entries."""
        return Listed(self.doc[chosen], self.topic[chosen], self.rank[chosen])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Listings:
    """The documents of some runs over the same judgments."""

    regrading: Regrading
    view: View  # the judgments
    chosen: tuple[int, ...]  # (run,) its number among all runs
    rankings: tuple[Ranking, ...]  # (run,)
    elsewhere: Counts  # (topic,) unjudged documents that may be relevant and that no run here retrieved
    reach: int = 1  # at least as deep are the rankings of runs that are not here

    @staticmethod
    def of(regrading: Regrading, view: View | None = None, pair: tuple[int, int] | None = None) -> Listings:
        """Return the listings of all runs; of a `pair`, in which only the depth is still that of all runs.

        The universe `+N` adds N documents elsewhere, others none.
        """
        seen = regrading.view() if view is None else view
        universe = regrading.policies.universe
        extra = int(universe[1:]) if universe.startswith("+") else 0
        every = tuple(range(len(regrading.runs)))
        whole = Listings(
            regrading=regrading, view=seen, chosen=every,
            rankings=() if pair else tuple(regrading.ranking(run, seen) for run in every),
            elsewhere=np.full(len(seen.judgments.topics), extra),
        )  # fmt: skip
        if pair is None:
            return whole
        two = whole._only(pair, tuple(regrading.ranking(run, seen) for run in pair))
        depth = min(regrading.retrieved.depth, regrading.policies.depth or regrading.retrieved.depth)
        return replace(two, reach=max(depth, 1))

    @property
    def policies(self) -> Policies:
        """The policies under which the runs are read and graded."""
        return self.regrading.policies

    @property
    def judgments(self) -> Judgments:
        """The judgments."""
        return self.view.judgments

    @property
    def grade(self) -> Values:
        """(document,): its grade, at least 0; NaN if not judged."""
        return self.view.grades

    @property
    def topic(self) -> Counts:
        """(document,): its topic."""
        return self.regrading.retrieved.topic

    @property
    def longest(self) -> int:
        """The deepest rank of any run, even if it does not count."""
        return self.regrading.retrieved.depth

    @property
    def deepest(self) -> int:
        """The deepest rank that counts, at least 1."""
        return max([self.reach, *(int(ranking.retrieved.max(initial=0)) for ranking in self.rankings)])

    def ranks(self, run: int) -> Numbers:
        """(topic, rank): Return the documents of a run; NONE after the last."""
        return self.regrading.retrieved.lists[self.chosen[run]]

    def listed(self, run: int, flags: NDArray[np.bool_]) -> Listed:
        """Return the documents of a run that are flagged, (document,)."""
        lists = self.ranks(run)
        topic, place = np.append(flags, False)[lists].nonzero()  # NONE refers to the last place
        return Listed(lists[topic, place], topic.astype(np.int32), (place + 1).astype(np.int32))

    def unjudged(self, run: int) -> Listed:
        """Return the unjudged documents of a run."""
        return self.listed(run, np.isnan(self.grade))

    def relevant(self, run: int, level: float) -> Listed:
        """Return the documents of a run judged `level` or better."""
        return self.listed(run, self.grade >= level)

    def in_order(self, docs: Numbers) -> Numbers:
        """Sort documents: those of the pool in the order of the qrels, then the others by a hash."""
        document = self.regrading.row_document
        row = np.full(len(self.grade) + 1, len(document))  # NONE refers to the last place
        row[document] = np.arange(len(document))
        return docs[np.lexsort((self.regrading.retrieved.keys()[docs], row[docs]))]

    def may_be_relevant(self) -> Counts:
        """Return the number of unjudged documents of each topic, in any of the runs and elsewhere."""
        seen = np.zeros(len(self.grade) + 1, np.bool_)  # NONE refers to the last place
        for run in self.chosen:
            seen[self.regrading.retrieved.lists[run]] = True
        open_docs = self.topic[seen[:NONE] & np.isnan(self.grade)]
        return np.bincount(open_docs, minlength=len(self.judgments.topics)) + self.elsewhere

    def outside(self) -> list[Counts]:
        """Count, per run and topic, the unjudged documents that may be relevant but are not ranked."""
        whole = self.may_be_relevant()
        ranked = [np.bincount(one.topic, minlength=len(whole)) for one in self.rankings]
        return [whole - (r.retrieved - judged) for r, judged in zip(self.rankings, ranked, strict=True)]

    def pick(self, runs: Sequence[int]) -> Listings:
        """Return only these runs; documents that only the others retrieved are now elsewhere."""
        return self._only(tuple(self.chosen[run] for run in runs), tuple(self.rankings[run] for run in runs))

    def _only(self, chosen: tuple[int, ...], rankings: tuple[Ranking, ...]) -> Listings:
        fewer = replace(
            self, chosen=chosen, rankings=rankings, elsewhere=np.zeros_like(self.elsewhere), reach=1
        )
        return replace(fewer, elsewhere=self.may_be_relevant() - fewer.may_be_relevant())

    def judge(self, docs: Numbers, grades: Values) -> Listings:
        """Return the same runs with these grades for unjudged documents."""
        grade, states = self.view.grades.copy(), self.view.states.copy()
        grade[docs], states[docs] = grades, JUDGED
        judgments = _with_judgments(self.judgments, self.topic[docs], grades)
        view = replace(self.view, judgments=judgments, states=states, grades=grade)
        rankings = tuple(self.regrading.ranking(run, view) for run in self.chosen)
        return replace(self, view=view, rankings=rankings)

    def meetings(self, pairs: Pairs, lists: Mapping[int, Listed]) -> Iterator[tuple[int, Listed, Numbers]]:
        """Yield each pair's number, the first run's list, and the rank of each entry in the second run.

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


def _with_judgments(old: Judgments, topic: Counts, grades: Values) -> Judgments:
    """Add judgments to others."""
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
