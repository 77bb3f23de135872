"""Comments that were typed and not sent, and what the page says of what waits or has changed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.browser.conftest import Site, Visit, arrive, new_page, until
from tests.browser.judging_page import OFFLINE, all_sent, judgments, press, shown, use_up

from sounding.judge.organizing import set_instructions


def write(page: Any, words: str) -> None:
    """Type a comment and leave the field."""
    page.keyboard.press("c")
    page.keyboard.type(words)
    page.keyboard.press("Escape")


def typed(page: Any) -> str:
    """What the field of the comment holds, once a document is there."""
    shown(page)
    return str(page.input_value("#comment"))


def kept(page: Any) -> int:
    return int(
        page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('sounding:comment:')).length")
    )


def test_a_comment_comes_back_with_a_document_that_was_skipped(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    write(page, "page 12 matters")
    press(page, "s")
    assert typed(page) == ""
    assert press(page, "u") == first
    assert typed(page) == "page 12 matters"
    until(page, "document.querySelector('#status').textContent.startsWith('Undone')")
    press(page, "1")
    assert judgments(site, 1) == [(first, 1)]
    [said] = [event.comment for event in site.project.store.events() if event.kind == "judge"]
    assert said == "page 12 matters"
    assert kept(page) == 0


@pytest.mark.parametrize("stores", [True, False])
def test_a_comment_comes_back_with_a_skip_taken_back_whatever_the_browser_stores(
    site: Site, visit: Visit, stores: bool
) -> None:
    page = visit("ann", "/account")
    if not stores:
        page.add_init_script(
            "Object.defineProperty(window, 'localStorage', { get() { throw new Error('off'); } });"
        )
    page.goto(f"{site.url}/judge?topic=MB001")
    first = shown(page)
    write(page, "so")
    press(page, "s")
    assert press(page, "u") == first
    assert typed(page) == "so"


def test_a_comment_that_was_not_sent_survives_a_reload_and_another_page(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    write(page, "only <b>ships</b>")
    page.reload()
    assert (typed(page), shown(page)) == ("only <b>ships</b>", first)
    assert page.is_visible("#comment")  # though nobody opened it
    arrive(page, lambda: page.click("text=my judgments"))
    arrive(page, lambda: page.click("text=Continue judging"))
    assert typed(page) == "only <b>ships</b>"
    page.fill("#comment", "")
    assert kept(page) == 0
    page.reload()
    assert typed(page) == ""
    write(page, "all about ships")
    page.keyboard.press("0")
    assert judgments(site, 1) == [(first, 0)]
    assert kept(page) == 0
    page.goto(f"{site.url}/judge?topic=MB001&doc={first}")
    assert typed(page) == "all about ships"  # as the server has it
    write(page, ", whales")
    page.reload()
    assert typed(page) == "all about ships, whales"
    assert site.project.store.standing()[0].comment == "all about ships"


def test_a_comment_of_a_grade_that_was_taken_back_survives_a_reload(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    write(page, "hm")
    press(page, "2")
    assert judgments(site, 1) == [(first, 2)]
    all_sent(page)
    assert press(page, "u") == first
    assert typed(page) == "hm"
    page.reload()
    assert (shown(page), typed(page)) == (first, "hm")


def test_a_comment_stays_with_its_document_its_topic_and_its_account(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001&doc=d05")
    shown(page)
    write(page, "of ann")
    for place in ("topic=MB001&doc=d06", "topic=304&doc=d05"):
        page.goto(f"{site.url}/judge?{place}")
        assert typed(page) == ""
    arrive(page, lambda: page.click("text=Sign out"))
    page.fill("[name=name]", "bob")
    page.fill("[name=password]", "correct horse battery")
    page.click("main button")
    page.wait_for_url(f"{site.url}/")
    page.goto(f"{site.url}/judge?topic=MB001&doc=d05")
    assert typed(page) == ""


def test_a_grade_of_another_tab_does_not_throw_a_comment_away(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001&doc=d05")
    shown(page)
    other = new_page(page.context)
    other.goto(f"{site.url}/judge?topic=MB001&doc=d05")
    shown(other)
    write(page, "half a thou")
    other.keyboard.press("1")  # its own field is empty
    assert judgments(site, 1) == [("d05", 1)]
    page.reload()
    assert typed(page) == "half a thou"


def test_the_count_of_what_waits_follows_an_undo_without_a_connection(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    second = press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    graded = use_up(page, "0")
    until(page, "document.querySelector('#notice').textContent.includes('6 judgments are saved')")
    page.route("**/api/*", lambda route: None)  # no later attempt says anything
    assert press_undo(page) == graded[-1]
    until(page, "document.querySelector('#notice').textContent.includes('5 judgments are saved')")
    for doc in graded[-2::-1]:
        assert press(page, "u") == doc
    assert graded[0] == second
    until(page, "document.querySelector('#notice').textContent.includes('1 judgment is saved')")
    assert "1 judgment is saved in this browser" in page.text_content("#notice")
    assert press(page, "u") == first
    until(page, "document.querySelector('#notice').textContent.includes('Your last action is saved')")
    page.unroute("**/api/*")
    page.context.set_offline(False)
    page.reload()
    all_sent(page)
    assert site.project.store.standing() == []
    assert page.is_hidden("#notice")


def press_undo(page: Any) -> str:
    """Take back what was done last while nothing is loaded; returns the document that comes back."""
    page.keyboard.press("u")
    return shown(page)


def test_the_page_says_that_the_instructions_have_changed(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    press(page, "1")
    assert judgments(site, 1) == [(first, 1)]
    all_sent(page)
    assert page.is_hidden("#changed")
    set_instructions(site.project, "Judge by the title alone.")
    press(page, "0")
    page.wait_for_selector("#changed:not([hidden])")
    assert page.text_content("#changed") == (
        "The instructions, the topic or the title changed. To see them, reload this page."
    )
    press(page, "0")
    all_sent(page)
    assert page.locator("#changed a").count() == 1  # said once
    write(page, "so far")
    arrive(page, lambda: page.click("#changed a"))
    assert page.is_visible("text=Judge by the title alone.")
    assert typed(page) == "so far"
    assert page.is_hidden("#changed")
