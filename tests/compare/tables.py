"""Scores made by hand, as comparisons take them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse
from sounding.measures.assessed import FIRST_UNJUDGED, JUDGED, RETRIEVED


def scores_of(
    values: Mapping[str, ArrayLike],
    *,
    lengths: ArrayLike | None = None,
    first_unjudged: ArrayLike | None = None,
) -> Scores:
    """Scores from values by run and topic for each measure; lists have 1,000 documents unless told."""
    tables: dict[Measure, np.ndarray] = {
        parse(name): np.asarray(table, np.float64) for name, table in values.items()
    }
    shape = next(iter(tables.values())).shape
    runs, topics = shape
    tables[RETRIEVED] = np.broadcast_to(
        np.asarray(1000 if lengths is None else lengths, np.float64).reshape(-1, 1), shape
    )
    tables.setdefault(JUDGED, np.full(shape, 100.0))
    if first_unjudged is not None:
        tables[FIRST_UNJUDGED] = np.broadcast_to(np.asarray(first_unjudged, np.float64).reshape(-1, 1), shape)
    by_rank = None
    if first_unjudged is not None:  # behind the first unjudged document nothing is judged
        ends = np.minimum(tables[RETRIEVED], np.nan_to_num(tables[FIRST_UNJUDGED] - 1, nan=np.inf))
        by_rank = (ends[..., np.newaxis] > np.arange(int(tables[RETRIEVED].max()))).sum(axis=1)
    names = tuple(f"r{number}" for number in range(1, runs + 1))
    any_scores = evaluate({"1": {"a": 1}}, [{"1": {"a": 1.0}}], ["P@1"])
    return replace(
        any_scores,
        runs=names, tags=names, measures=tuple(tables),
        topics=tuple(str(401 + number) for number in range(topics)),
        values=np.stack(list(tables.values()), axis=1),
        judged=np.ones((runs, len(tables), topics)), missing=np.zeros(shape, np.bool_),
        lengths=tables[RETRIEVED].astype(np.int64), ignored=(0,) * runs,
        sampling_errors=np.full((runs, len(tables), topics), np.nan), judged_by_rank=by_rank,
    )  # fmt: skip


def around(*means: float, topics: int = 30, spread: float = 0.05, seed: int = 0) -> np.ndarray:
    """(run, topic): values that vary about each mean; runs of equal mean differ by chance alone."""
    rng = np.random.default_rng(seed)
    return np.asarray(means)[:, np.newaxis] + rng.normal(0, spread, (len(means), topics))
