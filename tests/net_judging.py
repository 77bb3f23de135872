"""People of the net who judge: requests to `sounding judge serve`, always the same ones, and the answers.

Every judging session of the net that serves its project has an organizer, jane, and two assessors, ann and bob, whose
one-time links are in `jane.link`, `ann.link` and `bob.link`.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from http.cookiejar import CookieJar
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import HTTPCookieProcessor, Request, build_opener

PASSWORD = "correct horse battery"
SECONDS = 60
EACH = 14  # documents of a topic that an assessor is shown


class Person:
    """Somebody with a browser: keeps cookies, and sends the token of the page."""

    def __init__(self, address: str, link: str) -> None:
        self.address = address
        self.opener = build_opener(HTTPCookieProcessor(CookieJar()))
        self.token = ""
        path = "/welcome/" + link.strip().rpartition("/")[2]
        found = re.search(r'data-token="([0-9a-f]+)"', self._read(Request(address + path)))
        form = {"token": found[1] if found else "", "password": PASSWORD, "again": PASSWORD}
        self._read(Request(address + path, urlencode(form).encode()))
        self.token = json.loads(self._read(Request(address + "/api/token")))["token"]

    def get(self, path: str, **query: str | int) -> Any:
        return json.loads(self._read(Request(f"{self.address}{path}?{urlencode(query)}")))

    def send(self, path: str, **content: Any) -> Any:
        headers = {"Content-Type": "application/json", "X-Page-Token": self.token}
        return json.loads(self._read(Request(self.address + path, json.dumps(content).encode(), headers)))

    def _read(self, request: Request) -> str:
        try:
            with self.opener.open(request, timeout=SECONDS) as answer:
                return str(answer.read().decode())
        except HTTPError as error:  # a refusal is an answer too
            return error.read().decode()


def serve(command: list[str], work: Path, environment: Mapping[str, str]) -> tuple[str, dict[str, bytes]]:
    """Serve a project while people judge; return the exit status, and the answers with what the server said."""
    server = subprocess.Popen(command, cwd=work, env=environment, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        said = server.stderr.readline()
        while (found := re.search(r"(http://\S+) \(Ctrl", said)) is None and server.poll() is None:
            said += server.stderr.readline()
        links = {path.stem: path.read_text() for path in sorted(work.glob("*.link"))}
        people = {name: Person(found[1], link) for name, link in links.items()} if found else {}
        answers = [json.dumps(answer, sort_keys=True) + "\n" for answer in _acts(people)]
    finally:
        server.terminate()
        _, rest = server.communicate(timeout=SECONDS)
    return str(server.returncode), {"answers": "".join(answers).encode(), "stderr": (said + rest).encode()}


def _acts(people: Mapping[str, Person]) -> Iterator[Any]:
    """Let the assessors judge, change their minds and search, and let the organizer look; give the answers."""
    for name in ("ann", "bob"):
        person = people[name]
        for progress in person.get("/api/topics"):
            yield from _judge_topic(person, name, progress["topic"])
        yield person.get("/api/topics")
    jane = people["jane"]
    yield jane.get("/api/organize/topics")
    yield jane.get("/api/organize/settings")
    yield jane.get("/api/organize/differences")
    yield jane.get("/api/next", topic="qtest.1")  # refused: an organizer judges nothing


def _judge_topic(person: Person, name: str, topic: str) -> Iterator[Any]:
    """Grade some documents of a topic by the digits of their ids; skip, change and take back a few."""
    for step in range(EACH):
        work = person.get("/api/next", topic=topic, count=1)
        yield work
        if not work["documents"]:
            break
        doc = work["documents"][0]["doc"]
        digits = int(re.sub(r"\D", "", doc)) + (name == "bob") * (step % 4 == 0)
        act = {"topic": topic, "doc": doc, "key": f"{name}-{topic.replace('.', '-')}-{step}", "count": 1}
        if digits % 7 == 3:
            yield person.send("/api/skip", **act)
            continue
        grade = None if digits % 11 == 5 or work["documents"][0]["missing"] else digits % 3
        yield person.send("/api/judge", **act, grade=grade, active=step, comment="unsure" * (digits % 5 == 0))
        if step % 5 == 2:
            yield person.send("/api/judge", **{**act, "key": act["key"] + "-again"}, grade=(digits + 1) % 3)
        if step % 6 == 4:
            yield person.send("/api/undo", topic=topic, key=act["key"] + "-undo", count=1)
    found = person.get("/api/search", topic=topic, query="text number")
    yield found
    yield person.get("/api/document", topic=topic, doc=found["found"][0]["doc"], query="text number")
    yield person.get("/api/judgments", topic=topic)
