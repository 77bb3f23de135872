"""Charts of judging: what is known after each number of judgments, a line for each strategy."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from sounding.core.errors import DataError
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.render import style
from sounding.render.judging import expected_values, over_judgments
from sounding.render.lines import series_signs
from sounding.render.save import together
from sounding.render.style import data, names, needs, titled, value_domain
from sounding.simulate.result import Simulation
from sounding.simulate.tables import agreement_rows, mean_rows, reuse_rows, true_rows

HISTOGRAM_BARS = 40
ROOM = 0.03  # beyond the outermost points


@needs("strategy", "judgments", "confidence")
def confidence_by_judgments(
    frame: polars.DataFrame, *, wanted: float = 0.95, title: str = "Confidence by number of judgments"
) -> style.Chart:
    """Confidence in the order of the runs as judgments are made (Carterette et al. 2006, Figs. 2, 5 and 6).

    Columns: `strategy`, `judgments`, `confidence` (0 to 1); optional `lower` and `upper`, drawn as a band. A
    level line marks the confidence wanted.
    """
    pane = over_judgments(frame, "confidence", "confidence in the order of runs", wanted)
    return titled(pane, title, [f"The dotted line marks {wanted:g}."])


@needs("strategy", "judgments", "agreement")
def agreement_by_judgments(
    frame: polars.DataFrame,
    *,
    coefficient: str = style.TAU,
    title: str = "Agreement with the true order by number of judgments",
) -> style.Chart:
    """Agreement of the order of the runs with the true one as judgments are made (Carterette et al., Fig. 3).

    Columns: `strategy`, `judgments`, `agreement`.
    """
    pane = over_judgments(frame, "agreement", f"{coefficient} with the true order", style.VERY_CLOSE)
    return titled(pane, title, [f"The dotted line marks {style.VERY_CLOSE:g}."])


@needs("difference", "judgments")
def judgments_by_difference(frame: polars.DataFrame) -> style.Chart:
    """Draw the judgments that separate two lists, by their true difference (Carterette et al., Fig. 4).

    Columns: `difference` (0 or more), `judgments` (null where they were never separated); optional `right`,
    whether the order found is the true one.
    """
    reached = frame.filter(polars.col("judgments").is_not_null())
    order = polars.lit("right")
    if "right" in frame.columns:
        order = polars.col("right").replace_strict({True: "right", False: "wrong"}, default="equal in truth")
    shown = reached.select("difference", "judgments", order=order)
    words = [word for word in ("right", "wrong", "equal in truth") if word in names(shown, "order")]
    signs = series_signs("order", words, points=True, title="order found", top=False)
    points = alt.Chart(data(shown)).mark_point(size=30, opacity=0.6, filled=True)
    ranges = [alt.Scale(domain=value_domain(shown[name], room=ROOM)) for name in ("difference", "judgments")]
    x = alt.X("difference:Q", title="true difference between the two lists", scale=ranges[0])
    y = alt.Y("judgments:Q", title="judgments until the order was sure", scale=ranges[1])
    tooltip = [alt.Tooltip("difference:Q", format=".4~f"), alt.Tooltip("judgments:Q"), alt.Tooltip("order:N")]
    drawn = points.encode(x, y, signs.color, signs.shape, tooltip=tooltip)
    pane = drawn.properties(width=style.COLUMN, height=style.COLUMN_HEIGHT)
    note = f"{plural(reached.height, 'pair')} of lists separated, of {frame.height:,}."
    return titled(pane, "Judgments that separate two lists of a topic", [note])


@needs("deviations")
def difference_histogram(frame: polars.DataFrame, *, p: float | None = None) -> style.Chart:
    """Differences of two runs over completions of the judgments (Carterette et al., Fig. 1).

    Columns: `deviations` (a row for each completion: how many standard deviations from the mean). A normal
    curve is drawn over them; `p` is that of a test of normality.
    """
    values = frame["deviations"].cast(float).drop_nulls().to_numpy()
    values = values[np.isfinite(values)]
    edges = np.linspace(-4, 4, HISTOGRAM_BARS + 1)
    width = edges[1] - edges[0]
    shares = np.histogram(np.clip(values, -4, 4), edges)[0] / max(len(values), 1) / width
    bars = polars.DataFrame({"from": edges[:-1], "to": edges[1:], "density": shares, "foot": 0.0 * shares})
    places = np.linspace(-4, 4, 161)
    curve = polars.DataFrame({"from": places, "density": np.exp(-(places**2) / 2) / np.sqrt(2 * np.pi)})
    x = alt.X(
        "from:Q", title="standard deviations from the mean", scale=alt.Scale(domain=[-4, 4], nice=False)
    )
    y = alt.Y("density:Q", title="density", scale=alt.Scale(domainMin=0))
    layers = [
        alt.Chart(data(bars))
        .mark_rect(color=style.COLORS[0], opacity=0.6)
        .encode(x, y, alt.X2("to:Q"), alt.Y2("foot:Q")),
        alt.Chart(data(curve)).mark_line(color=style.INK, strokeWidth=1.5).encode(x, y),
    ]
    pane = alt.LayerChart(layer=layers).properties(width=style.COLUMN, height=style.COLUMN_HEIGHT)
    notes = [f"{plural(len(values), 'completion')}; the line is the normal distribution."]
    if p is not None:
        notes.append(f"Anderson-Darling test of normality: p = {p:.3f}.")
    return titled(pane, "Difference of two runs over completions of the judgments", notes)


def simulation_chart(found: Simulation, parts: Collection[str], view: str | None) -> style.Chart:
    """Return the charts of these parts in one figure; without any choice, the confidence alone.

    Raise an error if the chosen view has no chart.
    """
    drawn = list(_charts(found, parts))
    if view is None and list(parts) == ["curves"]:
        drawn = drawn[:1]
    if not drawn:
        raise DataError(f"--view {view} has no chart; leave --chart out, or --view")
    return together(drawn)


def _charts(found: Simulation, parts: Collection[str]) -> Iterator[style.Chart]:
    if "curves" in parts:
        means = polars.DataFrame(mean_rows(found.checkpoints))
        if found.seeds > 1:
            means = means.rename({"lowest": "lower", "highest": "upper"})
        yield confidence_by_judgments(means, wanted=found.sure)
        yield agreement_by_judgments(polars.DataFrame(agreement_rows(found.checkpoints)))
    if "values" in parts:
        yield expected_values(polars.DataFrame(true_rows(found)), measure=found.parameters.measure)
    if found.reuse is not None:
        confidence, agreement = (polars.DataFrame(rows) for rows in reuse_rows(found.reuse))
        title = "{0} when each run is left out and put back"
        yield confidence_by_judgments(confidence, wanted=found.sure, title=title.format("Confidence"))
        yield agreement_by_judgments(agreement, title=title.format("Agreement with the true order"))
    if found.list_pairs is not None:
        yield judgments_by_difference(polars.DataFrame(found.list_pairs))
    if found.normality is not None:
        frame = polars.DataFrame({"deviations": found.normality.standardized})
        yield difference_histogram(frame, p=found.normality.p)
