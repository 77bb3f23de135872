"""Judged share of every run, relevant documents that a shallower pool misses, and growth of the pool.

Lu et al. (2016), Table 4 and Fig. 1; Zobel (1998).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.audit.judged_runs import Flags, JudgedRuns
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.relevance.growth import count_by_depth, expected_beyond, last_depth, likely_beyond
from sounding.runs.pool import first_unjudged, judged_shares
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE
from sounding.statistics.rank_correlation import kendall_tau

SHORT = 0.5  # a run whose lists have less than this share of the usual number of documents is short


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedCoverage:
    """Judged documents of every run."""

    runs: tuple[str, ...]
    judged_share: Values  # (run, depth) mean over topics, of the documents down to depth 1, 2, ...
    first_unjudged: Values  # (run, topic) its rank; NaN: all that was retrieved was judged
    relevant: Counts  # (run,) retrieved documents that were judged relevant, over all topics
    nonrelevant: Counts  # (run,) judged, and not relevant
    unjudged: Counts  # (run,)
    relevant_missed: Counts  # (run,) judged relevant, and not retrieved
    nonrelevant_missed: Counts  # (run,) judged not relevant, and not retrieved
    lengths: Values  # (run,) mean number of documents retrieved for a topic
    short: Flags  # (run,) lists end so early that deep measures stand still

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per run: shares judged relevant, not relevant and unjudged, and what was missed."""
        total = self.relevant + self.nonrelevant + self.unjudged
        return polars.DataFrame(
            {
                "run": self.runs, "length": self.lengths, "short": self.short,
                "relevant": self.relevant / total, "nonrelevant": self.nonrelevant / total,
                "unjudged": self.unjudged / total, "relevant_missed": self.relevant_missed,
                "nonrelevant_missed": self.nonrelevant_missed,
                "first_unjudged": _means(self.first_unjudged),
            },
            schema_overrides={"run": polars.String},
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PoolOutcomes:
    """Means and deviations over contributing runs and topics were the pool cut to each depth."""

    depths: tuple[int, ...]
    relevant: Values  # (depth,) mean relevant documents of a topic, R_d: in_pool + past
    in_pool: Values  # (depth, 2) mean and deviation: relevant documents of a run within the depth
    past: Values  # (depth, 2) relevant documents of the pool that it has deeper, or not at all
    first_unjudged: Values  # (depth, 2) rank of the first document that would not be judged

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per depth."""
        columns = {"depth": np.array(self.depths), "relevant": self.relevant}
        for name in ("in_pool", "past", "first_unjudged"):
            table = getattr(self, name)
            columns |= {name: table[:, 0], f"{name}_deviation": table[:, 1]}
        return polars.DataFrame(columns)


def coverage(runs: JudgedRuns) -> JudgedCoverage:
    """Return what was judged of every run, at all depths."""
    lists = runs.retrieved.lists
    grades = runs.grades()
    judged = np.append(np.isfinite(grades), False)
    relevant = np.append(runs.is_relevant(), False)
    lengths = runs.retrieved.lengths
    found = np.array([np.count_nonzero(relevant[own]) for own in lists])
    seen = np.array([np.count_nonzero(judged[own]) for own in lists])
    every = int(runs.judgments.relevant(runs.level).sum())
    mean_length = lengths.mean(axis=1)
    return JudgedCoverage(
        runs=runs.runs,
        judged_share=np.array([judged_shares(judged[own], own != NONE) for own in lists]),
        first_unjudged=first_unjudged(runs.retrieved, grades),
        relevant=found,
        nonrelevant=seen - found,
        unjudged=lengths.sum(axis=1) - seen,
        relevant_missed=every - found,
        nonrelevant_missed=len(runs.judgments.grades) - every - (seen - found),
        lengths=mean_length,
        short=mean_length < SHORT * np.median(mean_length),
    )


def pool_outcomes(runs: JudgedRuns, depths: tuple[int, ...]) -> PoolOutcomes:
    """Return the judgments of shallower pools of the contributing runs, one for each depth."""
    pooled = runs.contributions()
    best = np.append(pooled.best_ranks(), 0)
    relevant = np.append(runs.is_relevant(), False)
    judged = np.isfinite(runs.grades())
    topic, wider = runs.retrieved.topic, runs.retrieved.pick(runs.contributing)
    in_pool, past, first, totals = [], [], [], []
    for depth in depths:
        near = (best > 0) & (best <= depth)
        kept = relevant & near
        total = np.bincount(topic[kept[:NONE]], minlength=len(runs.topics))
        own = np.count_nonzero(kept[pooled.lists[:, :, :depth]], axis=2)
        in_pool.append(_moments(own))
        past.append(_moments(total - own))
        first.append(_moments(first_unjudged(wider, np.where(judged & near[:NONE], 0.0, np.nan))))
        totals.append(total.mean())
    return PoolOutcomes(
        depths=depths, relevant=np.array(totals), in_pool=np.array(in_pool), past=np.array(past),
        first_unjudged=np.array(first),
    )  # fmt: skip


def _moments(values: Values | Counts) -> tuple[float, float]:
    """Mean and standard deviation (n - 1) of what is known; NaN where too little is."""
    known = values[~np.isnan(values)].astype(np.float64)
    mean = float(known.mean()) if len(known) else np.nan
    return mean, float(known.std(ddof=1)) if len(known) > 1 else np.nan


def _means(table: Values) -> Values:
    """The mean of what is known in each row; NaN where nothing is."""
    return np.array([_moments(row)[0] for row in table])


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Growth:
    """Documents that the pool first held at each depth, and how many relevant ones may lie deeper."""

    topics: tuple[str, ...]
    relevant: Counts  # (topic, depth) relevant documents that came in at depth 1, 2, ...
    judged: Counts  # (topic, depth) all judged documents
    elsewhere: int  # judged documents that no contributing run has so deep
    twice: Values  # (topic,) relevant documents expected in a pool twice as deep, beyond those known
    twice_likely: Values  # (topic,) the same by a Poisson fit, high where Zobel's is low
    end: int  # the depth of the lists
    remaining: Values  # (topic,) relevant documents that Zobel's law expects at all, down to `end` at most
    last: Values  # (topic,) depth behind which it expects none; inf: it has no end

    @property
    def depth(self) -> int:
        """The number of depths: the pool's own, or the length of the lists where it has none."""
        return self.relevant.shape[1]

    def second_half(self) -> Counts:
        """(topic,): relevant documents that came in below half of the depth."""
        return self.relevant[:, (self.depth + 1) // 2 :].sum(axis=1)

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per depth: means per topic of relevant, judged and of new documents."""
        new, judged = self.relevant.sum(axis=0), self.judged.sum(axis=0)
        topics = max(len(self.topics), 1)
        return polars.DataFrame(
            {
                "depth": np.arange(1, self.depth + 1),
                "relevant": np.cumsum(new) / topics,
                "judged": np.cumsum(judged) / topics,
                "new_relevant": new / topics,
                "share_relevant": np.divide(new, judged, out=np.full(len(new), np.nan), where=judged > 0),
            }
        )


def growth_by_depth(runs: JudgedRuns) -> Growth:
    """Growth of the pool of the contributing runs."""
    ranks, depth, end = runs.pool_ranks(), runs.reach, runs.retrieved.depth
    judgments = replace(runs.judgments, pool_ranks=ranks, _known={})
    judged = count_by_depth(judgments, 0, depth=depth)
    relevant = count_by_depth(judgments, runs.level, depth=depth)
    unknown = np.full(len(runs.topics), np.nan)
    return Growth(
        topics=runs.topics, relevant=relevant, judged=judged,
        elsewhere=int(np.count_nonzero(ranks == 0)),
        twice=expected_beyond(relevant, 2 * depth) if depth > 1 else unknown,
        twice_likely=likely_beyond(relevant, 2 * depth) if depth > 1 else unknown,
        end=end,
        remaining=expected_beyond(relevant, end) if depth > 1 else unknown,
        last=last_depth(relevant) if depth > 1 else unknown,
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class DeeperPool:
    """New relevant documents beyond the pool of a first depth (Voorhees 2002, section 2.2)."""

    first: int  # the depth of the first pool
    depth: int  # of the whole pool
    runs: tuple[str, ...]  # (run,) those that contributed
    groups: tuple[str, ...]  # (run,)
    kinds: tuple[str, ...]  # (run,)
    documents: Counts  # (run,) documents between the two depths that the first pool lacks
    judged: Counts  # (run,) those that were judged
    relevant: Counts  # (run,) those that are relevant
    known: Counts  # (topic,) relevant documents of the first pool
    new: Counts  # (topic,) relevant documents that only the deeper pool has

    @property
    def tau(self) -> float:
        """Kendall's tau over topics, between relevant documents of the first pool and new ones."""
        return kendall_tau(self.known.astype(np.float64), self.new.astype(np.float64))

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per run, the one with most new relevant documents first."""
        columns = {
            "run": self.runs, "group": self.groups, "kind": self.kinds, "new_documents": self.documents,
            "new_judged": self.judged, "new_relevant": self.relevant,
        }  # fmt: skip
        frame = polars.DataFrame(columns, schema_overrides=dict.fromkeys(list(columns)[:3], polars.String))
        return frame.sort("new_relevant", "run", descending=[True, False])

    def of_runs(self, kept: Collection[str]) -> DeeperPool:
        """Return the rows of some runs."""
        rows = [place for place, run in enumerate(self.runs) if run in kept]
        texts = {
            name: tuple(getattr(self, name)[row] for row in rows) for name in ("runs", "groups", "kinds")
        }
        counts = {name: getattr(self, name)[rows] for name in ("documents", "judged", "relevant")}
        parts: dict[str, Any] = texts | counts
        return replace(self, **parts)


def deeper_pool(runs: JudgedRuns, first: int | None = None) -> DeeperPool:
    """Count what each contributing run has beyond the pool of depth `first` (None: half of the pool's)."""
    pooled, depth = runs.contributions(), runs.reach
    first = (depth + 1) // 2 if first is None else first
    if not 0 < first < depth:
        raise DataError(
            f"the first pool is {first} deep and the whole one {depth}; give a depth from 1 to {depth - 1}"
        )
    best = pooled.best_ranks()
    new, judged = np.append(best > first, False), np.append(np.isfinite(runs.grades()), False)
    relevant = np.append(runs.is_relevant(), False)
    counts = np.array(
        [
            [np.count_nonzero(flags[own[:, first:depth]]) for flags in (new, new & judged, new & relevant)]
            for own in pooled.lists
        ]
    )
    places = runs.contributing.nonzero()[0].tolist()
    by_topic = [
        np.bincount(runs.retrieved.topic[kept], minlength=len(runs.topics))
        for kept in (relevant[:NONE] & (best > 0) & (best <= first), relevant[:NONE] & new[:NONE])
    ]
    return DeeperPool(
        first=first, depth=depth, runs=pooled.runs, groups=tuple(runs.groups[place] for place in places),
        kinds=tuple(runs.kinds[place] for place in places), documents=counts[:, 0], judged=counts[:, 1],
        relevant=counts[:, 2], known=by_topic[0], new=by_topic[1],
    )  # fmt: skip
