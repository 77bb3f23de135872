"""Charts of how far orders of runs agree: between depths, pools, and parts of the judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sounding.report.charts.axes import PERCENT, depth_axis, depth_x, level_rule, pool_rule, value_domain
from sounding.report.charts.frames import MOST_CELLS, data, names, needs, span, thinned
from sounding.report.charts.series import Values, series_pane
from sounding.report.charts.style import CIVIDIS, INK, pane_title, titled

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.report.charts.style import Chart

TAU = "Kendall's τ"
VERY_CLOSE = 0.9  # orders that agree so far are taken for the same
STEPS = (0.5, 0.6, 0.7, 0.8)  # colours change here and at the threshold

# -- between depths --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Marked:
    """What a pane of agreement between depths marks beside its cells."""

    coefficient: str
    threshold: float
    pool_depth: int | None


@needs("k1", "k2", "agreement")
def volatility(
    frame: polars.DataFrame,
    *,
    coefficient: str = TAU,
    threshold: float = VERY_CLOSE,
    pool_depth: int | None = None,
) -> Chart:
    """How far the orders of the runs at any two depths agree (Lu et al., Figs. 5 to 7).

    Columns: `k1`, `k2`, `agreement`; optional `measure` (of k1) and `other` (of k2; else the same), a pane
    for each pair of them. A line parts the cells that reach the threshold from those that do not.
    """
    import altair as alt
    import polars

    kept, note = thinned(frame, "k1", keep=(pool_depth,), most=MOST_CELLS)
    kept, _ = thinned(kept, "k2", keep=(pool_depth,), most=MOST_CELLS)
    if "measure" not in kept.columns:
        kept = kept.with_columns(measure=polars.lit(""))
    if "other" not in kept.columns:
        kept = kept.with_columns(other=polars.col("measure"))
    marked = Marked(coefficient=coefficient, threshold=threshold, pool_depth=pool_depth)
    panes = [
        _volatility_pane(cells, str(measure), str(other), marked)
        for (measure, other), cells in kept.group_by(["measure", "other"], maintain_order=True)
    ]
    reached = (kept["agreement"] >= threshold).any()
    line = (
        f"The line parts pairs of depths whose orders agree to {threshold:g} or more from the others."
        if reached
        else f"No two depths have orders that agree to {threshold:g} or more."
    )
    return titled(
        alt.concat(*panes, columns=2 if len(panes) <= 4 else 3, spacing=30),
        f"Agreement of the orders of runs at two depths ({coefficient})",
        [line, note],
    )


def _volatility_pane(cells: polars.DataFrame, measure: str, other: str, marked: Marked) -> alt.LayerChart:
    import altair as alt

    across, up = sorted(cells["k1"].unique().to_list()), sorted(cells["k2"].unique().to_list())
    drawn = _with_sides(cells.select("k1", "k2", "agreement"), across, up)
    steps = [*(step for step in STEPS if step < marked.threshold), marked.threshold]
    colours = alt.Scale(type="threshold", domain=steps, range=[*CIVIDIS[: len(steps)], CIVIDIS[-1]])
    x, y = _side(measure, "k1", across), _side(other, "k2", up)
    legend = alt.Legend(gradientLength=200, format=".2~f")
    tiles = (
        alt.Chart(data(drawn))
        .mark_rect(strokeWidth=0.8)
        .encode(
            alt.X("left:Q", **x), alt.Y("bottom:Q", **y), alt.X2("right:Q"), alt.Y2("top:Q"),
            alt.Color("agreement:Q", title=marked.coefficient, scale=colours, legend=legend),
            # Cells would show hair lines between them without an edge of their own colour.
            alt.Stroke("agreement:Q", title=marked.coefficient, scale=colours, legend=legend),
            tooltip=[alt.Tooltip("k1:Q"), alt.Tooltip("k2:Q"), alt.Tooltip("agreement:Q", format=".3f")],
        )
    )  # fmt: skip
    layers = [tiles]
    border = _border(drawn, marked.threshold)
    if not border.is_empty():
        line = alt.Chart(data(border)).mark_rule(color=INK, strokeWidth=1.6, strokeCap="square")
        layers.append(line.encode(alt.X("left:Q"), alt.Y("bottom:Q"), alt.X2("right:Q"), alt.Y2("top:Q")))
    layers += pool_rule(marked.pool_depth, across[0], across[-1], "left")
    title = measure if measure == other else f"{measure} and {other}"
    return alt.LayerChart(layer=layers).properties(width=330, height=330, title=pane_title(title))


def _side(measure: str, depth: str, depths: Sequence[int]) -> dict[str, Any]:
    """Title, axis and scale of one side of the square."""
    import altair as alt

    edges = cell_edges(depths)
    return {
        "title": f"depth {depth} of {measure} (log scale)" if measure else f"depth {depth} (log scale)",
        "axis": depth_axis(depths[0], depths[-1]),
        "scale": alt.Scale(type="log", domain=[edges[0], edges[-1]], nice=False),
    }


def cell_edges(depths: Sequence[int]) -> list[float]:
    """Where the cells of depths meet on a log axis: halfway between neighbours, as far out at the ends."""
    inner = [(one * next_one) ** 0.5 for one, next_one in pairwise(depths)]
    if not inner:
        return [depths[0] / 1.5, depths[0] * 1.5]
    return [depths[0] ** 2 / inner[0], *inner, depths[-1] ** 2 / inner[-1]]


def _with_sides(cells: polars.DataFrame, across: Sequence[int], up: Sequence[int]) -> polars.DataFrame:
    """The cells with the four edges of each."""
    from polars import Float64, col

    left, low = cell_edges(across), cell_edges(up)
    return cells.with_columns(
        left=col("k1").replace_strict(across, left[:-1], return_dtype=Float64),
        right=col("k1").replace_strict(across, left[1:], return_dtype=Float64),
        bottom=col("k2").replace_strict(up, low[:-1], return_dtype=Float64),
        top=col("k2").replace_strict(up, low[1:], return_dtype=Float64),
    )


def _border(cells: polars.DataFrame, threshold: float) -> polars.DataFrame:
    """The edges between a cell that reaches the threshold and a neighbour that does not."""
    import polars

    reached = polars.col("agreement") >= threshold
    beside = cells.sort("k2", "k1").with_columns(before=reached.shift(1).over("k2"))
    below = cells.sort("k1", "k2").with_columns(before=reached.shift(1).over("k1"))
    changes = reached != polars.col("before")
    upright = beside.filter(changes).select("left", right="left", bottom="bottom", top="top")
    level = below.filter(changes).select("left", right="right", bottom="bottom", top="bottom")
    return polars.concat([upright, level])


# -- with the full order ---------------------------------------------------------------------------


@needs("measure", "depth", "agreement")
def agreement_by_pool_depth(frame: polars.DataFrame, *, coefficient: str = TAU) -> Chart:
    """How far a shallower pool orders the runs as the full pool does, one line a measure.

    Columns: `measure`, `depth`, `agreement`; optional `lower` and `upper`.
    """
    x = depth_x(*span(frame, "depth"), "depth", "pool depth (log scale)")
    return titled(
        _agreement(frame, x, coefficient),
        "Agreement with the order by the full pool as the pool deepens",
        [f"The dotted line marks {VERY_CLOSE:g}."],
    )


@needs("measure", "share", "agreement")
def agreement_by_share_kept(frame: polars.DataFrame, *, coefficient: str = TAU) -> Chart:
    """How far a part of the judgments orders the runs as all of them do, one line a measure.

    Columns: `measure`, `share` (0 to 1), `agreement`; optional `lower` and `upper`.
    """
    import altair as alt

    axis = alt.Axis(format=PERCENT, tickCount=10)
    full_first = alt.Scale(domain=[1, 0], nice=False)
    x = alt.X("share:Q", title="share of the judgments kept", axis=axis, scale=full_first)
    return titled(
        _agreement(frame, x, coefficient),
        "Agreement with the order by all judgments as fewer are kept",
        [f"The dotted line marks {VERY_CLOSE:g}."],
    )


def _agreement(frame: polars.DataFrame, x: alt.X, coefficient: str) -> alt.LayerChart:
    import altair as alt
    import polars

    shown = frame.select(column for column in ("measure", "depth", "share", "agreement", "lower", "upper")
                         if column in frame.columns)  # fmt: skip
    drawn = [
        shown[column].cast(float) for column in ("agreement", "lower", "upper") if column in shown.columns
    ]
    low, _ = value_domain(polars.concat([column.rename("") for column in drawn]), from_zero=False)
    domain = (min(low, VERY_CLOSE), 1.0)
    values = Values(column="agreement", title=f"{coefficient} with the full order", domain=domain)
    lines = series_pane(shown, x, values, "measure", names(shown, "measure"))
    return alt.LayerChart(layer=[lines, level_rule(VERY_CLOSE, "agreement")]).properties(
        width=480, height=300
    )
