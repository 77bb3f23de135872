"""Expected values and how they vary together, against all assignments of relevance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.selection.small import (
    DEFINITIONS,
    EXACT,
    draw_lists,
    draw_probability,
    enumerated,
    lists_of,
    rankings_in,
)

from sounding.core.errors import DataError
from sounding.measures.forms import Form, form_of, values_of_draws
from sounding.runs.topic_lists import TopicLists
from sounding.selection.mtc.moments import (
    approximate_moments,
    exact_moments,
    expected_sums,
    pair_terms,
    without_document,
)

SEEDS = st.integers(0, 10**6)


def terms_by_definition(lists: TopicLists, weights: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """The sum over pairs of documents of v_i v_j a_ij b_ij, document by document."""
    table = lists.by_document(weights * lists.filled)
    result = np.zeros((len(table), len(table)))
    for i in range(lists.size):
        for j in range(i):
            shared = np.minimum(table[:, i], table[:, j])
            result += spread[i] * spread[j] * np.outer(shared, shared)
    return result


@pytest.mark.parametrize("measure", EXACT)
@given(seed=SEEDS, elsewhere=st.integers(0, 2))
def test_exact_moments_are_those_of_all_assignments(measure: str, seed: int, elsewhere: int) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, runs=3, depth=5, documents=7)
    probability = draw_probability(rng, lists)
    mean, covariance = enumerated(measure, lists, probability, elsewhere)
    ours = exact_moments(form_of(measure, 5), lists, probability, elsewhere)
    np.testing.assert_allclose(ours.mean, mean, atol=1e-10)
    np.testing.assert_allclose(ours.covariance, covariance, atol=1e-9)


@pytest.mark.parametrize("documents", [1, 2, 3])
def test_exact_moments_hold_where_every_document_is_a_toss_up(documents: int) -> None:
    lists = lists_of([list(range(documents)), [documents - 1]], 5)
    probability = np.append(np.full(documents, 0.5), 0)
    for measure in EXACT:
        mean, covariance = enumerated(measure, lists, probability)
        ours = exact_moments(form_of(measure, 5), lists, probability, 0)
        np.testing.assert_allclose(ours.mean, mean, atol=1e-10)
        np.testing.assert_allclose(ours.covariance, covariance, atol=1e-9)


def test_exact_moments_of_ap_by_hand() -> None:
    # One document at rank 1 of the first run and rank 2 of the second, which has another one above it.
    # Both relevant with chance 1/2: AP of the first is 0, 0 (other alone), 1, 1/2; of the second 0, 1, 1/2, 1.
    lists = lists_of([[0], [1, 0]], 2)
    ours = exact_moments(form_of("AP", 2), lists, np.array([0.5, 0.5, 0.0]), 0)
    np.testing.assert_allclose(ours.mean, [1.5 / 4, 2.5 / 4])
    covariance = (0 + 0 + 1 * 0.5 + 0.5 * 1) / 4 - 1.5 / 4 * 2.5 / 4
    assert ours.covariance[0, 1] == pytest.approx(covariance, abs=1e-9)


@given(seed=SEEDS)
def test_sums_have_the_mean_and_covariance_of_all_assignments(seed: int) -> None:
    # AP divided by a large known number of relevant documents elsewhere is the sum itself, up to that number.
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng)
    probability = draw_probability(rng, lists)
    form, many = form_of("AP", 5), 10**9
    mean, covariance = enumerated("AP", lists, probability, many)
    sums = expected_sums(form, lists, probability, many)
    terms = pair_terms(lists, form.weights, probability * (1 - probability))
    ours = approximate_moments(form, lists, probability, sums, terms, paper=True)
    np.testing.assert_allclose(ours.mean * many, mean * many, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(ours.covariance * many**2, covariance * many**2, rtol=1e-6, atol=1e-8)


@given(seed=SEEDS)
def test_terms_of_pairs_are_those_of_the_definition_and_stay_so_as_documents_are_judged(seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, runs=5, depth=6, documents=int(rng.integers(6, 20)))
    weights = form_of(str(rng.choice(["AP", "AP@3"])), 6).weights
    probability = draw_probability(rng, lists)
    terms = pair_terms(lists, weights, probability * (1 - probability))
    np.testing.assert_allclose(
        terms, terms_by_definition(lists, weights, probability * (1 - probability)), atol=1e-14
    )
    for document in rng.permutation(lists.size):
        terms = without_document(terms, lists, weights, probability * (1 - probability), int(document))
        probability[document] = rng.integers(2)
        np.testing.assert_allclose(
            terms, terms_by_definition(lists, weights, probability * (1 - probability)), atol=1e-14
        )


def test_many_pairs_of_runs_are_added_up_in_stretches() -> None:
    # 40 runs make 780 pairs: more than are looked at in one go.
    rng = np.random.default_rng(5)
    lists = draw_lists(rng, runs=40, depth=7, documents=30)
    spread = np.append(rng.random(lists.size) / 4, 0)
    weights = form_of("AP", 7).weights
    np.testing.assert_allclose(
        pair_terms(lists, weights, spread), terms_by_definition(lists, weights, spread), atol=1e-14
    )


@pytest.mark.parametrize("measure", ["AP", "nDCG@4"])
def test_the_ratio_is_close_where_the_number_of_relevant_documents_is_well_known(measure: str) -> None:
    rng = np.random.default_rng(3)
    lists = draw_lists(rng, runs=3, depth=5, documents=10)
    probability = np.append(rng.random(lists.size), 0)
    form = form_of(measure, 5)
    sums = expected_sums(form, lists, probability, 200)
    terms = pair_terms(lists, form.weights, probability * (1 - probability)) if form.pairs else None
    ours = approximate_moments(form, lists, probability, sums, terms)
    exact = exact_moments(form, lists, probability, 200)
    np.testing.assert_allclose(ours.mean, exact.mean, rtol=1e-2)
    np.testing.assert_allclose(ours.covariance, exact.covariance, rtol=0.02, atol=1e-9)


def test_the_ratio_lets_the_divisor_vary_and_the_paper_does_not() -> None:
    # Every relevant document found at once: AP is 1 whatever R is; only the ratio knows.
    lists = lists_of([list(range(6))], 6)
    probability = np.append(np.full(6, 0.5), 0)
    form = form_of("AP", 6)
    sums = expected_sums(form, lists, probability, 0)
    terms = pair_terms(lists, form.weights, probability * (1 - probability))
    ratio = approximate_moments(form, lists, probability, sums, terms).covariance[0, 0]
    paper = approximate_moments(form, lists, probability, sums, terms, paper=True).covariance[0, 0]
    exact = exact_moments(form, lists, probability, 0).covariance[0, 0]
    assert abs(ratio - exact) < abs(paper - exact) / 3


@pytest.mark.parametrize("measure", DEFINITIONS)
def test_nothing_relevant_gives_0_without_any_spread(measure: str) -> None:
    lists = lists_of([[0, 1], [1]], 5)
    probability = np.zeros(3)
    form = form_of(measure, 5)
    moments = exact_moments(form, lists, probability, 0)
    sums = expected_sums(form, lists, probability, 0)
    also = approximate_moments(form, lists, probability, sums, np.zeros((2, 2)))
    for one in (moments, also):
        assert not one.mean.any()
        assert not one.covariance.any()


def test_exact_moments_agree_with_draws_on_lists_of_a_hundred() -> None:
    rng = np.random.default_rng(8)
    lists = draw_lists(rng, runs=3, depth=100, documents=180)
    probability = np.append(rng.beta(0.5, 2, lists.size), 0)
    ours = exact_moments(form_of("AP", 100), lists, probability, 0)
    drawn = rng.random((4000, lists.size)) < probability[:-1]
    values = np.array([_ap_of_draws(row[row < lists.size], drawn) for row in lists.places])
    error = values.std(axis=1, ddof=1) / np.sqrt(4000)
    assert (np.abs(ours.mean - values.mean(axis=1)) < 4 * error + 1e-12).all()
    np.testing.assert_allclose(
        np.sqrt(np.diagonal(ours.covariance)), values.std(axis=1, ddof=1), rtol=0.05, atol=1e-12
    )


def _ap_of_draws(ranking: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    hits = drawn[:, ranking]
    found = (hits * np.cumsum(hits, axis=1) / np.arange(1, len(ranking) + 1)).sum(axis=1)
    return found / np.maximum(drawn.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("measure", "reason"),
    [
        ("nDCG", "not a sum over documents or pairs"), ("AP(norm='b')", "not a sum over documents or pairs"),
        ("Q@3", "how many documents are relevant"), ("Bpref", "ignores unjudged documents"),
    ],
)  # fmt: skip
def test_a_measure_that_has_no_form_is_refused_with_the_reason(measure: str, reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        form_of(measure, 5)


def test_a_cut_off_below_the_depth_is_refused_where_it_is_not() -> None:
    with pytest.raises(DataError, match="P@10 looks deeper than the depth of 5"):
        form_of("P@10", 5)


def test_a_level_of_relevance_is_part_of_the_measure() -> None:
    assert form_of("P(rel=2)@3", 5).level == 2
    np.testing.assert_allclose(form_of("P(rel=2)@3", 5).weights, [1 / 3, 1 / 3, 1 / 3, 0, 0])


def test_divisors_lie_on_straight_lines_between_whole_numbers() -> None:
    form: Form = form_of("nDCG@2", 5)
    second = 1 / np.log2(3)
    for relevant, divisor, slope in (
        (0.5, 0.5, 1), (1.5, 1 + second / 2, second), (2.0, 1 + second, 0), (7.5, 1 + second, 0),
    ):  # fmt: skip
        np.testing.assert_allclose(form.divisor(relevant), [divisor, slope])


@pytest.mark.parametrize("measure", ["RR", "ERR@4"])
@given(seed=SEEDS)
def test_readers_who_stop_have_the_mean_of_all_assignments_and_gain_what_a_document_adds(
    measure: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, runs=3, depth=5, documents=7)
    probability = draw_probability(rng, lists)
    sums = expected_sums(form_of(measure, 5), lists, probability, 2)
    np.testing.assert_allclose(sums.total, enumerated(measure, lists, probability)[0], atol=1e-12)
    gains = lists.by_document(sums.growth)
    for document in range(lists.size):
        sure, out = probability.copy(), probability.copy()
        sure[document], out[document] = 1, 0
        gain = enumerated(measure, lists, sure)[0] - enumerated(measure, lists, out)[0]
        np.testing.assert_allclose(gains[:, document], gain, atol=1e-12)


@pytest.mark.parametrize("measure", DEFINITIONS)
@given(seed=SEEDS)
def test_values_of_draws_are_those_of_the_definitions(measure: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    lists = draw_lists(rng, runs=3, depth=5, documents=8)
    drawn = np.vstack([rng.random((lists.size, 6)) < rng.random(), np.zeros((1, 6))]).astype(np.float64)
    (ours,), _ = values_of_draws(form_of(measure, 5), [lists], [drawn], [1.0])
    for draw in range(6):
        known = drawn[:-1, draw].astype(int).tolist()
        wanted = [DEFINITIONS[measure](ranking, known, 1) for ranking in rankings_in(lists)]
        np.testing.assert_allclose(ours[:, draw], wanted, atol=1e-12)


@pytest.mark.parametrize("measure", DEFINITIONS)
def test_topics_have_the_same_values_together_as_alone(measure: str) -> None:
    rng = np.random.default_rng(5)
    topics = [draw_lists(rng, runs=3, depth=5, documents=documents) for documents in (8, 5, 20)]
    drawn = [np.vstack([rng.random((one.size, 6)) < 0.3, np.zeros((1, 6))]) for one in topics]
    form, more = form_of(measure, 5), [0.0, 2.0, 1.0]
    together, counts = values_of_draws(form, topics, drawn, more)
    for number in range(3):
        only = slice(number, number + 1)
        (alone,), (count,) = values_of_draws(form, topics[only], drawn[only], more[only])
        np.testing.assert_array_equal(together[number], alone)
        np.testing.assert_array_equal(counts[number], count)
