"""A comparison: what can be said of every pair of runs, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sounding.compare.advice import Shares, Situation, advise, which_completions
from sounding.compare.documents import Settling, TellingDocument
from sounding.compare.holds import Holds
from sounding.core.arrays import NDArray
from sounding.core.display import Displayed
from sounding.core.lazy import LazyList, polars
from sounding.core.policies import Policies
from sounding.core.text import plural, sentence
from sounding.measures import Measure
from sounding.measures.bounds.order import PairBounds
from sounding.measures.summaries import mean_in_order
from sounding.runs.pairs import Pairs
from sounding.runs.pool import Pool
from sounding.statistics.cases import UNTESTED, Cases, count_cases, strength
from sounding.statistics.pairwise import PairTests, Procedure
from sounding.statistics.power import topics_needed

COLUMNS = (
    "run_a", "run_b", "measure", "k", "topics", "difference", "ci_low", "ci_high", "p", "p_adjusted",
    "assessment_difference", "assessment_p", "case", "strength", "settled", "advice",
    "effect_size", "wins", "ties", "losses", "p_at_floor",
    "mean_a", "mean_b", "difference_least", "difference_most", "case_alone",
)  # fmt: skip
HOLDS_COLUMNS = ("conclusion", "holds", "sign_holds", "holds_top10", "sign_holds_top10")

# Columns, and the fields of tests that they are: of performance, of assessment, against a margin.
OF_PERFORMANCE = {
    "topics": "topics", "difference": "difference", "p": "p",
    "p_adjusted": "p_adjusted", "effect_size": "effect", "wins": "wins", "ties": "ties", "losses": "losses",
    "p_at_floor": "floor",
}  # fmt: skip
OF_ASSESSMENT = {"assessment_difference": "difference", "assessment_p": "p_adjusted"}
OF_MARGIN = {"equivalence_p": "p_adjusted", "noninferiority_p": "noninferior_p_adjusted"}
MARGIN_COLUMNS = tuple(OF_MARGIN)

Rows = Sequence[tuple[int, int]]  # (measure, pair)


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Documents that matter for one pair by one measure."""

    settling: Settling  # unjudged ones that could turn or settle the order
    telling: Mapping[str, tuple[TellingDocument, ...]]  # topic -> relevant ones that made the difference


class _ByPair(NamedTuple):
    """What situations differ in, as lists: reading single numbers from arrays is slow."""

    frozen: list[bool]  # (run,)
    shares: list[tuple[int, list[float], list[bool]]]  # (depth, (run,) A_p, (pair,) even), deepest first
    p: list[float]  # (pair,)
    topics: list[int]  # (pair,)
    equal: list[bool]  # (pair,)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evenness:
    """Judged share of every run down to a depth, and the pairs that do not differ in it."""

    depth: int
    shares: NDArray[np.float64]  # (run,) mean A_p
    even: NDArray[np.bool_]  # (pair,) no difference, where the test could have found one


