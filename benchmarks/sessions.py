"""How often minimal test collections are right when they claim an order, from the first judgment on.

    python -m benchmarks.sessions [--scale S] [--set "TREC-8 20 random"]... > table

Judging is replayed on TREC-8 and Robust 2003, for random runs and for neighbors by AP. The truth is AP of
the first 100 documents of each run with all judgments, also of relevant documents that none of the runs has.
A row counts the pairs of all sets together. "stated": only where `plan` and `judge` state a confidence.
"first claim" takes each pair at the first look at which its order is claimed, as if judging stopped there.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from typing import NamedTuple

import numpy as np
from benchmarks.calibration import read_collection

from sounding.core.arrays import NDArray
from sounding.selection.mtc.session import Session
from sounding.simulate.trial import Truth, doublings, trial_looks
from sounding.statistics.forecasts import SURE

DEPTH = 100
LOOKS = doublings(512)
ROWS: tuple[int | str, ...] = (*LOOKS, "first claim")
SETS = (  # collection, runs, kind, sessions
    ("TREC-8", 5, "random", 12), ("TREC-8", 10, "random", 6), ("TREC-8", 20, "random", 4),
    ("TREC-8", 60, "random", 1), ("Robust 2003", 5, "random", 8), ("Robust 2003", 10, "random", 4),
    ("TREC-8", 5, "neighbors", 12), ("TREC-8", 10, "neighbors", 6),
    ("Robust 2003", 5, "neighbors", 6), ("Robust 2003", 10, "neighbors", 3),
)  # fmt: skip
COLUMNS = ("set", "judgments", "pairs", "claimed", "right", "stated", "right", "tau", "tau of plain AP")


class _Look(NamedTuple):
    claimed: int
    right: int
    stated: int
    stated_right: int
    pairs: int
    tau: float
    plain: float


def begin_session(name: str, count: int, kind: str, draw: int) -> tuple[Session, Truth]:
    """Begin judging for some runs of a collection."""
    whole = read_collection(name)
    rng = np.random.default_rng([draw, count, kind == "random"])
    order = np.argsort(-whole.values[:, 0], kind="stable")
    begin = int(rng.integers(len(order) - count + 1))
    chosen = (
        rng.choice(len(order), count, replace=False) if kind == "random" else order[begin : begin + count]
    )
    retrieved = whole.retrieved.pick(np.sort(chosen).tolist()).cut(DEPTH)
    session = Session(retrieved, seed=draw, depth=DEPTH)
    return session, Truth.of(retrieved, whole.qrels, session.form)


def session_looks(name: str, count: int, kind: str, draw: int) -> list[_Look]:
    """Replay one session."""
    session, truth = begin_session(name, count, kind, draw)
    first, second = np.triu_indices(count, 1)
    differs = truth.values[first] != truth.values[second]
    first, second = first[differs], second[differs]
    found, first_claim = [], np.zeros((2, len(first), 2), np.bool_)
    for look in trial_looks(session, truth, LOOKS):
        values = look.confidence.values
        same = (values[first] > values[second]) == (truth.values[first] > truth.values[second])
        sure = look.confidence.of_pairs()[first, second] >= SURE
        stated = sure & (not session.basis().shortfall())
        tau = look.row.tau_expected, look.row.tau_plain
        found.append(_Look(*_counts(sure, same), *_counts(stated, same), len(first), *tau))
        for seen, now in zip(first_claim, (sure, stated), strict=True):
            fresh = now & ~seen[:, 0]
            seen[fresh] = np.stack([fresh, same], axis=1)[fresh]
    once, stated_once = (_counts(seen[:, 0], seen[:, 1]) for seen in first_claim)
    return [*found, _Look(*once, *stated_once, len(first), np.nan, np.nan)]


def _counts(claimed: NDArray[np.bool_], same: NDArray[np.bool_]) -> tuple[int, int]:
    return int(claimed.sum()), int((claimed & same).sum())


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scale", type=float, default=1.0, help="more or fewer sessions (1: some minutes)")
    parser.add_argument("--set", action="append", help="only this set, such as 'TREC-8 20 random'")
    asked = parser.parse_args()
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}")
    every: dict[tuple[str, int | str], list[_Look]] = defaultdict(list)
    for name, count, kind, sessions in SETS:
        title = f"{name} {count} {kind}"
        if asked.set and title not in asked.set:
            continue
        own: dict[int | str, list[_Look]] = defaultdict(list)
        for draw in range(max(1, round(asked.scale * sessions))):
            for judgments, look in zip(ROWS, session_looks(name, count, kind, draw), strict=False):
                own[judgments].append(look)
                every[kind, judgments].append(look)
        for judgments, looks in own.items():
            print(_row(title, judgments, looks), flush=True)
    for (kind, judgments), looks in every.items():
        print(_row(f"all {kind}", judgments, looks))


def _row(title: str, judgments: int | str, looks: list[_Look]) -> str:
    claimed, right, stated, stated_right, pairs = (
        sum(getattr(look, name) for look in looks)
        for name in ("claimed", "right", "stated", "stated_right", "pairs")
    )
    shares = [
        f"{claimed / pairs:.2f}", f"{right / claimed:.3f}" if claimed else "–",
        f"{stated / pairs:.2f}", f"{stated_right / stated:.3f}" if stated else "–",
    ]  # fmt: skip
    tau, plain = (np.mean([getattr(look, name) for look in looks]) for name in ("tau", "plain"))
    return f"| {title} | {judgments} | {pairs:,} | {' | '.join(shares)} | {tau:.2f} | {plain:.2f} |"


if __name__ == "__main__":
    main()
