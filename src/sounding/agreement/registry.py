"""Which coefficients of agreement there are, by name, and how one is asked for: a pair, or a whole matrix.

`@coefficient("name", ...)` registers a kernel from two matrices (ordering, system) to the value of every
row of the one with every row of the other. Kernels see only rows for which their value is defined.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sounding.agreement.orders import Floats, known_orderings, on_a_grid, two_matrices, two_vectors
from sounding.errors import DataError, UnknownNameError

Kernel = Callable[..., Floats]
PERSISTENCE = 0.9  # of RBO, where none is given


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Coefficient:
    """One registered coefficient, and when it is defined."""

    name: str
    title: str  # the first line of the kernel's docstring
    kernel: Kernel = field(repr=False)
    of_order: bool  # only the order of the values counts, not their size
    needs_spread: bool  # not defined where all values of an ordering are equal
    takes_p: bool  # has the persistence of RBO
    symmetric: bool  # the two orderings can change places
    identical: float  # what two identical orderings without ties give


_COEFFICIENTS: dict[str, Coefficient] = {}


def coefficient(
    name: str,
    *,
    of_order: bool = True,
    needs_spread: bool = False,
    takes_p: bool = False,
    symmetric: bool = True,
    identical: float = 1.0,
) -> Callable[[Kernel], Kernel]:
    """Register a kernel under the name that people type."""

    def register(kernel: Kernel) -> Kernel:
        _COEFFICIENTS[name] = Coefficient(
            name=name, title=inspect.cleandoc(kernel.__doc__ or "").partition("\n")[0], kernel=kernel,
            of_order=of_order, needs_spread=needs_spread, takes_p=takes_p, symmetric=symmetric,
            identical=identical,
        )  # fmt: skip
        return kernel

    return register


def coefficients() -> Iterator[Coefficient]:
    """All coefficients, in the order in which they were defined."""
    return iter(_COEFFICIENTS.values())


def find_coefficient(name: str) -> Coefficient:
    """The coefficient of this name."""
    if not isinstance(name, str) or name not in _COEFFICIENTS:
        raise UnknownNameError("coefficient", name, _COEFFICIENTS)
    return _COEFFICIENTS[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """One coefficient between two orderings; where it is NaN, `reason` says why."""

    coefficient: str
    systems: int
    value: float
    reason: str  # empty where there is a value

    def __str__(self) -> str:
        shown = f"{self.value:.4f}" if not self.reason else f"not defined: {self.reason}"
        return f"{self.coefficient} of {self.systems} systems: {shown}"


def rank_agreement(
    first: ArrayLike, second: ArrayLike, coefficient: str = "tau_b", *, p: float = PERSISTENCE
) -> Agreement:
    """One coefficient between two vectors of values, higher is better, with the reason where it is NaN.

    For `tau_ap` the first vector is the reference. `p` is the persistence of RBO; others do not use it.
    """
    chosen = find_coefficient(coefficient)
    ours, theirs = two_vectors(first, second)
    value = float(_matrix(chosen, ours, theirs, p)[0, 0])
    reason = _reason(chosen, ours, "first") or _reason(chosen, theirs, "second")
    return Agreement(coefficient=chosen.name, systems=ours.shape[1], value=value, reason=reason)


def agreement_matrix(
    first: ArrayLike, second: ArrayLike, coefficient: str = "tau_b", *, p: float = PERSISTENCE
) -> Floats:
    """One coefficient between every row of one matrix (ordering, system) and every row of another.

    The value in row i and column j is that of `first[i]` and `second[j]`; NaN where it is not defined.
    """
    return _matrix(find_coefficient(coefficient), *two_matrices(first, second), p)


def _matrix(chosen: Coefficient, first: Floats, second: Floats, p: float) -> Floats:
    if chosen.takes_p:
        check_persistence(p)
    ours, theirs = _defined(chosen, first), _defined(chosen, second)
    found = np.full((len(first), len(second)), np.nan)
    if ours.any() and theirs.any():
        sides = (first[ours], second[theirs])
        if chosen.of_order:
            sides = (on_a_grid(sides[0]), on_a_grid(sides[1]))
        found[np.ix_(ours, theirs)] = chosen.kernel(*sides, p=p) if chosen.takes_p else chosen.kernel(*sides)
    return found


def check_persistence(p: float) -> None:
    """Refuse a persistence of RBO that is none."""
    if not isinstance(p, Real) or not 0 < p < 1:
        raise DataError(f"p of RBO is {p!r}; expected a number above 0 and below 1, such as 0.9")


def _defined(chosen: Coefficient, values: Floats) -> NDArray[np.bool_]:
    """(ordering,): whether the coefficient can be taken of this ordering with others that allow it."""
    defined = known_orderings(values)
    if values.shape[1] < 2:
        return np.zeros_like(defined)
    if chosen.needs_spread:
        defined[defined] = _spread(values[defined])
    return defined


def _spread(values: Floats) -> NDArray[np.bool_]:
    steps = on_a_grid(values)
    return (steps != steps[:, :1]).any(axis=1)


def _reason(chosen: Coefficient, values: Floats, which: str) -> str:
    """Why the coefficient cannot be taken of this one ordering; empty where it can."""
    if _defined(chosen, values)[0]:
        return ""
    if values.shape[1] < 2:
        return f"systems: {values.shape[1]}; expected at least 2"
    unknown = int(np.count_nonzero(~np.isfinite(values)))
    if unknown:
        return f"the {which} ordering has no value for {unknown} of {values.shape[1]} systems"
    return f"the {which} ordering has all systems tied"
