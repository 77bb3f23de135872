"""What judging came to, line by line, in memory that does not grow: qrels, strata, prels, the whole log.

Every export is that of one moment: up to a sequence number, whatever is judged meanwhile. Judgments are
those of topics in use at that moment, unless all are asked for: what is exported is what the project's
figures rest on.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from dataclasses import asdict
from itertools import groupby
from typing import NamedTuple, Protocol

from sounding.judging.audit import POLICY as AUDIT
from sounding.judging.events import Selection
from sounding.judging.records import IN_USE
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


class Export(Protocol):
    """A way to write what was judged until an event; of topics in use, or of all."""

    def __call__(
        self, store: Store, replay: Replay, until: int | None, /, *, all_topics: bool = False
    ) -> Lines:
        """The lines."""


def unused_topics(store: Store, until: int | None = None) -> set[str]:
    """Topics that were candidates or dropped after an event (None: now).

    What was judged for them is no part of the collection.
    """
    events = store.topic_events(store.last_sequence() if until is None else until)
    statuses = {event.topic: event.detail["status"] for event in events}
    return {topic for topic, status in statuses.items() if topic is not None and status != IN_USE}


def left_out(store: Store, until: int | None = None) -> list[str]:
    """Topics with judgments that are not exported, since the topics were not in use."""
    moment = store.last_sequence() if until is None else until
    unused = unused_topics(store, moment)
    return [topic for topic in store.judged_topics(moment) if topic in unused] if unused else []


def without_status(store: Store, until: int) -> list[str]:
    """Topics with judgments that are exported although the log said nothing of their status by then.

    Logs of earlier releases begin to say so when they are brought up to date.
    """
    later = {topic.id for topic in store.topics()} - {event.topic for event in store.topic_events(until)}
    return [topic for topic in store.judged_topics(until) if topic in later] if later else []


def qrels_lines(store: Store, feed: Feed, until: int | None = None, *, all_topics: bool = False) -> Lines:
    """TREC's four columns, by topic and document; what could not be judged is not there."""
    for judged in _judged(store, feed, until, all_topics):
        yield f"{judged.topic} 0 {judged.doc} {_number(judged.grade)}\n"


def assessor_lines(store: Store, until: int | None = None, *, all_topics: bool = False) -> Lines:
    """The grade of every assessor, whose pseudonym is the second of TREC's four columns."""
    for topic, doc, opinions in _pairs(store, until, all_topics):
        for assessor, grade in opinions.grades.items():
            if grade is not None:
                yield f"{topic} {assessor} {doc} {_number(grade)}\n"


def prels_lines(store: Store, feed: Feed, until: int | None = None, *, all_topics: bool = False) -> Lines:
    """Topic, document, grade, method and the chance of having been chosen.

    Only documents of a sample are there: for others no chance is known.
    """
    for judged in _judged(store, feed, until, all_topics):
        chosen = judged.selection
        # An audit draws from what is judged, and not from the pool: its chance says nothing here.
        if chosen is not None and chosen.probability is not None and chosen.policy != AUDIT:
            chance = chosen.probability
            yield f"{judged.topic} {judged.doc} {_number(judged.grade)} {SAMPLED} {chance!r}\n"


def strata_lines(
    store: Store, replay: Replay, until: int | None = None, *, all_topics: bool = False
) -> Lines:
    """Topic, 0, document, stratum and grade; -1: the document is in the pool and was not drawn or judged.

    Only topics whose order is a stratified sample are there.
    """
    if not replay.runs:
        return
    unused = () if all_topics else unused_topics(store, until)
    designs = {topic: replay.design(topic) for topic in replay.every.topics if topic not in unused}
    sampled: dict[str, dict[str, float]] = {topic: {} for topic, design in designs.items() if design}
    for judged in _judged(store, replay.settings.feed, until, all_topics):
        if judged.topic in sampled:
            sampled[judged.topic][judged.doc] = judged.grade
    for topic, grades in sampled.items():
        for doc, (stratum, _) in designs[topic].items():
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


def topic_lines(store: Store, until: int | None = None) -> Lines:
    """Every version of every topic that the log knew of by then, as lines of JSON."""
    events = store.topic_events(store.last_sequence() if until is None else until)
    known = {event.topic: event.detail["version"] for event in events}
    for topic in sorted(filter(None, known), key=str.encode):
        for version in store.topic_versions(topic)[: known[topic]]:
            yield json.dumps(asdict(version), ensure_ascii=False, sort_keys=True) + "\n"


def _qrels(store: Store, replay: Replay, until: int | None, /, *, all_topics: bool = False) -> Lines:
    return qrels_lines(store, replay.settings.feed, until, all_topics=all_topics)


def _assessors(store: Store, _: Replay, until: int | None, /, *, all_topics: bool = False) -> Lines:
    return assessor_lines(store, until, all_topics=all_topics)


def _prels(store: Store, replay: Replay, until: int | None, /, *, all_topics: bool = False) -> Lines:
    return prels_lines(store, replay.settings.feed, until, all_topics=all_topics)


OF_JUDGMENTS: dict[str, Export] = {
    "qrels": _qrels,
    "assessors": _assessors,
    "strata": strata_lines,
    "prels": _prels,
}
EXPORTS: dict[str, Export] = {
    **OF_JUDGMENTS,
    "log": lambda store, _, until, **_all: log_lines(store, until),
    "searches": lambda store, _replay, _until, **_all: search_lines(store),
    "topics": lambda store, _replay, until, **_all: topic_lines(store, until),
}


def _judged(store: Store, feed: Feed, until: int | None, all_topics: bool) -> Iterator[Judged]:
    for topic, doc, opinions in _pairs(store, until, all_topics):
        grade = opinions.verdict(feed).grade
        if grade is not None:
            yield Judged(topic, doc, grade, opinions.selection)


def _pairs(store: Store, until: int | None, all_topics: bool) -> Iterator[tuple[str, str, Opinions]]:
    """All that is said of each document, by topic and document."""
    unused: Collection[str | None] = () if all_topics else unused_topics(store, until)
    for (topic, doc), events in groupby(store.gradings(until), key=lambda event: (event.topic, event.doc)):
        if topic is not None and doc is not None and topic not in unused:
            yield topic, doc, opinions_of(sorted(events, key=lambda event: event.sequence))


def _number(grade: float) -> str:
    return str(int(grade)) if grade == int(grade) else repr(grade)
