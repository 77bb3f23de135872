"""Test whether one run's error is larger than the others', over topics, for all runs together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import special

from sounding.core.arrays import NDArray
from sounding.statistics.randomization import draw_flips, enumerate_flips, lists_all_flips
from sounding.statistics.testing import PERMUTATIONS

Floats = NDArray[np.float64]

PERMUTED = 2000
AT_ONCE = 250


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Contrasts:
    """The mean contrast of each run, with one-sided tests of whether it is above 0."""

    means: Floats  # (run,)
    low: Floats  # (run,) interval by Student's t over topics
    high: Floats
    p: Floats  # (run,) of the run alone
    p_adjusted: Floats  # (run,) for the largest of all runs, step-down


def contrasts_over_topics(values: Floats, *, confidence: float = 0.95, seed: int = 0) -> Contrasts:
    """Test the means of contrasts (run, topic) against 0 by flipping the signs of topics, all runs together.

    The statistic is the sum over topics by the root of the sum of squares, which flips do not change. The
    adjusted p compares it with the largest of the runs that are no more extreme (max-t, step-down).
    """
    runs, topics = values.shape
    means = values.mean(axis=1)
    reach = np.full(runs, np.nan)
    if topics > 1:
        quantile = special.stdtrit(topics - 1, (1 + confidence) / 2)
        reach = quantile * values.std(axis=1, ddof=1) / np.sqrt(topics)
    scale = np.sqrt((values**2).sum(axis=1))
    scaled = np.divide(values, scale[:, None], out=np.zeros_like(values), where=scale[:, None] > 0)
    observed = scaled.sum(axis=1)
    listed = lists_all_flips(topics, PERMUTATIONS)
    flips = (
        enumerate_flips(topics) if listed else draw_flips(topics, PERMUTATIONS, np.random.default_rng(seed))
    )
    p, adjusted = _step_down(observed, flips.sums(scaled), flips.share)
    return Contrasts(means=means, low=means - reach, high=means + reach, p=p, p_adjusted=adjusted)


def _step_down(
    observed: Floats, sums: Floats, share: Callable[[NDArray[np.int64]], Floats]
) -> tuple[Floats, Floats]:
    """Return p of each run alone, and for the largest of the runs that are no more extreme."""
    limit = observed[:, None] - 1e-9
    p = share(np.count_nonzero(sums >= limit, axis=1))
    order = np.argsort(observed, kind="stable")  # the least extreme first
    largest = np.maximum.accumulate(sums[order], axis=0)
    adjusted = np.empty(len(observed))
    adjusted[order] = share(np.count_nonzero(largest >= limit[order], axis=1))
    adjusted[order] = np.maximum.accumulate(adjusted[order][::-1])[::-1]
    return p, adjusted


def permuted_within_groups(
    weights: Floats, scores: Floats, group: NDArray[np.int64], *, draws: int = PERMUTED, seed: int = 0
) -> tuple[Floats, Floats]:
    """Test weighted sums of scores against 0 by permuting the scores within groups, all runs together.

    `weights` is (run, document) and sums to 0 within each group. If nothing but the group decides about a
    score, the test is exact. Return p of each run alone and adjusted as in `contrasts_over_topics`.
    """
    rng = np.random.default_rng(seed)
    parts = [(group == one).nonzero()[0] for one in np.unique(group)]
    # Of n scores in random order, the variance of a sum with these weights is their product by n - 1.
    variance = sum(
        (weights[:, own] ** 2).sum(axis=1) * ((scores[own] - scores[own].mean()) ** 2).sum()
        / max(len(own) - 1, 1)
        for own in parts
    )  # fmt: skip
    error = np.sqrt(variance)
    scaled = np.divide(weights, error[:, None], out=np.zeros_like(weights), where=error[:, None] > 0)
    sums = np.zeros((len(weights), draws))
    for begin in range(0, draws, AT_ONCE):
        some = slice(begin, min(begin + AT_ONCE, draws))
        for own in parts:
            shuffled = rng.permuted(np.tile(scores[own], (some.stop - begin, 1)), axis=1)
            sums[:, some] += scaled[:, own] @ shuffled.T
    return _step_down(scaled @ scores, sums, lambda above: (1 + above) / (1 + draws))
