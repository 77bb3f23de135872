"""The documents of a corpus in whatever files they are: SGML, JSON lines, tables, or one text a file."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from sounding.core.errors import FormatError
from sounding.core.text import plural
from sounding.data.corpus import IDS, TITLES, Document, has_documents, one_line, read_corpus
from sounding.data.finding import find_files_below
from sounding.data.sources import Content, unpacked_pieces
from sounding.judge.documents import is_html
from sounding.judge.ids import wrong_doc

NAMES = ("doc", *IDS)  # of the column that holds the doc id
_TABLES = {".csv": ",", ".tsv": "\t"}
RUN_FIELDS = 6  # of a line of a run in TREC's format
_HTML = (".html", ".htm", ".xhtml")
TEXTS = (".txt", ".text", ".md", "", *_HTML)  # suffixes of files that may be one document each
BEGINNING = 1 << 16  # bytes in which the first <DOC> of SGML is looked for


def read_documents(sources: Iterable[str | Path]) -> Iterator[Document]:
    """The documents of files, folders and globs, one at a time, in their order.

    A folder is read with its sub-folders, every file but hidden ones, whatever they are called.
    A file with the suffix csv or tsv is a table. One that begins with `{` is JSON lines; one that begins with
    `<` and has an element <DOC> is TREC's SGML; both may be compressed. Another one is a document as it
    stands, text or HTML, and its name without suffix the id. Ids are checked; texts may hold what they like,
    or nothing.
    """
    for source in find_files_below(sources):
        delimiter = _TABLES.get(Path(source).suffix.lower())
        if delimiter is not None:
            yield from _rows(source, delimiter)
        elif Path(source).suffix.lower() in TEXTS and not _holds_many(source):
            yield Document(_checked(Path(source).stem, source, None), _text(source))
        else:
            yield from _several(source)


def files_with(doc: str, sources: Iterable[str | Path]) -> Iterator[str]:
    """The files that a document stands in, in their order; one as often as it stands there."""
    for source in find_files_below(sources):
        yield from (source for document in read_documents([source]) if document.doc == doc)


def _checked(doc: str, source: str, line: int | None) -> str:
    if problem := wrong_doc(doc):
        raise FormatError(source, line, problem)
    return doc


def _several(source: str) -> Iterator[Document]:
    """The documents of SGML or JSON lines; a file without any is refused, lest it vanish."""
    document = None
    for document in read_corpus([source], wrong=wrong_doc):
        yield document
    if document is None:
        problem = (
            "no <DOC> in it; expected TREC's SGML, JSON lines, or a name that ends in .txt, .md or .html"
        )
        raise FormatError(source, None, problem)


def _holds_many(source: str) -> bool:
    """Whether a file is SGML or JSON lines, by what it begins with."""
    try:
        with Path(source).open("rb") as file:
            first = file.read(BEGINNING)
    except OSError as error:
        raise FormatError(source, None, f"cannot be opened ({error.strerror or error})") from error
    if unpacked_pieces(Content.from_bytes(source, first)) is not None:
        return True
    text = first.decode("utf-8-sig", "replace").lstrip()
    return text.startswith("{") or (text.startswith("<") and has_documents(text))


def _text(source: str) -> str:
    text = Path(source).read_bytes().decode("utf-8-sig", "surrogateescape")
    fields = next((line for line in text.splitlines() if line.strip()), "").split()
    if len(fields) == RUN_FIELDS and fields[1].upper() == "Q0":
        raise FormatError(source, 1, "a line of a run; expected the text of a document; runs go to --runs")
    # What a file is called says that it is HTML, also where it begins with words.
    marked = Path(source).suffix.lower() in _HTML and not is_html(text)
    return f"<html>{text}" if marked else text


def _rows(source: str, delimiter: str) -> Iterator[Document]:
    csv.field_size_limit(sys.maxsize)
    try:
        with Path(source).open(encoding="utf-8-sig", errors="surrogateescape", newline="") as stream:
            yield from _documents(source, _placed_rows(source, stream, delimiter))
    except OSError as error:
        raise FormatError(source, None, f"cannot be opened ({error.strerror or error})") from error


def _placed_rows(source: str, stream: IO[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of a table, each with the line on which it begins."""
    rows = csv.reader(stream, delimiter=delimiter, strict=True)
    line = 1
    try:
        for row in rows:
            yield line, row
            line = rows.line_num + 1
    except csv.Error as error:
        problem = f"no row of a table ({error}); expected one document, with quotes at both ends of a field"
        raise FormatError(source, line, problem) from error


def _documents(source: str, rows: Iterator[tuple[int, list[str]]]) -> Iterator[Document]:
    _, header_row = next(rows, (1, []))
    header = [name.strip().lower() for name in header_row]
    place = next((header.index(name) for name in NAMES if name in header), None)
    if place is None:
        seen = f"the columns {', '.join(header)} hold" if any(header) else "the first line has"
        problem = f"{seen} no doc id; expected a column {', '.join(NAMES)}"
        raise FormatError(source, 1, problem)
    titled = next((header.index(name) for name in TITLES if name in header and name != header[place]), None)
    for number, row in rows:
        if not any(row):
            continue
        if len(row) != len(header):
            wrong = f"{plural(len(row), 'field')} in a row under {plural(len(header), 'column')}"
            raise FormatError(source, number, f"{wrong}; expected one for each")
        title = "" if titled is None else one_line(row[titled])
        rest = [text for column, text in enumerate(row) if column not in (place, titled) and text]
        doc = _checked(row[place].strip(), source, number)
        yield Document(doc, "\n".join([title, *rest] if title else rest), title)
