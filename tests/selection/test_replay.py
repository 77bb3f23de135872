"""Judging replayed from known judgments."""

from __future__ import annotations

import math

import numpy as np
from tests.audit.pools import pool_of

from sounding.selection.strategies import make_strategy, replay

POOL = pool_of({"9": [["d", "c", "b", "a"]]})
GRADES = np.array([1.0, 0.0, np.nan, 2.0])  # of a, b, c, d


def test_a_replay_has_the_documents_in_order_and_what_was_found() -> None:
    found = replay(make_strategy("rank", POOL), GRADES)
    assert [pick.document for pick in found.picks] == [3, 2, 1, 0]
    np.testing.assert_array_equal(found.grades, [2, np.nan, 0, 1])
    assert found.found.tolist() == [1, 1, 1, 2]
    assert found.relevant == 2
    assert [found.found_at(judged) for judged in (0, 1, 3, 4, 99)] == [0, 0.5, 0.5, 1, 1]


def test_a_replay_stops_at_its_budget() -> None:
    found = replay(make_strategy("rank", POOL), GRADES, budget=2)
    assert [pick.document for pick in found.picks] == [3, 2]
    assert found.relevant == 2
    assert found.found_at(2) == 0.5


def test_the_level_says_what_is_relevant() -> None:
    found = replay(make_strategy("rank", POOL), GRADES, level=2)
    assert found.found.tolist() == [1, 1, 1, 1]
    assert found.relevant == 1


def test_nothing_relevant_is_not_a_share_of_0() -> None:
    assert math.isnan(replay(make_strategy("rank", POOL), np.zeros(4)).found_at(4))


def test_what_was_not_judged_counts_as_not_relevant_on_the_way() -> None:
    pool = pool_of({"9": [["a", "b", "c"], ["x", "y", "z"]]})
    unknown = replay(make_strategy("move-to-front", pool), np.full(6, np.nan))
    none = replay(make_strategy("move-to-front", pool), np.zeros(6))
    assert unknown.picks == none.picks
    assert np.isnan(unknown.grades).all()


def test_progress_is_told_step_by_step() -> None:
    steps: list[int] = []
    replay(make_strategy("rank", POOL), GRADES, progress=steps.append)
    assert steps == [1, 1, 1, 1]
