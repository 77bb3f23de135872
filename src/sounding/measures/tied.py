"""Expected values over all orders of tied documents.

Documents with equal scores form a block, and every order of a block is equally likely. So a value depends
only on where a block starts, how many documents it has, and which grades they have. Kernels made of the sums
in `totals` average them by themselves; this module covers the other measures. Precision, recall, RR, AP and
nDCG follow McSherry and Najork (ECIR 2008), with cut-offs that may fall inside a block; docs/ties.md has all
formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.binary import Norm, relevant_by_norm
from sounding.measures.graded import Scale, accumulate
from sounding.measures.registry import expectation
from sounding.measures.totals import BlockRanks, Blocks, kinds, share, tie_blocks
from sounding.measures.utility import ErrGain, err_chance
from sounding.runs.ranking import Counts, Ranking, Values


@expectation("Success")
def success(run: Ranking, *, k: int | None, rel: float) -> Values:
    """Return the probability that a relevant document is among the first k."""
    return _at_first_hit(run, lambda rank: np.ones(len(rank)), k, rel)


@expectation("RR")
def reciprocal_rank(run: Ranking, *, k: int | None, rel: float) -> Values:
    """Return the mean 1 / rank of the first relevant document, over its possible ranks."""
    return _at_first_hit(run, lambda rank: 1 / rank, k, rel)


@expectation("AP")
def average_precision(run: Ranking, *, k: int | None, rel: float, norm: Norm) -> Values:
    """Return the expected average precision.

    A relevant document is at the i-th rank of a block of n documents, h of them relevant, with probability h
    / n; above it are then all relevant documents of earlier blocks and (i - 1)(h - 1) / (n - 1) of its own.
    Of the precision (a + (i - 1) b) / (first + i - 1) the part b is the same at every rank, and (a - b first)
    / rank remains.
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
    """Return the average precision of every topic; the geometric mean uses these expected values."""
    return average_precision(run, k=None, rel=rel, norm="a")


@expectation("Bpref")
def binary_preference(run: Ranking, *, rel: float) -> Values:
    """Return Bpref: 0 to n of a block's n judged misses are above a relevant document, equally likely."""
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
    """Return the Bpref of every topic; the geometric mean uses these expected values."""
    return binary_preference(run, rel=rel)


@expectation("BinG")
def binary_gain(run: Ranking, *, rel: float) -> Values:
    """Return the binary gain: 0 to n of a block's n other documents are above, equally likely."""
    blocks = tie_blocks(run, run.grade >= rel)
    misses = blocks.size - blocks.held
    before = blocks.first - 1 - blocks.above(blocks.held)
    steps = replace(blocks, first=before + 2, inside=misses + 1, size=misses + 1)
    return share(
        run.total(blocks.topic, blocks.held * steps.mean_weight(lambda cost: 1 / np.log2(cost))),
        run.relevant(rel),
    )


@expectation("ERR")
def expected_reciprocal_rank(
    run: Ranking,
    *,
    k: int | None,
    max_rel: float | None,
    rel: float | None,
    gain: ErrGain,
    scale: Scale,
) -> Values:
    """Return ERR: 1 / rank weighted with the probability that the reader stops there, over all orders."""
    satisfied = err_chance(run.judgments, run.topic, run.grade, max_rel, rel, gain, scale)
    topic, rank, chance = _stopping(run, satisfied > 0, 1 - satisfied, k)
    return run.total(topic, chance / rank)


def _at_first_hit(run: Ranking, weight: Callable[[Counts], Values], k: int | None, rel: float) -> Values:
    """Return the expected weight of the rank of the first relevant document; 0 below the cut-off."""
    blocks = tie_blocks(run, run.grade >= rel, k)
    leading = blocks.nth() == 1
    shape = [column[leading] for column in (blocks.first, blocks.inside, blocks.size, blocks.held)]
    sample, kind = kinds(*shape)
    first, inside, size, held = (column[sample] for column in shape)
    places = BlockRanks.of(first, inside)
    hits, left = held[places.block], size[places.block] - places.nth + 1
    none_yet = accumulate(np.multiply, np.maximum(left - hits, 0) / left, places.nth)
    chance = places.one_rank_up(none_yet) * hits / left
    return run.total(blocks.topic[leading], places.gathered(chance * weight(places.rank))[kind])


def _stopping(
    run: Ranking, chosen: NDArray[np.bool_], passing: Values, k: int | None
) -> tuple[Counts, Counts, Values]:
    """Return topics and ranks where a reader may stop, and the probability of stopping there.

    The reader goes on after a chosen document with its probability `passing`, and after any other one.
    Stopping at the i-th rank of a block means passing i - 1 of its documents but not the next. The
    probability of passing i is the mean, over all choices of i documents, of the product of their
    probabilities. If M(n, i) is this mean for n documents and a document of probability x joins them,

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
    """Drop the ranks of blocks that a reader reaches with probability below 1e-18.

    By Maclaurin's inequality the probability of passing i documents is at most the i-th power of the mean
    probability of passing one.
    """
    mean = np.clip(1 - blocks.gathered(1 - passing) / blocks.size, 1e-18, 1)
    needed = np.ceil(np.divide(np.log(1e-18), np.log(mean), out=np.full(len(mean), np.inf), where=mean < 1))
    return replace(blocks, inside=np.minimum(blocks.inside, np.maximum(needed, 1)).astype(np.int64))


def _passed_before(blocks: Blocks, passing: Values) -> Values:
    """Return the probability of passing all earlier blocks of the topic, for each block."""
    if not len(blocks.head):
        return np.zeros(0)
    nth = blocks.nth()
    through = np.roll(accumulate(np.multiply, np.multiply.reduceat(passing, blocks.head), nth), 1)
    through[nth == 1] = 1
    return through
