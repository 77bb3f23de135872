"""Samples have the chances that they record, and the estimates made from them the errors that they state.

One topic is put into the pool under many names: each name gets a sample of its own, and one evaluation
gives the estimate of every sample.
"""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from tests.audit.pools import draw_grades, draw_lists, pool_of, run_out

from sounding.core.errors import DataError
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import parse
from sounding.measures.sampled import interval, standard_error
from sounding.pool.tables import sampled_table
from sounding.runs.align import align, prepare
from sounding.runs.ranking import Values
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.sample.simulation import sample
from sounding.selection.samples import capped_chances, judged_chances, make_sample, parse_strata
from sounding.selection.strategies import TopicQueues, make_strategy, replay, restore

COPIES = 300
DESIGNS: dict[str, dict[str, Any]] = {
    "uniform-sample": {"rate": 0.4},
    "stratified-sample": {"strata": "5:1,20:0.5,50:0.25"},
    "weighted-sample": {"rate": 0.4},
}


class Trial(NamedTuple):
    """Runs over many copies of one topic, and their pool with the truth about it."""

    runs: list[Run]
    pool: Retrieved
    grades: Values  # NaN: outside the pool
    ap: float  # of the first run, were the whole pool judged
    relevant: int  # documents of each copy's pool


@cache
def trial() -> Trial:
    made = sample(
        topics=1, groups=6, systems=2, documents=1500, length=300, pool_depth=50, prevalence=0.2, seed=2,
        ties=0.5, contributors=6,
    )  # fmt: skip
    truth = dict(zip(made.truth.docs.texts(), made.truth.grades.tolist(), strict=True))
    runs = []
    for run in made.runs:
        ranked = dict(zip(run.docs.texts(), run.scores.tolist(), strict=True))
        runs.append(Run.from_dict({f"t{copy:03}": ranked for copy in range(COPIES)}, name=run.name))
    pool = read_retrieved(runs, depth=50)
    inside = pool.best_ranks() > 0
    grades = np.array([truth[doc] for doc in pool.docs.texts()])
    grades[~inside] = np.nan
    whole = Qrels.from_dict(
        {"t000": {doc: truth[doc] for doc in pool.docs[slice(0, int(pool.starts[1]))].texts()}}
    )
    value = float(evaluate(whole, [runs[0]], ["AP"]).values[0, 0, 0])
    relevant = int(np.count_nonzero(grades[: pool.starts[1]] >= 1))
    return Trial(runs, pool, grades, value, relevant)


def sampled_qrels(name: str, seed: int = 0, grades: Values | None = None) -> Qrels:
    strategy = make_strategy(name, trial().pool, seed=seed, **DESIGNS[name])
    known = trial().grades if grades is None else grades
    table = sampled_table(trial().pool, replay(strategy, known), cast("TopicQueues", strategy))
    columns: dict[str, Any] = {column.name: column.cells for column in table.columns}
    extra = {
        {"stratum": "strata", "probability": "probabilities"}[key]: columns[key]
        for key in ("stratum", "probability")
        if key in columns
    }
    return Qrels.from_columns(columns["topic"], columns["doc"], columns["grade"], **extra)


@pytest.mark.parametrize("name", DESIGNS)
def test_documents_are_drawn_as_often_as_their_chance_says(name: str) -> None:
    strategy = cast("TopicQueues", make_strategy(name, trial().pool, **DESIGNS[name]))
    drawn = strategy.next(count=len(trial().pool.docs))
    times = Counter(pick.document % int(trial().pool.starts[1]) for pick in drawn)
    inside = trial().pool.best_ranks()[: trial().pool.starts[1]].nonzero()[0].tolist()
    chances = np.array([strategy.design(document)[1] for document in inside], np.float64)
    seen = np.array([times[document] for document in inside])
    spread = np.sqrt(np.maximum(COPIES * chances * (1 - chances), 1e-12))
    assert (seen[chances == 1] == COPIES).all()
    deviations = (seen - COPIES * chances)[chances < 1] / spread[chances < 1]
    assert np.abs(deviations).max() < 5
    assert abs(deviations.mean()) < 0.5
    assert 0.8 < deviations.std() < 1.2
    assert all(pick.probability == strategy.design(pick.document)[1] for pick in drawn)


