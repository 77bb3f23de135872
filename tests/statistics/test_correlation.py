"""Spearman, Pearson and RMSE against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import stats
from tests.statistics.breaking_ties import tied_vectors

from sounding.statistics import rank_correlation as correlation
from sounding.statistics.rank_correlation import agreement_matrix, pearson, rmse, spearman


def test_values_worked_by_hand() -> None:
    # Places 1 2 3 against 2 1 3: rho = 1 - 6 (1 + 1 + 0) / (3 x 8) = 1/2.
    assert spearman([3, 2, 1], [2, 3, 1]) == pytest.approx(1 / 2)
    # Deviations -1 0 1 and -1 1 0: r = (1 + 0 + 0) / sqrt(2 x 2) = 1/2.
    assert pearson([1, 2, 3], [1, 3, 2]) == pytest.approx(1 / 2)
    # Differences 0 1 -1: sqrt(2 / 3).
    assert rmse([1, 2, 3], [1, 1, 4]) == pytest.approx(np.sqrt(2 / 3))


@given(vectors=tied_vectors(most=30))
def test_rho_and_r_are_those_of_scipy(vectors: tuple[list[float], list[float]]) -> None:
    first, second = vectors
    if len(set(first)) > 1 and len(set(second)) > 1:
        assert spearman(first, second) == pytest.approx(stats.spearmanr(first, second).statistic, abs=1e-12)
        assert pearson(first, second) == pytest.approx(stats.pearsonr(first, second).statistic, abs=1e-12)
    else:
        assert np.isnan(spearman(first, second))
        assert np.isnan(pearson(first, second))


def test_what_differs_by_rounding_only_is_constant() -> None:
    assert np.isnan(pearson([0.3, 0.1 + 0.2, 0.3], [1, 2, 3]))
    assert np.isnan(spearman([1, 2, 3], [0.3, 0.1 + 0.2, 0.3]))


def test_tiny_values_correlate_as_large_ones() -> None:
    values, others = np.array([3, 1, 2, 5]), [4, 1, 3, 4]
    assert pearson(values * 1e-300, others) == pytest.approx(pearson(values, others))


def test_rmse_of_equal_vectors_is_0_and_of_near_ones_is_not() -> None:
    values = np.random.default_rng(0).random(50)
    assert rmse(values, values) == 0
    assert rmse(values, values + 1e-12) == pytest.approx(1e-12, rel=1e-3)


def test_rmse_of_a_few_rows_at_a_time_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random((7, 6)), rng.random((3, 6))
    expected = [[np.sqrt(np.mean((a - b) ** 2)) for b in second] for a in first]
    np.testing.assert_allclose(agreement_matrix(first, second, "rmse"), expected)
    monkeypatch.setattr(correlation, "NUMBERS_AT_ONCE", 40)
    np.testing.assert_allclose(agreement_matrix(first, second, "rmse"), expected)
