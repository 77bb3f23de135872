"""The documents behind a pair: which judged ones made the difference, which unjudged ones could settle it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from operator import itemgetter

import numpy as np

from sounding.core.arrays import NDArray, spread
from sounding.core.errors import DataError
from sounding.core.text import plural
from sounding.measures import Measure
from sounding.measures.bounds.order import (
    CLOSE,
    as_asked,
    has_bounds,
    is_additive,
    pair_bounds,
    worth_of_ranks,
)
from sounding.measures.listings import Listings, Numbers
from sounding.runs.ranking import Counts, Ranking, Values

SIDES = (1, -1)  # toward run_a, toward run_b
LARGEST_BATCH = 1 << 21  # judgments of all copies of topics that are held at once


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDocument:
    """An unjudged document, and what it would change."""

    topic: str
    doc: str
    rank_a: int | None  # None: run_a does not have it
    rank_b: int | None
    weight: float  # change of the mean difference run_a - run_b if this one had the best grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Settling:
    """Unjudged documents that could settle the order of two runs."""

    difference: float  # of the means, as judged: run_a - run_b
    documents: tuple[OpenDocument, ...]  # those of the largest weight, first
    open: int  # the number of unjudged documents with a weight
    needed_a: int | None  # judgments, all in favor of run_a, that settle it; None: all together do not
    needed_b: int | None  # the same for run_b
    least: bool  # no fewer can; otherwise this many suffice, and fewer might
    unknown: str = ""  # why these numbers are not known, where they are not

    @property
    def needed(self) -> int | None:
        """Judgments that settle the order in the best case, for either run; None: all together do not."""
        return min((one for one in (self.needed_a, self.needed_b) if one is not None), default=None)

    def __str__(self) -> str:
        return self.sentence("run_a", "run_b")

    def sentence(self, run_a: str, run_b: str) -> str:
        """Say how few judgments could settle the pair, for each of the two runs."""
        if self.unknown:
            return f"How few judgments would settle it is not known: {self.unknown}."
        numbers = ((self.needed_a, run_a), (self.needed_b, run_b))
        sides = sorted(((needed, run) for needed, run in numbers if needed is not None), key=itemgetter(0))
        if not sides:
            return "Cannot be settled by judging documents of these two runs."
        (number, run), *others = sides
        if number == 0:
            return "Settled: no judgment can change the order."
        text = f"Open: {plural(number, 'judgment')} would settle it if all favor {run}"
        if others:
            text += f", {others[0][0]:,} if all favor {others[0][1]}"
        elif self.least:
            text += f", and nothing would for {run_b if run == run_a else run_a}"
        return f"{text}; {'no fewer can' if self.least else 'fewer may be enough'}."


def what_would_settle(
    measure: Measure,
    listings: Listings,
    pair: tuple[int, int],
    *,
    limit: int | None = 10,
    values: Values | None = None,
) -> Settling:
    """The unjudged documents that matter most for a pair of runs, and how few judgments could settle it.

    In the best case every judgment turns out in favor of the same run, be it ahead or behind. Documents
    are judged in the order of their weights. For sums over documents that gives the least number; for
    other measures the weight is that of a document which turns relevant alone, and fewer may do. Under
    a cap on new relevant documents the weights are the same, and the number is not known; for a measure
    without bounds neither is known. `limit` None: as many documents as are needed for either run, or all
    where that is not known. `values` are those of the two runs, (2, topic), where they are known already.
    """
    if limit is not None and limit < 0:
        raise DataError(f"{limit} documents cannot be shown; give a number from 0")
    measure = as_asked(measure, listings.policies)
    two = listings.pick(pair)
    values = np.array([measure(ranking) for ranking in two.rankings]) if values is None else values
    counted = _counted(two)
    difference = float((values[0] - values[1])[counted].sum() / max(np.count_nonzero(counted), 1))
    if not has_bounds(measure, two):
        return Settling(
            difference=difference, documents=(), open=0, needed_a=None, needed_b=None, least=False,
            unknown=f"{measure} has no bounds",
        )  # fmt: skip
    open_docs = _OpenDocuments.of(measure, two)
    unknown = "" if two.policies.at_most is None else "the number of new relevant documents is limited"
    needed: list[int | None] = [None, None]
    least = False
    if not unknown and is_additive(measure, two):
        size = max(float(np.abs(values).max(initial=0.0)), 1.0)
        needed = [_least_number(side * difference, side * open_docs.weight, CLOSE * size) for side in SIDES]
        least = True
    elif not unknown:
        needed = [_greedy_number(measure, two, open_docs, side) for side in SIDES]
    if limit is None:
        limit = max((one for one in needed if one is not None), default=len(open_docs.doc))
    return Settling(
        difference=difference, documents=tuple(open_docs.named(two, limit)),
        open=len(open_docs.doc), needed_a=needed[0], needed_b=needed[1], least=least, unknown=unknown,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _OpenDocuments:
    """Unjudged documents with a weight, the largest first."""

    doc: Numbers
    rank_a: Numbers  # 0: not retrieved
    rank_b: Numbers
    weight: Values
    grade: float  # the best
    counted: NDArray[np.bool_]  # (topic,) over which the mean is taken

    @staticmethod
    def of(measure: Measure, two: Listings) -> _OpenDocuments:
        """Collect the open documents of two runs within the reach of a measure."""
        reach = min(x for x in (measure.k, two.policies.depth, two.deepest) if x is not None)
        lists = [two.unjudged(run) for run in (0, 1)]
        near = [listed.where(listed.rank <= reach) for listed in lists]
        doc = two.in_order(np.union1d(near[0].doc, near[1].doc))
        rank = np.zeros((2, len(two.grade)), np.int32)
        for run, listed in enumerate(lists):
            rank[run, listed.doc] = listed.rank
        grade = float(max(two.judgments.highest, measure.get("rel") or 0))
        counted = _counted(two)
        if is_additive(measure, two):
            worth = worth_of_ranks(measure, two)
            change = worth[rank[0, doc]] - worth[rank[1, doc]]
        else:
            gains = [
                _changes(measure, two.rankings[run], two.topic[doc], rank[run, doc], grade) for run in (0, 1)
            ]
            change = gains[0] - gains[1]
        weight = np.where(counted[two.topic[doc]], change, 0.0) / max(np.count_nonzero(counted), 1)
        # Equal weights are a question of rounding; documents keep their order there.
        size = np.abs(weight).max(initial=0.0)
        order = np.argsort(-np.round(np.abs(weight) / (size or 1.0), 12), kind="stable")
        order = order[np.abs(weight[order]) > CLOSE * size]
        doc = doc[order]
        return _OpenDocuments(doc, rank[0, doc], rank[1, doc], weight[order], grade, counted)

    def named(self, two: Listings, limit: int) -> Iterator[OpenDocument]:
        """The first documents, as people know them."""
        doc = self.doc[:limit]
        columns = (two.topic[doc], self.rank_a[:limit], self.rank_b[:limit], self.weight[:limit])
        names = two.regrading.retrieved.docs[doc].texts()
        for name, topic, rank_a, rank_b, weight in zip(
            names, *(column.tolist() for column in columns), strict=True
        ):
            yield OpenDocument(
                topic=two.judgments.topics[topic], doc=name,
                rank_a=rank_a or None, rank_b=rank_b or None, weight=weight,
            )  # fmt: skip


def _counted(two: Listings) -> NDArray[np.bool_]:
    if two.policies.missing != "skip":
        return np.ones(len(two.judgments.topics), np.bool_)
    return ~(two.rankings[0].missing | two.rankings[1].missing)


def _least_number(difference: float, weight: Values, margin: float) -> int | None:
    """Return how many judgments bring the least that a run's lead can be past 0; None: all together do not.

    `difference` and `weight` are the run's less the other's. A document that would help the run is found
    relevant, and any other not: either way the least grows by the weight that it allowed for.
    """
    least = difference + np.minimum(weight, 0).sum()
    reached = np.append(least, least + np.cumsum(np.abs(weight))) > margin
    return int(reached.argmax()) if reached.any() else None


def _greedy_number(measure: Measure, two: Listings, open_docs: _OpenDocuments, side: int) -> int | None:
    """Return how many judgments, in the order of weights, bring the bounds to this side of 0.

    Judging more documents never widens the bounds, so the number is found by bisection.
    """
    pair = np.array([[0, 1]])
    outcome = np.where(side * open_docs.weight > 0, open_docs.grade, 0.0)

    def settles(number: int) -> bool:
        judged = two.judge(open_docs.doc[:number], outcome[:number])
        found = pair_bounds(measure, judged, pair)
        return bool(found.settled[0] and found.lower[0] * side > 0)

    low, high = 0, len(open_docs.doc)
    if not settles(high):
        return None
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if settles(middle) else (middle + 1, high)
    return low


def _changes(measure: Measure, ranking: Ranking, topic: Counts, rank: Numbers, grade: float) -> Values:
    """Return the change in the value of each document's topic if that document alone had this grade.

    Every document has a copy of its topic, so that one call of the measure serves many of them. A rank of
    0 says that the run does not have the document, which then only adds to what could be found.
    """
    gains = measure.get("gains")
    every = (
        measure.definition.counts_nonrelevant
        or bool(measure.get("judged_only"))
        or (gains is not None and 0 in dict(gains))
    )
    base = ranking if every else _without_zeros(ranking)
    before = measure(ranking)
    after = np.empty(len(topic))
    sizes = np.maximum(base.judgments.judged, np.bincount(base.topic, minlength=len(before)))[topic] + 1
    batch = np.cumsum(sizes) // LARGEST_BATCH
    for number in np.unique(batch).tolist():
        rows = (batch == number).nonzero()[0]
        after[rows] = measure(_copies(base, topic[rows], rank[rows], grade))
    return after - before[topic]


def _without_zeros(ranking: Ranking) -> Ranking:
    """The ranking without documents of grade 0, which nothing counts here, and their judgments."""
    seen = ranking.grade > 0
    return replace(
        ranking, judgments=ranking.judgments.relevant_only(), topic=ranking.topic[seen],
        rank=ranking.rank[seen], grade=ranking.grade[seen], judgment=None,
    )  # fmt: skip


def _copies(base: Ranking, topic: Counts, rank: Numbers, grade: float) -> Ranking:
    """A ranking with one copy of a topic for every document, which has this grade there."""
    old = base.judgments
    copies = np.arange(len(topic))
    owner, row = spread(old.starts[topic], np.diff(old.starts)[topic])
    every = np.concatenate([old.grades[row], np.full(len(topic), grade)])
    holder = np.concatenate([owner, copies])
    order = np.lexsort((-every, holder))
    pool_ranks = old.pool_ranks
    if pool_ranks is not None:
        pool_ranks = np.concatenate([pool_ranks[row], np.zeros(len(topic), np.int64)])[order]
    judgments = replace(
        old,
        topics=("",) * len(topic),
        starts=np.concatenate([[0], np.cumsum(np.bincount(holder, minlength=len(topic)))]),
        grades=every[order],
        pool_ranks=pool_ranks,
        pooled=old.pooled[topic],
        highest=max(old.highest, grade),
        sampling=None,
        _known={},
    )
    starts = np.searchsorted(base.topic, np.arange(len(old.topics) + 1))
    owner, row = spread(starts[topic], np.diff(starts)[topic])
    found = rank > 0
    holder = np.concatenate([owner, copies[found]])
    ranks = np.concatenate([base.rank[row], rank[found]])
    grades = np.concatenate([base.grade[row], np.full(np.count_nonzero(found), grade)])
    order = np.lexsort((ranks, holder))
    none = np.empty(0, np.int64)
    return replace(
        base, judgments=judgments, topic=holder[order], rank=ranks[order], grade=grades[order],
        retrieved=base.retrieved[topic], missing=base.missing[topic],
        pooled_topic=none, pooled_rank=none, judgment=None, pooled_stratum=None,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class TellingDocument:
    """A relevant document that one run ranks higher than the other."""

    doc: str
    rank_a: int | None  # None: not within the measure's depth
    rank_b: int | None


def telling_documents(
    measure: Measure, listings: Listings, pair: tuple[int, int], topic: int, *, ahead: int, limit: int = 3
) -> tuple[TellingDocument, ...]:
    """The relevant documents of a topic that put one run of a pair ahead (0 or 1), the most telling first.

    A document tells by how much higher the run ranks it: 1 / rank less 1 / rank in the other, where what
    lies below the measure's depth counts nothing.
    """
    level = float(measure.get("rel") or 1)
    reach = listings.deepest if measure.k is None else measure.k
    near = []
    for run in pair:
        listed = listings.relevant(run, level)
        near.append(listed.where((listed.topic == topic) & (listed.rank <= reach)))
    ranks = [dict(zip(listed.doc.tolist(), listed.rank.tolist(), strict=True)) for listed in near]
    own, other = ranks[ahead], ranks[1 - ahead]
    gain = np.array([1 / rank - (1 / other[doc] if doc in other else 0.0) for doc, rank in own.items()])
    chosen = [place for place in np.argsort(-gain, kind="stable")[:limit].tolist() if gain[place] > 0]
    numbers = [list(own)[place] for place in chosen]
    names = listings.regrading.retrieved.docs[np.array(numbers, np.int64)].texts()
    return tuple(
        TellingDocument(doc=name, rank_a=ranks[0].get(number), rank_b=ranks[1].get(number))
        for name, number in zip(names, numbers, strict=True)
    )
