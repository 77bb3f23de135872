"""How far runs were judged: A_p at the depth of each measure, and what a comparison needs beside values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.errors import DataError
from sounding.measures import Measure, parse_measures
from sounding.measures.bounds.utility import depth_for_residual
from sounding.measures.utility import insq_weights

SHALLOWER = (5, 10, 20, 50, 100, 200, 500)  # depths that are looked at for one where assessment is even

WEIGHTED = ("RBP", "ERR")  # without a cut-off their weight fades, and lies near the top
PATIENT = ("INSQ", "INST")  # the same, with a cut-off that nobody wrote
FADED = 0.01  # of their weight lies beyond the depth where assessment is looked at

RETRIEVED = Measure.of("NumRet")
JUDGED = Measure.of("NumJudgedRet")
FIRST_UNJUDGED = Measure.of("FirstUnjudged")


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
