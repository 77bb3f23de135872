"""Judgments of several assessors from files: who is who, what is repeated, what is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest
from tests.agree.panels import NONE, panel_of

from sounding.agree.assessors import SETTLING, read_panel
from sounding.agree.panel import fill_outside
from sounding.agree.sentences import repeated
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.core.policies import Policies
from sounding.data.tables import Qrels

VOTES = "topic,doc,assessor,grade\n1,a,X,2\n1,a,X,0\n1,a,X,1\n1,a,X,2\n1,a,Y,1\n1,b,X,0\n1,b,X,0\n2,c,Y,1\n"


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text)
    return folder / name


def same(found: object, expected: list[list[float]]) -> None:
    np.testing.assert_array_equal(found, expected)


def test_each_file_is_one_assessors_named_after_it(tmp_path: Path) -> None:
    first = write(tmp_path, "ann.qrels", "10 0 b 1\n10 0 a 0\n2 0 z 2\n")
    second = write(tmp_path, "bob.csv", "query_id,document_id,crowd_rel\n10,a,1\n9,q,0\n")
    panel = read_panel([first, second])
    assert panel.assessors == ("ann", "bob")
    assert panel.topics == ("10", "2", "9")  # byte order
    assert panel.docs.texts() == ["a", "b", "z", "q"]
    assert panel.starts.tolist() == [0, 2, 3, 4]
    same(panel.grades, [[0, 1], [1, NONE], [2, NONE], [NONE, 0]])
    assert panel.repeats == ()


def test_a_table_with_a_column_of_assessors_is_split(tmp_path: Path) -> None:
    panel = read_panel(write(tmp_path, "log.tsv", "topic\tdoc\treviewer\tgrade\n1\ta\tR2\t1\n1\ta\tR1\t0\n"))
    assert panel.assessors == ("R2", "R1")
    same(panel.grades, [[1, 0]])


def test_a_judgment_log_in_json_lines_is_read(tmp_path: Path) -> None:
    lines = '{"topic": "1", "doc": "a", "assessor": "X", "grade": 1}\n{"topic": "1", "doc": "a", "assessor": "Y", "grade": 0}\n'
    assert read_panel(write(tmp_path, "log.jsonl", lines)).assessors == ("X", "Y")


def test_the_second_column_of_trec_names_assessors_only_where_it_can(tmp_path: Path) -> None:
    text = "1 1 a 1\n1 2 a 0\n"
    one, other = write(tmp_path, "one.qrels", text), write(tmp_path, "other.qrels", "1 0 a 1\n")
    assert read_panel([one]).assessors == ("1", "2")
    assert read_panel([one, other], repeated="last").assessors == ("one", "other")
    assert read_panel([one, other], by="column").assessors == ("1", "2", "other")
    assert read_panel([one], by="file", repeated="first").assessors == ("one",)


def test_assessors_of_one_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    files = [write(tmp_path, "a.qrels", "1 0 x 1\n"), write(tmp_path / "sub", "a.qrels", "1 0 x 0\n")]
    assert read_panel(files).assessors == ("a", "a#2")


@pytest.mark.parametrize(
    ("policy", "grade"),
    # 2, 0, 1, 2 in the file's order: more than half reach 1, not more than half reach 2
    [("first", 2), ("last", 2), ("highest", 2), ("lowest", 0), ("majority", 1), ("mean", 1.25)],
)
def test_contradictory_rows_are_settled_by_the_policy(tmp_path: Path, policy: str, grade: float) -> None:
    panel = read_panel(write(tmp_path, "votes.csv", VOTES), repeated=policy)  # type: ignore[arg-type]
    same(panel.grades, [[grade, 1], [0, NONE], [NONE, 1]])
    (told,) = panel.repeats
    assert (told.assessor, told.pairs, told.rows, told.contradictory) == ("X", 2, 4, 1)
    assert (told.policy, told.example) == (policy, "topic 1, document 'a'")
    assert policy in repeated(told)


def test_first_and_last_follow_the_file(tmp_path: Path) -> None:
    text = "topic,doc,assessor,grade\n1,a,X,0\n1,b,X,1\n1,a,X,2\n1,b,Y,1\n"
    file = write(tmp_path, "log.csv", text)
    same(read_panel(file, repeated="first").grades, [[0, NONE], [1, 1]])
    same(read_panel(file, repeated="last").grades, [[2, NONE], [1, 1]])


def test_contradictions_are_refused_unless_a_policy_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError) as told:
        read_panel(write(tmp_path, "votes.csv", VOTES))
    assert str(told.value) == (
        "X: topic 1, document 'a' has the grades 0 and 1 and 2 (1 such document);"
        " choose what counts with --repeated majority, first, last, highest, lowest or mean"
    )


def test_repeats_with_one_grade_are_counted_once_and_told(tmp_path: Path) -> None:
    panel = read_panel([write(tmp_path, "a.qrels", "1 0 x 1\n1 0 x 1\n1 0 y 0\n")])
    same(panel.grades, [[1], [0]])
    assert panel.repeats[0].contradictory == 0
    assert "same grade" in repeated(panel.repeats[0])


def test_every_policy_that_has_a_name_is_known(tmp_path: Path) -> None:
    assert set(SETTLING) == {"error", "first", "last", "highest", "lowest", "majority", "mean"}
    with pytest.raises(UnknownNameError, match="did you mean majority"):
        read_panel(write(tmp_path, "votes.csv", VOTES), repeated="majorty")  # type: ignore[arg-type]


def test_words_get_the_grades_of_their_labels(tmp_path: Path) -> None:
    file = write(tmp_path, "r.tsv", "topic\tdoc\treviewer\trelevance\n1\ta\tR1\tyes\n1\ta\tR2\t2\n")
    same(read_panel(file, labels={"yes": 1}).grades, [[1, 2]])
    with pytest.raises(
        FormatError, match=r"r\.tsv:2: the grade 'yes' is a word; give each of 1 its grade G: --word yes=G"
    ):
        read_panel(file)


def test_all_words_without_a_grade_are_listed_at_once(tmp_path: Path) -> None:
    rows = "".join(f"1\td{place}\tR1\t{word}\n" for place, word in enumerate(("no", "yes", "very", "no")))
    file = write(tmp_path, "r.tsv", "topic\tdoc\treviewer\trelevance\n" + rows)
    with pytest.raises(
        FormatError, match="'no' is a word; give each of 2 its grade G: --word no=G --word very=G"
    ):
        read_panel(file, labels={"yes": 1})


def test_a_file_given_twice_is_refused(tmp_path: Path) -> None:
    file = write(tmp_path, "a.qrels", "1 0 x 1\n")
    with pytest.raises(DataError, match="given twice; expected the judgments of different assessors"):
        read_panel([file, tmp_path / "." / "a.qrels"])


def test_documents_that_were_pooled_and_not_judged_are_not_judged(tmp_path: Path) -> None:
    file = write(tmp_path, "a.qrels", "1 0 x 1\n1 0 y -1\n1 0 z -2\n")
    assert read_panel([file]).docs.texts() == ["x"]
    assert read_panel([file], policies=Policies(negative="split")).docs.texts() == ["x", "z"]
    with pytest.raises(DataError, match="every document is pooled and not judged"):
        read_panel([write(tmp_path, "b.qrels", "1 0 x -1\n")])


def test_ids_that_are_not_utf8_survive(tmp_path: Path) -> None:
    (tmp_path / "a.qrels").write_bytes(b"1 0 x\xff 1\n")
    panel = read_panel([tmp_path / "a.qrels"])
    assert panel.docs.text(0).encode("utf-8", "surrogateescape") == b"x\xff"


def test_long_ids_that_differ_at_their_end_are_different_documents() -> None:
    docs = ["clueweb09-en0000-00-00000-a", "clueweb09-en0000-00-00000-b", "clueweb09"]
    panel = read_panel(
        {"A": Qrels.from_columns(["1"] * 3, docs, [1, 0, 2]), "B": Qrels.from_dict({"1": {docs[1]: 1}})}
    )
    assert panel.docs.texts() == sorted(docs)
    same(panel.grades, [[2, NONE], [1, NONE], [0, 1]])


def test_documents_stand_in_the_byte_order_of_their_ids() -> None:
    docs = ["b", "ab", "B", "a", "é", "ab-longer-than-8"]
    panel = read_panel({"A": Qrels.from_columns(["1"] * 6, docs, range(6))})
    assert panel.docs.texts() == ["B", "a", "ab", "ab-longer-than-8", "b", "é"]
    assert panel.grades[:, 0].tolist() == [2, 3, 1, 5, 0, 4]


def test_frames_are_read_as_files_are() -> None:
    frame = polars.DataFrame(
        {"topic": ["1", "1", "1"], "doc": ["a", "a", "a"], "assessor": ["X", "Y", "Y"], "grade": [1, 0, 2]}
    )
    panel = read_panel(frame, repeated="last")
    assert panel.assessors == ("X", "Y")
    same(panel.grades, [[1, 2]])
    assert read_panel({"ann": frame, "bob": frame}, by="file", repeated="first").assessors == ("ann", "bob")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("topic,doc,assessor,grade\n1,,X,1\n", "log.csv:2: the doc is empty"),
        ("topic,doc,assessor,grade\n1,a,,1\n", "log.csv:2: the assessor is empty"),
        ("topic,doc,assessor,grade\n1,a,X,0.5\n", "log.csv:2: grade '0.5' is not a whole number"),
        ("topic,doc,assessor,grade\n", "log.csv:1: the table has a header but no rows"),
    ],
)
def test_rows_that_cannot_be_are_refused_with_their_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(FormatError, match=told):
        read_panel(write(tmp_path, "log.csv", text))


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown format 'trek'; did you mean trec"):
        read_panel([write(tmp_path, "a.qrels", "1 0 x 1\n")], format="trek")


def test_a_sample_of_judgments_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="judgments in the format prels are a sample"):
        read_panel([write(tmp_path, "p.prels", "1 a 1 0 0.5\n1 b 0 1 0.25\n")])


def test_no_column_of_assessors_is_said(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no column says who judged"):
        read_panel([write(tmp_path, "a.csv", "topic,doc,grade\n1,a,1\n")], by="column")


def test_one_assessors_judgments_come_back_as_qrels() -> None:
    panel = panel_of([[1, 0], [NONE, 2], [0, NONE]], ["1", "1", "2"])
    qrels = panel.qrels_of(1)
    assert (qrels.topics, qrels.sizes.tolist()) == (("1", "2"), [2, 0])
    assert qrels.docs.texts() == ["d000", "d001"]
    assert qrels.grades.tolist() == [0, 2]


OUTSIDE: list[list[float]] = [[2, NONE], [0, NONE], [1, 0], [NONE, 1], [1, NONE]]
OUTSIDE_TOPICS = ["1", "1", "1", "1", "2"]  # B judged nothing of topic 2


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        ("common", OUTSIDE),
        ("primary", [[2, 2], [0, NONE], [1, 0], [NONE, 1], [1, NONE]]),
        ("nonrelevant", [[2, 0], [0, 0], [1, 0], [0, 1], [1, NONE]]),
    ],
)
def test_documents_outside_what_an_assessor_saw(how: str, expected: list[list[float]]) -> None:
    panel = panel_of(OUTSIDE, OUTSIDE_TOPICS)
    filled = fill_outside(panel, how)  # type: ignore[arg-type]
    same(filled.grades, expected)
    assert sum(filled.filled) == np.count_nonzero(np.isnan(panel.grades)) - np.count_nonzero(
        np.isnan(filled.grades)
    )


def test_measurements_are_not_grades() -> None:
    with pytest.raises(DataError, match="51 different grades"):
        panel_of([[float(grade)] for grade in range(51)]).scale()
