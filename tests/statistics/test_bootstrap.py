"""The bootstrap against SciPy's intervals from the same resamples, and a plain loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from sounding.runs import pairs
from sounding.runs.pairs import all_pairs
from sounding.statistics import bootstrap
from sounding.statistics.pairwise import PairTests, pairwise_tests

RESAMPLES = 499


def table(runs: int, topics: int, *, steps: int | None = None) -> NDArray[np.float64]:
    rng = np.random.default_rng(topics)
    values = np.clip(rng.beta(1, 3, topics) + rng.gamma(0.3, 0.3, (runs, topics)), 0, 1)
    return values if steps is None else np.round(values * steps) / steps


def run(values: NDArray[np.float64], test: str = "bootstrap") -> PairTests:
    return pairwise_tests(
        values, all_pairs(len(values)), test=test, correction="none",
        permutations=RESAMPLES, rng=np.random.default_rng(3),
    )  # fmt: skip


def weights(topics: int) -> NDArray[np.float64]:
    """The resamples that `run` draws."""
    seed = int(np.random.default_rng(3).integers(2**63))
    drawn = bootstrap.draw_weights(topics, RESAMPLES, np.random.default_rng([seed, topics]))
    return drawn.astype(np.float64)


@dataclass
class Drawn:
    """What SciPy wants to see of an earlier bootstrap."""

    bootstrap_distribution: NDArray[np.float64]


@pytest.mark.parametrize(("test", "method"), [("bootstrap", "BCa"), ("bootstrap-percentile", "percentile")])
@pytest.mark.parametrize(("topics", "steps"), [(25, None), (60, None), (8, 8), (16, 4), (64, 8)])
def test_intervals_are_scipys_from_the_same_resamples(
    test: str, method: Any, topics: int, steps: int | None
) -> None:
    # SciPy compares means bit by bit: with ties, only means that have no rounding agree.
    values = table(3, topics, steps=steps)
    result = run(values, test)
    for number, (a, b) in enumerate(result.pairs.tolist()):
        gaps = values[a] - values[b]
        drawn: Any = Drawn(weights(topics) @ gaps / topics)
        theirs = stats.bootstrap(
            (gaps,), np.mean, n_resamples=0, method=method, bootstrap_result=drawn
        ).confidence_interval
        limits = (result.ci_low[number], result.ci_high[number])
        assert limits == pytest.approx((theirs.low, theirs.high), abs=1e-9)


def test_every_resample_draws_as_many_topics_as_there_are() -> None:
    drawn = weights(40)
    assert set(drawn.sum(axis=1).tolist()) == {40.0}
    assert drawn.mean(axis=0) == pytest.approx(np.ones(40), abs=0.2)
    assert drawn.var() == pytest.approx(1, abs=0.1)


def test_p_is_the_share_of_resampled_t_about_the_mean_that_reach_the_observed_t() -> None:
    values = table(2, 12)
    gaps = values[0] - values[1]
    observed = abs(gaps.mean()) / gaps.std()
    reached = 1
    for row in weights(12).astype(int):
        sample = np.repeat(gaps, row)
        reached += abs(sample.mean() - gaps.mean()) >= observed * sample.std() * (1 - 1e-9)
    assert run(values).p[0] == pytest.approx(reached / (RESAMPLES + 1))


def test_the_size_of_blocks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    values = table(6, 20)
    values[1, 3] = np.nan
    whole = run(values)
    monkeypatch.setattr(pairs, "BLOCK", 1_100)
    monkeypatch.setattr(bootstrap, "KEPT_WEIGHTS", 0)
    again = run(values)
    assert np.array_equal(whole.p, again.p)
    assert whole.ci_low == pytest.approx(again.ci_low, abs=1e-12)


def test_missing_topics_are_as_if_they_were_not_there() -> None:
    values = table(2, 20)
    gappy = np.insert(values, [4, 9], np.nan, axis=1)
    assert np.array_equal(run(values).p, run(gappy).p)
