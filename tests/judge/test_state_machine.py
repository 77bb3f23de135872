"""Whatever people do, in whatever order, with restarts in between: the same as a few plain dicts."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

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
from tests.judge.databases import Server, set_clocks
from tests.judge.small import TOPICS, begin, draw_runs, found_by, found_by_replay

from sounding.judge.database import StoreError
from sounding.judge.engine import Engine
from sounding.judge.exports import Export
from sounding.judge.log import append
from sounding.judge.review import audit_of, draw_audit, record_audit
from sounding.judge.settings import Feed, Order
from sounding.judge.store import Store, open_store
from sounding.judge.verify import _unlike_topics

PEOPLE = st.sampled_from(["assessor-1", "assessor-2", "assessor-3"])
TOPIC = st.sampled_from(TOPICS)
GRADE = st.sampled_from([0.0, 1.0, 2.0, None])
EXPERT = "assessor-8"  # who audits: beside the overlap
LEASE_SECONDS = 100.0
NO_GRADES = ("nobody could", "nobody judged", "waits")


@dataclass(eq=False)
class Act:
    """What somebody did: a judgment, with its grade and comment, or a skip."""

    kind: Literal["judge", "skip"]
    assessor: str
    topic: str
    doc: str
    grade: float | None = None
    comment: str = ""
    marks: dict[str, Any] = field(default_factory=dict)


class Judging(RuleBasedStateMachine):
    """People at work; `self.model` has the grades that stand, by pair and assessor, in their order."""

    fresh: Any = None  # gives the place of a new database, and takes it away
    seen: Counter[str]  # sessions, the events of their logs, and the moments whose exports were made again

    def __init__(self) -> None:
        super().__init__()
        self.place, self.remove = self.fresh()
        self.clock = SimpleNamespace(now=1000.0)
        self.patch = pytest.MonkeyPatch()
        for module in ("store", "people", "log"):
            self.patch.setattr(f"sounding.judge.{module}.time", SimpleNamespace(time=lambda: self.clock.now))
        set_clocks(self.patch, lambda: self.clock.now)
        self.signed: dict[str, tuple[str, float]] = {}  # cookie -> who is signed in, until when
        self.model: dict[tuple[str, str], dict[str, float | None]] = {}
        self.statuses: dict[str, str] = dict.fromkeys(TOPICS, "chosen")
        self.moments: dict[int, list[str]] = {}  # the qrels as they were after an event
        self.acts: list[tuple[str, ...]] = []  # what the log should hold: kind, assessor, topic, doc
        self.done: list[Act] = []  # that was not taken back
        self.settled: dict[tuple[str, str], float] = {}  # what an organizer has said last
        self.keys = 0
        self.runs = 0

    @initialize(
        overlap=st.sampled_from([1, 2]),
        feed=st.sampled_from(["first", "majority", "adjudicated"]),
        order=st.sampled_from(
            [
                Order(),
                Order(batch=3, warm_up=2),
                Order(policy="depth"),
                Order(policy="move-to-front", batch=2),
                Order(policy="hedge"),
                Order(policy="max-mean"),
                Order(policy="stratified-sample", parameters={"strata": "2:1,8:0.5"}, batch=2),
            ]
        ),
        seed=st.integers(0, 3),
    )
    def start(self, overlap: int, feed: Feed, order: Order, seed: int) -> None:
        self.overlap, self.feed = overlap, feed
        self.store = open_store(self.place)
        self.engine = begin(
            self.store, runs=draw_runs(seed), overlap=overlap, feed=feed, order=order,
            lease_seconds=LEASE_SECONDS,
        )  # fmt: skip
        self.users = {
            (user := self.store.add_user(name, "assessor")).pseudonym: user.id
            for name in ("ann", "bob", "cem")
        }
        for topic in TOPICS:
            self.store.save_topic(topic, title="x", status="chosen")
        self.begun = self.store.last_sequence()
        self.other_store = open_store(self.place)  # of another process, which serves the same people
        self.other = Engine(self.other_store)

    def key(self) -> str:
        self.keys += 1
        return str(self.keys)

    def others(self, topic: str, doc: str, assessor: str) -> int:
        held = sum(
            lease.doc == doc and lease.assessor != assessor for lease in self.store.leases(topic=topic)
        )
        judged = sum(name not in (assessor, EXPERT) for name in self.model.get((topic, doc), {}))
        return held + judged

    @rule(assessor=PEOPLE, topic=TOPIC, count=st.sampled_from([1, 2]))
    def next(self, assessor: str, topic: str, count: int) -> None:
        own = [lease.doc for lease in self.store.leases(assessor, topic)]
        if self.statuses[topic] != "chosen":
            assert [lease.doc for lease in self.engine.next(assessor, topic, count)] == own[:count]
            assert self.engine.counts().of(topic).left == 0
            return
        found = [lease.doc for lease in self.engine.next(assessor, topic, count)]
        assert found[: len(own)] == own[:count]
        assert len(set(found)) == len(found) <= count
        for doc in found[len(own) :]:
            assert assessor not in self.model.get((topic, doc), {})
            assert self.others(topic, doc, assessor) < self.overlap
        if len(found) < count:  # nothing is left that this assessor could judge
            assert self.engine.counts().of(topic).left <= len(
                {lease.doc for lease in self.store.leases(topic=topic)}
            )

    @rule(
        assessor=PEOPLE, topic=TOPIC, grades=st.lists(GRADE, min_size=1, max_size=4), twice=st.booleans()
    )  # fmt: skip
    def judge(self, assessor: str, topic: str, grades: list[float | None], twice: bool) -> None:
        for grade in grades:  # several, so that there is often enough for a fit
            leases = self.engine.next(assessor, topic)
            if leases:
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
        comment = f"as of {key}"
        mark = float(self.keys % 3)
        kinds = {"contexts": {"contexts.1": {"grade": mark}}, "subtopics": {"a": mark, "b": 0.0}}
        marks: dict[str, Any] = kinds if self.keys % 2 else {}
        first, following = self.engine.and_next(
            lambda: self.engine.judge(assessor, topic, doc, grade, key=key, comment=comment, marks=marks),
            assessor, topic, 1,
        )  # fmt: skip
        assert first is not None
        assert doc not in [lease.doc for lease in following]
        if twice:
            again = self.engine.judge(assessor, topic, doc, grade, key=key)
            assert (again.event, again.repeated) == (first.event, True)
            same = self.engine.judge(
                assessor, topic, doc, grade, key=self.key(), comment=comment, marks=marks
            )
            assert (same.event, same.repeated) == (first.event, True)
        self.model.setdefault((topic, doc), {})[assessor] = grade
        # What was put off and is judged now is no longer put off, also if the judgment is taken back.
        self.done = [
            act for act in self.done if act.kind == "judge" or not is_about(act, assessor, topic, doc)
        ]
        self.done.append(Act("judge", assessor, topic, doc, grade, comment, marks))
        self.acts.append(("judge", assessor, topic, doc))

    @rule(assessor=PEOPLE, topic=TOPIC, named=st.booleans(), data=st.data(), twice=st.booleans())
    def undo(self, assessor: str, topic: str, named: bool, data: st.DataObject, twice: bool) -> None:
        own = [act for act in self.done if (act.assessor, act.topic) == (assessor, topic)]
        docs = sorted({act.doc for act in own})
        doc = data.draw(st.sampled_from(docs)) if named and docs else None
        key = self.key()
        receipt = self.engine.withdraw(assessor, topic, doc, key=key)
        last = next((act for act in reversed(own) if doc in (None, act.doc)), None)
        if last is None:
            assert receipt is None
            return
        assert receipt is not None
        assert receipt.event.doc == last.doc
        if twice:
            again = self.engine.withdraw(assessor, topic, doc, key=key)
            assert again is not None
            assert (again.event, again.repeated) == (receipt.event, True)
        self.done.remove(last)
        self.acts.append((self.take_back(last, receipt.event.detail), assessor, topic, last.doc))

    def take_back(self, last: Act, detail: dict[str, Any]) -> str:
        """Follow an undo; returns the kind of its event."""
        pair = (last.topic, last.doc)
        log = [event for event in self.store.events() if event.sequence == detail["undoes"]]
        assert [(event.kind, event.doc, event.assessor) for event in log] == [
            (last.kind, last.doc, last.assessor)
        ]
        before = [act for act in self.done if act.kind == "judge" and is_about(act, last.assessor, *pair)]
        if last.kind == "judge" and before:
            self.model[pair][last.assessor] = before[-1].grade
            assert last.doc not in [lease.doc for lease in self.store.leases(last.assessor, last.topic)]
            return "judge"
        if last.kind == "judge":
            self.forget(pair, last.assessor)
        elif last.assessor in self.model.get(pair, {}):
            return "unskip"
        at_hand = [lease.doc for lease in self.store.leases(last.assessor, last.topic)]
        assert (last.doc in at_hand) == (self.others(*pair, last.assessor) < self.overlap)
        return "withdraw" if last.kind == "judge" else "unskip"

    def forget(self, pair: tuple[str, str], assessor: str) -> None:
        del self.model[pair][assessor]
        if not self.model[pair]:
            del self.model[pair]

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def an_earlier_release_takes_back_all_that_stands(self, data: st.DataObject) -> None:
        pair = data.draw(st.sampled_from(sorted(self.model)))
        assessor = data.draw(st.sampled_from(sorted(self.model[pair])))
        [standing] = self.store.standing(topic=pair[0], doc=pair[1], assessor=assessor)
        with self.store._database.write() as run:
            append(
                run, "withdraw", topic=pair[0], doc=pair[1], assessor=assessor, key=self.key(),
                selection=standing.selection,
            )  # fmt: skip
        self.engine.catch_up()
        self.forget(pair, assessor)
        self.done = [act for act in self.done if not is_about(act, assessor, *pair)]
        self.acts.append(("withdraw", assessor, *pair))

    @rule(assessor=PEOPLE, topic=TOPIC)
    def skip(self, assessor: str, topic: str) -> None:
        leases = self.engine.next(assessor, topic)
        if leases:
            self.engine.skip(assessor, topic, leases[0].doc, key=self.key())
            self.done.append(Act("skip", assessor, topic, leases[0].doc))
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
            found: Counter[str] = Counter()
            for pair in {*self.model, *self.settled}:
                verdict = self.verdict(pair)
                found[f"{verdict if verdict in NO_GRADES else 'graded'}, {pair[0] in used}"] += 1
            assert live.total.judged == found["graded, True"] + found["nobody could, True"]
            assert (live.total.cannot, live.total.unsettled) == (
                found["nobody could, True"],
                found["waits, True"],
            )
            assert live.total.again == sum(
                len(given.keys() - {EXPERT}) < self.overlap
                for pair, given in self.model.items()
                if pair[0] in used
            )
            apart = sum(one.judged + one.unsettled for one in live.unused.values())
            assert apart == sum(found[f"{name}, False"] for name in ("graded", "nobody could", "waits"))

    @rule(assessor=PEOPLE, size=st.sampled_from([1, 3]), grade=GRADE, keeps=st.booleans(), data=st.data())
    def audit(self, assessor: str, size: int, grade: float | None, keeps: bool, data: st.DataObject) -> None:
        used = {pair for pair, given in self.model.items() if assessor in given}
        used = {pair for pair in used if self.statuses[pair[0]] == "chosen"}
        before = self.store.last_sequence()
        number = draw_audit(self.store, EXPERT, assessor, size, seed=3)
        self.engine.catch_up()
        if not used:
            assert number is None
            return
        assert number is not None
        if number > before:
            self.acts.append(("audit", EXPERT))
        found = audit_of(self.store, EXPERT, number)
        assert found is not None
        assert (set(found.drawn) <= used, len(found.drawn)) == (True, min(size, len(used)))
        pair, key = data.draw(st.sampled_from(found.drawn)), self.key()
        receipt = record_audit(self.store, found, pair, grade, key=key, comment=f"as of {key}")
        assert not receipt.repeated
        self.engine.catch_up()
        self.done.append(Act("judge", EXPERT, *pair, grade, f"as of {key}"))
        self.model[pair][EXPERT] = grade
        self.acts.append(("judge", EXPERT, *pair))
        if not keeps:
            taken = self.engine.withdraw(EXPERT, *pair, key=self.key())
            assert taken is not None
            self.store.release(EXPERT, pair[0])
            last = self.done.pop()
            earlier = [act for act in self.done if is_about(act, EXPERT, *pair)]
            if earlier:
                self.model[pair][EXPERT] = earlier[-1].grade
            else:
                self.forget(pair, EXPERT)
            self.acts.append(("judge" if earlier else "withdraw", EXPERT, *pair))
            assert taken.event.detail["undoes"] == receipt.event.sequence, last

    @precondition(lambda self: self.moments)
    @rule(data=st.data())
    def export_as_of_a_moment(self, data: st.DataObject) -> None:
        moment = data.draw(st.sampled_from(sorted(self.moments)))
        assert list(Export(self.store, moment).qrels(self.feed)) == self.moments[moment]

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
    def the_other_process_goes_on(self) -> None:
        self.store, self.other_store = self.other_store, self.store
        self.engine, self.other = self.other, self.engine

    @precondition(lambda self: self.model)
    @rule(data=st.data(), grade=st.sampled_from([0.0, 1.0, 2.0]))
    def settle(self, data: st.DataObject, grade: float) -> None:
        pair = data.draw(st.sampled_from(sorted(self.model)))
        self.engine.adjudicate("assessor-9", *pair, grade, key=self.key())
        self.settled[pair] = grade
        self.acts.append(("adjudicate",))
        assert pair not in [
            (one.topic, one.doc) for one in self.engine.differences() if not one.settled.judged
        ]

    def verdict(self, pair: tuple[str, str]) -> float | str:
        """The grade that counts, or why there is none."""
        given = [grade for grade in self.model.get(pair, {}).values() if grade is not None]
        if self.feed == "adjudicated" and pair in self.settled:
            return self.settled[pair]
        if not given:
            return "nobody could" if self.model.get(pair) else "nobody judged"
        if self.feed == "adjudicated" and len(set(given)) > 1:
            return "waits"
        most = max(given.count(grade) for grade in given)
        return next(grade for grade in given if self.feed != "majority" or given.count(grade) == most)

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
        found = self.store.standing()
        standing = {(one.topic, one.doc, one.assessor): one.grade for one in found}
        assert standing == {
            (*pair, name): grade for pair, grades in self.model.items() for name, grade in grades.items()
        }
        last = {(act.topic, act.doc, act.assessor): act for act in self.done if act.kind == "judge"}
        assert {place: (act.grade, act.comment, act.marks) for place, act in last.items()} == {
            (one.topic, one.doc, one.assessor): (one.grade, one.comment, one.marks) for one in found
        }
        assert self.store.last_sequence() == self.begun + len(self.acts)

    @invariant()
    def qrels_have_the_grade_that_counts_of_every_document(self) -> None:
        if not hasattr(self, "store"):
            return
        expected = []
        for pair in sorted({*self.model, *self.settled}, key=lambda one: [part.encode() for part in one]):
            verdict = self.verdict(pair)
            if verdict not in NO_GRADES and self.statuses[pair[0]] == "chosen":
                expected.append(f"{pair[0]} 0 {pair[1]} {verdict:g}\n")
        assert list(Export(self.store).qrels(self.feed)) == expected
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
                assert list(Export(self.store, moment).qrels(self.feed)) == expected
            assert list(_unlike_topics(self.store, self.store.last_sequence())) == []
            self.seen.update(["session", *["moment"] * len(self.moments), *kinds])
            assert found_by(self.engine, self.store) == found_by_replay(self.store)
            assert found_by(self.other, self.other_store) == found_by_replay(self.store)
            self.store.close()
            self.other_store.close()
        self.patch.undo()
        self.remove()


def is_about(act: Act, assessor: str, topic: str, doc: str) -> bool:
    return (act.assessor, act.topic, act.doc) == (assessor, topic, doc)


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
