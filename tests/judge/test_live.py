"""The organizers' live page as data: counted by hand, the same after a restart, and pushed as it changes."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.judge.small import found_by, found_by_replay
from tests.judge.web import RUNS, add_person, awaited, signed_in

from sounding.compare.comparison import compare
from sounding.compare.holds import holds
from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES
from sounding.core.text import format_chance
from sounding.judge import api, live
from sounding.judge import live as background
from sounding.judge.app import create_app
from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS
from sounding.judge.live import (
    NOTHING_LEFT,
    AssessorTally,
    LiveFeed,
    Prospects,
    Refits,
    Tally,
    Task,
    curve_of,
)
from sounding.judge.messages import LiveState
from sounding.judge.organizing import staffing_note
from sounding.judge.progress import coverage_of
from sounding.judge.project import Project, open_project
from sounding.judge.prospects import prospects, seconds_a_judgment
from sounding.judge.records import Event, Kind
from sounding.judge.settings import Order
from sounding.judge.tables import status_tables
from sounding.plan.forecast import forecast_to
from sounding.plan.sentences import forecast_note
from sounding.relevance import basis

pytestmark = pytest.mark.usefixtures("any_basis")  # three runs, and few judgments


def judge(project: Project, who: str, count: int, topic: str = "MB001", seed: int = 0) -> None:
    rng = random.Random(seed)
    for number in range(count):
        [lease] = project.engine.next(who, topic, 1)
        project.engine.judge(
            who,
            topic,
            lease.doc,
            rng.choice([0, 1, 2, None]),
            key=f"{who}-{topic}-{seed}-{number}",
            active=10,
        )


def event(
    number: int,
    kind: Kind,
    doc: str,
    grade: float | None = None,
    time: float = 0,
    who: str = "a",
    active: float | None = 30.0,
    topic: str = "1",
    detail: dict[str, Any] | None = None,
) -> Event:
    return Event(
        sequence=number, kind=kind, time=time, topic=topic, doc=doc, assessor=who, grade=grade, active=active,
        detail=detail or {},
    )  # fmt: skip


def test_the_tally_counts_what_stands() -> None:
    tally = Tally()
    tally.follow(
        [
            event(1, "judge", "x", 1, time=0), event(2, "judge", "y", 0, time=100), event(3, "judge", "x", 0, time=200),
            event(4, "judge", "z", None, time=3700), event(5, "judge", "w", 2, time=3800),
            event(6, "withdraw", "w", active=None), event(7, "judge", "x", 2, time=3900, who="b"), event(8, "skip", "v"),
            event(9, "judge", "far", 2, time=3950, topic="dropped"),
        ]
    )  # fmt: skip
    work = tally.work({"1"}, 1, 4000)
    # x y z stand, of which x was changed and z came in the last hour; w was taken back
    assert work["a"] == AssessorTally(
        judged=3, relevant=0, cannot=1, changed=1, last_hour=1, elsewhere=1, timed=6, active=210
    )
    assert work["b"] == AssessorTally(judged=1, relevant=1, last_hour=1, timed=1, active=30)
    assert work["a"].per_active_hour == pytest.approx(6 / 210 * 3600)
    assert tally.seconds_a_judgment() == pytest.approx(240 / 7)  # with half a minute on what was skipped
    assert tally.sequence == 9
    assert tally.work({"1"}, 3, 4000)["b"].relevant == 0
    assert tally.work({"1"}, 1, 7501)["b"].last_hour == 0  # more than an hour later


def test_the_tally_goes_back_with_an_undo() -> None:
    tally = Tally()
    back = {"undoes": 2, "restores": 1}
    tally.follow(
        [
            event(1, "judge", "x", 1, time=100), event(2, "judge", "x", None, time=5000),
            event(3, "judge", "y", 0, time=5000), event(4, "judge", "y", 0, time=5000),
        ]
    )  # fmt: skip
    assert tally.work({"1"}, 1, 5000)["a"] == AssessorTally(
        judged=2, cannot=1, changed=1, last_hour=2, timed=4, active=120
    )  # the same grade again is no change
    tally.follow([event(5, "judge", "x", 1, time=5001, active=None, detail=back)])
    assert tally.work({"1"}, 1, 5001)["a"] == AssessorTally(
        judged=2, relevant=1, last_hour=1, timed=4, active=120
    )
    assert list(tally.opinions({"2"})) == []
    assert sorted(tally.opinions({"1"})) == [("a", ("1", "x"), 1), ("a", ("1", "y"), 0)]


def test_a_grade_that_is_that_of_the_beginning_again_is_no_change() -> None:
    tally = Tally()
    grades = {"x": (0, 1, 0), "y": (0, 1, 2), "z": (None, 1, None), "w": (1, None)}
    every = [(doc, grade) for doc, own in grades.items() for grade in own]
    tally.follow([event(number, "judge", doc, grade) for number, (doc, grade) in enumerate(every, 1)])
    assert tally.work({"1"}, 1, 0)["a"].changed == 2  # y and w


def test_only_judgments_with_a_time_say_how_many_there_are_in_an_hour(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 11)  # ten seconds each
    for number in range(40, 60):
        project.engine.judge(ann, "MB001", f"d{number:02d}", 1, key=f"no-time-{number}")
    [person] = LiveFeed(project).current()["assessors"]
    assert person["judged"] == len(project.store.standing())
    assert person["per_active_hour"] == 360
    assert seconds_a_judgment(project.store, project.store.last_sequence()) == 10
    tally = Tally()
    assert tally.seconds_a_judgment() is None
    tally.follow([event(1, "judge", "x", 1, active=None), event(2, "judge", "y", 1, active=60.0)])
    assert tally.seconds_a_judgment() == 60


def test_a_topic_that_no_run_has_counts_nowhere(project: Project) -> None:
    topics = tuple(project.engine.topics())
    ann = add_person(project, "ann", topics=topics)
    for topic in topics:
        judge(project, ann, 3, topic)
    before, until = LiveFeed(project).current(), project.store.last_sequence()
    first = next(prospects(project.store, until))
    project.store.save_topic("apart", title="x", status="chosen")
    for number in range(5):
        project.engine.judge(ann, "apart", f"d{number:02d}", 2, key=f"apart-{number}")
    after = LiveFeed(project).current()
    second = next(prospects(project.store, project.store.last_sequence()))
    for name in ("judged", "relevant", "runs", "topics", "ranking", "chances"):
        assert after[name] == before[name], name
    assert (second["judged"], second["matrix"]) == (first["judged"], first["matrix"])
    assert [(one["id"], one["judged"]) for one in after["unused"]] == [("apart", 5)]


def test_documents_that_wait_for_adjudication_are_not_judged_yet(project: Project) -> None:
    project.engine.change_settings(replace(project.settings, feed="adjudicated", overlap=2))
    ann, bob = (add_person(project, name, topics=("MB001",)) for name in ("ann", "bob"))
    docs = [lease.doc for lease in project.engine.next(ann, "MB001", 4)]
    for doc, one, other in zip(docs, (1, 1, 2, None), (1, 0, 1, None), strict=True):
        project.engine.judge(ann, "MB001", doc, one, key=f"a-{doc}")
        project.engine.judge(bob, "MB001", doc, other, key=f"b-{doc}")

    def counts() -> tuple[int, int, int, int, int, int]:
        state, until = LiveFeed(project).current(), project.store.last_sequence()
        exported = sum(1 for _ in EXPORTS["qrels"](project.store, until))
        judged = next(prospects(project.store, until))["judged"]
        [topic] = [one for one in state["topics"] if one["id"] == "MB001"]
        assert judged == topic["judged"] == state["judged"]
        note = status_tables(project)["topics"].notes[0]
        assert ("to be settled" in note) == (state["unsettled"] > 0)
        return (
            state["judged"], state["cannot"], state["unsettled"], state["relevant"], exported,
            curve_of(project.store, 40)[-1][0],
        )  # fmt: skip

    assert counts() == (2, 1, 2, 1, 1, 2)  # one agreed on, one that nobody could judge; two to be settled
    project.engine.adjudicate(add_person(project, "olga", "organizer"), "MB001", docs[1], 0, key="settled")
    assert counts() == (3, 1, 1, 1, 2, 3)
    assert (
        "3 documents judged (1 of them impossible to judge); 1 to be settled"
        in (status_tables(project)["topics"].notes[0])
    )


def test_it_is_said_which_judgments_the_model_knows(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    for number in range(12):
        project.engine.judge(
            ann, "MB001", project.engine.next(ann, "MB001")[0].doc, number % 2, key=str(number)
        )
    state = LiveFeed(project).current()
    assert (state["fitted"], state["fittable"]) == (0, 12)
    assert "model fitted to 0 of 12 judgments" in status_tables(project)["runs"].notes[0]
    assert project.engine.refit_if_due()
    project.engine.judge(ann, "MB001", project.engine.next(ann, "MB001")[0].doc, 1, key="12")
    assert "model fitted to 12 of 13 judgments" in status_tables(project)["runs"].notes[0]
    assert LiveState.model_validate(LiveFeed(project).current()).fitted == 12


def test_the_model_is_fitted_in_a_pause_and_not_at_every_judgment(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))

    def judge_one(number: int) -> None:
        doc = project.engine.next(ann, "MB001")[0].doc
        project.engine.judge(ann, "MB001", doc, number % 2, key=str(number))

    for number in range(8):
        judge_one(number)
    hurried, patient = Refits(project.engine, pause=1000), Refits(project.engine, pause=0)
    hurried._refit()
    assert project.engine.live().fitted == 8  # as many as for the first time
    judge_one(8)
    hurried._refit()
    assert project.engine.live().fitted == 8  # not twice as many, and somebody judges
    patient._refit()
    assert project.engine.live().fitted == 9  # more than a tenth
    known = project.store.last_sequence()
    patient._refit()
    assert project.store.last_sequence() == known  # nothing was judged since
    judge_one(9)
    patient._cheap = False
    patient._refit()
    assert project.engine.live().fitted == 9  # it takes too long for every pause
    assert found_by(project.engine, project.store) == found_by_replay(project.store)


def test_a_forecast_of_other_topics_is_withdrawn(project: Project) -> None:
    ann = add_person(project, "ann", topics=tuple(project.engine.topics()))
    for topic in project.engine.topics():
        judge(project, ann, 2, topic)
    feed = LiveFeed(project)
    feed.current()
    old = {"sequence": project.store.last_sequence(), "judged": 8}
    feed.take({**old, "curve": [[0, 0.5], [4, 0.6]]})
    state = feed.current()
    assert state["prospects"] == old
    assert len(state["curve"]) == 3
    judge(project, ann, 1, "MB001", seed=1)
    feed._made = feed._took = 0.0
    assert feed.current()["prospects"] == old  # one more judgment makes it only older
    project.engine.set_status("MB001", "dropped")
    feed._made = feed._took = 0.0
    state = feed.current()
    assert (state["judged"], state["prospects"], len(state["curve"])) == (6, None, 1)
    feed.take({**old, "curve": [[0, 0.5]]})  # begun before, and late
    assert (feed.current()["prospects"], len(feed.current()["curve"])) == (None, 1)
    new = {"sequence": project.store.last_sequence(), "judged": 6}
    feed.take(dict(new))
    assert feed.current()["prospects"] == new


def test_another_order_withdraws_the_forecast_and_nothing_else(project: Project) -> None:
    topics = tuple(project.engine.topics())
    ann = add_person(project, "ann", topics=topics)
    for topic in topics:
        judge(project, ann, 2, topic)
    feed = LiveFeed(project)
    feed.current()
    kept = {"sequence": project.store.last_sequence(), "judged": 8, "matrix": {"reason": "none"}}
    forecast = {"reason": "", "needed": [3], "note": "3 more"}
    assert feed.take({**kept, "forecast": forecast, "curve": [[0, 0.5], [4, 0.6]]})
    assert feed.current()["prospects"] == {**kept, "forecast": forecast}
    curve = feed.current()["curve"]
    assert len(curve) == 3
    project.engine.set_order(topics[0], Order(policy="rank"))
    feed._made = feed._took = 0.0
    state = feed.current()
    assert (state["prospects"], state["curve"]) == (kept, curve)
    assert LiveState.model_validate(state).prospects is not None
    assert not feed.take({**kept, "forecast": forecast})  # begun before, and late
    assert feed.current()["prospects"] == kept
    new = {**kept, "sequence": project.store.last_sequence(), "forecast": forecast}
    assert feed.take(dict(new))
    assert feed.current()["prospects"] == new


def settings_change(project: Project, **changes: Any) -> None:
    project.engine.change_settings(replace(project.settings, **changes))


@pytest.mark.parametrize(
    ("changes", "stands"),
    [
        ({"title": "Other"}, True),
        ({"lease_seconds": 60}, True),
        ({"level": 2.0}, False),
        ({"overlap": 2}, False),
    ],
)
def test_settings_withdraw_the_forecast_where_it_follows_from_them(
    project: Project, changes: dict[str, Any], stands: bool
) -> None:
    judge(project, add_person(project, "ann", topics=("MB001",)), 2)
    feed = LiveFeed(project)
    feed.current()
    old = {"sequence": project.store.last_sequence(), "judged": 2}
    assert feed.take({**old, "curve": [[0, 0.5], [2, 0.6]]})
    settings_change(project, **changes)
    feed._made = feed._took = 0.0
    assert feed.current()["prospects"] == (old if stands else None)


def test_what_is_written_on_topics_withdraws_no_forecast_and_what_counts_does(project: Project) -> None:
    judge(project, add_person(project, "ann", topics=("MB001",)), 2)
    feed = LiveFeed(project)
    feed.current()
    old = {"sequence": project.store.last_sequence(), "judged": 2}
    assert feed.take(dict(old))

    def stands() -> bool:
        feed._made = feed._took = 0.0
        return feed.current()["prospects"] == old

    project.store.save_topic("MB001", title="other words", author="assessor-1")
    assert stands()
    project.store.set_status("MB001", "chosen")  # as it is
    assert stands()
    project.store.set_status("MB001", "candidate")
    assert not stands()
    assert feed.take({"sequence": project.store.last_sequence(), "judged": 0})
    old = {"sequence": project.store.last_sequence(), "judged": 0}
    project.store.save_topic("MB001", title="more words", author="assessor-1")
    assert stands()
    project.store.set_status("MB001", "chosen")
    assert not stands()


def test_the_page_says_what_the_engine_says(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 12)
    state = LiveFeed(project).current()
    known = project.engine.live()
    assert [run["name"] for run in state["runs"]] == [
        known.confidence.runs[place] for place in known.confidence.order
    ]
    assert state["ranking"] == pytest.approx(known.confidence.of_ranking())
    assert state["judged"] == known.total.judged == 12
    assert state["relevant"] == sum((one.grade or 0) >= 1 for one in project.store.standing())
    assert state["pairs"] == 3
    assert state["open_pairs"] == sum(state["chances"][a][b] < 0.95 for a, b in ((0, 1), (0, 2), (1, 2)))
    for run, above in zip(state["runs"], known.confidence.adjacent(), strict=False):
        assert run["above_next"] == pytest.approx(above)
        assert not {"low", "high"} & set(run)
    assert state["runs"][-1]["above_next"] is None
    graded = {(one.topic, one.doc) for one in project.store.standing() if one.grade is not None}
    assert state["depths"] == [5, 10, 20]
    for run in state["runs"]:
        lines = [
            line.split() for line in gzip.decompress(project.store.run(run["name"])).decode().splitlines()
        ]
        for depth, share in zip(state["depths"], run["coverage"], strict=True):
            first = [(topic, doc) for topic, _, doc, rank, _, _ in lines if int(rank) <= depth]
            assert share == pytest.approx(sum(pair in graded for pair in first) / (4 * depth))  # four topics
        assert run["ungraded"] == sum((line[0], line[2]) not in graded for line in lines)
        assert run["joined"] == 0
    [person] = state["assessors"]
    assert (person["name"], person["judged"], person["per_active_hour"]) == ("ann", 12, 360)
    assert LiveState.model_validate(state).topics[2].judged == 12


def test_too_few_runs_and_judgments_have_no_confidence(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(basis, "LEAST_RUNS", 5)
    ann = add_person(project, "ann", topics=("MB001",))
    for count in (0, 12):
        judge(project, ann, count)
        state = LiveFeed(project).current()
        assert "5 runs" in state["not_stated"]
        assert state["ranking"] is None
        assert state["open_pairs"] == state["pairs"] == 3
        assert all(chance is None for row in state["chances"] for chance in row)
        assert all(run["above_next"] is None for run in state["runs"])
        assert all(run["value"] is not None for run in state["runs"])
        assert state["curve"] == []
        assert LiveState.model_validate(state).not_stated == state["not_stated"]
        table = status_tables(project)["runs"]
        assert table.facts["confidence"] is None
        assert state["not_stated"] in table.notes[0]
        assert ("Nothing is judged yet" in table.notes[0]) == (count == 0)
        last = list(prospects(project.store, project.store.last_sequence()))[-1]
        assert state["not_stated"] in last["forecast"]["reason"]
        assert last["held"] == []


def test_the_curve_is_the_same_after_a_restart(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    feed = LiveFeed(project)
    watched = []
    for number in range(15):
        judge(project, ann, 1, seed=number)
        feed._made = 0.0
        watched = feed.current()["curve"]
    with open_project(project.folder) as again:
        feed = LiveFeed(again)
        alone = feed.current()["curve"]
        assert alone == watched[-1:]
        *_, last = prospects(again.store, again.store.last_sequence(), curve=True)
        feed.earlier = last["curve"]
        fresh = feed.current()["curve"]
    assert watched[-1] == fresh[-1]
    assert [point for point in fresh if point[0]] == [point for point in watched if point[0]]
    assert [judged for judged, _ in fresh] == sorted({judged for judged, _ in fresh})


def test_judgments_of_when_nobody_looked_are_filled_into_the_curve(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    feed = LiveFeed(project)
    judge(project, ann, 3)
    feed.current()
    feed.earlier = curve_of(project.store, 40)
    assert not feed.has_gaps()
    judge(project, ann, 1, seed=1)  # watched
    feed._made = 0.0
    feed.current()
    assert not feed.has_gaps()
    judge(project, ann, 12, seed=2)  # nobody looks
    feed._made = 0.0
    assert [judged for judged, _ in feed.current()["curve"]] == [0, 1, 2, 3, 4, 16]
    assert feed.has_gaps()
    feed.earlier = curve_of(project.store, 40)
    assert [judged for judged, _ in feed.current()["curve"]] == list(range(17))
    assert not feed.has_gaps()


def test_the_curve_of_a_long_log_has_no_more_points_than_asked_for(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 30)
    assert 5 <= len(curve_of(project.store, 8)) <= 9


def test_the_filled_curve_is_that_of_the_settings_and_topics_of_now(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001", "303"))
    first = project.engine.live().confidence.of_ranking()
    assert curve_of(project.store, 40) == [(0, first)]  # of all runs, and not of those there were before
    for topic in ("MB001", "303"):
        judge(project, ann, 6, topic)
    assert curve_of(project.store, 2)[0] == (0, first)
    project.engine.change_settings(replace(project.settings, level=2, measure="P@10"))
    project.engine.set_status("303", "dropped")
    judge(project, ann, 3, seed=1)
    curve = curve_of(project.store, 40)
    assert [judged for judged, _ in curve] == list(range(10))  # none of the topic that is not in use
    assert curve[-1][1] == project.engine.live().confidence.of_ranking()
    for lease in project.engine.next(ann, "MB001", 2):  # nothing judged, by the same settings
        project.store.release(ann, "MB001", lease.doc)
    while project.engine.withdraw(ann, "MB001", key=f"undo-{project.engine.catch_up()}-long") is not None:
        pass
    assert project.engine.live().total.judged == 0
    assert project.engine.live().confidence.of_ranking() == curve[0][1]


def test_whoever_is_erased_is_no_longer_named(project: Project) -> None:
    ann, bob = (add_person(project, name, topics=("MB001",)) for name in ("ann", "bob"))
    project.engine.change_settings(replace(project.settings, overlap=2))
    for who in (ann, bob):
        judge(project, who, 4)
    feed = LiveFeed(project)
    assert [one["name"] for one in feed.current()["assessors"]] == ["ann", "bob"]
    assert [(one["first"], one["second"]) for one in feed.current()["agreement"]] == [("ann", "bob")]
    project.store.erase_user(2)
    assert [one["name"] for one in feed.current()["assessors"]] == ["ann", bob]
    assert [(one["first"], one["second"]) for one in feed.current()["agreement"]] == [("ann", bob)]


def test_agreement_is_that_of_the_topics_that_count(project: Project) -> None:
    ann, bob = (add_person(project, name, topics=("MB001", "303")) for name in ("ann", "bob"))
    add_person(project, "olga", "organizer")
    project.engine.change_settings(replace(project.settings, overlap=2))
    for topic, count in (("MB001", 4), ("303", 3)):
        for who in (ann, bob):
            judge(project, who, count, topic, seed=5)
    feed, olga = LiveFeed(project), signed_in(project, "olga")
    before = feed.current()["agreement"][0]["common"]
    project.engine.set_status("303", "dropped")
    feed._made = 0.0
    common = feed.current()["agreement"][0]["common"]
    graded = [one for one in project.store.standing(topic="MB001", assessor=ann) if one.grade is not None]
    assert common == len(graded) < before
    assert f"by both</span> {common}</td>" in olga.get("/organize/differences").text


def test_what_was_taken_back_leaves_the_curve(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    feed = LiveFeed(project)
    judge(project, ann, 3)
    feed.current()
    project.engine.withdraw(ann, "MB001", key="back")
    feed._made = 0.0
    assert [judged for judged, _ in feed.current()["curve"]][-1] == 2


def test_coverage_counts_only_what_a_run_has() -> None:
    lists = np.array([[[0, 1, 2], [3, -1, -1]], [[-1, -1, -1], [-1, -1, -1]]], np.int32)
    found = coverage_of(lists, np.array([True, False, True, False]))
    assert found.depths == (3,)
    np.testing.assert_allclose(found.shares, [[2 / 4], [np.nan]])
    assert found.ungraded.tolist() == [2, 0]


def test_a_run_that_came_late_is_known_to_have_come_late(project: Project, tmp_path: Path) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 5)
    lines = [f"MB001 Q0 d{number:02d} {number} {100 - number} late\n" for number in range(1, 21)]
    (tmp_path / "late.txt").write_text("".join(lines))
    project.engine.add_runs([str(tmp_path / "late.txt")])
    runs = {run["name"]: run for run in LiveFeed(project).current()["runs"]}
    assert {name: run["joined"] for name, run in runs.items()} == {"late": 5, **dict.fromkeys(RUNS, 0)}
    graded = {one.doc for one in project.store.standing() if one.grade is not None}
    assert runs["late"]["ungraded"] == 20 - len(graded & {f"d{number:02d}" for number in range(1, 21)})
    with open_project(project.folder) as again:
        assert {run["name"]: run for run in LiveFeed(again).current()["runs"]} == runs


def test_prospects_say_what_compare_and_plan_say(project: Project) -> None:
    ann = add_person(project, "ann", topics=tuple(project.engine.topics()))
    for topic in project.engine.topics():
        judge(project, ann, 6, topic)
    until = project.store.last_sequence()
    first, *others, last = prospects(project.store, until)
    assert "forecast" not in first
    assert [len(one["forecast"]["needed"]) for one in (*others, last)] == [1, 2, 3, 4, 5]  # as they come
    assert [one["forecast"]["so_far"] for one in (*others, last)] == [True] * 4 + [False]
    assert last["judged"] == 24
    qrels = project.folder / "qrels.txt"
    qrels.write_text("".join(EXPORTS["qrels"](project.store, until)))
    runs = []
    for name in RUNS:
        runs.append(project.folder / f"{name}.txt")
        runs[-1].write_bytes(gzip.decompress(project.store.run(name)))
    expected = compare(qrels, [str(run) for run in runs], ["AP"], settled=False)
    assert [pairs for _, pairs, _ in last["matrix"]["cases"]] == expected.counts()[0].tolist()
    assert last["matrix"]["topics"] == len(expected.topics)
    assert last["matrix"]["reason"] == ""
    chances = holds(
        qrels,
        [str(run) for run in runs],
        ["AP"],
        until="runs:20",
        policies=replace(DEFAULT_POLICIES, depth=20),
    )
    assert [(said, chance) for _, _, said, chance in last["held"]] == [
        (chances.in_words(0, pair), format_chance(float(chances.conclusion[0, pair]))) for pair in range(3)
    ]
    courses = forecast_to(project.engine._replay.session, 0.95, range(5), most=3000)
    assert last["forecast"]["needed"] == [int(one.needed) if one.reached else None for one in courses]
    # 10 seconds, as `judge` says; where too few documents are selected it says so as well.
    assert last["forecast"]["note"].startswith(forecast_note(courses, 0.95, 10))
    assert LiveState.model_validate({**LiveFeed(project).current(), "prospects": last}).prospects is not None


def test_the_matrix_counts_topics_in_use_and_says_when_it_is_too_early(
    project: Project, tmp_path: Path
) -> None:
    topics = tuple(project.engine.topics())
    ann = add_person(project, "ann", topics=topics)
    for topic in topics:
        judge(project, ann, 6, topic)
    found = next(prospects(project.store, project.store.last_sequence()))["matrix"]
    assert found["topics"] == 4
    assert found["early"].startswith("Too early to conclude: only 4 topics with judgments (25 needed)")
    project.store.save_topic(topics[0], title="x", status="dropped")
    (tmp_path / "blank.txt").write_text(f"{topics[1]} Q0 unseen 1 9 blank\n")
    project.engine.add_runs([str(tmp_path / "blank.txt")])
    found = next(prospects(project.store, project.store.last_sequence()))["matrix"]
    assert found["topics"] == 3
    assert found["unseen"] == 3  # the pairs of a run of which nothing is judged have no case
    assert sum(pairs for _, pairs, _ in found["cases"]) + found["untested"] == 6
    assert sum(pairs for _, pairs, _ in found["cases"]) <= 3
    unseen = "0% of blank's top 20 is judged in these topics."
    assert unseen in found["early"]  # the page has the share of all topics beside it


def test_prospects_say_why_there_are_none(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(basis, "LEAST_JUDGMENTS", 100)
    [only_matrix, both] = prospects(project.store, project.store.last_sequence())
    assert only_matrix["matrix"]["reason"] == "There are no pairs of runs with judgments yet."
    assert "100 judgments" in both["forecast"]["reason"]
    assert seconds_a_judgment(project.store, project.store.last_sequence()) == 30  # nobody has judged yet
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 3)
    [matrix, _] = prospects(project.store, project.store.last_sequence())
    assert matrix["matrix"]["reason"].startswith("Nothing can be tested yet: ")  # one topic
    [nothing] = prospects(project.store, 1)  # before the runs came
    assert nothing == {"sequence": 1, "judged": 0}


def test_prospects_reach_the_page_from_a_process_of_their_own(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 3)
    feed = LiveFeed(project)
    task = Prospects(project, feed, 0.01)
    task._work_out()
    assert feed.prospects is None  # nobody looks
    assert feed.current()["prospects"] is None
    task._work_out()
    state = feed.current()
    assert state["prospects"]["sequence"] == project.store.last_sequence()
    assert state["prospects"]["judged"] == 3
    assert LiveState.model_validate(state).prospects is not None
    begun = []
    monkeypatch.setattr(subprocess, "Popen", lambda *given, **options: begun.append(given))
    task._work_out()
    task._next = 0.0
    task._work_out()
    assert not begun  # it takes its rest, and nothing was judged since
    task.start()
    task.stop()


def test_prospects_that_did_not_come_to_their_end_are_worked_out_again(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge(project, add_person(project, "ann", topics=("MB001",)), 3)
    feed, children = LiveFeed(project), list[Child]()

    def begin(command: list[str], **options: object) -> Child:
        known = {"sequence": int(command[4]), "judged": 3}
        children.append(Child(iter([json.dumps(known)])))
        children[-1].returncode = -9 if len(children) < 3 else 0  # killed for its memory
        return children[-1]

    monkeypatch.setattr(subprocess, "Popen", begin)
    monkeypatch.setattr(background, "LOOKING", 1e9)
    task = Prospects(project, feed)
    feed.current()
    for _ in range(5):
        task._next = 0.0
        task._work_out()
    assert len(children) == 3


class Child:
    """Stands for the process that works prospects out: lines that come when they are asked for."""

    def __init__(self, lines: Iterator[str]) -> None:
        self.stdout = lines
        self.ended = False
        self.returncode = 0

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def terminate(self) -> None:
        self.ended = True


def test_another_order_ends_a_forecast_that_is_worked_out_and_the_next_does_not_wait(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed, engine, store = LiveFeed(project), project.engine, project.store
    children: list[Child] = []

    def lines(until: int) -> Iterator[str]:
        found = {"sequence": until, "judged": 0}
        yield json.dumps(found)
        yield json.dumps({**found, "forecast": {"reason": "", "needed": [1]}})
        if len(children) == 1:
            engine.set_order(None, Order(policy="rank"))
            feed._made = feed._took = 0.0
            feed.current()
        yield json.dumps({**found, "forecast": {"reason": "", "needed": [1, 2]}})
        assert len(children) > 1, "it went on with what is of before"

    def begin(command: list[str], **options: object) -> Child:
        children.append(Child(lines(int(command[4]))))
        return children[-1]

    monkeypatch.setattr(subprocess, "Popen", begin)
    monkeypatch.setattr(background, "LOOKING", 1e9)
    task = Prospects(project, feed)
    feed.current()
    task._work_out()
    assert (children[0].ended, feed.prospects) == (True, {"sequence": store.last_sequence() - 1, "judged": 0})
    task._next = float("inf")  # as after one that took long
    task._work_out()
    assert len(children) == 2
    assert not children[1].ended
    assert feed.prospects is not None
    assert feed.prospects["forecast"] == {"reason": "", "needed": [1, 2]}
    task._next = float("inf")
    judge(project, add_person(project, "ann", topics=("MB001",)), 1)
    task._work_out()
    assert len(children) == 2  # a judgment waits
    changes: list[Callable[[], object]] = [
        lambda: settings_change(project, overlap=2),
        lambda: engine.set_status("303", "dropped"),
        lambda: engine.add_runs({"late": {"MB001": {"d05": 1.0}}}),
    ]
    for count, change in enumerate(changes, 3):
        change()
        feed._made = feed._took = 0.0
        assert feed.current()["prospects"] is None
        task._work_out()
        assert len(children) == count  # nothing stands, so that it does not wait
        assert feed.current()["prospects"] is not None
        task._next = float("inf")
    settings_change(project, title="Other")
    feed._made = feed._took = 0.0
    feed.current()
    task._work_out()
    assert len(children) == 5  # it is as good as before


def test_a_task_goes_on_after_a_refusal(caplog: pytest.LogCaptureFixture) -> None:
    done = threading.Event()
    times = []

    def work() -> None:
        times.append(1)
        if len(times) > 1:
            done.set()
        raise DataError("the disk is full")

    task = Task("something", work, 0.001)
    task.start()
    assert done.wait(60)
    task.stop()
    assert "something: not now: the disk is full" in caplog.text


def test_agreement_is_live(project: Project) -> None:
    ann, bob = (add_person(project, name, topics=("MB001",)) for name in ("ann", "bob"))
    feed = LiveFeed(project)
    for number, (one, other) in enumerate([*4 * [(0, 0), (1, 1), (2, 0)], (1, None)]):
        for who, grade in ((ann, one), (bob, other)):
            project.engine.judge(who, "MB001", f"d{number:02d}", grade, key=f"{who}-{number}")
    [found] = feed.current()["agreement"]
    assert (found["first"], found["second"], found["common"]) == ("ann", "bob", 12)
    assert found["observed"] == pytest.approx(2 / 3)
    # By chance 1/3 * 2/3 + 1/3 * 1/3 = 1/3, so kappa = (2/3 - 1/3) / (2/3)
    assert found["kappa"] == pytest.approx(0.5)
    assert LiveState.model_validate(feed.current()).agreement[0].kappa == pytest.approx(0.5)


def test_another_level_counts_what_was_found_anew(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 12)
    feed = LiveFeed(project)
    feed.current()
    project.engine.change_settings(replace(project.settings, level=2))
    feed._made = feed._took = 0.0
    [person] = feed.current()["assessors"]
    found = sum(one.grade == 2 for one in project.store.standing())
    assert person["relevant"] == found < sum((one.grade or 0) >= 1 for one in project.store.standing())


def test_many_who_watch_cost_one_working_out(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    feed = LiveFeed(project)
    asked = 0
    original = Engine.live

    def counted(engine: Engine) -> Any:
        nonlocal asked
        asked += 1
        return original(engine)

    monkeypatch.setattr(Engine, "live", counted)
    for number in range(5):
        judge(project, ann, 1, seed=number)
        feed.current()
    assert asked == 1  # within the same second
    feed._made = 0.0
    feed.current()
    feed._made = 0.0
    feed.current()
    assert asked == 2  # nothing new since


def test_who_is_short_of_assessors_is_asked_only_where_something_has_changed(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    feed = LiveFeed(project)
    asked: list[str] = []

    def counted(engine: Engine) -> str:
        asked.append(staffing_note(engine))
        return asked[-1]

    monkeypatch.setattr(live, "staffing_note", counted)
    notes = [feed.current()["staffing"] for _ in range(3)]
    assert [*asked] * 3 == notes
    judge(project, ann, 1)
    feed._made = 0.0
    assert [feed.current()["staffing"] for _ in range(3)] == asked[1:] * 3  # once for the judgment
    [user] = [one for one in project.store.users() if one.pseudonym == ann]
    project.store.set_active(user.id, False)  # which is no event
    assert [feed.current()["staffing"] for _ in range(3)] == asked[2:] * 3
    assert len(asked) == 3
    assert "MB001" in asked[2]
    assert "MB001" not in asked[1]


def test_a_project_without_runs_has_a_live_page_all_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "why_no_ranking", lambda _: "There are no runs yet.")
    state = LiveState.model_validate(LiveFeed(project).current())
    assert (state.runs, state.ranking, state.curve, state.reason) == ([], None, [], "There are no runs yet.")


def test_the_stream_pushes_what_has_changed_and_ends_with_the_sign_in(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "STREAM_SECONDS", 0.01)
    monkeypatch.setattr(api, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(live, "BETWEEN", 0.0)
    ann = add_person(project, "ann", topics=("MB001",))
    add_person(project, "olga", "organizer")
    app = create_app(project)
    olga = signed_in(project, "olga", app)
    [digest] = [one.digest for one in project.store.sign_ins(2)]
    assert olga.get("/api/live").status_code == 200

    async def watch() -> list[str]:
        stream = api._stream(app.state.context, digest)
        heard = [await anext(stream), await anext(stream)]
        judge(project, ann, 1)
        while '"judged":1,' not in "".join(heard) or not any(one.startswith(":") for one in heard):
            heard.append(await asyncio.wait_for(anext(stream), 5))
        project.store.end_sign_ins(2)
        return heard + [one async for one in stream]  # ends by itself

    heard = awaited(watch())
    states = [json.loads(one.partition("data: ")[2]) for one in heard if "data: " in one]
    assert heard[0] == "retry: 3000\n\n"
    assert [state["judged"] for state in states] == [0, 1]
    assert {run["name"] for run in states[0]["runs"]} == set(RUNS)
    assert ": still here\n\n" in heard


UNIFORM = Order(policy="uniform-sample", parameters={"rate": 0.2})


def test_there_is_no_forecast_where_the_orders_leave_nothing(project: Project) -> None:
    topics = tuple(project.engine.topics())
    ann = add_person(project, "ann", topics=topics)
    project.engine.set_order(None, UNIFORM)
    for topic in topics:
        judge(project, ann, project.engine.counts().of(topic).left - 1, topic)
    *_, last = prospects(project.store, project.store.last_sequence())
    courses = forecast_to(project.engine._replay.session, 0.95, range(5), most=3000)
    too_few = sum(not one.reached or one.needed > 4 for one in courses)
    assert too_few
    assert last["forecast"]["note"].endswith(f" only 4 more, too few in {too_few} of 5 simulations.")
    for topic in topics:
        judge(project, ann, 1, topic, seed=1)
    [*_, none] = prospects(project.store, project.store.last_sequence())
    assert none["forecast"] == {"reason": NOTHING_LEFT, "needed": []}
    assert LiveState.model_validate(LiveFeed(project).current()).nothing_left == NOTHING_LEFT


def test_nothing_is_said_to_be_left_only_when_nothing_is_to_be_settled_or_judged_again(
    project: Project,
) -> None:
    topics = tuple(project.engine.topics())
    ann, bob = (add_person(project, name, topics=topics) for name in ("ann", "bob"))
    engine, store = project.engine, project.store
    engine.change_settings(replace(project.settings, overlap=2, feed="adjudicated"))
    engine.set_order(None, UNIFORM)
    feed = LiveFeed(project)

    def told() -> str:
        """What page and forecast say alike."""
        feed._made = feed._took = 0.0
        state, [*_, last] = feed.current(), prospects(store, store.last_sequence())
        assert last["forecast"]["reason"] == state["nothing_left"]
        return str(state["nothing_left"])

    judged = "All documents that the orders of the topics select are judged, so there is no forecast."
    every = engine.counts().total.left

    def judge_out(who: str, grade: float) -> None:
        for topic in topics:
            while leases := engine.next(who, topic):
                engine.judge(who, topic, leases[0].doc, grade, key=f"{who}-{topic}-{store.last_sequence()}")

    judge_out(ann, 0)
    assert told() == f"{judged} Still to do: {every} documents to be judged by more assessors."
    judge_out(bob, 1)
    assert told() == f"{judged} Still to do: {every} documents to settle."
    first, *others = engine.differences()
    for one in others:
        engine.adjudicate("organizer", one.topic, one.doc, None, key=f"o-{one.topic}-{one.doc}")
    assert told() == f"{judged} Still to do: 1 document to settle."
    engine.withdraw(bob, others[-1].topic, others[-1].doc, key="back")
    assert told() == f"{judged} Still to do: 1 document to settle, 1 document to be judged by more assessors."
    judge_out(bob, 1)
    engine.adjudicate("organizer", first.topic, first.doc, None, key="last")
    assert told() == NOTHING_LEFT
    engine.set_order(None, Order())
    feed._made = feed._took = 0.0
    assert feed.current()["nothing_left"] == ""


def test_a_forecast_says_what_it_counts_where_several_judge_each_document(project: Project) -> None:
    topics = tuple(project.engine.topics())
    ann = add_person(project, "ann", topics=topics)
    for topic in topics:
        judge(project, ann, 6, topic)
    project.engine.change_settings(replace(project.settings, overlap=2), by=ann)
    *_, last = prospects(project.store, project.store.last_sequence())
    courses = forecast_to(project.engine._replay.session, 0.95, range(5), most=3000)
    note = last["forecast"]["note"]
    assert note.startswith(forecast_note(courses, 0.95, 20))  # seconds: ten of each
    counted = " The count is of new documents; the time includes all 2 assessors per document."
    assert note.endswith(counted)
