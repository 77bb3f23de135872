"""What a comparison says where its test can, or cannot, find anything: many runs, few topics, constants."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.compare.tables import around, scores_of

from sounding.compare.comparison import compare_scores
from sounding.compare.gate import gate_comparison
from sounding.compare.headlines import pair_headline, pairs_headline
from sounding.compare.pair_account import explain
from sounding.compare.result import Comparison
from sounding.compare.tables import facts
from sounding.core.errors import DataError
from sounding.runs.pairs import all_pairs
from sounding.statistics.cases import decide
from sounding.statistics.pairwise import TESTS as REGISTERED
from sounding.statistics.pairwise import Procedure, fewest_topics

TESTS = [*REGISTERED]


def campaign(runs: int = 150, topics: int = 30) -> NDArray[np.float64]:
    """(run, topic): many runs, one of which finds nothing."""
    values = np.clip(around(*np.linspace(0.2, 0.4, runs), topics=topics, spread=0.1, seed=5), 0, 1)
    values[0] = 0
    return values


def compared(values: NDArray[np.float64], judged: NDArray[np.float64], **how: object) -> Comparison:
    scores = scores_of({"P@10": values, "A_p@10": judged, "A_p@5": judged})
    return compare_scores(scores, procedure=Procedure(**how))  # type: ignore[arg-type]


def test_among_150_runs_the_one_that_finds_nothing_is_significantly_worse_by_default() -> None:
    values = campaign()
    found = Procedure().apply(values, all_pairs(len(values)))
    assert found.correction == "max-t"
    assert not found.limit
    with_the_worst = (found.pairs == 0).any(axis=1)
    assert found.significant[with_the_worst].all()
    assert found.notes == ()


def test_holm_with_too_few_draws_says_first_that_it_cannot_tell_and_gives_no_case() -> None:
    values = campaign(40)
    # 780 pairs times 1 / 10,000 is more than .05.
    found = compared(values, np.ones_like(values), correction="holm", permutations=9_999)
    assert found.performance_tests[0].limit
    assert set(found.cases.ravel().tolist()) == {0}
    headline = pairs_headline(found)
    assert headline.startswith("No pair can be significant")
    assert "15,599 permutations" in headline
    assert "max-t" in headline
    assert "differ" not in headline
    assert list(facts(found)["inconclusive"]) == ["P@10"]
    # Each pair by itself is another matter: advice goes by that.
    assert set(found.own_cases.ravel().tolist()) == {1, 3}
    assert compared(values, np.ones_like(values)).limits == ()


@pytest.mark.parametrize(("test", "topics"), [("randomization", 5), ("sign", 5), ("wilcoxon", 5)])
def test_five_topics_are_too_few_for_a_conclusion_and_six_are_not(test: str, topics: int) -> None:
    values = around(0.1, 0.9, topics=topics + 1)
    few = compared(values[:, :topics], np.ones((2, topics)), test=test)
    assert (few.cases.tolist(), few.own_cases.tolist()) == ([[0]], [[0]])
    assert few.strength(0, 0) is None
    assert "at least 6" in few.limits[0]
    assert few.situations([(0, 0)])[0].fewest_topics == 6
    assert few.advice(0, 0).startswith("Add topics")
    assert "no significant difference" not in explain(few)
    headline = pair_headline(few)
    assert "do not differ" not in headline
    assert "at least 6 topics" in headline
    assert compared(values, np.ones((2, topics + 1)), test=test).cases.tolist() == [[3]]


def test_how_many_topics_a_test_by_signs_needs() -> None:
    assert [fewest_topics(alpha) for alpha in (0.5, 0.25, 0.05, 0.01, 0.001)] == [2, 3, 6, 8, 11]


def test_a_pair_with_few_common_topics_has_no_case_beside_others_that_have_one() -> None:
    values = around(0.1, 0.9, 0.5)
    values[0, 4:] = np.nan
    found = compared(values, np.ones_like(values))
    short = (found.pairs == 0).any(axis=1)
    assert found.limits == ()
    assert (found.cases[0] == 0).tolist() == short.tolist()


def test_too_few_draws_for_one_pair_ask_for_more_of_them() -> None:
    found = compared(around(0.1, 0.9), np.ones((2, 30)), permutations=9)
    assert found.cases.tolist() == found.own_cases.tolist() == [[0]]
    assert found.advice(0, 0).startswith("Draw more permutations")
    assert "19 permutations" in found.limits[0]


@pytest.mark.parametrize("test", TESTS)
def test_a_difference_that_is_the_same_on_every_topic_is_one(test: str) -> None:
    """One run is judged wholly, the other not at all, on every topic."""
    values = np.repeat([[1.0], [0.0]], 30, axis=1)
    found = Procedure(test=test).apply(values, all_pairs(2))
    assert found.significant.all()
    assert found.significant_alone.all()
    assert found.reasons == ("",)
    seen = compared(around(0.2, 0.2), values, test=test)
    assert seen.cases[0, 0] in (2, 4)
    assert not any(one.even.any() for one in seen.evenness)


@pytest.mark.parametrize("topics", [2, 3, 5, 8])
def test_constant_assessment_is_never_even_however_few_topics_there_are(topics: int) -> None:
    judged = np.repeat([[1.0], [0.0]], topics, axis=1)
    seen = compared(around(0.2, 0.2, topics=topics), judged, test="t")
    assert not any(one.even.any() for one in seen.evenness)
    assert seen.situations([(0, 0)])[0].even_depth is None
    assert seen.cases[0, 0] in (2, 4)


def test_constant_differences_have_the_p_of_all_sign_flips() -> None:
    values = np.vstack([np.linspace(0, 0.5, 8) + 0.25, np.linspace(0, 0.5, 8)])
    flipped = Procedure().apply(values, all_pairs(2))
    by_t = Procedure(test="t").apply(values, all_pairs(2))
    assert by_t.p.tolist() == flipped.p.tolist() == [2 / 2**8]
    assert (by_t.ci_low[0], by_t.ci_high[0]) == (0.25, 0.25)
    few = Procedure(test="t").apply(values[:, :5], all_pairs(2))
    assert few.p.tolist() == [2 / 2**5]
    assert (few.ci_low[0], few.ci_high[0]) == (-np.inf, np.inf)


def test_uneven_assessment_that_no_correction_lets_through_still_makes_a_case_weak() -> None:
    values, judged = around(*[0.2] * 12, topics=6), np.ones((12, 6))
    judged[0] = 0
    tests = [Procedure(test="t").apply(table, all_pairs(12)) for table in (values, judged)]
    assert not tests[1].significant.any()  # 2 / 64 times 66 pairs
    assert set(decide(*tests)[(tests[1].pairs == 0).any(axis=1)].tolist()) <= {2, 3, 4}
    assert 1 not in decide(*tests)[:11]


def test_equal_runs_are_a_result_and_pass_every_gate() -> None:
    values = around(0.2, topics=3).repeat(2, axis=0)
    found = compared(values, np.ones_like(values))
    assert found.left_out == ()
    assert found.cases.tolist() == [[1]]
    assert found.columns([(0, 0)])["strength"] == ["strong"]
    verdict = gate_comparison(found, ["worse", "weak"])
    assert verdict.passed


def test_a_worse_run_does_not_pass_where_no_test_could_tell() -> None:
    scores = scores_of({"P@10": around(0.1, 0.9, topics=3), "A_p@10": np.ones((2, 3))})
    against = compare_scores(scores, baselines=["r2"])
    assert gate_comparison(against, ["worse"]).exit_code == 3
    assert gate_comparison(compare_scores(scores, baselines=["r1"]), ["worse"]).passed


def test_baselines_are_not_tested_against_each_other() -> None:
    values = around(0.2, 0.3, 0.4, 0.5)
    scores = scores_of({"P@10": values, "A_p@10": np.ones_like(values)})
    found = compare_scores(scores, baselines=["r1", "r2"])
    assert {found.names(pair) for pair in range(len(found.pairs))} == {
        (run, baseline) for run in ("r3", "r4") for baseline in ("r1", "r2")
    }
    with pytest.raises(DataError, match="every run is a baseline"):
        compare_scores(scores, baselines=["r1", "r2", "r3", "r4"])
    assert compare_scores(scores, pair=("r1", "r2")).pairs.tolist() == [[0, 1]]


def test_a_second_baseline_costs_only_the_pairs_it_adds() -> None:
    """By Bonferroni p of 4 pairs is multiplied by 4, not by 5."""
    values = around(0.2, 0.22, 0.23, 0.24, spread=0.1)
    scores = scores_of({"P@10": values, "A_p@10": np.ones_like(values)})
    found = compare_scores(
        scores, baselines=["r1", "r2"], procedure=Procedure(test="t", correction="bonferroni")
    )
    (tests,) = found.performance_tests
    assert tests.p_adjusted == pytest.approx(np.minimum(1, 4 * tests.p))
