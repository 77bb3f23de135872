"""Runs and judgments to files, and back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.core.errors import DataError, UnknownNameError
from sounding.data.formats import read_qrels, read_run
from sounding.data.sources import read_content
from sounding.data.tables import Qrels, Run
from sounding.data.writing import write_qrels, write_run

RUN = Run.from_dict({"2": {"b": 0.1, "a": 1e300}, "01": {"c": -0.30000000000000004}}, name="bm25")

ids = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zs", "Zl", "Zp"]), min_size=1)
topics = ids.filter(lambda text: not text.startswith(("#", "{", "[", "<")))
finite = st.floats(allow_nan=False, allow_infinity=False)
rankings = st.dictionaries(topics, st.dictionaries(ids, finite, min_size=1), min_size=1)
judgments = st.dictionaries(topics, st.dictionaries(ids, st.integers(-2, 9), min_size=1), min_size=1)


def rows(table: Run | Qrels) -> list[tuple[Any, ...]]:
    columns: list[list[Any]] = [
        [topic for topic, size in zip(table.topics, table.sizes, strict=True) for _ in range(size)],
        table.docs.texts(),
    ]
    if isinstance(table, Run):
        columns.append(table.scores.tolist())
    else:
        columns.append(table.grades.tolist())
        optional = (table.pool_ranks, table.probabilities, table.methods)
        columns += [column.tolist() for column in optional if column is not None]
        columns += [] if table.groups is None else [table.groups.texts()]
    return list(zip(*columns, strict=True))


def test_a_run_is_six_columns_in_its_own_order_with_exact_scores(tmp_path: Path) -> None:
    write_run(RUN, tmp_path / "run.txt")
    assert (tmp_path / "run.txt").read_text() == (
        "2 Q0 b 1 0.1 bm25\n2 Q0 a 2 1e+300 bm25\n01 Q0 c 1 -0.30000000000000004 bm25\n"
    )


def test_judgments_are_four_columns_unless_more_is_known(tmp_path: Path) -> None:
    path = tmp_path / "qrels.txt"
    plain = Qrels.from_columns(["2", "1"], ["b", "a"], [1, 0])
    write_qrels(plain, path)
    assert path.read_text() == "1 0 a 0\n2 0 b 1\n"
    pooled = Qrels.from_columns(["2", "1"], ["b", "a"], [1, 0.5], groups=["X", "Y"], pool_ranks=[7, 3])
    write_qrels(pooled, path)
    assert path.read_text() == "topic\tdoc\tgrade\tgroup\tpool_rank\n1\ta\t0.5\tY\t3\n2\tb\t1\tX\t7\n"
    write_qrels(pooled, path, format="trec")
    assert path.read_text() == "1 Y a 0.5\n2 X b 1\n"
    write_qrels(plain, path, format="tsv")
    assert path.read_text() == "topic\tdoc\tgrade\n1\ta\t0\n2\tb\t1\n"
    with pytest.raises(UnknownNameError, match="unknown format of judgments 'csv'"):
        write_qrels(plain, path, format="csv")  # type: ignore[arg-type]


@given(rankings)
def test_a_run_that_is_written_reads_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, ranking: dict[str, dict[str, float]]
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.txt"
    run = Run.from_dict(ranking, name="x")
    write_run(run, path)
    again = read_run(path)
    assert again.topics == run.topics
    assert again.tag == "x"
    assert rows(again) == rows(run)


@given(judgments, st.booleans(), st.booleans())
def test_judgments_that_are_written_read_back_the_same(
    tmp_path_factory: pytest.TempPathFactory, judged: dict[str, dict[str, int]], pooled: bool, grouped: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "written.qrels"
    flat = [(topic, doc, grade) for topic, docs in judged.items() for doc, grade in docs.items()]
    qrels = Qrels.from_columns(
        [topic for topic, _, _ in flat],
        [doc for _, doc, _ in flat],
        [grade for _, _, grade in flat],
        pool_ranks=range(len(flat)) if pooled else None,
        groups=[str(number % 2) for number in range(len(flat))] if grouped else None,
    )
    write_qrels(qrels, path)
    again = read_qrels(path, groups=grouped)
    assert again.topics == qrels.topics
    assert rows(again) == rows(qrels)


def test_prels_read_back_the_same(tmp_path: Path) -> None:
    path = tmp_path / "prels"
    path.write_text("2 b 1 2 0.1\n1 a 0 1 1\n")
    first = read_qrels(path)
    write_qrels(first, tmp_path / "again.tsv")
    assert rows(read_qrels(tmp_path / "again.tsv")) == rows(first) == [
        ("1", "a", 0.0, 1.0, 1), ("2", "b", 1.0, 0.1, 2),
    ]  # fmt: skip


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".xz", ".zst", ".GZ"])
def test_the_suffix_compresses_always_to_the_same_bytes(suffix: str, tmp_path: Path) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in ("a", "b")]
    for path in paths:
        write_run(RUN, path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert not paths[0].read_bytes().startswith(b"2 Q0")
    assert bytes(read_content(paths[0]).view).startswith(b"2 Q0 b 1 0.1 bm25\n")


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Run.from_dict({"1": {"a b": 1}}, name="x"), "x: document 'a b' cannot be written"),
        (Run.from_dict({"#1": {"a": 1}}, name="x"), "topic '#1' cannot be written"),
        (Run.from_dict({"": {"a": 1}}, name="x"), "topic '' cannot be written"),
        (Run.from_dict({"1": {"a": 1}}, name="my run"), "tag 'my run' cannot be written"),
    ],
)
def test_what_would_not_read_back_is_not_written(run: Run, message: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=message):
        write_run(run, tmp_path / "run.txt")
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_what_was_there_and_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.txt"
    path.write_text("before")

    def fail(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(DataError, match=r"run\.txt cannot be written: No space left on device"):
        write_run(RUN, path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_places_that_cannot_be_written_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be written: there is no folder"):
        write_run(RUN, tmp_path / "nowhere" / "run.txt")
    with pytest.raises(DataError, match="cannot be written: Is a directory"):
        write_run(RUN, tmp_path)


def test_bytes_that_are_no_utf8_survive(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1 Q0 \xe9 1 2 x\n")
    write_run(read_run(tmp_path / "a"), tmp_path / "b")
    assert (tmp_path / "b").read_bytes() == b"1 Q0 \xe9 1 2.0 x\n"


def test_a_device_is_written_to_and_not_replaced() -> None:
    write_run(RUN, "/dev/null")
    assert not Path("/dev/null").is_file()
    assert np.isfinite(RUN.scores).all()
