"""Weight documents by what judging them may tell about the ranking of the runs, in one pass.

The weight of a document for two runs is a difference of one number per run. So the largest over all pairs is
the largest number minus the smallest, and the mean square over all pairs is a variance.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.forms import Form
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import ByRank, TopicLists, rows_below
from sounding.selection.mtc.moments import Sums

CLOSE = 1e-12  # weights that differ by less, relative to the larger one, are equal up to rounding


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """The pairs of runs that matter: all pairs of some runs, one run against the others, or listed ones."""

    runs: Counts | None = None  # None: all of them
    baseline: int | None = None  # only pairs with this run
    pairs: Counts | None = None  # (pair, 2) only these

    def largest_difference(self, lists: TopicLists, values: ByRank) -> Values:
        """(document,) Return the largest difference between two runs of a pair; values are not negative."""
        if self.runs is None and self.baseline is None and self.pairs is None:
            return lists.range_over_runs(values)
        table = lists.by_document(values)
        if self.pairs is not None:
            return _largest_of_pairs(table, self.pairs)
        if self.baseline is not None:
            own = table[self.baseline]
            return np.maximum(table.max(axis=0) - own, own - table.min(axis=0))
        chosen = table[self.runs]
        return chosen.max(axis=0, initial=0) - chosen.min(axis=0, initial=np.inf)

    def mean_square(self, lists: TopicLists, values: ByRank, shift: Values) -> Values:
        """(document,) Return the mean square of the difference between two runs, over all pairs that matter.

        A run has its value of the document, 0 if it lacks it, plus its own shift (run,).
        """
        if self.runs is None and self.baseline is None and self.pairs is None:
            return _mean_square_of_all(lists, values, shift - shift.mean())
        table = lists.by_document(values) + shift[:, np.newaxis]
        if self.pairs is not None:
            return np.square(table[self.pairs[:, 0]] - table[self.pairs[:, 1]]).mean(axis=0)
        if self.baseline is not None:
            return np.square(table - table[self.baseline]).sum(axis=0) / max(len(table) - 1, 1)
        return 2 * table[self.runs].var(axis=0, ddof=1)

    def listed(self, runs: int) -> Counts:
        """(pair, 2) List every pair that matters among this number of runs, the earlier run first."""
        first, second = np.triu_indices(runs, 1)
        if self.pairs is not None:
            return self.pairs
        if self.baseline is not None:
            kept = (first == self.baseline) | (second == self.baseline)
        elif self.runs is not None:
            kept = np.isin(first, self.runs) & np.isin(second, self.runs)
        else:
            kept = np.ones(len(first), np.bool_)
        return np.stack([first[kept], second[kept]], axis=1)

    def same_as(self, other: Scope) -> bool:
        """Return whether both name the same pairs in the same way."""
        return (
            self.baseline == other.baseline
            and _equal(self.runs, other.runs)
            and _equal(self.pairs, other.pairs)
        )


EVERY_PAIR = Scope()


def _equal(left: Counts | None, right: Counts | None) -> bool:
    if left is None or right is None:
        return left is right
    return np.array_equal(left, right)


def _largest_of_pairs(table: NDArray[np.float64], pairs: Counts) -> Values:
    """(document,) Return the largest difference over these pairs of rows."""
    most = np.zeros(table.shape[1])
    for run in np.unique(pairs[:, 0]):
        others = table[pairs[pairs[:, 0] == run, 1]]
        np.maximum(most, others.max(axis=0) - table[run], out=most)
        np.maximum(most, table[run] - others.min(axis=0), out=most)
    return most


def _mean_square_of_all(lists: TopicLists, values: ByRank, shift: Values) -> Values:
    """Return that of all pairs, from sums over the runs with a document: S sum of x^2 - (sum of x)^2."""
    runs = len(shift)
    if not lists.size or runs < 2:
        return np.zeros(lists.size)
    listed = values.reshape(-1).take(lists.entries)
    own = shift[lists.entries // lists.places.shape[1]]
    total = np.add.reduceat(listed, lists.starts[:-1])
    squares = np.add.reduceat(listed * (listed + 2 * own), lists.starts[:-1]) + shift @ shift
    return np.maximum(runs * squares - total**2, 0) / (runs * (runs - 1) / 2)


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """Probabilities of a topic's documents; every array has an extra last place for no document."""

    probability: Values  # 0 or 1 if judged; the last is 0
    unjudged: NDArray[np.bool_]  # the last is False
    precision: float = math.inf  # precision of the topic's level, by the current fit; infinite: it is known
    since: tuple[float, ...] = ()  # the contribution of each judgment since the fit

    def level_variance(self) -> float:
        """Return the current variance of the topic's level."""
        return 1 / (self.precision + math.fsum(self.since))


