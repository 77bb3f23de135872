"""Measure how much of the ideal order a ranking shares at each depth."""

from __future__ import annotations

import numpy as np

from sounding.measures.registry import measure
from sounding.measures.totals import share
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

_ABOVE_ZERO = 5e-324  # the smallest number above 0: any grade that is not 0


@measure("Compat", basis="recall", monotone=False)
def compatibility(run: Ranking, *, p: float = 0.95, normalize: bool = True) -> Values:
    """Rank-biased overlap of the ranking with the ideal order that is most similar to it.

    Clarke, Vtyurina & Smucker (2021). The ideal order has the documents of grade above 0, higher grades
    first; documents of the same grade follow the ranking, those not retrieved come last. (ir_measures gives
    these the score 0, so with negative scores it puts them first.) The overlap is the mean over depths i of
    the share of documents that both have among their first i, weighted with p^(i-1) down to the end of the
    longer of the two; `normalize` divides by the overlap of the ideal order with itself.
    """
    hit = run.hits(_ABOVE_ZERO)
    relevant = run.relevant(_ABOVE_ZERO)
    depth = np.maximum(run.retrieved, relevant)
    deepest = np.arange(1, int(depth.max(initial=0)) + 1)
    weights = np.concatenate([[0.0], np.cumsum(p ** (deepest - 1))])
    shares = np.concatenate([[0.0], np.cumsum(p ** (deepest - 1) / deepest)])
    # A document is shared from the depth at which both orders have reached it.
    both = np.maximum(hit.rank, _best_places(run, hit.topic, hit.grade))
    overlap = run.total(hit.topic, shares[depth[hit.topic]] - shares[both - 1])
    if not normalize:
        return share(overlap, weights[depth])
    return share(overlap, weights[relevant] + relevant * (shares[depth] - shares[relevant]))


def _best_places(run: Ranking, topic: Counts, grade: Values) -> Counts:
    """Return the rank in the ideal order of each of these documents, given in ranking order."""
    judgments = run.judgments
    codes = judgments.remember("grade codes", lambda: _codes(judgments, judgments.topic, judgments.grades))
    code = _codes(judgments, topic, grade)
    better = np.searchsorted(codes, code) - judgments.starts[topic]
    order = np.argsort(code, kind="stable")
    by_grade = code[order]
    nth = np.empty(len(code), np.int64)
    nth[order] = np.arange(1, len(code) + 1) - np.searchsorted(by_grade, by_grade)
    return better + nth


def _codes(judgments: Judgments, topic: Counts, grade: Values) -> Counts:
    """Return numbers that sort documents by topic, and within a topic from the best grade down."""
    levels = judgments.levels
    return (topic + 1) * len(levels) - 1 - np.searchsorted(levels, grade)
