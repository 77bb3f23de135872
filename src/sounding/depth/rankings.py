"""Runs that are read once, put in order, and looked at over any depth."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sounding.align import align, matches, prepare, treat_unjudged
from sounding.compare.runs import Reading
from sounding.data.formats import read_run, run_sources
from sounding.data.sources import bytes_to_read, run_names
from sounding.data.tables import Qrels, Run
from sounding.depth.curves import values_at_every_k
from sounding.errors import DataError
from sounding.evaluation import refuse_missing, refuse_strangers
from sounding.measures import Measure
from sounding.policies import Policies, Ties
from sounding.ranking import NO_JUDGMENTS, Judgments, Ranking
from sounding.workers import map_items, processes_for, settle_memory

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

    def seen(self, *, other_ties: bool = False) -> Iterator[Ranking]:
        """The rankings as the policy for unjudged documents lets the measures see them."""
        for ranking in self.other_ties if other_ties else self.plain:
            yield treat_unjudged(ranking, self.policies)

    def values(
        self, measure: Measure, ks: NDArray[np.int64], rankings: Sequence[Ranking] | None = None
    ) -> Floats:
        """(k, run, topic): a measure at these depths; NaN where a run lacks a topic that is skipped."""
        chosen = list(self.seen()) if rankings is None else rankings
        table = np.empty((len(ks), len(chosen), len(self.judgments.topics)))
        for place, ranking in enumerate(chosen):
            table[:, place] = values_at_every_k(measure, ranking, int(ks[-1]))[ks - 1]
            if self.policies.missing == "skip":
                table[:, place, ranking.missing] = np.nan
        return table


def other_tie_rule(ties: Ties) -> Ties:
    """The rule that the one in use is held against: the lines as they stand, or else trec_eval's."""
    return "trec" if ties == "file" else "file"


def read_rankings(qrels: Qrels, runs: Any, policies: Policies, reading: Reading) -> Rankings:
    """Read each run once and put it in order, under the tie rule that is asked for and under the other."""
    settle_memory()
    sources = run_sources(runs)
    judged = prepare(qrels, policies)
    others = replace(policies, ties=other_tie_rule(policies.ties))

    def work(place: tuple[Any, str | None]) -> _Part:
        run = read_one(place, policies, reading)
        found = matches(run, judged)
        ranking = align(run, judged, policies, found)
        refuse_missing(run, ranking, policies)
        refuse_strangers(run, ranking)
        return _Part(
            _without_judgments(ranking),
            _without_judgments(align(run, judged, others, found)),
            run.tag,
            run.source,
        )

    processes = processes_for(bytes_to_read(source for source, _ in sources), len(sources), reading.jobs)
    parts = map_items(work, sources, processes=processes, progress=reading.progress)
    names = run_names([part.source for part in parts], [part.ranking.run for part in parts])
    if len(parts) < 2:
        raise DataError(f"one run, {names[0]!r}: what depth does to comparisons is asked of at least two")
    judgments = judged.judgments
    return Rankings(
        runs=tuple(names), tags=tuple(part.tag for part in parts), judgments=judgments,
        plain=tuple(replace(part.ranking, judgments=judgments) for part in parts),
        other_ties=tuple(replace(part.other_ties, judgments=judgments) for part in parts),
        policies=policies,
    )  # fmt: skip


class _Part(NamedTuple):
    """What one run gives, without the judgments: these are the same for all runs, and need not travel."""

    ranking: Ranking
    other_ties: Ranking
    tag: str
    source: str


def _without_judgments(ranking: Ranking) -> Ranking:
    return replace(ranking, judgments=NO_JUDGMENTS)


def read_one(place: tuple[Any, str | None], policies: Policies, reading: Reading) -> Run:
    """One run, from its source and the name it was given, if any."""
    return read_run(
        place[0], name=place[1], format=reading.run_format, duplicates=policies.duplicates,
        with_ranks=policies.ties == "rank",
    )  # fmt: skip
