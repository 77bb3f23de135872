"""Differences of two runs over every completion of the judgments, small ones enumerated."""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.compare.completing import Collection, draw_collection, listings_of

from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES, Policies
from sounding.data.formats import read_qrels, read_run
from sounding.data.tables import Qrels, Run
from sounding.measures import Measure, definitions, parse
from sounding.measures.bounds.margins import Gains
from sounding.measures.bounds.order import PairBounds, has_closer_bounds, own_bounds, pair_bounds
from sounding.measures.listings import Listings
from sounding.runs.align import align, matches, order_documents, prepare
from sounding.runs.pairs import Pairs, all_pairs
from sounding.runs.ranking import Ranking, Values

SLACK = 1e-12
SEEDS = range(10)
THREE = all_pairs(3)

ADDITIVE = [
    "P@1", "P@3", "P(rel=2)@3", "DCG", "DCG@2", "DCG(dcg='exp-log2')@4", "DCG(rel=2)",
    "DCG(gains={1:3,2:1})@4", "RBP", "RBP(p=0.5)@3", "RBP(rel=2)", "RBP(gain='exponential')",
    "SDCG@3", "SDCG(min_rel=1)@4", "INSQ", "INSQ(T=2)@3",
]  # fmt: skip
ADDITIVE += [  # a measure that is not named above is tried at one cut-off
    f"{one.name}@3" if one.takes("k") else one.name
    for one in definitions()
    if one.additive and one.basis == "utility" and one.name not in {parse(name).name for name in ADDITIVE}
]
RULE = ["AP", "AP@2", "AP(rel=2)", "AP(norm='b')@3"]
SEPARATE = [
    "nDCG", "nDCG@3", "R@2", "RR", "ERR@3", "Rprec", "Success@1", "Bpref", "NumRelRet", "SetF",
    "RBP(scale='topic')",
]  # fmt: skip


def bounds_of(
    collection: Collection, measure: str, policies: Policies = DEFAULT_POLICIES, pairs: Pairs = THREE
) -> PairBounds:
    return pair_bounds(parse(measure), collection.listings(policies), pairs)


def completed(
    collection: Collection, options: Sequence[float], policies: Policies = DEFAULT_POLICIES
) -> list[list[Ranking]]:
    """(completion, run)"""
    most = 99 if policies.at_most is None else int(policies.at_most)
    return [collection.rankings(grades, policies) for grades in collection.completions(options, most)]


def differences(measure: str, rankings: list[list[Ranking]]) -> NDArray[np.float64]:
    """(completion, pair, topic)"""
    values = np.array([[parse(measure)(ranking) for ranking in runs] for runs in rankings])
    return values[:, THREE[:, 0]] - values[:, THREE[:, 1]]


# -- sums over documents ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_bounds_of_a_sums_difference_are_the_extremes_over_all_completions(seed: int) -> None:
    collection = draw_collection(seed)
    rankings = completed(collection, (0.0, 1.0, 2.0))
    for measure in ADDITIVE:
        found = bounds_of(collection, measure)
        every = differences(measure, rankings)
        assert found.kind == "difference", measure
        assert found.lower == pytest.approx(every.min(axis=0).mean(axis=1), abs=SLACK), measure
        assert found.upper == pytest.approx(every.max(axis=0).mean(axis=1), abs=SLACK), measure


def test_a_grade_that_a_measure_asks_for_is_possible_even_beyond_the_scale() -> None:
    collection = draw_collection(3)
    found = bounds_of(collection, "P(rel=3)@3")
    every = differences("P(rel=3)@3", completed(collection, (0.0, 3.0)))
    assert found.lower == pytest.approx(every.min(axis=0).mean(axis=1), abs=SLACK)
    assert found.upper == pytest.approx(every.max(axis=0).mean(axis=1), abs=SLACK)
    assert (found.upper > 0).any()


