"""The tables of `depth`: ratios and agreement by depth, runs, pairs, volatility, pools, subsets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np

from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.core.text import format_p, percent
from sounding.depth import sentences
from sounding.depth.fewer_judgments import COEFFICIENTS, JudgmentSubsets, PoolDepths
from sounding.depth.intervals import Intervals, PairOverDepth
from sounding.depth.over_depth import OverDepth
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import Finding
from sounding.depth.volatility import Volatility, volatility
from sounding.measures.cumulative import rank_weights
from sounding.render.tables import UNKNOWN, Cell, Column, Table, decimal
from sounding.statistics.cases import MEANING, strength

OF_MEANS = ("pearson", "rmse")  # coefficients that compare means, not only their order


def shown_number(value: float, digits: int = 3) -> str:
    """Format a number with this many digits; an unknown one is a dash."""
    return UNKNOWN if np.isnan(value) else decimal(value, digits)


# -- measures by depth -----------------------------------------------------------------------------


def people_table(found: DepthStudy, *, title: str = "") -> Table:
    """Return a row for each measure and chosen depth, with a legend; `title` names the collection."""
    rows = found.columns()
    count = len(rows["k"])
    first = [not row or rows["measure"][row] != rows["measure"][row - 1] for row in range(count)]
    columns = [
        Column("measure", [name if new else "" for name, new in zip(rows["measure"], first, strict=True)]),
        Column("k", rows["k"]),
        Column(
            "means",
            [f"{low:.3f}–{high:.3f}" for low, high in zip(rows["lowest"], rows["highest"], strict=True)],
            right=True,
        ),
        Column("differ", [percent(value) for value in rows["discrimination"]], right=True),
        Column("p", [UNKNOWN if np.isnan(p) else format_p(p) for p in rows["median_p"]], right=True),
        Column("confirmed", [percent(value) for value in rows["coverage"]], right=True),
        Column("reversed", [percent(value) for value in rows["inversion"]], right=True),
    ]
    # All that follows stays together: a last column by itself below the table is easily missed.
    columns += [
        Column(title, [shown_number(value) for value in rows[name]], right=True, joined=name != "tau")
        for title, name in (("tau", "tau"), ("tau_ap_b", "tau_ap_b"), ("RBO", "rbo"), ("r", "pearson"))
    ]
    if any(value is not None for value in rows["residual_tail"]):
        both = zip(rows["residual_unjudged"], rows["residual_tail"], strict=True)
        cells = [None if a is None else shown_number(a + b) for a, b in both]
        columns.append(Column("open", cells, right=True, joined=True))
    shares = [shown_number(value, 2) for value in rows["assessment"]]
    columns.append(Column("A_p", shares, right=True, joined=True))
    legend, *empty = _explained(found)
    return Table(columns, title=title, notes=[legend], keys=2, summary=" ".join(empty))


def _explained(found: DepthStudy) -> Iterator[str]:
    """Yield the legend of the columns, and why some cells are empty."""
    references = list(dict.fromkeys(one.reference_name for one in found.measures))
    residual = any(one.residual_tail is not None for one in found.measures)
    yield sentences.columns_explained(references, found.agreeing.p, residual)
    none = [one.name for one in found.measures if not one.reference_separates]
    if none:
        yield sentences.none_to_cover(none)
    if not any(one.separation.tested.any() or one.separation.constant.any() for one in found.measures):
        yield sentences.NO_PAIR_TESTED
    rows = found.columns()
    lacking = [
        f"{name}@{k}"
        for name, k, tau in zip(rows["measure"], rows["k"], rows["tau"], strict=True)
        if np.isnan(tau)
    ]
    if lacking:
        yield sentences.no_tau(lacking)


def tidy_table(found: DepthStudy, *, every_k: bool) -> Table:
    """The same for programs: chosen depths, or every depth that was tested."""
    return Table([Column(name, cells) for name, cells in found.columns(every_k=every_k).items()])


def tidy_collections(studies: Sequence[tuple[str, DepthStudy]], *, every_k: bool) -> Table:
    """Return the rows of several collections, with the name of each in front."""
    columns: dict[str, list[Cell]] = {"collection": []}
    for name, found in studies:
        own = found.columns(every_k=every_k)
        columns["collection"] += [name] * len(own["k"])
        for key, cells in own.items():
            columns.setdefault(key, []).extend(cells)
    return Table([Column(name, cells) for name, cells in columns.items()])


def facts(found: DepthStudy, findings: Sequence[Finding]) -> dict[str, Any]:
    """Return what JSON says beside the rows."""
    return {
        "policies": asdict(found.policies),
        "test": {
            "name": found.procedure.test, "correction": found.procedure.correction,
            "alpha": found.procedure.alpha,
        },
        "runs": list(found.runs),
        "topics": len(found.rankings.judgments.topics),
        "pool": {
            "depth": found.pool.depth, "guessed": found.pool.guessed,
            "contributing": [
                run for run, own in zip(found.runs, found.pool.contributing.tolist(), strict=True) if own
            ],
        },
        "stable_from": found.stable_from(),
        "agreement": asdict(found.agreeing),
        "findings": [asdict(finding) for finding in findings],
        "unpooled": [asdict(one) for one in found.unpooled],
        "notes": list(found.notes),
    }  # fmt: skip


# -- runs ------------------------------------------------------------------------------------------


def run_tables(found: DepthStudy) -> list[Table]:
    """Return a table a measure: each run's mean and assessment at the chosen depths, by AP@10."""
    return [_run_table(found, one) for one in found.measures]


