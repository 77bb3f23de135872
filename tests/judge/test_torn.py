"""Power that fails between two writes, and connections that are cut: what was acknowledged stays, whole."""

from __future__ import annotations

import random
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from tests.judge.databases import USER, Server
from tests.judge.journals import keep
from tests.judge.small import begin, found_by, found_by_replay

from sounding.judge.database import StoreError
from sounding.judge.engine import Engine
from sounding.judge.postgresql import PostgresDatabase
from sounding.judge.records import Receipt, Submission
from sounding.judge.sqlite import sqlite3
from sounding.judge.store import Store, open_store

if TYPE_CHECKING:
    import psycopg

ROUNDS = 25


def submit(store: Store, number: int) -> None:
    """A judgment that fills a page of its own."""
    given = Submission(
        assessor="a", topic="7", doc=f"d{number}", grade=1, key=f"k{number}", comment=f"{number}" * 3000
    )
    store.judge(given)


def whole(path: Path) -> int:
    """How many judgments a database has after it was opened again; each must be as it was sent."""
    with open_store(path) as store:
        assert store.damage() == []
        events = [event for event in store.events() if event.kind == "judge"]
        for number, event in enumerate(events):
            assert (event.doc, event.key, event.comment) == (f"d{number}", f"k{number}", f"{number}" * 3000)
        assert len(store.standing()) == len(events)
    return len(events)


def spoilt(path: Path, begin_at: int, rng: random.Random) -> None:
    """Cut a file somewhere behind a place, or turn bits around there."""
    content = bytearray(path.read_bytes())
    cut = rng.randint(begin_at, len(content))
    if rng.random() < 0.5:
        path.write_bytes(content[:cut])
    else:
        for _ in range(rng.randint(1, 40)):
            place = rng.randrange(cut, len(content)) if cut < len(content) else len(content) - 1
            content[place] ^= 1 << rng.randrange(8) if place >= begin_at else 0
        path.write_bytes(content)


def copied(source: Path, folder: Path) -> Path:
    folder.mkdir()
    for path in source.parent.glob(f"{source.name}*"):
        shutil.copy(path, folder / path.name)
    return folder / source.name


def test_a_torn_write_ahead_log_loses_only_what_was_not_acknowledged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(monkeypatch, "WAL")
    path = tmp_path / "judging.sqlite"
    ends = []  # of the log on the disk when each judgment was acknowledged
    with open_store(path) as store:
        for number in range(12):
            submit(store, number)
            ends.append(Path(f"{path}-wal").stat().st_size)
        copied(path, tmp_path / "image")
    assert ends == sorted(set(ends))
    rng = random.Random(4)
    for number in range(ROUNDS):
        image = copied(tmp_path / "image" / path.name, tmp_path / f"round-{number}")
        sure = rng.randrange(len(ends))  # judgments up to this one had reached the disk
        spoilt(Path(f"{image}-wal"), ends[sure], rng)
        assert sure + 1 <= whole(image) <= len(ends)


def test_power_that_fails_while_the_log_is_written_back_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some pages are written into the file and some are not; the log is whole, and has begun anew before."""
    keep(monkeypatch, "WAL")
    path, page = tmp_path / "judging.sqlite", 4096
    with open_store(path) as store:
        for number in range(12):
            submit(store, number)
        store.write_back()
        for number in range(12, 18):  # over the beginning of the log; what is behind is of before
            submit(store, number)
        image = copied(path, tmp_path / "image")
        store.write_back()
        after = path.read_bytes()
    before = image.read_bytes()
    assert len(before) < len(after)
    rng = random.Random(6)
    for number in range(ROUNDS):
        torn = copied(image, tmp_path / f"round-{number}")
        end = page * rng.randint(len(before) // page, len(after) // page)
        written = bytearray(after[:end])
        for place in range(0, len(before), page):
            if rng.random() < 0.5:
                written[place : place + page] = before[place : place + page]
        torn.write_bytes(written)
        assert whole(torn) == 18


def test_a_torn_database_is_put_right_by_its_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A transaction so large that its pages were written to the file before it ended, and then the power failed."""
    keep(monkeypatch, "DELETE")
    path = tmp_path / "judging.sqlite"
    with open_store(path) as store:
        for number in range(6):
            submit(store, number)
    before = path.stat().st_size
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size=5")
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE setting SET value = value || 'x'")
    connection.execute("CREATE TABLE filler (text TEXT)")
    for _ in range(300):
        connection.execute("INSERT INTO filler VALUES (?)", ("y" * 3000,))
    connection.execute("DROP TRIGGER event_delete")
    connection.execute("DELETE FROM event")
    copied(path, tmp_path / "image")
    connection.execute("ROLLBACK")
    connection.close()
    written = (tmp_path / "image" / path.name).read_bytes()
    assert len(written) > before  # the file was changed before the transaction ended
    rng = random.Random(5)
    for number in range(ROUNDS):
        image = copied(tmp_path / "image" / path.name, tmp_path / f"round-{number}")
        spoilt(image, before, rng)  # what the transaction added may have been written in part
        assert whole(image) == 6


