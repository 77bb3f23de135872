"""Cases by depth: which measures get depths, what moves, why, and which pair is shown for a case."""

from __future__ import annotations

import numpy as np
import pytest
from tests.compare.tables import around, scores_of

from sounding.compare.comparison import compare_scores
from sounding.compare.depths import (
    at_depths,
    count_scenarios,
    examples,
    families,
    moved_pairs,
    moves,
)
from sounding.compare.result import Comparison
from sounding.core.errors import DataError
from sounding.measures import Measure, parse
from sounding.statistics.cases import CASES
from sounding.statistics.pairwise import Procedure

T = Procedure(test="t", correction="none")


def two_runs(
    performance: dict[int, tuple[float, float]],
    assessment: dict[int, tuple[float, float]],
    *,
    lengths: tuple[float, float] = (1000, 1000),
    pool: float | None = None,
) -> Comparison:
    """Two runs by P at several depths, about these means; means .1 apart differ significantly."""
    values = {f"P@{k}": around(*means, spread=0.02, seed=k) for k, means in performance.items()}
    values |= {f"A_p@{k}": around(*means, spread=0.02, seed=k + 1) for k, means in assessment.items()}
    first = None if pool is None else pool + 1
    return compare_scores(
        scores_of(values, lengths=lengths, first_unjudged=first), pair=("r1", "r2"), procedure=T
    )


# -- depths of measures ----------------------------------------------------------------------------


def test_measures_without_a_cut_off_get_every_depth() -> None:
    assert at_depths(["P", "AP"], [100, 10]) == tuple(map(parse, ("P@10", "P@100", "AP@10", "AP@100")))


def test_other_spellings_get_depths_too() -> None:
    assert at_depths(["map", "RBP(p=0.5)"], [5]) == (parse("AP@5"), parse("RBP(p=0.5)@5"))
    assert at_depths(["rbp", "A_p"], [10]) == (parse("RBP(p=0.9)@10"), parse("A_p@10"))
    assert at_depths([parse("nDCG")], [5, 7]) == (parse("nDCG@5"), parse("nDCG@7"))


@pytest.mark.parametrize(
    ("measure", "problem"),
    [
        ("P@20", "P@20 has the cut-off 20, which depths do not change; write P"),
        ("P_15", "P_15 has the cut-off 15, which depths do not change; write P"),
        (
            "RBP(p=0.5)@10",
            r"RBP\(p=0.5\)@10 has the cut-off 10, which depths do not change; write RBP\(p=0.5\)$",
        ),
        (parse("P@3"), "P@3 has the cut-off 3, which"),
        ("Rprec", "Rprec takes no depth; leave it out, or compare by it without depths"),
        ("IPrec@0.1", "IPrec@0.1 takes no depth"),
    ],
)
def test_measures_that_depths_would_not_change_are_refused(measure: str | Measure, problem: str) -> None:
    with pytest.raises(DataError, match=problem):
        at_depths(["AP", measure], [5])


def test_depths_that_are_none_are_refused() -> None:
    with pytest.raises(DataError, match="depths 0, 5: expected whole numbers from 1"):
        at_depths(["AP"], [0, 5])
    with pytest.raises(DataError, match="depths none"):
        at_depths(["AP"], [])


def test_a_family_is_one_measure_from_its_shallowest_to_its_deepest_cut() -> None:
    scores = scores_of(
        {name: around(0.2, 0.3, seed=place) for place, name in enumerate(("AP@100", "P@10", "AP@10"))}
        | {f"A_p@{k}": around(0.9, 0.9) for k in (10, 100)}
    )
    found = compare_scores(scores, procedure=T)
    assert families(found) == [("AP", [2, 0]), ("P", [1])]


# -- moves -----------------------------------------------------------------------------------------


def test_moves_are_counted_from_row_to_column() -> None:
    rng = np.random.default_rng(3)
    means = rng.choice([0.3, 0.33, 0.4], 8), rng.choice([0.5, 0.6], 8)
    scores = scores_of(
        {f"P@{k}": around(*means[0], spread=0.05, seed=k) for k in (10, 30, 100)}
        | {f"A_p@{k}": around(*means[1], spread=0.1, seed=k + 1) for k in (10, 30, 100)}
    )
    found = compare_scores(scores, procedure=T)
    steps = moves(found)
    assert [(step.shallow, step.deep) for step in steps] == [(0, 1), (1, 2)]
    for step in steps:
        for before in CASES:
            for after in CASES:
                both = (found.cases[step.shallow] == before) & (found.cases[step.deep] == after)
                assert step.counts[before - 1, after - 1] == np.count_nonzero(both)
        assert step.counts.sum() == 28
        changed = np.count_nonzero(found.cases[step.shallow] != found.cases[step.deep])
        assert step.moved == changed > 0
    listed = [(move.from_depth, move.pair, move.from_case, move.to_case) for move in moved_pairs(found)]
    assert len(listed) == sum(step.moved for step in steps)
    assert all(before != after for *_, before, after in listed)


def test_assessment_that_falls_behind_across_the_pool_depth_is_the_pools_doing() -> None:
    found = two_runs({10: (0.5, 0.5), 100: (0.5, 0.5)}, {10: (0.9, 0.9), 100: (0.5, 0.8)}, pool=50)
    (move,) = moved_pairs(found)
    assert (move.from_case, move.to_case, move.cause) == (1, 2, "pool")
    assert (move.from_depth, move.to_depth) == (10, 100)
    assert move.why.startswith(
        "assessment of r1 falls behind (50% of its first 100 judged, 80% of the other's)"
    )
    assert move.why.endswith("below the pool depth 50")


