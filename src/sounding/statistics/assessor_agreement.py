"""Agreement of assessors beyond chance, with intervals by a bootstrap over topics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.tables import Places
from sounding.statistics.bootstrap import draw_weights

Tables = NDArray[np.float64]  # (..., grade, grade)
Floats = NDArray[np.float64]


def confusions(first: Floats, second: Floats, scale: Floats, topic: Places, topics: int) -> Tables:
    """(topic, grade, grade): Count how often the first assessor gave one grade and the second another.

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
    """(topic, grade, grade): Count pairs of judgments of a document by different assessors.

    Each document with m judgments adds m(m - 1) ordered pairs, weighted 1 / (m - 1); one with a single
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
    """Return the share of pairs of judgments with equal grades; NaN if there are none."""
    return ratio(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-2, -1)))


def cohen_kappa(tables: Tables) -> Floats:
    """Return Cohen's kappa (1960) of confusion tables; NaN if chance alone gives full agreement."""
    total = tables.sum(axis=(-2, -1))
    chance = ratio((tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1), total**2)
    return beyond_chance(observed_agreement(tables), chance)


def weighted_kappa(tables: Tables, scale: Floats) -> Floats:
    """Return Cohen's weighted kappa (1968), with squared differences of grades as weights.

    `scale` holds the grades of the confusion tables. NaN if chance alone gives full agreement.
    """
    weight = (scale[:, np.newaxis] - scale) ** 2
    seen = (tables * weight).sum(axis=(-2, -1))
    chance = tables.sum(axis=-1)[..., :, np.newaxis] * tables.sum(axis=-2)[..., np.newaxis, :]
    return 1 - ratio(seen * tables.sum(axis=(-2, -1)), (chance * weight).sum(axis=(-2, -1)))


def fleiss_kappa(tables: Tables) -> Floats:
    """Return Fleiss' kappa (1971) of coincidences of completely judged documents; NaN as for Cohen's."""
    total = tables.sum(axis=(-2, -1))
    chance = ratio((tables.sum(axis=-1) ** 2).sum(axis=-1), total**2)
    return beyond_chance(observed_agreement(tables), chance)


def krippendorff_alpha(tables: Tables, *, ordinal: bool = False) -> Floats:
    """Return Krippendorff's alpha of coincidences: nominal, or ordinal, where similar grades disagree less.

    NaN if no document has two judgments, or if there is only one grade.
    """
    marginal = tables.sum(axis=-1)
    total = marginal.sum(axis=-1)
    distance = _ordinal_distance(marginal) if ordinal else 1.0 - np.eye(tables.shape[-1])
    seen = (tables * distance).sum(axis=(-2, -1))
    pairs = marginal[..., :, np.newaxis] * marginal[..., np.newaxis, :]
    chance = (pairs * distance).sum(axis=(-2, -1))
    return 1 - ratio(seen * (total - 1), chance)


def _ordinal_distance(marginal: Floats) -> Tables:
    """Return the squared number of judgments between the middles of two grades on the scale."""
    middle = np.cumsum(marginal, axis=-1) - marginal / 2
    return (middle[..., :, np.newaxis] - middle[..., np.newaxis, :]) ** 2


def agreement_by_grade(tables: Tables) -> Floats:
    """(..., grade): Return the share of judgments with a grade that the other assessor agrees on; NaN: none.

    Twice the number of documents to which both gave the grade, divided by the number of times that either
    did: positive and negative agreement, for two grades (Cicchetti & Feinstein 1990).
    """
    both = np.diagonal(tables, axis1=-2, axis2=-1)
    return ratio(2 * both, tables.sum(axis=-1) + tables.sum(axis=-2))


def beyond_chance(observed: Floats, chance: Floats) -> Floats:
    """Return the agreement beyond chance, as a share of what is possible; NaN if nothing is."""
    room = 1 - chance
    # A remainder due to rounding leaves no room for agreement beyond chance.
    return ratio(observed - chance, np.where(room > 1e-12, room, 0.0))


def ratio(part: Floats | Places, whole: Floats | Places) -> Floats:
    """Return part / whole; NaN if the whole is 0."""
    part, whole = np.broadcast_arrays(part, whole)
    return np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0)


RESAMPLES = 2000
ONE_TOPIC = "one topic: no interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its interval from a bootstrap over topics; if either is NaN, `reason` says why."""

    value: float
    low: float = np.nan
    high: float = np.nan
    reason: str = ""
    resamples: int = 0  # used for the interval
    left_out: int = 0  # further resamples that have no value

    @property
    def remark(self) -> str:
        """Say why something is unknown, or what the interval leaves out; empty if neither applies."""
        if not self.left_out or self.reason:
            return self.reason
        return (
            f"{self.left_out:,} of {self.resamples + self.left_out:,} resamples of topics have no value;"
            " the interval is that of the others"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Bootstrap:
    """Resamples of topics, and the intervals that they give."""

    resamples: int = RESAMPLES
    alpha: float = 0.05
    seed: int = 0
    drawn: dict[int, Floats] = field(default_factory=dict)  # number of topics -> weights (resample, topic)

    def estimate(
        self, tables: Floats, value: Callable[[Floats], Floats], used: NDArray[np.bool_], reason: str
    ) -> Estimate:
        """Estimate `value` of the sum of tables over the used topics; `reason` is kept if it has none."""
        tables = tables[used]
        whole = float(value(tables.sum(axis=0)[np.newaxis])[0])
        if np.isnan(whole):
            return Estimate(value=whole, reason=reason)
        if len(tables) < 2:
            return Estimate(value=whole, reason=ONE_TOPIC)
        sums = self._weights(len(tables)) @ tables.reshape(len(tables), -1)
        return self._with_interval(whole, value(sums.reshape(-1, *tables.shape[1:])))

    def mean(self, values: Floats, reason: str) -> Estimate:
        """Estimate the mean over topics that have a value."""
        known = values[~np.isnan(values)]
        if not len(known):
            return Estimate(value=np.nan, reason=reason)
        if len(known) < 2:
            return Estimate(value=float(known[0]), reason=ONE_TOPIC)
        return self._with_interval(float(known.mean()), self._weights(len(known)) @ known / len(known))

    def _weights(self, topics: int) -> Floats:
        """(resample, topic): Return weights; the same for everything with the same number of topics."""
        if topics not in self.drawn:
            rng = np.random.default_rng([self.seed, topics])
            self.drawn[topics] = draw_weights(topics, self.resamples, rng).astype(np.float64)
        return self.drawn[topics]

    def _with_interval(self, value: float, resampled: Floats) -> Estimate:
        known = resampled[~np.isnan(resampled)]
        if not len(known):
            return Estimate(value=value, reason="no resample of topics has a value: no interval")
        low, high = np.quantile(known, [self.alpha / 2, 1 - self.alpha / 2])
        return Estimate(
            value=value, low=float(low), high=float(high), resamples=len(known),
            left_out=len(resampled) - len(known),
        )  # fmt: skip
