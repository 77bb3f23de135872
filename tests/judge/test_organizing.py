"""What organizers change, by command and by the programming interface: one rule each, all of it or nothing."""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.routing import APIRoute
from tests.e2e.calling import Call, caller, check_refused
from tests.judge.web import TOPICS, Browser, add_person, signed_in

from sounding.core.errors import DataError
from sounding.judge import organizer_api
from sounding.judge import organizing as organizing
from sounding.judge.app import create_app
from sounding.judge.database import StoreError
from sounding.judge.organizing import staffing_note
from sounding.judge.project import Project
from sounding.judge.records import Event, TopicStatus
from sounding.judge.settings import Order
from sounding.judge.store import Store
from sounding.judge.verify import verify

FIRST, SECOND, THIRD, FOURTH = TOPICS
Command = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def people(project: Project) -> Project:
    """Two assessors and an organizer."""
    for name in ("ann", "bob"):
        add_person(project, name)
    add_person(project, "olga", "organizer")
    return project


@pytest.fixture
def call(people: Project, capsys: pytest.CaptureFixture[str]) -> Call:
    """`sounding judge WHAT` with the folder of the project, whose server has its own engine meanwhile."""
    run = caller(capsys, "judge")
    return lambda what, *more: run(what, str(people.folder), *more)


@pytest.fixture
def command(call: Call) -> Command:
    """The rows that a command gives."""

    def rows(*words: str) -> list[dict[str, Any]]:
        status, out, err = call(*words, "--format", "json", "--quiet")
        assert (status, err) == (0, "")
        found: list[dict[str, Any]] = json.loads(out)["rows"]
        return found

    return rows


def kinds(project: Project, after: int) -> Counter[str]:
    return Counter(event.kind for event in project.store.events(after))


def last(project: Project) -> Event:
    [event] = project.store.events(project.store.last_sequence() - 1)
    return event


# ---- commands


def test_topics_are_listed_with_who_judges_them_and_how_far_they_are(
    people: Project, command: Command
) -> None:
    ann = people.store.user_by_name("ann")
    assert ann is not None
    people.store.assign(FIRST, ann.pseudonym)
    [lease] = people.engine.next(ann.pseudonym, FIRST)
    people.engine.judge(ann.pseudonym, FIRST, lease.doc, 1, key="first-one")
    rows = {row["topic"]: row for row in command("topics")}
    assert rows.keys() == TOPICS.keys()
    left = people.engine.counts().of(FIRST).left
    assert rows[FIRST] == {
        "topic": FIRST, "title": TOPICS[FIRST][0], "status": "chosen", "order": "mtc", "assessors": "ann",
        "judged": 1, "left": left,
    }  # fmt: skip
    assert (rows[SECOND]["assessors"], rows[SECOND]["judged"]) == ("", 0)


def test_a_server_that_runs_follows_what_commands_change(people: Project, command: Command) -> None:
    app = create_app(people)
    ann = signed_in(people, "ann", app)
    command("topics", "--assign", f"{FIRST}=ann", "--drop", SECOND)
    assert ann.client.get("/api/next", params={"topic": FIRST}).json()["documents"] != []
    command("order", "uniform-sample", "-P", "rate=1", "--topic", FIRST)
    ann.client.get("/api/next", params={"topic": FIRST, "count": 5})
    assert people.engine.order(FIRST).policy == "uniform-sample"
    command("settings", "--overlap", "2", "--title", "Harbour watch")
    people.engine.catch_up()  # as a thread of the server does every other second
    assert "Harbour watch" in ann.get("/").text
    assert people.settings.overlap == 2
    command("topics", "--drop", FIRST)
    assert ann.client.get("/api/next", params={"topic": FIRST}).status_code == 404
    assert verify(people).problems == ()


