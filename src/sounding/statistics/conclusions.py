"""The conclusion of a paired t test for each pair, and the probability that drawn judgments keep it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import special
from sounding.runs.pairs import Pairs, blocks, differences, grid_decimals
from sounding.runs.ranking import Values
from sounding.statistics.testing import critical, ratio

Floats = NDArray[np.float64]

ALPHA = 0.05
FARTHEST = 50.0  # a larger t counts as this
_LEAST_SPREAD = 1e-9  # of a t, or of a difference relative to its size; less is rounding error


class Statistics:
    """The t of the differences of every pair, their means, and the number of topics."""

    def __init__(self, values: Floats, pairs: Pairs) -> None:
        """Compute them from values by run and topic; NaN: no value."""
        decimals = grid_decimals(values)
        parts = [differences(values, pairs[rows], decimals) for rows in blocks(len(pairs), values.shape[1])]
        self.topics = np.concatenate([part.topics for part in parts])
        self.difference = np.concatenate([part.mean for part in parts])
        deviation = np.concatenate([part.deviation for part in parts])
        error = np.nan_to_num(deviation) / np.sqrt(np.maximum(self.topics, 1))
        t = np.clip(ratio(np.nan_to_num(self.difference), error), -FARTHEST, FARTHEST)
        self.t = np.where(self.topics > 1, t, np.nan)

    def concluded(self, alpha: float) -> NDArray[np.int8]:
        """(pair,): Return 1 if the first run is better, -1 if it is worse, 0 if neither can be concluded."""
        border = borders(self.topics, alpha)
        return np.where(self.t >= border, 1, np.where(self.t <= -border, -1, 0)).astype(np.int8)


def borders(topics: NDArray[np.int64], alpha: float) -> Floats:
    """(pair,): Return the critical t for this number of topics; NaN for fewer than two."""
    return np.where(topics > 1, critical(alpha, np.maximum(topics - 1, 1)), np.nan)


def chance_of_conclusion(concluded: NDArray[np.int8], drawn: Floats, border: Floats) -> Floats:
    """(pair,): Return the probability that t ends on the same side of the limits as the conclusion.

    `drawn` are the t of every draw, (draw, pair).
    """
    low = np.where(concluded == 1, border, np.where(concluded == 0, -border, -np.inf))
    high = np.where(concluded == 1, np.inf, np.where(concluded == 0, border, -border))
    return _normal_between(drawn, low, high, 1.0)


def chance_of_sign(difference: Values, drawn: Floats) -> Floats:
    """(pair,): Return the probability that a difference keeps its sign; if it is 0, that it stays 0."""
    size = np.maximum(np.abs(drawn).max(axis=0, initial=0.0), np.abs(difference))
    same = _normal_between(drawn * np.sign(difference), np.zeros_like(difference), np.inf, size)
    stays = np.mean(np.abs(drawn) <= _LEAST_SPREAD, axis=0)
    return np.where(np.isnan(difference), np.nan, np.where(difference == 0, stays, same))


def _normal_between(drawn: Floats, low: Floats, high: Floats | float, size: Floats | float) -> Floats:
    """Return the probability of lying within limits, by a normal distribution with the draws' moments."""
    center = drawn.mean(axis=0)
    spread = np.maximum(drawn.std(axis=0, ddof=1), _LEAST_SPREAD * np.maximum(size, _LEAST_SPREAD))
    return np.asarray(
        special.ndtr((high - center) / spread) - special.ndtr((low - center) / spread), np.float64
    )


def pair_chances(present: Floats, drawn: Floats, pairs: Pairs, alpha: float) -> tuple[Any, Floats, Floats]:
    """(pair,) each: Return the conclusion, the probability that it holds, and that of the sign.

    `present` are the values by run and topic, `drawn` those of every draw: (run, draw, topic).
    """
    now = Statistics(present, pairs)
    each = [Statistics(drawn[:, number], pairs) for number in range(drawn.shape[1])]
    concluded = now.concluded(alpha)
    conclusion = chance_of_conclusion(
        concluded, np.array([one.t for one in each]), borders(now.topics, alpha)
    )
    sign = chance_of_sign(now.difference, np.array([one.difference for one in each]))
    return concluded, conclusion, sign
