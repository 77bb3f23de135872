"""Which runs contributed, how deep the pool is, and which of Lu's scenarios a pair is in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pytest
from numpy.typing import ArrayLike

from sounding.compare.comparison import compare
from sounding.core.errors import DataError
from sounding.data.run_info import RunInfo
from sounding.runs.pool import JudgedDepths, Pool, find_pool, pool_end, scenarios
from sounding.sample.simulation import sample

NAMES = [("a", "tag-a"), ("b", "tag-b"), ("c", "tag-c")]
INF = np.inf


def pool_behind(
    ends: ArrayLike,
    names: Sequence[Sequence[str]],
    info: Mapping[str, RunInfo] | None = None,
    *,
    lengths: ArrayLike = 200,
    holes: Iterable[tuple[int, int, int]] = (),
) -> Pool:
    """The pool behind lists that are judged down to `ends`, (run, topic), but for holes: run, topic, rank."""
    judged_to = np.asarray(ends, np.float64)
    long = np.broadcast_to(np.asarray(lengths), judged_to.shape)
    ranks = np.arange(1, int(long.max()) + 1)
    flags = ranks <= np.minimum(judged_to, long)[..., np.newaxis]
    for run, topic, rank in holes:
        flags[run, topic, rank - 1] = False
    unjudged = ~flags & (ranks <= long[..., np.newaxis])
    first = np.where(unjudged.any(axis=2), unjudged.argmax(axis=2) + 1.0, np.nan)
    runs, tags = [own[0] for own in names], [own[-1] for own in names]
    return find_pool(JudgedDepths(runs, tags, first, flags.sum(axis=1), long.astype(np.int64)), info)


ENDS = np.array([[100, 139], [100, INF], [11, 2]])  # the rank above each list's first unjudged document


def listed(**pooled: bool) -> dict[str, RunInfo]:
    return {
        name: RunInfo(run=name, group="g", kind="automatic", priority=1, pooled=own)
        for name, own in pooled.items()
    }


def everybody(names: Sequence[Sequence[str]]) -> dict[str, RunInfo]:
    return listed(**{own[0]: True for own in names})


def test_the_pool_is_as_deep_as_every_contributing_run_is_judged() -> None:
    pool = pool_behind(ENDS, NAMES, listed(a=True, b=True, c=False))
    assert (pool.contributing.tolist(), pool.depth, pool.guessed) == ([True, True, False], 100, False)
    assert pool_behind(ENDS, NAMES, listed(a=True, b=True, c=True)).depth == 2


def test_a_run_is_listed_by_its_name_or_its_tag_and_otherwise_did_not_contribute() -> None:
    info = listed(b=True) | {"tag-a": listed(x=True)["x"]}
    assert pool_behind(ENDS, NAMES, info).contributing.tolist() == [True, True, False]


def test_a_list_of_other_runs_is_refused() -> None:
    with pytest.raises(DataError, match="none of the 3 runs; expected names such as 'a', found 'z'"):
        pool_behind(ENDS, NAMES, listed(z=True))


def test_without_a_list_the_depth_that_most_runs_share_is_the_pools() -> None:
    pool = pool_behind(np.array([[100], [100], [129], [30], [11], [INF]]), [(name,) for name in "abcdef"])
    assert pool.contributing.tolist() == [True, True, True, False, False, True]
    assert (pool.depth, pool.guessed) == (100, True)


def test_the_end_of_a_pool_is_told_by_lists_and_not_by_runs() -> None:
    """Three runs pooled to 20 whose luck differs behind it; of two of them nine topics of ten reach 22."""
    ends = np.full((4, 20), 20)
    ends[0, 6:] = [22, 23, 29, 25, 26, 34, 28, 27, 32, 30, 24, 21, 39, 36]
    ends[1:3, :18] = np.arange(22, 40)
    ends[3] = np.arange(20)
    pool = pool_behind(ends, [(name,) for name in "abcd"])
    assert pool.contributing.tolist() == [True, True, True, False]
    assert pool.depth == 20


def test_without_a_list_and_without_agreement_ten_judged_documents_are_enough() -> None:
    pool = pool_behind([[30], [11], [9]], NAMES)
    assert (pool.contributing.tolist(), pool.depth) == ([True, True, False], 11)


def test_no_pool_is_recognized_where_no_run_has_ten_judged_documents() -> None:
    pool = pool_behind([[2], [2]], NAMES[:2])
    assert (pool.contributing.any(), pool.depth) == (np.False_, 0)
    assert pool.describe().startswith("No pool was recognized")


def test_where_everything_is_judged_the_pool_has_no_end_within_the_lists() -> None:
    pool = pool_behind([[INF], [INF]], NAMES[:2], lengths=[[20], [4]])
    assert (pool.contributing.tolist(), pool.depth, pool.judged) == ([True, True], 20, 20)


def test_topics_that_no_run_has_tell_nothing() -> None:
    ends = np.full((2, 10), 30.0)
    lengths = np.full((2, 10), 60)
    known = pool_behind(ends, NAMES[:2], lengths=lengths)
    wider = pool_behind(
        np.hstack([ends, np.full((2, 90), INF)]), NAMES[:2],
        lengths=np.hstack([lengths, np.zeros((2, 90), np.int64)]),
    )  # fmt: skip
    assert (wider.depth, wider.lists, wider.contributing.tolist()) == (30, 20, [True, True])
    assert (known.depth, known.lists) == (30, 20)


def pooled_lists(depth: int, *, runs: int = 20, topics: int = 12, seed: int = 0) -> np.ndarray:
    """Where lists that were pooled to a depth stop being judged: behind it one in four does at each rank."""
    rng = np.random.default_rng(seed)
    return depth + rng.geometric(0.25, (runs, topics)) - 1


@pytest.mark.parametrize("depth", [12, 30, 100])
@pytest.mark.parametrize("guessed", [False, True])
def test_a_lost_judgment_leaves_the_depth_of_the_pool_and_is_counted(depth: int, guessed: bool) -> None:
    ends = pooled_lists(depth)
    names = [(f"r{place}",) for place in range(20)]
    info = None if guessed else everybody(names)
    whole = pool_behind(ends, names, info)
    assert (whole.depth, whole.judged, whole.holed) == (depth, depth, 0)
    lost = [(run, 5, min(run + 1, depth)) for run in range(14)]  # one document, which most runs found early
    holed = pool_behind(ends, names, info, holes=lost)
    assert (holed.depth, holed.judged) == (depth, 0)
    assert (holed.holed, holed.lists) == (14, 240)
    assert holed.contributing.all()
    assert (
        f"it is {depth} deep, with holes: 14 of 240 lists have an unjudged document within that depth, the"
        " first at rank 1"
    ) in holed.describe()


@pytest.mark.parametrize("rate", [0.005, 0.01, 0.02, 0.03])
def test_holes_in_most_lists_leave_a_deep_pool_its_depth(rate: float) -> None:
    """Where one judgment in a hundred is lost, most lists have a hole; the pool is no shallower."""
    names = [(f"r{place}",) for place in range(20)]
    lost = np.argwhere(np.random.default_rng(7).random((20, 12, 100)) < rate)
    holes = [(run, topic, place + 1) for run, topic, place in lost.tolist()]
    pool = pool_behind(pooled_lists(100), names, everybody(names), holes=holes)
    assert pool.depth == 100
    assert 0.3 < pool.holed / pool.lists < 1


def test_lists_that_end_early_are_no_holes_where_they_are_many() -> None:
    assert pool_behind([[10], [100]], NAMES[:2], listed(a=True, b=True)).depth == 10
    ends = pooled_lists(50)
    ends[:, :4] = pooled_lists(20, topics=4)  # a third of the topics has a shallower pool
    names = [(f"r{place}",) for place in range(20)]
    assert pool_behind(ends, names, everybody(names)).depth == 20


@pytest.mark.parametrize("seed", range(20))
def test_the_end_of_a_pool_is_the_depth_of_the_largest_balance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    judged, unjudged = rng.integers(0, 60, 12), rng.integers(0, 4, 12)
    balance = [sum(0.05 * judged[:d]) - sum(0.95 * unjudged[:d]) for d in range(1, 13)]
    best = max(balance)
    expected = max(d for d in range(1, 13) if balance[d - 1] >= best - 1e-9) if best >= 0 else 0
    assert pool_end(judged, unjudged) == expected
    assert pool_end(judged[:0], unjudged[:0]) == 0


def test_lists_that_are_judged_to_their_ends_show_a_hole_all_the_same() -> None:
    names = [(name,) for name in "abcdefgh"]
    pool = pool_behind(np.full((8, 5), INF), names, everybody(names), lengths=30, holes=[(2, 3, 4)])
    assert (pool.depth, pool.judged, pool.holed) == (30, 3, 1)


def test_the_three_scenarios() -> None:
    pool = pool_behind(ENDS, NAMES, listed(a=True, b=True, c=False))
    pairs = np.array([[0, 1], [0, 2], [2, 1]])
    assert scenarios(pool, pairs, 100).tolist() == [1, 3, 3]
    assert scenarios(pool, pairs, 101).tolist() == [2, 3, 3]


def test_the_pool_of_a_simulated_collection_is_found_with_and_without_its_list() -> None:
    collection = sample(topics=30, groups=5, systems=2, pool_depth=20, pooled_runs=1, seed=2)
    info = {row.run: row for row in collection.info}
    told = compare(collection.qrels, collection.runs, ["P@5"], info=info).pool
    guessed = compare(collection.qrels, collection.runs, ["P@5"]).pool
    assert told is not None
    assert guessed is not None
    assert told.depth == guessed.depth == 20
    assert told.contributing.tolist() == [row.pooled for row in collection.info]
    assert guessed.contributing[told.contributing].all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [10, 30])
def test_contributors_of_simulated_pools_are_guessed_right(depth: int, seed: int) -> None:
    collection = sample(topics=12, groups=5, systems=2, documents=400, length=60, pool_depth=depth, seed=seed)
    pool = compare(collection.qrels, collection.runs, ["P@5"]).pool
    assert pool is not None
    assert pool.depth == depth
    assert pool.contributing.tolist() == [row.pooled for row in collection.info]


def test_one_run_or_runs_with_short_lists_show_no_pool() -> None:
    assert not pool_behind([[30, 30], [2, 2], [1, 1]], NAMES).contributing.any()
    short = pool_behind([[INF, INF], [INF, INF], [1.0, 1.0]], NAMES, lengths=[[10, 10], [10, 10], [200, 200]])
    assert (short.contributing.any(), short.depth) == (np.False_, 0)
    assert pool_behind([[30, 30], [30, 30], [1, 1]], NAMES).depth == 30
