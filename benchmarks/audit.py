"""Leaving out each of 129 runs and of 43 groups, for three measures: seconds after loading.

The collection is simulated: 50 topics, lists of 1,000 documents, a pool of depth 100 of all runs.
"""

from __future__ import annotations

import time

from sounding.audit.judged_runs import read_judged_runs
from sounding.audit.leave_out import leave_out
from sounding.measures import parse_measures
from sounding.sample.simulation import sample

GROUPS, SYSTEMS = 43, 3  # 129 runs


def main() -> None:
    """Print how long it took to leave out every run and every group."""
    made = sample(topics=50, groups=GROUPS, systems=SYSTEMS, contributors=GROUPS, pooled_runs=SYSTEMS)
    runs = read_judged_runs(made.qrels, made.runs, info={row.run: row for row in made.info})
    measures = parse_measures(["AP", "nDCG@10", "P@10"])
    begin = time.perf_counter()
    left_out = sum(len(leave_out(runs, measures, by=by).units) for by in ("run", "group"))
    print(f"{left_out} left out in {time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
