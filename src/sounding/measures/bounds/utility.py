"""Bounds of measures that never fall when a document gets a better grade.

The minimum is the value itself, in which an unjudged document gains nothing. The maximum has the best grade
on every unjudged document among the first k; with a cap, on the highest-ranked ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.bounds.registry import (
    Bounds,
    Kind,
    Unknowns,
    fill_unjudged,
    register_bounds,
    room,
    scale,
    whole_range,
)
from sounding.measures.graded import DcgForm
from sounding.measures.registry import Measure
from sounding.measures.totals import count_retrieved
from sounding.measures.utility import rbp_gain, satisfaction
from sounding.runs.ranking import Ranking, Values

# With T of at least 0.5 a gain that grows by d loses at most d/2 later, so INST never falls.
_LEAST_PATIENCE = 0.5


@register_bounds("P", "Success", "RR", "NumRelRet", "NumRet")
def relevance(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound measures that only depend on relevance."""
    return _nothing_or_all(measure, run, unknowns, max(measure.get("rel"), run.judgments.highest))


@register_bounds("SDCG", "INSQ", "NERR8", "NERR9", "NERR10", "NERR11")
def graded(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound measures whose gains follow the grades."""
    return _nothing_or_all(measure, run, unknowns, run.judgments.highest)


@register_bounds("INST")
def inst(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound INST; a cap does not change the bounds."""
    if measure.get("T") < _LEAST_PATIENCE:
        return whole_range(measure, run, unknowns)
    kind: Kind = "exact" if unknowns.at_most is None else "contains"
    free = _nothing_or_all(measure, run, Unknowns(unknowns.outside), run.judgments.highest)
    return Bounds(free.lower, free.upper, kind)


@register_bounds("DCG")
def discounted_cumulative_gain(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound DCG, if no grade has a negative gain."""
    form = dcg_form(measure)
    options = scale(run.judgments, form.rel)
    gain = form.gain(options)
    if gain.min() < 0:
        return whole_range(measure, run, unknowns)
    return _nothing_or_all(measure, run, unknowns, float(options[gain.argmax()]))


@register_bounds("RBP")
def rank_biased_precision(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound RBP, with its residual in two parts; the tail is p^n times the largest gain."""
    options = scale(run.judgments, measure.get("rel"))
    gain = rbp_gain(
        run.judgments, options, measure.get("rel"), measure.get("gain"), measure.arguments["gains"]
    )
    if gain.max() > 1:  # a document of a grade that no judgment has would change the divisor of gains
        return whole_range(measure, run, unknowns)
    tail = gain.max() * measure.get("p") ** count_retrieved(run, measure.k).astype(np.float64)
    return _with_residuals(_nothing_or_all(measure, run, unknowns, float(options[gain.argmax()])), tail)


@register_bounds("ERR")
def expected_reciprocal_rank(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound ERR, with its residual in two parts.

    The tail is what remains after the best unjudged documents.
    """
    judgments, rel = run.judgments, measure.get("rel")
    best = float(_satisfied(measure, judgments.highest, scale(judgments, rel)).max())
    most = _best_case(measure, run, unknowns, max(rel or 0, judgments.highest))
    with np.errstate(divide="ignore"):  # nobody reads on after a document of gain 1
        passed = np.log1p(-_satisfied(measure, judgments.highest, most.grade))
    reading = np.exp(most.total(most.topic, passed))
    tail = reading * endless(best, count_retrieved(run, measure.k).astype(np.float64))
    return _with_residuals(Bounds(measure(run), measure(most), "exact"), tail)


def depth_for_residual(measure: Measure, wanted: float, *, highest: float | None = None) -> int:
    """Return the smallest cut-off k beyond which documents can add at most `wanted`: RBP and ERR.

    For ERR it assumes that nothing above satisfies the reader. Without the highest grade of the scale a
    single document may satisfy for certain, and k is at least what any scale needs.
    """
    if not 0 < wanted < math.inf:
        raise DataError(f"{measure}: the residual {wanted!r} is not valid; give a number above 0")
    if measure.name == "RBP":
        return _first_depth(lambda k: measure.get("p") ** k, wanted)
    if measure.name == "ERR":
        if highest is None:
            return _first_depth(lambda k: 1 / (k + 1), wanted)
        best = float(_satisfied(measure, highest, np.array([max(highest, measure.get("rel") or 0)]))[0])
        return _first_depth(lambda k: float(endless(best, np.array([float(k)]))[0]), wanted)
    raise DataError(f"{measure} has no residual beyond its cut-off; use RBP or ERR")


def dcg_form(measure: Measure) -> DcgForm:
    """Return the gains and discounts of a measure of the DCG family."""
    return DcgForm(measure.get("dcg"), measure.arguments["gains"], measure.get("rel"))


def _nothing_or_all(measure: Measure, run: Ranking, unknowns: Unknowns, best: float) -> Bounds:
    """Return the value as it is, and with the best grade on as many unjudged documents as may have it."""
    return Bounds(measure(run), measure(_best_case(measure, run, unknowns, best)), "exact")


def _best_case(measure: Measure, run: Ranking, unknowns: Unknowns, best: float) -> Ranking:
    return fill_unjudged(run, measure.k, best, room(run, measure.k, unknowns).most_within)


def _with_residuals(found: Bounds, tail: Values) -> Bounds:
    return Bounds(found.lower, found.upper, found.kind, found.upper - found.lower, tail)


def _satisfied(measure: Measure, highest: float, grade: Values) -> Values:
    """Return the probability that documents of these grades satisfy the reader of ERR."""
    top = highest if measure.get("max_rel") is None else measure.get("max_rel")
    return satisfaction(grade, top, measure.get("rel"), measure.get("gain"))


def endless(stops: float, depth: Values) -> Values:
    """Return ERR of endless best documents after `depth`: the sum over j of s (1 - s)^j / (depth + 1 + j)."""
    from scipy.special import hyp2f1

    if not stops:  # the best grade is 0: hyp2f1 is infinite
        return np.zeros_like(depth)
    return stops / (depth + 1) * hyp2f1(1, depth + 1, depth + 2, 1 - stops)


def _first_depth(tail: Callable[[int], float], wanted: float) -> int:
    """Return the smallest k from 1 at which a tail that falls with k is at most `wanted`."""
    high = 1
    while tail(high) > wanted:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(middle) <= wanted else (middle, high)
    return high
