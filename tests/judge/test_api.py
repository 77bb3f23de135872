"""Judging over HTTP: leases, grades, changes, keys, and what happens when something fails."""

from __future__ import annotations

import json
import re
from contextlib import closing
from html import unescape
from itertools import count
from typing import Any

import pytest
from tests.conftest import require
from tests.judge.web import TOPICS, Browser, add_person, signed_in

from sounding.judge.assessor_pages import advice
from sounding.judge.auth import RateLimit
from sounding.judge.project import FILE, Project
from sounding.judge.sqlite import sqlite3

_numbers = count(1)


def key() -> str:
    return f"key-{next(_numbers):08d}"


def grading(doc: str, grade: float | None, **more: Any) -> dict[str, Any]:
    return {"topic": "MB001", "doc": doc, "grade": grade, "key": key(), **more}


def docs(answer: Any) -> list[str]:
    return [one["doc"] for one in answer.json()["documents"]]


@pytest.fixture
def ann(project: Project) -> Browser:
    add_person(project, "ann", topics=tuple(TOPICS))
    return signed_in(project, "ann")


@pytest.mark.parametrize(
    ("estimate", "found", "said"),
    [
        (None, 0, ""),
        (None, 1, "You have already found 1 relevant document."),
        (4, 5, "You have already found 5 relevant documents."),
        (2, 0, "Probably too hard"),
        (3, 3, "Good"),
        (200, 7, "Good"),
        (201, 7, "Probably too easy"),
    ],
)
def test_an_estimate_is_judged_beside_what_was_found(estimate: int | None, found: int, said: str) -> None:
    told = advice(estimate, found)
    assert told.startswith(said)
    assert bool(told) == bool(said)


def test_judging_records_the_grade_with_its_design_and_brings_the_next_document(
    project: Project,
) -> None:
    pseudonym = add_person(project, "ann", topics=("MB001",))
    ann = signed_in(project, "ann")
    first, second = docs(ann.get("/api/next?topic=MB001"))
    lease = project.store.leases(assessor=pseudonym)[0]
    answer = ann.send("/api/judge", grading(first, 2, comment="1 2 3", active=12.5, away=3.25))
    assert answer.status_code == 200
    assert docs(answer)[0] == second  # what was loaded meanwhile is what comes
    event = list(project.store.events())[-1]
    assert (event.sequence, event.kind, event.doc, event.grade) == (
        answer.json()["sequence"],
        "judge",
        first,
        2,
    )
    assert (event.comment, event.active, event.away, event.assessor) == ("1 2 3", 12.5, 3.25, pseudonym)
    assert event.selection == lease.selection
    assert event.selection is not None
    assert event.selection.policy == "mtc"
    assert event.selection.weight is not None


def test_a_grade_after_days_away_is_recorded_and_a_day_is_noted(ann: Browser, project: Project) -> None:
    first, second = docs(ann.get("/api/next?topic=MB001"))
    for path, given in (
        ("judge", grading(first, 1)),
        ("skip", {"topic": "MB001", "doc": second, "key": key()}),
    ):
        answer = ann.send(f"/api/{path}", {**given, "active": 86400.5, "away": 3e9})
        assert answer.status_code == 200
    *_, judged, skipped = project.store.events()
    assert (judged.active, judged.away, skipped.active, skipped.away) == (86400, 86400, 86400, 86400)


def test_the_same_submission_twice_is_one_judgment(project: Project) -> None:
    add_person(project, "ann", topics=("MB001",))
    ann = signed_in(project, "ann")
    given = grading(docs(ann.get("/api/next?topic=MB001"))[0], 1)
    first, second = ann.send("/api/judge", given), ann.send("/api/judge", given)
    assert (first.json()["sequence"], first.json()["repeated"]) == (second.json()["sequence"], False)
    assert second.json()["repeated"]
    assert len(project.store.standing()) == 1


def test_a_key_used_for_another_grade_is_a_conflict(ann: Browser, project: Project) -> None:
    given = grading("d05", 1)
    ann.send("/api/judge", given)
    answer = ann.send("/api/judge", {**given, "grade": 0})
    assert answer.status_code == 409
    assert [one.grade for one in project.store.standing()] == [1]


def test_a_document_is_handed_to_no_more_people_than_judge_it(project: Project) -> None:
    for name in ("ann", "bob", "cem"):
        add_person(project, name, topics=("MB001",))
    given = [
        docs(signed_in(project, name).get("/api/next?topic=MB001&count=5")) for name in ("ann", "bob", "cem")
    ]
    every = [doc for some in given for doc in some]
    assert len(every) == len(set(every)) == 15


