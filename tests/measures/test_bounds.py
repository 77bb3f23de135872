"""Bounds against every completion: small topics in which each unjudged document gets each grade in turn.

All completions of all topics are the topics of one large ranking, so that the plain kernels are the
reference and a measure is called once for all of them.
"""

from __future__ import annotations

import itertools
import re
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from numpy.typing import NDArray

from sounding.core.errors import DataError
from sounding.core.policies import DEFAULT_POLICIES
from sounding.data.formats import read_qrels, read_run
from sounding.measures import Measure, definitions, parse
from sounding.measures.assessment import is_about_judging
from sounding.measures.bounds import Kind, Unknowns, bounds, recall
from sounding.measures.bounds.gain import Discounts
from sounding.measures.bounds.precision import running_sums
from sounding.measures.bounds.registry import bounder, register_bounds, whole_range
from sounding.measures.bounds.utility import depth_for_residual
from sounding.measures.graded import Dcg, DcgForm
from sounding.runs.align import align, order_documents, prepare
from sounding.runs.ranking import Counts, Judgments, Ranking, TieBlocks, Values

SLACK = 1e-12
BY_INTENT = ["P_IA@2", "RBP_IA", "StRecall", "alpha_DCG@2", "ERR_IA@2", "NRBP"]  # in test_novelty_bounds.py
UNJUDGED = -1.0
NONE = np.nan  # no such document
PAGE = Path(__file__).parents[2] / "docs" / "bounds.md"

# A topic is one row: labels by rank, grades of judged documents elsewhere, unjudged documents elsewhere.
LONGEST, ELSEWHERE, OUTSIDE = 8, 4, 3
RANKS = slice(0, LONGEST)
Rows = NDArray[np.float64]  # (topic, place)


def row_of(ranking: Sequence[float], elsewhere: Sequence[float] = (), outside: int = 0) -> Rows:
    row = np.full(LONGEST + ELSEWHERE + OUTSIDE, NONE)
    row[: len(ranking)] = ranking
    row[LONGEST : LONGEST + len(elsewhere)] = elsewhere
    row[LONGEST + ELSEWHERE : LONGEST + ELSEWHERE + outside] = UNJUDGED
    return row


def completions(row: Rows, options: Sequence[float]) -> Rows:
    """Every row in which each unjudged document has one of the options; those elsewhere are all alike."""
    unjudged = (row == UNJUDGED).nonzero()[0]
    places = unjudged < LONGEST
    inside = list(itertools.product(options, repeat=int(places.sum())))
    outside = list(itertools.combinations_with_replacement(options, int((~places).sum())))
    chosen = [(*one, *other) for one in inside for other in outside]
    rows = np.tile(row, (len(chosen), 1))
    rows[:, unjudged] = np.array(chosen).reshape(len(chosen), -1)
    return rows


