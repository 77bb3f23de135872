"""Define what bounds range over, where unjudged documents are, and which function bounds which measure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Literal, NamedTuple

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.registry import Measure, definition
from sounding.measures.totals import count_retrieved
from sounding.runs.ranking import Counts, Judgments, Ranking, Values, distinct

Kind = Literal["exact", "contains", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class Unknowns:
    """Unjudged documents that may be relevant, beyond those that the run itself retrieved."""

    outside: Counts  # (topic,) unjudged documents that the run did not retrieve
    # (topic,) how many unjudged documents may be relevant in all; None: any number
    at_most: Counts | None = None

    def __post_init__(self) -> None:
        for name in ("outside", "at_most"):
            counts = getattr(self, name)
            if counts is not None and (counts < 0).any():
                raise DataError(f"unknowns: {name} is {counts.min()} for a topic; give counts of 0 or more")


class Bounds(NamedTuple):
    """The smallest and largest possible value, for every topic."""

    lower: Values
    upper: Values
    kind: Kind  # exact: attained; contains: the truth is inside; none: the measure's range
    # RBP and ERR only. What the unjudged documents within k can add, which is upper - lower; and what
    # documents after them, at ranks beyond k or beyond the end, could add to an endless ranking.
    residual_unjudged: Values | None = None
    residual_tail: Values | None = None


Bounder = Callable[[Measure, Ranking, Unknowns], Bounds]
_BOUNDERS: dict[str, Bounder] = {}


def register_bounds(*names: str) -> Callable[[Bounder], Bounder]:
    """Register the bounds of these measures; the function reads their parameters from the measure."""

    def register(function: Bounder) -> Bounder:
        for name in names:
            if definition(name).name in _BOUNDERS:
                raise ValueError(f"two functions give the bounds of {name!r}")
            _BOUNDERS[name] = function
        return function

    return register


def bounder(name: str) -> Bounder:
    """Return the function that bounds a measure; if there is none, the range of the measure.

    Families are loaded in turn until one knows the measure, so that AP alone does not load them all.
    """
    for family in ("precision", "gain", "utility", "recall", "contained", "novelty"):
        if name in _BOUNDERS:
            break
        import_module(f"sounding.measures.bounds.{family}")
    return _BOUNDERS.get(name, whole_range)


def whole_range(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Return the range of the measure."""
    low, high = measure.definition.bounds
    if measure.definition.aggregate == "text":
        low = high = np.nan
    return Bounds(np.full(len(run.topics), low), np.full(len(run.topics), high), "none")


def known(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Return the value itself: no future judgment can change it."""
    value = measure(run)
    return Bounds(value, value.copy(), "exact")


_FINEST = 1000  # a scale of more whole grades than this is one of scores: only grades that occur count


class Room(NamedTuple):
    """Number of documents of each topic that can still turn out relevant, and their places."""

    within: Counts  # unjudged documents among the first k
    elsewhere: Counts  # the run's own below k, and those it did not retrieve
    cap: Counts  # the largest number of relevant documents

    @property
    def most_within(self) -> Counts:
        """The largest number of new relevant ones among the first k."""
        return np.minimum(self.within, self.cap)

    @property
    def most_elsewhere(self) -> Counts:
        """The largest number of new relevant ones that are not among the first k."""
        return np.minimum(self.elsewhere, self.cap)

    @property
    def left_within(self) -> Counts:
        """The largest number among the first k once as many as possible elsewhere are relevant."""
        return np.minimum(self.within, self.cap - self.most_elsewhere)


def room(run: Ranking, k: int | None, unknowns: Unknowns) -> Room:
    """Return the room for further relevant documents, with a cut-off at k."""
    unjudged = run.retrieved - run.judged()
    within = count_retrieved(run, k) - run.judged(k)
    elsewhere = unjudged - within + unknowns.outside
    cap = within + elsewhere
    return Room(within, elsewhere, cap if unknowns.at_most is None else np.minimum(cap, unknowns.at_most))


class Holes(NamedTuple):
    """The unjudged documents among the first k, by topic and rank."""

    topic: Counts
    rank: Counts
    nth: Counts  # from 1 within a topic


def holes(run: Ranking, k: int | None) -> Holes:
    """Return every unjudged document among the first k."""
    depth = count_retrieved(run, k)
    ends = np.cumsum(depth)
    above = ends - depth  # number of documents of the topics before
    topics, ranks = run.topic, run.rank
    if k is not None:
        near = (ranks <= k).nonzero()[0]
        topics, ranks = topics.take(near), ranks.take(near)
    unjudged = np.ones(int(depth.sum()), np.bool_)
    unjudged[above.take(topics) + ranks - 1] = False
    place = unjudged.nonzero()[0]
    topic = np.searchsorted(ends, place, side="right")
    first = np.searchsorted(topic, np.arange(len(depth)))
    return Holes(topic, place - above[topic] + 1, np.arange(1, len(place) + 1) - first[topic])


def first_documents(run: Ranking, k: int | None) -> Ranking:
    """Return the first k documents of every topic."""
    return run if k is None or run.retrieved.max(initial=0) <= k else run.cut(k)


def fill_unjudged(run: Ranking, k: int | None, grade: float, most: Counts) -> Ranking:
    """Give the first `most` unjudged documents of each topic, among the first k, this grade.

    The judgments stay as they are, so this is for measures that do not need what was not retrieved.
    """
    near = first_documents(run, k)
    new = holes(near, None)
    chosen = new.nth <= most[new.topic]
    topic = np.concatenate([near.topic, new.topic[chosen]])
    rank = np.concatenate([near.rank, new.rank[chosen]])
    order = np.argsort(topic * (int(near.retrieved.max(initial=0)) + 1) + rank, kind="stable")
    grades = np.concatenate([near.grade, np.full(len(topic) - len(near.grade), grade)])
    return replace(near, topic=topic[order], rank=rank[order], grade=grades[order], judgment=None)


def scale(judgments: Judgments, rel: float | None = None) -> Values:
    """Return the possible grades, ascending: whole ones from 0 to the highest, and all that occur.

    A `rel` above the highest grade counts as possible too.
    """
    whole = np.arange(0.0, judgments.highest + 1) if judgments.highest <= _FINEST else np.zeros(1)
    options = np.concatenate([np.minimum(whole, judgments.highest), judgments.levels, [judgments.highest]])
    return distinct(options if rel is None else np.append(options, rel))