def test_without_its_journal_a_torn_database_is_found_out(tmp_path: Path) -> None:
    """The same image without the file that puts it right: the check must notice."""
    path = tmp_path / "judging.sqlite"
    with open_store(path) as store:
        for number in range(6):
            submit(store, number)
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    path.write_bytes(content)
    with pytest.raises((AssertionError, StoreError)):
        whole(path)


class Proxy:
    """Between a client and the server; cuts the line at some words, before or after they are passed on."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.cut: str | None = None
        self.words = b""
        self._mute = False  # what the server says is not passed on
        self._answered = threading.Event()
        self._target = str(server / ".s.PGSQL.5432")
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / ".s.PGSQL.5432"))
        self._listening.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                for one, other, watched in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass_on, args=(one, other, watched), daemon=True).start()

    def _pass_until_answered(self, source: socket.socket, target: socket.socket) -> None:
        """What belongs to the words may come a moment later; the server answers when all of it is there."""
        source.settimeout(0.05)
        end = time.monotonic() + 60
        while not self._answered.is_set() and time.monotonic() < end:
            with suppress(TimeoutError):
                target.sendall(source.recv(65536))

    def _pass_on(self, source: socket.socket, target: socket.socket, watched: bool) -> None:
        with suppress(OSError):
            while content := source.recv(65536):
                if watched and self.cut is not None and self.words in content:
                    if self.cut == "after":
                        self._answered.clear()
                        self._mute = True
                        target.sendall(content)
                        self._pass_until_answered(source, target)
                    self.cut, self._mute = None, False
                    break
                if not watched and self._mute:
                    self._answered.set()
                else:
                    target.sendall(content)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextmanager
def through_a_proxy(server: Server, folder: Path) -> Iterator[tuple[Proxy, str]]:
    url = server.fresh()
    proxy = Proxy(folder, server.folder)
    try:
        name = url.removeprefix("postgresql:///").partition("?")[0]
        yield proxy, f"postgresql:///{name}?host={folder}&user={USER}"
    finally:
        proxy.close()
        server.drop(url)


@pytest.mark.parametrize(
    ("cut", "words"),
    [("before", b"COMMIT\0"), ("after", b"COMMIT\0"), ("before", b"DELETE FROM lease")],
    ids=["before the end", "after the end", "within"],
)
def test_a_line_that_is_cut_in_or_at_the_end_of_a_transaction_leaves_one_judgment(
    cut: str, words: bytes, postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    connected = PostgresDatabase._connect

    def spelled_out(own: PostgresDatabase, *given: str) -> psycopg.Connection[dict[str, Any]]:
        connection = connected(own, *given)
        connection.prepare_threshold = None  # so that the proxy can read every statement
        return connection

    monkeypatch.setattr(PostgresDatabase, "_connect", spelled_out)
    folder = Path("/tmp") / f"cut-{uuid4().hex[:8]}"  # the address of a socket must be short
    folder.mkdir()
    try:
        with through_a_proxy(postgresql, folder) as (proxy, url), open_store(url) as store:
            engine = begin(store)
            for number in range(4):
                [lease] = engine.next("ann", "MB001")
                key = f"key-{number}"

                def act(doc: str = lease.doc, key: str = key) -> Receipt:
                    return engine.judge("ann", "MB001", doc, 1, key=key)

                proxy.cut, proxy.words = cut, words
                with pytest.raises(StoreError):
                    engine.and_next(act, "ann", "MB001", 1)
                receipt, _ = engine.and_next(act, "ann", "MB001", 1)
                assert receipt is not None
                assert receipt.repeated == (cut == "after")
                assert len(store.standing()) == number + 1
            assert found_by(engine, store) == found_by_replay(store) == found_by(Engine(store), store)
    finally:
        shutil.rmtree(folder)
