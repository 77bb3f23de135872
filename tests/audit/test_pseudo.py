"""Rankings without judgments: popularity by brute force, random judgments by their limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from tests.audit.random_runs import Trial, trial

from sounding.audit.judged_runs import read_judged_runs
from sounding.audit.pseudo import (
    average_precision,
    drawn_documents,
    popularity,
    rankings_without_judgments,
)
from sounding.evaluate.evaluation import evaluate


@pytest.mark.parametrize("seed", range(3))
def test_popularity_is_the_mean_overlap_with_the_other_runs(seed: int) -> None:
    made = trial(seed)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = popularity(runs.retrieved)
    for place, run in enumerate(runs.runs):
        overlaps = []
        for other in runs.runs:
            if other == run:
                continue
            shared = []
            for topic in made.judged:
                a, b = set(made.ranked[run].get(topic, {})), set(made.ranked[other].get(topic, {}))
                if a | b:
                    shared.append(len(a & b) / len(a | b))
            overlaps.append(np.mean(shared))
        assert found[place] == pytest.approx(np.mean(overlaps))


def test_one_run_is_like_nobody() -> None:
    made = trial(0, runs=2)
    runs = read_judged_runs(made.qrels, made.runs[:1], info=made.info)
    assert np.isnan(popularity(runs.retrieved)).all()
    found = rankings_without_judgments(runs, draws=2)
    assert all(np.isnan(tau) for tau in found.tau().values())


def test_without_a_pool_random_judgments_alone_are_not_known() -> None:
    made = trial(2)
    info = {name: replace(row, pooled=False) for name, row in made.info.items()}
    with_pool, without = (
        rankings_without_judgments(read_judged_runs(made.qrels, made.runs, info=rows), draws=2)
        for rows in (made.info, info)
    )
    assert np.isnan(without.random).all()
    assert np.isnan(without.tau()["random"])
    for name in ("performance", "assessment", "popularity"):
        np.testing.assert_array_equal(getattr(without, name), getattr(with_pool, name))
    for name in ("assessment", "popularity"):
        assert without.tau()[name] == with_pool.tau()[name]


def test_where_all_of_the_pool_is_relevant_random_judgments_are_the_pool() -> None:
    made = trial(1)
    judged = {topic: {doc: 1 for doc in own if doc != "unseen"} for topic, own in made.judged.items()}
    full = Trial(judged, made.ranked, made.info)
    runs = read_judged_runs(full.qrels, full.runs, info=full.info)
    found = rankings_without_judgments(runs, draws=3)
    np.testing.assert_allclose(found.random, evaluate(full.qrels, full.runs, ["AP"]).mean()[:, 0], rtol=1e-12)
    np.testing.assert_allclose(found.performance, found.random, rtol=1e-12)


def test_a_seed_gives_the_same_draws_and_another_one_others() -> None:
    made = trial(2)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    first, again, other = (rankings_without_judgments(runs, draws=5, seed=seed) for seed in (0, 0, 1))
    assert first.random.tolist() == again.random.tolist()
    assert first.random.tolist() != other.random.tolist()


def test_every_topic_gets_at_least_one_pseudo_relevant_document() -> None:
    made = trial(1)
    judged = {topic: dict.fromkeys(own, 0) for topic, own in made.judged.items()}
    runs = read_judged_runs(Trial(judged, made.ranked, made.info).qrels, made.runs, info=made.info)
    found = rankings_without_judgments(runs, draws=1)
    assert found.random.max() > 0
    assert found.performance.max() == 0


def test_drawn_shares_are_normal_and_documents_equally_likely() -> None:
    topic = np.repeat([0, 2], [400, 200])  # topic 1 has no document in the pool
    rng = np.random.default_rng(5)
    draws = np.array([drawn_documents(rng, topic, 3, mean=0.3, deviation=0.05) for _ in range(2000)])
    shares = np.stack([draws[:, topic == 0].mean(axis=1), draws[:, topic == 2].mean(axis=1)], axis=1)
    assert shares.mean(axis=0) == pytest.approx([0.3, 0.3], abs=0.005)
    assert shares.std(axis=0) == pytest.approx([0.05, 0.05], abs=0.004)
    assert abs(np.corrcoef(shares.T)[0, 1]) < 0.08
    assert draws.mean(axis=0).min() > 0.25
    assert draws.mean(axis=0).max() < 0.35


def test_the_mean_of_many_draws_is_what_drawing_in_a_loop_gives() -> None:
    made = trial(3, topics=6)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info)
    found = rankings_without_judgments(runs, draws=400).random
    rng = np.random.default_rng(8)
    shares = [sum(g >= 1 for g in own.values()) / len(own) for own in made.judged.values()]
    means = []
    for _ in range(400):
        drawn: dict[str, dict[str, float]] = {}
        for topic, own in made.judged.items():
            pool = sorted(set(own) - {"unseen"})
            size = round(rng.normal(np.mean(shares), np.std(shares, ddof=1)) * len(pool))
            drawn[topic] = dict.fromkeys(
                rng.choice(pool, min(max(size, 1), len(pool)), replace=False).tolist(), 1.0
            )
        means.append(evaluate(drawn, made.runs, ["AP"]).mean()[:, 0])
    error = np.std(means, axis=0) / 20
    assert (np.abs(found - np.mean(means, axis=0)) < 6 * error).all()


def test_tau_is_with_map_at_the_level_and_new_runs_have_no_part() -> None:
    made = trial(0)
    runs = read_judged_runs(made.qrels, made.runs, info=made.info, level=2)
    found = rankings_without_judgments(runs, draws=2)
    expected = evaluate(made.qrels, made.runs, ["AP(rel=2)"]).mean()[:, 0]
    np.testing.assert_allclose(average_precision(runs), expected, rtol=1e-12)
    assert found.tau()["popularity"] == pytest.approx(stats.kendalltau(expected, found.popularity).statistic)
    assert found.frame.columns == ["run", "kind", "performance", "assessment", "random", "popularity"]
