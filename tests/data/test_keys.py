"""Ids as words, keys and table look-ups are exact."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding.data.fast.keys import PairTable, _suspects, distinct_keys, pair_keys, repeated_rows
from sounding.data.fast.tokens import Tokens, digests, same_words, words_at
from sounding.data.tables import Run, group_by_topic

# Ids that differ in one byte around the borders of eight-byte words, and ids that begin alike.
ids = st.one_of(
    st.text("ab", min_size=1, max_size=3),
    st.sampled_from(["a" * n for n in (6, 7, 8, 9, 15, 16, 17, 24, 25)]),
    st.sampled_from(["a" * n + "b" for n in (6, 7, 8, 15, 16, 23)]),
    st.text(min_size=1, max_size=20).filter(lambda t: t.isprintable() and not t.isspace()),
)


@given(st.lists(ids, min_size=1, max_size=20), st.lists(ids, min_size=1, max_size=20))
def test_words_are_equal_exactly_when_texts_are(left: list[str], right: list[str]) -> None:
    one, other = Tokens.from_strings(left), Tokens.from_strings(right)
    rows, columns = np.divmod(np.arange(len(left) * len(right)), len(right))
    found = same_words(one[rows].words(), other.words(), columns)
    assert found.tolist() == [a == b for a in left for b in right]


@given(st.binary(min_size=1, max_size=60), st.integers(0, 7), st.integers(1, 3))
def test_words_are_the_bytes_from_any_place_on_with_zeros_behind_the_last(
    text: bytes, skipped: int, count: int
) -> None:
    buffer = np.frombuffer(bytes(skipped) + text, np.uint8)[skipped:]  # words need not start where it does
    words = words_at(buffer, np.arange(len(text)), count)
    for place, found in enumerate(words.T):
        assert found.tobytes() == text[place:].ljust(8 * count, b"\0")[: 8 * count]


@given(st.lists(ids, min_size=2, max_size=30))
def test_order_keys_sort_as_bytes_do(texts: list[str]) -> None:
    keys = Tokens.from_strings(texts).order_keys()
    order = np.lexsort(keys[::-1])
    assert [texts[row] for row in order] == sorted(texts, key=str.encode)


@given(ids, ids)
def test_the_digest_of_a_text_does_not_depend_on_its_neighbors(text: str, longer: str) -> None:
    alone = digests(Tokens.from_strings([text]).words())[0]
    beside = digests(Tokens.from_strings([text, longer * 5]).words())[0]
    assert alone == beside


def test_neighboring_ids_do_not_collide() -> None:
    texts = [f"FBIS{a}-{b:05d}" for a in range(1, 5) for b in range(25_000)]
    assert len(np.unique(digests(Tokens.from_strings(texts).words()))) == len(texts)


@given(st.lists(ids, min_size=1, max_size=20))
def test_compact_tokens_hold_the_same_texts(texts: list[str]) -> None:
    tokens = Tokens.from_strings(["x", *texts])[1:]
    assert tokens.compact().texts() == texts == [tokens.text(row) for row in range(len(texts))]


def table_of(pairs: list[tuple[str, str]]) -> Run:
    """A table as readers have it before they look for repeated documents."""
    order, topics, starts = group_by_topic([topic for topic, _ in pairs])
    docs = Tokens.from_strings([doc for _, doc in pairs])[order]
    return Run(
        name="r", tag="r", source="r", topics=topics, starts=starts, docs=docs, scores=np.zeros(len(pairs))
    )


pairs = st.lists(st.tuples(st.sampled_from(["1", "2", "a", "aa"]), ids), max_size=40)


@settings(max_examples=200)
@given(pairs, pairs)
def test_a_table_finds_exactly_the_pairs_it_holds(
    held: list[tuple[str, str]], asked: list[tuple[str, str]]
) -> None:
    held = list(dict.fromkeys(held))
    left, right = table_of(held), table_of(asked)
    table = PairTable.build(left.topics, left.sizes, left.pair_keys(), left.docs.words())
    numbers = np.repeat(table.numbers(right.topics), right.sizes)
    rows, places = table.find(numbers, right.pair_keys(), right.docs)
    for one, other in zip(
        (rows, places),
        table.find(table.numbers(right.topics), right.pair_keys(), right.docs, right.sizes),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
    topics = np.repeat(np.array(right.topics, object), right.sizes)
    wanted = [(t, d) in set(held) for t, d in zip(topics, right.docs.texts(), strict=True)]
    assert rows.tolist() == np.flatnonzero(wanted).tolist()
    left_topics = np.repeat(np.array(left.topics, object), left.sizes)
    for row, place in zip(rows, places, strict=True):
        assert (left_topics[place], left.docs.text(place)) == (topics[row], right.docs.text(row))


MASK = (1 << 64) - 1
FACTORS = [pow(0x9E3779B97F4A7C15, 2 * number + 1, 1 << 64) for number in range(2)]


def mixed(word: int, number: int) -> int:
    """What one word adds to a digest."""
    word = (word ^ (word >> 32)) * FACTORS[number] & MASK
    return word ^ (word >> 29)


def unmixed(total: int, number: int) -> int:
    """The word that adds so much."""
    total ^= (total >> 29) ^ (total >> 58)
    total = total * pow(FACTORS[number], -1, 1 << 64) & MASK
    return total ^ (total >> 32)


def tokens_of(*texts: bytes) -> Tokens:
    length = np.array([len(text) for text in texts])
    return Tokens(np.frombuffer(b"".join(texts) + bytes(64), np.uint8), np.cumsum(length) - length, length)


def test_ids_that_share_a_key_never_match() -> None:
    mine = b"an id of two wds"
    first, second = (int.from_bytes(mine[place : place + 8], "little") for place in (0, 8))
    other = int.from_bytes(b"Anothers", "little")
    forged = unmixed((mixed(first, 0) + mixed(second, 1) - mixed(other, 0)) & MASK, 1)
    theirs = b"Anothers" + forged.to_bytes(8, "little")
    docs = tokens_of(mine, theirs)
    keys = pair_keys(("1",), np.array([2]), docs.words())
    assert keys[0] == keys[1]  # a real collision
    table = PairTable.build(("1",), np.array([1]), keys[:1], tokens_of(mine).words())
    for words in (None, docs.words()):
        rows, _ = table.find(np.zeros(2, np.int64), keys, docs, words=words)
        assert rows.tolist() == [0]


@given(st.binary(min_size=8, max_size=8), st.binary(min_size=8, max_size=8), st.binary(max_size=16))
def test_texts_that_differ_in_one_word_have_different_digests(
    left: bytes, right: bytes, around: bytes
) -> None:
    for before, after in ((b"", around), (around[:8].ljust(8, b"x"), around[8:])):
        texts = tokens_of(before + left + after, before + right + after)
        one, other = digests(texts.words()).tolist()
        assert (one == other) == (left == right)


@given(st.lists(ids, min_size=1), st.integers(0, 4))
def test_the_first_words_are_those_of_all(texts: list[str], most: int) -> None:
    tokens = Tokens.from_strings(texts)
    np.testing.assert_array_equal(tokens.words(most), tokens.words()[:most])


@given(pairs)
def test_repeated_pairs_are_found_with_their_first_row(listed: list[tuple[str, str]]) -> None:
    run = table_of(listed)
    topics = np.repeat(np.array(run.topics, object), run.sizes)
    first: dict[tuple[str, str], int] = {}
    expected = []
    for row, pair in enumerate(zip(topics, run.docs.texts(), strict=True)):
        if first.setdefault(pair, row) != row:
            expected.append((row, first[pair]))
    later, earlier = repeated_rows(pair_keys(run.topics, run.sizes, run.docs.words()), run.docs)
    assert list(zip(later.tolist(), earlier.tolist(), strict=True)) == expected


def test_a_key_that_looks_like_an_empty_slot_is_found_where_it_is_held_and_only_there() -> None:
    docs = Tokens.from_strings(["a", "b", "c", "d"])
    numbers = np.arange(4, dtype=np.uint64)
    held = numbers[1:]  # so 0, which stands for what empty slots hold, is no key
    table = PairTable.build(("1",), np.array([3]), held, docs[1:].words())
    rows, places = table.find(np.zeros(4, np.int64), numbers, docs)
    assert rows.tolist() == [1, 2, 3]
    assert places.tolist() == [0, 1, 2]
    of_unknown_topics, _ = table.find(np.full(4, -1), numbers, docs)
    assert not len(of_unknown_topics)
    table = PairTable.build(("1",), np.array([4]), numbers, docs.words())
    rows, places = table.find(np.zeros(4, np.int64), numbers, docs)
    assert rows.tolist() == places.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("count", [3, 30, 40, 700])  # some beyond the spare slots, some far beyond
def test_keys_of_one_slot_stay_within_their_topic(count: int) -> None:
    names = [f"d{number}" for number in range(count)]
    top = np.uint64(MASK) - np.arange(count, dtype=np.uint64)  # all of them name the last slot there is
    docs = Tokens.from_strings([*names, names[0], "other"])
    keys = np.concatenate([top, top[:1], [np.uint64(0)]])
    table = PairTable.build(("1", "2"), np.array([count, 2]), keys, docs.words())
    assert len(table.slots) <= 9 * (count + 2)  # room for the keys, and for all of them behind the last slot
    asked = Tokens.from_strings(names)
    for topic, expected in ((0, list(range(count))), (1, [count])):
        rows, places = table.find(np.full(count, topic), top, asked)
        assert rows.tolist() == list(range(len(expected)))
        assert places.tolist() == expected


@given(st.lists(st.one_of(st.integers(0, 9), st.integers(0, 2**64 - 1)), max_size=300), st.integers(0, 63))
def test_distinct_keys_are_counted_whatever_slots_they_share(numbers: list[int], shift: int) -> None:
    keys = np.array([number << shift & MASK for number in numbers], np.uint64)
    assert distinct_keys(keys) == len(set(keys.tolist()))


@given(
    st.integers(0, 2**32 - 1), st.integers(1, 20_000), st.sampled_from([0.0, 0.001, 0.1, 1.0]),
    st.sampled_from([0, 20, 50, 58]),
)  # fmt: skip
@settings(deadline=None)
def test_rows_of_keys_that_repeat_are_found_among_many_whatever_slots_they_share(
    seed: int, count: int, repeats: float, shift: int
) -> None:
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, count, np.uint64, endpoint=False) >> np.uint64(shift)  # high bits alike
    again = rng.random(count) < repeats
    keys[again] = rng.choice(keys, np.count_nonzero(again))
    _, place, often = np.unique(keys, return_inverse=True, return_counts=True)
    assert _suspects(keys).tolist() == (often[place] > 1).nonzero()[0].tolist()


def test_a_topic_and_a_doc_of_one_name_do_not_cancel() -> None:
    run = table_of([("x", "x"), ("y", "y"), ("x", "y"), ("y", "x")])
    assert len(set(run.pair_keys().tolist())) == 4