def test_every_sum_over_documents_that_needs_no_recall_is_bounded_document_by_document() -> None:
    claimed = {one.name for one in definitions() if one.additive and one.basis == "utility"}
    assert claimed == {parse(measure).name for measure in ADDITIVE}


def test_a_scale_of_the_topic_has_no_closer_bounds_than_the_runs_own() -> None:
    assert has_closer_bounds(parse("RBP"))
    assert not has_closer_bounds(parse("RBP(scale='topic')"))


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("most", [0, 1, 2])
def test_with_a_cap_they_are_the_extremes_over_the_completions_that_it_allows(seed: int, most: int) -> None:
    collection = draw_collection(seed)
    policies = Policies(at_most=str(most))
    rankings = completed(collection, (0.0, 1.0, 2.0), policies)
    for measure in ("P@3", "DCG", "RBP"):
        found = bounds_of(collection, measure, policies)
        every = differences(measure, rankings)
        assert found.lower == pytest.approx(every.min(axis=0).mean(axis=1), abs=SLACK), measure
        assert found.upper == pytest.approx(every.max(axis=0).mean(axis=1), abs=SLACK), measure


def test_a_document_of_both_runs_moves_both() -> None:
    # a: judged relevant, x; b: judged not, x. Apart, b could catch up by x; together it cannot.
    collection = Collection([{"t": ["r", "x"]}, {"t": ["n", "x"]}], {"t": {"r": 1.0, "n": 0.0}})
    pairs = all_pairs(2)
    found = bounds_of(collection, "P@2", pairs=pairs)
    assert (found.lower[0], found.upper[0]) == (0.5, 0.5)
    assert found.settled.tolist() == [True]
    apart = Collection([{"t": ["r", "x"]}, {"t": ["n", "y"]}], {"t": {"r": 1.0, "n": 0.0}})
    found = bounds_of(apart, "P@2", pairs=pairs)
    assert (found.lower[0], found.upper[0]) == (0.0, 1.0)
    assert found.settled.tolist() == [False]


def test_gains_without_exact_bounds_are_left_to_the_runs_own_bounds() -> None:
    collection = draw_collection(0)
    assert bounds_of(collection, "DCG(gains={0:-1})").kind == "separate"
    # Nobody has grade 1 or 2, which would be worth more than what gains are divided by.
    coarse = Collection(collection.lists, {topic: {"d7": 3.0, "d6": 0.0} for topic in collection.grades})
    assert bounds_of(coarse, "RBP(gains={3:0.5})").kind == "separate"


# -- average precision -----------------------------------------------------------------------------


def margin_by_pairs_of_documents(
    lists: Sequence[Sequence[str]], grades: dict[str, float], depth: int, level: float
) -> float:
    """Equation 3 as it stands: what is judged, less pairs with an unjudged document that count against."""
    docs = sorted(
        {doc for docs in lists for doc in docs if grades.get(doc, -1) >= level or grades.get(doc, -1) < 0}
    )
    rank = [
        {doc: place + 1 for place, doc in enumerate(docs) if place < depth}
        for docs in (list(one) for one in lists)
    ]

    def share(one: str, other: str, run: int) -> float:
        if one not in rank[run] or other not in rank[run]:
            return 0.0
        return 1 / max(rank[run][one], rank[run][other])

    total = 0.0
    for one, other in itertools.combinations_with_replacement(docs, 2):
        weight = share(one, other, 0) - share(one, other, 1)
        both_judged = grades.get(one, -1) >= 0 and grades.get(other, -1) >= 0
        total += weight if both_judged else min(weight, 0.0)
    return total


