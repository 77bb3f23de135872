"""A few named series in one pane: lines that differ in colour, dashes and the shape of their points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sounding.report.charts.frames import data
from sounding.report.charts.style import BAND_OPACITY, series_colours, series_dashes, series_shapes

if TYPE_CHECKING:
    import altair as alt
    import polars

FEW_POINTS = 25  # of a line: more of them hide its dashes


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The upright axis of a pane: which column, what it is called, and from where to where it goes."""

    column: str
    title: str
    domain: tuple[float, float]
    format: str = ""
    log: bool = False  # a log axis, for values up to 1, that cuts off what lies below it

    def y(self, column: str | None = None) -> alt.Y:
        """The axis for the column itself, or for another that shares it."""
        import altair as alt

        scale = alt.Scale(type="log" if self.log else "linear", domain=list(self.domain), nice=False)
        options: dict[str, Any] = {"format": self.format} if self.format else {}
        if self.log:
            options["values"] = [10.0**power for power in range(math.floor(math.log10(self.domain[0])), 1)]
        axis = alt.Axis(**options)
        return alt.Y(f"{column or self.column}:Q", title=self.title, scale=scale, axis=axis)


@dataclass(frozen=True, slots=True)
class Signs:
    """How the series of a chart are told apart; its legend shows points where there are any, else lines."""

    colour: alt.Color
    dash: alt.StrokeDash
    shape: alt.Shape


def series_signs(series: str, order: Sequence[str], *, points: bool, title: str | None, top: bool) -> Signs:
    """Colour, dashes and shape for each name of a column, in the order given; no legend for a single one."""
    import altair as alt

    names, field, count = list(order), f"{series}:N", len(order)
    look = alt.Legend(
        title=title, orient="top" if top else "right", symbolSize=80 if points else 400,
        symbolStrokeWidth=0 if points else 2, symbolOpacity=1,
    )  # fmt: skip
    shown = look if count > 1 else None
    return Signs(
        alt.Color(field, scale=alt.Scale(domain=names, range=series_colours(count)), legend=shown),
        alt.StrokeDash(field, scale=alt.Scale(domain=names, range=series_dashes(count)), legend=shown),
        alt.Shape(field, scale=alt.Scale(domain=names, range=series_shapes(count)), legend=shown),
    )


def series_pane(
    frame: polars.DataFrame, x: alt.X, values: Values, series: str, order: Sequence[str], *, top: bool = False
) -> alt.LayerChart:
    """One line for each name in a column; from `lower` to `upper` around it, where the frame has them.

    `top` puts the legend above the pane, without a title.
    """
    import altair as alt

    drawn = alt.Chart(data(frame))
    # Points stand where there are few in every line: no chart has both kinds of legend.
    points = int(frame.get_column(series).value_counts().get_column("count").to_numpy().max()) <= FEW_POINTS
    signs = series_signs(series, order, points=points, title=None if top else series, top=top)
    tooltip = [
        alt.Tooltip(f"{series}:N"),
        alt.Tooltip(x.shorthand),
        alt.Tooltip(f"{values.column}:Q", format=".4~f"),
    ]
    layers = []
    if {"lower", "upper"} <= set(frame.columns):
        shade = drawn.mark_area(opacity=BAND_OPACITY)
        layers.append(shade.encode(x, values.y("lower"), alt.Y2("upper:Q"), signs.colour))
    line = drawn.mark_line(strokeWidth=2, clip=values.log)
    layers.append(line.encode(x, values.y(), signs.colour, signs.dash, tooltip=tooltip))
    if points:
        marks = drawn.mark_point(filled=True, size=45, opacity=1)
        layers.append(marks.encode(x, values.y(), signs.colour, signs.shape, tooltip=tooltip))
    return alt.LayerChart(layer=layers)
