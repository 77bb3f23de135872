"""Random parts of the judgments, as Buckley & Voorhees (2004) draw them.

For every topic the relevant and the other judged documents are each put in a random order, and a share of
both is kept from the front. So a smaller part lies within every larger one of the same draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.regrading import JUDGED, POOLED, Regrading, States

LEAST_RELEVANT = 1  # of a topic, where it has so many
LEAST_OTHERS = 10


def part_of_judgments(regrading: Regrading, share: float, seed: Sequence[int], *, level: float = 1) -> States:
    """Return the state of every judgment where a random share of them stays."""
    sizes = PartSizes.of(regrading, level)
    stays = random_places(regrading, level, seed) < sizes.kept(share)[sizes.group]
    return np.where(stays, regrading.full, POOLED).astype(np.int8)


@dataclass(frozen=True, slots=True, eq=False)
class PartSizes:
    """How many judgments of either kind a topic t has: those of group 2t + 1 are relevant, of 2t not."""

    group: NDArray[np.int64]  # (row of the qrels,)
    total: NDArray[np.int64]  # (group,)
    least: NDArray[np.int64]  # (group,) of which so many stay whatever the share

    @staticmethod
    def of(regrading: Regrading, level: float) -> PartSizes:
        """Count the judgments of a collection."""
        group = _kinds(regrading, level)
        total = np.bincount(group[regrading.full == JUDGED], minlength=2 * len(regrading.topics))
        return PartSizes(group, total, np.tile([LEAST_OTHERS, LEAST_RELEVANT], len(regrading.topics)))

    def kept(self, share: float) -> NDArray[np.int64]:
        """(group,): how many stay, to the nearest whole number."""
        return np.minimum(
            self.total, np.maximum(self.least, np.floor(share * self.total + 0.5).astype(np.int64))
        )


def _kinds(regrading: Regrading, level: float) -> NDArray[np.int64]:
    return regrading.row_topic * 2 + (regrading.row_grade >= level)


def random_places(regrading: Regrading, level: float, seed: Sequence[int]) -> NDArray[np.int64]:
    """(row of the qrels,): its place, from 0, in a random order of the judgments of its topic and kind.

    Documents that were pooled and not judged stand behind the others: they have no judgment to lose.
    """
    rng = np.random.default_rng(seed)
    group = _kinds(regrading, level)
    chance = np.where(regrading.full == JUDGED, rng.random(len(group)), 2.0)
    order = np.lexsort((chance, group))
    starts = np.searchsorted(group[order], np.arange(2 * len(regrading.topics)))
    place = np.empty(len(group), np.int64)
    place[order] = np.arange(len(group)) - starts[group[order]]
    return place
