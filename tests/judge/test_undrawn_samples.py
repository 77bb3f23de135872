"""Samples that cannot be drawn from the pool are refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.judge.small import begin, found_by, found_by_replay
from tests.judge.web import add_person, make_project, signed_in

from sounding.core.errors import DataError
from sounding.judge.command import command
from sounding.judge.exports import EXPORTS, why_empty
from sounding.judge.settings import Order
from sounding.judge.store import Store

SHORT = Order(policy="stratified-sample", parameters={"strata": "4:1"})
LONGER = Order(policy="stratified-sample", parameters={"strata": "4:1,12:0.5"})
REASON = "strata '4:1' end at rank 4, and the pool at"


def ranked(*sizes: int) -> dict[str, dict[str, float]]:
    """Lists of so many documents, for topics t1, t2 and so on."""
    return {
        f"t{topic}": {f"t{topic}d{number:02}": -float(number) for number in range(size)}
        for topic, size in enumerate(sizes, 1)
    }


def test_an_order_that_cannot_be_drawn_from_a_topic_is_refused(store: Store) -> None:
    engine = begin(store, runs={"run": ranked(4, 12)}, depth=200)
    before = store.last_sequence()
    for topic in ("t2", None):
        with pytest.raises(DataError, match=rf"^topic t2: {REASON} 12;"):
            engine.set_order(topic, SHORT)
    assert store.last_sequence() == before
    engine.set_order(None, LONGER)
    engine.change_settings(replace(engine.settings, order=SHORT, overlap=2))
    assert (engine.settings.overlap, engine.general_order()) == (2, LONGER)
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
    assert why_empty(store, "prels") == "no prels: the runs do not allow the sample of topic t1"
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


def test_pages_and_commands_refuse_a_sample_that_cannot_be_drawn(tmp_path: Path) -> None:
    with make_project(tmp_path) as project:
        add_person(project, "org", "organizer")
        org = signed_in(project, "org")
        fields = {"topic": "MB001", "policy": "stratified-sample", "parameters": "strata=4:1"}
        refused = org.post("/organize/order", **fields, batch="1", warm_up="0")
        assert (refused.status_code, REASON in refused.text.replace("&#39;", "'")) == (400, True)
        folder = str(project.folder)
    again = CliRunner().invoke(command, ["order", folder, "stratified-sample", "-P", "strata=5:1"])
    assert isinstance(again.exception, DataError)
    assert "strata '5:1' end at rank 5, and the pool at" in str(again.exception)
