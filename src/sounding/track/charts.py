"""A history as a chart: each run's mean over the commits, with confidence intervals."""

from __future__ import annotations

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import alt, polars
from sounding.core.text import plural
from sounding.render import lines, style
from sounding.track.result import ABSENT, History
from sounding.track.sentences import breaks

MOST_RUNS = 6  # that colors can tell apart: of more, the best at the last commit
WIDTH, HEIGHT = 420, 220
ROOM = 0.05  # beyond the ends of the intervals


def chart_of(history: History, since: str | None = None) -> style.Chart:
    """Return a pane for each measure, from the first commit or from `since`."""
    begin, broken = history.start(since), breaks(history)
    means, (low, high) = history.mean(), history.interval()
    rows = []
    for number, measure in enumerate(history.measures):
        present = history.settings[:, number] != ABSENT
        for commit, run in np.argwhere(present[_best(means[:, number])].T).tolist():
            place = (_best(means[:, number])[run], number, commit)
            if commit < begin:
                continue
            rows.append(
                {
                    "run": history.runs[place[0]], "measure": str(measure),
                    "commit": history.commits[commit].short, "value": float(means[place]),
                    "lower": float(low[place]), "upper": float(high[place]),
                    "changed": commit in broken and commit > begin,
                }
            )  # fmt: skip
    return values_over_commits(polars.DataFrame(rows), of=len(history.runs))


def _best(means: NDArray[np.float64]) -> list[int]:
    """Return the runs to draw, the best at their last commits first, from means by run and commit."""
    known = ~np.isnan(means)
    last = np.where(known.any(axis=1), means.shape[1] - 1 - np.argmax(known[:, ::-1], axis=1), 0)
    latest = np.nan_to_num(means[np.arange(len(means)), last], nan=-np.inf)
    return np.argsort(-latest, kind="stable")[:MOST_RUNS].tolist()


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
            f"The best {len(runs)} of {of} runs." if of is not None and of > len(runs) else "",
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
