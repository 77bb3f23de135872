"""Values to claims: which differences between runs are more than chance, over all pairs at once.

docs/tests.md defines every test and every column.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from sounding.compare.cases import with_assessment
from sounding.compare.comparing import Reading, compare, compare_runs
from sounding.compare.depths import at_depths
from sounding.compare.result import Comparison
from sounding.runs.pairs import all_pairs, baseline_pairs

# A test is registered when its module is imported.
from sounding.statistics import anova, bootstrap, paired
from sounding.statistics import anova as tukey
from sounding.statistics import paired as signed_rank
from sounding.statistics import randomization as flips
from sounding.statistics.pair_tests import PairTests, Procedure, test_pairs
from sounding.statistics.testing import CORRECTION_NAMES, TESTS, Equivalence, Omnibus, PairTest

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
