"""Measures that ask only whether a document is relevant: judged `rel` or better.

R stands for the number of relevant documents that a topic has, retrieved or not. Definitions are
trec_eval's unless a docstring says otherwise; a topic with R = 0 gives 0 wherever R divides.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures.registry import measure
from sounding.runs.ranking import Counts, Hits, Judgments, Ranking, Values

Norm = Literal["a", "b", "c"]


def share(gained: Values | Counts, possible: Values | Counts) -> Values:
    """The quotient; 0 where nothing was possible, as trec_eval says (such topics are counted apart)."""
    return np.divide(gained, possible, out=np.zeros(len(gained)), where=np.asarray(possible) > 0)


@measure("P", basis="utility", monotone=True, additive=True)
def precision(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Share of the first k documents that are relevant; a short ranking is filled up with misses."""
    return run.total(run.hits(rel, k).topic) / k


@measure("R", basis="recall", monotone=False, monotone_in_k=True, additive=True)
def recall(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Share of the relevant documents that are among the first k."""
    return share(run.total(run.hits(rel, k).topic), run.relevant(rel))


@measure("RelP", basis="recall", monotone=False, additive=True)
def relative_precision(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Precision at k as a share of the best possible: relevant among the first k, by min(k, R)."""
    return share(run.total(run.hits(rel, k).topic), np.minimum(k, run.relevant(rel)))


@measure("F", basis="recall", monotone=False, additive=True)
def f_measure(run: Ranking, *, k: int, rel: float = 1, beta: float = 1.0) -> Values:
    """Weighted harmonic mean of P and R at k: (beta + 1) P R / (beta P + R).

    Precision is divided by k, however short the ranking, as in P. beta itself weighs recall, as in SetF.
    """
    weighed = beta * run.relevant(rel).astype(np.float64)
    return share((beta + 1) * run.total(run.hits(rel, k).topic), weighed + k)


@measure("Success", basis="utility", monotone=True, monotone_in_k=True)
def success(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """1 where a relevant document is among the first k, or anywhere without k, otherwise 0."""
    hit = run.hits(rel, k)
    return run.total(hit.topic[hit.nth == 1])


@measure("RR", basis="utility", monotone=True, monotone_in_k=True)
def reciprocal_rank(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """1 / rank of the first relevant document; 0 where none is among the first k."""
    hit = run.hits(rel, k)
    first = hit.nth == 1
    return run.total(hit.topic[first], 1 / hit.rank[first])


@measure("AP", basis="recall", monotone=False, monotone_in_k=True)
def average_precision(run: Ranking, *, k: int | None = None, rel: float = 1, norm: Norm = "a") -> Values:
    """Mean of the precisions at the relevant documents; one that is not among the first k adds 0.

    The sum is divided by (Lu, Moffat & Culpepper 2016, Table 2):

    - norm 'a': R, as trec_eval's map and map_cut do;
    - norm 'b': min(k, R), so that a perfect top k gives 1;
    - norm 'c': R_k, the relevant documents that a pool of depth k held. It needs the pool ranks of
      the judgments, and can exceed 1 for a run that did not contribute to the pool.

    What is claimed of AP's range and of deeper cut-offs holds for 'a'.
    """
    return share(_precisions_at(run, run.hits(rel, k)), relevant_by_norm(run, k, rel, norm, "AP"))


@measure("GMAP", basis="recall", monotone=False, aggregate="geometric", shown="summary")
def geometric_mean_average_precision(run: Ranking, *, rel: float = 1) -> Values:
    """AP of every topic, summarised by its geometric mean; below 0.00001 counts as 0.00001."""
    return average_precision(run, rel=rel)


@measure("Yaap", basis="recall", monotone=False, bounds=(-np.inf, np.inf))
def yet_another_average_precision(run: Ranking, *, rel: float = 1) -> Values:
    """Log odds form of AP: ln((1 + s) / (1 + R - s)), s the sum of the precisions at relevant documents.

    Between -ln(1 + R) and ln(1 + R) (Robertson 2012).
    """
    gained = _precisions_at(run, run.hits(rel))
    return np.log((1 + gained) / (1 + run.relevant(rel) - gained))


@measure("Rprec", basis="recall", monotone=False, additive=True)
def r_precision(run: Ranking, *, rel: float = 1) -> Values:
    """Share of the first R documents that are relevant."""
    return _precision_above(run, run.relevant(rel), rel)


@measure("RprecMult", basis="recall", monotone=False, additive=True, at="x")
def r_precision_multiple(run: Ranking, *, x: float, rel: float = 1) -> Values:
    """Precision at the rank x times R, rounded up unless the part over a whole number is below 0.1.

    0 where that rank is 0.
    """
    return _precision_above(run, multiple_of_relevant(run, x, rel), rel)


@measure("Bpref", basis="recall", monotone=False)
def binary_preference(run: Ranking, *, rel: float = 1) -> Values:
    """Share of judged pairs (relevant, not relevant) that stand in the right order; unjudged are passed over.

    Mean over the relevant documents of 1 - min(n, R) / min(N, R), n the judged non-relevant documents
    above and N all of them; a relevant document with none above counts 1, one not retrieved 0
    (Buckley & Voorhees 2004, with the minimum that trec_eval takes).
    """
    relevant = run.relevant(rel)
    chosen = run.grade >= rel
    hit = run.select(chosen)
    judged_so_far = chosen.nonzero()[0] + 1 - run.starts.take(hit.topic)
    limit = relevant[hit.topic]
    above = np.minimum(judged_so_far - hit.nth, limit)
    nonrelevant = (run.judgments.judged - relevant)[hit.topic]
    return share(run.total(hit.topic, 1 - share(above, np.minimum(nonrelevant, limit))), relevant)


@measure("GMBpref", basis="recall", monotone=False, aggregate="geometric", shown="summary")
def geometric_mean_binary_preference(run: Ranking, *, rel: float = 1) -> Values:
    """Bpref of every topic, summarised by its geometric mean; below 0.00001 counts as 0.00001."""
    return binary_preference(run, rel=rel)


@measure("BinG", basis="recall", monotone=False)
def binary_gain(run: Ranking, *, rel: float = 1) -> Values:
    """Mean over the relevant documents of 1 / log2(2 + documents above that are not relevant)."""
    hit = run.hits(rel)
    return share(run.total(hit.topic, 1 / np.log2(2 + hit.rank - hit.nth)), run.relevant(rel))


@measure("Accuracy", basis="utility", monotone=False)
def pair_accuracy(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Chance that of two retrieved documents, one relevant and one not, the relevant one stands above.

    Unjudged documents count as not relevant. 0 where no relevant document is among the first k; 1 where
    only relevant ones are (ir_measures divides by 0 there).
    """
    hit = run.hits(rel, k)
    found = run.total(hit.topic)
    others = run.retrieved if k is None else np.minimum(run.retrieved, k)
    misplaced = run.total(hit.topic, (hit.rank - hit.nth).astype(np.float64))
    return np.where(found > 0, 1 - share(misplaced, found * (others - found)), 0.0)


@measure("Judged", basis="utility", monotone=True)
def judged(run: Ranking, *, k: int | None = None) -> Values:
    """Share of the first k documents, or of all where there are fewer, that were judged.

    0 where nothing was retrieved. Pooled documents without a judgment (grade -1) are not judged, unlike
    in ir_measures.
    """
    looked_at = run.retrieved if k is None else np.minimum(run.retrieved, k)
    return share(run.judged(k), looked_at)


@measure("Unjudged", basis="utility", monotone=False)
def unjudged(run: Ranking, *, k: int) -> Values:
    """Unjudged documents among the first k, divided by k: ranks past the end are not unjudged."""
    return (np.minimum(run.retrieved, k) - run.judged(k)) / k


def _precisions_at(run: Ranking, hit: Hits) -> Values:
    """The sum of the precisions at these documents, for every topic."""
    return run.total(hit.topic, hit.nth / hit.rank)


def _precision_above(run: Ranking, depth: Counts, rel: float) -> Values:
    """Precision at a depth of each topic's own."""
    return share(run.total(run.topic[(run.grade >= rel) & (run.rank <= depth[run.topic])]), depth)


def multiple_of_relevant(run: Ranking, x: float, rel: float) -> Counts:
    """The rank x times R, rounded as trec_eval's Rprec_mult does."""
    return (x * run.relevant(rel) + 0.9).astype(np.int64)


def pool_of_depth(judgments: Judgments, k: int, option: str) -> NDArray[np.bool_]:
    """Which judged documents some contributing run has among its first k.

    A document whose pool rank is not known (0) is in no pool.
    """
    if judgments.pool_ranks is None:
        raise DataError(
            f"{option} looks at the pool of depth {k}, and these judgments do not say at which rank each"
            " document was pooled; give qrels with pool ranks (a pool_rank column)"
        )
    return (judgments.pool_ranks > 0) & (judgments.pool_ranks <= k)


def relevant_by_norm(run: Ranking, k: int | None, rel: float, norm: Norm, name: str) -> Counts:
    """How many relevant documents a truncated measure is averaged over: R, min(k, R), or R_k."""
    relevant = run.relevant(rel)
    if norm == "a" or k is None:
        return relevant
    if norm == "b":
        return np.minimum(relevant, k)
    judgments = run.judgments
    pooled = pool_of_depth(judgments, k, f"{name} with norm='c'") & (judgments.grades >= rel)
    return np.bincount(judgments.topic[pooled], minlength=len(judgments.topics))
