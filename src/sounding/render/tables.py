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
from typing import Any, Literal, cast

from sounding.core.errors import UnknownNameError
from sounding.core.lazy import polars
from sounding.core.text import fill_paragraph, percent, whole_percent

UNKNOWN = "–"
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
MOST_NOTES = 3  # that people see without asking for more
SCHEMA_VERSION = 1  # of what JSON outputs hold; goes up when a name in them changes its meaning or is gone

Cell = str | float | int | bool | None
Tone = Literal["good", "weak"]  # what a cell says about a result: it can be relied on, or not
TONES: Mapping[Tone, str] = {"good": "\x1b[32m", "weak": "\x1b[33m"}  # green, yellow


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A named column; `digits` rounds it for people, `best` lists the rows to mark."""

    name: str
    cells: Sequence[Cell]
    digits: int | None = None
    percent: bool = False
    best: frozenset[int] = frozenset()
    right: bool = False  # text that stands to the right, such as numbers that are written already
    joined: bool = False  # belongs to the column before it: both are shown, or neither
    code: bool = False  # signs that stand for themselves, which no markup may change
    chance: bool = False  # found by draws, which make nothing certain: never 0% or 100%
    optional: int = 0  # a narrow terminal drops the columns with the highest number first
    tones: Mapping[int, Tone] = field(default_factory=dict)  # row -> how a terminal colors its cell


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of one length, with notes for people and facts for programs."""

    columns: Sequence[Column]
    title: str | None = None
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # what json repeats beside the rows
    keys: int = 1  # first columns that name a row, which are always shown
    caption: str | None = None  # makes it a table of a paper: LaTeX writes a whole table environment

    @property
    def height(self) -> int:
        """How many rows there are."""
        return len(self.columns[0].cells) if self.columns else 0

    def rows(self) -> list[dict[str, Cell]]:
        """The rows as dicts, NaN as None."""
        names = [column.name for column in self.columns]
        cells = zip(*(column.cells for column in self.columns), strict=True)
        return [dict(zip(names, map(_known, row), strict=True)) for row in cells]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """What a command has to say: the answer, the tables behind it, notes and the next step."""

    headline: str  # answers the question of the command in one or two sentences
    tables: Sequence[Table]
    notes: Sequence[str] = ()  # the most important first
    next_command: str | None = None  # what to type next


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
    tables: Sequence[Table],
    format_name: str,
    *,
    width: int | None = None,
    prose: int | None = None,
    marks: bool = False,
) -> str:
    """Return tables as text.

    A table that is wider than `width` leaves out columns. Sentences are wrapped at `prose`, or at `width`.
    `marks` uses the colors and bold type of a terminal.
    """
    if format_name not in FORMATS:
        raise UnknownNameError("format", format_name, FORMATS)
    if format_name == "table":
        return "\n".join(_text(table, width, prose or width, marks) for table in tables)
    return FORMATS[format_name](tables)


def render_answer(
    answer: Answer,
    format_name: str,
    *,
    all_notes: bool = False,
    width: int | None = None,
    prose: int | None = None,
    marks: bool = False,
) -> str:
    """Return an answer as text: the headline, the tables, the first notes, and what to type next."""
    if format_name == "json":
        return render(with_facts(answer), format_name)
    body = render(answer.tables, format_name, width=width, prose=prose, marks=marks)
    notes = shown_notes(answer.notes, all_notes=all_notes)
    if format_name == "latex":
        return "".join(f"% {line}\n" for line in [answer.headline, *notes]) + body
    if format_name == "md":
        parts = [markdown_text(answer.headline), body.rstrip("\n")]
        parts += ["\n".join(f"- {markdown_text(note)}" for note in notes)] if notes else []
        parts += [f"Next: `{answer.next_command}`"] if answer.next_command else []
        return "\n\n".join(parts) + "\n"
    if format_name != "table":
        return body
    wrap = prose or width
    lines = [fill_paragraph(note, wrap) if wrap else note for note in notes]
    headline = fill_paragraph(answer.headline, wrap) if wrap else answer.headline
    parts = [f"{BOLD}{headline}{PLAIN}" if marks else headline, body.rstrip("\n")]
    parts += ["\n".join(lines)] if lines else []
    parts += [f"Next: {answer.next_command}"] if answer.next_command else []
    return "\n\n".join(part for part in parts if part) + "\n"


def shown_notes(notes: Sequence[str], *, all_notes: bool) -> list[str]:
    """Return the notes that people see: all, or the first few and how to see the others."""
    notes = list(dict.fromkeys(notes))
    if all_notes or len(notes) <= MOST_NOTES:
        return notes
    rest = len(notes) - MOST_NOTES
    return [*notes[:MOST_NOTES], f"{rest} more note{'s' * (rest > 1)} with --notes."]


