"""What judging came to, line by line, in memory that does not grow: qrels, strata, prels, the whole log.

Every export is that of one moment: up to a sequence number, whatever is judged meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import groupby
from typing import NamedTuple

from sounding.judging.audit import POLICY as AUDIT
from sounding.judging.events import Selection
from sounding.judging.replay import Replay
from sounding.judging.settings import Feed
from sounding.judging.store import Store
from sounding.judging.verdicts import Opinions, opinions_of

SAMPLED = 1  # the method of prels whose documents were drawn with a known chance

Lines = Iterator[str]


class Judged(NamedTuple):
    """A document that counts as judged, its grade, and how it was chosen."""

    topic: str
    doc: str
    grade: float
    selection: Selection | None


def qrels_lines(store: Store, feed: Feed, until: int | None = None) -> Lines:
    """TREC's four columns, by topic and document; what could not be judged is not there."""
    for judged in _judged(store, feed, until):
        yield f"{judged.topic} 0 {judged.doc} {_number(judged.grade)}\n"


def assessor_lines(store: Store, until: int | None = None) -> Lines:
    """The grade of every assessor, whose pseudonym is the second of TREC's four columns."""
    for topic, doc, opinions in _pairs(store, until):
        for assessor, grade in opinions.grades.items():
            if grade is not None:
                yield f"{topic} {assessor} {doc} {_number(grade)}\n"


def prels_lines(store: Store, feed: Feed, until: int | None = None) -> Lines:
    """Topic, document, grade, method and the chance of having been chosen.

    Only documents of a sample are there: for others no chance is known.
    """
    for judged in _judged(store, feed, until):
        chosen = judged.selection
        # An audit draws from what is judged, and not from the pool: its chance says nothing here.
        if chosen is not None and chosen.probability is not None and chosen.policy != AUDIT:
            chance = chosen.probability
            yield f"{judged.topic} {judged.doc} {_number(judged.grade)} {SAMPLED} {chance!r}\n"


def strata_lines(store: Store, replay: Replay, until: int | None = None) -> Lines:
    """Topic, 0, document, stratum and grade; -1: the document is in the pool and was not drawn or judged.

    Only topics whose order is a stratified sample are there.
    """
    sampled: dict[str, dict[str, float]] = {
        topic: {} for topic in replay.retrieved.topics if replay.design(topic)
    }
    for judged in _judged(store, replay.settings.feed, until):
        if judged.topic in sampled:
            sampled[judged.topic][judged.doc] = judged.grade
    for topic, grades in sampled.items():
        for doc, (stratum, _) in replay.design(topic).items():
            if stratum is not None:
                yield f"{topic} 0 {doc} {stratum} {_number(grades.get(doc, -1.0))}\n"


def log_lines(store: Store, until: int | None = None) -> Lines:
    """Every event as a line of JSON."""
    for event in store.events(until=until):
        yield event.line()


def search_lines(store: Store) -> Lines:
    """Every query and every document opened from its results, as lines of JSON."""
    for search in store.searches():
        yield json.dumps(asdict(search), ensure_ascii=False, sort_keys=True) + "\n"


def topic_lines(store: Store) -> Lines:
    """Every version of every topic, as lines of JSON."""
    for topic in store.topics():
        for version in store.topic_versions(topic.id):
            yield json.dumps(asdict(version), ensure_ascii=False, sort_keys=True) + "\n"


EXPORTS: dict[str, Callable[[Store, Replay, int | None], Lines]] = {
    "qrels": lambda store, replay, until: qrels_lines(store, replay.settings.feed, until),
    "assessors": lambda store, _, until: assessor_lines(store, until),
    "strata": strata_lines,
    "prels": lambda store, replay, until: prels_lines(store, replay.settings.feed, until),
    "log": lambda store, _, until: log_lines(store, until),
    "searches": lambda store, _replay, _until: search_lines(store),
    "topics": lambda store, _replay, _until: topic_lines(store),
}


def _judged(store: Store, feed: Feed, until: int | None) -> Iterator[Judged]:
    for topic, doc, opinions in _pairs(store, until):
        grade = opinions.verdict(feed).grade
        if grade is not None:
            yield Judged(topic, doc, grade, opinions.selection)


def _pairs(store: Store, until: int | None) -> Iterator[tuple[str, str, Opinions]]:
    """All that is said of each document, by topic and document."""
    for (topic, doc), events in groupby(store.gradings(until), key=lambda event: (event.topic, event.doc)):
        if topic is not None and doc is not None:
            yield topic, doc, opinions_of(sorted(events, key=lambda event: event.sequence))


def _number(grade: float) -> str:
    return str(int(grade)) if grade == int(grade) else repr(grade)
