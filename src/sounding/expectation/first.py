"""Measures that ask only where the first relevant document stands: RR and Success."""

from __future__ import annotations

import numpy as np

from sounding.expectation.moments import Moments
from sounding.measures import Measure
from sounding.measures.graded import running
from sounding.ranking import Ranking
from sounding.relevance import Chances

FIRST = frozenset({"RR", "Success"})


def first_moments(measure: Measure, chances: Chances, ranking: Ranking) -> Moments:
    """Sum over ranks of the chance that the first relevant document is there, times what it is worth."""
    near = chances.probability > 0
    if measure.k is not None:
        near &= chances.rank <= measure.k
    topic, rank, probability = chances.topic[near], chances.rank[near], chances.probability[near]
    head = np.searchsorted(topic, np.arange(len(ranking.topics)))
    nth = np.arange(1, len(topic) + 1) - head[topic]
    passed = running(np.multiply, 1 - probability, nth)
    here = probability * np.where(nth == 1, 1.0, np.roll(passed, 1))
    worth = 1 / rank if measure.name == "RR" else np.ones(len(rank))
    mean = ranking.total(topic, here * worth)
    last = np.append(nth[1:] == 1, True)[: len(nth)]
    nowhere = np.ones(len(ranking.topics))
    nowhere[topic[last]] = passed[last]
    variance = ranking.total(topic, here * (worth - mean[topic]) ** 2) + nowhere * mean**2
    return Moments(mean, np.sqrt(variance))
