"""Who may ask for what: every route, every role, forged requests, large and broken uploads."""

from __future__ import annotations

import bz2
import gzip
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from tests.judge.web import HOSTILE, PASSWORD, TOPICS, Browser, add_person, make_project, signed_in

from sounding.core.errors import DataError
from sounding.judge.app import ROUTERS, create_app
from sounding.judge.project import FILE, Project, add_runs, open_project
from sounding.judge.uploads import MOST_LINE, MOST_UNPACKED
from sounding.judge.web import HEADERS, MOST_BYTES, MOST_UPLOAD

OPEN = {
    "/language",
    "/sign-in",
    "/welcome/{secret}",
    "/api/token",
    "/api/sign-in",
}  # for those who are not signed in
BOTH = {
    "/",
    "/account",
    "/account/password",
    "/account/end",
    "/account/end-all",
    "/sign-out",
    "/api/sign-out",
}
ORGANIZER = re.compile(r"/organize|/api/(live|export|audit|organize)")
SAMPLE: dict[str, Any] = {"audit": 5}
CONTENT: dict[str, dict[str, Any]] = {
    "/api/judge": {"topic": "MB001", "doc": "d05", "grade": 1, "key": "abcdefgh"},
    "/api/skip": {"topic": "MB001", "doc": "d05", "key": "abcdefgh"},
    "/api/undo": {"topic": "MB001", "key": "abcdefgh"},
    "/api/sign-in": {"name": "ann", "password": PASSWORD},
    "/api/audit/draw": {"assessor": "assessor-1", "size": 5},
    "/api/audit/judge": {"topic": "MB001", "doc": "d05", "grade": 1, "key": "abcdefgh", **SAMPLE},
    "/api/audit/undo": {"topic": "MB001", "doc": "d05", "key": "abcdefgh", **SAMPLE},
    "/api/organize/status": {"topics": ["MB001"], "status": "dropped"},
    "/api/organize/assign": {"topic": "MB001", "assessors": []},
    "/api/organize/order": {"topics": ["MB001"], "policy": "depth"},
    "/api/organize/instructions": {"text": "eve was here"},
}  # what would be done if it were allowed


def routes() -> list[tuple[str, str]]:
    """(method, path) of all that the server answers."""
    every = [route for router in ROUTERS for route in router.routes if isinstance(route, APIRoute)]
    return sorted((method, route.path) for route in every for method in route.methods or ())


def filled(path: str) -> str:
    return path.replace("{secret}", "x").replace("{act}", "close").replace("{name}", "qrels")


@pytest.fixture
def people(project: Project) -> dict[str, Browser]:
    add_person(project, "ann", topics=tuple(TOPICS))
    add_person(project, "olga", "organizer")
    app = create_app(project)
    return {
        "guest": Browser(project, app),
        "assessor": signed_in(project, "ann", app),
        "organizer": signed_in(project, "olga", app),
    }


def test_the_list_of_routes_is_whole() -> None:
    found = routes()
    assert len(found) >= 40
    assert ("POST", "/organize/people/add") in found
    assert ("POST", "/api/judge") in found


def test_without_a_sign_in_nothing_but_the_door_is_open(people: dict[str, Browser], project: Project) -> None:
    for method, path in routes():
        if path in OPEN:
            continue
        answer = people["guest"].client.request(
            method,
            filled(path),
            headers={"Content-Type": "application/x-www-form-urlencoded"} if method == "POST" else {},
        )
        if path.startswith("/api/"):
            assert answer.status_code in (401, 422), path  # 422: before anybody is asked who they are
        else:
            assert answer.status_code == 303, path
            assert answer.headers["location"].startswith("/sign-in?then="), path


def test_every_route_belongs_to_one_role(people: dict[str, Browser], project: Project) -> None:
    for method, path in routes():
        if path in OPEN | BOTH or path == "/api/live/stream":
            continue
        other = "assessor" if ORGANIZER.match(path) else "organizer"
        browser = people[other]
        browser.get("/account")
        body: dict[str, Any] = (
            {"json": CONTENT.get(path, {})}
            if path.startswith("/api/")
            else {"data": {"token": browser.token}}
        )
        query = (
            {}
            if method == "POST"
            else {"params": {"topic": "MB001", "doc": "d05", "query": "x", "id": "MB001", **SAMPLE}}
        )
        answer = browser.client.request(
            method,
            filled(path),
            headers={"X-Page-Token": browser.token},
            **(body if method == "POST" else query),
        )
        assert answer.status_code == 403, (method, path)
        assert "you are signed in as an" in answer.text.lower(), (method, path)


