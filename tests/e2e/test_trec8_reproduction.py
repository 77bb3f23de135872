"""TREC-8 ad hoc: figures of the papers that no other test of this folder holds, as the page of results has them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sounding.audit.auditing import audit
from sounding.core.policies import Policies
from sounding.data.run_info import read_run_info
from sounding.evaluate.evaluation import evaluate

AT = (1, 4, 10, 40, 100, 1000)

# Lu, Moffat & Culpepper, Table 9, the runs of Robust04, and what the 71 pooled runs of TREC-8 give.
PAPER = ".031+.950 .097+.815 .183+.599 .300+.129 .317+.006 .317+.002"
HERE = ".026+.950 .090+.815 .175+.599 .304+.132 .325+.011 .325+.007"


@pytest.fixture(scope="module")
def folder(collections: Path) -> Path:
    return collections / "trec8"


def pooled(folder: Path) -> list[Path]:
    info = read_run_info(folder / "info.tsv")
    return [folder / "runs" / f"input.{run}.gz" for run in sorted(info) if info[run].pooled]


def test_assessment_falls_below_the_pool(folder: Path) -> None:
    scores = evaluate(
        folder / "qrels.trec8.txt.gz", folder / "runs", ["A_p@10", "A_p@100", "A_p@1000"], jobs=None
    )
    assert [f"{value:.3f}" for value in scores.mean().mean(axis=0)] == ["0.978", "0.948", "0.431"]


def test_values_and_residuals_of_rbp_are_those_of_table_9(folder: Path) -> None:
    scores = evaluate(
        folder / "qrels.trec8.txt.gz", pooled(folder), [f"RBP(p=0.95)@{k}" for k in AT], jobs=None,
        policies=Policies(unjudged="bounds"),
    )  # fmt: skip
    beside = scores.beside_mean()
    residual = (beside["residual_unjudged"] + beside["residual_tail"]).mean(axis=0)
    rows = zip(scores.mean().mean(axis=0).tolist(), residual.tolist(), strict=True)
    ours = " ".join(f"{value:.3f}+{rest:.3f}".replace("0.", ".") for value, rest in rows)
    assert ours == HERE
    # The same runs were not to be had, and the pattern is the same: within a hundredth everywhere.
    theirs = [tuple(map(float, pair.split("+"))) for pair in PAPER.split()]
    np.testing.assert_allclose(
        [tuple(map(float, pair.split("+"))) for pair in HERE.split()], theirs, atol=0.01
    )


def test_leaving_out_moves_runs_by_one_or_two_places_as_in_table_5(folder: Path) -> None:
    measures = ["AP(norm='b')@10", "nDCG@10", "RBP(rel=1,p=0.8)@10", "RBP(rel=1,p=0.95)@10"]
    found = audit(
        folder / "qrels.trec8.txt.gz", sorted((folder / "runs").glob("input.*.gz")), measures,
        info=read_run_info(folder / "info.tsv"), pool_depth=10, jobs=None,
    )  # fmt: skip
    places = {
        kind: [f"{found.leave_out(kind).summary(n).mean_places:.2f}" for n in range(4)]
        for kind in ("run", "group")
    }
    assert places == {"run": ["1.03", "1.04", "0.85", "0.94"], "group": ["1.94", "1.79", "1.62", "1.80"]}
    worst = found.leave_out("run").summary(0)
    assert worst.most_changed == "isa25"
    assert worst.max_percent == pytest.approx(75)


def test_a_fifth_of_the_relevant_documents_comes_from_the_lower_half_of_the_pool(folder: Path) -> None:
    found = audit(
        folder / "qrels.trec8.txt.gz", sorted((folder / "runs").glob("input.*.gz")), ["AP"],
        info=read_run_info(folder / "info.tsv"), jobs=None,
    ).growth()  # fmt: skip
    relevant, judged = found.relevant.sum(axis=0), found.judged.sum(axis=0)
    assert (int(relevant[50:100].sum()), int(relevant.sum())) == (1010, 4728)
    rates = [relevant[a:b].sum() / judged[a:b].sum() for a, b in ((0, 10), (10, 50), (50, 100))]
    assert [f"{100 * rate:.1f}" for rate in rates] == ["17.2", "5.6", "2.4"]
