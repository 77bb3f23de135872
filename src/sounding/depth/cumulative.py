"""Cumulative forms of measures: how they are registered, and sums down a ranking.

`@curve("Name")` registers a function from a ranking and a depth to a table (k, topic), with the measure's
parameters but k.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sounding.arrays import NDArray
from sounding.ranking import Counts, Ranking, Values

Table = NDArray[np.float64]  # (k, topic): row i holds what the first i + 1 ranks give
Curve = Callable[..., Table]

CURVES: dict[str, Curve] = {}


def curve(*names: str) -> Callable[[Curve], Curve]:
    """Register the cumulative form of these measures."""

    def register(function: Curve) -> Curve:
        for name in names:
            if name in CURVES:
                raise ValueError(f"two functions give the curve of {name!r}")
            CURVES[name] = function
        return function

    return register


class NoCumulativeFormError(Exception):
    """With these parameters the values at one k do not follow from those above."""


def placed(topic: Counts, rank: Counts, weight: Values | None, depth: int, topics: int) -> Table:
    """(rank, topic): the weights (default: 1 each) where they stand, as far as `depth`."""
    near = rank <= depth
    place = (rank[near] - 1) * topics + topic[near]
    weights = None if weight is None else weight[near]
    return np.bincount(place, weights, depth * topics).astype(np.float64, copy=False).reshape(depth, topics)


def summed(run: Ranking, topic: Counts, rank: Counts, weight: Values | None, depth: int) -> Table:
    """(k, topic): the sum of the weights of documents down to every k."""
    weights = placed(topic, rank, weight, depth, len(run.topics))
    return np.cumsum(weights, axis=0, out=weights)


def found_so_far(run: Ranking, depth: int, rel: float) -> Table:
    """(k, topic): relevant documents among the first k."""
    hit = run.hits(rel, depth)
    return summed(run, hit.topic, hit.rank, None, depth)


def judged_so_far(run: Ranking, depth: int) -> Table:
    """(k, topic): judged documents among the first k."""
    return summed(run, run.topic, run.rank, None, depth)


def cuts(depth: int) -> NDArray[np.int64]:
    """(k, 1): every cut-off."""
    return np.arange(1, depth + 1)[:, np.newaxis]


def looked_at(run: Ranking, depth: int) -> NDArray[np.int64]:
    """(k, topic): how many documents there are among the first k ranks."""
    return np.minimum(run.retrieved, cuts(depth))


def share(gained: Table, possible: NDArray[Any]) -> Table:
    """The quotient; 0 where nothing was possible."""
    possible = np.broadcast_to(possible, gained.shape)
    return np.divide(gained, possible, out=np.zeros(gained.shape), where=possible > 0)
