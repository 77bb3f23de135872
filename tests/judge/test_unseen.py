"""A judgment changes only the one that was in view: another page of the same person may have given it."""

from __future__ import annotations

import pytest
from tests.judge.acts import judge, undo
from tests.judge.web import add_person, signed_in

from sounding.judge.project import Project
from sounding.judge.records import ConflictError, Seen, Submission, UnseenError
from sounding.judge.store import Store

NONE = Seen(judged=False, grade=None)


def given(grade: float | None, key: str, seen: Seen | None, comment: str = "") -> Submission:
    return Submission(
        assessor="assessor-1", topic="MB001", doc="x", grade=grade, key=key, seen=seen, comment=comment
    )


def test_a_judgment_that_was_not_in_view_is_not_changed(store: Store) -> None:
    judge(store, "x", 0, "key-0")
    judge(store, "x", 2, "key-of-another", assessor="assessor-2")
    with pytest.raises(UnseenError, match="you gave this document the grade 0 meanwhile on another page"):
        store.judge(given(1, "key-1", NONE))
    with pytest.raises(UnseenError, match="the grade 0"):
        store.judge(given(1, "key-1", Seen(judged=True, grade=2)))
    with pytest.raises(UnseenError, match="the grade 0"):
        store.judge(given(0, "key-1", NONE, comment="else the comment would be lost"))
    assert [one.grade for one in store.standing(assessor="assessor-1")] == [0]
    store.judge(given(None, "key-1", Seen(judged=True, grade=0)))  # the very one
    with pytest.raises(UnseenError, match="that you cannot judge this document"):
        store.judge(given(1, "key-2", NONE))
    undo(store, "undo-1")
    undo(store, "undo-2")
    with pytest.raises(UnseenError, match="was taken back meanwhile"):
        store.judge(given(1, "key-2", Seen(judged=True, grade=0)))
    store.judge(given(1, "key-2", NONE))
    store.judge(given(2, "key-3", None))  # whatever stands
    assert [one.grade for one in store.standing(assessor="assessor-1")] == [2]


def test_what_was_sent_before_or_says_the_same_is_not_refused(store: Store) -> None:
    first = store.judge(given(1, "key-1", NONE))
    assert store.judge(given(1, "key-1", NONE)).event == first.event  # the answer was lost
    again = store.judge(given(1, "key-2", NONE))
    assert (again.event, again.repeated) == (first.event, True)
    assert [one.grade for one in store.standing()] == [1]


@pytest.mark.parametrize("seen", [None, NONE, Seen(judged=True, grade=0)])
def test_the_same_grade_and_comment_again_is_no_new_act(store: Store, seen: Seen | None) -> None:
    first = store.judge(given(0, "key-1", NONE, "why"))
    again = store.judge(given(0, "key-2", seen, "why"))
    assert (again.event, again.repeated) == (first.event, True)
    assert [event.kind for event in store.events()] == ["judge"]
    store.judge(given(0, "key-3", Seen(judged=True, grade=0), "another word"))
    late = store.judge(given(0, "key-2", seen, "why"))  # as when its answer was lost
    assert (late.event, late.repeated) == (first.event, True)
    for wrong in (lambda: store.judge(given(1, "key-2", None)), lambda: undo(store, "key-2")):
        with pytest.raises(ConflictError, match="was used for another submission"):
            wrong()
    assert [one.comment for one in store.standing()] == ["another word"]
    taken = [undo(store, f"undo-{number}") for number in range(3)]
    assert [event.undid if event else None for event in taken] == ["change", "judge", None]


@pytest.mark.parametrize("skips", [1, 2, 60])
def test_the_same_grade_after_a_skip_is_no_new_act_either(store: Store, skips: int) -> None:
    first = judge(store, "x", 1, "key-1")
    for number in range(skips):
        store.skip("assessor-1", "MB001", "x", key=f"skip-{number}")
    assert judge(store, "x", 1, "key-2") == judge(store, "x", 1, "key-2") == first
    assert [event.kind for event in store.events()] == ["judge", *["skip"] * skips]
    # The last act is the last skip, and the judgment comes after all of them.
    taken = [undo(store, f"undo-{number}") for number in range(skips + 2)]
    assert [event.undid if event else None for event in taken] == [*["skip"] * skips, "judge", None]
    assert judge(store, "x", 1, "key-3") == store.last_sequence()  # which stands no more


def test_another_grade_or_comment_after_a_skip_is_a_change(store: Store) -> None:
    judge(store, "x", 1, "key-1")
    store.skip("assessor-1", "MB001", "x", key="key-2")
    judge(store, "x", 0, "key-3")
    store.skip("assessor-1", "MB001", "x", key="key-4")
    store.judge(given(0, "key-5", None, "why"))
    assert [event.kind for event in store.events()] == ["judge", "skip", "judge", "skip", "judge"]


