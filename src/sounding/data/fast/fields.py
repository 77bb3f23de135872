"""Split white-space separated text into fields: the only tokenizer.

There are two ways with the same result. `_plain_fields` finds every field of every line and is easy to
follow; it also drops blank and comment lines and reports problems. `_quick_fields` handles the common file,
in which every line is a record. It represents the first 64 bytes of a line as a 64-bit number with one bit
for each byte of white space, and finds a field by clearing the lowest set bits. Longer lines use three such
numbers: one begins at the document, and one after it, so that ids may have 62 bytes. `split_fields` tries the
quick way and falls back on the plain one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.fast.tokens import MARGIN, Bytes, Places, Tokens, bits_at
from sounding.data.problems import Problems

BLANK, NEWLINE, RETURN, COMMENT = 32, 10, 13, 35
LONE_RETURN = "carriage return inside a line; expected line ends LF or CR LF"
BLOCK = 1 << 18  # bytes processed at a time: twice as fast if they fit in the cache
STRETCH = 1 << 20  # bytes whose fields are held at once
REACH = 62  # the last of 64 bits that can be distinguished from none
# Another 64 bits of a long line begin after these fields. The document of runs and qrels, field 2, has some
# of its own, because it may be almost as long as they are.
TURNS_OF_ENDS, TURNS_OF_STARTS = (1, 2), (2, 3)
NOWHERE = np.uint8(200)  # the position of a field that is out of reach

Starts = dict[int, NDArray[np.uint8]]  # field -> its position in every line

_U64 = np.uint64
_ONE = np.uint64(1)
_SIXTY_THREE = np.uint64(63)
_BIT = np.uint8(1)


class Fields(NamedTuple):
    """The requested fields of all records, as columns."""

    columns: tuple[Tokens, ...]
    lines: Places | None  # the line of each record, from 1; None: record i is line i + 1
    longer: bool  # True: a line may have more fields than the minimum

    def line(self, record: int) -> int:
        """Return the line number of a record."""
        return record + 1 if self.lines is None else int(self.lines[record])


def split_fields(
    buffer: Bytes,
    size: int,
    *,
    wanted: Sequence[int],
    least: int,
    most: int | None = None,
    shape: str,
    problems: Problems,
) -> Fields:
    """Return the `wanted` fields (ascending, from 0) of every line with `least` to `most` fields.

    `shape` is the expected form of a line in messages. Blank lines and lines that start with # are not
    records. The buffer needs MARGIN spare bytes after the text.
    """
    buffer, size = _close_last_line(buffer, size)
    quick = _quick_fields(buffer, size, wanted, least, most)
    return quick or _plain_fields(buffer, size, wanted, least, most, shape, problems)


def _close_last_line(buffer: Bytes, size: int) -> tuple[Bytes, int]:
    """Return the text with a newline after its last line."""
    if size and buffer[size - 1] == NEWLINE:
        return buffer, size
    if not buffer.flags.writeable or len(buffer) < size + MARGIN:
        buffer = np.concatenate([buffer[:size], np.zeros(MARGIN + 1, np.uint8)])
    buffer[size] = NEWLINE
    return buffer, size + 1


def _quick_fields(
    buffer: Bytes, size: int, wanted: Sequence[int], least: int, most: int | None
) -> Fields | None:
    """Split all records with bit maps; None if a line is blank, short, a comment or too long."""
    scan = _scan(buffer, size)
    if scan is None:
        return None
    white, newlines = scan
    begin = np.empty_like(newlines)
    begin[:1] = 0
    np.add(newlines[:-1], 1, out=begin[1:])
    length = newlines - begin
    places = _places(white, begin, length, wanted, least, most)
    if places is None and length.max(initial=0) > REACH:
        places = _places(white, begin, length, wanted, least, most, long=True)
    if places is None:
        return None
    start, end = places
    if (buffer.take(begin + start[0]) == COMMENT).any():
        return None
    columns = []
    for field in wanted:
        columns.append(Tokens(buffer, begin + start[field], (end[field] - start[field]).astype(np.int64)))
    return Fields(tuple(columns), None, _count_fields(white, least * len(begin)) > least * len(begin))


def _count_fields(white: NDArray[np.uint64], expected: int) -> int:
    """Return the number of fields of a text; each expected field is followed by at least one white space."""
    if int(np.bitwise_count(white).sum()) == expected:
        return expected
    return int(np.bitwise_count(white & ~_after_white(white)).sum())


def _after_white(white: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a bitmap in which bit i says that byte i - 1 is white space, or that the text starts at i."""
    after = white << _ONE
    after[1:] |= white[:-1] >> _SIXTY_THREE
    after[0] |= _ONE
    return after


