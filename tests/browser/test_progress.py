"""What an assessor sees of the way: over the topic and the day, the own pace, what follows, and a slow server."""

from __future__ import annotations

import time
from typing import Any

from tests.browser.conftest import Site, Visit, arrive, until
from tests.browser.judging_page import all_sent, judgments, press, shown

from sounding.judge.settings import Order


def text(page: Any, selector: str) -> str:
    return str(page.text_content(selector)).strip()


def test_progress_grows_with_each_judgment_and_falls_with_an_undo(site: Site, visit: Visit) -> None:
    site.project.engine.set_order("MB001", Order(policy="depth"))  # whose number of documents is known
    page = visit("ann", "/judge?topic=MB001")
    shown(page)
    until(page, "!document.querySelector('#progress').hidden")
    most = page.evaluate("document.querySelector('#progress').max")
    assert most == site.project.engine.counts().of("MB001").left
    for number in range(1, 6):
        press(page, "1")
        assert page.evaluate("document.querySelector('#progress').value") == number
        assert text(page, "#pace").startswith(f"{number} today")
    all_sent(page)
    assert page.evaluate("document.querySelector('#progress').max") == most
    assert "second each" in text(page, "#pace")
    press(page, "u")
    assert text(page, "#pace").startswith("4 today")
    all_sent(page)
    assert page.evaluate("document.querySelector('#progress').value") == 4
    page.reload()
    shown(page)
    until(page, "document.querySelector('#pace').textContent.startsWith('4 today')")


def test_a_server_that_does_not_answer_is_spoken_of_within_three_seconds(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    held: list[Any] = []
    page.route("**/api/judge", lambda route: held.append(route), times=1)
    begun = time.monotonic()
    press(page, "1")
    page.wait_for_selector("text=The server has not answered yet. 1 judgment is saved in this browser")
    assert 2.5 < time.monotonic() - begun < 6
    press(page, "2")  # one can go on
    until(page, lambda: held)
    held[0].continue_()
    all_sent(page)
    assert [grade for _, grade in judgments(site, 2)] == [1, 2]
    assert judgments(site, 2)[0][0] == first
    until(page, "document.querySelector('#notice').hidden")


def test_documents_that_do_not_come_are_spoken_of_as_well(site: Site, visit: Visit) -> None:
    page = visit("ann", "/")
    held: list[Any] = []
    page.route("**/api/next?*", lambda route: held.append(route), times=1)
    page.goto(f"{site.url}/judge?topic=MB001")
    page.wait_for_selector("text=The server has not answered yet. Waiting for the next document.")
    held[0].continue_()
    shown(page)
    until(page, "document.querySelector('#notice').hidden")


def test_the_next_topic_is_one_key_away(site: Site, visit: Visit) -> None:
    engine = site.project.engine
    while leases := engine.next("assessor-1", "303", 20):
        for lease in leases:
            engine.judge("assessor-1", "303", lease.doc, 0, key=f"key-{lease.doc}-long")
    page = visit("ann", "/judge?topic=303")
    link = page.wait_for_selector("a.onward:has-text('Next topic')")
    assert link.get_attribute("href") == "/judge?topic=304"
    arrive(page, lambda: page.keyboard.press("Enter"))
    assert page.url.endswith("/judge?topic=304")
    shown(page)
