"""A small collection that hurts: ties, grades, unjudged and pooled documents, missing topics, short lists."""

from __future__ import annotations

import numpy as np

from sounding.data.tables import Qrels, Run


def draw_runs(seed: int, runs: int = 6, topics: int = 5, documents: int = 40) -> list[Run]:
    """Runs of different lengths; some scores tie, and the last run lacks a topic."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(runs):
        ranking = {}
        for topic in range(topics - (number == runs - 1)):
            size = int(rng.integers(1, 25))
            docs = rng.permutation(documents)[:size]
            scores = rng.random(size).round(1) + (docs % 3 == 0) * number / 10
            ranking[f"t{topic}"] = {f"d{doc}": float(score) for doc, score in zip(docs, scores, strict=True)}
        found.append(Run.from_dict(ranking, name=f"run{number}"))
    return found


def draw_qrels(seed: int, topics: int = 5, documents: int = 40) -> Qrels:
    """Grades from -1 (pooled, not judged) to 2; the last topic has nothing relevant."""
    rng = np.random.default_rng(seed)
    judgments = {}
    for topic in range(topics):
        docs = rng.permutation(documents)[: int(rng.integers(25, documents))]
        grades = rng.choice([-1, 0, 0, 0, 1, 2], len(docs)) if topic < topics - 1 else np.zeros(len(docs))
        judgments[f"t{topic}"] = {f"d{doc}": float(grade) for doc, grade in zip(docs, grades, strict=True)}
    return Qrels.from_dict(judgments)
