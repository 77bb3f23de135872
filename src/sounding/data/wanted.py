"""Read which documents are to be labeled: qrels, templates of them, or what `pool` writes."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sounding.core.errors import DataError, FormatError
from sounding.core.lazy import polars
from sounding.core.text import quote, quote_list
from sounding.data.columns import NAMES, fold_name, is_header
from sounding.data.delimited import first_fields, first_record, guess_separator, split_grid
from sounding.data.formats import detect, records_of_file
from sounding.data.problems import Problems
from sounding.data.sources import Content, read_content
from sounding.data.tables import Qrels

EXPECTED = "expected lines `topic doc`, qrels, or a table with the columns topic and doc"

Documents = list[tuple[str, str]]  # topic and document id


def read_wanted(source: Any) -> Documents:
    """Return the documents that a source lists as (topic, doc), each once, in the order of their topics.

    The source is a file (`-`: standard input), Qrels, {topic: docs}, or rows (topic, doc). Grades do not
    matter: a document counts whether it was judged or not.
    """
    if isinstance(source, str | Path):
        found = _of_file(read_content(source))
        name = str(source)
    else:
        found, name = _in_memory(source), "documents"
    if not found:
        raise FormatError(name, None, f"no documents; {EXPECTED}")
    topics = {topic: place for place, topic in enumerate(dict.fromkeys(topic for topic, _ in found))}
    return sorted(dict.fromkeys(found), key=lambda row: topics[row[0]])


def _in_memory(source: Any) -> Documents:
    if isinstance(source, Qrels):
        topics = [topic for topic, size in zip(source.topics, source.sizes, strict=True) for _ in range(size)]
        return list(zip(topics, source.docs.texts(), strict=True))
    if isinstance(source, Mapping):
        return [(str(topic), str(doc)) for topic, docs in source.items() for doc in docs]
    if isinstance(source, Iterable):
        rows = list(source)
        for row in rows:
            if not (isinstance(row, Sequence) and not isinstance(row, str) and len(row) >= 2):
                raise DataError(f"documents: {row!r} is no row; expected (topic, doc)")
        return [(str(row[0]), str(row[1])) for row in rows]
    raise DataError(f"documents: an object of type {type(source).__name__}; expected a file or rows")


def _of_file(content: Content) -> Documents:
    form = detect(content, content.source)
    first = first_record(content)
    problems = Problems(content.source)
    if form == "parquet":
        frame = polars.read_parquet(io.BytesIO(bytes(content.view)))
        topic, doc = _places(content.source, frame.columns)
        return [(str(row[topic]), str(row[doc])) for row in frame.iter_rows()]
    if form == "jsonl":
        return _of_json(content)
    if is_header(first_fields(content)):
        grid = split_grid(content, guess_separator(content), problems)
        problems.refuse()
        topic, doc = _places(content.source, grid.texts(0))
        rows = ((int(grid.lines[place]), grid.texts(place)) for place in range(1, len(grid.first)))
        return [_cells(content.source, line, cells, topic, doc) for line, cells in rows]
    if len(first.split()) == 2:
        return [
            _cells(content.source, line, text.split(), 0, 1, exactly=2)
            for line, text in _lines(content)
            if not text.startswith("#")
        ]
    records = records_of_file(content, "qrels", form, problems, more=False)
    problems.refuse()
    return list(zip(records.columns["topic"].texts(), records.columns["doc"].texts(), strict=True))


def _lines(content: Content) -> Iterable[tuple[int, str]]:
    text = bytes(content.view).decode("utf-8", "surrogateescape")
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _of_json(content: Content) -> Documents:
    found = []
    for line, text in _lines(content):
        try:
            row = json.loads(text)
        except json.JSONDecodeError as error:
            raise FormatError(content.source, line, f"not valid JSON ({error.msg}); {EXPECTED}") from error
        if not isinstance(row, dict):
            raise FormatError(content.source, line, f"{quote(text)} is no object; {EXPECTED}")
        names = list(row)
        topic, doc = _places(content.source, names, line)
        found.append((str(row[names[topic]]), str(row[names[doc]])))
    return found


def _cells(
    source: str, line: int, cells: Sequence[str], topic: int, doc: int, exactly: int | None = None
) -> tuple[str, str]:
    if len(cells) <= max(topic, doc) or (exactly is not None and len(cells) != exactly):
        raise FormatError(source, line, f"{quote(' '.join(cells))} names no topic and document; {EXPECTED}")
    return cells[topic], cells[doc]


def _places(source: str, names: Sequence[str], line: int = 1) -> tuple[int, int]:
    """Return the positions of the columns topic and doc."""
    spelled = [fold_name(name) for name in names]
    found = [
        next((place for place, name in enumerate(spelled) if name in NAMES[role]), None)
        for role in ("topic", "doc")
    ]
    topic, doc = found
    if topic is None or doc is None:
        raise FormatError(source, line, f"no column for topic and doc among {quote_list(names)}; {EXPECTED}")
    return topic, doc
