"""Exact moments of sums divided by the uncertain number R of relevant documents: AP and recall.

With x_i = 1 if document i is relevant, the sum is Z = sum of x_i / r_i + sum over pairs of x_i x_j / max(r_i,
r_j) for AP, r the rank, and Z = sum of x_i over the first k for recall. Since 1/R is the integral of t^(R-1)
over t from 0 to 1, and 1/R^2 that of -ln t t^(R-1), the moments of Z/R are integrals of the moments of Z t^R.
Weighting with t^R leaves the x_i independent: it turns p into p t / (1 - p + p t), and the weights have the
mean g(t) = product of (1 - p + p t). So each t costs one pass over the documents.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures import Measure
from sounding.measures.expected.sums import Moments
from sounding.relevance.priors import Chances, Outside
from sounding.runs.ranking import Counts, Ranking, Values

Matrix = NDArray[np.float64]  # (topic, document)
Approximation = Literal["ratio", "paper"]

NODES = 24
_REACH = 36.0  # beyond 36 / E[R] from t = 1 the integrand is below e^-36 of its height
_BLOCK = 1 << 16  # documents processed at a time: faster if they fit in the cache
_CHUNK = 16  # factors multiplied before taking a logarithm: no product of this many underflows


def is_ratio(measure: Measure) -> bool:
    """Return whether the measure is a sum divided by R, for which there are exact moments."""
    if measure.name == "AP":
        return measure.k is None or measure.get("norm") == "a"
    return measure.name in ("GMAP", "R", "SetR")


@dataclass(frozen=True, slots=True, eq=False)
class _Block:
    """Some topics: their documents within the cut-off as a matrix, padded with impossible ones."""

    topics: Counts  # their numbers
    probability: Matrix
    inverse: Matrix | None  # 1 / rank; None: recall, where every document counts 1
    others: Outside  # documents that count in R but not in Z: below the cut-off, or not retrieved

    def sums(self, weight: Matrix, other_weight: Values) -> Values:
        """Sum a weight over all documents of each topic."""
        return weight.sum(axis=1) + self.sum_of_others(other_weight)

    def sum_of_others(self, weight: Values) -> Values:
        """Sum a weight over the other documents of each topic."""
        total = np.bincount(self.others.topic, self.others.count * weight, len(self.topics))
        return total.astype(np.float64, copy=False)

    def chance_of_none(self) -> Values:
        """Return the probability that R = 0."""
        with np.errstate(divide="ignore"):
            logs = self.sums(np.log1p(-self.probability), np.log1p(-self.others.probability))
        return np.exp(logs)

    def form(self, chance: Matrix, spread: Matrix, other_spread: Values, a: Values) -> tuple[Values, Values]:
        """Return the mean of Z and the variance of Z - a R for probabilities with variances `spread`."""
        of_others = self.sum_of_others(other_spread) * a**2
        if self.inverse is None:
            return chance.sum(axis=1), spread.sum(axis=1) * (1 - a) ** 2 + of_others
        term = chance * self.inverse
        slope = np.cumsum(chance, axis=1)
        slope -= chance
        slope += 1
        mean = np.einsum("ij,ij->i", term, slope)
        slope *= self.inverse
        running = np.cumsum(term, axis=1)
        slope += running[:, -1:] - a[:, np.newaxis]
        slope -= running
        slope *= slope
        pairs = np.cumsum(spread, axis=1)
        pairs -= spread
        pairs *= self.inverse
        pairs *= self.inverse
        slope += pairs
        return mean, np.einsum("ij,ij->i", spread, slope) + of_others

    def log_of_product(self, factor: Matrix, other_factor: Values) -> Values:
        """Return the logarithm of g."""
        products = np.multiply.reduce(factor.reshape(len(factor), -1, _CHUNK), axis=2)
        return self.sums(np.log(products), np.log(other_factor))


def ratio_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """Return exact moments of Z/R, which is 0 if R = 0; accurate to 1e-12 up to rounding."""
    mean, deviation = np.zeros(len(ranking.topics)), np.zeros(len(ranking.topics))
    for block in _blocks(measure, chances, len(ranking.topics)):
        mean[block.topics], deviation[block.topics] = _integrals(block)
    return Moments(mean, deviation)


def approximate_moments(
    measure: Measure, chances: Chances, ranking: Ranking, approximation: Approximation
) -> Moments:
    """Return E[Z] / E[R], with the deviation of Z - E[Z]/E[R] R (`ratio`: delta method) or of Z (`paper`).

    Both are divided by E[R]. The latter is what Carterette, Allan & Sitaraman (2006) print.
    """
    if not is_ratio(measure):
        raise DataError(f"{measure}: the method {approximation!r} works only for AP and recall; use best")
    mean, deviation = np.zeros(len(ranking.topics)), np.zeros(len(ranking.topics))
    for block in _blocks(measure, chances, len(ranking.topics)):
        center, relevant = _center(block)
        a = center if approximation == "ratio" else np.zeros(len(center))
        p, q = block.probability, block.others.probability
        _, variance = block.form(p, p * (1 - p), q * (1 - q), a)
        mean[block.topics] = center
        deviation[block.topics] = np.sqrt(variance) / np.where(relevant > 0, relevant, 1)
    return Moments(mean, deviation)


def _center(block: _Block) -> tuple[Values, Values]:
    """Return E[Z] / E[R], 0 if nothing can be relevant, and E[R]."""
    nothing = np.zeros(len(block.others.probability))
    mean, _ = block.form(
        block.probability, np.zeros_like(block.probability), nothing, np.zeros(len(block.topics))
    )
    relevant = block.sums(block.probability, block.others.probability)
    return np.divide(mean, relevant, out=np.zeros(len(mean)), where=relevant > 0), relevant


def _integrals(block: _Block) -> tuple[Values, Values]:
    """Return mean and deviation of Z/R.

    The integrals are over the moments of (Z - aR)/R, with a near the mean: they avoid differences of large
    numbers, and the deviation stays accurate if hardly anything is uncertain.
    """
    a, relevant = _center(block)
    p, q = block.probability, block.others.probability
    not_p, not_q = 1 - p, 1 - q
    first, second = np.zeros(len(a)), np.zeros(len(a))
    for t, width in integral_nodes(relevant):
        column = t[:, np.newaxis]
        factor = p * column + not_p  # not p (t - 1) + 1, which for p = 1 differs from t in the last bit
        other_t = t[block.others.topic]
        other_factor = q * other_t + not_q
        weight = np.exp(block.log_of_product(factor, other_factor)) * width / t
        chance = p * column / factor
        other_chance = q * other_t / other_factor
        spread = chance - chance * chance
        other_spread = other_chance - other_chance**2
        mean, variance = block.form(chance, spread, other_spread, a)
        mean -= a * block.sums(chance, other_chance)
        first += weight * mean
        second -= weight * np.log(t) * (variance + mean**2)
    none = block.chance_of_none()
    shift = first - a * none
    variance = np.maximum(second + a**2 * none - shift**2, 0)
    return a + shift, np.sqrt(variance)


def integral_nodes(relevant: Values) -> Iterator[tuple[Values, Values]]:
    """Yield the nodes between t = 0 and 1 and their weights; `relevant` is E[R].

    The integrand has derivatives of at most E[R]^n: over a range of 36 / E[R] this number of Gauss-Legendre
    nodes leaves less than 1e-12, and the part before it is negligible. If the range begins at t = 0, -ln t
    has no derivatives there; a power of the node's position removes that, the more the smaller R is.
    """
    length = np.minimum(1, _REACH / np.maximum(relevant, 1))
    power = np.where(relevant < 12, 4, np.where(relevant < 20, 3, np.where(relevant < 28, 2, 1)))
    places, widths = np.polynomial.legendre.leggauss(NODES)
    for place, width in zip((places + 1) / 2, widths / 2, strict=True):
        yield 1 - length + length * place**power, length * power * place ** (power - 1) * width


def _blocks(measure: Measure, chances: Chances, topics: int) -> Iterator[_Block]:
    """Yield all topics, grouped by their number of documents."""
    possible = chances.probability > 0
    near = possible if measure.k is None else possible & (chances.rank <= measure.k)
    others = _others(chances, possible & ~near)
    topic, probability = chances.topic[near], chances.probability[near]
    inverse = None if measure.name in ("R", "SetR") else 1 / chances.rank[near]
    size = np.bincount(topic, minlength=topics)
    first = np.cumsum(size) - size
    by_size = np.argsort(size, kind="stable")
    begin = 0
    while begin < topics:
        end = begin + 1
        while end < topics and (end + 1 - begin) * _width(size[by_size[end]]) <= _BLOCK:
            end += 1
        chosen = by_size[begin:end]
        begin = end
        column = np.arange(_width(size[chosen].max(initial=0)))
        inside = column < size[chosen, np.newaxis]
        rows = (first[chosen, np.newaxis] + column)[inside]
        yield _Block(
            chosen,
            _filled(inside, probability[rows]),
            None if inverse is None else _filled(inside, inverse[rows]),
            _of_topics(others, chosen, topics),
        )


def _width(size: int) -> int:
    """Round up to a whole number of chunks."""
    return max(_CHUNK, -(-int(size) // _CHUNK) * _CHUNK)


def _filled(inside: NDArray[np.bool_], values: Values) -> Matrix:
    matrix = np.zeros(inside.shape)
    matrix[inside] = values
    return matrix


def _others(chances: Chances, below: NDArray[np.bool_]) -> Outside:
    """Return the documents that are not in Z, including judged relevant ones, grouped if equal."""
    elsewhere = chances.elsewhere.nonzero()[0]
    judged = Outside(elsewhere, np.ones(len(elsewhere)), chances.elsewhere[elsewhere])
    retrieved = Outside.each(chances.topic[below], chances.probability[below])
    return chances.outside.joined(judged).joined(retrieved).merged()


def _of_topics(others: Outside, chosen: Counts, topics: int) -> Outside:
    """Return the documents of these topics, which are renumbered."""
    number = np.full(topics, -1)
    number[chosen] = np.arange(len(chosen))
    keep = number[others.topic] >= 0
    return Outside(number[others.topic[keep]], others.probability[keep], others.count[keep])
