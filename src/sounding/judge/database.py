"""What the store needs of a database, and SQLite: transactions, durability, and one clear error.

A write transaction excludes every other one, in this process and in all others; when it ends without an
error, what it did is on the disk. A failure leaves nothing behind.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from sounding.core.errors import DataError, SoundingError
from sounding.judge import sql, sqlite
from sounding.judge.sqlite import sqlite3

Row = Mapping[str, Any]

BUSY_SECONDS = 5.0  # that a writer waits for another process
ERASING_SECONDS = 0.2  # that everybody may have to wait while a log is emptied
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
        """Which database it is, and how it keeps what is being written."""

    def tables(self) -> list[str]:
        """The names of all tables there are, whoever made them."""

    def refuse(self, why: str) -> StoreError:
        """Record nothing from now on, and give this reason; returns the error to raise."""

    def damage(self) -> list[str]:
        """What is wrong with the files of the database, a sentence each."""

    def erase(self) -> AbstractContextManager[Statements]:
        """As `write`; what is deleted or overwritten leaves the files as well: see `holds_erased`."""

    def holds_erased(self) -> bool:
        """Whether a file may still hold what was erased, because somebody else was reading just then."""

    def write_back(self) -> None:
        """Do what tidying up there is while others go on; for a thread in the background."""

    def close(self) -> None:
        """Give the connection back."""


def open_database(place: str | Path) -> Database:
    """The database at a path (SQLite), or at an address that begins with postgresql://."""
    if urlsplit(str(place)).scheme in POSTGRESQL:
        from sounding.judge.postgresql import PostgresDatabase

        return PostgresDatabase(str(place))
    return SqliteDatabase(Path(place))


