"""`sounding convert`: what is converted reads back the same, and gives the same values."""

from __future__ import annotations

import gzip
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import sounding
from sounding.cli import main
from sounding.convert.converting import convert
from sounding.core.errors import DataError, FormatError
from sounding.core.workers import map_items
from sounding.data.formats import read_qrels, read_run
from sounding.data.large_files import steps_to_read
from sounding.data.tables import Run


def call(*arguments: object) -> int:
    with pytest.raises(SystemExit) as left:
        main([*map(str, arguments)])
    return int(left.value.code or 0)


def lines_of(seed: int, topics: int = 12) -> list[str]:
    draw = random.Random(seed)
    docs = [f"dé-{number}" for number in range(90)]
    return [
        f"{topic} Q0 {doc} {rank} {draw.choice([1, 2.5, draw.random()])!r} tag"
        for topic in draw.sample(range(1, 40), topics)
        for rank, doc in enumerate(draw.sample(docs, draw.choice([1, 30, 80])), 0)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.txt").write_text("\n".join(lines_of(1)) + "\n")
    draw = random.Random(9)
    (tmp_path / "qrels.txt").write_text(
        "".join(
            f"{topic} 0 dé-{doc} {draw.choice([-1, 0, 1, 3])}\n"
            for topic in range(1, 40)
            for doc in draw.sample(range(90), 20)
        )
    )
    return tmp_path


@pytest.fixture(params=["whole", "in parts"])
def size(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Files as they are, or all of them large."""
    if request.param == "in parts":
        for name, value in (("LARGE", 1), ("LARGE_PACKED", 1), ("PART", 2000), ("ROWS", 50)):
            monkeypatch.setattr(f"sounding.data.large_files.{name}", value)
        monkeypatch.setattr("sounding.data.sources.LARGE_PACKED", 1)
        monkeypatch.setattr("sounding.convert.converting.GROUP", 64)
    return str(request.param)


def test_a_run_becomes_a_sorted_typed_table(folder: Path, size: str) -> None:
    assert call("convert", "run.txt", "-o", "run.parquet", "--quiet") == 0
    table = polars.read_parquet("run.parquet")
    assert dict(table.schema) == {
        "topic": polars.String, "doc": polars.String, "score": polars.Float64, "rank": polars.Int64,
        "tag": polars.String,
    }  # fmt: skip
    rows = [line.split() for line in (folder / "run.txt").read_text().splitlines()]
    expected = sorted(rows, key=lambda row: row[0].encode())  # stable: documents stay as they stood
    assert table["topic"].to_list() == [row[0] for row in expected]
    assert table["doc"].to_list() == [row[2] for row in expected]
    assert table["rank"].to_list() == [int(row[3]) for row in expected]
    assert table["score"].to_list() == [float(row[4]) for row in expected]
    assert set(table["tag"]) == {"tag"}
    assert Path("run.parquet").stat().st_size < Path("run.txt").stat().st_size or size == "in parts"


@pytest.mark.parametrize("suffix", ["", ".bz2", ".xz", ".zst"])
def test_text_is_packed_as_its_name_says(suffix: str, folder: Path) -> None:
    assert call("convert", "run.txt", "-o", f"back.txt{suffix}", "--quiet") == 0
    back = read_run(f"back.txt{suffix}")
    whole = read_run("run.txt")
    assert back.frame.sort("topic", maintain_order=True).equals(
        whole.frame.sort("topic", maintain_order=True)
    )
    plain = Path(f"back.txt{suffix}").read_bytes().startswith(tuple(f"{n} Q0".encode() for n in range(40)))
    assert plain is (not suffix)


@pytest.mark.parametrize("order", ["sorted", "as it comes", "mixed"])
def test_there_and_back_is_the_same_run(order: str, folder: Path, size: str) -> None:
    lines = lines_of(3)
    if order == "mixed":
        random.Random(1).shuffle(lines)
    elif order == "sorted":
        lines.sort(key=lambda line: line.split()[0].encode())
    Path("run.txt").write_text("\n".join(lines) + "\n")
    assert call("convert", "run.txt", "-o", "run.parquet", "--quiet") == 0
    assert call("convert", "run.parquet", "-o", "back.txt.gz", "--quiet") == 0
    back = gzip.decompress(Path("back.txt.gz").read_bytes()).decode().splitlines()

    def fields(line: str) -> list[object]:
        topic, _, doc, rank, score, tag = line.split()
        return [topic, doc, rank, float(score), tag]

    assert list(map(fields, back)) == [
        fields(row) for row in sorted(lines, key=lambda line: line.split()[0].encode())
    ]


@pytest.mark.parametrize("ties", ["trec", "score-file", "file", "rank", "average"])
def test_values_are_the_same_whatever_the_format(ties: str, folder: Path, size: str) -> None:
    random_lines = lines_of(5)
    random.Random(2).shuffle(random_lines)
    Path("run.txt").write_text("\n".join(random_lines) + "\n")
    convert("run.txt", "run.parquet")
    convert("qrels.txt", "qrels.parquet")
    policies = sounding.Policies(ties=ties)  # type: ignore[arg-type]
    text = sounding.evaluate("qrels.txt", "run.txt", ["AP", "nDCG@10", "Bpref"], policies=policies)
    table = sounding.evaluate("qrels.parquet", "run.parquet", ["AP", "nDCG@10", "Bpref"], policies=policies)
    assert text.topics == table.topics
    assert text.runs == table.runs
    assert np.array_equal(text.values, table.values, equal_nan=True)


@pytest.mark.parametrize(
    ("name", "text", "columns"),
    [
        ("qrels.txt", "2 0 b 1\n1 0 a 0\n10 0 c 2\n", ["topic", "doc", "grade"]),
        ("groups.qrels", "1 x a 1\n1 y a 0\n", ["topic", "doc", "grade", "group"]),
        ("half.qrels", "1 0 a 0.5\n", ["topic", "doc", "grade"]),
        ("prels", "1 a 1 2 0.25\n1 b 0 1 1\n", ["topic", "doc", "grade", "probability", "method"]),
        ("strata.qrels", "1 0 a 1 -1\n1 0 b 2 2\n", ["topic", "doc", "grade", "stratum"]),
        ("pool.tsv", "topic\tdoc\tgrade\tpool_rank\n1\ta\t1\t3\n", ["topic", "doc", "grade", "pool_rank"]),
    ],
)
def test_judgments_keep_all_that_is_known_of_them(
    name: str, text: str, columns: list[str], folder: Path
) -> None:
    Path(name).write_text(text)
    assert call("convert", name, "-o", "judged.parquet", "--quiet") == 0
    assert polars.read_parquet("judged.parquet").columns == columns
    grouped = "group" in columns
    before = read_qrels(name, fractional="accept", groups=grouped)
    after = read_qrels("judged.parquet", fractional="accept", groups=grouped)
    call("convert", "judged.parquet", "-o", "back.txt", "--quiet")
    back = read_qrels("back.txt", fractional="accept", groups=grouped)
    for other in (after, back):
        assert other.frame.sort("topic", "doc").equals(before.frame.sort("topic", "doc"))


def test_several_files_go_into_a_folder_and_one_that_fails_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.txt").write_text("1 Q0 a 1 x t\n")
    assert call("convert", "run.txt", "bad.txt", "qrels.txt", "-o", "out/", "--jobs", "1") == 1
    output = capsys.readouterr().err.splitlines()
    assert output[0].startswith("Error: bad.txt:1: score 'x' is not a number")
    assert output[1].startswith("2 files: 0.0 MB, from 0.")
    assert sorted(path.name for path in Path("out").iterdir()) == ["qrels.parquet", "run.parquet"]
    assert call("convert", "out", "-o", "back", "--to", "trec", "--quiet") == 0
    assert sorted(path.name for path in Path("back").iterdir()) == ["qrels.txt", "run.txt"]
    assert read_run("back/run.txt").docs.texts() == read_run("out/run.parquet").docs.texts()


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (
            ["run.txt", "qrels.txt", "-o", "x.parquet"],
            2,
            "2 files do not go into one; expected a folder, as x/",
        ),
        (["gone.txt", "-o", "x.parquet"], 1, "gone.txt: no such file"),
        (["-", "-o", "x.parquet"], 1, "standard input can be read only once"),
        (
            ["run.txt", "-o", "no/such/x.parquet"],
            1,
            "no/such/x.parquet cannot be written: there is no folder 'no/such'",
        ),
        (["broken.txt", "-o", "x.parquet"], 1, "broken.txt:1: score"),
        (
            ["rank.txt", "-o", "x.parquet"],
            1,
            "document 'a' has rank 1.5; expected whole ranks, or leave them out",
        ),
        (["run.txt", "-o", "s3://b/x.parquet"], 1, "expected the name of a file or folder on this machine"),
        (["run.txt", "-o", "x.csv"], 2, "-o x.csv: '.csv' is not written; use .parquet, or .txt for TREC's"),
        (["run.txt", "-o", "x.json.gz"], 2, "-o x.json.gz: '.json' is not written; use .parquet, or .txt"),
        (["run.txt", "-o", "x.parquet.gz"], 2, "Parquet is compressed by itself; leave '.gz' out"),
        (
            ["run.txt", "-o", "x.zst", "--to", "parquet"],
            2,
            "Parquet is compressed by itself; leave '.zst' out",
        ),
        (["run.txt", "-o", "-"], 1, "-o -: expected the name of a file or folder on this machine"),
        (["latin.txt", "-o", "x.parquet"], 1, "latin.txt: the id 'caf\\xe9' is not UTF-8, but"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], status: int, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("broken.txt").write_text("1 Q0 a 1 x t\n")
    Path("rank.txt").write_text("1 Q0 a 1.5 2 t\n")
    Path("latin.txt").write_bytes(b"1 Q0 caf\xe9 1 2 t\n")
    assert call("convert", *arguments) == status
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith(("Error: ", "Usage: "))
    assert not Path("x.parquet").exists()
    assert not list(Path().glob(".*part"))


@pytest.mark.parametrize("name", ["run.txt", "run.parquet"])
def test_progress_ends_where_it_was_said_to_end(name: str, folder: Path, size: str) -> None:
    convert("run.txt", "run.parquet")
    steps: list[int] = []
    convert(name, "again.parquet", progress=steps.append)
    assert sum(steps) == steps_to_read(name)
    assert (len(steps) > 5) is (size == "in parts")


def test_ranks_can_be_left_out(folder: Path) -> None:
    Path("rank.txt").write_text("1 Q0 a 1.5 2 t\n1 Q0 b first 1 t\n")
    assert call("convert", "rank.txt", "-o", "x.parquet", "--without-ranks", "--quiet") == 0
    assert polars.read_parquet("x.parquet").columns == ["topic", "doc", "score", "tag"]
    assert call("convert", "x.parquet", "-o", "back.txt", "--quiet") == 0
    assert Path("back.txt").read_text() == "1 Q0 a 1 2.0 t\n1 Q0 b 2 1.0 t\n"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a", "1 Q0 d 1 2 t\n", "run"), ("a", "1 0 d 1\n", "qrels"), ("a", "1 d 1 2 0.5\n", "qrels"),
        ("a.csv", "topic,doc,score,tag\n1,a,2,t\n", "run"), ("a.csv", "qid,docid,label\n1,a,2\n", "qrels"),
        ("a.json", '{"1": {"a": 2}}', "run"), ("qrels.json", '{"1": {"a": 2}}', "qrels"),
        ("qrels.csv", "topic,doc,score\n1,a,2\n", "qrels"), ("a.csv", "topic,doc,score\n1,a,2\n", "run"),
    ],
)  # fmt: skip
def test_what_a_file_holds_is_seen_from_its_columns_and_then_from_its_name(
    name: str, text: str, kind: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    assert convert(tmp_path / name, tmp_path / "converted.txt").kind == kind


def test_ids_that_are_numbers_and_categories_are_texts(folder: Path) -> None:
    table = polars.DataFrame({"topic": [1, 1, 2], "doc": ["a", "b", "a"], "score": [3, 2, 1]})
    for number, frame in enumerate(
        (
            table,
            table.with_columns(polars.col("doc").cast(polars.Categorical)),
            table.cast({"score": polars.Float32}),
        )
    ):
        frame.write_parquet(f"{number}.parquet")
        run = read_run(f"{number}.parquet")
        assert (run.topics, run.docs.texts(), run.scores.tolist()) == (("1", "2"), ["a", "b", "a"], [3, 2, 1])


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("score", [1.0, None], ":2: the score is null; expected a number without quotes"),
        ("score", [1.0, float("nan")], ":2: score 'nan' is not a number"),
        ("score", ["1", "2"], ":1: the score is the text '1'; expected a number without quotes"),
        ("doc", ["a", None], ":2: the doc is null; expected a text"),
        ("doc", ["a", ""], ":2: the doc is empty; expected an id"),
        ("doc", ["a", "b\nc"], "holds a control character"),
        ("topic", [1.0, 1.0], ":1: the topic is 1.0; expected a text"),
        ("tag", ["x", "y"], ":2: tag 'y' after 'x'; expected one tag"),
    ],
)
def test_what_is_odd_in_a_table_is_said_with_its_row(
    column: str, values: list[object], message: str, tmp_path: Path
) -> None:
    columns: dict[str, list[object]] = {"topic": ["1", "1"], "doc": ["a", "b"], "score": [2.0, 1.0]}
    polars.DataFrame(columns | {column: values}, strict=False).write_parquet(tmp_path / "x.parquet")
    with pytest.raises((FormatError, DataError)) as raised:
        read_run(tmp_path / "x.parquet")
    assert message in str(raised.value)


def test_parquet_judgments_and_parquet_runs_do_not_wait_for_each_other(folder: Path) -> None:
    """Polars in a process and in its children would wait for ever: a process of its own shows it."""
    for number in range(3):
        convert("run.txt", f"run{number}.parquet")
    convert("qrels.txt", "qrels.parquet")
    program = [
        sys.executable,
        "-m",
        "sounding",
        "evaluate",
        "qrels.parquet",
        *(f"run{n}.parquet" for n in range(3)),
    ]
    done = subprocess.run(
        [*program, "--jobs", "2", "--format", "csv", "--quiet"], capture_output=True, timeout=90
    )
    assert done.returncode == 0
    assert done.stdout.count(b"\n") == 16
    # This process has used Polars; one process is then enough for Parquet, whatever is asked.
    runs = [f"run{number}.parquet" for number in range(3)]
    assert len(sounding.evaluate("qrels.txt", runs, ["AP"], jobs=2).runs) == 3
    mark = folder / "a child was here"
    parent = os.getpid()

    def read(name: str) -> Run:
        if os.getpid() == parent:
            wait_for(mark)
        mark.touch()
        return read_run(name)

    with pytest.raises(FormatError, match="child process cannot read Parquet"):
        map_items(read, runs, processes=2)


def wait_for(mark: Path) -> None:
    for _ in range(3000):
        if mark.exists():
            return
        time.sleep(0.01)
    raise AssertionError("no child took anything")


@pytest.mark.parametrize(
    ("target", "to", "told"),
    [
        ("x.csv", None, "x.csv: '.csv' is not written; use .parquet, or .txt"),
        ("x.json.gz", None, "x.json.gz: '.json' is not written"),
        ("x.PARQUET.GZ", None, "Parquet is compressed by itself; leave '.gz' out"),
        ("x.pq.zst", None, "Parquet is compressed by itself; leave '.zst' out"),
        ("x.gz", "parquet", "Parquet is compressed by itself; leave '.gz' out"),
    ],
)
def test_python_refuses_names_that_promise_what_is_not_written(
    folder: Path, target: str, to: Any, told: str
) -> None:
    with pytest.raises(DataError, match=re.escape(told)):
        convert("run.txt", target, to=to)
    assert not Path(target).exists()


@pytest.mark.parametrize(
    ("target", "to"), [("x.csv", "trec"), ("input.bm25", None), ("x.pq", None), ("x", None)]
)
def test_python_writes_under_any_other_name(folder: Path, target: str, to: Any) -> None:
    convert("run.txt", target, to=to)
    form = "trec" if to == "trec" else None
    assert sorted(read_run(target, format=form).docs.texts()) == sorted(read_run("run.txt").docs.texts())
