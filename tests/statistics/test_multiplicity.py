"""Corrections against statsmodels, SciPy and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.conftest import require

from sounding.statistics.testing import CORRECTIONS, benjamini_hochberg, bonferroni, holm

THEIR_NAMES = {"bonferroni": "bonferroni", "holm": "holm", "bh": "fdr_bh"}


@pytest.mark.parametrize("name", THEIR_NAMES)
@pytest.mark.parametrize("count", [1, 2, 30])
def test_adjusted_p_are_those_of_statsmodels(name: str, count: int) -> None:
    theirs = require("statsmodels.stats.multitest")
    for seed in range(5):
        p = np.round(np.random.default_rng(seed).beta(0.3, 2, count), 2)  # with ties, and 0
        assert CORRECTIONS[name](p) == pytest.approx(theirs.multipletests(p, method=THEIR_NAMES[name])[1])


def test_by_hand() -> None:
    p = np.array([0.04, 0.01, 0.03, 0.5])
    assert bonferroni(p) == pytest.approx([0.16, 0.04, 0.12, 1.0])
    assert holm(p) == pytest.approx([0.09, 0.04, 0.09, 0.5])
    assert benjamini_hochberg(p) == pytest.approx([0.04 * 4 / 3, 0.04, 0.04 * 4 / 3, 0.5])
    assert CORRECTIONS["none"](p).tolist() == p.tolist()


def test_false_discovery_is_scipys() -> None:
    p = np.random.default_rng(0).random(50) ** 2
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))


@pytest.mark.parametrize("name", CORRECTIONS)
def test_no_correction_lowers_a_p_or_changes_their_order(name: str) -> None:
    p = np.random.default_rng(1).random(40) ** 3
    adjusted = CORRECTIONS[name](p)
    assert np.all(adjusted >= p)
    assert np.all(adjusted <= 1)
    assert np.all(np.diff(adjusted[np.argsort(p)]) >= 0)
