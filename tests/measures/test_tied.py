"""Tie-averaged values against the plain kernels, over every order of tied documents."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from sounding import Policies, evaluate
from sounding.core.errors import DataError
from sounding.core.policies import Ties
from sounding.measures import Measure, definitions, has_expectation
from sounding.measures.registry import Definition
from sounding.runs.ranking import Judgments, Ranking, TieBlocks

Grade = float | None  # None: not judged
Block = tuple[Grade, ...]  # documents that share a score

HIGHEST = 3
MOST_ORDERS = 2000  # of one topic
PAGE = Path(__file__).parents[2] / "docs" / "ties.md"


@dataclass(frozen=True)
class Topic:
    """What was retrieved, block after block, and the grades of documents that were judged elsewhere."""

    blocks: tuple[Block, ...]
    elsewhere: tuple[float, ...] = ()

    @property
    def documents(self) -> list[Grade]:
        return [grade for block in self.blocks for grade in block]

    def orders(self) -> Iterator[Topic]:
        """Every order that differs, as topics without ties; all are equally likely."""
        arrangements = (sorted(set(itertools.permutations(block)), key=str) for block in self.blocks)
        for chosen in itertools.product(*arrangements):
            flat = itertools.chain.from_iterable(chosen)
            yield Topic(tuple((grade,) for grade in flat), self.elsewhere)


def ranking_of(topics: Sequence[Topic], *, ties: bool) -> Ranking:
    """A ranking of these topics; without ties, documents stand in the order given."""
    grades: list[list[float]] = []
    table: list[tuple[float, ...]] = []
    for number, topic in enumerate(topics):
        judged = [grade for grade in topic.documents if grade is not None]
        grades.append(sorted([*judged, *topic.elsewhere], reverse=True))
        first = 1
        for block in topic.blocks:
            for rank, grade in enumerate(block, first):
                if grade is not None:
                    table.append((number, rank, grade, first, len(block)))
            first += len(block)
    columns = np.array(table, np.float64).reshape(-1, 5).T
    counts = columns[[0, 1, 3, 4]].astype(np.int64)
    none = np.empty(0, np.int64)
    return Ranking(
        run="run",
        judgments=Judgments(
            topics=tuple(f"{number:06}" for number in range(len(topics))),
            starts=np.cumsum([0, *map(len, grades)]),
            grades=np.array([grade for row in grades for grade in row], np.float64),
            pool_ranks=np.array([1 + 7 * n % 9 for row in grades for n in range(len(row))], np.int64),
            pooled=np.zeros(len(topics), np.int64),
            highest=HIGHEST,
        ),
        topic=counts[0], rank=counts[1], grade=columns[2],
        retrieved=np.array([len(topic.documents) for topic in topics], np.int64),
        missing=np.array([not topic.documents for topic in topics]),
        pooled_topic=none, pooled_rank=none,
        ties=TieBlocks(counts[2], counts[3]) if ties else None,
    )  # fmt: skip


def random_topics(count: int, seed: int) -> list[Topic]:
    """Topics with few enough orders to try them all."""
    random = np.random.default_rng(seed)
    grades = np.array([None, 0, 1, 2, 3], object)
    topics: list[Topic] = []
    while len(topics) < count:
        shares = random.dirichlet(np.ones(5))
        sizes = random.integers(1, 6, size=random.integers(1, 4))
        blocks = tuple(tuple(random.choice(grades, size, p=shares)) for size in sizes)
        elsewhere = tuple(random.choice(grades[1:], random.integers(0, 4)))
        topic = Topic(blocks, elsewhere)
        if math.prod(_arrangements(block) for block in blocks) <= MOST_ORDERS:
            topics.append(topic)
    return topics


def _arrangements(block: Block) -> int:
    same = (block.count(grade) for grade in set(block))
    return math.factorial(len(block)) // math.prod(map(math.factorial, same))


TOPICS = [
    Topic(((1, None, 0, 2, None, 0),), (3,)),  # one score for all
    Topic(((None, None, 1), (0, 2, 2), (3, 1)), (1, 0)),
    Topic(((1, 1, 1, 1),)),  # nothing but hits
    Topic(((0, None), (0,)), (0,)),  # nothing relevant
    Topic(((None, 0, None),), (2,)),  # relevant, not retrieved
    Topic((), (1,)),  # the run lacks the topic
    Topic(((2,), (None,), (0,), (1,))),  # no ties
    Topic(((None, None, None),)),  # nothing judged
    *random_topics(60, seed=7),
]
TIED = ranking_of(TOPICS, ties=True)
_ORDERS = [list(topic.orders()) for topic in TOPICS]
SEPARATE = ranking_of([order for orders in _ORDERS for order in orders], ties=False)
_FIRST_ORDER = np.cumsum([0, *(len(orders) for orders in _ORDERS[:-1])])

CUTS = (1, 2, 3, 5, 8, 50)
LEVELS: list[dict[str, Any]] = [{}, {"rel": 2}]
AT: list[dict[str, Any]] = [{"k": k} for k in CUTS]
AT_OR_WHOLE: list[dict[str, Any]] = [{}, *AT]
GAINS: dict[float, float] = {0: 0.3, 1: 0.1, 2: 2.5}


def both(*choices: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every combination of one setting from each list."""
    return [
        dict(itertools.chain.from_iterable(map(dict.items, each))) for each in itertools.product(*choices)
    ]


