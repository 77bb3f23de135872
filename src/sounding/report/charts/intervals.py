"""Charts of means with intervals: every run at chosen depths, and two runs over depth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sounding.errors import DataError
from sounding.report.charts.axes import DEPTH_TITLE, value_domain
from sounding.report.charts.frames import data, names, needs
from sounding.report.charts.series import Values, series_signs
from sounding.report.charts.style import COLOURS, INK, RULE, pane_title, titled
from sounding.wording import plural

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.report.charts.style import Chart

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
    import altair as alt
    import polars

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
    import polars

    at_first = frame.filter((polars.col("measure") == measure) & (polars.col("k") == k))
    means = at_first.with_columns(polars.col("mean").fill_nan(None))
    known = means.sort(["mean", "run"], descending=[True, False], nulls_last=True)["run"].to_list()
    return list(dict.fromkeys([*known, *names(frame, "run")]))


def _interval_domain(frame: polars.DataFrame) -> tuple[float, float]:
    """A range that holds every mean and the ends of its interval, if it has one."""
    import polars

    drawn = polars.concat([frame[column].cast(float).rename("") for column in ("mean", "lower", "upper")])
    alone = drawn.fill_nan(None).drop_nulls().n_unique() == 1
    return value_domain(drawn, from_zero=alone, room=ROOM)


def _interval_pane(
    frame: polars.DataFrame, runs: Sequence[str], domain: tuple[float, float], title: str, width: int, *,
    last: bool,
) -> alt.LayerChart:  # fmt: skip
    """A point and a bar for each run; the names, or numbers, of runs stand below the last pane."""
    import altair as alt

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
    import altair as alt
    import polars

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
    import altair as alt
    import polars

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
    import altair as alt
    import polars

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
