"""Leases: one transaction, the owner's documents first, never beyond the overlap, given back in time."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.judge.databases import Server, set_clocks
from tests.judge.small import begin, found_by, found_by_replay

from sounding.judge.database import StoreError
from sounding.judge.records import FREE, Lease, Offer, Receipt, Selection, Submission
from sounding.judge.store import Store, open_store

OFFERS = [Offer(doc=f"d{n}", selection=Selection(policy="depth", step=n + 1)) for n in range(60)]
PEOPLE = 50
Wait = Callable[[float], None]


def lease(store: Store, assessor: str, count: int = 1, overlap: int = 1, seconds: float = 60) -> list[str]:
    found = store.lease(assessor, "t", lambda _: OFFERS, overlap=overlap, seconds=seconds, count=count)
    return [one.doc for one in found]


@pytest.fixture
def wait(monkeypatch: pytest.MonkeyPatch) -> Wait:
    """Lets time pass, and nothing else does."""
    clock = SimpleNamespace(now=1000.0)
    set_clocks(monkeypatch, lambda: clock.now)

    def passed(seconds: float) -> None:
        clock.now += seconds

    return passed


def test_the_owner_gets_the_open_documents_first(store: Store) -> None:
    assert lease(store, "a", 2) == ["d0", "d1"]
    assert lease(store, "a", 1) == ["d0"]
    assert lease(store, "a", 3) == ["d0", "d1", "d2"]
    assert lease(store, "b", 2) == ["d3", "d4"]


def test_a_lease_keeps_how_the_document_was_selected(store: Store) -> None:
    lease(store, "a")
    assert store.leases("a")[0].selection == OFFERS[0].selection


def test_more_offers_are_asked_for_while_none_is_free(store: Store) -> None:
    every = [Offer(doc=f"d{number}", selection=FREE) for number in range(20)]
    for number in range(11):  # judged, and no longer held by anybody
        store.judge(Submission(assessor="a", topic="t", doc=f"d{number}", grade=1, key=f"key-{number}"))
    asked: list[int] = []

    def offers(count: int) -> list[Offer]:
        asked.append(count)
        return every[:count]

    [found] = store.lease("b", "t", offers, overlap=1, seconds=60)
    assert found.doc == "d11"
    assert asked == [1, 2, 4, 8, 16]
    assert len(store.lease("c", "t", offers, overlap=1, seconds=60, count=50)) == 8
    assert store.lease("d", "t", offers, overlap=1, seconds=60) == []


def test_no_document_has_more_holders_than_the_overlap(store: Store) -> None:
    assert [lease(store, name, overlap=2)[0] for name in "abcd"] == ["d0", "d0", "d1", "d1"]
    store.judge(Submission(assessor="a", topic="t", doc="d0", grade=1, key="1"))
    assert lease(store, "e", overlap=2) == ["d2"]  # judged by one and held by one: enough


def test_a_judgment_gives_the_lease_back_and_holds_its_place(store: Store) -> None:
    lease(store, "a")
    store.judge(Submission(assessor="a", topic="t", doc="d0", grade=1, key="1"))
    assert store.leases() == []
    assert lease(store, "b") == ["d1"]
    store.withdraw("a", "t", "d0", key="2", overlap=1, seconds=60)
    assert [one.doc for one in store.leases("a")] == ["d0"]


def test_what_expired_is_given_to_one_other_and_a_late_judgment_is_kept(store: Store, wait: Wait) -> None:
    lease(store, "a", seconds=0.05)
    assert lease(store, "b") == ["d1"]
    wait(0.1)
    assert [lease(store, name)[0] for name in ("c", "d")] == ["d0", "d2"]
    receipt = store.judge(Submission(assessor="a", topic="t", doc="d0", grade=1, key="late"))
    assert receipt.event.sequence == 1
    # Taken back, the place belongs to the one who has it now.
    store.withdraw("a", "t", "d0", key="u", overlap=1, seconds=60)
    assert [(one.doc, one.assessor) for one in store.leases(topic="t") if one.doc == "d0"] == [("d0", "c")]


def test_asking_and_a_sign_of_life_renew_a_lease(store: Store, wait: Wait) -> None:
    lease(store, "a", seconds=0.4)
    assert store.renew("a", 60) == 1
    wait(0.5)
    assert lease(store, "b") == ["d1"]
    assert store.renew("nobody", 60) == 0
    lease(store, "c", seconds=0.05)
    wait(0.1)
    assert store.renew("c", 60) == 0  # what has expired is gone


def test_machines_whose_clocks_differ_agree_on_what_has_expired(
    postgresql: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgresql.fresh()
    with open_store(url) as here, open_store(url) as there:
        assert lease(here, "a", seconds=60) == ["d0"]
        ahead = time.time() + 3600
        monkeypatch.setattr(time, "time", lambda: ahead)
        assert lease(there, "b") == ["d1"]
        assert [one.assessor for one in there.leases()] == ["a", "b"]
        monkeypatch.setattr(time, "time", lambda: ahead - 7200)
        assert lease(there, "c", seconds=0.01) == ["d2"]
        monkeypatch.undo()
        time.sleep(0.05)
        assert lease(here, "d") == ["d2"]
        assert there.renew("c", 60) == 0
    postgresql.drop(url)


def test_leases_are_released_one_by_one_by_topic_and_at_sign_out(store: Store) -> None:
    lease(store, "a", 3)
    store.lease("a", "u", lambda _: OFFERS, overlap=1, seconds=60)
    store.release("a", "t", "d1")
    assert [one.doc for one in store.leases("a", "t")] == ["d0", "d2"]
    store.release("a", "t")
    assert [one.topic for one in store.leases("a")] == ["u"]
    store.release("a")
    assert store.leases() == []
    user = store.add_user("bob", "assessor")
    lease(store, user.pseudonym)
    store.end_sign_ins(user.id)
    assert store.leases() == []


@pytest.mark.parametrize("overlap", [1, 3])
def test_fifty_threads_at_once_share_documents_only_up_to_the_overlap(store: Store, overlap: int) -> None:
    start = threading.Barrier(PEOPLE)
    found: list[Lease] = []

    def ask(number: int) -> None:
        start.wait()
        found.extend(store.lease(f"a{number}", "t", lambda _: OFFERS, overlap=overlap, seconds=60))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(PEOPLE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    holders = Counter(one.doc for one in found)
    assert len(found) == PEOPLE
    assert max(holders.values()) == overlap
    assert len(holders) == -(-PEOPLE // overlap)  # and no more documents than that are touched


ASKING = """
import json, sys
from sounding.judge.engine import Engine
from sounding.judge.store import open_store
engine = Engine(open_store(sys.argv[1]))
sys.stdin.readline()
leases = [(lease.doc, lease.assessor) for n in range(3) for lease in engine.next(f"{sys.argv[2]}-{n}", "7")]
print(json.dumps(leases))
"""


def test_processes_at_once_share_no_document(store: Store, place: str) -> None:
    begin(store)
    children = [
        subprocess.Popen(
            [sys.executable, "-c", ASKING, place, f"p{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(4)
    ]
    for child in children:
        assert child.stdin is not None
        child.stdin.write("\n")
        child.stdin.flush()
    found = [tuple(pair) for child in children for pair in json.loads(child.communicate()[0])]
    docs = [doc for doc, _ in found]
    assert len(docs) == 12
    assert len(set(docs)) == len(docs)


def test_who_comes_back_too_late_gets_another_document(store: Store, wait: Wait) -> None:
    lease(store, "a", seconds=0.05)
    wait(0.1)
    assert lease(store, "b") == ["d0"]
    assert lease(store, "a") == ["d1"]


def test_a_judgment_and_the_next_documents_are_recorded_together_or_not_at_all(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = begin(store)
    [lease] = engine.next("ann", "MB001")
    before = store.last_sequence()

    def act() -> Receipt:
        return engine.judge("ann", "MB001", lease.doc, 1, key="once-and-for-all")

    with monkeypatch.context() as broken:
        broken.setattr(Store, "lease", refuse)
        with pytest.raises(StoreError):
            engine.and_next(act, "ann", "MB001", 2)
    assert store.last_sequence() == before
    assert store.standing() == []
    assert [one.doc for one in store.leases("ann")] == [lease.doc]
    assert found_by(engine, store) == found_by_replay(store)  # it has forgotten what was not recorded
    receipt, leases = engine.and_next(act, "ann", "MB001", 2)
    assert receipt is not None
    assert not receipt.repeated
    assert receipt.event.sequence == before + 1
    assert [one.doc for one in store.leases("ann")] == [one.doc for one in leases]
    assert lease.doc not in [one.doc for one in leases]
    repeated, again = engine.and_next(act, "ann", "MB001", 2)
    assert repeated is not None
    assert repeated.repeated
    assert [one.doc for one in again] == [one.doc for one in leases]
    assert found_by(engine, store) == found_by_replay(store)


def refuse(*_: object, **__: object) -> None:
    raise StoreError("the disk is full")


def test_judge_and_next_wait_for_the_disk_once(tmp_path: Path) -> None:
    with open_store(tmp_path / "x.sqlite") as store:
        engine = begin(store)
        [lease] = engine.next("ann", "MB001")
        said: list[str] = []
        store._database._connection.set_trace_callback(said.append)  # type: ignore[attr-defined]
        engine.and_next(lambda: engine.judge("ann", "MB001", lease.doc, 1, key="k"), "ann", "MB001", 2)
    assert [one for one in said if one.startswith(("BEGIN", "COMMIT"))] == ["BEGIN IMMEDIATE", "COMMIT"]


def test_whoever_does_two_things_in_one_transaction_does_both_or_none(store: Store) -> None:
    def half() -> None:
        with store.together():
            store.set_setting("one", "1")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert store.setting("one") is None
    with store.together():
        store.set_setting("one", "1")
        store.set_setting("two", "2")
    assert (store.setting("one"), store.setting("two")) == ("1", "2")
