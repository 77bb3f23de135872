"""What is expected of every run's value on a topic, and how the values of two runs vary together.

Relevance is independent between documents: x_i is 1 with chance p_i and variance v_i = p_i (1 - p_i). A value
is Z / N. E[Z] is exact, and so is cov(Z_a, Z_b) = sum of v_i l_ai l_bi + sum over pairs of v_i v_j a_ij b_ij,
where l_i is how much Z is expected to grow if document i turns out relevant. N is taken at its mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.arrays import NDArray
from sounding.mtc.forms import Form
from sounding.mtc.lists import ByRank, TopicLists, rows_below
from sounding.ranking import Values

Matrix = NDArray[np.float64]  # (run, run)
Approximation = Literal["ratio", "paper"]


@dataclass(frozen=True, slots=True, eq=False)
class TopicMoments:
    """Means and covariances of all runs' values on one topic."""

    mean: Values  # (run,)
    covariance: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """What the moments are made of: the expected sum of every run, and what each document adds to it."""

    total: Values  # (run,) E[Z]
    growth: ByRank  # l: what Z is expected to gain once this document turns out relevant
    relevant: float  # E[R]


def expected_sums(form: Form, lists: TopicLists, probability: Values, elsewhere: float) -> Sums:
    """E[Z], its growth and E[R]; `probability` has one more 0 at its end, `elsewhere` adds to R."""
    relevant = float(probability.sum()) + elsewhere
    if not form.pairs:
        growth = form.weights * lists.filled
        return Sums((growth * probability[lists.places]).sum(axis=1), growth, relevant)
    chance = probability[lists.places]
    growth = np.cumsum(chance, axis=1)
    growth -= chance
    growth += 1
    chance *= form.weights
    total = np.einsum("ij,ij->i", chance, growth)
    growth *= form.weights
    growth += rows_below(chance)
    growth *= lists.filled
    return Sums(total, growth, relevant)


def covariance_of_sums(lists: TopicLists, growth: ByRank, spread: Values) -> tuple[Matrix, Values]:
    """The first part of cov(Z_a, Z_b), and cov(Z_a, R)."""
    own = spread[lists.places]
    weighted = own * growth
    with_number = weighted.sum(axis=1)
    table = lists.by_shared_document(np.sqrt(own) * growth)
    covariance = table @ table.T
    np.fill_diagonal(covariance, np.einsum("ij,ij->i", weighted, growth))
    return covariance, with_number


def approximate_moments(
    form: Form,
    lists: TopicLists,
    probability: Values,
    sums: Sums,
    terms: Matrix | None,
    approximation: Approximation = "ratio",
) -> TopicMoments:
    """Moments with N at its mean: `ratio` lets N vary along a straight line, `paper` not at all.

    `terms` are those of pairs of documents; None leaves them out: a few hundredths of the variance of a
    difference. The paper is Carterette, Allan & Sitaraman (2006), equation 4 and what follows it.
    """
    divisor, slope = form.divisor(sums.relevant)
    if not divisor > 0:
        return TopicMoments(np.zeros(len(sums.total)), np.zeros((len(sums.total),) * 2))
    mean = sums.total / divisor
    spread = probability * (1 - probability)
    covariance, with_number = covariance_of_sums(lists, sums.growth, spread)
    if terms is not None:
        covariance += terms
    if approximation == "ratio" and slope:
        tilt = slope * mean
        cross = tilt[:, np.newaxis] * (with_number - (spread.sum() / 2) * tilt)
        covariance -= cross
        covariance -= cross.T
    covariance /= divisor**2
    return TopicMoments(mean, covariance)
