"""Exact moments of measures that are divided by the best possible sum: nDCG@k.

All unjudged documents that turn out relevant have the same grade, so the best sum depends only on their
number, and is constant from k on. One pass over the documents gives the probability of each number below k,
and of k or more, with the mean sum that goes with it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures import Measure
from sounding.measures.expected.draws import Sampler
from sounding.measures.expected.sums import Moments, Terms
from sounding.measures.graded import DcgForm, ideal_dcg_of
from sounding.relevance.priors import Chances, Outside
from sounding.runs.ranking import Counts, Ranking, Values

DEEPEST = 100  # deeper, the table of best sums costs more than draws

ByNumber = NDArray[np.float64]  # (topic, number of relevant ones among the unjudged; the last: or more)


def has_ideal(measure: Measure) -> bool:
    """Return whether the measure is nDCG or RelP with a cut-off that is worth the table."""
    if measure.k is None or measure.k > DEEPEST:
        return False
    # If documents that are not relevant also gain something, their number matters too.
    return measure.name == "RelP" or (measure.name == "nDCG" and 0 not in _gains(measure))


def _gains(measure: Measure) -> dict[float, float]:
    return dict(measure.get("gains") or ())


def ideal_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """Return exact moments of the sum over the best sum, which is 0 if that is 0."""
    sampler = Sampler.of(measure, chances, ranking)
    joint = _Joint.nothing(len(ranking.topics), measure.k or 0)
    terms = Terms.of(_sum_of(measure), chances, ranking)
    place = np.arange(len(terms.topic)) - np.searchsorted(terms.topic, terms.topic)
    for step in range(int(place.max(initial=-1)) + 1):
        now = place == step
        p, weight = np.zeros(len(ranking.topics)), np.zeros(len(ranking.topics))
        p[terms.topic[now]], weight[terms.topic[now]] = terms.probability[now], terms.if_relevant[now]
        joint = joint.with_document(p[:, np.newaxis], weight[:, np.newaxis])
    joint = joint.with_others(_numbers(sampler.others, joint.chance.shape))
    total = terms.judged + ranking.total(terms.topic, terms.probability * terms.if_relevant)
    return joint.moments(total[:, np.newaxis], _best_sums(measure, sampler, joint.chance.shape))


def _sum_of(measure: Measure) -> Measure:
    """Return the measure without its divisor."""
    if measure.name == "RelP":
        return Measure.of("P", k=measure.k, rel=measure.get("rel"))
    form = _form(measure)
    return Measure.of("DCG", k=measure.k, dcg=form.dcg, gains=form.gains, rel=form.rel)


def _form(measure: Measure) -> DcgForm:
    return DcgForm(measure.get("dcg"), _gains(measure) or None, measure.get("rel"))


def _best_sums(measure: Measure, sampler: Sampler, shape: tuple[int, ...]) -> ByNumber:
    """Return the best sum of each topic if this many more documents are relevant."""
    topics, numbers = shape
    judgments = sampler.judgments(np.repeat(np.arange(numbers), topics), numbers)
    if measure.name == "RelP":
        best = np.minimum(judgments.relevant(sampler.level) / (numbers - 1), 1)
    else:
        best = ideal_dcg_of(judgments, measure.k, _form(measure), measure.get("norm"))
    return best.reshape(numbers, topics).T


@dataclass(frozen=True, slots=True, eq=False)
class _Joint:
    """The number of relevant documents so far, and the deviation of their sum from its mean.

    Means and squares are kept by number, and mixed without subtracting squares: if the sum hardly varies, the
    result is still accurate.
    """

    chance: ByNumber
    mean: ByNumber  # of the difference
    scatter: ByNumber  # its variance times the probability

    @staticmethod
    def nothing(topics: int, most: int) -> _Joint:
        """Start without documents."""
        chance = np.zeros((topics, most + 1))
        chance[:, 0] = 1
        return _Joint(chance, np.zeros_like(chance), np.zeros_like(chance))

    def with_document(self, p: Values, weight: Values) -> _Joint:
        """Add a document to each topic, relevant with probability p, and then worth `weight`."""
        without = self.moved(0, 1 - p, -p * weight)
        return without.mixed(self.moved(1, p, (1 - p) * weight))

    def with_others(self, numbers: ByNumber) -> _Joint:
        """Add documents that change the number but not the sum."""
        result = self.moved(0, numbers[:, :1], 0.0)
        for more in range(1, numbers.shape[1]):
            if numbers[:, more].any():
                result = result.mixed(self.moved(more, numbers[:, more : more + 1], 0.0))
        return result

    def moved(self, more: int, chance: Values, difference: Values | float) -> _Joint:
        """Raise all numbers by `more`, which happens with this probability and changes the sum."""
        stay = self.chance.shape[1] - 1 - more
        none = np.zeros((len(self.chance), more))
        # What reaches the last number stays there.
        weight, mean = self.chance[:, stay:], self.mean[:, stay:]
        reached = weight.sum(axis=1, keepdims=True)
        middle = (weight * mean).sum(axis=1, keepdims=True)
        middle = np.divide(middle, reached, out=np.zeros_like(middle), where=reached > 0)
        apart = self.scatter[:, stay:] + weight * (mean - middle) ** 2
        scatter = np.hstack([none, self.scatter[:, :stay], apart.sum(axis=1, keepdims=True)])
        return _Joint(
            np.hstack([none, self.chance[:, :stay], reached]) * chance,
            np.hstack([none, self.mean[:, :stay], middle]) + difference,
            scatter * chance,
        )

    def mixed(self, other: _Joint) -> _Joint:
        """Return the mixture of two."""
        chance = self.chance + other.chance
        part = np.divide(other.chance, chance, out=np.zeros_like(chance), where=chance > 0)
        gap = other.mean - self.mean
        scatter = self.scatter + other.scatter + self.chance * part * gap**2
        return _Joint(chance, self.mean + part * gap, scatter)

    def moments(self, total: Values, best: ByNumber) -> Moments:
        """Return mean and deviation of (total + difference) / best."""
        inverse = np.divide(1, best, out=np.zeros_like(best), where=best > 0)
        value = (total + self.mean) * inverse
        mean = (self.chance * value).sum(axis=1)
        variance = self.scatter * inverse**2 + self.chance * (value - mean[:, np.newaxis]) ** 2
        return Moments(mean, np.sqrt(variance.sum(axis=1)))


def _convolve(left: ByNumber, right: ByNumber) -> ByNumber:
    """Return the probabilities of the sum of two numbers; what reaches the last one stays there."""
    result = np.zeros_like(left)
    last = left.shape[1] - 1
    for number in range(last + 1):
        share = right[:, number : number + 1]
        if share.any():
            result[:, number:] += left[:, : last + 1 - number] * share
            result[:, last] += left[:, last + 1 - number :].sum(axis=1) * share[:, 0]
    return result


def _numbers(others: Outside, shape: tuple[int, ...]) -> ByNumber:
    """Return how likely each number of relevant documents is among these."""
    result = np.zeros(shape)
    result[:, 0] = 1
    nth = np.arange(len(others.topic)) - np.searchsorted(others.topic, others.topic)
    for step in range(int(nth.max(initial=-1)) + 1):
        now = nth == step
        topic = others.topic[now]
        result[topic] = _convolve(
            result[topic], _binomial(others.count[now], others.probability[now], shape[1] - 1)
        )
    return result


def _binomial(count: Counts, probability: Values, last: int) -> ByNumber:
    """Return the probabilities of 0, 1, ... and of `last` or more successes."""
    from scipy.special import gammaln, xlog1py, xlogy

    n, p, number = count[:, np.newaxis], probability[:, np.newaxis], np.arange(last)
    left = np.maximum(n - number, 0)
    ways = gammaln(n + 1.0) - gammaln(number + 1.0) - gammaln(left + 1.0)
    chance = np.where(number <= n, np.exp(ways + xlogy(number, p) + xlog1py(left, -p)), 0)
    return np.concatenate([chance, np.maximum(1 - chance.sum(axis=1, keepdims=True), 0)], axis=1)
