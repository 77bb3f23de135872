"""One set of judgments out of several, pools for a second assessor, and simulated further assessors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sounding.agree.panel import Panel
from sounding.agree.reading import read_panel
from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError
from sounding.data.tables import Qrels

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


RELEVANT = NONRELEVANT = 200  # of each topic, as NIST did for TREC-4


def secondary_pool(
    qrels: Qrels, *, relevant: int = RELEVANT, nonrelevant: int = NONRELEVANT, level: float = 1, seed: int = 0
) -> Qrels:
    """Up to `relevant` relevant and `nonrelevant` other judgments of every topic, in doc-id order.

    Where a topic has more, a random sample of them; the order tells nothing of what the first assessor said.
    Documents that were pooled and not judged (grades below 0) are left out.
    """
    if relevant < 0 or nonrelevant < 0 or not relevant + nonrelevant:
        raise DataError(
            f"a secondary pool of {relevant} relevant and {nonrelevant} other documents;"
            " expected at least one"
        )
    rng = np.random.default_rng(seed)
    topic = np.repeat(np.arange(len(qrels.topics)), qrels.sizes)
    # Sorted by doc id first: the same documents are drawn whatever the order of the file.
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
# both reject .30 of what the primary found. Acceptance and correlation are those that come nearest to it.
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
    """The primary's judgments and those of simulated secondaries, one for each wanted overlap.

    `acceptance` is the chance that a secondary accepts what the primary found relevant; by default it follows
    from the overlap as the paper's figures have it. `correlation` (0 to 1) is that of the views of any two
    secondaries; 0: independent flips. A relevant document that stays relevant keeps its grade; one that only
    a secondary finds relevant gets `level`.
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
        # With R found and N others, accepts x R / (R + false x N) is the wanted overlap.
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
