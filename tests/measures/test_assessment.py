"""How much was judged: twins, shares that are easily confused, counts, and the page about them."""

from __future__ import annotations

import math
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.properties.strategies import (
    Topic,
    every_definition,
    is_judged,
    random_topics,
    ranking_of,
)

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import Measure, parse
from sounding.measures.registry import Definition
from sounding.runs.align import align, prepare
from sounding.runs.ranking import Ranking

DOCS = (Path(__file__).parents[2] / "docs" / "assessment.md").read_text("utf-8")
TOPICS = random_topics(600, seed=8)
NEEDED = {"k": 5, "recall": 0.5, "x": 2}
DEFINITIONS = every_definition()


def plain(known: Definition) -> Measure:
    return Measure.of(known.name, **{key: value for key, value in NEEDED.items() if key in known.parameters})


def meaning(known: Definition, parameters: dict[str, Any]) -> Measure | None:
    """The measure with these parameters; None where it takes no two of them together."""
    if "gains" in parameters and known.name == "Q":
        parameters = parameters | {"gain": "grade"}
    measure = plain(known).replace(**parameters)
    try:
        measure(ranking_of([Topic((1,))]))
    except DataError as error:
        if "define the gain" in str(error) or "below 0" in str(error):
            return None
        if "min_rel" not in str(error):
            raise
    return measure


def tables() -> tuple[Run, Qrels]:
    """A run and graded judgments of a sampled pool, with pool ranks, strata and chances."""
    chance = random.Random(4)
    topics, docs, grades = [], [], []
    run: dict[str, dict[str, float]] = {}
    for topic in ("1", "2", "3", "4"):
        pool = [f"d{number}" for number in range(40)]
        for doc in pool:
            topics.append(topic)
            docs.append(doc)
            grades.append(chance.choice([-1, 0, 0, 1, 2, 3]) if topic != "4" else 0)
        retrieved = chance.sample([*pool, *(f"x{number}" for number in range(20))], k=30)
        run[topic] = {doc: chance.random() for doc in retrieved}
    qrels = Qrels.from_columns(
        topics, docs, grades,
        pool_ranks=[chance.randint(1, 20) for _ in docs],
        strata=[chance.randint(1, 2) for _ in docs],
    )  # fmt: skip
    return Run.from_dict(run, name="run"), qrels


def aligned(run: Run, qrels: Qrels, **policies: int) -> Ranking:
    chosen = Policies(**policies)  # type: ignore[arg-type]
    return align(run, prepare(qrels.by_intent(), chosen), chosen)


# What parameters say of grades, and the grade at which a document is then fully relevant.
MEANINGS: list[tuple[dict[str, Any], float]] = [
    ({}, 1),
    ({"rel": 0}, 1),
    ({"rel": 0.5}, 1),
    ({"rel": 2}, 2),
    ({"rel": 3.5}, 3.5),
    ({"max_rel": 4}, 4),
    ({"min_rel": 1}, 2),
    ({"min_rel": 1.5, "max_rel": 3}, 3),
    ({"gains": {1: 5}}, 1),
    ({"gains": {0: -1, 3: 7}}, 3),
    ({"gains": {1: 0, 2: 1}}, 2),
    ({"gains": {1: 0}}, 2),
    ({"gains": {1: 0, 2: 0}}, 3),
    ({"gains": {1: 9, 3: 1}, "rel": 2}, 2),
]
MEANT = [
    (meant, grade)
    for known in DEFINITIONS
    for parameters, grade in MEANINGS
    if all(name in known.parameters for name in parameters)
    for meant in [meaning(known, parameters)]
    if meant is not None
]


