"""Runs that are read and put in order once, and evaluated under any part of the judgments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sounding.align import align, prepare, settled_grades, treat_unjudged
from sounding.data.formats import read_qrels, read_run, run_sources
from sounding.data.sources import bytes_to_read, run_names
from sounding.data.tables import Qrels
from sounding.errors import DataError
from sounding.evaluation import refuse_missing, refuse_strangers
from sounding.measures import Measure
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.ranking import NO_JUDGMENTS, Counts, Judgments, Ranking, TieBlocks, Values
from sounding.workers import Progress, map_items, processes_for, settle_memory

GONE, POOLED, JUDGED = 0, 1, 2  # what becomes of a judgment: nobody pooled it, nobody judged it, it stays
States = NDArray[np.int8]  # (row of the qrels,)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Regrading:
    """Runs in order, each listed document with its row of the qrels, so that judgments can be taken away."""

    runs: tuple[str, ...]
    topics: tuple[str, ...]
    qrels: Qrels
    rankings: tuple[Ranking, ...]  # `judgment` is the row of the qrels; without judgments
    grades: Values  # (row,) at least 0; 0 where a document was pooled and not judged
    topic: Counts  # (row,)
    best_first: Counts  # the rows, topic after topic and best grade first
    pool_ranks: Counts | None  # (row,)
    full: States  # (row,) as the qrels are: POOLED or JUDGED
    policies: Policies

    def values(self, states: States, measures: Sequence[Measure]) -> NDArray[np.float64]:
        """(run, measure, topic): the values where judgments are in these states."""
        judgments = self._judgments(states)
        table = np.empty((len(self.runs), len(measures), len(self.topics)))
        for number, ranking in enumerate(self.rankings):
            seen = treat_unjudged(_under(ranking, judgments, states), self.policies)
            table[number] = [measure(seen) for measure in measures]
            if self.policies.missing == "skip":
                table[number][:, ranking.missing] = np.nan
        return table

    def _judgments(self, states: States) -> Judgments:
        rows = self.best_first[states[self.best_first] == JUDGED]
        counts = np.bincount(self.topic[rows], minlength=len(self.topics))
        return Judgments(
            topics=self.topics,
            starts=np.concatenate([[0], np.cumsum(counts)]),
            grades=self.grades[rows],
            pool_ranks=None if self.pool_ranks is None else self.pool_ranks[rows],
            pooled=np.bincount(self.topic[states == POOLED], minlength=len(self.topics)),
            highest=float(self.grades[rows].max(initial=1.0)),
        )


def _under(ranking: Ranking, judgments: Judgments, states: States) -> Ranking:
    """The ranking with only the documents that are judged in these states."""
    rows = ranking.judgment if ranking.judgment is not None else np.empty(0, np.int64)
    state = states[rows]
    seen, pooled = state == JUDGED, state == POOLED
    ties = ranking.ties
    return replace(
        ranking,
        judgments=judgments,
        topic=ranking.topic[seen], rank=ranking.rank[seen], grade=ranking.grade[seen], judgment=None,
        pooled_topic=ranking.topic[pooled], pooled_rank=ranking.rank[pooled],
        ties=None if ties is None else TieBlocks(ties.first[seen], ties.size[seen]),
    )  # fmt: skip


def read_regrading(
    qrels: Any,
    runs: Any,
    *,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Regrading:
    """Read the judgments and the runs, each once: files, tables, dicts or frames, as for `evaluate`."""
    judgments = read_qrels(
        qrels, format=qrels_format, duplicates=policies.duplicates, fractional=policies.fractional
    )
    if judgments.strata is not None or judgments.probabilities is not None:
        raise DataError(
            f"{judgments.source}: these judgments are a sample already; take parts of complete judgments"
        )
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(
            f"unjudged {policies.unjudged}: fewer judgments are simulated by values alone;"
            " use nonrelevant or condensed"
        )
    settle_memory()
    sources = run_sources(runs)
    if len(sources) < 2:
        raise DataError(f"runs: {len(sources)}; an ordering needs at least 2")
    grades = settled_grades(judgments.grades, policies.negative)
    judged = prepare(judgments, policies)
    topic = judged.topic
    # Documents that were pooled and not judged are kept as if judged: what they are is decided later.
    listed = replace(
        judged,
        judgments=replace(judged.judgments, pooled=np.zeros_like(judged.judgments.pooled)),
        grades=np.maximum(grades, 0.0),
        judgment=np.arange(len(grades)),
    )

    def work(place: tuple[Any, str | None]) -> tuple[Ranking, str]:
        run = read_run(
            place[0], name=place[1], format=run_format, duplicates=policies.duplicates,
            with_ranks=policies.ties == "rank",
        )  # fmt: skip
        ranking = align(run, listed, policies)
        refuse_missing(run, ranking, policies)
        refuse_strangers(run, ranking)
        return replace(ranking, judgments=NO_JUDGMENTS), run.source

    processes = processes_for(bytes_to_read(source for source, _ in sources), len(sources), jobs)
    parts = map_items(work, sources, processes=processes, progress=progress)
    names = run_names([source for _, source in parts], [ranking.run for ranking, _ in parts])
    return Regrading(
        runs=tuple(names), topics=judgments.topics, qrels=judgments,
        rankings=tuple(ranking for ranking, _ in parts),
        grades=np.maximum(grades, 0.0), topic=topic, best_first=np.lexsort((-grades, topic)),
        pool_ranks=judgments.pool_ranks, full=np.where(grades >= 0, JUDGED, POOLED).astype(np.int8),
        policies=policies,
    )  # fmt: skip
