"""Read tables separated by commas, semicolons or tabs, with or without a header.

There are two ways with the same result. NumPy splits a text without quotes. The csv module reads a text with
quotes, where a field may contain separators and line ends.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sounding.core.text import quote, quote_list
from sounding.data.columns import VALUE, Kind, Records, is_header, recognize
from sounding.data.fast.fields import LONE_RETURN, line_at, note_lone_returns
from sounding.data.fast.numbers import is_too_large, parse_numbers
from sounding.data.fast.tokens import Bytes, Places, Tokens
from sounding.data.problems import Problems
from sounding.data.sources import Content

TAB, COMMA, SEMICOLON = "\t", ",", ";"

_NEWLINE, _BLANK, _QUOTE, _COMMENT = 10, 32, 34, 35
_BLANKS = "".join(map(chr, range(_BLANK + 1)))
_FEW_BLANKS = 16  # around a field, in a usual table
_HEADERS: dict[Kind, dict[int, tuple[str, ...]]] = {
    "run": {3: ("topic", "doc", "score"), 6: ("topic", "q0", "doc", "rank", "score", "tag")},
    "qrels": {3: ("topic", "doc", "grade"), 4: ("topic", "iteration", "doc", "grade")},
    "labels": {3: ("topic", "doc", "grade"), 4: ("topic", "iteration", "doc", "grade")},
}  # the columns of a table without a header, by their number


class Grid(NamedTuple):
    """All fields of a table in record order: record r has fields[first[r]:][:size[r]]."""

    fields: Tokens
    first: Places
    size: Places
    lines: Places  # the line in which each record starts, from 1

    def texts(self, record: int) -> list[str]:
        """Return the fields of one record."""
        begin = int(self.first[record])
        return self.fields[begin : begin + int(self.size[record])].texts()

    def column(self, number: int) -> Tokens:
        """Return one field of every record."""
        return self.fields[self.first + number]

    def keep(self, chosen: Places) -> Grid:
        """Return the grid with only these records."""
        return Grid(self.fields, self.first[chosen], self.size[chosen], self.lines[chosen])


def read_delimited(content: Content, kind: Kind, problems: Problems) -> Records | None:
    """Return the records of a table, or None; rows that cannot be used are reported and dropped.

    Columns are recognized by their names in the first line. Without a header, three columns are topic, doc
    and score (or grade), and six (or four) are TREC's. Blank lines, lines that start with #, and blanks
    around fields are ignored.
    """
    grid = split_grid(content, guess_separator(content), problems)
    if not len(grid.first):
        return None
    names = grid.texts(0)
    width = len(names)
    if is_header(names):
        places = recognize(names, kind, int(grid.lines[0]), problems)
        grid = grid.keep(np.arange(1, len(grid.first)))
        if places and not len(grid.first) and not problems.found:
            problems.note(1, "the table has a header but no rows; expected at least one row")
    else:
        places = _places_without_header(grid, kind, problems)
    if not places:
        return None
    wrong = (grid.size != width).nonzero()[0]
    problems.add(
        grid.lines[wrong],
        lambda i: f"{_counted(int(grid.size[wrong[i]]))}; expected {width}, as in the first line",
    )
    grid = grid.keep((grid.size == width).nonzero()[0])
    if kind != "run":  # Quepid lists a query without ratings as a row without document and rating
        some = grid.column(places["doc"]).length + grid.column(places["grade"]).length > 0
        grid = grid if some.all() else grid.keep(some.nonzero()[0])
    return Records({role: grid.column(place) for role, place in places.items()}, grid.lines)


def guess_separator(content: Content) -> str:
    """Return the separator that occurs most often in the first data line: tab, comma or semicolon."""
    line = first_record(content)
    return max((TAB, COMMA, SEMICOLON), key=line.count)


def first_fields(content: Content) -> list[str]:
    """Return the fields of the first data line, without quotes."""
    return [field.strip(' "') for field in first_record(content).split(guess_separator(content))]


def first_record(content: Content) -> str:
    """Return the first line that is neither blank nor a comment; a carriage return ends it too."""
    text = content.buffer[: content.size]
    start = 0
    while start < len(text):
        line = line_at(text, start)
        if line.strip() and not line.lstrip().startswith(b"#"):
            return line.strip(b"\r\n").partition(b"\r")[0].decode("utf-8", "surrogateescape")
        start += len(line)
    return ""


def split_grid(content: Content, separator: str, problems: Problems) -> Grid:
    """Split a text into its fields; drop surrounding blanks, blank lines and comments.

    The grid is empty if carriage returns occur anywhere but at line ends.
    """
    text = content.buffer[: content.size]
    _note_zero_bytes(text, problems)
    if (text == _QUOTE).any():
        return _split_quoted(content, separator, problems)
    found = len(problems.found)
    note_lone_returns(text, (text == _NEWLINE).nonzero()[0], problems)
    if len(problems.found) > found:
        nothing = np.zeros(0, np.int64)
        return Grid(Tokens.from_strings([]), nothing, nothing, nothing)
    return _split_plain(content, separator)


def _note_zero_bytes(text: Bytes, problems: Problems) -> None:
    if not text.all():
        place = int(np.argmin(text))
        line = 1 + int(np.count_nonzero(text[:place] == _NEWLINE))
        problems.note(line, "a zero byte; expected plain text in UTF-8")


def _split_plain(content: Content, separator: str) -> Grid:
    buffer, size = content.buffer, content.size
    text = buffer[:size]
    ends = ((text == ord(separator)) | (text == _NEWLINE)).nonzero()[0]
    closes = text[ends] == _NEWLINE
    if size and text[-1] != _NEWLINE:
        ends, closes = np.append(ends, size), np.append(closes, True)
    starts = np.concatenate([[0], ends[:-1] + 1])[: len(ends)]
    last = closes.nonzero()[0]
    first = np.concatenate([[0], last[:-1] + 1])[: len(last)]
    fields = _trim(buffer, starts, ends)
    blank = (last == first) & (fields.length[first] == 0)
    comment = buffer[fields.start[first]] == _COMMENT
    records = (~blank & ~(comment & (fields.length[first] > 0))).nonzero()[0]
    return Grid(fields, first[records], (last - first + 1)[records], records + 1)


def _trim(buffer: Bytes, starts: Places, ends: Places) -> Tokens:
    """Return the texts without the blanks, tabs and carriage returns around them."""
    starts, ends = starts.copy(), ends.copy()
    for edge, inside, step, strip in ((starts, 0, 1, bytes.lstrip), (ends, -1, -1, bytes.rstrip)):
        todo = np.arange(len(starts))
        for _ in range(_FEW_BLANKS):
            todo = todo[starts[todo] < ends[todo]]
            todo = todo[buffer[edge[todo] + inside] <= _BLANK]
            edge[todo] += step
        for row in todo.tolist():  # one step per byte would take too long
            text = buffer[starts[row] : ends[row]].tobytes()
            edge[row] += step * (len(text) - len(strip(text, _BLANKS.encode())))
    return Tokens(buffer, starts, ends - starts)


def _split_quoted(content: Content, separator: str, problems: Problems) -> Grid:
    import csv

    text = bytes(content.view).decode("utf-8", "surrogateescape")
    lines = text.replace("\0", " ").split("\n")  # not splitlines, which knows more line ends
    reader = csv.reader(
        (line + "\n" for line in lines), delimiter=separator, strict=True, skipinitialspace=True
    )
    fields: list[str] = []
    counts: list[int] = []
    numbers: list[int] = []
    while True:
        line = reader.line_num + 1
        if line <= len(lines) and lines[line - 1].lstrip().startswith("#"):
            # A comment may contain a single quotation mark, which must not open a field.
            lines[line - 1] = ""
        try:
            record = next(reader, None)
        except csv.Error as error:
            problems.note(line, _no_csv(str(error)))
            break
        if record is None:
            break
        record = [field.strip(_BLANKS) for field in record]
        if record and record != [""]:
            fields += record
            counts.append(len(record))
            numbers.append(line)
    count = np.array(counts, np.int64)
    return Grid(Tokens.from_strings(fields), np.cumsum(count) - count, count, np.array(numbers, np.int64))


def _no_csv(reason: str) -> str:
    """Return our wording of an error of the csv module."""
    if reason.startswith("new-line character"):
        return LONE_RETURN
    if reason.startswith("field larger"):
        return "a field has more than 131,072 characters; is a quotation mark not closed?"
    return f'invalid quotation marks ({reason}); write a quotation mark inside a field as ""'


def _places_without_header(grid: Grid, kind: Kind, problems: Problems) -> dict[str, int]:
    known = _HEADERS[kind]
    width, line = int(grid.size[0]), int(grid.lines[0])
    shapes = " or ".join(" ".join(names) for names in known.values())
    if width not in known:
        seen = f"{_counted(width)}, and {quote_list(grid.texts(0))} is not a header with known names"
        problems.note(line, f"{seen}; expected {shapes}, or a header")
        return {}
    places = recognize(known[width], kind, line, problems)
    value = grid.texts(0)[places["score" if kind == "run" else "grade"]]
    if parse_numbers(Tokens.from_strings([value]))[1][0] and not is_too_large(value):
        problems.note(
            line,
            f"{quote(value)} is not a number, and {quote_list(grid.texts(0))} is not a header with known"
            f" names; expected {shapes}, or a header such as topic, doc, {VALUE[kind]}",
        )
        return {}
    if kind == "run" and width == 3 and _counts_ranks(grid):
        problems.note(
            line,
            "the third column holds ranks (1, 2, 3 in every topic), not scores;"
            " add the header topic, doc, rank",
        )
        return {}
    return places


def _counts_ranks(grid: Grid) -> bool:
    """Return whether the third column numbers each topic's documents from 1, as MS MARCO's runs do."""
    if len(grid.size) < 2 or (grid.size != 3).any():
        return False
    values, _ = parse_numbers(grid.column(2))
    topics = grid.column(0).words()
    changes = np.append(True, (topics[:, 1:] != topics[:, :-1]).any(axis=0))
    begin = changes.nonzero()[0]
    expected = np.arange(len(values)) - np.repeat(begin, np.diff(begin, append=len(values))) + 1
    return len(begin) < len(values) and bool((values == expected).all())


def _counted(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"
