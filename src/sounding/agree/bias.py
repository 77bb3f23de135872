"""Each assessor, human or machine, against the others: grades they favour, and systems that gain by it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.agree.panel import Panel
from sounding.agree.resampling import Effect, named_agreement
from sounding.core.arrays import NDArray
from sounding.statistics.assessor_agreement import Bootstrap, Estimate, ratio
from sounding.statistics.rank_correlation import most_places

Floats = NDArray[np.float64]

TOP = 10  # systems that people look at


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeBias:
    """How often one assessor gives a grade, and how often the others do on the same documents."""

    assessor: str
    grade: float
    documents: int  # that the assessor and somebody else judged
    given: float  # share of these documents; NaN: there are none
    by_others: float  # mean share among the others' judgments
    bias: Estimate  # the difference


def grade_biases(panel: Panel, *, bootstrap: Bootstrap | None = None) -> list[GradeBias]:
    """One row for every assessor and grade; every document counts once, however many others judged it."""
    bootstrap = bootstrap or Bootstrap()
    found = []
    for place, assessor in enumerate(panel.assessors):
        mine, others = panel.grades[:, place], np.delete(panel.grades, place, axis=1)
        others_judged = np.count_nonzero(~np.isnan(others), axis=1)
        rows = (~np.isnan(mine) & (others_judged > 0)).nonzero()[0]
        topic = panel.topic[rows]
        size = np.bincount(topic, minlength=len(panel.topics)).astype(np.float64)
        for grade in panel.scale().tolist():
            given = (mine[rows] == grade).astype(np.float64)
            theirs = np.count_nonzero(others[rows] == grade, axis=1) / others_judged[rows]
            difference = np.bincount(topic, given - theirs, len(panel.topics))
            found.append(
                GradeBias(
                    assessor=assessor, grade=grade, documents=len(rows),
                    given=float(given.mean()) if len(rows) else np.nan,
                    by_others=float(theirs.mean()) if len(rows) else np.nan,
                    bias=bootstrap.estimate(
                        np.stack([difference, size], axis=1), _share, size > 0,
                        "no document that somebody else judged as well",
                    ),
                )
            )  # fmt: skip
    return found


def _share(pairs: Floats) -> Floats:
    return ratio(pairs[..., 0], pairs[..., 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class TopEffect:
    """What one assessor does to the best systems, against the mean of the other assessors' values."""

    assessor: str
    top: int  # systems looked at: the best by the mean over assessors
    shift: float  # mean of their values less that by the others
    tau: float  # among them; NaN: `reason` says why
    reason: str
    best: str  # system that is best by this assessor
    best_by_others: str
    favoured: str  # gains most by this assessor, beyond the shift of all
    favour: float  # so much
    moved: str  # moves most places
    places: float


def top_effects(effect: Effect, *, top: int = TOP) -> list[TopEffect]:
    """One row for every assessor, among the `top` best systems by the mean over assessors."""
    means = effect.by_assessor.mean(axis=0)
    chosen = sorted(range(len(means)), key=lambda row: (-means[row], effect.systems[row]))[:top]
    names = [effect.systems[row] for row in chosen]
    found = []
    for place, assessor in enumerate(effect.assessors):
        mine = effect.by_assessor[place, chosen]
        others = np.delete(effect.by_assessor, place, axis=0)[:, chosen].mean(axis=0)
        gains = mine - others
        agreed = named_agreement(others, mine, effect.coefficient, "the others", assessor)
        moves = most_places(others, mine)
        favoured = int(np.argmax(gains))
        found.append(
            TopEffect(
                assessor=assessor, top=len(chosen), shift=float(gains.mean()), tau=agreed.value,
                reason=agreed.reason, best=names[int(np.argmax(mine))],
                best_by_others=names[int(np.argmax(others))], favoured=names[favoured],
                favour=float(gains[favoured] - gains.mean()),
                moved=names[moves.systems[0]] if moves.places else "none", places=moves.places,
            )
        )  # fmt: skip
    return found
