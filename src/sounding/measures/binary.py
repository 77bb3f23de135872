"""Measures that ask only whether a document is relevant: judged `rel` or better."""

from __future__ import annotations

import numpy as np

from sounding.measures.registry import measure
from sounding.ranking import Counts, Ranking, Values


def share(gained: Values, possible: Values | Counts) -> Values:
    """The quotient; 0 where nothing was possible, as trec_eval says (such topics are counted apart)."""
    return np.divide(gained, possible, out=np.zeros(len(gained)), where=np.asarray(possible) > 0)


@measure("P", basis="utility", monotone=True, additive=True)
def precision(run: Ranking, *, k: int, rel: float = 1) -> Values:
    """Share of the first k documents that are relevant; a short ranking is filled up with misses."""
    return run.total(run.hits(rel, k).topic) / k


@measure("AP", basis="recall", monotone=False, monotone_in_k=True)
def average_precision(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Mean of the precisions at the relevant documents; one that is not among the first k adds 0."""
    hit = run.hits(rel, k)
    return share(run.total(hit.topic, hit.nth / hit.rank), run.relevant(rel))
