"""A database that another process holds, a task that fails, a project that cannot be made: what is left."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from tests.conftest import require
from tests.judge.databases import Server
from tests.judge.small import SCALE
from tests.judge.web import add_person, make_project, signed_in

from sounding.core.errors import SoundingError
from sounding.judge import database, sql
from sounding.judge.database import StoreError
from sounding.judge.live import Task
from sounding.judge.project import Project, create_project, open_project
from sounding.judge.records import Submission
from sounding.judge.settings import Settings
from sounding.judge.sqlite import sqlite3
from sounding.judge.store import open_database, open_store

WAIT = 0.4  # seconds


@contextmanager
def held(place: str) -> Iterator[None]:
    """Another process writes, and does not come to an end."""
    if not place.startswith("postgresql"):
        other = sqlite3.connect(place, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")
        other.close()
        return
    with require("psycopg").connect(place, autocommit=True) as connection:
        connection.execute(sql.BEGIN_IN_TURN)
        yield
        connection.execute("ROLLBACK")


def test_a_lock_that_stays_is_an_error_after_a_while_and_nothing_hangs(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_store(place).close()
    monkeypatch.setattr(database, "BUSY_SECONDS", WAIT)
    grade = Submission(assessor="a", topic="7", doc="d01", grade=1, key="k")
    found: list[tuple[str, float]] = []
    with open_store(place) as store:

        def judge() -> None:
            begun = time.monotonic()
            try:
                store.judge(grade)
            except StoreError as error:
                found.append((str(error), time.monotonic() - begun))

        with held(place):
            writer = threading.Thread(target=judge, daemon=True)
            writer.start()
            assert store.last_sequence() == 0  # a read waits no longer than the writer does
            writer.join(60)
            [(said, seconds)] = found
            assert WAIT * 0.9 <= seconds < 30
            assert said.count("\n") == 0
        assert not store.judge(grade).repeated
        assert store.last_sequence() == 1


def test_a_lock_that_stays_is_answered_with_503_and_the_same_grade_is_taken_later(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "BUSY_SECONDS", WAIT)
    with open_project(project.folder) as opened:
        add_person(opened, "ann", topics=("MB001",))
        ann = signed_in(opened, "ann")
        doc = ann.client.get("/api/next", params={"topic": "MB001"}).json()["documents"][0]["doc"]
        given = {"topic": "MB001", "doc": doc, "grade": 1, "key": "key-of-a-grade"}
        place = opened.store.place
        with held(place):
            answer = ann.send("/api/judge", given)
            assert (answer.status_code, list(answer.json())) == (503, ["detail"])
        assert ann.send("/api/judge", given).json()["repeated"] is False


def test_where_a_run_is_bad_the_database_is_left_as_it_was(tmp_path: Path, postgresql: Server) -> None:
    with make_project(tmp_path / "good") as good:
        good_folder = good.folder.parent / "source"
    bad = tmp_path / "bad.run"
    bad.write_text("nonsense line\n")
    url = postgresql.fresh()
    runs = sorted(str(path) for path in good_folder.glob("*Run.txt"))
    make = partial(
        create_project, tmp_path / "p", corpus=[str(good_folder / "corpus.jsonl")],
        topics=str(good_folder / "topics.txt"), settings=Settings(scale=SCALE), database=url,
    )  # fmt: skip
    with pytest.raises(SoundingError, match=r"bad\.run"):
        make(runs=[*runs, str(bad)])
    assert not (tmp_path / "p").exists()
    left = open_database(url)
    with left.read() as run:
        assert run(sql.TABLES["postgresql"]) == []
    left.close()
    with make(runs=runs) as project:
        assert len(project.engine.run_names()) == len(runs)
        assert len(project.store.topics()) == 4
    postgresql.drop(url)


def test_a_task_that_fails_says_so_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    tried = 0

    def work() -> None:
        nonlocal tried
        tried += 1
        if tried == 1:
            raise ZeroDivisionError("a fault of ours")
        done.set()

    task = Task("a task", work, 0.01)
    with caplog.at_level(logging.WARNING, "sounding.judge"):
        task.start()
        assert done.wait(60)
        task.stop()
    [record] = [one for one in caplog.records if one.levelno == logging.ERROR]
    assert "a task" in record.getMessage()
    assert record.exc_info is not None
    assert record.exc_info[0] is ZeroDivisionError


def test_a_task_that_cannot_do_its_work_says_why_once(caplog: pytest.LogCaptureFixture) -> None:
    done, answers = threading.Event(), ["full", "full", "", "full", "full", "gone", "gone"]

    def work() -> None:
        answer = answers.pop(0)
        if not answers:
            done.set()
        if answer:
            raise StoreError(answer)

    task = Task("a task", work, 0.001)
    with caplog.at_level(logging.WARNING, "sounding.judge"):
        task.start()
        assert done.wait(60)
        task.stop()
    said = [one.getMessage() for one in caplog.records if one.levelno == logging.WARNING]
    assert said == [f"a task: not now: {why}" for why in ("full", "full", "gone")]
