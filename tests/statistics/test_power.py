"""Power, topics needed and swap rates: against statsmodels, simulation, plain loops and TREC-8."""

from __future__ import annotations

import re
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.conftest import require

from sounding.compare.sentences import power_in_words
from sounding.core.errors import DataError
from sounding.evaluate.evaluation import evaluate
from sounding.runs.pairs import all_pairs
from sounding.statistics.power import (
    SwapRates,
    design,
    detectable_effect,
    extrapolate,
    pair_power,
    paired_power,
    swap_rates,
    topics_needed,
)

PAGE = Path(__file__).parents[2] / "docs" / "design.md"

effects = st.floats(0.0, 50.0)
levels = st.sampled_from([0.05, 0.01, 1e-3, 6e-6])
counts = st.integers(2, 3000)


def random_values(runs: int, topics: int, *, seed: int = 0) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    quality = rng.normal(0.3, 0.06, (runs, 1))
    return np.round((quality + rng.normal(0, 0.15, (runs, topics))).clip(0, 1), 4)


def counted_by_hand(
    values: NDArray[np.float64], orders: list[list[int]], size: int, least: float
) -> list[int]:
    """Comparisons, claims and errors, one at a time."""
    compared = claims = errors = 0
    half = values.shape[1] // 2
    for order in orders:
        sets = order[:half][:size], order[half:][:size]
        for first, second in (sets, sets[::-1]):
            for a, b in combinations(range(len(values)), 2):
                gap = round(values[a, first].mean() - values[b, first].mean(), 12)
                other = round(values[a, second].mean() - values[b, second].mean(), 12)
                compared += 1
                if gap != 0 and abs(gap) >= least:
                    claims += 1
                    errors += gap * other < 0
    return [compared, claims, errors]


# -- power ------------------------------------------------------------------------------------------


def test_power_is_that_of_statsmodels_where_it_has_one() -> None:
    oracle = require("statsmodels.stats.power").TTestPower()
    topics, effects, alphas = (2, 3, 10, 25, 50, 200), (0.0, 0.05, 0.3, 0.5, 0.9), (0.05, 0.01, 0.001)
    compared = 0
    for count, effect, alpha in product(topics, effects, alphas):
        expected = oracle.power(effect, count, alpha, alternative="two-sided")
        found = paired_power(effect, count, alpha=alpha)
        if np.isnan(expected):  # its wrong side is: rounding
            assert found > 0.99
        else:
            compared += 1
            assert found == pytest.approx(expected, abs=1e-10)
    assert compared > 80


@pytest.mark.parametrize("target", [0.5, 0.8, 0.95])
@pytest.mark.parametrize("effect", [0.04, 0.1, 0.4, 0.9])
def test_topics_needed_are_those_of_statsmodels_rounded_up(effect: float, target: float) -> None:
    oracle = require("statsmodels.stats.power").TTestPower()
    expected = oracle.solve_power(effect_size=effect, alpha=0.05, power=target, alternative="two-sided")
    assert topics_needed(effect, alpha=0.05, target=target) == np.ceil(np.asarray(expected).item())


@pytest.mark.parametrize("topics", [5, 25, 50, 250])
def test_the_detectable_effect_is_that_of_statsmodels(topics: int) -> None:
    oracle = require("statsmodels.stats.power").TTestPower()
    expected = oracle.solve_power(nobs=topics, alpha=0.05, power=0.8, alternative="two-sided")
    assert detectable_effect(topics, alpha=0.05) == pytest.approx(np.asarray(expected).item(), rel=1e-6)


@pytest.mark.parametrize(("effect", "topics"), [(0.0, 10), (0.4, 10), (0.4, 50), (1.5, 3)])
def test_power_is_the_share_of_simulated_tests_that_reject(effect: float, topics: int) -> None:
    from scipy.stats import t as student

    repeats = 40_000
    drawn = np.random.default_rng(1).normal(effect, 1.0, (repeats, topics))
    t = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / np.sqrt(topics))
    rejected = np.mean(np.abs(t) > student.ppf(0.975, topics - 1))
    assert paired_power(effect, topics, alpha=0.05) == pytest.approx(rejected, abs=4 * 0.5 / np.sqrt(repeats))


def test_power_holds_where_scipy_alone_gives_nan_or_does_not_converge() -> None:
    assert paired_power([1e3, 1e9, np.inf], 50, alpha=0.05) == pytest.approx([1.0] * 3)
    # Two topics at a tiny level: t > 106,103, which needs the deviation to be tiny by chance.
    rng = np.random.default_rng(2)
    drawn = rng.normal(2e4, 1.0, (400_000, 2))
    t = drawn.mean(axis=1) / (drawn.std(axis=1, ddof=1) / np.sqrt(2))
    assert paired_power(2e4, 2, alpha=6e-6) == pytest.approx(np.mean(t > 106103.295), abs=0.003)


