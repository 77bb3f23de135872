"""A calibration as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sounding.calibrate.charts import reliability_diagram
from sounding.calibrate.result import Calibration
from sounding.calibrate.tables import calibration_tables, reliability_rows
from sounding.render.html import notebook_html, ungrouped

if TYPE_CHECKING:
    from sounding.render.style import Chart


def html(calibration: Calibration) -> str:
    """One table a measure and scenario, and the reliability diagram."""
    return notebook_html(map(ungrouped, calibration_tables(calibration)), _charts(calibration))


def _charts(calibration: Calibration) -> Iterator[Chart]:
    rows = reliability_rows(calibration)
    if rows.height:
        yield reliability_diagram(rows)
