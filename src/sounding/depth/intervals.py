"""Means with comparison intervals at chosen depths, and two runs over depth with the case at each.

Figs. 4 to 11 of Baillie, Azzopardi & Ruthven: performance beside assessment, A_p at the same depth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import polars
from sounding.depth.ratios import can_test, same_everywhere
from sounding.measures.summaries import mean_over_topics
from sounding.statistics.anova import comparison_half_width, one_way, two_way
from sounding.statistics.cases import UNTESTED, Cases, decide
from sounding.statistics.pairwise import PairTests, Procedure, fewest_topics

Floats = NDArray[np.float64]

ONE_PAIR = np.array([[0, 1]], np.intp)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Intervals:
    """The mean of every run at some depths, and how far about it its comparison interval reaches."""

    depths: tuple[int, ...]
    means: Floats  # (depth, run)
    half_width: Floats  # (depth,) the same for all runs; NaN: no error to reckon with, or F does not reject
    f_p: Floats  # (depth,) of the F test over all runs; NaN: not tested

    @property
    def lower(self) -> Floats:
        """(depth, run)."""
        return self.means - self.half_width[:, np.newaxis]

    @property
    def upper(self) -> Floats:
        """(depth, run)."""
        return self.means + self.half_width[:, np.newaxis]

    def frame(self, runs: Sequence[str], measure: str, order: Sequence[int]) -> polars.DataFrame:
        """Columns run, measure, k, mean, lower, upper: at each depth these of the runs, in this order."""
        names, chosen = [runs[run] for run in order], np.array(order)
        return polars.DataFrame(
            {
                "run": names * len(self.depths),
                "measure": [measure] * (len(names) * len(self.depths)),
                "k": np.repeat(np.array(self.depths), len(names)),
                "mean": self.means[:, chosen].ravel(),
                "lower": self.lower[:, chosen].ravel(),
                "upper": self.upper[:, chosen].ravel(),
            },
            schema_overrides={"run": polars.String, "measure": polars.String},
        )


def comparison_intervals(
    values: Floats, depths: Sequence[int], *, alpha: float = 0.05, topics_as_blocks: bool = False
) -> Intervals:
    """Intervals from values (depth, run, topic): two runs differ significantly where theirs are disjoint.

    After an analysis of variance, by Bonferroni for all pairs: t(1 - alpha / 2m) s / sqrt(2n) on either
    side of the mean. Pairs of several count only where the F test over all runs rejects, so that there are
    no intervals where it does not. The error is that of the topics which every run has; the means are of
    all that each run has. With topics as blocks, and two runs, it is the paired t test.
    """
    found = [_half_width(table, alpha, topics_as_blocks) for table in values]
    return Intervals(
        depths=tuple(depths), means=mean_over_topics(values),
        half_width=np.array([width for width, _ in found]), f_p=np.array([p for _, p in found]),
    )  # fmt: skip


def _half_width(table: Floats, alpha: float, topics_as_blocks: bool) -> tuple[float, float]:
    """Half-width, and p of the F test."""
    whole = table[:, ~np.isnan(table).any(axis=0)]
    pairs = len(table) * (len(table) - 1) // 2
    if pairs < 1 or whole.shape[1] < 2:
        return np.nan, np.nan
    variance = two_way(whole) if topics_as_blocks else one_way(whole)
    p = variance.omnibus.p
    if variance.mean_square == 0 or (pairs > 1 and p > alpha):
        return np.nan, p
    return comparison_half_width(whole, alpha=alpha, pairs=pairs, topics_as_blocks=topics_as_blocks), p


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairOverDepth:
    """Two runs at some depths: performance and assessment with error bars, and the case at each depth."""

    runs: tuple[str, str]
    measure: str
    performance: Intervals  # of the two runs; disjoint where a paired t test separates them
    assessment: Intervals  # A_p at the same depths
    p: Floats  # (depth,) of the difference in performance; NaN: not tested
    assessment_p: Floats  # (depth,)
    cases: Cases  # (depth,) of the decision matrix; 0: not tested

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, measure, k, mean, lower, upper, case: performance, then A_p, of either run."""
        case = polars.Series("case", self.cases.astype(np.int64))
        return polars.concat(
            intervals.frame(self.runs, name, [run]).with_columns(case)
            for name, intervals in ((self.measure, self.performance), ("A_p", self.assessment))
            for run in range(2)
        )


def pair_over_depth(
    runs: tuple[str, str],
    measure: str,
    values: Floats,
    assessment: Floats,
    depths: Sequence[int],
    procedure: Procedure,
) -> PairOverDepth:
    """Two runs from values and A_p, (depth, run, topic) each; tested as a pair by itself at every depth."""
    tests = [
        (_tested(performance, procedure), _tested(assessed, procedure))
        for performance, assessed in zip(values, assessment, strict=True)
    ]
    bars = [
        comparison_intervals(table, depths, alpha=procedure.alpha, topics_as_blocks=True)
        for table in (values, assessment)
    ]
    return PairOverDepth(
        runs=runs, measure=measure, performance=bars[0], assessment=bars[1],
        p=np.array([_p(one) for one, _ in tests]), assessment_p=np.array([_p(one) for _, one in tests]),
        cases=np.array([_case(*both) for both in tests], np.int8),
    )  # fmt: skip


def _tested(table: Floats, procedure: Procedure) -> PairTests | None:
    """Return None if there are too few topics or the difference is the same on all of them."""
    if not can_test(table, procedure):
        return None
    tests = procedure.apply(table, ONE_PAIR)
    return None if same_everywhere(tests)[0] else tests


def _p(tests: PairTests | None) -> float:
    return np.nan if tests is None else float(tests.p[0])


def _case(performance: PairTests | None, assessment: PairTests | None) -> int:
    if performance is None or assessment is None or performance.topics[0] < fewest_topics(performance.alpha):
        return UNTESTED
    return int(decide(performance, assessment)[0])
