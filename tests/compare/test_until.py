"""Which documents full judging means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sounding import compare, holds
from sounding.core.errors import DataError
from sounding.data.tables import Run
from sounding.measures.regrading import read_regrading
from sounding.runs.pool import parse_until
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.sample.simulation import sample


def two_runs() -> Retrieved:
    ranked = ("abcd", "dcxy")
    return read_retrieved(
        [
            Run.from_dict({"1": {doc: -float(rank) for rank, doc in enumerate(docs)}}, name=f"run{number}")
            for number, docs in enumerate(ranked)
        ]
    )


def considered(text: str, contributing: tuple[bool, bool]) -> str:
    retrieved = two_runs()
    chosen = parse_until(text).considered(retrieved, np.array(contributing))
    return "".join(retrieved.docs.text(int(place)) for place in chosen.nonzero()[0])


def test_runs_are_all_runs_and_a_pool_those_that_contribute() -> None:
    assert considered("runs:2", (True, False)) == "abcd"
    assert considered("runs:1", (True, False)) == "ad"
    assert considered("pool:2", (True, False)) == "ab"
    assert considered("pool:3", (False, True)) == "cdx"


def test_it_is_told_in_words_and_as_it_was_typed() -> None:
    assert str(parse_until("pool:100")) == "pool:100"
    assert parse_until("pool:100").describe() == (
        "the first 100 documents of every run that contributes to the pool"
    )
    assert parse_until("runs:1").describe() == "the first document of every run"


def test_a_file_names_documents_whatever_their_grades(tmp_path: Path) -> None:
    path = tmp_path / "next.qrels"
    path.write_text("1 0 a -1\n1 0 y 0\n1 0 z 1\n2 0 b -1\n")
    until, retrieved = parse_until(str(path), files=True), two_runs()
    chosen = until.considered(retrieved, np.array([True, False]))
    assert "".join(retrieved.docs.text(int(place)) for place in chosen.nonzero()[0]) == "ay"
    assert str(until) == str(path)
    assert until.describe() == f"the documents in {path}"


def test_a_file_without_documents_of_the_runs_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "other.qrels"
    path.write_text("1 0 p 1\n3 0 a 1\n")
    with pytest.raises(DataError, match=r"the runs retrieved none of these 2 documents; expected [^\n]*$"):
        parse_until(str(path), files=True).considered(two_runs(), np.array([True, False]))
    with pytest.raises(DataError, match=r"^until '.*'; expected pool:D or runs:D"):
        parse_until(str(path))


def test_judging_what_a_file_lists_leaves_all_else_unjudged(tmp_path: Path) -> None:
    made = sample(topics=12, groups=5, systems=2, documents=300, length=60, pool_depth=10, seed=2)
    regrading = read_regrading(made.qrels, made.runs)
    top = regrading.retrieved.cut(12)
    rows = [
        f"{regrading.topics[topic]} 0 {regrading.retrieved.docs.text(document)} -1"
        for topic in range(12)
        for document in np.unique(top.lists[:, topic]).tolist()
    ]
    path = tmp_path / "next.qrels"
    path.write_text("\n".join(rows) + "\n")
    by_file, by_depth = (holds(made.qrels, made.runs, ["P@10"], until=one) for one in (str(path), "runs:12"))
    assert by_file.open_documents == by_depth.open_documents > 0
    np.testing.assert_array_equal(by_file.conclusion, by_depth.conclusion)
    assert f"once the documents in {path} are judged" in by_file.describe()


def test_the_top_10_of_every_run_alone_stand_beside_the_first_100() -> None:
    made = sample(topics=12, groups=5, systems=2, documents=300, length=60, pool_depth=5, seed=2)
    shown = compare(made.qrels, made.runs, ["P@10"], until="runs:100").holds
    assert shown is not None
    assert shown.shallow is not None
    alone = compare(made.qrels, made.runs, ["P@10"], until="runs:10").holds
    assert alone is not None
    assert shown.shallow.open_documents == alone.open_documents < shown.open_documents
    # P@10 looks no deeper. Both models learn from nearly the same documents.
    assert np.abs(shown.shallow.sign - alone.sign).mean() < 0.04
    assert np.abs(shown.shallow.sign - shown.sign).max() < 1e-9
    for qrels, until in ((made.truth, "runs:100"), (made.qrels, "runs:50")):
        found = compare(qrels, made.runs, ["P@10"], until=until).holds
        assert found is not None
        assert found.shallow is None  # all of them are judged; or not asked


@pytest.mark.parametrize(
    "text", ["pool", "pool:", "pool:0", "pools:3", "runs:-1", "runs:1.5", "", "pool:10 "]
)
def test_anything_else_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(DataError, match=r"^until '.*'; expected pool:D or runs:D with a depth from 1[^\n]*$"):
        parse_until(text)


def test_a_pool_of_nobody_is_refused_in_one_line() -> None:
    with pytest.raises(DataError, match=r"^until pool:5: no run contributes [^\n]* or use runs:5$"):
        considered("pool:5", (False, False))


@pytest.mark.parametrize("text", ["runs:10000001", "runs:99999999999", f"pool:{'9' * 3000}"])
def test_a_depth_that_is_too_large_is_refused_with_the_limit(text: str) -> None:
    with pytest.raises(DataError, match="at most 10,000,000") as refused:
        parse_until(text)
    assert len(str(refused.value)) < 200
