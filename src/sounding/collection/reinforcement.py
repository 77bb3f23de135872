"""Runs that resemble each other have each other's documents judged: Zobel's reinforcement, by run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sounding.agreement import kendall_tau
from sounding.collection.judged_runs import JudgedRuns
from sounding.ranking import Values
from sounding.retrieved import NONE

if TYPE_CHECKING:
    import polars

ASSESSED_AT = 1000  # where assessment is looked at, if lists are that long


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reinforcement:
    """How many of a run's first documents other groups pooled too, beside how much of it was judged."""

    runs: tuple[str, ...]  # (run,) those that contributed
    kinds: tuple[str, ...]
    depth: int  # of the pool, where overlap is looked at
    k: int  # where assessment is looked at
    overlap: Values  # (run,) mean share of its first documents that another group's pooled run has too
    assessment: Values  # (run,) A_p at k
    tau: float  # between the two; NaN: not defined

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, kind, overlap, assessment."""
        import polars

        return polars.DataFrame(
            {
                "run": self.runs,
                "kind": self.kinds,
                "overlap": self.overlap,
                "assessment": self.assessment,
            },
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
    """Overlap with other groups and assessment of every contributing run."""
    pooled = runs.contributions()
    places = runs.contributing.nonzero()[0]
    groups = np.array([runs.groups[place] for place in places])
    holders = np.zeros(len(pooled.docs) + 1, np.int64)  # groups that pooled the document
    for group in dict.fromkeys(groups.tolist()):
        held = np.zeros(len(holders), np.bool_)
        held[pooled.lists[groups == group]] = True
        holders += held
    overlap = []
    for own in pooled.lists:
        listed = own != NONE
        some = listed.any(axis=1)
        shared = np.count_nonzero((holders[own] > 1) & listed, axis=1)[some]
        overlap.append(
            float((shared / np.count_nonzero(listed[some], axis=1)).mean()) if some.any() else np.nan
        )
    assessed = assessment(runs)[places]
    return Reinforcement(
        runs=pooled.runs, kinds=tuple(runs.kinds[place] for place in places), depth=runs.reach,
        k=assessed_at(runs), overlap=np.array(overlap), assessment=assessed,
        tau=kendall_tau(np.array(overlap), assessed),
    )  # fmt: skip
