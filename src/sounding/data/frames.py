"""pandas and Polars frames as runs and judgments; neither package is imported for it."""

from __future__ import annotations

import sys
from typing import Any

from sounding.data.columns import Kind, Records, recognise, records_of_items
from sounding.data.problems import Problems


def is_frame(source: Any) -> bool:
    """Whether this is a pandas or Polars frame: nothing is, unless its package has been imported."""
    return any(
        package is not None and isinstance(source, package.DataFrame)
        for package in (sys.modules.get("pandas"), sys.modules.get("polars"))
    )


def records_of_frame(frame: Any, kind: Kind, problems: Problems) -> Records | None:
    """The rows of a frame, its columns recognised by their names; problems count rows from 1.

    Ids may be text or whole numbers. Floating-point ids are refused: 301.0 and 301 would be two topics.
    """
    names = [str(name) for name in frame.columns]
    places = recognise(names, kind, 1, problems)
    if not places:
        return None
    if not len(frame):
        problems.note(1, "the table has no rows; expected at least one")
        return None
    columns = {role: _items(frame, place) for role, place in places.items()}
    return records_of_items(columns, None, problems)


def _items(frame: Any, place: int) -> list[Any]:
    """One column as Python values. By number: pandas may hold two columns of one name."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place].tolist()
    return frame.to_series(place).to_list()