@pytest.mark.parametrize(("measure", "grade"), MEANT, ids=str)
@pytest.mark.parametrize("depth", [{}, {"depth": 12}], ids=["whole", "cut"])
def test_a_twin_is_the_measure_on_qrels_in_which_everything_judged_is_fully_relevant(
    measure: Measure, grade: float, depth: dict[str, int]
) -> None:
    run, qrels = tables()
    chosen = Policies(fractional="accept", **depth)  # type: ignore[arg-type]
    relevant = Qrels.from_columns(
        [topic for topic, size in zip(qrels.topics, qrels.sizes, strict=True) for _ in range(size)],
        qrels.docs.texts(),
        np.where(qrels.grades >= 0, grade, qrels.grades),
        pool_ranks=None if qrels.pool_ranks is None else qrels.pool_ranks.tolist(),
        strata=None if qrels.strata is None else qrels.strata.tolist(),
    )
    twin, expected = (
        measure.replace(assessed=True)(align(run, prepare(qrels.by_intent(), chosen), chosen)),
        measure(align(run, prepare(relevant.by_intent(), chosen), chosen)),
    )
    if measure.definition.aggregate == "text":
        assert twin.tolist() == expected.tolist()
    else:
        assert twin.tolist() == pytest.approx(expected.tolist(), abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("level", [0, 0.5, 2, 3, 7])
def test_where_a_scale_of_relevance_begins_changes_no_twin(level: float) -> None:
    run, qrels = tables()
    ranking = aligned(run, qrels)
    for known in DEFINITIONS:
        # Without a level NumRet counts unjudged documents too, and ERR has other gains.
        if "rel" in known.parameters and known.name not in ("NumRet", "ERR"):
            twin = plain(known).replace(assessed=True)
            assert twin.replace(rel=level)(ranking).tolist() == pytest.approx(twin(ranking).tolist()), twin


def test_the_twins_of_the_paper_at_a_higher_level_by_hand() -> None:
    # One of three retrieved documents, and of three judged ones, was judged, at rank 1.
    scores = evaluate(
        {"1": {"a": 2, "b": 0, "c": 1}},
        [{"1": {"a": 3.0, "u": 2.0, "v": 1.0}}],
        ["A_p(rel=2)@3", "A_r(rel=2)@3", "MAA(rel=2)", "nDCG(gains={1:0,2:1},assessed=True)@1"],
    )
    assert scores.values.ravel().tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 1])


def test_twins_see_what_the_measures_do_not() -> None:
    run, qrels = tables()
    ranking = aligned(run, qrels)
    changed = {
        known.name
        for known in DEFINITIONS
        if known.aggregate != "text"
        and not np.array_equal(
            plain(known)(ranking), plain(known).replace(assessed=True)(ranking), equal_nan=True
        )
    }
    assert {"P", "R", "AP", "nDCG", "RBP", "Bpref", "statAP", "xinfAP", "NumRel"} <= changed
    assert not {"NumJudged", "Judged", "Unjudged", "FirstUnjudged", "NumUnjudgedRet"} & changed


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("P(assessed=True)@10", "A_p@10"),
        ("R(assessed=True)@10", "A_r@10"),
        ("AP(assessed=True)@10", "AA@10"),
        ("AP(assessed=True)", "AA"),
        ("MAA", "AA"),
        ("P(rel=2,assessed=True,judged_only=True)@5", "A_p(rel=2,judged_only=True)@5"),
        ("nDCG(assessed=True)@10", "nDCG(assessed=True)@10"),
    ],
)
def test_assessment_is_printed_by_the_names_of_the_paper(written: str, printed: str) -> None:
    assert str(parse(written)) == printed
    assert parse(printed) == parse(written)


def test_assessment_precision_divides_by_k_and_average_assessment_by_all_that_was_judged() -> None:
    ranking = ranking_of(TOPICS)
    for k in (1, 5, 50):
        within = [sum(map(is_judged, topic.ranking[:k])) for topic in TOPICS]
        assert parse(f"A_p@{k}")(ranking).tolist() == pytest.approx([number / k for number in within])
        share = [
            n / len(topic.judged) if topic.judged else 0 for n, topic in zip(within, TOPICS, strict=True)
        ]
        assert parse(f"A_r@{k}")(ranking).tolist() == pytest.approx(share)
    assert parse("MAA")(ranking).tolist() == pytest.approx([average_assessment(topic) for topic in TOPICS])


def average_assessment(topic: Topic) -> float:
    seen, total = 0, 0.0
    for rank, label in enumerate(topic.ranking, 1):
        if is_judged(label):
            seen += 1
            total += seen / rank
    return total / len(topic.judged) if topic.judged else 0


