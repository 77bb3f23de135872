"""Expected values against every completion of small judgments, against draws, and on a real collection."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.properties.strategies import Label, Topic, every_definition, ranking_of

from sounding.core.errors import DataError
from sounding.core.policies import Policies
from sounding.data.formats import read_qrels, read_run
from sounding.data.tables import Qrels
from sounding.evaluate.evaluation import evaluate
from sounding.evaluate.result import ExpectedValues
from sounding.measures import Measure, parse
from sounding.measures.expected import Expected, Method, expected, is_known, level_of
from sounding.measures.expected.draws import Sampler, sampled_moments
from sounding.measures.expected.ratio import ratio_moments
from sounding.relevance.priors import Chances, Outside, chances, parse_prior
from sounding.runs.align import align, prepare
from sounding.runs.ranking import Ranking, TieBlocks, Values

HIGHEST = 2


@dataclass(frozen=True)
class Case:
    """A topic whose unjudged documents, retrieved (labels None, in their order) and outside, have chances."""

    topic: Topic
    inside: tuple[float, ...]
    outside: tuple[float, ...]

    def completions(self, level: float) -> Iterator[tuple[float, Topic]]:
        """Every way the judgments may be completed that is possible at all, with its probability."""
        free = [place for place, label in enumerate(self.topic.ranking) if label is None]
        every = (*self.inside, *self.outside)
        for relevant in itertools.product([False, True], repeat=len(every)):
            weight = math.prod(p if yes else 1 - p for p, yes in zip(every, relevant, strict=True))
            if weight:
                grades = [level if yes else 0.0 for yes in relevant]
                ranking: list[Label] = list(self.topic.ranking)
                for place, grade in zip(free, grades, strict=False):
                    ranking[place] = grade
                elsewhere = (*self.topic.elsewhere, *grades[len(free) :])
                yield weight, replace(self.topic, ranking=tuple(ranking), elsewhere=elsewhere)


def random_cases(number: int, seed: int, extremes: bool = True) -> list[Case]:
    """Topics with up to five unjudged documents; `extremes`: also chances of 0, 1 and nearly so."""
    chance = random.Random(seed)

    def probability() -> float:
        usual = 0.1 + 0.8 * chance.random()
        return (
            chance.choice([usual, usual, usual, chance.random(), 0, 1, 1e-3, 1 - 1e-6]) if extremes else usual
        )

    cases = []
    for _ in range(number):
        grades = chance.choice([[0], [0, 1], [0, 1, 2], [2]])
        ranking: list[Label] = chance.choices([*grades, None], k=chance.randint(0, 7))
        while ranking.count(None) > 5:
            ranking[ranking.index(None)] = chance.choice(grades)
        elsewhere = chance.choices(grades, k=chance.choice([0, 0, 1, 3]))
        drawn = Topic(tuple(ranking), tuple(elsewhere), missing=not ranking)
        outside = [probability() for _ in range(chance.choice([0, 0, 1, 2]))]
        if len(outside) == 2 and chance.random() < 0.5:
            outside[1] = outside[0]
        cases.append(Case(drawn, tuple(probability() for _ in range(ranking.count(None))), tuple(outside)))
    return cases


def chances_of(cases: Sequence[Case], level: float = 1) -> Chances:
    rows = [
        (number, rank, np.nan if label is None else label)
        for number, case in enumerate(cases)
        for rank, label in enumerate(case.topic.ranking, 1)
    ]
    grade = np.array([grade for _, _, grade in rows], np.float64)
    probability = (grade >= level).astype(np.float64)
    probability[np.isnan(grade)] = [p for case in cases for p in case.inside]
    elsewhere = [sum(grade >= level for grade in case.topic.elsewhere) for case in cases]
    return Chances(
        prior="by hand",
        level=level,
        topic=np.array([number for number, _, _ in rows], np.int64),
        rank=np.array([rank for _, rank, _ in rows], np.int64),
        grade=grade,
        probability=probability,
        elsewhere=np.array(elsewhere, np.int64),
        outside=Outside.each(
            np.array([number for number, case in enumerate(cases) for _ in case.outside], np.int64),
            np.array([p for case in cases for p in case.outside], np.float64),
        ),
    )


def ranking_for(cases: Sequence[Case]) -> Ranking:
    return ranking_of([case.topic for case in cases], highest=HIGHEST)


class Enumerated:
    """All completions of all cases as one ranking; moments of any measure by summing over them."""

    def __init__(self, cases: Sequence[Case], level: float = 1) -> None:
        pairs = [(n, *pair) for n, case in enumerate(cases) for pair in case.completions(level)]
        self.case = np.array([number for number, _, _ in pairs])
        self.weight = np.array([weight for _, weight, _ in pairs])
        self.ranking = ranking_of([topic for _, _, topic in pairs], highest=HIGHEST)
        self.size = len(cases)

    def moments(self, measure: Measure) -> tuple[Values, Values]:
        values = measure(self.ranking)
        mean = np.bincount(self.case, self.weight * values, self.size).astype(np.float64)
        square = (values - mean[self.case]) ** 2
        return mean, np.sqrt(np.bincount(self.case, self.weight * square, self.size))


CASES = random_cases(3000, seed=7)
MILD = random_cases(150, seed=8, extremes=False)
ALL: dict[float, Enumerated] = {level: Enumerated(CASES, level) for level in (1, 2)}


def best(
    name: str, cases: Sequence[Case] = CASES, level: float = 1, method: Method = "best", **options: Any
) -> Expected:
    rng = np.random.default_rng(options.pop("seed", 1))
    return expected(
        parse(name), chances_of(cases, level), ranking_for(cases), method=method, rng=rng, **options
    )


EXACT = (
    "AP", "AP@1", "AP@3", "AP@100", "GMAP", "R@1", "R@3", "R@50", "SetR",
    "P@1", "P@4", "P@20", "DCG", "DCG@3", "DCG(dcg='exp-log2')", "DCG(gains={0:-0.5,2:5})@4", "DCG(rel=1)",
    "RBP", "RBP@2", "RBP(p=0.5,rel=1)", "RBP(gains={2:7})", "RBP(gain='exponential')@5",
    "SDCG@5", "INSQ@5", "NumRelRet", "NumRelRet@2", "RR", "RR@2", "Success", "Success@3",
    "nDCG@1", "nDCG@3", "nDCG@10", "nDCG(rel=1)@3", "nDCG(dcg='exp-log2')@4", "nDCG(gains={1:5,2:1})@3",
    "RelP@1", "RelP@5", "NumRel", "NumRelNotRet", "NumRet(rel=1)", "NumNonrel", "NumNonrelRet", "NumNonrelNotRet",
)  # fmt: skip


@pytest.mark.parametrize("name", EXACT)
def test_exact_moments_are_those_of_all_completions(name: str) -> None:
    mean, deviation = ALL[1].moments(parse(name))
    result = best(name)
    assert result.method == "exact"
    assert not result.error.any()
    np.testing.assert_allclose(result.mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.deviation, deviation, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    "name", ["AP(rel=2)", "AP(rel=2)@3", "P(rel=2)@4", "R(rel=2)@2", "DCG@5", "nDCG@3", "RBP", "RR(rel=2)"]
)
def test_at_another_level_relevant_documents_have_that_grade(name: str) -> None:
    mean, deviation = ALL[2].moments(parse(name))
    result = best(name, level=2)
    np.testing.assert_allclose(result.mean, mean, rtol=0, atol=1e-9)
    np.testing.assert_allclose(result.deviation, deviation, rtol=0, atol=1e-9)


def test_outside_documents_count_as_often_as_they_are_said_to() -> None:
    twice = [replace(case, outside=(0.3,) * 3) for case in CASES[:200]]
    single = chances_of(twice)
    grouped = replace(single, outside=Outside(np.arange(200), np.full(200, 0.3), np.full(200, 3)))
    for name in ("AP", "R@3", "nDCG@5", "RelP@2"):
        one = best(name, twice)
        other = expected(parse(name), grouped, ranking_for(twice), rng=np.random.default_rng(1))
        np.testing.assert_allclose(one.mean, other.mean, atol=1e-12)
        np.testing.assert_allclose(one.deviation, other.deviation, atol=1e-10)


def test_average_precision_by_hand() -> None:
    # one judged relevant document at rank 2, one unjudged at rank 1: AP is 1/2, or 1 with probability 0.25
    result = best("AP", [Case(Topic((None, 1)), (0.25,), ())])
    assert result.mean.tolist() == pytest.approx([0.625])
    assert result.deviation.tolist() == pytest.approx([0.5 * math.sqrt(0.25 * 0.75)])


def naive_ratio(case: Case, k: int) -> tuple[float, float, float]:
    """E[Z] / E[R], sd(Z) / E[R] and sd(Z - aR) / E[R] from moments over all completions."""
    weights, sums, numbers = [], [], []
    for weight, topic in case.completions(1):
        hits = [rank for rank, grade in enumerate(topic.ranking[:k], 1) if grade]
        weights.append(weight)
        sums.append(sum(n / rank for n, rank in enumerate(hits, 1)))
        numbers.append(sum(grade >= 1 for grade in topic.judged))
    w, z, r = np.array(weights), np.array(sums), np.array(numbers)
    if not w @ r:
        return 0, 0, 0
    a = w @ z / (w @ r)
    residual = z - a * r

    def deviation(x: Values) -> float:
        return float(np.sqrt(w @ (x - w @ x) ** 2) / (w @ r))

    return float(a), deviation(z), deviation(residual)


@pytest.mark.parametrize(("name", "k"), [("AP", 100), ("AP@3", 3)])
def test_the_approximations_are_their_formulas(name: str, k: int) -> None:
    reference = np.array([naive_ratio(case, k) for case in CASES[:500]])
    ratio = best(name, CASES[:500], method="ratio")
    paper = best(name, CASES[:500], method="paper")
    assert (ratio.method, paper.method) == ("ratio", "paper")
    np.testing.assert_allclose(ratio.mean, reference[:, 0], atol=1e-9)
    np.testing.assert_allclose(paper.mean, reference[:, 0], atol=1e-9)
    np.testing.assert_allclose(paper.deviation, reference[:, 1], atol=1e-9)
    np.testing.assert_allclose(ratio.deviation, reference[:, 2], atol=1e-8)


def test_the_approximations_are_not_exact() -> None:
    exact, ratio = best("AP"), best("AP", method="ratio")
    assert np.abs(exact.mean - ratio.mean).max() > 0.05


def test_approximations_are_for_ratios_only() -> None:
    with pytest.raises(DataError, match="nDCG@5: the method 'ratio' works only for AP and recall"):
        best("nDCG@5", method="ratio")


SAMPLED = (
    "AP", "AP(norm='b')@3", "nDCG", "nDCG(gains={0:1,1:2})@3", "Bpref", "ERR", "ERR@3", "Q", "Q(scale='topic')", "Rprec",
    "BinG", "Yaap", "IPrec@0.3", "SetF", "F@3", "SetP", "Utility(c=-1)", "Compat", "INST@10", "BPM@5", "Accuracy",
    "NumRel", "NumRelNotRet", "NumNonrel", "NumNonrelRet", "NumNonrelNotRet", "G", "nDCGRel", "RnDCG", "P@3", "RelP@200",
)  # fmt: skip


@pytest.mark.parametrize("name", SAMPLED)
def test_draws_agree_with_all_completions_within_their_error(name: str) -> None:
    mean, deviation = Enumerated(MILD).moments(parse(name))
    result = best(name, MILD, method="sampling", draws=2000)
    assert result.method == "sampling"
    assert (np.abs(result.mean - mean) <= 5 * result.error + 1e-12).all()
    assert (np.abs(result.mean - mean) > result.error).any()
    np.testing.assert_allclose(result.deviation, deviation, rtol=0.25, atol=1e-12)
    np.testing.assert_allclose(result.error, result.deviation / math.sqrt(2000))


@pytest.mark.parametrize(
    "name", ["nDCG(gains={0:1,1:2})@3", "nDCG", "nDCG@101", "RelP@101", "AP(norm='b')@3"]
)
def test_what_has_no_exact_form_is_drawn(name: str) -> None:
    mean, _ = Enumerated(MILD).moments(parse(name))
    result = best(name, MILD, draws=2000)
    assert result.method == "sampling"
    assert (np.abs(result.mean - mean) <= 5 * result.error + 1e-12).all()


@pytest.mark.parametrize(
    "name", ["RBP(scale='topic')", "RBP(scale='topic',gain='exponential')@3", "ERR(scale='topic')"]
)
def test_a_scale_that_a_new_grade_can_change_is_drawn(name: str) -> None:
    mean, _ = Enumerated(MILD, 2).moments(parse(name))
    result = best(name, MILD, level=2, draws=2000)
    assert result.method == "sampling"
    assert (np.abs(result.mean - mean) <= 5 * result.error + 1e-12).all()


def test_the_deviation_of_draws_is_that_of_a_sample() -> None:
    result = best("P@1", [Case(Topic((None,)), (0.5,), ())] * 40, method="sampling", draws=2)
    # two values of 0 and 1 stray from their mean by 1/2 each: the root of (1/4 + 1/4) / (2 - 1)
    assert set(result.deviation.round(12)) == {0.0, round(math.sqrt(0.5), 12)}


def test_a_seed_repeats_the_draws_and_another_one_does_not() -> None:
    one, same, other = (best("ERR", MILD, draws=50, seed=seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.mean, same.mean)
    np.testing.assert_array_equal(one.deviation, same.deviation)
    assert (one.mean != other.mean).any()


@pytest.mark.parametrize("name", ["Bpref", "nDCG", "ERR@2", "Rprec"])
def test_how_many_draws_are_held_at_once_changes_nothing(name: str) -> None:
    grouped = replace(chances_of(MILD), outside=Outside(np.arange(150), np.full(150, 0.2), np.full(150, 9)))
    results = [
        sampled_moments(
            parse(name), grouped, ranking_for(MILD),
            draws=23, rng=np.random.default_rng(5), largest_batch=size,
        )
        for size in (1, 5000, 1 << 21)
    ]  # fmt: skip
    for moments, error in results[1:]:
        np.testing.assert_array_equal(moments.mean, results[0][0].mean)
        np.testing.assert_array_equal(moments.deviation, results[0][0].deviation)
        np.testing.assert_array_equal(error, results[0][1])


def one_of_each() -> list[Measure]:
    """Every registered measure with a number for a value, small cut-offs where it has one."""
    needed = {"k": 3, "x": 0.5, "recall": 0.5}
    return [
        Measure.of(known.name, **{name: needed[name] for name in known.parameters if name in needed})
        for known in every_definition()
        if known.aggregate != "text" and not known.by_intent
    ]


@pytest.mark.parametrize("measure", one_of_each(), ids=str)
def test_every_measure_is_known_or_agrees_with_all_completions(measure: Measure) -> None:
    ranking, rng = ranking_for(MILD), np.random.default_rng(2)
    result = expected(measure, chances_of(MILD), ranking, rng=rng, draws=400)
    if is_known(measure):
        assert result.method == "known"
        np.testing.assert_array_equal(result.mean, measure(ranking))
        assert not result.deviation.any()
    else:
        mean, _ = Enumerated(MILD).moments(measure)
        assert (np.abs(result.mean - mean) <= 5 * result.error + 1e-9).all()


@pytest.mark.parametrize("measure", [m for m in one_of_each() if not is_known(m)], ids=str)
def test_documents_judged_not_relevant_matter_only_where_it_is_said(measure: Measure) -> None:
    sampler = Sampler.of(measure, chances_of(MILD), ranking_for(MILD))
    values = [
        next(replace(sampler, every=every).rankings(20, np.random.default_rng(6), 1 << 21))
        for every in (False, True)
    ]
    same = np.array_equal(measure(values[0]), measure(values[1]))
    assert same or measure.definition.counts_nonrelevant


@pytest.mark.parametrize("name", ["AP(assessed=True)", "nDCG(judged_only=True)", "P(rel=0)@3", "Judged@5"])
def test_what_unjudged_documents_have_no_say_in_is_known(name: str) -> None:
    result = best(name)
    np.testing.assert_array_equal(result.mean, parse(name)(ranking_for(CASES)))
    assert result.method == "known"
    assert not result.deviation.any()
    assert not result.error.any()


SMALL = ({"1": {"a": 1, "b": 0}}, [{"1": {"a": 3.0, "u": 2.0, "v": 1.0}}])


def expected_of(*names: str, **policies: Any) -> ExpectedValues:
    """What is expected of measures of the small run, in which two documents are not judged."""
    chosen = Policies(unjudged="expected", prior="0.5", **policies)
    found = evaluate(*SMALL, names, policies=chosen).expected
    assert found is not None
    return found


def test_documents_that_are_not_relevant_are_counted_once_all_are_judged() -> None:
    # Each of two unjudged documents is not relevant with chance 1/2: 1 more, with the variance 2/4.
    found = expected_of("NumNonrelRet", "NumNonrel", "NumNonrelNotRet", "NumRel")
    assert found.mean.ravel().tolist() == [1, 2, 1, 2]
    assert found.deviation.ravel().tolist() == pytest.approx(
        [math.sqrt(0.5), math.sqrt(0.5), 0, math.sqrt(0.5)]
    )
    assert found.methods == ("exact",) * 4


def test_what_is_known_asks_no_prior() -> None:
    found = expected_of("P(rel=0)@3", "P@3", "nDCG(rel=0)")
    assert found.mean.ravel().tolist() == pytest.approx([1 / 3, 2 / 3, 1 / (1 + 1 / math.log2(3))])
    assert found.deviation.ravel().tolist() == pytest.approx([0, math.sqrt(0.5) / 3, 0])
    assert found.methods == ("known", "exact", "known")


def test_exact_forms_take_as_many_documents_as_there_may_be() -> None:
    # One document is relevant, retrieved first; the two others of the run, and 10,000,000, are so by a coin:
    # the mean of 1 / (1 + n successes of n) is (1 - 2^-(n + 1)) * 2 / (n + 1).
    found = expected_of("R@1", "P@3", "nDCG@1", "NumNonrel", universe="+10000000")
    assert found.mean.ravel().tolist() == pytest.approx([2 / 10_000_003, 2 / 3, 1, 1 + 5_000_001], rel=1e-9)


@pytest.mark.parametrize("name", ["Rprec", "nDCG", "Bpref"])
def test_more_documents_than_can_be_drawn_are_refused(name: str) -> None:
    with pytest.raises(
        DataError, match=rf"^{name}: .* universe \+10001 is too large; expected at most \+10,000,"
    ):
        expected_of("AP", name, universe="+10001")
    assert expected_of(name, universe="+10000", draws=3).methods == ("sampling",)
    with pytest.raises(DataError, match=r"^AP: its expected value is drawn"):
        expected_of("AP", universe="+10001", moments="sampling")


@pytest.mark.parametrize("name", [*EXACT, "ERR@5", "Bpref", "nDCG", "Rprec"])
def test_with_chances_of_0_and_1_the_value_is_plain_and_does_not_stray(name: str) -> None:
    chance = random.Random(3)
    settled = [
        Case(case.topic, tuple(chance.choice([0.0, 1.0]) for _ in case.inside), (1.0, 0.0) * (n % 2))
        for n, case in enumerate(CASES[:400])
    ]
    result = best(name, settled, draws=5)
    plain = ranking_of([topic for case in settled for _, topic in case.completions(1)], highest=HIGHEST)
    np.testing.assert_allclose(result.mean, parse(name)(plain), atol=1e-12)
    np.testing.assert_allclose(result.deviation, 0, atol=1e-12)


@pytest.mark.parametrize("name", ["AP", "AP@3", "R@2", "P@3", "RR"])
def test_where_nothing_is_uncertain_the_deviation_is_0_but_for_rounding(name: str) -> None:
    settled = [Case(case.topic, (1.0,) * len(case.inside), ()) for case in CASES[:300]]
    assert best(name, settled).deviation.max() < 1e-16


def test_a_small_chance_leaves_a_small_deviation() -> None:
    tiny = [Case(Topic((1, None, 0, 1, None), (1,)), (1e-9, 1e-9), (1e-9,))]
    mean, deviation = Enumerated(tiny).moments(parse("AP"))
    result = best("AP", tiny)
    np.testing.assert_allclose(result.deviation, deviation, rtol=1e-4)
    np.testing.assert_allclose(result.mean, mean, rtol=1e-14)


@pytest.mark.parametrize("name", ["P@3", "DCG", "RBP", "RR", "Success@4", "NumRelRet"])
def test_a_higher_chance_never_lowers_what_is_monotone(name: str) -> None:
    chance = random.Random(4)
    higher = [
        replace(case, inside=tuple(p + (1 - p) * chance.choice([0, 0.5]) for p in case.inside))
        for case in CASES
    ]
    assert (best(name, higher).mean >= best(name).mean - 1e-12).all()
    assert (best(name, higher).mean > best(name).mean + 1e-3).any()


@pytest.mark.parametrize("relevant", [0.02, 0.7, 5, 11, 13, 19, 21, 27, 30, 60, 400])
def test_average_precision_stays_exact_however_many_documents_are_relevant(relevant: float) -> None:
    # The same integral on many short stretches.
    rng = np.random.default_rng(9)
    number = 800
    p = np.clip(relevant / number * rng.uniform(0, 2, number), 0, 1)
    many = Chances(
        prior="", level=1, topic=np.zeros(number, np.int64), rank=np.arange(1, number + 1),
        grade=np.full(number, np.nan), probability=p, elsewhere=np.zeros(1, np.int64),
        outside=Outside.each(np.empty(0, np.int64), np.empty(0)),
    )  # fmt: skip
    result = ratio_moments(parse("AP"), many, ranking_of([Topic((None,) * number)]))
    mean, deviation = integrals_on_short_stretches(p)
    assert result.mean[0] == pytest.approx(mean, abs=1e-11)
    assert result.deviation[0] == pytest.approx(deviation, abs=1e-11)


def integrals_on_short_stretches(p: Values) -> tuple[float, float]:
    rank = np.arange(1, len(p) + 1)
    edges = [0.0, *(2.0**-n for n in range(40, 0, -1)), *(1 - 2.0**-n for n in range(2, 16)), 1.0]
    places, widths = np.polynomial.legendre.leggauss(30)
    first = second = 0.0
    for low, high in itertools.pairwise(edges):
        for place, width in zip(places, widths, strict=True):
            t = (low + high) / 2 + (high - low) / 2 * place
            pi = p * t / (1 - p + p * t)
            v = pi * (1 - pi)
            above = np.cumsum(pi) - pi
            slope = (1 + above) / rank + (pi / rank).sum() - np.cumsum(pi / rank)
            mean = (pi / rank * (1 + above)).sum()
            variance = (v * slope**2).sum() + (v / rank**2 * (np.cumsum(v) - v)).sum()
            weight = np.exp(np.log(1 - p + p * t).sum()) / t * width * (high - low) / 2
            first += weight * mean
            second -= weight * np.log(t) * (variance + mean**2)
    return first, math.sqrt(second - first**2)


def test_the_mean_over_topics_has_the_deviation_of_independent_topics() -> None:
    result = Expected(
        mean=np.array([0.2, 0.4, 0.9]), deviation=np.array([0.3, 0.0, 0.4]),
        error=np.array([0.03, 0.0, 0.04]), method="sampling",
    )  # fmt: skip
    overall = result.over_topics()
    assert (overall.mean, overall.deviation, overall.error) == pytest.approx((0.5, 0.5 / 3, 0.05 / 3))
    assert result.over_topics(np.array([True, True, False])).deviation == pytest.approx(0.15)
    assert math.isnan(result.over_topics(np.zeros(3, np.bool_)).mean)


def test_chances_of_another_level_are_refused() -> None:
    with pytest.raises(
        DataError, match=r"AP\(rel=2\) counts documents of grade 2 or better.*fitted for grade 1"
    ):
        best("AP(rel=2)")
    assert level_of(parse("AP(rel=2)")) == 2
    assert level_of(parse("nDCG@10")) == 1


def test_texts_averaged_ties_and_single_draws_are_refused() -> None:
    with pytest.raises(DataError, match="RelString gives a text"):
        best("RelString")
    ranking = ranking_for(MILD)
    tied = replace(ranking, ties=TieBlocks(ranking.rank, np.ones_like(ranking.rank)))
    with pytest.raises(DataError, match="cannot be averaged over ties"):
        expected(parse("AP"), chances_of(MILD), tied, rng=np.random.default_rng(1))
    with pytest.raises(DataError, match="1 draws cannot show"):
        best("ERR", draws=1)


def shallow(qrels: Qrels, folder: Path, depth: int) -> Qrels:
    """The judgments that a pool of this depth would have led to."""
    pooled: set[tuple[str, str]] = set()
    for path in sorted(folder.iterdir())[::8]:
        run = read_run(path)
        for topic, begin, end in zip(run.topics, run.starts[:-1], run.starts[1:], strict=True):
            rows = begin + np.argsort(-run.scores[begin:end], kind="stable")[:depth]
            pooled |= {(topic, doc) for doc in run.docs[rows].texts()}
    names = np.repeat(np.array(qrels.topics, object), qrels.sizes)
    kept = [(topic, doc) in pooled for topic, doc in zip(names, qrels.docs.texts(), strict=True)]
    return qrels.keep(np.array(kept))


def test_exact_values_agree_with_draws_on_a_real_collection(collections: Path) -> None:
    folder = collections / "trec8" / "runs"
    judged = prepare(shallow(read_qrels(collections / "trec8" / "qrels.trec8.txt.gz"), folder, 10))
    for path in sorted(folder.iterdir())[5::60]:
        run = read_run(path)
        ranking = align(run, judged)
        for prior in ("rate", "0.5"):
            likelihood = parse_prior(prior).fitted(judged, [ranking])
            of_run = chances(run, ranking, likelihood, outside=np.full(len(ranking.topics), 50))
            for name in ("AP", "nDCG@20"):
                exact = expected(parse(name), of_run, ranking, rng=np.random.default_rng(1))
                drawn = expected(
                    parse(name), of_run, ranking, rng=np.random.default_rng(1), method="sampling", draws=150
                )
                assert exact.method == "exact"
                assert (np.abs(exact.mean - drawn.mean) <= 5 * drawn.error + 1e-12).all()
                np.testing.assert_allclose(drawn.deviation, exact.deviation, rtol=0.4, atol=1e-12)
                overall, other = exact.over_topics(), drawn.over_topics()
                assert abs(overall.mean - other.mean) < 4 * other.error