NORMS: list[dict[str, Any]] = [{"norm": norm} for norm in "abc"]
DCG_FORMS: list[dict[str, Any]] = [
    {}, {"dcg": "exp-log2"}, {"dcg": "zipf"}, {"dcg": "exp-jk"}, {"gains": GAINS}, {"rel": 2},
]  # fmt: skip
SCALES: list[dict[str, Any]] = [{}, {"min_rel": 1}, {"max_rel": 2}]
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "P": both(AT, LEVELS),
    "R": both(AT, LEVELS),
    "RelP": both(AT, LEVELS),
    "F": both(AT, LEVELS, [{}, {"beta": 2.5}]),
    "NumRelRet": both(AT_OR_WHOLE, LEVELS),
    "Success": both(AT_OR_WHOLE, LEVELS),
    "RR": both(AT_OR_WHOLE, LEVELS),
    "AP": both(AT_OR_WHOLE, LEVELS, NORMS),
    "GMAP": LEVELS,
    "Rprec": LEVELS,
    "RprecMult": both([{"x": x} for x in (0.2, 0.5, 1, 2.4)], LEVELS),
    "Bpref": [*LEVELS, {"rel": 0}],
    "GMBpref": LEVELS,
    "BinG": LEVELS,
    "Judged": AT_OR_WHOLE,
    "Unjudged": AT,
    "nDCG": [*both(AT_OR_WHOLE, DCG_FORMS), *both(AT_OR_WHOLE, [{"norm": "b"}])],
    "DCG": both(AT_OR_WHOLE, DCG_FORMS),
    "SDCG": both(AT, [{}, {"dcg": "zipf"}, {"dcg": "jk"}], SCALES),
    "INSQ": both(AT_OR_WHOLE, [{}, {"T": 2.5}], SCALES),
    "RBP": [
        *both(AT_OR_WHOLE, [{}, {"p": 0.5, "rel": 2}, {"p": 0, "gain": "exponential"}, {"gains": GAINS}]),
        *both(AT_OR_WHOLE, [{"scale": "topic"}]),
    ],
    "RBPResidual": both(AT_OR_WHOLE, [{}, {"p": 0.5, "part": "unjudged"}, {"part": "tail"}]),
    "ERR": both(
        AT_OR_WHOLE,
        [
            {},
            {"gain": "linear"},
            {"rel": 2},
            {"gain": "ntcireval", "max_rel": 4},
            {"max_rel": 2},
            {"scale": "topic"},
        ],
    ),
    "SetP": [*LEVELS, {"relative": True}],
    "SetRelP": LEVELS,
    "SetR": LEVELS,
    "SetF": both(LEVELS, [{"beta": 2.5}]),
    "SetAP": LEVELS,
    "Utility": [{}, {"a": 2, "b": -0.5, "c": 1, "rel": 2}],
}
# A measure without settings of its own is tried at every cut-off and level that it takes.
TRIED: dict[str, list[dict[str, Any]]] = SETTINGS | {
    known.name: both(AT if known.takes("k") else [{}], LEVELS if known.takes("rel") else [{}])
    for known in definitions()
    if has_expectation(known.name) and known.name not in SETTINGS
}


