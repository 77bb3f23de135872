"""Results as a notebook shows them: the tables that their commands print, and a chart below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from sounding.calibration.calibrate import Calibration
from sounding.collection.audit import Audit
from sounding.compare.comparison import Comparison
from sounding.depth.stability import Stability
from sounding.errors import MissingPartError
from sounding.report.html_tables import html_table, ungrouped
from sounding.report.tables import Table
from sounding.scores import Scores

if TYPE_CHECKING:
    from sounding.report.charts.style import Chart

ROWS = 20  # of each table


def html_of(result: Any) -> str:
    """The tables of a result, and its charts where the packages that draw them are installed."""
    tables = (f"{html_table(table)}\n{_notes(table.notes)}" for table in map(_first_rows, _tables(result)))
    return "\n".join([*tables, *_drawings(result)])


def _tables(result: Any) -> Iterator[Table]:
    from sounding.collection.verdict import verdict
    from sounding.report import (
        audit_tables,
        calibration_tables,
        comparison_tables,
        score_tables,
        stability_tables,
    )

    if isinstance(result, Scores):
        yield score_tables.wide_table(result, score_tables.Layout())
    elif isinstance(result, Comparison):
        yield comparison_tables.people_pairs(result)
    elif isinstance(result, Stability):
        yield ungrouped(stability_tables.people_table(result, result.findings()))
    elif isinstance(result, Audit):
        yield audit_tables.verdict_table(result, verdict(result))
    elif isinstance(result, Calibration):
        yield from map(ungrouped, calibration_tables.calibration_tables(result))


def _charts(result: Any) -> Iterator[Chart]:
    from sounding.report import audit_charts, audit_section, calibration_tables, charts, score_tables
    from sounding.report.charts.comparison import chart_of

    if isinstance(result, Scores):
        frame = score_tables.board_frame(result)
        if frame.height:
            yield charts.values_with_bounds(frame)
    elif isinstance(result, Comparison):
        yield chart_of(result)
    elif isinstance(result, Stability):
        named = ", ".join(dict.fromkeys(str(one.reference) for one in result.measures))
        yield charts.stability_over_k(result.frame, reference=named, pool_depth=result.pool.depth or None)
    elif isinstance(result, Audit):
        yield dict(audit_charts.audit_charts(result, audit_section.Extras()))["judged-by-depth"]()
    elif isinstance(result, Calibration):
        rows = calibration_tables.reliability_rows(result)
        if rows.height:
            yield charts.reliability_diagram(rows)


def _drawings(result: Any) -> Iterator[str]:
    from sounding.report.charts.save import svg_of

    try:
        for chart in _charts(result):
            yield f'<div style="background:white;overflow-x:auto">{svg_of(chart)}</div>'
    except MissingPartError:
        return


def _first_rows(table: Table) -> Table:
    if table.height <= ROWS:
        return table
    columns = [replace(column, cells=column.cells[:ROWS]) for column in table.columns]
    return replace(table, columns=columns, notes=[f"{ROWS} of {table.height:,} rows.", *table.notes])


def _notes(notes: Sequence[str]) -> str:
    return "".join(f"<p>{escape(note)}</p>" for note in notes if note)
