"""Charts over depth: values, residuals and outcomes by k; agreement of orderings; means with intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from sounding.core.errors import DataError
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.depth.fewer_judgments import JudgmentSubsets, PoolDepths
from sounding.depth.findings import EARLY
from sounding.depth.intervals import PairOverDepth
from sounding.depth.result import DepthStudy
from sounding.depth.tables import volatilities
from sounding.render.lines import (
    AMOUNT,
    PERFORMANCE,
    RunPane,
    Values,
    reference_depth,
    run_pane,
    series_pane,
    series_signs,
    standing_notes,
)
from sounding.render.style import (
    CIVIDIS,
    COLOURS,
    DEPTH_TITLE,
    INK,
    MOST_CELLS,
    MOST_POINTS,
    PERCENT,
    RULE,
    TAU,
    VERY_CLOSE,
    data,
    depth_axis,
    depth_x,
    level_rule,
    names,
    needs,
    pane_title,
    pool_rule,
    span,
    thinned,
    titled,
    value_domain,
)

if TYPE_CHECKING:
    from sounding.render.style import Chart


LEAST_WEIGHT = 1e-5  # smaller weights are nothing for a reader, and stretch the axis without end


# -- one line a run --------------------------------------------------------------------------------


@needs("run", "measure", "k", "value")
def values_over_k(
    frame: polars.DataFrame, *, reference_k: int | None = None, pool_depth: int | None = None
) -> Chart:
    """The value of every run at every depth (Lu et al., Figs. 2 and 3).

    Columns: `run`, `measure`, `k`, `value`; optional `form` (such as plain and condensed). Forms stand
    side by side, and measures under each other; with one form two measures stand side by side.
    """
    title = "{measures} of {runs} as evaluation goes deeper"
    return _curves(frame, "value", PERFORMANCE, title, reference_k, pool_depth)


@needs("run", "measure", "k", "residual")
def residuals_over_k(
    frame: polars.DataFrame, *, reference_k: int | None = None, pool_depth: int | None = None
) -> Chart:
    """What unjudged documents and the rest of the ranking could still add to every run's value, by depth.

    Columns: `run`, `measure`, `k`, `residual`; optional `form`.
    """
    title = "How much {measures} of {runs} may still grow, by evaluation depth"
    return _curves(frame, "residual", AMOUNT, title, reference_k, pool_depth)


def _curves(
    frame: polars.DataFrame, column: str, words: Sequence[str], title: str,
    reference_k: int | None, pool_depth: int | None,
) -> Chart:  # fmt: skip
    """A pane for each measure and form, with one line for each run."""
    depths, reference = span(frame), reference_depth(frame, reference_k)
    kept, note = thinned(frame, keep=(reference, pool_depth))
    kept = kept if "form" in kept.columns else kept.with_columns(form=polars.lit(""))
    measures = names(kept, "measure")
    stacked = []
    for measure in measures:
        of_measure = kept.filter(polars.col("measure") == measure)
        panes = []
        forms = names(of_measure, "form")
        for form in forms:
            pane = RunPane(
                column=column, title=f"{measure}, {form}" if len(forms) > 1 else measure, words=words,
                column_title=f"{column} of {measure}@k, mean over topics",
                domain=value_domain(of_measure[column]), depths=depths, reference_k=reference,
                pool_depth=pool_depth,
            )  # fmt: skip
            panes.append(run_pane(of_measure.filter(polars.col("form") == form), pane))
        stacked.append(panes)
    runs = frame["run"].n_unique()
    notes = [*standing_notes(frame, column, words, reference), note]
    said = title.format(measures=_listed(measures), runs=plural(runs, "run"))
    if all(len(panes) == 1 for panes in stacked):  # two measures abreast fill the page as well as two forms
        return titled(alt.concat(*(panes[0] for panes in stacked), columns=2, spacing=30), said, notes)
    rows = [alt.hconcat(*panes, spacing=30) for panes in stacked]
    return titled(alt.vconcat(*rows, spacing=30), said, notes)


def _listed(measures: Sequence[str]) -> str:
    return " and ".join(measures) if len(measures) < 3 else plural(len(measures), "measure")


# -- one line a measure ----------------------------------------------------------------------------


@needs("measure", "k", "median_p", "discrimination", "coverage", "inversion", "tau", "pearson")
def stability_over_k(frame: polars.DataFrame, *, reference: str, pool_depth: int | None = None) -> Chart:
    """Six ways in which outcomes depend on the depth, one line a measure (Lu et al., Fig. 4).

    Columns: `measure`, `k`, `median_p`, `discrimination`, `coverage`, `inversion`, `tau`, `pearson`;
    `discrimination`, `coverage` and `inversion` are shares from 0 to 1. `reference` names what the last
    four are held against.
    """
    kept, note = thinned(frame, keep=(pool_depth,), most=MOST_POINTS)
    measures, depths = names(kept, "measure"), span(kept)
    panes = []
    for title, values in _six(kept):
        lines = series_pane(
            kept.select("measure", "k", values.column),
            depth_x(*depths),
            values,
            "measure",
            measures,
            top=True,
        )
        pane = alt.LayerChart(layer=[lines, *pool_rule(pool_depth, *depths)])
        panes.append(pane.properties(width=340, height=190, title=pane_title(title)))
    return titled(
        alt.concat(*panes, columns=2, spacing=20),
        f"How outcomes by {_listed(measures)} change with evaluation depth",
        [f"Panes (c) to (f) hold each depth against {reference}. Vertical scales differ.", note],
    )


def _six(frame: polars.DataFrame) -> list[tuple[str, Values]]:
    """Title and upright axis of the six panes."""

    def values(column: str, title: str, *, from_zero: bool, shown: str = "") -> Values:
        domain = value_domain(frame[column], from_zero=from_zero, most=1.0)
        return Values(column=column, title=title, domain=domain, format=shown)

    return [
        ("(a) median p", values("median_p", "median p-value of all pairs", from_zero=True)),
        ("(b) discrimination", values("discrimination", "pairs that differ", from_zero=False, shown=PERCENT)),
        ("(c) coverage", values("coverage", "the reference's findings kept", from_zero=False, shown=PERCENT)),
        ("(d) inversion", values("inversion", "findings reversed", from_zero=True, shown=PERCENT)),
        ("(e) Kendall's τ", values("tau", "τ with the reference", from_zero=False)),
        ("(f) Pearson's r", values("pearson", "r with the reference", from_zero=False)),
    ]


@needs("measure", "k", "rank", "weight")
def rank_weights(frame: polars.DataFrame) -> Chart:
    """How much the document at each rank counts when evaluation stops at k, one line a k.

    Columns: `measure`, `k`, `rank`, `weight`. Measures stand side by side; both axes are log scales, and
    weights below 0.00001 are cut off.
    """
    every = sorted(frame["k"].unique().to_list())
    depths = _some(every, len(COLOURS))
    chosen = frame.filter(polars.col("k").is_in(depths))
    kept, note = thinned(chosen, "rank", keep=depths, most=MOST_POINTS)
    left_out = ", ".join(f"{k:,}" for k in every if k not in depths)
    named = {k: f"k = {k:,}" for k in depths}
    depth = polars.col("k").replace_strict(named, return_dtype=polars.String)
    weight = polars.col("weight").cast(polars.Float64)
    shown = polars.when(weight.is_finite() & (weight > 0)).then(weight)  # a log axis has no place for 0
    drawn = kept.with_columns(depth=depth, weight=shown)
    x = depth_x(*span(kept, "rank"), "rank", "rank (log scale)")
    panes = [
        _weight_pane(drawn.filter(polars.col("measure") == measure), x, list(named.values()))
        .properties(width=300, height=240, title=pane_title(measure))
        for measure in names(kept, "measure")
    ]  # fmt: skip
    return titled(
        alt.concat(*panes, columns=2, spacing=20), "Weight of each rank by evaluation depth",
        [note, f"Not drawn, for want of colours: k = {left_out}." if left_out else ""],
    )  # fmt: skip


def _some(depths: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly among all, with the first and the last."""
    if len(depths) <= most:
        return list(depths)
    return [depths[round(step * (len(depths) - 1) / (most - 1))] for step in range(most)]


