"""How much is judged, how sure the ranking of the runs is, and how well assessors agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.judge.records import Pair, StandingJudgment, is_relevant
from sounding.judge.state import JudgingState
from sounding.relevance.basis import Basis
from sounding.selection.mtc.confidence import Confidence
from sounding.statistics.assessor_agreement import cohen_kappa, confusions, observed_agreement

DEPTHS = (5, 10, 20, 50, 100, 200, 500)  # down to which it is told how much of a run is graded
FEWEST = 10  # documents of both: with fewer, a single one decides what kappa says
Opinion = tuple[str, Pair, float | None]  # assessor, what was judged, grade; None: could not judge


class TopicCounts(NamedTuple):
    """How far a topic is. Judged, unsettled and left have no document in common."""

    judged: int = 0  # documents with a grade that counts, or that nobody who looked could judge
    relevant: int = 0  # among the judged
    left: int = 0  # documents that nobody has judged, and that the order could still bring
    cannot: int = 0  # among the judged: nobody could
    unsettled: int = 0  # documents whose assessors differ, and that wait for an organizer
    again: int = 0  # among all these: documents that fewer people have judged than are to judge each


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Counts:
    """How far every topic is, and all of those together that count."""

    topics: dict[str, TopicCounts]  # in use, and in some run: what ranking and confidence rest on
    unused: dict[str, TopicCounts]  # others with judgments: they count nowhere, and nothing of them is left

    @property
    def total(self) -> TopicCounts:
        """The sums over the topics that count."""
        return TopicCounts(*map(sum, zip(*self.topics.values(), strict=True)))

    def of(self, topic: str) -> TopicCounts:
        """Return how far a topic is, whether it counts or not."""
        return self.topics.get(topic) or self.unused.get(topic) or TopicCounts()


def counts_of(replay: JudgingState) -> Counts:
    """Return how much is judged where a replay stands."""
    used = set(replay.retrieved.topics if replay.ready else ())
    grades: dict[str, list[float | None]] = {topic: [] for topic in used}
    unsettled = dict.fromkeys(used, 0)
    for pair, verdict in replay.verdicts.items():
        own, waiting = grades.setdefault(pair[0], []), replay.unsettled(pair)
        unsettled[pair[0]] = unsettled.get(pair[0], 0) + waiting
        if not waiting:
            own.append(verdict.grade)
    level = replay.settings.level
    found = {
        topic: TopicCounts(
            judged=len(given),
            relevant=sum(is_relevant(grade, level) for grade in given),
            left=replay.left(topic),
            cannot=given.count(None),
            unsettled=unsettled[topic],
            again=replay.again(topic),
        )
        for topic, given in sorted(grades.items())
    }
    return Counts(
        topics={topic: one for topic, one in found.items() if topic in used},
        unused={topic: one for topic, one in found.items() if topic not in used},
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GradedCoverage:
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
    coverage: GradedCoverage
    joined: tuple[int, ...]  # (run,) documents judged, and settled, when it came, of topics in use now

    @property
    def stated(self) -> Confidence:
        """Return the confidence as people see it: without chances if there is too little to base them on."""
        return self.confidence.stated(self.basis)


def live_work(replay: JudgingState) -> Callable[[], Live]:
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


def coverage_of(lists: NDArray[np.int32], graded: NDArray[np.bool_]) -> GradedCoverage:
    """How much of the lists (run, topic, rank) of document numbers, -1 beyond their ends, is graded."""
    longest = lists.shape[2]
    depths = (*(depth for depth in DEPTHS if depth < longest), longest)
    there = lists >= 0
    known = np.where(there, graded[lists], False)
    retrieved, found = (
        np.cumsum(part.sum(axis=1), axis=1)[:, np.array(depths) - 1] for part in (there, known)
    )
    shares = np.divide(found, retrieved, out=np.full(found.shape, np.nan), where=retrieved > 0)
    return GradedCoverage(depths=depths, shares=shares, ungraded=retrieved[:, -1] - found[:, -1])


def agreements(
    given: Iterable[Opinion], scale: Sequence[float], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return how well each two assessors agree on the documents that both could judge, where there are any.

    Kappa is None where fewer than `FEWEST` speak for it, or where chance alone would give as much.
    """
    by_assessor: dict[str, dict[Pair, float]] = {}
    for assessor, pair, grade in given:
        if grade is not None:
            by_assessor.setdefault(assessor, {})[pair] = grade
    found = []
    for first, second in combinations(sorted(by_assessor), 2):
        common = sorted(by_assessor[first].keys() & by_assessor[second].keys())
        if not common:
            continue
        left, right = (np.array([by_assessor[who][pair] for pair in common]) for who in (first, second))
        table = confusions(left, right, np.array(sorted(scale)), np.zeros(len(common), np.int64), 1)
        kappa = float(cohen_kappa(table)[0])
        found.append(
            {
                "first": names.get(first, first),
                "second": names.get(second, second),
                "common": len(common),
                "observed": float(observed_agreement(table)[0]),
                "kappa": kappa if math.isfinite(kappa) and len(common) >= FEWEST else None,
            }
        )
    return found


def opinion_of(one: StandingJudgment) -> Opinion:
    """Return what a judgment that stands says."""
    return one.assessor, one.pair, one.grade
