"""PostgreSQL: what `sounding.judging.database` promises, with few journeys to the server and back.

All who write wait for each other, so that what counts is how often a transaction waits for the server. A
statement that gives no rows is therefore sent with the next one that gives some, or with the end.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sounding.errors import MissingPartError
from sounding.judging import database, sql
from sounding.judging.database import Row, Statements, StoreError, shown_url

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[dict[str, Any]]
    Cursor = psycopg.Cursor[dict[str, Any]]

MOST_SECONDS = 60.0  # that one statement may take


class PostgresDatabase:
    """A PostgreSQL database with two connections that threads share in turn; a lost one is made anew.

    One is for transactions. What is only read goes by the other one, so that no reader waits for a writer.
    """

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ModuleNotFoundError:
            raise MissingPartError("psycopg", "a PostgreSQL database", "postgres") from None
        self._psycopg = psycopg
        self._url = url
        self.place = shown_url(url)
        self._writers = threading.RLock()
        self._readers = threading.RLock()
        self._inside: _Transaction | None = None
        self._writing = self._connected()
        self._reading = self._connected()

    @contextmanager
    def write(self) -> Iterator[Statements]:
        """A transaction that may change something; no other one runs meanwhile."""
        with self._writers, self._explained():
            if self._inside is not None:  # of this thread, which has the lock
                yield self._inside
                return
            self._inside = self._begun()
            try:
                with self._sending_together():
                    yield self._inside
                    ended = self._writing.execute("COMMIT")
                if ended.statusmessage != "COMMIT":  # the server says so, and not that anything is wrong
                    raise StoreError(f"{self.place}: the transaction had failed; nothing was recorded")
            except BaseException:
                if not self._writing.closed:
                    self._writing.execute("ROLLBACK")
                raise
            finally:
                self._inside = None

    @contextmanager
    def read(self) -> Iterator[Statements]:
        """Statements that change nothing; within a transaction of this thread, part of it."""
        inside = self._inside
        if inside is not None and inside.thread == threading.get_ident():
            with self._explained():
                yield inside
            return
        with self._readers, self._explained():
            yield _Reader(self._read, {})

    def _read(self, statement: str, parameters: Row) -> list[Row]:
        """The rows of a statement that changes nothing: where the line was lost, it is asked anew."""
        try:
            return _rows(self._reading, statement, parameters)
        except self._psycopg.OperationalError:
            if not self._reading.closed:
                raise
            self._reading = self._connected()
            return _rows(self._reading, statement, parameters)

    def backup(self, target: Path) -> None:
        """Write a copy of everything as it stands at one moment, by pg_dump."""
        import shutil
        import subprocess

        program = shutil.which("pg_dump")
        if program is None:
            raise StoreError("pg_dump was not found; install PostgreSQL's client programs to back up")
        done = subprocess.run(  # noqa: S603 - a program that was found, without a shell
            [program, "--format=custom", f"--file={target}", self._url], capture_output=True, text=True
        )
        if done.returncode:
            raise StoreError(f"{self.place}: pg_dump failed: {' '.join(done.stderr.split())}")

    def kind(self) -> str:
        """The version of the server."""
        with self.read() as run:
            return f"PostgreSQL {run(sql.SERVER_VERSION)[0]['version']}"

    def damage(self) -> list[str]:
        """Nothing: the server looks after its files."""
        return []

    def erase(self) -> AbstractContextManager[Statements]:
        """As `write`: the server lets go of what was erased at its next vacuum."""
        return self.write()

    def holds_erased(self) -> bool:
        """Not that this program could tell."""
        return False

    def write_back(self) -> None:
        """Nothing: the server does so itself."""

    def close(self) -> None:
        """Give the connections back."""
        with self._writers, self._readers:
            self._writing.close()
            self._reading.close()

    def _begun(self) -> _Transaction:
        """A transaction that has its turn; where the line was lost since the last one, on a new line."""
        try:
            return self._having_turn()
        except self._psycopg.OperationalError:
            if not self._writing.closed:
                raise
            self._writing = self._connected()  # nothing was sent that could have been recorded
            return self._having_turn()

    def _having_turn(self) -> _Transaction:
        try:
            # One text for all of it: one journey. Each part sees what was committed before it.
            answers = self._writing.execute(sql.BEGIN_IN_TURN, prepare=False)
        except BaseException:
            if not self._writing.closed:
                self._writing.execute("ROLLBACK")
            raise
        while answers.nextset():
            pass  # the last answer is the clock's
        (clock,) = answers.fetchall()
        return _Transaction(
            self._writing, threading.get_ident(), float(clock["now"]), time.monotonic(), known={}, expected={}
        )

    def _sending_together(self) -> AbstractContextManager[object]:
        """Within it, statements wait to be sent until an answer is needed, or it ends."""
        return self._writing.pipeline() if self._psycopg.Pipeline.is_supported() else nullcontext()

    def _connected(self) -> Connection:
        from psycopg.rows import dict_row

        try:
            connection = self._psycopg.connect(self._url, autocommit=True, row_factory=dict_row)
        except self._psycopg.Error as error:
            said = " ".join(str(error).split())
            raise StoreError(
                f"{self.place}: the database cannot be reached ({said}); nothing was recorded"
            ) from error
        connection.execute("SET synchronous_commit = on")
        connection.execute("SET client_min_messages = warning")
        # Threads share the connection: a lock that stays, or a statement without end, would hold up them all.
        connection.execute(f"SET lock_timeout = {round(1000 * database.BUSY_SECONDS)}")
        connection.execute(f"SET statement_timeout = {round(1000 * MOST_SECONDS)}")
        return connection

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            said = " ".join(str(error).split())
            raise StoreError(
                f"{self.place}: the database answered {said!r}; whether it was recorded shows when the same"
                " submission is sent again"
            ) from error


class _Reader(NamedTuple):
    rows: Callable[[str, Row], list[Row]]
    known: dict[str, int]

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        return self.rows(statement, parameters)

    def expect(self, statement: str, /, **parameters: Any) -> None:
        """Nothing: outside a transaction each statement goes alone."""

    def many(self, statement: str, rows: Sequence[Row]) -> None:
        raise TypeError("what is only read changes nothing")

    def now(self) -> float:
        return float(self(sql.CLOCK)[0]["now"])


class _Transaction(NamedTuple):
    connection: Connection
    thread: int  # that has begun it
    clock: float  # of the server, when the transaction had its turn
    begun: float  # the same moment by the steady clock of this machine
    known: dict[str, int]
    expected: dict[tuple[Any, ...], Cursor]  # questions whose answers nobody has asked for yet

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        if not _gives_rows(statement):
            self.expected.clear()  # they were of before
        early = self.expected.pop(_question(statement, parameters), None)
        return _fetched(early) if early else _rows(self.connection, statement, parameters)

    def expect(self, statement: str, /, **parameters: Any) -> None:
        sent = self.connection.execute(in_psycopg(statement), parameters)
        self.expected[_question(statement, parameters)] = sent

    def many(self, statement: str, rows: Sequence[Row]) -> None:
        self.expected.clear()
        self.connection.cursor().executemany(in_psycopg(statement), rows)

    def now(self) -> float:
        return self.clock + time.monotonic() - self.begun


def _rows(connection: Connection, statement: str, parameters: Row) -> list[Row]:
    cursor = connection.execute(in_psycopg(statement), parameters or None)
    return _fetched(cursor) if _gives_rows(statement) else []


def _fetched(cursor: Cursor) -> list[Row]:
    """The rows of a statement; to ask for them is to wait for all that was sent."""
    return list(cursor.fetchall())


def _gives_rows(statement: str) -> bool:
    return statement.startswith("SELECT")


def _question(statement: str, parameters: Row) -> tuple[Any, ...]:
    return statement, *sorted(parameters.items())


@lru_cache(maxsize=256)
def in_psycopg(statement: str) -> bytes:
    """A statement with its parameters as psycopg spells them."""
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement).encode()
