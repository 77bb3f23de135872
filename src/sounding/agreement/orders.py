"""Values of systems as orderings: what is known, what ties, and the places that systems share."""

from __future__ import annotations

import reprlib
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sounding.errors import DataError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

DIGITS = 13  # of an ordering's largest value: what lies beyond them is rounding, and such values tie


class Places(NamedTuple):
    """Where every system stands, best first from 1; systems that tie share a stretch of places."""

    first: Counts  # (ordering, system)
    last: Counts  # (ordering, system)

    @property
    def size(self) -> Counts:
        """(ordering, system): how many systems share the stretch."""
        return self.last - self.first + 1

    @property
    def mean(self) -> Floats:
        """(ordering, system): the middle of the stretch."""
        return (self.first + self.last) / 2


def two_vectors(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Two vectors of equal length, each as a matrix of one row."""
    ours, theirs = _numbers(first), _numbers(second)
    if ours.ndim != 1 or theirs.ndim != 1:
        raise DataError(
            f"values have the shapes {ours.shape} and {theirs.shape}; expected one value a system"
        )
    return two_matrices(ours[np.newaxis], theirs[np.newaxis])


def two_matrices(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Two matrices over the same systems: (ordering, system) each."""
    ours, theirs = _numbers(first), _numbers(second)
    if ours.ndim != 2 or theirs.ndim != 2:
        raise DataError(
            f"values have the shapes {ours.shape} and {theirs.shape}; expected (ordering, system)"
        )
    if ours.shape[1] != theirs.shape[1]:
        raise DataError(
            f"values of {ours.shape[1]} and of {theirs.shape[1]} systems; expected the same systems in both"
        )
    return ours, theirs


def _numbers(values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"values are {reprlib.repr(values)}; expected one number a system, such as [0.31, 0.25]"
        ) from error


def known_orderings(values: Floats) -> NDArray[np.bool_]:
    """(ordering,): every system has a finite value."""
    return np.asarray(np.isfinite(values).all(axis=1), np.bool_)


def on_a_grid(values: Floats) -> Floats:
    """Values as whole steps of a fine decimal grid: equal sums that were added in another order tie."""
    largest = np.abs(values).max(axis=1, initial=0.0)
    exponent = np.zeros(len(values), np.int64)
    np.ceil(np.log10(largest, out=np.zeros_like(largest), where=largest > 0), out=exponent, casting="unsafe")
    shift = (DIGITS - exponent)[:, np.newaxis]
    half = shift // 2  # in two steps: 10 to the whole may be too large for a float
    return np.rint(values * np.power(10.0, half) * np.power(10.0, shift - half))


def places(steps: Floats) -> Places:
    """The places of every system, highest value first."""
    count = steps.shape[1]
    order = np.argsort(-steps, axis=1, kind="stable")
    ordered = np.take_along_axis(steps, order, axis=1)
    starts = np.ones(steps.shape, np.bool_)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(steps.shape, np.bool_)
    ends[:, :-1] = starts[:, 1:]
    place = np.arange(1, count + 1)
    first, last = np.empty((2, *steps.shape), np.int64)
    np.put_along_axis(first, order, np.maximum.accumulate(np.where(starts, place, 0), axis=1), axis=1)
    backwards = np.where(ends, place, count)[:, ::-1]
    np.put_along_axis(last, order, np.minimum.accumulate(backwards, axis=1)[:, ::-1], axis=1)
    return Places(first, last)
