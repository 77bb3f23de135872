"""kill -9 while judging: what was acknowledged is there, and a replay comes to the same.

Both databases run as they do for users: SQLite with `synchronous=FULL` and either kind of journal, PostgreSQL with
`fsync` on, unlike the server of the other tests, which does not wait for the disk.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pytest
from tests.judge.databases import Server, running_server
from tests.judge.journals import JOURNALS, keep
from tests.judge.small import TOPICS, begin
from tests.judge.test_preferences import begin_pairs

from sounding.judge.sqlite import sqlite3
from sounding.judge.state import JudgingState
from sounding.judge.store import Store, open_store

ROUNDS = int(os.environ.get("SOUNDING_CRASHES", "4"))  # `make torture`: 1,000
AT_ONCE = 50  # rounds on one database: what is checked after each grows with its log
PARTS = [min(AT_ONCE, ROUNDS - first) for first in range(0, ROUNDS, AT_ONCE)]

# Judges and says so, once the engine has answered: what was recorded, what is next now, and how sure it is.
CHILD = """
import json, random, sys
from sounding.judge.live import Task
from sounding.judge.engine import Engine
from sounding.judge.store import open_store
from tests.judge.journals import as_asked
from tests.judge.test_crash import TOPICS, where
as_asked()
engine = Engine(open_store(sys.argv[1]))
rng = random.Random(int(sys.argv[2]))
engine.counts().of("7").left
Task("write-back", engine._store.write_back, 0.002).start()  # beside the judgments, as in the server
print("ready", flush=True)
step = 0
while True:
    step += 1
    topic, key = rng.choice(TOPICS), f"{sys.argv[2]}-{step}"
    leases, has = engine.next("assessor-1", topic, count=2), None
    had = [lease.doc for lease in engine._store.leases("assessor-1", topic)]
    act = rng.random()
    if not leases or act < 0.4:
        receipt = engine.withdraw("assessor-1", topic, key=key)
    else:
        doc, grade = leases[0].doc, rng.choice((0, 1, 2, 2, 2, None))
        mark = float(step % 3)
        kinds = {"contexts": {"contexts.1": {"grade": mark}}, "subtopics": {"a": mark, "b": 0.0}}
        marks = kinds if step % 2 else None
        receipt, has = engine.and_next(
            lambda: engine.judge("assessor-1", topic, doc, grade, key=key, marks=marks), "assessor-1", topic, 2
        )
    if receipt is not None:
        event = receipt.event
        told = {
            "event": [event.sequence, event.kind, event.topic, event.doc, event.grade, event.key, event.detail],
            "had": had,
            "has": None if has is None else [lease.doc for lease in has],
            "where": where(engine._replay),
        }
        print(json.dumps(told), flush=True)
    if act > 0.95:
        engine.refit_if_due()
    elif act > 0.8:
        engine.set_status(topic, rng.choice(("chosen", "dropped")))
"""

Told = dict[str, Any]  # of one acknowledgment


@pytest.fixture(scope="module")
def durable_server() -> Iterator[Server]:
    with running_server(fsync=True) as server:
        yield server


@pytest.fixture(params=[*JOURNALS, "postgresql"])
def durable_place(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Where a new database can be that waits for the disk before it says that something is recorded."""
    if request.param != "postgresql":
        keep(monkeypatch, request.param)
        yield str(tmp_path / "judging.sqlite")
        assert modes(tmp_path / "judging.sqlite") == {request.param.lower()}
        return
    server: Server = request.getfixturevalue("durable_server")
    url = server.fresh()
    yield url
    server.drop(url)


def modes(path: Path) -> set[str]:
    """How the journal of a file is kept, as another one who opens it finds it."""
    with closing(sqlite3.connect(path)) as other:
        return {mode for (mode,) in other.execute("PRAGMA journal_mode")}


def set_up(store: Store, kind: str = "grades") -> None:
    if kind == "preferences":
        begin_pairs(store, depth=5)
    else:
        begin(store, seed=3)
    for topic in TOPICS:
        store.save_topic(topic, title="x", status="chosen")
    store.add_labels("machine-m", {(topic, f"d{doc:02}"): 1.0 for topic in TOPICS for doc in range(9)})


