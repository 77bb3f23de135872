"""Evidence of how far a collection and its runs can be trusted; each part is computed on first use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from sounding.audit.added import OneMorePooled, added_runs
from sounding.audit.beyond import DRAWS, DeeperEvaluation, at_depth, deeper_evaluation, depths_beyond
from sounding.audit.coverage import (
    DeeperPool,
    Growth,
    JudgedCoverage,
    PoolOutcomes,
    coverage,
    deeper_pool,
    growth_by_depth,
    pool_outcomes,
)
from sounding.audit.judged_runs import Flags, JudgedRuns
from sounding.audit.leave_out import Among, By, LeftOut, Remove, UniqueDocuments, leave_out, unique_documents
from sounding.audit.new_runs import NewRunConclusions, conclusions_about, new_run_holds
from sounding.audit.pseudo import Pseudo, Reinforcement, rankings_without_judgments, reinforcement
from sounding.audit.ties import TiedScores, tied_scores
from sounding.core.workers import Progress, map_items, processes_for
from sounding.measures import Measure
from sounding.runs.pool import UNPOOLED
from sounding.runs.ranking import Values

LADDER = (5, 10, 20, 50, 100, 200, 500, 1000)  # depths that people are shown
NEARLY_ALL = 0.8  # share of relevant ones among the judgments: more of them are no judged pool

Part = TypeVar("Part")


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditEvidence:
    """One collection and its runs; every method computes its part once."""

    runs: JudgedRuns
    reported: Flags  # (run,) which runs tables and summaries are about
    measures: tuple[Measure, ...]
    remove: Remove  # judgments removed with a run or group
    among: Among  # the runs that may hold a document for it not to be unique
    draws: int  # of random pseudo-judgments
    seed: int
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def _once(self, key: Any, compute: Callable[[], Part]) -> Part:
        if key not in self._known:
            self._known[key] = compute()
        found: Part = self._known[key]
        return found

    @cached_property
    def reported_names(self) -> frozenset[str]:
        """The names of the runs that tables and summaries are about."""
        return frozenset(run for run, own in zip(self.runs.runs, self.reported, strict=True) if own)

    @property
    def sampled(self) -> bool:
        """Return whether the judgments are a sample of the pool, by strata or by probabilities."""
        return self.runs.qrels.strata is not None or self.runs.qrels.probabilities is not None

    @property
    def has_pool(self) -> bool:
        """Return whether any run is known to have contributed to the judgments."""
        return self.runs.pool.known

    @property
    def strangers(self) -> bool:
        """Return whether runs and judgments have no document in common."""
        return not np.isfinite(self.runs.grades()).any()

    @property
    def relevant_share(self) -> float:
        """The share of the judgments that have a grade above 0, whatever the level."""
        grades = self.runs.judgments.grades
        return float(np.mean(grades > 0)) if len(grades) else np.nan

    @cached_property
    def only_relevant(self) -> bool:
        """Return whether the judgments seem to list relevant documents alone, so that they show no pool.

        Nearly all of them are relevant, and more documents of the pool's depth are unjudged than pools have
        at their ends.
        """
        return self.relevant_share >= NEARLY_ALL and not (self.runs.pool.depth and self.holed() <= UNPOOLED)

    def holed(self) -> float:
        """The share of the documents within the pool's depth that are unjudged; 0: no pool is known."""
        holes = len(self.runs.holes())
        return holes / int(np.count_nonzero(self.runs.contributions().best_ranks() > 0)) if holes else 0.0

    def depths(self) -> tuple[int, ...]:
        """Depths to show: those of the ladder that lists reach, the pool's and the deepest."""
        deepest = self.runs.retrieved.depth
        wanted = {*LADDER, self.runs.pool.depth, deepest}
        return tuple(sorted(depth for depth in wanted if 0 < depth <= deepest))

    def values(self) -> Values:
        """(run, measure): means over topics with all judgments."""
        return self._once("values", lambda: self.runs.means(self.measures, self.runs.view()))

    def coverage(self) -> JudgedCoverage:
        """Return what was judged of every run."""
        return self._once("coverage", lambda: coverage(self.runs))

    def outcomes(self) -> PoolOutcomes:
        """Return what shallower pools would have judged, and the pool as it is."""
        depths = tuple(depth for depth in self.depths() if depth <= self.runs.reach)
        return self._once("outcomes", lambda: pool_outcomes(self.runs, depths))

    def growth(self) -> Growth:
        """Relevant documents by pool depth."""
        return self._once("growth", lambda: growth_by_depth(self.runs))

    def deeper(self, first: int | None = None) -> DeeperPool:
        """Return the relevant documents that judging beyond a first depth brought, run by run."""
        return self._once(("deeper", first), lambda: deeper_pool(self.runs, first))

    def unique(self, by: By = "group") -> UniqueDocuments:
        """Documents that one group, or run, alone contributed."""
        return self._once(("unique", by), lambda: unique_documents(self.runs, by, self.among))

    def processes(self, items: int, jobs: int | None) -> int:
        """Return how many processes should look at all lists once for each of some items."""
        return processes_for(self.runs.retrieved.lists.size * items, items, jobs)

    def leave_out(
        self, by: By = "group", progress: Progress | None = None, *, jobs: int | None = 1
    ) -> LeftOut:
        """Values had a group, or run, not taken part."""
        processes = self.processes(len(self.unique(by).names), jobs)
        return self._once(
            ("leave_out", by),
            lambda: leave_out(self.runs, self.measures, by, self.remove, self.among, progress, processes),
        )

    def beyond(
        self, k: int, measures: tuple[Measure, ...] | None = None, progress: Progress | None = None
    ) -> list[DeeperEvaluation]:
        """Return for each measure (None: all) how many conclusions about pooled runs at k would stand."""
        wanted, whole = measures or self.measures, self._known.get(("beyond", k, self.measures), [])
        known = {one.measure: one for one in whole if not one.reason}
        cut = list(dict.fromkeys(at_depth(measure, k, self.runs.level) for measure in wanted))
        if known.keys() >= set(cut):
            return [known[measure] for measure in cut]
        return self._once(("beyond", k, wanted), lambda: deeper_evaluation(self.runs, wanted, k, progress))

    def beyond_all(self, progress: Progress | None = None, *, jobs: int | None = 1) -> None:
        """Compute how many conclusions would stand at each depth below the pool, by all measures."""
        depths = depths_beyond(self.runs)
        found = map_items(
            lambda k: deeper_evaluation(self.runs, self.measures, k), depths,
            processes=self.processes(len(depths) * DRAWS, jobs) if len(depths) > 1 else 1, progress=progress,
        )  # fmt: skip
        self._known.update({("beyond", k, self.measures): one for k, one in zip(depths, found, strict=True)})

    def conclusions(self, run: int) -> NewRunConclusions:
        """Return which conclusions about a new run, by the first measure, would stand if more were judged."""
        measure = self.measures[0]
        holds = self._once("holds", lambda: new_run_holds(self.runs, measure))
        return conclusions_about(self.runs, measure, holds, run)

    def reinforcement(self) -> Reinforcement:
        """Assessment of runs against their overlap with others."""
        return self._once("reinforcement", lambda: reinforcement(self.runs))

    def added(self) -> OneMorePooled:
        """Return whose judged share rises with each run in the pool, and with a fusion of the pooled runs."""
        return self._once("added", lambda: added_runs(self.runs))

    def ties(self) -> TiedScores:
        """Return how many scores tie, and how the runs rank under each tie rule."""
        return self._once("ties", lambda: tied_scores(self.runs))

    def pseudo(self, progress: Progress | None = None, *, jobs: int | None = 1) -> Pseudo:
        """Rankings of runs that need no judgments."""
        processes = self.processes(self.draws, jobs)
        return self._once(
            "pseudo",
            lambda: rankings_without_judgments(self.runs, self.draws, self.seed, progress, processes),
        )