def test_power_without_a_difference_is_alpha() -> None:
    assert paired_power(0.0, [2, 10, 100], alpha=0.01) == pytest.approx([0.01] * 3, abs=1e-12)


def test_power_of_fewer_than_two_topics_is_not_known() -> None:
    assert np.isnan(paired_power(1.0, [0, 1], alpha=0.05)).all()
    assert np.isnan(detectable_effect([0, 1], alpha=0.05)).all()


@settings(deadline=None)
@given(effect=effects, topics=counts, more=st.integers(1, 50), alpha=levels)
def test_more_topics_never_lower_power(effect: float, topics: int, more: int, alpha: float) -> None:
    fewer, larger = paired_power(effect, [topics, topics + more], alpha=alpha)
    assert larger >= fewer - 1e-12


@settings(deadline=None)
@given(effect=effects, more=st.floats(0.0, 5.0), topics=counts, alpha=levels)
def test_a_larger_difference_never_lowers_power(
    effect: float, more: float, topics: int, alpha: float
) -> None:
    smaller, larger = paired_power([effect, -effect - more], topics, alpha=alpha)
    assert larger >= smaller - 1e-12


@settings(deadline=None)
@given(effect=st.floats(0.01, 20.0), alpha=levels, target=st.floats(0.5, 0.99))
def test_topics_needed_are_just_enough(effect: float, alpha: float, target: float) -> None:
    needed = topics_needed(effect, alpha=alpha, target=target)
    assert paired_power(effect, needed, alpha=alpha) >= target
    assert needed == 2 or paired_power(effect, needed - 1, alpha=alpha) < target


@settings(max_examples=25, deadline=None)
@given(topics=counts, alpha=levels, target=st.floats(0.5, 0.99))
def test_the_detectable_effect_has_just_the_power_wanted(topics: int, alpha: float, target: float) -> None:
    effect = detectable_effect(topics, alpha=alpha, target=target)
    assert paired_power(effect, topics, alpha=alpha) == pytest.approx(target, abs=1e-9)


def test_tiny_effects_need_as_many_topics_as_a_z_test() -> None:
    assert topics_needed(1e-4, alpha=0.05) == pytest.approx((1.959964 + 0.841621) ** 2 / 1e-8, rel=1e-6)
    assert topics_needed([0.0, 1e-300, np.inf], alpha=0.05).tolist() == [np.inf, np.inf, 2]


def test_the_power_of_pairs_is_that_of_each_pair() -> None:
    values = random_values(4, 30)
    values[0, :5] = np.nan
    found = pair_power(values, all_pairs(4), wanted=(0.02, 0.1), comparisons=6)
    for place, (a, b) in enumerate(found.pairs.tolist()):
        gaps = values[a] - values[b]
        gaps = gaps[~np.isnan(gaps)]
        deviation = gaps.std(ddof=1)
        assert found.topics[place] == len(gaps) == (25 if a == 0 else 30)
        assert found.difference[place] == pytest.approx(gaps.mean())
        assert found.power[place] == pytest.approx(
            paired_power(gaps.mean() / deviation, len(gaps), alpha=0.05 / 6)
        )
        assert found.topics_needed[place] == topics_needed(gaps.mean() / deviation, alpha=0.05 / 6)
        effect = detectable_effect(len(gaps), alpha=0.05 / 6)
        assert found.detectable[place] == pytest.approx(effect * deviation)
        assert found.needed[0, place] == topics_needed(0.02 / deviation, alpha=0.05 / 6)
        assert found.needed[1, place] == topics_needed(0.1 / deviation, alpha=0.05 / 6)


def test_a_pair_without_spread_has_no_power_and_is_counted() -> None:
    values = random_values(3, 20)
    values[1] = values[0] + 0.1
    found = pair_power(values, all_pairs(3))
    assert np.isnan(found.power).tolist() == [True, False, False]
    assert np.isnan(found.detectable).tolist() == [True, False, False]
    assert "1 of 3 pairs left out: no spread over topics" in power_in_words(found)
    assert len(power_in_words(pair_power(values[:2], all_pairs(2)))) == 2


