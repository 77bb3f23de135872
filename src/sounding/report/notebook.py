"""Results as a notebook shows them: the tables that their commands print, and a chart below."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from sounding.audit.result import Audit
from sounding.calibrate.result import Calibration
from sounding.compare.result import Comparison
from sounding.core.errors import MissingPartError
from sounding.depth.result import DepthStudy
from sounding.evaluate.result import Scores
from sounding.render.html import html_table, ungrouped
from sounding.render.tables import Table

if TYPE_CHECKING:
    from sounding.render.style import Chart

ROWS = 20  # of each table


def html_of(result: Any) -> str:
    """The tables of a result, and its charts where the packages that draw them are installed."""
    tables = (f"{html_table(table)}\n{_notes(table.notes)}" for table in map(_first_rows, _tables(result)))
    return "\n".join([*tables, *_drawings(result)])


def _tables(result: Any) -> Iterator[Table]:
    from sounding.audit import tables as audit_tables
    from sounding.calibrate import tables as calibration_tables
    from sounding.compare import tables as comparison_tables
    from sounding.depth import tables as stability_tables
    from sounding.evaluate import tables as score_tables

    if isinstance(result, Scores):
        yield score_tables.wide_table(result, score_tables.Layout())
    elif isinstance(result, Comparison):
        yield comparison_tables.people_pairs(result)
    elif isinstance(result, DepthStudy):
        yield ungrouped(stability_tables.people_table(result, result.findings()))
    elif isinstance(result, Audit):
        yield audit_tables.verdict_table(result, result.verdict())
    elif isinstance(result, Calibration):
        yield from map(ungrouped, calibration_tables.calibration_tables(result))


def _charts(result: Any) -> Iterator[Chart]:
    from sounding.audit import charts as audit_charts
    from sounding.audit.tables import Extras
    from sounding.calibrate import charts as calibrate_charts
    from sounding.calibrate import tables as calibration_tables
    from sounding.compare.charts import chart_of
    from sounding.depth import charts as depth_charts
    from sounding.evaluate import charts as evaluate_charts
    from sounding.evaluate import tables as score_tables

    if isinstance(result, Scores):
        frame = score_tables.board_frame(result)
        if frame.height:
            yield evaluate_charts.values_with_bounds(frame)
    elif isinstance(result, Comparison):
        yield chart_of(result)
    elif isinstance(result, DepthStudy):
        named = ", ".join(dict.fromkeys(str(one.reference) for one in result.measures))
        yield depth_charts.stability_over_k(
            result.frame, reference=named, pool_depth=result.pool.depth or None
        )
    elif isinstance(result, Audit):
        yield dict(audit_charts.audit_charts(result, Extras()))["judged-by-depth"]()
    elif isinstance(result, Calibration):
        rows = calibration_tables.reliability_rows(result)
        if rows.height:
            yield calibrate_charts.reliability_diagram(rows)


def _drawings(result: Any) -> Iterator[str]:
    from sounding.render.save import svg_of

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
