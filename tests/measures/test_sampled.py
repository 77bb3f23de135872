"""Estimates from sampled judgments: against formulas, over every possible sample, and in simulation."""

from __future__ import annotations

import gzip
import itertools
import math
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import sampling
from tests.properties.strategies import POOLED, Topic, random_topics
from tests.properties.strategies import ranking_of as ranking_of_topics

from sounding.core.errors import DataError, FormatError
from sounding.core.policies import Policies
from sounding.data.formats import read_qrels
from sounding.data.tables import Qrels, Run
from sounding.evaluate.evaluation import evaluate
from sounding.measures import Measure, definitions, parse
from sounding.measures.sampled import interval, standard_error
from sounding.runs.align import align, prepare
from sounding.runs.ranking import Ranking

DOCS = (Path(__file__).parents[2] / "docs" / "sampled-judgments.md").read_text("utf-8")
E = 1e-5


@dataclass(frozen=True)
class Case:
    """One topic: (stratum, grade or -1, chance) of every document in the pool, and a run's documents."""

    pool: dict[str, tuple[int, int, float]]
    ranking: tuple[str, ...]

    def grade(self, doc: str) -> int:
        return self.pool[doc][1] if doc in self.pool else -1

    def judged(self, doc: str) -> bool:
        return self.grade(doc) >= 0

    def stratum(self, doc: str) -> int | None:
        return self.pool[doc][0] if doc in self.pool else None

    def weight(self, doc: str) -> float:
        """Documents of its stratum by judged ones."""
        members = [other for other in self.pool if self.stratum(other) == self.stratum(doc)]
        return len(members) / sum(self.judged(other) for other in members)

    @property
    def strata(self) -> set[int]:
        return {stratum for stratum, _, _ in self.pool.values()}

    def sampled(self, rel: float = 0) -> list[str]:
        return [doc for doc in self.pool if self.grade(doc) >= rel]

    def found(self, rel: float) -> list[tuple[int, str]]:
        """(rank, document) of the relevant documents retrieved."""
        return [(rank, doc) for rank, doc in enumerate(self.ranking, 1) if self.grade(doc) >= rel]


def random_cases(number: int, seed: int) -> list[Case]:
    chance = random.Random(seed)
    cases = []
    for _ in range(number):
        size = chance.choice([1, 3, 12, 30])
        grades = chance.choice([[0, 1], [0, 0, 0, 1, 2, 3], [0, -1, -1, 1], [0, -1, 2], [0, 1, -1, -1, -1]])
        pool = {
            f"p{place}": (
                chance.randint(1, chance.choice([1, 3])),
                chance.choice(grades),
                chance.random() + 1e-3,
            )
            for place in range(size)
        }
        pool = {doc: (stratum, grade, min(p, 1.0)) for doc, (stratum, grade, p) in pool.items()}
        others = [f"x{place}" for place in range(chance.choice([0, 2, 10]))]
        documents = chance.sample([*pool, *others], k=chance.randint(0, len(pool) + len(others)))
        cases.append(Case(pool, tuple(documents)))
    return cases


CASES = random_cases(800, seed=3)


def ranking_of(cases: list[Case], *, with_chances: bool = False, **policies: Any) -> Ranking:
    """The cases as files would give them: through tables, in another order than that of the ranks."""
    rows = [
        (f"{n:04}", doc, grade, stratum, p)
        for n, case in enumerate(cases)
        for doc, (stratum, grade, p) in case.pool.items()
    ]
    retrieved = [
        (f"{n:04}", doc, -rank) for n, case in enumerate(cases) for rank, doc in enumerate(case.ranking, 1)
    ]
    random.Random(1).shuffle(rows)
    random.Random(2).shuffle(retrieved)
    topics, docs, grades, strata, chances = (list(column) for column in zip(*rows, strict=True))
    qrels = Qrels.from_columns(
        topics, docs, grades,
        strata=None if with_chances else strata, probabilities=chances if with_chances else None,
    )  # fmt: skip
    run_topics, run_docs, scores = (list(column) for column in zip(*retrieved, strict=True))
    chosen = Policies(**policies)
    return align(Run.from_columns(run_topics, run_docs, scores, name="run"), prepare(qrels, chosen), chosen)