def test_topics_are_chosen_dropped_and_made_candidates(people: Project, command: Command) -> None:
    rows = command("topics", "--drop", f"{FIRST},{SECOND}", "--drop", THIRD, "--candidate", FOURTH)
    assert [row["status"] for row in sorted(rows, key=lambda row: list(TOPICS).index(row["topic"]))] == [
        "dropped", "dropped", "dropped", "candidate",
    ]  # fmt: skip
    assert {row["status"] for row in command("topics", "--choose", "all")} == {"chosen"}
    before = people.store.last_sequence()
    command("topics", "--choose", "all")
    assert people.store.last_sequence() == before  # as they were


@pytest.mark.parametrize("change", [("--role", "organizer"), ("--disable",), ("--erase", "--yes")])
def test_who_can_judge_nothing_counts_nowhere_as_an_assessor(
    people: Project, command: Command, call: Call, change: tuple[str, ...]
) -> None:
    command("settings", "--overlap", "2")
    command("topics", "--assign", f"{FIRST}=ann,bob", "--assign", f"{SECOND}=bob")
    [before] = [row["topics"] for row in command("user") if row["user"] == "bob"]
    assert before == 2
    call("user", "bob", *change)
    assert {row["in the log"]: row["topics"] for row in command("user")} == {
        "assessor-1": 1, "assessor-2": 0, "assessor-3": 0,
    }  # fmt: skip
    assert {row["topic"]: row["assessors"] for row in command("topics")}[FIRST] == "ann"
    assert {row["topic"]: row["assessors"] for row in command("status", "--view", "topics")}[FIRST] == 1
    assert f"{FIRST} (1 of 2)" in call("status")[1]
    page = signed_in(people, "olga").get("/organize/people").text
    topics = re.findall(r'<span class="narrow-only faint">topics</span> (\d+)', page)
    assert topics == ["1", "0", "0"]


def test_topics_are_there_again_with_the_role(people: Project, call: Call) -> None:
    call("user", "bob", "--topics", f"{FIRST},{SECOND}")
    assert "bob: organizer; sign-in: " in call("user", "bob", "--role", "organizer")[2]
    assert "bob: assessor, 2 topics to judge; " in call("user", "bob", "--role", "assessor")[2]
    assert "bob: assessor, 0 topics to judge; sign-in: disabled" in call("user", "bob", "--disable")[2]
    assert "bob: assessor, 2 topics to judge; " in call("user", "bob", "--enable")[2]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("olga", "--topics", FIRST), "olga is an organizer and cannot judge"),
        (("new", "--role", "organizer", "--topics", FIRST), "new is an organizer and cannot judge"),
        (("ann", "--role", "organizer", "--topics", FIRST), "ann is an organizer and cannot judge"),
        (("ann", "--disable", "--topics", FIRST), "ann is not allowed to sign in and cannot judge"),
        (("new", "--topics", "999"), "no topic '999'"),
    ],
)
def test_a_user_who_judges_nothing_gets_no_topics_and_stays_as_before(
    people: Project, command: Command, call: Call, words: tuple[str, ...], message: str
) -> None:
    before = command("user")
    status, _, told = call("user", *words)
    assert status == 1
    assert message in told
    assert command("user") == before
    assert people.store.assignments() == []


def test_a_topic_is_given_to_exactly_those_who_are_named(people: Project, command: Command) -> None:
    add_person(people, "Cem, the second")
    given = ("--assign", f"{FIRST}=ann, BOB", "--assign", f"{SECOND}=Cem, the second")
    rows = {row["topic"]: row["assessors"] for row in command("topics", *given, "--assign", f"{SECOND}=bob")}
    assert (rows[FIRST], rows[SECOND], rows[THIRD]) == ("ann, bob", "bob, Cem, the second", "")
    before = people.store.last_sequence()
    rows = {row["topic"]: row["assessors"] for row in command("topics", "--assign", f"{FIRST}=", *given[2:])}
    assert (rows[FIRST], rows[SECOND]) == ("", "Cem, the second")
    assert kinds(people, before) == {"unassign": 3}


