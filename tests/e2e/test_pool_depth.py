"""However a collection is looked at, its pool has one depth."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sounding.audit.auditing import audit
from sounding.audit.judged_runs import read_judged_runs
from sounding.compare.comparison import compare, compare_scores
from sounding.core.policies import Policies
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.data.writing import write_qrels, write_run
from sounding.depth.study import depth
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse_measures
from sounding.measures.assessed import with_assessment
from sounding.report.gather import gather
from sounding.report.result import ReportRequest
from sounding.runs.pool import Pool, depth_by_topic, pool_of_lists
from sounding.runs.retrieved import read_retrieved
from sounding.sample.simulation import sample

Info = dict[str, RunInfo] | None
MEASURES = ["AP", "P@5"]


def holed_collection(seed: int) -> tuple[Qrels, list[Run], dict[str, RunInfo]]:
    """A random pool, a random share of whose judgments is lost; one judged topic is in no run."""
    rng = np.random.default_rng(seed)
    made = sample(
        topics=12, groups=5, systems=2, documents=400, length=60, pool_depth=int(rng.integers(5, 40)),
        seed=seed,
    )  # fmt: skip
    keep = rng.random(len(made.qrels.docs)) >= rng.choice([0, 0.01, 0.02, 0.04, 0.06, 0.2])
    judged = replace(made.qrels, pool_ranks=None).keep(keep)
    grades: dict[str, dict[str, float]] = {}
    for topic, doc, grade in judged.frame.select("topic", "doc", "grade").iter_rows():
        grades.setdefault(topic, {})[doc] = grade
    grades["unseen"] = {"a": 1, "b": 0}
    return Qrels.from_dict(grades), list(made.runs), {row.run: row for row in made.info}


def of_evaluated_scores(qrels: Qrels, runs: list[Run], info: Info) -> Pool | None:
    wanted = with_assessment(parse_measures(MEASURES))
    return compare_scores(evaluate(qrels, runs, wanted), measures=MEASURES, info=info).pool


VERBS: dict[str, Callable[[Qrels, list[Run], Info], Pool | None]] = {
    "audit": lambda qrels, runs, info: audit(qrels, runs, info=info).runs.pool,
    "compare": lambda qrels, runs, info: compare(qrels, runs, MEASURES, info=info).pool,
    "compare, scores": of_evaluated_scores,
    "compare, condensed": lambda qrels, runs, info: (
        compare(qrels, runs, MEASURES, info=info, policies=Policies(unjudged="condensed")).pool
    ),
    "compare, ties average": lambda qrels, runs, info: (
        compare(qrels, runs, MEASURES, info=info, policies=Policies(ties="average")).pool
    ),
    "depth": lambda qrels, runs, info: depth(qrels, runs, ["AP"], info=info).pool,
    "holds, calibrate": lambda qrels, runs, info: pool_of_lists(
        (found := read_retrieved(runs, topics=qrels.topics)), found.grades(qrels), info
    ),
}


def facts(pool: Pool | None) -> tuple[int, int, int, list[bool]]:
    assert pool is not None
    return pool.depth, pool.judged, pool.holed, pool.contributing.tolist()


@pytest.mark.parametrize("listed", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_every_verb_finds_the_same_pool(seed: int, listed: bool) -> None:
    qrels, runs, rows = holed_collection(seed)
    info = rows if listed else None
    found = {name: facts(find(qrels, runs, info)) for name, find in VERBS.items()}
    assert len({repr(one) for one in found.values()}) == 1, found


@contextmanager
def no_bar(items: int, label: str) -> Iterator[None]:
    yield


@pytest.mark.parametrize("cut", [None, 4])
@pytest.mark.parametrize(("seed", "listed"), [(1, True), (4, True), (8, True), (3, False)])
def test_the_sections_of_a_report_state_one_depth(
    seed: int, listed: bool, cut: int | None, tmp_path: Any
) -> None:
    qrels, runs, rows = holed_collection(seed)
    info = rows if listed else None
    write_qrels(qrels, tmp_path / "qrels.txt")
    for run in runs:
        write_run(run, tmp_path / f"{run.name}.txt")
    files = tuple(str(tmp_path / f"{run.name}.txt") for run in runs)
    request = ReportRequest(
        qrels=str(tmp_path / "qrels.txt"),
        runs=files,
        info=info,
        measures=parse_measures(MEASURES),
        draws=2,
        pool_depth=cut,
    )
    found: Any = gather(request, no_bar)
    pools = [facts(found.comparison.pool), facts(found.stability.pool), facts(found.audit.runs.pool)]
    assert pools[0] == pools[1] == pools[2]


def test_a_topics_pool_that_is_no_shallower_than_that_of_all_is_as_deep() -> None:
    for seed in range(6):
        qrels, runs, info = holed_collection(seed)
        found = read_judged_runs(qrels, runs, info=info)
        depths, judged = depth_by_topic(found.pool, found.retrieved, found.grades())
        known = np.isfinite(depths)
        assert (judged[known] <= depths[known]).all()
        assert judged[known].min() == found.pool.judged
