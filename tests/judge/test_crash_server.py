"""kill -9 of the server while several people judge over HTTP: what was answered is there, once, and goes on."""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
from tests.judge.databases import Server, running_server
from tests.judge.journals import JOURNALS, keep
from tests.judge.test_crash import PARTS, waits_for_the_disk
from tests.judge.test_preferences import PAIRS
from tests.judge.web import TOPICS, make_project

from sounding.judge.auth import Visitor, begin_session
from sounding.judge.project import Project, open_project
from sounding.judge.records import User
from sounding.judge.verify import verify
from sounding.judge.web import TOKEN, Context

PEOPLE = 4
CHECKED = 3  # kills after which all that is known is checked, while everybody waits for the server


# As the command, with a log that is written back all the time.
SERVER = """
import sys
from sounding.cli import main
from sounding.judge import app
from tests.judge.journals import as_asked
as_asked()
app.WRITE_BACK_SECONDS = 0.003
main(["judge", "serve", sys.argv[1], "--port", sys.argv[2]])
"""


@pytest.fixture(params=[*JOURNALS, "postgresql", "preferences"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a project whose database waits for the disk; of preferences, with the first journal."""
    if request.param != "postgresql":
        of_pairs = request.param == "preferences"
        keep(monkeypatch, JOURNALS[0] if of_pairs else request.param)
        with make_project(tmp_path, overlap=2, **(PAIRS if of_pairs else {})) as project:
            yield project.folder
        return
    with running_server(fsync=True) as server:
        with make_project(tmp_path, overlap=2, database=Server.fresh(server)) as project:
            pass
        yield project.folder


@dataclass
class Person:
    """An assessor with a browser that sends again what was not answered, as the page does."""

    name: str
    topic: str
    headers: dict[str, str]
    missing: set[str] = field(default_factory=set)  # documents without a text, which cannot be judged
    sent: dict[str, tuple[str, float | None]] = field(default_factory=dict)  # key -> doc, grade
    answered: dict[str, int] = field(default_factory=dict)  # key -> event
    codes: Counter[int] = field(default_factory=Counter)

    def work(self, address: str, end: threading.Event) -> None:
        rng, documents = random.Random(self.name), list[str]()
        with httpx2.Client(base_url=address, headers=self.headers, timeout=30) as client:
            while not end.is_set():
                if not documents:
                    found = self.ask(client, end, "GET", "/api/next", params={"topic": self.topic})
                    if found is None:
                        return
                    # Where nothing is left, a grade is changed.
                    done = [doc for doc, _ in self.sent.values()]
                    documents = [one["doc"] for one in found["documents"]] or [rng.choice(done)]
                key, doc = f"{self.name}-{len(self.sent)}", documents[0]
                grade = None if doc in self.missing else float(rng.choice((0, 1, 2)))
                self.sent[key] = (doc, grade)
                content = {"topic": self.topic, "doc": doc, "grade": grade, "key": key, "have": documents}
                found = self.ask(client, end, "POST", "/api/judge", json=content)
                if found is None:
                    return
                self.answered[key] = found["sequence"]
                documents = [one["doc"] for one in found["documents"]]

    def ask(
        self, client: httpx2.Client, end: threading.Event, method: str, path: str, **content: Any
    ) -> dict[str, Any] | None:
        """The answer, asked for until there is one; None: it is over."""
        while not end.is_set():
            try:
                answer = client.request(method, path, **content)
            except httpx2.TransportError:
                time.sleep(0.02)
                continue
            self.codes[answer.status_code] += 1
            if answer.status_code == 200:
                found: dict[str, Any] = answer.json()
                self.missing |= {one["doc"] for one in found["documents"] if one["missing"]}
                return found
        return None


def signed_in_headers(project: Project, user: User) -> dict[str, str]:
    """What the browser of somebody who is signed in sends along."""
    name = Context(project=project, door=None, live=None).cookie  # type: ignore[arg-type]
    secret = begin_session(project.store, user, "127.0.0.1", "test")
    return {"Cookie": f"{name}={secret}", TOKEN: Visitor(secret=secret, user=user, known=True).token}


def people_of(project: Project, count: int) -> list[Person]:
    """So many assessors who are signed in; two topics are shared by half of them each."""
    found = []
    for number in range(count):
        user = project.store.add_user(f"person {number}", "assessor")
        topic = list(TOPICS)[number % 2]
        project.store.assign(topic, user.pseudonym)
        found.append(Person(user.pseudonym, topic, signed_in_headers(project, user)))
    return found


@contextmanager
def at_work(people: list[Person], address: str) -> Iterator[None]:
    """Everybody judges at a server, there or not."""
    end = threading.Event()
    threads = [threading.Thread(target=person.work, args=(address, end)) for person in people]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        end.set()
        for thread in threads:
            thread.join()


def wait_for(people: list[Person], more: int, seconds: float = 60) -> None:
    """Until so many more submissions are answered, or nothing is left to judge."""
    begun, end = sum(len(one.answered) for one in people), time.monotonic() + seconds
    while sum(len(one.answered) for one in people) < begun + more and time.monotonic() < end:
        time.sleep(0.005)


def check(folder: Path, people: list[Person]) -> None:
    """Whether all that was answered is in the log as it was sent, once, and the project is what its log says."""
    answered = {person.name: dict(person.answered) for person in people}
    with open_project(folder) as project:
        events = [event for event in project.store.events() if event.kind == "judge"]
        by_key = {(event.assessor, event.key): event for event in events}
        assert len(by_key) == len(events)
        for person in people:
            assert set(person.codes) <= {200}
            own = {str(event.key): event for event in events if event.assessor == person.name}
            assert own.keys() <= person.sent.keys()
            said = {event.sequence: event for event in own.values()}
            for key, sequence in answered[person.name].items():
                event = said[sequence]  # one of before where the grade was that already
                assert (event.doc, event.grade) == person.sent[key]
                assert own.get(key, event) == event
        judges = {(event.assessor, event.topic, event.doc) for event in events}
        assert max(Counter((topic, doc) for _, topic, doc in judges).values()) <= 2
        assert verify(project).problems == ()


@pytest.mark.parametrize(("part", "kills"), list(enumerate(PARTS)))
def test_what_the_server_answered_survives_its_end_and_what_is_sent_again_counts_once(
    folder: Path, part: int, kills: int
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with open_project(folder) as project:
        assert waits_for_the_disk(project.store)
        people = people_of(project, PEOPLE)
    rng = random.Random(part)
    command = [sys.executable, "-c", SERVER, str(folder), str(port)]
    with at_work(people, f"http://127.0.0.1:{port}"):
        for number in range(1, kills + 1):
            server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            wait_for(people, rng.randint(3, 12))
            time.sleep(rng.uniform(0, 0.02))
            server.send_signal(signal.SIGKILL)
            server.wait()
            if number % CHECKED == 0:
                check(folder, people)
    check(folder, people)
    answered = sum(len(person.answered) for person in people)
    assert answered >= 3 * kills
    assert all(person.answered for person in people)
    print(f"{kills} kills of the server, {answered} answered, none lost")  # noqa: T201 - for `make torture`
