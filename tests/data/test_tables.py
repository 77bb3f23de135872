"""Runs and judgments made from columns and dicts hold what files may hold, and nothing else."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from sounding.core.errors import DataError
from sounding.data.formats import read_qrels, read_run
from sounding.data.tables import Qrels, Run


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


def test_tables_show_themselves_in_a_few_words(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("".join(f"1 Q0 d{number} 1 2.5 bm25\n" for number in range(2000)))
    assert repr(read_run(path)) == f"<Run 'file' from {path}: 1 topic, 2,000 documents>"
    path.write_text("1 0 a 1\n1 0 b 0\n2 0 a 2\n")
    assert repr(read_qrels(path)) == f"<Qrels from {path}: 2 topics, 3 judgments, 2 relevant>"
    assert repr(Run.from_dict({"1": {"a": 1}}, name="x" * 500)).startswith("<Run 'xxx")
    assert len(repr(Run.from_dict({"1": {"a": 1}}, name="x" * 500))) < 150


@pytest.mark.parametrize("what", ["topic", "document"])
def test_a_frame_refuses_ids_that_are_not_utf_8_by_name(what: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    topic, doc = (b"caf\xe9", b"a") if what == "topic" else (b"1", b"caf\xe9")
    path.write_bytes(b"1 Q0 \xc3\xa9 1 3 t\n" + topic + b" Q0 " + doc + b" 2 2 t\n")
    message = rf"file: {what} 'caf\\xe9' is not UTF-8, but frames and Parquet can only hold UTF-8"
    with pytest.raises(DataError, match=message):
        _ = read_run(path).frame
    path.write_bytes(b"1 0 \xc3\xa9 1\n" + topic + b" 0 " + doc + b" 1\n")
    with pytest.raises(DataError, match=message):
        _ = read_qrels(path).frame
    path.write_bytes(b"1 caf\xe9 \xc3\xa9 1\n")
    with pytest.raises(DataError, match=r"group 'caf\\xe9' is not UTF-8"):
        _ = read_qrels(path, groups=True).frame
