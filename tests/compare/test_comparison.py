"""compare_scores(): rows, pairs and their order, warnings, and bad requests that get a sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars
import pytest
from tests.compare.tables import around, scores_of

import sounding
from sounding.compare.comparison import compare, compare_scores, evaluations
from sounding.compare.requests import find_run
from sounding.compare.result import COLUMNS, Comparison
from sounding.compare.sentences import short_lists, topic_notes
from sounding.core.errors import DataError, SoundingError, UnknownNameError
from sounding.core.policies import Policies, Ties
from sounding.core.workers import Progress
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import Scores
from sounding.measures import parse
from sounding.measures.assessed import assessment_measure, with_assessment
from sounding.sample.result import Collection
from sounding.sample.simulation import sample
from sounding.statistics.pairwise import MOST_PERMUTATIONS, Procedure
from sounding.statistics.power import topics_needed

T = Procedure(test="t")


@cache
def collection() -> Collection:
    return sample(
        topics=30, groups=4, systems=2, documents=500, length=100, pool_depth=10, pooled_runs=1, seed=4
    )


@cache
def compared(*measures: str) -> Comparison:
    return compare(collection().qrels, collection().runs, measures, procedure=T)


def rows(found: Comparison) -> list[tuple[int, int]]:
    """(measure, pair) of every row, measure by measure."""
    return [(number, pair) for number in range(len(found.measures)) for pair in range(len(found.pairs))]


# -- rows ------------------------------------------------------------------------------------------


def test_a_row_has_the_promised_columns() -> None:
    found = compared("P@5", "AP")
    frame = found.frame
    assert tuple(frame.columns) == COLUMNS
    assert frame.height == 2 * 28
    assert frame.schema["settled"] == polars.Boolean
    assert set(frame["case"]) <= {1, 2, 3, 4}
    assert all(frame["advice"])


def test_differences_and_assessment_are_those_of_the_means() -> None:
    found = compared("P@5", "AP")
    scores = evaluate(collection().qrels, collection().runs, ["P@5", "AP", "A_p@5", "A_p@100"])
    means = dict(zip(scores.measures, scores.mean().T, strict=True))
    for row in found.frame.rows(named=True):
        a, b = (scores.runs.index(row[side]) for side in ("run_a", "run_b"))
        performance, assessed = means[parse(row["measure"])], means[assessment_measure(row["k"])]
        assert row["difference"] == pytest.approx(performance[a] - performance[b], abs=1e-12)
        assert row["assessment_difference"] == pytest.approx(assessed[a] - assessed[b], abs=1e-12)
    assert found.depths == (5, 100)


def test_the_case_follows_from_the_two_adjusted_p_of_the_row() -> None:
    frame = compared("P@5", "AP").frame
    seen = set()
    for row in frame.rows(named=True):
        better, uneven = row["p_adjusted"] <= 0.05, row["assessment_p"] <= 0.05
        same = (row["difference"] > 0) == (row["assessment_difference"] > 0)
        expected = (4 if uneven and same else 3) if better else (2 if uneven else 1)
        assert row["case"] == expected
        assert row["strength"] == ("weak" if expected in (2, 4) else "strong")
        seen.add(expected)
    assert seen == {1, 2, 3, 4}


def test_all_pairs_come_once_with_the_better_run_first() -> None:
    found = compared("P@5")
    means = found.values[:, 0].mean(axis=1)
    assert len({frozenset(pair) for pair in found.pairs.tolist()}) == 28
    assert (means[found.pairs[:, 0]] >= means[found.pairs[:, 1]] - 1e-12).all()


def test_a_baseline_stands_second_and_a_pair_as_it_is_named() -> None:
    runs = [run.name for run in collection().runs]
    against = compare(collection().qrels, collection().runs, ["P@5"], baselines=[runs[2]], procedure=T)
    assert {against.names(pair)[1] for pair in range(len(against.pairs))} == {runs[2]}
    assert len(against.pairs) == 7
    one = compare(collection().qrels, collection().runs, ["P@5"], pair=(runs[4], runs[1]), procedure=T)
    assert one.names(0) == (runs[4], runs[1])
    assert len(one.pairs) == 1


def test_one_measures_assessment_is_tested_like_its_performance() -> None:
    for procedure in (T, Procedure(test="wilcoxon", correction="bonferroni", alpha=0.01)):
        found = compare(collection().qrels, collection().runs, ["P@5"], procedure=procedure)
        performance, assessment = found.performance_tests[0], found.assessment_tests[0]
        assert performance.test == assessment.test == procedure.test
        assert performance.correction == assessment.correction
        assert performance.alpha == assessment.alpha == procedure.alpha


def test_all_pairs_begin_with_those_among_the_best_runs() -> None:
    found = compared("P@5", "AP")
    best = [found.runs[run] for run in np.argsort(-found.values[:, 0].mean(axis=1), kind="stable")]
    shown = [(found.names(pair), number) for number, pair in found.by_rank()]
    assert shown == [
        ((a, b), number) for place, b in enumerate(best) for a in best[:place] for number in (0, 1)
    ]
    assert sorted(found.by_rank()) == rows(found)


def test_settled_pairs_have_the_order_of_the_truth() -> None:
    truth = evaluate(collection().truth, collection().runs, ["P@5", "AP"]).mean()
    settled = 0
    for found in (
        compared("P@5", "AP"),
        compare(
            collection().qrels, collection().runs, ["P@5", "AP"],
            baselines=[run.name for run in collection().runs[::2]], procedure=T,
        ),
    ):  # fmt: skip
        for number, pair in rows(found):
            if found.settled(number, pair):
                settled += 1
                a, b = found.pairs[pair].tolist()
                seen = found.performance_tests[number].difference[pair]
                assert (truth[a, number] - truth[b, number]) * seen > 0
    assert settled > 20


def test_where_documents_are_too_many_what_the_runs_own_bounds_leave_open_is_not_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    measures = ("P@5", "AP@5", "nDCG@5")
    near = compared(*measures)
    monkeypatch.setattr("sounding.compare.comparison.MOST_MEETINGS", 10)
    far = compare(collection().qrels, collection().runs, measures, procedure=T)
    assert near.bounds[0] is not None
    assert far.bounds[0] is not None
    assert (near.bounds[0].kind, far.bounds[0].kind) == ("difference", "separate")
    answers = {(near.settled(*row), far.settled(*row)) for row in rows(far) if row[0] < 2}
    assert answers == {(True, True), (True, None), (False, None)}
    for pair in range(28):
        told = far.advice(0, pair)
        asks = told.startswith("Look at this pair: ") and told.endswith(
            f"(--pair {' '.join(far.names(pair))})."
        )
        assert asks == (far.settled(0, pair) is None)
        # No closer bounds are known of nDCG: open is open.
        assert far.settled(2, pair) is near.settled(2, pair) is not None
    against = compare(
        collection().qrels, collection().runs, ["P@5"], baselines=[collection().runs[0].name], procedure=T
    )
    assert against.bounds[0] is not None
    assert against.bounds[0].kind == "difference"


VIEWS = [
    Procedure(test="t"),
    Procedure(test="randomization", alpha=0.001),  # Holm needs more draws for 28 pairs than for one
    Procedure(test="bootstrap", permutations=500),
    Procedure(test="anova"),
    Procedure(test="tukey"),
    Procedure(test="randomization", correction="max-t", permutations=999),
]


@pytest.mark.parametrize("procedure", VIEWS, ids=lambda one: f"{one.test}-{one.correction}")
def test_advice_and_what_is_settled_are_the_same_in_every_view(procedure: Procedure) -> None:
    asked = (collection().qrels, collection().runs, ["P@5", "AP", "RBP(p=0.5)"])
    everything = compare(*asked, procedure=procedure)
    seen = set()
    for pair in (0, 11, 27):
        a, b = everything.names(pair)
        alone = compare(*asked, procedure=procedure, pair=(a, b))
        against = compare(*asked, procedure=procedure, baselines=[b])
        place = next(place for place in range(len(against.pairs)) if against.names(place) == (a, b))
        for number in range(3):
            told = everything.advice(number, pair)
            assert told == alone.advice(number, 0) == against.advice(number, place)
            assert everything.settled(number, pair) is alone.settled(number, 0)
            assert everything.settled(number, pair) is against.settled(number, place)
            seen.add(told.partition(" ")[0])
    assert len(seen) > 1


def test_without_bounds_wanted_nothing_is_said_of_what_is_settled() -> None:
    found = compare(collection().qrels, collection().runs, ["P@5"], procedure=T, settled=False)
    assert found.bounds == (None,)
    assert np.array_equal(found.cases, compared("P@5").cases)


@pytest.mark.parametrize("ties", ["trec", "average"])
def test_progress_is_told_of_every_run_and_of_every_pair_by_every_measure(ties: Ties) -> None:
    told: dict[str, list[int]] = {}

    @contextmanager
    def bars(items: int, label: str) -> Iterator[Progress]:
        told[label] = [items]
        yield told[label].append

    compare(
        collection().qrels, collection().runs, ["AP", "P@5", "nDCG"], procedure=T, bars=bars,
        policies=Policies(ties=ties),
    )  # fmt: skip
    evaluations_made = 2 if ties == "average" else 1  # the first unjudged rank has no average over ties
    steps = {label: (items, sum(done)) for label, (items, *done) in told.items()}
    assert steps["evaluating runs"] == (8 * evaluations_made, 8 * evaluations_made)
    if ties == "trec":
        assert steps["bounding differences"] == (3 * 28, 3 * 28)


def test_scores_without_bounds_do_not_say_what_is_settled() -> None:
    scores = evaluate(collection().qrels, collection().runs, with_assessment(["P@5"]))
    found = compare_scores(scores, procedure=T)
    assert found.bounds == (None,)
    assert set(found.frame["settled"]) == {None}


def test_scores_with_bounds_give_the_same_as_runs() -> None:
    scores = evaluate(
        collection().qrels, collection().runs, with_assessment(["P@5", "AP"]),
        policies=Policies(unjudged="bounds"),
    )  # fmt: skip
    by_scores, by_runs = compare_scores(scores, measures=["P@5", "AP"], procedure=T), compared("P@5", "AP")
    # Scores have no documents, and know less of these.
    other = ["settled", "advice", "difference_least", "difference_most"]
    order = ["measure", "run_a", "run_b"]
    frames = [found.frame.sort(order) for found in (by_scores, by_runs)]
    assert frames[0].drop(other).equals(frames[1].drop(other))
    known = [pair for pair in rows(by_scores) if by_scores.settled(*pair) is not None]
    assert known
    assert all(by_scores.settled(*pair) == by_runs.settled(*pair) for pair in known)


def test_the_package_is_the_function_whichever_was_imported_first() -> None:
    assert isinstance(sounding.compare(collection().qrels, collection().runs, procedure=T), Comparison)
    assert sounding.compare.__wrapped__ is compare  # type: ignore[attr-defined]


# -- advice ----------------------------------------------------------------------------------------


def test_a_situation_tells_assessment_from_the_measures_depth_up() -> None:
    found = compared("P@20", "AP")
    for number, depths in ((0, [20, 10, 5]), (1, [100, 50, 20, 10, 5])):
        situation = found.situations([(number, 3)])[0]
        a, b = found.pairs[3].tolist()
        shares = [situation.shares, *situation.shallower]
        assert [one.depth for one in shares] == depths
        assert [one.depth for one in found.evenness] == [5, 10, 20, 50, 100]
        expected = found.assessment[[a, b], number].mean(axis=1)
        assert (situation.shares.a, situation.shares.b) == pytest.approx(tuple(expected))
        assert situation.shares.even is not bool(found.assessment_tests[number].significant[3])


def test_a_situation_is_even_where_the_test_at_that_depth_finds_nothing() -> None:
    found = compared("P@20", "AP")
    scores = evaluate(collection().qrels, collection().runs, with_assessment(["P@5"]))
    at_five = compare_scores(scores, procedure=T, baselines=[])
    pairs = {frozenset(at_five.names(pair)): pair for pair in range(len(at_five.pairs))}
    for pair in range(len(found.pairs)):
        there = pairs[frozenset(found.names(pair))]
        five = found.situations([(0, pair)])[0].shallower[-1]
        assert (five.depth, five.even) == (5, not at_five.assessment_tests[0].significant_alone[there])


def test_a_situation_knows_short_lists_by_run() -> None:
    scores = scores_of({"P@100": around(0.4, 0.3), "A_p@100": around(0.5, 0.8, seed=1)}, lengths=(49, 50))
    situation = compare_scores(scores, procedure=T).situations([(0, 0)])[0]
    assert (situation.run_a, situation.frozen_a, situation.frozen_b) == ("r1", True, False)


def test_a_pool_that_was_guessed_does_not_say_who_contributed() -> None:
    assert compared("P@20").situations([(0, 0)])[0].pooled_a is None
    info = {row.run: row for row in collection().info}
    told = compare(collection().qrels, collection().runs, ["P@20"], procedure=T, info=info)
    for pair in range(len(told.pairs)):
        situation = told.situations([(0, pair)])[0]
        assert situation.pooled_a is info[situation.run_a].pooled
        assert situation.pooled_b is info[situation.run_b].pooled


@pytest.mark.parametrize("correction", ["none", "holm"])
def test_topics_needed_are_those_of_the_power_of_a_t_test(correction: str) -> None:
    found = compare(
        collection().qrels, collection().runs, ["P@5"],
        procedure=Procedure(test="t", correction=correction),
    )  # fmt: skip
    effect = found.performance_tests[0].effect
    exact = topics_needed(effect, alpha=0.05)
    expected = [int(number) if 30 < number < np.inf else None for number in exact.tolist()]
    assert found.topics_needed(rows(found)) == expected
    assert sum(number is not None for number in expected) > 2
    asked = [pair for pair in range(len(effect)) if found.performance_tests[0].p[pair] > 0.05]
    assert [found.situations([(0, pair)])[0].topics_needed for pair in asked] == [
        expected[pair] for pair in asked
    ]


def test_no_fewer_topics_are_asked_for_than_there_are() -> None:
    # The sign test does not find what a t test would with fewer topics.
    gaps = np.r_[np.full(14, -0.01), np.full(16, 0.06)]
    values = np.stack([0.3 + gaps, np.full(30, 0.3)])
    found = compare_scores(assessed(values), procedure=Procedure(test="sign"))
    needed = topics_needed(found.performance_tests[0].effect, alpha=0.05)
    assert needed[0] < 30
    assert found.topics_needed([(0, 0)]) == [None]
    assert found.advice(0, 0).endswith("30 topics).")


def test_pairs_that_an_omnibus_test_kept_from_being_tested_get_advice() -> None:
    scores = assessed(around(0.2, 0.2))
    assert compare_scores(scores, procedure=Procedure(test="anova")).advice(0, 0).startswith("Add topics:")


@pytest.mark.parametrize(("a", "b"), [(0, 5), (5, 0)])
def test_one_pair_comes_with_the_documents_that_put_one_run_ahead(a: int, b: int) -> None:
    runs, columns = collection().runs, ("topic", "doc", "grade")
    found = compare(collection().qrels, runs, ["P@5", "AP"], pair=(runs[a].name, runs[b].name), procedure=T)
    grades = {(topic, doc): grade for topic, doc, grade in collection().qrels.frame.select(columns).rows()}
    for number, account in enumerate(found.accounts):
        gaps = dict(zip(found.topics, found.values[a, number] - found.values[b, number], strict=True))
        assert list(account.telling) == sorted(account.telling, key=lambda topic: -abs(gaps[topic]))
        assert all(account.telling.values())
        for topic, documents in account.telling.items():
            for one in documents:
                assert grades[topic, one.doc] >= 1
                ranks = [rank or 10_000 for rank in (one.rank_a, one.rank_b)]
                assert (ranks[0] < ranks[1]) == (gaps[topic] > 0)


# -- policies --------------------------------------------------------------------------------------


def test_assessment_counts_what_condensed_rankings_leave_out() -> None:
    condensed = compare(
        collection().qrels, collection().runs, ["P@5"], policies=Policies(unjudged="condensed"), procedure=T
    )
    plain = compared("P@5")
    order = [plain.runs.index(run) for run in condensed.runs]
    np.testing.assert_array_equal(condensed.assessment, plain.assessment[order])
    assert not np.array_equal(condensed.values, plain.values[order])


def test_condensed_scores_alone_are_refused() -> None:
    scores = evaluate(
        collection().qrels,
        collection().runs,
        with_assessment(["P@5"]),
        policies=Policies(unjudged="condensed"),
    )
    with pytest.raises(DataError, match="A_p counts unjudged documents"):
        compare_scores(scores)


def test_averaged_ties_compare_without_bounds() -> None:
    found = compare(
        collection().qrels, collection().runs, ["P@5"], policies=Policies(ties="average"),
        baselines=[collection().runs[0].name], procedure=T,
    )  # fmt: skip
    assert found.bounds == (None,)
    assert found.pool is not None


def test_one_evaluation_is_enough_unless_policies_forbid_it() -> None:
    measures = (parse("P@5"),)
    assert len(evaluations(measures, Policies())) == 1
    assert len(evaluations(measures, Policies(unjudged="condensed"))) == 2
    assert len(evaluations(measures, Policies(ties="average"))) == 2
    assert len(evaluations(measures, Policies(ties="average", unjudged="condensed"))) == 3


def test_averages_of_what_is_expected_are_not_compared() -> None:
    expected = Policies(unjudged="expected")
    with pytest.raises(DataError, match="unjudged expected: tests compare the values of runs"):
        compare(collection().qrels, collection().runs, ["P@5"], policies=expected)
    scores = replace(assessed(around(0.2, 0.3)), policies=expected)
    with pytest.raises(DataError, match="unjudged expected"):
        compare_scores(scores)


def test_estimates_from_a_sample_are_compared_without_saying_what_is_settled() -> None:
    qrels = replace(collection().qrels, strata=np.ones(len(collection().qrels.docs), np.int64))
    runs = [run.name for run in collection().runs]
    for asked in ({}, {"baselines": [runs[0]]}, {"pair": (runs[0], runs[5])}):
        found = compare(qrels, collection().runs, ["xinfAP", "P@5"], procedure=T, **asked)
        assert found.settled(0, 0) is None
        assert found.settled(1, 0) is not None
        if found.accounts:
            assert found.accounts[0].telling
            assert str(found.accounts[0].settling).endswith("is not known: xinfAP has no bounds.")


def test_judged_documents_alone_settle_nothing_in_any_mode() -> None:
    runs = [run.name for run in collection().runs]
    for asked in ({}, {"baselines": [runs[0]]}, {"pair": (runs[0], runs[5])}):
        found = compare(
            collection().qrels, collection().runs, ["P(judged_only=True)@5"], procedure=T, **asked
        )  # fmt: skip
        assert found.settled(0, 0) is None


# -- draws -----------------------------------------------------------------------------------------


def test_as_many_flips_are_drawn_as_the_correction_needs_for_a_pair_to_be_significant() -> None:
    assert Procedure().draws(5) == 10_000
    assert Procedure().draws(150) == 10_000
    holm = Procedure(correction="holm")
    assert holm.draws(46) == 250_000_000 // 1_035  # 46 x 45 / 2 pairs, and so much work for them
    assert holm.needed(1_035) == 20_699  # each at .05 / 1,035
    assert holm.draws(12) == 20 * 66 * 20 - 1  # 20 times as many as 66 pairs at .05 need
    assert Procedure(alpha=0.001).draws(2) == 99_999  # 50 beyond each limit of a 99.9% interval
    assert holm.draws(129) == 165_119  # no more than a pair needs: the note says so
    assert Procedure(correction="max-t").draws(46) == 10_000
    assert Procedure(test="t").draws(46) == 10_000
    assert holm.draws(2_000) == MOST_PERMUTATIONS
    assert Procedure(permutations=500).draws(46) == 500


def test_with_too_few_flips_a_reader_is_told() -> None:
    scores = scores_of({"P@10": around(0.2, 0.5, 0.8), "A_p@10": around(0.9, 0.9, 0.9, seed=1)})
    found = compare_scores(scores, procedure=Procedure(correction="holm", permutations=40))
    assert any("No pair can be significant" in limit for limit in found.limits)
    assert compare_scores(scores, procedure=Procedure(permutations=40)).limits == ()


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"alpha": 0.0}, "alpha 0.0: expected a number between 0 and 1"),
        ({"alpha": float("nan")}, "alpha nan: expected"),
        ({"alpha": "0.05"}, "alpha 0.05: expected a number"),
        ({"margin": -1.0}, "margin -1.0: expected a difference above 0"),
        ({"permutations": 0}, "permutations is 0; give a whole number from 1"),
        ({"test": "tea"}, "unknown test 'tea'"),
        ({"correction": "holmes"}, "unknown correction 'holmes'"),
        ({"test": "tukey", "correction": "holm"}, "leave out the correction holm"),
        ({"test": "t", "correction": "max-t"}, "max-t needs the test"),
    ],
)
def test_a_procedure_that_makes_no_sense_is_refused_at_once(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(SoundingError, match=message) as refused:
        Procedure(**choices)
    assert "\n" not in str(refused.value)


def test_the_seed_of_the_policies_is_that_of_the_test() -> None:
    scores = scores_of({"P@10": around(0.4, 0.45), "A_p@10": around(0.9, 0.9, seed=1)})
    methods = [
        compare_scores(replace(scores, policies=Policies(seed=seed))).performance_tests[0].method
        for seed in (3, 4)
    ]
    assert "seed 3" in methods[0]
    assert "seed 4" in methods[1]


# -- warnings --------------------------------------------------------------------------------------


def assessed(values: np.ndarray) -> Scores:
    return scores_of({"P@10": values, "A_p@10": around(*[0.9] * len(values), topics=values.shape[1], seed=9)})


def test_fewer_than_25_topics_are_warned_of() -> None:
    assert "fewer than 25" in compare_scores(assessed(around(0.2, 0.3, topics=24)), procedure=T).notes[0]
    assert not compare_scores(assessed(around(0.2, 0.3, topics=25)), procedure=T).notes


def test_values_over_different_topics_are_warned_of() -> None:
    values = around(0.2, 0.3, 0.4)
    values[0, :3] = np.nan
    found = compare_scores(assessed(values), procedure=T)
    assert "different topic sets" in found.notes[0]
    topics = {found.names(pair): int(found.performance_tests[0].topics[pair]) for pair in range(3)}
    assert topics == {("r3", "r2"): 30, ("r3", "r1"): 27, ("r2", "r1"): 27}


def test_equal_runs_among_others_are_no_difference_and_are_counted() -> None:
    values = around(0.2, 0.3, 0.4)
    values[1] = values[0]
    found = compare_scores(assessed(values), procedure=T)
    assert found.notes == ("1 of 3 pairs without a test: the runs are equal on all 30 topics.",)
    place = [frozenset(found.names(pair)) for pair in range(3)].index(frozenset({"r1", "r2"}))
    row = found.columns([(0, place)])
    assert (row["difference"], row["p_adjusted"], row["case"]) == ([0.0], [1.0], [1])
    assert row["advice"] == ["The runs are equal on all 30 topics."]


def test_a_pair_without_common_topics_among_others_has_no_case() -> None:
    values = around(0.2, 0.3, 0.4)
    values[0, :15] = np.nan
    values[1, 15:] = np.nan
    found = compare_scores(assessed(values), procedure=T)
    place = [frozenset(found.names(pair)) for pair in range(3)].index(frozenset({"r1", "r2"}))
    row = found.columns([(0, place)])
    assert (row["case"], row["strength"], row["topics"]) == ([None], [None], [0])
    assert row["advice"] == ["0 common topics; a test needs at least 2."]
    assert found.counts().sum() == 2
    assert not found.same_topics
    assert found.by_rank()[-1] == (0, place)


def test_a_measure_without_differences_is_compared_like_the_others() -> None:
    beside = {"A_p@10": around(0.9, 0.9, seed=1), "A_p@5": around(0.9, 0.9, seed=2)}
    flat = np.full((2, 30), 0.2)
    found = compare_scores(scores_of({"P@5": flat, "P@10": around(0.2, 0.3)} | beside), procedure=T)
    assert [str(measure) for measure in found.measures] == ["P@5", "P@10"]
    assert found.left_out == ()
    (note,) = found.notes
    assert note.startswith("1 of 1 pair ")
    assert "the runs are equal on all 30 topics" in note
    row = found.columns([(0, 0)])
    assert (row["difference"], row["p_adjusted"], row["case"]) == ([0.0], [1.0], [1])


def test_alpha_is_that_of_the_procedure_and_topics_are_the_same_where_none_lack() -> None:
    found = compare_scores(assessed(around(0.2, 0.3)), procedure=Procedure(test="t", alpha=0.01))
    assert (found.alpha, found.same_topics) == (0.01, True)


# -- bad requests ----------------------------------------------------------------------------------


def test_one_topic_is_refused() -> None:
    with pytest.raises(DataError, match=r"1 judged topic, '401': a comparison needs at least 2 topics"):
        compare_scores(assessed(around(0.2, 0.3, topics=1)))


def test_one_run_is_refused() -> None:
    with pytest.raises(DataError, match="one run, 'r1', and nothing to compare it with"):
        compare_scores(assessed(around(0.2)))


@pytest.mark.parametrize("test", ["t", "randomization", "wilcoxon", "anova", "tukey"])
def test_equal_runs_are_no_difference_by_every_test(test: str) -> None:
    values = around(0.2, 0.2)
    values[1] = values[0]
    found = compare_scores(assessed(values), procedure=Procedure(test=test))
    (tests,) = found.performance_tests
    assert (tests.difference.tolist(), tests.p_adjusted.tolist()) == ([0.0], [1.0])
    assert tests.reasons == ("the runs are equal on all 30 topics",)


@pytest.mark.parametrize("test", ["t", "bootstrap", "anova", "anova2", "tukey"])
def test_constant_values_are_compared_where_the_test_has_no_error_to_test_against(test: str) -> None:
    values = np.repeat([[0.2], [0.3]], 30, axis=1)
    found = compare_scores(assessed(values), procedure=Procedure(test=test))
    assert found.significant.all()
    assert found.performance_tests[0].p[0] == 2.0**-29


def test_an_omnibus_test_that_does_not_reject_is_an_answer() -> None:
    values = around(0.2, 0.2)
    found = compare_scores(assessed(values), procedure=Procedure(test="anova"))
    omnibus = found.performance_tests[0].omnibus
    assert omnibus is not None
    assert omnibus.p > 0.05
    assert found.cases.tolist() == [[1]]


def test_no_common_topics_are_refused() -> None:
    values = around(0.2, 0.3)
    values[0, :15] = np.nan
    values[1, 15:] = np.nan
    with pytest.raises(DataError, match=r"P@10: no pair of the 1 has 2 topics"):
        compare_scores(assessed(values))


def test_a_pair_must_be_two_known_runs() -> None:
    scores = assessed(around(0.2, 0.3))
    with pytest.raises(DataError, match="'r1' against itself"):
        compare_scores(scores, pair=("r1", "r1"))
    with pytest.raises(UnknownNameError, match="unknown run 'r9'; known: r1, r2"):
        compare_scores(scores, pair=("r1", "r9"))
    with pytest.raises(DataError, match="a pair and baselines do not go together"):
        compare_scores(scores, pair=("r1", "r2"), baselines=["r1"])


def test_a_run_is_found_by_a_tag_that_only_it_has() -> None:
    scores = replace(assessed(around(0.2, 0.3, 0.4)), tags=("mine", "theirs", "theirs"))
    assert find_run(scores, "mine") == 0
    with pytest.raises(UnknownNameError):
        find_run(scores, "theirs")


@pytest.mark.parametrize(
    ("measure", "message"),
    [
        ("GMAP", "GMAP is a geometric mean over topics.*; use AP$"),
        ("GMBpref", "GMBpref is a geometric mean over topics.*; use Bpref$"),
        ("NumRelRet", "NumRelRet is a sum over topics"),
    ],
)
def test_measures_that_are_no_means_are_refused(measure: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        compare(collection().qrels, collection().runs, ["P@5", measure], procedure=T)
    scores = evaluate(collection().qrels, collection().runs, with_assessment(["P@5", measure]))
    with pytest.raises(DataError, match=message):
        compare_scores(scores, measures=[measure], procedure=T)


def test_measures_that_are_no_numbers_are_refused() -> None:
    scores = evaluate(collection().qrels, collection().runs, with_assessment(["RunID", "NumRel"]))
    with pytest.raises(DataError, match="no measure can be compared"):
        compare_scores(scores)
    with pytest.raises(DataError, match="RunID gives a text"):
        compare_scores(scores, measures=["RunID"])


def test_an_unknown_test_and_a_bad_alpha_are_refused() -> None:
    scores = assessed(around(0.2, 0.3))
    with pytest.raises(UnknownNameError, match="unknown test 'wilcox'; did you mean wilcoxon"):
        compare_scores(scores, procedure=Procedure(test="wilcox"))
    with pytest.raises(DataError, match="alpha 5: expected a number between 0 and 1"):
        compare_scores(scores, procedure=Procedure(alpha=5))


# -- notes -----------------------------------------------------------------------------------------


def test_runs_that_lack_topics_are_named_up_to_five() -> None:
    scores = scores_of({"P@5": around(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7), "A_p@5": around(*[0.5] * 7)})
    missing = scores.missing.copy()
    missing[:2, 0] = True
    (note,) = topic_notes(replace(scores, missing=missing), scores.values)
    assert note == (
        "2 runs lack some of the 30 judged topics, which count as 0 and as not judged: r1 1, r2 1."
    )
    missing[:, 1] = True
    missing[6, :9] = True
    (note,) = topic_notes(replace(scores, missing=missing), scores.values)
    assert note == (
        "7 runs lack some of the 30 judged topics, which count as 0 and as not judged: r7 9, r1 2, r2 2, r3 1,"
        " r4 1 and 2 more."
    )


def test_depths_beyond_the_lists_are_counted_by_run_and_those_alike_said_together() -> None:
    measures = [parse(name) for name in ("P@5", "P@20", "AP@30", "AP", "INSQ", "P@100")]
    assert list(short_lists([10, 50, 200], measures)) == [
        "Depth 20 and 30: 1 of 3 runs has no list that long; missing ranks count as neither relevant"
        " nor judged.",
        "Depth 100: 2 of 3 runs have no list that long; missing ranks count as neither relevant nor judged.",
    ]
    found = compare(collection().qrels, collection().runs, ["P@5", "P@200"], procedure=T)
    assert any(note.startswith("Depth 200: 8 of 8 runs have no list") for note in found.notes)
    assert not any("Depth" in note for note in compared("P@5", "AP").notes)


def test_a_measure_that_is_left_out_is_kept_in_mind() -> None:
    gappy = around(0.2, 0.4)
    gappy[0, :15], gappy[1, 15:] = np.nan, np.nan
    scores = scores_of({"P@5": around(0.2, 0.4), "AP": gappy, "A_p@5": around(0.5, 0.5)})
    found = compare_scores(scores, measures=["P@5", "AP"], procedure=T)
    (problem,) = found.left_out
    assert problem.startswith("AP: no pair of the 1 has 2 topics where both runs have values")
    assert f"Left out: {problem}." in found.notes


@pytest.mark.parametrize(
    ("measure", "typed"),
    [
        ("P@5", "P(judged_only=True)@5"),
        ("AP", "AP(judged_only=True)"),
        ("Bpref", None),
        ("P(judged_only=True)@5", None),
    ],
)
def test_a_situation_knows_how_the_condensed_measure_is_typed(measure: str, typed: str | None) -> None:
    assert compared(measure).situations([(0, 0)])[0].condensed_as == typed
    if typed is not None:
        assert parse(typed).get("judged_only")


def test_a_comparison_says_what_it_is_in_one_line() -> None:
    found = compared("P@5")
    pairs, runs, topics = len(found.pairs), len(found.runs), len(found.topics)
    assert repr(found) == f"<Comparison of {pairs} pairs of {runs} runs on {topics} topics: P@5>"


def test_the_judged_share_of_short_lists_is_of_what_they_have() -> None:
    runs = {"short": {"t": {"a": 2.0, "b": 1.0}, "u": {"a": 1.0}}, "long": {"t": {"x": 1.0}, "u": {"y": 1.0}}}
    qrels = {"t": {"a": 1, "b": 0}, "u": {"c": 1}}
    found = compare(
        sounding.Qrels.from_dict(qrels),
        [sounding.Run.from_dict(topics, name=name) for name, topics in runs.items()],
        ["P@10"],
    )
    assert found.judged_of_returned(found.runs.index("short"), 0) == pytest.approx(2 / 3)
    assert found.judged_of_returned(found.runs.index("long"), 0) == 0
