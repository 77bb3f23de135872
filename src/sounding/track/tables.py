"""Tables of `sounding track`: how each mean changed, and the values at each commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.text import format_p
from sounding.render.tables import UNKNOWN, Column, Table, Tone
from sounding.statistics.pairwise import Procedure, find_test
from sounding.track.commits import Commit
from sounding.track.result import ABSENT, Change, History, Step

BARS = "▁▂▃▄▅▆▇█"
MOST_BARS = 16  # the last commits that a row draws


def change_table(history: History, changes: Sequence[Change], procedure: Procedure) -> Table:
    """Return a row for each run and measure: its mean now, and how it changed; the best run first."""
    places = {str(measure): number for number, measure in enumerate(history.measures)}
    rows = sorted(changes, key=lambda one: (places[one.measure], -np.nan_to_num(one.mean_last), one.run))
    confidence = f"{100 * (1 - procedure.alpha):g}%"
    moved = [row for row, one in enumerate(rows) if one.p_adjusted <= procedure.alpha]
    tones: dict[int, Tone] = {row: "weak" if rows[row].fell else "good" for row in moved}
    columns = [
        Column("run", [one.run for one in rows]),
        Column("measure", [one.measure for one in rows]),
        Column("mean", [one.mean_last for one in rows]),
        Column("judged", [one.judged_last for one in rows], percent=True),
    ]
    if any(one.commits > 1 for one in rows):
        columns += [
            Column("change", [_signed(one.difference) for one in rows], right=True, tones=tones),
            Column(f"{confidence} interval", [_interval(one) for one in rows], right=True, optional=2),
            Column("adjusted p", [format_p(one.p_adjusted) for one in rows], right=True),
            Column("commits", [one.commits for one in rows], optional=1),
            Column("since", [one.first.short for one in rows], optional=1),
            Column("trend", _lines(history, rows), optional=3),
        ]
    return Table(columns, facts=facts(history, changes, procedure), keys=2)


def _signed(difference: float) -> str:
    return UNKNOWN if np.isnan(difference) else f"{difference + 0.0:+.4f}"


def _interval(change: Change) -> str:
    if not np.isfinite([change.ci_low, change.ci_high]).all():
        return UNKNOWN
    return f"{change.ci_low:+.4f} to {change.ci_high:+.4f}"


def _lines(history: History, rows: Sequence[Change]) -> list[str]:
    """Draw the last means of each row; the bars span their confidence intervals, so that noise looks flat."""
    means, (low, high) = history.mean(), history.interval()
    places = {str(measure): number for number, measure in enumerate(history.measures)}
    drawn = []
    for row in rows:
        run, measure = history.runs.index(row.run), places[row.measure]
        span = history.comparable(run, measure)[-row.commits :][-MOST_BARS:]
        chosen = (run, measure, span)
        drawn.append(_bars(means[chosen], low[chosen], high[chosen]))
    return drawn


def _bars(means: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]) -> str:
    least = np.nanmin([means, low])
    room = np.nanmax([means, high]) - least
    heights = (means - least) / room if room > 0 else np.full(len(means), 0.5)
    return "".join(BARS[min(int(height * len(BARS)), len(BARS) - 1)] for height in heights.tolist())


def value_table(history: History, changes: Sequence[Change], procedure: Procedure) -> Table:
    """Return a row for each run, measure and commit, for programs."""
    means, shares, (low, high) = history.mean(), history.judged_share(), history.interval(procedure.alpha)
    run, measure, commit = np.nonzero(history.settings != ABSENT)
    chosen = (run, measure, commit)
    counted = np.count_nonzero(~np.isnan(history.values), axis=-1)
    columns = [
        Column("run", [history.runs[place] for place in run]),
        Column("measure", [str(history.measures[place]) for place in measure]),
        Column("commit", [history.commits[place].name for place in commit]),
        Column("time", [history.commits[place].time for place in commit]),
        Column("topics", counted[chosen].tolist()),
        Column("value", means[chosen].tolist()),
        Column("ci_low", low[chosen].tolist()),
        Column("ci_high", high[chosen].tolist()),
        Column("judged", shares[chosen].tolist()),
    ]
    return Table(columns, facts=facts(history, changes, procedure), keys=3)


def facts(history: History, changes: Sequence[Change], procedure: Procedure) -> dict[str, Any]:
    """Return what JSON holds beside the rows."""
    return {
        "history": history.source, "commits": [commit.name for commit in history.commits],
        "test": procedure.test, "alpha": procedure.alpha,
        "correction": procedure.correction or find_test(procedure.test).correction,
        "changes": [_fact(change) for change in changes],
    }  # fmt: skip


def _fact(change: Change) -> dict[str, Any]:
    """Return a change with names for commits and null for unknown numbers."""
    step = None if change.step is None else _plain(change.step)
    return _plain(change) | {"step": step, "limit": change.limit or None}


def _plain(row: Change | Step) -> dict[str, Any]:
    named = {field.name: getattr(row, field.name) for field in fields(row)}
    named = {name: value.name if isinstance(value, Commit) else value for name, value in named.items()}
    return {
        name: None if isinstance(value, float) and not np.isfinite(value) else value
        for name, value in named.items()
    }
