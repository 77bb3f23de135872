"""Orders of runs without judgments, how near they come to the true one, and reinforcement between runs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from sounding.audit.judged_runs import Flags, JudgedRuns
from sounding.core.lazy import polars
from sounding.core.workers import Progress, map_items
from sounding.measures import Measure
from sounding.measures.summaries import mean_over_topics
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE, Retrieved, holders_by_owner, shared_by_runs
from sounding.statistics.rank_correlation import kendall_tau

DRAWS = 50  # of pseudo-judgments, as in the paper


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pseudo:
    """Mean average precision beside what needs no judgments, and tau between them."""

    runs: tuple[str, ...]
    kinds: tuple[str, ...]
    k: int  # where assessment is looked at
    draws: int
    performance: Values  # (run,) MAP
    assessment: Values  # (run,) A_p at k
    random: Values  # (run,) mean MAP over random pseudo-judgments; NaN where no pool is known to draw from
    popularity: Values  # (run,) mean overlap with every other run

    def of_runs(self, kept: Collection[str]) -> Pseudo:
        """Return the same of some runs; popularity stays that among all."""
        return _of_runs(self, kept, ("performance", "assessment", "random", "popularity"))

    def tau(self) -> dict[str, float]:
        """Kendall's tau of each with MAP; NaN: not defined, or one of the two is not known of some run."""
        return {
            name: kendall_tau(self.performance, getattr(self, name))
            for name in ("assessment", "random", "popularity")
        }

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, kind, performance, assessment, random, popularity."""
        names = ("performance", "assessment", "random", "popularity")
        return polars.DataFrame(
            {"run": self.runs, "kind": self.kinds} | {name: getattr(self, name) for name in names},
            schema_overrides={"run": polars.String, "kind": polars.String},
        )


def average_precision(runs: JudgedRuns) -> Values:
    """(run,): mean average precision at the collection's level."""
    return runs.means([Measure.of("AP", rel=runs.level)], runs.view())[:, 0]


def rankings_without_judgments(
    runs: JudgedRuns,
    draws: int = DRAWS,
    seed: int = 0,
    progress: Progress | None = None,
    processes: int = 1,
) -> Pseudo:
    """MAP of all runs that are not new, and the orders that need no judgments."""
    old = (~runs.new).nonzero()[0]
    return Pseudo(
        runs=tuple(runs.runs[run] for run in old), kinds=tuple(runs.kinds[run] for run in old),
        k=assessed_at(runs), draws=draws, performance=average_precision(runs)[old],
        assessment=assessment(runs)[old],
        random=_random_judgments(runs, draws, seed, progress, processes)[old],
        popularity=popularity(runs.retrieved.pick(~runs.new)),
    )  # fmt: skip


def _random_judgments(
    runs: JudgedRuns, draws: int, seed: int, progress: Progress | None, processes: int
) -> Values:
    """(run,): the mean over draws of MAP when documents drawn from the pool are taken for relevant.

    NaN where no run is known to have contributed. A topic's share of the pool is normal, with the mean and
    the deviation that true shares have.
    """
    if not runs.contributing.any():
        return np.full(len(runs.runs), np.nan)
    best = runs.contributions().best_ranks() > 0
    relevant = runs.judgments.relevant(runs.level)
    shares = (relevant / np.maximum(runs.judgments.judged, 1))[runs.judgments.judged > 0]
    spread = float(shares.std(ddof=1)) if len(shares) > 1 else 0.0
    pooled = best.nonzero()[0]
    topic = runs.retrieved.topic[pooled]

    def work(draw: int) -> Values:
        rng = np.random.default_rng([seed, draw])
        relevant = np.zeros(len(best), np.bool_)
        relevant[pooled] = drawn_documents(
            rng, topic, len(runs.topics), mean=float(shares.mean()), deviation=spread
        )
        return runs.means([Measure.of("AP")], runs.pretend(relevant, best))[:, 0]

    return np.mean(map_items(work, range(draws), processes=processes, progress=progress), axis=0)


def drawn_documents(
    rng: np.random.Generator, topic: Counts, topics: int, *, mean: float, deviation: float
) -> Flags:
    """(document,): which are drawn, topic by topic: a share that is normal, and at least one.

    `topic` is that of every document, ascending.
    """
    size = np.bincount(topic, minlength=topics)
    share = rng.normal(mean, deviation, topics)
    wanted = np.clip(np.rint(share * size), np.minimum(size, 1), size)
    chance = rng.random(len(topic))
    drawn = np.zeros(len(topic), np.bool_)
    ends = np.cumsum(size)
    for begin, end, count in zip(
        (ends - size).tolist(), ends.tolist(), wanted.astype(int).tolist(), strict=True
    ):
        if count:
            drawn[begin + np.argpartition(chance[begin:end], count - 1)[:count]] = True
    return drawn


