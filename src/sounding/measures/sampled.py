"""Estimate measures from judgments of a sample of the pool.

The qrels say how many documents a judged one represents: by strata of the pool (size / judged documents of
its stratum), or by the probability with which each document was selected (1 / probability). Documents outside
the pool count as not relevant. docs/sampled-judgments.md has the formulas,
how they differ from the papers' scripts, and how good the estimates are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.graded import Dcg, DcgForm, Gains, accumulate
from sounding.measures.registry import Kernel, Measure, measure
from sounding.measures.totals import share
from sounding.runs.ranking import Counts, Hits, Ranking, Strata, Values

Compat = Literal["none", "sample_eval"]

_EPSILON = 1e-5  # from trec_eval: keeps the quotient defined if nothing above was judged
_LONGEST_RUN = 1000  # from sample_eval: the largest number of documents of a run
_CHOSEN_BY_MTC = (0, 2)  # methods in prels: by MTC only, and by both MTC and sampling
_NUMBER_OF = (0.0, np.inf)


@measure("infAP", basis="recall", monotone=False)
def inferred_average_precision(run: Ranking, *, rel: float = 1) -> Values:
    """AP inferred from judgments of a random sample of the pool.

    A relevant document at rank r adds 1/r + c/r * (h + e) / (j + 2e): of the r - 1 documents above, c are in
    the pool (judged, or grade -1), j were judged and h are relevant; e = 0.00001. Documents outside the pool
    count as not relevant (Yilmaz & Aslam 2006). Prels cannot be used, because they do not list the rest of
    the pool.
    """
    _refuse_without_the_rest(run)
    chosen = run.grade >= rel
    hit = run.select(chosen)
    judged_above = run.select(np.ones_like(chosen)).nth[chosen] - 1
    in_pool = judged_above + _pooled_above(run, hit)
    precision_above = (hit.nth - 1 + _EPSILON) / (judged_above + 2 * _EPSILON)
    above = hit.rank - 1.0
    # In trec_eval's order of operations: a simpler form differs in the last bits.
    pooled_share = np.divide(in_pool, above, out=np.zeros(len(above)), where=above > 0)
    inferred = 1 / hit.rank + above / hit.rank * pooled_share * precision_above
    return share(run.total(hit.topic, inferred), run.relevant(rel))


@measure("xinfAP", basis="recall", monotone=False)
def extended_inferred_average_precision(run: Ranking, *, rel: float = 1, compat: Compat = "none") -> Values:
    """AP inferred from judgments of a stratified sample of the pool.

    A relevant document of a stratum with N documents, n of them judged, counts N / n times. Its precision at
    rank r is inferred as (1 + sum over strata of c * h / j) / r: of the documents above, c are in the
    stratum, j of these were judged and h are relevant. If not all c were judged, h / j becomes (h + e) / (j +
    2e), e = 0.00001. The sum of the precisions is divided by the estimated number of relevant documents
    (Yilmaz, Kanoulas & Aslam 2008). Needs qrels with strata.

    compat 'sample_eval' follows the script: (h + e) / (j + 3e) always, and a divisor of at most 1000, so that
    a value can exceed 1.
    """
    pool = _pool_of(run, "xinfAP")
    gained, relevant = _inferred_sums(run, pool, _above(run, pool, rel), rel, compat)
    return share(gained, relevant)


@measure("infNDCG", basis="recall", monotone=False, bounds=_NUMBER_OF)
def inferred_ndcg(
    run: Ranking,
    *,
    k: int | None = None,
    dcg: Dcg = "log2",
    gains: Gains | None = None,
    rel: float | None = None,
) -> Values:
    """NDCG inferred from judgments of a stratified sample of the pool.

    The discounted gains of the first k documents are summed by stratum, and each sum is multiplied by c / j:
    of the first k documents, c are in the stratum and j were judged. A stratum without judged documents adds
    nothing. The ideal order has the estimated number of documents of each gain; the last one of a gain may be
    a fraction of a document. `dcg`, `gains` and `rel` are as in nDCG. An estimate can exceed 1 (Yilmaz,
    Kanoulas & Aslam 2008). Needs qrels with strata.
    """
    pool = _pool_of(run, "infNDCG")
    form = DcgForm(dcg, gains, rel)
    depth = np.inf if k is None else k
    near, strata = run.rank <= depth, len(pool.strata.sizes)
    judged = np.bincount(pool.documents[near], minlength=strata)
    in_list = judged + np.bincount(pool.pooled[run.pooled_rank <= depth], minlength=strata)
    gained = form.gain(run.grade[near]) * form.discount(run.rank[near])
    stands_for = share(in_list, judged)[pool.documents[near]]
    return share(run.total(run.topic[near], gained * stands_for), _inferred_ideal(run, pool, k, form))


@measure("statAP", basis="recall", monotone=False, bounds=(0.0, np.inf))
def statistical_average_precision(run: Ranking, *, rel: float = 1, certain: bool = False) -> Values:
    """AP estimated from documents that were selected for judging with known probabilities.

    A relevant document counts 1 / probability times, and its precision at rank r is estimated as (1 + sum of
    1 / probability over the relevant documents above) / r; the sum is divided by the estimated number of
    relevant documents (Aslam, Pavlu & Yilmaz 2006; Pavlu & Aslam 2007). An estimate can exceed 1. Needs
    prels, or qrels with strata, whose sampling rates are then the probabilities.

    With `certain`, documents that MTC selected (methods 0 and 2 of prels) have probability 1, as in the
    script of the Million Query tracks.
    """
    weight = _weights_of(run, "statAP", certain=certain)
    hit = _relevant_documents(run, weight, rel)
    return share(run.total(hit.topic, hit.weight * hit.precision), _total_relevant(run, weight, rel))


@measure("EstNumRel", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def estimated_number_relevant(run: Ranking, *, rel: float = 1) -> Values:
    """Estimated number of relevant documents of the topic, retrieved or not: the sum of 1 / probability.

    The Horvitz-Thompson estimator, which is unbiased. Needs prels, or qrels with strata.
    """
    return _total_relevant(run, _weights_of(run, "EstNumRel"), rel)


@measure("EstNumRelRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def estimated_number_relevant_retrieved(run: Ranking, *, rel: float = 1) -> Values:
    """Estimated number of relevant documents retrieved: the sum of 1 / probability.

    The Horvitz-Thompson estimator, which is unbiased. Needs prels, or qrels with strata.
    """
    hit = _relevant_documents(run, _weights_of(run, "EstNumRelRet"), rel)
    return run.total(hit.topic, hit.weight)


def has_standard_error(measure: Measure) -> bool:
    """Return whether the sampling error of a measure is known."""
    return measure.name in _STANDARD_ERRORS


def standard_error(measure: Measure, ranking: Ranking) -> Values:
    """Return the standard error of each topic's estimate, due to judging only a sample."""
    if not has_standard_error(measure):
        known = ", ".join(_STANDARD_ERRORS)
        raise DataError(f"{measure}: sampling errors exist only for {known}")
    return _STANDARD_ERRORS[measure.name](measure.seen(ranking), **measure.arguments)


