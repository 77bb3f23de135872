"""Every order against a plain statement of its rule, step by step."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Mapping

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.audit.pools import draw_grades, draw_lists, names, pool_of, run_out

from sounding.core.errors import DataError
from sounding.relevance.growth import expected_beyond
from sounding.runs.topic_lists import topic_lists
from sounding.selection.orders import DeepeningQueue, rbp_weights
from sounding.selection.strategies import in_batches, make_strategy

SEEDS = st.integers(0, 10**6)
Rows = list[list[str]]  # the list of every run, for one topic
few = settings(max_examples=40)


def one_topic(seed: int) -> tuple[Rows, dict[str, bool | None]]:
    """The lists of one topic that has documents, and the truth about every document."""
    lists = draw_lists(seed)
    topic = next(name for name, rows in lists.items() if any(rows))
    pool = pool_of({"9": lists[topic]})
    grades = draw_grades(pool, seed).tolist()
    truth = {
        doc: None if math.isnan(grade) else grade >= 1
        for doc, grade in zip(pool.docs.texts(), grades, strict=True)
    }
    return lists[topic], truth


def came(
    name: str, rows: Rows, truth: Mapping[str, bool | None], **parameters: float
) -> tuple[list[str], list[float | None]]:
    """Documents in the order in which the strategy wants them, with their weights."""
    pool = pool_of({"9": rows})
    value = {True: 1.0, False: 0.0, None: math.nan}
    grades = np.array([value[truth[doc]] for doc in pool.docs.texts()])
    picks = run_out(make_strategy(name, pool, seed=5, **parameters), grades)
    return [text.removeprefix("9:") for text in names(pool, picks)], [pick.weight for pick in picks]


def ranks(rows: Rows) -> dict[str, dict[int, int]]:
    """Document -> run -> rank from 1."""
    found: dict[str, dict[int, int]] = {}
    for run, row in enumerate(rows):
        for rank, doc in enumerate(row, 1):
            found.setdefault(doc, {})[run] = rank
    return found


@few
@given(seed=SEEDS)
def test_the_depth_pool_is_what_the_runs_have_by_doc_id(seed: int) -> None:
    rows, truth = one_topic(seed)
    assert came("depth", rows, truth)[0] == sorted({doc for row in rows for doc in row})


@few
@given(seed=SEEDS)
def test_rank_order_is_by_best_rank_then_doc_id(seed: int) -> None:
    rows, truth = one_topic(seed)
    held = ranks(rows)
    assert came("rank", rows, truth)[0] == sorted(held, key=lambda doc: (min(held[doc].values()), doc))


@few
@given(seed=SEEDS, c=st.sampled_from([0, 1, 60]))
def test_rrf_is_by_the_sum_of_reciprocal_ranks(seed: int, c: float) -> None:
    rows, truth = one_topic(seed)
    held = ranks(rows)
    docs, weights = came("rrf", rows, truth, c=c)
    wanted = {doc: sum(1 / (c + rank) for rank in held[doc].values()) for doc in held}
    assert weights == pytest.approx([wanted[doc] for doc in docs])
    assert weights == sorted(weights, key=lambda weight: -(weight or 0))


def test_rrf_by_hand() -> None:
    # a: 1/61 + 1/63, b: 1/62 + 1/61, c: 1/63, d: 1/62
    docs, weights = came("rrf", [["a", "b", "c"], ["b", "d", "a"]], dict.fromkeys("abcd", False))
    assert docs == ["b", "a", "d", "c"]
    assert weights[0] == pytest.approx(1 / 62 + 1 / 61)


def rbp_interest(name: str, score: float, residual: float) -> float:
    return {"rbp-a": 1.0, "rbp-b": residual, "rbp-c": residual * (score + residual / 2) ** 3}[name]


@pytest.mark.parametrize("name", ["rbp-a", "rbp-b", "rbp-c"])
@few
@given(seed=SEEDS, p=st.sampled_from([0.3, 0.8, 0.95]))
def test_rbp_methods_take_the_heaviest_document_each_time(name: str, seed: int, p: float) -> None:
    rows, truth = one_topic(seed)
    held = ranks(rows)
    docs, weights = came(name, rows, truth, p=p)
    score, residual = [0.0] * len(rows), [1.0] * len(rows)
    left = set(held)
    for doc, weight in zip(docs, weights, strict=True):
        now = {
            other: sum(
                (1 - p) * p ** (rank - 1) * rbp_interest(name, score[run], residual[run])
                for run, rank in held[other].items()
            )
            for other in left
        }
        assert weight == pytest.approx(now[doc], rel=1e-9)
        assert now[doc] >= max(now.values()) * (1 - 1e-9)
        left.remove(doc)
        if truth[doc] is not None:
            for run, rank in held[doc].items():
                residual[run] -= (1 - p) * p ** (rank - 1)
                score[run] += (1 - p) * p ** (rank - 1) * bool(truth[doc])


def test_rbp_a_by_hand() -> None:
    # p = 0.5: a 1/2 + 1/8, b 1/4 + 1/2, c 1/8, d 1/4
    docs, weights = came("rbp-a", [["a", "b", "c"], ["b", "d", "a"]], dict.fromkeys("abcd", False), p=0.5)
    assert docs == ["b", "a", "d", "c"]
    assert weights == [0.75, 0.625, 0.25, 0.125]


def test_rbp_c_goes_on_with_the_run_that_looks_better() -> None:
    rows = [["a", "b", "c"], ["x", "y", "z"]]
    truth = dict.fromkeys("abcxyz", False) | {"x": True}
    docs, _ = came("rbp-c", rows, truth, p=0.8)
    assert docs[:2] == ["a", "x"]
    assert docs[2] == "y"  # one run has found something
    assert came("rbp-b", rows, truth, p=0.8)[0][2] == "b"  # which is nothing to method B


def test_a_persistence_outside_0_and_1_is_refused() -> None:
    for p in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(DataError, match="expected a number between 0 and 1"):
            rbp_weights(p, 3)


# -- by run ----------------------------------------------------------------------------------------

Merit = Callable[[int, int], float]
MERITS: dict[str, Merit] = {
    "move-to-front": lambda hits, misses: -misses,
    "max-mean": lambda hits, misses: (1 + hits) / (2 + hits + misses),
}


@pytest.mark.parametrize("name", MERITS)
@few
@given(seed=SEEDS)
def test_the_run_of_most_merit_gives_its_first_unseen_document(name: str, seed: int) -> None:
    rows, truth = one_topic(seed)
    drawn = np.random.default_rng([5, zlib.crc32(b"9")]).permutation(len(rows)).tolist()
    hits, misses = [0] * len(rows), [0] * len(rows)
    seen: list[str] = []
    while True:
        able = [run for run, row in enumerate(rows) if set(row) - set(seen)]
        if not able:
            break
        best = max(able, key=lambda run: (MERITS[name](hits[run], misses[run]), -drawn[run]))
        doc = next(doc for doc in rows[best] if doc not in seen)
        seen.append(doc)
        hits[best] += truth[doc] is True
        misses[best] += truth[doc] is False
    assert came(name, rows, truth)[0] == seen


def test_move_to_front_stays_with_a_run_until_it_fails() -> None:
    rows = [["a", "b", "c", "d"], ["w", "x", "y", "z"]]
    truth = dict.fromkeys("abcdwxyz", False) | dict.fromkeys("wxy", True)
    docs = came("move-to-front", rows, truth)[0]
    assert docs in (list("awxyzbcd"), list("wxyazbcd"), list("wxyzabcd"))


def test_global_move_to_front_gives_more_to_topics_that_have_more() -> None:
    many, none = [f"m{number}" for number in range(6)], [f"n{number}" for number in range(6)]
    pool = pool_of({"1": [none], "2": [many]})
    grades = np.array([float(doc.startswith("m")) for doc in pool.docs.texts()])
    topics = [pick.topic for pick in run_out(make_strategy("global-move-to-front", pool), grades)]
    assert topics == [0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0]
    topics = [pick.topic for pick in run_out(make_strategy("move-to-front", pool), grades)]
    assert topics == [0, 1] * 6


def test_level_says_what_is_relevant() -> None:
    rows = {"9": [["a", "b", "c"], ["x", "y", "z"]]}
    pool = pool_of(rows)
    grades = np.ones(6)
    by_one = names(pool, run_out(make_strategy("move-to-front", pool), grades))
    by_two = names(pool, run_out(make_strategy("move-to-front", pool, level=2), grades))
    first = rows["9"][0] if by_one[0] == "9:a" else rows["9"][1]
    assert [name[2:] for name in by_one[:3]] == first
    assert [name[2:] for name in by_two[:3]] != first


@few
@given(seed=SEEDS)
def test_hedge_takes_the_first_document_of_the_mixture(seed: int) -> None:
    rows, truth = one_topic(seed)
    held = ranks(rows)
    size, beta = len(held), 0.1
    listed = {run: len(row) for run, row in enumerate(rows)}

    def worth(run: int, doc: str) -> float:
        if run in held[doc]:
            return math.log(size / held[doc][run]) / 2
        below = range(listed[run] + 1, size + 1)
        return sum(math.log(size / rank) / 2 for rank in below) / len(below)

    loss = [0.0] * len(rows)
    left = set(held)
    docs, weights = came("hedge", rows, truth)
    for doc, weight in zip(docs, weights, strict=True):
        say = [beta ** (own - min(loss)) for own in loss]
        now = {other: sum(s * worth(run, other) for run, s in enumerate(say)) / sum(say) for other in left}
        assert weight == pytest.approx(now[doc], abs=1e-9)
        assert now[doc] >= max(now.values()) - 1e-9
        left.remove(doc)
        if truth[doc] is not None:
            for run in range(len(rows)):
                loss[run] += -worth(run, doc) if truth[doc] else worth(run, doc)


# -- topic-adaptive depth --------------------------------------------------------------------------


def test_adaptive_depth_goes_on_where_relevant_documents_are_expected() -> None:
    rich, poor = [f"r{number:02}" for number in range(12)], [f"p{number:02}" for number in range(12)]
    pool = pool_of({"1": [poor], "2": [rich]})
    grades = np.array([float(doc.startswith("r")) for doc in pool.docs.texts()])
    picks = run_out(make_strategy("adaptive-depth", pool, initial=4, step=2), grades)
    topics = [pick.topic for pick in picks]
    assert sorted(topics[:8]) == [0] * 4 + [1] * 4  # all to the first depth
    assert topics[8:16] == [1] * 8  # then the one that goes on giving
    assert topics[16:] == [0] * 8
    assert [pick.pool_rank for pick in picks if pick.topic == 1] == list(range(1, 13))


def test_adaptive_depth_follows_the_expected_yield_of_the_next_step() -> None:
    """Three topics, two runs: after each step the topic comes that promises most for each document."""
    rng = np.random.default_rng(2)
    lists = {
        str(topic): [[f"d{number}" for number in rng.permutation(30)[:20].tolist()] for _ in range(2)]
        for topic in range(1, 4)
    }
    pool = pool_of(lists)
    chance = np.array([0.9, 0.5, 0.2])[pool.topic]
    grades = (rng.random(len(pool.docs)) < chance).astype(float)
    best, topic = pool.best_ranks(), pool.topic
    picks = run_out(make_strategy("adaptive-depth", pool, initial=6, step=4), grades)
    reached = dict.fromkeys(range(3), 6)
    place = int(np.count_nonzero((best > 0) & (best <= 6)))
    assert all(pick.pool_rank <= 6 for pick in picks[:place])
    while place < len(picks):
        promise = {}
        for number, depth in reached.items():
            step = (topic == number) & (best > depth) & (best <= depth + 4)
            if not step.any():
                continue
            found = np.array(
                [[grades[(topic == number) & (best == rank)].sum() for rank in range(1, depth + 1)]]
            )
            ahead = expected_beyond(found.astype(np.int64), min(depth + 4, 20))[0]
            promise[number] = (ahead / step.sum(), int(step.sum()))
        chosen = max(promise, key=lambda number: promise[number][0])
        size = promise[chosen][1]
        assert {pick.topic for pick in picks[place : place + size]} == {chosen}
        reached[chosen] += 4
        place += size


def test_adaptive_depth_promises_what_is_expected_over_what_it_costs() -> None:
    pool = topic_lists(pool_of({"9": [list("abcdefghij"), list("bacdklmnop")]}))[0]
    queue = DeepeningQueue(pool, initial=3, step=2)
    assert queue.urgency == math.inf
    other = queue.copy()
    for relevant in (True, True, False):  # a and b at rank 1, c at rank 3
        queue.tell(queue.next(), relevant)
    # Rank 4 has d, rank 5 has e and k.
    expected = expected_beyond(np.array([[2, 0, 0]]), 5)[0]
    assert queue.urgency == pytest.approx(expected / 3)
    for _ in range(3):
        other.tell(other.next(), False)
    assert other.urgency == 0  # nothing was found, and nothing is expected
    third = queue.copy()
    for _ in range(3):
        third.tell(third.next(), False)
    for _ in range(3):
        queue.tell(queue.next(), True)
    expected = expected_beyond(np.array([[2, 0, 0, 1, 2]]), 7)[0]  # f, g, l and m follow
    assert queue.urgency == pytest.approx(expected / 4)
    assert third.urgency == pytest.approx(expected_beyond(np.array([[2, 0, 0, 0, 0]]), 7)[0] / 4)


def test_batches_work_with_parameters() -> None:
    pool = pool_of({"9": [["a", "b", "c"]]})
    strategy = in_batches("rbp-b", pool, 2, seed=1, p=0.5, level=2)
    assert strategy.state()["parameters"] == {"p": 0.5, "level": 2}
    assert strategy.state()["batches"] == {"size": 2, "seed": 1, "before": []}
