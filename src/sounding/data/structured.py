"""Read JSON and JSON lines.

Numbers in JSON must be numbers: a score in quotes, true or null is refused. Ids are text, or whole numbers
that become text as written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from sounding.core.errors import FormatError
from sounding.core.text import quote, quote_list
from sounding.data.columns import (
    NAMES,
    VALUE,
    Kind,
    Members,
    NumberText,
    Records,
    describe_value,
    fold_name,
    recognize,
    records_of_items,
)  # fmt: skip
from sounding.data.layouts import JsonLayout, LineOf, find_layout, read_layout
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Places

LISTS = ("docs", "results")  # members of a JSON line that hold all documents of a topic
WRAPPERS = ("run", "qrels")  # members of a JSON file that hold the topics, beside a name

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"(\s*:)?')  # in valid JSON: each text, with a colon if it names a member


_DECODER = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=NumberText, parse_float=NumberText, parse_constant=NumberText
)


def read_json(content: Content, kind: Kind, problems: Problems) -> Records | None:
    """Return the records of {topic: {doc: score}}, also inside {name: ...} or {"name": ..., "run": ...}.

    A list holds one object per row or topic, as JSON lines do. The JSON of other tools is recognized too.
    """
    text = decode(content)
    try:
        whole = _DECODER.decode(text)
        objects = whole if type(whole) is list else [whole]
        layout = find_layout(objects[0]) if objects else None
        if layout is not None:
            return read_layout(layout, objects, kind, problems, _line_finder(text, whole))
        if type(whole) is list and whole and isinstance(whole[0], Members):
            line_of = _line_finder(text, whole)
            return _records_of_rows([(line_of(row) or 1, row) for row in whole], kind, problems)
        name, table, place = _unwrapped(whole)
    except (json.JSONDecodeError, RecursionError) as error:
        line = error.lineno if isinstance(error, json.JSONDecodeError) else None
        raise FormatError(content.source, line, _not_json(error)) from error
    example = f'{{"topic 1": {{"doc 1": {"1.5" if kind == "run" else "1"}}}}}'
    if not isinstance(table, Members) or not table:
        problems.note(1, f"{describe_value(whole)} has no topics; expected {example}")
        return None
    lines = _lines_of_names(text)
    columns: dict[str, list[Any]] = {"topic": [], "doc": [], VALUE[kind]: []}
    places: list[int] = []  # positions of the document ids among all member names
    for topic, docs in table:
        if not isinstance(docs, Members):
            problems.note(
                int(lines[place]), f"topic {quote(topic)} is {describe_value(docs)}; expected {example}"
            )
            place += 1 + _names_inside(docs)
            continue
        place += 1
        for _, value in docs:
            places.append(place)
            place += 1 + _names_inside(value)
        columns["topic"] += [topic] * len(docs)
        columns["doc"] += [doc for doc, _ in docs]
        columns[VALUE[kind]] += [value for _, value in docs]
    if name is not None and kind == "run":
        columns["tag"] = [name] * len(places)
    return records_of_items(columns, lines[np.array(places, np.int64)], problems)


def _unwrapped(whole: Any) -> tuple[str | None, Any, int]:
    """Return the run's name if given, its topics, and the number of member names before the first topic."""
    if not isinstance(whole, Members):
        return None, whole, 0
    names = [value for key, value in whole if key == "name" and type(value) is str]
    place = 0
    for key, value in whole:
        place += 1
        if _holds_topics(value) and (len(whole) == 1 or (names and key in WRAPPERS)):
            return (names[0] if names else None if key in WRAPPERS else key), value, place
        place += _names_inside(value)
    return None, whole, 0


def _holds_topics(value: Any) -> bool:
    return isinstance(value, Members) and bool(value) and all(isinstance(item, Members) for _, item in value)


def _names_inside(value: Any) -> int:
    """Return the number of member names inside a value, at all depths."""
    count = 0
    open_lists = [value] if isinstance(value, list) else []
    while open_lists:
        current = open_lists.pop()
        items = current
        if isinstance(current, Members):
            count += len(current)
            items = [item for _, item in current]
        open_lists += [item for item in items if isinstance(item, list)]
    return count


def _lines_of_names(text: str) -> Places:
    """Return the line of each member name of a valid JSON text, in order."""
    places = np.array([found.start() for found in _TEXT.finditer(text) if found.group(1)], np.int64)
    newlines = np.array([found.start() for found in re.finditer("\n", text)], np.int64)
    return np.searchsorted(newlines, places) + 1


def _line_finder(text: str, whole: Any) -> LineOf:
    """Return a function that gives the line of each object in a valid JSON text: that of its first member."""
    places: dict[int, int] = {}
    names = 0
    ahead: list[tuple[bool, Any]] = [(False, whole)]
    while ahead:
        named, value = ahead.pop()
        names += named
        if isinstance(value, Members):
            places[id(value)] = names
            ahead += [(True, item) for _, item in reversed(value)]
        elif isinstance(value, list):
            ahead += [(False, item) for item in reversed(value)]
    lines = _lines_of_names(text)
    return lambda members: int(lines[min(places.get(id(members), 0), len(lines) - 1)]) if len(lines) else None


