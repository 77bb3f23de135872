"""TREC-8 ad hoc, all 129 runs: the papers' figures about the collection, recomputed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sounding.collection.audit import Audit, audit
from sounding.collection.verdict import verdict
from sounding.data.run_info import read_run_info
from sounding.growth import expected_beyond, likely_beyond


@pytest.fixture(scope="module")
def trec8(collections: Path) -> Audit:
    folder = collections / "trec8"
    runs = sorted(folder.glob("runs/input.*.gz"))
    return audit(
        folder / "qrels.trec8.txt.gz", runs, ["AP"], info=read_run_info(folder / "info.tsv"), jobs=None
    )


def test_the_pool_of_the_71_runs_is_exactly_the_judged_set(trec8: Audit) -> None:
    runs = trec8.runs
    assert (int(runs.contributing.sum()), runs.pool.depth, len(runs.judgments.grades)) == (71, 100, 86_830)
    assert trec8.growth().elsewhere == 0
    assert (
        int(trec8.growth().judged.sum()) == int(np.count_nonzero(runs.contributions().best_ranks())) == 86_830
    )
    assert runs.remarks == ()


def test_unique_relevant_documents_by_group(trec8: Audit) -> None:
    unique = trec8.unique()
    counts = dict(zip(unique.names, unique.counts().sum(axis=1).tolist(), strict=True))
    assert {name: counts[name] for name in ("miti", "oracle", "iit")} == {
        "miti": 478,
        "oracle": 114,
        "iit": 80,
    }
    assert max(counts, key=lambda name: counts[name]) == "miti"


def test_leaving_groups_out_gives_voorhees_figures(trec8: Audit) -> None:
    found = trec8.leave_out("group")
    automatic = found.of_kind("automatic")
    whole, best = found.summary(), found.summary(0, automatic)
    assert whole.runs == 71
    assert f"{whole.mean_percent:.2f} {whole.max_percent:.2f} {whole.most_changed}" == "0.77 9.93 READWARE2"
    assert f"{best.max_percent:.2f}" == "3.31"
    # As published: values of four decimals first.
    full, without = np.round(found.full[:, 0], 4), np.round(found.without[:, 0], 4)
    loss = 100 * (full - without) / full
    assert f"{loss[found.pooled].mean():.2f} {loss[found.pooled].max():.2f}" == "0.78 9.91"
    worst = int(np.where(automatic, loss, 0).argmax())
    assert (f"{loss[worst]:.2f}", found.runs[worst]) == ("3.85", "isa25")
    strong = automatic & (found.full[:, 0] >= 0.1)
    assert np.abs(found.percent()[strong, 0]).max() < 1


def test_relevant_documents_in_and_past_the_pool_depth_sum_to_all(trec8: Audit) -> None:
    found = trec8.outcomes()
    np.testing.assert_allclose(found.in_pool[:, 0] + found.past[:, 0], found.relevant, rtol=1e-12)
    assert found.relevant[-1] == pytest.approx(4728 / 50)


def test_tau_of_map_with_assessment_and_between_tie_rules(trec8: Audit) -> None:
    taus = trec8.pseudo().tau()
    assert f"{taus['assessment']:.3f}" == "0.464"
    assert f"{taus['popularity']:.2f}" == "0.47"
    assert taus["random"] == pytest.approx(0.50, abs=0.03)
    ties = trec8.ties()
    assert f"{ties.tau[0, 1]:.3f}" == "0.990"
    assert ties.median_share() == pytest.approx(0.10)


def test_extrapolations_from_shallower_pools_lie_on_both_sides_of_what_was_found(trec8: Audit) -> None:
    relevant = trec8.growth().relevant
    low, high = [], []
    for depth in (5, 10, 20, 25, 30, 50):
        truth = relevant[:, depth : 2 * depth].sum()
        low.append(expected_beyond(relevant[:, :depth], 2 * depth).sum() / truth)
        high.append(likely_beyond(relevant[:, :depth], 2 * depth).sum() / truth)
    assert [f"{value:.2f}" for value in low] == ["0.95", "0.80", "0.69", "0.70", "0.63", "0.81"]
    assert [f"{value:.2f}" for value in high] == ["1.13", "1.03", "1.00", "1.03", "0.99", "1.37"]
    assert f"{trec8.growth().twice.sum():.0f} {trec8.growth().twice_likely.sum():.0f}" == "652 1560"


def test_the_verdict_names_the_depth_and_the_figures(trec8: Audit) -> None:
    found = {one.about: one for one in verdict(trec8)}
    assert found["pooled runs"].answer == "yes"
    assert found["pooled runs"].value == 100
    assert found["below the pool"].answer == "no"
    assert found["recall"].answer == "yes"
    assert found["runs like the pooled ones"].answer == "yes"
    assert "READWARE 61, READWARE2 116" in found["short runs"].why
    assert found["winners"].value == 15
