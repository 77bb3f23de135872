"""A calibration as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sounding.calibrate.charts import reliability_diagram
from sounding.calibrate.result import Calibration
from sounding.calibrate.sentences import notes
from sounding.calibrate.tables import calibration_tables, reliability_rows
from sounding.render.html import notebook_html, ungrouped
from sounding.render.tables import with_notes

if TYPE_CHECKING:
    from sounding.render.style import Chart


def html(calibration: Calibration) -> str:
    """Return one table per measure and scenario, and the reliability diagram."""
    *others, last = calibration_tables(calibration)
    shown = [*others, with_notes(last, notes(calibration))]
    return notebook_html(map(ungrouped, shown), _charts(calibration))


def _charts(calibration: Calibration) -> Iterator[Chart]:
    rows = reliability_rows(calibration)
    if rows.height:
        yield reliability_diagram(rows)
