"""Randomization by sign flips: swap the two runs on some topics and recompute the mean difference.

One set of flips serves all pairs, so that pairs stay comparable, and the largest statistic of all pairs has a
distribution (max-T).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from sounding.core.arrays import NDArray
from sounding.runs.pairs import Differences, KnownLimits, Limits, blocks, differences
from sounding.statistics.testing import Floats, Outcome, PairedSample

ENUMERATED_TOPICS = 12  # all flips up to here, even if fewer permutations are requested
KEPT_BITS = 2**22  # unpacked once up to here, and again for every block of pairs beyond
FLIPS_AT_ONCE = 2_048
SINGLE = 4e-7  # relative error of a difference of two numbers in single precision, with room to spare
ROUGH = 5e-5  # largest error of a statistic, which is mostly between 0 and 6
GATHERED = 4  # a number gathered from single arrangements takes this many times as long
MANY_DOUBTFUL = 16  # if more than 1/16 of all arrangements are doubtful, compute all in double precision
TAIL_FLIPS = 50  # drawn flips beyond each limit of an interval, if there are that many: 1,999 for 95%

Numbers = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Flips:
    """Topics flipped in each arrangement; the observed arrangement always counts."""

    packed: NDArray[np.uint8]  # (flip, ceil(topics / 8)): a bit per topic
    topics: int
    complete: bool  # every arrangement once, the observed one first

    @property
    def count(self) -> int:
        """The number of listed arrangements."""
        return len(self.packed)

    def share(self, extreme: NDArray[np.float64] | NDArray[np.intp]) -> Floats:
        """Convert counts of arrangements to shares; the observed one is added to drawn ones."""
        if self.complete:
            return extreme / self.count
        return (1 + extreme) / (1 + self.count)

    def bits(self, rows: slice) -> Floats:
        """(flip, topic): Return 1 where flipped."""
        if self.count * self.topics <= KEPT_BITS:
            return self._bits[rows]
        return self._unpacked(rows)

    @cached_property
    def _bits(self) -> Floats:
        return self._unpacked(slice(None))

    def _unpacked(self, rows: slice) -> Floats:
        return np.unpackbits(self.packed[rows], axis=1, count=self.topics).astype(np.float64)

    def sums(self, values: Floats) -> Floats:
        """(row, flip): Sum the values (row, topic) over topics with flipped signs."""
        sums = np.empty((len(values), self.count))
        for start in range(0, self.count, FLIPS_AT_ONCE):
            rows = slice(start, start + FLIPS_AT_ONCE)
            np.matmul(values, self.bits(rows).T, out=sums[:, rows])
        sums *= -2
        sums += values.sum(axis=1, keepdims=True)
        return sums


def enumerate_flips(topics: int) -> Flips:
    """List every arrangement of this number of topics, the observed one first."""
    numbers = np.arange(2**topics, dtype=">u4").view(np.uint8).reshape(-1, 4)
    bits = np.unpackbits(numbers, axis=1)[:, 32 - topics :]
    return Flips(np.packbits(bits, axis=1), topics, complete=True)


def draw_flips(topics: int, count: int, rng: np.random.Generator) -> Flips:
    """Draw `count` arrangements, each topic flipped with probability one half."""
    return Flips(rng.integers(0, 256, (count, -(-topics // 8)), np.uint8), topics, complete=False)


def lists_all_flips(topics: int, permutations: int) -> bool:
    """Return whether all arrangements of this number of topics are listed."""
    return topics <= ENUMERATED_TOPICS or (topics < 31 and 2**topics <= permutations)


def share_as_extreme(sizes: Floats, observed: Floats, slack: float, flips: Flips) -> Floats:
    """(row,): Return the share of arrangements whose |sum| is as large as the observed one.

    The observed arrangement counts too. Equal sums computed in another order differ in their last bits;
    `slack` makes them equal.
    """
    limit = np.abs(observed) - slack
    return flips.share(np.count_nonzero(sizes >= limit[:, np.newaxis], axis=1))


def randomization(request: PairedSample) -> Outcome:
    """Randomization test on the mean difference (sign flips).

    All arrangements if there are few, otherwise random ones; the observed arrangement counts.
    The interval holds the shifts that a one-sided test at alpha / 2 does not reject on either side.
    """
    topics = request.values.shape[1]
    exact = lists_all_flips(topics, request.permutations)
    flips = enumerate_flips(topics) if exact else draw_flips(topics, request.permutations, request.rng)
    # Without missing values, the sums of a pair are the differences between those of its runs.
    together = len(request.pairs) >= len(request.values) and not np.isnan(request.values).any()
    p, adjusted, limits = (_by_runs if together else _by_pairs)(request, flips)
    drawn = f"all {flips.count:,} sign flips" if exact else f"{flips.count:,} sign flips, {request.seed}"
    return Outcome(
        p=p, limits=limits, adjusted=adjusted,
        least=2 / flips.count if exact else 1 / (1 + flips.count), drawn=0 if exact else flips.count,
        method=f"randomization test on the mean ({drawn})",
        interval="of the mean, found by inverting the one-sided tests",
    )  # fmt: skip


def _by_pairs(request: PairedSample, flips: Flips) -> tuple[Floats, Floats | None, Limits]:
    """Return p, adjusted p and intervals from the flipped sums of each pair's differences."""
    count = len(request.pairs)
    steps = _StepDown(request) if request.correction == "max-t" and count > 1 else None
    order = np.arange(count) if steps is None else steps.order
    p, low, high, extreme = np.empty((4, count))
    largest = np.zeros(flips.count)
    for rows, gaps in replace(request, pairs=request.pairs[order]).differences(flips.count):
        pairs, sums = order[rows], flips.sums(gaps.values)
        low[pairs], high[pairs] = subset_interval(gaps, sums, flips, request.alpha)
        np.abs(sums, out=sums)
        p[pairs] = share_as_extreme(sums, gaps.values.sum(axis=1), _slack(request), flips)
        if steps is not None:
            sums *= steps.scale[pairs, np.newaxis]
            for pair, size in zip(pairs.tolist(), sums, strict=True):
                np.maximum(largest, size, out=largest)
                extreme[pair] = np.count_nonzero(largest >= steps.limits[pair])
    if not flips.complete:
        _enumerate_short_pairs(request, p, low, high)
    adjusted = p if request.correction == "max-t" else None
    if steps is not None:
        adjusted = steps.adjusted(flips.share(extreme))
    return p, adjusted, KnownLimits(np.round([low, high], request.decimals - 2))


