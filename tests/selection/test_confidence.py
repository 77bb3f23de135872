"""How sure an order is, from means and covariances or from draws."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import norm
from tests.selection.small import DEFINITIONS, draw_lists, rankings_in

from sounding.measures.forms import drawn_relevance, form_of, known_values
from sounding.selection.mtc.confidence import Confidence, drawn_chances, normal_chances, tempered_chances


def confidence_with(values: list[float], not_above: np.ndarray) -> Confidence:
    runs = tuple(f"run{number}" for number in range(len(values)))
    return Confidence(
        runs=runs, judgments=0, version=0, values=np.array(values), deviations=np.zeros(len(values)),
        not_above=not_above, method="normal",
    )  # fmt: skip


def test_normal_chances_are_those_of_the_difference() -> None:
    mean = np.array([0.3, 0.25, 0.25, 0.4])
    root = np.random.default_rng(1).normal(size=(4, 4))
    covariance = root @ root.T / 100
    ours = normal_chances(mean, covariance)
    for a in range(4):
        for b in range(4):
            if a != b:
                spread = np.sqrt(covariance[a, a] + covariance[b, b] - 2 * covariance[a, b])
                assert ours[a, b] == pytest.approx(norm.cdf(0, mean[a] - mean[b], spread))


def test_without_any_spread_an_order_is_certain_and_a_tie_even() -> None:
    ours = normal_chances(np.array([0.3, 0.2, 0.2]), np.zeros((3, 3)))
    np.testing.assert_array_equal(ours, [[0.5, 0, 0], [1, 0.5, 0.5], [1, 0.5, 0.5]])


def test_a_spread_that_is_only_rounding_is_none() -> None:
    # Two runs with the same documents: what is left of their variances is the last bit.
    covariance = np.full((2, 2), 0.1)
    covariance[0, 1] = covariance[1, 0] = np.nextafter(0.1, 0)
    assert normal_chances(np.array([0.2, 0.2]), covariance)[0, 1] == 0.5
    assert normal_chances(np.array([0.2 + 1e-9, 0.2]), covariance)[0, 1] == 0


def test_values_that_differ_by_rounding_alone_are_even() -> None:
    assert normal_chances(np.array([0.1 + 0.2, 0.3]), np.zeros((2, 2)))[0, 1] == 0.5


def test_drawn_chances_count_equal_values_half() -> None:
    values = np.array([[0.1, 0.2, 0.1], [0.3, 0.2, 0.3], [0.1, 0.1, 0.1], [0.2, 0.4, 0.2]])
    ours = drawn_chances(values)
    assert ours[0, 1] == (2 + 0.5) / 4
    assert ours[1, 0] == (1 + 0.5) / 4
    assert ours[0, 2] == 0.5


def test_tempered_chances_are_right_of_equal_and_of_unequal_runs() -> None:
    # Expected values miss the truth by as much as their draws do. Among runs of nearly equal quality, shares of
    # draws of .95 are then right far less often; among very different ones tempering costs hardly a claim.
    rng = np.random.default_rng(5)
    first, second = np.triu_indices(10, 1)
    found = {}
    for apart in (0.2, 12.0):
        claims = []
        for _ in range(150):
            truth = apart * rng.standard_normal(10)
            draws = truth + rng.standard_normal(10) + rng.standard_normal((200, 10))
            above = truth[first] > truth[second]
            for chances in (drawn_chances(draws), tempered_chances(draws, 1000)):
                chance = 1 - chances[first, second]
                sure = np.maximum(chance, 1 - chance) >= 0.95
                claims.append((sure.sum(), (sure & ((chance > 0.5) == above)).sum()))
        found[apart] = np.array(claims).reshape(150, 2, 2).sum(axis=0)
    (plain, plain_right), (ours, ours_right) = found[0.2]
    assert plain_right / plain < 0.85
    assert ours < 0.02 * plain or ours_right / ours >= 0.95
    (plain, _), (ours, ours_right) = found[12.0]
    assert ours > 0.95 * plain
    assert ours_right / ours > 0.97


def test_tempered_chances_fade_from_certain_to_nothing_known() -> None:
    rng = np.random.default_rng(6)
    noise = rng.standard_normal((200, 4))
    noise -= noise.mean(axis=0)
    mean = np.array([0.0, 1.0, 2.0, 3.0])
    known = tempered_chances(np.repeat(mean[np.newaxis], 200, axis=0), 50)
    np.testing.assert_array_equal(known, drawn_chances(mean[np.newaxis]))  # nothing is left to judge
    np.testing.assert_allclose(tempered_chances(mean + 9 * noise, 50), 0.5)
    chance = [tempered_chances(mean + 0.5 * noise, judgments)[0, 3] for judgments in (1, 20, 100, 1000)]
    assert chance == sorted(chance)
    assert chance[0] == 0.5
    assert chance[-1] <= drawn_chances(mean + 0.5 * noise)[0, 3]


def test_a_difference_that_judging_cannot_change_is_not_tempered() -> None:
    rng = np.random.default_rng(7)
    noise = rng.standard_normal((200, 5))
    noise[:, 1] = noise[:, 0]  # what is not judged raises both alike
    values = noise + np.array([0.1, 0.0, 0.0, 0.0, 0.0])
    found = tempered_chances(values, 50)
    assert (found[1, 0], found[0, 1]) == (1, 0)
    np.testing.assert_allclose(found[2:, 2:], 0.5)


def test_a_proof_is_certain_whatever_the_chances_say() -> None:
    ours = confidence_with([0.3, 0.2, 0.1], np.full((3, 3), 0.5))
    proven = np.zeros((3, 3), np.bool_)
    proven[0, 2] = True
    assert ours.with_proofs(proven).of_pairs()[[0, 0, 1], [1, 2, 2]].tolist() == [0.5, 1, 0.5]


def test_confidence_is_taken_in_the_direction_of_the_order() -> None:
    not_above = np.array([[0.5, 0.9, 0.2], [0.1, 0.5, 0.4], [0.8, 0.6, 0.5]])
    ours = confidence_with([0.2, 0.3, 0.1], not_above)
    assert ours.order.tolist() == [1, 0, 2]
    pairs = ours.of_pairs()
    assert pairs[0, 1] == pairs[1, 0] == pytest.approx(0.9)
    assert pairs[0, 2] == pytest.approx(0.8)
    assert pairs[1, 2] == pytest.approx(0.6)
    assert np.isnan(np.diagonal(pairs)).all()
    assert ours.of_ranking() == pytest.approx((0.9 + 0.8 + 0.6) / 3)
    np.testing.assert_allclose(ours.adjacent(), [0.9, 0.8])
    np.testing.assert_array_equal(ours.open_pairs(0.85), [[0, 2], [1, 2]])


def test_one_run_has_no_confidence_to_speak_of() -> None:
    ours = confidence_with([0.2], np.array([[0.5]]))
    assert np.isnan(ours.of_ranking())
    assert len(ours.adjacent()) == 0
    assert ours.open_pairs(0.95).shape == (0, 2)


@pytest.mark.parametrize("measure", DEFINITIONS)
def test_known_values_are_those_of_the_definitions(measure: str) -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        lists = draw_lists(rng, documents=9)
        relevant = rng.random(9) < rng.choice([0, 0.3, 0.9])
        elsewhere = int(rng.integers(0, 3))
        ours = known_values(form_of(measure, 5), [lists], relevant, np.array([elsewhere]))
        known = relevant[lists.documents].astype(int).tolist()
        wanted = [DEFINITIONS[measure](ranking, known, elsewhere) for ranking in rankings_in(lists)]
        np.testing.assert_allclose(ours[0], wanted, atol=1e-14)


def test_relevance_is_drawn_with_the_chances_of_the_log_odds() -> None:
    odds = np.repeat(np.array([[-np.inf], [-100.0], [0.0], [1.0], [np.inf]], np.float32), 20_000, axis=1)
    share = drawn_relevance(odds, 3).mean(axis=1)
    assert share[:2].tolist() == [0, 0]
    assert share[4] == 1
    np.testing.assert_allclose(share[2:4], [0.5, 1 / (1 + np.exp(-1))], atol=4 * np.sqrt(0.25 / 20_000))
