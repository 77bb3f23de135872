"""The result of `sounding.depth`: what becomes of an evaluation as it looks deeper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.display import Displayed
from sounding.core.errors import ChoiceError, DataError
from sounding.core.lazy import polars
from sounding.core.policies import Policies
from sounding.core.workers import Progress
from sounding.data.finding import RunIndex
from sounding.depth import sentences as guidelines
from sounding.depth.fewer_judgments import (
    MEASURES,
    JudgmentSubsets,
    PoolDepths,
    judgment_subsets,
    pool_depths,
)
from sounding.depth.intervals import Intervals, PairOverDepth, pair_over_depth
from sounding.depth.over_depth import (
    EARLY,
    OverDepth,
    Rankings,
    UnjudgedDocuments,
    mean_residuals,
    other_tie_rule,
)
from sounding.depth.sentences import Finding
from sounding.depth.volatility import Agreeing, ordering_row
from sounding.evaluate.result import FEW_RUNS
from sounding.measures import Measure, parse_measures
from sounding.measures.assessed import assessment_measure
from sounding.measures.cumulative import rank_weights
from sounding.measures.regrading import Regrading
from sounding.measures.summaries import mean_over_topics
from sounding.runs.pool import Pool
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import MostPlaces
from sounding.terminal.plan_file import Plan

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DepthStudy(Displayed):
    """Result of an evaluation at increasing depths."""

    rankings: Rankings
    ks: NDArray[np.int64]  # the depths that are looked at, ascending from 1
    depths: tuple[int, ...]  # those that were chosen
    measures: tuple[OverDepth, ...]
    assessment: Floats  # (k, run) mean A_p
    assessment_intervals: Intervals
    order: tuple[int, ...]  # the runs by AP@10, best first
    tie_moves: Mapping[str, tuple[float, MostPlaces]]  # by measure cut at its reference depth
    unpooled: tuple[UnjudgedDocuments, ...]  # of runs that did not contribute, down to `reference_depth`
    reference_depth: int
    agreeing: Agreeing  # the comparison of orderings at two depths
    pool: Pool
    notes: tuple[str, ...]
    procedure: Procedure
    policies: Policies
    regrading: Regrading | None = None  # from which fewer judgments can be tried; None: lists were not kept

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return self.rankings.runs

    def find(self, name: str) -> int:
        """Return the place of a run: by its name, its tag or its file, with or without extension."""
        return RunIndex(self.runs, self.rankings.tags).place(name)

    def place(self, k: int) -> int:
        """Return where a depth stands among those that are looked at."""
        return int(np.searchsorted(self.ks, k))

    def reference_measures(self) -> tuple[Measure, ...]:
        """Return every measure, cut at the depth of its reference."""
        return tuple(one.at_reference for one in self.measures)

    def names_at_reference(self) -> dict[str, str]:
        """Map every measure cut at its reference depth to the name that this study shows."""
        return {str(one.at_reference): f"{one.name}@{one.reference_depth}" for one in self.measures}

    def stable_from(self) -> dict[str, int | None]:
        """Map each measure to the depth from which all orderings agree; None if there is none."""
        return {
            one.name: None
            if self.agreeing.is_distance
            else one.volatility.stable_from(self.agreeing.threshold)
            for one in self.measures
        }

    def headline(self) -> str:
        """Return from which depth on the order of the runs is stable, or why that cannot be said."""
        topics = len(self.rankings.judgments.topics)
        if len(self.runs) < FEW_RUNS:
            return guidelines.too_few_runs(len(self.runs), topics)
        if self.agreeing.is_distance:
            return guidelines.no_threshold(self.agreeing.coefficient)
        return guidelines.stable(self.stable_from(), self.agreeing, len(self.runs), int(self.ks[-1]), topics)

    def ks_to_draw(self) -> list[int]:
        """Return every depth to 20, a few dozen deeper ones evenly on a log scale, and the chosen depths."""
        far = np.geomspace(1, self.ks[-1], 60).round().astype(np.int64)
        wanted = np.unique(np.concatenate([np.arange(1, 21), far, np.array(self.depths)]))
        return np.intersect1d(wanted, self.ks).tolist()

    def findings(
        self, *, plan: Plan | None = None, deviations: Sequence[str] = (), command: str | None = None
    ) -> tuple[Finding, ...]:
        """Return findings on the guidelines of Lu et al.; `command` is repeated in the exact form."""
        measures = {one.name: one.measure for one in self.measures}
        discrimination = {one.name: self._discrimination(one) for one in self.measures}
        early, deep = (self.place(k) for k in (min(EARLY, self.depths[-1]), self.depths[-1]))
        first = self.measures[0]
        return (
            guidelines.standard_depths(self.depths),
            guidelines.fixed_beforehand(
                measures, discrimination, None if plan is None else f"plan {plan.source}", deviations
            ),
            guidelines.exact_form(measures, command),
            guidelines.tie_rule(
                self.policies.ties, other_tie_rule(self.policies.ties), self.tie_moves, self.runs
            ),
            guidelines.extended_evaluation(self.depths, self.pool, self._least_covered(), len(measures)),
            guidelines.utility_beside_recall(measures),
            guidelines.unpooled_runs(self.unpooled, self.pool, self.reference_depth),
            guidelines.early_leaders(
                self.runs, first.name, (int(self.ks[early]), first.means[early]),
                (int(self.ks[deep]), first.means[deep]), self.assessment[deep],
            ),
        )  # fmt: skip

    def _discrimination(self, one: OverDepth) -> tuple[float, float]:
        """Return the least and the largest share of pairs that differ at the chosen depths."""
        chosen = one.separation.discrimination()[np.isin(one.separation.ks, self.depths)]
        return float(chosen.min()), float(chosen.max())

    def _least_covered(self) -> dict[int, tuple[str, float, float]]:
        """Map each depth to the measure with the least coverage of its reference, and its inversions."""
        least = {}
        for k in self.depths:
            tested = [(one, one.separation.ks.index(k)) for one in self.measures]
            rows = [(one.name, float(one.coverage[k]), float(one.inversion[k])) for one, k in tested]
            least[k] = min(rows, key=lambda row: np.nan_to_num(row[1], nan=2.0))
        return least

    def pair(self, names: tuple[str, str]) -> tuple[PairOverDepth, ...]:
        """Two runs over depth, by every measure: at the chosen depths and a few dozen between them."""
        a, b = (self.find(name) for name in names)
        if a == b:
            raise ChoiceError(f"run {names[0]!r} against itself: name two different runs")
        between = np.geomspace(1, self.ks[-1], 30).round().astype(np.int64)
        ks = np.unique(np.concatenate([between, np.array(self.depths)]))
        plain = [self.rankings.plain[run] for run in (a, b)]
        seen, assessed = self.rankings.seen(plain), self.rankings.values(assessment_measure(1), ks, plain)
        return tuple(
            pair_over_depth(
                (self.runs[a], self.runs[b]), one.name, self.rankings.values(one.measure, ks, seen),
                assessed, ks.tolist(), self.procedure,
            )
            for one in self.measures
        )  # fmt: skip

    def pools(self, depths: Sequence[int], *, progress: Progress | None = None) -> PoolDepths:
        """Compare every measure at its reference depth under shallower pools with the whole pool."""
        regrading = self._kept_lists()
        if not self.pool.known:
            raise DataError("no run is known to have contributed to the pool; list the runs with --info")
        if max(depths) > self.pool.depth:
            raise DataError(
                f"--pools {max(depths)}: the pool of these runs is {self.pool.depth} deep; cut it to at most"
                " that"
            )
        return pool_depths(
            regrading, self.reference_measures(), depths, procedure=self.procedure, progress=progress,
            contributors=regrading.retrieved.pick(self.pool.contributing),
        )  # fmt: skip

    def subsets(self, *, jobs: int | None = 1, progress: Progress | None = None) -> JudgmentSubsets:
        """The same under random parts of the judgments, with the measures of Buckley and Voorhees beside."""
        measures = dict.fromkeys([*self.reference_measures(), *parse_measures(MEASURES)])
        return judgment_subsets(self._kept_lists(), list(measures), jobs=jobs, progress=progress)

    def _kept_lists(self) -> Regrading:
        if self.regrading is None:
            raise DataError("fewer judgments are tried on whole lists; ask depth() for keep_lists=True")
        return self.regrading

    def orderings(self) -> list[dict[str, Any]]:
        """Measures at the chosen depths against their reference, the other tie rule, and other measures."""
        ks, p = np.array(self.depths), self.agreeing.p
        other_ties = self.rankings.seen(self.rankings.other_ties)
        rule = f"ties {other_tie_rule(self.policies.ties)}"
        rows = []
        for number, one in enumerate(self.measures):
            tied = mean_over_topics(self.rankings.values(one.measure, ks, other_ties))
            for row, k in enumerate(self.depths):
                means = one.means[self.place(k)]
                others = [(one.reference_name, one.reference_means), (rule, tied[row])]
                others += [(f"{two.name}@{k}", two.means[self.place(k)]) for two in self.measures[:number]]
                rows += [
                    {"measure": one.name, "k": k, "against": name}
                    | ordering_row(means, against, self.runs, p)
                    for name, against in others
                ]
        return rows

    def columns(self, *, every_k: bool = False) -> dict[str, list[Any]]:
        """Return one row per measure and depth: the chosen depths, or every one that was tested."""
        found: dict[str, list[Any]] = {}
        for one in self.measures:
            ks = one.separation.ks if every_k else self.depths
            rows = np.array([self.place(k) for k in ks])
            tested = np.array([one.separation.ks.index(k) for k in ks])
            columns: dict[str, Sequence[Any]] = {
                "measure": [one.name] * len(ks),
                "k": list(ks),
                "reference": [one.reference_name] * len(ks),
                "mean": one.means[rows].mean(axis=1),
                "lowest": one.means[rows].min(axis=1),
                "highest": one.means[rows].max(axis=1),
                "discrimination": one.separation.discrimination()[tested],
                "median_p": one.separation.median_p[tested],
                "coverage": one.coverage[tested],
                "inversion": one.inversion[tested],
            }
            columns |= {name: values[rows] for name, values in one.agreement.items()}
            for name, residual in (
                ("residual_unjudged", one.residual_unjudged), ("residual_tail", one.residual_tail),
            ):  # fmt: skip
                columns[name] = [None] * len(ks) if residual is None else residual[rows].mean(axis=1)
            columns["assessment"] = self.assessment[rows].mean(axis=1)
            for name, cells in columns.items():
                found.setdefault(name, []).extend(cells.tolist() if isinstance(cells, np.ndarray) else cells)
        return found

    # -- frames, as tables for programs and charts read them ---------------------------------------

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per measure and tested depth: see `columns`."""
        texts = {"measure": polars.String, "reference": polars.String}
        residuals = {"residual_unjudged": polars.Float64, "residual_tail": polars.Float64}
        return polars.DataFrame(self.columns(every_k=True), schema_overrides={**texts, **residuals})

    @property
    def values_frame(self) -> polars.DataFrame:
        """Columns run, measure, k, value, form (plain or condensed): the mean of every run at every depth."""
        form = "condensed" if self.policies.unjudged == "condensed" else "plain"
        parts = [(one.name, "plain", one.plain_means) for one in self.measures if one.plain_means is not None]
        parts += [(one.name, form, one.means) for one in self.measures]
        return polars.concat(
            self._by_run(name, "value", means).with_columns(form=polars.lit(form))
            for name, form, means in parts
        )

    @property
    def residual_frame(self) -> polars.DataFrame | None:
        """Columns run, measure, k, residual: both parts together; None: no measure has one."""
        parts = [
            self._by_run(one.name, "residual", one.residual_unjudged + one.residual_tail)
            for one in self.measures
            if one.residual_unjudged is not None and one.residual_tail is not None
        ]
        return polars.concat(parts) if parts else None

    @property
    def run_frame(self) -> polars.DataFrame:
        """Return one row per run, measure and depth: every k, of whole lists and of condensed ones.

        Columns run, measure, k, plain, condensed, residual_unjudged and residual_tail (of plain; null: the
        measure has none), assessment.
        """
        condensed = [ranking.condensed() for ranking in self.rankings.plain]
        parts = []
        for one in self.measures:
            sides = [
                mean_over_topics(self.rankings.values(one.measure, self.ks, rankings))
                for rankings in (self.rankings.plain, condensed)
            ]
            residuals = mean_residuals(self.rankings, one.measure, self.ks)
            base = self._by_run(one.name, "plain", sides[0])
            parts.append(
                base.with_columns(
                    condensed=sides[1].ravel(),
                    residual_unjudged=_ravelled(residuals[0]),
                    residual_tail=_ravelled(residuals[1]),
                    assessment=self.assessment.ravel(),
                )
            )
        return polars.concat(parts)

    def _by_run(self, measure: str, name: str, table: Floats) -> polars.DataFrame:
        return polars.DataFrame(
            {
                "run": list(self.runs) * len(self.ks),
                "measure": [measure] * table.size,
                "k": np.repeat(self.ks, len(self.runs)),
                name: table.ravel(),
            },
            schema_overrides={"run": polars.String, "measure": polars.String},
        )

    @property
    def weights_frame(self) -> polars.DataFrame | None:
        """Columns measure, k, rank, weight at the chosen depths; None: ranks have none by any measure."""
        parts = [
            polars.DataFrame(
                {"measure": [one.name] * k, "k": [k] * k, "rank": np.arange(1, k + 1), "weight": weights}
            )
            for one in self.measures
            for k in self.depths
            if (weights := rank_weights(one.measure, k)) is not None
        ]
        return polars.concat(parts) if parts else None

    @property
    def interval_frame(self) -> polars.DataFrame:
        """Columns run, measure, k, mean, lower, upper: performance, then assessment, by AP@10."""
        tables = [(one.name, one.intervals) for one in self.measures] + [("A_p", self.assessment_intervals)]
        return polars.concat(intervals.frame(self.runs, name, self.order) for name, intervals in tables)


def _ravelled(table: Floats | None) -> Any:
    """A column; of nulls where there is nothing."""
    return polars.lit(None, polars.Float64) if table is None else polars.Series(table.ravel())
