"""Scores as charts: means with confidence intervals and judged shares, and values between their bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sounding.core.errors import DataError
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.data.finding import RunIndex
from sounding.evaluate.result import Scores
from sounding.render.style import (
    COLORS,
    FAINT,
    PERCENT,
    RULE,
    data,
    names,
    needs,
    pane_title,
    titled,
    value_domain,
)
from sounding.statistics.testing import critical

if TYPE_CHECKING:
    from sounding.render.style import Chart

NAMED_RUNS = 60  # more names than this run into each other: runs are numbered
MOST_RUNS = 40  # runs that a figure of one column can name
ALPHA = 0.05  # of the intervals of the means
ROOM = 0.04  # beyond the ends of the bars, so that none touches the frame


def chart_of(scores: Scores, baseline: str | None = None) -> Chart:
    """Return one figure for a column of a paper: the runs by the measure that ranks them.

    Of more than 40 runs it shows the best, and the baseline.
    """
    number = scores.leading_measure()
    if number is None:
        raise DataError("--chart draws measures that give numbers; ask for one, such as -m AP")
    measure = scores.measures[number]
    order = scores.order([number])
    shown = order[:MOST_RUNS]
    if baseline is not None and (place := RunIndex(scores.runs, scores.tags).place(baseline)) not in shown:
        shown[-1] = place
    means, counted = scores.mean()[:, number], scores.counted()[:, number]
    half = critical(ALPHA, np.maximum(counted - 1, 1)) * scores.standard_error()[:, number]
    least, most = measure.definition.bounds
    frame = polars.DataFrame(
        {
            "run": [scores.runs[run] for run in shown],
            "value": means[shown],
            "lower": np.maximum(means - half, least)[shown],
            "upper": np.minimum(means + half, most)[shown],
            "judged": scores.judged_share()[shown, number],
        }
    )
    depth = f", top {measure.k:,}" if measure.k else ""
    known = "listed" if scores.only_relevant else "judged"
    return leaderboard(
        frame, measure=str(measure), of=len(order), topics=int(counted.max()), depth=depth, known=known
    )


@needs("run", "value", "lower", "upper", "judged")
def leaderboard(
    frame: polars.DataFrame, *, measure: str, of: int, topics: int, depth: str = "", known: str = "judged"
) -> Chart:
    """Return the means of runs with their confidence intervals, and beside them how much was judged.

    Runs stand in the order of the frame, which has the columns `run`, `value`, `lower`, `upper` (NaN: not
    known) and `judged`. `of` is how many runs there are in all; `depth` ends the title of
    the shares, which begins with `known`.
    """
    runs = names(frame, "run")
    axis = alt.Axis(labelOverlap=False, grid=False, ticks=False, domain=False)
    y = alt.Y("run:N", sort=runs, scale=alt.Scale(domain=runs), title=None, axis=axis)
    inner = alt.Y("run:N", sort=runs, scale=alt.Scale(domain=runs), title=None, axis=None)
    height = max(40, 15 * len(runs))
    columns = [frame[name].cast(polars.Float64).rename("") for name in ("value", "lower", "upper")]
    low, high = value_domain(polars.concat(columns), from_zero=False, room=ROOM)
    low = max(low, 0.0) if frame.filter(polars.col("value") < 0).is_empty() else low
    scale = alt.Scale(domain=[low, high], nice=False, zero=False)
    tooltip = [
        alt.Tooltip("run:N"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("value", "lower", "upper")),
        alt.Tooltip("judged:Q", format=PERCENT),
    ]
    base = alt.Chart(data(frame))
    x = alt.X("value:Q", scale=scale, title=f"mean {measure}", axis=alt.Axis(tickCount=3))
    lines = base.mark_rule(color=FAINT, strokeWidth=2).encode(
        alt.X("lower:Q", scale=scale, title=f"mean {measure}"), alt.X2("upper:Q"), y, tooltip=tooltip
    )
    points = base.mark_point(filled=True, size=40, color=COLORS[0], opacity=1).encode(x, y, tooltip=tooltip)
    shares_title = f"{known}{depth}"
    shares = alt.X(
        "judged:Q", scale=alt.Scale(domain=[0, 1]), title=shares_title,
        axis=alt.Axis(format="%", values=[0, 1], labelFlush=True),
    )  # fmt: skip
    bars = base.mark_bar(color=RULE, opacity=0.55, height=7).encode(shares, inner, tooltip=tooltip)
    chosen = f"{len(runs)} of {of} runs, the best first" if of > len(runs) else plural(of, "run")
    return titled(
        alt.hconcat(
            alt.LayerChart(layer=[lines, points]).properties(width=150, height=height),
            bars.properties(width=80, height=height),
            spacing=10,
        ),
        f"{measure}: {chosen}",
        [f"Mean of {plural(topics, 'topic')} with 95% confidence interval"],
    )


@needs("run", "measure", "value", "lower", "upper")
def values_with_bounds(frame: polars.DataFrame) -> Chart:
    """Draw every run's value by each measure with its bounds, in the order of the frame, best on top.

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
