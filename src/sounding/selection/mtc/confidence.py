"""How sure the order of the runs is: of two runs, of neighbours, and of the ranking as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import special
from sounding.relevance.basis import Basis
from sounding.runs.ranking import Counts, Values

Matrix = NDArray[np.float64]  # (run, run)

# What is so small beside that of which it is the difference comes from rounding.
_NOTHING = 1e-14  # variances
_SAME = 1e-13  # values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Confidence:
    """The expected value of every run, and the chance that one run's value is not above another's.

    Two runs whose values cannot differ are as likely either way: a chance of one half.
    """

    runs: tuple[str, ...]
    judgments: int
    version: int  # how many of them the prior was fitted to
    values: Values  # (run,) expected
    deviations: Values  # (run,)
    not_above: Matrix  # (run, other) chance that the run's value is at most the other's; NaN: not stated
    method: str
    reason: str = ""  # why no chance is stated, as a sentence goes on; empty: they are

    def stated(self, basis: Basis) -> Confidence:
        """The same without chances and deviations where runs and judgments are too few to state any."""
        if not (reason := basis.shortfall()):
            return self
        unknown = np.full_like(self.not_above, np.nan), np.full_like(self.deviations, np.nan)
        return replace(self, not_above=unknown[0], deviations=unknown[1], reason=reason)

    @property
    def order(self) -> Counts:
        """The runs, best first; of equal ones the first given."""
        return np.argsort(-self.values, kind="stable")

    def of_pairs(self) -> Matrix:
        """(run, other) how sure it is that the better of two runs is better; NaN on the diagonal."""
        place = np.argsort(self.order)
        result = np.where(place[:, np.newaxis] < place, 1 - self.not_above, 1 - self.not_above.T)
        np.fill_diagonal(result, np.nan)
        return result

    def adjacent(self) -> Values:
        """How sure each run of the ranking is to be above the next."""
        return 1 - self.not_above[self.order[:-1], self.order[1:]]

    def of_ranking(self) -> float:
        """The mean over all pairs; NaN where there is but one run."""
        pairs = self.of_pairs()[np.triu_indices(len(self.runs), 1)]
        return float(pairs.mean()) if len(pairs) else float("nan")

    def of_these(self, pairs: Counts) -> float:
        """The mean over some pairs (pair, 2); NaN where there are none."""
        return float(self.of_pairs()[pairs[:, 0], pairs[:, 1]].mean()) if len(pairs) else float("nan")

    def open_pairs(self, wanted: float) -> Counts:
        """(pair, 2) the pairs of runs whose order is not known to be as sure as wanted, first by number."""
        first, second = np.triu_indices(len(self.runs), 1)
        still = ~(self.of_pairs()[first, second] >= wanted)
        return np.stack([first[still], second[still]], axis=1)


def normal_chances(mean: Values, covariance: Matrix) -> Matrix:
    """The chance that each value is at most each other one, were differences normally distributed."""
    first, second = np.triu_indices(len(mean), 1)
    own = np.diagonal(covariance)
    both = own[first] + own[second]
    spread = both - 2 * covariance[first, second]
    spread[spread <= _NOTHING * both] = 0
    difference = mean[second] - mean[first]
    difference[np.abs(difference) <= _SAME * (mean[first] + mean[second])] = 0
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = difference / np.sqrt(spread)
    distance[(spread == 0) & (difference == 0)] = 0
    chance = special.ndtr(distance)
    result = np.full((len(mean), len(mean)), 0.5)
    result[first, second] = chance
    result[second, first] = 1 - chance
    return result


def drawn_chances(values: NDArray[np.floating], wider: float = 1.0) -> Matrix:
    """The share of draws (draw, run) in which each value is below each other one, equal ones half.

    Differences count as so much further from their mean; a draw in which two runs are equal stays equal.
    """
    draws, runs = values.shape
    middle = values.mean(axis=0)
    result = np.full((runs, runs), 0.5)
    for run in range(runs - 1):
        difference = values[:, run : run + 1] - values[:, run + 1 :]
        expected = middle[run] - middle[run + 1 :]
        # Were an equal draw moved with the others, it would always count against the run that is ahead.
        equal = difference == 0
        below = np.count_nonzero((expected + wider * (difference - expected) < 0) & ~equal, axis=0)
        chance = (below + np.count_nonzero(equal, axis=0) / 2) / draws
        result[run, run + 1 :] = chance
        result[run + 1 :, run] = 1 - chance
    return result
