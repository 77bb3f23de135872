"""Charts of an audit: what shallower pools would have judged, and what the rule for ties changes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from sounding.report.charts.axes import PERCENT, depth_x, level_rule, value_domain
from sounding.report.charts.frames import data, names, needs, span
from sounding.report.charts.series import Values, series_pane, series_signs
from sounding.report.charts.style import pane_title, titled
from sounding.wording import plural

if TYPE_CHECKING:
    import polars

    from sounding.report.charts.style import Chart

WITHIN, PAST, FIRST = "within a run's own depth", "past it, or not in the run", "first unjudged document"
TIE_ROOM = 0.05  # beyond the farthest points of a scatter


@needs(
    "depth", "in_pool", "in_pool_deviation", "past", "past_deviation", "first_unjudged",
    "first_unjudged_deviation",
)  # fmt: skip
def pool_outcomes_by_depth(frame: polars.DataFrame) -> Chart:
    """What runs have of the relevant documents of a pool, and where they leave it (Lu et al., Table 4).

    Columns: `depth` (of the pool), `in_pool` and `past` (relevant documents of a run and topic, within the
    depth and past it), `first_unjudged` (its rank), and their standard deviations `in_pool_deviation`,
    `past_deviation` and `first_unjudged_deviation`.
    """
    import altair as alt
    import polars

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
        values = Values(column="mean", title=title, domain=value_domain(ends))
        x = depth_x(*span(long, "depth"), "depth", "pool depth (log scale)")
        pane = series_pane(long, x, values, "series", list(columns.values()), top=True)
        panes.append(pane.properties(width=330, height=260, title=pane_title(heading)))
    return titled(
        alt.hconcat(*panes, spacing=30).resolve_scale(
            color="independent", shape="independent", strokeDash="independent"
        ),
        "What contributing runs have of pools of growing depth",
        ["Means over runs and topics, and a standard deviation to both sides, as far as 0."],
    )


@needs("run", "rule", "tied_share", "difference")
def ties_and_values(
    frame: polars.DataFrame, *, measure: str = "RBP(p=0.8)", taus: Mapping[str, float] | None = None
) -> Chart:
    """How far another rule for tied scores moves every run, against how many of its scores are tied.

    Columns: `run`, `rule`, `tied_share` (0 to 1), `difference` (of the value, to that with ties by doc id).
    `taus` are Kendall's, by rule, between the orders of the runs.
    """
    import altair as alt

    order = names(frame, "rule")
    signs = series_signs("rule", order, points=True, title="rule for ties", top=False)
    scale = alt.Scale(domain=list(value_domain(frame["tied_share"], room=TIE_ROOM)), nice=False)
    x = alt.X(
        "tied_share:Q", title="share of tied scores in the first documents", scale=scale,
        axis=alt.Axis(format=PERCENT),
    )  # fmt: skip
    values = Values(
        column="difference", title=f"difference in {measure} to the order by doc id",
        domain=value_domain(frame["difference"], room=TIE_ROOM),
    )  # fmt: skip
    points = alt.Chart(data(frame.select("run", "rule", "tied_share", "difference")))
    marks = points.mark_point(filled=True, size=45, opacity=0.75).encode(
        x, values.y(), signs.colour, signs.shape,
        tooltip=[
            alt.Tooltip("run:N"), alt.Tooltip("rule:N"), alt.Tooltip("tied_share:Q", format=".1%"),
            alt.Tooltip("difference:Q", format="+.4f"),
        ],
    )  # fmt: skip
    told = "; ".join(f"τ between trec and {rule} {tau:.3f}" for rule, tau in (taus or {}).items())
    return titled(
        alt.LayerChart(layer=[level_rule(0.0, "difference"), marks]).properties(width=460, height=280),
        f"What the rule for tied scores changes in {plural(frame['run'].n_unique(), 'run')}",
        [f"Kendall's {told}." if told else ""],
    )
