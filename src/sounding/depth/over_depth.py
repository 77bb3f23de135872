"""Runs that are read once and looked at over any depth: values, tests, agreement with a reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.policies import Policies, Ties
from sounding.core.workers import Progress
from sounding.data.reading import check_topics, map_runs
from sounding.data.tables import Qrels, Run
from sounding.depth.intervals import Intervals, comparison_intervals
from sounding.depth.ratios import Separation, coverage, inversions, is_quick, joined, separate
from sounding.depth.volatility import Agreeing, Volatility, exact_agreement, volatility
from sounding.measures import Measure, parse
from sounding.measures.bounds.registry import holes
from sounding.measures.cumulative import name_of, residuals_at_every_k, values_at
from sounding.measures.regrading import Regrading
from sounding.measures.summaries import mean_over_topics
from sounding.runs.align import align, matches, prepare, treat_unjudged
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.pool import Pool
from sounding.runs.ranking import NO_JUDGMENTS, Judgments, Ranking
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import MostPlaces, most_places, rank_agreement

Floats = NDArray[np.float64]

AT_ONCE = 16_000_000  # values that are held at once: 128 MB
# By column; with ties so that identical orderings give 1.
COEFFICIENTS = {"tau": "tau_b", "tau_ap_b": "tau_ap_b", "rbo": "rbo_b", "pearson": "pearson", "rmse": "rmse"}


# -- the runs in order ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Rankings:
    """Runs that were read and put in order once, over the same judgments."""

    runs: tuple[str, ...]
    tags: tuple[str, ...]
    judgments: Judgments
    plain: tuple[Ranking, ...]  # (run,)
    other_ties: tuple[Ranking, ...]  # (run,) the same runs under the other tie rule
    policies: Policies

    @property
    def deepest(self) -> int:
        """The deepest rank that any run has, at least 1."""
        return max([1, *(int(ranking.retrieved.max(initial=0)) for ranking in self.plain)])

    def seen(self, rankings: Iterable[Ranking] | None = None) -> tuple[Ranking, ...]:
        """Rankings, or all of them, as the policy for unjudged documents lets the measures see them."""
        chosen = self.plain if rankings is None else rankings
        return tuple(treat_unjudged(ranking, self.policies) for ranking in chosen)

    def values(self, measure: Measure, ks: NDArray[np.int64], rankings: Sequence[Ranking]) -> Floats:
        """(k, run, topic): a measure at these depths; NaN where a run lacks a topic that is skipped."""
        table = np.empty((len(ks), len(rankings), len(self.judgments.topics)))
        for place, ranking in enumerate(rankings):
            table[:, place] = values_at(measure, ranking, ks)
            if self.policies.missing == "skip":
                table[:, place, ranking.missing] = np.nan
        return table


def other_tie_rule(ties: Ties) -> Ties:
    """The tie rule to compare with: the order of the lines, or else trec_eval's."""
    return "trec" if ties == "file" else "file"


