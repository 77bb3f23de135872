"""What each assessor favors: grades by hand, and what it does to the best systems."""

from __future__ import annotations

import numpy as np
import pytest
from tests.agree.panels import NONE, made, panel_of, random_panel, random_runs

from sounding.agree import reasons
from sounding.agree.agreement import grade_biases
from sounding.agree.resampling import resample, top_effects
from sounding.agree.study import agree
from sounding.statistics.assessor_agreement import Bootstrap


def test_bias_by_hand() -> None:
    # A gives 1, 1, 0 where others give (0, 1), (1), (0, 0); the last document only A judged
    panel = panel_of([[1, 0, 1], [1, NONE, 1], [0, 0, 0], [1, NONE, NONE]], ["1", "1", "2", "2"])
    found = {(one.assessor, one.grade): one for one in grade_biases(panel, bootstrap=Bootstrap(10))}
    relevant = found["A", 1]
    assert relevant.documents == 3
    assert relevant.given == pytest.approx(2 / 3)
    assert relevant.by_others == pytest.approx((1 / 2 + 1 + 0) / 3)
    assert relevant.bias.value == pytest.approx(2 / 3 - 1 / 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_biases_of_an_assessor_add_up_to_nothing(seed: int) -> None:
    found = grade_biases(random_panel(seed), bootstrap=Bootstrap(20))
    for assessor in "ABC":
        mine = [one for one in found if one.assessor == assessor]
        assert sum(one.bias.value for one in mine) == pytest.approx(0)
        assert sum(one.given for one in mine) == pytest.approx(1)
        assert all(one.bias.low <= one.bias.value <= one.bias.high for one in mine)


def test_who_shares_no_document_with_others_has_no_bias_and_a_reason() -> None:
    (first, *_) = grade_biases(panel_of([[1, NONE], [NONE, 0]]), bootstrap=Bootstrap(10))
    assert np.isnan(first.given)
    assert first.bias.reason == reasons.NOT_COMPARED


def test_the_effect_on_the_best_systems_by_hand() -> None:
    values = np.zeros((5, 1, 4, 2))
    values[0, 0] = np.array([0.50, 0.40, 0.30, 0.10])[:, np.newaxis]  # P
    values[1, 0] = np.array([0.50, 0.40, 0.30, 0.10])[:, np.newaxis]  # A
    values[2, 0] = np.array([0.30, 0.45, 0.30, 0.90])[:, np.newaxis]  # B
    # means over assessors: .433, .417, .3, .367: the best three are s00, s01, s03
    found = {one.assessor: one for one in top_effects(resample(made(values), 0), top=3)}
    machine = found["B"]
    assert machine.top == 3
    assert machine.shift == pytest.approx((-0.2 + 0.05 + 0.8) / 3)
    assert machine.tau == pytest.approx(-1)  # others: s00 s01 s03; B: s03 s01 s00
    assert (machine.best, machine.best_by_others) == ("s03", "s00")
    assert machine.favored == "s03"
    assert machine.favor == pytest.approx(0.8 - 0.65 / 3)
    assert machine.places == 2
    assert machine.moved == "s00"


def test_an_assessor_who_agrees_moves_nothing() -> None:
    values = np.zeros((4, 1, 3, 2))
    values[:, 0] = np.array([0.5, 0.4, 0.3])[:, np.newaxis]
    (first, _) = top_effects(resample(made(values), 0))
    assert (first.moved, first.places, first.tau, first.shift) == ("none", 0, 1, 0)


def test_one_system_and_tied_systems_say_why_they_have_no_tau() -> None:
    values = np.zeros((4, 1, 3, 2))
    values[:, 0] = np.array([0.5, 0.4, 0.3])[:, np.newaxis]
    values[1] = 0.2
    effect = resample(made(values), 0)
    (first, second) = top_effects(effect)
    assert np.isnan(first.tau)
    assert first.reason == "all systems tie by the others"
    assert second.reason == "all systems tie by A"
    (alone, _) = top_effects(effect, top=1)
    assert alone.reason == reasons.ONE_SYSTEM
    assert (alone.moved, alone.places) == ("none", 0)


def test_a_study_fills_what_others_were_not_shown_everywhere() -> None:
    panel = random_panel(5)
    runs = random_runs(panel, 3, seed=1)
    study = agree(panel, runs, ["AP"], outside="primary", resamples=20, samples=100)
    assert sum(study.panel.filled) > 0
    assert study.agreements.panel is study.panel
    assert len(study.effects) == len(study.tops) == 1
    assert agree(panel, resamples=20).effects == ()
