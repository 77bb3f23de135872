"""Which runs the pool was made of, and the judgments that a shallower pool of them would have had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.scenarios import Pool, find_pool
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels
from sounding.errors import DataError
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.ranking import Values
from sounding.retrieved import Retrieved, cut_pool, read_retrieved
from sounding.workers import Progress


def first_unjudged(retrieved: Retrieved, grades: Values) -> Values:
    """(run, topic): the rank of the first document that was not judged; NaN: all of them were.

    `grades` are what `Retrieved.grades` gives.
    """
    judged = np.append(np.isfinite(grades), True)  # the last place is what NONE points to
    unjudged = ~judged[retrieved.lists]
    rank = unjudged.argmax(axis=2) + 1.0
    return np.where(unjudged.any(axis=2), rank, np.nan)


def contributing_runs(
    retrieved: Retrieved, grades: Values, info: Mapping[str, RunInfo] | None = None
) -> Pool:
    """Which of the runs contributed to the judgments and how deep: as listed in `info`, or guessed."""
    names = [
        sorted({name, tag}, key=[name, tag].index)
        for name, tag in zip(retrieved.runs, retrieved.tags, strict=True)
    ]
    judged = judged_flags(retrieved, grades).sum(axis=1)
    return find_pool(first_unjudged(retrieved, grades), judged, retrieved.lengths, names, info)


def judged_flags(retrieved: Retrieved, grades: Values) -> NDArray[np.bool_]:
    """(run, topic, rank): whether a document stands there and is judged."""
    return np.append(np.isfinite(grades), False)[retrieved.lists]  # the last place is what NONE points to


class CutPool(NamedTuple):
    """The judgments that a shallower pool would have had."""

    qrels: Qrels
    told: str  # what was cut, in a sentence
    pool: Pool | None  # the same runs, as deep as was asked for; None: cut by the pool ranks of the qrels


def pool_at_depth(pool: Pool, retrieved: Retrieved, grades: Values, depth: int) -> Pool:
    """The pool when it was cut to a depth: the same runs, and what is judged of them now."""
    first = first_unjudged(retrieved.pick(pool.contributing), grades)
    reach = first[np.isfinite(first)] - 1
    judged = int(min(reach.min(initial=depth), depth))
    return replace(pool, depth=depth, judged=judged, holed=int(np.count_nonzero(reach < depth)))


def judgments_at_depth(
    qrels: Qrels,
    runs: Any,
    depth: int,
    *,
    info: Mapping[str, RunInfo] | None = None,
    policies: Policies = DEFAULT_POLICIES,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
    retrieved: Retrieved | None = None,
) -> CutPool:
    """The judgments that a pool of this depth would have had, a sentence that says so, and that pool.

    Judgments that know their pool ranks are cut by these. Otherwise the pool is that of the runs which
    contributed: those that `info` lists as pooled, or else those whose documents show it. `retrieved` is
    what the runs have for these topics, where that was read already.
    """
    if qrels.pool_ranks is not None:
        return CutPool(*cut_judgments(qrels, None, depth), None)
    if retrieved is None:
        retrieved = read_retrieved(
            runs, topics=qrels.topics, policies=replace(policies, depth=None), run_format=run_format,
            jobs=jobs, progress=progress,
        )  # fmt: skip
    pool = contributing_runs(retrieved, retrieved.grades(qrels, policies), info)
    kept, told = cut_to_pool(qrels, retrieved, pool, depth, info)
    return CutPool(kept, told, pool_at_depth(pool, retrieved, retrieved.grades(kept, policies), depth))


def cut_to_pool(
    qrels: Qrels, retrieved: Retrieved, pool: Pool, depth: int, info: Mapping[str, RunInfo] | None = None
) -> tuple[Qrels, str]:
    """The same where the contributing runs have been found; `info` is where they were listed."""
    if qrels.pool_ranks is not None:
        return cut_judgments(qrels, None, depth)
    if not pool.contributing.any():
        raise DataError(
            "a pool can be cut only where it is known which runs it was made of, and none of these"
            " contributed; list them with --info"
        )
    if 0 < pool.depth < depth:
        raise DataError(f"the pool of these runs is {pool.depth} deep; cut it to at most that, not {depth}")
    given = int(np.count_nonzero(pool.contributing))
    listed = given if info is None else sum(run.pooled for run in info.values())
    count = f"{given}" if given == listed else f"only {given} of the {listed}"
    how = "guessed" if pool.guessed else "listed"
    kept, told = cut_judgments(
        qrels, retrieved.pick(pool.contributing), depth, f"of {count} contributing runs, {how}"
    )
    return kept, "; ".join((told, *pool.remarks))


def cut_judgments(
    qrels: Qrels, contributors: Retrieved | None, depth: int, how: str = ""
) -> tuple[Qrels, str]:
    """The same by the ranks that the qrels themselves hold, or else by those of the contributing runs.

    `how` tells of these runs in a few words. This is the one place where --pool-depth takes judgments away.
    """
    if qrels.pool_ranks is not None:
        deepest, how = int(qrels.pool_ranks.max(initial=0)), "by the pool ranks of the qrels"
        if depth > deepest:
            raise DataError(
                f"the pool ranks of the qrels end at {deepest}; cut the pool to at most that, not {depth}"
            )
    kept = cut_pool(qrels, contributors, depth)
    told = f"{len(kept.docs):,} of {len(qrels.docs):,} judgments kept"
    return kept, f"pool cut to depth {depth} ({how}): {told}"
