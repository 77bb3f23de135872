"""Samples for `estimate`: aimed best, drawn with the probabilities they state, and documents nobody listed."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import polars
import pytest
from tests.estimate.replays import whole_frame
from tests.estimate.test_estimators import LISTS

import sounding
from sounding.core.errors import DataError, UnknownNameError
from sounding.core.policies import DEFAULT_POLICIES
from sounding.estimate.design import aimed_chances, design_sample, expected_variance, influences
from sounding.estimate.estimable import GainForm, form_of
from sounding.measures import parse
from sounding.runs.align import prepare

FORM = GainForm(
    "linear", None, lambda rank: np.reciprocal(rank.astype(np.float64)), lambda g: (g >= 1).astype(np.float64)
)
RUNS = {
    "a": {t: {f"d{d}": 30.0 - d for d in range(30)} for t in "12"},
    "b": {t: {f"d{d}": float(d) for d in range(30)} for t in "12"},
}


def test_documents_count_by_their_weights() -> None:
    # Document 3 is first in run 0 and second in run 1: 1 + 1/4; for the pair: (1 - 1/2) squared.
    assert influences(FORM, LISTS, 6) == pytest.approx([1, 1, 1 / 4, 1 + 1 / 4, 1, 1 / 9])
    assert influences(FORM, LISTS, 6, (0, 1)) == pytest.approx([1, 1, 1 / 4, 1 / 4, 1, 1 / 9])


def test_no_other_chances_of_the_same_sum_give_a_smaller_variance() -> None:
    squares = influences(FORM, LISTS, 6)
    best = aimed_chances([FORM], LISTS, 6, 3)
    assert best.sum() == pytest.approx(3)
    rng = np.random.default_rng(0)
    for _ in range(200):
        other = np.clip(best + rng.normal(0, 0.1, 6), 0.01, 1)
        other *= 3 / other.sum()
        if other.max() <= 1:
            assert (squares / other).sum() >= (squares / best).sum() - 1e-9


def test_every_document_that_counts_keeps_a_chance() -> None:
    # For the pair a and b of equal lists nothing matters; both runs still need every document.
    chances = aimed_chances([FORM], LISTS, 8, 2, (0, 0))
    assert (chances[:6] > 0).all()
    assert (chances[6:] == 0).all()
    assert aimed_chances([FORM], LISTS, 6, 50) == pytest.approx(np.ones(6))


def test_the_forecast_is_the_error_that_the_assumed_gains_would_have() -> None:
    labels = np.array([[0.0, 1, 0, 1, np.nan, 1]])
    variance, blind = expected_variance(FORM, labels, 6)
    assert variance == pytest.approx([3 / 16, 3 / 16, 3 / 16, 3 / 16, 1 / 4, 3 / 16])  # p of 1/4 and 3/4
    assert blind == 1 / 4
    design = design_sample([FORM], LISTS, labels, 6, 3)
    odds = (1 - design.chances) / design.chances * variance
    # Run 0 has documents 0 and 2 at ranks 1 and 2, 3 and 5 at 1 and 3; run 1 has 1, 4, 3 at 1, 1, 2.
    own = [odds[0] + odds[2] / 4 + odds[3] + odds[5] / 9, odds[1] + odds[4] + odds[3] / 4]
    assert design.run_error == pytest.approx(np.sqrt(np.median(own) / 4))
    pair = odds[0] + odds[1] + odds[2] / 4 + odds[3] / 4 + odds[4] + odds[5] / 9
    assert design.pair_error == pytest.approx(np.sqrt(pair / 4))
    assert design.pair_blind > design.pair_error


def test_the_forecast_is_about_right_on_a_collection_nobody_fitted_it_to() -> None:
    # Replays of 300 judgments have errors of .086 with labels by gpt-4, .101 with shuffled ones.
    frame, lists = whole_frame("gpt-4")
    form = form_of(parse("P(rel=2)@10"), prepare(frame.judgments, DEFAULT_POLICIES).judgments)
    design = design_sample([form], lists, frame.labels, frame.size, 300)
    assert design.pair_error == pytest.approx(0.086, rel=0.15)
    assert design.pair_blind == pytest.approx(0.101, rel=0.15)


def test_documents_that_no_file_lists_bias_nothing() -> None:
    """All samples of three documents; those not drawn appear nowhere, because there are no labels."""
    run = {"1": {"x": 3.0, "y": 2.0, "z": 1.0}}
    grades, chance = {"x": 1, "y": 0, "z": 1}, {"x": 0.5, "y": 0.8, "z": 0.4}
    # Certain documents of another topic, so that there are enough judgments.
    sure = {f"c{n:02}": n % 2 for n in range(20)}
    lists = {"s": {**run, "2": {doc: 1.0 * n for n, doc in enumerate(sure)}}}
    mean = 0.0
    for chosen in product([False, True], repeat=3):
        drawn = [doc for doc, own in zip(grades, chosen, strict=True) if own]
        weight = np.prod([chance[d] if own else 1 - chance[d] for d, own in zip(grades, chosen, strict=True)])
        rows = [("1", doc, grades[doc], chance[doc]) for doc in drawn]
        rows += [("2", doc, grade, 1.0) for doc, grade in sure.items()]
        columns = dict(zip(("topic", "doc", "grade", "probability"), zip(*rows, strict=True), strict=True))
        own = sounding.estimate(polars.DataFrame(columns), lists, ["P@3"]).estimates[0]
        topic = own.values[0, 0] if len(own.values[0]) == 2 else 0.0
        mean += float(weight) * topic
    assert mean == pytest.approx(2 / 3)


def test_the_sample_in_python_and_what_it_refuses(tmp_path: Path) -> None:
    labels = {t: {f"d{d}": d % 2 for d in range(20)} for t in "12"}
    own = sounding.pool(RUNS, strategy="for-estimate", budget=30, labels={"m": labels}, measures="P@10")
    assert own.aimed is not None
    # Ten documents of each list; those from 20 to 29 have no label.
    assert own.aimed.documents == 20
    assert own.aimed.unlabeled == 20
    assert [pick.probability for pick in own.picks] == [1.0] * 20
    less = sounding.pool(RUNS, strategy="for-estimate", budget=20, measures="P@10")
    more = sounding.pool(RUNS, strategy="for-estimate", budget=30, measures="P@10")
    assert {pick.document for pick in less.picks} < {pick.document for pick in more.picks}
    with pytest.raises(DataError, match="at least 20"):
        sounding.pool(RUNS, strategy="for-estimate", budget=10)
    with pytest.raises(DataError, match="no document of the runs has a label"):
        sounding.pool(RUNS, strategy="for-estimate", budget=30, labels={"m": {"9": {"x": 1}}})
    with pytest.raises(UnknownNameError, match="c"):
        sounding.pool(RUNS, strategy="for-estimate", budget=30, pair=("a", "c"))
