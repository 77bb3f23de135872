"""Charts of certainty: what was said, and what came true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sounding.core.lazy import alt, polars
from sounding.render.lines import series_signs
from sounding.render.style import RULE, data, names, needs, pane_title, titled

if TYPE_CHECKING:
    from sounding.render.style import Chart

SIDE = 260  # of a pane, in pixels
PANES_IN_ROW = 2


@needs("scenario", "claim", "pairs", "chance", "right")
def reliability_diagram(frame: polars.DataFrame) -> Chart:
    """Draw how often claims came true by how sure they were: a pane a scenario, a line a claim.

    Columns: `scenario`, `claim`, `chance` (the mean of a bin), `right` (the share that came true), `pairs`
    (how many the bin holds, drawn as the size of its point); optional `lower` and `upper`, an interval for
    `right`.
    """
    order = names(frame, "claim")
    panes = [
        _pane(frame.filter(polars.col("scenario") == scenario), order).properties(
            title=pane_title(scenario), width=SIDE, height=SIDE
        )
        for scenario in names(frame, "scenario")
    ]
    chart = alt.ConcatChart(concat=panes, columns=PANES_IN_ROW, spacing=28)
    note = "On the dotted line both are equal. Larger points stand for more pairs."
    return titled(chart, "Stated chance, and share that came true", [note])


def _pane(frame: polars.DataFrame, order: list[str]) -> alt.LayerChart:
    drawn = alt.Chart(data(frame))
    unit = alt.Scale(domain=[0, 1], nice=False)
    x = alt.X("chance:Q", title="stated chance", scale=unit)
    y = alt.Y("right:Q", title="share that came true", scale=unit)
    signs = series_signs("claim", order, points=True, title="claim", top=False)
    size = alt.Size("pairs:Q", scale=alt.Scale(type="sqrt", rangeMin=20, rangeMax=350), legend=None)
    tooltip = [
        alt.Tooltip("claim:N"), alt.Tooltip("chance:Q", format=".3f"), alt.Tooltip("right:Q", format=".3f"),
        alt.Tooltip("pairs:Q", format=","),
    ]  # fmt: skip
    ends = alt.Chart(alt.InlineData(values=[{"chance": 0, "right": 0}, {"chance": 1, "right": 1}]))
    layers = [ends.mark_line(color=RULE, strokeDash=[2, 3]).encode(x, y)]
    if {"lower", "upper"} <= set(frame.columns):
        bars = drawn.mark_rule(strokeWidth=1, opacity=0.5)
        layers.append(bars.encode(x, alt.Y("lower:Q", scale=unit), alt.Y2("upper:Q"), signs.color))
    layers.append(drawn.mark_line(strokeWidth=1.5).encode(x, y, signs.color, signs.dash))
    points = drawn.mark_point(filled=True, opacity=0.9)
    layers.append(points.encode(x, y, signs.color, signs.shape, size, tooltip=tooltip))
    return alt.LayerChart(layer=layers)
