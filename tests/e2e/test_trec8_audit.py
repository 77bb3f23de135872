"""TREC-8 ad hoc, all 129 runs: the papers' figures about the collection, recomputed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sounding.audit.auditing import audit
from sounding.audit.judged_runs import JudgedRuns, judged_runs
from sounding.audit.result import Audit
from sounding.audit.tables import verdict_text
from sounding.core.policies import ORDERS, Policies
from sounding.data.run_info import RunInfo, read_run_info
from sounding.relevance.growth import expected_beyond, likely_beyond
from sounding.runs.pool import depth_by_topic
from sounding.runs.retrieved import read_retrieved

PAGE = Path(__file__).parents[2] / "docs" / "audit.md"


@pytest.fixture(scope="module")
def info(collections: Path) -> dict[str, RunInfo]:
    return read_run_info(collections / "trec8" / "info.tsv")


def test_pools_by_score_and_line_have_as_many_documents_as_nists(collections: Path) -> None:
    """The first ten documents of all 129 runs: 13,080 as NIST pools them now, ties as they stand."""
    runs = sorted((collections / "trec8").glob("runs/input.*.gz"))
    sizes = {
        ties: int(read_retrieved(runs, depth=10, policies=Policies(ties=ties), jobs=None).sizes.sum())
        for ties in ORDERS[:3]
    }
    assert sizes == {"trec": 13_094, "score-file": 13_080, "file": 13_856}


@pytest.fixture(scope="module")
def trec8(collections: Path, info: dict[str, RunInfo]) -> Audit:
    folder = collections / "trec8"
    runs = sorted(folder.glob("runs/input.*.gz"))
    return audit(folder / "qrels.trec8.txt.gz", runs, ["AP"], info=info, jobs=None)


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


def audited(trec8: Audit, runs: JudgedRuns) -> Audit:
    """The same audit of other judgments, or with a run that is new; ties stay as they were."""
    return replace(trec8, runs=runs, _known={"ties": trec8.ties()})


def test_lost_judgments_leave_the_depth_of_the_pool_and_are_named(
    trec8: Audit, info: dict[str, RunInfo]
) -> None:
    qrels = trec8.runs.qrels
    lost = np.random.default_rng(6).choice(len(qrels.docs), 7, replace=False)
    lost = np.append(lost, (qrels.grades > 0).nonzero()[0][[100, 2000]])  # relevant ones stand high in many
    keep = np.ones(len(qrels.docs), np.bool_)
    keep[lost] = False
    found = audited(trec8, judged_runs(qrels.keep(keep), trec8.runs.retrieved, info=info))
    assert (found.runs.pool.depth, len(found.runs.holes())) == (100, 9)
    assert found.runs.pool.judged < 100
    pooled, judged = depth_by_topic(found.runs.pool, found.runs.retrieved, found.runs.grades())
    assert pooled.tolist() == [100.0] * 50
    assert np.count_nonzero(judged < 100) == len(
        {int(row) for row in np.searchsorted(qrels.starts, lost, "right")}
    )
    texts = qrels.docs.texts()
    assert {name.split()[1] for name in found.runs.named_documents(found.runs.holes())} == {
        texts[row] for row in lost
    }
    told = {one.about: one for one in found.verdict()}
    assert (told["pooled runs"].answer, told["pooled runs"].value) == ("yes", 100.0)
    assert "it is 100 deep, with holes" in told["pooled runs"].why
    assert told["holes"].value == 9
    assert "and 4 more" in told["holes"].why
    assert found.growth().depth == 100
    assert found.leave_out().summary().most_changed == "READWARE2"
    guessed = judged_runs(qrels.keep(keep), trec8.runs.retrieved).pool
    assert (guessed.depth, int(guessed.contributing.sum())) == (100, 72)  # one more: all of it is judged


def test_two_in_a_hundred_judgments_can_be_lost_and_the_depth_is_still_found(
    trec8: Audit, info: dict[str, RunInfo]
) -> None:
    qrels = trec8.runs.qrels
    keep = np.random.default_rng(2).random(len(qrels.docs)) >= 0.02
    found = judged_runs(qrels.keep(keep), trec8.runs.retrieved, info=info)
    assert (found.pool.depth, len(found.holes())) == (100, int(np.count_nonzero(~keep)))
    assert (depth_by_topic(found.pool, found.retrieved, found.grades())[0] == 100).all()


def test_the_verdict_fits_a_screen(trec8: Audit, info: dict[str, RunInfo]) -> None:
    text = verdict_text(trec8, trec8.verdict(), 80).splitlines()
    assert len(text) <= 40
    assert max(map(len, text)) <= 80
    new = np.array([run == "surffal2" for run in trec8.runs.runs])
    found = audited(trec8, judged_runs(trec8.runs.qrels, trec8.runs.retrieved, info=info, new=new))
    told = verdict_text(found, found.verdict(), 80).splitlines()
    assert len(told) <= 48
    assert any(line.startswith("no         Compare surffal2 with the others") for line in told)


def test_the_law_of_growth_ends_where_the_page_tells(trec8: Audit) -> None:
    growth, page = trec8.growth(), " ".join(PAGE.read_text().split())
    ended = int(np.count_nonzero(growth.last <= 1000))
    assert f"{growth.remaining.sum():,.0f} relevant documents remain down to rank 1,000" in page
    assert f"on {ended} of the 50 topics, the law predicts none from some rank before 1,000 on" in page
    found = trec8.reinforcement()
    runs, groups = (f"{tau:.2f}".removeprefix("0") for tau in (found.tau, found.group_tau))
    assert f"is {runs} for the overlap with other runs and {groups} for the overlap with other groups" in page


def test_the_verdict_names_the_depth_and_the_figures(trec8: Audit) -> None:
    found = {one.about: one for one in trec8.verdict()}
    assert found["pooled runs"].answer == "yes"
    assert found["pooled runs"].value == 100
    assert found["below the pool"].answer == "no"
    assert found["recall"].answer == "yes"
    assert found["runs like the pooled ones"].answer == "yes"
    assert "READWARE 61, READWARE2 116" in found["short runs"].why
    assert found["winners"].value == 15
