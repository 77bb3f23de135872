"""Runs and judgments of one collection under one numbering of documents: read once, asked many times.

Leaving judgments out, or putting others in their place, changes grades by document number; every run is
then graded anew without being read or put in order again, and any measure can be asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sounding.align import POOLED, prepare, treat_unjudged
from sounding.collection.contributors import contributing_runs
from sounding.compare.scenarios import Pool
from sounding.data.formats import read_qrels, run_sources
from sounding.data.simulation import RunInfo
from sounding.data.sources import find_runs
from sounding.data.tables import Qrels
from sounding.errors import DataError
from sounding.measures import Measure
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.ranking import Counts, Judgments, Ranking, Values
from sounding.retrieved import NONE, Retrieved, cut_pool, read_retrieved
from sounding.scores import summaries
from sounding.workers import Progress

UNKNOWN_KIND = "unknown"

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class View:
    """Some topics, with the grades that their documents have."""

    topics: Counts  # (topic,) among those of the collection
    judgments: Judgments  # of these topics
    judged: Flags  # (document + 1,) the last place is what NONE points to
    grades: Values  # (document,) NaN: not judged


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedRuns:
    """What several runs retrieved, what was judged of it, and who contributed to the judgments."""

    qrels: Qrels
    retrieved: Retrieved  # its topics are those of the qrels
    judgments: Judgments
    document: Counts  # (judgment,) number of the judged document; NONE: no run has it
    pooled_only: Flags  # (document,) in the pool, and not judged
    level: float  # the lowest grade that counts as relevant
    groups: tuple[str, ...]  # (run,) a run of unknown group is a group of its own
    kinds: tuple[str, ...]  # (run,) automatic, manual, or what the info file says
    new: Flags  # (run,) asked about, and no part of the collection
    pool: Pool
    policies: Policies
    remarks: tuple[str, ...]  # what is not known of runs and groups, a line each

    @property
    def runs(self) -> tuple[str, ...]:
        """The names of the runs."""
        return self.retrieved.runs

    @property
    def topics(self) -> tuple[str, ...]:
        """The judged topics, in byte order."""
        return self.judgments.topics

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

    def grades(self) -> Values:
        """(document,): its grade; NaN: not judged."""
        grades = np.full(len(self.retrieved.docs), np.nan)
        seen = self.document != NONE
        grades[self.document[seen]] = self.judgments.grades[seen]
        return grades

    def is_relevant(self) -> Flags:
        """(document,): whether it was judged relevant."""
        return np.nan_to_num(self.grades(), nan=-1.0) >= self.level

    def pool_ranks(self) -> Counts:
        """(judgment,): the best rank in a contributing run, as deep as the pool; 0: none has it there."""
        best = np.append(self.contributions().best_ranks(), 0)
        return best[self.document]

    # -- values ------------------------------------------------------------------------------------

    def view(self, lost: Flags | None = None, topics: Counts | None = None) -> View:
        """All judgments, or those that are left without the documents `lost`; of all topics, or some."""
        chosen = np.arange(len(self.topics)) if topics is None else topics
        old = self.judgments
        place = np.full(len(self.topics), -1)
        place[chosen] = np.arange(len(chosen))
        keep = place[old.topic] >= 0
        grades = self.grades()
        if lost is not None:
            keep &= ~np.append(lost, False)[self.document]
            grades[lost] = np.nan
        counts = np.bincount(place[old.topic[keep]], minlength=len(chosen))
        judgments = replace(
            old,
            topics=tuple(self.topics[topic] for topic in chosen.tolist()),
            starts=np.concatenate([[0], np.cumsum(counts)]),
            grades=old.grades[keep],
            pool_ranks=None if old.pool_ranks is None else old.pool_ranks[keep],
            pooled=old.pooled[chosen],
            _known={},
        )
        judged = np.append(np.isfinite(grades), False)
        return View(topics=chosen, judgments=judgments, judged=judged, grades=grades)

    def pretend(self, relevant: Flags) -> View:
        """The view in which exactly these documents were judged, and all of them relevant."""
        topic = self.retrieved.topic[relevant]
        counts = np.bincount(topic, minlength=len(self.topics))
        judgments = replace(
            self.judgments, starts=np.concatenate([[0], np.cumsum(counts)]), grades=np.ones(len(topic)),
            pool_ranks=None, pooled=np.zeros_like(self.judgments.pooled), highest=1.0, _known={},
        )  # fmt: skip
        return View(
            topics=np.arange(len(self.topics)), judgments=judgments, judged=np.append(relevant, False),
            grades=np.where(relevant, 1.0, np.nan),
        )  # fmt: skip

    def ranking(self, run: int, view: View) -> Ranking:
        """One run as the measures see it, graded by a view."""
        lists = self.retrieved.lists[run][view.topics]
        topic, place = view.judged[lists].nonzero()  # flags are small enough to stay near the processor
        retrieved = np.count_nonzero(lists != NONE, axis=1)
        pooled_topic = pooled_rank = np.empty(0, np.int64)
        if view.judgments.pooled.any():
            pooled_topic, pooled_rank = np.append(self.pooled_only, False)[lists].nonzero()
            pooled_rank = pooled_rank + 1
        ranking = Ranking(
            run=self.runs[run], judgments=view.judgments, topic=topic, rank=place + 1,
            grade=view.grades[lists[topic, place]], retrieved=retrieved, missing=retrieved == 0,
            pooled_topic=pooled_topic, pooled_rank=pooled_rank,
            old_recall_points=self.policies.compat == "trec_eval-9",
        )  # fmt: skip
        return treat_unjudged(ranking, self.policies)

    def values(self, measures: Sequence[Measure], view: View, runs: Iterable[int] | None = None) -> Values:
        """(run, measure, topic): values under a view, of all runs or some; NaN where a topic is skipped."""
        chosen = range(len(self.runs)) if runs is None else list(runs)
        values = np.full((len(chosen), len(measures), len(view.topics)), np.nan)
        for row, run in enumerate(chosen):
            ranking = self.ranking(run, view)
            for number, measure in enumerate(measures):
                values[row, number] = measure(ranking)
            if self.policies.missing == "skip":
                values[row][:, ranking.missing] = np.nan
        return values

    def means(self, measures: Sequence[Measure], view: View) -> Values:
        """(run, measure): each measure's summary over topics under a view."""
        return summaries(self.values(measures, view), measures)


