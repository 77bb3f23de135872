"""Draw line charts: a few named series in one pane, or many runs with five of them in color."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from sounding.core.errors import DataError
from sounding.core.lazy import alt, polars
from sounding.core.text import join_names
from sounding.render import style

FEW_POINTS = 25  # more points than this on a line hide its dashes


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """The y axis of a pane: its column, title and range."""

    column: str
    title: str
    domain: tuple[float, float]
    format: str = ""
    log: bool = False  # logarithmic, for values up to 1; lines are clipped below the range

    def y(self, column: str | None = None) -> alt.Y:
        """Return the axis for the column, or for another column that shares it."""
        scale = alt.Scale(type="log" if self.log else "linear", domain=list(self.domain), nice=False)
        powers = range(math.floor(math.log10(self.domain[0])), 1) if self.log else ()
        axis = alt.Axis(
            format=self.format or alt.Undefined, values=[10.0**power for power in powers] or alt.Undefined
        )
        return alt.Y(f"{column or self.column}:Q", title=self.title, scale=scale, axis=axis)


@dataclass(frozen=True, slots=True)
class Signs:
    """Color, dashes and shape that distinguish the series of a chart."""

    color: alt.Color
    dash: alt.StrokeDash
    shape: alt.Shape


def series_signs(series: str, order: Sequence[str], *, points: bool, title: str | None, top: bool) -> Signs:
    """Return color, dashes and shape for the names in a column, in the given order.

    The legend shows points if there are any, otherwise lines. A single series has no legend.
    """
    names, field, count = list(order), f"{series}:N", len(order)
    look = alt.Legend(
        title=title, orient="top" if top else "right", symbolSize=80 if points else 400,
        symbolStrokeWidth=0 if points else 2, symbolOpacity=1,
    )  # fmt: skip
    shown = look if count > 1 else None
    return Signs(
        alt.Color(field, scale=alt.Scale(domain=names, range=style.series_colors(count)), legend=shown),
        alt.StrokeDash(field, scale=alt.Scale(domain=names, range=style.series_dashes(count)), legend=shown),
        alt.Shape(field, scale=alt.Scale(domain=names, range=style.series_shapes(count)), legend=shown),
    )


def series_pane(
    frame: polars.DataFrame, x: alt.X, values: Values, series: str, order: Sequence[str], *, top: bool = False
) -> alt.LayerChart:
    """Draw one line for each name in a column, with a band if the frame has `lower` and `upper`.

    `top` puts the legend above the pane, without a title.
    """
    drawn = alt.Chart(style.data(frame))
    # All lines show points or none does, since a chart has only one kind of legend.
    points = int(frame.get_column(series).value_counts().get_column("count").to_numpy().max()) <= FEW_POINTS
    signs = series_signs(series, order, points=points, title=None if top else series, top=top)
    tooltip = [
        alt.Tooltip(f"{series}:N"),
        alt.Tooltip(x.shorthand),
        alt.Tooltip(f"{values.column}:Q", format=".4~f"),
    ]
    layers = []
    if {"lower", "upper"} <= set(frame.columns):
        shade = drawn.mark_area(opacity=style.BAND_OPACITY)
        layers.append(shade.encode(x, values.y("lower"), alt.Y2("upper:Q"), signs.color))
    line = drawn.mark_line(strokeWidth=2, clip=values.log)
    layers.append(line.encode(x, values.y(), signs.color, signs.dash, tooltip=tooltip))
    if points:
        marks = drawn.mark_point(filled=True, size=45, opacity=1)
        layers.append(marks.encode(x, values.y(), signs.color, signs.shape, tooltip=tooltip))
    return alt.LayerChart(layer=layers)


PLACES = (1.0, 0.75, 0.5, 0.25, 0.0)
PERFORMANCE = ("best", "upper quartile", "median", "lower quartile", "worst")
AMOUNT = ("highest", "upper quartile", "median", "lower quartile", "lowest")
LINES = (
    ("#0072B2", [1, 0]),
    ("#009E73", [7, 3]),
    ("#000000", [1, 0]),
    ("#CC79A7", [7, 3]),
    ("#D55E00", [2, 2]),
)
LABEL_HEIGHT = 14  # pixels between the centers of two labels
LEADER = 14  # pixels from the end of a line to its label


@dataclass(frozen=True, slots=True)
class Highlight:
    """A run drawn in color: its place among the five, its name and its label."""

    place: int
    run: str
    label: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPane:
    """The settings of a pane that shows many runs."""

    column: str
    words: Sequence[str]
    column_title: str
    domain: tuple[float, float]
    depths: tuple[int, int]
    reference_k: int
    pool_depth: int | None = None
    title: str = ""
    width: int = 380
    height: int = 280

    @property
    def single(self) -> bool:
        """Return whether there is only one depth, so that points replace the lines."""
        return self.depths[0] == self.depths[1]


def five_numbers(values: dict[str, float | None], words: Sequence[str]) -> list[Highlight]:
    """Return the runs at the maximum, the quartiles and the minimum, best first; up to five runs, all.

    A quartile is the nearest run, not an average of two. Equal values are ordered by name.
    """
    known = {run: value for run, value in values.items() if value is not None and math.isfinite(value)}
    ordered = sorted(known, key=lambda run: (known[run], run))
    last = len(ordered) - 1
    if last < len(PLACES):
        spread = len(PLACES) - 1
        return [
            Highlight(round(number * spread / max(last, 1)), run, run)
            for number, run in enumerate(reversed(ordered))
        ]
    chosen = [ordered[math.floor(place * last + 0.5)] for place in PLACES]
    return [
        Highlight(place, run, f"{word}: {run}")
        for place, (run, word) in enumerate(zip(chosen, words, strict=True))
    ]


def spread_labels(heights: Sequence[float], room: float, gap: float = LABEL_HEIGHT) -> list[float]:
    """Move label heights apart until neighbors are at least `gap` pixels apart, in the same order.

    They stay within the room if they fit. Among equal heights the first goes on top.
    """
    order = sorted(range(len(heights)), key=lambda number: (round(heights[number]), -number))
    placed = list(heights)
    floor = -math.inf
    for number in order:
        placed[number] = floor = max(placed[number], floor + gap)
    ceiling = max(room, gap * (len(heights) - 1))
    for number in reversed(order):
        placed[number] = ceiling = min(placed[number], ceiling)
        ceiling -= gap
    return placed


def reference_depth(frame: polars.DataFrame, wanted: int | None) -> int:
    """Return the depth at which runs are ordered: the wanted one, or the deepest."""
    depths = frame["k"].unique().to_list()
    if wanted is not None and wanted not in depths:
        seen = f"{min(depths)} to {max(depths)}"
        raise DataError(
            f"reference depth {wanted} is not among the depths of the frame; choose one of {seen}"
        )
    return max(depths) if wanted is None else wanted


def standing_notes(frame: polars.DataFrame, column: str, words: Sequence[str], reference_k: int) -> list[str]:
    """Say what the colors mean, if not every run has one, and which runs have no value to order by."""
    runs = style.names(frame, "run")
    known = frame.filter((polars.col("k") == reference_k) & polars.col(column).is_finite())
    unknown = [run for run in runs if run not in set(style.names(known, "run"))]
    notes = []
    if len(runs) > len(words):
        notes.append(f"Gray: all runs. In color: the {join_names(words)} run at k = {reference_k:,}.")
    if unknown:
        what = (
            f"{unknown[0]} has" if len(unknown) == 1 else f"{len(unknown)} runs, such as {unknown[0]}, have"
        )
        notes.append(f"{what} no value at k = {reference_k:,}.")
    return notes


def run_pane(frame: polars.DataFrame, pane: RunPane) -> alt.LayerChart:
    """Draw a line over k for each run; five runs are in color, with their names at the right."""
    at_reference = frame.filter(polars.col("k") == pane.reference_k)
    values = dict(zip(at_reference["run"].to_list(), at_reference[pane.column].to_list(), strict=True))
    highlights = five_numbers(values, pane.words)
    shown = frame.select("run", "k", pane.column)
    layers = [_gray_runs(shown, pane), *style.pool_rule(pane.pool_depth, *pane.depths)]
    for highlight in highlights:
        color, dash = LINES[highlight.place]
        line = alt.Chart(style.data(shown.filter(polars.col("run") == highlight.run)))
        point = {"size": 40, "color": color} if pane.single else False
        layers.append(
            _encoded(line.mark_line(strokeWidth=2.2, color=color, strokeDash=dash, point=point), pane)
        )
    layers += _labels(shown, pane, highlights)
    chart = alt.LayerChart(layer=layers)
    return chart.properties(width=pane.width, height=pane.height, title=style.pane_title(pane.title))


def _gray_runs(frame: polars.DataFrame, pane: RunPane) -> alt.Chart:
    """Draw all runs thin and gray; the run under the pointer is emphasized."""
    lines = style.data(frame)
    # Altair merges parameters of the same name, with a warning, so each pane has its own name.
    sign = crc32(f"{pane}{lines.values}".encode())
    pointed = alt.selection_point(f"run_{sign:08x}", on="pointerover", fields=["run"], empty=False)
    point = {"size": 12, "color": style.FAINT} if pane.single else False
    drawn = _encoded(alt.Chart(lines).mark_line(color=style.FAINT, point=point), pane)
    return drawn.encode(
        alt.Detail("run:N"),
        opacity=alt.condition(pointed, alt.value(1.0), alt.value(0.55)),
        strokeWidth=alt.condition(pointed, alt.value(3.0), alt.value(0.8)),
    ).add_params(pointed)


def _encoded(line: alt.Chart, pane: RunPane) -> alt.Chart:
    values = Values(column=pane.column, title=pane.column_title, domain=pane.domain)
    tooltip = [alt.Tooltip("run:N"), alt.Tooltip("k:Q"), alt.Tooltip(f"{pane.column}:Q", format=".4f")]
    return line.encode(style.depth_x(*pane.depths), values.y(), tooltip=tooltip)


def _labels(frame: polars.DataFrame, pane: RunPane, highlights: Sequence[Highlight]) -> list[alt.Chart]:
    """Write names at the right ends of the lines, moved apart, each connected to its line."""
    low, high = pane.domain
    last = frame.filter(polars.col(pane.column).is_finite()).sort("k").group_by("run").last()
    ends = {run: (k, value) for run, k, value in last.select("run", "k", pane.column).iter_rows()}
    heights = [(ends[each.run][1] - low) / (high - low) * pane.height for each in highlights]
    first, deepest = style.depth_domain(*pane.depths)
    label_k = deepest * (deepest / first) ** (LEADER / pane.width)
    layers = []
    for highlight, height in zip(highlights, spread_labels(heights, pane.height), strict=True):
        k, value = ends[highlight.run]
        color, _ = LINES[highlight.place]
        label_value = low + height / pane.height * (high - low)
        ends_at = {"k": k, "value": value, "label_k": label_k, "label_value": label_value}
        row = {"label": highlight.label, **ends_at}
        label = alt.Chart(style.data(polars.DataFrame([row])))
        leader = label.mark_rule(color=color, strokeWidth=1, opacity=0.6)
        text = label.mark_text(
            align="left", baseline="middle", dx=3, color=color, fontSize=11, fontWeight=600
        )
        layers += [
            leader.encode(alt.X("k:Q"), alt.Y("value:Q"), alt.X2("label_k:Q"), alt.Y2("label_value:Q")),
            text.encode(alt.X("label_k:Q"), alt.Y("label_value:Q"), alt.Text("label:N")),
        ]
    return layers
