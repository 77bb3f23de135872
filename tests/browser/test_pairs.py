"""Two documents side by side: one key says which is better."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import BOTH, DESK, PHONE, Site, Visit, arrive, becomes, faults, until
from tests.browser.judging_page import OFFLINE, all_sent, judgments, press, shown
from tests.judge.test_preferences import PAIRS
from tests.judge.web import add_person, make_project

from sounding.judge.merge_sort import BOTH_BAD, EQUAL, LEFT, RIGHT, sides_of
from sounding.judge.project import open_project

TOPIC = "/judge?topic=MB001"


@pytest.fixture(scope="session")
def pairs_of_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with make_project(tmp_path_factory.mktemp("pairs"), documents=12, topics=2, **PAIRS) as project:
        add_person(project, "ann", topics=("MB001",))
        add_person(project, "olga", "organizer")
        return project.folder


@pytest.fixture
def site(pairs_of_reports: Path, tmp_path: Path) -> Iterator[Site]:
    shutil.copytree(pairs_of_reports, tmp_path / "project")
    with open_project(tmp_path / "project") as project:
        site = Site(project)
        yield site
        site.leave()


def headings(page: Any) -> list[str]:
    found: list[str] = page.locator(".half-head h2").all_inner_texts()
    return found


def whole(page: Any) -> str:
    """The pair on the page, after those without a text."""
    while "gone-from-corpus" in (pair := shown(page)):
        press(page, "x")
    return pair


@BOTH
def test_one_key_is_one_preference_and_the_log_says_what_stood_left(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    pairs = []
    for key in "1230":
        pairs.append(whole(page))
        press(page, key)
    all_sent(page)
    found = [one for one in judgments(site, 4) if one[1] is not None]
    assert found == list(zip(pairs, (LEFT, RIGHT, EQUAL, BOTH_BAD), strict=True))
    assert len(set(pairs)) == 4


def test_the_documents_stand_side_by_side_under_their_letters(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    pair = shown(page)
    sides = sides_of(pair)
    assert sides is not None
    boxes = [page.locator(".half").nth(number).bounding_box() for number in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert page.locator(".half").evaluate_all("all => all.map((one) => one.dataset.doc)") == list(sides)
    assert [heading.split()[0] for heading in headings(page)] == ["A", "B"]
    assert page.locator("#doc bdi").is_hidden()
    assert page.title().startswith("whales and noise")
    # A reader hears which document a text belongs to.
    regions = page.get_by_role("region")
    assert [name[0] for name in headings(page)] == ["A", "B"]
    assert regions.filter(has=page.locator(".half-head")).count() == 2


def test_undo_brings_a_pair_back_on_the_same_sides(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    pair, before = shown(page), headings(page)
    press(page, "1")
    page.keyboard.press("u")
    becomes(page, lambda: shown(page), pair)
    assert headings(page) == before
    all_sent(page)
    assert site.project.store.standing() == []
    press(page, "2")
    page.reload()
    shown(page)
    page.keyboard.press("u")
    becomes(page, lambda: shown(page), pair)
    assert headings(page) == before


def test_a_preference_can_be_changed_from_the_list_of_ones_own(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    pair = shown(page)
    press(page, "1")
    all_sent(page)
    arrive(page, lambda: page.click("text=my judgments"))
    assert "A is better" in page.inner_text("tbody")
    arrive(page, lambda: page.click("tbody a"))
    assert shown(page) == pair
    assert page.get_attribute("[data-grade='1.0']", "aria-pressed") == "true"
    page.keyboard.press("2")
    all_sent(page)
    assert judgments(site, 2)[-1] == (pair, RIGHT)


def test_judging_goes_on_to_the_end_and_says_so(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC)
    for _ in range(100):
        pair = shown(page)
        if pair == "Nothing left":
            break
        sides = sides_of(pair)
        assert sides is not None
        page.keyboard.press("x" if "gone-from-corpus" in pair else "1" if sides.left < sides.right else "2")
        until(
            page, "(before) => !['…', before].includes(document.querySelector('#doc bdi').textContent)", pair
        )
    assert "no pairs are left for you" in page.inner_text("#text")
    who = site.project.store.users()[0].pseudonym
    assert site.project.engine.ahead(who, "MB001").left == 0
    arrive(page, lambda: page.goto(site.url))
    assert "nothing left for you" in page.inner_text("main")
    assert "relevant" not in page.inner_text("main")


def test_a_pair_without_one_text_can_only_be_called_impossible(site: Site, visit: Visit) -> None:
    who = site.project.store.users()[0].pseudonym
    engine = site.project.engine
    for number in range(100):
        pair = engine.next(who, "MB001")[0].doc
        if "gone-from-corpus" in pair:
            break
        engine.judge(who, "MB001", pair, LEFT, key=f"key-{number}")
    page = visit("ann", TOPIC)
    assert shown(page) == pair
    assert page.locator(".half .wrong").count() == 1
    assert page.is_disabled("[data-grade='1.0']")
    press(page, "x")
    assert judgments(site, number + 1)[-1] == (pair, None)


def test_on_a_phone_one_stands_above_the_other(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC, PHONE)
    shown(page)
    boxes = [page.locator(".half").nth(number).bounding_box() for number in (0, 1)]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    assert boxes[0]["width"] <= PHONE["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    page.tap("text=B ↓")
    near = "document.querySelector('#side-B').getBoundingClientRect().top < 100"
    until(page, f"{near} || scrollY + innerHeight >= document.documentElement.scrollHeight - 2")
    page.tap("text=B is better")
    assert judgments(site, 1)[0][1] == RIGHT


def test_a_preference_survives_a_lost_connection(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC, expected=OFFLINE)
    pair = shown(page)
    page.context.set_offline(True)
    press(page, "1")
    page.wait_for_selector("#notice:not([hidden])")
    page.context.set_offline(False)
    all_sent(page)
    assert judgments(site, 1) == [(pair, LEFT)]


def test_a_refused_preference_is_named_by_its_words(site: Site, visit: Visit) -> None:
    page = visit("ann", TOPIC, expected=("404",))
    shown(page)
    page.route("**/api/judge", lambda route: route.fulfill(status=404, json={"detail": "not today"}))
    page.keyboard.press("1")
    page.wait_for_selector("#refused li")
    assert page.inner_text("#refused li").startswith("A is better: ")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_use_the_pages_of_pairs(
    site: Site, visit: Visit, axe: str, size: dict[str, int], scheme: str
) -> None:
    page = visit("ann", TOPIC, size, scheme=scheme)
    press(page, "1")
    assert faults(page, axe) == []
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    assert faults(page, axe) == []
    for path in ("/", "/history?topic=MB001"):
        page.goto(site.url + path)
        assert faults(page, axe) == []
    page = visit("olga", "/organize", size, scheme=scheme)
    until(page, "document.querySelector('#judged').textContent === '1'")
    assert page.is_hidden("#runs")
    assert faults(page, axe) == []
