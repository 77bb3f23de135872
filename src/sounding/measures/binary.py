"""Binary measures, which only ask whether a document is relevant: judged `rel` or better.

R is the number of relevant documents of a topic, retrieved or not. Definitions are trec_eval's unless a
docstring says otherwise; a topic with R = 0 gives 0 wherever R divides.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.registry import measure
from sounding.measures.totals import Cutoff, count_relevant, count_retrieved, deepest, share, total
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

Norm = Literal["a", "b", "c"]


@measure("P", basis="utility", monotone=True, additive=True, handles_ties=True, handles_cuts=True)
def precision(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Share of the first k documents that are relevant.

    Missing documents of a short ranking count as misses.
    """
    return count_relevant(run, rel, k) / k


@measure(
    "R", basis="recall", monotone=False, monotone_in_k=True, additive=True,
    handles_ties=True, handles_cuts=True,
)  # fmt: skip
def recall(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Share of the relevant documents that are among the first k."""
    return share(count_relevant(run, rel, k), run.relevant(rel))


@measure("RelP", basis="recall", monotone=False, additive=True, handles_ties=True, handles_cuts=True)
def relative_precision(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Precision at k relative to the best possible: relevant documents among the first k, by min(k, R)."""
    return share(count_relevant(run, rel, k), np.minimum(k, run.relevant(rel)))


@measure("F", basis="recall", monotone=False, additive=True, handles_ties=True, handles_cuts=True)
def f_measure(run: Ranking, *, k: int, rel: float = 1, beta: float = 1.0) -> Values:
    """Weighted harmonic mean of P and R at k: (beta + 1) P R / (beta P + R).

    Precision is divided by k even if the ranking is shorter, as in P. beta itself weights recall, as in SetF.
    """
    weighed = beta * run.relevant(rel).astype(np.float64)
    return share((beta + 1) * count_relevant(run, rel, k), weighed + k)


@measure("Success", basis="utility", monotone=True, monotone_in_k=True, handles_cuts=True)
def success(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """1 if a relevant document is among the first k (without k: anywhere), otherwise 0."""
    hit = run.hits(rel, deepest(k))
    first = hit.nth == 1
    return total(run, hit.topic[first], hit.rank[first], None, k)


@measure("RR", basis="utility", monotone=True, monotone_in_k=True, handles_cuts=True)
def reciprocal_rank(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """1 / rank of the first relevant document; 0 if none is among the first k."""
    hit = run.hits(rel, deepest(k))
    first = hit.nth == 1
    return total(run, hit.topic[first], hit.rank[first], 1 / hit.rank[first], k)


@measure("AP", basis="recall", monotone=False, monotone_in_k=True, handles_cuts=True)
def average_precision(run: Ranking, *, k: int | None = None, rel: float = 1, norm: Norm = "a") -> Values:
    """Mean of the precision at each relevant document; those not among the first k count 0.

    The sum is divided by (Lu, Moffat & Culpepper 2016, Table 2):

    - norm 'a': R, like trec_eval's map and map_cut;
    - norm 'b': min(k, R), so that a perfect top k gives 1;
    - norm 'c': R_k, the number of relevant documents in a pool of depth k. It needs the pool ranks of
      the judgments, and can exceed 1 for a run that did not contribute to the pool.

    The claims about AP's range and about deeper cut-offs hold for norm 'a'.
    """
    hit = run.hits(rel, deepest(k))
    precisions = total(run, hit.topic, hit.rank, hit.nth / hit.rank, k)
    return share(precisions, relevant_by_norm(run, k, rel, norm, "AP"))


@measure("GMAP", basis="recall", monotone=False, aggregate="geometric", shown="summary")
def geometric_mean_average_precision(run: Ranking, *, rel: float = 1) -> Values:
    """AP of every topic, summarized by the geometric mean; values below 0.00001 count as 0.00001."""
    return average_precision(run, rel=rel)


@measure("Yaap", basis="recall", monotone=False, bounds=(-np.inf, np.inf))
def yet_another_average_precision(run: Ranking, *, rel: float = 1) -> Values:
    """Log-odds form of AP: ln((1 + s) / (1 + R - s)), where s sums the precision at relevant documents.

    It lies between -ln(1 + R) and ln(1 + R) (Robertson 2012).
    """
    hit = run.hits(rel)
    gained = run.total(hit.topic, hit.nth / hit.rank)
    return np.log((1 + gained) / (1 + run.relevant(rel) - gained))


@measure("Rprec", basis="recall", monotone=False, additive=True, handles_ties=True)
def r_precision(run: Ranking, *, rel: float = 1) -> Values:
    """Share of the first R documents that are relevant."""
    depth = run.relevant(rel)
    return share(count_relevant(run, rel, depth), depth)


@measure("RprecMult", basis="recall", monotone=False, additive=True, at="x", handles_ties=True)
def r_precision_multiple(run: Ranking, *, x: float, rel: float = 1) -> Values:
    """Precision at rank x times R, rounded up unless the fraction is below 0.1.

    0 if that rank is 0.
    """
    depth = (x * run.relevant(rel) + 0.9).astype(np.int64)
    return share(count_relevant(run, rel, depth), depth)


@measure("Bpref", basis="recall", monotone=False, counts_nonrelevant=True)
def binary_preference(run: Ranking, *, rel: float = 1) -> Values:
    """Share of judged (relevant, not relevant) pairs that are in the right order.

    Unjudged documents are ignored.

    The mean over the relevant documents of 1 - min(n, R) / min(N, R), where n is the number of judged
    non-relevant documents above and N the number of all of them. A relevant document with none above counts
    1, one that was not retrieved 0 (Buckley & Voorhees 2004, with the minimum that trec_eval takes).
    """
    relevant = run.relevant(rel)
    chosen = run.grade >= rel
    hit = run.select(chosen)
    judged_so_far = chosen.nonzero()[0] + 1 - run.starts.take(hit.topic)
    limit = relevant[hit.topic]
    above = np.minimum(judged_so_far - hit.nth, limit)
    nonrelevant = (run.judgments.judged - relevant)[hit.topic]
    return share(run.total(hit.topic, 1 - share(above, np.minimum(nonrelevant, limit))), relevant)


@measure(
    "GMBpref", basis="recall", monotone=False, counts_nonrelevant=True, aggregate="geometric", shown="summary"
)
def geometric_mean_binary_preference(run: Ranking, *, rel: float = 1) -> Values:
    """Bpref of every topic, summarized by the geometric mean; values below 0.00001 count as 0.00001."""
    return binary_preference(run, rel=rel)


@measure("BinG", basis="recall", monotone=False)
def binary_gain(run: Ranking, *, rel: float = 1) -> Values:
    """Mean over the relevant documents of 1 / log2(2 + n), where n non-relevant documents rank above."""
    hit = run.hits(rel)
    return share(run.total(hit.topic, 1 / np.log2(2 + hit.rank - hit.nth)), run.relevant(rel))


@measure("Accuracy", basis="utility", monotone=False, handles_cuts=True)
def pair_accuracy(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Probability that of two retrieved documents, one relevant and one not, the relevant one ranks higher.

    Unjudged documents count as not relevant. 0 if no relevant document is among the first k; 1 if only
    relevant ones are (ir_measures divides by 0 there).
    """
    hit = run.hits(rel, deepest(k))
    relevant = total(run, hit.topic, hit.rank, None, k)
    misplaced = total(run, hit.topic, hit.rank, (hit.rank - hit.nth).astype(np.float64), k)
    pairs = relevant * (count_retrieved(run, k) - relevant)
    return np.where(relevant > 0, 1 - share(misplaced, pairs), 0.0)


@measure("Judged", basis="utility", monotone=True, handles_ties=True, handles_cuts=True)
def judged(run: Ranking, *, k: int | None = None) -> Values:
    """Share of the first k documents, or of all if there are fewer, that were judged.

    0 if nothing was retrieved. Unlike in ir_measures, pooled documents without a judgment (grade -1) are not
    judged.
    """
    return share(count_relevant(run, 0, k), count_retrieved(run, k))


@measure("Unjudged", basis="utility", monotone=False, handles_ties=True, handles_cuts=True)
def unjudged(run: Ranking, *, k: int) -> Values:
    """Number of unjudged documents among the first k, divided by k; ranks past the end are not unjudged."""
    return (count_retrieved(run, k) - count_relevant(run, 0, k)) / k


def ranks_in_pool(judgments: Judgments, k: int | Counts, option: str) -> Counts:
    """(judgment,): Return the pool rank of each; 0 if unknown or not among the first k."""
    depth = len(k) if isinstance(k, np.ndarray) else k
    if judgments.pool_ranks is None:
        raise DataError(
            f"{option} needs the pool of depth {depth}, but these judgments do not say at which rank each"
            " document was pooled; list the pooled runs with --info FILE, or give qrels with pool ranks (a"
            " pool_rank column)"
        )
    return judgments.pool_ranks * (judgments.pool_ranks <= depth)


def relevant_by_norm(run: Ranking, k: Cutoff, rel: float, norm: Norm, name: str) -> Values | Counts:
    """Return the divisor of a truncated measure: R, min(k, R), or R_k relevant documents."""
    relevant = run.relevant(rel)
    if norm == "a" or k is None:
        return relevant
    if norm == "b":
        return np.minimum(relevant, k)
    judgments = run.judgments
    ranks = ranks_in_pool(judgments, k, f"{name} with norm='c'")
    pooled = (ranks > 0) & (judgments.grades >= rel)
    return total(run, judgments.topic[pooled], ranks[pooled], None, k)
