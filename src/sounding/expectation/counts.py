"""Numbers of relevant, or not relevant, documents: every unjudged one adds its own chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from sounding.expectation.moments import Moments
from sounding.measures import Measure
from sounding.ranking import Ranking
from sounding.relevance import Chances, Outside


class _Counted(NamedTuple):
    """What a measure counts among the unjudged documents, once all are judged."""

    relevant: bool  # or those that are not
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
    """What was judged so, with the chances of all others added up."""
    counted = COUNTS[measure.name]
    unjudged = chances.unjudged & counted.retrieved
    others = Outside.each(chances.topic[unjudged], chances.probability[unjudged])
    if counted.outside:
        others = others.joined(chances.outside)
    chance = others.probability if counted.relevant else 1 - others.probability
    mean = measure(ranking) + ranking.total(others.topic, others.count * chance)
    variance = ranking.total(others.topic, others.count * chance * (1 - chance))
    return Moments(mean, np.sqrt(variance))
