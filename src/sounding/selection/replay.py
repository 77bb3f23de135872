"""Judging replayed: what a strategy would have chosen had it been used on judgments that are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.core.workers import Progress
from sounding.runs.ranking import Counts, Values
from sounding.selection.strategy import Pick, Strategy


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Replay:
    """The documents in the order in which a strategy had them judged."""

    picks: tuple[Pick, ...]
    grades: Values  # (pick,) NaN: not judged, which counted as not relevant
    relevant: int  # documents that are relevant, found or not
    level: float

    @property
    def found(self) -> Counts:
        """(pick,): relevant documents found so far."""
        return np.cumsum(self.grades >= self.level)

    def found_at(self, judged: int) -> float:
        """The share of the relevant documents that so many judgments found; NaN: there are none."""
        if not self.relevant:
            return float("nan")
        return int(np.count_nonzero(self.grades[:judged] >= self.level)) / self.relevant


def replay(
    strategy: Strategy,
    grades: Values,
    *,
    budget: int | None = None,
    level: float = 1,
    progress: Progress | None = None,
) -> Replay:
    """What a strategy has judged within a budget (None: until nothing is left), one document at a time.

    `grades` are those of every document, NaN where it was not judged: it counts as not relevant. The
    relevant ones among them are what there is to find: set those outside the pool to NaN.
    """
    known = np.where(np.isnan(grades), 0.0, grades).tolist()
    picks: list[Pick] = []
    while (budget is None or len(picks) < budget) and (due := strategy.next()):
        picks.append(due[0])
        strategy.judge(due[0].document, known[due[0].document])
        if progress is not None:
            progress(1)
    chosen = np.array([pick.document for pick in picks], np.int64)
    return Replay(
        picks=tuple(picks), grades=grades[chosen], level=level,
        relevant=int(np.count_nonzero(grades >= level)),
    )  # fmt: skip
