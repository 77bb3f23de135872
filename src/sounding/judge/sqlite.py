"""Store a project in a SQLite file; choose the SQLite library and the kind of journal.

With a write-ahead log, a judgment waits for the disk once; with a rollback journal, four times. SQLite up to
3.51.2 has a bug that can lose pages of the log. If Python has such a version, pysqlite3, which includes a
newer SQLite, is used if it is installed. A process uses only one of the two, because they would not see each
other's locks.
"""

from __future__ import annotations

import os
import re
import sqlite3 as python_sqlite
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from sounding.judge import database, sql
from sounding.judge.database import Row, Statements, StoreError

MOUNTS = Path("/proc/self/mounts")
NETWORK = (
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "fhgfs", "fuse.", "gfs", "glusterfs",
    "gpfs", "lustre", "ncpfs", "nfs", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb", "vboxsf",
    "virtiofs", "vmhgfs", "wekafs",
)  # fmt: skip  # prefixes of the names of network file systems
# Suffixes of SQLite's write-ahead log, its shared-memory index, and its rollback journal.
LOG, INDEX, JOURNAL = "-wal", "-shm", "-journal"
LEAST_INDEX = 32768  # bytes of a complete index; it is smaller if the disk was full
ERASING_SECONDS = 0.2  # longest wait for others while a log is emptied
UNWRITABLE = (8, 10, 13, 14)  # SQLite's error codes: read-only, input or output, full, cannot open

Version = tuple[int, int, int]


def is_fixed(version: Version) -> bool:
    """Return whether this SQLite has the fix for write-ahead logs: from 3.51.3, 3.50.7 or 3.44.6 on."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0)


def best_sqlite() -> ModuleType:
    """Return Python's sqlite3 if it is fixed, else pysqlite3 if that is fixed, else Python's."""
    if is_fixed(python_sqlite.sqlite_version_info):
        return python_sqlite
    try:
        from pysqlite3 import dbapi2
    except ImportError:  # not installed, or built for another machine
        return python_sqlite
    newer: ModuleType = dbapi2
    return newer if is_fixed(newer.sqlite_version_info) else python_sqlite


if TYPE_CHECKING:
    import sqlite3 as sqlite3
else:
    sqlite3 = best_sqlite()


class NotSharedError(Exception):
    """A file has a write-ahead log that this process cannot share safely."""


def obstacle(path: Path) -> str:
    """Return why this file cannot have a write-ahead log; "" if it can.

    All processes that use a log must share memory, so they must be on one machine.
    """
    if not is_fixed(sqlite3.sqlite_version_info):
        return f"SQLite {sqlite3.sqlite_version} has a bug in such logs; pip install pysqlite3 fixes it"
    return "the file is on a network drive" if is_remote(path) else ""


def journal_mode(path: Path) -> str:
    """Return WAL if this SQLite has the fix and the file is on a local disk; otherwise DELETE."""
    return "DELETE" if obstacle(path) else "WAL"


def connect(path: Path, seconds: float) -> tuple[sqlite3.Connection, bool]:
    """Connect to a file with the right kind of journal; return the connection and whether it is read-only.

    `seconds` is how long it waits for locks. If the disk is full or read-only, an intact file can still be
    read.
    """
    frozen = False
    connection = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    try:
        _choose_journal(connection, path)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in UNWRITABLE or not _is_at_rest(path):
            raise
        # Without an index of the log, read the file as immutable; nobody else has it open.
        frozen, address = True, _address(path, "mode=ro&immutable=1")
        connection = sqlite3.connect(address, isolation_level=None, check_same_thread=False, uri=True)
    except BaseException:
        connection.close()
        raise
    connection.row_factory = sqlite3.Row
    return connection, frozen


def lacks(path: Path, table: str) -> bool:
    """Return whether a file is a readable database without this table; write nothing to it."""
    address = _address(path, "mode=ro&immutable=1" if _is_at_rest(path) else "mode=ro")
    try:
        with closing(sqlite3.connect(address, uri=True)) as connection:
            return not connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchall()
    except sqlite3.Error:
        return False


def _choose_journal(connection: sqlite3.Connection, path: Path) -> None:
    try:
        connection.execute(f"PRAGMA journal_mode={journal_mode(path)}")
    except sqlite3.OperationalError:
        # Keeping a rollback journal is safe; keeping a write-ahead log may not be.
        refuse_log(connection, path)
    connection.execute("PRAGMA schema_version").fetchone()  # the first statement that reads the file


def refuse_log(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file with a write-ahead log by another process, if this process cannot share logs."""
    if (why := obstacle(path)) and keeps_log(connection):
        raise NotSharedError(
            f"another program has a write-ahead log of this file, which cannot be shared safely ({why});"
            " stop that program first"
        )


