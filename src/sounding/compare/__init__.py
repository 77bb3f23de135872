"""Values to claims: which differences between runs are more than chance, over all pairs at once.

docs/tests.md defines every test and every column.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

# A test is registered when its module is imported.
from sounding.compare import anova, bootstrap, flips, paired, signed_rank, tukey
from sounding.compare.cases import with_assessment
from sounding.compare.claims import PairTests, test_pairs
from sounding.compare.comparison import Comparison
from sounding.compare.depths import at_depths
from sounding.compare.equivalence import Equivalence
from sounding.compare.multiplicity import CORRECTION_NAMES
from sounding.compare.pairs import all_pairs, baseline_pairs
from sounding.compare.procedure import Procedure
from sounding.compare.registry import TESTS, Omnibus, PairTest
from sounding.compare.runs import Reading, compare_runs
from sounding.compare.scores import compare

__all__ = [
    "CORRECTION_NAMES",
    "TESTS",
    "Comparison",
    "Equivalence",
    "Omnibus",
    "PairTest",
    "PairTests",
    "Procedure",
    "Reading",
    "all_pairs",
    "anova",
    "at_depths",
    "baseline_pairs",
    "bootstrap",
    "compare",
    "compare_runs",
    "flips",
    "paired",
    "signed_rank",
    "test_pairs",
    "tukey",
    "with_assessment",
]


class _Callable(ModuleType):
    """A package that is called like the function it is there for: `sounding.compare(scores)` works."""

    def __call__(self, *scores: Any, **request: Any) -> Comparison:
        return compare(*scores, **request)


sys.modules[__name__].__class__ = _Callable
