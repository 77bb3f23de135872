"""What tables of scores say about pairs of runs whose order is open."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sounding.evaluate.result import OpenPairs, count_open_pairs


def test_one_outlier_does_not_hide_that_the_others_are_open() -> None:
    value = np.array([0.976, 0.125, 0.086, 0.080])
    found = count_open_pairs(value, value, value + np.array([0.0, 0.66, 0.68, 0.70]))
    assert found == OpenPairs(pairs=3, of_pairs=6, neighbors=2, of_neighbors=3)


@pytest.mark.parametrize("runs", range(7))
def test_open_pairs_are_those_whose_order_some_values_within_the_bounds_change(runs: int) -> None:
    rng = np.random.default_rng(runs)
    for _ in range(50):
        ends = np.sort(rng.integers(0, 6, (3, runs)) / 5, axis=0)  # few values: ties and bounds that meet
        lower, value, upper = ends
        value[rng.random(runs) < 0.1] = np.nan
        found = count_open_pairs(value, lower, upper)

        def is_open(one: int, other: int, lower=lower, value=value, upper=upper) -> bool:  # type: ignore[no-untyped-def]
            shown = np.sign(value[one] - value[other])
            possible = {
                np.sign(x - y) for x in (lower[one], upper[one]) for y in (lower[other], upper[other])
            }
            return bool({-shown} & possible) if shown else possible != {0.0}

        known = [run for run in np.argsort(-value, kind="stable").tolist() if value[run] == value[run]]
        assert found.pairs == sum(is_open(*pair) for pair in combinations(known, 2))
        assert found.neighbors == sum(map(is_open, known, known[1:]))
        assert found.of_pairs == len(list(combinations(known, 2)))
        assert found.of_neighbors == max(len(known) - 1, 0)
