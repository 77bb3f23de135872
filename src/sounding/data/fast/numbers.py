"""Parse decimal numbers: decide what counts as a number, and which double it is.

`number` defines the rule for one text. `parse_decimals` gives the same double for thousands of texts at once,
or reports that it cannot; the few remaining texts are parsed by the rule. No other code knows how bytes
become digits.

A text such as -13.917681263056263 is a sign and `whole` * 10^power. Its bytes are read as 64-bit words, first
byte lowest. XOR with the code of 0 leaves digits; three multiplications combine neighboring digits, pairs and
groups of four. A decimal point within the first eight bytes is read as a digit 0 and removed by arithmetic.
Up to 19 digits fit in `whole`; of longer texts the first 19 count, and the number lies between `whole` and
`whole` + 1.

If `whole` and the power of ten are exact doubles, one division rounds correctly. Otherwise the product is
computed as a sum of two doubles, `value` + `error`, accurate to 2^-75 of it. The error of `value` then shows
whether another double is nearer, except within 2^-20 of halfway between two doubles; such a text (one in a
million) is left to `number`.
"""

from __future__ import annotations

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.fast.tokens import Places, Tokens, Words, clear_behind, foreign_bits, words_at

_MAY_OCCUR = b"0123456789+-.eE"
Doubles = NDArray[np.float64]
Flags = NDArray[np.bool_]

BLOCK = 1 << 16  # texts at a time: their arrays stay in the cache, and memory is bounded
WIDEST = 64  # longest text in bytes; `number` parses longer ones

_U64 = np.uint64
_EACH = 0x0101010101010101  # times a byte: that byte eight times
_ZEROS, _SIXES, _UPPER_HALVES = (_U64(byte * _EACH) for byte in (ord("0"), 6, 0xF0))
_LOWER_CASE, _LETTER_E, _ONES, _TOP_BITS = (_U64(byte * _EACH) for byte in (0x20, ord("e"), 1, 0x80))
_DOT = _U64(ord(".") ^ ord("0"))
# after XOR with the code of 0, decimal points have this bit and digits do not
_BIT_OF_DOT = _U64(0x10 * _EACH)
_ONE, _THREE, _FOUR, _FORTY, _BYTE = (_U64(number) for number in (1, 3, 4, 40, 0xFF))

_MOST_DIGITS = 19  # always fit in 64 bits
_MOST_BYTES = 24  # bytes of a text that are searched for digits
_TENS = np.array([10**power for power in range(9)], _U64)
_EXACT_TENS = np.array([float(10**power) for power in range(23)])  # no higher power of ten is an exact double
_EXACT_WHOLE = 1 << 53  # from here on, not every whole number is a double