def popularity(retrieved: Retrieved) -> Values:
    """(run,): the mean over other runs, and over topics, of shared documents by all documents of both.

    NaN where there is no other run. Two empty lists have no overlap to speak of and are passed over.
    """
    runs = len(retrieved.runs)
    overlap = np.full((len(retrieved.topics), runs, runs), np.nan)
    for topic, (both, sizes) in enumerate(shared_by_runs(retrieved)):
        either = sizes[:, np.newaxis] + sizes - both
        np.divide(both, either, out=overlap[topic], where=either > 0)
    mean = mean_over_topics(np.moveaxis(overlap, 0, -1))
    mean[np.arange(runs), np.arange(runs)] = np.nan
    return mean_over_topics(mean)


ASSESSED_AT = 1000  # where assessment is looked at, if lists are that long


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Reinforcement:
    """Overlap of a run's first documents with other runs' pools, and the judged share of each run."""

    runs: tuple[str, ...]  # (run,) those that contributed
    kinds: tuple[str, ...]
    depth: int  # of the pool, where overlap is looked at
    k: int  # where assessment is looked at
    overlap: Values  # (run,) mean share of its first documents that another pooled run has too
    group_overlap: Values  # (run,) the same, of runs of other groups
    assessment: Values  # (run,) A_p at k

    def of_runs(self, kept: Collection[str]) -> Reinforcement:
        """Return the same of some runs; overlap stays that with all."""
        return _of_runs(self, kept, ("overlap", "group_overlap", "assessment"))

    @property
    def tau(self) -> float:
        """Kendall's tau between assessment and overlap with the other runs; NaN: not defined."""
        return kendall_tau(self.overlap, self.assessment)

    @property
    def group_tau(self) -> float:
        """The same of overlap with runs of other groups."""
        return kendall_tau(self.group_overlap, self.assessment)

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, kind, overlap, group_overlap, assessment."""
        numbers = ("overlap", "group_overlap", "assessment")
        return polars.DataFrame(
            {"run": self.runs, "kind": self.kinds} | {name: getattr(self, name) for name in numbers},
            schema_overrides={"run": polars.String, "kind": polars.String},
        )


def assessed_at(runs: JudgedRuns) -> int:
    """The depth at which assessment is looked at: 1,000, or as deep as the deepest list."""
    return max(1, min(ASSESSED_AT, runs.retrieved.depth))


def assessment(runs: JudgedRuns) -> Values:
    """(run,): A_p where assessment is looked at: judged documents down to that depth, divided by it."""
    k = assessed_at(runs)
    judged = np.append(np.isfinite(runs.grades()), False)
    counts = [np.count_nonzero(judged[own[:, :k]], axis=1).mean() for own in runs.retrieved.lists]
    return np.array(counts) / k


def reinforcement(runs: JudgedRuns) -> Reinforcement:
    """Overlap of every contributing run with the others, and with those of other groups; its assessment."""
    pooled = runs.contributions()
    places = runs.contributing.nonzero()[0]
    groups = [runs.groups[place] for place in places]
    return Reinforcement(
        runs=pooled.runs, kinds=tuple(runs.kinds[place] for place in places), depth=runs.reach,
        k=assessed_at(runs), overlap=_shared(pooled, pooled.holders() > 1),
        group_overlap=_shared(pooled, holders_by_owner(pooled, groups) > 1),
        assessment=assessment(runs)[places],
    )  # fmt: skip


_Rows = TypeVar("_Rows", Pseudo, Reinforcement)


def _of_runs(found: _Rows, kept: Collection[str], arrays: Sequence[str]) -> _Rows:
    """Return what is known of some runs."""
    rows = [place for place, run in enumerate(found.runs) if run in kept]
    parts: dict[str, Any] = {name: getattr(found, name)[rows] for name in arrays}
    parts |= {name: tuple(getattr(found, name)[row] for row in rows) for name in ("runs", "kinds")}
    return replace(found, **parts)


def _shared(pooled: Retrieved, several: Flags) -> Values:
    """(run,): the mean over topics of the share of its documents that several have; NaN: it has none."""
    known, shares = np.append(several, False), []
    for own in pooled.lists:
        sizes = np.count_nonzero(own != NONE, axis=1)
        some = sizes > 0
        found = np.count_nonzero(known[own[some]], axis=1) / sizes[some]
        shares.append(float(found.mean()) if len(found) else np.nan)
    return np.array(shares)
