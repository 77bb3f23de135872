"""Runs and judgments of one collection, with what is known of the runs: who made them, which were pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Progress
from sounding.data.formats import Place, read_qrels, run_sources
from sounding.data.run_info import Rows, RunInfo, groups_of, info_remarks, listed_rows, named
from sounding.data.tables import Qrels
from sounding.measures import Measure
from sounding.measures.regrading import Regrading, refuse_intervals, regraded
from sounding.runs.pool import (
    GUESSED_FROM,
    UNPOOLED,
    Pool,
    contributing_runs,
    counts_by_rank,
    cut_to_pool,
    first_unjudged,
    judged_flags,
    pool_at_depth,
    pool_end,
)
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import Retrieved, read_retrieved

UNKNOWN_KIND = "unknown"

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedRuns(Regrading):
    """Runs that can be graded anew, and who contributed to the judgments."""

    level: float  # the lowest grade that counts as relevant
    groups: tuple[str, ...]  # (run,) a run of unknown group is a group of its own
    kinds: tuple[str, ...]  # (run,) automatic, manual, or what the info file says
    new: Flags  # (run,) asked about, and no part of the collection
    pool: Pool
    remarks: tuple[str, ...]  # what is not known of runs and groups, a line each

    @property
    def contributing(self) -> Flags:
        """(run,): which runs contributed to the judgments."""
        return self.pool.contributing

    @property
    def reach(self) -> int:
        """How many documents of a contributing run count as pooled: all, where not even the first was."""
        return self.pool.depth or self.retrieved.depth

    def describe_pool(self) -> str:
        """How many of the runs that are not new contributed, how deep, and how that is known."""
        return replace(self.pool, contributing=self.contributing[~self.new]).describe()

    def contributions(self) -> Retrieved:
        """What the contributing runs put into the pool."""
        if not self.contributing.any():
            raise DataError(
                "none of these runs is known to have contributed to the judgments; list those that did"
                " with --info"
            )
        return self.retrieved.pick(self.contributing).cut(self.reach)

    def holes(self) -> Counts:
        """Documents within the depth of the pool that are not judged, ascending; none where none is known."""
        if not (self.pool.depth and self.contributing.any()):
            return np.empty(0, np.int64)
        return ((self.contributions().best_ranks() > 0) & np.isnan(self.grades())).nonzero()[0]

    def named_documents(self, places: Counts) -> list[str]:
        """Topic and doc id of documents, with a blank between them."""
        topics, docs = self.retrieved.topic[places], self.retrieved.docs[places].texts()
        return [f"{self.topics[topic]} {doc}" for topic, doc in zip(topics.tolist(), docs, strict=True)]

    def depth_by_topic(self) -> tuple[Values, Values]:
        """(topic,) twice: to which contributing runs were pooled, and to which all are judged.

        NaN: nobody retrieved an unjudged document. A topic's pool is as deep as that of all topics where no
        more than one in twenty of the documents within that depth is unjudged; otherwise it ends by the same
        rule as that of all.
        """
        pooled, depth = self.retrieved.pick(self.contributing), self.pool.depth
        flags, lengths = judged_flags(pooled, self.grades()), pooled.lengths
        depths = np.full((2, len(self.topics)), np.nan)
        for number in range(len(self.topics)):
            judged, unjudged = counts_by_rank(flags[:, number], lengths[:, number])
            if not unjudged.any():
                continue
            lost, had = unjudged[:depth].sum(), judged[:depth].sum()
            usual = depth if lost <= UNPOOLED * (lost + had) else 0
            depths[:, number] = max(usual, pool_end(judged, unjudged)), int((unjudged > 0).argmax())
        return depths[0], depths[1]

    def is_relevant(self) -> Flags:
        """(document,): whether it was judged relevant."""
        return np.nan_to_num(self.grades(), nan=-1.0) >= self.level

    def pool_ranks(self) -> Counts:
        """(judgment,): the best rank in a contributing run, as deep as the pool; 0: none has it there."""
        best = np.append(self.contributions().best_ranks(), 0)
        return best[self.document]


def read_judged_runs(
    qrels: Any,
    runs: Any,
    *,
    new: Any = (),
    info: Mapping[str, RunInfo] | None = None,
    pool_depth: int | None = None,
    level: float = 1,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> JudgedRuns:
    """Runs and judgments as they were given; `new` runs are asked about and contributed nothing.

    `pool_depth` cuts the judgments to those that a pool of this depth would have had. Without `info` the
    contributing runs are guessed from what is judged.
    """
    refuse_intervals(policies)
    judgments = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    fresh = run_sources(new) if new else []
    sources = [*without_new(runs, fresh), *fresh]
    retrieved = read_retrieved(
        sources, topics=judgments.topics, judged=True, policies=policies, run_format=run_format, jobs=jobs,
        progress=progress,
    )  # fmt: skip
    is_new = np.arange(len(retrieved.runs)) >= len(retrieved.runs) - len(fresh)
    return judged_runs(
        judgments, retrieved, new=is_new, info=info, pool_depth=pool_depth, level=level, policies=policies
    )


def judged_runs(
    qrels: Qrels,
    retrieved: Retrieved,
    *,
    new: Flags | None = None,
    info: Mapping[str, RunInfo] | None = None,
    pool_depth: int | None = None,
    level: float = 1,
    policies: Policies = DEFAULT_POLICIES,
) -> JudgedRuns:
    """The same from runs that were read already, all of them, for the topics of the qrels; `new` by run."""
    is_new = np.zeros(len(retrieved.runs), np.bool_) if new is None else new
    pool = _contributors(retrieved, retrieved.grades(qrels, policies), is_new, info)
    rows = listed_rows(retrieved.runs, retrieved.tags, info or {})
    remarks = _remarks(retrieved, rows, is_new, info)
    if info is not None:
        unlisted = np.array([row is None for row in rows], np.bool_) & ~is_new
        remarks += _like_pooled(retrieved.pick(unlisted), retrieved.grades(qrels, policies), pool.depth)
    if pool_depth is not None:
        qrels, sentence = cut_to_pool(qrels, retrieved, pool, pool_depth, info)
        pool = pool_at_depth(pool, retrieved, retrieved.grades(qrels, policies), pool_depth)
        remarks = [sentence, *remarks]
    groups = groups_of(retrieved.runs, rows)
    kinds = tuple(row.kind if row and row.kind else UNKNOWN_KIND for row in rows)
    base = regraded(qrels, retrieved, policies)
    return JudgedRuns(
        **{field.name: getattr(base, field.name) for field in fields(base)},
        level=level, groups=groups, kinds=kinds, new=is_new, pool=pool, remarks=tuple(remarks),
    )  # fmt: skip


def refuse_measures(measures: Sequence[Measure]) -> None:
    """Refuse measures that cannot be asked of judgments with some left out."""
    for measure in measures:
        if measure.definition.aggregate == "text":
            raise DataError(f"{measure} gives a text, which cannot change by so much; leave it out")
        if measure.definition.family == "sampled":
            raise DataError(
                f"{measure} is an estimate from a sample, which is another one without some of its"
                " judgments; use measures such as AP"
            )


def without_new(runs: Any, new: Sequence[Place]) -> list[Place]:
    """Return the runs of the collection: a new run that is among the others counts as new alone."""
    files = {_file(place) for place in new} - {None}
    return [place for place in run_sources(runs) if _file(place) not in files]


def _file(place: Place) -> Path | None:
    return Path(place.source).resolve() if isinstance(place.source, str | Path) else None


def _contributors(
    retrieved: Retrieved, grades: Values, new: Flags, info: Mapping[str, RunInfo] | None
) -> Pool:
    """The pool of the runs that are not new."""
    if new.all():
        raise DataError("every run is new; give the runs of the collection as well")
    pool = contributing_runs(retrieved.pick(~new), grades, info)
    contributing = np.zeros(len(new), np.bool_)
    contributing[~new] = pool.contributing
    return replace(pool, contributing=contributing)


def _like_pooled(unlisted: Retrieved, grades: Values, depth: int) -> list[str]:
    """A line about runs that are not listed, and judged as deep as the pool all the same."""
    enough = depth or GUESSED_FROM
    first = np.nan_to_num(first_unjudged(unlisted, grades), nan=np.inf).min(axis=1, initial=np.inf)
    some = unlisted.lengths.max(axis=1, initial=0) >= enough
    names = [run for run, own in zip(unlisted.runs, (first > enough) & some, strict=True) if own]
    if not names:
        return []
    return [
        f"{named(names, 'run')} not in the info file, yet judged to depth {enough} on every topic, as pooled"
        " runs are: the file may have them under other names"
    ]


def _remarks(retrieved: Retrieved, rows: Rows, new: Flags, info: Mapping[str, RunInfo] | None) -> list[str]:
    """What the info file leaves open: a line each."""
    if info is None:
        return ["no --info: every run counts as a group of its own, of unknown kind"]
    known = [
        f"the new run {name} is listed as pooled: what only it found was judged,"
        " so it looks better known than a new run would be"
        for name, row, fresh in zip(retrieved.runs, rows, new.tolist(), strict=True)
        if fresh and row is not None and row.pooled
    ]
    consequence = ": what only these found counts as found by nobody"
    return known + info_remarks(retrieved.runs, rows, info, new=new.tolist(), consequence=consequence)
