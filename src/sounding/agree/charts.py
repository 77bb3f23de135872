"""Charts of several assessors: how far they agree, systems over many qrels, and which systems swap."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.agree.resampling import KENDALL, Effect
from sounding.agree.result import Study
from sounding.core.arrays import NDArray
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.render import style

MARKS = {"original": ("circle", style.COLORS[1]), "union": ("triangle-up", style.COLORS[0]),
         "intersection": ("square", style.COLORS[2])}  # fmt: skip
BINS = 40
THIN = 0.02  # breadth of a bar that stands alone
FEW = 45  # systems whose names are set in full size
COEFFICIENTS = {
    "overlap": "overlap", "kappa": "kappa", "alpha": "alpha", "alpha_ordinal": "alpha of grades, ordinal",
}  # fmt: skip


@style.needs("assessors", "coefficient", "value", "lower", "upper")
def agreement_of_assessors(frame: polars.DataFrame) -> style.Chart:
    """How far each pair of assessors agrees, and all of them, with intervals.

    Columns: `assessors`, `coefficient`, `value`, `lower`, `upper`. Pairs and coefficients stand as the frame
    first names them.
    """
    who, kinds = style.names(frame, "assessors"), style.names(frame, "coefficient")
    low, high = style.value_domain(polars.concat([frame["value"], frame["lower"], frame["upper"]]))
    scale = alt.Scale(domain=[low, max(high, 1.0)], nice=False)
    x = alt.X("value:Q", title="agreement (1: full)", scale=scale)
    y = alt.Y("assessors:N", sort=who, title=None)
    offset = alt.YOffset("coefficient:N", sort=kinds)
    colors = alt.Scale(domain=kinds, range=style.series_colors(len(kinds)))
    color = alt.Color("coefficient:N", scale=colors, title=None)
    shapes = alt.Scale(domain=kinds, range=style.series_shapes(len(kinds)))
    shape = alt.Shape("coefficient:N", scale=shapes, title=None)
    tooltip = _tooltip("assessors:N", "coefficient:N", "value:Q", "lower:Q", "upper:Q")
    base = alt.Chart(style.data(frame.select("assessors", "coefficient", "value", "lower", "upper")))
    bars = base.mark_rule(strokeWidth=2).encode(
        alt.X("lower:Q"), alt.X2("upper:Q"), y, offset, color, tooltip=tooltip
    )
    points = base.mark_point(filled=True, size=60).encode(x, y, offset, color, shape, tooltip=tooltip)
    height = alt.Step(16 * len(kinds) + 8, **{"for": "position"})
    pane = alt.LayerChart(layer=[points, bars], width=420, height=height)
    return style.titled(pane, "How far the assessors agree", ["Lines: intervals by a bootstrap over topics."])


@style.needs("topic", "overlap", "contested")
def overlap_by_topic(frame: polars.DataFrame) -> style.Chart:
    """Overlap of the assessors' relevant documents on each topic, those to talk about first.

    Columns: `topic`, `overlap` (0 to 1), `contested` (documents, the size of the point).
    """
    order = style.names(frame, "topic")
    points = (
        alt.Chart(style.data(frame.select("topic", "overlap", "contested")))
        .mark_point(filled=True, color=style.COLORS[0], opacity=0.8)
        .encode(
            alt.X("topic:N", sort=order, title="topic", axis=_system_axis(len(order))),
            alt.Y("overlap:Q", title="overlap of relevant documents", scale=alt.Scale(domain=[0, 1])),
            alt.Size("contested:Q", title="contested documents", scale=alt.Scale(range=[12, 260])),
            tooltip=_tooltip("topic:N", "overlap:Q", "contested:Q"),
        )
        .properties(width=_width(len(order)), height=240)
    )
    note = "Topics to talk about first stand to the left."
    return style.titled(points, "Overlap of the assessors by topic", [note])


@style.needs("system", "mean", "least", "most", "original", "union", "intersection")
def values_over_qrels(
    frame: polars.DataFrame, *, measure: str = "AP", qrels: int | None = None
) -> style.Chart:
    """Mean and range of every system over qrels, with three special ones (Voorhees 2002, Fig. 3).

    Columns: `system`, `mean`, `least`, `most`, `original`, `union`, `intersection`, best mean first.
    """
    order = style.names(frame, "system")
    x = alt.X("system:N", sort=order, title=None, axis=_system_axis(len(order)))
    drawn = polars.concat([frame[name].cast(float) for name in ("mean", "least", "most", *MARKS)])
    scale = alt.Scale(domain=list(style.value_domain(drawn)), nice=False)
    y = alt.Y("least:Q", title=f"{measure}, mean over topics", scale=scale)
    tooltip = _tooltip("system:N", "mean:Q", "least:Q", "most:Q")
    base = alt.Chart(style.data(frame.select("system", "mean", "least", "most")))
    bar = base.mark_rule(color=style.FAINT, strokeWidth=3).encode(x, y, alt.Y2("most:Q"), tooltip=tooltip)
    mean = base.mark_tick(color=style.INK, thickness=2, size=8).encode(x, alt.Y("mean:Q"), tooltip=tooltip)
    special = frame.unpivot(on=list(MARKS), index="system", variable_name="qrels", value_name="value")
    shapes, colors = zip(*MARKS.values(), strict=True)
    points = (
        alt.Chart(style.data(special))
        .mark_point(filled=True, size=38, opacity=0.9)
        .encode(
            x, alt.Y("value:Q"),
            alt.Shape("qrels:N", scale=alt.Scale(domain=list(MARKS), range=list(shapes))),
            alt.Color("qrels:N", scale=alt.Scale(domain=list(MARKS), range=list(colors))),
            tooltip=_tooltip("system:N", "qrels:N", "value:Q"),
        )
    )  # fmt: skip
    pane = alt.LayerChart(layer=[bar, mean, points], width=_width(len(order)), height=340)
    count = "many" if qrels is None else f"{qrels:,}"
    note = "Bars: least to most; ticks: mean over qrels, by which the systems are ordered."
    return style.titled(pane, f"{measure} of {plural(len(order), 'system')} over {count} qrels", [note])


@style.needs("lower", "upper", "qrels")
def agreement_over_qrels(
    frame: polars.DataFrame, *, coefficient: str = "Kendall's τ", mean: float | None = None
) -> style.Chart:
    """How many qrels rank the systems how nearly as the original ones do.

    Columns: `lower` and `upper`, the limits of a stretch of the coefficient, and `qrels`, how many lie in it.
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
    pane = alt.LayerChart(layer=layers, width=460, height=240)
    total = int(frame["qrels"].sum())
    return style.titled(pane, f"Agreement of {total:,} rankings with the original one")


