"""Scores of forecasts against hand arithmetic, scipy, and pairs written out as often as they count."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import mannwhitneyu

from sounding.runs.pairs import all_pairs
from sounding.statistics.forecasts import (
    Forecasts,
    area_under_curve,
    bin_numbers,
    probability_figures,
    reliability,
    run_weights,
    score_forecasts,
    weighted_share,
)

ONE = np.ones((1, 1))


def said(
    score: NDArray[np.float64], right: NDArray[np.bool_], pairs: NDArray[np.intp] | None = None
) -> Forecasts:
    units = np.arange(len(score))
    first, second = (units, units) if pairs is None else pairs.T
    return Forecasts(
        claim="holds", measure="AP", probability=True, score=score, claimed=score >= 0.95, right=right,
        first=first, second=second, unpooled=np.zeros(len(score), np.bool_),
    )  # fmt: skip


def draw(seed: int, units: int, steps: int = 20) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Chances in few steps, so that many tie, and what came true."""
    rng = np.random.default_rng(seed)
    chance = rng.integers(0, steps + 1, units) / steps
    return chance, rng.random(units) < chance**2


def test_the_area_under_the_curve_by_hand() -> None:
    # Right: 0.8 and 0.35; wrong: 0.1 and 0.4. Of the four pairs 0.35 < 0.4 alone is the wrong way round.
    area = area_under_curve(
        np.array([0.1, 0.4, 0.35, 0.8]), np.array([False, False, True, True]), np.ones((1, 4))
    )
    assert area.tolist() == [0.75]


@pytest.mark.parametrize("seed", range(5))
def test_the_area_under_the_curve_is_that_of_mann_and_whitney(seed: int) -> None:
    chance, right = draw(seed, 60, steps=6)
    u = mannwhitneyu(chance[right], chance[~right]).statistic
    area = area_under_curve(chance, right, np.ones((1, 60)))[0]
    assert area == pytest.approx(u / (right.sum() * (~right).sum()))


@pytest.mark.parametrize("right", [[True, True], [False, False]])
def test_there_is_no_area_where_all_came_true_or_none(right: list[bool]) -> None:
    assert np.isnan(area_under_curve(np.array([0.2, 0.8]), np.array(right), np.ones((1, 2)))).all()


def test_there_is_no_area_where_all_scores_are_the_same() -> None:
    assert np.isnan(area_under_curve(np.full(2, 0.5), np.array([True, False]), np.ones((1, 2)))).all()


def test_brier_score_and_calibration_error_by_hand() -> None:
    # Bins: 0.12 and 0.18 (mean 0.15, half came true), 0.9 (came true).
    found = probability_figures(np.array([0.12, 0.18, 0.9]), np.array([True, False, True]), np.ones((1, 3)))
    assert found["brier"][0] == pytest.approx((0.88**2 + 0.18**2 + 0.1**2) / 3)
    assert found["ece"][0] == pytest.approx((2 * 0.35 + 0.1) / 3)
    assert found["reliability"][0] == pytest.approx((2 * 0.35**2 + 0.1**2) / 3)
    assert found["resolution"][0] == pytest.approx((2 * (0.5 - 2 / 3) ** 2 + (1 - 2 / 3) ** 2) / 3)
    assert found["uncertainty"][0] == pytest.approx(2 / 9)


@pytest.mark.parametrize("seed", range(3))
def test_the_three_parts_make_up_the_score_of_forecasts_rounded_to_their_bins(seed: int) -> None:
    chance, right = draw(seed, 200)
    bins = bin_numbers(chance)
    rounded = np.array([chance[bins == own].mean() for own in bins])
    found = probability_figures(chance, right, np.ones((1, 200)))
    parts = found["reliability"] - found["resolution"] + found["uncertainty"]
    assert parts[0] == pytest.approx(np.mean((rounded - right) ** 2))


def test_a_chance_on_a_border_is_in_the_bin_above_and_certainty_in_the_last() -> None:
    tenths = np.array([number / 10 for number in range(11)])
    assert bin_numbers(tenths).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]
    assert bin_numbers(1 - tenths[::-1]).tolist() == [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9]  # 1 - 0.9 is below 0.1


