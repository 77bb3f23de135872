"""Taking back in the store: the last act alone, back to what stood before it, once for each key."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.judge.acts import DESIGN, judge, undo

from sounding.judge.log import FEW
from sounding.judge.records import ConflictError, Offer, Selection, Submission
from sounding.judge.store import Store


def test_what_was_taken_back_no_longer_stands_and_what_follows_begins_anew(store: Store) -> None:
    judge(store, "d1", 0, "a")
    receipt = store.withdraw("assessor-1", "MB001", "d1", key="b", overlap=1, seconds=60)
    assert receipt is not None
    assert store.standing() == []
    judge(store, "d1", 1, "c")
    assert [one.sequence for one in store.standing()] == [3]


def test_without_a_document_the_last_act_in_the_topic_is_taken_back(store: Store) -> None:
    judge(store, "d1", 0, "a")
    judge(store, "d2", 0, "b")
    judge(store, "d1", 1, "c")
    judge(store, "other", 1, "d", topic="MB002")
    judge(store, "d9", 1, "e", assessor="assessor-2")
    taken = [undo(store, f"u{n}") for n in range(4)]
    assert [(one.kind, one.doc, one.undid, one.detail) if one else None for one in taken] == [
        ("judge", "d1", "change", {"undoes": 3, "restores": 1}),
        ("withdraw", "d2", "judge", {"undoes": 2}),
        ("withdraw", "d1", "judge", {"undoes": 1}),
        None,
    ]
    assert {one.doc for one in store.standing()} == {"other", "d9"}


def test_a_change_that_is_taken_back_goes_back_to_the_judgment_before(store: Store) -> None:
    chosen = Selection(policy="mtc", step=4, weight=0.5)
    given = Submission(assessor="assessor-1", topic="MB001", doc="d1", grade=2, key="a", comment="good")
    store.judge(replace(given, selection=chosen, active=30, away=2))
    judge(store, "d1", 1, "b", assessor="assessor-2")
    store.judge(replace(given, grade=None, key="c", comment="is cut off", active=5))
    store.judge(replace(given, grade=0, key="d", comment=""))
    standing = []
    for key in "efg":
        event = undo(store, key, "d1")
        assert event is not None
        assert event.active is event.away is None  # the work of before is in the log once
        standing.append(
            [
                (one.grade, one.comment, one.selection)
                for one in store.standing(topic="MB001", assessor="assessor-1")
            ]
        )
    assert standing == [[(None, "is cut off", chosen)], [(2, "good", chosen)], []]
    assert [one.doc for one in store.leases()] == []  # assessor-2 has judged it, and one is enough
    assert undo(store, "h") is None
    assert [one.grade for one in store.standing()] == [1]


def test_a_skip_is_taken_back_and_the_document_is_at_hand_again(store: Store) -> None:
    offers = [Offer(doc=doc, selection=DESIGN) for doc in ("d1", "d2")]
    [first] = store.lease("assessor-1", "MB001", lambda _: offers, overlap=1, seconds=60)
    store.skip("assessor-1", "MB001", first.doc, key="s", active=7.5, away=1)
    assert [(event.active, event.away) for event in store.events()] == [(7.5, 1.0)]
    assert store.leases() == []
    event = undo(store, "u")
    assert event is not None
    assert (event.kind, event.doc, event.undid, event.detail) == ("unskip", "d1", "skip", {"undoes": 1})
    assert [(one.doc, one.selection) for one in store.leases()] == [("d1", first.selection)]
    assert undo(store, "v") is None


def test_a_skip_of_before_a_judgment_is_over_with_it(store: Store) -> None:
    store.skip("assessor-1", "MB001", "d1", key="s")
    judge(store, "d1", 1, "a")
    assert [one.kind if one else None for one in (undo(store, "u"), undo(store, "v"))] == ["withdraw", None]


def test_many_acts_can_be_taken_back_one_by_one(store: Store) -> None:
    docs = [f"d{number}" for number in range(FEW + 5)]
    for doc in docs:
        judge(store, doc, 1, f"j-{doc}")
    taken = [undo(store, f"u{number}") for number in range(len(docs) + 1)]
    assert [event.doc if event else None for event in taken] == [*reversed(docs), None]


def test_the_key_of_an_undo_fits_no_judgment_and_no_other_undo(store: Store) -> None:
    judge(store, "d1", 0, "a")
    judge(store, "d1", 1, "b")
    judge(store, "d2", 1, "c")
    back = undo(store, "u", "d1")
    assert back == undo(store, "u", "d1") == undo(store, "u")
    with pytest.raises(ConflictError, match="'u' was used"):
        judge(store, "d1", 0, "u")  # the grade that the undo brought back
    with pytest.raises(ConflictError, match="'u' was used"):
        undo(store, "u", "d2")
    with pytest.raises(ConflictError, match="'b' was used"):
        undo(store, "b", "d1")


def test_an_undo_that_found_nothing_takes_back_nothing_when_it_is_sent_again(store: Store) -> None:
    assert undo(store, "u") is None
    assert undo(store, "v", "d1") is None
    judge(store, "d1", 1, "a")
    for key, doc in (("u", None), ("v", "d1"), ("v", None)):
        assert undo(store, key, doc) is None  # the answer of the first time
    assert [event.kind for event in store.events()] == ["judge"]
    for wrong in (
        lambda: judge(store, "d1", 0, "u"),
        lambda: store.skip("assessor-1", "MB001", "d2", key="u"),
        lambda: undo(store, "v", "d2"),
        lambda: undo(store, "u", "d1"),
        lambda: store.withdraw("assessor-1", "other", None, key="u", overlap=1, seconds=60),
    ):
        with pytest.raises(ConflictError, match="was used for another submission"):
            wrong()
    assert undo(store, "u", "d1", "assessor-2") is None  # keys are everybody's own
    back = undo(store, "w")
    assert back is not None
    assert back.doc == "d1"
