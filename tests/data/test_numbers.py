"""Decimals are read exactly as Python reads them, and nothing else passes for a number."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding.core.policies import Policies
from sounding.data.fast import numbers
from sounding.data.fast.numbers import is_too_large, parse_numbers
from sounding.data.fast.tokens import Tokens
from sounding.data.formats import read_run
from sounding.runs.align import order_documents

decimal = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+"]),
    st.text("0123456789", max_size=18),
    st.sampled_from(["", "."]),
    st.text("0123456789", max_size=18),
)
floats = st.floats(allow_nan=False, allow_infinity=False)


def halfway(value: float, nudge: str) -> str:
    """All digits of the number between a double and the next, or of one beside it."""
    with localcontext(prec=2000):
        middle = (Decimal(value) + Decimal(math.nextafter(value, math.inf))) / 2
        return f"{middle * (1 + Decimal(nudge)):f}"


any_exponent = st.builds(
    "{}{}{}{}".format,
    decimal,
    st.sampled_from(["e", "E"]),
    st.sampled_from(["", "-", "+"]),
    st.integers(0, 400).map(str) | st.text("0123456789", max_size=9),
)
written = (
    decimal
    | any_exponent
    | st.builds(halfway, st.floats(1e-4, 1e20), st.sampled_from(["0", "1e-17", "-1e-17", "1e-30"]))
    | st.integers(0, 10**25).map(str)
    | st.builds("{:.{}f}".format, st.floats(-1e9, 1e9), st.integers(0, 40))
    | st.builds("{:.{}e}".format, floats, st.integers(0, 24))
    | st.builds("{}{}".format, st.text("0", max_size=30), st.floats(0, 1e6).map(repr))
    | st.floats(width=32, allow_nan=False, allow_infinity=False).map(repr)
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
        "1.5/",
        "1/5",
        "1e5e5",
        "1e5.0",
        "1e+-5",
        "1.e",
        ".e5",
        "1 ",
        "123456789.1.2",
        "12345678901.x",
        "0.12345678901234567x",
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


FORMS: dict[str, Callable[[float], str]] = {
    "full doubles": repr,
    "full doubles below 1": lambda x: repr(x / 40),
    "negative": lambda x: repr(-abs(x)),
    "with a plus": lambda x: f"+{abs(x)!r}",
    "singles in full": lambda x: repr(float(np.float32(x))),
    "singles": lambda x: str(np.float32(x)),
    "exponents": lambda x: repr(x * 1e-7),
    "exponents of every size": lambda x: f"{x:.3g}e{round(20 * x) % 300 - 150}",
    "scientific": lambda x: f"{x:.18e}",
    "capital exponents": lambda x: f"{x:.6E}",
    "whole": lambda x: str(round(x * 1e6)),
    "four decimals": lambda x: f"{x:.4f}",
    "twenty decimals": lambda x: f"{x:.20f}",
    "thirty-five decimals": lambda x: f"{x:.35f}",
    "seconds since 1970": lambda x: repr(1.7e9 + x),
    "no digit before the dot": lambda x: f"{x % 1:.17f}"[1:],
    "no digit behind the dot": lambda x: f"{round(1000 * x)}.",
    "leading zeros": lambda x: f"0000{abs(x)!r}",
}


@pytest.mark.parametrize("form", FORMS)
def test_scores_as_programs_print_them_are_read_all_at_once(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(7)
    texts = [FORMS[form](score) for score in rng.normal(3, 9, 5000).tolist()]
    file = tmp_path / "run.txt"
    file.write_text("".join(f"301 Q0 doc{n} {n} {text} tag\n" for n, text in enumerate(texts)))
    left_over = 0

    def counted(tokens: Tokens) -> object:
        nonlocal left_over
        left_over += len(tokens)
        return plainly(tokens)

    plainly = numbers._any_numbers
    monkeypatch.setattr(numbers, "_any_numbers", counted)
    run = read_run(file)
    assert run.scores.tolist() == [float(text) for text in texts]
    assert left_over <= len(texts) // 200, f"{left_over} of {len(texts)} were read one by one"


@pytest.mark.parametrize("count", [20_000, pytest.param(400_000, marks=pytest.mark.long)])
def test_columns_of_every_form_are_read_as_python_reads_them(count: int) -> None:
    rng = np.random.default_rng(20261118)
    bits = rng.integers(0, 2**64, count, dtype=np.uint64).view(np.float64)
    texts = [repr(value) for value in bits[np.isfinite(bits)].tolist()]
    forms = list(FORMS.values())
    texts += [forms[n % len(forms)](x) for n, x in enumerate(rng.normal(0, 30, count).tolist())]
    texts += [str(n) for n in rng.integers(2**53, 2**63, count).tolist()]
    damaged = rng.choice(
        len(texts), count // 4
    )  # a character of these is another one, as in no number or in some
    places, others = rng.random(len(damaged)).tolist(), rng.choice(list("0.-+eE_/:x "), len(damaged)).tolist()
    for text, place, other in zip([texts[n] for n in damaged], places, others, strict=True):
        at = int(place * len(text))
        texts.append(text[:at] + other + text[at + 1 :])
    values, bad = parse_numbers(Tokens.from_strings(texts))
    expected = np.array([reference(text) for text in texts])
    assert (bad == np.isnan(expected)).all()
    assert count // 8 < bad.sum() < count // 4
    assert (values[~bad].view(np.uint64) == expected[~bad].view(np.uint64)).all()


def test_documents_are_ordered_by_their_scores_to_the_last_bit(tmp_path: Path) -> None:
    score, scores = 13.917681263056263, []
    for _ in range(200):
        scores.append(score)
        score = math.nextafter(score, math.inf)
    file = tmp_path / "run.txt"
    file.write_text("".join(f"1 Q0 d{999 - n} {n} {text!r} tag\n" for n, text in enumerate(scores)))
    ranks, _ = order_documents(read_run(file), np.arange(200), Policies())
    assert ranks.tolist() == list(range(199, -1, -1))


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
        "from sounding.data.fast.numbers import parse_numbers\n"
        "from sounding.data.fast.tokens import Tokens\n"
        "parse_numbers(Tokens.from_strings(['1.5', '2.25', '3']))\n"
        "sys.exit('numpy.ma' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
