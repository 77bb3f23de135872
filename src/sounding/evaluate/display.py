"""Scores as a notebook shows them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sounding.evaluate import charts, tables
from sounding.evaluate.result import Scores
from sounding.render.html import notebook_html

if TYPE_CHECKING:
    from sounding.render.style import Chart


def html(scores: Scores) -> str:
    """The table of the command, and every run's value between its bounds."""
    return notebook_html([tables.wide_table(scores, tables.Layout())], _charts(scores))


def _charts(scores: Scores) -> Iterator[Chart]:
    frame = tables.board_frame(scores)
    if frame.height:
        yield charts.values_with_bounds(frame)
