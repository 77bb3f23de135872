"""Draw completed judgments at random, for measures without a closed form of their moments.

A completion judges every unjudged document: relevant ones get the grade `level`, others 0. Many completions
form one ranking: each draw has its own copy of every topic, and one call evaluates them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures import Measure
from sounding.measures.expected.sums import Moments
from sounding.relevance.priors import Chances, Outside
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

LARGEST_BATCH = 1 << 21  # documents of all draws held at once


def sampled_moments(
    measure: Measure,
    chances: Chances,
    ranking: Ranking,
    *,
    draws: int,
    rng: np.random.Generator,
    largest_batch: int = LARGEST_BATCH,
) -> tuple[Moments, Values]:
    """Return mean and deviation over `draws` completions, and the standard error of the mean."""
    if draws < 2:
        raise DataError(f"{draws} draws cannot show how much values vary; give at least 2")
    sampler = Sampler.of(measure, chances, ranking)
    batches = sampler.rankings(draws, rng, largest_batch)
    values = np.concatenate([measure(batch).reshape(-1, len(ranking.topics)) for batch in batches])
    # Differences to one draw: without uncertainty they are 0, and so is the deviation.
    beyond = values - values[0]
    deviation = beyond.std(axis=0, ddof=1)
    return Moments(values[0] + beyond.mean(axis=0), deviation), deviation / np.sqrt(draws)


@dataclass(frozen=True, slots=True, eq=False)
class Sampler:
    """State that all draws for one measure share.

    Rows are the retrieved documents that the measure considers, judged or not. Those below its cut-off, and
    those not retrieved, only add to the number of relevant documents: equal ones are drawn as one number.
    """

    ranking: Ranking
    every: bool  # documents judged 0 count too
    level: float
    topic: Counts  # (row,)
    rank: Counts
    grade: Values  # the grade of the document, or the grade it gets if it turns out relevant
    open: Counts  # rows that are not judged
    chance: Values  # (open row,)
    others: Outside  # documents of equal probability are drawn as one number

    @staticmethod
    def of(measure: Measure, chances: Chances, ranking: Ranking) -> Sampler:
        """Return the sampler that a measure needs."""
        gains = measure.get("gains")
        every = measure.definition.counts_nonrelevant or (gains is not None and 0 in dict(gains))
        unjudged = chances.unjudged
        near = np.ones(len(chances.rank), np.bool_) if measure.k is None else chances.rank <= measure.k
        wanted = near if every else near & (unjudged | (chances.grade > 0))
        rows = wanted.nonzero()[0]
        hidden = unjudged[rows]
        below = ~near & unjudged
        others = chances.outside.joined(
            Outside.each(chances.topic[below], chances.probability[below])
        ).merged()
        return Sampler(
            ranking, every, chances.level,
            chances.topic[rows], chances.rank[rows], np.where(hidden, chances.level, chances.grade[rows]),
            hidden.nonzero()[0], chances.probability[rows[hidden]],
            others,
        )  # fmt: skip

    def rankings(self, draws: int, rng: np.random.Generator, largest: int) -> Iterator[Ranking]:
        """Yield completions, as many per ranking as `largest` documents allow.

        This does not change the draws.
        """
        documents, numbers = rng.spawn(2)
        others = self.others
        likely = others.count.sum() if self.every else (others.count * others.probability).sum()
        batch = max(1, int(largest / max(1, len(self.topic) + len(self.ranking.judgments.grades) + likely)))
        for begin in range(0, draws, batch):
            size = min(batch, draws - begin)
            relevant = documents.random((size, len(self.open))) < self.chance
            among_others = numbers.binomial(others.count, others.probability, (size, len(others.count)))
            yield self._completed(relevant, among_others)

    def _completed(self, relevant: NDArray[np.bool_], among_others: Counts) -> Ranking:
        """Return one ranking of all draws: (draw, open row) relevant or not, (draw, group) how many are."""
        draws, topics = len(relevant), len(self.ranking.topics)
        shown = np.ones((draws, len(self.topic)), np.bool_)
        grade = np.broadcast_to(self.grade, shown.shape)
        if self.every:
            grade = grade.copy()
            grade[:, self.open] *= relevant
        else:
            shown[:, self.open] = relevant
        draw, row = shown.nonzero()
        base = self.ranking
        found = _totals(relevant, self.topic[self.open], topics)
        found += _totals(among_others, self.others.topic, topics)
        return replace(
            base,
            judgments=self.judgments(found.ravel(), draws),
            topic=draw * topics + self.topic[row],
            rank=self.rank[row],
            grade=grade[draw, row],
            retrieved=np.tile(base.retrieved, draws),
            missing=np.tile(base.missing, draws),
            pooled_topic=np.empty(0, np.int64),
            pooled_rank=np.empty(0, np.int64),
            judgment=None,
            pooled_stratum=None,
        )

    def judgments(self, found: Counts, draws: int) -> Judgments:
        """Return the judgments of all draws if `found` more documents of each topic are relevant."""
        old = self.ranking.judgments
        kept = np.ones(len(old.grades), np.bool_) if self.every else old.grades > 0
        grades, topic = old.grades[kept], old.topic[kept]
        topics = len(old.topics)
        size = np.bincount(topic, minlength=topics)
        not_relevant = np.zeros(topics * draws, np.int64)
        if self.every:
            unjudged = np.bincount(self.topic[self.open], minlength=topics)
            unjudged += np.bincount(self.others.topic, self.others.count, topics).astype(np.int64)
            not_relevant = np.tile(unjudged, draws) - found
        starts = np.concatenate([[0], np.cumsum(np.tile(size, draws) + found + not_relevant)])
        # Better grades come first, then the new relevant ones, then the others, then the new ones not
        # relevant.
        place = np.arange(len(grades)) - (np.cumsum(size) - size)[topic]
        here = np.arange(draws)[:, np.newaxis] * topics + topic
        places = starts[here] + place + np.where(grades >= self.level, 0, found[here])
        completed = np.full(starts[-1], self.level)
        pool_ranks = None if old.pool_ranks is None else np.zeros(starts[-1], np.int64)
        last = np.repeat(starts[1:] - not_relevant, not_relevant)
        completed[last + _count_up(not_relevant)] = 0
        completed[places] = grades
        if pool_ranks is not None and old.pool_ranks is not None:
            pool_ranks[places] = old.pool_ranks[kept]
        return replace(
            old,
            topics=old.topics * draws, starts=starts, grades=completed, pool_ranks=pool_ranks,
            pooled=np.zeros(topics * draws, np.int64), highest=max(old.highest, self.level),
            sampling=None, intents=None, _known={},
        )  # fmt: skip


def _count_up(sizes: Counts) -> Counts:
    """Return 0, 1, ... up to each size, one after the other."""
    return np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _totals(numbers: NDArray[np.bool_] | Counts, topic: Counts, topics: int) -> Counts:
    """Sum over the columns of each topic, for every draw: (draw, topic)."""
    draws = len(numbers)
    where = (np.arange(draws)[:, np.newaxis] * topics + topic).ravel()
    return np.bincount(where, numbers.ravel(), draws * topics).astype(np.int64).reshape(draws, topics)
