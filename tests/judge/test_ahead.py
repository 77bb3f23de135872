"""What an assessor is told to be still to come is what then comes."""

from __future__ import annotations

from typing import Any

import pytest
from tests.judge.small import TOPICS, begin
from tests.judge.web import Browser, add_person, signed_in

from sounding.judge.engine import Engine
from sounding.judge.project import Project
from sounding.judge.settings import Order
from sounding.judge.store import Store

TOPIC = TOPICS[0]


def judge_next(engine: Engine, assessor: str) -> str | None:
    """Judge the next document; None: there is none."""
    leases = engine.next(assessor, TOPIC)
    if not leases:
        return None
    doc = leases[0].doc
    engine.judge(assessor, TOPIC, doc, len(doc) % 2, key=f"{assessor}-{engine.catch_up()}")
    return doc


@pytest.mark.parametrize("order", ["depth", "rank", "uniform-sample", "stratified-sample"])
@pytest.mark.parametrize("batch", [1, 3])
def test_what_is_left_is_what_comes(store: Store, order: str, batch: int) -> None:
    engine = begin(store, order=Order(policy=order, batch=batch))
    left = engine.ahead("ann", TOPIC).left
    assert left
    for more in range(left, 0, -1):
        assert engine.ahead("ann", TOPIC).left == more
        assert judge_next(engine, "ann") is not None
    assert engine.ahead("ann", TOPIC).left == 0
    assert judge_next(engine, "ann") is None


def test_what_others_judged_is_left_for_a_second_assessor(store: Store) -> None:
    engine = begin(store, order=Order(policy="depth"), overlap=2)
    every = engine.ahead("ann", TOPIC).left
    assert every is not None
    for _ in range(3):
        judge_next(engine, "ann")
    assert engine.ahead("ann", TOPIC).left == every - 3
    assert engine.ahead("bob", TOPIC).left == every  # her three as well
    skipped = engine.next("bob", TOPIC)[0].doc
    engine.skip("bob", TOPIC, skipped, key="skip")
    assert engine.ahead("bob", TOPIC).left == every  # put off is not done
    came = 0
    while judge_next(engine, "bob") is not None:
        came += 1
        assert engine.ahead("bob", TOPIC).left == every - came
    assert came == every
    assert engine.ahead("ann", TOPIC).left == every - 3


@pytest.mark.parametrize("order", ["mtc", "hedge"])
def test_an_order_that_goes_by_the_judgments_fixes_no_number(store: Store, order: str) -> None:
    engine = begin(store, order=Order(policy=order))
    assert engine.ahead("ann", TOPIC).left is None
    while judge_next(engine, "ann") is not None:
        pass
    assert engine.ahead("ann", TOPIC).left == 0


def test_a_batch_runs_out_and_the_next_one_begins(store: Store) -> None:
    engine = begin(store, order=Order(policy="mtc", batch=3, warm_up=2))
    sizes = []
    while True:
        ahead = engine.ahead("ann", TOPIC)
        if ahead.left == 0:
            break
        sizes.append((ahead.batch_left, ahead.batch_size))
        judge_next(engine, "ann")
    assert sizes[:6] == [(2, 2), (1, 2), (3, 3), (2, 3), (1, 3), (3, 3)]
    rest = sizes[-1][1]  # the last batch has what is left
    assert sizes[-rest:] == [(one, rest) for one in range(rest, 0, -1)]
    engine.withdraw("ann", TOPIC, key="undo")
    assert (engine.ahead("ann", TOPIC).batch_left, engine.ahead("ann", TOPIC).left) == (1, None)


