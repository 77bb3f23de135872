"""Discrimination, median p, coverage and inversions: against plain loops with SciPy, pair by pair."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

from sounding.core.errors import DataError
from sounding.depth.ratios import (
    ALIKE,
    Separation,
    can_test,
    coverage,
    inversions,
    is_quick,
    same_everywhere,
    separate,
)
from sounding.runs.pairs import all_pairs
from sounding.statistics.pairwise import TESTS, Procedure

UNCORRECTED = Procedure(test="t", correction="none")


def hurting(depths: int, runs: int, topics: int, seed: int) -> np.ndarray:
    """(k, run, topic): near twins, equal runs, a constant shift, a run of zeros, sizes far apart."""
    rng = np.random.default_rng(seed)
    values = np.cumsum(
        rng.exponential(0.03, (depths, runs, topics)) * (rng.random((1, runs, topics)) < 0.6), 0
    )
    values[:, 1] = values[:, 0]
    values[:, 2] = values[:, 0] + 0.25
    values[:, 3] = 0.0
    values[:, 4] = values[:, 0] + 1e-6 * rng.normal(size=(depths, topics))
    values[:, 5] = values[:, 0] + 1e-4 * rng.normal(1, 1, size=(depths, topics))
    return values


def loops(
    values: np.ndarray, alpha: float
) -> tuple[list[dict[tuple[int, int], int]], list[float], list[int]]:
    """By depth: {pair: direction} of significant pairs, the median p and how many pairs can be tested.

    By scipy.stats; equal runs have a p of 1, and those that differ by a constant cannot be tested.
    """
    found, medians, tested = [], [], []
    for table in values:
        separated, every = {}, []
        for a, b in itertools.combinations(range(len(table)), 2):
            gaps = table[a] - table[b]
            if np.ptp(gaps) < 1e-12 and abs(gaps[0]) > 1e-12:
                continue
            p = 1.0 if np.ptp(gaps) < 1e-12 else float(stats.ttest_1samp(gaps, 0).pvalue)
            every.append(p)
            if p <= alpha:
                separated[a, b] = 1 if gaps.mean() > 0 else -1
        found.append(separated)
        medians.append(float(np.median(every)))
        tested.append(len(every))
    return found, medians, tested


@pytest.mark.parametrize(("runs", "topics", "seed"), [(9, 20, 1), (12, 5, 2), (8, 2, 3), (7, 50, 4)])
def test_ratios_are_those_of_plain_loops(runs: int, topics: int, seed: int) -> None:
    values = hurting(12, runs, topics, seed)
    found = separate(values, range(1, 13), all_pairs(runs), UNCORRECTED)
    separated, medians, tested = loops(values, 0.05)
    shares = [len(one) / count for one, count in zip(separated, tested, strict=True)]
    np.testing.assert_allclose(found.discrimination(), shares)
    every = runs * (runs - 1) // 2
    assert max(tested) < every  # some pairs differ by a constant
    assert found.constant.tolist() == [every - count for count in tested]
    np.testing.assert_allclose(found.median_p, medians, rtol=1e-6)
    reference = separated[7]
    covered, inverted = [], []
    for table, own in zip(values, separated, strict=True):
        same = sum(own.get(pair) == sign for pair, sign in reference.items())
        turned = 0
        for (a, b), sign in reference.items():
            gap = np.round(table[a].mean() - table[b].mean(), 12)
            turned += bool(gap * sign < 0)
        covered.append(same / len(reference))
        inverted.append(turned / len(reference))
    np.testing.assert_allclose(coverage(found, found.at(8)), covered)
    np.testing.assert_allclose(inversions(found, found.at(8)), inverted)


@pytest.mark.parametrize("correction", ["none", "bonferroni", "holm", "bh"])
@pytest.mark.parametrize("alpha", [0.2, 0.05, 0.001])
def test_many_depths_at_once_say_what_compare_says_at_each(correction: str, alpha: float) -> None:
    values = hurting(40, 15, 12, seed=6)
    pairs = all_pairs(15)
    procedure = Procedure(test="t", correction=correction, alpha=alpha)
    found = separate(values, range(1, 41), pairs, procedure)
    for place, table in enumerate(values):
        tests = procedure.apply(table, pairs)
        signs = np.sign(tests.difference)
        np.testing.assert_array_equal(found.order[place], signs)
        tested = ~same_everywhere(tests)
        np.testing.assert_array_equal(found.separated[place], signs * (tests.significant & tested))
        assert found.constant[place] == np.count_nonzero(~tested) > 0
        assert found.median_p[place] == pytest.approx(
            np.median(tests.p[tested]), rel=1e-6
        )  # twins are rounded


def test_near_twins_keep_all_digits() -> None:
    values = hurting(3, 8, 10, seed=9)
    gaps = values[:, 5] - values[:, 0]
    assert (gaps.var(axis=1) < ALIKE * values[:, 0].var(axis=1)).all()  # covariances alone would not do
    found = separate(values, range(1, 4), np.array([[5, 0]]), UNCORRECTED)
    expected = [stats.ttest_rel(table[5], table[0]).pvalue for table in values]
    np.testing.assert_allclose(found.median_p, expected, rtol=1e-7)  # differences are rounded


@pytest.mark.parametrize("test", sorted(set(TESTS) - {"t"}))
def test_every_other_test_of_compare_is_used_as_compare_uses_it(test: str) -> None:
    values = hurting(2, 7, 15, seed=3)
    pairs = all_pairs(7)
    procedure = Procedure(test=test, permutations=200, seed=1)
    assert not is_quick(procedure)
    found = separate(values, (5, 9), pairs, procedure)
    for place, table in enumerate(values):
        tests = procedure.apply(table, pairs)
        tested, signs = ~same_everywhere(tests), np.sign(tests.difference)
        np.testing.assert_array_equal(found.separated[place], signs * (tests.significant & tested))
        assert found.constant[place] == np.count_nonzero(~tested)
        assert found.median_p[place] == np.median(tests.p[tested])


def test_runs_that_lack_topics_are_compared_on_what_they_share() -> None:
    values = hurting(4, 8, 15, seed=8)
    values[:, 0, :4] = np.nan
    values[:, 6, 10:] = np.nan
    pairs = all_pairs(8)
    found = separate(values, range(1, 5), pairs, UNCORRECTED)
    for place, table in enumerate(values):
        tests = UNCORRECTED.apply(table, pairs)
        signs = np.sign(tests.difference) * ~same_everywhere(tests)
        np.testing.assert_array_equal(found.separated[place], signs * tests.significant)


def test_topics_that_all_runs_lack_change_nothing() -> None:
    values = hurting(5, 8, 12, seed=8)
    wider = np.concatenate([values, np.full((5, 8, 3), np.nan)], axis=2)
    plain, with_gaps = (separate(one, range(1, 6), all_pairs(8), UNCORRECTED) for one in (values, wider))
    np.testing.assert_array_equal(plain.separated, with_gaps.separated)
    np.testing.assert_array_equal(plain.median_p, with_gaps.median_p)


def test_nothing_is_separated_where_nothing_can_be_tested() -> None:
    one_topic = separate(np.ones((3, 4, 1)), (1, 2, 3), all_pairs(4), UNCORRECTED)
    assert not one_topic.separated.any()
    assert np.isnan(one_topic.median_p).all()
    equal = separate(np.ones((2, 4, 9)), (1, 2), all_pairs(4), UNCORRECTED)
    assert equal.discrimination().tolist() == [0, 0]
    assert equal.median_p.tolist() == [1, 1]
    assert np.isnan(coverage(equal, equal.at(2))).all()  # the reference separates no pair
    assert np.isnan(inversions(equal, equal.at(2))).all()


def test_runs_that_differ_by_a_constant_leave_nothing_to_test() -> None:
    values = np.zeros((2, 2, 30))
    values[:, 0] = 1.0
    found = separate(values, (1, 2), all_pairs(2), UNCORRECTED)
    assert found.constant.tolist() == [1, 1]
    assert np.isnan(found.median_p).all()
    assert np.isnan(found.discrimination()).all()
    some = separate(values, (1, 2), all_pairs(2), Procedure(test="randomization", correction="none"))
    assert some.constant.tolist() == [0, 0]
    assert some.discrimination().tolist() == [1, 1]


def test_the_papers_example() -> None:
    # Lu et al., section 3: 10 systems, 35 of 45 pairs separated by the reference, 28 of them by the new
    # measure as well, 6 turned round by it: .78, .80 and .17.
    reference = np.array([1] * 35 + [0] * 10, np.int8)
    new = Separation(
        ks=(5,),
        order=np.array([[1] * 29 + [-1] * 6 + [1] * 10], np.int8),
        separated=np.array([[1] * 28 + [0] * 7 + [1] * 10], np.int8),
        median_p=np.zeros(1),
        constant=np.zeros(1, np.int64),
    )
    assert np.count_nonzero(reference) / 45 == pytest.approx(0.78, abs=0.005)
    assert coverage(new, reference)[0] == pytest.approx(28 / 35)
    assert inversions(new, reference)[0] == pytest.approx(6 / 35)


def test_a_pair_separated_the_other_way_round_is_not_covered_and_inverted() -> None:
    reference = np.array([1, -1], np.int8)
    turned = Separation(
        ks=(1,), order=np.array([[-1, 1]], np.int8), separated=np.array([[-1, 1]], np.int8),
        median_p=np.zeros(1), constant=np.zeros(1, np.int64),
    )  # fmt: skip
    assert coverage(turned, reference).tolist() == [0]
    assert inversions(turned, reference).tolist() == [1]


# -- nothing to test -------------------------------------------------------------------------------


def test_what_could_not_be_tested_is_not_known_rather_than_zero() -> None:
    values = np.array([[[0.1], [0.9], [0.5]]])  # one topic
    found = separate(values, [10], all_pairs(3), Procedure(test="t", correction="none"))
    assert not found.tested.any()
    assert np.isnan(found.discrimination()).all()
    reference = np.array([1, -1, 0], np.int8)
    assert np.isnan(coverage(found, reference)).all()
    assert np.isnan(inversions(found, reference)).all()


@pytest.mark.parametrize(
    ("test", "possible"), [("t", True), ("wilcoxon", True), ("anova", False), ("tukey", False)]
)
def test_some_tests_need_two_topics_of_all_runs_and_others_of_two(test: str, possible: bool) -> None:
    table = np.array([[0.1, 0.2, 0.3], [0.2, 0.4, np.nan], [np.nan, np.nan, 0.1]])
    assert can_test(table, Procedure(test=test)) == possible
    assert not can_test(table[1:], Procedure(test=test))  # no topic in common


def test_values_that_no_test_takes_are_refused_and_not_taken_for_nothing() -> None:
    endless = np.array([[[0.1, np.inf, 0.3], [0.2, 0.4, 0.1]]])
    with pytest.raises(DataError, match="cannot be tested"):
        separate(endless, [10], all_pairs(2), Procedure(test="wilcoxon"))
