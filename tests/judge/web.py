"""A small project behind its web server, and people who talk to it: what the tests of the pages share."""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from argon2 import PasswordHasher
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from sounding.judge.app import create_app
from sounding.judge.project import Project, create_project
from sounding.judge.records import Role
from sounding.judge.settings import Settings, parse_scale

Result = TypeVar("Result")

PASSWORD = "correct horse battery"
RUNS = ("quokkaRun", "wombatRun", "numbatRun")  # names that no page of an assessor may hold
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&"
WORDS = [
    "harbour",
    "dredging",
    "noise",
    "whales",
    "ships",
    "sediment",
    "tide",
    "crane",
    "anchor",
    "storm",
    "survey",
    "chart",
    "depth",
    "reef",
]
TOPICS = {
    "MB001": ("whales and noise", "How do whales react to the noise of ships?", "Relevant: reactions.\nNot: ships alone."),
    "T/2 x".replace(" ", "-"): ("harbour dredging", "", ""),
    "303": ("الضجيج والحيتان", "كيف تتفاعل الحيتان مع الضجيج؟", ""),
    "304": ("鯨と船の騒音", "鯨は船の騒音にどう反応するか", ""),
}  # fmt: skip


def make_project(
    folder: Path,
    *,
    documents: int = 60,
    topics: int = 4,
    database: str | None = None,
    subtopics: str | None = None,
    **settings: Any,
) -> Project:
    """A project with hostile, right-to-left, Chinese and HTML documents among plain ones."""
    rng = random.Random(7)
    source = folder / "source"
    source.mkdir(parents=True)
    texts = {
        f"d{number:02d}": f"Report {number}\n\n" + " ".join(rng.choices(WORDS, k=80))
        for number in range(documents)
    }
    texts["d00"] = f"Hostile report {HOSTILE}\n\nwhales {HOSTILE} noise javascript:alert(3)"
    texts["d01"] = (
        "<!DOCTYPE html><html><head><title>t</title><script>document.title='owned'</script></head><body onload=alert(1)>"
        "<h1 onclick=alert(2)>Whales</h1><p style='position:fixed' class=grade>noise &amp; ships &lt;b&gt;</p><a href='javascript:alert(3)'>link</a>"
        "<iframe src=//evil.example></iframe><img src=//evil.example/x onerror=alert(4)><svg onload=alert(5)></svg></body></html>"
    )
    texts["d02"] = "تقرير عن الحيتان\n\nالضجيج يؤثر على الحيتان في البحر"
    texts["d03"] = "鯨の報告\n\n船の騒音は鯨に影響する。"
    (source / "corpus.jsonl").write_text(
        "".join(f"{json_line(doc, text)}\n" for doc, text in texts.items()), encoding="utf-8"
    )
    chosen = dict(list(TOPICS.items())[:topics])
    (source / "topics.txt").write_text(
        "".join(
            f"<top>\n<num> Number: {name}\n<title> {title}\n<desc> Description:\n{description}\n<narr> Narrative:\n{narrative}\n</top>\n\n"
            for name, (title, description, narrative) in chosen.items()
        ),
        encoding="utf-8",
    )
    for run in RUNS:
        lines = []
        for name in chosen:
            docs = [*texts, "gone-from-corpus"] if run == RUNS[0] else list(texts)
            rng.shuffle(docs)
            lines += [f"{name} Q0 {doc} {rank} {100 - rank} {run}\n" for rank, doc in enumerate(docs[:20], 1)]
        (source / f"{run}.txt").write_text("".join(lines))
    given: dict[str, Any] = {
        "scale": parse_scale("0=not relevant,1=relevant,2=highly relevant"),
        "title": "Sea reports",
        "depth": 20,
    }
    return create_project(
        folder / "project", corpus=[str(source / "corpus.jsonl")], topics=str(source / "topics.txt"),
        runs=[str(source / f"{run}.txt") for run in RUNS], settings=Settings(**{**given, **settings}), database=database,
        subtopics=subtopics,
    )  # fmt: skip


def json_line(doc: str, text: str) -> str:
    import json

    return json.dumps({"id": doc, "text": text}, ensure_ascii=False)


def add_person(project: Project, name: str, role: Role = "assessor", topics: tuple[str, ...] = ()) -> str:
    """Somebody who can sign in; returns the pseudonym."""
    person = project.store.add_user(name, role, _HASH)
    for topic in topics:
        project.store.assign(topic, person.pseudonym)
    return person.pseudonym


_HASH = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1).hash(PASSWORD)  # checked at once


class Browser:
    """A browser without scripts: keeps cookies and sends the token of its pages."""

    def __init__(self, project: Project, app: FastAPI | None = None, address: str = "192.0.2.1") -> None:
        """`app`: the server that others talk to as well."""
        self.app = app or create_app(project)
        self.client = TestClient(self.app, follow_redirects=False, client=(address, 5000))
        self.token = ""

    def get(self, path: str, **options: Any) -> Response:
        answer = self.client.get(path, **options)
        found = (
            re.search(r'data-token="([0-9a-f]+)"', answer.text)
            if "text/html" in answer.headers.get("content-type", "")
            else None
        )
        self.token = found.group(1) if found else self.token
        return answer

    def post(self, path: str, *, token: str | None = None, **fields: Any) -> Response:
        """Send a form."""
        return self.client.post(path, data={"token": self.token if token is None else token, **fields})

    def send(self, path: str, content: Any, *, token: str | None = None) -> Response:
        """Send JSON, as the script of the judging page does."""
        return self.client.post(
            path, json=content, headers={"X-Page-Token": self.token if token is None else token}
        )

    def sign_in(self, name: str, password: str = PASSWORD) -> Response:
        self.get("/sign-in")
        answer = self.post("/sign-in", name=name, password=password, then="/")
        self.get("/account")
        return answer


def signed_in(project: Project, name: str, app: FastAPI | None = None, password: str = PASSWORD) -> Browser:
    browser = Browser(project, app)
    assert browser.sign_in(name, password).status_code == 303
    return browser


def awaited(work: Coroutine[Any, Any, Result]) -> Result:
    """What a coroutine gives, on a thread of its own: where a browser was used, this one has a loop already."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(asyncio.run, work).result()
