"""What judging came to, line by line, in memory that does not grow: qrels, strata, prels, the whole log.

Nothing is replayed for them: qrels follow from what was judged, samples from the plan of judging beside it.
Every export is that of one moment: up to a sequence number, whatever is judged meanwhile. Judgments are
those of topics in use at that moment, unless all are asked for: what is exported is what the project's
figures rest on. What has no grade is left out and counted: samples come in random order, so that what nobody
has come to yet is left to chance; what people differ on, or cannot judge, is not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import groupby
from typing import NamedTuple

from sounding.core.text import plural
from sounding.data.tables import byte_order
from sounding.judge.agenda import Agenda, SampledDocument
from sounding.judge.engine import Engine
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.records import IN_USE, SearchEntry, Topic
from sounding.judge.settings import Feed
from sounding.judge.state import Opinions, opinions_of
from sounding.judge.store import Store

_SETTLED_BY = (
    "to be settled under Differences or by judge differences, or by settings --feed first or majority"
)


@dataclass(slots=True)
class Omitted:
    """How many documents an export has no grade of, by why; of `assessors`, how many judgments."""

    nobody: int = 0  # a sample drew them, and nobody has judged them
    unsettled: int = 0  # assessors differ, and no organizer has settled them
    cannot: int = 0  # nobody who looked could judge them, or they are settled so
    certain: int = 0  # among all these: a sample drew them with probability 1

    def add(self, other: Omitted) -> None:
        """Count these as well."""
        self.nobody += other.nobody
        self.unsettled += other.unsettled
        self.cannot += other.cannot
        self.certain += other.certain

    @property
    def total(self) -> int:
        """All of them."""
        return self.nobody + self.unsettled + self.cannot

    @property
    def reasons(self) -> str:
        """Why they have no grade, with how many each."""
        every = {
            "that nobody has judged": self.nobody,
            f"on which assessors differ ({_SETTLED_BY})": self.unsettled,
            "that cannot be judged": self.cannot,
        }
        return ", ".join(f"{count:,} {why}" for why, count in every.items() if count)


def omitted_from_qrels(engine: Engine) -> Omitted:
    """What qrels leave out as things stand, without reading the log for it."""
    counts = engine.counts()
    every = {**counts.topics, **counts.unused}
    used = [one for topic, one in every.items() if engine.in_use(topic)]
    return Omitted(unsettled=sum(one.unsettled for one in used), cannot=sum(one.cannot for one in used))


def omission_note(what: str, omitted: Omitted) -> str:
    """What an export leaves out for want of a grade, and what follows, in words; empty: nothing."""
    if not omitted.total:
        return ""
    if what == "assessors":
        return f"assessors leave out {plural(omitted.total, 'judgment')} of people who could not judge"
    if what == "qrels":
        told = f"qrels leave out {plural(omitted.total, 'document')}: {omitted.reasons}"
        return f"{told}; an evaluation takes them for not judged"
    certain = f", {omitted.certain:,} of them with probability 1" if omitted.certain else ""
    drawn = f"{plural(omitted.total, 'document')} that the samples drew{certain}: {omitted.reasons}"
    if what == "prels":
        return (
            f"prels leave out {drawn}; statAP and EstNumRel take them for not relevant, and are biased as"
            " long as they have no grade"
        )
    by_chance = not omitted.unsettled and not omitted.cannot
    return f"strata have -1 for {drawn}; estimates take them for not drawn, and are " + (
        "unbiased only if chance alone left them out"
        if by_chance
        else "biased: what people differ on or cannot judge is not left out by chance"
    )


SAMPLED = 1  # the method of prels whose documents were drawn with a known chance

Lines = Iterator[str]


class GradedSample(NamedTuple):
    """The sample of a topic, and what those of its documents that were drawn and judged count as."""

    topic: str
    documents: dict[str, SampledDocument]
    grades: dict[str, float | None]  # None: nobody could, or not settled
    unsettled: set[str]  # among these without a grade

    def omitted(self, *, of_strata: bool = False) -> Omitted:
        """How many of the documents that were drawn have no grade; or of those among them with a stratum."""
        found = Omitted()
        for doc, (stratum, chance, drawn) in self.documents.items():
            if drawn and self.grades.get(doc) is None and not (of_strata and stratum is None):
                found.nobody += doc not in self.grades
                found.unsettled += doc in self.unsettled
                found.cannot += doc in self.grades and doc not in self.unsettled
                found.certain += chance == 1
        return found


class Export:
    """What was judged until an event (None: now), of topics in use or of all, as lines of files.

    `omitted` has what has no grade and is not in the lines, once they are all read.
    """

    def __init__(
        self,
        store: Store,
        until: int | None = None,
        *,
        all_topics: bool = False,
        omitted: Omitted | None = None,
    ) -> None:
        self.until = store.last_sequence() if until is None else until
        self.omitted = Omitted() if omitted is None else omitted
        self._store = store
        self._all_topics = all_topics

    def plan(self) -> Agenda:
        """What was to be judged, and in which order."""
        plan = Agenda(self._store.run)
        for event in self._store.plan_events(self.until):
            plan.take(event)
        return plan

    def qrels(self, feed: Feed | None = None) -> Lines:
        """TREC's four columns, by topic and document; without a grade that counts there is none.

        `feed` says which of several grades counts; None: what the settings say.
        """
        feed = feed or self.plan().settings.feed
        for topic, doc, opinions in self._opinions():
            judged, grade = opinions.verdict(feed)
            if grade is not None:
                yield f"{topic} 0 {doc} {_number(grade)}\n"
            elif opinions.unsettled(feed):
                self.omitted.unsettled += 1
            else:
                self.omitted.cannot += judged

    def assessors(self) -> Lines:
        """The grade of every assessor, whose pseudonym is the second of TREC's four columns."""
        for topic, doc, opinions in self._opinions():
            for assessor, grade in opinions.grades.items():
                if grade is not None:
                    yield f"{topic} {assessor} {doc} {_number(grade)}\n"
                else:
                    self.omitted.cannot += 1

    def prels(self) -> Lines:
        """Topic, document, grade, method and the chance of having been drawn, by topic and document.

        Only documents that a sample drew are there, however they came to be judged: for others no chance is
        known.
        """
        for one in self.samples():
            for doc in sorted(one.grades, key=byte_order):
                grade = one.grades[doc]
                if grade is not None:
                    yield f"{one.topic} {doc} {_number(grade)} {SAMPLED} {one.documents[doc].chance!r}\n"
            self.omitted.add(one.omitted())

    def strata(self) -> Lines:
        """Topic, 0, document, stratum and grade; -1: in the pool, and not drawn, not judged or not settled.

        Only topics that have a stratified sample are there.
        """
        for one in self.samples():
            for doc, (stratum, _, _) in one.documents.items():
                if stratum is not None:
                    grade = one.grades.get(doc)
                    yield f"{one.topic} 0 {doc} {stratum} {_number(-1.0 if grade is None else grade)}\n"
            self.omitted.add(one.omitted(of_strata=True))

    def log(self) -> Lines:
        """Every event as a line of JSON."""
        for event in self._store.events(until=self.until):
            yield event.line()

    def searches(self) -> Lines:
        """Every query and every document opened from its results, as lines of JSON."""
        return map(_json_line, self._store.searches())

    def topics(self) -> Lines:
        """Every version of every topic that the log knew of by then, as lines of JSON."""
        events = self._store.topic_events(self.until)
        known = {event.topic: event.detail["version"] for event in events}
        for topic in sorted(filter(None, known), key=byte_order):
            yield from map(_json_line, self._store.topic_versions(topic)[: known[topic]])

    def samples(self) -> Iterator[GradedSample]:
        """The sample of every topic that has one, by topic.

        One whose order gave way to another counts once all that it drew is judged: before that, what is
        judged of it was chosen by something other than chance.
        """
        plan = self.plan()
        if not plan.runs:
            return
        unused, feed = self.unused_topics(), plan.settings.feed
        found = {topic: plan.sample(topic) for topic in plan.all_lists.topics if topic not in unused}
        if not any(found.values()):
            return
        grades: dict[str, dict[str, float | None]] = {topic: {} for topic in found}
        unsettled: dict[str, set[str]] = {topic: set() for topic in found}
        for topic, doc, opinions in self._opinions():
            sample, verdict = found.get(topic), opinions.verdict(feed)
            if sample and verdict.judged and doc in sample.documents and sample.documents[doc].drawn:
                grades[topic][doc] = verdict.grade
                if opinions.unsettled(feed):
                    unsettled[topic].add(doc)
        for topic in sorted(found, key=byte_order):
            sample = found[topic]
            if sample is not None:
                drawn = sum(document.drawn for document in sample.documents.values())
                if sample.in_force or len(grades[topic]) == drawn:
                    yield GradedSample(topic, sample.documents, grades[topic], unsettled[topic])

    def unused_topics(self) -> set[str]:
        """Topics that were candidates or dropped: what was judged for them is no part of the collection.

        Where all topics are asked for, there is none.
        """
        events = [] if self._all_topics else self._store.topic_events(self.until)
        statuses = {event.topic or "": event.detail["status"] for event in events}
        return {topic for topic, status in statuses.items() if status != IN_USE}

    def _opinions(self) -> Iterator[tuple[str, str, Opinions]]:
        """All that is said of each document, by topic and document."""
        unused = self.unused_topics()
        gradings = self._store.gradings(self.until)
        for (topic, doc), events in groupby(gradings, key=lambda event: (event.topic, event.doc)):
            if topic is not None and doc is not None and topic not in unused:
                yield topic, doc, opinions_of(sorted(events, key=lambda event: event.sequence))


