"""What bounds are, what they are taken over, and which function gives them for which measure.

`@bounded("Name", ...)` registers a function for one measure or several. Nothing else lists them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Literal, NamedTuple

import numpy as np

from sounding.errors import DataError
from sounding.measures.registry import Measure, definition
from sounding.ranking import Counts, Ranking, Values

Kind = Literal["exact", "contains", "none"]


@dataclass(frozen=True, slots=True, eq=False)
class Unknowns:
    """What else may turn out relevant, beside the unjudged documents that the run retrieved itself."""

    outside: Counts  # (topic,) unjudged documents that the run did not retrieve
    at_most: Counts | None = None  # (topic,) how many unjudged documents may be relevant in all; None: any

    def __post_init__(self) -> None:
        for name in ("outside", "at_most"):
            counts = getattr(self, name)
            if counts is not None and (counts < 0).any():
                raise DataError(f"unknowns: {name} is {counts.min()} for a topic; expected a count from 0")


class Bounds(NamedTuple):
    """The least and the most that a value can be, for every topic."""

    lower: Values
    upper: Values
    kind: Kind  # exact: attained; contains: the truth is inside, perhaps by far; none: the measure's range
    # RBP and ERR only. What the unjudged documents within k can add, which is upper - lower; and what
    # documents after them, at ranks beyond k or beyond the end, could add to an endless ranking.
    residual_unjudged: Values | None = None
    residual_tail: Values | None = None


Bounder = Callable[[Measure, Ranking, Unknowns], Bounds]
_BOUNDERS: dict[str, Bounder] = {}


def bounded(*names: str) -> Callable[[Bounder], Bounder]:
    """Register the bounds of these measures; the function reads their parameters off the measure."""

    def register(function: Bounder) -> Bounder:
        for name in names:
            if definition(name).name in _BOUNDERS:
                raise ValueError(f"two functions give the bounds of {name!r}")
            _BOUNDERS[name] = function
        return function

    return register


def bounder(name: str) -> Bounder:
    """The function that gives the bounds of a measure; where there is none, the range of the measure.

    Families are loaded in turn until one knows the measure: AP alone should not pay for all of them.
    """
    for family in ("precision", "gain", "utility", "recall", "contained"):
        if name in _BOUNDERS:
            break
        import_module(f"sounding.bounds.{family}")
    return _BOUNDERS.get(name, whole_range)


def whole_range(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Nothing better than where the measure always lies."""
    low, high = measure.definition.bounds
    if measure.definition.aggregate == "text":
        low = high = np.nan
    return Bounds(np.full(len(run.topics), low), np.full(len(run.topics), high), "none")


def known(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """The value itself: no judgment that is still to come is part of it."""
    value = measure(run)
    return Bounds(value, value.copy(), "exact")
