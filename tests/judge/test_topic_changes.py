"""Topics found among many, changed together, and put back as they were."""

from __future__ import annotations

import random
import re
from html import unescape

import pytest
from tests.judge.small import found_by, found_by_replay
from tests.judge.web import TOPICS, Browser

from sounding.judge import organizer_pages, organizing
from sounding.judge.project import Project
from sounding.judge.settings import Order
from sounding.judge.topic_changes import TopicFilter, assign_also, find_topics, recorded, undo

STATUSES = ("chosen", "candidate", "dropped")


def shown(page: str) -> list[str]:
    return [unescape(one) for one in re.findall(r'name="topic" value="([^"]+)"', page)]


def add_topics(project: Project, count: int) -> None:
    with project.store.together():
        for number in range(count):
            project.store.save_topic(id=f"q{number}", title=f"question {number}", status="chosen")


def test_many_topics_come_on_pages_in_natural_order(olga: Browser, project: Project) -> None:
    add_topics(project, 120)
    every = ["303", "304", "MB001", "T/2-x", *(f"q{number}" for number in range(120))]
    seen, address = [], "/organize/topics"
    for _ in range(3):
        page = olga.get(address).text
        assert len(shown(page)) <= organizer_pages.TOPICS_SHOWN
        seen += shown(page)
        following = re.search(r'href="([^"]+)">Next', page)
        address = unescape(following[1]) if following else ""
    assert seen == every
    assert not address
    assert shown(olga.get("/organize/topics?first=100000").text) == every[100:]


def test_topics_are_found_by_words_status_and_assessor(olga: Browser, project: Project) -> None:
    add_topics(project, 12)
    organizing.set_statuses(project, ["q1", "q10"], "dropped")
    organizing.set_statuses(project, ["q2"], "candidate")
    organizing.assign(project, "q3", ["bob"])

    def found(**given: str) -> list[str]:
        page = olga.client.get("/organize/topics", params=given)
        assert page.status_code == 200
        return shown(page.text)

    assert found(find="question 1") == ["q11"]  # the dropped ones are hidden
    assert found(find="QUESTION 1", status="any") == ["q1", "q10", "q11"]
    assert found(status="dropped") == ["q1", "q10"]
    assert found(status="candidate") == ["q2"]
    assert found(who="assessor-2") == ["MB001", "q3"]
    assert found(who="-", find="q") == ["q0", "q2", "q4", "q5", "q6", "q7", "q8", "q9", "q11"]
    assert found(find="鯨") == ["304"]
    assert found(find="no such words") == []
    assert "2 dropped topics are hidden" in olga.get("/organize/topics").text


def test_all_found_topics_change_together_and_only_these(olga: Browser, project: Project) -> None:
    add_topics(project, 120)
    organizing.set_statuses(project, ["q7"], "dropped")
    answer = olga.post("/organize/status", status="candidate", find="question 1", within="used", all="yes")
    changed = {one.id for one in project.store.topics() if one.status == "candidate"}
    assert changed == {
        f"q{number}" for number in range(120) if str(number).startswith("1") or "1" in str(number)
    }
    page = olga.get(answer.headers["location"]).text
    assert f"Saved: {len(changed)} topics changed." in page
    olga.post("/organize/status", status="chosen", find="question 7", within="any", all="yes")
    assert project.store.topic("q7").status == "chosen"  # type: ignore[union-attr]
    assert olga.post("/organize/status", status="chosen", find="").status_code == 400  # nothing is ticked


def test_what_was_saved_can_be_undone_on_the_page(olga: Browser, project: Project) -> None:
    answer = olga.post("/organize/status", status="dropped", topic=["MB001", "303"])
    page = olga.get(answer.headers["location"]).text
    [change] = re.findall(r'name="changed" value="([^"]+)"', page)
    assert "Undone." in olga.get(olga.post("/organize/undo", changed=change).headers["location"]).text
    assert {one.status for one in project.store.topics()} == {"chosen"}
    again = olga.post("/organize/status", status="chosen", topic=["MB001"])
    assert "Nothing changed" in olga.get(again.headers["location"]).text
    last = project.store.last_sequence()
    for wrong in ("", "3", "9-3", f"1-{last + 1}", "a-b"):
        assert olga.post("/organize/undo", changed=wrong).status_code in (400, 422), wrong
    assert project.store.last_sequence() == last


def standing(project: Project) -> object:
    """Everything that a change of topics can change."""
    project.engine.catch_up()
    return (
        {one.id: one.status for one in project.store.topics()},
        set(project.store.assignments()),
        {name: project.engine.order(name) for name in [*TOPICS, "future"]},
    )


def change_something(project: Project, rng: random.Random) -> None:
    topics = rng.sample(list(TOPICS), rng.randint(1, 3))
    act = rng.randrange(5)
    order = Order(policy=rng.choice(["mtc", "depth", "rrf"]), batch=rng.randint(1, 3))
    if act == 0:
        organizing.set_statuses(project, topics, rng.choice(STATUSES))  # type: ignore[arg-type]
    elif act == 1:
        assign_also(project, topics, rng.choice(["ann", "bob"]), remove=rng.random() < 0.5)
    elif act == 2:
        organizing.set_order(project, topics, order)
    elif act == 3:
        organizing.set_order(project, None, order)
    else:
        organizing.share_out(project, rng.randint(1, 2))


@pytest.mark.parametrize("seed", range(8))
def test_undoing_restores_exactly_what_was_before(olga: Browser, project: Project, seed: int) -> None:
    """Changes of every kind, several in one transaction."""
    rng = random.Random(seed)
    for _ in range(4):
        change_something(project, rng)
    was = standing(project)
    with recorded(project) as change:
        for _ in range(rng.randint(1, 4)):
            change_something(project, rng)
    undo(project, change)
    assert standing(project) == was
    assert found_by(project.engine, project.store) == found_by_replay(project.store)


def test_what_another_organizer_changed_since_stays(olga: Browser, project: Project) -> None:
    with recorded(project) as change:
        organizing.set_statuses(project, ["MB001", "303"], "dropped")
        assign_also(project, ["304"], "bob")
        organizing.set_order(project, ["304"], Order(policy="depth"))
    organizing.set_statuses(project, ["303"], "candidate")
    organizing.set_order(project, None, Order(policy="rrf"))
    found = undo(project, change)
    assert (found.topics, found.kept) == (2, 1)
    assert {one.id: one.status for one in project.store.topics() if one.id in ("MB001", "303")} == {
        "MB001": "chosen", "303": "candidate"
    }  # fmt: skip
    assert ("304", "assessor-2") not in project.store.assignments()
    assert project.engine.order("304").policy == "rrf"


def test_ten_thousand_topics_are_a_small_page(olga: Browser, project: Project) -> None:
    add_topics(project, 10_000)
    page = olga.get("/organize/topics")
    assert len(page.content) < 100_000
    assert len(find_topics(project, TopicFilter(find="question 99")).topics) == 280
