"""Measures that add up one term a document: each term has its own chance, and the sum is exact."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sounding.expectation.moments import Moments
from sounding.measures import Measure
from sounding.ranking import Counts, Ranking, Values
from sounding.relevance import Chances


def is_additive(measure: Measure) -> bool:
    """Whether the value is a sum over the retrieved documents, with nothing that divides it by R."""
    return measure.additive and measure.definition.basis != "recall"


def additive_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """The sum of the means of all terms, and the root of the sum of their variances."""
    terms = Terms.of(measure, chances, ranking)
    p = terms.probability
    mean = terms.judged + ranking.total(terms.topic, p * terms.if_relevant + (1 - p) * terms.if_not)
    variance = ranking.total(terms.topic, p * (1 - p) * (terms.if_relevant - terms.if_not) ** 2)
    return Moments(mean, np.sqrt(variance))


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What an additive measure consists of: the judged documents' part, and unjudged ones that count."""

    judged: Values  # (topic,)
    topic: Counts  # (document,)
    probability: Values
    if_relevant: Values  # what the document adds then
    if_not: Values

    @staticmethod
    def of(measure: Measure, chances: Chances, ranking: Ranking) -> Terms:
        """The terms, by the measure itself.

        What a document adds is what the measure gives for a ranking in which nothing else is judged. One
        call of the kernel does all: behind the topics stands one more for every document and relevance.
        """
        unjudged = chances.unjudged
        rows = (unjudged if measure.k is None else unjudged & (chances.rank <= measure.k)).nonzero()[0]
        values = measure(_with_lone_documents(chances, ranking, rows))
        judged, if_relevant, if_not = np.split(values, len(ranking.topics) + len(rows) * np.arange(2))
        return Terms(judged, chances.topic[rows], chances.probability[rows], if_relevant, if_not)


def _with_lone_documents(chances: Chances, ranking: Ranking, rows: Counts) -> Ranking:
    """The ranking with each of these rows as a topic of its own: all of them relevant, then all not."""
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
