"""What the bounds of every registered measure must obey, over rankings too large for every completion."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache

import numpy as np
from tests.properties.strategies import HIGHEST, Topic, is_judged, random_topics, ranking_of
from tests.properties.test_laws import CHANGED, PLAIN, agree, from_pool

from sounding.measures import Measure
from sounding.measures.bounds import Bounds, Unknowns, bounds
from sounding.runs.ranking import Counts, Ranking, Values

SLACK = 1e-9
TOPICS = random_topics(150, seed=11, longest=60)
RANKING = ranking_of(TOPICS)
_chance = np.random.default_rng(12)
OUTSIDE: Counts = _chance.choice([0, 0, 1, 4, 50], len(TOPICS))
CAPS: Counts = _chance.integers(0, 30, len(TOPICS))

# These look at the judgments themselves: one more changes what they are about.
ABOUT_JUDGMENTS = {
    "Judged", "Unjudged", "FirstUnjudged", "RBPResidual", "NumJudged", "NumJudgedRet", "NumUnjudgedRet",
    "NumJudgedNotRet", "NumUnjudgedNotRet",
}  # fmt: skip


def found(measure: Measure, outside: Counts = OUTSIDE, caps: Counts | None = None) -> Bounds:
    return bounds(measure, RANKING, Unknowns(outside, caps))


def inside(values: Values, limits: Bounds) -> bool:
    unknown = np.isnan(values)  # some topics have no value of some measures
    return bool(
        np.all(unknown | ((limits.lower <= values + SLACK) & (values <= limits.upper + SLACK)))
        and limits.lower.shape == limits.upper.shape == values.shape
    )


def may_exceed_its_range(measure: Measure, limits: Bounds) -> bool:
    """A run that did not contribute to a pool, where the range is all that is known."""
    return limits.kind == "none" and from_pool(measure)


@cache
def completion(seed: int, *, capped: bool) -> Ranking:
    """The ranking with grades for some or all of its unjudged documents and some that it did not retrieve."""
    chance = random.Random(seed)
    completed = []
    for number, topic in enumerate(TOPICS):
        open_ranks = [rank for rank, label in enumerate(topic.ranking) if not is_judged(label)]
        places = [*open_ranks, *[-1] * int(OUTSIDE[number])]
        most = int(CAPS[number]) if capped else len(places)
        number_relevant = min(chance.choice([0, 1, most, chance.randint(0, most)]), most, len(places))
        relevant = chance.sample(places, number_relevant)
        if seed % 3 == 0:  # from the top, as the most often is
            relevant = places[: len(relevant)]
        grades = [chance.randint(1, HIGHEST) if seed % 2 else HIGHEST for _ in relevant]
        others = [rank for rank in open_ranks if rank not in relevant and chance.random() < 0.3]
        completed.append(
            judged_too(topic, [*zip(relevant, grades, strict=True), *((rank, 0) for rank in others)])
        )
    return ranking_of(completed)


def judged_too(topic: Topic, judgments: list[tuple[int, int]]) -> Topic:
    """The topic with grades at places of its ranking, or elsewhere (-1); none of these was in the pool."""
    labels = list(topic.ranking)
    ranks = dict(zip(label_places(topic), topic.pool_ranks or (), strict=True))
    elsewhere = list(topic.elsewhere)
    for rank, grade in judgments:
        if rank < 0:
            elsewhere.append(grade)
        else:
            labels[rank] = grade
    new = replace(topic, ranking=tuple(labels), elsewhere=tuple(elsewhere))
    return replace(new, pool_ranks=tuple(ranks.get(place, 0) for place in label_places(new)))


def label_places(topic: Topic) -> list[tuple[str, int]]:
    """A name for each judged document, in the order of `topic.judged`."""
    retrieved = [("rank", rank) for rank, label in enumerate(topic.ranking) if is_judged(label)]
    return [*retrieved, *(("elsewhere", number) for number in range(len(topic.elsewhere)))]


def test_a_value_lies_within_its_bounds() -> None:
    for measure in PLAIN + CHANGED:
        for caps in (None, CAPS):
            limits = found(measure, caps=caps)
            if not may_exceed_its_range(measure, limits):
                assert inside(measure(RANKING), limits), measure


def test_every_completion_lies_within_the_bounds() -> None:
    for measure in PLAIN:
        free, capped = found(measure), found(measure, caps=CAPS)
        if measure.name in ABOUT_JUDGMENTS or may_exceed_its_range(measure, free):
            continue
        for seed in range(8):
            assert inside(measure(completion(seed, capped=False)), free), (measure, seed)
            assert inside(measure(completion(seed, capped=True)), capped), (measure, seed)


def test_more_that_may_be_relevant_never_narrows_the_bounds() -> None:
    for measure in PLAIN:
        before = found(measure, caps=CAPS)
        for outside, caps in ((OUTSIDE + 3, CAPS), (OUTSIDE, CAPS + 2), (OUTSIDE, None), (OUTSIDE + 3, None)):
            wider = found(measure, outside, caps)
            assert np.all(np.isnan(before.lower) | (wider.lower <= before.lower + SLACK)), measure
            assert np.all(np.isnan(before.upper) | (wider.upper >= before.upper - SLACK)), measure


def test_bounds_of_a_topic_depend_on_no_other_topic() -> None:
    some = np.arange(0, len(TOPICS), 7)
    ranking = ranking_of([TOPICS[number] for number in some])
    for measure in PLAIN:
        together = found(measure, caps=CAPS)
        apart = bounds(measure, ranking, Unknowns(OUTSIDE[some], CAPS[some]))
        assert agree(apart.lower, together.lower[some]), measure
        assert agree(apart.upper, together.upper[some]), measure


def test_where_everything_is_judged_nothing_is_open() -> None:
    ranking = ranking_of([topic.condensed() for topic in TOPICS])
    for measure in PLAIN:
        limits = bounds(measure, ranking, Unknowns(np.zeros_like(OUTSIDE)))
        if limits.kind == "exact":
            assert agree(limits.lower, measure(ranking)), measure
            assert agree(limits.upper, measure(ranking)), measure
