"""What a pool will cost and leave open, against a plain count and against the evaluation itself."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.pools import draw_lists, pool_of

from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels
from sounding.evaluate.evaluation import evaluate
from sounding.pool.contributors import choose_contributors
from sounding.pool.foresight import Foresight, foresee
from sounding.runs.retrieved import NONE, Retrieved, read_retrieved
from sounding.sample.simulation import sample

COLLECTION = sample(
    topics=5, groups=5, systems=2, documents=400, length=80, pool_depth=10, contributors=3, seed=6, short=0.2
)
INFO = {row.run: row for row in COLLECTION.info}
RETRIEVED = read_retrieved(COLLECTION.runs)
CONTRIBUTORS = choose_contributors(RETRIEVED, INFO)


def found(depth: int = 10, p: float = 0.8) -> Foresight:
    return foresee(RETRIEVED, CONTRIBUTORS, depth, p=p)


def pooled(depth: int) -> Qrels:
    """Judgments that hold exactly the pool of that depth."""
    pool = CONTRIBUTORS.pool(RETRIEVED, depth)
    inside = pool.best_ranks().nonzero()[0]
    topics = [pool.topics[topic] for topic in pool.topic[inside].tolist()]
    return Qrels.from_columns(topics, pool.docs[inside].texts(), [1] * len(inside))


def test_the_pool_is_as_large_as_the_judgments_of_the_collection() -> None:
    assert found().documents_at(10) == len(COLLECTION.qrels.docs)
    assert found().documents_at(0) == 0
    assert found().topics == 5


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), depth=st.integers(1, 9))
def test_sizes_groups_and_overlap_are_plain_counts(seed: int, depth: int) -> None:
    lists = draw_lists(seed)
    retrieved = pool_of(lists)
    runs = len(retrieved.runs)
    info = {
        f"run{number}": RunInfo(
            run=f"run{number}", group=f"g{number // 2}", kind="", priority=1, pooled=number != 3
        )
        for number in range(runs)
    }
    contributors = choose_contributors(retrieved, info)
    ahead = foresee(retrieved, contributors, depth)
    own = [number for number in range(runs) if number != 3]

    def pool(deep: int, chosen: list[int]) -> set[str]:
        return {f"{t} {doc}" for t, rows in lists.items() for run in chosen for doc in rows[run][:deep]}

    longest = max(len(rows[run]) for rows in lists.values() for run in range(runs))
    assert ahead.depth == min(depth, longest)
    for deep in range(1, ahead.depth + 1):
        assert ahead.documents_at(deep) == len(pool(deep, own))
    for group, (documents, alone) in ahead.group_documents.items():
        mine = [run for run in own if f"g{run // 2}" == group]
        others = [run for run in own if run not in mine]
        assert documents == len(pool(depth, mine))
        assert alone == len(pool(depth, mine) - pool(depth, others))
    for one, first in enumerate(own):
        for two, second in enumerate(own):
            least = sum(min(len(rows[first][:depth]), len(rows[second][:depth])) for rows in lists.values())
            both = len(pool(depth, [first]) & pool(depth, [second]))
            share = both / least if least else math.nan
            assert ahead.overlap[one, two] == pytest.approx(share, nan_ok=True)
    for run in range(runs):
        assert ahead.to_add[run] == len(pool(depth, [run]) - pool(depth, own))


@pytest.mark.parametrize("k", [5, 10, 20, 80])
def test_coverage_is_the_judged_share_of_what_was_retrieved(k: int) -> None:
    ours = found(7).share_at(k)
    inside = np.append(CONTRIBUTORS.pool(RETRIEVED, 7).best_ranks() > 0, False)
    lists = RETRIEVED.lists[:, :, :k]
    share = np.count_nonzero(inside[lists], axis=2) / np.count_nonzero(lists != NONE, axis=2)
    np.testing.assert_allclose(ours, share.mean(axis=1))
    assert (found(7).share_at(5)[CONTRIBUTORS.contributing] == 1).all()


@pytest.mark.parametrize("depth", [1, 3, 10, 80])
@pytest.mark.parametrize("p", [0.5, 0.95])
def test_residuals_are_those_of_the_evaluation_with_the_pool_judged(depth: int, p: float) -> None:
    scores = evaluate(pooled(depth), COLLECTION.runs, [f"RBP(p={p})"])
    assert scores.runs == RETRIEVED.runs
    # With every judged document relevant RBP is what is known, and the rest is the residual.
    np.testing.assert_allclose(found(p=p).residuals[:, depth], 1 - scores.mean()[:, 0], atol=1e-12)


def test_the_depth_for_a_residual_is_the_least_that_is_enough() -> None:
    ahead = found()
    means = ahead.residuals.mean(axis=0)
    assert means[0] == 1
    assert (np.diff(means) <= 1e-15).all()
    depth = ahead.depth_for_residual(0.2)
    assert depth is not None
    assert means[depth] <= 0.2 < means[depth - 1]
    assert ahead.depth_for_residual(1.0) == 0
    assert ahead.depth_for_residual(means[-1] / 2) is None


def test_the_share_of_the_most_is_of_depth_runs_and_topics() -> None:
    runs = int(CONTRIBUTORS.contributing.sum())
    assert found().share_of_most(10) == pytest.approx(len(COLLECTION.qrels.docs) / (10 * runs * 5))


def strange() -> Retrieved:
    return read_retrieved(
        {
            "usual": {"1": {f"d{n:02}": -n for n in range(20)}},
            "like it": {"1": {f"d{n:02}": -n for n in range(20)}},
            "odd": {"1": {f"o{n:02}": -n for n in range(20)} | {"d00": 1.0, "d01": 1.0}},
        }
    )


def test_poorly_covered_runs_are_named_with_what_would_cover_them() -> None:
    listed = {
        run: RunInfo(run=run, group=group, kind="", priority=1, pooled=pooled)
        for run, group, pooled in (("usual", "a", True), ("like it", "a", True), ("odd", "b", False))
    }
    retrieved = strange()
    ahead = foresee(retrieved, choose_contributors(retrieved, listed), 15)
    assert [retrieved.runs[run] for run in ahead.poor.tolist()] == ["odd"]
    assert ahead.share_at(10)[2] == 0.2
    assert ahead.to_cover == (13, 8)  # 15 and 10 documents, two of which the others have
    assert ahead.pair_overlap()[0] == 1
    assert math.isnan(ahead.pair_overlap()[1])
    shallow = foresee(retrieved, choose_contributors(retrieved, listed), 3)
    # Of the first ten of odd, the pool of depth 3 (d00 to d02) lacks eight; usual and like it lack d03 to d09.
    assert shallow.to_cover == (1, 8 + 7)


def test_what_is_judged_already_is_counted_by_depth() -> None:
    retrieved = strange()
    known = np.array([text in ("d00", "d04", "o00") for text in retrieved.docs.texts()])
    ahead = foresee(retrieved, choose_contributors(retrieved), 10, judged=known)
    # d00 and o00 come at ranks 1 and 3 of their runs, d04 at rank 5.
    assert [ahead.judged_at(depth) for depth in (1, 2, 3, 4, 5, 10)] == [1, 1, 2, 2, 3, 3]
    assert foresee(retrieved, choose_contributors(retrieved), 10).judged_at(5) is None


def test_overlap_of_groups_is_a_share_of_what_the_first_brings() -> None:
    retrieved = strange()
    listed = {
        run: RunInfo(run=run, group=group, kind="", priority=1, pooled=True)
        for run, group in (("usual", "a"), ("like it", "a"), ("odd", "b"))
    }
    ahead = foresee(retrieved, choose_contributors(retrieved, listed), 5)
    # a brings d00 to d04; b brings d01, d00, o00, o01, o02.
    np.testing.assert_allclose(ahead.group_overlap, [[1, 0.4], [0.4, 1]])
    deeper = foresee(retrieved, choose_contributors(retrieved, listed), 22)
    np.testing.assert_allclose(deeper.group_overlap, [[1, 2 / 20], [2 / 22, 1]])


def test_a_share_of_exactly_80_percent_is_not_poor() -> None:
    """The mean of 1, .7 and .7 comes out a little below .8."""
    own = {f"d{n}": -n for n in range(10)}
    topics = {str(topic): lacking for topic, lacking in enumerate([0, 3, 3])}
    retrieved = read_retrieved(
        {
            "pooled": dict.fromkeys(topics, own),
            "new": {
                t: {f"{'n' if n < lacking else 'd'}{n}": -n for n in range(10)}
                for t, lacking in topics.items()
            },
        }
    )
    listed = {
        run: RunInfo(run=run, group=run, kind="", priority=1, pooled=run == "pooled")
        for run in retrieved.runs
    }
    ahead = foresee(retrieved, choose_contributors(retrieved, listed), 10)
    assert ahead.share_at(10)[1] == pytest.approx(0.8)
    assert len(ahead.poor) == 0


def test_overlap_is_told_apart_by_group() -> None:
    retrieved = strange()
    ahead = foresee(retrieved, choose_contributors(retrieved), 10)
    within, between = ahead.pair_overlap()
    assert math.isnan(within)
    assert between == 0.2  # of 1.0, 0.2 and 0.2
    assert len(ahead.poor) == 0


def test_a_pool_is_no_deeper_than_the_longest_list() -> None:
    ahead = foresee(RETRIEVED, CONTRIBUTORS, 500)
    assert ahead.depth == 80
    assert ahead.documents_at(80) == foresee(RETRIEVED, CONTRIBUTORS, 80).documents_at(80)
