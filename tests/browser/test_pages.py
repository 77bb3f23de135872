"""Other pages in a real browser: topics are written, organizers watch, everything has a name."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import (
    BOTH,
    DESK,
    PHONE,
    Site,
    Visit,
    arrive,
    becomes,
    faults,
    new_page,
    retype,
    settled,
    until,
)
from tests.browser.judging_page import judgments, press, shown
from tests.judge.web import PASSWORD, RUNS

from sounding.judge.review import audit_of, draw_audit, record_audit
from sounding.judge.settings import Order, parse_scale

NAMELESS = """() => [...document.querySelectorAll('button, input:not([type=hidden]), select, textarea, a[href], summary')]
  .filter((one) => one.offsetParent !== null)
  .filter((one) => !(one.textContent.trim() || one.getAttribute('aria-label') || one.labels?.length || one.title))
  .map((one) => one.outerHTML)"""


@BOTH
def test_a_topic_is_written_searched_and_judged(site: Site, visit: Visit) -> None:
    page = visit("ann", "/develop")
    page.fill("[name=title]", "noise of ships")
    arrive(page, lambda: page.click("text=Create topic"))
    page.fill("[name=description]", "What noise do ships make?")
    page.fill("[name=estimate]", "1")
    arrive(page, lambda: page.click("text=Save as new version"))
    assert "too hard" in page.text_content(".advice")
    page.fill("[type=search]", "noise ships")
    arrive(page, lambda: page.click("[role=search] button"))
    assert page.locator(".found mark").count() > 3
    title = page.text_content(".found li:first-child a")
    arrive(page, lambda: page.click(".found li:first-child a"))
    until(page, "document.querySelector('#text').textContent.length > 50")
    assert title == page.text_content("#doc .title")
    assert page.locator("#doc .title").evaluate("(one) => getComputedStyle(one).display") == "block"
    page.keyboard.press("1")
    until(page, "document.querySelector('#count').textContent === '1'")
    judgments(site, 1)  # which the next page counts
    arrive(page, lambda: page.click("text=back"))
    page.wait_for_selector("text=You have judged 1 so far, 1 relevant")
    assert page.input_value("[type=search]") == "noise ships"
    retype(page, "[name=estimate]", "12")
    arrive(page, lambda: page.click("text=Save as new version"))
    store = site.project.store
    assert [(one.version, one.estimate) for one in store.topic_versions("N001")] == [
        (1, None),
        (2, 1),
        (3, 12),
    ]
    assert [one.doc is None for one in store.searches() if one.topic == "N001"][:2] == [True, False]
    assert [
        event.selection.policy for event in store.events() if event.kind == "judge" and event.selection
    ] == ["free"]


def test_more_results_are_a_key_away_and_the_way_back_leads_to_them(site: Site, visit: Visit) -> None:
    page = visit("ann", "/develop")
    page.fill("[name=title]", "reports")
    arrive(page, lambda: page.click("text=Create topic"))
    page.fill("[type=search]", "report tide")
    arrive(page, lambda: page.keyboard.press("Enter"))
    page.wait_for_selector("text=1 to 50 of 57 documents")
    arrive(page, lambda: page.click("text=Next 7"))
    page.wait_for_selector("text=51 to 57 of 57 documents")
    assert page.locator(".found li").count() == 7
    arrive(page, lambda: page.click(".found li:last-child a"))
    until(page, "document.querySelector('#text').textContent.length > 50")
    arrive(page, lambda: page.click("text=back"))
    page.wait_for_selector("text=51 to 57 of 57 documents")
    arrive(page, lambda: page.click("text=Previous 50"))
    page.wait_for_selector("text=1 to 50 of 57 documents")
    shown = [
        (one.first_hit, one.results, one.total) for one in site.project.store.searches() if one.doc is None
    ]
    assert shown == [(1, 50, 57), (51, 7, 57), (51, 7, 57), (1, 50, 57)]


def test_a_text_survives_an_ended_sign_in(site: Site, visit: Visit) -> None:
    page = visit("ann", "/develop")
    page.fill("[name=title]", "noise")
    arrive(page, lambda: page.click("text=Create topic"))
    page.fill("[name=narrative]", "Half an hour of work.")
    site.project.store.end_sign_ins(1)
    arrive(page, lambda: page.click("text=Save as new version"))
    page.fill("[name=name]", "ann")
    page.fill("[name=password]", PASSWORD)
    arrive(page, lambda: page.click("main button"))
    page.goto(f"{site.url}/develop/topic?id=N001")
    assert page.input_value("[name=narrative]") == "Half an hour of work."
    arrive(page, lambda: page.click("text=Save as new version"))
    page.goto(f"{site.url}/develop/topic?id=N001")
    assert site.project.store.topic("N001").narrative == "Half an hour of work."  # type: ignore[union-attr]
    assert page.locator("text=unsaved text").count() == 0


def test_the_author_of_a_topic_that_others_judge_is_offered_no_search(site: Site, visit: Visit) -> None:
    page = visit("ann", "/develop")
    page.fill("[name=title]", "noise")
    arrive(page, lambda: page.click("text=Create topic"))
    page.wait_for_selector("form[role=search]")
    site.project.engine.set_status("N001", "chosen")
    page.goto(f"{site.url}/develop/topic?id=N001&query=whales")
    assert page.is_visible("text=other people judge it")
    assert page.locator("form[role=search], .found").count() == 0
    assert page.input_value("[name=title]") == "noise"  # the text can be written on


def test_a_text_that_is_typed_before_the_scripts_are_there_is_kept(site: Site, visit: Visit) -> None:
    page = visit("ann", "/account")
    held: list[Any] = []
    page.route("**/static/forms.js", lambda route: held.append(route))
    page.goto(f"{site.url}/develop", wait_until="commit")
    page.fill("[name=title]", "noise of ships")
    until(page, lambda: held)
    held[0].continue_()
    page.wait_for_load_state()
    page.unroute("**/static/forms.js")
    page.goto(f"{site.url}/develop")
    assert page.input_value("[name=title]") == "noise of ships"


def test_a_topic_saved_elsewhere_is_not_written_over_unseen(site: Site, visit: Visit) -> None:
    page = visit("ann", "/develop", expected=("409",))
    page.fill("[name=title]", "noise")
    arrive(page, lambda: page.click("text=Create topic"))
    site.project.store.save_topic("N001", title="noise, changed", author="assessor-1")
    page.fill("[name=description]", "mine")
    arrive(page, lambda: page.click("text=Save as new version"))
    page.wait_for_selector("text=saved in another window (version 2)")
    assert page.input_value("[name=description]") == "mine"
    arrive(page, lambda: page.click("text=Save as new version"))
    page.wait_for_selector("text=Saved.")
    assert [one.version for one in site.project.store.topic_versions("N001")] == [1, 2, 3]


@BOTH
@pytest.mark.usefixtures("any_basis")
def test_the_live_page_follows_the_judging(site: Site, visit: Visit) -> None:
    page = visit("olga", "/organize")
    until(page, "document.querySelector('#judged').textContent === '0'")
    named = page.locator("#runs tbody td:nth-child(2)")
    becomes(page, lambda: {name.strip() for name in named.all_text_contents()}, set(RUNS))
    engine = site.project.engine
    for number, lease in enumerate(engine.next("assessor-1", "MB001", 6)):
        engine.judge("assessor-1", "MB001", lease.doc, number % 2, key=f"key-{lease.doc}", active=5)
    until(page, "document.querySelector('#judged').textContent === '6'")
    assert page.text_content("#relevant") == "3"
    assert page.text_content("#assessors tbody tr td") == "ann"
    assert page.locator("#curve polyline").count() == 1
    assert page.locator("#chances td.sure").count() == 6


def test_figures_are_neither_rounded_to_certainty_nor_cut_off(site: Site, visit: Visit) -> None:
    page = visit("olga", "/account", expected=("ERR_",))
    state = page.evaluate("fetch('/api/live').then((answer) => answer.json())")
    first, second, third = state["runs"]
    for run, above, covered in ((first, 0.4701, 1), (second, 1, 0.9996), (third, None, 0)):
        run |= {"above_next": above, "coverage": [covered for _ in run["coverage"]]}
    state |= {
        "chances": [[None, 0.499, 0.95], [0.499, None, 1], [0.95, 1, None]],
        "ranking": 0.99996,
        "not_stated": "",
    }
    told = f"data: {json.dumps(state)}\n\n"
    page.route("**/api/live/stream", lambda route: route.fulfill(content_type="text/event-stream", body=told))
    page.goto(f"{site.url}/organize")
    until(page, "document.querySelectorAll('#runs tbody tr').length === 3")
    assert page.locator("#chances tbody tr:nth-child(1) td").all_text_contents() == ["", "49.9", "95.0"]
    assert page.locator("#chances tbody tr:nth-child(2) td").all_text_contents() == ["49.9", "", ">99.9"]
    assert page.locator("#chances .settled").count() == 4
    assert page.locator("#runs td:last-child").all_text_contents() == ["47.0%", ">99.9%", "–"]
    assert page.locator("#coverage td:nth-child(2)").all_text_contents() == ["100%", ">99.9%", "0%"]
    assert page.text_content("#ranking") == ">99.9%"
    heads = page.locator("#runs thead th").all_text_contents()
    assert heads == ["Rank", "Run", "Value", "Beats the next"]
    why = "Below 50%: the run leads by expected value"
    assert why in page.text_content("#framed")
    assert why in page.text_content("#below")
    state["chances"], first["above_next"] = [[None, 0.5, 0.9], [0.5, None, 1], [0.9, 1, None]], 0.5
    told = f"data: {json.dumps(state)}\n\n"
    page.reload()
    until(page, "document.querySelectorAll('#runs tbody tr').length === 3")
    assert "Below" not in page.text_content("#framed") + page.text_content("#below")


def test_the_fold_of_tests_has_the_better_run_first_and_no_row_is_cut(site: Site, visit: Visit) -> None:
    page = visit("olga", "/account", expected=("ERR_",))
    state = page.evaluate("fetch('/api/live').then((answer) => answer.json())")
    first, second, third = (run["name"] for run in state["runs"])
    held = [
        [second, first, "worse", "0.9"], [second, third, "not distinguished", "0.6"], [first, third, "better", "0.8"],
    ]  # fmt: skip
    matrix = {"reason": "Nothing can be tested yet."}
    state["prospects"] = {"sequence": 1, "judged": 0, "matrix": matrix, "held": held, "forecast": None}
    assert "50 judgments" in state["not_stated"]
    state |= {"fittable": 5, "judged": 5}
    told = f"data: {json.dumps(state)}\n\n"
    page.route("**/api/live/stream", lambda route: route.fulfill(content_type="text/event-stream", body=told))
    page.goto(f"{site.url}/organize")
    until(page, "!document.querySelector('#tested').hidden")
    page.click("#tested summary")
    rows = page.locator("#tested tbody tr").evaluate_all(
        "(all) => all.map((row) => [...row.cells].map((cell) => cell.textContent))"
    )
    assert rows == [
        [first, second, "better", "0.9"], [first, third, "better", "0.8"],
        [second, third, "not distinguished", "0.6"],
    ]  # fmt: skip
    assert "own paired t test (alpha .05)" in page.text_content("#tested")
    assert "once the top 20 of every run is judged" in page.text_content("#tested")
    height = "(one) => [one.style.maxHeight || getComputedStyle(one).maxHeight, one.scrollHeight <= one.clientHeight]"
    assert page.locator("#tested .wide").evaluate(height) == ["none", True]
    assert page.text_content("#forecast") == ""
    assert state["not_stated"] in page.text_content("#verdict")
    assert page.text_content("#ranking") == page.text_content("#open") == "–"
    state |= {"fittable": 100, "not_stated": ""}
    told = f"data: {json.dumps(state)}\n\n"
    page.reload()
    until(page, "document.querySelector('#forecast').textContent.startsWith('Computing the forecast')")


def test_what_is_still_to_do_is_that_of_now_whatever_the_last_forecast_said(site: Site, visit: Visit) -> None:
    page = visit("olga", "/account", expected=("ERR_",))
    state = page.evaluate("fetch('/api/live').then((answer) => answer.json())")
    earlier = {"reason": "Nothing is left to judge.", "needed": []}
    state["prospects"] = {"sequence": 1, "judged": 9, "matrix": {"reason": "None."}, "held": []}
    state["prospects"]["forecast"] = earlier
    state |= {
        "fittable": 9,
        "judged": 9,
        "not_stated": "",
        "nothing_left": "Still to do: 2 documents to settle.",
    }
    page.route(
        "**/api/live/stream",
        lambda route: route.fulfill(content_type="text/event-stream", body=f"data: {json.dumps(state)}\n\n"),
    )
    page.goto(f"{site.url}/organize")
    until(page, "document.querySelector('#forecast').textContent === 'Still to do: 2 documents to settle.'")
    state["nothing_left"] = ""  # another order brings more
    page.reload()
    until(page, "document.querySelector('#forecast').textContent.startsWith('Computing the forecast')")


def test_a_forecast_that_is_still_being_tried_out_says_so(site: Site, visit: Visit) -> None:
    page = visit("olga", "/account", expected=("ERR_",))
    state = page.evaluate("fetch('/api/live').then((answer) => answer.json())")
    forecast = {"reason": "", "needed": [46, 90], "note": "About 46 more.", "so_far": True}
    state["prospects"] = {"sequence": 1, "judged": 9, "matrix": {"reason": "None."}, "held": []}
    state["prospects"]["forecast"] = forecast
    state |= {"fittable": 9, "judged": 9, "not_stated": ""}
    page.route(
        "**/api/live/stream",
        lambda route: route.fulfill(content_type="text/event-stream", body=f"data: {json.dumps(state)}\n\n"),
    )
    page.goto(f"{site.url}/organize")
    said = "Forecast (as of 9 judged documents, more simulations running): About 46 more."
    becomes(page, lambda: page.text_content("#forecast"), said)
    forecast["so_far"] = False
    page.reload()
    said = "Forecast (as of 9 judged documents): About 46 more."
    becomes(page, lambda: page.text_content("#forecast"), said)


def test_the_live_page_shows_what_assessors_did_without_scrolling_aside(site: Site, visit: Visit) -> None:
    judged_by_two(site)
    page = visit("olga", "/organize", {"width": 1200, "height": 800})
    page.wait_for_selector("#agreement h3")
    settled(page)
    box = page.locator("#assessors")
    assert box.evaluate("(box) => box.scrollWidth - box.clientWidth") == 0
    assert page.locator(".hint:has(+ #assessors)").is_hidden()
    size = "(one) => parseFloat(getComputedStyle(one).fontSize)"
    assert page.locator("#agreement h3").evaluate(size) < page.locator("#l4").evaluate(size)
    counted = page.text_content("section:has(#coverage)")
    assert "over all topics in use" in counted


def test_a_grade_without_a_digit_of_its_own_is_shown_with_its_key(site: Site, visit: Visit) -> None:
    engine = site.project.engine
    scale = (*engine.settings.scale, *parse_scale("0,1,2,10=by all means")[3:])
    engine.change_settings(replace(engine.settings, scale=scale))
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    words = [" ".join(text.split()) for text in page.locator(".grade").all_text_contents()]
    assert words == ["0 not relevant", "1 relevant", "2 highly relevant", "10 by all means key 3"]
    press(page, "3")
    assert page.text_content("#status").startswith("10 by all means: ")
    assert judgments(site, 1) == [(first, 10)]


def test_the_live_page_tells_what_is_left_and_what_is_known_of_a_late_run(
    site: Site, visit: Visit, tmp_path: Path
) -> None:
    engine = site.project.engine
    for topic in engine.topics():
        for number, lease in enumerate(engine.next("assessor-1", topic, 3)):
            engine.judge("assessor-1", topic, lease.doc, number % 2, key=f"{topic}-{lease.doc}", active=5)
    (tmp_path / "late.txt").write_text(
        "".join(f"MB001 Q0 d{number} {number} {100 - number} late\n" for number in range(10, 30))
    )
    engine.add_runs([str(tmp_path / "late.txt")])
    page = visit("olga", "/organize")
    until(page, "document.querySelectorAll('#coverage tbody tr').length === 4")
    late = page.text_content("#late")
    assert "late was added after 12 judged documents." in late
    graded = {one.doc for one in site.project.store.standing(topic="MB001")}
    assert (
        f"{20 - len(graded & {f'd{n}' for n in range(10, 30)})} of all documents that it retrieved are unjudged"
        in late
    )
    assert [one.strip() for one in page.locator("#coverage thead th").all_text_contents()] == [
        "Run", "Added", "Top 5", "Top 10", "Top 20", "Unjudged",
    ]  # fmt: skip
    until(page, "document.querySelector('#matrix').textContent.includes('Pairs of runs: ')")
    cells = page.locator("#matrix tbody strong").all_text_contents()
    assert list(map(int, cells)) == [0, 0, 0, 0]  # four topics are too few for any test
    assert "6 pairs could not be tested" in page.text_content("#matrix")  # of four runs
    assert "there are 12 judgments" in page.text_content("#verdict")
    assert page.locator("#curve polyline").count() == 0
    assert "Too early to conclude: only 4 topics with judgments (25 needed)" in page.text_content("#matrix")
    assert "strong" not in page.text_content("#matrix")
    assert page.locator("#chances td.sure").count() == 0


def test_the_live_page_comes_back_after_the_server_was_away(site: Site, visit: Visit) -> None:
    page = visit("olga", "/organize", expected=("ERR_", "Failed to load"))
    until(page, "document.querySelector('#judged').textContent === '0'")
    site.stop()
    page.wait_for_selector("text=Connection lost")
    site.project.engine.judge("assessor-1", "MB001", "d05", 1, key="abcdefgh")
    site.start()
    until(page, "document.querySelector('#judged').textContent === '1'")


@BOTH
def test_topics_are_shared_out_ordered_and_chosen(site: Site, visit: Visit) -> None:
    page = visit("olga", "/organize/topics")
    retype(page, "[name=count]", "2")
    arrive(page, lambda: page.click("button:has-text('Share out')"))
    assert page.is_visible("text=Saved: 3 topics changed.")
    assigned = site.project.store.assignments()
    assert {(topic, who) for topic, who in assigned} == {
        (topic.id, who) for topic in site.project.store.topics() for who in ("assessor-1", "assessor-2")
    }
    page.check("[aria-label='303']")
    arrive(page, lambda: page.click("button:has-text('Drop')"))
    assert site.project.store.topic("303").status == "dropped"  # type: ignore[union-attr]
    assert page.is_hidden("[aria-label='303']")
    arrive(page, lambda: page.click("button:has-text('Undo')"))
    assert site.project.store.topic("303").status == "chosen"  # type: ignore[union-attr]
    page.check("[data-all]")
    assert page.locator("[name=topic]:checked").count() == 4
    page.uncheck("[aria-label='304']")
    assert page.evaluate("document.querySelector('[data-all]').indeterminate")
    page.click("text=Set their order of judging")
    page.locator(".order [name=policy]").select_option("depth")
    retype(page, ".order [name=batch]", "5")
    page.keyboard.press("Enter")  # changes nothing: no button was chosen
    arrive(page, lambda: page.click("button:has-text('Set order')"))
    assert page.is_visible("text=Saved: 3 topics changed.")
    assert (site.project.engine.order("MB001").policy, site.project.engine.order("MB001").batch) == (
        "depth",
        5,
    )
    assert site.project.engine.order("304").policy == "mtc"


@BOTH
def test_somebody_is_invited_and_comes_in(site: Site, visit: Visit, browser: Any) -> None:
    page = visit("olga", "/organize/people")
    page.fill("[name=name]", "Zoë")
    arrive(page, lambda: page.click("text=Create link"))
    link = page.input_value(".link")
    assert link.startswith(f"{site.url}/welcome/")
    context = browser.new_context()
    guest = new_page(context)
    guest.goto(link)
    guest.fill("[name=password]", PASSWORD)
    guest.fill("[name=again]", PASSWORD)
    arrive(guest, lambda: guest.click("main button"))
    guest.wait_for_selector("text=No topics are assigned to you yet")
    context.close()


@BOTH
def test_assessors_who_differ_are_settled(site: Site, visit: Visit) -> None:
    engine = site.project.engine
    for doc, first, second in (("d05", 0, 2), ("d06", 1, 1), ("d07", 1, 0)):
        engine.judge("assessor-1", "MB001", doc, first, key=f"one-{doc}-long")
        engine.judge("assessor-2", "MB001", doc, second, key=f"two-{doc}-long")
    page = visit("olga", "/organize/differences")
    assert page.locator("tbody >> nth=1").locator("tr").count() == 2
    assert "33.3%" in page.text_content("tbody >> nth=0")
    row = page.locator("tbody >> nth=1").locator("tr").first
    assert row.locator("td").nth(2).locator("div").all_text_contents() == [
        "ann: 0 not relevant",
        "bob: 2 highly relevant",
    ]
    assert row.locator("button").all_text_contents() == [
        "0 not relevant", "1 relevant", "2 highly relevant", "Cannot be judged",
    ]  # fmt: skip
    arrive(page, lambda: page.click("[aria-label='Settle as 2 highly relevant'] >> nth=0"))
    assert page.is_visible("button.chosen")
    [event] = [event for event in site.project.store.events() if event.kind == "adjudicate"]
    assert (event.doc, event.grade, event.assessor) == ("d05", 2, "assessor-3")
    arrive(page, lambda: page.click("text=Cannot be judged >> nth=0"))  # d07, which comes first now
    assert page.locator("button.chosen").all_text_contents() == ["2 highly relevant", "Cannot be judged"]
    assert page.is_visible("text=2 documents with different grades, all settled.")
    *_, event = [event for event in site.project.store.events() if event.kind == "adjudicate"]
    assert (event.doc, event.grade, event.assessor) == ("d07", None, "assessor-3")


PAGES = {
    "ann": (
        "/",
        "/judge?topic=MB001",
        "/judge?topic=303&doc=d02",
        "/history?topic=MB001",
        "/develop",
        "/develop/topic?id=N001&query=report+noise",
        "/develop/topic?id=N001&query=report+noise&first=51",
        "/account",
        "/nowhere",
        "/organize",
    ),
    "olga": (
        "/organize",
        "/organize/topics",
        "/organize/people",
        "/organize/differences",
        "/organize/audit",
        "/organize/audit?audit={audit}",
        "/organize/audit/judge?audit={audit}",
        "/welcome/void",
        "/organize/project",
    ),
}


def judged_by_two(site: Site) -> None:
    """Some documents judged by two people who do not always agree, and a topic of one's own."""
    engine = site.project.engine
    for number, doc in enumerate(("d05", "d06", "d07", "d01")):
        engine.judge("assessor-1", "MB001", doc, number % 3, key=f"one-{doc}-long", comment="so", active=9)
        engine.judge("assessor-2", "MB001", doc, number % 2, key=f"two-{doc}-long", active=9)
    site.project.store.save_topic("N001", title="鯨と騒音", author="assessor-1")