def _weight_pane(frame: polars.DataFrame, x: alt.X, depths: Sequence[str]) -> alt.LayerChart:
    known = frame["weight"].drop_nulls().to_list() or [1.0]
    domain = (max(min(known), LEAST_WEIGHT), max(known))
    values = Values(
        column="weight", title="weight of the rank (log scale)", domain=domain, format="~g", log=True
    )
    return series_pane(frame.select("depth", "rank", "weight"), x, values, "depth", depths)


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
    axis = alt.Axis(format=PERCENT, tickCount=10)
    full_first = alt.Scale(domain=[1, 0], nice=False)
    x = alt.X("share:Q", title="share of the judgments kept", axis=axis, scale=full_first)
    return titled(
        _agreement(frame, x, coefficient),
        "Agreement with the order by all judgments as fewer are kept",
        [f"The dotted line marks {VERY_CLOSE:g}."],
    )


def _agreement(frame: polars.DataFrame, x: alt.X, coefficient: str) -> alt.LayerChart:
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


NAMED_RUNS = 30  # more names than this do not fit below a pane: runs are numbered
ABREAST = 1000  # pixels that the panes of all measures take together
ROOM = 0.04  # beyond the ends of the intervals, so that none touches the frame
ASIDE = 0.02  # of a depth: how far beside it each of two bars stands
CASE_WORDS = {1: "case 1|strong", 2: "case 2|weak", 3: "case 3|strong", 4: "case 4|weak"}
FEW_DEPTHS = 8  # more labels than this run into each other: they are cut to the number of the case


