"""SQLite: which one judging uses, whether it may keep a write-ahead log, and the database in a file.

With such a log a judgment waits for the disk once, with a rollback journal four times. SQLite up to 3.51.2
had a fault that could lose pages of the log, and many a Python comes with one of those: then pysqlite3, which
brings a newer SQLite, is taken where it is installed. A process has one of the two: both together would not
see each other's locks.
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
)  # fmt: skip  # how the names of file systems begin that other machines may write to
# What SQLite adds to a name for the log, for what processes share of it, and for what undoes a transaction.
LOG, INDEX, JOURNAL = "-wal", "-shm", "-journal"
LEAST_INDEX = 32768  # bytes of what processes share; less is left where a disk was full
ERASING_SECONDS = 0.2  # that everybody may have to wait while a log is emptied
UNWRITABLE = (8, 10, 13, 14)  # what SQLite answers there: read-only, input or output, full, cannot open

Version = tuple[int, int, int]


def is_fixed(version: Version) -> bool:
    """Whether this SQLite loses nothing of a write-ahead log: 3.51.3, 3.50.7 and 3.44.6 of their lines."""
    return version >= (3, 51, 3) or (3, 50, 7) <= version < (3, 51, 0) or (3, 44, 6) <= version < (3, 45, 0)


def best_sqlite() -> ModuleType:
    """Python's SQLite where that one is fixed, else pysqlite3 where that one is, else Python's."""
    if is_fixed(python_sqlite.sqlite_version_info):
        return python_sqlite
    try:
        from pysqlite3 import dbapi2
    except ImportError:  # not installed, or made for another machine
        return python_sqlite
    newer: ModuleType = dbapi2
    return newer if is_fixed(newer.sqlite_version_info) else python_sqlite


if TYPE_CHECKING:
    import sqlite3 as sqlite3
else:
    sqlite3 = best_sqlite()


class NotSharedError(Exception):
    """A file has a write-ahead log that this process is not to share."""


def obstacle(path: Path) -> str:
    """Return why no write-ahead log is kept here; empty: one is.

    A log needs memory that all its processes share, which those of two machines do not.
    """
    if not is_fixed(sqlite3.sqlite_version_info):
        return f"SQLite {sqlite3.sqlite_version} has a fault with such logs; pip install pysqlite3 mends it"
    return "the file is on a disk of a network" if is_remote(path) else ""


def journal_mode(path: Path) -> str:
    """WAL where this SQLite has the fix and the file is on a disk of this machine; else DELETE."""
    return "DELETE" if obstacle(path) else "WAL"


def connect(path: Path, seconds: float) -> tuple[sqlite3.Connection, bool]:
    """A connection to a file, with the kind of journal that is right here. It waits so long for others.

    Where nothing can be written (a disk that is full, or read-only), a whole file can still be read: whether
    it can only be read is returned as well.
    """
    frozen = False
    connection = sqlite3.connect(path, timeout=seconds, isolation_level=None, check_same_thread=False)
    try:
        _choose_journal(connection, path)
    except sqlite3.OperationalError as error:
        connection.close()
        if error.sqlite_errorcode & 0xFF not in UNWRITABLE or not _is_at_rest(path):
            raise
        # Whoever can make no index of the log reads the file alone; nobody else has it open.
        frozen, address = True, _address(path, "mode=ro&immutable=1")
        connection = sqlite3.connect(address, isolation_level=None, check_same_thread=False, uri=True)
    except BaseException:
        connection.close()
        raise
    connection.row_factory = sqlite3.Row
    return connection, frozen


def lacks(path: Path, table: str) -> bool:
    """Return whether a file can be read as a database, and has no such table. Nothing is written to it."""
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
        # A rollback journal that cannot be given up is as safe; a log that cannot may not be.
        refuse_log(connection, path)
    connection.execute("PRAGMA schema_version").fetchone()  # that it can be read shows only now


def refuse_log(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that another process has given a write-ahead log, where this one is not to keep any."""
    if (why := obstacle(path)) and keeps_log(connection):
        raise NotSharedError(
            f"another program keeps a write-ahead log of this file, which is not to be shared here ({why});"
            " stop that program first"
        )


