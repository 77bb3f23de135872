"""Which runs were pooled and how deep: the one rule for the pool of a collection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import whole_percent
from sounding.core.workers import Progress
from sounding.data.run_info import RunInfo, info_remarks, listed_rows
from sounding.data.tables import Qrels
from sounding.runs.pairs import Pairs
from sounding.runs.ranking import Values
from sounding.runs.retrieved import Retrieved, cut_pool, read_retrieved

GUESSED_FROM = 10  # a run with fewer judged at its top is never taken to have contributed
HOLED = 0.1  # share of a run's lists in which a judgment may be lacking, where contributors are guessed
UNPOOLED = 0.05  # share of the documents at a rank that are not judged: more of them is the pool's end

ROUNDING = 1e-9

SCENARIOS = {
    1: "both pooled, k within the pool",
    2: "both pooled, k below the pool",
    3: "a run not pooled",
}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pool:
    """Which runs contributed to the judgments, how deep they were pooled, and how deep all are judged."""

    contributing: NDArray[np.bool_]  # (run,)
    depth: int  # to which they were pooled: `judged`, or deeper where single judgments are lacking; 0: none
    judged: int  # the deepest d such that the top d of every contributing run was judged; 0: none is
    lists: int  # of contributing runs, one a topic
    holed: int  # those of them with an unjudged document within the depth
    guessed: bool  # contributing runs were recognised by their judged documents, not read from a list
    remarks: tuple[str, ...] = ()  # what the list and the runs do not have in common, a line each

    def notes(self) -> list[str]:
        """The remarks as sentences."""
        return [f"{remark}." for remark in self.remarks]

    def describe(self) -> str:
        """How many runs, how deep, and how that is known, in a sentence."""
        count = int(np.count_nonzero(self.contributing))
        if not count and self.guessed:
            return (
                f"No pool was recognised: no two runs with longer lists have their first {GUESSED_FROM}"
                " documents judged on nine topics in ten."
            )
        if not count:
            return "No run contributed to the pool (as listed)."
        how = "guessed from what is judged" if self.guessed else "as listed"
        runs = f"{count} of {len(self.contributing)} runs contributed to the pool ({how})"
        if not self.depth:
            return f"{runs}; more than {whole_percent(UNPOOLED)} of even their first documents are unjudged."
        if self.judged < self.depth:
            return (
                f"{runs}; it is {self.depth} deep, with holes: {self.holed:,} of {self.lists:,} lists have an"
                f" unjudged document within that depth, the first at rank {self.judged + 1}."
            )
        return f"{runs}; the first {self.depth} documents of each of them are judged."


def find_pool(
    first_unjudged: NDArray[np.float64],
    judged_by_rank: NDArray[np.int64],
    lengths: NDArray[np.float64] | NDArray[np.int64],
    names: Sequence[Sequence[str]],
    listed: Mapping[str, RunInfo] | None = None,
) -> Pool:
    """Return which runs contributed to the judgments and how deep: the one rule, for every verb.

    `first_unjudged` is the rank of each run's first unjudged document, (run, topic), NaN where everything
    that it retrieved was judged; `judged_by_rank` how many of its documents are judged at each rank over all
    topics, (run, rank); `lengths` how many documents it has for each topic. `names` are the names that each
    run goes by; a run that is not listed did not contribute. Without a list, contributing runs are guessed.

    The pool ends where more than one in twenty of the contributing runs' documents at a rank are unjudged.
    """
    known = lengths.any(axis=0)  # topics that some run has
    judged = np.where(np.isnan(first_unjudged), np.inf, first_unjudged - 1)[:, known]
    remarks: tuple[str, ...] = ()
    if listed is None:
        reach = _usual_reach(judged)
        contributing = reach >= _common_end(judged, reach)
        # A short list may be judged whole by luck, and so may one run: neither shows a pool.
        long = np.median(lengths[:, known], axis=1) > GUESSED_FROM if known.any() else False
        if np.count_nonzero(contributing & long) < 2 and not np.isinf(reach).all():
            contributing = np.zeros_like(contributing)
    else:
        rows = listed_rows([own[0] for own in names], [own[-1] for own in names], listed)
        if not any(rows):
            raise DataError(
                f"none of the {len(names)} runs is listed; expected names such as {names[0][0]!r},"
                f" found {next(iter(listed), 'nothing')!r}"
            )
        contributing = np.array([run is not None and run.pooled for run in rows], np.bool_)
        # An absent run that was not pooled is no news, unless a run here lacks a row, which may be that one.
        of_interest = listed if None in rows else {name: row for name, row in listed.items() if row.pooled}
        remarks = tuple(info_remarks([own[0] for own in names], rows, of_interest, grouped=False))
    ends = judged[contributing].ravel()
    depth = pool_end(*counts_by_rank(judged_by_rank[contributing], lengths[contributing]))
    return Pool(
        contributing=contributing, depth=depth, judged=int(min(ends.min(initial=depth), depth)),
        lists=len(ends), holed=int(np.count_nonzero(ends < depth)), guessed=listed is None,
        remarks=remarks,
    )  # fmt: skip


def counts_by_rank(
    judged: NDArray[np.int64] | NDArray[np.bool_], lengths: NDArray[np.float64] | NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many documents of some lists are judged, and how many are not, at each rank: (rank,) twice.

    `judged` is (anything, rank); `lengths` tells how long each list is.
    """
    ends = np.bincount(lengths.ravel().astype(np.int64))  # the last place is the longest list's
    listed = lengths.size - np.cumsum(ends)[:-1]
    seen = np.zeros(len(listed), np.int64)
    seen[: judged.shape[-1]] = judged.sum(axis=tuple(range(judged.ndim - 1)))[: len(listed)]
    return seen, listed - seen


