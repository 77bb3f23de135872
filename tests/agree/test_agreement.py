"""How far assessors agree: overlap by hand, intervals, topics to talk about, and what has no value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from tests.agree.panels import NONE, panel_of, random_panel

from sounding.agree import reasons
from sounding.agree.agreement import COEFFICIENTS, assessor_agreements, upper_limits
from sounding.agree.panel import fill_outside
from sounding.core.errors import DataError
from sounding.statistics.assessor_agreement import Bootstrap

# topic 1: A {0, 1, 2}, B {1, 2, 3}, C {2}; topic 2: A {5}, B {5}, C {} of two documents
GRADES = [[1, 0, 0], [1, 1, 0], [1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0], [0, 0, 0]]
TOPICS = ["1", "1", "1", "1", "1", "2", "2"]


def test_overlap_by_hand_for_every_pair_and_all() -> None:
    found = assessor_agreements(panel_of(GRADES, TOPICS), bootstrap=Bootstrap(10))
    values = {found.names(group): group.estimates["overlap"].value for group in found.groups}
    # A and B: (2/4 + 1/1) / 2; A and C: (1/3 + 0/1) / 2; B and C alike; all: (1/4 + 0/1) / 2
    assert values == pytest.approx({"A & B": 0.75, "A & C": 1 / 6, "B & C": 1 / 6, "all 3": 0.125})
    assert found.everyone.overlaps == pytest.approx([0.25, 0.0])
    assert [(group.topics, group.documents) for group in found.groups] == [(2, 7)] * 4


def test_overlap_counts_only_documents_that_both_judged_unless_told_otherwise() -> None:
    panel = panel_of([[1, 1], [1, NONE], [NONE, 1], [0, 0]])
    values = {}
    for how in ("common", "primary", "nonrelevant"):
        filled = fill_outside(panel, how)
        values[how] = (
            assessor_agreements(filled, bootstrap=Bootstrap(10)).groups[0].estimates["overlap"].value
        )
    # common {0} / {0}; primary: document 1 counts for B too, 2 was never judged by A; nonrelevant 1 / 3
    assert values == pytest.approx({"common": 1.0, "primary": 1.0, "nonrelevant": 1 / 3})


def test_relevance_starts_at_the_level() -> None:
    panel = panel_of([[2, 2], [2, 1], [1, 2], [0, 0]])
    assert (
        assessor_agreements(panel, level=1, bootstrap=Bootstrap(10)).groups[0].estimates["overlap"].value == 1
    )
    assert assessor_agreements(panel, level=2, bootstrap=Bootstrap(10)).groups[0].estimates[
        "overlap"
    ].value == pytest.approx(1 / 3)


def test_kappa_is_of_relevance_and_of_grades() -> None:
    estimates = (
        assessor_agreements(panel_of([[2, 1], [1, 2], [0, 0], [0, 0]]), bootstrap=Bootstrap(10))
        .groups[0]
        .estimates
    )
    assert estimates["kappa"].value == 1
    # grades: agreement 1/2; chance 1/2 * 1/2 + 1/4 * 1/4 + 1/4 * 1/4 = 3/8
    assert estimates["kappa_grades"].value == pytest.approx((1 / 2 - 3 / 8) / (5 / 8))
    # weighted: squared differences 1 + 1 of four; by chance, 0-1 and 0-2 have 2 * 1 each both ways, 1-2 has 1
    # each way: (2 * 1 + 2 * 1 + 2 * 4 + 2 * 4 + 1 + 1) / 4 = 22/4; 1 - 2 / (22/4)
    assert estimates["kappa_weighted"].value == pytest.approx(1 - 2 / 5.5)
    assert estimates["alpha_ordinal"].value > estimates["alpha_grades"].value


def test_weighted_kappa_is_of_two() -> None:
    found = assessor_agreements(random_panel(1), bootstrap=Bootstrap(10))
    assert not any(np.isnan(group.estimates["kappa_weighted"].value) for group in found.groups[:-1])
    assert "two assessors" in found.everyone.estimates["kappa_weighted"].reason


def test_what_all_others_reject_by_hand() -> None:
    found = {
        one.assessor: one
        for one in assessor_agreements(panel_of(GRADES, TOPICS), bootstrap=Bootstrap(10)).rejections
    }
    # A: of {0, 1, 2, 5} only 0 is relevant to nobody else; B: of {1, 2, 3, 5} only 3; C: of {2} none
    assert [(found[name].rejected, found[name].relevant) for name in "ABC"] == [(1, 4), (1, 4), (0, 1)]
    assert found["A"].share.value == pytest.approx(0.25)
    assert found["A"].mean.value == pytest.approx((1 / 3 + 0) / 2)


def test_documents_that_somebody_did_not_judge_are_not_rejected() -> None:
    (first, _) = assessor_agreements(
        panel_of([[1, NONE], [1, 0], [1, 1]]), bootstrap=Bootstrap(10)
    ).rejections
    assert (first.rejected, first.relevant) == (1, 2)


def test_low_overlap_on_many_documents_is_talked_about_first() -> None:
    many = [[1, 0]] * 10 + [[0, 1]] * 10 + [[1, 1]]
    few, fine, nothing = [[1, 0]], [[1, 1]] * 10, [[0, 0]]
    topics = ["few"] * 1 + ["many"] * 21 + ["fine"] * 10 + ["nothing"]
    found = assessor_agreements(panel_of([*few, *many, *fine, *nothing], topics), bootstrap=Bootstrap(10))
    assert [one.topic for one in found.topics] == ["many", "few", "fine", "nothing"]
    assert [one.contested for one in found.topics] == [20, 1, 0, 0]
    assert found.topics[0].relevant == (11, 11)


def test_a_topic_counts_relevant_documents_among_those_that_all_judged() -> None:
    (talk,) = assessor_agreements(
        panel_of([[1, 1], [1, 0], [1, NONE], [NONE, 1], [1, NONE]]), bootstrap=Bootstrap(10)
    ).topics
    assert (talk.documents, talk.common, talk.relevant, talk.contested) == (5, 2, (2, 1), 1)
    assert talk.overlap == 0.5


def test_upper_limits_are_wilsons() -> None:
    for successes, size in ((0, 5), (3, 7), (20, 20)):
        interval = stats.binomtest(successes, size).proportion_ci(method="wilson")
        assert upper_limits(np.array([successes / size]), [size])[0] == pytest.approx(interval.high)


# -- what has no value -----------------------------------------------------------------------------


def test_a_topic_that_one_assessor_did_not_judge_is_explained() -> None:
    found = assessor_agreements(
        panel_of([[1, 1], [1, 0], [1, NONE]], ["1", "1", "2"]), bootstrap=Bootstrap(10)
    )
    talk = {one.topic: one for one in found.topics}
    assert np.isnan(talk["2"].overlap)
    assert talk["2"].reason == "not judged by B"
    assert talk["1"].reason == ""
    assert found.groups[0].topics == 1


def test_assessors_with_disjoint_documents_are_explained() -> None:
    one_topic = assessor_agreements(panel_of([[1, NONE], [NONE, 1]]), bootstrap=Bootstrap(10)).groups[0]
    assert {one_topic.estimates[name].reason for name in COEFFICIENTS} == {
        reasons.NO_COMMON_DOCUMENT, reasons.NOT_PAIRED,
    }  # fmt: skip
    assert one_topic.reasons == (reasons.NO_COMMON_DOCUMENT,)
    two_topics = assessor_agreements(
        panel_of([[1, NONE], [NONE, 1]], ["1", "2"]), bootstrap=Bootstrap(10)
    ).groups[0]
    assert two_topics.estimates["overlap"].reason == reasons.NO_COMMON_TOPIC


def test_a_single_grade_throughout_is_explained() -> None:
    estimates = (
        assessor_agreements(panel_of([[0, 0], [0, 0]], ["1", "2"]), bootstrap=Bootstrap(10))
        .groups[0]
        .estimates
    )
    assert estimates["agreement"].value == 1
    assert estimates["overlap"].reason == "nobody found a relevant document"
    assert estimates["kappa"].reason == reasons.same_grade(0)
    assert estimates["alpha"].reason == reasons.ONE_GRADE


def test_grades_of_one_kind_of_relevance_are_explained() -> None:
    estimates = (
        assessor_agreements(panel_of([[1, 2], [2, 1]], ["1", "2"]), bootstrap=Bootstrap(10))
        .groups[0]
        .estimates
    )
    assert estimates["kappa"].reason == reasons.same_relevance(True, 1)
    assert estimates["kappa_grades"].value == pytest.approx(-1)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_has_no_value_has_a_reason(seed: int) -> None:
    found = assessor_agreements(random_panel(seed), bootstrap=Bootstrap(20))
    estimates = [
        one for group in found.groups for one in [*group.estimates.values(), *group.by_grade.values()]
    ]
    for one in [*estimates, *(r.share for r in found.rejections)]:
        assert np.isnan(one.value) <= bool(one.reason)
        assert np.isnan(one.low) == np.isnan(one.high) == bool(one.reason)
    for talk in found.topics:
        assert (np.isnan(talk.overlap) or np.isnan(talk.kappa)) == bool(talk.reason)


def test_one_assessor_is_refused() -> None:
    with pytest.raises(DataError, match=r"one assessor \(A\); agreement needs at least two"):
        assessor_agreements(panel_of([[1], [0]]))


# -- intervals -------------------------------------------------------------------------------------


def test_one_topic_has_a_value_and_no_interval() -> None:
    kappa = (
        assessor_agreements(panel_of([[1, 1], [0, 1], [0, 0]]), bootstrap=Bootstrap(10))
        .groups[0]
        .estimates["kappa"]
    )
    assert not np.isnan(kappa.value)
    assert np.isnan(kappa.low)
    assert kappa.reason == "one topic: no interval"


def test_intervals_are_those_of_topics_drawn_again_by_brute_force() -> None:
    panel = random_panel(3, topics=12)
    found = assessor_agreements(panel, bootstrap=Bootstrap(4000, seed=5)).groups[0]
    values = found.overlaps[~np.isnan(found.overlaps)]
    rng = np.random.default_rng(1)
    means = rng.choice(values, (4000, len(values))).mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    overlap = found.estimates["overlap"]
    assert (overlap.low, overlap.high) == pytest.approx((low, high), abs=0.02)
    assert overlap.value == pytest.approx(values.mean())


def test_kappas_interval_draws_the_tables_of_topics() -> None:
    panel = random_panel(4, topics=12)
    found = assessor_agreements(panel, bootstrap=Bootstrap(3000, seed=5)).groups[0].estimates["kappa"]
    first, second = ((panel.grades[:, place] >= 1).astype(int) for place in (0, 1))
    both = ~np.isnan(panel.grades[:, :2]).any(axis=1)
    topics = [np.flatnonzero(both & (panel.topic == topic)) for topic in range(len(panel.topics))]
    rng = np.random.default_rng(1)
    drawn = []
    for _ in range(3000):
        rows = np.concatenate([topics[topic] for topic in rng.integers(0, len(topics), len(topics))])
        agreed = (first[rows] == second[rows]).mean()
        p, q = first[rows].mean(), second[rows].mean()
        drawn.append((agreed - p * q - (1 - p) * (1 - q)) / (1 - p * q - (1 - p) * (1 - q)))
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, [0.025, 0.975])), abs=0.02)


def test_topics_that_do_not_count_do_not_widen_an_interval() -> None:
    panel = random_panel(6, topics=10)
    longer = panel_of(
        [*panel.grades.tolist(), *[[1, NONE, NONE]] * 30],
        [*(panel.topics[row] for row in panel.topic), *(f"z{number}" for number in range(30))],
    )
    short, long = (
        assessor_agreements(one, bootstrap=Bootstrap(500)).groups[0].estimates["kappa"]
        for one in (panel, longer)
    )
    assert short == long


def test_a_seed_gives_the_same_intervals_and_another_others() -> None:
    panel = random_panel(2)
    first, again, other = (
        assessor_agreements(panel, bootstrap=Bootstrap(200, seed=seed)).everyone.estimates["overlap"]
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first.value == other.value
    assert first.low != other.low


def test_resamples_without_a_value_are_counted_and_said() -> None:
    # where topic 2 alone is drawn, twice, all is not relevant and kappa is not defined: one in four
    panel = panel_of([[1, 0], [1, 1], [0, 0], [0, 0]], ["1", "1", "1", "2"])
    kappa = assessor_agreements(panel, bootstrap=Bootstrap(4000)).groups[0].estimates["kappa"]
    assert kappa.left_out == pytest.approx(1000, abs=120)
    assert kappa.resamples + kappa.left_out == 4000
    assert not np.isnan(kappa.low)
    assert kappa.remark == (
        f"{kappa.left_out:,} of 4,000 resamples of topics have no value; the interval is that of the others"
    )
    assert assessor_agreements(panel, bootstrap=Bootstrap(50)).groups[0].estimates["agreement"].remark == ""


def test_a_wider_level_of_confidence_gives_a_wider_interval() -> None:
    values = np.random.default_rng(0).random(30)
    wide, narrow = (Bootstrap(1000, alpha, 0).mean(values, "") for alpha in (0.01, 0.2))
    assert wide.low < narrow.low < narrow.value < narrow.high < wide.high
