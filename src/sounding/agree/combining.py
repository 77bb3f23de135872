"""Combine the judgments of several assessors, draw pools for a second one, and simulate further ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.agree.assessors import read_panel
from sounding.agree.panel import Panel
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError
from sounding.data.tables import Qrels

Grades = NDArray[np.float64]


def combine(panel: Panel, how: str, *, priority: Sequence[str] = ()) -> Qrels:
    """Combine the judgments of a panel into one set: union, intersection, majority, mean or priority.

    `priority` lists the assessors whose judgments take precedence; the others follow in their order.
    """
    if how not in COMBINATIONS:
        raise UnknownNameError("combination", how, COMBINATIONS)
    leading = [panel.place(name) for name in dict.fromkeys(priority)]
    rest = [place for place in range(len(panel.assessors)) if place not in leading]
    grades = COMBINATIONS[how](panel.grades[:, [*leading, *rest]])
    return panel.as_qrels(grades, how)


def union(grades: Grades) -> Grades:
    """Return the highest grade, so that a document is relevant if any assessor found it relevant."""
    return np.nanmax(grades, axis=1)


def intersection(grades: Grades) -> Grades:
    """Return the lowest grade, with 0 for a missing judgment: relevant only if every assessor found it so."""
    return np.nan_to_num(grades, nan=0.0).min(axis=1)


def majority(grades: Grades) -> Grades:
    """Return the highest grade that more than half of the document's assessors gave or exceeded."""
    judged = np.count_nonzero(~np.isnan(grades), axis=1)
    ordered = np.sort(grades, axis=1)  # NaN last
    return ordered[np.arange(len(grades)), (judged - 1) // 2]


def mean_grade(grades: Grades) -> Grades:
    """Return the mean grade, which may be fractional, for measures that use grades as gains."""
    return np.nanmean(grades, axis=1)


def first_word(grades: Grades) -> Grades:
    """Return the grade by the first assessor who judged the document."""
    first = np.argmax(~np.isnan(grades), axis=1)
    return grades[np.arange(len(grades)), first]


# Each function takes grades (row, assessor), by priority, with at least one grade in each row.
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
    gap: float  # highest grade - lowest grade
    relevance: bool  # True: they differ on relevance; False: only on the grade


def adjudication_list(panel: Panel, *, level: float = 1) -> list[Contested]:
    """Return the documents with different grades, by topic and doc id, which does not reveal any rank."""
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


RELEVANT = NONRELEVANT = 200  # documents per topic, as NIST chose for TREC-4


def secondary_pool(
    qrels: Qrels, *, relevant: int = RELEVANT, nonrelevant: int = NONRELEVANT, level: float = 1, seed: int = 0
) -> Qrels:
    """Return up to `relevant` relevant and `nonrelevant` other judgments of every topic, by doc id.

    A topic with more of either is sampled at random. The order does not reveal the first assessor's grades.
    Documents that were pooled but not judged (grades below 0) are omitted.
    """
    if relevant < 0 or nonrelevant < 0 or not relevant + nonrelevant:
        raise DataError(
            f"a secondary pool of {relevant} relevant and {nonrelevant} other documents;"
            " expected at least one"
        )
    rng = np.random.default_rng(seed)
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    # Sort by doc id first, so that the order of the file does not change which documents are drawn.
    order = np.lexsort([*reversed(qrels.docs.order_keys()), topic])
    chance = rng.random(len(order))
    chosen = np.zeros(len(order), np.bool_)
    for wanted, kind in (
        (relevant, qrels.grades >= level),
        (nonrelevant, (qrels.grades >= 0) & (qrels.grades < level)),
    ):
        rows = order[kind[order]]
        drawn = np.lexsort([chance[kind[order]], topic[rows]])
        place = np.arange(len(rows)) - np.searchsorted(topic[rows], topic[rows])
        chosen[rows[drawn[place < wanted]]] = True
    ordered = order[chosen[order]]
    counts = np.bincount(topic[ordered], minlength=len(qrels.topics))
    return Qrels(
        source=qrels.source, topics=qrels.topics, starts=np.concatenate([[0], np.cumsum(counts)]),
        docs=qrels.docs[ordered], grades=qrels.grades[ordered],
    )  # fmt: skip


# Voorhees (2002), Table 1: primary with A, primary with B. A and B overlap by .426, all three by .301, and
# both reject .30 of what the primary found relevant. ACCEPTANCE and the correlation fit these figures best.
OVERLAPS = (0.421, 0.494)
ACCEPTANCE = 0.75  # power of the overlap: .52 and .59 for A and B
CORRELATION = 0.65


def simulate_assessors(
    qrels: Qrels,
    *,
    overlaps: Sequence[float] = OVERLAPS,
    acceptance: Sequence[float] | None = None,
    correlation: float = 0.0,
    level: float = 1,
    seed: int = 0,
) -> Panel:
    """Return the primary's judgments with those of simulated secondary assessors, one for each overlap.

    `acceptance` is the chance that a secondary agrees that a document is relevant; by default, overlap raised
    to ACCEPTANCE, fitted to Voorhees (2002). `correlation` (0 to 1) is that between the opinions of any two
    secondaries; 0: independent. A document that stays relevant keeps its grade; one that only a secondary
    finds relevant gets `level`.
    """
    if acceptance is None:
        acceptance = [overlap**ACCEPTANCE for overlap in overlaps]
    _check(overlaps, acceptance, correlation)
    from scipy.special import ndtri

    primary = read_panel([qrels], by="file")
    rng = np.random.default_rng(seed)
    grade = primary.grades[:, 0]
    relevant = grade >= level
    found, others = primary.count(relevant), primary.count(~relevant)
    shared = rng.standard_normal(len(grade))
    columns = [grade]
    for overlap, accepts in zip(overlaps, acceptance, strict=True):
        # With R relevant and N other documents, overlap = accepts * R / (R + false * N).
        false = np.minimum((accepts / overlap - 1) * found / np.maximum(others, 1), 1.0)
        chance = np.where(relevant, accepts, false[primary.topic])
        view = np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * rng.standard_normal(len(grade))
        takes = view < ndtri(chance)
        columns.append(np.where(takes, np.where(relevant, grade, level), np.where(relevant, 0.0, grade)))
    labels = [f"secondary-{chr(ord('A') + place)}" for place in range(len(overlaps))]
    return Panel(
        assessors=(primary.assessors[0], *labels), topics=primary.topics, starts=primary.starts,
        docs=primary.docs, grades=np.stack(columns, axis=1),
    )  # fmt: skip


def _check(overlaps: Sequence[float], acceptance: Sequence[float], correlation: float) -> None:
    if len(overlaps) != len(acceptance) or not len(overlaps):
        raise DataError(
            f"{len(overlaps)} overlaps and {len(acceptance)} chances of acceptance;"
            " expected one of each for every simulated assessor"
        )
    for overlap, accepts in zip(overlaps, acceptance, strict=True):
        if not 0 < overlap <= accepts <= 1:
            raise DataError(
                f"overlap {overlap:g} with acceptance {accepts:g}; expected 0 < overlap <= acceptance <= 1"
            )
    if not 0 <= correlation <= 1:
        raise DataError(f"correlation {correlation:g}; expected a number from 0 to 1")
