"""Which SQLite is used, when it may keep a write-ahead log, and that a change of either loses nothing."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from starlette.testclient import TestClient
from tests.conftest import lacking
from tests.judging.acts import judge

from sounding.errors import SoundingError
from sounding.judging import app, database, search, sqlite
from sounding.judging.project import DATABASE, open_project
from sounding.judging.store import StoreError, open_store

SOURCE = Path(sqlite.__file__).parents[1]
OLD, NEW = (3, 40, 1), (3, 53, 4)


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ((3, 40, 1), False), ((3, 44, 5), False), ((3, 44, 6), True), ((3, 45, 0), False),
        ((3, 50, 6), False), ((3, 50, 7), True), ((3, 51, 0), False), ((3, 51, 2), False),
        ((3, 51, 3), True), ((3, 54, 1), True),
    ],
)  # fmt: skip
def test_wal_is_used_only_where_sqlite_has_the_fix(
    version: tuple[int, int, int], fixed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "MOUNTS", tmp_path / "no such file")
    monkeypatch.setattr(sqlite, "sqlite3", SimpleNamespace(sqlite_version_info=version))
    assert sqlite.is_fixed(version) == fixed
    assert sqlite.journal_mode(tmp_path / "x.sqlite") == ("WAL" if fixed else "DELETE")


@pytest.mark.parametrize(
    ("pythons", "installed", "taken"),
    [(NEW, OLD, "python"), (NEW, None, "python"), (OLD, NEW, "pysqlite3"), (OLD, OLD, "python"), (OLD, None, "python")],
)  # fmt: skip
def test_the_newer_sqlite_is_taken_where_pythons_has_the_fault(
    pythons: tuple[int, int, int],
    installed: tuple[int, int, int] | None,
    taken: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = SimpleNamespace(sqlite_version_info=pythons)
    package, other = ModuleType("pysqlite3"), SimpleNamespace(sqlite_version_info=installed)
    package.dbapi2 = other  # type: ignore[attr-defined]
    monkeypatch.setattr(sqlite, "python_sqlite", own)
    monkeypatch.setitem(sys.modules, "pysqlite3", package if installed else None)
    found: object = sqlite.best_sqlite()
    assert found is {"python": own, "pysqlite3": other}[taken]


def test_a_process_has_one_sqlite() -> None:
    assert database.sqlite3 is search.sqlite3 is sqlite.sqlite3  # type: ignore[attr-defined]
    importing = [path for path in SOURCE.rglob("*.py") if "import sqlite3" in path.read_text().splitlines()]
    assert importing == []


def test_a_full_installation_keeps_a_write_ahead_log(tmp_path: Path) -> None:
    if not sqlite.is_fixed(sqlite.sqlite3.sqlite_version_info):
        lacking("neither Python's SQLite nor pysqlite3 has the fix of the write-ahead log")
    with open_store(tmp_path / "x.sqlite") as store:
        judge(store, "d1", 1, "a")
        assert {path.name for path in tmp_path.iterdir()} >= {"x.sqlite", "x.sqlite-wal"}
    assert [path.name for path in tmp_path.iterdir()] == ["x.sqlite"]


MOUNTS = r"""/dev/vda / ext4 rw 0 0
proc /proc proc rw 0 0
server:/export /home/far nfs4 rw 0 0
/dev/vdb /home/far/near ext4 rw 0 0
//office/share /mnt/two\040words cifs rw 0 0
/dev/vdc /data ext4 rw 0 0
me@host: /data fuse.sshfs rw 0 0
an odd line that nobody expects
short
"""


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("/home/x.sqlite", False), ("/home/far/x.sqlite", True), ("/home/far", True), ("/home/farther/x", False),
        ("/home/far/deep/down/x", True), ("/home/far/near/x", False), ("/mnt/two words/x", True),
        ("/mnt/two/x", False), ("/data/x", True), ("/home/near/../far/x", True),
    ],
)  # fmt: skip
def test_a_file_on_a_network_is_known_by_its_mount(
    path: str, remote: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_text(MOUNTS)
    monkeypatch.setattr(sqlite, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(sqlite, "sqlite3", SimpleNamespace(sqlite_version_info=NEW))
    assert sqlite.is_remote(Path(path)) == remote
    assert sqlite.journal_mode(Path(path)) == ("DELETE" if remote else "WAL")


def test_where_nothing_tells_of_mounts_a_file_is_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "MOUNTS", tmp_path / "no such file")
    assert not sqlite.is_remote(tmp_path / "x")


@pytest.mark.parametrize("modes", [("DELETE", "WAL", "DELETE"), ("WAL", "DELETE", "WAL")])
def test_a_project_goes_on_where_the_kind_of_journal_changes(
    modes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when pysqlite3 is installed, or taken away, or the folder is moved to a disk of a network."""
    for number, mode in enumerate(modes):
        monkeypatch.setattr(sqlite, "journal_mode", lambda _, mode=mode: mode)
        with open_store(tmp_path / "x.sqlite") as store:
            with store._database.read() as run:
                assert dict(run("PRAGMA journal_mode")[0]) == {"journal_mode": mode.lower()}
            judge(store, f"d{number}", 1, f"k{number}")
            assert [event.doc for event in store.events()] == [f"d{one}" for one in range(number + 1)]
            assert store.damage() == []


