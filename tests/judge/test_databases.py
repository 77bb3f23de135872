"""The two databases: what survives, what is said where something fails, and backups."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import lacking
from tests.judge.acts import judge
from tests.judge.databases import Server

from sounding.core.errors import DataError
from sounding.judge import database, sqlite
from sounding.judge.database import StoreError, shown_url
from sounding.judge.sqlite import journal_mode
from sounding.judge.store import Store, open_store


def test_sqlite_is_set_to_survive_a_power_loss(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with open_store(path) as store, store._database.read() as run:
        found = {
            name: next(iter(dict(run(f"PRAGMA {name}")[0]).values()))
            for name in ("synchronous", "foreign_keys", "journal_mode", "busy_timeout")
        }
    expected = journal_mode(path).lower()
    assert found == {"synchronous": 2, "foreign_keys": 1, "journal_mode": expected, "busy_timeout": 5000}


def test_every_acknowledged_judgment_waits_for_the_disk(tmp_path: Path) -> None:
    if shutil.which("strace") is None:
        lacking("strace is not installed")
    code = (
        "import sys; from sounding.judge.records import Submission; from sounding.judge.store import open_store\n"
        "store = open_store(sys.argv[1])\n"
        "for n in range(20): store.judge(Submission(assessor='a', topic='t', doc=f'd{n}', grade=1, key=f'k{n}'))\n"
    )
    open_store(tmp_path / "x.sqlite").close()
    done = subprocess.run(
        ["strace", "-f", "-c", "-e", "trace=fsync,fdatasync", sys.executable, "-c", code, str(tmp_path / "x.sqlite")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    calls = sum(
        int(line.split()[3]) for line in done.stderr.splitlines() if line.endswith(("fsync", "fdatasync"))
    )
    assert calls >= 20


def test_passwords_in_addresses_are_not_shown() -> None:
    assert shown_url("postgresql://me:se:cret@host/db") == "postgresql://me@host/db"


def test_a_read_only_file_gives_one_clear_error_and_nothing_is_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with open_store(path) as store:
        judge(store, "d1", 1, "a")
        with store._database.write() as run:
            run("PRAGMA user_version=1")
        store._database.close()
        reopened = sqlite.SqliteDatabase(path)
        reopened._connection.execute("PRAGMA query_only=ON")
        spoilt = Store(reopened)
        with pytest.raises(StoreError, match=r"readonly database.*nothing was recorded"):
            judge(spoilt, "d2", 1, "b")
        reopened._connection.execute("PRAGMA query_only=OFF")
        assert [event.doc for event in spoilt.events()] == ["d1"]
        assert judge(spoilt, "d2", 1, "b") == 2
        spoilt.close()


def test_a_full_disk_gives_one_clear_error_and_judging_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """The file may not grow (RLIMIT_FSIZE), as on a full disk; the child prints what it was told."""
    code = """
import resource, sys
from sounding.judge.database import StoreError
from sounding.judge.records import Submission
from sounding.judge.store import open_store
store = open_store(sys.argv[1])
def judge(n):
    return store.judge(Submission(assessor='a', topic='t', doc=f'd{n}', grade=1, key=f'k{n}', comment='x' * 20000))
judge(0)
import os
resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize(sys.argv[1]) + 40000, resource.RLIM_INFINITY))
refused = 0
acknowledged = [0]
for n in range(1, 12):
    try:
        judge(n)
        acknowledged.append(n)
    except StoreError as error:
        assert '\\n' not in str(error)
        refused += 1
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
judge(99)
acknowledged.append(99)
print(refused, *acknowledged)
"""
    path = str(tmp_path / "x.sqlite")
    done = subprocess.run([sys.executable, "-B", "-c", code, path], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    refused, *acknowledged = map(int, done.stdout.split())
    assert refused > 5
    with open_store(path) as store:
        assert [event.doc for event in store.events()] == [f"d{n}" for n in acknowledged]
        assert store.damage() == []


def test_a_locked_database_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.05)
    path = tmp_path / "x.sqlite"
    with open_store(path) as store, open_store(path) as other:
        with other._database.write(), pytest.raises(StoreError, match="database is locked"):
            judge(store, "d", 1, "k")
        assert judge(store, "d", 1, "k") == 1


def test_a_server_that_goes_away_costs_nothing_that_was_acknowledged(postgresql: Server) -> None:
    url = postgresql.fresh()
    with open_store(url) as store:
        judge(store, "d1", 1, "a")
        postgresql.control("stop", "-m", "immediate")
        with pytest.raises(StoreError, match=r"cannot be reached .*; nothing was recorded"):
            judge(store, "d2", 1, "b")
        postgresql.control(
            "-l",
            str(postgresql.folder / "log"),
            "-o",
            f"-c listen_addresses='' -c unix_socket_directories={postgresql.folder} -c max_connections=150",
            "start",
        )
        assert judge(store, "d2", 1, "b") == 2
        assert [event.doc for event in store.events()] == ["d1", "d2"]
    postgresql.drop(url)


def test_no_server_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="postgresql://"):
        open_store(f"postgresql:///x?host={tmp_path}&user=postgres")


def test_a_backup_is_a_whole_copy_and_never_overwrites(
    store: Store, place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    judge(store, "d1", 1, "a")
    target = tmp_path / "copy"
    if place.startswith("postgresql") and shutil.which("pg_dump") is None:
        lacking("pg_dump is not installed")
    store.backup(target)
    with pytest.raises(DataError, match="there is a file already"):
        store.backup(target)
    if not place.startswith("postgresql"):
        restored(str(target), store)
        return
    server: Server = request.getfixturevalue("postgresql")
    url = server.fresh()
    done = subprocess.run(
        ["pg_restore", "--exit-on-error", f"--dbname={url}", str(target)], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    restored(url, store)
    server.drop(url)


def restored(place: str, original: Store) -> None:
    """A copy has what the original has, goes on where it was, and guards its log as well."""
    with open_store(place) as copy:
        assert list(copy.events()) == list(original.events())
        assert copy.damage() == []
        assert judge(copy, "d2", 0, "b") == original.last_sequence() + 1
        with pytest.raises(StoreError), copy._database.write() as run:
            run("DELETE FROM event")
