"""Whatever people do, in whatever order, with restarts in between: the same as a few plain dicts."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from tests.judging.databases import Server
from tests.judging.small import TOPICS, begin, draw_runs, found_by, found_by_replay

from sounding.judging.engine import Engine
from sounding.judging.exports import qrels_lines
from sounding.judging.settings import Order
from sounding.judging.store import Store, StoreError, open_store
from sounding.judging.verify import _unlike_topics

PEOPLE = st.sampled_from(["assessor-1", "assessor-2", "assessor-3"])
TOPIC = st.sampled_from(TOPICS)
GRADE = st.sampled_from([0.0, 1.0, 2.0, None])
LEASE_SECONDS = 100.0


class Judging(RuleBasedStateMachine):
    """People at work; `self.model` has the grades that stand, by pair and assessor, in their order."""

    fresh: Any = None  # gives the place of a new database, and takes it away
    seen: Counter[str]  # sessions, the events of their logs, and the moments whose exports were made again

    def __init__(self) -> None:
        super().__init__()
        self.place, self.remove = self.fresh()
        self.clock = SimpleNamespace(now=1000.0)
        self.patch = pytest.MonkeyPatch()
        for module in ("store", "people", "log", "topics"):
            self.patch.setattr(
                f"sounding.judging.{module}.time", SimpleNamespace(time=lambda: self.clock.now)
            )
        self.signed: dict[str, tuple[str, float]] = {}  # cookie -> who is signed in, until when
        self.model: dict[tuple[str, str], dict[str, float | None]] = {}
        self.statuses: dict[str, str] = dict.fromkeys(TOPICS, "chosen")
        self.moments: dict[int, list[str]] = {}  # the qrels as they were after an event
        self.acts: list[tuple[str, ...]] = []  # what the log should hold: kind, assessor, topic, doc
        self.keys = 0
        self.runs = 0

    @initialize(
        overlap=st.sampled_from([1, 2]),
        order=st.sampled_from(
            [
                Order(),
                Order(batch=3, warm_up=2),
                Order(policy="depth"),
                Order(policy="move-to-front", batch=2),
            ]
        ),
        seed=st.integers(0, 3),
    )
    def start(self, overlap: int, order: Order, seed: int) -> None:
        self.overlap = overlap
        self.store = open_store(self.place)
        self.engine = begin(
            self.store, runs=draw_runs(seed), overlap=overlap, order=order, lease_seconds=LEASE_SECONDS
        )
        self.users = {
            (user := self.store.add_user(name, "assessor")).pseudonym: user.id
            for name in ("ann", "bob", "cem")
        }
        for topic in TOPICS:
            self.store.save_topic(topic, title="x", status="chosen")
        self.begun = self.store.last_sequence()

    def key(self) -> str:
        self.keys += 1
        return str(self.keys)

    def others(self, topic: str, doc: str, assessor: str) -> int:
        held = sum(
            lease.doc == doc and lease.assessor != assessor for lease in self.store.leases(topic=topic)
        )
        judged = sum(name != assessor for name in self.model.get((topic, doc), {}))
        return held + judged

    @rule(assessor=PEOPLE, topic=TOPIC, count=st.sampled_from([1, 2]))
    def next(self, assessor: str, topic: str, count: int) -> None:
        own = [lease.doc for lease in self.store.leases(assessor, topic)]
        if self.statuses[topic] != "chosen":
            assert [lease.doc for lease in self.engine.next(assessor, topic, count)] == own[:count]
            assert self.engine.left(topic) == 0
            return
        found = [lease.doc for lease in self.engine.next(assessor, topic, count)]
        assert found[: len(own)] == own[:count]
        assert len(set(found)) == len(found) <= count
        for doc in found[len(own) :]:
            assert assessor not in self.model.get((topic, doc), {})
            assert self.others(topic, doc, assessor) < self.overlap
        if len(found) < count:  # nothing is left that this assessor could judge
            assert self.engine.left(topic) <= len({lease.doc for lease in self.store.leases(topic=topic)})

    @rule(assessor=PEOPLE, topic=TOPIC, grade=GRADE, twice=st.booleans())
    def judge(self, assessor: str, topic: str, grade: float | None, twice: bool) -> None:
        leases = self.engine.next(assessor, topic)
        if not leases:
            return
        self.submit(assessor, topic, leases[0].doc, grade, twice)

    @precondition(lambda self: self.model)
    @rule(data=st.data(), grade=GRADE)
    def change(self, data: st.DataObject, grade: float | None) -> None:
        pair = data.draw(st.sampled_from(sorted(self.model)))
        assessor = data.draw(st.sampled_from(sorted(self.model[pair])))
        self.submit(assessor, *pair, grade, False)

    @rule(assessor=PEOPLE, topic=TOPIC, doc=st.sampled_from(["d01", "d02", "nowhere"]), grade=GRADE)
    def judge_what_a_search_found(self, assessor: str, topic: str, doc: str, grade: float | None) -> None:
        self.submit(assessor, topic, doc, grade, False)

    @rule(assessor=PEOPLE, topic=TOPIC, grade=GRADE)
    def the_disk_fails_between_a_grade_and_the_next_document(
        self, assessor: str, topic: str, grade: float | None
    ) -> None:
        leases = self.engine.next(assessor, topic)
        if not leases:
            return
        key = self.key()
        with pytest.MonkeyPatch.context() as broken:
            broken.setattr(Store, "lease", refuse)
            with pytest.raises(StoreError):
                self.engine.and_next(
                    lambda: self.engine.judge(assessor, topic, leases[0].doc, grade, key=key),
                    assessor, topic, 1,
                )  # fmt: skip

    def submit(self, assessor: str, topic: str, doc: str, grade: float | None, twice: bool) -> None:
        key = self.key()
        first, following = self.engine.and_next(
            lambda: self.engine.judge(assessor, topic, doc, grade, key=key), assessor, topic, 1
        )
        assert first is not None
        assert doc not in [lease.doc for lease in following]
        if twice:
            again = self.engine.judge(assessor, topic, doc, grade, key=key)
            assert (again.event, again.repeated) == (first.event, True)
        self.model.setdefault((topic, doc), {})[assessor] = grade
        self.acts.append(("judge", assessor, topic, doc))

    @rule(assessor=PEOPLE, topic=TOPIC)
    def undo(self, assessor: str, topic: str) -> None:
        receipt = self.engine.withdraw(assessor, topic, key=self.key())
        standing = [pair for pair, grades in self.model.items() if pair[0] == topic and assessor in grades]
        if receipt is None:
            assert not standing
            return
        pair = (topic, receipt.event.doc or "")
        mine = [act[3] for act in self.acts if act[:3] == ("judge", assessor, topic)]
        assert pair == (topic, next(doc for doc in reversed(mine) if (topic, doc) in standing))
        del self.model[pair][assessor]
        if not self.model[pair]:
            del self.model[pair]
        self.acts.append(("withdraw", assessor, *pair))

    @rule(assessor=PEOPLE, topic=TOPIC)
    def skip(self, assessor: str, topic: str) -> None:
        leases = self.engine.next(assessor, topic)
        if leases:
            self.engine.skip(assessor, topic, leases[0].doc, key=self.key())
            self.acts.append(("skip", assessor, topic, leases[0].doc))
            assert leases[0].doc not in [lease.doc for lease in self.store.leases(assessor, topic)]

    @rule(topic=TOPIC, status=st.sampled_from(["chosen", "chosen", "dropped", "candidate"]))
    def choose_or_drop_a_topic(self, topic: str, status: Any) -> None:
        self.engine.set_status(topic, status)
        if status != self.statuses[topic]:
            self.acts.append(("topic",))
            self.statuses[topic] = status
            assert status == "chosen" or self.store.leases(topic=topic) == []
        used = {name for name, one in self.statuses.items() if one == "chosen"}
        assert (self.engine.why_no_ranking() == "") == bool(used)
        if used:
            live = self.engine.live()
            assert set(live.topics) == used
            assert live.judged == sum(topic in used for topic, _ in self.model)
            assert sum(live.unused.values()) == len(self.model) - live.judged

    @precondition(lambda self: self.moments)
    @rule(data=st.data())
    def export_as_of_a_moment(self, data: st.DataObject) -> None:
        moment = data.draw(st.sampled_from(sorted(self.moments)))
        assert list(qrels_lines(self.store, "first", moment)) == self.moments[moment]

    @precondition(lambda self: self.runs < 2)
    @rule()
    def add_a_run(self) -> None:
        self.runs += 1
        run = draw_runs(40 + self.runs, runs=2)["run0"]
        self.engine.add_runs({f"late{self.runs}": run})
        self.acts.append(("run",))

    @rule(topic=TOPIC, order=st.sampled_from([Order(), Order(batch=2), Order(policy="rank")]))
    def change_the_order(self, topic: str, order: Order) -> None:
        self.engine.set_order(topic, order)
        self.acts.append(("order",))

    @rule()
    def fit_the_model(self) -> None:
        if self.engine.refit_if_due():
            self.acts += [("fit",), ("refit",)]

    @rule()
    def restart(self) -> None:
        before = found_by(self.engine, self.store)
        self.store.close()
        self.store = open_store(self.place)
        self.engine = Engine(self.store)
        assert found_by(self.engine, self.store) == before

    @rule()
    def all_leases_expire(self) -> None:
        self.clock.now = max([self.clock.now, *(lease.expires for lease in self.store.leases())]) + 1
        assert self.store.leases() == []

    @rule(assessor=PEOPLE, seconds=st.sampled_from([30.7, 300.7]))
    def sign_in(self, assessor: str, seconds: float) -> None:
        now, cookie = self.clock.now, f"cookie-{self.key()}"
        self.store.add_sign_in(self.users[assessor], cookie, now + seconds)
        # Those that have expired are forgotten, whatever the clock says later.
        self.signed = {name: one for name, one in self.signed.items() if one[1] > now}
        self.signed[cookie] = (assessor, now + seconds)

    @rule(assessor=PEOPLE)
    def sign_out(self, assessor: str) -> None:
        self.store.end_sign_ins(self.users[assessor])
        self.signed = {name: one for name, one in self.signed.items() if one[0] != assessor}
        assert self.store.leases(assessor) == []

    @invariant()
    def those_are_signed_in_whose_time_has_not_passed(self) -> None:
        for cookie, (assessor, expires) in self.signed.items():
            found = self.store.sign_in(cookie)
            assert (None if found is None else found.user.pseudonym) == (
                assessor if expires > self.clock.now else None
            )

    @rule(seconds=st.floats(-50, 50))
    def the_clock_jumps(self, seconds: float) -> None:
        self.clock.now += seconds

    @invariant()
    def what_stands_is_what_the_model_has(self) -> None:
        if not hasattr(self, "store"):
            return
        standing = {(one.topic, one.doc, one.assessor): one.grade for one in self.store.standing()}
        assert standing == {
            (*pair, name): grade for pair, grades in self.model.items() for name, grade in grades.items()
        }
        assert self.store.last_sequence() == self.begun + len(self.acts)

    @invariant()
    def qrels_have_the_first_grade_of_every_document(self) -> None:
        if not hasattr(self, "store"):
            return
        expected = []
        for (topic, doc), grades in sorted(
            self.model.items(), key=lambda item: [part.encode() for part in item[0]]
        ):
            given = [grade for grade in grades.values() if grade is not None]
            if given and self.statuses[topic] == "chosen":
                expected.append(f"{topic} 0 {doc} {given[0]:g}\n")
        assert list(qrels_lines(self.store, "first")) == expected
        self.moments[self.store.last_sequence()] = expected

    @invariant()
    def nobody_shares_a_document_beyond_the_overlap(self) -> None:
        if hasattr(self, "store"):
            holders = Counter((lease.topic, lease.doc) for lease in self.store.leases())
            assert max(holders.values(), default=0) <= self.overlap

    def teardown(self) -> None:
        if hasattr(self, "store"):
            kinds = [event.kind for event in self.store.events()][self.begun :]
            assert kinds == [act[0] for act in self.acts]
            for moment, expected in self.moments.items():
                assert list(qrels_lines(self.store, "first", moment)) == expected
            assert list(_unlike_topics(self.store, self.store.last_sequence())) == []
            self.seen.update(["session", *["moment"] * len(self.moments), *kinds])
            assert found_by(self.engine, self.store) == found_by_replay(self.store)
            self.store.close()
        self.patch.undo()
        self.remove()


def refuse(*_: object, **__: object) -> None:
    raise StoreError("the disk is full")


def in_a_folder() -> tuple[str, Any]:
    folder = Path(tempfile.mkdtemp())
    return str(folder / "x.sqlite"), lambda: shutil.rmtree(folder)


def run(fresh: Any, examples: int, steps: int = 25) -> None:
    seen: Counter[str] = Counter()
    machine = type("Machine", (Judging,), {"fresh": staticmethod(fresh), "seen": seen})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
    print(dict(seen))  # noqa: T201 - how much was tried, for `pytest -rP`


def on(server: Server) -> Any:
    def fresh() -> tuple[str, Any]:
        url = server.fresh()
        return url, lambda: server.drop(url)

    return fresh


def test_judging_is_as_a_plain_model_has_it_in_sqlite() -> None:
    run(in_a_folder, 25)


def test_judging_is_as_a_plain_model_has_it_in_postgresql(postgresql: Server) -> None:
    run(on(postgresql), 6)


@pytest.mark.long
def test_judging_is_as_a_plain_model_has_it_over_many_examples_in_sqlite() -> None:
    run(in_a_folder, 500, steps=50)


@pytest.mark.long
def test_judging_is_as_a_plain_model_has_it_over_many_examples_in_postgresql(postgresql: Server) -> None:
    run(on(postgresql), 60, steps=50)
