"""Stability over depth of 129 runs: 4 measures at 1,000 depths, seconds after reading.

Rankings are drawn; what is timed is all that `sounding depth` works out of runs that were read: values at
every depth, paired t tests of all pairs at each, coverage and inversions, agreement with the reference,
volatility, residuals, intervals, assessment, and what the tie rule does.
"""

from __future__ import annotations

import time

import numpy as np

from sounding.core.policies import DEFAULT_POLICIES
from sounding.depth.fewer_judgments import EACH_PAIR_ALONE
from sounding.depth.over_depth import Rankings
from sounding.depth.study import study
from sounding.measures.cumulative import measures_over_depth
from sounding.runs.ranking import Judgments, Ranking

RUNS, TOPICS, DEPTH, REFERENCE = 129, 50, 1000, 100
JUDGED, RELEVANT = 1700, 95  # of a topic: TREC-8 has 1,737 and 95
MEASURES = ("AP(norm='b')", "nDCG", "RBP(p=0.95)", "RBP(p=0.8)")


def drawn_rankings() -> Rankings:
    """Runs of different quality; two fifths of what they retrieve was judged."""
    rng = np.random.default_rng(1)
    grades = np.zeros((TOPICS, JUDGED))
    grades[:, :RELEVANT] = 1
    judgments = Judgments(
        topics=tuple(str(number) for number in range(TOPICS)), starts=np.arange(TOPICS + 1) * JUDGED,
        grades=grades.ravel(), pool_ranks=None, pooled=np.zeros(TOPICS, np.int64), highest=1.0,
    )  # fmt: skip
    rank = np.arange(1, DEPTH + 1)
    rankings = []
    for quality in rng.uniform(0.05, 0.6, RUNS):
        judged = rng.random((TOPICS, DEPTH)) < np.clip(1.2 - 0.16 * np.log(rank), 0.1, 1)
        topic, place = judged.nonzero()
        relevant = rng.random(len(topic)) < quality / np.sqrt(1 + place / 10)
        rankings.append(
            Ranking(
                run="drawn", judgments=judgments, topic=topic, rank=place + 1,
                grade=relevant.astype(np.float64), retrieved=np.full(TOPICS, DEPTH),
                missing=np.zeros(TOPICS, np.bool_), pooled_topic=np.empty(0, np.int64),
                pooled_rank=np.empty(0, np.int64),
            )
        )  # fmt: skip
    names = tuple(f"run{number}" for number in range(RUNS))
    return Rankings(
        runs=names, tags=names, judgments=judgments, plain=tuple(rankings), other_ties=tuple(rankings),
        policies=DEFAULT_POLICIES,
    )  # fmt: skip


def main() -> None:
    """Print how long it took."""
    rankings, measures = drawn_rankings(), measures_over_depth(MEASURES)
    EACH_PAIR_ALONE.apply(np.eye(3), np.array([[0, 1]]))  # SciPy is loaded
    begin = time.perf_counter()
    found = study(rankings, measures, reference=REFERENCE)
    stable = found.stable_from()
    print(f"stable from {stable} in {time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
