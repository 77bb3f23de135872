"""The chance that a conclusion about two runs is what full judging would give."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.limits import check_count
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.core.text import format_chance, likelihood, plural
from sounding.core.workers import Progress, processes_for
from sounding.data.run_info import RunInfo
from sounding.measures import Measure, parse_measures
from sounding.measures.completions import DRAWS, basis_of, draw_completions, refuse_samples
from sounding.measures.registry import grades_suffice
from sounding.measures.regrading import Regrading, View, read_regrading
from sounding.measures.summaries import check_comparable
from sounding.relevance.basis import FEW_RUNS
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.pool import Flags, Until, parse_until, pool_of_lists
from sounding.statistics.conclusions import Statistics, pair_chances

CONCLUSIONS = {1: "better", -1: "worse", 0: "not distinguished"}  # run_a of the pair is ...
FOUND = {1: "finds {run} better", -1: "finds {run} worse", 0: "finds no difference"}
STILL = {1: "does", -1: "does", 0: "finds none"}  # in `the chance that it still does` (see `tell`)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Holds:
    """The chance that what is concluded of each pair, and its sign, is what full judging would give.

    A conclusion is that of a paired t test of the pair by itself. Where runs or judgments are too few to
    state a chance, `reason` says so and all chances are NaN.
    """

    until: str  # which documents would be judged: pool:100, runs:100
    until_in_words: str  # as a sentence goes on
    open_documents: int  # the number of them that are unjudged
    alpha: float
    draws: int
    seed: int
    concluded: NDArray[np.int8]  # (measure, pair) 1: run_a is better, -1: worse, 0: not distinguished
    conclusion: NDArray[np.float64]  # (measure, pair) the chance; NaN: the pair could not be tested
    sign: NDArray[np.float64]  # (measure, pair) that of the run that is ahead; NaN: no common topic
    reason: str = ""  # why no chance is stated, as a sentence goes on; empty: they are
    beyond: int = 0  # documents that are judged already, and are not among those that would be
    few_runs: bool = False  # more runs would say much about the unjudged documents
    without: tuple[str, ...] = ()  # measures whose chances are not known: not only grades decide them
    shallow: Holds | None = None  # the same if only the top of every run were judged; None: not asked

    def in_words(self, measure: int, pair: int) -> str:
        """Return the conclusion about run_a: `better`, `worse` or `not distinguished`."""
        if self.without and math.isnan(self.conclusion[measure, pair]):
            return "not known"
        return CONCLUSIONS[int(self.concluded[measure, pair])]

    def tell(self, measure: int, pair: int, runs: tuple[str, str], difference: float) -> str:
        """Return the conclusion about one pair and the chances that it holds, as the end of a sentence.

        `runs` are run_a and run_b, `difference` that of their means.
        """
        if self.reason:
            return f"not stated: {self.reason}"
        if math.isnan(self.conclusion[measure, pair]):
            return "not known: the pair could not be tested"
        concluded = int(self.concluded[measure, pair])
        sign = self.tell_sign(measure, pair, runs, difference)
        return (
            f"a paired t test of the two alone {FOUND[concluded].format(run=runs[0])}; the chance that it"
            f" still {STILL[concluded]} once {self.until_in_words} are judged is"
            f" {format_chance(self.conclusion[measure, pair])}; {sign}"
        )

    def tell_sign(self, measure: int, pair: int, runs: tuple[str, str], difference: float) -> str:
        """Return who is likelier to be ahead after full judging, as the end of a sentence."""
        chance = float(self.sign[measure, pair])
        if difference == 0:
            return f"the chance that the two are equal then is {format_chance(chance)}"
        ahead, behind = runs if difference > 0 else runs[::-1]
        if chance < 0.5:
            likely, shown = likelihood(1 - chance), format_chance(1 - chance)
            return f"{behind}, which is behind now, would {likely} be ahead then ({shown})"
        return f"{ahead} would {likelihood(chance)} be ahead then as now ({format_chance(chance)})"

    @property
    def differs_when_shallow(self) -> bool:
        """Return whether a chance is visibly different if only the top of every run is judged."""
        if self.shallow is None:
            return False
        gaps = [self.conclusion - self.shallow.conclusion, self.sign - self.shallow.sign]
        return bool(np.nanmax(np.abs(gaps), initial=0.0) >= VISIBLE)

    def describe(self) -> str:
        """Explain the chances in a sentence or two, or why there are none."""
        if self.reason:
            return f"Holds is not stated: {self.reason}."
        beyond = (
            f" Judgments already reach further, to {plural(self.beyond, 'other document')} of these runs:"
            " give all runs, or a larger --until."
            if self.beyond
            else ""
        )
        return (
            f"Holds: the chance that an uncorrected paired t test ({self.alpha:g}) concludes the same once"
            f" {self.until_in_words} are judged ({self.open_documents:,} of these are unjudged). Sign: the"
            " chance that the run that is ahead now is also ahead after that judging. The chances come from"
            f" {self.draws} draws, seed {self.seed}."
            f"{MORE_RUNS * self.few_runs}{beyond}{self._describe_shallow()}{self._describe_gaps()}"
        )

    def _describe_gaps(self) -> str:
        names = ", ".join(self.without)
        return f" Not stated for {names}, because only grades are predicted." if names else ""

    def _describe_shallow(self) -> str:
        if self.shallow is None or not self.differs_when_shallow:
            return ""
        return (
            f" @{SHALLOW}: the same if only {self.shallow.until_in_words} are judged"
            f" ({self.shallow.open_documents:,} of these are unjudged)."
        )


def _with_gaps(
    found: Holds | None,
    measures: Sequence[Measure],
    until: Until,
    runs: int,
    pairs: Pairs | None,
    *,
    alpha: float,
    seed: int,
) -> Holds:
    """Return the chances of some of these measures with NaN for the others, which are named."""
    count = runs * (runs - 1) // 2 if pairs is None else len(pairs)
    own = [number for number, measure in enumerate(measures) if grades_suffice(measure)]
    others = tuple(str(measure) for measure in measures if not grades_suffice(measure))
    concluded = np.zeros((len(measures), count), np.int8)
    conclusion, sign = np.full((2, len(measures), count), np.nan)
    if found is None:
        return Holds(
            until=str(until), until_in_words=until.describe(), open_documents=0, alpha=alpha, draws=0,
            seed=seed, concluded=concluded, conclusion=conclusion, sign=sign,
            reason=f"for {', '.join(others)}, judgments cannot be drawn, because only grades are predicted",
        )  # fmt: skip
    concluded[own], conclusion[own], sign[own] = found.concluded, found.conclusion, found.sign
    shallow = found.shallow
    if shallow is not None:
        shallow = _with_gaps(shallow, measures, Until("runs", SHALLOW), runs, pairs, alpha=alpha, seed=seed)
    return replace(
        found, concluded=concluded, conclusion=conclusion, sign=sign, shallow=shallow, without=others
    )


MORE_RUNS = " If the collection has more runs, give them too: few runs make chances cautious."
ALPHA = 0.05
DEFAULT_UNTIL = "runs:100"
SHALLOW = 10  # documents of every run that people judge where they judge few
VISIBLE = 0.05  # chances that differ by less are the same to a reader
MOST_BEYOND = 0.05  # share of the judged documents that may lie outside those that would be judged


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
    shallow: bool = False,
) -> Holds:
    """Compute the result of `holds` from runs and judgments already read.

    `view` are the judgments that there are; None: all of the qrels. `considered` documents would be judged.
    `shallow`: also the chances if only the first 10 of every run were, where some of these are open.
    """
    seen = regrading.view() if view is None else view
    drawn_ones = [measure for measure in measures if grades_suffice(measure)]
    if len(drawn_ones) < len(measures):
        return _with_gaps(
            None if not drawn_ones else holding(
                regrading, drawn_ones, considered, until, view=seen, pairs=pairs, alpha=alpha, draws=draws,
                seed=seed, processes=processes, progress=progress, shallow=shallow,
            ),
            measures, until, len(regrading.runs), pairs, alpha=alpha, seed=seed,
        )  # fmt: skip
    among = all_pairs(len(regrading.runs)) if pairs is None else pairs
    refuse_samples(regrading)
    present = regrading.values(measures, seen)
    basis = basis_of(regrading, seen, considered)
    reason = basis.shortfall()
    near = considered & (regrading.retrieved.cut(SHALLOW).best_ranks() > 0)
    beside: Holds | None = None
    if reason:
        concluded = np.array([Statistics(own, among).concluded(alpha) for own in present.swapaxes(0, 1)])
        conclusion = sign = np.full(concluded.shape, np.nan)
    else:
        completions = draw_completions(regrading, seen, considered, draws=draws, seed=seed)
        drawn = completions.values(measures, processes=processes, progress=progress)
        concluded, conclusion, sign = _chances(present, drawn, among, alpha)
        still_open = int(np.count_nonzero(near & np.isnan(seen.grades)))
        if shallow and 0 < still_open < basis.unjudged:
            drawn = completions.narrowed(seen, near).values(measures, processes=processes)
            top = Until("runs", SHALLOW)
            _, of_conclusion, of_sign = _chances(present, drawn, among, alpha)
            beside = Holds(
                until=str(top), until_in_words=top.describe(), open_documents=still_open, alpha=alpha,
                draws=draws, seed=seed, concluded=concluded, conclusion=of_conclusion, sign=of_sign,
            )  # fmt: skip
    return Holds(
        until=str(until), until_in_words=until.describe(), open_documents=basis.unjudged, alpha=alpha,
        draws=draws, seed=seed, concluded=concluded, conclusion=conclusion, sign=sign, reason=reason,
        beyond=judged_beyond(regrading, seen, considered), few_runs=len(regrading.runs) < FEW_RUNS,
        shallow=beside,
    )  # fmt: skip


def _chances(
    present: NDArray[np.float64], drawn: NDArray[np.float64], pairs: Pairs, alpha: float
) -> tuple[NDArray[np.int8], NDArray[np.float64], NDArray[np.float64]]:
    """(measure, pair) each: Return conclusions, and the chances of these and of the signs."""
    found = [
        pair_chances(present[:, number], drawn[:, number], pairs, alpha) for number in range(present.shape[1])
    ]
    concluded, conclusion, sign = (np.array(part) for part in zip(*found, strict=True))
    return concluded, conclusion, sign


def judged_beyond(regrading: Regrading, view: View, considered: Flags) -> int:
    """Return the number of judged documents outside the considered ones; 0 if they are few."""
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
    those of the runs that contribute to the pool (as `info` lists them, or guessed from the judgments), or
    a file of documents, in any format of judgments.
    `pairs` None: all. Draws are made from the seed of the policies. `progress` counts runs. Chances are NaN,
    and `reason` says why, where runs and judgments are too few to state any.
    """
    wanted = parse_measures(measures)
    check_comparable(wanted, policies)
    whole = parse_until(until, files=True)
    check_count("draws", draws, 2)
    if policies.unjudged in ("bounds", "expected"):  # columns beside a value do not change it
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
    """(run,): whether it contributes to the pool, as listed, or as guessed from the judgments."""
    return pool_of_lists(regrading.retrieved, regrading.grades(), info).contributing
