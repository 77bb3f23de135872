"""Volatility: how far the orderings of the runs at any two depths, or by any two measures, agree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.statistics.rank_correlation import (
    PERSISTENCE,
    MostPlaces,
    agreement_matrix,
    check_persistence,
    coefficients,
    find_coefficient,
    most_places,
    rank_agreement,
)
from sounding.statistics.rank_overlap import rbo_of_values

DIGITS = 12  # of agreement: what lies beyond is the error of sums
FAMILIES = ("spearman", "pearson", "rmse", "rbo", "tau")  # the order of the columns
THRESHOLD = 0.9  # orderings that agree so well are very close to each other (Lu et al., section 6)


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreeing:
    """How orderings are held against each other, and from where on they count as the same."""

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
        """Whether the coefficient falls as orderings agree better, so that no threshold fits it."""
        return find_coefficient(self.coefficient).identical != 1


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Volatility:
    """The agreement of the runs' ordering at every depth with that at every depth."""

    measure: str
    other: str  # the measure of the columns: the same, or another
    coefficient: str
    ks: tuple[int, ...]  # (row,)
    other_ks: tuple[int, ...]  # (column,)
    matrix: NDArray[np.float64]  # (row, column); NaN: not defined

    def stable_from(self, threshold: float = THRESHOLD) -> int | None:
        """See the function of this name; rows and columns must have the same depths."""
        if find_coefficient(self.coefficient).identical != 1:
            raise DataError(f"{self.coefficient} is a distance, and a threshold is for what grows; use tau_b")
        if self.ks != self.other_ks:
            raise DataError("rows and columns have different depths; expected the same in both")
        return stable_from(self.matrix, self.ks, threshold)

    @property
    def frame(self) -> polars.DataFrame:
        """Columns measure, k, other_measure, other_k, coefficient, agreement: one row a cell."""
        rows, columns = len(self.ks), len(self.other_ks)
        return polars.DataFrame(
            {
                "measure": [self.measure] * (rows * columns),
                "k": np.repeat(np.array(self.ks, np.int64), columns),
                "other_measure": [self.other] * (rows * columns),
                "other_k": np.tile(np.array(self.other_ks, np.int64), rows),
                "coefficient": [self.coefficient] * (rows * columns),
                "agreement": self.matrix.ravel(),
            },
            schema_overrides=dict.fromkeys(("measure", "other_measure", "coefficient"), polars.String),
        )


def volatility(
    values: ArrayLike,
    ks: Sequence[int],
    *,
    others: ArrayLike | None = None,
    other_ks: Sequence[int] | None = None,
    measure: str = "",
    other: str | None = None,
    coefficient: str = "tau_b",
    p: float = PERSISTENCE,
) -> Volatility:
    """The agreement between the orderings of the runs at any two depths, from their means: (k, run).

    `others` are the means by another measure; None: depths of one measure are set against each other.
    """
    rows = _means(values, ks, "values")
    columns = rows if others is None else _means(others, ks if other_ks is None else other_ks, "others")
    return Volatility(
        measure=measure,
        other=measure if other is None else other,
        coefficient=coefficient,
        ks=tuple(ks),
        other_ks=tuple(ks if other_ks is None else other_ks),
        matrix=exact_agreement(rows, columns, coefficient, p=p),
    )


def exact_agreement(
    rows: NDArray[np.float64], columns: NDArray[np.float64], coefficient: str, *, p: float
) -> NDArray[np.float64]:
    """(row, column): agreement without the error of its sums, so that an ordering has 1 with itself."""
    return np.round(agreement_matrix(rows, columns, coefficient, p=p), DIGITS)


def _means(values: ArrayLike, ks: Sequence[int], name: str) -> NDArray[np.float64]:
    table = np.asarray(values, np.float64)
    if table.ndim != 2 or len(table) != len(ks):
        raise DataError(f"{name} of shape {table.shape} for {len(ks)} depths; expected (k, run)")
    return table


def stable_from(matrix: NDArray[np.float64], ks: Sequence[int], threshold: float = THRESHOLD) -> int | None:
    """The least depth such that all orderings from it on agree by at least the threshold, each with each.

    None where there is none: not even the two deepest agree so well. What is not defined does not agree.
    """
    if matrix.shape != (len(ks), len(ks)):
        raise DataError(
            f"a matrix of shape {matrix.shape} for {len(ks)} depths; expected a row and a column for each"
        )
    if (np.diff(ks) <= 0).any():
        raise DataError(f"depths {list(ks)}; expected them in ascending order, each once")
    close = matrix >= threshold
    # all_close[i]: everything at depth i or deeper agrees, on either axis
    all_close = np.logical_and.accumulate(
        [close[place, place:].all() and close[place:, place].all() for place in range(len(ks) - 1, -1, -1)]
    )[::-1]
    found = np.flatnonzero(all_close)
    return int(ks[found[0]]) if len(found) and found[0] < len(ks) - 1 else None


Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class HeldOrdering:
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


def hold_ordering(
    measure: str, k: int, means: Floats, against: str, others: Floats, p: float
) -> HeldOrdering:
    """Means of the runs by a measure at a depth against `others`, which tau_ap takes as the reference."""
    overlap = rbo_of_values(others, means, p=p)
    return HeldOrdering(
        measure=measure, k=k, against=against,
        coefficients={
            one.name: round(rank_agreement(others, means, one.name, p=p).value, DIGITS)
            for one in sorted(coefficients(), key=lambda one: FAMILIES.index(one.name.split("_")[0]))
        },
        rbo_minimum=overlap.minimum, rbo_maximum=overlap.maximum,
        moved=most_places(others, means),
    )  # fmt: skip
