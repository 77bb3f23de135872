"""Expected values over all orders of tied documents: what a measure is worth when ties mean nothing.

Documents with one score form a block, and every order of a block is equally likely. All that a value
can then depend on is where a block starts, how many documents it has, and which grades it holds.
Precision, recall, RR, AP and nDCG follow McSherry and Najork (ECIR 2008), with cut-offs that may fall
inside a block; docs/ties.md has the formulas of these and the others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures import sets, utility
from sounding.measures.binary import Norm, multiple_of_relevant, relevant_by_norm, share
from sounding.measures.graded import Dcg, DcgForm, Gains, Scale, ideal_dcg_of, running
from sounding.measures.registry import definitions, expectation
from sounding.measures.utility import err_chance, gains_above_zero, insq_weights, rank_numbers, rbp_gain
from sounding.runs.ranking import Counts, Ranking, TieBlocks, Values


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BlockRanks:
    """The ranks that blocks take up above the cut-off; every block has at least one."""

    block: Counts
    rank: Counts  # from 1
    nth: Counts  # from 1: how far into its block
    head: Counts  # (block,) where its ranks begin

    @staticmethod
    def of(first: Counts, inside: Counts) -> BlockRanks:
        """The ranks of blocks that begin at a rank and have so many."""
        block = np.repeat(np.arange(len(inside)), inside)
        head = np.cumsum(inside) - inside
        nth = np.arange(1, len(block) + 1) - head[block]
        return BlockRanks(block=block, rank=first[block] + nth - 1, nth=nth, head=head)

    def gathered(self, weight: Values) -> Values:
        """The sum of `weight` over the ranks of each block."""
        return np.add.reduceat(weight, self.head) if len(self.head) else np.zeros(0)

    def one_rank_up(self, chance: Values) -> Values:
        """The chance that held one rank above in the same block; nothing was against it before the first."""
        above = np.roll(chance, 1)
        above[self.head] = 1
        return above


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Blocks:
    """The tie blocks that hold some chosen documents and begin above the cut-off, in rank order."""

    topic: Counts
    first: Counts  # rank of the first document
    size: Counts  # all documents, chosen or not
    inside: Counts  # how many of its ranks lie above the cut-off; at least 1
    held: Counts  # how many of its documents are chosen; at least 1
    head: Counts  # where its chosen documents begin
    rows: Counts  # (chosen document,) which of the ranking's documents it is

    def nth(self) -> Counts:
        """From 1: how many blocks the topic has down to each."""
        return np.arange(1, len(self.topic) + 1) - np.searchsorted(self.topic, self.topic)

    def above(self, amount: Counts) -> Counts:
        """The sum of `amount` over the blocks that a topic has before each block."""
        before = np.cumsum(amount) - amount
        return before - before[np.searchsorted(self.topic, self.topic)]

    def gathered(self, weight: Values) -> Values:
        """The sum over the chosen documents of each block; `weight` has all of the ranking's documents."""
        return np.add.reduceat(weight[self.rows], self.head) if len(self.head) else np.zeros(0)

    def places(self) -> BlockRanks:
        """The ranks of every block down to the cut-off."""
        return BlockRanks.of(self.first, self.inside)

    def mean_weight(self, weight: Callable[[Counts], Values]) -> Values:
        """What a rank of each block weighs on average; ranks below the cut-off weigh nothing."""
        sample, kind = _kinds(self.first, self.inside)
        places = BlockRanks.of(self.first[sample], self.inside[sample])
        return places.gathered(weight(places.rank))[kind] / self.size


def _kinds(*columns: Counts) -> tuple[Counts, Counts]:
    """One row of each kind of rows, and the kind of every row: those of one kind agree in all columns.

    A constant scorer has one block a topic, as long as the ranking, and all topics share its ranks.
    """
    order = np.lexsort(columns)
    new = np.ones(len(order), np.bool_)
    new[1:] = np.any([np.diff(column[order]) != 0 for column in columns], axis=0)
    kind = np.empty(len(order), np.int64)
    kind[order] = np.cumsum(new) - 1
    return order[new], kind


def tie_blocks(run: Ranking, chosen: NDArray[np.bool_], cutoff: Counts | int | None = None) -> Blocks:
    """The blocks that hold documents where `chosen` is true; the cut-off is one for all, or one a topic."""
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


@expectation("P")
def precision(run: Ranking, *, k: int, rel: float) -> Values:
    """Precision: the relevant documents of a block are spread evenly over its ranks."""
    return _found(run, run.grade >= rel, k) / k


@expectation("R")
def recall(run: Ranking, *, k: int, rel: float) -> Values:
    """Recall, from the expected count that precision has."""
    return share(_found(run, run.grade >= rel, k), run.relevant(rel))


