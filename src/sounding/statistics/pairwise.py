"""Test all pairs of runs by a named procedure, from values by run and topic."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from numbers import Real
from typing import Any, TypeVar

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError, UnknownNameError, expect
from sounding.core.limits import check_count
from sounding.core.text import plural
from sounding.runs.pairs import KnownLimits, Limits, Pairs, grid_decimals, lead_over_nobody
from sounding.statistics import anova, bootstrap, paired_tests, randomization
from sounding.statistics.testing import (
    CORRECTIONS,
    MAX_T,
    PERMUTATIONS,
    Equivalence,
    Floats,
    Omnibus,
    Outcome,
    PairedSample,
    PairTest,
    cohens_dz,
    find_correction,
    holm,
    one_sided,
    wins_ties_losses,
)

Kind = TypeVar("Kind", bound=np.generic)

LEAST = float(np.finfo(np.float64).tiny)  # no p-value is 0
FLIPS = "randomization"  # the test by sign flips
OWN = "own"  # the correction of tests that account for all pairs themselves
MOST_PERMUTATIONS = 200_000  # largest number drawn without being asked, to reach alpha at all
AMPLE = 20  # times as many draws as needed to reach alpha, so that chance hardly decides significance
MOST_WORK = 250_000_000  # largest number of draws times pairs spent on that
MULTIPLIED = ("bonferroni", "holm")  # corrections that multiply the smallest p by the number of pairs
FEW_REACH = 5  # if fewer draws than this decide significance, chance decides


TESTS = {
    test.name: test
    for test in (
        PairTest(name="anova", function=anova.anova, correction="bonferroni", whole_topics=True),
        PairTest(name="anova2", function=anova.anova2, correction="bonferroni", whole_topics=True),
        PairTest(name="tukey", function=anova.tukey, correction="own", whole_topics=True),
        PairTest(
            name="randomized-tukey", function=anova.randomized_tukey, correction="own", whole_topics=True,
            draws=True,
        ),
        PairTest(name="bootstrap", function=bootstrap.bootstrap, needs_spread=True, draws=True),
        PairTest(
            name="bootstrap-percentile", function=bootstrap.bootstrap_percentile, needs_spread=True,
            draws=True,
        ),
        PairTest(
            name="randomization", function=randomization.randomization, correction="max-t", draws=True,
            by_signs=True,
        ),
        PairTest(name="t", function=paired_tests.paired_t, needs_spread=True),
        PairTest(name="sign", function=paired_tests.sign, by_signs=True),
        PairTest(name="wilcoxon", function=paired_tests.wilcoxon, by_signs=True),
        PairTest(name="wilcoxon-pratt", function=paired_tests.wilcoxon_pratt, by_signs=True),
    )
}  # fmt: skip

# Accepted spellings.
ALIASES = {"randomization": "randomization", "randomized-tukey": "randomized-tukey"}

# Other names of our tests, letters and digits only.
MEANT = {
    "ttest": "t", "pairedt": "t", "student": "t", "studentt": "t", "trel": "t", "ttestrel": "t",
    "permutation": "randomization", "fisher": "randomization", "signflip": "randomization",
    "signedrank": "wilcoxon", "pratt": "wilcoxon-pratt", "binomial": "sign", "bca": "bootstrap",
    "hsd": "tukey", "tukeyhsd": "tukey", "randomizedhsd": "randomized-tukey", "twowayanova": "anova2",
    "onewayanova": "anova",
}  # fmt: skip


def find_test(name: str) -> PairTest:
    """Return the test of that name or another spelling of it; otherwise an error with similar names."""
    expect(name, str, "test", f"a name such as {next(iter(TESTS))}")
    name = ALIASES.get(name, name)
    if name not in TESTS:
        plain = "".join(letter for letter in name.lower() if letter.isalnum()).replace("iz", "is")
        meant = MEANT.get(plain) or MEANT.get(plain.removesuffix("test"))
        raise UnknownNameError("test", name, TESTS, meant=meant)
    return TESTS[name]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairTests:
    """The results of one test for every pair of runs; differences are run_a - run_b."""

    pairs: Pairs  # (pair, 2): run_a, run_b
    topics: NDArray[np.int64]  # (pair,) number used
    wins: NDArray[np.int64]  # (pair,) topics on which run_a is better
    ties: NDArray[np.int64]
    losses: NDArray[np.int64]
    difference: Floats  # (pair,) mean over these topics; NaN without topics
    limits: Limits  # of the confidence intervals: see `interval`; infinite: no limit
    effect: Floats  # (pair,) Cohen's d_z
    p: Floats  # (pair,) two-sided, each pair alone; never 0; NaN: fewer than 2 common topics
    p_adjusted: Floats  # (pair,) adjusted for all pairs that could be tested
    floor: NDArray[np.bool_]  # (pair,) p is the smallest that these topics, or this number of draws, can give
    # (pair,) p is the smallest that this number of draws can give; more draws may lower it
    floor_drawn: NDArray[np.bool_]
    floor_adjusted: NDArray[np.bool_]  # (pair,) the adjusted p, below 1, is based on such a p
    reasons: tuple[str, ...]  # (pair,) why there is nothing to test, or empty
    test: str
    correction: str
    alpha: float
    method: str  # test, zero handling, number of permutations, seed, correction
    interval: str  # the quantity between ci_low and ci_high, to continue a sentence
    center: str  # the same in a word: mean, median or pseudomedian
    least: float  # the smallest possible p; 0: any
    drawn: int  # number of arrangements or resamples drawn; 0: none
    limit: str  # why no adjusted p could have reached alpha, whatever the values; empty: it could
    limit_alone: str  # the same for p before correction
    notes: tuple[str, ...]  # notes for readers of the whole table
    omnibus: Omnibus | None  # of analyses of variance
    equivalence: Equivalence | None  # if a margin was given

    def between(self, pairs: Sequence[int] | NDArray[np.intp]) -> Floats:
        """(2, pair): Return the limits of the intervals of the pairs with these numbers."""
        return self.limits.of(np.asarray(pairs, np.intp))

    @property
    def ci_low(self) -> Floats:
        """(pair,): the lower limit of the interval; infinite: no limit."""
        return self.between(np.arange(len(self.p)))[0]

    @property
    def ci_high(self) -> Floats:
        """(pair,): the upper limit of the interval; infinite: no limit."""
        return self.between(np.arange(len(self.p)))[1]

    @property
    def fewest_topics(self) -> int:
        """The number of common topics that a pair needs for the test to reach alpha at all."""
        return fewest_topics(self.alpha) if find_test(self.test).by_signs else 2

    def could_differ(self, *, alone: bool = False) -> NDArray[np.bool_]:
        """(pair,): Return whether the test could have found a difference; `alone`: before correction."""
        limit = self.limit_alone if alone else self.limit
        # A difference that is the same on every topic is tested by sign flips, whatever the test.
        fewest = np.where(self.constant, fewest_topics(self.alpha), self.fewest_topics)
        return (self.topics >= fewest) & (not limit)

    @property
    def equal(self) -> NDArray[np.bool_]:
        """(pair,): whether the two runs have the same value on every topic, of at least two."""
        return (self.topics > 1) & (self.ties == self.topics)

    @property
    def constant(self) -> NDArray[np.bool_]:
        """(pair,): whether one run is ahead by the same amount on every topic."""
        return np.isinf(self.effect)

    @property
    def significant(self) -> NDArray[np.bool_]:
        """(pair,): whether the adjusted p is at most alpha."""
        return self.p_adjusted <= self.alpha

    @property
    def p_alone(self) -> Floats:
        """(pair,): p of the pair, independent of the other pairs.

        That is p, or the adjusted p if the test itself accounts for all runs.
        """
        return self.p_adjusted if self.correction == OWN else self.p

    @property
    def significant_alone(self) -> NDArray[np.bool_]:
        """(pair,): whether that p is at most alpha, and there was something to test."""
        return (self.p_alone <= self.alpha) & ~np.array([bool(reason) for reason in self.reasons])


def pairwise_tests(
    values: Floats,
    pairs: Pairs,
    *,
    test: str = "randomization",
    correction: str | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
    permutations: int = PERMUTATIONS,
    rng: np.random.Generator,
    apart: NDArray[np.bool_] | None = None,
) -> PairTests:
    """Test the differences between pairs of runs, from values by run and topic (NaN: no value).

    A pair is tested on the topics where both runs have a value; analyses of variance and Tukey's tests use
    the topics where all runs have one. `correction` None: that of the test. `apart`, (pair,), marks pairs
    that have no topic in common although both have values. A pair without two common topics is not tested,
    has NaN for p, and does not count for the correction; one whose runs are equal on every topic has p = 1.
    Both have a reason.
    """
    chosen = find_test(test)
    used = check_choices(test, correction, alpha, margin, permutations)
    table, dropped = _check_values(np.asarray(values, np.float64), chosen)
    whole = PairedSample(
        values=table, pairs=_check_pairs(np.asarray(pairs, np.intp), table), correction=used,
        alpha=alpha, permutations=permutations, rng=rng, decimals=grid_decimals(table),
    )  # fmt: skip
    seen = _describe(whole, apart)
    known = seen.topics >= 2
    if not known.any():
        raise DataError(
            f"no pair of the {len(known):,} has 2 topics where both runs have values; a test needs at least 2"
        )
    request = replace(whole, pairs=whole.pairs[known])
    tested = seen.pick(known)
    outcome = _with_constants(chosen.function(request), tested, chosen, alpha)
    p = np.clip(outcome.p, LEAST, 1.0)
    corrected = CORRECTIONS[used](p) if outcome.adjusted is None else outcome.adjusted
    adjusted = np.clip(np.maximum(corrected, p), LEAST, 1.0)
    floor, floor_drawn, floor_adjusted = _floors(p, adjusted, tested, chosen, outcome)
    return PairTests(
        pairs=whole.pairs,
        topics=seen.topics, wins=seen.wins, ties=seen.ties, losses=seen.losses,
        difference=seen.difference, effect=seen.effect,
        limits=_LimitsOfTested(outcome.limits, np.where(known, np.cumsum(known) - 1, -1)),
        p=_spread(p, known, np.nan), p_adjusted=_spread(adjusted, known, np.nan),
        floor=_spread(floor, known, np.False_), floor_drawn=_spread(floor_drawn, known, np.False_),
        floor_adjusted=_spread(floor_adjusted, known, np.False_),
        reasons=tuple(_reasons(seen, chosen, outcome, alpha)),
        test=chosen.name, correction=used, alpha=alpha,
        method=_method(outcome, used, dropped), interval=outcome.interval, center=outcome.center,
        least=outcome.least, drawn=outcome.drawn,
        limit=_limit(request, outcome, tested, chosen, _multiplied(request)),
        limit_alone=_limit(request, outcome, tested, chosen, 1),
        notes=tuple(_notes(request, outcome, chosen, adjusted)), omnibus=outcome.omnibus,
        equivalence=None if margin is None else _equivalence(whole, seen, known, outcome, margin),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _LimitsOfTested:
    """The limits of tested pairs; the others have none."""

    limits: Limits
    number: NDArray[np.intp]  # (pair,) the number of the pair among those that were tested; -1: it was not

    def of(self, pairs: NDArray[np.intp]) -> Floats:
        """(2, pair): Return the limits of the pairs with these numbers."""
        both = np.full((2, len(pairs)), [[-np.inf], [np.inf]])
        number = self.number[pairs]
        both[:, number >= 0] = self.limits.of(number[number >= 0])
        return both


def _spread(found: NDArray[Kind], known: NDArray[np.bool_], otherwise: Any) -> NDArray[Kind]:
    """(pair,): Spread results of the tested pairs over all pairs, with a default for the others."""
    whole = np.full(len(known), otherwise, found.dtype)
    whole[known] = found
    return whole


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Seen:
    """Statistics that do not depend on the test; (pair,) each."""

    topics: NDArray[np.int64]
    wins: NDArray[np.int64]
    ties: NDArray[np.int64]
    losses: NDArray[np.int64]
    difference: Floats
    effect: Floats

    def pick(self, rows: NDArray[np.bool_]) -> _Seen:
        """Return only these pairs."""
        return _Seen(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def check_choices(
    test: str, correction: str | None, alpha: float, margin: float | None, permutations: int | None
) -> str:
    """Return the correction to use; raise an error if a choice is invalid or two do not go together."""
    used = _correction(find_test(test), correction)
    if not _is_number(alpha) or not 0 < alpha < 1:
        raise DataError(f"alpha {alpha}: expected a number between 0 and 1, such as 0.05")
    if permutations is not None:
        check_count("permutations", permutations, 1)
    if margin is not None and (not _is_number(margin) or not 0 < margin < np.inf):
        raise DataError(f"margin {margin}: expected a difference above 0 that does not matter, such as 0.01")
    return used


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _correction(test: PairTest, asked: str | None) -> str:
    if asked is None:
        return test.correction
    asked = find_correction(asked)
    if test.correction == OWN:
        raise DataError(f"test {test.name} already corrects for all pairs; leave out the correction {asked}")
    if asked == MAX_T and test.name != FLIPS:
        raise DataError(f"correction {MAX_T} needs the test {FLIPS}, not {test.name}")
    return asked


def _check_values(values: Floats, test: PairTest) -> tuple[Floats, int]:
    """Return the values that the test uses, and the number of topics that were dropped."""
    if values.ndim != 2:
        raise DataError(f"values of shape {values.shape}: expected one row per run and one column per topic")
    if np.isinf(values).any():
        run, topic = np.argwhere(np.isinf(values))[0].tolist()
        raise DataError(
            f"run {run}, topic {topic}: the value {values[run, topic]} cannot be tested; expected numbers"
        )
    topics = values.shape[1]
    if topics < 2:
        raise DataError(f"{plural(topics, 'topic')} with values; a test needs at least 2")
    if not test.whole_topics:
        return values, 0
    whole = ~np.isnan(values).any(axis=0)
    kept = int(np.count_nonzero(whole))
    if kept < 2:
        raise DataError(
            f"test {test.name} uses topics on which all runs have values, and there are {kept} of {topics};"
            " it needs at least 2: leave out runs that lack topics, or use a paired test"
        )
    return values[:, whole], topics - kept


def _check_pairs(pairs: Pairs, values: Floats) -> Pairs:
    runs = len(values)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise DataError(f"pairs of shape {pairs.shape}: expected two runs per row")
    if not len(pairs):
        raise DataError(f"no pairs to test among {plural(runs, 'run')}; a comparison needs at least 2 runs")
    wrong = ((pairs < 0) | (pairs >= runs)).any(axis=1) | (pairs[:, 0] == pairs[:, 1])
    if wrong.any():
        a, b = pairs[wrong][0].tolist()
        raise DataError(f"pair ({a}, {b}): expected two different runs from 0 to {runs - 1}")
    return pairs


def _describe(request: PairedSample, apart: NDArray[np.bool_] | None) -> _Seen:
    count = len(request.pairs)
    counts, means = np.empty((4, count), np.int64), np.empty((2, count))
    for rows, gaps in request.differences():
        counts[:, rows] = gaps.topics, *wins_ties_losses(gaps)
        means[:, rows] = gaps.mean, cohens_dz(gaps)
    if apart is not None:
        counts[:, apart], means[:, apart] = 0, np.nan
    (topics, wins, ties, losses), (difference, effect) = counts, means
    return _Seen(topics=topics, wins=wins, ties=ties, losses=losses, difference=difference, effect=effect)


def _with_constants(outcome: Outcome, seen: _Seen, test: PairTest, alpha: float) -> Outcome:
    """Use the p of all sign flips for constant differences, which leave a test no error term.

    A difference that is the same on all n topics has an infinite t. Only two of its 2^n sign flips are as far
    from 0, so p is 2^(1 - n); its interval is the difference itself if that reaches alpha. The smallest p of
    tests by signs is that of the pair with the most topics.
    """
    least = outcome.least
    if test.by_signs:
        least = max(least, 0.5 ** (int(seen.topics.max()) - 1))
    rows = np.isinf(seen.effect) & (test.needs_spread or outcome.no_error)
    if not rows.any():
        return replace(outcome, least=least)
    p = np.where(rows, 0.5 ** (seen.topics - 1), outcome.p)
    reach = np.where(p <= alpha, 0.0, np.inf)
    ends = np.stack([seen.difference - reach, seen.difference + reach])
    return replace(
        outcome, p=p, least=least,
        limits=KnownLimits(np.where(rows, ends, outcome.limits.of(np.arange(len(rows))))),
        adjusted=holm(p) if outcome.no_error and test.correction == OWN else outcome.adjusted,
    )  # fmt: skip


def _reasons(seen: _Seen, test: PairTest, outcome: Outcome, alpha: float) -> Iterator[str]:
    equal = (seen.ties == seen.topics).tolist()
    constant = np.isinf(seen.effect) & (test.needs_spread or outcome.no_error)
    undecided = (constant & (seen.topics < fewest_topics(alpha))).tolist()
    for place, topics in enumerate(seen.topics.tolist()):
        if topics < 2:
            yield f"{plural(topics, 'common topic')}; a test needs at least 2"
        elif equal[place]:
            yield f"the runs are equal on all {topics} topics"
        elif undecided[place]:
            yield f"the difference is the same on all {topics} topics, which are too few to test it"
        else:
            yield outcome.silent


def _floors(
    p: Floats, adjusted: Floats, seen: _Seen, test: PairTest, outcome: Outcome
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """(pair,) each: Return whether p is the smallest possible, that of the draws, and the adjusted p too.

    An exact p is not marked, however small it could have been.
    """
    least = outcome.least * (1 + 1e-9)
    floor = p <= least
    if test.by_signs:
        # If all differences have one sign, no other arrangement is further from 0.
        floor |= (np.minimum(seen.wins, seen.losses) == 0) & (seen.wins + seen.losses > 0)
    if not outcome.drawn:
        return floor, np.zeros_like(floor), np.zeros_like(floor)
    fewest = (1 + 1e-9) / (1 + outcome.drawn)
    drawn = p <= fewest
    made_of = drawn if outcome.adjusted is None else outcome.adjusted <= fewest
    return floor, drawn, made_of & (adjusted < 1)


def _method(outcome: Outcome, correction: str, dropped: int) -> str:
    parts = [outcome.method]
    if dropped:
        parts.append(f"{plural(dropped, 'topic')} left out where not all runs have values")
    if correction != OWN:
        parts.append(f"correction {correction}")
    return "; ".join(parts)


def _multiplied(request: PairedSample) -> int:
    """Return the factor by which the correction multiplies the smallest p."""
    return len(request.pairs) if request.correction in MULTIPLIED else 1


def _limit(request: PairedSample, outcome: Outcome, seen: _Seen, test: PairTest, tests: int) -> str:
    """Say why no p times `tests` could have reached alpha, and what would help; empty: some could."""
    if outcome.least * tests <= request.alpha:
        return ""
    topics, times = int(seen.topics.max()), f" times {tests:,} pairs ({request.correction})" * (tests > 1)
    if test.by_signs and outcome.least <= 0.5 ** (topics - 1):
        why = f"with {plural(topics, 'topic')} the smallest possible p is {outcome.least:.3g}{times}"
        helps = [f"at least {fewest_topics(request.alpha / tests)} topics"]
    else:
        why = f"the smallest p that {outcome.drawn:,} draws can show is {outcome.least:.3g}{times}"
        helps = [f"at least {int(np.ceil(tests / request.alpha - 1e-9)) - 1:,} permutations"]
    if tests > 1 and fewest_topics(request.alpha) <= topics and outcome.least <= request.alpha:
        helps.append(f"correction {MAX_T}" if test.name == FLIPS else f"test {FLIPS} with correction {MAX_T}")
    return f"no pair can be significant at alpha {request.alpha:g}: {why}. Use {' or '.join(helps)}"


def fewest_topics(alpha: float) -> int:
    """Return the number of topics with which a test by signs can reach alpha: 2^(1 - n) <= alpha."""
    return max(2, int(np.ceil(1 - np.log2(alpha) - 1e-9)))


def _notes(request: PairedSample, outcome: Outcome, test: PairTest, adjusted: Floats) -> Iterator[str]:
    """Yield a note if significance depends on hardly any draws, which another seed may change."""
    times, significant = _multiplied(request), int(np.count_nonzero(adjusted <= request.alpha))
    if not outcome.drawn or times == 1 or outcome.least * times > request.alpha or not significant:
        return
    left = len(adjusted) - significant + 1 if request.correction == "holm" else len(adjusted)
    allowed = int(np.floor(request.alpha / left * (1 + outcome.drawn) + 1e-9)) - 1
    if allowed >= FEW_REACH:
        return
    other = f" or correction {MAX_T}" if test.name == FLIPS else ""
    yield (
        f"significance may change with the seed: {outcome.drawn:,} permutations are few for"
        f" {request.correction} over {len(adjusted):,} pairs ({significant:,} of them significant); use"
        f" {int(np.ceil(20 * len(adjusted) / request.alpha)):,} permutations{other}"
    )


def _equivalence(
    request: PairedSample, seen: _Seen, known: NDArray[np.bool_], outcome: Outcome, margin: float
) -> Equivalence:
    """Test equivalence by t with the pooled error if the test has one, else with each pair's own."""
    topics = np.maximum(seen.topics, 1)
    if outcome.error is None:
        error, df = np.empty(len(topics)), np.maximum(seen.topics - 1, 1)
        for rows, gaps in request.differences():
            error[rows] = np.nan_to_num(gaps.deviation) / np.sqrt(topics[rows])
        name = "paired t tests"
    else:
        error, df = _spread(outcome.error, known, 0.0), np.full(len(topics), outcome.df_error)
        name = "t tests with the pooled error"
    above, below = one_sided(seen.difference, error, df, seen.topics, margin)
    both, one = (np.clip(side, LEAST, 1.0)[known] for side in (np.maximum(above, below), above))
    correction = request.correction if request.correction in CORRECTIONS else "holm"
    adjust = CORRECTIONS[correction]
    p, adjusted, noninferior, noninferior_adjusted = (
        _spread(side, known, np.nan) for side in (both, adjust(both), one, adjust(one))
    )
    return Equivalence(
        margin=margin, p=p, p_adjusted=adjusted,
        noninferior_p=noninferior, noninferior_p_adjusted=noninferior_adjusted,
        method=f"two one-sided {name}, margin {margin:g}; correction {correction}",
    )  # fmt: skip


