"""How text becomes numbers: exact decimals, many at a time.

A decimal of at most 16 bytes, such as 12.345678, is read as one or two 64-bit words. Subtracting the code
of 0 from all bytes leaves the digits; three multiplications add neighbouring digits, pairs and
fours. At most 15 digits fit beside a dot, so the whole number is exact in double precision, and one
division by a power of ten rounds it as a careful parser would. What does not have that shape
(exponents, more digits) goes through NumPy's parser.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sounding.arrays import NDArray
from sounding.data.tokens import Bytes, Places, Tokens, Words, foreign_bits, words_at

_U64 = np.uint64
_ZEROS = 0x3030303030303030
_DOTS = 0x2E2E2E2E2E2E2E2E
_ONES = 0x0101010101010101
_ALL = (1 << 64) - 1


def parse_numbers(tokens: Tokens) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The value of every text, and where a text is no finite decimal number (value NaN there)."""
    if not len(tokens):
        return np.empty(0), np.zeros(0, np.bool_)
    values = np.full(len(tokens), np.nan) if tokens.text(0).startswith(("-", "+")) else _decimals(tokens)
    todo = np.isnan(values).nonzero()[0]
    if len(todo):  # signs are looked for where the first text has one, or some text is no plain decimal
        negative, digits = _unsigned(tokens[todo])
        values[todo] = np.where(negative, -1.0, 1.0) * _decimals(digits)
        todo = todo[np.isnan(values[todo])]
    if len(todo):
        values[todo] = _any_numbers(tokens[todo])
    bad = ~np.isfinite(values)
    values[bad] = np.nan  # also what is too large
    return values, bad


def is_too_large(text: str) -> bool:
    """Whether a text is a decimal number, and one beyond what double precision holds."""
    try:
        return _plausible(text) and bool(np.isinf(float(text)))
    except ValueError:
        return False


def _unsigned(tokens: Tokens) -> tuple[NDArray[np.bool_], Tokens]:
    """Where a text starts with a minus, and the texts without their sign."""
    first = tokens.buffer[np.minimum(tokens.start, len(tokens.buffer) - 1)]
    negative = (first == ord("-")) & (tokens.length > 0)
    signed = negative | ((first == ord("+")) & (tokens.length > 0))
    if not signed.any():
        return signed, tokens
    return negative, Tokens(tokens.buffer, tokens.start + signed, tokens.length - signed)


def _decimals(tokens: Tokens) -> NDArray[np.float64]:
    """Values of the texts that are at most 16 digits with or without a dot; NaN for the others."""
    count = 1 if tokens.length.max() <= 8 else 2
    words = _last_words(tokens, count)
    text = tokens.text(0)
    likely = max(0, 8 * count - len(text) + text.rfind(".")) if "." in text else 8 * count
    # Most columns have one number of digits behind the dot: try that of the first text on all.
    good = _spelled(words, tokens.length, likely)
    values = _value(words, likely)
    if good.all():
        return values
    values[~good] = np.nan
    rest = (~good).nonzero()[0]
    dots = _first_dot(words[:, rest])
    for dot in np.bincount(dots).nonzero()[0].tolist():  # np.unique would import numpy.ma
        rows = rest[dots == dot]
        rows = rows[_spelled(words[:, rows], tokens.length[rows], dot)]
        values[rows] = _value(words[:, rows], dot)
    return values


def _last_words(tokens: Tokens, count: int) -> Words:
    """The last 8 * count bytes of every text: digits as 0 to 9, zeros before the text, its end at the top."""
    width = 8 * count
    buffer: Bytes = tokens.buffer
    end = tokens.start + tokens.length
    if int(end.min()) < width:
        buffer = np.concatenate([np.zeros(width, np.uint8), buffer])
        end += width
    words = words_at(buffer, end - width, count)
    words ^= _U64(_ZEROS)
    shortest, lengths = tokens.lengths_to_clear()
    for number, word in enumerate(words):
        if shortest < 8 * (count - number):
            foreign = foreign_bits(lengths, 8 * (count - number))
            word >>= foreign
            word <<= foreign
    return words


