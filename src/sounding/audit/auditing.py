"""audit(): all that tells how far a collection can be trusted, each part found when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.audit.judged_runs import NOT_AUDITED, read_judged_runs, refuse_measures
from sounding.audit.leave_out import Among, Remove
from sounding.audit.pseudo import DRAWS
from sounding.audit.result import Audit
from sounding.core.errors import DataError
from sounding.core.limits import check_count
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.workers import Progress
from sounding.data.reading import Reading
from sounding.data.run_info import RunInfo, reported_runs
from sounding.measures import parse_measures
from sounding.measures.registry import grades_suffice, needs_intents
from sounding.measures.summaries import needs_pool_ranks

DEFAULT_MEASURES = ("AP", "nDCG@10", "P@10")


def audit(
    qrels: Any,
    runs: Any,
    measures: Any = DEFAULT_MEASURES,
    *,
    new: Any = (),
    info: Mapping[str, RunInfo] | None = None,
    only: str | Sequence[str] = (),
    pool_depth: int | None = None,
    level: float = 1,
    remove: Remove = "relevant",
    unique_among: Among = "pooled",
    draws: int = DRAWS,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Audit:
    """Judgments and runs of a collection, ready to be asked how far they can be trusted.

    Runs are files, folders, globs, tables, dicts or frames, as for `evaluate`; `new` names files of runs
    that had no part in the judgments. `info` tells group and kind of runs and which were pooled. `remove`
    says what leaving out a run or group takes away: relevant documents that nobody else found, or all
    judgments of what nobody else found. `only` reports only runs that meet conditions on `info` (see
    `compare`): their rows, and the means and correlations over runs; the pool stays that of all runs.
    `unique_among` says who nobody is: the other pooled runs, or all.
    Runs may also be what `list_runs` read.
    """
    check_count("draws", draws, 1)
    asked = parse_measures(measures, level=level)
    others = [measure for measure in asked if not grades_suffice(measure)]
    wanted = tuple(measure for measure in asked if grades_suffice(measure))
    refuse_measures(wanted or asked)
    if needs_intents(others):  # the other measures see the best grade of each document
        qrels = Reading(qrels_format=qrels_format).judgments(qrels, policies, intents=True)
    found = read_judged_runs(
        qrels, runs, new=new, info=info, pool_depth=pool_depth, level=level, policies=policies,
        qrels_format=qrels_format, run_format=run_format, jobs=jobs, progress=progress,
    )  # fmt: skip
    if others:
        left_out = f"without {', '.join(map(str, others))}: {NOT_AUDITED}"
        found = replace(found, remarks=(*found.remarks, left_out))
    if not found.judgments.relevant(level).any():
        highest = f"{found.judgments.grades.max():g}" if len(found.judgments.grades) else "none"
        raise DataError(
            f"{found.qrels.source}: no relevant document at level {level:g}; the highest grade is {highest}"
        )
    if found.qrels.pool_ranks is None and found.pool.known and needs_pool_ranks(wanted):
        found = found.with_pool_ranks(found.contributing)
    reported = reported_runs(found.runs, found.retrieved.tags, info, only)
    return Audit(
        runs=found,
        reported=np.ones(len(found.runs), np.bool_) if reported is None else reported | found.new,
        measures=wanted,
        remove=remove,
        among=unique_among,
        draws=draws,
        seed=policies.seed,
    )