def test_nothing_changes_without_the_token_of_the_page(people: dict[str, Browser], project: Project) -> None:
    tried = 0
    for method, path in routes():
        if method != "POST":
            continue
        who = "organizer" if ORGANIZER.match(path) else "guest" if path in OPEN else "assessor"
        for token in ("", "0" * 64, people["guest" if who != "guest" else "assessor"].token or "x"):
            if path.startswith("/api/"):
                answer = people[who].send(path, CONTENT.get(path, {}), token=token)
            else:
                answer = people[who].post(
                    filled(path), token=token, name="eve", role="organizer", title="x", topic="MB001"
                )
            assert answer.status_code == 403, (path, token)
            tried += 1
    assert tried >= 60
    assert project.store.standing() == []
    assert [user.name for user in project.store.users()] == ["ann", "olga"]


def test_the_token_of_somebody_else_is_worth_nothing(people: dict[str, Browser], project: Project) -> None:
    add_person(project, "bob", topics=("MB001",))
    bob = signed_in(project, "bob", people["assessor"].app)
    assert people["assessor"].send("/api/at-work", {}, token=bob.token).status_code == 403
    assert people["assessor"].send("/api/at-work", {}).status_code == 200


def test_a_request_that_the_browser_calls_foreign_is_refused(people: dict[str, Browser]) -> None:
    ann = people["assessor"]
    headers = {"X-Page-Token": ann.token, "Sec-Fetch-Site": "cross-site"}
    assert ann.client.post("/api/at-work", json={}, headers=headers).status_code == 403


def test_the_token_works_behind_a_proxy_that_changes_host_and_scheme(people: dict[str, Browser]) -> None:
    ann = people["assessor"]
    for headers in (
        {"Host": "judge.example.org", "Origin": "https://judge.example.org", "X-Forwarded-Proto": "https", "X-Forwarded-Host": "judge.example.org"},
        {"Host": "10.0.0.3:8000", "Origin": "https://judge.example.org", "Referer": "https://judge.example.org/judge", "Sec-Fetch-Site": "same-origin"},
        {"Origin": "null"},
    ):  # fmt: skip
        answer = ann.client.post(
            "/api/at-work",
            json={},
            headers={
                **headers,
                "X-Page-Token": ann.token,
                "Cookie": "; ".join(f"{one.name}={one.value}" for one in ann.client.cookies.jar),
            },
        )
        assert answer.status_code == 200, headers


