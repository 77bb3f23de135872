"""Topics that are dropped and chosen again: an event each, followed by every figure, at every moment."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from tests.judge.small import TOPICS, begin, draw_runs, found_by, found_by_replay

from sounding.core.errors import DataError
from sounding.data.topics import read_topics
from sounding.judge.command import command
from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS, Export, left_out
from sounding.judge.live import LiveFeed, curve_of
from sounding.judge.messages import LiveState
from sounding.judge.project import Project, add_topics
from sounding.judge.prospects import grades_in_use, prospects
from sounding.judge.settings import Order
from sounding.judge.store import Store
from sounding.judge.tables import status_tables
from sounding.judge.verify import verify
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.selection.mtc.session import Session

SAMPLED = Order(policy="stratified-sample", parameters={"strata": "2:1,8:0.5"})
UNIFORM = Order(policy="uniform-sample", parameters={"rate": 0.5})

Judged = list[tuple[str, str, float | None]]


def begun(store: Store, **settings: Any) -> Engine:
    """A project whose topics have texts, all chosen."""
    engine = begin(store, **settings)
    for topic in TOPICS:
        store.save_topic(topic, title=f"about {topic}", status="chosen")
    return engine


def judged(engine: Engine, count: int, begin_at: int = 0) -> Judged:
    """So many documents judged, topic by topic in turn."""
    done: Judged = []
    for number in range(begin_at, begin_at + count):
        topic = TOPICS[number % 3]
        for lease in engine.next("a", topic):
            grade = (0.0, 1.0, 2.0, None, 0.0)[number % 5]
            engine.judge("a", topic, lease.doc, grade, key=f"{number}")
            done.append((topic, lease.doc, grade))
    return done


def never_had(topics: list[str], done: Judged) -> Session:
    """The oracle: a session that knows these topics alone, and was told what was judged for them."""
    pool = read_retrieved(draw_runs(1), depth=8, topics=topics)
    session = Session(pool, seed=3, depth=8, confidence="draws", refits="asked")
    for topic, doc, grade in done:
        if topic in topics:
            session.judge(number_of(pool, topic, doc), grade)
    if session.refit_due():
        session.adopt(session.fitting()())
    return session


def number_of(pool: Retrieved, topic: str, doc: str) -> int:
    place = pool.topics.index(topic)
    return pool.docs.texts().index(doc, int(pool.starts[place]), int(pool.starts[place + 1]))


def same_ranking(engine: Engine, session: Session) -> None:
    found, wanted = engine.live().confidence, session.confidence()
    assert found.version == wanted.version
    np.testing.assert_allclose(found.values, wanted.values, rtol=1e-6)
    np.testing.assert_allclose(found.not_above, wanted.not_above, rtol=1e-6)


# ---- the store


def test_a_change_of_status_is_one_event_and_one_version_and_the_text_stays(store: Store) -> None:
    store.save_topic("7", title="one", narrative="only x", estimate=12, author="assessor-1")
    assert store.set_status("7", "chosen", author="assessor-2").version == 2
    assert store.set_status("7", "chosen", author="assessor-3").version == 2  # as it is: nothing happens
    store.save_topic("7", title="two")  # without a status the topic keeps the one that it has
    newest = store.topic("7")
    assert newest is not None
    assert (newest.title, newest.status, newest.version) == ("two", "chosen", 3)
    second = store.topic_versions("7")[1]
    assert (second.title, second.narrative, second.estimate) == ("one", "only x", 12)
    assert [(event.kind, event.topic, event.assessor, event.detail) for event in store.events()] == [
        ("topic", "7", "assessor-1", {"status": "candidate", "version": 1}),
        ("topic", "7", "assessor-2", {"status": "chosen", "version": 2}),
        ("topic", "7", None, {"status": "chosen", "version": 3}),
    ]
    with pytest.raises(DataError, match="there is no topic 'nowhere'"):
        store.set_status("nowhere", "dropped")
    assert store.last_sequence() == 3


def test_who_judges_a_topic_is_in_the_log(store: Store) -> None:
    store.save_topic("7", title="x")
    bob = store.add_user("bob", "assessor").pseudonym
    for act in (store.assign, store.assign, store.unassign, store.unassign):
        act("7", bob)
    told = [(event.kind, event.topic, event.assessor) for event in store.events()][1:]
    assert told == [("assign", "7", bob), ("unassign", "7", bob)]


def test_documents_at_hand_are_given_back_when_their_topic_is_dropped(store: Store) -> None:
    engine = begun(store)
    for topic in TOPICS:
        engine.next("a", topic, 2)
        engine.next("b", topic)
    engine.set_status("7", "dropped")
    assert {lease.topic for lease in store.leases()} == {"MB001", "t-é"}
    assert engine.next("a", "7") == []


def test_a_file_of_topics_chooses_new_ones_and_leaves_the_status_of_others(
    store: Store, tmp_path: Path
) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("1\tone\n2\ttwo\n")
    assert add_topics(store, read_topics(str(path))) == 2
    store.set_status("2", "dropped")
    path.write_text("1\tone\n2\ttwo, better\n3\tthree\n")
    assert add_topics(store, read_topics(str(path))) == 2
    found = [(topic.id, topic.status, topic.title) for topic in store.topics()]
    assert found == [("1", "chosen", "one"), ("2", "dropped", "two, better"), ("3", "chosen", "three")]
    assert add_topics(store, read_topics(str(path))) == 0


# ---- what is judged and ranked


@pytest.mark.parametrize("count", [6, 14])  # before and after the model is fitted
def test_without_a_dropped_topic_all_is_as_if_the_runs_had_never_had_it(store: Store, count: int) -> None:
    engine = begun(store)
    done = judged(engine, count)
    before = engine.live()
    engine.set_status("MB001", "dropped")
    others = [row for row in done if row[0] != "MB001"]
    same_ranking(engine, never_had(["7", "t-é"], done))
    live = engine.live()
    assert set(live.topics) == {"7", "t-é"}
    assert {topic: one.judged for topic, one in live.unused.items()} == {"MB001": len(done) - len(others)}
    assert live.total.judged == len(others)
    assert live.total.relevant == sum((grade or 0) >= 1 for _, _, grade in others)
    assert live.total.cannot == sum(grade is None for _, _, grade in others)
    pool = read_retrieved(draw_runs(1), depth=8, topics=["7", "t-é"])
    graded = {number_of(pool, topic, doc) for topic, doc, grade in others if grade is not None}
    for run, ungraded in enumerate(live.coverage.ungraded.tolist()):
        own = [number for number in pool.lists[run].ravel().tolist() if number >= 0]
        assert ungraded == sum(number not in graded for number in own)
    assert engine.counts().of("MB001").left == 0
    assert engine.counts().of("7").left > 0
    assert engine.next("b", "MB001") == []
    assert [offer.doc for offer in engine._replay.fresh_offers("7", 3)] == [
        pool.docs.text(pick.document)
        for pick in never_had(["7", "t-é"], done).next([pool.topics.index("7")], 3)
    ]
    assert set(grades_in_use(engine._replay)) <= {"7", "t-é"}
    engine.set_status("MB001", "chosen")
    same_ranking(engine, never_had(list(TOPICS), done))
    assert engine.live().total.judged == before.total.judged
    assert engine.live().unused == {}
    judged(engine, 6, begin_at=count)
    assert found_by(engine, store) == found_by_replay(store) == found_by(Engine(store), store)


@pytest.mark.parametrize(
    "order", [Order(), Order(batch=3, warm_up=2), SAMPLED, Order(policy="move-to-front")]
)
def test_a_replay_follows_topics_that_come_and_go(store: Store, order: Order) -> None:
    engine = begun(store, order=order, overlap=2)
    other = Engine(store)  # asks for nothing until the end
    for number, (topic, status) in enumerate(
        [("7", "dropped"), ("t-é", "candidate"), ("7", "chosen"), ("MB001", "dropped"), ("t-é", "chosen")]
    ):
        judged(engine, 5, begin_at=5 * number)
        engine.refit_if_due()
        engine.set_status(topic, status)  # type: ignore[arg-type]
        if number == 2:
            engine.add_runs({"late": draw_runs(9)["run0"]})
        engine.withdraw("a", "7", key=f"back-{number}")
    found = found_by(engine, store)
    assert found == found_by(other, store) == found_by_replay(store) == found_by(Engine(store), store)
    assert found["statuses of topics"] == {"7": "chosen", "MB001": "dropped", "t-é": "chosen"}


def test_a_fit_that_was_asked_for_before_a_topic_was_dropped_is_not_used(store: Store) -> None:
    engine = begun(store)
    judged(engine, 9)
    asked = store.append("fit", detail={"process": "slow"}).event.sequence
    engine.catch_up()
    assert engine._replay.asked_fit(asked) is not None
    engine.set_status("7", "dropped")
    assert engine._replay.asked_fit(asked) is None
    store.append("refit", detail={"fit": asked})
    assert found_by(engine, store) == found_by_replay(store)


def test_the_sample_of_a_topic_does_not_change_with_the_other_topics(store: Store) -> None:
    for policy in (SAMPLED, UNIFORM, Order(policy="weighted-sample", parameters={"rate": 0.4})):
        engine = begun(store, order=policy) if not store.last_sequence() else Engine(store)
        engine.set_order(None, policy)
        before = {topic: engine._replay.sample(topic) for topic in TOPICS}
        drawn = [offer.doc for offer in engine._replay.fresh_offers("7", 99)]
        assert all(before.values())
        engine.set_status("MB001", "dropped")
        assert {topic: engine._replay.sample(topic) for topic in TOPICS} == before
        assert [offer.doc for offer in engine._replay.fresh_offers("7", 99)] == drawn
        offers = engine._replay.fresh_offers("7", 99)
        sample = before["7"]
        assert sample is not None
        assert {one.doc: (one.selection.stratum, one.selection.probability, True) for one in offers} == {
            doc: one for doc, one in sample.documents.items() if one.drawn
        }
        engine.set_status("MB001", "chosen")


def test_a_grade_for_a_dropped_topic_is_kept_and_counts_when_it_is_chosen_again(store: Store) -> None:
    engine = begun(store)
    doc = engine.next("a", "7")[0].doc
    engine.set_status("7", "dropped")
    engine.judge("a", "7", doc, 2, key="sent late")
    live = engine.live()
    assert (live.total.judged, live.unused["7"].judged, live.of("7").left) == (0, 1, 0)
    engine.set_status("7", "chosen")
    assert (engine.live().total.judged, engine.live().total.relevant) == (1, 1)
    assert doc not in [offer.doc for offer in engine._replay.fresh_offers("7", 99)]
    assert found_by(engine, store) == found_by_replay(store)


def test_when_every_topic_is_dropped_there_is_no_ranking_and_it_is_said(project: Project) -> None:
    engine, store = project.engine, project.store
    assert engine.why_no_ranking() == ""
    for topic in store.topics():
        engine.set_status(topic.id, "dropped")
    assert engine.why_no_ranking() == "No topic that the runs have is in use."
    state = LiveState.model_validate(LiveFeed(project).current())
    assert (state.runs, state.reason) == ([], "No topic that the runs have is in use.")
    assert list(status_tables(project)) == ["topics"]
    asked = CliRunner().invoke(command, ["status", str(project.folder), "--view", "runs"])
    told = "No topic that the runs have is in use. There is nothing to judge"
    assert str(asked.exception).startswith(told)
    assert not engine.refit_if_due()
    assert engine.next("a", "MB001") == []
    assert list(prospects(store, store.last_sequence(), curve=True)) == [
        {"sequence": store.last_sequence(), "judged": 0}
    ]
    assert verify(project).problems == ()
    with pytest.raises(DataError, match="no topic that the runs have is in use; choose one"):
        engine.live()
    engine.set_status("303", "chosen")
    assert engine.why_no_ranking() == ""
    assert set(engine.live().topics) == {"303"}


def test_a_run_that_came_late_is_said_to_have_come_after_what_counts_now(store: Store) -> None:
    engine = begun(store)
    done = judged(engine, 6)
    engine.add_runs({"late": draw_runs(9)["run0"]})
    assert engine.live().joined == (0, 0, 0, 0, 6)
    engine.set_status("7", "dropped")
    assert engine.live().joined == (0, 0, 0, 0, sum(topic != "7" for topic, _, _ in done))


@pytest.mark.usefixtures("any_basis")
def test_the_live_page_follows_what_is_in_use(project: Project) -> None:
    engine, feed = project.engine, LiveFeed(project)
    for number, topic in enumerate(["MB001", "303", "303"]):
        engine.judge("a", topic, engine.next("a", topic)[0].doc, 1, key=str(number))
    project.engine.set_status("303", "dropped")
    state = LiveState.model_validate(feed.current())
    assert (state.judged, state.relevant) == (1, 1)
    assert [(one.id, one.judged) for one in state.unused] == [("303", 2)]
    assert "303" not in [one.id for one in state.topics]
    assert state.curve[-1][0] == 1
    assert [count for count, _ in curve_of(project.store, 40)][-1] == 1
    table = status_tables(project)["topics"]
    row = next(row for row in table.rows() if row["topic"] == "303")
    assert (row["status"], row["judged"], row["relevant"], row["left"]) == ("dropped", 2, 2, 0)
    assert "not counted: 2 for topics that are not chosen" in table.notes[0]
    found = list(prospects(project.store, project.store.last_sequence()))[-1]
    assert found["judged"] == 1
    assert found["matrix"].get("topics", 1) == 1


# ---- exports


@pytest.mark.parametrize("order", [Order(), SAMPLED])
def test_an_export_of_a_moment_has_the_topics_that_were_in_use_then(store: Store, order: Order) -> None:
    engine = begun(store, order=order)
    moments: dict[int, set[str]] = {}  # after which event which topics were in use
    used = set(TOPICS)
    for number, (topic, status) in enumerate(
        [("7", "dropped"), ("MB001", "candidate"), ("7", "chosen"), ("t-é", "dropped"), ("t-é", "dropped")]
    ):
        judged(engine, 3, begin_at=3 * number)
        moments[store.last_sequence()] = set(used)
        engine.set_status(topic, status)  # type: ignore[arg-type]
        used = used | {topic} if status == "chosen" else used - {topic}
        moments[store.last_sequence()] = set(used)
    assert len(moments) == 9  # the last change was none
    for moment, topics in moments.items():
        assert Export(store, moment).unused_topics() == set(TOPICS) - topics
        for what in ("qrels", "assessors", "strata", "prels"):
            every = list(EXPORTS[what](store, moment, all_topics=True))
            chosen = [line for line in every if line.split()[0] in topics]
            assert list(EXPORTS[what](store, moment)) == chosen
            if what in ("qrels", "assessors"):
                assert {line.split()[0] for line in every} == set(TOPICS)
        assert set(left_out(store, moment)) == set(TOPICS) - topics
        versions = [json.loads(line) for line in EXPORTS["topics"](store, moment)]
        events = [event for event in store.events(until=moment) if event.kind == "topic"]
        assert sorted((row["id"], row["version"], row["status"]) for row in versions) == sorted(
            (event.topic, event.detail["version"], event.detail["status"]) for event in events
        )


def test_topics_whose_judgments_were_taken_back_are_not_said_to_be_left_out(store: Store) -> None:
    engine = begun(store)
    for topic in TOPICS:
        engine.judge("a", topic, engine.next("a", topic)[0].doc, 1, key=topic)
        engine.set_status(topic, "dropped")
    moment = store.last_sequence()
    engine.withdraw("a", "7", key="back")
    assert (left_out(store, moment), left_out(store)) == (sorted(TOPICS), ["MB001", "t-é"])
    engine.judge("b", "7", "d01", 1, key="another")
    engine.adjudicate("o", "7", "d01", 1, key="settled")
    engine.withdraw("b", "7", key="back as well")
    assert left_out(store) == sorted(TOPICS)  # what was settled stays so


def test_the_command_exports_as_of_a_moment_and_refuses_options_without_effect(project: Project) -> None:
    engine = project.engine
    engine.judge("a", "303", engine.next("a", "303")[0].doc, 1, key="1")
    moment = project.store.last_sequence()
    engine.set_status("303", "dropped")

    def export(*arguments: str) -> Any:
        return CliRunner().invoke(command, ["export", str(project.folder), *arguments])

    now, then = export("qrels"), export("qrels", "--event", str(moment))
    assert (now.stdout, "1 judged topic not in use (candidate or dropped), such as 303" in now.stderr) == (
        "",
        True,
    )
    assert then.stdout.startswith("303 0 ")
    assert then.stderr == ""
    assert export("qrels", "--all-topics").stdout == then.stdout
    refused = export("searches", "--event", "3")
    assert (refused.exit_code, "--event does not apply to searches" in refused.stderr) == (2, True)
    refused = export("log", "--all-topics")
    assert (refused.exit_code, "--all-topics is for qrels, assessors" in refused.stderr) == (2, True)


# ---- verify


def test_verify_finds_topics_that_are_not_as_the_log_has_them(project: Project) -> None:
    project.engine.set_status("303", "dropped")
    assert verify(project).problems == ()
    with project.store._database.write() as run:
        run("UPDATE topic SET status = 'chosen' WHERE id = '303' AND version = 2")
        run("DELETE FROM topic WHERE id = '304'")
    assert verify(project).problems == (
        "topic 303, version 2: the log says dropped, the topic table says chosen",
        "topic 304, version 1: the log says chosen, the topic table says nothing",
    )


def test_verify_finds_a_run_that_is_not_what_it_was(project: Project) -> None:
    name = project.store.run_names()[0]
    before = project.store.run(name)

    def change(content: bytes) -> None:
        with project.store._database.write() as run:
            run("UPDATE run SET content = :content WHERE name = :name", content=content, name=name)

    change(before + gzip.compress(b"MB001 Q0 smuggled 99 -1 x\n"))
    assert verify(project).problems == (f"run {name}: has changed since it was added",)
    for damaged in (before[:-9], b"x" + before, before[:40] + b"xxxx" + before[44:]):
        change(damaged)
        with pytest.raises(DataError, match=f"run '{name}' is damaged in the database"):
            verify(project)
    change(before)
    assert verify(project).problems == ()


def test_two_processes_that_change_topics_at_once_leave_one_log(place: str, store: Store) -> None:
    begun(store)
    code = """
import sys
from sounding.judge.engine import Engine
from sounding.judge.store import open_store
store = open_store(sys.argv[1])
engine = Engine(store)
for number in range(12):
    engine.set_status(("7", "t-\\u00e9")[number % 2], ("dropped", "chosen")[(number + int(sys.argv[2])) // 2 % 2])
    for lease in engine.next("a" + sys.argv[2], "MB001"):
        engine.judge("a" + sys.argv[2], "MB001", lease.doc, 1, key=sys.argv[2] + str(number))
"""
    children = [subprocess.Popen([sys.executable, "-c", code, place, str(number)]) for number in range(2)]
    assert [child.wait() for child in children] == [0, 0]
    engine = Engine(store)
    assert found_by(engine, store) == found_by_replay(store)
    for topic in store.topics():
        versions = [event for event in store.topic_events(store.last_sequence()) if event.topic == topic.id]
        assert [event.detail["version"] for event in versions] == list(range(1, topic.version + 1))
        assert versions[-1].detail["status"] == topic.status
