"""Ids as words, keys and table look-ups are exact."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sounding.data.keys import PairTable, pair_keys, repeated_rows
from sounding.data.tables import Run, group_by_topic
from sounding.data.tokens import Tokens, digests, same_words

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


@given(st.lists(ids, min_size=2, max_size=30))
def test_order_keys_sort_as_bytes_do(texts: list[str]) -> None:
    keys = Tokens.from_strings(texts).order_keys()
    order = np.lexsort(keys[::-1])
    assert [texts[row] for row in order] == sorted(texts, key=str.encode)


@given(ids, ids)
def test_the_digest_of_a_text_does_not_depend_on_its_neighbours(text: str, longer: str) -> None:
    alone = digests(Tokens.from_strings([text]).words())[0]
    beside = digests(Tokens.from_strings([text, longer * 5]).words())[0]
    assert alone == beside


def test_neighbouring_ids_do_not_collide() -> None:
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
    table = PairTable.build(left.topics, left.sizes, left.pair_keys(), left.docs)
    numbers = np.repeat(table.numbers(right.topics), right.sizes)
    rows, places = table.find(numbers, right.pair_keys(), right.docs)
    topics = np.repeat(np.array(right.topics, object), right.sizes)
    wanted = [(t, d) in set(held) for t, d in zip(topics, right.docs.texts(), strict=True)]
    assert rows.tolist() == np.flatnonzero(wanted).tolist()
    left_topics = np.repeat(np.array(left.topics, object), left.sizes)
    for row, place in zip(rows, places, strict=True):
        assert (left_topics[place], left.docs.text(place)) == (topics[row], right.docs.text(row))


def test_equal_keys_of_different_ids_never_match() -> None:
    held = table_of([("1", "a"), ("1", "b")])
    table = PairTable.build(held.topics, held.sizes, held.pair_keys(), held.docs)
    asked = Tokens.from_strings(["zz", "b"])
    rows, _ = table.find(
        np.zeros(2, np.int64), held.pair_keys(), asked
    )  # the key of "a" with the text "zz": a forged collision
    assert rows.tolist() == [1]


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


def test_a_topic_and_a_doc_of_one_name_do_not_cancel() -> None:
    run = table_of([("x", "x"), ("y", "y"), ("x", "y"), ("y", "x")])
    assert len(set(run.pair_keys().tolist())) == 4