@pytest.mark.parametrize("pool", [5, 100, None])
def test_assessment_that_falls_behind_elsewhere_is_not(pool: float | None) -> None:
    found = two_runs({10: (0.5, 0.5), 100: (0.5, 0.5)}, {10: (0.9, 0.9), 100: (0.8, 0.5)}, pool=pool)
    (move,) = moved_pairs(found)
    assert move.cause == "assessment"
    assert move.why == "assessment of r2 falls behind (50% of its first 100 judged, 80% of the other's)"


def test_a_run_with_short_lists_is_frozen_whatever_else_changed() -> None:
    found = two_runs(
        {10: (0.5, 0.5), 100: (0.3, 0.5)}, {10: (0.9, 0.9), 100: (0.5, 0.8)}, lengths=(20, 1000), pool=50
    )
    (move,) = moved_pairs(found)
    assert (move.from_case, move.to_case, move.cause) == (1, 4, "frozen")
    assert move.why.startswith(
        "r1 is frozen: its lists end after 20 documents; the difference in performance"
    )


def test_a_list_must_end_in_the_first_half_of_a_step_to_be_frozen() -> None:
    found = two_runs({10: (0.5, 0.5), 100: (0.5, 0.5)}, {10: (0.9, 0.9), 100: (0.5, 0.8)}, lengths=(54, 56))
    assert found.frozen_runs(10, 100).tolist() == [True, False]


@pytest.mark.parametrize(
    ("performance", "assessment", "cause", "why"),
    [
        ((0.3, 0.5), (0.9, 0.9), "performance", "the difference in performance becomes significant"),
        (
            (0.3, 0.5), (0.9, 0.7), "both",
            "the difference in performance becomes significant; assessment of r2 falls behind",
        ),
    ],
)  # fmt: skip
def test_other_moves_name_what_changed(
    performance: tuple[float, float], assessment: tuple[float, float], cause: str, why: str
) -> None:
    found = two_runs({10: (0.5, 0.5), 100: performance}, {10: (0.9, 0.9), 100: assessment})
    (move,) = moved_pairs(found)
    assert move.cause == cause
    assert move.why.startswith(why)


def test_moves_back_are_named_as_well() -> None:
    found = two_runs({10: (0.3, 0.5), 100: (0.5, 0.5)}, {10: (0.7, 0.9), 100: (0.9, 0.9)})
    (move,) = moved_pairs(found)
    assert (move.from_case, move.to_case, move.cause) == (4, 1, "both")
    assert move.why == "the difference in performance is no longer significant; assessment becomes even"
    turned = two_runs({10: (0.3, 0.5), 100: (0.5, 0.3)}, {10: (0.7, 0.9), 100: (0.7, 0.9)})
    (move,) = moved_pairs(turned)
    assert (move.from_case, move.to_case) == (4, 3)
    assert move.why == "one of the two differences now points the other way"


# -- examples and scenarios ------------------------------------------------------------------------


def test_the_example_of_a_case_is_its_clearest_pair() -> None:
    scores = scores_of(
        {
            "P@10": around(0.80, 0.50, 0.49, 0.47, spread=0.05),
            "A_p@10": around(0.9, 0.9, 0.5, 0.9, spread=0.05, seed=1),
        }
    )
    found = compare_scores(scores, procedure=T)
    chosen = examples(found, 0)
    performance, assessed = found.performance_tests[0], found.assessment_tests[0]

    def clarity(pair: int) -> float:
        sides = []
        for tests in (performance, assessed):
            p, adjusted = float(tests.p[pair]), float(tests.p_adjusted[pair])
            sides.append(np.log(0.05 / adjusted) if adjusted <= 0.05 else np.log(p / 0.05))
        return float(min(sides))

    assert len(chosen) >= 3
    for case, pair in chosen.items():
        others = [other for other in range(6) if found.cases[0, other] == case]
        assert clarity(pair) == max(clarity(other) for other in others)


def test_equal_runs_are_no_example() -> None:
    values, assessed = around(0.5, 0.5, 0.5, spread=0.2), around(0.9, 0.9, 0.9, seed=1)
    values[1], assessed[1] = values[0], assessed[0]
    found = compare_scores(scores_of({"P@10": values, "A_p@10": assessed}), procedure=T)
    assert set(found.names(examples(found, 0)[1])) != {"r1", "r2"}


def test_scenarios_are_counted_by_depth() -> None:
    found = two_runs({10: (0.5, 0.6), 100: (0.5, 0.6)}, {10: (0.9, 0.9), 100: (0.9, 0.9)}, pool=50)
    assert count_scenarios(found, 0) == {1: 1, 2: 0, 3: 0}
    assert count_scenarios(found, 1) == {1: 0, 2: 1, 3: 0}
    unknown = two_runs({10: (0.5, 0.6)}, {10: (0.9, 0.9)})
    assert count_scenarios(unknown, 0) == {}


def test_a_depth_beyond_the_limit_is_named() -> None:
    with pytest.raises(DataError, match=r"99,999,999,999.*10,000,000"):
        at_depths(["P"], [10, 99_999_999_999])