def test_bprefs_twin_is_the_share_of_judged_documents_retrieved() -> None:
    ranking = ranking_of(TOPICS)
    judged = parse("NumJudged")(ranking)
    share = np.divide(parse("NumJudgedRet")(ranking), judged, out=np.zeros(len(judged)), where=judged > 0)
    assert parse("Bpref(assessed=True)")(ranking).tolist() == pytest.approx(share.tolist())


def test_the_page_shows_how_the_three_shares_differ() -> None:
    [labels] = re.findall(r"^`([-0-9 ]{3,})`:$", DOCS, re.MULTILINE)
    topic = Topic(tuple(None if label == "-" else float(label) for label in labels.split()))
    rows = re.findall(r"^\| `(\w+@\d)` \| ([0-9.]+) \|", DOCS, re.MULTILINE)
    assert {name.partition("@")[0] for name, _ in rows} == {"A_p", "Judged", "Unjudged"}
    for name, shown in rows:
        assert f"{parse(name)(ranking_of([topic]))[0]:.4f}" == shown


def test_the_page_names_measures_that_are_there() -> None:
    for name in re.findall(r"`((?:Num|First)\w+(?:\(\w+=N\))?)`", DOCS):
        parse(name.replace("=N", "=1000"))


def first_unjudged(topic: Topic) -> float:
    ranks = [rank for rank, label in enumerate(topic.ranking, 1) if not is_judged(label)]
    return ranks[0] if ranks else math.nan


def test_the_first_unjudged_document_is_where_the_ranking_says() -> None:
    values = parse("FirstUnjudged")(ranking_of(TOPICS)).tolist()
    assert values == pytest.approx([first_unjudged(topic) for topic in TOPICS], nan_ok=True)
    assert len(set(values)) > 5


def test_a_mean_is_over_the_topics_that_have_an_unjudged_document() -> None:
    qrels = {"1": {"a": 1, "b": 0}, "2": {"a": 1}, "3": {"a": 1}}
    run = {
        "1": {"a": 2.0, "b": 1.0},
        "2": {"a": 2.0, "x": 1.0},
        "3": {"x": 2.0, "a": 1.0, "y": 0.5, "z": 0.2},
    }
    scores = evaluate(qrels, [run], ["FirstUnjudged", "AP"])
    assert scores.values[0, 0].tolist() == pytest.approx([math.nan, 2, 1], nan_ok=True)
    assert scores.mean()[0, 0] == 1.5
    assert scores.counted()[0].tolist() == [2, 3]


def test_the_counts_make_baillies_table() -> None:
    ranking = ranking_of(TOPICS)

    def count(name: str) -> np.ndarray:
        return parse(name)(ranking)

    collection = "NumUnjudgedNotRet(collection=1000)"
    assert np.array_equal(
        count("NumRelRet") + count("NumNonrelRet") + count("NumUnjudgedRet"), count("NumRet")
    )
    below = count("NumRelNotRet") + count("NumNonrelNotRet") + count(collection)
    assert np.array_equal(below + count("NumRet"), np.full(len(TOPICS), 1000))
    assert np.array_equal(count("NumRelRet") + count("NumRelNotRet"), count("NumRel"))
    assert np.array_equal(count("NumNonrelRet") + count("NumNonrelNotRet"), count("NumNonrel"))
    assert np.array_equal(count("NumJudgedRet") + count("NumJudgedNotRet"), count("NumJudged"))
    assert np.array_equal(count("NumRel") + count("NumNonrel"), count("NumJudged"))
    assert count("NumUnjudgedNotRet").tolist() == [topic.unsampled for topic in TOPICS]


def test_a_collection_that_is_too_small_is_refused() -> None:
    ranking = ranking_of([Topic((1, 0), (1,)), Topic((1, None, 0), (1,))])
    assert parse("NumUnjudgedNotRet(collection=4)")(ranking).tolist() == [1, 0]
    with pytest.raises(DataError, match=r"collection is 3, and 4 documents .* topic 000001"):
        parse("NumUnjudgedNotRet(collection=3)")(ranking)


def test_counts_are_added_up_over_topics() -> None:
    scores = evaluate(
        {"1": {"a": 1}, "2": {"b": 0}}, [{"1": {"x": 1.0}, "2": {"y": 1.0}}], ["NumUnjudgedRet"]
    )
    assert scores.mean().tolist() == [[2.0]]
