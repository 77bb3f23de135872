"""The decision matrix: Fig. 3 of Baillie et al., cell by cell, and where assessment is taken."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.compare.tables import around, scores_of

from sounding.compare.comparison import assessed_depths, assessment_values, compared_measures, values_of
from sounding.core.errors import DataError
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse
from sounding.measures.assessed import FIRST_UNJUDGED, JUDGED, RETRIEVED, assessment_depth, with_assessment
from sounding.statistics import pairwise as claims
from sounding.statistics.cases import count_cases, decide, strength
from sounding.statistics.pairwise import PairTests


def claim(sign: int, topics: int = 30) -> PairTests:
    """One pair: run_a significantly higher (1), significantly lower (-1), or neither (0)."""
    tests = claims.pairwise_tests(
        around(0.5, 0.5), np.array([[0, 1]]), test="t", alpha=0.05, rng=np.random.default_rng(0)
    )
    return replace(
        tests,
        difference=np.array([0.1 * sign or 0.01]),
        p_adjusted=np.array([0.001 if sign else 0.5]),
        topics=np.array([topics]),
    )


@pytest.mark.parametrize(
    ("performance", "assessment", "case"),
    [
        (0, 0, 1),
        (0, 1, 2),
        (0, -1, 2),
        (1, 0, 3),
        (1, -1, 3),
        (-1, 0, 3),
        (-1, 1, 3),
        (1, 1, 4),
        (-1, -1, 4),
    ],
)
def test_a_pair_is_in_the_papers_case(performance: int, assessment: int, case: int) -> None:
    assert decide(claim(performance), claim(assessment)).tolist() == [case]


def test_a_difference_that_is_not_significant_has_no_side() -> None:
    leaning = replace(claim(0), difference=np.array([-0.01]))
    assert decide(claim(1), leaning).tolist() == [3]
    assert decide(leaning, claim(1)).tolist() == [2]


def test_adjusted_p_of_exactly_alpha_is_significant() -> None:
    edge = replace(claim(1), p_adjusted=np.array([0.05]))
    assert decide(edge, edge).tolist() == [4]


def test_a_pair_without_two_common_topics_has_no_case() -> None:
    assert decide(claim(1, topics=1), claim(0)).tolist() == [0]
    assert decide(claim(1), claim(0, topics=1)).tolist() == [0]
    assert strength(0) is None


def test_cases_1_and_3_are_strong_2_and_4_weak() -> None:
    assert [strength(case) for case in (1, 2, 3, 4)] == ["strong", "weak", "strong", "weak"]


def test_untested_pairs_are_not_counted() -> None:
    cases = np.array([[1, 1, 4, 0], [2, 3, 3, 3]], np.int8)
    assert count_cases(cases).tolist() == [[2, 0, 0, 1], [0, 1, 3, 0]]


# -- assessment ------------------------------------------------------------------------------------

QRELS = {"1": {"a": 1, "b": 0}, "2": {"a": 1}}
SHORT = {"1": {"a": 2.0, "b": 1.0}, "2": {"x": 2.0, "a": 1.0}}
LONG = {"1": {f"x{n}": 9.0 - n for n in range(5)} | {"a": 0.5}, "2": {"a": 1.0}}


def test_assessment_is_taken_at_the_measures_own_depth() -> None:
    scores = evaluate(QRELS, [SHORT, LONG], with_assessment(["P@2", "AP@4"]))
    assert assessment_values(scores, parse("P@2"))[0] == 2
    k, values = assessment_values(scores, parse("AP@4"))
    assert (k, values.tolist()) == (4, [[0.5, 0.25], [0.0, 0.25]])


def test_without_a_cut_off_assessment_is_taken_at_the_deepest_rank_of_any_run() -> None:
    scores = evaluate(QRELS, [SHORT, LONG], with_assessment(["AP"]))
    k, values = assessment_values(scores, parse("AP"))
    assert k == 6
    expected = evaluate(QRELS, [SHORT, LONG], ["A_p@6"]).values[:, 0]
    np.testing.assert_allclose(values, expected, rtol=1e-15)


def test_measures_whose_weight_fades_are_assessed_where_nearly_all_of_it_lies() -> None:
    long = {"1": {f"d{rank:03}": -float(rank) for rank in range(120)}}
    measures = ["RBP(p=0.8)", "RBP(p=0.5)@40", "ERR", "RBP(p=0.99)"]
    scores = evaluate({"1": {"d001": 1}}, [long], with_assessment(measures))
    depths = [assessment_values(scores, parse(measure))[0] for measure in measures]
    assert depths == [21, 40, 99, 120]  # .99 ** 459 is the first below .01, and no list is that long
    for measure, k in zip(measures, depths, strict=True):
        assert assessment_values(scores, parse(measure))[1].tolist() == [[pytest.approx(1 / k)]]


def test_with_assessment_adds_a_p_at_the_depths_and_at_shallower_ones() -> None:
    measures = with_assessment(["P@30", "nDCG@5"])
    assert measures[:2] == (parse("P@30"), parse("nDCG@5"))
    assert set(measures[2:]) == {
        *map(parse, ("A_p@5", "A_p@10", "A_p@20", "A_p@30")), RETRIEVED, JUDGED, FIRST_UNJUDGED,
    }  # fmt: skip
    assert parse("A_p@500") in with_assessment(["AP"])


def test_what_stands_beside_is_not_compared() -> None:
    scores = scores_of({"AP": around(0.1, 0.2), "A_p@10": around(0.5, 0.6)}, first_unjudged=11)
    assert compared_measures(scores) == (parse("AP"),)
    assert assessed_depths(scores) == [10]


def test_scores_without_assessment_are_refused_with_what_to_do() -> None:
    scores = scores_of({"P@10": around(0.1, 0.2)})
    with pytest.raises(DataError, match=r"lack A_p@10.*with_assessment"):
        values_of(scores, parse("A_p@10"))


@pytest.mark.parametrize("measure", ["INSQ", "INST", "INSQ(T=3)"])
def test_measures_of_patient_readers_are_assessed_where_99_percent_of_their_weight_lies(measure: str) -> None:
    wanted = parse(measure).get("T")
    weights = [(2 * wanted / (rank + 2 * wanted - 1)) ** 2 for rank in range(1, 1001)]
    depth = assessment_depth(parse(measure))
    assert depth is not None
    assert sum(weights[: depth - 1]) < 0.99 * sum(weights) <= sum(weights[:depth])
    assert assessment_depth(parse(f"{measure}@20")) == 20


def test_a_patient_reader_of_short_lists_is_assessed_to_their_end() -> None:
    assessed = np.full((2, 30), 40.0)
    scores = scores_of(
        {"INSQ": around(0.2, 0.4), "A_p@133": around(0.2, 0.2), "NumJudgedRet": assessed}, lengths=[50, 50]
    )
    k, shares = assessment_values(scores, parse("INSQ"))
    assert (k, shares.max()) == (50, 0.8)
