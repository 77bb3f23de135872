"""Find the runs that differ significantly from a baseline: one paired test for each run and measure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.data.finding import RunIndex
from sounding.evaluate.result import Scores
from sounding.runs.pairs import baseline_pairs
from sounding.statistics.pairwise import Procedure


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BaselineTests:
    """The tests of all other runs against one; NaN where a run or measure is not tested."""

    baseline: int
    difference: NDArray[np.float64]  # (run, measure) from the baseline, over the topics that both have
    p: NDArray[np.float64]  # (run, measure) adjusted for all comparisons by the measure
    limits: tuple[str, ...]  # (measure,) why no run could be significant; empty: one could
    test: str
    correction: str
    alpha: float
    comparisons: int  # by each measure

    def better(self) -> NDArray[np.bool_]:
        """(run, measure): significantly higher than the baseline."""
        return (self.p <= self.alpha) & (self.difference > 0)

    def worse(self) -> NDArray[np.bool_]:
        """(run, measure): significantly lower than the baseline."""
        return (self.p <= self.alpha) & (self.difference < 0)

    def of_runs(self, chosen: list[int]) -> BaselineTests:
        """Return the tests of some runs, in the given order; the baseline is among them."""
        return BaselineTests(
            baseline=chosen.index(self.baseline), difference=self.difference[chosen], p=self.p[chosen],
            limits=self.limits, test=self.test, correction=self.correction, alpha=self.alpha,
            comparisons=self.comparisons,
        )  # fmt: skip


def compare_with_baseline(scores: Scores, name: str) -> BaselineTests:
    """Test every run against the baseline by each measure that is a mean, as `compare --baseline` does."""
    baseline = RunIndex(scores.runs, scores.tags).place(name)
    if len(scores.runs) < 2:
        raise DataError(f"--baseline {name}: there is no other run to compare with it")
    pairs, procedure = baseline_pairs(len(scores.runs), [baseline]), Procedure()
    difference = np.full((len(scores.runs), len(scores.measures)), np.nan)
    p, limits, correction = difference.copy(), [""] * len(scores.measures), ""
    for number, measure in enumerate(scores.measures):
        if measure.definition.aggregate != "mean" or measure.definition.basis == "count":
            continue
        preferences = scores.preferences(measure, pairs)
        tests = procedure.apply(scores.values[:, number], pairs, preferences=preferences)
        difference[pairs[:, 0], number], p[pairs[:, 0], number] = tests.difference, tests.p_adjusted
        limits[number], correction = tests.limit, tests.correction
    if not correction:
        raise DataError("--baseline: none of the measures is a mean over topics; ask for one, such as AP")
    return BaselineTests(
        baseline=baseline, difference=difference, p=p, limits=tuple(limits), test=procedure.test,
        correction=correction, alpha=procedure.alpha, comparisons=len(pairs),
    )  # fmt: skip
