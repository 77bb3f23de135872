"""Rank-biased overlap: how much two lists share at every depth, with most weight on the top.

Webber, Moffat & Zobel (2010), with their treatment of ties and the two of Corsi & Urbano (2024).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sounding.core.errors import DataError, UnknownNameError
from sounding.statistics.rank_correlation import (
    PERSISTENCE,
    Counts,
    Floats,
    RankPlaces,
    check_persistence,
    coefficient,
    known_orderings,
    on_a_grid,
    places,
    two_vectors,
)

Ties = Literal["a", "b", "w"]
NEVER = np.iinfo(np.int64).max // 2  # the place of an item that a list does not have


@dataclass(frozen=True, slots=True, kw_only=True)
class RankBiasedOverlap:
    """The RBO of two lists: an estimate, and its limits whatever follows the lists."""

    extrapolated: float  # the observed agreement continues
    minimum: float  # nothing more is shared
    maximum: float  # everything that can be shared is
    p: float
    ties: str

    @property
    def residual(self) -> float:
        """The difference between maximum and minimum."""
        return self.maximum - self.minimum


def rbo(
    first: Sequence[Any], second: Sequence[Any], *, p: float = PERSISTENCE, ties: Ties = "a"
) -> RankBiasedOverlap:
    """Return the rank-biased overlap of two lists, best item first; a set among the items holds ties.

    The lists may have different lengths and items. Ties `w`: tied items share the first of their ranks
    (Webber et al.); `a`: the mean over all ways to break ties; `b`: corrected for ties, so that a list agrees
    fully with itself (Corsi & Urbano).
    """
    _check(p, ties)
    ours, theirs = _item_places(first, "first"), _item_places(second, "second")
    return _overlap(ours, theirs, p, ties)


def rbo_of_values(
    first: ArrayLike, second: ArrayLike, *, p: float = PERSISTENCE, ties: Ties = "a"
) -> RankBiasedOverlap:
    """Return the rank-biased overlap of two vectors of values of the same systems; NaN: undefined."""
    _check(p, ties)
    ours, theirs = two_vectors(first, second)
    if not (ours.shape[1] and known_orderings(ours)[0] and known_orderings(theirs)[0]):
        return RankBiasedOverlap(extrapolated=np.nan, minimum=np.nan, maximum=np.nan, p=p, ties=ties)
    return _overlap(_system_places(ours), _system_places(theirs), p, ties)


def _check(p: float, ties: str) -> None:
    check_persistence(p)
    if ties not in _DENOMINATORS:
        raise UnknownNameError("treatment of ties in RBO:", ties, _DENOMINATORS)


_Stretches = dict[Hashable, tuple[int, int]]  # item -> first and last of the ranks that it shares


def _system_places(values: Floats) -> _Stretches:
    """Return the places of systems in one row, best first as in a list."""
    first, last = (ends[0].tolist() for ends in places(on_a_grid(values)))
    return {system: (first[system], last[system]) for system in np.argsort(first, kind="stable").tolist()}


def _item_places(items: Sequence[Any], which: str) -> _Stretches:
    found: _Stretches = {}
    if not isinstance(items, Iterable):
        raise DataError(f"the {which} list is {items!r}; expected a list of items, best first")
    rank = 1
    for item in items:
        group = list(item) if isinstance(item, set | frozenset) else [item]
        for tied in group:
            if not isinstance(tied, Hashable):
                raise DataError(f"the {which} list has {tied!r}; expected items such as texts or numbers")
            if tied in found:
                raise DataError(f"the {which} list has {tied!r} twice; expected every item once")
            found[tied] = (rank, rank + len(group) - 1)
        rank += len(group)
    if not found:
        raise DataError(f"the {which} list is empty; expected at least one item")
    return found


class _Sides(NamedTuple):
    """Both lists over all items: the shorter, and the longer in its own order before the rest."""

    short: RankPlaces  # (item,) each
    long: RankPlaces
    short_length: int
    long_length: int
    only_long: Counts  # items that only the longer list has, in its order


def _sides(first: _Stretches, second: _Stretches) -> _Sides:
    short, long = (first, second) if len(first) <= len(second) else (second, first)
    items = [*long, *(item for item in short if item not in long)]
    stretches = [
        np.array([side.get(item, (NEVER, NEVER)) for item in items], np.int64) for side in (short, long)
    ]
    only = np.array([n for n, item in enumerate(items) if item not in short], np.int64)
    tables = [RankPlaces(table[:, 0], table[:, 1]) for table in stretches]
    return _Sides(tables[0], tables[1], len(short), len(long), only)


def _present(place: RankPlaces, depth: int, ties: str) -> Floats:
    """Return how much of every item is among the first `depth`: a share if ties cross the limit."""
    if ties == "w":
        return (place.first <= depth).astype(np.float64)
    return np.clip((depth + 1 - place.first) / place.size, 0.0, 1.0)


# The divisor of the overlap at a depth, from what the shorter and the longer list have there.
_DENOMINATORS: dict[str, Callable[[int, Floats, Floats], Any]] = {
    "a": lambda depth, short, long: depth,
    "b": lambda depth, short, long: np.sqrt(np.sum(short**2, axis=-1) * np.sum(long**2, axis=-1)),
    "w": lambda depth, short, long: (short.sum(axis=-1) + long.sum(axis=-1)) / 2,
}


def _overlap(first: _Stretches, second: _Stretches, p: float, ties: str) -> RankBiasedOverlap:
    """Compute all three values, from the agreement at every depth to the longer list's end and beyond."""
    sides = _sides(first, second)
    low, high, like = np.empty((3, sides.long_length))
    shared = last_agreement = 0.0
    for depth in range(1, sides.long_length + 1):
        short, long = _present(sides.short, depth, ties), _present(sides.long, depth, ties)
        shared = float(short @ long)
        unseen = max(0, depth - sides.short_length)  # unseen items of the shorter list
        whole = np.concatenate([short, np.ones(unseen)])
        size = _DENOMINATORS[ties](depth, whole, long)
        if not unseen:
            low[depth - 1] = high[depth - 1] = like[depth - 1] = last_agreement = shared / size
            continue
        rest = long[sides.only_long]
        most = float(rest[:unseen].sum())
        likely = unseen * last_agreement * float(rest[rest > 0].mean())
        low[depth - 1], high[depth - 1] = shared / size, (shared + most) / size
        like[depth - 1] = (shared + likely) / size
    expected = shared + (sides.long_length - sides.short_length) * last_agreement
    depths = np.arange(1, sides.long_length + 1)
    ends = (
        expected / sides.long_length * p ** (sides.long_length + 1) / (1 - p),
        _tail_unshared(shared, depths, p),
        _tail_shared(shared, sides, p),
    )
    values = [
        (1 - p) / p * (float(agreement @ p**depths) + end)
        for agreement, end in zip((like, low, high), ends, strict=True)
    ]
    return RankBiasedOverlap(extrapolated=values[0], minimum=values[1], maximum=values[2], p=p, ties=ties)