def read_judged_runs(
    qrels: Any,
    runs: Any,
    *,
    new: Sequence[str | Path] = (),
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
    refuse_policies(policies)
    judgments = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    sources = with_new(runs, new)
    retrieved = read_retrieved(
        sources, topics=judgments.topics, policies=policies, run_format=run_format, jobs=jobs,
        progress=progress,
    )  # fmt: skip
    is_new = np.zeros(len(retrieved.runs), np.bool_)
    is_new[len(is_new) - len(new) :] = True
    _refuse_strangers(judgments, retrieved)
    _refuse_missing(retrieved, policies)
    grades = retrieved.grades(judgments, policies)
    pool = _contributors(retrieved, grades, is_new, info)
    remarks = _remarks(retrieved, is_new, info)
    if pool_depth is not None:
        judgments, pool, sentence = _cut(judgments, retrieved, pool, pool_depth)
        remarks = [sentence, *remarks]
    groups, kinds = _who(retrieved, info)
    return _joined(
        judgments, retrieved, level=level, groups=groups, kinds=kinds, new=is_new, pool=pool,
        policies=policies, remarks=tuple(remarks),
    )  # fmt: skip


def refuse_policies(policies: Policies) -> None:
    """Refuse what an audit has no use for."""
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(f"an audit shows no {policies.unjudged}; use unjudged nonrelevant or condensed")


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


def with_new(runs: Any, new: Sequence[str | Path]) -> Any:
    """The runs to read, the new ones last; a new run that is among the others counts as new alone."""
    if not new:
        return runs
    fresh = find_runs(new)
    names = {Path(name).resolve() for name in fresh}
    others = [
        source
        for source, _ in run_sources(runs)
        if not (isinstance(source, str | Path) and Path(source).resolve() in names)
    ]
    return [*others, *fresh]


def _refuse_strangers(qrels: Qrels, retrieved: Retrieved) -> None:
    """A run that shares no topic with the judgments was meant for others."""
    empty = ~retrieved.lengths.any(axis=1)
    if empty.any():
        run = retrieved.runs[int(empty.argmax())]
        raise DataError(
            f"run {run!r}: no topic in common with the qrels, which have {', '.join(qrels.topics[:3])}, ..."
        )


def _refuse_missing(retrieved: Retrieved, policies: Policies) -> None:
    lacking = np.argwhere(retrieved.lengths == 0)
    if policies.missing == "error" and len(lacking):
        run, topic = lacking[0].tolist()
        raise DataError(
            f"run {retrieved.runs[run]!r}: no documents for topic {retrieved.topics[topic]!r}; the policy"
            " `missing` may be zero or skip"
        )


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


def _cut(qrels: Qrels, retrieved: Retrieved, pool: Pool, depth: int) -> tuple[Qrels, Pool, str]:
    if not pool.contributing.any():
        raise DataError(
            "a pool can be cut only where it is known which runs it was made of, and none of these"
            " contributed; list them with --info"
        )
    if pool.depth and depth > pool.depth:
        raise DataError(f"the pool of these runs is {pool.depth} deep; cut it to at most that, not {depth}")
    kept = cut_pool(qrels, retrieved.pick(pool.contributing), depth)
    sentence = f"pool cut to depth {depth}: {len(kept.docs):,} of {len(qrels.docs):,} judgments kept"
    return kept, replace(pool, depth=depth), sentence


def _info_of(retrieved: Retrieved, info: Mapping[str, RunInfo]) -> list[RunInfo | None]:
    """What is listed of each run, under its name or its tag."""
    return [info.get(name) or info.get(tag) for name, tag in zip(retrieved.runs, retrieved.tags, strict=True)]


def _who(retrieved: Retrieved, info: Mapping[str, RunInfo] | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Group and kind of each run."""
    rows = _info_of(retrieved, info or {})
    groups = tuple(
        row.group if row and row.group else name for name, row in zip(retrieved.runs, rows, strict=True)
    )
    return groups, tuple(row.kind if row and row.kind else UNKNOWN_KIND for row in rows)


def _remarks(retrieved: Retrieved, new: Flags, info: Mapping[str, RunInfo] | None) -> list[str]:
    """What the info file leaves open: a line each."""
    if info is None:
        return ["no --info: every run counts as a group of its own, of unknown kind"]
    rows = _info_of(retrieved, info)
    old = [place for place in range(len(rows)) if not new[place]]
    missing = [retrieved.runs[place] for place in old if rows[place] is None]
    nobody = [retrieved.runs[place] for place in old if (row := rows[place]) is not None and not row.group]
    found = {row.run for row in rows if row is not None}
    absent = [row for name, row in info.items() if name not in found]
    remarks = []
    for place in new.nonzero()[0].tolist():
        if (row := rows[place]) is not None and row.pooled:
            remarks.append(
                f"the new run {retrieved.runs[place]} is listed as pooled: what only it found was judged,"
                " so it looks better known than a new run would be"
            )
    if missing:
        remarks.append(f"{_named(missing, 'run')} not in the info file: taken as not pooled")
    if nobody:
        remarks.append(f"{_named(nobody, 'run')} without a group in the info file: each counts as its own")
    if absent:
        pooled = sum(row.pooled for row in absent)
        names = _named([row.run for row in absent], "row")
        remarks.append(
            f"{names} of the info file without a run here, {pooled} of them pooled: what only these"
            " found counts as found by nobody"
        )
    return remarks


def _named(names: Sequence[str], what: str) -> str:
    """How many, and the first few by name."""
    shown = ", ".join(names[:3]) + (", ..." if len(names) > 3 else "")
    return f"{len(names)} {what}{'s' * (len(names) > 1)} ({shown})"


def _joined(qrels: Qrels, retrieved: Retrieved, **known: Any) -> JudgedRuns:
    """Judgments with the numbers of their documents."""
    judged = prepare(qrels, known["policies"])
    here, there = retrieved.find(judged)
    number = np.full(len(judged.grades), NONE)
    number[there] = here
    rows = (judged.grades >= 0).nonzero()[0]
    best_first = rows[np.lexsort((-judged.grades[rows], judged.topic[rows]))]
    pooled_only = np.zeros(len(retrieved.docs), np.bool_)
    pooled_only[here[judged.grades[there] == POOLED]] = True
    return JudgedRuns(
        qrels=qrels, retrieved=retrieved, judgments=replace(judged.judgments, sampling=None),
        document=number[best_first], pooled_only=pooled_only, **known,
    )  # fmt: skip