def inferred_precision(case: Case, rank: int, rel: float, compat: str) -> float:
    total = 1.0
    for stratum in case.strata:
        above = [doc for doc in case.ranking[: rank - 1] if case.stratum(doc) == stratum]
        judged = [doc for doc in above if case.judged(doc)]
        relevant = [doc for doc in judged if case.grade(doc) >= rel]
        if compat == "sample_eval":
            total += len(above) * (len(relevant) + E) / (len(judged) + 3 * E)
        elif len(judged) < len(above):
            total += len(above) * (len(relevant) + E) / (len(judged) + 2 * E)
        else:
            total += len(relevant)
    return total / rank


def xinf_ap(case: Case, rel: float = 1, compat: str = "none") -> float:
    relevant = sum(case.weight(doc) for doc in case.sampled(rel))
    gained = sum(
        case.weight(doc) * inferred_precision(case, rank, rel, compat) for rank, doc in case.found(rel)
    )
    return gained / relevant if relevant else 0


def inf_ndcg(case: Case, k: int | None = None, dcg: str = "log2", rel: float | None = None) -> float:
    def gain(grade: float) -> float:
        if rel is not None:
            return float(grade >= rel)
        return 2**grade - 1 if dcg.startswith("exp") else grade

    near = case.ranking[:k]
    total = 0.0
    for stratum in case.strata:
        here = [(rank, doc) for rank, doc in enumerate(near, 1) if case.stratum(doc) == stratum]
        judged = [(rank, doc) for rank, doc in here if case.judged(doc)]
        gained = sum(gain(case.grade(doc)) / math.log2(rank + 1) for rank, doc in judged)
        total += len(here) / len(judged) * gained if judged else 0
    ideal, at = 0.0, 0.0
    for grade in sorted({case.grade(doc) for doc in case.sampled()}, key=gain, reverse=True):
        number = sum(case.weight(doc) for doc in case.sampled() if case.grade(doc) == grade)
        while number > 1e-9:
            part = min(number, math.floor(at + 1 + 1e-9) - at)
            if k is None or at < k - 1e-9:
                ideal += part * gain(grade) / math.log2(math.floor(at + 1e-9) + 2)
            at, number = at + part, number - part
    return total / ideal if ideal else 0


def stat_ap(case: Case, rel: float = 1, *, with_chances: bool = False) -> float:
    def times(doc: str) -> float:
        return 1 / case.pool[doc][2] if with_chances else case.weight(doc)

    relevant = sum(times(doc) for doc in case.sampled(rel))
    total = above = 0.0
    for rank, doc in case.found(rel):
        total += times(doc) * (1 + above) / rank
        above += times(doc)
    return total / relevant if relevant else 0


REFERENCES: dict[str, tuple[Callable[..., float], list[dict[str, Any]]]] = {
    "xinfAP": (xinf_ap, [{}, {"rel": 2}, {"compat": "sample_eval"}]),
    "infNDCG": (inf_ndcg, [{}, {"k": 3}, {"k": 5}, {"dcg": "exp-log2", "k": 7}, {"rel": 2}]),
    "statAP": (stat_ap, [{}, {"rel": 2}]),
    "EstNumRel": (lambda case, rel=1: sum(map(case.weight, case.sampled(rel))), [{}, {"rel": 2}]),
    "EstNumRelRet": (
        lambda case, rel=1: sum(case.weight(doc) for _, doc in case.found(rel)),
        [{}, {"rel": 2}],
    ),
}


def test_every_reference_is_of_a_measure_of_the_family() -> None:
    assert set(REFERENCES) <= {known.name for known in definitions() if known.family == "sampled"}


@pytest.mark.parametrize("name", REFERENCES)
def test_a_kernel_computes_its_definition(name: str) -> None:
    reference, settings = REFERENCES[name]
    ranking = ranking_of(CASES)
    for parameters in settings:
        values = Measure.of(name, **parameters)(ranking).tolist()
        expected = [reference(case, **parameters) for case in CASES]
        assert values == pytest.approx(expected, abs=1e-9, rel=1e-12), parameters
        assert len({round(value, 9) for value in values}) > 30, "the data show nothing"


def test_chances_of_prels_are_used_as_they_are() -> None:
    ranking = ranking_of(CASES, with_chances=True)
    expected = [stat_ap(case, with_chances=True) for case in CASES]
    assert parse("statAP")(ranking).tolist() == pytest.approx(expected, rel=1e-9)
    total = [sum(1 / case.pool[doc][2] for doc in case.sampled(1)) for case in CASES]
    assert parse("EstNumRel")(ranking).tolist() == pytest.approx(total, rel=1e-9)


