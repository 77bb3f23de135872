"""compare(): what can be said of every pair of runs, and how far it can be trusted."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sounding.compare.advice import Basis, Shares, Situation, advise
from sounding.compare.anova import NO_ERROR
from sounding.compare.cases import (
    FIRST_UNJUDGED,
    RETRIEVED,
    UNTESTED,
    Cases,
    assessed_depths,
    assessment_measure,
    assessment_values,
    compared_measures,
    count_cases,
    decide,
    strength,
    values_of,
)
from sounding.compare.claims import PairTests
from sounding.compare.design import topics_needed
from sounding.compare.documents import Settling
from sounding.compare.holds import Holds
from sounding.compare.notes import short_lists, test_notes, topic_notes
from sounding.compare.pairs import Pairs
from sounding.compare.procedure import Procedure
from sounding.compare.registry import find_test
from sounding.compare.requests import check_request, chosen_pairs, without_common_topics
from sounding.compare.scenarios import Pool, find_pool
from sounding.compare.settled import (
    PairBounds,
    counted_topics,
    has_closer_bounds,
    separate_bounds,
    which_completions,
)
from sounding.compare.telling import TellingDocument
from sounding.data.simulation import RunInfo
from sounding.display import Displayed
from sounding.errors import DataError
from sounding.measures import Measure, parse_measures
from sounding.policies import Policies
from sounding.scores import Scores, mean_over_topics

if TYPE_CHECKING:
    import polars

COLUMNS = (
    "run_a", "run_b", "measure", "k", "topics", "difference", "ci_low", "ci_high", "p", "p_adjusted",
    "assessment_difference", "assessment_p", "case", "strength", "settled", "advice",
    "effect_size", "wins", "ties", "losses", "p_at_floor",
    "mean_a", "mean_b", "difference_least", "difference_most", "case_alone",
)  # fmt: skip
MARGIN_COLUMNS = ("equivalence_p", "noninferiority_p")
HOLDS_COLUMNS = ("conclusion", "holds", "sign_holds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """Which documents matter for one pair by one measure."""

    settling: Settling  # unjudged ones that could turn or settle the order
    telling: Mapping[str, tuple[TellingDocument, ...]]  # topic -> relevant ones that made the difference


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Evenness:
    """How much of every run was judged down to a depth, and which pairs do not differ in it."""

    depth: int
    shares: NDArray[np.float64]  # (run,) mean A_p
    even: NDArray[np.bool_]  # (pair,) no significant difference


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
    cases: Cases  # (measure, pair)
    own_cases: Cases  # (measure, pair): each pair by itself, before correction; advice goes by them
    bounds: tuple[PairBounds | None, ...]  # (measure,) of the differences over completions; None: not known
    accounts: tuple[Account, ...]  # (measure,) for one pair, which documents matter; empty: not looked for
    evenness: tuple[Evenness, ...]  # at every depth where assessment was looked at, the shallowest first
    lengths: NDArray[np.float64]  # (run,) mean length of its lists
    retrieved: NDArray[np.float64]  # (run, topic) length of each; 0: the run lacks the topic
    pool: Pool | None  # None: not known
    notes: tuple[str, ...]  # what a reader should be warned of
    left_out: tuple[str, ...]  # measures by which nothing could be compared, and why
    procedure: Procedure
    policies: Policies
    holds: Holds | None = None  # None: not asked for

    @property
    def alpha(self) -> float:
        """The level of both tests, which adjusted p are held against."""
        return self.procedure.alpha

    @property
    def same_topics(self) -> bool:
        """Every pair was compared on the same number of topics, by every measure."""
        return len({count for tests in self.performance_tests for count in tests.topics.tolist()}) == 1

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
        if self.performance_tests[measure].powerless:
            return None
        return strength(int(self.cases[measure, pair]))

    def __repr__(self) -> str:
        measures = ", ".join(map(str, self.measures[:5])) + (", ..." if len(self.measures) > 5 else "")
        pairs = f"{len(self.pairs):,} pair{'s' * (len(self.pairs) != 1)}"
        return f"<Comparison of {pairs} of {len(self.runs)} runs on {len(self.topics)} topics: {measures}>"

    def means(self, measure: int) -> NDArray[np.float64]:
        """(2, pair): the means of run_a and run_b over the topics on which both have a value; NaN: none."""
        values = self.values[self.pairs.T, measure]
        both = np.where(np.isnan(values).any(axis=0), np.nan, values)
        counted = np.count_nonzero(~np.isnan(both), axis=2)
        none = np.full(counted.shape, np.nan)
        tested = self.performance_tests[measure].topics > 0
        return np.divide(np.nansum(both, axis=2), counted, out=none, where=(counted > 0) & tested)

    def settled(self, measure: int, pair: int) -> bool | None:
        """Whether no completion of the judgments turns the order of the two runs; None: not known."""
        bounds = self.bounds[measure]
        if bounds is None or np.isnan(bounds.lower[pair]):
            return None
        settled = bool(bounds.settled[pair])
        return settled if settled or bounds.closest else None

    def frozen_runs(self, from_depth: int, to_depth: int) -> NDArray[np.bool_]:
        """(run,): lists that end, on average, in the first half of the way from a depth to the next.

        Such a run can hardly find anything more: it is frozen while the others go on.
        """
        return self.lengths < (from_depth + to_depth) / 2

    def judged_of_returned(self, run: int, measure: int) -> float:
        """The judged share of what a run has down to the depth of a measure; NaN: it has nothing."""
        depth = self.depths[measure]
        has = float(np.minimum(self.retrieved[run], depth).sum())
        return float(np.nansum(self.assessment[run, measure])) * depth / has if has else float("nan")

    def topics_needed(self, rows: Sequence[tuple[int, int]]) -> list[int | None]:
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
        return count_cases(self.cases)

    def shares(self) -> NDArray[np.float64]:
        """(measure, 4): the same as shares of all pairs that could be tested."""
        counts = self.counts()
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def interesting(self) -> list[tuple[int, int]]:
        """(measure, pair) of every row: significant ones first, then weak, then unsettled, then the rest.

        Pairs that could not be tested come last. Within each the smallest adjusted p, then the largest
        difference comes first.
        """
        rows = []
        for number, tests in enumerate(self.performance_tests):
            weak = ~self.strong[number]
            bounds = self.bounds[number]
            unsettled = np.False_ if bounds is None else ~bounds.settled
            group = np.where(tests.significant, 0, np.where(weak, 1, np.where(unsettled, 2, 3)))
            group = np.where(self.cases[number] == UNTESTED, 4, group)
            gaps = -np.nan_to_num(np.abs(tests.difference))
            p = np.nan_to_num(np.stack([tests.p_adjusted, tests.p]), nan=2.0).tolist()
            keys = zip(group.tolist(), *p, gaps.tolist(), strict=True)
            rows += [(key, number, pair) for pair, key in enumerate(keys)]
        return [(number, pair) for _, number, pair in sorted(rows)]

    def names(self, pair: int) -> tuple[str, str]:
        """run_a and run_b of a pair."""
        a, b = self.pairs[pair].tolist()
        return self.runs[a], self.runs[b]

    def columns(self, rows: Sequence[tuple[int, int]]) -> dict[str, list[Any]]:
        """The promised columns of some (measure, pair) rows; None: not known."""
        numbers = [number for number, _ in rows]
        names = [self.names(pair) for _, pair in rows]

        def of(tests: Sequence[PairTests], field: str) -> list[Any]:
            columns = [getattr(one, field).tolist() for one in tests]
            return [columns[number][pair] for number, pair in rows]

        performance, assessment = self.performance_tests, self.assessment_tests
        cases = [int(self.cases[row]) for row in rows]
        found: dict[str, list[Any]] = {
            "run_a": [a for a, _ in names],
            "run_b": [b for _, b in names],
            "measure": [str(self.measures[number]) for number in numbers],
            "k": [self.depths[number] for number in numbers],
            "topics": of(performance, "topics"),
        }
        found |= {
            name: of(performance, name) for name in ("difference", "ci_low", "ci_high", "p", "p_adjusted")
        }
        found |= {
            "assessment_difference": of(assessment, "difference"),
            "assessment_p": of(assessment, "p_adjusted"),
            "case": [case or None for case in cases],
            "strength": [self.strength(*row) for row in rows],
            "settled": [self.settled(*row) for row in rows],
            "advice": [
                self._advice(*row, needed) for row, needed in zip(rows, self._needed(rows), strict=True)
            ],
            "effect_size": of(performance, "effect"),
            "wins": of(performance, "wins"), "ties": of(performance, "ties"),
            "losses": of(performance, "losses"),
            "p_at_floor": of(performance, "floor"),
        }  # fmt: skip
        used = sorted(set(numbers))
        means = {number: self.means(number).tolist() for number in used}
        limits = {number: self._limits(number).tolist() for number in used}
        found |= {
            "mean_a": [means[number][0][pair] for number, pair in rows],
            "mean_b": [means[number][1][pair] for number, pair in rows],
            "difference_least": [limits[number][0][pair] for number, pair in rows],
            "difference_most": [limits[number][1][pair] for number, pair in rows],
            "case_alone": [int(self.own_cases[row]) or None for row in rows],
        }
        margins = [tests.equivalence for tests in performance if tests.equivalence is not None]
        if margins:
            for name, field in zip(MARGIN_COLUMNS, ("p_adjusted", "noninferior_p_adjusted"), strict=True):
                found[name] = [float(getattr(margins[number], field)[pair]) for number, pair in rows]
        if self.holds is not None:
            held = self.holds
            found |= dict(
                zip(
                    HOLDS_COLUMNS,
                    (
                        [held.in_words(*row) for row in rows],
                        [float(held.conclusion[row]) for row in rows],
                        [float(held.sign[row]) for row in rows],
                    ),
                    strict=True,
                )
            )
        return found

    def _limits(self, measure: int) -> NDArray[np.float64]:
        """(2, pair): the least and the most that the difference can be over completions; NaN: not known."""
        bounds = self.bounds[measure]
        if bounds is None:
            return np.full((2, len(self.pairs)), np.nan)
        return np.stack([bounds.lower, bounds.upper])

    def advice(self, measure: int, pair: int) -> str:
        """What to do about one pair, in a sentence; where there was nothing to test, why."""
        return self._advice(measure, pair, *self._needed([(measure, pair)]))

    def _needed(self, rows: Sequence[tuple[int, int]]) -> list[int | None]:
        """`topics_needed` where the advice may ask for topics: of pairs without a significant difference."""
        asking = [row for row in rows if self.own_cases[row] in (1, 2)]
        found = dict(zip(asking, self.topics_needed(asking), strict=True))
        return [found.get(row) for row in rows]

    def _advice(self, measure: int, pair: int, needed: int | None) -> str:
        tests = self.performance_tests[measure]
        reason = tests.reasons[pair]
        if reason and tests.omnibus is None:
            return f"{reason[0].upper()}{reason[1:]}."
        return str(advise(self._situation(measure, pair, needed)))

    def situation(self, measure: int, pair: int) -> Situation:
        """What is known of one pair, as rules for advice ask for it."""
        return self.situations([(measure, pair)])[0]

    def situations(self, rows: Sequence[tuple[int, int]]) -> list[Situation]:
        """The same of (measure, pair) rows."""
        return [self._situation(*row, needed) for row, needed in zip(rows, self._needed(rows), strict=True)]

    def _situation(self, measure: int, pair: int, needed: int | None) -> Situation:
        a, b = self.pairs[pair].tolist()
        tests, depth = self.performance_tests[measure], self.depths[measure]
        pooled = [None, None]
        if self.pool is not None and not self.pool.guessed:
            pooled = self.pool.contributing[[a, b]].tolist()
        here, *shallower = [
            Shares(
                depth=one.depth, a=float(one.shares[a]), b=float(one.shares[b]), even=bool(one.even[pair])
            )
            for one in reversed(self.evenness)
            if one.depth <= depth
        ]  # fmt: skip
        frozen = self.frozen_runs(shallower[0].depth if shallower else 0, depth)
        return Situation(
            run_a=self.runs[a], run_b=self.runs[b],
            measure=str(self.measures[measure]), basis=_basis(self.measures[measure]),
            condensed=self.policies.unjudged == "condensed" or _judged_only(self.measures[measure]),
            condensed_as=_condensed_as(self.measures[measure]),
            case=int(self.own_cases[measure, pair]), settled=self.settled(measure, pair),
            limited=which_completions(self.policies),
            undecided=self._undecided(measure, pair),
            shares=here, shallower=tuple(shallower),
            pooled_a=pooled[0], pooled_b=pooled[1],
            frozen_a=bool(frozen[a]), frozen_b=bool(frozen[b]),
            returned_a=self.judged_of_returned(a, measure) if frozen[a] else None,
            returned_b=self.judged_of_returned(b, measure) if frozen[b] else None,
            p=float(tests.p_alone[pair]), topics=int(tests.topics[pair]), topics_needed=needed,
        )  # fmt: skip

    def _undecided(self, measure: int, pair: int) -> bool:
        """Whether the documents of the two runs, which were not looked at, might settle the pair."""
        bounds = self.bounds[measure]
        return bounds is not None and not bounds.closest and not bounds.settled[pair]

    @property
    def frame(self) -> polars.DataFrame:
        """One row a measure and pair, with the columns and the order of `sounding compare --format csv`."""
        import polars

        texts = ("run_a", "run_b", "measure", "strength", "advice")
        types: dict[str, Any] = dict.fromkeys(texts, polars.String) | {"settled": polars.Boolean}
        return polars.DataFrame(self.columns(self.interesting()), schema_overrides=types)


def compare(
    scores: Scores,
    *,
    measures: Iterable[str | Measure] | None = None,
    baselines: Sequence[str] = (),
    pair: tuple[str, str] | None = None,
    procedure: Procedure | None = None,
    info: Mapping[str, RunInfo] | None = None,
) -> Comparison:
    """Test all pairs of runs, all against baselines, or one pair; by all measures, or by some.

    Scores need A_p beside every measure: evaluate `with_assessment(measures)`. They tell which pairs are
    settled if they were evaluated with bounds over the universe `runs`; over another, only for measures
    that do not ask how many relevant documents there are. They have no documents: where the runs' own
    bounds do not settle a pair and closer ones might, it is not known whether it is (`compare_runs`).
    """
    if scores.policies.unjudged == "condensed":
        raise DataError(
            "A_p counts unjudged documents, and these scores removed them; compare_runs() keeps both"
        )
    chosen = compared_measures(scores) if measures is None else parse_measures(measures)
    how = Procedure(seed=scores.policies.seed) if procedure is None else procedure
    check_request(scores, chosen)
    pairs = chosen_pairs(scores, chosen, baselines, pair)
    bounds = tuple(
        bounds_of_scores(scores, measure, pairs) if _same_universe(scores, measure) else None
        for measure in chosen
    )
    return compared(scores, chosen, pairs, bounds, how, info)


def compared(
    scores: Scores,
    measures: tuple[Measure, ...],
    pairs: Pairs,
    bounds: tuple[PairBounds | None, ...],
    procedure: Procedure,
    info: Mapping[str, RunInfo] | None,
) -> Comparison:
    """Test the pairs by every measure, and put down what belongs to them; the request was checked.

    Measures by which no pair can be tested are left out, with a note, unless that is all of them.
    """
    apart = without_common_topics(scores, pairs)
    if apart.all():
        raise DataError(_apart(scores, pairs))
    attempts = [
        _tested(values_of(scores, one), one, pairs, scores.runs, procedure, apart) for one in measures
    ]
    problems = [one for one in attempts if isinstance(one, str)]
    if len(problems) == len(attempts):
        raise DataError(problems[0])
    kept = [place for place, one in enumerate(attempts) if not isinstance(one, str)]
    measures = tuple(measures[place] for place in kept)
    bounds = tuple(_of_common_topics(bounds[place], apart) for place in kept)
    performance = tuple(one for one in attempts if not isinstance(one, str))
    tables = [values_of(scores, measure) for measure in measures]
    depths, assessed = zip(*(assessment_values(scores, measure) for measure in measures), strict=True)
    once = dict(zip(depths, assessed, strict=True))
    by_depth = {k: procedure.apply(table, pairs, apart=apart) for k, table in once.items()}
    assessments = tuple(by_depth[k] for k in depths)
    evenness = [_evenness(k, table, by_depth[k]) for k, table in once.items()]
    evenness += _shallower(scores, pairs, procedure, once)
    values, shares = (np.stack(part, axis=1) for part in (tables, assessed))
    return Comparison(
        runs=scores.runs, measures=measures, topics=scores.topics, depths=depths,
        values=values, assessment=shares, pairs=pairs,
        performance_tests=performance, assessment_tests=assessments,
        cases=np.array([decide(*both) for both in zip(performance, assessments, strict=True)]),
        own_cases=np.array(
            [decide(*both, alone=True) for both in zip(performance, assessments, strict=True)]
        ),
        bounds=bounds, accounts=(), evenness=tuple(sorted(evenness, key=lambda one: one.depth)),
        lengths=_lengths(scores), retrieved=values_of(scores, RETRIEVED), pool=_pool(scores, info),
        notes=(
            *topic_notes(scores, values),
            *short_lists(np.nanmax(values_of(scores, RETRIEVED), axis=1, initial=0.0), measures),
            *test_notes(performance),
            *(f"Left out: {problem}." for problem in problems),
        ),
        left_out=tuple(problems), procedure=procedure, policies=scores.policies,
    )  # fmt: skip


def _apart(scores: Scores, pairs: Pairs) -> str:
    """That no two of the runs have a topic in common, with the topics of the first pair."""
    a, b = pairs[0].tolist()
    has = np.count_nonzero(~scores.missing, axis=1).tolist()
    others = f" (and {len(pairs) - 1:,} more pairs alike)" if len(pairs) > 1 else ""
    return (
        f"{scores.runs[a]} has {has[a]} of the {len(scores.topics)} judged topics, {scores.runs[b]} {has[b]},"
        f" and none in common{others}; expected runs for the same topics"
    )


def _of_common_topics(bounds: PairBounds | None, apart: NDArray[np.bool_]) -> PairBounds | None:
    """The bounds, not known for pairs without common topics."""
    if bounds is None or not apart.any():
        return bounds
    lower, upper = (np.where(apart, np.nan, side) for side in (bounds.lower, bounds.upper))
    return replace(bounds, lower=lower, upper=upper, settled=bounds.settled & ~apart)


def _evenness(depth: int, table: NDArray[np.float64], tests: PairTests) -> Evenness:
    return Evenness(depth=depth, shares=mean_over_topics(table), even=~tests.significant_alone)


def _shallower(
    scores: Scores, pairs: Pairs, procedure: Procedure, known: Collection[int]
) -> Iterator[Evenness]:
    """Assessment at depths above the deepest that is compared, where it is not known yet.

    Tests that draw would take long for so many: there the paired t test stands in.
    """
    drawn = find_test(procedure.test).draws
    quick = replace(procedure, test="t", correction=None, permutations=None) if drawn else procedure
    for depth in assessed_depths(scores):
        if depth not in known and depth < max(known):
            table = values_of(scores, assessment_measure(depth))
            yield _evenness(
                depth, table, quick.apply(table, pairs, apart=without_common_topics(scores, pairs))
            )


def _judged_only(measure: Measure) -> bool:
    return bool(measure.get("judged_only")) or measure.name == "Bpref"


def _condensed_as(measure: Measure) -> str | None:
    """The measure over judged documents alone, as -m takes it; None: there is no such thing."""
    if _judged_only(measure) or not measure.definition.takes("judged_only"):
        return None
    return str(measure.replace(judged_only=True))


def _basis(measure: Measure) -> Basis:
    return "utility" if measure.definition.basis == "utility" else "recall"


def _tested(
    values: NDArray[np.float64],
    measure: Measure,
    pairs: Pairs,
    runs: Sequence[str],
    procedure: Procedure,
    apart: NDArray[np.bool_],
) -> PairTests | str:
    """The test of performance; a sentence where there is nothing that it could say of any pair."""
    try:
        tests = procedure.apply(values, pairs, procedure.margin, apart)
    except DataError as problem:
        return f"{measure}: {problem}"
    differ = bool((tests.ties < tests.topics).any())
    omnibus_alone = tests.omnibus is not None and NO_ERROR not in tests.reasons and differ
    if all(tests.reasons) and not omnibus_alone:
        a, b = (runs[place] for place in pairs[0].tolist())
        others = f" (and {len(pairs) - 1:,} more pairs without a test)" if len(pairs) > 1 else ""
        return f"{measure}, {a} and {b}: {tests.reasons[0]}{others}; nothing to compare"
    return tests


def _same_universe(scores: Scores, measure: Measure) -> bool:
    """Whether bounds suppose the same documents for all runs, or do not depend on those not retrieved."""
    return scores.policies.universe == "runs" or measure.definition.basis == "utility"


def bounds_of_scores(scores: Scores, measure: Measure, pairs: Pairs) -> PairBounds | None:
    """Bounds of differences from the bounds of each run by itself; None where the scores have none."""
    number = scores.measures.index(measure)
    if scores.bounds is None or scores.bounds.kinds[number] == "none":
        return None
    counted = counted_topics(scores.missing, pairs, scores.policies)
    low, high = scores.bounds.lower[:, number], scores.bounds.upper[:, number]
    found = separate_bounds(measure, low, high, pairs, counted)
    return replace(found, closest=not has_closer_bounds(measure))


def _lengths(scores: Scores) -> NDArray[np.float64]:
    """(run,): the mean length of a run's lists, over the topics that it has; 0: none."""
    retrieved = values_of(scores, RETRIEVED)
    having = np.count_nonzero(retrieved > 0, axis=1)
    return np.nansum(retrieved, axis=1) / np.maximum(having, 1)


def _pool(scores: Scores, info: Mapping[str, RunInfo] | None) -> Pool | None:
    if FIRST_UNJUDGED not in scores.measures:
        return None
    names = list(zip(scores.runs, scores.tags, strict=True))
    lengths = np.nan_to_num(values_of(scores, RETRIEVED))
    return find_pool(values_of(scores, FIRST_UNJUDGED), names, info, lengths=lengths)
