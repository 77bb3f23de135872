"""Judgments that were made for other runs: each run left out, and put back."""

from __future__ import annotations

import pytest
from scipy.stats import kendalltau
from tests.selection.small import draw_grades, draw_runs
from tests.simulate.test_list_pairs import truth_of

from sounding.selection.mtc.session import Session, SessionParameters
from sounding.simulate.reuse import prior_when_back, reuse


@pytest.mark.parametrize("prior", ["0.5", "runs"])
def test_judgments_are_collected_without_the_run_and_all_are_ranked_with_them(prior: str) -> None:
    retrieved = draw_runs(4, topics=6)
    truth = truth_of(retrieved, 4)
    grades = draw_grades(4, retrieved)
    rows = reuse(retrieved, truth, SessionParameters(prior=prior, depth=6), [5, 12], seeds=[3])
    assert [(row.run, row.judgments) for row in rows] == [
        (run, number) for run in retrieved.runs for number in (5, 12)
    ]
    row = rows[2 * 2 + 1]
    session = Session(retrieved.pick([0, 1, 3, 4]), prior=prior, depth=6, seed=3)
    judged = []
    for _ in range(12):
        document = session.next()[0].document
        judged.append((document, grades[document]))
        session.judge(*judged[-1])
    others = Session(retrieved.pick([0, 1, 3, 4]), prior=prior, depth=6, seed=3, given=judged)
    back = "rate" if prior == "0.5" else prior
    every = Session(retrieved, prior=back, depth=6, seed=3, given=judged).confidence()
    assert row.without == others.confidence().of_ranking()
    assert row.confidence == every.of_ranking()
    assert row.tau == pytest.approx(kendalltau(every.values, truth.values).statistic)
    assert row.place == 1 + sum(value > every.values[2] for value in every.values)
    assert row.true_place == 1 + sum(value > truth.values[2] for value in truth.values)


def test_rows_end_where_the_others_have_nothing_left() -> None:
    retrieved = draw_runs(5)
    rows = reuse(retrieved, truth_of(retrieved, 5), SessionParameters(depth=6), [3, 10_000])
    assert {row.judgments for row in rows} == {3}


@pytest.mark.parametrize(("prior", "wanted"), [("0.5", "rate"), ("runs", "runs"), ("rank", "rank")])
def test_one_number_for_all_documents_gives_way_to_their_rate(prior: str, wanted: str) -> None:
    assert prior_when_back(prior) == wanted
