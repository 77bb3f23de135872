"""Volatility: how far the orderings of the runs at any two depths, or by any two measures, agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.statistics.rank_correlation import (
    PERSISTENCE,
    agreement_matrix,
    check_persistence,
    coefficients,
    find_coefficient,
    most_places,
    rank_agreement,
)
from sounding.statistics.rank_overlap import rbo_of_values

Floats = NDArray[np.float64]

DIGITS = 12  # of agreement: what lies beyond is the error of sums
FAMILIES = ("spearman", "pearson", "rmse", "rbo", "tau")  # the order of the columns
THRESHOLD = 0.9  # orderings that agree so well are very close to each other (Lu et al., section 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreeing:
    """Coefficient and threshold for comparing orderings."""

    coefficient: str = "tau_b"
    p: float = PERSISTENCE  # of RBO
    threshold: float = THRESHOLD

    def __post_init__(self) -> None:
        find_coefficient(self.coefficient)
        check_persistence(self.p)
        if not -1 <= self.threshold <= 1:
            raise DataError(f"threshold {self.threshold:g}: expected a number from -1 to 1, such as 0.9")

    @property
    def is_distance(self) -> bool:
        """Return whether the coefficient falls as orderings agree better, so that no threshold fits it."""
        return find_coefficient(self.coefficient).identical != 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Volatility:
    """The agreement of the runs' ordering at every depth with that at every depth."""

    measure: str
    other: str  # the measure of the columns: the same, or another
    coefficient: str
    ks: tuple[int, ...]  # of the rows and of the columns
    matrix: Floats  # (k, k); NaN: not defined

    def stable_from(self, threshold: float = THRESHOLD) -> int | None:
        """Return the least depth such that all orderings from it on agree by at least the threshold.

        None where there is none: not even the two deepest agree so well. What is not defined does not agree.
        """
        if find_coefficient(self.coefficient).identical != 1:
            raise DataError(f"{self.coefficient} is a distance, which has no threshold; use tau_b")
        if (np.diff(self.ks) <= 0).any():
            raise DataError(f"depths {list(self.ks)}; expected them in ascending order, each once")
        close = self.matrix >= threshold
        # Between two measures the matrix is not symmetric: a depth has to agree on either axis.
        with_deeper = [close[k, k:].all() and close[k:, k].all() for k in range(len(self.ks))]
        stable = np.logical_and.accumulate(with_deeper[::-1])[::-1]
        return int(self.ks[stable.argmax()]) if stable[-2:-1].any() else None

    @property
    def frame(self) -> polars.DataFrame:
        """Columns measure, k, other_measure, other_k, coefficient, agreement: one row a cell."""
        ks, cells = np.array(self.ks, np.int64), self.matrix.size
        return polars.DataFrame(
            {
                "measure": [self.measure] * cells, "k": np.repeat(ks, len(ks)),
                "other_measure": [self.other] * cells, "other_k": np.tile(ks, len(ks)),
                "coefficient": [self.coefficient] * cells, "agreement": self.matrix.ravel(),
            },
            schema_overrides=dict.fromkeys(("measure", "other_measure", "coefficient"), polars.String),
        )  # fmt: skip


def volatility(
    values: ArrayLike,
    ks: Sequence[int],
    *,
    others: ArrayLike | None = None,
    measure: str = "",
    other: str | None = None,
    coefficient: str = "tau_b",
    p: float = PERSISTENCE,
) -> Volatility:
    """The agreement between the orderings of the runs at any two depths, from their means: (k, run).

    `others` are the means by another measure; None: depths of one measure are set against each other.
    """
    rows = _means(values, ks, "values")
    columns = rows if others is None else _means(others, ks, "others")
    return Volatility(
        measure=measure, other=measure if other is None else other, coefficient=coefficient, ks=tuple(ks),
        matrix=exact_agreement(rows, columns, coefficient, p=p),
    )  # fmt: skip


def exact_agreement(rows: Floats, columns: Floats, coefficient: str, *, p: float) -> Floats:
    """(row, column): agreement without the error of its sums, so that an ordering has 1 with itself."""
    return np.round(agreement_matrix(rows, columns, coefficient, p=p), DIGITS)


def _means(values: ArrayLike, ks: Sequence[int], name: str) -> Floats:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or len(table) != len(ks):
        raise DataError(f"{name} of shape {table.shape} for {len(ks)} depths; expected (k, run)")
    return table


def ordering_row(
    means: Floats, others: Floats, runs: Sequence[str], p: float
) -> dict[str, float | str | None]:
    """Compare means of the runs with `others`, which tau_ap takes as the reference.

    A cell for each coefficient, the limits of RBO whatever may follow the lists, the most places that a run
    moves, and a run that moves so far.
    """
    overlap, moved = rbo_of_values(others, means, p=p), most_places(others, means)
    by_family = sorted(coefficients(), key=lambda known: FAMILIES.index(known.name.split("_")[0]))
    return {
        known.name: round(rank_agreement(others, means, known.name, p=p).value, DIGITS) for known in by_family
    } | {
        "rbo_minimum": overlap.minimum, "rbo_maximum": overlap.maximum, "most_places": moved.places,
        "moved_run": runs[moved.systems[0]] if moved.places > 0 else None,
    }  # fmt: skip
