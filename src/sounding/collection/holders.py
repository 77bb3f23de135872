"""Who has which documents: runs or groups by document, and what any two runs of a topic share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sounding.arrays import NDArray
from sounding.ranking import Counts, Values
from sounding.retrieved import NONE, Retrieved

Flags = NDArray[np.bool_]


def held_by_owner(retrieved: Retrieved, owners: Sequence[str]) -> Iterator[tuple[str, Flags]]:
    """(owner, (document,) whether a run of theirs has it), owners as they first come; one owner a run."""
    for owner in dict.fromkeys(owners):
        held = np.zeros(len(retrieved.docs) + 1, np.bool_)
        held[retrieved.lists[[own == owner for own in owners]]] = True  # NONE marks the last place
        yield owner, held[:NONE]


def holders_by_owner(retrieved: Retrieved, owners: Sequence[str]) -> Counts:
    """(document,): how many owners have it."""
    count = np.zeros(len(retrieved.docs), np.int64)
    for _, held in held_by_owner(retrieved, owners):
        count += held
    return count


def shared_by_runs(retrieved: Retrieved) -> Iterator[tuple[Values, Values]]:
    """For each topic, documents that two runs share, (run, run), and those that each run has, (run,)."""
    runs = len(retrieved.runs)
    for topic, size in enumerate(retrieved.sizes.tolist()):
        own = retrieved.lists[:, topic]
        held = np.zeros((runs, size + 1), np.float32)
        held[np.arange(runs)[:, np.newaxis], np.where(own == NONE, NONE, own - retrieved.starts[topic])] = 1
        held = held[:, :NONE]
        yield (held @ held.T).astype(np.float64), held.sum(axis=1, dtype=np.float64)
