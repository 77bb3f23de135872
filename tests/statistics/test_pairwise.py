"""What every test promises, and how requests that make no sense are answered."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from sounding.core.errors import DataError, UnknownNameError
from sounding.runs.pairs import all_pairs
from sounding.statistics.pairwise import TESTS as REGISTERED
from sounding.statistics.pairwise import PairTests, pairwise_tests
from sounding.statistics.testing import CORRECTION_NAMES

TESTS = sorted(REGISTERED)
PAIRED = [name for name in TESTS if not REGISTERED[name].whole_topics]
ISSUED = (
    "t", "wilcoxon", "sign", "randomization", "bootstrap", "anova", "anova2", "tukey", "randomized-tukey",
)  # fmt: skip
COLUMNS = ("difference", "ci_low", "ci_high", "effect", "p", "p_adjusted", "topics", "wins", "ties", "losses")


def table(runs: int, topics: int, *, seed: int = 5, steps: int | None = None) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    values = np.clip(rng.beta(1, 3, topics) + rng.normal(0, 0.15, (runs, topics)), 0, 1)
    return values if steps is None else np.round(values * steps) / steps


def run(
    values: NDArray[np.float64],
    test: str,
    *,
    correction: str | None = None,
    pairs: NDArray[np.intp] | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
    permutations: int = 499,
    apart: NDArray[np.bool_] | None = None,
) -> PairTests:
    return pairwise_tests(
        values, all_pairs(len(values)) if pairs is None else pairs, test=test, alpha=alpha,
        correction=correction, margin=margin, permutations=permutations, rng=np.random.default_rng(9), apart=apart,
    )  # fmt: skip


def test_every_test_that_was_asked_for_is_there() -> None:
    assert set(ISSUED) <= set(TESTS)
    assert CORRECTION_NAMES == ("none", "bonferroni", "holm", "bh", "max-t")


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("steps", [None, 4])
def test_every_column_has_a_number_for_every_pair(test: str, steps: int | None) -> None:
    result = run(table(5, 20, steps=steps), test)
    for name in COLUMNS:
        column = getattr(result, name)
        assert column.shape == (10,), name
        assert np.isfinite(column).all(), name
    assert np.all((result.p > 0) & (result.p <= result.p_adjusted) & (result.p_adjusted <= 1))
    assert np.all(result.ci_low <= result.ci_high)
    assert np.all(result.topics == result.wins + result.ties + result.losses)


@pytest.mark.parametrize("test", TESTS)
def test_the_interval_holds_what_the_test_estimates(test: str) -> None:
    result = run(table(5, 40), test)
    assert np.all((result.ci_low <= result.difference + 0.02) & (result.ci_high >= result.difference - 0.02))


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("steps", [None, 4])
@pytest.mark.parametrize("topics", [5, 24])
def test_swapping_two_runs_turns_the_difference_round_and_keeps_p(
    test: str, steps: int | None, topics: int
) -> None:
    values = table(4, topics, steps=steps)
    pairs = all_pairs(4)
    forth, back = run(values, test, pairs=pairs), run(values, test, pairs=pairs[:, ::-1])
    assert back.p == pytest.approx(forth.p, rel=1e-9)
    assert back.p_adjusted == pytest.approx(forth.p_adjusted, rel=1e-9)
    assert back.difference == pytest.approx(-forth.difference)
    assert back.effect == pytest.approx(-forth.effect)
    assert back.ci_low == pytest.approx(-forth.ci_high, abs=1e-9)
    assert back.ci_high == pytest.approx(-forth.ci_low, abs=1e-9)
    assert back.wins.tolist() == forth.losses.tolist()


@pytest.mark.parametrize("test", TESTS)
def test_p_is_never_0_however_far_apart_runs_are(test: str) -> None:
    values = table(3, 60) + np.array([[0.0], [1e9], [2e9]])
    result = run(values, test)
    assert np.all(result.p > 0)
    assert np.all(result.p_adjusted > 0)
    assert result.significant.all()


@pytest.mark.parametrize("test", TESTS)
def test_a_seed_gives_the_same_numbers_again(test: str) -> None:
    values = table(4, 30)
    first, second = run(values, test), run(values, test)
    for name in COLUMNS:
        assert np.array_equal(getattr(first, name), getattr(second, name)), name


@pytest.mark.parametrize("test", TESTS)
def test_order_of_topics_does_not_matter(test: str) -> None:
    values = table(4, 10)
    forth, back = run(values, test, permutations=2**10), run(values[:, ::-1], test, permutations=2**10)
    drawn = test in ("bootstrap", "bootstrap-percentile", "randomized-tukey")
    assert back.p == pytest.approx(forth.p, abs=0.06 if drawn else 1e-9)


@pytest.mark.parametrize("test", TESTS)
def test_a_factor_and_an_offset_change_neither_p_nor_effect(test: str) -> None:
    values = table(4, 20)
    plain, moved = run(values, test), run(8 * values + 2, test)
    assert moved.p == pytest.approx(plain.p, rel=1e-6)
    assert moved.effect == pytest.approx(plain.effect, rel=1e-6)
    assert moved.difference == pytest.approx(8 * plain.difference)
    assert moved.ci_high == pytest.approx(8 * plain.ci_high, abs=1e-9)


@pytest.mark.parametrize("test", TESTS)
def test_equal_runs_have_p_1_and_a_reason(test: str) -> None:
    values = table(3, 12)
    values[1] = values[0]
    result = run(values, test)
    assert result.p[0] == result.p_adjusted[0] == 1.0
    assert result.reasons[0] == "the runs are equal on all 12 topics"
    assert result.effect[0] == 0
    assert result.ci_low[0] <= 0 <= result.ci_high[0]
    assert not any("equal on all" in reason for reason in result.reasons[1:])


@pytest.mark.parametrize("test", TESTS)
def test_constant_values_never_give_nan(test: str) -> None:
    result = run(np.full((3, 8), 0.7), test)
    for name in COLUMNS:
        assert not np.isnan(getattr(result, name)).any(), name
    assert set(result.p_adjusted.tolist()) == {1.0}
    assert set(result.reasons) == {"the runs are equal on all 8 topics"}


@pytest.mark.parametrize("test", PAIRED)
def test_a_difference_that_is_the_same_everywhere_is_no_nan(test: str) -> None:
    values = np.vstack([table(1, 20)[0] + 0.1, table(1, 20)[0]])
    result = run(values, test)
    assert result.difference.tolist() == pytest.approx([0.1])
    assert result.effect.tolist() == [np.inf]
    assert result.p[0] <= 0.002
    assert result.reasons == ("",)
    assert result.ci_low[0] == pytest.approx(0.1)


@pytest.mark.parametrize("test", PAIRED)
def test_a_pair_without_common_topics_has_a_reason_and_the_others_their_values(test: str) -> None:
    values = table(4, 30)
    values[0, 1:] = np.nan
    values[1, :1] = np.nan
    result = run(values, test, correction="none")
    by_pair = dict(zip(map(tuple, result.pairs.tolist()), result.reasons, strict=True))
    assert by_pair[0, 1] == "0 common topics; a test needs at least 2"
    assert by_pair[0, 2] == "1 common topic; a test needs at least 2"
    assert by_pair[1, 2] == by_pair[2, 3] == ""
    assert result.topics.tolist() == [0, 1, 1, 29, 29, 30]
    assert np.array_equal(result.topics, result.wins + result.ties + result.losses)
    assert result.ties[0] == 0
    assert np.isnan(result.p[:3]).all()
    assert np.isnan(result.p_adjusted[:3]).all()
    assert set(result.ci_low[:3].tolist()) == {-np.inf}
    assert set(result.ci_high[:3].tolist()) == {np.inf}
    assert np.isnan(result.difference).tolist() == [True] + [False] * 5
    alone = run(values[1:3, 1:], test, correction="none")
    assert result.p[3] == pytest.approx(alone.p[0], abs=0.1 if test == "randomization" else 1e-12)


@pytest.mark.parametrize("correction", ["bonferroni", "holm", "bh", "max-t"])
def test_pairs_that_were_not_tested_do_not_count_for_the_correction(correction: str) -> None:
    values = table(4, 10)
    values[1] += 0.2
    values[0, 1:] = np.nan  # shares one topic with every other run
    whole = run(values, "randomization", correction=correction, margin=0.3)
    alone = run(values[1:], "randomization", correction=correction, margin=0.3)
    assert np.isnan(whole.p_adjusted[:3]).all()
    assert whole.p_adjusted[3:] == pytest.approx(alone.p_adjusted, rel=1e-12)
    assert whole.equivalence is not None
    assert alone.equivalence is not None
    assert np.isnan(whole.equivalence.p_adjusted[:3]).all()
    assert whole.equivalence.p_adjusted[3:] == pytest.approx(alone.equivalence.p_adjusted, rel=1e-12)


@pytest.mark.parametrize("test", TESTS)
def test_pairs_without_a_topic_in_common_are_not_tested_whatever_their_values(test: str) -> None:
    values = table(3, 20)
    values[0, :10] = values[1, 10:] = 0.0  # what a missing topic counts
    whole = run(values, test)
    found = run(values, test, apart=np.array([True, False, False]))
    assert not whole.reasons[0]
    assert found.reasons[0] == "0 common topics; a test needs at least 2"
    assert (found.topics[0], found.wins[0], found.losses[0]) == (0, 0, 0)
    assert np.isnan([found.difference[0], found.effect[0], found.p[0], found.p_adjusted[0]]).all()
    assert found.p[1:] == pytest.approx(whole.p[1:], rel=1e-12)
    assert (found.p_adjusted[1:] <= whole.p_adjusted[1:] + 1e-12).all()
    with pytest.raises(DataError, match="no pair of the 3 has 2 topics"):
        run(values, test, apart=np.ones(3, np.bool_))


@pytest.mark.parametrize("test", TESTS)
def test_one_topic_is_refused(test: str) -> None:
    with pytest.raises(DataError, match=r"^1 topic with values; a test needs at least 2$"):
        run(table(3, 1), test)


@pytest.mark.parametrize("test", TESTS)
def test_two_topics_are_enough(test: str) -> None:
    result = run(np.array([[0.1, 0.5], [0.2, 0.9], [0.7, 0.3]]), test)
    assert not np.isnan(result.p_adjusted).any()


def test_no_common_topics_at_all_are_refused() -> None:
    values = np.array([[0.1, 0.2, np.nan, np.nan], [np.nan, np.nan, 0.1, 0.2]])
    with pytest.raises(DataError, match="no pair of the 1 has 2 topics where both runs have values"):
        run(values, "t")
    with pytest.raises(
        DataError, match="test anova uses topics on which all runs have values, and there are 0 of 4"
    ):
        run(values, "anova")


def test_names_that_nobody_knows_are_refused_with_near_ones() -> None:
    with pytest.raises(UnknownNameError, match="unknown test 'wilcoxen'; did you mean wilcoxon"):
        run(table(3, 5), "wilcoxen")
    with pytest.raises(UnknownNameError, match="unknown correction 'holmes'; did you mean holm"):
        run(table(3, 5), "t", correction="holmes")


def test_corrections_that_do_not_fit_a_test_are_refused() -> None:
    with pytest.raises(
        DataError, match="test tukey already corrects for all pairs; leave out the correction holm"
    ):
        run(table(3, 5), "tukey", correction="holm")
    with pytest.raises(DataError, match="max-t needs the test randomization, not t"):
        run(table(3, 5), "t", correction="max-t")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"alpha": 0.0}, "alpha 0.0: expected a number between 0 and 1"),
        ({"alpha": 5}, "alpha 5: expected a number between 0 and 1"),
        ({"alpha": np.nan}, "alpha nan"),
        ({"margin": 0.0}, "margin 0.0: expected a difference above 0"),
        ({"margin": np.nan}, "margin nan"),
        ({"permutations": 0}, "permutations is 0; give a whole number from 1"),
        ({"pairs": np.array([[0, 3]])}, r"pair \(0, 3\): expected two different runs from 0 to 2"),
        ({"pairs": np.array([[0, 1], [1, 1]])}, r"pair \(1, 1\): expected two different runs"),
        ({"pairs": np.array([[-1, 1]])}, r"pair \(-1, 1\)"),
        ({"pairs": np.array([0, 1])}, r"pairs of shape \(2,\): expected two runs per row"),
    ],
)
def test_numbers_that_make_no_sense_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        run(table(3, 5), "t", **settings)  # type: ignore[arg-type]


def test_values_that_make_no_sense_are_refused() -> None:
    values = table(3, 5)
    values[1, 4] = np.inf
    with pytest.raises(DataError, match="run 1, topic 4: the value inf cannot be tested"):
        run(values, "t")
    with pytest.raises(DataError, match=r"values of shape \(5,\): expected one row per run"):
        run(values[0], "t", pairs=np.array([[0, 1]]))
    with pytest.raises(DataError, match="no pairs to test among 1 run; a comparison needs at least 2 runs"):
        run(table(1, 5), "t")


def test_the_method_names_test_zeros_permutations_seed_and_correction() -> None:
    values = table(3, 30)
    assert run(values, "randomization").method == (
        "randomization test on the mean (499 sign flips, seed 9); correction max-t"
    )
    assert "zeros: pratt" in run(values, "wilcoxon-pratt").method
    assert "ties dropped" in run(values, "sign").method
    assert "499 resamples of topics, seed 9" in run(values, "bootstrap").method
    assert run(values, "anova").method.endswith("correction bonferroni")
    assert "correction" not in run(values, "tukey").method
    spawned = np.random.default_rng(4).spawn(2)[1]
    result = pairwise_tests(values, all_pairs(3), permutations=20, rng=spawned)
    assert "seed 4.1)" in result.method


def test_a_margin_adds_equivalence_and_changes_nothing_else() -> None:
    values = table(3, 30)
    plain, with_margin = run(values, "t"), run(values, "t", margin=0.05)
    assert plain.equivalence is None
    assert with_margin.equivalence is not None
    assert np.array_equal(plain.p, with_margin.p)


def test_values_are_left_as_they_were() -> None:
    values = table(3, 30)
    values[0, 0] = np.nan
    before = values.copy()
    for test in TESTS:
        run(values, test)
    assert np.array_equal(values, before, equal_nan=True)


# -- p at the floor --------------------------------------------------------------------------------

ONE_SIGN = np.array(
    [[0.9, 0.8, 0.7, 0.9, 0.6, 0.9], [0.1, 0.2, 0.1, 0.3, 0.1, 0.2], [0.2, 0.3, 0.1, 0.1, 0.2, 0.1]]
)


@pytest.mark.parametrize("test", ["sign", "wilcoxon", "wilcoxon-pratt", "randomization"])
def test_p_is_at_the_floor_where_all_differences_have_one_sign(test: str) -> None:
    found = run(ONE_SIGN, test, correction="none")
    assert found.floor.tolist() == [True, True, False]  # runs 1 and 2 win on some topics each
    assert found.p[:2] == pytest.approx(2 / 2**6)
    assert found.least == pytest.approx(2 / 2**6)


@pytest.mark.parametrize("test", ["sign", "wilcoxon", "randomization"])
def test_topics_without_a_difference_raise_the_floor(test: str) -> None:
    values = ONE_SIGN.copy()
    values[1, 0] = values[0, 0]
    found = run(values, test, correction="none")
    assert found.p[0] == pytest.approx(2 / 2**5)
    assert found.floor[0]


def test_p_is_at_the_floor_where_no_drawn_arrangement_reaches_the_observed_one() -> None:
    values = table(3, 40)
    values[0] += 3
    found = run(values, "randomization", permutations=99)
    assert found.floor.tolist() == [True, True, False]
    assert (found.p[:2] == 0.01).all()
    assert found.floor_adjusted.tolist() == [True, True, False]
    stepped = run(values, "randomization", permutations=99, correction="max-t")
    assert stepped.floor_adjusted.tolist() == (stepped.p_adjusted <= 0.01).tolist()


@pytest.mark.parametrize("test", ["sign", "wilcoxon", "randomization"])
def test_an_exact_p_is_no_bound(test: str) -> None:
    found = run(ONE_SIGN, test, correction="none")
    assert found.floor.any()
    assert not found.floor_drawn.any()
    assert not found.floor_adjusted.any()
    assert found.drawn == 0


def test_an_adjusted_p_of_1_is_no_bound() -> None:
    values = table(8, 40)
    values[0] += 3
    found = run(values, "randomization", permutations=19, correction="holm")  # 28 pairs times 1 / 20
    assert found.floor_drawn.any()
    assert (found.p_adjusted == 1).all()
    assert not found.floor_adjusted.any()


@pytest.mark.parametrize(
    ("test", "correction", "topics", "limited"),
    [
        ("sign", "holm", 6, True), ("sign", "none", 6, False), ("randomization", "holm", 30, False),
        ("randomization", "max-t", 30, False), ("t", "holm", 2, False), ("sign", "none", 5, True),
    ],
)  # fmt: skip
def test_a_test_that_could_find_nothing_says_so(
    test: str, correction: str, topics: int, limited: bool
) -> None:
    assert bool(run(table(3, topics), test, correction=correction).limit) == limited


@pytest.mark.parametrize("test", ["t", "anova", "anova2", "tukey"])
def test_tests_that_do_not_count_have_no_floor(test: str) -> None:
    values = table(3, 40)
    values[0] += 3
    found = run(values, test)
    assert not found.floor.any()
    assert not found.floor_adjusted.any()


@pytest.mark.parametrize("test", ["sign", "wilcoxon"])
def test_too_few_topics_for_a_correction_are_told(test: str) -> None:
    found = run(ONE_SIGN, test)  # 3 x 2 / 64 is more than .05
    assert "0.0312 times 3 pairs (holm)" in found.limit
    assert "at least 7 topics or test randomization with correction max-t" in found.limit
    assert found.limit_alone == ""
    assert run(ONE_SIGN, test, correction="none").limit == ""


def test_a_pair_is_significant_alone_by_its_own_p_whatever_the_correction() -> None:
    values = table(6, 30)
    values[0] += 0.1
    found = [run(values, "t", correction=correction) for correction in ("none", "bonferroni")]
    assert np.array_equal(found[0].significant_alone, found[1].significant_alone)
    assert found[0].significant_alone.any()
    assert np.array_equal(found[0].significant_alone, found[0].significant)
    for test in ("tukey", "randomized-tukey"):
        every, one = (run(values, test, pairs=pairs) for pairs in (None, np.array([[0, 1]], np.intp)))
        assert np.array_equal(every.significant_alone, every.significant)
        assert every.p_alone[0] == one.p_alone[0] == one.p_adjusted[0] > one.p[0]
    silent = run(np.random.default_rng(3).random((3, 40)), "anova", alpha=1e-6)
    assert all(silent.reasons)
    assert not silent.significant_alone.any()


@pytest.mark.parametrize("name", ["ttest", "T-Test", "paired_t", "student"])
def test_a_test_by_another_name_is_recognized(name: str) -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean t\?$") as raised:
        run(table(2, 5), name)
    assert raised.value.suggestions == ("t",)