@expectation("RelP")
def relative_precision(run: Ranking, *, k: int, rel: float) -> Values:
    """Relative precision, from the expected count that precision has."""
    return share(_found(run, run.grade >= rel, k), np.minimum(k, run.relevant(rel)))


@expectation("F")
def f_measure(run: Ranking, *, k: int, rel: float, beta: float) -> Values:
    """F at k, from the expected count that precision has."""
    weighed = beta * run.relevant(rel).astype(np.float64)
    return share((beta + 1) * _found(run, run.grade >= rel, k), weighed + k)


@expectation("NumRelRet")
def number_relevant_retrieved(run: Ranking, *, k: int | None, rel: float) -> Values:
    """The expected count itself."""
    return _found(run, run.grade >= rel, k)


@expectation("Rprec")
def r_precision(run: Ranking, *, rel: float) -> Values:
    """Precision at R."""
    return _precision_above(run, run.relevant(rel), rel)


@expectation("RprecMult")
def r_precision_multiple(run: Ranking, *, x: float, rel: float) -> Values:
    """Precision at a multiple of R."""
    return _precision_above(run, multiple_of_relevant(run, x, rel), rel)


@expectation("Judged")
def judged(run: Ranking, *, k: int | None) -> Values:
    """Judged share: judged documents are spread evenly as relevant ones are."""
    looked_at = run.retrieved if k is None else np.minimum(run.retrieved, k)
    return share(_found(run, np.ones_like(run.grade, np.bool_), k), looked_at)


@expectation("Unjudged")
def unjudged(run: Ranking, *, k: int) -> Values:
    """Unjudged share, from what the expected count of judged documents leaves."""
    return (np.minimum(run.retrieved, k) - _found(run, np.ones_like(run.grade, np.bool_), k)) / k


@expectation("Success")
def success(run: Ranking, *, k: int | None, rel: float) -> Values:
    """Chance that a relevant document is among the first k."""
    return _at_first_hit(run, lambda rank: np.ones(len(rank)), k, rel)


@expectation("RR")
def reciprocal_rank(run: Ranking, *, k: int | None, rel: float) -> Values:
    """Reciprocal rank: each rank by the chance that the first relevant document stands there."""
    return _at_first_hit(run, lambda rank: 1 / rank, k, rel)


@expectation("AP")
def average_precision(run: Ranking, *, k: int | None, rel: float, norm: Norm) -> Values:
    """Average precision.

    A relevant document is at the i-th rank of a block of n documents, h of them relevant, with chance
    h / n; above it are then all relevant documents of the blocks before and (i - 1)(h - 1) / (n - 1)
    of its own. Of the precision (a + (i - 1) b) / (first + i - 1) the part b is the same at every rank,
    and (a - b first) / rank remains.
    """
    blocks = tie_blocks(run, run.grade >= rel, k)
    neighbors = (blocks.held - 1) / np.maximum(blocks.size - 1, 1)
    others = blocks.above(blocks.held) + 1 - neighbors * blocks.first
    reciprocal = blocks.mean_weight(lambda rank: 1 / rank)
    precision = neighbors * (blocks.inside / blocks.size) + others * reciprocal
    gained = run.total(blocks.topic, blocks.held * precision)
    return share(gained, relevant_by_norm(run, k, rel, norm, "AP"))


@expectation("GMAP")
def geometric_mean_average_precision(run: Ranking, *, rel: float) -> Values:
    """Average precision of every topic; the geometric mean is taken of these expected values."""
    return average_precision(run, k=None, rel=rel, norm="a")


@expectation("Bpref")
def binary_preference(run: Ranking, *, rel: float) -> Values:
    """Bpref: 0 to n of a block's n judged misses stand above a relevant document, all as likely."""
    relevant = run.relevant(rel)
    blocks = tie_blocks(run, np.ones_like(run.grade, np.bool_))
    hits = blocks.gathered((run.grade >= rel).astype(np.float64)).astype(np.int64)
    misses = blocks.held - hits
    before = blocks.above(misses)
    limit = relevant[blocks.topic]
    # The mean of min(before + j, limit) for j = 0 .. misses: the first `rising` are below the limit.
    rising = np.clip(limit - before, 0, misses + 1)
    summed = rising * before + rising * (rising - 1) / 2 + (misses + 1 - rising) * limit
    nonrelevant = (run.judgments.judged - relevant)[blocks.topic]
    preferred = 1 - share(summed / (misses + 1), np.minimum(nonrelevant, limit))
    return share(run.total(blocks.topic, hits * preferred), relevant)


@expectation("GMBpref")
def geometric_mean_binary_preference(run: Ranking, *, rel: float) -> Values:
    """Bpref of every topic; the geometric mean is taken of these expected values."""
    return binary_preference(run, rel=rel)


