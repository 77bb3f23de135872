"""Contrasts over topics against enumeration, and their family-wise error rate."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest

from sounding.statistics.contrasts import contrasts_over_topics, permuted_within_groups


def test_p_values_are_those_of_all_arrangements_of_signs() -> None:
    values = np.array([[0.4, 0.1, 0.3, 0.2, -0.1, 0.3], [0.1, -0.2, 0.3, -0.1, 0.0, 0.1]])
    own = contrasts_over_topics(values)
    scaled = values / np.sqrt((values**2).sum(axis=1, keepdims=True))
    sums = np.array([scaled @ np.array(signs) for signs in product([1, -1], repeat=6)])
    seen = scaled.sum(axis=1)
    assert own.p == pytest.approx((sums >= seen - 1e-9).mean(axis=0))
    # The larger contrast against the larger of both; the other one alone, but never below the first.
    first = (sums.max(axis=1) >= seen[0] - 1e-9).mean()
    assert own.p_adjusted == pytest.approx([first, max(first, (sums[:, 1] >= seen[1] - 1e-9).mean())])
    assert own.means == pytest.approx(values.mean(axis=1))
    # Student's t of 5 degrees of freedom: 2.5706.
    reach = 2.570582 * values[0].std(ddof=1) / np.sqrt(6)
    assert own.low[0] == pytest.approx(values[0].mean() - reach)


def test_the_chance_of_any_false_alarm_is_what_it_says() -> None:
    rng = np.random.default_rng(2)
    alarms = [
        contrasts_over_topics(rng.standard_t(5, (10, 12)) + rng.normal(size=12), seed=n).p_adjusted.min()
        <= 0.05
        for n in range(300)
    ]
    assert 0.02 < np.mean(alarms) < 0.085


def test_a_contrast_of_zero_everywhere_is_no_evidence() -> None:
    own = contrasts_over_topics(np.zeros((2, 8)))
    assert own.p.tolist() == own.p_adjusted.tolist() == [1, 1]


def test_permutations_within_groups_are_those_of_all_orders() -> None:
    group = np.array([0, 1, 0, 1, 0, 1, 1])
    scores = np.array([0.9, 0.2, 0.1, 0.6, 0.5, 0.0, 0.3])
    weights = np.array([[3.0, -1, -2, 2, -1, -1, 0], [1.0, 0, -2, 1, 1, 1, -2]])
    first, second = (group == 0).nonzero()[0], (group == 1).nonzero()[0]
    orders = []
    for one, other in product(permutations(scores[first]), permutations(scores[second])):
        shuffled = np.empty(7)
        shuffled[first], shuffled[second] = one, other
        orders.append(weights @ shuffled)
    sums = np.array(orders) / np.std(orders, axis=0)
    seen = weights @ scores / np.std(orders, axis=0)
    p, adjusted = permuted_within_groups(weights, scores, group, draws=20_000)
    assert p == pytest.approx((sums >= seen - 1e-9).mean(axis=0), abs=0.01)
    assert seen[0] > seen[1]
    both = (sums.max(axis=1) >= seen[0] - 1e-9).mean()
    assert adjusted == pytest.approx([both, max(both, p[1])], abs=0.01)
    same = permuted_within_groups(weights, scores, np.arange(7))
    assert [one.tolist() for one in same] == [[1, 1], [1, 1]]  # nothing can be permuted
