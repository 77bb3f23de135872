"""What there is to say of a measure's values when relevance is a matter of chance: mean and deviation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.ranking import Values


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """Mean and standard deviation of a measure for every topic."""

    mean: Values
    deviation: Values


@dataclass(frozen=True, slots=True)
class Overall:
    """Mean over topics: what is expected of it, how far it strays, and how well the mean is known."""

    mean: float
    deviation: float
    error: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Expected:
    """A measure under uncertain relevance: mean and standard deviation for every topic."""

    mean: Values
    deviation: Values
    error: Values  # standard error of `mean` where it was sampled; 0 where it was computed
    method: str  # known, exact, ratio, paper or sampling

    def over_topics(self, counted: NDArray[np.bool_] | None = None) -> Overall:
        """The mean over topics (those `counted`), whose relevance is independent; NaN where there is none."""
        chosen = np.ones(len(self.mean), np.bool_) if counted is None else counted
        number = int(chosen.sum())
        if not number:
            return Overall(np.nan, np.nan, np.nan)
        return Overall(
            float(self.mean[chosen].mean()),
            float(np.sqrt(np.square(self.deviation[chosen]).sum()) / number),
            float(np.sqrt(np.square(self.error[chosen]).sum()) / number),
        )


def known(values: Values) -> Moments:
    """Values that chance has no part in."""
    return Moments(values, np.zeros(len(values)))