def _tail_unshared(shared: float, depths: Counts, p: float) -> float:
    """Sum shared / d x p^d below both lists: the logarithm's series without its first terms."""
    return shared * max(0.0, -float(np.log1p(-p)) - float(np.sum(p**depths / depths)))


def _tail_shared(shared: float, sides: _Sides, p: float) -> float:
    """Return the same if each list continues with the other's items: two more are shared per depth."""
    both = sides.long_length + sides.short_length
    full = round(both - shared)  # from here on everything is shared
    depths = np.arange(sides.long_length + 1, full + 1)
    return float(np.sum((2 * depths - both + shared) / depths * p**depths)) + p ** (full + 1) / (1 - p)


def _systems_matrix(first: Floats, second: Floats, p: float, ties: str) -> Floats:
    """Return extrapolated RBO of orderings of the same systems; below the last, the agreement is 1."""
    ours, theirs = places(first), places(second)
    systems = first.shape[1]
    found = np.full((len(first), len(second)), p**systems)
    for depth in range(1, systems + 1):
        mine, yours = _present(ours, depth, ties), _present(theirs, depth, ties)
        size = _DENOMINATORS[ties](depth, mine[:, np.newaxis], yours)
        shared = mine @ yours.T
        shared *= (1 - p) * p ** (depth - 1) / size
        found += shared
    return found


@coefficient("rbo", takes_p=True)
def rbo_a_matrix(first: Floats, second: Floats, *, p: float) -> Floats:
    """Rank-biased overlap, extrapolated; the mean over all ways to break ties (RBO^a)."""
    return _systems_matrix(first, second, p, "a")


@coefficient("rbo_b", takes_p=True)
def rbo_b_matrix(first: Floats, second: Floats, *, p: float) -> Floats:
    """Rank-biased overlap, extrapolated; corrected for ties (RBO^b)."""
    return _systems_matrix(first, second, p, "b")


@coefficient("rbo_w", takes_p=True)
def rbo_w_matrix(first: Floats, second: Floats, *, p: float) -> Floats:
    """Rank-biased overlap, extrapolated; tied systems share the first of their ranks (RBO^w)."""
    return _systems_matrix(first, second, p, "w")
