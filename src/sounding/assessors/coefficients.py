"""Agreement beyond chance from tables of counts: Cohen's and Fleiss' kappa, Krippendorff's alpha.

Every coefficient is a function of one square table, grade by grade, and tables of topics add up. So a
table is counted once for each topic, and a bootstrap over topics is a product of weights and tables.
"""

from __future__ import annotations

import numpy as np

from sounding.arrays import NDArray
from sounding.data.tables import Places

Tables = NDArray[np.float64]  # (..., grade, grade)
Floats = NDArray[np.float64]


def confusions(first: Floats, second: Floats, scale: Floats, topic: Places, topics: int) -> Tables:
    """(topic, grade, grade): how often the first assessor gave one grade and the second another.

    Only documents that both judged count; `scale` lists the grades, ascending.
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    size = len(scale)
    row, column = np.searchsorted(scale, first[both]), np.searchsorted(scale, second[both])
    cells = np.bincount((topic[both] * size + row) * size + column, minlength=topics * size * size)
    return cells.reshape(topics, size, size).astype(np.float64)


def coincidences(
    grades: Floats, scale: Floats, topic: Places, topics: int, *, complete: bool = False
) -> Tables:
    """(topic, grade, grade): pairs of judgments of one document by different assessors.

    Each document with m judgments adds m(m - 1) ordered pairs, weighed 1 / (m - 1); one with a single
    judgment adds nothing. `complete`: only documents that all assessors judged.
    """
    counts = np.stack([np.count_nonzero(grades == grade, axis=1) for grade in scale], axis=1)
    judged = counts.sum(axis=1)
    rows = (judged == grades.shape[1]) & (judged > 1) if complete else judged > 1
    counts, judged, topic = counts[rows], judged[rows], topic[rows]
    tables = np.empty((topics, len(scale), len(scale)))
    for one in range(len(scale)):
        for other in range(len(scale)):
            pairs = counts[:, one] * (counts[:, other] - (one == other))
            tables[:, one, other] = np.bincount(topic, pairs / (judged - 1), topics)
    return tables


def observed_agreement(tables: Tables) -> Floats:
    """The share of pairs of judgments with equal grades; NaN where there are none."""
    return ratio(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def cohen_kappa(tables: Tables) -> Floats:
    """Cohen's kappa (1960) of confusion tables; NaN where chance alone gives full agreement."""
    total = tables.sum(axis=(-2, -1))
    chance = ratio((tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1), total**2)
    return _beyond_chance(observed_agreement(tables), chance)


def weighted_kappa(tables: Tables, scale: Floats) -> Floats:
    """Cohen's kappa (1968) with squared differences of grades as weights: near grades disagree less.

    `scale` holds the grades of the confusion tables. NaN where chance alone gives full agreement.
    """
    weight = (scale[:, np.newaxis] - scale) ** 2
    seen = (tables * weight).sum(axis=(-2, -1))
    chance = tables.sum(axis=-1)[..., :, np.newaxis] * tables.sum(axis=-2)[..., np.newaxis, :]
    return 1 - ratio(seen * tables.sum(axis=(-2, -1)), (chance * weight).sum(axis=(-2, -1)))


def fleiss_kappa(tables: Tables) -> Floats:
    """Fleiss' kappa (1971) of coincidences of completely judged documents; NaN as for Cohen's."""
    total = tables.sum(axis=(-2, -1))
    chance = ratio((tables.sum(axis=-1) ** 2).sum(axis=-1), total**2)
    return _beyond_chance(observed_agreement(tables), chance)


def krippendorff_alpha(tables: Tables, *, ordinal: bool = False) -> Floats:
    """Krippendorff's alpha of coincidences: nominal, or ordinal, where near grades disagree less.

    NaN where there are no two judgments of one document, or only one grade.
    """
    marginal = tables.sum(axis=-1)
    total = marginal.sum(axis=-1)
    distance = _ordinal_distance(marginal) if ordinal else 1.0 - np.eye(tables.shape[-1])
    seen = (tables * distance).sum(axis=(-2, -1))
    pairs = marginal[..., :, np.newaxis] * marginal[..., np.newaxis, :]
    chance = (pairs * distance).sum(axis=(-2, -1))
    return 1 - ratio(seen * (total - 1), chance)


def _ordinal_distance(marginal: Floats) -> Tables:
    """Squared number of judgments between the middles of two grades' stretches on the whole scale."""
    middle = np.cumsum(marginal, axis=-1) - marginal / 2
    return (middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2


def agreement_by_grade(tables: Tables) -> Floats:
    """(..., grade): of all judgments with a grade, the share that the other assessor shares; NaN: none.

    Twice the documents to which both gave it, by the times that the one and the other did: positive and
    negative agreement, for two grades (Cicchetti & Feinstein 1990).
    """
    both = np.diagonal(tables, axis1=-2, axis2=-1)
    return ratio(2 * both, tables.sum(axis=-1) + tables.sum(axis=-2))


def _beyond_chance(observed: Floats, chance: Floats) -> Floats:
    room = 1 - chance
    # What is left of 1 by rounding alone is no room for agreement beyond chance.
    return ratio(observed - chance, np.where(room > 1e-12, room, 0.0))


def ratio(part: Floats | Places, whole: Floats | Places) -> Floats:
    """Part by whole; NaN where the whole is nothing."""
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)
