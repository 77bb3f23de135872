"""Compute the expected value of every run on a topic, and the covariance of two runs' values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.expected.ratio import integral_nodes
from sounding.measures.forms import Form, reading
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import ByRank, TopicLists, rows_below

Matrix = NDArray[np.float64]  # (run, run)


@dataclass(frozen=True, slots=True, eq=False)
class TopicMoments:
    """Means and covariances of all runs' values on one topic."""

    mean: Values  # (run,)
    covariance: Matrix


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Components of the moments: the expected sum of every run, and what each document adds to it."""

    total: Values  # (run,) E[Z]
    growth: ByRank  # l: expected gain of Z if this document turns out relevant
    relevant: float  # E[R]


def expected_sums(form: Form, lists: TopicLists, probability: Values, elsewhere: float) -> Sums:
    """Return E[Z], its growth and E[R]; `probability` ends with an extra 0, `elsewhere` adds to R."""
    relevant = float(probability.sum()) + elsewhere
    if form.stops is not None:
        return _sums_of_readers(form, form.stops, lists, probability, relevant)
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


def _sums_of_readers(
    form: Form, stops: float, lists: TopicLists, probability: Values, relevant: float
) -> Sums:
    """Return the same where a document counts only for readers who did not stop above it.

    V_i = s p_i w_i + (1 - s p_i) V_(i+1) is what a reader who comes to rank i gets from there on, with s the
    chance to stop at a relevant document; its relevance adds s (w_i - V_(i+1)) for each who comes.
    """
    chance = stops * probability[lists.places]
    below = np.zeros((len(chance), chance.shape[1] + 1))
    for rank in range(chance.shape[1] - 1, -1, -1):
        own = chance[:, rank]
        below[:, rank] = own * form.weights[rank] + (1 - own) * below[:, rank + 1]
    growth = stops * reading(stops, probability[lists.places]) * (form.weights - below[:, 1:]) * lists.filled
    return Sums(below[:, 0], growth, relevant)


def covariance_of_sums(lists: TopicLists, growth: ByRank, spread: Values) -> tuple[Matrix, Values]:
    """Return the first part of cov(Z_a, Z_b), and cov(Z_a, R)."""
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
    *,
    paper: bool = False,
) -> TopicMoments:
    """Return moments with N at its mean: linearized, or constant as in the `paper`.

    `terms` are those of pairs of documents; None omits them: a few hundredths of the variance of a
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
    if slope and not paper:
        tilt = slope * mean
        cross = tilt[:, np.newaxis] * (with_number - (spread.sum() / 2) * tilt)
        covariance -= cross
        covariance -= cross.T
    covariance /= divisor**2
    return TopicMoments(mean, covariance)


_WIDTH = 512  # pairs of runs processed at a time: faster if they fit in the cache


def pair_terms(lists: TopicLists, weights: Values, spread: Values) -> Matrix:
    """Return the terms of all pairs of runs; `weights` fall with the rank, `spread` ends with an extra 0."""
    runs = len(lists.places)
    inverse = weights * lists.filled
    if len(lists.shared) and runs > 1:
        terms = _between_runs(lists, weights, inverse, spread)
    else:
        terms = np.zeros((runs, runs))
    own = spread[lists.places]
    np.fill_diagonal(terms, (own * inverse**2 * (np.cumsum(own, axis=1) - own)).sum(axis=1))
    return terms


def _between_runs(lists: TopicLists, weights: Values, inverse: ByRank, spread: Values) -> Matrix:
    """Return the terms of two different runs.

    Pairs that share most come first, so that steps are prefixes.
    """
    runs = len(lists.places)
    first, second, count, other, rank = _shared_documents(lists, inverse)
    pair = np.repeat(np.arange(len(count)), count)
    own = spread[lists.places[first[pair], rank]]
    order = np.argsort(-count, kind="stable")
    column = np.empty_like(order)
    column[order] = np.arange(len(count))
    row = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    count = count[order]
    table = np.zeros((3, int(count[0]), len(count)))
    table[:, row, column[pair]] = other, own, own * weights[rank]
    total = np.zeros(len(count))
    for begin in range(0, int(np.count_nonzero(count)), _WIDTH):
        part = table[:, : count[begin], begin : begin + _WIDTH]
        total[begin : begin + _WIDTH] = _sum_over_documents(part, count[begin : begin + _WIDTH])
    terms = np.zeros((runs, runs))
    terms[first[order], second[order]] = total
    return terms + terms.T


