"""TREC-8: what is said to hold does, in the scenarios and to the degree that docs/holds.md states."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from sounding.calibrate.calibrating import calibrate
from sounding.calibrate.result import Calibration
from sounding.data.run_info import read_run_info

CLAIMS = ("holds", "sign", "margin", "strong")


def calibrated(collections: Path, scenarios: list[str]) -> Calibration:
    folder = collections / "trec8"
    return calibrate(
        folder / "qrels.trec8.txt.gz", sorted(folder.glob("runs/input.*.gz")), ["AP@1000", "nDCG@20"],
        scenarios=scenarios, claims=CLAIMS, until="pool:100", info=read_run_info(folder / "info.tsv"),
        resamples=0, repeats=2, jobs=None,
    )  # fmt: skip


def check_targets(found: Calibration) -> None:
    sure = found.frame.filter(polars.col("claim").is_in(["holds", "sign"]))
    assert sure["auc"].min() >= 0.96  # type: ignore[operator]
    assert sure["share_right"].min() >= 0.95  # type: ignore[operator]
    whole = sure.filter(polars.col("part") != "pooled")
    assert whole["ece"].max() <= 0.02  # type: ignore[operator]
    # With half of the groups left out, few pairs of pooled runs are left.
    assert sure["ece"].max() <= 0.04  # type: ignore[operator]


def check_page(found: Calibration, measure: str) -> None:
    """The row of docs/calibrate.md for each claim is what was found, to what draws leave open."""
    page = (Path(__file__).parents[2] / "docs" / "calibrate.md").read_text()
    first = {"AP@1000": 1, "nDCG@20": 5}[measure]
    for claim in ("holds", "sign", "strong"):
        line = next(line for line in page.splitlines() if line.startswith(f"| {claim} | "))
        cells = [cell.strip() for cell in line.split("|")[1:]][first : first + 4]
        row = found.frame.row(
            by_predicate=(polars.col("claim") == claim) & (polars.col("measure") == measure)
            & (polars.col("part") == "all"),
            named=True,
        )  # fmt: skip
        for name, cell in zip(("share_claimed", "share_right", "auc", "ece"), cells, strict=True):
            assert not cell or row[name] == pytest.approx(float(cell), abs=0.006), (claim, measure, name)


def test_with_a_pool_of_depth_10_what_is_said_to_hold_does(collections: Path) -> None:
    found = calibrated(collections, ["pool:10"])
    check_targets(found)
    others = {
        (one["claim"], one["measure"]): one["auc"]
        for one in found.frame.filter(polars.col("part") == "all").iter_rows(named=True)
    }
    for measure in ("AP@1000", "nDCG@20"):
        check_page(found, measure)
    # The figures of the margin and of the label alone that the papers' methods come to.
    assert others["margin", "AP@1000"] == pytest.approx(0.913, abs=0.0005)
    assert others["strong", "AP@1000"] == pytest.approx(0.423, abs=0.0005)


@pytest.mark.long
def test_with_shallower_and_smaller_pools_as_well(collections: Path) -> None:
    check_targets(calibrated(collections, ["pool:5", "pool:10+groups:0.5"]))
