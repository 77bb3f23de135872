"""How often the intervals of `estimate` contain the truth on dl21-machine, and how long it takes.

    python -m benchmarks.estimates [DRAWS] > table      # the table of docs/estimate.md; 400 draws by default
    python -m benchmarks.estimates --time               # seconds of CPU for 63 runs, 27 topics, six measures

A cell fails if its 99% Monte Carlo interval lies outside .935 to .965. The share of the runs (or pairs) whose
intervals contain the truth differs between draws together; the interval accounts for that.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tests.estimate.replays import JUDGES, Floats, replay, replay_topics, shuffled, topic_values, whole_frame

from sounding import estimate, read_qrels
from sounding.data.finding import find_runs

DATA = Path(os.environ.get("SOUNDING_DATA", "../shared/data")) / "dl21-machine"
DRAWS = 400
LOW, HIGH = 0.935, 0.965
NORMAL_99 = 2.576
LABELS = (*JUDGES, "shuffled")
DOCUMENTS = ("P(rel=2)@10", "RBP", "DCG@10", "ERR"), (150, 300, 600)
TOPICS = ("nDCG@10", "P(rel=2)@10", "ERR@20", "RR(rel=2)", "AP(rel=2)"), (8, 15)
SIX = ("P@10", "P(rel=2)@10", "RBP", "DCG@10", "SDCG@10", "ERR")
CHANCE = 0.06  # of each document to be in the sample that is timed


def cells(hits: Floats, each: Floats) -> list[str]:
    """Return the coverage with its Monte Carlo interval, the worst decile, and whether the cell fails."""
    reach = NORMAL_99 * hits.std(ddof=1) / np.sqrt(len(hits))
    failed = hits.mean() + reach < LOW or hits.mean() - reach > HIGH
    worst = "" if not len(each) else f"{np.quantile(each, 0.1):.3f}"
    return [f"{hits.mean():.3f} ± {reach:.3f}{' FAILS' if failed else ''}", worst]


def print_coverage(draws: int) -> None:
    """Print the table of coverage, one line for each cell."""
    names = (
        "measure",
        "labels",
        "judged",
        "runs",
        "worst decile",
        "pairs",
        "worst decile",
        "error of a pair",
    )
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)
    for judge in LABELS:
        frame, lists = whole_frame(judge if judge in JUDGES else "gpt-4")
        frame = frame if judge in JUDGES else shuffled(frame)
        for measure in DOCUMENTS[0]:
            for size in DOCUMENTS[1]:
                own = replay(measure, frame, lists, size, draws, 7)
                row = [*cells(own.run_draws, own.runs), *cells(own.pair_draws, own.pairs), f"{own.error:.4f}"]
                print(f"| {measure} | {judge} | {size} documents | {' | '.join(row)} |", flush=True)
    for judge in LABELS:
        for measure in TOPICS[0]:
            truth, labeled = topic_values(measure, JUDGES.get(judge, JUDGES["gpt-4"]))
            for size in TOPICS[1]:
                one = replay_topics(truth, labeled, size, draws, shuffle=judge not in JUDGES)
                row = [*cells(one.runs, np.empty(0)), *cells(one.pairs, np.empty(0)), f"{one.error:.4f}"]
                print(f"| {measure} | {judge} | {size} topics | {' | '.join(row)} |", flush=True)


def print_time() -> None:
    """Estimate six measures for all runs twice, and print the CPU seconds of the second time."""
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as name:
        drawn = Path(name) / "prels.txt"
        write_sample(drawn, rng)
        for _ in range(2):
            begin = time.process_time()
            found = estimate(
                drawn, find_runs([DATA / "runs"]), SIX, labels=DATA / f"labels.{JUDGES['gpt-4']}.txt.gz",
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


if __name__ == "__main__":
    if sys.argv[1:] == ["--time"]:
        print_time()
    else:
        print_coverage(int(sys.argv[1]) if len(sys.argv) > 1 else DRAWS)
