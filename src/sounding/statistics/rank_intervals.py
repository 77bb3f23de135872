"""How far the place of each run could move if other topics had been drawn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.statistics.bootstrap import draw_weights

DRAWS = 2000
DECIMALS = 12  # beyond these, two means differ by rounding only


class RankIntervals(NamedTuple):
    """The best and the worst place of each run within the interval; the first place is 1."""

    best: NDArray[np.int64]  # (run,)
    worst: NDArray[np.int64]  # (run,)


def rank_intervals(
    values: NDArray[np.float64], *, level: float = 0.95, draws: int = DRAWS, seed: int = 0
) -> RankIntervals:
    """Return the places that each run takes in `level` of the bootstrap samples of topics.

    `values` are (run, topic). A run's mean is over the topics on which it has a value; equal means share
    the better place. Limits are rounded outward.
    """
    known = ~np.isnan(values)
    weights = draw_weights(values.shape[1], draws, np.random.default_rng(seed)).astype(np.float64, copy=False)
    counts = weights @ known.T.astype(np.float64)
    totals = weights @ np.where(known, values, 0.0).T
    means = np.divide(totals, counts, out=np.full(totals.shape, -np.inf), where=counts > 0)  # (draw, run)
    losses = -np.round(means, DECIMALS)
    places = 1 + np.array([np.searchsorted(np.sort(row), row) for row in losses])
    tail = (1 - level) / 2
    best = np.quantile(places, tail, axis=0, method="lower")
    worst = np.quantile(places, 1 - tail, axis=0, method="higher")
    return RankIntervals(best.astype(np.int64), worst.astype(np.int64))
