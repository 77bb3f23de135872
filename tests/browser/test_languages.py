"""Pages in other languages, from left to right and from right to left, in both browsers."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.browser.conftest import BOTH, DESK, PHONE, Site, Visit, arrive, faults, settled, until
from tests.browser.judging_page import OFFLINE, all_sent, judgments, press, shown
from tests.browser.pseudo import pseudo_arabic

from sounding.judge.language import LANGUAGES
from sounding.judge.organizing import change_settings, set_instructions

INSTRUCTIONS = "# So geht es\n- **relevant**: [Beispiele](https://example.org)\n\n|a|b|\n|-|-|\n|1|2|"
ASSESSOR_PAGES = ("/", "/judge?topic=MB001", "/history?topic=MB001", "/develop", "/account")
ORGANIZER_PAGES = (
    "/organize", "/organize/topics", "/organize/people", "/organize/differences", "/organize/audit",
    "/organize/project",
)  # fmt: skip


def wait_for(page: Any, path: str) -> None:
    if path.startswith("/judge"):
        shown(page)
    if path == "/organize":
        until(page, "document.querySelectorAll('#runs tbody tr').length > 0")
    settled(page)


def is_wider(page: Any) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


@BOTH
def test_somebody_chooses_german_and_judges_in_it(site: Site, visit: Visit) -> None:
    page = visit("ann", "/account", expected=OFFLINE)
    page.select_option("[name=language]", "de")
    arrive(page, lambda: page.click("form[action='/language'] button"))
    assert page.inner_text("main h2 >> nth=0").startswith("Passwort")
    assert re.fullmatch(r"\d\d\.\d\d\.\d{4}, \d\d:\d\d", page.inner_text("tbody time >> nth=0"))
    page.goto(f"{site.url}/judge?topic=MB001")
    first = shown(page)
    second = press(page, "1")
    assert judgments(site, 1) == [(first, 1)]
    until(page, "document.querySelector('#pace').textContent === 'heute 1'")
    page.keyboard.press("u")
    until(page, "document.querySelector('#status').textContent.startsWith('Rückgängig gemacht: ')")
    assert shown(page) == first
    page.keyboard.press("q")
    assert "q ist keine Taste dieser Seite" in page.inner_text("#status")
    page.context.set_offline(True)
    page.keyboard.press("2")
    page.wait_for_selector("text=1 Urteil ist in diesem Browser gespeichert")
    page.context.set_offline(False)
    all_sent(page)
    assert shown(page) == second
    assert [(one.doc, one.grade) for one in site.project.store.standing()] == [(first, 2)]


def check_pages(site: Site, visit: Visit, axe: str, scheme: str) -> None:
    """Every page fits a desk and a phone, and everybody can use it."""
    for name, paths in (("ann", ASSESSOR_PAGES), ("olga", ORGANIZER_PAGES)):
        page = visit(name, "/account", scheme=scheme)
        for path in paths:
            page.set_viewport_size(DESK)
            page.goto(site.url + path)
            wait_for(page, path)
            assert not is_wider(page), path
            page.set_viewport_size(PHONE)
            settled(page)
            assert not is_wider(page), path
            assert faults(page, axe) == [], path


def test_german_fits_and_is_usable(site: Site, visit: Visit, axe: str) -> None:
    change_settings(site.project, language="de")
    set_instructions(site.project, INSTRUCTIONS)
    check_pages(site, visit, axe, "light")


def test_a_language_from_right_to_left_fits_and_is_usable(
    site: Site, visit: Visit, axe: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LANGUAGES, "ar", pseudo_arabic())
    change_settings(site.project, language="ar")
    check_pages(site, visit, axe, "dark")


PLACES = """() => {
  const box = (selector) => document.querySelector(selector).getBoundingClientRect();
  const [home, nav, topic, text] = ['.home', '.bar nav', '.topic', '#text'].map(box);
  const grades = [...document.querySelectorAll('.grade')].map((one) => one.getBoundingClientRect().x);
  return {
    home: home.x > nav.x, topic: topic.x > text.x, grades: grades[0] > grades.at(-1),
    document: getComputedStyle(document.querySelector('#text p')).direction,
    title: getComputedStyle(document.querySelector('.topic summary strong')).direction,
    summary: getComputedStyle(document.querySelector('.topic summary')).direction,
  };
}"""


@BOTH
def test_a_language_from_right_to_left_turns_the_page_and_not_the_documents(
    site: Site, visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LANGUAGES, "ar", pseudo_arabic())
    change_settings(site.project, language="ar")
    page = visit("ann", "/judge?topic=MB001")
    shown(page)
    assert page.evaluate(PLACES) == {
        "home": True, "topic": True, "grades": True, "document": "ltr", "title": "ltr", "summary": "rtl",
    }  # fmt: skip
    before = shown(page)
    press(page, "1")
    said = page.text_content("#status")
    assert before in said or "Report" in said
    page.goto(f"{site.url}/judge?topic=303&doc=d02")
    shown(page)
    assert page.evaluate(PLACES)["document"] == "rtl"


def test_numbers_on_the_live_page_are_written_as_in_german(site: Site, visit: Visit) -> None:
    change_settings(site.project, language="de")
    page = visit("olga", "/organize")
    until(page, "document.querySelectorAll('#runs tbody tr').length > 0")
    assert re.search(r"\b0,\d{3}\b", page.inner_text("#runs"))
    assert page.inner_text("#updated").startswith("Aktualisiert ")
    assert "dafür braucht es" in page.inner_text("#verdict")
