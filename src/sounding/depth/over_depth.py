"""One measure at every depth: values, tests of all pairs, agreement with a reference, residuals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sounding.core.arrays import NDArray
from sounding.depth.intervals import Intervals, comparison_intervals
from sounding.depth.rankings import Rankings
from sounding.depth.ratios import Separation, coverage, inversions, is_quick, joined, separate
from sounding.depth.volatility import Agreeing, Volatility, exact_agreement, volatility
from sounding.measures import Measure
from sounding.measures.cumulative import name_of
from sounding.measures.residuals import residuals_at_every_k
from sounding.measures.summaries import mean_over_topics
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.ranking import Ranking
from sounding.statistics.pairwise import Procedure

Floats = NDArray[np.float64]

AT_ONCE = 16_000_000  # values that are held at once: 128 MB
# By column; with ties so that identical orderings give 1.
COEFFICIENTS = {"tau": "tau_b", "tau_ap_b": "tau_ap_b", "rbo": "rbo_b", "pearson": "pearson", "rmse": "rmse"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OverDepth:
    """One measure at every depth that is looked at."""

    measure: Measure  # cut at 1
    name: str
    reference: Measure  # what its outcome at every depth is held against
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
    """What one pass down the rankings gives of a measure."""

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
        """All that is said of one measure."""
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
        """One pass: means at every depth, tests where they are wanted, and values at the chosen depths."""
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
        """All depths with the values there; in groups where these are too many to be held at once."""
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
