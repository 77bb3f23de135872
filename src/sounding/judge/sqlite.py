"""The SQLite that judging uses, how it opens a file, and whether it may keep a write-ahead log there.

With such a log a judgment waits for the disk once, with a rollback journal four times. SQLite up to 3.51.2
had a fault that could lose pages of the log, and many a Python comes with one of those: then pysqlite3, which
brings a newer SQLite, is taken where it is installed. A process has one of the two: both together would not
see each other's locks.
"""

from __future__ import annotations

import os
import re
import sqlite3 as python_sqlite
from contextlib import closing, suppress
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, NamedTuple

MOUNTS = Path("/proc/self/mounts")
NETWORK = (
    "9p", "afs", "beegfs", "ceph", "cifs", "coda", "davfs", "drvfs", "fhgfs", "fuse.", "gfs", "glusterfs",
    "gpfs", "lustre", "ncpfs", "nfs", "ocfs2", "orangefs", "panfs", "prl_fs", "pvfs2", "smb", "vboxsf",
    "virtiofs", "vmhgfs", "wekafs",
)  # fmt: skip  # how the names of file systems begin that other machines may write to
# What SQLite adds to a name for the log, for what processes share of it, and for what undoes a transaction.
LOG, INDEX, JOURNAL = "-wal", "-shm", "-journal"
LEAST_INDEX = 32768  # bytes of what processes share; less is left where a disk was full
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


class NotSharedError(Exception):
    """A file has a write-ahead log that this process is not to share."""


def obstacle(path: Path) -> str:
    """Why no write-ahead log is kept here; empty: one is.

    A log needs memory that all its processes share, which those of two machines do not.
    """
    if not is_fixed(sqlite3.sqlite_version_info):
        return f"SQLite {sqlite3.sqlite_version} has a fault with such logs; pip install pysqlite3 mends it"
    return "the file is on a disk of a network" if is_remote(path) else ""


def journal_mode(path: Path) -> str:
    """WAL where this SQLite has the fix and the file is on a disk of this machine; else DELETE."""
    return "DELETE" if obstacle(path) else "WAL"


class Opened(NamedTuple):
    """A connection to a file."""

    connection: sqlite3.Connection
    frozen: bool = False  # whether it can only be read, as it is now


def connect(path: Path, seconds: float) -> Opened:
    """A connection to a file, with the kind of journal that is right here. It waits so long for others.

    Where nothing can be written (a disk that is full, or read-only), a whole file can still be read.
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
    return Opened(connection, frozen)


def lacks(path: Path, table: str) -> bool:
    """Whether a file can be read as a database, and has no such table. Nothing is written to it."""
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
    """Whether a file has a write-ahead log now."""
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


if TYPE_CHECKING:
    import sqlite3 as sqlite3
else:
    sqlite3 = best_sqlite()
