"""Counts and texts that are printed beside measures but do not measure quality."""

from __future__ import annotations

from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.registry import measure
from sounding.measures.totals import count_relevant
from sounding.runs.ranking import Ranking, Values

Texts = NDArray[Any]  # one string per topic

_NUMBER_OF = (0.0, np.inf)
_ZERO, _ABOVE_NINE, _UNJUDGED, _POOLED = b"0>-."


@measure("RunID", basis="count", monotone=False, aggregate="text", shown="summary")
def run_id(run: Ranking) -> Texts:
    """Name of the run."""
    return np.full(len(run.topics), run.run, dtype=object)


@measure("NumQ", basis="count", monotone=True, aggregate="sum", shown="summary", bounds=(1.0, 1.0))
def number_of_topics(run: Ranking) -> Values:
    """Number of topics in the summary: all judged topics, even if the run lacks them."""
    return np.ones(len(run.topics))


@measure("NumRet", basis="count", monotone=True, aggregate="sum", bounds=_NUMBER_OF)
def number_retrieved(run: Ranking, *, rel: float | None = None) -> Values:
    """Number of retrieved documents; with `rel`, only those judged `rel` or better."""
    if rel is None:
        return run.retrieved.astype(np.float64)
    return count_relevant(run, rel)


@measure("NumRel", basis="count", monotone=True, aggregate="sum", bounds=_NUMBER_OF)
def number_relevant(run: Ranking, *, rel: float = 1) -> Values:
    """Number of relevant documents of the topic, retrieved or not."""
    return run.relevant(rel).astype(np.float64)


@measure(
    "NumRelRet", basis="count", monotone=True, monotone_in_k=True, additive=True, aggregate="sum",
    bounds=_NUMBER_OF, handles_ties=True,
)  # fmt: skip
def number_relevant_retrieved(run: Ranking, *, k: int | None = None, rel: float = 1) -> Values:
    """Number of relevant documents retrieved; with k, those among the first k."""
    return count_relevant(run, rel, k)


@measure(
    "NumNonrelRet", basis="count", monotone=False, counts_nonrelevant=True, additive=True,
    aggregate="sum", bounds=_NUMBER_OF,
)  # fmt: skip
def number_nonrelevant_retrieved(run: Ranking, *, rel: float = 1) -> Values:
    """Number of retrieved documents judged not relevant; unjudged documents do not count."""
    return run.total(run.topic[run.grade < rel])


@measure("RelString", basis="utility", monotone=False, aggregate="text", shown="topics")
def relevance_string(run: Ranking, *, k: int = 10) -> Texts:
    """Grades of the first k documents, one character each.

    0 to 9 are grades, > a grade above 9, . a document that was pooled but not judged, - any other unjudged
    document. Fractions of grades are dropped.
    """
    length = np.minimum(run.retrieved, k)
    width = max(1, int(length.max(initial=0)))
    # Zero bytes pad each row to its width and disappear when the row is read as one text.
    signs = np.where(np.arange(width) < length[:, np.newaxis], _UNJUDGED, 0).astype(np.uint8)
    inside = run.rank <= k
    digit = np.floor(run.grade[inside])
    signs[run.topic[inside], run.rank[inside] - 1] = np.where(digit > 9, _ABOVE_NINE, _ZERO + digit)
    pooled = run.pooled_rank <= k
    signs[run.pooled_topic[pooled], run.pooled_rank[pooled] - 1] = _POOLED
    return signs.view(f"S{width}")[:, 0].astype(str).astype(object)
