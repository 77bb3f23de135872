"""Expected values in closed form: sums over documents, counts, and the first relevant document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures import Measure
from sounding.measures.graded import accumulate
from sounding.relevance.priors import Chances, Outside
from sounding.runs.ranking import Counts, Ranking, Values


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Mean and standard deviation of a measure for every topic."""

    mean: Values
    deviation: Values


@dataclass(frozen=True, slots=True)
class Overall:
    """The mean over topics: its expectation, its standard deviation, and the error of the former."""

    mean: float
    deviation: float
    error: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Expected:
    """A measure under uncertain relevance: mean and standard deviation for every topic."""

    mean: Values
    deviation: Values
    error: Values  # standard error of `mean` if it was sampled; 0 if it was computed
    method: str  # known, exact, ratio, paper or sampling

    def over_topics(self, counted: NDArray[np.bool_] | None = None) -> Overall:
        """Return the mean over (`counted`) topics, whose relevance is independent; NaN if there are none."""
        chosen = np.ones(len(self.mean), np.bool_) if counted is None else counted
        number = int(chosen.sum())
        if not number:
            return Overall(np.nan, np.nan, np.nan)
        return Overall(
            float(self.mean[chosen].mean()),
            float(np.sqrt(np.square(self.deviation[chosen]).sum()) / number),
            float(np.sqrt(np.square(self.error[chosen]).sum()) / number),
        )


def known(values: Values) -> Moments:
    """Return moments of values without uncertainty."""
    return Moments(values, np.zeros(len(values)))


def is_additive(measure: Measure) -> bool:
    """Return whether the value is a sum over the retrieved documents that is not divided by R."""
    return measure.additive and measure.definition.basis != "recall"


def additive_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """Return the sum of the means of all terms, and the root of the sum of their variances."""
    terms = Terms.of(measure, chances, ranking)
    p = terms.probability
    mean = terms.judged + ranking.total(terms.topic, p * terms.if_relevant + (1 - p) * terms.if_not)
    variance = ranking.total(terms.topic, p * (1 - p) * (terms.if_relevant - terms.if_not) ** 2)
    return Moments(mean, np.sqrt(variance))


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """The parts of an additive measure: that of the judged documents, and the unjudged ones that count."""

    judged: Values  # (topic,)
    topic: Counts  # (document,)
    probability: Values
    if_relevant: Values  # the document's contribution then
    if_not: Values

    @staticmethod
    def of(measure: Measure, chances: Chances, ranking: Ranking) -> Terms:
        """Compute the terms with the measure itself.

        A document adds what the measure gives for a ranking in which nothing else is judged. One call of the
        kernel computes all: after the topics comes one more for every document and relevance.
        """
        unjudged = chances.unjudged
        rows = (unjudged if measure.k is None else unjudged & (chances.rank <= measure.k)).nonzero()[0]
        values = measure(_with_lone_documents(chances, ranking, rows))
        judged, if_relevant, if_not = np.split(values, len(ranking.topics) + len(rows) * np.arange(2))
        return Terms(judged, chances.topic[rows], chances.probability[rows], if_relevant, if_not)


def _with_lone_documents(chances: Chances, ranking: Ranking, rows: Counts) -> Ranking:
    """Return the ranking with each of these rows as its own topic: first all relevant, then all not."""
    old = ranking.judgments
    topics, number = len(ranking.topics), 2 * len(rows)
    lone = np.tile(rows, 2)
    grade = np.repeat([chances.level, 0.0], len(rows))
    none = np.zeros(number, np.int64)
    judgments = replace(
        old,
        topics=old.topics + ("",) * number,
        starts=np.concatenate([old.starts, old.starts[-1] + np.arange(1, number + 1)]),
        grades=np.concatenate([old.grades, grade]),
        pool_ranks=None if old.pool_ranks is None else np.concatenate([old.pool_ranks, none]),
        pooled=np.concatenate([old.pooled, none]),
        highest=max(old.highest, chances.level),
        sampling=None,
        intents=None,
        _known={},
    )
    return replace(
        ranking,
        judgments=judgments,
        topic=np.concatenate([ranking.topic, topics + np.arange(number)]),
        rank=np.concatenate([ranking.rank, chances.rank[lone]]),
        grade=np.concatenate([ranking.grade, grade]),
        retrieved=np.concatenate([ranking.retrieved, ranking.retrieved[chances.topic[lone]]]),
        missing=np.concatenate([ranking.missing, none.astype(np.bool_)]),
        judgment=None,
    )


class _Counted(NamedTuple):
    """Kinds of unjudged documents that a measure counts once all are judged."""

    relevant: bool  # otherwise those that are not relevant
    retrieved: bool
    outside: bool


COUNTS: Mapping[str, _Counted] = {
    "NumRet": _Counted(relevant=True, retrieved=True, outside=False),
    "NumRel": _Counted(relevant=True, retrieved=True, outside=True),
    "NumRelNotRet": _Counted(relevant=True, retrieved=False, outside=True),
    "NumNonrel": _Counted(relevant=False, retrieved=True, outside=True),
    "NumNonrelNotRet": _Counted(relevant=False, retrieved=False, outside=True),
}


def count_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """Return the judged count plus the probabilities of all others."""
    counted = COUNTS[measure.name]
    unjudged = chances.unjudged & counted.retrieved
    others = Outside.each(chances.topic[unjudged], chances.probability[unjudged])
    if counted.outside:
        others = others.joined(chances.outside)
    chance = others.probability if counted.relevant else 1 - others.probability
    mean = measure(ranking) + ranking.total(others.topic, others.count * chance)
    variance = ranking.total(others.topic, others.count * chance * (1 - chance))
    return Moments(mean, np.sqrt(variance))


FIRST = frozenset({"RR", "Success"})


def first_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """Sum over ranks the probability that the first relevant document is there, times its value."""
    near = chances.probability > 0
    if measure.k is not None:
        near &= chances.rank <= measure.k
    topic, rank, probability = chances.topic[near], chances.rank[near], chances.probability[near]
    head = np.searchsorted(topic, np.arange(len(ranking.topics)))
    nth = np.arange(1, len(topic) + 1) - head[topic]
    passed = accumulate(np.multiply, 1 - probability, nth)
    here = probability * np.where(nth == 1, 1.0, np.roll(passed, 1))
    worth = 1 / rank if measure.name == "RR" else np.ones(len(rank))
    mean = ranking.total(topic, here * worth)
    last = np.append(nth[1:] == 1, True)[: len(nth)]
    nowhere = np.ones(len(ranking.topics))
    nowhere[topic[last]] = passed[last]
    variance = ranking.total(topic, here * (worth - mean[topic]) ** 2) + nowhere * mean**2
    return Moments(mean, np.sqrt(variance))
