"""Labels by machines: a kind of file of their own, which is never read as judgments."""

from __future__ import annotations

from pathlib import Path

import polars
import pytest

from sounding.agree.assessors import read_panel
from sounding.check.checking import check
from sounding.core.errors import DataError, FormatError, UnknownNameError
from sounding.data.formats import read_qrels
from sounding.data.labels import read_labels, split_judges

TABLE = (
    "topic\tdoc\tlabel\tjudge\tprompt\ttemperature\n"
    "1\ta\t2\tgpt\tumb-1\t0\n1\tb\t0\tgpt\tumb-1\t0\n2\ta\t3\tgpt\tumb-1\t0\n1\ta\t1\tllama\tbin\t0.5\n"
)
LINES = '{"topic": "1", "doc": "a", "label": 2, "model": "m-1"}\n{"topic": "1", "doc": "b", "label": 0, "model": "m-1"}\n'
QRELS = "1 0 a 2\n1 0 b 0\n2 0 a 3\n"
MIXED = "1 ann a 1\n1 gpt a 2\n1 gpt b 0\n2 bob a 3\n"


def stored(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


def content(labels: object) -> list[tuple[str, list[tuple[str, str, float]]]]:
    return [(one.judge, [tuple(row) for row in one.table.frame.rows()]) for one in read_labels(labels)]


GPT = [("1", "a", 2.0), ("1", "b", 0.0), ("2", "a", 3.0)]


def test_a_table_names_its_judges_and_what_is_known_about_them(tmp_path: Path) -> None:
    path = stored(tmp_path, "labels.tsv", TABLE)
    assert content(path) == [("gpt", GPT), ("llama", [("1", "a", 1.0)])]
    assert [one.facts for one in read_labels(path)] == [
        {"prompt": "umb-1", "temperature": "0"}, {"prompt": "bin", "temperature": "0.5"},
    ]  # fmt: skip
    lines = stored(tmp_path, "labels.jsonl", LINES)
    assert content(lines) == [("m-1", GPT[:2])]
    polars.read_csv(path, separator="\t").with_columns(polars.col("topic").cast(str)).write_parquet(
        tmp_path / "l.parquet"
    )
    assert content(tmp_path / "l.parquet") == content(path)


@pytest.mark.parametrize("name", ["labels.tsv", "labels.jsonl", "labels.csv", "l.parquet"])
def test_a_label_file_is_refused_as_judgments_and_check_knows_it(name: str, tmp_path: Path) -> None:
    text = LINES if name.endswith("jsonl") else TABLE.replace("\t", "," if name.endswith("csv") else "\t")
    path = stored(tmp_path, name, text)
    if name == "l.parquet":
        polars.read_csv(path, separator="\t").write_parquet(path)
    with pytest.raises(FormatError, match=r"sounding estimate QRELS RUN... --labels"):
        read_qrels(path)
    checked = check(path)
    assert (checked.kind, checked.problems) == ("labels", ())
    assert checked.summary.startswith("2 labels" if name.endswith("jsonl") else "4 labels")


def test_people_may_call_their_column_label_and_agree_reads_both(tmp_path: Path) -> None:
    people = stored(tmp_path, "votes.csv", "topic,assessor,doc,label\n1,x,a,1\n1,y,b,0\n")
    assert check(people).kind == "qrels"
    assert len(read_qrels(people).docs) == 2
    machines = stored(tmp_path, "labels.tsv", TABLE)
    assert read_panel(machines).assessors == ("gpt", "llama")


def test_qrels_are_labels_only_by_the_name_of_their_judge(tmp_path: Path) -> None:
    path = stored(tmp_path, "umbrela.txt", QRELS)
    with pytest.raises(DataError, match="--judge NAME"):
        read_labels(path)
    (labels,) = read_labels(path, judges=["gpt"])
    assert (labels.judge, [tuple(row) for row in labels.table.frame.rows()]) == ("gpt", GPT)
    assert content({"gpt": path}) == [("gpt", GPT)]
    assert content({"gpt": {"1": {"a": 2, "b": 0}, "2": {"a": 3}}}) == [("gpt", GPT)]
    with pytest.raises(UnknownNameError, match="other"):
        read_labels(path, judges=["gpt", "other"])
    with pytest.raises(DataError, match="each judge once"):
        read_labels([path, path], judges=["gpt", "gpt"])


def test_repeated_labels_of_a_judge_become_their_mean(tmp_path: Path) -> None:
    text = "topic\tdoc\tlabel\tjudge\trepeat\n1\ta\t2\tgpt\t1\n1\ta\t3\tgpt\t2\n1\tb\t0\tgpt\t1\n"
    assert content(stored(tmp_path, "a.tsv", text)) == [("gpt", [("1", "a", 2.5), ("1", "b", 0.0)])]
    without = "topic\tdoc\tlabel\tjudge\n1\ta\t2\tgpt\n1\ta\t3\tgpt\n"
    with pytest.raises(DataError, match="twice"):
        read_labels(stored(tmp_path, "b.tsv", without))


def test_a_file_that_holds_both_is_split_by_who_judged(tmp_path: Path) -> None:
    people, (labels,) = split_judges(stored(tmp_path, "mixed.txt", MIXED), ["gpt"])
    assert people.frame.rows() == [("1", "a", 1.0), ("2", "a", 3.0)]
    assert labels.table.frame.rows() == [("1", "a", 2.0), ("1", "b", 0.0)]
    with pytest.raises(UnknownNameError, match="llama"):
        split_judges(tmp_path / "mixed.txt", ["llama"])
    with pytest.raises(DataError, match="judgments by people"):
        split_judges(stored(tmp_path, "all.txt", "1 gpt a 2\n"), ["gpt"])


def test_labels_that_are_no_numbers_are_refused_with_their_line(tmp_path: Path) -> None:
    path = stored(tmp_path, "bad.tsv", "topic\tdoc\tlabel\n1\ta\t2\n1\tb\tmaybe\n")
    with pytest.raises(FormatError, match=r":3: label 'maybe' is not a number"):
        read_labels(path)
    assert [problem.line for problem in check(path).problems] == [3]
