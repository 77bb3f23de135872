"""Rankings: what they count, and what is left of them when they are cut, condensed or assessed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.properties.strategies import POOLED, Topic, random_topics, ranking_of

from sounding.runs.ranking import Ranking, TieBlocks, distinct

TOPICS = random_topics(300, seed=3)
SMALL = [Topic((2, None, 0, POOLED, 1), (1, 0)), Topic(missing=True), Topic((None, 0), (3,))]


def shown(ranking: Ranking) -> list[list[tuple[int, float]]]:
    """Rank and grade of every judged document, topic by topic."""
    rows = list(zip(ranking.topic.tolist(), ranking.rank.tolist(), ranking.grade.tolist(), strict=True))
    return [[row[1:] for row in rows if row[0] == topic] for topic in range(len(ranking.topics))]


def pooled(ranking: Ranking) -> list[tuple[int, int]]:
    return list(zip(ranking.pooled_topic.tolist(), ranking.pooled_rank.tolist(), strict=True))


def test_relevant_documents_are_counted_whether_retrieved_or_not() -> None:
    ranking = ranking_of(SMALL)
    assert ranking.relevant().tolist() == [3, 0, 1]
    assert ranking.relevant(2).tolist() == [1, 0, 1]
    assert ranking.judgments.judged.tolist() == [5, 0, 2]


def test_judgments_know_their_topic() -> None:
    judgments = ranking_of(SMALL).judgments
    assert judgments.grades.tolist() == [2, 1, 1, 0, 0, 3, 0]
    assert judgments.topic.tolist() == [0, 0, 0, 0, 0, 2, 2]


def test_what_judgments_remember_is_computed_once() -> None:
    judgments = ranking_of(SMALL).judgments
    calls: list[int] = []

    def compute() -> str:
        calls.append(1)
        return "found"

    assert [judgments.remember("a key", compute) for _ in range(2)] == ["found", "found"]
    assert calls == [1]


def test_hits_are_numbered_within_their_topic() -> None:
    for level, k in ((1, None), (2, None), (1, 3)):
        hit = ranking_of(TOPICS).hits(level, k)
        expected = []
        for number, topic in enumerate(TOPICS):
            ranks = [r for r, g in enumerate(topic.ranking[:k], 1) if g is not None and g >= level]
            expected += [(number, rank, nth) for nth, rank in enumerate(ranks, 1)]
        assert list(zip(hit.topic.tolist(), hit.rank.tolist(), hit.nth.tolist(), strict=True)) == expected


def test_totals_have_a_number_for_every_topic() -> None:
    ranking = ranking_of(SMALL)
    assert ranking.total(ranking.topic).tolist() == [3, 0, 1]
    assert ranking.total(ranking.topic, ranking.grade).tolist() == [3, 0, 0]
    assert ranking.total(ranking.topic[:0]).tolist() == [0, 0, 0]


def test_a_cut_ranking_is_that_of_the_first_documents() -> None:
    for depth in (1, 3, 100):
        cut = ranking_of(TOPICS).cut(depth)
        short = ranking_of(
            [replace(t, ranking=t.ranking[:depth], pool_ranks=None, elsewhere=()) for t in TOPICS]
        )
        assert shown(cut) == shown(short)
        assert cut.retrieved.tolist() == short.retrieved.tolist()
        assert pooled(cut) == pooled(short)
        assert cut.relevant().tolist() == ranking_of(TOPICS).relevant().tolist()


def test_a_condensed_ranking_holds_the_judged_documents_close_together() -> None:
    condensed = ranking_of(TOPICS).condensed()
    plain = ranking_of([topic.condensed() for topic in TOPICS])
    assert shown(condensed) == shown(plain)
    assert condensed.retrieved.tolist() == plain.retrieved.tolist()
    assert pooled(condensed) == []


def test_an_assessed_ranking_counts_every_judged_document_as_relevant() -> None:
    ranking = ranking_of(SMALL)
    assessed = ranking.assessed()
    assert shown(assessed) == [[(1, 1), (3, 1), (5, 1)], [], [(2, 1)]]
    assert assessed.relevant().tolist() == [5, 0, 2]
    assert assessed.judgments.highest == 1
    assert ranking.relevant().tolist() == [3, 0, 1], "the ranking itself stays as it was"


def test_assessed_judgments_are_shared_between_runs() -> None:
    judgments = ranking_of(SMALL).judgments
    assert judgments.assessed() is judgments.assessed()


def tied() -> Ranking:
    """Two topics: blocks of sizes 3 and 2 in the first (one document unjudged), of 1 and 2 in the second."""
    ranking = ranking_of([Topic((1, None, 0, 2, 0)), Topic((0, None, 1))])
    first, size = np.array([1, 1, 4, 4, 1, 2]), np.array([3, 3, 2, 2, 1, 2])
    return replace(ranking, ties=TieBlocks(first, size))


def test_tied_blocks_shrink_and_move_up_when_unjudged_documents_go() -> None:
    ties = tied().condensed().ties
    assert ties is not None
    assert ties.first.tolist() == [1, 1, 3, 3, 1, 2]
    assert ties.size.tolist() == [2, 2, 2, 2, 1, 1]


def test_blocks_that_start_at_one_rank_in_neighboring_topics_stay_apart() -> None:
    ranking = ranking_of([Topic((1, 0)), Topic((0, 1, 1))])
    blocks = TieBlocks(np.array([1, 1, 1, 1, 1]), np.array([2, 2, 3, 3, 3]))
    ties = replace(ranking, ties=blocks).condensed().ties
    assert ties is not None
    assert ties.size.tolist() == [2, 2, 3, 3, 3]


def test_an_empty_ranking_with_ties_can_be_condensed() -> None:
    none = np.empty(0, np.int64)
    condensed = replace(ranking_of([Topic((None, None))]), ties=TieBlocks(none, none)).condensed()
    assert condensed.retrieved.tolist() == [0]


def test_distinct_values_are_those_of_numpy() -> None:
    rng = np.random.default_rng(8)
    for size in (0, 1, 2, 50):
        values = rng.integers(-3, 4, size) / 2
        np.testing.assert_array_equal(distinct(values), np.unique(values))
