"""Which documents full judging means."""

from __future__ import annotations

import numpy as np
import pytest

from sounding.core.errors import DataError
from sounding.data.tables import Run
from sounding.runs.pool import parse_until
from sounding.runs.retrieved import Retrieved, read_retrieved


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
