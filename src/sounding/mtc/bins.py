"""Bins of runs that cannot be told apart, as test collections are often summarised."""

from __future__ import annotations

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.claims import test_pairs as tested_pairs
from sounding.compare.pairs import all_pairs
from sounding.ranking import Counts

ALPHA = 0.05


def bins_of(by_topic: NDArray[np.float64], alpha: float = ALPHA) -> Counts:
    """(run,) the bin of each run, 0 the best, from values by topic and run; two topics or more are needed.

    From the best run down, the first that differs significantly from the best of its bin begins the next
    one: paired t test, each pair for itself.
    """
    runs = by_topic.shape[1]
    bins = np.zeros(runs, np.int64)
    if runs < 2:
        return bins
    pairs = all_pairs(runs)
    tests = tested_pairs(
        by_topic.T, pairs, test="t", correction="none", alpha=alpha, rng=np.random.default_rng(0)
    )
    differ = np.zeros((runs, runs), np.bool_)
    differ[pairs[:, 0], pairs[:, 1]] = tests.significant_alone
    differ |= differ.T
    order = np.argsort(-by_topic.mean(axis=0), kind="stable").tolist()
    best, number = order[0], 0
    for run in order[1:]:
        if differ[best, run]:
            best, number = run, number + 1
        bins[run] = number
    return bins
