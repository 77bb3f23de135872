"""One document, several subtopics on one screen: check marks, or a row of grades for each."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import DESK, PHONE, Site, Visit, becomes, faults, until
from tests.browser.judging_page import OFFLINE, all_sent, press, shown
from tests.judge.test_subtopics import TABLE
from tests.judge.web import add_person, make_project

from sounding.judge.project import open_project
from sounding.judge.settings import parse_scale

TOPIC = "/judge?topic=MB001"


def build(folder: Path, **settings: Any) -> Path:
    (folder / "subtopics.tsv").write_text(TABLE)
    with make_project(
        folder, documents=12, topics=3, subtopics=str(folder / "subtopics.tsv"), kind="subtopics", **settings
    ) as project:
        add_person(project, "ann", topics=("MB001", "303"))
        return project.folder


@pytest.fixture(scope="session")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("graded"))


@pytest.fixture(scope="session")
def binary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("binary"), scale=parse_scale("0=no,1=yes"))


@pytest.fixture
def site(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Site]:
    shutil.copytree(request.getfixturevalue(getattr(request, "param", "binary")), tmp_path / "project")
    with open_project(tmp_path / "project") as project:
        site = Site(project)
        yield site
        site.leave()


GRADED = pytest.mark.parametrize("site", ["graded"], indirect=True)


def whole(page: Any) -> str:
    """The document on the page, after one without a text."""
    if (doc := shown(page)) == "gone-from-corpus":
        return press(page, "x")
    return doc


def log(site: Site) -> list[tuple[str | None, float | None, dict[str, float]]]:
    events = site.project.store.events()
    return [
        (event.doc, event.grade, event.marks.get("subtopics", {}))
        for event in events
        if event.kind == "judge" and event.doc != "gone-from-corpus"
    ]


def test_digits_mark_subtopics_and_enter_saves(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    first = whole(page)
    page.keyboard.press("2")
    page.keyboard.press("1")
    page.keyboard.press("1")  # taken back
    second = press(page, "Enter")
    press(page, "Enter")  # about nothing
    all_sent(page)
    assert log(site) == [(first, 1, {"a": 0, "b": 1}), (second, 0, {"a": 0, "b": 0})]
    assert page.locator(".intent :checked").count() == 0
    assert "About none of the subtopics" in page.inner_text("#status")


@GRADED
def test_a_grades_key_grades_the_framed_row_and_goes_on(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    first = whole(page)
    assert page.locator(".intent.current").get_attribute("data-intent") == "a"
    page.keyboard.press("2")
    assert page.locator(".intent.current").get_attribute("data-intent") == "b"
    page.keyboard.press("1")
    assert page.evaluate("document.activeElement.dataset.do") == "save"
    second = press(page, "Enter")
    # With the mouse, and what is not marked has the lowest grade.
    page.click(".intent[data-intent=b] >> text=2 highly relevant")
    page.keyboard.press("Enter")
    until(page, "(before) => document.querySelector('#doc bdi').textContent !== before", second)
    all_sent(page)
    assert log(site) == [(first, 2, {"a": 2, "b": 1}), (second, 2, {"a": 0, "b": 2})]


def test_undo_brings_the_marks_back(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    doc = whole(page)
    page.keyboard.press("2")
    press(page, "Enter")
    all_sent(page)
    page.keyboard.press("u")
    becomes(page, lambda: shown(page), doc)
    assert page.locator(".intent[data-intent=b] :checked").count() == 1
    press(page, "Enter")
    all_sent(page)
    assert log(site)[-1] == (doc, 1, {"a": 0, "b": 1})


def test_a_change_shows_what_was_given_and_is_kept(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    doc = whole(page)
    page.keyboard.press("1")
    press(page, "Enter")
    all_sent(page)
    page.goto(f"{site.url}{TOPIC}&doc={doc}")
    assert shown(page) == doc
    until(page, "document.querySelector('.intent[data-intent=a] input').checked")
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    all_sent(page)
    until(page, lambda: log(site)[-1] == (doc, 1, {"a": 1, "b": 1}))
    page.keyboard.press("1")
    page.keyboard.press("Enter")  # again from the same page: it knows what stands now
    all_sent(page)
    until(page, lambda: log(site)[-1] == (doc, 1, {"a": 0, "b": 1}))


def test_marks_survive_a_lost_connection(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC, expected=OFFLINE)
    doc = whole(page)
    all_sent(page)
    page.context.set_offline(True)
    page.keyboard.press("2")
    press(page, "Enter")
    page.context.set_offline(False)
    all_sent(page)
    assert log(site) == [(doc, 1, {"a": 0, "b": 1})]


@pytest.mark.parametrize("site", ["graded", "binary"], indirect=True)
@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_judge_subtopics(
    site: Site, visit: Visit, axe: str, size: dict[str, int], scheme: str
) -> None:
    page = visit("ann", TOPIC, size, scheme=scheme)
    whole(page)
    assert faults(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    assert page.locator(".save").bounding_box()["y"] < size["height"] - 40
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    assert faults(page, axe) == []