def _spelled(words: Words, length: Places, dot: int) -> NDArray[np.bool_]:
    """Which texts are digits with a dot in the byte `dot` of their last words (behind them all: no dot)."""
    width = 8 * len(words)
    least = 1 if dot == width else max(width - dot, 2)  # a dot alone is no number
    fits = (length <= width) & (length >= least)
    for number, word in enumerate(words):
        fits &= _only_digits(word, dot - 8 * number)
    return fits


def _value(words: Words, dot: int) -> NDArray[np.float64]:
    """The numbers that digits with a dot in the byte `dot` spell."""
    width = 8 * len(words)
    first, *others = _without_dot(words, dot) if dot < width else words
    whole = _eight_digits(first)
    for word in others:
        whole *= _U64(10**8)
        whole += _eight_digits(word)
    return whole.astype(np.float64) / 10.0 ** max(width - 1 - dot, 0)


def _without_dot(words: Words, dot: int) -> Iterator[Words]:
    """The words with the dot's byte taken out: what stands before it moves up by one byte."""
    for number, word in enumerate(words):
        place = dot - 8 * number
        if place < 0:
            yield word
            continue
        moved = _close_gap(word, place) if place < 8 else word << _U64(8)
        yield moved if number == 0 else moved | (words[number - 1] >> _U64(56))


def _first_dot(words: Words) -> Places:
    """The byte that holds the first dot, from 0; behind the last byte where there is none."""
    place = np.full(len(words[0]), 8 * len(words))
    for number, word in reversed(list(enumerate(words))):
        zero = word ^ _U64(_ZEROS ^ _DOTS)  # a byte that was a dot is 0 now
        marks = (zero - _U64(_ONES)) & ~zero & _U64(0x80 * _ONES)
        here = np.bitwise_count((marks - _U64(1)) & ~marks) >> 3  # 8 where there is no mark
        place = np.where(here < 8, here + 8 * number, place)
    return place


def _only_digits(word: NDArray[np.uint64], dot: int) -> NDArray[np.bool_]:
    """Whether all bytes are digits, but for a dot in the byte `dot` where that is one of the eight."""
    if 0 <= dot < 8:
        mask = 0xFF << (8 * dot)
        word = word ^ _U64((_ZEROS ^ _DOTS) & mask)  # the dot, and only a dot, becomes 0
        carries = (word + _U64(0x0606060606060606 & ~mask & _ALL)) | word
        return (carries & _U64((0xF0F0F0F0F0F0F0F0 | mask) & _ALL)) == 0
    return ((word + _U64(0x0606060606060606)) | word) & _U64(0xF0F0F0F0F0F0F0F0) == 0


def _close_gap(word: NDArray[np.uint64], dot: int) -> NDArray[np.uint64]:
    """The word with the dot's byte taken out: the bytes before it move up by one."""
    before = _U64((1 << (8 * dot)) - 1)
    behind = _U64(_ALL ^ ((1 << (8 * (dot + 1))) - 1))
    return (word & behind) | ((word & before) << _U64(8))


def _eight_digits(word: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The number that eight bytes of digits spell, the most significant in the lowest byte."""
    word = word * _U64(10 * 256 + 1)  # bytes: tens and ones
    word >>= _U64(8)
    word &= _U64(0x00FF00FF00FF00FF)
    word *= _U64(100 * 65536 + 1)
    word >>= _U64(16)
    word &= _U64(0x0000FFFF0000FFFF)
    word *= _U64(10000 * 4294967296 + 1)
    word >>= _U64(32)
    return word


def _any_numbers(tokens: Tokens) -> NDArray[np.float64]:
    """Values by NumPy's parser; NaN for what is no finite decimal number."""
    texts = tokens.texts()
    try:
        if not any(text for text in texts if not _plausible(text)):
            return np.array(texts, "S").astype(np.float64)
    except (ValueError, UnicodeError):
        pass  # one of them is no number: find out which
    return np.array([_number(text) for text in texts], np.float64)


def _plausible(text: str) -> bool:
    return text.isascii() and not set(text) - set("0123456789+-.eE") and text != ""


def _number(text: str) -> float:
    try:
        value = float(text) if _plausible(text) else np.nan
    except ValueError:
        return np.nan
    return value if np.isfinite(value) else np.nan