# -- swaps ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 3, 4])
def test_swap_rates_are_those_counted_one_by_one(size: int) -> None:
    values = np.round(random_values(5, 9), 1)
    required = [0.0, 0.05, 0.1]
    found = swap_rates(
        values, all_pairs(5), required=required, sizes=[size], splits=6, rng=np.random.default_rng(3)
    )
    rng = np.random.default_rng(3)
    orders = [rng.permutation(9)[:8].tolist() for _ in range(6)]
    for place, least in enumerate(required):
        compared, claims, errors = counted_by_hand(values, orders, size, least)
        assert found.compared == compared
        assert found.claims[0, place] == claims
        assert found.errors[0, place] == errors
        assert found.error_rate[0, place] == errors / claims
        assert found.fuzziness[0, place] == pytest.approx(1 - claims / compared)


def test_the_bins_are_the_claims_between_one_difference_and_the_next() -> None:
    swaps = SwapRates(
        sizes=np.array([5]), required=np.array([0.0, 0.05, 0.1]), compared=100,
        claims=np.array([[80, 40, 20]]), errors=np.array([[14, 4, 1]]), topics=10, dropped=0, splits=1,
    )  # fmt: skip
    assert swaps.bin_error_rate.tolist() == [[10 / 40, 3 / 20, 1 / 20]]


def test_runs_that_are_far_apart_never_swap_and_equal_runs_never_claim() -> None:
    flat = np.repeat([[0.1], [0.5], [0.5]], 12, axis=1)
    swaps = swap_rates(flat, all_pairs(3), splits=5, rng=np.random.default_rng(0))
    assert not swaps.errors.any()
    assert swaps.fuzziness == pytest.approx(np.full(swaps.claims.shape, 1 / 3))
    equal = swap_rates(flat[1:], all_pairs(2), splits=5, rng=np.random.default_rng(0))
    assert not equal.claims.any()
    assert np.isnan(equal.error_rate).all()


def test_pure_chance_swaps_half_of_the_claims() -> None:
    rng = np.random.default_rng(4)
    rates = [
        swap_rates(rng.normal(size=(8, 40)), all_pairs(8), sizes=[10], splits=20, rng=rng).error_rate[0, 0]
        for _ in range(60)
    ]
    assert np.mean(rates) == pytest.approx(0.5, abs=4 * np.std(rates) / np.sqrt(len(rates)))


@settings(deadline=None)
@given(st.integers(2, 6), st.integers(2, 15), st.integers(0, 1000))
def test_a_larger_difference_required_never_lowers_fuzziness(runs: int, topics: int, seed: int) -> None:
    values = np.round(random_values(runs, topics, seed=seed), 2)
    swaps = swap_rates(values, all_pairs(runs), splits=3, rng=np.random.default_rng(seed))
    assert (np.diff(swaps.fuzziness, axis=1) >= 0).all()
    assert (swaps.errors <= swaps.claims).all()
    assert (swaps.claims <= swaps.compared).all()


def test_the_same_seed_gives_the_same_rates() -> None:
    values = random_values(6, 20)
    first, second = (swap_rates(values, all_pairs(6), rng=np.random.default_rng(7)) for _ in range(2))
    assert (first.errors == second.errors).all()
    assert first.sizes.tolist() == [2, 4, 6, 8, 10]


def test_topics_without_a_value_for_every_run_are_left_out_and_counted() -> None:
    values = random_values(3, 11)
    values[1, 4] = np.nan
    swaps = swap_rates(values, all_pairs(3), splits=4, rng=np.random.default_rng(0))
    assert (swaps.topics, swaps.dropped) == (10, 1)
    kept = swap_rates(np.delete(values, 4, axis=1), all_pairs(3), splits=4, rng=np.random.default_rng(0))
    assert (swaps.claims == kept.claims).all()


def test_extrapolation_finds_an_exponential_again() -> None:
    sizes = np.array([5, 10, 15, 20, 25])
    claims = np.full((5, 2), 10_000_000)
    rates = np.column_stack([0.25 * np.exp(-0.04 * sizes), 0.2 * np.exp(-0.1 * sizes)])
    swaps = SwapRates(
        sizes=sizes, required=np.array([0.0, 0.05]), compared=10_000_000, claims=claims,
        errors=np.round(rates * claims).astype(np.int64), topics=50, dropped=0, splits=1,
    )  # fmt: skip
    found = extrapolate(swaps, [50, 100])
    assert found.error_rate[0] == pytest.approx([0.25 * np.exp(-2), 0.2 * np.exp(-5)], rel=1e-3)
    assert found.error_rate[1] == pytest.approx([0.25 * np.exp(-4), 0.2 * np.exp(-10)], rel=1e-2)
    assert found.shortfall == pytest.approx([0, 0], abs=1e-5)
    assert found.fitted == (5, 25)