def read_rankings(
    qrels: Qrels,
    runs: Any,
    policies: Policies,
    *,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> Rankings:
    """Read each run once and put it in order, under the tie rule that is asked for and under the other."""
    judged = prepare(qrels, policies)
    others = replace(policies, ties=other_tie_rule(policies.ties))

    def work(run: Run) -> tuple[Ranking, Ranking]:
        check_topics(run, qrels.topics, policies)
        found = matches(run, judged)
        # Judgments are the same for all runs: they need not travel between processes.
        return (
            replace(align(run, judged, policies, found), judgments=NO_JUDGMENTS),
            replace(align(run, judged, others, found), judgments=NO_JUDGMENTS),
        )

    read = map_runs(work, runs, policies, run_format=run_format, jobs=jobs, progress=progress)
    refuse_one_run(read.names)
    plain, other = zip(*read.results, strict=True)
    judgments = judged.judgments
    return Rankings(
        runs=read.names, tags=read.tags, judgments=judgments,
        plain=tuple(replace(ranking, judgments=judgments) for ranking in plain),
        other_ties=tuple(replace(ranking, judgments=judgments) for ranking in other),
        policies=policies,
    )  # fmt: skip


def rankings_of_lists(regrading: Regrading) -> Rankings:
    """The same from lists that were read with the other tie rule beside: they are not read again."""
    lists, policies, view = regrading.retrieved, regrading.policies, regrading.view()
    refuse_one_run(lists.runs)
    whole = replace(regrading, policies=replace(policies, unjudged="nonrelevant"))
    other = replace(whole, retrieved=lists.by_rule(other_tie_rule(policies.ties)))
    plain, other_ties = (
        tuple(side.ranking(run, view) for run in range(len(lists.runs))) for side in (whole, other)
    )
    return Rankings(
        runs=lists.runs, tags=lists.tags, judgments=view.judgments, plain=plain, other_ties=other_ties,
        policies=policies,
    )  # fmt: skip


def refuse_one_run(names: Sequence[str]) -> None:
    """Refuse to ask of fewer than two runs what depth does to comparisons."""
    if len(names) < 2:
        known = f"one run, {names[0]!r}" if names else "no run"
        raise DataError(f"{known}: the effect of depth on comparisons needs at least two")


# -- measures over depth ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OverDepth:
    """One measure at every depth that is looked at."""

    measure: Measure  # cut at 1
    name: str
    reference: Measure  # the reference for its outcome at every depth
    reference_means: Floats  # (run,)
    means: Floats  # (k, run)
    plain_means: Floats | None  # (k, run) with unjudged documents, where these are removed; else None
    residual_unjudged: Floats | None  # (k, run) mean over topics; None: the measure has no residual
    residual_tail: Floats | None
    separation: Separation  # at the depths that were tested
    reference_separates: int  # pairs
    coverage: Floats  # (tested k,) NaN: the reference separates no pair
    inversion: Floats  # (tested k,)
    agreement: Mapping[str, Floats]  # (k,) by name: of the ordering of the runs with that of the reference
    intervals: Intervals  # at the chosen depths
    volatility: Volatility  # of the orderings of the runs at all depths

    @property
    def reference_depth(self) -> int:
        """The depth of the reference."""
        return depth_of(self.reference)

    @property
    def reference_name(self) -> str:
        """The name of the reference, by that of the measure where it is the same one."""
        same = self.reference == self.at_reference
        return f"{self.name}@{self.reference_depth}" if same else str(self.reference)

    @property
    def at_reference(self) -> Measure:
        """The measure cut at the depth of its reference."""
        return self.measure.replace(k=self.reference_depth)


def depth_of(measure: Measure) -> int:
    """The cut-off of a measure that has one."""
    return measure.k or 1


@dataclass(frozen=True, slots=True, eq=False)
class _Pass:
    """Results of one pass down the rankings for one measure."""

    means: Floats  # (k, run)
    tests: list[Separation]  # at groups of depths
    at_depths: Floats  # (chosen depth, run, topic)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Descent:
    """The rankings with what all measures share."""

    rankings: Rankings
    ks: NDArray[np.int64]
    depths: tuple[int, ...]
    procedure: Procedure
    agreeing: Agreeing
    names: Mapping[Measure, str] = field(default_factory=dict)  # other than their own
    seen: Sequence[Ranking] = field(init=False)  # (run,) as the measures see them
    pairs: Pairs = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "seen", self.rankings.seen())
        object.__setattr__(self, "pairs", all_pairs(len(self.rankings.runs)))

    def over_depth(self, measure: Measure, reference: Measure) -> OverDepth:
        """Return the results of one measure."""
        down = self._pass(measure, self.seen, tested=True)
        separation = joined(down.tests)
        depth = depth_of(reference)
        target = self.rankings.values(reference, np.array([depth]), self.seen)
        signs = separate(target, [depth], self.pairs, self.procedure).at(depth)
        ordering = mean_over_topics(target)
        unjudged, tail = self._residuals(measure)
        name = self.names.get(measure, name_of(measure))
        return OverDepth(
            measure=measure, name=name, reference=reference, reference_means=ordering[0],
            means=down.means, plain_means=self._plain_means(measure),
            residual_unjudged=unjudged, residual_tail=tail,
            separation=separation, reference_separates=int(np.count_nonzero(signs)),
            coverage=coverage(separation, signs), inversion=inversions(separation, signs),
            agreement={
                name: exact_agreement(ordering, down.means, coefficient, p=self.agreeing.p)[0]
                for name, coefficient in COEFFICIENTS.items()
            },
            intervals=self._intervals(down.at_depths),
            volatility=volatility(
                down.means, self.ks.tolist(), measure=name,
                coefficient=self.agreeing.coefficient, p=self.agreeing.p,
            ),
        )  # fmt: skip

    def assessment(self, measure: Measure) -> tuple[Floats, Intervals]:
        """(k, run) means of a measure of the whole lists, and its intervals at the chosen depths."""
        down = self._pass(measure, self.rankings.plain, tested=False)
        return down.means, self._intervals(down.at_depths)

    def _intervals(self, values: Floats) -> Intervals:
        blocks = self.procedure.test == "anova2"
        return comparison_intervals(values, self.depths, alpha=self.procedure.alpha, topics_as_blocks=blocks)

    def _plain_means(self, measure: Measure) -> Floats | None:
        if self.rankings.policies.unjudged != "condensed":
            return None
        return self._pass(measure, self.rankings.plain, tested=False).means

    def _pass(self, measure: Measure, rankings: Sequence[Ranking], *, tested: bool) -> _Pass:
        """Compute, in one pass, means at every depth, the wanted tests, and values at the chosen depths."""
        means, tests, chosen = [], [], []
        for ks, values in self._parts(measure, rankings):
            means.append(mean_over_topics(values))
            here = np.isin(ks, self.depths)
            chosen.append(values[here])
            rows = np.ones(len(ks), np.bool_) if is_quick(self.procedure) else here
            if tested and rows.any():
                tests.append(separate(values[rows], ks[rows].tolist(), self.pairs, self.procedure))
        return _Pass(np.concatenate(means), tests, np.concatenate(chosen))

    def _parts(
        self, measure: Measure, rankings: Sequence[Ranking]
    ) -> Iterator[tuple[NDArray[np.int64], Floats]]:
        """Yield all depths with their values, in groups if these are too many to be held at once."""
        width = len(rankings) * len(self.rankings.judgments.topics)
        count = max(1, -(-len(self.ks) * width // AT_ONCE))
        for ks in np.array_split(self.ks, count):
            yield ks, self.rankings.values(measure, ks, rankings)

    def _residuals(self, measure: Measure) -> tuple[Floats | None, Floats | None]:
        """(k, run) each: mean over topics; none without the unjudged documents."""
        if self.rankings.policies.unjudged == "condensed":
            return None, None
        return mean_residuals(self.rankings, measure, self.ks)


def mean_residuals(
    rankings: Rankings, measure: Measure, ks: NDArray[np.int64]
) -> tuple[Floats | None, Floats | None]:
    """(k, run) each: by unjudged documents and by deeper ranks, mean over topics; None: it has none."""
    parts = []
    for ranking in rankings.plain:
        found = residuals_at_every_k(measure, ranking, int(ks[-1]))
        if found is None:
            return None, None
        counted = ~ranking.missing if rankings.policies.missing == "skip" else slice(None)
        parts.append([side[ks - 1][:, counted].mean(axis=1) for side in (found.unjudged, found.tail)])
    return np.stack([part[0] for part in parts], axis=1), np.stack([part[1] for part in parts], axis=1)


# -- what stands beside the measures -----------------------------------------------------------------

EARLY = 10  # where Baillie et al. put the runs in order, by AP


def order_of_runs(rankings: Rankings) -> tuple[int, ...]:
    """The runs by AP@10 of whole lists, best first; equal ones by name."""
    values = rankings.values(parse(f"AP@{EARLY}"), np.array([EARLY]), rankings.plain)
    means = np.nan_to_num(mean_over_topics(values)[0], nan=-np.inf)
    return tuple(sorted(range(len(means)), key=lambda run: (-means[run], rankings.runs[run])))


def tie_moves(rankings: Rankings, measures: Sequence[OverDepth]) -> dict[str, tuple[float, MostPlaces]]:
    """Return, for each measure at its reference depth, tau between two tie rules and the largest move."""
    sides = [rankings.seen(), rankings.seen(rankings.other_ties)]
    found = {}
    for one in measures:
        k = np.array([one.reference_depth])
        ordered, other = (mean_over_topics(rankings.values(one.measure, k, side))[0] for side in sides)
        tau = rank_agreement(ordered, other, "tau_b").value
        found[f"{one.name}@{one.reference_depth}"] = (tau, most_places(ordered, other))
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class UnjudgedDocuments:
    """The unjudged documents of one run down to a depth."""

    run: str
    number: int  # over all topics
    share: float  # of the documents that it has there
    first: float  # median over topics of the first one's rank; NaN: no topic has one
    middle: float  # median rank of all of them; NaN: none


def unpooled(rankings: Rankings, pool: Pool, depth: int) -> Iterator[UnjudgedDocuments]:
    """The unjudged documents down to a depth of the runs that did not contribute to the pool."""
    if not pool.known:
        return
    for run in (~pool.contributing).nonzero()[0].tolist():
        ranking = rankings.plain[run]
        found = holes(ranking, depth)
        first = found.rank[found.nth == 1]
        listed = int(np.minimum(ranking.retrieved, depth).sum())
        yield UnjudgedDocuments(
            run=rankings.runs[run], number=len(found.rank), share=len(found.rank) / max(listed, 1),
            first=float(np.median(first)) if len(first) else np.nan,
            middle=float(np.median(found.rank)) if len(found.rank) else np.nan,
        )  # fmt: skip
