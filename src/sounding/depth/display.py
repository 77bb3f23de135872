"""Stability over depth as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sounding.depth.charts import stability_over_k
from sounding.depth.result import DepthStudy
from sounding.depth.tables import people_table
from sounding.render.html import notebook_html, ungrouped

if TYPE_CHECKING:
    from sounding.render.style import Chart


def html(study: DepthStudy) -> str:
    """The measures by depth, and how stable they are drawn."""
    return notebook_html([ungrouped(people_table(study, study.findings()))], _charts(study))


def _charts(study: DepthStudy) -> Iterator[Chart]:
    named = ", ".join(dict.fromkeys(str(one.reference) for one in study.measures))
    yield stability_over_k(study.frame, reference=named, pool_depth=study.pool.depth or None)
