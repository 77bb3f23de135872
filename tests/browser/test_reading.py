"""What helps to read a document: jumping between marked words, words of one's own, the map, more of a long text."""

from __future__ import annotations

from typing import Any

import pytest
from tests.browser.conftest import BOTH, PHONE, Site, Visit, until
from tests.browser.judging_page import all_sent, judgments, press, shown

from sounding.judge import texts


def marks(page: Any, kind: str = "mark") -> list[str]:
    found: list[str] = page.locator(f"#text {kind}").all_inner_texts()
    return found


@BOTH
def test_n_and_p_go_from_mark_to_mark_and_round(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001&doc=d05")
    shown(page)
    count = len(marks(page))
    assert count > 2
    for step, expected in (("n", 1), ("n", 2), ("p", 1), ("p", count), ("n", 1)):
        page.keyboard.press(step)
        until(page, f"document.querySelector('#status').textContent === 'Marked word {expected} of {count}.'")
        assert page.locator("mark.current").count() == 1
    assert judgments(site, 0) == []


@BOTH
def test_own_words_are_marked_in_every_document_and_kept(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    shown(page)
    before = page.inner_text("#text")
    page.keyboard.press("f")
    page.keyboard.type("TÍDE rep")  # without accents and case, as parts of words
    until(page, "document.querySelectorAll('mark.own').length > 0")
    assert {word.casefold() for word in marks(page, "mark.own")} <= {"tide", "rep"}
    assert page.inner_text("#text") == before
    page.keyboard.press("Enter")
    until(page, "document.querySelector('#status').textContent.startsWith('Marked word')")
    press(page, "1")  # the field is left, so that keys grade again
    all_sent(page)
    until(page, "document.querySelectorAll('mark.own').length > 0")
    page.reload()
    shown(page)
    assert page.input_value("#terms") == "TÍDE rep"
    until(page, "document.querySelectorAll('mark.own').length > 0")
    page.fill("#terms", "")
    assert marks(page, "mark.own") == []


@pytest.mark.parametrize("size", [None, PHONE])
def test_a_long_document_comes_in_parts_with_a_map(
    site: Site, visit: Visit, monkeypatch: pytest.MonkeyPatch, size: Any
) -> None:
    monkeypatch.setattr(texts, "MOST_CHARACTERS", 150)
    page = visit("ann", "/judge?topic=MB001", *([size] if size else []))
    first = shown(page)
    words = len(page.inner_text("#text").split())
    parts = 0
    while page.locator("[data-more]").count():
        more = page.get_attribute("[data-more]", "data-more")
        page.click("[data-more]")
        until(page, "(more) => document.querySelector('[data-more]')?.dataset.more !== more", more)
        parts += 1
    assert parts >= 1
    assert len(page.inner_text("#text").split()) > words
    assert shown(page) == first
    page.set_viewport_size({"width": 500, "height": 150})
    until(page, "!document.querySelector('#map').hidden")
    until(page, "document.querySelectorAll('#map span').length > 0")
    press(page, "1")
    press(page, "u")
    assert shown(page) == first
    assert page.locator("[data-more]").count() == 0  # what was loaded stays
