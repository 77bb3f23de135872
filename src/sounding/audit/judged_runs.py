"""Runs and judgments of one collection, with what is known of the runs: who made them, which were pooled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies, Ties
from sounding.core.workers import Progress
from sounding.data.formats import Place, read_qrels, run_sources
from sounding.data.run_info import Rows, RunInfo, groups_of, info_remarks, listed_rows, named
from sounding.data.tables import Qrels, Run, single_precision
from sounding.measures import Measure
from sounding.measures.registry import grades_suffice
from sounding.measures.regrading import Regrading, refuse_intervals, regrade
from sounding.runs.align import unjudged_grades_remark
from sounding.runs.pool import GUESSED_FROM, Pool, cut_to_depth, first_unjudged, pool_of_lists
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import Retrieved, retrieve

UNKNOWN_KIND = "unknown"
TOP = 20  # documents among which ties are counted
RULES: tuple[Ties, ...] = ("trec", "file", "average")

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedRuns(Regrading):
    """Runs that can be graded anew, and who contributed to the judgments."""

    level: float  # the lowest grade that counts as relevant
    groups: tuple[str, ...]  # (run,) a run of unknown group is a group of its own
    kinds: tuple[str, ...]  # (run,) automatic, manual, or what the info file says
    new: Flags  # (run,) asked about, and no part of the collection
    pool: Pool
    remarks: tuple[str, ...]  # gaps in the information on runs and groups, a line each
    tied: Values | None  # (run, topic) share of the first documents that share their score; None: not read

    @property
    def contributing(self) -> Flags:
        """(run,): which runs contributed to the judgments."""
        return self.pool.contributing

    @property
    def reach(self) -> int:
        """The number of documents of a contributing run that count as pooled; all without a pool depth."""
        return self.pool.depth or self.retrieved.depth

    def contributions(self) -> Retrieved:
        """Return what the contributing runs put into the pool."""
        if not self.pool.known:
            raise DataError(
                "none of these runs is known to have contributed to the judgments; list those that did"
                " with --info"
            )
        return self.retrieved.pick(self.contributing).cut(self.reach)

    def holes(self) -> Counts:
        """Documents within the depth of the pool that are not judged, ascending; none where none is known."""
        if not (self.pool.depth and self.pool.known):
            return np.empty(0, np.int64)
        return ((self.contributions().best_ranks() > 0) & np.isnan(self.grades())).nonzero()[0]

    def named_documents(self, places: Counts) -> list[str]:
        """Topic and doc id of documents, with a blank between them."""
        topics, docs = self.retrieved.topic[places], self.retrieved.docs[places].texts()
        return [f"{self.topics[topic]} {doc}" for topic, doc in zip(topics.tolist(), docs, strict=True)]

    def is_relevant(self) -> Flags:
        """(document,): whether it was judged relevant."""
        return np.nan_to_num(self.grades(), nan=-1.0) >= self.level

    def pool_ranks(self) -> Counts:
        """(judgment,): the best rank in a contributing run, as deep as the pool; 0: none has it there."""
        return self._judged_at(self.contributions())

    def best_ranks(self) -> Counts:
        """(judgment,): the best rank in any run that is not new; 0: none has it."""
        return self._judged_at(self.retrieved.pick(~self.new))

    def _judged_at(self, lists: Retrieved) -> Counts:
        return np.append(lists.best_ranks(), 0)[self.document]


class ListedRuns(NamedTuple):
    """The lists of all runs, in the orders that an audit asks for, and how many of their scores are tied."""

    retrieved: Retrieved
    tied: Values  # (run, topic)


def list_runs(
    runs: Any,
    topics: tuple[str, ...],
    *,
    policies: Policies = DEFAULT_POLICIES,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> ListedRuns:
    """Read the lists of runs for these topics, all documents of them."""
    retrieved, tied = retrieve(
        lambda run: tied_shares(run, topics, policies), runs, topics=topics, judged=True, policies=policies,
        run_format=run_format, jobs=jobs, progress=progress, rules=RULES,
    )  # fmt: skip
    return ListedRuns(retrieved, np.array(tied))


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
    """Runs and judgments as they were given, runs also as `list_runs` read them; `new` contributed nothing.

    `pool_depth` cuts the judgments to those that a pool of this depth would have had. Without `info` the
    contributing runs are guessed from the judgments.
    """
    refuse_intervals(policies)
    judgments = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    fresh = run_sources(new) if new else []
    listed = runs
    if not isinstance(listed, ListedRuns):
        listed = list_runs(
            [*without_new(runs, fresh), *fresh], judgments.topics, policies=policies, run_format=run_format,
            jobs=jobs, progress=progress,
        )  # fmt: skip
    is_new = np.arange(len(listed.retrieved.runs)) >= len(listed.retrieved.runs) - len(fresh)
    return judged_runs(
        judgments, listed.retrieved, new=is_new, info=info, pool_depth=pool_depth, level=level,
        policies=policies, tied=listed.tied,
    )  # fmt: skip


def judged_runs(
    qrels: Qrels,
    retrieved: Retrieved,
    *,
    new: Flags | None = None,
    info: Mapping[str, RunInfo] | None = None,
    pool_depth: int | None = None,
    level: float = 1,
    policies: Policies = DEFAULT_POLICIES,
    tied: Values | None = None,
) -> JudgedRuns:
    """The same from runs that were read already, all of them, for the topics of the qrels; `new` by run."""
    is_new = np.zeros(len(retrieved.runs), np.bool_) if new is None else new
    base = regrade(qrels, retrieved, policies)
    grades = base.grades()
    pool = pool_of_lists(retrieved, grades, info, is_new)
    rows = listed_rows(retrieved.runs, retrieved.tags, info or {})
    remarks = _remarks(retrieved, rows, is_new, info)
    if info is not None:
        unlisted = np.array([row is None for row in rows], np.bool_) & ~is_new
        remarks += _like_pooled(retrieved.pick(unlisted), grades, pool.depth)
    if pool_depth is not None:
        cut = cut_to_depth(qrels, pool_depth, retrieved, pool, info=info, policies=policies)
        base, pool = regrade(cut.qrels, retrieved, policies), cut.pool or pool
        remarks = [cut.note, *remarks]
    if unjudged := unjudged_grades_remark(qrels.grades, policies.negative):
        remarks = [unjudged, *remarks]
    groups = groups_of(retrieved.runs, rows)
    kinds = tuple(row.kind if row and row.kind else UNKNOWN_KIND for row in rows)
    return JudgedRuns(
        **{field.name: getattr(base, field.name) for field in fields(base)},
        level=level, groups=groups, kinds=kinds, new=is_new, pool=pool, remarks=tuple(remarks),
        tied=tied,
    )  # fmt: skip


NOT_AUDITED = "an audit leaves out judgments or runs, which measures of intents or of two runs do not allow"


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
        if not grades_suffice(measure):
            raise DataError(f"{measure}: {NOT_AUDITED}; use measures such as AP or P@10")


def without_new(runs: Any, new: Sequence[Place]) -> list[Place]:
    """Return the runs of the collection: a new run that is among the others counts as new alone."""
    files = {_file(place) for place in new} - {None}
    return [place for place in run_sources(runs) if _file(place) not in files]


def _file(place: Place) -> Path | None:
    return Path(place.source).resolve() if isinstance(place.source, str | Path) else None


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
    """Return what the info file leaves open: a line each."""
    if info is None:
        return ["without --info, every run counts as a group of its own, of unknown kind"]
    known = [
        f"the new run {name} is listed as pooled, so documents that only it found were judged: a new run"
        " would be judged less completely"
        for name, row, fresh in zip(retrieved.runs, rows, new.tolist(), strict=True)
        if fresh and row is not None and row.pooled
    ]
    consequence = ": documents that only these runs found count as found by no run"
    return known + info_remarks(retrieved.runs, rows, info, new=new.tolist(), consequence=consequence)


def tied_shares(run: Run, topics: tuple[str, ...], policies: Policies) -> Values:
    """(topic,): the share of the best-scored documents that share their score with another of them."""
    place = {topic: number for number, topic in enumerate(topics)}
    shares = np.full(len(topics), np.nan)
    scores = single_precision(run.scores) if policies.compat == "trec_eval-9" else run.scores
    for topic, begin, end in zip(run.topics, run.starts[:-1].tolist(), run.starts[1:].tolist(), strict=True):
        if topic in place and end > begin:
            best = np.sort(scores[begin:end])[::-1][:TOP]
            same = best[1:] == best[:-1]
            tied = np.append(same, False) | np.append(False, same)
            shares[place[topic]] = tied.mean()
    return shares