def keeps_log(connection: sqlite3.Connection) -> bool:
    """Return whether a file currently has a write-ahead log."""
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"


def _is_at_rest(path: Path) -> bool:
    """Return whether a file is complete by itself: no log is in use and nothing must be rolled back."""
    return not any(_size(path, suffix) for suffix in (LOG, JOURNAL)) and _size(path, INDEX) < LEAST_INDEX


def _size(path: Path, suffix: str) -> int:
    with suppress(OSError):
        return path.with_name(path.name + suffix).stat().st_size
    return 0


def _address(path: Path, options: str) -> str:
    return f"{path.absolute().as_uri()}?{options}"


def is_remote(path: Path) -> bool:
    """Return whether a path is on a network file system; False if unknown, as on systems other than Linux."""
    try:
        mounts = [line.split(" ") for line in os.fsdecode(MOUNTS.read_bytes()).splitlines()]
    except OSError:
        return False
    parents = {str(parent) for parent in (path.resolve() / "file").parents}
    # Of two mounts at one place, the later one counts.
    kinds = {_plain(fields[1]): fields[2] for fields in mounts if len(fields) > 2}
    kind = kinds.get(max((place for place in kinds if place in parents), key=len, default=""), "")
    return kind == "fuse" or kind.startswith(NETWORK)


