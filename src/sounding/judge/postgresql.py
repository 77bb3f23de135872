"""Store a project in PostgreSQL, with few round trips to the server.

Writers wait for each other, so the number of round trips in a transaction determines the speed. A statement
without rows is therefore sent together with the next one that returns rows, or with the commit.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from sounding.core.errors import MissingPartError
from sounding.judge import database, sql
from sounding.judge.database import Row, Statements, StoreError, shown_url

if TYPE_CHECKING:
    import psycopg

    Connection = psycopg.Connection[dict[str, Any]]
    Cursor = psycopg.Cursor[dict[str, Any]]

READ_ONLY = "25006"  # error code of a read-only server
MOST_SECONDS = 60.0  # limit for one statement
CONNECT_SECONDS = 10  # limit for connecting
SILENT_SECONDS = 30  # an unanswered network connection is dropped after this time
NOT_RECORDED = "nothing was recorded"
NOT_READ = "nothing could be read"
NOT_KNOWN = "whether it was recorded shows when the same submission is sent again"


class PostgresDatabase:
    """A PostgreSQL database with two connections that threads share; a lost one is reopened.

    One is for transactions, the other for reading, so that no reader waits for a writer.
    """

    dialect = "postgresql"

    def __init__(self, url: str) -> None:
        try:
            import psycopg
        except ModuleNotFoundError:
            raise MissingPartError("psycopg", "a PostgreSQL database", "postgres") from None
        self._psycopg = psycopg
        logging.getLogger("psycopg").addFilter(_is_news)
        self._url = url
        self.place = shown_url(url)
        self._writers = threading.RLock()
        self._readers = threading.RLock()
        self._inside: _Transaction | None = None
        self._outcome = NOT_RECORDED  # text of the error message if the transaction fails now
        self._identity: Row | None = None  # distinguishes the database from another one of the same name
        self._refused: str | None = None  # why writes are refused
        self._closed = False
        self._writing = self._connect()
        try:
            self._reading = self._connect()
        except BaseException:
            self._writing.close()
            raise

    @contextmanager
    def write(self) -> Iterator[Statements]:
        """Start a transaction that may write; no other one runs meanwhile."""
        with self._writers, self._explain_errors():
            if self._inside is not None:  # started by this thread, which holds the lock
                yield self._inside
                return
            self._outcome = NOT_RECORDED
            if self._refused is not None:
                raise self.refuse(self._refused)
            try:
                self._inside = self._begin()
                with self._sending_together():
                    yield self._inside
                    self._outcome = NOT_KNOWN
                    ended = self._writing.execute("COMMIT")
                if ended.statusmessage != "COMMIT":  # the server reports no error but rolled back
                    raise StoreError(f"{self.place}: the transaction had failed; {NOT_RECORDED}")
            except BaseException as error:
                self._take_back()
                if getattr(error, "sqlstate", None) == READ_ONLY:
                    self._writing.close()  # perhaps a standby; a new connection may find the primary
                raise
            finally:
                self._inside = None

    @contextmanager
    def read(self) -> Iterator[Statements]:
        """Start statements that only read; within a transaction of this thread, they are part of it."""
        inside = self._inside
        if inside is not None and inside.thread == threading.get_ident():
            with self._explain_errors():
                yield inside
            return
        with self._readers, self._explain_errors(reading=True):
            yield _ReadStatements(self._read, {})

    def _read(self, statement: str, parameters: Row) -> list[Row]:
        """Return the rows of a query; repeat it if the connection was lost."""
        try:
            return _rows(self._reading, statement, parameters)
        except BaseException as error:
            self._give_up_unless_at_rest(self._reading)
            if not self._reading.closed or not isinstance(error, self._psycopg.OperationalError):
                raise
        self._reading = self._connect(NOT_READ)
        return _rows(self._reading, statement, parameters)

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the database with pg_dump."""
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
        """Return the version of the server."""
        with self.read() as run:
            return f"PostgreSQL {run(sql.SERVER_VERSION)[0]['version']}"

    def refuse(self, why: str) -> StoreError:
        """Refuse all further writes with this reason; return the error to raise."""
        self._refused = why
        return StoreError(f"{self.place}: {why}")

    def damage(self) -> list[str]:
        """Return nothing: the server checks its own files."""
        return []

    def erase(self) -> AbstractContextManager[Statements]:
        """Start a transaction like `write`; the server removes erased data at its next vacuum."""
        return self.write()

    def holds_erased(self) -> bool:
        """Return False, because this cannot be known here."""
        return False

    def write_back(self) -> None:
        """Do nothing: the server does so itself."""

    def close(self) -> None:
        """Close the connections."""
        with self._writers, self._readers:
            self._closed = True
            self._writing.close()
            self._reading.close()

    def _begin(self) -> _Transaction:
        """Start a transaction once no other one runs; reconnect if the connection was lost."""
        self._give_up_unless_at_rest(self._writing)
        try:
            return self._wait_for_turn()
        except self._psycopg.OperationalError:
            self._take_back()
            if not self._writing.closed:
                raise
            self._writing = self._connect()  # safe to repeat, because nothing that writes was sent
            return self._wait_for_turn()

    def _wait_for_turn(self) -> _Transaction:
        # One text with several statements needs one round trip. Each sees what was committed before it.
        answers = self._writing.execute(sql.BEGIN_IN_TURN, prepare=False)
        while answers.nextset():
            pass  # the last result is the clock
        (clock,) = answers.fetchall()
        return _Transaction(
            self._writing, threading.get_ident(), float(clock["now"]), time.monotonic(), known={}, expected={}
        )

    def _take_back(self) -> None:
        """Roll the transaction back, if necessary by closing the connection."""
        try:
            with suppress(self._psycopg.Error):  # the first error is the one to report
                if not self._writing.closed:
                    # Unprepared: a prepared statement would be queued and block on a broken connection.
                    self._writing.execute("ROLLBACK", prepare=False)
        finally:
            self._give_up_unless_at_rest(self._writing)

    def _give_up_unless_at_rest(self, line: Connection) -> None:
        """Close a connection with an unfinished transaction, which the server then rolls back.

        A connection that failed in the middle refuses everything, although it looks open.
        """
        if line.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE:
            line.close()

    def _sending_together(self) -> AbstractContextManager[object]:
        """Return a context in which statements are sent only when a result is needed or it ends."""
        return self._writing.pipeline() if self._psycopg.Pipeline.is_supported() else nullcontext()

    def _connect(self, outcome: str = NOT_RECORDED) -> Connection:
        """Connect to the same database as before; an error says `outcome`."""
        from psycopg.conninfo import conninfo_to_dict
        from psycopg.rows import dict_row

        if self._closed:
            raise StoreError(f"{self.place}: closed; {outcome}")
        try:
            asked: dict[str, Any] = {
                "connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": 1000 * SILENT_SECONDS,
                **conninfo_to_dict(self._url), "client_encoding": "UTF8",
            }  # fmt: skip
            if "," in asked.get("host", ""):  # of several servers, use the one that accepts writes
                asked.setdefault("target_session_attrs", "read-write")
            connection = self._psycopg.connect(**asked, autocommit=True, row_factory=dict_row)
        except self._psycopg.Error as error:
            said = "; ".join(line.strip() for line in str(error).splitlines() if line.strip())
            raise StoreError(f"{self.place}: the database cannot be reached ({said}); {outcome}") from error
        try:
            self._set_up(connection, outcome)
        except BaseException as error:
            connection.close()
            if isinstance(error, self._psycopg.Error):
                raise StoreError(f"{self.place}: {_in_one_line(error)}; {outcome}") from error
            raise
        return connection

    def _set_up(self, connection: Connection, outcome: str) -> None:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise StoreError(
                f"{self.place}: the encoding of the database is {encoding}; expected UTF8, as made by:"
                " createdb --encoding=UTF8 --template=template0 NAME"
            )
        connection.execute("SET synchronous_commit = on")
        connection.execute("SET client_min_messages = warning")
        connection.execute("SET extra_float_digits = 3")  # otherwise times would lose digits
        # Threads share the connection, so one endless lock or statement would block all.
        connection.execute(f"SET lock_timeout = {round(1000 * database.BUSY_SECONDS)}")
        connection.execute(f"SET statement_timeout = {round(1000 * MOST_SECONDS)}")
        identity = self._identity_by(connection)
        if None not in (identity, self._identity) and identity != self._identity:
            raise StoreError(
                f"{self.place}: another database has taken its place; {outcome}; stop the server and"
                " start it again"
            )
        self._identity = identity or self._identity

    def _identity_by(self, connection: Connection) -> Row | None:
        """Return a unique identity of the database; None if this user may not query it."""
        with suppress(self._psycopg.Error):
            return _rows(connection, sql.IDENTITY, {})[0]
        return None

    @contextmanager
    def _explain_errors(self, *, reading: bool = False) -> Iterator[None]:
        try:
            yield
        except self._psycopg.Error as error:
            outcome = NOT_RECORDED if self._has_refused(error) else self._outcome
            outcome = NOT_READ if reading else outcome
            raise StoreError(
                f"{self.place}: the database answered {_in_one_line(error)!r}; {outcome}"
            ) from error

    def _has_refused(self, error: psycopg.Error) -> bool:
        """Return whether the server refused the statement, rather than being stopped or unreachable."""
        code = error.sqlstate or ""
        ended = error.diag.severity_nonlocalized in ("FATAL", "PANIC")
        silent = ended or not code or code.startswith(("08", "57"))
        return not silent or isinstance(error, self._psycopg.errors.PipelineAborted)


