"""Which runs made the pool, and what a shallower pool would have held."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sounding.audit.judged_runs import read_judged_runs
from sounding.core.errors import DataError
from sounding.data.tables import Qrels
from sounding.evaluate.evaluation import evaluate
from sounding.runs.pool import (
    cut_pool,
    depth_by_topic,
    first_unjudged,
    judgments_at_depth,
    pool_of_lists,
)
from sounding.runs.retrieved import read_retrieved
from sounding.sample.simulation import sample

COLLECTION = sample(topics=6, seed=3)
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
    by_ranks, *_ = judgments_at_depth(known, COLLECTION.runs, 5)
    by_runs, said, _ = judgments_at_depth(replace(known, pool_ranks=None), COLLECTION.runs, 5, info=INFO)
    assert 0 < len(by_ranks.docs) < len(known.docs)
    assert by_ranks.frame.rows() == by_runs.frame.rows()
    kept = f"{len(by_runs.docs):,} of {len(known.docs):,} judgments kept"
    assert said == f"pool cut to depth 5 (of {len(POOLED)} contributing runs, listed): {kept}"
    told, how, _ = judgments_at_depth(known, COLLECTION.runs, 5, info=INFO)  # ranks of the qrels come first
    assert told.frame.rows() == by_ranks.frame.rows()
    assert how == f"pool cut to depth 5 (by the pool ranks of the qrels): {kept}"


def test_listed_runs_that_are_not_given_are_counted() -> None:
    some = [run for run in COLLECTION.runs if run.name == min(POOLED)]
    qrels = replace(COLLECTION.qrels, pool_ranks=None)
    _, said, _ = judgments_at_depth(qrels, some, 5, info=INFO)
    assert f"of only 1 of the {len(POOLED)} contributing runs, listed" in said


def test_contributing_runs_are_guessed_from_what_is_judged() -> None:
    found = read_retrieved(COLLECTION.runs, topics=COLLECTION.qrels.topics)
    pool = pool_of_lists(found, found.grades(COLLECTION.qrels))
    guessed = {run for run, inside in zip(found.runs, pool.contributing.tolist(), strict=True) if inside}
    assert pool.guessed
    assert guessed >= POOLED


def test_a_pool_that_no_run_made_cannot_be_cut() -> None:
    qrels = Qrels.from_dict({"1": {"z": 1}})
    with pytest.raises(DataError, match="none of these contributed"):
        judgments_at_depth(qrels, {"x": {"1": {"a": 1.0}}}, 1)


def test_pool_ranks_are_believed_whatever_the_runs_say_and_not_cut_deeper_than_they_go() -> None:
    qrels = Qrels.from_columns(["1"] * 3, list("abc"), [1, 1, 0], pool_ranks=[3, 1, 2])
    runs = {"x": {"1": {"a": 3.0, "b": 2.0, "c": 1.0}}}
    kept, *_ = judgments_at_depth(qrels, runs, 2)
    assert kept.docs.texts() == ["b", "c"]
    with pytest.raises(DataError, match="end at 3, not at 4"):
        judgments_at_depth(qrels, runs, 4)
    assert cut_pool(qrels, None, 1).docs.texts() == ["b"]
    with pytest.raises(DataError, match="no pool ranks"):
        cut_pool(replace(qrels, pool_ranks=None), None, 1)


def test_a_cut_pool_is_as_deep_as_it_was_cut_with_its_holes_counted_anew() -> None:
    made = COLLECTION
    deep = read_judged_runs(replace(made.qrels, pool_ranks=None), made.runs, info=INFO)
    place = int(deep.contributions().cut(5).best_ranks().nonzero()[0][0])
    topic, doc = deep.named_documents(np.array([place]))[0].split()
    number = made.qrels.topics.index(topic)
    rows = np.arange(len(made.qrels.docs))
    inside = (rows >= made.qrels.starts[number]) & (rows < made.qrels.starts[number + 1])
    keep = ~(inside & np.array([text == doc for text in made.qrels.docs.texts()]))
    found = read_judged_runs(made.qrels.keep(keep), made.runs, info=INFO, pool_depth=5)
    assert (found.pool.depth, found.pool.judged < 5) == (5, True)
    assert found.named_documents(found.holes()) == [f"{topic} {doc}"]
    assert found.pool.holed == sum(doc in texts for texts in lists_of(topic, 5))


def lists_of(topic: str, depth: int) -> list[list[str]]:
    """The first documents of the pooled runs, in trec_eval's order."""
    found = []
    for run in COLLECTION.runs:
        if run.name in POOLED:
            place = run.topics.index(topic)
            rows = range(int(run.starts[place]), int(run.starts[place + 1]))
            texts = run.docs.texts()
            best = sorted(rows, key=lambda row: (run.scores[row], texts[row]), reverse=True)[:depth]
            found.append([texts[row] for row in best])
    return found


def test_lost_judgments_are_found_and_named_and_the_pool_keeps_its_depth() -> None:
    qrels = replace(COLLECTION.qrels, pool_ranks=None)
    lost = np.random.default_rng(4).choice(len(qrels.docs), 6, replace=False)
    keep = np.ones(len(qrels.docs), np.bool_)
    keep[lost] = False
    texts, topic = qrels.docs.texts(), np.repeat(np.arange(len(qrels.topics)), np.diff(qrels.starts))
    expected = sorted(f"{qrels.topics[topic[row]]} {texts[row]}" for row in lost)
    found = read_judged_runs(qrels.keep(keep), COLLECTION.runs, info=INFO)
    assert found.pool.depth == COLLECTION.parameters.pool_depth
    assert found.pool.judged < found.pool.depth
    assert sorted(found.named_documents(found.holes())) == expected
    pooled, judged = depth_by_topic(found.pool, found.retrieved, found.grades())
    assert pooled.tolist() == [100.0] * 6
    assert judged.min() == found.pool.judged


def test_a_guessed_pool_is_not_cut_deeper_than_it_is() -> None:
    runs = {name: {"1": {f"d{place}": -place for place in range(20)}} for name in ("x", "y")}
    qrels = Qrels.from_dict({"1": {f"d{place}": place % 2 for place in range(12)}})
    with pytest.raises(DataError, match="12 deep, not 15"):
        judgments_at_depth(qrels, runs, 15)
    assert len(judgments_at_depth(qrels, runs, 11)[0].docs) == 11