class SqliteDatabase:
    """A SQLite file with one connection that threads share in turn."""

    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self._path = path.absolute()
        self._erased = self._path.with_name(f"{path.name}-erased")  # there: the log may hold what was erased
        self._lock = threading.RLock()
        self._inside: _SqliteStatements | None = None  # a transaction, of the thread that has the lock
        self._refused: str | None = None  # why nothing is recorded any more
        _keep_private(path)
        with self._explained(""):
            self._connection, self._frozen = sqlite.connect(path, BUSY_SECONDS)
            for pragma in sql.PRAGMAS:
                self._connection.execute(pragma)
        self._may_log = sqlite.journal_mode(path) == "WAL" and not self._frozen
        self._identity = _identity(path)

    @contextmanager
    def write(self) -> Iterator[Statements]:
        """A transaction that may change something; no other one runs meanwhile."""
        with self._lock, self._explained("; nothing was recorded"):
            if self._inside is not None:
                yield self._inside
                return
            if self._refused is not None:
                raise self.refuse(self._refused)
            if self._frozen:
                raise StoreError(
                    f"{self.place}: the disk could not be written when this began, and nothing was recorded;"
                    " start again when it can"
                )
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if not self._may_log:
                    sqlite.refuse_log(self._connection, self._path)
                self._inside = _SqliteStatements(self._connection)
                yield self._inside
                self._check_place()
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            finally:
                self._inside = None

    def _check_place(self) -> None:
        """Refuse to go on with a file that is no longer there: what is written to it would be lost."""
        if _identity(self._path) != self._identity:
            raise StoreError(
                f"{self.place}: another file has taken its place, or it is gone; nothing was recorded;"
                " stop the server and start it again"
            )

    @contextmanager
    def read(self) -> Iterator[Statements]:
        """Statements that change nothing."""
        with self._lock, self._explained("; nothing was recorded"):
            yield self._inside or _SqliteStatements(self._connection)

    def backup(self, target: Path) -> None:
        """Write a copy of everything as it stands at one moment."""
        with self._lock, self._explained("; there is no copy"):
            self._connection.execute(sql.BACKUP, {"path": str(target)})

    def kind(self) -> str:
        """The version of SQLite, its kind of journal, and why that is not a write-ahead log."""
        if self._frozen:
            return f"SQLite {sqlite3.sqlite_version}, to be read only"
        with self._lock, self._explained(""):
            logs = sqlite.keeps_log(self._connection)
        why = sqlite.obstacle(self._path)
        journal = "write-ahead log" if logs else "rollback journal" + (f" ({why})" if why else "")
        return f"SQLite {sqlite3.sqlite_version}, {journal}"

    def refuse(self, why: str) -> StoreError:
        """Record nothing from now on."""
        self._refused = why
        return StoreError(f"{self.place}: {why}")

    def tables(self) -> list[str]:
        """The names of all tables."""
        with self.read() as run:
            return [row["name"] for row in run(sql.TABLES["sqlite"])]

    def damage(self) -> list[str]:
        """What is wrong with the file, a sentence each."""
        with self.read() as run:
            found = [str(next(iter(dict(row).values()))) for row in run(sql.INTEGRITY)]
        return [f"{self.place}: {problem}" for problem in found if problem != "ok"]

    @contextmanager
    def erase(self) -> Iterator[Statements]:
        """A transaction, after which the write-ahead log is emptied: it holds pages as they were before.

        That this is to be done is noted in a file first, so that neither a crash nor a reader prevents it.
        """
        with self.write() as run:
            if self._may_log:  # while nobody else can empty the log, and take the note away too early
                try:
                    self._erased.touch()
                except OSError as error:
                    raise StoreError(f"{self._erased}: {error.strerror}; nothing was erased") from error
            yield run
        self._empty_log(ERASING_SECONDS)

    def holds_erased(self) -> bool:
        """Whether the log may hold what was erased."""
        return self._erased.exists()

    def _empty_log(self, seconds: float) -> None:
        """Empty the log where nobody reads in it for so long, by a connection that no thread waits for."""
        with suppress(StoreError, OSError, sqlite3.Error):
            noted = self._erased.stat().st_mtime_ns
            with self._aside(seconds) as own:
                busy = own.execute(sql.EMPTY_LOG).fetchone()[0]
            if not busy and self._erased.stat().st_mtime_ns == noted:  # nobody has erased more meanwhile
                self._erased.unlink()

    def write_back(self) -> None:
        """Write what the log holds into the file, so that it can begin anew; no judgment waits for that."""
        if not self._may_log:
            return
        self._empty_log(0)
        with self._explained("; the log stays as it is"), self._aside(BUSY_SECONDS) as own:
            own.execute(sql.WRITE_BACK).fetchall()

    @contextmanager
    def _aside(self, seconds: float) -> Iterator[sqlite3.Connection]:
        """A connection beside the one that all threads share."""
        self._check_place()
        address = f"{self._path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, timeout=seconds, isolation_level=None, uri=True)) as own:
            yield own

    def close(self) -> None:
        """Give the file back."""
        with self._lock:
            self._connection.close()
        # Whoever is the last to close a file takes its log away.
        with suppress(OSError):
            if not self._path.with_name(f"{self._path.name}{sqlite.LOG}").exists():
                self._erased.unlink(missing_ok=True)

    @contextmanager
    def _explained(self, therefore: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.place}: the database answered {str(error)!r}{therefore}") from error
        except sqlite.NotSharedError as error:
            raise StoreError(f"{self.place}: {error}{therefore}") from error


@dataclass(frozen=True, slots=True)
class _SqliteStatements:
    connection: sqlite3.Connection
    known: dict[str, float] = field(default_factory=dict)

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        return self.connection.execute(statement, parameters).fetchall()

    def expect(self, statement: str, /, **parameters: Any) -> None:
        """Nothing: a file answers at once."""

    def many(self, statement: str, rows: Sequence[Row]) -> None:
        self.connection.executemany(statement, rows)

    def now(self) -> float:
        return time.time()


def _keep_private(path: Path) -> None:
    """Make a new file that its owner alone can read: hashes of passwords are kept in it.

    SQLite gives its journals the same rights. A file that is there keeps those it has.
    """
    with suppress(OSError):  # there is one, or SQLite will explain
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file stands at a path; None: none does."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


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
