"""Comma, semicolon and tab separated tables."""

from __future__ import annotations

import csv
import io
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sounding.core.errors import FormatError, SoundingError
from sounding.data.columns import Kind
from sounding.data.delimited import split_grid
from sounding.data.formats import parse_qrels, parse_run
from sounding.data.problems import Problems
from sounding.data.sources import Content
from sounding.data.tables import Qrels, Run


def run_of(text: str | bytes, form: str = "csv", **options: Any) -> Run:
    content, problems = opened(text)
    run = parse_run(content, problems, format=form, **options)
    problems.refuse()
    return run


def qrels_of(text: str | bytes, form: str = "csv", **options: Any) -> Qrels:
    content, problems = opened(text)
    qrels = parse_qrels(content, problems, format=form, **options)
    problems.refuse()
    return qrels


def opened(text: str | bytes) -> tuple[Content, Problems]:
    data = text if isinstance(text, bytes) else text.encode()
    return Content.from_bytes("file", data), Problems("file")


def rows(table: Run | Qrels) -> list[tuple[str, str, float]]:
    topics = [topic for topic, size in zip(table.topics, table.sizes, strict=True) for _ in range(size)]
    values = table.scores if isinstance(table, Run) else table.grades
    return list(zip(topics, table.docs.texts(), values.tolist(), strict=True))


TWO_ROWS = [("1", "a", 2.5), ("1", "b", 1.5)]


@pytest.mark.parametrize(
    "text",
    [
        "topic,doc,score\n1,a,2.5\n1,b,1.5\n",
        "score;docno;qid\n2.5;a;1\n1.5;b;1\n",
        "QUERY-ID\tCorpus ID\tSim\n1\ta\t2.5\n1\tb\t1.5",
        "1,a,2.5\n1,b,1.5\n",
        "1\ta\t2.5\r\n1\tb\t1.5\r\n",
        "1,Q0,a,1,2.5,tag\n1,Q0,b,2,1.5,tag\n",
        "# made by hand\n\n 1 , a ,  2.5\n\n1,b,1.5e0\n\n",
        '"topic","doc","score"\n"1","a","2.5"\n"1","b",1.5\n',
        "system,rank,title,topic,doc,score\nx,1,some words,1,a,2.5\nx,2,,1,b,1.5\n",
        "query_id,document_id,what_the_model_said\n1,a,2.5\n1,b,1.5\n",
    ],
)
def test_a_run_is_the_same_however_its_table_is_laid_out(text: str) -> None:
    assert rows(run_of(text)) == TWO_ROWS


@pytest.mark.parametrize(
    "text",
    [
        "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n",
        "1,a,1\n1,b,0\n",
        "1,0,a,1\n1,0,b,0\n",
        "rel,assessor,docid,q_id\n1,X,a,1\n0,Y,b,1\n",
        "topic,doc,score,relevance\n1,a,7,1\n1,b,8,0\n",
    ],
)
def test_judgments_are_the_same_however_their_table_is_laid_out(text: str) -> None:
    assert rows(qrels_of(text)) == [("1", "a", 1.0), ("1", "b", 0.0)]


def test_ids_stay_text() -> None:
    run = run_of("topic,doc,score\n001,NA,1\n1,1e3,2\nqtest.1,null,3\n")
    assert run.topics == ("001", "1", "qtest.1")
    assert run.docs.texts() == ["NA", "1e3", "null"]


def test_ids_in_quotes_may_hold_separators_quotes_and_blanks() -> None:
    assert rows(run_of('topic,doc,score\n1,"a, ""b""",2\n')) == [("1", 'a, "b"', 2.0)]


def test_bytes_that_are_no_utf8_survive_both_ways_of_splitting() -> None:
    for text in (b"topic,doc,score\n1,\xe9,2\n", b'topic,doc,score\n"1",\xe9,2\n'):
        assert run_of(text).docs.text(0).encode("utf-8", "surrogateescape") == b"\xe9"


def test_topics_that_return_are_brought_together_with_their_lines() -> None:
    run = run_of("topic,doc,score\n1,a,3\n2,b,2\n1,c,1\n")
    assert run.topics == ("1", "2")
    assert run.docs.texts() == ["a", "c", "b"]
    assert run.lines is not None
    assert run.lines.tolist() == [2, 4, 3]


