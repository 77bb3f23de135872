"""Rank-biased overlap: by hand, published, and bounded and averaged by brute force."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import mean
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.statistics.breaking_ties import tie_breaks, tied_vectors

from sounding.core.errors import DataError, UnknownNameError
from sounding.statistics.rank_overlap import rbo, rbo_of_values

# Rows that the authors of RBO^a and RBO^b published with their code (its test data): two lists with ties,
# p, then extrapolated, minimum and maximum for w, a and b.
PUBLISHED = [
    (
        "(i5 i9 i13 i15 i16 i19 i20) (i3 i8)",
        "i6 (i4 i18) i2 i7 i8 i17 i14 (i11 i12) i1",
        0.958074765324023,
        (0.0816485573277354, 0.0370062754797617, 0.59493569657566),
        (0.0808189832771587, 0.0354671825076603, 0.593396603603558),
        (0.0813693619867344, 0.0356267307324464, 0.593556151828344),
    ),
    (
        "(i1 i3 i6 i11 i15) i17 (i5 i8)",
        "(i1 i2 i3 i4 i5 i6 i7 i8 i9 i10 i11 i12)",
        0.966485585840186,
        (0.647993254615828, 0.307897712904381, 0.853885398258049),
        (0.56593642947334, 0.250532359019861, 0.795583602856033),
        (0.658581961799868, 0.315458973083789, 0.861496368240528),
    ),
    (
        "i6 i5 (i2 i4 i7)",
        "i4 i18 i2 (i1 i5 i6 i7 i9 i14 i15 i17) i13 i11",
        0.984365085297715,
        (0.734068963712944, 0.172811297273872, 0.938656144671167),
        (0.680057896807246, 0.161475073718017, 0.926540408667145),
        (0.747819806375568, 0.169727262584421, 0.937170943665285),
    ),
    (
        "i2 i5 i3 (i1 i4)",
        "i5 i8 i2 (i3 i9)",
        0.968922741966306,
        (0.580287544332462, 0.196704918554571, 0.917454802645556),
        (0.580994268838527, 0.197411643060636, 0.918161527151621),
        (0.583518284931614, 0.199935659153723, 0.920685543244708),
    ),
    (
        "(i4 i14) i10 i9 i16 i1 (i11 i21) i7",
        "(i4 i7 i9 i10 i14 i16) i21 (i1 i11) (i3 i6 i17 i18)",
        0.980350757903177,
        (0.95731778452095, 0.350742506261885, 0.95731778452095),
        (0.939619367902257, 0.336112285552834, 0.939619367902257),
        (0.96333114711547, 0.35963910728389, 0.96333114711547),
    ),
]


def ranked(text: str) -> list[Any]:
    """A list from words; those in brackets tie."""
    found: list[Any] = []
    for part in text.replace("(", " ( ").replace(")", " ) ").split():
        if part == "(":
            found.append(set())
        elif part == ")":
            found.append(None)
        elif found and isinstance(found[-1], set):
            found[-1].add(part)
        else:
            found.append(part)
    return [item for item in found if item is not None]


def truncated(first: Sequence[Any], second: Sequence[Any], p: float) -> float:
    """RBO from its definition, as far as the lists go."""
    return sum(
        (1 - p) * p ** (depth - 1) * len(set(first[:depth]) & set(second[:depth])) / depth
        for depth in range(1, len(first) + 1)
    )


@pytest.mark.parametrize(("first", "second", "p", "w", "a", "b"), PUBLISHED)
@pytest.mark.parametrize("swapped", [False, True])
def test_lists_with_ties_have_their_published_values(
    first: str, second: str, p: float, w: Any, a: Any, b: Any, swapped: bool
) -> None:
    lists = (ranked(second), ranked(first)) if swapped else (ranked(first), ranked(second))
    for ties, expected in (("w", w), ("a", a), ("b", b)):
        found = rbo(*lists, p=p, ties=ties)  # type: ignore[arg-type]
        assert (found.extrapolated, found.minimum, found.maximum) == pytest.approx(expected, abs=1e-12)
        assert found.residual == pytest.approx(expected[2] - expected[1])


def test_the_lists_of_the_paper_worked_by_hand() -> None:
    # Webber et al., section 3: a b c d e f g and z c a v w x y share nothing at depths 1 and 2 and a, c from 3.
    p = 0.9
    agreement = [0, 0, 2 / 3, 2 / 4, 2 / 5, 2 / 6, 2 / 7]
    seen = sum((1 - p) * p**depth * share for depth, share in enumerate(agreement))
    found = rbo("abcdefg", "zcavwxy", p=p)
    # Extrapolated: 2/7 goes on, with the weight p^7 that is left.
    assert found.extrapolated == pytest.approx(seen + 2 / 7 * p**7)
    # Minimum: two stay shared at depth 8, 9, ...
    least = sum((1 - p) * p ** (depth - 1) * 2 / depth for depth in range(8, 2000))
    assert found.minimum == pytest.approx(seen + least)
    # Maximum: two more are shared at each depth: 4/8, 6/9, 8/10, 10/11, 12/12, and all from there.
    most = [4 / 8, 6 / 9, 8 / 10, 10 / 11, 12 / 12]
    rest = sum((1 - p) * p ** (7 + place) * share for place, share in enumerate(most)) + p**12
    assert found.maximum == pytest.approx(seen + rest)


def test_an_uneven_pair_worked_by_hand() -> None:
    # Webber et al., Equation 32: a b against b c a, p = 1/2. Shared: 0, 1, 2. Agreement at the shorter
    # list's end is 1/2, so of its unseen third document 1/2 is taken to be shared:
    # (2 + 1/2) / 3 = 5/6 at depth 3 and from there on.
    found = rbo("ab", "bca", p=0.5)
    assert found.extrapolated == pytest.approx(1 / 2 * 0 + 1 / 4 * 1 / 2 + 1 / 4 * 5 / 6)
    # At most the third is c: 3/3 from there on.
    assert found.maximum == pytest.approx(1 / 4 * 1 / 2 + 1 / 4)


@given(
    first=st.lists(st.integers(0, 7), min_size=1, max_size=6, unique=True),
    second=st.lists(st.integers(0, 7), min_size=1, max_size=6, unique=True),
    p=st.sampled_from([0.3, 0.8, 0.9]),
)
def test_minimum_and_maximum_are_reached_by_lists_that_go_on(
    first: list[int], second: list[int], p: float
) -> None:
    deep = 400
    found = rbo(first, second, p=p)
    apart = truncated(
        [*first, *range(1000, 1000 + deep - len(first))],
        [*second, *range(2000, 2000 + deep - len(second))],
        p,
    )
    assert found.minimum == pytest.approx(apart, abs=1e-9)
    # Each goes on with what only the other has; the shorter first with the rest of the longer, in its order.
    ours = [*first, *(item for item in second if item not in first)]
    theirs = [*second, *(item for item in first if item not in second)]
    rest = list(range(1000, 1000 + deep))
    together = truncated((ours + rest)[:deep], (theirs + rest)[:deep], p)
    assert found.maximum == pytest.approx(together, abs=1e-9)
    assert found.minimum - 1e-12 <= found.extrapolated <= found.maximum + 1e-12


@given(vectors=tied_vectors(least=1, most=5), p=st.sampled_from([0.2, 0.9]))
def test_variant_a_is_the_mean_over_every_way_to_break_ties(
    vectors: tuple[list[float], list[float]], p: float
) -> None:
    first, second = vectors
    orders = [(one, other) for one in tie_breaks(first) for other in tie_breaks(second)]
    assume(len(orders) <= 100)
    broken = [rbo(one, other, p=p) for one, other in orders]
    found = rbo_of_values(first, second, p=p)
    assert found.extrapolated == pytest.approx(mean(one.extrapolated for one in broken))
    assert found.minimum == pytest.approx(mean(one.minimum for one in broken))
    assert found.maximum == pytest.approx(mean(one.maximum for one in broken))


@given(vectors=tied_vectors(least=1, most=12))
def test_a_list_with_ties_agrees_with_itself_fully_by_w_and_b(
    vectors: tuple[list[float], list[float]],
) -> None:
    values = vectors[0]
    for ties in ("w", "b"):
        assert rbo_of_values(values, values, ties=ties).extrapolated == pytest.approx(1)


def test_lists_without_ties_are_treated_alike() -> None:
    found = [rbo("abcde", "badfgh", ties=ties) for ties in ("a", "b", "w")]
    for other in found[1:]:
        assert (other.extrapolated, other.minimum, other.maximum) == pytest.approx(
            (found[0].extrapolated, found[0].minimum, found[0].maximum)
        )


def test_values_give_the_lists_that_they_order() -> None:
    expected = rbo(["b", {"a", "d"}, "c"], [{"c", "d"}, "a", "b"], p=0.7, ties="b")
    found = rbo_of_values([2, 3, 1, 2], [2, 1, 3, 3], p=0.7, ties="b")  # a b c d
    assert (found.extrapolated, found.minimum, found.maximum) == pytest.approx(
        (expected.extrapolated, expected.minimum, expected.maximum)
    )


def test_unknown_values_give_nan() -> None:
    found = rbo_of_values([1, np.nan], [1, 2])
    assert np.isnan([found.extrapolated, found.minimum, found.maximum, found.residual]).all()


def test_bad_lists_are_refused_in_one_line() -> None:
    with pytest.raises(DataError, match="the second list has 'b' twice; expected every item once"):
        rbo("ab", ["b", {"c", "b"}])
    with pytest.raises(DataError, match="the first list is empty; expected at least one item"):
        rbo([], "ab")
    with pytest.raises(DataError, match="p of RBO is 0; expected a number above 0 and below 1"):
        rbo("a", "a", p=0)
    with pytest.raises(UnknownNameError, match="unknown treatment of ties in RBO: 'c'; known: a, b, w"):
        rbo("a", "a", ties="c")  # type: ignore[arg-type]
