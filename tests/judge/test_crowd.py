"""A hundred assessors at once over HTTP: nobody gets what enough others have, and nothing that was answered is lost."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import ssl
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from tests.judge.databases import Server
from tests.judge.web import PASSWORD, add_person, awaited

from sounding.judge.exports import EXPORTS
from sounding.judge.project import Project, create_project
from sounding.judge.settings import Settings, parse_scale
from sounding.judge.verify import verify
from sounding.judge.web import TOKEN

ASSESSORS = 100
SHARED = tuple(f"shared-{number}" for number in range(6))
OWN = tuple(f"own-{number}" for number in range(10))  # one assessor each
OVERLAP = 2
GRADES = 2  # that each gives
DOCUMENTS = 60

Pair = tuple[str, str]  # topic, doc


@dataclass
class Person:
    """An assessor with a browser, what is at hand there, and what was answered."""

    name: str
    pseudonym: str
    topic: str
    client: httpx2.AsyncClient
    rng: random.Random
    at_hand: dict[str, int] = field(default_factory=dict)  # doc -> the moment at which it came
    judged: dict[str, float] = field(default_factory=dict)  # doc -> grade


@dataclass
class Crowd:
    """Everybody, and who had which document from when to when; moments are counted, not timed."""

    people: list[Person]
    addresses: list[str]  # of servers, any of which answers anything
    codes: Counter[int] = field(default_factory=Counter)
    moments: Iterator[int] = field(default_factory=count)
    held: list[tuple[Pair, str, int, int]] = field(default_factory=list)  # pair, who, from, until

    async def work(self, person: Person) -> None:
        """Sign in, judge some documents, put one off, then leave, or only look away."""
        await self.sign_in(person)
        self.take(person, await self.ask(person, "GET", "/api/next", params={"topic": person.topic}))
        put_off = person.rng.randrange(3 * GRADES)  # a third of them do
        while len(person.judged) < GRADES:
            doc = next(iter(person.at_hand))
            content = {"topic": person.topic, "doc": doc, "key": f"key-{uuid4().hex}"}
            if len(person.judged) == put_off:
                put_off = -1
                self.let_go(person, [doc])
                answer = await self.ask(person, "POST", "/api/skip", json=content)
            else:
                grade = float(person.rng.randint(0, 1))
                answer = await self.ask(person, "POST", "/api/judge", json={**content, "grade": grade})
                person.judged[doc] = grade
                self.held.append(
                    ((person.topic, doc), person.pseudonym, person.at_hand.pop(doc), sys.maxsize)
                )
            self.take(person, answer)
        if person.rng.random() < 0.5:
            self.let_go(person, list(person.at_hand))
            await self.ask(person, "POST", "/api/sign-out")

    async def sign_in(self, person: Person) -> None:
        for credentials in ({"name": person.name, "password": PASSWORD}, None):
            told = await self.ask(person, "GET", "/api/token")
            person.client.headers[TOKEN] = told.json()["token"]
            if credentials is not None:
                await self.ask(person, "POST", "/api/sign-in", json=credentials)

    async def ask(self, person: Person, method: str, path: str, **content: Any) -> httpx2.Response:
        answer = await person.client.request(method, person.rng.choice(self.addresses) + path, **content)
        self.codes[answer.status_code] += 1
        assert answer.status_code in (200, 204), (person.name, path, answer.text)
        return answer

    def take(self, person: Person, answer: httpx2.Response) -> None:
        """Note what is at hand by an answer: what is new there has come by now."""
        moment = next(self.moments)
        docs = [one["doc"] for one in answer.json()["documents"]]
        person.at_hand = {doc: person.at_hand.get(doc, moment) for doc in docs}

    def let_go(self, person: Person, docs: list[str]) -> None:
        """Note what is about to be given back: from now on it may be somebody else's."""
        moment = next(self.moments)
        for doc in docs:
            self.held.append(((person.topic, doc), person.pseudonym, person.at_hand.pop(doc), moment))

    def holders(self) -> dict[Pair, int]:
        """(topic, doc) -> the most people who had it, or had judged it, at one moment."""
        end = next(self.moments)
        spans = self.held + [
            ((person.topic, doc), person.pseudonym, since, end)
            for person in self.people
            for doc, since in person.at_hand.items()
        ]
        most: dict[Pair, int] = {}
        for pair, _, moment, _ in spans:
            there = {who for one, who, begun, over in spans if one == pair and begun <= moment < over}
            most[pair] = max(most.get(pair, 0), len(there))
        return most


