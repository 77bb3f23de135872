"""What the store needs of a database: transactions, durability, and one clear error.

A write transaction excludes every other one, in this process and in all others; when it ends without an
error, what it did is on the disk. A failure leaves nothing behind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from sounding.core.errors import DataError, SoundingError

Row = Mapping[str, Any]

BUSY_SECONDS = 5.0  # that a writer waits for another process
POSTGRESQL = ("postgresql", "postgres")


class Statements(Protocol):
    """What a transaction can do."""

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        """Run one statement with its parameters by name; returns its rows."""

    def expect(self, statement: str, /, **parameters: Any) -> None:
        """Say that rows will be asked for before anything is changed: several can then come together."""

    def many(self, statement: str, rows: Sequence[Row]) -> None:
        """Run one statement for every row of parameters."""

    def now(self) -> float:
        """Seconds since 1970, by the one clock that all who share the database have in common."""

    @property
    def known(self) -> dict[str, float]:
        """What was found in this transaction, and stays true in it, since nobody else writes meanwhile."""


class StoreError(SoundingError):
    """The database cannot do what was asked now (full, read-only, locked, gone); nothing was recorded."""


class Database(Protocol):
    """What the store needs of a database."""

    dialect: str
    place: str  # as messages call it

    def write(self) -> AbstractContextManager[Statements]:
        """A transaction that may change something; no other one runs meanwhile.

        One inside another is part of it.
        """

    def read(self) -> AbstractContextManager[Statements]:
        """Statements that change nothing."""

    def backup(self, target: Path) -> None:
        """Write a copy of everything as it stands at one moment."""

    def kind(self) -> str:
        """Return which database it is, and how it keeps what is being written."""

    def refuse(self, why: str) -> StoreError:
        """Record nothing from now on, and give this reason; returns the error to raise."""

    def damage(self) -> list[str]:
        """Return what is wrong with the files of the database, a sentence each."""

    def erase(self) -> AbstractContextManager[Statements]:
        """As `write`; what is deleted or overwritten leaves the files as well: see `holds_erased`."""

    def holds_erased(self) -> bool:
        """Whether a file may still hold what was erased, because somebody else was reading just then."""

    def write_back(self) -> None:
        """Do what tidying up there is while others go on; for a thread in the background."""

    def close(self) -> None:
        """Give the connection back."""


class Tables:
    """A part of a store: its methods read and write the tables of one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def _rows(self, statement: str, **given: Any) -> list[Row]:
        """The rows of a statement that changes nothing."""
        with self._database.read() as run:
            return run(statement, **given)


def storable(text: str, what: str) -> str:
    """An id as it is; one that a database cannot hold is refused."""
    if not text:
        raise DataError(f"{what} is empty; give at least one character")
    if readable(text) != text:
        raise DataError(f"{what} {text!r} cannot be stored; expected text in UTF-8 without zero bytes")
    return text


def readable(text: str) -> str:
    """Free text as every database can hold it: zero bytes and broken characters become marks."""
    return text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def shown_url(url: str) -> str:
    """The address of a database without its password, also of one that is spelled another way."""
    without = re.sub(r"(//[^:/@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?i)(password\s*=\s*)('(?:\\.|[^'\\])*'?|[^&\s]*)", r"\1...", without)
