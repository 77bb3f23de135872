"""Kappa and alpha: by hand, as published, against statsmodels, and against their definitions by brute force."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.agree.panels import NONE, random_panel
from tests.conftest import require

from sounding.statistics.assessor_agreement import (
    agreement_by_grade,
    cohen_kappa,
    coincidences,
    confusions,
    fleiss_kappa,
    krippendorff_alpha,
    observed_agreement,
    weighted_kappa,
)

inter_rater = require("statsmodels.stats.inter_rater")

Floats = NDArray[np.float64]
ONE = np.zeros(400, np.int64)  # every document is of topic 0

# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", data of section C: 12 units, 4 observers.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NONE, NONE, NONE],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NONE, 3],
        [NONE, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NONE],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NONE],
    ]
).T
# Fleiss (1971) as Wikipedia works it: 10 subjects, 14 raters, 5 categories.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip


def pairs_of(grades: Floats, *, complete: bool = False) -> Floats:
    scale = np.unique(grades[~np.isnan(grades)])
    return coincidences(grades, scale, ONE[: len(grades)], 1, complete=complete)[0]


def test_cohens_kappa_by_hand() -> None:
    # agreement (20 + 15) / 50 = .7; chance 25/50 * 30/50 + 25/50 * 20/50 = .5; (.7 - .5) / (1 - .5) = .4
    assert float(cohen_kappa(np.array([[20.0, 5], [10, 15]]))) == pytest.approx(0.4)


def test_agreement_by_grade_by_hand() -> None:
    # grade 0: 2 * 20 / (25 + 30); grade 1: 2 * 15 / (25 + 20); grade 2 was never given
    found = agreement_by_grade(np.array([[20.0, 5, 0], [10, 15, 0], [0, 0, 0]]))
    assert found[:2] == pytest.approx([40 / 55, 30 / 45])
    assert np.isnan(found[2])


def test_fleiss_kappa_by_hand() -> None:
    # three assessors: (1, 1, 0), (0, 0, 0): agreement (1/3 + 1) / 2 = 2/3; shares 4/6, 2/6: chance 5/9
    grades = np.array([[1.0, 1, 0], [0, 0, 0]])
    assert float(fleiss_kappa(pairs_of(grades, complete=True))) == pytest.approx((2 / 3 - 5 / 9) / (4 / 9))


def test_fleiss_kappa_of_a_published_table() -> None:
    grades = np.array([np.repeat(np.arange(5.0), counts) for counts in FLEISS])
    found = float(fleiss_kappa(pairs_of(grades, complete=True)))
    assert found == pytest.approx(inter_rater.fleiss_kappa(np.array(FLEISS)))
    assert round(found, 3) == 0.210


def test_alpha_by_hand() -> None:
    # (0, 0), (0, 1), (1, 1): coincidences 00: 2, 01: 1, 10: 1, 11: 2; marginals 3 and 3 of 6
    # disagreement 2/6, by chance 2 * 3 * 3 / (6 * 5) = 18/30; 1 - (1/3) / (3/5) = 4/9
    grades = np.array([[0.0, 0], [0, 1], [1, 1]])
    assert float(krippendorff_alpha(pairs_of(grades))) == pytest.approx(4 / 9)
    assert float(krippendorff_alpha(pairs_of(grades), ordinal=True)) == pytest.approx(4 / 9)


def test_alpha_of_published_data() -> None:
    tables = pairs_of(PUBLISHED)
    assert round(float(krippendorff_alpha(tables)), 3) == 0.743
    assert round(float(krippendorff_alpha(tables, ordinal=True)), 3) == 0.815


def test_a_document_with_one_judgment_adds_nothing() -> None:
    assert pairs_of(PUBLISHED).sum() == np.count_nonzero(~np.isnan(PUBLISHED)) - 1  # the last unit has one


def test_complete_leaves_out_documents_that_somebody_did_not_judge() -> None:
    assert pairs_of(PUBLISHED, complete=True).sum() == 4 * 8


@pytest.mark.parametrize("seed", range(5))
def test_cohens_kappa_is_statsmodels_for_each_topic_and_all(seed: int) -> None:
    panel = random_panel(seed)
    scale = panel.scale()
    tables = confusions(panel.grades[:, 0], panel.grades[:, 1], scale, panel.topic, len(panel.topics))
    for table in [*tables[2:], tables.sum(axis=0)]:
        theirs = inter_rater.cohens_kappa(table, return_results=False)
        assert float(cohen_kappa(table)) == pytest.approx(float(theirs))
    first, second = panel.grades[:, 0], panel.grades[:, 1]
    both = ~np.isnan(first) & ~np.isnan(second)
    assert tables.sum() == both.sum()
    assert float(observed_agreement(tables.sum(axis=0))) == pytest.approx((first == second)[both].mean())


@pytest.mark.parametrize("scale", [[0.0, 1, 2], [0.0, 1, 4]])
def test_weighted_kappa_is_statsmodels_on_any_scale(scale: list[float]) -> None:
    panel = random_panel(5)
    tables = confusions(panel.grades[:, 0], panel.grades[:, 1], panel.scale(), panel.topic, len(panel.topics))
    for table in [*tables[2:], tables.sum(axis=0)]:
        theirs = inter_rater.cohens_kappa(table, np.array(scale), return_results=False, wt="quadratic")
        assert float(weighted_kappa(table, np.array(scale))) == pytest.approx(float(theirs))


@pytest.mark.parametrize("seed", range(5))
def test_fleiss_kappa_is_statsmodels(seed: int) -> None:
    panel = random_panel(seed)
    rows = ~np.isnan(panel.grades).any(axis=1)
    counts, _ = inter_rater.aggregate_raters(panel.grades[rows])
    tables = coincidences(panel.grades, panel.scale(), panel.topic, len(panel.topics), complete=True)
    assert float(fleiss_kappa(tables.sum(axis=0))) == pytest.approx(inter_rater.fleiss_kappa(counts))


def alpha_by_definition(grades: Floats, *, ordinal: bool) -> float:
    """1 - observed / expected disagreement, pair of judgments by pair of judgments."""
    units = [row[~np.isnan(row)] for row in grades]
    units = [unit for unit in units if len(unit) > 1]
    values = np.concatenate(units)

    def distance(one: float, other: float) -> float:
        if not ordinal:
            return float(one != other)
        low, high = min(one, other), max(one, other)
        between = np.count_nonzero((values >= low) & (values <= high))
        ends = (np.count_nonzero(values == low) + np.count_nonzero(values == high)) / 2
        return float((between - ends) ** 2) if low != high else 0.0

    seen = sum(
        sum(distance(one, other) for one, other in permutations(unit.tolist(), 2)) / (len(unit) - 1)
        for unit in units
    ) / len(values)
    chance = sum(distance(one, other) for one, other in permutations(values.tolist(), 2))
    return 1 - seen / (chance / (len(values) * (len(values) - 1)))


@pytest.mark.parametrize("ordinal", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_alpha_is_its_definition(seed: int, ordinal: bool) -> None:
    grades = random_panel(seed, topics=3, highest=3).grades
    expected = alpha_by_definition(grades, ordinal=ordinal)
    assert float(krippendorff_alpha(pairs_of(grades), ordinal=ordinal)) == pytest.approx(expected)


def test_tables_of_topics_add_up() -> None:
    panel = random_panel(7)
    by_topic = coincidences(panel.grades, panel.scale(), panel.topic, len(panel.topics))
    assert by_topic.sum(axis=0) == pytest.approx(pairs_of(panel.grades))


def of_two_grades(tables: Floats) -> Floats:
    return weighted_kappa(tables, np.array([0.0, 1.0]))


@pytest.mark.parametrize("coefficient", [cohen_kappa, fleiss_kappa, krippendorff_alpha, of_two_grades])
def test_a_single_grade_has_no_agreement_beyond_chance(coefficient: object) -> None:
    assert np.isnan(coefficient(np.array([[7.0, 0], [0, 0]])))  # type: ignore[operator]
    assert np.isnan(coefficient(np.zeros((2, 2))))  # type: ignore[operator]


def test_perfect_agreement_is_one_and_steady_contradiction_is_below_zero() -> None:
    same, contrary = np.array([[5.0, 0], [0, 5]]), np.array([[0.0, 5], [5, 0]])
    for coefficient in (cohen_kappa, fleiss_kappa, krippendorff_alpha):
        assert float(coefficient(same)) == pytest.approx(1)
        assert float(coefficient(contrary)) < 0
    assert float(cohen_kappa(contrary)) == pytest.approx(-1)