@expectation("BinG")
def binary_gain(run: Ranking, *, rel: float) -> Values:
    """Binary gain: 0 to n of a block's n other documents stand above a relevant one, all as likely."""
    blocks = tie_blocks(run, run.grade >= rel)
    misses = blocks.size - blocks.held
    before = blocks.first - 1 - blocks.above(blocks.held)
    steps = replace(blocks, first=before + 2, inside=misses + 1, size=misses + 1)
    return share(
        run.total(blocks.topic, blocks.held * steps.mean_weight(lambda cost: 1 / np.log2(cost))),
        run.relevant(rel),
    )


@expectation("nDCG")
def normalized_discounted_cumulative_gain(
    run: Ranking, *, k: int | None, dcg: Dcg, gains: Gains | None, rel: float | None, norm: Literal["a", "b"]
) -> Values:
    """nDCG: DCG over the same ideal, which has no ties to average."""
    form = DcgForm(dcg, gains, rel)
    return share(_dcg(run, k, form), ideal_dcg_of(run.judgments, k, form, norm))


@expectation("DCG")
def discounted_cumulative_gain(
    run: Ranking, *, k: int | None, dcg: Dcg, gains: Gains | None, rel: float | None
) -> Values:
    """DCG: every gain of a block has the mean discount of the block's ranks."""
    return _dcg(run, k, DcgForm(dcg, gains, rel))


@expectation("SDCG")
def scaled_discounted_cumulative_gain(
    run: Ranking, *, k: int, dcg: Literal["log2", "zipf", "jk"], min_rel: float, max_rel: float | None
) -> Values:
    """Scaled DCG, with mean discounts as DCG."""
    return _fixed_weights(run, DcgForm(dcg).discount(rank_numbers(k)), min_rel, max_rel)


@expectation("INSQ")
def insq(
    run: Ranking,
    *,
    k: int,
    T: float,  # noqa: N803
    min_rel: float,
    max_rel: float | None,
) -> Values:
    """INSQ: every gain of a block has the mean weight of the block's ranks."""
    return _fixed_weights(run, insq_weights(k, T), min_rel, max_rel)


@expectation("RBP")
def rank_biased_precision(
    run: Ranking,
    *,
    k: int | None,
    p: float,
    rel: float | None,
    gain: Literal["linear", "exponential"],
    gains: Gains | None,
    scale: Scale,
) -> Values:
    """RBP: every gain of a block has the mean weight of the block's ranks."""
    worth = rbp_gain(run.judgments, run.grade, rel, gain, gains, run.topic if scale == "topic" else None)
    return _weighed(run, worth, _chance_to_reach(p), k) * (1 - p)


@expectation("RBPResidual")
def rank_biased_precision_residual(
    run: Ranking, *, k: int | None, p: float, part: Literal["both", "unjudged", "tail"]
) -> Values:
    """RBP's residual: every judged document of a block takes away the mean weight of the block's ranks."""
    tail = utility.rank_biased_precision_residual(run, k=k, p=p, part="tail")
    if part == "tail":
        return tail
    judged = _weighed(run, np.ones_like(run.grade), _chance_to_reach(p), k) * (1 - p)
    unjudged = np.maximum(1 - tail - judged, 0)  # rounding can make it less
    return unjudged if part == "unjudged" else unjudged + tail


@expectation("ERR")
def expected_reciprocal_rank(
    run: Ranking,
    *,
    k: int | None,
    max_rel: float | None,
    gain: Literal["exponential", "linear"],
    scale: Scale,
) -> Values:
    """ERR: each rank by the chance that the reader stops there, whatever the order."""
    satisfied = err_chance(run.judgments, run.topic, run.grade, max_rel, gain, scale)
    topic, rank, chance = _stopping(run, run.grade > 0, 1 - satisfied, k)
    return run.total(topic, chance / rank)


def _found(run: Ranking, chosen: NDArray[np.bool_], cutoff: Counts | int | None) -> Values:
    """How many of the chosen documents are above the cut-off, for every topic."""
    blocks = tie_blocks(run, chosen, cutoff)
    return run.total(blocks.topic, blocks.held * (blocks.inside / blocks.size))


def _precision_above(run: Ranking, depth: Counts, rel: float) -> Values:
    """Precision at a depth of each topic's own."""
    return share(_found(run, run.grade >= rel, depth), depth)


def _weighed(run: Ranking, gain: Values, weight: Callable[[Counts], Values], k: int | None) -> Values:
    """The sum over documents of gain times weight of the rank, for every topic."""
    blocks = tie_blocks(run, gain != 0, k)
    return run.total(blocks.topic, blocks.gathered(gain) * blocks.mean_weight(weight))


