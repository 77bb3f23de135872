"""Scores as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sounding.evaluate import charts, sentences, tables
from sounding.evaluate.result import Scores
from sounding.render.html import notebook_html
from sounding.render.tables import with_notes

if TYPE_CHECKING:
    from sounding.render.style import Chart


def html(scores: Scores) -> str:
    """Return the headline, table and notes of the command, and every run's value between its bounds."""
    table = tables.wide_table(scores, tables.Layout(), sentences.headline(scores))
    return notebook_html([with_notes(table, sentences.notes_on(scores))], _charts(scores))


def _charts(scores: Scores) -> Iterator[Chart]:
    frame = tables.board_frame(scores)
    if frame.height:
        yield charts.values_with_bounds(frame)
