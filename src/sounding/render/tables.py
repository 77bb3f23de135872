"""One writer for all commands: a table of named columns to every output format.

Formats for people (table, md, latex) round and mark; formats for programs (csv, json, jsonl,
parquet) keep full precision. What is not known is NaN or None inside, a dash for people, and an
empty cell or null for programs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from sounding.core.errors import UnknownNameError
from sounding.core.lazy import polars
from sounding.core.text import filled, percent, whole_percent

UNKNOWN = "–"
BOLD, PLAIN = "\x1b[1m", "\x1b[0m"

Cell = str | float | int | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A named column; `digits` rounds it for people, `best` lists the rows to mark."""

    name: str
    cells: Sequence[Cell]
    digits: int | None = None
    percent: bool = False
    best: frozenset[int] = frozenset()
    right: bool = False  # text that stands to the right, such as numbers that are written already
    joined: bool = False  # belongs to the column before it: kept together when a table is folded
    code: bool = False  # signs that stand for themselves, which no markup may change
    chance: bool = False  # found by draws, which make nothing certain: never 0% or 100%


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length, with notes for people and facts for programs."""

    columns: Sequence[Column]
    title: str | None = None
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # what json repeats beside the rows
    keys: int = 1  # first columns that name a row: every part of a folded table repeats them

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].cells) if self.columns else 0

    def rows(self) -> list[dict[str, Cell]]:
        """The rows as dicts, NaN as None."""
        names = [column.name for column in self.columns]
        cells = zip(*(column.cells for column in self.columns), strict=True)
        return [dict(zip(names, map(_known, row), strict=True)) for row in cells]


def _known(cell: Cell) -> Cell:
    """What a cell holds; None where that is not known."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _known_cells(cells: Sequence[Cell]) -> Sequence[Cell]:
    """The cells of a column, None for what is not known; at no cost a cell where everything is."""
    kinds = set(map(type, cells))
    if not any(issubclass(kind, float) for kind in kinds):
        return cells
    if kinds == {float} and all(map(math.isfinite, cast("Sequence[float]", cells))):
        return cells
    finite = math.isfinite
    return [None if isinstance(cell, float) and not finite(cell) else cell for cell in cells]


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Column]:
    """Rows turned into named columns."""
    return [Column(name, [row[place] for row in rows]) for place, name in enumerate(names)]


def columns_of_rows(
    rows: Sequence[Mapping[str, Any]], names: Iterable[str] | Mapping[str, str], digits: int | None = None
) -> list[Column]:
    """Some columns of rows that are dicts; a mapping gives each its heading."""
    headings = names if isinstance(names, Mapping) else {name: name for name in names}
    return [Column(text, [row[name] for row in rows], digits=digits) for name, text in headings.items()]


def with_notes(table: Table, more: Sequence[str]) -> Table:
    """The table with further notes, each once."""
    return replace(table, notes=list(dict.fromkeys([*table.notes, *more])))


def first_said(table: Table, sentences: Sequence[str]) -> Table:
    """The table with sentences above it that must be read first."""
    return replace(table, title=" ".join([*sentences, table.title or ""]).strip() or None)


def render(
    tables: Sequence[Table], format_name: str, *, width: int | None = None, marks: bool = False
) -> str:
    """Tables as text. `width` folds a wide table for a terminal; `marks` uses its bold type."""
    if format_name not in FORMATS:
        raise UnknownNameError("format", format_name, FORMATS)
    if format_name == "table":
        return "\n".join(_text(table, width, marks) for table in tables)
    return FORMATS[format_name](tables)


def parquet(tables: Sequence[Table]) -> bytes:
    """The rows of all tables as one Parquet file; texts that are not UTF-8 are refused."""
    import io

    from sounding.data.fast.tokens import refuse_stray_bytes  # NumPy, which --help does without

    for column in (column for table in tables for column in table.columns):
        refuse_stray_bytes((cell for cell in column.cells if isinstance(cell, str)), column.name)
    frames = [
        polars.DataFrame({column.name: _known_cells(column.cells) for column in table.columns}, strict=False)
        for table in tables
    ]
    stream = io.BytesIO()
    polars.concat(frames, how="vertical_relaxed").write_parquet(stream)
    return stream.getvalue()


