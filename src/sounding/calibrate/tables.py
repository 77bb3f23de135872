"""Tables of `sounding calibrate`: how often each claim was right, scenario by scenario."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from sounding.calibrate.claims import CLAIMS
from sounding.calibrate.result import Calibration, ClaimScore
from sounding.render.tables import UNKNOWN, Column, Table
from sounding.statistics.forecasts import SURE, Figure

if TYPE_CHECKING:
    import polars

OWN_PARTS = ("holds", "sign", "mtc")  # claims that are shown for pooled and unpooled runs by themselves
BY_T = ("holds", "draws", "margin")  # claims that are about the paired t test
FEWEST = 5  # pairs of a bin that is drawn
PARTS = {"all": "", "pooled": ", pooled", "unpooled": ", unpooled"}


def tidy_calibration(calibration: Calibration) -> Table:
    """One row a scenario, claim, measure and part of the pairs; the promised columns first."""
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
    """One table a measure and scenario, the last with notes on how to read them."""
    *others, last = _each_table(calibration)
    return [*others, replace(last, notes=notes(calibration))]


def _each_table(calibration: Calibration) -> Iterator[Table]:
    for measure in map(str, calibration.measures):
        for scenario, repeats in calibration.repeats.items():
            scores = [
                one
                for one in calibration.scores
                if (one.scenario, one.measure) == (scenario, measure)
                and (one.part == "all" or one.claim in OWN_PARTS)
            ]
            times = f", {repeats} times" if repeats > 1 else ""
            budget = f"{scores[0].budget:,.0f}" if scores else UNKNOWN
            title = f"{measure}, {scenario}{times}: {budget} of {calibration.judgments:,} judgments"
            yield _table(scores, title)


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


def notes(calibration: Calibration) -> list[str]:
    """What was done, and what the columns are."""
    procedure = calibration.procedure
    asked = {one.claim for one in calibration.scores}
    how = "guessed from what is judged" if calibration.guessed else "as listed"
    return [
        f"Truth: all {calibration.judgments:,} judgments of {len(calibration.topics)} topics. Conclusions:"
        f" better, worse or not distinguished by the test {procedure.test} at {procedure.alpha:g}, each pair"
        f" by itself. Full judging, which holds and sign are about: {calibration.until.describe()}"
        f" ({calibration.contributing} of {len(calibration.runs)} runs contribute, {how}).",
        f"Sure of: share of the pairs with a chance of {SURE:g} or more, or with the label. Right: the share"
        " of these for which it came true; of all: the same of all pairs. AUC: how well a claim tells those"
        " for which it did from the others. ECE and Brier: how far chances are from what came true."
        " Intervals, 95%, resample runs. Unpooled: pairs with a run that did not contribute to the judgments"
        " that are left.",
        *_too_deep(calibration),
        *calibration.notes,
        *_other_test(calibration, asked),
        *(f"{claim.name}: {claim.title}." for claim in CLAIMS.values() if claim.name in asked),
        f"{calibration.draws} draws, seed {calibration.seed}.",
    ]  # fmt: skip


def _too_deep(calibration: Calibration) -> Iterator[str]:
    """A warning where full judging means documents that the truth knows nothing of."""
    if calibration.never_judged:
        yield (
            f"Beware: of the {calibration.considered:,} documents that full judging means here,"
            f" {calibration.never_judged:,} were never judged and count as not relevant in the truth, so that"
            " holds and sign expect more than comes; make --until no deeper than the pool was."
        )


def _other_test(calibration: Calibration, asked: set[str]) -> Iterator[str]:
    """A warning where chances are those of another test than the one behind conclusions."""
    named = [name for name in BY_T if name in asked]
    if named and calibration.procedure.test != "t":
        yield (
            f"Beware: {', '.join(named)} go by the t of a paired t test; held against conclusions of the test"
            f" {calibration.procedure.test} they also err where the two tests differ."
        )


def reliability_rows(calibration: Calibration) -> polars.DataFrame:
    """For a chart: the bins of claims about pairs, a pane for every measure and scenario.

    Bins with few pairs are left out: what came true in them is chance.
    """
    import polars

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
