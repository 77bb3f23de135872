"""Compute what a pool costs and leaves unjudged, before anything is judged."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.pool.contributors import Contributors
from sounding.runs.pool import judged_shares
from sounding.runs.ranking import Counts, Values
from sounding.runs.retrieved import NONE, Retrieved, held_by_owner, shared_by_runs
from sounding.selection.orders import rbp_weights

PERSISTENCE = 0.8  # p of RBP, unless another is given
POOR = 0.8  # a run with less than this share of its first documents in the pool is poorly covered
NEAR = 10  # the first documents used for POOR
ROUNDING = 1e-9  # rounding error of a mean of shares


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Foresight:
    """Sizes, overlap and coverage of the pools of all depths up to the chosen one."""

    runs: tuple[str, ...]  # those that are reported
    places: Counts  # (run,) their places among the contributors and other runs
    contributors: Contributors
    topics: int  # topics with documents to judge
    depth: int  # of the chosen pool; at most the length of the longest list
    p: float  # of RBP
    sizes: Counts  # (topic, depth) documents of the pool of depth 1, 2, ... as far as the runs go
    shares: Values  # (run, k) mean share of the first k documents that the chosen pool holds
    residuals: Values  # (run, depth + 1) mean RBP residual if the pool of depth 0, 1, ... is judged
    to_add: Counts  # (run,) documents that the pool gains if the run is pooled too
    poor: Counts  # runs with less than 80% of their first ten documents in the pool, the poorest first
    to_cover: tuple[int, int]  # documents that pooling these adds: to the depth, their first ten
    overlap: Values  # (run, run) of contributing runs: share of the first documents that both have
    group_documents: dict[str, tuple[int, int]]  # group -> documents it retrieved, it alone retrieved
    group_overlap: Values  # (group, group) share of the first group's documents that the second has
    judged: Counts | None  # (topic, depth) judged documents of each pool; None: no qrels

    def documents_at(self, depth: int) -> int:
        """Return how many documents the pool of that depth has."""
        return int(self.sizes[:, depth - 1].sum()) if depth else 0

    def mean_residual(self, depth: int) -> float:
        """Return the mean RBP residual of all runs if the pool of that depth is judged."""
        return float(self.residuals.mean(axis=0)[min(depth, self.residuals.shape[1] - 1)])

    def judged_at(self, depth: int) -> int | None:
        """Return how many documents of the pool of that depth are judged; None: no qrels."""
        return None if self.judged is None else int(self.judged[:, depth - 1].sum())

    def share_of_most(self, depth: int) -> float:
        """Return the size of the pool as a share of depth x runs x topics, its maximum."""
        contributing = int(np.count_nonzero(self.contributors.contributing))
        return self.documents_at(depth) / (depth * contributing * self.topics)

    def share_at(self, k: int) -> Values:
        """Return, for each run, the share of its first k documents that the pool holds."""
        return self.shares[:, min(k, self.shares.shape[1]) - 1]

    def depth_for_residual(self, most: float) -> int | None:
        """Return the least pool depth with a mean RBP residual of at most `most`; None if there is none."""
        enough = (self.residuals.mean(axis=0) <= most).nonzero()[0]
        return int(enough[0]) if len(enough) else None

    def pair_overlap(self) -> tuple[float, float]:
        """Return the median overlap of two runs of one group, and of different groups; NaN: no such pair."""
        groups = np.array(self.contributors.groups, dtype=object)[self.contributors.contributing]
        first, second = np.triu_indices(len(groups), 1)
        related = groups[first] == groups[second]
        values = self.overlap[first, second]
        return _median(values[related]), _median(values[~related])


def foresee(
    retrieved: Retrieved,
    contributors: Contributors,
    depth: int,
    *,
    p: float = PERSISTENCE,
    judged: NDArray[np.bool_] | None = None,
    reported: NDArray[np.bool_] | None = None,
) -> Foresight:
    """Compute the costs and coverage of a pool; give runs as long as they will be evaluated.

    `judged` has, for each document, whether it is judged already. `reported` has, for each run, whether its
    coverage is asked for; None: that of all runs is.
    """
    places = np.arange(len(retrieved.runs)) if reported is None else reported.nonzero()[0]
    shown = retrieved.pick(places.tolist())
    pooled = retrieved.pick(contributors.contributing)
    depth = min(depth, retrieved.depth)
    best = np.append(pooled.best_ranks(), 0)  # at any depth; NONE refers to the last place
    chosen = (best > 0) & (best <= depth)
    sizes = _sizes(retrieved, best[:NONE], pooled.depth)
    given = pooled.cut(depth)
    owners = [group for group, own in zip(contributors.groups, contributors.contributing, strict=True) if own]
    brings = dict(held_by_owner(given, owners))
    shares = np.array([judged_shares(chosen[own], own != NONE) for own in shown.lists])
    near = shares[:, min(NEAR, retrieved.depth) - 1]
    poor = (near < POOR - ROUNDING).nonzero()[0]
    poor = poor[np.argsort(near[poor], kind="stable")]
    return Foresight(
        runs=shown.runs, places=places, contributors=contributors, depth=depth, p=p, sizes=sizes,
        shares=shares, topics=int(np.count_nonzero(sizes[:, -1])),
        residuals=_residuals(shown, best, pooled.depth, p),
        to_add=np.array([_outside([own], chosen) for own in shown.cut(depth).lists]),
        poor=poor,
        to_cover=(
            _outside(shown.cut(depth).lists[poor], chosen),
            _outside(shown.cut(NEAR).lists[poor], chosen),
        ),
        overlap=_overlap(given),
        group_documents=_by_group(brings),
        group_overlap=_group_overlap(brings),
        judged=None if judged is None else _sizes(retrieved, np.where(judged, best[:NONE], 0), pooled.depth),
    )  # fmt: skip


def _sizes(retrieved: Retrieved, best: Counts, depth: int) -> Counts:
    """Return (topic, depth): how many documents some contributing run has at that rank or better."""
    inside = (best > 0) & (best <= depth)
    place = retrieved.topic[inside] * depth + best[inside] - 1
    counts = np.bincount(place, minlength=len(retrieved.topics) * depth)
    return np.cumsum(counts.reshape(len(retrieved.topics), depth), axis=1)


def _residuals(retrieved: Retrieved, best: Counts, deepest: int, p: float) -> Values:
    """Return (run, depth + 1): 1 minus the weight of the documents in the pool of each depth."""
    weights = rbp_weights(p, retrieved.depth)
    topics = max(len(retrieved.topics), 1)
    rows = []
    for own in retrieved.lists:
        reached = np.where(best[own] > 0, best[own], deepest + 1)
        gained = np.bincount(reached.ravel(), np.broadcast_to(weights, own.shape).ravel(), deepest + 2)
        rows.append(1 - np.cumsum(gained[: deepest + 1]) / topics)
    return np.array(rows)


def _outside(lists: Iterable[NDArray[np.int32]], chosen: NDArray[np.bool_]) -> int:
    """Return how many different documents of these lists the pool lacks."""
    has = np.zeros(len(chosen), np.bool_)
    for own in lists:
        has[own.ravel()] = True
    return int(np.count_nonzero(has[:NONE] & ~chosen[:NONE]))


def _overlap(pooled: Retrieved) -> Values:
    """Return (run, run): documents that both have, as a share of the shorter list."""
    shared, least = np.zeros((2, len(pooled.runs), len(pooled.runs)))
    for both, lengths in shared_by_runs(pooled):
        shared += both
        least += np.minimum(lengths[:, np.newaxis], lengths)
    return np.divide(shared, least, out=np.full(shared.shape, np.nan), where=least > 0)


def _by_group(brings: dict[str, NDArray[np.bool_]]) -> dict[str, tuple[int, int]]:
    """Return, by group, how many documents of the pool it retrieved, and how many it alone did."""
    count = np.sum(list(brings.values()), axis=0)
    return {group: (int(has.sum()), int((has & (count == 1)).sum())) for group, has in brings.items()}


def _group_overlap(brings: dict[str, NDArray[np.bool_]]) -> Values:
    """Return (group, group): the share of the first group's documents that the second has too."""
    own = list(brings.values())
    shared = np.array([[np.count_nonzero(one & other) for other in own] for one in own], np.float64)
    return shared / np.maximum(np.diag(shared), 1)[:, np.newaxis]


def _median(values: Values) -> float:
    return float(np.median(values)) if len(values) else float("nan")
