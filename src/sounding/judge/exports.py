"""Export qrels, assessors, strata, prels, the log, searches and topics, line by line in constant memory.

Exports need no replay: qrels follow from the judgments, samples also from the events that plan judging. Every
export shows one moment, up to a sequence number, even if people judge meanwhile. It contains judgments of the
topics in use at that moment, which the project's figures are based on, unless all topics are requested.
Documents without a grade are left out and counted. Samples are judged in random order, so documents that
nobody has judged yet are missing at random; documents that people disagree on or cannot judge are not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from heapq import merge
from itertools import groupby
from typing import Any, NamedTuple

from sounding.core.text import percent, plural
from sounding.data.tables import byte_order
from sounding.judge.agenda import Agenda, SampledDocument
from sounding.judge.engine import Engine
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.machines import label_table, machines_of
from sounding.judge.merge_sort import LEVELS, common_levels, levels, sound_answers
from sounding.judge.records import IN_USE, Pair, SearchEntry, Topic
from sounding.judge.settings import Feed
from sounding.judge.state import JudgingState, Opinions, counted_grade, opinions_of
from sounding.judge.store import Store
from sounding.judge.subtopics import grades_by_subtopic, topics_with_subtopics

_SETTLED_BY = (
    "settle them on the page Differences or with `sounding judge differences`, or choose --feed first or"
    " majority"
)


@dataclass(slots=True)
class Omitted:
    """Counts of documents (for `assessors`: judgments) that an export leaves out, by reason."""

    nobody: int = 0  # sampled, but not judged yet
    unsettled: int = 0  # assessors differ, and no organizer has settled them
    cannot: int = 0  # nobody could judge them, or an organizer settled so
    certain: int = 0  # of all these: sampled with probability 1
    grades: int = 0  # written lines of `assessors`
    labels: int = 0  # of these: labels by machines
    unsorted: int = 0  # people and topics whose preferences give no order yet
    contrary: int = 0  # preferences against others of the same person that were changed later
    whole: int = 0  # `intents`: documents graded only as a whole

    def add(self, other: Omitted) -> None:
        """Add other counts to these."""
        self.nobody += other.nobody
        self.unsettled += other.unsettled
        self.cannot += other.cannot
        self.certain += other.certain
        self.unsorted += other.unsorted
        self.contrary += other.contrary
        self.whole += other.whole

    @property
    def total(self) -> int:
        """Return the number of all documents left out."""
        return self.nobody + self.unsettled + self.cannot + self.whole

    @property
    def reasons(self) -> str:
        """List the reasons with their counts."""
        every = {
            "not judged yet": self.nobody,
            f"with different grades ({_SETTLED_BY})": self.unsettled,
            "impossible to judge": self.cannot,
        }
        return _listed(every)


def _listed(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {why}" for why, count in counts.items() if count)


def omitted_from_qrels(engine: Engine) -> Omitted:
    """Count what the qrels leave out now, without reading the log."""
    counts = engine.counts()
    every = {**counts.topics, **counts.unused}
    used = [one for topic, one in every.items() if engine.in_use(topic)]
    return Omitted(unsettled=sum(one.unsettled for one in used), cannot=sum(one.cannot for one in used))


def omission_note(what: str, omitted: Omitted) -> str:
    """Say what an export leaves out because it has no grade, and what follows; empty if nothing."""
    if omitted.unsorted:
        unsorted = (
            f"{what} leaves out {plural(omitted.unsorted, 'list')} of documents not sorted to the end yet"
        )
        return "; ".join(filter(None, (unsorted, omission_note(what, replace(omitted, unsorted=0)))))
    if what == "prefs":
        verb = "contradicts" if omitted.contrary == 1 else "contradict"
        counts = {
            plural(omitted.contrary, "preference"): f"that {verb} what the same person changed later",
            plural(omitted.cannot, "pair"): "that could not be judged",
        }
        given = [f"{count} {why}" for count, why in counts.items() if not count.startswith("0 ")]
        return f"prefs leaves out {' and '.join(given)}" if given else ""
    if what == "assessors" and omitted.labels:
        share = f"{percent(omitted.labels / omitted.grades)} of the lines ({omitted.labels:,})"
        by_machines = f"{share} are labels by machines, whose names begin with machine-"
        omitted = replace(omitted, labels=0)
        return "; ".join(filter(None, (by_machines, omission_note(what, omitted))))
    if not omitted.total:
        return ""
    if what == "assessors":
        return f"assessors leaves out {plural(omitted.total, 'judgment')} of people who could not judge"
    if what == "intents":
        every = {
            "with subtopics on which assessors differ (choose --feed first or majority)": omitted.unsettled,
            "graded only as a whole, by import or by an organizer": omitted.whole,
            "impossible to judge": omitted.cannot,
        }
        return f"intents leaves out grades of {plural(omitted.total, 'document')}: {_listed(every)}"
    if what == "contexts":
        differing = plural(omitted.total, "context")
        return f"contexts leaves out {differing} with different grades; choose --feed first or majority"
    if what == "qrels":
        count = f"qrels leaves out {plural(omitted.total, 'document')}: {omitted.reasons}"
        return f"{count}. Evaluations treat them as unjudged"
    certain = f", {omitted.certain:,} of them sampled with probability 1" if omitted.certain else ""
    drawn = f"{plural(omitted.total, 'sampled document')}{certain}: {omitted.reasons}"
    if what == "prels":
        return (
            f"prels leaves out {drawn}. statAP and EstNumRel treat them as not relevant, so they are biased"
            " until all have a grade"
        )
    by_chance = not omitted.unsettled and not omitted.cannot
    return f"strata has grade -1 for {drawn}. Estimates treat them as not sampled and are " + (
        "unbiased only if they are missing at random"
        if by_chance
        else "biased, because documents that people differ on or cannot judge are not missing at random"
    )


SAMPLED = 1  # the prels method for documents sampled with a known probability

Lines = Iterator[str]


class GradedSample(NamedTuple):
    """The sample of a topic with the grades of its documents."""

    topic: str
    documents: dict[str, SampledDocument]
    grades: dict[str, float | None]  # None: impossible to judge, or not settled
    unsettled: set[str]  # documents with grade None because assessors differ

    def omitted(self, *, of_strata: bool = False) -> Omitted:
        """Count the sampled documents without a grade; with `of_strata`, only those that have a stratum."""
        found = Omitted()
        for doc, (stratum, chance, drawn) in self.documents.items():
            if drawn and self.grades.get(doc) is None and not (of_strata and stratum is None):
                found.nobody += doc not in self.grades
                found.unsettled += doc in self.unsettled
                found.cannot += doc in self.grades and doc not in self.unsettled
                found.certain += chance == 1
        return found


class Export:
    """The judgments up to an event (None: now), for topics in use or all topics, as lines of files.

    `omitted` counts what the lines leave out, once all of them are read.
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
        """Return the documents to judge and their order."""
        plan = Agenda(self._store.run)
        for event in self._store.plan_events(self.until):
            plan.take(event)
        return plan

    def qrels(self, feed: Feed | None = None) -> Lines:
        """Yield TREC qrels, sorted by topic and document, for documents with a grade that counts.

        `feed` says which of several grades counts; None: as in the settings.
        """
        plan = self.plan()
        if plan.of_pairs:
            for topic, given, lost in self._sorted():
                common = common_levels(given)
                yield from (f"{topic} 0 {doc} {grade}\n" for doc, grade in common.items())
                self.omitted.cannot += len(set().union(*lost) - common.keys())
            return
        feed = feed or plan.settings.feed
        for topic, doc, opinions in self._opinions():
            judged, grade = opinions.verdict(feed)
            if grade is not None:
                yield f"{topic} 0 {doc} {_number(grade)}\n"
            elif opinions.unsettled(feed):
                self.omitted.unsettled += 1
            else:
                self.omitted.cannot += judged

    def assessors(self) -> Lines:
        """Yield the grade of every assessor, with the pseudonym in the second column of TREC qrels."""
        if self.plan().of_pairs:
            for topic, given, lost in self._sorted():
                for who, own in given.items():
                    yield from (f"{topic} {who} {doc} {grade}\n" for doc, grade in sorted(own.items()))
                self.omitted.cannot += sum(map(len, lost))
            return

        def place(one: tuple[str, str, Any]) -> tuple[bytes, bytes]:
            return byte_order(one[0]), byte_order(one[1])

        every: Iterator[tuple[str, str, Opinions | dict[str, float | None]]]
        every = merge(self._opinions(), self._labels(), key=place)
        for topic, doc, found in every:
            is_machine = not isinstance(found, Opinions)
            grades = found.grades if isinstance(found, Opinions) else found
            for assessor, grade in grades.items():
                if grade is not None:
                    self.omitted.labels += is_machine
                    self.omitted.grades += 1
                    yield f"{topic} {assessor} {doc} {_number(grade)}\n"
                else:
                    self.omitted.cannot += 1

    def labels(self) -> Lines:
        """Yield labels by machines as a table, which `read_labels` reads."""
        yield from label_table(self._store, self.until, self.unused_topics())

    def _labels(self) -> Iterator[tuple[str, str, dict[str, float | None]]]:
        """Yield the labels by machines of each document, sorted by topic and document."""
        found: dict[Pair, dict[str, float | None]] = {}
        for machine in sorted(machines_of(self._store)):
            for pair, grade in self._store.labels_by(machine, self.until).items():
                found.setdefault(pair, {})[machine] = grade
        unused = self.unused_topics()
        for topic, doc in sorted(found, key=lambda pair: (byte_order(pair[0]), byte_order(pair[1]))):
            if topic not in unused:
                yield topic, doc, found[topic, doc]

    def contexts(self) -> Lines:
        """Yield topic, document, context and the grade that counts, sorted by topic and document."""
        feed = self.plan().settings.feed
        for topic, doc, opinions in self._opinions():
            grades: dict[str, list[float]] = {}
            ids: dict[str, str] = {}
            for judgment in opinions.judgments:
                for part, one in judgment.marks.get("contexts", {}).items():
                    grades.setdefault(part, []).append(one["grade"])
                    ids[part] = one.get("id", part)
            for part, given in grades.items():
                grade = counted_grade(given, feed)
                if grade is not None:
                    yield f"{topic} {doc} {ids[part]} {_number(grade)}\n"
                else:
                    self.omitted.unsettled += 1

    def intents(self) -> Lines:
        """Yield the grade that counts for each subtopic of a document; topics without any have subtopic 0."""
        settings, with_parts = self.plan().settings, topics_with_subtopics(self._store)
        for topic, doc, opinions in self._opinions() if settings.by_subtopic else ():
            verdict, judgments = opinions.verdict(settings.feed), opinions.judgments
            parts = grades_by_subtopic(judgments, settings.feed)
            if not parts and topic in with_parts:
                self.omitted.whole += verdict.grade is not None
                self.omitted.cannot += verdict.judged and verdict.grade is None
                continue
            for name, grade in parts.items() if parts else [("0", verdict.grade)]:
                if grade is not None:
                    yield f"{topic} {name} {doc} {_number(grade)}\n"
            self.omitted.unsettled += None in parts.values()
            self.omitted.cannot += verdict.judged and all(one.grade is None for one in judgments)

    def spans(self) -> Lines:
        """Yield every span of every current judgment, as lines of JSON."""
        for topic, doc, opinions in self._opinions():
            for judgment in opinions.judgments:
                for span in judgment.marks.get("spans", ()):
                    about = {"topic": topic, "doc": doc, "assessor": judgment.assessor}
                    yield json.dumps({**about, "grade": judgment.grade, **span}, ensure_ascii=False) + "\n"

    def nuggets(self) -> Lines:
        """Yield topic, assessor, document, nugget, importance (- if not stated) and 1 if it was found."""
        for topic, doc, opinions in self._opinions():
            for judgment in opinions.judgments:
                for name, one in judgment.marks.get("nuggets", {}).items():
                    about = f"{topic} {judgment.assessor} {doc} {name}"
                    yield f"{about} {one['importance'] or '-'} {int(one['found'])}\n"

    def prels(self) -> Lines:
        """Yield topic, document, grade, method and sampling probability, sorted by topic and document.

        Only sampled documents are included, however they came to be judged: others have no known probability.
        """
        for one in self.samples():
            for doc in sorted(one.grades, key=byte_order):
                grade = one.grades[doc]
                if grade is not None:
                    yield f"{one.topic} {doc} {_number(grade)} {SAMPLED} {one.documents[doc].chance!r}\n"
            self.omitted.add(one.omitted())

    def strata(self) -> Lines:
        """Yield topic, 0, document, stratum and grade, for topics with a stratified sample.

        Grade -1 marks pooled documents that are not sampled, not judged or not settled.
        """
        for one in self.samples():
            for doc, (stratum, _, _) in one.documents.items():
                if stratum is not None:
                    grade = one.grades.get(doc)
                    yield f"{one.topic} 0 {doc} {stratum} {_number(-1.0 if grade is None else grade)}\n"
            self.omitted.add(one.omitted(of_strata=True))

    def prefs(self) -> Lines:
        """Yield two lines for each preference, in a group of their own: the documents and their levels.

        The levels are 2 and 1, of equally good documents both 1, of bad ones both 0.
        """
        state = self._pairs()
        for topic in self._pair_topics(state):
            for who in state.preferences.assessors(topic):
                answers = state.preferences.answers(who, topic)
                sound = sound_answers(answers, state.sorting(who, topic))
                cannot = list(answers.values()).count(None)
                self.omitted.cannot += cannot
                self.omitted.contrary += len(answers) - cannot - len(sound)
                for number, ((first, second), grade) in enumerate(sorted(sound.items()), 1):
                    for doc, level in zip((first, second), LEVELS[grade], strict=True):
                        yield f"{topic} {who} {number} {doc} {level}\n"

    def _pairs(self) -> JudgingState:
        """Return the state of a project of preferences; without events in any other project."""
        state = JudgingState(self._store.run)
        if self.plan().of_pairs:
            state.follow(self._store.events(until=self.until))
        return state

    def _pair_topics(self, state: JudgingState) -> list[str]:
        return sorted(state.preferences.topics() - self.unused_topics(), key=byte_order)

    def _sorted(self) -> Iterator[tuple[str, dict[str, dict[str, int]], list[set[str]]]]:
        """Yield topics with the levels of their documents by everybody who has sorted them to the end.

        And the documents that each of them could not judge.
        """
        state = self._pairs()
        for topic in self._pair_topics(state):
            given, lost = {}, []
            for who in state.preferences.assessors(topic):
                order = state.sorting(who, topic).order
                if order is None:
                    self.omitted.unsorted += 1
                else:
                    answers = state.preferences.answers(who, topic)
                    given[who] = levels(order, answers)
                    lost.append({doc for pair in answers for doc in pair} - given[who].keys())
            if given:
                yield topic, given, lost

    def log(self) -> Lines:
        """Yield every event as a line of JSON."""
        for event in self._store.events(until=self.until):
            yield event.line()

    def searches(self) -> Lines:
        """Yield every query and every document opened from its results, as lines of JSON."""
        return map(_json_line, self._store.searches())

    def topics(self) -> Lines:
        """Yield every version of every topic up to that moment, as lines of JSON."""
        events = self._store.topic_events(self.until)
        known = {event.topic: event.detail["version"] for event in events}
        for topic in sorted(filter(None, known), key=byte_order):
            yield from map(_json_line, self._store.topic_versions(topic)[: known[topic]])

    def samples(self) -> Iterator[GradedSample]:
        """Yield the sample of every topic that has one, sorted by topic.

        If the topic's order has changed since, the sample counts only once all of it is judged: until then,
        something other than chance decides which of its documents are judged.
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
        """Return candidate and dropped topics, whose judgments are not part of the collection.

        The set is empty if all topics are requested.
        """
        events = [] if self._all_topics else self._store.topic_events(self.until)
        statuses = {event.topic or "": event.detail["status"] for event in events}
        return {topic for topic, status in statuses.items() if status != IN_USE}

    def _opinions(self) -> Iterator[tuple[str, str, Opinions]]:
        """Yield all opinions on each document, sorted by topic and document."""
        unused = self.unused_topics()
        gradings = self._store.gradings(self.until)
        for (topic, doc), events in groupby(gradings, key=lambda event: (event.topic, event.doc)):
            if topic is not None and doc is not None and topic not in unused:
                yield topic, doc, opinions_of(sorted(events, key=lambda event: event.sequence))


_WRITERS: dict[str, Callable[[Export], Lines]] = {
    "qrels": Export.qrels, "assessors": Export.assessors, "strata": Export.strata, "prels": Export.prels,
    "prefs": Export.prefs, "intents": Export.intents,
    "contexts": Export.contexts, "spans": Export.spans, "nuggets": Export.nuggets,
    "labels": Export.labels,
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
    """Return the lines of an export by its name; see `Export`."""
    return _WRITERS[name](Export(store, until, all_topics=all_topics, omitted=omitted))


EXPORTS = {name: partial(export_lines, name) for name in EXPORT_KINDS}


def left_out(store: Store, until: int | None = None, *, sampled: bool = False) -> list[str]:
    """Return judged topics that are not exported because they were not in use.

    `sampled`: only those with a sample, because exports of samples have no lines for others.
    """
    export = Export(store, until)
    unused = export.unused_topics()
    found = [topic for topic in store.judged_topics(export.until) if topic in unused] if unused else []
    if not found or not sampled:
        return found
    with_sample = {one.topic for one in Export(store, export.until, all_topics=True).samples()}
    return [topic for topic in found if topic in with_sample]


def without_status(store: Store, until: int) -> list[str]:
    """Return judged topics that are exported although the log had not recorded their status yet.

    Topics that came with runs may have received their text only later.
    """
    later = {topic.id for topic in store.topics()} - {event.topic for event in store.topic_events(until)}
    return [topic for topic in store.judged_topics(until) if topic in later] if later else []


def omitted_from_samples(store: Store) -> dict[str, Omitted]:
    """Count the sampled documents without a grade in prels and strata."""
    found = {"prels": Omitted(), "strata": Omitted()}
    for one in Export(store).samples():
        found["prels"].add(one.omitted())
        found["strata"].add(one.omitted(of_strata=True))
    return found


def why_empty(store: Store, what: str, until: int | None = None, *, all_topics: bool = False) -> str:
    """Say why an export of samples (strata or prels) is empty."""
    export = Export(store, until, all_topics=all_topics)
    found = list(export.samples())
    if found and what == "strata":
        return "no strata: the samples are not stratified; export prels instead"
    if found:
        missed = Omitted()
        for one in found:
            missed.add(one.omitted())
        drawn = plural(missed.total, "document")
        return f"no prels: none of the {drawn} sampled has a grade yet: {missed.reasons}"
    plan = export.plan()
    if not plan.runs:
        return f"no {what}: there are no runs to sample from"
    unused = export.unused_topics()
    sampled = [topic for topic in plan.all_lists.topics if plan.is_sampled(topic)]
    in_use = [topic for topic in sampled if topic not in unused]
    if not sampled:
        return f"no {what}: no topic is judged by a sample; choose one with: sounding judge order"
    if not in_use:
        return f"no {what}: topics with a sample, such as {sampled[0]}, are not in use; add --all-topics"
    gone = [topic for topic in in_use if plan.sample(topic) is not None]
    if not gone:
        return f"no {what}: the runs do not allow the sample of topic {in_use[0]}"
    return (
        f"no {what}: the order of topic {gone[0]} changed before its sample was fully judged; the sample"
        " counts once it is"
    )


def _json_line(record: SearchEntry | Topic) -> str:
    return json.dumps(asdict(record), ensure_ascii=False, sort_keys=True) + "\n"


def _number(grade: float) -> str:
    return str(int(grade)) if grade == int(grade) else repr(grade)
