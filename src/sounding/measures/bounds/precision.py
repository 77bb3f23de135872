"""Bounds of average precision, at a cost that depends only on the judged documents.

For a fixed number of unjudged documents that turn relevant, the sum of precisions is largest if they
rank as high as possible and smallest if they rank as low as possible or were not retrieved at all. So
only their number is left to choose. Unjudged documents between two judged ones form a gap; within a gap
the sum is a closed formula of harmonic numbers, and two facts avoid checking each document:

- Filled from the top, the sum is convex in how many of a gap are relevant, while the divisor is linear:
  the quotient is largest at an end of some gap.
- Filled from the bottom, every further document adds at least as much as the one before, over the whole
  ranking: the quotient falls, then rises. One gap holds the minimum; bisection finds it there.
  (A constant divisor, at k or at the size of a pool, only makes the quotient rise from there on.)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sounding.measures.binary import relevant_by_norm
from sounding.measures.bounds.registry import Bounds, Room, Unknowns, first_documents, register_bounds, room
from sounding.measures.registry import Measure
from sounding.runs.ranking import Counts, Ranking, Values


@register_bounds("AP", "GMAP")
def average_precision(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound AP, divided by R, by min(k, R), or by the constant number of relevant documents of a pool."""
    k, rel, norm = measure.k, measure.get("rel"), measure.get("norm")
    relevant = run.relevant(rel)
    most = None
    if k is not None and norm == "b":
        most = np.full(len(run.topics), k)
    elif k is not None and norm == "c":
        relevant = most = relevant_by_norm(run, k, rel, "c", "AP").astype(np.int64)
    found = Gaps.of(run, k, rel)
    space = room(run, k, unknowns)
    quotient = Quotient(found.precisions, relevant, most)
    lower, upper = least(found, quotient, space), greatest(found, quotient, space)
    if most is not None:
        lower[most == 0] = upper[most == 0] = 0  # an empty pool
    return Bounds(lower, upper, "exact")


