"""What several runs retrieved, against plain dictionaries."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.formats import read_qrels
from sounding.data.run_info import read_run_info
from sounding.data.tables import Qrels, Run
from sounding.runs.pool import cut_pool
from sounding.runs.retrieved import NONE, Retrieved, read_retrieved

Lists = dict[str, dict[str, dict[str, float]]]  # run -> topic -> doc -> score

DOCS = [
    "a",
    "aa",
    "b",
    "B",
    "ä",
    "long-id-of-more-than-sixteen-bytes-1",
    "long-id-of-more-than-sixteen-bytes-2",
    "9",
]


@st.composite
def drawn_lists(draw: st.DrawFn) -> Lists:
    """A few runs over shared documents, full of ties; some lack a topic, some lists are short."""
    rng = random.Random(draw(st.integers(0, 10**6)))
    lists: Lists = {}
    for run in range(draw(st.integers(1, 4))):
        topics = rng.sample(["t1", "t10", "t2"], rng.randint(1, 3))
        lists[f"run{run}"] = {
            topic: {doc: float(rng.randint(0, 3)) for doc in rng.sample(DOCS, rng.randint(1, len(DOCS)))}
            for topic in topics
        }
    return lists


def in_order(docs: dict[str, float]) -> list[str]:
    """By score, then doc id, both descending: as trec_eval orders them."""
    return sorted(docs, key=lambda doc: (docs[doc], doc.encode()), reverse=True)


def texts_of(found: Retrieved, run: int, topic: int) -> list[str]:
    return [found.docs.text(int(number)) for number in found.lists[run, topic] if number != NONE]


@given(drawn_lists(), st.one_of(st.none(), st.integers(1, 9)))
def test_lists_hold_the_first_documents_of_every_run_in_order(lists: Lists, depth: int | None) -> None:
    found = read_retrieved(lists, depth=depth)
    assert found.runs == tuple(lists)
    assert found.topics == tuple(sorted({topic for run in lists.values() for topic in run}))
    for run, name in enumerate(found.runs):
        for topic, text in enumerate(found.topics):
            assert texts_of(found, run, topic) == in_order(lists[name].get(text, {}))[:depth]


@given(drawn_lists())
def test_numbers_of_a_topic_follow_the_bytes_of_the_ids_and_no_document_has_two(lists: Lists) -> None:
    found = read_retrieved(lists)
    for topic in range(len(found.topics)):
        texts = [
            found.docs.text(row) for row in range(int(found.starts[topic]), int(found.starts[topic + 1]))
        ]
        assert texts == sorted(set(texts), key=str.encode)
        own = found.lists[:, topic]
        assert set(own[own != NONE].tolist()) == set(range(found.starts[topic], found.starts[topic + 1]))


@given(drawn_lists(), st.integers(1, 9))
def test_best_ranks_and_holders_are_those_of_the_plain_lists(lists: Lists, depth: int) -> None:
    whole = read_retrieved(lists)
    found = whole.pick([0]).cut(depth) if len(lists) > 2 else whole.cut(depth)
    best, holders = found.best_ranks(), found.holders()
    for number in range(len(whole.docs)):
        topic, doc = whole.topics[int(whole.topic[number])], whole.docs.text(number)
        orders = [in_order(lists[run].get(topic, {}))[:depth] for run in found.runs]
        ranks = [order.index(doc) + 1 for order in orders if doc in order]
        assert best[number] == min(ranks, default=0)
        assert holders[number] == len(ranks)


def test_texts_with_one_digest_keep_their_own_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sounding.runs.retrieved.digests", lambda words: np.zeros(words.shape[1], np.uint64))
    found = read_retrieved({"x": {"1": {"a": 2, "b": 1}}, "y": {"1": {"b": 2, "c": 1}}})
    assert len(found.docs) >= 3
    assert [texts_of(found, run, 0) for run in (0, 1)] == [["a", "b"], ["b", "c"]]


def test_grades_are_nan_where_nobody_judged() -> None:
    found = read_retrieved({"x": {"1": {"a": 3, "b": 2, "c": 1}, "2": {"a": 1}}})
    qrels = Qrels.from_dict({"1": {"a": 2, "c": -1, "z": 1}})
    np.testing.assert_array_equal(found.grades(qrels), [2, np.nan, np.nan, np.nan])


def test_only_the_topics_that_are_named_count() -> None:
    found = read_retrieved({"x": {"1": {"a": 3}, "2": {"b": 1}}}, topics=["2", "3"])
    assert found.topics == ("2", "3")
    assert found.sizes.tolist() == [1, 0]
    assert found.lengths.tolist() == [[1, 0]]


@given(drawn_lists(), st.sets(st.integers(0, 2), min_size=1))
def test_some_topics_of_what_is_read_are_what_is_read_of_some_topics(lists: Lists, wanted: set[int]) -> None:
    every = read_retrieved(lists)
    kept = sorted(topic for topic in wanted if topic < len(every.topics)) or [0]
    found, alone = every.of_topics(kept), read_retrieved(lists, topics=[every.topics[one] for one in kept])
    assert (found.runs, found.tags, found.topics) == (alone.runs, alone.tags, alone.topics)
    assert found.docs.texts() == alone.docs.texts()
    assert found.starts.tolist() == alone.starts.tolist()
    assert found.depth == every.depth  # ranks stay, also those that only other topics had
    assert found.lists[:, :, : alone.depth].tolist() == alone.lists.tolist()
    assert (found.lists[:, :, alone.depth :] == NONE).all()


def test_a_cut_pool_keeps_what_some_contributing_run_has_at_that_depth() -> None:
    runs = {"x": {"1": {"a": 3, "b": 2, "c": 1}}, "y": {"1": {"c": 3, "d": 2, "a": 1}}}
    qrels = Qrels.from_dict({"1": {"a": 1, "b": 0, "c": 1, "d": 0, "e": 1}})
    kept = cut_pool(qrels, read_retrieved(runs), 1)
    assert kept.docs.texts() == ["a", "c"]
    assert kept.pool_ranks is not None
    assert kept.pool_ranks.tolist() == [1, 1]
    deeper = cut_pool(qrels, read_retrieved(runs), 2)
    assert deeper.frame.rows() == [
        ("1", "a", 1.0, 1),
        ("1", "b", 0.0, 2),
        ("1", "c", 1.0, 1),
        ("1", "d", 0.0, 2),
    ]


def test_averaged_ties_and_no_runs_are_refused() -> None:
    with pytest.raises(DataError, match="use ties trec, score-file, file or rank"):
        read_retrieved({"x": {"1": {"a": 1}}}, policies=Policies(ties="average"))
    with pytest.raises(DataError, match="at least one"):
        read_retrieved([])


def test_runs_of_one_tag_are_told_apart_and_processes_change_nothing(tmp_path: Path) -> None:
    for name in ("first", "second"):
        (tmp_path / f"{name}.run").write_text("1 Q0 a 1 2 tag\n1 Q0 b 2 1 tag\n")
    one, two = (read_retrieved(tmp_path, jobs=jobs) for jobs in (1, 2))
    assert len(set(one.runs)) == 2
    assert one.tags == ("tag", "tag")
    assert one.runs == two.runs
    np.testing.assert_array_equal(one.lists, two.lists)


def test_a_run_in_memory_is_read_as_well() -> None:
    run = Run.from_columns(["1", "1"], ["a", "b"], [1, 2], name="x")
    assert texts_of(read_retrieved([run]), 0, 0) == ["b", "a"]


def test_the_pool_of_trec8_is_exactly_what_was_judged(collections: Path) -> None:
    folder = collections / "trec8"
    qrels = read_qrels(folder / "qrels.trec8.txt.gz")
    info = read_run_info(folder / "info.tsv")
    found = read_retrieved(folder / "runs", depth=100, topics=qrels.topics, jobs=2)
    pooled = found.pick(np.array([info[run].pooled for run in found.runs]))
    assert len(pooled.runs) == 71
    in_pool = pooled.best_ranks() > 0
    assert np.count_nonzero(in_pool) == len(qrels.docs) == 86_830
    assert np.isfinite(found.grades(qrels)[in_pool]).all()
