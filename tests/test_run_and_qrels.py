"""Runs and judgments made from columns and dicts hold what files may hold, and nothing else."""

from __future__ import annotations

import math

import pytest

from sounding.data.tables import Qrels, Run
from sounding.errors import DataError


@pytest.mark.parametrize("value", [math.inf, -math.inf, math.nan])
def test_a_number_that_is_not_finite_is_refused_with_its_place(value: float) -> None:
    message = rf"topic 2 gives document 'b' the {{}} {value}; expected a finite number"
    with pytest.raises(DataError, match=r"^run 'r': " + message.format("score")):
        Run.from_columns(["1", "2"], ["a", "b"], [1.0, value], name="r")
    with pytest.raises(DataError, match=r"^run 'r': " + message.format("score")):
        Run.from_dict({"1": {"a": 1.0}, "2": {"b": value}}, name="r")
    with pytest.raises(DataError, match="^mine: " + message.format("grade")):
        Qrels.from_columns(["1", "2"], ["a", "b"], [1.0, value], source="mine")
    with pytest.raises(DataError, match="^qrels: " + message.format("grade")):
        Qrels.from_dict({"1": {"a": 1.0}, "2": {"b": value}})


def test_a_document_that_a_topic_lists_twice_is_refused_with_its_place() -> None:
    topics, docs = ["2", "1", "2", "2"], ["a", "a", "b", "a"]
    with pytest.raises(DataError, match=r"^run 'r': topic 2 lists document 'a' twice; expected it once$"):
        Run.from_columns(topics, docs, [4, 3, 2, 1], name="r")
    with pytest.raises(DataError, match=r"^qrels: topic 2 lists document 'a' twice; expected it once$"):
        Qrels.from_columns(topics, docs, [1, 1, 1, 1])


def test_several_groups_may_judge_one_document_and_none_may_twice() -> None:
    topics, docs = ["1", "1", "1"], ["a", "a", "b"]
    assert len(Qrels.from_columns(topics, docs, [1, 0, 1], groups=["x", "y", "x"]).docs) == 3
    with pytest.raises(DataError, match="topic 1 lists document 'a' twice"):
        Qrels.from_columns(topics, docs, [1, 0, 1], groups=["x", "x", "y"])
