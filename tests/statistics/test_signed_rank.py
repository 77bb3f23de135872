"""Wilcoxon's signed-rank test and its interval against SciPy."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sounding.statistics import paired_tests as signed_rank
from sounding.statistics.pairwise import PairTests, pairwise_tests

ZERO_RULES = {"wilcoxon": "wilcox", "wilcoxon-pratt": "pratt"}


def result_of(gaps: NDArray[np.float64], test: str, alpha: float = 0.05) -> PairTests:
    values = np.vstack([gaps, np.zeros_like(gaps)])
    return pairwise_tests(values, np.array([[0, 1]]), test=test, alpha=alpha, rng=np.random.default_rng(0))


def scipys(gaps: NDArray[np.float64], **settings: Any) -> float:
    return float(stats.wilcoxon(gaps, **settings).pvalue)


@pytest.mark.parametrize("test", ZERO_RULES)
@pytest.mark.parametrize("topics", [2, 5, 13, 30, 50])
def test_without_ties_it_is_scipys_exact_test(test: str, topics: int) -> None:
    for seed in range(5):
        gaps = np.random.default_rng(seed).normal(0.3, 1, topics)
        assert result_of(gaps, test).p[0] == pytest.approx(scipys(gaps, method="exact"), rel=1e-9)


@pytest.mark.parametrize("test", ZERO_RULES)
@pytest.mark.parametrize("topics", [51, 80, 300])
def test_beyond_50_topics_it_is_scipys_normal_approximation(test: str, topics: int) -> None:
    gaps = np.random.default_rng(topics).normal(0.2, 1, topics)
    theirs = scipys(gaps, method="asymptotic", correction=True)
    assert result_of(gaps, test).p[0] == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("test", ZERO_RULES)
@pytest.mark.parametrize("topics", [20, 50, 90])
def test_ties_and_zeros_are_corrected_for_as_scipy_does(test: str, topics: int) -> None:
    for seed in range(5):
        gaps = np.random.default_rng(seed).integers(-2, 4, topics) / 4
        theirs = scipys(gaps, zero_method=ZERO_RULES[test], method="asymptotic", correction=True)
        assert result_of(gaps, test).p[0] == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("test", ZERO_RULES)
@pytest.mark.parametrize("topics", [3, 6, 10, 13])
def test_few_topics_with_ties_are_enumerated_as_scipy_does(test: str, topics: int) -> None:
    for seed in range(4):
        gaps = np.random.default_rng(seed).integers(-1, 4, topics) / 4
        gaps[0] = gaps[1] = 0.25
        theirs = scipys(gaps, zero_method=ZERO_RULES[test], method="auto")
        assert result_of(gaps, test).p[0] == pytest.approx(theirs, rel=1e-9)


def test_the_two_zero_rules_differ() -> None:
    gaps = np.array([0, 0, 0, -1, 2, 3, 4, 5, 6], float)
    # Ranks 1 to 6 without zeros, 4 to 9 with them: the smallest negative sum but one, 4 of 64 arrangements.
    assert result_of(gaps, "wilcoxon").p[0] == pytest.approx(4 / 64)
    assert result_of(gaps, "wilcoxon-pratt").p[0] == pytest.approx(4 / 64)
    gaps = np.array([0, 0, 0, -1, -2, 3, 4, 5, 6], float)
    # Negative sum 3: {}, 1, 2, 3, 1+2 are 5 of 64; with zeros ranked, 4 + 5 = 9: {}, 4 to 9, 4+5 are 8.
    assert result_of(gaps, "wilcoxon").p[0] == pytest.approx(10 / 64)
    assert result_of(gaps, "wilcoxon-pratt").p[0] == pytest.approx(16 / 64)


def test_without_a_difference_p_is_1() -> None:
    assert result_of(np.zeros(8), "wilcoxon").p.tolist() == [1.0]
    assert result_of(np.zeros(80), "wilcoxon-pratt").p.tolist() == [1.0]


@pytest.mark.parametrize("topics", [2, 5, 6, 9, 20, 50, 60])
def test_the_interval_is_made_of_walsh_averages(topics: int) -> None:
    gaps = np.random.default_rng(topics).normal(0.3, 1, topics)
    walsh = sorted((x + y) / 2 for x, y in itertools.combinations_with_replacement(gaps.tolist(), 2))
    k = signed_rank.walsh_rank(topics, 0.05)
    result = result_of(gaps, "wilcoxon")
    limits = (walsh[k - 1], walsh[-k]) if k else (-np.inf, np.inf)
    assert (result.ci_low[0], result.ci_high[0]) == pytest.approx(limits, abs=1e-12)


@pytest.mark.parametrize("topics", [8, 15, 40])
def test_the_interval_holds_the_shifts_that_the_test_does_not_reject(topics: int) -> None:
    gaps = np.random.default_rng(topics).normal(0.3, 1, topics)
    result = result_of(gaps, "wilcoxon", alpha=0.1)
    for limit, outwards in ((result.ci_low[0], -1e-6), (result.ci_high[0], 1e-6)):
        assert scipys(gaps - (limit + outwards), method="exact") <= 0.1
        assert scipys(gaps - (limit - outwards), method="exact") > 0.1


def test_counting_finds_the_walsh_average_that_a_list_finds() -> None:
    ordered = np.sort(np.random.default_rng(5).integers(-9, 9, (4, 40)) / 4, axis=1)
    for k in (1, 7, 300, 820):
        listed = signed_rank._kth_walsh(ordered, k)
        assert signed_rank._kth_walsh_by_counting(ordered, k) == pytest.approx(listed, abs=1e-12)


def test_very_many_topics_do_not_need_a_list() -> None:
    gaps = np.random.default_rng(5).normal(0.1, 1, 1_500)
    result = result_of(gaps, "wilcoxon")
    theirs = stats.ttest_1samp(gaps, 0).confidence_interval()
    assert (result.ci_low[0], result.ci_high[0]) == pytest.approx((theirs.low, theirs.high), abs=0.02)
