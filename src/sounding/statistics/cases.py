"""The system evaluation decision matrix: four cases from two tests, on performance and on assessment.

Baillie, Azzopardi & Ruthven, section 3.2 and Fig. 3: the test of a difference in performance is paired with
that of a difference in assessment, A_p at the same depth. A conclusion is weak if one run was judged
significantly more completely than the other.
"""

from __future__ import annotations

import numpy as np

from sounding.core.arrays import NDArray
from sounding.statistics.pairwise import PairTests

Cases = NDArray[np.int8]  # (..., pair): 1 to 4; 0: not tested, or by a test that cannot reach alpha

UNTESTED = 0
CASES = (1, 2, 3, 4)
WEAK = (2, 4)
MEANING = {
    1: "no significant difference, judged equally well",
    2: "no significant difference, but one run was judged significantly more completely",
    3: "significantly better, and not judged significantly more completely",
    4: "significantly better, and judged significantly more completely",
}


def strength(case: int) -> str | None:
    """Return `strong`, `weak`, or None for a pair that could not be tested."""
    if case == UNTESTED:
        return None
    return "weak" if case in WEAK else "strong"


def decide(
    performance: PairTests, assessment: PairTests, *, alone: bool = False, even: bool = False
) -> Cases:
    """(pair,): Decide the case of every pair, from the tests on its performance and its assessment.

    `alone`: before any correction for other pairs; `even`: judging counts as even. A pair that no test
    could have separated has no case, unless its runs are equal in both on every topic. Assessment that
    differs by the same amount on every topic is uneven, whatever its p.
    """
    better, uneven = (
        tests.significant_alone if alone else tests.significant for tests in (performance, assessment)
    )
    uneven = (uneven | assessment.constant) & (not even)
    same_side = np.sign(performance.difference) == np.sign(assessment.difference)
    case = np.where(better, np.where(uneven & same_side, 4, 3), np.where(uneven, 2, 1))
    tested = performance.could_differ(alone=alone)
    tested &= assessment.could_differ(alone=alone) | assessment.constant | even
    return np.where(tested | (performance.equal & assessment.equal), case, UNTESTED).astype(np.int8)


def count_cases(cases: Cases) -> NDArray[np.int64]:
    """(..., 4): Count the pairs in cases 1 to 4."""
    return np.stack([np.count_nonzero(cases == case, axis=-1) for case in CASES], axis=-1)
