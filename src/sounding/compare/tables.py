"""Comparisons as tables: pairs of interest for people, all pairs for programs, all runs against all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np

from sounding.compare.cells import p_name, short_names, shown_case, shown_interval, yes_or_no
from sounding.compare.holds import shown_chance
from sounding.compare.result import MARGIN_COLUMNS, Comparison
from sounding.compare.settled import which_completions
from sounding.core.text import FLOOR, p_is, plural, shown_p
from sounding.measures.summaries import mean_over_topics
from sounding.render.tables import UNKNOWN, Column, Table, columns_of, first_said, with_notes
from sounding.statistics.cases import CASES
from sounding.statistics.pairwise import PairTests

EFFECT = "Effect size: Cohen's d_z, mean over standard deviation of the differences by topic."


def notes(comparison: Comparison, *, intervals: bool = True, brief: bool = False) -> list[str]:
    """What was tested and how, what to beware of, and the policies; `intervals` where some are shown.

    `brief`: the test in a line, what to beware of, and the policies with what settled means in another.
    """
    first = comparison.performance_tests[0]
    told = [f"{len(comparison.runs)} runs, {len(comparison.topics)} judged topics."]
    told[0] += f" Test: {how_tested(comparison)}."
    if brief:
        beside = [*_omnibus_notes(comparison), *comparison.notes]
        return [*told, *beside, " ".join(how_valued(comparison))]
    if intervals:
        told[0] += f" Intervals ({100 * (1 - first.alpha):g}%): {first.interval}."
    if first.equivalence is not None and intervals:
        told.append(f"Equivalence and non-inferiority: {first.equivalence.method}.")
    told += _omnibus_notes(comparison)
    told += comparison.notes
    return [*told, *how_valued(comparison)]


def _omnibus_notes(comparison: Comparison) -> list[str]:
    """The F of all runs at once, where the test has one."""
    first = comparison.performance_tests[0]
    omnibus = [
        f"{measure} {tests.omnibus.f:.4g} (p {p_is(tests.omnibus.p)})"
        for measure, tests in zip(comparison.measures, comparison.performance_tests, strict=True)
        if tests.omnibus is not None
    ]
    if omnibus and first.omnibus is not None:
        f = first.omnibus
        degrees = f"{f.df_runs} and {f.df_error} degrees of freedom"
        return [f"F of all runs at once, on {degrees}: {', '.join(omnibus)}."]
    return []


def how_tested(comparison: Comparison) -> str:
    """The test with its draws and seed, the correction, and alpha."""
    first = comparison.performance_tests[0]
    return f"{first.method}; alpha {first.alpha:g}"


def how_valued(comparison: Comparison) -> list[str]:
    """The policies behind the values, and what is behind the word settled."""
    policies = comparison.policies
    told = [f"Policies: {policies.describe()}."]
    basis = settled_basis(comparison)
    if basis is not None:
        universe = basis["universe"] or ""
        if policies.unjudged != "bounds" and (basis["at_most"] is not None or universe.startswith("+")):
            capped = "" if basis["at_most"] is None else f", at most {basis['at_most']}"
            told[0] = f"{told[0][:-1]}; for what is settled: universe {universe}{capped}."
        more = f" and of {universe[1:]} others a topic" if universe.startswith("+") else ""
        limited = which_completions(policies)
        told.append(
            f"Settled: no judgments of the unjudged documents that any of these runs retrieved{more}"
            f" could turn the order{f', {limited}' if limited else ''}."
        )
    if comparison.holds is not None:
        told.append(comparison.holds.describe())
    return told


def settled_basis(comparison: Comparison) -> dict[str, str | None] | None:
    """What settled rests on: which unjudged documents may be relevant; None where nothing is known."""
    if all(bounds is None for bounds in comparison.bounds):
        return None
    policies = comparison.policies
    return {
        "by": "bounds", "universe": "runs" if policies.universe == "run" else policies.universe,
        "at_most": policies.at_most,
    }  # fmt: skip


def cases_in_words(comparison: Comparison) -> str:
    """How many pairs are in which case, in a sentence for each measure."""
    parts = []
    for measure, counts, bounds in zip(
        comparison.measures, comparison.counts().tolist(), comparison.bounds, strict=True
    ):
        told = ", ".join(
            f"{count:,} in case {case}" for case, count in zip(CASES, counts, strict=True) if count
        )
        without = len(comparison.pairs) - sum(counts)
        told += f"{', ' * bool(told)}{without:,} without a case" * bool(without)
        rest = "" if bounds is None else f"; {np.count_nonzero(bounds.final):,} settled"
        parts.append(f"{measure}: {plural(len(comparison.pairs), 'pair')}, {told}{rest}.")
    return " ".join(parts)


def advice_notes(comparison: Comparison) -> list[str]:
    """Where the correction changes cases: that advice is on each pair by itself."""
    other = int(np.count_nonzero(comparison.cases != comparison.own_cases))
    if not other:
        return []
    return [
        "Advice takes each pair alone, before correction; where that changes the case, it says so:"
        f" {other:,} of {comparison.cases.size:,} rows."
    ]


def floor_notes(comparison: Comparison) -> list[str]:
    """How many p are the smallest that the draws can show, for programs."""
    tests = comparison.performance_tests
    floors = sum(int(np.count_nonzero(one.floor_drawn)) for one in tests)
    if not floors:
        return []
    rows = sum(len(one.pairs) for one in tests)
    return [f"{floors:,} of {rows:,} p are the smallest that {_draws(comparison)} can show: p_at_floor."]


def floor_legend(comparison: Comparison, shown: bool) -> list[str]:
    """What the mark of such a p means, where people see one."""
    return [f"{FLOOR} marks the smallest p that {_draws(comparison)} can show."] if shown else []


def _draws(comparison: Comparison) -> str:
    return plural(max(tests.drawn for tests in comparison.performance_tests), "draw")


def facts(comparison: Comparison) -> dict[str, Any]:
    """What JSON says beside the rows."""
    first = comparison.performance_tests[0]
    return {
        "policies": asdict(comparison.policies),
        "settled": settled_basis(comparison),
        "test": {"name": first.test, "correction": first.correction, "alpha": first.alpha,
                 "method": first.method, "interval": first.interval},
        "inconclusive": {
            str(measure): f"{tests.limit}."
            for measure, tests in zip(comparison.measures, comparison.performance_tests, strict=True)
            if tests.limit
        },
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
        "notes": [*comparison.limits, *comparison.notes],
    }  # fmt: skip


SHOWN = 20  # pairs that people see without asking for more

Named = Sequence[tuple[str, Comparison]]  # collections by name
Rows = Sequence[tuple[int, int]]  # (measure, pair)
Cells = Mapping[str, list[Any]]  # the columns of a comparison, by name


def tidy_pairs(comparison: Comparison, collection: str | None = None, top: int | None = None) -> Table:
    """One row a measure and pair, for programs, in the order that people see: all, or the first ones."""
    rows = comparison.interesting()[:top]
    columns = [Column(name, cells) for name, cells in comparison.columns(rows).items()]
    if collection is not None:
        columns.insert(0, Column("collection", [collection] * len(rows)))
    beside = facts(comparison)
    beside["notes"] += [*floor_notes(comparison), *advice_notes(comparison)]
    return Table(columns, facts=beside | _account_facts(comparison, top))


def tidy_pairs_of(collections: Named, top: int | None = None) -> list[Table]:
    """The pairs of every collection for programs; what json says beside them by collection, if several."""
    if len(collections) == 1:
        return [tidy_pairs(collections[0][1], None, top)]
    first, *others = [tidy_pairs(comparison, name, top) for name, comparison in collections]
    beside = {name: facts(comparison) for name, comparison in collections}
    return [replace(first, facts={"collections": beside}), *others]


def _account_facts(comparison: Comparison, top: int | None) -> dict[str, Any]:
    """For one pair, the topics and documents that json has beside its rows; `top` cuts open documents."""
    if not comparison.accounts:
        return {}
    (names,) = [comparison.names(pair) for pair in range(len(comparison.pairs))]
    places = comparison.pairs[0]
    return {
        "pair": {
            str(measure): {
                "judged": dict(
                    zip(names, mean_over_topics(comparison.assessment[places, number]).tolist(), strict=True)
                ),
                "topics": [
                    {"topic": topic, "a": a, "b": b, "difference": a - b}
                    for topic, a, b in zip(
                        comparison.topics, *comparison.values[places, number].tolist(), strict=True
                    )
                    if not np.isnan(a - b)
                ],
            }
            for number, measure in enumerate(comparison.measures)
        },
        "documents": {
            str(measure): {
                "telling": {
                    topic: [asdict(one) for one in found] for topic, found in account.telling.items()
                },
                "settling": asdict(replace(account.settling, documents=account.settling.documents[:top]))
                | {"needed": account.settling.needed},
            }
            for measure, account in zip(comparison.measures, comparison.accounts, strict=True)
        },
    }


def document_table(comparison: Comparison) -> Table:
    """For one pair, the documents to judge by every measure that leaves it open, the first ones first."""
    rows = [
        (str(measure), number, *asdict(one).values())
        for place, (measure, account) in enumerate(zip(comparison.measures, comparison.accounts, strict=True))
        if comparison.settled(place, 0) is False
        for number, one in enumerate(account.settling.documents, 1)
    ]
    names = ["measure", "number", "topic", "doc", "rank_a", "rank_b", "weight"]
    return Table(columns_of(names, rows))


def people_pairs(
    comparison: Comparison,
    top: int | None = None,
    *,
    title: str | None = None,
    full: bool = False,
    brief: bool = False,
    widest: int | None = None,
) -> Table:
    """Pairs of interest first, as people read them; `full`: for print, with topics, means and both p.

    `brief`: only the notes that nobody should miss. `widest`: longer names of runs are shortened.
    """
    order = comparison.interesting()
    rows = order[: SHOWN if top is None else top]
    found = comparison.columns(rows)
    short = short_names(comparison.runs, widest)
    keys = [Column(side, [short[name] for name in found[side]]) for side in ("run_a", "run_b")]
    if len(comparison.measures) > 1:
        keys.append(Column("measure", found["measure"]))
    columns = [
        *keys,
        *_size_columns(comparison, rows, found, full=full),
        *_trust_columns(comparison, found),
        Column("advice", _advice_cells(found, short)),
    ]
    shown = "" if len(rows) == len(order) else f"{len(rows)} of {len(order):,} rows, the rest with --top N. "
    told = [shown + cases_in_words(comparison)]
    marked = any(str(cell).startswith(FLOOR) for column in columns for cell in column.cells)
    if brief:
        told += notes(comparison, brief=True)
        told[1] = " ".join([told[1], *floor_legend(comparison, marked)])
    else:
        told += [*advice_notes(comparison), *notes(comparison), *floor_legend(comparison, marked)]
        told += [EFFECT] if full else []
    if any(short[name] != name for side in ("run_a", "run_b") for name in found[side]):
        told.append("Long names of runs are shortened here, and whole in every other format.")
    return first_said(Table(columns, title=title, notes=told, keys=len(keys)), comparison.limits)


def _size_columns(comparison: Comparison, rows: Rows, found: Cells, *, full: bool) -> Iterator[Column]:
    """How large the differences are, and how sure that is."""
    tests = comparison.performance_tests
    if full or not comparison.same_topics:
        yield Column("topics", found["topics"])
    if full:
        yield Column("mean_a", found["mean_a"])
        yield Column("mean_b", found["mean_b"])
    yield Column("difference", found["difference"])
    intervals = [
        UNKNOWN if np.isnan(gap) else shown_interval(low, high)
        for gap, low, high in zip(found["difference"], found["ci_low"], found["ci_high"], strict=True)
    ]
    yield Column(_interval_name(tests[0]), intervals, joined=True)
    if full:
        yield Column("effect size", found["effect_size"], digits=2)
        drawn = [(tests[number].p[pair], bool(tests[number].floor_drawn[pair])) for number, pair in rows]
        yield Column("p", [shown_p(*both) for both in drawn])
    adjusted = [shown_p(*both) for both in _adjusted(comparison, rows, found)]
    yield Column("adjusted p" if full else p_name(tests[0]), adjusted)


def _adjusted(comparison: Comparison, rows: Rows, found: Cells) -> list[tuple[float, bool]]:
    """The adjusted p of every row, and whether it is the least that so many draws can give."""
    tests = comparison.performance_tests
    floors = [bool(tests[number].floor_adjusted[pair]) for number, pair in rows]
    return list(zip(found["p_adjusted"], floors, strict=True))


def _trust_columns(comparison: Comparison, found: Cells) -> Iterator[Column]:
    """How far the differences can be trusted: assessment, case, what is settled, and what holds."""
    yield Column("assessment", found["assessment_difference"])
    yield Column("case", list(map(shown_case, found["case"], found["strength"])))
    yield Column("settled", [yes_or_no(cell) for cell in found["settled"]])
    if comparison.holds is not None:
        yield Column("holds", list(map(shown_chance, found["holds"])), right=True)
        yield Column("sign", list(map(shown_chance, found["sign_holds"])), right=True, joined=True)
    for name, shown_name in zip(MARGIN_COLUMNS, ("equivalence p", "non-inferiority p"), strict=True):
        if name in found:
            yield Column(shown_name, [shown_p(p) for p in found[name]])


def _advice_cells(found: Cells, short: Mapping[str, str]) -> list[str]:
    """What to do, which is enough in a table; why is told where there is room."""
    advice = [_shortened(text.partition(":")[0], short) for text in found["advice"]]
    return [
        text if own == case else f"{text} (alone: case {own})"
        for text, case, own in zip(advice, found["case"], found["case_alone"], strict=True)
    ]


def _shortened(text: str, short: Mapping[str, str]) -> str:
    """A text with the names of runs shortened."""
    for name, shown in short.items():
        if name != shown:
            text = text.replace(name, shown)
    return text


def _interval_name(tests: PairTests) -> str:
    """What stands over the intervals: that they are of the median, where the difference is of the mean."""
    return "interval" if tests.centre == "mean" else f"interval ({tests.centre})"


SIGNS_IN_LINE = 60  # that people see beside each other
SIGNS: Mapping[tuple[bool, int], str] = {  # (strong, sign of the difference, 0: not significant)
    (True, 1): ">", (True, -1): "<", (True, 0): "=",
    (False, 1): "›", (False, -1): "‹", (False, 0): "~",
}  # fmt: skip
UNTESTED_SIGN, SELF_SIGN = "?", "·"
LEGEND = (
    "A row against each column, runs in the same order: > better, < worse, = no significant difference;"
    " › ‹ ~ the same where the case is weak; ? not tested."
)


def matrix_tables(
    comparison: Comparison, *, brief: bool = False, widest: int | None = None, line: int | None = None
) -> list[Table]:
    """For each measure all runs against all, one sign a pair, in the order of the measure: for people.

    `line`: no more signs in a column than this, in groups of ten.
    """
    tables = []
    short = short_names(comparison.runs, widest)
    for number, measure in enumerate(comparison.measures):
        rows = _matrix_rows(comparison, number)
        columns = [
            Column("rank", [rank for rank, *_ in rows]),
            Column("run", [short[run] for _, run, *_ in rows]),
            Column(str(measure), [value for _, _, value, _ in rows]),
            *_sign_columns([signs for *_, signs in rows], line),
        ]
        title = f"{measure}: {len(rows)} runs against each other"
        tables.append(Table(columns, title=title, keys=2))
    tables[0] = first_said(tables[0], comparison.limits)
    told = [LEGEND, cases_in_words(comparison), *notes(comparison, intervals=False, brief=brief)]
    tables[-1] = with_notes(tables[-1], told)
    return tables


def _sign_columns(signs: Sequence[str], line: int | None) -> list[Column]:
    """The signs of a matrix in columns that fit a line, named by the ranks of the runs they are against."""
    if line is None or len(signs) <= line:
        return [Column("against", list(signs), code=True)]
    found = []
    for first in range(0, len(signs), line):
        last = min(first + line, len(signs))
        cells = [
            " ".join(row[place : min(place + 10, last)] for place in range(first, last, 10)) for row in signs
        ]
        found.append(Column(f"against {first + 1} to {last}", cells, code=True))
    return found


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
