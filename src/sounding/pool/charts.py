"""Charts of a pool: its size by depth, the overlap of groups, what strategies find in it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.pool.foresight import Foresight
from sounding.render import style
from sounding.render.lines import Values, series_pane
from sounding.render.style import PERCENT, data, names, needs, titled, value_domain
from sounding.selection.strategies import Replay

MOST_ABOVE = 5  # names in a legend above a pane of this width
LEAST_SIDE = 280  # pixels: of a square of tiles, so that legend and titles have room beside it


@needs("depth", "size")
def pool_size_by_depth(frame: polars.DataFrame) -> style.Chart:
    """Draw how many documents pools of growing depth hold.

    Columns: `depth`, `size` (documents); optional `share` (of depth times runs times topics, 0 to 1).
    """
    kept, note = style.thinned(frame, "depth", most=style.MOST_POINTS)
    x = style.depth_x(*style.span(kept, "depth"), "depth", "pool depth (log scale)")
    panes = []
    for column, title, shown in (
        ("size", "documents in the pool", ",d"),
        ("share", "share of depth x runs x topics", PERCENT),
    ):
        if column in kept.columns:
            values = Values(column=column, title=title, domain=value_domain(kept[column]), format=shown)
            tooltip = [alt.Tooltip("depth:Q"), alt.Tooltip(f"{column}:Q", format=shown)]
            line = alt.Chart(data(kept.select("depth", column))).mark_line(
                strokeWidth=2, color=style.COLORS[0]
            )
            pane = line.encode(x, values.y(), tooltip=tooltip)
            panes.append(pane.properties(width=style.COLUMN, height=style.COLUMN_HEIGHT))
    return titled(alt.vconcat(*panes, spacing=25), "Documents to judge by pool depth", [note])


@needs("strategy", "judgments", "found")
def relevant_by_judgments(frame: polars.DataFrame) -> style.Chart:
    """Draw the share of the relevant documents that each strategy found, over the number of judgments.

    Columns: `strategy`, `judgments`, `found` (0 to 1).
    """
    kept, _ = style.thinned(
        frame.select("strategy", "judgments", "found"), "judgments", most=style.MOST_POINTS
    )
    values = Values(column="found", title="share of relevant documents found", domain=(0, 1), format=PERCENT)
    x = style.depth_x(*style.span(kept, "judgments"), "judgments", "judgments (log scale)")
    order = names(kept, "strategy")
    pane = series_pane(kept, x, values, "strategy", order, top=len(order) <= MOST_ABOVE)
    return titled(pane.properties(width=style.COLUMN, height=style.COLUMN_HEIGHT), "Relevant documents found")


@needs("group", "other", "overlap")
def group_overlap(frame: polars.DataFrame) -> style.Chart:
    """Draw what share of the documents of one group another group retrieved too.

    Columns: `group`, `other`, `overlap` (0 to 1). Groups stand in the order of their mean overlap.
    """
    apart = frame.filter(polars.col("group") != polars.col("other")).select("group", "other", "overlap")
    means = apart.group_by("group").agg(mean=polars.col("overlap").fill_nan(None).mean())
    known = means.sort(["mean", "group"], descending=[True, False], nulls_last=True)["group"].to_list()
    order = list(dict.fromkeys([*known, *names(frame, "group"), *names(frame, "other")]))
    side = min(max(LEAST_SIDE // len(order), 14), 60)
    scale = alt.Scale(scheme="cividis", domain=list(value_domain(apart["overlap"])))
    tiles = alt.Chart(data(apart)).mark_rect().encode(
        alt.X("other:N", sort=order, title="share that this group has too", axis=style.slanted_axis()),
        alt.Y("group:N", sort=order, title="of the documents of this group",
              axis=alt.Axis(labelOverlap=False)),
        alt.Color("overlap:Q", title="overlap", scale=scale,
                  legend=alt.Legend(format=PERCENT, gradientLength=200)),
        tooltip=[alt.Tooltip("group:N"), alt.Tooltip("other:N"), alt.Tooltip("overlap:Q", format=".1%")],
    )  # fmt: skip
    return titled(
        tiles.properties(width=alt.Step(side), height=alt.Step(side)),
        f"Overlap of {plural(len(order), 'group')}",
        ["Groups in the order of their mean overlap with others."],
    )


def size_chart(foresight: Foresight) -> style.Chart:
    """Return the sizes of the pool by depth."""
    depths = list(range(1, foresight.depth + 1))
    sizes = [foresight.documents_at(depth) for depth in depths]
    return pool_size_by_depth(polars.DataFrame({"depth": depths, "size": sizes}))


def replay_chart(replays: Mapping[str, Replay]) -> style.Chart:
    """Draw what strategies found in their replays."""
    frames = [
        polars.DataFrame(
            {
                "judgments": np.arange(1, len(replay.picks) + 1),
                "found": replay.found / (replay.relevant or np.nan),
            }
        ).select(polars.lit(name).alias("strategy"), polars.all())
        for name, replay in replays.items()
    ]
    return relevant_by_judgments(polars.concat(frames))
