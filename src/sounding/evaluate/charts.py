"""The scoreboard as a picture: every run's value between the least and the most that it can be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.render.style import COLORS, FAINT, data, names, needs, pane_title, titled, value_domain

if TYPE_CHECKING:
    from sounding.render.style import Chart

NAMED_RUNS = 60  # more names than this run into each other: runs are numbered
ROOM = 0.04  # beyond the ends of the bars, so that none touches the frame


@needs("run", "measure", "value", "lower", "upper")
def values_with_bounds(frame: polars.DataFrame) -> Chart:
    """Every run's value by each measure with its bounds, runs in the order of the frame, best on top.

    Columns: `run`, `measure`, `value`, `lower`, `upper` (null: no bounds are known). Measures stand side by
    side, runs under each other.
    """
    runs, measures = names(frame, "run"), names(frame, "measure")
    place = polars.col("run").replace_strict(runs, range(1, len(runs) + 1), return_dtype=polars.Int64)
    drawn = frame.select("run", "measure", "value", "lower", "upper", place=place)
    panes = [
        _pane(drawn.filter(polars.col("measure") == measure), measure, runs, first=not number)
        for number, measure in enumerate(measures)
    ]
    bounded = frame["lower"].cast(polars.Float64).fill_nan(None).null_count() < frame.height
    return titled(
        alt.hconcat(*panes, spacing=20),
        f"Values of {plural(len(runs), 'run')}" + ", and what they can still become" * bounded,
        [
            "Point: the mean over topics, best on top.",
            "Bar: from the least to the most that it can be once the unjudged documents are judged."
            if bounded
            else "",
        ],
    )


def _pane(frame: polars.DataFrame, measure: str, runs: Sequence[str], *, first: bool) -> alt.LayerChart:
    """A bar and a point for each run; their names, or numbers, stand left of the first pane."""
    columns = [frame[name].cast(polars.Float64).rename("") for name in ("value", "lower", "upper")]
    low, high = value_domain(polars.concat(columns), from_zero=True, room=ROOM)
    scale = alt.Scale(domain=[low, high], nice=False)
    if len(runs) <= NAMED_RUNS:
        axis = alt.Axis(labels=first, ticks=first, labelOverlap=False, grid=False)
        scaled = alt.Scale(domain=list(runs))
        y = alt.Y("run:N", sort=list(runs), scale=scaled, title=None, axis=axis)
        height = max(60, 17 * len(runs))
    else:
        down = alt.Scale(domain=[0.5, len(runs) + 0.5], reverse=True, nice=False)
        axis = alt.Axis(labels=first, ticks=first, tickMinStep=1, grid=False)
        y = alt.Y("place:Q", title="place of the run in the order" if first else None, scale=down, axis=axis)
        height = 5 * len(runs)
    title = f"{measure}, mean over topics"
    tooltip = [
        alt.Tooltip("run:N"), alt.Tooltip("place:Q"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("value", "lower", "upper")),
    ]  # fmt: skip
    base = alt.Chart(data(frame.drop("measure")))
    thick = 4 if len(runs) <= NAMED_RUNS else 2
    bars = base.mark_rule(color=FAINT, strokeWidth=thick, opacity=0.75)
    points = base.mark_point(filled=True, size=45 if thick == 4 else 20, color=COLORS[0], opacity=1)
    layers = [
        bars.encode(alt.X("lower:Q", scale=scale, title=title), alt.X2("upper:Q"), y, tooltip=tooltip),
        points.encode(alt.X("value:Q", scale=scale, title=title), y, tooltip=tooltip),
    ]
    return alt.LayerChart(layer=layers).properties(width=240, height=height, title=pane_title(measure))
