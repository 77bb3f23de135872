"""Judging in a real browser: by keyboard, on a phone, safe from documents."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from tests.browser.conftest import BOTH, PHONE, Site, Visit, arrive, becomes, new_page, settled, until
from tests.browser.judging_page import OFFLINE, all_sent, heard, judgments, press, shown, use_up

from sounding.judge.review import draw_audit


@BOTH
def test_keys_judge_and_bring_the_next_document(site: Site, visit: Visit) -> None:
    begun = time.monotonic()
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    second = press(page, "1")
    third = press(page, "0")
    fourth = press(page, "x")
    assert judgments(site, 3) == [(first, 1), (second, 0), (third, None)]
    assert fourth not in (first, second, third)
    assert page.text_content("#count") == "3"
    assert page.evaluate("document.activeElement.id") == "document"
    seconds = [event.active for event in site.project.store.events() if event.kind == "judge"]
    assert all(value is not None and value >= 0 for value in seconds)
    assert 0 < sum(value or 0 for value in seconds) < time.monotonic() - begun


def test_the_next_document_is_there_before_the_server_has_answered(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    held: list[Any] = []
    page.route("**/api/judge", lambda route: held.append(route))
    press(page, "1")
    assert page.inner_text("#text").strip()
    until(page, lambda: held)
    assert judgments(site, 0) == []
    held[0].continue_()
    assert judgments(site, 1) == [(first, 1)]


def test_digits_in_a_comment_judge_nothing_and_go_with_the_grade(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    page.keyboard.press("c")
    page.keyboard.type("1 2 0 x s u: in 1912")
    assert page.input_value("#comment") == "1 2 0 x s u: in 1912"
    assert shown(page) == first
    assert page.text_content("#status") == ""
    page.keyboard.press("Escape")
    press(page, "2")
    assert page.input_value("#comment") == ""
    all_sent(page)  # each in its turn
    assert asked.count("POST") == 1
    acts = ("judge", "skip", "withdraw")
    [event] = [event for event in site.project.store.events() if event.kind in acts]
    assert (event.doc, event.kind, event.grade, event.comment) == (first, "judge", 2, "1 2 0 x s u: in 1912")


def test_where_no_document_is_there_no_comment_can_be_typed(site: Site, visit: Visit) -> None:
    page = visit("ann", "/account", expected=OFFLINE)
    held: list[Any] = []
    page.route("**/api/next*", lambda route: held.append(route), times=1)
    page.goto(f"{site.url}/judge?topic=MB001")
    until(page, lambda: held)
    assert page.is_disabled("#comment")  # the first document is still to come
    held[0].continue_()
    first = shown(page)
    page.context.set_offline(True)
    page.keyboard.press("c")
    page.keyboard.type("of the first")
    page.keyboard.press("Escape")
    graded = use_up(page)
    page.keyboard.press("c")
    page.keyboard.type("lost")
    assert page.is_hidden("#comment")
    page.click(".comment summary")
    assert page.is_visible("#comment")
    assert page.is_disabled("#comment")
    assert page.input_value("#comment") == ""
    page.context.set_offline(False)
    assert shown(page) not in graded
    assert first in graded
    page.keyboard.press("c")
    page.keyboard.type("of the third")
    assert page.input_value("#comment") == "of the third"
    all_sent(page)
    said = {event.doc: event.comment for event in site.project.store.events() if event.kind == "judge"}
    assert said == {doc: "of the first" if doc == first else "" for doc in graded}


def test_a_key_that_is_held_down_judges_once(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    for _ in range(5):
        page.keyboard.down("1")  # repeats, for it is not let go
    page.keyboard.up("1")
    second = shown(page)
    press(page, "0")  # goes after all that was given before
    assert judgments(site, 2) == [(first, 1), (second, 0)]


@pytest.mark.parametrize("combination", ["Control+1", "Alt+1", "Meta+1"])
def test_a_key_of_the_browser_judges_nothing(site: Site, visit: Visit, combination: str) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    page.keyboard.press(combination)
    assert shown(page) == first
    press(page, "0")  # goes after all that was given before
    assert judgments(site, 1) == [(first, 0)]


@BOTH
def test_undo_brings_the_document_back_and_it_can_be_judged_anew(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    second = press(page, "1")
    judgments(site, 1)
    assert press(page, "u") == first
    becomes(page, lambda: page.text_content("#count"), "0")
    assert press(page, "0") == second
    assert judgments(site, 2) == [(first, 1), (first, 0)]
    assert [(one.doc, one.grade) for one in site.project.store.standing()] == [(first, 0)]


def test_undo_after_loading_the_page_anew_takes_back_the_last_one(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    press(page, "1")
    judgments(site, 1)
    page.reload()
    assert press(page, "u") == first
    assert site.project.store.standing() == []


@pytest.mark.parametrize("reload", [False, True])
def test_undo_keeps_the_comment(site: Site, visit: Visit, reload: bool) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    page.keyboard.press("c")
    page.keyboard.type("because of the whales")
    page.keyboard.press("Escape")
    press(page, "1")
    judgments(site, 1)
    if reload:
        page.reload()
        shown(page)
    assert press(page, "u") == first
    assert page.input_value("#comment") == "because of the whales"


def test_keys_do_not_grade_a_document_without_a_text(site: Site, visit: Visit) -> None:
    engine = site.project.engine
    leases = engine.next("assessor-1", "MB001", 100)
    for lease in leases:
        if lease.doc != "gone-from-corpus":
            engine.judge("assessor-1", "MB001", lease.doc, 0, key=f"key-{lease.doc}")
    before = len(judgments(site, 0))
    page = visit("ann", "/judge?topic=MB001")
    assert shown(page) == "gone-from-corpus"
    assert page.is_disabled("[data-grade='1.0']")
    page.keyboard.press("1")
    page.keyboard.press("x")
    assert judgments(site, before + 1)[before:] == [("gone-from-corpus", None)]


def test_a_topic_that_was_begun_is_no_unsaved_text(site: Site, visit: Visit) -> None:
    page = visit("ann", "/develop")
    page.fill("[name=title]", "reefs in storms")
    arrive(page, lambda: page.click("text=Create topic"))
    assert page.is_visible("text=Topic created.")
    page.goto(f"{site.url}/develop")
    assert page.input_value("[name=title]") == ""
    assert page.locator("text=unsaved text").count() == 0


def test_a_skipped_document_is_put_off(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    second = press(page, "s")
    assert second != first
    assert press(page, "u") == first  # and undo shows it again
    press(page, "1")
    assert judgments(site, 1) == [(first, 1)]


def test_a_judgment_can_be_changed_later(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    press(page, "1")
    judgments(site, 1)
    page.goto(f"{site.url}/history?topic=MB001")
    assert first in page.inner_text("tbody tr")
    arrive(page, lambda: page.click("tbody a"))
    assert shown(page) == first
    assert page.get_attribute("[data-grade='1.0']", "aria-pressed") == "true"
    page.keyboard.press("2")
    assert judgments(site, 2) == [(first, 1), (first, 2)]
    assert page.get_attribute("[data-grade='2.0']", "aria-pressed") == "true"


def test_a_topic_that_is_finished_says_so(site: Site, visit: Visit) -> None:
    for lease in site.project.engine.next("assessor-1", "MB001", 100):
        site.project.engine.judge("assessor-1", "MB001", lease.doc, 0, key=f"key-{lease.doc}")
    page = visit("ann", "/judge?topic=MB001")
    page.wait_for_selector("#text .onward")
    page.keyboard.press("1")
    assert page.is_disabled("[data-grade='1.0']")
    assert page.is_hidden(".grades")


def test_where_nothing_is_left_only_undo_is_offered(site: Site, visit: Visit) -> None:
    for lease in site.project.engine.next("assessor-1", "MB001", 100)[:-1]:
        site.project.engine.judge("assessor-1", "MB001", lease.doc, 0, key=f"key-{lease.doc}")
    page = visit("ann", "/judge?topic=MB001")
    last = shown(page)
    every = ".grades button, .others button, .comment summary"
    offered = "(every) => [...document.querySelectorAll(every)].filter((one) => one.checkVisibility()).length"
    assert page.evaluate(offered, every) == 3 + 3 + 1
    page.focus("[data-grade='1.0']")
    page.keyboard.press("Enter")
    page.wait_for_selector("#text .onward")
    assert page.evaluate(offered, every) == 1
    assert page.is_visible("[data-do=undo]")
    until(page, "document.activeElement.id === 'document'")  # not lost with its button
    said = page.text_content("#status")
    for key in ("0", "2", "x", "s", "c"):
        page.keyboard.press(key)
    assert page.text_content("#status") == said  # what undo would take back
    assert page.is_hidden("#comment")
    assert press(page, "u") == last
    assert page.evaluate(offered, every) == 3 + 3 + 1
    page.keyboard.press("2")
    page.wait_for_selector("#text .onward")
    acts = [
        event for event in site.project.store.events() if event.doc
    ]  # the server fits its model beside them
    done = [(event.kind, event.doc, event.grade) for event in acts][-3:]
    assert done == [("judge", last, 1), ("withdraw", last, None), ("judge", last, 2)]


@pytest.mark.parametrize("doc", ["d00", "d01"])
def test_a_hostile_document_can_do_nothing(site: Site, visit: Visit, doc: str) -> None:
    page = visit("ann", "/account")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(site.url).partition("?")[0]))
    page.goto(
        f"{site.url}/judge?topic=MB001&doc={doc}"
    )  # dialogs, scripts and foreign requests fail in the fixture
    shown(page)
    settled(page)
    page.evaluate("fetch('/api/token')")  # goes after whatever the document asks for
    until(page, lambda: "/api/token" in asked)
    assert {path for path in asked if not path.startswith("/static/")} == {
        "/judge", "/api/document", "/api/token",
    }  # fmt: skip
    assert "owned" not in page.title()
    found = page.evaluate(
        "[...document.querySelectorAll('#text *')].map((one) => [one.tagName, ...one.getAttributeNames()])"
    )
    assert found
    for tag, *names in found:
        assert tag in ("P", "DIV", "H1", "MARK", "UL", "LI")
        assert set(names) <= {"dir", "lang"}


def test_hostile_people_and_topics_can_do_nothing(site: Site, visit: Visit) -> None:
    hostile = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'"
    store = site.project.store
    store.save_topic("evil", title=hostile, description=hostile, narrative=hostile, status="chosen")
    store.assign("evil", "assessor-1")
    store.set_setting("instructions", hostile)
    store.add_user(hostile, "assessor")
    site.project.engine.judge("assessor-1", "evil", "d00", 1, key="abcdefgh", comment=hostile)
    page = visit("ann", "/")
    for path in ("/", "/judge?topic=evil", "/judge?topic=evil&doc=d00", "/history?topic=evil"):
        page.goto(site.url + path)
        if path.startswith("/judge"):
            shown(page)
        settled(page)
    page = visit("olga", "/organize")
    for path in (
        "/organize",
        "/organize/topics",
        "/organize/people",
        "/organize/differences",
        "/organize/project",
    ):
        page.goto(site.url + path)
        if path == "/organize":
            until(page, "document.querySelector('#updated').textContent.startsWith('Updated ')")
        settled(page)
        assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0


BLOCKED = {"inline event handler", "JavaScript URL"}  # by the policy of a page, as Chromium says


def test_injected_markup_cannot_run_even_if_it_got_in(site: Site, visit: Visit) -> None:
    page = visit(
        "ann", "/judge?topic=MB001", expected=("Content Security Policy", "404", "violates the following")
    )
    shown(page)
    said: list[str] = []
    page.on("console", lambda one: said.append(one.text))
    page.evaluate(
        "document.querySelector('#text').innerHTML = '<img src=/x onerror=\"document.title=1\"><a href=\"javascript:document.title=2\" id=bad>x</a>'"
    )
    page.click("#bad")
    until(
        page,
        lambda: {what for what in BLOCKED for one in said if what in one and "violates" in one} == BLOCKED,
    )
    assert page.title() not in ("1", "2")


def test_directions_of_writing_and_marks_fit_the_text(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=303&doc=d02")
    shown(page)
    assert page.evaluate("getComputedStyle(document.querySelector('#text p')).direction") == "rtl"
    marks = "[...document.querySelectorAll('#document mark')].map((one) => one.textContent)"
    assert page.evaluate(marks) == ["الحيتان", "الضجيج", "الحيتان"]
    assert page.evaluate("getComputedStyle(document.querySelector('#doc .title')).direction") == "rtl"
    assert page.inner_text("#doc .title") == "تقرير عن الحيتان"
    assert page.evaluate("getComputedStyle(document.querySelector('#doc')).direction") == "rtl"  # the id too
    assert page.evaluate("getComputedStyle(document.querySelector('.topic p')).direction") == "rtl"
    page.goto(f"{site.url}/judge?topic=304&doc=d03")
    shown(page)
    assert page.evaluate("getComputedStyle(document.querySelector('#text p')).direction") == "ltr"
    assert page.evaluate(marks) == ["鯨", "船の騒音", "鯨"]


def test_judging_works_on_a_phone(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001", PHONE)
    first = shown(page)
    box = page.locator("[data-grade='1.0']").bounding_box()
    assert box["height"] >= 44
    assert box["y"] + box["height"] <= PHONE["height"]
    page.tap("[data-grade='1.0']")
    assert judgments(site, 1) == [(first, 1)]
    for path in ("/", "/judge?topic=MB001", "/history?topic=MB001", "/develop", "/account"):
        page.goto(site.url + path)
        if path.startswith("/judge"):
            shown(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path


def test_two_tabs_judge_different_documents_or_one_twice_the_same(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    other = new_page(page.context)
    other.goto(f"{site.url}/judge?topic=MB001")
    assert shown(page) == shown(other)  # the open document comes first wherever it is
    first = shown(page)
    press(page, "1")
    press(other, "1")
    all_sent(page)  # of both: they share what they keep
    assert [(one.doc, one.grade) for one in site.project.store.standing()] == [(first, 1)]


def test_the_log_holds_what_was_pressed_in_its_order(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    pressed = []
    for key in "0120x2":
        pressed.append((shown(page), None if key == "x" else float(key)))
        press(page, key)
    assert judgments(site, 6) == pressed
    keys = [event.key for event in site.project.store.events() if event.kind == "judge"]
    assert len(set(keys)) == 6
    assert all(len(json.dumps(key)) == 34 for key in keys)


def test_undo_after_a_change_of_mind_brings_the_earlier_grade_back(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    press(page, "1")
    judgments(site, 1)
    page.goto(f"{site.url}/judge?topic=MB001&doc={first}")
    until(page, "document.querySelector('[data-grade=\"1.0\"]').getAttribute('aria-pressed') === 'true'")
    page.keyboard.press("2")
    judgments(site, 2)
    page.keyboard.press("u")
    page.wait_for_selector("text=has its earlier grade again: 1 relevant.")
    until(page, "document.querySelector('[data-grade=\"1.0\"]').getAttribute('aria-pressed') === 'true'")
    assert page.text_content("#count") == "1"
    assert [(one.doc, one.grade) for one in site.project.store.standing()] == [(first, 1)]


def audited(site: Site) -> None:
    for number, doc in enumerate(("d10", "d11", "d12", "d13")):
        site.project.engine.judge(
            "assessor-1", "MB001", doc, number % 3, key=f"key-{doc}", comment="a remark of ann"
        )
    site.project.engine.judge("assessor-1", "303", "d02", 2, key="key-d02-303")


def test_an_audit_is_judging_with_the_same_keys_and_without_the_grades(site: Site, visit: Visit) -> None:
    audited(site)
    page = visit("olga", "/organize/audit")
    page.select_option("[name=assessor]", "assessor-1")
    page.fill("[name=size]", "10")
    arrive(page, lambda: page.click("main button:has-text('Draw')"))
    arrive(page, lambda: page.click("text=Start grading"))
    only = shown(page)  # topic by topic: 303 has one
    assert only == "d02"
    page.keyboard.press("2")
    page.wait_for_selector("#text .onward")
    page.wait_for_selector("text=Next topic or press Enter")
    page.keyboard.press("u")  # no dead end on the way back either
    until(page, "document.querySelector('#doc bdi').textContent === 'd02'")
    page.keyboard.press("2")
    page.wait_for_selector("#text .onward")
    all_sent(page)
    arrive(page, lambda: page.keyboard.press("Enter"))
    page.wait_for_selector("text=4 of 4 left in this topic, 4 of 5 in all")
    assert page.url.endswith("&topic=MB001")
    first = shown(page)
    assert page.evaluate("[...document.querySelectorAll('[aria-pressed=true]')].length") == 0
    assert "remark of ann" not in page.content()
    page.keyboard.press("c")
    page.keyboard.type("1 2 0: not so")
    page.keyboard.press("Escape")
    second = press(page, "1")
    third = press(page, "x")
    assert press(page, "u") == second
    all_sent(page)
    with heard(page, "**/api/audit/next*", "put off once"):
        fourth = press(page, "s")  # it comes again at the end
    assert len({first, second, third, fourth}) == (3 if fourth == third else 4)
    assert press(page, "u") == second
    assert str(page.text_content("#status")).startswith("Undone: ")
    with heard(page, "**/api/audit/next*", "put off twice"):
        press(page, "s")
    press(page, "0")
    last = press(page, "0")
    assert last == second
    page.keyboard.press("2")
    page.wait_for_selector("#text .onward:has-text('result')")
    all_sent(page)
    page.keyboard.press("u")  # the grade, and not that it was put off before
    until(page, "(doc) => document.querySelector('#doc bdi').textContent === doc", second)
    until(
        page, "document.querySelector('#coming').textContent === '1 of 4 left in this topic, 1 of 5 in all'"
    )
    page.keyboard.press("2")
    page.wait_for_selector("#text .onward:has-text('result')")
    all_sent(page)
    until(
        page, "document.querySelector('#coming').textContent === '0 of 4 left in this topic, 0 of 5 in all'"
    )
    own = {one.doc: one for one in site.project.store.standing(assessor="assessor-3")}
    assert {doc: one.grade for doc, one in own.items()} == {
        doc: 1 if doc == first else 2 if doc in (second, "d02") else 0 for doc in own
    }
    assert len(own) == 5
    assert own[first].comment == "1 2 0: not so"
    assert all(one.selection.policy == "audit" and one.active is not None for one in own.values())
    arrive(page, lambda: page.keyboard.press("Enter"))
    page.wait_for_selector("text=5 of 5 graded.")
    assert "1 2 0: not so" in page.text_content("tbody")


def test_a_list_that_comes_late_brings_nothing_back_that_was_graded_meanwhile(
    site: Site, visit: Visit
) -> None:
    audited(site)
    number = draw_audit(site.project.store, "assessor-3", "assessor-1", 10, seed=0)
    page = visit("olga", f"/organize/audit/judge?audit={number}&topic=MB001")
    first = shown(page)
    held: list[tuple[Any, Any]] = []
    asked: list[Any] = []
    page.on("requestfinished", lambda one: asked.append(one) if "/api/audit/next" in one.url else None)
    page.route("**/api/audit/next*", lambda route: held.append((route, route.fetch())), times=1)
    second = press(page, "s")  # asks what comes; the answer is held
    until(page, lambda: held)
    third = press(page, "1")
    all_sent(page)
    [(route, late)] = held
    assert second in {one["doc"] for one in late.json()["documents"]}
    route.fulfill(response=late)
    until(page, lambda: len(asked) == 2)  # the late one, and another in its place
    assert shown(page) == third
    fourth = press(page, "0")
    assert press(page, "0") == first
    assert len({first, second, third, fourth}) == 4
    page.keyboard.press("0")
    page.wait_for_selector("#text .onward")


def test_nothing_is_called_done_while_a_grade_is_on_its_way(site: Site, visit: Visit) -> None:
    audited(site)
    number = draw_audit(site.project.store, "assessor-3", "assessor-1", 10, seed=0)
    page = visit("olga", f"/organize/audit/judge?audit={number}&topic=MB001")
    shown(page)
    for _ in range(2):
        press(page, "0")
    all_sent(page)
    held: list[Any] = []
    page.route("**/api/audit/judge", lambda route: held.append(route))
    press(page, "0")
    page.keyboard.press("0")  # the last one, which waits for the one before it
    until(page, lambda: len(held) == 1)
    held[0].continue_()
    until(page, lambda: len(held) == 2)
    page.wait_for_selector("text=1 of 4 left in this topic")  # the answer, which has nothing but the last one
    assert page.text_content("#text") == "Loading …"
    held[1].continue_()
    page.wait_for_selector("#text .onward")
    all_sent(page)
    assert len(site.project.store.standing(assessor="assessor-3")) == 4


def test_a_grade_of_an_audit_survives_a_lost_connection(site: Site, visit: Visit) -> None:
    audited(site)
    number = draw_audit(site.project.store, "assessor-3", "assessor-1", 10, seed=0)
    page = visit("olga", f"/organize/audit/judge?audit={number}&topic=MB001", expected=OFFLINE)
    first = shown(page)
    page.context.set_offline(True)
    page.keyboard.press("1")
    page.wait_for_selector("text=1 judgment is saved in this browser")
    page.goto("about:blank")
    page.context.set_offline(False)
    page.goto(f"{site.url}/organize/people")  # any page sends it
    all_sent(page)
    [own] = site.project.store.standing(assessor="assessor-3")
    assert (own.doc, own.grade, own.selection.policy) == (first, 1, "audit")
    page.goto(f"{site.url}/organize/audit/judge?audit={number}&topic=MB001")
    shown(page)
    assert press(page, "u") == first  # what was graded before the page was loaded
    page.keyboard.press("u")
    page.wait_for_selector("text=There is nothing to undo.")
    assert site.project.store.standing(assessor="assessor-3") == []