@pytest.mark.parametrize(("size", "scheme"), [(DESK, "light"), (PHONE, "dark")])
@pytest.mark.parametrize("name", list(PAGES))
def test_everything_can_be_used_by_everybody_and_fits(
    site: Site, visit: Visit, axe: str, name: str, size: dict[str, int], scheme: str
) -> None:
    judged_by_two(site)
    project, olga = site.project, site.project.store.user_by_name("olga")
    assert olga is not None
    draw_audit(project.store, olga.pseudonym, "assessor-2", 2, project.settings.seed)
    number = draw_audit(project.store, olga.pseudonym, "assessor-1", 3, project.settings.seed)
    audit = audit_of(project.store, olga.pseudonym, number or 0)
    assert audit is not None
    record_audit(project.store, audit, audit.drawn[0], 1, key="audited", comment="well")
    project.engine.withdraw("assessor-1", *audit.drawn[1], key="taken back")
    page = visit(name, "/account", size, expected=("404", "403"), scheme=scheme)
    for path in PAGES[name]:
        page.goto(site.url + path.format(audit=number))
        if page.locator("#judge").count():
            shown(page)
        if page.locator("#live").count():
            until(
                page, "/(as of|state after) \\d+ judged/i.test(document.querySelector('#matrix').textContent)"
            )
        page.evaluate("document.querySelectorAll('main details').forEach((one) => { one.open = true; })")
        settled(page)
        assert page.evaluate(NAMELESS) == [], path
        assert faults(page, axe) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"], path
        assert page.locator("main h1:not(#text h1)").count() == 1, path
        assert page.locator("main").count() == 1
        assert page.evaluate("document.documentElement.lang") == "en"


