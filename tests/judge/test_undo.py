"""Undo takes back the last thing that somebody did, and all that follows from it, as if it had not been done."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judge.small import begin, found_by, found_by_replay
from tests.judge.web import add_person, signed_in

from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS
from sounding.judge.live import LiveFeed
from sounding.judge.project import Project
from sounding.judge.settings import Feed
from sounding.judge.store import Store, open_store

TOPIC = "7"


def judged(store: Store, feed: Feed) -> tuple[Engine, list[str]]:
    """Two people have judged the same four documents, and differ on some."""
    engine = begin(store, overlap=2, feed=feed)
    docs = [lease.doc for lease in engine.next("ann", TOPIC, 4)]
    for number, doc in enumerate(docs):
        engine.judge("ann", TOPIC, doc, (2, 0, None, 1)[number], key=f"ann-{number}")
        engine.judge("bob", TOPIC, doc, (2, 1, 1, None)[number], key=f"bob-{number}")
    return engine, docs


def found(engine: Engine, store: Store) -> dict[str, Any]:
    """What follows from the judgments that stand."""
    live = engine.live()
    return {
        "values": live.confidence.values.tolist(),
        "pairs": live.confidence.not_above.tolist(),
        "counts": (live.topics, live.unused),
        "next": [offer.doc for offer in engine._replay.fresh_offers(TOPIC, 9)],
        "thin": [offer.doc for offer in engine._replay.offers("cem", TOPIC, 9)],
        "exports": [list(EXPORTS[name](store, None)) for name in ("qrels", "assessors")],
        "differences": engine.differences(),
    }


@pytest.mark.parametrize("feed", ["first", "majority", "adjudicated"])
def test_a_change_that_is_taken_back_leaves_no_trace_but_the_log(
    store: Store, feed: Feed, tmp_path: Any
) -> None:
    engine, docs = judged(store, feed)
    with open_store(tmp_path / "never.sqlite") as other:
        never, _ = judged(other, feed)
        wanted = found(never, other)
    assert found(engine, store) == wanted
    for number, (who, doc, grade) in enumerate(
        [("ann", docs[0], 0), ("bob", docs[2], None), ("ann", docs[1], 1), ("ann", docs[1], 2)]
    ):
        engine.judge(who, TOPIC, doc, grade, key=f"change-{number}")
    assert found(engine, store) != wanted
    changed = store.last_sequence()
    for number, (who, undone) in enumerate(
        [("ann", docs[1]), ("ann", docs[1]), ("bob", docs[2]), ("ann", docs[0])]
    ):
        receipt = engine.withdraw(who, TOPIC, key=f"undo-{number}")
        assert receipt is not None
        assert (receipt.event.doc, receipt.event.undid) == (undone, "change")
    assert found(engine, store) == wanted
    assert store.leases() == []
    assert store.last_sequence() == changed + 4  # every undo is a row
    assert found_by(engine, store) == found_by_replay(store) == found_by(Engine(store), store)


def test_a_first_judgment_that_is_taken_back_is_nobodys(store: Store) -> None:
    engine, docs = judged(store, "majority")
    for number, doc in enumerate(reversed(docs)):
        receipt = engine.withdraw("ann", TOPIC, key=f"undo-{number}")
        assert receipt is not None
        assert (receipt.event.kind, receipt.event.doc) == ("withdraw", doc)
    assert [lease.doc for lease in store.leases("ann", TOPIC)] == docs  # the first one again first
    assert {one.assessor for one in store.standing()} == {"bob"}
    assert found_by(engine, store) == found_by_replay(store)


def test_a_skip_that_is_taken_back_no_longer_puts_off(store: Store) -> None:
    engine = begin(store)
    first, second = (lease.doc for lease in engine.next("ann", TOPIC, 2))
    for number, doc in enumerate((first, second, first)):
        engine.skip("ann", TOPIC, doc, key=f"skip-{number}")
    assert list(engine._replay._put_off("ann", TOPIC)) == [second, first]
    assert [offer.doc for offer in engine._replay.offers("ann", TOPIC, 1)][-2:] == [second, first]
    engine.withdraw("ann", TOPIC, key="undo-1")  # the time before counts
    assert list(engine._replay._put_off("ann", TOPIC)) == [first, second]
    engine.withdraw("ann", TOPIC, key="undo-2")
    assert list(engine._replay._put_off("ann", TOPIC)) == [first]
    assert engine._replay.offers("ann", TOPIC, 9) == Engine(store)._replay.offers("ann", TOPIC, 9)
    engine.withdraw("ann", TOPIC, key="undo-3")
    store.release("ann")
    assert [lease.doc for lease in engine.next("ann", TOPIC, 2)] == [first, second]
    assert engine.withdraw("ann", TOPIC, key="undo-4") is None


def test_the_interface_says_what_was_taken_back(project: Project) -> None:
    add_person(project, "ann", topics=("MB001",))
    ann = signed_in(project, "ann")
    first, second = (one["doc"] for one in ann.client.get("/api/next?topic=MB001").json()["documents"])
    keys = (f"key-number-{number}" for number in range(99))

    def send(path: str, **given: Any) -> dict[str, Any]:
        answer = ann.send(f"/api/{path}", {"topic": "MB001", "key": next(keys), **given})
        assert answer.status_code == 200
        reply: dict[str, Any] = answer.json()
        return reply

    def undone(doc: str | None = None) -> tuple[Any, ...]:
        reply = send("undo", doc=doc)
        at_hand = [one["doc"] for one in reply["documents"]][:1] == [reply["doc"]]
        return reply["doc"], reply["undid"], reply["restored"], at_hand

    def shown() -> tuple[Any, ...]:
        one = ann.client.get(f"/api/document?topic=MB001&doc={first}").json()
        return one["judged"], one["grade"], one["comment"]

    assert send("judge", doc=first, grade=2, comment="good", active=3)["undid"] is None
    send("judge", doc=first, grade=None, comment="cut off")
    send("judge", doc=first, grade=0)
    send("skip", doc=second, active=4.5, away=0.5)
    feed = LiveFeed(project)
    assert feed.current()["assessors"][0] | {"per_active_hour": None} == {
        "name": "ann", "judged": 1, "relevant": 0, "cannot": 0, "changed": 1, "last_hour": 1, "elsewhere": 0,
        "per_active_hour": None,
    }  # fmt: skip
    assert feed.current()["assessors"][0]["per_active_hour"] == pytest.approx(3600 / 7.5)
    assert undone() == (second, "skip", None, True)
    assert shown() == (True, 0, "")
    assert undone(first) == (first, "change", None, False)
    assert shown() == (True, None, "cut off")
    assert undone() == (first, "change", 2, False)
    assert shown() == (True, 2, "good")
    assert ann.client.get("/api/topics").json()[0]["judged"] == 1
    assert undone() == (first, "judge", None, True)
    assert shown() == (False, None, "")
    assert undone() == (None, None, None, False)
    feed._made = 0.0
    assert [one["judged"] for one in feed.current()["assessors"]] == [0]
