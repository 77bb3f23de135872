"""A column of short texts as places in one byte buffer: topic ids, doc ids, tags.

Ids are text, always, and are compared byte by byte. Nothing is copied when a file is read: a
column remembers where its texts stand. Comparing, hashing and ordering thousands of ids work on
eight bytes at a time, so a text is seen as a row of 64-bit *words*, filled up with zero bytes.
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

MARGIN = 64  # spare bytes that readers leave behind a buffer, so that words can be read past a text

_U64 = np.uint64
_BLOCK = 1 << 16


class Tokens:
    """Texts number i = buffer[start[i] : start[i] + length[i]]."""

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
        """One text; bytes that are not UTF-8 survive a round trip."""
        begin = int(self.start[row])
        end = begin + int(self.length[row])
        return self.buffer[begin:end].tobytes().decode("utf-8", "surrogateescape")

    def texts(self) -> list[str]:
        """All texts."""
        return [text.decode("utf-8", "surrogateescape") for text in self.encoded()]

    def encoded(self) -> list[bytes]:
        """All texts as their bytes."""
        whole = self.buffer.data  # a few texts of a large file must not copy the file
        return [
            whole[begin : begin + length].tobytes()
            for begin, length in zip(self.start.tolist(), self.length.tolist(), strict=True)
        ]

    def compact(self) -> Tokens:
        """The same texts in a buffer that holds nothing else."""
        total = int(self.length.sum())
        start = np.cumsum(self.length) - self.length
        source = np.repeat(self.start - start, self.length) + np.arange(total)
        buffer = np.zeros(total + MARGIN, np.uint8)
        buffer[:total] = self.buffer[source]
        return Tokens(buffer, start, self.length)

    @property
    def word_count(self) -> int:
        """How many words the longest text takes, at least 1."""
        return max(1, (int(self.length.max(initial=0)) + 7) >> 3)

    def lengths_to_clear(self) -> tuple[int, Places]:
        """The shortest length, and all of them; one for all where texts share it, as topic ids do."""
        shortest, longest = int(self.length.min()), int(self.length.max())
        return shortest, self.length if shortest < longest else self.length[:1]

    def words(self, most: int | None = None) -> Words:
        """Every text as 64-bit words, first byte lowest, zeros behind the end: equal iff the texts are.

        `most`: only the first so many.
        """
        count = self.word_count if most is None else min(most, self.word_count)
        if not len(self.start) or not count:
            return np.zeros((count, len(self.start)), _U64)
        words = words_at(self.buffer, self.start, count)
        clear_behind(words, self)
        return words

    def order_keys(self) -> list[Words]:
        """Words that compare as the texts do byte by byte (as strcmp), most significant first."""
        return [word.byteswap() for word in self.words()]


def refuse_stray_bytes(texts: Iterable[str], what: str) -> None:
    """Refuse a text that is not UTF-8, where nothing else can be held: in frames and in Parquet."""
    for text in texts:
        if text.isascii():
            continue
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:
            raise DataError(
                f"{what} {quote(text)} is not UTF-8, and frames and Parquet hold nothing else;"
                " csv and TREC's text keep its bytes, or save the file as UTF-8"
            ) from error


def words_at(buffer: Bytes, start: Places, count: int) -> Words:
    """The bytes from each of these places on as so many words, first byte lowest; zeros behind the buffer."""
    lacking = int(start.max()) + 8 * (count + 2) - len(buffer)  # the next word as well, and a part of a word
    if lacking > 0:
        buffer = np.concatenate([buffer, np.zeros(lacking, np.uint8)])
    shift = start & 7
    shift <<= 3
    return _shifted(buffer[: len(buffer) & -8].view("<u8"), start >> 3, shift.view(_U64), count)


def bits_at(bitmap: Words, place: Places) -> NDArray[np.uint64]:
    """The 64 bits from each of these places on. One more word must follow in the bitmap."""
    return _shifted(bitmap, place >> 6, (place & 63).view(_U64), 1)[0]


def _shifted(words: Words, first: Places, shift: Words, count: int) -> Words:
    """So many words from each of the `first` on, shifted down by some bits; `first` is used up."""
    rest = _U64(64) - shift  # NumPy shifts by 64 give 0, which is what a place at a word's start needs
    found = np.empty((count, len(first)), _U64)
    # Two looks at whole words, put together, are quicker than one at eight bytes of any place.
    here = words.take(first)
    for number, each in enumerate(found, 1):
        first += 1
        after = words.take(first)
        np.right_shift(here, shift, out=each)
        each |= np.left_shift(after, rest, out=after if number == count else None)
        here = after
    return found


def clear_behind(words: Words, tokens: Tokens) -> None:
    """Set to zero what lies behind the ends of texts in the words that begin where they do."""
    shortest, lengths = tokens.lengths_to_clear()
    for number, word in enumerate(words):
        if shortest < 8 * (number + 1):
            # Shifting left and back by the foreign bits clears them; shifts from 64 on give 0 in NumPy.
            foreign = foreign_bits(lengths, 8 * (number + 1))
            word <<= foreign
            word >>= foreign


def foreign_bits(length: Places, end: int) -> Words:
    """How many of the eight bytes' bits before `end` lie behind each text: from 64 on, all do."""
    bits = end - length
    np.maximum(bits, 0, out=bits)
    bits <<= 3
    return bits.view(_U64)


def digests(words: Words) -> Words:
    """One well mixed 64-bit number for each text; zero words at the end change nothing.

    Runs and qrels may need different numbers of words for the same id, hence that rule.
    """
    total = np.zeros(words.shape[1], _U64)
    for number, word in enumerate(words):
        factor = _U64(pow(0x9E3779B97F4A7C15, 2 * number + 1, 1 << 64))
        # Mixed before and after the product: a sum of plain products collides for neighboring ids.
        mixed = word ^ (word >> _U64(32))
        mixed *= factor
        mixed ^= mixed >> _U64(29)
        total += mixed
    total *= _U64(0xE7037ED1A0B428DB)
    return total


def same_texts(left: Tokens, right: Tokens) -> NDArray[np.bool_]:
    """Where text i of the left equals text i of the right; some at a time, so that memory stays small."""
    equal = left.length == right.length
    for begin in range(0, len(left), _BLOCK):
        part = slice(begin, begin + _BLOCK)
        words = left[part].words()
        equal[part] &= same_words(words, right[part].words(), np.arange(words.shape[1]))
    return equal


def same_words(left: Words, right: Words, rows: Places) -> NDArray[np.bool_]:
    """Where text i of the left equals text rows[i] of the right."""
    shared = min(len(left), len(right))
    equal = np.ones(len(rows), np.bool_)
    for number in range(shared):
        equal &= left[number] == right[number].take(rows)
    for word in left[shared:]:
        equal &= word == 0
    for word in right[shared:]:
        equal &= word.take(rows) == 0
    return equal
