"""Pools whose truth is known, samples of them, and the ranking that each sample makes of one run.

Every sample is a topic of its own: one call of a measure gives its estimates for thousands of samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sounding.runs.ranking import Judgments, Ranking, Sampling, Strata

Flags = NDArray[np.bool_]
Numbers = NDArray[np.float64]
Places = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pool:
    """The documents of a pool: what they are, where a run ranks them, in which stratum they are."""

    grade: Numbers
    rank: Places  # 0: not retrieved; ranks that no document of the pool has are of documents outside it
    stratum: Places  # from 0


def draw_pool(seed: int, *, documents: int, relevant: int) -> Pool:
    """A pool that a run ranks better than by chance, in three strata of which the first is the richest."""
    rng = np.random.default_rng(seed)
    grade = np.zeros(documents)
    grade[:relevant] = 1
    score = rng.normal(size=documents) + grade
    outside = rng.normal(size=documents // 2) - 0.5
    best = np.argsort(-np.concatenate([score, outside]))[:documents]
    rank = np.zeros(len(score) + len(outside), np.int64)
    rank[best] = np.arange(1, len(best) + 1)
    others = rng.normal(size=documents) * 0.7 + grade + score / 2
    place = np.argsort(np.argsort(-others))
    return Pool(grade, rank[:documents], np.digitize(place, [documents // 10, documents // 3]))


def all_of(pool: Pool) -> Flags:
    """The one sample that has everything."""
    return np.ones((1, len(pool.grade)), np.bool_)


def draw_by_stratum(pool: Pool, rates: Sequence[float], samples: int, seed: int) -> Flags:
    """(sample, document): simple random samples of each stratum, at its rate and without replacement."""
    chance = np.random.default_rng(seed).random((samples, len(pool.grade)))
    chosen = np.zeros(chance.shape, np.bool_)
    for number, rate in enumerate(rates):
        members = (pool.stratum == number).nonzero()[0]
        size = max(1, round(rate * len(members)))
        drawn = members[np.argsort(chance[:, members], axis=1)[:, :size]]
        chosen[np.arange(samples)[:, np.newaxis], drawn] = True
    return chosen


def draw_each(chances: Numbers, samples: int, seed: int) -> Flags:
    """(sample, document): every document drawn by itself with its own chance."""
    return np.random.default_rng(seed).random((samples, len(chances))) < chances


def ranking_of(pool: Pool, chosen: Flags, *, chances: Numbers | None = None) -> Ranking:
    """The run as each sample shows it; with `chances` the samples are told by these, not by strata."""
    samples, documents = chosen.shape
    best_first = np.argsort(-pool.grade, kind="stable")
    sample, place = chosen[:, best_first].nonzero()
    judged = best_first[place]
    judgment = np.full(chosen.shape, -1)
    judgment[sample, judged] = np.arange(len(judged))
    retrieved = np.argsort(pool.rank)[np.count_nonzero(pool.rank == 0) :]
    topic, place = chosen[:, retrieved].nonzero()
    seen = retrieved[place]
    pooled_topic, place = (~chosen[:, retrieved]).nonzero()
    pooled = retrieved[place]
    count = int(pool.stratum.max()) + 1
    strata = Strata(
        sample * count + pool.stratum[judged],
        np.tile(np.bincount(pool.stratum, minlength=count), samples),
        np.arange(samples + 1) * count,
    )
    sampling = Sampling(strata=strata) if chances is None else Sampling(probabilities=chances[judged])
    judgments = Judgments(
        topics=tuple(f"{number:06}" for number in range(samples)),
        starts=np.concatenate([[0], np.cumsum(chosen.sum(axis=1))]),
        grades=pool.grade[judged],
        pool_ranks=None,
        pooled=documents - chosen.sum(axis=1),
        highest=float(max(1, pool.grade.max())),
        sampling=sampling,
    )
    return Ranking(
        run="run",
        judgments=judgments,
        topic=topic, rank=pool.rank[seen], grade=pool.grade[seen],
        retrieved=np.full(samples, pool.rank.max()),
        missing=np.zeros(samples, np.bool_),
        pooled_topic=pooled_topic, pooled_rank=pool.rank[pooled],
        judgment=judgment[topic, seen],
        pooled_stratum=None if chances is not None else pooled_topic * count + pool.stratum[pooled],
    )  # fmt: skip