def measures_of(name: str) -> list[Measure]:
    return [Measure.of(name, **setting) for setting in TRIED[name]]


def over_orders(operation: np.ufunc, measure: Measure) -> NDArray[np.float64]:
    """The sum (least, most) of the plain measure over every order of each topic."""
    return operation.reduceat(measure(SEPARATE), _FIRST_ORDER)


def counts_of_orders() -> NDArray[np.int64]:
    return np.array([len(orders) for orders in _ORDERS])


def test_only_measures_that_can_be_averaged_have_settings() -> None:
    assert set(SETTINGS) <= {known.name for known in definitions() if has_expectation(known.name)}


def test_every_cutoff_tried_splits_a_block() -> None:
    assert TIED.ties is not None
    first, size = TIED.ties.first, TIED.ties.size
    for k in CUTS[:-1]:
        assert np.any((first <= k) & (k < first + size - 1)), k
    assert counts_of_orders().max() > 300


def same(left: NDArray[np.float64], right: NDArray[np.float64], measure: Measure) -> None:
    np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-14, err_msg=str(measure))


@pytest.mark.parametrize("name", TRIED)
def test_the_value_is_the_mean_over_all_orders(name: str) -> None:
    for measure in measures_of(name):
        same(measure(TIED), over_orders(np.add, measure) / counts_of_orders(), measure)


@pytest.mark.parametrize("name", TRIED)
def test_the_value_lies_between_the_least_and_the_most_that_an_order_gives(name: str) -> None:
    for measure in measures_of(name):
        value = measure(TIED)
        assert np.all(value >= over_orders(np.minimum, measure) - 1e-12), measure
        assert np.all(value <= over_orders(np.maximum, measure) + 1e-12), measure


@pytest.mark.parametrize("name", TRIED)
def test_without_ties_the_value_is_that_of_the_plain_measure(name: str) -> None:
    alone = replace(SEPARATE, ties=TieBlocks(SEPARATE.rank, np.ones_like(SEPARATE.rank)))
    for measure in measures_of(name):
        same(measure(alone), measure(SEPARATE), measure)


@pytest.mark.parametrize("name", TRIED)
def test_the_order_in_which_tied_documents_are_stored_does_not_count(name: str) -> None:
    turned = [replace(topic, blocks=tuple(block[::-1] for block in topic.blocks)) for topic in TOPICS]
    other = ranking_of(turned, ties=True)
    for measure in measures_of(name):
        same(measure(other), measure(TIED), measure)


@pytest.mark.parametrize("shared", [{"judged_only": True}, {"assessed": True}], ids=str)
@pytest.mark.parametrize("name", TRIED)
def test_condensed_and_assessed_forms_are_averaged_too(name: str, shared: dict[str, bool]) -> None:
    measure = measures_of(name)[-1].replace(**shared)
    same(measure(TIED), over_orders(np.add, measure) / counts_of_orders(), measure)


@pytest.mark.parametrize("name", TRIED)
def test_a_ranking_without_topics_or_documents_is_no_special_case(name: str) -> None:
    bare = [Topic(()), Topic((), (1, 0))]
    for measure in measures_of(name):
        assert measure(ranking_of([], ties=True)).shape == (0,)
        same(measure(ranking_of(bare, ties=True)), measure(ranking_of(bare, ties=False)), measure)


def test_an_additive_measure_can_be_averaged() -> None:
    additive = {known.name for known in definitions() if known.additive and known.basis != "count"}
    assert additive <= set(TRIED)


