"""Two servers on one PostgreSQL: what is done at one is known at the other, and nobody notices that there are two."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.judge.databases import Server
from tests.judge.test_crash_server import at_work, check, people_of, signed_in_headers, wait_for
from tests.judge.test_crowd import serving
from tests.judge.web import TOPICS, make_project

from sounding.judge.project import Project

OVERLAP = 2
States = Iterator[dict[str, Any]]


@pytest.fixture
def project(tmp_path: Path, postgresql: Server) -> Iterator[Project]:
    url = postgresql.fresh()
    with make_project(tmp_path, overlap=OVERLAP, topics=2, database=url) as made:
        yield made
    postgresql.drop(url)


@contextmanager
def watching(address: str, headers: dict[str, str]) -> Iterator[States]:
    """What the live page of an organizer at a server is sent, one state after another."""
    with (
        httpx2.Client(base_url=address, headers=headers, timeout=60) as client,
        client.stream("GET", "/api/live/stream") as answer,
    ):
        assert answer.status_code == 200
        yield (json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: "))


def shown(states: States, judgments: int) -> dict[str, Any]:
    """The first state with so many judgments of assessors."""
    return next(state for state in states if sum(one["judged"] for one in state["assessors"]) >= judgments)


def test_assessors_at_two_servers_share_documents_up_to_the_overlap_and_either_shows_all(
    project: Project,
) -> None:
    folder, store = project.folder, project.store
    people = people_of(project, 8)  # four a topic, where every document is for two
    here, there = people[:4], people[4:]
    olga = signed_in_headers(project, store.add_user("olga", "organizer"))
    with (
        serving(folder) as first,
        serving(folder) as second,
        watching(first, olga) as seen_at_first,
        watching(second, olga) as seen_at_second,
    ):
        assert next(seen_at_first)["judged"] == next(seen_at_second)["judged"] == 0
        with at_work(there, second):
            wait_for(there, 12)
        done = len(store.standing())
        assert shown(seen_at_first, done)["judged"] == len({(one.topic, one.doc) for one in store.standing()})
        with at_work(here, first), at_work(there, second):
            wait_for(here, 10)
            # A third process adds a run while everybody judges.
            project.engine.add_runs(
                {"platypusRun": {topic: {"d58": 2.0, "d59": 1.0} for topic in TOPICS}},
                topics=list(TOPICS)[:2],
            )
            wait_for(here, 10)
            wait_for(there, 10)
        standing, names = store.standing(), {user.pseudonym: user.name for user in store.users()}
        for states in (seen_at_first, seen_at_second):
            state = shown(states, len(standing))
            by_person = {one["name"]: one["judged"] for one in state["assessors"] if one["judged"]}
            assert by_person == Counter(names[one.assessor] for one in standing)
            assert "platypusRun" in [run["name"] for run in state["runs"]]
    assert {person.name for person in people} == {one.assessor for one in standing}
    held = {(one.topic, one.doc, one.assessor) for one in standing}
    held |= {(one.topic, one.doc, one.assessor) for one in store.leases()}
    most = Counter((topic, doc) for topic, doc, _ in held)
    assert max(most.values()) == OVERLAP
    shared = [{one.assessor for one in standing if (one.topic, one.doc) == pair} for pair in most]
    groups = [{person.name for person in some} for some in (here, there)]
    assert any(all(who & group for group in groups) for who in shared)  # one of each server
    check(folder, people)
