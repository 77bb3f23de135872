"""Student's t, in the shapes that tests and intervals need."""

from __future__ import annotations

import numpy as np

from sounding.arrays import NDArray

Floats = NDArray[np.float64]
Degrees = NDArray[np.int64] | int


def ratio(numerator: Floats, error: Floats) -> Floats:
    """The ratio; infinite, with the numerator's sign, where the error is 0; 0 / 0 is 0."""
    endless = np.where(numerator == 0, 0.0, np.copysign(np.inf, numerator))
    return np.divide(numerator, error, out=endless, where=error > 0)


def two_sided(t: Floats, df: Degrees) -> Floats:
    """Chance of a t at least as far from 0."""
    from scipy.special import stdtr

    return np.asarray(2 * stdtr(df, -np.abs(t)), np.float64)


def above(t: Floats, df: Degrees) -> Floats:
    """Chance of a t at least as large."""
    from scipy.special import stdtr

    return np.asarray(stdtr(df, -t), np.float64)


def critical(alpha: float, df: Degrees) -> Floats:
    """The t that is passed on either side with chance alpha in all."""
    from scipy.special import stdtrit

    return np.asarray(stdtrit(df, 1 - alpha / 2), np.float64)
