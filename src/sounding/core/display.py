"""How results show themselves in a notebook: as the tables that the commands print, and a chart."""

from __future__ import annotations

from importlib import import_module


class Displayed:
    """A result that a notebook shows as tables and a chart."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        # By name: a result belongs to a layer that knows nothing of reports.
        shown: str = import_module("sounding.report.notebook").html_of(self)
        return shown
