"""Which runs are set against which, and their differences topic by topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError

DIGITS = 13  # of the largest value: what lies beyond them is rounding, not a difference
BLOCK = 2**17  # numbers that are worked on at once: they stay in a cache

Pairs = NDArray[np.intp]  # (pair, 2): run_a, run_b


def all_pairs(runs: int) -> Pairs:
    """Every pair of runs once, the earlier run first: (pair, 2)."""
    return np.column_stack(np.triu_indices(runs, 1))


def baseline_pairs(runs: int, baselines: Sequence[int]) -> Pairs:
    """Every other run against every baseline, the baseline second: (pair, 2).

    Two baselines do not meet: a pair that nobody asks for would cost the others power.
    """
    wrong = [place for place in baselines if not 0 <= place < runs]
    if wrong:
        raise DataError(f"baseline {wrong[0]}: expected a run from 0 to {runs - 1}")
    chosen = list(dict.fromkeys(baselines))
    pairs = [(run, baseline) for baseline in chosen for run in range(runs) if run not in chosen]
    return np.array(pairs, np.intp).reshape(-1, 2)


@dataclass(frozen=True, slots=True, eq=False)
class Differences:
    """run_a - run_b on the topics where both have a value."""

    values: NDArray[np.float64]  # (pair, topic); 0 where one of them has none
    known: NDArray[np.bool_]  # (pair, topic): both have a value
    topics: NDArray[np.int64]  # (pair,): how many are known
    mean: NDArray[np.float64]  # (pair,); NaN without topics
    squares: NDArray[np.float64]  # (pair,): sum of squared deviations from the mean; 0 where all are equal

    @property
    def deviation(self) -> NDArray[np.float64]:
        """(pair,): standard deviation over topics (n - 1); NaN for fewer than two."""
        enough = self.topics > 1
        variance = np.divide(
            self.squares, self.topics - 1, out=np.full(len(self.topics), np.nan), where=enough
        )
        return np.sqrt(variance)

    def ascending(self) -> NDArray[np.float64]:
        """(pair, topic): each pair's differences in ascending order, infinite after the known ones."""
        return np.sort(np.where(self.known, self.values, np.inf), axis=1)

    def leading(self, width: int) -> NDArray[np.float64]:
        """(pair, width): the known differences of each pair moved to the front, 0 behind them."""
        order = np.argsort(~self.known, axis=1, kind="stable")[:, :width]
        return np.take_along_axis(self.values, order, axis=1)


def grid_decimals(values: NDArray[np.float64]) -> int:
    """To how many decimals differences of these values mean something."""
    largest = np.nanmax(np.abs(values), initial=0.0)
    return DIGITS if largest == 0 else int(np.clip(DIGITS - np.ceil(np.log10(largest)), -300, 300))


def differences(values: NDArray[np.float64], pairs: Pairs, decimals: int) -> Differences:
    """The differences of some pairs of runs, from values by run and topic.

    They are rounded to `decimals`: .3 - .2 and .2 - .1 are the same difference, and tie.
    """
    gaps = np.round(values[pairs[:, 0]] - values[pairs[:, 1]], decimals)
    known = ~np.isnan(gaps)
    gaps = np.where(known, gaps, 0.0)
    topics = np.count_nonzero(known, axis=1)
    mean = np.divide(gaps.sum(axis=1), topics, out=np.full(len(gaps), np.nan), where=topics > 0)
    squares = np.sum(np.where(known, gaps - mean[:, np.newaxis], 0.0) ** 2, axis=1)
    lowest = np.min(gaps, axis=1, where=known, initial=np.inf)
    highest = np.max(gaps, axis=1, where=known, initial=-np.inf)
    return Differences(gaps, known, topics, mean, np.where(lowest < highest, squares, 0.0))


def blocks(count: int, width: int) -> Iterator[slice]:
    """Consecutive slices of `count` rows, so that a slice of rows of `width` numbers stays small."""
    step = max(1, BLOCK // max(width, 1))
    for start in range(0, count, step):
        yield slice(start, min(start + step, count))
