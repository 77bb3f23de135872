"""Measure how far two rankings of the same runs agree: tau, tau_ap, Spearman, Pearson, RMSE; moves."""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sounding.core.errors import DataError, UnknownNameError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

DIGITS = 13  # digits of an ordering's largest value; values that differ only beyond them tie


class RankPlaces(NamedTuple):
    """The places of every system, best first from 1; tied systems share a range of places."""

    first: Counts  # (ordering, system)
    last: Counts  # (ordering, system)

    @property
    def size(self) -> Counts:
        """(ordering, system): the number of systems that share the range."""
        return self.last - self.first + 1

    @property
    def mean(self) -> Floats:
        """(ordering, system): the middle of the range."""
        return (self.first + self.last) / 2


def two_vectors(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Check two vectors of equal length and return each as a matrix of one row."""
    ours, theirs = _numbers(first), _numbers(second)
    if ours.ndim != 1 or theirs.ndim != 1:
        raise DataError(
            f"values have the shapes {ours.shape} and {theirs.shape}; expected one value per system"
        )
    return two_matrices(ours[np.newaxis], theirs[np.newaxis])


def two_matrices(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Floats]:
    """Check two matrices over the same systems: (ordering, system) each."""
    ours, theirs = _numbers(first), _numbers(second)
    if ours.ndim != 2 or theirs.ndim != 2:
        raise DataError(
            f"values have the shapes {ours.shape} and {theirs.shape}; expected (ordering, system)"
        )
    if ours.shape[1] != theirs.shape[1]:
        raise DataError(
            f"values of {ours.shape[1]} and of {theirs.shape[1]} systems; expected the same systems in both"
        )
    return ours, theirs


def _numbers(values: ArrayLike) -> Floats:
    try:
        return np.asarray(values, np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"values are {reprlib.repr(values)}; expected one number per system, such as [0.31, 0.25]"
        ) from error


def known_orderings(values: Floats) -> NDArray[np.bool_]:
    """(ordering,): Return whether every system has a finite value."""
    return np.asarray(np.isfinite(values).all(axis=1), np.bool_)


def on_a_grid(values: Floats) -> Floats:
    """Convert values to whole steps of a fine decimal grid, so that values equal up to rounding tie."""
    largest = np.abs(values).max(axis=1, initial=0.0)
    exponent = np.zeros(len(values), np.int64)
    np.ceil(np.log10(largest, out=np.zeros_like(largest), where=largest > 0), out=exponent, casting="unsafe")
    shift = (DIGITS - exponent)[:, np.newaxis]
    half = shift // 2  # in two steps, because 10 to the whole power may be too large for a float
    return np.rint(values * np.power(10.0, half) * np.power(10.0, shift - half))


def places(steps: Floats) -> RankPlaces:
    """Return the places of every system, highest value first."""
    count = steps.shape[1]
    order = np.argsort(-steps, axis=1, kind="stable")
    ordered = np.take_along_axis(steps, order, axis=1)
    starts = np.ones(steps.shape, np.bool_)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    ends = np.ones(steps.shape, np.bool_)
    ends[:, :-1] = starts[:, 1:]
    place = np.arange(1, count + 1)
    first, last = np.empty((2, *steps.shape), np.int64)
    np.put_along_axis(first, order, np.maximum.accumulate(np.where(starts, place, 0), axis=1), axis=1)
    backwards = np.where(ends, place, count)[:, ::-1]
    np.put_along_axis(last, order, np.minimum.accumulate(backwards, axis=1)[:, ::-1], axis=1)
    return RankPlaces(first, last)


Kernel = Callable[..., Floats]
PERSISTENCE = 0.9  # default persistence of RBO


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Coefficient:
    """A registered coefficient, and when it is defined."""

    name: str
    title: str  # the first line of the kernel's docstring
    kernel: Kernel = field(repr=False)
    of_order: bool  # only the order of the values counts, not their size
    needs_spread: bool  # not defined if all values of an ordering are equal
    takes_p: bool  # has the persistence of RBO
    symmetric: bool  # the two orderings can be exchanged
    identical: float  # value of two identical orderings without ties


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
    """Register a kernel under the name that users type."""

    def register(kernel: Kernel) -> Kernel:
        _COEFFICIENTS[name] = Coefficient(
            name=name, title=inspect.cleandoc(kernel.__doc__ or "").partition("\n")[0], kernel=kernel,
            of_order=of_order, needs_spread=needs_spread, takes_p=takes_p, symmetric=symmetric,
            identical=identical,
        )  # fmt: skip
        return kernel

    return register


def coefficients() -> Iterator[Coefficient]:
    """Return all coefficients, in the order of registration."""
    return iter(_COEFFICIENTS.values())


def find_coefficient(name: str) -> Coefficient:
    """Return the coefficient of this name."""
    if not isinstance(name, str) or name not in _COEFFICIENTS:
        raise UnknownNameError("coefficient", name, _COEFFICIENTS)
    return _COEFFICIENTS[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """A coefficient between two orderings; if it is NaN, `reason` says why."""

    coefficient: str
    systems: int
    value: float
    reason: str  # empty if there is a value

    def __str__(self) -> str:
        shown = f"{self.value:.4f}" if not self.reason else f"not defined: {self.reason}"
        return f"{self.coefficient} of {self.systems} systems: {shown}"


def rank_agreement(
    first: ArrayLike, second: ArrayLike, coefficient: str = "tau_b", *, p: float = PERSISTENCE
) -> Agreement:
    """Return one coefficient between two vectors of values, higher is better, and why it is NaN if so.

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
    """Return one coefficient between every row of one matrix (ordering, system) and every row of another.

    The value in row i and column j is that of `first[i]` and `second[j]`; NaN if it is not defined.
    """
    return _matrix(find_coefficient(coefficient), *two_matrices(first, second), p)


def _matrix(chosen: Coefficient, first: Floats, second: Floats, p: float) -> Floats:
    if chosen.takes_p:
        check_persistence(p)
    ours, theirs = _is_defined(chosen, first), _is_defined(chosen, second)
    found = np.full((len(first), len(second)), np.nan)
    if ours.any() and theirs.any():
        sides = (first[ours], second[theirs])
        if chosen.of_order:
            sides = (on_a_grid(sides[0]), on_a_grid(sides[1]))
        found[np.ix_(ours, theirs)] = chosen.kernel(*sides, p=p) if chosen.takes_p else chosen.kernel(*sides)
    return found


def check_persistence(p: float) -> None:
    """Raise an error if a persistence of RBO is invalid."""
    if not isinstance(p, Real) or not 0 < p < 1:
        raise DataError(f"p of RBO is {p!r}; expected a number above 0 and below 1, such as 0.9")


def _is_defined(chosen: Coefficient, values: Floats) -> NDArray[np.bool_]:
    """(ordering,): Return whether the coefficient is defined for this ordering."""
    defined = known_orderings(values)
    if values.shape[1] < 2:
        return np.zeros_like(defined)
    if chosen.needs_spread:
        steps = on_a_grid(values[defined])
        defined[defined] = (steps != steps[:, :1]).any(axis=1)
    return defined


def _reason(chosen: Coefficient, values: Floats, which: str) -> str:
    """Say why the coefficient is not defined for this ordering; empty if it is."""
    if _is_defined(chosen, values)[0]:
        return ""
    if values.shape[1] < 2:
        return f"systems: {values.shape[1]}; expected at least 2"
    unknown = int(np.count_nonzero(~np.isfinite(values)))
    if unknown:
        return f"the {which} ordering has no value for {unknown} of {values.shape[1]} systems"
    return f"the {which} ordering has all systems tied"


PAIRS_AT_ONCE = 1024
EXACT_IN_SINGLE = 2**24  # below it single precision counts exactly

TauVariant = Literal["a", "b"]
TauApVariant = Literal["a", "symmetric", "b"]
_TAU = {"a": "tau_a", "b": "tau_b"}
_TAU_AP = {"a": "tau_ap", "symmetric": "tau_ap_symmetric", "b": "tau_ap_b"}


def kendall_tau(first: ArrayLike, second: ArrayLike, *, variant: TauVariant = "b") -> float:
    """Return Kendall's tau of two vectors of values; NaN if it is not defined.

    Variant `a` divides by all pairs and is the mean over all ways to break ties; `b` divides by the geometric
    mean of the pairs that each vector orders (Kendall 1945), and is not defined if a vector orders none.
    """
    return rank_agreement(first, second, _named(_TAU, variant, "tau")).value


def tau_ap(reference: ArrayLike, other: ArrayLike, *, variant: TauApVariant = "a") -> float:
    """Return the AP correlation with a reference: tau with more weight on the top of `other`; NaN: undefined.

    Yilmaz, Aslam & Robertson (2008). Variant `a` is the mean over all ways to break ties, `symmetric` its
    mean over both directions, and `b` the symmetric one for two orderings with ties of which neither is the
    truth (Urbano & Marrero 2017). Without ties `b` equals `symmetric`.
    """
    return rank_agreement(reference, other, _named(_TAU_AP, variant, "tau_ap")).value


def _named(names: dict[str, str], variant: str, what: str) -> str:
    if not isinstance(variant, str) or variant not in names:
        raise UnknownNameError(f"variant of {what}:", variant, names)
    return names[variant]


@coefficient("tau_a")
def tau_a_matrix(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-a: (pairs in the same order - pairs in opposite order) / all pairs."""
    return _agreeing(first, second) / _pair_count(first)


@coefficient("tau_b", needs_spread=True)
def tau_b_matrix(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b: tau-a corrected for ties."""
    untied = [_pair_count(side) - _tied_pairs(side) for side in (first, second)]
    # The root of the product, not a product of roots: the root of an exact square is exact, so that identical
    # orderings give 1.
    return _agreeing(first, second) / np.sqrt(np.multiply.outer(*untied))


@coefficient("tau_ap", symmetric=False)
def tau_ap_matrix(reference: Floats, other: Floats) -> Floats:
    """tau_ap of Yilmaz et al.: tau with more weight at the top of the second ordering; ties averaged."""
    # The sum of C(i) / (i - 1) over ranks i is a sum over pairs with weight 1 / (i - 1) of the lower one.
    weight = _mean_weights(places(other))
    found = _weighted(reference, other, weight, _signs_of_both) / (reference.shape[1] - 1)
    return np.clip(found, -1.0, 1.0)  # sums of thirds and the like exceed the limits by rounding


@coefficient("tau_ap_symmetric")
def tau_ap_symmetric_matrix(first: Floats, second: Floats) -> Floats:
    """The mean of tau_ap with one and with the other as reference."""
    return (tau_ap_matrix(first, second) + tau_ap_matrix(second, first).T) / 2


@coefficient("tau_ap_b", needs_spread=True)
def tau_ap_b_matrix(first: Floats, second: Floats) -> Floats:
    """tau_ap,b of Urbano & Marrero: symmetric, pairs counted only across groups of tied systems."""
    return (_one_sided_b(first, second) + _one_sided_b(second, first).T) / 2


def _one_sided_b(reference: Floats, other: Floats) -> Floats:
    """Return 2 x mean - 1 of the share of systems above each one's group that the reference also has above.

    The mean is over the systems below the topmost group; a pair that the reference ties does not agree.
    """
    place = places(other)
    weight = np.where(place.first > 1, 1 / np.maximum(place.first - 1, 1), 0.0)
    below = np.count_nonzero(place.first > 1, axis=1)
    return np.clip(_weighted(reference, other, weight, _both_agree) * 2 / below - 1, -1.0, 1.0)


def _pair_count(steps: Floats) -> int:
    return steps.shape[1] * (steps.shape[1] - 1) // 2


def _tied_pairs(steps: Floats) -> Counts:
    """(ordering,): Count tied pairs: a system in a group of t has t - 1 ties, each counted from both ends."""
    return (places(steps).size - 1).sum(axis=1) // 2


def _mean_weights(place: RankPlaces) -> Floats:
    """(ordering, system): Return the mean of 1 / (rank - 1) over the ranks of its group; 0 in the topmost."""
    inverse = 1 / np.arange(1, place.first.shape[1] + 1)
    sums = np.concatenate([[0.0], np.cumsum(inverse)])  # sums[i]: of 1/1 to 1/i
    above = np.maximum(place.first - 2, 0)
    mean = (sums[place.last - 1] - sums[above]) / place.size
    return np.where(place.first > 1, mean, 0.0)


def _pair_blocks(systems: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yield all pairs of systems in blocks: the first and the second of each."""
    left, right = np.triu_indices(systems, 1)
    for start in range(0, len(left), PAIRS_AT_ONCE):
        rows = slice(start, start + PAIRS_AT_ONCE)
        yield left[rows], right[rows]


def _agreeing(first: Floats, second: Floats) -> Floats:
    """Count pairs in the same order minus pairs in opposite order, for every two orderings; exact."""
    kind: Any = np.float32 if PAIRS_AT_ONCE < EXACT_IN_SINGLE > first.shape[1] else np.float64
    # Places, not values: with small whole numbers, the sign of a difference is exact in any precision.
    ours, theirs = (places(side).first.T.astype(kind) for side in (first, second))
    total = np.zeros((len(first), len(second)))
    for left, right in _pair_blocks(first.shape[1]):
        total += np.sign(ours[right] - ours[left]).T @ np.sign(theirs[right] - theirs[left])
    return total


def _weighted(
    reference: Floats, other: Floats, weight: Floats, term: Callable[[Floats, Floats, Floats], Floats]
) -> Floats:
    """Sum a term over pairs, weighted by the system that `other` ranks lower."""
    ours, theirs = (np.ascontiguousarray(places(side).first.T, np.float64) for side in (reference, other))
    weights = np.ascontiguousarray(weight.T)
    total = np.zeros((len(reference), len(other)))
    for left, right in _pair_blocks(reference.shape[1]):
        signs = np.sign(theirs[right] - theirs[left])  # 1: the left one is better
        lower = np.where(signs > 0, weights[right], weights[left])
        total += term(np.sign(ours[right] - ours[left]), signs, lower)
    return total


def _signs_of_both(ours: Floats, theirs: Floats, weight: Floats) -> Floats:
    """Return +1 if both order a pair the same way, -1 if the opposite way, 0 if one ties it."""
    return ours.T @ (theirs * weight)


def _both_agree(ours: Floats, theirs: Floats, weight: Floats) -> Floats:
    """Return 1 if both order a pair the same way, else 0."""
    return (ours.T @ (theirs * weight) + np.abs(ours).T @ (np.abs(theirs) * weight)) / 2


NUMBERS_AT_ONCE = 2**21


def spearman(first: ArrayLike, second: ArrayLike) -> float:
    """Return Spearman's rho of two vectors of values; tied systems share the middle place; NaN: undefined."""
    return rank_agreement(first, second, "spearman").value


def pearson(first: ArrayLike, second: ArrayLike) -> float:
    """Return Pearson's r of two vectors of values; NaN if it is not defined."""
    return rank_agreement(first, second, "pearson").value


def rmse(first: ArrayLike, second: ArrayLike) -> float:
    """Return the root mean squared difference of two vectors of values: 0 is best; NaN: undefined."""
    return rank_agreement(first, second, "rmse").value


@coefficient("spearman", needs_spread=True)
def spearman_matrix(first: Floats, second: Floats) -> Floats:
    """Spearman's rho: Pearson's r of the places."""
    return pearson_matrix(places(first).mean, places(second).mean)


@coefficient("pearson", of_order=False, needs_spread=True)
def pearson_matrix(first: Floats, second: Floats) -> Floats:
    """Pearson's r of the values."""
    return np.clip(_unit_rows(first) @ _unit_rows(second).T, -1.0, 1.0)


def _unit_rows(values: Floats) -> Floats:
    """Center every row and scale it to length 1."""
    scaled = values / np.abs(values).max(axis=1, keepdims=True)  # squares of tiny values would vanish
    centered = scaled - scaled.mean(axis=1, keepdims=True)
    return centered / np.sqrt(np.sum(centered**2, axis=1, keepdims=True))


@coefficient("rmse", of_order=False, identical=0.0)
def rmse_matrix(first: Floats, second: Floats) -> Floats:
    """Root of the mean squared difference of the values."""
    found = np.empty((len(first), len(second)))
    step = max(1, NUMBERS_AT_ONCE // max(1, second.size))
    for start in range(0, len(first), step):
        # Not by a matrix product, which would lose small differences to rounding.
        gaps = first[start : start + step, np.newaxis] - second
        found[start : start + step] = np.sqrt(np.mean(gaps**2, axis=2))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class MostPlaces:
    """The largest number of places that any system moves, and the systems that move that far."""

    places: float  # NaN if an ordering lacks a value
    systems: tuple[int, ...]  # their numbers, from 0
    before: tuple[float, ...]  # their places in the first ordering, from 1
    after: tuple[float, ...]  # and in the second


def most_places(first: ArrayLike, second: ArrayLike) -> MostPlaces:
    """Return the largest number of places that a system moves between orderings, and which systems do.

    Tied systems share the middle of their places, so half places occur.
    """
    ours, theirs = two_vectors(first, second)
    if not (known_orderings(ours)[0] and known_orderings(theirs)[0] and ours.shape[1]):
        return MostPlaces(places=np.nan, systems=(), before=(), after=())
    before, after = (places(on_a_grid(side)).mean[0] for side in (ours, theirs))
    moved = np.abs(after - before)
    systems = (moved == moved.max()).nonzero()[0]
    return MostPlaces(
        places=float(moved.max()),
        systems=tuple(systems.tolist()),
        before=tuple(before[systems].tolist()),
        after=tuple(after[systems].tolist()),
    )


def swaps(first: ArrayLike, second: ArrayLike) -> NDArray[np.intp]:
    """Return pairs in opposite order, (pair, 2): the better one by the first ordering, then by the second.

    Pairs that an ordering ties, and systems without a value, do not count.
    """
    ours, theirs = two_vectors(first, second)
    known = (np.isfinite(ours) & np.isfinite(theirs))[0].nonzero()[0]
    before, after = (on_a_grid(side[:, known])[0] for side in (ours, theirs))
    opposite = (before[:, np.newaxis] > before) & (after[:, np.newaxis] < after)
    return known[np.argwhere(opposite)]