def _by_runs(request: PairedSample, flips: Flips) -> tuple[Floats, Floats | None, Limits]:
    """Return the same from the flipped sums of each run.

    Arrangements are counted in single precision. One that lies so near to a limit that rounding could matter
    is computed again in double precision.
    """
    sums = flips.sums(request.values)
    rough = sums.astype(np.float32)
    count = len(request.pairs)
    steps = _StepDown(request) if request.correction == "max-t" and count > 1 else None
    order = np.arange(count) if steps is None else steps.order
    first, second = request.pairs[order].T
    error = SINGLE * float(np.abs(sums).max(initial=0.0))  # of a difference of two sums
    reach, extreme = np.empty((2, count))
    largest, size = np.zeros((2, flips.count), np.float32)
    precise = None if steps is None else _Largest(sums, first, second, steps.scale[order])
    limits = np.abs(_observed(request)) - _slack(request)
    for place, (pair, a, b) in enumerate(zip(order.tolist(), first.tolist(), second.tolist(), strict=True)):
        if steps is not None and not steps.scale[pair]:  # two equal runs
            reach[pair] = extreme[pair] = flips.count
            continue
        if steps is not None and error * steps.scale[pair] > ROUGH:  # two runs that hardly differ
            size[:] = whole = np.abs(sums[a] - sums[b])
            reach[pair] = np.count_nonzero(whole >= limits[pair])
        else:
            np.subtract(rough[a], rough[b], out=size)
            np.abs(size, out=size)
            sure, doubtful = _count(size, limits[pair], error)
            if len(doubtful) > flips.count // MANY_DOUBTFUL:
                sure = int(np.count_nonzero(np.abs(sums[a] - sums[b]) >= limits[pair]))
            elif len(doubtful):
                again = np.abs(sums[a, doubtful] - sums[b, doubtful])
                sure += int(np.count_nonzero(again >= limits[pair]))
            reach[pair] = sure
        if steps is None or precise is None:
            continue
        size *= np.float32(steps.scale[pair])
        np.maximum(largest, size, out=largest)
        limit = float(steps.limits[pair])
        sure, doubtful = _count(largest, limit, ROUGH + SINGLE * limit)
        if len(doubtful):
            sure += int(np.count_nonzero(precise.largest(place + 1, doubtful) >= limit))
        extreme[pair] = sure
    p = flips.share(reach)
    adjusted = p if request.correction == "max-t" else None
    if steps is not None:
        adjusted = steps.adjusted(flips.share(extreme))
    return p, adjusted, _Intervals(request, flips, sums[:, _listed(flips, request.alpha)])


