"""Every count of a little project, counted by hand; and whether it can be finished by those who judge it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.judge.small import TOPICS, begin
from tests.judge.web import add_person, signed_in

from sounding.judge.engine import Engine
from sounding.judge.live import LiveFeed
from sounding.judge.messages import LiveState
from sounding.judge.organizing import staffing_note
from sounding.judge.progress import TopicCounts
from sounding.judge.project import Project
from sounding.judge.prospects import prospects
from sounding.judge.settings import Feed, Order
from sounding.judge.store import Store
from sounding.judge.tables import status_tables

RUNS = {
    "one": {"t1": {"a": 3.0, "b": 2.0, "c": 1.0}, "t2": {"a": 2.0, "x": 1.0}},
    "two": {"t1": {"b": 3.0, "d": 2.0, "e": 1.0}, "t2": {"y": 1.0}},
}
# topic, document: the grades of ann, bob and cem; nan: did not judge it
NO = float("nan")
GIVEN: dict[tuple[str, str], tuple[float | None, float | None, float]] = {
    ("t1", "a"): (2, 2, NO),  # all agree
    ("t1", "b"): (1, 0, NO),  # differ
    ("t1", "c"): (None, None, NO),  # nobody could
    ("t1", "d"): (None, 1, NO),  # one could, and that is no difference
    ("t1", "far"): (1, NO, NO),  # found by a search: no run has it
    ("t2", "a"): (0, 2, 0),  # differ; the same document as above for another topic
    ("t3", "a"): (2, 1, NO),  # a topic that no run has
}


def judged(store: Store, feed: Feed) -> Engine:
    engine = begin(store, runs=RUNS, overlap=2, feed=feed, order=Order(policy="depth"))
    for topic in ("t1", "t2", "t3"):
        store.save_topic(topic, title=topic, status="chosen")
    for number, ((topic, doc), grades) in enumerate(GIVEN.items()):
        for who, grade in zip(("ann", "bob", "cem"), grades, strict=True):
            if grade is None or grade == grade:
                engine.judge(who, topic, doc, grade, key=f"{who}-{number}")
    return engine


@pytest.mark.parametrize(
    ("feed", "one", "two"),
    [
        # t1 has a b c d far judged, and e of its five in the runs is left; t2 has a, and x y are left
        # what was found by a search is to be judged by a second person too
        ("first", TopicCounts(5, 4, 1, 1, 0, 1), TopicCounts(1, 0, 2, 0, 0)),
        ("majority", TopicCounts(5, 4, 1, 1, 0, 1), TopicCounts(1, 0, 2, 0, 0)),
        ("adjudicated", TopicCounts(4, 3, 1, 1, 1, 1), TopicCounts(0, 0, 2, 0, 1)),
    ],
)
def test_counts_by_hand(store: Store, feed: Feed, one: TopicCounts, two: TopicCounts) -> None:
    engine = judged(store, feed)
    counts = engine.counts()
    assert counts.topics == {"t1": one, "t2": two}
    apart = TopicCounts(0, 0, 0, 0, 1) if feed == "adjudicated" else TopicCounts(1, 1, 0, 0, 0)
    assert counts.unused == {"t3": apart}
    assert [*counts.total] == [a + b for a, b in zip(one, two, strict=True)]
    live = engine.live()
    assert (live.topics, live.unused, live.total) == (counts.topics, counts.unused, counts.total)
    assert next(prospects(store, store.last_sequence()))["judged"] == counts.total.judged
    engine.add_runs({"late": RUNS["one"]})
    assert engine.live().joined == (
        0,
        0,
        counts.total.judged,
    )  # what waits for adjudication is not judged yet
    assert Engine(store).live().joined == engine.live().joined
    engine.adjudicate("olga", "t1", "b", 0, key="settled")
    if feed == "adjudicated":
        assert engine.counts().of("t1") == TopicCounts(5, 3, 1, 1, 0, 1)
    else:
        assert engine.counts().of("t1") == one


def test_what_people_did_is_counted_by_judgments(project: Project) -> None:
    engine, store = project.engine, project.store
    engine.change_settings(replace(project.settings, feed="adjudicated", overlap=2))
    ann, bob = (add_person(project, name, topics=("MB001", "303")) for name in ("ann", "bob"))
    docs = [lease.doc for lease in engine.next(ann, "MB001", 3)]
    for number, (doc, one, other) in enumerate(zip(docs, (1, 2, None), (1, 0, 0), strict=True)):
        engine.judge(ann, "MB001", doc, one, key=f"ann-{number}-long", active=20)
        engine.judge(bob, "MB001", doc, other, key=f"bob-{number}-long")
    engine.judge(ann, "MB001", docs[0], 0, key="ann-changes", active=10)
    engine.judge(ann, "MB001", docs[2], 1, key="ann-changes-2", active=10)
    engine.withdraw(ann, "MB001", docs[2], key="ann-undoes")
    engine.judge(ann, "303", "d05", 1, key="ann-elsewhere")
    engine.set_status("303", "dropped")
    state = LiveState.model_validate(LiveFeed(project).current())
    assert (state.judged, state.relevant, state.cannot, state.unsettled) == (1, 0, 0, 2)
    # docs[2]: bob alone could judge it, so that his grade counts; the other two wait
    assert [(one.name, one.judged, one.relevant, one.cannot, one.changed, one.last_hour, one.elsewhere)
            for one in state.assessors] == [("ann", 3, 1, 1, 1, 3, 1), ("bob", 3, 1, 0, 0, 3, 0)]  # fmt: skip
    assert [one.judged for one in state.unused] == [1]
    table = status_tables(project)["topics"]
    assert (table.facts["judged"], table.facts["unsettled"], table.facts["cannot"]) == (1, 2, 0)
    rows = {row["topic"]: (row["judged"], row["relevant"], row["left"]) for row in table.rows()}
    assert rows["MB001"] == (1, 0, engine.counts().of("MB001").left)
    assert rows["303"] == (1, 1, 0)
    add_person(project, "olga", "organizer")
    olga = signed_in(project, "olga")
    assert "2 documents with different grades, 2 not settled yet. They count as unjudged" in (
        olga.get("/organize/differences").text
    )
    assert "+ 2 to settle" in olga.get("/organize/topics").text
    engine.adjudicate("assessor-9", "MB001", docs[0], 1, key="settled-1")
    assert [(one.doc, one.settled.judged) for one in engine.differences()] == [
        (docs[1], False),
        (docs[0], True),
    ]
    assert "2 documents with different grades, 1 not settled yet. It counts" in (
        olga.get("/organize/differences").text
    )
    assert store.judgments_given() == {ann: 4, bob: 3}


def test_the_last_of_two_settlements_counts_whoever_made_it(store: Store) -> None:
    engine = judged(store, "adjudicated")
    engine.adjudicate("zoe", "t1", "b", 1, key="first")
    engine.adjudicate("abe", "t1", "b", 0, key="then")
    [told] = [one for one in engine.differences() if one.topic == "t1"]
    assert (told.doc, told.grades, told.settled.grade) == ("b", {"ann": 1, "bob": 0}, 0)


# ---- who is to finish it


def people(store: Store, *names: str) -> dict[str, int]:
    return {(user := store.add_user(name, "assessor")).pseudonym: user.id for name in names}


def test_a_topic_with_fewer_assessors_than_the_overlap_can_never_be_finished(store: Store) -> None:
    engine = begin(store, overlap=2)
    (ann, bob, cem), ids = (found := people(store, "ann", "bob", "cem")), list(found.values())
    store.add_user("olga", "organizer")
    first, second, third = TOPICS
    store.save_topic(first, title="x", status="chosen")
    store.save_topic(second, title="x", status="chosen")
    store.save_topic(third, title="x")
    assert engine.short_of_assessors() == {second: 0, first: 0}  # candidates have time
    for assessor in (ann, bob):
        store.assign(first, assessor)
    store.assign(second, cem)
    assert engine.short_of_assessors() == {second: 1}
    assert staffing_note(engine) == (
        f"Too few assessors to finish topic {second} (1 of 2). Assign more people, or lower the"
        " assessors per document."
    )
    store.set_active(ids[1], False)
    assert engine.short_of_assessors() == {second: 1, first: 1}
    store.set_active(ids[1], True)
    store.set_role(ids[1], "organizer")
    assert engine.short_of_assessors()[first] == 1
    engine.change_settings(replace(engine.settings, overlap=1))
    assert staffing_note(engine) == ""


def test_a_topic_that_nobody_judges_is_named_also_without_overlap(store: Store) -> None:
    engine = begin(store)
    for topic in TOPICS:
        store.save_topic(topic, title="x", status="chosen")
    store.save_topic("in-no-run", title="x", status="chosen")  # there is nothing to judge for it
    assert staffing_note(engine) == (
        f"Topics {', '.join(sorted(TOPICS))} have no assessor. Assign more people."
    )


def test_a_topic_is_finished_with_the_judgments_of_those_who_left(store: Store) -> None:
    engine = begin(store, overlap=2, order=Order(policy="depth"))
    ann, bob = people(store, "ann", "bob")
    topic = TOPICS[0]
    store.save_topic(topic, title="x", status="chosen")
    for assessor in (ann, bob):
        store.assign(topic, assessor)
    while leases := engine.next(ann, topic):
        engine.judge(ann, topic, leases[0].doc, 1, key=leases[0].doc)
    store.unassign(topic, ann)
    assert engine.short_of_assessors() == {}  # bob is the second one of every document
    last = engine.next(bob, topic)[0].doc
    engine.judge(bob, topic, last, 1, key="only")
    store.unassign(topic, bob)
    store.assign(topic, ann)
    assert engine.short_of_assessors() == {topic: 1}  # she has judged them all
    store.unassign(topic, ann)
    store.assign(topic, bob)
    while leases := engine.next(bob, topic):
        engine.judge(bob, topic, leases[0].doc, 0, key=leases[0].doc)
    store.unassign(topic, bob)
    assert engine.short_of_assessors() == {}  # nothing is left to do


def test_pages_and_status_say_which_topics_have_too_few(project: Project) -> None:
    add_person(project, "ann", topics=("MB001", "303", "304"))
    add_person(project, "olga", "organizer")
    olga, feed = signed_in(project, "olga"), LiveFeed(project)
    told = "Topic T/2-x has no assessor. Assign more people."
    assert staffing_note(project.engine) == told
    assert told in olga.get("/organize/topics").text
    assert feed.current()["staffing"] == olga.get("/api/live").json()["staffing"] == told
    assert told in status_tables(project)["topics"].notes
    assert status_tables(project)["topics"].facts["short_of_assessors"] == ["T/2-x"]
    project.store.assign("T/2-x", "assessor-1")
    feed = LiveFeed(project)  # the other one follows within a second or so
    assert feed.current()["staffing"] == ""
    project.store.set_active(1, False)  # which is no event of the log
    assert "MB001" in feed.current()["staffing"]
    assert "no assessor" in olga.get("/organize/topics").text


def test_a_long_list_of_topics_is_cut(store: Store) -> None:
    engine = begin(store, runs={"one": {f"{number:02}": {"a": 1.0} for number in range(12)}})
    for number in range(12):
        store.save_topic(f"{number:02}", title="x", status="chosen")
    assert "08, 09 and 2 more have no assessor. Assign" in staffing_note(engine)
