"""The common style of charts: fonts, colors, axes over depth, checked and rounded data."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from itertools import product
from typing import Any, Concatenate, ParamSpec, TypeAlias

import numpy as np

from sounding.core.errors import DataError, MissingPartError
from sounding.core.lazy import alt, polars

Chart: TypeAlias = "alt.Chart | alt.LayerChart | alt.ConcatChart | alt.HConcatChart | alt.VConcatChart"

INK = "#222222"
FAINT = "#9a9a9a"
UNCUT = 0  # no limit to the width of a label, because cut names can look alike
RULE = "#666666"
BAND_OPACITY = 0.18

# Okabe and Ito's colors without black, which is the color of text, and yellow, which is faint on white.
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 3, 2, 3), (12, 4), (4, 2, 1, 2, 1, 2))
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")

# Steps of cividis from dark to light, equally spaced in lightness so that they differ in gray as well.
CIVIDIS = ("#00224e", "#2a3f6d", "#575d6d", "#7d7c78", "#a59c74", "#d2c060", "#fee838")


def series_colors(count: int) -> list[str]:
    """Return a color for each of `count` series; series that share a color differ in dashes and shape."""
    return [color for _, color in _signs(count)]


def series_dashes(count: int) -> list[list[int]]:
    """Return the dashes for each of `count` series, in the order of `series_colors`."""
    return [list(DASHES[sign]) for sign, _ in _signs(count)]


def series_shapes(count: int) -> list[str]:
    """Return the point shape for each of `count` series, in the order of `series_colors`."""
    return [SHAPES[sign] for sign, _ in _signs(count)]


def _signs(count: int) -> list[tuple[int, str]]:
    """Return (sign, color) pairs; the first differ in both, and none repeats before all are used."""
    size = len(COLORS)
    pairs = [((color + turn) % size, COLORS[color]) for turn, color in product(range(size), range(size))]
    return [pairs[number % len(pairs)] for number in range(count)]


def pane_title(text: str) -> alt.TitleParams:
    """Return the left-aligned heading of one pane."""
    return alt.TitleParams(text, anchor="start", fontSize=12, offset=6)


def titled(pane: Chart, title: str, notes: Sequence[str] = ()) -> Chart:
    """Return the finished chart, with a title, notes below it, and the common style."""
    heading = alt.TitleParams(title, subtitle=[note for note in notes if note], anchor="start", offset=14)
    return pane.properties(title=heading).configure(**_look())


def _look() -> dict[str, Any]:
    font = "Helvetica Neue, Helvetica, Arial, sans-serif"
    return {
        "font": font,
        "background": "white",
        "title": {
            "fontSize": 15, "fontWeight": 600, "color": INK, "subtitleFontSize": 11.5,
            "subtitleColor": "#555555", "subtitlePadding": 5, "subtitleLineHeight": 15,
        },
        "axis": {
            "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelColor": INK,
            "titleColor": INK, "gridColor": "#ebebeb", "domainColor": RULE, "tickColor": RULE,
            "titlePadding": 8, "labelFlush": False, "labelLimit": UNCUT,
        },
        "legend": {
            "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": UNCUT,
        },
        "header": {"labelFontSize": 12, "titleFontSize": 12},
        "view": {"stroke": "#cccccc"},
    }  # fmt: skip


STEPS = (1, 2, 5)
TAU = "Kendall's τ"
VERY_CLOSE = 0.9  # orders with at least this tau count as the same
PERCENT = ".3~%"  # 70% and 0.02%: digits as needed
DEPTH_TITLE = "evaluation depth k (log scale)"
COLUMN, COLUMN_HEIGHT = 300, 200  # pixels of a pane that, with its labels, fits the column of a paper


def depth_domain(first: float, last: float) -> tuple[float, float]:
    """Return the range of the axis: first to last depth, or a range around a single one."""
    return (first / 1.5, last * 1.5) if first == last else (first, last)


def depth_ticks(first: float, last: float) -> list[int]:
    """Return the round depths in the range: 1, 2, 5, 10, 20, ... ."""
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    ticks = [step * 10**power for power in powers if power >= 0 for step in STEPS]
    return [tick for tick in ticks if first <= tick <= last] or [round(first)]


def depth_axis(first: float, last: float) -> alt.Axis:
    """Return an axis over depths that labels round ones."""
    return alt.Axis(
        values=depth_ticks(*depth_domain(first, last)), format=",d", labelOverlap=True, labelFlush=False
    )


def depth_x(first: float, last: float, field: str = "k", title: str = DEPTH_TITLE) -> alt.X:
    """Return the x axis over depths, on a log scale from the first to the last."""
    scale = alt.Scale(type="log", domain=list(depth_domain(first, last)), nice=False)
    return alt.X(f"{field}:Q", scale=scale, axis=depth_axis(first, last), title=title)


def pool_rule(pool_depth: int | None, first: float, last: float, field: str = "k") -> list[alt.Chart]:
    """Mark the pool depth with a labeled dotted vertical line; return nothing if it is off the axis."""
    if pool_depth is None or not first <= pool_depth <= last:
        return []
    place = alt.Chart(alt.InlineData(values=[{field: pool_depth, "name": f"pool depth {pool_depth:,}"}]))
    return [
        place.mark_rule(color=RULE, strokeDash=[2, 3]).encode(alt.X(f"{field}:Q")),
        place.mark_text(baseline="bottom", color=RULE, fontSize=10).encode(
            alt.X(f"{field}:Q"), alt.Text("name:N"), y=alt.value(-3)
        ),
    ]


def level_rule(height: float, field: str) -> alt.Chart:
    """Return a dotted horizontal line."""
    line = alt.Chart(alt.InlineData(values=[{field: height}]))
    return line.mark_rule(color=RULE, strokeDash=[2, 3]).encode(alt.Y(f"{field}:Q"))


def value_domain(
    column: polars.Series, *, from_zero: bool = True, room: float = 0, most: float = math.inf
) -> tuple[float, float]:
    """Return a round range that holds all known values of a column, and 0 unless `from_zero` is off.

    `room` is the margin beyond the values, as a share of their span; it never extends below 0. `most` is the
    highest possible value, and the range ends there.
    """
    values = column.cast(float).drop_nulls().to_numpy()
    known = values[np.isfinite(values)]
    if not len(known):
        return (0.0, 1.0)
    low, high = float(known.min()), float(known.max())
    spare = room * (high - low)
    low, high = min(low, 0.0) if from_zero else low - spare, high + spare
    if low == high:
        return (low, low + 1.0) if low + 1 <= most else (most - 1, most)
    step = 10 ** math.floor(math.log10(high - low)) / 10
    return (round(math.floor(low / step) * step, 10), round(min(math.ceil(high / step) * step, most), 10))


MOST_DEPTHS = 80  # per line if there are many runs: one every few pixels of a log axis
MOST_POINTS = 400  # per line if there are few series: one per pixel
MOST_CELLS = 60  # on each side of a heat map
EVERY_DEPTH_TO = 20  # up to here, neighboring depths are far apart on a log axis
DIGITS = 5  # significant digits; a pixel is about a thousandth of an axis

Options = ParamSpec("Options")


def needs(
    *columns: str,
) -> Callable[[Callable[Concatenate[polars.DataFrame, Options], Chart]],
              Callable[Concatenate[polars.DataFrame, Options], Chart]]:  # fmt: skip
    """Make a chart function report missing columns or packages in a one-line error."""

    def checked(
        draw: Callable[Concatenate[polars.DataFrame, Options], Chart],
    ) -> Callable[Concatenate[polars.DataFrame, Options], Chart]:
        @wraps(draw)
        def function(frame: polars.DataFrame, /, *options: Options.args, **named: Options.kwargs) -> Chart:
            require_charts("altair", "drawing a chart")
            name = draw.__name__
            lacking = [column for column in columns if column not in frame.columns]
            if lacking:
                seen = ", ".join(frame.columns) or "none"
                raise DataError(
                    f"chart {name}: no column {lacking[0]!r} among {seen}; expected {', '.join(columns)}"
                )
            if frame.is_empty():
                raise DataError(f"chart {name}: no rows; expected at least one")
            return draw(frame, *options, **named)

        return function

    return checked


def unchecked(make: Callable[[], Chart]) -> dict[str, Any]:
    """Return the specification of a chart without holding its parts against the schema, as the tests do.

    That takes as long as drawing it.
    """
    require_charts("altair", "drawing a chart")
    with alt.utils.schemapi.debug_mode(False), _shared_parts():
        specification: dict[str, Any] = make().to_dict(validate=False)
    return specification


@contextmanager
def _shared_parts() -> Iterator[None]:
    """Let copies of a chart share encodings and marks, which nothing changes; Altair copies them often."""
    kinds: tuple[Any, ...] = (alt.FacetedEncoding, alt.MarkDef)
    for kind in kinds:
        kind.__deepcopy__ = lambda part, _=None: part
    try:
        yield
    finally:
        for kind in kinds:
            del kind.__deepcopy__


def require_charts(package: str, purpose: str) -> None:
    """Raise an error that says how to install a package of the extra `charts`, if it is missing."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise MissingPartError(package, purpose, "charts") from error


