"""Find topics among many, change the found ones together, and undo such a change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

from sounding.core.text import natural_order
from sounding.judge import organizing
from sounding.judge.agenda import Agenda
from sounding.judge.project import Project
from sounding.judge.records import DROPPED, Event, Topic, User

USED = "used"  # every topic that is not dropped
ANY = "any"  # every topic
NOBODY = "-"  # topics without assessors


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicFilter:
    """Search for topics: words of id and title, a status, an assessor's pseudonym."""

    find: str = ""
    status: str = USED
    who: str = ""

    def accepts(self, topic: Topic, assessors: Collection[str]) -> bool:
        """Return whether a topic is looked for."""
        if self.status not in (ANY, USED, topic.status) or (self.status == USED and topic.status == DROPPED):
            return False
        if self.who and (assessors if self.who == NOBODY else self.who not in assessors):
            return False
        text = f"{topic.id} {topic.title}".casefold()
        return all(word in text for word in self.find.casefold().split())


class FoundTopics(NamedTuple):
    """The topics that were found, in natural order, and how many dropped ones the filter hides."""

    topics: list[Topic]
    assessors: dict[str, list[User]]  # topic -> those who can sign in
    hidden: int


def find_topics(project: Project, wanted: TopicFilter) -> FoundTopics:
    """Return the topics that a filter accepts."""
    who: dict[str, list[User]] = {}
    for name, assessor in project.store.assigned():
        who.setdefault(name, []).append(assessor)
    every = sorted(project.store.topics(), key=lambda topic: natural_order(topic.id))
    found = [one for one in every if wanted.accepts(one, {user.pseudonym for user in who.get(one.id, ())})]
    hidden = sum(one.status == DROPPED for one in every) if wanted.status == USED else 0
    return FoundTopics(found, who, hidden)


@dataclass(slots=True)
class TopicChange:
    """The events of one change, which `undo` takes: those after `after`, up to `until`."""

    after: int = 0
    until: int = 0


@contextmanager
def recorded(project: Project) -> Iterator[TopicChange]:
    """Make changes in one transaction, so that no other events come between, and note their numbers."""
    change = TopicChange()
    with project.engine.together():
        change.after = project.store.last_sequence()
        yield change
        change.until = project.store.last_sequence()


def assign_also(project: Project, topics: Iterable[str], person: str, *, remove: bool = False) -> None:
    """Assign topics to one more assessor, by name or pseudonym, or remove them."""
    store = project.store
    with project.engine.together():
        names = organizing.named_topics(store, topics)
        if remove:
            found = organizing.judge_of(store, person)
            for name in names:
                store.unassign(name, found)
        else:
            found = organizing.assessor_of(store, person).pseudonym
            for name in names:
                store.assign(name, found)


class UndoOutcome(NamedTuple):
    """Number of topics restored, and of topics that stay because they changed again since."""

    topics: int
    kept: int


def undo(project: Project, change: TopicChange, *, by: str | None = None) -> UndoOutcome:
    """Undo what a change did to statuses, assessors and orders of topics.

    A topic that was changed again since stays as it is. The undoing is a change of its own in the log.
    """
    store, engine = project.store, project.engine
    with engine.together():
        engine.catch_up()
        events = list(store.events(change.after, change.until))
        later = _targets(store.events(change.until))
        before = _agenda(project, change.after)
        undone: set[str | None] = set()
        kept: set[str | None] = set()
        for event in reversed(events):
            if (target := _target(event)) is None:
                continue
            if target in later or (event.kind == "order" and ("order", None) in later):
                kept.add(event.topic)
                continue
            undone.add(event.topic)
            _undo_event(project, event, before, by)
    return UndoOutcome(len(undone), len(kept - undone))


def changed_topics(project: Project, change: TopicChange) -> int:
    """Return how many topics a change concerns; one of all orders counts as one."""
    events = project.store.events(change.after, min(change.until, change.after + MOST_EVENTS))
    return len({event.topic for event in events if _target(event) is not None})


MOST_EVENTS = 1_000_000  # of one change

_Target = tuple[str, str | None] | tuple[str, str | None, str | None]


def _target(event: Event) -> _Target | None:
    """Return what an event changes about which topic; None: nothing that can be undone."""
    if event.kind in ("assign", "unassign"):
        return ("assign", event.topic, event.assessor)
    return (event.kind, event.topic) if event.kind in ("topic", "order") else None


def _targets(events: Iterable[Event]) -> set[_Target]:
    return {target for event in events if (target := _target(event)) is not None}


def _refuse_run(name: str) -> NoReturn:
    raise AssertionError(f"no need to read the run {name}")


def _agenda(project: Project, until: int) -> Agenda:
    """Return statuses and orders as they were after an event."""
    agenda = Agenda(_refuse_run)
    for event in project.store.plan_events(until):
        agenda.take(event)
    return agenda


def _undo_event(project: Project, event: Event, before: Agenda, by: str | None) -> None:
    store, topic = project.store, event.topic
    if event.kind == "assign":
        store.unassign(topic or "", event.assessor or "")
    elif event.kind == "unassign":
        store.assign(topic or "", event.assessor or "")
    elif event.kind == "topic" and topic in before.statuses:
        project.engine.set_status(topic, before.statuses[topic], by=by)
    elif event.kind == "order" and topic is None:
        project.engine.set_order(None, before.general_order(), by=by)
        for name in before.own_orders():
            project.engine.set_order(name, before.order(name), by=by)
    elif event.kind == "order":
        project.engine.set_order(topic, before.order(topic or ""), by=by)
