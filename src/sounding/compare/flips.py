"""Randomisation by sign flips: swap the two runs on some topics and see how the mean difference moves.

One set of flips serves all pairs, so that the pairs of a request stay comparable, and the largest
statistic of all pairs has a distribution (max-T).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.pairs import Differences, blocks, differences
from sounding.compare.registry import Floats, Outcome, Request, pair_test

ENUMERATED_TOPICS = 12  # all flips up to here, however few permutations are asked for
KEPT_BITS = 2**22  # unpacked once up to here, and again for every block of pairs beyond
FLIPS_AT_ONCE = 2_048
TAIL_FLIPS = 50  # drawn flips beyond each limit of an interval, where there are so many: 1,999 for 95%


@dataclass(frozen=True, eq=False)
class Flips:
    """Which topics are flipped in each arrangement; the observed one is always counted."""

    packed: NDArray[np.uint8]  # (flip, ceil(topics / 8)): a bit a topic
    topics: int
    complete: bool  # every arrangement once, the observed one first

    @property
    def count(self) -> int:
        """How many arrangements are listed."""
        return len(self.packed)

    def bits(self, rows: slice) -> Floats:
        """(flip, topic): 1 where flipped."""
        if self.count * self.topics <= KEPT_BITS:
            return self._bits[rows]
        return self._unpacked(rows)

    @cached_property
    def _bits(self) -> Floats:
        return self._unpacked(slice(None))

    def _unpacked(self, rows: slice) -> Floats:
        return np.unpackbits(self.packed[rows], axis=1, count=self.topics).astype(np.float64)

    def sums(self, values: Floats) -> Floats:
        """(row, flip): sum over topics of the values (row, topic), with their signs flipped."""
        sums = np.empty((len(values), self.count))
        for start in range(0, self.count, FLIPS_AT_ONCE):
            rows = slice(start, start + FLIPS_AT_ONCE)
            np.matmul(values, self.bits(rows).T, out=sums[:, rows])
        sums *= -2
        sums += values.sum(axis=1, keepdims=True)
        return sums


def enumerate_flips(topics: int) -> Flips:
    """Every arrangement of so many topics, the observed one first."""
    numbers = np.arange(2**topics, dtype=">u4").view(np.uint8).reshape(-1, 4)
    bits = np.unpackbits(numbers, axis=1)[:, 32 - topics :]
    return Flips(np.packbits(bits, axis=1), topics, complete=True)


def draw_flips(topics: int, count: int, rng: np.random.Generator) -> Flips:
    """So many arrangements, each topic flipped with chance one half."""
    return Flips(rng.integers(0, 256, (count, -(-topics // 8)), np.uint8), topics, complete=False)


def enumerates(topics: int, permutations: int) -> bool:
    """Whether so few topics have all their arrangements listed."""
    return topics <= ENUMERATED_TOPICS or (topics < 31 and 2**topics <= permutations)


def share_as_extreme(sums: Floats, observed: Floats, slack: float, flips: Flips) -> Floats:
    """(row,): share of arrangements whose sum is as far from 0 as the observed one, which counts itself.

    Equal sums that were reached in another order differ in their last bits: `slack` calls them equal.
    """
    limit = np.abs(observed) - slack
    extreme = np.count_nonzero(np.abs(sums) >= limit[:, np.newaxis], axis=1)
    if flips.complete:
        return extreme / flips.count
    return (1 + extreme) / (1 + flips.count)


@pair_test("randomisation", draws=True, by_signs=True)
def randomisation(request: Request) -> Outcome:
    """Randomisation test on the mean difference (sign flips).

    All arrangements where they are few, drawn ones otherwise; the observed arrangement counts.
    The interval holds the shifts that a one-sided test at alpha / 2 does not reject on either side.
    """
    topics = request.values.shape[1]
    exact = enumerates(topics, request.permutations)
    flips = enumerate_flips(topics) if exact else draw_flips(topics, request.permutations, request.rng)
    p, low, high = np.empty((3, len(request.pairs)))
    for rows, gaps, sums in _sums_in_blocks(request, flips):
        p[rows] = share_as_extreme(sums, gaps.values.sum(axis=1), _slack(request), flips)
        low[rows], high[rows] = subset_interval(gaps, sums, flips, request.alpha)
    if not exact:
        _enumerate_short_pairs(request, p, low, high)
    adjusted = max_t(request, flips) if request.correction == "max-t" else None
    low, high = (np.round(limit, request.decimals - 2) for limit in (low, high))
    drawn = f"all {flips.count:,} sign flips" if exact else f"{flips.count:,} sign flips, {request.seed}"
    return Outcome(
        p=p, low=low, high=high, adjusted=adjusted,
        least=2 / flips.count if exact else 1 / (1 + flips.count), drawn=0 if exact else flips.count,
        method=f"randomisation test on the mean ({drawn})",
        interval="of the mean, by inversion of the one-sided tests",
    )  # fmt: skip


def _slack(request: Request) -> float:
    return float(request.values.shape[1] * 10.0**-request.decimals)


def _sums_in_blocks(request: Request, flips: Flips) -> Iterator[tuple[slice, Differences, Floats]]:
    """Blocks of pairs with their differences and flipped sums (pair, flip)."""
    # Without gaps the sums of a pair are the differences between those of its runs.
    few = len(request.pairs) < len(request.values)
    by_run = None if few or np.isnan(request.values).any() else flips.sums(request.values)
    for rows, gaps in request.differences(flips.count):
        a, b = request.pairs[rows].T
        yield rows, gaps, flips.sums(gaps.values) if by_run is None else by_run[a] - by_run[b]


def subset_interval(gaps: Differences, sums: Floats, flips: Flips, alpha: float) -> tuple[Floats, Floats]:
    """Limits of the mean difference that sign flips do not reject.

    After a shift, a flip exceeds the observed sum when the mean of the flipped differences lies on the
    other side of the shift: so the limits are order statistics of the means of the flipped subsets
    (Hartigan 1969). Flips of no topic speak for every shift. Coverage is exact with any number of drawn
    flips; so many are used that a limit does not hang on the outermost few.
    """
    listed = slice(1, None) if flips.complete else slice(0, interval_flips(alpha))
    bits = flips.bits(listed)
    sizes = bits.sum(axis=1) if gaps.known.all() else gaps.known.astype(np.float64) @ bits.T
    totals = gaps.values.sum(axis=1, keepdims=True) - sums[:, listed]
    means = np.divide(totals, 2 * sizes, out=np.full(totals.shape, np.nan), where=sizes > 0)
    empty = np.count_nonzero(np.isnan(means), axis=1)
    count = means.shape[1]
    k = int(np.floor((count + 1) * alpha / 2 + 1e-9))
    if k == 0:
        return np.full(len(means), -np.inf), np.full(len(means), np.inf)
    if empty.any():
        means.sort(axis=1)
    else:
        means.partition((k - 1, count - k), axis=1)
    places = np.maximum(k - 1 - empty, 0)
    limited = empty < k
    low = np.where(limited, means[np.arange(len(means)), places], -np.inf)
    return low, np.where(limited, means[:, count - k], np.inf)


def interval_flips(alpha: float) -> int:
    """How many drawn flips an interval at this level is made of."""
    return int(np.ceil(2 * TAIL_FLIPS / alpha - 1e-9)) - 1


def _enumerate_short_pairs(request: Request, p: Floats, low: Floats, high: Floats) -> None:
    """Replace drawn by listed arrangements for pairs that have few topics in common."""
    present = ~np.isnan(request.values)
    if present.all():
        return
    shared = np.einsum("pt,pt->p", *(present[side].astype(np.int64) for side in request.pairs.T))
    short = np.flatnonzero([enumerates(count, request.permutations) for count in shared.tolist()])
    for topics in np.unique(shared[short]).tolist():
        flips = enumerate_flips(topics)
        same = short[shared[short] == topics]
        for part in blocks(len(same), flips.count):
            rows = same[part]
            gaps = differences(request.values, request.pairs[rows], request.decimals)
            front = Differences(
                gaps.leading(topics), np.ones((len(rows), topics), np.bool_),
                gaps.topics, gaps.mean, gaps.squares,
            )  # fmt: skip
            sums = flips.sums(front.values)
            p[rows] = share_as_extreme(sums, front.values.sum(axis=1), _slack(request), flips)
            low[rows], high[rows] = subset_interval(front, sums, flips, request.alpha)


def max_t(request: Request, flips: Flips) -> Floats:
    """(pair,): adjusted p by the step-down max-T procedure of Westfall and Young (1993).

    Pairs are taken from the smallest to the largest |t|; each is compared with the largest |t| among
    itself and those before it in the same arrangement, where all pairs are flipped on the same topics.
    """
    whole = not np.isnan(request.values).any()
    observed = np.empty(len(request.pairs))
    for rows, gaps in request.differences():
        observed[rows] = _statistic(gaps, gaps.values.sum(axis=1, keepdims=True), whole)[:, 0]
    order = np.argsort(observed, kind="stable")
    largest = np.zeros(flips.count)
    extreme = np.empty(len(order))
    ordered = replace(request, pairs=request.pairs[order])
    for rows, gaps, sums in _sums_in_blocks(ordered, flips):
        t = _statistic(gaps, sums, whole)
        np.maximum(t[0], largest, out=t[0])
        np.maximum.accumulate(t, axis=0, out=t)
        largest = t[-1].copy()
        # A relative tolerance, for equal sums that were reached in another order.
        limit = observed[order[rows], np.newaxis] * (1 - 1e-9)
        extreme[order[rows]] = np.count_nonzero(t >= limit, axis=1)
    p = extreme / flips.count if flips.complete else (1 + extreme) / (1 + flips.count)
    p[order] = np.maximum.accumulate(p[order][::-1])[::-1]
    return p


def _statistic(gaps: Differences, sums: Floats, whole: bool) -> Floats:
    """(pair, sum): |t| for sums over topics with flipped signs, which leave the sum of squares as it is.

    On whole topics all t have the same degrees of freedom, and the share of |sum| in the most that it
    could be puts them in the same order.
    """
    most = np.sqrt(gaps.topics * np.sum(gaps.values**2, axis=1))
    share = np.abs(sums)
    share *= np.divide(1.0, most, out=np.zeros_like(most), where=most > 0)[:, np.newaxis]
    if whole:
        return share
    left = np.where(share > 1 - 1e-12, 0.0, 1 - share**2)
    df = np.maximum(gaps.topics - 1, 0)[:, np.newaxis]
    return share * np.sqrt(np.divide(df, left, out=np.full_like(share, np.inf), where=left > 0))
