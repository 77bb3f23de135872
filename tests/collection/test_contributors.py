"""Which runs made the pool, and what a shallower pool would have held."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.collection.contributors import contributing_runs, first_unjudged, judgments_at_depth
from sounding.data.simulation import simulate_collection
from sounding.data.tables import Qrels
from sounding.errors import DataError
from sounding.evaluation import evaluate
from sounding.retrieved import read_retrieved

COLLECTION = simulate_collection(topics=6, seed=3)
POOLED = {info.run for info in COLLECTION.info if info.pooled}
INFO = {info.run: info for info in COLLECTION.info}


def test_first_unjudged_is_the_measure_of_that_name() -> None:
    found = read_retrieved(COLLECTION.runs, topics=COLLECTION.qrels.topics)
    scores = evaluate(COLLECTION.qrels, COLLECTION.runs, ["FirstUnjudged"])
    ours = first_unjudged(found, found.grades(COLLECTION.qrels))
    np.testing.assert_array_equal(ours, scores.values[:, 0])


def test_a_pool_cut_by_listed_runs_equals_one_cut_by_pool_ranks() -> None:
    known = COLLECTION.qrels
    assert known.pool_ranks is not None
    by_ranks, _ = judgments_at_depth(known, COLLECTION.runs, 5)
    by_runs, said = judgments_at_depth(known, COLLECTION.runs, 5, info=INFO)
    assert 0 < len(by_ranks.docs) < len(known.docs)
    assert by_ranks.frame.rows() == by_runs.frame.rows()
    assert said == (
        f"pool cut to depth 5 (of {len(POOLED)} contributing runs, listed):"
        f" {len(by_runs.docs)} of {len(known.docs)} judgments kept"
    )


def test_listed_runs_that_are_not_given_are_counted() -> None:
    some = [run for run in COLLECTION.runs if run.name == min(POOLED)]
    _, said = judgments_at_depth(COLLECTION.qrels, some, 5, info=INFO)
    assert f"of only 1 of the {len(POOLED)} contributing runs, listed" in said


def test_contributing_runs_are_guessed_from_what_is_judged() -> None:
    found = read_retrieved(COLLECTION.runs, topics=COLLECTION.qrels.topics)
    pool = contributing_runs(found, found.grades(COLLECTION.qrels))
    guessed = {run for run, inside in zip(found.runs, pool.contributing.tolist(), strict=True) if inside}
    assert pool.guessed
    assert guessed >= POOLED


def test_a_pool_that_no_run_made_cannot_be_cut() -> None:
    qrels = Qrels.from_dict({"1": {"z": 1}})
    with pytest.raises(DataError, match="none of these contributed"):
        judgments_at_depth(qrels, {"x": {"1": {"a": 1.0}}}, 1)


def test_a_guessed_pool_is_not_cut_deeper_than_it_is() -> None:
    runs = {name: {"1": {f"d{place}": -place for place in range(20)}} for name in ("x", "y")}
    qrels = Qrels.from_dict({"1": {f"d{place}": place % 2 for place in range(12)}})
    with pytest.raises(DataError, match="12 deep; cut it to at most that, not 15"):
        judgments_at_depth(qrels, runs, 15)
    assert len(judgments_at_depth(qrels, runs, 11)[0].docs) == 11
