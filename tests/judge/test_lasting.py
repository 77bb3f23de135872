"""What a browser knows an account by: the same for as long as the account is there, and nobody else's."""

from __future__ import annotations

import shutil
from pathlib import Path

from fastapi.testclient import TestClient
from tests.judge.web import add_person, make_project

from sounding.judge.app import create_app
from sounding.judge.project import Project, open_project
from sounding.judge.web import Context


def lasting(project: Project, name: str) -> str:
    context: Context = create_app(project).state.context
    return context.lasting(project.store.user_by_name(name))


def test_an_account_keeps_its_id_through_restarts_renamings_and_backups(tmp_path: Path) -> None:
    with make_project(tmp_path / "here") as project:
        add_person(project, "ann")
        before = lasting(project, "ann")
        project.engine.judge("assessor-1", "MB001", "d05", 1, key="some-key")
        project.store.backup(tmp_path / "copy.sqlite")
        folder = project.folder
    with open_project(folder) as project:
        assert lasting(project, "ann") == before
    shutil.copytree(folder, tmp_path / "elsewhere")
    shutil.copy(tmp_path / "copy.sqlite", tmp_path / "elsewhere" / "judging.sqlite")
    with open_project(tmp_path / "elsewhere") as project:
        assert lasting(project, "ann") == before


def test_no_two_accounts_have_the_same_id(tmp_path: Path) -> None:
    found = []
    with make_project(tmp_path / "one") as project:
        add_person(project, "ann")
        shutil.copytree(project.folder, tmp_path / "branch")  # two projects that were one
        add_person(project, "bob")
        found += [lasting(project, "ann"), lasting(project, "bob")]
    with open_project(tmp_path / "branch") as project:
        assert add_person(project, "eve") == "assessor-2"
        found.append(lasting(project, "eve"))
    with make_project(tmp_path / "two") as project:
        assert add_person(project, "zoe") == "assessor-1"
        found.append(lasting(project, "zoe"))
    assert len(set(found)) == len(found) == 4


def test_a_guest_has_no_id(tmp_path: Path) -> None:
    with make_project(tmp_path / "one") as project, TestClient(create_app(project)) as client:
        assert client.get("/api/token").json()["lasting"] == ""
