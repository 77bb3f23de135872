"""The system evaluation decision matrix: four cases from two tests, on performance and on assessment.

Baillie, Azzopardi & Ruthven, section 3.2 and Fig. 3: beside the test of a difference in performance
stands that of a difference in assessment, A_p at the same depth. A conclusion is weak where what one
run is worth was read off significantly more judged documents than the other's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.evaluate.result import Scores
from sounding.measures import Measure, parse_measures
from sounding.measures.bounds.utility import depth_for_residual
from sounding.measures.utility import insq_weights
from sounding.statistics.pairwise import PairTests

Cases = NDArray[np.int8]  # (..., pair): 1 to 4; 0: not tested, or by a test that cannot reach alpha

UNTESTED = 0
CASES = (1, 2, 3, 4)
WEAK = (2, 4)
MEANING = {
    1: "no significant difference, equally assessed",
    2: "no significant difference, but one run is significantly more assessed",
    3: "significantly better, and not significantly more assessed",
    4: "significantly better, and significantly more assessed",
}

SHALLOWER = (5, 10, 20, 50, 100, 200, 500)  # depths that are looked at for one where assessment is even

WEIGHTED = ("RBP", "ERR")  # without a cut-off their weight fades, and lies near the top
PATIENT = ("INSQ", "INST")  # the same, with a cut-off that nobody wrote
FADED = 0.01  # of their weight lies beyond the depth where assessment is looked at

RETRIEVED = Measure.of("NumRet")
JUDGED = Measure.of("NumJudgedRet")
FIRST_UNJUDGED = Measure.of("FirstUnjudged")


def strength(case: int) -> str | None:
    """`strong`, `weak`, or None for a pair that could not be tested."""
    if case == UNTESTED:
        return None
    return "weak" if case in WEAK else "strong"


def decide(performance: PairTests, assessment: PairTests, *, alone: bool = False) -> Cases:
    """(pair,): the case of every pair, from the tests on its performance and on its assessment.

    `alone`: as if no other pair had been asked for, before any correction. A pair that no test could
    have separated has no case, unless its runs are equal in both on every topic. Assessment that differs
    by the same on every topic is uneven, whatever its p.
    """
    better, uneven = (
        tests.significant_alone if alone else tests.significant for tests in (performance, assessment)
    )
    uneven = uneven | assessment.constant
    same_side = np.sign(performance.difference) == np.sign(assessment.difference)
    case = np.where(better, np.where(uneven & same_side, 4, 3), np.where(uneven, 2, 1))
    tested = performance.could_differ(alone=alone)
    tested &= assessment.could_differ(alone=alone) | assessment.constant
    return np.where(tested | (performance.equal & assessment.equal), case, UNTESTED).astype(np.int8)


def count_cases(cases: Cases) -> NDArray[np.int64]:
    """(..., 4): how many pairs fall into cases 1 to 4."""
    return np.stack([np.count_nonzero(cases == case, axis=-1) for case in CASES], axis=-1)


# -- assessment ------------------------------------------------------------------------------------


def assessment_measure(k: int) -> Measure:
    """A_p@k: the share of the first k documents that were judged."""
    return Measure.of("P", k=k, assessed=True)


def assessment_depth(measure: Measure) -> int | None:
    """Where assessment is looked at: the cut-off, or where 99% of a fading weight lies; None: whole lists."""
    if measure.k is None and measure.name in WEIGHTED:
        return depth_for_residual(measure, FADED)
    if measure.k is not None and measure.name in PATIENT and "@" not in str(measure):
        # INST goes no deeper than INSQ, which is INST for a reader who finds nothing.
        reached = np.cumsum(insq_weights(measure.k, measure.get("T")))
        return 1 + int(np.searchsorted(reached, (1 - FADED) * reached[-1]))
    return measure.k


def with_assessment(measures: Any) -> tuple[Measure, ...]:
    """The measures, and what a comparison by them needs beside: A_p at their depths, lengths of lists."""
    chosen = parse_measures(measures)
    if not chosen:
        raise DataError("no measures; give at least one")
    return tuple(dict.fromkeys([*chosen, *assessment_measures(chosen), FIRST_UNJUDGED]))


def assessment_measures(measures: Sequence[Measure]) -> list[Measure]:
    """A_p at the depths of the measures and above them, and the counts that A_p of whole lists is made of."""
    cuts = [depth for depth in map(assessment_depth, measures) if depth is not None]
    deepest_cut = max(cuts) if len(cuts) == len(measures) else max([*cuts, *SHALLOWER]) + 1
    depths = sorted({*cuts, *(depth for depth in SHALLOWER if depth < deepest_cut)})
    return [*map(assessment_measure, depths), RETRIEVED, JUDGED]


def compared_measures(scores: Scores) -> tuple[Measure, ...]:
    """The measures of scores that runs are compared by: no texts, no counts, none of assessment."""
    return tuple(
        measure
        for measure in scores.measures
        if measure.definition.aggregate != "text"
        and measure.definition.basis != "count"
        and not measure.get("assessed")
        and measure != FIRST_UNJUDGED
    )


def values_of(scores: Scores, measure: Measure) -> NDArray[np.float64]:
    """(run, topic): the values of one measure, which the scores must have."""
    if measure not in scores.measures:
        raise DataError(
            f"the scores lack {measure}, which the comparison needs; evaluate with_assessment(measures)"
        )
    return scores.values[:, scores.measures.index(measure), :]


def deepest(scores: Scores) -> int:
    """The deepest rank that any run has for a judged topic, at least 1."""
    return max(1, int(np.nanmax(values_of(scores, RETRIEVED), initial=1.0)))


def assessment_values(scores: Scores, measure: Measure) -> tuple[int, NDArray[np.float64]]:
    """The depth k of a measure and A_p@k, (run, topic); without a depth, the deepest rank of any run."""
    k = assessment_depth(measure)
    if k is not None and (k == measure.k or k <= deepest(scores)):
        return k, values_of(scores, assessment_measure(k))
    k = deepest(scores)
    return k, values_of(scores, JUDGED) / k


def assessed_depths(scores: Scores) -> list[int]:
    """The depths at which the scores have A_p, from the shallowest."""
    wanted = (measure.k for measure in scores.measures if measure.name == "P" and measure.get("assessed"))
    return sorted({k for k in wanted if k is not None and assessment_measure(k) in scores.measures})