def pool_end(judged: NDArray[np.int64], unjudged: NDArray[np.int64]) -> int:
    """Return the depth behind which more than one in twenty documents are unjudged; holes above it are borne.

    From rank 1 on, a judged document counts 1 for going deeper and an unjudged one 19 against it; the depth
    is where the balance is largest.
    """
    gain = np.cumsum(UNPOOLED * judged - (1 - UNPOOLED) * unjudged)
    if not len(gain) or gain.max() < 0:
        return 0
    return int((gain >= gain.max() - ROUNDING).nonzero()[0][-1]) + 1


def _usual_reach(judged: NDArray[np.float64]) -> NDArray[np.float64]:
    """(run,): how deep a run is judged on all topics but a tenth, where a judgment may be lacking."""
    topics = judged.shape[1]
    return np.sort(judged, axis=1)[:, int(HOLED * topics)] if topics else np.full(len(judged), np.inf)


def _common_end(judged: NDArray[np.float64], reach: NDArray[np.float64]) -> float:
    """The rank, from ten, behind which lists begin to stop being judged: where a pool of runs was cut.

    Within a pool lists go on; behind its end the next document is unjudged in many of them at once. So
    it is the rank at which the most lists end beyond those that end one rank above. Where no two do, it
    is ten: a pool cannot be told from luck.
    """
    ends = judged[reach >= GUESSED_FROM]
    ends = ends[(ends >= GUESSED_FROM - 1) & np.isfinite(ends)].astype(np.int64)
    rises = np.diff(np.bincount(ends, minlength=GUESSED_FROM + 1))[GUESSED_FROM - 1 :]
    if rises.max() < 2:
        return GUESSED_FROM
    return float(GUESSED_FROM + (rises == rises.max()).nonzero()[0][-1])


def scenarios(pool: Pool, pairs: Pairs, k: int) -> NDArray[np.int8]:
    """(pair,): 1, 2 or 3."""
    both = pool.contributing[pairs].all(axis=1)
    return np.where(both, 1 if k <= pool.depth else 2, 3).astype(np.int8)


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
