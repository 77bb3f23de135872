"""Values to claims: which differences between runs are more than chance, over all pairs at once.

docs/tests.md defines every test and every column.
"""

from __future__ import annotations

# A test is registered when its module is imported.
from sounding.compare import anova, bootstrap, flips, paired, signed_rank, tukey
from sounding.compare.claims import PairTests, test_pairs
from sounding.compare.equivalence import Equivalence
from sounding.compare.multiplicity import CORRECTION_NAMES
from sounding.compare.pairs import all_pairs, baseline_pairs
from sounding.compare.registry import TESTS, Omnibus, PairTest

__all__ = [
    "CORRECTION_NAMES",
    "TESTS",
    "Equivalence",
    "Omnibus",
    "PairTest",
    "PairTests",
    "all_pairs",
    "anova",
    "baseline_pairs",
    "bootstrap",
    "flips",
    "paired",
    "signed_rank",
    "test_pairs",
    "tukey",
]
