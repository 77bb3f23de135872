"""Counts and sums over the documents of a ranking, of which most kernels are made.

Each considers the first k documents. A column of cut-offs (`every_cut`) gives a row of values for each. If
documents tie, a sum is its mean over all orders of the tied documents: those with equal scores form a block,
and every order of a block is equally likely. So a kernel made only of these sums needs no other form for ties
or for the values at every k.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.runs.ranking import Counts, Ranking, TieBlocks, Values

Cutoff = int | Counts | None  # one for all topics; (topic,): one per topic; (k, 1): each of these


def share(gained: Values | Counts, possible: Values | Counts) -> Values:
    """Return the quotient; 0 if nothing was possible, like trec_eval."""
    return np.divide(gained, possible, out=np.zeros(np.shape(gained)), where=np.asarray(possible) > 0)


def every_cut(depth: int) -> Counts:
    """(k, 1): Return every cut-off down to a depth."""
    return np.arange(1, depth + 1)[:, np.newaxis]


def deepest(k: Cutoff) -> int | None:
    """Return the last rank that counts, of one cut-off or a column of them."""
    return len(k) if isinstance(k, np.ndarray) else k


def count_retrieved(run: Ranking, k: Cutoff) -> Counts:
    """Return the number of documents, judged or not, among the first k of each topic."""
    return run.retrieved if k is None else np.minimum(run.retrieved, k)


def count_relevant(run: Ranking, rel: float, k: Cutoff = None) -> Values:
    """Return the number of documents judged `rel` or better among the first k of each topic."""
    chosen = run.grade >= rel
    if run.ties is not None:
        blocks = tie_blocks(run, chosen, k)
        return run.total(blocks.topic, blocks.held * (blocks.inside / blocks.size))
    if isinstance(k, np.ndarray) and k.ndim == 2:
        return total(run, run.topic[chosen], run.rank[chosen], None, k)
    if k is not None:
        chosen &= run.rank <= (k[run.topic] if isinstance(k, np.ndarray) else k)
    return run.total(run.topic.take(chosen.nonzero()[0]))


def weighted_sum(run: Ranking, gain: Values, weight: Callable[[Counts], Values], k: Cutoff) -> Values:
    """Sum gain, (document,), times the weight of its rank over the first k documents."""
    if run.ties is not None:
        blocks = tie_blocks(run, gain != 0, k)
        return run.total(blocks.topic, blocks.gathered(gain) * blocks.mean_weight(weight))
    depth, topic, rank = deepest(k), run.topic, run.rank
    chosen = gain != 0 if depth is None else rank <= depth
    if not chosen.all():
        rows = chosen.nonzero()[0]
        topic, rank, gain = topic.take(rows), rank.take(rows), gain.take(rows)
    return total(run, topic, rank, gain * weight(rank), k)


def total(run: Ranking, topic: Counts, rank: Counts, weight: Values | None, k: Cutoff) -> Values:
    """Sum the weights (None: 1 each) of documents among the first k; they must not tie."""
    if not isinstance(k, np.ndarray):
        return run.total(topic, weight)
    weights = place_weights(topic, rank, weight, len(k), len(run.topics))
    return np.cumsum(weights, axis=0, out=weights)


def place_weights(topic: Counts, rank: Counts, weight: Values | None, depth: int, topics: int) -> Values:
    """(rank, topic): Arrange weights (None: 1 each) by rank, down to `depth`."""
    near = rank <= depth
    place = (rank[near] - 1) * topics + topic[near]
    weights = None if weight is None else weight[near]
    return np.bincount(place, weights, depth * topics).astype(np.float64, copy=False).reshape(depth, topics)


# -- ties ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BlockRanks:
    """The ranks that blocks occupy above the cut-off; every block has at least one."""

    block: Counts
    rank: Counts  # from 1
    nth: Counts  # its number within the block, from 1
    head: Counts  # (block,) where its ranks begin

    @staticmethod
    def of(first: Counts, inside: Counts) -> BlockRanks:
        """Return the ranks of blocks with these first ranks and numbers of ranks."""
        block = np.repeat(np.arange(len(inside)), inside)
        head = np.cumsum(inside) - inside
        nth = np.arange(1, len(block) + 1) - head[block]
        return BlockRanks(block=block, rank=first[block] + nth - 1, nth=nth, head=head)

    def gathered(self, weight: Values) -> Values:
        """Sum `weight` over the ranks of each block."""
        return np.add.reduceat(weight, self.head) if len(self.head) else np.zeros(0)

    def one_rank_up(self, chance: Values) -> Values:
        """Return the probability one rank above in the same block; 1 before the first rank."""
        above = np.roll(chance, 1)
        above[self.head] = 1
        return above


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Blocks:
    """The tie blocks that contain chosen documents and begin above the cut-off, in rank order."""

    topic: Counts
    first: Counts  # rank of the first document
    size: Counts  # all documents, chosen or not
    inside: Counts  # number of its ranks above the cut-off; at least 1
    held: Counts  # number of its chosen documents; at least 1
    head: Counts  # where its chosen documents begin
    rows: Counts  # (chosen document,) its index among the ranking's documents

    def nth(self) -> Counts:
        """Return the number of each block within its topic, from 1."""
        return np.arange(1, len(self.topic) + 1) - np.searchsorted(self.topic, self.topic)

    def above(self, amount: Counts) -> Counts:
        """Sum `amount` over the earlier blocks of the topic, for each block."""
        before = np.cumsum(amount) - amount
        return before - before[np.searchsorted(self.topic, self.topic)]

    def gathered(self, weight: Values) -> Values:
        """Sum `weight`, given for all documents of the ranking, over the chosen documents of each block."""
        return np.add.reduceat(weight[self.rows], self.head) if len(self.head) else np.zeros(0)

    def places(self) -> BlockRanks:
        """Return the ranks of every block down to the cut-off."""
        return BlockRanks.of(self.first, self.inside)

    def mean_weight(self, weight: Callable[[Counts], Values]) -> Values:
        """Return the mean weight of a rank of each block; ranks below the cut-off weigh nothing."""
        sample, kind = kinds(self.first, self.inside)
        places = BlockRanks.of(self.first[sample], self.inside[sample])
        return places.gathered(weight(places.rank))[kind] / self.size


def kinds(*columns: Counts) -> tuple[Counts, Counts]:
    """Return one row of each kind, and the kind of every row; rows of a kind agree in all columns.

    A constant scorer has one block per topic, as long as the ranking, and all topics share its ranks.
    """
    order = np.lexsort(columns)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    kind = np.empty(len(order), np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind


def tie_blocks(run: Ranking, chosen: NDArray[np.bool_], cutoff: Cutoff = None) -> Blocks:
    """Return the blocks with chosen documents; the cut-off is one for all, or one per topic."""
    ties = run.ties or TieBlocks(run.rank, np.ones_like(run.rank))
    inside = ties.size
    if cutoff is not None:
        deepest = cutoff[run.topic] if isinstance(cutoff, np.ndarray) else cutoff
        inside = np.clip(deepest - ties.first + 1, 0, ties.size)
    rows = (chosen & (inside > 0)).nonzero()[0]
    topic, first = run.topic[rows], ties.first[rows]
    new = np.ones(len(rows), np.bool_)
    new[1:] = (topic[1:] != topic[:-1]) | (first[1:] != first[:-1])
    head = new.nonzero()[0]
    return Blocks(
        topic=topic[head], first=first[head], size=ties.size[rows[head]], inside=inside[rows[head]],
        held=np.diff(head, append=len(rows)), head=head, rows=rows,
    )  # fmt: skip