@dataclass(frozen=True, slots=True, eq=False, repr=False, kw_only=True)
class Comparison(Displayed):
    """Every pair of runs by every measure: difference, assessment, case, and whether it is settled."""

    runs: tuple[str, ...]
    measures: tuple[Measure, ...]
    topics: tuple[str, ...]
    depths: tuple[int, ...]  # (measure,) where assessment was taken: see `assessment_depth`
    values: NDArray[np.float64]  # (run, measure, topic)
    assessment: NDArray[np.float64]  # (run, measure, topic): A_p at that depth
    pairs: Pairs  # (pair, 2): run_a, run_b; differences are run_a - run_b
    performance_tests: tuple[PairTests, ...]  # (measure,)
    assessment_tests: tuple[PairTests, ...]  # (measure,)
    assessed_by: tuple[str, ...]  # (measure,) the measure of assessment that was tested, such as A_p@500
    cases: Cases  # (measure, pair)
    own_cases: Cases  # (measure, pair): each pair by itself, before correction; advice goes by them
    bounds: tuple[PairBounds | None, ...]  # (measure,) of the differences over completions; None: not known
    accounts: tuple[Account, ...]  # (measure,) for one pair, which documents matter; empty: not looked for
    evenness: tuple[Evenness, ...]  # at every depth where assessment was looked at, the shallowest first
    lengths: NDArray[np.float64]  # (run,) mean length of its lists
    retrieved: NDArray[np.float64]  # (run, topic) length of each; 0: the run lacks the topic
    pool: Pool | None  # None: not known
    notes: tuple[str, ...]  # warnings for readers
    left_out: tuple[str, ...]  # measures by which nothing could be compared, and why
    procedure: Procedure
    policies: Policies
    holds: Holds | None = None  # None: not asked for
    # The qrels list relevant documents alone: cases are decided as if judging were even, and not stated.
    only_relevant: bool = False
    # (pair, topic) of measures that compare two runs; their `values` are means over all runs.
    preferences: Mapping[Measure, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def alpha(self) -> float:
        """The significance level of both tests, for adjusted p."""
        return self.procedure.alpha

    @property
    def limits(self) -> tuple[str, ...]:
        """Reasons why no pair could be significant, a sentence each; empty if one could."""
        measures: dict[str, list[str]] = {}
        for measure, tests in zip(self.measures, self.performance_tests, strict=True):
            if tests.limit:
                measures.setdefault(tests.limit, []).append(str(measure))
        return tuple(
            sentence(limit) if len(named) == len(self.measures) else f"By {', '.join(named)}, {limit}."
            for limit, named in measures.items()
        )

    @property
    def same_topics(self) -> bool:
        """Say whether every pair was compared on the same number of topics by every measure."""
        return len({count for tests in self.performance_tests for count in tests.topics.tolist()}) == 1

    @property
    def other_assessment(self) -> dict[str, str]:
        """Measure -> the measure of assessment tested beside it, where that is not A_p at its depth."""
        tested = zip(self.measures, self.depths, self.assessed_by, strict=True)
        return {str(measure): name for measure, depth, name in tested if name != f"A_p@{depth}"}

    @property
    def strong(self) -> NDArray[np.bool_]:
        """(measure, pair): a strong case, 1 or 3."""
        return (self.cases == 1) | (self.cases == 3)

    @property
    def significant(self) -> NDArray[np.bool_]:
        """(measure, pair): the two runs differ significantly in performance."""
        return np.array([tests.significant for tests in self.performance_tests])

    def strength(self, measure: int, pair: int) -> str | None:
        """`strong` or `weak`; None: not tested, or nothing could have been significant."""
        return strength(self.case(measure, pair))

    def case(self, measure: int, pair: int, *, alone: bool = False) -> int:
        """Return the case of a pair, or of the pair by itself; 0: none, or nobody knows what was judged."""
        return 0 if self.only_relevant else int((self.own_cases if alone else self.cases)[measure, pair])

    def __repr__(self) -> str:
        measures = ", ".join(map(str, self.measures[:5])) + (", ..." if len(self.measures) > 5 else "")
        pairs = f"{plural(len(self.pairs), 'pair')}"
        return f"<Comparison of {pairs} of {len(self.runs)} runs on {len(self.topics)} topics: {measures}>"

    def gaps(self, measure: int) -> NDArray[np.float64]:
        """(pair, topic): the differences by a measure, run_a - run_b; NaN where a run has no value."""
        known = self.preferences.get(self.measures[measure])
        if known is not None:
            return known
        return self.values[self.pairs[:, 0], measure] - self.values[self.pairs[:, 1], measure]

    def means(self, measure: int) -> NDArray[np.float64]:
        """(2, pair): the means of run_a and run_b over the topics on which both have a value; NaN: none."""
        values = self.values[self.pairs.T, measure]
        both = np.where(np.isnan(values).any(axis=0), np.nan, values)
        tested = self.performance_tests[measure].topics > 0
        return np.where(tested, mean_in_order(both), np.nan)

    def settled(self, measure: int, pair: int) -> bool | None:
        """Return whether no completion of the judgments can reverse the pair; None: not known."""
        bounds = self.bounds[measure]
        if bounds is None or not bounds.known[pair]:
            return None
        settled = bool(bounds.settled[pair] or bounds.equal[pair])
        return settled if settled or bounds.closest else None

    def frozen_runs(self, from_depth: int, to_depth: int) -> NDArray[np.bool_]:
        """(run,): lists that end, on average, in the first half of the way from a depth to the next.

        Such a run can hardly find anything more: it is frozen while the others go on.
        """
        return self.lengths < (from_depth + to_depth) / 2

    def short_runs(self, measure: int, pair: int) -> list[int]:
        """The runs of a pair whose lists are, on average, not half as long as the measure looks."""
        return [run for run in self.pairs[pair].tolist() if 0 < self.lengths[run] < self.depths[measure] / 2]

    def judged_of_returned(self, run: int, measure: int) -> float:
        """The judged share of what a run has down to the depth of a measure; NaN: it has nothing."""
        depth = self.depths[measure]
        has = float(np.minimum(self.retrieved[run], depth).sum())
        return float(np.nansum(self.assessment[run, measure])) * depth / has if has else float("nan")

    def topics_needed(self, rows: Rows) -> list[int | None]:
        """Topics with which a paired t test finds the difference seen four times out of five.

        (row,) for (measure, pair) rows; None: there is no such number, or no more than there are. Each
        pair is taken by itself, at alpha.
        """
        tests = self.performance_tests
        effect = np.array([tests[number].effect[pair] for number, pair in rows])
        topics = [int(tests[number].topics[pair]) for number, pair in rows]
        known = np.isfinite(effect) & (effect != 0)
        needed = np.full(len(rows), np.inf)
        needed[known] = topics_needed(effect[known], alpha=self.alpha)
        return [
            int(number) if np.isfinite(number) and number > present else None
            for number, present in zip(needed.tolist(), topics, strict=True)
        ]

    def counts(self) -> NDArray[np.int64]:
        """(measure, 4): pairs in cases 1 to 4."""
        return count_cases(np.zeros_like(self.cases) if self.only_relevant else self.cases)

    def shares(self) -> NDArray[np.float64]:
        """(measure, 4): the same as shares of all pairs that could be tested."""
        counts = self.counts()
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    @property
    def has_all_pairs(self) -> bool:
        """Return whether each run was compared with each other one."""
        runs = len(np.unique(self.pairs))
        return len(self.pairs) == runs * (runs - 1) // 2

    def by_rank(self) -> list[tuple[int, int]]:
        """(measure, pair) of every row: of all pairs, those among the best runs first.

        The ranks are those by the first measure. A choice of pairs keeps its order. Pairs that could not
        be tested come last.
        """
        runs, first = np.unique(self.pairs, return_index=True)
        ranks = np.zeros(len(self.runs), np.intp)
        ranks[runs[np.argsort(first)]] = np.arange(len(runs))  # all pairs begin with those of the best run
        better, worse = np.sort(ranks[self.pairs], axis=1).T
        order = np.lexsort((better, worse)) if self.has_all_pairs else np.arange(len(self.pairs))
        rows = [(number, pair) for pair in order.tolist() for number in range(len(self.measures))]
        untested = self.cases == UNTESTED
        return sorted(rows, key=lambda row: bool(untested[row]))

    def names(self, pair: int) -> tuple[str, str]:
        """run_a and run_b of a pair."""
        a, b = self.pairs[pair].tolist()
        return self.runs[a], self.runs[b]

    def columns(self, rows: Rows) -> dict[str, Sequence[Any]]:
        """The promised columns of some (measure, pair) rows; None: not known.

        The least and the most that differences can be take long, and are computed when they are read.
        """
        numbers = [self._numbers(number) for number in range(len(self.measures))]
        found: dict[str, Sequence[Any]] = {
            name: [numbers[number][name][pair] for number, pair in rows] for name in numbers[0]
        }
        found["ci_low"], found["ci_high"] = self._over(rows, self.performance_tests)
        limits = cache(lambda: self._over(rows, self.bounds))
        found["difference_least"] = LazyList(len(rows), lambda: limits()[0])
        found["difference_most"] = LazyList(len(rows), lambda: limits()[1])
        found |= self._decisions(rows)
        if self.holds is not None:
            found["conclusion"] = [self.holds.in_words(*row) for row in rows]
            found["holds"] = [float(self.holds.conclusion[row]) for row in rows]
            found["sign_holds"] = [float(self.holds.sign[row]) for row in rows]
        if self.holds is not None and (top := self.holds.shallow) is not None:
            found["holds_top10"] = [float(top.conclusion[row]) for row in rows]
            found["sign_holds_top10"] = [float(top.sign[row]) for row in rows]
        return {name: found[name] for name in (*COLUMNS, *MARGIN_COLUMNS, *HOLDS_COLUMNS) if name in found}

    def _decisions(self, rows: Rows) -> dict[str, list[Any]]:
        """Return which runs by which measure, and what was concluded."""
        names = [self.names(pair) for _, pair in rows]
        return {
            "run_a": [a for a, _ in names],
            "run_b": [b for _, b in names],
            "measure": [str(self.measures[number]) for number, _ in rows],
            "k": [self.depths[number] for number, _ in rows],
            "case": [self.case(*row) or None for row in rows],
            "strength": [self.strength(*row) for row in rows],
            "settled": [self.settled(*row) for row in rows],
            "advice": self._advice(rows),
            "case_alone": [self.case(*row, alone=True) or None for row in rows],
        }

    def _numbers(self, measure: int) -> dict[str, list[Any]]:
        """(pair,) each: what the conclusions by a measure rest on."""
        tests, assessment = self.performance_tests[measure], self.assessment_tests[measure]
        found = {name: getattr(tests, field) for name, field in OF_PERFORMANCE.items()}
        found |= {name: getattr(assessment, field) for name, field in OF_ASSESSMENT.items()}
        if tests.equivalence is not None:
            found |= {name: getattr(tests.equivalence, field) for name, field in OF_MARGIN.items()}
        found["mean_a"], found["mean_b"] = self.means(measure)
        return {name: values.tolist() for name, values in found.items()}

    def _over(self, rows: Rows, sources: Sequence[PairTests | PairBounds | None]) -> list[list[float]]:
        """Return the lower and the upper limits of the difference by each source; NaN: not known."""
        limits = np.full((2, len(rows)), np.nan)
        measure, pair = np.array(rows, np.intp).reshape(-1, 2).T
        for number, source in enumerate(sources):
            if source is not None:
                limits[:, measure == number] = source.between(pair[measure == number])
        return limits.tolist()

    def advice(self, measure: int, pair: int) -> str:
        """Return what to do about one pair, in a sentence; where there was nothing to test, why."""
        return self._advice([(measure, pair)])[0]

    def _needed(self, rows: Rows) -> list[int | None]:
        """`topics_needed` where the advice may ask for topics: of pairs without a significant difference."""
        asking = [row for row in rows if self.own_cases[row] in (1, 2)]
        found = dict(zip(asking, self.topics_needed(asking), strict=True))
        return [found.get(row) for row in rows]

    def _advice(self, rows: Rows) -> list[str]:
        """(row,): Return what to do; where there was nothing to test, why."""
        tests = self.performance_tests
        reasons = [
            tests[number].reasons[pair] if tests[number].omnibus is None else "" for number, pair in rows
        ]
        tested = [row for row, reason in zip(rows, reasons, strict=True) if not reason]
        found = map(str, map(advise, self.situations(tested)))
        return [sentence(reason) if reason else next(found) for reason in reasons]

    def situations(self, rows: Rows) -> list[Situation]:
        """Return what is known of (measure, pair) rows, as rules for advice ask for it."""
        common = {number: self._common(number) for number in {number for number, _ in rows}}
        return [
            self._situation(*row, needed, *common[row[0]])
            for row, needed in zip(rows, self._needed(rows), strict=True)
        ]

    def _common(self, measure: int) -> tuple[dict[str, Any], _ByPair]:
        """Return what situations of all pairs by a measure have in common, and what differs, as lists."""
        chosen, depth, tests = self.measures[measure], self.depths[measure], self.performance_tests[measure]
        near = [one for one in reversed(self.evenness) if one.depth <= depth]
        common = {
            "measure": str(chosen),
            "basis": "utility" if chosen.definition.basis == "utility" else "recall",
            "condensed": self.policies.unjudged == "condensed" or _judged_only(chosen),
            "condensed_as": _condensed_as(chosen),
            "limited": which_completions(self.policies),
            "fewest_topics": tests.fewest_topics,
            "only_relevant": self.only_relevant,
        }
        return common, _ByPair(
            frozen=self.frozen_runs(near[1].depth if len(near) > 1 else 0, depth).tolist(),
            shares=[(one.depth, one.shares.tolist(), one.even.tolist()) for one in near],
            p=tests.p_alone.tolist(), topics=tests.topics.tolist(), equal=tests.equal.tolist(),
        )  # fmt: skip

    def _situation(
        self, measure: int, pair: int, needed: int | None, common: Mapping[str, Any], by_pair: _ByPair
    ) -> Situation:
        a, b = self.pairs[pair].tolist()
        bounds = self.bounds[measure]
        pooled = [None, None]
        if self.pool is not None and not self.pool.guessed:
            pooled = self.pool.contributing[[a, b]].tolist()
        here, *shallower = [
            Shares(depth=depth, a=shares[a], b=shares[b], even=even[pair])
            for depth, shares, even in by_pair.shares
        ]
        frozen_a, frozen_b = by_pair.frozen[a], by_pair.frozen[b]
        settled = self.settled(measure, pair)
        return Situation(
            **common, run_a=self.runs[a], run_b=self.runs[b],
            case=int(self.own_cases[measure, pair]), settled=settled,
            stays=float("nan") if self.holds is None else float(self.holds.sign[measure, pair]),
            # The documents of the two runs, which were not looked at, might settle the pair.
            undecided=bounds is not None and not bounds.closest and not settled,
            shares=here, shallower=tuple(shallower),
            pooled_a=pooled[0], pooled_b=pooled[1],
            frozen_a=frozen_a, frozen_b=frozen_b,
            returned_a=self.judged_of_returned(a, measure) if frozen_a else None,
            returned_b=self.judged_of_returned(b, measure) if frozen_b else None,
            p=by_pair.p[pair], topics=by_pair.topics[pair], topics_needed=needed, equal=by_pair.equal[pair],
        )  # fmt: skip

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per measure and pair, with the columns of `sounding compare --format csv`."""
        texts = ("run_a", "run_b", "measure", "strength", "advice")
        types: dict[str, Any] = dict.fromkeys(texts, polars.String) | {"settled": polars.Boolean}
        found = {name: list(cells) for name, cells in self.columns(self.by_rank()).items()}
        return polars.DataFrame(found, schema_overrides=types)


def _judged_only(measure: Measure) -> bool:
    return bool(measure.get("judged_only")) or measure.name == "Bpref"


def _condensed_as(measure: Measure) -> str | None:
    """The measure over judged documents alone, as -m takes it; None: there is no such thing."""
    if _judged_only(measure) or not measure.definition.takes("judged_only"):
        return None
    return str(measure.replace(judged_only=True))
