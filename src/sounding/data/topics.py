"""Read topics from TREC's SGML, XML, tables or JSON lines."""

from __future__ import annotations

import bisect
import html
import re
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sounding.core.errors import FormatError, expect
from sounding.core.lazy import polars
from sounding.core.text import quote, quote_list
from sounding.data.columns import NAMES, NumberText, describe_value, fold_name
from sounding.data.delimited import COMMA, TAB, first_record, split_grid
from sounding.data.fast.fields import NEWLINE, note_lone_returns
from sounding.data.finding import part_of_collection
from sounding.data.problems import Problems
from sounding.data.sources import Content, extension, read_content
from sounding.data.structured import decode, decode_lines

FIELDS = {
    "id": ("num", "number", "id", "_id", *NAMES["topic"]),
    "title": ("title", "text", "query", "query_text"),
    "description": ("desc", "description", "question"),
    "narrative": ("narr", "narrative"),
}  # names of the fields in files; `query` is the text unless another field is, and then the id

_TOPIC = re.compile(r"<(top|topic)(\s[^<>]*)?>", re.IGNORECASE)
_END = re.compile(r"</(top|topic)\s*>", re.IGNORECASE)
_TAG = re.compile(r"<(/?)([A-Za-z][\w.:-]*)(?:\s[^<>]*)?>")
_ATTRIBUTE = re.compile(r"""([\w.:-]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
_INLINE = frozenset({"b", "br", "em", "i", "p", "strong", "sub", "sup", "u"})
_LABEL = re.compile(r"^\s*(number|topic|description|narrative)\s*:", re.IGNORECASE)
_LANGUAGE = re.compile(r"^[a-z]{2}-")  # CLEF writes <EN-title>
_ENTITY = re.compile(r"&(?:amp|lt|gt|quot|apos|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


@dataclass(frozen=True, slots=True, kw_only=True)
class Topics:
    """The topics of a file, in order; missing texts are empty."""

    source: str
    ids: tuple[str, ...]
    titles: tuple[str, ...]
    descriptions: tuple[str, ...]
    narratives: tuple[str, ...]
    lines: tuple[int, ...] = ()  # the line where each topic begins; empty if they come from no file

    @property
    def frame(self) -> polars.DataFrame:
        """The topics as a data frame with columns topic, title, description and narrative."""
        return polars.DataFrame(
            {
                "topic": self.ids,
                "title": self.titles,
                "description": self.descriptions,
                "narrative": self.narratives,
            },
            schema=dict.fromkeys(("topic", "title", "description", "narrative"), polars.String),
        )


class _Topic(NamedTuple):
    line: int
    id: str
    title: str = ""
    description: str = ""
    narrative: str = ""


def read_topics(source: str | Path) -> Topics:
    """Read the topics of a file (`-`: standard input); the format is detected from its content."""
    expect(source, (str, Path), "topics", "a file's name")
    content = read_content(part_of_collection(source, "queries"))
    problems = Problems(content.source)
    topics = parse_topics(content, problems)
    problems.refuse()
    return topics


def parse_topics(content: Content, problems: Problems) -> Topics:
    """Parse topics from bytes; problems are reported, and raised only if nothing can be read."""
    first = decode(content).lstrip()[:1]
    if first == "<":
        topics = _read_markup(content, problems)
    elif first == "{":
        topics = _read_lines_of_json(content, problems)
    else:
        topics = _read_table(content, problems)
    _note_mistakes(topics, problems)
    if not topics and not problems.found:
        problems.note(
            1, "no topics; expected <top> elements, an id and a text separated by a tab, or JSON lines"
        )
    return Topics(
        source=content.source,
        ids=tuple(topic.id for topic in topics),
        titles=tuple(topic.title for topic in topics),
        descriptions=tuple(topic.description for topic in topics),
        narratives=tuple(topic.narrative for topic in topics),
        lines=tuple(topic.line for topic in topics),
    )


class _Mistakes:
    """Problems grouped by kind, so that each kind becomes one problem with all of its lines."""

    def __init__(self) -> None:
        self.kinds: dict[str, tuple[str, array[int]]] = {}  # kind -> text of the first one, and all lines

    def note(self, kind: str, line: int, text: str) -> None:
        """Record a mistake on a line; lines must come in order."""
        self.kinds.setdefault(kind, (text, array("q")))[1].append(line)

    def report(self, problems: Problems) -> None:
        """Add all recorded mistakes to the problems of the file."""
        for text, lines in self.kinds.values():
            problems.add(np.array(lines), lambda _, text=text: text)  # type: ignore[misc]


def _note_mistakes(topics: list[_Topic], problems: Problems) -> None:
    lines: dict[str, int] = {}
    mistakes = _Mistakes()
    for topic in topics:
        if not topic.id:
            mistakes.note("no id", topic.line, "the topic has no id; expected one, as in <num> Number: 301")
        elif topic.id in lines:
            earlier = lines[topic.id]
            mistakes.note(
                "repeated",
                topic.line,
                f"topic {quote(topic.id)} is already in line {earlier}; expected it once",
            )
        elif len(topic.id.split()) > 1:
            mistakes.note(
                "blanks", topic.line, f"topic id {quote(topic.id)} contains blanks; expected one word"
            )
        elif not any(topic[2:]):
            mistakes.note(
                "no text",
                topic.line,
                f"topic {quote(topic.id)} has no text; expected a title or a description",
            )
        lines.setdefault(topic.id, topic.line)
    mistakes.report(problems)


def _read_markup(content: Content, problems: Problems) -> list[_Topic]:
    """Parse the topics of SGML, where TREC closes only <top>, and of XML, which closes all elements."""
    text = _without_comments(decode(content))
    newlines = [found.start() for found in re.finditer("\n", text)]
    starts = list(_TOPIC.finditer(text))
    if not starts:
        raise FormatError(content.source, 1, "no <top> or <topic> element; expected one for each topic")
    topics = []
    for number, start in enumerate(starts):
        limit = starts[number + 1].start() if number + 1 < len(starts) else len(text)
        end = _END.search(text, start.end(), limit)
        line = bisect.bisect_left(newlines, start.start()) + 1
        if end is None and number + 1 == len(starts):
            problems.note(line, f"the element <{start.group(1)}> is not closed; expected </{start.group(1)}>")
        fields = _fields(text[start.end() : end.start() if end else limit])
        attributes = {
            fold_name(name): double or single
            for name, double, single in _ATTRIBUTE.findall(start.group(2) or "")
        }
        known = [attributes[name] for name in FIELDS["id"] if name in attributes]
        topics.append(_Topic(line, _plain(known[0]) if known else fields.pop("id", ""), **_texts(fields)))
    return topics


def _without_comments(text: str) -> str:
    """Remove comments and turn CDATA into plain text; line numbers stay the same."""
    text = re.sub(r"<!--.*?-->", lambda found: "\n" * found.group().count("\n"), text, flags=re.DOTALL)
    return re.sub(
        r"<!\[CDATA\[(.*?)\]\]>",
        lambda found: html.escape(found.group(1), quote=False),
        text,
        flags=re.DOTALL,
    )


def _fields(block: str) -> dict[str, str]:
    """Return the texts of one topic; a field ends where another begins, and the first of a name counts."""
    tags = [tag for tag in _TAG.finditer(block) if tag.group(2).lower() not in _INLINE]
    fields: dict[str, str] = {}
    for number, tag in enumerate(tags):
        name = _LANGUAGE.sub("", tag.group(2).lower())
        # In markup, <query> and <topic> hold the text, never the id.
        fit = [field for field in ("title", "description", "narrative", "id") if name in FIELDS[field]]
        if tag.group(1) or not fit:
            continue
        end = tags[number + 1].start() if number + 1 < len(tags) else len(block)
        text = _plain(_TAG.sub(" ", block[tag.end() : end]))
        if text:
            fields.setdefault(fit[0], text)
    return fields


def _texts(fields: dict[str, str]) -> dict[str, str]:
    return {name: fields[name] for name in ("title", "description", "narrative") if name in fields}


def _plain(text: str) -> str:
    """Return text on one line, without entities and without the label that TREC puts before it."""
    return one_line(_LABEL.sub("", " ".join(text.split())))


def one_line(text: str) -> str:
    """Return text on one line, without entities."""
    return _ENTITY.sub(lambda found: html.unescape(found.group()), " ".join(text.split())).strip()


def _read_lines_of_json(content: Content, problems: Problems) -> list[_Topic]:
    topics = []
    mistakes = _Mistakes()
    for line, members in decode_lines(content, problems):
        places = _places([name for name, _ in members])
        if places is None:
            names = quote_list([name for name, _ in members])
            mistakes.note("members", line, f"members {names}; expected an id and a text, as in {_EXAMPLE}")
            continue
        found: dict[str, str] = {}
        for field, place in places.items():
            value: Any = members[place][1]
            number = isinstance(value, NumberText)
            if not isinstance(value, str) or (number and field != "id"):
                mistakes.note(field, line, f"the {field} is {describe_value(value)}; expected a text")
            found[field] = " ".join(str(value).split())
        topics.append(_Topic(line, found.pop("id"), **found))
    mistakes.report(problems)
    return topics


_EXAMPLE = '{"topic": "301", "title": "organized crime"}'


def _read_table(content: Content, problems: Problems) -> list[_Topic]:
    """Parse a table of topics: with a header, or with an id and a text in each line."""
    rows = _rows(content, problems)
    places = _places(rows[0][1]) if rows else None
    if places is None:
        # Everything after the id is text, including further tabs.
        rows = [(line, [*row[:1], *filter(None, [" ".join(row[1:])])]) for line, row in rows]
        places = {"id": 0, "title": 1}
    else:
        rows = rows[1:]
    width = max(places.values()) + 1
    topics = []
    mistakes = _Mistakes()
    for line, row in rows:
        if len(row) < width:
            mistakes.note(
                "fields",
                line,
                f"{quote(' '.join(row))}; expected {width} fields: an id and a text separated by a tab",
            )
            continue
        found = {field: " ".join(row[place].split()) for field, place in places.items()}
        topics.append(_Topic(line, found.pop("id"), **found))
    mistakes.report(problems)
    return topics


def _rows(content: Content, problems: Problems) -> list[tuple[int, list[str]]]:
    """Return the fields of every line. Quotes have a meaning only in CSV, not between tabs."""
    if extension(content.source) == ".csv":
        grid = split_grid(content, COMMA, problems)
        return [(int(line), grid.texts(record)) for record, line in enumerate(grid.lines)]
    text_bytes = content.buffer[: content.size]
    note_lone_returns(text_bytes, (text_bytes == NEWLINE).nonzero()[0], problems)
    return [
        (line, text.rstrip("\r").split(TAB))
        for line, text in enumerate(decode(content).split("\n"), 1)
        if text.strip() and not text.startswith("#")
    ]


def _places(names: list[str]) -> dict[str, int] | None:
    """Return the positions of the id and the texts among the names; None if there is no id or no text."""
    spelled = [fold_name(name) for name in names]
    places: dict[str, int] = {}
    # Texts first: `query` is a text unless another name is, and then it is the id.
    for field in ("title", "description", "narrative"):
        known = [name for name in FIELDS[field] if name in spelled]
        if known:
            places[field] = spelled.index(known[0])
    known = [name for name in FIELDS["id"] if name in spelled and spelled.index(name) not in places.values()]
    if not known or not places:
        return None
    return {"id": spelled.index(known[0]), **places}


def looks_like_topics(content: Content) -> bool:
    """Return whether a file looks more like topics than like a run or judgments."""
    line = first_record(content).strip()
    if line.startswith("{"):
        ignored = Problems(content.source)
        head = Content.from_bytes(content.source, line.encode("utf-8", "replace"))
        return any(_places([name for name, _ in members]) for _, members in decode_lines(head, ignored))
    return line.startswith("<") or line.count(TAB) == 1 or is_topics_header(line.split(TAB))


def is_topics_header(names: list[str]) -> bool:
    """Return whether a first line names a topic id and a text."""
    return _places(names) is not None