class _Largest:
    """The largest statistic of the first pairs in each arrangement, in double precision."""

    def __init__(self, sums: Floats, first: Numbers, second: Numbers, scale: Floats) -> None:
        self._sums, self._first, self._second, self._scale = sums, first, second, scale
        self._done = 0  # pairs in `_largest`
        self._largest = np.zeros(sums.shape[1])
        self._spent = 0  # numbers computed for single arrangements since then

    def largest(self, count: int, flips: Numbers) -> Floats:
        """(flip,): Return the largest statistic of the first `count` pairs in some arrangements.

        All arrangements are computed once single ones would have taken longer.
        """
        begin = self._done
        self._spent += GATHERED * len(flips) * (count - begin)
        if self._spent > len(self._largest) * (count - begin):
            for a, b, scale in zip(
                self._first[begin:count], self._second[begin:count], self._scale[begin:count], strict=True
            ):
                size = np.abs(self._sums[a] - self._sums[b])
                size *= scale
                np.maximum(self._largest, size, out=self._largest)
            self._done, self._spent, begin = count, 0, count
        found = self._largest[flips]
        if begin == count:
            return found
        a, b, scale = (side[begin:count] for side in (self._first, self._second, self._scale))
        for part in blocks(len(flips), count - begin):
            sums = self._sums[:, flips[part]]
            size = np.abs(sums[a] - sums[b])
            size *= scale[:, np.newaxis]
            found[part] = np.maximum(found[part], size.max(axis=0))
        return found


