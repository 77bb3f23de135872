"""Subtopics (intents) of topics: a document is judged for all of them on one screen.

A judgment keeps the grade for each subtopic among its marks. Its own grade is the highest of them, so that
order, progress and confidence are those of documents that are relevant to anything.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from sounding.core.errors import FormatError
from sounding.core.text import quote
from sounding.data.sources import Content, read_content
from sounding.data.topics import one_line
from sounding.judge.ids import wrong_topic
from sounding.judge.language import marked
from sounding.judge.records import Event
from sounding.judge.settings import Feed
from sounding.judge.state import counted_grade
from sounding.judge.store import Store

SUBTOPICS = "subtopics"  # the name of the setting that holds them, and of the marks of a judgment
MOST_SUBTOPICS = 50  # of a topic
SHAPE = "topic, subtopic and its text, separated by tabs"

_TOPIC = re.compile(r"<(?:topic|top)\b([^>]*)>(.*?)</(?:topic|top)>", re.DOTALL | re.IGNORECASE)
_SUBTOPIC = re.compile(r"<subtopic\b([^>]*)>(.*?)</subtopic>", re.DOTALL | re.IGNORECASE)
_NUMBER = re.compile(r"""\b(?:number|id)\s*=\s*["']([^"']*)["']""", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")


class Subtopic(NamedTuple):
    """One thing that people may want to know about a topic."""

    id: str
    text: str


Subtopics = dict[str, list[Subtopic]]  # by topic


def read_subtopics(source: str) -> Subtopics:
    """Read subtopics from a table with tabs, or from TREC's topics with `<subtopic number="1">`."""
    content = read_content(source)
    text = bytes(content.buffer[: content.size]).decode("utf-8", "replace")
    rows = _markup(text) if text.lstrip().startswith("<") else _table(content, text)
    found: Subtopics = {}
    for line, topic, name, words in rows:
        own = found.setdefault(topic, [])
        problem = wrong_topic(topic) or wrong_topic(name).replace("topic id", "subtopic id", 1)
        if not words:
            problem = (
                problem or f"subtopic {quote(name)} of topic {quote(topic)} has no text; expected {SHAPE}"
            )
        if name in [one.id for one in own]:
            problem = problem or f"subtopic {quote(name)} of topic {quote(topic)} is there twice"
        if len(own) == MOST_SUBTOPICS:
            problem = problem or f"topic {quote(topic)} has more than {MOST_SUBTOPICS} subtopics"
        if problem:
            raise FormatError(content.source, line, problem)
        own.append(Subtopic(name, words))
    if not found:
        raise FormatError(content.source, None, f"no subtopics; expected {SHAPE}, or <subtopic> elements")
    return found


def _table(content: Content, text: str) -> list[tuple[int, str, str, str]]:
    rows = []
    for line, row in enumerate(text.splitlines(), 1):
        fields = row.split("\t")
        if not row.strip() or fields[:2] == ["topic", "subtopic"]:
            continue
        if len(fields) < 3:
            raise FormatError(content.source, line, f"{quote(row)}; expected {SHAPE}")
        rows.append((line, fields[0].strip(), fields[1].strip(), " ".join(" ".join(fields[2:]).split())))
    return rows


def _markup(text: str) -> list[tuple[int, str, str, str]]:
    rows = []
    for topic in _TOPIC.finditer(text):
        number = _NUMBER.search(topic[1])
        for one in _SUBTOPIC.finditer(topic[2]):
            line = text.count("\n", 0, topic.start(2) + one.start()) + 1
            name = _NUMBER.search(one[1])
            words = one_line(_TAG.sub(" ", one[2]))
            rows.append((line, number[1] if number else "", name[1] if name else "", words))
    return rows


def subtopics_of(store: Store, topic: str) -> list[Subtopic]:
    """Return the subtopics of a topic, in the order of their file; empty if it has none."""
    known = json.loads(store.setting(SUBTOPICS) or "{}")
    return [Subtopic(*one) for one in known.get(topic, ())]


def topics_with_subtopics(store: Store) -> set[str]:
    """Return the topics that have subtopics."""
    return set(json.loads(store.setting(SUBTOPICS) or "{}"))


def set_subtopics(store: Store, subtopics: Subtopics) -> None:
    """Record the subtopics of all topics."""
    store.set_setting(SUBTOPICS, json.dumps(subtopics, ensure_ascii=False))


def grades_by_subtopic(judgments: Iterable[Event], feed: Feed) -> dict[str, float | None]:
    """Return the grade that counts for each subtopic; None if assessors differ and all have to agree."""
    given: dict[str, list[float]] = {}
    for judgment in judgments:
        for name, grade in judgment.marks.get(SUBTOPICS, {}).items():
            given.setdefault(name, []).append(grade)
    return {name: counted_grade(grades, feed) for name, grades in given.items()}


def wrong_grades(subtopics: list[Subtopic], grade: float | None, parts: Mapping[str, float]) -> str:
    """Return what is wrong with the grades of a judgment; empty if nothing."""
    if not parts and (grade is None or not subtopics):
        return ""
    if grade is None:
        return marked("a document that cannot be judged has no grades for subtopics; leave them out")
    if set(parts) != {one.id for one in subtopics}:
        return marked("expected a grade for each subtopic of the topic; reload the page")
    return "" if grade == max(parts.values()) else marked("the grade is the highest of those for subtopics")
