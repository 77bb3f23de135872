"""A comparison as a notebook shows it."""

from __future__ import annotations

from sounding.compare import headlines, sentences
from sounding.compare.charts import chart_of
from sounding.compare.result import Comparison
from sounding.compare.tables import people_pairs
from sounding.render.html import notebook_html
from sounding.render.tables import shown_notes, with_notes


def html(comparison: Comparison) -> str:
    """The pairs of interest, and the differences drawn."""
    table = people_pairs(comparison, title=headlines.pairs_headline(comparison))
    notes = shown_notes(sentences.notes(comparison), all_notes=False)
    return notebook_html([with_notes(table, notes)], map(chart_of, [comparison]))
