"""Conclusions that would stand if pooled runs were compared below the pool depth.

Lu, Moffat and Culpepper (2016) warn against evaluation deeper than the pool unless the collection is known
to be fit for it, and leave open how to know. Here the relevance model answers. A paired t test concludes at k
from the judgments there are; the model gives the chance that it would conclude the same if the top k of every
pooled run were judged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sounding.audit.judged_runs import JudgedRuns
from sounding.compare.holds import holding
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.core.workers import Progress
from sounding.measures import Measure
from sounding.runs.pairs import all_pairs
from sounding.runs.pool import parse_until
from sounding.statistics.forecasts import SURE

TIMES = (2, 5, 10)  # how much deeper than the pool; the forecast was tried no deeper
DRAWS = 25  # enough for a mean over pairs: another seed changes it by about 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class DeeperEvaluation:
    """The pooled runs compared by one measure at one depth below the pool's."""

    measure: Measure  # at this depth
    k: int
    times: float  # the depth, in units of the pool's
    unjudged: int  # documents of the pooled runs down to this depth
    pairs: int
    significant: int | None  # pairs that differ significantly, by a paired t test of each; None: not known
    holds: float  # the mean chance that a conclusion stands; NaN: not known
    very_likely: float  # the share of conclusions with a chance of 95% or more; NaN: not known
    reason: str  # why it is not known; empty: it is


def depths_beyond(runs: JudgedRuns) -> tuple[int, ...]:
    """Return the depths to look at: multiples of the pool's, as far as the lists of pooled runs reach.

    None if there are no two pooled runs to compare.
    """
    if not runs.pool.depth or np.count_nonzero(runs.contributing) < 2:
        return ()
    end = int(runs.retrieved.lengths[runs.contributing].max(initial=0))
    return tuple(
        sorted({min(times * runs.pool.depth, end) for times in TIMES} - {*range(runs.pool.depth + 1)})
    )


def at_depth(measure: Measure, k: int, level: float) -> Measure:
    """Return the measure cut off at a depth; for one without a cut-off, average precision."""
    cut = measure.definition.at == "k" and measure.definition.takes("k")
    return measure.replace(k=k) if cut else Measure.of("AP", rel=level, k=k)


def deeper_evaluation(
    runs: JudgedRuns, measures: Sequence[Measure], k: int, progress: Progress | None = None
) -> list[DeeperEvaluation]:
    """Forecast how many conclusions about pooled runs at a depth would stand, for each measure.

    `progress` counts these runs.
    """
    wanted = list(dict.fromkeys(at_depth(measure, k, runs.level) for measure in measures))
    lists = runs.retrieved.pick(runs.contributing)
    pooled, until = replace(runs, retrieved=lists), parse_until(f"pool:{k}")
    considered = until.considered(lists, np.ones(len(lists.runs), np.bool_))
    pairs = all_pairs(len(lists.runs))
    unjudged = int(np.count_nonzero(considered & np.isnan(runs.grades())))
    concluded = chances = np.full((len(wanted), len(pairs)), np.nan)
    try:
        found = holding(
            pooled, wanted, considered, until, pairs=pairs, draws=DRAWS, seed=runs.policies.seed,
            progress=progress,
        )  # fmt: skip
    except DataError as error:  # a measure that drawn judgments do not allow, or too many documents
        reason = str(error)
    else:
        concluded, chances, reason = found.concluded, found.conclusion, found.reason
    known = np.isfinite(chances)
    return [
        DeeperEvaluation(
            measure=measure, k=k, times=k / runs.pool.depth, unjudged=unjudged,
            pairs=int(np.count_nonzero(known[row])) or len(pairs),
            significant=_count(concluded[row]),
            holds=_mean(chances[row, known[row]]), very_likely=_mean(chances[row, known[row]] >= SURE),
            reason=reason,
        )
        for row, measure in enumerate(wanted)
    ]  # fmt: skip


def _count(concluded: np.ndarray) -> int | None:
    return None if np.isnan(concluded).all() else int(np.count_nonzero(np.nan_to_num(concluded)))


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def frame_of(found: Sequence[DeeperEvaluation]) -> polars.DataFrame:
    """Return one row per depth and measure."""
    columns = ("k", "times", "unjudged", "pairs", "significant", "holds", "very_likely")
    rows = {name: [getattr(one, name) for one in found] for name in columns}
    return polars.DataFrame(
        {"measure": [str(one.measure) for one in found], **rows}, schema_overrides={"measure": polars.String}
    ).fill_nan(None)
