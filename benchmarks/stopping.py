"""What judging until a difference is significant does to conclusions.

    python -m benchmarks.stopping > table

Documents are judged in the order of minimal test collections, for the sets of runs of `benchmarks.sessions`.
After 1, 2, 4, ... 512 judgments each pair of runs is tested (paired t test of AP, .05, unjudged documents
not relevant). A pair counts as found when it is significant: at the last look only (a budget fixed
beforehand), or at the first look at which it is. Kept: the test with all judgments finds the same run better;
reversed: the other run is ahead with all judgments.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from benchmarks.sessions import LOOKS, SETS, begin_session

from sounding.core.arrays import NDArray
from sounding.measures.forms import known_values
from sounding.runs.pairs import all_pairs
from sounding.selection.strategies import judging
from sounding.statistics.conclusions import Statistics

ALPHA = 0.05
Counts = NDArray[np.int64]


def found_pairs(name: str, count: int, kind: str, draw: int) -> tuple[Counts, Counts]:
    """Return (found, kept, reversed, pairs): with a fixed budget, and by stopping at significance."""
    session, truth = begin_session(name, count, kind, draw)
    pairs, lists = all_pairs(count), session._ground.lists
    final = Statistics(truth.by_topic.T, pairs)
    relevant = np.zeros(len(truth.grades), np.bool_)
    concluded = first = np.zeros(len(pairs), np.int8)
    picks = judging(session, truth.grades, LOOKS[-1], None)
    for number, pick in enumerate(picks, start=1):
        relevant[pick.document] = truth.grades[pick.document] >= session.form.level
        if number in LOOKS:
            values = known_values(session.form, lists, relevant, np.zeros(len(lists)))
            concluded = Statistics(values.T, pairs).concluded(ALPHA)
            first = np.where(first == 0, concluded, first)
    return _counted(concluded, final), _counted(first, final)


def _counted(concluded: NDArray[np.int8], final: Statistics) -> Counts:
    found = concluded != 0
    kept = found & (concluded == final.concluded(ALPHA))
    reverse = found & (concluded * np.sign(final.difference) < 0)
    return np.array([found.sum(), kept.sum(), reverse.sum(), len(found)])


def main() -> None:
    """Print the table."""
    total: dict[str, Counts] = defaultdict(lambda: np.zeros((2, 4), np.int64))
    for name, count, kind, sessions in SETS:
        for draw in range(sessions):
            total[kind] += np.stack(found_pairs(name, count, kind, draw))
    print("| runs | rule | pairs | found | kept | reversed |\n|---|---|---|---|---|---|")
    for kind, both in total.items():
        for rule, (found, kept, reverse, pairs) in zip(
            ("512 judgments", "first significant look"), both.tolist(), strict=True
        ):
            shares = f"{found / pairs:.2f} | {kept / found:.3f} | {reverse / found:.3f}"
            print(f"| {kind} | {rule} | {pairs:,} | {shares} |")


if __name__ == "__main__":
    main()
