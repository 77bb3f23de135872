"""A PostgreSQL server of our own for the tests: in a folder that is thrown away, on a socket in it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import pytest
from tests.conftest import lacking, require

USER = "postgres"
CLOCKS = ("sqlite._SqliteStatements", "postgresql._ReadStatements", "postgresql._Transaction")


def set_clocks(patch: pytest.MonkeyPatch, now: Callable[[], float]) -> None:
    """Have all databases believe that it is this late."""
    for clock in CLOCKS:
        patch.setattr(f"sounding.judge.{clock}.now", lambda _: now())


class Server:
    """A running server."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def url(self, name: str) -> str:
        return f"postgresql:///{name}?host={self.folder}&user={USER}"

    def fresh(self, copied: str | None = None) -> str:
        """The address of a new database: an empty one, or a copy of another that nobody is connected to."""
        psycopg = require("psycopg")
        name = f"judging_{uuid4().hex}"
        template = "template0" if copied is None else _name(copied)
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
        return self.url(name)

    def drop(self, url: str) -> None:
        with require("psycopg").connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {_name(url)} WITH (FORCE)")

    def control(self, *arguments: str) -> None:
        _run("pg_ctl", "-D", str(self.folder / "data"), "-w", *arguments)


@contextmanager
def running_server(*, fsync: bool = False) -> Iterator[Server]:
    """A server; without `fsync` it does not wait for the disk, which is faster and survives what tests do.

    What then survives is the end of a process, and not that of the machine: tests of durability want it.
    """
    require("psycopg")
    if shutil.which("postgres") is None or shutil.which("initdb") is None:
        lacking("no PostgreSQL server on the PATH")
    folder = Path(tempfile.mkdtemp(prefix="sounding-pg-"))
    if os.geteuid() == 0:  # the server refuses to run as root
        shutil.chown(folder, USER)
    server = Server(folder)
    try:
        data = str(folder / "data")
        _run("initdb", "-D", data, "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8")
        options = (
            f"-c fsync={'on' if fsync else 'off'} -c listen_addresses=''"
            f" -c unix_socket_directories={folder} -c max_connections=150"
        )
        _run("pg_ctl", "-D", data, "-w", "-l", str(folder / "log"), "-o", options, "start")
        yield server
    finally:
        server.control("stop", "-m", "immediate")
        shutil.rmtree(folder, ignore_errors=True)


def _name(url: str) -> str:
    return url.removeprefix("postgresql:///").partition("?")[0]


def _run(*command: str) -> None:
    user = USER if os.geteuid() == 0 else None
    subprocess.run(
        command,
        user=user,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={"PATH": os.environ["PATH"]},
    )