def _plain(place: str) -> str:
    r"""Decode a path as the kernel lists it (a blank is \040)."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place)


class SqliteDatabase:
    """A SQLite file with one connection that threads share."""

    dialect = "sqlite"

    def __init__(self, path: Path) -> None:
        self.place = str(path)
        self._path = path.absolute()
        self._erased = self._path.with_name(f"{path.name}-erased")  # exists: the log may hold erased data
        self._lock = threading.RLock()
        self._inside: _SqliteStatements | None = None  # a transaction of the thread that holds the lock
        self._refused: str | None = None  # why writes are refused
        _keep_private(path)
        with self._explain_errors(""):
            self._connection, self._frozen = connect(path, database.BUSY_SECONDS)
            for pragma in sql.PRAGMAS:
                self._connection.execute(pragma)
        self._may_log = journal_mode(path) == "WAL" and not self._frozen
        self._identity = _identity(path)

    @contextmanager
    def write(self) -> Iterator[Statements]:
        """Start a transaction that may write; no other one runs meanwhile."""
        with self._lock, self._explain_errors("; nothing was recorded"):
            if self._inside is not None:
                yield self._inside
                return
            if self._refused is not None:
                raise self.refuse(self._refused)
            if self._frozen:
                raise StoreError(
                    f"{self.place}: the disk was not writable at the start, so nothing was recorded;"
                    " restart when it is writable"
                )
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                if not self._may_log:
                    refuse_log(self._connection, self._path)
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
        """Refuse to write to a file that was moved or replaced, because the data would be lost."""
        if _identity(self._path) != self._identity:
            raise StoreError(
                f"{self.place}: another file has taken its place, or it is gone; nothing was recorded;"
                " stop the server and start it again"
            )

    @contextmanager
    def read(self) -> Iterator[Statements]:
        """Start statements that only read."""
        with self._lock, self._explain_errors("; nothing was recorded"):
            yield self._inside or _SqliteStatements(self._connection)

    def backup(self, target: Path) -> None:
        """Write a consistent copy of the database to a file."""
        with self._lock, self._explain_errors("; there is no copy"):
            self._connection.execute(sql.BACKUP, {"path": str(target)})

    def kind(self) -> str:
        """Return the version of SQLite, the kind of journal, and why it is not a write-ahead log."""
        if self._frozen:
            return f"SQLite {sqlite3.sqlite_version}, read-only"
        with self._lock, self._explain_errors(""):
            logs = keeps_log(self._connection)
        why = obstacle(self._path)
        journal = "write-ahead log" if logs else "rollback journal" + (f" ({why})" if why else "")
        return f"SQLite {sqlite3.sqlite_version}, {journal}"

    def refuse(self, why: str) -> StoreError:
        """Refuse all further writes with this reason; return the error to raise."""
        self._refused = why
        return StoreError(f"{self.place}: {why}")

    def damage(self) -> list[str]:
        """Return a sentence for each fault in the file."""
        with self.read() as run:
            found = [str(next(iter(dict(row).values()))) for row in run(sql.INTEGRITY)]
        return [f"{self.place}: {problem}" for problem in found if problem != "ok"]

    @contextmanager
    def erase(self) -> Iterator[Statements]:
        """Start a transaction after which the write-ahead log, which may hold old pages, is emptied.

        A marker file is created first, so that neither a crash nor a reader prevents this.
        """
        with self.write() as run:
            if self._may_log:  # inside, so that nobody else removes the marker too early
                try:
                    self._erased.touch()
                except OSError as error:
                    raise StoreError(f"{self._erased}: {error.strerror}; nothing was erased") from error
            yield run
        self._empty_log(ERASING_SECONDS)

    def holds_erased(self) -> bool:
        """Return whether the log may hold erased data."""
        return self._erased.exists()

    def _empty_log(self, seconds: float) -> None:
        """Empty the log if all readers finish in `seconds`, by a connection of its own that blocks nobody."""
        with suppress(StoreError, OSError, sqlite3.Error):
            noted = self._erased.stat().st_mtime_ns
            with self._own_connection(seconds) as own:
                busy = own.execute(sql.EMPTY_LOG).fetchone()[0]
            if not busy and self._erased.stat().st_mtime_ns == noted:  # no other erasure meanwhile
                self._erased.unlink()

    def write_back(self) -> None:
        """Write the log back into the file so that it can restart, without blocking judgments."""
        if not self._may_log:
            return
        self._empty_log(0)
        with (
            self._explain_errors("; the log stays as it is"),
            self._own_connection(database.BUSY_SECONDS) as own,
        ):
            own.execute(sql.WRITE_BACK).fetchall()

    @contextmanager
    def _own_connection(self, seconds: float) -> Iterator[sqlite3.Connection]:
        """Open a separate connection."""
        self._check_place()
        address = f"{self._path.as_uri()}?mode=rw"
        with closing(sqlite3.connect(address, timeout=seconds, isolation_level=None, uri=True)) as own:
            yield own

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._connection.close()
        # The last connection to close a file removes its log.
        with suppress(OSError):
            if not self._path.with_name(f"{self._path.name}{LOG}").exists():
                self._erased.unlink(missing_ok=True)

    @contextmanager
    def _explain_errors(self, therefore: str) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise StoreError(f"{self.place}: the database answered {str(error)!r}{therefore}") from error
        except NotSharedError as error:
            raise StoreError(f"{self.place}: {error}{therefore}") from error


@dataclass(frozen=True, slots=True)
class _SqliteStatements:
    connection: sqlite3.Connection
    known: dict[str, float] = field(default_factory=dict)

    def __call__(self, statement: str, /, **parameters: Any) -> list[Row]:
        return self.connection.execute(statement, parameters).fetchall()

    def expect(self, statement: str, /, **parameters: Any) -> None:
        """Do nothing: a file answers at once."""

    def many(self, statement: str, rows: Sequence[Row]) -> None:
        self.connection.executemany(statement, rows)

    def now(self) -> float:
        return time.time()


def _keep_private(path: Path) -> None:
    """Create a new file that only its owner can read, because it will hold password hashes.

    SQLite gives its journals the same permissions. An existing file keeps its own.
    """
    with suppress(OSError):  # it exists, or SQLite will report the error
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _identity(path: Path) -> tuple[int, int] | None:
    """Return the identity of the file at a path, or None."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None
