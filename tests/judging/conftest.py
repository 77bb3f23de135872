"""Stores on both databases, and a small project that every test may spoil."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.judging.databases import Server, running_server
from tests.judging.web import make_project

from sounding.judging.project import Project, open_project
from sounding.judging.store import Store, open_store


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new database can be: a path, or an address."""
    if request.param == "sqlite":
        yield str(tmp_path / "judging.sqlite")
        return
    server: Server = request.getfixturevalue("postgresql")
    url = server.fresh()
    yield url
    server.drop(url)


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with open_store(place) as opened:
        yield opened


@pytest.fixture(scope="session")
def sea_reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small project that nobody changes."""
    with make_project(tmp_path_factory.mktemp("sea")) as project:
        return project.folder


@pytest.fixture
def project(sea_reports: Path, tmp_path: Path) -> Iterator[Project]:
    """A small project of one's own."""
    shutil.copytree(sea_reports, tmp_path / "project")
    with open_project(tmp_path / "project") as opened:
        yield opened


@pytest.fixture(params=["sqlite", "postgresql"])
def either_project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """A small project of one's own on each of the databases."""
    if request.param == "sqlite":
        yield request.getfixturevalue("project")
        return
    server: Server = request.getfixturevalue("postgresql")
    url = server.fresh()
    with make_project(tmp_path, database=url) as made:
        yield made
    server.drop(url)
