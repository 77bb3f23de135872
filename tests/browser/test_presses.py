"""Presses that nobody meant: a second one too soon, one on a page that is behind, a finger's trace."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.browser.conftest import PHONE, Site, Visit, faults, new_page, settled, until
from tests.browser.judging_page import OFFLINE, all_sent, heard, judgments, press, shown, unsent, use_up

from sounding.judge.review import draw_audit
from sounding.judge.web import Context

TWICE = """(key) => {
  for (const _ of [1, 2]) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}"""

SKIPPING = """async (times) => {
  const button = document.querySelector("[data-do=skip]");
  for (let done = 0; done < times; done += 1) {
    while (button.disabled) await new Promise((go) => setTimeout(go, 5));
    button.click();
  }
}"""


@pytest.fixture
def as_served(site: Site) -> Site:
    """The site with the pause that it has for people."""
    site.stop()
    site.pause = Context.pause
    site.start()
    return site


def acts(site: Site) -> list[str | None]:
    """The documents that were judged or put off, one for each time."""
    return [event.doc for event in site.project.store.events() if event.kind in ("judge", "skip")]


@pytest.mark.parametrize("key", ["2", "x", "s"])
def test_a_document_that_has_only_just_come_takes_no_grade(as_served: Site, visit: Visit, key: str) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    page.wait_for_timeout(as_served.pause + 100)
    page.evaluate(TWICE, key)
    page.wait_for_selector("text=Ignored: this document has only just appeared.")
    second = shown(page)
    assert second != first
    assert page.locator("#status").evaluate("(one) => one.className") == "passed-over"
    until(page, lambda: acts(as_served))
    before = len(judgments(as_served, 0))
    page.wait_for_timeout(as_served.pause + 100)
    press(page, "1")  # goes after all that was done before
    assert judgments(as_served, before + 1)[before:] == [(second, 1)]
    assert acts(as_served) == [first, second]
    assert page.locator("#status").evaluate("(one) => one.className") == ""
    page.keyboard.press("u")  # at once
    until(page, "(doc) => document.querySelector('#doc bdi').textContent === doc", second)


def two_tabs(site: Site, visit: Visit, expected: str) -> tuple[Any, Any, str]:
    """Two pages of one person that show the same document, and that document."""
    page = visit("ann", "/judge?topic=MB001", expected=(expected,))
    other = new_page(page.context)
    other.goto(f"{site.url}/judge?topic=MB001")
    first = shown(page)
    assert shown(other) == first
    return page, other, first


def test_a_grade_given_in_another_tab_is_not_changed_unasked(site: Site, visit: Visit) -> None:
    page, other, first = two_tabs(site, visit, "412")
    press(page, "0")
    judgments(site, 1)
    for button, grade in (("Keep grade", 0), ("Change grade", 1)):
        other.keyboard.press("1")
        other.wait_for_selector("text=You gave this document the grade 0 meanwhile on another page.")
        assert [one.grade for one in site.project.store.standing(doc=first, topic="MB001")] == [0]
        other.click(f"#refused button:text('{button}')")
        until(other, "document.querySelector('#refused').hidden")
        until(other, "!Object.keys(localStorage).some((key) => /^sounding:(unsent|refused):/.test(key))")
        assert [one.grade for one in site.project.store.standing(doc=first, topic="MB001")] == [grade]
        other.goto("about:blank")
        if grade == 0:  # a page that has not heard of it
            other.route("**/api/next*", lambda route: route.fulfill(json=behind(first)))
            other.goto(f"{site.url}/judge?topic=MB001")
            assert shown(other) == first


def test_two_tabs_count_the_judgments_of_both(site: Site, visit: Visit) -> None:
    page, other, _ = two_tabs(site, visit, "412")
    with heard(other, "**/api/next*", "after the grade"):
        press(page, "0")
    with heard(other, "**/api/next*", "after the refusal"):
        other.keyboard.press("1")
    other.wait_for_selector("text=You gave this document the grade 0 meanwhile on another page.")
    until(other, "document.querySelector('#status').textContent === ''")  # no grade that does not stand
    until(other, "document.querySelector('#count').textContent === '1'")  # that of the other tab
    other.click("#refused button:text('Keep grade')")
    shown(other)
    press(page, "0")
    until(other, "document.querySelector('#count').textContent === '2'")
    press(other, "u")
    until(other, "document.querySelector('#count').textContent === '1'")
    until(page, "document.querySelector('#count').textContent === '1'")


def test_a_grade_that_another_tab_sends_is_refused_in_the_tab_that_gave_it(site: Site, visit: Visit) -> None:
    page, other, _ = two_tabs(site, visit, "404")
    held: list[Any] = []
    why = {"detail": "this is not one of your topics"}
    page.route("**/api/judge", lambda route: route.fulfill(status=404, json=why))
    page.route("**/api/judge", lambda route: held.append(route), times=1)  # goes first
    other.route("**/api/judge", lambda route: None)  # its own request never comes to an end
    page.keyboard.press("1")
    until(page, lambda: held)
    press(other, "2")
    assert str(other.text_content("#status")).startswith("2 highly relevant: ")
    held[0].continue_()  # and goes on with what the other tab keeps
    other.wait_for_selector("text=This is not one of your topics")
    until(other, "document.querySelector('#status').textContent === ''")
    until(other, "document.querySelector('#count').textContent === '1'")  # that of the first tab


def question(page: Any) -> str:
    """The heading of what the page wants to know, once there is something."""
    page.wait_for_selector("#refused:not([hidden])")
    return str(page.text_content("#refused h2"))


def test_a_grade_that_met_another_one_is_a_question_and_no_refusal(site: Site, visit: Visit) -> None:
    page, other, _ = two_tabs(site, visit, "412")
    press(page, "0")
    judgments(site, 1)
    press(other, "1")
    assert question(other) == "1 document with two grades: which one should count?"
    assert other.is_visible("#refused button:text('Change grade')")
    why = {"detail": "this is not one of your topics"}
    other.route("**/api/judge", lambda route: route.fulfill(status=404, json=why), times=1)
    press(other, "2")
    other.wait_for_selector("text=This is not one of your topics")
    both = "The server refused 1 judgment; 1 document with two grades: which one should count?"
    assert other.text_content("#refused h2") == both
    other.click("#refused button:text('Keep grade')")
    until(other, "document.querySelector('#refused h2').textContent === 'The server refused 1 judgment'")
    assert other.evaluate("document.activeElement.closest('#refused summary') !== null")


def test_what_is_asked_of_another_topic_is_one_line_that_a_key_unfolds(
    site: Site, visit: Visit, axe: str
) -> None:
    page, other, first = two_tabs(site, visit, "412")
    title = other.text_content("#doc .title")
    press(page, "0")
    judgments(site, 1)
    press(other, "1")
    question(other)
    other.set_viewport_size(PHONE)
    assert other.evaluate("document.querySelector('#refused').offsetHeight") < PHONE["height"] / 4
    for path in ("/judge?topic=303", "/"):
        other.goto(site.url + path)
        if path.startswith("/judge"):
            shown(other)
        assert question(other) == "1 document with two grades: which one should count?"
        assert other.is_hidden("#refused ul")
        assert other.evaluate("document.querySelector('#refused').offsetHeight") < PHONE["height"] / 10
        assert faults(other, axe) == []
        other.focus("#refused summary")
        other.keyboard.press("Enter")
        other.wait_for_selector("#refused button:text('Change grade')")
        assert f"Grade 1: {title} ({first}) in topic MB001." in str(other.text_content("#refused li"))
        assert faults(other, axe) == []
    other.keyboard.press("Tab")
    other.keyboard.press("Enter")  # change it
    until(other, "document.querySelector('#refused').hidden")
    until(other, lambda: [one.grade for one in site.project.store.standing(doc=first, topic="MB001")] == [1])


def behind(doc: str) -> dict[str, Any]:
    """What the server said before the document was judged."""
    shown_before = {
        "doc": doc, "heading": "", "html": "<p>text</p>", "missing": False, "grade": None, "judged": False, "comment": "",
    }  # fmt: skip
    coming = {"left": None, "batch_left": 0, "batch_size": 0, "words": "more"}
    return {"topic": "MB001", "documents": [shown_before], "coming": coming, "judged": 0}


def test_what_this_page_did_itself_without_a_connection_is_no_surprise(site: Site, visit: Visit) -> None:
    site.project.engine.judge("assessor-1", "MB001", "d10", 1, key="key-before")
    page = visit("ann", "/judge?topic=MB001&doc=d10", expected=OFFLINE)
    until(page, "document.querySelector('[data-grade=\"1.0\"]').getAttribute('aria-pressed') === 'true'")
    page.context.set_offline(True)
    for key in "2u0":
        page.keyboard.press(key)
    until(page, "!document.querySelector('#notice').hidden")
    assert unsent(page) == 3
    page.context.set_offline(False)
    all_sent(page)
    assert page.is_hidden("#refused")
    assert [(one.doc, one.grade) for one in site.project.store.standing()] == [("d10", 0)]


def test_a_tap_leaves_no_mark_on_the_next_document(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", PHONE)
    first = shown(page)
    page.tap("[data-grade='1.0']")
    until(page, "(before) => document.querySelector('#doc bdi').textContent !== before", first)
    shown(page)
    settled(page)  # borders change slowly
    borders = page.locator(".grade").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).borderColor)"
    )
    assert len(set(borders)) == 1


def test_a_document_that_is_graded_is_gone_while_the_next_one_is_loaded(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    shown(page)
    page.context.set_offline(True)
    use_up(page)
    assert page.text_content("#doc").strip() == "…"


def test_no_more_is_told_of_what_was_put_off_than_the_server_takes(site: Site, visit: Visit) -> None:
    site.project.engine.judge("assessor-1", "MB001", "d10", 1, key="key-before")
    number = draw_audit(site.project.store, "assessor-3", "assessor-1", 1, seed=0)
    page = visit("olga", "/organize/people")
    asked: list[list[str]] = []

    def answer(route: Any) -> None:
        asked.append(parse_qs(urlsplit(route.request.url).query).get("later", []))
        work = behind(f"one-{len(asked)}")
        work["documents"] += behind(f"two-{len(asked)}")["documents"]
        route.fulfill(json=work)

    page.route("**/api/audit/next*", answer)
    page.goto(f"{site.url}/organize/audit/judge?audit={number}&topic=MB001")
    shown(page)
    page.evaluate(SKIPPING, 103)
    until(page, lambda: len(asked) == 104)
    assert max(map(len, asked)) == 100
