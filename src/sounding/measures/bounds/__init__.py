"""The smallest and largest possible value of a measure, over all outcomes of further judging.

A completion gives any of the unjudged documents a grade of the scale; the others stay unjudged, which counts
as grade 0 in nearly every measure. Unjudged are all documents of the ranking that nobody judged, also below
the cut-off, and as many outside it as the caller says.
"""

from __future__ import annotations

from sounding.core.errors import DataError
from sounding.measures.assessment import is_about_judging
from sounding.measures.bounds.registry import Bounds, Kind, Unknowns, bounder, known, whole_range
from sounding.measures.registry import Measure
from sounding.runs.ranking import Ranking

__all__ = ["Bounds", "Kind", "Unknowns", "bounds"]


def bounds(measure: Measure, ranking: Ranking, unknowns: Unknowns) -> Bounds:
    """Return the smallest and largest possible value for each topic, and the kind of these bounds.

    A measure of what was judged (`is_about_judging`) has no uncertainty: lower = upper = value. With
    `judged_only` the bounds are the range of the measure: a value without the unjudged documents is not that
    of any completion, and can lie outside all of them. The same holds for scale 'topic': one document can
    change the reference of all gains of its topic.
    """
    if ranking.ties is not None:
        raise DataError(
            f"{measure}: bounds cannot be averaged over ties; use ties trec, score-file, file or rank"
        )
    for name, counts in (("outside", unknowns.outside), ("at_most", unknowns.at_most)):
        if counts is not None and counts.shape != (len(ranking.topics),):
            raise DataError(
                f"unknowns: {name} has the shape {counts.shape}; expected one count for each of the"
                f" {len(ranking.topics)} topics"
            )
    if measure.definition.aggregate == "text" or measure.definition.pairwise:
        return whole_range(measure, ranking, unknowns)
    if is_about_judging(measure):
        return known(measure, ranking, unknowns)
    if measure.get("judged_only") or measure.get("scale") == "topic":
        return whole_range(measure, ranking, unknowns)
    return bounder(measure.name)(measure, ranking, unknowns)
