"""Analyses of variance against SciPy, statsmodels and by hand."""

from __future__ import annotations

import numpy as np
import pandas
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.conftest import require

from sounding.runs.pairs import all_pairs, baseline_pairs
from sounding.statistics import anova
from sounding.statistics.pairwise import PairTests, pairwise_tests
from sounding.statistics.testing import Omnibus


def table(runs: int, topics: int, *, apart: float = 0.1, seed: int = 2) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return rng.beta(1, 3, topics) + rng.normal(0, 0.1, (runs, topics)) + apart * rng.random((runs, 1))


def run(
    values: NDArray[np.float64], test: str, *, correction: str | None = None, alpha: float = 0.05
) -> PairTests:
    pairs = all_pairs(len(values))
    return pairwise_tests(
        values, pairs, test=test, correction=correction, alpha=alpha, rng=np.random.default_rng(1)
    )


@pytest.mark.parametrize(("runs", "topics"), [(2, 2), (3, 10), (12, 50)])
def test_the_one_way_omnibus_is_scipys(runs: int, topics: int) -> None:
    values = table(runs, topics)
    ours, theirs = run(values, "anova").omnibus, stats.f_oneway(*values)
    assert ours is not None
    assert (ours.f, ours.p) == pytest.approx((theirs.statistic, theirs.pvalue), rel=1e-9)
    assert (ours.df_runs, ours.df_error) == (runs - 1, runs * (topics - 1))


@pytest.mark.parametrize(("runs", "topics"), [(2, 5), (3, 10), (8, 20)])
def test_both_omnibus_tests_are_those_of_statsmodels(runs: int, topics: int) -> None:
    models = require("statsmodels.formula.api")
    tables = require("statsmodels.stats.anova")
    values = table(runs, topics)
    long = {
        "value": values.ravel(),
        "run": [f"r{run}" for run in range(runs) for _ in range(topics)],
        "topic": [f"t{topic}" for topic in range(topics)] * runs,
    }
    for test, formula in (("anova", "value ~ C(run)"), ("anova2", "value ~ C(run) + C(topic)")):
        theirs = tables.anova_lm(models.ols(formula, pandas.DataFrame(long)).fit())
        ours = run(values, test).omnibus
        assert ours is not None
        assert ours.f == pytest.approx(theirs.loc["C(run)", "F"], rel=1e-9)
        assert ours.p == pytest.approx(theirs.loc["C(run)", "PR(>F)"], rel=1e-7)
        assert ours.df_error == theirs.loc["Residual", "df"]


def test_one_way_pairs_by_hand() -> None:
    # Means 2, 4, 9; within runs the squares are 2 + 2 + 2 on 6 degrees: s^2 = 1, error sqrt(2/3).
    values = np.array([[1.0, 2, 3], [3, 4, 5], [8, 9, 10]])
    result = run(values, "anova")
    error = np.sqrt(2 / 3)
    alone = 2 * stats.t.sf(np.array([2, 7, 5]) / error, 6)
    assert result.omnibus == Omnibus(f=39.0, df_runs=2, df_error=6, p=result.omnibus.p)  # type: ignore[union-attr]
    assert result.p == pytest.approx(alone)
    assert result.p_adjusted == pytest.approx(np.minimum(1, 3 * alone))
    reach = stats.t.ppf(1 - 0.05 / 6, 6) * error
    assert result.ci_low == pytest.approx(np.array([-2, -7, -5]) - reach)
    assert result.ci_high == pytest.approx(np.array([-2, -7, -5]) + reach)


def test_two_way_pairs_use_what_is_left_without_topics() -> None:
    values = np.array([[1.0, 2, 4], [3, 4, 5], [8, 9, 10]])
    # Means 7/3, 4, 9; topics 4, 5, 19/3; residuals squared sum to 4/9 on 4 degrees.
    error = np.sqrt(2 * (4 / 9 / 4) / 3)
    alone = 2 * stats.t.sf(np.array([5 / 3, 20 / 3, 5]) / error, 4)
    assert run(values, "anova2").p == pytest.approx(alone)


def test_two_runs_in_two_ways_are_a_paired_t_test() -> None:
    values = table(2, 30)
    ours = run(values, "anova2")
    assert ours.omnibus is not None
    assert ours.p[0] == pytest.approx(stats.ttest_rel(*values).pvalue)
    assert ours.omnibus.p == pytest.approx(ours.p[0])


