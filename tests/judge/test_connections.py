"""Slow, idle and too many connections, each on a socket of its own against a real server."""

from __future__ import annotations

import logging
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import pytest
import uvicorn

from sounding.judge import connections
from sounding.judge.app import create_app
from sounding.judge.connections import limited
from sounding.judge.project import Project

PATIENCE = 20.0
ASKED = b"GET /sign-in HTTP/1.1\r\nHost: x\r\n\r\n"
FORM = b"POST /sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 300\r\n\r\n"
JSON = (
    b"POST /api/sign-in HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 300\r\n\r\n"
)


class Site:
    """A server that allows few connections, and little time for a request."""

    def __init__(self, project: Project, most: int) -> None:
        self.place = socket.create_server(("127.0.0.1", 0))
        self.kind = limited(most)
        config = uvicorn.Config(create_app(project), log_level="error", http=self.kind)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, args=([self.place],), daemon=True)
        self.thread.start()

    def reach(self, sent: bytes = b"") -> socket.socket:
        made = socket.create_connection(self.place.getsockname()[:2], timeout=PATIENCE)
        made.sendall(sent)
        return made

    def stop(self) -> None:
        self.server.should_exit = True
        self.thread.join(PATIENCE)


@pytest.fixture
def site(project: Project, monkeypatch: pytest.MonkeyPatch, request: Any) -> Iterator[Site]:
    for name in ("HEAD_SECONDS", "BODY_SECONDS", "UNREAD_SECONDS"):
        monkeypatch.setattr(connections, name, 0.5)
    made = Site(project, getattr(request, "param", 50))
    yield made
    made.stop()


def answer(made: socket.socket) -> bytes:
    """Everything until the server closes the connection."""
    with made:
        parts = []
        with suppress(ConnectionResetError):
            while part := made.recv(65_536):
                parts.append(part)
        return b"".join(parts)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", b""),
        (b"GET /sign-in HTTP/1.1\r\nHost:", b"HTTP/1.1 408 "),
        (FORM + b"name=", b"HTTP/1.1 408 "),
        (JSON + b"{", b"HTTP/1.1 408 "),
    ],
)
def test_a_request_that_stops_halfway_is_cut_off(site: Site, sent: bytes, status: bytes) -> None:
    begun = time.monotonic()
    assert answer(site.reach(sent)).startswith(status)
    assert 0.3 < time.monotonic() - begun < 10


@pytest.mark.parametrize("head", [b"GET /sign-in HTTP/1.1\r\n", FORM, JSON])
def test_one_byte_at_a_time_does_not_stop_the_clock(site: Site, head: bytes) -> None:
    made, begun = site.reach(head), time.monotonic()
    with suppress(ConnectionError):
        while time.monotonic() - begun < PATIENCE:
            made.sendall(b"x")
            time.sleep(0.05)
    assert time.monotonic() - begun < 10
    made.close()


def test_the_clock_runs_for_each_request_of_a_connection(site: Site) -> None:
    made = site.reach(ASKED)
    assert b"200 OK" in made.recv(65_536)
    time.sleep(0.8)  # longer than a request may take: nothing was begun
    made.sendall(ASKED)
    time.sleep(0.2)
    made.sendall(b"GET /sign-in HT")
    seen = answer(made)
    assert b"HTTP/1.1 200" in seen
    assert seen.rpartition(b"HTTP/1.1 ")[2].startswith(b"408")


def test_a_body_may_take_longer_if_it_keeps_coming(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "SLOWEST", 50)  # bytes a second
    made = site.reach(FORM)
    for _ in range(10):
        made.sendall(b"x" * 30)
        time.sleep(0.1)
    assert b"HTTP/1.1 403" in made.recv(65_536)  # it lacks the token of a page
    made.close()


def test_headers_have_a_most(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60.0)
    made, sent = site.reach(b"GET /sign-in HTTP/1.1\r\n"), 0
    with suppress(ConnectionError):
        while sent < 10_000_000:
            made.sendall(b"X-A: " + b"x" * 9000 + b"\r\n")
            sent += 9000
            time.sleep(0.002)
    assert 60_000 < sent < 1_000_000
    made.close()


def test_a_client_that_does_not_read_is_cut_off(project: Project, site: Site) -> None:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(site.place.getsockname()[:2])
    made.settimeout(0.2)
    with suppress(OSError):
        for _ in range(20_000):
            made.sendall(b"GET /static/sounding.css HTTP/1.1\r\nHost: x\r\n\r\n")
    deadline = time.monotonic() + PATIENCE
    while site.kind.room.open:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    made.close()


def test_a_client_that_leaves_in_the_middle_of_a_form_is_no_error(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.reach(FORM + b"name=").close()
    deadline = time.monotonic() + PATIENCE
    time.sleep(0.1)
    while site.kind.room.open or site.server.server_state.tasks:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert not caplog.records


@pytest.mark.parametrize("site", [8], indirect=True)
@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nHost:", ASKED])
def test_connections_without_a_request_keep_nobody_out(
    site: Site, sent: bytes, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "HEAD_SECONDS", 60.0)
    with ExitStack() as stack, caplog.at_level(logging.WARNING, "sounding.judge"):
        for _ in range(30):
            held = stack.enter_context(site.reach(sent))
            if sent == ASKED:
                held.recv(100)
        made = stack.enter_context(site.reach(ASKED))
        assert b"200 OK" in made.recv(65_536)
        assert len(site.kind.room.open) <= 8
    warned = [one for one in caplog.messages if "connections are in use" in one]
    assert len(warned) == 1  # not one for each
    assert warned[0].startswith("8 of 8 connections are in use")


@pytest.mark.parametrize("site", [4], indirect=True)
def test_beyond_the_most_connections_at_work_a_new_one_is_refused(
    site: Site, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 5.0)
    with ExitStack() as stack:
        busy = [stack.enter_context(site.reach(FORM)) for _ in range(4)]
        deadline = time.monotonic() + PATIENCE
        while site.kind.room.waiting or len(site.kind.room.open) < 4:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert answer(site.reach(ASKED)).startswith(b"HTTP/1.1 503 ")
        busy[0].sendall(b"x" * 300)
        assert b"HTTP/1.1 403" in busy[0].recv(65_536)
        made = stack.enter_context(site.reach(ASKED))
        assert b"200 OK" in made.recv(65_536)


def test_as_many_connections_as_the_system_has_files_for() -> None:
    """In a process of its own, since the limit of files is the process's."""
    code = """
import resource, sys
from sounding.judge.connections import available_connections
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])))
print(available_connections(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
    for soft, hard, given in ((256, 512, "384 512"), (100, 100, "25 100"), (1024, 9000, "4000 4128")):
        done = subprocess.run(
            [sys.executable, "-c", code, str(soft), str(hard)], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == given.split()
