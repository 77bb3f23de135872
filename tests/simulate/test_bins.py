"""Bins of runs that a test does not tell apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ttest_rel

from sounding.simulate.trial import bins_of


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_differs_from_the_best_of_its_bin_begins_the_next(seed: int) -> None:
    rng = np.random.default_rng(seed)
    by_topic = rng.random((12, 7)) * 0.4 + np.linspace(0, 0.8, 7)[rng.permutation(7)]
    bins = bins_of(by_topic)
    order = np.argsort(-by_topic.mean(axis=0))
    best, number = order[0], 0
    for run in order:
        if run != best and ttest_rel(by_topic[:, best], by_topic[:, run]).pvalue <= 0.05:
            best, number = run, number + 1
        assert bins[run] == number
    assert 1 < len(set(bins.tolist())) < 7


def test_equal_runs_share_a_bin_and_one_run_is_its_own() -> None:
    assert bins_of(np.array([[0.1, 0.1], [0.5, 0.5], [0.2, 0.2]])).tolist() == [0, 0]
    assert bins_of(np.array([[0.1], [0.2]])).tolist() == [0]
