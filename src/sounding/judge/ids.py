"""Ids that come in from files: looked at once, before anything is recorded, and refused with their place.

What comes in has to go out again, as a word of a line of qrels, and has to fit the databases and requests.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from sounding.core.errors import FormatError
from sounding.core.text import quoted
from sounding.data.fast.tokens import Tokens
from sounding.data.tables import Qrels, Run
from sounding.data.topics import Topics

# Bytes in UTF-8. An index of PostgreSQL takes 2,704 for a topic, a document and an assessor together.
MOST_DOC = 2000  # addresses of the web are that long
MOST_TOPIC = 500
MOST_ASSESSOR = 100

CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")
_BLANK, _LAST_PLAIN = 0x20, 0x7E  # the bytes between them are in order wherever they stand


class _Wrong(NamedTuple):
    row: int
    problem: str


def wrong_doc(doc: str) -> str:
    """What is wrong with a doc id, with the id; empty: nothing."""
    return _told("doc id", doc, _wrong(doc, MOST_DOC))


def wrong_topic(topic: str) -> str:
    """What is wrong with a topic id, with the id; empty: nothing."""
    comment = "begins with #, as comments do; expected another beginning" if topic.startswith("#") else ""
    return _told("topic id", topic, _wrong(topic, MOST_TOPIC) or comment)


def check_table(table: Run | Qrels) -> None:
    """Refuse a run or judgments where the id of a topic or a document is no good, with a line of it."""
    found = [
        _Wrong(int(row), problem)
        for row, topic in zip(table.starts[:-1].tolist(), table.topics, strict=True)
        if (problem := wrong_topic(topic))
    ]
    wrong = _first_wrong(table.docs)
    if wrong is not None:
        found.append(wrong)
    if found:
        row, problem = min(found)
        raise FormatError(table.source, row + 1 if table.lines is None else int(table.lines[row]), problem)


def check_topics(topics: Topics) -> None:
    """Refuse topics of which the id of one is no good, with its line."""
    for number, topic in enumerate(topics.ids):
        if problem := wrong_topic(topic):
            raise FormatError(topics.source, topics.lines[number] if topics.lines else None, problem)


def _wrong(text: str, most: int) -> str:
    """What is wrong with an id, as the end of a sentence; empty: nothing."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        return "is not UTF-8; save the file as UTF-8"
    if not text:
        return "is empty; expected one word"
    if control := CONTROLS.search(text):
        return f"has the control character {control[0]!a} in it; expected one word without any"
    if text.split() != [text]:  # by the blanks of every script, as other programs may split lines of qrels
        return "has blanks in it; expected one word"
    return "" if size <= most else f"has {size:,} bytes; expected at most {most:,}"


def _told(what: str, text: str, problem: str) -> str:
    return f"{what} {quoted(text)} {problem}" if problem else ""


def _first_wrong(docs: Tokens) -> _Wrong | None:
    """The first doc id that is no good; ids of letters, digits and signs are passed by all at once."""
    packed = docs.compact()
    odd = (packed.buffer <= _BLANK) | (packed.buffer > _LAST_PLAIN)
    before = np.concatenate([[0], np.cumsum(odd)])
    inside = before[packed.start + packed.length] - before[packed.start]
    suspects = (inside > 0) | (packed.length > MOST_DOC) | (packed.length == 0)
    for row in suspects.nonzero()[0].tolist():
        if problem := wrong_doc(packed.text(row)):
            return _Wrong(row, problem)
    return None
