"""The decision matrix of all pairs of 129 runs, for two measures at five depths: seconds after loading.

Values are drawn: what is timed are tests and cases, as `sounding compare --depths` does them.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from sounding.runs.pairs import all_pairs
from sounding.statistics.cases import count_cases, decide
from sounding.statistics.pairwise import Procedure

RUNS, TOPICS, COLUMNS = 129, 50, 10  # two measures at five depths


def main(test: str) -> None:
    """Print how long the tests of performance and assessment and the cases took."""
    rng = np.random.default_rng(1)
    quality = rng.uniform(0.1, 0.5, (RUNS, 1))
    tables = np.clip(quality + rng.normal(0, 0.2, (2 * COLUMNS, RUNS, TOPICS)), 0, 1)
    pairs = all_pairs(RUNS)
    procedure = Procedure(test=test)
    procedure.apply(tables[0], pairs[:10])  # SciPy is loaded
    begin = time.perf_counter()
    counted = sum(
        count_cases(
            decide(procedure.apply(tables[2 * n], pairs), procedure.apply(tables[2 * n + 1], pairs))
        ).sum()
        for n in range(COLUMNS)
    )
    print(f"{counted} decisions in {time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main(sys.argv[1])
