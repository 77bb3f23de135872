"""Look up (topic, doc) pairs: keys, duplicates, and a hash table for many lookups at once.

A key is a 64-bit hash of a topic id and a document id. Equal pairs have equal keys. Equal keys are followed
by a comparison of the ids themselves, so a collision never causes a false match.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.data.fast.tokens import Places, Tokens, Words, digests, same_texts, same_words

_U64 = np.uint64
_SLOTS_A_KEY = 4  # most lookups end at the first slot, and a topic's slots fit in the cache


def pair_keys(topics: tuple[str, ...], sizes: Places, doc_words: Words) -> Words:
    """Return the key of each row of a table that is grouped by topic."""
    return digests(doc_words) ^ np.repeat(_salts(topics), sizes)


@lru_cache(maxsize=2)  # the runs of a collection usually have the same topics
def _salts(topics: tuple[str, ...]) -> Words:
    """Return what distinguishes the keys of each topic."""
    # An odd factor keeps a topic's digest from canceling the same text as a document id.
    return digests(Tokens.from_strings(topics).words()) * _U64(0x9FB21C651E98DF25)


def repeated_rows(keys: Words, docs: Tokens) -> tuple[Places, Places]:
    """Return the rows that repeat an earlier pair, and the first row of each pair; both ascending."""
    suspects = _suspects(keys)
    rows = suspects[np.argsort(keys[suspects], kind="stable")]
    begins = np.ones(len(rows), np.bool_)
    begins[1:] = keys[rows[1:]] != keys[rows[:-1]]
    first = rows[begins][np.cumsum(begins) - 1]
    if not same_texts(docs[rows], docs[first]).all():
        return _repeated_one_by_one(keys, docs, suspects)
    later, earlier = rows[~begins], first[~begins]
    order = np.argsort(later)
    return later[order], earlier[order]


def _repeated_one_by_one(keys: Words, docs: Tokens, suspects: Places) -> tuple[Places, Places]:
    """Like `repeated_rows`, for tables where different pairs share a key."""
    first: dict[tuple[int, str], int] = {}
    later, earlier = [], []
    for row, key, text in zip(
        suspects.tolist(), keys[suspects].tolist(), docs[suspects].texts(), strict=True
    ):
        met = first.setdefault((key, text), row)
        if met != row:
            later.append(row)
            earlier.append(met)
    return np.array(later, np.int64), np.array(earlier, np.int64)


def _suspects(keys: Words) -> Places:
    """Return all rows whose key occurs more than once, ascending."""
    twins = _twins(keys)
    return np.isin(keys, twins).nonzero()[0] if len(twins) else np.empty(0, np.int64)


def _twins(keys: Words) -> Words:
    """Return the keys that occur more than once; NumPy sorts whole numbers with vector instructions."""
    ordered = np.sort(keys)
    return ordered[1:][ordered[1:] == ordered[:-1]]


def distinct_keys(keys: Words) -> int:
    """Return the number of different keys."""
    ordered = np.sort(keys)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + (len(ordered) > 0)


def _fill_slots(slot: Places, count: int) -> NDArray[np.int32]:
    """Hash rows into slots by linear probing; an empty slot holds the row count."""
    rows = len(slot)
    slots = np.full(count, rows, np.int32)
    row = np.arange(rows, dtype=np.int32)
    while len(row):
        free = slots[slot] == rows
        slots[slot[free]] = row[free]  # of several rows for one slot, one stays
        left = slots[slot] != row
        row, slot = row[left], slot[left] + 1
    return slots


class PairTable(NamedTuple):
    """A hash table of pairs for many lookups at once: open addressing with linear probing.

    Every topic has its own range of slots that ends in an empty one. A lookup never leaves the range, so it
    can only find rows of its topic. Rows come topic by topic, so lookups stay within the cache.
    """

    topics: dict[str, int]  # topic id -> number
    words: Words  # of the documents, to confirm a match
    keys: Words  # (row + 1,) the last one is not a key: it represents empty slots
    slots: NDArray[np.int32]  # the row in each slot; an empty slot holds the number of rows
    first: Places  # (topic,) where its range begins
    shift: Words  # (topic,) the upper bits of a key select its slot within the range
    known: dict[tuple[str, ...], Places]  # topics of a run -> their numbers, for the run that was asked last

    @staticmethod
    def build(topics: tuple[str, ...], sizes: Places, keys: Words, doc_words: Words) -> PairTable:
        """Build a table of distinct pairs that are grouped by topic."""
        bits = [max(1, (_SLOTS_A_KEY * size).bit_length()) for size in sizes.tolist()]
        # If all n keys select a topic's last slot, they need n - 1 more slots, and one after these stays
        # empty.
        widths = np.array([1 << count for count in bits], np.int64) + sizes
        first = np.cumsum(widths) - widths
        shift = np.array([64 - count for count in bits], _U64)
        slot = np.repeat(first, sizes) + (keys >> np.repeat(shift, sizes)).view(np.int64)
        places = {text: number for number, text in enumerate(topics)}
        slots = _fill_slots(slot, int(widths.sum()))
        return PairTable(places, doc_words, np.append(keys, _U64(0)), slots, first, shift, {})

    def numbers(self, topics: tuple[str, ...]) -> Places:
        """Return the number of each topic in this table; -1 if it has none."""
        numbers = self.known.get(topics)
        if numbers is None:
            numbers = np.fromiter(map(self.topics.get, topics, repeat(-1)), np.int64, len(topics))
            numbers.setflags(write=False)
            self.known.clear()
            self.known[topics] = numbers
        return numbers

    def find(
        self,
        topic: Places,
        keys: Words,
        docs: Tokens,
        sizes: Places | None = None,
        words: Words | None = None,
    ) -> tuple[Places, Places]:
        """Return the rows of `keys` that the table holds, ascending, and the table's row for each.

        `topic` is the number of each row's topic, as `numbers` returns it; with `sizes`, that of each range
        of rows with the same topic. `words` are those of the documents, if known.
        """
        if not len(self.first):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        first, shift, strange = self.first[topic], self.shift[topic], topic < 0
        if sizes is not None:  # repeating is far faster than looking up
            first, shift = np.repeat(first, sizes), np.repeat(shift, sizes)
        slot = (keys >> shift).view(np.int64)
        slot += first
        nobody = len(self.keys) - 1
        row = self.slots.take(slot)
        same = self.keys.take(row) == keys
        goes_on = ~same & (row != nobody)
        if strange.any():
            strange = strange if sizes is None else np.repeat(strange, sizes)
            same &= ~strange
            goes_on &= ~strange
        live = goes_on.nonzero()[0]
        place, wanted = slot.take(live), keys.take(live)
        while len(live):
            place += 1
            found = self.slots.take(place)
            hit = self.keys.take(found) == wanted
            hits = live.compress(hit)
            same[hits] = True
            row[hits] = found.compress(hit)
            rest = (~hit & (found != nobody)).nonzero()[0]
            live, place, wanted = live.take(rest), place.take(rest), wanted.take(rest)
        here = same.nonzero()[0]
        there = row.take(here).astype(np.int64)
        if (there == nobody).any():  # a key that equals the value for empty slots
            here, there = here[there != nobody], there[there != nobody]
        certain = self._same_texts(docs, words, here, there)
        return (here, there) if certain.all() else (here[certain], there[certain])

    def _same_texts(
        self, docs: Tokens, words: Words | None, here: Places, there: Places
    ) -> NDArray[np.bool_]:
        """Return where texts with equal keys are equal: those of `here` and the table's.

        Equal digests rule out texts that differ in one word only, so the last word need not be compared.
        """
        count = max(len(self.words), docs.word_count if words is None else len(words)) - 1
        theirs = docs[here].words(count) if words is None else words[:count].take(here, axis=1)
        return same_words(theirs, self.words[:count], there)