# -- for people ------------------------------------------------------------------------------------


def display_width(text: str) -> int:
    """How many places a terminal gives a text: wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Mn", "Me")
        else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )  # fmt: skip


def shown_cell(cell: Cell, column: Column) -> str:
    """A cell of a column as people read it: rounded, or a dash."""
    cell = _known(cell)
    if cell is None:
        return UNKNOWN
    if isinstance(cell, float):
        if column.chance:
            return shown_confidence(cell)
        if column.percent:
            return whole_percent(cell)
        return decimal(cell, 4 if column.digits is None else column.digits)
    return str(cell)


def shown_confidence(sure: float) -> str:
    """A chance that draws gave, in per cent as people read it: never 0 or 100."""
    return ">99.9%" if sure >= 0.9995 else "<0.1%" if sure < 0.0005 else percent(sure)


def decimal(value: float, digits: int = 4) -> str:
    """A number with so many decimals, and no sign where they are all 0."""
    # Adding 0 turns the negative zero, which rounding may leave, into the usual one.
    return f"{round(value, digits) + 0.0:.{digits}f}"


def stands_left(column: Column) -> bool:
    """Whether a column stands to the left."""
    return not column.right and any(isinstance(cell, str) for cell in column.cells)


def _text(table: Table, width: int | None, marks: bool) -> str:
    lines = [filled(table.title, width) if width else table.title, ""] if table.title else []
    for number, columns in enumerate(_folded(table.columns, width, table.keys)):
        lines += [""] if number else []
        lines += _aligned(columns, table.height, marks)
    if table.notes:
        lines += ["", *(filled(note, width) if width else note for note in table.notes)]
    return "\n".join(lines) + "\n"


def _aligned(columns: Sequence[Column], height: int, marks: bool) -> list[str]:
    """Header, rule and rows of some columns; text to the left, numbers to the right."""
    header, rows = [], [[] for _ in range(height)]  # type: tuple[list[str], list[list[str]]]
    rule = []
    for column in columns:
        shown = [shown_cell(cell, column) for cell in column.cells]
        starred = bool(column.best) and not marks
        if starred:
            shown = [text + ("*" if row in column.best else " ") for row, text in enumerate(shown)]
        name = column.name + " " if starred else column.name
        widest = max(map(display_width, [name, *shown]))
        left = stands_left(column)
        header.append(_padded(name, widest, left))
        rule.append("─" * widest)
        for row, text in enumerate(shown):
            cell = _padded(text, widest, left)
            rows[row].append(BOLD + cell + PLAIN if marks and row in column.best else cell)
    return ["  ".join(cells).rstrip() for cells in [header, rule, *rows]]


def _padded(text: str, width: int, left: bool) -> str:
    blanks = " " * (width - display_width(text))
    return text + blanks if left else blanks + text


def _folded(columns: Sequence[Column], width: int | None, keys: int) -> list[list[Column]]:
    """Columns in blocks that fit the width, each led by the key columns; joined ones stay together."""
    if width is None or not columns:
        return [list(columns)]
    leading, others = columns[:keys], columns[keys:]
    units: list[list[Column]] = []
    for column in others:
        if column.joined and units:
            units[-1].append(column)
        else:
            units.append([column])
    blocks: list[list[Column]] = [[*leading]]
    for unit in units:
        if _breadth([*blocks[-1], *unit]) > width and len(blocks[-1]) > len(leading):
            blocks.append([*leading])
        blocks[-1].extend(unit)
    return blocks


def _breadth(columns: Sequence[Column]) -> int:
    widest = (
        max(map(display_width, [column.name, *(shown_cell(cell, column) for cell in column.cells)]))
        + bool(column.best)
        for column in columns
    )
    return sum(widest) + 2 * (len(columns) - 1)


def _markdown(tables: Sequence[Table]) -> str:
    parts = []
    for table in tables:
        lines = [f"**{table.title}**", ""] if table.title else []
        lines.append("| " + " | ".join(markdown_text(column.name) for column in table.columns) + " |")
        lines.append(
            "|" + "|".join(":--" if stands_left(column) else "--:" for column in table.columns) + "|"
        )
        for row in range(table.height):
            cells = []
            for column in table.columns:
                text = shown_cell(column.cells[row], column)
                text = f"`{text}`" if column.code else markdown_text(text)
                cells.append(f"**{text}**" if row in column.best else text)
            lines.append("| " + " | ".join(cells) + " |")
        lines += ["", *(f"{markdown_text(note)}  " for note in table.notes)] if table.notes else []
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def markdown_text(text: str) -> str:
    """A text as Markdown prints it: what looks like markup, or like a tag of HTML, is text."""
    escaped = "".join(f"\\{letter}" if letter in "\\|*_~`" else letter for letter in text)
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", escaped)


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
    # Letters that the usual fonts have in mathematics only, or print as something else.
    "≤": r"\ensuremath{\le}", "≥": r"\ensuremath{\ge}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}",
    "‹": r"\ensuremath{\langle}", "›": r"\ensuremath{\rangle}", "·": r"\ensuremath{\cdot}",
    "|": r"\ensuremath{|}", "…": r"\ldots{}",
}  # fmt: skip


def latex_text(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _latex(tables: Sequence[Table]) -> str:
    parts = []
    for table in tables:
        shape = "".join("l" if stands_left(column) else "r" for column in table.columns)
        lines = ["% needs \\usepackage{booktabs}", f"\\begin{{tabular}}{{{shape}}}", "\\toprule"]
        lines.append(" & ".join(latex_text(column.name) for column in table.columns) + r" \\")
        lines.append("\\midrule")
        for row in range(table.height):
            cells = []
            for column in table.columns:
                text = latex_text(shown_cell(column.cells[row], column))
                text = f"\\texttt{{{text}}}" if column.code else text
                cells.append(f"\\textbf{{{text}}}" if row in column.best else text)
            lines.append(" & ".join(cells) + r" \\")
        lines += ["\\bottomrule", "\\end{tabular}", *(f"% {note}" for note in table.notes)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


# -- for programs ----------------------------------------------------------------------------------


def _csv(tables: Sequence[Table]) -> str:
    header: list[Sequence[Cell]] = [[column.name] for column in tables[0].columns]
    bodies = ([_known_cells(column.cells) for column in table.columns] for table in tables)
    return "".join(map(_csv_rows, [header, *bodies]))


def _csv_rows(columns: Sequence[Sequence[Cell]]) -> str:
    plain = _plain_csv(columns)
    if plain is not None:
        return plain
    import csv
    import io

    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(zip(*columns, strict=True))
    return stream.getvalue()


def _plain_csv(columns: Sequence[Sequence[Cell]]) -> str | None:
    """The rows as the csv module writes them, sooner; None: it may put some cells in quotes.

    It writes None as nothing, and floats so that they read back the same.
    """
    if len(columns) < 2 or len(columns[0]) == 0:  # a cell that stands alone is in quotes where it is empty
        return None
    spelled: list[Iterable[str]] = []
    for cells in columns:
        kinds = set(map(type, cells))
        if kinds <= {float, int}:
            spelled.append(map(str, cells))
            continue
        texts = cells
        if kinds != {str}:
            texts = ["" if cell is None else cell if isinstance(cell, str) else str(cell) for cell in cells]
        joined = " ".join(cast("Sequence[str]", texts))
        if any(sign in joined for sign in ',"\r\n'):
            return None
        spelled.append(cast("Sequence[str]", texts))
    return "\n".join(map(",".join, zip(*spelled, strict=True))) + "\n"


def _json(tables: Sequence[Table]) -> str:
    body: dict[str, Any] = dict(tables[0].facts)
    body["rows"] = [row for table in tables for row in table.rows()]
    return json_text(body, indent=1)


def _jsonl(tables: Sequence[Table]) -> str:
    return "".join(json_text(row) for table in tables for row in table.rows())


def json_text(body: Any, indent: int | None = None) -> str:
    """JSON with letters as they are; ids that are not UTF-8 as escapes, for raw bytes would be no JSON."""
    import json

    text = json.dumps(body, ensure_ascii=False, indent=indent)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        text = json.dumps(body, indent=indent)
    return text + "\n"


FORMATS: Mapping[str, Callable[[Sequence[Table]], str]] = {
    "table": lambda tables: render(tables, "table"),
    "csv": _csv,
    "json": _json,
    "jsonl": _jsonl,
    "md": _markdown,
    "latex": _latex,
}
