"""Write tables and answers in every output format; all commands use this one writer.

Formats for people (table, md, latex) round values and mark the best; formats for programs (csv, json,
jsonl, parquet) keep full precision. An unknown value is NaN or None in a table; people see a dash,
programs an empty cell or null.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from sounding.core.errors import UnknownNameError
from sounding.core.lazy import polars
from sounding.core.text import fill_paragraph, percent, whole_percent

UNKNOWN = "–"
BOLD, DIM, PLAIN = "\x1b[1m", "\x1b[2m", "\x1b[0m"
FOLDED = 40  # columns that a text which may fold has at least
LEAST_FOLD = 24  # columns that a text keeps where it is folded to fit a terminal
MOST_NOTES = 3  # notes that people see without --notes, below tables and at the end together
LEAST_NOTES = 2  # notes at the end, however many stand below tables
SCHEMA_VERSION = 1  # of JSON outputs; raise it when a key is removed or changes its meaning

Cell = str | float | int | bool | None
Tone = Literal["good", "weak"]  # reliability of the result in a cell
TONES: Mapping[Tone, str] = {"good": "\x1b[32m", "weak": "\x1b[33m"}  # green, yellow


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """A named column of a table; `digits` rounds it for people, `best` lists the rows to mark."""

    name: str
    cells: Sequence[Cell]
    digits: int | None = None
    percent: bool = False
    best: frozenset[int] = frozenset()
    right: bool = False  # align text to the right, such as formatted numbers
    joined: bool = False  # shown or dropped together with the column before it
    code: bool = False  # print the text as code, without markup
    chance: bool = False  # a probability estimated by draws: never shown as 0% or 100%
    folds: bool = False  # fold long texts rather than drop the column
    optional: int = 0  # a narrow terminal drops the columns with the highest number first
    tones: Mapping[int, Tone] = field(default_factory=dict)  # row -> how a terminal colors its cell


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns of equal length, with notes for people and facts for programs."""

    columns: Sequence[Column]
    title: str | None = None
    notes: Sequence[str] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)  # keys that JSON has beside the rows
    keys: int = 1  # number of first columns that name a row; they are always shown
    caption: str | None = None  # with a caption LaTeX writes a whole table environment, for a paper
    summary: str = ""  # counts, and which rows are not shown; always printed below the rows

    @property
    def height(self) -> int:
        """Return the number of rows."""
        return len(self.columns[0].cells) if self.columns else 0

    def rows(self) -> list[dict[str, Cell]]:
        """Return the rows as dicts, with None for NaN."""
        names = [column.name for column in self.columns]
        cells = zip(*(column.cells for column in self.columns), strict=True)
        return [dict(zip(names, map(_known, row), strict=True)) for row in cells]


@dataclass(frozen=True, slots=True, eq=False)
class Answer:
    """The output of a command: its answer in words, the tables behind it, notes and the next step."""

    headline: str  # answers the question of the command in one or two sentences
    tables: Sequence[Table]
    notes: Sequence[str] = ()  # the most important first
    next_command: str | None = None  # the next command


def _known(cell: Cell) -> Cell:
    """Return the value of a cell; None if it is not finite."""
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _known_cells(cells: Sequence[Cell]) -> Sequence[Cell]:
    """Return the cells of a column with None for values that are not finite.

    A column without such values is returned as it is, which is much faster for long ones.
    """
    kinds = set(map(type, cells))
    if not any(issubclass(kind, float) for kind in kinds):
        return cells
    if kinds == {float} and all(map(math.isfinite, cast("Sequence[float]", cells))):
        return cells
    finite = math.isfinite
    return [None if isinstance(cell, float) and not finite(cell) else cell for cell in cells]