def test_a_calibrated_forecaster_has_no_error_and_a_boastful_one_has() -> None:
    rng = np.random.default_rng(1)
    chance = rng.random(100_000)
    right = rng.random(100_000) < chance
    weights = np.ones((1, 100_000))
    assert probability_figures(chance, right, weights)["ece"][0] < 0.01
    # Halfway from the truth to certainty: a quarter of the range away on average over both halves, halved.
    boast = np.where(chance > 0.5, (chance + 1) / 2, chance / 2)
    assert probability_figures(boast, right, weights)["ece"][0] == pytest.approx(0.125, abs=0.01)


@pytest.mark.parametrize("seed", range(3))
def test_a_resample_counts_every_pair_as_often_as_both_runs_were_drawn(seed: int) -> None:
    pairs = all_pairs(6)
    chance, right = draw(seed, len(pairs), steps=5)
    forecasts = said(chance, right, pairs)
    weights = run_weights(forecasts, resamples=4, seed=seed)
    times = np.random.default_rng(seed).multinomial(6, [1 / 6] * 6, 4)
    for row in range(1, 5):
        written = [
            place
            for place, (a, b) in enumerate(pairs.tolist())
            for _ in range(times[row - 1][a] * times[row - 1][b])
        ]
        own = weights[row : row + 1]
        plain = np.ones((1, len(written)))
        for name, value in probability_figures(chance, right, own).items():
            expected = probability_figures(chance[written], right[written], plain)[name]
            assert value == pytest.approx(expected), name
        area = area_under_curve(chance, right, own)
        assert area == pytest.approx(area_under_curve(chance[written], right[written], plain), nan_ok=True)
        assert weighted_share(right, own) == pytest.approx(right[written].mean())


def test_what_is_said_of_single_runs_counts_as_often_as_the_run() -> None:
    forecasts = said(np.full(4, 0.95), np.ones(4, np.bool_))
    times = np.random.default_rng(3).multinomial(4, [1 / 4] * 4, 2)
    assert run_weights(forecasts, resamples=2, seed=3)[1:].tolist() == times.tolist()


def test_intervals_are_wide_where_a_few_runs_decide() -> None:
    pairs = all_pairs(20)
    bad = (pairs == 0).any(axis=1)  # all pairs of one run are wrong
    found = score_forecasts(
        said(np.ones(len(pairs)), ~bad, pairs), run_weights(said(np.ones(len(pairs)), ~bad, pairs))
    )
    share = found["share_right"]
    assert share.value == pytest.approx(171 / 190)
    alone = 1.96 * np.sqrt(share.value * (1 - share.value) / 190)
    assert share.high - share.low > 2 * (2 * alone) * 0.9


def test_claims_that_give_no_chances_have_no_calibration() -> None:
    label = said(np.array([1.0, 0.0]), np.array([True, False]))
    plain = Forecasts(
        claim="strong", measure="AP", probability=False, score=label.score, claimed=label.score > 0,
        right=label.right, first=label.first, second=label.second, unpooled=label.unpooled,
    )  # fmt: skip
    found = score_forecasts(plain, np.ones((1, 2)))
    assert found["auc"].value == 1
    assert found["share_claimed"].value == 0.5
    assert found["share_right"].value == 1
    assert np.isnan([found["ece"].value, found["brier"].value]).all()
    assert reliability(plain, np.ones((1, 2))) == []


def test_the_reliability_diagram_lists_the_bins_that_hold_something() -> None:
    chance, right = np.array([0.12, 0.18, 0.9, 1.0]), np.array([True, False, True, True])
    bins = reliability(said(chance, right), np.ones((1, 4)))
    assert [one.units for one in bins] == [2, 2]
    assert [one.chance for one in bins] == pytest.approx([0.15, 0.95])
    assert [one.right.value for one in bins] == [0.5, 1.0]


def test_nothing_claimed_leaves_the_share_that_is_right_unknown() -> None:
    found = score_forecasts(said(np.array([0.2, 0.3]), np.array([True, False])), np.ones((1, 2)))
    assert found["share_claimed"].value == 0
    assert np.isnan(found["share_right"].value)
