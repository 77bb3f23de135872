"""Input and output of paired tests, Student's t, equivalence tests and corrections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import UnknownNameError
from sounding.core.lazy import special
from sounding.runs.pairs import Differences, Limits, Pairs, blocks, differences

Floats = NDArray[np.float64]
Correction = Literal["holm", "bonferroni", "max-t", "own"]
# 95% of a normal distribution lie within this many standard deviations of the mean
NORMAL_95 = 1.959963984540054
PERMUTATIONS = 10_000  # default number of draws, if the correction does not need more


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class PairedSample:
    """Values to test and the settings of the test, already checked."""

    values: Floats  # (run, topic); NaN: no value
    pairs: Pairs
    correction: str
    alpha: float
    permutations: int
    rng: np.random.Generator
    decimals: int  # decimals to which differences are rounded

    def differences(self, width: int | None = None) -> Iterator[tuple[slice, Differences]]:
        """Yield blocks of pairs with their differences, if `width` numbers are needed for each pair."""
        for rows in blocks(len(self.pairs), width or self.values.shape[1]):
            yield rows, differences(self.values, self.pairs[rows], self.decimals)

    @property
    def seed(self) -> str:
        """Describe the seed of the generator in words."""
        sequence = getattr(self.rng.bit_generator, "seed_seq", None)
        entropy = getattr(sequence, "entropy", None)
        spawned = getattr(sequence, "spawn_key", ())
        if entropy is None:
            return "generator without a seed"
        return f"seed {entropy}" + "".join(f".{key}" for key in spawned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Omnibus:
    """The F test of all runs at once."""

    f: float
    df_runs: int
    df_error: int
    p: float


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Outcome:
    """The result of a test for every pair."""

    p: Floats  # (pair,) two-sided, each pair alone
    limits: Limits  # of the confidence interval; infinite: no limit
    method: str
    # quantity and method of the limits, to continue a sentence: `of the mean, by t`
    interval: str
    center: str = "mean"  # the interval's center, which may differ from the reported difference
    adjusted: Floats | None = None  # (pair,) if the test itself accounts for all pairs
    omnibus: Omnibus | None = None
    error: Floats | None = None  # (pair,) pooled standard error of the difference, with `df_error` degrees
    df_error: int = 0
    least: float = 0.0  # the smallest possible p, for tests that count arrangements
    drawn: int = 0  # number of arrangements or resamples drawn; 0: p is exact or by formula
    silent: str = ""  # why the test can say nothing about any pair that differs
    no_error: bool = False  # every difference is the same on all topics: there is no error term


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTest:
    """A test by name; `correction` is the default correction."""

    name: str
    function: Callable[[PairedSample], Outcome] = field(repr=False)
    correction: Correction = "holm"
    whole_topics: bool = False  # uses only topics on which every run has a value
    needs_spread: bool = False  # has no p for a difference that is the same on all topics
    draws: bool = False  # makes permutations or resamples, as many as requested
    by_signs: bool = False  # has its smallest p if all differences of a pair have one sign

    @property
    def title(self) -> str:
        """The description of the test: the first line of its docstring."""
        return (self.function.__doc__ or self.name).splitlines()[0].rstrip(".")


Degrees = NDArray[np.int64] | int


def ratio(numerator: Floats, error: Floats) -> Floats:
    """Return the ratio; infinite, with the numerator's sign, if the error is 0; 0 / 0 is 0."""
    endless = np.where(numerator == 0, 0.0, np.copysign(np.inf, numerator))
    return np.divide(numerator, error, out=endless, where=error > 0)


def two_sided(t: Floats, df: Degrees) -> Floats:
    """Return the probability of a t at least as far from 0."""
    return np.asarray(2 * special.stdtr(df, -np.abs(t)), np.float64)


def above(t: Floats, df: Degrees) -> Floats:
    """Return the probability of a t at least as large."""
    return np.asarray(special.stdtr(df, -t), np.float64)


def critical(alpha: float, df: Degrees) -> Floats:
    """Return the t that is exceeded on either side with total probability alpha."""
    return np.asarray(special.stdtrit(df, 1 - alpha / 2), np.float64)


def cohens_dz(gaps: Differences) -> Floats:
    """(pair,): Return the mean difference over the standard deviation of the differences.

    0 if all are 0, infinite if they are all equal but not 0, NaN for fewer than two topics.
    """
    deviation = gaps.deviation
    return np.where(gaps.topics > 1, ratio(gaps.mean, np.nan_to_num(deviation)), np.nan)


def wins_ties_losses(gaps: Differences) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """(pair,) each: Count the topics on which run_a is better than run_b, as good, and worse."""
    wins = np.count_nonzero(gaps.values > 0, axis=1)
    losses = np.count_nonzero(gaps.values < 0, axis=1)
    return wins, gaps.topics - wins - losses, losses


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Equivalence:
    """Two one-sided t tests against a margin (TOST, Schuirmann 1987), for every pair."""

    margin: float
    p: Floats  # (pair,) of equivalence: the claim -margin < difference < margin
    p_adjusted: Floats  # (pair,)
    noninferior_p: Floats  # (pair,) of the claim that run_a is not worse than run_b by the margin
    noninferior_p_adjusted: Floats  # (pair,)
    method: str


def one_sided(
    difference: Floats, error: Floats, df: Degrees, topics: NDArray[np.int64], margin: float
) -> tuple[Floats, Floats]:
    """(pair,) each: Return p of the claim difference > -margin, and of the claim difference < margin.

    If the differences do not vary there is no t: a sign test on the topics, which all agree, is used.
    """
    known = topics > 1

    def claim(distance: Floats) -> Floats:
        by_sign = np.where(distance > 0, 0.5**topics, 1.0)
        by_t = above(ratio(distance, error), df)
        return np.where(known, np.where(error > 0, by_t, by_sign), 1.0)

    return claim(difference + margin), claim(margin - difference)


def no_correction(p: Floats) -> Floats:
    """The p-values as they are: alpha holds for each pair by itself."""
    return p.copy()


def bonferroni(p: Floats) -> Floats:
    """Times the number of tests: chance of any false claim at most alpha."""
    return np.minimum(1.0, p * len(p))


def holm(p: Floats) -> Floats:
    """Bonferroni step by step: the same promise, never a larger p."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    return np.minimum(1.0, adjusted)


def benjamini_hochberg(p: Floats) -> Floats:
    """False discovery rate: the expected share of false claims among all claims is at most alpha."""
    order = np.argsort(p, kind="stable")[::-1]
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return np.minimum(1.0, adjusted)


CORRECTIONS: dict[str, Callable[[Floats], Floats]] = {
    "none": no_correction,
    "bonferroni": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
}
MAX_T = "max-t"  # uses the sign flips of the test
CORRECTION_NAMES = (*CORRECTIONS, MAX_T)
CORRECTION_ALIASES = {"fdr": "bh"}  # accepted spellings


def find_correction(name: str) -> str:
    """Return the correction of that name, in any spelling; otherwise an error with similar names."""
    name = CORRECTION_ALIASES.get(name, name)
    if name not in CORRECTION_NAMES:
        raise UnknownNameError("correction", name, CORRECTION_NAMES)
    return name
