"""What was judged of runs, by hand and against the measures of assessment."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau
from tests.audit.random_runs import trial
from tests.audit.test_unique import holders

from sounding.audit.coverage import coverage, deeper_pool, growth_by_depth, pool_outcomes
from sounding.audit.judged_runs import read_judged_runs
from sounding.audit.leave_out import By
from sounding.audit.pseudo import assessed_at, assessment, reinforcement
from sounding.core.errors import DataError
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.runs.pool import cut_pool, depth_by_topic, judged_shares
from sounding.runs.ranking import Values


@pytest.mark.parametrize("seed", range(3))
def test_counts_and_shares_are_those_of_the_assessment_measures(seed: int) -> None:
    made = trial(seed)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = coverage(runs)
    names = [
        "NumRelRet",
        "NumJudgedRet",
        "NumUnjudgedRet",
        "NumRelNotRet",
        "NumNonrelNotRet",
        "FirstUnjudged",
    ]
    expected = evaluate(made.qrels, made.runs, names)
    total = expected.mean()
    assert found.relevant.tolist() == total[:, 0].tolist()
    assert (found.relevant + found.nonrelevant).tolist() == total[:, 1].tolist()
    assert found.unjudged.tolist() == total[:, 2].tolist()
    assert found.relevant_missed.tolist() == total[:, 3].tolist()
    assert found.nonrelevant_missed.tolist() == total[:, 4].tolist()
    np.testing.assert_array_equal(found.first_unjudged, expected.values[:, 5])
    for depth in (1, 5, 12):
        shares = evaluate(made.qrels, made.runs, [f"Judged@{depth}"]).judged_share()[:, 0]
        np.testing.assert_allclose(found.judged_share[:, depth - 1], shares, rtol=1e-12)
    frame = found.frame
    assert (frame["relevant"] + frame["nonrelevant"] + frame["unjudged"]).to_list() == pytest.approx(
        [1.0] * 6
    )


def test_judged_shares_by_hand() -> None:
    # Topic 1: judged, not, judged: 1/1, 1/2, 2/3. Topic 2 ends after one judged document: 1 all the way.
    judged = np.array([[True, False, True], [True, False, False], [False, False, False]])
    listed = np.array([[True, True, True], [True, False, False], [False, False, False]])
    assert judged_shares(judged, listed).tolist() == pytest.approx([1, 0.75, 5 / 6])
    assert np.isnan(judged_shares(judged[2:], listed[2:])).all()


@pytest.mark.parametrize("seed", range(3))
def test_relevant_documents_in_and_past_the_depth_sum_to_those_of_the_pool(seed: int) -> None:
    made = trial(seed)
    for topic, judged in made.judged.items():  # judged by luck: only a run that was not pooled has it
        own = [doc for doc in made.order("run5", topic) if doc not in judged]
        judged.update(dict.fromkeys(own[-1:], 1))
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = pool_outcomes(runs, (1, 2, 3))
    np.testing.assert_allclose(found.in_pool[:, 0] + found.past[:, 0], found.relevant, rtol=1e-12)
    for place, depth in enumerate(found.depths):
        cut = cut_pool(made.qrels, runs.retrieved.pick(runs.contributing), depth)
        pooled = [made.runs[number] for number in runs.contributing.nonzero()[0]]
        scores = evaluate(cut, pooled, ["NumRel", "FirstUnjudged"])
        found_by = [
            sum(made.judged[topic].get(doc, 0) >= 1 for doc in made.order(run.name, topic)[:depth])
            for run in pooled
            for topic in scores.topics
        ]
        assert found.relevant[place] == pytest.approx(scores.values[0, 0].mean())
        assert found.in_pool[place] == pytest.approx([np.mean(found_by), np.std(found_by, ddof=1)])
        past = np.tile(scores.values[0, 0], len(pooled)) - found_by
        assert found.past[place] == pytest.approx([past.mean(), past.std(ddof=1)])
        first = scores.values[:, 1].ravel()
        first = first[~np.isnan(first)]
        assert found.first_unjudged[place] == pytest.approx([first.mean(), first.std(ddof=1)])
    assert found.frame["depth"].to_list() == [1, 2, 3]


def test_depth_of_a_topic_is_where_the_first_contributing_run_meets_an_unjudged_document() -> None:
    made = trial(0)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    expected = []
    for topic in runs.topics:
        firsts = []
        for run, row in made.info.items():
            unjudged = [n for n, doc in enumerate(made.order(run, topic)) if doc not in made.judged[topic]]
            firsts += unjudged[:1] if row.pooled else []
        expected.append(float(min(firsts)))
    pooled, judged = depth_by_topic(runs.pool, runs.retrieved, runs.grades())
    assert judged.tolist() == expected
    assert pooled.tolist() == expected
    assert min(expected) >= 3


def test_a_topic_with_a_shallower_pool_is_told_from_one_with_a_hole() -> None:
    ranked = {f"{n}": float(-n) for n in range(60)}
    names = [f"r{n}" for n in range(6)]
    topics = [f"{n}" for n in range(24)]
    runs = [
        Run.from_dict(
            {topic: {f"{name}-{doc}": score for doc, score in ranked.items()} for topic in topics}, name=name
        )
        for name in names
    ]
    judged = {
        topic: {f"{name}-{doc}": 1 for name in names for doc in range(15 if topic == "3" else 40)}
        for topic in topics
    }
    del judged["7"]["r2-4"], judged["8"]["r1-39"]  # one hole high up, one at the very end
    info = {name: RunInfo(run=name, group=name, kind="automatic", priority=1, pooled=True) for name in names}
    found = read_judged_runs(Qrels.from_dict(judged), runs, info=info)
    assert (found.pool.depth, found.pool.judged, found.pool.holed) == (40, 4, 8)
    pooled, strict = depth_by_topic(found.pool, found.retrieved, found.grades())
    order = list(found.topics)
    assert [pooled[order.index(topic)] for topic in ("3", "7", "8", "0")] == [15, 40, 40, 40]
    assert [strict[order.index(topic)] for topic in ("3", "7", "8", "0")] == [15, 4, 39, 40]
    assert len(found.holes()) == 6 * 25 + 2


def test_short_runs_have_less_than_half_of_the_usual_documents() -> None:
    made = trial(0, runs=4, topics=2)
    for number, size in enumerate((10, 10, 6, 4)):
        made.ranked[f"run{number}"] = {
            topic: {f"d{doc}": float(-doc) for doc in range(size)} for topic in made.judged
        }
    found = coverage(read_judged_runs(made.qrels, made.runs, info=made.info))
    assert found.lengths.tolist() == [10, 10, 6, 4]
    assert found.short.tolist() == [False, False, False, False]  # half of the median, 8, is 4
    made.ranked["run3"]["9"].popitem()
    assert coverage(read_judged_runs(made.qrels, made.runs, info=made.info)).short[3]


def test_growth_goes_to_the_depth_of_the_pool_also_where_its_last_ranks_brought_nothing_new() -> None:
    made = trial(1, runs=3, topics=2)
    orders = ("d0", "d1", "d2", "d3", "d4", "x"), ("d4", "d3", "d2", "d1", "d0", "x")  # x is not judged
    for run, order in zip(("run0", "run1"), orders, strict=True):
        made.ranked[run] = {topic: {doc: float(-n) for n, doc in enumerate(order)} for topic in made.judged}
    made.judged.update({topic: {f"d{n}": 1 for n in range(3)} for topic in made.judged})
    for topic in made.judged:
        made.judged[topic] |= {"d3": 0, "d4": 0}
    found = growth_by_depth(read_judged_runs(made.qrels, made.runs, info=made.info))
    assert found.depth == 5
    assert found.relevant.tolist() == [[1, 1, 1, 0, 0]] * 2
    shallow = growth_by_depth(read_judged_runs(made.qrels, made.runs, info=made.info, pool_depth=2))
    assert shallow.relevant.tolist() == [[1, 1]] * 2


def test_growth_counts_documents_at_the_best_rank_of_a_contributing_run() -> None:
    made = trial(1)
    found = growth_by_depth(read_judged_runs(made.qrels, made.runs, info=made.info))
    expected = np.zeros((len(made.judged), 3), np.int64)
    for row, topic in enumerate(found.topics):
        for doc, grade in made.judged[topic].items():
            ranks = [
                made.order(run, topic).index(doc) + 1
                for run, info in made.info.items()
                if info.pooled and doc in made.order(run, topic)[:3]
            ]
            if ranks and grade >= 1:
                expected[row, min(ranks) - 1] += 1
    assert found.relevant.tolist() == expected.tolist()
    assert found.elsewhere == len(made.judged)  # `unseen` of every topic
    assert found.second_half().tolist() == expected[:, 2:].sum(axis=1).tolist()
    frame = found.frame
    assert frame["relevant"].to_list() == pytest.approx((np.cumsum(expected.sum(axis=0)) / 4).tolist())
    judged = found.judged.sum(axis=0)
    assert frame["share_relevant"].to_list() == pytest.approx((expected.sum(axis=0) / judged).tolist())


def test_reinforcement_is_the_share_of_documents_that_another_run_or_another_group_pooled() -> None:
    made = trial(2)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = reinforcement(runs)
    ways: list[tuple[By, Values]] = [("run", found.overlap), ("group", found.group_overlap)]
    for by, overlap in ways:
        for row, run in enumerate(found.runs):
            shares = []
            for topic in made.judged:
                own = made.order(run, topic)[:3]
                if own:
                    shares.append(np.mean([len(holders(made, by, topic, doc)) > 1 for doc in own]))
            assert overlap[row] == pytest.approx(np.mean(shares))
    assert (found.overlap > found.group_overlap).any()  # two runs of a group share documents
    assert found.tau == pytest.approx(kendalltau(found.overlap, found.assessment).statistic)
    assert found.group_tau == pytest.approx(kendalltau(found.group_overlap, found.assessment).statistic)
    assert found.frame.columns == ["run", "kind", "overlap", "group_overlap", "assessment"]
    assert found.k == assessed_at(runs) == 12
    expected = evaluate(made.qrels, made.runs, ["A_p@12"]).mean()[:, 0]
    np.testing.assert_allclose(assessment(runs), expected, rtol=1e-12)
    assert found.assessment.tolist() == assessment(runs)[:5].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_a_deeper_pool_is_counted_by_hand_run_by_run(seed: int) -> None:
    made = trial(seed, depth=6)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    pooled = [run for run, row in made.info.items() if row.pooled]
    first = {topic: {doc for run in pooled for doc in made.order(run, topic)[:2]} for topic in made.judged}
    found = deeper_pool(runs, 2)
    assert (found.first, found.depth, found.runs) == (2, 6, tuple(pooled))
    seen: dict[str, set[str]] = {topic: set() for topic in made.judged}
    for run, documents, judged, relevant in zip(
        found.runs, found.documents, found.judged, found.relevant, strict=True
    ):
        new = [
            (topic, doc)
            for topic in made.judged
            for doc in made.order(run, topic)[2:6]
            if doc not in first[topic]
        ]
        grades = [made.judged[topic].get(doc) for topic, doc in new]
        assert documents == judged == len(new)  # the pool was judged completely
        assert relevant == sum(bool(grade) for grade in grades)
        for (topic, doc), grade in zip(new, grades, strict=True):
            seen[topic] |= {doc} if grade else set()
    assert found.new.tolist() == [len(seen[topic]) for topic in runs.topics]
    known = [sum(made.judged[topic][doc] > 0 for doc in first[topic]) for topic in runs.topics]
    assert found.known.tolist() == known
    assert found.tau == pytest.approx(kendalltau(known, found.new).statistic, nan_ok=True)


def test_a_deeper_pool_begins_at_half_of_its_depth_and_not_below_its_end() -> None:
    made = trial(0, depth=5)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    assert deeper_pool(runs).first == 3
    for depth in (0, 5):
        with pytest.raises(DataError, match="give a depth from 1 to 4"):
            deeper_pool(runs, depth)
