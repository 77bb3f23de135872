"""Values at every cut-off from 1 to a depth, from one pass over a ranking.

A measure without a cumulative form is evaluated once for each k, which is also what the tests hold every
form against.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sounding.arrays import NDArray
from sounding.compare.depths import single_measure
from sounding.depth import binary_curves, graded_curves, reader_curves  # noqa: F401 - they register themselves
from sounding.depth.cumulative import CURVES, NoCumulativeFormError, Table
from sounding.errors import DataError
from sounding.measures import Measure, parse_measures
from sounding.ranking import Ranking


def has_curve(name: str) -> bool:
    """Whether a measure has a cumulative form of its own."""
    return name in CURVES


def measures_over_depth(texts: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """The measures that texts name, each cut at 1: depths are put to them later.

    A measure that names its cut-off, or has none, cannot be looked at over depth.
    """
    found: dict[Measure, None] = {}
    for text in texts:
        found[_over_depth(text)] = None
    return tuple(found)


def _over_depth(text: str | Measure) -> Measure:
    named = str(text)
    measure = None if "@" in named else single_measure(f"{named}@1") or single_measure(text)
    if measure is None:
        known = parse_measures([text])  # an unknown name is refused with the nearest
        example = str(known[0]).partition("@")[0]
        raise DataError(f"{named}: depths are put to measures without a cut-off; give {example} and --depths")
    if measure.definition.at != "k" or not measure.definition.takes("k"):
        raise DataError(f"{named} has no cut-off, and no values over depth; give measures such as AP or RBP")
    return measure.replace(k=1)


def names_as_typed(texts: Sequence[str | Measure]) -> dict[Measure, str]:
    """By measure, cut at 1: its name with the parameters that were typed, be they the default or not.

    Who asks for RBP(p=0.8) finds it under that name, although it is RBP as well.
    """
    found = {}
    for text in texts:
        measure, typed = _over_depth(text), "".join(str(text).split())
        found[measure] = typed if typed.startswith(f"{measure.name}(") else name_of(measure)
    return found


def name_of(measure: Measure) -> str:
    """The name of a family: the measure without its cut-off."""
    return str(measure).partition("@")[0]


def values_at(measure: Measure, ranking: Ranking, ks: NDArray[np.int64]) -> Table:
    """(k, topic): the value of the measure cut at each of these depths, which ascend."""
    whole = _down_to(measure, ranking, int(ks[-1]))
    if whole is None:
        return values_once_per_k(measure, ranking, ks.tolist())
    return whole if len(ks) == len(whole) else whole[ks - 1]


def _down_to(measure: Measure, ranking: Ranking, depth: int) -> Table | None:
    """(k, topic): the value at every k to `depth`; None: the measure has no cumulative form here."""
    if not has_curve(measure.name) or ranking.ties is not None:
        return None
    try:
        return CURVES[measure.name](measure.seen(ranking), depth, **_parameters(measure))
    except NoCumulativeFormError:
        return None


def values_once_per_k(measure: Measure, ranking: Ranking, ks: Sequence[int]) -> Table:
    """(k, topic): the measure evaluated anew for each of these cut-offs."""
    return np.array([measure.replace(k=k)(ranking) for k in ks]).reshape(len(ks), len(ranking.topics))


def _parameters(measure: Measure) -> dict[str, Any]:
    """The parameters that differ from their default, without the cut-off."""
    shared = ("k", "assessed", "judged_only")
    return {
        key: dict(value) if isinstance(value, tuple) else value
        for key, value in measure.parameters
        if key not in shared
    }