@pytest.mark.parametrize("seed", range(40))
def test_margins_are_carterettes_sums_over_pairs_of_documents(seed: int) -> None:
    collection = draw_collection(seed, open_docs=7, length=11)
    listings = collection.listings()
    for k, level in ((None, 1.0), (2, 1.0), (4, 2.0)):
        ahead, behind = Gains.of(listings, k=k, level=level).margins(THREE)
        for number, (a, b) in enumerate(THREE.tolist()):
            for place, topic in enumerate(collection.grades):
                lists = [collection.lists[a][topic], collection.lists[b][topic]]
                grades = collection.grades[topic]
                depth = 99 if k is None else k
                forth = margin_by_pairs_of_documents(lists, grades, depth, level)
                back = margin_by_pairs_of_documents(lists[::-1], grades, depth, level)
                assert ahead[number, place] == pytest.approx(forth, abs=SLACK)
                assert behind[number, place] == pytest.approx(back, abs=SLACK)


def test_the_plain_sum_of_margins_over_topics_is_not_valid_and_the_rule_does_not_use_it() -> None:
    # All judged. Topic t has one relevant document, u ten: the same gap in precisions weighs a tenth there.
    ten = [f"r{number}" for number in range(10)]
    collection = Collection(
        [{"t": ["n", "r"], "u": ten}, {"t": ["r", "n"], "u": [*ten[:9], "n"]}],
        {"t": {"r": 1.0, "n": 0.0}, "u": dict.fromkeys(ten, 1.0) | {"n": 0.0}},
    )
    listings = collection.listings()
    ahead, _ = Gains.of(listings, k=None, level=1).margins(all_pairs(2))
    assert ahead.sum() > 0
    found = bounds_of(collection, "AP", pairs=all_pairs(2))
    assert found.upper[0] < 0
    assert found.settled.tolist() == [True]


# -- every kind ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policies", "seed"),
    [
        (policies, seed)
        for policies, seeds in (
            (Policies(), SEEDS),
            (Policies(at_most="1"), (0, 3, 6)),
            (Policies(depth=3), (1, 4, 7)),
            (Policies(universe="run"), (2, 5, 8)),
        )
        for seed in seeds
    ],
)
def test_no_completion_lies_outside_or_reverses_a_settled_pair(policies: Policies, seed: int) -> None:
    collection = draw_collection(seed, open_docs=3)
    rankings = completed(collection, (0.0, 1.0, 2.0), policies)
    for measure in [*ADDITIVE, *RULE, *SEPARATE]:
        found = bounds_of(collection, measure, policies)
        every = differences(measure, rankings)
        least, largest = every.min(axis=0).mean(axis=1), every.max(axis=0).mean(axis=1)
        assert (found.lower <= least + SLACK).all(), measure
        assert (found.upper >= largest - SLACK).all(), measure
        assert not (found.settled & (least <= 0) & (largest >= 0)).any(), measure
        assert (found.settled == ((found.lower > 1e-9) | (found.upper < -1e-9))).all(), measure


def test_kinds_say_how_the_bounds_were_found() -> None:
    collection = draw_collection(1)
    for kind, measures in (("difference", ADDITIVE), ("rule", RULE), ("separate", SEPARATE)):
        assert {bounds_of(collection, measure).kind for measure in measures} == {kind}
    assert bounds_of(collection, "P(judged_only=True)@3").kind == "separate"
    assert bounds_of(collection, "P@3", Policies(unjudged="condensed")).kind == "separate"


def test_the_rule_settles_what_the_runs_own_bounds_leave_open() -> None:
    # Both lists end with the same unjudged documents; one has the relevant document first, one second.
    tail = list("uvwxyz")
    grades = {"t": {"r": 1.0, "n": 0.0}}
    collection = Collection([{"t": ["r", "n", *tail]}, {"t": ["n", "r", *tail]}], grades)
    listings = collection.listings()
    low, high = own_bounds(parse("AP"), listings)
    assert low[0, 0] < high[1, 0]
    assert bounds_of(collection, "AP", pairs=all_pairs(2)).settled.tolist() == [True]


