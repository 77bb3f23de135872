"""How sure the ranking of the runs is, and how much of what they retrieved has a grade."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.judge.counts import Counts, counts_of
from sounding.judge.state import Replay
from sounding.relevance.basis import Basis
from sounding.selection.mtc import Confidence

DEPTHS = (5, 10, 20, 50, 100, 200, 500)  # down to which it is told how much of a run is graded


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Coverage:
    """How much of what each run retrieved has a grade."""

    depths: tuple[int, ...]
    shares: NDArray[np.float64]  # (run, depth) of the documents that it has down to there; NaN: it has none
    ungraded: NDArray[np.int64]  # (run,) documents of all its lists


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Live(Counts):
    """How sure the ranking is, over topics in use that some run has, and the last event known to this."""

    sequence: int
    fitted: int  # judgments that the model of relevance was fitted to
    fittable: int  # judgments that it could be fitted to by now
    confidence: Confidence  # the model's, however little it has seen
    basis: Basis  # what it rests on
    coverage: Coverage
    joined: tuple[int, ...]  # (run,) documents judged, and settled, when it came, of topics in use now

    @property
    def stated(self) -> Confidence:
        """What people are told of the confidence: no chances where the basis is too thin."""
        return self.confidence.stated(self.basis)


def live_work(replay: Replay) -> Callable[[], Live]:
    """Work that finds how sure the ranking is where a replay stands now; it may run in another thread."""
    counts = counts_of(replay)
    sequence, lists, graded = replay.sequence, replay.retrieved.lists, replay.graded()
    joined = tuple(
        sum(count for topic, count in replay.joined[run].items() if topic in counts.topics)
        for run in replay.retrieved.runs
    )
    confidence, session = replay.session.drawing(), replay.session
    fitted, fittable, basis = session.version, session.judgments, session.basis()
    return lambda: Live(
        sequence=sequence, topics=counts.topics, unused=counts.unused, fitted=fitted, fittable=fittable,
        confidence=confidence(), basis=basis, coverage=coverage_of(lists, graded), joined=joined,
    )  # fmt: skip


def coverage_of(lists: NDArray[np.int32], graded: NDArray[np.bool_]) -> Coverage:
    """How much of the lists (run, topic, rank) of document numbers, -1 beyond their ends, is graded."""
    longest = lists.shape[2]
    depths = (*(depth for depth in DEPTHS if depth < longest), longest)
    there = lists >= 0
    known = np.where(there, graded[lists], False)
    retrieved, found = (
        np.cumsum(part.sum(axis=1), axis=1)[:, np.array(depths) - 1] for part in (there, known)
    )
    shares = np.divide(found, retrieved, out=np.full(found.shape, np.nan), where=retrieved > 0)
    return Coverage(depths=depths, shares=shares, ungraded=retrieved[:, -1] - found[:, -1])