def inferred_ap(topic: Topic, rel: float = 1) -> float:
    relevant = judged = pooled = 0
    total = 0.0
    for above, label in enumerate(topic.ranking):
        if label == POOLED:
            pooled += 1
        elif label is not None:
            if label >= rel:
                inferred = (relevant + E) / (judged + 2 * E)
                in_pool = (judged + pooled) / above if above else 0
                total += 1 / (above + 1) + above / (above + 1) * in_pool * inferred
                relevant += 1
            judged += 1
    everything = sum(grade >= rel for grade in topic.judged)
    return total / everything if everything else 0


@pytest.mark.parametrize("rel", [1, 2])
def test_infap_computes_its_definition(rel: float) -> None:
    topics = random_topics(1500, seed=20)
    values = Measure.of("infAP", rel=rel)(ranking_of_topics(topics)).tolist()
    assert values == pytest.approx([inferred_ap(topic, rel) for topic in topics], abs=1e-12, rel=0)
    assert len(set(values)) > 50


def test_one_stratum_makes_xinfap_infap() -> None:
    ranking = ranking_of(
        [replace(case, pool={d: (1, g, p) for d, (_, g, p) in case.pool.items()}) for case in CASES]
    )
    assert parse("xinfAP")(ranking).tolist() == pytest.approx(parse("infAP")(ranking).tolist(), abs=2e-5)


@pytest.mark.parametrize("name", ["xinfAP", "infNDCG", "statAP", "EstNumRelRet"])
def test_a_depth_cuts_the_ranking_with_all_that_belongs_to_it(name: str) -> None:
    cut = [replace(case, ranking=case.ranking[:6]) for case in CASES]
    deep = ranking_of(CASES, depth=6)
    assert parse(name)(deep).tolist() == parse(name)(ranking_of(cut)).tolist()


def test_without_the_unjudged_documents_only_judged_ones_count() -> None:
    ranking = ranking_of(CASES).condensed()
    without = [
        replace(case, ranking=tuple(doc for doc in case.ranking if case.judged(doc))) for case in CASES
    ]
    for name in ("xinfAP", "infNDCG", "statAP"):
        assert parse(name)(ranking).tolist() == parse(name)(ranking_of(without)).tolist()


# With everything sampled


def complete(case: Case) -> Case:
    return replace(case, pool={doc: (s, max(grade, 0), 1.0) for doc, (s, grade, _) in case.pool.items()})


@pytest.mark.parametrize("with_chances", [False, True])
def test_with_everything_sampled_the_estimates_are_the_measures(with_chances: bool) -> None:
    ranking = ranking_of([complete(case) for case in CASES], with_chances=with_chances)
    exact = {"AP": ["statAP"], "AP(rel=2)": ["statAP(rel=2)"], "NumRel": ["EstNumRel"]}
    if not with_chances:
        exact["AP"].append("xinfAP")
        exact |= {"nDCG": ["infNDCG"], "nDCG@5": ["infNDCG@5"], "nDCG(rel=2)@5": ["infNDCG(rel=2)@5"]}
    for plain, estimates in exact.items():
        for name in estimates:
            assert parse(name)(ranking).tolist() == pytest.approx(parse(plain)(ranking).tolist(), abs=1e-13)
    assert parse("infAP")(ranking).tolist() == pytest.approx(parse("AP")(ranking).tolist(), abs=2e-5)


@pytest.mark.parametrize("name", ["infAP", "xinfAP", "statAP", "EstNumRel", "EstNumRelRet"])
def test_with_everything_sampled_there_is_no_error(name: str) -> None:
    ranking = ranking_of([complete(case) for case in CASES])
    assert np.all(standard_error(parse(name), ranking) == 0)


# Standard errors against the definition


def deviation(case: Case, influence: dict[str, float]) -> float:
    """Of the weighted sum of influences, for simple random samples of the strata."""
    variance = 0.0
    for stratum in case.strata:
        members = [doc for doc in case.pool if case.stratum(doc) == stratum]
        terms = [influence.get(doc, 0.0) for doc in members if case.judged(doc)]
        if not terms:
            continue
        mean = sum(terms) / len(terms) if len(terms) > 1 else 0
        spread = sum((term - mean) ** 2 for term in terms) / max(1, len(terms) - 1)
        variance += len(members) * (len(members) - len(terms)) * spread / len(terms)
    return math.sqrt(variance)


