"""An audit as a notebook shows it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from sounding.audit.charts import audit_charts
from sounding.audit.result import Audit
from sounding.audit.tables import Extras, verdict_table
from sounding.render.html import notebook_html

if TYPE_CHECKING:
    from sounding.render.style import Chart


def html(audit: Audit) -> str:
    """The verdict, and how much was judged by depth."""
    return notebook_html([verdict_table(audit, audit.verdict())], _charts(audit))


def _charts(audit: Audit) -> Iterator[Chart]:
    yield dict(audit_charts(audit, Extras()))["judged-by-depth"]()
