"""PostgreSQL: what `sounding.judge.database` promises, with few journeys to the server and back.

All who write wait for each other, so that what counts is how often a transaction waits for the server. A
statement that gives no rows is therefore sent with the next one that gives some, or with the end.
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

READ_ONLY = "25006"  # as the server says that it takes no changes
MOST_SECONDS = 60.0  # that one statement may take
CONNECT_SECONDS = 10  # that a server has to answer
SILENT_SECONDS = 30  # after which a line over a network that nobody answers on is given up
NOT_RECORDED = "nothing was recorded"
NOT_READ = "nothing could be read"
NOT_KNOWN = "whether it was recorded shows when the same submission is sent again"


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
        logging.getLogger("psycopg").addFilter(_is_news)
        self._url = url
        self.place = shown_url(url)
        self._writers = threading.RLock()
        self._readers = threading.RLock()
        self._inside: _Transaction | None = None
        self._outcome = NOT_RECORDED  # if the transaction fails now
        self._identity: Row | None = None  # of the database, by which another one of its name is known
        self._refused: str | None = None  # why nothing is recorded any more
        self._closed = False
        self._writing = self._connect()
        try:
            self._reading = self._connect()
        except BaseException:
            self._writing.close()
            raise

    @contextmanager
    def write(self) -> Iterator[Statements]:
        """A transaction that may change something; no other one runs meanwhile."""
        with self._writers, self._explain_errors():
            if self._inside is not None:  # of this thread, which has the lock
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
                if ended.statusmessage != "COMMIT":  # the server says so, and not that anything is wrong
                    raise StoreError(f"{self.place}: the transaction had failed; {NOT_RECORDED}")
            except BaseException as error:
                self._take_back()
                if getattr(error, "sqlstate", None) == READ_ONLY:
                    self._writing.close()  # perhaps it leads to a spare: the next one may lead on
                raise
            finally:
                self._inside = None

    @contextmanager
    def read(self) -> Iterator[Statements]:
        """Statements that change nothing; within a transaction of this thread, part of it."""
        inside = self._inside
        if inside is not None and inside.thread == threading.get_ident():
            with self._explain_errors():
                yield inside
            return
        with self._readers, self._explain_errors(reading=True):
            yield _ReadStatements(self._read, {})

    def _read(self, statement: str, parameters: Row) -> list[Row]:
        """The rows of a statement that changes nothing: where the line was lost, it is asked anew."""
        try:
            return _rows(self._reading, statement, parameters)
        except BaseException as error:
            self._give_up_unless_at_rest(self._reading)
            if not self._reading.closed or not isinstance(error, self._psycopg.OperationalError):
                raise
        self._reading = self._connect(NOT_READ)
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

    def refuse(self, why: str) -> StoreError:
        """Record nothing from now on."""
        self._refused = why
        return StoreError(f"{self.place}: {why}")

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
            self._closed = True
            self._writing.close()
            self._reading.close()

    def _begin(self) -> _Transaction:
        """A transaction that has its turn; where the line was lost since the last one, on a new line."""
        self._give_up_unless_at_rest(self._writing)
        try:
            return self._wait_for_turn()
        except self._psycopg.OperationalError:
            self._take_back()
            if not self._writing.closed:
                raise
            self._writing = self._connect()  # nothing was sent that could have been recorded
            return self._wait_for_turn()

    def _wait_for_turn(self) -> _Transaction:
        # One text for all of it: one journey. Each part sees what was committed before it.
        answers = self._writing.execute(sql.BEGIN_IN_TURN, prepare=False)
        while answers.nextset():
            pass  # the last answer is the clock's
        (clock,) = answers.fetchall()
        return _Transaction(
            self._writing, threading.get_ident(), float(clock["now"]), time.monotonic(), known={}, expected={}
        )

    def _take_back(self) -> None:
        """Undo what the transaction has done so far, if need be by hanging up."""
        try:
            with suppress(self._psycopg.Error):  # the first error is the one to tell
                if not self._writing.closed:
                    # Not prepared: such a one would be queued, and waited for, where the line is broken.
                    self._writing.execute("ROLLBACK", prepare=False)
        finally:
            self._give_up_unless_at_rest(self._writing)

    def _give_up_unless_at_rest(self, line: Connection) -> None:
        """Hang up where something is still under way on a line; the server undoes it then.

        One that broke off in the middle refuses everything from then on, though it looks open.
        """
        if line.info.transaction_status != self._psycopg.pq.TransactionStatus.IDLE:
            line.close()

    def _sending_together(self) -> AbstractContextManager[object]:
        """Within it, statements wait to be sent until an answer is needed, or it ends."""
        return self._writing.pipeline() if self._psycopg.Pipeline.is_supported() else nullcontext()

    def _connect(self, outcome: str = NOT_RECORDED) -> Connection:
        """A new line, to the database that the first one led to; `outcome` is told where there is none."""
        from psycopg.conninfo import conninfo_to_dict
        from psycopg.rows import dict_row

        if self._closed:
            raise StoreError(f"{self.place}: closed; {outcome}")
        try:
            asked: dict[str, Any] = {
                "connect_timeout": CONNECT_SECONDS, "tcp_user_timeout": 1000 * SILENT_SECONDS,
                **conninfo_to_dict(self._url), "client_encoding": "UTF8",
            }  # fmt: skip
            if "," in asked.get("host", ""):  # of several servers, the one that takes changes
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
        connection.execute("SET extra_float_digits = 3")  # or times come back other than they were written
        # Threads share the connection: a lock that stays, or a statement without end, would hold up them all.
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
        """Return what tells the database apart from others of its name; None: this user may not know."""
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
        """Return whether the server itself has said no, and not merely fallen silent or been stopped."""
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
    known: dict[str, float]
    expected: dict[tuple[Any, ...], Cursor]  # questions whose answers nobody has asked for yet

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        if not _gives_rows(statement):
            self.expected.clear()  # they were of before
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
    """The rows of a statement; to ask for them is to wait for all that was sent."""
    return list(cursor.fetchall())


def _gives_rows(statement: str) -> bool:
    return statement.startswith("SELECT")


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether a remark of psycopg is more than the error that is raised as well."""
    return not str(record.msg).startswith("error ignored")


def _in_one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _question(statement: str, parameters: Row) -> tuple[Any, ...]:
    return statement, *sorted(parameters.items())


@lru_cache(maxsize=256)
def in_psycopg(statement: str) -> bytes:
    """A statement with its parameters as psycopg spells them."""
    return re.sub(r"(?<!:):([a-z_]+)", r"%(\1)s", statement).encode()
