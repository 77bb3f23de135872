"""Stability over depth as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from sounding.depth.charts import stability_over_k
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import cautions
from sounding.depth.tables import people_table
from sounding.render.html import notebook_html, ungrouped

if TYPE_CHECKING:
    from sounding.render.style import Chart


def html(study: DepthStudy) -> str:
    """Return the measures by depth, and a figure of how stable they are."""
    table = people_table(study)
    notes = [*table.notes, *cautions(study.findings())]
    return notebook_html([ungrouped(replace(table, title=study.headline(), notes=notes))], _charts(study))


def _charts(study: DepthStudy) -> Iterator[Chart]:
    named = ", ".join(dict.fromkeys(str(one.reference) for one in study.measures))
    yield stability_over_k(study.frame, reference=named, pool_depth=study.pool.depth or None)
