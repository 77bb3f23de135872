"""Measures of two runs: hand-worked examples, and the definitions applied one pair and topic at a time."""

import math
import random
from collections.abc import Callable
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from sounding import compare, evaluate
from sounding.compare.slices import slice_comparison
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.evaluate.baseline import compare_with_baseline
from sounding.evaluate.result import Scores
from sounding.measures import Measure, definitions, parse
from sounding.measures.paired import NOT_RETRIEVED, preferences
from sounding.statistics.pairwise import Procedure

FAMILY = [one.name for one in definitions() if one.pairwise]
NEVER = math.inf
Grades = dict[str, dict[str, int]]
Lists = dict[str, dict[str, dict[str, float]]]


def known(scores: Scores, measure: Measure, pairs: NDArray[Any]) -> NDArray[np.float64]:
    """The preferences by a measure of two runs."""
    found = scores.preferences(measure, pairs)
    assert found is not None
    return found


def ranks(docs: list[str], relevant: set[str]) -> list[float]:
    """The ranks of the relevant documents, those not retrieved at the end."""
    found = [float(rank) for rank, doc in enumerate(docs, 1) if doc in relevant]
    return found + [NEVER] * (len(relevant) - len(found))


def by_definition(name: str, a: list[float], b: list[float], weights: str) -> float:
    """The preference for a over b, from the ranks of their relevant documents."""
    signs = [(y > x) - (y < x) for x, y in zip(a, b, strict=True)]
    if not signs:
        return 0.0
    if name == "RPP":
        numbers = range(1, len(signs) + 1)
        weighted = {
            "uniform": [1.0 for _ in numbers],
            "inverse": [1 / n for n in numbers],
            "dcg": [1 / math.log2(n + 1) for n in numbers],
        }[weights]
        return sum(w * s for w, s in zip(weighted, signs, strict=True)) / sum(weighted)
    order = signs if name == "LexiPrecision" else signs[::-1]
    return float(next((sign for sign in order if sign), 0))


def random_case(seed: int) -> tuple[Grades, Lists]:
    """Judgments and runs with equal scores, empty topics and documents that nobody judged or retrieved."""
    chance = random.Random(seed)
    docs = [f"d{n}" for n in range(chance.randint(1, 9))]
    topics = [f"t{n}" for n in range(chance.randint(2, 4))]
    qrels = {
        topic: {doc: chance.choice([0, 0, 1, 2]) for doc in chance.sample(docs, chance.randint(1, len(docs)))}
        for topic in topics
    }
    runs = {
        f"r{n}": {
            topic: {
                doc: float(chance.randint(0, 3)) for doc in chance.sample(docs, chance.randint(1, len(docs)))
            }
            for topic in topics
            if chance.random() < 0.9
        }
        for n in range(chance.randint(2, 4))
    }
    return qrels, {name: run for name, run in runs.items() if run}


def order_of(scores: dict[str, float]) -> list[str]:
    """The documents as trec_eval orders them: by score, equal ones by id, both descending."""
    return [doc for doc, _ in sorted(scores.items(), key=lambda item: (item[1], item[0]), reverse=True)]


@pytest.mark.parametrize("measure", ["RPP", "RPP(weights='inverse')", "RPP(rel=2,weights='dcg')", "LexiRecall",
                                     "LexiPrecision", "LexiPrecision(rel=2)"])  # fmt: skip
def test_every_pair_by_definition(measure: str) -> None:
    parsed, tried = parse(measure), 0
    for seed in range(150):
        qrels, runs = random_case(seed)
        if len(runs) < 2:
            continue
        scores = evaluate(qrels, runs, measure)
        level = parsed.get("rel")
        own = {
            (run, topic): ranks(
                order_of(runs[run].get(topic, {})), {d for d, grade in qrels[topic].items() if grade >= level}
            )
            for run in scores.runs
            for topic in scores.topics
        }
        pairs = np.array(list(permutations(range(len(scores.runs)), 2)))
        found = known(scores, parsed, pairs)
        for row, (a, b) in enumerate(pairs.tolist()):
            for place, topic in enumerate(scores.topics):
                wanted = by_definition(
                    parsed.name, own[scores.runs[a], topic], own[scores.runs[b], topic],
                    parsed.get("weights") or "uniform",
                )  # fmt: skip
                assert found[row, place] == pytest.approx(wanted, abs=1e-12)
                tried += 1
        for run in range(len(scores.runs)):
            mean = found[pairs[:, 0] == run].mean(axis=0)
            assert scores.values[run, 0] == pytest.approx(mean, abs=1e-12)
    assert tried > 1500


