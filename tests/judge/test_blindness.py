"""What an assessor is told never says where a document came from."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from fastapi.routing import APIRoute
from tests.judge.web import RUNS, TOPICS, Browser, add_person, signed_in

from sounding.judge import api, assessor_pages, sign_in_pages
from sounding.judge.app import FAULT, create_app
from sounding.judge.project import Project
from sounding.judge.settings import Order
from sounding.judge.web import HEADERS

TELLTALE = re.compile(
    r"\b(mtc|policy|weight|stratum|probability|belief|selection|known|step|seed|rank|score|run|confidence)s?\b",
    re.IGNORECASE,
)
MEMBERS = {
    "topic", "documents", "doc", "html", "missing", "grade", "judged", "comment", "sequence", "repeated", "title", "cannot",
    "relevant", "left", "time", "snippet", "held", "token", "name", "account", "lasting", "role", "heading", "coming", "words",
    "batch_left", "elsewhere", "batch_size", "undid", "restored", "found", "first", "complete", "total",
    "guide", "sides", "marks", "labels",
}  # fmt: skip

PLAIN = {name.lower() for name in HEADERS} | {
    "content-length", "content-type", "cache-control", "server-timing", "location", "set-cookie", "retry-after",
}  # fmt: skip


@pytest.fixture
def told(project: Project) -> list[tuple[str, str, dict[str, str]]]:
    """(path, body, headers) of everything that an assessor can ask for, in the middle of judging."""
    project.engine.set_order("303", Order(policy="stratified-sample"))
    add_person(project, "ann", topics=tuple(TOPICS))
    other = add_person(project, "bob", topics=("MB001",))
    for lease in project.engine.next(other, "MB001", 5):
        project.engine.judge(other, "MB001", lease.doc, 1, key=f"key-{lease.doc}")
    ann = signed_in(project, "ann")
    return list(everything(ann))


def everything(ann: Browser) -> Iterator[tuple[str, str, dict[str, str]]]:
    number = 0
    for topic in TOPICS:
        for path in ("/api/judge", "/api/skip", "/api/judge", "/api/undo"):
            doc = ann.client.get("/api/next", params={"topic": topic}).json()["documents"][0]["doc"]
            number += 1
            given: dict[str, Any] = {"topic": topic, "key": f"key-{number:08d}"}
            given |= {"doc": doc} if path != "/api/undo" else {}
            given |= {"grade": 1} if path == "/api/judge" else {}
            answer = ann.send(path, given)
            assert answer.status_code == 200
            yield path, answer.text, dict(answer.headers)
        shown = {"topic": topic, "doc": "d05", "grade": 2, "key": f"own-{number:08d}", "comment": "mine"}
        assert ann.send("/api/judge", shown).status_code == 200
    ann.post("/develop", title="my topic")
    for router in (
        api.judging,
        api.signing,
        sign_in_pages.router,
        sign_in_pages.own,
        assessor_pages.entrance,
        assessor_pages.router,
    ):
        for route in router.routes:
            if not isinstance(route, APIRoute) or "GET" not in (route.methods or ()):
                continue
            for topic in (*TOPICS, "N001"):
                query = {"topic": topic, "id": "N001", "query": "whales noise", "doc": "d05"}
                for left_out in ("doc", ""):
                    answer = ann.client.get(
                        route.path.replace("{secret}", "x"),
                        params={name: value for name, value in query.items() if name != left_out},
                    )
                    yield f"{route.path} {topic}", answer.text, dict(answer.headers)
    for path in (
        "/organize",
        "/api/live",
        "/api/live/stream",
        "/api/export/log",
        "/api/export/qrels",
        "/organize/topics",
    ):
        answer = ann.client.get(path)
        assert answer.status_code == 403
        yield path, answer.text, dict(answer.headers)
    for path, given in (
        ("/api/judge", {"topic": "MB001", "doc": "d05", "grade": 9, "key": "abcdefgh"}),
        ("/api/judge", {"topic": "MB001", "doc": "d05", "grade": 1, "key": "key-00000001"}),
        ("/api/judge", {}),
    ):
        answer = ann.send(path, given)
        assert answer.status_code in (400, 409, 422)
        yield path, answer.text, dict(answer.headers)


def test_no_answer_holds_the_name_of_a_run(told: list[tuple[str, str, dict[str, str]]]) -> None:
    assert len(told) > 100
    for path, body, headers in told:
        for run in RUNS:
            assert run.lower() not in (body + json.dumps(headers)).lower(), path


def test_no_answer_speaks_of_ranks_scores_or_weights(told: list[tuple[str, str, dict[str, str]]]) -> None:
    for path, body, headers in told:
        text = body if body.startswith(("{", "[")) else re.sub("<[^>]*>", " ", body)
        text = text.replace("a word of which only the beginning is known", "")
        assert not TELLTALE.search(text), (path, TELLTALE.search(text))
        assert set(headers) <= PLAIN, path


def test_no_answer_of_the_interface_has_members_beyond_those_agreed(
    told: list[tuple[str, str, dict[str, str]]],
) -> None:
    checked = 0
    for path, body, headers in told:
        if headers.get("content-type") != "application/json":
            continue
        pending: list[Any] = [json.loads(body)]
        while pending:
            value = pending.pop()
            if isinstance(value, dict):
                checked += 1
                assert set(value) <= MEMBERS | {"detail"}, path
                pending += value.values()
            elif isinstance(value, list):
                pending += value
    assert checked > 100


@pytest.mark.parametrize("fault", ["content", "row"])
def test_a_fault_of_the_server_is_told_in_words_that_name_no_run(
    project: Project, fault: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A run that is damaged in the database, or gone from it, when the engine reads it anew."""
    add_person(project, "ann", topics=tuple(TOPICS))
    add_person(project, "olga", "organizer")
    app = create_app(project)
    ann, olga = signed_in(project, "ann", app), signed_in(project, "olga", app)
    doc = ann.client.get("/api/next", params={"topic": "MB001"}).json()["documents"][0]["doc"]
    with project.store._database.write() as run:
        if fault == "row":
            run("DELETE FROM run WHERE name = :name", name=RUNS[0])
        else:
            run("UPDATE run SET content = :content WHERE name = :name", content=b"\0", name=RUNS[0])
    project.engine.add_runs({"late": {"MB001": {"d05": 1.0}}})  # so that all runs are read again
    before = project.store.last_sequence()
    given = {"topic": "MB001", "doc": doc, "grade": 1, "key": "key-of-a-grade"}
    answers = [
        ann.send("/api/judge", given),
        ann.send("/api/skip", {name: given[name] for name in ("topic", "doc", "key")}),
        ann.client.get("/api/next", params={"topic": "MB001"}),
        ann.client.get("/api/topics"),
        ann.client.get("/judge", params={"topic": "MB001"}),
        ann.client.get("/"),
    ]
    for answer in answers:
        assert answer.status_code == 500
        assert FAULT in html.unescape(answer.text).replace("The server", "the server")
        assert not any(name.lower() in answer.text.lower() for name in RUNS)
        assert not TELLTALE.search(re.sub("<[^>]*>", " ", answer.text))
    assert project.store.last_sequence() == before  # nothing was recorded, as it says
    assert RUNS[0] in caplog.text
    told = olga.client.get("/api/live")
    assert (told.status_code, RUNS[0] in told.text) == (500, True)


def test_the_next_documents_look_alike_whatever_their_order(project: Project) -> None:
    """Leases of a sample, of the algorithm and of an own search have the same members."""
    add_person(project, "ann", topics=tuple(TOPICS))
    ann = signed_in(project, "ann")
    project.engine.set_order("303", Order(policy="uniform-sample"))
    shapes = {
        tuple(sorted(one))
        for topic in TOPICS
        for one in ann.client.get("/api/next", params={"topic": topic}).json()["documents"]
    }
    assert len(shapes) == 1
