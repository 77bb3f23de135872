"""Charts of a plan: the ranking by expected values, and the forecast of the confidence."""

from __future__ import annotations

from sounding.core.errors import DataError
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.plan.result import JudgingPlan
from sounding.plan.tables import forecast_rows
from sounding.render import style
from sounding.render.judging import drawn_over, expected_values
from sounding.render.style import needs, titled

FEW = 5  # judgments up to which the axis of a forecast, which begins at 0, is nearly linear


def plan_chart(plan: JudgingPlan) -> style.Chart:
    """Return the chart of the forecast if one was asked for, or else that of the ranking."""
    if plan.forecasts is not None and plan.wanted is not None:
        rows = forecast_rows(plan.forecasts)
        if rows[-1]["judgments"] == 0:
            raise DataError(f"the confidence is {plan.wanted:g} already: there is no forecast to draw")
        frame = polars.DataFrame(rows)
        return confidence_forecast(frame, wanted=plan.wanted, completions=len(plan.forecasts))
    confidence = plan.confidence
    ranking = {
        "run": [confidence.runs[run] for run in confidence.order],
        "expected": confidence.values[confidence.order],
    }
    return expected_values(polars.DataFrame(ranking), measure=plan.form.name)


@needs("judgments", "confidence", "lower", "upper")
def confidence_forecast(frame: polars.DataFrame, *, wanted: float = 0.95, completions: int) -> style.Chart:
    """Draw the confidence that judging is expected to bring, with its range over simulations.

    Columns: `judgments` still to be made, `confidence` (the median over completions), `lower`, `upper` (the
    least and the most); `completions` says how many there are. A level line marks the confidence wanted.
    """
    named = frame.with_columns(strategy=polars.lit("median"))
    x = more_judgments(style.span(frame, "judgments")[1])
    pane = drawn_over(named, x, "confidence", "confidence in the order of runs", wanted)
    notes = [
        f"Line: median of {plural(completions, 'simulation')}; band: their range.",
        f"Dotted line: {wanted:g}.",
    ]
    return titled(pane, "Confidence that more judgments bring", notes)


def more_judgments(last: float) -> alt.X:
    """Return an axis of judgments to come that begins at 0 and is then logarithmic."""
    ticks = [step * 10**power for power in range(7) for step in (1, 2, 5)]
    axis = alt.Axis(values=[0, *(tick for tick in ticks if FEW <= tick <= last)], format=",d")
    scale = alt.Scale(type="symlog", constant=FEW, domain=[0, last], nice=False)
    return alt.X("judgments:Q", scale=scale, axis=axis, title="more judgments (0: today)")