_WRITERS: dict[str, Callable[[Export], Lines]] = {
    "qrels": Export.qrels, "assessors": Export.assessors, "strata": Export.strata, "prels": Export.prels,
    "log": Export.log, "searches": Export.searches, "topics": Export.topics,
}  # fmt: skip


def export_lines(
    name: str,
    store: Store,
    until: int | None = None,
    *,
    all_topics: bool = False,
    omitted: Omitted | None = None,
) -> Lines:
    """The lines of an export by its name; see `Export`."""
    return _WRITERS[name](Export(store, until, all_topics=all_topics, omitted=omitted))


EXPORTS = {name: partial(export_lines, name) for name in EXPORT_KINDS}


def left_out(store: Store, until: int | None = None, *, sampled: bool = False) -> list[str]:
    """Topics with judgments that are not exported, since the topics were not in use.

    `sampled`: only those with a sample, for others have no lines in an export of samples anyway.
    """
    export = Export(store, until)
    unused = export.unused_topics()
    found = [topic for topic in store.judged_topics(export.until) if topic in unused] if unused else []
    if not found or not sampled:
        return found
    with_sample = {one.topic for one in Export(store, export.until, all_topics=True).samples()}
    return [topic for topic in found if topic in with_sample]


def without_status(store: Store, until: int) -> list[str]:
    """Topics with judgments that are exported although the log said nothing of their status by then.

    Topics that came with runs may have had their text only later.
    """
    later = {topic.id for topic in store.topics()} - {event.topic for event in store.topic_events(until)}
    return [topic for topic in store.judged_topics(until) if topic in later] if later else []


