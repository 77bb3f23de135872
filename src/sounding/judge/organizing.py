"""Changes that organizers make to a project: topics, assessors, orders and settings.

The pages, the API and the commands all call these functions, so that each rule exists once. Each function is
one transaction, and repeating it changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import Any, get_args

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.text import first_few, natural_order, plural, shorten
from sounding.judge.engine import Engine
from sounding.judge.language import gettext, ngettext
from sounding.judge.nuggets import nuggets_of
from sounding.judge.progress import Counts, TopicCounts
from sounding.judge.project import Project
from sounding.judge.records import Role, Topic, TopicStatus, User
from sounding.judge.settings import Order, Settings
from sounding.judge.store import Store

INSTRUCTIONS = "instructions"  # the name of the setting


MOST_NAMED = 10  # topics listed in a note
MOST_COMPARED = 3  # topics shown with their titles,
MOST_TITLE = 50  # and characters of these


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOverview:
    """A topic with its assessors, its order and its progress."""

    topic: Topic
    assessors: tuple[User, ...]  # only those who can sign in
    order: Order
    counts: TopicCounts


def topic_states(project: Project) -> list[TopicOverview]:
    """Return all topics that have a text, sorted by id."""
    engine = project.engine
    counts = engine.counts()
    who: dict[str, list[User]] = {}
    for name, assessor in project.store.assigned():
        who.setdefault(name, []).append(assessor)
    return [
        TopicOverview(
            topic=topic, assessors=tuple(who.get(topic.id, ())), order=engine.order(topic.id),
            counts=counts.of(topic.id),
        )
        for topic in sorted(project.store.topics(), key=lambda topic: natural_order(topic.id))
    ]  # fmt: skip


def set_statuses(
    project: Project, topics: Iterable[str], status: TopicStatus, *, by: str | None = None
) -> int:
    """Choose topics, drop them, or make them candidates again; return how many changed."""
    if status not in get_args(TopicStatus):
        raise UnknownNameError("status", status, get_args(TopicStatus))
    changed = 0
    with project.engine.together():
        for name in named_topics(project.store, topics):
            before = project.store.topic(name)
            changed += project.engine.set_status(name, status, by=by) != before
    return changed


def assign(project: Project, topic: str, people: Iterable[str]) -> int:
    """Assign a topic to exactly these assessors, by name or pseudonym; return how many were added or removed.

    Without assessors the topic is closed; its judgments still count. Assignments of people who cannot judge
    at the moment stay.
    """
    store = project.store
    with project.engine.together():
        [topic] = named_topics(store, [topic])
        wanted = {assessor_of(store, name).pseudonym for name in people}
        present = {person.pseudonym for one, person in store.assigned() if one == topic}
        for assessor in sorted(wanted - present):
            store.assign(topic, assessor)
        for assessor in sorted(present - wanted):
            store.unassign(topic, assessor)
    return len(wanted ^ present)


def give_topics(store: Store, person: str, topics: Iterable[str]) -> None:
    """Assign exactly these topics to an assessor, by name or pseudonym."""
    with store.together():
        assessor = assessor_of(store, person).pseudonym
        wanted = named_topics(store, topics)
        for topic, who in store.assignments():
            if who == assessor and topic not in wanted:
                store.unassign(topic, assessor)
        for topic in wanted:
            store.assign(topic, assessor)


def share_out(project: Project, count: int | None = None) -> int:
    """Assign `count` assessors to every chosen topic (None: as many as judge each document).

    People with the fewest chosen topics come first, and nobody loses a topic. Returns the number of new
    assignments.
    """
    store, given = project.store, 0
    with project.engine.together():
        project.engine.catch_up()  # so that the overlap is current
        chosen = {topic.id: None for topic in store.topics() if topic.in_use}
        loads = {person.pseudonym: 0 for person in store.assessors()}
        who: dict[str, set[str]] = {}
        for topic, person in store.assigned():
            if topic in chosen:
                who.setdefault(topic, set()).add(person.pseudonym)
                loads[person.pseudonym] += 1
        for topic, assessor in even_assignments(list(chosen), who, loads, count or project.settings.overlap):
            store.assign(topic, assessor)
            given += 1
    return given


def why_no_more(project: Project, count: int | None = None) -> str:
    """Say why `share_out` made no further assignments."""
    wanted = count or project.settings.overlap
    chosen = [one for one in topic_states(project) if one.topic.in_use]
    people = len(project.store.assessors())
    if not chosen:
        return "no topic is chosen"
    if people < wanted:
        return f"only {plural(people, 'assessor')} can sign in" if people else "no assessor can sign in"
    return f"every chosen topic has {plural(wanted, 'assessor')} or more"


def even_assignments(
    topics: list[str], who: dict[str, set[str]], loads: dict[str, int], count: int
) -> Iterator[tuple[str, str]]:
    """Yield the (topic, assessor) that give every topic `count` assessors and keep the loads even."""
    loads = dict(loads)
    for topic in topics:
        free = [assessor for assessor in loads if assessor not in who.get(topic, ())]
        missing = max(0, count - len(who.get(topic, ())))
        for assessor in sorted(free, key=lambda one: loads[one])[:missing]:
            loads[assessor] += 1
            yield topic, assessor


def set_order(project: Project, topics: Sequence[str] | None, order: Order, *, by: str | None = None) -> int:
    """Set the order of topics (None: all, including future ones); return how many changed.

    A topic that already has the order keeps its current batch.
    """
    engine, store = project.engine, project.store
    with engine.together():
        engine.catch_up()
        every = [*named_topics(store, topics), *(engine.topics() if topics is None else ())]
        others = [name for name in dict.fromkeys(every) if not engine.order(name).is_same(order)]
        if topics is not None:
            for name in others:
                engine.set_order(name, order, by=by)
        elif others or not engine.general_order().is_same(order):
            engine.set_order(None, order, by=by)
    return len(others)


def change_settings(project: Project, *, by: str | None = None, **given: Any) -> Settings:
    """Change settings of a project and return them; a blank text means no change.

    Title, measure, level, overlap, feed and lease (in minutes) can change. The others cannot, because
    recorded choices depend on them.
    """
    engine = project.engine
    with engine.together():
        engine.catch_up()
        present = engine.settings
        known: dict[str, Any] = {
            name: value.strip() if isinstance(value, str) else value for name, value in given.items()
        }
        if "lease" in known:
            known["lease_seconds"] = 60 * known.pop("lease")
        wanted = replace(present, **{name: value for name, value in known.items() if value != ""})
        if wanted != present:
            engine.change_settings(wanted, by=by)
    return wanted


def instructions_of(project: Project) -> str:
    """Return the instructions for assessors."""
    return project.store.setting(INSTRUCTIONS) or ""


def guide_of(project: Project, topic: Topic) -> str:
    """Return a short hash of what assessors read next to a document: title, instructions and topic."""
    nuggets = (f"{one.id} {one.text}" for one in nuggets_of(project.store, topic.id))
    texts = (topic.title, topic.description, topic.narrative, *nuggets)
    read = "\0".join((project.settings.title, instructions_of(project), *texts))
    return blake2s(read.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def set_instructions(project: Project, text: str, *, by: str | None = None) -> None:
    """Change the instructions for assessors."""
    project.store.set_setting(INSTRUCTIONS, text.strip(), by=by)


def named_topics(store: Store, topics: Iterable[str] | None) -> list[str]:
    """Return these topics, each once (None: all); refuse one without a text."""
    known = {topic.id: None for topic in store.topics()}
    wanted = list(known if topics is None else dict.fromkeys(topics))
    for name in wanted:
        if name not in known:
            such = f", such as {next(iter(known))!r}" if known else ""
            raise DataError(f"no topic {name!r}; the project has {plural(len(known), 'topic')}{such}")
    return wanted


def person_of(store: Store, name: str) -> User | None:
    """Return the user with this name or pseudonym, or None. No name can equal a pseudonym."""
    return next((one for one in store.users() if one.pseudonym == name), None) or store.user_by_name(name)


def judge_of(store: Store, name: str) -> str:
    """Return the pseudonym of a user, or of an assessor who has judgments but no account."""
    found, judges = person_of(store, name), store.judgments_given()
    if found is None and name not in judges:
        names = store.names()
        raise UnknownNameError("assessor", name, [names.get(who, who) for who in judges])
    return name if found is None else found.pseudonym


def organizer_of(store: Store, name: str) -> User:
    """Return the organizer with this name or pseudonym; refuse one who may not sign in."""
    return _person_in_role(store, name, "organizer", "")


def assessor_of(store: Store, name: str) -> User:
    """Return the assessor with this name or pseudonym; refuse one who may not sign in."""
    return _person_in_role(store, name, "assessor", " and cannot judge")


def _person_in_role(store: Store, name: str, role: Role, therefore: str) -> User:
    """Return the user with this name or pseudonym; refuse another role or a disabled account."""
    found = person_of(store, name)
    if found is None:
        ready = [one.name for one in store.users() if one.role == role and one.active]
        raise UnknownNameError(role, name, ready)
    if found.role != role or not found.active:
        why = f"an {found.role}" if found.role != role else "not allowed to sign in"
        raise DataError(f"{found.name} is {why}{therefore}; name an {role}")
    return found


def staffing_note(engine: Engine) -> str:
    """Say which topics have too few assessors to be finished; empty if none."""
    wanted, short = engine.settings.overlap, engine.short_of_assessors()
    if not short:
        return ""
    remedy = (
        gettext("Assign more people.")
        if wanted == 1
        else gettext("Assign more people, or lower the assessors per document.")
    )
    alone = sorted((topic for topic, count in short.items() if not count), key=natural_order)
    others = sorted((topic for topic, count in short.items() if count), key=natural_order)
    notes = []
    if alone:
        count, names = len(alone), _some(alone)
        notes.append(
            ngettext(
                "Topic {topics} has no assessor.", "Topics {topics} have no assessor.", count, topics=names
            )
        )
    if others:
        having = [
            gettext("{topic} ({count} of {wanted})", topic=one, count=short[one], wanted=wanted)
            for one in others
        ]
        few = ngettext(
            "Too few assessors to finish topic {topics}.", "Too few assessors to finish topics {topics}.",
            len(others), topics=_some(having),
        )  # fmt: skip
        notes.append(few)
    return " ".join([*notes, remedy])


def _some(names: list[str]) -> str:
    """Return the first names, and how many follow."""
    first, more = ", ".join(names[:MOST_NAMED]), len(names) - MOST_NAMED
    return first if more <= 0 else ngettext("{names} and {n} more", "{names} and {n} more", more, names=first)


def no_runs_note(engine: Engine) -> str:
    """Say which chosen topics nobody can judge, because no run has them; empty if none."""
    found = engine.topics_without_runs()
    if not found:
        return ""
    return ngettext(
        "No run has documents for topic {topics}, so there is nothing to judge. Add a run that has some.",
        "No run has documents for topics {topics}, so there is nothing to judge. Add a run that has some.",
        len(found), topics=_some(found),
    )  # fmt: skip


def left_to_judge(project: Project, counts: Counts) -> tuple[int, int]:
    """Return the documents left to judge of topics with a text, and of topics that have none.

    Nobody can judge the latter until their topic has a text.
    """
    known = {topic.id for topic in project.store.topics()}
    left = [0, 0]
    for name, one in counts.topics.items():
        left[name not in known] += one.left
    return left[0], left[1]


def left_at_first(project: Project) -> int:
    """Return the documents to judge in a project without judgments, of topics with a text.

    Without a sample these are all documents of the runs, and counting them needs little memory.
    """
    engine = project.engine
    if engine.general_order().is_sample or project.settings.of_pairs:
        return left_to_judge(project, engine.counts())[0]
    known = {topic.id for topic in project.store.topics()}
    return sum(size for topic, size in engine.pool_sizes().items() if topic in known)


def topic_differences(project: Project) -> list[str]:
    """Say which topics only the runs have, and which only the topic file; empty if both have the same.

    If both have some, the same number may mean different questions, so the notes show titles.
    """
    in_runs = dict.fromkeys(sorted(project.engine.topics(), key=natural_order))
    topics = {one.id: one for one in sorted(project.store.topics(), key=lambda one: natural_order(one.id))}
    without_text = [name for name in in_runs if name not in topics]
    without_run = (
        [one for name, one in topics.items() if name not in in_runs and one.in_use] if in_runs else []
    )
    notes = []
    if without_text:
        them, more = "it" if len(without_text) == 1 else "them", " more" if topics else ""
        notes.append(
            f"the runs contain {plural(len(without_text), 'topic')}{more} without a text, such as"
            f" {first_few(without_text[:MOST_COMPARED], MOST_COMPARED)}: nobody can judge {them}, but every"
            " run's value includes them"
        )
    if without_run:
        such = first_few([titled(one) for one in without_run[:MOST_COMPARED]], MOST_COMPARED)
        notes.append(f"no run has {plural(len(without_run), 'topic')} of the project, such as {such}")
    if without_text and without_run:
        notes.append(_renumbered(in_runs, list(topics.values())))
    return notes


def titled(topic: Topic) -> str:
    """Return the id of a topic with its title."""
    return f'{topic.id} "{shorten(topic.title, MOST_TITLE)}"' if topic.title else topic.id


def _renumbered(in_runs: dict[str, None], topics: list[Topic]) -> str:
    """Warn that the runs may number the topics differently, with the first topics that would differ."""
    common = [one for one in topics if one.id in in_runs]
    if list(in_runs) == [str(number) for number in range(1, len(topics) + 1)]:
        differ = [(name, one) for name, one in zip(in_runs, topics, strict=True) if name != one.id]
        wrong = sum(one.id in in_runs for _, one in differ)
        meant = "; ".join(
            f"{name} in the runs would be {titled(one)}" for name, one in differ[:MOST_COMPARED]
        )
        return (
            f"the runs number {plural(len(topics), 'topic')} from 1 to {len(topics)}, so they probably count"
            f" the positions of the topics: {meant}. If so, assessors see the wrong question for"
            f" {plural(wrong, 'topic')}: renumber the topic file and create the project again"
        )
    if not common:
        return "the topics and the runs have no id in common: give the file with the topics of these runs"
    such = "; ".join(map(titled, common[:MOST_COMPARED]))
    return (
        f"both have {plural(len(common), 'id')}: check that these mean the same questions, or assessors judge"
        f" the wrong documents: {such}"
    )


def notes_of(engine: Engine) -> list[str]:
    """Return all notes on topics that cannot be finished, for pages and commands."""
    return [note for note in (staffing_note(engine), no_runs_note(engine)) if note]
