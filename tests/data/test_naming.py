"""What runs are called: by their files, whatever other files are given; and how people may name them."""

from __future__ import annotations

from pathlib import Path

import pytest

from sounding import audit, compare, depth, evaluate, read_run
from sounding.core.errors import UnknownNameError
from sounding.data.finding import RunIndex, run_name, run_names
from sounding.data.run_info import RunInfo, listed_rows

QRELS = {topic: {"a": 1, "b": 0, "c": 1} for topic in ("1", "2", "3")}
OTHER = ("bca", "cba", "bac")  # documents by topic, best first


def written(folder: Path, name: str, tag: str, lists: tuple[str, ...] = ("abc",) * 3) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(
            f"{topic} Q0 {doc} {rank} {9 - rank} {tag}\n"
            for topic, docs in zip(QRELS, lists, strict=True)
            for rank, doc in enumerate(docs, 1)
        )
    )
    return str(path)


def info(*names: str) -> dict[str, RunInfo]:
    return {name: RunInfo(run=name, group=name, kind="", priority=1, pooled=True) for name in names}


def test_a_file_has_one_name_whatever_other_files_are_given(tmp_path: Path) -> None:
    files = [written(tmp_path, f"{name}.txt", "STANDARD") for name in ("one", "two", "three")]
    other = written(tmp_path, "four.res", "mine")
    for some in ([files[0]], files[:2], [*files, other], [files[0], other]):
        assert evaluate(QRELS, some, ["AP"]).runs[0] == "one"
    assert evaluate(QRELS, [other], ["AP"]).runs == ("four",)
    assert evaluate(QRELS, [*files, other], ["AP"]).tags == ("STANDARD", "STANDARD", "STANDARD", "mine")
    assert read_run(other).name == "four"
    assert read_run(other).tag == "mine"


@pytest.mark.parametrize(
    "suffix",
    [
        ".txt", ".res", ".out", ".exp", ".result", ".results", ".run", ".trec", ".tsv", ".csv", ".json", ".jsonl",
        ".parquet", ".out.gz", ".txt.zst", ".exp.bz2", ".RESULT.xz", ".gz", "",
    ],
)  # fmt: skip
def test_usual_suffixes_are_no_part_of_a_name(suffix: str) -> None:
    assert run_name(f"runs/bm25.v2{suffix}") == "bm25.v2"
    assert run_name(f"runs/input.bm25.v2{suffix}") == "bm25.v2"


def test_only_names_that_are_shared_get_folders_or_numbers() -> None:
    assert run_names(["x/bm25.txt", "y/bm25.txt", "z/c.txt"], ["bm25", "bm25", "c"]) == [
        "x/bm25",
        "y/bm25",
        "c",
    ]
    assert run_names(["1/x/r", "2/x/r"], ["r", "r"]) == ["1/x/r", "2/x/r"]
    assert run_names(["r/a.txt", "r/a.gz", "b"], ["a", "a", "b"]) == ["r/a.txt", "r/a.gz", "b"]
    assert run_names(["run", "run", "run"], ["t", "t", "t"]) == ["run", "run#2", "run#3"]
    assert run_names(["a.txt", "b.txt"], ["bm25", "1"]) == ["bm25", "1"]


def test_a_run_is_found_by_name_tag_or_file_with_or_without_suffix() -> None:
    index = RunIndex(
        ["bm25", "x/dense", "y/dense", "1"], ["lucene", "t", "t", "one run"],
        ["r/bm25.out.gz", "r/x/dense.txt", "r/y/dense.txt", "input.1.gz"],
    )  # fmt: skip
    for name in ("bm25", "lucene", "bm25.out.gz", "bm25.txt", "bm25.out", "r/bm25.out.gz", "other/bm25.res"):
        assert index.place(name) == 0, name
    assert index.place("x/dense") == index.place("r/x/dense.txt") == 1
    assert index.place("1") == index.place("one run") == index.place("input.1") == 3
    for ambiguous in ("dense", "dense.txt", "t", "absent"):
        assert index.find(ambiguous) is None
        with pytest.raises(UnknownNameError):
            index.place(ambiguous)


def test_pairs_and_baselines_may_be_named_by_tag_file_or_name(tmp_path: Path) -> None:
    files = [written(tmp_path, "one.out", "first"), written(tmp_path, "two.exp", "second", OTHER)]
    for pair in (("one", "two"), ("first", "second"), ("one.out", "two.exp"), ("one.txt", files[1])):
        found = compare(QRELS, files, ["AP"], pair=pair, settled=False)
        assert [found.runs[place] for place in found.pairs[0]] == ["one", "two"]
    assert len(compare(QRELS, files, ["AP"], baselines=["second"], settled=False).pairs) == 1
    with pytest.raises(UnknownNameError, match="three"):
        compare(QRELS, files, ["AP"], baselines=["three"])


def test_info_rows_match_by_tag_and_file_as_runs_are_named_elsewhere() -> None:
    rows = info("one.txt", "input.two.gz", "tag3", "runs/four.out", "gone")
    found = listed_rows(["one", "two", "three", "four", "five"], ["t", "t", "tag3", "t", "t"], rows)
    assert [row and row.run for row in found] == ["one.txt", "input.two.gz", "tag3", "runs/four.out", None]
    exact = info("one.txt", "one")
    assert listed_rows(["one"], ["t"], exact) == [exact["one"]]
    shared = info("t")
    assert listed_rows(["one", "two"], ["t", "t"], shared) == [None, None]


@pytest.mark.parametrize("suffix", [".txt", ".out", ".gz", ""])
def test_a_suffix_in_the_info_file_does_not_unpool_runs(tmp_path: Path, suffix: str) -> None:
    files = [written(tmp_path, "one.txt", "STANDARD"), written(tmp_path, "two.txt", "STANDARD", OTHER)]
    rows = info(f"one{suffix}", f"two{suffix}")
    assert audit(QRELS, files, ["AP"], info=rows).runs.contributing.all()
    comparison = compare(QRELS, files, ["AP"], info=rows)
    assert comparison.pool is not None
    assert comparison.pool.contributing.all()
    assert not comparison.pool.remarks
    assert depth(QRELS, files, ["AP"], info=rows).pool.contributing.all()


def test_what_does_not_match_the_info_file_is_said(tmp_path: Path) -> None:
    files = [written(tmp_path, "one.txt", "STANDARD"), written(tmp_path, "two.txt", "STANDARD", OTHER)]
    pool = compare(QRELS, files, ["AP"], info=info("one", "absent")).pool
    assert pool is not None
    assert pool.contributing.tolist() == [True, False]
    said = " ".join(pool.remarks)
    assert "two" in said
    assert "absent" in said
