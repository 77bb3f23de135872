"""The charts of `agree`: agreement of assessors, systems over many qrels, and systems that swap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.agree.resampling import KENDALL, Effect
from sounding.agree.result import Study
from sounding.core.arrays import NDArray
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.render import style

MARKS = {"original": ("circle", style.COLORS[1]), "union": ("triangle-up", style.COLORS[0]),
         "intersection": ("square", style.COLORS[2])}  # fmt: skip
WIDTH = 300  # pixels of a pane; with its labels it fits a paper's column
ROW = 15  # pixels for each name
MOST = 40  # systems, or topics, that a figure names
BINS = 40
THIN = 0.02  # width of the only bar
COEFFICIENTS = {
    "overlap": "overlap", "kappa": "kappa", "alpha": "alpha", "alpha_ordinal": "alpha of grades, ordinal",
}  # fmt: skip


@style.needs("assessors", "coefficient", "value", "lower", "upper")
def agreement_of_assessors(frame: polars.DataFrame) -> style.Chart:
    """Draw how far each pair of assessors agrees, and all of them, with intervals.

    Columns: `assessors`, `coefficient`, `value`, `lower`, `upper`. Pairs and coefficients keep the order of
    the frame.
    """
    who, kinds = style.names(frame, "assessors"), style.names(frame, "coefficient")
    low, _ = style.value_domain(polars.concat([frame["value"], frame["lower"], frame["upper"]]))
    scale = alt.Scale(domain=[max(low, -1.0), 1.0], nice=False)
    x = alt.X("value:Q", title="agreement (1 = full)", scale=scale)
    y = alt.Y("assessors:N", sort=who, title=None)
    offset = alt.YOffset("coefficient:N", sort=kinds)
    colors = alt.Scale(domain=kinds, range=style.series_colors(len(kinds)))
    color = alt.Color("coefficient:N", scale=colors, title=None, legend=_LEGEND)
    shapes = alt.Scale(domain=kinds, range=style.series_shapes(len(kinds)))
    shape = alt.Shape("coefficient:N", scale=shapes, title=None, legend=_LEGEND)
    tooltip = _tooltip("assessors:N", "coefficient:N", "value:Q", "lower:Q", "upper:Q")
    base = alt.Chart(style.data(frame.select("assessors", "coefficient", "value", "lower", "upper")))
    bars = base.mark_rule(strokeWidth=2).encode(
        alt.X("lower:Q"), alt.X2("upper:Q"), y, offset, color, tooltip=tooltip
    )
    points = base.mark_point(filled=True, size=60).encode(x, y, offset, color, shape, tooltip=tooltip)
    height = alt.Step(16 * len(kinds) + 8, **{"for": "position"})
    pane = alt.LayerChart(layer=[points, bars], width=WIDTH, height=height)
    return style.titled(pane, "Agreement of the assessors", ["Lines: intervals, by a bootstrap over topics."])


@style.needs("topic", "overlap", "contested")
def overlap_by_topic(frame: polars.DataFrame) -> style.Chart:
    """Draw the overlap of the assessors' relevant documents by topic, the topics to discuss first at the top.

    Columns: `topic`, `overlap` (0 to 1), `contested` (number of documents, drawn as the size of the point).
    Only the first MOST topics are drawn.
    """
    topics = style.names(frame, "topic")
    order = topics[:MOST]
    drawn = frame.filter(polars.col("topic").cast(str).is_in(order))
    points = (
        alt.Chart(style.data(drawn.select("topic", "overlap", "contested")))
        .mark_point(filled=True, color=style.COLORS[0], opacity=0.8)
        .encode(
            alt.X("overlap:Q", title="overlap of relevant documents", scale=alt.Scale(domain=[0, 1])),
            alt.Y("topic:N", sort=order, title="topic", axis=_names_axis()),
            alt.Size("contested:Q", title="contested documents", scale=alt.Scale(range=[12, 200]),
                     legend=_LEGEND),
            tooltip=_tooltip("topic:N", "overlap:Q", "contested:Q"),
        )
        .properties(width=WIDTH, height=_height(len(order)))
    )  # fmt: skip
    note = f"The first {MOST} of {len(topics)} topics to discuss." if len(topics) > MOST else ""
    return style.titled(points, "Overlap by topic", [note or "Topics to discuss first are at the top."])


@style.needs("system", "mean", "least", "most", "original", "union", "intersection")
def values_over_qrels(
    frame: polars.DataFrame, *, measure: str = "AP", qrels: int | None = None, most: int = MOST
) -> style.Chart:
    """Draw the mean and range of each system over qrels, and three special values (Voorhees 2002, Fig. 3).

    Columns: `system`, `mean`, `least`, `most`, `original`, `union`, `intersection`, best mean first. The
    first `most` systems are drawn.
    """
    systems = frame.height
    frame = frame.head(most)
    order = style.names(frame, "system")
    y = alt.Y("system:N", sort=order, title=None, axis=_names_axis())
    drawn = polars.concat([frame[name].cast(float) for name in ("mean", "least", "most", *MARKS)])
    scale = alt.Scale(domain=list(style.value_domain(drawn)), nice=False)
    x = alt.X("least:Q", title=f"{measure}, mean over topics", scale=scale)
    tooltip = _tooltip("system:N", "mean:Q", "least:Q", "most:Q")
    base = alt.Chart(style.data(frame.select("system", "mean", "least", "most")))
    bar = base.mark_rule(color=style.FAINT, strokeWidth=3).encode(x, y, alt.X2("most:Q"), tooltip=tooltip)
    mean = base.mark_tick(color=style.INK, thickness=2, size=10).encode(alt.X("mean:Q"), y, tooltip=tooltip)
    special = frame.unpivot(on=list(MARKS), index="system", variable_name="qrels", value_name="value")
    shapes, colors = zip(*MARKS.values(), strict=True)
    points = (
        alt.Chart(style.data(special))
        .mark_point(filled=True, size=38, opacity=0.9)
        .encode(
            alt.X("value:Q"), y,
            alt.Shape("qrels:N", title=None, legend=_LEGEND,
                      scale=alt.Scale(domain=list(MARKS), range=list(shapes))),
            alt.Color("qrels:N", title=None, legend=_LEGEND,
                      scale=alt.Scale(domain=list(MARKS), range=list(colors))),
            tooltip=_tooltip("system:N", "qrels:N", "value:Q"),
        )
    )  # fmt: skip
    pane = alt.LayerChart(layer=[bar, mean, points], width=WIDTH, height=_height(len(order)))
    count = "many" if qrels is None else f"{qrels:,}"
    who = plural(systems, "system") if systems <= most else f"the {most} best of {systems} systems"
    note = "Bars: range over qrels. Ticks: mean over qrels."
    return style.titled(pane, f"{measure} of {who} over {count} qrels", [note])


@style.needs("lower", "upper", "qrels")
def agreement_over_qrels(
    frame: polars.DataFrame, *, coefficient: str = "Kendall's τ", mean: float | None = None
) -> style.Chart:
    """Draw a histogram of how far the rankings under other qrels agree with the original one.

    Columns: `lower` and `upper`, the limits of a bar, and `qrels`, its count.
    """
    scale = alt.Scale(domain=_limits(frame), nice=False)
    x = alt.X("lower:Q", title=f"{coefficient} with the original ranking", scale=scale)
    bars = (
        alt.Chart(style.data(frame))
        .mark_bar(color=style.COLORS[0], binSpacing=0, stroke="white", strokeWidth=0.5, orient="vertical")
        .encode(
            x, alt.X2("upper:Q"), alt.Y("qrels:Q", title="qrels"), alt.Y2(datum=0),
            tooltip=_tooltip("lower:Q", "upper:Q", "qrels:Q"),
        )
    )  # fmt: skip
    layers: list[alt.Chart] = [bars]
    if mean is not None:
        place = alt.Chart(alt.InlineData(values=[{"lower": mean, "name": f"mean {mean:.3f}"}]))
        name = place.mark_text(baseline="bottom", color=style.RULE, fontSize=11)
        layers += [
            place.mark_rule(color=style.INK, strokeDash=[4, 3]).encode(alt.X("lower:Q")),
            name.encode(alt.X("lower:Q"), alt.Text("name:N"), y=alt.value(-3)),
        ]
    pane = alt.LayerChart(layer=layers, width=WIDTH, height=200)
    total = int(frame["qrels"].sum())
    return style.titled(pane, f"{total:,} rankings compared with the original")


def _limits(frame: polars.DataFrame) -> list[float]:
    """Return the range of the axis, which ends at 1 at most."""
    limits = np.concatenate([frame[name].cast(float).fill_null(np.nan) for name in ("lower", "upper")])
    known = limits[np.isfinite(limits)]
    return [float(known.min()), float(known.max())] if len(known) else [0.0, 1.0]


@style.needs("system", "other", "swapped")
def swaps_over_qrels(
    frame: polars.DataFrame, *, measure: str = "AP", order: Sequence[str] | None = None, most: int = MOST
) -> style.Chart:
    """Draw how often qrels reverse each pair of systems, best systems first.

    Columns: `system` (better in the original), `other`, `swapped` (share of qrels, 0 to 1). `order` lists the
    systems, by default in the order of the frame; the first `most` are drawn.
    """
    systems = list(order or dict.fromkeys([*style.names(frame, "system"), *style.names(frame, "other")]))
    shown = systems[:most]
    drawn = frame.filter(polars.col("system").is_in(shown) & polars.col("other").is_in(shown))
    shades = alt.Scale(range=list(style.CIVIDIS[::-1]), domain=[0, 1])
    scale = alt.Scale(domain=shown)
    cells = (
        alt.Chart(style.data(drawn.select("system", "other", "swapped")))
        .mark_rect()
        .encode(
            alt.X("other:N", sort=shown, title="worse by the original qrels", scale=scale,
                  axis=_names_axis(labelAngle=-90)),
            alt.Y("system:N", sort=shown, title="better by the original qrels", scale=scale,
                  axis=_names_axis()),
            alt.Color("swapped:Q", title="share of qrels", scale=shades, legend=_LEGEND),
            tooltip=_tooltip("system:N", "other:N", "swapped:Q"),
        )
        .properties(width=max(_height(len(shown)), 200), height=max(_height(len(shown)), 200))
    )  # fmt: skip
    some = f"The {most} best of {len(systems)} systems." if len(systems) > most else ""
    return style.titled(
        cells, f"How often qrels reverse two systems by {measure}", ["Empty: never, or tied.", some]
    )


_LEGEND = {"orient": "bottom"}


def _tooltip(*fields: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(field) for field in fields]


def _names_axis(**more: Any) -> alt.Axis:
    return alt.Axis(labelFontSize=10, labelOverlap=False, **more)


def _height(rows: int) -> int:
    return max(ROW * rows, 4 * ROW)


# -- from a study ----------------------------------------------------------------------------------


FIGURES = ("pairs", "topics", "systems", "taus", "swaps")  # sections that have a figure


def figures(study: Study, section: str, most: int | None = None) -> list[style.Chart]:
    """Return the figures of a section: one, or one for each measure; none if it has nothing to draw."""
    if section == "pairs":
        return [agreement_of_assessors(pair_frame(study))]
    if section == "topics":
        topics = topic_frame(study)
        return [] if topics.is_empty() else [overlap_by_topic(topics)]
    return [chart for effect in study.effects for chart in _effect_figures(effect, section, most or MOST)]


def pair_frame(study: Study) -> polars.DataFrame:
    """Return the columns of `agreement_of_assessors`; ordinal alpha only with more than two grades."""
    graded = len(study.agreements.scale) > 2
    rows = [
        (study.agreements.names(group), title, estimate.value, estimate.low, estimate.high)
        for group in study.agreements.groups
        for name, title in COEFFICIENTS.items()
        if graded or name != "alpha_ordinal"
        for estimate in [group.estimates[name]]
    ]
    columns = ["assessors", "coefficient", "value", "lower", "upper"]
    return polars.DataFrame(rows, schema=columns, orient="row")


def topic_frame(study: Study) -> polars.DataFrame:
    """Return the columns of `overlap_by_topic` for the topics that have an overlap."""
    topics = study.agreements.topics
    rows = [(topic.topic, topic.overlap, topic.contested) for topic in topics if not np.isnan(topic.overlap)]
    schema = {"topic": polars.String, "overlap": polars.Float64, "contested": polars.Int64}
    return polars.DataFrame(rows, schema=schema, orient="row")


def _effect_figures(effect: Effect, section: str, most: int) -> list[style.Chart]:
    measure = str(effect.measure)
    if section == "systems":
        return [values_over_qrels(system_frame(effect), measure=measure, qrels=effect.samples, most=most)]
    frame = tau_frame(effect) if section == "taus" else swap_frame(effect)
    if frame.is_empty():
        return []
    if section == "taus":
        mean = effect.with_original.mean
        return [agreement_over_qrels(frame, coefficient=f"{effect.coefficient} by {measure}", mean=mean)]
    order = [effect.systems[place] for place in _by_original(effect)]
    return [swaps_over_qrels(frame, measure=measure, order=order, most=most)]


def _by_original(effect: Effect) -> list[int]:
    return sorted(range(len(effect.systems)), key=lambda row: (-effect.values[row], effect.systems[row]))


def system_frame(effect: Effect) -> polars.DataFrame:
    """Return the columns of `values_over_qrels`."""
    columns = {
        "system": np.array(effect.systems, object), "mean": effect.mean, "least": effect.least,
        "most": effect.most, "original": effect.values, "union": effect.union,
        "intersection": effect.intersection,
    }  # fmt: skip
    return polars.DataFrame({name: column[effect.order] for name, column in columns.items()})


def tau_frame(effect: Effect) -> polars.DataFrame:
    """Return the columns of `agreement_over_qrels`; no rows if no ranking has a coefficient."""
    known = effect.taus[~np.isnan(effect.taus)]
    if not len(known):
        return polars.DataFrame({"lower": [], "upper": [], "qrels": []})
    edges = _edges(float(known.min()), float(known.max()), 2 / effect.pairs, effect.coefficient in KENDALL)
    # A value belongs to the bar that ends at it; rounding must not push it over the edge.
    places = np.searchsorted(edges, known - 1e-9 * (edges[-1] - edges[0]), side="right") - 1
    counts = np.bincount(np.clip(places, 0, len(edges) - 2), minlength=len(edges) - 1)
    return polars.DataFrame({"lower": edges[:-1], "upper": edges[1:], "qrels": counts})


def _edges(least: float, most: float, step: float, stepped: bool) -> NDArray[np.float64]:
    """Return the limits of at most BINS bars, the last of which ends at the greatest value.

    Kendall's tau comes in steps of one swap, and a bar covers whole steps.
    """
    if not stepped and most == least:
        return most + THIN * np.array([0.0, 1.0] if most - THIN < -1 else [-1.0, 0.0])
    if not stepped:
        return np.linspace(least, most, BINS + 1)
    steps = round((most - least) / step)
    width = max(1, int(np.ceil((steps + 1) / BINS)))
    bars = steps // width + 1
    edges = most - step * width * np.arange(bars, -1, -1)
    if edges[1] < step / 2 - 1:  # otherwise the bar for a tau of -1 would have no width
        return np.linspace(least, most, bars + 1)
    return np.maximum(edges, -1.0)


def swap_frame(effect: Effect) -> polars.DataFrame:
    """Return the columns of `swaps_over_qrels` for the pairs that some qrels reverse."""
    order = _by_original(effect)
    pairs = [
        (effect.systems[one], effect.systems[other], float(effect.swap_share[one, other]))
        for place, one in enumerate(order)
        for other in order[place + 1 :]
        if effect.swap_share[one, other] > 0
    ]
    schema = {"system": polars.String, "other": polars.String, "swapped": polars.Float64}
    return polars.DataFrame(pairs, schema=schema, orient="row")
