"""Decide which runs were pooled and how deep, cut pools to a depth, and define full judging."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import ChoiceError, DataError
from sounding.core.limits import most
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import whole_percent
from sounding.core.workers import Progress
from sounding.data.finding import RunIndex
from sounding.data.formats import read_qrels
from sounding.data.run_info import RunInfo, info_remarks, listed_rows, reported_runs
from sounding.data.tables import Qrels
from sounding.runs.align import hold_judgments, prepare
from sounding.runs.pairs import Pairs
from sounding.runs.ranking import Counts, Ranking, Values, pad_rows
from sounding.runs.retrieved import Retrieved, read_retrieved

GUESSED_FROM = 10  # a run with fewer judged documents at its top never counts as contributing
HOLED = 0.1  # share of a run's lists in which judgments may be missing when contributors are guessed
UNPOOLED = 0.05  # share of unjudged documents at a rank above which the pool has ended

ROUNDING = 1e-9

SCENARIOS = {
    1: "both pooled, k within the pool",
    2: "both pooled, k below the pool",
    3: "a run not pooled",
}

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pool:
    """Runs that contributed to the judgments, and the depths to which they were pooled and judged."""

    contributing: Flags  # (run,)
    among: int  # runs that could have contributed: all that are not new
    depth: int  # pool depth: `judged`, or deeper if single judgments are missing; 0: none
    judged: int  # the deepest d such that the top d of every contributing run was judged; 0: none
    lists: int  # lists of contributing runs, one per topic
    holed: int  # lists with an unjudged document within the depth
    guessed: bool  # contributing runs were guessed from the judgments, not read from a list
    remarks: tuple[str, ...] = ()  # differences between the list and the runs, one line each
    others: int = 0  # contributing runs that are not reported, beside those of `contributing`

    @property
    def known(self) -> bool:
        """Return whether any run is known to have contributed."""
        return bool(self.contributing.any()) or self.others > 0

    @property
    def contributors(self) -> int:
        """Return how many runs contributed, reported or not."""
        return int(np.count_nonzero(self.contributing)) + self.others

    def of_runs(self, kept: Flags) -> Pool:
        """Return the same pool where only some of its runs, (run,), are reported."""
        unseen = int(np.count_nonzero(self.contributing & ~kept))
        return replace(self, contributing=self.contributing[kept], others=self.others + unseen)

    @property
    def source(self) -> str:
        """Return how the contributing runs are known: `guessed` or `listed`."""
        return "guessed" if self.guessed else "listed"

    @property
    def how_known(self) -> str:
        """Return how the contributing runs are known, in words that a sentence puts into parentheses."""
        return "guessed from the judgments" if self.guessed else "as listed"

    def notes(self) -> list[str]:
        """Return the remarks as sentences."""
        return [f"{remark}." for remark in self.remarks]

    def describe(self) -> str:
        """Describe in one sentence how many runs contributed, how deep, and how that is known."""
        count = self.contributors
        if not count and self.guessed:
            return (
                f"No pool was recognized: fewer than two runs have a completely judged top {GUESSED_FROM}"
                " on 90% of"
                " the topics."
            )
        if not count:
            return "No run contributed to the pool (as listed)."
        runs = f"{count} of {self.among} runs contributed to the pool ({self.how_known})"
        if not self.depth:
            return f"{runs}; more than {whole_percent(UNPOOLED)} of even their first documents are unjudged."
        if self.judged < self.depth:
            return (
                f"{runs}; it is {self.depth} deep, with holes: {self.holed:,} of {self.lists:,} lists have an"
                f" unjudged document within that depth, the first at rank {self.judged + 1}."
            )
        return f"{runs}; the first {self.depth} documents of each of them are judged."


class JudgedDepths(NamedTuple):
    """Judged depths of runs, from which the pool is recognized."""

    runs: Sequence[str]
    tags: Sequence[str]  # (run,) the tag of each run
    # (run, topic) rank of the first unjudged document; NaN if all retrieved documents were judged
    first_unjudged: Values
    by_rank: Counts  # (run, rank) judged documents at each rank, over all topics
    lengths: Values | Counts  # (run, topic) number of documents

    @staticmethod
    def of_lists(retrieved: Retrieved, grades: Values) -> JudgedDepths:
        """Compute the depths of lists; `grades` is the result of `Retrieved.grades`."""
        by_rank = judged_flags(retrieved, grades).sum(axis=1)
        first = first_unjudged(retrieved, grades)
        return JudgedDepths(retrieved.runs, retrieved.tags, first, by_rank, retrieved.lengths)

    @staticmethod
    def of_rankings(runs: Sequence[str], tags: Sequence[str], rankings: Sequence[Ranking]) -> JudgedDepths:
        """Compute the depths of rankings, which include their unjudged documents."""
        return JudgedDepths(
            runs, tags, np.array([ranking.first_unjudged() for ranking in rankings]),
            pad_rows([ranking.judged_by_rank() for ranking in rankings]),
            np.array([ranking.retrieved for ranking in rankings]),
        )  # fmt: skip


def find_pool(
    judged: JudgedDepths, info: Mapping[str, RunInfo] | None = None, new: Flags | None = None
) -> Pool:
    """Decide which runs contributed to the judgments and how deep the pool is, for every command.

    A run that `info` does not list did not contribute; without a list, contributing runs are guessed. `new`
    runs, (run,), had no part in the judgments. The pool ends at the rank where more than one in twenty of the
    contributing runs' documents are unjudged; single judgments may be missing above it.
    """
    old = np.arange(len(judged.runs)) if new is None else (~new).nonzero()[0]
    if not len(old):
        raise DataError("all runs are new; give the runs of the collection as well")
    lengths = judged.lengths[old]
    topics = lengths.any(axis=0)  # topics of at least one run
    reach = np.where(np.isnan(judged.first_unjudged), np.inf, judged.first_unjudged - 1)[old][:, topics]
    remarks: tuple[str, ...] = ()
    if info is None:
        contributing = _guess(reach, lengths[:, topics])
    else:
        names = [(judged.runs[run], judged.tags[run]) for run in old.tolist()]
        contributing, remarks = _listed_as_pooled(names, info)
    ends = reach[contributing].ravel()
    depth = pool_end(*counts_by_rank(judged.by_rank[old][contributing], lengths[contributing]))
    every = np.zeros(len(judged.runs), np.bool_)
    every[old] = contributing
    return Pool(
        contributing=every, among=len(old), depth=depth, judged=int(min(ends.min(initial=depth), depth)),
        lists=len(ends), holed=int(np.count_nonzero(ends < depth)), guessed=info is None, remarks=remarks,
    )  # fmt: skip


def pool_of_lists(
    retrieved: Retrieved, grades: Values, info: Mapping[str, RunInfo] | None = None, new: Flags | None = None
) -> Pool:
    """Return the pool behind lists; `grades` is the result of `Retrieved.grades`."""
    return find_pool(JudgedDepths.of_lists(retrieved, grades), info, new)


def _listed_as_pooled(
    names: Sequence[tuple[str, str]], info: Mapping[str, RunInfo]
) -> tuple[Flags, tuple[str, ...]]:
    """Return which runs, (run,), are listed as pooled, by name or tag; and remarks on the list."""
    runs, tags = zip(*names, strict=True)
    rows = listed_rows(runs, tags, info)
    if not any(rows):
        raise DataError(
            f"the info file lists none of the {len(runs)} runs; expected names such as {runs[0]!r},"
            f" found {next(iter(info), 'nothing')!r}"
        )
    # A missing run that was not pooled does not matter, unless its row may belong to an unlisted run.
    of_interest = info if None in rows else {name: row for name, row in info.items() if row.pooled}
    remarks = tuple(info_remarks(runs, rows, of_interest, grouped=False))
    return np.array([row is not None and row.pooled for row in rows], np.bool_), remarks


def _guess(reach: Values, lengths: Values | Counts) -> Flags:
    """Guess which runs contributed, (run,), from how deep they are judged, (run, topic)."""
    usual = _usual_reach(reach)
    contributing = usual >= _common_end(reach, usual)
    # A short list may be fully judged by chance, and so may a single run: neither shows a pool.
    long = np.median(lengths, axis=1) > GUESSED_FROM if lengths.size else False
    if np.count_nonzero(contributing & long) < 2 and not np.isinf(usual).all():
        return np.zeros_like(contributing)
    return contributing


def _usual_reach(reach: Values) -> Values:
    """Return how deep a run is judged, (run,), on all but a tenth of the topics."""
    topics = reach.shape[1]
    return np.sort(reach, axis=1)[:, int(HOLED * topics)] if topics else np.full(len(reach), np.inf)


def _common_end(reach: Values, usual: Values) -> float:
    """Return the rank, from ten, at which many lists stop being judged: the depth of the pool.

    Within a pool lists go on; after its end the next document is unjudged in many of them at once. So the
    depth is the rank with the largest increase, over the rank before, in the number of lists that end there.
    Without an increase of two it is ten, because a pool cannot be distinguished from chance.
    """
    ends = reach[usual >= GUESSED_FROM]
    ends = ends[(ends >= GUESSED_FROM - 1) & np.isfinite(ends)].astype(np.int64)
    rises = np.diff(np.bincount(ends, minlength=GUESSED_FROM + 1))[GUESSED_FROM - 1 :]
    if rises.max() < 2:
        return GUESSED_FROM
    return float(GUESSED_FROM + (rises == rises.max()).nonzero()[0][-1])


def counts_by_rank(judged: Counts | Flags, lengths: Values | Counts) -> tuple[Counts, Counts]:
    """Return how many documents of some lists are judged and unjudged at each rank: (rank,) twice.

    `judged` is (anything, rank); `lengths` is the length of each list.
    """
    ends = np.bincount(lengths.ravel().astype(np.int64))  # the last place belongs to the longest list
    listed = lengths.size - np.cumsum(ends)[:-1]
    seen = np.zeros(len(listed), np.int64)
    seen[: judged.shape[-1]] = judged.sum(axis=tuple(range(judged.ndim - 1)))[: len(listed)]
    return seen, listed - seen


def pool_end(judged: Counts, unjudged: Counts) -> int:
    """Return the pool depth: the last rank before more than one in twenty documents are unjudged.

    Single judgments may be missing above it. From rank 1 on, a judged document counts 1 for going deeper and
    an unjudged one 19 against it; the depth is where the balance is largest.
    """
    gain = np.cumsum(UNPOOLED * judged - (1 - UNPOOLED) * unjudged)
    if not len(gain) or gain.max() < 0:
        return 0
    return int((gain >= gain.max() - ROUNDING).nonzero()[0][-1]) + 1


def depth_by_topic(pool: Pool, retrieved: Retrieved, grades: Values) -> tuple[Values, Values]:
    """Return two depths per topic: to which the contributing runs were pooled, and all are judged.

    NaN: nobody retrieved an unjudged document. A topic's pool has the depth of the whole pool if at most one
    in twenty of the documents within it is unjudged; otherwise the same rule decides for the topic alone.
    """
    pooled, depth = retrieved.pick(pool.contributing), pool.depth
    flags, lengths = judged_flags(pooled, grades), pooled.lengths
    depths = np.full((2, len(retrieved.topics)), np.nan)
    for number in range(len(retrieved.topics)):
        judged, unjudged = counts_by_rank(flags[:, number], lengths[:, number])
        if not unjudged.any():
            continue
        lost, had = unjudged[:depth].sum(), judged[:depth].sum()
        usual = depth if lost <= UNPOOLED * (lost + had) else 0
        depths[:, number] = max(usual, pool_end(judged, unjudged)), int((unjudged > 0).argmax())
    return depths[0], depths[1]


def scenarios(pool: Pool, pairs: Pairs, k: int) -> NDArray[np.int8]:
    """Return the scenario of each pair, (pair,): 1, 2 or 3, see SCENARIOS."""
    both = pool.contributing[pairs].all(axis=1)
    return np.where(both, 1 if k <= pool.depth else 2, 3).astype(np.int8)


def first_unjudged(retrieved: Retrieved, grades: Values) -> Values:
    """(run, topic): Return the rank of the first unjudged document; NaN if all were judged.

    `grades` is the result of `Retrieved.grades`.
    """
    judged = np.append(np.isfinite(grades), True)  # NONE refers to the last place
    unjudged = ~judged[retrieved.lists]
    rank = unjudged.argmax(axis=2) + 1.0
    return np.where(unjudged.any(axis=2), rank, np.nan)


def judged_flags(retrieved: Retrieved, grades: Values) -> Flags:
    """(run, topic, rank): Return whether there is a judged document."""
    return np.append(np.isfinite(grades), False)[retrieved.lists]  # NONE refers to the last place


def judged_shares(judged: NDArray[np.bool_], listed: NDArray[np.bool_]) -> Values:
    """(depth,): Return the share of judged documents down to each depth, averaged over topics.

    Both arguments are (topic, rank): judged, and retrieved at all. Topics without documents are left out.
    """
    some = listed.any(axis=1)
    if not some.any():
        return np.full(listed.shape[1], np.nan)
    return (np.cumsum(judged[some], axis=1) / np.cumsum(listed[some], axis=1)).mean(axis=0)


# -- pools cut to a depth --------------------------------------------------------------------------


class CutPool(NamedTuple):
    """The judgments that a shallower pool would have had."""

    qrels: Qrels
    note: str  # the cut, in a sentence
    pool: Pool | None  # the same runs, at the requested depth; None: cut by the pool ranks of the qrels


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
) -> CutPool:
    """Return the judgments that a pool of this depth would have had, a description, and that pool.

    Judgments with pool ranks are cut by these. Otherwise the pool is that of the contributing runs: those
    that `info` lists as pooled, or else those that their judged documents suggest.
    """
    if qrels.pool_ranks is not None:
        return CutPool(*_cut_by_own_ranks(qrels, depth), None)
    retrieved = read_retrieved(
        runs, topics=qrels.topics, policies=replace(policies, depth=None), run_format=run_format, jobs=jobs,
        progress=progress,
    )  # fmt: skip
    pool = pool_of_lists(retrieved, retrieved.grades(qrels, policies), info)
    return cut_to_depth(qrels, depth, retrieved, pool, info=info, policies=policies)


class JudgedLists(NamedTuple):
    """The judgments and what the runs retrieved, each read once."""

    qrels: Qrels | None  # limited to the requested pool depth; None: there are none
    retrieved: Retrieved
    cut: str | None  # the cut of the pool, in a sentence; None: it was not cut


def read_judged_lists(
    qrels: Any,
    runs: Any,
    *,
    depth: int | None,
    judged: bool = False,
    pool_depth: int | None = None,
    info: Mapping[str, RunInfo] | None = None,
    only: str | Sequence[str] = (),
    always: Sequence[str] = (),
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> JudgedLists:
    """Read judgments (None: there are none) and the first `depth` documents of every run (None: all).

    Topics are all that a run has or, with `judged`, those of the judgments. With `pool_depth`, only judgments
    are kept that a pool of this depth would have had, and lists are read completely. `only` keeps the runs
    that meet these conditions (see `reported_runs`), and those named in `always`, once the pool is cut. Qrels
    are read before the runs.
    """
    judgments = None
    if qrels is not None:
        judgments = read_qrels(
            qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
        )
    retrieved = read_retrieved(
        runs, depth=None if pool_depth is not None else depth, policies=policies, run_format=run_format,
        topics=judgments.topics if judged and judgments is not None else None, judged=judged,
        jobs=jobs, progress=progress,
    )  # fmt: skip
    named = RunIndex(retrieved.runs, retrieved.tags)
    reported = reported_runs(
        retrieved.runs, retrieved.tags, info, only, [named.place(name) for name in always] if only else ()
    )

    def shown(lists: Retrieved) -> Retrieved:
        return lists if reported is None else lists.pick(reported).held()

    if judgments is None or pool_depth is None:
        return JudgedLists(judgments, shown(retrieved), None)
    if judgments.pool_ranks is not None:
        kept, note = _cut_by_own_ranks(judgments, pool_depth)
    else:
        lists = retrieved.narrowed(topics=judgments.topics)
        pool = pool_of_lists(lists, lists.grades(judgments, policies), info)
        kept, note, _ = cut_to_depth(judgments, pool_depth, lists, pool, info=info, policies=policies)
    return JudgedLists(kept, shown(retrieved if depth is None else retrieved.narrowed(depth=depth)), note)


def cut_to_depth(
    qrels: Qrels,
    depth: int,
    retrieved: Retrieved,
    pool: Pool,
    *,
    info: Mapping[str, RunInfo] | None = None,
    policies: Policies = DEFAULT_POLICIES,
) -> CutPool:
    """Like `judgments_at_depth`, for runs and a pool that are known; `info` is the list of its runs."""
    if qrels.pool_ranks is not None:
        kept, note = _cut_by_own_ranks(qrels, depth)
    else:
        if not pool.known:
            raise DataError(
                "cannot cut the pool: it is not known which runs it was made of, because none of these"
                " contributed; list the pooled runs with --info"
            )
        if 0 < pool.depth < depth:
            raise DataError(
                f"the pool of these runs is {pool.depth} deep, not {depth}; give at most {pool.depth}"
            )
        given = int(np.count_nonzero(pool.contributing))
        listed = given if info is None else sum(run.pooled for run in info.values())
        count = f"{given}" if given == listed else f"only {given} of the {listed}"
        kept = cut_pool(qrels, retrieved.pick(pool.contributing), depth)
        sentence = _describe_cut(qrels, kept, depth, f"of {count} contributing runs, {pool.source}")
        note = "; ".join((sentence, *pool.remarks))
    hold_judgments(kept)
    first = first_unjudged(retrieved.pick(pool.contributing), retrieved.grades(kept, policies))
    reach = first[np.isfinite(first)] - 1
    judged, holed = int(min(reach.min(initial=depth), depth)), int(np.count_nonzero(reach < depth))
    return CutPool(kept, note, replace(pool, depth=depth, judged=judged, holed=holed))


def _cut_by_own_ranks(qrels: Qrels, depth: int) -> tuple[Qrels, str]:
    """Cut judgments to a pool depth by their own pool ranks; return them with a description."""
    deepest = 0 if qrels.pool_ranks is None else int(qrels.pool_ranks.max(initial=0))
    if depth > deepest:
        raise DataError(
            f"the pool ranks of the qrels end at {deepest}, not at {depth}; give at most {deepest}"
        )
    kept = cut_pool(qrels, None, depth)
    return kept, _describe_cut(qrels, kept, depth, "by the pool ranks of the qrels")


def _describe_cut(qrels: Qrels, kept: Qrels, depth: int, how: str) -> str:
    count = f"{len(kept.docs):,} of {len(qrels.docs):,} judgments kept"
    return f"pool cut to depth {depth} ({how}): {count}"


def cut_pool(qrels: Qrels, contributors: Retrieved | None, depth: int) -> Qrels:
    """Return the judgments that a pool of this depth would have had, with their pool ranks.

    Judgments with pool ranks are cut by these; otherwise a document is kept if a contributing run has it at
    that depth or better. The scale of the grades stays. No other function removes judgments because of a pool
    depth.
    """
    ranks = qrels.pool_ranks
    if ranks is None:
        if contributors is None:
            raise DataError("the qrels have no pool ranks; give the runs that made the pool")
        ranks = contributors.cut(depth).pool_ranks(qrels)
    near = (ranks > 0) & (ranks <= depth)
    return replace(qrels, pool_ranks=ranks, highest=qrels.best_grade).keep(near)


def with_pool_ranks(
    qrels: Qrels,
    retrieved: Retrieved,
    info: Mapping[str, RunInfo] | None = None,
    policies: Policies = DEFAULT_POLICIES,
) -> Qrels:
    """Return the judgments with the best rank of each document in a contributing run; 0: none has it.

    `retrieved` holds whole lists for their topics. Without `info` the contributing runs are guessed.
    """
    pool = pool_of_lists(retrieved, retrieved.grades(qrels, policies), info)
    if not pool.known:
        raise DataError(
            "the measures ask at which rank documents were pooled, and no run is known to have contributed;"
            " list the pooled runs with --info FILE, or give qrels with a pool_rank column"
        )
    return replace(qrels, pool_ranks=retrieved.pick(pool.contributing).pool_ranks(qrels))


# -- what full judging means ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Until:
    """The documents that would be judged: the first of some runs, or those that a file lists."""

    whose: Literal["pool", "runs", "file"]
    depth: int  # 0 for a file
    listed: Qrels | None = field(default=None, compare=False)

    def __str__(self) -> str:
        return f"{self.whose}:{self.depth}" if self.listed is None else self.listed.source

    def describe(self) -> str:
        """Describe the documents in words that continue a sentence."""
        if self.listed is not None:
            return f"the documents in {self.listed.source}"
        count = "first document" if self.depth == 1 else f"first {self.depth:,} documents"
        whose = "run that contributes to the pool" if self.whose == "pool" else "run"
        return f"the {count} of every {whose}"

    def considered(self, retrieved: Retrieved, contributing: Flags) -> Flags:
        """Return which documents would be judged, (document,).

        `contributing` marks the pooled runs, (run,).
        """
        if self.listed is not None:
            return _documents_in(self.listed, retrieved)
        if self.whose == "runs":
            return retrieved.cut(self.depth).best_ranks() > 0
        if not contributing.any():
            raise DataError(
                f"until {self}: no run contributes to the pool; list the pooled runs with --info,"
                f" or use runs:{self.depth}"
            )
        return retrieved.pick(contributing).cut(self.depth).best_ranks() > 0


def _documents_in(listed: Qrels, retrieved: Retrieved) -> Flags:
    """Return which documents of the runs are listed, (document,)."""
    here, _ = retrieved.find(prepare(listed))
    if not len(here):
        raise DataError(
            f"{listed.source}: the runs retrieved none of these {len(listed.docs):,} documents;"
            " expected documents of the runs, such as 'sounding pool -o FILE' lists"
        )
    considered = np.zeros(len(retrieved.docs), np.bool_)
    considered[here] = True
    return considered


def parse_until(text: str, *, files: bool = False) -> Until:
    """Parse `pool:100` or `runs:100`; with `files` also the name of a file of judgments, or to judge."""
    found = re.fullmatch(r"(pool|runs):(\d{1,4000})", text) if isinstance(text, str) else None
    if found is None or int(found[2]) < 1:
        if files and isinstance(text, str) and Path(text).is_file():
            return Until("file", 0, read_qrels(text, fractional="accept"))
        more = " or a file of documents" if files else ""
        raise ChoiceError(
            f"until {text!r}; expected pool:D or runs:D with a depth from 1, such as pool:100{more}"
        )
    if int(found[2]) > most("k"):  # it becomes the cut-off of a measure
        raise ChoiceError(f"until {found[1]}: the depth is too large; give at most {most('k'):,}")
    return Until("pool" if found[1] == "pool" else "runs", int(found[2]))
