"""Tables of `sounding estimate`: runs with their intervals, and pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from sounding.core.text import format_p, plural
from sounding.estimate.result import Estimation, MeasureEstimate
from sounding.evaluate.result import NOISE
from sounding.render.tables import Column, Table

DIGITS = 3


def confidence(estimation: Estimation) -> str:
    """Return the confidence of the intervals, such as 95%."""
    return f"{100 * estimation.confidence:g}%"


def run_tables(estimation: Estimation) -> list[Table]:
    """Return one table for each measure: runs from best to worst, beside people and machine alone."""
    return [_run_table(estimation, one) for one in estimation.estimates]


def _run_table(estimation: Estimation, one: MeasureEstimate) -> Table:
    order = estimation.order(one)
    level = confidence(estimation)
    best = frozenset(np.flatnonzero(one.means[order] >= one.means[order[0]] - NOISE).tolist())
    columns = [
        Column("run", [estimation.runs[run] for run in order]),
        Column("estimate", one.means[order].tolist(), digits=DIGITS, best=best),
        Column(f"{level} on these topics", _intervals(one.low[order], one.high[order]), right=True),
        Column(
            "topics like these", _intervals(one.topics_low[order], one.topics_high[order]), right=True,
            optional=2,
        ),
        Column(
            "people alone ± SE", _with_errors(one.people[order], one.people_error[order]), right=True,
            optional=1,
        ),
    ]  # fmt: skip
    if estimation.judges:
        columns.append(Column("machine alone", one.machine[order].tolist(), digits=DIGITS, optional=3))
    return Table(columns, title=_title(estimation, one), facts=facts(estimation))


def pair_tables(estimation: Estimation) -> list[Table]:
    """Return one table for each measure: all pairs, the largest difference first."""
    return [_pair_table(estimation, one) for one in estimation.estimates]


def _pair_table(estimation: Estimation, one: MeasureEstimate) -> Table:
    pairs = estimation.pairs
    difference = one.differences
    order = np.argsort(-np.abs(difference), kind="stable")
    better = np.where(difference[:, None] < 0, pairs[:, ::-1], pairs)[order]
    sign = np.where(difference < 0, -1.0, 1.0)[order]
    low, high = one.pair_low[order] * sign, one.pair_high[order] * sign
    own = one.tests
    p = ["–"] * len(order) if own is None else [format_p(float(own.p_adjusted[row])) for row in order]
    columns = [
        Column("better", [estimation.runs[run] for run in better[:, 0]]),
        Column("worse", [estimation.runs[run] for run in better[:, 1]]),
        Column("difference", np.abs(difference[order]).tolist(), digits=DIGITS),
        Column(
            f"{confidence(estimation)} on these topics",
            _intervals(np.minimum(low, high), np.maximum(low, high)), right=True,
        ),
        Column("adjusted p", p, right=True),
    ]  # fmt: skip
    if estimation.judges:
        machine = (one.machine[pairs[:, 0]] - one.machine[pairs[:, 1]])[order] * sign
        columns.append(Column("machine alone", machine.tolist(), digits=DIGITS, optional=1))
    return Table(columns, title=_title(estimation, one), facts=facts(estimation), keys=2)


def tidy_runs(estimation: Estimation) -> Table:
    """Return one row for each measure and run, for programs."""
    return _tidy(estimation, estimation.columns(), 2)


def tidy_pairs(estimation: Estimation) -> Table:
    """Return one row for each measure and pair, for programs."""
    return _tidy(estimation, estimation.pair_columns(), 3)


def _tidy(estimation: Estimation, columns: Any, keys: int) -> Table:
    made = [Column(name, cells) for name, cells in columns.items()]
    return Table(made, facts=facts(estimation), keys=keys)


def facts(estimation: Estimation) -> dict[str, Any]:
    """Return what the estimates rest on, for programs."""
    return {
        "judged": estimation.judged, "judged_topics": estimation.whole,
        "documents": estimation.frame, "labeled": estimation.labeled,
        "machine_share": estimation.machine_share, "judges": list(estimation.described),
        "topics": len(estimation.topics), "confidence": estimation.confidence,
        "worth": {str(one.measure): round(one.worth) for one in estimation.estimates},
        "unlabeled_unjudged": "nonrelevant", "correction": "max-t", "alpha": estimation.procedure.alpha,
        "seed": estimation.procedure.seed,
    }  # fmt: skip


def _title(estimation: Estimation, one: MeasureEstimate) -> str:
    worth = ""
    if estimation.judges:
        worth = f"; the labels are worth {max(0, round(one.worth)):,} judgments"
    whole = "" if estimation.whole is None else f" of {plural(estimation.whole, 'topic')}"
    return f"{one.measure}, {estimation.judged:,} judgments{whole}{worth}"


def _intervals(low: Any, high: Any) -> list[str]:
    return [
        "–" if np.isnan(a) else f"{a:.{DIGITS}f} to {b:.{DIGITS}f}"
        for a, b in zip(low.tolist(), high.tolist(), strict=True)
    ]


def _with_errors(values: Any, errors: Any) -> list[str]:
    return [f"{v:.{DIGITS}f} ± {e:.{DIGITS}f}" for v, e in zip(values.tolist(), errors.tolist(), strict=True)]