def ranking_of(rows: Rows, fresh: NDArray[np.bool_], highest: float) -> Ranking:
    """The ranking of these topics; documents that were judged afresh are in no pool."""
    labels = rows[:, RANKS]
    topic, place = (labels >= 0).nonzero()
    grades = np.where(rows >= 0, rows, UNJUDGED)
    pool_ranks = np.where(fresh, 0, 1 + 7 * np.arange(rows.shape[1]) % 9)
    order = np.argsort(-grades, axis=1, kind="stable")
    grades, pool_ranks = np.take_along_axis(grades, order, 1), np.take_along_axis(pool_ranks, order, 1)
    retrieved = (~np.isnan(labels)).sum(axis=1)
    none = np.empty(0, np.int64)
    return Ranking(
        run="run",
        judgments=Judgments(
            topics=tuple(map(str, range(len(rows)))),
            starts=np.concatenate([[0], np.cumsum((grades >= 0).sum(axis=1))]),
            grades=grades[grades >= 0], pool_ranks=pool_ranks[grades >= 0],
            pooled=np.zeros(len(rows), np.int64), highest=highest,
        ),
        topic=topic, rank=place + 1, grade=labels[topic, place],
        retrieved=retrieved, missing=retrieved == 0, pooled_topic=none, pooled_rank=none,
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Batch:
    """Many topics, each with a cap on how many documents may turn relevant."""

    rows: Rows
    caps: Counts
    options: tuple[float, ...]  # what an unjudged document may become
    highest: float

    @cached_property
    def completed(self) -> list[Rows]:
        return [completions(row, self.options) for row in self.rows]

    @cached_property
    def owner(self) -> Counts:
        return np.repeat(np.arange(len(self.rows)), [len(rows) for rows in self.completed])

    @cached_property
    def ranking(self) -> Ranking:
        return ranking_of(self.rows, self.rows == UNJUDGED, self.highest)

    @cached_property
    def completed_ranking(self) -> Ranking:
        return ranking_of(np.concatenate(self.completed), self.rows[self.owner] == UNJUDGED, self.highest)

    def unknowns(self, *, capped: bool) -> Unknowns:
        outside = (self.rows[:, LONGEST + ELSEWHERE :] == UNJUDGED).sum(axis=1)
        return Unknowns(outside, self.caps if capped else None)

    def extremes(self, measure: Measure, *, capped: bool) -> tuple[Values, Values]:
        """The least and the most of the measure over the completions of each topic."""
        values = all_values(measure, self)
        level = measure.get("rel")
        rows = np.concatenate(self.completed)
        relevant = (rows > 0) if level is None else (rows >= level)
        turned = (relevant & (self.rows[self.owner] == UNJUDGED)).sum(axis=1)
        excluded = capped & (turned > self.caps[self.owner])
        first = np.searchsorted(self.owner, np.arange(len(self.rows)))
        return (
            np.minimum.reduceat(np.where(excluded, np.inf, values), first),
            np.maximum.reduceat(np.where(excluded, -np.inf, values), first),
        )


@cache
def all_values(measure: Measure, batch: Batch) -> Values:
    return measure(batch.completed_ranking)


def random_batch(
    count: int, options: tuple[float, ...], highest: int, *, most: int, outside: int, seed: int
) -> Batch:
    """Topics with at most so many unjudged documents: rich and poor, hardly and fully judged, empty."""
    random = np.random.default_rng(seed)
    rows: list[Rows] = [
        row_of([]), row_of([], [1], 1), row_of([UNJUDGED] * most), row_of([0, UNJUDGED, 0], [0]),
        row_of([1, UNJUDGED, 1], [1, 0], outside), row_of([1, 1]), row_of([0, 0], [1, 1, 1], outside),
    ]  # fmt: skip
    while len(rows) < count:
        shares = random.dirichlet(np.full(highest + 2, 0.7))
        labels = random.choice(np.arange(-1, highest + 1), random.integers(0, LONGEST + 1), p=shares)
        elsewhere = random.integers(0, highest + 1, random.choice([0, 0, 1, 2, ELSEWHERE]))
        if (labels == UNJUDGED).sum() <= most:
            rows.append(row_of(labels.tolist(), elsewhere.tolist(), int(random.integers(0, outside + 1))))
    return Batch(np.array(rows), random.integers(0, 5, len(rows)), options, highest)


YES_OR_NO = random_batch(3000, (UNJUDGED, 1), 1, most=6, outside=3, seed=1)
GRADED = random_batch(500, (0, 1, 2), 2, most=5, outside=2, seed=2)
FINE = random_batch(300, (0, 1, 2, 3), 3, most=4, outside=2, seed=3)
SOME_JUDGED = random_batch(400, (UNJUDGED, 0, 1, 2), 2, most=4, outside=2, seed=4)
BATCHES = {"yes or no": YES_OR_NO, "graded": GRADED, "fine": FINE, "some judged": SOME_JUDGED}


def listed(text: str) -> list[str]:
    return text.split()


EXACT = listed(
    """
    P@1 P@3 P(rel=2)@5 P@20 R@1 R@3 R(rel=2)@4 RelP@2 RelP@5 RelP(rel=2)@3 F@1 F@3
    F(beta=2.5,rel=2)@4 F(beta=0)@3 Success Success@1 Success@3 RR RR(rel=2)@4
    AP AP@1 AP@3 AP@5 AP(rel=2) AP(rel=2)@4 AP(norm='b')@2 AP(norm='b')@4 AP(norm='b',rel=2)@3 AP(norm='c')@3
    AP(norm='c',rel=2)@5 GMAP GMAP(rel=2) Yaap Yaap(rel=2) Rprec Rprec(rel=2) RprecMult@0.3 RprecMult@1.8
    RprecMult(rel=2)@2.5 RprecMult@0.05 RprecMult@0.12 RprecMult(rel=2)@0.19
    nDCG nDCG@1 nDCG@3 nDCG@5 nDCG(dcg='exp-log2') nDCG(dcg='exp-log2')@4 nDCG(dcg='zipf')@3
    nDCG(dcg='exp-zipf') nDCG(dcg='jk')@4 nDCG(dcg='exp-jk')@6 nDCG(rel=1)@3 nDCG(rel=2)
    nDCG(gains={1:3,2:1})@4
    nDCG(gains={1:0,2:7}) nDCG(gains={1:1.5,2:1.75,3:9})@5 nDCG(norm='b')@3
    nDCG(norm='b',dcg='exp-log2')@5
    IDCG IDCG@3 IDCG(dcg='exp-zipf')@4 IDCG(rel=2) DCG DCG@3 DCG(dcg='exp-log2')@5 DCG(dcg='jk') DCG(rel=2)@4
    DCG(gains={1:3,2:1})
    RBP RBP@3 RBP(p=0.5) RBP(rel=1)@4 RBP(rel=2) RBP(gain='exponential')@5 RBP(gains={1:0.2,2:1,3:3})@4
    ERR ERR@2 ERR(gain='linear')@4 ERR(gain='ntcireval') ERR(rel=2)@3
    ERR(max_rel=4) ERR(max_rel=1) SDCG@3 SDCG(dcg='zipf',max_rel=4)@5 INSQ@4
    INSQ(T=2) NERR8@4 NERR9@5 NERR10 NERR10(p=0.5)@4 NERR11 NERR11(T=3)@5
    SetP SetP(rel=2) SetP(relative=True) SetRelP SetRelP(rel=2) SetR SetR(rel=2) SetF SetF(beta=0)
    SetF(beta=2.5,rel=2) SetAP SetAP(rel=2) Utility Utility(a=2,b=-1,c=-3) Utility(a=-1,b=2,c=1,rel=2)
    Utility(d=0.5,collection=1000) Utility(a=0.2,b=0,c=0.5)
    NumRel NumRel(rel=2) NumRelRet NumRelRet(rel=2) NumRelRet@2 NumRet(rel=1) NumRelNotRet NumRelNotRet(rel=2)
    NumNonrel NumNonrelRet NumNonrelNotRet(rel=2)
    Q(norm='c',ideal='ii')@4 Q(norm='c',ideal='ii',gain='exponential',beta=5)@5
"""
)
# Exact, but for a cap.
EXACT_WITHOUT_CAP = ["INST", "INST(T=0.5)@4", "INST(T=3)@6"]
CONTAINS = listed(
    """
    Bpref Bpref(rel=2) GMBpref Q Q@3 Q(rel=2) Q(beta=0)@4 Q(beta=10) Q(gain='exponential') Q(gain='grade')@5
    Q(gain='grade',gains={1:4,2:3}) Q(norm='b')@3 Q(norm='c')@3 Q(ideal='ii')@4
    Q(norm='c',ideal='ii',rel=2)@3 Q(norm='c',ideal='ii',rel=2,gain='grade',gains={1:5})@3
    Q(rel=2,gain='grade',gains={1:5})@4
"""
)
# The judgments as they stand are what these are about.
KNOWN = listed(
    """
    Judged Judged@3 Unjudged@3 FirstUnjudged RBPResidual RBPResidual(part='tail')@3 NumQ NumRet NumJudged
    NumJudgedRet NumUnjudgedRet NumJudgedNotRet NumUnjudgedNotRet
"""
)
# Documents that stay unjudged are not the same to these as documents of grade 0.
PASSED_OVER = {"Bpref", "GMBpref", "NumNonrel", "NumNonrelRet", "NumNonrelNotRet"}


def kinds(name: str, *, capped: bool) -> Kind:
    if name in CONTAINS or (capped and name in EXACT_WITHOUT_CAP):
        return "contains"
    return "exact"


@pytest.mark.parametrize("name", EXACT + EXACT_WITHOUT_CAP + CONTAINS)
def test_bounds_are_what_the_completions_give(name: str) -> None:
    measure = parse(name)
    for title, batch in BATCHES.items():
        if (measure.get("rel") or 0) > batch.highest:
            continue  # no option reaches the level; another test has one
        for capped in (False, True):
            found = bounds(measure, batch.ranking, batch.unknowns(capped=capped))
            least, most = batch.extremes(measure, capped=capped)
            place = f"{name}, {title}, {'capped' if capped else 'no cap'}"
            assert found.kind == kinds(name, capped=capped), place
            reached = measure.name not in PASSED_OVER or batch is SOME_JUDGED
            if found.kind == "exact" and reached:
                assert np.abs(found.lower - least).max() <= SLACK, place
                assert np.abs(found.upper - most).max() <= SLACK, place
            assert (found.lower <= least + SLACK).all(), place
            assert (found.upper >= most - SLACK).all(), place


@pytest.mark.parametrize("name", [name for name in CONTAINS if "{1:5}" not in name])
def test_bounds_that_contain_the_truth_are_not_far_from_it(name: str) -> None:
    measure = parse(name)
    for capped in (False, True):
        found = bounds(measure, SOME_JUDGED.ranking, SOME_JUDGED.unknowns(capped=capped))
        least, most = SOME_JUDGED.extremes(measure, capped=capped)
        assert np.mean(found.upper - found.lower) <= 1.3 * np.mean(most - least)


def test_a_level_above_the_highest_grade_can_be_reached_all_the_same() -> None:
    batch = random_batch(500, (UNJUDGED, 2), 1, most=5, outside=2, seed=5)
    for name in (
        "P(rel=2)@3", "R(rel=2)@3", "AP(rel=2)@4", "Rprec(rel=2)", "RR(rel=2)", "nDCG(rel=2)@4",
        "DCG(rel=2)@4", "RBP(rel=2)", "SetF(rel=2)", "NumRel(rel=2)", "NumRet(rel=2)", "Yaap(rel=2)",
    ):  # fmt: skip
        measure = parse(name)
        for capped in (False, True):
            found = bounds(measure, batch.ranking, batch.unknowns(capped=capped))
            least, most = batch.extremes(measure, capped=capped)
            assert found.kind == "exact", name
            assert np.abs(found.lower - least).max() <= SLACK, name
            assert np.abs(found.upper - most).max() <= SLACK, name


def test_grades_between_whole_ones_that_occur_can_be_given_too() -> None:
    rows = np.array(
        [row_of([0.5, UNJUDGED, 1, UNJUDGED], [1.5], 1), row_of([UNJUDGED, 1.5, UNJUDGED], [0.5, 1])]
    )
    batch = Batch(rows, np.array([1, 2]), (0, 0.5, 1, 1.5), 1.5)
    for name in ("nDCG", "nDCG@2", "nDCG(dcg='exp-log2')@3", "DCG@2", "RBP", "ERR", "P(rel=1.5)@2"):
        for capped in (False, True):
            found = bounds(parse(name), batch.ranking, batch.unknowns(capped=capped))
            least, most = batch.extremes(parse(name), capped=capped)
            assert np.abs(found.lower - least).max() <= SLACK, name
            assert np.abs(found.upper - most).max() <= SLACK, name


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_judged_is_known(name: str) -> None:
    found = bounds(parse(name), GRADED.ranking, GRADED.unknowns(capped=False))
    value = parse(name)(GRADED.ranking)
    assert found.kind == "exact"
    assert np.array_equal(found.lower, value, equal_nan=True)
    assert np.array_equal(found.upper, value, equal_nan=True)


@pytest.mark.parametrize(
    "name",
    ["AP(assessed=True)", "nDCG(assessed=True)@3", "IPrec(assessed=True)@0.5", "P(rel=0)@3", "AP(rel=0)",
     "NumRet(rel=0)", "NumNonrel(rel=0)", "P(judged_only=True,rel=0)@2"],
)  # fmt: skip
def test_a_measure_of_assessment_is_known_exactly(name: str) -> None:
    found = bounds(parse(name), GRADED.ranking, GRADED.unknowns(capped=False))
    assert found.kind == "exact"
    assert np.array_equal(found.lower, parse(name)(GRADED.ranking))
    assert np.array_equal(found.upper, found.lower)


def test_a_value_without_unjudged_documents_can_lie_outside_every_completion() -> None:
    batch = Batch(np.array([row_of([0, UNJUDGED, 1], [1])]), np.array([0]), (0, 1), 1)
    condensed = parse("AP(judged_only=True)")
    least, most = batch.extremes(parse("AP"), capped=True)
    [value] = condensed(batch.ranking)
    assert not least[0] <= value <= most[0]
    found = bounds(condensed, batch.ranking, batch.unknowns(capped=True))
    assert (found.kind, found.lower[0], found.upper[0]) == ("none", 0, 1)


@pytest.mark.parametrize(
    "name",
    ["BPM@3", "IAP", "Compat", "statAP", "DCG(gains={1:-1})@3", "nDCG(gains={1:-1})", "IDCG(gains={1:-1})",
     "Q(gain='grade',gains={1:-1})", "RBP(gains={3:0.1,4:0.1})", "INST(T=0.4)"],
)  # fmt: skip
def test_where_nothing_is_known_the_range_of_the_measure_remains(name: str) -> None:
    rows = np.array([row_of([1, UNJUDGED, 4])])
    ranking = ranking_of(rows, rows == UNJUDGED, 4)
    found = bounds(parse(name), ranking, Unknowns(np.array([0])))
    assert (found.kind, found.lower[0], found.upper[0]) == ("none", *parse(name).definition.bounds)


def test_a_text_has_no_bounds() -> None:
    found = bounds(parse("RunID"), GRADED.ranking, GRADED.unknowns(capped=False))
    assert found.kind == "none"
    assert np.isnan(found.lower).all()
    assert np.isnan(found.upper).all()


def test_averaged_ties_are_refused() -> None:
    size = np.ones_like(GRADED.ranking.rank)
    tied = replace(GRADED.ranking, ties=TieBlocks(GRADED.ranking.rank, size))
    with pytest.raises(
        DataError, match=r"AP: bounds cannot be averaged over ties; use ties trec, score-file, file or rank"
    ):
        bounds(parse("AP"), tied, GRADED.unknowns(capped=False))


def test_counts_that_do_not_fit_are_refused() -> None:
    one = np.array([1])
    with pytest.raises(DataError, match=r"outside has the shape \(1,\); expected .* 500 topics"):
        bounds(parse("AP"), GRADED.ranking, Unknowns(one))
    with pytest.raises(DataError, match=r"at_most has the shape \(1,\)"):
        bounds(parse("AP"), GRADED.ranking, replace(GRADED.unknowns(capped=True), at_most=one))
    with pytest.raises(DataError, match="at_most is -1 for a topic; give counts of 0 or more"):
        Unknowns(one, -one)


@pytest.mark.parametrize("name", ["RBP(scale='topic')", "ERR(scale='topic')@3", "Q(scale='topic')"])
def test_a_scale_of_the_topic_leaves_the_range_of_the_measure(name: str) -> None:
    unknowns = GRADED.unknowns(capped=False)
    found, measure = bounds(parse(name), GRADED.ranking, unknowns), parse(name).replace(scale="judgments")
    assert found.kind == "none"
    assert set(found.lower) == {0.0}
    assert set(found.upper) == {1.0}
    assert found.residual_unjudged is None
    # What holds on one scale does not hold on the other: some completion lies below.
    least, _ = GRADED.extremes(parse(name), capped=False)
    assert (least < parse(name)(GRADED.ranking) - SLACK).any()
    assert bounds(measure, GRADED.ranking, unknowns).kind != "none"


def test_a_measure_has_one_function_for_its_bounds() -> None:
    with pytest.raises(ValueError, match="two functions give the bounds of 'AP'"):
        register_bounds("AP")(whole_range)


def test_every_measure_with_bounds_is_tried() -> None:
    tried = {parse(name).name for name in EXACT + EXACT_WITHOUT_CAP + CONTAINS + BY_INTENT}
    assert tried == {known.name for known in definitions() if bounder(known.name) is not whole_range}
    about_judging = {
        known.name
        for known in definitions()
        if is_about_judging(Measure.of(known.name, **{n: 1 for n in ("k", "x", "recall") if known.takes(n)}))
    }
    assert about_judging == {parse(name).name for name in KNOWN}


def page_rows() -> dict[str, set[str]]:
    """What the page says of which measures."""
    lines = re.findall(r"^\| (\w+): [^|]*\|(.*)\|$", PAGE.read_text("utf-8"), re.MULTILINE)
    return {kind: set(re.findall(r"`(\w+)`", cell)) for kind, cell in lines}


def test_the_page_lists_every_measure_with_bounds() -> None:
    tried = {"known": KNOWN, "exact": EXACT + EXACT_WITHOUT_CAP + BY_INTENT, "contains": CONTAINS}
    said = page_rows()
    for kind, names in tried.items():
        # NumRet is known without rel, and Q exact only where a pool says all.
        others = {"NumRet", "Q"} if kind == "exact" else set()
        assert said[kind] == {parse(name).name for name in names} - others, kind
    numeric = {known.name for known in definitions() if known.aggregate != "text"}
    assert said["none"] <= numeric - said["known"] - said["exact"] - said["contains"]


# Topics of which much is open.


@pytest.mark.parametrize("dcg", get_args(Dcg))
def test_sums_of_many_discounts_are_those_that_are_added_up(dcg: Dcg) -> None:
    form = DcgForm(dcg)
    number = np.array([[0, 1, 65_535, 65_536, 65_537], [65_538, 70_000, 100_000, 500_000, 1_000_000]])
    added = np.concatenate([[0.0], np.cumsum(form.discount(np.arange(1, 1_000_001)))])
    found = Discounts.of(form, 1_000_000).summed(number)
    np.testing.assert_allclose(found, added[number], rtol=1e-13)
    assert len(Discounts.of(form, 10).first) == 11


def test_the_ideal_of_ten_million_documents_takes_no_table_of_them() -> None:
    rows = np.array([row_of([1, UNJUDGED])])
    ranking, unknowns = ranking_of(rows, rows == UNJUDGED, 1), Unknowns(np.array([10_000_000]))
    ideal = (1 / np.log2(np.arange(2, 10_000_004))).sum()
    # Everything turns relevant for the largest ideal; for the least nDCG all but the one that was retrieved.
    tracemalloc.start()
    most, least = bounds(parse("IDCG"), ranking, unknowns), bounds(parse("nDCG"), ranking, unknowns)
    largest_ever = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most.upper[0] == pytest.approx(ideal, rel=1e-12)
    assert least.lower[0] == pytest.approx(1 / (ideal - 1 / np.log2(10_000_003)), rel=1e-12)
    assert least.upper[0] == 1
    assert largest_ever < 20_000_000


@pytest.mark.parametrize("times", [0.19, 0.1, 0.07, 0.013, 1e-3])
def test_a_small_multiple_of_r_needs_no_more_than_the_changes_of_rank(
    times: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    ranking = long_ranking(150, 60, seed=31)
    random = np.random.default_rng(32)
    measure = Measure.of("RprecMult", x=times)
    unknowns = Unknowns(random.integers(0, 3000, 150), random.choice([0, 5, 40, 800, 9000], 150))
    few = bounds(measure, ranking, unknowns)
    monkeypatch.setattr(recall, "_FEW_TO_A_RANK", 0.0)
    every = bounds(measure, ranking, unknowns)
    assert np.array_equal(few.lower, every.lower)
    assert np.array_equal(few.upper, every.upper)
    assert np.unique(every.upper).size > 3


def test_a_multiple_of_r_may_be_as_small_as_numbers_are() -> None:
    found = bounds(Measure.of("RprecMult", x=5e-324), GRADED.ranking, GRADED.unknowns(capped=False))
    assert not found.lower.any()


# Residuals.


@pytest.mark.parametrize(
    "name", ["RBP", "RBP@3", "RBP(p=0.5,rel=1)", "ERR", "ERR@3", "ERR(gain='linear')@5", "ERR(rel=2)"]
)
def test_the_two_parts_of_a_residual_lead_to_the_value_of_an_endless_best_ranking(name: str) -> None:
    measure = parse(name)
    found = bounds(measure, FINE.ranking, FINE.unknowns(capped=False))
    assert found.residual_unjudged is not None
    assert found.residual_tail is not None
    assert np.array_equal(found.residual_unjudged, found.upper - found.lower)
    total = found.lower + found.residual_unjudged + found.residual_tail
    assert (total <= 1 + SLACK).all()
    assert np.abs(total - endless(measure, FINE, 400)).max() < 1e-12


def endless(measure: Measure, batch: Batch, length: int) -> Values:
    """The value when the unjudged documents down to k and all ranks after them have the highest grade."""
    labels = batch.rows[:, RANKS].copy()
    labels[labels == UNJUDGED] = batch.highest
    if measure.k is not None:
        labels[:, measure.k :] = NONE
    labels = np.concatenate([labels, np.full((len(labels), length - LONGEST), NONE)], axis=1)
    labels[np.isnan(labels)] = batch.highest
    topic, place = (labels >= 0).nonzero()
    full = replace(
        batch.ranking, topic=topic, rank=place + 1, grade=labels[topic, place],
        retrieved=np.full(len(labels), length),
    )  # fmt: skip
    return measure.replace(k=None)(full)


def test_a_fully_judged_ranking_leaves_the_tail_only() -> None:
    rows = np.array([row_of([1, 0, 1]), row_of([0] * 5), row_of([])])
    ranking = ranking_of(rows, rows == UNJUDGED, 1)
    for name, beyond in (("RBP", [3, 5, 0]), ("RBP@2", [2, 2, 0])):
        found = bounds(parse(name), ranking, Unknowns(np.full(3, 9)))
        assert found.residual_unjudged is not None
        assert found.residual_tail is not None
        assert found.residual_unjudged.tolist() == [0, 0, 0]
        assert found.residual_tail == pytest.approx(0.8 ** np.array(beyond))


def test_a_tail_is_no_larger_than_the_gains_of_the_scale_allow() -> None:
    rows = np.array([row_of([0, 0])])
    found = bounds(parse("RBP(gain='exponential')"), ranking_of(rows, rows < 0, 3), Unknowns(np.array([0])))
    assert found.residual_tail == pytest.approx(np.array([0.8**2 * 7 / 8]))


def test_other_measures_have_no_residual() -> None:
    found = bounds(parse("AP"), GRADED.ranking, GRADED.unknowns(capped=False))
    assert found.residual_unjudged is None
    assert found.residual_tail is None


@pytest.mark.parametrize(
    ("name", "wanted", "depth"),
    [("RBP", 0.5, 4), ("RBP", 0.8, 1), ("RBP(p=0.95)", 0.01, 90), ("RBP(p=0)", 0.01, 1), ("RBP@7", 3, 1),
     ("ERR", 0.5, 1), ("ERR", 0.1, 9), ("ERR", 0.001, 999)],
)  # fmt: skip
def test_the_depth_for_a_residual_is_the_least_that_is_enough(name: str, wanted: float, depth: int) -> None:
    assert depth_for_residual(parse(name), wanted) == depth


def test_a_scale_on_which_no_document_satisfies_for_certain_needs_less_depth() -> None:
    assert depth_for_residual(parse("ERR"), 0.0505) == 19
    assert depth_for_residual(parse("ERR"), 0.0505, highest=1) == 18
    assert depth_for_residual(parse("ERR(max_rel=4)"), 0.0505, highest=1) < 18
    tails = [sum(0.5 ** (i - k) / i for i in range(k + 1, 200)) for k in (17, 18)]
    assert tails[0] > 0.0505 > tails[1]


def test_depths_that_make_no_sense_are_refused() -> None:
    with pytest.raises(DataError, match="AP has no residual beyond its cut-off; use RBP or ERR"):
        depth_for_residual(parse("AP"), 0.1)
    with pytest.raises(DataError, match="the residual 0 is not valid; give a number above 0"):
        depth_for_residual(parse("RBP"), 0)


# Average precision, document by document.


def long_ranking(topics: int, longest: int, seed: int) -> Ranking:
    """Rankings of many lengths, hardly to fully judged."""
    random = np.random.default_rng(seed)
    length = random.integers(0, longest + 1, topics)
    inside = np.arange(longest) < length[:, np.newaxis]
    judged = inside & (random.random(inside.shape) < random.random((topics, 1)))
    relevant = random.random(inside.shape) < random.random((topics, 1)) ** 3
    topic, place = judged.nonzero()
    grade = relevant[topic, place].astype(np.float64)
    elsewhere = random.integers(0, 6, topics)
    found = np.bincount(topic, grade, topics).astype(np.int64) + elsewhere
    others = np.bincount(topic, 1 - grade, topics).astype(np.int64)
    both = np.stack([found, others], axis=1).ravel()
    none = np.empty(0, np.int64)
    return Ranking(
        run="run",
        judgments=Judgments(
            topics=tuple(map(str, range(topics))), starts=np.concatenate([[0], np.cumsum(found + others)]),
            grades=np.repeat(np.tile([1.0, 0.0], topics), both), pool_ranks=None,
            pooled=np.zeros(topics, np.int64), highest=1,
        ),
        topic=topic, rank=place + 1, grade=grade, retrieved=length, missing=length == 0,
        pooled_topic=none, pooled_rank=none,
    )  # fmt: skip


def plain_ap_bounds(ranking: Ranking, topic: int, k: int, outside: int, cap: int) -> tuple[float, float]:
    """AP's bounds from one pass down the ranking and one up, over all numbers that turn relevant."""
    mine = ranking.topic == topic
    labels = np.full(int(ranking.retrieved[topic]), UNJUDGED)
    labels[ranking.rank[mine] - 1] = ranking.grade[mine]
    outside += int((labels[k:] == UNJUDGED).sum())
    labels = labels[:k]
    relevant = int(ranking.relevant()[topic])
    unjudged = (labels == UNJUDGED).nonzero()[0].tolist()

    def quotient(turned: list[int], elsewhere: int) -> float:
        hit = labels == 1
        hit[turned] = True
        rank = hit.nonzero()[0] + 1
        total = relevant + elsewhere + len(turned)
        return float((np.arange(1, len(rank) + 1) / rank).sum() / total) if total else 0.0

    most = max(quotient(unjudged[:number], 0) for number in range(min(cap, len(unjudged)) + 1))
    first = min(cap, outside)
    left = min(cap - first, len(unjudged))
    lower = min(quotient(unjudged[len(unjudged) - number :], first) for number in range(left + 1))
    return min(lower, quotient([], 0)), most


@pytest.mark.parametrize("k", [None, 1, 20, 90])
def test_bounds_by_gaps_are_those_by_document(k: int | None) -> None:
    ranking = long_ranking(60, 120, seed=6)
    random = np.random.default_rng(7)
    outside = random.choice([0, 0, 1, 5, 300], 60)
    for caps in (None, random.integers(0, 200, 60)):
        found = bounds(Measure.of("AP", k=k), ranking, Unknowns(outside, caps))
        for topic in range(60):
            cap = 10**6 if caps is None else int(caps[topic])
            least, most = plain_ap_bounds(ranking, topic, k or 10**6, int(outside[topic]), cap)
            assert found.lower[topic] == pytest.approx(least, abs=1e-12)
            assert found.upper[topic] == pytest.approx(most, abs=1e-12)


def test_running_sums_of_a_topic_are_as_exact_after_many_others_as_alone() -> None:
    random = np.random.default_rng(8)
    sizes = random.integers(0, 40, 5000)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    values = random.random(starts[-1]) * 1000
    sums, whole = running_sums(values, starts)
    for topic in (0, 1, 2500, 4998, 4999):
        own = values[starts[topic] : starts[topic + 1]]
        assert sums[starts[topic] : starts[topic + 1]] == pytest.approx(np.cumsum(own), rel=1e-14, abs=1e-11)
        assert whole[topic] == pytest.approx(own.sum(), rel=1e-14)


# TREC-8.


def test_full_judgments_lie_within_the_bounds_of_a_shallow_pool(collections: Path) -> None:
    """The pool of the 71 contributing runs cut to depth 10; any document of the 129 runs may be relevant."""
    folder = collections / "trec8"
    info = [line.split("\t") for line in (folder / "info.tsv").read_text().splitlines()[1:]]
    contributing = {row[0] for row in info if row[4] == "yes"}
    qrels = read_qrels(folder / "qrels.trec8.txt.gz")
    judged = prepare(qrels)
    measures = [parse("AP@1000"), parse("nDCG@20")]
    keys, ranks, topics, truth, rankings = [], [], [], [], []
    names = []
    for path in sorted(folder.glob("runs/input.*.gz")):
        run = read_run(path)
        names.append(path.name.removeprefix("input.").removesuffix(".gz"))
        position, _ = order_documents(run, np.arange(len(run.docs)), DEFAULT_POLICIES)
        topic = np.repeat(judged.table.numbers(run.topics), run.sizes)
        keys.append(run.pair_keys()[topic >= 0])
        ranks.append((position - np.repeat(run.starts[:-1], run.sizes) + 1)[topic >= 0])
        topics.append(topic[topic >= 0])
        ranking = align(run, judged)
        rankings.append(ranking)
        truth.append([measure(ranking) for measure in measures])
    assert len(names) == 129
    assert len(contributing) == 71

    pool = np.unique(
        np.concatenate(
            [
                key[rank <= 10]
                for name, key, rank in zip(names, keys, ranks, strict=True)
                if name in contributing
            ]
        )
    )
    shallow = prepare(qrels.keep(np.isin(qrels.pair_keys(), pool))).judgments
    everything, first = np.unique(np.concatenate(keys), return_index=True)
    open_ = ~np.isin(everything, pool)
    unjudged = np.bincount(np.concatenate(topics)[first[open_]], minlength=50)
    grades = qrels.grades[np.argsort(qrels.pair_keys())]
    known = np.sort(qrels.pair_keys())
    for ranking, key, rank, topic, values in zip(rankings, keys, ranks, topics, truth, strict=True):
        order = np.lexsort((rank, topic))
        kept = order[np.isin(key[order], pool)]
        cut = replace(
            ranking, judgments=shallow, topic=topic[kept], rank=rank[kept],
            grade=grades[np.searchsorted(known, key[kept])],
        )  # fmt: skip
        outside = unjudged - (ranking.retrieved - np.bincount(topic[kept], minlength=50))
        assert (outside >= 0).all()
        for measure, value in zip(measures, values, strict=True):
            found = bounds(measure, cut, Unknowns(outside))
            assert (found.lower <= value + SLACK).all(), (ranking.run, measure)
            assert (value <= found.upper + SLACK).all(), (ranking.run, measure)


def test_err_by_a_level_above_all_judgments_can_still_rise() -> None:
    """One unjudged document first: with grade 2 ERR(rel=2) is 1, though no judgment goes beyond 1."""
    row = row_of([UNJUDGED, 1])
    ranking = ranking_of(row[None], np.zeros((1, len(row)), np.bool_), highest=1)
    found = bounds(parse("ERR(rel=2)"), ranking, Unknowns(np.zeros(1, np.int64)))
    assert found.lower.tolist() == [0.0]
    assert found.upper.tolist() == [1.0]
