"""Labeled parts on the judging page: contexts graded by keys, evidence from a selection, nuggets to tick."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import BOTH, DESK, PHONE, Site, Visit, faults, settled, until
from tests.browser.judging_page import all_sent, judgments, press, shown
from tests.judge.test_marks import ANSWER, make
from tests.judge.web import add_person

from sounding.judge.machines import suggest
from sounding.judge.nuggets import read_nuggets, save_nuggets

SELECT = """([part, from, to]) => {
  const box = document.querySelector(`.part[data-part="${part}"] .part-text`) ?? document.querySelector('#text');
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  const range = document.createRange();
  let seen = 0;
  let isBegun = false;
  while (walker.nextNode()) {
    const { length } = walker.currentNode.data;
    if (!isBegun && from < seen + length) { range.setStart(walker.currentNode, from - seen); isBegun = true; }
    if (to <= seen + length) { range.setEnd(walker.currentNode, to - seen); break; }
    seen += length;
  }
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  return range.toString();
}"""
DRAWN = "() => [...CSS.highlights.get('evidence')].map((range) => range.toString())"


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with make(tmp_path) as project:
        save_nuggets(project.store, read_nuggets(str(tmp_path / "n.tsv")))
        add_person(project, "olga", "organizer")
        site = Site(project)
        yield site
        site.leave()


def said(page: Any) -> str:
    return str(page.inner_text("#status"))


def marks_of(site: Site) -> dict[str, Any]:
    return [event for event in site.project.store.events() if event.kind == "judge"][-1].marks


@BOTH
def test_keys_grade_the_contexts_and_then_the_whole(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=T1")
    first = shown(page)
    page.keyboard.press("o")
    until(page, "document.activeElement.dataset.part === 'contexts.1'")
    page.keyboard.press("2")
    until(page, "document.activeElement.dataset.part === 'contexts.2'")
    page.keyboard.press("0")
    until(page, "document.activeElement.id === 'document'")
    assert shown(page) == first  # nothing was sent yet
    assert page.locator(".part-grades [aria-pressed=true]").all_inner_texts() == ["2 yes", "0 no"]
    page.keyboard.press("o")
    page.keyboard.press("2")  # the same grade again takes it back
    until(page, "document.querySelectorAll('.part-grades [aria-pressed=true]').length === 1")
    page.keyboard.press("Escape")
    press(page, "1")
    assert judgments(site, 1) == [(first, 1.0)]
    assert marks_of(site)["contexts"] == {"contexts.2": {"grade": 0.0}}


@BOTH
def test_a_selection_becomes_evidence_at_its_place_in_the_record(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=T1")
    shown(page)
    page.keyboard.press("e")
    assert said(page).startswith("Select the text")
    words = page.evaluate(SELECT, ["answer", 19, 38])
    until(page, "document.querySelector('[data-do=evidence]').offsetParent !== null")
    page.keyboard.press("e")
    until(page, "document.querySelectorAll('#evidence li').length === 1")
    assert page.evaluate(DRAWN) == [words.strip()]
    later = page.evaluate(SELECT, ["answer", 46, 60])  # beyond a character of two code units
    page.keyboard.press("e")
    until(page, "document.querySelectorAll('#evidence li').length === 2")
    page.keyboard.press("f")
    page.keyboard.type("whales")  # marks words anew, under the evidence
    until(page, f"({DRAWN})().length === 2")
    assert "".join(page.evaluate(DRAWN)[1].split()) == "".join(later.split())
    page.keyboard.press("Escape")
    press(page, "2")
    all_sent(page)
    spans = marks_of(site)["spans"]
    assert [ANSWER[one["first"] : one["last"]] for one in spans] == [one["text"] for one in spans]
    assert ["".join(one["text"].split()) for one in spans] == ["".join(one.split()) for one in (words, later)]


def test_a_selection_beyond_one_part_is_no_evidence(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=T1")
    shown(page)
    page.evaluate(
        """() => {
          const [one, other] = document.querySelectorAll('.part-text');
          getSelection().setBaseAndExtent(one, 0, other, 1);
        }"""
    )
    page.keyboard.press("e")
    until(page, "document.querySelector('#status').textContent.includes('beyond one part')")
    assert page.locator("#evidence li").count() == 0


@BOTH
def test_unsent_marks_outlast_a_reload_and_sent_ones_an_undo(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=T1")
    first = shown(page)
    page.keyboard.press("t")
    page.keyboard.press("Space")
    page.click(".part-grades button")
    page.evaluate(SELECT, ["question", 0, 9])
    page.keyboard.press("e")
    until(page, "document.querySelectorAll('#evidence li').length === 1")
    for act in (page.reload, lambda: None):
        act()
        assert shown(page) == first
        until(page, "document.querySelectorAll('#evidence li').length === 1")
        assert page.locator("#nuggets input:checked").count() == 1
        assert page.locator(".part-grades [aria-pressed=true]").count() == 1
    press(page, "2")
    assert page.locator("#nuggets input:checked").count() == 0  # the next document has none yet
    all_sent(page)
    sent = marks_of(site)
    assert {name: len(found) for name, found in sent.items()} == {"contexts": 1, "spans": 1, "nuggets": 2}
    assert press(page, "u") == first
    all_sent(page)
    until(page, "document.querySelectorAll('#evidence li').length === 1")
    page.click("#evidence button")
    until(page, "document.querySelectorAll('#evidence li').length === 0")
    press(page, "2")
    judgments(site, 2)
    assert marks_of(site) == {name: found for name, found in sent.items() if name != "spans"}


def test_a_judgment_is_opened_with_its_marks_and_changed(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=T1")
    first = shown(page)
    page.click(".part-grades button")
    page.click(".part[data-graded] .part-text")
    press(page, "2")  # a click does not give the keys to a part
    judgments(site, 1)
    page.goto(f"{site.url}/judge?topic=T1&doc={first}")
    shown(page)
    until(page, "document.querySelectorAll('.part-grades [aria-pressed=true]').length === 1")
    page.click(".part-grades button >> nth=2")
    page.keyboard.press("Escape")
    page.keyboard.press("2")  # the same grade, with other marks
    judgments(site, 2)
    assert marks_of(site)["contexts"] == {"contexts.1": {"grade": 2.0, "id": f"p{first[1:]}"}}


def test_a_suggestion_is_shown_before_judging_only_if_allowed_and_recorded(site: Site, visit: Visit) -> None:
    store = site.project.store
    store.add_labels("machine-m", {("T1", f"a{number}"): 2.0 for number in range(4)})
    store.set_setting("machines", '{"machine-m": {}}')
    page = visit("ann", "/judge?topic=T1")
    first = shown(page)
    assert page.locator("#labels").is_hidden()
    suggest(store, "m")
    page.reload()
    assert shown(page) == first
    until(page, "document.querySelector('#labels').textContent === 'Suggestion by machine-m: 2 yes'")
    press(page, "1")
    judgments(site, 1)
    [event] = [one for one in store.events() if one.kind == "judge"]
    assert event.detail["labels"] == {"machine-m": 2.0}
    page.goto(f"{site.url}/judge?topic=T1&doc={first}")
    until(page, "document.querySelector('#labels').textContent === 'Label by machine-m: 2 yes'")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESK, PHONE])
def test_people_with_disabilities_can_mark(
    site: Site, visit: Visit, axe: str, size: Any, scheme: str
) -> None:
    page = visit("ann", "/judge?topic=T1", size, scheme=scheme)
    shown(page)
    page.click(".part-grades button")
    page.evaluate(SELECT, ["answer", 0, 6])
    page.locator("[data-do=evidence]").click()
    until(page, "document.querySelectorAll('#evidence li').length === 1")
    page.check("#nuggets input >> nth=0")
    page.evaluate(SELECT, ["answer", 7, 12])
    settled(page)
    assert faults(page, axe) == []
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