@pytest.mark.parametrize(
    "known",
    [
        known
        for known in definitions()
        if known.basis != "count" and not known.pairwise and not has_expectation(known.name)
    ],
    ids=lambda known: known.name,
)
def test_a_measure_that_cannot_be_averaged_says_so_by_name(known: Definition) -> None:
    values = {"k": 3, "recall": 0.5}
    needed = {key: values[key] for key, p in known.parameters.items() if p.default is p.empty}
    with pytest.raises(DataError, match=rf"^{known.name}\b.*not available.*trec, score-file, file or rank"):
        Measure.of(known.name, **needed)(TIED)


def one_block(size: int, grades: dict[float, int]) -> Ranking:
    """One topic, one score for all documents: so many of each grade, the rest not judged."""
    judged = [grade for grade, count in grades.items() for _ in range(count)]
    return ranking_of([Topic(((*judged, *[None] * (size - len(judged))),))], ties=True)


def only(values: NDArray[np.float64]) -> float:
    (value,) = values.tolist()
    return float(value)


def test_a_constant_scorer_finds_what_chance_finds() -> None:
    ranking = one_block(40, {1: 1, 0: 20})
    harmonic = sum(1 / rank for rank in range(1, 41))
    assert only(Measure.of("P", k=10)(ranking)) == pytest.approx(1 / 40, rel=1e-14)
    assert only(Measure.of("R", k=10)(ranking)) == pytest.approx(10 / 40, rel=1e-14)
    assert only(Measure.of("Success", k=10)(ranking)) == pytest.approx(10 / 40, rel=1e-14)
    assert only(Measure.of("RR")(ranking)) == pytest.approx(harmonic / 40, rel=1e-14)
    assert only(Measure.of("AP")(ranking)) == pytest.approx(harmonic / 40, rel=1e-14)


