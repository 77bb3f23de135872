"""Store a column of short texts (topic ids, document ids, tags) as positions in one byte buffer.

Ids are always text and are compared byte by byte. Reading a file copies nothing: a column only stores where
its texts are. To compare, hash and sort many ids eight bytes at a time, a text is treated as a row of 64-bit
*words*, padded with zero bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.core.text import quote

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]  # (word, text): the first word of every text, then the second, ...
Places = NDArray[np.int64]

MARGIN = 64  # spare bytes after a buffer, so that words can be read past the end of a text

_U64 = np.uint64
_BLOCK = 1 << 16


class Tokens:
    """A column of texts: text i is buffer[start[i] : start[i] + length[i]]."""

    __slots__ = ("buffer", "length", "start")

    def __init__(self, buffer: Bytes, start: Places, length: Places) -> None:
        self.buffer = buffer
        self.start = start
        self.length = length

    @staticmethod
    def from_strings(texts: Iterable[str]) -> Tokens:
        """Pack Python strings (UTF-8) into one buffer."""
        encoded = [text.encode("utf-8", "surrogateescape") for text in texts]
        length = np.fromiter(map(len, encoded), np.int64, len(encoded))
        start = np.cumsum(length) - length
        return Tokens(np.frombuffer(b"".join(encoded) + bytes(MARGIN), np.uint8), start, length)

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, rows: NDArray[np.integer] | NDArray[np.bool_] | slice) -> Tokens:
        return Tokens(self.buffer, self.start[rows], self.length[rows])

    def text(self, row: int) -> str:
        """Return one text; bytes that are not UTF-8 survive a round trip."""
        begin = int(self.start[row])
        end = begin + int(self.length[row])
        return self.buffer[begin:end].tobytes().decode("utf-8", "surrogateescape")

    def texts(self) -> list[str]:
        """Return all texts."""
        return [text.decode("utf-8", "surrogateescape") for text in self.encoded()]

    def encoded(self) -> list[bytes]:
        """Return all texts as bytes."""
        whole = self.buffer.data  # a memoryview: a few texts of a large file must not copy the file
        return [
            whole[begin : begin + length].tobytes()
            for begin, length in zip(self.start.tolist(), self.length.tolist(), strict=True)
        ]

    def compact(self) -> Tokens:
        """Copy the texts to a buffer that holds nothing else."""
        total = int(self.length.sum())
        start = np.cumsum(self.length) - self.length
        source = np.repeat(self.start - start, self.length) + np.arange(total)
        buffer = np.zeros(total + MARGIN, np.uint8)
        buffer[:total] = self.buffer[source]
        return Tokens(buffer, start, self.length)

    @property
    def word_count(self) -> int:
        """The number of words of the longest text, at least 1."""
        return max(1, (int(self.length.max(initial=0)) + 7) >> 3)

    def lengths_to_clear(self) -> tuple[int, Places]:
        """Return the shortest length and all lengths; a single one if all texts share it, as topic ids do."""
        shortest, longest = int(self.length.min()), int(self.length.max())
        return shortest, self.length if shortest < longest else self.length[:1]

    def words(self, most: int | None = None) -> Words:
        """Return each text as 64-bit words, first byte lowest, zero-padded.

        Equal if and only if the texts are.

        `most` limits the number of words.
        """
        count = self.word_count if most is None else min(most, self.word_count)
        if not len(self.start) or not count:
            return np.zeros((count, len(self.start)), _U64)
        words = words_at(self.buffer, self.start, count)
        clear_behind(words, self)
        return words

    def order_keys(self) -> list[Words]:
        """Return words that sort like the texts byte by byte (strcmp), most significant first."""
        return [word.byteswap() for word in self.words()]


def refuse_stray_bytes(texts: Iterable[str], what: str) -> None:
    """Raise an error if a text is not UTF-8, for data frames and Parquet, which hold nothing else."""
    for text in texts:
        if text.isascii():
            continue
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"{what} {quote(text)} is not UTF-8, but frames and Parquet can only hold UTF-8;"
                " save the file as UTF-8, or write csv or TREC text"
            ) from error


def words_at(buffer: Bytes, start: Places, count: int) -> Words:
    """Return `count` words of bytes from each position on, first byte lowest; zeros follow the buffer."""
    lacking = int(start.max()) + 8 * (count + 2) - len(buffer)  # including the next word, and a part of one
    if lacking > 0:
        buffer = np.concatenate([buffer, np.zeros(lacking, np.uint8)])
    shift = start & 7
    shift <<= 3
    return _shift_words(buffer[: len(buffer) & -8].view("<u8"), start >> 3, shift.view(_U64), count)


def bits_at(bitmap: Words, place: Places) -> NDArray[np.uint64]:
    """Return the 64 bits from each position on; the bitmap must have one more word."""
    return _shift_words(bitmap, place >> 6, (place & 63).view(_U64), 1)[0]


def _shift_words(words: Words, first: Places, shift: Words, count: int) -> Words:
    """Return `count` words from each `first` on, shifted down by some bits; overwrites `first`."""
    rest = _U64(64) - shift  # NumPy shifts by 64 give 0, which is right for a position at the start of a word
    found = np.empty((count, len(first)), _U64)
    # Two reads of aligned words are faster than one read of eight bytes at any position.
    here = words.take(first)
    for number, each in enumerate(found, 1):
        first += 1
        after = words.take(first)
        np.right_shift(here, shift, out=each)
        each |= np.left_shift(after, rest, out=after if number == count else None)
        here = after
    return found


def clear_behind(words: Words, tokens: Tokens) -> None:
    """Zero the bytes after the end of each text, in words that begin with the text."""
    shortest, lengths = tokens.lengths_to_clear()
    for number, word in enumerate(words):
        if shortest < 8 * (number + 1):
            # Shifting left and back clears these bits; in NumPy, shifts of 64 and more give 0.
            foreign = foreign_bits(lengths, 8 * (number + 1))
            word <<= foreign
            word >>= foreign


def foreign_bits(length: Places, end: int) -> Words:
    """Return how many bits of the eight bytes before `end` are past the end of each text; 64 or more: all."""
    bits = end - length
    np.maximum(bits, 0, out=bits)
    bits <<= 3
    return bits.view(_U64)


def digests(words: Words) -> Words:
    """Return a well-mixed 64-bit hash of each text; trailing zero words do not change it.

    Runs and qrels may need different numbers of words for the same id, hence that rule.
    """
    total = np.zeros(words.shape[1], _U64)
    for number, word in enumerate(words):
        factor = _U64(pow(0x9E3779B97F4A7C15, 2 * number + 1, 1 << 64))
        # Mixed before and after the product, because sums of plain products collide for similar ids.
        mixed = word ^ (word >> _U64(32))
        mixed *= factor
        mixed ^= mixed >> _U64(29)
        total += mixed
    total *= _U64(0xE7037ED1A0B428DB)
    return total


def same_texts(left: Tokens, right: Tokens) -> NDArray[np.bool_]:
    """Return where text i on the left equals text i on the right; in blocks, to save memory."""
    equal = left.length == right.length
    for begin in range(0, len(left), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        words = left[part].words()
        equal[part] &= same_words(words, right[part].words(), np.arange(words.shape[1]))
    return equal


def same_words(left: Words, right: Words, rows: Places) -> NDArray[np.bool_]:
    """Return where text i on the left equals text rows[i] on the right."""
    shared = min(len(left), len(right))
    equal = np.ones(len(rows), np.bool_)
    for number in range(shared):
        equal &= left[number] == right[number].take(rows)
    for word in left[shared:]:
        equal &= word == 0
    for word in right[shared:]:
        equal &= word.take(rows) == 0
    return equal
