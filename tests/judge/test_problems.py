"""Pages and replies that say what went wrong: plain words, the same in both, and a way on."""

from __future__ import annotations

import re
from html import unescape

import pytest
from fastapi.testclient import TestClient
from tests.judge.web import Browser, add_person, signed_in

from sounding.core.text import percent
from sounding.judge.app import FAULT, NOT_NOW
from sounding.judge.auth import RateLimit
from sounding.judge.database import StoreError
from sounding.judge.project import Project
from sounding.judge.web import HEADERS, NOTHING_HERE


@pytest.fixture
def ann(project: Project) -> Browser:
    add_person(project, "ann", topics=("MB001",))
    add_person(project, "olga", "organizer")
    return signed_in(project, "ann")


@pytest.fixture
def olga(ann: Browser, project: Project) -> Browser:
    return signed_in(project, "olga", ann.app)


def told(browser: Browser, path: str, status: int) -> str:
    """What a page of a problem says, once it has a heading and a way on."""
    answer = browser.client.get(path)
    assert answer.status_code == status
    assert re.search("<h1>[A-Z][a-z ]+</h1>", answer.text)
    assert '<a href="/">Home</a>' in answer.text
    found = re.search(r'<p dir="auto" class="lines">(.*?)\.</p>', answer.text, re.DOTALL)
    assert found is not None
    return unescape(found.group(1))


def replied(browser: Browser, path: str, status: int) -> str:
    answer = browser.client.get(path)
    assert answer.status_code == status
    detail: str = answer.json()["detail"]
    return detail[0].upper() + detail[1:]


@pytest.mark.parametrize(
    ("page", "reply", "status"),
    [
        ("/organize", "/api/live", 403),
        ("/nowhere", "/api/nowhere", 404),
        ("/judge?topic=404", "/api/next?topic=404", 404),
        ("/judge?topic=MB001&doc=x", "/api/document?topic=MB001&doc=x", 404),
        ("/judge", "/api/next", 422),
    ],
)
def test_a_page_says_what_a_reply_says(ann: Browser, page: str, reply: str, status: int) -> None:
    words = told(ann, page, status)
    assert words == replied(ann, reply, status)
    assert "Try again" not in ann.client.get(page).text  # it would say the same


def test_what_is_done_too_often_may_be_tried_again_and_says_when(ann: Browser, project: Project) -> None:
    ann.post("/develop", title="reefs")
    object.__setattr__(ann.app.state.context, "searches", RateLimit(1, 1000))
    path = "/develop/topic?id=N001&query=reef"
    assert ann.client.get(path).status_code == 200
    words = told(ann, path, 429)
    assert re.fullmatch(r"Too many searches; try again in (999|1,000) seconds", words)
    assert replied(ann, "/api/search?topic=N001&query=reef", 429).startswith(
        "Too many searches; try again in"
    )
    assert f'href="{path.replace("&", "&amp;")}">Try again</a>' in ann.client.get(path).text


def test_what_the_database_says_is_for_organizers_alone(
    ann: Browser, olga: Browser, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = "judging.sqlite: the database answered 'database or disk is full'; nothing was recorded"

    def full(*_: object, **__: object) -> None:
        raise StoreError(problem)

    monkeypatch.setattr(project.store, "topics", full)
    monkeypatch.setattr(project.store, "topics_by", full)
    plain = NOT_NOW[0].upper() + NOT_NOW[1:]
    assert told(ann, "/develop", 503) == plain
    assert told(olga, "/organize/topics", 503) == f"{plain}. Reason: {problem}"
    monkeypatch.setattr(project.store, "last_sequence", full)
    assert replied(olga, "/api/live", 503) == f"{plain}. Reason: {problem}"
    monkeypatch.setattr(project.store, "standing", full)
    assert replied(ann, "/api/judgments?topic=MB001", 503) == plain


def test_while_the_database_is_away_everybody_gets_an_answer(
    ann: Browser, olga: Browser, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object, **__: object) -> None:
        raise StoreError("postgresql://db/x: the database cannot be reached (refused); nothing was recorded")

    monkeypatch.setattr(project.store, "sign_in", away)  # so that nobody is known
    plain = NOT_NOW[0].upper() + NOT_NOW[1:]
    assert (told(ann, "/", 503), replied(ann, "/api/topics", 503)) == (plain, plain)
    assert "Reason: postgresql://db/x: the database cannot be reached" in told(olga, "/organize", 503)
    assert "Reason: postgresql://db/x" in replied(olga, "/api/live", 503)
    assert told(Browser(project, ann.app), "/nowhere", 404) == NOTHING_HERE.capitalize()
    answer = olga.client.get("/organize/topics?a=1&b=2")
    assert "set-cookie" not in answer.headers  # a guest's cookie would take the place of the sign-in
    assert 'href="/organize/topics?a=1&amp;b=2">Try again</a>' in answer.text
    monkeypatch.undo()
    assert olga.client.get("/organize/topics").status_code == 200


def test_a_server_whose_database_goes_away_before_anybody_asked_says_so(
    ann: Browser, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = Browser(project)

    def away(*_: object, **__: object) -> None:
        raise StoreError("away")

    for name in ("sign_in", "events"):
        monkeypatch.setattr(project.store, name, away)
    started.client.cookies = ann.client.cookies
    assert told(started, "/", 503) == NOT_NOW[0].upper() + NOT_NOW[1:]


def test_a_fault_that_nobody_foresaw_is_answered_in_plain_words(
    ann: Browser, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("division by zero in quokkaRun")

    monkeypatch.setattr(project.store, "topics_by", broken)
    monkeypatch.setattr(project.store, "standing", broken)
    with TestClient(ann.app, raise_server_exceptions=False, cookies=ann.client.cookies) as client:
        ann.client = client
        assert told(ann, "/develop", 500) == FAULT.capitalize()
        assert replied(ann, "/api/judgments?topic=MB001", 500) == FAULT.capitalize()
        answer = client.get("/develop")
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert "quokka" not in answer.text


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (0.0, "0%"), (1e-9, "<0.1%"), (0.0004, "<0.1%"), (0.0006, "0.1%"), (0.499, "49.9%"), (0.5, "50.0%"),
        (0.9994, "99.9%"), (0.9996, ">99.9%"), (1 - 1e-12, ">99.9%"), (1.0, "100%"),
    ],
)  # fmt: skip
def test_only_all_of_it_is_a_hundred_per_cent(share: float, words: str) -> None:
    assert percent(share) == words