def with_facts(answer: Answer) -> list[Table]:
    """Return the tables with the headline, the notes and the next step as facts for programs."""
    first, *others = answer.tables
    said = {"headline": answer.headline, "next": answer.next_command}
    facts = {**said, **first.facts, "notes": list(first.facts.get("notes", answer.notes))}
    return [replace(first, facts=facts), *others]


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


def _text(table: Table, width: int | None, prose: int | None, marks: bool) -> str:
    lines = [fill_paragraph(table.title, prose) if prose else table.title, ""] if table.title else []
    columns, dropped = _fitting(table.columns, width, table.keys)
    lines += _aligned(columns, table.height, marks)
    notes = [*([table.caption] if table.caption else []), *table.notes]
    if dropped:
        notes.insert(0, f"Columns left out to fit the width: {', '.join(column.name for column in dropped)}.")
    if notes:
        lines += ["", *(fill_paragraph(note, prose) if prose else note for note in notes)]
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
            tone = column.tones.get(row)
            style = BOLD * (row in column.best) + (TONES[tone] if tone else "")
            rows[row].append(f"{style}{cell}{PLAIN}" if marks and style else cell)
    return ["  ".join(cells).rstrip() for cells in [header, rule, *rows]]


def _padded(text: str, width: int, left: bool) -> str:
    blanks = " " * (width - display_width(text))
    return text + blanks if left else blanks + text


def _fitting(columns: Sequence[Column], width: int | None, keys: int) -> tuple[list[Column], list[Column]]:
    """Return the columns that fit the width, and those left out: optional ones first, then the rightmost.

    The columns that name a row and the most important of the others are always shown.
    """
    if width is None or not columns:
        return list(columns), []
    units: list[list[int]] = []  # places of columns that are shown together
    for place in range(keys, len(columns)):
        if columns[place].joined and units:
            units[-1].append(place)
        else:
            units.append([place])
    breadths = [_breadth(column) + 2 for column in columns]  # with the gap behind it
    order = sorted(units, key=lambda unit: (columns[unit[0]].optional, unit[0]))
    total = sum(breadths) - 2
    dropped: set[int] = set()
    while total > width and len(order) > 1:
        unit = order.pop()
        total -= sum(breadths[place] for place in unit)
        dropped.update(unit)
    kept = [column for place, column in enumerate(columns) if place not in dropped]
    return kept, [columns[place] for place in sorted(dropped)]


def _breadth(column: Column) -> int:
    shown = [column.name, *(shown_cell(cell, column) for cell in column.cells)]
    return max(map(display_width, shown)) + bool(column.best)


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
                text = shown_cell(column.cells[row], column).rstrip()
                text = f"`{text}`" if column.code else markdown_text(text)
                cells.append(f"**{text}**" if row in column.best else text)
            lines.append("| " + " | ".join(cells) + " |")
        notes = [*([table.caption] if table.caption else []), *table.notes]
        lines += ["", *(f"{markdown_text(note)}  " for note in notes)] if notes else []
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
    "|": r"\ensuremath{|}", "…": r"\ldots{}", "†": r"\ensuremath{^\dagger}", "‡": r"\ensuremath{^\ddagger}",
}  # fmt: skip


def latex_text(text: str) -> str:
    """A text as LaTeX prints it."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _hanging_mark(text: str) -> str:
    """Return a cell whose mark of significance takes no room, so that digits stand in line."""
    return re.sub(r"(\\ensuremath\{\^\\d?dagger\})$", r"\\rlap{\1}", text)


def _latex(tables: Sequence[Table]) -> str:
    parts = []
    for table in tables:
        shape = "".join("l" if stands_left(column) else "r" for column in table.columns)
        lines = ["% needs \\usepackage{booktabs}"]
        if table.caption:
            lines += ["\\begin{table}", "\\centering", f"\\caption{{{latex_text(table.caption)}}}"]
        lines += [f"\\begin{{tabular}}{{{shape}}}", "\\toprule"]
        lines.append(" & ".join(latex_text(column.name) for column in table.columns) + r" \\")
        lines.append("\\midrule")
        for row in range(table.height):
            cells = []
            for column in table.columns:
                text = _hanging_mark(latex_text(shown_cell(column.cells[row], column).rstrip()))
                text = f"\\texttt{{{text}}}" if column.code else text
                cells.append(f"\\textbf{{{text}}}" if row in column.best else text)
            lines.append(" & ".join(cells) + r" \\")
        lines += ["\\bottomrule", "\\end{tabular}"]
        lines += ["\\end{table}"] if table.caption else []
        lines += [f"% {note}" for note in table.notes]
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
