"""By how much one run's sum of precisions stays ahead of another's, whatever the unjudged documents are.

Carterette, Allan & Sitaraman (2006), Equation 3: its left side less its right side, with every unordered
pair of documents once, a document with itself among them.

A sum of precisions is a sum of 1 / (the lower of their ranks) over pairs of relevant documents. As 1 / r
is the sum of 1/t - 1/(t + 1) over t from r, it is also a sum over depths t of how many pairs stand above
t. So it is enough to count documents, and no pair of documents is ever looked at.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.listings import Listed, Listings, Numbers
from sounding.compare.pairs import Pairs
from sounding.ranking import Values
from sounding.workers import Progress

Table = NDArray[np.float64]


def margins(
    listings: Listings, pairs: Pairs, *, k: int | None, level: float, progress: Progress | None = None
) -> tuple[Table, Table]:
    """(pair, topic): the margin of run_a over run_b, and that of run_b over run_a.

    A difference of sums is never less than its margin: what is judged, less all that the unjudged
    documents could add to the run behind, but for what they would then add to both.
    """
    depths = _Depths(len(listings.judgments.topics), min(k or listings.deepest, listings.deepest))
    runs = np.unique(pairs).tolist()
    hidden = {run: depths.within(listings.unjudged(run)) for run in runs}
    found = {run: depths.within(listings.relevant(run, level)) for run in runs}
    sums, rises = np.zeros((2, len(listings.rankings), depths.topics))
    for run in runs:
        relevant = depths.above(found[run].topic, found[run].rank)
        sums[run] = depths.total(relevant * (relevant + 1) / 2)
        rises[run] = depths.rise(depths.above(hidden[run].topic, hidden[run].rank), relevant)
    shared = np.zeros((len(pairs), depths.topics))
    meetings = zip(listings.meetings(pairs, hidden), listings.meetings(pairs, found), strict=True)
    for (number, unjudged, there), (_, judged, judged_there) in meetings:
        new = depths.above_in_both(unjudged, there)
        shared[number] = depths.rise(new, depths.above_in_both(judged, judged_there))
        if progress:
            progress(1)
    first, second = pairs[:, 0], pairs[:, 1]
    present = sums[first] - sums[second]
    return present - (rises[second] - shared), -present - (rises[first] - shared)


@dataclass(frozen=True, slots=True)
class _Depths:
    """Counts of documents at each depth; tables are (topic, depth)."""

    topics: int
    deepest: int

    def within(self, listed: Listed) -> Listed:
        return listed.where(listed.rank <= self.deepest)

    def above(self, topic: Numbers, rank: Numbers) -> Table:
        """How many of these documents stand at each depth or above."""
        width = self.deepest + 1
        counts = np.bincount(topic * np.int64(width) + rank, minlength=self.topics * width)
        return np.cumsum(counts.reshape(self.topics, width)[:, 1:], axis=1, dtype=np.float64)

    def above_in_both(self, listed: Listed, rank: Numbers) -> Table:
        """How many documents stand at each depth or above in two runs; rank 0: not in the second."""
        met = rank > 0
        return self.above(listed.topic[met], np.maximum(listed.rank, rank)[met])

    def rise(self, unjudged: Table, relevant: Table) -> Values:
        """What the sum of precisions gains when all unjudged documents turn relevant: pairs with one."""
        return self.total(unjudged * (unjudged + 1 + 2 * relevant) / 2)

    def total(self, pairs: Table) -> Values:
        """The sum of 1 / (lower rank) over pairs of documents, of which so many stand above each depth."""
        depth = np.arange(1, self.deepest + 1)
        step = 1 / depth - 1 / (depth + 1)
        step[-1] = 1 / self.deepest  # what is below the last depth counts nothing
        return pairs @ step
