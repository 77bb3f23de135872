"""Keys of other keyboards: digits of any script, letters by their place, and keys that do nothing."""

from __future__ import annotations

from typing import Any

import pytest
from tests.browser.conftest import BOTH, Site, Visit, until
from tests.browser.judging_page import all_sent, judgments, press, shown

TYPE = """(event) => document.body.dispatchEvent(
  new KeyboardEvent("keydown", { bubbles: true, cancelable: true, ...event })
)"""


def typed(page: Any, before: str, **event: object) -> None:
    """Press a key of a keyboard that the browser of the tests does not have; wait for the next document."""
    page.evaluate(TYPE, event)
    until(page, "(before) => document.querySelector('#doc bdi').textContent !== before", before)


@BOTH
def test_digits_of_any_script_and_places_of_keys_grade(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    given: list[tuple[dict[str, object], float | None]] = [
        ({"key": "\u0661", "code": "Digit1"}, 1),  # Arabic
        ({"key": "\u06f2", "code": "Digit2"}, 2),  # Persian
        ({"key": "\u0968", "code": "KeyA"}, 2),  # Devanagari: what it types counts, not its place
        ({"key": "\U0001d7d9", "code": ""}, 1),  # five sets of digits in a row, of which this is the second
        ({"key": "&", "code": "Digit1"}, 1),  # French, without Shift
        ({"key": "2", "code": "Numpad2"}, 2),
        ({"key": "\u0447", "code": "KeyX"}, None),  # Russian
        ({"key": "X", "code": "KeyB", "shiftKey": True}, None),  # another place, and Caps Lock
    ]
    expected = []
    for event, grade in given:
        doc = shown(page)
        expected.append((doc, grade))
        typed(page, doc, **event)
    assert judgments(site, len(expected)) == expected


@pytest.mark.parametrize(
    "event",
    [
        {"key": "q", "code": "KeyX"},  # Dvorak: the key of x types q, which is no key here
        {"key": "!", "code": "Digit1", "shiftKey": True},
        {"key": "7", "code": "Digit7"},  # no grade has it
        {"key": "k", "code": "KeyK"},
    ],
)
def test_a_key_that_does_nothing_says_so(site: Site, visit: Visit, event: dict[str, object]) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    page.evaluate(TYPE, event)
    assert f"{event['key']} is not a key of this page. Press ? to see" in page.text_content("#status")
    assert shown(page) == first
    press(page, "0")  # goes after all that was given before
    assert judgments(site, 1) == [(first, 0)]


def test_a_question_mark_shows_the_keys_and_nothing_is_graded_behind_them(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    page.keyboard.press("?")
    page.wait_for_selector("#keys[open]")
    listed = page.locator("#keys kbd").all_text_contents()
    offered = page.locator(".grading button").evaluate_all(
        "(all) => all.map((one) => one.getAttribute('aria-keyshortcuts'))"
    )
    assert set(offered) | {"c"} <= set(listed)
    page.keyboard.press("1")
    page.keyboard.press("Escape")
    page.wait_for_selector("#keys:not([open])", state="attached")
    press(page, "0")
    assert judgments(site, 1) == [(first, 0)]


def choose(page: Any, **keys: str) -> None:
    """Choose keys in the dialog, without saving."""
    page.keyboard.press("?")
    page.click("#change-keys")
    for name, key in keys.items():
        page.focus(f"#keys input[data-name='{name.replace('_', '-')}']")
        page.keyboard.press(key)


def test_keys_that_a_person_chose_stay_and_are_shown(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    choose(page, grade_1="j", cannot="q", undo="1")
    page.click("#keys button.main")
    assert page.text_content("[data-grade='1.0'] kbd") == "j"
    assert page.get_attribute("[data-do='undo']", "aria-keyshortcuts") == "1"
    second = press(page, "j")
    third = press(page, "q")
    all_sent(page)
    assert press(page, "1") == second  # which takes back the last one
    press(page, "q")
    page.keyboard.press("x")
    assert "x is not a key of this page" in page.text_content("#status")
    page.reload()
    assert shown(page) == third
    press(page, "j")
    assert judgments(site, 4) == [(first, 1), (second, None), (second, None), (third, 1)]
    page.keyboard.press("?")
    page.click("#change-keys")
    page.click("#default-keys")
    page.click("#keys button.main")
    fourth = shown(page)
    press(page, "1")
    assert judgments(site, 5)[-1] == (fourth, 1)


def test_two_actions_cannot_have_one_key(site: Site, visit: Visit) -> None:
    page = visit("ann", "/judge?topic=MB001")
    first = shown(page)
    choose(page, skip="0")
    page.click("#keys button.main")
    assert page.is_visible("text=The key 0 is there twice.")
    page.keyboard.press("Escape")
    press(page, "0")
    assert judgments(site, 1) == [(first, 0)]
    page.keyboard.press("?")
    assert page.text_content("#keys dt kbd[data-name='skip']") == "s"
    assert page.is_hidden("#keys input[data-name='skip']")
