"""JSON, JSON lines and Parquet."""

from __future__ import annotations

import io
import json
from typing import Any

import polars
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding.core.errors import FormatError, SoundingError
from sounding.data.columns import Kind
from sounding.data.formats import parse_qrels, parse_run
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Qrels, Run

RUN = {"1": {"a": 2.5, "b": 1.5}, "02": {"a": 1e-7}}


def run_of(text: str | bytes, form: str, **options: Any) -> Run:
    problems = Problems("file")
    run = parse_run(content_of(text), problems, format=form, **options)
    problems.refuse()
    return run


def qrels_of(text: str | bytes, form: str, **options: Any) -> Qrels:
    problems = Problems("file")
    qrels = parse_qrels(content_of(text), problems, format=form, **options)
    problems.refuse()
    return qrels


def content_of(text: str | bytes) -> Content:
    return Content.from_bytes("file", text if isinstance(text, bytes) else text.encode())


def as_dict(table: Run | Qrels) -> dict[str, dict[str, float]]:
    docs = table.docs.texts()
    values = (table.scores if isinstance(table, Run) else table.grades).tolist()
    return {
        topic: dict(zip(docs[begin:end], values[begin:end], strict=True))
        for topic, begin, end in zip(table.topics, table.starts[:-1], table.starts[1:], strict=True)
    }


@pytest.mark.parametrize("indent", [None, 2])
def test_a_dict_of_dicts_is_a_run_and_judgments(indent: int | None) -> None:
    assert as_dict(run_of(json.dumps(RUN, indent=indent), "json")) == RUN
    judgments = {"1": {"a": 2, "b": -1}, "2": {"c": 0}}
    assert as_dict(qrels_of(json.dumps(judgments, indent=indent), "json")) == judgments


def test_a_name_around_the_topics_names_the_run() -> None:
    for text in (json.dumps({"bm25": RUN}), json.dumps({"name": "bm25", "metadata": {"k": 1}, "run": RUN})):
        run = run_of(text, "json")
        assert as_dict(run) == RUN
        assert (run.name, run.tag) == ("file", "bm25")
    assert run_of(json.dumps({"run": RUN}), "json").tag == "file"
    assert as_dict(qrels_of(json.dumps({"name": "q", "qrels": {"1": {"a": 1}}}), "json")) == {"1": {"a": 1}}


def test_a_run_of_one_topic_is_not_taken_for_a_named_one() -> None:
    assert as_dict(run_of('{"name": {"run": 1}}', "json")) == {"name": {"run": 1}}