def test_an_example_by_hand() -> None:
    """Relevant at 1, 4 and nowhere against 2, 3 and 9: each run is ahead where it comes first."""
    qrels = {"t": {"a": 1, "b": 1, "c": 1}, "u": {"a": 1}}
    fill = [f"x{n}" for n in range(9)]
    first = ["a", *fill[:2], "b", *fill[2:5]]
    second = [fill[0], "a", "b", *fill[1:6], "c"]
    scores = evaluate(qrels, {"A": {"t": first, "u": ["a"]}, "B": {"t": second, "u": ["a"]}}, FAMILY)
    assert scores.values[0, :, 0] == pytest.approx([-1 / 3, -1, 1])  # RPP, LexiRecall, LexiPrecision
    assert scores.values[:, :, 1].tolist() == [[0, 0, 0], [0, 0, 0]]


@given(st.data())
def test_laws_of_every_measure_of_two_runs(data: st.DataObject) -> None:
    """Turned round, each is negative; a run equals itself; an earlier relevant document never harms."""
    relevant = data.draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    lists = st.sets(st.integers(1, 12), max_size=4)

    def row() -> NDArray[np.object_]:
        own = [sorted(data.draw(lists))[:count] for count in relevant]
        full = [[*r, *[NOT_RETRIEVED] * (count - len(r))] for r, count in zip(own, relevant, strict=True)]
        found = np.empty(len(full), object)
        found[:] = [np.array(one, np.int32) for one in full]
        return found

    table = np.stack([row(), row(), row()])
    better = table[0].copy()
    for topic, own in enumerate(better):  # the last document moves to the first rank that is free
        free = next(rank for rank in range(1, 20) if rank not in own)
        if len(own) and free < own[-1]:
            better[topic] = np.sort([free, *own[:-1]]).astype(np.int32)
    table = np.concatenate([table, better[None]])
    pairs = np.array(list(permutations(range(4), 2)))
    for name in FAMILY:
        measure = parse(name)
        low, high = measure.definition.bounds
        found = dict(zip(map(tuple, pairs.tolist()), preferences(measure, table, pairs), strict=True))
        for (a, b), values in found.items():
            assert ((values >= low) & (values <= high)).all()
            assert (values == -found[b, a]).all()
        assert not preferences(measure, table, np.array([[0, 0]])).any()
        assert (found[3, 0] >= 0).all()
        assert (found[3, 1] >= found[0, 1]).all()


@pytest.mark.parametrize("name", ["LexiRecall", "LexiPrecision"])
def test_lexicographic_preferences_order_the_runs(name: str) -> None:
    chance = np.random.default_rng(1)
    table = np.empty((6, 20), object)
    for run in range(6):
        for topic in range(20):
            table[run, topic] = np.sort(chance.choice(5, 3, replace=False)).astype(np.int32)
    pairs = np.array([(a, b) for a in range(6) for b in range(6)])
    won = preferences(parse(name), table, pairs).reshape(6, 6, 20) > 0
    for a, b, c in permutations(range(6), 3):
        assert (~(won[a, b] & won[b, c]) | won[a, c]).all()


def runs_of(count: int, seed: int = 0) -> tuple[Any, Any]:
    chance = random.Random(seed)
    docs = [f"d{n}" for n in range(30)]
    qrels = {f"t{n:02}": {doc: int(n + int(doc[1:]) < 15) for doc in docs} for n in range(8)}
    runs = {f"r{n}": {t: chance.sample(docs, 20) for t in qrels} for n in range(count)}
    return qrels, runs


