"""Which SQLite is used, when it may keep a write-ahead log, and that a change of either loses nothing."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from starlette.testclient import TestClient
from tests.conftest import lacking
from tests.judge.acts import judge
from tests.judge.journals import JOURNALS, keep, reading

from sounding.core.errors import SoundingError
from sounding.judge import app, database, search, sql, sqlite
from sounding.judge.database import StoreError
from sounding.judge.project import DATABASE, open_project
from sounding.judge.store import Store, open_store

SOURCE = Path(sqlite.__file__).parents[1]
OLD, NEW = (3, 40, 1), (3, 53, 4)


def _of(version: tuple[int, int, int]) -> SimpleNamespace:
    """What is asked of SQLite's module about its version."""
    return SimpleNamespace(sqlite_version_info=version, sqlite_version=".".join(map(str, version)))


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
    monkeypatch.setattr(sqlite, "sqlite3", _of(version))
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


def test_a_server_has_one_sqlite() -> None:
    assert search.sqlite3 is sqlite.sqlite3  # type: ignore[attr-defined]
    importing = [path.name for path in (SOURCE / "judge").rglob("*.py") if _takes_sqlite(path.read_text())]
    assert importing == ["sqlite.py"]


@pytest.mark.parametrize(
    "text",
    ["import sqlite3", "import os, sqlite3 as s", "from sqlite3 import connect", "def f():\n  import sqlite3.dbapi2",
     "from pysqlite3 import dbapi2"],
)  # fmt: skip
def test_any_way_to_take_another_sqlite_is_found(text: str) -> None:
    assert _takes_sqlite(text)
    assert not _takes_sqlite("from sounding.judge.sqlite import sqlite3\nfrom sounding.judge import sqlite")