def test_the_live_page_does_not_move_what_one_looks_at(site: Site, visit: Visit) -> None:
    """New numbers leave the place in a table, and what is open."""
    page = visit("olga", "/organize", PHONE)
    until(page, "document.querySelector('#coverage').classList.contains('more')")
    place = "[document.querySelector('#coverage').scrollLeft, Math.round(scrollY)]"
    page.evaluate("document.querySelector('#coverage').scrollLeft = 30; scrollTo(0, 300)")
    before = page.evaluate(place)
    assert before[0] > 0
    assert before[1] == 300
    site.project.engine.judge("assessor-1", "MB001", "d05", 1, key="abcdefgh")
    until(page, "document.querySelector('#judged').textContent === '1'")
    assert page.evaluate(place) == before
    assert page.text_content("#updated").startswith("Updated ")


def test_titles_stand_above_documents_and_in_lists(site: Site, visit: Visit) -> None:
    judged_by_two(site)
    page = visit("ann", "/history?topic=MB001")
    assert page.locator("tbody a").all_text_contents() == ["t", "Report 7", "Report 6", "Report 5"]
    page.goto(f"{site.url}/judge?topic=MB001&doc=d01")  # HTML with a title of its own
    until(page, "document.querySelector('#doc .title').textContent === 't'")
    assert page.text_content("#doc bdi") == "d01"
    assert "Report 5" not in page.text_content("main")
    page.goto(f"{site.url}/judge?topic=MB001&doc=d00")
    until(page, "document.querySelector('#doc .title').textContent.startsWith('Hostile report <script>')")
    assert page.locator("#doc script, #doc img").count() == 0


