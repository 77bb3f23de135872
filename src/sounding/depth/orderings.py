"""Two orderings of the runs held against each other by every coefficient, and who moves most."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sounding.agreement import MostPlaces, coefficients, most_places, rank_agreement, rbo_of_values
from sounding.arrays import NDArray
from sounding.depth.volatility import DIGITS

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Held:
    """The ordering by one measure at one depth, held against another ordering of the same runs."""

    measure: str
    k: int
    against: str  # the other ordering: the reference, another measure, another tie rule
    coefficients: Mapping[str, float]  # by name, every one there is; NaN: not defined
    rbo_minimum: float  # whatever may follow the lists
    rbo_maximum: float
    moved: MostPlaces

    def row(self, runs: tuple[str, ...]) -> dict[str, Any]:
        """The names, a cell for each coefficient, limits of RBO, the most places, and who moves so far."""
        return {
            "measure": self.measure, "k": self.k, "against": self.against, **self.coefficients,
            "rbo_minimum": self.rbo_minimum, "rbo_maximum": self.rbo_maximum,
            "most_places": self.moved.places,
            "moved_run": runs[self.moved.systems[0]] if self.moved.places > 0 else None,
        }  # fmt: skip


def held(measure: str, k: int, means: Floats, against: str, others: Floats, p: float) -> Held:
    """Means of the runs by a measure at a depth against `others`, which tau_ap takes as the reference."""
    overlap = rbo_of_values(others, means, p=p)
    return Held(
        measure=measure, k=k, against=against,
        coefficients={
            one.name: round(rank_agreement(others, means, one.name, p=p).value, DIGITS)
            for one in coefficients()
        },
        rbo_minimum=overlap.minimum, rbo_maximum=overlap.maximum,
        moved=most_places(others, means),
    )  # fmt: skip
