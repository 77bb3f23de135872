"""holds(): the chance that a conclusion about two runs is what full judging would give.

The values of all runs are found under many draws of complete judgments. What decides a conclusion is the t
of the pair's differences. Over draws it is nearly normal, so the chance that it stays on its side of the
critical values is taken from the normal distribution with its mean and deviation, which tells apart pairs
that all draws agree on: by how far they are from the border. The deviation is widened by half: the model
knows what it does not know of its weights, and not that it is a model. docs/holds.md has the figures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sounding.arrays import NDArray
from sounding.basis import Basis
from sounding.calibration.completions import DRAWS, completed, refuse_samples
from sounding.calibration.until import Flags, Until, parse_until
from sounding.collection.contributors import contributing_runs
from sounding.compare.holds import Holds
from sounding.compare.pairs import Pairs, all_pairs, blocks, differences, grid_decimals
from sounding.compare.requests import check_choices
from sounding.compare.student import critical, ratio
from sounding.data.run_info import RunInfo
from sounding.limits import check_count
from sounding.measures import Measure, parse_measures
from sounding.policies import DEFAULT_POLICIES, Policies
from sounding.ranking import Values
from sounding.regrading import Regrading, View, read_regrading
from sounding.workers import Progress, processes_for

Floats = NDArray[np.float64]

ALPHA = 0.05
DEFAULT_UNTIL = "runs:100"
WIDENING = 1.5  # times the deviation over draws
FARTHEST = 50.0  # a t beyond it is as far from any border as it can be
MOST_BEYOND = 0.05  # share of the judged documents that may lie outside those that would be judged
_LEAST_SPREAD = 1e-9  # of a t, or of a difference in units of its size: what is below is rounding


class Statistics:
    """The t of the differences of every pair, their means, and how many topics they are over."""

    def __init__(self, values: Floats, pairs: Pairs) -> None:
        """From values by run and topic; NaN: no value."""
        decimals = grid_decimals(values)
        parts = [differences(values, pairs[rows], decimals) for rows in blocks(len(pairs), values.shape[1])]
        self.topics = np.concatenate([part.topics for part in parts])
        self.difference = np.concatenate([part.mean for part in parts])
        deviation = np.concatenate([part.deviation for part in parts])
        error = np.nan_to_num(deviation) / np.sqrt(np.maximum(self.topics, 1))
        t = np.clip(ratio(np.nan_to_num(self.difference), error), -FARTHEST, FARTHEST)
        self.t = np.where(self.topics > 1, t, np.nan)

    def concluded(self, alpha: float) -> NDArray[np.int8]:
        """(pair,): 1 where the first run is better, -1 where it is worse, 0 where neither can be said."""
        border = borders(self.topics, alpha)
        return np.where(self.t >= border, 1, np.where(self.t <= -border, -1, 0)).astype(np.int8)


def borders(topics: NDArray[np.int64], alpha: float) -> Floats:
    """(pair,): the t from which a pair with so many topics is told apart; NaN for fewer than two."""
    return np.where(topics > 1, critical(alpha, np.maximum(topics - 1, 1)), np.nan)


def chance_of_conclusion(concluded: NDArray[np.int8], drawn: Floats, border: Floats) -> Floats:
    """(pair,): the chance that t ends on the side of the borders that was concluded.

    `drawn` are the t of every draw, (draw, pair).
    """
    low = np.where(concluded == 1, border, np.where(concluded == 0, -border, -np.inf))
    high = np.where(concluded == 1, np.inf, np.where(concluded == 0, border, -border))
    return _normal_between(drawn, low, high, 1.0)


def chance_of_sign(difference: Values, drawn: Floats) -> Floats:
    """(pair,): the chance that a difference keeps its sign; of none at all, that it stays none."""
    size = np.maximum(np.abs(drawn).max(axis=0, initial=0.0), np.abs(difference))
    same = _normal_between(drawn * np.sign(difference), np.zeros_like(difference), np.inf, size)
    stays = np.mean(np.abs(drawn) <= _LEAST_SPREAD, axis=0)
    return np.where(np.isnan(difference), np.nan, np.where(difference == 0, stays, same))


def _normal_between(drawn: Floats, low: Floats, high: Floats | float, size: Floats | float) -> Floats:
    """The chance to be within limits, by the normal distribution with the draws' mean and widened spread."""
    from scipy.special import ndtr

    centre = drawn.mean(axis=0)
    spread = np.maximum(WIDENING * drawn.std(axis=0, ddof=1), _LEAST_SPREAD * np.maximum(size, _LEAST_SPREAD))
    return np.asarray(ndtr((high - centre) / spread) - ndtr((low - centre) / spread), np.float64)


