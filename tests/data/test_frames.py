"""pandas and Polars frames."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from sounding.core.errors import FormatError
from sounding.data.columns import is_frame
from sounding.data.formats import read_qrels, read_run

COLUMNS: dict[str, list[Any]] = {
    "qid": ["1", "01"],
    "docno": ["NA", "b"],
    "score": [2.5, 1.5],
    "x": [None, 1],
}
MAKERS = [pandas.DataFrame, polars.DataFrame]


@pytest.mark.parametrize("make", MAKERS)
def test_a_frame_is_read_by_the_names_of_its_columns(make: Any) -> None:
    run = read_run(make(COLUMNS), name="bm25")
    assert run.name == "bm25"
    assert run.topics == ("1", "01")
    assert run.docs.texts() == ["NA", "b"]
    assert run.scores.tolist() == [2.5, 1.5]


@pytest.mark.parametrize("make", MAKERS)
def test_whole_numbers_become_ids_and_everything_known_of_a_judgment_is_kept(make: Any) -> None:
    frame = make({"query_id": [7, 7], "doc_id": ["a", "b"], "relevance": [1, 0], "pool_rank": [3, 0]})
    qrels = read_qrels(frame)
    assert qrels.topics == ("7",)
    assert qrels.grades.tolist() == [1, 0]
    assert qrels.pool_ranks is not None
    assert qrels.pool_ranks.tolist() == [3, 0]


def test_an_index_that_pandas_kept_from_a_filter_changes_nothing() -> None:
    frame = pandas.DataFrame(COLUMNS)
    assert read_run(frame[frame["score"] < 2], name="x").docs.texts() == ["b"]


@pytest.mark.parametrize("kind", ["category", "object", "string"])
def test_texts_may_be_stored_in_any_of_pandas_ways(kind: str) -> None:
    frame = pandas.DataFrame(COLUMNS).astype({"qid": kind, "docno": kind})
    assert read_run(frame).topics == ("1", "01")


def test_categories_of_polars_are_texts() -> None:
    frame = polars.DataFrame(COLUMNS, schema_overrides={"qid": polars.Categorical})
    assert read_run(frame).topics == ("1", "01")


def test_single_precision_scores_keep_their_exact_value() -> None:
    frame = pandas.DataFrame({"topic": ["1"], "doc": ["a"], "score": np.array([0.1], np.float32)})
    assert read_run(frame).scores.tolist() == [0.10000000149011612]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": [301.0, 302.0]}, "run:1: the topic is 301.0; expected a text .and 1 more"),
        ({"docno": ["a", None]}, "run:2: the doc is (null|nan); expected a text"),
        ({"score": [1.0, float("nan")]}, "run:2: score 'nan' is not a number"),
        ({"score": ["1", "2"]}, "run:1: the score is the text '1'; expected a number without quotes"),
        ({"score": [True, False]}, "run:1: the score is true"),
        ({"qid": ["1", "1"], "docno": ["a", "a"]}, "run:2: topic 1 lists document 'a' already in line 1"),
    ],
)
def test_a_mistake_in_a_frame_names_its_row(make: Any, change: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_run(make({**COLUMNS, **change}))


@pytest.mark.parametrize("make", MAKERS)
def test_frames_without_rows_or_columns_are_refused(make: Any) -> None:
    with pytest.raises(FormatError, match="run:1: the table has no rows"):
        read_run(make({"topic": [], "doc": [], "score": []}))
    with pytest.raises(FormatError, match="no column for the topic among 'a'"):
        read_run(make({"a": [1]}))


def test_two_columns_of_one_name_are_refused() -> None:
    frame = pandas.DataFrame([["1", "a", "b", 2.0]], columns=["topic", "doc", "doc", "score"])
    with pytest.raises(FormatError, match="the columns 'doc' and 'doc' both name the doc"):
        read_run(frame)


def test_looking_for_frames_imports_nothing() -> None:
    code = (
        "import sys; from sounding.data.formats import read_run;"
        "read_run({'1': {'a': 1}}); assert not {'pandas', 'polars'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert not is_frame({"a": 1})


def test_the_text_of_a_query_and_an_internal_number_give_way_to_ids() -> None:
    frame = pandas.DataFrame(
        {"qid": ["1"], "query": ["some words"], "docid": [7], "docno": ["a"], "score": [1.0], "rank": [0]}
    )
    run = read_run(frame)
    assert (run.topics, run.docs.texts()) == (("1",), ["a"])
    with pytest.raises(FormatError, match="both name the doc"):
        read_run(frame.rename(columns={"docno": "doc_id"}))
