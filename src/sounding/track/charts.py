"""A history as a chart: each run's mean over the commits, with confidence intervals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.render import lines, style
from sounding.track.result import ABSENT, Change, History
from sounding.track.sentences import breaks

MOST_RUNS = 6  # runs that colors can distinguish
WIDTH, HEIGHT = 420, 220
ROOM = 0.05  # beyond the ends of the intervals


def chart_of(history: History, changes: Sequence[Change], since: str | None = None) -> style.Chart:
    """Return a pane for each measure, from the first commit or from `since`.

    Of more than six runs it shows those that changed most clearly by the measure.
    """
    begin, broken, labels = history.start(since), breaks(history), history.labels()
    means, (low, high) = history.mean(), history.interval()
    rows = []
    for number, measure in enumerate(history.measures):
        runs = _shown([change for change in changes if change.measure == str(measure)])
        places = [history.runs.index(run) for run in runs]
        present = history.settings[places, number] != ABSENT
        for commit, row in np.argwhere(present.T).tolist():
            place = (places[row], number, commit)
            if commit >= begin:
                rows.append(
                    {
                        "run": runs[row], "measure": str(measure), "commit": labels[commit],
                        "value": float(means[place]), "lower": float(low[place]),
                        "upper": float(high[place]), "changed": commit in broken and commit > begin,
                    }
                )  # fmt: skip
    return values_over_commits(polars.DataFrame(rows), of=len(history.runs))


def _shown(changes: Sequence[Change]) -> list[str]:
    """Return the runs to draw, the best first."""
    by_p = sorted(changes, key=lambda change: (np.nan_to_num(change.p_adjusted, nan=1.0), -change.mean_last))
    return [change.run for change in sorted(by_p[:MOST_RUNS], key=lambda change: -change.mean_last)]


@style.needs("run", "measure", "commit", "value", "lower", "upper")
def values_over_commits(frame: polars.DataFrame, *, of: int | None = None) -> style.Chart:
    """Return the mean of each run at each commit with its confidence interval, a pane for each measure.

    Columns: `run`, `measure`, `commit`, `value`, `lower`, `upper` (NaN: not known); optional `changed`
    (whether the judgments changed at the commit, which a dotted line marks). Commits keep the order of the
    frame. `of` is how many runs there are in all.
    """
    runs, measures, commits = (style.names(frame, name) for name in ("run", "measure", "commit"))
    panes = [
        _pane(frame.filter(polars.col("measure") == measure), measure, runs, commits) for measure in measures
    ]
    changed = "changed" in frame.columns and bool(frame["changed"].any())
    return style.titled(
        alt.concat(*panes, columns=2, spacing=30),
        f"Values of {plural(len(runs), 'run')} over {plural(len(commits), 'commit')}",
        [
            "Mean over topics with 95% confidence interval.",
            "Dotted: judgments or policies changed; values before and after cannot be compared." * changed,
            f"The {len(runs)} of {of} runs that changed most clearly."
            if of is not None and of > len(runs)
            else "",
        ],
    )


def _pane(frame: polars.DataFrame, measure: str, runs: list[str], commits: list[str]) -> alt.LayerChart:
    columns = [frame[name].cast(polars.Float64).rename("") for name in ("value", "lower", "upper")]
    domain = style.value_domain(polars.concat(columns), from_zero=False, room=ROOM)
    values = lines.Values(column="value", title=f"mean {measure}", domain=domain)
    axis = alt.Axis(labelAngle=-40, labelOverlap=True, grid=False)
    x = alt.X("commit:N", sort=commits, scale=alt.Scale(domain=commits), title="commit", axis=axis)
    drawn = frame.select("run", "commit", "value", "lower", "upper")
    layers: list[alt.LayerChart | alt.Chart] = [lines.series_pane(drawn, x, values, "run", runs, top=True)]
    if "changed" in frame.columns and (marked := frame.filter(polars.col("changed"))).height:
        rule = alt.Chart(style.data(marked.select("commit").unique(maintain_order=True)))
        layers.insert(0, rule.mark_rule(color=style.RULE, strokeDash=[2, 3]).encode(x))
    pane = alt.LayerChart(layer=layers)
    return pane.properties(width=WIDTH, height=HEIGHT, title=style.pane_title(measure))