def xinf_ap_error(case: Case) -> float:
    relevant = sum(case.weight(doc) for doc in case.sampled(1))
    if not relevant:
        return 0
    influence = dict.fromkeys(case.sampled(1), -xinf_ap(case))
    for rank, doc in case.found(1):
        influence[doc] += inferred_precision(case, rank, 1, "none")
    for place, doc in enumerate(case.ranking, 1):
        if not case.judged(doc):
            continue
        for rank, hit in case.found(1):
            above = [other for other in case.ranking[: rank - 1] if case.stratum(other) == case.stratum(doc)]
            judged = [other for other in above if case.judged(other)]
            if rank <= place:
                continue
            others = [other for other in judged if other != doc]
            share = (sum(case.grade(other) >= 1 for other in others) + E) / (len(others) + 2 * E)
            change = len(above) / len(judged) * ((case.grade(doc) >= 1) - share)
            influence[doc] = influence.get(doc, 0) + case.weight(hit) / rank * change / case.weight(doc)
    return deviation(case, influence) / relevant


def stat_ap_influence(case: Case, weight: Callable[[str], float], value: float) -> dict[str, float]:
    influence = dict.fromkeys(case.sampled(1), -value)
    for rank, doc in case.found(1):
        above = sum(weight(other) for place, other in case.found(1) if place < rank)
        below = sum(weight(other) / place for place, other in case.found(1) if place > rank)
        influence[doc] += (1 + above) / rank + below
    return influence


def stat_ap_error(case: Case) -> float:
    relevant = sum(case.weight(doc) for doc in case.sampled(1))
    influence = stat_ap_influence(case, case.weight, stat_ap(case))
    return deviation(case, influence) / relevant if relevant else 0


def test_the_errors_of_xinfap_and_statap_follow_from_the_influence_of_each_document() -> None:
    ranking = ranking_of(CASES)
    for name, reference in (("xinfAP", xinf_ap_error), ("statAP", stat_ap_error)):
        values = standard_error(parse(name), ranking).tolist()
        assert values == pytest.approx([reference(case) for case in CASES], abs=1e-9), name
        assert np.count_nonzero(values) > 100


def test_with_chances_each_document_was_drawn_by_itself() -> None:
    expected = []
    for case in CASES:
        chance = {doc: p for doc, (_, _, p) in case.pool.items()}
        value = stat_ap(case, with_chances=True)
        influence = stat_ap_influence(case, lambda doc, chance=chance: 1 / chance[doc], value)  # type: ignore[misc]
        relevant = sum(1 / chance[doc] for doc in case.sampled(1))
        variance = sum((1 - chance[doc]) / chance[doc] ** 2 * term**2 for doc, term in influence.items())
        expected.append(math.sqrt(variance) / relevant if relevant else 0)
    values = standard_error(parse("statAP"), ranking_of(CASES, with_chances=True)).tolist()
    assert values == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_infaps_error_is_xinfaps_with_one_stratum() -> None:
    single = [replace(case, pool={d: (1, g, p) for d, (_, g, p) in case.pool.items()}) for case in CASES]
    ranking = ranking_of(single)
    bare = replace(ranking, judgments=replace(ranking.judgments, sampling=None, _known={}), judgment=None)
    errors = standard_error(parse("infAP"), bare).tolist()
    assert errors == pytest.approx(standard_error(parse("xinfAP"), ranking).tolist(), abs=1e-9)


def test_errors_of_twins_and_condensed_rankings_are_those_of_the_changed_ranking() -> None:
    ranking = ranking_of(CASES)
    for shared, changed in (("assessed", ranking.assessed()), ("judged_only", ranking.condensed())):
        measure = Measure.of("xinfAP", **{shared: True})
        expected = standard_error(parse("xinfAP"), changed)
        assert standard_error(measure, ranking).tolist() == expected.tolist()


def test_a_measure_without_sampling_error_is_refused() -> None:
    with pytest.raises(DataError, match=r"^nDCG@10: sampling errors .* infAP, xinfAP, statAP"):
        standard_error(parse("nDCG@10"), ranking_of(CASES))


