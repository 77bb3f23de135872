"""An expert's audits: what was drawn stays, hides the grades, and takes nothing from those who judge."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.judge.small import begin, found_by, found_by_replay
from tests.judge.web import Browser, add_person, signed_in

from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS
from sounding.judge.organizing import change_settings
from sounding.judge.project import Project
from sounding.judge.records import FREE, Lease, Selection, StandingJudgment, Submission
from sounding.judge.review import JudgmentAudit, audit_of, audit_sample, audits_of, draw_audit, record_audit
from sounding.judge.settings import Feed
from sounding.judge.state import JudgingState
from sounding.judge.store import Store
from sounding.judge.verify import verify

ANN, BOB, OLGA = "assessor-1", "assessor-2", "assessor-3"


def standing(doc: str, grade: float | None) -> StandingJudgment:
    return StandingJudgment(
        topic="1", doc=doc, assessor="a", grade=grade, comment="", sequence=1, time=0.0, active=None,
        away=None, selection=FREE,
    )  # fmt: skip


def judge(project: Project, docs: Sequence[str], *, by: str = ANN, topic: str = "MB001") -> None:
    for doc in docs:
        project.engine.judge(by, topic, doc, 1, key=f"key-{by}-{topic}-{doc}")


def draw(browser: Browser, size: int, assessor: str = ANN) -> int:
    reply = browser.send("/api/audit/draw", {"assessor": assessor, "size": size})
    assert reply.status_code == 200, reply.text
    number: int = reply.json()["audit"]
    return number


def coming(browser: Browser, audit: int, topic: str = "MB001") -> list[str]:
    work = browser.get("/api/audit/next", params={"audit": audit, "topic": topic, "count": 5}).json()
    return [one["doc"] for one in work["documents"]]


def grade(browser: Browser, audit: int, doc: str, given: float | None = 1, topic: str = "MB001") -> int:
    sent = {"audit": audit, "topic": topic, "doc": doc, "grade": given, "key": f"audit-{audit}-{topic}-{doc}"}
    status: int = browser.send("/api/audit/judge", sent).status_code
    return status


def listed(text: str) -> list[tuple[str, str]]:
    """The draws on the page: whose judgments, and what is said of them."""
    line = r'<li><a href="/organize/audit\?audit=\d+"><bdi>(\w+)</bdi>.*?<span class="faint">(.*?)</span>'
    return [(name, said) for name, said in re.findall(line, text)]


def found(store: Store, number: int) -> JudgmentAudit:
    audit = audit_of(store, OLGA, number)
    assert audit is not None
    return audit


# ---- the draw


def test_a_sample_is_random_nested_and_hardly_moved_by_new_judgments() -> None:
    judgments = [standing(f"d{number}", 1) for number in range(50)]
    small, large = audit_sample(judgments, 5, seed=1), audit_sample(judgments, 20, seed=1)
    assert large[:5] == small
    assert audit_sample(judgments[::-1], 5, seed=1) == small
    more = audit_sample([*judgments, *(standing(f"e{number}", 0) for number in range(10))], 20, seed=1)
    assert {one.doc for one in more if one.doc.startswith("d")} <= {one.doc for one in large}
    drawn = Counter(one.doc for seed in range(2000) for one in audit_sample(judgments, 10, seed))
    assert len(drawn) == 50
    expected, deviation = 400, (2000 * 0.2 * 0.8) ** 0.5
    assert all(abs(count - expected) < 4.5 * deviation for count in drawn.values())


def test_what_was_drawn_stays_whatever_is_judged_later(olga: Browser, project: Project) -> None:
    judge(project, [f"d{number}" for number in range(10, 15)])
    went = olga.post("/organize/audit/draw", assessor=ANN, size="4").headers["location"]
    number = int(went.removeprefix("/organize/audit?audit="))
    drawn = found(project.store, number).drawn
    assert set(coming(olga, number)) == {doc for _, doc in drawn}
    assert grade(olga, number, drawn[0][1]) == 200
    judge(project, [f"d{other}" for other in range(15, 50)])
    judge(project, [f"d{other}" for other in range(10, 20)], topic="303")
    assert found(project.store, number).drawn == drawn
    assert "1 of 4 graded" in olga.get(went).text
    for _, doc in drawn[1:]:
        assert grade(olga, number, doc) == 200
    judge(project, [f"d{other}" for other in range(20, 40)], topic="303")
    assert "4 of 4 graded. You both gave the same grade to 100% of 4 documents" in olga.get(went).text
    assert {one.selection.probability for one in project.store.standing(assessor=OLGA)} == {4 / 5}


def test_the_draw_is_an_event_of_the_expert(olga: Browser, project: Project) -> None:
    judge(project, ["d10", "d11", "d12"])
    before = found_by_replay(project.store)
    number = draw(olga, 2)
    [event] = [event for event in project.store.events() if event.kind == "audit"]
    sample = audit_sample(project.store.standing(assessor=ANN), 2, project.settings.seed)
    assert (event.sequence, event.assessor, event.topic, event.doc) == (number, OLGA, None, None)
    documents = [["MB001", one.doc] for one in sample]
    assert event.detail == {"assessor": ANN, "documents": documents, "of": 3, "size": 2}
    log = [json.loads(line) for line in EXPORTS["log"](project.store, number)]
    assert log[-1]["detail"] == event.detail
    after = found_by_replay(project.store)
    changed = {name for name in after if after[name] != before[name]}
    assert changed <= {"sequence", "export of log", "export of events"}
    assert found_by(project.engine, project.store) == after
    assert verify(project).problems == ()


def test_the_same_sample_again_is_the_same_audit_and_another_is_not(olga: Browser, project: Project) -> None:
    judge(project, ["d10", "d11", "d12"])
    number = draw(olga, 2)
    assert draw(olga, 2) == number
    larger = draw(olga, 3)
    assert larger > number
    assert draw(olga, 50) == larger
    judge(project, ["d13"])
    assert draw(olga, 2) > larger  # perhaps of the same documents, which had another chance


def test_only_topics_in_use_are_drawn_from(olga: Browser, project: Project) -> None:
    judge(project, ["d10"])
    judge(project, ["d11"], topic="303")
    project.store.save_topic("N001", title="mine", author=ANN)
    judge(project, ["d12"], topic="N001")
    project.engine.set_status("303", "dropped")
    reply = olga.send("/api/audit/draw", {"assessor": ANN, "size": 9}).json()
    assert (reply["topics"], reply["size"], reply["of"]) == (["MB001"], 1, 1)
    project.engine.set_status("MB001", "candidate")
    assert olga.send("/api/audit/draw", {"assessor": ANN, "size": 9}).status_code == 400
    page = olga.post("/organize/audit/draw", assessor=ANN, size="9")
    assert "ann has no judgments for topics in use yet" in page.text
    assert coming(olga, reply["audit"]) == ["d10"]  # what was drawn stays


def test_who_has_no_account_can_be_audited(olga: Browser, project: Project) -> None:
    judge(project, ["d10"], by="import-1")
    assert '<option value="import-1">import-1</option>' in olga.get("/organize/audit").text
    assert coming(olga, draw(olga, 5, "import-1")) == ["d10"]
    page = olga.post("/organize/audit/draw", assessor="import-1", size="5")
    assert page.status_code == 303


def test_a_judge_is_named_by_name_or_pseudonym(olga: Browser, project: Project) -> None:
    judge(project, ["d10", "d11"])
    assert draw(olga, 1, "ann") == draw(olga, 1, ANN)
    assert olga.send("/api/audit/draw", {"assessor": "anne", "size": 9}).json()["detail"] == (
        "unknown assessor 'anne'; did you mean ann?"
    )


@pytest.mark.parametrize("who", ["nobody", "olga", OLGA, "import-x"])
def test_nothing_is_drawn_from_nobody_or_oneself(olga: Browser, project: Project, who: str) -> None:
    project.engine.judge(OLGA, "MB001", "d10", 1, key="key-of-olga")
    before = project.store.last_sequence()
    assert olga.send("/api/audit/draw", {"assessor": who, "size": 9}).status_code == 400
    assert olga.post("/organize/audit/draw", assessor=who, size="9").status_code == 400
    assert project.store.last_sequence() == before


def test_only_what_was_drawn_is_listed(olga: Browser, project: Project) -> None:
    judge(project, [f"d{number}" for number in range(10, 18)])
    judge(project, ["d10", "d11"], by=BOB)
    assert "rawn by you" not in olga.get("/organize/audit").text
    number = draw(olga, 8)
    for doc, given in (("d10", 0), ("d11", 1), ("d12", 1), ("d13", 1), ("d14", None)):
        grade(olga, number, doc, given)
    # Bob has judged two of these as well, and nobody drew his.
    assert listed(olga.get("/organize/audit").text) == [("ann", "5 of 8 graded, same grade on 75.0%")]
    assert listed(olga.get(f"/organize/audit?audit={number}").text) == []  # it is this one
    small = draw(olga, 2, BOB)
    assert [name for name, _ in listed(olga.get("/organize/audit").text)] == ["bob", "ann"]
    assert [one.number for one in audits_of(project.store, OLGA)] == [small, number]
    add_person(project, "oda", "organizer")
    oda = signed_in(project, "oda")
    assert "rawn by you" not in oda.get("/organize/audit").text
    for path in (f"/organize/audit?audit={number}", f"/organize/audit/judge?audit={number}"):
        assert oda.get(path).status_code == 404
    assert grade(oda, number, "d10") == 404
    assert olga.get("/organize/audit?audit=1").status_code == 404  # an event of another kind


def test_what_was_taken_back_or_changed_is_compared_as_it_stands(olga: Browser, project: Project) -> None:
    judge(project, ["d10", "d11", "d12"])
    number = draw(olga, 3)
    path = f"/organize/audit?audit={number}"
    grade(olga, number, "d10")
    grade(olga, number, "d11")
    assert "2 of 3 graded. You both gave the same grade to 100% of 2" in olga.get(path).text
    project.engine.judge(ANN, "MB001", "d10", 2, key="key-of-change")
    assert "2 of 3 graded. You both gave the same grade to 50.0% of 2" in olga.get(path).text
    for doc in ("d11", "d12"):
        project.engine.withdraw(ANN, "MB001", doc, key=f"undo-{doc}")
    text = olga.get(path).text
    assert "1 of 1 graded. You both gave the same grade to 0% of 1" in text
    assert set(re.findall(r"<bdi>(d\d\d)</bdi> \(topic <bdi>MB001</bdi>\)", text)) == {"d11", "d12"}
    assert "A sample of 3 judgments from 3" in text
    assert coming(olga, number) == []
    assert olga.get(f"/organize/audit/judge?audit={number}").headers["location"] == path
    assert grade(olga, number, "d12") == 200  # on its way when it was taken back: no work is thrown away
    assert "1 of 1 graded" in olga.get(path).text
    project.engine.judge(ANN, "MB001", "d11", 0, key="key-once-more")
    assert "2 of 2 graded. You both gave the same grade to 0% of 2" in olga.get(path).text


def test_grades_of_audits_before_there_were_draws_count_when_one_is_drawn(
    olga: Browser, project: Project
) -> None:
    judge(project, ["d10", "d11"])
    old = replace(FREE, policy="audit", probability=1.0)
    project.store.judge_all(
        Submission(assessor=OLGA, topic="MB001", doc=doc, grade=2, key=f"old-{doc}", selection=old)
        for doc in ("d10", "d40")
    )
    assert "rawn by you" not in olga.get("/organize/audit").text
    assert (
        "1 of 2 graded. You both gave the same grade to 0% of 1"
        in olga.get(f"/organize/audit?audit={draw(olga, 5)}").text
    )


def test_the_page_says_what_has_to_be_settled_and_when_there_is_no_kappa(
    olga: Browser, project: Project
) -> None:
    docs = [f"d{number}" for number in range(10, 20)]
    judge(project, docs[1:])
    project.engine.judge(ANN, "MB001", docs[0], 0, key="key-of-another-grade")
    number = draw(olga, 10)
    path, words = f"/organize/audit?audit={number}", "counts as unjudged until you settle it"
    for feed in ("first", "majority"):
        change_settings(project, feed=feed)
        assert words not in olga.get(path).text
    change_settings(project, feed="adjudicated")
    assert words in olga.get(path).text
    for doc in docs[1:]:
        grade(olga, number, doc)
    assert (
        "100% of 9 documents that both of you could judge. Cohen's kappa needs at least 10"
        in olga.get(path).text
    )
    grade(olga, number, docs[0], 0)
    assert "100% of 10 documents that both of you could judge. Cohen's kappa is 1.00." in olga.get(path).text


# ---- grading


def test_an_audit_hides_the_grade_until_the_expert_has_given_one(olga: Browser, project: Project) -> None:
    for number, given in enumerate([2, 0, 1, 2]):
        project.engine.judge(ANN, "MB001", f"d{10 + number}", given, key=f"key-{number}-long")
    sample: dict[str, Any] = {"audit": draw(olga, 3), "topic": "MB001"}
    path = f"/organize/audit?audit={sample['audit']}"
    answer = olga.get(path)
    assert "0 of 3 graded" in answer.text
    assert "Graded so far" not in answer.text
    work = olga.get("/api/audit/next", params={**sample, "count": 5}).json()
    assert work["coming"]["words"] == "3 of 3 left in this topic, 3 of 3 in all"
    seen = [one["doc"] for one in work["documents"]]
    for doc, own, comment in zip(seen, (2, 0, None), ("", "rather not", ""), strict=True):
        judging = olga.get(f"/organize/audit/judge?audit={sample['audit']}").headers["location"]
        assert judging == f"/organize/audit/judge?audit={sample['audit']}&topic=MB001"  # it names its topic
        page = olga.get(judging).text
        assert 'data-topic="MB001"' in page
        told = re.sub('data-last="[^"]*"', "", page)
        assert not re.search(r"\bd1[0-9]\b", told)  # no document, so no grade of one
        sent = {**sample, "doc": doc, "grade": own, "comment": comment, "key": f"audit-{doc}", "count": 2}
        reply = olga.send("/api/audit/judge", {**sent, "active": 7, "away": 1}).json()
        assert all(one["grade"] is None and not one["judged"] for one in reply["documents"])
        again = olga.send("/api/audit/judge", {**sent, "active": 7, "away": 1}).json()
        assert (again["sequence"], again["repeated"]) == (reply["sequence"], True)
    assert reply["documents"] == []
    assert olga.get(f"/organize/audit/judge?audit={sample['audit']}").headers["location"] == path
    text = olga.get(path).text
    assert "rather not" in text
    assert "3 of 3 graded" in text
    assert len(set(seen)) == 3
    kept = project.store.standing(assessor=OLGA)
    assert [(one.doc, one.grade) for one in kept] == list(zip(seen, (2, 0, None), strict=True))
    by = Selection(policy="audit", policy_version=sample["audit"], probability=0.75)
    assert all(one.selection == by for one in kept)
    assert [(one.comment, one.active, one.away) for one in kept] == [
        ("", 7, 1),
        ("rather not", 7, 1),
        ("", 7, 1),
    ]
    first = {one.doc: one.grade for one in project.store.standing(assessor=ANN)}
    same = sum(first[doc] == own for doc, own in zip(seen[:2], (2, 0), strict=True))
    assert f"the same grade to {['0%', '50.0%', '100%'][same]} of 2" in text


def test_an_expert_takes_a_grade_back_and_puts_documents_off(olga: Browser, project: Project) -> None:
    project.engine.change_settings(replace(project.settings, overlap=2), by=OLGA)
    judge(project, ["d10", "d11", "d12", "d13"])
    sample = {"audit": draw(olga, 4), "topic": "MB001"}

    def following(later: tuple[str, ...] = ()) -> list[str]:
        work = olga.get("/api/audit/next", params={**sample, "count": 4, "later": list(later)}).json()
        return [one["doc"] for one in work["documents"]]

    first, second, third, fourth = following()
    assert following((first, third)) == [second, fourth, first, third]
    grading = {**sample, "doc": second, "grade": 1, "comment": "why", "key": "audit-one", "count": 4}
    assert olga.send("/api/audit/judge", grading).status_code == 200
    assert following() == [first, third, fourth]
    undo = {**sample, "doc": second, "key": "audit-two", "count": 4, "later": [first]}
    reply = olga.send("/api/audit/undo", undo).json()
    assert [one["doc"] for one in reply["documents"]] == [second, third, fourth, first]
    assert (reply["undid"], reply["documents"][0]["comment"]) == ("judge", "why")
    assert project.store.standing(assessor=OLGA) == []
    assert project.store.leases(assessor=OLGA) == []  # nothing is kept from those who judge
    assert olga.send("/api/audit/undo", {**undo, "key": "audit-three"}).json()["sequence"] == 0
    assert olga.send("/api/audit/undo", {**undo, "doc": "d40", "key": "audit-four"}).status_code == 400
    assert found_by(project.engine, project.store) == found_by_replay(project.store)


@pytest.mark.parametrize(
    ("change", "status"), [({"doc": "d40"}, 400), ({"grade": 7}, 400), ({"topic": "303"}, 400), ({"audit": 1}, 404)]
)  # fmt: skip
def test_an_audit_of_what_is_not_in_the_sample_is_refused(
    olga: Browser, project: Project, change: dict[str, Any], status: int
) -> None:
    judge(project, ["d10"])
    given = {"audit": draw(olga, 5), "topic": "MB001", "doc": "d10", "grade": 1, "key": "abcdefgh"}
    assert olga.send("/api/audit/judge", {**given, **change}).status_code == status
    assert olga.send("/api/audit/judge", {**given, **change, "audit": 0}).status_code == 422
    assert project.store.standing(assessor=OLGA) == []
    assert olga.send("/api/audit/judge", given).status_code == 200


# ---- beside the overlap


def test_an_audit_does_not_use_up_the_overlap(store: Store) -> None:
    engine = begin(store, overlap=2)
    for topic in ("MB001", "7"):
        store.save_topic(topic, title="x", status="chosen")
    docs = [lease.doc for lease in engine.next(ANN, "7", 4)]
    for doc in docs:
        engine.judge(ANN, "7", doc, 1, key=f"key-{doc}")
    assert engine.counts().of("7").again == 4
    number = draw_audit(store, OLGA, ANN, 2, seed=0)
    audit = audit_of(store, OLGA, number or 0)
    assert audit is not None
    for pair in audit.drawn:
        record_audit(store, audit, pair, 0, key=f"audit-{pair[1]}")
    engine.catch_up()
    assert engine.counts().of("7").again == 4
    assert set(engine._replay._thin["7"].values()) == {
        one.selection for one in store.standing(assessor=ANN)
    }  # and none of the audit
    assert [lease.doc for lease in engine.next(BOB, "7", 4)] == docs
    assert all(lease.doc not in docs for lease in engine.next("assessor-4", "7", 20))  # who is a third
    for doc in docs:
        engine.judge(BOB, "7", doc, 1, key=f"bob-{doc}")
    assert engine.counts().of("7").again == 0
    store.release("assessor-4")
    assert all(lease.doc not in docs for lease in engine.next("assessor-4", "7", 20))
    assert found_by(engine, store) == found_by_replay(store)


def test_who_audited_a_document_is_not_to_judge_it_and_cannot_finish_its_topic(store: Store) -> None:
    engine = begin(store, overlap=2)
    store.save_topic("7", title="x", status="chosen")
    while leases := engine.next(ANN, "7"):
        engine.judge(ANN, "7", leases[0].doc, 1, key=f"key-{leases[0].doc}")
    replay: JudgingState = engine._replay
    assert replay.can_finish("7", {ANN, OLGA})
    audit = audit_of(store, OLGA, draw_audit(store, OLGA, ANN, 1, seed=0) or 0)
    assert audit is not None
    record_audit(store, audit, audit.drawn[0], 0, key="audit-one")
    engine.catch_up()
    assert not replay.can_finish("7", {ANN, OLGA})
    assert replay.can_finish("7", {ANN, BOB})
    assert audit.drawn[0][1] not in [lease.doc for lease in engine.next(OLGA, "7", 50)]
    assert store.lease(
        OLGA, "7", lambda count: replay.offers(BOB, "7", count), overlap=2, seconds=9, count=50
    )  # by a process that has not heard of the audit
    assert audit.drawn[0][1] not in [lease.doc for lease in store.leases(OLGA)]


def taken_back_after_an_audit(store: Store, **settings: Any) -> tuple[Engine, Lease]:
    """Ann judged a document 1, olga's audit says 0, and ann took hers back."""
    engine = begin(store, **settings)
    store.save_topic("7", title="x", status="chosen")
    [lease] = engine.next(ANN, "7")
    engine.judge(ANN, "7", lease.doc, 1, key="key-one")
    audit = audit_of(store, OLGA, draw_audit(store, OLGA, ANN, 1, seed=0) or 0)
    assert audit is not None
    record_audit(store, audit, audit.drawn[0], 0, key="audit-one")
    engine.withdraw(ANN, "7", lease.doc, key="undo-one")
    return engine, lease


