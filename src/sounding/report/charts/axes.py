"""Axes over depth: a log scale with ticks at 1, 2 and 5, and marked depths."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from sounding.report.charts.style import RULE

if TYPE_CHECKING:
    import altair as alt
    import polars

STEPS = (1, 2, 5)
PERCENT = ".3~%"  # 70% and 0.02%: digits as needed
DEPTH_TITLE = "evaluation depth k (log scale)"


def depth_domain(first: float, last: float) -> tuple[float, float]:
    """From the first depth to the last; around a single one."""
    return (first / 1.5, last * 1.5) if first == last else (first, last)


def depth_ticks(first: float, last: float) -> list[int]:
    """Round depths between two: 1, 2, 5, 10, 20, ... ."""
    powers = range(math.floor(math.log10(first)), math.ceil(math.log10(last)) + 1)
    ticks = [step * 10**power for power in powers if power >= 0 for step in STEPS]
    return [tick for tick in ticks if first <= tick <= last] or [round(first)]


def depth_axis(first: float, last: float) -> alt.Axis:
    """An axis over depths that names round ones."""
    import altair as alt

    return alt.Axis(
        values=depth_ticks(*depth_domain(first, last)), format=",d", labelOverlap=True, labelFlush=False
    )


def depth_x(first: float, last: float, field: str = "k", title: str = DEPTH_TITLE) -> alt.X:
    """The x axis over depths, on a log scale from the first to the last."""
    import altair as alt

    scale = alt.Scale(type="log", domain=list(depth_domain(first, last)), nice=False)
    return alt.X(f"{field}:Q", scale=scale, axis=depth_axis(first, last), title=title)


def pool_rule(pool_depth: int | None, first: float, last: float, field: str = "k") -> list[alt.Chart]:
    """The pool depth as a dotted upright line with its name; nothing where it is outside the axis."""
    if pool_depth is None or not first <= pool_depth <= last:
        return []
    import altair as alt

    place = alt.Chart(alt.InlineData(values=[{field: pool_depth, "name": f"pool depth {pool_depth:,}"}]))
    return [
        place.mark_rule(color=RULE, strokeDash=[2, 3]).encode(alt.X(f"{field}:Q")),
        place.mark_text(baseline="bottom", color=RULE, fontSize=10).encode(
            alt.X(f"{field}:Q"), alt.Text("name:N"), y=alt.value(-3)
        ),
    ]


def level_rule(height: float, field: str) -> alt.Chart:
    """A dotted level line."""
    import altair as alt

    line = alt.Chart(alt.InlineData(values=[{field: height}]))
    return line.mark_rule(color=RULE, strokeDash=[2, 3]).encode(alt.Y(f"{field}:Q"))


def value_domain(
    column: polars.Series, *, from_zero: bool = True, room: float = 0, most: float = math.inf
) -> tuple[float, float]:
    """A round range that holds all known values of a column, and 0 unless `from_zero` is off.

    `room` is left beyond the values, as a share of what they span, but not below 0. No value can be above
    `most`, and the range does not go there.
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
