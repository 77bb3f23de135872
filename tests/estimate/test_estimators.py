"""Estimators against enumeration of all samples, and predictions against refitting."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from tests.estimate.replays import ERRORS, first_ranks, replay, shuffled, simulated_labels, whole_frame

from sounding.core.arrays import NDArray
from sounding.core.policies import DEFAULT_POLICIES
from sounding.estimate import estimators
from sounding.estimate.calibration import label_indicators, predict
from sounding.estimate.estimators import (
    Estimates,
    Lists,
    Sample,
    cascade,
    equal_effort,
    linear,
    unbiased_gains,
)
from sounding.estimate.frame import build_frame, lists_of
from sounding.sample.simulation import sample

TRUE = np.array([1.0, 0.0, 1.0, 1.0, 0.0, 0.5])
GUESS = np.array([0.7, 0.2, 0.4, 0.9, 0.4, 0.1])
CHANCE = np.array([0.3, 0.5, 0.8, 1.0, 0.25, 0.6])
# Two runs on two topics; documents 0 to 2 belong to the first topic.
LISTS = Lists(
    runs=2, topics=2, run=np.array([0, 0, 0, 0, 1, 1, 1]), topic=np.array([0, 0, 1, 1, 0, 1, 1]),
    rank=np.array([1, 2, 1, 3, 1, 1, 2]), doc=np.array([0, 2, 3, 5, 1, 4, 3]),
)  # fmt: skip
WEIGHT = 1 / LISTS.rank


def estimated(kind: str, drawn: NDArray[np.int64]) -> Estimates:
    sample = Sample(doc=drawn, chance=CHANCE[drawn])
    gains = unbiased_gains(GUESS, GUESS[drawn], TRUE[drawn], sample)
    residual = TRUE[drawn] - GUESS[drawn]
    if kind == "linear":
        return linear(LISTS, WEIGHT, gains, sample, residual)
    return cascade(LISTS, 1 / np.arange(1, 4), gains, sample, residual)


Covariance = Callable[[Estimates], NDArray[np.float64]]


def enumerated(
    kind: str, covariance: Covariance = Estimates.covariance
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """The mean of the estimates, their covariance, and the mean estimated covariance, over all samples."""
    chances, means, covariances = [], [], []
    for chosen in product([False, True], repeat=len(TRUE)):
        inside = np.array(chosen)
        chances.append(np.where(inside, CHANCE, 1 - CHANCE).prod())
        one = estimated(kind, inside.nonzero()[0])
        means.append(one.values.mean(axis=1))
        covariances.append(covariance(one))
    weight, values = np.array(chances), np.array(means)
    mean = weight @ values
    spread = (values - mean).T @ ((values - mean) * weight[:, None])
    return mean, spread, np.tensordot(weight, np.array(covariances), 1)


def test_a_linear_estimate_and_its_covariance_are_unbiased() -> None:
    mean, spread, estimate = enumerated("linear")
    # run 0: (1 + 1/2 + 1 + .5/3) / 2; run 1: (0 + 0 + 1/2) / 2
    assert mean == pytest.approx([(1 + 1 / 2 + 1 + 0.5 / 3) / 2, 0.25])
    assert estimate == pytest.approx(spread)


def twice(one: Estimates) -> NDArray[np.float64]:
    return np.zeros((2, 2)) if one.twice is None else one.twice


def test_a_cascade_is_unbiased_and_its_variance_without_what_counts_twice_too() -> None:
    mean, spread, estimate = enumerated("cascade")
    # run 0: topic 0 stops at rank 1; topic 1 too. run 1: never; at rank 2.
    assert mean == pytest.approx([1.0, 0.25])
    # No list has more than two documents, so there are no terms of three.
    _, _, exact = enumerated("cascade", lambda one: one.spread @ one.spread.T - twice(one))
    assert exact == pytest.approx(spread)
    _, _, first = enumerated("cascade", lambda one: one.spread @ one.spread.T)
    # Run 1 has no list with two documents that chance left out.
    assert first[0, 0] > estimate[0, 0] > spread[0, 0]
    assert first[1, 1] == pytest.approx(estimate[1, 1]) == spread[1, 1]


@pytest.mark.parametrize("terms", [1, 1000])
def test_a_cascade_has_terms_of_two_documents_and_what_they_count_twice(
    terms: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ERR of a list with both documents moved, less with either, over the product of the moves."""
    monkeypatch.setattr(estimators, "MOST_TERMS", terms)
    lists = Lists(
        runs=2, topics=1, run=np.array([0, 0, 0, 0, 0, 1, 1, 1]), topic=np.zeros(8, np.int64),
        doc=np.array([0, 1, 2, 3, 4, 4, 0, 2]), rank=np.array([1, 2, 3, 5, 6, 1, 2, 4]),
    )  # fmt: skip
    drawn, gains = np.array([1, 2, 4]), np.array([0.3, 1.2, -0.4, 0.6, 0.2])
    sample, weight = Sample(doc=drawn, chance=np.full(3, 0.5)), 1 / np.arange(1, 7)
    residual = np.array([0.2, -0.3, 0.5])
    one = cascade(lists, weight, gains, sample, residual)
    step = np.zeros(5)
    step[drawn] = residual  # (1 / pi - 1) is 1
    nobody = Sample(doc=np.empty(0, np.int64), chance=np.empty(0))

    def value(moved: NDArray[np.float64]) -> NDArray[np.float64]:
        return cascade(lists, weight, gains - step + moved, nobody, np.empty(0)).values[:, 0]

    unit, expected, terms_of_two = np.eye(5), np.zeros((2, 2)), value(0 * step)
    for x, own in zip(unit[drawn], residual, strict=True):
        terms_of_two = terms_of_two + (value(x) - value(0 * x)) * own
    for a, b in combinations(range(3), 2):
        x, y = unit[drawn[a]], unit[drawn[b]]
        mixed = value(x + y) - value(x) - value(y) + value(0 * x)
        terms_of_two = terms_of_two + mixed * residual[a] * residual[b]
        term = mixed * 2 * residual[a] * residual[b]  # (1 - pi) / pi^2 is 2 for pi = 1/2
        expected += np.outer(term, term)
    assert one.values[:, 0] == pytest.approx(terms_of_two)
    assert (expected != 0).all()
    assert twice(one) == pytest.approx(expected)


