"""Estimate how many relevant documents a deeper pool would find, from their growth with pool depth."""

from __future__ import annotations

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.runs.ranking import Counts, Judgments, Values

STEEPEST = -50.0  # slope if growth ends after the first rank
LOG_MOST = 30.0  # log of a depth that counts as infinite
HALVINGS = 60  # bisection steps when searching for the slope


def count_by_depth(judgments: Judgments, level: float = 1, *, depth: int | None = None) -> NDArray[np.int64]:
    """(topic, depth): Count the relevant documents that the pool first contains at each depth, from 1.

    `depth` is the pool depth; None: the deepest rank at which a document was pooled.
    """
    ranks = judgments.pool_ranks
    if ranks is None:
        raise DataError(
            "growth needs the rank at which each document was pooled; give qrels with pool ranks"
            " (a pool_rank column), or describe the pool with --pool-depth D --info FILE"
        )
    depth = int(ranks.max(initial=0)) if depth is None else depth
    chosen = (judgments.grades >= level) & (ranks > 0) & (ranks <= depth)
    place = judgments.topic[chosen] * depth + ranks[chosen] - 1
    counts = np.bincount(place, minlength=len(judgments.topics) * depth)
    return counts.reshape(len(judgments.topics), depth)


def expected_beyond(found: NDArray[np.int64], depth: int) -> Values:
    """Extrapolate how many more relevant documents each topic would have down to `depth`.

    Zobel (1998): the number n of new relevant documents at pool depth d follows n = C d^s - 1. C and s are
    fitted to log(n + 1) over the known depths, topic by topic; a growing rate counts as constant.
    """
    topics, pooled = found.shape
    if depth <= pooled or not topics:
        return np.zeros(topics)
    level, slope = _law(found)
    ahead = np.log(np.arange(pooled + 1, depth + 1))
    rate = np.exp(level[:, np.newaxis] + slope[:, np.newaxis] * ahead) - 1
    return np.maximum(rate, 0.0).sum(axis=1)


def last_depth(found: NDArray[np.int64]) -> Values:
    """(topic,): Return the depth after which the same law gives no more relevant documents; inf: none."""
    level, slope = _law(found)
    ratio = np.divide(-level, slope, out=np.full(len(level), np.inf), where=slope < 0)
    end = np.floor(np.exp(np.minimum(ratio, LOG_MOST)))
    return np.where(level <= 0, 0.0, np.where(ratio < LOG_MOST, end, np.inf))


def _law(found: NDArray[np.int64]) -> tuple[Values, Values]:
    """(topic,) twice: Fit log C and s of Zobel's law."""
    pooled = found.shape[1]
    if pooled < 2:
        raise DataError(
            f"a pool of depth {pooled} shows no growth; give a number in place of the extrapolation"
        )
    position = np.log(np.arange(1, pooled + 1))
    height = np.log1p(found)
    centerd = position - position.mean()
    slope = np.minimum((height @ centerd) / (centerd @ centerd), 0.0)
    return height.mean(axis=1) - slope * position.mean(), slope


def likely_beyond(found: NDArray[np.int64], depth: int) -> Values:
    """Extrapolate by a Poisson fit: n is Poisson with mean C d^s, C and s most likely, s at most 0.

    Zobel's fit uses the mean of logs, which lies below the log of the mean; here the fitted numbers sum to
    the observed ones.
    """
    topics, pooled = found.shape
    if depth <= pooled or not topics:
        return np.zeros(topics)
    if pooled < 2:
        raise DataError(
            f"a pool of depth {pooled} shows no growth; give a number in place of the extrapolation"
        )
    position = np.log(np.arange(1, pooled + 1))
    total = found.sum(axis=1)
    # The most likely slope gives the fitted numbers the same mean log depth as the observed ones.
    wanted = np.divide(found @ position, total, out=np.zeros(topics), where=total > 0)
    low, high = np.full(topics, STEEPEST), np.zeros(topics)
    for _ in range(HALVINGS):
        slope = (low + high) / 2
        heights = np.exp(slope[:, np.newaxis] * position)
        deeper = (heights @ position) / heights.sum(axis=1) > wanted
        low, high = np.where(deeper, low, slope), np.where(deeper, slope, high)
    heights = np.exp(high[:, np.newaxis] * position)
    ahead = np.exp(high[:, np.newaxis] * np.log(np.arange(pooled + 1, depth + 1)))
    return total / heights.sum(axis=1) * ahead.sum(axis=1)


def new_relevant(judgments: Judgments, level: float, depth: int) -> Counts:
    """Extrapolate the number of relevant documents that are not yet found, rounded up."""
    return np.ceil(expected_beyond(count_by_depth(judgments, level), depth)).astype(np.int64)
