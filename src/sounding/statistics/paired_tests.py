"""Paired tests of two runs: t, sign, and Wilcoxon's signed-rank test with its interval."""

from __future__ import annotations

from functools import lru_cache
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import special
from sounding.runs.pairs import Differences, KnownLimits, blocks
from sounding.statistics import testing as student
from sounding.statistics.randomization import enumerate_flips, share_as_extreme
from sounding.statistics.testing import Floats, Outcome, PairedSample


def paired_t(request: PairedSample) -> Outcome:
    """Paired t test on the mean difference.

    Differences that are all equal leave no error to compare with: p = 1 and no limits.
    """
    p, low, high = np.empty((3, len(request.pairs)))
    for rows, gaps in request.differences():
        p[rows], low[rows], high[rows] = _t(gaps, request.alpha)
    return Outcome(
        p=p, limits=KnownLimits(np.stack([low, high])), method="paired t test", interval="of the mean, by t"
    )


def _t(gaps: Differences, alpha: float) -> tuple[Floats, Floats, Floats]:
    df = np.maximum(gaps.topics - 1, 1)
    error = np.sqrt(gaps.squares / df / np.maximum(gaps.topics, 1))
    tested = (gaps.topics > 1) & (error > 0)
    same = (gaps.topics > 1) & (error == 0) & (gaps.mean == 0)
    p = np.where(tested, student.two_sided(student.ratio(gaps.mean, error), df), 1.0)
    # At a very small alpha the critical value is infinite, and infinity times 0 is not a number.
    half = student.critical(alpha, df) * np.where(tested, error, 1.0)
    reach = np.where(tested, half, np.where(same, 0.0, np.inf))
    return p, gaps.mean - reach, gaps.mean + reach


def sign(request: PairedSample) -> Outcome:
    """Sign test on the median difference, ties left out.

    The interval is that of the median between two order statistics, ties included: at least 1 - alpha.
    """
    p, low, high = np.empty((3, len(request.pairs)))
    for rows, gaps in request.differences():
        wins = np.count_nonzero(gaps.values > 0, axis=1)
        losses = np.count_nonzero(gaps.values < 0, axis=1)
        p[rows] = np.minimum(1.0, 2 * special.bdtr(np.minimum(wins, losses), wins + losses, 0.5))
        low[rows], high[rows] = _median_interval(gaps, request.alpha)
    return Outcome(
        p=p, limits=KnownLimits(np.stack([low, high])),
        method="sign test (exact binomial, ties dropped)",
        interval="of the median difference, not of the mean: from order statistics", center="median",
        least=float(0.5 ** (request.values.shape[1] - 1)),
    )  # fmt: skip


def _median_interval(gaps: Differences, alpha: float) -> tuple[Floats, Floats]:
    """Return the k-th smallest and the k-th largest difference, with k as large as alpha allows."""
    ordered = gaps.ascending()
    low = np.full(len(ordered), -np.inf)
    high = np.full(len(ordered), np.inf)
    for topics in np.unique(gaps.topics).tolist():
        k = int(np.count_nonzero(special.bdtr(np.arange(topics), topics, 0.5) <= alpha / 2))
        if k > 0:
            rows = gaps.topics == topics
            low[rows] = ordered[rows, k - 1]
            high[rows] = ordered[rows, topics - k]
    return low, high


EXACT_TOPICS = 50  # like SciPy: the exact distribution up to here if no two ranks tie
ENUMERATED_TOPICS = 13  # like SciPy: all sign flips of tied ranks up to here

LISTED_TOPICS = 1_000  # Walsh averages are listed up to here

ZeroMethod = Literal["wilcox", "pratt"]


def wilcoxon(request: PairedSample) -> Outcome:
    """Wilcoxon signed-rank test, differences of 0 dropped before ranking."""
    return _signed_rank(request, "wilcox")


def wilcoxon_pratt(request: PairedSample) -> Outcome:
    """Wilcoxon signed-rank test, differences of 0 ranked first and then dropped (Pratt)."""
    return _signed_rank(request, "pratt")


