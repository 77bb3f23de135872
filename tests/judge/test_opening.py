"""Opening a database: made where there is none, refused where it is of another release."""

from __future__ import annotations

import subprocess
import sys

import pytest
from tests.judge.acts import judge

from sounding.judge import sql
from sounding.judge.database import StoreError
from sounding.judge.store import open_database, open_store


def test_a_database_of_another_release_is_refused(place: str) -> None:
    open_store(place).close()
    raw = open_database(place)
    with raw.write() as run:
        run(sql.SET_VERSION, version=sql.VERSION + 1)
    raw.close()
    with pytest.raises(StoreError, match=f"has version {sql.VERSION + 1}, and this release knows"):
        open_store(place)


def test_a_database_that_cannot_be_written_can_still_be_read(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_store(place) as store:
        judge(store, "d1", 1, "a")
        kind = type(store._database)

    def refused(_: object) -> None:
        raise StoreError("read-only")

    monkeypatch.setattr(kind, "write", refused)
    with open_store(place) as store:
        assert [event.doc for event in store.events()] == ["d1"]
        with pytest.raises(StoreError, match="read-only"):
            judge(store, "d2", 1, "b")


def test_several_processes_may_open_a_new_database_at_once(place: str) -> None:
    code = "import sys; from sounding.judge.store import open_store; open_store(sys.argv[1]).add_user(sys.argv[2], 'assessor')"
    children = [subprocess.Popen([sys.executable, "-c", code, place, f"user{n}"]) for n in range(4)]
    assert [child.wait() for child in children] == [0] * 4
    with open_store(place) as store:
        assert sorted(user.name for user in store.users()) == [f"user{n}" for n in range(4)]
        assert sorted(user.id for user in store.users()) == [1, 2, 3, 4]
