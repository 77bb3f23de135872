"""Measures of diversity: a topic has several intents (subtopics), and documents are judged for each.

The intents of a topic are those with a relevant document; all weigh the same. Judgments that name no intents
are of one intent per topic. Values equal those of ndeval, the tool of the TREC Web track.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sounding.core.arrays import NDArray, spread
from sounding.core.errors import DataError
from sounding.measures.graded import ideal_order
from sounding.measures.registry import Measure, measure
from sounding.measures.totals import share
from sounding.measures.utility import rbp_weight
from sounding.runs.ranking import Counts, Intents, Judgments, Ranking, Values

_NEGLIGIBLE = 1e-18  # a weight too small to change a sum of the order of 1
_SAME = 1e-12  # gains that differ by less differ by rounding
# An order built greedily gains at least 1 - 1/e of the best possible.
_MOST = 1 / (1 - 1 / math.e)


class Discount(NamedTuple):
    """Weight of a gain at a rank."""

    name: str  # unique
    at: Callable[[Counts], Values]


_RECIPROCAL = Discount("1/rank", lambda rank: 1 / rank)
_LOG2 = Discount("1/log2", lambda rank: 1 / np.log2(rank + 1))


class IntentHits(NamedTuple):
    """Pairs of a retrieved document and an intent that it is relevant to, by intent and rank."""

    topic: Counts
    rank: Counts
    intent: Counts
    nth: Counts  # number of the document among those relevant to the intent, from 1


class Sum(NamedTuple):
    """A measure as a sum over intents of the gains of what is relevant to them, divided by a constant."""

    rel: float
    alpha: float
    discount: Callable[[Counts], Values]  # never rises with the rank
    divisor: float

    def hits(self, run: Ranking, k: int | None) -> IntentHits:
        """Return what the first k documents are relevant to."""
        return _hits(run, self.rel, k)

    def gain(self, nth: Counts, rank: Counts) -> Values:
        """Return the gain of the n-th document that is relevant to an intent."""
        return _novelty(self.alpha, nth) * self.discount(rank)

    def gains(self, hit: IntentHits) -> tuple[Counts, Values]:
        """Return topics and gains."""
        return hit.topic, self.gain(hit.nth, hit.rank)


def sum_of_gains(measure: Measure) -> Sum:
    """Return P_IA, RBP_IA, StRecall, alpha_DCG, ERR_IA or NRBP as a sum of gains."""
    name, k, rel, alpha = measure.name, measure.k, measure.get("rel"), measure.get("alpha")
    if name == "P_IA":
        return Sum(rel, 0.0, lambda rank: np.ones(len(rank)), float(k or 1))
    if name == "StRecall":  # only the first document for an intent gains
        return Sum(rel, 1.0, lambda rank: np.ones(len(rank)), 1.0)
    if name == "RBP_IA":
        return Sum(rel, 0.0, lambda rank: rbp_weight(rank, measure.get("p")), 1.0)
    if name == "NRBP":
        beta = measure.get("beta")
        return Sum(rel, alpha, _geometric(beta).at, 1 / (1 - (1 - alpha) * beta))
    discount = _LOG2 if name == "alpha_DCG" else _RECIPROCAL
    return Sum(rel, alpha, discount.at, _gain_of_all(k or 1, alpha, discount))


def intents_of(judgments: Judgments) -> Intents:
    """Return the judgments by intent. Refuse others: a topic may have several."""
    if judgments.intents is None:
        raise DataError(
            "measures of intents need the intent of each judgment, which is not known where judgments are"
            " changed or drawn; leave these measures out here"
        )
    return judgments.intents


def relevant_intents(judgments: Judgments, rel: float) -> tuple[Counts, Counts]:
    """Return the number of relevant documents of each intent, and the number of such intents by topic."""
    known = intents_of(judgments)

    def count() -> tuple[Counts, Counts]:
        relevant = np.bincount(
            known.intent[known.grade >= rel], minlength=int(known.intent.max(initial=-1)) + 1
        )
        topic = np.zeros(len(relevant), np.int64)
        topic[known.intent] = np.repeat(judgments.topic, np.diff(known.starts))
        return relevant, np.bincount(topic[relevant > 0], minlength=len(judgments.topics))

    return judgments.remember(("relevant intents", rel), count)


def _hits(run: Ranking, rel: float, k: int | None = None) -> IntentHits:
    """Return what the first k documents are relevant to."""
    every: IntentHits = run.remember(("intents", rel), lambda: _all_hits(run, rel))
    if k is None:
        return every
    near = (every.rank <= k).nonzero()[0]
    return IntentHits(*(column.take(near) for column in every))


def _all_hits(run: Ranking, rel: float) -> IntentHits:
    """Return what all documents are relevant to."""
    judgments = run.judgments
    starts, relevant_intent = judgments.remember(("entries", rel), lambda: _relevant_entries(judgments, rel))
    judgment = np.asarray(run.judgment)
    row, entry = spread(starts.take(judgment), np.diff(starts).take(judgment))
    intent = relevant_intent.take(entry)
    order = np.argsort(intent, kind="stable")  # by radix, if there are few intents
    row, intent = row.take(order), intent.take(order)
    head = np.ones(len(intent), np.bool_)
    np.not_equal(intent[1:], intent[:-1], out=head[1:])
    first = head.nonzero()[0]
    nth = np.arange(1, len(intent) + 1) - np.repeat(first, np.diff(first, append=len(intent)))
    return IntentHits(run.topic.take(row), run.rank.take(row), intent, nth)


def _relevant_entries(judgments: Judgments, rel: float) -> tuple[Counts, NDArray[Any]]:
    """Return where the intents of each judgment begin that it is relevant to, and these intents."""
    known = intents_of(judgments)
    relevant = known.grade >= rel
    starts = np.concatenate([[0], np.cumsum(relevant)])[known.starts]
    intent = known.intent[relevant]
    return starts, intent.astype(np.uint16) if known.intent.max(initial=0) < 1 << 16 else intent


def covered_intents(run: Ranking, k: int | None, rel: float = 1) -> NDArray[np.bool_]:
    """(intent,): Return whether a document among the first k is relevant to the intent."""
    covered = np.zeros(int(intents_of(run.judgments).intent.max(initial=-1)) + 1, np.bool_)
    covered[_hits(run, rel, k).intent] = True
    return covered


def _novel_gain(run: Ranking, rel: float, alpha: float, discount: Discount, k: int | None = None) -> Values:
    """Sum the discounted gains of the first k documents: for each intent, (1 - alpha)^(times seen before)."""
    hit = _hits(run, rel, k)
    return run.total(hit.topic, _novelty(alpha, hit.nth) * discount.at(hit.rank))


def _novelty(alpha: float, nth: Counts) -> Values:
    if not 0 <= alpha <= 1:
        raise DataError(f"alpha is a number from 0 to 1, not {alpha:g}")
    return np.power(1 - alpha, nth - 1, dtype=np.float64)


def _best_gain(judgments: Judgments, rel: float, alpha: float, discount: Discount, depth: int) -> Values:
    """Sum the discounted gains of an ideal order: each document gains the most that is left to gain.

    Like ndeval, it is greedy (the best order is too hard to find), and of documents that gain equally the
    one with the last id is taken.
    """
    known = intents_of(judgments)

    def compute() -> Values:
        chosen = known.grade >= rel
        intent = known.intent[chosen]
        held = np.repeat(np.arange(len(judgments.grades)), np.diff(known.starts))[chosen]
        docs, doc = np.unique(held, return_inverse=True)
        place = np.lexsort((known.order[docs], judgments.topic[docs]))  # the order in which ties are broken
        row = np.empty(len(docs), np.int64)
        row[place] = np.arange(len(docs))
        doc, topic = row[doc], judgments.topic[docs[place]]
        heads = np.searchsorted(topic, np.arange(len(judgments.topics)))
        having = np.diff(np.append(heads, len(topic))) > 0
        left, worth = np.ones(len(topic), np.bool_), np.ones(int(intent.max(initial=-1)) + 1)
        best = np.zeros(len(judgments.topics))
        for rank in range(1, min(depth, int(np.bincount(topic, minlength=1).max())) + 1):
            weight = float(discount.at(np.array(rank)))
            if weight < _NEGLIGIBLE:
                break
            gain = np.where(left, np.bincount(doc, worth[intent], len(topic)), -1.0)
            most = np.full(len(best), -1.0)
            most[having] = np.maximum.reduceat(gain, heads[having])
            first = (gain >= most[topic] - _SAME) & (most[topic] >= 0)
            taken = first.nonzero()[0]
            taken = taken[np.diff(topic[taken], prepend=-1) > 0]
            best[topic[taken]] += gain[taken] * weight
            left[taken] = False
            chosen_now = np.zeros(len(topic), np.bool_)
            chosen_now[taken] = True
            worth[intent[chosen_now[doc]]] *= 1 - alpha
        return best

    return judgments.remember(("best novel gain", rel, alpha, discount.name, depth), compute)


@measure("alpha_DCG", basis="recall", monotone=False)
def alpha_discounted_cumulative_gain(run: Ranking, *, k: int, rel: float = 1, alpha: float = 0.5) -> Values:
    """DCG of novelty at k, divided by that of k documents that are all relevant to every intent.

    Clarke et al. (2008). A document gains (1 - alpha)^n for each intent that it is relevant to, if n
    documents above it are too; the gain is divided by log2(rank + 1). Such k documents need not exist.
    """
    return _share_of_all(run, k, rel, alpha, _LOG2)


@measure("alpha_nDCG", basis="recall", monotone=False, bounds=(0.0, _MOST))
def alpha_normalized_discounted_cumulative_gain(
    run: Ranking, *, k: int | None = None, rel: float = 1, alpha: float = 0.5
) -> Values:
    """DCG of novelty of the first k documents, divided by that of an ideal order of the judged ones.

    Clarke et al. (2008); see alpha_DCG. The ideal order is built greedily, because the best one is too hard
    to find; a value can therefore exceed 1 a little.
    """
    return _share_of_best(run, k, rel, alpha, _LOG2)


@measure("ERR_IA", basis="recall", monotone=False)
def intent_aware_reciprocal_rank(run: Ranking, *, k: int, rel: float = 1, alpha: float = 0.5) -> Values:
    """ERR of the first k documents by intent, divided by that of k documents relevant to every intent.

    Chapelle et al. (2011). A document satisfies a reader with the probability alpha, if it is relevant to the
    reader's intent.
    """
    return _share_of_all(run, k, rel, alpha, _RECIPROCAL)


@measure("nERR_IA", basis="recall", monotone=False, bounds=(0.0, _MOST))
def normalized_intent_aware_reciprocal_rank(
    run: Ranking, *, k: int | None = None, rel: float = 1, alpha: float = 0.5
) -> Values:
    """ERR of the first k documents by intent, divided by that of an ideal order of the judged ones.

    See ERR_IA, and for the ideal order alpha_nDCG.
    """
    return _share_of_best(run, k, rel, alpha, _RECIPROCAL)


@measure("NRBP", basis="recall", monotone=False)
def novelty_and_rank_biased_precision(
    run: Ranking, *, rel: float = 1, alpha: float = 0.5, beta: float = 0.5
) -> Values:
    """Gain of novelty, weighted as in RBP, divided by that of endless documents relevant to every intent.

    Clarke, Kolla & Vechtomova (2009): the gains of alpha_DCG, with the weight beta^(rank - 1); a reader goes
    on to the next document with the probability beta.
    """
    _, intents = relevant_intents(run.judgments, rel)
    gain = _novel_gain(run, rel, alpha, _geometric(beta))
    return share(gain * (1 - (1 - alpha) * beta), intents)


@measure("nNRBP", basis="recall", monotone=False, bounds=(0.0, _MOST))
def normalized_novelty_and_rank_biased_precision(
    run: Ranking, *, rel: float = 1, alpha: float = 0.5, beta: float = 0.5
) -> Values:
    """Gain of novelty, weighted as in RBP, divided by that of an ideal order of the judged documents.

    See NRBP, and for the ideal order alpha_nDCG.
    """
    return _share_of_best(run, None, rel, alpha, _geometric(beta))


@measure("P_IA", basis="recall", monotone=False)
def intent_aware_precision(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Mean over the intents of the precision at k."""
    _, intents = relevant_intents(run.judgments, rel)
    return share(run.total(_hits(run, rel, k).topic) / k, intents)