def test_extrapolation_never_rises_and_says_nothing_from_two_sizes() -> None:
    sizes = np.array([5, 10, 15])
    claims = np.array([[100, 100], [100, 100], [100, 0]])
    swaps = SwapRates(
        sizes=sizes, required=np.array([0.0, 0.1]), compared=100, claims=claims,
        errors=np.array([[10, 5], [20, 5], [30, 0]]), topics=30, dropped=0, splits=1,
    )  # fmt: skip
    found = extrapolate(swaps, [30, 60])
    assert found.error_rate[0, 0] >= found.error_rate[1, 0] > 0
    assert np.isnan(found.error_rate[:, 1]).all()
    assert np.isnan(found.shortfall).all()


def test_an_experiment_is_carried_on_to_one_two_and_four_times_the_topics() -> None:
    found = design(random_values(6, 20), all_pairs(6), splits=10, rng=np.random.default_rng(0))
    assert found.extrapolation.topics.tolist() == [20, 40, 80]
    assert found.power.needed.shape == (4, 15)


# -- bad requests -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.0}, "alpha 0.0: expected a number between 0 and 1"),
        ({"target": 1.0}, "power 1.0: expected a number from 0.5 to below 1"),
        ({"target": 0.3}, "power 0.3: expected"),
        ({"comparisons": 0}, "0 comparisons: expected at least 1"),
        ({"wanted": [0.0]}, r"wanted differences \[0.0\]: expected numbers above 0"),
    ],
)
def test_power_refuses(options: dict[str, float], message: str) -> None:
    with pytest.raises(DataError, match=message):
        pair_power(random_values(3, 10), all_pairs(3), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [6]}, r"sizes \[6\]: expected from 1 to 5, half of the topics"),
        ({"sizes": []}, r"sizes \[\]: expected"),
        ({"required": [0.1, 0.05]}, "expected ascending"),
        ({"splits": 0}, "0 splits: expected at least 1"),
    ],
)
def test_swap_rates_refuse(options: dict[str, object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        swap_rates(random_values(3, 10), all_pairs(3), rng=np.random.default_rng(0), **options)  # type: ignore[arg-type]


def test_one_run_one_topic_or_no_common_topics_give_a_sentence() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(DataError, match="no pairs to plan for: give at least two runs"):
        design(random_values(1, 10), all_pairs(1), rng=rng)
    with pytest.raises(DataError, match="1 of 1 topics have a value for every run; two sets need at least 2"):
        design(random_values(2, 1), all_pairs(2), rng=rng)
    apart = random_values(2, 6)
    apart[0, :3] = apart[1, 3:] = np.nan
    with pytest.raises(DataError, match="0 of 6 topics"):
        design(apart, all_pairs(2), rng=rng)
    with pytest.raises(DataError, match=r"values of shape \(6,\): expected one row per run"):
        design(apart[0], all_pairs(2), rng=rng)
    swaps = swap_rates(random_values(3, 20), all_pairs(3), splits=2, rng=rng)
    with pytest.raises(
        DataError, match=r"topics \[10\]: expected more than the 10 whose error rate is known"
    ):
        extrapolate(swaps, [10])


# -- TREC-8 and the page ----------------------------------------------------------------------------


def test_error_rates_of_trec_8_are_those_of_the_page(collections: Path) -> None:
    folder = collections / "trec8"
    scores = evaluate(folder / "qrels.trec8.txt.gz", sorted((folder / "runs").iterdir()), ["AP"])
    found = design(scores.values[:, 0], all_pairs(len(scores.runs)), rng=np.random.default_rng(0))
    swaps, place = found.swaps, found.swaps.required.tolist().index(0.05)
    assert swaps.sizes.tolist() == [5, 10, 15, 20, 25]
    assert (np.diff(swaps.error_rate, axis=0) < 0).all()
    assert (np.diff(swaps.error_rate, axis=1) < 0).all()
    assert (np.diff(swaps.bin_error_rate, axis=1) < 0).all()
    assert 0.01 < swaps.error_rate[-1, place] < 0.03
    assert 0.06 < swaps.bin_error_rate[-1, place] < 0.13
    assert 0.3 < swaps.fuzziness[-1, place] < 0.4
    text = PAGE.read_text()
    for table in (swaps.error_rate, found.extrapolation.error_rate):
        for row in table[:, [0, 1, 2, 5, 10]]:
            assert " | ".join(f"{rate:.3f}".lstrip("0") for rate in row) in text
    for sentence in power_in_words(found.power)[2:]:
        assert sentence in text


@pytest.mark.parametrize("block", re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL))
def test_the_pages_python_prints_what_it_says(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(block, PAGE.name, "exec"), {})
    said = [line.split("# ", 1)[1] for line in block.splitlines() if line.startswith("# ")]
    assert capsys.readouterr().out.splitlines() == said
    assert said
