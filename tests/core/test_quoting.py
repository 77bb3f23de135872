"""What messages quote is short, on one line, and says how much it leaves out."""

from __future__ import annotations

import pytest

from sounding.core.text import LONGEST, quote, quote_list, shorten


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("FT932-15086", "'FT932-15086'"),
        ("a\nb", "'a\\nb'"),
        ("caf\u00e9", "'caf\u00e9'"),
        ("caf\udce9", r"'caf\xe9'"),
        ("x" * 60, "'" + "x" * 60 + "'"),
        ("x" * 61, "'" + "x" * 60 + "'... (61 characters)"),
        ("\x01" * 2000, "'" + r"\x01" * 15 + "'... (2,000 characters)"),
    ],
)
def test_a_text_stands_in_quotes_with_its_length_where_it_is_cut(text: str, expected: str) -> None:
    assert quote(text) == expected


def test_many_texts_are_listed_as_far_as_a_line_bears() -> None:
    assert quote_list(["a", "b"]) == "'a', 'b'"
    assert quote_list([f"column{number}" for number in range(1000)]).endswith(
        "'column13', ... (1,000 in all)"
    )
    assert len(quote_list(["x" * 9000] * 9000)) < 3 * (LONGEST + 30)


def test_a_text_without_quotes_ends_in_dots_where_it_is_cut() -> None:
    assert shorten("x" * 60) == "x" * 60
    assert shorten("x" * 61) == "x" * 57 + "..."
    assert shorten("abcdef", 5) == "ab..."