def test_a_batch_is_told_to_each_assessor_by_what_is_left_of_it_for_them(store: Store) -> None:
    engine = begin(store, order=Order(policy="depth", batch=5), overlap=2)

    def batch(who: str) -> tuple[int, int]:
        ahead = engine.ahead(who, TOPIC)
        return ahead.batch_left, ahead.batch_size

    for _ in range(3):
        judge_next(engine, "ann")
    assert (batch("ann"), batch("bob")) == ((2, 5), (5, 5))
    for left in (4, 3, 2, 1):
        judge_next(engine, "bob")
        assert batch("bob") == (left, 5)
    assert batch("ann") == (2, 5)  # his fourth was new, and is to come to her
    assert batch("cem") == (2, 5)  # three of the five have been judged by two
    judge_next(engine, "bob")
    assert batch("bob")[0] == batch("bob")[1]  # the next batch
    assert batch("ann") == (2, 5)


def test_a_judgment_that_is_taken_back_opens_its_batch_again(store: Store) -> None:
    engine = begin(store, order=Order(policy="mtc", batch=3))

    def batch() -> tuple[int, int]:
        ahead = engine.ahead("ann", TOPIC)
        return ahead.batch_left, ahead.batch_size

    for _ in range(3):
        judge_next(engine, "ann")
    assert batch() == (3, 3)
    found = []
    for number in range(3):
        engine.withdraw("ann", TOPIC, key=f"undo-{number}")
        found.append(batch())
    assert found == [(1, 3), (2, 3), (3, 3)]
    for wanted in ((2, 3), (1, 3), (3, 3)):
        judge_next(engine, "ann")
        assert batch() == wanted
    engine.judge("ann", TOPIC, "d00", 1, key="by a search")  # of a later batch, or of none so far
    engine.withdraw("ann", TOPIC, key="undo")
    assert batch() == (3, 3)


def test_a_replay_tells_the_same(store: Store) -> None:
    engine = begin(store, order=Order(policy="mtc", batch=3))
    for _ in range(4):
        judge_next(engine, "ann")
    assert Engine(store).ahead("ann", TOPIC) == engine.ahead("ann", TOPIC)


def told(ann: Browser, topic: str = "MB001") -> str:
    """What the programming interface says; the pages must say the same."""
    [one] = [one for one in ann.client.get("/api/topics").json() if one["topic"] == topic]
    words: str = one["coming"]["words"]
    assert words in ann.get("/").text
    assert f'<span id="coming">{words}</span>' in ann.get(f"/judge?topic={topic}").text
    assert ann.client.get("/api/next", params={"topic": topic}).json()["coming"] == one["coming"]
    return words


def test_pages_tell_what_is_to_come(project: Project) -> None:
    add_person(project, "ann", topics=("MB001",))
    ann = signed_in(project, "ann")
    engine = project.engine
    assert told(ann) == "more follow as needed"
    assert "Topics without a fixed number of documents" in ann.get("/").text
    assert "<progress" not in ann.get("/").text
    engine.set_order("MB001", Order(policy="mtc", batch=10))
    assert told(ann) == "10 of 10 left in this batch, more follow as needed"
    engine.set_order("MB001", Order(policy="depth"))
    every = engine.counts().of("MB001").left
    assert told(ann) == f"{every} left"
    assert f'max="{every}" value="0"' in ann.get("/").text
    assert "Topics without a fixed number of documents" not in ann.get("/").text
    engine.set_order("MB001", Order(policy="depth", batch=10))
    project.store.release("assessor-1")  # what was at hand from the orders before
    first = ann.client.get("/api/next", params={"topic": "MB001"}).json()["documents"][0]["doc"]
    given: dict[str, Any] = {"topic": "MB001", "doc": first, "grade": 1, "key": "key-00000001"}
    answer = ann.send("/api/judge", given).json()
    assert answer["coming"] == {
        "left": every - 1, "batch_left": 9, "batch_size": 10, "elsewhere": 0,
        "words": f"9 of 10 left in this batch, {every - 1} left in all",
    }  # fmt: skip
    assert told(ann) == answer["coming"]["words"]
    while leases := engine.next("assessor-1", "MB001", 5):
        for lease in leases:
            engine.judge("assessor-1", "MB001", lease.doc, 0, key=f"key-{lease.doc}-long")
    assert told(ann) == "nothing left for you"
    engine.set_status("MB001", "candidate")
    assert told(ann) == "not open for judging yet"
