"""Read Parquet tables, completely or some rows at a time."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sounding.core.errors import FormatError, SoundingError
from sounding.core.lazy import polars
from sounding.core.text import LONGEST_LIST, shorten
from sounding.core.workers import may_use_polars, run_in_child
from sounding.data.columns import NUMBERS, Kind, Records, recognize, records_of_frame
from sounding.data.fast.tokens import MARGIN, Tokens, refuse_stray_bytes
from sounding.data.problems import Problem, Problems
from sounding.data.sources import Content
from sounding.data.tables import Numbers


def read_parquet(content: Content, kind: Kind, problems: Problems) -> Records | None:
    """Return the records of a Parquet table, with columns recognized by name."""
    check_polars(content.source)

    def read() -> tuple[Records | None, list[Problem], int]:
        with readable(content.source):
            frame = polars.read_parquet(io.BytesIO(content.view))
        return records_of_table(frame, kind, problems), problems.found, problems.more

    records, problems.found, problems.more = run_in_child(read)
    return records


def records_of_table(frame: polars.DataFrame, kind: Kind, problems: Problems) -> Records | None:
    """Return the rows of a Polars frame, like `records_of_frame` but without a Python object for each value.

    Frames with unusual content are passed to that function, which reports what is wrong and where.
    """
    places = recognize(frame.columns, kind, 1, Problems(problems.source))
    columns: dict[str, Tokens] = {}
    numbers: dict[str, Numbers] = {}
    for role, place in places.items():
        column = frame.to_series(place)
        if role in NUMBERS and kind == "run":
            values = _numbers_of(column)
            if values is None:
                return records_of_frame(frame, kind, problems)
            numbers[role] = values
        else:
            texts = _repeated_texts_of(column) if role in ("topic", "tag") else _texts_of(column)
            if texts is None or (role in NUMBERS and not column.dtype.is_integer()):
                return records_of_frame(frame, kind, problems)
            columns[role] = texts
    if not places or not len(frame):
        return records_of_frame(frame, kind, problems)
    return Records(columns, numbers=numbers)


def _numbers_of(column: polars.Series) -> Numbers | None:
    """Return a column of finite numbers; None if it holds anything else."""
    if not (column.dtype.is_integer() or column.dtype.is_float()) or column.null_count():
        return None
    values = column.to_numpy().astype(np.float64)
    return values if np.isfinite(values).all() else None


def _texts_of(column: polars.Series) -> Tokens | None:
    """Return a column of texts or whole numbers as texts; None if it holds anything else."""
    if column.null_count() or not len(column):
        return None
    if column.dtype.is_integer() or column.dtype in (polars.Categorical, polars.Enum):
        column = column.cast(polars.String)
    if column.dtype != polars.String:
        return None
    length = column.str.len_bytes().to_numpy().astype(np.int64)
    joined = column.str.join("").item().encode("utf-8")
    buffer = np.frombuffer(joined + bytes(MARGIN), np.uint8)
    return Tokens(buffer, np.cumsum(length) - length, length)


def _repeated_texts_of(column: polars.Series) -> Tokens | None:
    """Like `_texts_of`, for a column in which most neighbors are equal."""
    stretches = column.rle()
    texts = _texts_of(stretches.struct.field("value"))
    if texts is None:
        return None
    sizes = stretches.struct.field("len").to_numpy()
    return Tokens(texts.buffer, np.repeat(texts.start, sizes), np.repeat(texts.length, sizes))


def column_of(tokens: Tokens, source: str) -> polars.Series:
    """Return texts as a Polars column, without a Python object for each; no text may contain a line end."""
    if not len(tokens):
        return polars.Series([], dtype=polars.String)
    ends = np.cumsum(tokens.length + 1)
    begin = ends - tokens.length - 1
    total = int(ends[-1])
    buffer = np.concatenate([tokens.buffer, np.zeros(1, np.uint8)])  # a text may end where the buffer does
    joined = buffer[np.repeat(tokens.start - begin, tokens.length + 1) + np.arange(total)]
    joined[ends - 1] = ord("\n")
    try:
        text = joined[:-1].tobytes().decode("utf-8")
    except UnicodeDecodeError as error:
        row = int(np.searchsorted(begin, error.start, side="right")) - 1
        refuse_stray_bytes([tokens.text(row)], f"{source}: the id")
        raise
    return polars.Series([text]).str.split("\n").explode()


def check_polars(source: str) -> None:
    """Raise an error if Polars would hang in this process."""
    if not may_use_polars():
        problem = "a child process cannot read Parquet after its parent has read some; use --jobs 1"
        raise FormatError(source, None, problem)


@contextmanager
def readable(source: str) -> Iterator[None]:
    """Run Polars on a file: hide its own traces and convert its errors."""
    try:
        with _silent():
            yield
    except SoundingError:
        raise
    except (Exception, polars.exceptions.PanicException) as error:
        reason = shorten((str(error).splitlines() or [type(error).__name__])[0], LONGEST_LIST)
        raise FormatError(source, None, f"not a readable Parquet file ({reason})") from error


@contextmanager
def _silent() -> Iterator[None]:
    """Silence standard error: Polars writes its own traces there before it raises."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