def columns_of(names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[Column]:
    """Return rows as named columns."""
    return [Column(name, [row[place] for row in rows]) for place, name in enumerate(names)]


def columns_of_rows(
    rows: Sequence[Mapping[str, Any]], names: Iterable[str] | Mapping[str, str], digits: int | None = None
) -> list[Column]:
    """Return some keys of dicts as columns; a mapping gives each key its heading."""
    headings = names if isinstance(names, Mapping) else {name: name for name in names}
    return [Column(text, [row[name] for row in rows], digits=digits) for name, text in headings.items()]


def with_notes(table: Table, more: Sequence[str]) -> Table:
    """Return the table with more notes; no note appears twice."""
    return replace(table, notes=list(dict.fromkeys([*table.notes, *more])))


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
    if not all_notes and format_name in ("table", "md"):
        answer = _with_few_notes(answer)
    notes = list(dict.fromkeys(answer.notes))
    body = render(answer.tables, format_name, width=width, prose=prose, marks=marks)
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
    parts = [f"{BOLD}{headline}{PLAIN}" if marks and headline else headline, body.rstrip("\n")]
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


def _with_few_notes(answer: Answer) -> Answer:
    """Return the answer with the notes that people see: those of the tables, and the most important others.

    There are three in all, unless the tables alone have two or more.
    """
    below = sum(len(table.notes) for table in answer.tables)
    own = list(dict.fromkeys(answer.notes))
    kept = max(LEAST_NOTES, MOST_NOTES - below)
    hidden = len(own) - kept
    more = [f"{hidden} more note{'s' * (hidden > 1)} with --notes."] if hidden > 0 else []
    return replace(answer, notes=[*own[:kept], *more])


def with_facts(answer: Answer) -> list[Table]:
    """Return the tables with the headline, the notes and the next step as facts for programs."""
    first, *others = answer.tables
    own = {"headline": answer.headline, "next": answer.next_command}
    facts = {**own, **first.facts, "notes": list(first.facts.get("notes", answer.notes))}
    return [replace(first, facts=facts), *others]


def parquet(tables: Sequence[Table]) -> bytes:
    """Return the rows of all tables as one Parquet file; raise an error for text that is not UTF-8."""
    import io

    from sounding.data.fast.tokens import refuse_stray_bytes  # loads NumPy, which --help does not need

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
    """Return the width of a text on a terminal: wide letters take two cells, combining marks none."""
    if text.isascii():
        return len(text)
    import unicodedata

    return sum(
        0 if unicodedata.combining(c) or unicodedata.category(c) in ("Cf", "Mn", "Me")
        else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )  # fmt: skip


def shown_cell(cell: Cell, column: Column) -> str:
    """Return a cell as people read it: rounded, or a dash."""
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
    """Return a probability estimated by draws as a percentage that is never 0% or 100%."""
    return ">99.9%" if sure >= 0.9995 else "<0.1%" if sure < 0.0005 else percent(sure)


def decimal(value: float, digits: int = 4) -> str:
    """Return a number with this many decimals; zero never has a minus sign."""
    # Rounding may leave -0.0; adding 0.0 makes it 0.0.
    return f"{round(value, digits) + 0.0:.{digits}f}"


def stands_left(column: Column) -> bool:
    """Return whether a column is aligned to the left."""
    return not column.right and any(isinstance(cell, str) for cell in column.cells)


def _text(table: Table, width: int | None, prose: int | None, marks: bool) -> str:
    lines = [fill_paragraph(table.title, prose) if prose else table.title, ""] if table.title else []
    columns, dropped = _fitting(table.columns, width, table.keys)
    lines += _aligned(*_folded(columns, table.height, width), marks)
    notes = [one for one in (table.summary, table.caption, *table.notes) if one]
    if dropped:
        notes.insert(0, f"Columns left out to fit the width: {', '.join(column.name for column in dropped)}.")
    if notes:
        lines += ["", *(fill_paragraph(note, prose) if prose else note for note in notes)]
    return "\n".join(lines) + "\n"


def _aligned(columns: Sequence[Column], height: int, marks: bool) -> list[str]:
    """Return header, rule and rows as aligned lines: text to the left, numbers to the right."""
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
    units: list[list[int]] = []  # positions of columns that are shown together
    for place in range(keys, len(columns)):
        if columns[place].joined and units:
            units[-1].append(place)
        else:
            units.append([place])
    rooms = [FOLDED if column.folds else math.inf for column in columns]
    breadths = [int(min(_breadth(column), room)) + 2 for column, room in zip(columns, rooms, strict=True)]
    order = sorted(units, key=lambda unit: (columns[unit[0]].optional, unit[0]))
    total = sum(breadths) - 2
    dropped: set[int] = set()
    while total > width and len(order) > 1:
        unit = order.pop()
        total -= sum(breadths[place] for place in unit)
        dropped.update(unit)
    kept = [column for place, column in enumerate(columns) if place not in dropped]
    return kept, [columns[place] for place in sorted(dropped)]


def _folded(columns: Sequence[Column], height: int, width: int | None) -> tuple[Sequence[Column], int]:
    """Return the columns and their height; where they are too wide, long texts fold within their column."""
    breadths = list(map(_breadth, columns))
    over = 0 if width is None else sum(breadths) + 2 * (len(columns) - 1) - width
    rooms = [breadth if stands_left(column) else 0 for breadth, column in zip(breadths, columns, strict=True)]
    while over > 0 and (widest := max(rooms)) > LEAST_FOLD:
        rooms[rooms.index(widest)] -= 1
        over -= 1
    if all(not room or room == breadth for room, breadth in zip(rooms, breadths, strict=True)):
        return columns, height
    cells = [[shown_cell(cell, column) for cell in column.cells] for column in columns]
    lines = [
        [textwrap.wrap(text, room, break_long_words=False) or [""] if room else [text] for text in shown]
        for room, shown in zip(rooms, cells, strict=True)
    ]
    heights = [max(len(column[row]) for column in lines) for row in range(height)]
    first = [sum(heights[:row]) for row in range(height)]
    folded = [
        replace(
            column,
            cells=[
                line
                for part, tall in zip(parts, heights, strict=True)
                for line in part + [""] * (tall - len(part))
            ],
            right=not stands_left(column),
            best=frozenset(first[row] for row in column.best),
            tones={first[row]: tone for row, tone in column.tones.items()},
        )
        for column, parts in zip(columns, lines, strict=True)
    ]
    return folded, sum(heights)


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
        notes = [one for one in (table.summary, table.caption, *table.notes) if one]
        lines += ["", *(f"{markdown_text(note)}  " for note in notes)] if notes else []
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def markdown_text(text: str) -> str:
    """Escape a text for Markdown, so that no part of it acts as markup or HTML."""
    escaped = "".join(f"\\{letter}" if letter in "\\|*_~`" else letter for letter in text)
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", escaped)


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{",
    "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--",
    # Characters that the usual fonts have only in math mode, or print as something else.
    "≤": r"\ensuremath{\le}", "≥": r"\ensuremath{\ge}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}",
    "‹": r"\ensuremath{\langle}", "›": r"\ensuremath{\rangle}", "·": r"\ensuremath{\cdot}",
    "|": r"\ensuremath{|}", "…": r"\ldots{}", "†": r"\ensuremath{^\dagger}", "‡": r"\ensuremath{^\ddagger}",
}  # fmt: skip


def latex_text(text: str) -> str:
    """Escape a text for LaTeX."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def _hanging_mark(text: str) -> str:
    """Give a significance mark at the end of a cell no width, so that digits line up."""
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
    """Write rows as the csv module does, but faster; return None if a cell may need quotes.

    None becomes an empty cell; floats are written so that they read back exactly.
    """
    if len(columns) < 2 or len(columns[0]) == 0:  # csv quotes an empty cell that is alone in its row
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
    """Return JSON with plain Unicode; only text that is not valid UTF-8 makes it use escapes."""
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