def _run_table(found: DepthStudy, one: OverDepth) -> Table:
    order = list(found.order)
    columns = [Column("run", [found.runs[run] for run in order])]
    columns += [
        Column(f"{one.name}@{k}", one.intervals.means[place, order].tolist())
        for place, k in enumerate(found.depths)
    ]
    columns += [
        Column(f"A_p@{k}", found.assessment_intervals.means[place, order].tolist())
        for place, k in enumerate(found.depths)
    ]
    widths = [
        f"{title}: " + ", ".join(
            f"{shown_number(width, 4)} at {k}" for k, width in zip(found.depths, half.tolist(), strict=True)
        )
        for title, half in (
            (one.name, one.intervals.half_width), ("A_p", found.assessment_intervals.half_width),
        )
    ]  # fmt: skip
    silent = [
        sentences.no_interval(name, depths)
        for name, intervals in ((one.name, one.intervals), ("A_p", found.assessment_intervals))
        if (depths := _silent(intervals, found.procedure.alpha))
    ]
    title = f"{one.name}: mean and judged share of each run"
    return Table(columns, title=title, notes=[sentences.interval_widths(widths)], summary=" ".join(silent))


def _silent(intervals: Intervals, alpha: float) -> list[int]:
    """The depths at which the analysis of variance finds no difference among the runs."""
    return [k for k, p in zip(intervals.depths, intervals.f_p.tolist(), strict=True) if p > alpha]


def tidy_frame(frame: polars.DataFrame) -> Table:
    """A frame as the table of it that programs get."""
    return Table([Column(name, frame[name].to_list()) for name in frame.columns])


# -- one pair --------------------------------------------------------------------------------------


def pair_tables(pairs: Sequence[PairOverDepth], depths: Sequence[int]) -> list[Table]:
    """Return a table a measure: the values of two runs at the chosen depths, and the case."""
    return [_pair_table(pair, depths) for pair in pairs]


def _pair_table(pair: PairOverDepth, depths: Sequence[int]) -> Table:
    rows = [pair.performance.depths.index(k) for k in depths]
    a, b = pair.runs

    def shown(values: Any, digits: int = 4) -> list[Cell]:
        return [shown_number(value, digits) for value in values[rows].tolist()]

    means, shares, cases = pair.performance, pair.assessment, pair.cases[rows].tolist()
    columns = [
        Column("k", list(depths)),
        Column(a, shown(means.means[:, 0]), right=True),
        Column(b, shown(means.means[:, 1]), right=True),
        Column("±", shown(means.half_width), right=True),
        Column("p", [UNKNOWN if np.isnan(p) else format_p(p) for p in pair.p[rows].tolist()], right=True),
        Column(f"A_p {a}", shown(shares.means[:, 0], 2), right=True),
        Column(f"A_p {b}", shown(shares.means[:, 1], 2), right=True),
        Column("± ", shown(shares.half_width, 2), right=True),
        Column("case", [f"{case} {strength(case)}" if case else None for case in cases]),
    ]
    meant = "; ".join(f"{case}: {MEANING[case]}" for case in sorted(set(pair.cases.tolist())) if case)
    notes = [
        f"{sentences.ERROR_BARS} {_swaps(pair)}".rstrip(),
        *([f"Case {meant}."] if meant else []),
    ]
    empty = "" if all(cases) else sentences.NO_CASE
    return Table(columns, title=f"{pair.measure}: {a} and {b} over depth", notes=notes, summary=empty)


