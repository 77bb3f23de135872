"""Mean and standard deviation of a measure when every unjudged document has a probability of relevance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from sounding.core.errors import DataError
from sounding.measures import Measure
from sounding.measures.assessment import is_about_judging
from sounding.measures.expected.draws import sampled_moments
from sounding.measures.expected.ideal import has_ideal, ideal_moments
from sounding.measures.expected.ratio import approximate_moments, is_ratio, ratio_moments
from sounding.measures.expected.sums import (
    COUNTS,
    FIRST,
    Expected,
    Moments,
    Overall,
    additive_moments,
    count_moments,
    first_moments,
    is_additive,
    known,
)
from sounding.relevance.priors import Chances
from sounding.runs.ranking import Ranking

__all__ = ["Expected", "Method", "Overall", "as_judged", "expected", "is_drawn", "is_known", "level_of"]

Method = Literal["best", "sampling", "ratio", "paper"]


def level_of(measure: Measure) -> float:
    """Return the lowest grade that is relevant to a measure; 1 if the measure uses grades."""
    level = measure.get("rel")
    return 1.0 if level is None else float(level)


def is_known(measure: Measure) -> bool:
    """Return whether unjudged documents cannot change the value.

    This holds for measures of what was judged (`is_about_judging`), for measures that ignore unjudged
    documents (`judged_only`), and for estimates from a sample, which treat the rest in their own way.
    """
    return (
        is_about_judging(measure)
        or bool(measure.get("judged_only"))
        or measure.definition.family == "sampled"
    )


def is_drawn(measure: Measure, method: Method = "best") -> bool:
    """Return whether the moments come from drawn completions, because no exact form is known or wanted."""
    if is_known(measure) or method in ("ratio", "paper"):
        return False
    return method == "sampling" or _exact_form(measure) is None


def as_judged(measure: Measure, ranking: Ranking) -> Expected:
    """Return the value itself, for a measure that is known."""
    return _exactly(known(measure(ranking)), "known")


def expected(
    measure: Measure,
    chances: Chances,
    ranking: Ranking,
    *,
    draws: int = 1000,
    rng: np.random.Generator,
    method: Method = "best",
) -> Expected:
    """Return mean and deviation of a measure for every topic, under the probabilities of its documents.

    Exact if possible: counts, sums over documents, RR and Success, AP, recall, nDCG at k. Otherwise the
    measure is computed on `draws` completions of the judgments, and `error` is the standard error of the
    mean. The method `sampling` does so for all measures; `ratio` and `paper` are approximations of AP and
    recall. Probabilities must be those of the measure's own level of relevance, see `level_of`.
    """
    if measure.definition.aggregate == "text":
        raise DataError(f"{measure} gives a text, which has no expected value; leave it out")
    if measure.definition.by_intent:
        raise DataError(f"{measure}: only grades are predicted, not intents; leave it out")
    if is_known(measure):
        return as_judged(measure, ranking)
    if measure.get("rel") is not None and level_of(measure) != chances.level:
        raise DataError(
            f"{measure} counts documents of grade {level_of(measure):g} or better, but the prior was fitted"
            f" for grade {chances.level:g} or better; fit it for the level of the measure"
        )
    if ranking.ties is not None:
        raise DataError(f"{measure}: expected values cannot be averaged over ties; use ties trec")
    if method in ("ratio", "paper"):
        return _exactly(approximate_moments(measure, chances, ranking, method), method)
    exact = None if is_drawn(measure, method) else _exact_form(measure)
    if exact is not None:
        return _exactly(exact(measure, chances, ranking), "exact")
    moments, error = sampled_moments(measure, chances, ranking, draws=draws, rng=rng)
    return Expected(mean=moments.mean, deviation=moments.deviation, error=error, method="sampling")


def _exact_form(measure: Measure) -> Callable[[Measure, Chances, Ranking], Moments] | None:
    if is_additive(measure):
        return additive_moments
    if measure.name in COUNTS:
        return count_moments
    if measure.name in FIRST:
        return first_moments
    if is_ratio(measure):
        return ratio_moments
    return ideal_moments if has_ideal(measure) else None


def _exactly(moments: Moments, method: str) -> Expected:
    return Expected(
        mean=moments.mean, deviation=moments.deviation, error=np.zeros(len(moments.mean)), method=method
    )
