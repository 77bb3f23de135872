"""Samples that cannot be drawn from the pool: refused, and harmless where an earlier release took one."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.judge.small import begin, found_by, found_by_replay
from tests.judge.web import add_person, make_project, signed_in

from sounding.core.errors import DataError
from sounding.judge.app import create_app
from sounding.judge.command import command
from sounding.judge.engine import Engine
from sounding.judge.exports import EXPORTS, omitted_from_samples, why_empty
from sounding.judge.settings import Order
from sounding.judge.state import Replay
from sounding.judge.status import status_tables
from sounding.judge.store import Store
from sounding.judge.verify import verify

SHORT = Order(policy="stratified-sample", parameters={"strata": "4:1"})
LONGER = Order(policy="stratified-sample", parameters={"strata": "4:1,12:0.5"})
REASON = "strata '4:1' end at rank 4, and the pool at"


def ranked(*sizes: int) -> dict[str, dict[str, float]]:
    """Lists of so many documents, for topics t1, t2 and so on."""
    return {
        f"t{topic}": {f"t{topic}d{number:02}": -float(number) for number in range(size)}
        for topic, size in enumerate(sizes, 1)
    }


def put_in_force(store: Store, topic: str | None, order: Order) -> None:
    """As earlier releases did, without a look at the pool."""
    store.append("order", topic=topic, detail=asdict(order))


def test_an_order_that_cannot_be_drawn_from_a_topic_is_refused(store: Store) -> None:
    engine = begin(store, runs={"run": ranked(4, 12)}, depth=200)
    before = store.last_sequence()
    for topic in ("t2", None):
        with pytest.raises(DataError, match=rf"^topic t2: {REASON} 12;"):
            engine.set_order(topic, SHORT)
    assert store.last_sequence() == before
    engine.set_order(None, LONGER)
    engine.change_settings(replace(engine.settings, order=SHORT, overlap=2))
    assert (engine.settings.overlap, engine.general_order(), engine.undrawn()) == (2, LONGER, {})
    engine.set_order("a topic that no run has yet", SHORT)


def test_the_strata_by_default_are_looked_at_as_well(store: Store) -> None:
    engine = begin(store, runs={"run": ranked(101)}, depth=200)
    with pytest.raises(DataError, match="end at rank 100, and the pool at 101"):
        engine.set_order(None, Order(policy="stratified-sample"))


def test_a_project_does_not_begin_with_an_order_that_cannot_be_drawn(store: Store) -> None:
    with pytest.raises(DataError, match=rf"^topic t2: {REASON} 5;"):
        begin(store, runs={"run": ranked(4, 5)}, order=SHORT)


def test_a_sample_of_one_topic_does_not_mind_that_others_are_deeper(store: Store) -> None:
    engine = begin(store, runs={"run": ranked(4, 12)}, depth=20)
    engine.set_order("t1", SHORT)
    assert {lease.doc for lease in engine.next("a", "t1", 9)} == {*ranked(4)["t1"]}
    assert len(engine.next("a", "t2", 20)) == 12  # by mtc
    engine.add_runs({"deep": {"t2": ranked(4, 20)["t2"]}})
    with pytest.raises(DataError, match=rf"^topic t1: {REASON} 5;"):
        engine.add_runs({"deeper": {"t1": ranked(5)["t1"]}})
    assert engine.run_names() == ("run", "deep")


def test_a_sample_that_gave_way_unjudged_does_not_mind_a_deeper_run(store: Store) -> None:
    engine = begin(store, runs={"run": ranked(12)}, depth=20, order=LONGER)
    engine.set_order(None, Order())
    engine.add_runs({"deep": ranked(20)})
    assert list(EXPORTS["prels"](store, None)) == list(EXPORTS["strata"](store, None)) == []
    assert why_empty(store, "prels") == "no prels: the sample of topic t1 cannot be drawn from the runs"
    assert found_by_replay(store) == found_by(engine, store)
    with pytest.raises(DataError, match="end at rank 12, and the pool at 20"):
        engine.set_order(None, LONGER)


def test_a_sample_that_gave_way_does_not_come_back_over_a_deeper_run(store: Store) -> None:
    engine = begin(store, runs={"run": ranked(12)}, depth=20, order=LONGER)
    while leases := engine.next("a", "t1"):
        engine.judge("a", "t1", leases[0].doc, 1, key=leases[0].doc)
    before = list(EXPORTS["prels"](store, None))
    engine.set_order(None, Order())
    engine.add_runs({"deep": ranked(20)})
    with pytest.raises(DataError, match="end at rank 12, and the pool at 20"):
        engine.set_order(None, LONGER)
    assert list(EXPORTS["prels"](store, None)) == before
    assert len(before) == 4 + 4


@pytest.mark.parametrize("order", [SHORT, replace(SHORT, batch=3, warm_up=2)], ids=["one", "batches"])
def test_a_log_with_an_order_that_cannot_be_drawn_can_be_followed_and_mended(
    store: Store, order: Order
) -> None:
    engine = begin(store, runs={"run": ranked(4, 12)}, depth=20)
    at_hand = engine.next("a", "t2")[0].doc
    put_in_force(store, None, order)
    engine.judge("a", "t2", at_hand, 1, key="at hand")
    assert engine.undrawn() == {
        "t2": f"topic t2: {REASON} 12; cut the pool to a depth of 4, or add a stratum"
    }
    assert len(engine.next("a", "t1", 9)) == 4
    assert engine.left("t2") == 0
    assert {line.split()[0] for line in EXPORTS["strata"](store, None)} == {"t1"}
    assert omitted_from_samples(store)["prels"].total == 4
    assert engine.add_runs({"more": ranked(4, 3)}).names == ("more",)
    assert found_by_replay(store) == found_by(engine, store) == found_by(Engine(store), store)
    engine.set_order("t2", LONGER)
    assert engine.undrawn() == {}
    assert engine.next("a", "t2")


def test_what_cannot_be_drawn_is_looked_up_when_it_may_be_other_and_not_after_a_judgment(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples that are judged out are drawn anew to tell them from those that cannot be drawn."""
    engine = begin(store, runs={"run": ranked(4, 12)}, depth=20, order=LONGER)
    for topic in ("t1", "t2"):
        while leases := engine.next("a", topic):
            engine.judge("a", topic, leases[0].doc, 1, key=leases[0].doc)
    drawn: list[str] = []
    check = Replay.check_order

    def noted(self: Replay, topic: str, order: Order) -> None:
        drawn.append(topic)
        check(self, topic, order)

    monkeypatch.setattr(Replay, "check_order", noted)
    assert (engine.undrawn(), drawn) == ({}, ["t1", "t2"])
    engine.judge("a", "t1", "t1d00", 0, key="another grade")
    assert (engine.undrawn(), drawn) == ({}, ["t1", "t2"])
    put_in_force(store, "t2", SHORT)
    assert [*engine.undrawn()] == ["t2"]
    put_in_force(store, "t2", LONGER)
    assert engine.undrawn() == {}
    put_in_force(store, "t2", SHORT)
    store.save_topic("t2", title="of no use")
    engine.set_status("t2", "dropped")
    assert engine.undrawn() == {}


