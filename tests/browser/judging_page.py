"""The judging page as tests see it: what it shows, what its keys do, what it has not sent."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.browser.conftest import PATIENCE, Site, until
from tests.judge.web import PASSWORD

OFFLINE = (
    "ERR_INTERNET_DISCONNECTED",
    "ERR_CONNECTION_REFUSED",
    "ERR_EMPTY_RESPONSE",
    "ERR_CONNECTION_RESET",
)


SHOWN = """() => {
  const doc = document.querySelector('#doc bdi').textContent;
  const isLoading = document.querySelector('#text').textContent.startsWith('Loading');
  return isLoading || doc === '…' ? '' : doc;
}"""


def shown(page: Any) -> str:
    """The document on the page, once there is one: whatever waited in the browser was sent before."""
    return str(until(page, SHOWN))


def press(page: Any, key: str) -> str:
    """Press a key; returns the document that comes next."""
    before = shown(page)
    page.keyboard.press(key)
    until(page, "(before) => document.querySelector('#doc bdi').textContent !== before", before)
    return shown(page)


def use_up(page: Any, key: str = "1") -> list[str]:
    """Grade every document that is loaded, without a connection; returns them."""
    graded: list[str] = []
    while doc := page.evaluate(SHOWN):
        graded.append(doc)
        page.keyboard.press(key)
        until(page, "(before) => document.querySelector('#doc bdi').textContent !== before", doc)
    return graded


def judgments(site: Site, count: int) -> list[tuple[str | None, float | None]]:
    """Document and grade of all judgments of the log, once there are so many."""
    deadline = time.monotonic() + PATIENCE
    while True:
        found = [(event.doc, event.grade) for event in site.project.store.events() if event.kind == "judge"]
        if len(found) >= count:
            return found
        assert time.monotonic() < deadline, f"never {count} judgments: {found}"
        time.sleep(0.02)


def unsent(page: Any) -> int:
    return int(
        page.evaluate("Object.keys(localStorage).filter((key) => key.startsWith('sounding:unsent:')).length")
    )


def all_sent(page: Any) -> None:
    """Wait until the server has answered to everything that was done."""
    until(page, lambda: unsent(page) == 0)


@contextmanager
def heard(page: Any, path: str, words: str) -> Iterator[None]:
    """Do what makes a page ask what is left to judge, and wait until it has heard: then it says these words."""

    def answer(route: Any) -> None:
        found = route.fetch(timeout=PATIENCE * 1000)
        work = found.json()
        work["coming"]["words"] = words
        route.fulfill(response=found, json=work)

    page.route(path, answer, times=1)
    yield
    until(page, "(words) => document.querySelector('#coming').textContent === words", words)


def sign_in_again(page: Any, name: str) -> None:
    """Sign in through the dialog that an ended sign-in opens over the page."""
    page.wait_for_selector("#again[open]")
    page.fill("#again [name=name]", name)
    page.fill("#again [name=password]", PASSWORD)
    page.click("#again button")
