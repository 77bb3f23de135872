"""Panels for tests: small ones by hand, large ones that hurt."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.agree.assessors import read_panel
from sounding.agree.panel import Panel
from sounding.agree.resampling import COMBINED, AssessorValues
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.measures import parse_measures

NONE = float("nan")


def panel_of(grades: Sequence[Sequence[float]], topics: Sequence[str] | None = None) -> Panel:
    """A panel of these rows (document, assessor); NaN: not judged. Documents are named d000, d001, ..."""
    table = np.array(grades, np.float64)
    names = ["t"] * len(table) if topics is None else list(topics)
    assessors = {}
    for place, column in enumerate(table.T):
        rows = (~np.isnan(column)).nonzero()[0].tolist()
        assessors[chr(ord("A") + place)] = Qrels.from_columns(
            [names[row] for row in rows], [f"d{row:03}" for row in rows], column[rows].tolist()
        )
    return read_panel(assessors)


def random_panel(seed: int, *, assessors: int = 3, topics: int = 8, highest: int = 2) -> Panel:
    """Grades with missing judgments, a topic that one assessor lacks, and one without relevant documents."""
    rng = np.random.default_rng(seed)
    rows: list[list[float]] = []
    names: list[str] = []
    for topic in range(topics):
        truth = rng.integers(0, highest + 1, 25) * rng.integers(0, 2, 25)
        for document in truth:
            seen = np.where(rng.random(assessors) < 0.7, document, rng.integers(0, highest + 1, assessors))
            grades = np.where(rng.random(assessors) < 0.1, np.nan, seen).astype(np.float64)
            if topic == 0:
                grades[-1] = np.nan
            if topic == 1:
                grades = np.where(np.isnan(grades), grades, 0.0)
            if not np.isnan(grades).all():
                rows.append(grades.tolist())
                names.append(f"t{topic}")
    return panel_of(rows, names)


def random_runs(panel: Panel, count: int, seed: int) -> list[Run]:
    """Runs with ties, unjudged documents, short lists and a missing topic; the last two are alike."""
    rng = np.random.default_rng(seed)
    docs = panel.docs.texts()
    names = [panel.topics[number] for number in panel.topic]
    runs = []
    for number in range(count):
        chosen = [row for row in range(len(docs)) if rng.random() < 0.7 and (number or names[row] != "t4")]
        topics = [names[row] for row in chosen] + ["t5", "t6"]
        scores = rng.integers(0, 12, len(topics)).astype(float)
        runs.append(
            Run.from_columns(
                topics, [*(docs[row] for row in chosen), "new", "new"], scores, name=f"r{number}"
            )
        )
    last = runs[-1]
    return [*runs, Run.from_dict(_as_dict(last), name="twin")]


def _as_dict(run: Run) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for topic, doc, score in run.frame.iter_rows():
        found.setdefault(topic, {})[doc] = score
    return found


def made(values: np.ndarray, relevant: np.ndarray | None = None) -> AssessorValues:
    """Values (assessor and combined, measure, system, topic) as evaluation would give them."""
    sides, _, systems, topics = values.shape
    return AssessorValues(
        assessors=tuple("PABCD"[: sides - 2]), combined=COMBINED,
        systems=tuple(f"s{number:02}" for number in range(systems)), measures=parse_measures(["AP"]),
        topics=tuple(f"{number:02}" for number in range(topics)), values=values,
        relevant=np.ones((sides, 1, topics), int) if relevant is None else relevant, policies=Policies(),
    )  # fmt: skip


def random_values(systems: int, topics: int, seed: int = 0, assessors: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    shape = (assessors + 2, 1, systems, topics)
    return np.clip(rng.uniform(0.1, 0.5, (systems, 1)) + rng.normal(0, 0.1, shape), 0, 1)
