"""Whether judgments that were made for some runs serve one more: each run is left out in turn.

Judgments are collected for the others; then the run is put back, and all are ranked with what was judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import NamedTuple

import numpy as np

from sounding.core.workers import Progress, map_items
from sounding.runs.ranking import Values
from sounding.runs.retrieved import Retrieved
from sounding.selection.mtc.session import Session, SessionParameters
from sounding.selection.strategies import judging
from sounding.simulate.trial import Truth
from sounding.statistics.rank_correlation import kendall_tau


class Reuse(NamedTuple):
    """How things stood after so many judgments that a run had no part in."""

    run: str  # that was left out
    seed: int
    judgments: int
    without: float  # confidence in the order of the other runs
    confidence: float  # confidence in the order of all runs, with that one put back
    tau: float  # of the expected values of all runs with the truth
    place: int  # of the run by expected values, from 1
    true_place: int


def prior_when_back(prior: str) -> str:
    """The prior for ranking all runs: one number for all documents gives way to the rate of relevance."""
    try:
        float(prior)
    except ValueError:
        return prior
    return "rate"


def reuse(
    retrieved: Retrieved,
    truth: Truth,
    parameters: SessionParameters,
    checkpoints: Sequence[int],
    *,
    seeds: Sequence[int] = (0,),
    processes: int = 1,
    progress: Progress | None = None,
) -> list[Reuse]:
    """One row for every run left out, seed and number of judgments, as far as there is something to judge."""
    items = [(seed, run) for run in range(len(retrieved.runs)) for seed in seeds]
    found = map_items(
        lambda item: _without(retrieved, truth, parameters, checkpoints, *item),
        items, processes=processes, progress=progress,
    )  # fmt: skip
    return [row for rows in found for row in rows]


def _without(
    retrieved: Retrieved,
    truth: Truth,
    parameters: SessionParameters,
    checkpoints: Sequence[int],
    seed: int,
    left_out: int,
) -> list[Reuse]:
    others = np.arange(len(retrieved.runs)) != left_out
    session = Session(retrieved.pick(others), seed=seed, **asdict(parameters))
    back = replace(parameters, prior=prior_when_back(parameters.prior))
    judged: list[tuple[int, float]] = []
    rows = []
    for number, pick in enumerate(judging(session, truth.grades, max(checkpoints, default=0)), 1):
        judged.append((pick.document, float(truth.grades[pick.document])))
        if number in checkpoints:
            every = Session(retrieved, seed=seed, given=judged, **asdict(back)).confidence()
            row = Reuse(
                run=retrieved.runs[left_out], seed=seed, judgments=number,
                without=session.knowing([], seed).confidence().of_ranking(),
                confidence=every.of_ranking(), tau=kendall_tau(every.values, truth.values),
                place=_place(every.values, left_out), true_place=_place(truth.values, left_out),
            )  # fmt: skip
            rows.append(row)
    return rows


def _place(values: Values, run: int) -> int:
    """The place of a run, from 1; of equal ones the first."""
    return 1 + int(np.count_nonzero(values > values[run]))