def omitted_from_samples(store: Store) -> dict[str, Omitted]:
    """What prels and strata have no grade of."""
    found = {"prels": Omitted(), "strata": Omitted()}
    for one in Export(store).samples():
        found["prels"].add(one.omitted())
        found["strata"].add(one.omitted(of_strata=True))
    return found


def why_empty(store: Store, what: str, until: int | None = None, *, all_topics: bool = False) -> str:
    """Why an export of samples, strata or prels, has no line."""
    export = Export(store, until, all_topics=all_topics)
    found = list(export.samples())
    if found and what == "strata":
        return "the samples that there are have no strata; see prels"
    if found:
        missed = Omitted()
        for one in found:
            missed.add(one.omitted())
        drawn = plural(missed.total, "document")
        return f"no prels: the samples drew {drawn}, and none has a grade yet: {missed.reasons}"
    plan = export.plan()
    if not plan.runs:
        return f"no {what}: there are no runs to draw from"
    unused = export.unused_topics()
    sampled = [topic for topic in plan.all_lists.topics if plan.is_sampled(topic)]
    in_use = [topic for topic in sampled if topic not in unused]
    if not sampled:
        return f"no topic is judged by a sample, so there are no {what}; see sounding judge order"
    if not in_use:
        return f"no {what}: no topic with a sample is in use, such as {sampled[0]}; --all-topics has them"
    gone = [topic for topic in in_use if plan.sample(topic) is not None]
    if not gone:
        return f"no {what}: the sample of topic {in_use[0]} cannot be drawn from the runs"
    return (
        f"no {what}: the order of topic {gone[0]} changed before all that its sample drew was judged;"
        " the sample counts once it is"
    )


def _json_line(record: SearchEntry | Topic) -> str:
    return json.dumps(asdict(record), ensure_ascii=False, sort_keys=True) + "\n"


def _number(grade: float) -> str:
    return str(int(grade)) if grade == int(grade) else repr(grade)