def _signed_rank(request: PairedSample, zeros: ZeroMethod) -> Outcome:
    p, low, high = np.empty((3, len(request.pairs)))
    for rows, gaps in request.differences():
        p[rows] = signed_rank_p(gaps, zeros)
        low[rows], high[rows] = walsh_interval(gaps, request.alpha)
    return Outcome(
        p=p, limits=KnownLimits(np.stack([low, high])),
        method=(
            f"Wilcoxon signed-rank test (zeros: {zeros}; exact up to {EXACT_TOPICS} topics without ties and"
            f" up to {ENUMERATED_TOPICS} with ties, else normal with tie and continuity correction)"
        ),
        interval="of the pseudomedian (Hodges-Lehmann), not of the mean: from Walsh averages",
        center="pseudomedian", least=float(0.5 ** (request.values.shape[1] - 1)),
    )  # fmt: skip


def signed_rank_p(gaps: Differences, zeros: ZeroMethod) -> Floats:
    """Return the two-sided p of every pair; 1 if no difference is left."""
    ranked = gaps.known if zeros == "pratt" else gaps.values != 0
    ranks, ties = mid_ranks(np.abs(gaps.values), ranked)
    ranks[gaps.values == 0] = 0.0  # under Pratt's rule zeros are ranked and then dropped
    used = np.count_nonzero(gaps.values, axis=1)
    dropped = np.count_nonzero(ranked, axis=1) - used
    if zeros == "pratt":
        ties = ties - (dropped**3 - dropped)
    positive = np.sum(ranks, axis=1, where=gaps.values > 0)
    p = _normal_p(positive, used + dropped, dropped, ties)
    exact = (used <= EXACT_TOPICS) & (ties == 0) & (dropped == 0)
    for count in np.unique(used[exact]).tolist():
        rows = exact & (used == count)
        p[rows] = _exact_p(positive[rows], count)
    listed = ~exact & (used <= ENUMERATED_TOPICS)
    if listed.any():
        signed = np.copysign(ranks[listed], gaps.values[listed])
        p[listed] = _enumerated_p(signed)
    return np.where(used > 0, p, 1.0)


