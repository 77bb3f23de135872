"""Simulated collections: the pool is exact, the truth complete, the seed decides everything."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Unpack

import numpy as np
import pytest
from scipy.stats import spearmanr

from sounding.data.simulation import Choices, Collection, Parameters, RunInfo, simulate_collection
from sounding.data.tables import Qrels, Run
from sounding.errors import DataError

SMALL: Choices = {
    "topics": 8, "groups": 6, "systems": 3, "documents": 300, "prevalence": 0.08, "length": 60,
    "short": 0.2, "ties": 0.5, "pool_depth": 10, "contributors": 4, "manual": 0.34, "seed": 3,
}  # fmt: skip


def variant(**choices: Unpack[Choices]) -> Collection:
    """The small collection with other choices."""
    return simulate_collection(**(SMALL | choices))


@pytest.fixture(scope="module")
def small() -> Collection:
    return simulate_collection(**SMALL)


@pytest.fixture(scope="module")
def usual() -> Collection:
    return simulate_collection(seed=7)


def rankings(run: Run) -> dict[str, list[str]]:
    """Doc ids by topic in trec_eval's order, computed the plain way."""
    docs, scores = run.docs.texts(), run.scores.tolist()
    ranked = {}
    for topic, begin, end in zip(run.topics, run.starts[:-1], run.starts[1:], strict=True):
        pairs = [(score, doc.encode()) for score, doc in zip(scores[begin:end], docs[begin:end], strict=True)]
        ranked[topic] = [doc.decode() for _, doc in sorted(pairs, reverse=True)]
    return ranked


def grades(qrels: Qrels) -> dict[str, dict[str, float]]:
    docs, values = qrels.docs.texts(), qrels.grades.tolist()
    return {
        topic: dict(zip(docs[begin:end], values[begin:end], strict=True))
        for topic, begin, end in zip(qrels.topics, qrels.starts[:-1], qrels.starts[1:], strict=True)
    }


def pool_ranks(qrels: Qrels) -> dict[tuple[str, str], int]:
    assert qrels.pool_ranks is not None
    ranks = zip(qrels.pool_ranks.tolist(), qrels.docs.texts(), strict=True)
    topics = np.repeat(np.array(qrels.topics), qrels.sizes).tolist()
    return {(topic, doc): rank for topic, (rank, doc) in zip(topics, ranks, strict=True)}


def naive_pool(collection: Collection) -> dict[tuple[str, str], int]:
    """Best rank of every document among the first pool_depth of a contributing run."""
    best: dict[tuple[str, str], int] = {}
    for run, info in zip(collection.runs, collection.info, strict=True):
        if info.pooled:
            for topic, docs in rankings(run).items():
                for rank, doc in enumerate(docs[: collection.parameters.pool_depth], start=1):
                    best[topic, doc] = min(rank, best.get((topic, doc), rank))
    return best


def mean_average_precision(run: Run, truth: dict[str, dict[str, float]]) -> float:
    total = 0.0
    for topic, docs in rankings(run).items():
        hits, gained = 0, 0.0
        for rank, doc in enumerate(docs, start=1):
            if truth[topic][doc] > 0:
                hits += 1
                gained += hits / rank
        total += gained / sum(grade > 0 for grade in truth[topic].values())
    return total / len(truth)


def content(collection: Collection) -> list[Any]:
    """Everything that a collection holds, as plain values."""
    tables: list[Any] = [
        (run.name, run.topics, run.starts.tolist(), run.docs.texts(), run.scores.tobytes())
        for run in collection.runs
    ]
    for qrels in (collection.qrels, collection.truth):
        tables.append((qrels.topics, grades(qrels), pool_ranks(qrels)))
    return [*tables, collection.info, collection.quality, collection.parameters]


@pytest.mark.parametrize("ties", [0, 0.5, 1])
@pytest.mark.parametrize("depth", [1, 10, 200])
def test_the_judged_set_is_the_union_of_the_first_documents_of_contributing_runs(
    ties: float, depth: int
) -> None:
    collection = variant(ties=ties, pool_depth=depth)
    assert pool_ranks(collection.qrels) == naive_pool(collection)


def test_the_judgments_are_the_truth_about_pooled_documents(small: Collection) -> None:
    truth, ranks = grades(small.truth), pool_ranks(small.truth)
    judged = {
        topic: {doc: g for doc, g in docs.items() if ranks[topic, doc]} for topic, docs in truth.items()
    }
    assert grades(small.qrels) == judged
    assert {pair: rank for pair, rank in ranks.items() if rank} == pool_ranks(small.qrels)


def test_the_truth_covers_whatever_a_run_can_retrieve(small: Collection) -> None:
    truth = grades(small.truth)
    assert all(len(docs) == SMALL["documents"] for docs in truth.values())
    for run in small.runs:
        for topic, docs in rankings(run).items():
            assert set(docs) <= set(truth[topic])


