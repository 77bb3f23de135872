"""What a document is worth, against the definition pair by pair of runs and of documents."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.selection.small import draw_lists, draw_probability, lists_of

from sounding.measures.forms import Form, form_of
from sounding.runs.topic_lists import TopicLists
from sounding.selection.mtc.moments import expected_sums
from sounding.selection.mtc.topic_state import if_not_relevant
from sounding.selection.mtc.weights import EVERY_PAIR, WEIGHINGS, Beliefs, Scope, heaviest

SEEDS = st.integers(0, 10**6)


def draw_beliefs(rng: np.random.Generator, lists: TopicLists) -> Beliefs:
    probability = draw_probability(rng, lists)
    certain = (probability == 0) | (probability == 1)
    unjudged = ~(certain & (rng.random(len(probability)) < 0.8))
    unjudged[-1] = False
    return Beliefs(probability, unjudged, 1 / rng.choice([0.3, 2.5]), tuple(rng.random(2).tolist()))


def coefficients(form: Form, lists: TopicLists, run: int) -> np.ndarray:
    """a_ij of one run: the weight of the lower of two documents; without pairs only of each one."""
    weight = lists.by_document(form.weights * lists.filled)[run]
    return np.minimum.outer(weight, weight) if form.pairs else np.diag(weight)


def weights_by_definition(
    name: str, form: Form, lists: TopicLists, beliefs: Beliefs, pairs: Sequence[tuple[int, int]]
) -> np.ndarray:
    p, unjudged = beliefs.probability[:-1], beliefs.unjudged[:-1]
    relevant = ~unjudged & (p == 1)
    divisor = form.divisor(float(p.sum()))[0] or 1.0
    if name == "informed":
        return informed_by_definition(form, lists, beliefs, pairs)
    best = np.zeros(lists.size)
    for a, b in pairs:
        c = coefficients(form, lists, a) - coefficients(form, lists, b)
        for i in range(lists.size):
            others = np.arange(lists.size) != i
            if name == "variance":
                growth = c[i, i] + c[i, others] @ p[others]
                worth = p[i] * (1 - p[i]) * (growth / divisor) ** 2
            else:
                if_relevant = c[i, i] + c[i, others & relevant].sum()
                if_not = c[i, i] + c[i, others & (relevant | unjudged)].sum()
                worth = max(p[i] * abs(if_relevant), (1 - p[i]) * abs(if_not))
                worth /= divisor if name == "scaled" else 1
            best[i] = max(best[i], worth)
    return best


def informed_by_definition(
    form: Form, lists: TopicLists, beliefs: Beliefs, pairs: Sequence[tuple[int, int]]
) -> np.ndarray:
    """The mean over pairs of v_i (h_i + s sum_j v_j h_j)^2, h_i what the difference gains from document i."""
    p = beliefs.probability[:-1]
    v = p * (1 - p)
    divisor, slope = form.divisor(max(float(p.sum()), 1.0))
    slope *= p.sum() > 1
    variance = 1 / (beliefs.precision + sum(beliefs.since))
    total = np.zeros(lists.size)
    for pair in pairs:
        gains = []
        for run in pair:
            a = coefficients(form, lists, run)
            alone = a.diagonal()
            growth = alone + (a - np.diag(alone)) @ p
            value = (alone @ p + (p @ (a - np.diag(alone)) @ p) / 2) / (divisor or 1.0)
            gains.append((growth - slope * value) / (divisor or 1.0))
        h = gains[0] - gains[1]
        total += v * (h + variance * (v @ h)) ** 2
    return total / len(pairs)


def scopes(runs: int) -> list[tuple[Scope, list[tuple[int, int]]]]:
    every = list(itertools.combinations(range(runs), 2))
    return [
        (EVERY_PAIR, every),
        (Scope(runs=np.array([0, 2])), [(0, 2)]),
        (Scope(runs=np.array([0, 1, 3])), [(0, 1), (0, 3), (1, 3)]),
        (Scope(baseline=1), [(1, other) for other in range(runs) if other != 1]),
        (Scope(pairs=np.array([[0, 1], [0, 3], [2, 3]])), [(0, 1), (0, 3), (2, 3)]),
    ]


@pytest.mark.parametrize("measure", ["AP", "AP@3", "P@3", "nDCG@4", "RBP(p=0.8)", "R@3", "AP(norm='b')@3"])
@pytest.mark.parametrize("name", WEIGHINGS)
@given(seed=SEEDS)
def test_weights_are_those_of_the_definition(name: str, measure: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, documents=int(rng.integers(5, 12)))
    beliefs = draw_beliefs(rng, lists)
    form = form_of(measure, 5)
    sums = expected_sums(form, lists, beliefs.probability, 0)
    unjudged = beliefs.unjudged[:-1]
    for scope, pairs in scopes(4):
        ours = WEIGHINGS[name](form, lists, beliefs, sums, scope)
        wanted = weights_by_definition(name, form, lists, beliefs, pairs)
        np.testing.assert_allclose(ours[unjudged], wanted[unjudged], atol=1e-12)


def test_the_first_document_is_the_one_that_runs_disagree_most_about() -> None:
    # Rank 1 in one run and not in the other: c_ii = 1, and all pairs with it differ by 1/2, 1/3.
    lists = lists_of([[0, 1, 2], [1, 2, 3]], 3)
    beliefs = Beliefs(np.array([0.5, 0.5, 0.5, 0.5, 0]), np.array([True] * 4 + [False]))
    form = form_of("AP", 3)
    sums = expected_sums(form, lists, beliefs.probability, 0)
    ours = WEIGHINGS["faithful"](form, lists, beliefs, sums, EVERY_PAIR)
    # w_N: document 0 has 1 + 1/2 + 1/3 against 0; 1 has 1/2 + 1/2 + 1/3 against 1 + 1/2 + 1/3.
    np.testing.assert_allclose(ours, [11 / 12, 1 / 4, 1 / 6, 1 / 2], atol=1e-15)
    assert heaviest(ours, np.arange(4)) == 0


def test_a_judgment_takes_its_share_of_a_variance_in_which_the_level_is_not_known() -> None:
    lists = lists_of([[0, 1, 2, 3, 4, 5, 6, 7], [8], [2, 9, 0]], 8)
    odds, variance = np.random.default_rng(5).normal(-0.5, 1, lists.size), 0.02
    form = form_of("P@8", 8)
    nodes, share = np.polynomial.hermite_e.hermegauss(30)
    chance = 1 / (1 + np.exp(-odds[:, np.newaxis] - np.sqrt(variance) * nodes))  # (document, level)
    share = share / share.sum()
    p = chance @ share
    covariance = (chance * share) @ chance.T - np.outer(p, p)
    np.fill_diagonal(covariance, p * (1 - p))
    weight = lists.by_document(form.weights * lists.filled)
    gone = [
        ((weight[a] - weight[b]) @ covariance) ** 2 / covariance.diagonal()
        for a, b in ((0, 1), (0, 2), (1, 2))
    ]
    beliefs = Beliefs(np.append(p, 0), np.append(np.ones(lists.size, np.bool_), False), 1 / variance)
    sums = expected_sums(form, lists, beliefs.probability, 0)
    ours = WEIGHINGS["informed"](form, lists, beliefs, sums, EVERY_PAIR)
    np.testing.assert_allclose(ours, np.mean(gone, axis=0), rtol=0.015)
    blind = Beliefs(beliefs.probability, beliefs.unjudged)
    assert np.abs(WEIGHINGS["informed"](form, lists, blind, sums, EVERY_PAIR) / ours - 1).max() > 0.02


def test_a_topic_tells_less_of_its_level_with_every_judgment() -> None:
    beliefs = Beliefs(np.append(np.full(6, 0.3), 0), np.append(np.ones(6, np.bool_), False), 0.5)
    assert beliefs.level_variance() == 2
    after = if_not_relevant(beliefs, 0)
    assert after.level_variance() == pytest.approx(1 / (0.5 + 0.21))
    assert if_not_relevant(after, 1).since == pytest.approx((0.21, 0.21))
    assert Beliefs(beliefs.probability, beliefs.unjudged).level_variance() == 0


def test_equal_weights_but_for_rounding_are_told_apart_by_the_order_given() -> None:
    weights = np.array([0.1, 0.3, 0.1 + 0.2, 0.2])
    assert weights[1] != weights[2]
    assert heaviest(weights, np.array([0, 1, 2, 3])) == 1
    assert heaviest(weights, np.array([0, 2, 1, 3])) == 2


def test_scopes_are_the_same_only_if_they_name_the_same_pairs() -> None:
    assert Scope(runs=np.array([1, 2])).same_as(Scope(runs=np.array([1, 2])))
    assert not Scope(runs=np.array([1, 2])).same_as(Scope(runs=np.array([1, 3])))
    assert not Scope(runs=np.array([1, 2])).same_as(EVERY_PAIR)
    assert not Scope(pairs=np.array([[1, 2]])).same_as(EVERY_PAIR)
    assert not Scope(baseline=0).same_as(Scope(baseline=1))
