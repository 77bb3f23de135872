"""Counts in words."""

from __future__ import annotations

import pytest

from sounding.wording import plural


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 pairs"), (1, "1 pair"), (2, "2 pairs"), (8256, "8,256 pairs")]
)
def test_only_one_thing_is_singular_and_thousands_have_commas(count: int, words: str) -> None:
    assert plural(count, "pair") == words