def data(frame: polars.DataFrame) -> alt.InlineData:
    """Return the frame as CSV to embed in a specification, at a third of the size of JSON objects.

    Floats are rounded to five significant digits; NaN and infinities become empty cells, which read as null.
    """
    floats = polars.selectors.float()
    rounded = polars.when(floats.is_finite()).then(floats.round_sig_figs(DIGITS)).name.keep()
    parse = {name: "number" if kind.is_numeric() else "string" for name, kind in frame.schema.items()}
    text = frame.with_columns(rounded).write_csv()
    return alt.InlineData(values=text, format=alt.CsvDataFormat(type="csv", parse=parse))


def names(frame: polars.DataFrame, column: str) -> list[str]:
    """Return the distinct texts of a column in the order in which they first appear."""
    return [str(name) for name in frame.get_column(column).unique(maintain_order=True)]


def span(frame: polars.DataFrame, column: str = "k") -> tuple[int, int]:
    """Return the minimum and the maximum of a column of whole numbers."""
    numbers = frame.get_column(column).to_numpy()
    return int(numbers.min()), int(numbers.max())


def thinned(
    frame: polars.DataFrame, column: str = "k", *, keep: Iterable[int | None] = (), most: int = MOST_DEPTHS
) -> tuple[polars.DataFrame, str]:
    """Return the rows of about `most` depths at most, and a note that says so; "" if all depths stay."""
    depths = np.unique(frame.get_column(column).to_numpy())
    if len(depths) <= most:
        return frame, ""
    chosen = thin_depths(depths.tolist(), most, {depth for depth in keep if depth is not None})
    what = "ranks" if column == "rank" else "depths"
    note = f"Shown at {len(chosen)} of {len(depths):,} {what}, evenly spaced on the log axis"
    return frame.filter(frame.get_column(column).is_in(chosen)), f"{note} beyond {EVERY_DEPTH_TO}."


def thin_depths(depths: Sequence[int], most: int, keep: Iterable[int] = ()) -> list[int]:
    """Return every depth to 20, then depths evenly spaced on a log scale; keep the ends and `keep`."""
    ordered = np.array(sorted(set(depths)))
    near = ordered[ordered <= EVERY_DEPTH_TO]
    far = ordered[ordered > EVERY_DEPTH_TO]
    wanted = np.geomspace(far[0], far[-1], max(most - len(near), 2))
    after = np.clip(np.searchsorted(far, wanted), 1, len(far) - 1)
    nearest = np.where(wanted - far[after - 1] <= far[after] - wanted, far[after - 1], far[after])
    kept = np.intersect1d(ordered, np.array(sorted(keep), ordered.dtype))
    return np.unique(np.concatenate([near, nearest, kept])).tolist()


def slanted_axis(*, labels: bool = True) -> alt.Axis:
    """Return an axis with slanted labels, none of which is dropped."""
    return alt.Axis(labels=labels, ticks=labels, labelAngle=-60, labelOverlap=False)
