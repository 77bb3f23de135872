"""The info file: its columns, and how its problems are told."""

from __future__ import annotations

from pathlib import Path

import pytest

from sounding.core.errors import FormatError
from sounding.data.run_info import RunInfo, read_run_info


def written(folder: Path, text: str) -> Path:
    path = folder / "info.tsv"
    path.write_text(text)
    return path


def test_a_row_tells_who_submitted_a_run_and_whether_it_was_pooled(tmp_path: Path) -> None:
    path = written(
        tmp_path, "run\tgroup\tkind\tpriority\tpooled\na\tg1\tmanual\t2\tyes\nb\tg2\tautomatic\t\tNo\n"
    )
    assert read_run_info(path) == {
        "a": RunInfo(run="a", group="g1", kind="manual", priority=2, pooled=True),
        "b": RunInfo(run="b", group="g2", kind="automatic", priority=0, pooled=False),
    }


def test_columns_may_stand_in_any_order_beside_others(tmp_path: Path) -> None:
    path = written(tmp_path, "pooled,year,run,group,kind,priority\n1,1999,a,g,manual,1\n")
    assert read_run_info(path)["a"].pooled


def test_kind_and_priority_may_be_left_out(tmp_path: Path) -> None:
    path = written(tmp_path, "run,group,pooled\na,g,yes\n")
    assert read_run_info(path) == {"a": RunInfo(run="a", group="g", kind="", priority=0, pooled=True)}
    assert not read_run_info(written(tmp_path, "run,group,kind,pooled\na,g,manual,no\n"))["a"].pooled


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("a\tg\tmanual\t1\tmaybe", "info.tsv:2: pooled is 'maybe'; expected yes or no"),
        ("a\tg\tmanual\tfirst\tyes", "info.tsv:2: priority is 'first'; expected a whole number"),
        ("a\tg\tmanual\tyes", "info.tsv:2: 4 columns; expected 5"),
        ("a\tg\tmanual\t1\tyes\na\tg\tmanual\t1\tno", "info.tsv:3: run 'a' is listed twice"),
    ],
)
def test_a_bad_row_is_refused_with_its_line(tmp_path: Path, row: str, problem: str) -> None:
    path = written(tmp_path, f"run\tgroup\tkind\tpriority\tpooled\n{row}\n")
    with pytest.raises(FormatError, match=problem):
        read_run_info(path)


@pytest.mark.parametrize("text", ["a\tg\tmanual\t1\tyes\n", "run\tgroup\tkind\tpriority\n", "run\tpooled\n"])
def test_a_file_without_the_columns_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match=r"no column '.*'; expected a first line with run, group, kind"):
        read_run_info(written(tmp_path, text))
