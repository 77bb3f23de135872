"""Coefficients of values and of places: Pearson, Spearman, and the root of the mean squared difference."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sounding.agreement.orders import Floats, places
from sounding.agreement.registry import coefficient, rank_agreement

NUMBERS_AT_ONCE = 2**21


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rho of two vectors of values; tied systems share the middle place; NaN: undefined."""
    return rank_agreement(first, second, "spearman").value


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Pearson's r of two vectors of values; NaN where it is not defined."""
    return rank_agreement(first, second, "pearson").value


def rmse(first: ArrayLike, second: ArrayLike) -> float:
    """Root of the mean squared difference of two vectors of values: 0 is best; NaN: undefined."""
    return rank_agreement(first, second, "rmse").value


@coefficient("spearman", needs_spread=True)
def spearman_matrix(first: Floats, second: Floats) -> Floats:
    """Spearman's rho: Pearson's r of the places."""
    return pearson_matrix(places(first).mean, places(second).mean)


@coefficient("pearson", of_order=False, needs_spread=True)
def pearson_matrix(first: Floats, second: Floats) -> Floats:
    """Pearson's r of the values."""
    return np.clip(_unit_rows(first) @ _unit_rows(second).T, -1.0, 1.0)


def _unit_rows(values: Floats) -> Floats:
    """Every row less its mean, of length 1."""
    scaled = values / np.abs(values).max(axis=1, keepdims=True)  # squares of tiny values would vanish
    centred = scaled - scaled.mean(axis=1, keepdims=True)
    return centred / np.sqrt(np.sum(centred**2, axis=1, keepdims=True))


@coefficient("rmse", of_order=False, identical=0.0)
def rmse_matrix(first: Floats, second: Floats) -> Floats:
    """Root of the mean squared difference of the values."""
    found = np.empty((len(first), len(second)))
    step = max(1, NUMBERS_AT_ONCE // max(1, second.size))
    for start in range(0, len(first), step):
        # Not by a product of matrices: that loses small differences to rounding.
        gaps = first[start : start + step, np.newaxis] - second
        found[start : start + step] = np.sqrt(np.mean(gaps**2, axis=2))
    return found
