"""Which runs contributed, how deep the pool is, and which of Lu's scenarios a pair is in."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.compare.runs import compare_runs
from sounding.compare.scenarios import find_pool, pool_end, scenarios
from sounding.data.simulation import RunInfo, simulate_collection
from sounding.errors import DataError

NAN = np.nan
NAMES = [("a", "tag-a"), ("b", "tag-b"), ("c", "tag-c")]
FIRST = np.array([[101.0, 140.0], [101.0, NAN], [12.0, 3.0]])  # rank of the first unjudged document


def listed(**pooled: bool) -> dict[str, RunInfo]:
    return {
        name: RunInfo(run=name, group="g", kind="automatic", priority=1, pooled=own)
        for name, own in pooled.items()
    }


def test_the_pool_is_as_deep_as_every_contributing_run_is_judged() -> None:
    pool = find_pool(FIRST, NAMES, listed(a=True, b=True, c=False))
    assert (pool.contributing.tolist(), pool.depth, pool.guessed) == ([True, True, False], 100, False)
    assert find_pool(FIRST, NAMES, listed(a=True, b=True, c=True)).depth == 2


def test_a_run_is_listed_by_its_name_or_its_tag_and_otherwise_did_not_contribute() -> None:
    info = listed(b=True) | {"tag-a": listed(x=True)["x"]}
    assert find_pool(FIRST, NAMES, info).contributing.tolist() == [True, True, False]


def test_a_list_of_other_runs_is_refused() -> None:
    with pytest.raises(
        DataError, match="none of the 3 runs is listed; expected names such as 'a', found 'z'"
    ):
        find_pool(FIRST, NAMES, listed(z=True))


def test_without_a_list_the_depth_that_most_runs_share_is_the_pools() -> None:
    first = np.array([[101.0], [101.0], [130.0], [31.0], [12.0], [NAN]])
    pool = find_pool(first, [(name,) for name in "abcdef"])
    assert pool.contributing.tolist() == [True, True, True, False, False, True]
    assert (pool.depth, pool.guessed) == (100, True)


def test_the_end_of_a_pool_is_told_by_lists_and_not_by_runs() -> None:
    """Three runs pooled to 20 whose luck differs behind it; of two of them nine topics of ten reach 22."""
    first = np.full((4, 20), 21.0)
    first[0, 6:] = [23, 24, 30, 26, 27, 35, 29, 28, 33, 31, 25, 22, 40, 37]
    first[1:3, :18] = np.arange(23, 41)
    first[3] = np.arange(1, 21)
    pool = find_pool(first, [(name,) for name in "abcd"])
    assert pool.contributing.tolist() == [True, True, True, False]
    assert pool.depth == 20


def test_without_a_list_and_without_agreement_ten_judged_documents_are_enough() -> None:
    pool = find_pool(np.array([[31.0], [12.0], [10.0]]), NAMES)
    assert (pool.contributing.tolist(), pool.depth) == ([True, True, False], 11)


def test_no_pool_is_recognised_where_no_run_has_ten_judged_documents() -> None:
    pool = find_pool(np.array([[3.0], [3.0]]), NAMES[:2])
    assert (pool.contributing.any(), pool.depth) == (np.False_, 0)
    assert pool.describe().startswith("No pool was recognised")


def test_where_everything_is_judged_the_pool_has_no_end_within_the_lists() -> None:
    pool = find_pool(np.array([[NAN], [NAN]]), NAMES[:2], lengths=np.array([[20], [4]]))
    assert (pool.contributing.tolist(), pool.depth) == ([True, True], 20)


def pooled_lists(depth: int, *, runs: int = 20, topics: int = 12, seed: int = 0) -> np.ndarray:
    """First unjudged ranks of lists that were pooled to a depth: below it one in four ends at each rank."""
    rng = np.random.default_rng(seed)
    return depth + rng.geometric(0.25, (runs, topics)).astype(np.float64)


@pytest.mark.parametrize("depth", [12, 30, 100])
@pytest.mark.parametrize("guessed", [False, True])
def test_a_lost_judgment_leaves_the_depth_of_the_pool_and_is_counted(depth: int, guessed: bool) -> None:
    first = pooled_lists(depth)
    names = [(f"r{place}",) for place in range(20)]
    info = None if guessed else listed(**{name[0]: True for name in names})
    whole = find_pool(first, names, info)
    assert (whole.depth, whole.judged, whole.holed) == (depth, depth, 0)
    first[:14, 5] = np.arange(1, 15).clip(max=depth)  # one document of topic 5, which most runs found early
    holed = find_pool(first, names, info)
    assert (holed.depth, holed.judged) == (depth, 0)
    assert (holed.holed, holed.lists) == (14, 240)
    assert holed.contributing.all()
    assert (
        f"it is {depth} deep, with holes: 14 of 240 lists have an unjudged document within that depth, the"
        " first at rank 1"
    ) in holed.describe()


def test_lists_that_end_early_are_no_holes_where_they_are_many() -> None:
    assert find_pool(np.array([[11.0], [101.0]]), NAMES[:2], listed(a=True, b=True)).depth == 10
    first = pooled_lists(50)
    first[:, :4] = pooled_lists(20, topics=4)  # a third of the topics has a shallower pool
    names = [(f"r{place}",) for place in range(20)]
    assert find_pool(first, names, listed(**{name[0]: True for name in names})).depth == 20


@pytest.mark.parametrize("seed", range(20))
def test_the_end_of_a_pool_is_the_depth_of_the_largest_balance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    going, ended = rng.integers(0, 60, 12), rng.integers(0, 4, 12)
    balance = [sum(0.05 * going[:d]) - sum(0.95 * ended[:d]) for d in range(1, 13)]
    best = max(balance)
    expected = max(d for d in range(1, 13) if balance[d - 1] >= best - 1e-9) if best >= 0 else 0
    assert pool_end(going, ended, 0.05) == expected
    assert pool_end(going[:0], ended[:0], 0.05) == 0


def test_lists_that_are_judged_to_their_ends_show_a_hole_all_the_same() -> None:
    first = np.full((8, 5), NAN)
    first[2, 3] = 4.0
    pool = find_pool(
        first, [(name,) for name in "abcdefgh"], listed(**dict.fromkeys("abcdefgh", True)),
        lengths=np.full((8, 5), 30),
    )  # fmt: skip
    assert (pool.depth, pool.judged, pool.holed) == (30, 3, 1)


def test_the_three_scenarios() -> None:
    pool = find_pool(FIRST, NAMES, listed(a=True, b=True, c=False))
    pairs = np.array([[0, 1], [0, 2], [2, 1]])
    assert scenarios(pool, pairs, 100).tolist() == [1, 3, 3]
    assert scenarios(pool, pairs, 101).tolist() == [2, 3, 3]


def test_the_pool_of_a_simulated_collection_is_found_with_and_without_its_list() -> None:
    collection = simulate_collection(topics=30, groups=5, systems=2, pool_depth=20, pooled_runs=1, seed=2)
    info = {row.run: row for row in collection.info}
    told = compare_runs(collection.qrels, collection.runs, ["P@5"], info=info).pool
    guessed = compare_runs(collection.qrels, collection.runs, ["P@5"]).pool
    assert told is not None
    assert guessed is not None
    assert told.depth == guessed.depth == 20
    assert told.contributing.tolist() == [row.pooled for row in collection.info]
    assert guessed.contributing[told.contributing].all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("depth", [10, 30])
def test_contributors_of_simulated_pools_are_guessed_right(depth: int, seed: int) -> None:
    collection = simulate_collection(
        topics=12, groups=5, systems=2, documents=400, length=60, pool_depth=depth, seed=seed
    )
    pool = compare_runs(collection.qrels, collection.runs, ["P@5"]).pool
    assert pool is not None
    assert pool.depth == depth
    assert pool.contributing.tolist() == [row.pooled for row in collection.info]
