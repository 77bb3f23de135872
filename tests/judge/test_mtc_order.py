"""The order mtc with parameters gives the documents of a session with these parameters, whatever is taken back."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judge.small import TOPICS, begin, draw_runs, found_by, found_by_replay

from sounding.core.errors import SoundingError, UnknownNameError
from sounding.judge.settings import Order
from sounding.judge.store import Store
from sounding.runs.retrieved import read_retrieved
from sounding.selection.mtc.session import Session

PAPER = {"prior": "0.5", "selection": "faithful"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"method": "paper"}, PAPER),
        ({"method": "paper", "pair": "run0,run2"}, {**PAPER, "pair": ("run0", "run2")}),
        ({"baseline": "run1", "prior": "rank"}, {"baseline": "run1", "prior": "rank"}),
        ({"top": 2.0, "prior": 0.5}, {"top": 2, "prior": "0.5"}),
    ],
)
def test_documents_come_as_a_session_with_these_parameters_chooses_them(
    store: Store, given: dict[str, Any], expected: dict[str, Any]
) -> None:
    engine = begin(store, order=Order(policy="mtc", parameters=given))
    retrieved = read_retrieved(draw_runs(1), depth=8)
    session = Session(
        retrieved, seed=3, measure="AP", depth=8, confidence="draws", **({"prior": "runs"} | expected)
    )
    topic = retrieved.topics.index(TOPICS[0])
    for step in range(6):
        (pick,) = session.next(topics=[topic], count=1)
        (lease,) = engine.next("ann", TOPICS[0])
        assert lease.doc == retrieved.docs.text(pick.document)
        grade = len(lease.doc + str(step)) * 7 % 3
        engine.judge("ann", TOPICS[0], lease.doc, grade, key=f"key{step}")
        session.judge(pick.document, grade)
    last = retrieved.docs.text(pick.document)
    engine.withdraw("ann", TOPICS[0], last, key="back")
    session.undo(pick.document)
    (lease,) = engine.next("ann", TOPICS[0])
    (pick,) = session.next(topics=[topic], count=1)
    assert lease.doc == retrieved.docs.text(pick.document) == last
    assert found_by(engine, store) == found_by_replay(store)


def test_another_pair_is_another_order(store: Store) -> None:
    one, other = (Order(parameters={"pair": pair}) for pair in ("run0,run1", "run0,run2"))
    assert not one.is_same(other)
    assert not one.is_same(Order())
    assert one.is_same(Order(parameters={"pair": "run0,run1"}))
    engine = begin(store)
    with pytest.raises(UnknownNameError, match="unknown run 'run9'"):
        engine.set_order(None, Order(parameters={"pair": "run0,run9"}))
    engine.set_order("7", one)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"method": "paper", "prior": 0.3}, "method=paper sets prior=0.5; leave one out"),
        ({"method": "book"}, "unknown method 'book'"),
        ({"pair": "run0"}, "expected two different runs, such as pair=bm25,dense"),
        ({"top": 2.5}, "expected a whole number from 2"),
        ({"top": 3.0, "baseline": "run0"}, "give one"),
        ({"selection": "best"}, "unknown selection 'best'"),
        ({"prior": "much"}, "unknown prior 'much'"),
    ],
)
def test_parameters_that_make_no_session_are_refused(given: dict[str, Any], problem: str) -> None:
    with pytest.raises(SoundingError, match=problem):
        Order(parameters=given).check()
