"""The judgments of another project's log, such as that of a laptop without a network."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.e2e.calling import Call, caller, check_refused
from tests.judge.web import add_person

from sounding.judge.exports import EXPORTS
from sounding.judge.project import Project, open_project
from sounding.judge.verify import verify


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    return caller(capsys, "judge")


@pytest.fixture
def other(sea_reports: Path, tmp_path: Path) -> Path:
    """Another project with the same topics, in which two people judged, changed and withdrew."""
    folder = shutil.copytree(sea_reports, tmp_path / "other")
    with open_project(folder) as project:
        for name in ("ann", "bob"):
            add_person(project, name, topics=("MB001",))
        judge = project.engine.judge
        judge("assessor-1", "MB001", "d10", 0, key="first-long", comment="é\n", active=2.5, away=0.5)
        judge("assessor-1", "MB001", "d10", 2, key="changed-long", active=1.0)
        judge("assessor-1", "MB001", "d11", 1, key="withdrawn-long")
        project.engine.withdraw("assessor-1", "MB001", "d11", key="withdrawal-long")
        judge("assessor-2", "MB001", "d10", None, key="cannot-long", comment="empty")
    return folder


def exported(folder: Path, target: Path) -> Path:
    with open_project(folder) as project:
        target.write_text("".join(EXPORTS["log"](project.store)), encoding="utf-8")
    return target


def grades(project: Project) -> dict[tuple[str, str], object]:
    return {
        (one.assessor, one.doc): (one.grade, one.comment, one.active, one.away, one.selection.policy)
        for one in project.store.standing()
    }


def test_what_stands_in_the_log_is_added_once(
    project: Project, other: Path, call: Call, tmp_path: Path
) -> None:
    log, folder = exported(other, tmp_path / "train.jsonl"), str(project.folder)
    status, out, said = call("import", folder, "--log", str(log))
    assert (status, out) == (0, "")
    assert "2 judgments, 2 new or changed" in said
    ann, bob = "import-train.jsonl-assessor-1", "import-train.jsonl-assessor-2"
    assert grades(project) == {
        (ann, "d10"): (2, "", 1.0, None, "import"),
        (bob, "d10"): (None, "empty", None, None, "import"),
    }
    before = project.store.last_sequence()
    assert "0 new or changed" in call("import", folder, "--log", str(log))[2]
    with open_project(other) as more:  # people go on judging there
        more.engine.judge("assessor-1", "MB001", "d10", 1, key="once-more-long")
        more.engine.judge("assessor-1", "MB001", "d12", 0, key="another-long")
    assert "3 judgments, 2 new or changed" in call("import", folder, "--log", str(exported(other, log)))[2]
    assert grades(project)[ann, "d10"] == (1, "", None, None, "import")
    assert project.store.last_sequence() >= before + 2
    project.engine.catch_up()
    assert verify(project).problems == ()


def test_another_log_of_the_same_name_is_refused(
    project: Project, other: Path, call: Call, tmp_path: Path
) -> None:
    log, folder = exported(other, tmp_path / "train.jsonl"), str(project.folder)
    call("import", folder, "--log", str(log))
    before = project.store.last_sequence()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for one in lines:
        if one["assessor"] == "assessor-1" and one["kind"] == "judge":
            one["grade"] = 1
    log.write_text("".join(json.dumps(one) + "\n" for one in lines))
    check_refused(
        call("import", folder, "--log", str(log)), 1, "an earlier log of this name has another grade"
    )
    assert project.store.last_sequence() == before
    assert call("import", folder, "--log", str(log), "--assessor", "ship")[0] == 0
    assert ("import-ship-assessor-1", "d10") in grades(project)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grade": 7}, "grade 7 is not on the scale"),
        ({"grade": "x"}, "not an event"),
        ({"doc": ""}, "not an event"),
        ({"doc": 3}, "not an event"),
        ({"extra": 1}, "not an event"),
        ({"detail": None}, "not an event"),
        ({"topic": "elsewhere"}, "elsewhere"),
    ],
)
def test_a_log_with_a_wrong_line_changes_nothing(
    project: Project, other: Path, call: Call, tmp_path: Path, change: dict[str, object], message: str
) -> None:
    log, before = exported(other, tmp_path / "train.jsonl"), project.store.last_sequence()
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    for one in lines:
        if one["kind"] in ("judge", "withdraw") and ("topic" in change or one["grade"] == 2):
            one.update(change)
    log.write_text("".join(json.dumps(one) + "\n" for one in lines))
    check_refused(call("import", str(project.folder), "--log", str(log)), 1, message)
    assert project.store.last_sequence() == before


@pytest.mark.parametrize("text", ["1 0 d10 1\n", "[]\n", "{}\n", "null\n", "\n"])
def test_a_file_of_another_kind_is_no_log(project: Project, call: Call, tmp_path: Path, text: str) -> None:
    (tmp_path / "x").write_text(text)
    check_refused(call("import", str(project.folder), "--log", str(tmp_path / "x")), 1, "not an event")
