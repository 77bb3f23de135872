"""Determine which unjudged documents may still be relevant, and how many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sounding.core.policies import Policies
from sounding.data.fast.keys import distinct_keys
from sounding.data.fast.tokens import Words
from sounding.data.tables import Run
from sounding.measures import Measure
from sounding.relevance.growth import new_relevant
from sounding.runs.align import Judged, topic_rows
from sounding.runs.ranking import Counts, Ranking


def counts_others(policies: Policies) -> bool:
    """Return whether the documents of all runs must be counted."""
    return policies.unjudged in ("bounds", "expected") and policies.universe == "runs"


class Marks(NamedTuple):
    """The unjudged documents that a run retrieved; those of topic t are keys[starts[t]:starts[t + 1]]."""

    starts: Counts  # (topic + 1,)
    keys: Words


def unjudged_marks(run: Run, judged: Judged, found: tuple[Counts, Counts]) -> Marks:
    """Return the keys of a run's unjudged documents by judged topic; `found` is the result of `matches`."""
    rows = topic_rows(run, judged)
    here, there = found
    if judged.judgments.pooled.any():
        here = here[judged.grades[there] >= 0]
    unjudged = np.repeat(rows >= 0, run.sizes)
    unjudged[here] = False
    keys = run.pair_keys().compress(unjudged)
    known = rows >= 0
    kept = (run.sizes - np.diff(np.searchsorted(here, run.starts)))[known]
    sizes = np.zeros(len(judged.judgments.topics), np.int64)
    sizes[rows[known]] = kept
    if (np.diff(rows[known]) < 0).any():
        topic = np.repeat(rows[known], kept)
        keys = keys[np.argsort(topic, kind="stable")]
    return Marks(np.concatenate([[0], np.cumsum(sizes)]), keys)


def count_distinct(marks: Sequence[Marks], topics: int) -> Counts:
    """Count the different documents in the marks of several runs, for each topic."""
    counts = np.zeros(topics, np.int64)
    for topic in range(topics if marks else 0):
        slices = [mark.keys[mark.starts[topic] : mark.starts[topic + 1]] for mark in marks]
        counts[topic] = distinct_keys(np.concatenate(slices))
    return counts


def outside(ranking: Ranking, policies: Policies, distinct: Counts | None) -> Counts:
    """Count the unjudged documents of each topic that may be relevant and are not in the ranking.

    `distinct` counts what all runs retrieved; the universes `run` and `+N` do not need it.
    """
    if policies.universe == "runs" and distinct is not None:
        return np.maximum(distinct - (ranking.retrieved - ranking.judged()), 0)
    extra = 0 if policies.universe in ("run", "runs") else int(policies.universe[1:])
    return np.full(len(ranking.topics), extra)


def cap(measure: Measure, ranking: Ranking, policies: Policies, depth: int) -> Counts | None:
    """Return the largest number of unjudged documents that may be relevant, per topic; None: all.

    A number; a multiple of the known relevant documents (`2x`); or the number that Zobel's extrapolation of
    the pool's growth to `depth` leaves to be found.
    """
    if policies.at_most is None:
        return None
    level = float(measure.get("rel") or 1)
    if policies.at_most == "growth":
        return new_relevant(ranking.judgments, level, depth)
    if policies.at_most.endswith("x"):
        return np.floor(float(policies.at_most[:-1]) * ranking.relevant(level)).astype(np.int64)
    return np.full(len(ranking.topics), int(policies.at_most))
