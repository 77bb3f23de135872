"""Judgments that exist before a session begins."""

from __future__ import annotations

import numpy as np

from sounding.align import prepare
from sounding.data.tables import Qrels
from sounding.retrieved import Retrieved


def known_judgments(
    retrieved: Retrieved, qrels: Qrels, level: float = 1
) -> tuple[list[tuple[int, float]], list[float]]:
    """What to give a session of judgments that exist: judged documents, and counts of relevant others."""
    grades = retrieved.grades(qrels)
    judged = np.isfinite(grades).nonzero()[0]
    total = dict(zip(qrels.topics, prepare(qrels).judgments.relevant(level).tolist(), strict=True))
    found = np.bincount(retrieved.topic[judged[grades[judged] >= level]], minlength=len(retrieved.topics))
    elsewhere = [
        float(total.get(topic, 0) - here)
        for topic, here in zip(retrieved.topics, found.tolist(), strict=True)
    ]
    return [(int(document), float(grades[document])) for document in judged], elsewhere
