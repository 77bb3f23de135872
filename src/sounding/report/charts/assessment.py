"""Charts of assessment: how far the runs were judged, and what that has to do with their performance."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sounding.report.charts.axes import PERCENT, value_domain
from sounding.report.charts.frames import data, names, needs, span, thinned
from sounding.report.charts.runs import AMOUNT, RunPane, reference_depth, run_pane, standing_notes
from sounding.report.charts.series import Values, series_signs
from sounding.report.charts.style import pane_title, titled
from sounding.wording import plural, whole_percent

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.report.charts.style import Chart

# Dark to light, so that the three parts of a bar differ in grey print.
PARTS = {
    "relevant": ("judged relevant", "#0b3c5d"),
    "nonrelevant": ("judged, not relevant", "#6baed6"),
    "unjudged": ("unjudged", "#e4e4e4"),
}
WIDEST = 760  # pixels: of a chart with a bar for each run
NAMED = 11  # pixels of a bar that has room for a name below it
ROOM = 0.03  # beyond the farthest points of a scatter


@needs("run", "k", "share")
def judged_share_by_depth(
    frame: polars.DataFrame, *, reference_k: int | None = None, pool_depth: int | None = None
) -> Chart:
    """Share of every run's first k documents that were judged.

    Columns: `run`, `k`, `share` (0 to 1).
    """
    reference = reference_depth(frame, reference_k)
    kept, note = thinned(frame, keep=(reference, pool_depth))
    pane = RunPane(
        column="share", column_title="judged share of the first k documents", words=AMOUNT, domain=(0.0, 1.0),
        depths=span(frame), reference_k=reference, pool_depth=pool_depth, width=460, height=300,
    )  # fmt: skip
    count = frame["run"].n_unique()
    return titled(
        run_pane(kept, pane),
        f"How far {plural(count, 'run')} were judged, by depth",
        [*standing_notes(frame, "share", AMOUNT, reference), note],
    )


@needs("run", "value", "relevant", "nonrelevant", "unjudged")
def judged_shares(frame: polars.DataFrame, *, measure: str = "AP") -> Chart:
    """What every run retrieved, as shares judged relevant, judged not relevant, and unjudged.

    Columns: `run`, `value` (orders the runs, best first), `relevant`, `nonrelevant`, `unjudged` (shares
    that sum to 1).
    """
    import altair as alt
    import polars

    known = frame.with_columns(polars.col("value").fill_nan(None))
    ordered = known.sort(["value", "run"], descending=[True, False], nulls_last=True).with_row_index(
        "place", 1
    )
    count = ordered.height
    step = min(max(WIDEST / count, 3), 24)
    words, colours = zip(*PARTS.values(), strict=True)
    parts = polars.concat(
        ordered.select("run", "place", "value", part=polars.lit(word), share=column, order=polars.lit(number))
        for number, (column, (word, _)) in enumerate(PARTS.items())
    )
    labels = alt.Axis(labels=step >= NAMED, ticks=False, labelAngle=-60, labelOverlap=False)
    values = Values(column="share", title="share of the documents retrieved", domain=(0, 1), format=PERCENT)
    bars = alt.Chart(data(parts)).mark_bar(stroke="white", strokeWidth=0.3).encode(
        alt.X("run:N", sort=ordered["run"].to_list(), axis=labels,
              title=f"{plural(count, 'run')} in the order of {measure}, best first"),
        values.y().stack("zero"),
        alt.Color("part:N", title=None, scale=alt.Scale(domain=list(words), range=list(colours)),
                  legend=alt.Legend(orient="top")),
        alt.Order("order:Q"),
        tooltip=[alt.Tooltip("run:N"), alt.Tooltip("place:Q"),
                 alt.Tooltip("value:Q", title=measure, format=".4f"), alt.Tooltip("part:N"),
                 alt.Tooltip("share:Q", format=".1%")],
    )  # fmt: skip
    return titled(
        bars.properties(width=alt.Step(step), height=260),
        f"What {plural(count, 'run')} retrieved, and how much of it was judged",
        [_unjudged_note(ordered["unjudged"])],
    )


def _unjudged_note(shares: polars.Series) -> str:
    known = shares.cast(float).fill_nan(None).drop_nulls().sort().to_list()
    if not known:
        return ""
    least, usual, most = map(whole_percent, (known[0], known[len(known) // 2], known[-1]))
    return f"Unjudged: {least} to {most} of a run, {usual} of the median run."


@needs("run", "performance", "assessment")
def performance_against_assessment(
    frame: polars.DataFrame, *, performance: str = "AP", assessment: str = "A@1000"
) -> Chart:
    """Performance of every run against how far it was judged (Baillie et al., Fig. 12).

    Columns: `run`, `performance`, `assessment`; optional `kind` (a colour and shape each), `collection` (a
    pane each) and `tau`, the same in all rows of a collection.
    """
    import altair as alt
    import polars

    if "collection" not in frame.columns:
        frame = frame.with_columns(collection=polars.lit(""))
    kinds = names(frame, "kind") if "kind" in frame.columns else []
    x_title, y_title = f"{assessment}: share judged", f"{performance}, mean over topics"
    taus, panes = {}, []
    collections = names(frame, "collection")
    for collection in collections:
        shown = frame.filter(polars.col("collection") == collection)
        tau = shown["tau"][0] if "tau" in shown.columns else None
        taus[collection] = "" if tau is None else f"τ = {tau:.3f}"
        heading = [collection, taus[collection]] if len(collections) > 1 else [collection]
        pane = _scatter(shown, ("assessment", x_title), ("performance", y_title), kinds)
        panes.append(pane.properties(title=pane_title(", ".join(filter(None, heading)))))
    single = taus[collections[0]] if len(collections) == 1 else ""
    return titled(
        alt.concat(*panes, columns=2, spacing=30),
        f"{performance} against {assessment}" + (f": {single}" if single else ""),
        ["τ: Kendall's, between the two orders of the runs." if any(taus.values()) else ""],
    )


@needs("run", "performance", "ranking", "value")
def performance_against_rankings(frame: polars.DataFrame, *, performance: str = "MAP") -> Chart:
    """Performance of every run against what needs no judgments, a pane for each of these.

    Columns: `run`, `performance`, `ranking` (what it is called), `value`; optional `kind` (a colour and
    shape each) and `tau`, the same in all rows of a ranking.
    """
    import altair as alt
    import polars

    kinds = names(frame, "kind") if "kind" in frame.columns else []
    panes = []
    for ranking in names(frame, "ranking"):
        shown = frame.filter(polars.col("ranking") == ranking)
        tau = shown["tau"].fill_nan(None)[0] if "tau" in shown.columns else None
        pane = _scatter(
            shown, ("value", ranking), ("performance", f"{performance}, mean over topics"), kinds,
            percent=False,
        )  # fmt: skip
        panes.append(pane.properties(title=pane_title(ranking + ("" if tau is None else f", τ = {tau:.3f}"))))
    return titled(
        alt.concat(*panes, columns=2, spacing=30),
        f"{performance} against rankings that need no judgments",
        ["τ: Kendall's, between the two orders of the runs." if "tau" in frame.columns else ""],
    )


@needs("run", "overlap", "assessment")
def reinforcement(frame: polars.DataFrame, *, assessment: str = "A@1000", tau: float | None = None) -> Chart:
    """How far every run was judged against its overlap with the other pooled runs.

    Columns: `run`, `overlap` (0 to 1), `assessment` (0 to 1); optional `kind` (a colour and shape each).
    `tau` is Kendall's, between the two.
    """
    kinds = names(frame, "kind") if "kind" in frame.columns else []
    x = ("overlap", "share of its pooled documents that another run pooled too")
    y = ("assessment", f"{assessment}: share judged")
    title = f"How far {plural(frame.height, 'run')} were judged, against what they share with others"
    told = "" if tau is None else f"Kendall's τ between the two {tau:.3f}."
    return titled(_scatter(frame, x, y, kinds), title, [told])


def _scatter(
    frame: polars.DataFrame,
    across: tuple[str, str],
    up: tuple[str, str],
    kinds: list[str],
    *,
    percent: bool = True,
) -> alt.Chart:
    """A point for each run; kinds of run differ in colour and shape."""
    import altair as alt

    columns = ["run", across[0], up[0], *(["kind"] if kinds else [])]
    # What stands across is a share, and no share is above 1.
    low, high = value_domain(frame[across[0]], room=ROOM)
    scale = alt.Scale(domain=[low, min(high, 1.0)], nice=False)
    look = alt.Axis(format=PERCENT) if percent else alt.Axis()
    x = alt.X(f"{across[0]}:Q", title=across[1], axis=look, scale=scale)
    values = Values(
        column=up[0], title=up[1], domain=value_domain(frame[up[0]], room=ROOM),
        format=PERCENT if up[0] == "assessment" else "",
    )  # fmt: skip
    tooltip = [alt.Tooltip("run:N"), *(alt.Tooltip(f"{name}:Q", format=".4f") for name in (across[0], up[0]))]
    points = alt.Chart(data(frame.select(columns))).mark_point(filled=True, size=45, opacity=0.75)
    encoded = points.encode(x, values.y(), tooltip=tooltip)
    if kinds:
        signs = series_signs("kind", kinds, points=True, title="kind of run", top=False)
        encoded = encoded.encode(signs.colour, signs.shape)
    return encoded.properties(width=380, height=300)
