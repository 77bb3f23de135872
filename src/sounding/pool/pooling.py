"""Choose what to judge of several runs: a pool, or the part of it that a strategy picks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from sounding.core.errors import DataError, UnknownNameError
from sounding.core.policies import ANY_GRADES, Policies
from sounding.core.workers import Bars, no_bars
from sounding.data.formats import run_sources
from sounding.data.run_info import RunInfo, reported_runs
from sounding.pool.aimed import AIMED, draw_for_estimate
from sounding.pool.contributors import Contributors, choose_contributors
from sounding.pool.foresight import PERSISTENCE, foresee
from sounding.pool.result import DEPTH, Pooling
from sounding.runs.align import hold_judgments
from sounding.runs.pool import read_judged_lists
from sounding.runs.ranking import Values
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.session import METHODS
from sounding.selection.strategies import (
    Kind,
    Pick,
    Strategy,
    TopicQueues,
    find_strategy,
    in_batches,
    judge_all,
    make_strategy,
    replay,
)

BATCH = 10  # documents per topic in a batch, unless a number is given


def pool(
    runs: Any,
    *,
    depth: int | None = None,
    info: Mapping[str, RunInfo] | None = None,
    only: str | Sequence[str] = (),
    per_group: int | None = None,
    strategy: str | Sequence[str] | None = None,
    method: str | None = None,
    budget: int | None = None,
    batches: int | None = None,
    rate: float | None = None,
    strata: str | None = None,
    p: float | None = None,
    level: float | None = None,
    labels: Any = None,
    judges: Sequence[str] = (),
    measures: Any = None,
    pair: Sequence[str] | None = None,
    seed: int = 0,
    qrels: Any = None,
    pool_depth: int | None = None,
    simulate: bool = False,
    summary: bool = False,
    policies: Policies = ANY_GRADES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    bars: Bars = no_bars,
) -> Pooling:
    """Choose the documents of runs to judge; runs and qrels are as for `evaluate`.

    The pool holds the first `depth` documents (100) of the runs that `info` lists as pooled, or of
    `per_group` runs of each group; without `info`, of all runs. `budget` is the number of new judgments:
    if no depth is given and the pool has too few unjudged documents, it goes deeper. The default strategy
    takes the whole pool by doc id; with a budget or batches, the best ranks first. `rate`, `strata`, `p` and
    `level` are parameters of strategies; the `method` `paper` gives `mtc` the prior and selection of
    Carterette et al. (2006). `qrels` are existing judgments; `pool_depth` keeps those that a pool of that
    depth would contain.

    With `simulate`, strategies are replayed on the judgments. With `summary`, the result has the sizes, costs
    and coverage of pools of all depths, and no documents; `only` limits it to the coverage of runs that meet
    conditions on `info` (see `compare`), which changes no pool.

    The strategy `for-estimate` draws a sample of about `budget` documents that makes the intervals of
    `estimate` narrow for `measures`, for all runs or a `pair`. With `labels` (and `judges`, as for
    `estimate`) it draws labeled documents only. `qrels` may hold grades of documents drawn before.
    """
    kinds = [find_kind(name) for name in _names(strategy, budget, batches)]
    aimed = AIMED in kinds
    if aimed and (len(kinds) > 1 or simulate or batches or not budget):
        raise DataError("for-estimate draws one sample: give a budget, no batches, and nothing to simulate")
    if simulate and qrels is None:
        raise DataError("simulate replays judgments; give qrels")
    if len(kinds) > 1 and not simulate:
        raise DataError(
            "several strategies can only be compared by replaying judgments; give qrels and simulate"
        )
    if not aimed and any(kind.sampled for kind in kinds) and (budget or batches):
        raise DataError("a sample is judged as a whole; leave budget and batches out")
    if method is not None and method not in METHODS:
        raise UnknownNameError("method", method, METHODS)
    given = {"rate": rate, "strata": strata, "p": p, "level": level, **METHODS.get(method or "", {})}
    chosen = {
        kind.name: {name: given[name] for name in kind.parameters if given.get(name) is not None}
        for kind in kinds
    }
    if only and not summary:
        raise DataError("only limits the runs of a summary, and no pool; give summary, or leave it out")
    sources = run_sources(runs)
    extend = depth is None and bool(budget) and qrels is not None and not simulate and not aimed
    foresees = summary and not aimed
    with bars(len(sources), "reading runs") as progress:
        read = read_judged_lists(
            qrels, sources, depth=None if foresees or extend else depth or DEPTH, pool_depth=pool_depth,
            info=info, policies=policies, qrels_format=qrels_format, run_format=run_format, jobs=jobs,
            progress=progress,
        )  # fmt: skip
    contributors = choose_contributors(read.retrieved, info, per_group=per_group)
    retrieved, grades = read.retrieved, np.full(len(read.retrieved.docs), np.nan)
    if read.qrels is not None:
        hold_judgments(read.qrels)
        grades = retrieved.grades(read.qrels)
    if extend and not foresees:
        depth = _sufficient_depth(contributors, retrieved, grades, budget or 0)
        retrieved = retrieved.narrowed(depth=depth)
        grades = np.full(len(retrieved.docs), np.nan) if read.qrels is None else retrieved.grades(read.qrels)
    depth = depth or DEPTH
    pooled = contributors.pool(retrieved, depth)
    result = Pooling(
        contributors=contributors, pool=pooled, depth=depth, policies=policies, seed=seed,
        kinds=tuple(kinds), parameters={kind.name: kind.complete(chosen[kind.name]) for kind in kinds},
        judgments=0 if read.qrels is None else int(np.count_nonzero(read.qrels.grades >= 0)), cut=read.cut,
        grades=np.where(pooled.best_ranks() > 0, grades, np.nan),
    )  # fmt: skip
    if aimed:
        sample = draw_for_estimate(
            pooled, budget or 0, labels=labels, judges=judges, measures=measures, pair=pair,
            level=1 if level is None else level, seed=seed,
        )  # fmt: skip
        return replace(result, picks=sample.picks, aimed=sample)
    if summary:
        persistence = PERSISTENCE if p is None else p
        judged = None if read.qrels is None else np.isfinite(grades)
        reported = reported_runs(retrieved.runs, retrieved.tags, info, only)
        foresight = foresee(retrieved, contributors, depth, p=persistence, judged=judged, reported=reported)
        return replace(result, foresight=foresight)
    make = partial(_make, pool=pooled, batches=batches, seed=seed)
    if not simulate:
        known = np.isfinite(result.grades).nonzero()[0]
        before = dict(zip(known.tolist(), result.grades[known].tolist(), strict=True))
        judging = make(kinds[0], chosen[kinds[0].name], before=before)
        return replace(result, picks=_next(judging, kinds[0], pooled, budget, batches))
    strategies = {kind.name: make(kind, chosen[kind.name]) for kind in kinds}
    replays = {}
    for name, one in strategies.items():
        with bars(min(result.size, budget or result.size), f"judging by {name}") as progress:
            replays[name] = replay(
                one, result.grades, budget=budget, level=1.0 if level is None else level, progress=progress
            )
    samples = {kind.name: cast("TopicQueues", strategies[kind.name]) for kind in kinds if kind.sampled}
    return replace(result, replays=replays, samples=samples)


def find_kind(name: str) -> Kind:
    """Return a strategy by its name; `for-estimate`, which is no order of judging, too."""
    return AIMED if name == AIMED.name else find_strategy(name)


def _sufficient_depth(contributors: Contributors, retrieved: Retrieved, grades: Values, budget: int) -> int:
    """Return the default depth, or the least one whose pool has as many unjudged documents as the budget."""
    best = retrieved.pick(contributors.contributing).best_ranks()
    ranks = np.sort(best[(best > 0) & np.isnan(grades)])
    return max(DEPTH, int(ranks[min(budget, len(ranks)) - 1])) if len(ranks) else DEPTH


def _names(strategy: str | Sequence[str] | None, budget: int | None, batches: int | None) -> Sequence[str]:
    """Return the given strategies; by default depth, or rank if only a part of the pool is requested."""
    if strategy is None:
        return ["rank" if budget or batches else "depth"]
    return [strategy] if isinstance(strategy, str) else strategy


def _make(
    kind: Kind,
    given: Mapping[str, Any],
    *,
    pool: Retrieved,
    batches: int | None,
    seed: int,
    before: Mapping[int, float] | None = None,
) -> Strategy:
    """Make a strategy, in batches if requested; `before` maps documents to existing grades."""
    if batches:
        return in_batches(kind.name, pool, batches, seed=seed, before=before, **given)
    strategy = make_strategy(kind.name, pool, seed=seed, **given)
    judge_all(strategy, (before or {}).items())
    return strategy


def _next(
    strategy: Strategy, kind: Kind, pool: Retrieved, budget: int | None, batches: int | None
) -> tuple[Pick, ...]:
    """Return the next documents: all, or one batch if the strategy learns from judgments."""
    count = budget or len(pool.docs)
    if batches:
        return tuple(strategy.next(count=min(count, batches * len(pool.topics))))
    if kind.adaptive and not budget:
        count = BATCH * len(pool.topics)
    return tuple(sorted(strategy.next(count=count), key=lambda pick: pick.document))  # by topic and doc id