def interval(measure: Measure, ranking: Ranking, *, confidence: float = 0.95) -> tuple[Values, Values]:
    """Return a confidence interval for the value under complete judgments of the pool."""
    return interval_of(measure(ranking), standard_error(measure, ranking), confidence=confidence)


def interval_of(value: Values, error: Values, *, confidence: float = 0.95) -> tuple[Values, Values]:
    """Return confidence intervals for estimates, or means of them, with known standard errors.

    They are symmetric on a log scale, because the estimates are skewed. NaN if the estimate is 0, because
    nothing then shows the spread.
    """
    from statistics import NormalDist

    reach = np.full(value.shape, np.nan)
    np.divide(NormalDist().inv_cdf((1 + confidence) / 2) * error, value, out=reach, where=value > 0)
    return value * np.exp(-reach), value * np.exp(reach)


def _statistical_ap_error(run: Ranking, *, rel: float, certain: bool) -> Values:
    weight = _weights_of(run, "statAP", certain=certain)
    hit = _relevant_documents(run, weight, rel)
    relevant = _total_relevant(run, weight, rel)
    value = share(run.total(hit.topic, hit.weight * hit.precision), relevant)
    # A document adds its own precision, its share in the precisions below it, and to the divisor.
    part = hit.weight / hit.rank
    below = run.total(hit.topic, part)[hit.topic] - accumulate(np.add, part, hit.nth)
    influence = np.where(run.judgments.grades >= rel, -value[run.judgments.topic], 0.0)
    influence[hit.judgment] += hit.precision + below
    return share(_deviation_of_total(run, influence, weight), relevant)


