"""How a comparison tests: which test, which correction, at which level, with how many draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.claims import PairTests, check_choices, test_pairs
from sounding.compare.flips import interval_flips
from sounding.compare.multiplicity import find_correction
from sounding.compare.pairs import Pairs
from sounding.compare.registry import find_test
from sounding.errors import expect

PERMUTATIONS = 10_000  # drawn where the corrections can do with so few
MOST_PERMUTATIONS = 200_000  # drawn without having been asked for, to reach alpha at all
AMPLE = 20  # times as many draws as reach alpha: then chance hardly decides what is significant
MOST_WORK = 250_000_000  # draws times pairs that are spent on that
MULTIPLIED = ("bonferroni", "holm")  # corrections that multiply the least p by the number of pairs


def check_procedure(procedure: object) -> None:
    """Refuse what is no Procedure."""
    expect(procedure, Procedure, "procedure", "Procedure(test=..., correction=..., alpha=...)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """How differences are tested: the same for performance and for assessment."""

    test: str = "randomisation"
    correction: str | None = None  # None: the test's own (holm; bonferroni after an analysis of variance)
    alpha: float = 0.05
    margin: float | None = None
    permutations: int | None = None  # None: 10,000, or more where the correction or alpha asks for it
    seed: int = 0

    def __post_init__(self) -> None:
        # Another spelling is the same choice.
        object.__setattr__(self, "test", find_test(self.test).name)
        if self.correction is not None:
            object.__setattr__(self, "correction", find_correction(self.correction))
        check_choices(self.test, self.correction, self.alpha, self.margin, self.permutations)

    def draws(self, runs: int) -> int:
        """How many permutations or resamples are made for so many runs: enough for all their pairs.

        However few of these are asked for, so that the p of a pair by itself is always the same. They are
        20 times as many as it takes to reach alpha, where that is no more work than we may spend unasked;
        and so many that limits of intervals at alpha do not hang on a few of them.
        """
        if self.permutations is not None:
            return self.permutations
        pairs = runs * (runs - 1) // 2
        least = min(max(self.needed(pairs), interval_flips(self.alpha)), MOST_PERMUTATIONS)
        ample = min(AMPLE * (self.needed(pairs) + 1) - 1, MOST_WORK // max(pairs, 1))
        return max(PERMUTATIONS, least, ample)

    def needed(self, pairs: int) -> int:
        """How many draws it takes until a pair can be significant at all; 0: any number does."""
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
    ) -> PairTests:
        """The test of these pairs; every call draws from the same seed. `apart`: see `test_pairs`."""
        return test_pairs(
            values, pairs, test=self.test, correction=self.correction, alpha=self.alpha, margin=margin,
            permutations=self.draws(len(values)), rng=np.random.default_rng(self.seed), apart=apart,
        )  # fmt: skip
