"""Relevant documents that every further rank of the pool brought: Lu et al. (2016), Fig. 1; Zobel (1998)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sounding.audit.judged_runs import JudgedRuns
from sounding.relevance.growth import expected_beyond, found_by_depth, last_depth, likely_beyond
from sounding.runs.ranking import Counts, Values

if TYPE_CHECKING:
    import polars


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Growth:
    """Documents that the pool first held at each depth, and how many relevant ones may lie deeper."""

    topics: tuple[str, ...]
    relevant: Counts  # (topic, depth) relevant documents that came in at depth 1, 2, ...
    judged: Counts  # (topic, depth) all judged documents
    elsewhere: int  # judged documents that no contributing run has so deep
    twice: Values  # (topic,) relevant documents expected in a pool twice as deep, beyond those known
    twice_likely: Values  # (topic,) the same by a Poisson fit, high where Zobel's is low
    end: int  # how deep the lists go
    remaining: Values  # (topic,) relevant documents that Zobel's law expects at all, down to `end` at most
    last: Values  # (topic,) depth behind which it expects none; inf: it has no end

    @property
    def depth(self) -> int:
        """How deep the pool is."""
        return self.relevant.shape[1]

    def second_half(self) -> Counts:
        """(topic,): relevant documents that came in below half of the depth."""
        return self.relevant[:, (self.depth + 1) // 2 :].sum(axis=1)

    @property
    def frame(self) -> polars.DataFrame:
        """One row a depth, means for a topic: relevant, judged, new_relevant; share_relevant of new ones."""
        import polars

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
    judged = found_by_depth(judgments, 0, depth=depth)
    relevant = found_by_depth(judgments, runs.level, depth=depth)
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