def _shared_documents(lists: TopicLists, inverse: ByRank) -> tuple[Counts, Counts, Counts, Values, Counts]:
    """Return pairs of runs (first, second), how many documents they share, and a row for each of these.

    A row has the second run's weight of the document and its rank in the first, in whose order rows are.
    """
    runs = len(lists.places)
    weight = np.zeros((runs, lists.size + 1))
    np.put_along_axis(weight, lists.places, inverse, axis=1)
    weight[:, -1] = 0
    counts, others, ranks = [], [], []
    for run in range(runs - 1):
        shared = weight[run + 1 :].take(lists.places[run], axis=1)
        place = shared.nonzero()
        counts.append(np.count_nonzero(shared, axis=1))
        others.append(shared[place])
        ranks.append(place[1])
    first, second = np.triu_indices(runs, 1)
    return first, second, np.concatenate(counts), np.concatenate(others), np.concatenate(ranks)


def _sum_over_documents(part: NDArray[np.float64], count: Counts) -> Values:
    """(column,) Sum over rows j of weight_j times the sum over earlier rows i of v_i min(b_i, b_j)."""
    other, spread, weight = (np.ascontiguousarray(table) for table in part)
    least = np.empty_like(other)
    total = np.zeros(len(count))
    width = np.searchsorted(-count, -np.arange(len(other)), side="left")
    for row in range(1, len(other)):
        end = width[row]
        above = np.minimum(other[:row, :end], other[row, :end], out=least[:row, :end])
        total[:end] += weight[row, :end] * np.einsum("ij,ij->j", above, spread[:row, :end])
    return total


def without_document(
    terms: Matrix, lists: TopicLists, weights: Values, spread: Values, document: int
) -> Matrix:
    """Return the terms once this document is certain; `spread` is still the previous one."""
    runs, ranks = lists.holders(document)
    share = np.minimum(weights[ranks][:, np.newaxis], weights) * lists.filled[runs]
    share[np.arange(len(runs)), ranks] = 0
    own = spread[lists.places[runs]]
    alone = (share * share * own).sum(axis=1)
    result = terms.copy()
    if len(runs) > 1:
        every = np.zeros((len(terms), share.shape[1]))
        every[runs] = share * np.sqrt(own)
        table = lists.by_shared_document(every)[runs]
        both = table @ table.T
        np.fill_diagonal(both, alone)
        result[np.ix_(runs, runs)] -= spread[document] * both
    else:
        result[runs, runs] -= spread[document] * alone
    return result


def exact_moments(form: Form, lists: TopicLists, probability: Values, elsewhere: float) -> TopicMoments:
    """Return means and covariances of all runs' values on a topic; a value is 0 if nothing is relevant."""
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
    """Return the moments of (Z - center R) / R, shifted by the center, to avoid cancellation."""
    first, second = np.zeros(len(center)), np.zeros((len(center),) * 2)
    none = float(np.prod(1 - probability)) if not elsewhere else 0.0
    for t, width in integral_nodes(np.array([relevant])):
        factor = 1 - probability + probability * t
        weight = float(np.exp(np.log(factor).sum() + elsewhere * np.log(t[0])) * width[0] / t[0])
        chance = probability * t / factor
        spread = chance * (1 - chance)
        sums = expected_sums(form, lists, chance, elsewhere)
        covariance, with_number = covariance_of_sums(lists, sums.growth, spread)
        if form.pairs:
            covariance += pair_terms(lists, form.weights, spread)
        cross = np.outer(center, with_number - (spread.sum() / 2) * center)
        mean = sums.total - center * sums.relevant
        first += weight * mean
        second -= weight * float(np.log(t[0])) * (covariance - cross - cross.T + np.outer(mean, mean))
    shift = first - center * none
    return TopicMoments(center + shift, second + none * np.outer(center, center) - np.outer(shift, shift))


def _by_number(form: Form, lists: TopicLists, probability: Values, elsewhere: float) -> TopicMoments:
    """Return the moments of Z / N as sums over roots of unity, one for each value of R.

    An odd number of roots avoids -1, where a probability of one half would divide by 0.
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
