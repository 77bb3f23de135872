"""Bootstrap tests of pairs over topics, and intervals of the runs' means and ranks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import special
from sounding.runs.pairs import KnownLimits, blocks, differences
from sounding.statistics.testing import Floats, Outcome, PairedSample

KEPT_WEIGHTS = 2**22  # stored as floats up to here; as bytes beyond
RANK_DRAWS = 2000  # for intervals of ranks
DECIMALS = 12  # beyond these, two means differ only by rounding

Weights = NDArray[np.float64] | NDArray[np.uint8]  # (resample, topic)


def bootstrap(request: PairedSample) -> Outcome:
    """Bootstrap test on the studentised mean difference, with BCa intervals.

    p is the share of resamples whose |t|, about the observed mean, reaches the observed |t|: the null
    hypothesis by a shift of the differences to mean 0.
    """
    return _bootstrap(request, bca_interval, "BCa")


def bootstrap_percentile(request: PairedSample) -> Outcome:
    """Bootstrap test on the studentised mean difference, with percentile intervals."""
    return _bootstrap(request, percentile_interval, "percentile")


@dataclass(frozen=True, slots=True, eq=False)
class Resampled:
    """Pairs with equally many topics, and their resampled means."""

    centered: Floats  # (pair, topic): differences minus their mean
    mean: Floats  # (pair,)
    means: Floats  # (pair, resample), ascending


IntervalMethod = Callable[[Resampled, float], tuple[Floats, Floats]]


def _bootstrap(request: PairedSample, interval: IntervalMethod, name: str) -> Outcome:
    count = len(request.pairs)
    p, low, high = np.ones(count), np.full(count, -np.inf), np.full(count, np.inf)
    for rows, centered, mean, weights in _groups(request):
        shifts = _weighted(centered, weights)
        p[rows] = _studentized_p(mean, shifts, np.mean(centered**2, axis=1), _weighted(centered**2, weights))
        shifts.sort(axis=1)
        sample = Resampled(centered, mean, shifts + mean[:, np.newaxis])
        low[rows], high[rows] = interval(sample, request.alpha)
    return Outcome(
        p=p, limits=KnownLimits(np.stack([low, high])),
        least=1 / (1 + request.permutations), drawn=request.permutations,
        method=(
            f"bootstrap test on the studentised mean, null by shift"
            f" ({request.permutations:,} resamples of topics, {request.seed})"
        ),
        interval=f"of the mean, by bootstrap ({name})",
    )  # fmt: skip


def _groups(request: PairedSample) -> Iterator[tuple[NDArray[np.intp], Floats, Floats, Weights]]:
    """Yield blocks of pairs with equally many topics, not all equal: rows, centered, mean, weights."""
    spread = np.zeros(len(request.pairs), np.bool_)
    topics = np.zeros(len(request.pairs), np.int64)
    for part, gaps in request.differences():
        spread[part] = gaps.squares > 0
        topics[part] = gaps.topics
    seed = int(request.rng.integers(2**63))
    for count in np.unique(topics[spread]).tolist():
        weights = draw_weights(count, request.permutations, np.random.default_rng([seed, count]))
        same = np.flatnonzero(spread & (topics == count))
        for block in blocks(len(same), request.permutations):
            rows = same[block]
            gaps = differences(request.values, request.pairs[rows], request.decimals)
            yield rows, gaps.leading(count) - gaps.mean[:, np.newaxis], gaps.mean, weights


def draw_weights(topics: int, count: int, rng: np.random.Generator) -> Weights:
    """(resample, topic): Return how often each topic is drawn in samples of the original size."""
    # Floats if there are few topics. Bytes suffice: a topic is drawn 256 times with probability 1e-500.
    kind = np.float64 if count * topics <= KEPT_WEIGHTS else np.uint8
    weights = np.empty((count, topics), kind)
    for rows in blocks(count, topics):
        weights[rows] = rng.multinomial(topics, np.full(topics, 1 / topics), rows.stop - rows.start)
    return weights


def _weighted(values: Floats, weights: Weights) -> Floats:
    """(row, resample): Return the means of the values (row, topic) over each resample of topics."""
    means = np.empty((len(values), len(weights)))
    # Bytes are converted to floats block by block; floats are used as they are.
    width = 1 if weights.dtype == np.float64 else weights.shape[1]
    for rows in blocks(len(weights), width):
        np.matmul(values, weights[rows].astype(np.float64, copy=False).T, out=means[:, rows])
    means /= values.shape[1]
    return means


def _studentized_p(mean: Floats, shifts: Floats, variance: Floats, squares: Floats) -> Floats:
    """Return the share of resamples with |shift| / deviation at least |mean| / deviation.

    The observed data count as one resample. A resample without spread counts as extreme.
    """
    spread = np.maximum(squares - shifts**2, 0.0)
    reached = shifts**2 * variance[:, np.newaxis]
    wanted = spread * (mean**2)[:, np.newaxis]
    extreme = np.count_nonzero(reached >= wanted * (1 - 1e-12), axis=1)
    return (1 + extreme) / (1 + shifts.shape[1])


def percentile_interval(sample: Resampled, alpha: float) -> tuple[Floats, Floats]:
    """Return the alpha / 2 and 1 - alpha / 2 quantiles of the resampled means."""
    level = np.full(len(sample.means), alpha / 2)
    return _quantile(sample.means, level), _quantile(sample.means, 1 - level)


def bca_interval(sample: Resampled, alpha: float) -> tuple[Floats, Floats]:
    """Return percentiles corrected for bias and acceleration (Efron 1987)."""
    count = sample.means.shape[1]
    shifts = sample.means - sample.mean[:, np.newaxis]
    slack = 1e-12 * np.abs(sample.centered).max(axis=1, keepdims=True)  # equal up to rounding
    below = np.count_nonzero(shifts < -slack, axis=1)
    upto = np.count_nonzero(shifts <= slack, axis=1)
    share = np.clip((below + upto) / (2 * count), 0.5 / count, 1 - 0.5 / count)
    bias = special.ndtri(share)
    # The jackknife influence of a topic on a mean is proportional to its centered value.
    cubes = np.sum(sample.centered**3, axis=1)
    acceleration = cubes / (6 * np.sum(sample.centered**2, axis=1) ** 1.5)

    def level(z: float) -> Floats:
        moved = bias + z
        return np.asarray(special.ndtr(bias + moved / (1 - acceleration * moved)), np.float64)

    z = float(special.ndtri(alpha / 2))
    return _quantile(sample.means, level(z)), _quantile(sample.means, level(-z))


def _quantile(ordered: Floats, level: Floats) -> Floats:
    """(row,): Return each row's quantile at its own level, with linear interpolation."""
    place = np.clip(level, 0.0, 1.0) * (ordered.shape[1] - 1)
    left = np.floor(place).astype(np.intp)
    right = np.minimum(left + 1, ordered.shape[1] - 1)
    rows = np.arange(len(ordered))
    return ordered[rows, left] + (place - left) * (ordered[rows, right] - ordered[rows, left])


