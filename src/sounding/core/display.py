"""How results show themselves in a notebook: as the tables that the commands print, and a chart."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """A result that a notebook shows as its folder's `display.html` has it: tables and a chart."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # By name, when it is shown: a result knows nothing of the tables and charts that are made from it.
        display = import_module(f"{type(self).__module__.rpartition('.')[0]}.display")
        shown: str = display.html(self)
        return shown
