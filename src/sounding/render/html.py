"""Write tables as HTML for the report and for notebooks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from html import escape

from sounding.core.errors import MissingPartError
from sounding.render.save import svg_of
from sounding.render.style import Chart
from sounding.render.tables import Column, Table, shown_cell, stands_left

Explain = Callable[[str], str | None]

NOTEBOOK_ROWS = 20  # rows of each table in a notebook


def ungrouped(table: Table) -> Table:
    """Return the table with a heading of its own for every column, even those joined in a terminal."""
    return replace(table, columns=[replace(column, joined=False) for column in table.columns])


SHORT = 19  # characters that are not broken into lines, such as an interval


def html_table(table: Table, *, explain: Explain | None = None, values: bool = False) -> str:
    """Return a table as HTML: text aligned left, numbers right, the best in bold.

    Joined columns share a heading. `explain` returns a column's tooltip. `values` adds each number with all
    its digits, so that a script can sort the rows.
    """
    left = [stands_left(column) for column in table.columns]  # reads a whole column, so it is done once
    body = "".join(f"<tr>{_row(table, row, left, values)}</tr>\n" for row in range(table.height))
    caption = f"<caption>{escape(table.title)}</caption>\n" if table.title else ""
    head = "".join(f"<tr>{row}</tr>\n" for row in _heading(table.columns, explain))
    return f"<table>\n{caption}<thead>\n{head}</thead>\n<tbody>\n{body}</tbody>\n</table>"


def _row(table: Table, row: int, left: Sequence[bool], values: bool) -> str:
    cells = []
    for place, column in enumerate(table.columns):
        cell = column.cells[row]
        text = escape(shown_cell(cell, column))
        kind = (
            ' class="number"' if not left[place] else ' class="short"' if place and len(text) <= SHORT else ""
        )
        if values and isinstance(cell, float) and cell == cell:
            kind += f' data-value="{cell:.6g}"'
        shown = f"<strong>{text}</strong>" if row in column.best else text
        cells.append(f'<th scope="row"{kind}>{shown}</th>' if place == 0 else f"<td{kind}>{shown}</td>")
    return "".join(cells)


def _heading(columns: Sequence[Column], explain: Explain | None) -> Iterator[str]:
    """Yield the rows of a table's head: two if columns are joined."""
    groups = _groups(columns)
    if len(groups) == len(columns):
        yield "".join(_head(place, column, explain) for place, column in enumerate(columns))
        return
    yield "".join(
        _spanning(columns[group[0]], len(group), explain)
        if len(group) > 1
        else _head(group[0], columns[group[0]], explain, more=" rowspan=2")
        for group in groups
    )
    yield "".join(
        _head(place, columns[place], explain, name="value" if number == 0 else None)
        for group in groups
        if len(group) > 1
        for number, place in enumerate(group)
    )


def _groups(columns: Sequence[Column]) -> list[list[int]]:
    """Return the indices of the columns, with joined ones in one list."""
    groups: list[list[int]] = []
    for place, column in enumerate(columns):
        if column.joined and groups:
            groups[-1].append(place)
        else:
            groups.append([place])
    return groups


def _spanning(column: Column, count: int, explain: Explain | None) -> str:
    return f'<th scope="colgroup" colspan={count}{_title(column.name, explain)}>{escape(column.name)}</th>'


def _head(
    place: int, column: Column, explain: Explain | None, *, name: str | None = None, more: str = ""
) -> str:
    shown = column.name if name is None else name
    kind = "" if stands_left(column) else ' class="number"'
    attributes = f' data-column="{place}"{_title(shown, explain)}'
    return f'<th scope="col"{kind}{more}{attributes}>{escape(shown.strip())}</th>'


def _title(name: str, explain: Explain | None) -> str:
    meaning = None if explain is None else explain(name)
    return "" if meaning is None else f' title="{escape(meaning)}"'


def notebook_html(tables: Iterable[Table], charts: Iterable[Chart]) -> str:
    """Return tables as HTML, with charts if the packages that draw them are installed."""
    return "\n".join([*map(_notebook_table, tables), *_drawings(charts)])


def _notebook_table(table: Table) -> str:
    if table.height > NOTEBOOK_ROWS:
        columns = [replace(column, cells=column.cells[:NOTEBOOK_ROWS]) for column in table.columns]
        notes = [f"{NOTEBOOK_ROWS} of {table.height:,} rows.", *table.notes]
        table = replace(table, columns=columns, notes=notes)
    notes = [f"<p>{escape(note)}</p>" for note in (table.summary, *table.notes) if note]
    return f"{html_table(table)}\n{''.join(notes)}"


def _drawings(charts: Iterable[Chart]) -> Iterator[str]:
    try:
        for chart in charts:
            yield f'<div style="background:white;overflow-x:auto">{svg_of(chart)}</div>'
    except MissingPartError:
        return