@pytest.mark.parametrize("test", ["anova", "anova2"])
def test_without_an_omnibus_rejection_no_pair_is_significant(test: str) -> None:
    values = np.random.default_rng(11).normal(size=(8, 30))
    values -= values.mean(axis=1, keepdims=True)
    values[0] += 0.55
    result = run(values, test, correction="none")
    assert result.omnibus is not None
    assert result.omnibus.p > 0.05
    assert result.p.min() < 0.05  # the pair that would be claimed
    assert set(result.p_adjusted.tolist()) == {1.0}
    assert result.reasons[0].startswith("the omnibus F test does not reject (F = ")
    assert result.reasons[0].endswith("pairs are not tested")


def test_only_the_pairs_asked_for_are_corrected_for_and_all_runs_pooled() -> None:
    values = table(6, 20, apart=0.5)
    whole = run(values, "anova")
    some = pairwise_tests(values, baseline_pairs(6, [0]), test="anova", rng=np.random.default_rng(0))
    assert some.omnibus == whole.omnibus
    assert some.p == pytest.approx(whole.p[:5])
    assert some.p_adjusted == pytest.approx(np.minimum(1, 5 * some.p))


def test_another_correction_can_be_asked_for() -> None:
    values = table(6, 20, apart=0.3)
    bonferroni, holm = run(values, "anova2"), run(values, "anova2", correction="holm")
    assert (bonferroni.correction, holm.correction) == ("bonferroni", "holm")
    assert np.all(holm.p_adjusted <= bonferroni.p_adjusted)
    assert np.any(holm.p_adjusted < bonferroni.p_adjusted)


@pytest.mark.parametrize("blocks", [False, True])
def test_runs_with_disjoint_comparison_intervals_differ_significantly(blocks: bool) -> None:
    values = table(15, 25, apart=0.4)
    result = run(values, "anova2" if blocks else "anova")
    half = anova.comparison_half_width(values, alpha=0.05, pairs=len(result.pairs), topics_as_blocks=blocks)
    means = values.mean(axis=1)
    disjoint = np.abs(means[result.pairs[:, 0]] - means[result.pairs[:, 1]]) > 2 * half
    assert 0 < disjoint.sum() < len(disjoint)
    assert np.array_equal(disjoint, result.significant)


def test_topics_that_a_run_lacks_are_left_out_for_all() -> None:
    values = table(4, 12)
    values[1, 3] = values[2, [3, 7]] = np.nan
    result = run(values, "anova")
    clean = run(np.delete(values, [3, 7], axis=1), "anova")
    assert set(result.topics.tolist()) == {10}
    assert np.array_equal(result.p, clean.p)
    assert "2 topics left out where not all runs have values" in result.method


@pytest.mark.parametrize("test", ["anova", "anova2"])
def test_constant_runs_leave_no_error_and_are_tested_by_sign_flips(test: str) -> None:
    values = np.repeat([[0.1], [0.2], [0.2]], 5, axis=1)
    result = run(values, test)
    assert result.p.tolist() == [2 / 2**5, 2 / 2**5, 1]
    assert result.p_adjusted.tolist() == [6 / 2**5, 6 / 2**5, 1]
    assert result.omnibus is not None
    assert (result.omnibus.f, result.omnibus.p < 1e-300) == (np.inf, True)
    assert "too few to test it" in result.reasons[0]
    assert run(np.tile(values, 2), test).reasons[:2] == ("", "")
    assert result.reasons[2] == "the runs are equal on all 5 topics"
    assert not np.isnan([result.p, result.ci_low, result.ci_high]).any()


@pytest.mark.parametrize("test", ["anova", "anova2", "tukey"])
def test_values_that_are_all_the_same_show_no_difference(test: str) -> None:
    result = run(np.full((3, 6), 0.1 + 0.2), test)
    assert set(result.p_adjusted.tolist()) == {1.0}
    assert set(result.reasons) == {"the runs are equal on all 6 topics"}
    if result.omnibus is not None:
        assert (result.omnibus.f, result.omnibus.p) == (0.0, 1.0)


def test_an_interval_of_one_pair_is_not_said_to_be_of_all() -> None:
    values = np.random.default_rng(2).random((3, 20))
    for pairs, said in ((all_pairs(3), ", for all 3 pairs at once"), (np.array([[0, 1]]), "")):
        found = pairwise_tests(values, pairs, test="anova", rng=np.random.default_rng(0))
        assert found.interval == f"of the mean, by t with the pooled error{said}"