@pytest.mark.parametrize("name", DESIGNS)
def test_the_number_of_relevant_documents_is_estimated_without_bias(name: str) -> None:
    scores = evaluate(sampled_qrels(name), [trial().runs[0]], ["EstNumRel"])
    estimates = scores.values[0, 0]
    assert len(estimates) == COPIES
    standard = estimates.std(ddof=1) / np.sqrt(COPIES)
    assert abs(estimates.mean() - trial().relevant) < 4 * standard
    assert 0 < standard < 0.05 * trial().relevant


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        ("uniform-sample", "infAP"),
        ("uniform-sample", "xinfAP"),
        ("uniform-sample", "statAP"),
        ("stratified-sample", "xinfAP"),
        ("stratified-sample", "statAP"),
        ("weighted-sample", "statAP"),
    ],
)
def test_estimates_of_ap_have_the_errors_that_they_state(name: str, measure: str) -> None:
    ranking = align(trial().runs[0], prepare(sampled_qrels(name)))
    estimates, errors = parse(measure)(ranking), standard_error(parse(measure), ranking)
    spread = estimates.std(ddof=1)
    assert abs(estimates.mean() - trial().ap) < 0.3 * spread + 0.01
    assert 0.75 < np.sqrt((errors**2).mean()) / spread < 1.3
    low, high = interval(parse(measure), ranking, confidence=0.95)
    assert 0.88 < ((low <= trial().ap) & (high >= trial().ap)).mean() <= 1


def test_plain_ap_of_a_sample_is_far_off() -> None:
    """What the estimates are for: as if the rest were not relevant, AP is much too low."""
    scores = evaluate(sampled_qrels("uniform-sample"), [trial().runs[0]], ["AP"])
    assert scores.values[0, 0].mean() < 0.75 * trial().ap


def test_seeds_give_other_samples_and_the_same_seed_the_same() -> None:
    one, again, other = (sampled_qrels("uniform-sample", seed).frame["grade"].to_list() for seed in (1, 1, 2))
    assert one == again != other


def test_strata_are_stretches_of_pool_ranks_sampled_each_at_its_rate() -> None:
    rows = [[f"d{number:02}" for number in range(40)]]
    pool = pool_of({"9": rows})
    strategy = make_strategy("stratified-sample", pool, strata="5:1,20:0.2,40:0.01")
    picks = strategy.next(count=40)
    by_stratum = Counter(pick.stratum for pick in picks)
    assert by_stratum == {1: 5, 2: 3, 3: 2}  # 0.01 x 20 is none, and two are drawn all the same
    assert {(pick.stratum, pick.probability) for pick in picks} == {(1, 1.0), (2, 0.2), (3, 0.1)}
    assert all(pick.pool_rank <= 5 for pick in picks if pick.stratum == 1)
    assert all(5 < pick.pool_rank <= 20 for pick in picks if pick.stratum == 2)


def test_samples_come_in_random_order() -> None:
    pool = pool_of({"9": [[f"d{number:02}" for number in range(40)]]})
    picks = make_strategy("uniform-sample", pool, rate=1.0).next(count=40)
    order = [pick.document for pick in picks]
    assert order != sorted(order)
    assert sorted(order) == list(range(40))


