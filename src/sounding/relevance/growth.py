"""How the relevant documents of a topic grow in number as its pool deepens, and how many may remain."""

from __future__ import annotations

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.runs.ranking import Counts, Judgments, Values

STEEPEST = -50.0  # slope of a growth that is over after the first rank
LOG_MOST = 30.0  # log of a depth so large that it is no end
HALVINGS = 60  # of the interval in which the slope is looked for


def found_by_depth(judgments: Judgments, level: float = 1, *, depth: int | None = None) -> NDArray[np.int64]:
    """(topic, depth): relevant documents that the pool first holds at each depth, from 1 to its last.

    `depth` is that to which was pooled; None: the deepest at which a document came in.
    """
    ranks = judgments.pool_ranks
    if ranks is None:
        raise DataError(
            "growth needs the rank at which each document was pooled; give qrels with pool ranks"
            " (a pool_rank column), or the pool itself: --pool-depth D --info FILE"
        )
    depth = int(ranks.max(initial=0)) if depth is None else depth
    chosen = (judgments.grades >= level) & (ranks > 0) & (ranks <= depth)
    place = judgments.topic[chosen] * depth + ranks[chosen] - 1
    counts = np.bincount(place, minlength=len(judgments.topics) * depth)
    return counts.reshape(len(judgments.topics), depth)


def expected_beyond(found: NDArray[np.int64], depth: int) -> Values:
    """How many more relevant documents each topic would give down to `depth`, by extrapolation.

    Zobel (1998): the number n of new relevant documents at pool depth d follows n = C d^s - 1. C and s
    are fitted to log(n + 1) over the depths seen, topic by topic; a growing rate counts as constant.
    """
    topics, pooled = found.shape
    if depth <= pooled or not topics:
        return np.zeros(topics)
    level, slope = _law(found)
    ahead = np.log(np.arange(pooled + 1, depth + 1))
    rate = np.exp(level[:, np.newaxis] + slope[:, np.newaxis] * ahead) - 1
    return np.maximum(rate, 0.0).sum(axis=1)


def last_depth(found: NDArray[np.int64]) -> Values:
    """(topic,): the depth behind which the same law gives no more relevant documents; inf: it has no end."""
    level, slope = _law(found)
    ratio = np.divide(-level, slope, out=np.full(len(level), np.inf), where=slope < 0)
    end = np.floor(np.exp(np.minimum(ratio, LOG_MOST)))
    return np.where(level <= 0, 0.0, np.where(ratio < LOG_MOST, end, np.inf))


def _law(found: NDArray[np.int64]) -> tuple[Values, Values]:
    """(topic,) twice: log C and s of Zobel's law."""
    pooled = found.shape[1]
    if pooled < 2:
        raise DataError(f"a pool of depth {pooled} shows no growth; give at most a number instead")
    position = np.log(np.arange(1, pooled + 1))
    height = np.log1p(found)
    centerd = position - position.mean()
    slope = np.minimum((height @ centerd) / (centerd @ centerd), 0.0)
    return height.mean(axis=1) - slope * position.mean(), slope


def likely_beyond(found: NDArray[np.int64], depth: int) -> Values:
    """The same by a Poisson fit: n is a Poisson number of mean C d^s, C and s the likeliest, s at most 0.

    The mean of logs, which Zobel's fit goes by, lies below the log of the mean; here the fitted numbers
    sum to those that were found.
    """
    topics, pooled = found.shape
    if depth <= pooled or not topics:
        return np.zeros(topics)
    if pooled < 2:
        raise DataError(f"a pool of depth {pooled} shows no growth; give at most a number instead")
    position = np.log(np.arange(1, pooled + 1))
    total = found.sum(axis=1)
    # The likeliest slope gives the fitted numbers the mean log depth that the found ones have.
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
    """The extrapolated number of relevant documents not found yet, rounded up."""
    return np.ceil(expected_beyond(found_by_depth(judgments, level), depth)).astype(np.int64)