def test_all_judged_is_the_value_itself_without_error() -> None:
    every = np.arange(len(TRUE))
    sample = Sample(doc=every, chance=np.ones(len(TRUE)))
    one = linear(LISTS, WEIGHT, unbiased_gains(GUESS, GUESS, TRUE, sample), sample, TRUE - GUESS)
    assert one.values == pytest.approx(np.array([[1.5, 1 + 0.5 / 3], [0, 0.5]]))
    assert (one.covariance() == 0).all()


def test_how_many_judgments_bring_a_variance_down() -> None:
    """Equal chances pi of .2: (1 - x) / x is .5 of .8 / .2 for a chance of x = 1/3, with 10 / .2 documents."""
    assert equal_effort(np.arange(10.0), np.full(10, 0.2), 0.5) == pytest.approx(50 / 3)
    # A document that is judged anyway stays one judgment; more of the variance takes fewer judgments.
    chance = np.array([1.0, *np.full(9, 0.2)])
    assert equal_effort(np.array([0, *np.ones(9)]), chance, 0.5) == pytest.approx(1 + 45 / 3)
    assert equal_effort(np.ones(10), np.full(10, 0.2), 2.0) == pytest.approx(50 / 9)


def test_people_alone_are_as_good_with_the_judgments_that_the_labels_are_worth() -> None:
    frame, lists = whole_frame("gpt-4")
    worth = replay("RBP", frame, lists, 150, 40, seed=5)
    alone, _ = whole_frame()
    people = replay("RBP", alone, lists, 150 + round(worth.worth), 40, seed=6)
    assert people.error == pytest.approx(worth.error, rel=0.1)


def test_strata_have_the_variance_of_simple_random_samples() -> None:
    # One run, one topic, weights 1: n = 2 of N = 4 documents with gains 1 and 3; N^2 (1 - n/N) s^2 / n.
    lists = Lists(
        runs=1, topics=1, run=np.zeros(4, np.int64), topic=np.zeros(4, np.int64), rank=np.arange(1, 5),
        doc=np.arange(4),
    )  # fmt: skip
    sample = Sample(doc=np.array([0, 1]), chance=np.full(2, 0.5), stratum=np.array([0, 0]))
    gains = np.array([1.0, 3.0])
    one = linear(lists, np.ones(4), unbiased_gains(np.zeros(4), np.zeros(2), gains, sample), sample, gains)
    assert one.values == pytest.approx(np.array([[8.0]]))
    assert one.covariance() == pytest.approx(np.array([[16 * 0.5 * 2 / 2]]))