def test_an_interval_is_around_its_estimate_and_wider_for_more_confidence() -> None:
    ranking = ranking_of(CASES)
    value = parse("statAP")(ranking)
    low, high = interval(parse("statAP"), ranking)
    lower, higher = interval(parse("statAP"), ranking, confidence=0.99)
    known = value > 0
    assert np.all(np.isnan(low[~known]) & np.isnan(high[~known]))
    unsure = known & (standard_error(parse("statAP"), ranking) > 0)
    assert unsure.sum() > 50
    assert np.all(
        (lower > 0) & (lower < low) & (low < value) & (value < high) & (high < higher), where=unsure
    )
    sure = known & ~unsure
    assert low[sure].tolist() == value[sure].tolist() == high[sure].tolist()


# Over all samples that there could be


def small_pool() -> sampling.Pool:
    grade = np.array([1, 0, 1, 1, 0, 1, 0, 0, 1.0])
    rank = np.array([1, 2, 4, 0, 5, 7, 0, 8, 9])
    return sampling.Pool(grade, rank, np.array([0, 0, 0, 0, 0, 1, 1, 1, 1]))


def every_stratified_sample(pool: sampling.Pool, sizes: tuple[int, ...]) -> sampling.Flags:
    members = [(pool.stratum == number).nonzero()[0] for number in range(len(sizes))]
    drawn = itertools.product(*(itertools.combinations(m, n) for m, n in zip(members, sizes, strict=True)))
    chosen = [[place in set().union(*map(set, parts)) for place in range(len(pool.grade))] for parts in drawn]
    return np.array(chosen)


def test_horvitz_thompson_totals_and_their_variance_are_unbiased_over_all_stratified_samples() -> None:
    pool = small_pool()
    ranking = sampling.ranking_of(pool, every_stratified_sample(pool, (3, 2)))
    assert len(ranking.topics) == 10 * 6
    for name, truth in (("EstNumRel", 5), ("EstNumRelRet", 4)):
        values, errors = parse(name)(ranking), standard_error(parse(name), ranking)
        assert values.mean() == pytest.approx(truth)
        assert (errors**2).mean() == pytest.approx(values.var())
        assert values.var() > 0.1


def every_subset(chances: NDArray[np.float64]) -> tuple[sampling.Flags, NDArray[np.float64]]:
    """All subsets of the documents and how likely each is when they are drawn one by one."""
    chosen = np.array(list(itertools.product([False, True], repeat=len(chances))))
    return chosen, np.where(chosen, chances, 1 - chances).prod(axis=1)


def test_totals_from_chances_are_unbiased_over_all_samples() -> None:
    pool = small_pool()
    chances = np.array([1.0, 0.3, 0.9, 0.2, 0.5, 0.4, 0.1, 0.6, 0.7])
    chosen, likely = every_subset(chances)
    ranking = sampling.ranking_of(pool, chosen, chances=chances)
    for name, truth in (("EstNumRel", 5), ("EstNumRelRet", 4)):
        values, errors = parse(name)(ranking), standard_error(parse(name), ranking)
        assert likely @ values == pytest.approx(truth)
        assert likely @ errors**2 == pytest.approx(likely @ (values - truth) ** 2)
    # statAP is a quotient of two unbiased sums: R * AP over R.
    gained = parse("statAP")(ranking) * parse("EstNumRel")(ranking)
    truth = parse("AP")(sampling.ranking_of(pool, sampling.all_of(pool)))[0] * 5
    assert likely @ gained == pytest.approx(truth)


# In simulation


def test_totals_are_unbiased_in_simulation() -> None:
    pool = sampling.draw_pool(4, documents=400, relevant=80)
    ranking = sampling.ranking_of(pool, sampling.draw_by_stratum(pool, (0.5, 0.2, 0.1), 2000, seed=5))
    values = parse("EstNumRel")(ranking)
    assert abs(values.mean() - 80) < 4 * values.std() / math.sqrt(len(values))
    assert (standard_error(parse("EstNumRel"), ranking) ** 2).mean() == pytest.approx(values.var(), rel=0.1)


