"""Charts of stability over evaluation depth: values, residuals, outcomes and weights by k."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sounding.report.charts.axes import PERCENT, depth_x, pool_rule, value_domain
from sounding.report.charts.frames import MOST_POINTS, names, needs, span, thinned
from sounding.report.charts.runs import (
    AMOUNT,
    PERFORMANCE,
    RunPane,
    reference_depth,
    run_pane,
    standing_notes,
)
from sounding.report.charts.series import Values, series_pane
from sounding.report.charts.style import COLOURS, pane_title, titled
from sounding.wording import plural

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.report.charts.style import Chart

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
    import altair as alt
    import polars

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
    import altair as alt

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
    import altair as alt
    import polars

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
