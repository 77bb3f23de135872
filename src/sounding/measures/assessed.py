"""Choose the measures of judged shares that a comparison needs, such as A_p at the depth of each measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.core.errors import DataError, UnknownNameError
from sounding.measures import Measure, parse_measures
from sounding.measures.bounds.utility import depth_for_residual
from sounding.measures.utility import insq_weights

SHALLOWER = (5, 10, 20, 50, 100, 200, 500)  # depths at which to look for even assessment

WEIGHTED = ("RBP", "ERR")  # without a cut-off, their weight declines and lies near the top
PATIENT = ("INSQ", "INST")  # likewise, with a cut-off that the user did not write
FADED = 0.01  # share of their weight that may lie beyond the depth of assessment

DEFAULT_ASSESSMENT = "A_p"  # uses the depth of each measure
TWIN = "twin"
ASSESSMENTS = "A_p, A_p@500, A_r, A_r@500, AA@100, MAA or twin"

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


def chosen_assessment(measure: Measure, family: str = DEFAULT_ASSESSMENT) -> Measure | None:
    """Return the measure of assessment that is tested beside a measure; None: A_p at the measure's depth.

    `A_p` and `A_r` take the depth of the measure, `A_p@500` or `AA@100` have one of their own, `MAA` looks at
    whole lists, and `twin` is the measure itself with every judged document counted as relevant.
    """
    if family == DEFAULT_ASSESSMENT:
        return None
    if family == TWIN:
        return measure.replace(assessed=True)
    if family == "A_r":
        k = assessment_depth(measure)
        return Measure.of("SetR", assessed=True) if k is None else Measure.of("R", k=k, assessed=True)
    try:
        found = parse_measures([family])
    except (DataError, UnknownNameError):
        found = ()
    if len(found) != 1 or not (found[0].get("assessed") or found[0].name == "Judged"):
        raise DataError(
            f"--assessment {family!r} is not a measure of assessment; choose one of {ASSESSMENTS}"
        )
    return found[0]


def with_assessment(measures: Any, assessment: str = DEFAULT_ASSESSMENT) -> tuple[Measure, ...]:
    """Add to measures what a comparison needs: A_p at their depths and the lengths of lists.

    `assessment` is the family that `compare_scores` will be asked for.
    """
    chosen = parse_measures(measures)
    if not chosen:
        raise DataError("no measures; give at least one")
    return tuple(dict.fromkeys([*chosen, *assessment_measures(chosen, assessment), FIRST_UNJUDGED]))


def assessment_measures(measures: Sequence[Measure], assessment: str = DEFAULT_ASSESSMENT) -> list[Measure]:
    """Return what a comparison needs beside its measures.

    These are A_p at and above their depths, the counts from which A_p of whole lists follows, and the
    measures of the chosen family of assessment.
    """
    cuts = [depth for depth in map(assessment_depth, measures) if depth is not None]
    deepest_cut = max(cuts) if len(cuts) == len(measures) else max([*cuts, *SHALLOWER]) + 1
    depths = sorted({*cuts, *(depth for depth in SHALLOWER if depth < deepest_cut)})
    own = [chosen_assessment(measure, assessment) for measure in measures]
    return [*map(assessment_measure, depths), RETRIEVED, JUDGED, *(one for one in own if one is not None)]
