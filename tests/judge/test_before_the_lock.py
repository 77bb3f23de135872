"""While a grade is recorded no other process can write: what takes long is done before, so that nobody waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
from tests.judge.small import TOPICS, begin, draw_runs, found_by, found_by_replay

from sounding.core.errors import DataError
from sounding.judge import database
from sounding.judge.database import StoreError
from sounding.judge.engine import FEW, TRIES, Engine
from sounding.judge.records import Submission
from sounding.judge.settings import Order
from sounding.judge.state import JudgingState
from sounding.judge.store import Store, open_store
from sounding.judge.verify import snapshot
from sounding.relevance.model import Fit
from sounding.selection.mtc.session import Session

WAIT = 0.2  # seconds that the other process waits for its turn


class Other:
    """Another process: an engine of its own on the same database."""

    def __init__(self, place: str) -> None:
        self.store = open_store(place)
        self.engine = Engine(self.store)
        self.runs = 0

    def write(self) -> None:
        """Something that no log has; it fails while somebody else holds the lock."""
        self.store.log_search("c", None, "whales", 0, first=1, total=0)

    def add_run(self) -> None:
        self.runs += 1
        self.engine.add_runs({f"late{self.runs}": draw_runs(9)["run0"]})

    def fit(self) -> None:
        assert self.engine.refit_if_due(quiet=True)

    def change_settings(self) -> None:
        self.engine.change_settings(replace(self.engine.settings, overlap=2))

    def drop_topic(self) -> None:
        self.engine.set_status(TOPICS[0], "dropped")

    def change_order(self) -> None:
        self.engine.set_order(None, Order(policy="hedge"))

    def import_many(self) -> None:
        self.store.judge_all(
            Submission(assessor="import-x", topic="7", doc=f"elsewhere{number}", grade=1, key=f"{number}")
            for number in range(2 * FEW)
        )


ACTS = [Other.add_run, Other.fit, Other.change_settings, Other.drop_topic, Other.change_order]


@pytest.fixture
def engine(store: Store) -> Engine:
    """An engine in the middle of judging."""
    made = begin(store)
    for topic in TOPICS:
        store.save_topic(topic, title="x", status="chosen")
    for number in range(15):
        topic = TOPICS[number % 3]
        for lease in made.next("a", topic):
            made.judge("a", topic, lease.doc, number % 2, key=f"key-{number}")
    return made


@pytest.fixture
def other(engine: Engine, place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Other]:
    monkeypatch.setattr(database, "BUSY_SECONDS", WAIT)
    made = Other(place)
    yield made
    made.store.close()


@pytest.fixture
def long_work(other: Other, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What took long so far; whenever it happens, the other process can write."""
    done: list[str] = []
    build, tell, fitting = JudgingState._build_pool, JudgingState._catch_up, Session.fitting

    def built(replay: JudgingState) -> Any:
        done.append("all that follows from the runs")
        other.write()
        return build(replay)

    def told(replay: JudgingState, *given: Any) -> None:
        done.append("a strategy")
        other.write()
        tell(replay, *given)

    def asked(session: Session) -> Callable[[], Fit]:
        work = fitting(session)

        def fit() -> Fit:
            done.append("a fit")
            other.write()
            return work()

        return fit

    monkeypatch.setattr(JudgingState, "_build_pool", built)
    monkeypatch.setattr(JudgingState, "_catch_up", told)
    monkeypatch.setattr(Session, "fitting", asked)
    return done


def judge_after(act: Callable[[], None], engine: Engine, store: Store) -> None:
    """Have a document; somebody does something; give the grade, and have the next one."""
    [lease] = engine.next("b", "7")
    act()
    receipt, _ = engine.and_next(lambda: engine.judge("b", "7", lease.doc, 1, key="key-of-b"), "b", "7", 2)
    assert receipt is not None
    assert (receipt.event.assessor, receipt.event.doc) == ("b", lease.doc)
    assert found_by(engine, store) == found_by_replay(store)


@pytest.mark.parametrize("act", ACTS)
def test_what_another_process_did_is_followed_before_the_lock_is_taken(
    act: Callable[[Other], None], engine: Engine, other: Other, store: Store, long_work: list[str]
) -> None:
    def do() -> None:
        act(other)
        long_work.clear()

    judge_after(do, engine, store)
    assert long_work


@contextmanager
def just_before_the_lock(
    acts: list[Callable[[], None]], monkeypatch: pytest.MonkeyPatch, store: Store
) -> Any:
    """The acts happen one by one, each when a transaction of this store is about to begin."""
    together = store.together

    def late() -> Any:
        if acts:
            acts.pop(0)()
        return together()

    with monkeypatch.context() as patch:
        patch.setattr(store, "together", late)
        yield


