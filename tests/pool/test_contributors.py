"""Who contributes to a pool, and what is said where runs and info do not fit together."""

from __future__ import annotations

import pytest

from sounding.core.errors import DataError
from sounding.data.run_info import RunInfo
from sounding.pool.contributors import choose_contributors
from sounding.runs.retrieved import Retrieved, read_retrieved


def info(*rows: tuple[str, str, int, bool]) -> dict[str, RunInfo]:
    return {
        run: RunInfo(
            run=run,
            group=group,
            kind="manual" if run == "b2" else "automatic",
            priority=priority,
            pooled=pooled,
        )
        for run, group, priority, pooled in rows
    }


ROWS = (("a1", "a", 1, True), ("a2", "a", 2, False), ("b1", "b", 2, True), ("b2", "b", 1, False))
INFO = info(*ROWS)


def runs(*names: str) -> Retrieved:
    return read_retrieved({name: {"1": {f"{name}-doc": 1.0, "shared": 2.0}} for name in names})


def chosen(found: Retrieved, *arguments: object, per_group: int | None = None) -> list[str]:
    contributors = choose_contributors(found, *arguments, per_group=per_group)  # type: ignore[arg-type]
    return [run for run, own in zip(found.runs, contributors.contributing.tolist(), strict=True) if own]


FOUR = runs("a1", "a2", "b1", "b2")


def test_runs_that_are_listed_as_pooled_contribute() -> None:
    assert chosen(FOUR, INFO) == ["a1", "b1"]
    contributors = choose_contributors(FOUR, INFO)
    assert contributors.how == "as listed"
    assert contributors.groups == ("a", "a", "b", "b")
    assert contributors.kinds == ("automatic", "automatic", "automatic", "manual")
    assert contributors.remarks == ()


def test_at_most_so_many_of_each_group_by_priority_whatever_is_listed_as_pooled() -> None:
    assert chosen(FOUR, INFO, per_group=1) == ["a1", "b2"]
    assert chosen(FOUR, INFO, per_group=2) == ["a1", "a2", "b1", "b2"]
    assert choose_contributors(FOUR, INFO, per_group=1).how == "at most 1 a group, by priority"


def test_a_run_without_a_priority_comes_last_and_equal_ones_as_they_were_given() -> None:
    assert chosen(FOUR, info(("a1", "a", 0, True), ("a2", "a", 7, True)), per_group=1) == ["a2"]
    equal = info(("a2", "a", 1, True), ("a1", "a", 1, True))
    assert chosen(FOUR, equal, per_group=1) == ["a1"]


def test_where_priorities_do_not_decide_it_is_said_which_runs_are_taken() -> None:
    equal = info(("a1", "a", 1, True), ("a2", "a", 1, True), ("b1", "b", 0, True), ("b2", "b", 0, True))
    (remark,) = choose_contributors(FOUR, equal, per_group=1).remarks
    assert remark.startswith("2 groups (a, b) with runs of equal or no priority: ")
    assert remark.endswith(" 2 runs (a1, b1)")
    assert choose_contributors(FOUR, equal, per_group=2).remarks == ()
    assert choose_contributors(FOUR, INFO, per_group=1).remarks == ()


def test_without_info_every_run_contributes_as_a_group_of_its_own() -> None:
    contributors = choose_contributors(FOUR)
    assert contributors.contributing.all()
    assert contributors.groups == FOUR.runs
    assert contributors.how == "no info: every run, each a group of its own"
    with pytest.raises(DataError, match=r"needs to know the groups: .* --info"):
        choose_contributors(FOUR, per_group=1)


def test_what_does_not_fit_together_is_said_in_a_line_each() -> None:
    given = runs("a1", "b1", "x", "y")
    listed = info(*ROWS, ("x", "", 1, True))
    contributors = choose_contributors(given, listed)
    assert contributors.remarks == (
        "1 run (y) not in the info file: treated as not pooled",
        "1 run (x) without a group in the info file: each is treated as its own group",
        "2 runs (a2, b2) of the info file were not given, 0 of them pooled",
    )
    assert contributors.groups == ("a", "b", "x", "y")
    assert contributors.contributing.tolist() == [True, True, True, False]


def test_many_names_are_cut_short() -> None:
    given = runs("a1", "p", "q", "r", "s")
    assert "4 runs (p, q, r, ...)" in choose_contributors(given, INFO).remarks[0]


def test_runs_are_known_by_their_tags_too() -> None:
    twice = read_retrieved([{"1": {"d": 1.0}}, {"1": {"e": 1.0}}])
    assert not any("a1" in name for name in twice.runs)
    renamed = Retrieved(
        runs=("one", "two"), tags=("a1", "nobody"), topics=twice.topics, starts=twice.starts,
        docs=twice.docs, lists=twice.lists,
    )  # fmt: skip
    assert chosen(renamed, INFO) == ["one"]


def test_an_info_file_of_other_runs_is_refused() -> None:
    with pytest.raises(DataError, match=r"none of the 2 runs: .*'a1', .*'x'"):
        choose_contributors(runs("x", "y"), INFO)
    with pytest.raises(DataError, match=r"no run as pooled; .* --runs-per-group N"):
        choose_contributors(runs("a2", "b2"), INFO)


def test_the_pool_is_the_first_documents_of_contributing_runs_alone() -> None:
    found = read_retrieved(
        {
            "a1": {"1": {"x": 3.0, "y": 2.0, "z": 1.0}},
            "a2": {"1": {"w": 1.0}},
            "b1": {"1": {"y": 2.0, "x": 1.0}},
        }
    )
    pool = choose_contributors(found, INFO).pool(found, 2)
    best = dict(zip(pool.docs.texts(), pool.best_ranks().tolist(), strict=True))
    assert best == {"w": 0, "x": 1, "y": 1, "z": 0}


def test_ties_are_broken_as_the_evaluation_breaks_them() -> None:
    found = read_retrieved({"a1": {"1": {"x": 1.0, "y": 1.0, "z": 1.0}}})
    pool = choose_contributors(found).pool(found, 1)
    assert [pool.docs.text(number) for number in pool.best_ranks().nonzero()[0].tolist()] == ["z"]
