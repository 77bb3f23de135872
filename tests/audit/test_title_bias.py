"""Title words in judged documents, by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sounding.audit.judged_runs import JudgedRuns, read_judged_runs
from sounding.audit.title_bias import title_bias, words_of
from sounding.core.errors import DataError
from sounding.data.run_info import RunInfo
from sounding.data.tables import Qrels, Run
from sounding.data.topics import Topics


def topics(**titles: str) -> Topics:
    names = tuple(name.strip("t") for name in titles)
    empty = ("",) * len(names)
    return Topics(
        source="topics.txt", ids=names, titles=tuple(titles.values()), descriptions=empty, narratives=empty
    )


@pytest.fixture
def runs() -> JudgedRuns:
    ranked = {"1": {"a": 6, "b": 5, "c": 4, "d": 3, "e": 2, "f": 1}, "2": {"a": 2, "g": 1}}
    judged = {"1": {"a": 1, "b": 0, "c": 1, "d": 1, "e": 0, "f": 2, "z": 1}, "2": {"a": 0, "g": 1}}
    info = {"r": RunInfo(run="r", group="r", kind="automatic", priority=1, pooled=True)}
    return read_judged_runs(Qrels.from_dict(judged), [Run.from_dict(ranked, name="r")], info=info)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    texts = {
        "a": "The GREEN sea.", "b": "Nothing", "c": "green turtles, green seas", "d": "turtles swim in green",
        "f": "sea", "z": "green sea turtles", "unasked": "green",
    }  # fmt: skip
    path = tmp_path / "corpus.jsonl"
    path.write_text("".join(json.dumps({"id": doc, "text": text}) + "\n" for doc, text in texts.items()))
    return path


def test_shares_by_pool_rank_are_means_over_documents(runs: JudgedRuns, corpus: Path) -> None:
    found = title_bias(runs, topics(t1="The green sea turtles", t2="a"), [corpus])
    # Title words: green sea turtles; topic 2 has a stop word alone. Pool rank 1: a (2/3). Rank 2: b, not
    # relevant (0). Ranks 3 to 5: c (green turtles: 2/3), d (2/3), e has no text. Rank 6: f (1/3).
    assert found.first.tolist() == [1, 2, 3, 6]
    assert found.last.tolist() == [1, 2, 5, 6]
    assert found.relevant.tolist() == [1, 0, 2, 1]
    assert found.nonrelevant.tolist() == [0, 1, 0, 0]
    np.testing.assert_allclose(found.relevant_share, [2 / 3, np.nan, 2 / 3, 1 / 3])
    assert found.nonrelevant_share[1] == 0.0
    assert found.overall == pytest.approx((2 / 3 + 2 / 3 + 2 / 3 + 1 / 3) / 4)
    assert (found.without_text, found.without_title) == (1, 1)
    assert found.frame.height == 4


def test_words_are_folded_and_stop_words_left_out() -> None:
    assert words_of("What is THE Größe of U-boats?") == {"größe", "u", "boats"}


def test_a_corpus_or_topics_of_another_collection_are_refused(runs: JudgedRuns, corpus: Path) -> None:
    with pytest.raises(DataError, match="no titles for the judged topics, such as '1'"):
        title_bias(runs, topics(t9="green"), [corpus])
    corpus.write_text('{"id": "x", "text": "green"}\n')
    with pytest.raises(DataError, match="holds none of the judged documents"):
        title_bias(runs, topics(t1="green"), [corpus])


def test_without_a_known_pool_ranks_are_the_best_in_any_run(corpus: Path) -> None:
    ranked = {"1": {"b": 3, "a": 2, "c": 1}}
    other = {"1": {"d": 2, "a": 1}}
    judged = {"1": {"a": 1, "b": 0, "c": 1, "d": 1}}
    info = {name: RunInfo(run=name, group=name, kind="", priority=1, pooled=False) for name in ("r", "s")}
    runs = read_judged_runs(
        Qrels.from_dict(judged), [Run.from_dict(ranked, name="r"), Run.from_dict(other, name="s")], info=info
    )
    assert not runs.pool.known
    found = title_bias(runs, topics(t1="The green sea turtles"), [corpus])
    # Rank 1: b (nothing) and d (green turtles); rank 2: a (green sea); rank 3: c (green turtles).
    assert not found.pooled
    assert found.relevant.tolist() == [1, 1, 1]
    np.testing.assert_allclose(found.relevant_share, [2 / 3, 2 / 3, 2 / 3])
    assert found.nonrelevant.tolist() == [1, 0, 0]
