"""The SQLite that judging uses, and whether it may keep a write-ahead log.

With such a log a judgment waits for the disk once, with a rollback journal four times. SQLite up to 3.51.2
had a fault that could lose pages of the log, and many a Python comes with one of those: then pysqlite3, which
brings a newer SQLite, is taken where it is installed. A process has one of the two: both together would not
see each other's locks.
"""

from __future__ import annotations

import sqlite3 as python_sqlite
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

MOUNTS = Path("/proc/self/mounts")
NETWORK = (
    "9p", "afs", "beegfs", "ceph", "cifs", "davfs", "fuse.", "gfs", "glusterfs", "gpfs", "lustre", "nfs",
    "ocfs2", "prl_fs", "smb", "vboxsf", "virtiofs", "vmhgfs",
)  # fmt: skip  # how the names of file systems begin that other machines may write to

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


def journal_mode(path: Path) -> str:
    """WAL where this SQLite has the fix and the file is on a disk of this machine; else DELETE.

    A write-ahead log needs memory that all its processes share, which those of two machines do not.
    """
    return "WAL" if is_fixed(sqlite3.sqlite_version_info) and not is_remote(path) else "DELETE"


def is_remote(path: Path) -> bool:
    """Whether a file system of a network holds a path; where nothing says so (not on Linux), it does not."""
    try:
        mounts = [line.split(" ") for line in MOUNTS.read_text("utf-8", "replace").splitlines()]
    except OSError:
        return False
    parents = {str(parent) for parent in (path.resolve() / "file").parents}
    # Of two on one place the later holds.
    kinds = {fields[1].replace("\\040", " "): fields[2] for fields in mounts if len(fields) > 2}
    holding = max((place for place in kinds if place in parents), key=len, default="")
    return kinds.get(holding, "").startswith(NETWORK)


if TYPE_CHECKING:
    import sqlite3 as sqlite3
else:
    sqlite3 = best_sqlite()
