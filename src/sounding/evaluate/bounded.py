"""The smallest and largest possible values of all runs over their unjudged documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.policies import Policies
from sounding.core.workers import map_items
from sounding.evaluate.result import BOUNDS, ValueBounds
from sounding.measures import Measure
from sounding.measures.bounds import Bounds, Unknowns, bounds
from sounding.measures.universe import cap
from sounding.runs.ranking import Counts, Ranking


def value_bounds(
    rankings: Sequence[Ranking],
    outside: Sequence[Counts],
    measures: Sequence[Measure],
    policies: Policies,
    processes: int = 1,
) -> ValueBounds:
    """Least and most of every value; `outside` counts, for each run, what else may be relevant."""
    grows = policies.at_most == "growth"  # down to the deepest ranking
    depth = max(int(ranking.retrieved.max(initial=0)) for ranking in rankings) if grows else 0

    def work(number: int) -> list[Bounds]:
        ranking, others = rankings[number], outside[number]
        caps = (cap(measure, ranking, policies, depth) for measure in measures)
        return [bounds(m, ranking, Unknowns(others, most)) for m, most in zip(measures, caps, strict=True)]

    found = map_items(work, range(len(rankings)), processes=processes)
    return ValueBounds(
        **{name: table_of(found, name, rankings, policies) for name in BOUNDS},
        kinds=tuple(one.kind for one in found[0]),
    )


def table_of(
    found: Sequence[Sequence[Any]], name: str, rankings: Sequence[Ranking], policies: Policies
) -> NDArray[np.float64]:
    """(run, measure, topic): one field of what was found; NaN where it is lacking or the topic is skipped."""
    unknown = np.full(len(rankings[0].topics), np.nan)
    parts = [[None if one is None else getattr(one, name) for one in row] for row in found]
    table = np.array([[unknown if part is None else part for part in row] for row in parts])
    if policies.missing == "skip":
        for run, ranking in enumerate(rankings):
            table[run][:, ranking.missing] = np.nan
    return table
