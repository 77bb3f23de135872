"""What may still be relevant: which unjudged documents there are, and how many may turn out so."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sounding.align import Judged
from sounding.data.tables import Run
from sounding.data.tokens import Words
from sounding.growth import new_relevant
from sounding.measures import Measure
from sounding.policies import Policies
from sounding.ranking import Counts, Ranking

_U64 = np.uint64


def counts_others(policies: Policies) -> bool:
    """Whether the documents of all runs have to be counted."""
    return policies.unjudged in ("bounds", "expected") and policies.universe == "runs"


def unjudged_marks(run: Run, judged: Judged) -> Words:
    """A mark for each unjudged document that the run retrieved for a judged topic.

    Equal documents of one topic have equal marks; the topic stands in the upper bits.
    """
    rows = np.array([judged.place.get(text, -1) for text in run.topics], np.int64)
    topic = np.repeat(rows, run.sizes)
    keys = run.pair_keys()
    here, there = judged.table.find(keys, run.docs)
    open_ = topic >= 0
    open_[here[judged.grades[there] >= 0]] = False
    bits = _topic_bits(len(judged.place))
    return (topic[open_].astype(_U64) << _U64(64 - bits)) | (keys[open_] >> _U64(bits))


def _topic_bits(topics: int) -> int:
    return max(1, topics.bit_length())


def count_distinct(marks: Sequence[Words], topics: int) -> Counts:
    """How many different documents the marks of several runs name, for each topic."""
    everything = np.sort(np.concatenate(marks)) if marks else np.empty(0, _U64)
    first = np.ones(len(everything), np.bool_)
    np.not_equal(everything[1:], everything[:-1], out=first[1:])
    distinct = everything[first]
    borders = np.arange(topics + 1).astype(_U64) << _U64(64 - _topic_bits(topics))
    return np.diff(np.searchsorted(distinct, borders)).astype(np.int64)


def outside(ranking: Ranking, policies: Policies, distinct: Counts | None) -> Counts:
    """Unjudged documents that may be relevant and are not in the ranking, for each topic.

    `distinct` counts what all runs retrieved; the universes `run` and `+N` do without it.
    """
    judged_here = np.bincount(ranking.topic, minlength=len(ranking.topics))
    if policies.universe == "runs" and distinct is not None:
        return np.maximum(distinct - (ranking.retrieved - judged_here), 0)
    extra = 0 if policies.universe in ("run", "runs") else int(policies.universe[1:])
    return np.full(len(ranking.topics), extra)


def cap(measure: Measure, ranking: Ranking, policies: Policies, depth: int) -> Counts | None:
    """The most unjudged documents that may turn out relevant, for each topic; None: all of them.

    A number; a multiple of the relevant documents known (`2x`); or what Zobel's extrapolation of the
    pool's growth down to `depth` leaves to be found.
    """
    if policies.at_most is None:
        return None
    level = float(measure.get("rel") or 1)
    if policies.at_most == "growth":
        return new_relevant(ranking.judgments, level, depth)
    if policies.at_most.endswith("x"):
        return np.floor(float(policies.at_most[:-1]) * ranking.relevant(level)).astype(np.int64)
    return np.full(len(ranking.topics), int(policies.at_most))
