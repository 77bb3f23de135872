"""Compute the progress of judging, the confidence in the ranking, and the agreement of assessors."""

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

DEPTHS = (5, 10, 20, 50, 100, 200, 500)  # at which the graded share of a run is reported
FEWEST = 10  # common documents; with fewer, kappa depends on single documents
Opinion = tuple[str, Pair, float | None]  # assessor, (topic, doc), grade; None: could not judge
# (assessor, machine) -> grades from before the machine's label was shown; None: there is none
Unseen = dict[tuple[str, str], dict[Pair, float | None]]


class TopicCounts(NamedTuple):
    """The progress of a topic, in documents; judged, unsettled and left are disjoint."""

    judged: int = 0  # with a grade that counts, or impossible to judge
    relevant: int = 0  # of the judged
    left: int = 0  # unjudged documents that the order would still bring
    cannot: int = 0  # of the judged: impossible to judge
    unsettled: int = 0  # assessors differ, and no organizer has settled them
    again: int = 0  # of all these: documents that need more assessors


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Counts:
    """The progress of every topic, and of all that count together."""

    topics: dict[str, TopicCounts]  # topics in use that any run has; they count for ranking and confidence
    unused: dict[str, TopicCounts]  # other topics with judgments, which do not count

    @property
    def total(self) -> TopicCounts:
        """Return the sums over the topics that count."""
        return TopicCounts(*map(sum, zip(*self.topics.values(), strict=True)))

    def of(self, topic: str) -> TopicCounts:
        """Return the progress of a topic, whether it counts or not."""
        return self.topics.get(topic) or self.unused.get(topic) or TopicCounts()


def counts_of(replay: JudgingState) -> Counts:
    """Return the progress of all topics in a state of judging."""
    if replay.of_pairs:
        return _counts_of_pairs(replay)
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


def _counts_of_pairs(replay: JudgingState) -> Counts:
    """Return the number of preferences by topic, of all assessors."""
    used = set(replay.pair_topics)
    found = {}
    for topic in sorted(used | replay.preferences.topics()):
        given = list(replay.preferences.grades(topic))
        found[topic] = TopicCounts(judged=len(given), cannot=given.count(None), left=replay.left(topic))
    return Counts(
        topics={topic: one for topic, one in found.items() if topic in used},
        unused={topic: one for topic, one in found.items() if topic not in used},
    )


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class GradedCoverage:
    """The share of each run's documents that have a grade."""

    depths: tuple[int, ...]
    shares: NDArray[np.float64]  # (run, depth) share of its documents down to the depth; NaN: no documents
    ungraded: NDArray[np.int64]  # (run,) number of documents without a grade


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Live(Counts):
    """The confidence in the ranking, over topics in use that any run has, as of an event."""

    sequence: int
    fitted: int  # judgments to which the relevance model was fitted
    fittable: int  # judgments to which it could be fitted now
    confidence: Confidence  # from the model, even with few judgments
    basis: Basis  # the data behind it
    coverage: GradedCoverage
    joined: tuple[int, ...]  # (run,) documents of current topics judged and settled when it was added

    @property
    def stated(self) -> Confidence:
        """Return the confidence that people see, without probabilities if there are too few judgments."""
        return self.confidence.stated(self.basis)


def live_work(replay: JudgingState) -> Callable[[], Live]:
    """Return a function that computes the confidence in this state; it may run in another thread."""
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
    """Return the graded share of lists (run, topic, rank) of document numbers, with -1 past their ends."""
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
    given: Iterable[Opinion],
    scale: Sequence[float],
    names: Mapping[str, str],
    unseen: Unseen | None = None,
) -> list[dict[str, Any]]:
    """Return the agreement of each pair of assessors with documents that both could judge.

    Kappa is None with fewer than `FEWEST` common documents, or if it is undefined. Grades in `unseen` replace
    those of `given` for agreement with the machine.
    """
    before = unseen or {}
    by_assessor: dict[str, dict[Pair, float]] = {}
    for assessor, pair, grade in given:
        if grade is not None:
            by_assessor.setdefault(assessor, {})[pair] = grade
    found = []
    for first, second in combinations(sorted(by_assessor), 2):
        both = [
            {**by_assessor[one], **before.get((one, other), {})}
            for one, other in ((first, second), (second, first))
        ]
        could = [{pair for pair, grade in grades.items() if grade is not None} for grades in both]
        common = sorted(could[0] & could[1])
        if not common:
            continue
        left, right = (np.array([grades[pair] for pair in common]) for grades in both)
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
    """Return a current judgment as an opinion."""
    return one.assessor, one.pair, one.grade
