"""Each kernel against its definition, written out in plain Python for one topic at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from tests.conftest import require
from tests.properties.strategies import POOLED, Label, Topic, is_judged, random_topics, ranking_of

from sounding.core.errors import DataError
from sounding.measures import binary, counts, interpolated, sets
from sounding.measures.registry import Measure, definitions

TOPICS = random_topics(1500, seed=20)
FAMILIES = {module.__name__.rpartition(".")[2] for module in (binary, counts, interpolated, sets)}

Reference = Callable[..., Any]


def relevance(topic: Topic, rel: float) -> list[bool]:
    return [label is not None and label >= rel for label in topic.ranking]


def relevant_in_all(topic: Topic, rel: float) -> int:
    return sum(grade >= rel for grade in topic.judged)


def precision(topic: Topic, k: int, rel: float = 1) -> float:
    return sum(relevance(topic, rel)[:k]) / k


def recall(topic: Topic, k: int, rel: float = 1) -> float:
    total = relevant_in_all(topic, rel)
    return sum(relevance(topic, rel)[:k]) / total if total else 0


def relative_precision(topic: Topic, k: int, rel: float = 1) -> float:
    best = min(k, relevant_in_all(topic, rel))
    return sum(relevance(topic, rel)[:k]) / best if best else 0


def f_measure(topic: Topic, k: int, rel: float = 1, beta: float = 1) -> float:
    p, r = precision(topic, k, rel), recall(topic, k, rel)
    return (beta + 1) * p * r / (beta * p + r) if p and r else 0


def success(topic: Topic, k: int | None = None, rel: float = 1) -> float:
    return float(any(relevance(topic, rel)[:k]))


def reciprocal_rank(topic: Topic, k: int | None = None, rel: float = 1) -> float:
    for rank, relevant in enumerate(relevance(topic, rel)[:k], 1):
        if relevant:
            return 1 / rank
    return 0


def sum_of_precisions(topic: Topic, k: int | None, rel: float) -> float:
    found, total = 0, 0.0
    for rank, relevant in enumerate(relevance(topic, rel)[:k], 1):
        if relevant:
            found += 1
            total += found / rank
    return total


def average_precision(topic: Topic, k: int | None = None, rel: float = 1, norm: str = "a") -> float:
    divisor = relevant_in_all(topic, rel)
    if norm == "b" and k is not None:
        divisor = min(divisor, k)
    if norm == "c" and k is not None:
        assert topic.pool_ranks is not None
        known = zip(topic.judged, topic.pool_ranks, strict=True)
        divisor = sum(grade >= rel and 1 <= rank <= k for grade, rank in known)
    return sum_of_precisions(topic, k, rel) / divisor if divisor else 0


def yaap(topic: Topic, rel: float = 1) -> float:
    total = sum_of_precisions(topic, None, rel)
    return math.log((1 + total) / (1 + relevant_in_all(topic, rel) - total))


def r_precision(topic: Topic, rel: float = 1) -> float:
    depth = relevant_in_all(topic, rel)
    return sum(relevance(topic, rel)[:depth]) / depth if depth else 0


def r_precision_multiple(topic: Topic, x: float, rel: float = 1) -> float:
    depth = int(x * relevant_in_all(topic, rel) + 0.9)
    return sum(relevance(topic, rel)[:depth]) / depth if depth else 0


def bpref(topic: Topic, rel: float = 1) -> float:
    relevant = relevant_in_all(topic, rel)
    nonrelevant = len(topic.judged) - relevant
    above, total = 0, 0.0
    for label in topic.ranking:
        if label is None or label == POOLED:
            continue
        if label < rel:
            above += 1
        elif above:
            total += 1 - min(above, relevant) / min(nonrelevant, relevant)
        else:
            total += 1
    return total / relevant if relevant else 0


def binary_gain(topic: Topic, rel: float = 1) -> float:
    misses, total = 0, 0.0
    for relevant in relevance(topic, rel):
        if relevant:
            total += 1 / math.log2(2 + misses)
        else:
            misses += 1
    return total / relevant_in_all(topic, rel) if total else 0


def accuracy(topic: Topic, k: int | None = None, rel: float = 1) -> float:
    seen = relevance(topic, rel)[:k]
    pairs = [a for number, a in enumerate(seen) for b in seen[number + 1 :] if a != b]
    return 0 if not any(seen) else sum(pairs) / len(pairs) if pairs else 1


def judged_share(topic: Topic, k: int | None = None) -> float:
    seen = [is_judged(label) for label in topic.ranking[:k]]
    return sum(seen) / len(seen) if seen else 0


def unjudged_share(topic: Topic, k: int) -> float:
    return sum(not is_judged(label) for label in topic.ranking[:k]) / k


def interpolated_precision(
    topic: Topic,
    recall: float,
    rel: float = 1,
    *,
    add: Callable[[float], int] = lambda x: math.floor(x + 0.5),
) -> float:
    needed = add(recall * relevant_in_all(topic, rel))
    seen = relevance(topic, rel)
    reached = [sum(seen[:rank]) / rank for rank in range(1, len(seen) + 1) if sum(seen[:rank]) >= needed]
    return max(reached, default=0)


def interpolated_average(
    topic: Topic, rel: float = 1, points: str = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"
) -> float:
    recalls = [float(point) for point in points.split(",")]
    return sum(interpolated_precision(topic, each, rel) for each in recalls) / len(recalls)


def set_precision(topic: Topic, rel: float = 1, relative: bool = False) -> float:
    found = sum(relevance(topic, rel))
    size = min(len(topic.ranking), relevant_in_all(topic, rel)) if relative else len(topic.ranking)
    return found / size if size else 0


def set_recall(topic: Topic, rel: float = 1) -> float:
    total = relevant_in_all(topic, rel)
    return sum(relevance(topic, rel)) / total if total else 0


def set_f(topic: Topic, rel: float = 1, beta: float = 1) -> float:
    p, r = set_precision(topic, rel), set_recall(topic, rel)
    return (beta + 1) * p * r / (beta * p + r) if p else 0


def utility(
    topic: Topic, a: float = 1, b: float = -1, c: float = 0, d: float = 0, collection: int = 0, rel: float = 1
) -> float:
    found, total = sum(relevance(topic, rel)), relevant_in_all(topic, rel)
    others = len(topic.ranking) - found
    missed = total - found
    return a * found + b * others + c * missed + d * (collection - found - others - missed)


def relevance_string(topic: Topic, k: int = 10) -> str:
    signs: dict[Label, str] = {None: "-", POOLED: "."}
    return "".join(signs.get(label) or str(label) for label in topic.ranking[:k])


def number_retrieved(topic: Topic, rel: float | None = None) -> float:
    return len(topic.ranking) if rel is None else sum(relevance(topic, rel))


def number_nonrelevant(topic: Topic, rel: float = 1) -> float:
    return sum(label is not None and 0 <= label < rel for label in topic.ranking)


REFERENCES: dict[str, tuple[Reference, list[dict[str, Any]]]] = {
    "P": (precision, [{"k": 1}, {"k": 5}, {"k": 100}, {"k": 5, "rel": 2}]),
    "R": (recall, [{"k": 1}, {"k": 5}, {"k": 100}, {"k": 5, "rel": 3}]),
    "RelP": (relative_precision, [{"k": 1}, {"k": 5}, {"k": 5, "rel": 2}]),
    "F": (f_measure, [{"k": 1}, {"k": 5}, {"k": 100}, {"k": 5, "rel": 2, "beta": 2.5}, {"k": 3, "beta": 0}]),
    "Success": (success, [{}, {"k": 1}, {"k": 5}, {"k": 5, "rel": 4}]),
    "RR": (reciprocal_rank, [{}, {"k": 3}, {"rel": 2}]),
    "AP": (
        average_precision,
        [{"k": k, "norm": norm, "rel": rel} for k in (None, 1, 5, 20) for norm in "abc" for rel in (1, 2)],
    ),
    "GMAP": (average_precision, [{}, {"rel": 2}]),
    "Yaap": (yaap, [{}, {"rel": 2}]),
    "Rprec": (r_precision, [{}, {"rel": 2}]),
    "RprecMult": (r_precision_multiple, [{"x": 0.05}, {"x": 0.2}, {"x": 1}, {"x": 5}, {"x": 1.6, "rel": 2}]),
    "Bpref": (bpref, [{}, {"rel": 2}]),
    "GMBpref": (bpref, [{}, {"rel": 2}]),
    "BinG": (binary_gain, [{}, {"rel": 2}]),
    "Accuracy": (accuracy, [{}, {"k": 4}, {"rel": 2}]),
    "Judged": (judged_share, [{}, {"k": 1}, {"k": 5}]),
    "Unjudged": (unjudged_share, [{"k": 1}, {"k": 5}, {"k": 100}]),
    "IPrec": (interpolated_precision, [{"recall": r, "rel": n} for r in (0, 0.1, 0.25, 1) for n in (1, 2)]),
    "IAP": (interpolated_average, [{}, {"rel": 2}, {"points": ".25,.5,.75"}]),
    "SetP": (set_precision, [{}, {"rel": 2}, {"relative": True}]),
    "SetRelP": (lambda topic, rel=1: set_precision(topic, rel, True), [{}, {"rel": 2}]),
    "SetR": (set_recall, [{}, {"rel": 2}]),
    "SetF": (set_f, [{}, {"rel": 2}, {"beta": 0.5}, {"beta": 0}, {"beta": 3}]),
    "SetAP": (lambda topic, rel=1: set_precision(topic, rel) * set_recall(topic, rel), [{}, {"rel": 2}]),
    "Utility": (
        utility,
        [{}, {"a": 2}, {"rel": 2, "c": -0.5}, {"d": 0.25, "collection": 900}],
    ),
    "RunID": (lambda topic: "run", [{}]),
    "NumQ": (lambda topic: 1, [{}]),
    "NumRet": (number_retrieved, [{}, {"rel": 1}, {"rel": 2}]),
    "NumRel": (relevant_in_all, [{"rel": 1}, {"rel": 2}]),
    "NumRelRet": (
        lambda topic, k=None, rel=1: sum(relevance(topic, rel)[:k]),
        [{}, {"rel": 2}, {"k": 1}, {"k": 5, "rel": 2}],
    ),
    "NumNonrelRet": (number_nonrelevant, [{}, {"rel": 2}]),
    "RelString": (relevance_string, [{}, {"k": 1}, {"k": 100}]),
}  # fmt: skip


def test_every_reference_is_of_a_measure_of_these_families() -> None:
    assert set(REFERENCES) <= {known.name for known in definitions() if known.family in FAMILIES}


@pytest.mark.parametrize("name", REFERENCES)
def test_a_kernel_computes_its_definition(name: str) -> None:
    reference, settings = REFERENCES[name]
    ranking = ranking_of(TOPICS)
    for parameters in settings:
        values = Measure.of(name, **parameters)(ranking).tolist()
        expected = [reference(topic, **parameters) for topic in TOPICS]
        if isinstance(expected[0], str):
            assert values == expected, parameters
        else:
            assert values == pytest.approx(expected, abs=1e-12, rel=0), parameters
            assert len({round(value, 9) for value in values}) > 1 or name == "NumQ", "the data show nothing"


@pytest.mark.parametrize("recall", [0, 0.1, 0.25, 0.3, 0.5, 0.7, 1])
def test_trec_eval_9_rounds_recall_points_up_from_a_tenth(recall: float) -> None:
    values = Measure.of("IPrec", recall=recall)(ranking_of(TOPICS, old_points=True)).tolist()
    expected = [interpolated_precision(topic, recall, add=lambda x: int(x + 0.9)) for topic in TOPICS]
    assert values == pytest.approx(expected, abs=1e-12, rel=0)


def test_half_a_document_is_rounded_up_whatever_stands_before_it() -> None:
    for relevant in (1, 3, 5):
        topic = Topic((*[1] * (relevant // 2), 0, 0, 1), (1,) * (relevant - relevant // 2 - 1))
        values = Measure.of("IPrec", recall=0.5)(ranking_of([topic]))
        assert values.tolist() == [(relevant // 2 + 1) / len(topic.ranking)]


def test_a_run_outside_the_pool_can_exceed_1_in_variant_c() -> None:
    topic = Topic((1, 1), (1,), pool_ranks=(9, 9, 1))
    assert Measure.of("AP", k=2, norm="c")(ranking_of([topic])).tolist() == [2.0]


def test_variant_c_without_pool_ranks_says_what_is_missing() -> None:
    with pytest.raises(DataError, match=r"AP with norm='c' .* depth 5, .* pool_rank column"):
        Measure.of("AP", k=5, norm="c")(ranking_of([Topic((1,))]))


def test_utility_of_what_was_left_out_wants_the_size_of_the_collection() -> None:
    with pytest.raises(DataError, match="size of the collection"):
        Measure.of("Utility", d=1)(ranking_of([Topic((1,))]))


@pytest.mark.parametrize("points", ["0.5,1.5", "-0.1"])
def test_recall_points_outside_0_and_1_are_refused(points: str) -> None:
    with pytest.raises(DataError, match="levels of recall"):
        Measure.of("IAP", points=points)


def test_grades_above_9_and_fractions_have_one_character() -> None:
    assert Measure.of("RelString")(ranking_of([Topic((10, 9, 1.5, 0.5)), Topic()])).tolist() == [">910", ""]


TREC_EVAL_9: dict[str, dict[str, Any]] = {
    "P_5": {"name": "P", "k": 5}, "recall_10": {"name": "R", "k": 10},
    "relative_P_5": {"name": "RelP", "k": 5}, "success_5": {"name": "Success", "k": 5},
    "recip_rank": {"name": "RR"}, "map": {"name": "AP"}, "map_cut_5": {"name": "AP", "k": 5},
    "Rprec": {"name": "Rprec"}, "Rprec_mult_0.20": {"name": "RprecMult", "x": 0.2},
    "Rprec_mult_1.60": {"name": "RprecMult", "x": 1.6}, "bpref": {"name": "Bpref"}, "binG": {"name": "BinG"},
    "iprec_at_recall_0.00": {"name": "IPrec", "recall": 0},
    "iprec_at_recall_0.30": {"name": "IPrec", "recall": 0.3}, "11pt_avg": {"name": "IAP"},
    "infAP": {"name": "infAP"}, "set_P": {"name": "SetP"}, "set_recall": {"name": "SetR"},
    "set_F": {"name": "SetF"}, "set_map": {"name": "SetAP"}, "set_relative_P": {"name": "SetRelP"},
    "utility": {"name": "Utility"}, "num_ret": {"name": "NumRet"}, "num_rel": {"name": "NumRel"},
    "num_rel_ret": {"name": "NumRelRet"}, "num_nonrel_judged_ret": {"name": "NumNonrelRet"},
}  # fmt: skip


@pytest.mark.parametrize("rel", [1, 2])
@pytest.mark.parametrize("judged_only", [False, True])
def test_pytrec_eval_computes_the_same(rel: int, judged_only: bool) -> None:
    pytrec_eval = require("pytrec_eval")
    topics = [topic for topic in TOPICS if topic.ranking and topic.judged]
    qrels, run = as_dicts(topics)
    evaluator = pytrec_eval.RelevanceEvaluator(
        qrels, pytrec_eval.supported_measures, relevance_level=rel, judged_docs_only_flag=judged_only
    )
    theirs = evaluator.evaluate(run)
    ranking = ranking_of(topics, old_points=True)
    # trec_eval 9 divides 0 by 0 where condensing leaves nothing of a ranking.
    compared = [number for number, topic in enumerate(topics) if topic.condensed().ranking or not judged_only]
    for name, setting in TREC_EVAL_9.items():
        parameters = {key: value for key, value in setting.items() if key != "name"}
        if setting["name"] != "NumRet":  # its level is no level of relevance, but a filter
            parameters["rel"] = rel
        values = Measure.of(setting["name"], judged_only=judged_only, **parameters)(ranking)
        expected = [theirs[str(number)][name] for number in compared]
        assert values[compared].tolist() == pytest.approx(expected, abs=1e-9, rel=0), name


def as_dicts(topics: Sequence[Topic]) -> tuple[dict[str, dict[str, int]], dict[str, dict[str, float]]]:
    """Qrels and run as pytrec_eval wants them."""
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number, topic in enumerate(topics):
        ranked = {f"d{rank}": label for rank, label in enumerate(topic.ranking)}
        qrels[str(number)] = {doc: int(label) for doc, label in ranked.items() if label is not None}
        qrels[str(number)] |= {f"e{place}": int(grade) for place, grade in enumerate(topic.elsewhere)}
        run[str(number)] = {doc: -float(rank) for rank, doc in enumerate(ranked)}
    return qrels, run


def test_no_topics_give_no_values() -> None:
    ranking = ranking_of([])
    for name, (_, settings) in REFERENCES.items():
        assert len(Measure.of(name, **settings[0])(ranking)) == 0, name


def test_values_are_floats_wherever_they_are_numbers() -> None:
    ranking = ranking_of(TOPICS[:5])
    for name, (_, settings) in REFERENCES.items():
        kind = Measure.of(name, **settings[0])(ranking).dtype
        assert kind == (np.object_ if name in ("RunID", "RelString") else np.float64), name