def script_variance(run: Ranking) -> NDArray[np.float64]:
    """The variance that the Million Query script gives statAP, before it is rescaled."""
    how, judgment = run.judgments.sampling, run.judgment
    assert how is not None
    assert how.probabilities is not None
    assert judgment is not None
    weight: NDArray[np.float64] = 1 / how.probabilities
    value, relevant = parse("statAP")(run), parse("EstNumRel")(run)
    variance = np.empty(len(run.topics))
    for topic in range(len(run.topics)):
        hit = ((run.topic == topic) & (run.grade >= 1)).nonzero()[0]
        times, rank = weight[judgment[hit]], run.rank[hit]
        precision = (1 + np.cumsum(times) - times) / rank
        below = np.cumsum((times / rank)[::-1])[::-1] - times / rank
        judged = (run.judgments.topic == topic) & (run.judgments.grades >= 1)
        missed = np.ones(len(judged), np.bool_)
        missed[judgment[hit]] = False
        every = np.concatenate([times, weight[judged & missed]])
        shift = np.concatenate([precision, np.zeros(len(every) - len(hit))]) - value[topic]
        pairs = (every @ shift) ** 2 - every**2 @ shift**2
        own = ((every - 1) * every) @ shift**2 - pairs / (run.judgments.judged[topic] - 1)
        variance[topic] = (own + ((times - 1) * times) @ below**2) / relevant[topic] ** 2
    return variance


def test_the_errors_match_the_spread_of_the_estimates_and_the_scripts_is_too_small() -> None:
    pool = sampling.draw_pool(1, documents=1000, relevant=300)
    chances = np.array((0.6, 0.4, 0.2))[pool.stratum]
    by_stratum = sampling.ranking_of(pool, sampling.draw_by_stratum(pool, (0.6, 0.4, 0.2), 1500, seed=6))
    one_by_one = sampling.ranking_of(pool, sampling.draw_each(chances, 1500, seed=6), chances=chances)
    for name, ranking in (("xinfAP", by_stratum), ("statAP", by_stratum), ("statAP", one_by_one)):
        spread = parse(name)(ranking).std()
        assert np.sqrt((standard_error(parse(name), ranking) ** 2).mean()) == pytest.approx(spread, rel=0.06)
    assert np.sqrt(script_variance(one_by_one).mean()) < 0.92 * parse("statAP")(one_by_one).std()


def table_after(heading: str) -> list[list[str]]:
    """The rows of the page's table under a heading, without its header."""
    text = DOCS.partition(f"## {heading}\n")[2]
    table = re.search(r"(^\|.*\|\n)+", text, re.MULTILINE)
    assert table is not None, heading
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in table[0].splitlines()][2:]


def biases(rate: float) -> Iterator[float]:
    """Mean error of infAP, xinfAP, statAP and infNDCG over many samples of one pool at a rate."""
    pool = sampling.draw_pool(3, documents=500, relevant=50)
    rankings = {
        "infAP": replace(pool, stratum=np.zeros_like(pool.stratum)),
        "xinfAP": pool, "statAP": pool, "infNDCG": pool,
    }  # fmt: skip
    truth = sampling.ranking_of(pool, sampling.all_of(pool))
    for name, strata in rankings.items():
        rates = [rate] * (int(strata.stratum.max()) + 1)
        ranking = sampling.ranking_of(strata, sampling.draw_by_stratum(strata, rates, 10_000, seed=7))
        plain = parse("nDCG" if name == "infNDCG" else "AP")(truth)[0]
        yield float(parse(name)(ranking).mean() - plain)


@pytest.mark.parametrize("row", table_after("Bias"), ids=lambda row: row[0])
def test_the_page_shows_the_bias_at_each_rate(row: list[str]) -> None:
    rate, _, *shown = row
    computed = [f"{bias:+.3f}" for bias in biases(float(rate.rstrip("%")) / 100)]
    assert [text.replace("-0.000", "+0.000") for text in computed] == shown


def test_the_bias_shrinks_with_the_sample() -> None:
    columns = list(zip(*table_after("Bias"), strict=True))
    for shown in columns[2:]:
        sizes = [abs(float(text)) for text in shown]
        assert sizes == sorted(sizes, reverse=True)
        assert sizes[0] > 0.02
        assert sizes[-1] == 0


