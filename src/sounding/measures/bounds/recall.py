"""Bounds of measures of two counts: relevant documents found, and relevant documents in all.

Nearly all of them rise with a relevant document among those considered and fall with one elsewhere. So at the
minimum only documents elsewhere turn relevant, at the maximum only those considered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from sounding.measures.bounds.registry import Bounds, Room, Unknowns, register_bounds, room
from sounding.measures.bounds.utility import relevance
from sounding.measures.registry import Measure
from sounding.measures.totals import count_relevant, share
from sounding.runs.ranking import Counts, Ranking, Values

_FEW_TO_A_RANK = 0.2  # from this multiple of R on, every number of relevant documents is tried


def _f(measure: Measure, hits: Values, relevant: Counts, size: Counts | int) -> Values:
    """Return F of a set of documents."""
    beta = measure.get("beta")
    return share((beta + 1) * hits, beta * relevant.astype(np.float64) + size)


def _relative_precision(measure: Measure, hits: Values, relevant: Counts, size: Counts | int) -> Values:
    """Return precision as a share of the best possible."""
    return share(hits, np.minimum(size, relevant))


# Functions of the relevant documents found, those in all, and the documents considered: k, or all retrieved.
_FORMULAS: Mapping[str, Callable[..., Values]] = {
    "R": lambda measure, hits, relevant, size: share(hits, relevant),
    "SetR": lambda measure, hits, relevant, size: share(hits, relevant),
    "RelP": _relative_precision,
    "SetRelP": _relative_precision,
    "F": _f,
    "SetF": _f,
    "SetAP": lambda measure, hits, relevant, size: share(hits**2, size * relevant),
}


@register_bounds(*_FORMULAS)
def found_or_missed(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Apply the formula with new relevant documents elsewhere, and among those considered."""
    k, rel = measure.k, measure.get("rel")
    formula = partial(_FORMULAS[measure.name], measure, size=run.retrieved if k is None else k)
    space, hits, relevant = room(run, k, unknowns), count_relevant(run, rel, k), run.relevant(rel)
    return Bounds(
        formula(hits, relevant + space.most_elsewhere),
        formula(hits + space.most_within, relevant + space.most_within),
        "exact",
    )


@register_bounds("SetP")
def set_precision(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound the precision of the set, or its share of the best possible."""
    if not measure.get("relative"):
        return relevance(measure, run, unknowns)
    return found_or_missed(Measure.of("SetRelP", rel=measure.get("rel")), run, unknowns)


@register_bounds("NumRel")
def number_relevant(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound the number of relevant documents of the topic."""
    value = measure(run)
    return Bounds(value, value + room(run, None, unknowns).cap, "exact")


@register_bounds("NumRelNotRet")
def number_relevant_not_retrieved(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound the number of relevant documents that were not retrieved."""
    value = measure(run)
    return Bounds(value, value + room(run, None, unknowns).most_elsewhere, "exact")


@register_bounds("NumNonrel", "NumNonrelRet", "NumNonrelNotRet")
def number_nonrelevant(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound the number of documents judged not relevant: none of the unjudged, or all."""
    value, space = measure(run), room(run, None, unknowns)
    retrieved = 0 if measure.name == "NumNonrelNotRet" else space.within
    others = 0 if measure.name == "NumNonrelRet" else space.elsewhere
    return Bounds(value, value + retrieved + others, "exact")


@register_bounds("Utility")
def utility(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound the utility of the set, which is linear in what is found and in what is missed."""
    value = measure(run)
    space = room(run, None, unknowns)
    if_found = measure.get("a") - measure.get("b")
    if_missed = measure.get("c") - measure.get("d")
    return Bounds(
        value - _largest(-if_found, -if_missed, space), value + _largest(if_found, if_missed, space), "exact"
    )


def _largest(within: float, elsewhere: float, space: Room) -> Values:
    """Return the largest sum if a relevant document adds one number within and another elsewhere."""
    pairs = sorted([(within, space.within), (elsewhere, space.elsewhere)], key=lambda pair: -pair[0])
    left = space.cap
    total = np.zeros(len(left))
    for worth, available in pairs:
        if worth > 0:
            used = np.minimum(available, left)
            left = left - used
            total += worth * used
    return total


@register_bounds("Rprec", "RprecMult")
def r_precision(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound precision at a multiple of R, for every number of documents that may turn relevant.

    That number determines the rank. Above it are as many of them as fit, or as few as necessary.
    """
    rel = measure.get("rel")
    times = 1.0 if measure.name == "Rprec" else float(measure.get("x"))
    space = room(run, None, unknowns)
    starts = np.searchsorted(run.topic, np.arange(len(run.topics) + 1))
    lower, upper = np.zeros(len(run.topics)), np.zeros(len(run.topics))
    for topic, relevant in enumerate(run.relevant(rel).tolist()):
        rows = slice(starts[topic], starts[topic + 1])
        within, elsewhere, cap = (int(c[topic]) for c in (space.within, space.elsewhere, space.cap))
        length = int(run.retrieved[topic])
        at_ranks = _numbers_by_rank(relevant, length, within, cap, times)
        # Past the end the minimum falls until all elsewhere are relevant.
        turned = np.concatenate([at_ranks, np.arange(min(cap, elsewhere), cap + 1)])
        depth = (times * (relevant + turned) + 0.9).astype(np.int64)
        rank = run.rank[rows]
        hits = np.searchsorted(rank[run.grade[rows] >= rel], depth, side="right")
        unjudged = np.minimum(depth, length) - np.searchsorted(rank, depth, side="right")
        fewest = np.maximum(turned - (within + elsewhere - unjudged), 0)
        lower[topic] = share(hits + fewest, depth).min()
        upper[topic] = share(hits + np.minimum(unjudged, turned), depth).max()
    return Bounds(lower, upper, "exact")


def _numbers_by_rank(relevant: int, length: int, within: int, cap: int, times: float) -> Counts:
    """Return numbers of documents that turn relevant, among which both bounds are attained.

    Past the end the maximum falls, once all within are relevant. If many numbers lead to one rank, the
    maximum has the last of them and the minimum the first, so those around each change of rank suffice.
    """
    if times >= _FEW_TO_A_RANK:
        return np.arange(min(cap, max(within, int(length / times) + 2)) + 1)
    with np.errstate(over="ignore"):  # no number is too large to be cut to the cap
        first = np.ceil((np.arange(length + 2) - 0.9) / times) - relevant
    return np.clip(np.add.outer(first, np.arange(-2, 3)).ravel(), 0, cap).astype(np.int64)