@pytest.mark.parametrize("total", [1.0, 3.5, 9.0])
def test_chances_are_proportional_up_to_1_and_sum_to_what_was_asked_for(total: float) -> None:
    weights = np.array([100.0, 30, 5, 5, 4, 3, 2, 1, 1, 0.5])
    chances = capped_chances(weights, total)
    assert chances.sum() == pytest.approx(total)
    assert (chances <= 1).all()
    below = chances < 1
    ratio = chances[below] / weights[below]
    assert np.ptp(ratio) < 1e-12
    assert not (weights[~below] * ratio.max(initial=0) < 1 - 1e-9).any()


def test_everything_is_certain_where_all_are_wanted() -> None:
    np.testing.assert_array_equal(capped_chances(np.array([3.0, 1, 2]), 3), [1, 1, 1])
    assert len(capped_chances(np.empty(0), 0)) == 0


def test_weighted_chances_are_the_part_of_a_rank_in_the_pairs_of_the_sum_of_precisions() -> None:
    """The sum of precisions is the sum over ranks i and j <= i of 1/i where both are relevant."""
    depth = 7
    pairs = np.array([[1 / i if j <= i else 0.0 for j in range(1, depth + 1)] for i in range(1, depth + 1)])
    either = (pairs + pairs.T) / 2  # a pair says nothing of who is first
    assert either.sum() == pytest.approx(depth)  # every precision is 1 where all are relevant
    part = either.sum(axis=1) / either.sum()
    strategy = cast(
        "TopicQueues", make_strategy("weighted-sample", pool_of({"9": [list("abcdefg")]}), rate=0.3)
    )
    chances = [strategy.design(document)[1] for document in range(depth)]
    assert chances == pytest.approx((0.3 * depth * part).tolist())
    assert strategy.design(0)[0] is None


def test_weights_of_runs_add_up() -> None:
    # Lists of two: rank 1 weighs 1 + 1 + 1/2, rank 2 weighs 1 + 1/2. a: 2.5 + 2.5, b and c: 1.5.
    pool = pool_of({"9": [["a", "b"], ["a", "c"]]})
    strategy = cast("TopicQueues", make_strategy("weighted-sample", pool, rate=0.3))
    chances = [strategy.design(document)[1] for document in range(3)]
    assert chances == pytest.approx([0.9 * 5 / 8, 0.9 * 1.5 / 8, 0.9 * 1.5 / 8])


@pytest.mark.parametrize("name", DESIGNS)
def test_a_sample_of_which_chance_left_a_part_unjudged_is_still_without_bias(name: str) -> None:
    lost = np.random.default_rng(8).random(len(trial().grades)) < 0.4
    part = np.where(lost, np.nan, trial().grades)
    scores = evaluate(sampled_qrels(name, grades=part), [trial().runs[0]], ["EstNumRel"])
    estimates = scores.values[0, 0]
    standard = estimates.std(ddof=1) / np.sqrt(len(estimates))
    assert abs(estimates.mean() - trial().relevant) < 4 * standard
    assert 0 < standard < 0.1 * trial().relevant


def test_what_was_judged_of_a_topic_lowers_its_chances_alone() -> None:
    drawn, topic = np.array([0.5, 1.0, 0.2, 0.4, 0.9]), np.array([0, 0, 1, 1, 2])
    judged = np.array([True, False, True, True, False])
    assert judged_chances(drawn, topic, judged).tolist() == [0.25, 0.5, 0.2, 0.4, 0.0]
    assert len(judged_chances(drawn[:0], topic[:0], judged[:0])) == 0


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10", "'10' is none; expected last rank:rate"),
        ("10:x", "'10:x' is none"),
        ("", "'' is none"),
        ("10:1,5:0.2", "last ranks must grow from 1"),
        ("0:1", "last ranks must grow from 1"),
        ("10:0", "a sampling rate of 0.0; expected more than 0 and at most 1"),
        ("10:1.5", "a sampling rate of 1.5"),
        ("10:nan", "a sampling rate of nan"),
        ("10:1,99999999999999999999:0.5", "at most 1,000,000,000"),
    ],
)
def test_strata_that_are_none_are_refused(text: str, problem: str) -> None:
    with pytest.raises(DataError) as refused:
        parse_strata(text)
    assert problem in str(refused.value)


