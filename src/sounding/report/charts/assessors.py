"""Charts of several assessors: systems over many qrels, how far rankings agree, and which systems swap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sounding.assessors.resampling import Effect
from sounding.assessors.study import Study
from sounding.report.charts.axes import value_domain
from sounding.report.charts.frames import data, names, needs, plural
from sounding.report.charts.style import CIVIDIS, COLOURS, FAINT, INK, RULE, titled

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.report.charts.style import Chart

MARKS = {"original": ("circle", COLOURS[1]), "union": ("triangle-up", COLOURS[0]),
         "intersection": ("square", COLOURS[2])}  # fmt: skip
BINS = 40
FEW = 45  # systems whose names are set in full size


@needs("system", "mean", "least", "most", "original", "union", "intersection")
def values_over_qrels(frame: polars.DataFrame, *, measure: str = "AP", qrels: int | None = None) -> Chart:
    """Mean and range of every system over qrels, with three special ones (Voorhees 2002, Fig. 3).

    Columns: `system`, `mean`, `least`, `most`, `original`, `union`, `intersection`, best mean first.
    """
    import altair as alt
    import polars

    order = names(frame, "system")
    x = alt.X("system:N", sort=order, axis=_system_axis(len(order)))
    low, high = value_domain(polars.concat([frame["least"], frame["most"], frame["intersection"]]))
    y = alt.Y("least:Q", title=f"{measure}, mean over topics", scale=alt.Scale(domain=[low, high]))
    tooltip = [alt.Tooltip("system:N"), *(alt.Tooltip(f"{name}:Q") for name in ("mean", "least", "most"))]
    base = alt.Chart(data(frame.select("system", "mean", "least", "most")))
    bar = base.mark_rule(color=FAINT, strokeWidth=3).encode(x, y, alt.Y2("most:Q"), tooltip=tooltip)
    mean = base.mark_tick(color=INK, thickness=2, size=8).encode(x, alt.Y("mean:Q"), tooltip=tooltip)
    special = frame.unpivot(
        on=list(MARKS), index="system", variable_name="qrels", value_name="value"
    )  # fmt: skip
    shapes, colours = zip(*MARKS.values(), strict=True)
    points = (
        alt.Chart(data(special))
        .mark_point(filled=True, size=38, opacity=0.9)
        .encode(
            x, alt.Y("value:Q"),
            alt.Shape("qrels:N", scale=alt.Scale(domain=list(MARKS), range=list(shapes))),
            alt.Color("qrels:N", scale=alt.Scale(domain=list(MARKS), range=list(colours))),
            tooltip=[alt.Tooltip("system:N"), alt.Tooltip("qrels:N"), alt.Tooltip("value:Q")],
        )
    )  # fmt: skip
    pane = alt.LayerChart(layer=[bar, mean, points], width=_width(len(order)), height=340)
    count = "many" if qrels is None else f"{qrels:,}"
    return titled(
        pane, f"{measure} of {plural(len(order), 'system')} over {count} qrels",
        ["Bars: least to most; ticks: mean over qrels, by which the systems are ordered."],
    )  # fmt: skip


@needs("lower", "upper", "qrels")
def agreement_over_qrels(
    frame: polars.DataFrame, *, coefficient: str = "Kendall's τ", mean: float | None = None
) -> Chart:
    """How many qrels rank the systems how nearly as the original ones do.

    Columns: `lower` and `upper`, the limits of a stretch of the coefficient, and `qrels`, how many lie in it.
    """
    import altair as alt
    import polars

    limits = polars.concat([frame["lower"], frame["upper"]])
    low, high = value_domain(limits, from_zero=False)
    x = alt.X(
        "lower:Q", title=f"{coefficient} with the original ranking", scale=alt.Scale(domain=[low, high])
    )
    bars = (
        alt.Chart(data(frame))
        .mark_bar(color=COLOURS[0], binSpacing=0, stroke="white", strokeWidth=0.5, orient="vertical")
        .encode(
            x, alt.X2("upper:Q"), alt.Y("qrels:Q", title="qrels"), alt.Y2(datum=0),
            tooltip=[alt.Tooltip("lower:Q"), alt.Tooltip("upper:Q"), alt.Tooltip("qrels:Q")],
        )
    )  # fmt: skip
    layers: list[alt.Chart] = [bars]
    if mean is not None:
        place = alt.Chart(alt.InlineData(values=[{"lower": mean, "name": f"mean {mean:.3f}"}]))
        layers.append(place.mark_rule(color=INK, strokeDash=[4, 3]).encode(alt.X("lower:Q")))
        layers.append(
            place.mark_text(baseline="bottom", color=RULE, fontSize=11).encode(
                alt.X("lower:Q"), alt.Text("name:N"), y=alt.value(-3)
            )
        )
    pane = alt.LayerChart(layer=layers, width=460, height=240)
    total = int(frame["qrels"].sum())
    return titled(pane, f"Agreement of {total:,} rankings with the original one")


@needs("system", "other", "swapped")
def swaps_over_qrels(
    frame: polars.DataFrame, *, measure: str = "AP", order: Sequence[str] | None = None
) -> Chart:
    """How often qrels turn each pair of systems round, best systems first.

    Columns: `system` (better in the original), `other`, `swapped` (share of qrels, 0 to 1). `order` lists the
    systems; by default they stand as the frame first names them.
    """
    import altair as alt

    order = list(order or dict.fromkeys([*names(frame, "system"), *names(frame, "other")]))
    size = min((9 if len(order) > FEW else 16) * len(order), 900)
    axis = _system_axis(len(order))
    quiet = alt.Axis(title=None, labelFontSize=8 if len(order) > FEW else 10, labelLimit=110)
    share = alt.Color(
        "swapped:Q", title="share of qrels", scale=alt.Scale(range=list(CIVIDIS[::-1]), domain=[0, 1])
    )  # fmt: skip
    cells = (
        alt.Chart(data(frame.select("system", "other", "swapped")))
        .mark_rect()
        .encode(
            alt.X("other:N", sort=order, scale=alt.Scale(domain=order), axis=axis),
            alt.Y("system:N", sort=order, scale=alt.Scale(domain=order), axis=quiet), share,
            tooltip=[alt.Tooltip("system:N"), alt.Tooltip("other:N"), alt.Tooltip("swapped:Q")],
        )
        .properties(width=size, height=size)
    )  # fmt: skip
    return titled(
        cells, f"{measure}: how often qrels turn two systems round",
        ["Rows: the better one by the original qrels. Empty: never turned, or tied."],
    )  # fmt: skip


def _system_axis(count: int) -> alt.Axis:
    import altair as alt

    return alt.Axis(title=None, labelAngle=-90, labelFontSize=8 if count > FEW else 11, labelLimit=110,
                    labelOverlap=False)  # fmt: skip


def _width(systems: int) -> int:
    return max(18 * systems, 240) if systems <= FEW else min(18 * systems, 1250)


# -- from a study ----------------------------------------------------------------------------------


def charts_of(study: Study) -> list[Chart]:
    """All charts of a study with runs, measure after measure."""
    return [chart for effect in study.effects for chart in _effect_charts(effect)]


def _effect_charts(effect: Effect) -> list[Chart]:
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
    import polars

    order = effect.order
    return polars.DataFrame(
        {"system": [effect.systems[place] for place in order]}
        | {
            name: column[order]
            for name, column in (
                ("mean", effect.mean), ("least", effect.least), ("most", effect.most),
                ("original", effect.values), ("union", effect.union), ("intersection", effect.intersection),
            )
        }
    )  # fmt: skip


def tau_frame(effect: Effect) -> polars.DataFrame:
    """The columns of `agreement_over_qrels`; no rows where no ranking has a coefficient."""
    import polars

    known = effect.taus[~np.isnan(effect.taus)]
    if not len(known):
        return polars.DataFrame({"lower": [], "upper": [], "qrels": []})
    # Kendall's tau comes in steps of one swap: a bar holds so many whole steps.
    step = 2 / effect.with_original.pairs
    width = step * max(1, np.ceil((known.max() - known.min()) / step / BINS))
    first, last = known.min() - step / 2, known.max() + step / 2
    counts, edges = np.histogram(known, bins=first + width * np.arange(1 + np.ceil((last - first) / width)))
    return polars.DataFrame({"lower": edges[:-1], "upper": edges[1:], "qrels": counts})


def swap_frame(effect: Effect) -> polars.DataFrame:
    """The columns of `swaps_over_qrels`: pairs that some qrels turn."""
    import polars

    order = _by_original(effect)
    pairs = [
        (effect.systems[one], effect.systems[other], float(effect.swap_share[one, other]))
        for place, one in enumerate(order)
        for other in order[place + 1 :]
        if effect.swap_share[one, other] > 0
    ]
    return polars.DataFrame(
        pairs,
        schema={"system": polars.String, "other": polars.String, "swapped": polars.Float64},
        orient="row",
    )