Weighing = Callable[[Form, TopicLists, Beliefs, Sums, Scope], Values]


def faithful(form: Form, lists: TopicLists, beliefs: Beliefs, sums: Sums, scope: Scope) -> Values:
    """The paper's: what a document adds if relevant, or takes from what could be added if it is not.

    max(p |w_R|, (1 - p) |w_N|), where w_R is what it adds to the difference of the sums over relevant
    documents, and w_N what all pairs of it with documents that are relevant or unjudged could add.
    """
    p = beliefs.probability[:-1]
    if not form.pairs:
        return np.maximum(p, 1 - p) * scope.largest_difference(lists, form.weights * lists.filled)
    relevant = np.where(beliefs.unjudged, 0.0, beliefs.probability)
    if_relevant = _sums_with(form, lists, relevant) + form.weights * lists.filled
    if_not = _sums_with(form, lists, relevant + beliefs.unjudged)
    return np.maximum(
        p * scope.largest_difference(lists, if_relevant),
        (1 - p) * scope.largest_difference(lists, if_not),
    )


def scaled(form: Form, lists: TopicLists, beliefs: Beliefs, sums: Sums, scope: Scope) -> Values:
    """The paper's weight divided by what the topic's sum is divided by, so that topics compare."""
    divisor, _ = form.divisor(sums.relevant)
    return faithful(form, lists, beliefs, sums, scope) / (divisor if divisor > 0 else 1.0)


def variance(form: Form, lists: TopicLists, beliefs: Beliefs, sums: Sums, scope: Scope) -> Values:
    """Return the reduction of a difference's variance by each judgment, to first order."""
    divisor, _ = form.divisor(sums.relevant)
    p = beliefs.probability[:-1]
    apart = scope.largest_difference(lists, sums.growth) / (divisor if divisor > 0 else 1.0)
    return p * (1 - p) * apart**2


def informed(form: Form, lists: TopicLists, beliefs: Beliefs, sums: Sums, scope: Scope) -> Values:
    """Return the reduction of all differences' variance by each judgment, directly and through the level.

    A value is expected to gain h_i = (l_i - value) / N once document i turns out relevant. The judgment tells
    of the level as well, on which all chances of the topic hang: to first order cov(value, x_i) is v_i times
    h_i + s sum of v_j h_j, where s is the variance of the level. Its square, over v_i, is what goes.
    """
    # If less than one relevant document is expected, this one would be the only one.
    divisor, slope = form.divisor(max(sums.relevant, 1.0))
    slope = slope if sums.relevant > 1 else 0.0
    spread = beliefs.probability * (1 - beliefs.probability)
    tilt = slope * sums.total / divisor
    level = np.einsum("ij,ij->i", sums.growth, spread[lists.places]) - tilt * spread.sum()
    apart = scope.mean_square(lists, sums.growth, beliefs.level_variance() * level - tilt)
    return spread[:-1] * apart / divisor**2


def _sums_with(form: Form, lists: TopicLists, weight: Values) -> ByRank:
    """Return, for every document, the sum of a_ij weight_j over all documents j, including itself."""
    own = weight[lists.places]
    result = np.cumsum(own, axis=1)
    result *= form.weights
    own *= form.weights
    result += rows_below(own)
    result *= lists.filled
    return result


WEIGHINGS: Mapping[str, Weighing] = {
    "faithful": faithful,
    "scaled": scaled,
    "variance": variance,
    "informed": informed,
}


def heaviest(weights: Values, order: Counts) -> int:
    """Return the place of the largest weight; among equal ones the first in `order`."""
    alike = (weights >= weights.max() * (1 - CLOSE)).nonzero()[0]
    return int(alike[np.argmin(order[alike])])