def coverages(
    documents: int, relevant: int, rates: tuple[float, ...], samples: int, seed: int
) -> list[float]:
    """Share of 95% intervals that hold AP: xinfAP, statAP, and statAP with documents drawn one by one."""
    pool = sampling.draw_pool(seed, documents=documents, relevant=relevant)
    truth = parse("AP")(sampling.ranking_of(pool, sampling.all_of(pool)))[0]
    chances = np.array(rates)[pool.stratum]
    by_stratum = sampling.ranking_of(pool, sampling.draw_by_stratum(pool, rates, samples, seed))
    one_by_one = sampling.ranking_of(pool, sampling.draw_each(chances, samples, seed), chances=chances)
    found = []
    for name, ranking in (("xinfAP", by_stratum), ("statAP", by_stratum), ("statAP", one_by_one)):
        low, high = interval(parse(name), ranking)
        found.append(float(np.mean((low <= truth) & (truth <= high))))
    return found


def test_intervals_cover_about_as_often_as_they_say() -> None:
    for covered in coverages(1000, 300, (0.6, 0.4, 0.2), 1000, seed=2):
        assert 0.93 <= covered <= 0.97


@pytest.mark.long
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("documents", "relevant", "rates"),
    [(1500, 500, (0.6, 0.4, 0.2)), (2000, 800, (0.5, 0.3, 0.1)), (2000, 600, (0.8, 0.5, 0.2))],
)
def test_intervals_cover_95_times_in_100_where_many_documents_are_relevant(
    documents: int, relevant: int, rates: tuple[float, ...], seed: int
) -> None:
    for covered in coverages(documents, relevant, rates, 4000, seed):
        assert 0.93 <= covered <= 0.97


@pytest.mark.long
@pytest.mark.parametrize("row", table_after("Standard errors and intervals"), ids=lambda row: row[0])
def test_the_page_shows_how_often_intervals_cover(row: list[str]) -> None:
    relevant, _, *shown = row
    covered = coverages(1000, int(relevant), (0.6, 0.4, 0.2), 4000, seed=2)
    assert [f"{100 * share:.0f}%" for share in covered] == shown


# Files


STRATA = "1 0 a 1 1\n1 0 b 1 -1\n1 0 c 2 0\n2 0 a 1 2\n"


