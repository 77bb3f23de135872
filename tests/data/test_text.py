"""The quick tokenizer, the plain one and Python's split() find the same fields."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding.core.errors import FormatError
from sounding.data.fast.fields import _close_last_line, _plain_fields, _quick_fields, split_fields
from sounding.data.fast.tokens import MARGIN
from sounding.data.problems import Problems

WHITE = b" \t\n\v\f\r"


def buffer_of(text: bytes) -> np.ndarray:
    return np.frombuffer(bytearray(text + bytes(MARGIN)), np.uint8)


def expected_fields(text: bytes, wanted: tuple[int, ...], least: int) -> tuple[list[list[bytes]], list[int]]:
    """What a plain loop over lines says: bytes.split() splits on the same six characters."""
    columns: list[list[bytes]] = [[] for _ in wanted]
    lines = []
    for number, line in enumerate(text.split(b"\n"), start=1):
        fields = line.split()
        if fields and not fields[0].startswith(b"#") and len(fields) >= least:
            lines.append(number)
            for column, field in zip(columns, wanted, strict=True):
                column.append(fields[field])
    return columns, lines


def found_fields(text: bytes, wanted: tuple[int, ...], least: int) -> tuple[list[list[bytes]], list[int]]:
    fields = split_fields(
        buffer_of(text), len(text), wanted=wanted, least=least, shape="", problems=Problems("x")
    )
    columns = [[t.encode("utf-8", "surrogateescape") for t in column.texts()] for column in fields.columns]
    return columns, [fields.line(number) for number in range(len(fields.columns[0]))]


field = st.lists(st.integers(33, 255), min_size=1, max_size=12).map(bytes)
id_field = st.lists(st.integers(33, 255), min_size=20, max_size=64).map(bytes)
long_field = st.lists(st.integers(33, 255), min_size=1, max_size=90).map(bytes)
gap = st.text(" \t\v\f", min_size=1, max_size=3).map(str.encode)


@st.composite
def line_of_fields(draw: st.DrawFn, fields: st.SearchStrategy[bytes]) -> bytes:
    count = draw(st.integers(0, 8))
    text = draw(st.sampled_from([b"", b" ", b"\t"]))
    for _ in range(count):
        text += draw(fields) + draw(gap)
    return text + draw(st.sampled_from([b"", b"\r"]))


@settings(max_examples=400)
@given(st.lists(line_of_fields(field | long_field), max_size=12), st.booleans())
def test_any_text_gives_the_fields_that_split_gives(lines: list[bytes], last_newline: bool) -> None:
    text = b"\n".join(lines) + (b"\n" if last_newline else b"")
    for wanted, least in (((0, 2, 4), 6), ((0, 1, 2, 3), 4), ((0,), 1)):
        assert found_fields(text, wanted, least) == expected_fields(text, wanted, least)


@settings(max_examples=200)
@given(
    st.lists(st.lists(field, min_size=6, max_size=7), min_size=1, max_size=40)
    | st.lists(st.lists(field | id_field, min_size=6, max_size=7), min_size=1, max_size=4)
)
def test_regular_text_takes_the_quick_way_and_agrees_with_the_plain_one(records: list[list[bytes]]) -> None:
    records = [[b"t" + fields[0], *fields[1:]] for fields in records]
    text = b"".join(b" ".join(fields) + b"\n" for fields in records)
    buffer, size = _close_last_line(buffer_of(text), len(text))
    quick = _quick_fields(buffer, size, (0, 2, 4), 6, None)
    plain = _plain_fields(buffer, size, (0, 2, 4), 6, None, "", Problems("x"))
    # The first five fields take 62 bytes, or the first two do, the document does, and rank and score do.
    fits = all(len(b" ".join(fields[:5])) < 62 for fields in records)
    parts = [b" ".join(part) for fields in records for part in (fields[:2], fields[2:3], fields[3:5])]
    assert (quick is not None) == (fits or all(len(part) <= 62 for part in parts))
    if quick is not None:
        for fast, slow in zip(quick.columns, plain.columns, strict=True):
            assert fast.texts() == slow.texts()


@pytest.mark.parametrize("gap", [b" ", b"  "])
@pytest.mark.parametrize("length", [*range(56, 68), *range(120, 132)])
@pytest.mark.parametrize("doc", [b"d", b"d" * 56, b"d" * 58, b"d" * 60])
def test_lines_that_end_about_where_their_bits_do_give_the_same_fields(
    length: int, doc: bytes, gap: bytes
) -> None:
    """The fields before the last take up to 63 bytes, and what follows brings the line to a length."""
    wanted = (0, 1, 2, 3)
    for last, most in product((b"1", b"-1", b"1 2", b"1" * 9), (4, None)):
        begin, end = gap.join([b"7", b"0", b""]), gap + last
        if len(doc) > 1:
            begin = gap.join([b"7", b"0", doc, b""])
        text = b"1 0 a 1\n" + begin.ljust(length - len(end), b"d") + end + b"\n2 0 b 0\n"
        problems = Problems("x"), Problems("x")
        found = split_fields(
            buffer_of(text), len(text), wanted=wanted, least=4, most=most, shape="s", problems=problems[0]
        )
        plain = _plain_fields(buffer_of(text), len(text), wanted, 4, most, "s", problems[1])
        for fast, slow in zip(found.columns, plain.columns, strict=True):
            assert fast.texts() == slow.texts()
        assert problems[0].found == problems[1].found


def test_text_longer_than_a_block_is_read_whole() -> None:
    records = [f"{n % 50} Q0 document-{n} {n} {n / 7:.4f} tag".encode() for n in range(20_000)]
    text = b"\n".join(records) + b"\n"
    columns, lines = found_fields(text, (0, 2, 4), 6)
    assert columns == expected_fields(text, (0, 2, 4), 6)[0]
    assert lines == list(range(1, 20_001))


def test_a_comment_with_enough_fields_is_no_record() -> None:
    assert found_fields(b"# a b c d e\n1 Q0 x 1 2.5 tag\n", (0,), 6) == ([[b"1"]], [2])


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        (b"1 Q0 a 1 2.5 t\n\n# note\n1 Q0 b\n1 0\n", 4, "3 fields; expected 6: the shape"),
        (b"1 Q0 a 1 2.5 t\n1 Q0 b\x00 2 2 t\n", 2, "control character 0x00; expected plain text"),
        (b"1 Q0 a 1 2.5 t\nx\n", 2, "1 field; expected 6: the shape"),
        (b"1 Q0 a 1 2 t\r\n1 Q0 b 1 2 t\r1 Q0 c 1 2 t\r", 2, "carriage return inside a line"),
    ],
)
def test_a_bad_line_is_named_with_what_was_seen(text: bytes, line: int, problem: str) -> None:
    problems = Problems("file.txt")
    split_fields(buffer_of(text), len(text), wanted=(0,), least=6, shape="the shape", problems=problems)
    with pytest.raises(FormatError) as error:
        problems.refuse()
    assert str(error.value).startswith(f"file.txt:{line}: {problem}")


def test_more_fields_than_allowed_are_a_problem() -> None:
    for text in (b"1 0 a 1\n1 0 b 1 9\n", b"1 0 a 1\n\n1 0 b 1 9\n"):
        problems = Problems("q")
        fields = split_fields(
            buffer_of(text), len(text), wanted=(2,), least=4, most=4, shape="s", problems=problems
        )
        assert fields.columns[0].texts() == ["a"]
        assert [problem.text for problem in problems.found] == ["5 fields; expected 4: s"]


def test_the_number_of_further_problems_is_said() -> None:
    problems = Problems("q")
    text = b"1\n2\n3\n"
    split_fields(buffer_of(text), len(text), wanted=(0,), least=2, shape="s", problems=problems)
    with pytest.raises(FormatError, match=r"^q:1: 1 field; expected 2: s \(and 2 more problems\)$"):
        problems.refuse()
