"""The chance that a conclusion holds: its parts against scipy and hand arithmetic, the whole on small cases."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import ttest_rel
from tests.measures.regrading_data import draw_qrels, draw_runs

from sounding.compare.holds import holding, holds
from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.core.text import format_chance
from sounding.data.tables import Qrels, Run
from sounding.measures import parse_measures
from sounding.measures.regrading import read_regrading
from sounding.runs.pairs import all_pairs
from sounding.runs.pool import parse_until
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.statistics.conclusions import (
    FARTHEST,
    Statistics,
    borders,
    chance_of_conclusion,
    chance_of_sign,
    pair_chances,
)


def small(seed: int = 0) -> Collection:
    return sample(topics=12, groups=5, systems=2, documents=300, length=60, pool_depth=30, seed=seed)


def table(seed: int, runs: int = 5, topics: int = 9) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Values in tenths, so that topics tie; the last two runs are the same."""
    values = np.random.default_rng(seed).integers(0, 11, (runs, topics)) / 10
    values[-1] = values[-2]
    return values


@pytest.mark.parametrize("seed", range(4))
def test_t_and_conclusions_are_those_of_scipy(seed: int) -> None:
    values, pairs = table(seed), all_pairs(5)
    found = Statistics(values, pairs)
    for place, (a, b) in enumerate(pairs.tolist()):
        if (values[a] == values[b]).all():
            assert found.t[place] == 0
            assert found.concluded(0.2)[place] == 0
            continue
        test = ttest_rel(values[a], values[b])
        assert found.t[place] == pytest.approx(test.statistic)
        side = np.sign(test.statistic) if test.pvalue <= 0.2 else 0
        assert found.concluded(0.2)[place] == side


def test_topics_that_a_run_lacks_are_left_out_and_one_topic_gives_no_t() -> None:
    values = np.array([[0.1, 0.5, np.nan], [0.2, 0.9, 0.3], [np.nan, np.nan, 0.4]])
    found = Statistics(values, all_pairs(3))
    assert found.topics.tolist() == [2, 0, 1]
    assert found.t[0] == pytest.approx(ttest_rel([0.1, 0.5], [0.2, 0.9]).statistic)
    assert np.isnan(found.t[1:]).all()
    assert np.isnan(borders(found.topics, 0.05)[1:]).all()


def test_a_difference_without_spread_is_as_far_as_it_can_be() -> None:
    found = Statistics(np.array([[0.5, 0.6], [0.4, 0.5]]), all_pairs(2))
    assert found.t.tolist() == [FARTHEST]


def test_the_chance_of_a_conclusion_by_hand() -> None:
    # Draws 1 and 3: mean 2, deviation the root of 2.
    drawn = np.array([[1.0] * 3, [3.0] * 3])
    law = NormalDist(2, 2**0.5)
    found = chance_of_conclusion(np.array([1, 0, -1], np.int8), drawn, np.full(3, 2.5))
    assert found == pytest.approx([1 - law.cdf(2.5), law.cdf(2.5) - law.cdf(-2.5), law.cdf(-2.5)])
    assert found.sum() == pytest.approx(1)


def test_the_chance_of_a_sign_by_hand() -> None:
    drawn = np.array([[0.1, 0.1, 0.0, 0.0], [0.3, 0.3, 0.0, 0.2]])
    law = NormalDist(0.2, 0.02**0.5)
    found = chance_of_sign(np.array([0.5, -0.5, 0.0, 0.0]), drawn)
    assert found == pytest.approx([1 - law.cdf(0), law.cdf(0), 1.0, 0.5])


def test_a_pair_on_which_all_draws_agree_is_certain() -> None:
    drawn = np.full((5, 2), 3.0)
    assert chance_of_conclusion(np.array([1, 0], np.int8), drawn, np.full(2, 2.0)).tolist() == [1, 0]
    assert chance_of_sign(np.array([0.2, -0.2]), drawn).tolist() == [1, 0]


def test_the_chance_is_about_the_share_of_draws() -> None:
    rng = np.random.default_rng(1)
    present = rng.random((4, 20))
    drawn = present[:, np.newaxis] + rng.normal(0, 0.3, (4, 4000, 20))
    concluded, conclusion, sign = pair_chances(present, drawn, all_pairs(4), 0.2)
    each = [Statistics(drawn[:, draw], all_pairs(4)) for draw in range(4000)]
    same = np.mean([one.concluded(0.2) == concluded for one in each], axis=0)
    ahead = np.mean([np.sign(one.difference) for one in each] == np.sign(each[0].difference * 0 + 1), axis=0)
    now = Statistics(present, all_pairs(4)).difference
    assert conclusion == pytest.approx(same, abs=0.03)
    assert sign == pytest.approx(np.where(now > 0, ahead, 1 - ahead), abs=0.03)