@pytest.mark.parametrize("overlap", [1, 2])
def test_a_judgment_that_is_taken_back_after_an_audit_comes_to_somebody(store: Store, overlap: int) -> None:
    engine, lease = taken_back_after_an_audit(store, overlap=overlap)
    assert [(one.doc, one.selection) for one in store.leases(ANN)] == [(lease.doc, lease.selection)]
    assert engine.counts().of("7").again == 1
    store.release(ANN)
    [again] = engine.next(BOB, "7")
    assert (again.doc, again.selection) == (lease.doc, lease.selection)
    store.release(BOB)
    engine.withdraw(OLGA, "7", lease.doc, key="undo-audit")
    store.release(OLGA)
    assert engine.counts().of("7").again == 0
    [last] = [one for one in engine.next(BOB, "7", 50) if one.doc == lease.doc]
    assert last.selection == lease.selection
    assert found_by(engine, store) == found_by_replay(store)


@pytest.mark.parametrize(("feed", "counts"), [("first", 2), ("majority", 2), ("adjudicated", None)])
def test_an_audit_comes_after_those_who_judge_also_when_one_judges_anew(
    store: Store, feed: Feed, counts: float | None
) -> None:
    engine, lease = taken_back_after_an_audit(store, feed=feed)
    assert engine._replay.opinions["7", lease.doc].verdict(feed).grade == 0  # nobody else says anything
    engine.judge(ANN, "7", lease.doc, 2, key="key-two")
    assert engine._replay.opinions["7", lease.doc].verdict(feed).grade == counts


