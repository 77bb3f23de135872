"""Runs that resemble each other have each other's documents judged: Zobel's reinforcement, by run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sounding.agreement import kendall_tau
from sounding.collection.holders import holders_by_owner
from sounding.collection.judged_runs import Flags, JudgedRuns
from sounding.ranking import Values
from sounding.retrieved import NONE, Retrieved

if TYPE_CHECKING:
    import polars

ASSESSED_AT = 1000  # where assessment is looked at, if lists are that long


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reinforcement:
    """How many of a run's first documents others pooled too, beside how much of it was judged."""

    runs: tuple[str, ...]  # (run,) those that contributed
    kinds: tuple[str, ...]
    depth: int  # of the pool, where overlap is looked at
    k: int  # where assessment is looked at
    overlap: Values  # (run,) mean share of its first documents that another pooled run has too
    group_overlap: Values  # (run,) the same, of runs of other groups
    assessment: Values  # (run,) A_p at k

    @property
    def tau(self) -> float:
        """Kendall's tau between assessment and overlap with the other runs; NaN: not defined."""
        return kendall_tau(self.overlap, self.assessment)

    @property
    def group_tau(self) -> float:
        """The same of overlap with runs of other groups."""
        return kendall_tau(self.group_overlap, self.assessment)

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, kind, overlap, group_overlap, assessment."""
        import polars

        numbers = ("overlap", "group_overlap", "assessment")
        return polars.DataFrame(
            {"run": self.runs, "kind": self.kinds} | {name: getattr(self, name) for name in numbers},
            schema_overrides={"run": polars.String, "kind": polars.String},
        )


def assessed_at(runs: JudgedRuns) -> int:
    """The depth at which assessment is looked at: 1,000, or as deep as the deepest list."""
    return max(1, min(ASSESSED_AT, runs.retrieved.depth))


def assessment(runs: JudgedRuns) -> Values:
    """(run,): A_p where assessment is looked at: judged documents down to that depth, divided by it."""
    k = assessed_at(runs)
    judged = np.append(np.isfinite(runs.grades()), False)
    counts = [np.count_nonzero(judged[own[:, :k]], axis=1).mean() for own in runs.retrieved.lists]
    return np.array(counts) / k


def reinforcement(runs: JudgedRuns) -> Reinforcement:
    """Overlap of every contributing run with the others, and with those of other groups; its assessment."""
    pooled = runs.contributions()
    places = runs.contributing.nonzero()[0]
    groups = [runs.groups[place] for place in places]
    return Reinforcement(
        runs=pooled.runs, kinds=tuple(runs.kinds[place] for place in places), depth=runs.reach,
        k=assessed_at(runs), overlap=_shared(pooled, pooled.holders() > 1),
        group_overlap=_shared(pooled, holders_by_owner(pooled, groups) > 1),
        assessment=assessment(runs)[places],
    )  # fmt: skip


def _shared(pooled: Retrieved, several: Flags) -> Values:
    """(run,): the mean over topics of the share of its documents that several have; NaN: it has none."""
    known, shares = np.append(several, False), []
    for own in pooled.lists:
        sizes = np.count_nonzero(own != NONE, axis=1)
        some = sizes > 0
        found = np.count_nonzero(known[own[some]], axis=1) / sizes[some]
        shares.append(float(found.mean()) if len(found) else np.nan)
    return np.array(shares)
