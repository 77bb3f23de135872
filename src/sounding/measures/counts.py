"""What was counted, and what the first documents were: no measures of quality, but printed beside them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.registry import measure
from sounding.measures.totals import found
from sounding.runs.ranking import Ranking, Values

Texts = NDArray[Any]  # one string a topic

_NUMBER_OF = (0.0, np.inf)
_ZERO, _ABOVE_NINE, _UNJUDGED, _POOLED = b"0>-."


@measure("RunID", basis="count", monotone=False, aggregate="text", shown="summary")
def run_id(run: Ranking) -> Texts:
    """What the run is called."""
    return np.full(len(run.topics), run.run, dtype=object)


@measure("NumQ", basis="count", monotone=True, aggregate="sum", shown="summary", bounds=(1.0, 1.0))
def number_of_topics(run: Ranking) -> Values:
    """Topics that the summary is taken over: judged ones, whether the run has them or not."""
    return np.ones(len(run.topics))


@measure("NumRet", basis="count", monotone=True, aggregate="sum", bounds=_NUMBER_OF)
def number_retrieved(run: Ranking, *, rel: float | None = None) -> Values:
    """Documents retrieved; with `rel`, only those judged `rel` or better."""
    if rel is None:
        return run.retrieved.astype(np.float64)
    return found(run, rel)


@measure("NumRel", basis="count", monotone=True, aggregate="sum", bounds=_NUMBER_OF)
def number_relevant(run: Ranking, *, rel: float = 1) -> Values:
    """Relevant documents of the topic, retrieved or not."""
    return run.relevant(rel).astype(np.float64)


@measure(
    "NumRelRet", basis="count", monotone=True, monotone_in_k=True, additive=True, aggregate="sum",
    bounds=_NUMBER_OF, handles_ties=True,
)  # fmt: skip
def number_relevant_retrieved(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Relevant documents retrieved; with k, those among the first k."""
    return found(run, rel, k)


@measure(
    "NumNonrelRet", basis="count", monotone=False, counts_nonrelevant=True, additive=True,
    aggregate="sum", bounds=_NUMBER_OF,
)  # fmt: skip
def number_nonrelevant_retrieved(run: Ranking, *, rel: float = 1) -> Values:
    """Documents retrieved that were judged and are not relevant; unjudged ones do not count."""
    return run.total(run.topic[run.grade < rel])


@measure("RelString", basis="utility", monotone=False, aggregate="text", shown="topics")
def relevance_string(run: Ranking, *, k: int = 10) -> Texts:
    """Grades of the first k documents, a character each.

    0 to 9 as they are, > above 9, . pooled and not judged, - any other unjudged document. A fraction of
    a grade is dropped.
    """
    length = np.minimum(run.retrieved, k)
    width = max(1, int(length.max(initial=0)))
    # Zero bytes fill a row up to its width and vanish when the row is read as one text.
    signs = np.where(np.arange(width) < length[:, np.newaxis], _UNJUDGED, 0).astype(np.uint8)
    inside = run.rank <= k
    digit = np.floor(run.grade[inside])
    signs[run.topic[inside], run.rank[inside] - 1] = np.where(digit > 9, _ABOVE_NINE, _ZERO + digit)
    pooled = run.pooled_rank <= k
    signs[run.pooled_topic[pooled], run.pooled_rank[pooled] - 1] = _POOLED
    return signs.view(f"S{width}")[:, 0].astype(str).astype(object)
