"""Equivalence and non-inferiority: differences that are surely smaller than a margin that matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.compare import student
from sounding.compare.registry import Floats


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Equivalence:
    """Two one-sided t tests against a margin (TOST, Schuirmann 1987), for every pair."""

    margin: float
    p: Floats  # (pair,) equivalence: of the claim -margin < difference < margin
    p_adjusted: Floats  # (pair,)
    noninferior_p: Floats  # (pair,) of the claim that run_a is not worse than run_b by the margin
    noninferior_p_adjusted: Floats  # (pair,)
    method: str


def one_sided(
    difference: Floats, error: Floats, df: student.Degrees, topics: NDArray[np.int64], margin: float
) -> tuple[Floats, Floats]:
    """(pair,) each: p of the claim difference > -margin, and of the claim difference < margin.

    Where the differences do not vary there is no t: a sign test on the topics, which all agree.
    """
    known = topics > 1

    def claim(distance: Floats) -> Floats:
        by_sign = np.where(distance > 0, 0.5**topics, 1.0)
        by_t = student.above(student.ratio(distance, error), df)
        return np.where(known, np.where(error > 0, by_t, by_sign), 1.0)

    return claim(difference + margin), claim(margin - difference)
