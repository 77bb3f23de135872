"""Estimates of a measure from judgments of a sample of the pool."""

from __future__ import annotations

import numpy as np

from sounding.measures.binary import share
from sounding.measures.registry import measure
from sounding.ranking import Counts, Hits, Ranking, Values

_EPSILON = 1e-5  # trec_eval's: keeps the quotient defined where nothing above was judged


@measure("infAP", basis="recall", monotone=False)
def inferred_average_precision(run: Ranking, *, rel: float = 1) -> Values:
    """AP as inferred from a random sample of the pool that was judged.

    A relevant document at rank r adds 1/r + c/r * (h + e) / (j + 2e): of the r - 1 documents above, c
    are in the pool (judged, or grade -1), j were judged and h are relevant; e = 0.00001. Documents
    outside the pool count as not relevant (Yilmaz & Aslam 2006).
    """
    chosen = run.grade >= rel
    hit = run.select(chosen)
    judged_above = run.select(np.ones_like(chosen)).nth[chosen] - 1
    in_pool = judged_above + _pooled_above(run, hit)
    precision_above = (hit.nth - 1 + _EPSILON) / (judged_above + 2 * _EPSILON)
    return share(run.total(hit.topic, (1 + in_pool * precision_above) / hit.rank), run.relevant(rel))


def _pooled_above(run: Ranking, hit: Hits) -> Counts:
    """For each document, how many above it were pooled and not judged."""
    stride = 1 + max(int(hit.rank.max(initial=0)), int(run.pooled_rank.max(initial=0)))
    pooled = run.pooled_topic * stride + run.pooled_rank
    before_topic = np.searchsorted(pooled, hit.topic * stride)
    return np.searchsorted(pooled, hit.topic * stride + hit.rank) - before_topic