def test_a_cap_narrows_the_rule() -> None:
    grades = {"t": {"r": 1.0, "n": 0.0}}
    collection = Collection([{"t": ["r", "n", *"uvwxyz"]}, {"t": ["n", "r", *"uvwxyz"]}], grades)
    lower = [bounds_of(collection, "AP", Policies(at_most=cap), all_pairs(2)).lower[0] for cap in (None, "1")]
    # The sums of precisions differ by at least 1/2; R is 1, and 6 documents or 1 may be added.
    assert lower == pytest.approx([0.5 / 7, 0.5 / 2])


def test_geometric_means_are_set_against_each_other_as_such() -> None:
    collection = Collection(
        [{"t": ["r"], "u": ["n", "r"]}, {"t": ["n", "r"], "u": ["r"]}],
        {"t": {"r": 1.0, "n": 0.0}, "u": {"r": 1.0, "n": 0.0, "s": 1.0}},
    )
    found = bounds_of(collection, "GMAP", pairs=all_pairs(2))
    a, b = np.sqrt(1 * 0.25), np.sqrt(0.5 * 0.5)
    assert found.lower[0] == pytest.approx(a - b)
    assert found.settled.tolist() == [False]


def test_runs_that_are_equal_whatever_is_judged_are_in_no_order() -> None:
    collection = Collection([{"t": ["r", "x"]}, {"t": ["r", "x"]}], {"t": {"r": 1.0}})
    for measure in ("P@2", "DCG", "RBP", "AP"):
        found = bounds_of(collection, measure, pairs=all_pairs(2))
        assert found.settled.tolist() == [False], measure


def test_a_difference_that_rounding_leaves_of_nothing_settles_nothing() -> None:
    # 0.1 + 0.2 is not 0.3 in binary: the two runs are worth the same, and their sums differ.
    topics = [f"t{number}" for number in range(30)]
    judged = {topic: {"r": 1.0, "s": 1.0, "n": 0.0} for topic in topics}
    first = {topic: ["r", "n", "s"] if number % 3 else ["n", "r", "s"] for number, topic in enumerate(topics)}
    second = {
        topic: ["s", "n", "r"] if (number + 1) % 3 else ["n", "s", "r"] for number, topic in enumerate(topics)
    }
    collection = Collection([first, second], judged)
    for measure in ("RBP(p=0.7)", "DCG", "AP", "nDCG"):
        found = bounds_of(collection, measure, pairs=all_pairs(2))
        assert found.settled.tolist() == [False], measure
        assert found.final.tolist() == [True], measure  # everything is judged: they are equal for certain


@pytest.mark.parametrize(
    "measure", ["P@2", "RBP(p=0.7)", "AP", "AP@2", "nDCG", "RR", "Rprec", "ERR@3", "Q", "GMAP"]
)
def test_fully_judged_runs_of_equal_value_are_settled_as_equal(measure: str) -> None:
    judged = {topic: {"r": 1.0, "s": 1.0, "m": 0.0, "n": 0.0} for topic in "tu"}
    # The same values in other topics and by other documents.
    collection = Collection(
        [{"t": ["r", "m", "s"], "u": ["m", "r", "n"]}, {"t": ["n", "s", "m"], "u": ["s", "n", "r"]}], judged
    )
    found = bounds_of(collection, measure, pairs=all_pairs(2))
    assert found.final.tolist() == [True]


def test_missing_topics_count_nothing_or_are_skipped_for_the_pair() -> None:
    collection = Collection(
        [{"t": ["r"], "u": ["x"]}, {"t": ["n"]}], {"t": {"r": 1.0, "n": 0.0}, "u": {"r": 1.0}}
    )
    pairs = all_pairs(2)
    whole, common = (bounds_of(collection, "P@1", Policies(missing=rule), pairs) for rule in ("zero", "skip"))
    assert (whole.lower[0], whole.upper[0]) == (0.5, 1.0)
    assert (common.lower[0], common.upper[0]) == (1.0, 1.0)


