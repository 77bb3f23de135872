"""The candidate for the relevance model: its fit against a general optimizer, its draws against the posterior."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.relevance_candidate import (
    MOST_UNSEEN,
    RUNS_TOTAL,
    UNSEEN,
    DrawnGrades,
    RunWeightedBelief,
    Spreads,
    drawn_values,
    fit,
    random_numbers,
)
from scipy.optimize import minimize
from scipy.special import expit
from tests.measures.regrading_data import draw_qrels
from tests.measures.regrading_data import draw_runs as draw_whole_runs
from tests.selection.small import draw_lists, draw_runs

from sounding.measures import parse_measures
from sounding.measures.regrading import read_regrading
from sounding.relevance.model import FUSED, LEVEL, Evidence, Features
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


def all_weights(belief: RunWeightedBelief) -> np.ndarray:
    """The weights, then what every topic adds."""
    added = np.zeros((belief.features.topics, len(belief.weights)))
    added[belief.topics] = belief.added
    return np.concatenate([belief.weights, added.ravel()])


@pytest.mark.parametrize("judged", [0, 1, 60])
def test_the_fit_is_the_one_of_a_general_optimizer(judged: int) -> None:
    features, evidence, _ = draw_problem(judged, judged)
    ours = fit(features, evidence)
    rows, (mean, precision) = dense(features)[evidence.documents], prior(features, ours.spreads)

    def cost(weights: np.ndarray) -> float:
        odds = rows @ weights
        misfit = np.logaddexp(0, np.where(evidence.relevant, -odds, odds)).sum()
        return float(misfit + precision @ (weights - mean) ** 2 / 2)

    wanted = minimize(cost, mean, method="BFGS", options={"gtol": 1e-8}).x
    np.testing.assert_allclose(all_weights(ours), wanted, atol=2e-5)


def test_draws_have_the_covariance_of_the_posterior() -> None:
    features, evidence, lists = draw_problem(3, 40)
    belief = fit(features, evidence)
    rows, (_, precision) = dense(features), prior(features, belief.spreads)
    judged = rows[evidence.documents]
    chance = expit(judged @ all_weights(belief))
    inverse = np.linalg.inv((judged.T * (chance * (1 - chance))) @ judged + np.diag(precision))
    odds, size = belief.drawn(40_000, (5,)), lists[0].size
    parts = [odds.of_topic(slice(0, size), 0), odds.of_topic(slice(size, size + lists[1].size), 1)]
    both = np.concatenate(parts).astype(np.float64)
    of_both = rows[: len(both)]
    wanted = of_both @ inverse @ of_both.T
    np.testing.assert_allclose(np.cov(both), wanted, atol=5 * wanted.max() * np.sqrt(2 / 40_000))


def test_spreads_are_what_the_judgments_show() -> None:
    # What a run is worth differs by topic in one set of judgments, and is the same everywhere in the other.
    retrieved = draw_runs(6, runs=4, topics=24, depth=30, documents=120)
    features = Features.of(topic_lists(retrieved, 30))
    everything, near = np.arange(len(features.topic)), features.rows[:, 2] > 0.2
    by_topic = np.where(features.topic % 2 == 0, near, ~near)
    differing = fit(features, Evidence(everything, by_topic)).spreads
    alike = fit(features, Evidence(everything, near)).spreads
    assert differing.by_topic > 2 * alike.by_topic


def test_unseen_documents_come_in_proportion_to_new_ones() -> None:
    features, evidence, _ = draw_problem(9, 25)
    more = fit(features, evidence).drawn(40_000, (1,)).unseen(0)
    assert np.median(more) == pytest.approx(np.expm1(UNSEEN / 3**0.5 * 0.6745), rel=0.05)
    assert 0 <= more.min() < more.max() == MOST_UNSEEN


def test_a_topic_without_the_best_grade_seldom_gets_it_and_sure_documents_are_better() -> None:
    topic = np.repeat([0, 1], 200)
    odds = np.tile(np.linspace(-3, 3, 200), 2)
    number = np.where(topic == 0, 1, np.where(odds > 0, 2, 1))
    drawn = DrawnGrades.of(number, np.arange(400), odds, topic, (2, 2), 100, (7,))
    rng, draws = random_numbers("relevance", 1), np.repeat(np.arange(100), 200)

    def share(of: int, first: int) -> np.ndarray:
        grades = drawn.of_topic(of, np.tile(np.arange(first, first + 200), 100), draws, rng)
        return (grades.reshape(100, 200) == 2).mean(axis=0)

    assert share(0, 0).mean() < 0.1
    second = share(1, 200)
    assert second[150:].mean() > 0.7 > 0.3 > second[:50].mean()


def test_where_all_is_judged_every_draw_is_what_is_known() -> None:
    regrading = read_regrading(draw_qrels(1), draw_whole_runs(1))
    nothing, measures = np.zeros(len(regrading.retrieved.docs), np.bool_), parse_measures(("AP", "nDCG@5"))
    present = regrading.values(measures, regrading.view())
    values = drawn_values(regrading, regrading.view(), nothing, measures, draws=3)
    for draw in range(3):
        assert values[:, :, draw] == pytest.approx(present, nan_ok=True)