@pytest.mark.parametrize("test", ["randomization", "t", "sign", "wilcoxon", "bootstrap"])
def test_compare_tests_the_preferences_themselves(test: str) -> None:
    """The same as for two runs of which one has the preferences as values, and the other zeros."""
    qrels, runs = runs_of(2)
    how = Procedure(test=test, correction="holm")
    found = compare(qrels, runs, "RPP", procedure=how)
    values = found.gaps(0)[0]
    alone = how.apply(np.stack([values, np.zeros_like(values)]), np.array([[0, 1]]))
    assert found.performance_tests[0].p[0] == alone.p[0]
    assert found.performance_tests[0].difference[0] == pytest.approx(values.mean())


def test_all_pairs_by_max_t() -> None:
    """By brute force over all sign flips of the topics, step by step as Westfall and Young define it."""
    qrels, runs = runs_of(4, seed=3)
    found = compare(qrels, runs, ["RPP", "AP"])
    gaps, tests = found.gaps(0), found.performance_tests[0]
    topics = gaps.shape[1]
    flips = np.array([[1 - 2 * (n >> t & 1) for t in range(topics)] for n in range(2**topics)])
    statistic = np.abs(gaps @ flips.T) / np.sqrt((gaps**2).sum(axis=1))[:, None]
    order = np.argsort(-statistic[:, 0])
    adjusted, most = np.empty(len(order)), 0.0
    for place, pair in enumerate(order):
        largest = statistic[order[place:]].max(axis=0)
        most = max(most, float(np.mean(largest >= statistic[pair, 0] - 1e-9)))
        adjusted[pair] = most
    assert tests.p_adjusted == pytest.approx(adjusted)
    assert any("RPP" in note for note in found.notes)


def test_topics_that_a_run_lacks() -> None:
    qrels, runs = runs_of(3)
    del runs["r0"]["t00"]
    zero = evaluate(qrels, runs, "RPP")
    assert zero.values[0, 0, 0] < 0
    skip = evaluate(qrels, runs, "RPP", policies=Policies(missing="skip"))
    assert np.isnan(skip.values[0, 0, 0])
    alone = evaluate(qrels, {name: runs[name] for name in ("r1", "r2")}, "RPP")
    assert skip.values[1:, 0, 0].tolist() == alone.values[:, 0, 0].tolist()
    assert np.isnan(known(skip, parse("RPP"), np.array([[0, 1]]))[0, 0])


def test_judged_documents_alone() -> None:
    qrels, runs = runs_of(2)
    gap = {topic: [f"x{n}" for n in range(3)] + docs for topic, docs in runs["r0"].items()}
    scores = evaluate(qrels, {"a": runs["r0"], "b": gap}, ["RPP(judged_only=True)", "RPP"])
    assert not scores.values[:, 0].any()
    assert (scores.values[0, 1] > 0).any()


@pytest.mark.parametrize(("call", "words"), [
    (lambda q, r: evaluate(q, {"r0": r["r0"]}, "RPP"), "at least two runs"),
    (lambda q, r: evaluate(q, r, "RPP", policies=Policies(ties="average")), "ties"),
    (lambda q, r: evaluate(q, r, "RPP", policies=Policies(unjudged="expected")), "expected"),
    (lambda q, r: evaluate(q, r, "RPP", results="never-made"), "stored"),
    (lambda q, r: compare(q, r, "RPP", procedure=Procedure(test="anova")), "anova"),
])  # fmt: skip
def test_what_cannot_be_computed_is_refused(call: Callable[[Any, Any], object], words: str) -> None:
    with pytest.raises(DataError, match=words):
        call(*runs_of(2))


def test_slices_and_baselines_use_the_preferences(tmp_path: Path) -> None:
    qrels, runs = runs_of(3)
    found = compare(qrels, runs, ["RPP"])
    parts = tmp_path / "parts.tsv"
    parts.write_text("".join(f"t{n:02}\t{'even' if n % 2 == 0 else 'odd'}\n" for n in range(8)))
    sliced = slice_comparison(found, parts)
    assert sliced.difference[:, 0] == pytest.approx(
        np.array([found.gaps(0)[:, ::2].mean(axis=1), found.gaps(0)[:, 1::2].mean(axis=1)])
    )
    scores = evaluate(qrels, runs, "RPP")
    against = compare_with_baseline(scores, "r1")
    wanted = known(scores, parse("RPP"), np.array([[0, 1], [2, 1]])).mean(axis=1)
    assert against.difference[[0, 2], 0] == pytest.approx(wanted)
