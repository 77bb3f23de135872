"""Many tests at once: p-values adjusted so that they can be held against alpha."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sounding.compare.registry import Floats
from sounding.errors import UnknownNameError


def no_correction(p: Floats) -> Floats:
    """The p-values as they are: alpha holds for each pair by itself."""
    return p.copy()


def bonferroni(p: Floats) -> Floats:
    """Times the number of tests: chance of any false claim at most alpha."""
    return np.minimum(1.0, p * len(p))


def holm(p: Floats) -> Floats:
    """Bonferroni step by step: the same promise, never a larger p."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1.0, adjusted)


def benjamini_hochberg(p: Floats) -> Floats:
    """False discovery rate: the expected share of false claims among all claims is at most alpha."""
    order = np.argsort(p, kind="stable")[::-1]
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return np.minimum(1.0, adjusted)


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": no_correction,
    "bonferroni": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
}
MAX_T = "max-t"  # needs the sign flips, and is made with them
CORRECTION_NAMES = (*CORRECTIONS, MAX_T)
CORRECTION_ALIASES = {"fdr": "bh"}  # spellings that are taken as they are


def find_correction(name: str) -> str:
    """The correction of that name, in any spelling; an error with the nearest names where there is none."""
    name = CORRECTION_ALIASES.get(name, name)
    if name not in CORRECTION_NAMES:
        raise UnknownNameError("correction", name, CORRECTION_NAMES)
    return name