def _limits(frame: polars.DataFrame) -> list[float]:
    """From the first limit of a stretch to the last, and no further: coefficients end at 1."""
    limits = np.concatenate([frame[name].cast(float).fill_null(np.nan) for name in ("lower", "upper")])
    known = limits[np.isfinite(limits)]
    return [float(known.min()), float(known.max())] if len(known) else [0.0, 1.0]


@style.needs("system", "other", "swapped")
def swaps_over_qrels(
    frame: polars.DataFrame, *, measure: str = "AP", order: Sequence[str] | None = None
) -> style.Chart:
    """How often qrels turn each pair of systems round, best systems first.

    Columns: `system` (better in the original), `other`, `swapped` (share of qrels, 0 to 1). `order` lists the
    systems; by default they stand as the frame first names them.
    """
    order = list(order or dict.fromkeys([*style.names(frame, "system"), *style.names(frame, "other")]))
    size = min((9 if len(order) > FEW else 16) * len(order), 900)
    axis = _system_axis(len(order))
    quiet = alt.Axis(labelFontSize=8 if len(order) > FEW else 10, labelLimit=110)
    shades = alt.Scale(range=list(style.CIVIDIS[::-1]), domain=[0, 1])
    systems = alt.Scale(domain=order)
    cells = (
        alt.Chart(style.data(frame.select("system", "other", "swapped")))
        .mark_rect()
        .encode(
            alt.X("other:N", sort=order, title="the worse one", scale=systems, axis=axis),
            alt.Y("system:N", sort=order, title="the better one", scale=systems, axis=quiet),
            alt.Color("swapped:Q", title="share of qrels", scale=shades),
            tooltip=_tooltip("system:N", "other:N", "swapped:Q"),
        )
        .properties(width=size, height=size)
    )
    note = "Better and worse: by the original qrels. Empty: never turned, or tied."
    return style.titled(cells, f"{measure}: how often qrels turn two systems round", [note])


def _tooltip(*fields: str) -> list[alt.Tooltip]:
    return [alt.Tooltip(field) for field in fields]


def _system_axis(count: int) -> alt.Axis:
    size = 8 if count > FEW else 11
    return alt.Axis(labelAngle=-90, labelFontSize=size, labelLimit=110, labelOverlap=False)