def test_the_open_document_comes_again_until_it_is_judged(ann: Browser) -> None:
    assert docs(ann.get("/api/next?topic=MB001")) == docs(ann.get("/api/next?topic=MB001"))


def test_a_text_that_the_page_has_is_not_sent_again(ann: Browser) -> None:
    first, second = docs(ann.get("/api/next?topic=MB001"))
    answer = ann.send("/api/judge", grading(first, 0, have=[second])).json()["documents"]
    assert (answer[0]["doc"], answer[0]["html"]) == (second, None)
    assert answer[1]["html"]


def test_a_grade_can_be_changed_later_and_both_stay_in_the_log(ann: Browser, project: Project) -> None:
    doc = docs(ann.get("/api/next?topic=MB001"))[0]
    ann.send("/api/judge", grading(doc, 0))
    ann.send("/api/judge", grading(doc, 2))
    shown = ann.get(f"/api/document?topic=MB001&doc={doc}").json()
    assert (shown["judged"], shown["grade"]) == (True, 2)
    assert [event.grade for event in project.store.events() if event.kind == "judge"] == [0, 2]
    history = ann.get("/api/judgments?topic=MB001").json()
    assert [(one["doc"], one["grade"]) for one in history] == [(doc, 2)]


def test_undo_brings_the_last_document_back_first(ann: Browser) -> None:
    first, second = docs(ann.get("/api/next?topic=MB001"))
    ann.send("/api/judge", grading(first, 0))
    answer = ann.send("/api/undo", {"topic": "MB001", "key": key()})
    assert answer.json()["doc"] == first
    assert docs(answer) == [first, second]


def test_undo_with_nothing_to_take_back_says_so(ann: Browser) -> None:
    answer = ann.send("/api/undo", {"topic": "MB001", "key": key()})
    assert (answer.status_code, answer.json()["sequence"], answer.json()["doc"]) == (200, 0, None)


def test_a_skipped_document_comes_again_at_the_end(ann: Browser) -> None:
    first = docs(ann.get("/api/next?topic=MB001&count=1"))[0]
    answer = ann.send("/api/skip", {"topic": "MB001", "doc": first, "key": key(), "count": 1})
    seen = [first]
    while docs(answer):
        [doc] = docs(answer)
        if doc == first:
            break
        seen.append(doc)
        grade = None if doc == "gone-from-corpus" else 0
        answer = ann.send("/api/judge", grading(doc, grade, count=1))
    assert docs(answer) == [first]
    assert len(seen) == 43  # all that the three runs retrieved for the topic
    assert docs(ann.send("/api/judge", grading(first, 0, count=1))) == []


def test_a_judgment_that_is_taken_back_keeps_its_comment(ann: Browser) -> None:
    [doc] = docs(ann.get("/api/next?topic=MB001&count=1"))
    ann.send("/api/judge", {**grading(doc, 1, count=0), "comment": "because of the whales"})
    answer = ann.send("/api/undo", {"topic": "MB001", "key": key(), "count": 1})
    assert [(one["doc"], one["comment"]) for one in answer.json()["documents"]] == [
        (doc, "because of the whales")
    ]


def test_a_search_says_how_many_there_are_and_leads_to_the_others(ann: Browser, project: Project) -> None:
    ann.post("/develop", title="reports")
    path = "/develop/topic?id=N001&query=report+tide"
    many = ann.get(path).text
    total = project.corpus.search("report tide").total
    assert total > 52
    assert re.search(rf"1 to 50 of {total} documents; the first \d+ have all your words\.", many)
    more = unescape(re.findall(r'href="([^"#]*)[^"]*" rel="(next|prev)"', many)[0][0])
    rest = ann.get(more).text
    assert f"51 to {total} of {total} documents" in rest
    assert '<ol class="found" start="51">' in rest
    links = [re.findall(r"doc=(\w+)&amp;query=", text) for text in (many, rest)]
    assert (len(links[0]), len(links[1]), len({*links[0], *links[1]})) == (50, total - 50, total)
    assert [rel for _, rel in re.findall(r'href="([^"#]*)[^"]*" rel="(next|prev)"', rest)] == ["prev"]
    shown = [(one.query, one.results, one.first_hit, one.total) for one in project.store.searches()]
    assert shown == [("report tide", 50, 1, total), ("report tide", total - 50, 51, total)]
    assert f"There are only {total} documents" in ann.get(f"{path}&first=999").text
    assert ann.get(f"{path}&first=0").status_code == 422
    alone = ann.get("/develop/topic?id=N001&query=hostile").text
    assert "1 document." in alone
    assert "More results" not in alone
    back = ann.get(f"/judge?topic=N001&doc={links[1][0]}&query=report+tide&first=51").text
    assert "/develop/topic?id=N001&amp;query=report%20tide&amp;first=51" in back


