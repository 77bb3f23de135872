"""TREC-8 ad hoc: the pool of the 71 pooled runs, and what strategies with a budget would have found."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sounding.collection.depth_pool import choose_contributors
from sounding.collection.foresight import foresee
from sounding.collection.replay import replay
from sounding.collection.strategies import make_strategy
from sounding.data.formats import read_qrels
from sounding.data.run_info import read_run_info
from sounding.data.tables import Qrels
from sounding.retrieved import Retrieved, read_retrieved

TENTH = {
    "depth": 0.09, "rank": 0.32, "rrf": 0.43, "move-to-front": 0.49, "global-move-to-front": 0.52,
    "max-mean": 0.57, "hedge": 0.57, "rbp-a": 0.35, "rbp-b": 0.33, "rbp-c": 0.41, "adaptive-depth": 0.32,
}  # fmt: skip


@pytest.fixture(scope="module")
def retrieved(collections: Path) -> Retrieved:
    return read_retrieved(sorted((collections / "trec8" / "runs").glob("input.*.gz")), depth=100, jobs=None)


@pytest.fixture(scope="module")
def pool(retrieved: Retrieved, collections: Path) -> Retrieved:
    info = read_run_info(collections / "trec8" / "info.tsv")
    return choose_contributors(retrieved, info).pool(retrieved, 100)


@pytest.fixture(scope="module")
def qrels(collections: Path) -> Qrels:
    return read_qrels(collections / "trec8" / "qrels.trec8.txt.gz")


def test_the_pool_of_depth_100_is_exactly_what_was_judged(pool: Retrieved, qrels: Qrels) -> None:
    assert len(pool.runs) == 71
    inside = pool.best_ranks().nonzero()[0]
    topics = [pool.topics[topic] for topic in pool.topic[inside].tolist()]
    ours = set(zip(topics, pool.docs[inside].texts(), strict=True))
    assert len(inside) == len(ours) == 86_830
    assert ours == set(qrels.frame.select("topic", "doc").rows())


@pytest.mark.parametrize("name", TENTH)
def test_relevant_documents_found_at_a_tenth_of_the_pool(pool: Retrieved, qrels: Qrels, name: str) -> None:
    found = replay(make_strategy(name, pool), pool.grades(qrels), budget=8683)
    assert found.relevant == 4728
    assert found.found_at(8683) == pytest.approx(TENTH[name], abs=0.03)


def test_what_is_known_before_judging(retrieved: Retrieved, collections: Path) -> None:
    contributors = choose_contributors(retrieved, read_run_info(collections / "trec8" / "info.tsv"))
    ahead = foresee(retrieved, contributors, 100)
    assert ahead.documents_at(100) == 86_830
    assert ahead.share_of_most(100) == pytest.approx(0.245, abs=0.001)
    assert {retrieved.runs[run] for run in ahead.poor.tolist()} == {
        "surffal2", "isa25t", "isa50t", "UB99T", "UB99SW",
    }  # fmt: skip
    assert ahead.residuals.mean(axis=0)[10] == pytest.approx(0.0783, abs=5e-5)
    assert np.isfinite(ahead.overlap).all()