@needs("run", "measure", "k", "mean", "lower", "upper")
def means_with_intervals(
    frame: polars.DataFrame, *, order: Sequence[str] | None = None, ordered: str = "the one given"
) -> Chart:
    """Mean and comparison interval of every run, in one order throughout (Baillie et al., Figs. 5 to 10).

    Columns: `run`, `measure`, `k`, `mean`, `lower`, `upper`. Measures stand side by side (performance and
    assessment), depths under each other. Runs stand in the order given, or by the first measure at the least
    k, best first; `ordered` says what the order given is. Two runs differ significantly where their
    intervals are disjoint; `lower` and `upper` are not known where no pair does by a test of all runs.
    """
    measures, depths = names(frame, "measure"), sorted(frame["k"].unique().to_list())
    runs = list(order) if order is not None else _by_first(frame, measures[0], depths[0])
    lacking = [run for run in names(frame, "run") if run not in set(runs)]
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
            for measure in names(at_depth, "measure")
        ]  # fmt: skip
        stacked.append(alt.hconcat(*panes, spacing=25))
    named = ordered if order is not None else f"by {measures[0]}@{depths[0]}, best first"
    return titled(
        alt.vconcat(*stacked, spacing=12),
        f"Means of {plural(len(runs), 'run')} with comparison intervals",
        [
            "Two runs differ significantly where their intervals are disjoint.",
            "Means without an interval do not differ by the F test over all runs, or not by topic."
            if frame["lower"].fill_nan(None).null_count()
            else "",
            f"Every pane keeps one order of runs: {named}.",
        ],
    )


def _by_first(frame: polars.DataFrame, measure: str, k: int) -> list[str]:
    """Runs from the highest mean to the lowest, by name where equal; those without that mean last."""
    at_first = frame.filter((polars.col("measure") == measure) & (polars.col("k") == k))
    means = at_first.with_columns(polars.col("mean").fill_nan(None))
    known = means.sort(["mean", "run"], descending=[True, False], nulls_last=True)["run"].to_list()
    return list(dict.fromkeys([*known, *names(frame, "run")]))