def test_pairs_without_a_common_topic_have_no_bounds() -> None:
    collection = Collection([{"t": ["r"]}, {"u": ["r"]}], {"t": {"r": 1.0}, "u": {"r": 1.0}})
    for measure in ("P@1", "AP", "nDCG"):
        found = bounds_of(collection, measure, Policies(missing="skip"), all_pairs(2))
        assert np.isnan(found.lower[0])
        assert np.isnan(found.upper[0])
        assert found.settled.tolist() == [False]


def test_either_order_of_a_pair_gives_the_same_bounds_with_the_sign_changed() -> None:
    collection = draw_collection(5)
    for measure in ("RBP", "AP", "nDCG"):
        there, back = bounds_of(collection, measure), bounds_of(collection, measure, pairs=THREE[:, ::-1])
        assert there.lower == pytest.approx(-back.upper, abs=SLACK)
        assert there.settled.tolist() == back.settled.tolist()


def test_bounds_that_are_given_are_used() -> None:
    collection = draw_collection(3)
    given = np.full((3, 2), 0.25), np.full((3, 2), 0.5)
    found = pair_bounds(parse("nDCG"), collection.listings(), THREE, given)
    assert found.upper.tolist() == [0.25] * 3


def test_requests_that_make_no_sense_are_refused() -> None:
    collection = draw_collection(0)
    with pytest.raises(DataError, match="RunID gives a text"):
        bounds_of(collection, "RunID")
    with pytest.raises(DataError, match="ties=average gives no order of documents; use ties trec"):
        bounds_of(collection, "P@3", Policies(ties="average"))


# -- listings --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS)
def test_judging_listings_is_aligning_with_more_judgments(seed: int) -> None:
    collection = draw_collection(seed)
    policies = Policies(depth=4)
    listings = collection.listings(policies)
    rng = np.random.default_rng(seed)
    chosen = {topic: collection.open_docs(topic)[:2] for topic in collection.grades}
    grades = {topic: {doc: float(rng.integers(0, 4)) for doc in docs} for topic, docs in chosen.items()}
    numbers, values = [], []
    retrieved = listings.regrading.retrieved
    for doc, (text, topic) in enumerate(zip(retrieved.docs.texts(), retrieved.topic.tolist(), strict=True)):
        new = grades[listings.judgments.topics[topic]].get(text)
        if new is not None:
            numbers.append(doc)
            values.append(new)
    judged = listings.judge(np.array(numbers, np.int32), np.array(values))
    completed = collection.judged({t: collection.grades[t] | grades[t] for t in collection.grades})
    for run, ranking in zip(collection.runs, judged.rankings, strict=True):
        expected = align(run, completed, policies)
        for name in ("topic", "rank", "grade", "retrieved"):
            assert getattr(ranking, name).tolist() == getattr(expected, name).tolist()
        assert ranking.judgments.grades.tolist() == expected.judgments.grades.tolist()
        assert ranking.judgments.highest == expected.judgments.highest


def test_what_only_other_runs_have_is_elsewhere_for_those_that_are_picked() -> None:
    collection = Collection([{"t": ["x"]}, {"t": ["y"]}, {"t": ["z", "x", "r"]}], {"t": {"r": 1.0}})
    listings = collection.listings(Policies(universe="+5"))
    assert listings.may_be_relevant().tolist() == [3 + 5]
    picked = listings.pick([0, 1])
    assert picked.elsewhere.tolist() == [1 + 5]
    assert picked.may_be_relevant().tolist() == [3 + 5]
    assert [counts.tolist() for counts in picked.outside()] == [[7], [7]]


# -- TREC-8 ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trec8:
    runs: list[Run]
    qrels: Qrels
    shallow: Qrels  # the pool of depth 10
    pairs: Pairs


