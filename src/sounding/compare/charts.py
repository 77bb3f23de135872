"""Charts of a comparison: differences between runs with their intervals, and of one pair by topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sounding.core.lazy import alt, polars
from sounding.core.text import natural_places, plural
from sounding.render.style import (
    COLORS,
    COLUMN,
    COLUMN_HEIGHT,
    FAINT,
    RULE,
    data,
    names,
    needs,
    pane_title,
    titled,
    value_domain,
)

if TYPE_CHECKING:
    from sounding.compare.result import Comparison
    from sounding.render.style import Chart

SHOWN = 30  # pairs of a measure that a chart has room for
NAMED_TOPICS = 27  # more names than this do not fit below a pane
ROOM = 0.04  # beyond the ends of the intervals, so that none touches the frame
STRENGTHS = {  # color and shape: both tell, so that neither is needed
    "strong": (COLORS[0], "circle"), "weak": (COLORS[1], "square"), "not known": (FAINT, "diamond"),
}  # fmt: skip


@needs("pair", "measure", "difference", "lower", "upper")
def difference_intervals(frame: polars.DataFrame, *, of: int | None = None) -> Chart:
    """The difference of every pair with its interval, the measures side by side, pairs as they come.

    Columns: `pair`, `measure`, `difference`, `lower`, `upper` (null: no limit); optional `strength` (strong,
    weak, null where not known), a color and a shape each. `of`: how many pairs there are, where the frame
    has some of them.
    """
    if "strength" not in frame.columns:
        frame = frame.with_columns(strength=polars.lit(None, polars.String))
    drawn = frame.with_columns(polars.col("strength").fill_null("not known"))
    # One scale for all panes: a color means the same in each, whichever of them occur there.
    seen = [name for name in STRENGTHS if name in set(names(drawn, "strength"))]
    panes = [
        _interval_pane(drawn.filter(polars.col("measure") == measure), measure, seen)
        for measure in names(frame, "measure")
    ]
    return titled(
        alt.hconcat(*panes, spacing=30),
        f"Differences of {_how_many(frame['pair'].n_unique(), of)} of runs with their intervals",
        ["The first run minus the second. Each interval is for its pair alone, without correction."],
    )


def _how_many(shown: int, of: int | None) -> str:
    return plural(shown, "pair") if of is None or of <= shown else f"{shown:,} of {plural(of, 'pair')}"


def _interval_pane(frame: polars.DataFrame, measure: str, seen: Sequence[str]) -> alt.LayerChart:
    pairs = names(frame, "pair")
    columns = [frame[name].cast(polars.Float64) for name in ("difference", "lower", "upper")]
    low, high = value_domain(polars.concat([*columns, polars.Series([0.0])]), from_zero=False, room=ROOM)
    ends: list[float] = polars.concat(columns).drop_nulls().drop_nans().to_list()
    if max(map(abs, ends), default=2) <= 1:  # differences of values from 0 to 1: no axis beyond their range
        low, high = max(low, -1.0), min(high, 1.0)
    y = alt.Y("pair:N", sort=pairs, title=None, axis=alt.Axis(grid=False))
    scale = alt.Scale(domain=[low, high], nice=False)
    title = f"difference in {measure}, mean over topics"
    few = alt.Axis(tickCount=5)
    x = alt.X("difference:Q", scale=scale, title=title, axis=few)
    legend = alt.Legend(title="case", orient="top") if len(seen) > 1 else None
    colors, shapes = (
        alt.Scale(domain=seen, range=[STRENGTHS[name][side] for name in seen]) for side in (0, 1)
    )
    color = alt.Color("strength:N", scale=colors, legend=legend)
    tooltip = [
        alt.Tooltip("pair:N"), alt.Tooltip("strength:N"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("difference", "lower", "upper")),
    ]  # fmt: skip
    base = alt.Chart(data(frame.select("pair", "strength", "difference", "lower", "upper")))
    zero = alt.Chart(alt.InlineData(values=[{"difference": 0}])).mark_rule(color=RULE, strokeDash=[2, 3])
    bars = base.mark_rule(strokeWidth=1.6).encode(
        alt.X("lower:Q", scale=scale, title=title, axis=few), y, alt.X2("upper:Q"), color, tooltip=tooltip
    )
    points = base.mark_point(filled=True, size=55, opacity=1).encode(
        x, y, color, alt.Shape("strength:N", scale=shapes, legend=legend), tooltip=tooltip
    )
    layers = [zero.encode(alt.X("difference:Q", title=title)), bars, points]
    height = max(60, 18 * len(pairs))
    return alt.LayerChart(layer=layers).properties(width=240, height=height, title=pane_title(measure))


@needs("topic", "measure", "difference")
def topic_differences(frame: polars.DataFrame, *, runs: tuple[str, str] = ("run_a", "run_b")) -> Chart:
    """The difference between two runs topic by topic, the largest first, measures under each other.

    Columns: `topic`, `measure`, `difference`. `runs` names the two.
    """
    panes = [
        _topic_pane(frame.filter(polars.col("measure") == measure), measure, runs)
        for measure in names(frame, "measure")
    ]
    return titled(
        alt.vconcat(*panes, spacing=25),
        f"{runs[0]} and {runs[1]} topic by topic",
        [f"Above 0 {runs[0]} is better, below {runs[1]}. The dotted line is the mean."],
    )


def _topic_pane(frame: polars.DataFrame, measure: str, runs: tuple[str, str]) -> alt.LayerChart:
    better = (
        polars.when(polars.col("difference") >= 0).then(polars.lit(runs[0])).otherwise(polars.lit(runs[1]))
    )
    named = frame[natural_places(frame["topic"].to_list())]
    drawn = named.select("topic", "difference", better=better).sort(
        polars.col("difference").fill_nan(None), descending=True, nulls_last=True, maintain_order=True
    )
    topics = names(drawn, "topic")
    few = len(topics) <= NAMED_TOPICS
    axis = alt.Axis(labels=few, ticks=few, labelAngle=-60, labelOverlap=False, grid=False)
    x = alt.X("topic:N", sort=topics, title=plural(len(topics), "topic"), axis=axis)
    ends = polars.concat([drawn["difference"].cast(polars.Float64), polars.Series([0.0])])
    low, high = value_domain(ends, from_zero=False, room=ROOM)
    y = alt.Y(
        "difference:Q", scale=alt.Scale(domain=[low, high], nice=False), title=f"difference in {measure}"
    )
    color = alt.Color(
        "better:N",
        scale=alt.Scale(domain=list(runs), range=list(COLORS[:2])),
        legend=alt.Legend(title="better", orient="top"),
    )
    tooltip = [alt.Tooltip("topic:N"), alt.Tooltip("difference:Q", format="+.4f"), alt.Tooltip("better:N")]
    bars = alt.Chart(data(drawn)).mark_bar().encode(x, y, color, tooltip=tooltip)
    mean = drawn["difference"].drop_nans().mean()
    line = alt.Chart(alt.InlineData(values=[{"difference": mean or 0.0}]))
    layers = [bars, line.mark_rule(color=RULE, strokeDash=[2, 3]).encode(alt.Y("difference:Q"))]
    width = min(max(11 * len(topics), 160), COLUMN)
    return alt.LayerChart(layer=layers).properties(
        width=width, height=COLUMN_HEIGHT, title=pane_title(measure)
    )


def chart_of(comparison: Comparison, top: int | None = None) -> Chart:
    """The first pairs with their intervals; of one pair, its differences by topic."""
    if len(comparison.pairs) == 1:
        rows = [
            {"topic": topic, "measure": str(measure), "difference": gap}
            for number, measure in enumerate(comparison.measures)
            for topic, gap in zip(comparison.topics, comparison.gaps(number)[0].tolist(), strict=True)
            if not np.isnan(gap)
        ]  # fmt: skip
        return topic_differences(polars.DataFrame(rows), runs=comparison.names(0))
    shown: dict[int, list[tuple[int, int]]] = {}
    for number, pair in comparison.by_rank():
        shown.setdefault(number, []).append((number, pair))
    most = SHOWN if top is None else top
    kept = [row for number in sorted(shown) for row in shown[number][:most]]
    found = comparison.columns(kept)
    frame = polars.DataFrame(
        {
            "pair": [f"{a} – {b}" for a, b in zip(found["run_a"], found["run_b"], strict=True)],
            "measure": found["measure"], "difference": found["difference"],
            "lower": found["ci_low"], "upper": found["ci_high"], "strength": found["strength"],
        },
        schema_overrides={"strength": polars.String},
    )  # fmt: skip
    return difference_intervals(frame, of=len(comparison.pairs))
