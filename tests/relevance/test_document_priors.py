"""Chances by name, for all documents of all runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sounding.core.errors import DataError, SoundingError, UnknownNameError
from sounding.relevance.model import Belief, Evidence
from sounding.relevance.priors import document_prior
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.runs.topic_lists import topic_lists

NOTHING = Evidence(np.zeros(0, np.int64), np.zeros(0, np.bool_))


def runs() -> Retrieved:
    """Topic t1: documents a, b, c (numbers 0, 1, 2); t2: d (3)."""
    return read_retrieved(
        {
            "first": {"t1": {"a": 3.0, "b": 2.0, "c": 1.0}, "t2": {"d": 1.0}},
            "second": {"t1": {"c": 9.0, "b": 8.0}},
        }
    )


def belief_in(text: str, evidence: Evidence = NOTHING, depth: int = 3) -> Belief:
    retrieved = runs()
    return document_prior(text, retrieved, topic_lists(retrieved, depth)).fitted(evidence)


def test_a_number_is_the_chance_of_every_document() -> None:
    assert belief_in("0.3").probability.tolist() == [0.3] * 4
    odds = belief_in("0.3").drawn(5, (1,)).of_topic(slice(0, 3), 0)
    np.testing.assert_allclose(odds, np.log(0.3 / 0.7), rtol=1e-6)
    assert odds.shape == (3, 5)


@pytest.mark.parametrize(("text", "odds"), [("0", -np.inf), ("1", np.inf)])
def test_certainty_is_no_chance_at_all(text: str, odds: float) -> None:
    assert belief_in(text).drawn(2, (1,)).of_topic(slice(3, 4), 1).tolist() == [[odds, odds]]


def test_the_rate_so_far_is_drawn_towards_that_of_all_topics() -> None:
    evidence = Evidence(np.array([0, 1]), np.array([True, False]))
    common = (1 + 0.5) / (2 + 1)
    first = (1 + 10 * common) / (2 + 10)
    np.testing.assert_allclose(belief_in("rate", evidence).probability, [first] * 3 + [common])


def test_the_rate_by_rank_looks_at_the_best_rank_and_never_rises() -> None:
    # Best ranks: a 1, b 2, c 1, d 1. Of the first ranks one of two is relevant, of the second one of one.
    evidence = Evidence(np.array([0, 1, 2]), np.array([True, True, False]))
    common = (2 + 0.5) / (3 + 1)
    first, second = (1 + 10 * common) / 12, (1 + 10 * common) / 11
    both = (12 * first + 11 * second) / 23
    np.testing.assert_allclose(belief_in("rank", evidence).probability, [both] * 4)
    turned = Evidence(np.array([0, 1, 2]), np.array([True, False, True]))
    ours = belief_in("rank", turned).probability
    assert ours[0] == ours[2] == ours[3] > ours[1]


def test_a_file_lists_documents_and_what_all_others_have(tmp_path: Path) -> None:
    path = tmp_path / "chances.txt"
    path.write_text("t1 a 0.9\nt1 * 0.2\n* * 0.05\n")
    assert belief_in(str(path)).probability.tolist() == [0.9, 0.2, 0.2, 0.05]


def test_a_file_must_cover_every_document(tmp_path: Path) -> None:
    path = tmp_path / "chances.txt"
    path.write_text("t1 a 0.9\nt1 b 0.2\nt2 d 1\n")
    with pytest.raises(DataError, match=r"no probability for document 'c' of topic t1; list it"):
        belief_in(str(path))


@pytest.mark.parametrize("text", ["1.5", "-0.1"])
def test_a_number_outside_0_to_1_is_refused(text: str) -> None:
    with pytest.raises(SoundingError, match="not a probability; give a number from 0 to 1"):
        belief_in(text)


def test_an_unknown_name_is_refused_with_those_known() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown prior 'rnak'; did you mean rank"):
        belief_in("rnak")


def test_only_what_looks_at_judgments_learns() -> None:
    retrieved = runs()
    lists = topic_lists(retrieved, 3)
    learns = {text: document_prior(text, retrieved, lists).learns for text in ("0.5", "rate", "rank", "runs")}
    assert learns == {"0.5": False, "rate": True, "rank": True, "runs": True}
