"""Measures that add up one term a document: each term has its own chance, and the sum is exact."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sounding.expectation.moments import Moments
from sounding.measures import Measure
from sounding.ranking import Ranking, TieBlocks
from sounding.relevance import Chances


def is_additive(measure: Measure) -> bool:
    """Whether the value is a sum over the retrieved documents, with nothing that divides it by R."""
    return measure.definition.additive and measure.definition.basis != "recall"


def additive_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """The value of what was judged, and for every unjudged document what it adds if relevant and if not.

    What a document adds is what the measure gives for a ranking that has nothing else judged. One call of
    its kernel does all: behind the topics stands one more for every unjudged document and relevance.
    """
    topics = len(ranking.topics)
    unjudged = chances.unjudged
    if measure.k is not None:
        unjudged &= chances.rank <= measure.k if chances.ties is None else chances.ties.first <= measure.k
    rows = unjudged.nonzero()[0]
    values = measure(_with_lone_documents(chances, ranking, rows))
    plain, if_relevant = values[:topics], values[topics : topics + len(rows)]
    if_not = values[topics + len(rows) : topics + 2 * len(rows)]
    probability, topic = chances.probability[rows], chances.topic[rows]
    mean = plain + ranking.total(topic, probability * if_relevant + (1 - probability) * if_not)
    variance = ranking.total(topic, probability * (1 - probability) * (if_relevant - if_not) ** 2)
    return Moments(mean, np.sqrt(variance))


def _with_lone_documents(chances: Chances, ranking: Ranking, rows: np.typing.NDArray[np.int64]) -> Ranking:
    """The ranking with each of these rows as a topic of its own: all of them relevant, then all not."""
    judgments = ranking.judgments
    topics, number = len(ranking.topics), 2 * len(rows)
    lone = np.tile(rows, 2)
    grade = np.repeat([chances.level, 0.0], len(rows))
    ties = ranking.ties
    if ties is not None and chances.ties is not None:
        ties = TieBlocks(
            np.concatenate([ties.first, chances.ties.first[lone]]),
            np.concatenate([ties.size, chances.ties.size[lone]]),
        )
    pool_ranks = judgments.pool_ranks
    judgments = replace(
        judgments,
        topics=judgments.topics + ("",) * number,
        starts=np.concatenate([judgments.starts, judgments.starts[-1] + np.arange(1, number + 1)]),
        grades=np.concatenate([judgments.grades, grade]),
        pool_ranks=None if pool_ranks is None else np.concatenate([pool_ranks, np.zeros(number, np.int64)]),
        pooled=np.concatenate([judgments.pooled, np.zeros(number, np.int64)]),
        highest=max(judgments.highest, chances.level),
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
        missing=np.concatenate([ranking.missing, np.zeros(number, np.bool_)]),
        judgment=None,
        ties=ties,
    )
