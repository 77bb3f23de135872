"""Which unjudged documents may be relevant, and how many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.measures import parse
from sounding.measures.universe import cap, count_distinct, outside, unjudged_marks
from sounding.relevance.growth import count_by_depth, expected_beyond, new_relevant
from sounding.runs.align import align, matches, prepare

BOUNDS = Policies(unjudged="bounds")

topics = st.sampled_from(["1", "2", "3", "unjudged"])
docs = st.sampled_from([f"d{n}" for n in range(12)])
runs = st.lists(st.tuples(topics, docs), max_size=30).map(lambda rows: list(dict.fromkeys(rows)))
judged_pairs = st.lists(st.tuples(st.sampled_from("123"), docs, st.integers(-1, 2)), max_size=12)


def run_of(pairs: list[tuple[str, str]], name: str) -> Run:
    return Run.from_columns([t for t, _ in pairs], [d for _, d in pairs], range(len(pairs)), name=name)


def qrels_of(rows: list[tuple[str, str, int]]) -> Qrels:
    rows = [*rows, ("1", "x", 1), ("2", "x", 1), ("3", "x", 1)]
    unique = {(t, d): g for t, d, g in rows}
    return Qrels.from_columns([t for t, _ in unique], [d for _, d in unique], unique.values())


@given(st.lists(runs, min_size=1, max_size=4), judged_pairs)
def test_documents_outside_are_what_other_runs_found_and_nobody_judged(
    listed: list[list[tuple[str, str]]], rows: list[tuple[str, str, int]]
) -> None:
    tables = [run_of(pairs, f"r{number}") for number, pairs in enumerate(listed)]
    qrels = qrels_of(rows)
    judged = prepare(qrels, BOUNDS)
    seen = {
        (t, d)
        for t, d, g in zip(qrels.frame["topic"], qrels.docs.texts(), qrels.grades, strict=True)
        if g >= 0
    }
    distinct = count_distinct([unjudged_marks(run, judged, matches(run, judged)) for run in tables], 3)
    everything = {pair for pairs in listed for pair in pairs} - seen
    for run, pairs in zip(tables, listed, strict=True):
        ranking = align(run, judged, BOUNDS)
        expected = [
            len({pair for pair in everything if pair[0] == topic} - set(pairs)) for topic in ranking.topics
        ]
        assert outside(ranking, BOUNDS, distinct).tolist() == expected


def test_the_universe_of_one_run_has_nothing_outside_and_plus_n_has_n() -> None:
    judged = prepare(qrels_of([]), BOUNDS)
    ranking = align(run_of([("1", "a")], "r"), judged, BOUNDS)
    assert outside(ranking, Policies(unjudged="bounds", universe="run"), None).tolist() == [0, 0, 0]
    assert outside(ranking, Policies(unjudged="bounds", universe="+7"), None).tolist() == [7, 7, 7]


def test_a_cap_is_a_number_a_multiple_or_the_pools_growth() -> None:
    qrels = Qrels.from_columns(["1"] * 6, list("abcdef"), [1, 1, 1, 1, 0, 2], pool_ranks=[1, 1, 1, 2, 2, 3])
    ranking = align(run_of([("1", "a")], "r"), prepare(qrels, BOUNDS), BOUNDS)

    def capped(text: str | None, measure: str = "AP") -> list[int] | None:
        found = cap(parse(measure), ranking, Policies(unjudged="bounds", at_most=text), 10)
        return None if found is None else found.tolist()

    assert capped(None) is None
    assert capped("3") == [3]
    assert capped("2x") == [10]
    assert capped("0.5x") == [2]
    assert capped("10000000x") == [50_000_000]
    assert capped("2x", "AP(rel=2)") == [2]
    assert capped("growth") == new_relevant(ranking.judgments, 1, 10).tolist()


def test_growth_counts_new_relevant_documents_by_pool_depth() -> None:
    qrels = Qrels.from_columns(
        ["1", "1", "1", "2", "2"], list("abcab"), [1, 1, 0, 2, 1], pool_ranks=[1, 3, 2, 2, 2]
    )
    judgments = prepare(qrels).judgments
    assert count_by_depth(judgments).tolist() == [[1, 0, 1], [0, 2, 0]]
    assert count_by_depth(judgments, 2).tolist() == [[0, 0, 0], [0, 1, 0]]


def test_the_extrapolation_goes_on_along_a_power_law() -> None:
    depth = np.arange(1, 101)
    exact = 8 * depth**-0.5 - 1  # Zobel's form, C = 8, s = -1/2
    found = np.array([exact])
    ahead = 8 * np.arange(101, 201) ** -0.5 - 1
    # log(n + 1) is linear in log d, so the fit is exact, and what is negative counts 0
    assert expected_beyond(found, 200)[0] == pytest.approx(np.maximum(ahead, 0).sum())


def test_a_rate_that_does_not_fall_goes_on_at_its_mean() -> None:
    assert expected_beyond(np.array([[1, 1, 1, 1]]), 7)[0] == pytest.approx(3.0)
    rising = expected_beyond(np.array([[0, 1, 2, 4]]), 6)[0]
    assert rising == pytest.approx(2 * (np.exp(np.log1p([0, 1, 2, 4]).mean()) - 1))


def test_nothing_lies_beyond_a_pool_that_reaches_as_deep() -> None:
    assert expected_beyond(np.array([[3, 1]]), 2).tolist() == [0.0]


def test_growth_says_what_it_lacks() -> None:
    judgments = prepare(qrels_of([])).judgments
    with pytest.raises(DataError, match="growth needs the rank at which each document was pooled"):
        count_by_depth(judgments)
    with pytest.raises(DataError, match="a pool of depth 1 shows no growth"):
        expected_beyond(np.array([[2]]), 5)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"universe": "all"}, "universe 'all' is not valid; give 'run', 'runs' or"),
        (
            {"at_most": "many"},
            "at most 'many' is not valid; give a text such as '100', '2x' or 'growth'",
        ),
        ({"draws": 1}, "draws is 1; give a whole number from 2"),
        ({"draws": "x"}, "draws is 'x'; give a whole number from 2"),
        ({"depth": 1.5}, "depth is 1.5; give a whole number from 1"),
        ({"depth": "x"}, "depth is 'x'; give a whole number from 1"),
        ({"depth": True}, "depth is True; give a whole number from 1"),
        ({"seed": 0.5}, "seed is 0.5; give a whole number from 0"),
        ({"at_most": 3}, "at most 3 is not valid; give a text"),
        ({"universe": 3}, "universe 3 is not valid; give 'run'"),
        ({"prior": 0.5}, "prior 0.5 is not valid; give a text such as '0.3'"),
        (
            {"universe": "+99999999999999999999"},
            r"universe \+99999999999999999999 is too large; use at most \+10,000,000$",
        ),
        ({"universe": "+10000001"}, "use at most"),
        ({"universe": "+" + "9" * 5000}, "is too large"),
        ({"at_most": "10000001"}, "at most 10000001 is too large; use at most 10,000,000$"),
        ({"at_most": "99999999999999999999x"}, "at most 99999999999999999999x is too large"),
        ({"unjudged": "bounds", "ties": "average"}, "ties average and unjudged bounds do not go together"),
    ],
)
def test_what_makes_no_sense_is_refused(choice: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        Policies(**choice)  # type: ignore[arg-type]


def test_as_many_documents_as_a_collection_may_have_are_accepted() -> None:
    assert Policies(universe="+10000000", at_most="10000000").universe == "+10000000"


def test_only_policies_in_force_are_repeated() -> None:
    assert "universe" not in Policies().describe()
    assert "prior" not in BOUNDS.describe()
    assert BOUNDS.describe().endswith("universe runs")
    assert "at most 2x" in Policies(unjudged="bounds", at_most="2x").describe()
    assert "prior rate, moments best, draws 1000, seed 0" in Policies(unjudged="expected").describe()