@measure("AP_IA", basis="recall", monotone=False)
def intent_aware_average_precision(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Mean over the intents of the average precision."""
    relevant, intents = relevant_intents(run.judgments, rel)
    hit = _hits(run, rel, k)
    return share(run.total(hit.topic, hit.nth / hit.rank / relevant[hit.intent]), intents)


@measure("RBP_IA", basis="recall", monotone=False)
def intent_aware_rank_biased_precision(
    run: Ranking, *, k: int | None = None, rel: float = 1, p: float = 0.8
) -> Values:
    """Mean over the intents of RBP, with documents relevant to an intent or not."""
    _, intents = relevant_intents(run.judgments, rel)
    hit = _hits(run, rel, k)
    return share(run.total(hit.topic, rbp_weight(hit.rank, p)), intents)


@measure("StRecall", basis="recall", monotone=False, monotone_in_k=True)
def subtopic_recall(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Share of the intents that a document among the first k is relevant to.

    Zhai, Cohen & Lafferty (2003); I-rec of NTCIR.
    """
    _, intents = relevant_intents(run.judgments, rel)
    hit = _hits(run, rel, k)
    return share(run.total(hit.topic[hit.nth == 1]), intents)


@measure("D_nDCG", basis="recall", monotone=False)
def diversified_ndcg(run: Ranking, *, k: int | None = None) -> Values:
    """NDCG whose gain is the mean over the intents of a document's grade for each.

    Sakai & Song (2011), with equally likely intents.
    """
    judgments = run.judgments
    worth = _mean_grade(judgments)
    own = worth[np.asarray(run.judgment)]
    near = np.ones(len(run.rank), np.bool_) if k is None else run.rank <= k
    gained = run.total(run.topic[near], own[near] * _LOG2.at(run.rank[near]))
    best = ideal_order(judgments, worth)
    held = np.ones(len(best.place), np.bool_) if k is None else best.place <= k
    return share(gained, run.total(best.topic[held], best.gain[held] * _LOG2.at(best.place[held])))


@measure("Dsharp_nDCG", basis="recall", monotone=False)
def diversified_ndcg_and_recall(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Mean of StRecall and D_nDCG: D#-nDCG of NTCIR."""
    return (subtopic_recall(run, k=k, rel=rel) + diversified_ndcg(run, k=k)) / 2


def _geometric(beta: float) -> Discount:
    if beta >= 1:
        raise DataError(f"NRBP: beta is a number from 0 to below 1, not {beta:g}")
    return Discount(f"{beta!r}^rank", lambda rank: np.power(beta, rank - 1, dtype=np.float64))


def _share_of_all(run: Ranking, k: int, rel: float, alpha: float, discount: Discount) -> Values:
    """Divide by the gain of k documents that are all relevant to every intent."""
    every = _gain_of_all(k, alpha, discount)
    _, intents = relevant_intents(run.judgments, rel)
    return share(_novel_gain(run, rel, alpha, discount, k), np.multiply(intents, every))


def _gain_of_all(k: int, alpha: float, discount: Discount) -> float:
    """Return what k documents gain that are all relevant to an intent."""
    rank = np.arange(1, k + 1)
    return float((_novelty(alpha, rank) * discount.at(rank)).sum())


def _share_of_best(run: Ranking, k: int | None, rel: float, alpha: float, discount: Discount) -> Values:
    """Divide by the gain of an ideal order."""
    depth = len(run.judgments.grades) if k is None else k
    return share(
        _novel_gain(run, rel, alpha, discount, k), _best_gain(run.judgments, rel, alpha, discount, depth)
    )


def _mean_grade(judgments: Judgments) -> Values:
    """Return the mean over the intents of its topic of each judged document's grade."""
    known = intents_of(judgments)

    def compute() -> Values:
        doc = np.repeat(np.arange(len(judgments.grades)), np.diff(known.starts))
        total = np.bincount(doc, np.maximum(known.grade, 0.0), len(judgments.grades))
        _, intents = relevant_intents(judgments, 1)
        return share(total, intents[judgments.topic])

    return judgments.remember("mean grade over intents", compute)
