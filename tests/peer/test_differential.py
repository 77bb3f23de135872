"""Every measure that pytrec_eval or ir_measures computes, on random collections full of ties.

`known_disagreements.tsv` lists where a peer is known to differ, and why. A value that differs for
any other reason fails, and so does a line of that list which excuses nothing.
"""

from __future__ import annotations

import csv
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import lacking, require

from sounding.core.policies import Policies
from sounding.evaluate.evaluation import evaluate
from sounding.measures import Measure, parse_measures
from sounding.measures.trec import trec_name, with_level

pytrec_eval = require("pytrec_eval")
ir_measures = require("ir_measures")
require("cwl")  # what ir_measures computes RBP, INST and others with
if shutil.which("perl") is None:
    lacking("perl is not installed, and ir_measures runs gdeval with it")

TOLERANCE = 1e-9
COLLECTIONS = 16
KNOWN = Path(__file__).parent / "known_disagreements.tsv"

Grades = Mapping[str, Mapping[str, int]]
Scores = Mapping[str, Mapping[str, float]]
Values = dict[tuple[str, str], float]  # measure, topic -> value


# ---------------------------------------------------------------- collections


def single(score: float) -> float:
    """The score in single precision."""
    with np.errstate(over="ignore"):
        return float(np.float32(score))


@dataclass(frozen=True)
class Collection:
    """Judgments and one run, as the peers take them."""

    qrels: Grades
    run: Scores

    @cached_property
    def whole_number_topics(self) -> bool:
        """Whether gdeval can read it."""
        return all(topic.isascii() and topic.isdigit() and topic[0] != "0" for topic in self.qrels)

    def untied(self) -> Collection:
        """The same order, by trec_eval's rule for ties, with scores that all differ."""
        run = {}
        for topic, scores in self.run.items():
            order = sorted(scores, key=lambda doc: (single(scores[doc]), doc.encode()), reverse=True)
            run[topic] = {doc: float(len(order) - place) for place, doc in enumerate(order)}
        return Collection(self.qrels, run)


SCORERS: tuple[Callable[[random.Random], float], ...] = (
    lambda rng: float(rng.randint(0, 3)),
    lambda rng: float(rng.randint(-4, 4)),
    lambda rng: rng.choice((0.0, -0.0, 1e-30, -1e-30, 1e-7)),
    lambda rng: rng.choice((1.5e-3, 1.5e3, 2e10, -3e-12)) * rng.randint(1, 3),
    lambda rng: 100000 + rng.randint(0, 40) * 1e-4,  # some of these are equal only in single precision
    lambda rng: rng.randint(0, 10**6) / 1e6,
    lambda rng: rng.choice((1e39, 2e300, 3e38, 1.0, -1e39)),  # too large for single precision: infinite there
    lambda rng: 7.0,
)
STEMS = ("d", "d1", "d10", "d100", "doc", "FT941-1", "FT941-17", "clueweb09-en00", "документ-", "日本語")
TOPICS = ("1", "10", "2", "001", "qtest.1", "NA", "Тема", "t-9", "null", "301")


def collection(seed: int) -> Collection:
    """Judgments and a run with whatever real ones have, in small."""
    rng = random.Random(seed)
    plain = seed % 4 == 0
    topics = [str(number) for number in rng.sample(range(1, 500), 12)] if plain else list(TOPICS)
    docs = [f"{stem}{number or ''}" for stem in STEMS for number in range(rng.choice((4, 8)))]
    if plain:
        docs += [f"deep{number}" for number in range(1100)]
    docs = list(dict.fromkeys(docs))
    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for number, topic in enumerate(topics):
        scorer = rng.choice(SCORERS)
        judged = rng.sample(docs, min(len(docs), rng.choice((1, 3, 20, 60))))
        grades = rng.choice(((0, 1), (0, 0, 0, 1, 2), (-2, -1, 0, 1, 2, 3, 4), (0,), (-1, 0, 0, 1)))
        if number != 1:
            # Not only negative grades: on such a topic pytrec_eval reads memory that is not its own.
            qrels[topic] = {doc: rng.choice(grades) for doc in judged} | {
                judged[0]: max(0, rng.choice(grades))
            }
        if number != 2:
            length = 1100 if plain and number == 3 else rng.choice((1, 2, 7, 30, 60))
            pool = docs if length > 100 else docs[:80]
            found = rng.sample(pool, min(length, len(pool)))
            run[topic] = {doc: scorer(rng) for doc in dict.fromkeys([*found, *rng.sample(judged, 1)])}
    qrels[topics[0]] |= {docs[0]: 4, docs[1]: 0}  # every collection has the highest grade
    qrels[topics[4]] = dict.fromkeys(qrels[topics[4]], 0)
    return Collection(qrels, run)