def _not_json(error: json.JSONDecodeError | RecursionError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"not valid JSON at column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]}"
    return "JSON is nested too deeply; expected documents inside topics"


def read_jsonl(content: Content, kind: Kind, problems: Problems) -> Records | None:
    """Return the records of lines such as {"topic": "1", "doc": "a", "score": 1.5}.

    Members are named like columns. A line may also hold a topic with all of its documents: {"topic": "1",
    "docs": {"a": 1.5}}, or a list of {"doc": ..., "score": ...}. The objects of other tools are recognized.
    """
    objects = decode_lines(content, problems)
    layout = find_layout(objects[0][1]) if objects else None
    if layout is None:
        return _records_of_rows(objects, kind, problems)
    lines = {id(members): line for line, members in objects}
    own = [members for _, members in objects]
    return read_layout(layout, own, kind, problems, lambda members: lines.get(id(members)))


def layout_of(content: Content, form: str) -> JsonLayout | None:
    """Return the layout of another tool in which a file of this format is written, if any."""
    if form not in ("json", "jsonl"):
        return None
    text = decode(content)
    lines = (line for line in text.split("\n") if line.strip() and not line.lstrip().startswith("#"))
    try:
        whole = _DECODER.decode(text if form == "json" else next(lines, "null"))
    except (json.JSONDecodeError, RecursionError):  # reported when the file is read
        return None
    return find_layout(whole[0] if type(whole) is list and whole else whole)


def _records_of_rows(objects: Iterable[tuple[int, Any]], kind: Kind, problems: Problems) -> Records | None:
    """Return the records of objects whose members are named like columns, each with its line."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    reader = _RowReader(kind, problems)
    for line, members in objects:
        if not isinstance(members, Members):
            problems.note(line, f"{describe_value(members)} in a list of objects; expected {{...}}")
            continue
        for row in reader.rows(line, members):
            if rows and row.keys() != rows[0].keys():
                there, here = ", ".join(rows[0]), ", ".join(row)
                problems.note(line, f"this line has {here}; expected {there}, as in line {lines[0]}")
                continue
            rows.append(row)
            lines.append(line)
    if not rows:
        return None
    columns = {role: [row[role] for row in rows] for role in rows[0]}
    return records_of_items(columns, np.array(lines, np.int64), problems)


def decode_lines(content: Content, problems: Problems) -> list[tuple[int, Members]]:
    """Return the line number and members of the object in every line; skip blank lines and # comments."""
    found: list[tuple[int, Members]] = []
    for line, text in enumerate(decode(content).split("\n"), 1):
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        try:
            members = _DECODER.decode(text.strip())
        except (json.JSONDecodeError, RecursionError) as error:
            problems.note(line, _not_json(error))
            continue
        if isinstance(members, Members):
            found.append((line, members))
        else:
            problems.note(line, f"{describe_value(members)} is not an object; expected {{...}} in every line")
    if not found and not problems.found:
        problems.note(1, "the file has no data; expected an object {...} in every line")
    return found


class _RowReader:
    """Build rows from the members of lines, recognized by name."""

    def __init__(self, kind: Kind, problems: Problems) -> None:
        self._kind: Kind = kind
        self._problems = problems
        self._known: dict[tuple[str, ...], dict[str, int]] = {}  # nearly all lines have the same names

    def rows(self, line: int, members: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
        """Return the rows of a line: one, or one for each document of its topic; none if it does not fit."""
        lists = [value for name, value in members if name in LISTS and isinstance(value, list)]
        if not lists:
            return self._row(line, members)
        topics = [(name, value) for name, value in members if fold_name(name) in NAMES["topic"]]
        if len(topics) > 1:  # sentence-transformers puts the text of the query beside its id
            topics = [(name, value) for name, value in topics if fold_name(name) != "query"]
        if len(lists) > 1 or len(topics) != 1:
            names = quote_list([name for name, _ in members])
            expected = f"one topic ({', '.join(NAMES['topic'])}) with one of {', '.join(LISTS)}"
            self._problems.note(line, f"members {names}; expected {expected}")
            return []
        value = VALUE[self._kind]
        if isinstance(lists[0], Members):
            return [{"topic": topics[0][1], "doc": doc, value: number} for doc, number in lists[0]]
        rows = []
        for item in lists[0]:
            if isinstance(item, Members):
                rows += self._row(line, [topics[0], *item])
            else:
                wanted = f"an object with doc and {value}"
                self._problems.note(line, f"{describe_value(item)} in a list of documents; expected {wanted}")
        return rows

    def _row(self, line: int, members: Sequence[tuple[str, Any]]) -> list[dict[str, Any]]:
        names = tuple(name for name, _ in members)
        places = self._known.get(names) or recognize(names, self._kind, line, self._problems)
        if not places:
            return []
        self._known[names] = places
        return [{role: members[place][1] for role, place in places.items()}]


def decode(content: Content) -> str:
    """Return the text of a source; refuse bytes that are not UTF-8, with their line."""
    data = bytes(content.view)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problem = f"byte 0x{data[error.start]:02x} is not UTF-8; save the file as UTF-8"
        raise FormatError(content.source, line, problem) from error