def test_a_process_that_may_not_share_the_log_is_refused_while_another_one_has_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when a program with an older SQLite opens a project that is being served."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(sqlite, "journal_mode", lambda _: "WAL")
    with open_store(tmp_path / "x.sqlite") as store:
        judge(store, "d1", 1, "a")
        monkeypatch.setattr(sqlite, "journal_mode", lambda _: "DELETE")
        with pytest.raises(StoreError, match=r"x\.sqlite: the database answered 'database is locked'"):
            open_store(tmp_path / "x.sqlite")
        assert judge(store, "d2", 1, "b") == 2
        assert store.damage() == []


@pytest.mark.parametrize("mode", ["DELETE", "WAL"])
def test_who_was_erased_is_in_no_file_while_the_server_goes_on(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "journal_mode", lambda _: mode)

    def told() -> set[bytes]:
        files = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        return {secret for secret in (b"Jane Doe", b"her hash", b"her browser") if secret in files}

    with open_store(tmp_path / "x.sqlite") as store:
        for number in range(40):  # others around, so that pages are shared
            store.add_user(f"somebody {number}", "assessor", "hash")
        user = store.add_user("Jane Doe", "assessor", "her hash")
        store.add_sign_in(user.id, "cookie", time.time() + 60, "her browser")
        assert len(told()) == 3
        store.erase_user(user.id)
        assert told() == set()


def test_a_backup_takes_the_place_of_what_a_crash_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As the documentation has it: whatever begins with the name goes, or the old log would be written into it."""
    monkeypatch.setattr(sqlite, "journal_mode", lambda _: "WAL")
    crashed = tmp_path / "crashed"
    crashed.mkdir()
    with open_store(tmp_path / "x.sqlite") as store:
        judge(store, "d1", 1, "a")
        store.backup(tmp_path / "monday")
        judge(store, "d2", 1, "b")
        for path in tmp_path.glob("x.sqlite*"):
            shutil.copy(path, crashed / path.name)
    left = sorted(crashed.glob("x.sqlite*"))
    assert [path.name for path in left] == ["x.sqlite", "x.sqlite-shm", "x.sqlite-wal"]
    for path in left:
        path.unlink()
    shutil.copy(tmp_path / "monday", crashed / "x.sqlite")
    with open_store(crashed / "x.sqlite") as store:
        assert [event.doc for event in store.events()] == ["d1"]
        assert store.damage() == []
        assert judge(store, "d3", 1, "c") == 2


def test_the_log_is_written_back_while_people_judge_and_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "journal_mode", lambda _: "WAL")
    log = tmp_path / "x.sqlite-wal"
    with open_store(tmp_path / "x.sqlite") as store:
        sizes = []
        for number in range(60):
            judge(store, f"d{number}", 1, f"k{number}")
            sizes.append(log.stat().st_size)
            if number >= 20:
                store.write_back()
        assert sizes[20] > sizes[0]
        assert sizes[59] == sizes[20]  # what is written back is written over
        copy = tmp_path / "copy.sqlite"
        shutil.copy(tmp_path / "x.sqlite", copy)  # without the log
    with open_store(copy) as written:
        assert [event.doc for event in written.events()] == [f"d{number}" for number in range(60)]


def test_writing_back_waits_for_nobody_and_nobody_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody is in the middle of a judgment in this process; another one reads."""
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    monkeypatch.setattr(sqlite, "journal_mode", lambda _: "WAL")
    with open_store(tmp_path / "x.sqlite") as store, open_store(tmp_path / "x.sqlite") as other:
        judge(store, "d1", 1, "a")
        with store.together():
            judge(store, "d2", 1, "b")
            writing = threading.Thread(target=store.write_back)
            writing.start()
            writing.join()  # not kept by the transaction of this thread
            assert [event.doc for event in other.events()] == ["d1"]
        assert [event.doc for event in other.events()] == ["d1", "d2"]


def test_writing_back_makes_no_file_where_there_is_none(tmp_path: Path) -> None:
    with open_store(tmp_path / "x.sqlite") as store:
        judge(store, "d1", 1, "a")
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(StoreError, match=r"x\.sqlite"):
            store.write_back()
        assert list(tmp_path.iterdir()) == []


def test_a_server_writes_its_log_back(
    sea_reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "journal_mode", lambda _: "WAL")
    monkeypatch.setattr(app, "WRITE_BACK_SECONDS", 0.01)
    folder = shutil.copytree(sea_reports, tmp_path / "project")

    def written() -> list[str | None]:
        """What a copy of the file alone has."""
        shutil.copy(folder / DATABASE, tmp_path / "copy")
        with suppress(SoundingError), open_store(tmp_path / "copy") as copy:
            return [event.doc for event in copy.events() if event.kind == "judge"]
        return []  # it was being written just then

    with open_project(folder) as project, TestClient(app.create_app(project)):
        judge(project.store, "d1", 1, "a")
        end = time.monotonic() + 60
        while written() != ["d1"]:
            assert time.monotonic() < end, "never written back"
            time.sleep(0.01)
