"""Every way to break the ties of a vector: the plain oracle of what is an average over them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
from hypothesis import strategies as st


def tie_breaks(values: Sequence[float]) -> Iterator[list[int]]:
    """All orders of the systems, best first, in which no system stands above a better one."""
    groups = [
        [system for system, value in enumerate(values) if value == level]
        for level in sorted(set(values), reverse=True)
    ]
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield [system for order in orders for system in order]


def as_values(order: Sequence[int]) -> list[float]:
    """Values that put the systems in this order."""
    values = np.empty(len(order))
    values[list(order)] = np.arange(len(order), 0, -1)
    return list(values)


def tied_vectors(least: int = 2, most: int = 6) -> st.SearchStrategy[tuple[list[float], list[float]]]:
    """Two vectors of equal length with few different values."""
    level = st.sampled_from([0.0, 0.1, 0.25, 0.7])
    return st.integers(least, most).flatmap(
        lambda n: st.tuples(st.lists(level, min_size=n, max_size=n), st.lists(level, min_size=n, max_size=n))
    )
