"""One thing that is said of a collection: an answer, the figure behind it, and the rule that makes it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Answer = Literal["yes", "with care", "no", "not known", "note"]

NAMED = 5  # topics, runs or documents in a statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """One thing that can be said of a collection."""

    about: str
    answer: Answer
    claim: str
    figure: str  # what `value` is
    value: float  # NaN: not known
    rule: str  # what makes the answer
    why: str  # the claim's reasons, with all of their figures


def listed(names: Sequence[str], count: int | None = None) -> str:
    """The first names, and how many more there are of `count`, or of all."""
    more = (len(names) if count is None else count) - NAMED
    return ", ".join(names[:NAMED]) + (f" and {more:,} more" if more > 0 else "")
