"""The rule that needs no chances, and Algorithm 1, against all that may still happen."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.selection.small import DEFINITIONS, draw_lists, lists_of, rankings_in
from tests.selection.test_weights import coefficients

from sounding.measures.forms import Form, form_of
from sounding.runs.ranking import Counts, Values
from sounding.runs.topic_lists import TopicLists
from sounding.selection.mtc import proofs
from sounding.selection.mtc.confidence import best_documents
from sounding.selection.mtc.proofs import fewest_judgments, proven_pairs
from sounding.selection.mtc.weights import Beliefs

SEEDS = st.integers(0, 10**6)


def judged_at_random(rng: np.random.Generator, size: int, share: float) -> Beliefs:
    unjudged = np.append(rng.random(size) >= share, False)
    relevant = (rng.random(size + 1) < 0.5) & ~unjudged
    relevant[-1] = False
    return Beliefs(np.where(unjudged, 0.5, relevant), unjudged)


def completions(beliefs: Beliefs) -> list[list[int]]:
    options = [(0, 1) if u else (int(p),) for p, u in zip(beliefs.probability, beliefs.unjudged, strict=True)]
    return [list(relevant) for relevant in itertools.product(*options[:-1])]


def either_way(topics: list[TopicLists]) -> NDArray[np.int64]:
    return np.argwhere(~np.eye(len(topics[0].places), dtype=np.bool_))


def least_gaps(
    form: Form, lists: TopicLists, beliefs: Beliefs, first: int, second: int
) -> tuple[float, float]:
    """Return the worst case of (Z of the first run minus Z of the second), and of the reverse.

    Equation 3 of Carterette, Allan & Sitaraman (2006), pair of documents by pair of documents.
    """
    possible = (beliefs.unjudged | (beliefs.probability == 1))[:-1]
    weight = lists.by_document(form.weights * lists.filled)[[first, second]]
    documents = (possible & weight.any(axis=0)).nonzero()[0]
    own, other = weight[:, documents]
    judged = ~beliefs.unjudged[documents]
    if not form.pairs:
        difference, known = own - other, judged
    else:
        upper = np.triu_indices(len(documents))
        difference = (np.minimum.outer(own, own) - np.minimum.outer(other, other))[upper]
        known = np.logical_and.outer(judged, judged)[upper]
    certain = float(difference[known].sum())
    open_ = difference[~known]
    return certain + float(np.minimum(open_, 0).sum()), -certain + float(np.minimum(-open_, 0).sum())


@pytest.mark.parametrize("measure", DEFINITIONS)
@settings(max_examples=60)
@given(seed=SEEDS, share=st.floats(0.3, 1))
def test_a_proven_order_holds_in_every_completion(measure: str, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    topics = [draw_lists(rng, runs=3, depth=5, documents=5) for _ in range(2)]
    beliefs = [judged_at_random(rng, lists.size, share) for lists in topics]
    elsewhere = rng.integers(0, 3, 2).tolist()
    proven = proven_pairs(form_of(measure, 5), topics, beliefs, elsewhere, either_way(topics))
    value = DEFINITIONS[measure]
    for choice in itertools.product(*(completions(one) for one in beliefs)):
        total = np.add.reduce(
            [
                [value(ranking, relevant, more) for ranking in rankings_in(lists)]
                for lists, relevant, more in zip(topics, choice, elsewhere, strict=True)
            ]
        )
        for first, second in zip(*proven.nonzero(), strict=True):
            assert total[first] > total[second] - 1e-12


@pytest.mark.parametrize("measure", ["AP", "P@3", "nDCG@4"])
@settings(max_examples=80)
@given(seed=SEEDS, share=st.floats(0.6, 1))
def test_exactly_what_equation_3_shows_is_proven(measure: str, seed: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    topics = [draw_lists(rng, runs=3, depth=5, documents=6) for _ in range(2)]
    beliefs = [judged_at_random(rng, lists.size, share) for lists in topics]
    form = form_of(measure, 5)
    proven = proven_pairs(form, topics, beliefs, [1, 0], either_way(topics))
    for run, other in either_way(topics).tolist():
        bound = 0.0
        for lists, one, more in zip(topics, beliefs, [1, 0], strict=True):
            gap = least_gaps(form, lists, one, run, other)[0]
            known = (one.probability[~one.unjudged] == 1).sum() + more
            least = float(form.divisors(np.array([max(known, 1.0)]))[0])
            most = float(form.divisors(np.array([known + one.unjudged.sum() * 1.0]))[0])
            bound += gap / (max(most, least) if gap >= 0 else least)
        assert proven[run, other] == (bound > 1e-12)


def test_topics_are_looked_at_only_while_an_order_may_be_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    topics = [draw_lists(rng, runs=3, depth=5, documents=9) for _ in range(20)]
    beliefs = [judged_at_random(rng, lists.size, float(number > 9)) for number, lists in enumerate(topics)]
    seen: list[TopicLists] = []
    sums = proofs.sums_of_both

    def noted(form: Form, lists: TopicLists, relevant: Values, pairs: Counts) -> Values:
        seen.append(lists)
        return sums(form, lists, relevant, pairs)

    monkeypatch.setattr(proofs, "sums_of_both", noted)
    pairs = either_way(topics)
    assert not proven_pairs(form_of("AP", 5), topics, beliefs, [0.0] * 20, pairs).any()
    assert 0 < len(seen) <= 2 * 10  # twice each: the topics without judgments


def test_everything_judged_proves_every_difference() -> None:
    rng = np.random.default_rng(2)
    topics = [draw_lists(rng, runs=4, depth=5, documents=9) for _ in range(3)]
    beliefs = [judged_at_random(rng, lists.size, 1.0) for lists in topics]
    proven = proven_pairs(form_of("AP", 5), topics, beliefs, [0, 0, 0], either_way(topics))
    relevant = [one.probability.astype(int).tolist() for one in beliefs]
    values = np.array(
        [
            [DEFINITIONS["AP"](ranking, known, 0) for ranking in rankings_in(lists)]
            for lists, known in zip(topics, relevant, strict=True)
        ]
    ).sum(axis=0)
    assert (proven == (values[:, np.newaxis] > values + 1e-12)).all()


def test_gaps_of_equation_3_by_hand() -> None:
    # First run: documents 0, 1; second: 1, 2. Document 0 is relevant, 1 unjudged, 2 not relevant.
    # c_00 = 1; c_01 = 1/2 - 0; c_11 = 1/2 - 1: the last can take 1/2 away, or add 1/2 for the reverse.
    lists = lists_of([[0, 1], [1, 2]], 2)
    beliefs = Beliefs(np.array([1, 0.5, 0, 0]), np.array([False, True, False, False]))
    ahead, behind = least_gaps(form_of("AP", 2), lists, beliefs, 0, 1)
    assert ahead == pytest.approx(1 - 1 / 2)
    assert behind == pytest.approx(-1 - 1 / 2)


def test_a_sum_of_gaps_without_its_divisors_would_claim_too_much() -> None:
    # Topic 1: the first run leads by a sum of 1, divided by 4 relevant documents elsewhere and its own.
    # Topic 2: it is behind by 1/2, divided by 1. The sums say +1/2, the means -3/10.
    form = form_of("AP", 2)
    topics = [lists_of([[0], []], 2), lists_of([[1, 0], [0]], 2)]
    beliefs = [
        Beliefs(np.array([1.0, 0]), np.array([False, False])),
        Beliefs(np.array([1.0, 0, 0]), np.array([False, False, False])),
    ]
    gaps = [least_gaps(form, lists, one, 0, 1)[0] for lists, one in zip(topics, beliefs, strict=True)]
    assert gaps == [1.0, -0.5]
    proven = proven_pairs(form, topics, beliefs, [4, 0], either_way(topics))
    assert not proven[0, 1]
    assert proven[1, 0]


@given(seed=SEEDS, chance=st.floats(0.05, 1), count=st.integers(1, 4))
def test_no_set_has_a_larger_expected_sum_than_that_of_algorithm_1(
    seed: int, chance: float, count: int
) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, runs=2, depth=5, documents=7)
    form = form_of("AP", 5)
    c = coefficients(form, lists, 0) - coefficients(form, lists, 1)
    count = min(count, lists.size)

    def expected_sum(chosen: tuple[int, ...]) -> float:
        inner = c[np.ix_(chosen, chosen)]
        own = np.trace(inner)
        return float(chance * own + chance**2 * (inner.sum() - own) / 2)

    ours = best_documents(c, chance, count)
    assert len(set(ours.tolist())) == count
    best = max(map(expected_sum, itertools.combinations(range(lists.size), count)))
    assert expected_sum(tuple(ours.tolist())) == pytest.approx(best, abs=1e-12)


def proves(form: Form, lists: TopicLists, beliefs: Beliefs, judged: dict[int, bool]) -> bool:
    """Whether these further judgments prove the first run above the second."""
    probability, unjudged = beliefs.probability.copy(), beliefs.unjudged.copy()
    for place, relevant in judged.items():
        probability[place], unjudged[place] = relevant, False
    return bool(
        proven_pairs(form, [lists], [Beliefs(probability, unjudged)], [0.0], np.array([[0, 1]]))[0, 1]
    )


@pytest.mark.parametrize("measure", ["AP", "P@3", "nDCG@4", "R@3"])
@settings(max_examples=40)
@given(seed=SEEDS, share=st.floats(0, 0.5))
def test_few_judgments_prove_an_order_and_no_fewer_of_the_kind_do(
    measure: str, seed: int, share: float
) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, runs=3, depth=5, documents=5)
    beliefs = judged_at_random(rng, lists.size, share)
    form = form_of(measure, 5)
    steps = fewest_judgments(form, [lists], [beliefs], [0.0], (0, 1))
    free = beliefs.unjudged[:-1].nonzero()[0].tolist()
    every = {
        size: any(
            proves(form, lists, beliefs, dict(zip(places, grades, strict=True)))
            for places in itertools.combinations(free, size)
            for grades in itertools.product((False, True), repeat=size)
        )
        for size in range(len(free) + 1)
    }
    fewest = next((size for size, found in every.items() if found), None)
    assert (steps is None) == (fewest is None)
    if steps is not None and fewest is not None:
        judged = {step.place: step.relevant for step in steps}
        assert proves(form, lists, beliefs, judged)
        assert fewest <= len(judged) <= fewest + (measure in ("AP", "nDCG@4"))
        assert len(judged) == len(steps)


def test_topics_are_weighed_by_what_their_sums_are_divided_by() -> None:
    # One judgment on topic 2 would do, but 9 relevant documents elsewhere make it small: topic 1 comes first.
    form = form_of("P@1", 1)
    topics = [lists_of([[0], [1]], 1), lists_of([[0], [1]], 1)]
    beliefs = [Beliefs(np.array([0.5, 0.5, 0]), np.array([True, True, False]))] * 2
    steps = fewest_judgments(form, topics, beliefs, [0.0, 0.0], (0, 1))
    # Each run may still gain 1 on both topics: the first must be relevant on both, and the second not on one.
    assert steps is not None
    assert sorted(steps)[0].topic == 0
    assert len(steps) == 3
