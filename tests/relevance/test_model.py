"""The model of relevance: its fit against a general optimizer, its draws against the posterior."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit
from tests.selection.small import draw_lists, draw_runs, lists_of

from sounding.relevance import regression
from sounding.relevance.grades import DrawnGrades
from sounding.relevance.model import (
    FLAT,
    FUSION,
    MOST_UNSEEN,
    UNSEEN,
    Evidence,
    Features,
    RunWeightedBelief,
    RunWeights,
    generator,
)
from sounding.relevance.regression import FUSED, LEVEL, RUNS_TOTAL, Regression, Spreads
from sounding.runs.ranking import Values
from sounding.runs.topic_lists import TopicLists, topic_lists


def draw_problem(seed: int, judged: int) -> tuple[Features, Evidence, list[TopicLists]]:
    rng = np.random.default_rng(seed)
    lists = [draw_lists(rng, runs=3, depth=20, documents=40) for _ in range(4)]
    features = Features.of(lists)
    documents = rng.permutation(len(features.topic))[:judged]
    return features, Evidence(documents, rng.random(judged) < 0.4), lists


def dense(features: Features) -> np.ndarray:
    """Rows of all features, followed by the same again for each topic."""
    rows = features.rows.astype(np.float64)
    own = np.eye(features.topics)[features.topic]
    return np.hstack([rows, (own[:, :, np.newaxis] * rows[:, np.newaxis]).reshape(len(rows), -1)])


def prior(features: Features, spreads: Spreads) -> tuple[np.ndarray, np.ndarray]:
    """Means and precisions of all weights, those of topics last."""
    runs = features.rows.shape[1] - 2
    by_topic = [spreads.level, spreads.slope, *[spreads.by_topic] * runs] * features.topics
    mean = np.array([LEVEL[0], FUSED[0], *[RUNS_TOTAL / runs] * runs, *[0.0] * len(by_topic)])
    spread = np.array([LEVEL[1], FUSED[1], *[spreads.run] * runs, *by_topic])
    return mean, spread**-2


def fitted(features: Features, evidence: Evidence) -> RunWeightedBelief:
    return RunWeights(features).fitted(evidence)


def all_weights(belief: RunWeightedBelief) -> np.ndarray:
    """The weights, then what every topic adds."""
    found = belief.solution
    added = np.zeros((belief.features.topics, len(found.weights)))
    added[found.topics] = found.added
    return np.concatenate([found.weights, added.ravel()])


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
    ours = fitted(features, evidence)
    rows, (mean, precision) = dense(features)[evidence.documents], prior(features, ours.solution.spreads)

    def cost(weights: np.ndarray) -> float:
        odds = rows @ weights
        misfit = np.logaddexp(0, np.where(evidence.relevant, -odds, odds)).sum()
        return float(misfit + precision @ (weights - mean) ** 2 / 2)

    wanted = minimize(cost, mean, method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(all_weights(ours), wanted, atol=2e-5)


@pytest.mark.parametrize("seed", range(5))
def test_the_fit_is_found_where_whole_steps_would_miss_it(seed: int) -> None:
    # Hundreds of documents far from where the search begins: whole Newton steps go back and forth there.
    rng = np.random.default_rng(seed)
    lists = [draw_lists(rng, runs=12, depth=60, documents=300) for _ in range(8)]
    features = Features.of(lists)
    documents = rng.permutation(len(features.topic))[:600]
    evidence = Evidence(documents, features.rows[documents, 3] < rng.choice([0.2, 0.5]))
    ours = fitted(features, evidence)
    rows, (mean, precision) = dense(features)[documents], prior(features, ours.solution.spreads)
    weights = all_weights(ours)
    slope = rows.T @ (evidence.relevant - expit(rows @ weights)) - precision * (weights - mean)
    assert np.abs(slope).max() < 1e-3


def test_topics_are_fitted_the_same_however_they_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    # Topics with fewer judgments than features take another way to the same result.
    features, evidence, _ = draw_problem(4, 60)
    judged = features.rows[evidence.documents], features.topic[evidence.documents], evidence.relevant
    whole = Regression.of(*judged).solved(regression.SPREADS)
    monkeypatch.setattr(regression, "_CELLS", 1)
    alone = Regression.of(*judged)
    assert [len(chunk.topics) for chunk in alone.chunks] == [1] * 4
    for ours, wanted in zip(alone.solved(regression.SPREADS), whole, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(wanted), rtol=1e-6, atol=1e-9)


def test_a_fit_to_nearly_the_same_judgments_needs_second_derivatives_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, evidence, _ = draw_problem(4, 60)
    documents, relevant = evidence.documents, evidence.relevant
    whole = Regression.of(features.rows[documents], features.topic[documents], relevant)
    wanted = whole.solved(regression.SPREADS)
    kept = np.arange(len(documents)) % 50 > 0
    documents, relevant = documents[kept], relevant[kept]
    near = Regression.of(features.rows[documents], features.topic[documents], relevant).solved(wanted.spreads)
    topics: list[int] = []
    core = regression._core

    def counted(rows: regression.Stack, by_topic: Values) -> regression.Stack:
        topics.append(len(rows))
        return core(rows, by_topic)

    monkeypatch.setattr(regression, "_core", counted)
    for ours, from_center in zip(whole.solved(wanted.spreads, near), wanted, strict=True):
        np.testing.assert_allclose(np.asarray(ours), np.asarray(from_center), rtol=1e-5, atol=1e-5)
    assert sum(topics) == 4


@pytest.mark.parametrize("judgments", [2, 30])
def test_what_a_topic_contributes_is_the_same_by_both_ways(judgments: int) -> None:
    rng = np.random.default_rng(judgments)
    rows, precision = rng.normal(size=(3, judgments, 8)), rng.uniform(0.5, 30, 8)
    among = rows.transpose(0, 2, 1) @ rows
    own = np.linalg.inv(among + np.diag(precision))
    np.testing.assert_allclose(regression._core(rows, precision), among - among @ own @ among, atol=1e-9)


def test_draws_have_the_covariance_of_the_posterior() -> None:
    features, evidence, lists = draw_problem(3, 40)
    belief = fitted(features, evidence)
    rows, (_, precision) = dense(features), prior(features, belief.solution.spreads)
    judged = rows[evidence.documents]
    chance = expit(judged @ all_weights(belief))
    inverse = np.linalg.inv((judged.T * (chance * (1 - chance))) @ judged + np.diag(precision))
    odds, size = belief.drawn(40_000, (5,)), lists[0].size
    parts = [odds.of_topic(slice(0, size), 0), odds.of_topic(slice(size, size + lists[1].size), 1)]
    both = np.concatenate(parts).astype(np.float64)
    of_both = rows[: len(both)]
    wanted = of_both @ inverse @ of_both.T
    np.testing.assert_allclose(np.cov(both), wanted, atol=5 * wanted.max() * np.sqrt(2 / 40_000))
    middle = of_both @ all_weights(belief)
    np.testing.assert_allclose(both.mean(axis=1), middle, atol=5 * np.sqrt(wanted.max() / 40_000))


def test_the_precision_of_a_level_is_that_of_the_posterior_given_all_other_weights() -> None:
    features, evidence, _ = draw_problem(3, 40)
    belief = fitted(features, evidence)
    rows, (_, precision) = dense(features)[evidence.documents], prior(features, belief.solution.spreads)
    chance = expit(rows @ all_weights(belief))
    whole = (rows.T * (chance * (1 - chance))) @ rows + np.diag(precision)
    columns = features.rows.shape[1]
    for topic in range(4):
        own = columns * (topic + 1)
        assert belief.level_precision(topic) == pytest.approx(whole[own, own])


def test_a_topic_without_judgments_is_drawn_from_the_prior() -> None:
    features, _, lists = draw_problem(3, 40)
    judged = (features.topic < 3).nonzero()[0]
    belief = fitted(features, Evidence(judged, judged % 3 == 0))
    found, begin = belief.solution, int(np.searchsorted(features.topic, 3))
    assert found.topics.tolist() == [0, 1, 2]
    odds = belief.drawn(40_000, (2,)).of_topic(slice(begin, begin + lists[3].size), 3).astype(np.float64)
    rows = features.rows[begin:].astype(np.float64)
    wanted = np.linalg.inv(found.schur) + np.diag(belief.deviations**2)
    spread = ((rows @ wanted) * rows).sum(axis=1)
    np.testing.assert_allclose(odds.var(axis=1), spread, rtol=0.05)
    chance = belief.probability[begin:]
    np.testing.assert_allclose(chance, expit(odds).mean(axis=1), atol=0.02)


def test_probabilities_are_means_over_the_draws() -> None:
    features, evidence, lists = draw_problem(9, 25)
    belief = fitted(features, evidence)
    odds = belief.drawn(20_000, (1,)).of_topic(slice(0, lists[0].size), 0)
    np.testing.assert_allclose(belief.probability[: lists[0].size], expit(odds).mean(axis=1), atol=0.02)


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
    weights = ours.solution.weights
    assert weights[2] > weights[4:].max() > weights[3]
    assert ours.probability[good].mean() > ours.probability[~good].mean() + 0.3


def test_spreads_are_what_the_judgments_show() -> None:
    # What a run is worth differs by topic in one set of judgments, and is the same everywhere in the other.
    retrieved = draw_runs(6, runs=4, topics=24, depth=30, documents=120)
    features = Features.of(topic_lists(retrieved, 30))
    everything, near = np.arange(len(features.topic)), features.rows[:, 2] > 0.2
    by_topic = np.where(features.topic % 2 == 0, near, ~near)
    differing = fitted(features, Evidence(everything, by_topic)).solution.spreads
    alike = fitted(features, Evidence(everything, near)).solution.spreads
    assert differing.by_topic > 2 * alike.by_topic


def test_unseen_documents_come_in_proportion_to_new_ones() -> None:
    features, evidence, _ = draw_problem(9, 25)
    more = fitted(features, evidence).drawn(40_000, (1,)).unseen(0)
    assert np.median(more) == pytest.approx(np.expm1(UNSEEN / 3**0.5 * 0.6745), rel=0.05)
    assert 0 <= more.min() < more.max() == MOST_UNSEEN


def test_a_topic_without_the_best_grade_seldom_gets_it_and_sure_documents_are_better() -> None:
    topic = np.repeat([0, 1], 200)
    odds = np.tile(np.linspace(-3, 3, 200), 2)
    number = np.where(topic == 0, 1, np.where(odds > 0, 2, 1))
    drawn = DrawnGrades.of(number, np.arange(400), odds, topic, (2, 2), 100, (7,))
    rng, draws = generator("relevance", 1), np.repeat(np.arange(100), 200)

    def share(of: int, first: int) -> np.ndarray:
        grades = drawn.of_topic(of, np.tile(np.arange(first, first + 200), 100), draws, rng)
        return (grades.reshape(100, 200) == 2).mean(axis=0)

    assert share(0, 0).mean() < 0.1
    second = share(1, 200)
    assert second[150:].mean() > 0.7 > 0.3 > second[:50].mean()