# ---------------------------------------------------------------- what each tool says


def ours(data: Collection, measures: Mapping[str, Measure], *, condensed: bool = False) -> Values:
    """Our values under the names given."""
    policies = Policies(compat="trec_eval-9", unjudged="condensed" if condensed else "nonrelevant")
    scores = evaluate(data.qrels, [data.run], list(measures.values()), policies=policies)
    rows = {measure: number for number, measure in enumerate(scores.measures)}
    return {
        (name, topic): float(scores.values[0, rows[measure], column])
        for name, measure in measures.items()
        for column, topic in enumerate(scores.topics)
    }


NOT_NUMBERS = {"runid", "relstring"}  # pytrec_eval registers them and gives no value
CUTOFFS = "1,2,3,5,7,10,15,20,30,100,200,500,1000"
PYTREC_NAMES: tuple[str, ...] = (
    *sorted(
        set(pytrec_eval.supported_measures)
        - NOT_NUMBERS
        - {"P", "recall", "ndcg_cut", "map_cut", "relative_P", "success", "iprec_at_recall", "Rprec_mult"}
    ),
    *(f"{name}.{CUTOFFS}" for name in ("P", "recall", "ndcg_cut", "map_cut", "relative_P", "success")),
    "iprec_at_recall.0.0,0.05,0.1,0.2,0.25,0.3,0.4,0.5,0.6,0.7,0.75,0.8,0.9,1.0",
    "Rprec_mult.0.1,0.2,0.35,0.4,0.6,0.8,1.0,1.2,1.4,1.6,1.8,2.0,5.0",
)


def pytrec_values(data: Collection, level: int, condensed: bool) -> Values:
    """Every numeric measure of pytrec_eval."""
    # A new evaluator each time: the C extension keeps state between calls.
    evaluator = pytrec_eval.RelevanceEvaluator(data.qrels, set(PYTREC_NAMES), level, condensed)
    return {
        (name, topic): value
        for topic, values in evaluator.evaluate(data.run).items()
        for name, value in values.items()
    }


def our_pytrec_values(data: Collection, level: int, condensed: bool) -> Values:
    """The same by us, under the names that trec_eval prints."""
    measures = [with_level(measure, level) for measure in parse_measures(PYTREC_NAMES)]
    values = ours(
        data, {trec_name(measure, level=level): measure for measure in measures}, condensed=condensed
    )
    # trec_eval's geometric means have the logarithm as the value of a topic.
    return {
        (name, topic): float(np.log(max(value, 1e-5))) if name.startswith("gm_") else value
        for (name, topic), value in values.items()
    }