# Eight digits with a decimal point as number d, read as 0, are 10^(8-d) * before + behind. Multiplying with
# 2^40 / 10^(8-d), rounded up, gives `before`; without the point it counts 10^(7-d). d = 8: no point.
_SHARES = np.array([-(-(1 << 40) // 10 ** (8 - dot)) for dot in range(8)] + [0], _U64)
_SURPLUS = np.array([9 * 10 ** (7 - dot) for dot in range(8)] + [0], _U64)

# powers of ten: those used most, and the limit within which nothing overflows or underflows
_NEAR, _FAR = 64, 280
# upper 26 of a double's 53 bits: the product of two such numbers is exact
_UPPER_26_BITS = _U64((1 << 64) - (1 << 27))
_WIDER = 1 + 2.0**-20


def parse_numbers(tokens: Tokens) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the value of each text, and where a text is not a finite decimal number (value NaN)."""
    blocks = [_parse_block(tokens[begin : begin + BLOCK]) for begin in range(0, len(tokens), BLOCK)]
    values = blocks[0] if len(blocks) == 1 else np.concatenate([np.empty(0), *blocks])
    return values, np.isnan(values)


def _parse_block(tokens: Tokens) -> NDArray[np.float64]:
    values, sure = parse_decimals(tokens)
    if not sure.all():
        rows = (~sure).nonzero()[0]
        values[rows] = _any_numbers(tokens[rows])
    return values


def number(text: bytes) -> float:
    """Return the double nearest to a decimal number; NaN if the text is not one, or too large."""
    value = _any_number(text)
    return value if math.isfinite(value) else math.nan


def is_too_large(text: str) -> bool:
    """Return whether a text is a decimal number beyond the range of double precision."""
    return math.isinf(_any_number(text.encode("utf-8", "surrogateescape")))


def _any_number(text: bytes) -> float:
    if text.translate(None, _MAY_OCCUR):
        return math.nan  # Python also accepts 1_000, inf and nan
    try:
        return float(text)
    except ValueError:
        return math.nan


def _any_numbers(tokens: Tokens) -> NDArray[np.float64]:
    """Parse each text by the rule."""
    return np.array([number(text) for text in tokens.encoded()])


def parse_decimals(tokens: Tokens) -> tuple[Doubles, Flags]:
    """Parse texts to doubles and return where they are certain; elsewhere `number` must parse the text.

    Pass at most BLOCK texts, so that the arrays fit in the cache.
    """
    negative, tokens = _strip_signs(tokens)
    alike = _parse_alike(tokens)
    values, sure = _parse_plain(tokens) if alike is None else (alike, np.ones(len(tokens), np.bool_))
    for other_form in (_parse_exponent_form, _parse_late_point):
        if sure.all():
            break
        rows = (~sure).nonzero()[0]
        values[rows], sure[rows] = other_form(tokens[rows])
    return values if negative is None else np.where(negative, -values, values), sure


def _strip_signs(tokens: Tokens) -> tuple[Flags | None, Tokens]:
    """Return where a text starts with a minus (None: no text has a sign), and the texts without signs."""
    first = tokens.buffer.take(tokens.start, mode="clip")  # an empty text may begin after the buffer
    if first.min() >= ord("."):
        return None, tokens
    negative = (first == ord("-")) & (tokens.length > 0)
    signed = negative | ((first == ord("+")) & (tokens.length > 0))
    return negative, Tokens(tokens.buffer, tokens.start + signed, tokens.length - signed)


def _parse_alike(tokens: Tokens) -> Doubles | None:
    """Parse decimals of up to 16 bytes that share their number of decimals, as most programs print them.

    None if they do not. The texts are aligned at their ends, so the decimal points share one position and a
    few constants suffice for all.
    """
    shortest, longest = int(tokens.length.min()), int(tokens.length.max())
    places = {_places_behind_dot(tokens.text(row)) for row in (0, len(tokens) >> 1, -1)}
    if longest > 16 or len(places) > 1:
        return None
    behind = places.pop()
    # a text is too short to have a point there, or is only a point
    if shortest < max(behind + 1, 1 + (behind >= 0)):
        return None
    count = (longest + 7) >> 3
    words = _last_words(tokens, count)
    dot = 0xFF << (8 * (8 * count - 1 - behind)) if behind >= 0 else 0
    for number, word in enumerate(words):
        here = _U64((dot >> (64 * number)) & ((1 << 64) - 1))
        word ^= here & (_DOT * _ONES)
        strange = word + (_SIXES & ~here)
        strange |= word
        strange &= _UPPER_HALVES | here
        if strange.any():
            return None
    whole = _eight_digits(words[0])
    for word in words[1:]:
        whole *= _TENS[8]
        whole += _eight_digits(word)
    if behind < 0:
        return whole.astype(np.float64)
    whole -= whole // _U64(10 ** (behind + 1)) * _U64(9 * 10**behind)  # the point was read as a digit 0
    return whole.astype(np.float64) / 10.0**behind


def _places_behind_dot(text: str) -> int:
    """Return the number of characters after the last point; -1 if there is none."""
    return len(text) - 1 - text.rfind(".") if "." in text else -1


def _last_words(tokens: Tokens, count: int) -> Words:
    """Return the last bytes of each text minus the code of 0, with zeros before its beginning."""
    buffer, end = tokens.buffer, tokens.start + tokens.length
    if int(end.min()) < 8 * count:  # the very first texts of a buffer
        buffer = np.concatenate([np.zeros(8 * count, np.uint8), buffer[: int(end.max())]])
        end += 8 * count
    words = words_at(buffer, end - 8 * count, count)
    words ^= _ZEROS
    shortest, lengths = tokens.lengths_to_clear()
    for number, word in enumerate(words):
        if shortest < 8 * (count - number):
            foreign = foreign_bits(lengths, 8 * (count - number))
            word >>= foreign
            word <<= foreign
    return words


def _parse_plain(tokens: Tokens) -> tuple[Doubles, Flags]:
    """Parse decimals without exponent, with a point among their first eight bytes or none."""
    whole, places, cut, good = _digits(tokens)
    values, sure = _scale(whole, -places, cut)
    return values, sure & good


def _parse_exponent_form(tokens: Tokens) -> tuple[Doubles, Flags]:
    """Parse decimals such as 3.07e-05, with the e within the last eight bytes."""
    length, exponent, fitting = _exponents(tokens)
    whole, places, cut, good = _digits(Tokens(tokens.buffer, tokens.start, length))
    values, sure = _scale(whole, exponent - places, cut)
    return values, sure & good & fitting


def _parse_late_point(tokens: Tokens) -> tuple[Doubles, Flags]:
    """Parse decimals such as 1694612345.123456, with the point after the first eight bytes."""
    length = np.where(tokens.length <= WIDEST, tokens.length, 0)
    packed = Tokens(tokens.buffer, tokens.start, length).compact()
    is_dot = packed.buffer == ord(".")
    dots_before = np.cumsum(is_dot) - is_dot
    end = packed.start + packed.length
    first = dots_before.take(packed.start)
    dots = dots_before.take(end) - first
    place = np.append(is_dot.nonzero()[0], 0).take(first)  # of the text's own point, if any
    behind = np.where(dots == 1, end - 1 - place, 0)
    digits = Tokens(packed.buffer[~is_dot], packed.start - first, packed.length - dots)
    whole, places, cut, good = _digits(digits)
    values, sure = _scale(whole, -places - behind, cut)
    return values, sure & good & (dots <= 1)


def _exponents(tokens: Tokens) -> tuple[Places, Places, Flags]:
    """Return the number of bytes before the e, the exponent, and where both are valid."""
    looked_at = np.minimum(tokens.length, 8)
    (word,) = words_at(tokens.buffer, tokens.start + tokens.length - looked_at, 1)
    word <<= _bits(8 - looked_at)  # the text's last byte becomes the word's last, with zeros before it
    letters = (word | _LOWER_CASE) ^ _LETTER_E  # e and E become 0
    marks = (letters - _ONES) & ~letters & _TOP_BITS  # the lowest mark is at the first 0
    place = _trailing_bytes(marks)
    word >>= _bits(place + 1)
    sign = word & _BYTE
    negative = sign == ord("-")
    signed = negative | (sign == ord("+"))
    word >>= signed.astype(_U64) << _THREE
    size = 7 - place - signed  # number of digits in the exponent
    word ^= _ZEROS
    word <<= _bits(8 - np.maximum(size, 0))
    before = tokens.length - 8 + place
    fitting = (size > 0) & (before > 0) & ((((word + _SIXES) | word) & _UPPER_HALVES) == 0)
    number = _eight_digits(word).view(np.int64)
    return np.where(fitting, before, 0), np.where(negative, -number, number), fitting


class _Digits(NamedTuple):
    """Texts of digits with at most one point, as `whole` * 10^-places."""

    whole: Words
    places: Places
    cut: Flags | None  # where digits after those of `whole` were dropped; None: nowhere
    good: Flags  # where the text has this form


def _digits(tokens: Tokens) -> _Digits:
    """Parse unsigned texts: 19 significant digits, with the point among the first eight bytes."""
    length = tokens.length
    longest = int(length.max())
    count = min(max(longest + 7, 8), WIDEST) >> 3
    words = words_at(tokens.buffer, tokens.start, count)
    words ^= _ZEROS
    clear_behind(words, tokens)
    head = words[0]
    dot, strange = _dot_to_zero(head)
    for word in words[1:]:
        strange |= (word + _SIXES) | word
    strange &= _UPPER_HALVES
    good = strange == 0
    good &= length > (dot < 8)
    good &= length <= WIDEST
    used, cut = length, None
    if longest > _MOST_DIGITS:
        zeros = np.maximum(_trailing_bytes(head), dot < 8)  # bytes that use none of the 19 digits
        used = np.minimum(np.minimum(length, _MOST_BYTES), _MOST_DIGITS + zeros)
        cut = used < length
    whole = _eight_digits(head)
    whole -= ((whole * _SHARES.take(dot)) >> _FORTY) * _SURPLUS.take(dot)
    read: int | Places = 8  # bytes
    if count > 1:
        last = min(count, _MOST_BYTES >> 3) - 1
        for word in words[1:last]:
            whole *= _TENS[8]
            whole += _eight_digits(word)
        more = np.clip(used - 8 * last, 0, 8)
        words[last] <<= _bits(8 - more)  # move its digits to the end, so that they add no zeros
        whole *= _TENS.take(more)
        whole += _eight_digits(words[last])
        read = more + 8 * last
    point = np.where(dot < 8, dot, length - 1)
    return _Digits(whole, read - 1 - point, cut, good)


def _dot_to_zero(head: Words) -> tuple[Places, Words]:
    """Replace the first point by a digit 0; return its position (8: none) and bits for other bytes."""
    mark = head & _BIT_OF_DOT
    below = mark - _ONE
    dot = np.bitwise_count(below) >> 3
    mark &= ~below
    mark >>= _FOUR
    head ^= mark * _DOT
    strange = (head + _SIXES) | head
    mark *= _BYTE
    mark &= head  # bytes that had the point's bit but are not points
    strange |= mark << _FOUR
    return dot, strange


def _scale(whole: Words, power: Places, cut: Flags | None) -> tuple[Doubles, Flags]:
    """Return the doubles nearest to `whole` * 10^power, and where they are certain."""
    least, most = int(power.min()), int(power.max())
    if cut is None and most <= 0 and -least < len(_EXACT_TENS) and int(whole.max()) < _EXACT_WHOLE:
        return whole.astype(np.float64) / _EXACT_TENS.take(-power), np.ones(len(whole), np.bool_)
    reach = _NEAR if max(most, -least) <= _NEAR else _FAR
    top_tens, rest_tens = _powers_of_ten(reach)
    place = power + reach
    top, rest = top_tens.take(place, mode="clip"), rest_tens.take(place, mode="clip")
    high = (whole.astype(np.float64).view(_U64) & _UPPER_26_BITS).view(np.float64)
    low = (whole - high.astype(_U64)).view(np.int64).astype(np.float64)  # high + low == whole
    ten = top + rest
    first = high * top  # exact
    second = high * rest
    second += low * ten
    values = first + second
    error = second - (values - first)  # exact, because first is larger
    sure = values + error * _WIDER == values
    if cut is not None:  # whole + 1 must give the same double
        sure &= ~cut | (values + (error + ten) * _WIDER == values)
    if reach == _FAR:
        sure &= np.abs(power) <= _FAR
    return values, sure


@cache
def _powers_of_ten(reach: int) -> tuple[Doubles, Doubles]:
    """Return 10^-reach to 10^reach as sums of two doubles: 26 bits, and the next 53."""
    powers = range(-reach, reach + 1)
    tens = np.array([float(f"1e{power}") for power in powers])
    top = (tens.view(_U64) & _UPPER_26_BITS).view(np.float64)
    rest = [_rest_of_ten(power, upper) for power, upper in zip(powers, top.tolist(), strict=True)]
    return top, np.array(rest)


def _rest_of_ten(power: int, top: float) -> float:
    """Return 10^power - top; Python rounds a quotient of whole numbers correctly."""
    above, below = top.as_integer_ratio()
    ten, parts = (10**power, 1) if power >= 0 else (1, 10**-power)
    return (ten * below - above * parts) / (parts * below)


def _eight_digits(word: Words) -> Words:
    """Return the numbers that eight bytes of digits spell, first digit lowest; overwrites the words."""
    word *= _U64(10 * 256 + 1)  # bytes: tens and ones
    word >>= _U64(8)
    word &= _U64(0x00FF00FF00FF00FF)
    word *= _U64(100 * 65536 + 1)
    word >>= _U64(16)
    word &= _U64(0x0000FFFF0000FFFF)
    word *= _U64(10000 * 4294967296 + 1)
    word >>= _U64(32)
    return word


def _trailing_bytes(word: Words) -> Places:
    """Return how many of the lowest bytes are 0."""
    return (np.bitwise_count((word - _ONE) & ~word) >> 3).astype(np.int64)


def _bits(count: Places) -> Words:
    """Return the number of bits in `count` bytes, to shift by."""
    return (count << 3).view(_U64)
