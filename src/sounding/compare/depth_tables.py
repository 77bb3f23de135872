"""Cases by depth as tables: their shares, the moves between them, examples and scenarios."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, replace
from typing import Any

from sounding.compare.depths import (
    Move,
    count_scenarios,
    examples,
    families,
    has_scenarios,
    moved_pairs,
    moves,
)
from sounding.compare.result import Comparison
from sounding.compare.sentences import CAUSE_NAMES, CAUSES, EXAMPLES, moves_shown
from sounding.compare.tables import SHOWN, WIDEST_NAME, Named, facts, p_name, short_names, shown_case
from sounding.core.text import format_p, plural, whole_percent
from sounding.measures.summaries import mean_over_topics
from sounding.render.tables import Cell, Column, Table, columns_of
from sounding.runs.pool import SCENARIOS
from sounding.statistics.cases import CASES, strength
from sounding.statistics.pairwise import PairTests


def case_tables(collections: Named) -> list[Table]:
    """Return a table a measure: collections in rows, depths in columns, shares of cases 1 to 4 in cells."""
    names = dict.fromkeys(name for _, comparison in collections for name, _ in families(comparison))
    tables = []
    for name in names:
        cells: dict[int, dict[int, str]] = {}
        for row, (_, comparison) in enumerate(collections):
            shares = comparison.shares()
            for place in dict(families(comparison)).get(name, []):
                text = " ".join(f"{share:.2f}" for share in shares[place].tolist())
                cells.setdefault(comparison.depths[place], {})[row] = text
        columns = [
            Column("collection", [label for label, _ in collections]),
            Column("runs", [len(comparison.runs) for _, comparison in collections], joined=True),
            Column("pairs", [len(comparison.pairs) for _, comparison in collections], joined=True),
        ]
        columns += [
            Column(f"@{depth}", [cells[depth].get(row) for row in range(len(collections))])
            for depth in sorted(cells)
        ]
        tables.append(Table(columns, title=f"{name}: shares of pairs in cases 1, 2, 3 and 4"))
    return tables


def tidy_cases(collections: Named, top: int | None = None) -> Table:
    """Return one row per collection, measure, depth and case; `top` limits the moves that json lists."""
    rows: list[dict[str, Cell]] = []
    for label, comparison in collections:
        counts, shares = comparison.counts(), comparison.shares()
        for number, measure in enumerate(comparison.measures):
            for place, case in enumerate(CASES):
                rows.append(
                    {
                        "collection": label, "runs": len(comparison.runs),
                        "topics": len(comparison.topics), "pairs": len(comparison.pairs),
                        "measure": str(measure), "k": comparison.depths[number],
                        "case": case, "strength": strength(case),
                        "count": int(counts[number, place]), "share": float(shares[number, place]),
                    }
                )  # fmt: skip
    columns = [Column(name, [row[name] for row in rows]) for name in rows[0]]
    about = {label: facts(comparison) | _depth_facts(comparison, top) for label, comparison in collections}
    return Table(columns, facts={"collections": about})


def _depth_facts(comparison: Comparison, top: int | None) -> dict[str, Any]:
    found: dict[str, Any] = {
        "moves": [
            {
                "measure": step.measure, "from": comparison.depths[step.shallow],
                "to": comparison.depths[step.deep], "counts": step.counts.tolist(),
            }
            for step in moves(comparison)
        ],
        "moved": [_moved(comparison, move) for move in _by_interest(comparison)[:top]],
        "examples": {
            str(measure): {
                case: comparison.names(pair) for case, pair in examples(comparison, number).items()
            }
            for number, measure in enumerate(comparison.measures)
        },
    }  # fmt: skip
    if comparison.pool is not None:
        found["pool"] = {
            "depth": comparison.pool.depth, "guessed": comparison.pool.guessed,
            "contributing": [
                run for run, own in zip(comparison.runs, comparison.pool.contributing, strict=True) if own
            ],
        }  # fmt: skip
    if has_scenarios(comparison):
        found["scenarios"] = {
            str(measure): count_scenarios(comparison, number)
            for number, measure in enumerate(comparison.measures)
        }
    return found


def _moved(comparison: Comparison, move: Move) -> dict[str, Any]:
    a, b = comparison.names(move.pair)
    rest = {name: value for name, value in asdict(move).items() if name != "pair"}
    return {"run_a": a, "run_b": b} | rest


def depth_tables(comparison: Comparison, label: str | None = None, top: int | None = None) -> list[Table]:
    """Moves between cases, pairs that move, an example for each case, and scenarios: for people."""
    tables = [_step_table(comparison), _moved_table(comparison, top), _example_table(comparison)]
    if has_scenarios(comparison):
        tables.append(_scenario_table(comparison))
    if label is not None:
        tables = [replace(table, title=f"{label}: {table.title}") for table in tables]
    return [table for table in tables if table.height]


def _step_table(comparison: Comparison) -> Table:
    """The count matrices as rows: one for each step and case that pairs come from."""
    rows: list[tuple[Cell, ...]] = []
    for step in moves(comparison):
        steps = f"@{comparison.depths[step.shallow]} to @{comparison.depths[step.deep]}"
        rows += [
            (step.measure, steps, f"case {case}", *counts)
            for case, counts in zip(CASES, step.counts.tolist(), strict=True)
            if any(counts)
        ]
    names = ["measure", "depths", "from", *(f"to {case}" for case in CASES)]
    return Table(columns_of(names, rows), title="moves between cases, counted", keys=3)


def _moved_table(comparison: Comparison, top: int | None) -> Table:
    """The pairs that move, causes counted below; strong to weak first."""
    found = _by_interest(comparison)
    rows: list[tuple[Cell, ...]] = [
        (
            *_names(comparison, move.pair), move.measure, f"@{move.from_depth} to @{move.to_depth}",
            f"{move.from_case} to {move.to_case}", CAUSE_NAMES[move.cause], _judged(comparison, move),
        )
        for move in found[: SHOWN if top is None else top]
    ]  # fmt: skip
    names = ["run_a", "run_b", "measure", "depths", "cases", "why", "judged"]
    causes = Counter(move.cause for move in found)
    notes = [moves_shown(len(rows), len(found))]
    notes += [
        f"- {CAUSE_NAMES[cause]} ({plural(causes[cause], 'move')}): {text}"
        for cause, text in CAUSES.items()
        if causes[cause]
    ]
    return Table(columns_of(names, rows), title="pairs that move", notes=notes, keys=3)


def _names(comparison: Comparison, pair: int) -> tuple[str, str]:
    """The runs of a pair as a line has room for them."""
    short = short_names(comparison.runs, WIDEST_NAME)
    a, b = comparison.names(pair)
    return short[a], short[b]


def _judged(comparison: Comparison, move: Move) -> str:
    """The shares of both runs that are judged at the deeper depth, for the first measure that has it."""
    number = comparison.depths.index(move.to_depth)
    a, b = (mean_over_topics(comparison.assessment[comparison.pairs[move.pair], number])).tolist()
    return f"{whole_percent(a)} and {whole_percent(b)}"


def _by_interest(comparison: Comparison) -> list[Move]:
    return sorted(moved_pairs(comparison), key=_move_interest)


def _move_interest(move: Move) -> tuple[bool, bool, int]:
    """Strong to weak first, those with a named cause before the others; the pairs as they come."""
    weakened = strength(move.from_case) == "strong" and strength(move.to_case) == "weak"
    return not weakened, move.cause not in ("frozen", "pool"), move.pair


def _example_table(comparison: Comparison) -> Table:
    """Return one example pair for each case, at the deepest depth of each measure."""
    rows: list[tuple[Cell, ...]] = []
    for _, places in families(comparison):
        number = places[-1]
        tests, assessed = comparison.performance_tests[number], comparison.assessment_tests[number]
        for case, pair in examples(comparison, number).items():
            rows.append(
                (
                    str(comparison.measures[number]), shown_case(case, strength(case)),
                    *_names(comparison, pair),
                    float(tests.difference[pair]), _shown(tests, pair),
                    float(assessed.difference[pair]), _shown(assessed, pair),
                )
            )  # fmt: skip
    p = p_name(comparison.performance_tests[0])
    names = ["measure", "case", "run_a", "run_b", "difference", p, "assessment", f"assessment {p}"]
    return Table(columns_of(names, rows), title="an example of each case", notes=[EXAMPLES], keys=4)


def _shown(tests: PairTests, pair: int) -> str:
    return format_p(tests.p_adjusted[pair], bool(tests.floor_adjusted[pair]))


def _scenario_table(comparison: Comparison) -> Table:
    """Pairs in each of Lu's three scenarios, by measure."""
    counts = [count_scenarios(comparison, number) for number in range(len(comparison.measures))]
    columns = [Column("measure", [str(measure) for measure in comparison.measures])]
    columns += [Column(text, [count[scenario] for count in counts]) for scenario, text in SCENARIOS.items()]
    described = [] if comparison.pool is None else [comparison.pool.describe()]
    return Table(columns, title="what the pool can tell (scenarios of Lu et al.)", notes=described)
