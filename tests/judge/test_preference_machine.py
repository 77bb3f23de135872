"""Whatever people do with pairs, in whatever order, with restarts in between: as a few plain dicts have it."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, invariant, rule, run_state_machine_as_test
from tests.judge.databases import Server
from tests.judge.small import TOPICS, draw_runs
from tests.judge.test_preferences import PAIRS, closed
from tests.judge.test_state_machine import LEASE_SECONDS, PEOPLE, TOPIC, Judging, in_a_folder, on

from sounding.judge.engine import Engine, first_settings
from sounding.judge.exports import Export
from sounding.judge.merge_sort import LEFT, RIGHT, preference_of
from sounding.judge.settings import ANY_NUMBER, Settings
from sounding.judge.store import open_store
from sounding.judge.verify import replay_log


class PairJudging(Judging):
    """The same people, who judge pairs; without what only grades have."""

    judge_what_a_search_found = audit = settle = change_the_order = fit_the_model = None  # type: ignore[assignment]
    export_as_of_a_moment = None  # type: ignore[assignment]

    @initialize(seed=st.integers(0, 3))
    def start(self, seed: int) -> None:
        self.overlap, self.feed = ANY_NUMBER, "first"
        self.store = open_store(self.place)
        first_settings(
            self.store, Settings(**{**PAIRS, "depth": 4, "seed": seed, "lease_seconds": LEASE_SECONDS})
        )
        self.engine = Engine(self.store)
        self.engine.add_runs(draw_runs(seed))
        self.users = {
            (user := self.store.add_user(name, "assessor")).pseudonym: user.id
            for name in ("ann", "bob", "cem")
        }
        for topic in TOPICS:
            self.store.save_topic(topic, title="x", status="chosen")
        self.begun = self.store.last_sequence()
        self.other_store = open_store(self.place)
        self.other = Engine(self.other_store)

    @rule(assessor=PEOPLE, topic=TOPIC, count=st.sampled_from([1, 2, 6]))
    def next(self, assessor: str, topic: str, count: int) -> None:
        found = [lease.doc for lease in self.engine.next(assessor, topic, count)]
        now = {offer.doc for offer in replay_log(self.store).pair_offers(assessor, topic)}
        assert set(found) <= now
        assert len(set(found)) == len(found) == min(count, len(now))
        assert {lease.doc for lease in self.store.leases(assessor, topic)} <= now
        assert not now or self.statuses[topic] == "chosen"

    @rule(
        assessor=PEOPLE,
        topic=TOPIC,
        grades=st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=8, max_size=8),
    )
    def judge_much(self, assessor: str, topic: str, grades: list[float]) -> None:
        self.judge(assessor, topic, grades, False)

    @rule(topic=TOPIC, status=st.sampled_from(["chosen", "chosen", "dropped", "candidate"]))
    def choose_or_drop_a_topic(self, topic: str, status: Any) -> None:
        self.engine.set_status(topic, status)
        if status != self.statuses[topic]:
            self.acts.append(("topic",))
            self.statuses[topic] = status
        used = {name for name, one in self.statuses.items() if one == "chosen"}
        counts = self.engine.counts()
        assert set(counts.topics) == used
        for name in TOPICS:
            given = [grade for pair, own in self.model.items() if pair[0] == name for grade in own.values()]
            assert (counts.of(name).judged, counts.of(name).cannot) == (len(given), given.count(None))

    @invariant()
    def qrels_have_the_grade_that_counts_of_every_document(self) -> None:
        """Preferences instead: those that stand and contradict nothing, and an order once a sort is done."""
        if not hasattr(self, "store"):
            return
        state = replay_log(self.store)
        strict: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for line in zip(*[Export(self.store).prefs()] * 2, strict=True):
            (topic, who, _, one, level), (_, _, _, other, less) = (part.split() for part in line)
            said = {
                preference_of(pair, own[who])
                for (name, pair), own in self.model.items()
                if name == topic and who in own
            }
            found = next(known for known in said if known is not None and known[:2] == (one, other))
            if level != less:
                assert found.grade == (LEFT if level > less else RIGHT)
                pairs = strict.setdefault((topic, who), set())
                pairs.add((one, other) if level > less else (other, one))
        assert all(better != worse for pairs in strict.values() for better, worse in closed(pairs))
        for assessor in ("assessor-1", "assessor-2", "assessor-3"):
            for topic in TOPICS:
                given = {
                    pair: own[assessor]
                    for (name, pair), own in self.model.items()
                    if name == topic and assessor in own
                }
                known = (preference_of(pair, grade) for pair, grade in given.items())
                assert state.preferences.answers(assessor, topic) == {
                    one[:2]: one.grade for one in known if one
                }
        self.moments[self.store.last_sequence()] = list(Export(self.store).qrels())


def run(fresh: Any, examples: int, steps: int = 20) -> None:
    seen: Counter[str] = Counter()
    machine = type("Machine", (PairJudging,), {"fresh": staticmethod(fresh), "seen": seen})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples, stateful_step_count=steps, deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )  # fmt: skip
    print(dict(seen))  # noqa: T201 - how much was tried, for `pytest -rP`


def test_pairs_are_judged_as_a_plain_model_has_it_in_sqlite() -> None:
    run(in_a_folder, 15)


def test_pairs_are_judged_as_a_plain_model_has_it_in_postgresql(postgresql: Server) -> None:
    run(on(postgresql), 3)


@pytest.mark.long
def test_pairs_are_judged_as_a_plain_model_has_it_over_many_examples_in_sqlite() -> None:
    run(in_a_folder, 300, steps=40)
