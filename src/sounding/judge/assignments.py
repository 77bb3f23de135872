"""Who judges which topics: the one rule behind every count of assessors and of their topics.

A topic stays assigned to whoever becomes an organiser or may not sign in, and is theirs again with the role
or the sign-in. Until then it counts nowhere, since they judge nothing.
"""

from __future__ import annotations

from sounding.judge.store import Store, User


def assessors_of(store: Store) -> list[User]:
    """Those who can judge: assessors who may sign in."""
    return [one for one in store.users() if one.role == "assessor" and one.active]


def assigned(store: Store) -> list[tuple[str, User]]:
    """(topic, assessor) for all topics and those who are to judge them, and can."""
    ready = {one.pseudonym: one for one in assessors_of(store)}
    return [(topic, ready[assessor]) for topic, assessor in store.assignments() if assessor in ready]