def test_every_answer_carries_the_headers_that_shut_scripts_out(people: dict[str, Browser]) -> None:
    for browser, path in (
        ("guest", "/sign-in"), ("guest", "/nothing"), ("assessor", "/"), ("assessor", "/organize"), ("assessor", "/api/next?topic=MB001"),
        ("assessor", "/static/queue.js"), ("organizer", "/organize"), ("organizer", "/api/export/log"), ("guest", "/openapi.json"), ("assessor", "/api/next"),
    ):  # fmt: skip
        answer = people[browser].get(path)
        for name, value in HEADERS.items():
            assert answer.headers[name] == value, (path, name)
    policy = HEADERS["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy


def test_pages_hold_no_script_no_style_and_no_address_elsewhere(people: dict[str, Browser]) -> None:
    for browser, path in (
        ("guest", "/sign-in"),
        ("assessor", "/"),
        ("assessor", "/judge?topic=MB001"),
        ("organizer", "/organize"),
        ("organizer", "/organize/topics"),
        ("organizer", "/organize/people"),
    ):
        text = people[browser].get(path).text
        scripts = re.findall(r"<script[^>]*>[^<]*</script>", text)
        assert len(scripts) == text.count("<script") >= 3
        a_script = r'<script src="/static/[a-z]+\.js" type="module"></script>'
        only_data = r'<script type="application/json" id="texts">[^<]*</script>'
        assert all(re.fullmatch(f"{a_script}|{only_data}", one) for one in scripts)
        assert "<style" not in text
        assert not re.search(r'\s(style|on\w+)="', text)
        assert not re.search(r'(src|href|action)="(?!/|#)', text)


def test_hostile_names_and_topics_are_only_text(project: Project) -> None:
    pseudonym = add_person(project, f"eve{HOSTILE}", topics=("MB001",))
    add_person(project, "olga", "organizer")
    project.store.save_topic("evil", title=HOSTILE, description=HOSTILE, narrative=HOSTILE, status="chosen")
    project.store.assign("evil", pseudonym)
    project.store.set_setting("instructions", HOSTILE)
    eve, olga = signed_in(project, f"eve{HOSTILE}"), signed_in(project, "olga")
    eve.send("/api/judge", {"topic": "evil", "doc": "d00", "grade": 1, "key": "abcdefgh", "comment": HOSTILE})
    pages = [
        eve.get(path)
        for path in (
            "/",
            "/judge?topic=evil",
            "/judge?topic=evil&doc=d00",
            "/history?topic=evil",
            "/account",
            f"/judge?topic=evil&doc=d00&query={HOSTILE}",
        )
    ]
    pages += [
        olga.get(path)
        for path in ("/organize/topics", "/organize/people", "/organize/project", "/organize/differences")
    ]
    for answer in pages:
        assert answer.status_code == 200
        assert "<script>alert" not in answer.text
        assert "<img" not in answer.text
        assert "&lt;script&gt;alert" in answer.text or "alert(" not in answer.text


@pytest.mark.parametrize("path", ["/api/judge", "/develop"])
def test_a_request_that_is_too_large_is_refused(people: dict[str, Browser], path: str) -> None:
    ann = people["assessor"]
    headers = {
        "X-Page-Token": ann.token,
        "Content-Type": "application/json"
        if path.startswith("/api")
        else "application/x-www-form-urlencoded",
    }
    told = ann.client.post(path, content=b"x" * (MOST_BYTES + 1), headers=headers)
    assert told.status_code == 413
    words = "he upload is larger than 1 MB; shorten it"
    assert words in (told.json()["detail"] if path.startswith("/api") else told.text)
    assert told.headers["content-security-policy"] == HEADERS["Content-Security-Policy"]
    untold = ann.client.post(path, content=(b"x" * 100_000 for _ in range(11)), headers=headers)
    assert untold.status_code in (400, 413)


LINE = b"MB001 Q0 d1 1 5.0 tag\n"


def packed(content: bytes) -> bytes:
    return gzip.compress(content, 1, mtime=0)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("run.txt", b"MB001 Q0 d1 1 5.0 tag\nMB001 Q0 d2 2 x tag\n", "run.txt:2"),
        ("run.txt", b"MB001 Q0 d1 1 5.0\n", "run.txt:1"),
        ("run.txt", b"", "run.txt"),
        ("run.txt", b"MB001 Q0 d1 1 nan tag\n", "run.txt:1"),
        ("run.txt", b"MB001 Q0 d1 1 5 tag\nMB001 Q0 d1 2 4 tag\n", "run.txt"),
        ("run.txt", b"x" * 10_000_000, "run.txt"),
        ("run.txt", "MB001 Q0 d1 1 5 tag\n".encode("utf-16"), "run.txt"),
        ("run.gz", b"\x1f\x8b\x08\x00" + b"\0" * 100, "run.gz is not a complete gz file"),
        ("run.gz", packed(LINE * 99)[:-9], "run.gz is not a complete gz file"),
        ("run.bz2", bz2.compress(LINE), "compressed"),
        ("run.gz", packed(b"MB001 Q0 d1 1 x tag\n"), "run.gz:1"),
        ("run.txt", LINE + b"MB001 Q0 " + b"d" * MOST_LINE, "run.txt:2: the line has more than 1 MB"),
        ("run.gz", packed(LINE * 2 + b"d" * (MOST_LINE + 1)), "run.gz:3: the line has more than 1 MB"),
        ("run.gz", packed(LINE * (1 + MOST_UNPACKED // len(LINE))), "unpacks to more than 100 MB"),
        ("run.zip", b"PK\x03\x04" + b"\0" * 100, "compressed"),
        ("quokkaRun.txt", b"MB001 Q0 d1 1 5.0 quokkaRun\n", "already"),
    ],
)  # fmt: skip
def test_a_run_that_cannot_be_used_is_refused_whole(
    people: dict[str, Browser], project: Project, name: str, content: bytes, problem: str
) -> None:
    before = project.store.last_sequence()
    olga = people["organizer"]
    answer = olga.client.post("/organize/runs", data={"token": olga.token}, files={"run": (name, content)})
    assert answer.status_code == 400
    assert problem in answer.text
    assert "/tmp" not in answer.text
    assert project.store.last_sequence() == before


def test_a_run_can_be_added_midway_and_its_name_leads_nowhere(
    people: dict[str, Browser], project: Project
) -> None:
    olga = people["organizer"]
    lines = b"".join(
        b"MB001 Q0 d%02d %d %d new\n" % (number, number + 1, 99 - number) for number in range(10)
    )
    answer = olga.client.post(
        "/organize/runs", data={"token": olga.token}, files={"run": ("../../etc/new<b>run.txt", lines)}
    )
    assert answer.status_code == 200
    assert "Run added." in answer.text
    assert project.engine.run_names()[3:] == ("new<b>run",)  # as `judge import` would name it
    assert "new&lt;b&gt;run" in answer.text
    assert "new<b>run" not in answer.text
    assert len(olga.get("/api/live").json()["runs"]) == 4


@pytest.mark.parametrize(
    ("file", "typed", "name"),
    [
        ("my run(1).txt", "", "my run(1)"),
        ("input.bm25.gz", "", "bm25"),
        ("C:\\runs\\bm25.v2.run", "", "bm25.v2"),
        ("bm25.txt", "  BM25 tuned ", "BM25 tuned"),
        (".." + "x" * 150 + "." + "é" * 90, "", None),
    ],
)
def test_a_run_has_one_name_however_it_comes_in(
    people: dict[str, Browser], project: Project, tmp_path: Path, file: str, typed: str, name: str | None
) -> None:
    """The name of the file as `import` and `init` would have it, or the one that was given; gz or not."""
    olga = people["organizer"]
    content = packed(LINE) if file.endswith("gz") else LINE
    answer = olga.client.post(
        "/organize/runs", data={"token": olga.token, "name": typed}, files={"run": (file, content)}
    )
    if name is None:
        assert answer.status_code == 400
        assert "he name of a run is" in answer.text
        return
    assert answer.status_code == 200
    assert project.engine.run_names()[3:] == (name,)
    if not typed and "\\" not in file:
        (tmp_path / file).write_bytes(content)
        with pytest.raises(DataError, match=f"there is a run {re.escape(repr(name))} already"):
            add_runs(project, [str(tmp_path / file)])
    else:
        (tmp_path / "other.txt").write_bytes(LINE)
        with pytest.raises(DataError, match=f"there is a run {re.escape(repr(name))} already"):
            add_runs(project, [str(tmp_path / "other.txt")], names=[name])


def test_an_upload_has_its_own_limit(people: dict[str, Browser]) -> None:
    olga = people["organizer"]
    headers = {
        "Content-Length": str(MOST_UPLOAD + 1),
        "Content-Type": "multipart/form-data; boundary=x",
        "X-Page-Token": olga.token,
    }
    assert olga.client.post("/organize/runs", content=b"", headers=headers).status_code == 413


def test_an_organizer_cannot_shut_themselves_out(people: dict[str, Browser], project: Project) -> None:
    olga = people["organizer"]
    number = project.store.users()[1].id
    for act in ("close", "erase", "role", "end"):
        assert olga.post(f"/organize/people/{act}", id=number).status_code == 400
    assert olga.get("/organize").status_code == 200


def test_making_somebody_an_organizer_ends_what_was_signed_in_before(
    people: dict[str, Browser], project: Project
) -> None:
    people["organizer"].post("/organize/people/role", id=project.store.users()[0].id)
    assert people["assessor"].get("/").status_code == 303
    assert signed_in(project, "ann").get("/organize").status_code == 200


def test_paths_lead_out_of_no_folder(people: dict[str, Browser]) -> None:
    for path in (
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2fapp.py",
        "/static//etc/passwd",
        "/api/export/..%2f..%2fjudging.sqlite",
    ):
        assert people["organizer"].get(path).status_code == 404


def test_two_servers_of_one_machine_do_not_share_cookies(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with make_project(tmp_path_factory.mktemp("other"), documents=5, topics=1) as other:
        names = {Browser(one).app.state.context.cookie for one in (project, other)}
    assert len(names) == 2


def test_all_servers_of_a_project_have_one_cookie_however_its_database_is_called(
    project: Project, tmp_path: Path
) -> None:
    copy = tmp_path / "of another machine"
    shutil.copytree(project.folder, copy)
    record = json.loads((copy / FILE).read_text())
    if record["database"].startswith("postgresql"):
        (copy / FILE).write_text(
            json.dumps({**record, "database": f"{record['database']}&application_name=x"})
        )
    with open_project(copy) as other:
        assert other.store.place != project.store.place
        assert Browser(other).app.state.context.cookie == Browser(project).app.state.context.cookie
