"""Runs that are read once, put in order, and looked at over any depth."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies, Ties
from sounding.core.workers import Progress
from sounding.data.reading import check_topics, map_runs
from sounding.data.tables import Qrels, Run
from sounding.measures import Measure
from sounding.measures.cumulative import values_at
from sounding.measures.regrading import Regrading
from sounding.runs.align import align, matches, prepare, treat_unjudged
from sounding.runs.ranking import NO_JUDGMENTS, Judgments, Ranking

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rankings:
    """Runs that were read and put in order once, over the same judgments."""

    runs: tuple[str, ...]
    tags: tuple[str, ...]
    judgments: Judgments
    plain: tuple[Ranking, ...]  # (run,)
    other_ties: tuple[Ranking, ...]  # (run,) the same runs under the other tie rule
    policies: Policies

    @property
    def deepest(self) -> int:
        """The deepest rank that any run has, at least 1."""
        return max([1, *(int(ranking.retrieved.max(initial=0)) for ranking in self.plain)])

    def seen(self, rankings: Iterable[Ranking] | None = None) -> tuple[Ranking, ...]:
        """Rankings, or all of them, as the policy for unjudged documents lets the measures see them."""
        chosen = self.plain if rankings is None else rankings
        return tuple(treat_unjudged(ranking, self.policies) for ranking in chosen)

    def values(self, measure: Measure, ks: NDArray[np.int64], rankings: Sequence[Ranking]) -> Floats:
        """(k, run, topic): a measure at these depths; NaN where a run lacks a topic that is skipped."""
        table = np.empty((len(ks), len(rankings), len(self.judgments.topics)))
        for place, ranking in enumerate(rankings):
            table[:, place] = values_at(measure, ranking, ks)
            if self.policies.missing == "skip":
                table[:, place, ranking.missing] = np.nan
        return table


def other_tie_rule(ties: Ties) -> Ties:
    """The rule that the one in use is held against: the lines as they stand, or else trec_eval's."""
    return "trec" if ties == "file" else "file"


def read_rankings(
    qrels: Qrels,
    runs: Any,
    policies: Policies,
    *,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Rankings:
    """Read each run once and put it in order, under the tie rule that is asked for and under the other."""
    judged = prepare(qrels, policies)
    others = replace(policies, ties=other_tie_rule(policies.ties))

    def work(run: Run) -> tuple[Ranking, Ranking]:
        check_topics(run, qrels.topics, policies)
        found = matches(run, judged)
        # Judgments are the same for all runs: they need not travel between processes.
        return (
            replace(align(run, judged, policies, found), judgments=NO_JUDGMENTS),
            replace(align(run, judged, others, found), judgments=NO_JUDGMENTS),
        )

    read = map_runs(work, runs, policies, run_format=run_format, jobs=jobs, progress=progress)
    refuse_one_run(read.names)
    plain, other = zip(*read.results, strict=True)
    judgments = judged.judgments
    return Rankings(
        runs=read.names, tags=read.tags, judgments=judgments,
        plain=tuple(replace(ranking, judgments=judgments) for ranking in plain),
        other_ties=tuple(replace(ranking, judgments=judgments) for ranking in other),
        policies=policies,
    )  # fmt: skip


def rankings_of_lists(regrading: Regrading) -> Rankings:
    """The same from lists that were read with the other tie rule beside: they are not read again."""
    lists, policies, view = regrading.retrieved, regrading.policies, regrading.view()
    refuse_one_run(lists.runs)
    whole = replace(regrading, policies=replace(policies, unjudged="nonrelevant"))
    other = replace(whole, retrieved=lists.by_rule(other_tie_rule(policies.ties)))
    plain, other_ties = (
        tuple(side.ranking(run, view) for run in range(len(lists.runs))) for side in (whole, other)
    )
    return Rankings(
        runs=lists.runs, tags=lists.tags, judgments=view.judgments, plain=plain, other_ties=other_ties,
        policies=policies,
    )  # fmt: skip


def refuse_one_run(names: Sequence[str]) -> None:
    """Refuse to ask of fewer than two runs what depth does to comparisons."""
    if len(names) < 2:
        known = f"one run, {names[0]!r}" if names else "no run"
        raise DataError(f"{known}: what depth does to comparisons is asked of at least two")
