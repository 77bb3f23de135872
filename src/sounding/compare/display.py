"""A comparison as a notebook shows it."""

from __future__ import annotations

from sounding.compare.charts import chart_of
from sounding.compare.result import Comparison
from sounding.compare.tables import people_pairs
from sounding.render.html import notebook_html


def html(comparison: Comparison) -> str:
    """The pairs of interest, and the differences drawn."""
    return notebook_html([people_pairs(comparison)], map(chart_of, [comparison]))
