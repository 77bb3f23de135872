"""The graded kernels against their definitions, written out for one topic at a time, and trec_eval."""

from __future__ import annotations

import math
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from tests.conftest import require
from tests.properties.strategies import HIGHEST, Label, Topic, is_judged, random_topics, ranking_of

from sounding.core.errors import DataError
from sounding.measures import graded
from sounding.measures.registry import Measure, definitions

TOPICS = random_topics(2000, seed=31)
Gain = Callable[[float], float]
Gains = Mapping[float, float]


def gain_function(dcg: str, gains: Gains | None, rel: float | None) -> Gain:
    def gain(grade: float) -> float:
        if rel is not None:
            return 1.0 if grade >= rel else 0.0
        worth = (gains or {}).get(grade, grade)
        return 2.0**worth - 1 if dcg.startswith("exp-") else worth

    return gain


def discount(dcg: str, rank: int) -> float:
    if dcg.endswith("zipf"):
        return 1 / rank
    if dcg.endswith("jk"):
        return 1.0 if rank < 2 else 1 / math.log2(rank)
    return 1 / math.log2(rank + 1)


def gains_of(labels: tuple[Label, ...], gain: Gain) -> list[float]:
    return [gain(label) if label is not None and label >= 0 else 0.0 for label in labels]


def best_gains(topic: Topic, gain: Gain, pool: int | None = None) -> list[float]:
    ranks = topic.pool_ranks or (0,) * len(topic.judged)
    kept = [
        grade for grade, rank in zip(topic.judged, ranks, strict=True) if pool is None or 1 <= rank <= pool
    ]
    return sorted((gain(grade) for grade in kept if gain(grade) > 0), reverse=True)


def dcg_sum(gains: list[float], k: int | None, dcg: str) -> float:
    return sum(gain * discount(dcg, rank) for rank, gain in enumerate(gains[:k], 1))


def dcg_value(
    topic: Topic,
    k: int | None = None,
    dcg: str = "log2",
    gains: Gains | None = None,
    rel: float | None = None,
) -> float:
    return dcg_sum(gains_of(topic.ranking, gain_function(dcg, gains, rel)), k, dcg)


def ideal_dcg(
    topic: Topic,
    k: int | None = None,
    dcg: str = "log2",
    gains: Gains | None = None,
    rel: float | None = None,
    norm: str = "a",
) -> float:
    pool = k if norm == "b" else None
    return dcg_sum(best_gains(topic, gain_function(dcg, gains, rel), pool), k, dcg)


def ndcg(topic: Topic, norm: str = "a", **parameters: Any) -> float:
    most = ideal_dcg(topic, norm=norm, **parameters)
    return dcg_value(topic, **parameters) / most if most > 0 else 0.0


def ndcg_at_relevant_documents(topic: Topic, gains: Gains | None = None) -> float:
    gain = gain_function("log2", gains, None)
    best = best_gains(topic, gain)
    seen = gains_of(topic.ranking, gain)
    if not best:
        return 0.0
    at_ranks = [
        dcg_sum(seen, rank, "log2") / dcg_sum(best, rank, "log2")
        for rank, value in enumerate(seen, 1)
        if value > 0
    ]
    at_end = dcg_sum(seen, None, "log2") / dcg_sum(best, None, "log2")
    return (sum(at_ranks) + (len(best) - len(at_ranks)) * at_end) / len(best)


def ndcg_at_levels(topic: Topic, gains: Gains | None = None, rel: float = 1) -> float:
    gain = gain_function("log2", gains, None)
    best = best_gains(topic, gain)
    seen = gains_of(topic.ranking, gain)
    if not best or not any(grade >= rel for grade in topic.judged):
        return 0.0
    changes = [rank for rank in range(1, len(best)) if best[rank - 1] != best[rank]]
    values = [dcg_sum(seen, rank, "log2") / dcg_sum(best, rank, "log2") for rank in [*changes, len(best)]]
    if len(seen) >= len(best) + 2:
        values.append(dcg_sum(seen, None, "log2") / dcg_sum(best, None, "log2"))
    return sum(values) / len(values)


