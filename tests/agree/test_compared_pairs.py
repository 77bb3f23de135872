"""Agreement on preferences, contradictions and Bradley-Terry ranks, against brute force and hand-worked cases."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from sounding.agree.compared_pairs import (
    TopicPreferences,
    agree_preferences,
    contradictions_of,
    rank_documents,
)
from sounding.cli import cli
from sounding.core.errors import DataError, FormatError
from sounding.statistics.assessor_agreement import cohen_kappa

BY_HAND = """\
1 ann 1 d1 2\n1 ann 1 d2 1\n1 ann 2 d2 2\n1 ann 2 d3 1\n1 ann 3 d3 2\n1 ann 3 d1 1
1 bob 1 d1 2\n1 bob 1 d2 1\n1 bob 2 d2 1\n1 bob 2 d3 1\n1 bob 3 d1 2\n1 bob 3 d3 1
2 ann 1 d1 3\n2 ann 1 d2 2\n2 ann 1 d3 1\n2 bob 1 d1 2\n2 bob 1 d2 1\n2 bob 2 d3 2\n2 bob 2 d4 1
"""


@pytest.fixture
def by_hand(tmp_path: Path) -> Path:
    path = tmp_path / "x.prefs"
    path.write_text(BY_HAND)
    return path


def test_agreement_by_hand(by_hand: Path) -> None:
    study = agree_preferences([by_hand], resamples=200)
    [found] = study.agreements
    assert (found.first, found.second, found.topics, found.pairs) == ("ann", "bob", 2, 4)
    assert found.same.value == 2 / 4  # both say d1 > d2, in both topics
    assert found.strict.value == 2 / 3  # bob found d2 and d3 equal
    # Ties: ann 0, bob 1 of 4; by chance 0 * 1/4 + 1 * 3/4 / 2.
    assert found.kappa.value == pytest.approx((0.5 - 0.375) / (1 - 0.375))
    assert found.same.low <= found.same.value <= found.same.high


@given(st.lists(st.tuples(*[st.sampled_from((-1, 0, 1))] * 2), min_size=1, max_size=30))
@settings(max_examples=30, deadline=None)
def test_kappa_is_cohens_if_every_pair_is_taken_both_ways_round(outcomes: list[tuple[int, int]]) -> None:
    lines = [
        f"t {who} {number} {doc}{number} {level}"
        for number, pair in enumerate(outcomes)
        for who, said in zip("ab", pair, strict=True)
        for doc, level in (("x", 1 + (said > 0)), ("y", 1 + (said < 0)))
    ]
    table = np.zeros((1, 3, 3))
    for one, other in outcomes:
        table[0, one + 1, other + 1] += 1
        table[0, 1 - one, 1 - other] += 1
    study = study_of("\n".join(lines))
    assert study.agreements[0].kappa.value == pytest.approx(cohen_kappa(table)[0], nan_ok=True)


def study_of(text: str) -> Any:
    import tempfile

    with tempfile.NamedTemporaryFile("w", suffix=".prefs") as file:
        file.write(text + "\n")
        file.flush()
        return agree_preferences([file.name], resamples=10)


# ---- contradictions


def given_by(size: int, said: dict[tuple[int, int], int]) -> TopicPreferences:
    better, equal = np.zeros((2, size, size), np.bool_)
    for (one, other), outcome in said.items():
        if outcome:
            better[(one, other) if outcome > 0 else (other, one)] = True
        else:
            equal[one, other] = equal[other, one] = True
    return TopicPreferences("t", "ann", tuple(f"d{number}" for number in range(size)), better, equal)


@st.composite
def judgments(draw: st.DrawFn) -> TopicPreferences:
    size = draw(st.integers(2, 6))
    pairs = list(combinations(range(size), 2))
    known = draw(st.lists(st.sampled_from(pairs), unique=True))
    return given_by(size, {pair: draw(st.sampled_from((-1, 0, 1))) for pair in known})


@given(judgments())
@settings(max_examples=150, deadline=None)
def test_contradictions_are_those_of_brute_force(said: TopicPreferences) -> None:
    found = contradictions_of(said)
    better, least = said.better, said.better | said.equal
    size = len(said.docs)
    triples = [
        three
        for three in combinations(range(size), 3)
        if all(least[pair] or least[pair[::-1]] for pair in combinations(three, 2))
    ]
    bad = [
        three
        for three in triples
        if any(better[a, b] and least[b, c] and least[c, a] for a, b, c in permutations(three))
    ]
    assert (found.triples, found.violations) == (len(triples), len(bad))
    circles = [
        order
        for length in range(2, size + 1)
        for order in permutations(range(size), length)
        if all(least[one, other] for one, other in around(order))
        and any(better[one, other] for one, other in around(order))
    ]
    assert bool(circles) == bool(found.circle)
    # A document in a circle that passes another one twice is in none of these, but still contradicted.
    assert found.documents >= len({place for order in circles for place in order})
    if circles:
        own = tuple(said.docs.index(doc) for doc in found.circle)
        assert own in circles
        assert len(own) == min(map(len, circles))


def around(order: tuple[int, ...]) -> list[tuple[int, int]]:
    return list(zip(order, (*order[1:], order[0]), strict=True))


def test_a_contradiction_is_named_with_topic_and_person(by_hand: Path) -> None:
    first = agree_preferences([by_hand]).contradictions[0]
    assert (first.topic, first.assessor, first.violations, first.documents) == ("1", "ann", 1, 3)
    assert first.circle == ("d1", "d2", "d3")
    shown = CliRunner().invoke(cli, ["agree", str(by_hand)]).output
    assert "d1 > d2 > d3 > d1" in shown
    assert "One assessor contradicts themselves, in 1 topic" in " ".join(shown.split())


def test_saying_both_is_a_circle_of_two() -> None:
    study = study_of("1 a 1 x 2\n1 a 1 y 1\n1 a 2 x 1\n1 a 2 y 2")
    assert [one.circle for one in study.contradictions] == [("x", "y")]
    assert study.contradictions[0].pairs == 1


# ---- Bradley-Terry


def likelihood(wins: np.ndarray[Any, Any], strength: np.ndarray[Any, Any]) -> float:
    return -sum(
        wins[one, other] * math.log1p(math.exp(strength[other] - strength[one]))
        for one, other in product(range(len(wins)), repeat=2)
        if one != other and wins[one, other]
    )


def best(
    wins: np.ndarray[Any, Any], same: tuple[int, int] | None = None
) -> tuple[float, np.ndarray[Any, Any]]:
    """The most likely strengths by a general optimizer; two documents can be held equal."""
    size = len(wins)
    place = list(range(size))
    if same:
        place[same[1]] = same[0]

    def loss(free: np.ndarray[Any, Any]) -> float:
        return -likelihood(wins, free[place])

    # Bounds instead of a limit at infinity: beyond them nothing changes that matters here.
    found = minimize(
        loss,
        np.zeros(size),
        method="L-BFGS-B",
        bounds=[(-9, 9)] * size,
        options={"ftol": 1e-14, "gtol": 1e-9},
    )
    strength = found.x[place]
    return -found.fun, strength - strength.mean()


@given(judgments(), judgments())
@settings(max_examples=25, deadline=None)
def test_strengths_and_ranks_are_those_of_brute_force(one: TopicPreferences, other: TopicPreferences) -> None:
    docs = sorted({*one.docs, *other.docs})
    wins = np.zeros((len(docs), len(docs)))
    for said in (one, other):
        at = np.searchsorted(docs, said.docs)
        wins[np.ix_(at, at)] += said.better + said.equal / 2
    ranked = {found.doc: found for found in rank_documents([one, other], 0.05)}
    # Ford's condition: however the documents are parted, some of each part beat some of the other.
    parts = [part for size in range(1, len(docs)) for part in combinations(range(len(docs)), size)]
    identified = all(
        wins[np.ix_(part, [d for d in range(len(docs)) if d not in part])].any() for part in parts
    )
    most, strength = best(wins)
    for number, doc in enumerate(docs):
        assert math.isnan(ranked[doc].strength) != identified
        assert bool(ranked[doc].reason) != identified
        if identified:
            assert ranked[doc].strength == pytest.approx(strength[number], abs=2e-3)
            assert ranked[doc].low < ranked[doc].strength < ranked[doc].high
    surely = np.zeros((len(docs), len(docs)), np.bool_)
    close = False
    for pair in combinations(range(len(docs)), 2):
        gain = 2 * (most - best(wins, pair)[0])
        close = close or abs(gain - 3.841459) < 0.02
        if gain > 3.841459:
            surely[pair if strength[pair[0]] > strength[pair[1]] else pair[::-1]] = True
    if not close:
        for number, doc in enumerate(docs):
            assert ranked[doc].best_rank == 1 + surely[:, number].sum()
            assert ranked[doc].worst_rank == len(docs) - surely[number].sum()


def test_two_documents_by_hand() -> None:
    """Three wins and a loss: ln 3 apart, with the standard error of a log odds."""
    said = [given_by(2, {(0, 1): 1})] * 3 + [given_by(2, {(0, 1): -1})]
    first, second = rank_documents(said, 0.05)
    assert (first.doc, second.doc) == ("d0", "d1")
    assert first.strength - second.strength == pytest.approx(math.log(3))
    assert first.high - first.strength == pytest.approx(1.959964 * math.sqrt(1 / 3 + 1 / 1) / 2, rel=1e-5)
    assert (first.best_rank, first.worst_rank) == (1, 2)
    assert (first.wins, first.comparisons) == (3, 4)


@pytest.mark.parametrize(("won", "sure"), [(2, False), (3, True)])  # 2 n ln 2 against 3.84
def test_a_document_that_never_loses_has_a_rank_but_no_strength(won: int, sure: bool) -> None:
    first, _ = rank_documents([given_by(2, {(0, 1): 1})] * won, 0.05)
    assert math.isnan(first.strength)
    assert "d0 never lost" in first.reason
    assert (first.best_rank, first.worst_rank) == (1, 1 if sure else 2)


def test_documents_that_nothing_connects_have_no_strengths() -> None:
    said = [given_by(4, {(0, 1): 1, (2, 3): 1}), given_by(4, {(0, 1): -1, (2, 3): -1})]
    for one in rank_documents(said, 0.05):
        assert math.isnan(one.strength)
        assert "not compared with the rest" in one.reason
        assert (one.best_rank, one.worst_rank) == (1, 4)


# ---- files and options


def test_names_of_several_files_are_kept_apart(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / f"{name}.prefs").write_text("1 1 1 x 2\n1 1 1 y 1\n")
    study = agree_preferences([tmp_path / "one.prefs", tmp_path / "two.prefs"])
    assert study.assessors == ("one/1", "two/1")
    assert study.agreements[0].same.value == 1


def test_what_makes_no_sense_is_refused_in_one_line(tmp_path: Path, by_hand: Path) -> None:
    (tmp_path / "twice.prefs").write_text("1 a 1 x 2\n1 a 1 y 1\n1 a 1 x 1\n")
    with pytest.raises(FormatError, match=r"twice.prefs:3: document 'x' has another level"):
        agree_preferences([tmp_path / "twice.prefs"])
    with pytest.raises(DataError, match="alpha"):
        agree_preferences([by_hand], alpha=1)
    (tmp_path / "a.qrels").write_text("1 0 x 1\n")
    for words_given, words in (
        ([str(by_hand), str(tmp_path / "a.qrels")], "holds no preferences"),
        ([str(by_hand), "--level", "2"], "--level changes nothing for preferences"),
        ([str(by_hand), "--section", "bias"], "is about grades"),
        (
            [str(tmp_path / "a.qrels"), "--simulated", "independent", "--section", "ranks"],
            "is about preferences",
        ),
    ):
        shown = CliRunner().invoke(cli, ["agree", *words_given])
        assert shown.exit_code == 2
        assert words in shown.output
        assert "Traceback" not in shown.output


@pytest.mark.parametrize("form", ["table", "json", "csv", "md"])
def test_every_format_is_written(by_hand: Path, form: str) -> None:
    section = ["--section", "ranks"] if form == "csv" else ["--all"] if form != "json" else []
    shown = CliRunner().invoke(cli, ["agree", str(by_hand), "--format", form, *section])
    assert shown.exit_code == 0, shown.output
    assert "d4" in shown.output


def test_one_assessor_is_enough_for_contradictions_and_ranks(tmp_path: Path) -> None:
    (tmp_path / "a.prefs").write_text("1 a 1 x 2\n1 a 1 y 1\n")
    shown = CliRunner().invoke(cli, ["agree", str(tmp_path / "a.prefs"), "--all"])
    assert shown.exit_code == 0
    assert "one assessor, so nothing to agree on" in " ".join(shown.output.split())
