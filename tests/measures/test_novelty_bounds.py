"""Bounds of measures of intents against every completion, and what no run covers."""

from __future__ import annotations

import random
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import sounding
from sounding.core.policies import Policies

MEASURES = ["P_IA@2", "P_IA(rel=2)@3", "RBP_IA(p=0.6)@3", "RBP_IA", "StRecall@1", "StRecall", "alpha_DCG@2",
            "alpha_DCG(alpha=0.9)@4", "alpha_DCG(alpha=0)@3", "ERR_IA@3", "ERR_IA(alpha=1)@3", "NRBP",
            "NRBP(beta=0.9,alpha=0.2)"]  # fmt: skip
Judgment = tuple[str, str, int]  # intent, document, grade


def drawn(rng: random.Random) -> tuple[list[Judgment], list[str], int]:
    """One topic: intents with and without relevant documents, at most three unjudged documents."""
    judged = [f"d{n}" for n in range(rng.randint(1, 3))]
    intents = [f"s{n}" for n in range(rng.randint(1, 3))]
    grades = [(i, d, rng.choice([0, 0, 1, 2])) for i in intents for d in judged if rng.random() < 0.8]
    grades = grades or [("s0", "d0", 0)]
    outside = rng.choice([0, 0, 1])
    ranking = rng.sample(judged, rng.randint(0, len(judged))) + [f"u{n}" for n in range(rng.randint(0, 2))]
    rng.shuffle(ranking)
    return grades, ranking or ["d0"], outside


def written(folder: Path, rows: list[tuple[str, str, str, int]], name: str = "q") -> Path:
    path = folder / name
    path.write_text("".join(f"{t} {i} {d} {g}\n" for t, i, d, g in rows))
    return path


def test_every_completion_lies_within_and_both_ends_are_attained(tmp_path: Path) -> None:
    rng = random.Random(5)
    topics = {f"t{n:02}": drawn(rng) for n in range(40)}
    for outside in (0, 1):
        chosen = {name: one for name, one in topics.items() if one[2] == outside}
        rows = [(t, *row) for t, (grades, _, _) in chosen.items() for row in grades]
        rankings = {t: ranking for t, (_, ranking, _) in chosen.items()}
        policies = Policies(unjudged="bounds", universe=f"+{outside}" if outside else "run")
        found = sounding.evaluate(written(tmp_path, rows), rankings, MEASURES, policies=policies)
        completed, completions, owner = [], {}, []
        for name, (grades, ranking, _) in chosen.items():
            known = {doc for _, doc, _ in grades}
            free = [doc for doc in ranking if doc not in known] + ["x0"] * outside
            intents = sorted({intent for intent, _, _ in grades})
            for number, relevant in enumerate(product([0, 2], repeat=len(free) * len(intents))):
                pairs = [(i, d) for d in free for i in intents]
                topic = f"{name}-{number}"
                completed += [(topic, *row) for row in grades]
                completed += [(topic, i, d, g) for (i, d), g in zip(pairs, relevant, strict=True)]
                completions[topic] = ranking
                owner.append(name)
        every = sounding.evaluate(written(tmp_path, completed, "c"), completions, MEASURES)
        named = np.array([topic.rpartition("-")[0] for topic in every.topics])
        assert found.bounds is not None
        assert set(found.bounds.kinds) == {"exact"}
        for place, name in enumerate(found.topics):
            values = every.values[0][:, named == name]
            assert found.bounds.lower[0, :, place] == pytest.approx(values.min(axis=1), abs=1e-12), name
            assert found.bounds.upper[0, :, place] == pytest.approx(values.max(axis=1), abs=1e-12), name


def test_with_few_new_relevant_documents_the_bounds_contain_all(tmp_path: Path) -> None:
    """With a cap on documents that turn relevant, sums without novelty and StRecall stay exact."""
    rng = random.Random(8)
    for _ in range(30):
        grades, ranking, _ = drawn(rng)
        known = {doc for _, doc, _ in grades}
        free = [doc for doc in ranking if doc not in known]
        intents = sorted({intent for intent, _, _ in grades})
        rows = [("t", *row) for row in grades]
        policies = Policies(unjudged="bounds", universe="run", at_most="1")
        found = sounding.evaluate(written(tmp_path, rows), {"t": ranking}, MEASURES, policies=policies).bounds
        assert found is not None
        values = []
        for doc in [None, *free]:
            for relevant in product([0, 2], repeat=len(intents)):
                more = [("t", i, doc, g) for i, g in zip(intents, relevant, strict=True) if doc]
                scores = sounding.evaluate(written(tmp_path, rows + more, "c"), {"t": ranking}, MEASURES)
                values.append(scores.values[0, :, 0])
        least, most = np.min(values, axis=0), np.max(values, axis=0)
        assert (found.lower[0, :, 0] <= least + 1e-12).all()
        assert (found.upper[0, :, 0] >= most - 1e-12).all()
        exact = [kind == "exact" for kind in found.kinds]
        assert exact[:6] == [True] * 6
        assert found.lower[0, exact, 0] == pytest.approx(least[exact], abs=1e-12)
        assert found.upper[0, exact, 0] == pytest.approx(most[exact], abs=1e-12)


def test_intents_that_no_run_covers_are_named(tmp_path: Path) -> None:
    rows = [
        ("1", "x", "a", 1),
        ("1", "y", "b", 1),
        ("2", "x", "c", 1),
        ("2", "z", "d", 0),
        ("2", "w", "e", 2),
    ]
    runs = {"r": {"1": ["b"], "2": ["u", "c"]}, "s": {"1": ["b", "u", "a"], "2": []}}
    qrels = written(tmp_path, rows)

    def remarks(*measures: str) -> list[str]:
        found = sounding.evaluate(qrels, runs, list(measures)).remarks
        return [remark for remark in found if "covers" in remark]

    assert remarks("StRecall@2") == [
        "no run covers 2 of 4 intents in its first 2 documents: x of topic 1, w of topic 2"
    ]
    assert remarks("StRecall@2", "AP_IA") == ["no run covers 1 of 4 intents: w of topic 2"]
    assert remarks("AP_IA@1")[0].startswith("no run covers 3 of 4 intents")
    assert not remarks("Prefs")
