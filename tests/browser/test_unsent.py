"""Grades that the server does not have yet: lost connections, ended sign-ins, refusals, other projects."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import (
    BOTH,
    PATIENCE,
    PHONE,
    Site,
    Visit,
    arrive,
    faults,
    new_page,
    settled,
    until,
)
from tests.browser.judging_page import (
    OFFLINE,
    all_sent,
    heard,
    judgments,
    press,
    shown,
    sign_in_again,
    unsent,
    use_up,
)
from tests.judge.web import PASSWORD, TOPICS, add_person, make_project

from sounding.judge.project import Project


@BOTH
def test_grades_given_without_a_connection_are_sent_after_it(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    press(page, "1")
    coming = use_up(page, "0")
    assert len(coming) == 5
    page.wait_for_selector("#notice:not([hidden])")
    until(page, "document.querySelector('#notice').textContent.includes('6 judgments are saved')")
    assert "Waiting for the connection" in page.text_content("#notice")  # nothing is loaded to go on with
    assert unsent(page) == 6
    assert judgments(site, 0) == []
    page.context.set_offline(False)
    assert judgments(site, 6) == [(first, 1), *((doc, 0) for doc in coming)]
    until(page, "document.querySelector('#notice').hidden")
    all_sent(page)
    assert shown(page) not in (first, *coming)


def test_undo_without_a_connection_is_sent_after_the_grade(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    assert press(page, "u") == first  # at once
    assert page.text_content("#count") == "0"
    assert unsent(page) == 2  # the grade was sent once, and nobody knows that it has not arrived
    press(page, "2")
    assert page.text_content("#count") == "1"
    page.context.set_offline(False)
    assert judgments(site, 2) == [(first, 1), (first, 2)]
    assert [(one.doc, one.grade) for one in site.project.store.standing()] == [(first, 2)]
    until(page, "document.querySelector('#notice').hidden")
    assert page.text_content("#count") == "1"
    assert shown(page) != first


def test_what_is_unsent_stays_in_order_when_the_clock_of_the_browser_goes_back(
    site: Site, visit: Visit
) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    page.evaluate("Date.now = () => 1000")
    press(page, "u")
    press(page, "2")
    assert unsent(page) == 3
    page.context.set_offline(False)
    assert judgments(site, 2) == [(first, 1), (first, 2)]
    all_sent(page)
    kinds = [event.kind for event in site.project.store.events() if event.doc == first]
    assert kinds == ["judge", "withdraw", "judge"]


def test_what_an_earlier_release_kept_goes_first(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    page.evaluate("""() => {
      const [place] = Object.keys(localStorage).filter((key) => key.startsWith('sounding:unsent:'));
      const text = localStorage.getItem(place);
      localStorage.removeItem(place);
      localStorage.setItem(place.replace(/:[0-9]+:([0-9a-f]+)$/, ':001763000000000:000007:$1'), text);
    }""")
    press(page, "u")
    assert unsent(page) == 2
    page.context.set_offline(False)
    assert judgments(site, 1) == [(first, 1)]
    all_sent(page)
    assert site.project.store.standing() == []


def test_undo_of_a_grade_that_never_left_the_browser_forgets_it(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    graded = use_up(page, "0")
    assert unsent(page) == 1 + len(graded)
    page.keyboard.press("u")  # though nothing is loaded to go on with
    assert shown(page) == graded[-1]
    assert unsent(page) == len(graded)
    page.context.set_offline(False)
    all_sent(page)
    assert judgments(site, 1) == [(first, 1), *((doc, 0) for doc in graded[:-1])]


def lose(route: Any) -> None:
    """The server gets a request, and its answer is lost."""
    route.fetch(timeout=PATIENCE * 1000)
    route.abort()


def test_undo_after_an_answer_that_was_lost_takes_the_grade_back(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=("ERR_FAILED",))
    first = shown(page)
    held: list[Any] = []
    page.route("**/api/judge", lambda route: held.append(route))
    page.route("**/api/judge", lose, times=1)  # goes first
    press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    assert judgments(site, 1) == [(first, 1)]
    assert press(page, "u") == first
    until(page, lambda: held)
    held[0].continue_()
    until(page, "document.querySelector('#status').textContent.startsWith('Undone')")
    assert site.project.store.standing() == []
    assert [event.kind for event in site.project.store.events() if event.doc][-2:] == ["judge", "withdraw"]
    assert unsent(page) == 0
    assert (shown(page), page.text_content("#count")) == (first, "0")


def test_a_grade_survives_a_closed_tab(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    press(page, "1")
    context = page.context
    page.close()
    context.set_offline(False)
    new_page(context).goto(f"{site.url}/")  # any page sends what is left
    assert judgments(site, 1) == [(first, 1)]


def test_a_grade_survives_a_server_that_is_stopped_and_started(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    site.stop()
    press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    site.start()
    assert judgments(site, 1) == [(first, 1)]


def test_an_answer_that_is_lost_makes_no_second_judgment(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=("ERR_FAILED",))
    first = shown(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.route("**/api/judge", lose, times=1)
    press(page, "1")
    all_sent(page)
    assert asked == [f"{site.url}/api/judge"] * 2
    assert judgments(site, 1) == [(first, 1)]
    assert page.is_hidden("#notice")


@BOTH
def test_an_ended_sign_in_asks_for_the_password_and_sends_the_grade(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=("401",))
    first = shown(page)
    site.project.store.end_sign_ins(1)
    press(page, "1")
    page.wait_for_selector("#again[open]")
    page.keyboard.type("12 is no password")  # digits into the dialog judge nothing
    page.click("#again button")
    page.wait_for_selector("#again .wrong:not([hidden])")
    assert unsent(page) == 1
    page.fill("#again [name=password]", PASSWORD)
    page.click("#again button")
    assert judgments(site, 1) == [(first, 1)]
    page.wait_for_selector("#again:not([open])", state="attached")
    second = shown(page)
    press(page, "0")
    assert judgments(site, 2) == [(first, 1), (second, 0)]


def test_what_one_left_unsent_is_never_sent_as_somebody_else(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=("401",))
    shown(page)
    site.project.store.end_sign_ins(1)
    press(page, "1")
    sign_in_again(page, "bob")
    page.wait_for_url(f"{site.url}/")
    page.goto(f"{site.url}/judge?topic=MB001")
    shown(page)
    assert judgments(site, 0) == []
    assert unsent(page) == 1


def test_storage_that_is_switched_off_does_not_stop_judging(site: Site, visit: Visit) -> None:
    page = visit("ann", "/account")
    page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } });"
    )
    page.goto(f"{site.url}/judge?topic=MB001")
    first = shown(page)
    press(page, "1")
    assert judgments(site, 1) == [(first, 1)]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Project]:
    """A project whose first assessor has the same pseudonym as that of the site."""
    with make_project(tmp_path / "other") as project:
        add_person(project, "zoe", topics=tuple(TOPICS))
        yield project


@pytest.mark.parametrize("stays_open", [False, True])
def test_a_grade_never_lands_in_another_project_at_the_same_address(
    site: Site, visit: Visit, other: Project, stays_open: bool
) -> None:
    here = site.project
    page = visit("ann", "/judge?topic=303", expected=(*OFFLINE, "401", "403"))
    context = page.context
    first = shown(page)
    context.set_offline(True)
    page.keyboard.press("2")
    page.wait_for_selector("#notice:not([hidden])")
    site.stop()
    site.project = other
    site.start()
    if not stays_open:
        page.close()
        context.set_offline(False)
        page = new_page(context)
        page.goto(f"{site.url}/sign-in")
        page.fill("[name=name]", "zoe")
        page.fill("[name=password]", PASSWORD)
        arrive(page, lambda: page.click("main button"))
    else:
        context.set_offline(False)
        sign_in_again(page, "zoe")
        page.wait_for_url(f"{site.url}/")
    page.goto(f"{site.url}/judge?topic=303")
    shown(page)
    assert judgments(site, 0) == []  # of the other project
    assert unsent(page) == 1
    site.stop()
    site.project = here
    site.start()
    page.goto(f"{site.url}/")  # where ann is still signed in
    assert judgments(site, 1) == [(first, 2)]
    all_sent(page)


def refusing(page: Any, why: str = "this is not one of your topics") -> None:
    """Let the next judgment be refused as this server refuses."""
    page.route("**/api/judge", lambda route: route.fulfill(status=404, json={"detail": why}), times=1)


def test_a_grade_that_is_refused_is_shown_until_it_is_tried_again(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=("404",))
    first, title = shown(page), page.text_content("#doc .title")
    refusing(page)
    page.keyboard.press("c")
    page.keyboard.type("a <b>bold</b> claim")
    page.keyboard.press("Escape")
    with heard(page, "**/api/next*", "after the refusal"):
        second = press(page, "2")
    page.wait_for_selector("#refused:not([hidden])")
    assert page.text_content("#refused h2") == "The server refused 1 judgment"
    words = page.text_content("#refused li")
    assert f"Grade 2: {title} ({first}) in topic MB001, with the comment “a <b>bold</b> claim”" in words
    assert "This is not one of your topics" in words
    assert (unsent(page), page.text_content("#count")) == (0, "0")
    assert shown(page) == second  # what is being read stays
    page.goto(f"{site.url}/")  # every page shows it
    page.wait_for_selector("#refused:not([hidden])")
    assert judgments(site, 0) == []
    assert page.is_hidden("#refused >> text=Try again")  # in one line, away from the topic
    page.click("#refused summary")
    page.click("#refused >> text=Try again")
    assert judgments(site, 1) == [(first, 2)]
    until(page, "document.querySelector('#refused').hidden")
    page.reload()
    assert page.is_hidden("#refused")


def test_what_is_refused_can_be_read_and_used_by_everybody(visit: Visit, axe: str) -> None:
    page = visit("ann", "/judge?topic=MB001", PHONE, expected=("404",))
    shown(page)
    refusing(page)
    press(page, "2")
    page.wait_for_selector("#refused:not([hidden])")
    settled(page)
    assert faults(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.focus("#refused >> text=Discard")
    page.keyboard.press("Enter")
    until(page, "document.activeElement.id === 'document'")


def test_a_grade_that_is_refused_is_discarded_on_the_persons_word_alone(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=("404",))
    first = shown(page)
    refusing(page)
    press(page, "2")
    page.wait_for_selector("#refused:not([hidden])")
    page.reload()
    shown(page)
    assert page.locator("#refused li").count() == 1
    page.click("#refused >> text=Discard")
    until(page, "document.querySelector('#refused').hidden")
    page.reload()
    assert shown(page) == first
    assert page.is_hidden("#refused")
    assert judgments(site, 0) == []


def test_undo_of_a_grade_that_was_refused_brings_the_document_back(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=("404",))
    first = shown(page)
    refusing(page)
    press(page, "2")
    page.wait_for_selector("#refused:not([hidden])")
    assert press(page, "u") == first
    assert page.is_hidden("#refused")
    press(page, "1")
    assert judgments(site, 1) == [(first, 1)]
    assert page.text_content("#count") == "1"


def test_undo_of_a_grade_that_is_refused_afterwards_takes_nothing_else_back(site: Site, visit: Visit) -> None:
    site.project.engine.judge("assessor-1", "MB001", "d05", 1, key="judged-before")
    page = visit("ann", "/judge?topic=MB001&doc=d05", expected=("404",))
    shown(page)
    held: list[Any] = []
    page.route("**/api/judge", lambda route: held.append(route), times=1)
    page.keyboard.press("2")
    until(page, lambda: held)
    page.keyboard.press("u")
    held[0].fulfill(status=404, json={"detail": "this is not one of your topics"})
    all_sent(page)
    assert [(one.doc, one.grade) for one in site.project.store.standing()] == [("d05", 1)]
    assert page.is_hidden("#refused")


@pytest.mark.parametrize(
    "answer",
    [
        {"status": 404, "content_type": "text/html", "body": "<h1>404 Not Found</h1>"},
        {"status": 403, "json": {"error": "blocked by policy"}},
        {"status": 200, "content_type": "text/html", "body": "<h1>Welcome to the train</h1>"},
        {"status": 200, "json": {"welcome": "to the train"}},
        {"status": 500, "json": {"detail": "the server has a fault"}},
        {"status": 429, "json": {"detail": "too many"}},
    ],
    ids=["html", "json", "portal", "json-portal", "fault", "too-many"],
)
def test_only_this_servers_refusals_are_final(site: Site, visit: Visit, answer: dict[str, Any]) -> None:
    page = visit("ann", "/judge?topic=304", expected=(str(answer["status"]),))
    first = shown(page)
    held: list[Any] = []
    page.route(
        "**/api/judge", lambda route: held.append(route)
    )  # or the notice would be gone before a slow machine looks
    page.route("**/api/judge", lambda route: route.fulfill(**answer), times=1)  # the last one goes first
    page.keyboard.press("1")
    until(page, "document.querySelector('#notice').textContent.includes('1 judgment is saved')")
    assert page.is_hidden("#refused")
    until(page, lambda: held)
    held[0].continue_()
    assert judgments(site, 1) == [(first, 1)]  # sent again
    until(page, "document.querySelector('#notice').hidden")
    assert unsent(page) == 0
