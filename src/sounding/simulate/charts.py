"""Charts of judging: what is known after so many judgments, one line a strategy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sounding.core.errors import DataError
from sounding.core.text import plural
from sounding.depth.charts import TAU, VERY_CLOSE
from sounding.render.lines import Values, series_pane, series_signs
from sounding.render.style import (
    COLOURS,
    FAINT,
    INK,
    MOST_POINTS,
    data,
    depth_x,
    level_rule,
    names,
    needs,
    span,
    thinned,
    titled,
    value_domain,
)

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.render.style import Chart


HISTOGRAM_BARS = 40
NAMED_RUNS = 60  # more names than this run into each other: runs are numbered
ROOM = 0.03  # beyond the outermost points
FEW = 5  # judgments up to which the axis of a forecast is nearly straight: it begins with none
BAR = [
    "Bar: the middle 95% of what the model draws, no confidence interval:",
    "the level of all runs moves together.",
]


@needs("strategy", "judgments", "confidence")
def confidence_by_judgments(
    frame: polars.DataFrame, *, wanted: float = 0.95, title: str = "Confidence by number of judgments"
) -> Chart:
    """Confidence in the order of the runs as judgments are made (Carterette et al. 2006, Figs. 2, 5 and 6).

    Columns: `strategy`, `judgments`, `confidence` (0 to 1); optional `lower` and `upper`, drawn as a band. A
    level line marks the confidence wanted.
    """
    pane = _over_judgments(frame, "confidence", "confidence in the order of runs", wanted)
    return titled(pane, title, [f"The dotted line marks {wanted:g}."])


@needs("strategy", "judgments", "agreement")
def agreement_by_judgments(
    frame: polars.DataFrame,
    *,
    coefficient: str = TAU,
    title: str = "Agreement with the true order by number of judgments",
) -> Chart:
    """Agreement of the order of the runs with the true one as judgments are made (Carterette et al., Fig. 3).

    Columns: `strategy`, `judgments`, `agreement`.
    """
    pane = _over_judgments(frame, "agreement", f"{coefficient} with the true order", VERY_CLOSE)
    return titled(pane, title, [f"The dotted line marks {VERY_CLOSE:g}."])


@needs("judgments", "confidence", "lower", "upper")
def confidence_forecast(frame: polars.DataFrame, *, wanted: float = 0.95, completions: int) -> Chart:
    """Confidence that judging is expected to bring, with its range over completions of the judgments.

    Columns: `judgments` still to be made, `confidence` (the median over completions), `lower`, `upper` (the
    least and the most); `completions` says how many there are. A level line marks the confidence wanted.
    """
    import polars

    named = frame.with_columns(strategy=polars.lit("median"))
    x = _more_judgments(span(frame, "judgments")[1])
    pane = _drawn_over(named, x, "confidence", "confidence in the order of runs", wanted)
    note = f"Line: the median of {plural(completions, 'completion')} drawn from what is believed now."
    notes = [note, f"Band: from the least to the most of them. The dotted line marks {wanted:g}."]
    return titled(pane, "Confidence that more judgments are expected to bring", notes)


@needs("run", "expected")
def expected_values(frame: polars.DataFrame, *, measure: str = "AP") -> Chart:
    """Every run's expected value, runs in the order of the frame, the first on top.

    Columns: `run`, `expected`; optional `true`, what all judgments give, and `lower` and `upper`, drawn as a
    bar. (Carterette et al., Table 1.) Up to 60 runs are named, more are numbered.
    """
    import altair as alt
    import polars

    runs = names(frame, "run")
    drawn = frame.with_columns(place=polars.int_range(1, polars.len() + 1))
    kinds = [name for name in ("expected", "true") if name in frame.columns]
    bar = [name for name in ("lower", "upper") if {"lower", "upper"} <= set(frame.columns)]
    ends = polars.concat([frame[name].cast(polars.Float64).rename("") for name in (*kinds, *bar)])
    scale = alt.Scale(domain=value_domain(ends, room=ROOM), nice=False)
    y = _places_of_runs(runs)
    title = f"{measure}, mean over topics"
    bars = alt.Chart(data(drawn)).mark_rule(color=FAINT, strokeWidth=4, opacity=0.75)
    tooltip = [
        alt.Tooltip("run:N"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in (*kinds, *bar)),
    ]
    long = drawn.unpivot(kinds, index=["run", "place"], variable_name="value", value_name="height")
    signs = series_signs("value", kinds, points=True, title=None, top=True)
    points = alt.Chart(data(long)).mark_point(filled=True, size=45, opacity=1)
    between = bars.encode(alt.X("lower:Q", scale=scale, title=title), alt.X2("upper:Q"), y, tooltip=tooltip)
    layers = [
        *([between] if bar else []),
        points.encode(alt.X("height:Q", scale=scale, title=title), y, signs.colour, signs.shape),
    ]
    pane = alt.LayerChart(layer=layers).properties(width=460, height=max(60, 17 * min(len(runs), NAMED_RUNS)))
    return titled(pane, f"Expected values of {plural(len(runs), 'run')}", BAR if bar else [])


def _places_of_runs(runs: Sequence[str]) -> alt.Y:
    """Runs from the top down, named as far as names fit."""
    import altair as alt

    if len(runs) <= NAMED_RUNS:
        axis = alt.Axis(labelOverlap=False, grid=False)
        return alt.Y("run:N", sort=list(runs), scale=alt.Scale(domain=list(runs)), title=None, axis=axis)
    down = alt.Scale(domain=[len(runs) + 0.5, 0.5], nice=False)
    return alt.Y("place:Q", title="place in the order", scale=down, axis=alt.Axis(tickMinStep=1, grid=False))


@needs("difference", "judgments")
def judgments_by_difference(frame: polars.DataFrame) -> Chart:
    """Judgments that tell two lists of a topic apart, by their true difference (Carterette et al., Fig. 4).

    Columns: `difference` (0 or more), `judgments` (null where they were never told apart); optional `right`,
    whether the order found is the true one.
    """
    import altair as alt
    import polars

    told = frame.filter(polars.col("judgments").is_not_null())
    said = polars.lit("right")
    if "right" in frame.columns:
        said = polars.col("right").replace_strict({True: "right", False: "wrong"}, default="equal in truth")
    shown = told.select("difference", "judgments", order=said)
    words = [word for word in ("right", "wrong", "equal in truth") if word in names(shown, "order")]
    signs = series_signs("order", words, points=True, title="order found", top=False)
    points = alt.Chart(data(shown)).mark_point(size=30, opacity=0.6, filled=True)
    ranges = [alt.Scale(domain=value_domain(shown[name], room=ROOM)) for name in ("difference", "judgments")]
    x = alt.X("difference:Q", title="true difference between the two lists", scale=ranges[0])
    y = alt.Y("judgments:Q", title="judgments until the order was sure", scale=ranges[1])
    tooltip = [alt.Tooltip("difference:Q", format=".4~f"), alt.Tooltip("judgments:Q"), alt.Tooltip("order:N")]
    pane = points.encode(x, y, signs.colour, signs.shape, tooltip=tooltip).properties(width=460, height=300)
    note = f"{plural(told.height, 'pair')} of lists told apart, of {frame.height:,}."
    return titled(pane, "Judgments that tell two lists of a topic apart", [note])


@needs("deviations")
def difference_histogram(frame: polars.DataFrame, *, p: float | None = None) -> Chart:
    """Differences of two runs over completions of the judgments (Carterette et al., Fig. 1).

    Columns: `deviations` (a row for each completion: how many standard deviations from the mean). A normal
    curve is drawn over them; `p` is that of a test of normality.
    """
    import altair as alt
    import numpy as np
    import polars

    values = frame["deviations"].cast(float).drop_nulls().to_numpy()
    values = values[np.isfinite(values)]
    edges = np.linspace(-4, 4, HISTOGRAM_BARS + 1)
    width = edges[1] - edges[0]
    shares = np.histogram(np.clip(values, -4, 4), edges)[0] / max(len(values), 1) / width
    bars = polars.DataFrame({"from": edges[:-1], "to": edges[1:], "density": shares, "foot": 0.0 * shares})
    places = np.linspace(-4, 4, 161)
    curve = polars.DataFrame({"from": places, "density": np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)})
    x = alt.X(
        "from:Q", title="standard deviations from the mean", scale=alt.Scale(domain=[-4, 4], nice=False)
    )
    y = alt.Y("density:Q", title="density", scale=alt.Scale(domainMin=0))
    layers = [
        alt.Chart(data(bars))
        .mark_rect(color=COLOURS[0], opacity=0.6)
        .encode(x, y, alt.X2("to:Q"), alt.Y2("foot:Q")),
        alt.Chart(data(curve)).mark_line(color=INK, strokeWidth=1.5).encode(x, y),
    ]
    pane = alt.LayerChart(layer=layers).properties(width=460, height=300)
    notes = [f"{plural(len(values), 'completion')}; the line is the normal distribution."]
    if p is not None:
        notes.append(f"Anderson-Darling test of normality: p = {p:.3f}.")
    return titled(pane, "Difference of two runs over completions of the judgments", notes)


def _over_judgments(frame: polars.DataFrame, column: str, title: str, level: float) -> alt.LayerChart:
    import polars

    # A log axis has no place for the state before the first judgment.
    after = frame.filter(polars.col("judgments") > 0)
    if after.is_empty():
        raise DataError("no row after the first judgment; expected some with `judgments` of 1 or more")
    x = depth_x(*span(after, "judgments"), "judgments", "judgments (log scale)")
    return _drawn_over(after, x, column, title, level)


def _more_judgments(last: float) -> alt.X:
    """An axis of judgments to come: today, with none of them, on the left, then ever closer."""
    import altair as alt

    ticks = [step * 10**power for power in range(7) for step in (1, 2, 5)]
    axis = alt.Axis(values=[0, *(tick for tick in ticks if FEW <= tick <= last)], format=",d")
    scale = alt.Scale(type="symlog", constant=FEW, domain=[0, last], nice=False)
    return alt.X("judgments:Q", scale=scale, axis=axis, title="more judgments (0: today)")


def _drawn_over(frame: polars.DataFrame, x: alt.X, column: str, title: str, level: float) -> alt.LayerChart:
    import altair as alt
    import polars

    band = [name for name in ("lower", "upper") if {"lower", "upper"} <= set(frame.columns)]
    kept, _ = thinned(frame.select("strategy", "judgments", column, *band), "judgments", most=MOST_POINTS)
    low, high = value_domain(
        polars.concat([kept[name].cast(float) for name in (column, *band)]), from_zero=False
    )
    values = Values(column=column, title=title, domain=(min(low, level), max(high, level)))
    lines = series_pane(kept, x, values, "strategy", names(kept, "strategy"))
    return alt.LayerChart(layer=[lines, level_rule(level, column)]).properties(width=460, height=300)
