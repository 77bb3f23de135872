"""The interface that the store needs from a database: transactions, durability, and one clear error.

A write transaction excludes every other one, in all processes. When it ends without an error, its changes
are on disk; if it fails, it leaves nothing behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from sounding.core.errors import DataError, SoundingError

Row = Mapping[str, Any]

BUSY_SECONDS = 5.0  # time for which a writer waits for another process
POSTGRESQL = ("postgresql", "postgres")


class Statements(Protocol):
    """The statements that a transaction can run."""

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        """Run one statement with named parameters; return its rows."""

    def expect(self, statement: str, /, **parameters: Any) -> None:
        """Announce a query that will follow before any change, so that several can be sent together."""

    def many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run one statement for every row of parameters."""

    def now(self) -> float:
        """Return the seconds since 1970 by the clock that all processes on this database share."""

    @property
    def known(self) -> dict[str, float]:
        """Return facts found in this transaction; they stay true, because nobody else writes meanwhile."""


class StoreError(SoundingError):
    """Raised if the database cannot do the work (full, read-only, locked, gone); nothing was recorded."""


class Database(Protocol):
    """The database behind a store."""

    dialect: str
    place: str  # its name in messages

    def write(self) -> AbstractContextManager[Statements]:
        """Start a transaction that may write; no other one runs meanwhile.

        A nested transaction is part of the outer one.
        """

    def read(self) -> AbstractContextManager[Statements]:
        """Start statements that only read."""

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the database to a file."""

    def kind(self) -> str:
        """Describe the database and how it journals writes."""

    def refuse(self, why: str) -> StoreError:
        """Refuse all further writes with this reason; return the error to raise."""

    def damage(self) -> list[str]:
        """Return a sentence for each fault in the files of the database."""

    def erase(self) -> AbstractContextManager[Statements]:
        """Start a transaction like `write` that also wipes deleted data from the files."""

    def holds_erased(self) -> bool:
        """Return whether a file may still hold erased data, because another program was reading it."""

    def write_back(self) -> None:
        """Do background maintenance without blocking others."""

    def close(self) -> None:
        """Close the connection."""


class Tables:
    """Base class of the parts of a store, which read and write the tables of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _rows(self, statement: str, **given: Any) -> list[Row]:
        """Return the rows of a query."""
        with self._database.read() as run:
            return run(statement, **given)


def storable(text: str, what: str) -> str:
    """Return an id unchanged; refuse one that a database cannot hold."""
    if not text:
        raise DataError(f"{what} is empty; give at least one character")
    if readable(text) != text:
        raise DataError(f"{what} {text!r} cannot be stored; expected text in UTF-8 without zero bytes")
    return text


def readable(text: str) -> str:
    """Return free text with zero bytes and broken characters replaced, as every database can hold it."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def shown_url(url: str) -> str:
    """Return the address of a database without its password, in any spelling of the address."""
    without = re.sub(r"(//[^:/@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?i)(password\s*=\s*)('(?:\\.|[^'\\])*'?|[^&\s]*)", r"\1...", without)
