"""What expected values and bounds must say alike of every registered measure: they are of one uncertainty."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.properties.strategies import Topic, random_topics, ranking_of
from tests.properties.test_bounds_laws import inside, may_exceed_its_range
from tests.properties.test_laws import CHANGED, CLAIMING, PLAIN

from sounding.measures import Measure
from sounding.measures.bounds import Bounds, Unknowns, bounds
from sounding.measures.expected import Expected, expected, level_of
from sounding.relevance.priors import Chances, Outside
from sounding.runs.ranking import Counts, Ranking

TOPICS = random_topics(50, seed=21)
GRADED = ranking_of(TOPICS)
OUTSIDE: Counts = np.random.default_rng(22).choice([0, 0, 1, 4], len(TOPICS))
CHANCE = 0.4
DRAWS = 200  # each completion of 3 unjudged documents is among them
MEASURES = PLAIN + CHANGED
MEASURES += [measure.replace(rel=0) for measure in CLAIMING if measure.definition.takes("rel")]
MEASURES = [measure for measure in MEASURES if not measure.definition.by_intent]  # they have none


def yes_or_no(topic: Topic) -> Topic:
    """The topic with grade 1 for every document of a grade above 0."""
    labels = tuple(label if label is None else min(label, 1) for label in topic.ranking)
    return replace(topic, ranking=labels, elsewhere=tuple(min(grade, 1) for grade in topic.elsewhere))


# What is drawn has the lowest grade that is relevant; here that is the highest too, as for the bounds.
YES_OR_NO = ranking_of([yes_or_no(topic) for topic in TOPICS], highest=1)


@cache
def chances_at(level: float, ranking: Ranking) -> Chances:
    """One chance for every unjudged document, those that the run did not retrieve among them."""
    length = ranking.retrieved
    topic = np.repeat(np.arange(len(TOPICS)), length)
    first = np.cumsum(length) - length
    grade = np.full(len(topic), np.nan)
    grade[first[ranking.topic] + ranking.rank - 1] = ranking.grade
    hit = ranking.topic[ranking.grade >= level]
    return Chances(
        prior="by hand",
        level=level,
        topic=topic,
        rank=np.arange(1, len(topic) + 1) - first[topic],
        grade=grade,
        probability=np.where(np.isnan(grade), CHANCE, grade >= level),
        elsewhere=ranking.relevant(level) - np.bincount(hit, minlength=len(TOPICS)),
        outside=Outside(np.arange(len(TOPICS)), np.full(len(TOPICS), CHANCE), OUTSIDE),
    )


@cache
def both(measure: Measure, ranking: Ranking) -> tuple[Expected, Bounds]:
    level = level_of(measure) or 1.0  # with rel=0 no chances are asked for
    found = expected(measure, chances_at(level, ranking), ranking, draws=DRAWS, rng=np.random.default_rng(23))
    return found, bounds(measure, ranking, Unknowns(OUTSIDE))


@pytest.mark.parametrize("ranking", [GRADED, YES_OR_NO], ids=["graded", "yes or no"])
def test_what_is_expected_lies_within_the_bounds(ranking: Ranking) -> None:
    for measure in MEASURES:
        found, limits = both(measure, ranking)
        if not may_exceed_its_range(measure, limits):
            assert inside(found.mean, limits), measure


def unjudged_documents(chances: Chances) -> Counts:
    """How many documents of each topic are not judged, retrieved and outside."""
    topics = len(chances.elsewhere)
    around = np.bincount(chances.outside.topic, chances.outside.count, topics)
    return np.bincount(chances.topic[chances.unjudged], minlength=topics) + around.astype(np.int64)


def test_a_value_strays_where_its_bounds_leave_room_and_nowhere_else() -> None:
    few = unjudged_documents(chances_at(1, YES_OR_NO)) <= 3
    for measure in MEASURES:
        found, limits = both(measure, YES_OR_NO)
        if limits.kind != "exact":
            continue
        width = np.nan_to_num(limits.upper - limits.lower)
        assert not (found.deviation[width <= 1e-12] > 1e-7).any(), measure
        room = width > 1e-5
        if found.method == "sampling":
            room &= few
        assert (found.deviation[room] > 1e-9).all(), measure


def test_some_measures_stray_and_others_are_known() -> None:
    methods = {both(measure, YES_OR_NO)[0].method for measure in MEASURES}
    assert methods == {"known", "exact", "sampling"}
    assert 5 < np.count_nonzero(unjudged_documents(chances_at(1, YES_OR_NO)) <= 3) < len(TOPICS) - 5
