"""Comparisons below the pool's depth: the forecast is that of `holds`, and right where the truth is known."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sounding import audit, holds, sample
from sounding.audit import beyond, evidence
from sounding.audit.beyond import DRAWS, DeeperEvaluation, deeper_evaluation, depths_beyond
from sounding.audit.result import Audit
from sounding.audit.verdict import Statement
from sounding.core import workers
from sounding.data.run_info import read_run_info
from sounding.measures import Measure, parse
from sounding.runs.pairs import all_pairs
from sounding.sample.result import Collection
from sounding.statistics.conclusions import Statistics


def simulated(prevalence: float = 0.02, length: int = 120) -> tuple[Collection, Audit]:
    made = sample(topics=30, groups=4, systems=2, documents=800, length=length, pool_depth=10, short=0.0,
                  prevalence=prevalence, seed=3)  # fmt: skip
    info = {row.run: row for row in made.info}
    return made, audit(made.qrels, made.runs, ["AP", "P@10"], info=info)


@pytest.fixture(scope="module")
def found() -> tuple[Collection, Audit]:
    return simulated()


def said(one: Audit) -> list[Statement]:
    return [row for row in one.verdict() if row.about == "deeper than the pool"]


def test_the_forecast_is_the_mean_chance_of_holds_over_pooled_runs(found: tuple[Collection, Audit]) -> None:
    made, one = found
    pooled = [run for run, row in zip(made.runs, made.info, strict=True) if row.pooled]
    assert 2 < len(pooled) < len(made.runs)
    info = {row.run: row for row in made.info}
    for row, measure in zip(one.beyond(20), ("AP@20", "P@20"), strict=True):
        same = holds(made.qrels, pooled, [measure], until="pool:20", info=info, draws=DRAWS)
        assert str(row.measure) == measure
        assert row.holds == pytest.approx(same.conclusion.mean(), abs=1e-12)
        assert row.very_likely == np.mean(same.conclusion >= 0.95)
        assert row.significant == np.count_nonzero(same.concluded)
        assert row.pairs == same.conclusion.size
        assert row.unjudged == same.open_documents > 0


def test_one_measure_by_itself_has_the_forecast_that_it_has_among_all(
    found: tuple[Collection, Audit], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, one = found
    whole = one.beyond(50)
    alone = [deeper_evaluation(one.runs, [measure], 50)[0] for measure in one.measures]
    assert alone == whole
    monkeypatch.setattr(evidence, "deeper_evaluation", None)  # nothing is computed again
    assert [one.beyond(50, (measure,)) for measure in one.measures] == [[row] for row in whole]


def test_depths_are_multiples_of_the_pools_as_far_as_lists_go(found: tuple[Collection, Audit]) -> None:
    assert depths_beyond(found[1].runs) == (20, 50, 100)
    assert depths_beyond(simulated(length=30)[1].runs) == (20, 30)
    ended = simulated(length=10)[1]
    assert depths_beyond(ended.runs) == ()
    assert said(ended) == []


def test_a_measure_takes_the_depth_as_its_cutoff() -> None:
    assert str(beyond.at_depth(parse("nDCG@5"), 20, 1)) == "nDCG@20"
    assert beyond.at_depth(parse("Bpref"), 20, 2) == Measure.of("AP", rel=2, k=20)


@pytest.mark.parametrize(
    ("shares", "answer", "k"),
    [
        ((0.5, 0.5, 0.95), "yes", 100),
        ((0.5, 0.95, 0.94), "yes", 50),
        ((0.94, 0.85, 0.80), "with care", 100),
        ((0.90, 0.85, 0.79), "with care", 50),
        ((0.79, 0.7, 0.6), "no", 20),
        ((math.nan,) * 3, "not known", 100),
    ],
)
def test_the_deepest_depth_with_the_best_answer_is_named(
    shares: tuple[float, ...], answer: str, k: int, found: tuple[Collection, Audit]
) -> None:
    one = found[1]
    known: dict[object, list[DeeperEvaluation]] = {
        ("beyond", depth, one.measures[:1]): [
            DeeperEvaluation(
                measure=Measure.of("AP", k=depth), k=depth, times=depth / 10, unjudged=9, pairs=10,
                significant=5, holds=share, very_likely=share, reason="why" if math.isnan(share) else "",
            )
        ]
        for depth, share in zip((20, 50, 100), shares, strict=True)
    }  # fmt: skip
    (statement,) = said(replace(one, _known=known))
    assert statement.answer == answer
    assert (f"down to rank {k}" in statement.claim) == (answer != "no")
    assert ("why" in statement.why) == (answer == "not known")


@pytest.mark.parametrize("prevalence", [0.02, 0.09])
def test_the_forecast_is_near_the_truth_of_a_simulation(prevalence: float) -> None:
    made = sample(topics=30, groups=8, systems=3, documents=1500, length=120, pool_depth=10, prevalence=prevalence,
                  seed=4)  # fmt: skip
    lists = [run for run, row in zip(made.runs, made.info, strict=True) if row.pooled]
    info = {row.run: row for row in made.info}
    one, whole = audit(made.qrels, lists, ["AP", "P@10"], info=info), audit(made.truth, lists, ["AP"])
    for row in one.beyond(50):
        now, then = (
            Statistics(side.runs.values([row.measure], side.runs.view())[:, 0], all_pairs(len(lists)))
            for side in (one, whole)
        )
        share = float((now.concluded(0.05) == then.concluded(0.05)).mean())
        assert row.holds == pytest.approx(share, abs=0.1)


@pytest.mark.long
@pytest.mark.parametrize(("depth", "right"), [(10, "with care"), (20, "yes"), (50, "yes")])
def test_the_verdict_is_right_on_cut_pools_of_trec_8(depth: int, right: str) -> None:
    folder = Path(os.environ["SOUNDING_DATA"]) / "trec8"
    info = read_run_info(folder / "info.tsv")
    files = (str(folder / "qrels.trec8.txt.gz"), str(folder / "runs"), ["AP"])
    cut, whole = audit(*files, info=info, pool_depth=depth), audit(*files, info=info)
    (row,) = cut.beyond(100)
    own = cut.runs.contributing.nonzero()[0]
    now, then = (
        Statistics(side.runs.values([row.measure], side.runs.view(), own)[:, 0], all_pairs(71)).concluded(
            0.05
        )
        for side in (cut, whole)
    )
    share = float((now == then).mean())
    assert row.holds == pytest.approx(share, abs=0.015)
    limits = {"yes": (0.95, 1.0), "with care": (0.8, 0.95)}
    assert limits[right][0] <= share < limits[right][1]
    assert limits[right][0] <= row.holds < limits[right][1]


def test_progress_counts_the_pooled_runs() -> None:
    _, one = simulated()
    told: list[int] = []
    one.beyond(50, one.measures[:1], told.append)
    assert sum(told) == np.count_nonzero(one.runs.contributing)


def test_two_processes_give_what_one_gives(
    found: tuple[Collection, Audit], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "WORTH_FORKING", 0)
    made, one = found
    two = audit(made.qrels, made.runs, ["AP", "P@10"], info={row.run: row for row in made.info})
    forked: list[Any] = []
    start = workers._start

    def counted(*given: Any) -> None:
        forked.append(given)
        start(*given)

    monkeypatch.setattr(workers, "_start", counted)
    two.beyond_all(jobs=2)
    assert len(forked) == 1
    for k in depths_beyond(one.runs):
        assert two.beyond(k) == one.beyond(k)
    there, here = two.leave_out("run", jobs=2), one.leave_out("run")
    assert (there.runs, there.units) == (here.runs, here.units)
    for name in ("without", "without_on_ten", "rank_without", "judged_share", "winner_changes"):
        assert np.array_equal(getattr(there, name), getattr(here, name), equal_nan=True)
    assert np.array_equal(two.pseudo(jobs=2).random, one.pseudo().random)
    assert len(forked) == 3
