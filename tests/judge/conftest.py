"""Stores on both databases, and a small project that every test may spoil."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.judge.databases import Server, running_server
from tests.judge.journals import JOURNALS, keep
from tests.judge.web import Browser, add_person, make_project, signed_in

from sounding.judge.project import FILE, Project, open_project
from sounding.judge.store import Store, open_store


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    with running_server() as server:
        yield server


@pytest.fixture
def url(postgresql: Server) -> Iterator[str]:
    """The address of an empty database."""
    address = postgresql.fresh()
    yield address
    postgresql.drop(address)


# Which databases a module is tried on. Journals matter where transactions are tested, and the server where
# statements are; pages and commands only ever meet a store, so that one database is enough for them.
EVERYWHERE = {
    "test_before_the_lock", "test_databases", "test_leases", "test_locks", "test_opening", "test_replay",
    "test_store", "test_taken_back", "test_undo",
}  # fmt: skip
STATEMENTS = {
    "test_exports",
    "test_late_runs",
    "test_people",
    "test_preferences",
    "test_subtopics",
    "test_topic_status",
    "test_topics",
    "test_unseen",
}
PAGES = {"test_locks", "test_organizer_pages", "test_problems"}  # whose project is on either database


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    module = metafunc.module.__name__.rpartition(".")[2]
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    own = hasattr(metafunc.module, "place") or any("place" in names for names in given)
    if "place" in metafunc.fixturenames and not own:
        server = ["postgresql"] if module in EVERYWHERE | STATEMENTS else []
        journals = JOURNALS if module in EVERYWHERE else JOURNALS[:1]
        metafunc.parametrize("place", [*journals, *server], indirect=True)
    if "project" in metafunc.fixturenames and module in PAGES:
        metafunc.parametrize("project", ["sqlite", "postgresql"], indirect=True)


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Where a new database can be: a path, with either kind of journal, or an address."""
    if request.param != "postgresql":
        keep(monkeypatch, request.param)
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


@pytest.fixture(scope="session")
def sea_reports_elsewhere(
    tmp_path_factory: pytest.TempPathFactory, postgresql: Server
) -> Iterator[tuple[Path, str]]:
    """The same with PostgreSQL: the folder, and the address of a database that others are copies of."""
    url = postgresql.fresh()
    with make_project(tmp_path_factory.mktemp("sea"), database=url) as project:
        folder = project.folder
    yield folder, url
    postgresql.drop(url)


@pytest.fixture
def project(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Project]:
    """A small project of one's own, with SQLite unless the test asks for PostgreSQL."""
    folder = tmp_path / "project"
    if getattr(request, "param", "sqlite") == "sqlite":
        shutil.copytree(request.getfixturevalue("sea_reports"), folder)
        with open_project(folder) as opened:
            yield opened
        return
    source, template = request.getfixturevalue("sea_reports_elsewhere")
    server: Server = request.getfixturevalue("postgresql")
    shutil.copytree(source, folder)
    url = server.fresh(template)
    record = json.loads((folder / FILE).read_text())
    (folder / FILE).write_text(json.dumps({**record, "database": url}))
    with open_project(folder) as opened:
        yield opened
    server.drop(url)


@pytest.fixture
def olga(project: Project) -> Browser:
    """The organizer of a project with two assessors."""
    add_person(project, "ann", topics=("MB001",))
    add_person(project, "bob", topics=("MB001",))
    add_person(project, "olga", "organizer")
    return signed_in(project, "olga")
