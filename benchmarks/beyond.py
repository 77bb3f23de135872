"""How well `audit` forecasts the conclusions that stand below the depth of a pool.

    python -m benchmarks.beyond > table      # the tables of docs/audit.md

Pools are cut, and the forecast is compared with what deeper judgments say: the share of pairs of pooled runs
of which a paired t test concludes the same once the top k of every pooled run is judged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sounding import parse_measures, sample
from sounding.audit.beyond import deeper_evaluation
from sounding.audit.judged_runs import ListedRuns, judged_runs, list_runs
from sounding.audit.verdict import MOST_STANDING, WELL_STANDING
from sounding.data.finding import find_runs
from sounding.data.formats import read_qrels
from sounding.data.run_info import RunInfo, read_run_info
from sounding.runs.pairs import all_pairs
from sounding.statistics.conclusions import Statistics

DATA = Path(os.environ.get("SOUNDING_DATA", "../shared/data"))
MEASURES = parse_measures(["AP", "nDCG", "RBP(p=0.95)", "P@10"])
ALPHA = 0.05
FILES = {
    "TREC-8": ("trec8/qrels.trec8.txt.gz", "trec8/runs"),
    "Robust 2003": ("robust03/qrels.robust03.txt.gz", "robust03/runs"),
    "DL 2021": ("dl21-machine/qrels.nist.txt.gz", "dl21-machine/runs"),
}
CUTS = {  # (depth of the cut pool, k); no deeper than the pool really is
    "TREC-8": ((2, 20), (5, 50), (10, 20), (10, 50), (10, 100), (20, 50), (20, 100), (50, 100)),
    "Robust 2003": ((2, 20), (4, 39), (5, 39), (10, 20), (10, 39), (20, 39)),
    "DL 2021": ((1, 5), (1, 10), (2, 10), (5, 10)),
    "simulated, 1% relevant": ((5, 50), (10, 20), (10, 100), (20, 200)),
    "simulated, 4% relevant": ((5, 50), (10, 20), (10, 100), (20, 200)),
    "simulated, 9% relevant": ((5, 50), (10, 20), (10, 100), (20, 200)),
}


class Cell(NamedTuple):
    """One measure at one depth with one pool."""

    collection: str
    depth: int
    k: int
    measure: str
    forecast: float
    truth: float
    reason: str


def collection(name: str) -> tuple[Any, ListedRuns, dict[str, RunInfo]]:
    """Return the judgments of a collection, its runs, and which of them were pooled: all, if nobody says."""
    if name.startswith("simulated"):
        share = int(name.split()[1].rstrip("%")) / 100
        made = sample(topics=50, groups=8, systems=3, documents=3000, length=400, prevalence=share, seed=1)
        qrels, listed = made.truth, list_runs(made.runs, made.truth.topics)
        return qrels, listed, {row.run: row for row in made.info}
    judgments, runs = FILES[name]
    qrels = read_qrels(DATA / judgments)
    listed = list_runs(find_runs([str(DATA / runs)]), qrels.topics)
    own = DATA / judgments.partition("/")[0] / "info.tsv"
    if own.exists():
        return qrels, listed, read_run_info(own)
    row = RunInfo(run="", group="", kind="automatic", priority=1, pooled=True)
    return qrels, listed, {run: replace(row, run=run, group=run) for run in listed.retrieved.runs}


def cells(name: str) -> Iterator[Cell]:
    """Yield the forecasts for a collection, and the truth."""
    qrels, listed, info = collection(name)
    for depth, k in CUTS[name]:
        runs = judged_runs(qrels, listed.retrieved, info=info, pool_depth=depth)
        whole = judged_runs(qrels, listed.retrieved, info=info)
        chosen = runs.contributing.nonzero()[0]
        best = runs.retrieved.pick(runs.contributing).best_ranks()
        deeper = whole.view((best == 0) | (best > k))
        found = deeper_evaluation(runs, MEASURES, k)
        measures = [one.measure for one in found]
        pairs = all_pairs(len(chosen))
        now, then = (
            [
                Statistics(own, pairs).concluded(ALPHA)
                for own in side.values(measures, view, chosen).swapaxes(0, 1)
            ]
            for side, view in ((runs, runs.view()), (whole, deeper))
        )
        for number, one in enumerate(found):
            truth = float((now[number] == then[number]).mean())
            yield Cell(name, depth, k, str(MEASURES[number]), one.holds, truth, one.reason)


def answer(share: float) -> int:
    """Return 2 for yes, 1 for with care, 0 for no."""
    return int(share >= WELL_STANDING) + int(share >= MOST_STANDING)


def main() -> None:
    """Print a row for each cut, and for each collection how the answers fare."""
    names = ("collection", "pool", "k", *(f"{measure}: forecast, true" for measure in MEASURES))
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}", flush=True)
    fares = []
    for name, cuts in CUTS.items():
        found = list(cells(name))
        for depth, k in cuts:
            own = [f"{one.forecast:.3f} {one.truth:.3f}" for one in found if (one.depth, one.k) == (depth, k)]
            print(f"| {' | '.join([name, str(depth), str(k), *own])} |", flush=True)
        known = [one for one in found if not one.reason]
        errors = np.array([one.forecast - one.truth for one in known])
        steps = np.array([answer(one.forecast) - answer(one.truth) for one in known])
        counts = [len(known), *(int(np.count_nonzero(part)) for part in (steps == 0, steps < 0, steps > 0))]
        fares.append([name, *map(str, counts), f"{np.abs(errors).mean():.3f}", f"{errors.max():.3f}"])
    print("\n| collection | cells | same answer | too cautious | too generous | mean error | most above |")
    print("|---|---|---|---|---|---|---|")
    for row in fares:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    main()
