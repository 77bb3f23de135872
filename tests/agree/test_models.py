"""Simulated assessors: the overlaps that are wanted, what correlation adds, and the paper's finding on TREC-8."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.agree.panels import random_panel

from sounding.agree.agreement import assessor_agreements
from sounding.agree.combining import CORRELATION, OVERLAPS, simulate_assessors
from sounding.agree.resampling import Effect, evaluate_assessors, resample
from sounding.core.errors import DataError
from sounding.data.formats import read_qrels
from sounding.data.tables import Qrels
from sounding.statistics.assessor_agreement import Bootstrap


def large() -> Qrels:
    rng = np.random.default_rng(0)
    grades = np.where(rng.random(40_000) < 0.08, rng.integers(1, 3, 40_000), 0)
    topics = [f"t{row % 20}" for row in range(40_000)]
    return Qrels.from_columns(topics, [f"d{row}" for row in range(40_000)], grades.tolist())


def overlaps(correlation: float, **more: object) -> list[float]:
    panel = simulate_assessors(large(), correlation=correlation, seed=1, **more)  # type: ignore[arg-type]
    return [
        group.estimates["overlap"].value
        for group in assessor_agreements(panel, bootstrap=Bootstrap(2)).groups
    ]


@pytest.mark.parametrize("correlation", [0.0, CORRELATION])
def test_overlaps_with_the_primary_are_those_wanted(correlation: float) -> None:
    first, second, _, _ = overlaps(correlation)
    assert (first, second) == pytest.approx(OVERLAPS, abs=0.025)
    assert overlaps(correlation, overlaps=(0.8, 0.3), acceptance=(0.9, 0.7))[:2] == pytest.approx(
        [0.8, 0.3], abs=0.03
    )


def test_only_correlated_secondaries_agree_as_those_of_the_paper_do() -> None:
    # Voorhees (2002), Table 1: A with B .426, all three .301
    _, _, between, everyone = overlaps(0.0)
    assert between < 0.3
    assert everyone < 0.25
    assert overlaps(CORRELATION)[2:] == pytest.approx([0.426, 0.301], abs=0.03)


def test_grades_stay_where_relevance_does() -> None:
    qrels = large()
    panel = simulate_assessors(qrels, seed=3)
    primary, second = panel.grades[:, 0], panel.grades[:, 1]
    assert panel.assessors == ("qrels", "secondary-A", "secondary-B")
    kept = (primary >= 1) & (second >= 1)
    assert (second[kept] == primary[kept]).all()
    assert set(second[primary == 0]) == {0, 1}
    assert np.count_nonzero(second[primary >= 1] == 0) > 0


def test_a_seed_gives_the_same_assessors() -> None:
    panels = [simulate_assessors(random_panel(1).qrels_of(0), seed=seed) for seed in (1, 1, 2)]
    assert (panels[0].grades == panels[1].grades).all()
    assert (panels[0].grades != panels[2].grades).any()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"overlaps": (0.5,), "acceptance": (0.5, 0.6)}, "1 overlaps and 2 chances"),
        ({"overlaps": (0.7,), "acceptance": (0.5,)}, "overlap 0.7 with acceptance 0.5"),
        ({"overlaps": (0.0,)}, "expected 0 < overlap"),
        ({"correlation": 1.5}, "correlation 1.5; expected a number from 0 to 1"),
    ],
)
def test_figures_that_cannot_be_are_refused(given: dict[str, object], told: str) -> None:
    with pytest.raises(DataError, match=told):
        simulate_assessors(large(), **given)  # type: ignore[arg-type]


# -- the page's figures ----------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "agree.md"


def said_of_trec8(model: str) -> dict[str, list[str]]:
    """The numbers of one column of the page's table, by what they are."""
    lines = PAGE.read_text().splitlines()
    first = next(place for place, line in enumerate(lines) if "paper (TREC-4)" in line)
    place = [cell.strip() for cell in lines[first].split("|")].index(model)
    rows = [line.split("|") for line in lines[first + 2 : lines.index("", first)]]
    return {cells[1].strip(): re.findall(r"[0-9]*\.?[0-9]+", cells[place]) for cells in rows}


def found_on_trec8(folder: Path, correlation: float) -> tuple[dict[str, list[float]], Effect]:
    panel = simulate_assessors(read_qrels(folder / "qrels.trec8.txt.gz"), correlation=correlation)
    agreed = assessor_agreements(panel, bootstrap=Bootstrap(2))
    overlap = [group.estimates["overlap"].value for group in agreed.groups]
    runs = sorted(folder.glob("runs/input.*.gz"))
    values = evaluate_assessors(panel, runs, ["AP", "P@10"], jobs=None)
    effect, precision = (resample(values, number) for number in range(2))
    spread, between = effect.with_original, effect.in_subsample
    return {
        "overlap of primary and A": overlap[:1],
        "primary and B": overlap[1:2],
        "A and B": overlap[2:3],
        "all three": overlap[3:],
        "share of the primary's relevant documents that both others reject": [
            agreed.rejections[0].share.value
        ],
        "systems, topics": [len(effect.systems), len(effect.topics)],
        "AP: mean tau with the original (least, most)": [spread.mean, spread.least, spread.most],
        "mean tau between any two of 1,000 qrels (least, most)": [between.mean, between.least, between.most],
        "union with the original": [effect.single[-2].value],
        "intersection with the original": [effect.single[-1].value],
        "median difference of swapped runs": [effect.swap_difference[0]],
        "95% quantile of that difference": [effect.swap_difference[1]],
        "P@10: mean tau with the original": [precision.with_original.mean],
    }, effect


@pytest.mark.parametrize(
    ("model", "correlation", "outside"), [("independent", 0.0, 122), ("correlated", CORRELATION, 4)]
)
def test_on_trec8_rankings_hold_as_the_paper_found_and_the_page_says(
    collections: Path, model: str, correlation: float, outside: int
) -> None:
    found, effect = found_on_trec8(collections / "trec8", correlation)
    assert 0.40 <= found["overlap of primary and A"][0] <= 0.44
    assert 0.47 <= found["primary and B"][0] <= 0.51
    assert (effect.samples, len(effect.systems)) == (100_003, 129)
    assert effect.with_original.mean >= 0.9
    assert effect.in_subsample.mean >= 0.9
    assert np.count_nonzero(~effect.inside("intersection")) == outside
    said = said_of_trec8(model)
    assert said.keys() == found.keys()
    for what, numbers in said.items():
        shown = [
            f"{value:.{len(text.partition('.')[2])}f}"
            for value, text in zip(found[what], numbers, strict=True)
        ]
        assert [text.lstrip("0") for text in shown] == numbers, what
