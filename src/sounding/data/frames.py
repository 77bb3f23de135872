"""What Python programs hold runs and judgments in: frames of pandas, Polars and pyarrow, and lists of tuples.

None of these packages is imported for it: an object of theirs is there only where somebody else did.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import Any

from sounding.data.columns import VALUE, Kind, Records, recognise, records_of_items, shown
from sounding.data.problems import Problems
from sounding.errors import DataError

_FRAMES = (
    ("pandas", ("DataFrame",)), ("polars", ("DataFrame", "LazyFrame")), ("pyarrow", ("Table", "RecordBatch")),
)  # fmt: skip
# The attributes of ir_measures' and ir_datasets' rows, by what they hold.
_ATTRIBUTES: dict[Kind, dict[str, str]] = {
    "run": {"topic": "query_id", "doc": "doc_id", "score": "score"},
    "qrels": {"topic": "query_id", "doc": "doc_id", "grade": "relevance"},
}


def is_frame(source: Any) -> bool:
    """Whether this is a frame: nothing is, unless its package has been imported."""
    return any(
        isinstance(source, getattr(package, name))
        for module, names in _FRAMES
        if (package := sys.modules.get(module)) is not None
        for name in names
        if hasattr(package, name)
    )


def held(source: Any) -> Any:
    """Return what can be looked at as often as needed: a lazy frame collected, an iterator as a list."""
    if is_frame(source) and hasattr(source, "collect"):
        try:
            return source.collect()
        except Exception as error:  # whatever its query meets: a missing file, a wrong column
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(f"a lazy frame cannot be collected: {reason}") from error
    return list(source) if isinstance(source, Iterator) else source


def records_of_frame(frame: Any, kind: Kind, problems: Problems) -> Records | None:
    """The rows of a frame, its columns recognised by their names; problems count rows from 1.

    Ids may be text or whole numbers. Floating-point ids are refused: 301.0 and 301 would be two topics.
    """
    frame = held(frame)
    places = recognise(_names(frame), kind, 1, problems)
    if not places:
        return None
    if not _count(frame):
        problems.note(1, "the table has no rows; expected at least one")
        return None
    columns = {role: _items(frame, place) for role, place in places.items()}
    return records_of_items(columns, None, problems)


def frames_by_run(frame: Any) -> list[Any]:
    """Return the frame of each run, where a column names several; otherwise the frame itself."""
    place = recognise(_names(frame), "run", 1, Problems("run")).get("tag")
    if place is None:
        return [frame]
    rows: dict[Any, list[int]] = {}
    for row, tag in enumerate(_items(frame, place)):
        rows.setdefault(tag, []).append(row)
    if len(rows) < 2:
        return [frame]
    return [_some_rows(frame, own) for own in rows.values()]


def is_rows(source: Any) -> bool:
    """Whether this is a list of rows: ir_measures' ScoredDoc or Qrel, or (topic, doc, number) tuples."""
    return (
        isinstance(source, Sequence)
        and not isinstance(source, str | bytes)
        and len(source) > 0
        and _is_row(source[0])
    )


def records_of_rows(rows: Sequence[Any], kind: Kind, problems: Problems) -> Records:
    """The records of such rows; of ir_measures' and ir_datasets' Qrel also who judged."""
    wanted = _ATTRIBUTES[kind]
    if _has_attributes(rows[0]):
        for number, row in enumerate(rows, 1):
            for attribute in wanted.values():
                if not hasattr(row, attribute):
                    kinds = "ScoredDoc" if kind == "run" else "Qrel"
                    raise DataError(
                        f"{problems.source}: row {number} has no {attribute}; expected rows such as"
                        f" ir_measures' {kinds} ({', '.join(wanted.values())})"
                    )
        columns = {role: [getattr(row, name) for row in rows] for role, name in wanted.items()}
        if kind == "qrels" and all(hasattr(row, "iteration") for row in rows):
            columns["group"] = [row.iteration for row in rows]
    else:
        for number, row in enumerate(rows, 1):
            if not (isinstance(row, tuple) and len(row) == 3):
                raise DataError(
                    f"{problems.source}: row {number} is {shown(row)}; expected (topic, doc, {VALUE[kind]})"
                )
        columns = {role: list(column) for role, column in zip(wanted, zip(*rows, strict=True), strict=True)}
    return records_of_items(columns, None, problems)


def _has_attributes(row: Any) -> bool:
    return hasattr(row, "query_id") and hasattr(row, "doc_id")


def _is_row(row: Any) -> bool:
    return _has_attributes(row) or (
        isinstance(row, tuple)
        and len(row) == 3
        and all(isinstance(item, str | Integral) for item in row[:2])
        and isinstance(row[2], Real)
    )


def _names(frame: Any) -> list[str]:
    """The names of the columns; of pyarrow's tables `columns` are the columns themselves."""
    return [str(name) for name in getattr(frame, "column_names", frame.columns)]


def _count(frame: Any) -> int:
    return int(frame.num_rows) if hasattr(frame, "num_rows") else len(frame)


def _items(frame: Any, place: int) -> list[Any]:
    """One column as Python values. By number: a frame may hold two columns of one name."""
    if hasattr(frame, "iloc"):
        return frame.iloc[:, place].tolist()
    if hasattr(frame, "to_series"):
        return frame.to_series(place).to_list()
    return frame.column(place).to_pylist()


def _some_rows(frame: Any, rows: list[int]) -> Any:
    if hasattr(frame, "iloc"):
        return frame.iloc[rows]
    return frame[rows] if hasattr(frame, "to_series") else frame.take(rows)
