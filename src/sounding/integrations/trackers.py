"""The numbers and tables of a result that a tracker of experiments keeps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sounding import __version__
from sounding.compare.result import Comparison
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.evaluate.result import Scores

MOST_PAIRS = 100  # of more pairs only the table is kept
PAIR_FIGURES = ("difference", "ci_low", "ci_high", "p_adjusted")
_REFUSED = re.compile(r"[^\w/.\- :]+")  # characters that MLflow refuses in names


class Kept(NamedTuple):
    """Parts of a result that an experiment tracker keeps."""

    figures: dict[str, float]  # known numbers, by names such as bm25/nDCG@10
    settings: dict[str, str]
    table: polars.DataFrame
    kind: str  # names the table


def kept_of(result: Any, prefix: str = "") -> Kept:
    """Return what to keep of a result: means and judged shares of runs, tests of pairs, and a table."""
    table = getattr(result, "frame", None)
    if not isinstance(table, polars.DataFrame):
        kind = type(result).__name__
        raise DataError(f"an object of type {kind} cannot be logged; expected a result such as Scores")
    named: Iterable[tuple[str, float]] = ()
    if isinstance(result, Scores):
        named = _of_scores(result)
    elif isinstance(result, Comparison) and len(result.pairs) <= MOST_PAIRS:
        named = _of_pairs(table)
    figures = {f"{prefix}{name}": value for name, value in named if math.isfinite(value)}
    settings = {"sounding.version": __version__}
    if isinstance(result, Scores | Comparison):
        settings["sounding.policies"] = result.policies.describe()
    return Kept(figures, settings, table, type(result).__name__.lower())


def _of_scores(scores: Scores) -> Iterator[tuple[str, float]]:
    """Yield means and judged shares; the run is named only if there are several."""
    means, shares = scores.mean(), scores.judged_share()
    for place, run in enumerate(scores.runs):
        first = f"{run}/" if len(scores.runs) > 1 else ""
        for number, measure in enumerate(scores.measures):
            yield f"{first}{measure}", float(means[place, number])
            if measure.definition.basis != "count":
                yield f"{first}judged {measure}", float(shares[place, number])


def _of_pairs(table: polars.DataFrame) -> Iterator[tuple[str, float]]:
    for row in table.to_dicts():
        for name in PAIR_FIGURES:
            value = row.get(name)
            if value is not None:
                yield f"{row['run_a']} - {row['run_b']}/{row['measure']}/{name}", float(value)


def plain_names(figures: dict[str, float]) -> dict[str, float]:
    """Return the figures under names that MLflow accepts: nDCG.10 for nDCG@10."""
    named = {_REFUSED.sub(".", name).strip("."): value for name, value in figures.items()}
    if len(named) < len(figures):
        raise DataError(
            "two runs or measures have the same name once signs such as @ are dots; rename one of the runs"
        )
    return named
