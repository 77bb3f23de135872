"""depth(): whether the outcome of an evaluation depends on how deep it looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.limits import is_count, most
from sounding.core.policies import DEFAULT_POLICIES, Policies, check_policies
from sounding.core.workers import Progress
from sounding.data.formats import read_qrels
from sounding.data.run_info import RunInfo, reported_runs
from sounding.depth.fewer_judgments import EACH_PAIR_ALONE
from sounding.depth.over_depth import (
    Descent,
    Rankings,
    depth_of,
    order_of_runs,
    other_tie_rule,
    rankings_of_lists,
    read_rankings,
    tie_moves,
    unpooled,
)
from sounding.depth.result import DepthStudy
from sounding.depth.sentences import notes_on
from sounding.depth.volatility import THRESHOLD, Agreeing
from sounding.measures import Measure, named_measures, parse
from sounding.measures.assessed import assessment_measure
from sounding.measures.cumulative import measures_over_depth, names_as_typed
from sounding.measures.registry import needs_intents
from sounding.measures.regrading import Regrading, regrade
from sounding.measures.summaries import check_comparable, needs_pool_ranks
from sounding.runs.align import hold_judgments
from sounding.runs.pool import JudgedDepths, Pool, cut_to_depth, find_pool, pool_of_lists
from sounding.runs.retrieved import read_retrieved
from sounding.statistics.pairwise import Procedure, check_procedure
from sounding.statistics.rank_correlation import PERSISTENCE

DEFAULT_MEASURES = ("AP", "RBP(p=0.95)")
DEFAULT_DEPTHS = (5, 10, 30, 100, 500, 1000)
EVERY_K = 1000  # down to here every k is looked at, and beyond it FURTHER of them, evenly on a log scale
FURTHER = 100


def depth(
    qrels: Any,
    runs: Any,
    measures: Any = DEFAULT_MEASURES,
    *,
    depths: Sequence[int] | None = None,
    reference: str | int | None = None,
    procedure: Procedure = EACH_PAIR_ALONE,
    coefficient: str = "tau_b",
    rbo_p: float = PERSISTENCE,
    threshold: float = THRESHOLD,
    info: Mapping[str, RunInfo] | None = None,
    only: str | Sequence[str] = (),
    pool_depth: int | None = None,
    keep_lists: bool = False,
    policies: Policies = DEFAULT_POLICIES,
    pool: Pool | None = None,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> DepthStudy:
    """Measures at every depth: which pairs of runs differ, and how that agrees with a reference.

    The reference is a depth, at which every measure is held against itself, or one measure with its depth,
    as `AP@100`; without it the pool depth as far as it is known, and else the deepest of the depths.
    Orderings at two depths are held against each other by `coefficient`, and count as the same from
    `threshold` on; `rbo_p` is the persistence of RBO. `pool_depth` cuts the judgments to a shallower pool
    first. With `keep_lists` the result can be asked for shallower pools and random parts of the judgments.
    Paired t tests are made at every depth, other tests at the chosen ones. Runs and qrels as for `evaluate`;
    `pool` is the one behind judgments that were cut already. `only` looks only at runs that meet conditions
    on `info` (see `compare`); the pool stays that of all runs.
    """
    check_policies(policies)
    check_procedure(procedure)
    agreeing = Agreeing(coefficient=coefficient, p=rbo_p, threshold=threshold)
    named = named_measures(measures)
    wanted, asked = chosen_measures(named, policies), parsed_reference(reference)
    judgments = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional,
        intents=needs_intents(wanted),
    )  # fmt: skip
    hold_judgments(judgments)
    ranked = judgments.pool_ranks is None and needs_pool_ranks(
        [*wanted, *([asked] if isinstance(asked, Measure) else [])]
    )
    cut, regrading = None, None
    if keep_lists or pool_depth is not None or ranked or only:
        lists = read_retrieved(
            runs, topics=judgments.topics, judged=True, policies=policies, run_format=run_format, jobs=jobs,
            progress=progress, rules=[other_tie_rule(policies.ties)],
        )  # fmt: skip
        regrading = regrade(judgments, lists, policies)
        if pool_depth is not None:
            whole = pool_of_lists(lists, regrading.grades(), info)
            cut = cut_to_depth(judgments, pool_depth, lists, whole, info=info, policies=policies)
            pool = pool if judgments.pool_ranks is not None else cut.pool
            regrading = regrade(cut.qrels, lists, policies)
        elif ranked:
            regrading = _with_pool_ranks(regrading, pool_of_lists(lists, regrading.grades(), info))
        reported = reported_runs(lists.runs, lists.tags, info, only)
        if reported is not None:
            whole = pool or pool_of_lists(lists, regrading.grades(), info)
            if regrading.qrels.pool_ranks is None and whole.known:
                regrading = regrading.with_pool_ranks(whole.contributing)
            regrading = replace(regrading, retrieved=lists.pick(reported))
            pool = whole.of_runs(reported)
        rankings = rankings_of_lists(regrading)
    else:
        rankings = read_rankings(
            judgments, runs, policies, run_format=run_format, jobs=jobs, progress=progress
        )
    found = study(
        rankings, wanted, depths=depths, reference=asked, procedure=procedure, agreeing=agreeing, info=info,
        names=names_as_typed(named), pool=pool,
    )  # fmt: skip
    if regrading is not None and regrading.qrels.pool_ranks is None and found.pool.known:
        regrading = regrading.with_pool_ranks(found.pool.contributing)
    notes = () if cut is None else (f"{cut.note[0].upper()}{cut.note[1:]}.",)
    return replace(found, notes=(*notes, *found.notes), regrading=regrading if keep_lists else None)


def _with_pool_ranks(regrading: Regrading, pool: Pool) -> Regrading:
    """The judgments with the rank at which each document was pooled, from the runs that contributed."""
    if not pool.known:
        raise DataError(
            "norm 'c' and its like look at pools of every depth, and no run is known to have contributed;"
            " list the runs with --info, or give qrels with pool ranks"
        )
    return regrading.with_pool_ranks(pool.contributing)


def study(
    rankings: Rankings,
    measures: Sequence[Measure],
    *,
    depths: Sequence[int] | None = None,
    reference: Measure | int | None = None,
    procedure: Procedure = EACH_PAIR_ALONE,
    agreeing: Agreeing = Agreeing(),  # noqa: B008 - it cannot be changed
    info: Mapping[str, RunInfo] | None = None,
    names: Mapping[Measure, str] | None = None,
    pool: Pool | None = None,
) -> DepthStudy:
    """The same of runs that were read and put in order; measures are cut at 1, and called by `names`."""
    if pool is None:
        pool = find_pool(JudgedDepths.of_rankings(rankings.runs, rankings.tags, rankings.plain), info)
    chosen = chosen_depths(depths, rankings.deepest)
    targets = references(measures, reference, pool, chosen, rankings.deepest)
    ks = depths_to_look_at(max(*chosen, *map(depth_of, targets)), chosen)
    work = Descent(
        rankings=rankings, ks=ks, depths=chosen, procedure=procedure, agreeing=agreeing, names=names or {}
    )
    over = tuple(work.over_depth(one, target) for one, target in zip(measures, targets, strict=True))
    assessed = work.assessment(assessment_measure(1))
    deep = over[0].reference_depth
    return DepthStudy(
        rankings=rankings, ks=ks, depths=chosen, measures=over, assessment=assessed[0],
        assessment_intervals=assessed[1], order=order_of_runs(rankings), tie_moves=tie_moves(rankings, over),
        unpooled=tuple(unpooled(rankings, pool, deep)), reference_depth=deep, agreeing=agreeing, pool=pool,
        notes=(*notes_on(rankings, procedure, chosen, over), *pool.notes()), procedure=procedure,
        policies=rankings.policies,
    )  # fmt: skip


# -- what is asked for ------------------------------------------------------------------------------


def chosen_measures(measures: Sequence[str | Measure], policies: Policies) -> tuple[Measure, ...]:
    """The measures, each cut at 1; an error where they, or the policies, have no values over depth."""
    wanted = measures_over_depth(measures)
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(
            f"unjudged {policies.unjudged}: depth shows residuals instead; use unjudged"
            " nonrelevant or condensed"
        )
    if policies.ties == "average":
        raise DataError(
            "values over depth need one order of the documents, and ties are averaged; use ties trec"
        )
    check_comparable(wanted, policies)
    return wanted


def parsed_reference(asked: str | int | None) -> Measure | int | None:
    """A measure with its depth, or a depth, from what was typed."""
    wanted = "expected a depth from 1, as 100, or a measure with one, as AP@100"
    if isinstance(asked, str) and not asked.isdecimal():
        target = parse(asked)
        if target.definition.at != "k" or "@" not in asked:
            raise DataError(f"reference {asked}: {wanted}")
        return target
    if asked is not None and not isinstance(asked, str | Integral):
        raise DataError(f"reference {asked!r}: {wanted}")
    if asked is not None and not is_count("depths", int(asked), 1):
        raise DataError(f"reference {asked}: {wanted}")
    return None if asked is None else int(asked)


def chosen_depths(asked: Sequence[int] | None, deepest: int) -> tuple[int, ...]:
    """The depths to show: as asked for, or the usual ones down to the deepest list."""
    if asked is None:
        shown = [k for k in DEFAULT_DEPTHS if k <= deepest]
        return tuple(shown or [deepest])
    if not isinstance(asked, Sequence) or not all(isinstance(depth, Integral) for depth in asked):
        raise DataError(f"depths {asked!r}: expected a list of whole numbers from 1")
    if not asked or not all(is_count("depths", depth, 1) for depth in asked):
        listed = ", ".join(map(str, asked)) or "none"
        raise DataError(f"depths {listed}: expected whole numbers from 1 to {most('depths'):,}")
    return tuple(sorted(set(asked)))


def depths_to_look_at(deepest: int, chosen: Sequence[int] = ()) -> NDArray[np.int64]:
    """Return every k to a thousand, a hundred deeper ones evenly on a log scale, and the chosen depths."""
    near = np.arange(1, min(deepest, EVERY_K) + 1)
    far = np.geomspace(EVERY_K, deepest, FURTHER).round() if deepest > EVERY_K else near[-1:]
    return np.unique(np.concatenate([near, far, np.asarray(chosen, np.int64)])).astype(np.int64)


def references(
    measures: Sequence[Measure],
    asked: Measure | int | None,
    pool: Pool,
    depths: Sequence[int],
    deepest: int,
) -> list[Measure]:
    """(measure,): the reference of each."""
    if isinstance(asked, Measure):
        return [asked] * len(measures)
    if asked is None:
        asked = pool.depth if 0 < pool.depth <= deepest else depths[-1]
    return [measure.replace(k=asked) for measure in measures]