def keeps_log(connection: sqlite3.Connection) -> bool:
    """Return whether a file has a write-ahead log now."""
    return str(connection.execute("PRAGMA journal_mode").fetchone()[0]) == "wal"


def _is_at_rest(path: Path) -> bool:
    """Whether a file holds all that was recorded, and nothing else: nobody uses a log, or is to roll back."""
    return not any(_size(path, suffix) for suffix in (LOG, JOURNAL)) and _size(path, INDEX) < LEAST_INDEX


def _size(path: Path, suffix: str) -> int:
    with suppress(OSError):
        return path.with_name(path.name + suffix).stat().st_size
    return 0


def _address(path: Path, options: str) -> str:
    return f"{path.absolute().as_uri()}?{options}"


def is_remote(path: Path) -> bool:
    """Whether a file system of a network holds a path; where nothing says so (not on Linux), it does not."""
    try:
        mounts = [line.split(" ") for line in os.fsdecode(MOUNTS.read_bytes()).splitlines()]
    except OSError:
        return False
    parents = {str(parent) for parent in (path.resolve() / "file").parents}
    # Of two on one place the later holds.
    kinds = {_plain(fields[1]): fields[2] for fields in mounts if len(fields) > 2}
    kind = kinds.get(max((place for place in kinds if place in parents), key=len, default=""), "")
    return kind == "fuse" or kind.startswith(NETWORK)


def _plain(place: str) -> str:
    r"""A place as the kernel lists it (a blank is \040), as it is."""
    return re.sub(r"\\([0-7]{3})", lambda found: chr(int(found[1], 8)), place)


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
        with self._explain_errors(""):
            self._connection, self._frozen = connect(path, database.BUSY_SECONDS)
            for pragma in sql.PRAGMAS:
                self._connection.execute(pragma)
        self._may_log = journal_mode(path) == "WAL" and not self._frozen
        self._identity = _identity(path)

    @contextmanager
    def write(self) -> Iterator[Statements]:
        """A transaction that may change something; no other one runs meanwhile."""
        with self._lock, self._explain_errors("; nothing was recorded"):
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
        """Refuse to go on with a file that is no longer there: what is written to it would be lost."""
        if _identity(self._path) != self._identity:
            raise StoreError(
                f"{self.place}: another file has taken its place, or it is gone; nothing was recorded;"
                " stop the server and start it again"
            )

    @contextmanager
    def read(self) -> Iterator[Statements]:
        """Statements that change nothing."""
        with self._lock, self._explain_errors("; nothing was recorded"):
            yield self._inside or _SqliteStatements(self._connection)

    def backup(self, target: Path) -> None:
        """Write a copy of everything as it stands at one moment."""
        with self._lock, self._explain_errors("; there is no copy"):
            self._connection.execute(sql.BACKUP, {"path": str(target)})

    def kind(self) -> str:
        """The version of SQLite, its kind of journal, and why that is not a write-ahead log."""
        if self._frozen:
            return f"SQLite {sqlite3.sqlite_version}, to be read only"
        with self._lock, self._explain_errors(""):
            logs = keeps_log(self._connection)
        why = obstacle(self._path)
        journal = "write-ahead log" if logs else "rollback journal" + (f" ({why})" if why else "")
        return f"SQLite {sqlite3.sqlite_version}, {journal}"

    def refuse(self, why: str) -> StoreError:
        """Record nothing from now on."""
        self._refused = why
        return StoreError(f"{self.place}: {why}")

    def damage(self) -> list[str]:
        """Return what is wrong with the file, a sentence each."""
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
        """Return whether the log may hold what was erased."""
        return self._erased.exists()

    def _empty_log(self, seconds: float) -> None:
        """Empty the log where nobody reads in it for so long, by a connection that no thread waits for."""
        with suppress(StoreError, OSError, sqlite3.Error):
            noted = self._erased.stat().st_mtime_ns
            with self._own_connection(seconds) as own:
                busy = own.execute(sql.EMPTY_LOG).fetchone()[0]
            if not busy and self._erased.stat().st_mtime_ns == noted:  # nobody has erased more meanwhile
                self._erased.unlink()

    def write_back(self) -> None:
        """Write what the log holds into the file, so that it can begin anew; no judgment waits for that."""
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
    """Return which file stands at a path; None: none does."""
    with suppress(OSError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None
