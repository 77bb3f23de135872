"""Results as a notebook shows them: tables, and charts below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING

from sounding.core.errors import MissingPartError
from sounding.render.html import html_table
from sounding.render.save import svg_of
from sounding.render.tables import Table

if TYPE_CHECKING:
    from sounding.render.style import Chart

ROWS = 20  # of each table


def notebook_html(tables: Iterable[Table], charts: Iterable[Chart]) -> str:
    """Tables, and charts where the packages that draw them are installed."""
    return "\n".join([*map(_table, tables), *_drawings(charts)])


def _table(table: Table) -> str:
    if table.height > ROWS:
        columns = [replace(column, cells=column.cells[:ROWS]) for column in table.columns]
        notes = [f"{ROWS} of {table.height:,} rows.", *table.notes]
        table = replace(table, columns=columns, notes=notes)
    notes = [f"<p>{escape(note)}</p>" for note in table.notes if note]
    return f"{html_table(table)}\n{''.join(notes)}"


def _drawings(charts: Iterable[Chart]) -> Iterator[str]:
    try:
        for chart in charts:
            yield f'<div style="background:white;overflow-x:auto">{svg_of(chart)}</div>'
    except MissingPartError:
        return
