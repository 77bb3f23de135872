"""Choose the shared constants of `holds` without the collection that is scored.

    python -m benchmarks.leftout [--scale S] > table

Each row scores one collection with the constants that have the best logarithmic score on the others, and
with those of the package. Cells as in `benchmarks.calibration`: 5, 10 and 17 runs, pools of depth 5 and 10.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import product
from unittest import mock

import numpy as np
from benchmarks.calibration import SETS, answers, figures, read_collection

from sounding.core.arrays import NDArray
from sounding.relevance import model, regression

CELLS = (("TREC-8", 6), ("Robust 2003", 6), ("simulated", 3), ("simulated, graded", 3))  # draws
RUNS, HIDING = (5, 10, 17), ("pool 10", "pool 5")
NAMES = ("UNSEEN", "RUNS_TOTAL", "run")
OURS = (model.UNSEEN, regression.RUNS_TOTAL, regression.SPREADS.run)
CHOICES = (OURS, *product((3.0, 12.0), (0.5,), (0.6,)), *product((6.0,), (2.0,), (0.6, 0.4)), (6.0, 0.5, 0.3))

Said = tuple[NDArray[np.float64], NDArray[np.bool_]]  # chances, and what came true


def said(name: str, draws: int, choice: tuple[float, float, float]) -> Mapping[str, Said]:
    """Return all chances about a collection under some constants: of conclusions, and of signs."""
    unseen, total, run = choice
    with (
        mock.patch.object(model, "UNSEEN", unseen),
        mock.patch.object(regression, "RUNS_TOTAL", total),
        mock.patch.object(regression, "SPREADS", regression.SPREADS._replace(run=run)),
    ):
        found = [
            answer
            for count, kind, hiding in product(RUNS, SETS, HIDING)
            if count < len(read_collection(name).groups) or kind == SETS[0]
            for draw in range(draws)
            for answer in answers(read_collection(name), (name, count, kind, hiding), draw)
        ]
    parts = {"holds": ("conclusion", "holds"), "sign": ("sign", "same")}
    return {
        claim: (
            np.concatenate([getattr(one, chance) for one in found]),
            np.concatenate([getattr(one, right) for one in found]),
        )
        for claim, (chance, right) in parts.items()
    }


def loss(parts: Iterator[Said]) -> float:
    """Return the mean logarithmic loss over collections, each counted alike; chances are kept off 0 and 1."""
    return float(np.mean([
        -np.log(np.clip(np.where(right, chance, 1 - chance), 1e-3, 1))[np.isfinite(chance)].mean()
        for chance, right in parts
    ]))  # fmt: skip


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer draws (1: some minutes)")
    asked = parser.parse_args()
    every = {
        (name, choice): said(name, max(1, round(asked.scale * draws)), choice)
        for name, draws in CELLS
        for choice in CHOICES
    }
    print(f"| left out | {', '.join(NAMES)} | claim | claimed | right | AUC | error |\n|{'---|' * 7}")
    for name, _ in CELLS:
        others = [other for other, _ in CELLS if other != name]
        losses = [
            loss(every[other, choice][claim] for other in others for claim in ("holds", "sign"))
            for choice in CHOICES
        ]
        chosen = CHOICES[int(np.argmin(losses))]
        for choice in dict.fromkeys((chosen, OURS)):
            for claim in ("holds", "sign"):
                shown = ", ".join(f"{number:g}" for number in choice) + (" (ours)" if choice == OURS else "")
                print(f"| {name} | {shown} | {claim} | {figures(*every[name, choice][claim])} |", flush=True)


if __name__ == "__main__":
    main()
