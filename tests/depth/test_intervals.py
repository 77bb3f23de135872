"""Comparison intervals: disjoint where the test finds a difference; two runs over depth with their case."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from sounding.depth.intervals import comparison_intervals, pair_over_depth
from sounding.runs.pairs import all_pairs
from sounding.statistics.pairwise import Procedure


def values(depths: int, runs: int, topics: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    quality = rng.uniform(0.1, 0.6, (1, runs, 1))
    return quality * (0.5 + 0.5 * rng.random((depths, 1, topics))) + rng.normal(
        0, 0.05, (depths, runs, topics)
    )


def test_the_half_width_is_the_formula_worked_by_hand() -> None:
    # Two runs on three topics: .1 .2 .3 and .4 .6 .8. Within runs: .02 + .08 = .10 on 4 degrees, s^2 = .025.
    # One pair at .05: t(.975, 4) = 2.7764; half-width 2.7764 * sqrt(.025) / sqrt(2 * 3) = .17922.
    table = np.array([[[0.1, 0.2, 0.3], [0.4, 0.6, 0.8]]])
    found = comparison_intervals(table, [10])
    assert found.means.tolist() == [[pytest.approx(0.2), pytest.approx(0.6)]]
    assert found.half_width[0] == pytest.approx(2.776445 * np.sqrt(0.025) / np.sqrt(6), rel=1e-6)
    assert found.half_width[0] == pytest.approx(0.17922, abs=1e-5)
    np.testing.assert_allclose(found.upper - found.means, [[0.17922, 0.17922]], atol=1e-5)
    np.testing.assert_allclose(found.means - found.lower, [[0.17922, 0.17922]], atol=1e-5)


@pytest.mark.parametrize(("blocks", "test"), [(False, "anova"), (True, "anova2")])
def test_intervals_are_disjoint_where_the_analysis_of_variance_separates(blocks: bool, test: str) -> None:
    tables = values(4, 9, 20, seed=2)
    found = comparison_intervals(tables, [1, 2, 3, 4], topics_as_blocks=blocks)
    for place, table in enumerate(tables):
        tests = Procedure(test=test, correction="bonferroni").apply(table, all_pairs(9))
        for pair, (a, b) in enumerate(itertools.combinations(range(9), 2)):
            low, high = found.lower[place], found.upper[place]
            disjoint = low[a] > high[b] or low[b] > high[a]
            assert disjoint == tests.significant[pair]
    assert (found.half_width > 0).all()  # and none is NaN: the F test rejects at every depth
    assert (found.f_p < 0.05).all()


def test_there_is_no_interval_where_the_f_test_over_all_runs_does_not_reject() -> None:
    # Twelve runs of one quality: some pair would stand apart by t with the pooled error and no F test first.
    rng = np.random.default_rng(3)
    alike = rng.normal(0.5, 0.05, (1, 12, 20))
    found = comparison_intervals(alike, [10], alpha=0.3)
    assert found.f_p[0] == pytest.approx(stats.f_oneway(*alike[0]).pvalue)
    assert found.f_p[0] > 0.3
    assert np.isnan(found.half_width[0])
    apart = comparison_intervals(alike + np.linspace(0, 1, 12)[:, np.newaxis], [10], alpha=0.3)
    assert apart.half_width[0] > 0


def test_two_runs_keep_their_error_bars_whatever_the_f_test_says() -> None:
    found = comparison_intervals(values(1, 2, 12)[:, :1].repeat(2, axis=1) + rounding(), [10])
    assert found.f_p[0] > 0.05
    assert found.half_width[0] > 0


def rounding() -> np.ndarray:
    """Noise by topic that has the same mean for both runs."""
    noise = np.random.default_rng(0).normal(0, 0.1, (1, 2, 12))
    return noise - noise.mean(axis=2, keepdims=True)


def test_topics_that_a_run_lacks_leave_the_error_and_not_the_other_means() -> None:
    table = values(1, 3, 12)
    gap = table.copy()
    gap[0, 1, :5] = np.nan
    found = comparison_intervals(gap, [10])
    assert found.means[0, 0] == pytest.approx(table[0, 0].mean())
    assert found.half_width[0] == pytest.approx(comparison_intervals(table[:, :, 5:], [10]).half_width[0])


def test_there_is_no_interval_without_an_error() -> None:
    for table in (np.ones((1, 3, 5)), values(1, 3, 1), values(1, 1, 9)):
        found = comparison_intervals(table, [10])
        assert np.isnan(found.half_width).all()
        assert np.isnan(found.lower).all()
        assert not np.isnan(found.means).any()


def test_a_pair_over_depth_has_paired_t_tests_and_the_case_at_each_depth() -> None:
    performance = np.array([
        [[0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.4]],  # alike
        [[0.1, 0.2, 0.3, 0.4], [0.3, 0.45, 0.5, 0.6]],  # the second is better
        [[0.1, 0.2, 0.3, 0.4], [0.1, 0.3, 0.2, 0.4]],
        [[0.1, 0.2, 0.3, 0.4], [0.3, 0.45, 0.5, 0.6]],
        [[0.1, 0.2, 0.3, 0.4], [0.3, 0.45, 0.5, 0.6]],
    ])  # fmt: skip
    even = [[1.0, 0.9, 1.0, 0.8], [0.9, 1.0, 1.0, 0.8]]
    second_more = [[0.1, 0.2, 0.1, 0.2], [0.9, 0.8, 1.0, 0.9]]
    assessment = np.array([even, even, second_more, second_more, second_more[::-1]])
    few = pair_over_depth(
        ("a", "b"), "AP", performance, assessment, (1, 2, 3, 4, 5), Procedure(test="t", correction="none")
    )
    assert few.cases.tolist() == [0] * 5  # four topics are too few for a case
    performance, assessment = (np.tile(table, 2) for table in (performance, assessment))
    found = pair_over_depth(
        ("a", "b"), "AP", performance, assessment, (1, 2, 3, 4, 5), Procedure(test="t", correction="none")
    )
    assert found.cases.tolist() == [1, 3, 2, 4, 3]  # better and less assessed: case 3
    for place, table in enumerate(performance):
        assert found.p[place] == pytest.approx(stats.ttest_rel(*table).pvalue)
        apart = bool(found.performance.upper[place].min() < found.performance.lower[place].max())
        assert apart == (found.p[place] <= 0.05)


def test_a_pair_that_differs_by_a_constant_has_no_p_and_no_case() -> None:
    constant = np.array([[[1.0] * 9, [0.25] * 9]])
    even = values(1, 2, 9)
    alone = Procedure(test="t", correction="none")
    by_performance = pair_over_depth(("a", "b"), "AP", constant, even, (1,), alone)
    assert (by_performance.cases.tolist(), np.isnan(by_performance.p).tolist()) == ([0], [True])
    by_assessment = pair_over_depth(("a", "b"), "AP", even, constant, (1,), alone)
    assert (by_assessment.cases.tolist(), np.isnan(by_assessment.p).tolist()) == ([0], [False])
    equal = pair_over_depth(("a", "b"), "AP", even, np.ones((1, 2, 9)), (1,), alone)
    assert equal.cases.all()  # equally assessed on every topic: nothing to tell apart


def test_a_pair_without_topics_is_not_tested() -> None:
    found = pair_over_depth(
        ("a", "b"), "AP", np.ones((1, 2, 1)), np.ones((1, 2, 1)), (1,), Procedure(test="t", correction="none")
    )
    assert found.cases.tolist() == [0]
    assert np.isnan(found.p).all()
