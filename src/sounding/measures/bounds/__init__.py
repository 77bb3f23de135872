"""The least and the most that a value can be, over every way in which more judgments could turn out.

A completion gives any of the unjudged documents a grade of the scale; the others stay unjudged, which
counts as grade 0 in nearly every measure. Unjudged are all documents of the ranking that nobody judged,
below the cut-off too, and as many outside it as the caller says. docs/bounds.md has the arguments.
"""

from __future__ import annotations

from sounding.core.errors import DataError
from sounding.measures.assessment import is_about_judging
from sounding.measures.bounds.registry import Bounds, Kind, Unknowns, bounder, known, whole_range
from sounding.measures.registry import Measure
from sounding.runs.ranking import Ranking

__all__ = ["Bounds", "Kind", "Unknowns", "bounds"]


def bounds(measure: Measure, ranking: Ranking, unknowns: Unknowns) -> Bounds:
    """The least and the most that the measure can be for each topic, and what kind of bounds they are.

    Where the measure tells what was judged (`is_about_judging`) nothing is unknown: lower = upper = value.
    With `judged_only` there are none but the range of the measure: a value without the unjudged
    documents is not that of any completion, and can lie outside all of them. Nor with scale 'topic': one
    document can change what all gains of its topic are a share of.
    """
    if ranking.ties is not None:
        raise DataError(
            f"{measure}: bounds need an order of the documents, and ties are averaged;"
            " use ties trec, score-file, file or rank"
        )
    for name, counts in (("outside", unknowns.outside), ("at_most", unknowns.at_most)):
        if counts is not None and counts.shape != (len(ranking.topics),):
            raise DataError(
                f"unknowns: {name} has the shape {counts.shape}; expected one count for each of the"
                f" {len(ranking.topics)} topics"
            )
    if measure.definition.aggregate == "text":
        return whole_range(measure, ranking, unknowns)
    if is_about_judging(measure):
        return known(measure, ranking, unknowns)
    if measure.get("judged_only") or measure.get("scale") == "topic":
        return whole_range(measure, ranking, unknowns)
    return bounder(measure.name)(measure, ranking, unknowns)