def test_topics_that_are_not_chosen_are_nobodys_load(people: Project, command: Command) -> None:
    unused: tuple[TopicStatus, ...] = ("dropped", "candidate", "dropped", "dropped")
    for number, status in enumerate(unused):
        people.store.save_topic(f"old{number}", title="x", status=status)
        people.store.assign(f"old{number}", "assessor-1")
    rows = {row["topic"]: row["assessors"] for row in command("topics", "--share-out")}
    assert Counter(rows[topic] for topic in TOPICS) == {"ann": 2, "bob": 2}
    assert rows["old0"] == "ann"  # nobody loses one


def test_topics_are_shared_out_to_those_with_the_fewest(people: Project, command: Command) -> None:
    command("topics", "--assign", f"{FIRST}=ann", "--drop", FOURTH)
    rows = {row["topic"]: row["assessors"] for row in command("topics", "--share-out")}
    assert rows == {FIRST: "ann", SECOND: "ann", THIRD: "bob", FOURTH: ""}  # 303, MB001, T/2-x in turn
    rows = {row["topic"]: row["assessors"] for row in command("topics", "--share-out", "--each", "2")}
    assert Counter(rows.values()) == {"ann, bob": 3, "": 1}


def test_sharing_out_says_why_it_goes_no_further(people: Project, call: Call) -> None:
    assert call("topics", "--share-out")[2] == (
        "4 assignments made: every chosen topic has 1 assessor or more\n"
    )
    assert call("topics", "--share-out", "--each", "5")[2] == (
        "4 assignments made: only 2 assessors can sign in\n"
    )
    assert call("topics", "--share-out", "--each", "5")[2] == (
        "0 assignments made: only 2 assessors can sign in\n"
    )
    told = "4 topics dropped; 0 assignments made: no topic is chosen\n"
    assert call("topics", "--drop", "all", "--share-out")[2] == told
    for person in people.store.assessors():
        people.store.set_active(person.id, False)
    told = "4 topics chosen; 0 assignments made: no assessor can sign in\n"
    assert call("topics", "--choose", "all", "--share-out")[2] == told


def test_who_cannot_judge_now_keeps_the_topics_that_others_are_given(people: Project, call: Call) -> None:
    ann, bob = people.store.assessors()
    organizing.assign(people, FIRST, [ann.name])
    call("user", ann.name, "--disable")
    assert organizing.assign(people, FIRST, [bob.name]) == 1
    assert people.store.assigned() == [(FIRST, bob)]
    call("user", ann.name, "--enable")
    assert [(topic, one.name) for topic, one in people.store.assigned()] == [
        (FIRST, ann.name),
        (FIRST, bob.name),
    ]


def test_what_awaits_another_assessor_or_an_organizer_is_listed(people: Project, command: Command) -> None:
    assert {"again", "unsettled"}.isdisjoint(command("topics")[0])
    command("settings", "--overlap", "2", "--feed", "adjudicated")
    command("topics", "--share-out")
    engine = people.engine
    engine.catch_up()
    ann, bob = (one.pseudonym for one in people.store.assessors())
    docs = [lease.doc for lease in engine.next(ann, FIRST, 3)]
    for number, doc in enumerate(docs):
        engine.judge(ann, FIRST, doc, 1, key=f"ann-{number}-long")
    engine.judge(bob, FIRST, docs[0], 0, key="bob-differs")
    rows = {row["topic"]: (row["judged"], row["again"], row["unsettled"]) for row in command("topics")}
    assert (rows[FIRST], rows[SECOND]) == ((2, 2, 1), (0, 0, 0))
    listed = command("status", "--view", "topics")
    assert {row["topic"]: (row["judged"], row["again"], row["unsettled"]) for row in listed} == rows
    [found] = [one for one in organizing.topic_states(people) if one.topic.id == FIRST]
    assert (found.counts.judged, found.counts.again, found.counts.unsettled) == rows[FIRST]
    command("settings", "--feed", "first")
    assert "unsettled" not in command("status", "--view", "topics")[0]