def test_qrels_with_strata_are_read_as_sample_eval_has_them(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text(STRATA)
    qrels = read_qrels(path)
    assert qrels.grades.tolist() == [1, -1, 0, 2]
    assert qrels.strata is not None
    assert qrels.strata.tolist() == [1, 1, 2, 1]
    assert qrels.frame["stratum"].to_list() == [1, 1, 2, 1]
    assert qrels.keep(qrels.grades >= 0).strata.tolist() == [1, 2, 1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("line", "strata"),
    [
        ("1 0 a 1 1", True),
        ("1 0 a 1 -1", True),
        ("1 0 123 1 -1", True),
        ("1 0 123 1 2", True),
        ("1 a 1 2 0.5", False),
        ("1 a 1 2 1", False),
        ("1 0 123 1 1", False),
        ("1 a x 2 0.5", False),
    ],
)
def test_five_columns_are_strata_where_the_last_cannot_be_a_chance_or_the_third_no_grade(
    line: str, strata: bool, tmp_path: Path
) -> None:
    path = tmp_path / "qrels"
    path.write_text(line + "\n")
    if line == "1 a x 2 0.5":
        with pytest.raises(FormatError, match="5 fields; expected 4"):
            read_qrels(path)
        with pytest.raises(FormatError, match="grade 'x'"):
            read_qrels(path, format="prels")
        return
    assert (read_qrels(path).strata is not None) == strata
    assert (read_qrels(path, format="prels" if not strata else "strata").strata is not None) == strata


def test_a_stratum_is_a_whole_number(tmp_path: Path) -> None:
    path = tmp_path / "qrels"
    path.write_text("1 0 a one 1\n")
    with pytest.raises(FormatError, match=r"qrels:1: stratum 'one' is not a number"):
        read_qrels(path, format="strata")  # otherwise these are preferences between documents
    path.write_text("1 0 a 1.5 1\n")
    with pytest.raises(FormatError, match=r"stratum '1\.5'; expected a whole number from 0"):
        read_qrels(path)


def test_strata_may_stand_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "qrels.tsv"
    path.write_text("topic\tdoc\tgrade\tstratum\n1\ta\t1\t3\n1\tb\t-1\t3\n")
    run = {"1": {"a": 2.0, "b": 1.0}}
    scores = evaluate(path, [run], ["xinfAP", "EstNumRel", "statAP"])
    assert scores.values[0, :, 0].tolist() == [1.0, 2.0, 1.0]


def test_documents_chosen_by_mtc_are_certain_on_demand(tmp_path: Path) -> None:
    path = tmp_path / "prels"
    path.write_text("1 a 1 2 0.5\n1 b 1 1 0.5\n1 c 1 0 1\n")
    run = {"1": {"a": 2.0, "b": 1.0}}
    values = evaluate(path, [run], ["statAP", "statAP(certain=True)"]).values[0, :, 0]
    assert values.tolist() == [(2 * 1 + 2 * (1 + 2) / 2) / 5, (1 + 2 * (1 + 1) / 2) / 4]


def test_sample_eval_divides_by_no_more_than_1000_documents() -> None:
    pool = sampling.Pool(np.ones(1200), np.array([1, 2, *[0] * 1198]), np.zeros(1200, np.int64))
    ranking = sampling.ranking_of(pool, sampling.all_of(pool))
    assert parse("xinfAP")(ranking)[0] == pytest.approx(2 / 1200)
    assert parse("xinfAP(compat='sample_eval')")(ranking)[0] == pytest.approx(2 / 1000, rel=1e-4)


@pytest.mark.parametrize("name", ["xinfAP", "infNDCG"])
def test_plain_qrels_and_prels_lack_strata(name: str, tmp_path: Path) -> None:
    path = tmp_path / "prels"
    path.write_text("1 a 1 2 0.5\n")
    for qrels in ({"1": {"a": 1}}, path):
        with pytest.raises(DataError, match=f"^{name} needs the stratum .* give qrels with strata"):
            evaluate(qrels, [{"1": {"a": 1.0}}], [name])


@pytest.mark.parametrize("name", ["statAP", "EstNumRel", "EstNumRelRet"])
def test_plain_qrels_lack_chances(name: str) -> None:
    with pytest.raises(DataError, match=f"^{name} needs the probability .* give prels"):
        evaluate({"1": {"a": 1}}, [{"1": {"a": 1.0}}], [name])


PRELS = {
    "prels.mq.1-10000.txt.gz": 73015,
    "prels.mq.10001-20000.txt.gz": 15211,
    "prels.mq.20001-60000.txt.gz": 34534,
    "prels.web.1-50.txt.gz": 13118,
}


@pytest.mark.parametrize(("name", "lines"), PRELS.items())
def test_prels_of_the_million_query_tracks_give_statap(name: str, lines: int, collections: Path) -> None:
    path = collections / "million-query" / name
    qrels = read_qrels(path)
    assert len(qrels.docs) == lines
    with gzip.open(path, "rt") as text:
        rows = [line.split() for line in text]
    topics: dict[str, list[tuple[str, int, int, float]]] = {}
    for topic, doc, grade, method, chance in rows:
        topics.setdefault(topic, []).append((doc, int(grade), int(method), float(chance)))
    # The run retrieves two documents of every three that were judged, and others between them.
    run = {
        topic: {doc: -2.0 * rank for rank, (doc, *_) in enumerate(judged) if rank % 3}
        | {f"other-{rank}": -2.0 * rank - 1 for rank in range(len(judged))}
        for topic, judged in topics.items()
    }
    scores = evaluate(path, [run], ["statAP", "statAP(certain=True)", "EstNumRel"])
    for number, topic in enumerate(scores.topics):
        known = {doc: (grade, method, chance) for doc, grade, method, chance in topics[topic]}
        expected = [*(by_hand(known, run[topic], certain) for certain in (False, True))]
        expected.append(sum(1 / chance for grade, _, chance in known.values() if grade > 0))
        assert scores.values[0, :, number].tolist() == pytest.approx(expected, rel=1e-9), topic


def by_hand(known: dict[str, tuple[int, int, float]], run: dict[str, float], certain: bool) -> float:
    def times(doc: str) -> float:
        _, method, chance = known[doc]
        return 1 if certain and method in (0, 2) else 1 / chance

    relevant = {doc for doc, (grade, _, _) in known.items() if grade > 0}
    total = above = 0.0
    for rank, doc in enumerate(sorted(run, key=lambda doc: -run[doc]), 1):
        if doc in relevant:
            total += times(doc) * (1 + above) / rank
            above += times(doc)
    return total / sum(map(times, relevant)) if relevant else 0