def test_where_everything_is_judged_everything_holds() -> None:
    made = small()
    found = holds(made.truth, made.runs, ["AP", "nDCG@10"], until="runs:60", draws=5)
    assert found.open_documents == 0
    assert (found.conclusion == 1).all()
    assert (found.sign == 1).all()


def test_the_less_is_judged_the_less_is_sure() -> None:
    made = small(1)
    means = []
    for depth in (20, 5, 1):
        ranks = np.asarray(made.qrels.pool_ranks)
        near = (ranks > 0) & (ranks <= depth)
        found = holds(made.qrels.keep(near), made.runs, ["AP"], until="runs:30")
        means.append((found.conclusion.mean(), found.sign.mean()))
    assert means == sorted(means, reverse=True)


def test_a_run_that_did_not_contribute_is_less_sure() -> None:
    """The pool without one group: its pairs are less certain than with it, and than others are."""
    rows = []
    for seed in range(4):
        made = small(seed)
        regrading = read_regrading(made.qrels, made.runs)
        group = np.array([one.group for one in made.info])
        out = group == next(one.group for one in made.info if one.pooled)
        pooled = np.array([one.pooled for one in made.info])
        until, pairs = parse_until("runs:30"), all_pairs(len(regrading.runs))
        considered = until.considered(regrading.retrieved, pooled)
        means = []
        for contributing in (pooled, pooled & ~out):
            ranks = regrading.retrieved.pick(contributing).cut(10).pool_ranks(regrading.qrels)
            view = regrading.under(np.where(ranks > 0, regrading.full, 0).astype(np.int8))
            found = holding(regrading, parse_measures(["AP"]), considered, until, view=view)
            of_group = out[pairs].any(axis=1)
            means.append(found.sign[0][of_group].mean())
        rows.append(means)
    whole, without = np.mean(rows, axis=0)
    assert without < whole - 0.01


@pytest.mark.usefixtures("any_basis")
def test_one_topic_has_a_sign_and_no_conclusion() -> None:
    runs = [Run.from_dict({"1": {f"d{n}": 9.0 - (n + shift) % 7 for n in range(7)}}, name=f"r{shift}")
            for shift in (0, 3)]  # fmt: skip
    found = holds(Qrels.from_dict({"1": {"d0": 1, "d1": 0}}), runs, ["AP"], until="runs:7")
    assert np.isnan(found.conclusion).all()
    assert ((found.sign > 0) & (found.sign < 1)).all()


@pytest.mark.usefixtures("any_basis")
def test_it_stands_data_that_hurt() -> None:
    for policies in (Policies(), Policies(missing="skip"), Policies(unjudged="bounds")):
        found = holds(
            draw_qrels(1), draw_runs(1), ["AP", "nDCG@5", "Bpref"], until="runs:10", policies=policies
        )
        assert found.conclusion.shape == (3, 15)
        for chances in (found.conclusion, found.sign):
            known = chances[np.isfinite(chances)]
            assert ((known >= 0) & (known <= 1)).all()


def test_the_seed_decides_and_processes_do_not() -> None:
    made = small(2)
    one, same, other = (
        holds(made.qrels, made.runs, ["AP"], until="runs:60", policies=Policies(seed=seed), jobs=jobs)
        for seed, jobs in ((0, 1), (0, 2), (1, 1))
    )
    assert (one.conclusion == same.conclusion).all()
    assert (one.conclusion != other.conclusion).any()


def test_some_pairs_have_the_chances_that_they_have_among_all() -> None:
    made = small(3)
    every = holds(made.qrels, made.runs, ["P@10"], until="runs:60")
    some = holds(made.qrels, made.runs, ["P@10"], until="runs:60", pairs=all_pairs(10)[[3, 7]])
    assert (some.conclusion[0] == every.conclusion[0, [3, 7]]).all()


def test_too_few_draws_are_refused_in_one_line() -> None:
    made = small()
    with pytest.raises(DataError, match=r"^draws is 1; give a whole number from 2$"):
        holds(made.qrels, made.runs, ["AP"], draws=1)


def test_chances_are_shown_with_two_decimals_and_never_as_certain() -> None:
    shown = [format_chance(chance) for chance in (0.0, 0.004, 0.5, 0.99, 0.991, 1.0, float("nan"))]
    assert shown == ["<0.01", "<0.01", "0.50", "0.99", ">0.99", ">0.99", "–"]
