"""Values with intervals by a bootstrap over topics: a topic's counts are drawn, never its documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.bootstrap import draw_weights

Floats = NDArray[np.float64]

RESAMPLES = 2000
ONE_TOPIC = "one topic: no interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A value with its interval from a bootstrap over topics; where either is NaN, `reason` says why."""

    value: float
    low: float = np.nan
    high: float = np.nan
    reason: str = ""
    resamples: int = 0  # that the interval rests on
    left_out: int = 0  # further resamples, in which there is no value

    @property
    def remark(self) -> str:
        """Why something is not known, or what the interval leaves out; empty: neither."""
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
        """`value` of the sum of tables over the topics that are used; `reason` is kept where it has none."""
        tables = tables[used]
        whole = float(value(tables.sum(axis=0)[np.newaxis])[0])
        if np.isnan(whole):
            return Estimate(value=whole, reason=reason)
        if len(tables) < 2:
            return Estimate(value=whole, reason=ONE_TOPIC)
        sums = self._weights(len(tables)) @ tables.reshape(len(tables), -1)
        return self._with_interval(whole, value(sums.reshape(-1, *tables.shape[1:])))

    def mean(self, values: Floats, reason: str) -> Estimate:
        """The mean over topics that have a value."""
        known = values[~np.isnan(values)]
        if not len(known):
            return Estimate(value=np.nan, reason=reason)
        if len(known) < 2:
            return Estimate(value=float(known[0]), reason=ONE_TOPIC)
        return self._with_interval(float(known.mean()), self._weights(len(known)) @ known / len(known))

    def _weights(self, topics: int) -> Floats:
        """(resample, topic): the same resamples for all that is known of as many topics."""
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
