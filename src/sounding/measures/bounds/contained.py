"""Bounds that contain the truth for measures in which a judgment changes many parts: Q and Bpref.

Each part is bounded separately, so the bounds contain every completion but may not be attained.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.binary import ranks_in_pool, relevant_by_norm
from sounding.measures.bounds.gain import Levels, Table
from sounding.measures.bounds.registry import (
    Bounds,
    Unknowns,
    first_documents,
    holes,
    register_bounds,
    room,
    scale,
    whole_range,
)
from sounding.measures.graded import q_gain
from sounding.measures.registry import Measure
from sounding.measures.totals import share
from sounding.runs.ranking import Counts, Ranking, Values


@register_bounds("Bpref", "GMBpref")
def binary_preference(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound Bpref: each relevant document with as few, or as many, non-relevant ones above as possible.

    With R' relevant documents in the end, one with n judged non-relevant above adds at most 1 - min(n, R') /
    R'. With x unjudged ones above it adds at least 1 - min(n + x, R') / min(N + x, R'), and as a function of
    R' a term of this form, divided by R', rises and then falls: it is smallest at an end of the range of R'.
    """
    rel = measure.get("rel")
    space = room(run, None, unknowns)
    relevant = run.relevant(rel)
    every = run.select(np.ones(len(run.rank), np.bool_))
    hit = run.select(run.grade >= rel)
    judged_above = every.nth[run.grade >= rel] - 1
    nonrelevant_above = judged_above - (hit.nth - 1)
    unjudged_above = hit.rank - 1 - judged_above
    others = (run.judgments.judged - relevant)[hit.topic]

    def term(total: Counts) -> Values:
        limit = total[hit.topic]
        worst = np.minimum(nonrelevant_above + unjudged_above, limit)
        return (1 - share(worst, np.minimum(others + unjudged_above, limit))) / np.maximum(limit, 1)

    lower = run.total(hit.topic, np.minimum(term(relevant), term(relevant + space.cap)))
    return Bounds(lower, _most_preferred(run, rel, nonrelevant_above, unknowns), "contains")


def _most_preferred(run: Ranking, rel: float, nonrelevant_above: Counts, unknowns: Unknowns) -> Values:
    """Return the largest mean of 1 - min(n, R') / R' over all R'.

    Unjudged documents turn relevant from the top.
    """
    space = room(run, None, unknowns)
    hit, hole = run.select(run.grade >= rel), holes(run, None)
    others = run.select(run.grade < rel)
    stride = int(run.retrieved.max(initial=0)) + 1
    key = others.topic * stride + others.rank
    others_above = np.searchsorted(key, hole.topic * stride + hole.rank) - np.searchsorted(
        others.topic, hole.topic
    )
    edges = np.arange(len(run.topics) + 1)
    hit_starts, hole_starts = np.searchsorted(hit.topic, edges), np.searchsorted(hole.topic, edges)
    result = np.zeros(len(run.topics))
    for topic, relevant in enumerate(run.relevant(rel).tolist()):
        at_hits = nonrelevant_above[hit_starts[topic] : hit_starts[topic + 1]]
        at_holes = others_above[hole_starts[topic] : hole_starts[topic + 1]]
        # Once all retrieved are relevant, a document at n adds less and less from R' = 2n on.
        deepest = max([0, *at_hits[-1:].tolist(), *at_holes[-1:].tolist()])
        turned = np.arange(min(int(space.cap[topic]), max(len(at_holes), 2 * deepest)) + 1)
        total = relevant + turned
        summed = _shortfalls(at_hits, total, total) + _shortfalls(at_holes, total, turned)
        result[topic] = share(summed, total.astype(np.float64) ** 2).max()
    return result


def _shortfalls(above: Counts, total: Counts, most: Counts) -> Values:
    """Sum max(0, total - above) over the first `most`, for each total; `above` is ascending."""
    sums = np.concatenate([[0], np.cumsum(above)])
    number = np.minimum(np.searchsorted(above, total), most)
    return (number * total - sums[number]).astype(np.float64)