def test_topics_of_judgments_are_in_byte_order_and_those_of_runs_in_the_order_of_their_numbers() -> None:
    collection = variant(topics=60)
    numbers = [str(number) for number in range(51, 111)]
    assert collection.truth.topics == collection.qrels.topics == tuple(sorted(numbers)) != tuple(numbers)
    assert all(run.topics == tuple(numbers) for run in collection.runs)


def test_no_topic_is_without_a_relevant_document_nor_a_run_without_a_retrieved_one() -> None:
    collection = variant(topics=40, prevalence=0.001, length=4, short=1)
    assert all(max(docs.values()) > 0 for docs in grades(collection.truth).values())
    assert all(run.sizes.min() >= 1 for run in collection.runs)


def test_no_run_lists_a_document_twice(small: Collection) -> None:
    for run in small.runs:
        for docs in rankings(run).values():
            assert len(set(docs)) == len(docs)


def test_one_seed_gives_the_same_collection_twice(small: Collection) -> None:
    assert content(simulate_collection(**SMALL)) == content(small)


def test_another_seed_gives_another_collection(small: Collection) -> None:
    other = variant(seed=4)
    for mine, theirs in zip(content(small), content(other), strict=True):
        assert mine != theirs


def test_more_topics_leave_the_others_as_they_are(small: Collection) -> None:
    longer = variant(topics=12)
    for run, same in zip(small.runs, longer.runs, strict=True):
        assert rankings(run).items() <= rankings(same).items()
    assert grades(small.truth).items() <= grades(longer.truth).items()


def test_quality_orders_automatic_systems_by_their_true_mean_average_precision(usual: Collection) -> None:
    truth = grades(usual.truth)
    full = [
        run
        for run, info in zip(usual.runs, usual.info, strict=True)
        if info.kind == "automatic" and run.sizes.min() == usual.parameters.length
    ]
    values = [mean_average_precision(run, truth) for run in full]
    assert len(full) > 40
    assert spearmanr([usual.quality[run.name] for run in full], values).statistic > 0.9


def test_runs_of_one_group_retrieve_alike(usual: Collection) -> None:
    shared: dict[bool, list[float]] = {True: [], False: []}
    chosen = list(zip(usual.runs[:12], usual.info[:12], strict=True))
    ranked = [(info.group, rankings(run)["51"][:100]) for run, info in chosen if run.sizes.min() >= 100]
    for number, (group, docs) in enumerate(ranked):
        for other_group, other in ranked[:number]:
            shared[group == other_group].append(len(set(docs) & set(other)) / 100)
    assert np.mean(shared[True]) > np.mean(shared[False]) + 0.1


def test_manual_groups_find_most_relevant_documents_that_nobody_else_finds(usual: Collection) -> None:
    truth = grades(usual.truth)
    finders: dict[tuple[str, str], set[RunInfo]] = {}
    for run, info in zip(usual.runs, usual.info, strict=True):
        if info.pooled:
            for topic, docs in rankings(run).items():
                for doc in docs[: usual.parameters.pool_depth]:
                    if truth[topic][doc] > 0:
                        finders.setdefault((topic, doc), set()).add(info)
    alone = [next(iter(infos)) for infos in finders.values() if len({info.group for info in infos}) == 1]
    assert len(alone) > 100
    assert np.mean([info.kind == "manual" for info in alone]) > 0.7


def test_numbers_of_relevant_documents_vary_as_log_normal_ones_do() -> None:
    collection = simulate_collection(
        topics=400, groups=1, systems=1, documents=2000, prevalence=0.03, length=1, seed=1
    )
    counts = np.array([sum(g > 0 for g in docs.values()) for docs in grades(collection.truth).values()])
    assert counts.mean() == pytest.approx(60, rel=0.2)
    assert 0.8 < np.log(counts).std() < 1.1
    assert counts.min() < 10


@pytest.mark.parametrize("best", [1, 2, 3, 5])
def test_every_grade_of_the_scale_occurs_and_better_ones_are_rarer(best: int) -> None:
    collection = simulate_collection(topics=30, groups=1, systems=1, prevalence=0.1, grades=best, seed=2)
    counted = np.bincount(collection.truth.grades.astype(np.int64), minlength=best + 1)
    assert len(counted) == best + 1
    assert np.all(np.diff(counted) < 0)


def test_better_grades_are_ranked_higher() -> None:
    collection = simulate_collection(topics=30, groups=3, systems=1, manual=1, grades=3, seed=2)
    truth = grades(collection.truth)
    found = np.zeros(4)
    for run in collection.runs:
        for topic, docs in rankings(run).items():
            for doc in docs[:100]:
                found[int(truth[topic][doc])] += 1
    share = found / np.bincount(collection.truth.grades.astype(np.int64))
    assert np.all(np.diff(share) > 0)


def test_ties_concern_the_asked_share_of_runs_and_no_other() -> None:
    collection = variant(ties=0.5, length=300, short=0)
    tied = 0
    for run in collection.runs:
        per_topic = np.split(run.scores.astype(np.float32), run.starts[1:-1])
        distinct = [len(np.unique(scores)) == len(scores) for scores in per_topic]
        tied += not all(distinct)
    assert tied == len(collection.runs) // 2


