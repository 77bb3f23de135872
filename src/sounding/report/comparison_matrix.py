"""All runs against all: one sign a pair, in the order of a measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from sounding.compare.comparison import Comparison
from sounding.report.comparison_cells import short_names
from sounding.report.comparison_notes import cases_in_words, facts, notes
from sounding.report.tables import Column, Table, columns_of, first_said, with_notes

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
