"""Upper limits of all numbers that users can give; larger ones would take forever or fill the memory."""

from __future__ import annotations

import math
from numbers import Integral

from sounding.core.errors import DataError

# for numbers without their own limit that cost nothing: a depth, a budget, rows to show
COUNT = 1_000_000_000
ROWS = 100_000_000  # rows of a simulated collection, over all runs

MOST = {
    "seed": 2**63 - 1,
    "jobs": 1_024,
    "k": 10_000_000,  # the cut-off of a measure
    "depths": 100_000,  # depths of a table that is computed at every rank
    # Random draws. The sampling error at these counts is far below the digits that are printed.
    "draws": 100_000,
    "repeats": 10_000,
    "resamples": 100_000,
    "samples": 10_000_000,
    "permutations": 10_000_000,
    "sets": 100_000,
    "worlds": 10_000,
    # Questions to a language model.
    "repeat": 1_000,
    "concurrency": 1_000,
    "timeout": 86_400,  # seconds
    # Sizes of a simulated collection.
    "topics": 1_000_000,
    "groups": 100_000,
    "systems": 100_000,
    "documents": 10_000_000,
    "length": 10_000_000,
    "grades": 1_000,
}


def most(name: str) -> int:
    """Return the largest allowed value of an option or parameter."""
    return MOST.get(name, COUNT)


def is_count(name: str, value: object, least: int) -> bool:
    """Return whether a value is an integer from `least` to the limit of `name`."""
    return isinstance(value, Integral) and not isinstance(value, bool) and least <= int(value) <= most(name)


def check_count(name: str, value: object, least: int) -> None:
    """Raise an error unless a value is an integer from `least` to the limit of `name`."""
    if is_count(name, value, least):
        return
    if isinstance(value, Integral) and int(value) > most(name):
        raise DataError(f"{name} is {value!r}; give at most {most(name):,}")
    raise DataError(f"{name} is {value!r}; give a whole number from {least}")


def check_finite(name: str, value: float) -> None:
    """Raise an error if a value is NaN or infinite."""
    if not math.isfinite(value):
        raise DataError(f"{name} is {value}; give a number")
