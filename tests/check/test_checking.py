"""What a file turns out to be, and what is worth knowing about it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sounding.check.checking import check
from sounding.convert.converting import convert

BEIR = "query-id\tcorpus-id\tscore\n1\ta\t1\n1\tb\t0\n"
OTHER_TABLE = "topic\tdoc\tscore\n1\ta\t2\n1\tb\t1\n"


def stored(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("test.tsv", BEIR, "qrels"),
        ("qrels/test.tsv", BEIR, "qrels"),
        ("qrels/test.tsv", OTHER_TABLE, "qrels"),
        ("my-qrels.tsv", OTHER_TABLE, "qrels"),
        ("test.tsv", OTHER_TABLE, "run"),
        ("runs/test.tsv", OTHER_TABLE, "run"),
    ],
)
def test_a_table_that_could_be_both_is_judgments_by_its_header_its_folder_or_its_name(
    name: str, text: str, kind: str, tmp_path: Path
) -> None:
    path = stored(tmp_path, name, text)
    checked = check(path)
    assert (checked.kind, checked.problems) == (kind, ())
    assert convert(path, tmp_path / "converted.txt").kind == kind


def test_a_table_with_beirs_header_and_scores_that_no_grade_can_be_is_still_a_run(tmp_path: Path) -> None:
    checked = check(stored(tmp_path, "a.tsv", "query-id\tcorpus-id\tscore\n1\ta\t2.5\n1\tb\t1.25\n"))
    assert (checked.kind, checked.problems) == ("run", ())


def test_run_info_is_known_and_its_mistakes_are_listed(tmp_path: Path) -> None:
    good = "run\tgroup\tkind\tpriority\tpooled\na\tx\t\t1\tyes\nb\tx\t\t2\tno\nc\ty\t\t1\tyes\n"
    checked = check(stored(tmp_path, "info.tsv", good))
    assert (checked.kind, checked.summary) == ("run info", "3 runs of 2 groups, 2 pooled")
    assert checked.problems == ()
    bad = "run,group,pooled\na,x,maybe\nb,x,no\nb,y,no\n"
    checked = check(stored(tmp_path, "info.csv", bad))
    assert [(problem.line, problem.text) for problem in checked.problems] == [
        (2, "pooled is 'maybe'; expected yes or no"), (4, "run 'b' is listed twice; remove one of its lines"),
    ]  # fmt: skip
    assert checked.summary == "1 run of 1 group, 0 pooled"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("run\tquality\nx\t1.8\n", "none of run, qrels, topics: a table of 'run', 'quality'"),
        ("topic,language\n1,en\n", "none of run, qrels, topics: a table of 'topic', 'language'"),
        ("<!DOCTYPE html>\n<html></html>\n", "none of run, qrels, topics: a web page"),
    ],
)
def test_other_files_are_said_to_be_none_of_those_that_are_checked(
    text: str, summary: str, tmp_path: Path
) -> None:
    checked = check(stored(tmp_path, "file", text))
    assert (checked.kind, checked.summary, checked.problems) == ("other", summary, ())


@pytest.mark.parametrize(
    ("text", "kind", "problem"),
    [
        (
            "run,doc,score\nx,a,1\n",
            "run",
            "'score' is not a number, and 'run', 'doc', 'score' is not a header",
        ),
        ("topic,score\n1,2\n", "run", "2 fields, and 'topic', 'score' is not a header"),
        ("topic\ttext\n1\t\n", "topics", "topic '1' has no text"),
        ("topic\t2\n", "topics", ""),
        ("run\t0\ta\t1\n", "qrels", ""),
    ],
)
def test_a_table_that_may_have_been_meant_as_input_is_checked_as_such(
    text: str, kind: str, problem: str, tmp_path: Path
) -> None:
    checked = check(stored(tmp_path, "file.csv" if "," in text else "file", text))
    assert checked.kind == kind
    assert [found.text.startswith(problem) for found in checked.problems] == [True] * bool(problem)


def test_fields_behind_the_tag_are_counted_in_a_remark(tmp_path: Path) -> None:
    lines = ["1 Q0 a 1 3 t", "1 Q0 b 2 2 t more", "# 1 2 3 4 5 6 7 8", "1 Q0 c 3 1 t and more"]
    remark = "2 lines have more than six fields; what follows the tag is ignored"
    assert remark in check(stored(tmp_path, "run", "\n".join(lines))).remarks
    assert remark.replace("2 lines have", "1 line has") in (
        check(stored(tmp_path, "run", "\n".join(lines[:3]))).remarks
    )
    assert not any("six fields" in text for text in check(stored(tmp_path, "run", lines[0])).remarks)
    table = "topic,doc,score,a,b,c,d\n1,a,2,x y,x,x,x\n"
    assert not any("six fields" in text for text in check(stored(tmp_path, "t.csv", table)).remarks)


def test_long_tags_and_topics_do_not_fill_the_screen(tmp_path: Path) -> None:
    checked = check(stored(tmp_path, "run", f"1 Q0 a 1 3 {'t' * 90_000}\n"))
    assert len(checked.summary) < 150
    checked = check(stored(tmp_path, "qrels", f"{'1' * 90_000} 0 a 0\n"))
    assert max(map(len, checked.remarks)) < 150


def test_json_that_is_not_utf8_is_a_problem_of_its_line(tmp_path: Path) -> None:
    """Found by Hypothesis: the first characters promise JSON, a later byte is none of UTF-8."""
    file = tmp_path / "qrels"
    file.write_bytes(b'{"1": {"a": 1,\n"\x82": 0}}\n')
    (problem,) = check(file).problems
    assert problem.line == 2
    assert "0x82" in problem.text


@pytest.mark.parametrize(
    ("name", "text", "kind", "fields"),
    [
        ("q3.txt", "301 0 d1\n301 0 d2\n", "qrels", 4),
        ("q3.qrels", "301 d1 1\n301 d2 0\n", "qrels", 4),
        ("p4.prefs", "301 ann c1 a\n301 ann c1 b\n", "preferences", 5),
        ("p5.txt", "301 ann c1 a good\n301 ann c1 b bad\n", "preferences", None),
        ("r5.txt", "301 Q0 d1 1 2.5\n301 Q0 d2 2 1.5\n", "run", 6),
    ],
)
def test_a_file_of_which_no_line_is_right_is_what_its_lines_are_nearest_to(
    name: str, text: str, kind: str, fields: int | None, tmp_path: Path
) -> None:
    checked = check(stored(tmp_path, name, text))
    assert checked.kind == kind
    assert checked.total == 2
    assert fields is None or f"expected {fields}" in checked.problems[0].text
