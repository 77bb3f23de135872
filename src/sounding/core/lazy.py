"""Packages that are slow to import and rarely needed, and cells of a table that are: made on first use.

Packages can be named at the top of a file like any other package, and a command that draws nothing never
loads them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeVar, overload

__all__ = ["LazyList", "alt", "polars", "special", "stats"]

Item = TypeVar("Item")


class LazyModule:
    """A stand-in for a module that imports it when an attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


class LazyList(Sequence[Item]):
    """A list of a known length that is computed when an item is first read."""

    def __init__(self, length: int, compute: Callable[[], Sequence[Item]]) -> None:
        self._length, self._compute = length, compute

    @cached_property
    def _items(self) -> Sequence[Item]:
        return self._compute()

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, place: int) -> Item: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Item]: ...
    def __getitem__(self, place: int | slice) -> Item | Sequence[Item]:
        return self._items[place]

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)


if TYPE_CHECKING:
    import altair as alt
    import polars
    from scipy import special, stats
else:
    alt = LazyModule("altair")
    polars = LazyModule("polars")
    special = LazyModule("scipy.special")
    stats = LazyModule("scipy.stats")