def _number_relevant_error(run: Ranking, *, rel: float) -> Values:
    influence = (run.judgments.grades >= rel).astype(np.float64)
    return _deviation_of_total(run, influence, _weights_of(run, "EstNumRel"))


def _number_relevant_retrieved_error(run: Ranking, *, rel: float) -> Values:
    weight = _weights_of(run, "EstNumRelRet")
    influence = np.zeros(len(weight))
    influence[_relevant_documents(run, weight, rel).judgment] = 1
    return _deviation_of_total(run, influence, weight)


def _inferred_error(run: Ranking, pool: _Pool, rel: float, compat: Compat) -> Values:
    above = _above(run, pool, rel)
    gained, relevant = _inferred_sums(run, pool, above, rel, compat)
    value = share(gained, relevant)
    found = run.grade >= rel
    influence = np.where(found, -value[run.topic], 0.0)
    influence[above.hits] += _inferred_precisions(run, above, compat)

    # What a judged document adds to c * h / j above a hit: c / j times its relevance minus the h / j of the
    # other judged documents. Including itself would make the spread of few documents too small.
    hit = above.hits[above.hit]
    weight = pool.weight[pool.documents[hit]]
    reach = share(above.in_pool, above.judged * pool.weight[above.stratum]) * weight / run.rank[hit]
    below = _Below(run, pool, above.stratum, run.rank[hit])
    others = above.judged - 1 + 2 * _EPSILON
    if_relevant = below.sums(reach * (1 - (above.relevant - 1 + _EPSILON) / others))
    influence += np.where(found, if_relevant, -below.sums(reach * (above.relevant + _EPSILON) / others))

    judgments, strata = run.judgments, pool.strata
    count = len(strata.sizes)
    missed = np.bincount(strata.judged[judgments.grades >= rel], minlength=count)
    missed -= np.bincount(pool.documents[found], minlength=count)
    topic = _topic_of(strata)
    stratum = np.concatenate([pool.documents, np.repeat(np.arange(count), missed)])
    influence = np.concatenate([influence, np.repeat(-value[topic], missed)])
    return share(_stratified_deviation(run, strata, stratum, influence), relevant)


def _deviation_of_total(run: Ranking, influence: Values, weight: Values) -> Values:
    """Return the standard deviation of the sum of influence * weight over each topic's judged documents.

    Documents of a stratum were drawn together, without replacement; others each by itself.
    """
    sampling = run.judgments.sampling
    if sampling is not None and sampling.probabilities is None and sampling.strata is not None:
        return _stratified_deviation(run, sampling.strata, sampling.strata.judged, influence)
    return np.sqrt(run.total(run.judgments.topic, (weight - 1) * weight * influence**2))


def _stratified_deviation(run: Ranking, strata: Strata, stratum: Counts, influence: Values) -> Values:
    """Return the same for random samples of strata; judged documents that are not listed have no influence.

    The only judged document of a larger stratum shows no spread, so its own size is used.
    """
    count = len(strata.sizes)
    judged = np.bincount(strata.judged, minlength=count)
    unlisted = judged - np.bincount(stratum, minlength=count)
    mean = share(np.bincount(stratum, influence, count), judged)
    mean[judged == 1] = 0
    squares = np.bincount(stratum, (influence - mean[stratum]) ** 2, count) + unlisted * mean**2
    variance = share(strata.sizes * (strata.sizes - judged) * squares, judged * np.maximum(judged - 1, 1))
    return np.sqrt(run.total(_topic_of(strata), variance))


class _Pool(NamedTuple):
    """The strata of the pool, and those of a run's documents."""

    strata: Strata
    weight: Values  # (stratum,) documents that a judged one represents; 0 if none was judged
    documents: Counts  # (document,) the stratum of judged documents
    pooled: Counts  # the stratum of documents that were pooled but not judged


class _Above(NamedTuple):
    """Documents of each stratum above each relevant document of its topic."""

    hits: Counts  # positions of the relevant documents in the ranking
    hit: Counts  # (pair,) index of the relevant document
    stratum: Counts  # (pair,)
    in_pool: Counts  # (pair,) documents of the stratum above
    judged: Counts  # (pair,) of them judged
    relevant: Counts  # (pair,) of those relevant


