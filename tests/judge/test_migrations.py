"""Databases of earlier releases, brought up to date with all they hold."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest
from tests.judge.acts import judge, undo
from tests.judge.small import TOPICS, begin, found_by, found_by_replay

from sounding.judge import migrations, sql, verify
from sounding.judge.database import StoreError, open_database
from sounding.judge.engine import Engine
from sounding.judge.exports import unused_topics, without_status
from sounding.judge.settings import Order
from sounding.judge.state import Replay
from sounding.judge.store import Store, open_store


@pytest.fixture
def as_before(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Judging as in releases that kept no keys of what came to nothing."""
    with monkeypatch.context() as patch:
        none = "SELECT topic, doc FROM event WHERE sequence = 0 AND assessor = :assessor AND key = :key"
        patch.setattr(sql, "VOID_KEY", none)
        yield patch


def test_a_database_of_version_1_is_brought_up_to_date_with_all_it_holds(
    place: str, as_before: pytest.MonkeyPatch
) -> None:
    old = open_database(place)
    assert migrations.migrate(old, until=1) == 1
    with pytest.raises(StoreError), old.read() as run:
        run("SELECT * FROM search")
    first = Store(old)
    user = first.add_user("bob", "assessor", "hash")
    judge(first, "d1", 1, "a", assessor=user.pseudonym)
    add_topic_as_before(first, "t1", 1, "candidate")
    before, standing = list(first.events()), first.standing()
    first.close()
    as_before.undo()
    with open_store(place) as store:
        assert store.standing() == standing
        *same, topic = store.events()
        assert same == before
        assert (topic.kind, topic.topic) == ("topic", "t1")
        assert store.users() == [user]
        store.log_search(user.pseudonym, "t1", "x", 1)
        judge(store, "d2", 1, "b", assessor=user.pseudonym)
        assert undo(store, "c", "d3") is undo(store, "c", "d3") is None
        assert len(list(store.searches())) == 1


def add_topic_as_before(store: Store, topic: str, version: int, status: str, time: float = 5.0) -> None:
    """What releases did that did not have topics in the log."""
    with store._database.write() as run:
        run(
            sql.ADD_TOPIC, id=topic, version=version, title="x", description="", narrative="", status=status,
            estimate=None, author="assessor-1", time=time,
        )  # fmt: skip


def test_a_project_from_before_topics_were_in_the_log_goes_on_with_the_topics_it_has(
    place: str, as_before: pytest.MonkeyPatch
) -> None:
    old = open_database(place)
    migrations.migrate(old, until=2)
    first = Store(old)
    engine = begin(first, order=Order(batch=2))
    user = first.add_user("bob", "assessor", "hash")
    statuses = {"7": ["chosen"], "MB001": ["chosen", "dropped"], "t-é": ["candidate", "chosen", "candidate"]}
    for topic, own in statuses.items():
        for version, status in enumerate(own, 1):
            add_topic_as_before(first, topic, version, status, time=4.0 + version)
    with first._database.write() as run:
        run(sql.ASSIGN, topic="7", assessor=user.pseudonym)
    for number in range(9):
        topic = TOPICS[number % 3]
        engine.judge("a", topic, engine.next("a", topic)[0].doc, number % 3, key=str(number))
    before = list(first.events())
    first.close()
    as_before.undo()
    with open_store(place) as store:
        events = list(store.events())
        assert events[: len(before)] == before
        added = events[len(before) :]
        assert [(event.sequence, event.kind, event.topic, event.assessor) for event in added] == [
            (len(before) + number, kind, topic, "assessor-1")
            for number, (kind, topic) in enumerate(
                [*(("topic", topic) for topic, own in statuses.items() for _ in own), ("assign", "7")], 1
            )
        ]
        assert [event.detail for event in added[:-1]] == [
            {"status": status, "version": version}
            for own in statuses.values()
            for version, status in enumerate(own, 1)
        ]
        assert [event.time for event in added[:3]] == [5.0, 5.0, 6.0]
        assert abs(added[-1].time - time.time()) < 60
        again = Engine(store)
        assert set(again.live().topics) == {"7"}
        assert len(again.live().unused) == 2
        until = store.last_sequence()
        choices = list(verify._choices(store, Replay(store.run), until, None))
        assert len(choices) == 9
        assert all(verify._same(selection, found) for _, _, selection, found in choices)
        assert list(verify._unlike_topics(store, until)) == []
        # What the log did not say then is not made up: all topics are in use.
        assert unused_topics(store, len(before)) == set()
        assert without_status(store, len(before)) == ["7", "MB001", "t-é"]
        assert (unused_topics(store), without_status(store, until)) == ({"MB001", "t-é"}, [])
        assert again.set_status("MB001", "chosen").version == 3
        assert set(again.live().topics) == {"7", "MB001"}
        again.judge("a", "MB001", again.next("a", "MB001")[0].doc, 1, key="on")
        assert found_by(again, store) == found_by_replay(store)
    open_store(place).close()  # once more: nothing is added
    with open_store(place) as store:
        assert store.last_sequence() == until + 2


def test_a_database_of_a_newer_release_is_refused(place: str) -> None:
    open_store(place).close()
    raw = open_database(place)
    with raw.write() as run:
        run(sql.ADD_MIGRATION, version=migrations.NEWEST + 1, time=0.0)
    raw.close()
    with pytest.raises(StoreError, match=f"has version {migrations.NEWEST + 1}, and this release knows"):
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
