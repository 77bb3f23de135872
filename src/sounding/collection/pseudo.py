"""Orders of runs that no judgment went into, and how near they come to the true one.

Soboroff, Nicholas & Cahan (2001) call documents relevant that are drawn at random from the pool; Aslam &
Savell (2003) order runs by how much they retrieve what the others do. Where either agrees with the values,
being popular is part of what was measured (Baillie et al., section 4.2.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sounding.agreement import kendall_tau
from sounding.collection.holders import shared_by_runs
from sounding.collection.judged_runs import Flags, JudgedRuns
from sounding.collection.reinforcement import assessed_at, assessment
from sounding.measures import Measure
from sounding.ranking import Counts, Values
from sounding.retrieved import Retrieved
from sounding.scores import mean_over_topics
from sounding.workers import Progress, map_items

if TYPE_CHECKING:
    import polars

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

    def tau(self) -> dict[str, float]:
        """Kendall's tau of each with MAP; NaN: not defined, or one of the two is not known of some run."""
        return {
            name: kendall_tau(self.performance, getattr(self, name))
            for name in ("assessment", "random", "popularity")
        }

    @property
    def frame(self) -> polars.DataFrame:
        """Columns run, kind, performance, assessment, random, popularity."""
        import polars

        names = ("performance", "assessment", "random", "popularity")
        return polars.DataFrame(
            {"run": self.runs, "kind": self.kinds} | {name: getattr(self, name) for name in names},
            schema_overrides={"run": polars.String, "kind": polars.String},
        )


def average_precision(runs: JudgedRuns) -> Values:
    """(run,): mean average precision at the collection's level."""
    return runs.means([Measure.of("AP", rel=runs.level)], runs.view())[:, 0]


def rankings_without_judgments(
    runs: JudgedRuns, *, draws: int = DRAWS, seed: int = 0, progress: Progress | None = None
) -> Pseudo:
    """MAP of all runs that are not new, and the orders that need no judgments."""
    old = (~runs.new).nonzero()[0]
    return Pseudo(
        runs=tuple(runs.runs[run] for run in old), kinds=tuple(runs.kinds[run] for run in old),
        k=assessed_at(runs), draws=draws, performance=average_precision(runs)[old],
        assessment=assessment(runs)[old],
        random=_random_judgments(runs, draws, seed, progress)[old],
        popularity=popularity(runs.retrieved.pick(~runs.new)),
    )  # fmt: skip


def _random_judgments(runs: JudgedRuns, draws: int, seed: int, progress: Progress | None) -> Values:
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
        return runs.means([Measure.of("AP")], runs.pretend(relevant))[:, 0]

    return np.mean(map_items(work, range(draws), progress=progress), axis=0)


def drawn_documents(
    rng: np.random.Generator, topic: Counts, topics: int, *, mean: float, deviation: float
) -> Flags:
    """(document,): which are drawn, topic by topic: a share that is normal, and at least one.

    `topic` is that of every document, ascending.
    """
    size = np.bincount(topic, minlength=topics)
    share = rng.normal(mean, deviation, topics)
    wanted = np.clip(np.rint(share * size), np.minimum(size, 1), size)
    order = np.lexsort((rng.random(len(topic)), topic))
    place = np.arange(len(topic)) - (np.cumsum(size) - size)[topic]
    drawn = np.zeros(len(topic), np.bool_)
    drawn[order[place < wanted[topic]]] = True
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
