"""Values at every k: each cumulative form gives what the measure itself gives, cut-off by cut-off."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.properties.strategies import Topic, every_definition, random_topics, ranking_of

from sounding.core.errors import DataError, UnknownNameError
from sounding.measures import Measure, parse
from sounding.measures.bounds import Unknowns, bounds
from sounding.measures.cumulative import (
    has_curve,
    measures_over_depth,
    name_of,
    rank_weights,
    residuals_at_every_k,
    values_at,
    values_once_per_k,
)
from sounding.runs.ranking import Ranking

DEPTH = 34  # four ranks beyond the longest list of the random topics

# Every parameter that changes a value, beside the defaults of all measures that take k.
FORMS = (
    "P(rel=2)@1", "P(assessed=True)@1", "P(judged_only=True)@1", "R(rel=3)@1", "RelP(rel=2)@1",
    "F(beta=0.5)@1", "F(rel=2,beta=0)@1", "Success(rel=4)@1", "RR(rel=2)@1", "RR(judged_only=True)@1",
    "AP(norm='b')@1", "AP(norm='c')@1", "AP(rel=2,norm='c')@1", "AP(rel=3,norm='b')@1",
    "AP(assessed=True)@1", "AP(judged_only=True,norm='b')@1", "Accuracy(rel=2)@1",
    "nDCG(norm='b')@1", "nDCG(dcg='exp-zipf')@1", "nDCG(dcg='jk',rel=2)@1", "nDCG(gains={1:0,4:9})@1",
    "nDCG(gains={1:0},norm='b')@1", "nDCG(judged_only=True)@1",
    "DCG(dcg='exp-log2')@1", "DCG(dcg='zipf')@1", "DCG(gains={0:-1})@1", "DCG(rel=1)@1",
    "Q(beta=3)@1", "Q(norm='b',gain='exponential')@1", "Q(norm='c')@1", "Q(ideal='ii')@1",
    "Q(gain='grade',gains={0:2,2:7},rel=2)@1", "Q(ideal='ii',norm='c',beta=2)@1",
    "RBP(p=0.95)@1", "RBP(p=0)@1", "RBP(rel=2)@1", "RBP(gain='exponential')@1", "RBP(gains={1:0.5,3:2})@1",
    "RBPResidual(p=0.5,part='unjudged')@1", "RBPResidual(part='tail')@1",
    "ERR(gain='linear')@1", "ERR(gain='ntcireval')@1", "ERR(rel=2)@1", "ERR(max_rel=2)@1", "SDCG(dcg='zipf',min_rel=1)@1", "SDCG(max_rel=3)@1",
    "INSQ(T=3)@1", "INST(T=2.5)@1", "INST(T=0.3)@1", "BPM(T=1.5)@1", "BPM(T=0.4,min_rel=1)@1",
    "NERR8(max_rel=2)@1", "NERR10(p=0.5)@1", "NERR11(T=4)@1",
    "RBP(scale='topic')@1", "RBP(gain='exponential',scale='topic')@1", "ERR(scale='topic')@1",
    "ERR(gain='linear',scale='topic')@1", "Q(scale='topic')@1", "Q(norm='b',gain='exponential',scale='topic')@1",
    "Q(ideal='ii',scale='topic')@1",
)  # fmt: skip


def cut_measures() -> list[Measure]:
    """Every measure of numbers that takes k, with its defaults, and the forms above."""
    plain = [
        Measure.of(known.name, k=1)
        for known in every_definition()
        if known.at == "k" and "k" in known.parameters and known.aggregate != "text"
    ]
    return [*plain, *map(parse, FORMS)]


@pytest.fixture(scope="module")
def ranking() -> Ranking:
    """200 topics: rich and poor, hardly and fully judged, without any document, with pool ranks."""
    return ranking_of(random_topics(200, seed=5))


@pytest.mark.parametrize("measure", cut_measures(), ids=str)
def test_the_curve_is_the_measure_at_every_k(measure: Measure, ranking: Ranking) -> None:
    found = values_at(measure, ranking, np.arange(1, DEPTH + 1))
    expected = values_once_per_k(measure, ranking, range(1, DEPTH + 1))
    assert found.shape == (DEPTH, 200)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("measure", cut_measures(), ids=str)
def test_the_condensed_curve_is_the_condensed_measure(measure: Measure, ranking: Ranking) -> None:
    condensed = ranking.condensed()
    found = values_at(measure, condensed, np.arange(1, DEPTH + 1))
    expected = values_once_per_k(measure, condensed, range(1, DEPTH + 1))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_long_lists_stay_exact() -> None:
    topics = random_topics(6, seed=2, longest=2000)
    long = ranking_of([*topics, Topic((1, None, 3, 0) * 500, (2,) * 40, pool_ranks=(3,) * 1540)])
    for measure in map(parse, ("AP(norm='c')@1", "INST@1", "NERR10@1", "ERR@1", "nDCG@1", "Q@1", "RBP@1")):
        found = values_at(measure, long, np.arange(1, 2001))
        ks = (1, 2, 3, 10, 777, 1999, 2000)
        expected = values_once_per_k(measure, long, ks)
        np.testing.assert_allclose(found[np.array(ks) - 1], expected, rtol=0, atol=1e-12)


def test_only_measures_of_samples_and_ideals_lack_a_form() -> None:
    """But for measures of intents, none of which has one."""
    lacking = {m.name for m in cut_measures() if not has_curve(m.name) and not m.definition.by_intent}
    assert lacking == {"NumRelRet", "IDCG", "infNDCG"}


def test_a_depth_of_one_and_a_ranking_without_judged_documents_work() -> None:
    empty = ranking_of([Topic((None, None)), Topic(), Topic((), (1, 0))])
    for measure in (parse("AP@1"), parse("INST@1"), parse("BPM@1"), parse("nDCG@1"), parse("Q@1")):
        np.testing.assert_array_equal(values_at(measure, empty, np.array([1])), np.zeros((1, 3)))


def test_pool_ranks_are_asked_for_where_a_measure_needs_them() -> None:
    unknown = ranking_of([Topic((1, 0))])
    for text in ("AP(norm='c')@1", "nDCG(norm='b')@1", "Q(norm='c')@1"):
        with pytest.raises(DataError, match="give qrels with pool ranks"):
            values_at(parse(text), unknown, np.arange(1, 4))


def test_parameters_that_contradict_each_other_are_refused_as_the_measure_does() -> None:
    with pytest.raises(DataError, match="use gains= with gain='grade'"):
        values_at(parse("Q(gains={1:2})@1"), ranking_of([Topic((1, 0))]), np.arange(1, 4))
    for measure, told in (
        (Measure.of("Q", k=1, gain="grade", scale="topic"), "gain='grade' takes grades as they are"),
        (Measure.of("ERR", k=1, max_rel=4, scale="topic"), "both define the highest grade"),
        (Measure.of("RBP", k=1, rel=2, scale="topic"), "rel=2 and scale='topic' both define"),
    ):
        with pytest.raises(DataError, match=told):
            values_at(measure, ranking_of([Topic((1, 0))]), np.arange(1, 4))


# -- families --------------------------------------------------------------------------------------


def test_families_are_measures_without_their_cut_off() -> None:
    found = measures_over_depth(["AP", "P", "RBP(p=0.95)", "map", "INST", "AP(norm='b')"])
    assert [name_of(measure) for measure in found] == ["AP", "P", "RBP(p=0.95)", "INST", "AP(norm='b')"]
    assert {measure.k for measure in found} == {1}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("AP@100", "AP@100: .*; give AP and --depths"),
        ("Bpref", "Bpref has no cut-off"),
    ],
)
def test_measures_with_a_cut_off_and_without_any_are_refused(text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        measures_over_depth([text])


def test_an_unknown_measure_comes_with_the_nearest_name() -> None:
    with pytest.raises(UnknownNameError, match="nDCG"):
        measures_over_depth(["nDCH"])


# -- residuals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["RBP", "RBP(p=0.95)", "RBP(rel=2)", "RBP(gains={1:0.5,3:2})", "ERR", "ERR(max_rel=2)",
             "ERR(gain='linear')", "ERR(gain='ntcireval')", "ERR(rel=2)", "RBP(gain='exponential')"],
)  # fmt: skip
def test_residuals_are_those_of_the_bounds(text: str, ranking: Ranking) -> None:
    measure = parse(f"{text}@1")
    found = residuals_at_every_k(measure, ranking, DEPTH)
    assert found is not None
    nothing = Unknowns(np.zeros(len(ranking.topics), np.int64))
    for k in (1, 2, 7, 20, DEPTH):
        known = bounds(measure.replace(k=k), ranking, nothing)
        assert known.residual_unjudged is not None
        assert known.residual_tail is not None
        np.testing.assert_allclose(found.unjudged[k - 1], known.residual_unjudged, rtol=0, atol=1e-12)
        np.testing.assert_allclose(found.tail[k - 1], known.residual_tail, rtol=0, atol=1e-12)


def test_rbp_95_cut_at_1_leaves_95_percent_open_as_in_table_9_of_lu() -> None:
    judged = ranking_of([Topic((1, 0, 1))], highest=1)
    found = residuals_at_every_k(parse("RBP(p=0.95)@1"), judged, 1)
    assert found is not None
    assert found.tail.tolist() == [[0.95]]
    assert found.unjudged.tolist() == [[pytest.approx(0.0, abs=1e-15)]]


@pytest.mark.parametrize(
    "text",
    [
        "AP",
        "P",
        "RBP(assessed=True)",
        "RBP(judged_only=True)",
        "ERR(judged_only=True)",
        "RBP(scale='topic')",
        "ERR(scale='topic')",
    ],
)
def test_other_measures_have_no_residual(text: str, ranking: Ranking) -> None:
    assert residuals_at_every_k(parse(f"{text}@1"), ranking, 3) is None


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("k", "share"), [(5, 0.34), (10, 0.22), (20, 0.14)])
def test_the_first_rank_of_ndcg_weighs_what_lu_says(k: int, share: float) -> None:
    weights = rank_weights(parse("nDCG@1"), k)
    assert weights is not None
    assert round(float(weights[0]), 2) == share
    assert weights.sum() == pytest.approx(1)


@pytest.mark.parametrize("text", ["P", "RBP(p=0.9)", "DCG(dcg='zipf')", "nDCG", "SDCG", "INSQ(T=2)"])
def test_weights_are_what_one_best_document_at_each_rank_gives(text: str) -> None:
    k = 6
    weights = rank_weights(parse(f"{text}@1"), k)
    assert weights is not None
    for rank in range(1, k + 1):
        labels = tuple(1 if place == rank else 0 for place in range(1, k + 1))
        one = ranking_of([Topic(labels, (1,) * k)], highest=1)
        value = parse(f"{text}@{k}")(one)
        assert value[0] == pytest.approx(weights[rank - 1], abs=1e-15)


@pytest.mark.parametrize("text", ["AP", "ERR", "INST", "Q", "RR"])
def test_ranks_of_measures_that_follow_the_ranking_have_no_weight(text: str) -> None:
    assert rank_weights(parse(f"{text}@1"), 10) is None


def test_the_tail_of_rbp_is_what_its_weights_lack() -> None:
    weights = rank_weights(parse("RBP(p=0.8)@1"), 10)
    assert weights is not None
    assert weights.sum() == pytest.approx(1 - math.pow(0.8, 10))


def test_some_depths_are_rows_of_all_with_and_without_a_cumulative_form(ranking: Ranking) -> None:
    ks = np.array([2, 9, 30])
    for measure in (parse("AP@1"), parse("Q(ideal='ii')@1"), parse("NumRelRet@1")):
        expected = values_once_per_k(measure, ranking, range(1, 31))[ks - 1]
        np.testing.assert_allclose(values_at(measure, ranking, ks), expected, rtol=0, atol=1e-12)