def _places(
    white: NDArray[np.uint64],
    begin: Places,
    length: Places,
    wanted: Sequence[int],
    least: int,
    most: int | None,
    *,
    long: bool = False,
) -> tuple[Starts, Starts] | None:
    """Return where the requested fields of each line start and end; None if a line does not fit."""
    reach = 3 * REACH + 2 if long else REACH

    def set_bits(bitmap: NDArray[np.uint64], keep: set[int], turns: Sequence[int]) -> Starts:
        if long:
            return _set_bits_of_long_lines(bitmap, begin, keep, turns)
        return _set_bits(bitmap, begin, keep)

    after_white = _after_white(white)
    if (white & after_white).any():
        keep = {*range(least)} if most is None else {*range(least), most}
        start = set_bits(~white & after_white, keep, TURNS_OF_STARTS)
        end = set_bits(white & ~after_white, set(wanted), TURNS_OF_ENDS)
        behind = None if most is None else start[most]
    else:  # gaps of one byte only: a field starts right after the previous one
        end = set_bits(white, {*range(max(wanted[-1] + 1, least - 1, most or 0))}, TURNS_OF_ENDS)
        start = {0: np.zeros(len(begin), np.uint8)}
        start |= {field: end[field - 1] + np.uint8(1) for field in range(1, least)}
        behind = None if most is None else end[most - 1]
    # A line with missing fields gets those of the next line, or none (out of reach).
    last = start[least - 1]
    if not len(begin) or last.max() > reach or (last >= length).any() or end[wanted[-1]].max() > reach:
        return None
    if behind is not None and ((behind < length) | (behind == NOWHERE)).any():
        return None
    return start, end


def _scan(buffer: Bytes, size: int) -> tuple[NDArray[np.uint64], Places] | None:
    """Return a bit for each byte of white space, and the newlines; None if the text is not plain lines."""
    white = np.zeros((size >> 6) + 3, _U64)
    ends = np.zeros_like(white)
    for begin in range(0, size, BLOCK):
        block = buffer[begin : min(begin + BLOCK, size)]
        if not _is_plain(block) and (
            _has_control_characters(block) or _has_lone_returns(buffer, begin, len(block))
        ):
            return None
        place = slice(begin >> 3, (begin + len(block) + 7) >> 3)
        white.view(np.uint8)[place] = np.packbits(block <= BLANK, bitorder="little")
        ends.view(np.uint8)[place] = np.packbits(block == NEWLINE, bitorder="little")
    newlines = _single_bits(ends.view(np.uint8))
    return None if newlines is None else (white, newlines)


def _single_bits(bitmap: Bytes) -> Places | None:
    """Return the positions of the set bits; None if a byte has more than one.

    A record is long enough that eight bytes of text hold at most one newline, and scanning bytes is faster
    than scanning bits.
    """
    places = (bitmap != 0).nonzero()[0]
    found = bitmap.take(places)
    below = found - _BIT
    if (found & below).any():
        return None
    places <<= 3
    places += np.bitwise_count(below)
    return places


def _is_plain(block: Bytes) -> bool:
    """Return whether all bytes below a blank are tabs and newlines; a quick check that avoids others."""
    return bool(block.min() >= 9 and (block - np.uint8(11)).min() >= BLANK - 11)


def _has_control_characters(block: Bytes) -> bool:
    """Return whether a byte is below 32 and not one of the five white-space bytes (9 to 13)."""
    return bool(block.min() < 9 or (block - np.uint8(14)).min() < 18)


def _has_lone_returns(buffer: Bytes, begin: int, length: int) -> bool:
    """Return whether a carriage return occurs anywhere but before a newline."""
    returns = buffer[begin : begin + length] == RETURN
    return bool(returns.any()) and bool((buffer[begin + returns.nonzero()[0] + 1] != NEWLINE).any())


def _set_bits(bitmap: NDArray[np.uint64], begin: Places, keep: set[int]) -> Starts:
    """Return the positions of the set bits number `keep` from each line's start; 63: there, or none."""
    rest = bits_at(bitmap, begin)
    places: dict[int, NDArray[np.uint8]] = {}
    for number in range(max(keep, default=-1) + 1):
        below = rest - _ONE  # clears the lowest set bit and sets all bits below it
        if number in keep:
            places[number] = np.bitwise_count(rest ^ below) - _BIT
        rest &= below
    return places


def _set_bits_of_long_lines(
    bitmap: NDArray[np.uint64], begin: Places, keep: set[int], turns: Sequence[int]
) -> Starts:
    """Like `_set_bits`, with 64 more bits after each bit number of `turns`; NOWHERE: none."""
    places: Starts = {}
    before, lost = np.zeros(len(begin), np.uint8), np.zeros(len(begin), np.bool_)
    first = 0
    for last in (*turns, max(keep)):
        wanted = {number - first for number in (*keep, last) if first <= number <= last}
        for number, place in _set_bits(bitmap, begin + before, wanted).items():
            places[first + number] = np.where(lost | (place > REACH), NOWHERE, place + before)
        lost = places[last] == NOWHERE
        before = np.where(lost, _BIT, places[last] + _BIT)
        first = last + 1
    return places


class Stretch(NamedTuple):
    """Some complete lines of a text, and the positions of all their fields."""

    begin: int  # the first byte
    size: int  # bytes
    lines_before: int
    line_starts: Places  # relative to `begin`
    starts: Places  # of the fields, in the whole text
    ends: Places
    fields: Places  # (line,) number of fields
    first: Places  # (line,) index of the first field
    records: Places  # the lines that are neither blank nor comments


