"""How many judgments `plan --to 0.95` forecasts, and how many it took.

    python -m benchmarks.forecasts [--sets N] > table

Five to eight random runs of TREC-8 and Robust 2003 with a fortieth or a twentieth of the judgments. Then
judging goes on with the real judgments until the mean confidence is .95, or for 2,000 judgments.
"""

from __future__ import annotations

import argparse

import numpy as np
from benchmarks.calibration import read_collection

from sounding.measures.regrading import part_of_judgments, regrade
from sounding.plan.forecast import CHECK_STEP, FIRST_CHECK, expected_range, forecast_to
from sounding.runs.ranking import Values
from sounding.selection.mtc.session import Session

WANTED, MOST, DEPTH = 0.95, 2000, 100
SETS = {"TREC-8": 77, "Robust 2003": 77}  # seeds


def truly_needed(session: Session, truth: Values) -> float:
    """Judge on until the confidence is as wanted; infinite: it is not reached."""
    number, check = 0, FIRST_CHECK
    sure = session.confidence().of_these(session.pairs())
    while sure < WANTED and number < MOST and (due := session.next()):
        session.judge(due[0].document, float(truth[due[0].document]))
        number += 1
        if number == check:
            session.refit()
            sure = session.confidence().of_these(session.pairs())
            check = max(check + 1, int(check * CHECK_STEP))
    return number if sure >= WANTED else np.inf


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", type=int, default=8, help="sets of runs of each collection")
    asked = parser.parse_args()
    print("| collection | runs | confidence at first | least | median | most | in truth | expected range |")
    print(f"|{'---|' * 8}")
    for name, seed in SETS.items():
        whole = read_collection(name)
        for draw in range(asked.sets):
            rng = np.random.default_rng([draw, seed])
            count, share = (6, 8, 5)[draw % 3], (0.025, 0.05)[draw % 2]
            runs = np.sort(rng.choice(len(whole.retrieved.runs), count, replace=False)).tolist()
            retrieved = whole.retrieved.pick(runs).cut(DEPTH)
            regrading = regrade(whole.qrels, retrieved)
            grades = regrading.under(part_of_judgments(regrading, share, (draw,))).grades
            given = [(int(one), float(grades[one])) for one in np.isfinite(grades).nonzero()[0]]
            session = Session(retrieved, seed=draw, given=given, depth=DEPTH)
            first = session.confidence().of_these(session.pairs())
            forecasts = forecast_to(session, WANTED, range(1, 9), most=MOST)
            needed = sorted(one.needed for one in forecasts)
            truth = truly_needed(session.knowing([], 999), np.nan_to_num(regrading.grades()))
            low, high = expected_range(forecasts)
            held = "holds it" if low <= truth <= high else "misses it"
            shown = f"{needed[0]:.0f} | {needed[3]:.0f} | {needed[-1]:.0f} | {truth:.0f}"
            print(f"| {name} | {count} | {first:.2f} | {shown} | {held} |", flush=True)


if __name__ == "__main__":
    main()
