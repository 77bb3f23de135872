"""Count judged and unjudged documents, retrieved or not: how much of a ranking was judged.

The assessment twin of any measure, which counts every judged document as relevant (Baillie, Azzopardi &
Ruthven), needs no kernel of its own: `assessed=True`. docs/assessment.md explains both.
"""

from __future__ import annotations

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.registry import Measure, measure
from sounding.runs.ranking import Ranking, Values

_NUMBER_OF = (0.0, np.inf)

# Measures of what was judged, retrieved or asked, not of what is relevant.
_ABOUT_JUDGING = frozenset({
    "Judged", "Unjudged", "FirstUnjudged", "RBPResidual", "NumQ", "NumJudged", "NumJudgedRet",
    "NumUnjudgedRet", "NumJudgedNotRet", "NumUnjudgedNotRet",
})  # fmt: skip


def is_about_judging(measure: Measure) -> bool:
    """Return whether a measure says what was judged, so that future judgments cannot make it uncertain.

    This holds for Judged and its relatives, for every twin (`assessed`), and for every measure to which all
    judged documents are relevant (rel=0); also for NumRet without `rel`.
    """
    return (
        measure.name in _ABOUT_JUDGING
        or bool(measure.get("assessed"))
        or measure.get("rel") == 0
        or (measure.name == "NumRet" and measure.get("rel") is None)
    )


@measure("FirstUnjudged", basis="utility", monotone=False, bounds=(1.0, np.inf))
def first_unjudged(run: Ranking) -> Values:
    """Rank of the first unjudged document; not a number if all retrieved documents were judged.

    The mean is over the topics that have such a document.
    """
    return run.first_unjudged()


@measure("NumJudged", basis="count", monotone=True, aggregate="sum", bounds=_NUMBER_OF)
def number_judged(run: Ranking) -> Values:
    """Number of judged documents of the topic, retrieved or not."""
    return run.judgments.judged.astype(np.float64)


@measure(
    "NumNonrel", basis="count", monotone=False, counts_nonrelevant=True,
    aggregate="sum", bounds=_NUMBER_OF,
)  # fmt: skip
def number_nonrelevant(run: Ranking, *, rel: float = 1) -> Values:
    """Number of documents of the topic judged not relevant, retrieved or not."""
    return (run.judgments.judged - run.relevant(rel)).astype(np.float64)


@measure("NumJudgedRet", basis="count", monotone=True, additive=True, aggregate="sum", bounds=_NUMBER_OF)
def number_judged_retrieved(run: Ranking) -> Values:
    """Number of retrieved documents that were judged."""
    return run.total(run.topic)


@measure("NumUnjudgedRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_unjudged_retrieved(run: Ranking) -> Values:
    """Number of retrieved documents that were not judged."""
    return run.retrieved - run.total(run.topic)


@measure("NumJudgedNotRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_judged_not_retrieved(run: Ranking) -> Values:
    """Number of judged documents that were not retrieved."""
    return run.judgments.judged - run.total(run.topic)


@measure("NumRelNotRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_relevant_not_retrieved(run: Ranking, *, rel: float = 1) -> Values:
    """Number of relevant documents that were not retrieved."""
    return run.relevant(rel) - run.total(run.topic[run.grade >= rel])


@measure(
    "NumNonrelNotRet", basis="count", monotone=False, counts_nonrelevant=True,
    aggregate="sum", bounds=_NUMBER_OF,
)  # fmt: skip
def number_nonrelevant_not_retrieved(run: Ranking, *, rel: float = 1) -> Values:
    """Number of documents judged not relevant that were not retrieved."""
    return number_nonrelevant(run, rel=rel) - run.total(run.topic[run.grade < rel])


@measure("NumUnjudgedNotRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_unjudged_not_retrieved(run: Ranking, *, collection: int | None = None) -> Values:
    """Number of documents of the collection that were neither judged nor retrieved.

    `collection` is the number of documents in the collection. Without it, only documents that are known to
    exist count: those in the pool that were not judged (grade -1).
    """
    if collection is None:
        return run.judgments.pooled - run.total(run.pooled_topic)
    seen = run.retrieved + number_judged_not_retrieved(run)
    if seen.max(initial=0) > collection:
        topic = run.topics[int(seen.argmax())]
        raise DataError(
            f"NumUnjudgedNotRet: collection is {collection}, and {seen.max():g} documents were judged or"
            f" retrieved for topic {topic}; give the number of documents in the collection"
        )
    return collection - seen
