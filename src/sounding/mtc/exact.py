"""Moments of the values themselves, without taking N at its mean.

AP: 1/R is the integral of t^(R-1) over t from 0 to 1, and 1/R^2 that of -ln t t^(R-1). Weighting with t^R
leaves documents independent and turns p into p t / (1 - p + p t), so each t costs one set of approximate
moments. nDCG: 1/N depends on R alone, and is a sum of powers z^R over the roots z of 1, which weight in the
same way. For sums that nothing divides there is nothing to do.
"""

from __future__ import annotations

import numpy as np

from sounding.expectation.ratio import integral_nodes
from sounding.mtc.forms import Form
from sounding.mtc.lists import TopicLists
from sounding.mtc.moments import TopicMoments, approximate_moments, covariance_of_sums, expected_sums
from sounding.mtc.pair_terms import pair_terms
from sounding.ranking import Values


def exact_moments(form: Form, lists: TopicLists, probability: Values, elsewhere: float) -> TopicMoments:
    """Means and covariances of all runs' values on a topic; a value is 0 where nothing is relevant."""
    sums = expected_sums(form, lists, probability, elsewhere)
    uncertain = (probability > 0) & (probability < 1)
    if form.divided_by == "nothing" or not uncertain.any():
        return approximate_moments(form, lists, probability, sums, None)
    if form.divided_by == "relevant":
        return _by_integral(form, lists, probability, elsewhere, sums.total / sums.relevant, sums.relevant)
    return _by_number(form, lists, probability, elsewhere)


def _by_integral(
    form: Form, lists: TopicLists, probability: Values, elsewhere: float, center: Values, relevant: float
) -> TopicMoments:
    """The moments of (Z - center R) / R, which are no differences of large numbers, moved by the center."""
    first, second = np.zeros(len(center)), np.zeros((len(center),) * 2)
    none = float(np.prod(1 - probability)) if not elsewhere else 0.0
    for t, width in integral_nodes(np.array([relevant])):
        factor = 1 - probability + probability * t
        weight = float(np.exp(np.log(factor).sum() + elsewhere * np.log(t[0])) * width[0] / t[0])
        chance = probability * t / factor
        spread = chance * (1 - chance)
        sums = expected_sums(form, lists, chance, elsewhere)
        covariance, with_number = covariance_of_sums(lists, sums.growth, spread)
        covariance += pair_terms(lists, form.weights, spread)
        cross = np.outer(center, with_number - (spread.sum() / 2) * center)
        mean = sums.total - center * sums.relevant
        first += weight * mean
        second -= weight * float(np.log(t[0])) * (covariance - cross - cross.T + np.outer(mean, mean))
    shift = first - center * none
    return TopicMoments(center + shift, second + none * np.outer(center, center) - np.outer(shift, shift))


def _by_number(form: Form, lists: TopicLists, probability: Values, elsewhere: float) -> TopicMoments:
    """The moments of Z / N as sums over as many roots of 1 as R has values.

    An odd number of roots leaves out -1, where a chance of one half would divide by 0.
    """
    weight = lists.by_document(form.weights * lists.filled)
    chance = probability[:-1]
    uncertain = (chance > 0) & (chance < 1)
    certain = float((chance == 1).sum()) + elsewhere
    p = chance[uncertain]
    number = len(p) + 1 + len(p) % 2
    divisors = form.divisors(np.arange(certain, certain + number))
    inverse = np.divide(1, divisors, out=np.zeros(number), where=divisors > 0)
    once, twice = np.fft.fft(inverse) / number, np.fft.fft(inverse**2) / number
    known, own = weight[:, ~uncertain] @ chance[~uncertain], weight[:, uncertain]
    first, second = np.zeros(len(weight)), np.zeros((len(weight),) * 2)
    for root, one, two in zip(np.exp(2j * np.pi * np.arange(number) / number), once, twice, strict=True):
        factor = 1 - p + p * root
        tilted = p * root / factor
        height = np.prod(factor)
        total = known + own @ tilted
        covariance = (own * (tilted * (1 - tilted))) @ own.T
        first += (one * height * total).real
        second += (two * height * (covariance + np.outer(total, total))).real
    return TopicMoments(first, second - np.outer(first, first))
