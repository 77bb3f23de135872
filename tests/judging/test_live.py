"""The organisers' live page as data: counted by hand, the same after a restart, and pushed as it changes."""

from __future__ import annotations

import asyncio
import gzip
import json
import random
from typing import Any

import pytest
from tests.judging.web import RUNS, add_person, signed_in

from sounding.judging import api, live
from sounding.judging.app import create_app
from sounding.judging.engine import Engine
from sounding.judging.events import Event, Kind
from sounding.judging.live import LiveFeed, Tally, curve_of
from sounding.judging.messages import LiveState
from sounding.judging.project import Project, open_project


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
    number: int, kind: Kind, doc: str, grade: float | None = None, time: float = 0, who: str = "a"
) -> Event:
    return Event(
        sequence=number, kind=kind, time=time, topic="1", doc=doc, assessor=who, grade=grade, active=30.0
    )


def test_the_tally_counts_what_stands() -> None:
    tally = Tally(level=1)
    tally.follow(
        [
            event(1, "judge", "x", 1, time=0), event(2, "judge", "y", 0, time=100), event(3, "judge", "x", 0, time=200),
            event(4, "judge", "z", None, time=3700), event(5, "judge", "w", 2, time=3800), event(6, "withdraw", "w"),
            event(7, "judge", "x", 2, time=3900, who="b"), event(8, "skip", "v"),
        ]
    )  # fmt: skip
    work = tally.work["a"]
    assert (work.judged, work.relevant, work.cannot, work.changed) == (
        3,
        0,
        1,
        2,
    )  # x y z stand; x changed, w taken back
    assert work.active == 150  # five times half a minute
    assert work.last_hour(4000) == 2  # at 3700 and 3800
    assert (tally.work["b"].judged, tally.work["b"].relevant) == (1, 1)
    assert tally.sequence == 8


def test_the_page_says_what_the_engine_says(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 12)
    state = LiveFeed(project).current()
    known = project.engine.live()
    assert [run["name"] for run in state["runs"]] == [
        known.confidence.runs[place] for place in known.confidence.order
    ]
    assert state["ranking"] == pytest.approx(known.confidence.of_ranking())
    assert state["judged"] == known.judged == 12
    assert state["relevant"] == sum((one.grade or 0) >= 1 for one in project.store.standing())
    assert state["pairs"] == 3
    assert state["open_pairs"] == sum(state["chances"][a][b] < 0.95 for a, b in ((0, 1), (0, 2), (1, 2)))
    for run, above in zip(state["runs"], known.confidence.adjacent(), strict=False):
        assert run["above_next"] == pytest.approx(above)
        assert run["low"] <= run["value"] <= run["high"]
    assert state["runs"][-1]["above_next"] is None
    judged = {(one.topic, one.doc) for one in project.store.standing()}
    for run in state["runs"]:
        first = [
            tuple(line.split()[0:3:2])
            for line in gzip.decompress(project.store.run(run["name"])).decode().splitlines()
            if int(line.split()[3]) <= 10
        ]
        assert run["coverage"] == pytest.approx(sum(pair in judged for pair in first) / 40)  # four topics
    [person] = state["assessors"]
    assert (person["name"], person["judged"], person["per_active_hour"]) == ("ann", 12, 360)
    assert LiveState.model_validate(state).topics[2].judged == 12


def test_the_curve_is_the_same_after_a_restart(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    feed = LiveFeed(project)
    watched = []
    for number in range(15):
        judge(project, ann, 1, seed=number)
        feed._made = 0.0
        watched = feed.current()["curve"]
    with open_project(project.folder) as again:
        fresh = LiveFeed(again).current()["curve"]
    assert watched[-1] == fresh[-1]
    assert [point for point in fresh if point[0]] == [point for point in watched if point[0]]
    assert [judged for judged, _ in fresh] == sorted({judged for judged, _ in fresh})


def test_the_curve_of_a_long_log_has_no_more_points_than_asked_for(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    judge(project, ann, 30)
    assert 5 <= len(curve_of(project.store, 8)) <= 9


def test_what_was_taken_back_leaves_the_curve(project: Project) -> None:
    ann = add_person(project, "ann", topics=("MB001",))
    feed = LiveFeed(project)
    judge(project, ann, 3)
    feed.current()
    project.engine.withdraw(ann, "MB001", key="back")
    feed._made = 0.0
    assert [judged for judged, _ in feed.current()["curve"]][-1] == 2


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


def test_a_project_without_runs_has_a_live_page_all_the_same(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Engine, "run_names", lambda _: ())
    state = LiveState.model_validate(LiveFeed(project).current())
    assert (state.runs, state.ranking, state.curve) == ([], None, [])


def test_the_stream_pushes_what_has_changed_and_ends_with_the_sign_in(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "STREAM_SECONDS", 0.01)
    monkeypatch.setattr(api, "BEAT_SECONDS", 0.05)
    monkeypatch.setattr(live, "BETWEEN", 0.0)
    ann = add_person(project, "ann", topics=("MB001",))
    add_person(project, "olga", "organiser")
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

    heard = asyncio.run(watch())
    states = [json.loads(one.partition("data: ")[2]) for one in heard if "data: " in one]
    assert heard[0] == "retry: 3000\n\n"
    assert [state["judged"] for state in states] == [0, 1]
    assert {run["name"] for run in states[0]["runs"]} == set(RUNS)
    assert ": still here\n\n" in heard
