"""Score forecasts: reliability, Brier score, calibration error and AUC, with intervals over runs.

Pairs share runs, so they are not independent. Intervals resample runs: the weight of a pair is the product of
how often its two runs were drawn. Everything is computed with such weights, for all resamples at once; the
first row of weights, all 1, gives the figures themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.runs.ranking import Counts, Values

Flags = NDArray[np.bool_]
Weights = NDArray[np.float64]  # (resample, unit)

SURE = 0.95  # from here on a claim is made
BINS = 10  # of equal width, from 0 to 1
RESAMPLES = 200
COVERED = (2.5, 97.5)  # percentiles that limit an interval
FIGURES = (
    "share_claimed", "share_right", "right", "auc", "ece", "brier",
    "reliability", "resolution", "uncertainty",
)  # fmt: skip


UNIT_ARRAYS = ("score", "claimed", "right", "first", "second", "unpooled")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Forecasts:
    """Statements about pairs of runs, and what came true; about single runs if both are the same."""

    claim: str
    measure: str
    probability: bool  # scores are probabilities; otherwise they only order the units
    score: Values  # (unit,)
    claimed: Flags  # (unit,) claimed with confidence
    right: Flags  # (unit,) the statement came true
    first: Counts  # (unit,) number of the run
    second: Counts  # (unit,)
    unpooled: Flags  # (unit,) one of the runs did not contribute to the judgments

    @property
    def units(self) -> int:
        """The number of units."""
        return len(self.score)

    def pick(self, chosen: Flags) -> Forecasts:
        """Return only these units."""
        arrays: dict[str, Any] = {name: getattr(self, name)[chosen] for name in UNIT_ARRAYS}
        return replace(self, **arrays)

    @staticmethod
    def joined(parts: Sequence[Forecasts]) -> Forecasts:
        """Concatenate the units of several repetitions."""
        arrays: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in UNIT_ARRAYS
        }
        return replace(parts[0], **arrays)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number and its interval; NaN: not defined."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bin:
    """Forecasts of similar probability."""

    units: int
    chance: float  # the mean
    right: Figure  # share that came true


def run_weights(forecasts: Forecasts, *, resamples: int = RESAMPLES, seed: int = 0) -> Weights:
    """(1 + resamples, unit): Return how often each unit counts; in the first row once."""
    runs = np.unique(np.concatenate([forecasts.first, forecasts.second]))
    drawn = np.random.default_rng(seed).multinomial(len(runs), np.full(len(runs), 1 / len(runs)), resamples)
    a, b = np.searchsorted(runs, forecasts.first), np.searchsorted(runs, forecasts.second)
    weights = np.where(a == b, drawn[:, a], drawn[:, a] * drawn[:, b])
    return np.concatenate([np.ones((1, forecasts.units)), weights])


def score_forecasts(forecasts: Forecasts, weights: Weights) -> dict[str, Figure]:
    """Return every figure by its name; `weights` is the result of `run_weights`."""
    found = {
        "share_claimed": weighted_share(forecasts.claimed, weights),
        "share_right": weighted_share(forecasts.right, weights * forecasts.claimed),
        "right": weighted_share(forecasts.right, weights),
        "auc": area_under_curve(forecasts.score, forecasts.right, weights),
    }
    if forecasts.probability:
        found |= probability_figures(forecasts.score, forecasts.right, weights)
    unknown = np.full(len(weights), np.nan)
    return {name: _figure(found.get(name, unknown)) for name in FIGURES}


def _figure(values: Values) -> Figure:
    """Return the first value, with the interval of the others."""
    known = values[1:][np.isfinite(values[1:])]
    low, high = np.percentile(known, COVERED) if len(known) else (np.nan, np.nan)
    return Figure(value=float(values[0]), low=float(low), high=float(high))


def _divided(part: Values, whole: Values) -> Values:
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=whole > 0)


def weighted_share(flags: Flags, weights: Weights) -> Values:
    """(resample,): Return the share of flagged units; NaN without units."""
    return _divided(weights @ flags.astype(np.float64), weights.sum(axis=1))


def area_under_curve(score: Values, right: Flags, weights: Weights) -> Values:
    """(resample,): Return the probability that a true unit scores higher than a false one; ties count half.

    NaN if all came true, or none, or all scores are the same.
    """
    order = np.argsort(score, kind="stable")
    begin = np.flatnonzero(np.concatenate([[True], np.diff(score[order]) > 0]))
    ordered = weights[:, order]
    if len(begin) == 1:
        return np.full(len(weights), np.nan)
    true = np.add.reduceat(ordered * right[order], begin, axis=1)
    false = np.add.reduceat(ordered * ~right[order], begin, axis=1)
    below = np.cumsum(false, axis=1) - false / 2
    return _divided((true * below).sum(axis=1), true.sum(axis=1) * false.sum(axis=1))


def probability_figures(chance: Values, right: Flags, weights: Weights) -> dict[str, Values]:
    """Return the Brier score, the expected calibration error, and Murphy's decomposition over ten bins.

    The three parts are those of the forecasts rounded to their bins' means: reliability - resolution +
    uncertainty is the Brier score of these.
    """
    total = weights.sum(axis=1)
    count, said, came = bin_forecasts(chance, right, weights)
    mean, share = _divided(said, count), _divided(came, count)
    base = _divided(came.sum(axis=1), total)

    def over_bins(values: NDArray[np.float64]) -> Values:
        return _divided(np.where(count > 0, count * np.nan_to_num(values), 0.0).sum(axis=1), total)

    return {
        "brier": _divided(weights @ np.square(chance - right), total),
        "ece": over_bins(np.abs(mean - share)),
        "reliability": over_bins(np.square(mean - share)),
        "resolution": over_bins(np.square(share - base[:, np.newaxis])),
        "uncertainty": base * (1 - base),
    }


def bin_numbers(chance: Values) -> Counts:
    """(unit,): Return its bin, from 0; a probability of 1 belongs to the last."""
    # A probability such as 0.3 is just below its limit in binary; it belongs above it.
    return np.minimum((chance * BINS + 1e-9).astype(np.int64), BINS - 1)


def bin_forecasts(
    chance: Values, right: Flags, weights: Weights
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """(resample, bin) each: Return the weight, the sum of probabilities, and the weight of what came true."""
    member = np.zeros((len(chance), BINS))
    member[np.arange(len(chance)), bin_numbers(chance)] = 1
    return weights @ member, (weights * chance) @ member, (weights * right) @ member


def reliability(forecasts: Forecasts, weights: Weights) -> list[Bin]:
    """Return the bins that contain forecasts, from the lowest probability: stated and observed."""
    if not forecasts.probability:
        return []
    count, said, came = bin_forecasts(forecasts.score, forecasts.right, weights)
    mean, share = _divided(said, count), _divided(came, count)
    return [
        Bin(units=int(count[0, place]), chance=float(mean[0, place]), right=_figure(share[:, place]))
        for place in range(BINS)
        if count[0, place]
    ]