def test_a_page_of_an_audit_takes_back_no_judgment_of_the_expert_as_an_assessor(
    olga: Browser, project: Project
) -> None:
    judge(project, ["d10", "d12"])
    judge(project, ["d10"], by=OLGA)
    number = draw(olga, 5)
    address = f"/organize/audit/judge?audit={number}&topic=MB001"
    assert 'data-last=""' in olga.get(address).text
    grade(olga, number, "d12")
    assert 'data-last="d12"' in olga.get(address).text


def test_a_change_by_audit_of_what_the_expert_judged_as_an_assessor_still_counts(store: Store) -> None:
    engine = begin(store, overlap=2)
    store.save_topic("7", title="x", status="chosen")
    [lease] = engine.next(OLGA, "7")
    engine.judge(OLGA, "7", lease.doc, 1, key="key-of-olga")
    engine.judge(ANN, "7", lease.doc, 1, key="key-of-ann")
    audit = audit_of(store, OLGA, draw_audit(store, OLGA, ANN, 1, seed=0) or 0)
    assert audit is not None
    assert audit.open() == []  # it is graded
    record_audit(store, audit, audit.drawn[0], 2, key="audit-one")
    engine.catch_up()
    assert [one.selection for one in store.standing(assessor=OLGA)] == [lease.selection]
    assert engine.counts().of("7").again == 0
