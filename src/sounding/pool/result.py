"""What `pool` gives: the documents to judge, what strategies find, or what a pool will cost and cover."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sounding.core.policies import Policies
from sounding.pool.contributors import Contributors
from sounding.pool.foresight import Foresight
from sounding.runs.ranking import Values
from sounding.runs.retrieved import Retrieved
from sounding.selection.strategies import Kind, Pick, Replay, TopicQueues


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pooling:
    """A pool, and what was asked of it: the next documents, replays of its judging, or what it costs."""

    contributors: Contributors
    pool: Retrieved  # what the contributing runs bring to it
    depth: int
    policies: Policies
    seed: int
    kinds: tuple[Kind, ...]  # the strategies
    parameters: Mapping[str, Mapping[str, Any]]  # strategy -> all its parameters
    grades: Values  # (document,) of the pool; NaN: not judged
    judgments: int  # that were given, of documents of the pool or not
    cut: str | None  # how the judgments were cut, in a sentence
    picks: tuple[Pick, ...] = ()  # the next documents to judge
    replays: Mapping[str, Replay] = field(default_factory=dict)  # strategy -> what it had judged
    samples: Mapping[str, TopicQueues] = field(default_factory=dict)  # those of the strategies that draw
    foresight: Foresight | None = None

    @property
    def size(self) -> int:
        """How many documents the pool has."""
        return int(np.count_nonzero(self.pool.best_ranks()))

    @property
    def judged(self) -> int:
        """How many of them are judged already."""
        return int(np.count_nonzero(~np.isnan(self.grades)))

    def documents(self) -> list[tuple[str, str]]:
        """Return topic and doc id of the next documents to judge."""
        return [(self.pool.topics[pick.topic], self.pool.docs.text(pick.document)) for pick in self.picks]
