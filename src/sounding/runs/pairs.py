"""Choose the pairs of runs to compare, and compute their differences on each topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError

DIGITS = 13  # significant digits of the largest value; anything below is rounding error
BLOCK = 2**17  # numbers processed at a time, so that they stay in the cache

Pairs = NDArray[np.intp]  # (pair, 2): run_a, run_b


class Limits(Protocol):
    """Lower and upper limits of a quantity of each pair, computed on demand."""

    def of(self, pairs: NDArray[np.intp]) -> NDArray[np.float64]:
        """(2, pair): Return the limits of the pairs with these numbers."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownLimits:
    """Precomputed limits of all pairs, (2, pair)."""

    both: NDArray[np.float64]

    def of(self, pairs: NDArray[np.intp]) -> NDArray[np.float64]:
        """(2, pair): Return the limits of the pairs with these numbers."""
        return self.both[:, pairs]


def all_pairs(runs: int) -> Pairs:
    """Return every pair of runs once, the earlier run first: (pair, 2)."""
    return np.column_stack(np.triu_indices(runs, 1))


def baseline_pairs(runs: int, baselines: Sequence[int]) -> Pairs:
    """Pair every other run with every baseline, the baseline second: (pair, 2).

    Two baselines are not paired, because an unneeded test would cost the others power.
    """
    wrong = [place for place in baselines if not 0 <= place < runs]
    if wrong:
        raise DataError(f"baseline {wrong[0]}: expected a run from 0 to {runs - 1}")
    chosen = list(dict.fromkeys(baselines))
    pairs = [(run, baseline) for baseline in chosen for run in range(runs) if run not in chosen]
    return np.array(pairs, np.intp).reshape(-1, 2)


def lead_over_nobody(preferences: NDArray[np.float64]) -> tuple[NDArray[np.float64], Pairs]:
    """Return values by run and topic, and pairs, whose differences are these preferences (pair, topic).

    Each pair is a run with its preferences as values, against the last run, which has zeros.
    """
    count = len(preferences)
    values = np.vstack([preferences, np.zeros_like(preferences[:1])])
    return values, np.column_stack([np.arange(count), np.full(count, count)])


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """The differences run_a - run_b on the topics where both runs have a value."""

    values: NDArray[np.float64]  # (pair, topic); 0 if one of them has no value
    known: NDArray[np.bool_]  # (pair, topic): both have a value
    topics: NDArray[np.int64]  # (pair,): number of known differences
    mean: NDArray[np.float64]  # (pair,); NaN without topics
    squares: NDArray[np.float64]  # (pair,): sum of squared deviations from the mean; 0 if all are equal

    @property
    def deviation(self) -> NDArray[np.float64]:
        """Return (pair,): the standard deviation over topics (n - 1); NaN for fewer than two."""
        enough = self.topics > 1
        variance = np.divide(
            self.squares, self.topics - 1, out=np.full(len(self.topics), np.nan), where=enough
        )
        return np.sqrt(variance)

    def ascending(self) -> NDArray[np.float64]:
        """Sort each pair's differences, (pair, topic); infinite values follow the known ones."""
        return np.sort(np.where(self.known, self.values, np.inf), axis=1)

    def leading(self, width: int) -> NDArray[np.float64]:
        """Move the known differences of each pair to the front, followed by zeros: (pair, width)."""
        order = np.argsort(~self.known, axis=1, kind="stable")[:, :width]
        return np.take_along_axis(self.values, order, axis=1)


def grid_decimals(values: NDArray[np.float64]) -> int:
    """Return the number of meaningful decimals in differences of these values."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    return DIGITS if largest == 0 else int(np.clip(DIGITS - np.ceil(np.log10(largest)), -300, 300))


def differences(values: NDArray[np.float64], pairs: Pairs, decimals: int) -> Differences:
    """Return the differences of pairs of runs, from values by run and topic.

    They are rounded to `decimals`, so that .3 - .2 and .2 - .1 are equal and tie.
    """
    gaps = np.round(values[pairs[:, 0]] - values[pairs[:, 1]], decimals)
    if not np.isnan(gaps.sum()):
        return _full_differences(gaps)
    known = ~np.isnan(gaps)
    gaps = np.where(known, gaps, 0.0)
    topics = np.count_nonzero(known, axis=1)
    mean = np.divide(gaps.sum(axis=1), topics, out=np.full(len(gaps), np.nan), where=topics > 0)
    squares = np.sum(np.where(known, gaps - mean[:, np.newaxis], 0.0) ** 2, axis=1)
    lowest = np.min(gaps, axis=1, where=known, initial=np.inf)
    highest = np.max(gaps, axis=1, where=known, initial=-np.inf)
    return Differences(gaps, known, topics, mean, np.where(lowest < highest, squares, 0.0))


def _full_differences(gaps: NDArray[np.float64]) -> Differences:
    """Return the differences where both runs of every pair have a value on each topic."""
    count, width = gaps.shape
    known, topics = np.ones(gaps.shape, np.bool_), np.full(count, width)
    mean = np.divide(gaps.sum(axis=1), topics, out=np.full(count, np.nan), where=topics > 0)
    deviations = gaps - mean[:, np.newaxis]
    squares = np.sum(np.square(deviations, out=deviations), axis=1)
    # The deviations of equal differences are at most rounding errors of their mean.
    size = np.sqrt(squares)
    close = ((size <= 1e-10 * np.sqrt(width) * np.abs(mean)) | np.isinf(size)).nonzero()[0]
    squares[close[gaps[close].min(axis=1, initial=np.inf) >= gaps[close].max(axis=1, initial=-np.inf)]] = 0.0
    return Differences(gaps, known, topics, mean, squares)


def blocks(count: int, width: int, most: int = BLOCK) -> Iterator[slice]:
    """Yield consecutive slices of `count` rows of `width` numbers, with at most `most` numbers each."""
    step = max(1, most // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