def _swaps(pair: PairOverDepth) -> str:
    """Say between which of the examined depths the case changes."""
    ks, cases = pair.performance.depths, [case or UNKNOWN for case in pair.cases.tolist()]
    steps = [
        f"{cases[place]} to {cases[place + 1]} between {ks[place]} and {ks[place + 1]}"
        for place in range(len(ks) - 1)
        if cases[place] != cases[place + 1]
    ]
    return sentences.case_changes(ks, steps) if pair.cases.any() else ""


def tidy_pair(pairs: Sequence[PairOverDepth], depths: Sequence[int] | None) -> Table:
    """Return one row per measure and depth, both runs side by side; None: every depth that was looked at."""
    names: dict[str, list[Cell]] = {}
    for pair in pairs:
        count = len(pair.performance.depths)
        kept = [place for place, k in enumerate(pair.performance.depths) if depths is None or k in depths]
        columns: dict[str, list[Cell]] = {
            "run_a": [pair.runs[0]] * count, "run_b": [pair.runs[1]] * count,
            "measure": [pair.measure] * count, "k": list(pair.performance.depths),
            "mean_a": pair.performance.means[:, 0].tolist(), "mean_b": pair.performance.means[:, 1].tolist(),
            "half_width": pair.performance.half_width.tolist(), "p": pair.p.tolist(),
            "assessment_a": pair.assessment.means[:, 0].tolist(),
            "assessment_b": pair.assessment.means[:, 1].tolist(),
            "assessment_half_width": pair.assessment.half_width.tolist(),
            "assessment_p": pair.assessment_p.tolist(),
            "case": [case or None for case in pair.cases.tolist()],
        }  # fmt: skip
        for name, cells in columns.items():
            names.setdefault(name, []).extend(cells[place] for place in kept)
    return Table([Column(name, cells) for name, cells in names.items()])


# -- volatility ------------------------------------------------------------------------------------


def volatilities(found: DepthStudy, coefficient: str, ks: Sequence[int]) -> list[Volatility]:
    """Agreement of the orderings at these depths: within every measure, then between any two."""
    rows = [found.place(k) for k in ks]
    pairs = [(one, one) for one in found.measures] + list(combinations(found.measures, 2))
    return [
        volatility(
            one.means[rows], ks, others=other.means[rows], measure=one.name, other=other.name,
            coefficient=coefficient, p=found.agreeing.p,
        )
        for one, other in pairs
    ]  # fmt: skip


def volatility_tables(found: DepthStudy) -> list[Table]:
    """A matrix of the chosen depths for each."""
    return [_volatility_table(one) for one in volatilities(found, found.agreeing.coefficient, found.depths)]


def _volatility_table(one: Volatility) -> Table:
    same = one.measure == one.other
    columns = [Column(one.measure, [f"@{k}" for k in one.ks])]
    columns += [Column(f"@{k}", one.matrix[:, place].tolist(), digits=3) for place, k in enumerate(one.ks)]
    between = one.measure if same else f"{one.measure} (rows) and {one.other} (columns)"
    compared = "means" if one.coefficient in OF_MEANS else "rankings"
    return Table(columns, title=f"{one.coefficient} between the {compared} by {between} at two depths")


def tidy_volatility(found: DepthStudy, *, every_k: bool = False) -> Table:
    """Return one row per cell, at the chosen depths or at every depth."""
    ks = found.ks.tolist() if every_k else found.depths
    cells = volatilities(found, found.agreeing.coefficient, ks)
    return tidy_frame(polars.concat([one.frame for one in cells]))


# -- fewer judgments -------------------------------------------------------------------------------


