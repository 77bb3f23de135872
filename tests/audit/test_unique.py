"""Unique documents: those that exactly one run, or group, has as deep as the pool."""

from __future__ import annotations

import numpy as np
import pytest
from tests.audit.random_runs import Trial, trial

from sounding.audit.judged_runs import read_judged_runs
from sounding.audit.leave_out import Among, By, unique_documents

DEPTH = 3


def holders(made: Trial, by: By, topic: str, doc: str, among: Among = "pooled") -> set[str]:
    """Who contributed a document, or has it as deep, looked up list by list."""
    return {
        run if by == "run" else row.group
        for run, row in made.info.items()
        if (row.pooled or among == "all") and doc in made.order(run, topic)[:DEPTH]
    }


@pytest.mark.parametrize("among", ["pooled", "all"])
@pytest.mark.parametrize("by", ["run", "group"])
@pytest.mark.parametrize("seed", range(4))
def test_unique_documents_are_those_that_a_search_of_all_lists_finds(seed: int, by: By, among: Among) -> None:
    made = trial(seed)
    found = unique_documents(read_judged_runs(made.qrels, made.runs, info=made.info), by, among)
    expected = {name: [0, 0] for name in found.names}
    for topic, judged in made.judged.items():
        for doc, grade in judged.items():
            who = holders(made, by, topic, doc)
            if len(who) == len(holders(made, by, topic, doc, among)) == 1:
                owner = who.pop()
                expected[owner][0] += 1
                expected[owner][1] += grade >= 1
    assert dict(zip(found.names, found.judged_counts().sum(axis=1).tolist(), strict=True)) == {
        name: judged for name, (judged, _) in expected.items()
    }
    assert dict(zip(found.names, found.counts().sum(axis=1).tolist(), strict=True)) == {
        name: relevant for name, (_, relevant) in expected.items()
    }
    assert sum(map(sum, expected.values())) > 0


def test_kinds_are_those_of_the_runs_that_have_the_document() -> None:
    # group0 has run0 (automatic) and run1 (manual): a is in both, b in run0, c in run1; d is in group1 too.
    made = trial(0, runs=3, topics=1, depth=3)
    made.ranked["run0"] = {"9": {"a": 3, "b": 2, "d": 1}}
    made.ranked["run1"] = {"9": {"a": 3, "c": 2, "d": 1}}
    made.ranked["run2"] = {"9": {"d": 3, "e": 2, "f": 1}}
    made.judged["9"] = {"a": 1, "b": 2, "c": 1, "d": 1, "e": 0, "f": 0}
    for name in made.info:
        object.__setattr__(made.info[name], "pooled", True)
    found = unique_documents(read_judged_runs(made.qrels, made.runs, info=made.info))
    assert found.names == ("group0", "group1")
    assert found.kinds == ("automatic", "manual", "mixed")
    assert found.counts().tolist() == [[1, 1, 1], [0, 0, 0]]
    assert found.judged_counts().tolist() == [[1, 1, 1], [2, 0, 0]]
    assert found.frame.rows() == [
        ("group0", "automatic", 1, 1), ("group0", "manual", 1, 1), ("group0", "mixed", 1, 1),
        ("group1", "automatic", 0, 2),
    ]  # fmt: skip


def test_the_level_says_what_is_relevant() -> None:
    made = trial(1)
    one = unique_documents(read_judged_runs(made.qrels, made.runs, info=made.info)).counts()
    two = unique_documents(read_judged_runs(made.qrels, made.runs, info=made.info, level=2)).counts()
    assert 0 < two.sum() < one.sum()


def test_what_is_lost_with_a_unit_are_its_own_documents() -> None:
    made = trial(3)
    found = unique_documents(read_judged_runs(made.qrels, made.runs, info=made.info), "run")
    for unit in range(len(found.names)):
        relevant, judged = found.lost(unit), found.lost(unit, relevant_only=False)
        assert relevant.sum() == found.counts()[unit].sum()
        assert judged.sum() == found.judged_counts()[unit].sum()
        assert not np.any(relevant & ~judged)


def test_one_run_alone_has_everything_to_itself() -> None:
    made = trial(0, runs=2)
    alone = Trial(made.judged, {"run0": made.ranked["run0"]}, {"run0": made.info["run0"]})
    found = unique_documents(read_judged_runs(alone.qrels, alone.runs, info=alone.info))
    judged = sum(doc in made.order("run0", topic)[:3] for topic in made.judged for doc in made.judged[topic])
    assert found.judged_counts().sum() == judged
