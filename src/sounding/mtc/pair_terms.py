"""How much pairs of documents add to the covariance of two runs' AP: set up once, then kept up to date.

For runs a and b it is the sum over pairs of documents i, j of v_i v_j a_ij b_ij, where v is the variance of a
document's relevance and a_ij = 1 / (rank of the lower one in run a). In a's order of the documents that both
have, that is a sum over j of v_j / rank of j, times the sum over documents i above j of v_i min(b_i, b_j).
"""

from __future__ import annotations

import numpy as np

from sounding.arrays import NDArray
from sounding.mtc.lists import ByRank, TopicLists
from sounding.ranking import Counts, Values

Matrix = NDArray[np.float64]  # (run, run)

_WIDTH = 512  # pairs of runs looked at in one go: what fits the cache is faster


def pair_terms(lists: TopicLists, weights: Values, spread: Values) -> Matrix:
    """The terms of all pairs of runs; `weights` fall with the rank, `spread` has one more 0 at its end."""
    runs = len(lists.places)
    inverse = weights * lists.filled
    if len(lists.shared) and runs > 1:
        terms = _between_runs(lists, weights, inverse, spread)
    else:
        terms = np.zeros((runs, runs))
    own = spread[lists.places]
    np.fill_diagonal(terms, (own * inverse**2 * (np.cumsum(own, axis=1) - own)).sum(axis=1))
    return terms


def _between_runs(lists: TopicLists, weights: Values, inverse: ByRank, spread: Values) -> Matrix:
    """The terms of two different runs; pairs that share most come first, so that a step is a prefix."""
    runs = len(lists.places)
    first, second, count, other, rank = _shared_documents(lists, inverse)
    pair = np.repeat(np.arange(len(count)), count)
    own = spread[lists.places[first[pair], rank]]
    order = np.argsort(-count, kind="stable")
    column = np.empty_like(order)
    column[order] = np.arange(len(count))
    row = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count, count)
    count = count[order]
    table = np.zeros((3, int(count[0]), len(count)))
    table[:, row, column[pair]] = other, own, own * weights[rank]
    total = np.zeros(len(count))
    for begin in range(0, int(np.count_nonzero(count)), _WIDTH):
        part = table[:, : count[begin], begin : begin + _WIDTH]
        total[begin : begin + _WIDTH] = _sum_over_documents(part, count[begin : begin + _WIDTH])
    terms = np.zeros((runs, runs))
    terms[first[order], second[order]] = total
    return terms + terms.T


def _shared_documents(lists: TopicLists, inverse: ByRank) -> tuple[Counts, Counts, Counts, Values, Counts]:
    """Pairs of runs (first, second), how many documents they share, and one row for each of these.

    A row has the second run's weight of the document and its rank in the first, in whose order rows stand.
    """
    runs = len(lists.places)
    weight = np.zeros((runs, lists.size + 1))
    np.put_along_axis(weight, lists.places, inverse, axis=1)
    weight[:, -1] = 0
    counts, others, ranks = [], [], []
    for run in range(runs - 1):
        found = weight[run + 1 :].take(lists.places[run], axis=1)
        place = found.nonzero()
        counts.append(np.count_nonzero(found, axis=1))
        others.append(found[place])
        ranks.append(place[1])
    first, second = np.triu_indices(runs, 1)
    return first, second, np.concatenate(counts), np.concatenate(others), np.concatenate(ranks)


def _sum_over_documents(part: NDArray[np.float64], count: Counts) -> Values:
    """(column,) the sum over rows j of weight_j times the sum over rows i above of v_i min(b_i, b_j)."""
    other, spread, weight = (np.ascontiguousarray(table) for table in part)
    least = np.empty_like(other)
    total = np.zeros(len(count))
    width = np.searchsorted(-count, -np.arange(len(other)), side="left")
    for row in range(1, len(other)):
        end = width[row]
        above = np.minimum(other[:row, :end], other[row, :end], out=least[:row, :end])
        total[:end] += weight[row, :end] * np.einsum("ij,ij->j", above, spread[:row, :end])
    return total


def without_document(
    terms: Matrix, lists: TopicLists, weights: Values, spread: Values, document: int
) -> Matrix:
    """The terms once this document is certain; `spread` is still that of before."""
    runs, ranks = lists.holders(document)
    share = np.minimum(weights[ranks][:, np.newaxis], weights) * lists.filled[runs]
    share[np.arange(len(runs)), ranks] = 0
    own = spread[lists.places[runs]]
    alone = (share * share * own).sum(axis=1)
    result = terms.copy()
    if len(runs) > 1:
        every = np.zeros((len(terms), share.shape[1]))
        every[runs] = share * np.sqrt(own)
        table = lists.by_shared_document(every)[runs]
        both = table @ table.T
        np.fill_diagonal(both, alone)
        result[np.ix_(runs, runs)] -= spread[document] * both
    else:
        result[runs, runs] -= spread[document] * alone
    return result
