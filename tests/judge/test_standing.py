"""Which judgment stands: one rule, and SQL and the walk back through the acts say the same."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.judge.acts import judge, undo

from sounding.data.judgment_log import StandingJudgments, standing_acts
from sounding.judge.records import Event
from sounding.judge.state import Opinions, opinions_of
from sounding.judge.store import Store, open_store

DOCS = ("d1", "d2", "d3")
acts = st.lists(
    st.tuples(
        st.sampled_from(("judge", "skip", "undo", "undo any")), st.sampled_from(DOCS), st.integers(0, 2)
    ),
    max_size=25,
)


def do(store: Store, act: str, doc: str, grade: int, key: str) -> None:
    if act == "judge":
        judge(store, doc, grade, key)
    elif act == "skip":
        store.skip("assessor-1", "MB001", doc, key=key)
    else:
        undo(store, key, doc if act == "undo" else None)


def by_rule(events: list[Event]) -> dict[tuple[str, str, str], float | None]:
    """Grades by the rule alone: the acts of an assessor on a document, in their order."""
    found: StandingJudgments[tuple[str, str, str], Event] = StandingJudgments()
    for event in events:
        place = (event.topic or "", event.doc or "", event.assessor or "")
        found.follow(place, event.kind, event, undoes=event.undoes is not None)
    return {place: history[-1].grade for place, history in found.items()}


@given(acts)
@settings(max_examples=60, deadline=None)
def test_sql_and_rule_agree(done: list[tuple[str, str, int]]) -> None:
    with TemporaryDirectory() as folder, open_store(Path(folder) / "x.sqlite") as store:
        for number, (act, doc, grade) in enumerate(done):
            do(store, act, doc, grade, f"key-{number}")
        events = list(store.events())
        stands = {(one.topic, one.doc, one.assessor): one.grade for one in store.standing()}
        assert stands == by_rule(events)
        last = store.last_sequence()
        assert store.judged_topics(last) == sorted({topic for topic, _, _ in stands})
        newest = {
            act.doc: act.grade
            for act in reversed(list(standing_acts(reversed(events))))
            if act.kind == "judge"
        }
        assert newest == {doc: grade for (_, doc, _), grade in stands.items()}
        for doc in DOCS:
            opinions = opinions_of(event for event in events if event.doc == doc)
            assert opinions.grades == {who: grade for (_, one, who), grade in stands.items() if one == doc}


def test_a_change_that_is_undone_goes_back_and_keeps_its_place() -> None:
    found: StandingJudgments[str, int] = StandingJudgments()
    for who, kind, grade, undoes in (
        ("a", "judge", 1, False),
        ("b", "judge", 0, False),
        ("a", "judge", 2, False),
        ("a", "skip", 9, False),
        ("a", "judge", 1, True),
    ):
        found.follow(who, kind, grade, undoes=undoes)
    assert list(found.items()) == [("a", [1]), ("b", [0])]
    found.follow("a", "withdraw", 1, undoes=True)
    assert list(found) == ["b"]


@pytest.mark.parametrize("history", [[], [5]])
def test_a_log_without_its_beginning_has_what_the_event_repeats(history: list[int]) -> None:
    found: StandingJudgments[str, int] = StandingJudgments({"a": history} if history else {})
    found.follow("a", "judge", 3, undoes=True)
    assert found == {"a": [3]}


def test_nothing_stands_before_anything_is_judged() -> None:
    assert Opinions().grades == {}
