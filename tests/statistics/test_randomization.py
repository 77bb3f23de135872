"""Randomization by sign flips and max-T against SciPy, enumeration and plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sounding.runs import pairs
from sounding.runs.pairs import all_pairs
from sounding.statistics import randomization as flips
from sounding.statistics.pairwise import PairTests, Procedure, pairwise_tests
from sounding.statistics.randomization import interval_flips

SEED = 7


def table(runs: int, topics: int, *, seed: int = SEED, steps: int | None = None) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    values = np.clip(rng.beta(1, 3, topics) + rng.normal(0, 0.15, (runs, topics)), 0, 1)
    return values if steps is None else np.round(values * steps) / steps


def run(
    values: NDArray[np.float64], *, correction: str = "none", permutations: int = 999, alpha: float = 0.05
) -> PairTests:
    return pairwise_tests(
        values, all_pairs(len(values)), correction=correction, permutations=permutations,
        alpha=alpha, rng=np.random.default_rng(SEED),
    )  # fmt: skip


def enumerated_p(gaps: NDArray[np.float64]) -> float:
    """Share of all sign flips with a sum as far from 0."""
    observed = abs(gaps.sum())
    signs = itertools.product((-1, 1), repeat=len(gaps))
    return float(np.mean([abs(np.dot(sign, gaps)) >= observed - 1e-9 for sign in signs]))


@pytest.mark.parametrize("topics", [2, 3, 7, 11])
@pytest.mark.parametrize("steps", [None, 5, 10])
def test_few_topics_are_enumerated_ties_and_all(topics: int, steps: int | None) -> None:
    values = table(4, topics, steps=steps)
    result = run(values, permutations=1)
    for number, (a, b) in enumerate(result.pairs.tolist()):
        assert result.p[number] == pytest.approx(enumerated_p(values[a] - values[b]), abs=1e-12)
    assert f"all {2**topics:,} sign flips" in result.method


def test_the_exact_test_is_scipys() -> None:
    values = table(2, 10)
    theirs = stats.permutation_test(
        (values[0], values[1]), lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples", n_resamples=2**10, vectorized=True,
    )  # fmt: skip
    assert run(values).p[0] == pytest.approx(theirs.pvalue)


def test_as_many_permutations_as_arrangements_are_all_of_them() -> None:
    values = table(2, 14)
    assert "all 16,384 sign flips" in run(values, permutations=16_384).method
    assert "16,383 sign flips, seed 7" in run(values, permutations=16_383).method


def test_drawn_flips_count_the_observed_arrangement() -> None:
    values = np.vstack([np.linspace(0.5, 1, 40), np.zeros(40)])  # never again as far from 0
    assert run(values).p.tolist() == [1 / 1000]


def test_drawn_flips_come_near_to_all_flips() -> None:
    values = table(4, 16)
    exact = run(values, permutations=2**16).p
    drawn = run(values, permutations=20_000).p
    assert np.all(np.abs(drawn - exact) <= 4 * np.sqrt(exact * (1 - exact) / 20_000))


def test_drawn_flips_call_rounded_ties_ties() -> None:
    gaps = np.zeros(30)
    gaps[:3] = [0.1, 0.2, -0.3]  # sums to 5.6e-17: every flip is as far from 0 or farther
    assert run(np.vstack([gaps, np.zeros(30)])).p.tolist() == [1.0]
    gaps[:3] = [0.1, 0.2, 0.3]  # 2 of 8 arrangements, whatever the values they are differences of
    offset = np.random.default_rng(0).random(30)
    p = run(np.vstack([gaps + offset, offset]), permutations=9_999).p[0]
    assert p == pytest.approx(0.25, abs=0.02)


def one_sided_p(gaps: NDArray[np.float64], shift: float) -> float:
    """Share of all sign flips of the shifted differences with as large a sum."""
    moved = gaps - shift
    signs = itertools.product((-1, 1), repeat=len(gaps))
    return float(np.mean([np.dot(sign, moved) >= moved.sum() - 1e-12 for sign in signs]))


@pytest.mark.parametrize("topics", [6, 9, 12])
def test_the_interval_holds_the_shifts_that_neither_one_sided_test_rejects(topics: int) -> None:
    values = table(2, topics)
    gaps = values[0] - values[1]
    result = run(values, alpha=0.1)
    low, high = float(result.ci_low[0]), float(result.ci_high[0])
    assert one_sided_p(gaps, low - 1e-6) <= 0.05 < one_sided_p(gaps, low + 1e-6)
    assert one_sided_p(-gaps, -high - 1e-6) <= 0.05 < one_sided_p(-gaps, -high + 1e-6)


def test_too_few_topics_set_no_limits() -> None:
    result = run(table(2, 5))
    assert (result.ci_low[0], result.ci_high[0]) == (-np.inf, np.inf)  # 1 of 32 is more than .025


def test_the_drawn_interval_is_near_the_t_interval() -> None:
    values = table(5, 60)
    ours = run(values, permutations=5_000)
    students = pairwise_tests(values, ours.pairs, test="t", rng=np.random.default_rng(0))
    length = students.ci_high - students.ci_low
    assert np.all(np.abs(ours.ci_low - students.ci_low) < 0.1 * length)
    assert np.all(np.abs(ours.ci_high - students.ci_high) < 0.1 * length)


@pytest.mark.parametrize("missing", [0, 1])
def test_the_size_of_blocks_changes_nothing(missing: int, monkeypatch: pytest.MonkeyPatch) -> None:
    values = table(9, 40, steps=10)
    if missing:
        values[2, 5] = np.nan
    whole = run(values, correction="max-t")
    monkeypatch.setattr(pairs, "BLOCK", 2_500)
    monkeypatch.setattr(flips, "KEPT_BITS", 0)
    monkeypatch.setattr(flips, "FLIPS_AT_ONCE", 17)
    again = run(values, correction="max-t")
    for name in ("p", "p_adjusted", "ci_low", "ci_high"):
        assert np.array_equal(getattr(whole, name), getattr(again, name)), name


@pytest.mark.parametrize("steps", [None, 10])
@pytest.mark.parametrize("permutations", [999, 2**12])
def test_single_precision_counts_as_double_does(
    steps: int | None, permutations: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = table(14, 12 if permutations > 999 else 40, steps=steps)
    values[1] = values[0] + 1e-7 * np.arange(values.shape[1])  # hardly different
    values[3] = values[2]
    values[5] = values[4] + 1e-3 * (np.arange(values.shape[1]) == 7)
    rough = run(values, correction="max-t", permutations=permutations)
    monkeypatch.setattr(flips, "_by_runs", flips._by_pairs)
    precise = run(values, correction="max-t", permutations=permutations)
    for name in ("p", "p_adjusted", "ci_low", "ci_high"):
        assert np.array_equal(getattr(rough, name), getattr(precise, name)), name


def test_pairs_with_few_common_topics_are_enumerated_beside_the_drawn_ones() -> None:
    values = table(3, 30)
    values[2, 6:] = np.nan
    result = run(values)
    for number, (a, b) in enumerate(result.pairs.tolist()):
        if 2 in (a, b):
            alone = run(values[[a, b], :6], permutations=64)
            assert result.p[number] == alone.p[0]
            limits = (result.ci_low[number], result.ci_high[number])
            assert limits == pytest.approx((alone.ci_low[0], alone.ci_high[0]), abs=1e-11)
        else:
            assert result.topics[number] == 30


def test_missing_topics_are_as_if_they_were_not_there() -> None:
    values = table(2, 30)
    gappy = np.insert(values, [4, 9, 9, 20], np.nan, axis=1)
    gappy[0, [4, 10]] = 0.5  # one run has a value: not a common topic
    ours, plain = run(gappy, permutations=9_999), run(values, permutations=9_999)
    assert ours.topics.tolist() == [30]
    assert ours.difference == pytest.approx(plain.difference)
    assert ours.p == pytest.approx(plain.p, abs=0.02)
    assert ours.ci_low == pytest.approx(plain.ci_low, abs=0.02)


def test_a_missing_topic_changes_no_enumerated_p_or_interval() -> None:
    values = table(3, 9)
    values[2, [1, 4]] = np.nan
    result = run(values, alpha=0.1)
    alone = run(np.delete(values, [1, 4], axis=1)[1:], alpha=0.1)
    assert result.p[2] == pytest.approx(alone.p[0])
    assert result.ci_low[2] == pytest.approx(alone.ci_low[0], abs=1e-11)
    assert result.ci_high[2] == pytest.approx(alone.ci_high[0], abs=1e-11)
    assert np.isfinite(alone.ci_low[0])


@pytest.mark.parametrize("alpha", [0.05, 0.01, 0.001])
def test_interval_and_p_agree_but_for_chance_at_every_level(alpha: float) -> None:
    """0 lies outside the interval where p, up to three standard errors of its draws, is at most alpha."""
    rng = np.random.default_rng(3)
    values = np.concatenate([np.zeros((1, 40)), rng.normal(0, 0.1, (60, 40))])
    values[1:] += np.linspace(0, 0.1, 60)[:, np.newaxis]
    chosen = np.column_stack([np.arange(1, 61), np.zeros(60, np.intp)])
    draws = Procedure(alpha=alpha, correction="none").draws(2)
    found = pairwise_tests(
        values, chosen, correction="none", alpha=alpha, permutations=draws, rng=np.random.default_rng(1)
    )
    outside = (found.ci_low > 0) | (found.ci_high < 0)
    used = min(draws, interval_flips(alpha))
    error = 3 * np.sqrt(alpha * (1 - alpha) * 2 / used)
    sure = np.abs(found.p - alpha) > error
    assert np.array_equal(outside[sure], found.significant[sure])
    assert outside.any()
    assert not outside.all()
    assert np.count_nonzero(sure) > 50
    # By the paired t test, which is nearly the same here, limits lie as far from the mean.
    t = pairwise_tests(values, chosen, test="t", correction="none", alpha=alpha, rng=np.random.default_rng(1))
    ratio = (found.ci_high - found.ci_low) / (t.ci_high - t.ci_low)
    assert ratio == pytest.approx(1, abs=0.15)


def plain_max_t(values: NDArray[np.float64], chosen: NDArray[np.intp]) -> list[float]:
    """Step-down max-T over all sign flips, pair by pair."""
    gaps = values[chosen[:, 0]] - values[chosen[:, 1]]

    def t(some: NDArray[np.float64]) -> NDArray[np.float64]:
        """|sum| over the root of the sum of squares: |t| but for a rising function, on the same topics."""
        size = np.sqrt(np.nansum(some**2, axis=1))
        return np.abs(np.nansum(some, axis=1)) / np.where(size > 0, size, 1.0)

    observed = t(gaps)
    order = np.argsort(-observed)
    signs = list(itertools.product((-1, 1), repeat=values.shape[1]))
    flipped = np.array([t(gaps * np.array(sign)) for sign in signs])
    p, least = np.empty(len(gaps)), 0.0
    for place, pair in enumerate(order.tolist()):
        largest = flipped[:, order[place:]].max(axis=1)
        least = max(least, float(np.mean(largest >= observed[pair] * (1 - 1e-9))))
        p[pair] = least
    return p.tolist()


@pytest.mark.parametrize("missing", [0, 3])
def test_max_t_compares_with_the_largest_t_of_the_pairs_that_are_left(missing: int) -> None:
    for seed in range(12):
        values = table(4, 7, seed=seed)
        values[3] += 0.1
        values[0, :missing] = np.nan
        result = run(values, correction="max-t")
        assert result.p_adjusted.tolist() == pytest.approx(plain_max_t(values, result.pairs), abs=1e-12)


def test_where_all_flips_were_made_only_topics_can_help() -> None:
    few = run(table(3, 5), correction="holm").limit
    assert few.endswith("the smallest possible p is 0.0625 times 3 pairs (holm). Use at least 7 topics")
    assert run(table(3, 6), correction="holm").limit.endswith("at least 7 topics or correction max-t")


def test_max_t_rejects_where_holm_cannot() -> None:
    values = table(12, 30)
    values[0] += 0.3
    joint = run(values, correction="max-t", permutations=999)
    stepwise = run(values, correction="holm", permutations=999)
    assert joint.significant.sum() >= 11
    assert not stepwise.significant.any()
    assert "999 draws can show is 0.001 times 66 pairs (holm)" in stepwise.limit
    assert stepwise.limit.endswith("at least 1,319 permutations or correction max-t")
    assert (joint.limit, joint.notes) == ("", ())


def test_where_hardly_any_draw_may_reach_a_pair_a_reader_is_told_that_the_seed_decides() -> None:
    values = table(12, 30)
    values[0] += 0.3
    (note,) = run(values, correction="holm", permutations=1_319).notes
    assert note == (
        "significance may change with the seed: 1,319 permutations are few for holm over 66 pairs (11 of them"
        " significant); use 26,400 permutations or correction max-t"
    )
    # 66 pairs, 11 of them significant: the next is significant with up to 26,400 / 20 / 56 - 1 = 22 draws.
    assert run(values, correction="holm", permutations=26_399).notes == ()
    assert run(values, correction="none", permutations=1_319).notes == ()
    assert run(values[1:3], correction="holm", permutations=1_319).notes == ()


def test_one_pair_with_few_common_topics_takes_no_power_from_the_others() -> None:
    values = table(12, 30)
    values[0] += 0.3
    whole = run(values[:10], correction="max-t", permutations=2_000)
    values[11, 3:] = np.nan
    values[[10, 11], :3] = [[0.5], [0.7]]  # the same on 3 topics: t is infinite in every fourth arrangement
    gappy = run(values, correction="max-t", permutations=2_000)
    others = (gappy.pairs < 10).all(axis=1)
    assert whole.significant.sum() == 9
    assert gappy.significant[others].tolist() == whole.significant.tolist()
    assert not gappy.significant[(gappy.pairs == 11).any(axis=1)].any()


def test_max_t_of_one_pair_is_its_own_p_however_few_of_the_topics_it_has() -> None:
    values = table(2, 30)
    values[1, 8:] = np.nan
    result = run(values, correction="max-t")
    assert result.p_adjusted.tolist() == result.p.tolist()
    assert (result.p * 2**8 % 2).tolist() == [0.0]


@pytest.mark.parametrize("topics", [3, 6, 9])
def test_max_t_with_constant_and_zero_differences_is_that_of_all_flips(topics: int) -> None:
    values = table(5, topics, steps=4)
    values[1] = values[0]  # equal
    values[2] = values[0] + 0.25  # the same on every topic: as far from 0 as it can be
    result = run(values, correction="max-t")
    assert result.p_adjusted.tolist() == pytest.approx(plain_max_t(values, result.pairs), abs=1e-12)
    place = result.pairs.tolist().index([0, 2])
    assert result.p_adjusted[place] == 2 / 2**topics
    assert result.p_adjusted[0] == 1
