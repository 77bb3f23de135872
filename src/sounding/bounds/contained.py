"""Bounds that contain the truth for measures in which a new judgment moves many parts at once: Q, Bpref.

The parts are bounded each by itself: no completion lies outside, and perhaps none attains the ends.
"""

from __future__ import annotations

import numpy as np

from sounding.bounds.gain import Levels
from sounding.bounds.registry import Bounds, Unknowns, bounded, whole_range
from sounding.bounds.unjudged import first_documents, holes, room, scale
from sounding.bounds.utility import thawed
from sounding.measures.binary import pool_of_depth, relevant_by_norm, share
from sounding.measures.graded import scaled, with_gains
from sounding.measures.registry import Measure
from sounding.ranking import Counts, Ranking, Values


@bounded("Bpref", "GMBpref")
def binary_preference(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bpref: each relevant document with as few, or as many, non-relevant ones above as there can be.

    With R' relevant documents in the end, one with n judged non-relevant above adds at most
    1 - min(n, R') / R'. With x unjudged ones above it adds at least
    1 - min(n + x, R') / min(N + x, R'), and as a function of R' a term of this form, divided by R',
    rises and then falls: it is least at an end of the range of R'.
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
    """The largest mean of 1 - min(n, R') / R' over all R'; the unjudged turn relevant from the top."""
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
        # Once all retrieved are relevant, a document n down adds less and less from R' = 2n on.
        deepest = max([0, *at_hits[-1:].tolist(), *at_holes[-1:].tolist()])
        turned = np.arange(min(int(space.cap[topic]), max(len(at_holes), 2 * deepest)) + 1)
        total = relevant + turned
        summed = _shortfalls(at_hits, total, total) + _shortfalls(at_holes, total, turned)
        result[topic] = share(summed, total.astype(np.float64) ** 2).max()
    return result


def _shortfalls(above: Counts, total: Counts, most: Counts) -> Values:
    """The sum of max(0, total - above) over the first `most`, for each total; `above` is ascending."""
    sums = np.concatenate([[0], np.cumsum(above)])
    number = np.minimum(np.searchsorted(above, total), most)
    return (number * total - sums[number]).astype(np.float64)


@bounded("Q")
def q_measure(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Q: the most with the ideal as judged, the least with the ideal of all that may be relevant.

    With the divisors of the ranks held fixed, the sum over m documents that turn relevant is largest when
    these are the highest-ranked ones and gain most, as for AP; and no term exceeds 1 where the ideal is
    that of all judgments.
    """
    judgments, k, rel, beta = run.judgments, measure.k, measure.get("rel"), measure.get("beta")
    options = scale(judgments, rel)
    possible = _q_gain(measure, run, options)
    if possible.min() < 0:
        return whole_range(measure, run, unknowns)
    fixed_ideal = measure.get("ideal") == "ii" and k is not None
    pool = pool_of_depth(judgments, k, "Q with ideal='ii'") if fixed_ideal and k is not None else None
    levels = Levels.of(judgments, possible, _q_gain(measure, run, judgments.grades), pool)
    space = room(run, k, unknowns)

    # Everything by topic and rank, down to k.
    near = first_documents(run, k)
    ranks = np.arange(1, int(near.retrieved.max(initial=0)) + 1)
    hit = np.zeros((len(run.topics), len(ranks)), np.bool_)
    hit[near.topic, near.rank - 1] = near.grade >= rel
    gain = np.zeros(hit.shape)
    gain[near.topic, near.rank - 1] = _q_gain(measure, run, near.grade)
    unjudged = ranks <= near.retrieved[:, np.newaxis]
    unjudged[near.topic, near.rank - 1] = False
    found = np.cumsum(hit, axis=1)

    def weight(more: Counts) -> Values:
        """1 / (rank + beta * ideal) when so many more documents have the largest gain."""
        ideal = sum(
            step * np.minimum(ranks, (judged + more)[:, np.newaxis])
            for step, judged in zip(levels.step, levels.judged, strict=True)
        )
        return 1 / (ranks + beta * ideal)

    def divisor(more: Counts) -> Counts:
        if measure.get("norm") == "c" and k is not None:
            return np.broadcast_to(relevant_by_norm(run, k, rel, "c", "Q")[:, np.newaxis], more.shape)
        total = run.relevant(rel)[:, np.newaxis] + more
        return total if measure.get("norm") == "a" or k is None else np.minimum(total, k)

    # What an unjudged document gains without being relevant, and what it adds by being so.
    beside = possible[options < rel].max(initial=0.0)
    step = 1 + beta * max(float(possible[options >= rel].max()) - beside, 0.0)

    none = np.zeros_like(space.cap)
    gaining = space.within + space.elsewhere if beside else space.cap  # the cap is one on relevant documents
    most_ideal = weight(none if fixed_ideal else gaining)
    summed = (hit * (found + beta * np.cumsum(gain, axis=1)) * most_ideal).sum(axis=1)
    lower = share(summed, divisor(space.cap[:, np.newaxis])[:, 0])

    nth = np.cumsum(unjudged, axis=1)
    reached = found + beta * (np.cumsum(gain, axis=1) + beside * nth)
    least_ideal = weight(none)
    at_hits = hit * least_ideal
    below = at_hits.sum(axis=1, keepdims=True) - np.cumsum(at_hits, axis=1)
    added = np.where(unjudged, least_ideal * (reached + step * nth) + step * below, 0.0)
    start = (at_hits * reached).sum(axis=1, keepdims=True)
    turned = np.concatenate([none[:, np.newaxis], nth], axis=1)
    total = np.concatenate([start, start + np.cumsum(added, axis=1)], axis=1)
    if not fixed_ideal:
        total = np.minimum(total, hit.sum(axis=1, keepdims=True) + turned)
    parts = divisor(turned)
    quotient = np.divide(total, parts, out=np.zeros(total.shape), where=parts > 0)
    allowed = turned <= space.most_within[:, np.newaxis]
    return Bounds(lower, np.where(allowed, quotient, 0.0).max(axis=1), "contains")


def _q_gain(measure: Measure, run: Ranking, grade: Values) -> Values:
    """What documents of these grades gain in Q."""
    gains = thawed(measure, "gains")
    if measure.get("gain") != "grade":
        return scaled(grade, measure.get("gain"), run.judgments.highest)
    return grade if gains is None else with_gains(grade, gains)