def test_after_an_undo_the_grade_that_stands_again_is_not_given_twice(store: Store) -> None:
    first = judge(store, "x", 1, "key-1")
    judge(store, "x", 2, "key-2")
    undo(store, "key-3")
    assert judge(store, "x", 1, "key-4") == first
    assert store.last_sequence() == first + 2


def test_a_page_is_told_what_stands(project: Project) -> None:
    add_person(project, "ann", topics=("MB001",))
    ann = signed_in(project, "ann")
    sent = {"topic": "MB001", "doc": "d10", "seen": {"judged": False}}
    assert ann.send("/api/judge", {**sent, "grade": 0, "key": "key-0000"}).status_code == 200
    answer = ann.send("/api/judge", {**sent, "grade": 1, "key": "key-0001"})
    assert answer.status_code == 412
    assert answer.json() == {"detail": "you gave this document the grade 0 meanwhile on another page"}
    again = {**sent, "grade": 1, "key": "key-0001", "seen": None}
    assert ann.send("/api/judge", again).status_code == 200
    assert [one.grade for one in project.store.standing()] == [1]


def test_an_expert_does_not_change_a_grade_of_an_audit_unseen(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    olga = add_person(project, "olga", "organizer")
    project.engine.judge(ann, "MB001", "d10", 2, key="key-0000")
    browser = signed_in(project, "olga")
    audit = browser.send("/api/audit/draw", {"assessor": ann, "size": 5}).json()["audit"]
    sent = {"topic": "MB001", "doc": "d10", "audit": audit, "seen": {"judged": False}}
    assert browser.send("/api/audit/judge", {**sent, "grade": 1, "key": "key-0001"}).status_code == 200
    assert browser.send("/api/audit/judge", {**sent, "grade": 0, "key": "key-0002"}).status_code == 412
    assert [one.grade for one in project.store.standing(assessor=olga)] == [1]


def test_every_answer_has_the_count_of_all_pages_and_an_undo_the_title(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    add_person(project, "bob", topics=("MB001",))
    browser, bob = signed_in(project, "ann"), signed_in(project, "bob")
    bob.send("/api/judge", {"topic": "MB001", "doc": "d10", "grade": 0, "key": "key-of-bob"})
    for number, doc in enumerate(("d10", "d11", "d10")):  # the last one is a change
        sent = {"topic": "MB001", "doc": doc, "grade": number, "key": f"key-000{number}"}
        told = browser.send("/api/judge", sent).json()
        assert (told["judged"], told["title"]) == ((1, 2, 2)[number], "")
    assert browser.get("/api/next?topic=MB001").json()["judged"] == 2
    project.engine.judge(ann, "MB001", "d12", 1, key="key-of-another-page")
    for number, (doc, left) in enumerate((("d10", 3), ("d10", 2))):
        sent = {"topic": "MB001", "doc": doc, "key": f"undo-000{number}"}
        told = browser.send("/api/undo", sent).json()
        assert (told["undid"], told["judged"]) == (("change", "judge")[number], left)
        assert told["title"] == "Report 10"


def test_an_audit_counts_its_own_sample_and_says_what_is_left_elsewhere(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001", "303"))
    olga = add_person(project, "olga", "organizer")
    for topic, doc in (("MB001", "d10"), ("MB001", "d11"), ("303", "d12")):
        project.engine.judge(ann, topic, doc, 2, key=f"key-{doc}")
    project.engine.judge(olga, "MB001", "d20", 1, key="no-audit")
    browser = signed_in(project, "olga")
    sample = {"audit": browser.send("/api/audit/draw", {"assessor": ann, "size": 5}).json()["audit"]}
    found = []
    for topic, doc in (("MB001", "d10"), ("MB001", "d11"), ("303", "d12")):
        sent = {**sample, "topic": topic, "doc": doc, "grade": 1, "key": f"audit-{doc}"}
        told = browser.send("/api/audit/judge", sent).json()
        found.append((told["judged"], told["coming"]["left"], told["coming"]["elsewhere"]))
    assert found == [(1, 1, 1), (2, 0, 1), (1, 0, 0)]
    told = browser.send(
        "/api/audit/undo", {**sample, "topic": "MB001", "doc": "d11", "key": "undo-0001"}
    ).json()
    assert (told["judged"], told["title"]) == (1, "Report 11")
    work = browser.get("/api/audit/next", params={**sample, "topic": "303"}).json()
    assert (work["judged"], work["coming"]["elsewhere"]) == (1, 1)
