"""One set of judgments out of several, the list for adjudication, and pools for a second assessor."""

from __future__ import annotations

import numpy as np
import pytest
from tests.agree.panels import NONE, panel_of, random_panel

from sounding.agree.combining import COMBINATIONS, adjudication_list, combine, secondary_pool
from sounding.core.errors import DataError, UnknownNameError
from sounding.data.tables import Qrels

GRADES: list[list[float]] = [[2, 0, 1], [1, NONE, 2], [NONE, 0, NONE], [1, 1, 1], [0, 2, NONE]]


@pytest.mark.parametrize(
    ("how", "grades"),
    [
        ("union", [2, 2, 0, 1, 2]),
        ("intersection", [0, 0, 0, 1, 0]),  # who did not judge did not find it relevant
        ("majority", [1, 1, 0, 1, 0]),  # halves go to the lower grade
        ("mean", [1, 1.5, 0, 1, 1]),
        ("priority", [2, 1, 0, 1, 0]),
    ],
)
def test_combinations_by_hand(how: str, grades: list[float]) -> None:
    qrels = combine(panel_of(GRADES), how)
    assert qrels.grades.tolist() == grades
    assert qrels.docs.texts() == ["d000", "d001", "d002", "d003", "d004"]


def test_priority_follows_the_names_given_then_the_order_of_the_others() -> None:
    assert combine(panel_of(GRADES), "priority", priority=["C", "B"]).grades.tolist() == [1, 2, 0, 1, 2]


def test_relevant_sets_are_united_and_intersected() -> None:
    panel = random_panel(1)
    relevant = panel.relevant(1)
    docs = np.array(panel.docs.texts())
    union, intersection = combine(panel, "union"), combine(panel, "intersection")
    assert set(np.array(union.docs.texts())[union.grades >= 1]) == set(docs[relevant.any(axis=1)])
    assert set(np.array(intersection.docs.texts())[intersection.grades >= 1]) == set(
        docs[relevant.all(axis=1)]
    )


def test_majority_is_more_than_half_of_those_who_judged_at_every_level() -> None:
    panel = random_panel(2, assessors=5, highest=3)
    grades = combine(panel, "majority").grades
    judged = np.count_nonzero(panel.judged, axis=1)
    for level in (1, 2, 3):
        assert ((grades >= level) == (2 * panel.relevant(level).sum(axis=1) > judged)).all()


def test_unknown_combinations_and_assessors_are_refused() -> None:
    assert list(COMBINATIONS) == ["union", "intersection", "majority", "mean", "priority"]
    with pytest.raises(UnknownNameError, match="did you mean union"):
        combine(panel_of(GRADES), "unon")
    with pytest.raises(UnknownNameError, match="unknown assessor 'Z'"):
        combine(panel_of(GRADES), "priority", priority=["Z"])


def test_the_adjudication_list_holds_what_differs_and_on_what() -> None:
    rows = adjudication_list(panel_of(GRADES))
    assert [(one.doc, one.gap, one.relevance) for one in rows] == [
        ("d000", 2, True), ("d001", 1, False), ("d004", 2, True),
    ]  # fmt: skip
    assert [one.relevance for one in adjudication_list(panel_of([[0, 1], [1, 2]]), level=2)] == [False, True]
    assert rows[1].grades[0] == 1
    assert np.isnan(rows[1].grades[1])


def judgments(relevant: int, others: int, topic: str) -> dict[str, float]:
    grades = [1.0] * relevant + [0.0] * others
    names = np.random.default_rng(3).permutation([f"{topic}-{number:04}" for number in range(len(grades))])
    return dict(zip(names.tolist(), grades, strict=True))


def test_a_secondary_pool_is_as_nist_made_it() -> None:
    source = {"1": judgments(300, 900, "x"), "2": judgments(20, 900, "y"), "3": judgments(0, 50, "z")}
    source["3"]["pooled"] = -1
    pool = secondary_pool(Qrels.from_dict(source))
    counted = {
        topic: (int((part >= 1).sum()), int((part < 1).sum()))
        for topic, part in zip(pool.topics, np.split(pool.grades, pool.starts[1:-1]), strict=True)
    }
    assert counted == {"1": (200, 200), "2": (20, 200), "3": (0, 50)}
    docs = pool.docs.texts()
    for begin, end in zip(pool.starts[:-1], pool.starts[1:], strict=True):
        assert docs[begin:end] == sorted(set(docs[begin:end]))  # doc-id order, each once
    wanted = {(topic, doc): grade for topic, own in source.items() for doc, grade in own.items()}
    topics = np.repeat(pool.topics, pool.sizes).tolist()
    assert [wanted[pair] for pair in zip(topics, docs, strict=True)] == pool.grades.tolist()


def test_a_secondary_pool_is_a_fair_draw_and_repeats_with_its_seed() -> None:
    qrels = Qrels.from_dict({"1": judgments(10, 40, "x")})
    backwards = Qrels.from_dict({"1": dict(reversed(judgments(10, 40, "x").items()))})
    seen = np.zeros(50)
    for seed in range(400):
        pool = secondary_pool(qrels, relevant=5, nonrelevant=10, seed=seed)
        if seed < 5:
            assert (
                secondary_pool(backwards, relevant=5, nonrelevant=10, seed=seed).docs.texts()
                == pool.docs.texts()
            )
        seen[[int(doc.split("-")[1]) for doc in pool.docs.texts()]] += 1
    relevant = np.array([judgments(10, 40, "x")[f"x-{number:04}"] for number in range(50)]) >= 1
    assert seen[relevant] == pytest.approx(200, abs=50)  # 5 of 10; deviation 10
    assert seen[~relevant] == pytest.approx(100, abs=45)  # 10 of 40; deviation 8.7


def test_an_empty_pool_is_refused() -> None:
    with pytest.raises(DataError, match="expected at least one"):
        secondary_pool(Qrels.from_dict({"1": {"a": 1}}), relevant=0, nonrelevant=0)
