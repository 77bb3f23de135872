"""Pages of organizers on a small screen: nothing is cut off, and what is looked for is near the top."""

from __future__ import annotations

from tests.browser.conftest import BOTH, DESK, PHONE, Site, Visit, arrive, until
from tests.browser.test_pages import judged_by_two
from tests.judge.web import add_person


@BOTH
def test_a_table_that_is_too_wide_scrolls_in_its_box_and_says_so(site: Site, visit: Visit) -> None:
    page = visit("olga", "/organize", PHONE)
    box, hint = page.locator("#coverage"), page.locator(".hint:has(+ #coverage)")
    until(page, hint.is_visible)
    assert (box.get_attribute("role"), box.get_attribute("aria-label")) == (
        "region",
        "How much of each run is judged: scroll for more",
    )
    box.focus()
    page.keyboard.press("ArrowRight")
    until(page, "document.querySelector('#coverage').scrollLeft > 0")
    page.set_viewport_size(DESK)
    until(page, "!document.querySelector('#coverage').hasAttribute('tabindex')")
    assert hint.is_hidden()


def test_topics_are_read_and_changed_on_a_phone_without_scrolling_aside(site: Site, visit: Visit) -> None:
    page = visit("olga", "/organize/topics", PHONE)
    until(page, "document.body.classList.contains('js')")
    assert page.is_hidden(".hint")
    assert page.is_hidden("[name=count]")  # what is for all topics is folded away
    rows = page.locator("tbody tr")
    assert rows.count() == 4
    assert rows.nth(1).bounding_box()["y"] < 0.8 * PHONE["height"]
    assert rows.first.locator("td.number").all_inner_texts() == ["expected –", "judged 0", "left 42"]
    rows.first.locator("[name=topic]").check()
    page.click("text=With the ticked topics")
    page.select_option("[name=assessor]", "assessor-2")
    arrive(page, lambda: page.click("button:has-text('Assign')"))
    assert ("303", "assessor-2") in site.project.store.assignments()
    page.click("text=All topics:")
    page.fill("[name=count]", "2")
    arrive(page, lambda: page.click("button:has-text('Share out')"))
    page.set_viewport_size(DESK)
    page.reload()
    assert page.is_visible("[name=count]")


def test_the_agreement_of_many_pairs_does_not_hide_the_differences(site: Site, visit: Visit) -> None:
    judged_by_two(site)
    page = visit("olga", "/organize/differences", PHONE)
    assert page.is_visible("text=ann and bob")  # one pair
    assert "Kappa appears once a pair has 10 documents in common." in page.inner_text("main")
    for name, doc in (("cem", "d05"), ("dora", "d06")):
        who = add_person(site.project, name, topics=("MB001",))
        for one in ("d07", doc):
            site.project.engine.judge(who, "MB001", one, 2, key=f"{name}-{one}-long")
    page.reload()
    assert page.is_hidden("text=ann and bob")
    assert page.locator("tbody >> nth=1").locator("tr").first.bounding_box()["y"] < 0.8 * PHONE["height"]
    page.click("text=Agreement of 6 pairs of assessors: same grade on 0% to 100% of documents")
    assert page.locator("tbody >> nth=0").locator("tr").count() == 6
    assert page.locator("tbody tr").first.locator("td").all_inner_texts() == [
        "ann and bob", "judged by both 4", "same grade 50.0%", "kappa –",
    ]  # fmt: skip
    page.goto(f"{site.url}/organize")
    few = "Kappa appears once a pair has 10 documents in common."
    until(page, "(few) => document.querySelector('#agreement').textContent.endsWith(few)", few)