def pools_table(pools: PoolDepths, names: Mapping[str, str]) -> Table:
    """Return one row per pool depth and measure: the ordering and the claims against those of the whole pool.

    `names` says what measures are called, by their text.
    """
    frame = _renamed(pools.frame, names)
    columns = [
        Column(
            "pool", ["whole" if depth is None else str(depth) for depth in frame["pool_depth"]], right=True
        )
    ]
    columns += [Column(name, frame[name].to_list()) for name in ("measure", "judgments", "relevant")]
    columns += [Column(name, frame[name].to_list(), digits=3) for name in COEFFICIENTS]
    shown = {
        "most_places": "places", "reversed": "reversed", "significant": "differ",
        "claims_reversed": "claims reversed", "claims_lost": "lost", "claims_missed": "missed",
    }  # fmt: skip
    claims = ("claims_lost", "claims_missed")
    columns += [
        Column(title, [_whole(cell) for cell in frame[name].to_list()], joined=name in claims)
        for name, title in shown.items()
    ]
    notes = [sentences.pool_columns(len(pools.pairs))]
    return Table(columns, title="Shallower pools compared with the whole pool", notes=notes, keys=2)


def _whole(cell: float) -> Cell:
    return int(cell) if float(cell).is_integer() else cell


def _renamed(frame: polars.DataFrame, names: Mapping[str, str]) -> polars.DataFrame:
    return frame.with_columns(measure=frame["measure"].replace(names))


def tidy_fewer(fewer: PoolDepths | JudgmentSubsets, names: Mapping[str, str]) -> Table:
    """Return one row per pool, or share and draw, and measure."""
    return tidy_frame(_renamed(fewer.frame, names))


def subsets_table(subsets: JudgmentSubsets, names: Mapping[str, str]) -> Table:
    """Return one row per share of the judgments: tau with the ordering under all of them, by measure."""
    frame = subsets.summary_frame
    tau = frame.filter(frame["coefficient"] == "tau_b")
    columns = [
        Column("kept", [f"{100 * share:g}%" for share in subsets.shares], right=True),
        Column("judgments", [int(row.mean().round()) for row in subsets.judgments]),
    ]
    for measure in map(str, subsets.measures):
        own = tau.filter(tau["measure"] == measure)
        cells = zip(own["mean"].to_list(), own["least"].to_list(), own["most"].to_list(), strict=True)
        columns.append(
            Column(names.get(measure, measure), [_with_range(*cell) for cell in cells], right=True)
        )
    notes = [sentences.subset_columns(subsets.draws, subsets.seed)]
    return Table(columns, title="Random subsets of the judgments", notes=notes)


def _with_range(mean: float, least: float, most: float) -> str:
    return UNKNOWN if np.isnan(mean) else f"{mean:.3f} ({least:.3f}–{most:.3f})"


# -- orderings held against each other ---------------------------------------------------------------

_SHOWN = {
    "tau_b": "tau", "tau_ap_b": "tau_ap_b", "spearman": "rho", "pearson": "r", "rmse": "RMSE", "rbo": "RBO",
    "rbo_minimum": "min", "rbo_maximum": "max",
}  # fmt: skip


def ordering_table(found: DepthStudy) -> Table:
    """Return one row per measure, depth and other ordering: the coefficients, and the run that moves most."""
    rows = found.orderings()
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
    return Table(
        columns, title="Agreement of rankings", notes=[sentences.ordering_columns(found.agreeing.p)], keys=3
    )


def tidy_orderings(found: DepthStudy) -> Table:
    """The same for programs, with every coefficient."""
    rows = found.orderings()
    return Table([Column(name, [row[name] for row in rows]) for name in rows[0]])


# -- weights ---------------------------------------------------------------------------------------

FIRST_RANKS = 10  # rows that people see


def weights_table(found: DepthStudy) -> Table:
    """Return one row per measure and chosen depth: the weights of the first ranks, and of all others."""
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


_WEIGHTS_TITLE = "Weight of each rank in a measure cut at k"


def _no_weights(found: DepthStudy) -> str:
    """Return which measures give no rank a weight of its own; empty: none."""
    lacking = [one.name for one in found.measures if rank_weights(one.measure, 1) is None]
    return sentences.no_weights(lacking) if lacking else ""


def tidy_weights(found: DepthStudy) -> Table:
    """Return one row per measure, depth and rank."""
    frame = found.weights_frame
    if frame is None:
        raise DataError(_no_weights(found).removesuffix("."))
    return tidy_frame(frame)
