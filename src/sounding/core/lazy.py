"""Packages that are slow to load and seldom needed: each is loaded when something of it is first used.

So they are imported at the top of a file as any other, and a command that draws nothing does without them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__all__ = ["alt", "polars", "special", "stats"]


class LazyModule:
    """A module that is imported when one of its names is asked for."""

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
