"""kill -9 while judging: what was acknowledged is there, and a replay comes to the same.

Both databases run as they do for users: SQLite with `synchronous=FULL`, PostgreSQL with `fsync` on, unlike the
server of the other tests, which does not wait for the disk.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.judging.databases import Server, running_server
from tests.judging.small import TOPICS, begin, found_by, found_by_replay

from sounding.judging.engine import Engine
from sounding.judging.store import Store, open_store

ROUNDS = int(os.environ.get("SOUNDING_CRASHES", "20"))
AT_ONCE = 50  # rounds on one database: what is checked after each grows with its log
PARTS = [min(AT_ONCE, ROUNDS - first) for first in range(0, ROUNDS, AT_ONCE)]

# Judges and says so, once the engine has answered; draws its keys so that a repeated one shows.
CHILD = """
import random, sys
from sounding.judging.engine import Engine
from sounding.judging.store import open_store
engine = Engine(open_store(sys.argv[1]))
rng = random.Random(int(sys.argv[2]))
engine.left("7")
print("ready", flush=True)
step = 0
while True:
    step += 1
    topic, key = rng.choice(("MB001", "7", "t-\\u00e9")), f"{sys.argv[2]}-{step}"
    leases = engine.next("assessor-1", topic, count=2)
    act = rng.random()
    if not leases or act < 0.4:
        receipt = engine.withdraw("assessor-1", topic, key=key)
    else:
        doc, grade = leases[0].doc, rng.choice((0, 1, 2, None))
        receipt, leases = engine.and_next(
            lambda: engine.judge("assessor-1", topic, doc, grade, key=key), "assessor-1", topic, 2
        )
    if receipt is not None:
        event = receipt.event
        print(event.sequence, event.kind, event.doc, event.grade, key, flush=True)
    if act > 0.95:
        engine.refit_if_due()
    elif act > 0.9:
        engine.set_status(topic, rng.choice(("chosen", "dropped")))
"""


@pytest.fixture(scope="module")
def durable_server() -> Iterator[Server]:
    with running_server(fsync=True) as server:
        yield server


@pytest.fixture(params=["sqlite", "postgresql"])
def durable_place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a new database can be that waits for the disk before it says that something is recorded."""
    if request.param == "sqlite":
        yield str(tmp_path / "judging.sqlite")
        return
    server: Server = request.getfixturevalue("durable_server")
    url = server.fresh()
    yield url
    server.drop(url)


def set_up(store: Store) -> None:
    begin(store, seed=3)
    for topic in TOPICS:
        store.save_topic(topic, title="x", status="chosen")


def waits_for_the_disk(store: Store) -> bool:
    with store._database.read() as run:
        if store._database.dialect == "sqlite":
            return [list(dict(row).values()) for row in run("PRAGMA synchronous")] == [[2]]  # FULL
        asked = ("fsync", "synchronous_commit", "full_page_writes")
        return all(list(run(f"SHOW {name}")[0].values()) == ["on"] for name in asked)


def interrupted(place: str, number: int, least: int, seconds: float) -> list[list[str]]:
    """The acknowledgements that a child gave before it was killed: so long after the first few of them."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, place, str(number)], stdout=subprocess.PIPE, text=True, bufsize=1
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    first = [child.stdout.readline() for _ in range(least)]
    time.sleep(seconds)
    child.send_signal(signal.SIGKILL)
    lines = first + child.stdout.read().splitlines(keepends=True)
    child.wait()
    child.stdout.close()
    return [line.split() for line in lines if line.endswith("\n")]


def check(store: Store, acknowledged: list[list[str]]) -> None:
    events = list(store.events())
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    by_number = {event.sequence: event for event in events}
    for sequence, kind, doc, grade, key in acknowledged:
        event = by_number[int(sequence)]
        assert [event.kind, event.doc, str(event.grade), event.key] == [kind, doc, grade, key]
    assert store.damage() == []


@pytest.mark.parametrize(("part", "rounds"), list(enumerate(PARTS)))
def test_no_acknowledged_judgment_is_lost_when_the_process_is_killed(
    durable_place: str, part: int, rounds: int
) -> None:
    rng, place = random.Random(part), durable_place
    with open_store(place) as store:
        assert waits_for_the_disk(store)
        set_up(store)
    acknowledged: list[list[str]] = []
    for number in range(rounds):
        acknowledged += interrupted(place, AT_ONCE * part + number, rng.randint(0, 8), rng.uniform(0, 0.03))
        with open_store(place) as store:
            check(store, acknowledged)
            assert found_by(Engine(store), store) == found_by_replay(store)
    assert len(acknowledged) > rounds
    print(f"{rounds} rounds, {len(acknowledged)} acknowledged, none lost")  # noqa: T201 - for `make torture`


def test_the_check_notices_a_lost_judgment(tmp_path: Path) -> None:
    """The same check on a database that forgets: it must fail."""
    place = str(tmp_path / "x.sqlite")
    with open_store(place) as store:
        set_up(store)
    acknowledged = interrupted(place, 1, 5, 0)
    assert acknowledged
    with open_store(place) as store:
        with store._database.write() as run:
            run("DROP TRIGGER event_delete")
            run("DELETE FROM event WHERE sequence >= :last", last=int(acknowledged[-1][0]))
        with pytest.raises((AssertionError, KeyError)):
            check(store, acknowledged)
