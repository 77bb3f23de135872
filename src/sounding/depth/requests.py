"""What is asked of an evaluation over depth: measures, depths, references; and what they need."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.limits import is_count, most
from sounding.core.policies import Policies
from sounding.measures import Measure, parse
from sounding.measures.cumulative import measures_over_depth
from sounding.measures.summaries import check_comparable
from sounding.runs.pool import Pool

DEFAULT_MEASURES = ("AP", "RBP(p=0.95)")
DEFAULT_DEPTHS = (5, 10, 30, 100, 500, 1000)
EVERY_K = 1000  # down to here every k is looked at, and beyond it FURTHER of them, evenly on a log scale
FURTHER = 100


def chosen_measures(measures: Sequence[str | Measure], policies: Policies) -> tuple[Measure, ...]:
    """The measures, each cut at 1; an error where they, or the policies, have no values over depth."""
    wanted = measures_over_depth(measures)
    if policies.unjudged in ("bounds", "expected"):
        raise DataError(
            f"unjudged {policies.unjudged}: residuals stand beside the values anyway; use unjudged"
            " nonrelevant or condensed"
        )
    if policies.ties == "average":
        raise DataError(
            "values over depth need one order of the documents, and ties are averaged; use ties trec"
        )
    check_comparable(wanted, policies)
    return wanted


def parsed_reference(asked: str | int | None) -> Measure | int | None:
    """A measure with its depth, or a depth, from what was typed."""
    wanted = "expected a depth from 1, as 100, or a measure with one, as AP@100"
    if isinstance(asked, str) and not asked.isdecimal():
        target = parse(asked)
        if target.definition.at != "k" or "@" not in asked:
            raise DataError(f"reference {asked}: {wanted}")
        return target
    if asked is not None and not isinstance(asked, str | Integral):
        raise DataError(f"reference {asked!r}: {wanted}")
    if asked is not None and not is_count("depths", int(asked), 1):
        raise DataError(f"reference {asked}: {wanted}")
    return None if asked is None else int(asked)


def chosen_depths(asked: Sequence[int] | None, deepest: int) -> tuple[int, ...]:
    """The depths to show: as asked for, or the usual ones down to the deepest list."""
    if asked is None:
        shown = [k for k in DEFAULT_DEPTHS if k <= deepest]
        return tuple(shown or [deepest])
    if not isinstance(asked, Sequence) or not all(isinstance(depth, Integral) for depth in asked):
        raise DataError(f"depths {asked!r}: expected a list of whole numbers from 1")
    if not asked or not all(is_count("depths", depth, 1) for depth in asked):
        listed = ", ".join(map(str, asked)) or "none"
        raise DataError(f"depths {listed}: expected whole numbers from 1 to {most('depths'):,}")
    return tuple(sorted(set(asked)))


def depths_to_look_at(deepest: int, chosen: Sequence[int] = ()) -> NDArray[np.int64]:
    """Every k down to a thousand, beyond it a hundred more evenly on a log scale; and the chosen ones."""
    near = np.arange(1, min(deepest, EVERY_K) + 1)
    far = np.geomspace(EVERY_K, deepest, FURTHER).round() if deepest > EVERY_K else near[-1:]
    return np.unique(np.concatenate([near, far, np.asarray(chosen, np.int64)])).astype(np.int64)


def references(
    measures: Sequence[Measure],
    asked: Measure | int | None,
    pool: Pool,
    depths: Sequence[int],
    deepest: int,
) -> list[Measure]:
    """(measure,): what each is held against."""
    if isinstance(asked, Measure):
        return [asked] * len(measures)
    if asked is None:
        asked = pool.depth if 0 < pool.depth <= deepest else depths[-1]
    return [measure.replace(k=asked) for measure in measures]


def needs_pool_ranks(measures: Sequence[Measure], reference: Measure | int | None) -> bool:
    """Whether a measure, or the one that they are held against, asks for the pool of every depth."""
    asked = [*measures, *([reference] if isinstance(reference, Measure) else [])]
    return any(
        measure.get("norm") == "c"
        or (measure.name == "nDCG" and measure.get("norm") == "b")
        or measure.get("ideal") == "ii"
        for measure in asked
    )