def test_the_tag_names_the_run_and_the_file_where_there_is_none() -> None:
    assert run_of("topic,doc,score,run\n1,a,1,bm25\n").tag == "bm25"
    assert run_of("topic,doc,score\n1,a,1\n").name == "file"
    assert run_of("topic,doc,score\n1,a,1\n", name="x").name == "x"


def test_ranks_are_read_when_they_are_asked_for() -> None:
    text = "topic,doc,score,rank\n1,a,1,2\n1,b,3,1\n"
    ranks = run_of(text, with_ranks=True).ranks
    assert ranks is not None
    assert ranks.tolist() == [2, 1]
    assert run_of(text).ranks is None
    with pytest.raises(FormatError, match="no rank column to order the documents by"):
        run_of("topic,doc,score\n1,a,1\n", with_ranks=True)


def test_a_run_with_ranks_and_no_scores_is_ordered_by_them() -> None:
    assert rows(run_of("qid\tdocid\trank\n1\ta\t1\n1\tb\t2\n")) == [("1", "a", -1.0), ("1", "b", -2.0)]


def test_ranks_that_pass_for_scores_are_refused() -> None:
    with pytest.raises(FormatError, match="file:1: the third column holds ranks"):
        run_of("7\ta\t1\n7\tb\t2\n8\ta\t1\n")
    assert len(run_of("7\ta\t1\n8\tb\t1\n").docs) == 2
    assert len(run_of("7\ta\t2\n7\tb\t1\n").docs) == 2


def test_everything_known_of_a_judgment_is_read() -> None:
    qrels = qrels_of(
        "topic,doc,grade,assessor,pool_rank,probability,method\n2,b,0,X,0,1,1\n1,a,1,Y,7,0.25,2\n",
        groups=True,
    )
    assert qrels.topics == ("1", "2")
    for column, expected in (
        (qrels.pool_ranks, [7, 0]), (qrels.probabilities, [0.25, 1.0]), (qrels.methods, [2, 1]),
    ):  # fmt: skip
        assert column is not None
        assert column.tolist() == expected
    assert qrels.groups is not None
    assert qrels.groups.texts() == ["Y", "X"]


def test_groups_may_judge_one_document_each() -> None:
    text = "topic,doc,grade,assessor\n1,a,0,X\n1,a,1,Y\n"
    assert len(qrels_of(text, groups=True).docs) == 2
    with pytest.raises(FormatError, match="file:3: topic 1 lists document 'a' already in line 2"):
        qrels_of(text)
    assert rows(qrels_of(text, duplicates="best")) == [("1", "a", 1.0)]
    assert rows(qrels_of(text, duplicates="first")) == [("1", "a", 0.0)]
    with pytest.raises(FormatError, match="no column names the assessor; expected one of iteration"):
        qrels_of("1,a,0\n", groups=True)


