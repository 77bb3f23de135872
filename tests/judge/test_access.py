"""Who may judge which topic, and what becomes of grades that come in after that has changed."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi import FastAPI
from tests.judge.web import Browser, add_person, signed_in

from sounding.judge.app import create_app
from sounding.judge.project import Project
from sounding.judge.records import StandingJudgment


def two_people(project: Project) -> tuple[Browser, Browser, str, str, FastAPI]:
    """Ann and Bob with a topic each, and their pseudonyms."""
    ann, bob = add_person(project, "ann", topics=("MB001",)), add_person(project, "bob", topics=("303",))
    app = create_app(project)
    return signed_in(project, "ann", app), signed_in(project, "bob", app), ann, bob, app


def grade(doc: str, topic: str = "303", key: str = "key-of-a-grade", **more: Any) -> dict[str, Any]:
    return {"topic": topic, "doc": doc, "grade": 1, "key": key, **more}


def at_hand(browser: Browser, topic: str) -> list[str]:
    answer = browser.client.get("/api/next", params={"topic": topic})
    assert answer.status_code == 200, answer.text
    return [one["doc"] for one in answer.json()["documents"]]


def standing(project: Project) -> list[tuple[str, str, str, float | None]]:
    found: list[StandingJudgment] = project.store.standing()
    return [(one.topic, one.doc, one.assessor, one.grade) for one in found]


@pytest.mark.parametrize("change", ["dropped", "candidate", "unassigned", "unassigned and dropped"])
def test_a_grade_is_kept_when_its_topic_was_taken_away_in_between(project: Project, change: str) -> None:
    _, bob, _, pseudonym, _ = two_people(project)
    doc = at_hand(bob, "303")[0]
    if "unassigned" in change:
        project.store.unassign("303", pseudonym)
    if change != "unassigned":
        project.engine.set_status("303", "candidate" if change == "candidate" else "dropped")
    answer = bob.send("/api/judge", grade(doc))
    assert answer.status_code == 200, answer.text
    assert answer.json()["documents"] == []
    assert standing(project) == [("303", doc, pseudonym, 1.0)]
    assert bob.send("/api/judge", grade(doc)).json()["repeated"]  # the answer was lost, and it is sent again
    assert project.store.leases() == []
    # What was judged can be taken back as well, and does not come to hand again.
    if change != "candidate":  # which is still among the topics, with nothing to judge
        assert bob.client.get("/api/next", params={"topic": "303"}).status_code == 404
        taken = bob.send("/api/undo", {"topic": "303", "doc": doc, "key": "key-of-an-undo"})
        assert (taken.status_code, taken.json()["doc"], taken.json()["documents"]) == (200, doc, [])
        assert (standing(project), project.store.leases()) == ([], [])


def test_that_a_missing_document_cannot_be_judged_is_kept_as_well(project: Project) -> None:
    _, bob, _, pseudonym, _ = two_people(project)
    topic = next(name for name in ("303", "304", "MB001") if project.engine.brings(name, "gone-from-corpus"))
    project.store.assign(topic, pseudonym)
    project.engine.set_status(topic, "dropped")
    sent = grade("gone-from-corpus", topic) | {"grade": None}
    assert bob.send("/api/judge", sent).status_code == 200
    assert bob.send("/api/judge", grade("in-no-run-at-all", topic, "another-key")).status_code == 404


def test_a_topic_that_was_never_assigned_stays_closed_whatever_its_status(project: Project) -> None:
    ann, _, pseudonym, _, _ = two_people(project)
    for status in ("chosen", "dropped", "candidate"):
        project.engine.set_status("303", status)
        for path, sent in (
            ("/api/judge", grade("d05")),
            ("/api/undo", {"topic": "303", "key": "key-of-an-undo"}),
            ("/api/skip", {"topic": "303", "doc": "d05", "key": "key-of-a-skip"}),
        ):
            assert ann.send(path, sent).status_code == 404
    assert standing(project) == []
    assert not project.store.was_assigned("303", pseudonym)
    assert not project.store.was_assigned("30\0", pseudonym)


def test_an_author_develops_a_candidate_and_takes_nothing_from_the_order_of_others(project: Project) -> None:
    ann, bob, pseudonym, other, _ = two_people(project)
    ann.post("/develop", title="mine")
    assert ann.send("/api/judge", grade("d09", "N001", "free-one")).status_code == 200
    assert ann.client.get("/api/search", params={"topic": "N001", "query": "whales"}).status_code == 200
    project.engine.set_status("N001", "chosen")
    project.store.assign("N001", other)
    project.engine.add_runs({"late": {"N001": {"d05": 3.0, "d06": 2.0, "d07": 1.0}}})
    assert "N001" not in [one["topic"] for one in ann.client.get("/api/topics").json()]
    assert ann.client.get("/api/next", params={"topic": "N001"}).status_code == 404
    assert ann.client.get("/judge", params={"topic": "N001"}).status_code == 404
    assert ann.send("/api/judge", grade("d05", "N001", "side-door")).status_code == 404
    assert [lease.assessor for lease in project.store.leases(topic="N001")] == []
    assert (
        ann.client.get("/develop/topic", params={"id": "N001"}).status_code == 200
    )  # its text is still hers
    assert "mine" in ann.get("/develop").text
    assert bob.client.get("/develop/topic", params={"id": "N001"}).status_code == 404
    assert set(at_hand(bob, "N001")) <= {"d05", "d06", "d07"}
    # Both may send what they graded before it was dropped, and neither is given anything.
    project.engine.set_status("N001", "dropped")
    assert ann.send("/api/judge", grade("d06", "N001", "late-of-ann")).status_code == 200
    assert bob.send("/api/judge", grade("d05", "N001", "late-of-bob")).status_code == 200
    assert {(doc, who) for _, doc, who, _ in standing(project)} == {
        ("d09", pseudonym), ("d06", pseudonym), ("d05", other),
    }  # fmt: skip


def test_an_author_to_whom_the_chosen_topic_is_assigned_judges_it_like_anybody(project: Project) -> None:
    ann, _, pseudonym, _, _ = two_people(project)
    ann.post("/develop", title="mine")
    project.engine.set_status("N001", "chosen")
    project.engine.add_runs({"late": {"N001": {"d05": 3.0, "d06": 2.0}}})
    project.store.assign("N001", pseudonym)
    assert set(at_hand(ann, "N001")) == {"d05", "d06"}
    assert [topic.id for topic in project.store.topics_by(pseudonym)] == ["N001"]


@pytest.mark.parametrize("how", ["never brought", "lease ended", "signed out"])
def test_what_is_not_at_hand_of_a_chosen_topic_is_taken_and_said_to_be_free(
    project: Project, how: str
) -> None:
    """What the log has does not tell them apart, and a grade after a weekend away must not be lost."""
    _, bob, _, pseudonym, app = two_people(project)
    brought = at_hand(bob, "303")
    if how == "lease ended":
        project.store.renew(pseudonym, -1)
        project.store.lease("another", "303", lambda _: [], overlap=1, seconds=60)  # whoever asks clears them
    elif how == "signed out":
        bob.post("/sign-out")
        bob = signed_in(project, "bob", app)
    doc = "d09" if how == "never brought" else brought[0]
    assert how != "never brought" or doc not in brought
    assert doc not in [lease.doc for lease in project.store.leases(pseudonym)]
    assert bob.get(f"/judge?topic=303&doc={doc}").status_code == 200
    answer = bob.send("/api/judge", grade(doc, seen={"judged": False}))
    assert answer.status_code == 200, answer.text
    assert [(one.doc, one.selection.policy) for one in project.store.standing()] == [(doc, "free")]
