"""The file of a history: Parquet or SQLite, one row for each commit, run, measure and topic."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sounding.core.errors import ChoiceError, DataError, FormatError
from sounding.core.files import lock_file, refuse_unwritable, write_file
from sounding.core.lazy import polars
from sounding.data.parquet import readable
from sounding.data.sources import no_such_file

if TYPE_CHECKING:
    import sqlite3

TEXTS = ("commit", "time", "run", "measure", "topic", "qrels", "policies")
NUMBERS = ("value", "judged")  # null: not defined
COLUMNS = ("commit", "time", "run", "measure", "topic", "value", "judged", "qrels", "policies")
RESULT = ("commit", "run", "measure")  # identify what one evaluation gave, which a later one replaces
PARQUET, SQLITE = ".parquet", (".sqlite", ".db")
EXPECTED = "expected a history that `sounding track` wrote"
PATIENCE = 60.0  # seconds to wait for another process that writes to a database


def check_name(path: Path) -> None:
    """Raise an error if the suffix names neither kind of file."""
    if path.suffix.lower() not in (PARQUET, *SQLITE):
        raise ChoiceError(f"{path}: a history is Parquet or SQLite; name it .parquet, .sqlite or .db")


def read_rows(path: Path) -> polars.DataFrame:
    """Return all rows of a history, in the order in which they were added."""
    check_name(path)
    if not path.exists():
        raise DataError(f"{str(path)!r}: {no_such_file(path)}")
    if path.suffix.lower() == PARQUET:
        return _read_parquet(path)
    with _database(path) as connection:
        return _select(path, connection)


def add_rows(path: Path, rows: polars.DataFrame) -> polars.DataFrame:
    """Add rows, in place of those of the same commit, run and measure; return all rows.

    Processes that write to one history wait for each other, so that none loses rows.
    """
    check_name(path)
    refuse_unwritable(path)
    if path.suffix.lower() != PARQUET:
        return _add_to_database(path, rows)
    with lock_file(path):
        if path.exists():
            rows = polars.concat([_read_parquet(path).join(rows, on=RESULT, how="anti"), rows])
        stream = io.BytesIO()
        rows.write_parquet(stream)
        write_file(path, stream.getvalue())
    return rows


def _read_parquet(path: Path) -> polars.DataFrame:
    with readable(str(path)):
        frame = polars.read_parquet(io.BytesIO(path.read_bytes()))
    return _checked(path, frame)


def _checked(path: Path, frame: polars.DataFrame) -> polars.DataFrame:
    """Return the columns of a history; raise an error if one is missing or has another type."""
    kinds = dict.fromkeys(TEXTS, polars.String) | dict.fromkeys(NUMBERS, polars.Float64)
    wrong = [name for name, kind in kinds.items() if frame.schema.get(name) != kind]
    if wrong:
        raise FormatError(str(path), None, f"no column {wrong[0]!r} of {kinds[wrong[0]]}; {EXPECTED}")
    return frame.select(COLUMNS)


# -- SQLite ----------------------------------------------------------------------------------------

_NAMES = ", ".join(f'"{name}"' for name in COLUMNS)  # `commit` is a word of SQL
_CREATE = "CREATE TABLE IF NOT EXISTS history ({})".format(
    ", ".join(f'"{name}" {"REAL" if name in NUMBERS else "TEXT NOT NULL"}' for name in COLUMNS)
)
_INDEX = 'CREATE INDEX IF NOT EXISTS result ON history ("commit", run, measure)'
_DELETE = 'DELETE FROM history WHERE "commit" = ? AND run = ? AND measure = ?'
_INSERT = f"INSERT INTO history ({_NAMES}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608 - our names
_SELECT = f"SELECT {_NAMES} FROM history ORDER BY rowid"  # noqa: S608 - our names


@contextmanager
def _database(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a database; its errors become one line."""
    import sqlite3  # Parquet files need none

    try:
        with closing(sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)) as connection:
            yield connection
    except sqlite3.OperationalError as error:
        if "no such" in str(error):
            raise FormatError(str(path), None, f"{error}; {EXPECTED}") from error
        raise DataError(f"{path}: {error}") from error
    except sqlite3.DatabaseError as error:
        raise FormatError(str(path), None, f"{error}; {EXPECTED}") from error


def _add_to_database(path: Path, rows: polars.DataFrame) -> polars.DataFrame:
    with _database(path) as connection:
        connection.execute("BEGIN IMMEDIATE")  # other writers wait from here on
        connection.execute(_CREATE)
        connection.execute(_INDEX)
        connection.executemany(_DELETE, rows.select(RESULT).unique().rows())
        connection.executemany(_INSERT, rows.select(COLUMNS).rows())
        whole = _select(path, connection)
        connection.execute("COMMIT")
    return whole


def _select(path: Path, connection: sqlite3.Connection) -> polars.DataFrame:
    found = connection.execute(_SELECT).fetchall()
    schema = {name: polars.Float64 if name in NUMBERS else polars.String for name in COLUMNS}
    try:
        return polars.DataFrame(found, schema=schema, orient="row")
    except (polars.exceptions.PolarsError, TypeError) as error:
        raise FormatError(str(path), None, f"a value has the wrong type; {EXPECTED}") from error
