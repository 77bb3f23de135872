"""What a test is given, what it gives back, and which tests there are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.pairs import Differences, Pairs, blocks, differences
from sounding.errors import UnknownNameError, expect

Floats = NDArray[np.float64]
Correction = Literal["holm", "bonferroni", "max-t", "own"]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Request:
    """Values to test, and how; checked before it is made."""

    values: Floats  # (run, topic); NaN: no value
    pairs: Pairs
    correction: str
    alpha: float
    permutations: int
    rng: np.random.Generator
    decimals: int  # to which differences are rounded

    def differences(self, width: int | None = None) -> Iterator[tuple[slice, Differences]]:
        """Blocks of pairs with their differences, where `width` numbers are needed for each pair."""
        for rows in blocks(len(self.pairs), width or self.values.shape[1]):
            yield rows, differences(self.values, self.pairs[rows], self.decimals)

    @property
    def seed(self) -> str:
        """What the generator was made from, in words."""
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
    """What a test says of every pair."""

    p: Floats  # (pair,) two-sided, each pair for itself
    low: Floats  # (pair,) of the confidence interval; infinite: no limit
    high: Floats  # (pair,)
    method: str
    interval: str  # what the limits are of and how they were made, as a sentence goes on: `of the mean, by t`
    centre: str = "mean"  # what the interval holds, which need not be the difference that is reported
    adjusted: Floats | None = None  # (pair,) where the test allows for all pairs by itself
    omnibus: Omnibus | None = None
    error: Floats | None = None  # (pair,) pooled standard error of the difference, with `df_error` degrees
    df_error: int = 0
    least: float = 0.0  # the smallest p there can be, for tests that count arrangements
    drawn: int = 0  # arrangements or resamples that were drawn; 0: none, p is exact or by formula
    silent: str = ""  # why the test can say nothing of any pair that differs
    no_error: bool = False  # every difference is the same on all topics: nothing to test it against


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTest:
    """A test by its name; `correction` is the one it is used with unless another is asked for."""

    name: str
    title: str
    function: Callable[[Request], Outcome] = field(repr=False)
    correction: Correction
    whole_topics: bool  # uses only topics on which every run has a value
    needs_spread: bool  # has no p for a difference that is the same on all topics
    draws: bool  # makes permutations or resamples, as many as it is told
    by_signs: bool  # has its least p where all differences of a pair have one sign


TESTS: dict[str, PairTest] = {}


def pair_test(
    name: str,
    *,
    correction: Correction = "holm",
    whole_topics: bool = False,
    needs_spread: bool = False,
    draws: bool = False,
    by_signs: bool = False,
) -> Callable[[Callable[[Request], Outcome]], Callable[[Request], Outcome]]:
    """Make a function known as a test; the first line of its docstring is its title."""

    def register(function: Callable[[Request], Outcome]) -> Callable[[Request], Outcome]:
        title = (function.__doc__ or name).splitlines()[0].rstrip(".")
        TESTS[name] = PairTest(
            name=name, title=title, function=function, correction=correction,
            whole_topics=whole_topics, needs_spread=needs_spread, draws=draws, by_signs=by_signs,
        )  # fmt: skip
        return function

    return register


# Spellings that are taken as they are.
ALIASES = {"randomization": "randomisation", "randomized-tukey": "randomised-tukey"}

# What others call our tests, letters and figures only.
MEANT = {
    "ttest": "t", "pairedt": "t", "student": "t", "studentt": "t", "trel": "t", "ttestrel": "t",
    "permutation": "randomisation", "fisher": "randomisation", "signflip": "randomisation",
    "signedrank": "wilcoxon", "pratt": "wilcoxon-pratt", "binomial": "sign", "bca": "bootstrap",
    "hsd": "tukey", "tukeyhsd": "tukey", "randomisedhsd": "randomised-tukey", "twowayanova": "anova2",
    "onewayanova": "anova",
}  # fmt: skip


def find_test(name: str) -> PairTest:
    """The test of that name, or of another spelling of it; an error with the nearest names otherwise."""
    expect(name, str, "test", f"a name such as {next(iter(TESTS))}")
    name = ALIASES.get(name, name)
    if name not in TESTS:
        plain = "".join(letter for letter in name.lower() if letter.isalnum()).replace("iz", "is")
        meant = MEANT.get(plain) or MEANT.get(plain.removesuffix("test"))
        raise UnknownNameError("test", name, TESTS, meant=meant)
    return TESTS[name]