@register_bounds("Q")
def q_measure(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound Q: from above with the ideal as judged, from below with the ideal of all possible documents.

    With norm 'c' and ideal 'ii' the pool stays as it is, and so do its number and ideal; with both, only the
    sum changes, and the bounds are exact if only relevant documents gain.
    """
    judgments, k, rel = run.judgments, measure.k, measure.get("rel")
    options = scale(judgments, rel)
    possible = _q_gain(measure, run, options)
    if possible.min() < 0:
        return whole_range(measure, run, unknowns)
    pool = None
    if measure.get("ideal") == "ii" and k is not None:
        pool = ranks_in_pool(judgments, k, "Q with ideal='ii'") > 0
    levels = Levels.of(judgments, possible, _q_gain(measure, run, judgments.grades), pool)
    terms = _Terms.of(measure, run, levels)
    space = room(run, k, unknowns)
    beside = float(possible[options < rel].max(initial=0.0))
    more = max(float(possible[options >= rel].max()) - beside, 0.0)
    # The cap is one on relevant documents: others may still gain something.
    gaining = space.within + space.elsewhere if beside else space.cap
    least = terms.as_judged(np.zeros_like(gaining) if pool is not None else gaining)
    turned, most = terms.with_more(beside, more, at_most_1=pool is None)
    divisor = _q_divisor(measure, run, turned)
    quotient = share(most, divisor)
    allowed = turned <= space.most_within[:, np.newaxis]
    return Bounds(
        share(least, _q_divisor(measure, run, space.cap[:, np.newaxis])[:, 0]),
        np.where(allowed, quotient, 0.0).max(axis=1),
        "exact" if pool is not None and measure.get("norm") == "c" and not beside else "contains",
    )


def _q_gain(measure: Measure, run: Ranking, grade: Values) -> Values:
    """Return the gains in Q of documents of these grades, on the scale of all judgments."""
    none = np.empty(0, np.int64)  # the topic of a document does not matter
    return q_gain(run.judgments, grade, none, measure.get("gain"), measure.arguments["gains"], "judgments")


def _q_divisor(measure: Measure, run: Ranking, more: Counts) -> Counts:
    """Return the divisor of Q once `more` documents are relevant; `more` is (topic, any)."""
    rel, norm, k = measure.get("rel"), measure.get("norm"), measure.k
    if norm == "c" and k is not None:
        return np.broadcast_to(relevant_by_norm(run, k, rel, norm, "Q")[:, np.newaxis], more.shape)
    total = run.relevant(rel)[:, np.newaxis] + more
    return total if norm == "a" or k is None else np.minimum(total, k)


class _Terms(NamedTuple):
    """The terms of Q at relevant documents, by topic and rank down to k."""

    ranks: Counts  # (rank,)
    hit: NDArray[np.bool_]  # (topic, rank) judged relevant
    gain: Table
    unjudged: NDArray[np.bool_]
    levels: Levels  # of the ideal
    beta: float

    @staticmethod
    def of(measure: Measure, run: Ranking, levels: Levels) -> _Terms:
        """Return the terms of one run."""
        near = first_documents(run, measure.k)
        ranks = np.arange(1, int(near.retrieved.max(initial=0)) + 1)
        hit = np.zeros((len(run.topics), len(ranks)), np.bool_)
        hit[near.topic, near.rank - 1] = near.grade >= measure.get("rel")
        gain = np.zeros(hit.shape)
        gain[near.topic, near.rank - 1] = _q_gain(measure, run, near.grade)
        unjudged = ranks <= near.retrieved[:, np.newaxis]
        unjudged[near.topic, near.rank - 1] = False
        return _Terms(ranks, hit, gain, unjudged, levels, measure.get("beta"))

    def weight(self, more: Counts) -> Table:
        """Return 1 / (rank + beta * ideal) if `more` documents of a topic have the largest gain."""
        ideal = np.zeros(self.hit.shape)
        for step, judged in zip(self.levels.step, self.levels.judged, strict=True):
            ideal += step * np.minimum(self.ranks, (judged + more)[:, np.newaxis])
        return 1 / (self.ranks + self.beta * ideal)

    def as_judged(self, more: Counts) -> Values:
        """Return the sum if nothing retrieved turns relevant, and the ideal has `more` documents."""
        reached = np.cumsum(self.hit + self.beta * self.gain, axis=1)
        return (self.hit * reached * self.weight(more)).sum(axis=1)

    def with_more(self, beside: float, more: float, *, at_most_1: bool) -> tuple[Counts, Table]:
        """Return numbers of unjudged documents that turn relevant, and an upper bound of the sum for each.

        Any unjudged document may gain `beside`; a relevant one gains `more` in addition. With fixed weights
        of ranks, relevant documents add most if they rank highest, as for AP. If others gain too, the gain
        above a document can outweigh its rank, and this part is taken at the ranks where it is largest. A
        term is at most 1 if the ideal is that of all judgments.
        """
        step = 1 + self.beta * more
        nth = np.cumsum(self.unjudged, axis=1)
        reached = np.cumsum(self.hit + self.beta * self.gain, axis=1) + self.beta * beside * nth
        weight = self.weight(np.zeros(len(self.hit), np.int64))
        at_hits = self.hit * weight
        below = at_hits.sum(axis=1, keepdims=True) - np.cumsum(at_hits, axis=1)
        own = weight * reached
        if beside:
            largest = -np.sort(np.where(self.unjudged, -own, 0.0), axis=1)
            own = np.take_along_axis(largest, np.maximum(nth - 1, 0), axis=1)
        added = np.where(self.unjudged, own + step * (weight * nth + below), 0.0)
        start = (at_hits * reached).sum(axis=1, keepdims=True)
        total = np.concatenate([start, start + np.cumsum(added, axis=1)], axis=1)
        turned = np.concatenate([np.zeros((len(nth), 1), np.int64), nth], axis=1)
        return turned, np.minimum(total, self.hit.sum(axis=1, keepdims=True) + turned) if at_most_1 else total
