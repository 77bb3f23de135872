"""Judging replayed: what the rows say, against the measures themselves."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from scipy.stats import kendalltau
from tests.selection.small import draw_grades, draw_runs

from sounding.data.formats import read_qrels
from sounding.data.tables import Qrels
from sounding.evaluate.evaluation import evaluate
from sounding.runs.retrieved import NONE, Retrieved
from sounding.selection.mtc.session import Session
from sounding.selection.strategies import make_strategy
from sounding.simulate.trial import Checkpoint, Truth, doublings, trial_looks, values_so_far

DEPTH = 6


def run_trial(*words: Any, **named: Any) -> list[Checkpoint]:
    """The rows of a trial, without the states at them."""
    return [look.row for look in trial_looks(*words, **named)]


def as_dicts(retrieved: Retrieved, depth: int) -> dict[str, dict[str, dict[str, float]]]:
    """The first documents of every run, as runs of their own."""
    return {
        name: {
            topic: {
                retrieved.docs.text(int(number)): -float(rank)
                for rank, number in enumerate(numbers[:depth])
                if number != NONE
            }
            for topic, numbers in zip(retrieved.topics, lists, strict=True)
            if numbers[0] != NONE
        }
        for name, lists in zip(retrieved.runs, retrieved.lists, strict=True)
    }


def qrels_of(retrieved: Retrieved, judged: dict[int, float], more: bool = False) -> Qrels:
    table: dict[str, dict[str, float]] = {topic: {} for topic in retrieved.topics}
    for document, grade in judged.items():
        table[retrieved.topics[retrieved.topic[document]]][retrieved.docs.text(document)] = grade
    if more:
        table[retrieved.topics[0]]["nowhere"] = 2
    return read_qrels({topic: docs for topic, docs in table.items() if docs})


def test_the_truth_is_the_measure_at_the_depth_with_all_judgments() -> None:
    retrieved = draw_runs(3)
    qrels = qrels_of(retrieved, dict(enumerate(draw_grades(3, retrieved))), more=True)
    session = Session(retrieved, depth=DEPTH)
    truth = Truth.of(retrieved, qrels, session.form)
    wanted = evaluate(qrels, as_dicts(retrieved, DEPTH), ["AP"]).mean()[:, 0]
    np.testing.assert_allclose(truth.values, wanted, atol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_plain_values_and_bpref_are_those_of_an_evaluation_with_the_judgments_so_far(seed: int) -> None:
    retrieved = draw_runs(seed)
    grades = draw_grades(seed, retrieved)
    session = Session(retrieved, depth=DEPTH)
    judged: dict[int, float] = {}
    for _ in range(20):
        document = session.next()[0].document
        judged[document] = grades[document]
        session.judge(document, grades[document])
    known = np.full(len(retrieved.docs), np.nan)
    known[list(judged)] = list(judged.values())
    plain, bpref = values_so_far(session, known)
    qrels = qrels_of(retrieved, judged)
    scores = evaluate(qrels, as_dicts(retrieved, DEPTH), ["AP", "Bpref"])
    # Topics of which nothing is judged are not in the qrels and count 0 here.
    share = len(qrels.topics) / len(retrieved.topics)
    np.testing.assert_allclose(plain, scores.mean()[:, 0] * share, atol=1e-12)
    np.testing.assert_allclose(bpref, scores.mean()[:, 1] * share, atol=1e-12)


def test_rows_say_how_things_stood() -> None:
    retrieved = draw_runs(5, topics=6)
    grades = draw_grades(5, retrieved)
    qrels = qrels_of(retrieved, dict(enumerate(grades)))
    session = Session(retrieved, depth=DEPTH, prior="rate", seed=4)
    truth = Truth.of(retrieved, qrels, session.form)
    ticks: list[int] = []
    rows = run_trial(session, truth, [3, 10, 25], name="ours", sure=0.8, progress=ticks.append)
    assert [(row.strategy, row.seed, row.judgments) for row in rows] == [("ours", 4, n) for n in (3, 10, 25)]
    assert sum(ticks) == 25
    other = Session(retrieved, depth=DEPTH, prior="rate", seed=4)
    found = 0
    for _ in range(25):
        document = other.next()[0].document
        other.judge(document, grades[document])
        found += grades[document] >= 1
    assert session.state() == other.state()
    given = [(document, grade) for document, grade in other.state()["judgments"]]
    sure = Session(retrieved, depth=DEPTH, prior="rate", seed=4, given=given).confidence()
    assert (other.version, sure.version) == (16, 25)
    last = rows[-1]
    assert last.relevant == found
    assert last.confidence == sure.of_ranking()
    assert last.tau_expected == pytest.approx(kendalltau(sure.values, truth.values).statistic)
    pairs = [(a, b) for a, b in combinations(range(5), 2) if truth.values[a] != truth.values[b]]
    same = {
        (a, b): (sure.values[a] > sure.values[b]) == (truth.values[a] > truth.values[b]) for a, b in pairs
    }
    claims = [pair for pair in pairs if sure.of_pairs()[pair] >= 0.8]
    assert last.accuracy == pytest.approx(sum(same.values()) / len(pairs))
    assert last.claimed == pytest.approx(len(claims) / len(pairs))
    assert last.right == pytest.approx(sum(same[pair] for pair in claims) / len(claims))


def test_another_strategy_chooses_and_the_confidence_knows_its_judgments() -> None:
    retrieved = draw_runs(6)
    qrels = qrels_of(retrieved, dict(enumerate(draw_grades(6, retrieved))))
    session = Session(retrieved, depth=8)
    strategy = make_strategy("rank", retrieved)
    truth = Truth.of(retrieved, qrels, session.form)
    (look,) = trial_looks(session, truth, [5], strategy=strategy)
    for document in look.documents:
        session.judge(document, float(truth.grades[document]))
    sure = session.up_to_date().confidence()
    np.testing.assert_array_equal(look.confidence.not_above, sure.not_above)
    np.testing.assert_array_equal(look.confidence.values, sure.values)
    again = make_strategy("rank", retrieved)
    wanted = []
    for _ in range(5):
        document = again.next()[0].document
        wanted.append(document)
        again.judge(document, 0.0)
    assert look.documents == wanted


def test_rows_end_where_nothing_is_left() -> None:
    retrieved = draw_runs(7)
    qrels = qrels_of(retrieved, dict(enumerate(draw_grades(7, retrieved))))
    session = Session(retrieved, depth=DEPTH, prior="0.5", confidence="normal")
    number = len({int(n) for n in retrieved.cut(DEPTH).lists.ravel() if n != NONE})
    rows = run_trial(session, Truth.of(retrieved, qrels, session.form), [number, number + 1])
    assert [row.judgments for row in rows] == [number]
    # Relevant documents below the depth are in the truth alone, so it need not be reached.
    assert rows[0].tau_expected == rows[0].tau_plain


@pytest.mark.parametrize(("most", "wanted"), [(0, []), (1, [1]), (5, [1, 2, 4, 5]), (8, [1, 2, 4, 8])])
def test_checkpoints_double(most: int, wanted: list[int]) -> None:
    assert doublings(most) == wanted


def test_rows_say_what_it_cost_and_what_a_pool_would_have_judged() -> None:
    retrieved = draw_runs(8, topics=5)
    qrels = qrels_of(retrieved, dict(enumerate(draw_grades(8, retrieved))))
    session = Session(retrieved, depth=DEPTH)
    truth = Truth.of(retrieved, qrels, session.form)
    (row,) = run_trial(session, truth, [11])
    best = retrieved.cut(DEPTH).best_ranks()
    counts = [document for document in range(len(best)) if best[document]]
    pool = sorted(counts, key=lambda document: (best[document], document))
    assert truth.pool.tolist() == pool
    judged = {document for document, _ in session.state()["judgments"]}
    assert row.cost == pytest.approx(11 / len(pool))
    assert row.overlap == pytest.approx(len(judged & set(pool[:11])) / 11)


@pytest.mark.parametrize("number", [2, 25])
def test_rows_say_how_many_runs_are_in_their_bin(number: int) -> None:
    retrieved = draw_runs(27, topics=12)
    qrels = qrels_of(retrieved, dict(enumerate(draw_grades(27, retrieved))))
    session = Session(retrieved, depth=DEPTH)
    truth = Truth.of(retrieved, qrels, session.form)
    assert truth.bins is not None
    assert truth.bins.tolist() == [0, 1, 1, 0, 2]
    (row,) = run_trial(session, truth, [number])
    places = sorted(range(5), key=lambda run: -session.up_to_date().confidence().values[run])
    right = sum(truth.bins[run] == wanted for run, wanted in zip(places, [0, 0, 1, 1, 2], strict=True))
    assert row.bins == pytest.approx(right / 5)


def test_one_topic_has_no_bins() -> None:
    retrieved = draw_runs(2, topics=1)
    qrels = qrels_of(retrieved, {0: 1.0})
    session = Session(retrieved, depth=DEPTH)
    truth = Truth.of(retrieved, qrels, session.form)
    assert truth.bins is None
    assert np.isnan(run_trial(session, truth, [1])[0].bins)


def test_the_last_row_is_where_nothing_is_left() -> None:
    retrieved = draw_runs(7)
    qrels = qrels_of(retrieved, dict(enumerate(draw_grades(7, retrieved))))
    session = Session(retrieved, depth=DEPTH, prior="0.5", confidence="normal")
    truth = Truth.of(retrieved, qrels, session.form)
    rows = run_trial(session, truth, [2, 10_000])
    assert [row.judgments for row in rows] == [2, len(truth.pool)]
    assert rows[-1].cost == rows[-1].overlap == 1


def test_relevant_documents_of_the_truth_are_those_of_the_qrels() -> None:
    retrieved = draw_runs(3)
    grades = draw_grades(3, retrieved)
    qrels = qrels_of(retrieved, dict(enumerate(grades)), more=True)
    truth = Truth.of(retrieved, qrels, Session(retrieved, depth=DEPTH).form)
    wanted = np.bincount(retrieved.topic[np.array(grades) >= 1], minlength=4)
    wanted[0] += 1
    assert truth.relevant.tolist() == wanted.tolist()