def test_a_draw_that_could_not_be_made_is_not_mended_by_a_run_that_comes_later(store: Store) -> None:
    """The further draw has the new documents only, so that the fifth is still below the strata."""
    engine = begin(store, runs={"run": ranked(5)})
    at_hand = engine.next("a", "t1")[0].doc
    put_in_force(store, None, SHORT)
    engine.judge("a", "t1", at_hand, 1, key="at hand")
    engine.add_runs({"lifts": {"t1": {"t1d04": 1.0}}})
    with pytest.raises(DataError, match=rf"^topic t1: {REASON} 5;"):
        engine.set_order("t1", SHORT)


def test_pages_and_commands_of_such_a_project_work_and_say_what_is_wrong(tmp_path: Path) -> None:
    with make_project(tmp_path) as project:
        add_person(project, "ann", topics=("MB001",))
        add_person(project, "org", "organiser")
        app = create_app(project)
        ann, org = signed_in(project, "ann", app), signed_in(project, "org", app)
        doc = ann.get("/api/next?topic=MB001").json()["documents"][0]["doc"]
        fields = {"topic": "MB001", "policy": "stratified-sample", "parameters": "strata=4:1"}
        refused = org.post("/organise/order", **fields, batch="1", warm_up="0")
        assert (refused.status_code, REASON in refused.text.replace("&#39;", "'")) == (400, True)
        put_in_force(project.store, "MB001", SHORT)
        for person, pages in (
            (ann, ("/", "/judge?topic=MB001", "/api/next?topic=MB001")),
            (org, ("/organise", "/organise/topics", "/organise/project", "/api/live")),
            (org, ("/api/organise/topics", "/api/export/strata", "/api/export/prels")),
        ):
            assert {page: person.get(page).status_code for page in pages} == dict.fromkeys(pages, 200)
        note = "No sample can be drawn for 1 topic, and nothing comes before the order is another one: topic"
        note += f" MB001: {REASON}"
        assert note in org.get("/organise/topics").text.replace("&#39;", "'")
        assert any(one.startswith(note) for one in status_tables(project)["topics"].notes)
        judged = ann.send("/api/judge", {"topic": "MB001", "doc": doc, "grade": 1, "key": "key-of-ann"})
        assert (judged.status_code, len(project.store.standing())) == (200, 1)
        assert verify(project).problems == ()
        folder = str(project.folder)
    listed = CliRunner().invoke(command, ["topics", folder])
    assert note in " ".join(listed.output.split())
    again = CliRunner().invoke(command, ["order", folder, "stratified-sample", "-P", "strata=5:1"])
    assert isinstance(again.exception, DataError)
    assert "strata '5:1' end at rank 5, and the pool at" in str(again.exception)
    assert CliRunner().invoke(command, ["order", folder, "mtc"]).exit_code == 0
    assert CliRunner().invoke(command, ["export", folder, "prels"]).exit_code == 0
