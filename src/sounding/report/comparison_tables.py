"""Comparisons as tables: pairs of interest, one pair in words, and the matrix of runs."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sounding.compare.cases import CASES, MEANING, strength
from sounding.compare.claims import PairTests
from sounding.compare.comparison import Comparison
from sounding.compare.documents import OpenDocument
from sounding.compare.p_values import p_is, shown_p
from sounding.compare.runs import TOPICS
from sounding.compare.telling import TellingDocument
from sounding.report.tables import UNKNOWN, Cell, Column, Table, decimal

SHOWN = 20  # pairs that people see without asking for more

Named = Sequence[tuple[str, Comparison]]  # collections by name


# -- pairs -----------------------------------------------------------------------------------------


def tidy_pairs(comparison: Comparison, collection: str | None = None, top: int | None = None) -> Table:
    """One row a measure and pair, for programs: all in their order, or the first ones by interest."""
    rows = comparison.in_order() if top is None else comparison.interesting()[:top]
    columns = [Column(name, cells) for name, cells in comparison.columns(rows).items()]
    equivalence = [tests.equivalence for tests in comparison.performance_tests]
    for name in ("p_adjusted", "noninferior_p_adjusted"):
        cells = [
            getattr(one, name)[pair] for one, pair in ((equivalence[n], pair) for n, pair in rows) if one
        ]
        if cells:
            title = "equivalence_p" if name == "p_adjusted" else "noninferiority_p"
            columns.append(Column(title, [float(cell) for cell in cells]))
    if collection is not None:
        columns.insert(0, Column("collection", [collection] * len(rows)))
    return Table(columns, facts=facts(comparison))


def tidy_pairs_of(collections: Named, top: int | None = None) -> list[Table]:
    """The pairs of every collection for programs; what json says beside them by collection, if several."""
    if len(collections) == 1:
        return [tidy_pairs(collections[0][1], None, top)]
    first, *others = [tidy_pairs(comparison, name, top) for name, comparison in collections]
    beside = {name: facts(comparison) for name, comparison in collections}
    return [replace(first, facts={"collections": beside}), *others]


def people_pairs(
    comparison: Comparison, top: int | None = None, *, title: str | None = None, full: bool = False
) -> Table:
    """Pairs of interest first, as people read them; `full`: for print, with topics and both p."""
    order = comparison.interesting()
    rows = order[: SHOWN if top is None else top]
    found = comparison.columns(rows)
    columns = [Column("run_a", found["run_a"]), Column("run_b", found["run_b"])]
    if len(comparison.measures) > 1:
        columns.append(Column("measure", found["measure"]))
    keys = len(columns)
    if full or _topics_differ(comparison):
        columns.append(Column("topics", found["topics"]))
    columns += [
        Column("difference", found["difference"]),
        Column("interval", list(map(shown_interval, found["ci_low"], found["ci_high"])), joined=True),
    ]
    if full:
        columns.append(Column("p", [shown_p(p) for p in found["p"]]))
    adjusted = "adjusted p" if full else p_name(comparison.performance_tests[0])
    columns += [
        Column(adjusted, [shown_p(p) for p in found["p_adjusted"]]),
        Column("assessment", found["assessment_difference"]),
        Column("case", [shown_case(case) for case in found["case"]]),
        Column("settled", [_yes(cell) for cell in found["settled"]]),
    ]
    equivalence = [comparison.performance_tests[number].equivalence for number, _ in rows]
    if equivalence and equivalence[0] is not None:
        cells = [
            shown_p(one.p_adjusted[pair]) for one, (_, pair) in zip(equivalence, rows, strict=True) if one
        ]
        columns.append(Column("equivalent p", cells))
    # What to do is enough in a table; why is told where there is room.
    columns.append(Column("advice", [advice.partition(":")[0] for advice in found["advice"]]))
    shown = "" if len(rows) == len(order) else f"{len(rows)} of {len(order):,} rows, the rest with --top N. "
    told = [shown + _summary(comparison), *notes(comparison)]
    return Table(columns, title=title, notes=told, keys=keys)


def _topics_differ(comparison: Comparison) -> bool:
    return len({count for tests in comparison.performance_tests for count in tests.topics.tolist()}) > 1


def _summary(comparison: Comparison) -> str:
    """How many pairs are in which case, in a sentence for each measure."""
    parts = []
    for measure, counts, bounds in zip(
        comparison.measures, comparison.counts().tolist(), comparison.bounds, strict=True
    ):
        told = ", ".join(
            f"{count:,} in case {case}" for case, count in zip(CASES, counts, strict=True) if count
        )
        rest = "" if bounds is None else f"; {np.count_nonzero(bounds.settled):,} settled"
        pairs = len(comparison.pairs)
        parts.append(f"{measure}: {pairs:,} pair{'s' * (pairs > 1)}, {told or 'none tested'}{rest}.")
    return " ".join(parts)


def notes(comparison: Comparison) -> list[str]:
    """What was tested and how, what to beware of, and the policies."""
    first = comparison.performance_tests[0]
    told = [f"{len(comparison.runs)} runs, {len(comparison.topics)} judged topics."]
    told[0] += f" Test: {first.method}; alpha {first.alpha:g}."
    told[0] += f" Interval: {first.interval}, {100 * (1 - first.alpha):g}%."
    omnibus = [
        f"{measure} {tests.omnibus.f:.4g} (p {p_is(tests.omnibus.p)})"
        for measure, tests in zip(comparison.measures, comparison.performance_tests, strict=True)
        if tests.omnibus is not None
    ]
    if omnibus and first.omnibus is not None:
        f = first.omnibus
        degrees = f"{f.df_runs} and {f.df_error} degrees of freedom"
        told.append(f"F of all runs at once, on {degrees}: {', '.join(omnibus)}.")
    told += comparison.notes
    return [*told, *how_valued(comparison)]


def how_valued(comparison: Comparison) -> list[str]:
    """The policies behind the values, and what is behind the word settled."""
    told = [f"Policies: {comparison.policies.describe()}."]
    basis = _settled_basis(comparison)
    if basis is not None:
        capped = "" if basis["at_most"] is None else f", at most {basis['at_most']} new relevant documents"
        told.append(f"Settled: by bounds over universe {basis['universe']}{capped}.")
    return told


def _settled_basis(comparison: Comparison) -> dict[str, str | None] | None:
    """What settled rests on: which unjudged documents may be relevant; None where nothing is known."""
    if all(bounds is None for bounds in comparison.bounds):
        return None
    policies = comparison.policies
    return {
        "by": "bounds", "universe": policies.universe,
        "at_most": policies.at_most if policies.unjudged == "bounds" else None,
    }  # fmt: skip


def facts(comparison: Comparison) -> dict[str, Any]:
    """What JSON says beside the rows."""
    first = comparison.performance_tests[0]
    return {
        "policies": asdict(comparison.policies),
        "settled": _settled_basis(comparison),
        "test": {"name": first.test, "correction": first.correction, "alpha": first.alpha,
                 "method": first.method, "interval": first.interval},
        "omnibus": {
            str(measure): asdict(tests.omnibus)
            for measure, tests in zip(comparison.measures, comparison.performance_tests, strict=True)
            if tests.omnibus is not None
        },
        "runs": list(comparison.runs),
        "topics": len(comparison.topics),
        "cases": {
            str(measure): counts
            for measure, counts in zip(comparison.measures, comparison.counts().tolist(), strict=True)
        },
        "notes": list(comparison.notes),
    }  # fmt: skip


# -- one pair --------------------------------------------------------------------------------------


def explain(
    comparison: Comparison, pair: int = 0, *, width: int | None = None, more: Sequence[str] = ()
) -> str:
    """One pair in a paragraph for each measure: what was found, by which topics, how far to trust it.

    `width` breaks lines for a terminal; `more` are notes below.
    """
    told = [_paragraph(comparison, number, pair) for number in range(len(comparison.measures))]
    told += [*notes(comparison), *more]
    return "\n\n".join(textwrap.fill(text, width) if width else text for text in told) + "\n"


def _paragraph(comparison: Comparison, number: int, pair: int) -> str:
    a, b = comparison.names(pair)
    tests, assessed = comparison.performance_tests[number], comparison.assessment_tests[number]
    case, k = int(comparison.cases[number, pair]), comparison.depths[number]
    places = comparison.pairs[pair]
    values = comparison.values[places, number]
    known = ~np.isnan(values).any(axis=0)
    means = values[:, known].mean(axis=1)
    shares = np.nanmean(comparison.assessment[places, number], axis=1)
    level = f"{100 * (1 - tests.alpha):g}%"
    sentences = [
        f"{a} against {b} by {comparison.measures[number]}, {tests.topics[pair]} topics:"
        f" {means[0]:.4f} against {means[1]:.4f}, a difference of {_signed(tests.difference[pair])}"
        f" ({level} interval {shown_interval(tests.ci_low[pair], tests.ci_high[pair])}),"
        f" {'' if tests.significant[pair] else 'not '}significant"
        f" ({p_name(tests)} {p_is(tests.p_adjusted[pair])}).",
        f"Topics on which {a} is better: {tests.wins[pair]}, worse: {tests.losses[pair]},"
        f" equal: {tests.ties[pair]}.",
        f"Of the first {k} documents {100 * shares[0]:.0f}% of {a}'s and {100 * shares[1]:.0f}% of {b}'s were"
        f" judged, {'' if assessed.significant[pair] else 'not '}significantly different"
        f" ({p_name(assessed)} {p_is(assessed.p_adjusted[pair])}).",
    ]
    if case:
        better = f"{a if tests.difference[pair] > 0 else b} is " if tests.significant[pair] else ""
        sentences.append(f"Case {case}, {strength(case)}: {better}{MEANING[case]}.")
    if tests.equivalence is not None:
        margin = tests.equivalence
        sentences.append(
            f"Equivalent within {margin.margin:g}: {p_name(tests)} {p_is(margin.p_adjusted[pair])};"
            f" {a} not worse by that much: {p_name(tests)} {p_is(margin.noninferior_p_adjusted[pair])}."
        )
    sentences += [*_topics(comparison, number, values, known), _settled(comparison, number, pair)]
    sentences.append(comparison.advice(number, pair))
    return " ".join(filter(None, sentences))


def _topics(comparison: Comparison, number: int, values: np.ndarray, known: np.ndarray) -> list[str]:
    """The topics that made the difference, the largest first, with the relevant documents behind it."""
    gaps = np.where(known, values[0] - values[1], 0.0)
    order = np.argsort(-np.abs(gaps), kind="stable")[:TOPICS]
    told = [
        f"{comparison.topics[place]} ({gaps[place]:+.3f}: {a:.3f} against {b:.3f}"
        f"{_documents(comparison, number, comparison.topics[place])})"
        for place, (a, b) in zip(order.tolist(), values[:, order].T.tolist(), strict=True)
        if gaps[place]
    ]
    return [f"The topics that differ most: {', '.join(told)}."] if told else []


def _documents(comparison: Comparison, number: int, topic: str) -> str:
    """The relevant document that tells most on a topic, as it goes on in a sentence; empty: not known."""
    telling = comparison.accounts[number].telling.get(topic, ()) if comparison.accounts else ()
    return f"; {telling[0].doc} at {_ranks(telling[0])}" if telling else ""


def _settled(comparison: Comparison, number: int, pair: int) -> str:
    """Whether the order holds, with the limits of the difference and how they were found."""
    bounds = comparison.bounds[number]
    if bounds is None:
        return "Whether unjudged documents could turn the order round is not known."
    limits = f"the difference lies between {_signed(bounds.lower[pair])} and {_signed(bounds.upper[pair])}"
    told = f"{limits} whatever the unjudged documents are ({HOW_BOUNDED[bounds.kind]})"
    if bounds.settled[pair]:
        return f"Settled: {told}."
    return " ".join([f"Open: {told}.", *_settling(comparison, number)])


def _settling(comparison: Comparison, number: int, documents: int = 5) -> list[str]:
    """What would settle an open pair, and the unjudged documents that matter most for it."""
    found = comparison.accounts[number].settling if comparison.accounts else None
    if found is None:
        return []
    how_many = str(found).removeprefix("Open: ")
    told = [
        f"{one.doc} (topic {one.topic}, {_ranks(one)}, {one.weight:+.4f})"
        for one in found.documents[:documents]
    ]
    return [
        how_many[0].upper() + how_many[1:],
        *([f"The unjudged documents that matter most: {', '.join(told)}."] if told else []),
    ]


def _ranks(one: OpenDocument | TellingDocument) -> str:
    ranks = [UNKNOWN if rank is None else str(rank) for rank in (one.rank_a, one.rank_b)]
    return f"ranks {ranks[0]} and {ranks[1]}"


HOW_BOUNDED = {
    "difference": "document by document",
    "rule": "by the rule for AP",
    "separate": "by the bounds of each run",
}


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Column]:
    """Rows turned into named columns."""
    return [Column(name, [row[place] for row in rows]) for place, name in enumerate(names)]


def with_notes(table: Table, more: Sequence[str]) -> Table:
    """The table with further notes, each once."""
    return replace(table, notes=list(dict.fromkeys([*table.notes, *more])))


# -- the matrix of runs ----------------------------------------------------------------------------

SIGNS: Mapping[tuple[bool, int], str] = {  # (strong, sign of the difference, 0: not significant)
    (True, 1): ">", (True, -1): "<", (True, 0): "=",
    (False, 1): "›", (False, -1): "‹", (False, 0): "~",
}  # fmt: skip
UNTESTED_SIGN, SELF_SIGN = "?", "·"
LEGEND = (
    "A row against each column, runs in the same order: > better, < worse, = no significant difference;"
    " › ‹ ~ the same where the case is weak; ? not tested."
)


def matrix_tables(comparison: Comparison) -> list[Table]:
    """For each measure all runs against all, one sign a pair, in the order of the measure: for people."""
    tables = []
    for number, measure in enumerate(comparison.measures):
        rows = _matrix_rows(comparison, number)
        columns = columns_of(["rank", "run", str(measure), "against"], rows)
        title = f"{measure}: {len(rows)} runs against each other"
        tables.append(Table(columns, title=title, keys=2))
    tables[-1] = with_notes(tables[-1], [LEGEND, _summary(comparison), *notes(comparison)])
    return tables


def tidy_matrix(comparison: Comparison) -> Table:
    """One row a measure and run, with its signs against all runs in the order of the rows: for programs."""
    rows = [
        (str(measure), *row)
        for number, measure in enumerate(comparison.measures)
        for row in _matrix_rows(comparison, number)
    ]
    names = ["measure", "rank", "run", "value", "against"]
    return Table(columns_of(names, rows), facts=facts(comparison) | {"legend": LEGEND})


def _matrix_rows(comparison: Comparison, number: int) -> list[tuple[int, str, float, str]]:
    """Rank, run, mean and signs against all runs, the best run first."""
    means = np.nanmean(comparison.values[:, number], axis=1)
    order = sorted(range(len(means)), key=lambda run: (-means[run], comparison.runs[run]))
    place = {run: row for row, run in enumerate(order)}
    grid = np.full((len(order), len(order)), UNTESTED_SIGN, dtype="<U1")
    np.fill_diagonal(grid, SELF_SIGN)
    tests = comparison.performance_tests[number]
    signs = np.where(tests.significant, np.sign(np.nan_to_num(tests.difference)), 0).astype(int)
    for pair, (a, b) in enumerate(comparison.pairs.tolist()):
        if comparison.cases[number, pair]:
            strong, sign = bool(comparison.strong[number, pair]), int(signs[pair])
            grid[place[a], place[b]] = SIGNS[strong, sign]
            grid[place[b], place[a]] = SIGNS[strong, -sign]
    return [
        (rank, comparison.runs[run], float(means[run]), "".join(row))
        for rank, (run, row) in enumerate(zip(order, grid.tolist(), strict=True), 1)
    ]


# -- cells -----------------------------------------------------------------------------------------


def p_name(tests: PairTests) -> str:
    """What the adjusted p is called: plain p where there was nothing to adjust for."""
    return "p" if tests.correction == "none" or len(tests.pairs) == 1 else "adjusted p"


def shown_interval(low: float, high: float) -> str:
    """An interval in words; one without a limit says so, and one that is not known is a dash."""
    if np.isnan(low) or np.isnan(high):
        return UNKNOWN
    if np.isinf(low) and np.isinf(high):
        return "unlimited"
    if np.isinf(low):
        return f"up to {decimal(high)}"
    return f"from {decimal(low)}" if np.isinf(high) else f"{decimal(low)} to {decimal(high)}"


def _signed(value: float) -> str:
    """A difference with its sign; 0 to four decimals has none."""
    text = decimal(value)
    return f"+{text}" if float(text) > 0 else text


def shown_case(case: int | None) -> str | None:
    """A case with its strength."""
    return None if not case else f"{case} {strength(case)}"


def _yes(cell: bool | None) -> str | None:
    return None if cell is None else ("yes" if cell else "no")
