"""Random numbers for different purposes that never repeat each other, all from one seed."""

from __future__ import annotations

from typing import Literal

import numpy as np

Purpose = Literal["order", "weights", "levels", "relevance"]

# The purpose goes first: NumPy takes seeds that differ in zeros at the end for the same.
_NUMBERS: dict[Purpose, int] = {"order": 1, "weights": 2, "levels": 3, "relevance": 4}


def generator(purpose: Purpose, *seed: int) -> np.random.Generator:
    """A generator for one purpose; a purpose always has seeds of one length."""
    return np.random.default_rng([_NUMBERS[purpose], *seed])