def mid_ranks(sizes: Floats, ranked: NDArray[np.bool_]) -> tuple[Floats, Floats]:
    """Return ranks from 1 along each row, with mean ranks for ties; and each row's sum of t^3 - t.

    Values that are not to be ranked get rank 0.
    """
    rows, width = sizes.shape
    order = np.argsort(np.where(ranked, sizes, np.inf), axis=1)
    ordered = np.take_along_axis(np.where(ranked, sizes, np.inf), order, axis=1)
    first = np.ones((rows, width), np.bool_)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(first)
    lengths = np.diff(starts, append=rows * width)
    ranks = np.empty((rows, width))
    np.put_along_axis(
        ranks, order, np.repeat(starts % width + (lengths + 1) / 2, lengths).reshape(rows, width), axis=1
    )
    counted = np.where(np.isfinite(ordered.ravel()[starts]), lengths, 1).astype(np.float64)
    ties = np.bincount(starts // width, counted**3 - counted, minlength=rows).astype(np.float64)
    return np.where(ranked, ranks, 0.0), ties


def _normal_p(positive: Floats, count: NDArray[np.int64], zeros: NDArray[np.int64], ties: Floats) -> Floats:
    """Return the normal approximation with tie and continuity correction; zeros as in Cureton (1967)."""
    mean = (count * (count + 1) - zeros * (zeros + 1)) / 4
    cubes = count * (count + 1) * (2 * count + 1) - zeros * (zeros + 1) * (2 * zeros + 1)
    error = np.sqrt(np.maximum(cubes - ties / 2, 0) / 24)
    distance = np.maximum(np.abs(positive - mean) - 0.5, 0.0)
    z = np.divide(distance, error, out=np.zeros_like(error), where=error > 0)
    return np.asarray(2 * special.ndtr(-z), np.float64)


@lru_cache(maxsize=64)
def signed_rank_cumulative(count: int) -> Floats:
    """Return the probabilities that the ranks 1..count with a positive sign sum to at most 0, 1, 2, ..."""
    ways = np.ones(1)
    for rank in range(1, count + 1):
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways / 2
        longer[rank:] += ways / 2
        ways = longer
    return np.cumsum(ways)


def _exact_p(positive: Floats, count: int) -> Floats:
    total = count * (count + 1) // 2
    smaller = np.minimum(positive, total - positive).astype(np.intp)
    return np.minimum(1.0, 2 * signed_rank_cumulative(count)[smaller])


def _enumerated_p(signed: Floats) -> Floats:
    """Return p over all sign flips of the given ranks, including ties; rows must be short."""
    used = np.argsort(signed == 0, axis=1, kind="stable")[:, :ENUMERATED_TOPICS]
    front = np.take_along_axis(signed, used, axis=1)
    front = front[:, : int(np.count_nonzero(front, axis=1).max())]
    flips = enumerate_flips(front.shape[1])
    p = np.empty(len(front))
    for rows in blocks(len(front), flips.count):
        sizes = np.abs(flips.sums(front[rows]))
        p[rows] = share_as_extreme(sizes, front[rows].sum(axis=1), 0.25, flips)
    return p


def walsh_interval(gaps: Differences, alpha: float) -> tuple[Floats, Floats]:
    """Return the k-th smallest and k-th largest Walsh average (mean of two differences, or one of them)."""
    ordered = gaps.ascending()
    low = np.full(len(ordered), -np.inf)
    high = np.full(len(ordered), np.inf)
    for topics in np.unique(gaps.topics[gaps.topics > 0]).tolist():
        k = walsh_rank(topics, alpha)
        if k == 0:
            continue
        kth = _kth_walsh if topics <= LISTED_TOPICS else _kth_walsh_by_counting
        same = np.flatnonzero(gaps.topics == topics)
        for part in blocks(len(same), topics * topics):
            rows = same[part]
            known = ordered[rows, :topics]
            low[rows] = kth(known, k)
            high[rows] = -kth(-known[:, ::-1], k)
    return low, high


def walsh_rank(topics: int, alpha: float) -> int:
    """Return which Walsh average, from either end, limits the interval; 0 if there are too few."""
    if topics <= EXACT_TOPICS:
        return int(np.count_nonzero(signed_rank_cumulative(topics) <= alpha / 2))
    mean = topics * (topics + 1) / 4
    error = np.sqrt(topics * (topics + 1) * (2 * topics + 1) / 24)
    return max(0, int(np.floor(mean + 0.5 + special.ndtri(alpha / 2) * error)))


@lru_cache(maxsize=16)
def _walsh_candidates(topics: int, k: int) -> tuple[NDArray[np.intp], NDArray[np.intp], int]:
    """Return places i <= j whose mean may be the k-th smallest, and how many are certainly smaller.

    A mean of two places is at least that of any two earlier ones and at most that of any two later ones.
    """
    i, j = np.triu_indices(topics)
    below = (i + 1) * (j + 1) - i * (i + 1) // 2
    behind, before = topics - 1 - i, topics - 1 - j
    above = (before + 1) * (behind + 1) - before * (before + 1) // 2
    smaller = above > len(i) - k + 1
    chosen = ~smaller & (below <= k)
    return i[chosen], j[chosen], int(np.count_nonzero(smaller))


def _kth_walsh_by_counting(ordered: Floats, k: int) -> Floats:
    """Return the same for very many topics, by bisection, without listing all means."""
    found = np.empty(len(ordered))
    for row, values in enumerate(ordered):
        low, high = float(values[0]), float(values[-1])
        while low < (middle := (low + high) / 2) < high:
            partners = np.searchsorted(values, 2 * middle - values, side="right")
            # Each mean of two different places was counted twice, that of a place with itself once.
            if (int(partners.sum()) + int(np.count_nonzero(values <= middle))) // 2 >= k:
                high = middle
            else:
                low = middle
        found[row] = high
    return found


def _kth_walsh(ordered: Floats, k: int) -> Floats:
    i, j, smaller = _walsh_candidates(ordered.shape[1], k)
    sums = ordered[:, i] + ordered[:, j]
    sums.partition(k - 1 - smaller, axis=1)
    return sums[:, k - 1 - smaller] / 2