def _interval_domain(frame: polars.DataFrame) -> tuple[float, float]:
    """A range that holds every mean and the ends of its interval, if it has one."""
    drawn = polars.concat([frame[column].cast(float).rename("") for column in ("mean", "lower", "upper")])
    alone = drawn.fill_nan(None).drop_nulls().n_unique() == 1
    return value_domain(drawn, from_zero=alone, room=ROOM)


def _interval_pane(
    frame: polars.DataFrame, runs: Sequence[str], domain: tuple[float, float], title: str, width: int, *,
    last: bool,
) -> alt.LayerChart:  # fmt: skip
    """A point and a bar for each run; the names, or numbers, of runs stand below the last pane."""
    shown = frame.select("run", "place", "mean", "lower", "upper")
    base = alt.Chart(data(shown))
    if len(runs) <= NAMED_RUNS:
        axis = alt.Axis(labels=last, ticks=last, labelAngle=-60, labelOverlap=False, grid=False)
        x = alt.X("run:N", sort=list(runs), scale=alt.Scale(domain=list(runs)), title=None, axis=axis)
    else:
        numbered = alt.Scale(domain=[0.5, len(runs) + 0.5], nice=False)
        x = alt.X("place:Q", title="place of the run in the order" if last else None, scale=numbered,
                  axis=alt.Axis(tickMinStep=1, grid=False))  # fmt: skip
    values = Values(column="mean", title="mean", domain=domain)
    tooltip = [
        alt.Tooltip("run:N"), alt.Tooltip("place:Q"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("mean", "lower", "upper")),
    ]  # fmt: skip
    bars = base.mark_rule(color="#7a7a7a", strokeWidth=1.2)
    points = base.mark_point(filled=True, size=18, color=COLOURS[0], opacity=1)
    layers = [
        bars.encode(x, values.y("lower"), alt.Y2("upper:Q"), tooltip=tooltip),
        points.encode(x, values.y(), tooltip=tooltip),
    ]
    return alt.LayerChart(layer=layers).properties(width=width, height=150, title=pane_title(title))