def test_scores_never_rise_down_a_run_and_are_short_decimals(small: Collection) -> None:
    for run in small.runs:
        for scores in np.split(run.scores, run.starts[1:-1]):
            assert np.all(np.diff(scores) <= 0)
        assert all(len(repr(score).partition(".")[2]) <= 4 for score in run.scores.tolist())


def test_a_share_of_the_runs_is_short(small: Collection) -> None:
    usual_length = [run.sizes.min() == run.sizes.max() == SMALL["length"] for run in small.runs]
    assert usual_length.count(False) == round(SMALL["short"] * len(small.runs))
    assert (
        max(run.sizes.max() for run, whole in zip(small.runs, usual_length, strict=True) if not whole) <= 12
    )


def test_the_first_runs_of_contributing_groups_are_pooled_and_no_others(small: Collection) -> None:
    contributing = {info.group for info in small.info if info.pooled}
    assert len(contributing) == SMALL["contributors"]
    for info in small.info:
        assert info.pooled == (info.group in contributing and info.priority <= 2)
    for group in {info.group for info in small.info}:
        assert sorted(info.priority for info in small.info if info.group == group) == [1, 2, 3]


def test_runs_information_and_qualities_name_the_same_runs(small: Collection) -> None:
    names = [run.name for run in small.runs]
    assert names == [info.run for info in small.info] == list(small.quality)
    assert len(set(names)) == len(names) == 18
    assert sum(info.kind == "manual" for info in small.info) == 2 * 3


def test_many_groups_still_have_names_of_their_own() -> None:
    collection = variant(groups=90, systems=1, topics=1)
    assert len({info.group for info in collection.info}) == 90


def test_document_ids_have_unequal_lengths_and_no_blanks(small: Collection) -> None:
    ids = set(small.truth.docs.texts())
    assert len({len(doc) for doc in ids}) > 3
    assert not any(set(doc) & set(" \t\n#") for doc in ids)


def test_document_ids_tell_neither_relevance_nor_rank(usual: Collection) -> None:
    everything = np.array(usual.truth.docs.texts())
    place = np.unique(everything, return_inverse=True)[1]
    relevant = usual.truth.grades > 0
    assert abs(np.mean(place[relevant]) / np.mean(place) - 1) < 0.03
    assert abs(np.corrcoef(place, usual.truth.pool_ranks)[0, 1]) < 0.01
    length = np.strings.str_len(everything)
    assert abs(np.mean(length[relevant]) - np.mean(length)) < 0.05


def test_a_run_may_retrieve_all_documents() -> None:
    collection = variant(length=300, short=0)
    assert all(set(run.sizes.tolist()) == {300} for run in collection.runs)


def test_the_smallest_collection_has_one_of_each() -> None:
    collection = simulate_collection(topics=1, groups=1, systems=1, documents=1, length=1, seed=0)
    assert grades(collection.qrels) == grades(collection.truth)
    assert collection.qrels.grades.tolist() == [1]


def test_the_default_pool_leaves_a_fifth_of_the_groups_out(usual: Collection) -> None:
    assert len({info.group for info in usual.info if info.pooled}) == 16
    assert len({info.group for info in usual.info}) == 20


def test_every_choice_is_a_parameter() -> None:
    assert set(Choices.__annotations__) == {field.name for field in fields(Parameters)}


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"topics": 0}, "^topics is 0; give a whole number from 1$"),
        ({"groups": -1}, "^groups is -1; give a whole number from 1$"),
        ({"systems": 2.5}, "^systems is 2.5; give a whole number from 1$"),
        ({"documents": 0}, "^documents is 0; give a whole number from 1$"),
        ({"grades": 0}, "^grades is 0; give a whole number from 1$"),
        ({"length": 0}, "^length is 0; give a whole number from 1$"),
        ({"pool_depth": True}, "^pool_depth is True; give a whole number from 1$"),
        ({"pooled_runs": 0}, "^pooled_runs is 0; give a whole number from 1$"),
        ({"seed": -1}, "^seed is -1; give a whole number from 0$"),
        ({"short": 1.01}, "^short is 1.01; give a share from 0 to 1$"),
        ({"ties": -0.1}, "^ties is -0.1; give a share from 0 to 1$"),
        ({"manual": float("nan")}, "^manual is nan; give a share from 0 to 1$"),
        ({"prevalence": 0}, "^prevalence is 0; give a share above 0 and below 1$"),
        ({"prevalence": 1.0}, "^prevalence is 1.0; give a share above 0 and below 1$"),
        ({"length": 200, "documents": 100}, "^length is 200 and a topic has 100 documents; give a length up"),
        ({"contributors": 0}, "^contributors is 0; give a whole number from 1 to 20, the number of groups$"),
        ({"contributors": 21}, "^contributors is 21; give a whole number from 1 to 20"),
        ({"contributors": 1.5}, "^contributors is 1.5; give a whole number from 1 to 20"),
    ],
)  # fmt: skip
def test_a_choice_out_of_range_is_refused_in_one_line(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message) as caught:
        simulate_collection(**choices)
    assert "\n" not in str(caught.value)
