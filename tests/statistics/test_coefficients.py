"""Asking for a coefficient by name: matrices, reasons, refusals."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sounding.core.errors import DataError, UnknownNameError
from sounding.statistics.rank_correlation import (
    Floats,
    agreement_matrix,
    coefficients,
    find_coefficient,
    kendall_tau,
    pearson,
    rank_agreement,
    rmse,
    spearman,
    tau_ap,
)
from sounding.statistics.rank_overlap import rbo_of_values

NAMES = [coefficient.name for coefficient in coefficients()]
RNG = np.random.default_rng(7)
FIRST, SECOND = RNG.random((4, 11)).round(1), RNG.random((6, 11)).round(1)


def test_these_coefficients_are_known() -> None:
    assert set(NAMES) == {
        "tau_a", "tau_b", "tau_ap", "tau_ap_symmetric", "tau_ap_b", "spearman", "pearson", "rmse",
        "rbo", "rbo_b", "rbo_w",
    }  # fmt: skip
    assert all(coefficient.title for coefficient in coefficients())


@pytest.mark.parametrize("name", NAMES)
def test_a_cell_of_the_matrix_is_the_value_of_the_two_rows(name: str) -> None:
    matrix = agreement_matrix(FIRST, SECOND, name)
    assert matrix.shape == (4, 6)
    singles: dict[str, Callable[[Floats, Floats], float]] = {
        "tau_a": lambda a, b: kendall_tau(a, b, variant="a"),
        "tau_b": kendall_tau,
        "tau_ap": tau_ap,
        "tau_ap_symmetric": lambda a, b: tau_ap(a, b, variant="symmetric"),
        "tau_ap_b": lambda a, b: tau_ap(a, b, variant="b"),
        "spearman": spearman,
        "pearson": pearson,
        "rmse": rmse,
        "rbo": lambda a, b: rbo_of_values(a, b).extrapolated,
        "rbo_b": lambda a, b: rbo_of_values(a, b, ties="b").extrapolated,
        "rbo_w": lambda a, b: rbo_of_values(a, b, ties="w").extrapolated,
    }
    single = singles[name]
    expected = [[single(row, column) for column in SECOND] for row in FIRST]
    np.testing.assert_allclose(matrix, expected, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_only_symmetric_coefficients_let_the_orderings_change_places(name: str) -> None:
    same = np.allclose(agreement_matrix(FIRST, SECOND, name), agreement_matrix(SECOND, FIRST, name).T)
    assert same == find_coefficient(name).symmetric


@pytest.mark.parametrize("name", NAMES)
def test_identical_orderings_without_ties_give_the_best_value(name: str) -> None:
    values = RNG.permutation(20)
    assert rank_agreement(values, values, name).value == pytest.approx(find_coefficient(name).identical)


@pytest.mark.parametrize("name", NAMES)
def test_only_values_or_only_their_order_counts(name: str) -> None:
    first, second = RNG.random(9), RNG.random(9)
    same = rank_agreement(first, second, name).value == pytest.approx(
        rank_agreement(np.exp(5 * first), second, name).value
    )
    assert same == find_coefficient(name).of_order


@pytest.mark.parametrize("name", NAMES)
def test_what_is_not_defined_is_nan_with_its_reason(name: str) -> None:
    constant = rank_agreement([1, 2, 3], [0.3, 0.1 + 0.2, 0.3], name)
    needs_spread = name in ("tau_b", "tau_ap_b", "spearman", "pearson")
    assert np.isnan(constant.value) == needs_spread == bool(constant.reason)
    if needs_spread:
        assert constant.reason == "the second ordering has all systems tied"
    lacking = rank_agreement([1, np.nan, np.inf], [1, 2, 3], name)
    assert np.isnan(lacking.value)
    assert lacking.reason == "the first ordering has no value for 2 of 3 systems"
    alone = rank_agreement([1], [1], name)
    assert np.isnan(alone.value)
    assert alone.reason == "systems: 1; expected at least 2"


def test_undefined_rows_and_columns_leave_the_others_as_they_are() -> None:
    first = np.vstack([FIRST, np.full(11, 0.5), np.full(11, np.nan)])
    matrix = agreement_matrix(first, SECOND, "tau_b")
    assert np.isnan(matrix[4:]).all()
    np.testing.assert_array_equal(matrix[:4], agreement_matrix(FIRST, SECOND, "tau_b"))


def test_equal_sums_in_another_order_tie() -> None:
    assert 0.1 + 0.2 + 0.3 != 0.3 + 0.2 + 0.1
    assert kendall_tau([1, 1], [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1], variant="a") == 0
    assert np.isnan(kendall_tau([1, 2], [0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1]))
    assert kendall_tau([1, 2], [1, 1 + 4e-14], variant="a") == 0  # what many additions leave
    assert kendall_tau([1, 2], [1, 1 + 2e-11], variant="a") == 1


def test_values_of_any_size_are_told_apart() -> None:
    for scale in (1e-305, 1e-20, 1.0, 1e20, 1e300):
        assert kendall_tau([1, 2, 3], np.array([2, 1, 3]) * scale) == pytest.approx(1 / 3)
    assert kendall_tau([0, 0, 1], [0, 0, -1]) == -1


def test_an_agreement_reads_as_a_line() -> None:
    assert str(rank_agreement([1, 2, 3], [1, 2, 3])) == "tau_b of 3 systems: 1.0000"
    assert str(rank_agreement([1, 1], [1, 2])) == (
        "tau_b of 2 systems: not defined: the first ordering has all systems tied"
    )


def test_bad_requests_are_refused_in_one_line() -> None:
    with pytest.raises(DataError, match=r"values of 2 and of 3 systems; expected the same systems in both"):
        kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(DataError, match=r"shapes \(1, 2\) and \(2,\); expected one value per system"):
        kendall_tau([[1, 2]], [1, 2])
    with pytest.raises(DataError, match=r"shapes \(2,\) and \(2,\); expected \(ordering, system\)"):
        agreement_matrix([1, 2], [1, 2])
    with pytest.raises(UnknownNameError, match="unknown coefficient 'tau'; did you mean tau_"):
        agreement_matrix([[1, 2]], [[1, 2]], "tau")
    unusable: list[Any] = [["a", "b"], [1, None, {}], [[1, 2], [3]]]
    for wrong in unusable:
        with pytest.raises(DataError, match="expected one number per system") as refused:
            kendall_tau(wrong, [1, 2])
        assert not re.search("convert|float|inhomogeneous", str(refused.value))
    with pytest.raises(DataError, match="p of RBO is 1; expected a number above 0 and below 1"):
        agreement_matrix([[1, 2]], [[1, 2]], "rbo", p=1)
