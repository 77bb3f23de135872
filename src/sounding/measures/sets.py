"""Set measures: they evaluate the retrieved documents regardless of their order."""

from __future__ import annotations

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.registry import measure
from sounding.measures.totals import count_relevant, share
from sounding.runs.ranking import Ranking, Values


@measure("SetP", basis="utility", monotone=True, handles_ties=True)
def set_precision(run: Ranking, *, rel: float = 1, relative: bool = False) -> Values:
    """Share of all retrieved documents that are relevant; with `relative`, of the largest possible share."""
    return (
        set_relative_precision(run, rel=rel) if relative else share(count_relevant(run, rel), run.retrieved)
    )


@measure("SetRelP", basis="recall", monotone=True, handles_ties=True)
def set_relative_precision(run: Ranking, *, rel: float = 1) -> Values:
    """Number of relevant documents retrieved, divided by min(retrieved, R)."""
    return share(count_relevant(run, rel), np.minimum(run.retrieved, run.relevant(rel)))


@measure("SetR", basis="recall", monotone=True, additive=True, handles_ties=True)
def set_recall(run: Ranking, *, rel: float = 1) -> Values:
    """Share of the relevant documents that were retrieved at any rank."""
    return share(count_relevant(run, rel), run.relevant(rel))


@measure("SetF", basis="recall", monotone=True, handles_ties=True)
def set_f(run: Ranking, *, rel: float = 1, beta: float = 1.0) -> Values:
    """Weighted harmonic mean of SetP and SetR: (beta + 1) P R / (beta P + R).

    As in trec_eval and ir_measures, beta itself weights recall; van Rijsbergen's F squares it first.
    """
    # A simplified formula would differ from trec_eval in the last bits.
    precision, recall = set_precision(run, rel=rel), set_recall(run, rel=rel)
    return share((beta + 1) * precision * recall, beta * precision + recall)


@measure("SetAP", basis="recall", monotone=True, handles_ties=True)
def set_average_precision(run: Ranking, *, rel: float = 1) -> Values:
    """SetP times SetR: the approximate expected AP of the set in random order."""
    return share(count_relevant(run, rel) ** 2, run.retrieved * run.relevant(rel))


@measure("Utility", basis="utility", monotone=False, bounds=(-np.inf, np.inf), handles_ties=True)
def utility(
    run: Ranking,
    *,
    a: float = 1,
    b: float = -1,
    c: float = 0,
    d: float = 0,
    collection: int | None = None,
    rel: float = 1,
) -> Values:
    """Utility of the set: a for each relevant document retrieved, b for each other document retrieved.

    c counts for each relevant document that was missed, d for each of the remaining documents of the
    collection, whose size is `collection` (trec_eval's -N).
    """
    if d and collection is None:
        raise DataError(
            "Utility with d counts the documents that were neither retrieved nor relevant:"
            " give the size of the collection too, as in Utility(d=0.1,collection=528155)"
        )
    hits, relevant = count_relevant(run, rel), run.relevant(rel)
    worth = a * hits + b * (run.retrieved - hits) + c * (relevant - hits)
    return worth if collection is None else worth + d * (collection + hits - run.retrieved - relevant)
