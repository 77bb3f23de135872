"""The Anderson-Darling test beside those of other packages."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import anderson
from tests.conftest import require

from sounding.simulate.experiments import normality

diagnostic = require("statsmodels.stats.diagnostic")


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize("seed", range(12))
def test_statistic_and_p_are_those_of_scipy_and_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = [rng.normal(3, 2, 300), rng.standard_t(4, 300), rng.uniform(size=40), rng.exponential(size=30)][
        seed % 4
    ]
    found = normality(values)
    assert found is not None
    assert found.statistic == pytest.approx(anderson(values).statistic)
    assert found.p == pytest.approx(diagnostic.normal_ad(values)[1], rel=1e-9)
    assert found.standardized.mean() == pytest.approx(0, abs=1e-12)
    assert found.standardized.std(ddof=1) == pytest.approx(1)


def test_normal_values_are_rejected_as_often_as_the_level_says() -> None:
    rng = np.random.default_rng(3)
    rejected = 0
    for _ in range(400):
        found = normality(rng.normal(size=50))
        assert found is not None
        rejected += found.p <= 0.05
    assert 8 <= rejected <= 33  # 20 are expected


def test_values_that_do_not_vary_cannot_be_tested() -> None:
    assert normality(np.full(9, 0.3)) is None
