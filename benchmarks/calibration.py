"""How often the chances of `holds` are right, over collections, sets of runs, pools and topics.

    python -m benchmarks.calibration [--scale S] [--few] > table

Every cell hides judgments of a collection, asks `holds` about all pairs, and compares with all judgments.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sounding import sample
from sounding.core.arrays import NDArray
from sounding.data.formats import read_qrels
from sounding.data.run_info import read_run_info
from sounding.data.tables import Qrels
from sounding.measures import parse_measures
from sounding.measures.completions import basis_of, draw_completions
from sounding.measures.regrading import GONE, Regrading, regrade
from sounding.relevance.basis import Basis
from sounding.runs.pairs import all_pairs
from sounding.runs.retrieved import Retrieved, read_retrieved
from sounding.statistics.conclusions import Statistics, pair_chances
from sounding.statistics.forecasts import (
    SURE,
    area_under_curve,
    probability_figures,
)

DATA = Path(os.environ.get("SOUNDING_DATA", "../shared/data"))
MEASURES = parse_measures(["AP", "nDCG@10", "P@10"])
DEPTH = 100  # of full judging
TOPICS = (50, 25, 10)
HIDING = ("pool 10", "pool 5", "half of the groups", "pool 1", "pool 2")
DEPTHS = {"pool 1": 1, "pool 2": 2, "pool 5": 5}  # of the others: 10
SETS = ("random", "neighbors")
CELLS = (  # collection, runs, draws
    ("TREC-8", 5, 9), ("TREC-8", 10, 6), ("TREC-8", 20, 3), ("TREC-8", 60, 1),
    ("Robust 2003", 5, 9), ("Robust 2003", 10, 6), ("Robust 2003", 17, 3),
    ("simulated", 5, 6), ("simulated", 20, 3), ("simulated, graded", 5, 6), ("simulated, graded", 20, 3),
)  # fmt: skip
FEW = tuple(  # with --few: few runs and shallow pools
    (name, runs, draws)
    for name in ("TREC-8", "Robust 2003")
    for runs, draws in ((2, 30), (3, 18), (4, 12), (5, 9), (8, 6))
)
JUDGMENTS = (0, 20, 50, 100, 200, 10_000)
BOOTSTRAP = 200  # perfect forecasters
COLUMNS = (
    "collection", "runs", "set", "measure", "pairs",
    "holds: claimed", "right", "AUC", "error", "sign: claimed", "right", "AUC", "error",
)  # fmt: skip


class Collection(NamedTuple):
    """A collection whose judgments are the truth."""

    qrels: Qrels
    retrieved: Retrieved  # of the runs that contributed
    groups: tuple[str, ...]
    values: NDArray[np.float64]  # (run, measure) with all judgments


@dataclass(frozen=True, slots=True, eq=False)
class _Answers:
    """What was said of pairs in one cell and what came true: (pair,) each."""

    cell: tuple[str, int, str, str]
    measure: str
    basis: Basis
    conclusion: NDArray[np.float64]
    holds: NDArray[np.bool_]
    sign: NDArray[np.float64]
    same: NDArray[np.bool_]


@cache
def read_collection(name: str) -> Collection:
    """Read a collection, with the runs that contributed to the pool: all of their top 100 is known."""
    if name.startswith("simulated"):
        made = sample(seed=11) if name == "simulated" else sample(seed=12, grades=3, manual=0.4, groups=16)
        kept = [place for place, run in enumerate(made.info) if run.pooled]
        qrels = made.qrels
        runs: list[Any] = [made.runs[place] for place in kept]
        groups = tuple(made.info[place].group for place in kept)
    elif name == "TREC-8":
        info = read_run_info(DATA / "trec8" / "info.tsv")
        pooled = sorted(run for run, row in info.items() if row.pooled)
        qrels = read_qrels(DATA / "trec8" / "qrels.trec8.txt.gz")
        runs = [DATA / "trec8" / "runs" / f"input.{run}.gz" for run in pooled]
        groups = tuple(info[run].group for run in pooled)
    else:
        qrels = read_qrels(DATA / "robust03" / "qrels.robust03.txt.gz")
        runs = sorted((DATA / "robust03" / "runs").glob("*.gz"))
        groups = tuple(run.name for run in runs)
    retrieved = read_retrieved(runs, topics=qrels.topics)
    whole = regrade(qrels, retrieved)
    return Collection(qrels, retrieved, groups, np.nanmean(whole.values(MEASURES, whole.view()), axis=2))


def of_topics(whole: Collection, topics: int, rng: np.random.Generator) -> Regrading:
    """Return some of the topics, drawn at random."""
    count = len(whole.qrels.topics)
    chosen = np.sort(rng.choice(count, min(topics, count), replace=False))
    sizes = np.diff(whole.qrels.starts)
    kept = whole.qrels.keep(np.isin(np.repeat(np.arange(count), sizes), chosen))
    names = tuple(whole.qrels.topics[topic] for topic in chosen)
    qrels = replace(
        kept, topics=names, starts=np.concatenate([[0], np.cumsum(sizes[chosen])]),
        highest=whole.qrels.best_grade,
    )  # fmt: skip
    return regrade(qrels, whole.retrieved.narrowed(topics=names))


def answers(whole: Collection, cell: tuple[str, int, str, str], draw: int) -> Iterator[_Answers]:
    """Hide judgments once, and compare what `holds` says with all judgments."""
    _, count, kind, hiding = cell
    rng = np.random.default_rng([draw, count, SETS.index(kind), HIDING.index(hiding)])
    lead = draw % len(MEASURES)  # neighbors are runs that follow each other by this measure
    regrading = of_topics(whole, TOPICS[draw // len(MEASURES) % len(TOPICS)], rng)
    order = np.argsort(-whole.values[:, lead], kind="stable")
    begin = int(rng.integers(len(order) - count + 1))
    runs = rng.choice(len(order), count, replace=False) if kind == "random" else order[begin : begin + count]
    regrading = replace(regrading, retrieved=regrading.retrieved.pick(np.sort(runs).tolist()))
    contributing = np.ones(count, np.bool_)
    if hiding == HIDING[2]:
        own = [whole.groups[run] for run in np.sort(runs)]
        names = sorted(set(own))
        stay = set(rng.permutation(names)[: max(1, round(len(names) / 2))].tolist())
        contributing = np.array([name in stay for name in own])
    near = regrading.retrieved.pick(contributing).cut(DEPTHS.get(hiding, 10)).best_ranks() > 0
    states = np.where(np.append(near, False)[regrading.row_document], regrading.full, GONE).astype(np.int8)
    view, considered = regrading.under(states), regrading.retrieved.cut(DEPTH).best_ranks() > 0
    measures = MEASURES if kind == "random" else [MEASURES[lead]]
    drawn = draw_completions(regrading, view, considered, seed=draw).values(measures)
    present, truth = regrading.values(measures, view), regrading.values(measures, regrading.view())
    pairs, basis = all_pairs(count), basis_of(regrading, view, considered)
    for number, measure in enumerate(measures):
        concluded, conclusion, sign = pair_chances(present[:, number], drawn[:, number], pairs, 0.05)
        now, then = (Statistics(values[:, number], pairs) for values in (present, truth))
        yield _Answers(
            cell, str(measure), basis, conclusion, concluded == then.concluded(0.05),
            sign, np.sign(now.difference) == np.sign(then.difference),
        )  # fmt: skip


def figures(chance: NDArray[np.float64], right: NDArray[np.bool_]) -> str:
    """Return share claimed, share right, AUC, and the calibration error beyond a perfect forecaster's."""
    known = np.isfinite(chance)
    chance, right = chance[known], right[known]
    once, sure = np.ones((1, len(chance))), chance >= SURE
    error = probability_figures(chance, right, once)["ece"][0]
    rng = np.random.default_rng(0)
    outcomes = [rng.random(len(chance)) < chance for _ in range(BOOTSTRAP)]
    perfect = np.mean([probability_figures(chance, outcome, once)["ece"][0] for outcome in outcomes])
    came_true = f"{right[sure].mean():.3f}" if sure.any() else "–"
    auc = area_under_curve(chance, right, once)[0]
    return f"{sure.mean():.2f} | {came_true} | {auc:.3f} | {max(0.0, error - perfect):.3f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer draws (1: some minutes)")
    parser.add_argument("--few", action="store_true", help="few runs and shallow pools")
    asked = parser.parse_args()
    cells, ways = (FEW, (*HIDING[3:], *HIDING[1::-1])) if asked.few else (CELLS, HIDING[:3])
    found = [
        answer
        for name, count, draws in cells
        for kind in (SETS if count < len(read_collection(name).groups) else SETS[:1])
        for hiding in ways
        for draw in range(max(1, round(asked.scale * draws)))
        for answer in answers(read_collection(name), (name, count, kind, hiding), draw)
    ]
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    own_row = [(*one.cell[:3], one.cell[3] if asked.few else one.measure) for one in found]
    rows: list[tuple[tuple[Any, ...], list[_Answers]]] = [
        (key, [one for one, row in zip(found, own_row, strict=True) if row == key])
        for key in dict.fromkeys(own_row)
    ]
    for kind in SETS:
        for hiding in ways:
            rows.append((("all", "", kind, hiding), [one for one in found if one.cell[2:] == (kind, hiding)]))
        for measure in MEASURES:
            chosen = [one for one in found if (one.cell[2], one.measure) == (kind, str(measure))]
            rows.append((("all", "", kind, str(measure)), chosen))
    if asked.few:
        rows += [
            (("all", runs, kind, f"{low} to {high - 1} judgments"), chosen)
            for kind in SETS
            for runs in sorted({count for _, count, _ in cells})
            for low, high in pairwise(JUDGMENTS)
            if (chosen := [
                one for one in found
                if one.cell[1:3] == (runs, kind) and low <= one.basis.judgments < high
            ])
        ]  # fmt: skip
    for key, own in rows:
        said, right, sign, same = (
            np.concatenate([getattr(one, name) for one in own])
            for name in ("conclusion", "holds", "sign", "same")
        )
        first = " | ".join(map(str, key))
        print(f"| {first} | {len(said):,} | {figures(said, right)} | {figures(sign, same)} |", flush=True)


if __name__ == "__main__":
    main()
