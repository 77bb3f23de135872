"""Charts that `plan` and `simulate` share: expected values, and lines over the number of judgments."""

from __future__ import annotations

from collections.abc import Sequence

from sounding.core.errors import DataError
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.render import style
from sounding.render.lines import Values, series_pane, series_signs

NAMED_RUNS = 60  # more names than this would overlap, so runs are numbered instead
ROOM = 0.03  # free space beyond the outermost points
BAR = [
    "Bar: the middle 95% of the values that the model draws.",
    "It is not a confidence interval: the values of all runs rise and fall together.",
]


@style.needs("run", "expected")
def expected_values(frame: polars.DataFrame, *, measure: str = "AP") -> style.Chart:
    """Draw the expected value of every run, in the order of the frame, the first on top.

    Columns: `run`, `expected`; optional `true`, the value by all judgments, and `lower` and `upper`, drawn
    as a bar (Carterette et al., Table 1). Up to 60 runs are named, more are numbered.
    """
    runs = style.names(frame, "run")
    drawn = frame.with_columns(place=polars.int_range(1, polars.len() + 1))
    kinds = [name for name in ("expected", "true") if name in frame.columns]
    bar = [name for name in ("lower", "upper") if {"lower", "upper"} <= set(frame.columns)]
    ends = polars.concat([frame[name].cast(polars.Float64).rename("") for name in (*kinds, *bar)])
    scale = alt.Scale(domain=style.value_domain(ends, room=ROOM), nice=False)
    y = places_of_runs(runs)
    title = f"{measure}, mean over topics"
    bars = alt.Chart(style.data(drawn)).mark_rule(color=style.FAINT, strokeWidth=4, opacity=0.75)
    tooltip = [
        alt.Tooltip("run:N"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in (*kinds, *bar)),
    ]
    long = drawn.unpivot(kinds, index=["run", "place"], variable_name="value", value_name="height")
    signs = series_signs("value", kinds, points=True, title=None, top=True)
    points = alt.Chart(style.data(long)).mark_point(filled=True, size=45, opacity=1)
    between = bars.encode(alt.X("lower:Q", scale=scale, title=title), alt.X2("upper:Q"), y, tooltip=tooltip)
    layers = [
        *([between] if bar else []),
        points.encode(alt.X("height:Q", scale=scale, title=title), y, signs.color, signs.shape),
    ]
    height = max(60, 17 * min(len(runs), NAMED_RUNS))
    pane = alt.LayerChart(layer=layers).properties(width=style.COLUMN, height=height)
    return style.titled(pane, f"Expected values of {plural(len(runs), 'run')}", BAR if bar else [])


def places_of_runs(runs: Sequence[str]) -> alt.Y:
    """Return the y axis of runs from the top down, by name if there are few, otherwise by number."""
    if len(runs) <= NAMED_RUNS:
        axis = alt.Axis(labelOverlap=False, grid=False)
        return alt.Y("run:N", sort=list(runs), scale=alt.Scale(domain=list(runs)), title=None, axis=axis)
    down = alt.Scale(domain=[len(runs) + 0.5, 0.5], nice=False)
    return alt.Y("place:Q", title="place in the order", scale=down, axis=alt.Axis(tickMinStep=1, grid=False))


def over_judgments(frame: polars.DataFrame, column: str, title: str, level: float) -> alt.LayerChart:
    """Draw a column over the number of judgments, a line for each strategy, with a level marked."""
    # A log axis cannot show the state before the first judgment.
    after = frame.filter(polars.col("judgments") > 0)
    if after.is_empty():
        raise DataError("no row has `judgments` of 1 or more; the chart starts at the first judgment")
    x = style.depth_x(*style.span(after, "judgments"), "judgments", "judgments (log scale)")
    return drawn_over(after, x, column, title, level)


def drawn_over(frame: polars.DataFrame, x: alt.X, column: str, title: str, level: float) -> alt.LayerChart:
    """Draw a column over a given x axis, a line for each strategy, with a level marked."""
    band = [name for name in ("lower", "upper") if {"lower", "upper"} <= set(frame.columns)]
    kept, _ = style.thinned(
        frame.select("strategy", "judgments", column, *band), "judgments", most=style.MOST_POINTS
    )
    low, high = style.value_domain(
        polars.concat([kept[name].cast(float) for name in (column, *band)]), from_zero=False
    )
    values = Values(column=column, title=title, domain=(min(low, level), max(high, level)))
    lines = series_pane(kept, x, values, "strategy", style.names(kept, "strategy"))
    return alt.LayerChart(layer=[lines, style.level_rule(level, column)]).properties(
        width=style.COLUMN, height=style.COLUMN_HEIGHT
    )
