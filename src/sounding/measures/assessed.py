"""Choose the measures of judged shares that a comparison needs: A_p at the depth of each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.errors import DataError
from sounding.measures import Measure, parse_measures
from sounding.measures.bounds.utility import depth_for_residual
from sounding.measures.utility import insq_weights

SHALLOWER = (5, 10, 20, 50, 100, 200, 500)  # depths at which an even assessment is looked for

WEIGHTED = ("RBP", "ERR")  # without a cut-off, their weight declines and lies near the top
PATIENT = ("INSQ", "INST")  # likewise, with a cut-off that the user did not write
FADED = 0.01  # share of their weight that may lie beyond the depth of assessment

RETRIEVED = Measure.of("NumRet")
JUDGED = Measure.of("NumJudgedRet")
FIRST_UNJUDGED = Measure.of("FirstUnjudged")


def assessment_measure(k: int) -> Measure:
    """Return A_p@k, the share of the first k documents that were judged."""
    return Measure.of("P", k=k, assessed=True)


def assessment_depth(measure: Measure) -> int | None:
    """Return the depth of assessment: the cut-off, or that of 99% of the weight; None: whole lists."""
    if measure.k is None and measure.name in WEIGHTED:
        return depth_for_residual(measure, FADED)
    if measure.k is not None and measure.name in PATIENT and "@" not in str(measure):
        # INST reads no deeper than INSQ, which is INST for a reader who finds nothing.
        reached = np.cumsum(insq_weights(measure.k, measure.get("T")))
        return 1 + int(np.searchsorted(reached, (1 - FADED) * reached[-1]))
    return measure.k


def with_assessment(measures: Any) -> tuple[Measure, ...]:
    """Add to measures what a comparison needs: A_p at their depths and the lengths of lists."""
    chosen = parse_measures(measures)
    if not chosen:
        raise DataError("no measures; give at least one")
    return tuple(dict.fromkeys([*chosen, *assessment_measures(chosen), FIRST_UNJUDGED]))


def assessment_measures(measures: Sequence[Measure]) -> list[Measure]:
    """Return A_p at and above the measures' depths, and the counts from which A_p of whole lists follows."""
    cuts = [depth for depth in map(assessment_depth, measures) if depth is not None]
    deepest_cut = max(cuts) if len(cuts) == len(measures) else max([*cuts, *SHALLOWER]) + 1
    depths = sorted({*cuts, *(depth for depth in SHALLOWER if depth < deepest_cut)})
    return [*map(assessment_measure, depths), RETRIEVED, JUDGED]
