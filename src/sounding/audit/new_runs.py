"""Conclusions about new runs that would stand after more judgments, and documents to judge for the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.audit.judged_runs import JudgedRuns
from sounding.compare.holds import DEFAULT_UNTIL, Holds, holding
from sounding.measures import Measure
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.pool import parse_until
from sounding.statistics.forecasts import SURE

TOP = 10  # documents of each list to judge first


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class NewRunConclusions:
    """The comparisons of one new run with the others, by one measure."""

    measure: Measure
    holds: Holds
    others: tuple[str, ...]  # (comparison,)
    chance: np.ndarray[
        tuple[int], np.dtype[np.float64]
    ]  # (comparison,) that its conclusion holds; NaN: not known
    documents: int  # unjudged ones at the top of the new run and of the others whose conclusion is open

    @property
    def safe(self) -> int:
        """Return how many conclusions would very likely stand."""
        return int(np.count_nonzero(self.chance >= SURE))

    @property
    def open(self) -> list[str]:
        """Return the runs that the new run cannot be compared with yet."""
        return [
            run for run, chance in zip(self.others, self.chance.tolist(), strict=True) if not chance >= SURE
        ]


def new_pairs(runs: JudgedRuns) -> Pairs:
    """(pair, 2): Return the pairs with at least one new run."""
    pairs = all_pairs(len(runs.runs))
    return pairs[runs.new[pairs].any(axis=1)]


def new_run_holds(runs: JudgedRuns, measure: Measure) -> Holds:
    """Return the chances that conclusions about new runs hold, for the pairs of `new_pairs`."""
    until = parse_until(DEFAULT_UNTIL)
    considered = until.considered(runs.retrieved, runs.contributing)
    return holding(runs, [measure], considered, until, pairs=new_pairs(runs), seed=runs.policies.seed)


def conclusions_about(runs: JudgedRuns, measure: Measure, holds: Holds, run: int) -> NewRunConclusions:
    """Pick the comparisons of one new run."""
    pairs = new_pairs(runs)
    own = (pairs == run).any(axis=1)
    others = pairs[own].sum(axis=1) - run
    chance = holds.conclusion[0, own]
    chosen = [run, *others[~(chance >= SURE)].tolist()]
    top = runs.retrieved.lists[chosen, :, :TOP]
    documents = np.unique(top[top >= 0])
    return NewRunConclusions(
        measure=measure, holds=holds, others=tuple(runs.runs[other] for other in others.tolist()),
        chance=chance, documents=int(np.count_nonzero(np.isnan(runs.grades()[documents]))),
    )  # fmt: skip
