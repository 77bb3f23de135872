"""Charts over depth: values, residuals and outcomes by k; agreement of orderings; means with intervals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

from sounding.core.errors import DataError
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.depth.fewer_judgments import JudgmentSubsets, PoolDepths
from sounding.depth.intervals import PairOverDepth
from sounding.depth.over_depth import EARLY
from sounding.depth.result import DepthStudy
from sounding.depth.tables import volatilities
from sounding.render import lines, style

LEAST_WEIGHT = 1e-5  # smaller weights are nothing for a reader, and stretch the axis without end


# -- one line a run --------------------------------------------------------------------------------


@style.needs("run", "measure", "k", "value")
def values_over_k(
    frame: polars.DataFrame, *, reference_k: int | None = None, pool_depth: int | None = None
) -> style.Chart:
    """The value of every run at every depth (Lu et al., Figs. 2 and 3).

    Columns: `run`, `measure`, `k`, `value`; optional `form` (such as plain and condensed). Forms stand
    side by side, and measures under each other; with one form two measures stand side by side.
    """
    title = "{measures} of {runs} as evaluation goes deeper"
    return _curves(frame, "value", lines.PERFORMANCE, title, reference_k, pool_depth)


@style.needs("run", "measure", "k", "residual")
def residuals_over_k(
    frame: polars.DataFrame, *, reference_k: int | None = None, pool_depth: int | None = None
) -> style.Chart:
    """Draw how much unjudged documents and deeper ranks could add to every run's value, by depth.

    Columns: `run`, `measure`, `k`, `residual`; optional `form`.
    """
    title = "How much {measures} of {runs} may still grow, by evaluation depth"
    return _curves(frame, "residual", lines.AMOUNT, title, reference_k, pool_depth)


def _curves(
    frame: polars.DataFrame, column: str, words: Sequence[str], title: str,
    reference_k: int | None, pool_depth: int | None,
) -> style.Chart:  # fmt: skip
    """A pane for each measure and form, with one line for each run."""
    depths, reference = style.span(frame), lines.reference_depth(frame, reference_k)
    kept, note = style.thinned(frame, keep=(reference, pool_depth))
    kept = kept if "form" in kept.columns else kept.with_columns(form=polars.lit(""))
    measures = style.names(kept, "measure")
    width = 290 if len(measures) > 1 or kept["form"].n_unique() > 1 else 380  # two with labels fit a page
    stacked = []
    for measure in measures:
        of_measure = kept.filter(polars.col("measure") == measure)
        panes = []
        forms = style.names(of_measure, "form")
        for form in forms:
            pane = lines.RunPane(
                column=column, title=f"{measure}, {form}" if len(forms) > 1 else measure, words=words,
                column_title=f"{column} of {measure}@k, mean over topics",
                domain=style.value_domain(of_measure[column]), depths=depths, reference_k=reference,
                pool_depth=pool_depth, width=width,
            )  # fmt: skip
            panes.append(lines.run_pane(of_measure.filter(polars.col("form") == form), pane))
        stacked.append(panes)
    runs = frame["run"].n_unique()
    notes = [*lines.standing_notes(frame, column, words, reference), note]
    said = title.format(measures=_listed(measures), runs=plural(runs, "run"))
    if all(len(panes) == 1 for panes in stacked):  # two measures abreast fill the page as well as two forms
        return style.titled(alt.concat(*(panes[0] for panes in stacked), columns=2, spacing=30), said, notes)
    rows = [alt.hconcat(*panes, spacing=30) for panes in stacked]
    return style.titled(alt.vconcat(*rows, spacing=30), said, notes)


def _listed(measures: Sequence[str]) -> str:
    return " and ".join(measures) if len(measures) < 3 else plural(len(measures), "measure")


# -- one line a measure ----------------------------------------------------------------------------


SIX_PANES = (
    ("(a) median p", "median_p", "median p-value of all pairs", True, ""),
    ("(b) discrimination", "discrimination", "pairs that differ", False, style.PERCENT),
    ("(c) coverage", "coverage", "significant pairs confirmed", False, style.PERCENT),
    ("(d) inversion", "inversion", "significant pairs reversed", True, style.PERCENT),
    ("(e) Kendall's τ", "tau", "τ with the reference", False, ""),
    ("(f) Pearson's r", "pearson", "r with the reference", False, ""),
)  # title of the pane, column, title of the upright axis, whether it begins at 0, format


@style.needs("measure", "k", "median_p", "discrimination", "coverage", "inversion", "tau", "pearson")
def stability_over_k(
    frame: polars.DataFrame, *, reference: str, pool_depth: int | None = None
) -> style.Chart:
    """Six ways in which outcomes depend on the depth, one line a measure (Lu et al., Fig. 4).

    Columns: `measure`, `k`, `median_p`, `discrimination`, `coverage`, `inversion`, `tau`, `pearson`;
    `discrimination`, `coverage` and `inversion` are shares from 0 to 1. `reference` names what the last
    four are held against.
    """
    kept, note = style.thinned(frame, keep=(pool_depth,), most=style.MOST_POINTS)
    measures, depths = style.names(kept, "measure"), style.span(kept)
    panes = []
    for title, column, axis, from_zero, shown_as in SIX_PANES:
        domain = style.value_domain(kept[column], from_zero=from_zero, most=1.0)
        values = lines.Values(column=column, title=axis, domain=domain, format=shown_as)
        shown = kept.select("measure", "k", column)
        curves = lines.series_pane(shown, style.depth_x(*depths), values, "measure", measures, top=True)
        pane = alt.LayerChart(layer=[curves, *style.pool_rule(pool_depth, *depths)])
        panes.append(pane.properties(width=340, height=190, title=style.pane_title(title)))
    return style.titled(
        alt.concat(*panes, columns=2, spacing=20),
        f"How outcomes by {_listed(measures)} change with evaluation depth",
        [f"Panes (c) to (f) compare each depth with {reference}. Vertical scales differ.", note],
    )


@style.needs("measure", "k", "tau")
def ranking_over_k(frame: polars.DataFrame, *, reference: str, pool_depth: int | None = None) -> style.Chart:
    """Draw the agreement of the ranking at each depth with the reference, one line a measure.

    Columns: `measure`, `k`, `tau`. `reference` names the ranking that all others are compared with.
    """
    kept, note = style.thinned(frame, keep=(pool_depth,), most=style.MOST_POINTS)
    measures, depths = style.names(kept, "measure"), style.span(kept)
    domain = style.value_domain(kept["tau"], from_zero=False, most=1.0)
    values = lines.Values(column="tau", title=f"{style.TAU} with the reference", domain=domain)
    shown = kept.select("measure", "k", "tau")
    curves = lines.series_pane(shown, style.depth_x(*depths), values, "measure", measures, top=True)
    pane = alt.LayerChart(layer=[curves, *style.pool_rule(pool_depth, *depths)])
    return style.titled(
        pane.properties(width=style.COLUMN, height=style.COLUMN_HEIGHT),
        "Does the ranking depend on the depth?",
        [f"Agreement of the ranking at each depth with {reference}.", note],
    )


@style.needs("measure", "k", "rank", "weight")
def rank_weights(frame: polars.DataFrame) -> style.Chart:
    """Return how much the document at each rank counts when evaluation stops at k, one line a k.

    Columns: `measure`, `k`, `rank`, `weight`. Measures stand side by side; both axes are log scales, and
    weights below 0.00001 are cut off.
    """
    every = sorted(frame["k"].unique().to_list())
    depths = _some(every, len(style.COLORS))
    chosen = frame.filter(polars.col("k").is_in(depths))
    kept, note = style.thinned(chosen, "rank", keep=depths, most=style.MOST_POINTS)
    left_out = ", ".join(f"{k:,}" for k in every if k not in depths)
    named = {k: f"k = {k:,}" for k in depths}
    depth = polars.col("k").replace_strict(named, return_dtype=polars.String)
    weight = polars.col("weight").cast(polars.Float64)
    shown = polars.when(weight.is_finite() & (weight > 0)).then(weight)  # a log axis has no place for 0
    drawn = kept.with_columns(depth=depth, weight=shown)
    x = style.depth_x(*style.span(kept, "rank"), "rank", "rank (log scale)")
    panes = [
        _weight_pane(drawn.filter(polars.col("measure") == measure), x, list(named.values()))
        .properties(width=300, height=240, title=style.pane_title(measure))
        for measure in style.names(kept, "measure")
    ]  # fmt: skip
    return style.titled(
        alt.concat(*panes, columns=2, spacing=20), "Weight of each rank by evaluation depth",
        [note, f"Not drawn, for want of colors: k = {left_out}." if left_out else ""],
    )  # fmt: skip


def _some(depths: Sequence[int], most: int) -> list[int]:
    """Return at most this many of them, evenly spaced, with the first and the last."""
    if len(depths) <= most:
        return list(depths)
    return [depths[round(step * (len(depths) - 1) / (most - 1))] for step in range(most)]


def _weight_pane(frame: polars.DataFrame, x: alt.X, depths: Sequence[str]) -> alt.LayerChart:
    known = frame["weight"].drop_nulls().to_list() or [1.0]
    domain = (max(min(known), LEAST_WEIGHT), max(known))
    values = lines.Values(
        column="weight", title="weight of the rank (log scale)", domain=domain, format="~g", log=True
    )
    return lines.series_pane(frame.select("depth", "rank", "weight"), x, values, "depth", depths)


STEPS = (0.5, 0.6, 0.7, 0.8)  # colors change here and at the threshold

# -- between depths --------------------------------------------------------------------------------


@style.needs("k1", "k2", "agreement")
def volatility(
    frame: polars.DataFrame,
    *,
    coefficient: str = style.TAU,
    threshold: float = style.VERY_CLOSE,
    pool_depth: int | None = None,
) -> style.Chart:
    """Return how far the orders of the runs at any two depths agree (Lu et al., Figs. 5 to 7).

    Columns: `k1`, `k2`, `agreement`; optional `measure` (of k1) and `other` (of k2; else the same), a pane
    for each pair of them. A line parts the cells that reach the threshold from those that do not.
    """
    kept, note = style.thinned(frame, "k1", keep=(pool_depth,), most=style.MOST_CELLS)
    kept, _ = style.thinned(kept, "k2", keep=(pool_depth,), most=style.MOST_CELLS)
    if "measure" not in kept.columns:
        kept = kept.with_columns(measure=polars.lit(""))
    if "other" not in kept.columns:
        kept = kept.with_columns(other=polars.col("measure"))
    panes = [
        _volatility_pane(cells, str(measure), str(other), coefficient, threshold, pool_depth)
        for (measure, other), cells in kept.group_by(["measure", "other"], maintain_order=True)
    ]
    reached = (kept["agreement"] >= threshold).any()
    line = (
        f"Lines surround pairs of depths whose rankings agree with {threshold:g} or more."
        if reached
        else f"No two depths have orders that agree to {threshold:g} or more."
    )
    return style.titled(
        alt.concat(*panes, columns=2 if len(panes) <= 4 else 3, spacing=30),
        f"Agreement of the orders of runs at two depths ({coefficient})",
        [line, note],
    )


def _volatility_pane(
    cells: polars.DataFrame, measure: str, other: str, coefficient: str, threshold: float,
    pool_depth: int | None,
) -> alt.LayerChart:  # fmt: skip
    """Cells colored by agreement, a line around those that reach the threshold, and the pool depth."""
    across, up = sorted(cells["k1"].unique().to_list()), sorted(cells["k2"].unique().to_list())
    drawn = _with_sides(cells.select("k1", "k2", "agreement"), across, up)
    steps = [*(step for step in STEPS if step < threshold), threshold]
    shades = [*style.CIVIDIS[: len(steps)], style.CIVIDIS[-1]]
    colors = alt.Scale(type="threshold", domain=steps, range=shades)
    x, y = _side(measure, "k1", across), _side(other, "k2", up)
    legend = alt.Legend(gradientLength=200, format=".2~f")
    tiles = (
        alt.Chart(style.data(drawn))
        .mark_rect(strokeWidth=0.8)
        .encode(
            alt.X("left:Q", **x), alt.Y("bottom:Q", **y), alt.X2("right:Q"), alt.Y2("top:Q"),
            alt.Color("agreement:Q", title=coefficient, scale=colors, legend=legend),
            # Cells would show hair lines between them without an edge of their own color.
            alt.Stroke("agreement:Q", title=coefficient, scale=colors, legend=legend),
            tooltip=[alt.Tooltip("k1:Q"), alt.Tooltip("k2:Q"), alt.Tooltip("agreement:Q", format=".3f")],
        )
    )  # fmt: skip
    layers = [tiles]
    border = _border(drawn, threshold)
    if not border.is_empty():
        line = alt.Chart(style.data(border)).mark_rule(color=style.INK, strokeWidth=1.6, strokeCap="square")
        layers.append(line.encode(alt.X("left:Q"), alt.Y("bottom:Q"), alt.X2("right:Q"), alt.Y2("top:Q")))
    layers += style.pool_rule(pool_depth, across[0], across[-1], "left")
    title = measure if measure == other else f"{measure} and {other}"
    return alt.LayerChart(layer=layers).properties(width=330, height=330, title=style.pane_title(title))


def _side(measure: str, depth: str, depths: Sequence[int]) -> dict[str, Any]:
    """Title, axis and scale of one side of the square."""
    edges = cell_edges(depths)
    return {
        "title": f"depth {depth} of {measure} (log scale)" if measure else f"depth {depth} (log scale)",
        "axis": style.depth_axis(depths[0], depths[-1]),
        "scale": alt.Scale(type="log", domain=[edges[0], edges[-1]], nice=False),
    }


def cell_edges(depths: Sequence[int]) -> list[float]:
    """Return the edges of cells on a log axis: halfway between neighbors, and as far out at both ends."""
    inner = [(one * next_one) ** 0.5 for one, next_one in pairwise(depths)]
    if not inner:
        return [depths[0] / 1.5, depths[0] * 1.5]
    return [depths[0] ** 2 / inner[0], *inner, depths[-1] ** 2 / inner[-1]]


def _with_sides(cells: polars.DataFrame, across: Sequence[int], up: Sequence[int]) -> polars.DataFrame:
    """The cells with the four edges of each."""

    def edge(column: str, depths: Sequence[int], edges: Sequence[float]) -> polars.Expr:
        return polars.col(column).replace_strict(depths, edges, return_dtype=polars.Float64)

    left, low = cell_edges(across), cell_edges(up)
    return cells.with_columns(
        left=edge("k1", across, left[:-1]), right=edge("k1", across, left[1:]),
        bottom=edge("k2", up, low[:-1]), top=edge("k2", up, low[1:]),
    )  # fmt: skip


def _border(cells: polars.DataFrame, threshold: float) -> polars.DataFrame:
    """The edges between a cell that reaches the threshold and a neighbor that does not."""
    reached = polars.col("agreement") >= threshold
    beside = cells.sort("k2", "k1").with_columns(before=reached.shift(1).over("k2"))
    below = cells.sort("k1", "k2").with_columns(before=reached.shift(1).over("k1"))
    changes = reached != polars.col("before")
    upright = beside.filter(changes).select("left", right="left", bottom="bottom", top="top")
    level = below.filter(changes).select("left", right="right", bottom="bottom", top="bottom")
    return polars.concat([upright, level])


# -- with the full order ---------------------------------------------------------------------------


@style.needs("measure", "depth", "agreement")
def agreement_by_pool_depth(frame: polars.DataFrame, *, coefficient: str = style.TAU) -> style.Chart:
    """Return how far a shallower pool orders the runs as the full pool does, one line a measure.

    Columns: `measure`, `depth`, `agreement`; optional `lower` and `upper`.
    """
    x = style.depth_x(*style.span(frame, "depth"), "depth", "pool depth (log scale)")
    title = "Agreement with the order by the full pool as the pool deepens"
    return _agreement(frame, "depth", x, coefficient, title)


@style.needs("measure", "share", "agreement")
def agreement_by_share_kept(frame: polars.DataFrame, *, coefficient: str = style.TAU) -> style.Chart:
    """Return how far a part of the judgments orders the runs as all of them do, one line a measure.

    Columns: `measure`, `share` (0 to 1), `agreement`; optional `lower` and `upper`.
    """
    axis = alt.Axis(format=style.PERCENT, tickCount=10)
    full_first = alt.Scale(domain=[1, 0], nice=False)
    x = alt.X("share:Q", title="share of the judgments kept", axis=axis, scale=full_first)
    title = "Agreement with the order by all judgments as fewer are kept"
    return _agreement(frame, "share", x, coefficient, title)


def _agreement(frame: polars.DataFrame, across: str, x: alt.X, coefficient: str, title: str) -> style.Chart:
    """Lines of agreement with the full order, with bands where the frame has them, and the threshold."""
    drawn = [name for name in ("agreement", "lower", "upper") if name in frame.columns]
    shown = frame.select("measure", across, *drawn)
    low, _ = style.value_domain(_one_column(frame, drawn), from_zero=False)
    domain = (min(low, style.VERY_CLOSE), 1.0)
    values = lines.Values(column="agreement", title=f"{coefficient} with the full order", domain=domain)
    curves = lines.series_pane(shown, x, values, "measure", style.names(shown, "measure"))
    chart = alt.LayerChart(layer=[curves, style.level_rule(style.VERY_CLOSE, "agreement")])
    note = f"The dotted line marks {style.VERY_CLOSE:g}."
    return style.titled(chart.properties(width=style.COLUMN, height=style.COLUMN_HEIGHT), title, [note])


def _one_column(frame: polars.DataFrame, columns: Sequence[str]) -> polars.Series:
    """The numbers of several columns under each other."""
    return polars.concat([frame[column].cast(float).rename("") for column in columns])


NAMED_RUNS = 30  # more names than this do not fit below a pane: runs are numbered
ABREAST = 1000  # pixels that the panes of all measures take together
ROOM = 0.04  # beyond the ends of the intervals, so that none touches the frame
ASIDE = 0.02  # of a depth: how far beside it each of two bars stands
CASE_WORDS = {1: "case 1|strong", 2: "case 2|weak", 3: "case 3|strong", 4: "case 4|weak"}
FEW_DEPTHS = 8  # more labels than this run into each other: they are cut to the number of the case


@style.needs("run", "measure", "k", "mean", "lower", "upper")
def means_with_intervals(
    frame: polars.DataFrame, *, order: Sequence[str] | None = None, ordered: str = "the one given"
) -> style.Chart:
    """Mean and comparison interval of every run, in one order throughout (Baillie et al., Figs. 5 to 10).

    Columns: `run`, `measure`, `k`, `mean`, `lower`, `upper`. Measures stand side by side (performance and
    assessment), depths under each other. Runs stand in the order given, or by the first measure at the least
    k, best first; `ordered` says what the order given is. Two runs differ significantly where their
    intervals are disjoint; `lower` and `upper` are not known where no pair does by a test of all runs.
    """
    measures, depths = style.names(frame, "measure"), sorted(frame["k"].unique().to_list())
    runs = list(order) if order is not None else _by_first(frame, measures[0], depths[0])
    lacking = [run for run in style.names(frame, "run") if run not in set(runs)]
    if lacking:
        raise DataError(f"order of runs: {lacking[0]!r} is not in it; expected every run of the frame")
    place = polars.col("run").replace_strict(runs, range(1, len(runs) + 1), return_dtype=polars.Int64)
    drawn = frame.with_columns(place=place)
    domains = {
        measure: _interval_domain(drawn.filter(polars.col("measure") == measure)) for measure in measures
    }
    width = min(max(6 * len(runs), 160), 460, max(ABREAST // len(measures), 160))
    stacked = []
    for k in depths:
        at_depth = drawn.filter(polars.col("k") == k)
        panes = [
            _interval_pane(at_depth.filter(polars.col("measure") == measure), runs, domains[measure],
                           f"{measure}@{k:,}", width, last=k == depths[-1])
            for measure in style.names(at_depth, "measure")
        ]  # fmt: skip
        stacked.append(alt.hconcat(*panes, spacing=25))
    named = ordered if order is not None else f"by {measures[0]}@{depths[0]}, best first"
    return style.titled(
        alt.vconcat(*stacked, spacing=12),
        f"Means of {plural(len(runs), 'run')} with comparison intervals",
        [
            "Two runs differ significantly where their intervals are disjoint.",
            "No interval: the F test over all runs finds no difference, or the values do not vary by topic."
            if frame["lower"].fill_nan(None).null_count()
            else "",
            f"All panes show the runs in the same order: {named}.",
        ],
    )


def _by_first(frame: polars.DataFrame, measure: str, k: int) -> list[str]:
    """Runs from the highest mean to the lowest, by name where equal; those without that mean last."""
    at_first = frame.filter((polars.col("measure") == measure) & (polars.col("k") == k))
    means = at_first.with_columns(polars.col("mean").fill_nan(None))
    known = means.sort(["mean", "run"], descending=[True, False], nulls_last=True)["run"].to_list()
    return list(dict.fromkeys([*known, *style.names(frame, "run")]))


def _interval_domain(frame: polars.DataFrame) -> tuple[float, float]:
    """A range that holds every mean and the ends of its interval, if it has one."""
    drawn = _one_column(frame, ("mean", "lower", "upper"))
    alone = drawn.fill_nan(None).drop_nulls().n_unique() == 1
    return style.value_domain(drawn, from_zero=alone, room=ROOM)


def _interval_tooltip(place: str) -> list[alt.Tooltip]:
    numbers = [alt.Tooltip(f"{name}:Q", format=".4f") for name in ("mean", "lower", "upper")]
    return [alt.Tooltip("run:N"), alt.Tooltip(place), *numbers]


def _interval_pane(
    frame: polars.DataFrame, runs: Sequence[str], domain: tuple[float, float], title: str, width: int, *,
    last: bool,
) -> alt.LayerChart:  # fmt: skip
    """A point and a bar for each run; the names, or numbers, of runs stand below the last pane."""
    shown = frame.select("run", "place", "mean", "lower", "upper")
    base = alt.Chart(style.data(shown))
    if len(runs) <= NAMED_RUNS:
        axis = alt.Axis(labels=last, ticks=last, labelAngle=-60, labelOverlap=False, grid=False)
        x = alt.X("run:N", sort=list(runs), scale=alt.Scale(domain=list(runs)), title=None, axis=axis)
    else:
        numbered = alt.Scale(domain=[0.5, len(runs) + 0.5], nice=False)
        x = alt.X("place:Q", title="place of the run in the order" if last else None, scale=numbered,
                  axis=alt.Axis(tickMinStep=1, grid=False))  # fmt: skip
    values = lines.Values(column="mean", title="mean", domain=domain)
    tooltip = _interval_tooltip("place:Q")
    bars = base.mark_rule(color="#7a7a7a", strokeWidth=1.2)
    points = base.mark_point(filled=True, size=18, color=style.COLORS[0], opacity=1)
    layers = [
        bars.encode(x, values.y("lower"), alt.Y2("upper:Q"), tooltip=tooltip),
        points.encode(x, values.y(), tooltip=tooltip),
    ]
    return alt.LayerChart(layer=layers).properties(width=width, height=150, title=style.pane_title(title))


@style.needs("run", "measure", "k", "mean", "lower", "upper")
def pair_over_depth(frame: polars.DataFrame, *, pool_depth: int | None = None) -> style.Chart:
    """Two runs at growing depths with error bars, and the pair's case at each (Baillie et al., Figs. 4, 11).

    Columns: `run` (two of them), `measure`, `k`, `mean`, `lower`, `upper`; optional `case` (1 to 4, 0 or
    null where not tested), the same in all rows of a k. Measures stand side by side.
    """
    runs = style.names(frame, "run")
    if len(runs) != 2:
        raise DataError(f"chart pair_over_depth: {plural(len(runs), 'run')} in the frame; expected two")
    panes = [
        _pair_pane(frame.filter(polars.col("measure") == measure), measure, runs, pool_depth)
        for measure in style.names(frame, "measure")
    ]
    has_cases = "case" in frame.columns
    return style.titled(
        alt.hconcat(*panes, spacing=30),
        f"{runs[0]} and {runs[1]} as evaluation goes deeper",
        [
            "Above each depth: its case in the decision matrix; 1 and 3 are strong, 2 and 4 weak."
            if has_cases
            else "",
            f"The dotted line marks the pool depth, {pool_depth:,}." if pool_depth is not None else "",
        ],
    )


def _pair_pane(
    frame: polars.DataFrame, measure: str, runs: Sequence[str], pool_depth: int | None
) -> alt.LayerChart:

    depths = sorted(frame["k"].unique().to_list())
    # Bars at one depth would hide each other: the two runs stand a little to each side of it.
    side = polars.when(polars.col("run") == runs[0]).then(1 - ASIDE).otherwise(1 + ASIDE)
    shown = frame.select("run", "k", "mean", "lower", "upper", beside=polars.col("k") * side)
    base = alt.Chart(style.data(shown))
    axis = alt.Axis(values=depths, format=",d", labelOverlap=True, labelSeparation=4, grid=False)
    scale = alt.Scale(type="log", domain=[depths[0] / 1.25, depths[-1] * 1.25], nice=False)
    x = alt.X("beside:Q", scale=scale, axis=axis, title=style.DEPTH_TITLE)
    values = lines.Values(
        column="mean", title=f"{measure}@k, mean over topics", domain=_interval_domain(shown)
    )
    signs = lines.series_signs("run", runs, points=True, title=None, top=True)
    tooltip = _interval_tooltip("k:Q")
    bars, curves = base.mark_rule(strokeWidth=1.3), base.mark_line(strokeWidth=2)
    points = base.mark_point(filled=True, size=55, opacity=1)
    layers = [
        bars.encode(x, values.y("lower"), alt.Y2("upper:Q"), signs.color),
        curves.encode(x, values.y(), signs.color, signs.dash, tooltip=tooltip),
        points.encode(x, values.y(), signs.color, signs.shape, tooltip=tooltip),
    ]
    if pool_depth is not None and depths[0] <= pool_depth <= depths[-1]:
        pool = alt.Chart(alt.InlineData(values=[{"beside": pool_depth}]))
        layers.append(pool.mark_rule(color=style.RULE, strokeDash=[2, 3]).encode(alt.X("beside:Q")))
    layers += _case_labels(frame)
    return alt.LayerChart(layer=layers).properties(width=340, height=240, title=style.pane_title(measure))


def _case_labels(frame: polars.DataFrame) -> list[alt.Chart]:
    """The case of the pair above each depth; nothing where the frame tells none."""
    if "case" not in frame.columns:
        return []
    roomy = frame["k"].n_unique() <= FEW_DEPTHS
    words = CASE_WORDS if roomy else {case: str(case) for case in CASE_WORDS}
    case = polars.col("case").cast(polars.Int64).fill_null(0)
    said = case.replace_strict(words, default="not|tested" if roomy else "–", return_dtype=polars.String)
    cases = frame.select(beside="k", case=said).unique().sort("beside")
    text = alt.Chart(style.data(cases)).mark_text(
        baseline="bottom", fontSize=10, color=style.INK, lineBreak="|", dy=-12 if roomy else 0
    )
    return [text.encode(alt.X("beside:Q"), alt.Text("case:N"), y=alt.value(-3))]


# -- the charts of a study --------------------------------------------------------------------------


def study_figures(
    study: DepthStudy,
    pairs: Sequence[PairOverDepth] = (),
    pools: PoolDepths | None = None,
    subsets: JudgmentSubsets | None = None,
) -> dict[str, list[Callable[[], style.Chart]]]:
    """Return functions that draw the figures of each view; a view without anything to draw has none."""
    pool, reference = study.pool.depth or None, study.reference_depth
    named = ", ".join(dict.fromkeys(one.reference_name for one in study.measures))
    order = [study.runs[run] for run in study.order]
    by = f"by AP@{EARLY}, best first"
    figures: dict[str, list[Callable[[], style.Chart]]] = {
        "ranking": [lambda: ranking_over_k(study.frame, reference=named, pool_depth=pool)],
        "agreement": [lambda: stability_over_k(study.frame, reference=named, pool_depth=pool)],
        "each_run": [
            lambda: values_over_k(study.values_frame, reference_k=reference, pool_depth=pool),
            lambda: means_with_intervals(study.interval_frame, order=order, ordered=by),
        ],
        "weights": [],
    }
    weights, residuals = study.weights_frame, study.residual_frame
    if weights is not None:
        figures["weights"].append(lambda: rank_weights(weights))
    if residuals is not None:
        figures["weights"].append(lambda: residuals_over_k(residuals, reference_k=reference, pool_depth=pool))
    if not study.agreeing.is_distance:  # a threshold, which the figure marks, needs a similarity
        figures["volatility"] = [lambda: _volatility_figure(study)]
    # Every depth carries its case, which needs room: only the chosen depths are drawn.
    figures["pair"] = [
        partial(pair_over_depth, pair.frame.filter(polars.col("k").is_in(study.depths)), pool_depth=pool)
        for pair in pairs
    ]
    if pools is not None:
        cut = pools.frame.drop_nulls("pool_depth").rename({"pool_depth": "depth", "tau_b": "agreement"})
        figures["pools"] = [lambda: agreement_by_pool_depth(cut)]
    if subsets is not None:
        parts = subsets.summary_frame.filter(polars.col("coefficient") == "tau_b")
        kept = parts.rename({"mean": "agreement", "least": "lower", "most": "upper"})
        figures["subsets"] = [lambda: agreement_by_share_kept(kept)]
    return figures


def collections_over_k(studies: Sequence[tuple[str, DepthStudy]]) -> style.Chart:
    """Draw the six panes of `stability_over_k` for several collections, one line a collection and measure."""
    alone = all(len(study.measures) == 1 for _, study in studies)
    frames = [
        study.frame.with_columns(
            measure=polars.lit(name) if alone else polars.concat_str(polars.lit(f"{name}, "), "measure")
        )
        for name, study in studies
    ]
    references = [f"{study.measures[0].reference_name} in {name}" for name, study in studies]
    depths = {study.pool.depth for _, study in studies}
    return stability_over_k(
        polars.concat(frames, how="vertical_relaxed"),
        reference=", ".join(references) if alone else "its reference",
        pool_depth=(depths.pop() or None) if len(depths) == 1 else None,
    )  # fmt: skip


def _volatility_figure(study: DepthStudy) -> style.Chart:
    how = study.agreeing
    cells = [one.frame for one in volatilities(study, how.coefficient, study.ks_to_draw())]
    frame = polars.concat(cells).rename({"k": "k1", "other_k": "k2", "other_measure": "other"})
    return volatility(
        frame, coefficient=how.coefficient, threshold=how.threshold, pool_depth=study.pool.depth or None
    )
