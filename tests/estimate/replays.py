"""Draw samples of judgments from a collection that was judged completely, and count what intervals contain.

`python -m tests.estimate.replays DRAWS` prints the table of docs/estimate.md on dl21-machine.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.policies import DEFAULT_POLICIES
from sounding.data.formats import read_qrels, read_runs
from sounding.data.labels import read_labels
from sounding.estimate.design import aimed_chances
from sounding.estimate.estimating import estimate_measure
from sounding.estimate.estimators import Lists, Sample, cascade, linear
from sounding.estimate.forms import GainForm, form_of
from sounding.estimate.frame import Frame, build_frame, lists_of
from sounding.measures import parse
from sounding.runs.align import prepare
from sounding.runs.pairs import all_pairs

Floats = NDArray[np.float64]
JUDGES = {"gpt-4": "gpt-4.umbrela", "gpt-4o": "gpt-4o.binary", "llama": "llama3.2.binary"}


class Coverage(NamedTuple):
    """How often intervals contained the truth, over runs or pairs and draws."""

    runs: Floats  # (run,)
    pairs: Floats  # (pair,)
    error: float  # root mean square error of pairs' differences


def whole_frame(*judges: str) -> tuple[Frame, Lists]:
    """The whole of dl21-machine with the labels of these judges."""
    folder = Path(os.environ.get("SOUNDING_DATA", "../shared/data")) / "dl21-machine"
    qrels = read_qrels(folder / "qrels.nist.txt.gz")
    labels = [
        one for judge in judges
        for one in read_labels(folder / f"labels.{JUDGES[judge]}.txt.gz", judges=[judge])
    ]  # fmt: skip
    frame = build_frame(qrels, labels, DEFAULT_POLICIES)
    return frame, lists_of(read_runs([folder / "runs"]), frame, DEFAULT_POLICIES)[0]


def replay(name: str, frame: Frame, lists: Lists, size: int, draws: int, seed: int) -> Coverage:
    """Sample `size` judgments `draws` times, estimate, and compare with the complete judgments."""
    form: GainForm = form_of(parse(name), prepare(frame.judgments, DEFAULT_POLICIES).judgments)
    cut = lists.cut(form.depth)
    weight = np.asarray(form.weight(cut.rank), np.float64)
    every = Sample(doc=np.empty(0, np.int64), chance=np.empty(0))
    gains = form.gain(frame.grades)
    if form.kind == "linear":
        truth = linear(cut, weight, gains, every, np.empty(0)).values.mean(axis=1)
    else:
        ranks = np.arange(1, int(cut.rank.max()) + 1)
        truth = cascade(cut, form.weight(ranks), gains, every, np.empty(0)).values.mean(axis=1)
    pairs = all_pairs(lists.runs)
    difference = truth[pairs[:, 0]] - truth[pairs[:, 1]]
    chance = aimed_chances([form], lists, frame.size, size)
    rng = np.random.default_rng(seed)
    run_hits, pair_hits, squares = np.zeros(lists.runs), np.zeros(len(pairs)), 0.0
    for _ in range(draws):
        drawn = (rng.random(frame.size) < chance).nonzero()[0]
        own = replace(frame, sample=Sample(doc=drawn, chance=chance[drawn]), grades=frame.grades[drawn])
        one = estimate_measure(parse(name), form, lists, own, 3.0, None, 0.95)
        run_hits += (one.low <= truth) & (truth <= one.high)
        pair_hits += (one.pair_low <= difference + 1e-12) & (difference - 1e-12 <= one.pair_high)
        error = one.means[pairs[:, 0]] - one.means[pairs[:, 1]] - difference
        squares += float((error**2).mean())
    return Coverage(run_hits / draws, pair_hits / draws, float(np.sqrt(squares / draws)))


def shuffled(frame: Frame, seed: int = 0) -> Frame:
    """The frame with labels that mean nothing."""
    order = np.random.default_rng(seed).permutation(frame.size)
    return replace(frame, labels=frame.labels[:, order])


def main(draws: int) -> None:
    """Print the table of the docs."""
    sys.stdout.write(
        "| measure | labels | judgments | runs | worst decile | pairs | worst decile | standard error |\n"
    )
    sys.stdout.write("|---|---|---|---|---|---|---|---|\n")
    for judge in ("gpt-4", "shuffled", "llama", "gpt-4o"):
        frame, lists = whole_frame(judge if judge in JUDGES else "gpt-4")
        if judge == "shuffled":
            frame = shuffled(frame)
        for name in ("P(rel=2)@10", "RBP", "DCG@10", "ERR"):
            for size in (150, 300, 600):
                own = replay(name, frame, lists, size, draws, 7)
                cells = [
                    own.runs.mean(),
                    np.quantile(own.runs, 0.1),
                    own.pairs.mean(),
                    np.quantile(own.pairs, 0.1),
                ]
                shown = " | ".join(f"{cell:.3f}" for cell in cells)
                sys.stdout.write(f"| {name} | {judge} | {size} | {shown} | {own.error:.4f} |\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
