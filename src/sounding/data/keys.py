"""Finding (topic, doc) pairs again: keys, repeated pairs, and a hash table over many at once.

A key is a 64-bit number made of the bytes of a topic id and a doc id. Equal pairs have equal keys;
whoever finds equal keys compares the ids themselves, so that a collision can never match.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sounding.data.tokens import Places, Tokens, Words, digests, same_words

_U64 = np.uint64
_SLOTS_A_KEY = 16  # a sparse table: most look-ups end at the first slot


def pair_keys(topics: tuple[str, ...], sizes: Places, doc_words: Words) -> Words:
    """The key of every row of a table that is grouped by topic."""
    salts = digests(Tokens.from_strings(topics).words())
    # An odd factor keeps a topic's digest from cancelling against the same text as a doc id.
    return digests(doc_words) ^ np.repeat(salts * _U64(0x9FB21C651E98DF25), sizes)


def repeated_rows(keys: Words, docs: Tokens) -> tuple[Places, Places]:
    """Rows whose pair stands in an earlier row, and the first row that has it; both ascending."""
    suspects = _suspects(keys)
    first: dict[tuple[int, str], int] = {}
    later, earlier = [], []
    pairs = zip(keys[suspects].tolist(), docs[suspects].texts(), strict=True) if len(suspects) else ()
    for row, (key, text) in zip(suspects.tolist(), pairs, strict=True):
        met = first.setdefault((key, text), row)
        if met != row:
            later.append(row)
            earlier.append(met)
    return np.array(later, np.int64), np.array(earlier, np.int64)


def _suspects(keys: Words) -> Places:
    """All rows whose key occurs more than once, ascending.

    Every row writes its number into a slot of a small table; who does not find it there afterwards
    shares the slot. Only those few are sorted and compared.
    """
    bits = max(4, (4 * len(keys)).bit_length())
    slot = (keys >> _U64(64 - bits)).view(np.int64)
    row = np.arange(len(keys), dtype=np.int32)
    table = np.empty(1 << bits, np.int32)
    table[slot] = row
    winner = table[slot]
    losers = (winner != row).nonzero()[0]
    lost = keys[losers]
    ordered = np.sort(lost)
    twins = np.concatenate([lost[keys[winner[losers]] == lost], ordered[1:][ordered[1:] == ordered[:-1]]])
    return np.isin(keys, twins).nonzero()[0] if len(twins) else np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class PairTable:
    """Looks up thousands of pairs at once: open addressing with linear probing over sorted bits."""

    keys: Words
    words: Words  # of the docs, to make sure
    slots: NDArray[np.int32]  # the row that stands in a slot; -1: empty
    shift: np.uint64  # the upper bits of a key are its slot

    @staticmethod
    def build(keys: Words, doc_words: Words) -> PairTable:
        """A table over distinct pairs."""
        bits = max(1, (_SLOTS_A_KEY * len(keys)).bit_length())
        slots = np.full((1 << bits) + 64, -1, np.int32)
        shift = _U64(64 - bits)
        row = np.arange(len(keys))
        slot = (keys >> shift).view(np.int64)
        while len(row):
            if slot.max(initial=0) >= len(slots):
                slots = np.concatenate([slots, np.full(len(row) + 64, -1, np.int32)])
            free = slots[slot] < 0
            slots[slot[free]] = row[free]  # of several rows for one slot, one stays
            left = slots[slot] != row
            row, slot = row[left], slot[left] + 1
        return PairTable(keys, doc_words, slots, shift)

    def find(self, keys: Words, docs: Tokens) -> tuple[Places, Places]:
        """Rows of `keys` that the table holds, ascending, and the table's row for each."""
        slot = (keys >> self.shift).view(np.int64)
        rows = self.slots.take(slot)
        live = (rows >= 0).nonzero()[0]
        rows = rows[live]
        held = np.full(len(keys), -1)
        step = 0
        while len(live):
            same = self.keys[rows] == keys[live]
            held[live[same]] = rows[same]
            step += 1
            live = live[~same]
            rows = self.slots[slot[live] + step]
            going = rows >= 0
            live, rows = live[going], rows[going]
        here = (held >= 0).nonzero()[0]
        there = held[here]
        certain = same_words(docs[here].words(), self.words, there)
        return (here, there) if certain.all() else (here[certain], there[certain])