# -- intervals of runs -----------------------------------------------------------------------------


def mean_intervals(values: Floats, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Return the lower and the upper limit of each run's mean over topics, corrected for skewness.

    `values` are (run, topic); NaN: no value. This is Hall's (1992) transformed t interval. Values of most
    measures are skewed, which makes Student's interval too narrow for few topics: docs/report.md has the
    coverage of both. The limits are NaN for fewer than three topics, and equal if values do not vary.
    """
    known = ~np.isnan(values)
    count = np.count_nonzero(known, axis=1).astype(np.float64)
    some = np.maximum(count, 1)
    mean = np.where(known, values, 0.0).sum(axis=1) / some
    centered = np.where(known, values - mean[:, np.newaxis], 0.0)
    squares = np.mean(centered**2, axis=1) * values.shape[1] / some
    cubes = np.mean(centered**3, axis=1) * values.shape[1] / some
    varies = squares > 1e-24
    skewness = np.divide(cubes, np.where(varies, squares, 1.0) ** 1.5, out=np.zeros(len(mean)), where=varies)
    slope = skewness / np.sqrt(some)
    slope = np.where(np.abs(slope) < 1e-9, 1e-9, slope)  # symmetric: the formula divides by it
    error = np.sqrt(squares / np.maximum(count - 1, 1))
    t = special.stdtrit(np.maximum(count - 1, 1), (1 + level) / 2)

    def untransformed(quantile: Floats) -> Floats:
        return np.asarray(3 / slope * (np.cbrt(1 + slope * (quantile - slope / 6)) - 1), np.float64)

    low, high = mean - error * untransformed(t), mean - error * untransformed(-t)
    enough = count >= 3
    return np.where(enough, low, np.nan), np.where(enough, high, np.nan)


class RankIntervals(NamedTuple):
    """The best and the worst rank of each run within the interval, from 1."""

    best: NDArray[np.int64]  # (run,)
    worst: NDArray[np.int64]  # (run,)


def rank_intervals(
    values: Floats, *, level: float = 0.95, draws: int = RANK_DRAWS, seed: int = 0
) -> RankIntervals:
    """Return the places that each run takes in most bootstrap samples of topics.

    `values` are (run, topic). A run's mean is over the topics on which it has a value; equal means share
    the better place. Limits are rounded outward. A percentile interval over n topics is too narrow, because
    it lacks the factor sqrt(n / (n - 1)) and uses normal quantiles, not Student's. So the tails that are cut
    off are smaller than 1 - level (Hesterberg 2015).
    """
    topics = values.shape[1]
    known = ~np.isnan(values)
    weights = draw_weights(topics, draws, np.random.default_rng(seed)).astype(np.float64, copy=False)
    counts = weights @ known.T.astype(np.float64)
    totals = weights @ np.where(known, values, 0.0).T
    means = np.divide(totals, counts, out=np.full(totals.shape, -np.inf), where=counts > 0)  # (draw, run)
    losses = -np.round(means, DECIMALS)
    places = 1 + np.array([np.searchsorted(np.sort(row), row) for row in losses])
    degrees = max(topics - 1, 1)
    tail = float(special.ndtr(-np.sqrt(topics / degrees) * special.stdtrit(degrees, (1 + level) / 2)))
    best = np.quantile(places, tail, axis=0, method="lower")
    worst = np.quantile(places, 1 - tail, axis=0, method="higher")
    return RankIntervals(best.astype(np.int64), worst.astype(np.int64))
