"""Shallower pools against evaluating each cut pool from scratch, and reversals by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.measures.regrading_data import draw_qrels, draw_runs

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.formats import read_qrels
from sounding.data.run_info import read_run_info
from sounding.data.tables import Qrels, Run
from sounding.depth import fewer_judgments as pools
from sounding.depth.fewer_judgments import PoolDepths, pool_depths
from sounding.evaluate.evaluation import evaluate
from sounding.measures.regrading import read_regrading
from sounding.runs.pairs import all_pairs
from sounding.runs.pool import cut_pool, judgments_at_depth
from sounding.runs.retrieved import read_retrieved
from sounding.statistics.pairwise import Procedure
from sounding.statistics.rank_correlation import rank_agreement

MEASURES = ("AP", "bpref", "nDCG@5", "P@3", "infAP", "Compat", "AP(norm='c')@3", "ERR", "Q")
DEPTHS = (2, 1, 5)


def drawn(seed: int = 0, policies: Policies | None = None) -> tuple[PoolDepths, Qrels, list[Run]]:
    qrels, runs = draw_qrels(seed), draw_runs(seed + 100)
    regrading = read_regrading(qrels, runs, policies=policies or Policies())
    contributors = read_retrieved(runs[:3], topics=qrels.topics)
    return pool_depths(regrading, MEASURES, DEPTHS, contributors=contributors), qrels, runs


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "policies",
    [
        Policies(),
        Policies(unjudged="condensed"),
        Policies(missing="skip", negative="split"),
        Policies(depth=7, negative="nonrelevant"),
    ],
    ids=lambda policies: policies.describe(),
)
def test_values_are_those_of_evaluating_each_cut_pool(seed: int, policies: Policies) -> None:
    found, qrels, runs = drawn(seed, policies)
    contributors = read_retrieved(runs[:3], topics=qrels.topics)
    assert found.depths == (1, 2, 5)
    for place, depth in enumerate(found.depths):
        cut = cut_pool(qrels, contributors, depth)
        expected = evaluate(cut, runs, MEASURES, policies=policies)
        np.testing.assert_allclose(found.values[place], expected.values, atol=1e-12)
        np.testing.assert_allclose(found.means[place], expected.mean(), atol=1e-12)
    whole = replace(qrels, pool_ranks=contributors.pool_ranks(qrels))
    np.testing.assert_allclose(
        found.values[-1], evaluate(whole, runs, MEASURES, policies=policies).values, atol=1e-12
    )


def test_averaged_ties_have_no_order_that_a_pool_could_be_cut_from() -> None:
    with pytest.raises(DataError, match="ties=average gives no order of documents"):
        read_regrading(draw_qrels(3), draw_runs(4), policies=Policies(ties="average"))


def test_judgments_and_agreement_are_those_of_each_pool() -> None:
    found, qrels, runs = drawn(1)
    contributors = read_retrieved(runs[:3], topics=qrels.topics)
    for place, depth in enumerate(found.depths):
        cut = cut_pool(qrels, contributors, depth)
        assert found.judgments[place] == np.count_nonzero(cut.grades >= 0)
        assert found.relevant[place] == np.count_nonzero(cut.grades >= 1)
        for number, name in enumerate(pools.COEFFICIENTS):
            for column in range(len(found.measures)):
                expected = rank_agreement(found.means[-1, :, column], found.means[place, :, column], name)
                assert found.agreement[number, place, column] == pytest.approx(expected.value, nan_ok=True)
    assert found.judgments[-1] == np.count_nonzero(qrels.grades >= 0)
    assert (found.moved[-1] == 0).all()
    assert (found.moved[0] > 0).any()


def test_orders_and_claims_are_those_of_the_test_of_each_pool() -> None:
    qrels, runs = draw_qrels(8, topics=12), draw_runs(9, topics=12)
    procedure = Procedure(test="t", correction="none", alpha=0.4)
    contributors = read_retrieved(runs[:2], topics=qrels.topics)
    found = pool_depths(
        read_regrading(qrels, runs), ["AP", "P@3"], [1, 3], contributors=contributors, procedure=procedure
    )
    pairs = all_pairs(len(runs))
    outcomes = [
        [procedure.apply(found.values[pool, :, measure], pairs) for measure in range(2)] for pool in range(3)
    ]
    totals = np.zeros(4, int)
    for pool in range(3):
        for measure in range(2):
            now, whole = outcomes[pool][measure], outcomes[2][measure]
            for place in range(len(pairs)):
                gap, full = now.difference[place], whole.difference[place]
                opposite = abs(gap) > 1e-9 and abs(full) > 1e-9 and gap * full < 0
                claimed, holds = now.p[place] <= 0.4, whole.p[place] <= 0.4
                expected = (
                    opposite,
                    claimed and opposite,
                    claimed and not holds and not opposite,
                    holds and not claimed,
                )
                assert expected == (
                    found.reversed[pool, measure, place],
                    found.claims_reversed[pool, measure, place],
                    found.claims_lost[pool, measure, place],
                    found.claims_missed[pool, measure, place],
                )
                totals += expected
    assert (totals > 0).all()  # each kind occurs, or the test would show nothing


def test_a_reversal_worked_by_hand() -> None:
    # The pool of depth 1 of run a holds x, relevant: a is better. In the whole pool b has y and z too.
    topics = ["1", "2", "3"]
    first = Run.from_dict({topic: {"x": 2.0, "n": 1.0} for topic in topics}, name="a")
    second = Run.from_dict({topic: {"y": 2.0, "z": 1.0} for topic in topics}, name="b")
    qrels = Qrels.from_dict({topic: {"x": 1, "n": 0, "y": 1, "z": 1} for topic in topics})
    contributors = read_retrieved([first], topics=topics)
    found = pool_depths(read_regrading(qrels, [first, second]), ["P@2"], [1], contributors=contributors)
    assert found.means[:, :, 0].tolist() == [[0.5, 0.0], [0.5, 1.0]]
    assert found.order[:, 0, 0].tolist() == [1, -1]
    assert found.reversed[:, 0, 0].tolist() == [True, False]
    assert found.frame.select("pool_depth", "judgments", "relevant", "tau_b", "most_places", "reversed").rows() == [
        (1, 3, 3, -1.0, 1.0, 1),
        (None, 12, 9, 1.0, 0.0, 0),
    ]  # fmt: skip


def test_the_scale_stays_that_of_the_qrels_when_the_best_grade_falls_out_of_the_pool() -> None:
    # ERR takes the chance (2^g - 1) / 2^highest, and 2 is the highest grade of the qrels: 1/4 for x.
    runs = [Run.from_dict({topic: {"x": 2.0, "y": 1.0} for topic in "12"}, name=name) for name in "ab"]
    qrels = Qrels.from_dict({topic: {"x": 1, "y": 2} for topic in "12"})
    contributors = read_retrieved(runs, topics=qrels.topics)
    found = pool_depths(read_regrading(qrels, runs), ["ERR", "RBP"], [1], contributors=contributors)
    assert found.means[:, 0, 0] == pytest.approx([1 / 4, 1 / 4 + 1 / 2 * 3 / 4 * 3 / 4])
    assert found.means[0, 0, 1] == pytest.approx(1 / 2 * (1 - 0.8))
    cut = cut_pool(qrels, contributors, 1)  # the same answer wherever a pool is cut
    np.testing.assert_allclose(evaluate(cut, runs, ["ERR", "RBP"]).mean(), found.means[0])
    ranked, *_ = judgments_at_depth(replace(qrels, pool_ranks=contributors.pool_ranks(qrels)), runs, 1)
    np.testing.assert_allclose(evaluate(ranked, runs, ["ERR", "RBP"]).mean(), found.means[0])


def test_a_run_without_a_value_is_in_no_order() -> None:
    means = np.array([[0.5, np.nan, 0.25], [0.5, 0.5, 0.25]])
    assert pools._order(means, all_pairs(3)).tolist() == [[0, 1, 0], [0, 1, 1]]
    assert pools._order(-means, all_pairs(3)).tolist() == [[0, -1, 0], [0, -1, -1]]


def test_progress_counts_the_pools() -> None:
    _, qrels, runs = drawn(2)
    regrading, done = read_regrading(qrels, runs), list[int]()
    pool_depths(regrading, ["AP"], [2], contributors=regrading.retrieved, progress=done.append)
    assert sum(done) == 2  # the pool of depth 2, and the whole one


def test_the_frame_has_a_row_for_each_pool_and_measure() -> None:
    found, _, _ = drawn(5)
    assert len(found.frame) == 4 * len(MEASURES)
    last = found.frame.row(-1, named=True)
    assert last["pool_depth"] is None
    assert last["measure"] == str(found.measures[-1])


def test_bad_requests_are_refused_in_one_line() -> None:
    qrels, runs = draw_qrels(0), draw_runs(0)
    regrading = read_regrading(qrels, runs)
    with pytest.raises(DataError, match=r"pool depths \[0\]; expected whole numbers from 1"):
        pool_depths(regrading, ["AP"], [0], contributors=regrading.retrieved)
    with pytest.raises(DataError, match="runs: 1; an ordering needs at least 2"):
        pool_depths(read_regrading(qrels, runs[:1]), ["AP"], [5], contributors=regrading.retrieved)
    with pytest.raises(DataError, match=r"unjudged bounds: .* nonrelevant or condensed"):
        read_regrading(qrels, runs, policies=Policies(unjudged="bounds"))
    sample = read_regrading(replace(qrels, probabilities=np.ones(len(qrels.docs))), runs)
    with pytest.raises(DataError, match="these judgments are a sample already"):
        pool_depths(sample, ["AP"], [5], contributors=regrading.retrieved)
    with pytest.raises(DataError, match="no documents for 1 of 5 judged topics"):
        read_regrading(qrels, runs, policies=Policies(missing="error"))


def test_the_pool_of_trec_8_at_depth_100_is_the_whole_one(collections: Path) -> None:
    folder = collections / "trec8"
    info = read_run_info(folder / "info.tsv")
    files = sorted(folder.glob("runs/input.*.gz"))
    pooled = [path for path in files if info[path.name.removeprefix("input.").removesuffix(".gz")].pooled]
    assert len(pooled) == 71
    qrels = read_qrels(folder / "qrels.trec8.txt.gz")
    contributors = read_retrieved(pooled, depth=100, topics=qrels.topics, jobs=None)
    found = pool_depths(
        read_regrading(qrels, pooled[::6], jobs=None), ["AP", "P@10"], [10, 100], contributors=contributors
    )
    assert found.judgments.tolist() == [10134, 86830, 86830]
    np.testing.assert_array_equal(found.values[1], found.values[2])
    # The pool of depth 10 has the ten first documents of every run that it was made of.
    np.testing.assert_array_equal(found.values[0, :, 1], found.values[2, :, 1])
