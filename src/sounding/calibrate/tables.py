"""Tables of `sounding calibrate`: how often each claim was right, scenario by scenario."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sounding.calibrate.result import Calibration, ClaimScore
from sounding.calibrate.sentences import FEWEST, table_title
from sounding.core.lazy import polars
from sounding.render.tables import UNKNOWN, Column, Table
from sounding.statistics.forecasts import Figure

OWN_PARTS = ("holds", "sign", "mtc")  # claims that are shown for pooled and unpooled runs by themselves
PARTS = {"all": "", "pooled": ", pooled", "unpooled": ", unpooled"}


def tidy_calibration(calibration: Calibration) -> Table:
    """Return one row per scenario, claim, measure and part of the pairs; the promised columns first."""
    columns = calibration.columns()
    return Table([Column(name, cells) for name, cells in columns.items()], facts=_facts(calibration), keys=3)


def _facts(calibration: Calibration) -> dict[str, object]:
    return {
        "runs": len(calibration.runs), "topics": len(calibration.topics),
        "judgments": calibration.judgments, "until": str(calibration.until),
        "test": calibration.procedure.test, "alpha": calibration.procedure.alpha,
        "repeats": dict(calibration.repeats), "draws": calibration.draws, "seed": calibration.seed,
    }  # fmt: skip


def calibration_tables(calibration: Calibration) -> list[Table]:
    """Return one table per measure and scenario."""
    return list(_each_table(calibration))


def _each_table(calibration: Calibration) -> Iterator[Table]:
    for measure in map(str, calibration.measures):
        for scenario, repeats in calibration.repeats.items():
            scores = [
                one
                for one in calibration.scores
                if (one.scenario, one.measure) == (scenario, measure)
                and (one.part == "all" or one.claim in OWN_PARTS)
            ]
            budget = f"{scores[0].budget:,.0f}" if scores else UNKNOWN
            yield _table(scores, table_title(measure, scenario, repeats, budget, calibration.judgments))


# Heading -> figure and decimals; of a figure with brackets, the interval stands behind it.
SHOWN = {
    "sure of": ("share_claimed", 3, False), "right": ("share_right", 3, True), "of all": ("right", 3, False),
    "AUC": ("auc", 3, True), "ECE": ("ece", 3, False), "Brier": ("brier", 4, False),
}  # fmt: skip


def _table(scores: Sequence[ClaimScore], title: str) -> Table:
    columns = [
        Column("claim", [f"{one.claim}{PARTS[one.part]}" for one in scores]),
        Column("pairs", [one.pairs for one in scores]),
    ]
    for heading, (name, digits, brackets) in SHOWN.items():
        figures = [one.figures[name] for one in scores]
        columns.append(Column(heading, [figure.value for figure in figures], digits=digits))
        if brackets:
            columns.append(Column("", [_interval(figure) for figure in figures], joined=True))
    return Table(columns, title=title)


def _interval(figure: Figure) -> str:
    known = math.isfinite(figure.low) and math.isfinite(figure.value)
    return f"[{figure.low:.3f}, {figure.high:.3f}]" if known else ""


def reliability_rows(calibration: Calibration) -> polars.DataFrame:
    """Return the bins of claims about pairs for a chart: one pane a measure and scenario.

    Bins with few pairs are left out: what came true in them is chance.
    """
    frame = calibration.reliability_frame.filter(
        (polars.col("part") == "all")
        & ~polars.col("claim").str.ends_with("interval")
        & (polars.col("claim") != "bounds")
        & (polars.col("pairs") >= FEWEST)
    )
    several = len(calibration.measures) > 1
    pane = polars.concat_str("measure", "scenario", separator=", ") if several else polars.col("scenario")
    return frame.select(
        pane.alias("scenario"), "claim", "pairs", "chance", "right",
        polars.col("low").alias("lower"), polars.col("high").alias("upper"),
    )  # fmt: skip
