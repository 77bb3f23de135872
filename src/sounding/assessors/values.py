"""Systems under every assessor's judgments: the values that qrels of several assessors are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sounding.align import align, prepare, treat_unjudged
from sounding.arrays import NDArray
from sounding.assessors.combining import combine
from sounding.assessors.panel import Panel
from sounding.data.reading import check_topics, map_runs
from sounding.data.tables import Places, Run
from sounding.errors import DataError
from sounding.measures import Measure, parse_measures
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.workers import Progress

COMBINED = ("union", "intersection")

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class AssessorValues:
    """The value of every system on every topic under each assessor's judgments, and under combined ones."""

    assessors: tuple[str, ...]
    combined: tuple[str, ...]  # further judgments, behind those of the assessors
    systems: tuple[str, ...]
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    values: Floats  # (assessor and combined, measure, system, topic); NaN: no value
    relevant: Places  # (assessor and combined, measure, topic) relevant documents, at the measure's level
    policies: Policies


def evaluate_assessors(
    panel: Panel,
    runs: Any,
    measures: Any,
    *,
    policies: Policies = DEFAULT_POLICIES,
    level: float = 1,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> AssessorValues:
    """Every run under every assessor's judgments, their union and their intersection; each run is read once.

    A text that names no level of relevance of its own counts from `level`; a `Measure` is taken as it is.
    """
    wanted = parse_measures(measures, level=level)
    _check(wanted, policies)
    made = [panel.qrels_of(place) for place in range(len(panel.assessors))]
    sides = [prepare(qrels, policies) for qrels in (*made, *(combine(panel, how) for how in COMBINED))]

    def work(run: Run) -> Floats:
        check_topics(run, panel.topics, policies)
        rankings = [treat_unjudged(align(run, side, policies), policies) for side in sides]
        return np.array([[measure(ranking) for measure in wanted] for ranking in rankings])

    read = map_runs(work, runs, policies, run_format=run_format, jobs=jobs, progress=progress)
    if len(read.names) < 2:
        raise DataError(f"too little to rank: runs {len(read.names)}; expected at least two")
    levels = [_level(measure, level) for measure in wanted]
    return AssessorValues(
        assessors=panel.assessors, combined=COMBINED, systems=read.names, measures=wanted,
        topics=panel.topics, values=np.stack(read.results, axis=2),
        relevant=np.array([[side.judgments.relevant(one) for one in levels] for side in sides]),
        policies=policies,
    )  # fmt: skip


def _level(measure: Measure, level: float) -> float:
    """From which grade a document is relevant to a measure; where grades count as they are, `level`."""
    own = measure.get("rel")
    return level if own is None else float(own)


def _check(measures: tuple[Measure, ...], policies: Policies) -> None:
    if not measures:
        raise DataError("no measures to rank systems by; give at least one")
    for measure in measures:
        if measure.definition.aggregate != "mean":
            raise DataError(f"{measure} has no mean over topics, which qrels are resampled for; leave it out")
    if policies.unjudged not in ("nonrelevant", "condensed"):
        raise DataError(
            f"unjudged {policies.unjudged} gives no single value to rank systems by;"
            " use nonrelevant or condensed"
        )
    if policies.missing == "skip":
        raise DataError("missing skip compares systems over different topics; use zero or error")