@pytest.mark.parametrize("act", ACTS)
def test_what_came_while_it_was_waited_for_the_lock_is_followed_without_it(
    act: Callable[[Other], None],
    engine: Engine,
    other: Other,
    store: Store,
    long_work: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    acts: list[Callable[[], None]] = []

    def begin_to_act() -> None:
        long_work.clear()
        acts.extend([lambda: act(other), other.add_run, other.write])

    with just_before_the_lock(acts, monkeypatch, store):
        judge_after(begin_to_act, engine, store)
    assert acts == []  # the lock was given back twice
    assert long_work


def test_others_who_never_stop_hold_nobody_up(
    engine: Engine, other: Other, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    acts: list[Callable[[], None]] = []
    with just_before_the_lock(acts, monkeypatch, store):
        judge_after(lambda: acts.extend([other.add_run] * 2 * TRIES), engine, store)
    assert len(acts) == TRIES


def test_nobody_takes_back_what_is_being_settled(
    engine: Engine, other: Other, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    judgment = store.standing()[0]
    append = store.append

    def late(*given: Any, **named: Any) -> Any:
        with pytest.raises(StoreError):
            other.engine.withdraw(judgment.assessor, judgment.topic, judgment.doc, key="taken-back")
        return append(*given, **named)

    monkeypatch.setattr(store, "append", late)
    engine.adjudicate("o", judgment.topic, judgment.doc, 1, key="settled")
    assert judgment.sequence in {one.sequence for one in store.standing()}


def test_a_long_import_is_followed_without_the_lock(
    engine: Engine, other: Other, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    take = JudgingState._take

    def taken(replay: JudgingState, event: Any) -> None:
        if event.assessor == "import-x" and event.doc == "elsewhere0":
            other.write()
        take(replay, event)

    monkeypatch.setattr(JudgingState, "_take", taken)
    with just_before_the_lock([other.import_many], monkeypatch, store):
        judge_after(lambda: None, engine, store)


def test_a_transaction_in_another_is_part_of_it(engine: Engine, store: Store) -> None:
    """Also in this: what a failure takes back is taken back whole, and forgotten."""
    before, present = store.last_sequence(), found_by(engine, store)

    def fail() -> None:
        with engine.together():
            engine.set_status(TOPICS[0], "dropped")
            with engine.together():
                engine.set_status(TOPICS[1], "dropped")
            assert store.last_sequence() == before + 2
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store.last_sequence() == before
    assert found_by(engine, store) == present


def test_a_transaction_in_another_does_no_long_work_of_its_own(
    engine: Engine, store: Store, long_work: list[str]
) -> None:
    with engine.together():
        long_work.clear()
        engine.set_status(TOPICS[0], "dropped")
        with engine.together():
            store.set_setting("instructions", "read it")
        assert long_work == []
    assert found_by(engine, store) == found_by_replay(store)


def test_what_was_refused_makes_no_replay_anew(
    engine: Engine, other: Other, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    other.store.judge(Submission(assessor="c", topic="7", doc="elsewhere", grade=1, key="key-of-c"))
    replays: list[object] = []
    monkeypatch.setattr("sounding.judge.engine.JudgingState", lambda *_: replays.append(1))
    with pytest.raises(DataError, match="nobody has judged document"):
        engine.adjudicate("olga", "7", "nobody judged this", 1, key="key-of-olga")
    assert engine.catch_up() == store.last_sequence()
    assert replays == []


def test_what_was_done_and_not_recorded_is_forgotten_before_anything_else_is_done(
    engine: Engine, store: Store
) -> None:
    def break_off(doc: str) -> None:
        with engine.together():
            engine.judge("b", "7", doc, 1, key="key-of-b")
            raise ZeroDivisionError

    [lease] = engine.next("b", "7")
    before = store.last_sequence()
    with pytest.raises(ZeroDivisionError):
        break_off(lease.doc)
    assert store.last_sequence() == before
    receipt, _ = engine.and_next(lambda: engine.judge("b", "7", lease.doc, 0, key="key-two"), "b", "7", 2)
    assert receipt is not None
    assert receipt.event.sequence == before + 1
    assert found_by(engine, store) == found_by_replay(store)


def test_a_judgment_outside_a_transaction_after_one_that_broke_off_is_taken_in_anew(
    engine: Engine, store: Store
) -> None:
    def break_off() -> None:
        with engine.together():
            engine.judge("b", "7", lease.doc, 1, key="key-of-b")
            engine.judge("b", "7", lease.doc, 2, key="key-of-c")
            raise ZeroDivisionError

    [lease] = engine.next("b", "7")
    with pytest.raises(ZeroDivisionError):
        break_off()
    other = Engine(store)
    other.judge("c", "7", "d01", 1, key="key-1")
    other.judge("c", "7", "d02", 1, key="key-2")
    engine.judge("b", "7", lease.doc, 0, key="key-3")  # its number would follow what was not recorded
    assert snapshot(store, engine._replay, store.last_sequence()) == found_by_replay(store)


@pytest.mark.parametrize("since", ["less", "as much", "more"])
def test_a_log_that_lacks_what_was_read_is_refused_from_then_on(
    since: str, engine: Engine, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a backup that was restored under a running server, and what others have recorded since."""
    [lease] = engine.next("b", "7")
    event = store.judge(Submission(assessor="c", topic="7", doc="elsewhere", grade=1, key="key-of-c")).event
    count = {"less": 1, "as much": 0, "more": -1}[since]
    with engine._lock:  # what the engine has read is an event of this number that is there no longer
        engine._replay.sequence, engine._replay.time = event.sequence + count, event.time - 1
    for act in (
        lambda: engine.and_next(lambda: engine.judge("b", "7", lease.doc, 1, key="k"), "b", "7", 1),
        lambda: engine.next("b", "7"),
        engine.counts,
        lambda: store.set_setting("title", "never"),
    ):
        with pytest.raises(StoreError, match=r"the log lacks event .* stop the server and start it again"):
            act()
    assert store.last_sequence() == event.sequence
