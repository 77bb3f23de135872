"""A judgment changes only the one that was in view: another page of the same person may have given it."""

from __future__ import annotations

import pytest
from tests.judging.acts import judge, undo
from tests.judging.web import add_person, signed_in

from sounding.judging.project import Project
from sounding.judging.store import Seen, Store, Submission, UnseenError

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
    store.judge(given(1, "key-2", NONE))
    assert [one.grade for one in store.standing()] == [1]


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
    olga = add_person(project, "olga", "organiser")
    project.engine.judge(ann, "MB001", "d10", 2, key="key-0000")
    browser = signed_in(project, "olga")
    sent = {"topic": "MB001", "doc": "d10", "assessor": ann, "size": 5, "seen": {"judged": False}}
    assert browser.send("/api/audit/judge", {**sent, "grade": 1, "key": "key-0001"}).status_code == 200
    assert browser.send("/api/audit/judge", {**sent, "grade": 0, "key": "key-0002"}).status_code == 412
    assert [one.grade for one in project.store.standing(assessor=olga)] == [1]
