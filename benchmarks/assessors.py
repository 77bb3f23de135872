"""100,003 qrels that pick one of three assessors a topic, over 33 systems and 48 topics: seconds.

Values are drawn: what is timed is everything from the values of each assessor to ranges, tau with the
original, tau within a subsample of 1,000, correlations and swaps.
"""

from __future__ import annotations

import time

import numpy as np

from sounding.agree.resampling import COMBINED, AssessorValues, resample
from sounding.core.policies import DEFAULT_POLICIES
from sounding.measures import parse_measures

SYSTEMS, TOPICS, ASSESSORS = 33, 48, ("primary", "A", "B")


def main() -> None:
    """Print how many qrels there were and how long they took."""
    rng = np.random.default_rng(1)
    sides = len(ASSESSORS) + len(COMBINED)
    quality = rng.uniform(0.1, 0.4, (SYSTEMS, 1))
    found = AssessorValues(
        assessors=ASSESSORS, combined=COMBINED, systems=tuple(map(str, range(SYSTEMS))),
        measures=parse_measures(["AP"]), topics=tuple(map(str, range(TOPICS))),
        values=np.clip(quality + rng.normal(0, 0.15, (sides, 1, SYSTEMS, TOPICS)), 0, 1),
        relevant=np.ones((sides, 1, TOPICS), np.int64), policies=DEFAULT_POLICIES,
    )  # fmt: skip
    begin = time.perf_counter()
    effect = resample(found, 0)
    print(f"{effect.samples} qrels in {time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
