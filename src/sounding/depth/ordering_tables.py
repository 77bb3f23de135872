"""Orderings of the runs held against each other, and what each rank counts, as tables."""

from __future__ import annotations

from sounding.core.errors import DataError
from sounding.depth.stability import Stability
from sounding.depth.tables import shown_number, tidy_frame
from sounding.measures.cumulative import rank_weights
from sounding.render.tables import Column, Table

# -- orderings held against each other ---------------------------------------------------------------

_SHOWN = {
    "tau_b": "tau", "tau_ap_b": "tau_ap_b", "spearman": "rho", "pearson": "r", "rmse": "RMSE", "rbo": "RBO",
    "rbo_minimum": "min", "rbo_maximum": "max",
}  # fmt: skip


def ordering_table(found: Stability) -> Table:
    """One row a measure, depth and other ordering: the usual coefficients, and the run that moves most."""
    rows = [one.row(found.runs) for one in found.orderings()]
    columns = [
        Column("measure", [row["measure"] for row in rows]),
        Column("k", [row["k"] for row in rows]),
        Column("against", [row["against"] for row in rows]),
    ]
    columns += [
        Column(title, [shown_number(row[name]) for row in rows], right=True) for name, title in _SHOWN.items()
    ]
    columns += [
        Column(
            "places", [shown_number(row["most_places"], 1).removesuffix(".0") for row in rows], right=True
        ),
        Column("run", [row["moved_run"] for row in rows], joined=True),
    ]
    note = (
        "The orderings of the runs by each measure at each depth, against the reference, the other tie rule,"
        " and other measures at the same depth. tau: variant b. rho: Spearman. RBO:"
        f" p {found.agreeing.p:g}, extrapolated, and the least and most that it could be whatever followed."
        " places: the most that a run moves, and a run that does. Programs get every coefficient."
    )
    return Table(columns, title="agreement of orderings", notes=[note], keys=3)


def tidy_orderings(found: Stability) -> Table:
    """The same for programs, with every coefficient."""
    rows = [one.row(found.runs) for one in found.orderings()]
    return Table([Column(name, [row[name] for row in rows]) for name in rows[0]])


# -- weights ---------------------------------------------------------------------------------------

FIRST_RANKS = 10  # that people see


def weights_table(found: Stability) -> Table:
    """One row a measure and chosen depth: what each of the first ranks counts, and all the others."""
    frame = found.weights_frame
    if frame is None:
        return Table([Column("measure", [])], title=_WEIGHTS_TITLE, notes=[_no_weights(found)])
    groups = [
        (name, k, part["weight"].to_list())
        for (name, k), part in frame.group_by(["measure", "k"], maintain_order=True)
    ]
    columns = [
        Column("measure", [str(name) for name, _, _ in groups]),
        Column("k", [k for _, k, _ in groups]),
    ]
    columns += [
        Column(f"{rank}", [shown_number(weights[rank - 1]) if rank <= len(weights) else None
                           for _, _, weights in groups], right=True)
        for rank in range(1, FIRST_RANKS + 1)
    ]  # fmt: skip
    columns.append(
        Column("rest", [shown_number(sum(weights[FIRST_RANKS:])) for _, _, weights in groups], right=True)
    )
    lacking = _no_weights(found)
    return Table(columns, title=_WEIGHTS_TITLE, notes=[lacking] if lacking else [], keys=2)


_WEIGHTS_TITLE = "weight of each rank in a measure cut at k"


def _no_weights(found: Stability) -> str:
    """Which measures give no rank a weight of its own; empty: none."""
    lacking = [one.name for one in found.measures if rank_weights(one.measure, 1) is None]
    named = ", ".join(lacking)
    return f"{named}: what a rank counts depends on the documents at others." if lacking else ""


def tidy_weights(found: Stability) -> Table:
    """One row a measure, depth and rank."""
    frame = found.weights_frame
    if frame is None:
        raise DataError(_no_weights(found).removesuffix("."))
    return tidy_frame(frame)