def test_a_larger_overlap_says_which_topics_have_too_few_people_for_it(people: Project, call: Call) -> None:
    call("topics", "--share-out", "--each", "2")
    assert call("settings", "--overlap", "2")[2] == ""
    status, _, said = call("settings", "--overlap", "3")
    short = staffing_note(people.engine)
    assert (status, said) == (0, f"{short}\n")
    assert short.startswith(f"Too few assessors to finish topics {THIRD} (2 of 3), ")
    assert call("settings", "--overlap", "3", "--quiet")[2] == ""
    assert call("settings", "--title", "x")[2] == ""  # nothing that it depends on has changed
    olga = signed_in(people, "olga")
    assert short in olga.get("/organize/project").text
    organizing.change_settings(people, overlap=2)
    assert "Too few" not in olga.get("/organize/project").text


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--drop", FIRST, "--choose", "no-such"), 1, "no topic 'no-such'; the project has 4 topics"),
        (("--drop", FIRST, "--assign", f"{SECOND}=an"), 2, "unknown assessor 'an'; did you mean ann?"),
        (("--drop", FIRST, "--assign", f"{SECOND}=olga"), 1, "olga is an organizer and cannot judge"),
        (("--drop", FIRST, "--assign", SECOND), 2, "expected TOPIC=NAME,..., such as 301=ann,bob"),
        (("--drop", FIRST, "--choose", FIRST), 2, f"topic {FIRST} is in --choose and in --drop"),
        (("--each", "2"), 2, "--each needs --share-out"),
    ],
)
def test_where_one_thing_is_wrong_nothing_is_changed(
    people: Project, call: Call, words: tuple[str, ...], status: int, message: str
) -> None:
    before = people.store.last_sequence()
    check_refused(call("topics", *words), status, message)
    assert people.store.last_sequence() == before


def test_an_order_is_set_for_some_topics_or_for_all_and_for_those_to_come(
    people: Project, call: Call, command: Command
) -> None:
    rows = command(
        "order", "uniform-sample", "-P", "rate=0.5", "--batch", "3", "--topic", f"{FIRST},{SECOND}"
    )
    assert [(row["topic"], row["order"], row["parameters"], row["batch"]) for row in rows] == [
        (FIRST, "uniform-sample", "rate=0.5", 3), (SECOND, "uniform-sample", "rate=0.5", 3),
    ]  # fmt: skip
    assert {row["order"] for row in command("order", "--topic", THIRD)} == {"mtc"}
    assert "new topics: mtc" in call("order")[1]
    before = people.store.last_sequence()
    assert {row["order"] for row in command("order", "rank", "--warm-up", "2")} == {"rank"}
    assert "new topics: rank, warm-up 2" in call("order")[1]
    assert kinds(people, before) == {"order": 1}
    status, _, said = call("order", "rank", "--warm-up", "2")
    assert (status, said) == (0, "nothing changed: the topics have this order already\n")
    assert kinds(people, before) == {"order": 1}


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("uniform-sampl",), 2, "did you mean uniform-sample?"),
        (("uniform-sample", "-P", "rate=nan"), 1, "parameter rate=nan of an order: expected a finite number"),
        (("uniform-sample", "-P", "rate=much"), 1, "does not accept rate=much"),
        (("rank", "--topic", "no-such"), 1, "no topic 'no-such'"),
        (("--batch", "3"), 2, "--batch belongs to an order; name it, such as mtc"),
    ],
)
def test_an_order_that_cannot_be_is_refused(
    people: Project, call: Call, words: tuple[str, ...], status: int, message: str
) -> None:
    before = people.store.last_sequence()
    check_refused(call("order", *words), status, message)
    assert people.store.last_sequence() == before


