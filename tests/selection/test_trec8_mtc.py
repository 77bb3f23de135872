"""TREC-8 ad hoc: how soon minimal test collections rank real runs, and whether 95% means 95%."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.simulate.test_trial import run_trial

from sounding.data.formats import read_qrels
from sounding.data.tables import Qrels
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.mtc.session import Session, SessionParameters
from sounding.selection.strategies import make_strategy
from sounding.simulate.experiments import correlations, list_pairs
from sounding.simulate.trial import Checkpoint, TrialSetup, Truth

PAPER: dict[str, Any] = {"prior": "0.5", "selection": "faithful", "confidence": "normal"}


@pytest.fixture(scope="module")
def qrels(collections: Path) -> Qrels:
    return read_qrels(collections / "trec8" / "qrels.trec8.txt.gz")


def read(collections: Path, names: list[str], qrels: Qrels) -> Retrieved:
    files = [collections / "trec8" / "runs" / f"input.{name}.gz" for name in names]
    return read_retrieved(files, depth=100, topics=qrels.topics)


def by_official_map(collections: Path) -> list[str]:
    lines = (collections / "trec8" / "official-scores.map").read_text().splitlines()
    return [name for name, _ in sorted((line.split() for line in lines), key=lambda row: -float(row[1]))]


def pooled(collections: Path) -> list[str]:
    rows = [line.split("\t") for line in (collections / "trec8" / "info.tsv").read_text().splitlines()[1:]]
    return [row[0] for row in rows if row[4] == "yes"]


def replay(retrieved: Retrieved, qrels: Qrels, at: list[int], **parameters: Any) -> list[Checkpoint]:
    session = Session(retrieved, **parameters)
    return run_trial(session, Truth.of(retrieved, qrels, session.form), at)


def test_confidence_of_eight_runs_far_apart_is_that_of_the_paper(collections: Path, qrels: Qrels) -> None:
    official = by_official_map(collections)
    names = [official[rank - 1] for rank in (5, 21, 37, 53, 69, 85, 101, 117)]
    rows = replay(read(collections, names, qrels), qrels, [250, 1000, 2200], **PAPER)
    np.testing.assert_allclose([row.confidence for row in rows], [0.79, 0.94, 0.98], atol=0.03)
    assert all(row.tau_expected == 1 for row in rows)


def test_exact_moments_agree_with_draws(collections: Path, qrels: Qrels) -> None:
    names = by_official_map(collections)[:120:40]
    files = [collections / "trec8" / "runs" / f"input.{name}.gz" for name in names]
    retrieved = read_retrieved(files, depth=100, topics=qrels.topics[:6])
    session = Session(retrieved, prior="0.3", draws=4000)
    truth = Truth.of(retrieved, qrels, session.form)
    run_trial(session, truth, [40])
    drawn, exact = session.confidence(), session.confidence("exact")
    error = exact.deviations / np.sqrt(4000)
    assert (np.abs(drawn.values - exact.values) < 4 * error).all()
    np.testing.assert_allclose(drawn.deviations, exact.deviations, rtol=0.06)
    np.testing.assert_allclose(drawn.not_above, exact.not_above, atol=0.04)


def test_eight_neighbors_are_told_apart_far_later(collections: Path, qrels: Qrels) -> None:
    names = by_official_map(collections)[40:48]
    rows = replay(read(collections, names, qrels), qrels, [250, 1000, 2200], **PAPER)
    assert (np.array([row.confidence for row in rows]) < [0.69, 0.84, 0.88]).all()


def test_incremental_pooling_is_less_sure_at_the_same_cost(collections: Path, qrels: Qrels) -> None:
    official = by_official_map(collections)
    retrieved = read(collections, [official[rank - 1] for rank in range(5, 118, 16)], qrels)
    at = [128, 256, 512, 1024]
    ours = replay(retrieved, qrels, at, **PAPER)
    shadow = Session(retrieved, prior="0.5", confidence="normal")
    theirs = run_trial(
        shadow, Truth.of(retrieved, qrels, shadow.form), at, strategy=make_strategy("rank", retrieved)
    )
    assert all(one.confidence > other.confidence for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_95_percent_means_95_percent_with_the_default_prior(
    seed: int, collections: Path, qrels: Qrels
) -> None:
    names = np.random.default_rng(seed).choice(pooled(collections), 20, replace=False).tolist()
    rows = replay(read(collections, names, qrels), qrels, [256, 512, 2048])
    assert all(row.right >= 0.95 for row in rows)
    assert all(row.claimed >= least for row, least in zip(rows, (0.51, 0.75, 0.88), strict=True))
    assert all(row.tau_expected >= least for row, least in zip(rows, (0.77, 0.82, 0.91), strict=True))


@pytest.mark.long
def test_what_is_claimed_of_twenty_random_sets_of_runs_is_right_and_soon(
    collections: Path, qrels: Qrels
) -> None:
    every = read(collections, pooled(collections), qrels)
    looks = [256, 512, 1024, 2048, 4000]
    found = []
    for seed in range(101, 121):
        chosen = np.sort(np.random.default_rng(seed).choice(len(every.runs), 20, replace=False))
        found.append(replay(every.pick(chosen.tolist()), qrels, looks))
    right = np.array([[row.right for row in rows] for rows in found])
    claimed = np.mean([[row.claimed for row in rows] for rows in found], axis=0)
    tau = np.mean([[row.tau_expected for row in rows] for rows in found], axis=0)
    plain = np.mean([[row.tau_plain for row in rows] for rows in found], axis=0)
    assert (right.mean(axis=0) >= 0.95).all()
    assert right.min() >= 0.9
    assert (claimed[[0, 1, 3]] >= [0.5, 0.7, 0.85]).all()
    assert (tau[[1, 3]] >= [0.85, 0.92]).all()
    assert (tau > plain).all()


def test_one_half_for_every_document_claims_too_much(collections: Path, qrels: Qrels) -> None:
    names = np.random.default_rng(1).choice(pooled(collections), 20, replace=False).tolist()
    rows = replay(read(collections, names, qrels), qrels, [256, 2048], **PAPER)
    assert rows[0].right < 0.6
    assert rows[1].right < 0.95


def test_lists_far_apart_need_fewer_judgments_as_in_the_paper(collections: Path, qrels: Qrels) -> None:
    official = by_official_map(collections)
    retrieved = read(collections, [official[rank - 1] for rank in range(5, 118, 16)], qrels)
    parameters = SessionParameters(**PAPER)
    truth = Truth.of(retrieved, qrels, Session(retrieved, **PAPER).form)
    found = list_pairs(TrialSetup(retrieved, truth, parameters), most=150)
    assert correlations(found)[0] == pytest.approx(-0.509, abs=0.12)
    assert np.mean([pair.right for pair in found if pair.right is not None]) >= 0.95
