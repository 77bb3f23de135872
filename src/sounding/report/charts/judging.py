"""Charts of judging: what is known after so many judgments, one line a strategy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sounding.errors import DataError
from sounding.report.charts.agreement import TAU, VERY_CLOSE
from sounding.report.charts.axes import depth_x, level_rule, value_domain
from sounding.report.charts.frames import MOST_POINTS, names, needs, span, thinned
from sounding.report.charts.series import Values, series_pane
from sounding.report.charts.style import titled

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.report.charts.style import Chart


@needs("strategy", "judgments", "confidence")
def confidence_by_judgments(frame: polars.DataFrame, *, wanted: float = 0.95) -> Chart:
    """Confidence in the order of the runs as judgments are made (Carterette et al. 2006, Figs. 2, 5 and 6).

    Columns: `strategy`, `judgments`, `confidence` (0 to 1). A level line marks the confidence wanted.
    """
    pane = _over_judgments(frame, "confidence", "confidence in the order of runs", wanted)
    return titled(pane, "Confidence by number of judgments", [f"The dotted line marks {wanted:g}."])


@needs("strategy", "judgments", "agreement")
def agreement_by_judgments(frame: polars.DataFrame, *, coefficient: str = TAU) -> Chart:
    """Agreement of the order of the runs with the true one as judgments are made (Carterette et al., Fig. 3).

    Columns: `strategy`, `judgments`, `agreement`.
    """
    pane = _over_judgments(frame, "agreement", f"{coefficient} with the true order", VERY_CLOSE)
    title = "Agreement with the true order by number of judgments"
    return titled(pane, title, [f"The dotted line marks {VERY_CLOSE:g}."])


def _over_judgments(frame: polars.DataFrame, column: str, title: str, level: float) -> alt.LayerChart:
    import altair as alt
    import polars

    # A log axis has no place for the state before the first judgment.
    after = frame.filter(polars.col("judgments") > 0).select("strategy", "judgments", column)
    if after.is_empty():
        raise DataError("no row after the first judgment; expected some with `judgments` of 1 or more")
    kept, _ = thinned(after, "judgments", most=MOST_POINTS)
    low, high = value_domain(kept[column], from_zero=False)
    values = Values(column=column, title=title, domain=(min(low, level), max(high, level)))
    x = depth_x(*span(kept, "judgments"), "judgments", "judgments (log scale)")
    lines = series_pane(kept, x, values, "strategy", names(kept, "strategy"))
    return alt.LayerChart(layer=[lines, level_rule(level, column)]).properties(width=460, height=300)