@pytest.fixture(params=["sqlite", "postgresql"])
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """A project with topics that many share and topics of one assessor each."""
    server: Server | None = None
    if request.param == "postgresql":
        server = request.getfixturevalue("postgresql")
    url = None if server is None else server.fresh()
    with make(tmp_path, url) as made:
        yield made
    if server is not None and url is not None:
        server.drop(url)


def make(folder: Path, database: str | None) -> Project:
    rng = random.Random(3)
    docs = [f"d{number}" for number in range(DOCUMENTS)]
    corpus = "".join(json.dumps({"id": doc, "text": f"document {doc}"}) + "\n" for doc in docs)
    (folder / "corpus.jsonl").write_text(corpus)
    topics = SHARED + OWN
    (folder / "topics.tsv").write_text("".join(f"{topic}\twhat of {topic}\n" for topic in topics))
    for run in ("first", "second", "third"):
        lines = [
            f"{topic} Q0 {doc} {rank} {DOCUMENTS - rank} {run}\n"
            for topic in topics
            for rank, doc in enumerate(rng.sample(docs, 50), 1)
        ]
        (folder / f"{run}.run").write_text("".join(lines))
    return create_project(
        folder / "project", corpus=[str(folder / "corpus.jsonl")], topics=str(folder / "topics.tsv"),
        runs=[str(folder / "*.run")], database=database,
        settings=Settings(scale=parse_scale("0=no,1=yes"), overlap=OVERLAP, depth=50),
    )  # fmt: skip


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "sounding", "judge", "serve", str(folder), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            assert server.stderr is not None
            while "Ctrl+C" not in server.stderr.readline():
                assert server.poll() is None
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            said = server.communicate(timeout=60)[1]
    assert said == ""  # no fault was logged


async def everybody(project: Project, addresses: list[str]) -> Crowd:
    """All at once; what they saw."""
    browser = partial(httpx2.AsyncClient, timeout=120, verify=ssl.create_default_context())
    async with AsyncExitStack() as stack:
        people = []
        with project.store.together():
            for number in range(ASSESSORS):
                name, topic = f"person {number}", (OWN + SHARED * ASSESSORS)[number]
                pseudonym = add_person(project, name, topics=(topic,))
                client = await stack.enter_async_context(browser())
                people.append(Person(name, pseudonym, topic, client, random.Random(number)))
        crowd = Crowd(people, addresses)
        async with asyncio.TaskGroup() as group:
            for person in people:
                group.create_task(crowd.work(person))
        return crowd


def test_a_hundred_assessors_share_documents_only_up_to_the_overlap(project: Project) -> None:
    # PostgreSQL is there for several servers; with SQLite there is one.
    servers = 2 if project.store.place.startswith("postgresql:") else 1
    with ExitStack() as stack:
        addresses = [stack.enter_context(serving(project.folder)) for _ in range(servers)]
        crowd = awaited(everybody(project, addresses))
    assert set(crowd.codes) == {200, 204}
    most = crowd.holders()
    assert max(most.values()) == OVERLAP  # many shared one, and nobody beyond that
    assert {topic for (topic, _), people in most.items() if people == OVERLAP} == set(SHARED)
    answered = sorted(
        f"{person.topic} {person.pseudonym} {doc} {grade:g}\n"
        for person in crowd.people
        for doc, grade in person.judged.items()
    )
    assert len(answered) == GRADES * ASSESSORS
    assert sorted(EXPORTS["assessors"](project.store, project.store.last_sequence())) == answered
    assert verify(project).problems == ()
