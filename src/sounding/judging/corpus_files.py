"""The documents of a corpus in whatever files they are: SGML, JSON lines, tables, or one text a file."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from sounding.data.corpus import IDS, TITLES, Document, one_line, read_corpus
from sounding.data.sources import find_files
from sounding.errors import FormatError
from sounding.wording import plural

NAMES = ("doc", *IDS)  # of the column that holds the doc id
_TABLES = {".csv": ",", ".tsv": "\t"}
RUN_FIELDS = 6  # of a line of a run in TREC's format
_MARKED = ("<", "{")  # how SGML and JSON lines begin
_TEXT = (".txt", ".text", ".md", "")


def read_documents(sources: Iterable[str | Path]) -> Iterator[Document]:
    """The documents of files, folders and globs, one at a time, in their order.

    A file with the suffix csv or tsv is a table; one that begins with `<` or `{` is TREC's SGML or JSON
    lines, compressed or not; another one is a document as it stands, and its name without suffix the id.
    """
    for source in find_files(sources):
        delimiter = _TABLES.get(Path(source).suffix.lower())
        if delimiter is not None:
            yield from _rows(source, delimiter)
        elif Path(source).suffix.lower() in _TEXT and not _begins(source).startswith(_MARKED):
            yield Document(Path(source).stem, _text(source))
        else:
            yield from read_corpus([source])


def _begins(source: str) -> str:
    try:
        with Path(source).open("rb") as file:
            first = file.read(1000)
    except OSError as error:
        raise FormatError(source, None, f"cannot be opened ({error.strerror or error})") from error
    packed = first.startswith((b"\x1f\x8b", b"BZh", b"\xfd7zXZ"))
    return "<" if packed else first.decode("utf-8-sig", "replace").lstrip()[:1]


def _text(source: str) -> str:
    text = Path(source).read_bytes().decode("utf-8-sig", "replace")
    if not text.strip():
        raise FormatError(source, None, "the file is empty; expected the text of a document")
    fields = next(line for line in text.splitlines() if line.strip()).split()
    if len(fields) == RUN_FIELDS and fields[1].upper() == "Q0":
        raise FormatError(source, 1, "a line of a run; expected the text of a document; runs go to --runs")
    return text


def _rows(source: str, delimiter: str) -> Iterator[Document]:
    csv.field_size_limit(sys.maxsize)
    try:
        with Path(source).open(encoding="utf-8-sig", errors="replace", newline="") as stream:
            yield from _documents(source, csv.reader(stream, delimiter=delimiter))
    except OSError as error:
        raise FormatError(source, None, f"cannot be opened ({error.strerror or error})") from error
    except csv.Error as error:
        raise FormatError(source, None, f"no table ({error}); expected one document a row") from error


def _documents(source: str, rows: Iterator[list[str]]) -> Iterator[Document]:
    header = [name.strip().lower() for name in next(rows, [])]
    place = next((header.index(name) for name in NAMES if name in header), None)
    if place is None:
        problem = f"the columns {', '.join(header)} hold no doc id; expected one of {', '.join(NAMES)}"
        raise FormatError(source, 1, problem)
    titled = next((header.index(name) for name in TITLES if name in header and name != header[place]), None)
    for number, row in enumerate(rows, 2):
        if not any(row):
            continue
        if len(row) != len(header):
            wrong = f"{plural(len(row), 'field')} in a row under {plural(len(header), 'column')}"
            raise FormatError(source, number, f"{wrong}; expected one for each")
        title = "" if titled is None else one_line(row[titled])
        rest = [text for column, text in enumerate(row) if column not in (place, titled) and text]
        yield Document(row[place], "\n".join([title, *rest] if title else rest), title)
