"""The run-weighted model: its fit against a general optimizer, its draws against the posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tests.selection.small import draw_lists, draw_runs, lists_of

from sounding.relevance import model
from sounding.relevance.model import (
    FLAT,
    FUSED,
    FUSION,
    LEVEL,
    RUN,
    TOPIC_SPREAD,
    Evidence,
    Features,
    RunWeightedBelief,
    RunWeights,
)
from sounding.runs.topic_lists import TopicLists, topic_lists


def draw_problem(seed: int, judged: int) -> tuple[Features, Evidence, list[TopicLists]]:
    rng = np.random.default_rng(seed)
    lists = [draw_lists(rng, runs=3, depth=20, documents=40) for _ in range(4)]
    features = Features.of(lists)
    documents = rng.permutation(len(features.topic))[:judged]
    return features, Evidence(documents, rng.random(judged) < 0.4), lists


def dense(features: Features) -> np.ndarray:
    """Rows of all features with one column more for each topic."""
    return np.hstack([features.rows.astype(np.float64), np.eye(features.topics)[features.topic]])


def prior(features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Means and precisions of all weights, those of topics last."""
    runs = features.rows.shape[1] - 2
    mean = np.array([LEVEL[0], FUSED[0], *[RUN[0]] * runs, *[0.0] * features.topics])
    spread = np.array([LEVEL[1], FUSED[1], *[RUN[1]] * runs, *[TOPIC_SPREAD] * features.topics])
    return mean, spread**-2


def fitted(features: Features, evidence: Evidence) -> RunWeightedBelief:
    belief = RunWeights(features).fitted(evidence)
    assert isinstance(belief, RunWeightedBelief)
    return belief


def test_features_are_ranks_of_every_run_and_of_all_together() -> None:
    features = Features.of([lists_of([[0, 1], [1]], 2), lists_of([[], [5]], 2)])
    near = np.log((2 + FLAT) / (FLAT + np.array([1, 2])))
    np.testing.assert_allclose(features.rows[:, 2], [near[0], near[1], 0], rtol=1e-6)
    np.testing.assert_allclose(features.rows[:, 3], [0, near[0], near[0]], rtol=1e-6)
    fused = np.log([1 / (FUSION + 1), 1 / (FUSION + 2) + 1 / (FUSION + 1), 1 / (FUSION + 1)])
    np.testing.assert_allclose(features.rows[:, 1], (fused - fused.mean()) / fused.std(), rtol=1e-4)
    assert features.topic.tolist() == [0, 0, 1]


@pytest.mark.parametrize("judged", [0, 1, 7, 60])
def test_the_fit_is_the_one_of_a_general_optimizer(judged: int) -> None:
    features, evidence, _ = draw_problem(judged, judged)
    rows, (mean, precision) = dense(features)[evidence.documents], prior(features)

    def cost(weights: np.ndarray) -> float:
        odds = rows @ weights
        return float(
            np.logaddexp(0, np.where(evidence.relevant, -odds, odds)).sum()
            + precision @ (weights - mean) ** 2 / 2
        )

    wanted = minimize(cost, mean, method="BFGS", options={"gtol": 1e-8}).x
    ours = fitted(features, evidence)
    np.testing.assert_allclose(np.concatenate([ours.weights, ours.levels]), wanted, atol=2e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_found_where_whole_steps_would_miss_it(seed: int) -> None:
    # Hundreds of documents far from where the search begins: whole Newton steps go back and forth there.
    rng = np.random.default_rng(seed)
    lists = [draw_lists(rng, runs=12, depth=60, documents=300) for _ in range(8)]
    features = Features.of(lists)
    documents = rng.permutation(len(features.topic))[:600]
    evidence = Evidence(documents, dense(features)[documents, 3] < rng.choice([0.2, 0.5]))
    ours = fitted(features, evidence)
    rows, (mean, precision) = dense(features)[documents], prior(features)
    weights = np.concatenate([ours.weights, ours.levels])
    slope = rows.T @ (evidence.relevant - expit(rows @ weights)) - precision * (weights - mean)
    assert np.abs(slope).max() < 1e-3


def test_draws_have_the_covariance_of_the_posterior() -> None:
    features, evidence, lists = draw_problem(3, 40)
    belief = fitted(features, evidence)
    rows, (_, precision) = dense(features), prior(features)
    chance = expit(rows[evidence.documents] @ np.concatenate([belief.weights, belief.levels]))
    judged = rows[evidence.documents]
    inverse = np.linalg.inv((judged.T * (chance * (1 - chance))) @ judged + np.diag(precision))
    odds = belief.drawn(40_000, (5,))
    size = lists[0].size
    both = np.concatenate([
        odds.of_topic(slice(0, size), 0), odds.of_topic(slice(size, size + lists[1].size), 1)
    ]).astype(np.float64)  # fmt: skip
    of_both = rows[: len(both)]
    wanted = of_both @ inverse @ of_both.T
    error = 5 * wanted.max() * np.sqrt(2 / 40_000)
    np.testing.assert_allclose(np.cov(both), wanted, atol=error)
    middle = of_both @ np.concatenate([belief.weights, belief.levels])
    np.testing.assert_allclose(both.mean(axis=1), middle, atol=5 * np.sqrt(wanted.max() / 40_000))


def test_probabilities_are_means_over_the_draws() -> None:
    features, evidence, lists = draw_problem(9, 25)
    belief = fitted(features, evidence)
    odds = belief.drawn(20_000, (1,)).of_topic(slice(0, lists[0].size), 0)
    np.testing.assert_allclose(belief.probability[: lists[0].size], expit(odds).mean(axis=1), atol=0.02)


def test_probabilities_do_not_depend_on_how_many_documents_are_looked_at_in_one_go(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, evidence, _ = draw_problem(9, 25)
    whole = fitted(features, evidence).probability
    monkeypatch.setattr(model, "_BLOCK", 7)
    np.testing.assert_allclose(fitted(features, evidence).probability, whole, rtol=1e-12)
    assert len(whole) == len(features.topic) > 3 * 7


def test_the_same_seed_gives_the_same_draws_and_another_one_others() -> None:
    features, evidence, lists = draw_problem(2, 12)
    belief = fitted(features, evidence)
    part = slice(0, lists[0].size)
    first = belief.drawn(50, (1, 8)).of_topic(part, 0)
    np.testing.assert_array_equal(first, belief.drawn(50, (1, 8)).of_topic(part, 0))
    assert (first != belief.drawn(50, (1, 9)).of_topic(part, 0)).any()
    assert (first != belief.drawn(50, (1, 8)).of_topic(part, 1)).any()


def test_a_run_that_finds_relevant_documents_is_believed_more_than_one_that_does_not() -> None:
    retrieved = draw_runs(6, runs=4, topics=12, depth=30, documents=120)
    features = Features.of(topic_lists(retrieved, 30))
    good = features.rows[:, 2] > features.rows[:, 3]
    ours = fitted(features, Evidence(np.arange(len(good)), good))
    assert ours.weights[2] > ours.weights[4:].max() > ours.weights[3]
    assert ours.probability[good].mean() > ours.probability[~good].mean() + 0.3
