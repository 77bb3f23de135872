"""One set of judgments out of several, and the documents that people should settle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.assessors.panel import Panel
from sounding.data.tables import Qrels
from sounding.errors import UnknownNameError

Grades = NDArray[np.float64]


def combine(panel: Panel, how: str, *, priority: Sequence[str] = ()) -> Qrels:
    """The judgments of a panel as one set of qrels: union, intersection, majority, mean or priority.

    `priority` lists assessors whose word counts first; the others follow in their order.
    """
    if how not in COMBINATIONS:
        raise UnknownNameError("combination", how, COMBINATIONS)
    leading = [panel.place(name) for name in dict.fromkeys(priority)]
    rest = [place for place in range(len(panel.assessors)) if place not in leading]
    grades = COMBINATIONS[how](panel.grades[:, [*leading, *rest]])
    return panel.as_qrels(grades, how)


def union(grades: Grades) -> Grades:
    """The highest grade that anybody gave: relevant if it is relevant to one."""
    return np.nanmax(grades, axis=1)


def intersection(grades: Grades) -> Grades:
    """The lowest grade that anybody gave; 0 where somebody did not judge: relevant if it is so to all."""
    return np.nan_to_num(grades, nan=0.0).min(axis=1)


def majority(grades: Grades) -> Grades:
    """The highest grade that more than half of those who judged reach; halves go to the lower grade."""
    judged = np.count_nonzero(~np.isnan(grades), axis=1)
    ordered = np.sort(grades, axis=1)  # NaN last
    return ordered[np.arange(len(grades)), (judged - 1) // 2]


def mean_grade(grades: Grades) -> Grades:
    """The mean grade of those who judged: a fraction, for measures that take gains."""
    return np.nanmean(grades, axis=1)


def first_word(grades: Grades) -> Grades:
    """The grade of the first assessor who judged."""
    first = np.argmax(~np.isnan(grades), axis=1)
    return grades[np.arange(len(grades)), first]


# Each sees (row, assessor) with at least one grade in a row, in order of priority.
COMBINATIONS: dict[str, Callable[[Grades], Grades]] = {
    "union": union,
    "intersection": intersection,
    "majority": majority,
    "mean": mean_grade,
    "priority": first_word,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Contested:
    """A document on which assessors differ."""

    topic: str
    doc: str
    grades: tuple[float, ...]  # (assessor,) NaN: not judged
    gap: float  # between the highest and the lowest grade
    relevance: bool  # whether they differ on relevance, or on the grade alone


def adjudication_list(panel: Panel, *, level: float = 1) -> list[Contested]:
    """The documents with different grades by topic and doc id: an order that tells nothing of ranks."""
    judged = panel.judged
    most = np.where(judged, panel.grades, -np.inf).max(axis=1)
    least = np.where(judged, panel.grades, np.inf).min(axis=1)
    rows = (most > least).nonzero()[0]
    topic = panel.topic[rows]
    return [
        Contested(
            topic=panel.topics[number], doc=doc, grades=tuple(grades), gap=high - low,
            relevance=low < level <= high,
        )
        for number, doc, grades, high, low in zip(
            topic.tolist(), panel.docs[rows].texts(), panel.grades[rows].tolist(), most[rows].tolist(),
            least[rows].tolist(), strict=True,
        )
    ]  # fmt: skip