@pytest.fixture(scope="module")
def trec8(collections: Path) -> Trec8:
    folder = collections / "trec8"
    qrels = read_qrels(folder / "qrels.trec8.txt.gz")
    paths = sorted(folder.glob("runs/input.*.gz"))
    runs = [read_run(path) for path in paths]
    with (folder / "info.tsv").open() as lines:
        pooled = {row["run"] for row in csv.DictReader(lines, delimiter="\t") if row["pooled"] == "yes"}
    whole = prepare(qrels)
    kept = np.zeros(len(qrels.docs), np.bool_)
    for path, run in zip(paths, runs, strict=True):
        if path.name.removeprefix("input.").removesuffix(".gz") in pooled:
            here, there = matches(run, whole)
            positions, _ = order_documents(run, here, DEFAULT_POLICIES)
            topic = np.searchsorted(run.starts, here, side="right") - 1
            kept[there[positions - run.starts[topic] < 10]] = True
    return Trec8(runs, qrels, qrels.keep(kept), all_pairs(len(runs)))


def means(measure: Measure, listings: Listings) -> Values:
    return np.array([measure(ranking).mean() for ranking in listings.rankings])


def reversed_pairs(found: PairBounds, pairs: Pairs, values: Values) -> int:
    difference = values[pairs[:, 0]] - values[pairs[:, 1]]
    wrong = found.settled & (np.sign(difference) != np.sign(found.lower + found.upper))
    outside = (difference < found.lower - SLACK) | (difference > found.upper + SLACK)
    return int(np.count_nonzero(wrong | outside))


def test_most_pairs_of_trec8_are_settled_with_a_pool_of_depth_ten_and_none_is_reversed(trec8: Trec8) -> None:
    listings = listings_of(trec8.runs, trec8.shallow)
    whole = prepare(trec8.qrels)
    rng = np.random.default_rng(8)
    near = np.unique(np.concatenate([_top(listings, run, 30) for run in range(len(trec8.runs))]))
    completions = [listings.judge(near, (rng.random(len(near)) < rate).astype(float)) for rate in (0.1, 0.5)]
    # As good as can be for one run and as bad as can be for all others.
    own = _top(listings, int(rng.integers(len(trec8.runs))), 30)
    completions.append(listings.judge(own, np.ones(len(own))))
    for text, share in (("P@10", 0.70), ("RBP(p=0.8)", 0.65)):
        measure = parse(text)
        found = pair_bounds(measure, listings, trec8.pairs)
        assert found.kind == "difference"
        assert len(found.settled) == 8256
        assert found.settled.mean() >= share, text
        official = np.array([measure(align(run, whole)).mean() for run in trec8.runs])
        assert reversed_pairs(found, trec8.pairs, official) == 0
        for completion in completions:
            assert reversed_pairs(found, trec8.pairs, means(measure, completion)) == 0


def _top(listings: Listings, run: int, depth: int) -> NDArray[np.int32]:
    listed = listings.unjudged(run)
    return listed.doc[listed.rank <= depth]


@pytest.mark.long
def test_nearly_all_pairs_of_trec8_are_settled_with_the_full_pool_and_by_ap_none(trec8: Trec8) -> None:
    listings = listings_of(trec8.runs, trec8.qrels)
    shares = {
        text: pair_bounds(parse(text), listings, trec8.pairs).settled.mean()
        for text in ("P@10", "RBP(p=0.8)", "AP")
    }
    assert shares["P@10"] == pytest.approx(0.93, abs=0.005)
    assert shares["RBP(p=0.8)"] == pytest.approx(0.95, abs=0.005)
    assert shares["AP"] == 0


@pytest.mark.parametrize("measure", ["P@3", "AP", "nDCG@3", "RR", "RBP"])
def test_two_runs_with_the_same_lists_are_settled_as_equal(measure: str) -> None:
    collection = draw_collection(1)
    same = replace(collection, lists=[collection.lists[0], collection.lists[0], collection.lists[1]])
    found = bounds_of(same, measure)
    assert (found.lower[0], found.upper[0]) == (0.0, 0.0)
    assert found.final[0]
    assert not found.settled[0]  # nobody is ahead
    apart = bounds_of(collection, measure)
    assert not (apart.final & (apart.lower < 0) & (apart.upper > 0)).any()
