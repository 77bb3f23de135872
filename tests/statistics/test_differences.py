"""Pairs of runs and their differences."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.core.errors import DataError
from sounding.runs.pairs import BLOCK, all_pairs, baseline_pairs, blocks, differences, grid_decimals


def test_all_pairs_are_every_two_runs_once_the_earlier_first() -> None:
    assert all_pairs(4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    assert all_pairs(129).shape == (8256, 2)
    assert all_pairs(1).shape == (0, 2)


def test_every_run_meets_the_baseline_which_comes_second() -> None:
    assert baseline_pairs(4, [1]).tolist() == [[0, 1], [2, 1], [3, 1]]


def test_two_baselines_do_not_meet() -> None:
    assert baseline_pairs(4, [3, 0, 3]).tolist() == [[1, 3], [2, 3], [1, 0], [2, 0]]


def test_a_baseline_that_is_no_run_is_refused() -> None:
    with pytest.raises(DataError, match="baseline 4: expected a run from 0 to 3"):
        baseline_pairs(4, [4])


def test_only_topics_where_both_runs_have_values_count() -> None:
    values = np.array([[0.5, np.nan, 0.25, 1.0], [0.25, 0.5, np.nan, 0.25]])
    gaps = differences(values, all_pairs(2), 13)
    assert gaps.topics.tolist() == [2]
    assert gaps.known.tolist() == [[True, False, False, True]]
    assert gaps.mean.tolist() == [0.5]
    assert gaps.squares.tolist() == [0.125]
    assert gaps.deviation.tolist() == [np.sqrt(0.125)]
    assert gaps.leading(2).tolist() == [[0.25, 0.75]]
    assert gaps.ascending()[0].tolist() == [0.25, 0.75, np.inf, np.inf]


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e-100, 0.0])
def test_differences_on_all_topics_are_those_that_a_topic_without_values_leaves(scale: float) -> None:
    rng = np.random.default_rng(3)
    values = rng.random((20, 7)).round(2) * scale
    values[3], values[5] = values[4], values[6] + scale / 3  # equal, and different by the same everywhere
    whole = differences(values, all_pairs(20), grid_decimals(values))
    more = np.insert(values, 7, np.nan, axis=1)
    same = differences(more, all_pairs(20), grid_decimals(more))
    assert whole.topics.tolist() == same.topics.tolist()
    np.testing.assert_allclose(whole.mean, same.mean, rtol=1e-13)
    np.testing.assert_allclose(whole.squares, same.squares, rtol=1e-13)
    equal = np.ptp(whole.values, axis=1) == 0
    assert equal.any()
    np.testing.assert_array_equal(whole.squares == 0, equal)


def test_equal_differences_tie_although_their_last_bits_differ() -> None:
    values = np.array([[0.3, 0.2, 0.9], [0.2, 0.1, 0.8]])
    assert len(set((values[0] - values[1]).tolist())) == 2
    gaps = differences(values, all_pairs(2), grid_decimals(values))
    assert set(gaps.values[0].tolist()) == {0.1}
    assert gaps.squares.tolist() == [0.0]


@pytest.mark.parametrize(("largest", "decimals"), [(1.0, 13), (0.0, 13), (250.0, 10), (2e-5, 17)])
def test_rounding_follows_the_largest_value(largest: float, decimals: int) -> None:
    assert grid_decimals(np.array([[largest, np.nan, -largest / 2]])) == decimals


def test_blocks_cover_every_row_once_and_are_small() -> None:
    parts = list(blocks(1000, 2**12))
    assert [row for part in parts for row in range(part.start, part.stop)] == list(range(1000))
    assert max(part.stop - part.start for part in parts) == BLOCK // 2**12
    assert list(blocks(3, 2**30)) == [slice(0, 1), slice(1, 2), slice(2, 3)]
