"""Packages that are slow to import and rarely needed; each is imported when it is first used.

They can be named at the top of a file like any other package, and a command that draws nothing never loads
them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["alt", "polars", "special", "stats"]


class LazyModule:
    """A stand-in for a module that imports it when an attribute is first read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)


if TYPE_CHECKING:
    import altair as alt
    import polars
    from scipy import special, stats
else:
    alt = LazyModule("altair")
    polars = LazyModule("polars")
    special = LazyModule("scipy.special")
    stats = LazyModule("scipy.stats")
