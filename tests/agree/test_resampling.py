"""Very many qrels: against evaluating each of them, for values, tau, swaps and correlation."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats
from tests.agree.panels import NONE, made, panel_of, random_panel, random_runs, random_values

from sounding.agree.panel import Panel
from sounding.agree.resampling import (
    COMBINED,
    SUBSAMPLE,
    Effect,
    _count_rows,
    evaluate_assessors,
    resample,
)
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.policies import Policies
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import Measure


def picked_qrels(panel: Panel, topics: tuple[str, ...], choice: tuple[int, ...]) -> Qrels:
    """Real judgments: for each topic those of the picked assessor."""
    docs = panel.docs.texts()
    grades: dict[str, dict[str, float]] = {}
    for topic, assessor in zip(topics, choice, strict=True):
        number = panel.topics.index(topic)
        for row in range(panel.starts[number], panel.starts[number + 1]):
            if not np.isnan(panel.grades[row, assessor]):
                grades.setdefault(topic, {})[docs[row]] = panel.grades[row, assessor]
    return Qrels.from_dict(grades)


@pytest.fixture(scope="module", params=["AP", "P@5", "nDCG@10"])
def brute(request: pytest.FixtureRequest) -> tuple[Effect, np.ndarray, Panel, list[Run]]:
    """What resampling says, and the means of all systems under each of the possible qrels."""
    panel = random_panel(11, assessors=2, topics=8)
    runs = random_runs(panel, 5, seed=2)
    effect = resample(evaluate_assessors(panel, runs, [request.param]), 0)
    choices = product(range(2), repeat=len(effect.topics))
    means = [
        evaluate(picked_qrels(panel, effect.topics, choice), runs, [request.param]).mean()[:, 0]
        for choice in choices
    ]
    return effect, np.array(means), panel, runs


def test_few_possible_qrels_are_all_taken_once(brute: tuple[Effect, np.ndarray, Panel, list[Run]]) -> None:
    effect, means, _, _ = brute
    assert effect.enumerated
    assert effect.samples == len(means) == 2 ** len(effect.topics)


def test_mean_and_range_are_those_of_evaluating_every_qrels(
    brute: tuple[Effect, np.ndarray, Panel, list[Run]],
) -> None:
    effect, means, _, _ = brute
    assert effect.mean == pytest.approx(means.mean(axis=0))
    assert effect.least == pytest.approx(means.min(axis=0))
    assert effect.most == pytest.approx(means.max(axis=0))
    assert effect.by_assessor == pytest.approx(means[[0, -1]])


def test_tau_to_the_original_is_scipys_for_every_qrels(
    brute: tuple[Effect, np.ndarray, Panel, list[Run]],
) -> None:
    effect, means, _, _ = brute
    rounded = np.round(means, 12)
    expected = [stats.kendalltau(rounded[0], other).statistic for other in rounded[1:]]
    assert effect.taus == pytest.approx(expected)
    assert effect.with_original.mean == pytest.approx(np.mean(expected))
    assert (effect.with_original.least, effect.with_original.most) == pytest.approx(
        (min(expected), max(expected))
    )
    between = [stats.kendalltau(one, other).statistic for one, other in combinations(rounded, 2)]
    assert effect.in_subsample.mean == pytest.approx(np.mean(between))
    assert effect.in_subsample.least == pytest.approx(min(between))


def test_swaps_are_counted_pair_by_pair(brute: tuple[Effect, np.ndarray, Panel, list[Run]]) -> None:
    effect, means, _, _ = brute
    signs = np.sign(np.round(means[:, :, np.newaxis] - means[:, np.newaxis, :], 12))
    expected = np.where(signs[0] == 0, np.nan, (signs * signs[0] < 0).mean(axis=0))
    np.testing.assert_allclose(effect.swap_share, expected)
    assert np.isnan(effect.swap_share[-1, -2])  # twins are tied


def test_correlation_is_numpys(brute: tuple[Effect, np.ndarray, Panel, list[Run]]) -> None:
    effect, means, _, _ = brute
    assert effect.correlation == pytest.approx(np.corrcoef(means.T))
    off_diagonal = np.corrcoef(means.T)[np.triu_indices(means.shape[1], 1)]
    assert effect.mean_correlation() == pytest.approx((off_diagonal.mean(), off_diagonal.min()))


def test_union_and_intersection_are_evaluated_over_the_topics_they_have(
    brute: tuple[Effect, np.ndarray, Panel, list[Run]],
) -> None:
    effect, means, panel, runs = brute
    docs = panel.docs.texts()
    for name in COMBINED:
        grades: dict[str, dict[str, float]] = {}
        for row, number in enumerate(panel.topic.tolist()):
            topic, own = panel.topics[number], np.nan_to_num(panel.grades[row])
            if topic in effect.topics:
                grades.setdefault(topic, {})[docs[row]] = own.max() if name == "union" else own.min()
        kept = {topic: own for topic, own in grades.items() if max(own.values()) >= 1}
        expected = evaluate(Qrels.from_dict(kept), runs, [effect.measure]).mean()[:, 0]
        value = getattr(effect, name)
        assert value == pytest.approx(expected)
        inside = (value >= means.min(axis=0) - 1e-9) & (value <= means.max(axis=0) + 1e-9)
        assert effect.inside(name).tolist() == inside.tolist()
        tau = effect.single[-2 if name == "union" else -1]
        assert tau.value == pytest.approx(
            stats.kendalltau(np.round(means[0], 12), np.round(expected, 12)).statistic
        )


def test_swap_differences_are_weighed_by_how_often_pairs_swap() -> None:
    values = np.zeros((4, 1, 3, 1))
    values[0, 0, :, 0] = [0.5, 0.4, 0.1]
    values[1, 0, :, 0] = [0.4, 0.5, 0.1]  # B turns the first two, which are .1 apart
    effect = resample(made(values), 0)
    assert effect.samples == 2
    assert effect.swap_share[0, 1] == effect.swap_share[1, 0] == 0.5
    assert effect.swap_share[0, 2] == 0
    assert effect.swap_difference == pytest.approx([0.1] * 4)
    assert effect.swaps(effect.with_original.mean) == pytest.approx(1)


def test_samples_come_with_each_assessors_own_qrels() -> None:
    values = random_values(5, 20)
    effect = resample(made(values), 0, samples=5000, original=1)
    assert (effect.samples, len(effect.taus), effect.enumerated) == (5003, 5002, False)
    own = values[:3, 0].mean(axis=2)
    assert effect.by_assessor == pytest.approx(own)
    assert effect.values == pytest.approx(own[1])
    assert (effect.least <= own.min(axis=0) + 1e-12).all()
    assert (effect.most >= own.max(axis=0) - 1e-12).all()
    # the first qrels are those of P, A and B; A is the original and left out
    expected = [stats.kendalltau(own[1], own[place]).statistic for place in (0, 2)]
    assert effect.taus[:2] == pytest.approx(expected)


def test_samples_pick_every_assessor_equally_often() -> None:
    values = random_values(6, 30, seed=4)
    effect = resample(made(values), 0, samples=20_000)
    expected = values[:3, 0].mean(axis=(0, 2))
    # the variance of a pick among three values, over 30 topics and 20,000 samples
    error = np.sqrt(values[:3, 0].var(axis=0).sum(axis=1)) / 30 / np.sqrt(20_000)
    assert (np.abs(effect.mean - expected) < 5 * error).all()
    assert effect.subsample == SUBSAMPLE


def test_a_seed_gives_the_same_samples_and_another_others() -> None:
    found = made(random_values(6, 30))
    first, again, other = (resample(found, 0, samples=500, seed=seed) for seed in (3, 3, 4))
    assert first.taus.tolist() == again.taus.tolist()
    assert first.taus.tolist() != other.taus.tolist()


@pytest.mark.parametrize("coefficient", ["tau_a", "tau_ap", "spearman", "pearson", "rmse", "rbo"])
def test_any_coefficient_can_compare_the_rankings(coefficient: str) -> None:
    from sounding.statistics.rank_correlation import rank_agreement

    values = random_values(5, 4, assessors=2)
    values[:, :, 1] = values[:, :, 0]  # a tie throughout
    effect = resample(made(values), 0, coefficient=coefficient)
    picks = product(range(2), repeat=4)
    means = [np.mean([values[a, 0, :, t] for t, a in enumerate(pick)], axis=0) for pick in picks]
    expected = [rank_agreement(means[0], other, coefficient).value for other in means[1:]]
    assert effect.taus == pytest.approx(expected)
    # only Kendall's tau stands for a number of swaps: (1 - .4) / 2 of 10 pairs
    assert effect.swaps(0.4) == pytest.approx(3 if coefficient == "tau_a" else np.nan, nan_ok=True)


def test_an_unknown_coefficient_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="unknown coefficient 'tao_b'; did you mean"):
        resample(made(random_values(3, 3)), 0, coefficient="tao_b")


def test_systems_that_always_tie_have_no_tau_and_no_swaps() -> None:
    effect = resample(made(np.full((4, 1, 3, 2), 0.25)), 0)
    assert np.isnan(effect.with_original.mean)
    assert effect.with_original.reason == "3 of 3 have no value: all systems tie by the original qrels"
    assert effect.in_subsample.reason == "6 of 6 have no value: all systems tie by some qrels"
    assert [one.reason for one in effect.single] == ["all systems tie by the original qrels"] * 4
    assert np.isnan(effect.swap_difference).all()
    assert np.isnan(effect.mean_correlation()).all()


def test_rankings_without_a_value_are_left_out_and_counted() -> None:
    values = np.zeros((4, 1, 2, 2))
    values[0, 0] = [[0.5, 0.5], [0.2, 0.2]]
    values[1, 0] = [[0.4, 0.1], [0.4, 0.4]]  # A ties the systems on topic 0, and has the other first on 1
    values[2:, 0] = 0.3
    effect = resample(made(values), 0)
    # original .5, .2; A for topic 1: .3, .3; A for topic 0: .45, .3; A: .25, .4
    assert sorted(tau for tau in effect.taus.tolist() if tau == tau) == [-1, 1]
    assert (effect.with_original.unknown, effect.with_original.mean) == (1, 0)
    assert effect.with_original.reason == "1 of 3 have no value: all systems tie by some qrels"
    assert effect.single[0].reason == effect.single[1].reason == ""
    assert [one.reason for one in effect.single[2:]] == [
        "all systems tie by the union", "all systems tie by the intersection",
    ]  # fmt: skip


def test_one_possible_qrels_says_that_there_is_nothing_to_compare() -> None:
    effect = resample(made(random_values(3, 1, assessors=1)), 0)
    assert effect.with_original.reason == "there is only one ranking"


def test_an_intersection_without_relevant_documents_says_so() -> None:
    relevant = np.ones((4, 1, 2), int)
    relevant[3] = 0
    effect = resample(made(random_values(3, 2, assessors=2), relevant), 0)
    assert np.isnan(effect.intersection).all()
    assert effect.single[-1].reason == "no topic that counts has a relevant document by the intersection"


def test_a_measure_without_a_value_on_a_topic_that_counts_is_refused() -> None:
    panel = panel_of([[1, 1], [1, 0]], ["t1", "t2"])
    runs = [
        Run.from_dict({"t1": {"d000": 2, "new": 1}, "t2": {"d001": 1}}, name="a"),
        Run.from_dict({"t1": {"d000": 1}, "t2": {"d001": 1}}, name="b"),
    ]
    told = (
        r"^FirstUnjudged: no value for b on topic t1 by A \(4 values are missing\); rank systems by [^\n]*$"
    )
    with pytest.raises(DataError, match=told):
        resample(evaluate_assessors(panel, runs, ["FirstUnjudged"]), 0)
    values = random_values(3, 3, assessors=2)
    values[1, 0, 2, 1] = np.nan
    relevant = np.ones((4, 1, 3), int)
    relevant[1, 0, 1] = 0  # the topic does not count
    assert len(resample(made(values, relevant), 0).topics) == 2


def test_topics_without_a_relevant_document_are_dropped_and_named() -> None:
    relevant = np.ones((4, 1, 4), int)
    relevant[1, 0, 0] = relevant[3, 0, 0] = 0  # A found nothing for 00
    relevant[3, 0, 2] = 0  # nothing is relevant to both for 02
    values = random_values(3, 4, assessors=2)
    effect = resample(made(values, relevant), 0)
    assert effect.topics == ("01", "02", "03")
    assert [(one.topic, one.without, one.everywhere) for one in effect.dropped] == [
        ("00", ("A",), True), ("02", ("intersection",), False),
    ]  # fmt: skip
    assert effect.intersection == pytest.approx(values[3, 0][:, [1, 3]].mean(axis=1))
    assert effect.union == pytest.approx(values[2, 0][:, 1:].mean(axis=1))


def test_no_topic_that_every_assessor_has_a_relevant_document_for_is_refused() -> None:
    panel = panel_of([[1, 0], [0, 1]], ["1", "2"])
    runs = [Run.from_dict({"1": {"d000": 1}, "2": {"d001": 1}}, name=name) for name in ("a", "b")]
    with pytest.raises(DataError, match="no topic has a relevant document by every assessor"):
        resample(evaluate_assessors(panel, runs, ["AP"]), 0)


def test_a_measure_counts_from_the_level_unless_it_names_its_own() -> None:
    panel = panel_of([[2, 2], [1, 1], [0, 0]])
    runs = [
        Run.from_dict({"t": {"d000": 1, "d001": 2}}, name="a"),
        Run.from_dict({"t": {"d000": 2, "d001": 1}}, name="b"),
    ]
    texts: list[str | Measure] = [
        "RR",
        "RR(rel=1)",
        "mrr-l1",
        "recip_rank",
        "RR( rel = 1 )@5",
        Measure.of("RR", k=7),
    ]
    found = evaluate_assessors(panel, runs, texts, level=2)
    # only d000 reaches 2, and run a has it second; from grade 1 both are relevant
    assert [str(measure) for measure in found.measures] == ["RR(rel=2)", "RR", "RR@5", "RR@7"]
    assert found.values[0, :, :, 0].tolist() == [[0.5, 1.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    assert found.relevant[:, 0, 0].tolist() == [1] * 4
    assert found.relevant[:, 1, 0].tolist() == [2] * 4


def test_where_grades_count_as_they_are_topics_are_dropped_by_the_level() -> None:
    panel = panel_of([[2, 2], [1, 2]], ["t1", "t2"])  # A finds nothing of grade 2 for t2
    docs = {"t1": {"d000": 1}, "t2": {"d001": 1}}
    runs = [Run.from_dict(docs, name=name) for name in ("a", "b")]
    for level, kept in ((1, ("t1", "t2")), (2, ("t1",))):
        effect = resample(evaluate_assessors(panel, runs, ["nDCG"], level=level), 0)
        assert effect.topics == kept


def test_all_assessors_have_one_scale_of_grades() -> None:
    panel = panel_of([[3, 1], [0, 0]])  # B never gave the highest grade
    runs = [Run.from_dict({"t": {"d000": 2, "d001": 1}}, name=name) for name in ("a", "b")]
    found = evaluate_assessors(panel, runs, ["ERR@3"])
    # (2**3 - 1) / 2**3 and (2**1 - 1) / 2**3
    assert found.values[:2, 0, 0, 0].tolist() == [7 / 8, 1 / 8]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"unjudged": "bounds"}, "unjudged=bounds gives no single value"),
        ({"missing": "skip"}, "missing=skip would compare systems over different topics"),
        ({"missing": "error"}, "no documents for 1 of 2 judged topics, first 't2'"),
    ],
)
def test_policies_that_give_no_ranking_are_refused(changes: dict[str, str], told: str) -> None:
    panel = panel_of([[1, 1], [1, 1]], ["t1", "t2"])
    runs = [Run.from_dict({"t1": {"d000": 1}}, name=name) for name in ("a", "b")]
    with pytest.raises(DataError, match=told):
        evaluate_assessors(panel, runs, ["AP"], policies=Policies(**changes))  # type: ignore[arg-type]


def test_one_run_sums_and_strangers_are_refused() -> None:
    panel = panel_of([[1, 1], [1, NONE]])
    run = Run.from_dict({"t": {"d000": 1}}, name="a")
    with pytest.raises(DataError, match="only 1 run to rank; give at least two"):
        evaluate_assessors(panel, [run], ["AP"])
    with pytest.raises(DataError, match="has no mean over topics"):
        evaluate_assessors(panel, [run, run], ["num_rel"])
    stranger = Run.from_dict({"other": {"d000": 1}}, name="b")
    with pytest.raises(DataError, match="no topic in common"):
        evaluate_assessors(panel, [run, stranger], ["AP"])


@pytest.mark.parametrize("rows", [0, 255, 256, 70_000])
def test_rows_are_counted_however_many_are_true(rows: int) -> None:
    flags = np.ones((rows, 3), np.bool_)
    flags[: rows // 3, 1] = flags[:, 2] = False
    assert _count_rows(flags).tolist() == [rows, rows - rows // 3, 0]
