"""Charts of a collection: its pool, who contributed to it, how far runs were judged, and what ties change."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from sounding.audit.beyond import depths_beyond, frame_of
from sounding.audit.result import Audit
from sounding.audit.sentences import ADDED
from sounding.audit.tables import Extras, assessment_frame, known
from sounding.core.lazy import alt, polars
from sounding.core.text import plural, whole_percent
from sounding.data.sources import plain_name
from sounding.measures.cumulative import name_of
from sounding.relevance.growth import expected_beyond
from sounding.render import lines, style

WITHIN, PAST, FIRST = "within a run's own depth", "past it, or not in the run", "first unjudged document"
TIE_ROOM = 0.05  # beyond the farthest points of a scatter


@style.needs(
    "depth", "in_pool", "in_pool_deviation", "past", "past_deviation", "first_unjudged",
    "first_unjudged_deviation",
)  # fmt: skip
def pool_outcomes_by_depth(frame: polars.DataFrame) -> style.Chart:
    """Draw the relevant documents of runs inside and outside pools by depth (Lu et al., Table 4).

    Columns: `depth` (of the pool), `in_pool` and `past` (relevant documents of a run and topic, within the
    depth and past it), `first_unjudged` (its rank), and their standard deviations `in_pool_deviation`,
    `past_deviation` and `first_unjudged_deviation`.
    """
    panes = []
    for heading, title, columns in (
        ("relevant documents", "relevant documents a topic", {"in_pool": WITHIN, "past": PAST}),
        ("first unjudged document", "its rank", {"first_unjudged": FIRST}),
    ):
        long = polars.concat(
            frame.select(
                polars.col("depth"), polars.lit(word).alias("series"), polars.col(column).alias("mean"),
                lower=(polars.col(column) - polars.col(f"{column}_deviation")).clip(0),
                upper=polars.col(column) + polars.col(f"{column}_deviation"),
            )
            for column, word in columns.items()
        )  # fmt: skip
        ends = polars.concat([long["mean"], long["upper"]])
        values = lines.Values(column="mean", title=title, domain=style.value_domain(ends))
        x = style.depth_x(*style.span(long, "depth"), "depth", "pool depth (log scale)")
        pane = lines.series_pane(long, x, values, "series", list(columns.values()), top=True)
        panes.append(pane.properties(width=330, height=260, title=style.pane_title(heading)))
    return style.titled(
        alt.hconcat(*panes, spacing=30).resolve_scale(
            color="independent", shape="independent", strokeDash="independent"
        ),
        "What contributing runs have of pools of growing depth",
        ["Means over runs and topics, and a standard deviation to both sides, as far as 0."],
    )


@style.needs("run", "rule", "tied_share", "difference")
def ties_and_values(
    frame: polars.DataFrame, *, measure: str = "RBP(p=0.8)", taus: Mapping[str, float] | None = None
) -> style.Chart:
    """Return how far another rule for tied scores moves every run, against how many of its scores are tied.

    Columns: `run`, `rule`, `tied_share` (0 to 1), `difference` (of the value, to that with ties by doc id).
    `taus` are Kendall's, by rule, between the orders of the runs.
    """
    order = style.names(frame, "rule")
    signs = lines.series_signs("rule", order, points=True, title="rule for ties", top=False)
    scale = alt.Scale(domain=list(style.value_domain(frame["tied_share"], room=TIE_ROOM)), nice=False)
    x = alt.X(
        "tied_share:Q", title="share of tied scores in the first documents", scale=scale,
        axis=alt.Axis(format=style.PERCENT),
    )  # fmt: skip
    values = lines.Values(
        column="difference", title=f"difference in {measure} to the order by doc id",
        domain=style.value_domain(frame["difference"], room=TIE_ROOM),
    )  # fmt: skip
    points = alt.Chart(style.data(frame.select("run", "rule", "tied_share", "difference")))
    marks = points.mark_point(filled=True, size=45, opacity=0.75).encode(
        x, values.y(), signs.color, signs.shape,
        tooltip=_tooltip("run:N", "rule:N", tied_share=".1%", difference="+.4f"),
    )  # fmt: skip
    compared = "; ".join(f"τ between trec and {rule} {tau:.3f}" for rule, tau in (taus or {}).items())
    return style.titled(
        alt.LayerChart(layer=[style.level_rule(0.0, "difference"), marks]).properties(
            width=style.COLUMN, height=style.COLUMN_HEIGHT
        ),
        f"What the rule for tied scores changes in {plural(frame['run'].n_unique(), 'run')}",
        [f"Kendall's {compared}." if compared else ""],
    )


@style.needs("measure", "k", "holds")
def conclusions_beyond(frame: polars.DataFrame) -> style.Chart:
    """Return the share of conclusions expected to stand at depths below the pool's, a line a measure.

    Columns: `measure` (its family, the same at each depth), `k`, `holds` (0 to 1).
    """
    order = style.names(frame, "measure")
    known = frame.with_columns(polars.col("holds").fill_nan(None))
    domain = style.value_domain(known["holds"], from_zero=False, room=0.1, most=1.0)
    values = lines.Values(
        column="holds", title="conclusions expected to stand", domain=domain, format=style.PERCENT
    )
    x = style.depth_x(*style.span(frame), title="evaluation depth k, below the pool's (log scale)")
    pane = lines.series_pane(known, x, values, "measure", order)
    return style.titled(
        pane.properties(width=style.COLUMN, height=style.COLUMN_HEIGHT),
        "Conclusions about pooled runs below the pool's depth",
        ["Forecast: the share that would be the same if pooled runs were judged that deep."],
    )


EXTRAPOLATED = "Beyond the pool nobody judged: extrapolated by Zobel's law, n = C d^s - 1, topic by topic."
# Far apart in lightness, so that the parts of a bar differ in gray print.
KINDS = {"automatic": "#9ecae8", "manual": "#0b3c5d", "mixed": "#D55E00", "other": "#f2f2f2"}
FEW_GROUPS = 12  # that have room for broader bars
WIDEST, BAR = 760, 12  # pixels: of a chart with a bar for each run, and of such a bar with its name

# -- the pool --------------------------------------------------------------------------------------


@style.needs("depth", "relevant", "rate")
def growth_by_depth(frame: polars.DataFrame) -> style.Chart:
    """Relevant documents found by pools of growing depth, and how fast (Lu et al., Fig. 1).

    Columns: `depth`, `relevant` (mean for a topic), `rate` (new ones for one more depth); optional
    `share` (of the documents judged at this depth, those that are relevant), `extrapolated` (true where
    nobody judged: drawn with dashes) and `collection` (a color each).
    """
    if "collection" not in frame.columns:
        frame = frame.with_columns(collection=polars.lit("pool"))
    if "extrapolated" not in frame.columns:
        frame = frame.with_columns(extrapolated=polars.lit(False))
    found = frame.filter(~polars.col("extrapolated"))["depth"]
    kept, note = style.thinned(frame, "depth", keep=found.unique().to_list()[-1:], most=style.MOST_POINTS)
    drawn = _joined(kept)
    order = style.names(kept, "collection")
    signs = lines.series_signs("collection", order, points=False, title="collection", top=False)
    dashes = alt.Scale(domain=["found", "extrapolated"], range=[[1, 0], [4, 3]])
    look = alt.Legend(title=None, symbolSize=400, symbolStrokeWidth=2)
    dash = alt.StrokeDash("line:N", scale=dashes, legend=look if drawn["line"].n_unique() > 1 else None)
    x = style.depth_x(*style.span(drawn, "depth"), "depth", "pool depth (log scale)")
    panes = []
    for column, heading, title in (
        ("relevant", "found by the pool", "relevant documents a topic"),
        ("share", "share of what is new", "relevant, of the documents new at this depth"),
        ("rate", "rate of finding", "new relevant documents a topic at this depth"),
    ):
        if column not in drawn.columns:
            continue
        form = style.PERCENT if column == "share" else ""
        domain = style.value_domain(drawn[column].drop_nulls())
        values = lines.Values(column=column, title=title, domain=domain, format=form)
        tooltip = _tooltip("collection:N", "line:N", "depth:Q", **{column: form or ".3f"})
        line = alt.Chart(style.data(drawn.select("collection", "line", "depth", column)))
        encoded = line.mark_line(strokeWidth=2).encode(x, values.y(), signs.color, dash, tooltip=tooltip)
        panes.append(encoded.properties(width=270, height=260, title=style.pane_title(heading)))
    beyond = EXTRAPOLATED if (drawn["line"] == "extrapolated").any() else ""
    title = "Relevant documents by depth of the pool"
    return style.titled(alt.hconcat(*panes, spacing=30), title, [beyond, note])


def _tooltip(*fields: str, **formats: str) -> list[alt.Tooltip]:
    """Return tooltips: these fields as they are, then columns in these formats."""
    formatted = [alt.Tooltip(f"{column}:Q", format=shown) for column, shown in formats.items()]
    return [*map(alt.Tooltip, fields), *formatted]


def _joined(frame: polars.DataFrame) -> polars.DataFrame:
    """Lines named found and extrapolated; the last point found also starts the extrapolation."""
    line = polars.when("extrapolated").then(polars.lit("extrapolated")).otherwise(polars.lit("found"))
    drawn = frame.with_columns(line=line).sort("depth", maintain_order=True)
    found = drawn.filter(polars.col("line") == "found")
    ends = found.group_by("collection", maintain_order=True).last().select(drawn.columns)
    going_on = drawn.filter(polars.col("line") == "extrapolated")["collection"].unique().to_list()
    joints = ends.filter(polars.col("collection").is_in(going_on))
    return polars.concat([joints.with_columns(line=polars.lit("extrapolated")), drawn])


# -- contributors ----------------------------------------------------------------------------------


@style.needs("group", "kind", "unique")
def unique_relevant(frame: polars.DataFrame) -> style.Chart:
    """Relevant documents that one group alone found, stacked by kind of run (Voorhees 2002, Fig. 1).

    Columns: `group`, `kind` (automatic, manual, mixed, other), `unique`. Groups stand in the order of their
    number; those without any are left out and counted.
    """
    totals = frame.group_by("group").agg(total=polars.col("unique").sum())
    order = totals.filter(polars.col("total") > 0).sort(["total", "group"], descending=[True, False])
    kinds = _kinds(frame)
    place = polars.col("kind").replace_strict(kinds, range(len(kinds)), return_dtype=polars.Int64)
    shown = frame.filter(polars.col("unique") > 0).select("group", "kind", "unique", place=place)
    bars = alt.Chart(style.data(shown)).mark_bar(stroke=style.RULE, strokeWidth=0.4)
    encoded = bars.encode(
        alt.X("group:N", sort=order["group"].to_list(), title="group", axis=style.slanted_axis()),
        alt.Y("unique:Q", title="relevant documents found by no other group", stack="zero"),
        _kind_color(kinds, "found by runs"),
        alt.Order("place:Q"),
        tooltip=_tooltip("group:N", "kind:N", "unique:Q"),
    )
    total, none = int(order["total"].sum()), totals.height - order.height
    return style.titled(
        encoded.properties(width=alt.Step(16 if order.height > FEW_GROUPS else 36), height=280),
        f"{plural(total, 'relevant document')} found by one group alone",
        [_parts(shown, kinds, total), f"{plural(none, 'group')} found none." if none else ""],
    )


def _kinds(frame: polars.DataFrame) -> list[str]:
    """The kinds of run in the frame, the usual ones first and in the usual order."""
    seen = style.names(frame, "kind")
    return [kind for kind in KINDS if kind in seen] + [kind for kind in seen if kind not in KINDS]


def _kind_color(kinds: Sequence[str], title: str) -> alt.Color:
    """Colors of kinds of run that differ in lightness; the usual kinds have the same in every chart."""
    colors = [KINDS.get(kind, style.COLORS[place % len(style.COLORS)]) for place, kind in enumerate(kinds)]
    return alt.Color("kind:N", title=title, scale=alt.Scale(domain=list(kinds), range=colors))


def _parts(frame: polars.DataFrame, kinds: Sequence[str], total: int) -> str:
    """Return how many documents each kind of run found, in words."""
    counts = {kind: int(frame.filter(frame["kind"] == kind)["unique"].sum()) for kind in kinds}
    said = [
        f"{count:,} {kind} ({whole_percent(count / total)})" if count >= 0.01 * total else f"{count:,} {kind}"
        for kind, count in counts.items()
        if count
    ]
    return f"Found by runs of this kind: {', '.join(said)}." if said else ""


@style.needs("run", "percent", "unique")
def leave_out_changes(frame: polars.DataFrame, *, measure: str = "AP") -> style.Chart:
    """Change of every run without its group's unique documents, beside their number (Voorhees 2002, Fig. 2).

    Columns: `run`, `percent` (change in percent), `unique`; optional `kind`. Runs stand in the order of the
    size of their change, then of `unique`, then of their names.
    """
    size = polars.col("percent").fill_nan(None).abs()
    ordered = frame.sort(size, "unique", "run", nulls_last=True)
    runs = ordered["run"].to_list()
    named = WIDEST / len(runs) >= BAR - 1
    has_kinds = "kind" in frame.columns
    columns = ["run", "percent", "unique", *(["kind"] if has_kinds else [])]
    bars = alt.Chart(style.data(ordered.select(columns))).mark_bar(color=style.COLORS[0])
    tooltip = [
        alt.Tooltip("run:N"), alt.Tooltip("percent:Q", title=f"change in {measure} (%)", format=".2f"),
        alt.Tooltip("unique:Q", title="unique relevant documents"),
    ]  # fmt: skip
    panes = []
    for column, title, last in (
        ("percent", f"change in {measure} (%)", False),
        ("unique", "group's unique documents", True),
    ):
        below = f"{'run' if named else f'{len(runs)} runs'}, in the order of the change" if last else None
        x = alt.X("run:N", sort=runs, axis=style.slanted_axis(labels=last and named), title=below)
        encoded = bars.encode(x, alt.Y(f"{column}:Q", title=title), tooltip=tooltip)
        if has_kinds:
            encoded = encoded.encode(_kind_color(_kinds(frame), "kind of run"))
        panes.append(encoded.properties(width=min(max(BAR * len(runs), 120), WIDEST), height=160))
    known = ordered.filter(polars.col("percent").is_finite())
    return style.titled(
        alt.vconcat(*panes, spacing=10),
        f"{measure} of {plural(len(runs), 'run')} without what only the run's group found",
        [_mean_and_most(known["run"].to_list(), known["percent"].to_list())],
    )


@style.needs("run", "change", "unique")
def leave_out_differences(frame: polars.DataFrame, *, measure: str = "AP") -> style.Chart:
    """Absolute change of every run, with the number of its group's unique documents (Voorhees 2002, Fig. 2).

    Columns: `run`, `change` (of the value), `unique`. Runs stand in the order of the size of their change,
    then of `unique`, as in the paper, which shows automatic runs.
    """
    size = polars.col("change").fill_nan(None).abs().alias("difference")
    ordered = frame.select("run", size, "unique").sort("difference", "unique", "run", nulls_last=True)
    runs = ordered["run"].to_list()
    named = WIDEST / len(runs) >= BAR - 1
    across = f"{'run' if named else f'{len(runs)} runs'}, by difference, then by unique documents"
    x = alt.X("run:N", sort=runs, axis=style.slanted_axis(labels=named), title=across)
    points = alt.Chart(style.data(ordered))
    tooltip = _tooltip("run:N", "unique:Q", difference=".4f")
    left = alt.Axis(titleColor=style.COLORS[0], orient="left")
    right = alt.Axis(titleColor=style.COLORS[1], orient="right")
    layers = [
        points.mark_point(filled=True, size=28, shape=shape, color=style.COLORS[place]).encode(
            x, alt.Y(f"{column}:Q", title=title, axis=axis), tooltip=tooltip
        )
        for place, (column, title, axis, shape) in enumerate(
            (
                ("difference", f"difference in {measure}", left, "circle"),
                ("unique", "group's unique relevant documents", right, "triangle-up"),
            )
        )
    ]
    width = min(max(BAR * len(runs), 120), WIDEST)
    return style.titled(
        alt.LayerChart(layer=layers).resolve_scale(y="independent").properties(width=width, height=260),
        f"Difference in {measure} of {plural(len(runs), 'run')} without what only the run's group found",
        ["Circles and left axis: absolute difference. Triangles and right axis: unique documents."],
    )


def _mean_and_most(runs: Sequence[str], changes: Sequence[float]) -> str:
    """The mean size of the changes, and the last one: the largest."""
    if not runs:
        return ""
    mean = sum(abs(change) for change in changes) / len(changes)
    return f"The change is {mean:.2f}% on average, and at most {abs(changes[-1]):.2f}% ({runs[-1]})."


# -- parts and titles ------------------------------------------------------------------------------


@style.needs("part", "pool_share", "judged_share", "relevant_share")
def shares_by_part(frame: polars.DataFrame) -> style.Chart:
    """Return what each part of a collection has of pool and relevant documents, and how far it is judged.

    Columns: `part`, `pool_share` and `relevant_share` (of the whole), `judged_share` (of what runs retrieved
    of the part). Parts stand in the order of the frame.
    """
    order = style.names(frame, "part")
    words = {"pool_share": "of the pool", "relevant_share": "of the relevant", "judged_share": "judged"}
    long = frame.select("part", *words).unpivot(index="part", variable_name="column", value_name="value")
    long = long.with_columns(share=polars.col("column").replace_strict(words, return_dtype=polars.String))
    colors = [color for color, _ in zip(KINDS.values(), words, strict=False)]
    values = lines.Values(column="value", title="share", domain=(0, 1), format=style.PERCENT)
    bars = alt.Chart(style.data(long.select("part", "share", "value")))
    encoded = bars.mark_bar(stroke=style.RULE, strokeWidth=0.4).encode(
        alt.X("part:N", sort=order, title="part of the collection", axis=style.slanted_axis()),
        alt.XOffset("share:N", sort=list(words.values())),
        values.y(),
        alt.Color("share:N", title="share", scale=alt.Scale(domain=list(words.values()), range=colors)),
        tooltip=[*_tooltip("part:N", "share:N"), alt.Tooltip("value:Q", title="value", format=".1%")],
    )
    return style.titled(
        encoded.properties(width=min(max(40 * len(order), 160), WIDEST), height=280),
        f"What {plural(len(order), 'part')} of the collection gave, and how far they are judged",
        ["Judged: of the documents that runs retrieved of the part, as deep as the pool."],
    )


@style.needs("last", "relevant_share", "nonrelevant_share")
def title_words_by_pool_rank(frame: polars.DataFrame) -> style.Chart:
    """Share of the title's words that judged documents hold, by pool rank: title bias.

    Columns: `last` (pool rank at which a range ends), `relevant_share`, `nonrelevant_share` (0 to 1).
    """
    words = {"relevant_share": "relevant", "nonrelevant_share": "not relevant"}
    long = polars.concat(
        frame.select(
            polars.col("last"), polars.lit(word).alias("documents"), polars.col(column).alias("share")
        )
        for column, word in words.items()
    )
    title = "mean share of the title's words"
    values = lines.Values(column="share", title=title, domain=(0, 1), format=style.PERCENT)
    x = style.depth_x(*style.span(long, "last"), "last", "pool rank (log scale)")
    pane = lines.series_pane(long, x, values, "documents", list(words.values()))
    return style.titled(
        pane.properties(width=style.COLUMN, height=style.COLUMN_HEIGHT),
        "Words of the title in judged documents, by pool rank",
    )


# Dark to light, so that the three parts of a bar differ in gray print.
PARTS = {
    "relevant": ("judged relevant", "#0b3c5d"),
    "nonrelevant": ("judged, not relevant", "#6baed6"),
    "unjudged": ("unjudged", "#e4e4e4"),
}
NAMED = 11  # pixels of a bar that has room for a name below it
ROOM = 0.03  # beyond the farthest points of a scatter


@style.needs("run", "k", "share")
def judged_share_by_depth(
    frame: polars.DataFrame, *, reference_k: int | None = None, pool_depth: int | None = None
) -> style.Chart:
    """Share of every run's first k documents that were judged.

    Columns: `run`, `k`, `share` (0 to 1).
    """
    reference = lines.reference_depth(frame, reference_k)
    kept, note = style.thinned(frame, keep=(reference, pool_depth))
    pane = lines.RunPane(
        column="share", column_title="judged share of the first k documents", words=lines.AMOUNT,
        domain=(0.0, 1.0), depths=style.span(frame), reference_k=reference, pool_depth=pool_depth,
        width=style.COLUMN, height=style.COLUMN_HEIGHT,
    )  # fmt: skip
    count = frame["run"].n_unique()
    return style.titled(
        lines.run_pane(kept, pane),
        f"How far {plural(count, 'run')} were judged, by depth",
        [*lines.standing_notes(frame, "share", lines.AMOUNT, reference), note],
    )


@style.needs("run", "value", "relevant", "nonrelevant", "unjudged")
def judged_shares(frame: polars.DataFrame, *, measure: str = "AP") -> style.Chart:
    """Return what every run retrieved, as shares judged relevant, judged not relevant, and unjudged.

    Columns: `run`, `value` (orders the runs, best first), `relevant`, `nonrelevant`, `unjudged` (shares
    that sum to 1).
    """
    known = frame.with_columns(polars.col("value").fill_nan(None))
    ordered = known.sort(["value", "run"], descending=[True, False], nulls_last=True).with_row_index(
        "place", 1
    )
    count = ordered.height
    step = min(max(WIDEST / count, 3), 24)
    words, colors = zip(*PARTS.values(), strict=True)
    parts = polars.concat(
        ordered.select("run", "place", "value", part=polars.lit(word), share=column, order=polars.lit(number))
        for number, (column, (word, _)) in enumerate(PARTS.items())
    )
    labels = alt.Axis(labels=step >= NAMED, ticks=False, labelAngle=-60, labelOverlap=False)
    values = lines.Values(
        column="share", title="share of the documents retrieved", domain=(0, 1), format=style.PERCENT
    )
    bars = alt.Chart(style.data(parts)).mark_bar(stroke="white", strokeWidth=0.3).encode(
        alt.X("run:N", sort=ordered["run"].to_list(), axis=labels,
              title=f"{plural(count, 'run')} in the order of {measure}, best first"),
        values.y().stack("zero"),
        alt.Color("part:N", title=None, scale=alt.Scale(domain=list(words), range=list(colors)),
                  legend=alt.Legend(orient="top")),
        alt.Order("order:Q"),
        tooltip=[alt.Tooltip("run:N"), alt.Tooltip("place:Q"),
                 alt.Tooltip("value:Q", title=measure, format=".4f"), alt.Tooltip("part:N"),
                 alt.Tooltip("share:Q", format=".1%")],
    )  # fmt: skip
    return style.titled(
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


@style.needs("run", "performance", "assessment")
def performance_against_assessment(
    frame: polars.DataFrame, *, performance: str = "AP", assessment: str = "A@1000"
) -> style.Chart:
    """Performance of every run against how far it was judged (Baillie et al., Fig. 12).

    Columns: `run`, `performance`, `assessment`; optional `kind` (a color and shape each), `collection` (a
    pane each) and `tau`, the same in all rows of a collection.
    """
    if "collection" not in frame.columns:
        frame = frame.with_columns(collection=polars.lit(""))
    kinds = style.names(frame, "kind") if "kind" in frame.columns else []
    x_title, y_title = f"{assessment}: share judged", f"{performance}, mean over topics"
    taus, panes = {}, []
    collections = style.names(frame, "collection")
    for collection in collections:
        shown = frame.filter(polars.col("collection") == collection)
        tau = shown["tau"][0] if "tau" in shown.columns else None
        taus[collection] = "" if tau is None else f"τ = {tau:.3f}"
        heading = [collection, taus[collection]] if len(collections) > 1 else [collection]
        pane = _scatter(shown, ("assessment", x_title), ("performance", y_title), kinds)
        panes.append(pane.properties(title=style.pane_title(", ".join(filter(None, heading)))))
    single = taus[collections[0]] if len(collections) == 1 else ""
    return style.titled(
        alt.concat(*panes, columns=2, spacing=30),
        f"{performance} against {assessment}" + (f": {single}" if single else ""),
        ["τ: Kendall's, between the two orders of the runs." if any(taus.values()) else ""],
    )


@style.needs("run", "performance", "ranking", "value")
def performance_against_rankings(frame: polars.DataFrame, *, performance: str = "MAP") -> style.Chart:
    """Performance of every run against what needs no judgments, a pane for each of these.

    Columns: `run`, `performance`, `ranking` (what it is called), `value`; optional `kind` (a color and
    shape each) and `tau`, the same in all rows of a ranking.
    """
    kinds = style.names(frame, "kind") if "kind" in frame.columns else []
    y = ("performance", f"{performance}, mean over topics")
    panes = []
    for ranking in style.names(frame, "ranking"):
        shown = frame.filter(polars.col("ranking") == ranking)
        tau = shown["tau"].fill_nan(None)[0] if "tau" in shown.columns else None
        heading = ranking if tau is None else f"{ranking}, τ = {tau:.3f}"
        pane = _scatter(shown, ("value", ranking), y, kinds, percent=False)
        panes.append(pane.properties(title=style.pane_title(heading)))
    return style.titled(
        alt.concat(*panes, columns=2, spacing=30),
        f"{performance} against rankings that need no judgments",
        ["τ: Kendall's, between the two orders of the runs." if "tau" in frame.columns else ""],
    )


@style.needs("run", "overlap", "assessment")
def reinforcement(
    frame: polars.DataFrame, *, assessment: str = "A@1000", tau: float | None = None
) -> style.Chart:
    """Return how far every run was judged against its overlap with the other pooled runs.

    Columns: `run`, `overlap` (0 to 1), `assessment` (0 to 1); optional `kind` (a color and shape each).
    `tau` is Kendall's, between the two.
    """
    kinds = style.names(frame, "kind") if "kind" in frame.columns else []
    x = ("overlap", "share of its pooled documents that another run pooled too")
    y = ("assessment", f"{assessment}: share judged")
    title = f"How far {plural(frame.height, 'run')} were judged, against what they share with others"
    compared = "" if tau is None else f"Kendall's τ between the two {tau:.3f}."
    return style.titled(_scatter(frame, x, y, kinds), title, [compared])


@style.needs("run", "same_group", "other_groups")
def added_runs(frame: polars.DataFrame, *, assessment: str = "A@1000") -> style.Chart:
    """Return how far each run, once pooled, raises its group's judged shares against those of others.

    Columns: `run`, `same_group` and `other_groups` (mean rises); optional `kind` (a color and shape each).
    """
    kinds = style.names(frame, "kind") if "kind" in frame.columns else []
    x = ("other_groups", f"rise of {assessment} in the runs of other groups")
    y = ("same_group", f"rise of {assessment} in the other runs of its group")
    points = _scatter(frame, x, y, kinds, percent=False)
    end = min(style.value_domain(frame[name])[1] for name in ("same_group", "other_groups"))
    line = polars.DataFrame({"other_groups": [0.0, end], "same_group": [0.0, end]})
    alike = alt.Chart(style.data(line)).mark_line(color=style.RULE, strokeDash=[2, 3]).encode(
        x="other_groups:Q", y="same_group:Q"
    )  # fmt: skip
    above = int((frame["same_group"] > frame["other_groups"]).sum())
    return style.titled(
        alt.LayerChart(layer=[alike, points]).properties(width=style.COLUMN, height=240),
        "Whose judged share rises when a run is pooled",
        [f"Above the line the run's own group gains more: {above} of {plural(frame.height, 'run')}."],
    )


def _scatter(
    frame: polars.DataFrame, across: tuple[str, str], up: tuple[str, str], kinds: list[str], *,
    percent: bool = True,
) -> alt.Chart:  # fmt: skip
    """A point for each run; kinds of run differ in color and shape."""
    columns = ["run", across[0], up[0], *(["kind"] if kinds else [])]
    # What stands across is a share, and no share is above 1.
    low, high = style.value_domain(frame[across[0]], from_zero=False, room=ROOM)
    scale = alt.Scale(domain=[max(low, 0.0), min(high, 1.0)], nice=False)
    look = alt.Axis(format=style.PERCENT) if percent else alt.Axis()
    x = alt.X(f"{across[0]}:Q", title=across[1], axis=look, scale=scale)
    values = lines.Values(
        column=up[0], title=up[1], domain=style.value_domain(frame[up[0]], room=ROOM),
        format=style.PERCENT if up[0] == "assessment" else "",
    )  # fmt: skip
    tooltip = _tooltip("run:N", **{across[0]: ".4f", up[0]: ".4f"})
    points = alt.Chart(style.data(frame.select(columns))).mark_point(filled=True, size=45, opacity=0.75)
    encoded = points.encode(x, values.y(), tooltip=tooltip)
    if kinds:
        signs = lines.series_signs("kind", kinds, points=True, title="kind of run", top=False)
        encoded = encoded.encode(signs.color, signs.shape)
    return encoded.properties(width=style.COLUMN, height=240)


# -- the charts of an audit -------------------------------------------------------------------------

MOST_PARTS = 24  # that have room side by side
STEPS = 20  # depths at which the extrapolation beyond the pool is drawn


def audit_charts(audit: Audit, extras: Extras) -> Iterator[tuple[str, Callable[[], style.Chart]]]:
    """(name, how to make it) of every chart that this audit has something for."""
    first = str(audit.measures[0])
    depth = audit.runs.pool.depth or None
    yield "judged-by-depth", lambda: judged_share_by_depth(_shares(audit), pool_depth=depth)
    yield "judged-shares", lambda: judged_shares(_composition(audit), measure=first)
    if extras.parts is not None:
        parts = extras.parts.frame.head(MOST_PARTS)
        yield "parts", lambda: shares_by_part(parts)
    if extras.titles is not None and extras.titles.frame.height:
        titles = extras.titles.frame
        yield "titles", lambda: title_words_by_pool_rank(titles)
    k = audit.pseudo().k
    yield (
        "assessment",
        lambda: performance_against_assessment(
            assessment_frame(audit, extras), performance="MAP", assessment=f"A_p@{k}"
        ),
    )
    yield "without-judgments", lambda: performance_against_rankings(_rankings(audit))
    if audit.ties().with_ties() > 0:
        yield "ties", lambda: _ties(audit)
    if not audit.has_pool:
        return
    yield "pool", lambda: pool_outcomes_by_depth(audit.outcomes().frame)
    several = [(name, one) for name, one in extras.others if one.has_pool]
    yield "growth", lambda: growth_by_depth(_growth(audit) if not several else _growths(audit, several))
    forecast = [one for depth in depths_beyond(audit.runs) for one in audit.beyond(depth) if not one.reason]
    if forecast and not audit.sampled:
        families = [name_of(one.measure) for one in forecast]
        below = frame_of(forecast).with_columns(measure=polars.Series(families, dtype=polars.String))
        yield "beyond", lambda: conclusions_beyond(below)
    if audit.unique().counts().any():
        yield "unique-relevant", lambda: unique_relevant(audit.unique().frame)
    changes = (
        audit.leave_out()
        .of_runs(audit.reported_names)
        .frame.filter(
            polars.col("pooled") & (polars.col("measure") == first) & polars.col("percent").is_not_nan()
        )
    )
    if changes.height:
        yield "leave-out", lambda: leave_out_changes(changes, measure=first)
        automatic = changes.filter(polars.col("kind") == "automatic")
        shown = automatic if automatic.height else changes
        yield "leave-out-differences", lambda: leave_out_differences(shown, measure=first)
    reinforced = audit.reinforcement().of_runs(audit.reported_names)
    yield (
        "reinforcement",
        lambda: reinforcement(reinforced.frame, assessment=f"A_p@{k}", tau=known(reinforced.tau)),
    )
    rises = audit.added().of_runs(audit.reported_names)
    shown = (
        rises.frame.filter((polars.col("k") == rises.ks[-1]) & polars.col("same_group").is_not_null())
        .with_columns(kind=polars.col("pooled").replace_strict(ADDED))
        .drop_nulls("other_groups")
    )
    if shown.height:
        yield "added", lambda: added_runs(shown, assessment=f"A_p@{rises.ks[-1]}")


def _rankings(audit: Audit) -> polars.DataFrame:
    """Columns run, kind, performance, ranking, value, tau: random judgments where known, and popularity."""
    found = audit.pseudo().of_runs(audit.reported_names)
    named = {"random": "MAP with random judgments", "popularity": "overlap with the other runs"}
    return polars.concat(
        found.frame.select(
            "run", "kind", "performance", polars.lit(word).alias("ranking"), polars.col(name).alias("value"),
            polars.lit(found.tau()[name]).alias("tau"),
        )
        for name, word in named.items()
        if name != "random" or audit.has_pool
    )  # fmt: skip


def _ties(audit: Audit) -> style.Chart:
    """Return what rules for ties change, beside how many scores are tied."""
    found = audit.ties().of_runs(audit.reported_names)
    rules = found.rules[1:]
    frame = polars.concat(
        found.frame.select(
            "run", "tied_share", polars.lit(rule).alias("rule"),
            (polars.col(rule) - polars.col(found.rules[0])).alias("difference"),
        )
        for rule in rules
    )  # fmt: skip
    taus = {str(rule): float(found.tau[0, place + 1]) for place, rule in enumerate(rules)}
    known = {rule: tau for rule, tau in taus.items() if np.isfinite(tau)}
    return ties_and_values(frame, measure=str(found.measure), taus=known)


def _shares(audit: Audit) -> polars.DataFrame:
    shares = audit.coverage().judged_share[audit.reported]
    runs, depths = shares.shape
    names = [run for run in audit.runs.runs if run in audit.reported_names]
    return polars.DataFrame(
        {
            "run": [run for run in names for _ in range(depths)],
            "k": np.tile(np.arange(1, depths + 1), runs),
            "share": shares.ravel(),
        },
        schema_overrides={"run": polars.String},
    )


def _composition(audit: Audit) -> polars.DataFrame:
    return (
        audit.coverage()
        .frame.select("run", "relevant", "nonrelevant", "unjudged")
        .with_columns(polars.Series("value", audit.values()[:, 0]))
        .filter(polars.Series(audit.reported))
    )


def _growth(audit: Audit) -> polars.DataFrame:
    """Depth, relevant, rate, extrapolated: what was found, and what Zobel's law says of the depths beyond."""
    growth = audit.growth()
    extrapolated = growth.depth > 1 and not audit.only_relevant
    seen = growth.frame.select(
        polars.col("depth"), polars.col("relevant"), polars.col("new_relevant").alias("rate"),
        polars.col("share_relevant").fill_nan(None).alias("share"), polars.lit(False).alias("extrapolated"),
    )  # fmt: skip
    if not extrapolated:
        return seen
    last = growth.last[np.isfinite(growth.last)]
    end = max(2 * growth.depth, int(min(last.max(initial=0.0), growth.end)))
    depths = np.unique(np.geomspace(growth.depth, end, STEPS + 1).astype(np.int64))
    more = np.array([expected_beyond(growth.relevant, int(depth)).mean() for depth in depths])
    known = float(seen["relevant"][-1])
    beyond = polars.DataFrame(
        {"depth": depths[1:], "relevant": known + more[1:], "rate": np.diff(more) / np.diff(depths)}
    ).with_columns(share=polars.lit(None, polars.Float64), extrapolated=polars.lit(True))
    return polars.concat([seen, beyond])


def _growths(audit: Audit, others: Sequence[tuple[str, Audit]]) -> polars.DataFrame:
    """The same of several collections, as far as their pools go."""
    own = plain_name(audit.runs.qrels.source)
    parts = [
        _growth(one).filter(~polars.col("extrapolated")).with_columns(collection=polars.lit(name))
        for name, one in ((own, audit), *others)
    ]
    return polars.concat(parts)