def waits_for_the_disk(store: Store) -> bool:
    with store._database.write() as run:
        if store._database.dialect == "sqlite":
            return [list(dict(row).values()) for row in run("PRAGMA synchronous")] == [[2]]  # FULL
        asked = ("fsync", "synchronous_commit", "full_page_writes")
        return all(list(run(f"SELECT current_setting('{name}')")[0].values()) == ["on"] for name in asked)


def where(replay: JudgingState) -> dict[str, Any]:
    """What is next, how it was chosen, and how sure the ranking is, to the last digit."""
    confidence = replay.session.confidence() if replay.ready else None
    return {
        "next": {topic: [astuple(offer) for offer in replay.fresh_offers(topic, 3)] for topic in TOPICS},
        "pairs": {
            topic: [astuple(offer) for offer in replay.pair_offers("assessor-1", topic)] for topic in TOPICS
        },
        "values": confidence and [value.hex() for value in confidence.values.tolist()],
        "confidences": confidence and [value.hex() for value in confidence.not_above.ravel().tolist()],
    }


def interrupted(place: str, number: int, least: int, seconds: float) -> list[Told]:
    """The acknowledgments that a child gave before it was killed: so long after the first few of them."""
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
    return [json.loads(line) for line in lines if line.endswith("\n")]


def check(store: Store, acknowledged: list[Told]) -> None:
    """Whether every acknowledgment is in the log."""
    events = list(store.events())
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    by_number = {event.sequence: event for event in events}
    for told in acknowledged:
        event = by_number[told["event"][0]]
        assert told["event"] == [
            event.sequence, event.kind, event.topic, event.doc, event.grade, event.key, event.detail,
        ]  # fmt: skip
    assert store.damage() == []


def check_replay(store: Store, acknowledged: list[Told]) -> None:
    """Whether a replay in this process is where the killed one was, and gives what that was given."""
    replay, by_number = JudgingState(store.run), {told["event"][0]: told for told in acknowledged}
    for event in store.events():
        replay.follow([event])
        told = by_number.get(event.sequence)
        if told is None:
            continue
        assert json.loads(json.dumps(where(replay))) == told["where"], event
        if told["has"] is not None:
            offered = [offer.doc for offer in replay.offers("assessor-1", event.topic or "", 4)]
            kept = [doc for doc in told["had"] if doc != event.doc]
            if replay.of_pairs:  # what other answers decided was released
                kept = [pair for pair in kept if pair in offered]
            new = [doc for doc in offered if doc not in kept]
            assert told["has"] == [*kept, *new][:2], event


@pytest.mark.parametrize(("part", "rounds"), list(enumerate(PARTS)))
@pytest.mark.parametrize("kind", ["grades", "preferences"])
def test_no_acknowledged_judgment_is_lost_when_the_process_is_killed_and_a_new_one_is_where_it_was(
    durable_place: str, kind: str, part: int, rounds: int
) -> None:
    rng, place = random.Random(part), durable_place
    rounds = rounds if kind == "grades" else (rounds + 1) // 2
    with open_store(place) as store:
        assert waits_for_the_disk(store)
        set_up(store, kind)
    acknowledged: list[Told] = []
    for number in range(rounds):
        told = interrupted(place, AT_ONCE * part + number, rng.randint(0, 8), rng.uniform(0, 0.03))
        acknowledged += told
        with open_store(place) as store:
            check(store, acknowledged)
            check_replay(store, told)
    assert len(acknowledged) > rounds
    assert sum(told["has"] is not None for told in acknowledged) > rounds
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
            run("DELETE FROM event WHERE sequence >= :last", last=acknowledged[-1]["event"][0])
        with pytest.raises((AssertionError, KeyError)):
            check(store, acknowledged)


def test_the_check_notices_that_a_new_process_is_elsewhere(tmp_path: Path) -> None:
    """The same check where the runs are others than the killed process had: it must fail."""
    place = str(tmp_path / "x.sqlite")
    with open_store(place) as store:
        set_up(store)
    acknowledged = interrupted(place, 1, 5, 0)
    with open_store(place) as store:
        check_replay(store, acknowledged)
        first, second = store.run("run0"), store.run("run1")
        store.run = lambda name: {"run0": second, "run1": first}.get(name) or Store.run(store, name)  # type: ignore[method-assign]
        with pytest.raises(AssertionError):
            check_replay(store, acknowledged)
