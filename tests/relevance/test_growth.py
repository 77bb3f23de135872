"""Two fits of one law of growth: the Poisson one against a general optimizer, by hand, and by Monte Carlo."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize

from sounding.core.errors import DataError
from sounding.relevance.growth import expected_beyond, last_depth, likely_beyond


def likeliest(counts: np.ndarray, depth: int) -> float:
    """C d^s with the largest Poisson likelihood, summed over the depths beyond, by a general optimizer."""
    position = np.log(np.arange(1, len(counts) + 1))

    def loss(point: np.ndarray) -> float:
        mean = np.exp(point[0] + point[1] * position)
        return float((mean - counts * np.log(mean)).sum())

    found = minimize(loss, [0.0, -0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}).x
    return float(np.exp(found[0] + found[1] * np.log(np.arange(len(counts) + 1, depth + 1))).sum())


@pytest.mark.parametrize("counts", [[9, 4, 2, 3, 1, 0, 1, 0], [5, 0, 3, 0, 0, 1], [30, 12, 11, 7, 6, 5, 5]])
def test_the_fit_is_the_likeliest(counts: list[int]) -> None:
    table = np.array([counts])
    assert likely_beyond(table, 20)[0] == pytest.approx(likeliest(table[0], 20), rel=1e-4)


def test_a_constant_rate_goes_on_and_a_growing_one_counts_as_constant() -> None:
    assert likely_beyond(np.array([[2, 2, 2, 2]]), 7)[0] == pytest.approx(6.0)
    assert likely_beyond(np.array([[0, 1, 2, 5]]), 6)[0] == pytest.approx(4.0)  # two a rank


def test_what_is_over_after_the_first_rank_stays_over() -> None:
    assert likely_beyond(np.array([[7, 0, 0], [0, 0, 0]]), 9).tolist() == pytest.approx([0.0, 0.0], abs=1e-9)
    assert likely_beyond(np.array([[3, 1]]), 2).tolist() == [0.0]
    with pytest.raises(DataError, match="a pool of depth 1 shows no growth"):
        likely_beyond(np.array([[3]]), 9)


def test_where_counts_are_poisson_its_mean_error_is_small_and_zobels_fit_is_too_low() -> None:
    rng = np.random.default_rng(5)
    mean = 6 * np.arange(1, 41) ** -0.6
    counts = rng.poisson(np.broadcast_to(mean, (3000, 40)))
    truth = mean[20:].sum()
    likely, logs = likely_beyond(counts[:, :20], 40).mean(), expected_beyond(counts[:, :20], 40).mean()
    assert likely == pytest.approx(truth, rel=0.05)
    assert logs < 0.95 * truth


def test_zobels_law_ends_where_it_gives_no_more() -> None:
    # n = 8 d^-1/2 - 1 is 0 at d = 64; what lies beyond adds nothing, however far one looks.
    law = np.array([8 * np.arange(1, 41) ** -0.5 - 1])
    assert last_depth(law)[0] == pytest.approx(64, abs=1)
    beyond = (8 * np.arange(41, 65) ** -0.5 - 1).sum()
    assert expected_beyond(law, 64)[0] == pytest.approx(beyond)
    assert expected_beyond(law, 1000)[0] == pytest.approx(beyond)


def test_a_law_without_an_end_has_none_and_one_that_gives_nothing_is_over_before_it_begins() -> None:
    assert last_depth(np.array([[2, 2, 2], [0, 0, 0], [0, 1, 3]])).tolist() == [np.inf, 0.0, np.inf]
    assert last_depth(np.array([[9, 9, 9, 9, 9, 9, 9, 8]])).tolist() == [np.inf]  # beyond any list
