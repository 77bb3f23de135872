"""Laws for every strategy there is, alone and in shuffled batches."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.audit.pools import draw_grades, draw_lists, members, names, pool_of, run_out

from sounding.core.errors import DataError, UnknownNameError
from sounding.runs.retrieved import Retrieved
from sounding.selection.strategies import (
    ALIASES,
    STRATEGIES,
    Pick,
    Strategy,
    find_strategy,
    in_batches,
    make_strategy,
    restore,
)

Make = Callable[[Retrieved], Strategy]

# With their defaults, small pools would show little of these.
CHOSEN: dict[str, dict[str, Any]] = {"adaptive-depth": {"initial": 2, "step": 1}}
PLAIN: dict[str, Make] = {  # what mtc does depends on the order of judgments
    name: partial(make_strategy, name, seed=3, **CHOSEN.get(name, {})) for name in STRATEGIES if name != "mtc"
}
BATCHED: dict[str, Make] = {
    f"batches of {name}": partial(in_batches, name, size=3, seed=3, **CHOSEN.get(name, {}))
    for name in ("depth", "move-to-front", "global-move-to-front", "adaptive-depth", "rbp-c")
}
EVERY = PLAIN | BATCHED
SEEDS = st.integers(0, 10**6)

laws = settings(max_examples=12)
of_every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def some_judged(strategy: Strategy, pool: Retrieved, seed: int) -> list[int]:
    """Judge a few documents, some of them out of turn and some as impossible; gives those judged."""
    rng = np.random.default_rng(seed)
    grades = draw_grades(pool, seed)
    judged: list[int] = []
    for _ in range(int(rng.integers(0, 12))):
        left = [document for document in members(pool) if document not in judged]
        due = strategy.next()
        if not left or not due:
            break
        document = due[0].document if rng.random() < 0.7 else int(rng.choice(left))
        grade = float(grades[document])
        strategy.judge(document, None if np.isnan(grade) else grade)
        judged.append(document)
    return judged


def documents(picks: list[Pick]) -> list[int]:
    return [pick.document for pick in picks]


@of_every
@laws
@given(seed=SEEDS)
def test_every_document_of_the_pool_comes_exactly_once(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    came = documents(run_out(make(pool), draw_grades(pool, seed)))
    wanted = members(pool)
    if any(make is PLAIN[name] for name in PLAIN if STRATEGIES[name].sampled):
        wanted = documents(make(pool).next(count=len(pool.docs)))
        assert set(wanted) <= set(members(pool))
    assert sorted(came) == sorted(wanted)


@of_every
@laws
@given(seed=SEEDS)
def test_asking_changes_nothing(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy, other = make(pool), make(pool)
    some_judged(strategy, pool, seed)
    some_judged(other, pool, seed)
    strategy.next(count=4)
    strategy.next([0])
    assert strategy.next() == strategy.next() == other.next()
    grades = draw_grades(pool, seed + 1)
    assert run_out(strategy, grades) == run_out(other, grades)


@of_every
@laws
@given(seed=SEEDS)
def test_a_judgment_that_is_taken_back_leaves_no_trace(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy = make(pool)
    some_judged(strategy, pool, seed)
    due = strategy.next()
    if not due:
        return
    ahead = strategy.next(count=5)
    for grade in (2.0, 0.0, None):
        strategy.judge(due[0].document, grade)
        strategy.undo(due[0].document)
        assert strategy.next() == due
        assert strategy.next(count=5) == ahead


@of_every
@laws
@given(seed=SEEDS, which=st.integers(0, 100))
def test_an_old_judgment_can_be_taken_back(make: Make, seed: int, which: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy, other = make(pool), make(pool)
    judged = some_judged(strategy, pool, seed)
    if not judged:
        return
    gone = judged[which % len(judged)]
    log = strategy.state()["judgments"]
    strategy.undo(gone)
    for document, grade in log:
        if document != gone:
            other.judge(document, grade)
    assert strategy.state() == other.state()
    grades = draw_grades(pool, seed + 1)
    assert run_out(strategy, grades) == run_out(other, grades)


@of_every
@laws
@given(seed=SEEDS)
def test_a_strategy_restored_from_its_state_goes_on_as_it_would_have(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy = make(pool)
    some_judged(strategy, pool, seed)
    other = restore(json.loads(json.dumps(strategy.state())), pool)
    assert other.state() == strategy.state()
    assert other.next(count=6) == strategy.next(count=6)
    grades = draw_grades(pool, seed + 1)
    assert run_out(other, grades) == run_out(strategy, grades)


@of_every
@laws
@given(seed=SEEDS)
def test_only_the_topics_that_were_asked_for_are_given(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy = make(pool)
    some_judged(strategy, pool, seed)
    every = {pick.document for pick in strategy.next(count=len(pool.docs))}
    assert strategy.next([]) == []
    for topic in range(len(pool.topics)):
        given_one = strategy.next([topic], count=len(pool.docs))
        assert {pick.topic for pick in given_one} <= {topic}
        assert every & set(range(*pool.starts[topic : topic + 2].tolist())) == {
            pick.document for pick in given_one
        }


@of_every
@laws
@given(seed=SEEDS)
def test_what_cannot_be_judged_does_not_come_again(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy = make(pool)
    due = strategy.next(count=3)
    for pick in due:
        strategy.judge(pick.document, None)
    rest = run_out(strategy, draw_grades(pool, seed))
    assert not set(documents(due)) & set(documents(rest))


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
@laws
@given(seed=SEEDS)
def test_several_at_once_are_what_follows_if_none_is_relevant(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy = make(pool)
    some_judged(strategy, pool, seed)
    ahead = strategy.next(count=7)
    one_by_one = []
    for _ in range(7):
        due = strategy.next()
        one_by_one += due
        for pick in due:
            strategy.judge(pick.document, 0)
    assert ahead == one_by_one


@pytest.mark.parametrize("make", PLAIN.values(), ids=PLAIN)
@laws
@given(seed=SEEDS)
def test_the_order_in_which_judgments_came_does_not_matter(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    strategy, other = make(pool), make(pool)
    some_judged(strategy, pool, seed)
    for document, grade in reversed(strategy.state()["judgments"]):
        other.judge(document, grade)
    assert strategy.next(count=9) == other.next(count=9)


@of_every
@laws
@example(seed=1182)  # lists of another topic are longer
@given(seed=SEEDS)
def test_topics_do_not_change_each_others_order(make: Make, seed: int) -> None:
    lists = draw_lists(seed)
    pool, alone = pool_of(lists), pool_of({"9": lists["9"]})
    own = run_out(make(alone), draw_grades(alone, seed))
    among = run_out(make(pool), draw_grades(pool, seed))
    first = pool.topics.index("9")
    assert names(alone, own) == names(pool, [pick for pick in among if pick.topic == first])


@of_every
@laws
@given(seed=SEEDS)
def test_picks_say_what_they_are(make: Make, seed: int) -> None:
    pool = pool_of(draw_lists(seed))
    best, topic = pool.best_ranks(), pool.topic
    picks = run_out(make(pool), draw_grades(pool, seed))
    assert [pick.order for pick in picks] == list(range(1, len(picks) + 1))
    assert all(pick.pool_rank == best[pick.document] and pick.topic == topic[pick.document] for pick in picks)


@of_every
def test_documents_outside_the_pool_may_be_judged_and_change_nothing(make: Make) -> None:
    wide = pool_of({"9": [["a", "b", "c", "d"], ["b", "a", "e", "f"]]})
    pool = wide.cut(2)
    strategy = make(pool)
    before = [pick._replace(order=0) for pick in strategy.next(count=9)]
    outside = next(iter(set(range(len(wide.docs))) - set(members(pool))))
    strategy.judge(outside, 1)
    assert [pick._replace(order=0) for pick in strategy.next(count=9)] == before
    strategy.undo(outside)
    with pytest.raises(DataError, match="no document 6; the runs have 0 to 5"):
        strategy.judge(6, 1)
    with pytest.raises(DataError, match="no document -1"):
        strategy.judge(-1, 1)


@of_every
def test_a_document_is_judged_once_and_taken_back_once(make: Make) -> None:
    pool = pool_of({"9": [["a", "b"]]})
    strategy = make(pool)
    strategy.judge(0, 1)
    with pytest.raises(DataError, match="document 0 has been judged; take that back first"):
        strategy.judge(0, 0)
    strategy.undo(0)
    with pytest.raises(DataError, match="document 0 has not been judged"):
        strategy.undo(0)
    strategy.judge(0, 0)


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_a_pool_of_one_document_and_a_topic_of_none(make: Make) -> None:
    pool = pool_of({"9": [["a"], []], "10": [[], []]})
    strategy = make(pool)
    due = strategy.next(count=5)
    if due:  # a document that is drawn by itself may not be
        assert documents(due) == [0]
        strategy.judge(0, 1)
    assert strategy.next() == []


def test_topics_advance_together_by_share_of_their_pools() -> None:
    long, short = [f"d{number}" for number in range(8)], ["x", "y", "z", "w"]
    pool = pool_of({"1": [long], "2": [short]})
    strategy = make_strategy("rank", pool)
    topics = [pick.topic for pick in strategy.next(count=12)]
    # After each the shares are 1/8 0, 1/8 1/4, 2/8 1/4, 3/8 1/4, 3/8 2/4, and so on.
    assert topics == [0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0]


def test_a_state_belongs_to_its_pool() -> None:
    pool = pool_of({"9": [["a", "b"], ["b", "c"]]})
    state = make_strategy("rank", pool).state()
    with pytest.raises(DataError, match="this state belongs to another pool"):
        restore(state, pool_of({"9": [["a", "b"], ["c", "b"]]}))
    with pytest.raises(DataError, match="this state belongs to another pool"):
        restore(state, pool_of({"8": [["a", "b"], ["b", "c"]]}))
    with pytest.raises(DataError, match="this state belongs to another pool"):
        restore(state, pool_of({"9": [["a", "b"], ["b", "d"]]}))


def test_aliases_are_what_people_call_strategies() -> None:
    assert find_strategy("mtf") is STRATEGIES["move-to-front"]
    assert set(ALIASES.values()) <= set(STRATEGIES)
    assert not set(ALIASES) & set(STRATEGIES)


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_seed_matters_where_a_strategy_says_that_it_draws(name: str) -> None:
    lists = {str(t): [[f"d{(n * step) % 23}" for n in range(12)] for step in (1, 2, 3, 5)] for t in range(4)}
    pool = pool_of(lists)
    grades = draw_grades(pool, 1)
    orders = {
        tuple(pick.document for pick in run_out(make_strategy(name, pool, seed=seed, **short(name)), grades))
        for seed in range(5)
    }
    assert (len(orders) > 1) == STRATEGIES[name].drawn


def short(name: str) -> dict[str, object]:
    """Parameters with which a small pool leaves room for chance."""
    return {"strata": "3:0.5,12:0.3"} if name == "stratified-sample" else {}


def test_unknown_names_are_refused_with_near_ones() -> None:
    pool = pool_of({"9": [["a"]]})
    with pytest.raises(UnknownNameError, match=r"unknown strategy 'mtff'"):
        find_strategy("mtff")
    with pytest.raises(UnknownNameError, match="did you mean move-to-front"):
        make_strategy("move-to-frnt", pool)
    with pytest.raises(UnknownNameError, match=r"unknown parameter of the strategy rrf: 'k'; known: c"):
        make_strategy("rrf", pool, k=60)
    with pytest.raises(DataError, match="batches of 0; expected at least 1"):
        in_batches("rank", pool, 0)


@pytest.mark.parametrize(
    ("name", "parameters", "problem"),
    [
        ("rrf", {"c": -1}, "c is -1; expected a number from 0"),
        ("rbp-b", {"p": 1.5}, "p is 1.5; expected a number between 0 and 1"),
        ("hedge", {"beta": 1.0}, "beta is 1.0; expected a number between 0 and 1"),
        ("adaptive-depth", {"initial": 1}, "depth 1 and steps of 10; expected at least 2"),
        ("adaptive-depth", {"step": 0}, "depth 20 and steps of 0"),
    ],
)
def test_parameters_that_make_no_sense_are_refused(
    name: str, parameters: dict[str, Any], problem: str
) -> None:
    with pytest.raises(DataError, match=problem):
        make_strategy(name, pool_of({"9": [["a"]]}), **parameters)


def test_a_topic_that_is_named_twice_counts_once() -> None:
    strategy = make_strategy("rank", pool_of({"9": [["a", "b"]]}))
    assert documents(strategy.next([0, 0], count=5)) == [0, 1]


def test_every_strategy_has_a_title_of_its_own() -> None:
    titles = [kind.title for kind in STRATEGIES.values()]
    assert len(set(titles)) == len(titles)
    assert all(len(title) < 110 for title in titles)


# -- shuffled batches ------------------------------------------------------------------------------


def batch_of(strategy: Strategy, size: int) -> list[int]:
    found = []
    for _ in range(size):
        due = strategy.next()
        found += documents(due)
        strategy.judge(due[0].document, 0)
    return found


def test_a_batch_holds_the_next_documents_in_another_order() -> None:
    lists = {"9": [[f"d{number:02}" for number in range(40)]]}
    pool = pool_of(lists)
    plain, batched = make_strategy("rank", pool), in_batches("rank", pool, 10, seed=1)
    wanted = documents(plain.next(count=40))
    orders = []
    for start in range(0, 40, 10):
        came = batch_of(batched, 10)
        assert sorted(came) == sorted(wanted[start : start + 10])
        orders.append([document - min(came) for document in came])
    assert all(order != sorted(order) for order in orders)
    assert all(one != other for one, other in pairwise(orders))
    assert batch_of(in_batches("rank", pool, 10, seed=2), 10) != batch_of(
        in_batches("rank", pool, 10, seed=1), 10
    )


def test_a_batch_that_was_begun_is_finished_before_another_topics() -> None:
    pool = pool_of({"1": [list("abcdef")], "2": [list("abcdef")]})
    strategy = in_batches("rank", pool, 3, seed=1)
    topics = []
    while due := strategy.next():
        topics.append(due[0].topic)
        strategy.judge(due[0].document, 0)
    assert topics == [0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1]


def test_what_was_judged_before_the_first_batch_is_in_none() -> None:
    rows = [["a", "b", "c", "d", "e", "f"], ["u", "v", "w", "x", "y", "z"]]
    pool = pool_of({"1": rows})
    before: dict[int, float | None] = {0: 1.0, 1: 1.0, 6: 0.0, 7: None}  # a, b, u, v
    strategy = in_batches("move-to-front", pool, 3, before=before)
    ahead = strategy.next(count=3)
    assert {pool.docs.text(pick.document) for pick in ahead} == {"c", "d", "w"}
    assert [pick.order for pick in ahead] == [5, 6, 7]
    same = restore(json.loads(json.dumps(strategy.state())), pool)
    assert same.next(count=3) == ahead
    strategy.undo(0)
    assert {pool.docs.text(pick.document) for pick in strategy.next(count=3)} == {"a", "c", "w"}


def test_a_batch_learns_from_the_one_before_it() -> None:
    pool = pool_of({"1": [["a", "b", "c", "d", "e", "f"], ["u", "v", "w", "x", "y", "z"]]})
    good = {"a", "b", "c", "d", "e", "f"}
    strategy = in_batches("move-to-front", pool, 4)
    for _ in range(4):
        document = strategy.next()[0].document
        strategy.judge(document, float(pool.docs.text(document) in good))
    ahead = {pool.docs.text(pick.document) for pick in strategy.next(count=4)}
    assert len(ahead & good) >= 3