def check_procedure(procedure: object) -> None:
    """Raise an error if this is not a Procedure."""
    expect(procedure, Procedure, "procedure", "Procedure(test=..., correction=..., alpha=...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """Test procedure for differences, the same for performance and for assessment."""

    test: str = "randomization"
    correction: str | None = None  # None: the test's own (holm; bonferroni after an analysis of variance)
    alpha: float = 0.05
    margin: float | None = None
    permutations: int | None = None  # None: 10,000, or more if the correction or alpha requires it
    seed: int = 0

    def __post_init__(self) -> None:
        # Another spelling is the same choice.
        object.__setattr__(self, "test", find_test(self.test).name)
        if self.correction is not None:
            object.__setattr__(self, "correction", find_correction(self.correction))
        check_choices(self.test, self.correction, self.alpha, self.margin, self.permutations)

    def draws(self, runs: int) -> int:
        """Return the number of permutations or resamples for `runs` runs: enough for all their pairs.

        It does not depend on how many pairs are tested, so that the p of a pair alone is always the same. It
        is 20 times as many as needed to reach alpha, unless that is too much work; and enough that limits of
        intervals at alpha do not depend on a few draws.
        """
        if self.permutations is not None:
            return self.permutations
        pairs = runs * (runs - 1) // 2
        least = min(max(self.needed(pairs), randomization.interval_flips(self.alpha)), MOST_PERMUTATIONS)
        ample = min(AMPLE * (self.needed(pairs) + 1) - 1, MOST_WORK // max(pairs, 1))
        return max(PERMUTATIONS, least, ample)

    def needed(self, pairs: int) -> int:
        """Return how many draws a pair needs to be significant at all; 0: any number."""
        correction = self.correction or find_test(self.test).correction
        if not find_test(self.test).draws or correction not in MULTIPLIED:
            return 0
        return int(np.ceil(pairs / self.alpha - 1e-9)) - 1

    def apply(
        self,
        values: NDArray[np.float64],
        pairs: Pairs,
        margin: float | None = None,
        apart: NDArray[np.bool_] | None = None,
        preferences: NDArray[np.float64] | None = None,
    ) -> PairTests:
        """Test these pairs; every call draws from the same seed. `apart`: see `pairwise_tests`.

        `preferences`, (pair, topic), are tested in place of differences of values, where a measure compares
        the two runs directly.
        """
        draws, table, tested = self.draws(len(values)), values, pairs
        if preferences is not None:
            if find_test(self.test).whole_topics:
                raise DataError(
                    f"test {self.test} needs a value of each run, and here only two runs together have one;"
                    f" use {FLIPS}, t, wilcoxon, sign or bootstrap"
                )
            table, tested = lead_over_nobody(preferences)
        found = pairwise_tests(
            table, tested, test=self.test, correction=self.correction, alpha=self.alpha, margin=margin,
            permutations=draws, rng=np.random.default_rng(self.seed), apart=apart,
        )  # fmt: skip
        return found if preferences is None else replace(found, pairs=np.asarray(pairs, np.intp))