@pytest.mark.parametrize(
    ("kind", "text", "message"),
    [
        ("run", "topic,doc,score\n1,a,2\n1,b,x\n", "file:3: score 'x' is not a number"),
        ("run", "topic,doc,score\n1,a,2\n1,b,nan\n1,c,\n", "file:3: score 'nan' .*and 1 more"),
        ("run", "topic,doc,score\n1,a\n", "file:2: 2 fields; expected 3"),
        ("run", "topic,doc,score\n1,,2\n", "file:2: the doc is empty; expected an id"),
        ("run", '"topic",doc,score\n"",a,2\n', "file:2: the topic is empty"),
        ("run", "topic,doc,score\n", "file:1: the table has a header but no rows"),
        ("run", "# nothing\n\n", "file:1: the file has no data"),
        ("run", "topic,doc,grade\n1,a,1\n", "file:1: no column for the score among 'topic', 'doc', 'grade'"),
        ("run", "\n\nqid,doc_id,docno,score\n", "file:3: the columns 'doc_id' and 'docno' both name the doc"),
        ("run", "1,a,b,2\n", "file:1: 4 fields, and '1', 'a', 'b', '2' is not a header"),
        ("run", "who,what,how\n1,a,2\n", "file:1: 'how' is not a number, and 'who', 'what', 'how' is no"),
        ("run", "topic,doc,score,run\n1,a,2,x\n1,b,1,y\n", "file:3: tag 'y' after 'x'; expected one tag"),
        ("run", 'topic,doc,score\n1,"a,2\n', "file:2: invalid quotation marks"),
        ("run", 'topic,doc,score\n1,"a"b,2\n', "file:2: invalid quotation marks"),
        ("run", 'topic,doc,score\n1,a,2\n1,"b\nc",2\n', r"file:3: the doc 'b\\nc' holds a control character"),
        ("run", "topic,doc,score\n1,a\0b,2\n", "file:2: a zero byte"),
        ("qrels", "1,a,0.5\n", "file:1: grade '0.5' is not a whole number"),
        ("qrels", "topic,doc,grade,pool_rank\n1,a,1,-1\n", "file:2: pool_rank '-1'; expected a whole number"),
        ("qrels", "topic,doc,grade,pool_rank\n1,a,1,1.5\n", "file:2: pool_rank '1.5'"),
        ("qrels", "topic,doc,grade,probability\n1,a,1,0\n", "file:2: probability '0'; expected more than 0"),
    ],
)  # fmt: skip
def test_a_mistake_is_one_line_with_its_place(kind: Kind, text: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        (run_of if kind == "run" else qrels_of)(text)


def test_lines_are_counted_past_fields_that_span_several() -> None:
    text = '# a "comment\ntopic,doc,score,title\n1,a,2,"two\nlines"\n# another "\n1,b,x,""\n'
    with pytest.raises(FormatError, match="file:6: score 'x'"):
        run_of(text)


def test_all_problems_of_a_file_are_gathered() -> None:
    content, problems = opened("topic,doc,score\n1,a,x\n1\n1,b,2\n1,b,1\n")
    parse_run(content, problems, format="csv")
    assert sorted(problem.line for problem in problems.found) == [2, 3, 5]


def test_fractional_grades_follow_the_policy() -> None:
    assert rows(qrels_of("1,a,0.5\n", fractional="accept")) == [("1", "a", 0.5)]
    assert rows(qrels_of("1,a,0.5\n", fractional="round")) == [("1", "a", 1.0)]


plain = st.text(st.characters(codec="utf-8", exclude_characters='\n\r\0,";\t#', exclude_categories=["Cs"]))


@given(st.lists(st.lists(plain, min_size=2, max_size=4), min_size=1, max_size=6))
@example([["a", ""], ["", ""], [" b ", "\x01c"]])
def test_the_two_ways_of_splitting_agree(table: list[list[str]]) -> None:
    text = "\n".join(",".join(record) for record in table)
    quoted = io.StringIO()
    csv.writer(quoted, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(table)
    content, problems = opened(text)
    other, _ = opened(quoted.getvalue())
    left, right = split_grid(content, ",", problems), split_grid(other, ",", problems)
    assert [left.texts(i) for i in range(len(left.first))] == [
        right.texts(i) for i in range(len(right.first))
    ]
    np.testing.assert_array_equal(left.lines, right.lines)


SEEDS = [
    b"topic,doc,score\n301,FBIS3-1,12.5\n301,FT911-2,1e-3\n302,a,3\n",
    b"301\tFBIS3-1\t12.5\r\n301\tFT911-2\t11\r\n",
    b"301,Q0,a,1,2.5,tag\n302,Q0,b,2,1.5,tag\n",
    b'topic;doc;grade;pool_rank\n1;"a";1;3\n2;b;0;1\n',
    b"topic,doc,grade,assessor,probability,method\n1,a,1,x,0.5,2\n",
]
PIECES = st.sampled_from(
    [b"", b",", b"\t", b";", b'"', b"\n", b"\r", b"\0", b"\xff", b"#", b"nan", b"-", b"9" * 400]
)


def outcome(text: bytes, kind: Kind) -> str:
    """The one error that reading gives, or nothing."""
    try:
        (run_of if kind == "run" else qrels_of)(text)
    except SoundingError as error:
        return str(error)
    return ""


@given(st.data(), st.sampled_from(["run", "qrels"]))
def test_a_mutated_table_gives_a_result_or_one_clear_error(data: st.DataObject, kind: Kind) -> None:
    text = bytearray(data.draw(st.sampled_from(SEEDS)))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        text[at : at + data.draw(st.integers(0, 3))] = data.draw(PIECES)
    assert "\n" not in outcome(bytes(text), kind)


def test_any_number_of_blanks_around_a_field_is_cut_off() -> None:
    blanks = " " * 2_000_000
    text = f"topic,doc,score\n1,{blanks}a b{blanks},2{blanks}\n{blanks}1,c{blanks},1\n"
    run = parse_run(Content.from_bytes("run.csv", text.encode()), Problems("run.csv"))
    assert run.docs.texts() == ["a b", "c"]
    assert run.scores.tolist() == [2, 1]
