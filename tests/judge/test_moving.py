"""A project moves to PostgreSQL and back: nothing is lost, also by a server that still runs on the old database."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.e2e.calling import Call, caller, check_refused
from tests.judge.databases import Server
from tests.judge.web import Browser, add_person, signed_in

from sounding.core.errors import DataError
from sounding.judge import moving, store
from sounding.judge.database import StoreError
from sounding.judge.export_kinds import EXPORT_KINDS
from sounding.judge.exports import EXPORTS
from sounding.judge.moving import move_project
from sounding.judge.project import DATABASE, FILE, Project, invite, open_project
from sounding.judge.serving import remember_address
from sounding.judge.sqlite import sqlite3
from sounding.judge.verify import verify


@pytest.fixture
def folder(sea_reports: Path, tmp_path: Path) -> Path:
    """A project in which everything has happened that leaves something behind."""
    target = shutil.copytree(sea_reports, tmp_path / "project")
    with open_project(target) as project:
        for name in ("ann", "bob"):
            add_person(project, name, topics=("MB001", "303"))
        add_person(project, "olga", "organizer")
        invite(project.store, project.store.add_user("new ☂", "assessor"), "invitation")
        ann = signed_in(project, "ann")
        for number in range(6):
            [doc] = [one["doc"] for one in ann.get("/api/next?topic=MB001&count=1").json()["documents"]]
            grading = {"topic": "MB001", "doc": doc, "grade": number % 3, "key": f"key-{number}-long"}
            assert ann.send("/api/judge", grading | {"comment": "é\n☂", "active": 1 / 3}).status_code == 200
            if number == 2:
                ann.send("/api/withdraw", {"topic": "MB001", "key": "withdrawn-1"})
        ann.get("/api/search", params={"topic": "MB001", "query": "whales"})
        ann.send("/api/skip", {"topic": "303", "doc": "d05", "key": "skipped-long"})
        project.engine.judge("assessor-2", "MB001", "d01", 0, key="of-another")
    return target


def test_everything_moves_to_postgresql_and_back(folder: Path, url: str) -> None:
    with open_project(folder) as project:
        before = exported(project)
        people = project.store.users()
    there = move_project(folder, url)
    with open_project(folder) as project:
        assert project.store.kind().startswith("PostgreSQL")
        assert exported(project) == before
        assert project.store.users() == people
        assert verify(project).problems == ()
        assert signed_in(project, "ann").send(
            "/api/judge", {"topic": "MB001", "doc": "d09", "grade": 1, "key": "in-postgresql"}
        ).status_code == 200  # fmt: skip
        after = exported(project)
    assert (folder / FILE).stat().st_mode & 0o777 == 0o600
    (folder / DATABASE).rename(folder / "old.sqlite")
    back = move_project(folder, "sqlite")
    assert back.events == there.events + 1
    assert {path.name for path in folder.iterdir() if path.name.startswith(DATABASE)} == {DATABASE}
    assert (folder / DATABASE).stat().st_mode & 0o777 == 0o600
    with open_project(folder) as project:
        assert exported(project) == after
        assert verify(project).problems == ()


def exported(project: Project) -> dict[str, list[str]]:
    return {name: list(EXPORTS[name](project.store)) for name in EXPORT_KINDS}


def test_a_server_that_still_runs_on_the_old_database_acknowledges_nothing(folder: Path, url: str) -> None:
    old = open_project(folder)
    ann, olga = signed_in(old, "ann"), signed_in(old, "olga")
    grading = {"topic": "MB001", "doc": "d20", "grade": 1, "key": "too-late-long"}
    move_project(folder, url)
    answer = ann.send("/api/judge", grading)
    assert answer.status_code == 503
    for act in ("/organize/people/add", "/organize/status"):
        said = olga.post(act, name="x", role="assessor", topic="MB001", status="dropped")
        assert said.status_code == 503
        assert "moved to another database" in said.text
    old.store.close()
    with open_project(folder) as project:  # the page sends it again, with the session that it had
        again = Browser(project)
        again.client.cookies = ann.client.cookies
        again.get("/account")
        assert again.send("/api/judge", grading).status_code == 200
        [event] = [one for one in project.store.events() if one.key == grading["key"]]
        assert event.doc == "d20"


def test_a_move_that_fails_changes_nothing(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch, postgresql: Server
) -> None:
    with open_project(folder) as project:
        before = exported(project)
    for module, name in (
        (store, "_plain"),
        (moving, "snapshot"),
        (moving, "replay_log"),
        (store.Store, "retire"),
    ):
        kept = getattr(module, name)
        calls = 0

        def fails(*given: object, kept: object = kept, name: str = name) -> object:
            nonlocal calls
            calls += 1
            if calls > (60 if name == "_plain" else 1 if name in ("snapshot", "replay_log") else 0):
                raise OSError("the cable was pulled")
            return kept(*given)  # type: ignore[operator]

        target = postgresql.fresh()
        with monkeypatch.context() as patched:
            patched.setattr(module, name, fails)
            with pytest.raises((OSError, StoreError)):
                move_project(folder, target)
        with open_project(folder) as project:
            assert "SQLite" in project.store.kind()
            assert exported(project) == before
            project.store.check_writable()
        postgresql.drop(target)


def test_a_move_to_a_file_that_fails_leaves_no_file(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    move_project(folder, url)
    (folder / DATABASE).unlink()
    with monkeypatch.context() as patched:
        patched.setattr(moving, "snapshot", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            move_project(folder, "sqlite")
    assert not list(folder.glob(f"{DATABASE}*"))
    with open_project(folder) as project:
        project.store.check_writable()


def test_a_move_that_was_interrupted_after_the_copy_is_completed(
    folder: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the commit of the copy and its use: nothing can be judged, nothing is lost, the next try works."""
    with open_project(folder) as project:
        before = exported(project)
    with monkeypatch.context() as patched:
        patched.setattr(moving, "_use", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            move_project(folder, url)
    with open_project(folder) as project:
        assert exported(project) == before
        with pytest.raises(StoreError, match="has moved"):
            project.engine.judge("assessor-1", "MB001", "d30", 1, key="between-long")
    move_project(folder, url)
    with open_project(folder) as project:
        assert project.store.kind().startswith("PostgreSQL")
        assert exported(project) == before
        project.store.check_writable()
    move_project(folder, "sqlite")  # back to the file, which is as it was
    with open_project(folder) as project:
        project.engine.judge("assessor-1", "MB001", "d31", 1, key="afterwards-long")
        assert verify(project).problems == ()
    with pytest.raises(DataError, match="another project, or an older state"):
        move_project(folder, url)


def test_a_copy_that_differs_is_not_used(folder: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = store._plain
    with monkeypatch.context() as patched:
        # The write of a comment loses its line end; the comparison reads both sides as they are.
        patched.setattr(
            store,
            "_plain",
            lambda row: {**kept(row), **({"comment": "é"} if "comment" in [*row.keys()] else {})},
        )
        patched.setattr(store, "zip_longest", lambda one, other: ((page, [*page, {}]) for page in one))
        with pytest.raises(StoreError, match="the copy of the table event differs; nothing was moved"):
            move_project(folder, url)
    with open_project(folder) as project:
        assert "SQLite" in project.store.kind()


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys, "judge")


def test_targets_that_cannot_be_are_refused(folder: Path, call: Call, url: str) -> None:
    for target, why in (
        ("sqlite", "the project is there already"),
        ("mysql://x/y", "expected an address such as postgresql://"),
        ("postgresql://a b/c", "contains blanks"),
    ):
        check_refused(call("move", str(folder), "--database", target), 1, why)
    assert json.loads((folder / FILE).read_text())["database"] == DATABASE
    status, out, said = call("move", str(folder), "--database", url)
    assert (status, out) == (0, "")
    assert "the replay is the same" in said
    check_refused(call("move", str(folder), "--database", url), 1, "the project is there already")
    with sqlite3.connect(folder / DATABASE) as old, pytest.raises(sqlite3.Error, match="has moved"):
        old.execute("INSERT INTO setting VALUES ('a', 'b')")


def test_a_running_server_is_named(
    folder: Path, call: Call, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    remember_address(folder, "http://127.0.0.1:9")
    monkeypatch.setattr(moving, "answering", lambda *_: "http://127.0.0.1:9")
    check_refused(
        call("move", str(folder), "--database", url), 1, "the server at http://127.0.0.1:9 uses this project"
    )