@needs("run", "measure", "k", "mean", "lower", "upper")
def pair_over_depth(frame: polars.DataFrame, *, pool_depth: int | None = None) -> Chart:
    """Two runs at growing depths with error bars, and the pair's case at each (Baillie et al., Figs. 4, 11).

    Columns: `run` (two of them), `measure`, `k`, `mean`, `lower`, `upper`; optional `case` (1 to 4, 0 or
    null where not tested), the same in all rows of a k. Measures stand side by side.
    """
    runs = names(frame, "run")
    if len(runs) != 2:
        raise DataError(f"chart pair_over_depth: {plural(len(runs), 'run')} in the frame; expected two")
    panes = [
        _pair_pane(frame.filter(polars.col("measure") == measure), measure, runs, pool_depth)
        for measure in names(frame, "measure")
    ]
    has_cases = "case" in frame.columns
    return titled(
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
    base = alt.Chart(data(shown))
    axis = alt.Axis(values=depths, format=",d", labelOverlap=True, labelSeparation=4, grid=False)
    scale = alt.Scale(type="log", domain=[depths[0] / 1.25, depths[-1] * 1.25], nice=False)
    x = alt.X("beside:Q", scale=scale, axis=axis, title=DEPTH_TITLE)
    values = Values(column="mean", title=f"{measure}@k, mean over topics", domain=_interval_domain(shown))
    signs = series_signs("run", runs, points=True, title=None, top=True)
    tooltip = [
        alt.Tooltip("run:N"), alt.Tooltip("k:Q"),
        *(alt.Tooltip(f"{name}:Q", format=".4f") for name in ("mean", "lower", "upper")),
    ]  # fmt: skip
    bars, lines = base.mark_rule(strokeWidth=1.3), base.mark_line(strokeWidth=2)
    points = base.mark_point(filled=True, size=55, opacity=1)
    layers = [
        bars.encode(x, values.y("lower"), alt.Y2("upper:Q"), signs.colour),
        lines.encode(x, values.y(), signs.colour, signs.dash, tooltip=tooltip),
        points.encode(x, values.y(), signs.colour, signs.shape, tooltip=tooltip),
    ]
    if pool_depth is not None and depths[0] <= pool_depth <= depths[-1]:
        pool = alt.Chart(alt.InlineData(values=[{"beside": pool_depth}]))
        layers.append(pool.mark_rule(color=RULE, strokeDash=[2, 3]).encode(alt.X("beside:Q")))
    layers += _case_labels(frame)
    return alt.LayerChart(layer=layers).properties(width=340, height=240, title=pane_title(measure))


def _case_labels(frame: polars.DataFrame) -> list[alt.Chart]:
    """The case of the pair above each depth; nothing where the frame tells none."""
    if "case" not in frame.columns:
        return []
    roomy = frame["k"].n_unique() <= FEW_DEPTHS
    words = CASE_WORDS if roomy else {case: str(case) for case in CASE_WORDS}
    case = polars.col("case").cast(polars.Int64).fill_null(0)
    said = case.replace_strict(words, default="not|tested" if roomy else "–", return_dtype=polars.String)
    cases = frame.select(beside="k", case=said).unique().sort("beside")
    text = alt.Chart(data(cases)).mark_text(
        baseline="bottom", fontSize=10, color=INK, lineBreak="|", dy=-12 if roomy else 0
    )
    return [text.encode(alt.X("beside:Q"), alt.Text("case:N"), y=alt.value(-3))]


# -- the charts of a study --------------------------------------------------------------------------


def study_charts(
    study: DepthStudy,
    pairs: Sequence[PairOverDepth] = (),
    pools: PoolDepths | None = None,
    subsets: JudgmentSubsets | None = None,
) -> Iterator[Chart]:
    """All charts that there is something to show in."""
    pool = study.pool.depth or None
    reference = study.reference_depth
    yield values_over_k(study.values_frame, reference_k=reference, pool_depth=pool)
    named = ", ".join(dict.fromkeys(one.reference_name for one in study.measures))
    yield stability_over_k(study.frame, reference=named, pool_depth=pool)
    residuals, weights = study.residual_frame, study.weights_frame
    if residuals is not None:
        yield residuals_over_k(residuals, reference_k=reference, pool_depth=pool)
    if weights is not None:
        yield rank_weights(weights)
    how = study.agreeing
    if not how.is_distance:  # the chart has a threshold, above which orderings agree
        cells = [one.frame for one in volatilities(study, how.coefficient, study.ks_to_draw())]
        names = {"k": "k1", "other_k": "k2", "other_measure": "other"}
        yield volatility(
            polars.concat(cells).rename(names), coefficient=how.coefficient, threshold=how.threshold,
            pool_depth=pool,
        )  # fmt: skip
    order = [study.runs[run] for run in study.order]
    named = f"by AP@{EARLY}, best first"
    yield means_with_intervals(study.interval_frame, order=order, ordered=named)
    for pair in pairs:
        # Every depth carries its case, which needs room.
        chosen = pair.frame.filter(polars.col("k").is_in(study.depths))
        yield pair_over_depth(chosen, pool_depth=pool)
    if pools is not None:
        cut = pools.frame.drop_nulls("pool_depth").rename({"pool_depth": "depth", "tau_b": "agreement"})
        yield agreement_by_pool_depth(cut)
    if subsets is not None:
        parts = subsets.summary_frame.filter(polars.col("coefficient") == "tau_b")
        yield agreement_by_share_kept(parts.rename({"mean": "agreement", "least": "lower", "most": "upper"}))
