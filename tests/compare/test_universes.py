"""Bounds of all pairs, of baselines and of one pair suppose the same documents, and hold for all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from tests.compare.completing import Collection, Grades, draw_collection

from sounding.compare.comparison import compare, compare_scores
from sounding.compare.result import Comparison
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse
from sounding.measures.assessed import with_assessment
from sounding.statistics.pairwise import Procedure

T = Procedure(test="t")
SLACK = 1e-12
MEASURES = ("AP", "nDCG", "R@2", "Rprec", "P@3", "RBP", "RR")
UNIVERSES = ("run", "runs", "+2")
ASKED = [(universe, missing) for universe in UNIVERSES for missing in ("zero", "skip")]


@cache
def drawn(seed: int) -> Collection:
    """Three runs over four topics, the first of which only two of them have."""
    found = draw_collection(seed, open_docs=3, topics=4)
    lists = [dict(one) for one in found.lists]
    del lists[seed % 3]["t0"]
    return replace(found, lists=lists)


def completions(collection: Collection, universe: str) -> Iterator[Grades]:
    """Judgments of whatever the runs retrieved and of what else the universe has."""
    more = int(universe[1:]) if universe.startswith("+") else 0
    for grades in collection.completions((0.0, 1.0, 2.0)):
        for relevant in range(more + 1):
            beside = {f"elsewhere{number}": 2.0 for number in range(relevant)}
            yield {topic: docs | beside for topic, docs in grades.items()}


def mean_differences(
    collection: Collection, grades: Grades, policies: Policies, pairs: np.ndarray
) -> np.ndarray:
    """(measure, pair): over the topics that count for both runs."""
    rankings = collection.rankings(grades, policies)
    values = np.array([[parse(measure)(ranking) for ranking in rankings] for measure in MEASURES])
    if policies.missing == "skip":
        values[:, np.array([ranking.missing for ranking in rankings])] = np.nan
    return np.nanmean(values[:, pairs[:, 0]] - values[:, pairs[:, 1]], axis=-1)


def compared(collection: Collection, policies: Policies, **asked: object) -> Comparison:
    qrels = Qrels.from_dict(collection.grades)
    return compare(qrels, collection.runs, MEASURES, policies=policies, procedure=T, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("universe", "missing"), ASKED)
def test_no_completion_leaves_the_bounds_of_all_pairs(seed: int, universe: str, missing: str) -> None:
    collection, policies = drawn(seed), Policies(universe=universe, missing=missing)  # type: ignore[arg-type]
    found = compared(collection, policies)
    places = [MEASURES.index(str(measure)) for measure in found.measures]
    for grades in completions(collection, universe):
        gaps = mean_differences(collection, grades, policies, found.pairs)[places]
        for bounds, gap in zip(found.bounds, gaps, strict=True):
            assert bounds is not None
            assert (bounds.lower - SLACK <= gap).all()
            assert (gap <= bounds.upper + SLACK).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("universe", "missing"), ASKED)
def test_one_pair_is_settled_wherever_all_pairs_say_so(seed: int, universe: str, missing: str) -> None:
    collection, policies = drawn(seed), Policies(universe=universe, missing=missing)  # type: ignore[arg-type]
    every = compared(collection, policies)
    for baseline in range(len(every.runs)):
        one = compared(collection, policies, baselines=[every.runs[baseline]])
        place = {tuple(pair): number for number, pair in enumerate(one.pairs.tolist())}
        for measure, apart in zip(every.measures, every.bounds, strict=True):
            together = one.bounds[one.measures.index(measure)]
            assert apart is not None
            assert together is not None
            for number, (a, b) in enumerate(every.pairs.tolist()):
                if baseline not in (a, b):
                    continue
                sign = 1 if (a, b) in place else -1
                there = place[(a, b)[::sign]]
                limits = sorted([sign * together.lower[there], sign * together.upper[there]])
                assert apart.lower[number] - SLACK <= limits[0] <= limits[1] <= apart.upper[number] + SLACK
                assert together.settled[there] or not apart.settled[number]


def test_runs_that_are_equal_on_their_common_topics_stay_equal_whatever_a_topic_that_one_lacks_says() -> None:
    best, worst = {"r": 2.0, "n": 1.0}, {"n": 2.0, "r": 1.0}
    qrels = {topic: {"r": 1, "n": 0} for topic in ("1", "2", "3")}
    runs = {
        "whole": {"1": best, "2": worst, "3": best},
        "part": {"1": best, "2": worst},
        "other": {"1": worst, "2": worst, "3": worst},
    }
    found = compare(
        qrels, [_run(name, ranking) for name, ranking in runs.items()], ["P@1", "AP"],
        policies=Policies(missing="skip"), procedure=T,
    )  # fmt: skip
    settled = {
        (str(found.measures[number]), frozenset(found.names(pair))): found.settled(number, pair)
        for number, pair in found.by_rank()
    }
    for number, measure in enumerate(("P@1", "AP")):
        assert settled[measure, frozenset({"whole", "part"})] is True
        assert settled[measure, frozenset({"whole", "other"})] is True
        bounds = found.bounds[number]
        assert bounds is not None
        both = [frozenset(found.names(pair)) == {"whole", "part"} for pair in range(len(found.pairs))]
        assert (bounds.equal.tolist(), bounds.settled[both].tolist()) == (both, [False])


def test_a_pair_without_common_topics_is_neither_settled_nor_open() -> None:
    best, worst = {"r": 2.0, "n": 1.0}, {"n": 2.0, "r": 1.0}
    qrels = {topic: {"r": 1, "n": 0} for topic in ("1", "2", "3", "4")}
    runs = [
        _run("first", {"1": best, "2": worst}), _run("last", {"3": best, "4": worst}),
        _run("whole", {"1": worst, "2": worst, "3": worst, "4": worst}),
    ]  # fmt: skip
    found = compare(qrels, runs, ["P@1"], policies=Policies(missing="skip"), procedure=T)
    settled = {frozenset(found.names(pair)): found.settled(0, pair) for pair in range(3)}
    assert settled[frozenset({"first", "last"})] is None


def _run(name: str, ranking: dict[str, dict[str, float]]) -> Run:
    return Run.from_dict(ranking, name=name)


@pytest.mark.parametrize("universe", ["run", "+2"])
def test_scores_over_a_universe_of_each_run_settle_only_what_does_not_depend_on_it(universe: str) -> None:
    collection = drawn(0)
    scores = evaluate(
        Qrels.from_dict(collection.grades), collection.runs, with_assessment(["AP", "P@3"]),
        policies=Policies(unjudged="bounds", universe=universe),
    )  # fmt: skip
    found = compare_scores(scores, measures=["AP", "P@3"], procedure=T)
    assert [bounds is None for bounds in found.bounds] == [True, False]