class _Relevant(NamedTuple):
    """The relevant documents of a ranking, with the number of documents that each represents."""

    judgment: Counts
    topic: Counts
    rank: Counts
    nth: Counts
    weight: Values
    precision: Values  # at its rank, estimated


class _Below:
    """Sums over (relevant document, stratum) pairs below each judged document in its stratum."""

    def __init__(self, run: Ranking, pool: _Pool, stratum: Counts, rank: Counts) -> None:
        stride = 1 + int(run.rank.max(initial=0))
        self.order = np.lexsort((rank, stratum))
        keys = (stratum * stride + rank)[self.order]
        self.first = np.searchsorted(keys, pool.documents * stride + run.rank, side="right")
        self.last = np.searchsorted(keys, (pool.documents + 1) * stride)

    def sums(self, terms: Values) -> Values:
        """Sum the terms of these pairs."""
        total = np.concatenate([[0.0], np.cumsum(terms[self.order])])
        return total[self.last] - total[self.first]


def _pool_of(run: Ranking, name: str) -> _Pool:
    sampling = run.judgments.sampling
    if sampling is None or sampling.strata is None or run.judgment is None or run.pooled_stratum is None:
        raise DataError(
            f"{name} needs the stratum that each document was sampled from; give qrels with strata"
            " (topic iteration doc stratum grade, or a stratum column)"
        )
    strata = sampling.strata
    return _Pool(strata, _stands_for(strata), strata.judged[run.judgment], run.pooled_stratum)


def _refuse_without_the_rest(run: Ranking) -> None:
    """Refuse a sample whose file lists only the drawn documents of the pool."""
    sampling, judgments = run.judgments.sampling, run.judgments
    if sampling is None or sampling.probabilities is None or judgments.pooled.any():
        return
    if (sampling.probabilities < 1).any():
        raise DataError(
            "infAP needs the whole pool, with grade -1 for documents that were not drawn, but prels list"
            " only the drawn ones; give qrels with strata, or use statAP"
        )


def _one_stratum(run: Ranking) -> _Pool:
    """Treat the whole pool of each topic as one stratum."""
    judgments = run.judgments
    strata = Strata(judgments.topic, judgments.judged + judgments.pooled, np.arange(len(run.topics) + 1))
    return _Pool(strata, _stands_for(strata), run.topic, run.pooled_topic)


def _topic_of(strata: Strata) -> Counts:
    """Return the topic of every stratum."""
    return np.repeat(np.arange(len(strata.starts) - 1), np.diff(strata.starts))


def _stands_for(strata: Strata) -> Values:
    """Return how many documents a judged one of each stratum represents; 0 if none was judged."""
    return share(strata.sizes, np.bincount(strata.judged, minlength=len(strata.sizes)))


def _weights_of(run: Ranking, name: str, *, certain: bool = False) -> Values:
    """(judgment,): Return how many documents each represents, 1 / selection probability."""
    sampling = run.judgments.sampling
    if sampling is not None and run.judgment is not None:
        if sampling.probabilities is not None:
            weight = 1 / sampling.probabilities
            if certain and sampling.methods is not None:
                weight[np.isin(sampling.methods, _CHOSEN_BY_MTC)] = 1
            return weight
        if sampling.strata is not None:
            return _stands_for(sampling.strata)[sampling.strata.judged]
    raise DataError(
        f"{name} needs the probability with which each judged document was drawn; give prels"
        " (topic doc grade method probability), or qrels with a probability column or with strata"
    )


def _total_relevant(run: Ranking, weight: Values, rel: float) -> Values:
    """Return the estimated number of relevant documents of each topic."""
    chosen = run.judgments.grades >= rel
    return run.total(run.judgments.topic[chosen], weight[chosen])


def _relevant_documents(run: Ranking, weight: Values, rel: float) -> _Relevant:
    chosen = run.grade >= rel
    hit, judgment = run.select(chosen), np.asarray(run.judgment)[chosen]
    times = weight[judgment]
    above = accumulate(np.add, times, hit.nth) - times
    return _Relevant(judgment, hit.topic, hit.rank, hit.nth, times, (1 + above) / hit.rank)