def normalized_gain(topic: Topic, gains: Gains | None = None) -> float:
    gain = gain_function("log2", gains, None)
    best = best_gains(topic, gain)
    total = gained = cost = 0.0
    for rank, value in enumerate(gains_of(topic.ranking, gain), 1):
        gained += value
        cost += max(best[rank - 1], 1) if rank <= len(best) else 1
        if value:
            total += value / math.log2(2 + cost - gained)
    return total / sum(best) if best else 0.0


def q_measure(
    topic: Topic,
    k: int | None = None,
    beta: float = 1,
    rel: float = 1,
    gain: str = "linear",
    gains: Gains | None = None,
    norm: str = "a",
    ideal: str = "i",
    scale: str = "judgments",
) -> float:
    highest = HIGHEST if scale == "judgments" else max([1, *topic.judged])
    worth: Gain = {
        "linear": lambda grade: grade / highest,
        "exponential": lambda grade: (2**grade - 1) / 2**highest,
        "grade": lambda grade: (gains or {}).get(grade, grade),
    }[gain]
    best = best_gains(topic, worth, k if ideal == "ii" else None)
    relevant = sum(grade >= rel for grade in topic.judged)
    if norm == "b" and k is not None:
        relevant = min(relevant, k)
    if norm == "c" and k is not None:
        assert topic.pool_ranks is not None
        pairs = zip(topic.judged, topic.pool_ranks, strict=True)
        relevant = sum(grade >= rel and 1 <= rank <= k for grade, rank in pairs)
    seen = gains_of(topic.ranking, worth)
    found, total = 0, 0.0
    for rank, label in enumerate(topic.ranking[:k], 1):
        if label is not None and label >= rel and is_judged(label):
            found += 1
            total += (found + beta * sum(seen[:rank])) / (rank + beta * sum(best[:rank]))
    return total / relevant if relevant else 0.0


