"""Result of `calibrate`: how often each claim was right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from sounding.core.display import Displayed
from sounding.core.lazy import polars
from sounding.measures import Measure
from sounding.runs.pool import Until
from sounding.statistics.forecasts import Bin, Figure
from sounding.statistics.pairwise import Procedure

TEXTS = ("scenario", "claim", "measure", "part")
COLUMNS = ("scenario", "budget", "claim", "pairs", "share_claimed", "share_right", "auc", "ece", "brier")
WITH_INTERVALS = ("share_claimed", "share_right", "auc", "ece", "brier")


class ClaimScore(NamedTuple):
    """Accuracy of one claim in one scenario, by one measure, over some of the pairs."""

    scenario: str
    budget: float  # judgments that were left, the mean over repeats
    claim: str
    measure: str
    part: str
    pairs: int  # units: pairs of runs, or runs for what is said of each run
    figures: Mapping[str, Figure]
    bins: Sequence[Bin]  # empty where the claim gives no chances


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Calibration(Displayed):
    """Every claim in every scenario by every measure, and how often it was right."""

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    measures: tuple[Measure, ...]
    judgments: int  # of the whole collection
    contributing: int  # runs that contribute to its pool
    guessed: bool  # which ones was guessed
    until: Until
    considered: int  # documents that full judging means, with all runs
    never_judged: int  # of them that nobody has judged: for the truth they are not relevant
    procedure: Procedure
    repeats: Mapping[str, int]  # by scenario
    draws: int
    seed: int
    scores: tuple[ClaimScore, ...]
    notes: tuple[str, ...] = ()  # differences between the info file and the runs, a sentence each

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per scenario, claim, measure and part of the pairs, as `--format csv` has it."""
        columns = self.columns()
        types: dict[str, Any] = {
            name: polars.String if name in TEXTS else polars.Int64 if name == "pairs" else polars.Float64
            for name in columns
        }
        return polars.DataFrame(columns, schema=types)

    def columns(self) -> dict[str, list[Any]]:
        """The columns of the table, the promised ones first."""
        names = (*COLUMNS, "measure", "part", "right", "reliability", "resolution", "uncertainty")
        columns: dict[str, list[Any]] = {
            name: [
                getattr(one, name) if name in ClaimScore._fields else one.figures[name].value
                for one in self.scores
            ]
            for name in names
        }
        for name in WITH_INTERVALS:
            columns[f"{name}_low"] = [one.figures[name].low for one in self.scores]
            columns[f"{name}_high"] = [one.figures[name].high for one in self.scores]
        return columns

    @property
    def reliability_frame(self) -> polars.DataFrame:
        """Return one row per bin: scenario, claim, measure, part, pairs, chance, right, low, high."""
        rows = [
            (
                one.scenario, one.claim, one.measure, one.part, part.units, part.chance, part.right.value,
                part.right.low, part.right.high,
            )
            for one in self.scores
            for part in one.bins
        ]  # fmt: skip
        numbers = dict.fromkeys(("chance", "right", "low", "high"), polars.Float64)
        schema = {**dict.fromkeys(TEXTS, polars.String), "pairs": polars.Int64, **numbers}
        return polars.DataFrame(rows, schema=schema, orient="row")
