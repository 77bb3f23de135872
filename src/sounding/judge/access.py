"""Which topics an assessor may do what with: those assigned are judged, those begun are developed."""

from __future__ import annotations

from sounding.judge.auth import RefusedError
from sounding.judge.store import Store, Topic, User

GONE = "there is no such topic among yours; an organiser may have dropped it, or given it to others"


def own_topic(store: Store, who: User, topic: str) -> Topic:
    """A topic that an assessor judges or develops now; others are refused as if they were not there."""
    found = find_own(store, who, topic)
    if found is None:
        raise RefusedError(404, GONE)
    return found


def find_own(store: Store, who: User, topic: str) -> Topic | None:
    """A topic that an assessor judges or develops now; None: there is none among theirs.

    Once a topic is chosen or dropped its author has no more say in it than others: it is judged by those to
    whom it is assigned.
    """
    for one in store.topics_of(who.pseudonym):
        if one.id == topic and not one.dropped:
            return one
    developed = _begun(store, who, topic)
    return developed if developed is not None and developed.candidate else None


def earlier_topic(store: Store, who: User, topic: str) -> Topic:
    """A topic that an assessor may have judged or developed before it was dropped or given to others.

    What was judged then and comes in only now is kept: nobody's work is thrown away.
    """
    found = store.topic(topic)
    if found is not None and store.was_assigned(topic, who.pseudonym):
        return found
    developed = _begun(store, who, topic)
    if developed is None or developed.in_use:
        raise RefusedError(404, GONE)
    return developed


def written_topic(store: Store, who: User, topic: str) -> Topic:
    """A topic that an assessor began."""
    found = _begun(store, who, topic)
    if found is None:
        raise RefusedError(404, "there is no such topic among those that you write")
    return found


def _begun(store: Store, who: User, topic: str) -> Topic | None:
    return next((one for one in store.topics_by(who.pseudonym) if one.id == topic), None)