def test_the_page_says_what_is_still_to_come(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    shown(page)
    assert page.text_content("#coming") == "more follow as needed"
    site.project.engine.set_order("MB001", Order(policy="depth", batch=4))
    site.project.store.release("assessor-1")
    left = site.project.engine.counts().of("MB001").left
    page.reload()
    shown(page)
    assert page.text_content("#coming") == f"4 of 4 left in this batch, {left} left in all"
    page.keyboard.press("0")
    page.wait_for_selector(f"text=3 of 4 left in this batch, {left - 1} left in all")
    page.keyboard.press("u")
    page.wait_for_selector(f"text=4 of 4 left in this batch, {left} left in all")
    site.project.engine.set_status("MB001", "candidate")
    site.project.store.release("assessor-1")
    page.reload()
    page.wait_for_selector("text=This topic is not open for judging yet")


@BOTH
def test_judging_needs_no_mouse_from_the_sign_in_on(site: Site, visit: Visit) -> None:
    page = visit("ann", "/account")
    page.context.clear_cookies()
    page.goto(f"{site.url}/")
    until(page, "document.activeElement.name === 'name'")
    for text in ("ann", PASSWORD):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    arrive(page, lambda: page.keyboard.press("Enter"))
    assert page.url == f"{site.url}/"

    def tab_to(words: str) -> None:
        for _ in range(20):
            page.keyboard.press("Tab")
            if words in page.evaluate("document.activeElement.textContent"):
                outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
                assert outline == "solid"  # it can be seen where one is
                return
        raise AssertionError(f"{words!r} cannot be reached by Tab")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    tab_to("whales and noise")
    arrive(page, lambda: page.keyboard.press("Enter"))
    assert page.url == f"{site.url}/judge?topic=MB001"
    press(page, "1")
    until(page, "document.querySelector('#count').textContent === '1'")
    judgments(site, 1)  # which the next page lists
    for _ in range(8):  # past the keys below the document
        page.keyboard.press("Shift+Tab")
        if page.evaluate("document.activeElement.textContent") == "my judgments":
            break
    assert page.evaluate("document.activeElement.textContent") == "my judgments"
    arrive(page, lambda: page.keyboard.press("Enter"))
    assert page.is_visible("h1:has-text('My judgments')")
    tab_to("Report")
    arrive(page, lambda: page.keyboard.press("Enter"))
    assert page.url.startswith(f"{site.url}/judge?topic=MB001&doc=")
    until(page, "document.querySelector('[data-grade=\"1.0\"]')?.getAttribute('aria-pressed') === 'true'")


def test_a_screen_reader_hears_what_happens(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    shown(page)
    first = page.text_content("#doc .title")
    assert first.startswith("Report ")
    press(page, "1")
    assert page.text_content("#status") == f"1 relevant: {first}."
    assert page.get_attribute("#status", "aria-live") == "polite"
    assert page.get_attribute("#document", "aria-labelledby") == "doc"
    assert page.get_attribute("[data-grade='1.0']", "aria-keyshortcuts") == "1"
    names = [
        page.keyboard.press("Tab") or page.evaluate("document.activeElement.textContent.trim()")
        for _ in range(4)
    ]
    assert names == ["0 not relevant", "1 relevant", "2 highly relevant", "x cannot judge"]
