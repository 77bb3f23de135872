"""Documents stand in the order that the tie policy says, whatever the file looks like."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.fast.tokens import Tokens
from sounding.data.tables import Qrels, Run
from sounding.runs.align import _by_descending_id, align, apply_negative_policy, prepare, treat_unjudged
from sounding.runs.ranking import Ranking

Rows = list[tuple[str, str, float]]

topics = st.sampled_from(["1", "10", "2", "q", "é"])
docs = st.sampled_from(["d", "d1", "d10", "d2", "ddddddd", "dddddddd", "ddddddddd", "dddddddde", "é", "x"])
scores = st.sampled_from([0.0, -1.0, 1.0, 1.00000001, 2.5, -0.0, 16777217.0, 16777216.0, 1e-300])


def unique(rows: Rows) -> Rows:
    return list({(topic, doc): (topic, doc, value) for topic, doc, value in rows}.values())


runs = st.lists(st.tuples(topics, docs, scores), max_size=40).map(unique)
judgments = st.lists(st.tuples(topics, docs, st.integers(-2, 3).map(float)), min_size=1, max_size=30).map(
    unique
)


def naive_order(rows: Rows, topic: str, ties: str, single: bool) -> list[str]:
    """The documents of a topic in order, by a plain sort."""
    mine = [(doc, score) for t, doc, score in rows if t == topic]
    if ties == "file":
        return [doc for doc, _ in mine]
    if ties == "trec":
        mine.sort(key=lambda row: row[0].encode(), reverse=True)
    mine.sort(key=lambda row: -float(np.float32(row[1]) if single else row[1]))  # stable
    return [doc for doc, _ in mine]


def naive_ranking(run: Rows, qrels: Rows, ties: str, single: bool) -> dict[str, list[tuple[int, float]]]:
    grades = {(t, d): g for t, d, g in qrels}
    ranking = {}
    for topic in sorted({t for t, _, _ in qrels}, key=str.encode):
        order = naive_order(run, topic, ties, single)
        ranks = ((rank, grades.get((topic, doc), -9.0)) for rank, doc in enumerate(order, start=1))
        ranking[topic] = [(rank, grade) for rank, grade in ranks if grade >= 0]
    return ranking


def table(kind: Any, rows: Rows) -> Any:
    columns = [[row[place] for row in rows] for place in range(3)]
    return kind.from_columns(*columns, **({"name": "r"} if kind is Run else {}))


def listed(ranking: Ranking) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {topic: [] for topic in ranking.topics}
    for topic, rank, grade in zip(ranking.topic, ranking.rank, ranking.grade, strict=True):
        found[ranking.topics[topic]].append((int(rank), float(grade)))
    return found


@settings(max_examples=400)
@given(runs, judgments, st.sampled_from(["trec", "score-file", "file"]), st.booleans())
def test_every_document_has_the_rank_that_a_plain_sort_gives(
    run: Rows, qrels: Rows, ties: Any, single: bool
) -> None:
    policies = Policies(ties=ties, compat="trec_eval-9" if single else "trec_eval-10")
    ranking = align(table(Run, run), prepare(table(Qrels, qrels), policies), policies)
    assert listed(ranking) == naive_ranking(run, qrels, ties, single)
    retrieved = [sum(t == topic for t, _, _ in run) for topic in ranking.topics]
    assert ranking.retrieved.tolist() == retrieved
    assert ranking.missing.tolist() == [count == 0 for count in retrieved]
    pooled = {(t, d) for t, d, g in qrels if g < 0}
    order = [
        (topic, rank)
        for topic in ranking.topics
        for rank, doc in enumerate(naive_order(run, topic, ties, single), start=1)
        if (topic, doc) in pooled
    ]
    found = [
        (ranking.topics[t], int(r)) for t, r in zip(ranking.pooled_topic, ranking.pooled_rank, strict=True)
    ]
    assert found == order


@pytest.mark.parametrize("seed", range(3))
def test_equal_scores_stand_as_in_the_file_in_long_lists_too(seed: int) -> None:
    """Sorts of few rows keep equal ones in order by themselves; those of many need not."""
    rng = np.random.default_rng(seed)
    rows = [
        (f"{topic}", f"d{rng.integers(10**9):09}", float(rng.integers(0, 5)))
        for topic in rng.integers(0, 3, 5000)
    ]
    rows = unique(rows)
    qrels = [(topic, doc, float(rng.integers(0, 2))) for topic, doc, _ in rows[::2]]
    policies = Policies(ties="score-file")
    ranking = align(table(Run, rows), prepare(table(Qrels, qrels), policies), policies)
    assert listed(ranking) == naive_ranking(rows, qrels, "score-file", single=False)


@given(runs, judgments)
def test_tie_blocks_are_the_ranks_that_equal_scores_share(run: Rows, qrels: Rows) -> None:
    policies = Policies(ties="average")
    ranking = align(table(Run, run), prepare(table(Qrels, qrels), policies), policies)
    grades = {(t, d): g for t, d, g in qrels}
    expected = []
    for topic in ranking.topics:
        mine = [(doc, score) for t, doc, score in run if t == topic]
        for doc, score in mine:
            if grades.get((topic, doc), -1) >= 0:
                first = 1 + sum(other > score for _, other in mine)
                expected.append((topic, first, sum(other == score for _, other in mine), grades[topic, doc]))
    assert ranking.ties is not None
    columns = (ranking.topic, ranking.ties.first, ranking.ties.size, ranking.grade)
    found = [(ranking.topics[t], int(f), int(s), float(g)) for t, f, s, g in zip(*columns, strict=True)]
    assert sorted(found) == sorted(expected)


@given(runs, judgments)
def test_condensed_rankings_lose_the_unjudged_and_close_up(run: Rows, qrels: Rows) -> None:
    policies = Policies(unjudged="condensed")
    ranking = treat_unjudged(
        align(table(Run, run), prepare(table(Qrels, qrels), policies), policies), policies
    )
    naive = naive_ranking(run, qrels, "trec", False)
    closed = {t: [(place, g) for place, (_, g) in enumerate(rows, start=1)] for t, rows in naive.items()}
    assert listed(ranking) == closed
    assert ranking.retrieved.tolist() == [len(rows) for rows in closed.values()]


@given(runs, judgments)
def test_condensed_tie_blocks_hold_only_judged_documents(run: Rows, qrels: Rows) -> None:
    kept = {(t, d) for t, d, g in qrels if g >= 0}
    judged_part = [row for row in run if row[:2] in kept]
    policies = Policies(ties="average")
    judged = prepare(table(Qrels, qrels), policies)
    condensed = align(table(Run, run), judged, policies).condensed()
    alone = align(table(Run, judged_part), judged, policies)
    assert condensed.ties is not None
    assert alone.ties is not None
    mine = zip(condensed.topic, condensed.ties.first, condensed.ties.size, condensed.grade, strict=True)
    theirs = zip(alone.topic, alone.ties.first, alone.ties.size, alone.grade, strict=True)
    assert sorted(map(tuple, mine)) == sorted(map(tuple, theirs))


@given(runs, judgments, st.integers(1, 4))
def test_depth_keeps_the_first_documents_in_the_final_order(run: Rows, qrels: Rows, depth: int) -> None:
    policies = Policies(depth=depth)
    ranking = align(table(Run, run), prepare(table(Qrels, qrels), policies), policies)
    naive = naive_ranking(run, qrels, "trec", False)
    assert listed(ranking) == {t: [row for row in rows if row[0] <= depth] for t, rows in naive.items()}
    assert max(ranking.retrieved, default=0) <= depth


def ranked_run(ranks: list[float]) -> Run:
    run = Run.from_columns(["1"] * 3, ["a", "b", "c"], [3.0, 2.0, 1.0], name="r")
    return replace(run, ranks=np.array(ranks))


def test_ties_by_rank_follow_the_rank_column_and_ignore_scores() -> None:
    policies = Policies(ties="rank")
    judged = prepare(Qrels.from_dict({"1": {"a": 1, "b": 2, "c": 3}}), policies)
    ranking = align(ranked_run([7, 0, 3]), judged, policies)
    assert listed(ranking) == {"1": [(1, 2.0), (2, 3.0), (3, 1.0)]}


def test_ties_by_rank_need_ranks_that_differ() -> None:
    policies = Policies(ties="rank")
    judged = prepare(Qrels.from_dict({"1": {"a": 1}}), policies)
    with pytest.raises(DataError, match="topic 1 gives rank 2 to several documents"):
        align(ranked_run([1, 2, 2]), judged, policies)
    with pytest.raises(DataError, match=r"read it with read_run\(\.\.\., with_ranks=True\)"):
        align(Run.from_dict({"1": {"a": 1.0}}, name="r"), judged, policies)


@pytest.mark.parametrize(
    ("negative", "expected"),
    [("trec", [-1, -1, 0, 2]), ("split", [0, -1, 0, 2]), ("nonrelevant", [0, 0, 0, 2])],
)
def test_negative_grades_are_what_the_policy_says(negative: Any, expected: list[int]) -> None:
    assert apply_negative_policy(np.array([-2.0, -1.0, 0.0, 2.0]), negative).tolist() == expected


def test_policies_refuse_what_does_not_exist() -> None:
    with pytest.raises(Exception, match="unknown value of the policy ties: 'trek'; did you mean trec"):
        Policies(ties="trek")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="depth is 0; give a whole number from 1"):
        Policies(depth=0)
    with pytest.raises(DataError, match="ties average needs the whole ranking"):
        Policies(ties="average", depth=10)


tied = st.lists(st.text("abé-", min_size=1, max_size=19), min_size=2, max_size=9, unique=True)


@given(st.lists(tied, min_size=1, max_size=9))
def test_tied_documents_are_sorted_downwards_by_the_bytes_of_their_ids(blocks: list[list[str]]) -> None:
    docs = [doc for block in blocks for doc in block]
    order = _by_descending_id(
        Tokens.from_strings(docs).words().byteswap(), np.array([len(block) for block in blocks])
    )
    wanted = [doc for block in blocks for doc in sorted(block, key=str.encode, reverse=True)]
    assert [docs[place] for place in order.tolist()] == wanted
