"""The result of `pool`: documents to judge, what strategies find, or what a pool costs and covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sounding.core.policies import Policies
from sounding.pool.aimed import AimedSample
from sounding.pool.contributors import Contributors
from sounding.pool.foresight import Foresight
from sounding.runs.ranking import Values
from sounding.runs.retrieved import Retrieved
from sounding.selection.strategies import Kind, Pick, Replay, TopicQueues

DEPTH = 100  # of a pool, unless another is given


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Pooling:
    """A pool with the next documents to judge, replays of its judging, or its costs and coverage."""

    contributors: Contributors
    pool: Retrieved  # the lists of the contributing runs, cut at its depth
    depth: int
    policies: Policies
    seed: int
    kinds: tuple[Kind, ...]  # the strategies
    parameters: Mapping[str, Mapping[str, Any]]  # strategy -> all its parameters
    grades: Values  # (document,) NaN: not judged, or not in the pool
    judgments: int  # in the qrels, whether or not the pool has the document
    cut: str | None  # how --pool-depth cut the judgments, in a sentence
    picks: tuple[Pick, ...] = ()  # the next documents to judge
    replays: Mapping[str, Replay] = field(default_factory=dict)  # by strategy
    samples: Mapping[str, TopicQueues] = field(default_factory=dict)  # the strategies that draw a sample
    foresight: Foresight | None = None
    aimed: AimedSample | None = None  # the sample of for-estimate

    @property
    def size(self) -> int:
        """Return how many documents the pool has."""
        return int(np.count_nonzero(self.pool.best_ranks()))

    @property
    def judged(self) -> int:
        """Return how many documents of the pool are judged."""
        return int(np.count_nonzero(~np.isnan(self.grades)))

    def documents(self) -> list[tuple[str, str]]:
        """Return topic and doc id of the next documents to judge."""
        return [(self.pool.topics[pick.topic], self.pool.docs.text(pick.document)) for pick in self.picks]
