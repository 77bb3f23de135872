"""How large a difference is: standardised, and topic by topic."""

from __future__ import annotations

import numpy as np

from sounding.arrays import NDArray
from sounding.compare import student
from sounding.compare.pairs import Differences
from sounding.compare.registry import Floats


def cohens_dz(gaps: Differences) -> Floats:
    """(pair,): mean difference over the standard deviation of the differences.

    0 where all are 0, infinite where they are all equal and not 0, NaN for fewer than two topics.
    """
    deviation = gaps.deviation
    return np.where(gaps.topics > 1, student.ratio(gaps.mean, np.nan_to_num(deviation)), np.nan)


def wins_ties_losses(
    gaps: Differences,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(pair,) each: on how many topics run_a is better than run_b, as good, and worse."""
    wins = np.count_nonzero(gaps.values > 0, axis=1)
    losses = np.count_nonzero(gaps.values < 0, axis=1)
    return wins, gaps.topics - wins - losses, losses
