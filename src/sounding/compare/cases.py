"""What scores hold of performance and of assessment: the values that comparisons test side by side."""

from __future__ import annotations

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.evaluate.result import Scores
from sounding.measures import Measure
from sounding.measures.assessed import (
    FIRST_UNJUDGED,
    JUDGED,
    RETRIEVED,
    assessment_depth,
    assessment_measure,
)


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
