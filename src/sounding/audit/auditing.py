"""audit(): all that tells how far a collection can be trusted, each part found when it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from sounding.audit.coverage import Coverage, PoolOutcomes, coverage, pool_outcomes
from sounding.audit.growth import Growth, growth_by_depth
from sounding.audit.judged_runs import JudgedRuns, read_judged_runs, refuse_measures, without_new
from sounding.audit.leave_out import LeftOut, Remove, leave_out
from sounding.audit.pseudo import DRAWS, Pseudo, Reinforcement, rankings_without_judgments, reinforcement
from sounding.audit.ties import TiedScores, tied_scores
from sounding.audit.unique import Among, By, UniqueDocuments, unique_documents
from sounding.core.display import Displayed
from sounding.core.errors import DataError
from sounding.core.limits import check_count
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Progress
from sounding.data.formats import Place, run_sources
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels
from sounding.measures import Measure, parse_measures
from sounding.runs.pool import UNPOOLED
from sounding.runs.ranking import Values

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10")
LADDER = (5, 10, 20, 50, 100, 200, 500, 1000)  # depths that people are shown
NEARLY_ALL = 0.8  # share of relevant ones among the judgments: more of them are no judged pool

Part = TypeVar("Part")


@dataclass(frozen=True, eq=False, kw_only=True)
class Audit(Displayed):
    """One collection and its runs; every method computes its part once."""

    runs: JudgedRuns
    measures: tuple[Measure, ...]
    remove: Remove  # what leaving out a run or group takes away
    among: Among  # the runs that may hold a document for it not to be unique
    draws: int  # of random pseudo-judgments
    seed: int
    _read_ties: Callable[[Progress | None], TiedScores]
    _known: dict[Any, Any] = field(default_factory=dict, repr=False)

    def _once(self, key: Any, compute: Callable[[], Part]) -> Part:
        if key not in self._known:
            self._known[key] = compute()
        found: Part = self._known[key]
        return found

    @property
    def sampled(self) -> bool:
        """Whether the judgments say that they are a sample of the pool: by strata or by probabilities."""
        return self.runs.qrels.strata is not None or self.runs.qrels.probabilities is not None

    @property
    def has_pool(self) -> bool:
        """Whether any run is known to have contributed to the judgments."""
        return bool(self.runs.contributing.any())

    @property
    def strangers(self) -> bool:
        """Whether runs and judgments have no document in common."""
        return not np.isfinite(self.runs.grades()).any()

    @property
    def relevant_share(self) -> float:
        """The share of the judgments that have a grade above 0, whatever the level."""
        grades = self.runs.judgments.grades
        return float(np.mean(grades > 0)) if len(grades) else np.nan

    @property
    def only_relevant(self) -> bool:
        """Whether the judgments seem to list relevant documents alone, so that they show no pool.

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

    def coverage(self) -> Coverage:
        """What was judged of every run."""
        return self._once("coverage", lambda: coverage(self.runs))

    def outcomes(self) -> PoolOutcomes:
        """What shallower pools would have judged, and the pool as it is."""
        depths = tuple(depth for depth in self.depths() if depth <= self.runs.reach)
        return self._once("outcomes", lambda: pool_outcomes(self.runs, depths))

    def growth(self) -> Growth:
        """Relevant documents by pool depth."""
        return self._once("growth", lambda: growth_by_depth(self.runs))

    def unique(self, by: By = "group") -> UniqueDocuments:
        """Documents that one group, or run, alone contributed."""
        return self._once(("unique", by), lambda: unique_documents(self.runs, by, self.among))

    def leave_out(self, by: By = "group", progress: Progress | None = None) -> LeftOut:
        """Values had a group, or run, not taken part."""
        return self._once(
            ("leave_out", by),
            lambda: leave_out(
                self.runs, self.measures, by=by, remove=self.remove, among=self.among, progress=progress
            ),
        )

    def reinforcement(self) -> Reinforcement:
        """Assessment of runs against their overlap with others."""
        return self._once("reinforcement", lambda: reinforcement(self.runs))

    def ties(self, progress: Progress | None = None) -> TiedScores:
        """Tied scores; reads the runs once more, for their scores."""
        return self._once("ties", lambda: self._read_ties(progress))

    def pseudo(self, progress: Progress | None = None) -> Pseudo:
        """Rankings of runs that need no judgments."""
        return self._once(
            "pseudo",
            lambda: rankings_without_judgments(
                self.runs, draws=self.draws, seed=self.seed, progress=progress
            ),
        )

    def judged_share(self, run: int, depth: int) -> float:
        """The mean share of a run's documents down to a depth that was judged."""
        return float(self.coverage().judged_share[run, depth - 1])

    def left_out_share(self, depth: int) -> Values:
        """(row,): the same of contributing runs whose group was left out; NaN values are gone."""
        found = self.leave_out()
        shares = found.judged_share[found.pooled, depth - 1]
        return shares[np.isfinite(shares)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ties:
    """Reads the scores of the runs once more, when somebody asks; unlike a closure it can be pickled."""

    qrels: Qrels
    runs: list[Place]
    names: tuple[str, ...]
    level: float
    policies: Policies
    reading: Mapping[str, Any]

    def __call__(self, progress: Progress | None) -> TiedScores:
        return tied_scores(
            self.qrels, self.runs, self.names, level=self.level, policies=self.policies, progress=progress,
            **self.reading,
        )  # fmt: skip


def audit(
    qrels: Any,
    runs: Any,
    measures: Any = DEFAULT_MEASURES,
    *,
    new: Any = (),
    info: Mapping[str, RunInfo] | None = None,
    pool_depth: int | None = None,
    level: float = 1,
    remove: Remove = "relevant",
    unique_among: Among = "pooled",
    draws: int = DRAWS,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Audit:
    """Judgments and runs of a collection, ready to be asked how far they can be trusted.

    Runs are files, folders, globs, tables, dicts or frames, as for `evaluate`; `new` names files of runs
    that had no part in the judgments. `info` tells group and kind of runs and which were pooled. `remove`
    says what leaving out a run or group takes away: relevant documents that nobody else found, or all
    judgments of what nobody else found. `unique_among` says who nobody is: the other pooled runs, or all.
    """
    check_count("draws", draws, 1)
    wanted = parse_measures(measures, level=level)
    refuse_measures(wanted)
    reading: dict[str, Any] = {"run_format": run_format, "jobs": jobs}
    places, fresh = run_sources(runs), run_sources(new) if new else []
    found = read_judged_runs(
        qrels, places, new=fresh, info=info, pool_depth=pool_depth, level=level, policies=policies,
        qrels_format=qrels_format, progress=progress, **reading,
    )  # fmt: skip
    if not found.judgments.relevant(level).any():
        highest = f"{found.judgments.grades.max():g}" if len(found.judgments.grades) else "none"
        raise DataError(
            f"{found.qrels.source}: no relevant document at level {level:g}; the highest grade is {highest}"
        )
    names = tuple(run for run, fresh in zip(found.runs, found.new.tolist(), strict=True) if not fresh)

    ties = _Ties(
        qrels=found.qrels, runs=without_new(places, fresh), names=names, level=level, policies=policies,
        reading=reading,
    )  # fmt: skip
    return Audit(
        runs=found, measures=wanted, remove=remove, among=unique_among, draws=draws, seed=policies.seed,
        _read_ties=ties,
    )  # fmt: skip