@register_bounds("Yaap")
def yet_another_average_precision(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound the log odds of (1 + s) / (2 + R), a quotient of the same kind as AP."""
    found = Gaps.of(run, None, measure.get("rel"))
    space = room(run, None, unknowns)
    quotient = Quotient(1 + found.precisions, 2 + run.relevant(measure.get("rel")))
    lower, upper = least(found, quotient, space), greatest(found, quotient, space)
    return Bounds(np.log(lower / (1 - lower)), np.log(upper / (1 - upper)), "exact")


class Quotient(NamedTuple):
    """A sum of precisions over a number of relevant documents, before anything turns relevant."""

    sum: Values  # (topic,)
    relevant: Counts  # (topic,)
    most: Counts | None = None  # (topic,) the divisor never exceeds this; None: no limit

    def divisor(self, topic: Counts, more: Counts) -> Counts:
        """Return the divisor once `more` documents are relevant; at least 1."""
        count = self.relevant.take(topic) + more
        return np.maximum(count if self.most is None else np.minimum(count, self.most.take(topic)), 1)

    @property
    def every(self) -> Counts:
        """Return the numbers of all topics."""
        return np.arange(len(self.relevant))


class Gaps(NamedTuple):
    """Ranges of unjudged documents among the first k, by topic and rank; none is empty."""

    topic: Counts
    before: Counts  # the rank above the first document; 0 at the top
    last: Counts  # the rank of the last document
    judged: Counts  # judged documents above
    relevant: Counts  # relevant ones among them
    below: Values  # the sum of 1 / rank over relevant documents below
    starts: Counts  # (topic + 1,)
    precisions: Values  # (topic,) the sum of precisions as judged
    harmonic: Values  # (rank,) 1 + 1/2 + ... + 1/rank

    @staticmethod
    def of(run: Ranking, k: int | None, rel: float) -> Gaps:
        """Return the gaps of a ranking; its end closes a gap, like a judged document."""
        near = first_documents(run, k)
        topics = np.arange(len(run.topics))
        judged = near.judged()
        ends = np.cumsum(judged) + topics  # in rows of judged documents, with one for each end
        row = np.arange(len(near.topic)) + near.topic
        rank = np.empty(len(row) + len(topics), np.int64)
        rank[row] = near.rank
        rank[ends] = near.retrieved + 1
        relevant = np.zeros(len(rank), np.bool_)
        relevant[row] = near.grade >= rel
        first = ends - judged
        before = np.empty_like(rank)
        before[1:] = rank[:-1]
        before[first] = 0

        topic_of = np.repeat(topics, judged + 1)
        hit = relevant.nonzero()[0]
        hit_topic, hit_rank = topic_of.take(hit), rank.take(hit)
        hit_starts = np.searchsorted(hit, np.append(first, len(rank)))
        nth = np.arange(1, len(hit) + 1) - hit_starts.take(hit_topic)
        down_to, whole = running_sums(1 / hit_rank, hit_starts)

        gap = (rank - before > 1).nonzero()[0]
        topic = topic_of.take(gap)
        hits_before: Counts = np.cumsum(relevant).take(gap) - relevant.take(gap)
        hits_above = hits_before - hit_starts.take(topic)
        return Gaps(
            topic=topic, before=before.take(gap), last=rank.take(gap) - 1, judged=gap - first.take(topic),
            relevant=hits_above,
            below=whole.take(topic)
            - np.where(hits_above > 0, np.append(down_to, 0.0).take(hits_before - 1), 0.0),
            starts=np.searchsorted(gap, np.append(first, len(rank))),
            precisions=near.total(hit_topic, nth / hit_rank),
            harmonic=np.concatenate([[0.0], np.cumsum(1 / np.arange(1, near.retrieved.max(initial=0) + 1))]),
        )  # fmt: skip


def running_sums(values: Values, starts: Counts) -> tuple[Values, Values]:
    """Sum a topic's values down to each of them, and over all; topic t has starts[t]:starts[t + 1].

    One running sum over all topics would lose digits as it grows. So each topic first subtracts the total of
    the one before it, and the remaining rounding error is an offset that is subtracted in the end.
    """
    some = (starts[1:] > starts[:-1]).nonzero()[0]
    whole = np.zeros(len(starts) - 1)
    if not len(some):
        return np.zeros(0), whole
    first = starts[some]
    whole[some] = np.add.reduceat(values, first)
    falling = values.copy()
    falling[first[1:]] -= whole[some[:-1]]
    sums = np.cumsum(falling)
    sums -= np.repeat(sums[first] - values[first], (starts[1:] - starts[:-1])[some])
    return sums, whole


def greatest(gaps: Gaps, quotient: Quotient, space: Room) -> Values:
    """Return the largest quotient: unjudged documents turn relevant from the top, gap after gap."""
    topic, harmonic = gaps.topic, gaps.harmonic
    above = gaps.before - gaps.judged  # unjudged documents above the gap
    taken = gaps.last - gaps.before
    if (space.most_within < space.within).any():
        taken = np.minimum(np.maximum(space.most_within.take(topic) - above, 0), taken)
    # At rank r all above are relevant except the judged non-relevant ones: the precision is 1 - those / r.
    stretch = harmonic.take(gaps.before + taken) - harmonic.take(gaps.before)
    added = taken * (1 + gaps.below) - (gaps.judged - gaps.relevant) * stretch
    sums, _ = running_sums(added, gaps.starts)
    at_ends = (quotient.sum.take(topic) + sums) / quotient.divisor(topic, above + taken)
    result = quotient.sum / quotient.divisor(quotient.every, np.zeros_like(quotient.relevant))
    some = (gaps.starts[1:] > gaps.starts[:-1]).nonzero()[0]
    if len(some):
        result[some] = np.maximum(result[some], np.maximum.reduceat(at_ends, gaps.starts[some]))
    return result


def least(gaps: Gaps, quotient: Quotient, space: Room) -> Values:
    """Return the smallest quotient: first documents elsewhere turn relevant, then those at the bottom."""
    topic, elsewhere, left = gaps.topic, space.most_elsewhere, space.left_within
    result = quotient.sum / quotient.divisor(quotient.every, elsewhere)
    filled = (gaps.starts[1:] > gaps.starts[:-1]).nonzero()[0]
    bottom = gaps.starts[filled + 1] - 1
    if ((gaps.relevant[bottom] + 1) / gaps.last[bottom] + gaps.below[bottom] >= result[filled]).all():
        return result  # not even the lowest document lowers the value; usual if there are many elsewhere
    rise = _Rise.of(gaps, quotient, space)
    first_adds = (gaps.relevant + 1) / gaps.last + rise.lift
    falls = first_adds < rise.reached / quotient.divisor(topic, elsewhere[topic] + rise.below)
    entered = np.bincount(topic[falls & (rise.below < left[topic])], minlength=len(left))
    some = entered.nonzero()[0]
    gap = gaps.starts[some + 1] - entered[some]  # the uppermost gap in which a document lowers the value
    result[some] = np.minimum(result[some], _lowest(gaps, rise, quotient, space, gap))
    return result


class _Rise(NamedTuple):
    """The state before a gap is filled, if all unjudged documents below it are relevant."""

    lift: Values  # (gap,) what a relevant document adds to the precisions below the gap
    reached: Values  # (gap,) the sum of precisions
    below: Counts  # (gap,) unjudged documents below

    @staticmethod
    def of(gaps: Gaps, quotient: Quotient, space: Room) -> _Rise:
        """Return the state at every gap, from the bottom up."""
        topic = gaps.topic
        stretch = gaps.harmonic[gaps.last] - gaps.harmonic[gaps.before]
        down_to, whole = running_sums(stretch, gaps.starts)
        lift = gaps.below + whole[topic] - down_to
        added = (gaps.last - gaps.before) * (1 + lift) - (gaps.before - gaps.relevant) * stretch
        down_to, whole = running_sums(added, gaps.starts)
        reached = (quotient.sum + whole)[topic] - down_to
        return _Rise(lift, reached, space.within[topic] - (gaps.last - gaps.judged))


def _lowest(gaps: Gaps, rise: _Rise, quotient: Quotient, space: Room, gap: Counts) -> Values:
    """Return the smallest quotient while these gaps are filled from the bottom, as far as allowed."""
    harmonic, topic, last, relevant = gaps.harmonic, gaps.topic[gap], gaps.last[gap], gaps.relevant[gap]
    lift, reached, below = rise.lift[gap], rise.reached[gap], rise.below[gap]
    before = space.most_elsewhere[topic] + below

    def value(taken: Counts) -> Values:
        rest = harmonic[last] - harmonic[last - taken]
        total = reached + taken * (1 + lift) - (last - taken - relevant) * rest
        return total / quotient.divisor(topic, before + taken)

    def next_adds(taken: Counts) -> Values:
        rank = np.maximum(last - taken, 1)
        return (relevant + 1) / rank + lift + harmonic[last] - harmonic[rank]

    low, high = np.zeros_like(gap), np.minimum(last - gaps.before[gap], space.left_within[topic] - below)
    while (low < high).any():
        middle = (low + high) // 2
        falls = (low < high) & (next_adds(middle) < value(middle))
        low, high = np.where(falls, middle + 1, low), np.where(falls, high, middle)
    return value(low)
