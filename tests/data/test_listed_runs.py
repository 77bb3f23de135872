"""What an info file says of runs: rows by name or tag, groups, and what does not fit, a line each."""

from __future__ import annotations

from dataclasses import replace

from sounding.data.run_info import RunInfo, groups_of, info_remarks, listed_rows, named
from sounding.runs.retrieved import read_retrieved

ROWS = {
    name: RunInfo(run=name, group=group, kind="", priority=0, pooled=pooled)
    for name, group, pooled in (("a", "g", True), ("b", "", True), ("gone", "h", True), ("too", "h", False))
}


def test_a_run_is_listed_under_its_name_or_its_tag() -> None:
    retrieved = replace(
        read_retrieved({"a": {"1": {"d": 1.0}}, "x": {"1": {"d": 1.0}}, "y": {"1": {"d": 1.0}}}),
        tags=("z", "b", "z"),
    )
    rows = listed_rows(retrieved.runs, retrieved.tags, ROWS)
    assert rows == [ROWS["a"], ROWS["b"], None]
    assert groups_of(retrieved.runs, rows) == ("g", "x", "y")


def test_what_does_not_fit_is_said_in_a_line_each() -> None:
    rows = [ROWS["a"], ROWS["b"], None, None]
    assert info_remarks(
        ["a", "x", "y", "fresh"], rows, ROWS, new=[False, False, False, True], consequence="!"
    ) == [
        "1 run (y) not in the info file: treated as not pooled",
        "1 run (x) without a group in the info file: each is treated as its own group",
        "2 runs (gone, too) of the info file were not given, 1 of them pooled!",
    ]
    assert info_remarks(["a"], rows[:1], {"a": ROWS["a"]}) == []
    none_pooled = {name: replace(row, pooled=False) for name, row in ROWS.items()}
    last = info_remarks(["a", "x"], rows[:2], none_pooled, consequence="!")[-1]
    assert last == "2 runs (gone, too) of the info file were not given, 0 of them pooled"


def test_many_names_are_cut_short() -> None:
    assert named(["a"], "run") == "1 run (a)"
    assert named(["a", "b", "c"], "row") == "3 rows (a, b, c)"
    assert named(["a", "b", "c", "d"], "row") == "4 rows (a, b, c, ...)"


def test_where_only_the_pool_matters_rows_that_were_not_pooled_may_lack_their_run() -> None:
    rows = [ROWS["a"], ROWS["b"]]
    none_pooled = {name: replace(row, pooled=name in "ab") for name, row in ROWS.items()}
    assert info_remarks(["a", "x"], rows, none_pooled, grouped=False) == []
    assert "gone" in "".join(info_remarks(["a", "x"], rows, ROWS, grouped=False))