def ir_measures_asked() -> Iterator[Any]:
    """Measures of ir_measures with all of their parameters; those through gdeval are apart."""
    m = ir_measures
    for rel in (1, 2, 4):
        for judged_only in (False, True):
            both = {"rel": rel, "judged_only": judged_only}
            yield from (m.AP(**both), m.RR(**both), m.Rprec(**both), m.SetAP(**both), m.SetP(**both))
            yield m.SetP(relative=True, **both)
            for k in (1, 3, 10, 100):
                yield from (m.AP(**both) @ k, m.P(**both) @ k, m.R(**both) @ k, m.Success(**both) @ k)
            for recall in (0.0, 0.1, 0.25, 0.5, 1.0):
                yield m.IPrec(**both) @ recall
            for beta in (0.5, 1.0, 2.0):
                yield m.SetF(beta=beta, **both)
        yield from (m.Bpref(rel=rel), m.infAP(rel=rel), m.SetR(rel=rel), m.NumRet(rel=rel))
        yield from (m.RR(rel=rel) @ 1, m.RR(rel=rel) @ 10)
        yield m.RBP(rel=rel)
    for judged_only in (False, True):
        for gains in ({}, {"gains": {1: 0, 2: 5}}):
            base = m.nDCG(judged_only=judged_only, **gains)
            yield from (base, base @ 1, base @ 5, base @ 20)
    yield from (m.NumQ, m.NumRel, m.NumRet, m.NumRelRet)
    yield from (m.Judged, m.Judged @ 1, m.Judged @ 10, m.Judged @ 50)
    yield from (m.Compat, m.Compat(p=0.8), m.Compat(normalize=False))
    yield from (m.RBP(rel=1, p=0.5), m.RBP(rel=1, p=0.95))
    for scale in ({"max_rel": 4}, {"min_rel": 1, "max_rel": 3}):
        for t in (1.0, 2.5):
            yield from (m.INST(T=t, **scale), m.INSQ(T=t, **scale), m.NERR11(T=t, **scale))
            yield m.BPM(T=t, **scale) @ 10
        for k in (1, 10):
            yield from (m.SDCG(**scale) @ k, m.NERR8(**scale) @ k, m.NERR9(**scale) @ k)
        yield m.NERR10(p=0.9, **scale)


def gdeval_asked() -> Iterator[Any]:
    """What ir_measures hands to gdeval."""
    for k in (1, 5, 20):
        yield from (ir_measures.ERR @ k, ir_measures.nDCG(dcg="exp-log2") @ k)


def ir_measures_values(data: Collection, asked: list[Any]) -> Values:
    """Their values, by the tool that ir_measures itself picks for each measure.

    In parts, because ir_measures adds nDCG, NumRet and NumQ to the first pass over the run that it
    happens to have, in the order of a set: one that sees judged documents only, or other gains.
    """
    parts: dict[tuple[bool, bool], list[Any]] = {}
    for measure in asked:
        parts.setdefault(("judged_only=True" in str(measure), "gains=" in str(measure)), []).append(measure)
    return {
        (str(value.measure), value.query_id): value.value
        for part in parts.values()
        for value in ir_measures.iter_calc(part, data.qrels, data.run)
    }


# ---------------------------------------------------------------- conditions of known disagreements


@dataclass(frozen=True)
class Pair:
    """One value from both sides."""

    measure: str
    peer: str
    topic: str
    data: Collection
    ours: float
    theirs: float

    @property
    def differs(self) -> bool:
        """Beyond rounding; a NaN agrees with nothing."""
        return not abs(self.ours - self.theirs) <= TOLERANCE

    @property
    def scores(self) -> Mapping[str, float]:
        """The run's scores for the topic."""
        return self.data.run.get(self.topic, {})

    @property
    def grades(self) -> Mapping[str, int]:
        """The topic's judgments."""
        return self.data.qrels[self.topic]


def tied(pair: Pair) -> bool:
    """Some documents have the same score, in single precision."""
    return len({single(score) for score in pair.scores.values()}) < len(pair.scores)


def tied_in_single_precision(pair: Pair) -> bool:
    """Some scores differ, and not in single precision."""
    exact = set(pair.scores.values())
    return len({single(score) for score in exact}) < len(exact)


CONDITIONS: Mapping[str, Callable[[Pair], bool]] = {
    "tied": tied,
    "tied in single precision": tied_in_single_precision,
    "score not above 0": lambda pair: min(pair.scores.values(), default=1) <= 0,
    "missing topic": lambda pair: not pair.scores,
    "negative grade retrieved": lambda pair: any(pair.grades.get(doc, 0) < 0 for doc in pair.scores),
    "nothing judged was retrieved": lambda pair: not any(pair.grades.get(d, -1) >= 0 for d in pair.scores),
    "five decimals": lambda pair: abs(pair.ours - pair.theirs) <= 5.001e-6,
}


@dataclass(frozen=True)
class Known:
    """One line of the list."""

    measure: str
    peer: str
    condition: str
    reason: str

    def excuses(self, pair: Pair) -> bool:
        """Whether it covers this pair."""
        return (
            self.peer == pair.peer
            and fnmatchcase(pair.measure, self.measure)
            and CONDITIONS[self.condition](pair)
        )


