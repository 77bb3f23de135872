"""Equivalence and non-inferiority against statsmodels, SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.conftest import require

from sounding.runs.pairs import all_pairs
from sounding.statistics import anova
from sounding.statistics.pairwise import pairwise_tests
from sounding.statistics.testing import Equivalence


def run(
    values: NDArray[np.float64], margin: float, test: str = "t", correction: str | None = "none"
) -> Equivalence:
    found = pairwise_tests(
        values, all_pairs(len(values)), test=test, correction=correction, margin=margin,
        permutations=99, rng=np.random.default_rng(0),
    ).equivalence  # fmt: skip
    assert found is not None
    return found


def table(runs: int, topics: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(topics)
    return rng.beta(1, 3, topics) + rng.normal(0, 0.1, (runs, topics))


@pytest.mark.parametrize("topics", [2, 10, 50])
def test_equivalence_is_statsmodels_paired_tost(topics: int) -> None:
    theirs = require("statsmodels.stats.weightstats")
    values = table(3, topics)
    ours = run(values, 0.05)
    for number, (a, b) in enumerate(all_pairs(3).tolist()):
        p, lower, _ = theirs.ttost_paired(values[a], values[b], -0.05, 0.05)
        assert ours.p[number] == pytest.approx(p, rel=1e-9)
        assert ours.noninferior_p[number] == pytest.approx(lower[1], rel=1e-9)


def test_non_inferiority_is_a_one_sided_t_test_of_a_shifted_difference() -> None:
    values = table(2, 25)
    theirs = stats.ttest_rel(values[0] + 0.03, values[1], alternative="greater").pvalue
    assert run(values, 0.03).noninferior_p[0] == pytest.approx(theirs)


def test_swapping_the_runs_keeps_equivalence_and_turns_non_inferiority_round() -> None:
    values = table(2, 25)
    forth, back = run(values, 0.05), run(values[::-1], 0.05)
    assert forth.p == pytest.approx(back.p)
    assert np.maximum(forth.noninferior_p, back.noninferior_p) == pytest.approx(forth.p)


@pytest.mark.parametrize("test", ["anova", "anova2", "tukey"])
def test_pooled_tests_use_the_pooled_error(test: str) -> None:
    values = table(4, 20)
    variance = anova.one_way(values) if test == "anova" else anova.two_way(values)
    gap = values[0].mean() - values[1].mean()
    t = (0.05 - abs(gap)) / variance.standard_error
    ours = run(values, 0.05, test, None)
    assert ours.p[0] == pytest.approx(stats.t.sf(t, variance.omnibus.df_error))
    assert "pooled error" in ours.method


def test_equal_runs_are_equivalent_as_far_as_their_number_of_topics_tells() -> None:
    values = np.repeat(table(1, 10), 2, axis=0)
    ours = run(values, 0.01)
    assert ours.p.tolist() == [0.5**10]
    assert run(values + np.array([[0.02], [0.0]]), 0.01).p.tolist() == [1.0]


def test_p_is_corrected_as_that_of_differences() -> None:
    values = table(3, 20)
    ours = run(values, 0.08, "t", "bonferroni")
    assert ours.p_adjusted == pytest.approx(np.minimum(1, 3 * ours.p))
    assert ours.noninferior_p_adjusted == pytest.approx(np.minimum(1, 3 * ours.noninferior_p))
    assert ours.method == "two one-sided paired t tests, margin 0.08; correction bonferroni"
    assert run(values, 0.08, "randomization", "max-t").method.endswith("correction holm")


def test_a_wider_margin_is_easier_to_keep() -> None:
    values = table(2, 20)
    p = [float(run(values, margin).p[0]) for margin in (0.01, 0.03, 0.1, 10.0)]
    assert p == sorted(p, reverse=True)
    assert p[-1] > 0
