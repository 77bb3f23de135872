"""Volatility matrices against one coefficient at a time, and the depth from which they are calm."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy import stats

from sounding.core.errors import DataError
from sounding.depth.volatility import Volatility, volatility

KS = (1, 2, 5, 10)
VALUES = np.random.default_rng(5).random((4, 7)).round(1)
OTHERS = np.random.default_rng(6).random((4, 7)).round(1)


def with_matrix(matrix: ArrayLike, ks: tuple[int, ...]) -> Volatility:
    return Volatility(measure="AP", other="AP", coefficient="tau_b", ks=ks, matrix=np.array(matrix, float))


def test_a_cell_is_the_tau_between_the_orderings_at_two_depths() -> None:
    found = volatility(VALUES, KS, measure="AP")
    expected = [[stats.kendalltau(row, column).statistic for column in VALUES] for row in VALUES]
    np.testing.assert_allclose(found.matrix, expected)
    assert (found.measure, found.other, found.ks) == ("AP", "AP", KS)


def test_two_measures_are_set_against_each_other_by_any_coefficient() -> None:
    found = volatility(VALUES, KS, others=OTHERS, measure="AP", other="P", coefficient="pearson")
    expected = [[np.corrcoef(row, column)[0, 1] for column in OTHERS] for row in VALUES]
    np.testing.assert_allclose(found.matrix, expected)


def test_the_frame_has_one_row_a_cell() -> None:
    found = volatility(VALUES, KS, others=OTHERS, measure="AP", other="P")
    frame = found.frame
    assert frame.columns == ["measure", "k", "other_measure", "other_k", "coefficient", "agreement"]
    row = frame.row(9, named=True)  # 4 columns: the 10th cell is row 2, column 1
    assert (row["measure"], row["k"], row["other_measure"], row["other_k"]) == ("AP", 5, "P", 2)
    assert row["coefficient"] == "tau_b"
    assert row["agreement"] == found.matrix[2, 1]
    assert len(frame) == 16


@pytest.mark.parametrize(
    ("matrix", "expected"),
    [
        # 1 agrees with 2 but not with 5; 2, 5 and 10 agree each with each.
        ([[1, 0.95, 0.8, 0.9], [0.95, 1, 0.92, 0.91], [0.8, 0.92, 1, 0.97], [0.9, 0.91, 0.97, 1]], 2),
        (np.ones((4, 4)), 1),
        # What happens above the depth does not count, wherever it stands.
        ([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0.9], [0, 0, 0.9, 1]], 5),
        # The two deepest do not agree: that the deepest agrees with itself says nothing.
        ([[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 1, 0.89], [1, 1, 0.89, 1]], None),
        # Between two measures only one of the two triangles may disagree.
        ([[1, 1, 1, 1], [1, 1, 1, 1], [1, 0.5, 1, 1], [1, 1, 1, 1]], 5),
        # Nor need a measure agree with another at the same depth.
        ([[1, 1, 1, 1], [1, 0.5, 1, 1], [1, 1, 1, 1], [1, 1, 1, 1]], 5),
        ([[1, 1, 1, 1], [1, 1, np.nan, 1], [1, np.nan, 1, 1], [1, 1, 1, 1]], 5),
    ],
)
def test_orderings_are_stable_from_the_depth_beyond_which_all_agree(
    matrix: list[list[float]], expected: int | None
) -> None:
    assert with_matrix(matrix, KS).stable_from() == expected


def test_the_threshold_is_reached_by_what_equals_it() -> None:
    found = with_matrix([[1, 0.8], [0.8, 1]], (1, 2))
    assert found.stable_from(threshold=0.8) == 1
    assert found.stable_from(threshold=0.81) is None
    assert with_matrix([[1]], (3,)).stable_from() is None


def test_a_volatility_knows_where_it_becomes_stable() -> None:
    calm = np.vstack([[1, 2, 3], [3, 2, 1], [1, 2, 3], [1, 2, 4]])
    assert volatility(calm, KS).stable_from() == 5
    assert volatility(calm, KS).stable_from(threshold=-1) == 1


def test_bad_requests_are_refused_in_one_line() -> None:
    with pytest.raises(DataError, match=r"values of shape \(4, 7\) for 2 depths; expected \(k, run\)"):
        volatility(VALUES, (1, 2))
    with pytest.raises(DataError, match=r"others of shape \(3, 7\) for 4 depths"):
        volatility(VALUES, KS, others=OTHERS[:3])
    with pytest.raises(DataError, match="rmse is a distance, which has no threshold; use tau_b"):
        volatility(VALUES, KS, coefficient="rmse").stable_from()
    with pytest.raises(DataError, match="ascending order"):
        with_matrix([[1, 1], [1, 1]], (2, 1)).stable_from()


@pytest.mark.parametrize("coefficient", ["tau_ap_b", "tau_ap", "tau_b", "rbo_b", "spearman"])
def test_an_ordering_agrees_with_itself_to_the_last_digit(coefficient: str) -> None:
    means = np.random.default_rng(5).random((40, 37))
    found = volatility(means, range(1, 41), coefficient=coefficient)
    assert (np.diag(found.matrix) == 1).all()
