"""What changes from one ordering to another: the system that moves most, and the pairs that swap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sounding.agreement.orders import known_orderings, on_a_grid, places, two_vectors


@dataclass(frozen=True, slots=True, kw_only=True)
class MostPlaces:
    """The most places that any system moves, and the systems that move so far."""

    places: float  # NaN where an ordering lacks a value
    systems: tuple[int, ...]  # their numbers, from 0
    before: tuple[float, ...]  # their places in the first ordering, from 1
    after: tuple[float, ...]  # and in the second


def most_places(first: ArrayLike, second: ArrayLike) -> MostPlaces:
    """The most places that a system moves from one ordering to the other, and which systems do.

    Systems that tie share the middle of their places, so half places occur.
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
    """Pairs in opposite order, (pair, 2): the better one of the first ordering, then that of the second.

    Pairs that one of the orderings ties, and systems without a value, do not count.
    """
    ours, theirs = two_vectors(first, second)
    known = (np.isfinite(ours) & np.isfinite(theirs))[0].nonzero()[0]
    before, after = (on_a_grid(side[:, known])[0] for side in (ours, theirs))
    opposite = (before[:, np.newaxis] > before) & (after[:, np.newaxis] < after)
    return known[np.argwhere(opposite)]
