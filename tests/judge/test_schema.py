"""The description of the programming interface: true, whole, and kept whatever is sent."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, reject, settings
from hypothesis import strategies as st
from tests.conftest import require
from tests.judge.test_preferences import PAIRS
from tests.judge.test_subtopics import TABLE
from tests.judge.web import PASSWORD, TOPICS, Browser, add_person, make_project, signed_in

from sounding.judge import api, organizer_api
from sounding.judge.auth import RateLimit
from sounding.judge.project import Project, open_project

schemathesis = require("schemathesis")

ENDLESS = "/api/live/stream"
CHECKS = [
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
]
ASKED = [
    (method, route.path)
    for router in (api.signing, api.judging, api.watching, organizer_api.audits, organizer_api.router)
    for route in router.routes
    if isinstance(route, APIRoute) and route.path not in (ENDLESS, "/api/sign-out")
    for method in sorted(route.methods or ())
]
WATCHED = {
    route.path
    for router in (api.watching, organizer_api.audits, organizer_api.router)
    for route in router.routes
    if isinstance(route, APIRoute)
}

REAL = {"topic": "MB001", "doc": "d05", "name": "qrels"}


People = dict[str, Browser]


@contextmanager
def one_of_each(project: Project) -> Iterator[People]:
    """A guest, an assessor and an organizer of one server."""
    add_person(project, "ann", topics=tuple(TOPICS))
    add_person(project, "olga", "organizer")
    guest = Browser(project)
    object.__setattr__(guest.app.state.context, "searches", RateLimit(10**6, 1))
    with guest.client:  # one loop for all requests
        signed = {
            "assessor": signed_in(project, "ann", guest.app),
            "organizer": signed_in(project, "olga", guest.app),
        }
        yield {"guest": guest, **signed}


@pytest.fixture(scope="module")
def people(sea_reports: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[People]:
    folder = tmp_path_factory.mktemp("schema") / "project"
    shutil.copytree(sea_reports, folder)
    with open_project(folder) as project, one_of_each(project) as found:
        yield found


@pytest.fixture(scope="module")
def described(people: People) -> Any:
    return schemathesis.openapi.from_dict(people["guest"].get("/openapi.json").json())


def send_all(described: Any, people: People, role: str, method: str, path: str, examples: int) -> set[int]:
    """Send whatever the description allows, and what it does not; returns the codes of the answers."""
    who = people[role]
    cookies = "; ".join(f"{one.name}={one.value}" for one in who.client.cookies.jar)
    codes = set()
    modes = [schemathesis.GenerationMode.POSITIVE, schemathesis.GenerationMode.NEGATIVE]
    cases = st.one_of([described[path][method].as_strategy(generation_mode=mode) for mode in modes])

    @given(case=cases, real=st.sets(st.sampled_from(sorted(REAL))), spoilt=st.integers(0, 8))
    @settings(
        max_examples=min(10, examples) if path == "/api/sign-in" else examples,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],  # making a failure small can take many minutes
        derandomize=True,
    )
    def send(case: Any, real: set[str], spoilt: int) -> None:
        asked = case.as_transport_kwargs(base_url="http://testserver")
        for part in (asked.get("json"), asked["params"]):
            if isinstance(part, dict):
                part.update({name: REAL[name] for name in real & part.keys()})
                # PostgreSQL cannot hold a zero byte.
                texts = [name for name, value in sorted(part.items()) if isinstance(value, str)]
                part.update({name: f"{part[name]}\0" for name in texts[spoilt : spoilt + 1]})
        try:
            answer = people["guest"].client.request(
                method, asked["url"], params=asked["params"], json=asked.get("json"), content=asked.get("data"),
                headers={**asked["headers"], "X-Page-Token": who.token, "Cookie": cookies},
            )  # fmt: skip
        except (TypeError, UnicodeEncodeError):
            reject()  # no client could send this
        codes.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    send()
    return codes


@pytest.mark.parametrize("examples", [15, pytest.param(150, marks=pytest.mark.long)])
@pytest.mark.parametrize(("method", "path"), ASKED)
@pytest.mark.parametrize("role", ["guest", "assessor", "organizer"])
def test_whatever_is_sent_is_answered_as_described(
    described: Any, people: People, method: str, path: str, role: str, examples: int
) -> None:
    codes = send_all(described, people, role, method, path, examples)
    assert role != "guest" or codes <= {200, 400, 401, 403, 422, 429}
    assert role != "organizer" or codes <= {200, 204, 400, 401, 403, 404, 422, 429}


@pytest.mark.parametrize("project", ["postgresql"], indirect=True)
def test_it_is_with_postgresql_as_well(project: Project) -> None:
    with one_of_each(project) as people:
        described = schemathesis.openapi.from_dict(people["guest"].get("/openapi.json").json())
        for method, path in ASKED:
            role = "organizer" if path in WATCHED else "assessor"
            assert max(send_all(described, people, role, method, path, 8)) < 500, path


@pytest.mark.parametrize("kind", ["preferences", "subtopics"])
def test_it_is_with_pairs_and_subtopics_as_well(tmp_path: Path, kind: str) -> None:
    (tmp_path / "subtopics.tsv").write_text(TABLE)
    more: dict[str, Any] = PAIRS if kind == "preferences" else {"kind": kind}
    with (
        make_project(
            tmp_path,
            documents=12,
            subtopics=None if more is PAIRS else str(tmp_path / "subtopics.tsv"),
            **more,
        ) as project,
        one_of_each(project) as people,
    ):
        described = schemathesis.openapi.from_dict(people["guest"].get("/openapi.json").json())
        for method, path in ASKED:
            role = "organizer" if path in WATCHED else "assessor"
            assert max(send_all(described, people, role, method, path, 3)) < 500, path
        real = (
            people["assessor"]
            .client.get("/api/next", params={"topic": "MB001"})
            .json()["documents"][0]["doc"]
        )
        for number, grades in enumerate(({}, {"a": 1}, {"a": 1, "b": 0}, {"a": 5, "b": 0}, {"": 0})):
            for doc in (real, "d05", "d05 d06", "d06 d05", "d05 d05", " ", "a b c"):
                given = {
                    "topic": "MB001",
                    "doc": doc,
                    "grade": 1,
                    "marks": {"subtopics": grades},
                    "key": f"key-{number}-{hash(doc)}",
                }
                assert people["assessor"].send("/api/judge", given).status_code < 500


def test_the_description_says_what_there_is(project: Project) -> None:
    described = Browser(project).get("/openapi.json").json()
    assert set(described["paths"]) == {
        "/api/token", "/api/sign-in", "/api/sign-out", "/api/topics", "/api/next", "/api/document", "/api/judge", "/api/skip",
        "/api/undo", "/api/at-work", "/api/judgments", "/api/search", "/api/live", ENDLESS, "/api/export/{name}",
        "/api/organize/topics", "/api/organize/status", "/api/organize/assign", "/api/organize/share-out", "/api/organize/order",
        "/api/organize/settings", "/api/organize/instructions", "/api/organize/differences", "/api/audit/draw", "/api/audit/next", "/api/audit/judge",
        "/api/audit/undo", "/api/audit/text", "/api/text",
    }  # fmt: skip
    for path, acts in described["paths"].items():
        for act in acts.values():
            assert act["description"].endswith("."), path


def test_what_signing_in_is_said_to_answer_is_what_it_answers(project: Project) -> None:
    add_person(project, "ann")
    browser = Browser(project)
    described = browser.get("/openapi.json").json()["paths"]["/api/sign-in"]["post"]["responses"]
    assert {status for status in described if status.startswith("2")} == {"204"}
    browser.get("/sign-in")
    assert browser.send("/api/sign-in", {"name": "ann", "password": PASSWORD}).status_code == 204
