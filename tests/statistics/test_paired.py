"""Paired t and sign tests against SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sounding.runs.pairs import all_pairs
from sounding.statistics.pairwise import PairTests, pairwise_tests


def table(runs: int, topics: int, seed: int, *, steps: int | None = None) -> NDArray[np.float64]:
    """Values of runs that share topics; in so many steps, where ties are wanted."""
    rng = np.random.default_rng(seed)
    values = np.clip(rng.beta(1, 3, topics) + rng.normal(0, 0.15, (runs, topics)), 0, 1)
    return values if steps is None else np.round(values * steps) / steps


def run(values: NDArray[np.float64], test: str, alpha: float = 0.05) -> PairTests:
    pairs = all_pairs(len(values))
    return pairwise_tests(
        values, pairs, test=test, correction="none", alpha=alpha, rng=np.random.default_rng(1)
    )


@pytest.mark.parametrize("topics", [2, 3, 10, 50, 200])
@pytest.mark.parametrize("steps", [None, 8])
def test_t_agrees_with_scipy(topics: int, steps: int | None) -> None:
    values = table(6, topics, topics, steps=steps)
    result = run(values, "t", alpha=0.1)
    for number, (a, b) in enumerate(result.pairs.tolist()):
        if np.ptp(values[a] - values[b]) == 0:
            continue
        theirs = stats.ttest_rel(values[a], values[b])
        limits = theirs.confidence_interval(0.9)
        assert result.p[number] == pytest.approx(theirs.pvalue, rel=1e-9)
        assert result.ci_low[number] == pytest.approx(limits.low, rel=1e-9, abs=1e-12)
        assert result.ci_high[number] == pytest.approx(limits.high, rel=1e-9, abs=1e-12)


def test_effect_is_the_mean_over_the_deviation_of_differences() -> None:
    values = np.array(
        [[0.9, 0.7, 0.8], [0.5, 0.6, 0.4]]
    )  # differences .4 .1 .4: mean .3, deviation sqrt(.03)
    assert run(values, "t").effect[0] == pytest.approx(0.3 / np.sqrt(0.03))


@pytest.mark.parametrize("topics", [2, 5, 12, 50, 120])
@pytest.mark.parametrize("steps", [None, 4])
def test_sign_agrees_with_scipys_binomial_test(topics: int, steps: int | None) -> None:
    values = table(6, topics, topics + 1, steps=steps)
    result = run(values, "sign")
    for number, (a, b) in enumerate(result.pairs.tolist()):
        wins = int(np.sum(values[a] > values[b]))
        losses = int(np.sum(values[a] < values[b]))
        if wins + losses:
            theirs = stats.binomtest(wins, wins + losses).pvalue
            assert result.p[number] == pytest.approx(theirs, rel=1e-9)
        assert (result.wins[number], result.losses[number]) == (wins, losses)
        assert result.ties[number] == topics - wins - losses


@pytest.mark.parametrize(("topics", "k"), [(5, 0), (6, 1), (10, 2), (20, 6), (50, 18)])
def test_the_signs_interval_goes_from_the_kth_smallest_to_the_kth_largest(topics: int, k: int) -> None:
    # k by the usual tables of confidence intervals for a median at 95%.
    values = np.vstack([np.random.default_rng(3).permutation(topics) + 1.0, np.zeros(topics)])
    result = run(values, "sign")
    limits = (k, topics + 1 - k) if k else (-np.inf, np.inf)
    assert (result.ci_low[0], result.ci_high[0]) == limits