def _inferred_sums(
    run: Ranking, pool: _Pool, above: _Above, rel: float, compat: Compat
) -> tuple[Values, Values]:
    """Return the estimated sum of the precisions at relevant documents, and its divisor."""
    stratum = pool.documents[above.hits]
    gained = run.total(run.topic[above.hits], pool.weight[stratum] * _inferred_precisions(run, above, compat))
    relevant = _total_relevant(run, pool.weight[pool.strata.judged], rel)
    return gained, np.minimum(relevant, _LONGEST_RUN) if compat == "sample_eval" else relevant


def _inferred_precisions(run: Ranking, above: _Above, compat: Compat) -> Values:
    """Return the precision at each relevant document, inferred from what was judged above it."""
    smoothing = 3 if compat == "sample_eval" else 2
    inferred = (above.relevant + _EPSILON) / (above.judged + smoothing * _EPSILON)
    if compat == "none":
        whole = above.judged == above.in_pool
        inferred[whole] = share(above.relevant[whole], above.judged[whole])
    expected = np.bincount(above.hit, above.in_pool * inferred, len(above.hits))
    return (1 + expected) / run.rank[above.hits]


def _above(run: Ranking, pool: _Pool, rel: float) -> _Above:
    found = run.grade >= rel
    hits = found.nonzero()[0]
    first, last = pool.strata.starts[run.topic[hits]], pool.strata.starts[run.topic[hits] + 1]
    pairs = last - first
    hit = np.repeat(np.arange(len(hits)), pairs)
    stratum = np.arange(len(hit)) - np.repeat(np.cumsum(pairs) - pairs - first, pairs)
    rank = run.rank[hits][hit]
    stride = 1 + max(int(run.rank.max(initial=0)), int(run.pooled_rank.max(initial=0)))

    def count(strata: Counts, ranks: Counts) -> Counts:
        """Count for each pair the documents of the stratum with a better rank."""
        keys = np.sort(strata * stride + ranks)
        return np.searchsorted(keys, stratum * stride + rank) - np.searchsorted(keys, stratum * stride)

    judged = count(pool.documents, run.rank)
    relevant = count(pool.documents[found], run.rank[found])
    return _Above(hits, hit, stratum, judged + count(pool.pooled, run.pooled_rank), judged, relevant)


def _inferred_ideal(run: Ranking, pool: _Pool, k: int | None, form: DcgForm) -> Values:
    """Return the DCG at k of the ideal order, with each judged document repeated by its weight."""

    def compute() -> Values:
        judgments = run.judgments
        gain = form.gain(judgments.grades)
        chosen = (gain > 0).nonzero()[0]
        order = chosen[np.lexsort((-gain[chosen], judgments.topic[chosen]))]
        topic, weight = judgments.topic[order], pool.weight[pool.strata.judged[order]]
        first = np.searchsorted(topic, np.arange(len(judgments.topics)))
        last = accumulate(np.add, weight, np.arange(1, len(order) + 1) - first[topic])
        ends = np.minimum(np.stack([last - weight, last]), np.inf if k is None else k)
        places = np.arange(1, int(np.ceil(ends.max(initial=0))) + 1)
        sums = np.concatenate([[0.0], np.cumsum(form.discount(places))])
        discounts = np.diff(np.interp(ends, np.arange(len(sums)), sums), axis=0)[0]
        return run.total(topic, gain[order] * discounts)

    return run.judgments.remember(("inferred ideal", k, form.key), compute)


def _pooled_above(run: Ranking, hit: Hits) -> Counts:
    """Count for each document those above it that were pooled but not judged."""
    stride = 1 + max(int(hit.rank.max(initial=0)), int(run.pooled_rank.max(initial=0)))
    pooled = run.pooled_topic * stride + run.pooled_rank
    before_topic = np.searchsorted(pooled, hit.topic * stride)
    return np.searchsorted(pooled, hit.topic * stride + hit.rank) - before_topic


# By name; each receives the parameters of the measure's kernel.
_STANDARD_ERRORS: Mapping[str, Kernel] = {
    "infAP": lambda run, *, rel: _inferred_error(run, _one_stratum(run), rel, "none"),
    "xinfAP": lambda run, *, rel, compat: _inferred_error(run, _pool_of(run, "xinfAP"), rel, compat),
    "statAP": _statistical_ap_error,
    "EstNumRel": _number_relevant_error,
    "EstNumRelRet": _number_relevant_retrieved_error,
}
