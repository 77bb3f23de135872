"""A history as a notebook shows it."""

from __future__ import annotations

from sounding.render.html import notebook_html
from sounding.render.tables import with_notes
from sounding.track import charts, sentences, tables
from sounding.track.result import DEFAULT_PROCEDURE, History


def html(history: History) -> str:
    """Return the headline, table and notes of the command, and its chart."""
    found, alpha = history.changes(), DEFAULT_PROCEDURE.alpha
    table = tables.change_table(history, found, DEFAULT_PROCEDURE)
    notes = [sentences.headline(history, found, alpha), *sentences.notes(history, found, alpha)]
    return notebook_html([with_notes(table, notes)], [charts.chart_of(history, found)])