def test_strata_must_reach_the_depth_of_the_pool() -> None:
    pool = pool_of({"9": [["a", "b", "c"]]})
    with pytest.raises(DataError, match="end at rank 2, and the pool at 3; cut the pool to a depth of 2"):
        make_strategy("stratified-sample", pool, strata="2:1")
    make_strategy("stratified-sample", pool.cut(2), strata="2:1")


@pytest.mark.parametrize("name", ["uniform-sample", "weighted-sample"])
def test_a_rate_is_a_share(name: str) -> None:
    pool = pool_of({"9": [["a"]]})
    for rate in (0.0, -1.0, 1.01):
        with pytest.raises(DataError, match="expected more than 0 and at most 1"):
            make_strategy(name, pool, rate=rate)


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("name", DESIGNS)
def test_a_sample_goes_on_from_what_was_drawn_before_more_runs_came(name: str, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    whole = cast("TopicQueues", make_strategy(name, pool, seed=seed, **DESIGNS[name]))
    at_once = make_sample(name, pool, draws={}, seed=seed, **DESIGNS[name])
    assert at_once.next(count=999) == whole.next(count=999)
    assert at_once.state() == whole.state()
    early = len(pool.runs) // 2
    first = (
        make_sample(name, pool.pick(range(early)), draws={}, seed=seed, **DESIGNS[name]) if early else None
    )
    draws = {topic: [early] for topic in pool.topics} if early else {}
    both = make_sample(name, pool, draws=draws, seed=seed, **DESIGNS[name])
    known = pool.pick(range(early)).best_ranks() > 0 if early else np.zeros(len(pool.docs), np.bool_)
    picks = both.next(count=999)
    if first is not None:
        assert {pick.document for pick in first.next(count=999)} == {
            pick.document for pick in picks if known[pick.document]
        }
        for document in known.nonzero()[0].tolist():
            assert both.design(document) == first.design(document)
    if name != "weighted-sample":
        # A stratum lies in one draw, and the chance in it is the share of it that was drawn.
        inside = pool.best_ranks().nonzero()[0].tolist()
        strata = {document: (pool.topic[document], both.design(document)[0]) for document in inside}
        for stratum in set(strata.values()):
            own = [document for document in inside if strata[document] == stratum]
            assert len({bool(known[document]) for document in own}) == 1
            share = sum(pick.document in own for pick in picks) / len(own)
            assert {both.design(document)[1] for document in own} == {share}
    grades = draw_grades(pool, seed)
    again = restore(both.state(), pool)
    assert run_out(again, grades) == run_out(both, grades)


@pytest.mark.parametrize("name", DESIGNS)
def test_documents_of_a_late_run_are_drawn_as_often_as_their_chance_says(name: str) -> None:
    pool, size = trial().pool, int(trial().pool.starts[1])
    strategy = make_sample(name, pool, draws=dict.fromkeys(pool.topics, (2, 5)), **DESIGNS[name])
    times = Counter(pick.document % size for pick in strategy.next(count=len(pool.docs)))
    old = pool.pick(range(2)).best_ranks()[:size] > 0
    inside = pool.best_ranks()[:size].nonzero()[0]
    assert 0 < np.count_nonzero(old) < len(inside)
    chances = np.array([strategy.design(document)[1] for document in inside.tolist()], np.float64)
    seen = np.array([times[document] for document in inside.tolist()])
    for part in (old[inside], ~old[inside]):
        some = part & (chances < 1)
        spread = np.sqrt(COPIES * chances[some] * (1 - chances[some]))
        deviations = (seen - COPIES * chances)[some] / spread
        assert np.abs(deviations).max() < 5
        assert abs(deviations.mean()) < 0.5
        assert (seen[part & (chances == 1)] == COPIES).all()