def test_no_judgment_helps_to_predict_itself() -> None:
    rng = np.random.default_rng(3)
    labels = np.stack([rng.integers(0, 4, 60), rng.integers(0, 2, 60)]).astype(float)
    labels[0, 5] = np.nan
    indicators = label_indicators(labels)
    judged = np.sort(rng.choice(60, 25, replace=False))
    gains, weights = rng.random((25, 1)), rng.random(25) + 0.1
    own = predict(indicators, judged, gains, weights)
    changed = gains.copy()
    changed[4] += 10
    # The penalty may change with the gains; with the same one the prediction of document 4 must not.
    again = predict(indicators, judged, changed, weights)
    fixed = predict(indicators, judged, gains, weights)
    assert own.of_judged[4] == fixed.of_judged[4]
    assert (
        abs(again.of_judged[4] - own.of_judged[4])
        < 0.2
        < abs(again.of_all[judged[4]] - own.of_all[judged[4]])
    )


def test_labels_that_say_nothing_are_ignored_and_good_ones_used() -> None:
    rng = np.random.default_rng(4)
    truth = (rng.random(400) < 0.3).astype(float)
    noise = rng.integers(0, 4, 400).astype(float)
    judged = np.arange(200)
    ones = np.ones(200)
    blind = predict(label_indicators(noise[None]), judged, truth[judged, None], ones)
    assert np.ptp(blind.of_all) < 0.2
    seeing = predict(label_indicators(np.stack([truth, noise])), judged, truth[judged, None], ones)
    assert np.abs(seeing.of_all[:, 0] - truth).max() < 0.2


@pytest.mark.parametrize("judge", ["gpt-4", "shuffled"])
def test_intervals_contain_the_truth_as_often_as_they_say(judge: str) -> None:
    frame, lists = whole_frame("gpt-4" if judge == "shuffled" else judge)
    if judge == "shuffled":
        frame = shuffled(frame)
    covered = replay("P(rel=2)@10", frame, lists, 300, 40, seed=2)
    assert 0.9 < covered.runs.mean() < 0.985
    assert 0.92 < covered.pairs.mean() < 0.975


@pytest.mark.parametrize("errors", ERRORS)
def test_intervals_contain_the_truth_whatever_the_errors_of_a_machine(errors: str) -> None:
    """A collection with complete judgments, and labels of which a fifth is wrong."""
    made = sample(topics=30, groups=4, systems=2, documents=200, length=40, pool_depth=20, seed=11)
    whole = build_frame(made.qrels, [], DEFAULT_POLICIES)
    frame, lists = first_ranks(whole, lists_of(made.runs, whole, DEFAULT_POLICIES)[0], 10)
    own = replace(frame, labels=simulated_labels(frame, lists, errors, 0.2))
    assert 0.03 < (own.labels[0] != own.grades).mean() < 0.4
    covered = replay("P@10", own, lists, 200, 100, seed=3)
    assert 0.92 < covered.runs.mean() < 0.985
    assert 0.92 < covered.pairs.mean() < 0.98


def test_intervals_for_topics_like_these_contain_the_mean_of_all_such_topics() -> None:
    frame, lists = whole_frame("gpt-4")
    covered = replay("P(rel=2)@10", frame, lists, 300, 60, seed=4, topics=True)
    assert 0.9 < covered.runs.mean() < 0.98
    assert 0.92 < covered.pairs.mean() < 0.97


def test_labels_of_a_good_judge_shrink_the_error_as_promised() -> None:
    frame, lists = whole_frame("gpt-4")
    with_labels = replay("P(rel=2)@10", frame, lists, 300, 40, seed=2).error
    alone, _ = whole_frame()
    people = replay("P(rel=2)@10", alone, lists, 300, 40, seed=2).error
    nothing = replay("P(rel=2)@10", shuffled(frame), lists, 300, 40, seed=2).error
    # A mean-centered uniform sample of 300 of the union of the first tens has .1258.
    assert with_labels < 0.72 * 0.1258
    assert nothing < 1.05 * people


@pytest.mark.long
@pytest.mark.parametrize("name", ["P(rel=2)@10", "RBP", "DCG@10"])
@pytest.mark.parametrize("judge", ["gpt-4", "gpt-4o", "llama", "shuffled"])
@pytest.mark.parametrize("size", [150, 300, 600])
def test_coverage_of_linear_measures(name: str, judge: str, size: int) -> None:
    frame, lists = whole_frame("gpt-4" if judge == "shuffled" else judge)
    if judge == "shuffled":
        frame = shuffled(frame)
    covered = replay(name, frame, lists, size, 5000, seed=11)
    assert 0.935 < covered.pairs.mean() < 0.965
    assert 0.93 < covered.runs.mean() < 0.97
