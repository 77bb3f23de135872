"""TREC-8 ad hoc, all 129 runs: the decision matrix of Baillie et al., Tables 3 and 4, recomputed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sounding.compare.comparison import compare_scores
from sounding.compare.depths import at_depths, count_scenarios, moved_pairs, moves
from sounding.compare.result import Comparison
from sounding.data.run_info import read_run_info
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.measures.assessed import with_assessment
from sounding.statistics.pairwise import Procedure

DEPTHS = (10, 30, 100, 500, 1000)
ANOVA = Procedure(test="anova", correction="bonferroni", alpha=0.05)

# Shares of cases 1 to 4 with 129 runs; the paper has 125.
ONE_WAY = {
    "P@10": "0.73 0.04 0.18 0.06",
    "P@30": "0.72 0.05 0.16 0.07",
    "P@100": "0.67 0.16 0.11 0.06",
    "P@500": "0.53 0.38 0.00 0.10",
    "P@1000": "0.59 0.34 0.00 0.08",
    "AP@10": "0.89 0.09 0.01 0.01",
    "AP@30": "0.84 0.12 0.03 0.01",
    "AP@100": "0.69 0.17 0.09 0.05",
    "AP@500": "0.51 0.29 0.04 0.17",
    "AP@1000": "0.57 0.22 0.04 0.17",
}
TWO_WAY = {
    "P@10": "0.58 0.02 0.33 0.07",
    "P@1000": "0.45 0.25 0.02 0.28",
    "AP@10": "0.74 0.04 0.17 0.06",
    "AP@1000": "0.42 0.18 0.10 0.31",
}


@pytest.fixture(scope="module")
def scores(collections: Path) -> Scores:
    folder = collections / "trec8"
    runs = sorted(folder.glob("runs/input.*.gz"))
    wanted = with_assessment(at_depths(["P", "AP"], DEPTHS))
    return evaluate(folder / "qrels.trec8.txt.gz", runs, wanted, jobs=None)


@pytest.fixture(scope="module")
def one_way(scores: Scores, collections: Path) -> Comparison:
    return compare_scores(scores, procedure=ANOVA, info=read_run_info(collections / "trec8" / "info.tsv"))


def shares(comparison: Comparison) -> dict[str, str]:
    rows = zip(comparison.measures, comparison.shares().tolist(), strict=True)
    return {str(measure): " ".join(f"{share:.2f}" for share in row) for measure, row in rows}


def test_one_way_anova_with_bonferroni_gives_the_papers_tables_within_four_runs(one_way: Comparison) -> None:
    assert len(one_way.runs) == 129
    assert len(one_way.pairs) == 8256
    assert shares(one_way) == ONE_WAY


def test_taking_topics_out_finds_more_differences(scores: Scores) -> None:
    found = shares(compare_scores(scores, procedure=Procedure(test="anova2", correction="bonferroni")))
    assert {name: found[name] for name in TWO_WAY} == TWO_WAY


@pytest.mark.parametrize(
    ("measure", "expected"), [("P@100", "0.52 0.31 0.02 0.15"), ("AP@100", "0.52 0.35 0.03 0.10")]
)
def test_the_papers_columns_at_100_come_out_with_assessment_at_500(
    scores: Scores, measure: str, expected: str
) -> None:
    found = compare_scores(scores, measures=[measure], procedure=ANOVA, assessment="A_p@500")
    assert shares(found) == {measure: expected}


def test_the_pool_of_71_runs_and_depth_100_is_found_and_guessed_nearly(
    one_way: Comparison, scores: Scores
) -> None:
    assert one_way.pool is not None
    assert (int(np.count_nonzero(one_way.pool.contributing)), one_way.pool.depth) == (71, 100)
    places = {str(measure): number for number, measure in enumerate(one_way.measures)}
    assert count_scenarios(one_way, places["P@100"]) == {1: 2485, 2: 0, 3: 5771}
    assert count_scenarios(one_way, places["P@500"]) == {1: 0, 2: 2485, 3: 5771}
    guessed = compare_scores(scores, measures=["P@10"], procedure=ANOVA).pool
    assert guessed is not None
    assert (int(np.count_nonzero(guessed.contributing)), guessed.depth) == (72, 100)


@pytest.mark.parametrize("count", [7, 20, 40])
def test_contributors_are_guessed_among_few_runs_too(one_way: Comparison, scores: Scores, count: int) -> None:
    assert one_way.pool is not None
    judged_by_luck = "Dm8TFidf"  # every document of its top 100 was judged, though it was not pooled
    generator = np.random.default_rng(count)
    for _ in range(5):
        chosen = np.sort(generator.choice(len(scores.runs), count, replace=False))
        some = scores.of_runs(chosen.tolist())
        guessed = compare_scores(some, measures=["P@10"], procedure=ANOVA).pool
        assert guessed is not None
        differ = guessed.contributing != one_way.pool.contributing[chosen]
        assert {some.runs[place] for place in differ.nonzero()[0]} <= {judged_by_luck}


def test_assessment_falls_behind_after_the_pool_depth_more_often_than_anywhere_else(
    one_way: Comparison,
) -> None:
    weakened = {}
    for step in moves(one_way):
        strong, weak = step.counts[[0, 2]], (1, 3)
        key = (step.measure, one_way.depths[step.deep])
        weakened[key] = int(strong[:, weak].sum())
    for measure in ("P", "AP"):
        assert max(DEPTHS[1:], key=lambda deep: weakened[measure, deep]) == 500
    assert (weakened["P", 500], weakened["AP", 500]) == (2426, 2319)
    causes = [move.cause for move in moved_pairs(one_way)]
    assert causes.count("pool") > 4000
    frozen = {move for move in moved_pairs(one_way) if move.cause == "frozen"}
    assert any("READWARE2 is frozen: its lists end after 116 documents" in move.why for move in frozen)