def _dcg(run: Ranking, k: int | None, form: DcgForm) -> Values:
    """Sum of the discounted gains of the first k documents, for every topic."""
    return _weighed(run, form.gain(run.grade), form.discount, k)


def _chance_to_reach(p: float) -> Callable[[Counts], Values]:
    """How likely a reader gets to a rank who goes on to the next one with chance p."""
    return lambda rank: np.power(p, rank - 1, dtype=np.float64)


def _fixed_weights(run: Ranking, weight: Values, min_rel: float, max_rel: float | None) -> Values:
    """Mean gain of the first ranks when each has a weight of its own."""
    # Numbered by row instead of rank, the documents that gain something say which rows they are.
    numbered = replace(run, rank=np.arange(1, len(run.rank) + 1))
    hit, gain = gains_above_zero(numbered, len(run.rank), min_rel, max_rel)
    gains = np.zeros(len(run.rank))
    gains[hit.rank - 1] = gain
    return _weighed(run, gains, lambda rank: weight[rank - 1], len(weight)) / weight.sum()


def _at_first_hit(run: Ranking, weight: Callable[[Counts], Values], k: int | None, rel: float) -> Values:
    """The weight of the rank of the first relevant document, for every topic; 0 below the cut-off."""
    blocks = tie_blocks(run, run.grade >= rel, k)
    leading = blocks.nth() == 1
    shape = [column[leading] for column in (blocks.first, blocks.inside, blocks.size, blocks.held)]
    sample, kind = _kinds(*shape)
    first, inside, size, held = (column[sample] for column in shape)
    places = BlockRanks.of(first, inside)
    hits, left = held[places.block], size[places.block] - places.nth + 1
    none_yet = running(np.multiply, np.maximum(left - hits, 0) / left, places.nth)
    chance = places.one_rank_up(none_yet) * hits / left
    return run.total(blocks.topic[leading], places.gathered(chance * weight(places.rank))[kind])


def _stopping(
    run: Ranking, chosen: NDArray[np.bool_], passing: Values, k: int | None
) -> tuple[Counts, Counts, Values]:
    """Topics and ranks where a reader may stop, and the chance that it happens there.

    The reader goes on after a chosen document with its chance `passing`, and after any other one.
    Stopping at the i-th rank of a block is to pass i - 1 of its documents and not the next. The chance
    to pass i is the mean, over all choices of i documents, of the product of their chances. Where
    M(n, i) is this mean for n documents and a document of chance x joins them,

        M(n + 1, i) = (1 - i / (n + 1)) M(n, i) + i / (n + 1) x M(n, i - 1)

    Every step is a mean of numbers between 0 and 1, so blocks of any size keep their precision.
    """
    blocks = _as_far_as_read(tie_blocks(run, chosen, k), passing)
    places = blocks.places()
    passing = passing[blocks.rows]
    passed = np.ones(len(places.rank))
    rows = np.arange(len(passed))
    for joining in range(int(blocks.held.max(initial=0))):
        rows = rows[blocks.held[places.block[rows]] > joining]
        block = places.block[rows]
        documents = blocks.size[block] - blocks.held[block] + joining + 1
        taken = np.minimum(places.nth[rows] / documents, 1)
        joined = passing[blocks.head[block] + joining] * places.one_rank_up(passed)[rows]
        passed[rows] = (1 - taken) * passed[rows] + taken * joined
    chance = _passed_before(blocks, passing)[places.block] * (places.one_rank_up(passed) - passed)
    return blocks.topic[places.block], places.rank, chance


def _as_far_as_read(blocks: Blocks, passing: Values) -> Blocks:
    """The blocks without the ranks that a reader gets to with a chance below 1e-18.

    By Maclaurin's inequality the chance to pass i documents is at most the i-th power of the mean
    chance to pass one.
    """
    mean = np.clip(1 - blocks.gathered(1 - passing) / blocks.size, 1e-18, 1)
    needed = np.ceil(np.divide(np.log(1e-18), np.log(mean), out=np.full(len(mean), np.inf), where=mean < 1))
    return replace(blocks, inside=np.minimum(blocks.inside, np.maximum(needed, 1)).astype(np.int64))


def _passed_before(blocks: Blocks, passing: Values) -> Values:
    """The chance to pass all blocks that a topic has before each block."""
    if not len(blocks.head):
        return np.zeros(0)
    nth = blocks.nth()
    through = np.roll(running(np.multiply, np.multiply.reduceat(passing, blocks.head), nth), 1)
    through[nth == 1] = 1
    return through


for _known in definitions():
    if _known.kernel.__module__ == sets.__name__:  # the order does not count: each is its own mean
        expectation(_known.name)(_known.kernel)
