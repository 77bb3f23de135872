"""`sounding check` of a whole campaign: totals, each kind of problem once, and the table of runs to complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.e2e.calling import Call, caller

from sounding.data.finding import run_name
from sounding.data.run_info import read_run_info

QRELS = "1 0 a 1\n2 0 b 1\n3 0 c 0\n"


def lines(docs: str, tag: str, topics: str = "123") -> str:
    """A run with the same documents for each topic."""
    return "".join(
        f"{topic} Q0 {doc} {rank} {9 - rank} {tag}\n" for topic in topics for rank, doc in enumerate(docs)
    )


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Check a campaign of three groups: six runs, of which some share a tag, a list, or lack a topic."""
    monkeypatch.chdir(tmp_path)
    runs = {
        "auk/one.txt": lines("abc", "t"), "auk/two.run": lines("abc", "u"), "coot/one.res": lines("cab", "t"),
        "coot/four.out": lines("ab", "v", "12"), "gull/five.exp": lines("b", "w", "3"),
        "gull/six.result": lines("bca", "x"),
    }  # fmt: skip
    for name, text in runs.items():
        path = Path("runs", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    Path("qrels.txt").write_text(QRELS)
    return caller(capsys, "check")


def rows(out: str) -> dict[str, list[str]]:
    """What the table says, by the words of each finding."""
    cells = [line.strip("| ").split(" | ") for line in out.splitlines() if line.startswith("| ")][1:]
    return {row[3]: [row[0], *row[1:3], row[4]] for row in cells}


def test_a_campaign_is_a_screenful(call: Call) -> None:
    status, out, _ = call("runs", "qrels.txt")
    assert status == 0
    assert out.startswith(
        "All 7 files can be used. 6 runs: 41 lines, 3 topics; 1 qrels: 3 judgments, 3 topics."
    )
    assert len(out.splitlines()) < 25
    assert out.endswith("Next: sounding evaluate qrels.txt runs\n")
    table = rows(call("runs", "qrels.txt", "--format", "md")[1])
    assert table["runs share a tag"] == ["remark", "2", "1", "one = one"]
    equal = next(row for text, row in table.items() if text.startswith("runs are equal"))
    assert equal == ["remark", "2", "1", "one = two"]
    lacking = table["runs lack judged topics"]
    assert lacking == ["remark", "2", "3", "five (1, 2), four (3)"]


def test_problems_of_one_kind_are_one_line_and_repeated_documents_have_a_remedy(call: Call) -> None:
    for name in ("auk/one.txt", "coot/one.res"):
        with Path("runs", name).open("a") as stream:
            stream.write("1 Q0 a 7 1 t\n2 Q0 b 8 1 t\n")
    status, out, _ = call("runs", "qrels.txt", "--format", "md")
    assert status == 1
    repeated = next(row for text, row in rows(out).items() if "duplicates=first" in text)
    assert repeated[:3] == ["problem", "2", "4"]
    assert out.startswith(
        "2 of 7 files have 4 problems and cannot be used as they are. To read them anyway, add"
    )
    assert "Next: `sounding evaluate qrels.txt runs --policy duplicates=first`" in out
    Path("runs/gull/six.result").write_text("1 Q0\n")
    status, out, _ = call("runs", "qrels.txt")
    assert status == 1
    assert "duplicates=first they can" not in out
    assert "Next" not in out
    body = json.loads(call("runs", "qrels.txt", "--format", "json")[1])
    assert body["headline"].startswith("3 of 7 files")
    assert sum(row["count"] for row in body["rows"] if row["severity"] == "problem") == 5


def test_an_info_file_is_guessed_from_folders_and_nothing_is_overwritten(call: Call) -> None:
    status, _, err = call("runs", "qrels.txt", "--write-info", "info.tsv")
    assert status == 0
    assert "info.tsv: complete" in err
    info = read_run_info("info.tsv")
    assert {name: row.group for name, row in info.items()} == {
        "auk/one": "auk", "two": "auk", "coot/one": "coot", "four": "coot", "five": "gull", "six": "gull",
    }  # fmt: skip
    Path("info.tsv").write_text("mine\n")
    status, _, err = call("runs", "--write-info", "info.tsv")
    assert status == 1
    assert "info.tsv" in err
    assert Path("info.tsv").read_text() == "mine\n"


@pytest.mark.parametrize("suffix", [".txt", ".res", ".out", ".exp", ".result", ".run", ".txt.gz", ".RES"])
def test_all_suffixes_of_runs_are_left_out_alike(suffix: str) -> None:
    assert run_name(f"runs/bm25.v2{suffix}") == "bm25.v2"
