"""Tukey's HSD against SciPy's studentised range, and its randomized form against enumeration."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sounding.runs import pairs
from sounding.runs.pairs import all_pairs
from sounding.statistics import anova
from sounding.statistics import anova as tukey
from sounding.statistics import testing as student
from sounding.statistics.pairwise import PairTests, pairwise_tests


def table(runs: int, topics: int, *, apart: float = 0.1, seed: int = 4) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    return rng.beta(1, 3, topics) + rng.normal(0, 0.1, (runs, topics)) + apart * rng.random((runs, 1))


def run(values: NDArray[np.float64], test: str, permutations: int = 999) -> PairTests:
    chosen = all_pairs(len(values))
    return pairwise_tests(values, chosen, test=test, permutations=permutations, rng=np.random.default_rng(1))


def test_p_is_that_of_the_studentised_range_with_the_two_way_error() -> None:
    values = table(5, 20)
    result = run(values, "tukey")
    variance = anova.two_way(values)
    means = values.mean(axis=1)
    for number, (a, b) in enumerate(result.pairs.tolist()):
        q = abs(means[a] - means[b]) / np.sqrt(variance.mean_square / 20)
        assert result.p_adjusted[number] == pytest.approx(stats.studentized_range.sf(q, 5, 76), rel=1e-6)


def test_two_runs_are_a_paired_t_test_with_its_interval() -> None:
    values = table(2, 15)
    result, theirs = run(values, "tukey"), stats.ttest_rel(*values)
    limits = theirs.confidence_interval()
    assert result.p_adjusted[0] == pytest.approx(theirs.pvalue, rel=1e-6)
    assert (result.ci_low[0], result.ci_high[0]) == pytest.approx((limits.low, limits.high), rel=1e-6)


def test_a_pair_is_significant_when_its_interval_excludes_0() -> None:
    result = run(table(10, 20, apart=0.3), "tukey")
    apart = (result.ci_low > 0) | (result.ci_high < 0)
    assert 0 < apart.sum() < len(apart)
    assert np.array_equal(apart, result.significant)


@pytest.mark.parametrize(("runs", "df"), [(3, 4), (5, 36), (129, 6272)])
def test_many_pairs_are_interpolated_closely_and_in_order(runs: int, df: int) -> None:
    q = np.sort(np.random.default_rng(0).uniform(0, 16, 400))
    alone = student.two_sided(q / np.sqrt(2), df)
    ours = tukey.range_p(q, alone, runs, df)
    some = slice(None, None, 25)
    theirs = stats.studentized_range.sf(q[some], runs, df)
    seen = theirs > 1e-7
    assert ours[some][seen] == pytest.approx(theirs[seen], rel=1e-4)
    assert np.all(np.diff(ours) <= 0)
    assert np.all(ours > 0)
    assert np.all(ours >= alone * (1 - 1e-6))
    assert np.all(ours <= np.minimum(1, alone * runs * (runs - 1) / 2) * (1 + 1e-4))


def test_shuffling_leaves_every_topics_values_together() -> None:
    values = np.random.default_rng(1).random((3, 4))
    means = tukey.shuffled_means(values, 50, np.random.default_rng(0))
    assert means.shape == (50, 3)
    assert means.sum(axis=1) == pytest.approx(np.full(50, values.mean(axis=1).sum()))
    assert len({tuple(row) for row in means.tolist()}) > 40


def test_randomized_p_comes_near_to_all_shuffles() -> None:
    values = table(3, 4, apart=0.5)
    result = run(values, "randomized-tukey", permutations=20_000)
    orders = list(itertools.permutations(range(3)))
    means = np.array(
        [
            np.mean([values[list(order), topic] for topic, order in enumerate(chosen)], axis=0)
            for chosen in itertools.product(orders, repeat=4)
        ]
    )
    gaps = np.abs(result.difference)
    joint = np.mean(np.ptp(means, axis=1)[:, np.newaxis] >= gaps - 1e-9, axis=0)
    a, b = result.pairs.T
    alone = np.mean(np.abs(means[:, a] - means[:, b]) >= gaps - 1e-9, axis=0)
    for ours, exact in ((result.p_adjusted, joint), (result.p, alone)):
        assert np.all(np.abs(ours - exact) <= 4 * np.sqrt(exact * (1 - exact) / 20_000) + 1e-4)


def test_the_randomized_interval_excludes_0_exactly_when_the_pair_is_significant() -> None:
    result = run(table(10, 20, apart=0.3), "randomized-tukey")
    apart = (result.ci_low > 0) | (result.ci_high < 0)
    assert 0 < apart.sum() < len(apart)
    assert np.array_equal(apart, result.significant)


def test_randomized_p_counts_shuffles_and_the_observed_arrangement_rounded_ties_too() -> None:
    values = np.round(table(4, 6), 1)
    result = run(values, "randomized-tukey")
    means = tukey.shuffled_means(values, 999, np.random.default_rng(1))
    a, b = result.pairs.T
    gaps = np.abs(result.difference) - 1e-9
    further = np.sum(np.ptp(means, axis=1)[:, np.newaxis] >= gaps, axis=0)
    assert result.p_adjusted == pytest.approx((1 + further) / 1000)
    assert result.p == pytest.approx((1 + np.sum(np.abs(means[:, a] - means[:, b]) >= gaps, axis=0)) / 1000)


def test_the_observed_arrangement_counts() -> None:
    values = np.random.default_rng(0).random((3, 30)) + np.array([[0], [20], [40]])
    assert run(values, "randomized-tukey").p_adjusted[1] == 1 / 1000


def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.round(table(7, 12), 1)
    whole = run(values, "randomized-tukey")
    monkeypatch.setattr(pairs, "BLOCK", 700)
    again = run(values, "randomized-tukey")
    for name in ("p", "p_adjusted", "ci_low", "ci_high"):
        assert np.array_equal(getattr(whole, name), getattr(again, name)), name