def test_numbers_are_read_as_they_stand() -> None:
    text = '{"1": {"a": 0.1, "b": 9007199254740993, "c": 1E+2, "d": -0.30000000000000004}}'
    expected = {"1": {"a": 0.1, "b": 9007199254740992.0, "c": 100.0, "d": -0.30000000000000004}}
    assert as_dict(run_of(text, "json")) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"1": {"a": 1,\n"b" 2}}', "file:2: not valid JSON at column 5: expecting ':' delimiter"),
        ('{\n"1": {\n"a": "2"}}', "file:3: the score is the text '2'; expected a number without quotes"),
        ('{"1": {"a": true}}', "file:1: the score is true"),
        ('{"1": {"a": null}}', "file:1: the score is null"),
        ('{"1": {\n"b": [{"x":\n1}],\n"a": null}}', "file:2: the score is a list; .*and 1 more"),
        ('{"1": {"b": {"x":\n1},\n"a": 1, "a":\n2}}', "file:1: the score is an object"),
        ('{"1": {"b": 1},\n"1": {"a": 1,\n"b": 2}}', "file:3: topic 1 lists document 'b' already in line 1"),
        ('{"name": "x", "more": [{"y": 1}],\n"run": {"1":\n{"a": NaN}}}', "file:3: score 'NaN' is not a num"),
        ('{"1": {"a": -Infinity}}', "file:1: score '-Infinity' is not a number"),
        ('{"1": {"a": 1e999}}', "file:1: score '1e999' is too large"),
        ('{"1": {"b": 1},\n"2": 7}', "file:2: topic '2' is the number 7; expected"),
        ('{"1": {"": 1}}', "file:1: the doc is empty"),
        ('{"1": {"\\ud800": 1}}', "file:1: the doc .* is not Unicode"),
        ('{"1": {"a\\nb": 1}}', "file:1: the doc .* holds a control character"),
        ("[1, 2]", "file:1: a list has no topics; expected"),
        ("{}", "file:1: an object has no topics"),
        ("[" * 100_000, "file: JSON is nested too deeply"),
        (b'{"1":\n{"\xe9": 1}}', "file:2: byte 0xe9 is not UTF-8"),
    ],
)  # fmt: skip
def test_a_mistake_in_json_is_one_line_with_its_place(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        run_of(text, "json")


def test_a_run_without_any_document_holds_no_data() -> None:
    with pytest.raises(FormatError, match="no data"):
        run_of('{"1": {}}', "json")


def test_lines_of_json_are_rows_with_the_names_of_columns() -> None:
    text = (
        '{"qid": "1", "docno": "a", "score": 2.5, "text": "x"}\n\n# x\n{"score":1.5,"docno":"b","qid":1}\r\n'
    )
    run = run_of(text, "jsonl")
    assert as_dict(run) == {"1": {"a": 2.5, "b": 1.5}}
    assert run.lines is not None
    assert run.lines.tolist() == [1, 4]
    qrels = qrels_of('{"query_id": "1", "doc_id": "a", "relevance": 1, "pool_rank": 3}\n', "jsonl")
    assert qrels.pool_ranks is not None
    assert qrels.pool_ranks.tolist() == [3]


@pytest.mark.parametrize("name", ["docs", "results"])
def test_a_line_of_json_may_hold_a_whole_topic(name: str) -> None:
    lines = [
        json.dumps({"qid": "1", name: {"a": 2.5, "b": 1.5}}),
        json.dumps({"topic": "02", name: [{"doc": "a", "score": 1e-7}]}),
    ]
    assert as_dict(run_of("\n".join(lines), "jsonl")) == RUN


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"topic": "1", "doc": "a", "score": 1}\n{"topic": 1,', "file:2: not valid JSON"),
        ('{"topic": "1", "doc": "a", "score": 1}\n7\n', "file:2: the number 7 is not an object"),
        ('{"topic": "1", "doc": "a", "score": "1"}', "file:1: the score is the text '1'"),
        ('{"topic": 1.0, "doc": "a", "score": 1}', "file:1: the topic is the number 1.0; expected a text"),
        ('{"topic": "1", "doc": null, "score": 1}', "file:1: the doc is null"),
        ('{"topic": "1", "doc": "a"}', "file:1: no column for the score among 'topic', 'doc'"),
        ('{"topic": "1", "doc": "a", "score": 1}\n{"topic": "1", "doc": "b", "score": 1, "rank": 1}',
         "file:2: this line has topic, doc, score, rank; expected topic, doc, score, as in line 1"),
        ('{"docs": {"a": 1}}', "file:1: members 'docs'; expected one topic"),
        ('{"topic": "1", "docs": [1]}', "file:1: the number 1 in a list of documents"),
        ("# none\n", "file:1: the file has no data"),
    ],
)  # fmt: skip
def test_a_mistake_in_lines_of_json_is_one_line_with_its_place(text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        run_of(text, "jsonl")


def parquet(frame: polars.DataFrame) -> bytes:
    stream = io.BytesIO()
    frame.write_parquet(stream)
    return stream.getvalue()


def test_parquet_columns_are_known_by_name_and_whole_numbers_become_ids() -> None:
    frame = polars.DataFrame({"score": [2.5, 1.5], "q_id": [1, 1], "doc_id": ["a", "b"], "more": [None, "x"]})
    assert as_dict(run_of(parquet(frame), "parquet")) == {"1": {"a": 2.5, "b": 1.5}}
    judged = polars.DataFrame({"query-id": ["001"], "corpus-id": [7], "score": [1]})
    assert as_dict(qrels_of(parquet(judged), "parquet")) == {"001": {"7": 1}}


def test_single_precision_scores_keep_their_exact_value() -> None:
    frame = polars.DataFrame(
        {"topic": ["1"], "doc": ["a"], "score": [0.1]}, schema_overrides={"score": polars.Float32}
    )
    assert as_dict(run_of(parquet(frame), "parquet")) == {"1": {"a": 0.10000000149011612}}


def test_parquet_that_is_none_or_lacks_columns_is_one_line() -> None:
    with pytest.raises(FormatError, match="file: not a readable Parquet file"):
        run_of(b"PAR1 something PAR1", "parquet")
    with pytest.raises(FormatError, match="file:1: no column for the doc among 'topic', 'score'"):
        run_of(parquet(polars.DataFrame({"topic": ["1"], "score": [1.0]})), "parquet")


JSON_SEEDS = [
    json.dumps(RUN),
    json.dumps(RUN, indent=1),
    json.dumps({"name": "x", "run": RUN}),
    '{"topic": "1", "doc": "a", "score": 2.5}\n{"topic": "1", "doc": "b", "score": 1}\n',
    '{"details": {"1": {"hits": [{"hit": {"_id": "a", "_score": 1}}]}}, "metric_score": 1}',
    '[{"data": {"topic": "1", "doc": "a"}, "annotations": [{"result": [{"value": {"rating": 1}}]}]}]',
    '{"query_doc_pairs": [{"query_text": "1", "doc_id": "a", "judgements": [{"rating": 1}]}]}',
    '{"qid": 1, "docs": {"a": 1}}\n{"qid": 2, "results": [{"doc": "a", "score": 1}]}\n',
]
JSON_PIECES = [
    "",
    "{",
    "}",
    "[",
    "]",
    '"',
    ",",
    ":",
    "\n",
    "\\",
    "\\ud800",
    "null",
    "NaN",
    "1e999",
    "é",
    "9" * 400,
]


def outcome(data: bytes, kind: Kind, form: str) -> str:
    """The one error that reading gives, or nothing."""
    try:
        (run_of if kind == "run" else qrels_of)(data, form)
    except SoundingError as error:
        return str(error)
    return ""


@given(st.data(), st.sampled_from(["run", "qrels"]), st.sampled_from(["json", "jsonl"]))
def test_mutated_json_gives_a_result_or_one_clear_error(data: st.DataObject, kind: Kind, form: str) -> None:
    text = data.draw(st.sampled_from(JSON_SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        at, cut = data.draw(st.integers(0, len(text))), data.draw(st.integers(0, 4))
        text = text[:at] + data.draw(st.sampled_from(JSON_PIECES)) + text[at + cut :]
    assert "\n" not in outcome(text.encode(), kind, form)


# The same examples every time: a rare mutation makes Polars itself end the process, which nobody can catch.
@settings(max_examples=40, derandomize=True)
@given(st.data(), st.sampled_from(["run", "qrels"]))
def test_mutated_parquet_gives_a_result_or_one_clear_error(data: st.DataObject, kind: Kind) -> None:
    whole = bytearray(parquet(polars.DataFrame({"topic": ["1", "2"], "doc": ["a", "b"], "score": [1, 2]})))
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    assert "\n" not in outcome(bytes(whole), kind, "parquet")
