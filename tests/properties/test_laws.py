"""What every registered measure must obey, and what each claims of itself, over random rankings.

The measures come from the registry: a new one is tested by being there. Claims are about a measure
whose parameters other than k and rel have their defaults.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.properties.strategies import (
    HIGHEST,
    Topic,
    every_definition,
    is_judged,
    ranking_of,
    topic_lists,
)

from sounding.core.errors import DataError
from sounding.measures.registry import Definition, Measure
from sounding.runs.ranking import Ranking, Values

SLACK = 1e-9
CUTOFFS = (1, 3, 10)
# What to put where a measure needs a value, or where other values than the default are worth a look.
TRIED: dict[str, tuple[Any, ...]] = {
    "k": CUTOFFS,
    "rel": (1, 2),
    "x": (0.2, 1, 2.5),
    "recall": (0, 0.3, 1),
    "max_rel": (HIGHEST,),
}
# Values that are not the default, where the annotation does not list them.
FURTHER: dict[str, list[dict[str, Any]]] = {
    "SetF": [{"beta": 0}, {"beta": 2.5}],
    "F": [{"beta": 0}, {"beta": 2.5}],
    "Utility": [{"a": -1, "b": 2}, {"d": 0.5, "collection": 1000}],
    "NumUnjudgedNotRet": [{"collection": 1000}],
    "IAP": [{"points": "0.2,0.5,0.8"}],
    "Q": [{"gain": "exponential", "scale": "topic"}],
    "RBP": [{"gain": "exponential", "scale": "topic"}],
    "ERR": [{"gain": "linear", "scale": "topic"}],
}

# Measures that some topics have no value of.
UNDEFINED = {"FirstUnjudged"}

DEFINITIONS = every_definition()


def examples(known: Definition) -> Iterator[Measure]:
    """The measure with every combination of the values to try, and without what may be left out."""
    choices: list[list[dict[str, Any]]] = []
    for name, parameter in known.parameters.items():
        values = [{name: value} for value in TRIED.get(name, ())]
        optional = parameter.default is not inspect.Parameter.empty
        assert values or optional, f"say in TRIED what {known.name} may be given for {name}"
        choices.append(values + ([{}] if optional and parameter.default not in TRIED.get(name, ()) else []))
    for chosen in itertools.product(*choices):
        yield Measure.of(known.name, **{key: value for part in chosen for key, value in part.items()})


def variants(known: Definition) -> Iterator[Measure]:
    """The measure with each value of a parameter that is one of a few words, or true or false."""
    needed = {n: TRIED[n][1] for n, p in known.parameters.items() if n == "k" or p.default is p.empty}
    plain = Measure.of(known.name, **needed)
    for name, parameter in known.parameters.items():
        hint = parameter.annotation
        if hint is bool or get_origin(hint) is Literal:
            for value in get_args(hint) or (True, False):
                yield plain.replace(**{name: value})
    for parameters in FURTHER.get(known.name, []):
        yield plain.replace(**parameters)


NUMERIC = [known for known in DEFINITIONS if known.aggregate != "text"]
CLAIMING = [measure for known in NUMERIC for measure in examples(known)]
PLAIN = list(dict.fromkeys(CLAIMING + [measure for known in NUMERIC for measure in variants(known)]))
CHANGED = [measure.replace(**{name: True}) for name in ("judged_only", "assessed") for measure in PLAIN]

often = settings(max_examples=100, deadline=None)


@cache
def from_pool(measure: Measure) -> bool:
    """Whether the measure cannot do without the ranks at which documents were pooled."""
    try:
        measure(ranking_of([Topic((1,))]))
    except DataError:
        return True
    return False


def agree(left: Values, right: Values) -> bool:
    return bool(np.allclose(left, right, rtol=0, atol=SLACK, equal_nan=True))


def same(left: Values, right: Values) -> bool:
    return bool(np.array_equal(left, right, equal_nan=True))


@often
@given(topic_lists())
def test_values_lie_within_the_bounds_of_the_measure(topics: list[Topic]) -> None:
    ranking = ranking_of(topics)
    for measure in PLAIN + CHANGED:
        values = measure(ranking)
        assert values.shape == (len(topics),), measure
        defined = values[~np.isnan(values)] if measure.name in UNDEFINED else values
        assert np.all(np.isfinite(defined)), (measure, values)
        if not from_pool(measure):  # a run that did not contribute to the pool can exceed 1
            low, high = measure.definition.bounds
            assert np.all((defined >= low - SLACK) & (defined <= high + SLACK)), (measure, values)


@often
@given(topic_lists(most=5), st.randoms(use_true_random=False))
def test_values_go_with_their_topics_in_any_order(topics: list[Topic], chance: Any) -> None:
    order = list(range(len(topics)))
    chance.shuffle(order)
    ranking, shuffled = ranking_of(topics), ranking_of([topics[number] for number in order])
    for measure in PLAIN:
        assert same(measure(shuffled), measure(ranking)[order]), measure


@often
@given(topic_lists(fewest=2))
def test_a_value_depends_on_no_other_topic(topics: list[Topic]) -> None:
    ranking, alone = ranking_of(topics), ranking_of(topics[:1])
    for measure in PLAIN:
        assert agree(measure(alone), measure(ranking)[:1]), measure


@often
@given(topic_lists())
def test_judged_only_is_the_measure_without_the_unjudged_documents(topics: list[Topic]) -> None:
    ranking, condensed = ranking_of(topics), ranking_of([topic.condensed() for topic in topics])
    for measure in PLAIN:
        assert same(measure.replace(judged_only=True)(ranking), measure(condensed)), measure


@often
@given(topic_lists())
def test_assessed_is_the_measure_with_every_judged_document_fully_relevant(topics: list[Topic]) -> None:
    ranking = ranking_of(topics)
    flattened = {
        grade: ranking_of([topic.assessed(grade) for topic in topics], highest=grade) for grade in (1, 2, 4)
    }
    for measure in PLAIN:
        grade = max(1, *(measure.get(name) or 1 for name in ("rel", "max_rel")))
        assert same(measure.replace(assessed=True)(ranking), measure(flattened[grade])), measure


@often
@given(topic_lists(shortest=1), st.data())
def test_a_better_grade_never_lowers_a_monotone_measure(topics: list[Topic], data: st.DataObject) -> None:
    judged, better = [], []
    for topic in topics:
        rank = data.draw(st.integers(1, len(topic.ranking)))
        label = topic.ranking[rank - 1]
        lowest = int(label) if is_judged(label) else 0
        judged.append(is_judged(label))
        better.append(topic.relabelled(rank, data.draw(st.integers(lowest, HIGHEST))))
    # A document that becomes judged has no pool rank, and no measure makes a claim that needs one.
    before, after = ranking_of(without_pool_ranks(topics)), ranking_of(without_pool_ranks(better))
    for measure in CLAIMING:
        if measure.definition.monotone:
            assert np.all(measure(after) >= measure(before) - SLACK), measure
            # Judging one more document moves those below it, so this holds for new grades alone.
            condensed = measure.replace(judged_only=True)
            assert np.all((condensed(after) >= condensed(before) - SLACK)[np.array(judged)]), condensed


def without_pool_ranks(topics: list[Topic]) -> list[Topic]:
    return [replace(topic, pool_ranks=None) for topic in topics]


@often
@given(topic_lists())
def test_a_deeper_cut_off_never_lowers_a_measure_that_is_monotone_in_k(topics: list[Topic]) -> None:
    ranking = ranking_of(topics)
    for measure in CLAIMING:
        if measure.definition.monotone_in_k and measure.k is not None:
            deeper = measure.replace(k=measure.k + 1)
            assert np.all(deeper(ranking) >= measure(ranking) - SLACK), measure


def only(ranking: Ranking, place: int) -> Ranking:
    """The ranking with one judged document: the others at their ranks are as if nobody had judged them."""
    one = slice(place, place + 1)
    return replace(ranking, topic=ranking.topic[one], rank=ranking.rank[one], grade=ranking.grade[one])


@often
@given(topic_lists(most=2))
def test_an_additive_measure_is_the_sum_over_its_documents(topics: list[Topic]) -> None:
    ranking = ranking_of(topics)
    single = [only(ranking, place) for place in range(len(ranking.rank))]
    for measure in CLAIMING:
        if measure.definition.additive:
            terms = sum((measure(each) for each in single), np.zeros(len(topics)))
            assert agree(measure(ranking), terms), measure


@often
@given(topic_lists(most=2), st.integers(1, 5))
def test_unjudged_documents_at_the_end_never_raise_a_monotone_measure(topics: list[Topic], more: int) -> None:
    longer = [replace(topic, ranking=(*topic.ranking, *[None] * more)) for topic in topics]
    ranking, extended = ranking_of(topics), ranking_of(longer)
    for measure in CLAIMING:
        if measure.definition.monotone and measure.definition.basis != "count":
            assert np.all(measure(extended) <= measure(ranking) + SLACK), measure


def test_only_variants_that_say_so_need_pool_ranks() -> None:
    needing = {measure for measure in PLAIN if from_pool(measure)}
    assert Measure.of("AP", norm="c", k=3) in needing
    assert not needing & set(CLAIMING)


def test_every_claim_is_made_by_some_measure_and_not_by_all() -> None:
    for claim in ("monotone", "monotone_in_k", "additive"):
        assert {getattr(known, claim) for known in NUMERIC} == {True, False}, claim


@pytest.mark.parametrize("name", ["RBP", "ERR"])
def test_a_better_grade_can_lower_a_measure_on_the_scale_of_the_topic(name: str) -> None:
    before, after = ranking_of([Topic((1, 0, 0, 1))]), ranking_of([Topic((1, 0, 0, 4))])
    own = Measure.of(name, scale="topic")
    assert own(after)[0] < own(before)[0]
    assert not own.additive
    assert Measure.of(name).additive == own.definition.additive


@pytest.mark.parametrize("name", ["AP", "BinG", "Bpref", "IAP", "Rprec", "Yaap", "infAP", "statAP", "xinfAP"])
def test_a_relevant_document_far_down_lowers_what_divides_by_their_number(name: str) -> None:
    before = ranking_of([Topic((1, 0, 0, 0, 0, 0))])
    after = ranking_of([Topic((1, 0, 0, 0, 0, 1))])
    measure = Measure.of(name)
    assert measure(after)[0] < measure(before)[0]
    assert not measure.definition.monotone