def test_words_of_the_description_are_marked_as_those_of_the_title(ann: Browser) -> None:
    found = ann.get("/api/document?topic=MB001&doc=d10").json()["html"]
    marked = set(re.findall("<mark>(.*?)</mark>", found))
    assert {"noise", "ships"} <= marked  # only the description has ships


def test_a_document_whose_text_is_missing_can_still_be_dealt_with(ann: Browser, project: Project) -> None:
    answer = ann.get("/api/next?topic=MB001&count=1")
    while docs(answer) not in ([], ["gone-from-corpus"]):
        answer = ann.send("/api/judge", grading(docs(answer)[0], 0, count=1))
    if docs(answer):
        [shown] = answer.json()["documents"]
        assert (shown["missing"], shown["html"]) == (True, None)
        assert "no text for this document" in ann.send("/api/judge", grading("gone-from-corpus", 1)).text
        assert ann.send("/api/judge", grading("gone-from-corpus", None)).status_code == 200
    assert "gone-from-corpus" in [one.doc for one in project.store.standing()]


@pytest.mark.parametrize(
    ("path", "given", "status"),
    [
        ("/api/judge", {"grade": 7}, 400),
        ("/api/judge", {"grade": "1"}, 200),  # a number in quotes is still the grade
        ("/api/judge", {"doc": "no-such-document"}, 404),
        ("/api/judge", {"topic": "305"}, 404),
        ("/api/judge", {"key": "short"}, 422),
        ("/api/judge", {"key": "with blanks in it"}, 422),
        ("/api/judge", {"comment": "x" * 10_001}, 422),
        ("/api/judge", {"active": -1}, 422),
        ("/api/judge", {"weight": 1}, 422),
        ("/api/skip", {"doc": "no-such-document"}, 404),
        ("/api/skip", {"doc": ""}, 422),
    ],
)
def test_submissions_that_do_not_fit_are_refused(
    ann: Browser, path: str, given: dict[str, Any], status: int
) -> None:
    whole = grading("d05", 1)
    if path == "/api/skip":
        whole.pop("grade")
    answer = ann.send(path, {**whole, **given})
    assert answer.status_code == status
    if status != 200:
        assert isinstance(answer.json()["detail"], str)


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"', "{}", "[]", "true" * 2]
)
def test_odd_numbers_are_refused_and_nothing_is_recorded(ann: Browser, project: Project, text: str) -> None:
    body = '{"topic":"MB001","doc":"d05","key":"abcdefgh","grade":' + text + "}"
    answer = ann.client.post(
        "/api/judge", content=body, headers={"X-Page-Token": ann.token, "Content-Type": "application/json"}
    )
    assert answer.status_code in (400, 422)
    assert project.store.standing() == []


def test_topics_of_others_are_as_if_they_were_not_there(project: Project) -> None:
    add_person(project, "ann", topics=("MB001",))
    add_person(project, "bob", topics=("303",))
    bob = signed_in(project, "bob")
    for path in (
        "/api/next?topic=MB001",
        "/api/document?topic=MB001&doc=d05",
        "/api/judgments?topic=MB001",
        "/judge?topic=MB001",
    ):
        assert bob.get(path).status_code == bob.get(path.replace("MB001", "no-such-topic")).status_code == 404
    assert bob.send("/api/judge", grading("d05", 1)).status_code == 404
    assert [one["topic"] for one in bob.get("/api/topics").json()] == ["303"]


def test_a_dropped_topic_is_no_longer_judged(ann: Browser, project: Project) -> None:
    topic = project.store.topic("MB001")
    assert topic is not None
    project.store.save_topic("MB001", title=topic.title, status="dropped")
    assert ann.get("/api/next?topic=MB001").status_code == 404


def test_an_ended_sign_in_keeps_the_grade_for_later(ann: Browser, project: Project) -> None:
    given = grading(docs(ann.get("/api/next?topic=MB001"))[0], 1)
    [user] = project.store.users()
    project.store.end_sign_ins(user.id)
    assert ann.send("/api/judge", given).status_code == 401
    assert project.store.standing() == []
    ann.sign_in("ann")
    assert ann.send("/api/judge", given).status_code == 200
    assert [one.doc for one in project.store.standing()] == [given["doc"]]


def test_signing_out_gives_the_documents_at_hand_back(ann: Browser, project: Project) -> None:
    ann.get("/api/next?topic=MB001")
    assert len(project.store.leases()) == 2
    assert ann.send("/api/sign-out", {}).status_code == 204
    assert project.store.leases() == []
    assert ann.get("/api/topics").status_code == 401


