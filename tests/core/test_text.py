"""Counts in words."""

from __future__ import annotations

import pytest

from sounding.core.text import format_p, join_names, natural_order, natural_places, p_phrase, plural


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs"), (8256, "8,256 pairs")]
)
def test_only_one_thing_is_singular_and_thousands_have_commas(count: int, words: str) -> None:
    assert plural(count, "pair") == words


def test_a_p_value_is_marked_only_where_its_digits_are_shown() -> None:
    """With few draws p cannot be smaller; below .001 nothing that a mark would explain is shown."""
    assert (format_p(0.28, floor=True), p_phrase(0.28, floor=True)) == ("≤0.2800", "≤ 0.2800")
    assert (format_p(0.0004, floor=True), p_phrase(0.0004, floor=True)) == ("<0.001", "< 0.001")


@pytest.mark.parametrize(
    ("names", "words"), [([], ""), (["a"], "a"), ([5, 10], "5 and 10"), (["a", "b", "c"], "a, b and c")]
)
def test_names_are_joined_as_people_do(names: list[object], words: str) -> None:
    assert join_names(names) == words


def test_names_with_numbers_stand_as_people_count() -> None:
    names = ["10", "9", "1", "q2", "11", "q10", "2", "MB01", "q1a", "q1", "é", ""]
    ordered = [names[place] for place in natural_places(names)]
    assert ordered == ["", "1", "2", "9", "10", "11", "MB01", "q1", "q1a", "q2", "q10", "é"]
    assert sorted(["01", "1", "1"], key=natural_order) == ["01", "1", "1"]


def test_numbers_of_any_length_are_ordered() -> None:
    long = "1" * 5_000  # more digits than Python reads as a number
    names = [long + "2", "0" * 5_000 + "7", "8", long + "1", "٩", "10"]
    assert sorted(names, key=natural_order) == [names[1], "8", "٩", "10", long + "1", long + "2"]
