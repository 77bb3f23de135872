"""What a test has SQLite do: the kind of journal that it keeps, another program that reads."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from sounding.judge import sqlite
from sounding.judge.sqlite import sqlite3

JOURNALS = ("WAL", "DELETE")
REASON = "a test wants it so"
GIVEN = "SOUNDING_TEST_JOURNAL"  # to the processes that a test starts


def keep(patch: pytest.MonkeyPatch, mode: str) -> None:
    """Have this process keep this kind of journal, and those that call `as_asked`."""
    patch.setattr(sqlite, "obstacle", lambda _: REASON if mode == "DELETE" else "")
    patch.setenv(GIVEN, mode)


def as_asked() -> None:
    """Keep the kind of journal that the process which started this one keeps, where a test chose it."""
    if mode := os.environ.get(GIVEN):
        keep(pytest.MonkeyPatch(), mode)


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Another program is in the middle of reading, as `backup` and `verify` are."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM event").fetchall()
        yield
