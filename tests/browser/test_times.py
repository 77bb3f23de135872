"""How long people were at work on a document and how long away, by a clock that the tests set."""

from __future__ import annotations

from typing import Any

import pytest
from tests.browser.conftest import Site, Visit, until
from tests.browser.judging_page import OFFLINE, all_sent, judgments, shown

Steps = list[list[Any]]

FOLLOWED = """async (steps) => {
  const { Clock } = await import("/static/clock.js");
  const clock = new Clock(0, true);
  const taken = [];
  for (const [act, ...given] of steps) {
    const found = clock[act](...given);
    if (act === "take") taken.push([found.active, found.away]);
  }
  return taken;
}"""


def of_times(visit: Visit, *every: Steps) -> list[list[list[float]]]:
    page = visit("ann")
    return [page.evaluate(FOLLOWED, [[act, *given] for act, *given in steps]) for steps in every]


def test_time_is_work_while_the_page_is_in_front_and_something_moved_lately(visit: Visit) -> None:
    cases: dict[str, tuple[Steps, list[list[float]]]] = {
        "reading": ([["turn", 0, "a"], ["take", 90_000]], [[90, 0]]),
        "two minutes without a movement": ([["turn", 0, "a"], ["take", 200_000]], [[120, 80]]),
        "moving again": ([["turn", 0, "a"], ["moved", 100_000], ["take", 200_000]], [[200, 0]]),
        "away and back": ([["turn", 0, "a"], ["moved", 180_000], ["take", 190_000]], [[130, 60]]),
        "the tab goes behind at once, and comes back": (
            [["turn", 0, "a"], ["look", 700, False], ["look", 50_700, True], ["take", 60_700]],
            [[10.7, 50]],
        ),
        "behind for long; to come back is a movement": (
            [["turn", 0, "a"], ["look", 1000, False], ["look", 500_000, True], ["take", 501_000]],
            [[2, 499]],
        ),
        "nothing is shown before the first document": ([["turn", 5000, "a"], ["take", 7000]], [[2, 0]]),
        "loading is no work on any": (
            [["turn", 0, "a"], ["take", 3000], ["turn", 3000], ["turn", 9000, "b"], ["take", 9500]],
            [[3, 0], [0.5, 0]],
        ),
        "one, another in between, and the one again": (
            [["turn", 0, "a"], ["turn", 20_000, "b"], ["take", 25_000], ["turn", 25_000, "a"], ["take", 27_000]],
            [[5, 0], [22, 0]],
        ),
        "taken, told to nobody, and given back": (
            [["turn", 0, "a"], ["take", 30_000], ["giveBack", "a", {"active": 30, "away": 4}], ["take", 32_000]],
            [[30, 0], [32, 4]],
        ),
        "a weekend": ([["turn", 0, "a"], ["take", 3 * 86_400_000]], [[120, 86_400]]),
        "taken twice": ([["turn", 0, "a"], ["take", 1000], ["take", 1500]], [[1, 0], [0.5, 0]]),
    }  # fmt: skip
    found = of_times(visit, *(steps for steps, _ in cases.values()))
    assert dict(zip(cases, found, strict=True)) == {name: wanted for name, (_, wanted) in cases.items()}


def clocked(site: Site, visit: Visit, **options: Any) -> Any:
    """The judging page, where time stands still until a test lets it pass."""
    page = visit("ann", **options)
    page.clock.install(time=0)
    page.goto(f"{site.url}/judge?topic=MB001")
    shown(page)
    page.clock.pause_at(3_600_000)  # which no machine needs for what was done so far
    return page


def act(page: Any, key: str) -> None:
    """Press a key, and wait until the server has answered: no time is spent on loading."""
    page.keyboard.press(key)
    all_sent(page)
    shown(page)


def times(site: Site, kind: str) -> list[tuple[float | None, float | None]]:
    return [(event.active, event.away) for event in site.project.store.events() if event.kind == kind]


def hide(page: Any, hidden: bool) -> None:
    state = "hidden" if hidden else "visible"
    page.evaluate(
        f"Object.defineProperty(document, 'visibilityState', {{ value: '{state}', configurable: true }})"
    )
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")


def test_the_log_has_the_time_of_each_document(site: Site, visit: Visit) -> None:
    page = clocked(site, visit)
    act(page, "1")  # the time up to here is that of loading the page
    page.clock.run_for(90_000)  # reads without touching anything
    act(page, "1")
    page.clock.run_for(30_000)
    hide(page, True)
    page.clock.run_for(40_000)
    hide(page, False)
    page.clock.run_for(5000)
    act(page, "0")
    page.clock.run_for(12_000)
    act(page, "s")
    for found, wanted in zip(
        [*times(site, "judge")[1:], *times(site, "skip")], [(90, 0), (35, 40), (12, 0)], strict=True
    ):
        assert found == pytest.approx(wanted, abs=0.1)


def test_time_on_a_grade_that_was_taken_back_before_it_was_sent_is_not_lost(site: Site, visit: Visit) -> None:
    page = clocked(site, visit, expected=OFFLINE)
    act(page, "1")
    page.context.set_offline(True)
    page.clock.run_for(30_000)
    page.keyboard.press("1")  # waits in the browser, and may have left it
    page.clock.run_for(20_000)
    page.keyboard.press("0")  # waits behind it
    page.keyboard.press("u")
    until(page, "document.querySelector('#status').textContent.startsWith('Undone')")
    page.clock.run_for(4000)
    page.keyboard.press("1")
    page.context.set_offline(False)
    page.clock.run_for(60_000)
    judgments(site, 3)
    assert times(site, "judge")[1:] == [pytest.approx((30, 0), abs=0.1), pytest.approx((24, 0), abs=0.1)]
