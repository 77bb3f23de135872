"""How much of a ranking was judged: counts of judged and unjudged documents, retrieved or not.

The twin of any measure, with every judged document counted as relevant (Baillie, Azzopardi & Ruthven),
needs no kernel of its own: `assessed=True`. docs/assessment.md has both.
"""

from __future__ import annotations

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.registry import Measure, measure
from sounding.runs.ranking import Ranking, Values

_NUMBER_OF = (0.0, np.inf)

# They tell what was judged, retrieved or asked, and not what is relevant.
_ABOUT_JUDGING = frozenset({
    "Judged", "Unjudged", "FirstUnjudged", "RBPResidual", "NumQ", "NumJudged", "NumJudgedRet",
    "NumUnjudgedRet", "NumJudgedNotRet", "NumUnjudgedNotRet",
})  # fmt: skip


def is_about_judging(measure: Measure) -> bool:
    """Whether the value tells what was judged, which nothing that is still to be judged makes uncertain.

    So do Judged and its kin, every twin (`assessed`), and every measure to which whatever was judged is
    relevant (rel=0); NumRet, which with `rel` counts relevant documents, does without it.
    """
    return (
        measure.name in _ABOUT_JUDGING
        or bool(measure.get("assessed"))
        or measure.get("rel") == 0
        or (measure.name == "NumRet" and measure.get("rel") is None)
    )


@measure("FirstUnjudged", basis="utility", monotone=False, bounds=(1.0, np.inf))
def first_unjudged(run: Ranking) -> Values:
    """Rank of the first document that was not judged; not a number where all that were retrieved were.

    A mean is over the topics that have such a document.
    """
    return run.first_unjudged()


@measure("NumJudged", basis="count", monotone=True, aggregate="sum", bounds=_NUMBER_OF)
def number_judged(run: Ranking) -> Values:
    """Judged documents of the topic, retrieved or not."""
    return run.judgments.judged.astype(np.float64)


@measure(
    "NumNonrel", basis="count", monotone=False, counts_nonrelevant=True,
    aggregate="sum", bounds=_NUMBER_OF,
)  # fmt: skip
def number_nonrelevant(run: Ranking, *, rel: float = 1) -> Values:
    """Documents of the topic that were judged and are not relevant, retrieved or not."""
    return (run.judgments.judged - run.relevant(rel)).astype(np.float64)


@measure("NumJudgedRet", basis="count", monotone=True, additive=True, aggregate="sum", bounds=_NUMBER_OF)
def number_judged_retrieved(run: Ranking) -> Values:
    """Documents retrieved that were judged."""
    return run.total(run.topic)


@measure("NumUnjudgedRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_unjudged_retrieved(run: Ranking) -> Values:
    """Documents retrieved that were not judged."""
    return run.retrieved - run.total(run.topic)


@measure("NumJudgedNotRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_judged_not_retrieved(run: Ranking) -> Values:
    """Judged documents that were not retrieved."""
    return run.judgments.judged - run.total(run.topic)


@measure("NumRelNotRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_relevant_not_retrieved(run: Ranking, *, rel: float = 1) -> Values:
    """Relevant documents that were not retrieved."""
    return run.relevant(rel) - run.total(run.topic[run.grade >= rel])


@measure(
    "NumNonrelNotRet", basis="count", monotone=False, counts_nonrelevant=True,
    aggregate="sum", bounds=_NUMBER_OF,
)  # fmt: skip
def number_nonrelevant_not_retrieved(run: Ranking, *, rel: float = 1) -> Values:
    """Documents that were judged and are not relevant, and were not retrieved."""
    return number_nonrelevant(run, rel=rel) - run.total(run.topic[run.grade < rel])


@measure("NumUnjudgedNotRet", basis="count", monotone=False, aggregate="sum", bounds=_NUMBER_OF)
def number_unjudged_not_retrieved(run: Ranking, *, collection: int | None = None) -> Values:
    """Documents of the collection that were neither judged nor retrieved; without its size, pooled ones.

    `collection` is the number of documents it has. Without it only those count that are known to be
    there: in the pool, and not judged (grade -1).
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