def pair_chances(present: Floats, drawn: Floats, pairs: Pairs, alpha: float) -> tuple[Any, Floats, Floats]:
    """(pair,) each: what is concluded, the chance that it holds, and that of the sign.

    `present` are the values by run and topic, `drawn` those of every draw: (run, draw, topic).
    """
    now = Statistics(present, pairs)
    each = [Statistics(drawn[:, number], pairs) for number in range(drawn.shape[1])]
    concluded = now.concluded(alpha)
    conclusion = chance_of_conclusion(
        concluded, np.array([one.t for one in each]), borders(now.topics, alpha)
    )
    sign = chance_of_sign(now.difference, np.array([one.difference for one in each]))
    return concluded, conclusion, sign


def holding(
    regrading: Regrading,
    measures: Sequence[Measure],
    considered: Flags,
    until: Until,
    *,
    view: View | None = None,
    pairs: Pairs | None = None,
    alpha: float = ALPHA,
    draws: int = DRAWS,
    seed: int = 0,
    processes: int = 1,
    progress: Progress | None = None,
) -> Holds:
    """What `holds` gives, for runs and judgments that were read.

    `view` are the judgments that there are; None: all of the qrels. `considered` documents would be judged.
    """
    seen = regrading.view() if view is None else view
    among = all_pairs(len(regrading.runs)) if pairs is None else pairs
    refuse_samples(regrading)
    present = regrading.values(measures, seen)
    basis = basis_of(regrading, seen, considered)
    reason = basis.shortfall()
    if reason:
        concluded = np.array([Statistics(own, among).concluded(alpha) for own in present.swapaxes(0, 1)])
        conclusion = sign = np.full(concluded.shape, np.nan)
    else:
        completions = completed(regrading, seen, considered, draws=draws, seed=seed)
        drawn = completions.values(measures, processes=processes, progress=progress)
        found = [
            pair_chances(present[:, number], drawn[:, number], among, alpha)
            for number in range(len(measures))
        ]
        concluded, conclusion, sign = (np.array(part) for part in zip(*found, strict=True))
    return Holds(
        until=str(until), until_in_words=until.describe(), open_documents=basis.unjudged, alpha=alpha,
        draws=draws, seed=seed, concluded=concluded, conclusion=conclusion, sign=sign, reason=reason,
        beyond=judged_beyond(regrading, seen, considered),
    )  # fmt: skip


def basis_of(regrading: Regrading, view: View, considered: Flags) -> Basis:
    """What a chance would rest on where `considered` documents would be judged."""
    ranks, judged = regrading.retrieved.best_ranks(), np.isfinite(view.grades)
    seen = judged & (ranks > 0)
    return Basis.of(
        len(regrading.runs), ranks[seen], view.grades[seen] > 0,
        int(np.count_nonzero(considered & (ranks > 0) & ~judged)),
    )  # fmt: skip


def judged_beyond(regrading: Regrading, view: View, considered: Flags) -> int:
    """How many documents of the runs are judged that would not be; 0 where they are few."""
    judged = np.isfinite(view.grades) & (regrading.retrieved.best_ranks() > 0)
    beyond = int(np.count_nonzero(judged & ~considered))
    return beyond if beyond > MOST_BEYOND * np.count_nonzero(judged) else 0


def holds(
    qrels: Any,
    runs: Any,
    measures: Any,
    *,
    until: str = DEFAULT_UNTIL,
    info: Mapping[str, RunInfo] | None = None,
    pairs: Pairs | None = None,
    alpha: float = ALPHA,
    draws: int = DRAWS,
    policies: Policies = DEFAULT_POLICIES,
    qrels_format: str | None = None,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Holds:
    """The chance that what is concluded of each pair of runs, and its sign, is what full judging would give.

    `until` says which documents full judging means: `runs:100`, the first 100 of every run, or `pool:100`,
    those of the runs that contribute to the pool (as `info` lists them, or guessed from what is judged).
    `pairs` None: all. Draws are made from the seed of the policies. `progress` counts runs. Chances are NaN,
    and `reason` says why, where runs and judgments are too few to state any.
    """
    wanted = parse_measures(measures)
    check_choices(wanted, policies)
    whole = parse_until(until)
    check_count("draws", draws, 2)
    if policies.unjudged in ("bounds", "expected"):  # what stands beside a value does not change it
        policies = replace(policies, unjudged="nonrelevant")
    regrading = read_regrading(
        qrels, runs, policies=policies, qrels_format=qrels_format, run_format=run_format, jobs=jobs
    )
    considered = whole.considered(regrading.retrieved, pooled_runs(regrading, info))
    processes = processes_for(regrading.retrieved.lists.size * draws, len(regrading.runs), jobs)
    return holding(
        regrading, wanted, considered, whole, pairs=pairs, alpha=alpha, draws=draws, seed=policies.seed,
        processes=processes, progress=progress,
    )  # fmt: skip


def pooled_runs(regrading: Regrading, info: Mapping[str, RunInfo] | None) -> Flags:
    """(run,): whether it contributes to the pool, as listed, or as guessed from what is judged."""
    return contributing_runs(regrading.retrieved, regrading.grades(), info).contributing
