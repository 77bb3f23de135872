"""Contrasts over topics against enumeration, and their family-wise error rate."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sounding.statistics.contrasts import contrasts_over_topics


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