def test_a_sign_of_life_lengthens_the_leases(ann: Browser, project: Project) -> None:
    ann.get("/api/next?topic=MB001")
    before = [lease.expires for lease in project.store.leases()]
    assert ann.send("/api/at-work", {}).json() == {"held": 2}
    assert all(
        after > earlier
        for after, earlier in zip([lease.expires for lease in project.store.leases()], before, strict=True)
    )


# What makes the database refuse every event.
FAILING = {
    "sqlite": ["CREATE TRIGGER failing BEFORE INSERT ON event BEGIN SELECT RAISE(ABORT, '{said}'); END"],
    "postgresql": [
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION '{said}'; END$$",
        "CREATE TRIGGER failing BEFORE INSERT ON event EXECUTE FUNCTION fail()",
    ],
}


def elsewhere(project: Project, statement: str) -> None:
    """Run a statement on the database of a project through a connection of its own."""
    place = json.loads((project.folder / FILE).read_text())["database"]
    if place.startswith("postgresql"):
        with require("psycopg").connect(place, autocommit=True) as connection:
            connection.execute(statement)
        return
    with closing(sqlite3.connect(project.folder / place, isolation_level=None)) as connection:
        connection.execute(statement)


@pytest.mark.parametrize(
    "said", ["database or disk is full", "attempt to write a readonly database", "database is locked"]
)
def test_what_the_database_refuses_is_never_called_recorded(
    ann: Browser, project: Project, said: str
) -> None:
    given = grading(docs(ann.get("/api/next?topic=MB001"))[0], 1)
    for statement in FAILING[project.store._database.dialect]:
        elsewhere(project, statement.format(said=said))
    answer = ann.send("/api/judge", given)
    assert answer.status_code == 503
    assert answer.json()["detail"] == "the server cannot read or store anything right now; try again later"
    elsewhere(
        project, "DROP TRIGGER failing" + " ON event" * (project.store._database.dialect == "postgresql")
    )
    assert project.store.standing() == []
    assert ann.send("/api/judge", given).json()["repeated"] is False


def test_searching_is_logged_with_what_is_opened(ann: Browser, project: Project) -> None:
    reply = ann.get("/api/search", params={"topic": "MB001", "query": "whales noise"}).json()
    found = reply["found"]
    assert found
    assert (reply["first"], len(found), reply["total"]) == (1, 50, 58)  # all but d02 and d03
    ann.get("/api/document", params={"topic": "MB001", "doc": found[0]["doc"], "query": "whales noise"})
    logged = [
        (one.assessor, one.topic, one.query, one.doc, one.results, one.first_hit, one.total)
        for one in project.store.searches()
    ]
    assert logged == [
        ("assessor-1", "MB001", "whales noise", None, 50, 1, 58),
        ("assessor-1", "MB001", "whales noise", found[0]["doc"], None, None, None),
    ]


@pytest.mark.parametrize(("query", "doc"), [("الضجيج", "d02"), ("騒音", "d03"), ("鯨", "d03")])
def test_searching_finds_right_to_left_and_chinese_text(ann: Browser, query: str, doc: str) -> None:
    found = ann.get("/api/search", params={"topic": "303", "query": query}).json()["found"]
    assert [one["doc"] for one in found] == [doc]


def test_too_many_searches_are_put_off_for_that_user_alone(project: Project) -> None:
    add_person(project, "ann", topics=("MB001",))
    add_person(project, "bob", topics=("MB001",))
    ann = signed_in(project, "ann")
    object.__setattr__(ann.app.state.context, "searches", RateLimit(5, 1000))
    answers = [ann.get("/api/search?topic=MB001&query=reef") for _ in range(6)]
    assert [one.status_code for one in answers] == [200] * 5 + [429]
    assert int(answers[-1].headers["retry-after"]) >= 100
    assert signed_in(project, "bob", ann.app).get("/api/search?topic=MB001&query=reef").status_code == 200


def test_exports_over_http_are_those_of_the_store(ann: Browser, project: Project) -> None:
    for doc, grade in (("d05", 1), ("d06", 0), ("d07", None)):
        ann.send("/api/judge", grading(doc, grade))
    add_person(project, "olga", "organizer")
    olga = signed_in(project, "olga")
    answer = olga.get("/api/export/qrels")
    assert answer.text == "MB001 0 d05 1\nMB001 0 d06 0\n"
    assert 'filename="qrels.txt"' in answer.headers["content-disposition"]
    assert olga.get("/api/export/log").text == "".join(event.line() for event in project.store.events())
    assert olga.get("/api/export/passwords").status_code == 404
