"""The largest numbers that anybody can want: beyond them work would take for ever, or all memory."""

from __future__ import annotations

import math
from numbers import Integral

from sounding.core.errors import DataError

COUNT = 1_000_000_000  # of what has no limit of its own and costs nothing: a depth, a budget, rows shown
ROWS = 100_000_000  # of a simulated collection, all runs together

MOST = {
    "seed": 2**63 - 1,
    "jobs": 1_024,
    "k": 10_000_000,  # of a measure
    "depths": 100_000,  # that a table is computed for at every rank
    # What is drawn at random: the error of a share from so many draws is far below what is printed.
    "draws": 100_000,
    "repeats": 10_000,
    "resamples": 100_000,
    "samples": 10_000_000,
    "permutations": 10_000_000,
    "sets": 100_000,
    "worlds": 10_000,
    # The sizes of a simulated collection.
    "topics": 1_000_000,
    "groups": 100_000,
    "systems": 100_000,
    "documents": 10_000_000,
    "length": 10_000_000,
    "grades": 1_000,
}


def most(name: str) -> int:
    """Return the largest value of a number, by the name of its option or parameter."""
    return MOST.get(name, COUNT)


def is_count(name: str, value: object, least: int) -> bool:
    """Return whether a value is a whole number from `least` to the limit of that name."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most(name)


def check_count(name: str, value: object, least: int) -> None:
    """Refuse a number that is not whole, or too small, or beyond the limit of its name."""
    if is_count(name, value, least):
        return
    if isinstance(value, Integral) and int(value) > most(name):
        raise DataError(f"{name} is {value!r}; give at most {most(name):,}")
    raise DataError(f"{name} is {value!r}; give a whole number from {least}")


def check_finite(name: str, value: float) -> None:
    """Refuse nan and infinities."""
    if not math.isfinite(value):
        raise DataError(f"{name} is {value}; give a number")
