"""A server from its start to its end: what it says, and what it leaves when it is stopped."""

from __future__ import annotations

import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx2
import pytest
import uvicorn
from tests.e2e.calling import HEED_SIGNALS
from tests.judge.journals import keep
from tests.judge.test_crash_server import SERVER, signed_in_headers
from tests.judge.web import add_person, make_project

from sounding.judge import app, sqlite
from sounding.judge import serving as address_module
from sounding.judge.project import DATABASE, open_project
from sounding.judge.serving import FILE, last_address
from sounding.judge.sqlite import sqlite3


@pytest.fixture
def folder(sea_reports: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    keep(monkeypatch, "WAL")
    return shutil.copytree(sea_reports, tmp_path / "project")


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of a project in a process of its own, and its address."""
    command = [sys.executable, "-c", HEED_SIGNALS + SERVER, str(folder), "0"]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr is not None
        while (found := re.search(r"(http://\S+) \(Ctrl", server.stderr.readline())) is None:
            assert server.poll() is None
        yield server, found[1]
    finally:
        server.kill()
        server.communicate()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("watched", [False, True])
def test_a_server_that_is_stopped_leaves_one_file_and_calls_nothing_an_error(
    how: signal.Signals, watched: bool, folder: Path
) -> None:
    """Also while somebody looks at the live page, whose stream never ends by itself."""
    with open_project(folder) as project:
        add_person(project, "olga", "organizer")
        [user] = project.store.users()
        headers = signed_in_headers(project, user)
    with served(folder) as (server, address), httpx2.Client(headers=headers, timeout=60) as client:
        if not watched:
            assert client.get(f"{address}/api/live").status_code == 200
            server.send_signal(how)
        else:
            with client.stream("GET", f"{address}/api/live/stream") as answer:
                lines = answer.iter_lines()
                assert next(line for line in lines if line.startswith("data:"))
                server.send_signal(how)
                list(lines)  # it comes to an end
        _, said = server.communicate(timeout=60)
        assert server.returncode == 0
        assert said == ""
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith(DATABASE)) == [DATABASE]


def test_a_second_server_says_that_there_is_one_and_links_go_on_leading_there(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: sockets[0].close())
    with served(folder) as (_, first):
        with open_project(folder) as project:
            app.serve(project, "127.0.0.1", 0)
        said, address = capsys.readouterr().err.splitlines()
        assert said.startswith(f"Another server of this project runs at {first}; links")
        assert first not in address
        assert last_address(folder) == first
    with open_project(folder) as project:  # now that nothing answers there any more
        app.serve(project, "127.0.0.1", 0)
    [address] = capsys.readouterr().err.splitlines()
    assert str(last_address(folder)) in address


@pytest.mark.parametrize("other", ["a project", "something"])
def test_another_server_where_the_project_was_served_last_is_not_taken_for_its_own(
    other: str,
    folder: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: sockets[0].close())
    monkeypatch.setattr(address_module, "ANSWER_SECONDS", 0.2 if other == "something" else 60.0)
    with ExitStack() as stack:
        if other == "something":  # that does not even answer
            place = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()
            first = f"http://127.0.0.1:{place[1]}"
        else:
            make_project(tmp_path / "another").store.close()
            first = stack.enter_context(served(tmp_path / "another" / "project"))[1]
        (folder / FILE).write_text(f"{first}\n")
        with open_project(folder) as project:
            app.serve(project, "127.0.0.1", 0)
    [address] = capsys.readouterr().err.splitlines()
    assert first not in address
    assert str(last_address(folder)) in address


def test_a_server_that_can_record_nothing_says_so_when_it_begins(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: sockets[0].close())
    with open_project(folder) as project:
        shutil.copy(folder / DATABASE, folder / "copy")
        (folder / "copy").replace(folder / DATABASE)
        app.serve(project, "127.0.0.1", 0)
    said, address = capsys.readouterr().err.splitlines()
    assert re.match(r"Nobody can judge: .*judging\.sqlite: another file has taken its place", said)
    assert "http://" in address


def test_a_server_on_a_disk_that_cannot_be_written_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: sockets[0].close())
    monkeypatch.setattr(sqlite, "_choose_journal", read_only)
    with open_project(folder) as project:
        assert project.store.kind().endswith("read-only")
        app.serve(project, "127.0.0.1", 0)
    said, address = capsys.readouterr().err.splitlines()
    assert re.match(r"Nobody can judge: .*judging\.sqlite: the disk was not writable", said)
    assert "http://" in address


def read_only(connection: sqlite3.Connection, _: Path) -> None:
    """As on a disk that is read-only, which cannot be made for somebody who may do everything."""
    connection.execute("PRAGMA query_only=ON")
    connection.execute("PRAGMA user_version=7")


def test_serve_says_which_database_there_is(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sounding.cli import main

    monkeypatch.setattr(uvicorn.Server, "run", lambda _, sockets: sockets[0].close())
    for mode, said in (("WAL", "write-ahead log"), ("DELETE", r"rollback journal \(a test wants it so\)")):
        keep(monkeypatch, mode)
        with pytest.raises(SystemExit):
            main(["judge", "serve", str(folder), "--port", "0"])
        assert re.search(rf"judging\.sqlite: SQLite 3\.[0-9.]+, {said}\n", capsys.readouterr().err)
