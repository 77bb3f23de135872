"""Cumulative forms of measures of documents that are relevant or not, or judged or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from sounding.arrays import NDArray
from sounding.depth.cumulative import (
    Table,
    curve,
    cuts,
    found_so_far,
    judged_so_far,
    looked_at,
    share,
    summed,
)
from sounding.measures.binary import Norm, pool_of_depth
from sounding.ranking import Counts, Judgments, Ranking


@curve("P")
def precision(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Relevant documents found so far, by k."""
    return found_so_far(run, depth, rel) / cuts(depth)


@curve("R")
def recall(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Relevant documents found so far, by R."""
    return share(found_so_far(run, depth, rel), run.relevant(rel))


@curve("RelP")
def relative_precision(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Relevant documents found so far, by min(k, R)."""
    return share(found_so_far(run, depth, rel), np.minimum(cuts(depth), run.relevant(rel)))


@curve("F")
def f_measure(run: Ranking, depth: int, *, rel: float = 1, beta: float = 1.0) -> Table:
    """F from the same count."""
    return share((beta + 1) * found_so_far(run, depth, rel), beta * run.relevant(rel) + cuts(depth))


@curve("Success")
def success(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """1 from the first relevant document on."""
    return np.minimum(found_so_far(run, depth, rel), 1.0)


@curve("RR")
def reciprocal_rank(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """The reciprocal rank from the first relevant document on."""
    hit = run.hits(rel, depth)
    first = hit.nth == 1
    return summed(run, hit.topic[first], hit.rank[first], 1 / hit.rank[first], depth)


@curve("AP")
def average_precision(run: Ranking, depth: int, *, rel: float = 1, norm: Norm = "a") -> Table:
    """Precisions at the relevant documents so far, by R, min(k, R) or R_k."""
    hit = run.hits(rel, depth)
    gained = summed(run, hit.topic, hit.rank, hit.nth / hit.rank, depth)
    return share(gained, relevant_by_norm(run, depth, rel, norm, "AP"))


def relevant_by_norm(run: Ranking, depth: int, rel: float, norm: Norm, name: str) -> NDArray[Any]:
    """What a truncated measure is averaged over: (topic,), or (k, topic) where it depends on k."""
    if norm == "a":
        return run.relevant(rel)
    if norm == "b":
        return np.minimum(run.relevant(rel), cuts(depth))
    judgments = run.judgments
    ranks = ranks_in_pool(judgments, depth, f"{name} with norm='c'")
    pooled = (ranks > 0) & (judgments.grades >= rel)
    return summed(run, judgments.topic[pooled], ranks[pooled], None, depth)


def ranks_in_pool(judgments: Judgments, depth: int, option: str) -> Counts:
    """(judgment,): the rank at which each was pooled; 0: not in a pool of this depth."""
    inside = pool_of_depth(judgments, depth, option).astype(np.int64)
    return inside if judgments.pool_ranks is None else judgments.pool_ranks * inside


@curve("Accuracy")
def pair_accuracy(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Pairs in the right order so far."""
    hit = run.hits(rel, depth)
    found = summed(run, hit.topic, hit.rank, None, depth)
    misplaced = summed(run, hit.topic, hit.rank, (hit.rank - hit.nth).astype(np.float64), depth)
    others = looked_at(run, depth) - found
    return np.where(found > 0, 1 - share(misplaced, found * others), 0.0)


@curve("Judged")
def judged(run: Ranking, depth: int) -> Table:
    """Judged documents so far, by k or by the length of the list."""
    return share(judged_so_far(run, depth), looked_at(run, depth))


@curve("Unjudged")
def unjudged(run: Ranking, depth: int) -> Table:
    """Unjudged documents so far, by k."""
    return (looked_at(run, depth) - judged_so_far(run, depth)) / cuts(depth)