def known_disagreements() -> list[Known]:
    with KNOWN.open(newline="", encoding="utf-8") as file:
        return [Known(**row) for row in csv.DictReader(file, delimiter="\t")]


# ---------------------------------------------------------------- the comparison


def pairs() -> Iterator[Pair]:
    """All values of all collections, ours beside theirs."""
    asked = list(ir_measures_asked())
    for seed in range(COLLECTIONS):
        data = collection(seed)
        for level in (1, 2, 4):
            for condensed in (False, True):
                theirs = pytrec_values(data, level, condensed)
                yield from paired("pytrec_eval", data, our_pytrec_values(data, level, condensed), theirs)
        for version in (data, data.untied()):
            wanted = asked + (list(gdeval_asked()) if version.whole_number_topics else [])
            theirs = ir_measures_values(version, wanted)
            names = {str(measure): parse_measures([str(measure)])[0] for measure in wanted}
            yield from paired("ir_measures", version, ours(version, names), theirs)


def paired(peer: str, data: Collection, own: Values, theirs: Values) -> Iterator[Pair]:
    for (measure, topic), value in theirs.items():
        yield Pair(measure, peer, topic, data, own[measure, topic], value)


@dataclass(frozen=True)
class Comparison:
    """What came out."""

    compared: Counter[tuple[str, str]]  # by peer and measure
    unexplained: list[Pair]
    excused: int
    needed: set[Known]  # the only line that excuses some value


@pytest.fixture(scope="module")
def comparison() -> Comparison:
    known = known_disagreements()
    compared: Counter[tuple[str, str]] = Counter()
    unexplained: list[Pair] = []
    needed: set[Known] = set()
    excused = 0
    for pair in pairs():
        compared[pair.peer, pair.measure] += 1
        if pair.differs:
            reasons = [line for line in known if line.excuses(pair)]
            excused += bool(reasons)
            if not reasons:
                unexplained.append(pair)
            elif len(reasons) == 1:
                needed.add(reasons[0])
    return Comparison(compared, unexplained, excused, needed)


def test_at_least_100_000_values_are_compared(comparison: Comparison) -> None:
    total = sum(comparison.compared.values())
    assert total >= 100_000, f"only {total:,} values"


def test_no_value_differs_beyond_the_known_disagreements(comparison: Comparison) -> None:
    by_measure = Counter((pair.peer, pair.measure) for pair in comparison.unexplained)
    examples = [
        f"{pair.peer} {pair.measure} topic {pair.topic}: ours {pair.ours!r}, theirs {pair.theirs!r},"
        f" grades {dict(pair.grades)}, scores {dict(pair.scores)}"
        for pair in sorted(comparison.unexplained, key=lambda pair: len(pair.scores))[:3]
    ]
    assert not comparison.unexplained, "\n".join([str(by_measure), *examples])


def test_every_known_disagreement_is_needed(comparison: Comparison) -> None:
    assert not set(known_disagreements()) - comparison.needed


def test_known_disagreements_excuse_few_values(comparison: Comparison) -> None:
    assert comparison.excused < 0.02 * sum(comparison.compared.values())


def test_every_name_of_pytrec_eval_is_compared(comparison: Comparison) -> None:
    compared = {name for peer, name in comparison.compared if peer == "pytrec_eval"}
    for name in set(pytrec_eval.supported_measures) - NOT_NUMBERS:
        assert any(other == name or other.startswith(f"{name}_") for other in compared), name


def test_every_measure_of_ir_measures_is_compared(comparison: Comparison) -> None:
    """But for those of diversity, ours, and Accuracy, which divides by zero where all documents are relevant."""
    compared = {
        ir_measures.measures.registry[name.partition("@")[0].partition("(")[0]]
        for peer, name in comparison.compared
        if peer == "ir_measures"
    }
    left_out = {
        "Accuracy", "alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "P_IA", "AP_IA", "NRBP", "nNRBP",
        "StRecall", "Value", "Lower", "Upper", "JudgedShare",
    }  # fmt: skip
    wanted = {
        measure
        for measure in ir_measures.measures.registry.values()
        if measure.NAME not in left_out and measure.NAME.isascii()
    }
    assert {measure.NAME for measure in wanted} <= {measure.NAME for measure in compared}