@pytest.mark.parametrize(
    ("size", "k"), [(1000, None), (1000, 1), (1000, 10), (1000, 400), (1000, 999), (2500, None)]
)
def test_reciprocal_rank_and_success_are_exact_in_blocks_of_thousands(size: int, k: int | None) -> None:
    for relevant in (1, 2, size // 17, 3 * size // 5, size):
        ranking = one_block(size, {1: relevant})
        ranks = range(1, min(k or size, size + 1 - relevant) + 1)
        chances = [Fraction(math.comb(size - i, relevant - 1), math.comb(size, relevant)) for i in ranks]
        expected = float(sum(float(chance) / rank for chance, rank in zip(chances, ranks, strict=True)))
        assert only(Measure.of("RR", k=k)(ranking)) == pytest.approx(expected, abs=1e-14, rel=1e-12)
        if k is not None:
            found = only(Measure.of("Success", k=k)(ranking))
            assert found == pytest.approx(float(sum(chances)), abs=1e-14, rel=1e-12)


@pytest.mark.parametrize(
    "measure",
    [
        Measure.of("ERR", gain="linear", max_rel=1000), Measure.of("ERR"), Measure.of("RR"), Measure.of("AP"),
        Measure.of("AP", k=700), Measure.of("nDCG"), Measure.of("Bpref"), Measure.of("RBP", p=0.99),
    ],
    ids=str,
)  # fmt: skip
def test_a_large_block_of_equal_documents_has_the_plain_value(measure: Measure) -> None:
    ranking = one_block(1500, {1: 1500})
    same(measure(ranking), measure(replace(ranking, ties=None)), measure)


def test_the_residual_of_a_judged_block_is_never_below_zero() -> None:
    for size in range(1, 60):
        assert only(Measure.of("RBPResidual", part="unjudged")(one_block(size, {0: size}))) >= 0


@pytest.mark.parametrize("grades", [{1: 40, 2: 25, 3: 10}, {1: 80, 2: 60, 3: 40}], ids=str)
@pytest.mark.parametrize("k", [None, 5, 150])
def test_expected_reciprocal_rank_is_exact_in_a_block_of_hundreds(
    k: int | None, grades: dict[float, int]
) -> None:
    size = 300
    # A reader passes a document of grade g with chance (9 - 2^g) / 8, an unjudged one with 8 / 8. The
    # coefficient of x^i in the product of all (1 + chance x) sums over the choices of i documents.
    eighths = [8] * (size - sum(grades.values()))
    eighths += [9 - 2 ** int(grade) for grade, count in grades.items() for _ in range(count)]
    sums = [1]
    for chance in eighths:
        sums = [a + chance * b for a, b in zip([*sums, 0], [0, *sums], strict=True)]
    passed = [Fraction(total, math.comb(size, i) * 8**i) for i, total in enumerate(sums)]
    ranks = range(1, (k or size) + 1)
    expected = sum((passed[rank - 1] - passed[rank]) / rank for rank in ranks)
    value = only(Measure.of("ERR", k=k)(one_block(size, grades)))
    assert value == pytest.approx(float(expected), abs=1e-14, rel=1e-12)


@pytest.mark.parametrize(
    "measure",
    [
        Measure.of("AP"), Measure.of("AP", k=20), Measure.of("nDCG", k=20), Measure.of("ERR", k=20),
        Measure.of("RR", rel=3), Measure.of("Bpref"), Measure.of("BinG"), Measure.of("Rprec", rel=2),
    ],
    ids=str,
)  # fmt: skip
def test_shuffles_of_larger_blocks_average_to_the_value(measure: Measure) -> None:
    random = np.random.default_rng(20)
    labels: list[Grade] = [3, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, *[None] * 18]
    blocks = [random.permutation(np.array(labels, object))[:n] for n in (7, 30, 15)]
    topic = Topic(tuple(map(tuple, blocks)), (1, 2, 0))
    shuffled = [
        Topic(tuple((grade,) for block in blocks for grade in random.permutation(block)), topic.elsewhere)
        for _ in range(4000)
    ]
    values = measure(ranking_of(shuffled, ties=False))
    off = (only(measure(ranking_of([topic], ties=True))) - values.mean()) / values.std() * math.sqrt(4000)
    assert abs(off) < 3.5


def table_after(heading: str) -> list[list[str]]:
    """The cells of the first table under a heading of the page, without its header."""
    _, _, rest = PAGE.read_text("utf-8").partition(f"## {heading}\n")
    lines = itertools.dropwhile(lambda line: not line.startswith("|"), rest.splitlines())
    table = list(itertools.takewhile(lambda line: line.startswith("|"), lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table]


def test_the_page_shows_what_a_constant_scorer_gets_under_each_policy(tmp_path: Path) -> None:
    run, qrels = tmp_path / "run", tmp_path / "qrels"
    numbers = range(1, 11)
    run.write_text("".join(f"1 Q0 d{n:02} {(n + 4) % 10 + 1} 0.5 constant\n" for n in numbers))
    qrels.write_text("".join(f"1 0 d{n:02} {int(n > 8)}\n" for n in numbers))
    header, _, *rows = table_after("Why it matters")
    assert [policy for policy, *_ in rows] == [f"`{policy}`" for policy in get_args(Ties)]
    for policy, *shown in rows:
        chosen = Policies(ties=policy.strip("`"))  # type: ignore[arg-type]
        scores = evaluate(qrels, [run], [name.strip("`") for name in header[1:]], policies=chosen)
        assert shown == [f"{value:.4f}" for value in scores.values[0, :, 0]], policy


def test_the_page_is_right_about_the_measures_that_it_lists() -> None:
    _, _, *rows = table_after("Which measures can be averaged")
    listed = {kind: set(re.findall(r"`(\w+)`", names)) for kind, names, *_ in rows}
    none = listed.pop("not available")
    ranked = {known.name for known in definitions() if known.basis != "count"}
    averaged = {known.name for known in definitions() if has_expectation(known.name)}
    assert set().union(*listed.values()) <= averaged
    assert none <= ranked - averaged
