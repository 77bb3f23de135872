"""The most places a system moves, and pairs that swap: by hand and by brute force."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from tests.statistics.breaking_ties import tied_vectors

from sounding.statistics.rank_correlation import most_places, swaps


def test_the_system_that_moves_most_is_named_with_its_places() -> None:
    found = most_places([0.9, 0.8, 0.7, 0.6], [0.5, 0.8, 0.7, 0.6])  # the first falls from 1 to 4
    assert (found.places, found.systems, found.before, found.after) == (3.0, (0,), (1.0,), (4.0,))


def test_all_that_move_as_far_are_named() -> None:
    found = most_places([4, 3, 2, 1], [3, 4, 1, 2])
    assert (found.places, found.systems) == (1.0, (0, 1, 2, 3))


def test_tied_systems_share_the_middle_of_their_places() -> None:
    found = most_places([3, 2, 1], [1, 1, 0])  # places 1 2 3 and 1.5 1.5 3
    assert (found.places, found.systems) == (0.5, (0, 1))


def test_nothing_is_known_of_moves_where_a_value_lacks() -> None:
    found = most_places([1, np.nan], [1, 2])
    assert np.isnan(found.places)
    assert found.systems == ()


def test_swaps_name_the_better_of_each_ordering() -> None:
    # 0 > 1 > 2 against 1 > 2 > 0: the pairs 0-1 and 0-2 are swapped.
    assert swaps([3, 2, 1], [1, 3, 2]).tolist() == [[0, 1], [0, 2]]


def test_ties_and_systems_without_a_value_are_no_swaps() -> None:
    assert swaps([2, 1], [1, 1]).tolist() == []
    assert swaps([0.3, 0.1 + 0.2], [0, 1]).tolist() == []  # equal but for rounding
    assert swaps([5, np.nan, 3, 1], [1, 7, 2, 3]).tolist() == [[0, 2], [0, 3], [2, 3]]


@given(vectors=tied_vectors(most=8))
def test_swaps_are_all_pairs_in_opposite_order(vectors: tuple[list[float], list[float]]) -> None:
    first, second = vectors
    expected = [
        [a, b]
        for a, b in itertools.permutations(range(len(first)), 2)
        if first[a] > first[b] and second[a] < second[b]
    ]
    assert swaps(first, second).tolist() == expected
