"""Compute the margin of one run over another in sums of precisions, for Carterette's rule for AP.

A sum of precisions is the sum of 1 / (the lower of their two ranks) over all pairs of relevant documents,
including each document paired with itself. So what two runs both gain if all unjudged documents are relevant
is the sum of 1 / (the lowest of four ranks) over all pairs of documents that both retrieved.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.workers import Progress
from sounding.measures.listings import Listings
from sounding.runs.pairs import Pairs
from sounding.runs.retrieved import NONE

Table = NDArray[np.float64]
Flags = NDArray[np.bool_]
ROUNDING = 1e-11  # relative to what a run can gain: less than this is rounding


@dataclass(frozen=True, slots=True, eq=False)
class Gains:
    """Each run's sum of precisions, and its gain if all its unjudged documents are relevant."""

    listings: Listings
    reach: int  # the deepest rank that counts
    useful: Flags  # (document + 1,) relevant or unjudged; the last place stands for no document
    relevant: Flags  # (document + 1,)
    present: Table  # (run, topic)
    rise: Table  # (run, topic)

    @staticmethod
    def of(listings: Listings, *, k: int | None, level: float) -> Gains:
        """Return the gains of all runs of the listings, in rankings of depth `k` (None: all that count)."""
        reach = min(k or listings.deepest, listings.deepest)
        weights = 1 / np.arange(1, reach + 1)
        relevant = np.append(listings.grade >= level, False)
        useful = relevant | np.append(np.isnan(listings.grade), False)
        present, rise = np.empty((2, len(listings.rankings), len(listings.judgments.topics)))
        for run in range(len(listings.rankings)):
            lists = listings.ranks(run)[:, :reach]
            weight = weights[: lists.shape[1]]
            present[run], rise[run] = (
                (np.cumsum(chosen, axis=1) * chosen) @ weight for chosen in (relevant[lists], useful[lists])
            )
        return Gains(listings, reach, useful, relevant, present, rise - present)

    def common(self, pairs: Pairs, topics: Sequence[int], progress: Progress | None = None) -> Table:
        """(pair, topic): Return what both runs of a pair gain together, for some topics."""
        found = np.empty((len(pairs), len(topics)))
        groups = _by_first(pairs)
        runs = np.unique(pairs)
        for column, topic in enumerate(topics):
            table = _Table.of(self, topic, runs)
            for first, numbers in groups:
                found[numbers, column] = table.common(first, pairs[numbers, 1])
            if progress:
                progress(1)
        return found

    def margins(self, pairs: Pairs, progress: Progress | None = None) -> tuple[Table, Table]:
        """(pair, topic): Return the margin of run_a over run_b, and that of run_b over run_a.

        A difference of sums is never less than its margin: the judged part, minus all that the unjudged
        documents could add to the other run, except for what they would then add to both.
        """
        common = self.common(pairs, range(self.present.shape[1]), progress)
        return self.margin(pairs, common), self.margin(pairs[:, ::-1], common)

    def margin(self, pairs: Pairs, common: Table, topics: Sequence[int] | slice = slice(None)) -> Table:
        """(pair, topic): Return the margin of run_a over run_b, given what both gain together."""
        first, second = pairs[:, 0], pairs[:, 1]
        present, rise = self.present[:, topics], self.rise[:, topics]
        loss = rise[second] - common
        loss[np.abs(loss) <= ROUNDING * rise[second]] = 0.0
        return present[first] - present[second] - loss


def _by_first(pairs: Pairs) -> list[tuple[int, NDArray[np.intp]]]:
    """Return each first run with the numbers of its pairs."""
    order = np.argsort(pairs[:, 0], kind="stable")
    runs, starts = np.unique(pairs[order, 0], return_index=True)
    return list(zip(runs.tolist(), np.split(order, starts[1:]), strict=True))


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """One topic: 1 / rank of every document that may be relevant and that several runs retrieved."""

    weights: Table  # (run, document); 0: not retrieved
    docs: NDArray[np.intp]  # (run, rank) the document's column; -1: none, or not relevant whatever is judged
    relevant: Flags  # (document,)
    place: NDArray[np.intp]  # (run,) the row of a run

    @staticmethod
    def of(gains: Gains, topic: int, runs: NDArray[np.intp]) -> _Table:
        """Return the table of some runs."""
        lists = np.stack([gains.listings.ranks(run)[topic, : gains.reach] for run in runs.tolist()])
        begin, end = gains.listings.regrading.retrieved.starts[topic : topic + 2].tolist()
        local = np.where(gains.useful[lists], lists - begin, end - begin)  # the last place: of no use
        several = np.bincount(local.ravel(), minlength=end - begin + 1) > 1
        several[-1] = False
        column = np.where(several, np.cumsum(several) - 1, -1)
        docs = column[local]
        weights = np.zeros((len(runs), int(several.sum()) + 1))
        weights[np.arange(len(runs))[:, np.newaxis], docs] = 1 / np.arange(1, lists.shape[1] + 1)
        weights[:, NONE] = 0
        place = np.zeros(len(gains.present), np.intp)
        place[runs] = np.arange(len(runs))
        return _Table(weights, docs, gains.relevant[begin:end][several[:NONE]], place)

    def common(self, first: int, others: NDArray[np.intp]) -> Table:
        """(other,): Return what a run gains together with each of others."""
        docs = self.docs[self.place[first]]
        docs = docs[docs != NONE]
        rows = self.place[others]
        lower = np.minimum(self.weights[rows[:, np.newaxis], docs], self.weights[self.place[first], docs])
        judged = lower[:, self.relevant[docs]]
        return _pair_sums(lower) - _pair_sums(judged)


def _pair_sums(weights: Table) -> Table:
    """(row,): Sum the smaller weight over all pairs of columns, each column paired with itself too."""
    weights = np.sort(weights, axis=1)
    total: Table = weights @ np.arange(weights.shape[1], 0, -1.0)
    return total