def _width(systems: int) -> int:
    return max(18 * systems, 240) if systems <= FEW else min(18 * systems, 1250)


# -- from a study ----------------------------------------------------------------------------------


def charts_of(study: Study) -> list[style.Chart]:
    """All charts of a study: of the assessors, then of the systems, measure after measure."""
    charts = [agreement_of_assessors(pair_frame(study))]
    topics = topic_frame(study)
    if not topics.is_empty():
        charts.append(overlap_by_topic(topics))
    return [*charts, *(chart for effect in study.effects for chart in _effect_charts(effect))]


def pair_frame(study: Study) -> polars.DataFrame:
    """The columns of `agreement_of_assessors`; ordinal alpha only where there are more than two grades."""
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
    """The columns of `overlap_by_topic`: topics that have an overlap."""
    topics = study.agreements.topics
    rows = [(topic.topic, topic.overlap, topic.contested) for topic in topics if not np.isnan(topic.overlap)]
    schema = {"topic": polars.String, "overlap": polars.Float64, "contested": polars.Int64}
    return polars.DataFrame(rows, schema=schema, orient="row")


def _effect_charts(effect: Effect) -> list[style.Chart]:
    measure = str(effect.measure)
    charts = [values_over_qrels(system_frame(effect), measure=measure, qrels=effect.samples)]
    taus, swaps = tau_frame(effect), swap_frame(effect)
    if not taus.is_empty():
        mean = effect.with_original.mean
        charts.append(agreement_over_qrels(taus, coefficient=effect.coefficient, mean=mean))
    if not swaps.is_empty():
        order = [effect.systems[place] for place in _by_original(effect)]
        charts.append(swaps_over_qrels(swaps, measure=measure, order=order))
    return charts


def _by_original(effect: Effect) -> list[int]:
    return sorted(range(len(effect.systems)), key=lambda row: (-effect.values[row], effect.systems[row]))


def system_frame(effect: Effect) -> polars.DataFrame:
    """The columns of `values_over_qrels`."""
    columns = {
        "system": np.array(effect.systems, object), "mean": effect.mean, "least": effect.least,
        "most": effect.most, "original": effect.values, "union": effect.union,
        "intersection": effect.intersection,
    }  # fmt: skip
    return polars.DataFrame({name: column[effect.order] for name, column in columns.items()})


def tau_frame(effect: Effect) -> polars.DataFrame:
    """The columns of `agreement_over_qrels`; no rows where no ranking has a coefficient."""
    known = effect.taus[~np.isnan(effect.taus)]
    if not len(known):
        return polars.DataFrame({"lower": [], "upper": [], "qrels": []})
    edges = _edges(float(known.min()), float(known.max()), 2 / effect.pairs, effect.coefficient in KENDALL)
    # A value belongs to the bar that ends at it: rounding must not lift it over the edge.
    places = np.searchsorted(edges, known - 1e-9 * (edges[-1] - edges[0]), side="right") - 1
    counts = np.bincount(np.clip(places, 0, len(edges) - 2), minlength=len(edges) - 1)
    return polars.DataFrame({"lower": edges[:-1], "upper": edges[1:], "qrels": counts})


def _edges(least: float, most: float, step: float, stepped: bool) -> NDArray[np.float64]:
    """Limits of at most BINS bars that end at the greatest value.

    Kendall's tau comes in steps of one swap, of which a bar holds a whole number; others come as they like.
    """
    if not stepped and most == least:
        return most + THIN * np.array([0.0, 1.0] if most - THIN < -1 else [-1.0, 0.0])
    if not stepped:
        return np.linspace(least, most, BINS + 1)
    steps = round((most - least) / step)
    width = max(1, int(np.ceil((steps + 1) / BINS)))
    bars = steps // width + 1
    edges = most - step * width * np.arange(bars, -1, -1)
    if edges[1] < step / 2 - 1:  # a tau of -1 would get a bar without breadth
        return np.linspace(least, most, bars + 1)
    return np.maximum(edges, -1.0)


def swap_frame(effect: Effect) -> polars.DataFrame:
    """The columns of `swaps_over_qrels`: pairs that some qrels turn."""
    order = _by_original(effect)
    pairs = [
        (effect.systems[one], effect.systems[other], float(effect.swap_share[one, other]))
        for place, one in enumerate(order)
        for other in order[place + 1 :]
        if effect.swap_share[one, other] > 0
    ]
    schema = {"system": polars.String, "other": polars.String, "swapped": polars.Float64}
    return polars.DataFrame(pairs, schema=schema, orient="row")