def test_settings_and_instructions_are_shown_and_changed(
    people: Project, call: Call, command: Command, tmp_path: Path
) -> None:
    (tmp_path / "read.txt").write_text("Read it all.\n\nGrade what it says. ☂\n", encoding="utf-8")
    command("order", "rank")
    before = people.store.last_sequence()
    given = (
        "--overlap",
        "2",
        "--feed",
        "majority",
        "--lease",
        "2.5",
        "--instructions",
        str(tmp_path / "read.txt"),
    )
    shown = {row["setting"]: row["value"] for row in command("settings", *given)}
    assert shown == {
        "title": "Sea reports", "overlap": "2", "feed": "majority", "level": "1", "measure": "AP",
        "lease": "2.5", "language": "browser", "suggest": "none",
        "instructions": "Read it all.\n\nGrade what it says. ☂",
    }  # fmt: skip
    assert kinds(people, before) == {"project": 1, "setting": 1}
    assert {row["setting"]: row["value"] for row in command("settings", *given)} == shown
    assert kinds(people, before) == {"project": 1, "setting": 1}
    people.engine.catch_up()
    assert people.engine.general_order().policy == "rank"  # the order of before stays in force
    check_refused(call("settings", "--level", "7", "--title", "x"), 1, "level 7 is not on the scale")
    (tmp_path / "bad.txt").write_bytes(b"\xff\xfe")
    check_refused(
        call("settings", "--title", "x", "--instructions", str(tmp_path / "bad.txt")), 1, "bad.txt: not UTF-8"
    )
    check_refused(call("settings", "--title", " "), 2, "--title is blank; give a value or leave")
    check_refused(call("settings", "--measure", ""), 2, "'--measure': it is empty")
    assert people.store.last_sequence() == before + 2


def test_quiet_leaves_remarks_out(people: Project, call: Call) -> None:
    for what, note in (("settings", "lease: in minutes"), ("topics", "no assessor")):
        assert note in call(what)[1]
        assert note not in call(what, "--quiet")[1]


# ---- the rules themselves


