"""Bounds that contain the truth for measures in which a new judgment moves many parts at once: Q, Bpref.

The parts are bounded each by itself: no completion lies outside, and perhaps none attains the ends.
"""

from __future__ import annotations

import numpy as np

from sounding.bounds.registry import Bounds, Unknowns, bounded
from sounding.bounds.unjudged import holes, room
from sounding.measures.binary import share
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
    """The largest mean of 1 - min(n, R') / R' over all R', unjudged documents turning relevant from the top."""
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
