"""Fits of a session's prior to its first judgments, and when the next one is due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sounding.mtc.model import Belief
from sounding.ranking import Counts, Values

FIRST_REFIT = 8  # judgments; then at every doubling

Judged = tuple[int, bool]  # a document that counts, and whether it is relevant


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """The prior as it was fitted to the first judgments of a session."""

    judged: tuple[Judged, ...]  # in the order of the log
    belief: Belief
    probability: Values  # (document that counts,)
    by_topic: Counts  # (topic,) how many of the judgments each has

    def begins(self, judged: Sequence[Judged]) -> bool:
        """Whether these judgments begin with those of the fit."""
        return self.judged == tuple(judged[: len(self.judged)])


def due_size(first: int, judgments: int) -> int:
    """How many of so many judgments a prior should know that was first fitted to some of them."""
    size = first
    while (doubled := max(FIRST_REFIT, 2 * size)) <= judgments:
        size = doubled
    return size
