"""What a value at every k could still rise by: unjudged documents, and ranks that nobody looked at."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sounding.measures import Measure
from sounding.measures.bounds.registry import filled, scale
from sounding.measures.bounds.utility import endless
from sounding.measures.cumulative import (
    Table,
    expected_reciprocal_rank,
    looked_at,
    rank_biased_precision_residual,
    satisfied_at,
)
from sounding.measures.graded import scaled
from sounding.measures.utility import rbp_gain
from sounding.runs.ranking import Ranking


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What a value could still rise by, (k, topic) each."""

    unjudged: Table  # if the unjudged documents among the first k had the best grade
    tail: Table  # by documents at ranks beyond k, or beyond the end of the list


def residuals_at_every_k(measure: Measure, ranking: Ranking, depth: int) -> Residuals | None:
    """The residual of RBP and ERR in its two parts at every k; None: the measure has none.

    A ranking without its unjudged documents has none either: its value is not that of any completion. Nor
    has a topic's own scale, which an unjudged document could change.
    """
    if measure.name not in _RESIDUALS or measure.get("assessed") or measure.get("judged_only"):
        return None
    if measure.get("scale") == "topic":
        return None
    return _RESIDUALS[measure.name](measure, ranking, depth)


def _rbp_residuals(measure: Measure, run: Ranking, depth: int) -> Residuals | None:
    rel, gain, gains = measure.get("rel"), measure.get("gain"), measure.arguments["gains"]
    best = float(rbp_gain(run.judgments, scale(run.judgments, rel), rel, gain, gains).max())
    if best > 1:  # a grade that no judgment has would change what gains are divided by
        return None
    p = measure.get("p")
    unjudged = rank_biased_precision_residual(run, depth, p=p, part="unjudged")
    return Residuals(best * unjudged, best * rank_biased_precision_residual(run, depth, p=p, part="tail"))


def _err_residuals(measure: Measure, run: Ranking, depth: int) -> Residuals:
    max_rel, gain = measure.get("max_rel"), measure.get("gain")
    highest = run.judgments.highest
    most = filled(run, depth, highest, run.retrieved)
    stops = satisfied_at(most, depth, max_rel, gain, "judgments")
    value, upper = (
        expected_reciprocal_rank(one, depth, max_rel=max_rel, gain=gain, scale="judgments")
        for one in (run, most)
    )
    top = highest if max_rel is None else max_rel
    least = np.array([min(highest, top)])
    best = float((scaled(least, "exponential", top) if gain == "exponential" else least / (top + 1))[0])
    still_reading = np.cumprod(1 - stops, axis=0)
    beyond = endless(best, np.arange(depth + 1, dtype=np.float64))[looked_at(run, depth)]
    return Residuals(upper - value, still_reading * beyond)


_RESIDUALS: Mapping[str, Callable[[Measure, Ranking, int], Residuals | None]] = {
    "RBP": _rbp_residuals,
    "ERR": _err_residuals,
}
