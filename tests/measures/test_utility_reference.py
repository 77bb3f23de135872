"""The user-model and overlap kernels against their definitions, for one topic at a time, and peers."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from tests.conftest import require
from tests.properties.strategies import HIGHEST, Topic, is_judged, random_topics, ranking_of

from sounding.core.errors import DataError
from sounding.measures import overlap, utility
from sounding.measures.registry import Measure, definitions

TOPICS = random_topics(1500, seed=41)
Gains = Mapping[float, float]
Continue = Callable[[int, float, float], float]  # rank, gain, gained so far -> probability to go on


def grades(topic: Topic) -> list[float]:
    return [label if label is not None and label >= 0 else 0.0 for label in topic.ranking]


def end_of_scale(topic: Topic, scale: str) -> float:
    return HIGHEST if scale == "judgments" else max([1, *topic.judged])


def rank_biased_precision(
    topic: Topic,
    k: int | None = None,
    p: float = 0.8,
    rel: float | None = None,
    gain: str = "linear",
    gains: Gains | None = None,
    scale: str = "judgments",
) -> float:
    highest = end_of_scale(topic, scale)

    def worth(grade: float) -> float:
        if rel is not None:
            return float(grade >= rel)
        if gain == "exponential":
            return float((2**grade - 1) / 2**highest)
        if gains is None:
            return grade / highest
        levels = [gains.get(level, level) for level in range(HIGHEST + 1)]
        return float(gains.get(grade, grade) / max(1, *levels))

    return sum(
        worth(label) * (1 - p) * p ** (rank - 1)
        for rank, label in enumerate(topic.ranking[:k], 1)
        if label is not None and label >= 0
    )


def rank_biased_precision_residual(
    topic: Topic, k: int | None = None, p: float = 0.8, part: str = "both"
) -> float:
    looked_at = topic.ranking[:k]
    tail = p ** len(looked_at)
    unjudged = sum(
        (1 - p) * p ** (rank - 1) for rank, label in enumerate(looked_at, 1) if not is_judged(label)
    )
    return {"both": unjudged + tail, "unjudged": unjudged, "tail": tail}[part]


def expected_reciprocal_rank(
    topic: Topic,
    k: int | None = None,
    max_rel: float | None = None,
    rel: float | None = None,
    gain: str = "exponential",
    scale: str = "judgments",
) -> float:
    highest = end_of_scale(topic, scale) if max_rel is None else max_rel
    least = 1 if gain == "binary" and rel is None else rel
    reading, value = 1.0, 0.0
    for rank, grade in enumerate(grades(topic)[:k], 1):
        cut = min(grade, highest)
        linear = cut / (highest + (gain == "ntcireval"))
        stop = (2**cut - 1) / 2**highest if gain == "exponential" else linear
        if least is not None:
            stop = float(cut >= least)
        value += reading * stop / rank
        reading *= 1 - stop
    return value


def reader(
    topic: Topic, k: int, goes_on: Continue, min_rel: float = 0, max_rel: float | None = None
) -> float:
    """The mean gain of the ranks that a reader sees, weighted with how likely each is seen."""
    highest = HIGHEST if max_rel is None else max_rel
    scaled = [(min(max(grade, min_rel), highest) - min_rel) / (highest - min_rel) for grade in grades(topic)]
    weight, total, value, gained = 1.0, 0.0, 0.0, 0.0
    for rank, gain in enumerate([*scaled, *[0.0] * k][:k], 1):
        total += weight
        value += weight * gain
        gained += gain
        weight *= goes_on(rank, gain, gained)
    return value / total


def inst_goes_on(wanted: float) -> Continue:
    def goes_on(rank: int, gain: float, gained: float) -> float:
        a = rank + 2 * wanted - gained
        return ((a - 1) / a) ** 2

    return goes_on


def insq_goes_on(wanted: float) -> Continue:
    return lambda rank, gain, gained: ((rank + 2 * wanted - 1) / (rank + 2 * wanted)) ** 2


def inst(topic: Topic, k: int = 1000, T: float = 1, **scale: Any) -> float:  # noqa: N803
    return reader(topic, k, inst_goes_on(T), **scale)


def insq(topic: Topic, k: int = 1000, T: float = 1, **scale: Any) -> float:  # noqa: N803
    return reader(topic, k, insq_goes_on(T), **scale)


def bpm(topic: Topic, k: int, T: float = 1, **scale: Any) -> float:  # noqa: N803
    return reader(topic, k, lambda rank, gain, gained: float(gained < T - 1e-9), **scale)


def sdcg(topic: Topic, k: int, dcg: str = "log2", **scale: Any) -> float:
    discounts: dict[str, Callable[[int], float]] = {
        "log2": lambda rank: 1 / np.log2(rank + 1),
        "zipf": lambda rank: 1 / rank,
        "jk": lambda rank: 1 / np.log2(max(rank, 2)),
    }
    at = discounts[dcg]
    return reader(topic, k, lambda rank, gain, gained: at(rank + 1) / at(rank), **scale)


def nerr8(topic: Topic, k: int, **scale: Any) -> float:
    return reader(topic, k, lambda rank, gain, gained: 1 - gain, **scale)


def nerr9(topic: Topic, k: int, **scale: Any) -> float:
    return reader(topic, k, lambda rank, gain, gained: rank / (rank + 1) * (1 - gain), **scale)


def nerr10(topic: Topic, k: int = 1000, p: float = 0.9, **scale: Any) -> float:
    return reader(topic, k, lambda rank, gain, gained: p * (1 - gain), **scale)


def nerr11(topic: Topic, k: int = 1000, T: float = 1, **scale: Any) -> float:  # noqa: N803
    patient = insq_goes_on(T)
    return reader(topic, k, lambda rank, gain, gained: patient(rank, gain, gained) * (1 - gain), **scale)


def rank_biased_overlap(one: list[str], other: list[str], p: float, depth: int) -> tuple[float, float]:
    shared = sum(p ** (i - 1) * len({*one[:i]} & {*other[:i]}) / i for i in range(1, depth + 1))
    return shared, sum(p ** (i - 1) for i in range(1, depth + 1))


def compatibility(topic: Topic, p: float = 0.95, normalize: bool = True) -> float:
    ranking = [f"d{rank}" for rank in range(len(topic.ranking))]
    known = [(label, f"d{rank}") for rank, label in enumerate(topic.ranking)]
    known += [(grade, f"e{place}") for place, grade in enumerate(topic.elsewhere)]
    relevant = [(grade, doc) for grade, doc in known if grade is not None and grade > 0]
    best = [doc for _, doc in sorted(relevant, key=lambda pair: -pair[0])]
    depth = max(len(ranking), len(best))
    if not depth or not best:
        return 0.0
    shared, weights = rank_biased_overlap(ranking, best, p, depth)
    return shared / (rank_biased_overlap(best, best, p, depth)[0] if normalize else weights)


REFERENCES: Mapping[str, Callable[..., float]] = {
    "RBP": rank_biased_precision,
    "RBPResidual": rank_biased_precision_residual,
    "ERR": expected_reciprocal_rank,
    "INST": inst,
    "INSQ": insq,
    "BPM": bpm,
    "SDCG": sdcg,
    "NERR8": nerr8,
    "NERR9": nerr9,
    "NERR10": nerr10,
    "NERR11": nerr11,
    "Compat": compatibility,
}
SCALES: list[dict[str, float]] = [{}, {"max_rel": 2}, {"max_rel": 7}, {"min_rel": 1, "max_rel": 3}]
ERR_GAINS = ("exponential", "linear", "ntcireval", "binary")
CASES: list[tuple[str, dict[str, Any]]] = [
    *(("RBP", {"k": k, "p": p}) for k in (None, 5) for p in (0.0, 0.5, 0.8, 0.99)),
    ("RBP", {"rel": 1}),
    ("RBP", {"rel": 0, "k": 3}),
    ("RBP", {"gain": "exponential"}),
    ("RBP", {"gains": {1: 0.5, 2: 1, 3: 1, 4: 1}}),
    ("RBP", {"gains": {1: 10}, "p": 0.95}),
    ("RBP", {"gains": {1: 0.5}}),
    *(
        ("RBP", {"k": k, "gain": gain, "scale": "topic"})
        for k in (None, 5)
        for gain in ("linear", "exponential")
    ),
    *(("RBPResidual", {"k": k, "part": part}) for k in (None, 1, 5) for part in ("both", "unjudged", "tail")),
    *(("ERR", {"k": k, "gain": gain}) for k in (None, 1, 5) for gain in ERR_GAINS),
    *(("ERR", {"k": k, "gain": gain, "scale": "topic"}) for k in (None, 5) for gain in ERR_GAINS[:3]),
    ("ERR", {"max_rel": 2}),
    ("ERR", {"max_rel": 9, "gain": "linear"}),
    ("ERR", {"max_rel": 2, "gain": "ntcireval"}),
    ("ERR", {"rel": 2, "gain": "binary"}),
    ("ERR", {"rel": 3, "k": 4}),
    *(("INST", {"T": wanted, **scale}) for wanted in (0.5, 1, 3.7) for scale in SCALES),
    *(("INST", {"T": wanted, "k": k}) for wanted in (0.3, 1) for k in (1, 2, 7)),
    *(("INSQ", {"T": wanted, **scale}) for wanted in (0.5, 3.7) for scale in SCALES),
    ("INSQ", {"k": 5}),
    *(("BPM", {"T": wanted, "k": k, **SCALES[k % 3]}) for wanted in (0.5, 1, 1.5, 3) for k in (1, 2, 5, 50)),
    *(("SDCG", {"k": k, **scale}) for k in (1, 5, 50) for scale in SCALES),
    ("SDCG", {"k": 9, "dcg": "zipf"}),
    ("SDCG", {"k": 9, "dcg": "jk"}),
    *((name, {"k": k, **scale}) for name in ("NERR8", "NERR9") for k in (1, 5, 50) for scale in SCALES),
    *(("NERR10", {"p": p, **scale}) for p in (0.0, 0.5, 0.9) for scale in SCALES),
    *(("NERR11", {"T": wanted, **scale}) for wanted in (0.5, 3.7) for scale in SCALES),
    ("NERR11", {"k": 4}),
    *(("Compat", {"p": p, "normalize": yes}) for p in (0.0, 0.5, 0.95) for yes in (True, False)),
]


@pytest.mark.parametrize(("name", "parameters"), CASES, ids=lambda part: str(part))
def test_every_kernel_gives_what_its_definition_says(name: str, parameters: dict[str, Any]) -> None:
    deep = Measure.of(name, **parameters).get("k") == 1000
    topics = TOPICS[:200] if deep else TOPICS  # the plain definition takes a thousand steps a topic
    values = Measure.of(name, **parameters)(ranking_of(topics))
    expected = [REFERENCES[name](topic, **parameters) for topic in topics]
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)


def test_every_reference_is_of_a_utility_or_overlap_measure() -> None:
    families = {module.__name__.rpartition(".")[2] for module in (utility, overlap)}
    assert set(REFERENCES) <= {known.name for known in definitions() if known.family in families}


def test_no_topics_give_no_values() -> None:
    for name, parameters in CASES:
        assert Measure.of(name, **parameters)(ranking_of([])).shape == (0,)


def test_a_long_ranking_full_of_gains_is_as_exact_as_a_short_one() -> None:
    topic = Topic(tuple((rank * 7) % 5 for rank in range(3000)))
    for name in ("INST", "NERR10", "NERR11", "ERR", "INSQ"):
        value = Measure.of(name)(ranking_of([topic] * 3))
        np.testing.assert_allclose(value, REFERENCES[name](topic), rtol=0, atol=1e-12, err_msg=name)


def test_rbp_and_its_residual_make_up_what_full_relevance_would_give() -> None:
    fully = [Topic((HIGHEST, None, HIGHEST, None, None))]
    ranking = ranking_of(fully)
    both = Measure.of("RBP")(ranking) + Measure.of("RBPResidual")(ranking)
    np.testing.assert_allclose(both, 1, atol=1e-15)


def test_a_residual_has_a_tail_even_where_everything_was_judged() -> None:
    value = Measure.of("RBPResidual", p=0.5)(ranking_of([Topic((1, 0))]))
    np.testing.assert_allclose(value, 0.25, atol=1e-15)  # trec_eval's rbp_resid says 0


def test_rounding_never_makes_a_residual_negative() -> None:
    ranking = ranking_of([Topic((1,) * length) for length in range(60)])
    for p in (0.1, 0.3, 0.5, 0.7, 0.8, 0.95):
        assert np.all(Measure.of("RBPResidual", p=p, part="unjudged")(ranking) >= 0)


def test_the_best_order_of_compat_is_the_one_that_suits_the_ranking_best() -> None:
    """No other order of the same grades overlaps more."""
    topic = Topic((1, None, 2, 1, 0), (2, 1))
    documents = {"d0": 1, "d2": 2, "d3": 1, "e0": 2, "e1": 1}
    ranking = [f"d{rank}" for rank in range(5)]
    best = max(
        rank_biased_overlap(ranking, list(order), 0.95, 5)[0]
        for order in permutations(documents)
        if [documents[doc] for doc in order] == sorted(documents.values(), reverse=True)
    )
    weights = sum(0.95**i for i in range(5))
    value = Measure.of("Compat", normalize=False)(ranking_of([topic]))
    np.testing.assert_allclose(value, best / weights, atol=1e-15)


def test_bpm_stops_where_thirds_add_up_to_one() -> None:
    topic = Topic((None, 1, 1, 1, 3))
    value = Measure.of("BPM", k=5)(ranking_of([topic], highest=3))
    assert Fraction(float(value[0])).limit_denominator(100) == Fraction(1, 4)


def test_a_better_grade_can_lower_bpm_because_the_reader_stops_before_the_best() -> None:
    before, after = Measure.of("BPM", k=10)(ranking_of([Topic((None, 1, 2, 4)), Topic((None, 1, 3, 4))]))
    assert after < before


def test_a_better_grade_can_lower_inst_when_much_less_than_one_document_is_wanted() -> None:
    topics = [Topic((3, 0, 0)), Topic((4, 0, 0))]
    before, after = Measure.of("INST", T=0.3, k=5)(ranking_of(topics))
    assert after < before


def test_two_ways_to_say_what_a_grade_is_worth_are_refused() -> None:
    ranking = ranking_of([Topic((1, 0))])
    two: list[dict[str, Any]] = [
        {"rel": 1, "gains": {1: 0.5}},
        {"rel": 1, "gain": "exponential"},
        {"gains": {1: 0.5}, "gain": "exponential"},
    ]
    for parameters in two:
        with pytest.raises(DataError, match=r"all define the gain of a grade; give one of them"):
            Measure.of("RBP", **parameters)(ranking)
    with pytest.raises(DataError, match=r"rel=1 and gain='linear' both define the gain of a grade"):
        Measure.of("ERR", rel=1, gain="linear")(ranking)


@pytest.mark.parametrize("rel", [1, 2, 3])
def test_err_with_binary_gains_is_the_reciprocal_rank(rel: int) -> None:
    ranking = ranking_of(TOPICS)
    for k in (None, 3):
        binary = Measure.of("ERR", gain="binary", rel=rel, k=k)(ranking)
        assert np.array_equal(binary, Measure.of("RR", rel=rel, k=k)(ranking))


@pytest.mark.parametrize(
    ("name", "gain", "value"),
    [
        ("RBP", "linear", 0.2 * (1 / 2 + 0.64 * 2 / 2)),
        ("RBP", "exponential", 0.2 * (1 / 4 + 0.64 * 3 / 4)),
        ("ERR", "linear", 1 / 2 + (1 / 2) * (2 / 2) / 3),
        ("ERR", "ntcireval", 1 / 3 + (2 / 3) * (2 / 3) / 3),
        ("ERR", "exponential", 1 / 4 + (3 / 4) * (3 / 4) / 3),
    ],
)
def test_a_topic_of_low_grades_reaches_the_end_of_its_own_scale(name: str, gain: str, value: float) -> None:
    topics = [Topic((1, None, 2), (0, 1)), Topic((4, 0)), Topic((0, None)), Topic((None,))]
    found = Measure.of(name, gain=gain, scale="topic")(ranking_of(topics))
    assert found[0] == pytest.approx(value, abs=1e-15)
    assert found[0] > Measure.of(name, gain=gain)(ranking_of(topics))[0]
    assert found[1] == Measure.of(name, gain=gain)(ranking_of(topics))[1]  # the grade 4 ends both scales
    assert found[2:].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("name", "parameters", "told"),
    [
        (
            "ERR",
            {"max_rel": 4},
            "max_rel=4 and scale='topic' both define the highest grade; give one of them",
        ),
        (
            "RBP",
            {"rel": 2},
            "rel=2 and scale='topic' both define the gain of a grade; give one of them",
        ),
        (
            "RBP",
            {"gains": {1: 5}},
            "gains= and scale='topic' both define the gain of a grade; give one of them",
        ),
    ],
)
def test_a_scale_of_the_topic_is_refused_where_something_else_ends_it(
    name: str, parameters: dict[str, Any], told: str
) -> None:
    with pytest.raises(DataError) as refused:
        Measure.of(name, scale="topic", **parameters)(ranking_of([Topic((1, 0))]))
    assert str(refused.value) == told


def test_rbp_refuses_gains_below_0() -> None:
    with pytest.raises(DataError, match=r"the gain -1 is below 0; RBP needs gains of 0 or more"):
        Measure.of("RBP", gains={0: -1})(ranking_of([Topic((1, 0))]))


def test_a_scale_must_have_two_ends() -> None:
    with pytest.raises(DataError, match=r"min_rel=2 must be below the highest grade, 2"):
        Measure.of("INST", min_rel=2, max_rel=2)(ranking_of([Topic((1, 0))]))


@pytest.fixture
def quiet_cwl() -> Iterator[None]:
    """cwl_eval warns of every scale that the judgments do not fill."""
    logger = logging.getLogger("ir_measures.cwl_eval")
    level = logger.level
    logger.setLevel(logging.ERROR)
    yield
    logger.setLevel(level)


@pytest.mark.usefixtures("quiet_cwl")
def test_ir_measures_agrees_on_random_topics() -> None:
    ir_measures = require("ir_measures")
    require("cwl")
    topics = [topic for topic in random_topics(250, seed=42) if topic.ranking and topic.judged]
    qrels: dict[str, dict[str, int]] = {}
    runs: dict[str, dict[str, float]] = {}
    for number, topic in enumerate(topics):
        run = {f"d{rank:03}": 1000.0 - rank for rank in range(len(topic.ranking))}
        judged = {f"d{rank:03}": int(label) for rank, label in enumerate(topic.ranking) if label is not None}
        judged |= {f"e{place:03}": int(grade) for place, grade in enumerate(topic.elsewhere)}
        qrels[f"{number:06}"], runs[f"{number:06}"] = judged, run
    texts = {
        "RBP(rel=1)": Measure.of("RBP", rel=1),
        "RBP(rel=2,p=0.5)": Measure.of("RBP", rel=2, p=0.5),
        "INST(max_rel=4)": Measure.of("INST"),
        "INST(T=2.5,max_rel=4,min_rel=2)": Measure.of("INST", T=2.5, max_rel=4, min_rel=2),
        "INST(max_rel=2)": Measure.of("INST", max_rel=2),
        "INSQ(max_rel=4,T=2.5)": Measure.of("INSQ", T=2.5),
        "BPM(max_rel=4)@5": Measure.of("BPM", k=5),
        "BPM(max_rel=4,T=2.0)@10": Measure.of("BPM", k=10, T=2),
        "SDCG(max_rel=4)@5": Measure.of("SDCG", k=5),
        "NERR8(max_rel=4)@10": Measure.of("NERR8", k=10),
        "NERR9(max_rel=4)@10": Measure.of("NERR9", k=10),
        "NERR10(max_rel=4)": Measure.of("NERR10"),
        "NERR10(max_rel=4,p=0.5)": Measure.of("NERR10", p=0.5),
        "NERR11(max_rel=4,T=2.0)": Measure.of("NERR11", T=2),
        "Compat": Measure.of("Compat"),
        "Compat(p=0.8,normalize=False)": Measure.of("Compat", p=0.8, normalize=False),
    }
    peers = {ir_measures.parse_measure(text): text for text in texts}
    found: dict[tuple[str, str], float] = {
        (peers[value.measure], value.query_id): value.value
        for value in ir_measures.iter_calc(list(peers), qrels, runs)
    }
    ranking = ranking_of(topics)
    for text, measure in texts.items():
        expected = [found[text, f"{number:06}"] for number in range(len(topics))]
        np.testing.assert_allclose(measure(ranking), expected, rtol=0, atol=1e-9, err_msg=text)
