"""Measures of intents against a slow reference, ndeval (the peer of the TREC Web track) and by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import groupby
from math import isnan, log2
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import require
from tests.properties.strategies import Topic, ranking_of
from tests.properties.test_laws import examples

import sounding
from sounding.core.errors import DataError
from sounding.data.formats import read_qrels
from sounding.measures import definition, definitions

Judgment = tuple[str, str, str, int]  # topic, intent, document, grade
FAMILY = [known.name for known in definitions() if known.family == "intents"]


def written(folder: Path, judgments: list[Judgment], rankings: dict[str, list[str]]) -> tuple[Path, Path]:
    """Qrels and a run as files."""
    qrels, run = folder / "intents.qrels", folder / "one.run"
    qrels.write_text("".join(f"{t} {i} {d} {g}\n" for t, i, d, g in judgments))
    lines = [f"{t} Q0 {d} {n} {-n} one\n" for t, docs in rankings.items() for n, d in enumerate(docs, 1)]
    run.write_text("".join(lines))
    return qrels, run


def values(folder: Path, judgments: list[Judgment], ranking: list[str], measures: list[str]) -> list[float]:
    """The values of one topic."""
    qrels, run = written(folder, judgments, {judgments[0][0]: ranking})
    found = sounding.evaluate(qrels, run, measures).values[0, :, 0]
    return [float(value) for value in found]


def drawn(rng: random.Random) -> tuple[list[Judgment], dict[str, list[str]]]:
    """Topics with few and many intents, documents relevant to several, to none, and not judged at all."""
    judgments: list[Judgment] = []
    rankings = {}
    for number in range(8):
        topic, intents = f"t{number}", rng.choice([1, 2, 4, 8])
        docs = [f"d{i}" for i in range(rng.choice([5, 30, 60]))]
        judgments += [
            (topic, f"s{i}", doc, rng.choice([0, 0, 0, 1, 2]))
            for i in range(intents) for doc in docs if rng.random() < 0.3
        ]  # fmt: skip
        others = docs + [f"x{i}" for i in range(len(docs) // 2)]
        rankings[topic] = rng.sample(others, rng.randint(1, len(others)))
    rng.shuffle(judgments)
    return judgments, rankings


# -- by hand ---------------------------------------------------------------------------------------

# Document a is relevant to both intents, b to the first (grade 2), c to the second; d is judged for one.
HAND: list[Judgment] = [
    ("1", "x", "a", 1), ("1", "y", "a", 1), ("1", "x", "b", 2), ("1", "y", "c", 1), ("1", "x", "d", 0),
]  # fmt: skip


def test_values_worked_out_by_hand(tmp_path: Path) -> None:
    expected = {
        # b gains 1, u nothing, a 0.5 for x and 1 for y
        "alpha_DCG@3": (1 + 1.5 / 2) / (2 * (1 + 0.5 / log2(3) + 0.25 / 2)),
        # the ideal order is a, c, b: 2, 0.5, 0.5
        "alpha_nDCG@3": (1 + 1.5 / 2) / (2 + 0.5 / log2(3) + 0.5 / 2),
        "alpha_nDCG(alpha=1)@3": (1 + 1 / 2) / 2,
        "ERR_IA@3": (1 + 1.5 / 3) / (2 * (1 + 0.5 / 2 + 0.25 / 3)),
        "nERR_IA@3": (1 + 1.5 / 3) / (2 + 0.5 / 2 + 0.5 / 3),
        "NRBP": (1 + 1.5 / 4) * (1 - 0.25) / 2,
        "nNRBP": (1 + 1.5 / 4) / (2 + 0.5 / 2 + 0.5 / 4),
        "P_IA@3": (2 / 3 + 1 / 3) / 2,
        "AP_IA": ((1 + 2 / 3) / 2 + (1 / 3) / 2) / 2,
        "RBP_IA(p=0.5)": ((0.5 + 0.125) + 0.125) / 2,
        "StRecall@2": 1 / 2,
        "StRecall@3": 1,
        "StRecall(rel=2)@3": 1,
        # mean grades: a (1 + 1) / 2, b 2 / 2, c 1 / 2
        "D_nDCG@3": (1 + 1 / 2) / (1 + 1 / log2(3) + 0.5 / 2),
        "Dsharp_nDCG@2": (1 / 2 + 1 / (1 + 1 / log2(3))) / 2,
        # every judged document, for what it was judged: b and d for x, a for both, c for y
        "StRecall(assessed=True)@1": 1 / 2,
        "P_IA(assessed=True)@3": (2 / 3 + 1 / 3) / 2,
    }
    found = values(tmp_path, HAND, ["b", "u", "a"], list(expected))
    assert found == pytest.approx(list(expected.values()), abs=1e-12)


def test_other_measures_see_the_best_grade_of_each_document(tmp_path: Path) -> None:
    found = values(tmp_path, HAND, ["b", "u", "a", "d"], ["StRecall", "P(rel=2)@2", "R@3", "A_p@4", "NumRel"])
    assert found == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3])


# -- against others --------------------------------------------------------------------------------


def slow(judgments: list[Judgment], ranking: list[str]) -> dict[str, float]:
    """What ndeval does not compute, document by document."""
    intents = sorted({i for _, i, _, g in judgments if g >= 1})
    grade = {(d, i): g for _, i, d, g in judgments}
    docs = sorted({d for _, _, d, _ in judgments})
    if not intents:
        return {"RBP_IA(p=0.7)@9": 0, "D_nDCG@9": 0, "Dsharp_nDCG@9": 0, "StRecall@9": 0}
    rbp = recall = 0.0
    for intent in intents:
        relevant = [grade.get((doc, intent), 0) >= 1 for doc in ranking[:9]]
        rbp += sum(0.3 * 0.7**n for n, hit in enumerate(relevant) if hit) / len(intents)
        recall += any(relevant) / len(intents)
    gains = {doc: sum(grade.get((doc, i), 0) for i in intents) / len(intents) for doc in docs}
    best = sorted(gains.values(), reverse=True)[:9]
    gained = sum(gains.get(doc, 0) / log2(n + 2) for n, doc in enumerate(ranking[:9]))
    nearness = gained / sum(gain / log2(n + 2) for n, gain in enumerate(best))
    return {
        "RBP_IA(p=0.7)@9": rbp, "D_nDCG@9": nearness, "Dsharp_nDCG@9": (nearness + recall) / 2,
        "StRecall@9": recall,
    }  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_a_slow_reference_agrees(tmp_path: Path, seed: int) -> None:
    judgments, rankings = drawn(random.Random(seed))
    qrels, run = written(tmp_path, judgments, rankings)
    by_topic = {
        topic: list(rows)
        for topic, rows in groupby(sorted(judgments), key=lambda judgment: judgment[0])
    }  # fmt: skip
    names = list(slow(judgments, []))
    scores = sounding.evaluate(qrels, run, names)
    for place, topic in enumerate(scores.topics):
        expected = slow(by_topic[topic], rankings[topic])
        assert scores.values[0, :, place].tolist() == pytest.approx([expected[n] for n in names], abs=1e-12)


NDEVAL = {
    "alpha_DCG@5": "alpha-DCG@5", "alpha_nDCG@10": "alpha-nDCG@10", "alpha_nDCG@20": "alpha-nDCG@20",
    "ERR_IA@20": "ERR-IA@20", "nERR_IA@5": "nERR-IA@5", "nERR_IA@20": "nERR-IA@20", "P_IA@10": "P-IA@10",
    "StRecall@5": "strec@5", "AP_IA": "MAP-IA", "NRBP": "NRBP", "nNRBP": "nNRBP",
}  # fmt: skip


def with_parameters(name: str, rel: int, alpha: float, beta: float) -> str:
    """The measure with the parameters that it has."""
    bare, at, k = name.partition("@")
    inside = [f"rel={rel}"]
    if bare not in ("P_IA", "AP_IA", "StRecall"):
        inside.append(f"alpha={alpha}")
    if bare.endswith("NRBP"):
        inside.append(f"beta={beta}")
    return f"{bare}({','.join(inside)}){at}{k}"


def agree_with_ndeval(folder: Path, seed: int) -> int:
    """Compare one random collection; return the number of values."""
    peer = require("pyndeval")
    rng = random.Random(seed)
    judgments, rankings = drawn(rng)
    rel, alpha, beta = rng.choice([1, 2]), rng.choice([0, 0.25, 0.3, 0.5, 0.9]), rng.choice([0.25, 0.5, 0.9])
    evaluator = peer.RelevanceEvaluator(
        judgments, list(NDEVAL.values()), relevance_level=rel, alpha=alpha, beta=beta
    )
    rows = [(t, d, -float(n)) for t, docs in rankings.items() for n, d in enumerate(docs)]
    theirs: dict[str, dict[str, float]] = evaluator.evaluate(rows)
    qrels, run = written(folder, judgments, rankings)
    scores = sounding.evaluate(qrels, run, [with_parameters(name, rel, alpha, beta) for name in NDEVAL])
    for place, topic in enumerate(scores.topics):
        # ndeval divides by zero in nNRBP if nothing is relevant; its other measures are 0 then.
        expected = [0 if isnan(theirs[topic][name]) else theirs[topic][name] for name in NDEVAL.values()]
        assert scores.values[0, :, place].tolist() == pytest.approx(expected, abs=1e-9), (seed, topic)
    return int(scores.values.size)


@pytest.mark.parametrize("seed", range(12))
def test_ndeval_agrees(tmp_path: Path, seed: int) -> None:
    assert agree_with_ndeval(tmp_path, seed) > 80


@pytest.mark.long
def test_ndeval_agrees_on_a_hundred_thousand_values(tmp_path: Path) -> None:
    seen = 0
    for seed in range(100, 2000):
        seen += agree_with_ndeval(tmp_path, seed)
        if seen >= 100_000:
            return
    raise AssertionError(f"only {seen} values")


# -- where intents come from -----------------------------------------------------------------------


def test_tables_name_the_intent_in_a_column(tmp_path: Path) -> None:
    table = tmp_path / "qrels.csv"
    table.write_text("query_id,subtopic,doc_id,rel\n" + "".join(f"{t},{i},{d},{g}\n" for t, i, d, g in HAND))
    scores = sounding.evaluate(table, {"1": {"b": 2, "a": 1}}, ["StRecall@1", "alpha_nDCG@2"])
    assert scores.values[0, 0, 0] == 1 / 2


def test_judgments_without_intents_are_of_one() -> None:
    plain = {"1": {"a": 1, "b": 0}, "2": {"c": 2}}
    scores = sounding.evaluate(
        plain, {"1": {"b": 2, "a": 1}, "2": {"c": 1}}, ["StRecall", "P_IA@2", "D_nDCG"]
    )
    assert scores.values[0].tolist() == [[1, 1], [0.5, 0.5], [pytest.approx(1 / log2(3)), 1]]
    assert any("no intents" in remark for remark in scores.remarks)
    assert sounding.evaluate(plain, {"1": {"a": 1}}, ["AP"]).remarks == ()


def test_rows_can_be_left_out_and_topics_can_be_empty(tmp_path: Path) -> None:
    qrels, _ = written(tmp_path, [*HAND, ("2", "z", "q", 0), ("3", "z", "q", 1)], {})
    whole = read_qrels(qrels, intents=True)
    assert whole.intents is not None
    assert whole.grades.tolist() == [1, 2, 1, 0, 0, 1]
    assert whole.intents.starts.tolist() == [0, 2, 3, 4, 5, 6, 7]
    fewer = whole.keep(whole.grades > 0)
    assert fewer.intents is not None
    assert fewer.intents.starts.tolist() == [0, 2, 3, 4, 5]
    scores = sounding.evaluate(fewer, {"1": {"c": 1}, "3": {"q": 1}}, ["StRecall", "alpha_nDCG@3"])
    assert scores.values[0, 0].tolist() == [0.5, 0, 1]


@pytest.mark.parametrize("name", FAMILY)
def test_judgments_that_were_changed_have_no_intents(name: str) -> None:
    """Rather a refusal than a value of one intent where there are several."""
    ranking = ranking_of([Topic((1, 0, 2))])
    measure = next(iter(examples(definition(name))))
    assert measure(ranking).shape == (1,)
    with pytest.raises(DataError, match="intent of each judgment"):
        measure(replace(ranking, judgments=replace(ranking.judgments, intents=None)))


def test_a_mean_over_groups_has_no_intents(tmp_path: Path) -> None:
    qrels, run = written(tmp_path, HAND, {"1": ["a"]})
    with pytest.raises(DataError, match="as intents"):
        sounding.evaluate(qrels, run, ["StRecall"], groups=True)


@pytest.mark.parametrize(("text", "range_"), [("alpha_nDCG(alpha=2)", "0 to 1"), ("NRBP(beta=1)", "below 1")])
def test_parameters_out_of_range_are_refused(tmp_path: Path, text: str, range_: str) -> None:
    with pytest.raises(DataError, match=range_):
        values(tmp_path, HAND, ["a"], [text])


def test_runs_are_compared_by_intents(tmp_path: Path) -> None:
    """Tests, assessment and the decision matrix take these measures as any other."""
    judgments, rankings = drawn(random.Random(1))
    qrels, run = written(tmp_path, judgments, rankings)
    other: dict[str, Any] = {t: {d: n for n, d in enumerate(docs)} for t, docs in rankings.items()}
    compared = sounding.compare(qrels, {"one": run, "reversed": other}, ["alpha_nDCG@10", "StRecall@5"])
    plain = sounding.evaluate(qrels, {"one": run, "reversed": other}, ["alpha_nDCG@10"]).values[:, 0]
    assert abs(compared.frame["difference"][0]) == pytest.approx(abs((plain[0] - plain[1]).mean()))