def stretches(buffer: Bytes, size: int) -> Iterator[Stretch]:
    """Yield all fields of a text, a megabyte of lines at a time to save memory."""
    buffer, size = _close_last_line(buffer, size)
    begin = lines_before = 0
    while begin < size:
        end = _end_of_line(buffer, min(begin + STRETCH, size) - 1)
        text = buffer[begin:end]
        newlines = (text == NEWLINE).nonzero()[0]
        white = text <= BLANK
        edges = np.empty(len(text), np.bool_)
        edges[:1] = ~white[:1]
        np.not_equal(white[1:], white[:-1], out=edges[1:])
        edge = edges.nonzero()[0]  # a start, the end after it, the next start, ...
        starts, ends = edge[0::2], edge[1::2]
        fields = np.bincount(np.searchsorted(newlines, starts), minlength=len(newlines))
        first = np.cumsum(fields) - fields
        records = (fields > 0).nonzero()[0]
        records = records[text[starts[first[records]]] != COMMENT]
        line_starts = np.concatenate([[0], newlines[:-1] + 1])
        yield Stretch(
            begin, len(text), lines_before, line_starts, starts + begin, ends + begin,
            fields, first, records,
        )  # fmt: skip
        begin = end
        lines_before += len(newlines)


def _end_of_line(buffer: Bytes, place: int) -> int:
    """Return the position after the newline at or after `place`."""
    while not (here := buffer[place : place + BLOCK] == NEWLINE).any():
        place += BLOCK
    return place + int(np.argmax(here)) + 1


def _plain_fields(
    buffer: Bytes,
    size: int,
    wanted: Sequence[int],
    least: int,
    most: int | None,
    shape: str,
    problems: Problems,
) -> Fields:
    """Split all records by the edges of their fields: lines of any length, blank lines, comments."""
    wrong, counts, control, lone, lines = ([np.empty(0, np.int64)] for _ in range(5))
    places: list[list[tuple[Places, Places]]] = [[] for _ in wanted]
    longer, first_control = False, ""
    for stretch in stretches(buffer, size):
        text = buffer[stretch.begin : stretch.begin + stretch.size]
        number = stretch.lines_before + 1  # of the stretch's first line
        if _has_control_characters(text):
            strange = _is_control_character(text)
            first_control = first_control or f"0x{text[np.argmax(strange)]:02x}"
            control.append(lines_with(strange, stretch.line_starts) + number)
        lone.append(lines_with(_is_lone_return(text), stretch.line_starts) + number)
        fields = stretch.fields[stretch.records]
        fitting = (fields >= least) & (True if most is None else fields <= most)
        wrong.append(stretch.records[~fitting] + number)
        counts.append(fields[~fitting])
        records = stretch.records[fitting]
        longer |= bool((fields[fitting] > least).any())
        lines.append(records + number)
        for field, found in zip(wanted, places, strict=True):
            token = stretch.first[records] + field
            start = stretch.starts[token]
            found.append((start, stretch.ends[token] - start))

    expected = f"control character {first_control}; expected plain text"
    problems.add(np.concatenate(control), lambda _: expected)
    problems.add(np.concatenate(lone), lambda _: LONE_RETURN)
    count = np.concatenate(counts)
    problems.add(np.concatenate(wrong), lambda i: f"{_count(int(count[i]))}; expected {least}: {shape}")
    nothing = (lines[0], lines[0])
    columns = [
        Tokens(buffer, *(np.concatenate(parts) for parts in zip(nothing, *found, strict=True)))
        for found in places
    ]
    return Fields(tuple(columns), np.concatenate(lines), longer)


def lines_with(marks: NDArray[np.bool_], line_starts: Places) -> Places:
    """Return the lines, from 0, that contain a marked byte."""
    return np.logical_or.reduceat(marks, line_starts).nonzero()[0] if marks.any() else line_starts[:0]


def note_lone_returns(text: Bytes, newlines: Places, problems: Problems) -> None:
    """Report the lines that contain a carriage return anywhere but at their end."""
    starts = np.concatenate([[0], newlines + 1])
    problems.add(lines_with(_is_lone_return(text), starts[starts < len(text)]) + 1, lambda _: LONE_RETURN)


def _is_lone_return(text: Bytes) -> NDArray[np.bool_]:
    lone = text == RETURN
    lone[:-1] &= text[1:] != NEWLINE
    lone[-1:] = False
    return lone


def line_at(text: Bytes, start: int) -> bytes:
    """Return the line from a position on, including its end; reads no further than necessary."""
    reach = 1 << 12
    while True:
        piece = text[start : start + reach].tobytes()
        end = piece.find(b"\n")
        if end >= 0:
            return piece[: end + 1]
        if start + reach >= len(text):
            return piece
        reach *= 8


def _is_control_character(text: Bytes) -> NDArray[np.bool_]:
    return (text < 9) | ((text > 13) & (text < BLANK))


def _count(fields: int) -> str:
    return "1 field" if fields == 1 else f"{fields} fields"