class _ReadStatements(NamedTuple):
    rows: Callable[[str, Row], list[Row]]
    known: dict[str, float]

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        return self.rows(statement, parameters)

    def expect(self, statement: str, /, **parameters: Any) -> None:
        """Do nothing: outside a transaction, each statement is sent alone."""

    def many(self, statement: str, rows: Sequence[Row]) -> None:
        raise TypeError("cannot write outside a transaction")

    def now(self) -> float:
        return float(self(sql.CLOCK)[0]["now"])


class _Transaction(NamedTuple):
    connection: Connection
    thread: int  # that started it
    clock: float  # server time when the transaction started
    begun: float  # the same moment by this machine's monotonic clock
    known: dict[str, float]
    expected: dict[tuple[Any, ...], Cursor]  # announced queries whose results were not used yet

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        if not _gives_rows(statement):
            self.expected.clear()  # their results are outdated
        early = self.expected.pop(_question(statement, parameters), None) if self.expected else None
        return _rows(self.connection, statement, parameters) if early is None else _fetched(early)

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
    """Return the rows of a statement; this waits for everything that was sent."""
    return list(cursor.fetchall())


def _gives_rows(statement: str) -> bool:
    return statement.startswith("SELECT")


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a log message of psycopg is more than an error that is raised anyway."""
    return not str(record.msg).startswith("error ignored")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _question(statement: str, parameters: Row) -> tuple[Any, ...]:
    return statement, *sorted(parameters.items())


@lru_cache(maxsize=256)
def in_psycopg(statement: str) -> bytes:
    """Return a statement with its parameters in the notation of psycopg."""
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement).encode()
