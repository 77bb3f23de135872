"""What a chart draws: columns checked, depths thinned, numbers rounded, rows inside the specification."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec

import numpy as np

from sounding.errors import DataError, MissingPartError

if TYPE_CHECKING:
    import altair as alt
    import polars

    from sounding.report.charts.style import Chart

MOST_DEPTHS = 80  # of the lines of many runs: a few pixels of a log axis each
MOST_POINTS = 400  # of the lines of a few series: a pixel each
MOST_CELLS = 60  # of one side of a heat map
EVERY_DEPTH_TO = 20  # where neighbouring depths are far apart on a log axis
DIGITS = 5  # significant ones: a pixel is a thousandth of an axis

Options = ParamSpec("Options")


def needs(
    *columns: str,
) -> Callable[[Callable[Concatenate[polars.DataFrame, Options], Chart]],
              Callable[Concatenate[polars.DataFrame, Options], Chart]]:  # fmt: skip
    """A chart function that refuses, in one line, a frame without these columns or a missing package."""

    def checked(
        draw: Callable[Concatenate[polars.DataFrame, Options], Chart],
    ) -> Callable[Concatenate[polars.DataFrame, Options], Chart]:
        @wraps(draw)
        def function(frame: polars.DataFrame, /, *options: Options.args, **named: Options.kwargs) -> Chart:
            require_charts("altair", "drawing a chart")
            name = draw.__name__
            lacking = [column for column in columns if column not in frame.columns]
            if lacking:
                seen = ", ".join(frame.columns) or "none"
                raise DataError(
                    f"chart {name}: no column {lacking[0]!r} among {seen}; expected {', '.join(columns)}"
                )
            if frame.is_empty():
                raise DataError(f"chart {name}: no rows; expected at least one")
            return draw(frame, *options, **named)

        return function

    return checked


def require_charts(package: str, purpose: str) -> None:
    """Nothing where a package of the extra `charts` is installed, else the line that says how to get it."""
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        raise MissingPartError(package, purpose, "charts") from error


def data(frame: polars.DataFrame) -> alt.InlineData:
    """The frame inside the specification, as comma-separated text: a third of the size of objects.

    Floats are rounded to five significant digits; NaN and infinities become empty cells, which read as null.
    """
    import altair as alt
    import polars.selectors as kinds
    from polars import when

    floats = kinds.float()
    known = frame.with_columns(when(floats.is_finite()).then(floats.round_sig_figs(DIGITS)).name.keep())
    parse = {name: "number" if kind.is_numeric() else "string" for name, kind in frame.schema.items()}
    return alt.InlineData(values=known.write_csv(), format=alt.CsvDataFormat(type="csv", parse=parse))


def names(frame: polars.DataFrame, column: str) -> list[str]:
    """The distinct texts of a column in the order in which they first appear."""
    return [str(name) for name in frame.get_column(column).unique(maintain_order=True)]


def span(frame: polars.DataFrame, column: str = "k") -> tuple[int, int]:
    """The least and the greatest whole number of a column."""
    numbers = frame.get_column(column).to_numpy()
    return int(numbers.min()), int(numbers.max())


def thinned(
    frame: polars.DataFrame, column: str = "k", *, keep: Iterable[int | None] = (), most: int = MOST_DEPTHS
) -> tuple[polars.DataFrame, str]:
    """The rows at no more than about `most` depths, and a note that says so; "" where all depths stay."""
    depths = np.unique(frame.get_column(column).to_numpy())
    if len(depths) <= most:
        return frame, ""
    chosen = thin_depths(depths.tolist(), most, {depth for depth in keep if depth is not None})
    what = "ranks" if column == "rank" else "depths"
    note = f"Shown at {len(chosen)} of {len(depths):,} {what}, evenly spaced on the log axis"
    return frame.filter(frame.get_column(column).is_in(chosen)), f"{note} beyond {EVERY_DEPTH_TO}."


def thin_depths(depths: Sequence[int], most: int, keep: Iterable[int] = ()) -> list[int]:
    """Every depth to 20, then depths evenly spaced on a log scale; the first, the last and `keep` stay."""
    ordered = np.array(sorted(set(depths)))
    near = ordered[ordered <= EVERY_DEPTH_TO]
    far = ordered[ordered > EVERY_DEPTH_TO]
    wanted = np.geomspace(far[0], far[-1], max(most - len(near), 2))
    after = np.clip(np.searchsorted(far, wanted), 1, len(far) - 1)
    nearest = np.where(wanted - far[after - 1] <= far[after] - wanted, far[after - 1], far[after])
    kept = np.intersect1d(ordered, np.array(sorted(keep), ordered.dtype))
    return np.unique(np.concatenate([near, nearest, kept])).tolist()