def _takes_sqlite(text: str) -> bool:
    """Whether a module takes a SQLite, its name in whatever form."""
    taken = [
        name
        for node in ast.walk(ast.parse(text))
        for name in (
            [one.name for one in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    ]  # fmt: skip
    return any(name.partition(".")[0] in ("sqlite3", "pysqlite3") for name in taken)


def test_a_full_installation_keeps_a_write_ahead_log(tmp_path: Path) -> None:
    if not sqlite.is_fixed(sqlite.sqlite3.sqlite_version_info):
        lacking("neither Python's SQLite nor pysqlite3 has the fix of the write-ahead log")
    with open_store(tmp_path / "x.sqlite") as store:
        judge(store, "d1", 1, "a")
        assert {path.name for path in tmp_path.iterdir()} >= {"x.sqlite", "x.sqlite-wal"}
    assert [path.name for path in tmp_path.iterdir()] == ["x.sqlite"]


MOUNTS = """/dev/vda / ext4 rw 0 0
proc /proc proc rw 0 0
server:/export /home/far nfs4 rw 0 0
/dev/vdb /home/far/near ext4 rw 0 0
//office/share /mnt/two\\040words cifs rw 0 0
/dev/vdc /data ext4 rw 0 0
me@host: /data fuse.sshfs rw 0 0
/dev/fuse /mnt/plain fuse rw 0 0
server:/a /mnt/back\\134slash nfs rw 0 0
server:/b /mnt/tab\\011and\\043 orangefs rw 0 0
server:/c /mnt/caf\xe9 nfs rw 0 0
an odd line that nobody expects
short
"""


@pytest.mark.parametrize(
    ("path", "remote"),
    [
        ("/home/x.sqlite", False), ("/home/far/x.sqlite", True), ("/home/far", True), ("/home/farther/x", False),
        ("/home/far/deep/down/x", True), ("/home/far/near/x", False), ("/mnt/two words/x", True),
        ("/mnt/two/x", False), ("/data/x", True), ("/home/near/../far/x", True), ("/mnt/plain/x", True),
        ("/mnt/back\\slash/x", True), ("/mnt/tab\tand#/x", True), ("/mnt/caf\udce9/x", True),
    ],
)  # fmt: skip
def test_a_file_on_a_network_is_known_by_its_mount(
    path: str, remote: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mounts").write_bytes(MOUNTS.encode("latin-1"))
    monkeypatch.setattr(sqlite, "MOUNTS", tmp_path / "mounts")
    monkeypatch.setattr(sqlite, "sqlite3", _of(NEW))
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
        keep(monkeypatch, mode)
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
    keep(monkeypatch, "WAL")
    with open_store(tmp_path / "x.sqlite") as store:
        judge(store, "d1", 1, "a")
        keep(monkeypatch, "DELETE")
        with pytest.raises(
            StoreError, match=r"x\.sqlite: another program has a write-ahead log .* \(a test wants"
        ):
            open_store(tmp_path / "x.sqlite")
        assert judge(store, "d2", 1, "b") == 2
        assert store.damage() == []


@pytest.mark.parametrize("mode", JOURNALS)
def test_who_was_erased_is_in_no_file_while_the_server_goes_on(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, mode)

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
    keep(monkeypatch, "WAL")
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
    keep(monkeypatch, "WAL")
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
    keep(monkeypatch, "WAL")
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
    keep(monkeypatch, "WAL")
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


# ---- what others do to the files meanwhile


@pytest.mark.parametrize("mode", JOURNALS)
@pytest.mark.parametrize("there", ["nothing", "a backup"])
def test_nothing_is_acknowledged_into_a_file_that_is_no_longer_there(
    mode: str, there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when somebody goes back to a backup and forgets that the server runs."""
    keep(monkeypatch, mode)
    path = tmp_path / "x.sqlite"
    with open_store(path) as store:
        judge(store, "d1", 1, "a")
        store.backup(tmp_path / "backup")
        for one in tmp_path.glob("x.sqlite*"):
            one.unlink()
        if there == "a backup":
            shutil.copy(tmp_path / "backup", path)
        for _ in range(2):
            with pytest.raises(
                StoreError, match=r"x\.sqlite: (another file|the database answered).*nothing was rec"
            ):
                judge(store, "d2", 1, "b")
    if there == "a backup":
        with open_store(path) as store:
            assert [event.doc for event in store.events()] == ["d1"]
            assert judge(store, "d2", 1, "b") == 2
            assert store.damage() == []


def test_a_process_that_may_not_share_a_log_judges_nothing_once_another_one_has_made_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a server with an older SQLite, when a command of a newer installation has opened the project."""
    keep(monkeypatch, "DELETE")
    with open_store(tmp_path / "x.sqlite") as old:
        judge(old, "d1", 1, "a")
        keep(monkeypatch, "WAL")
        with open_store(tmp_path / "x.sqlite") as new:
            assert "write-ahead log" in new.kind()
            keep(monkeypatch, "DELETE")
            for _ in range(2):
                with pytest.raises(
                    StoreError, match=r"has a write-ahead log .* stop that program first; nothing"
                ):
                    judge(old, "d2", 1, "b")
            old.write_back()  # leaves the log alone
            assert judge(new, "d3", 1, "c") == 2
    with open_store(tmp_path / "x.sqlite") as store:
        assert "rollback journal (a test wants it so)" in store.kind()
        assert [event.doc for event in store.events()] == ["d1", "d3"]
        assert judge(store, "d2", 1, "b") == 3


def test_with_a_rollback_journal_there_is_nothing_to_write_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, "DELETE")
    with open_store(tmp_path / "x.sqlite") as store:
        monkeypatch.setattr(sqlite.sqlite3, "connect", None)  # it would fail
        store.write_back()


# ---- disks that cannot be written

# Reads a project as somebody who can write nothing there, and then judges.
READER = """
import os, resource, signal, sys
from pathlib import Path
from sounding.judge.store import Store, StoreError, open_store
from tests.judge.acts import judge
from tests.judge.journals import as_asked
as_asked()
if sys.argv[2] == "full":
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
elif os.geteuid() == 0:
    os.setuid(65534)  # whom rights concern
with open_store(sys.argv[1]) as store:
    print([event.doc for event in store.events()], len(store.users()), store.damage())
    try:
        judge(store, "d2", 1, "b")
    except StoreError as error:
        print(error)
"""


def read_where(path: Path, disk: str) -> subprocess.CompletedProcess[str]:
    """What somebody reads of a store, and is told, who can write nothing."""
    command = [sys.executable, "-B", "-c", READER, str(path), disk]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def crashed(path: Path, beside: str) -> Path:
    """A store as a crash leaves it now: its file, and what stands beside it."""
    folder = path.parent / "crashed"
    folder.mkdir()
    for suffix in ("", beside):
        shutil.copy(f"{path}{suffix}", folder / f"{path.name}{suffix}")
    return folder / path.name


def check_refused_until_it_can_be_written(path: Path) -> None:
    """Whether nothing is read where nothing can be written, and afterwards what was recorded."""
    done = read_where(path, "full")
    assert "StoreError" in done.stderr
    assert done.stdout == ""
    with open_store(path) as store:
        assert [event.doc for event in store.events()] == ["d1"]
        assert store.damage() == []


@pytest.mark.parametrize("disk", ["full", "read-only"])
@pytest.mark.parametrize("now", JOURNALS)
@pytest.mark.parametrize("before", JOURNALS)
def test_a_project_on_a_disk_that_cannot_be_written_can_be_read(
    before: str, now: str, disk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, before)
    with tempfile.TemporaryDirectory() as name:  # whose parents everybody may enter
        folder, path = Path(name), Path(name) / "x.sqlite"
        with open_store(path) as store:
            judge(store, "d1", 1, "a")
        if disk == "full":
            path.with_name(f"x.sqlite{sqlite.INDEX}").write_bytes(b"\0" * 3)  # as SQLite leaves it there
        else:
            path.chmod(0o444)
            folder.chmod(0o555)
        keep(monkeypatch, now)
        done = read_where(path, disk)
        folder.chmod(0o755)
        assert done.stderr == ""
        read, refused = done.stdout.splitlines()
        assert read == "['d1'] 0 []"
        assert "x.sqlite" in refused
        assert "nothing was recorded" in refused
        with open_store(path) as store:
            assert [event.doc for event in store.events()] == ["d1"]


def test_what_is_only_in_the_log_is_not_passed_over_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a crash the log holds judgments that the file lacks: reading the file alone would hide them."""
    keep(monkeypatch, "WAL")
    with open_store(tmp_path / "x.sqlite") as store:
        store.write_back()
        judge(store, "d1", 1, "a")
        left = crashed(tmp_path / "x.sqlite", sqlite.LOG)
    check_refused_until_it_can_be_written(left)


def test_a_transaction_that_was_cut_off_is_not_taken_for_recorded_where_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has pages of it, and the journal beside it undoes them as soon as something can be written."""
    keep(monkeypatch, "DELETE")
    with open_store(tmp_path / "x.sqlite") as store:
        judge(store, "d1", 1, "a")
    with closing(sqlite.sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)) as writing:
        writing.execute("PRAGMA cache_size=2")
        writing.execute("BEGIN IMMEDIATE")
        for number in range(50):  # more than it keeps in memory
            writing.execute("INSERT INTO setting VALUES (?, ?)", (f"s{number}", "y" * 3000))
        left = crashed(tmp_path / "x.sqlite", sqlite.JOURNAL)
        writing.execute("ROLLBACK")
    check_refused_until_it_can_be_written(left)


@pytest.mark.parametrize("mode", JOURNALS)
def test_a_file_that_is_locked_is_not_taken_for_one_that_can_only_be_read(
    mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, "DELETE")
    open_store(tmp_path / "x.sqlite").close()
    keep(monkeypatch, mode)
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.1)
    with closing(sqlite.sqlite3.connect(tmp_path / "x.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(StoreError, match="locked"):
            open_store(tmp_path / "x.sqlite")
    with open_store(tmp_path / "x.sqlite") as store:
        assert judge(store, "d1", 1, "a") == 1


# ---- erasing


@pytest.fixture
def jane(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Store, int]]:
    """A store with a write-ahead log, and somebody in it."""
    keep(monkeypatch, "WAL")
    with open_store(tmp_path / "x.sqlite") as store:
        yield store, store.add_user("Jane Doe", "assessor", "her hash").id


def told_of_jane(folder: Path) -> bool:
    return b"Jane Doe" in b"".join(path.read_bytes() for path in folder.iterdir())


def test_who_is_erased_while_somebody_reads_is_gone_when_the_reader_is(
    jane: tuple[Store, int], tmp_path: Path
) -> None:
    store, number = jane
    with reading(tmp_path / "x.sqlite"):
        begun = time.monotonic()
        assert store.erase_user(number).erased
        assert time.monotonic() - begun < database.BUSY_SECONDS
        assert store.holds_erased()
        assert told_of_jane(tmp_path)  # or the test shows nothing
        store.write_back()
        assert store.holds_erased()
    store.write_back()
    assert not store.holds_erased()
    assert not told_of_jane(tmp_path)


def test_what_a_crash_kept_from_leaving_the_log_leaves_it_later(
    jane: tuple[Store, int], tmp_path: Path
) -> None:
    store, number = jane
    crashed = tmp_path / "crashed"
    with reading(tmp_path / "x.sqlite"):
        store.erase_user(number)
        shutil.copytree(tmp_path, crashed, ignore=shutil.ignore_patterns("crashed", f"*{sqlite.INDEX}"))
    assert told_of_jane(crashed)
    with open_store(crashed / "x.sqlite") as again:
        assert again.holds_erased()
        again.write_back()
        assert not again.holds_erased()
        assert not told_of_jane(crashed)


def test_the_last_one_to_close_the_file_takes_the_log_with_it(
    jane: tuple[Store, int], tmp_path: Path
) -> None:
    store, number = jane
    with reading(tmp_path / "x.sqlite"):
        store.erase_user(number)
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["x.sqlite"]
    assert not told_of_jane(tmp_path)


def test_an_erasure_that_was_recorded_is_not_called_unrecorded_because_the_log_could_not_be_emptied(
    jane: tuple[Store, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, number = jane
    monkeypatch.setattr(sql, "EMPTY_LOG", "SELECT * FROM no_such_table")  # as a disk that fails just then
    assert store.erase_user(number).erased
    assert store.holds_erased()
    monkeypatch.undo()
    keep(monkeypatch, "WAL")
    store.write_back()
    assert not store.holds_erased()


def test_the_last_organizer_is_not_erased_and_nothing_is_left_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, "WAL")
    with open_store(tmp_path / "x.sqlite") as store:
        olga = store.add_user("olga", "organizer", "hash")
        with pytest.raises(SoundingError):
            store.erase_user(olga.id)
        store.write_back()
        assert not store.holds_erased()


def test_a_log_that_was_emptied_before_an_erasure_ended_is_emptied_again(
    jane: tuple[Store, int], tmp_path: Path
) -> None:
    """The server tidies up while a command is in the middle of erasing somebody."""
    store, number = jane
    with open_store(tmp_path / "x.sqlite") as server:
        with store.together():
            store.erase_user(number)
            assert server.holds_erased()
            server.write_back()
            assert server.holds_erased()
        assert told_of_jane(tmp_path)
        server.write_back()
        assert not server.holds_erased()
        assert not told_of_jane(tmp_path)
