"""Bounds against every completion: small topics in which each unjudged document gets each grade in turn.

All completions of all topics are the topics of one large ranking, so that the plain kernels are the
reference and a measure is called once for all of them.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from sounding.align import align, order_documents, prepare
from sounding.bounds import Kind, Unknowns, bounds, depth_for_residual
from sounding.bounds.precision import running_sums
from sounding.bounds.registry import bounded, bounder, whole_range
from sounding.data.formats import read_qrels, read_run
from sounding.errors import DataError
from sounding.measures import Measure, definitions, parse
from sounding.measures.registry import Definition
from sounding.policies import DEFAULT_POLICIES
from sounding.ranking import Counts, Judgments, Ranking, TieBlocks, Values

SLACK = 1e-12
UNJUDGED = -1.0
NONE = np.nan  # no such document
PAGE = Path(__file__).parent.parent / "docs" / "bounds.md"

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
            rows.append(row_of(labels, elsewhere, int(random.integers(0, outside + 1))))
    return Batch(np.array(rows), random.integers(0, 5, len(rows)), options, highest)


YES_OR_NO = random_batch(3000, (UNJUDGED, 1), 1, most=6, outside=3, seed=1)
GRADED = random_batch(500, (0, 1, 2), 2, most=5, outside=2, seed=2)
FINE = random_batch(300, (0, 1, 2, 3), 3, most=4, outside=2, seed=3)
SOME_JUDGED = random_batch(400, (UNJUDGED, 0, 1, 2), 2, most=4, outside=2, seed=4)
BATCHES = {"yes or no": YES_OR_NO, "graded": GRADED, "fine": FINE, "some judged": SOME_JUDGED}

EXACT = """
    P@1 P@3 P(rel=2)@5 P@20 R@1 R@3 R(rel=2)@4 RelP@2 RelP@5 RelP(rel=2)@3 Success@1 Success@3 RR RR(rel=2)@4
    AP AP@1 AP@3 AP@5 AP(rel=2) AP(rel=2)@4 AP(norm='b')@2 AP(norm='b')@4 AP(norm='b',rel=2)@3 AP(norm='c')@3
    AP(norm='c',rel=2)@5 GMAP GMAP(rel=2) Yaap Yaap(rel=2) Rprec Rprec(rel=2) RprecMult@0.3 RprecMult@1.8
    RprecMult(rel=2)@2.5
    nDCG nDCG@1 nDCG@3 nDCG@5 nDCG(dcg='exp-log2') nDCG(dcg='exp-log2')@4 nDCG(dcg='zipf')@3
    nDCG(dcg='exp-zipf') nDCG(dcg='jk')@4 nDCG(dcg='exp-jk')@6 nDCG(rel=1)@3 nDCG(rel=2) nDCG(gains={1:3,2:1})@4
    nDCG(gains={1:0,2:7}) nDCG(gains={1:1.5,2:1.75,3:9})@5 nDCG(norm='b')@3 nDCG(norm='b',dcg='exp-log2')@5
    IDCG IDCG@3 IDCG(dcg='exp-zipf')@4 IDCG(rel=2) DCG DCG@3 DCG(dcg='exp-log2')@5 DCG(dcg='jk') DCG(rel=2)@4
    DCG(gains={1:3,2:1})
    RBP RBP@3 RBP(p=0.5) RBP(rel=1)@4 RBP(rel=2) RBP(gain='exponential')@5 RBP(gains={1:0.2,2:1,3:3})@4
    ERR ERR@2 ERR(gain='linear')@4 ERR(max_rel=4) ERR(max_rel=1) SDCG@3 SDCG(dcg='zipf',max_rel=4)@5 INSQ@4
    INSQ(T=2) NERR8@4 NERR9@5 NERR10 NERR10(p=0.5)@4 NERR11 NERR11(T=3)@5
    SetP SetP(rel=2) SetP(relative=True) SetRelP SetRelP(rel=2) SetR SetR(rel=2) SetF SetF(beta=0)
    SetF(beta=2.5,rel=2) SetAP SetAP(rel=2) Utility Utility(a=2,b=-1,c=-3) Utility(a=-1,b=2,c=1,rel=2)
    Utility(d=0.5,collection=1000) Utility(a=0.2,b=0,c=0.5)
    NumRel NumRel(rel=2) NumRelRet NumRelRet(rel=2) NumRet(rel=1) NumRelNotRet NumRelNotRet(rel=2)
    NumNonrel NumNonrelRet NumNonrelNotRet(rel=2)
""".split()
# Exact, but for a cap.
EXACT_WITHOUT_CAP = ["INST", "INST(T=0.5)@4", "INST(T=3)@6"]
CONTAINS = """
    Bpref Bpref(rel=2) GMBpref Q Q@3 Q(rel=2) Q(beta=0)@4 Q(beta=10) Q(gain='exponential') Q(gain='grade')@5
    Q(gain='grade',gains={1:4,2:3}) Q(norm='b')@3 Q(norm='c')@3 Q(ideal='ii')@4 Q(norm='c',ideal='ii',rel=2)@3
""".split()
# The judgments as they stand are what these are about.
KNOWN = """
    Judged Judged@3 Unjudged@3 FirstUnjudged RBPResidual RBPResidual(part='tail')@3 NumQ NumRet NumJudged
    NumJudgedRet NumUnjudgedRet NumJudgedNotRet NumUnjudgedNotRet
""".split()
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


def test_a_level_above_the_highest_grade_can_be_reached_all_the_same() -> None:
    batch = random_batch(500, (UNJUDGED, 2), 1, most=5, outside=2, seed=5)
    for name in (
        "P(rel=2)@3", "R(rel=2)@3", "AP(rel=2)@4", "Rprec(rel=2)", "RR(rel=2)", "nDCG(rel=2)@4", "DCG(rel=2)@4",
        "RBP(rel=2)", "SetF(rel=2)", "NumRel(rel=2)", "NumRet(rel=2)", "Yaap(rel=2)",
    ):  # fmt: skip
        measure = parse(name)
        for capped in (False, True):
            found = bounds(measure, batch.ranking, batch.unknowns(capped=capped))
            least, most = batch.extremes(measure, capped=capped)
            assert found.kind == "exact", name
            assert np.abs(found.lower - least).max() <= SLACK, name
            assert np.abs(found.upper - most).max() <= SLACK, name


def test_grades_between_whole_ones_that_occur_can_be_given_too() -> None:
    rows = np.array([row_of([0.5, UNJUDGED, 1, UNJUDGED], [1.5], 1), row_of([UNJUDGED, 1.5, UNJUDGED], [0.5, 1])])
    batch = Batch(rows, np.array([1, 2]), (0, 0.5, 1, 1.5), 1.5)
    for name in ("nDCG", "nDCG@2", "nDCG(dcg='exp-log2')@3", "DCG@2", "RBP", "ERR", "P(rel=1.5)@2"):
        for capped in (False, True):
            found = bounds(parse(name), batch.ranking, batch.unknowns(capped=capped))
            least, most = batch.extremes(parse(name), capped=capped)
            assert np.abs(found.lower - least).max() <= SLACK, name
            assert np.abs(found.upper - most).max() <= SLACK, name