def _count(values: NDArray[np.float32], limit: float, error: float) -> tuple[int, Numbers]:
    """Return how many values reach a limit for certain, and the places of those that may or may not."""
    sure = int(np.count_nonzero(values >= np.float32(limit + error)))
    if sure == np.count_nonzero(values >= np.float32(limit - error)):
        return sure, np.empty(0, np.intp)
    return sure, ((values >= np.float32(limit - error)) & (values < np.float32(limit + error))).nonzero()[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Intervals:
    """The intervals of pairs, each computed on demand."""

    request: PairedSample
    flips: Flips
    sums: Floats  # (run, flip) of the flips that count

    def of(self, pairs: NDArray[np.intp]) -> Floats:
        """(2, pair): Return the limits of the pairs with these numbers."""
        both = np.empty((2, len(pairs)))
        chosen = replace(self.request, pairs=self.request.pairs[pairs])
        for rows, gaps in chosen.differences(self.sums.shape[1]):
            a, b = chosen.pairs[rows].T
            both[:, rows] = _interval(gaps, self.sums[a] - self.sums[b], self.flips, self.request.alpha)
        return np.round(both, self.request.decimals - 2)


def _observed(request: PairedSample) -> Floats:
    """(pair,): Return the sums of the differences."""
    found = np.empty(len(request.pairs))
    for rows, gaps in request.differences():
        found[rows] = gaps.values.sum(axis=1)
    return found


def _slack(request: PairedSample) -> float:
    return float(request.values.shape[1] * 10.0**-request.decimals)


def subset_interval(gaps: Differences, sums: Floats, flips: Flips, alpha: float) -> tuple[Floats, Floats]:
    """Return the limits of the mean difference that sign flips do not reject.

    After a shift, a flip exceeds the observed sum if the mean of the flipped differences lies on the other
    side of the shift. So the limits are order statistics of the means of the flipped subsets (Hartigan 1969).
    Flips of no topic count for every shift. Coverage is exact with any number of drawn flips; enough are used
    that a limit does not depend on the outermost few.
    """
    return _interval(gaps, sums[:, _listed(flips, alpha)], flips, alpha)


def _listed(flips: Flips, alpha: float) -> slice:
    """Return the arrangements that intervals are made of."""
    return slice(1, None) if flips.complete else slice(0, interval_flips(alpha))


def _interval(gaps: Differences, sums: Floats, flips: Flips, alpha: float) -> tuple[Floats, Floats]:
    """Return the limits, given the sums of the arrangements that intervals are made of."""
    bits = flips.bits(_listed(flips, alpha))
    sizes = bits.sum(axis=1) if gaps.known.all() else gaps.known.astype(np.float64) @ bits.T
    totals = gaps.values.sum(axis=1, keepdims=True) - sums
    means = np.divide(totals, 2 * sizes, out=np.full(totals.shape, np.nan), where=sizes > 0)
    empty = np.count_nonzero(np.isnan(means), axis=1)
    count = means.shape[1]
    k = int(np.floor((count + 1) * alpha / 2 + 1e-9))
    if k == 0:
        return np.full(len(means), -np.inf), np.full(len(means), np.inf)
    if empty.any():
        means.sort(axis=1)
    else:
        means.partition(count - k, axis=1)  # NumPy is five times faster with one place at a time
        if k - 1 < count - k:
            means[:, : count - k].partition(k - 1, axis=1)
    places = np.maximum(k - 1 - empty, 0)
    limited = empty < k
    low = np.where(limited, means[np.arange(len(means)), places], -np.inf)
    return low, np.where(limited, means[:, count - k], np.inf)


def interval_flips(alpha: float) -> int:
    """Return the number of drawn flips for an interval at this level."""
    return int(np.ceil(2 * TAIL_FLIPS / alpha - 1e-9)) - 1


def _enumerate_short_pairs(request: PairedSample, p: Floats, low: Floats, high: Floats) -> None:
    """Replace drawn by listed arrangements for pairs with few common topics."""
    present = ~np.isnan(request.values)
    if present.all():
        return
    shared = np.einsum("pt,pt->p", *(present[side].astype(np.int64) for side in request.pairs.T))
    short = np.flatnonzero([lists_all_flips(count, request.permutations) for count in shared.tolist()])
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
            p[rows] = share_as_extreme(np.abs(sums), front.values.sum(axis=1), _slack(request), flips)
            low[rows], high[rows] = subset_interval(front, sums, flips, request.alpha)


class _StepDown:
    """Adjusted p by the step-down max-T procedure of Westfall and Young (1993), from sign flips.

    Pairs are processed from the smallest to the largest statistic; each is compared with the largest among
    itself and the earlier ones in the same arrangement, in which all pairs are flipped on the same topics.
    The statistic is |sum| over the root of the sum of squares, which no flip changes: on the same topics it
    orders sums like |t|. Unlike t, its variance over flips is 1 even with few topics, so a pair with few
    topics neither stands out by chance nor widens the others' distribution.
    """

    def __init__(self, request: PairedSample) -> None:
        count = len(request.pairs)
        observed, self.scale = np.empty((2, count))
        for rows, gaps in request.differences():
            size = np.sqrt(np.sum(gaps.values**2, axis=1))
            self.scale[rows] = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
            observed[rows] = np.abs(gaps.values.sum(axis=1)) * self.scale[rows]
        self.order = np.argsort(observed, kind="stable")  # the order in which pairs are added
        self.limits = observed * (1 - 1e-9)  # equal sums computed in another order count

    def adjusted(self, shares: Floats) -> Floats:
        """(pair,): Return the adjusted p, given the share of arrangements whose largest reaches each pair."""
        p = shares.copy()
        p[self.order] = np.maximum.accumulate(p[self.order][::-1])[::-1]
        return p