def test_what_could_not_be_recorded_is_forgotten(people: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    before = people.store.last_sequence()
    whole = Store.set_status

    def until_the_second(store: Store, id: str, *rest: Any, **more: Any) -> Any:  # noqa: A002
        if id == SECOND:
            raise StoreError("the disk is full")
        return whole(store, id, *rest, **more)

    with monkeypatch.context() as broken:
        broken.setattr(Store, "set_status", until_the_second)
        with pytest.raises(StoreError):
            organizing.set_statuses(people, [FIRST, SECOND], "dropped")
    assert people.store.last_sequence() == before
    people.engine.catch_up()
    assert people.engine.catch_up() == before
    assert people.engine.counts().of(FIRST).left > 0  # it is still in use


def test_nobody_who_is_closed_is_given_a_topic(people: Project) -> None:
    ann = people.store.user_by_name("ann")
    assert ann is not None
    people.store.set_active(ann.id, False)
    with pytest.raises(DataError, match="ann is not allowed to sign in"):
        organizing.assign(people, FIRST, ["ann"])


def test_an_order_that_is_in_force_keeps_its_batch(people: Project) -> None:
    organizing.set_order(people, [FIRST], Order(policy="rank", batch=4))
    before = people.engine.next("assessor-1", FIRST, 4)
    assert organizing.set_order(people, [FIRST], Order(policy="rank", batch=4)) == 0
    assert organizing.set_order(people, None, Order(policy="rank", batch=4)) == 3
    assert [one.doc for one in people.engine.next("assessor-1", FIRST, 4)] == [one.doc for one in before]


@pytest.mark.parametrize(
    ("order", "other", "different"),
    [
        (
            Order(policy="stratified-sample", parameters={"strata": "4:1,100:0.5"}, batch=4),
            Order(policy="stratified", parameters={"strata": "4:1.0, 100:.5"}, batch=4),
            Order(policy="stratified-sample", parameters={"strata": "4:1,100:0.6"}, batch=4),
        ),
        (
            Order(policy="hedge", batch=4),
            Order(policy="hedge", parameters={"beta": 0.1}, batch=4),
            Order(policy="hedge", batch=5),
        ),
        (
            Order(policy="rrf", parameters={"c": 60.0}, batch=4),
            Order(policy="rrf", batch=4),
            Order(policy="rrf", batch=4, warm_up=1),
        ),
    ],
)
def test_the_order_in_force_in_other_words_is_no_other_order(
    people: Project, order: Order, other: Order, different: Order
) -> None:
    organizing.set_order(people, None, order)
    before, log = people.engine.next("assessor-1", FIRST, 4), people.store.last_sequence()
    for topics in ([FIRST], None):
        assert organizing.set_order(people, topics, other) == 0
    assert people.store.last_sequence() == log
    assert [one.doc for one in people.engine.next("assessor-1", FIRST, 4)] == [one.doc for one in before]
    assert organizing.set_order(people, [FIRST], different) == 1


@pytest.mark.parametrize("strata", ["x", "4", "4:2", 4.0, ""])
def test_strata_that_cannot_be_read_are_refused_and_not_recorded(people: Project, strata: Any) -> None:
    organizing.set_order(people, None, Order(policy="stratified-sample"))
    log = people.store.last_sequence()
    with pytest.raises(DataError, match=r"strata|sampling rate"):
        organizing.set_order(
            people, [FIRST], Order(policy="stratified-sample", parameters={"strata": strata})
        )
    assert people.store.last_sequence() == log


# ---- the programming interface


def test_a_program_does_what_the_commands_do(people: Project) -> None:
    olga = signed_in(people, "olga")
    ask = olga.client.get
    assert olga.send("/api/organize/status", {"topics": [FIRST, SECOND], "status": "dropped"}).json() == {
        "changed": 2
    }
    assert last(people).assessor == people.store.user_by_name("olga").pseudonym  # type: ignore[union-attr]
    assert olga.send("/api/organize/assign", {"topic": THIRD, "assessors": ["ann"]}).json() == {"changed": 1}
    assert olga.send("/api/organize/share-out", {"count": 2}).json() == {"changed": 3}
    order = {"policy": "uniform-sample", "parameters": {"rate": 0.5}, "batch": 2}
    assert olga.send("/api/organize/order", {"topics": [THIRD], **order}).json() == {"changed": 1}
    rows = {row["topic"]: row for row in ask("/api/organize/topics").json()}
    assert rows[FIRST]["status"] == "dropped"
    assert rows[THIRD]["assessors"] == ["ann", "bob"]
    assert (rows[THIRD]["unsettled"], rows[THIRD]["again"]) == (0, 0)
    assert rows[THIRD]["order"] == {**order, "warm_up": 0}
    assert rows[FOURTH]["order"]["policy"] == "mtc"
    assert olga.send("/api/organize/order", {"policy": "rank"}).json() == {"changed": 4}
    assert olga.send("/api/organize/settings", {"overlap": 2, "lease": 3}).json()["lease"] == 3
    assert ask("/api/organize/settings").json()["overlap"] == 2
    assert people.engine.general_order().policy == "rank"
    assert olga.send("/api/organize/instructions", {"text": " Read. "}).json() == {"text": "Read."}
    assert ask("/api/organize/instructions").json() == {"text": "Read."}
    assert people.store.setting("instructions") == "Read."
    assert verify(people).problems == ()


ROUTES = sorted(
    (method, route.path)
    for route in organizer_api.router.routes
    if isinstance(route, APIRoute)
    for method in route.methods or ()
)
CONTENT: dict[str, Any] = {
    "status": {"topics": [FIRST], "status": "dropped"}, "assign": {"topic": FIRST, "assessors": []},
    "share-out": {}, "order": {"policy": "rank"}, "settings": {"overlap": 3}, "instructions": {"text": "x"},
    "differences": {"topic": FIRST, "doc": "d10", "grade": 1, "key": "settled-1"},
}  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ROUTES)
def test_it_is_for_organizers_from_their_own_pages_alone(people: Project, method: str, path: str) -> None:
    app = create_app(people)
    content = CONTENT.get(path.rpartition("/")[2])
    before = people.store.last_sequence()
    guest, ann, olga = Browser(people, app), signed_in(people, "ann", app), signed_in(people, "olga", app)
    codes = []
    for who in (guest, ann, olga):
        headers = {"X-Page-Token": "" if who is olga else who.token}
        answer = who.client.request(method, path, json=content, headers=headers)
        codes.append(answer.status_code)
    assert codes == [401, 403, 200 if method == "GET" else 403]
    assert people.store.last_sequence() == before


