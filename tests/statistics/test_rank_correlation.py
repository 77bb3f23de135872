"""Kendall's tau and tau_ap: by hand, published, SciPy's, and averaged over every way to break ties."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats
from tests.statistics.breaking_ties import as_values, tie_breaks, tied_vectors

from sounding.core.errors import UnknownNameError
from sounding.statistics import rank_correlation as pairwise
from sounding.statistics.rank_correlation import agreement_matrix, kendall_tau, tau_ap

# Values that the authors of the treatments of ties published with their R package ircor (its test data).
SETS: list[dict[str, list[float]]] = [
    {
        "x": [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        "y": [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
        "x_tied": [0.9, 0.4, 0.9, 0.9, 0.7, 0.1, 0.2, 0.4, 0.5, 1],
        "y_tied": [0.8, 0.4, 0.8, 1, 0.7, 0.1, 0.4, 0.5, 0.6, 1],
    },
    {
        "x": [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
        "y": [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
        "x_tied": [0.3, 0.6, 0.2, 0.9, 0.6, 0.2, 0.7, 0.8, 0.7, 0.4],
        "y_tied": [0.3, 0.8, 0.7, 0.9, 0.1, 0.1, 0.5, 0.6, 1, 0.6],
    },
    {
        "x": [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        "y": [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
        "x_tied": [0.2, 0.6, 0.9, 0.1, 0.5, 0.6, 0.8, 0.4, 1, 0.4],
        "y_tied": [0.8, 0.3, 0.3, 0.9, 0.6, 0.3, 0.2, 0.9, 0, 0.2],
    },
]


def untied_tau_ap(reference: Sequence[int], other: Sequence[int]) -> float:
    """From its definition: the chance that a system above a random one of `other` belongs above it."""
    place = {system: rank for rank, system in enumerate(reference)}
    shares = [
        mean(place[above] < place[system] for above in other[:rank])
        for rank, system in enumerate(other)
        if rank > 0
    ]
    return 2 * mean(shares) - 1


def untied_tau(first: Sequence[int], second: Sequence[int]) -> float:
    """From its definition: +1 for a pair in the same order, -1 for one in opposite order."""
    signs = [
        1 if second.index(one) < second.index(other) else -1
        for one, other in itertools.combinations(first, 2)
    ]
    return mean(signs)


@pytest.mark.parametrize(
    ("other", "tau", "ap"),
    [
        # Reference a b c d. b a d c: 2 of 6 pairs are swapped: (4 - 2) / 6. Of the systems above it, a has
        # 0 of 1 right, d 2 of 2, c 2 of 3: 2/3 x (0 + 1 + 2/3) - 1 = 1/9.
        ("badc", 2 / 6, 1 / 9),
        ("bacd", 4 / 6, 2 / 3 * (0 + 1 + 1) - 1),  # a swap at the top: 1/3
        ("abdc", 4 / 6, 2 / 3 * (1 + 1 + 2 / 3) - 1),  # the same at the bottom: 7/9
        ("abcd", 1.0, 1.0),
        ("dcba", -1.0, -1.0),
    ],
)
def test_values_worked_by_hand(other: str, tau: float, ap: float) -> None:
    values = as_values(["abcd".index(letter) for letter in other])
    for variant in ("a", "b"):
        assert kendall_tau([4, 3, 2, 1], values, variant=variant) == pytest.approx(tau)
    assert tau_ap([4, 3, 2, 1], values) == pytest.approx(ap)


def test_ties_worked_by_hand() -> None:
    # a > b > c against a = b > c: of 3 pairs 2 agree and 1 ties.
    first, second = [3, 2, 1], [2, 2, 1]
    assert kendall_tau(first, second, variant="a") == pytest.approx(2 / 3)
    assert kendall_tau(first, second, variant="b") == pytest.approx(2 / np.sqrt(3 * 2))
    # Broken as a b c: 1. As b a c: 2/2 x (0 + 1) - 1 = 0. The mean is 1/2.
    assert tau_ap(first, second) == pytest.approx(1 / 2)
    # b: below the second's topmost group stands c, with 2 of 2 right: 1. Below the first's stand b, whose
    # one pair is tied and so not agreed on, 0 of 1, and c, 2 of 2: 2/2 x (0 + 1) - 1 = 0. The mean is 1/2.
    assert tau_ap(first, second, variant="b") == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    ("number", "plain", "symmetric", "tied_a", "tied_b"),
    [
        (0, 0.8519, 0.8333, 0.7454, 0.7321),
        (1, 0.2504, 0.2880, 0.2692, 0.297),
        (2, -0.6971, -0.668, -0.5558, -0.7047),
    ],
)
def test_tau_ap_has_its_published_values(
    number: int, plain: float, symmetric: float, tied_a: float, tied_b: float
) -> None:
    data = SETS[number]
    x, y, x_tied, y_tied = data["x"], data["y"], data["x_tied"], data["y_tied"]
    close: Any = {"abs": 5e-5}
    assert tau_ap(x, y) == pytest.approx(plain, **close)
    assert tau_ap(x, y, variant="symmetric") == pytest.approx(symmetric, **close)
    assert tau_ap(x, y, variant="b") == pytest.approx(symmetric, **close)
    assert tau_ap(x, y_tied) == pytest.approx(tied_a, **close)
    assert tau_ap(x_tied, y_tied, variant="b") == pytest.approx(tied_b, **close)
    assert tau_ap(y_tied, x_tied, variant="b") == pytest.approx(tied_b, **close)


@given(vectors=tied_vectors(most=5))
def test_variants_a_are_means_over_every_way_to_break_ties(vectors: tuple[list[float], list[float]]) -> None:
    first, second = vectors
    broken = [(one, other) for one in tie_breaks(first) for other in tie_breaks(second)]
    assume(len(broken) <= 300)
    expected = mean(untied_tau_ap(one, other) for one, other in broken)
    assert tau_ap(first, second) == pytest.approx(expected, abs=1e-12)
    backwards = mean(untied_tau_ap(other, one) for one, other in broken)
    assert tau_ap(first, second, variant="symmetric") == pytest.approx((expected + backwards) / 2, abs=1e-12)
    tau = mean(untied_tau(one, other) for one, other in broken)
    assert kendall_tau(first, second, variant="a") == pytest.approx(tau, abs=1e-12)


@given(vectors=tied_vectors(most=30))
def test_tau_b_is_that_of_scipy(vectors: tuple[list[float], list[float]]) -> None:
    first, second = vectors
    if len(set(first)) > 1 and len(set(second)) > 1:
        expected = stats.kendalltau(first, second).statistic
        assert kendall_tau(first, second) == pytest.approx(expected, abs=1e-12)
    else:
        assert np.isnan(kendall_tau(first, second))


@given(
    values=st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20, unique_by=lambda value: round(value, 3))
)
def test_an_ordering_agrees_with_itself_fully_and_with_its_reverse_not_at_all(values: list[float]) -> None:
    reverse = [-value for value in values]
    for name in ("tau_a", "tau_b", "tau_ap", "tau_ap_symmetric", "tau_ap_b"):
        found = agreement_matrix([values, reverse], [values], name)[:, 0]
        assert found == pytest.approx([1, -1]), name


@given(vectors=tied_vectors())
def test_the_b_variants_are_1_for_an_ordering_with_ties_and_itself(
    vectors: tuple[list[float], list[float]],
) -> None:
    values = vectors[0]
    if len(set(values)) > 1:
        assert kendall_tau(values, values) == 1
        assert tau_ap(values, values, variant="b") == pytest.approx(1)


@given(vectors=tied_vectors(most=12), order=st.randoms(use_true_random=False))
def test_the_order_of_systems_makes_no_difference(
    vectors: tuple[list[float], list[float]], order: Any
) -> None:
    first, second = map(np.array, vectors)
    shuffled = list(range(len(first)))
    order.shuffle(shuffled)
    for name in ("tau_a", "tau_b", "tau_ap", "tau_ap_symmetric", "tau_ap_b"):
        before = agreement_matrix([first], [second], name)
        after = agreement_matrix([first[shuffled]], [second[shuffled]], name)
        np.testing.assert_allclose(after, before, atol=1e-12)


def test_pairs_taken_a_few_at_a_time_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random((4, 9)).round(1), rng.random((5, 9)).round(1)
    names = ("tau_a", "tau_b", "tau_ap", "tau_ap_b")
    whole = {name: agreement_matrix(first, second, name) for name in names}
    monkeypatch.setattr(pairwise, "PAIRS_AT_ONCE", 5)
    for name in names:
        np.testing.assert_allclose(agreement_matrix(first, second, name), whole[name], atol=1e-12)


def test_an_unknown_variant_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownNameError, match="unknown variant of tau: 'c'; known: a, b"):
        kendall_tau([1, 2], [1, 2], variant="c")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="unknown variant of tau_ap: 'w'; known: a, b, symmetric"):
        tau_ap([1, 2], [1, 2], variant="w")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["tau_ap", "tau_ap_symmetric", "tau_ap_b"])
def test_rounding_takes_no_tau_ap_beyond_its_limits(name: str) -> None:
    rng = np.random.default_rng(0)
    for systems in range(2, 60):
        untied = rng.permutation(systems).astype(float)
        assert agreement_matrix([untied], [untied, -untied], name).tolist() == [
            [pytest.approx(1, abs=1e-12), pytest.approx(-1, abs=1e-12)]
        ]
        tied = rng.integers(0, 1 + systems // 2, (40, systems)).astype(float)
        found = agreement_matrix(tied, tied, name)
        assert not (np.abs(found) > 1).any()
