"""How often what `estimate` and `audit --labels` say is right, and how long estimates take.

    python -m benchmarks.estimates PART [DRAWS]

| part | what |
|---|---|
| documents | coverage on these topics by a sample of documents, dl21-machine (docs/estimate.md) |
| likethese | the same for topics like these: the 27 topics drawn with replacement |
| topics | coverage by topics that were judged whole |
| simulated | coverage on TREC-8 and on a simulated collection, with simulated machines |
| favor | how often a favored run is found, and a fair judge accused (docs/audit.md) |
| --time | seconds of CPU for 63 runs, 27 topics, six measures |

A cell fails if its 99% Monte Carlo interval lies outside .935 to .965. The share of the runs (or pairs) whose
intervals contain the truth differs between draws together; the interval accounts for that.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.estimate.replays import (
    ERRORS,
    JUDGES,
    Floats,
    first_ranks,
    replay,
    replay_topics,
    reranked,
    shuffled,
    simulated_labels,
    topic_values,
    whole_frame,
)

from sounding import estimate, read_qrels, read_runs
from sounding.audit.fitness import favors_of
from sounding.core.policies import DEFAULT_POLICIES
from sounding.data.finding import find_runs
from sounding.estimate.design import FLOOR, aimed_chances
from sounding.estimate.estimable import form_of
from sounding.estimate.estimators import Lists, Sample
from sounding.estimate.frame import Frame, build_frame, lists_of
from sounding.measures import parse
from sounding.runs.align import prepare
from sounding.sample.simulation import sample
from sounding.selection.samples import capped_chances

SHARED = Path(os.environ.get("SOUNDING_DATA", "../shared/data"))
DATA = SHARED / "dl21-machine"
DRAWS = 400
LOW, HIGH = 0.935, 0.965
NORMAL_99 = 2.576
LABELS = (*JUDGES, "shuffled")
DOCUMENTS = ("P(rel=2)@10", "RBP", "DCG@10", "ERR")
SIZES = (150, 300, 600)
TOPICS = ("nDCG@10", "P(rel=2)@10", "ERR@20", "RR(rel=2)", "Success(rel=3)@5", "AP(rel=2)"), (8, 15)
SIX = ("P@10", "P(rel=2)@10", "RBP", "DCG@10", "SDCG@10", "ERR")
CHANCE = 0.06  # of each document to be in the sample that is timed
RATE = 0.2  # of the errors of simulated machines
AIMED = 300  # judgments aimed at a named run
ALPHA = 0.05


def with_reach(hits: Floats) -> str:
    """Return a mean with the reach of its Monte Carlo interval."""
    return f"{hits.mean():.3f} ± {NORMAL_99 * hits.std(ddof=1) / np.sqrt(len(hits)):.3f}"


def cells(hits: Floats, each: Floats) -> list[str]:
    """Return the coverage with its Monte Carlo interval, the worst decile, and whether the cell fails."""
    reach = NORMAL_99 * hits.std(ddof=1) / np.sqrt(len(hits))
    failed = hits.mean() + reach < LOW or hits.mean() - reach > HIGH
    worst = "" if not len(each) else f"{np.quantile(each, 0.1):.3f}"
    return [f"{with_reach(hits)}{' FAILS' if failed else ''}", worst]


def print_rows(rows: Iterator[list[str]]) -> None:
    """Print a table of coverage as its rows are made."""
    names = [
        "measure",
        "labels",
        "judged",
        "runs",
        "worst decile",
        "pairs",
        "worst decile",
        "error of a pair",
    ]
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for row in rows:
        print(f"| {' | '.join(row)} |", flush=True)


def by_documents(draws: int, *, topics: bool = False) -> Iterator[list[str]]:
    """Yield the coverage of intervals from samples of documents, for each judge, measure and size."""
    for judge in LABELS:
        frame, lists = whole_frame(judge if judge in JUDGES else "gpt-4")
        frame = frame if judge in JUDGES else shuffled(frame)
        for measure in DOCUMENTS:
            yield from _coverage(measure, judge, frame, lists, draws, topics=topics)


def _coverage(
    measure: str, name: str, frame: Frame, lists: Lists, draws: int, *, topics: bool = False
) -> Iterator[list[str]]:
    for size in SIZES:
        own = replay(measure, frame, lists, size, draws, 7, topics=topics)
        found = [*cells(own.run_draws, own.runs), *cells(own.pair_draws, own.pairs), f"{own.error:.4f}"]
        yield [measure, name, f"{size} documents", *found]


def by_topics(draws: int) -> Iterator[list[str]]:
    """Yield the coverage of intervals from topics that were judged whole."""
    for judge in LABELS:
        for measure in TOPICS[0]:
            truth, labeled = topic_values(measure, JUDGES.get(judge, JUDGES["gpt-4"]))
            for size in TOPICS[1]:
                one = replay_topics(truth, labeled, size, draws, shuffle=judge not in JUDGES)
                known = [cells(hits[~np.isnan(hits)], np.empty(0)) for hits in (one.runs, one.pairs)]
                yield [measure, judge, f"{size} topics", *known[0], *known[1], f"{one.error / one.alone:.2f}"]


def by_simulation(draws: int) -> Iterator[list[str]]:
    """Yield the coverage with simulated machines, on TREC-8 and on a simulated collection."""
    made = sample(topics=50, groups=8, systems=3, documents=1000, length=100, pool_depth=50, seed=11)
    trec8 = read_qrels(SHARED / "trec8/qrels.trec8.txt.gz"), read_runs([SHARED / "trec8/runs"])
    for name, (qrels, runs) in {"simulated": (made.qrels, made.runs), "TREC-8": trec8}.items():
        whole = build_frame(qrels, [], DEFAULT_POLICIES)
        frame, lists = first_ranks(whole, lists_of(runs, whole, DEFAULT_POLICIES)[0], 10)
        for errors in ERRORS:
            own = replace(frame, labels=simulated_labels(frame, lists, errors, RATE))
            for measure in ("P@10", "DCG@10"):
                yield from _coverage(measure, f"{name}, {errors}", own, lists, draws)


def print_favor(draws: int) -> None:
    """Print how often a run reranked by the judge is found, and how often a fair judge is accused."""
    names = "judge", "a named run", "the run, of all", "a fair judge", "a fair judge, from a sample"
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")
    for judge in JUDGES:
        frame, lists = whole_frame(judge)
        form = form_of(parse("P(rel=2)@10"), prepare(frame.judgments, DEFAULT_POLICIES).judgments)
        rng = np.random.default_rng(5)
        named: list[bool] = []
        screened: list[bool] = []
        fair: list[bool] = []
        sampled: list[bool] = []
        for run in range(lists.runs):
            own = reranked(frame, lists, run)
            contrast = np.abs(favors_of(frame, own, form, 3).contrast)
            used = contrast.sum(axis=0) > 0
            weight = np.maximum(contrast[run, used], FLOOR * contrast[run, used].mean())
            chance = np.zeros(frame.size)
            chance[used] = capped_chances(weight, AIMED)
            for _ in range(max(1, draws // lists.runs)):
                found = favors_of(drawn(frame, chance, rng), own, form, 3).of_run(run)
                named.append(bool(found.test().p[0] <= ALPHA))
            found = favors_of(frame, own, form, 3)
            screened.append(bool(found.test().p_adjusted[run] <= ALPHA))
        chance = aimed_chances([form], lists, frame.size, 2 * AIMED)
        for _ in range(draws):
            labels = frame.labels.copy()
            for grade in np.unique(frame.grades):
                rows = (frame.grades == grade).nonzero()[0]
                labels[0, rows] = labels[0, rng.permutation(rows)]
            blind = replace(frame, labels=labels)
            for hits, judged in ((fair, blind), (sampled, drawn(blind, chance, rng))):
                found = favors_of(judged, lists, form, 3)
                hits.append(bool(found.test().p_adjusted.min() <= ALPHA))
        shares = [with_reach(np.array(hits, np.float64)) for hits in (named, screened, fair, sampled)]
        print(f"| {judge} | {' | '.join(shares)} |", flush=True)


def drawn(frame: Frame, chance: Floats, rng: np.random.Generator) -> Frame:
    """Return the frame with a sample of its judgments."""
    doc = (rng.random(frame.size) < chance).nonzero()[0]
    return replace(frame, sample=Sample(doc=doc, chance=chance[doc]), grades=frame.grades[doc])


def print_time() -> None:
    """Estimate six measures for all runs twice, and print the CPU seconds of the second time."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "prels.txt"
        write_sample(path, rng)
        for _ in range(2):
            begin = time.process_time()
            found = estimate(
                path, find_runs([DATA / "runs"]), SIX, labels=DATA / f"labels.{JUDGES['gpt-4']}.txt.gz",
                judges=["gpt-4"],
            )  # fmt: skip
            used = time.process_time() - begin
    sizes = f"{len(found.runs)} runs, {len(found.topics)} topics, {found.judged} judgments"
    print(f"{sizes}: CPU seconds {used:.3f}")


def write_sample(path: Path, rng: np.random.Generator) -> None:
    """Write a sample of people's judgments, each drawn with the same probability, as prels."""
    qrels = read_qrels(DATA / "qrels.nist.txt.gz")
    topics = np.repeat(np.array(qrels.topics, object), qrels.sizes).tolist()
    rows = zip(topics, qrels.docs.texts(), qrels.grades.astype(int).tolist(), strict=True)
    path.write_text("".join(f"{t} {d} {g} 1 {CHANCE}\n" for t, d, g in rows if rng.random() < CHANCE))


PARTS: dict[str, Callable[[int], None]] = {
    "documents": lambda draws: print_rows(by_documents(draws)),
    "likethese": lambda draws: print_rows(by_documents(draws, topics=True)),
    "topics": lambda draws: print_rows(by_topics(draws)),
    "simulated": lambda draws: print_rows(by_simulation(draws)),
    "favor": print_favor,
    "--time": lambda _: print_time(),
}

if __name__ == "__main__":
    if sys.argv[1:2] == [] or sys.argv[1] not in PARTS:
        sys.exit(f"expected one of {', '.join(PARTS)}")
    PARTS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else DRAWS)
