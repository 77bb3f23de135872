"""Judgments that tell two lists of a topic apart; each run left out, and put back."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kendalltau, pearsonr
from tests.selection.small import draw_grades, draw_runs
from tests.simulate.test_trial import qrels_of

from sounding.measures.forms import form_of
from sounding.runs.retrieved import NONE, Retrieved, read_retrieved
from sounding.selection.mtc.session import Session, SessionParameters
from sounding.simulate.experiments import ListPair, correlations, list_pairs, prior_when_back, reuse
from sounding.simulate.trial import TrialSetup, Truth

PAPER = SessionParameters(prior="0.5", selection="faithful", confidence="normal", depth=6)


def truth_of(retrieved: Retrieved, seed: int, depth: int = 6) -> Truth:
    qrels = qrels_of(retrieved, dict(enumerate(draw_grades(seed, retrieved))))
    return Truth.of(retrieved, qrels, form_of("AP", depth))


def test_every_pair_of_different_lists_comes_once() -> None:
    retrieved = draw_runs(3)
    found = list_pairs(TrialSetup(retrieved, truth_of(retrieved, 3), PAPER), most=1000)
    lists = retrieved.cut(6).lists
    wanted = {
        (retrieved.topics[topic], retrieved.runs[a], retrieved.runs[b])
        for topic in range(len(retrieved.topics))
        for a in range(5)
        for b in range(a + 1, 5)
        if NONE not in (lists[a, topic, 0], lists[b, topic, 0])
        and lists[a, topic].tolist() != lists[b, topic].tolist()
    }
    assert {(pair.topic, pair.run, pair.other) for pair in found} == wanted
    assert len(found) == len(wanted)
    few = list_pairs(TrialSetup(retrieved, truth_of(retrieved, 3), PAPER, seeds=[2]), most=4)
    assert len(few) == 4
    assert set(few) <= set(found)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_pair_is_judged_as_a_session_of_its_own_would_be(seed: int) -> None:
    retrieved = draw_runs(seed)
    grades, truth = draw_grades(seed, retrieved), truth_of(retrieved, seed)
    for pair in list_pairs(TrialSetup(retrieved, truth, PAPER, sure=0.9), most=6):
        topic = retrieved.topics.index(pair.topic)
        runs = [retrieved.runs.index(name) for name in (pair.run, pair.other)]
        names = {
            run: {
                pair.topic: {
                    retrieved.docs.text(int(number)): -float(rank)
                    for rank, number in enumerate(retrieved.lists[run, topic, :6])
                    if number != NONE
                }
            }
            for run in runs
        }
        alone = read_retrieved({str(run): lists for run, lists in names.items()})
        number = {
            retrieved.docs.text(place): place
            for place in range(*retrieved.starts[topic : topic + 2].tolist())
        }
        session = Session(alone, prior="0.5", selection="faithful", confidence="normal", depth=6)
        gap = truth.by_topic[topic, runs[0]] - truth.by_topic[topic, runs[1]]
        assert pair.difference == pytest.approx(abs(gap))
        ranks = [{doc: place + 1 for place, doc in enumerate(lists[pair.topic])} for lists in names.values()]
        every = set(ranks[0]) | set(ranks[1])
        distance = sum(abs(_inverse(ranks[0], doc) - _inverse(ranks[1], doc)) for doc in every)
        assert pair.distance == pytest.approx(distance)
        steps = 0
        while session.confidence().of_ranking() < 0.9 and session.next():
            document = session.next()[0].document
            session.judge(document, grades[number[alone.docs.text(document)]])
            steps += 1
        reached = session.confidence().of_ranking() >= 0.9
        assert pair.judgments == (steps if reached else None)
        if reached and gap:
            values = session.confidence().values
            assert pair.right == (np.sign(values[0] - values[1]) == np.sign(gap))


def _inverse(ranks: dict[str, int], doc: str) -> float:
    return 1 / ranks[doc] if doc in ranks else 0.0


def test_two_lists_by_hand() -> None:
    # One list has the document, the other another: with the first relevant and the second not, no doubt is left.
    retrieved = read_retrieved({"x": {"1": {"a": 1.0}}, "y": {"1": {"b": 1.0}}})
    truth = Truth.of(retrieved, qrels_of(retrieved, {0: 1.0, 1: 0.0}), form_of("AP", 6))
    (pair,) = list_pairs(TrialSetup(retrieved, truth, PAPER), most=9)
    assert pair == ListPair("1", "x", "y", 1.0, 2.0, 2, True)


def test_lists_that_are_equal_in_truth_may_never_be_told_apart() -> None:
    retrieved = read_retrieved({"x": {"1": {"a": 2.0, "b": 1.0}}, "y": {"1": {"a": 2.0, "c": 1.0}}})
    truth = Truth.of(retrieved, qrels_of(retrieved, {0: 1.0, 1: 0.0, 2: 0.0}), form_of("AP", 6))
    (pair,) = list_pairs(TrialSetup(retrieved, truth, PAPER), most=9)
    assert (pair.judgments, pair.right, pair.difference) == (None, None, 0.0)


def test_correlations_are_those_of_the_pairs_told_apart() -> None:
    rng = np.random.default_rng(0)
    found = [
        ListPair("t", "a", "b", float(rng.random()), float(rng.random()), int(rng.integers(1, 9)), True)
        for _ in range(20)
    ]
    known = correlations([*found, ListPair("t", "a", "b", 9.0, 9.0, None, None)])
    judgments = [float(pair.judgments or 0) for pair in found]
    difference, distance = [pair.difference for pair in found], [pair.distance for pair in found]
    assert known[0] == pytest.approx(pearsonr(difference, judgments).statistic)
    assert known[1] == pytest.approx(pearsonr(distance, judgments).statistic)
    assert known[2] == pytest.approx(pearsonr(difference, distance).statistic)
    assert np.isnan(correlations(found[:1])).all()


@pytest.mark.parametrize("prior", ["0.5", "runs"])
def test_judgments_are_collected_without_the_run_and_all_are_ranked_with_them(prior: str) -> None:
    retrieved = draw_runs(4, topics=6)
    truth = truth_of(retrieved, 4)
    grades = draw_grades(4, retrieved)
    rows = reuse(TrialSetup(retrieved, truth, SessionParameters(prior=prior, depth=6), seeds=[3]), [5, 12])
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
    rows = reuse(TrialSetup(retrieved, truth_of(retrieved, 5), SessionParameters(depth=6)), [3, 10_000])
    assert {row.judgments for row in rows} == {3}


@pytest.mark.parametrize(("prior", "wanted"), [("0.5", "rate"), ("runs", "runs"), ("rank", "rank")])
def test_one_number_for_all_documents_gives_way_to_their_rate(prior: str, wanted: str) -> None:
    assert prior_when_back(prior) == wanted
