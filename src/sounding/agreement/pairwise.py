"""Coefficients that count pairs of systems in the same and in opposite order: Kendall's tau and tau_ap.

An ordering is a vector of signs, one a pair of systems. A matrix of coefficients is then a product of two
matrices, taken over some thousand pairs at a time so that memory stays small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sounding.agreement.orders import Counts, Floats, Places, places
from sounding.agreement.registry import coefficient, rank_agreement
from sounding.errors import UnknownNameError

PAIRS_AT_ONCE = 1024
EXACT_IN_SINGLE = 2**24  # below it single precision counts exactly

TauVariant = Literal["a", "b"]
TauApVariant = Literal["a", "symmetric", "b"]
_TAU = {"a": "tau_a", "b": "tau_b"}
_TAU_AP = {"a": "tau_ap", "symmetric": "tau_ap_symmetric", "b": "tau_ap_b"}


def kendall_tau(first: ArrayLike, second: ArrayLike, *, variant: TauVariant = "b") -> float:
    """Kendall's tau of two vectors of values; NaN where it is not defined.

    Variant `a` divides by all pairs and is the mean over all ways to break ties; `b` divides by the
    geometric mean of the pairs that each vector has in some order (Kendall 1945), and is not defined where
    a vector has none.
    """
    return rank_agreement(first, second, _named(_TAU, variant, "tau")).value


def tau_ap(reference: ArrayLike, other: ArrayLike, *, variant: TauApVariant = "a") -> float:
    """AP correlation of an ordering with a reference: tau that weighs the top of `other` more; NaN: none.

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
    """Kendall's tau-a: pairs in the same order less pairs in opposite order, of all pairs."""
    return _agreeing(first, second) / _pair_count(first)


@coefficient("tau_b", needs_spread=True)
def tau_b_matrix(first: Floats, second: Floats) -> Floats:
    """Kendall's tau-b: the same, of the pairs that do not tie."""
    untied = [_pair_count(side) - _tied_pairs(side) for side in (first, second)]
    # One root of the product: the root of an exact square is exact, so that identical orderings give 1.
    return _agreeing(first, second) / np.sqrt(np.multiply.outer(*untied))


@coefficient("tau_ap", symmetric=False)
def tau_ap_matrix(reference: Floats, other: Floats) -> Floats:
    """tau_ap of Yilmaz et al.: tau with more weight at the top of the second ordering; ties averaged."""
    # C(i) / (i - 1), summed over ranks i, is a sum over pairs with the weight 1 / (i - 1) of the lower one.
    weight = _mean_weights(places(other))
    return _limited(_weighted(reference, other, weight, _signs_of_both) / (reference.shape[1] - 1))


@coefficient("tau_ap_symmetric")
def tau_ap_symmetric_matrix(first: Floats, second: Floats) -> Floats:
    """The mean of tau_ap with one and with the other as reference."""
    return (tau_ap_matrix(first, second) + tau_ap_matrix(second, first).T) / 2


@coefficient("tau_ap_b", needs_spread=True)
def tau_ap_b_matrix(first: Floats, second: Floats) -> Floats:
    """tau_ap,b of Urbano & Marrero: symmetric, pairs counted only across groups of tied systems."""
    return (_one_sided_b(first, second) + _one_sided_b(second, first).T) / 2


def _one_sided_b(reference: Floats, other: Floats) -> Floats:
    """Share of systems above each one's group that the reference has above it too, as 2 x mean - 1.

    The mean is over the systems below the topmost group; a pair that the reference ties is not agreed on.
    """
    place = places(other)
    weight = np.where(place.first > 1, 1 / np.maximum(place.first - 1, 1), 0.0)
    below = np.count_nonzero(place.first > 1, axis=1)
    return _limited(_weighted(reference, other, weight, _both_agree) * 2 / below - 1)


def _limited(values: Floats) -> Floats:
    """From -1 to 1: sums of thirds and the like go beyond by their rounding."""
    return np.clip(values, -1.0, 1.0)


def _pair_count(steps: Floats) -> int:
    return steps.shape[1] * (steps.shape[1] - 1) // 2


def _tied_pairs(steps: Floats) -> Counts:
    """(ordering,): a system in a group of t has t - 1 ties, and each is counted from both ends."""
    return (places(steps).size - 1).sum(axis=1) // 2


def _mean_weights(place: Places) -> Floats:
    """(ordering, system): 1 / (rank - 1), as the mean over the ranks of its group; 0 in the topmost."""
    inverse = 1 / np.arange(1, place.first.shape[1] + 1)
    sums = np.concatenate([[0.0], np.cumsum(inverse)])  # sums[i]: of 1/1 to 1/i
    above = np.maximum(place.first - 2, 0)
    mean = (sums[place.last - 1] - sums[above]) / place.size
    return np.where(place.first > 1, mean, 0.0)


def _pair_blocks(systems: int) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """All pairs of systems, some at a time: the one and the other of each."""
    left, right = np.triu_indices(systems, 1)
    for start in range(0, len(left), PAIRS_AT_ONCE):
        rows = slice(start, start + PAIRS_AT_ONCE)
        yield left[rows], right[rows]


def _agreeing(first: Floats, second: Floats) -> Floats:
    """Pairs in the same order less pairs in opposite order, for every two orderings; exact."""
    kind: Any = np.float32 if PAIRS_AT_ONCE < EXACT_IN_SINGLE > first.shape[1] else np.float64
    # Places, not values: small whole numbers, of which the sign of a difference is exact in any precision.
    ours, theirs = (places(side).first.T.astype(kind) for side in (first, second))
    total = np.zeros((len(first), len(second)))
    for left, right in _pair_blocks(first.shape[1]):
        total += np.sign(ours[right] - ours[left]).T @ np.sign(theirs[right] - theirs[left])
    return total


def _weighted(
    reference: Floats, other: Floats, weight: Floats, term: Callable[[Floats, Floats, Floats], Floats]
) -> Floats:
    """The sum over pairs of a term, weighted by the system that `other` has lower."""
    ours, theirs = (np.ascontiguousarray(places(side).first.T, np.float64) for side in (reference, other))
    weights = np.ascontiguousarray(weight.T)
    total = np.zeros((len(reference), len(other)))
    for left, right in _pair_blocks(reference.shape[1]):
        signs = np.sign(theirs[right] - theirs[left])  # 1: the left one is better
        lower = np.where(signs > 0, weights[right], weights[left])
        total += term(np.sign(ours[right] - ours[left]), signs, lower)
    return total


def _signs_of_both(ours: Floats, theirs: Floats, weight: Floats) -> Floats:
    """+1 where both have a pair in the same order, -1 where in opposite order, 0 where one ties it."""
    return ours.T @ (theirs * weight)


def _both_agree(ours: Floats, theirs: Floats, weight: Floats) -> Floats:
    """1 where both have a pair in the same order, else 0."""
    return (ours.T @ (theirs * weight) + np.abs(ours).T @ (np.abs(theirs) * weight)) / 2
