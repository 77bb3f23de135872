"""Intervals of ranks and means over topics: against enumeration and Student's, and laws that always hold."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from sounding.statistics.bootstrap import mean_intervals, rank_intervals


def places(means: np.ndarray) -> list[int]:
    """Each run's place: one more than the number of better runs."""
    return [1 + sum(other > own + 1e-12 for other in means) for own in means]


def test_limits_are_those_of_every_possible_sample_of_topics() -> None:
    # Three topics give 27 equally likely samples: 4,000 draws find each of them many times.
    values = np.array([[0.9, 0.1, 0.5], [0.4, 0.6, 0.4], [0.0, 0.2, 0.1]])
    every = np.array([places(values[:, list(sample)].mean(axis=1)) for sample in product(range(3), repeat=3)])
    found = rank_intervals(values, level=0.999, draws=4000)
    assert found.best.tolist() == every.min(axis=0).tolist()
    assert found.worst.tolist() == every.max(axis=0).tolist()


def test_a_run_that_always_wins_has_the_first_place_alone() -> None:
    rng = np.random.default_rng(1)
    others = rng.random((4, 20)) / 2
    found = rank_intervals(np.vstack([others, np.full(20, 0.9)]))
    assert (found.best[-1], found.worst[-1]) == (1, 1)
    assert found.best[:-1].min() == 2


def test_equal_runs_share_the_better_place() -> None:
    row = np.random.default_rng(2).random(12)
    found = rank_intervals(np.vstack([row, row, row - 0.5]))
    assert found.best.tolist() == [1, 1, 3]
    assert found.worst.tolist() == [1, 1, 3]


def test_a_topic_without_a_value_is_left_out_of_that_runs_mean() -> None:
    values = np.array([[np.nan, 0.5, 0.5, 0.5, 0.5, 0.5], [0.4, 0.4, 0.4, 0.4, 0.4, 0.4]])
    found = rank_intervals(values)
    assert found.best.tolist() == [1, 2]  # counted as 0 it would lose samples with the first topic often


@pytest.mark.parametrize("seed", [0, 7])
def test_the_seed_gives_the_same_limits_again(seed: int) -> None:
    values = np.random.default_rng(3).random((10, 30))
    first, second = (rank_intervals(values, seed=seed) for _ in range(2))
    assert all((one == other).all() for one, other in zip(first, second, strict=True))


@given(arrays(np.float64, (4, 7), elements=st.floats(0, 1)))
def test_the_place_by_the_topics_at_hand_lies_within_wide_limits(values: np.ndarray) -> None:
    found = rank_intervals(values, level=1.0, draws=400)
    assert (found.best >= 1).all()
    assert (found.worst <= 4).all()
    assert (found.best <= found.worst).all()


# -- means -------------------------------------------------------------------------------------------


def test_symmetric_values_have_students_interval() -> None:
    values = np.array([[0.1, 0.3, 0.4, 0.5, 0.6, 0.7, 0.9]])
    (low,), (high,) = mean_intervals(values)
    expected = stats.t.interval(0.95, 6, values.mean(), stats.sem(values[0]))
    assert (low, high) == pytest.approx(expected, abs=1e-7)


def test_skewed_values_are_covered_more_often_than_by_students_interval() -> None:
    draws = np.random.default_rng(5).exponential(0.2, (4000, 10))
    low, high = mean_intervals(draws)
    half = stats.t.ppf(0.975, 9) * stats.sem(draws, axis=1)
    covered = np.mean((low <= 0.2) & (high >= 0.2))
    by_student = np.mean(np.abs(draws.mean(axis=1) - 0.2) <= half)
    assert by_student < 0.91
    assert 0.92 < covered < 0.965


def test_a_topic_without_a_value_changes_no_interval() -> None:
    values = np.array([[0.1, 0.2, 0.2, 0.9, 0.4]])
    with_gap = np.insert(values, 2, np.nan, axis=1)
    assert np.allclose(mean_intervals(values), mean_intervals(with_gap))


def test_without_three_topics_there_is_no_interval_and_without_spread_no_width() -> None:
    low, high = mean_intervals(np.array([[0.5, 0.6, np.nan], [0.5, 0.5, 0.5]]))
    assert np.isnan([low[0], high[0]]).all()
    assert low[1] == high[1] == pytest.approx(0.5)