@pytest.mark.parametrize(
    ("path", "content", "message"),
    [
        ("status", {"topics": [FIRST, "no-such"], "status": "dropped"}, "no topic 'no-such'"),
        ("assign", {"topic": FIRST, "assessors": ["ann", "nobody"]}, "unknown assessor 'nobody'"),
        ("order", {"policy": "no-such"}, "unknown strategy 'no-such'"),
        ("order", {"policy": "uniform-sample", "parameters": {"rate": "x"}}, "does not accept rate=x"),
        ("settings", {"level": 9, "title": "x"}, "level 9 is not on the scale"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    people: Project, path: str, content: dict[str, Any], message: str
) -> None:
    before = people.store.last_sequence()
    answer = signed_in(people, "olga").send(f"/api/organize/{path}", content)
    assert answer.status_code == 400
    assert message in answer.json()["detail"]
    assert people.store.last_sequence() == before


PEOPLE = """\ufeffName;Role;Topics
ann;;{first}
"Ça, Dr.";assessor;all
jane;Organizer;
"""


def test_people_come_from_a_table_and_their_links_go_into_one(
    people: Project, call: Call, tmp_path: Path
) -> None:
    source, target = tmp_path / "people.csv", tmp_path / "links.csv"
    source.write_text(PEOPLE.format(first=FIRST), encoding="utf-8")
    known = {one.name for one in people.store.users()}
    call("user", "--people", source, "-o", target, "--url", "https://judge.example")
    with target.open(encoding="utf-8", newline="") as stream:
        rows = {row["user"]: row for row in csv.DictReader(stream)}
    assert set(rows) == {"ann", "Ça, Dr.", "jane"}
    assert {name for name, row in rows.items() if row["link"]} == set(rows) - known
    assert all(
        row["link"].startswith("https://judge.example/welcome/") for row in rows.values() if row["link"]
    )
    assert target.stat().st_mode & 0o777 == 0o600
    found = {one.name: one for one in people.store.users()}
    assert found["jane"].role == "organizer"
    assert {topic for topic, who in people.store.assignments() if who == found["ann"].pseudonym} == {FIRST}
    given = [topic for topic, who in people.store.assignments() if who == found["Ça, Dr."].pseudonym]
    assert sorted(given) == sorted(topic.id for topic in people.store.topics())
    before = people.store.users()
    call("user", "--people", source, "-o", target)  # again: nobody loses a password
    assert people.store.users() == before
    assert "welcome" not in target.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no column name"),
        ("name\n", "no users in the file"),
        ("name,mail\nx,y\n", "people.csv:1: unknown column 'mail'"),
        ("name,role\nx,boss\n", "people.csv:2: unknown role 'boss'"),
        ("name,role\nx,\nX,\n", "people.csv:3: X is in line 2 already"),
        ("name,topics\nx,all\ny,no-such\n", "people.csv:3: no topic 'no-such'"),
        ("name\nassessor-7\n", "people.csv:2: 'assessor-7' could be another person's pseudonym"),
        ("name\nx,y\n", "people.csv:2: 2 fields under 1 columns"),
        ('name\n"x\n', "not a valid table row"),
    ],
)
def test_a_table_of_people_with_a_wrong_line_changes_nothing(
    people: Project, call: Call, tmp_path: Path, text: str, message: str
) -> None:
    source, before = tmp_path / "people.csv", people.store.users()
    source.write_text(text)
    check_refused(call("user", "--people", source), 1, message)
    assert people.store.users() == before


@pytest.mark.parametrize("more", [["bob"], ["--role", "assessor"], ["--topics", "all"], ["--erase", "--yes"]])
def test_a_table_of_people_stands_alone(people: Project, call: Call, tmp_path: Path, more: list[str]) -> None:
    (tmp_path / "people.csv").write_text("name\nx\n")
    check_refused(
        call("user", *more, "--people", tmp_path / "people.csv"), 2, "--people names its users itself"
    )
