"""What organizers do to a project: which topics are judged, by whom, in which order, and its settings.

The pages, the programming interface and the commands all come here, so that each rule stands once. What a
function does is one transaction, and doing it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2s
from typing import Any, get_args

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.text import first_few, natural_order, plural
from sounding.judge.engine import Engine
from sounding.judge.progress import TopicCounts
from sounding.judge.project import Project
from sounding.judge.records import Role, Topic, TopicStatus, User
from sounding.judge.settings import Order, Settings
from sounding.judge.store import Store

INSTRUCTIONS = "instructions"  # the name of the setting


MOST_NAMED = 10  # topics


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicOverview:
    """A topic, who judges it in which order, and how far it is."""

    topic: Topic
    assessors: tuple[User, ...]  # those who can sign in; others judge nothing
    order: Order
    counts: TopicCounts


def topic_states(project: Project) -> list[TopicOverview]:
    """All topics that have a text, by id."""
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
    """Choose topics, drop them, or make them candidates again; returns how many had another status."""
    if status not in get_args(TopicStatus):
        raise UnknownNameError("status", status, get_args(TopicStatus))
    changed = 0
    with project.engine.together():
        for name in named_topics(project.store, topics):
            before = project.store.topic(name)
            changed += project.engine.set_status(name, status, by=by) != before
    return changed


def assign(project: Project, topic: str, people: Iterable[str]) -> int:
    """Give a topic to exactly these assessors, by name or pseudonym; returns how many came or went.

    Nobody: it is closed, and what is judged of it counts on. Those who cannot judge now keep what they had.
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
    """Give an assessor, by name or pseudonym, exactly these topics."""
    with store.together():
        assessor = assessor_of(store, person).pseudonym
        wanted = named_topics(store, topics)
        for topic, who in store.assignments():
            if who == assessor and topic not in wanted:
                store.unassign(topic, assessor)
        for topic in wanted:
            store.assign(topic, assessor)


def share_out(project: Project, count: int | None = None) -> int:
    """Give every chosen topic to so many assessors (None: as many as judge each document).

    Those with the fewest chosen topics come first, and nobody loses one; returns how many were given out.
    """
    store, given = project.store, 0
    with project.engine.together():
        project.engine.catch_up()  # for the overlap
        chosen = [topic.id for topic in store.topics() if topic.in_use]
        loads = {person.pseudonym: 0 for person in store.assessors()}
        who: dict[str, set[str]] = {}
        for topic, person in store.assigned():
            if topic in chosen:
                who.setdefault(topic, set()).add(person.pseudonym)
                loads[person.pseudonym] += 1
        for topic, assessor in even_assignments(chosen, who, loads, count or project.settings.overlap):
            store.assign(topic, assessor)
            given += 1
    return given


def why_no_more(project: Project, count: int | None = None) -> str:
    """Why `share_out` with this count gave out no more than it did."""
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
    """(topic, assessor) that bring every topic to so many assessors and keep their loads even."""
    loads = dict(loads)
    for topic in topics:
        free = [assessor for assessor in loads if assessor not in who.get(topic, ())]
        missing = max(0, count - len(who.get(topic, ())))
        for assessor in sorted(free, key=lambda one: loads[one])[:missing]:
            loads[assessor] += 1
            yield topic, assessor


def set_order(project: Project, topics: Sequence[str] | None, order: Order, *, by: str | None = None) -> int:
    """Have topics (None: all, also those to come) judged in an order; returns how many had another one.

    One that has it already keeps the batch that is being judged.
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
    """The settings of a project with these changed, a blank text being no change; judgments stay.

    What may be given are title, measure, level, overlap, feed and lease, in minutes; choices on record rest
    on the others.
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
    """What assessors read beside every topic."""
    return project.store.setting(INSTRUCTIONS) or ""


def guide_of(project: Project, topic: Topic) -> str:
    """A few letters that change with what assessors read beside a document: title, instructions, topic."""
    texts = (topic.title, topic.description, topic.narrative)
    read = "\0".join((project.settings.title, instructions_of(project), *texts))
    return blake2s(read.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def set_instructions(project: Project, text: str, *, by: str | None = None) -> None:
    """Change what assessors read beside every topic."""
    project.store.set_setting(INSTRUCTIONS, text.strip(), by=by)


def named_topics(store: Store, topics: Iterable[str] | None) -> list[str]:
    """These topics, each once (None: all); one that has no text is refused."""
    known = [topic.id for topic in store.topics()]
    wanted = known if topics is None else list(dict.fromkeys(topics))
    for name in wanted:
        if name not in known:
            such = f", such as {known[0]!r}" if known else ""
            raise DataError(f"there is no topic {name!r}; there are {len(known):,}{such}")
    return wanted


def person_of(store: Store, name: str) -> User | None:
    """The user of a name or a pseudonym, which nobody else's name can be; None: there is none."""
    return next((one for one in store.users() if one.pseudonym == name), None) or store.user_by_name(name)


def judge_of(store: Store, name: str) -> str:
    """The pseudonym of somebody with an account, or of whose judgments there are without one."""
    found, judges = person_of(store, name), store.judgments_given()
    if found is None and name not in judges:
        names = store.names()
        raise UnknownNameError("assessor", name, [names.get(who, who) for who in judges])
    return name if found is None else found.pseudonym


def organizer_of(store: Store, name: str) -> User:
    """The organizer of a name or a pseudonym, who may sign in."""
    return _person_in_role(store, name, "organizer", "")


def assessor_of(store: Store, name: str) -> User:
    """The assessor of a name or a pseudonym, who may sign in."""
    return _person_in_role(store, name, "assessor", ", and judges nothing")


def _person_in_role(store: Store, name: str, role: Role, therefore: str) -> User:
    """The user of a name or a pseudonym; one with another role, or who may not sign in, is refused."""
    found = person_of(store, name)
    if found is None:
        ready = [one.name for one in store.users() if one.role == role and one.active]
        raise UnknownNameError(role, name, ready)
    if found.role != role or not found.active:
        why = f"an {found.role}" if found.role != role else "not allowed to sign in"
        raise DataError(f"{found.name} is {why}{therefore}; give an {role}")
    return found


def staffing_note(engine: Engine) -> str:
    """Which topics have too few assessors ever to be finished, as a sentence; empty: none has."""
    wanted, short = engine.settings.overlap, engine.short_of_assessors()
    if not short:
        return ""
    people = {topic: f"{count} of {wanted}" if count else "nobody" for topic, count in short.items()}
    topics = [f"{topic} ({who})" for topic, who in people.items()]
    whose = "topic" if len(topics) == 1 else "topics"
    mend = "assign more people" if wanted == 1 else "assign more people, or have fewer judge each document"
    return f"Too few assessors to finish {whose} {first_few(topics, MOST_NAMED)}: {mend}."


def no_runs_note(engine: Engine) -> str:
    """Which chosen topics nobody can judge, since no run has them, as a sentence; empty: none."""
    found = engine.topics_without_runs()
    if not found:
        return ""
    whose = "topic" if len(found) == 1 else "topics"
    topics = first_few(found, MOST_NAMED)
    return f"No run has {whose} {topics}: there is nothing to judge until one is added that does."


def notes_of(engine: Engine) -> list[str]:
    """All that stands in the way, a sentence each: pages and commands say the same."""
    return [note for note in (staffing_note(engine), no_runs_note(engine)) if note]
