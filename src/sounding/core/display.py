"""Show results in notebooks with the same tables that the commands print, and a chart."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """A result that a notebook shows as tables and a chart, built by `display.html` of its folder."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # Imported by name and only on display, so that a result does not depend on its tables and charts.
        display = import_module(f"{type(self).__module__.rpartition('.')[0]}.display")
        shown: str = display.html(self)
        return shown
