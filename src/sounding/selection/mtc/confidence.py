"""Quantify how certain the ranking is: of two runs, of neighbors, of all."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import special
from sounding.relevance.basis import Basis
from sounding.runs.ranking import Counts, Values
from sounding.selection.mtc.moments import Matrix

# How far differences between a few runs, after a few judgments, may be the model's own errors: their variance
# counts FEW_RUNS / runs + FEW_JUDGMENTS / judgments times (docs/mtc.md).
FEW_RUNS, FEW_JUDGMENTS = 20.0, 40.0
_SUREST = 0.9975  # of a chance before it is tempered, because draws are few

# Differences this small relative to their operands are rounding errors.
_NOTHING = 1e-14  # variances
_SAME = 1e-13  # values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Confidence:
    """The expected value of every run, and the probability that one run's value is not above another's.

    Two runs whose values cannot differ have probability one half either way.
    """

    runs: tuple[str, ...]
    judgments: int
    version: int  # number of judgments to which the prior was fitted
    values: Values  # (run,) expected
    deviations: Values  # (run,)
    not_above: Matrix  # (run, other) probability that the run's value is at most the other's; NaN: not stated
    method: str
    reason: str = ""  # why no probability is stated, to continue a sentence; empty: it is stated
    drawn: Matrix | None = None  # `not_above` as drawn, if it was tempered since

    def stated(self, basis: Basis) -> Confidence:
        """Remove probabilities and deviations if there are too few runs and judgments to state any."""
        if not (reason := basis.shortfall()):
            return self
        return replace(
            self, not_above=self.not_above * np.nan, deviations=self.deviations * np.nan, reason=reason
        )

    def with_proofs(self, proven: NDArray[np.bool_]) -> Confidence:
        """Return the same with certainty where a run is proven to be above another, (run, other)."""
        chances = np.where(proven, 0.0, np.where(proven.T, 1.0, self.not_above))
        return replace(self, not_above=chances)

    def may_be_proven(self, pairs: Counts, sure: float) -> NDArray[np.bool_]:
        """Return for pairs (run, other) whether as many draws as this have the run above the other."""
        below = self.not_above if self.drawn is None else self.drawn
        return np.asarray(1 - below[pairs[:, 0], pairs[:, 1]] >= sure)

    @property
    def order(self) -> Counts:
        """Return the runs, best first; equal ones in the given order."""
        return np.argsort(-self.values, kind="stable")

    def of_pairs(self) -> Matrix:
        """(run, other) Return how certain it is that the better of two runs is better.

        NaN on the diagonal.
        """
        place = np.argsort(self.order)
        result = np.where(place[:, np.newaxis] < place, 1 - self.not_above, 1 - self.not_above.T)
        np.fill_diagonal(result, np.nan)
        return result

    def adjacent(self) -> Values:
        """Return how certain each run of the ranking is to be above the next."""
        return 1 - self.not_above[self.order[:-1], self.order[1:]]

    def of_ranking(self) -> float:
        """Return the mean over all pairs; NaN for a single run."""
        pairs = self.of_pairs()[np.triu_indices(len(self.runs), 1)]
        return float(pairs.mean()) if len(pairs) else float("nan")

    def of_these(self, pairs: Counts) -> float:
        """Return the mean over these pairs (pair, 2); NaN if there are none."""
        return float(self.of_pairs()[pairs[:, 0], pairs[:, 1]].mean()) if len(pairs) else float("nan")

    def open_pairs(self, wanted: float) -> Counts:
        """(pair, 2) Return the pairs of runs whose order is less certain than wanted, lower number first."""
        first, second = np.triu_indices(len(self.runs), 1)
        unsure = ~(self.of_pairs()[first, second] >= wanted)
        return np.stack([first[unsure], second[unsure]], axis=1)


def normal_chances(mean: Values, covariance: Matrix) -> Matrix:
    """Return the probability that each value is at most each other one, under a normal distribution."""
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


def drawn_chances(values: NDArray[np.floating]) -> Matrix:
    """Return the share of draws (draw, run) in which each value is below each other one; ties count half."""
    draws, runs = values.shape
    result = np.full((runs, runs), 0.5)
    for run in range(runs - 1):
        difference = values[:, run : run + 1] - values[:, run + 1 :]
        below = np.count_nonzero(difference < 0, axis=0)
        chance = (below + np.count_nonzero(difference == 0, axis=0) / 2) / draws
        result[run, run + 1 :] = chance
        result[run + 1 :, run] = 1 - chance
    return result


def tempered_chances(values: NDArray[np.floating], judgments: int) -> Matrix:
    """Return drawn chances that claim no more than the spread of the runs bears.

    Runs of equal quality differ too in what is expected of them, by the errors of the model. So the runs are
    taken as draws from one population: if the expected values (draw, run) lie no further apart than their
    errors explain, nothing is known about the order; if much further, the chances stay as they are. So they
    do for two runs whose difference is the same in all draws: what is unjudged does not concern it.
    """
    chances = drawn_chances(values)
    mean = values.mean(axis=0)
    apart = float(mean.var(ddof=1)) if len(mean) > 1 else 0.0
    error = float((values - mean).var(axis=1, ddof=1).mean()) if len(mean) > 1 else 0.0
    if not error > _NOTHING * apart:  # nothing is left to judge
        return chances
    allowed = FEW_RUNS / len(mean) + FEW_JUDGMENTS / max(judgments, 1)
    kept = np.sqrt(max(0.0, 1 - allowed * error / apart)) if apart else 0.0
    tempered = special.ndtr(kept * special.ndtri(np.clip(chances, 1 - _SUREST, _SUREST)))
    return np.where(_same_in_all(values), chances, tempered)


def _same_in_all(values: NDArray[np.floating]) -> NDArray[np.bool_]:
    """(run, other) Return whether the difference of two runs is the same in all draws (draw, run)."""
    runs = values.shape[1]
    result = np.zeros((runs, runs), np.bool_)
    for run in range(runs):
        difference = values[:, run : run + 1] - values
        result[run] = np.ptp(difference, axis=0) <= _SAME
    return result


def best_documents(differences: NDArray[np.float64], chance: float, count: int) -> Counts:
    """Return `count` documents whose relevance is expected to add most to the sum over their pairs.

    `differences` holds c_ij; all documents are relevant with the same probability. This is Algorithm 1 of the
    paper: it repeatedly adds the document that adds most. For differences that come from two rankings, no
    other set of that size has a larger expected sum.
    """
    chosen: list[int] = []
    weight = np.diagonal(differences) * chance
    for _ in range(count):
        left = weight.copy()
        left[chosen] = -np.inf
        document = int(np.argmax(left))
        chosen.append(document)
        weight = weight + differences[document] * chance**2
    return np.array(chosen, np.int64)
