"""Decimals are read exactly as Python reads them, and nothing else passes for a number."""

from __future__ import annotations

import math
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding.data.numbers import is_too_large, parse_numbers
from sounding.data.tokens import Tokens

decimal = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", max_size=18),
    st.sampled_from(["", "."]),
    st.text("0123456789", max_size=18),
)
floats = st.floats(allow_nan=False, allow_infinity=False)
written = (
    decimal
    | floats.map(repr)
    | floats.map("{:e}".format)
    | st.floats(-1e6, 1e6).map("{:.6f}".format)
    | st.integers(-(10**17), 10**17).map(str)
)
junk = st.sampled_from(
    [
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1_0",
        ".",
        "-",
        "+",
        "-.",
        "1.2.3",
        "1,5",
        "1e",
        "e5",
        "0x10",
        "--1",
        "5/3",
        "1-",
    ]
)


def reference(text: str) -> float:
    """Python's own parser, less what it takes beyond decimal numbers."""
    if not text or set(text) - set("0123456789+-.eE"):
        return math.nan
    try:
        value = float(text)
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan


@settings(max_examples=500)
@given(st.lists(written | junk, min_size=1, max_size=30))
def test_every_text_is_read_as_python_reads_it(texts: list[str]) -> None:
    values, bad = parse_numbers(Tokens.from_strings(texts))
    for text, value, wrong in zip(texts, values.tolist(), bad.tolist(), strict=True):
        expected = reference(text)
        assert wrong == math.isnan(expected)
        if not wrong:
            assert value == expected
            assert math.copysign(1, value) == math.copysign(1, expected)


@given(st.text(min_size=1, max_size=20))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    values, bad = parse_numbers(Tokens.from_strings([text]))
    assert bad[0] == math.isnan(reference(text))
    assert math.isnan(values[0]) == bad[0]


@pytest.mark.parametrize(
    "text", ["0.1", "12345678.1234567", "1234567890123456", "99999999999999.9", "0.30000000000000004"]
)
def test_values_at_the_edge_of_the_quick_form_are_exact(text: str) -> None:
    values, bad = parse_numbers(Tokens.from_strings(["7.25", text]))
    assert not bad.any()
    assert values[1] == float(text)


@pytest.mark.parametrize("length", range(2, 19))
@pytest.mark.parametrize("dot", [False, True])
def test_texts_of_one_length_that_stand_side_by_side_are_read_apart(length: int, dot: bool) -> None:
    digits = "9" * length
    text = f"{digits[: length // 2]}.{digits[length // 2 :]}"[:length] if dot else digits
    values, _ = parse_numbers(Tokens.from_strings(["1" * length, text, text]))
    assert values.tolist() == [reference(one) for one in ("1" * length, text, text)]


def test_no_texts_give_no_numbers() -> None:
    values, bad = parse_numbers(Tokens.from_strings([]))
    assert len(values) == len(bad) == 0


@pytest.mark.parametrize("text", ["1e400", "-1e400", "+2.5E+309", "9" * 400])
def test_a_number_beyond_double_precision_is_too_large(text: str) -> None:
    assert is_too_large(text)
    assert parse_numbers(Tokens.from_strings([text]))[1].tolist() == [True]


@pytest.mark.parametrize("text", ["", "x", "inf", "nan", "1e308", "1e-400", "--1", "1e400x"])
def test_what_is_no_number_or_fits_is_not_too_large(text: str) -> None:
    assert not is_too_large(text)


def test_reading_numbers_does_without_masked_arrays() -> None:
    code = (
        "import sys\n"
        "from sounding.data.numbers import parse_numbers\n"
        "from sounding.data.tokens import Tokens\n"
        "parse_numbers(Tokens.from_strings(['1.5', '2.25', '3']))\n"
        "sys.exit('numpy.ma' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