REFERENCES: Mapping[str, Callable[..., float]] = {
    "nDCG": ndcg,
    "DCG": dcg_value,
    "IDCG": ideal_dcg,
    "nDCGRel": ndcg_at_relevant_documents,
    "RnDCG": ndcg_at_levels,
    "G": normalized_gain,
    "Q": q_measure,
}
DCG_FORMS: list[dict[str, Any]] = [
    *({"dcg": dcg} for dcg in ("log2", "exp-log2", "zipf", "exp-zipf", "jk", "exp-jk")),
    {"gains": {1: 3.5, 2: 9}},
    {"gains": {3: 0.2, 2: 0.5, 1: 0.9}},  # a better grade is worth less, and all are within 1
    {"gains": {0: 0.5, 2: -1}},
    {"gains": {1: 0}, "dcg": "exp-log2"},
    {"rel": 2},
]
MAPPED: list[dict[str, Any]] = [{}, *(form for form in DCG_FORMS if set(form) == {"gains"})]
CASES: list[tuple[str, dict[str, Any]]] = [
    *(
        (name, {**form, "k": k})
        for name in ("nDCG", "DCG", "IDCG")
        for form in DCG_FORMS
        for k in (None, 1, 5)
    ),
    ("nDCG", {"k": 100}),
    ("nDCG", {"norm": "b", "k": 5}),
    ("nDCG", {"norm": "b", "k": 100, "dcg": "exp-zipf"}),
    ("nDCG", {"norm": "b", "k": 3, "gains": {1: 9}}),
    ("nDCG", {"norm": "b"}),
    *((name, form) for name in ("nDCGRel", "RnDCG", "G") for form in MAPPED),
    ("RnDCG", {"rel": 2}),
    *(
        ("Q", {"k": k, "norm": norm, "ideal": ideal})
        for k in (None, 1, 5, 40)
        for norm in "abc"
        for ideal in ("i", "ii")
    ),
    ("Q", {"beta": 0}),
    ("Q", {"beta": 10, "gain": "exponential", "rel": 2}),
    ("Q", {"gain": "grade", "k": 5}),
    ("Q", {"gain": "grade", "gains": {2: 3, 3: 7, 4: 15}, "rel": 3}),
    ("Q", {"rel": 0}),
    ("Q", {"scale": "topic"}),
    ("Q", {"scale": "topic", "gain": "exponential", "k": 5, "norm": "b"}),
    ("Q", {"scale": "topic", "k": 5, "norm": "c", "ideal": "ii"}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=lambda part: str(part))
def test_every_kernel_gives_what_its_definition_says(name: str, parameters: dict[str, Any]) -> None:
    values = Measure.of(name, **parameters)(ranking_of(TOPICS))
    expected = [REFERENCES[name](topic, **parameters) for topic in TOPICS]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_every_reference_is_of_a_graded_measure() -> None:
    family = graded.__name__.rpartition(".")[2]
    assert set(REFERENCES) <= {known.name for known in definitions() if known.family == family}


def test_the_same_judgments_serve_several_measures_and_runs() -> None:
    """What is remembered for one measure must not leak into another."""
    ranking = ranking_of(TOPICS[:200])
    for name, parameters in [*CASES, *CASES]:
        values = Measure.of(name, **parameters)(ranking)
        expected = [REFERENCES[name](topic, **parameters) for topic in TOPICS[:200]]
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_an_ideal_dcg_that_is_changed_by_its_reader_stays_as_it_was() -> None:
    ranking = ranking_of([Topic((1, 2))])
    measure = Measure.of("IDCG")
    first = measure(ranking)
    expected = first.copy()
    first[:] = 7
    np.testing.assert_array_equal(measure(ranking), expected)


def test_no_topics_give_no_values() -> None:
    for name, parameters in CASES:
        assert Measure.of(name, **parameters)(ranking_of([])).shape == (0,)


@pytest.mark.parametrize(
    "measure",
    [
        Measure.of("nDCG", k=5, norm="b"),
        Measure.of("Q", k=5, norm="c"),
        Measure.of("Q", k=5, ideal="ii"),
    ],
    ids=str,
)
def test_a_pool_of_depth_k_needs_pool_ranks(measure: Measure) -> None:
    with pytest.raises(DataError, match=r"pool of depth 5.*give qrels with pool ranks"):
        measure(ranking_of([Topic((1, 0))]))


def test_without_a_depth_the_pool_is_everything_judged() -> None:
    ranking = ranking_of([Topic((1, 0, 3), (2,))])
    assert Measure.of("nDCG", norm="b")(ranking) == Measure.of("nDCG")(ranking)
    assert Measure.of("Q", norm="c", ideal="ii")(ranking) == Measure.of("Q")(ranking)


def test_q_on_the_scale_of_the_topic_takes_its_own_best_grade_for_1() -> None:
    topics = [Topic((1, None, 2), (1,)), Topic((4,)), Topic((0,))]
    found = Measure.of("Q", scale="topic")(ranking_of(topics))
    # gains .5 0 1, best 1 .5 .5: (1 + .5)/(1 + 1) and (2 + 1.5)/(3 + 2), over three relevant documents
    assert found[0] == pytest.approx((0.75 + 0.7) / 3, abs=1e-15)
    # on the scale of all, which ends at 4: gains .25 0 .5, best .5 .25 .25
    assert Measure.of("Q")(ranking_of(topics))[0] == pytest.approx((1.25 / 1.5 + 2.75 / 4) / 3, abs=1e-15)
    assert found[1:].tolist() == [1, 0]


def test_two_ways_to_say_what_a_grade_is_worth_are_refused() -> None:
    ranking = ranking_of([Topic((1, 0))])
    with pytest.raises(DataError, match=r"gains= and rel=2 both define"):
        Measure.of("nDCG", gains={1: 5}, rel=2)(ranking)
    with pytest.raises(DataError, match=r"use gains= with gain='grade'"):
        Measure.of("Q", gains={1: 5})(ranking)
    with pytest.raises(DataError, match=r"gain='grade' takes grades as they are, but scale='topic' divides"):
        Measure.of("Q", gain="grade", scale="topic")(ranking)


def test_topics_do_not_mix_in_the_last_bits() -> None:
    """A running sum over all topics would lose the small ones behind the large ones."""
    large = Topic((1.0,) * 50)
    small = Topic((None, 2, None, 1, 0, 3), (3, 1))
    for name in ("nDCGRel", "RnDCG", "Q", "G"):
        alone = Measure.of(name)(ranking_of([small]))
        together = Measure.of(name)(ranking_of([large] * 200 + [small]))
        assert together[-1] == alone[0]


def test_trec_eval_agrees_on_random_topics() -> None:
    """pytrec_eval is trec_eval 9.0.8: nothing in these measures changed since."""
    pytrec_eval = require("pytrec_eval")
    topics = [topic for topic in random_topics(3000, seed=32) if topic.ranking and topic.judged]
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, float]] = {}
    for number, topic in enumerate(topics):
        run = {f"d{rank}": 1000.0 - rank for rank in range(len(topic.ranking))}
        judged = {f"d{rank}": int(label) for rank, label in enumerate(topic.ranking) if label is not None}
        judged |= {f"e{place}": int(grade) for place, grade in enumerate(topic.elsewhere)}
        qrels[f"{number:06}"], runs[f"{number:06}"] = judged, run
    measures = {
        "ndcg": Measure.of("nDCG"),
        "ndcg_cut_5": Measure.of("nDCG", k=5),
        "ndcg_cut_10": Measure.of("nDCG", k=10),
        "ndcg_cut_1000": Measure.of("nDCG", k=1000),
        "ndcg_rel": Measure.of("nDCGRel"),
        "Rndcg": Measure.of("RnDCG"),
        "G": Measure.of("G"),
    }
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, {"ndcg", "ndcg_cut.5,10,1000", "ndcg_rel", "Rndcg", "G"}
    )
    peer = evaluator.evaluate(runs)
    assert len(peer) == len(topics) > 1500
    ranking = ranking_of(topics)
    for name, measure in measures.items():
        expected = [peer[f"{number:06}"][name] for number in range(len(topics))]
        np.testing.assert_allclose(measure(ranking), expected, rtol=0, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("cells", [1, 7, 100, 1 << 21])
def test_sums_are_added_one_after_the_other_however_topics_are_put_together(
    cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graded, "CELLS", cells)
    rng = np.random.default_rng(5)
    lengths = np.append(rng.integers(0, 12, 40), [0, 60, 1, 0])
    topic = np.repeat(np.arange(len(lengths)), lengths)
    nth = np.concatenate([np.arange(1, length + 1) for length in lengths])
    values = rng.random(len(topic))
    expected = np.concatenate([np.cumsum(part) for part in np.split(values, np.cumsum(lengths)[:-1])])
    assert (graded._added_in_order(values, topic, nth, len(lengths)) == expected).all()
    assert graded._added_in_order(values[:0], topic[:0], nth[:0], 3).shape == (0,)


def test_one_topic_with_many_relevant_documents_costs_no_memory_for_the_others() -> None:
    lengths = np.ones(2_000, np.int64)
    lengths[7] = 20_000  # 320 MB, if every topic had as many
    topic = np.repeat(np.arange(len(lengths)), lengths)
    nth = np.concatenate([np.arange(1, length + 1) for length in lengths])
    tracemalloc.start()
    graded._added_in_order(np.ones(len(topic)), topic, nth, len(lengths))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 80e6
