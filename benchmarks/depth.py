"""Stability over depth of 129 runs: 4 measures at 1,000 depths, seconds after reading.

Rankings are drawn: what is timed are values at every depth, paired t tests of all pairs at each, coverage
and inversions, agreement with the reference and volatility, as `sounding depth` does them.
"""

from __future__ import annotations

import time

import numpy as np

from sounding.agreement import agreement_matrix
from sounding.compare import all_pairs
from sounding.compare.procedure import Procedure
from sounding.depth.curves import families, values_at_every_k
from sounding.depth.ratios import coverage, inversions, separate
from sounding.depth.stability import COEFFICIENTS
from sounding.depth.volatility import volatility
from sounding.ranking import Judgments, Ranking
from sounding.scores import mean_over_topics

RUNS, TOPICS, DEPTH, REFERENCE = 129, 50, 1000, 100
JUDGED, RELEVANT = 1700, 95  # of a topic: TREC-8 has 1,737 and 95
MEASURES = ("AP(norm='b')", "nDCG", "RBP(p=0.95)", "RBP(p=0.8)")


def drawn_rankings() -> list[Ranking]:
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
    return rankings


def main() -> None:
    """Print how long it took."""
    rankings = drawn_rankings()
    pairs, procedure = all_pairs(RUNS), Procedure(test="t", correction="none")
    procedure.apply(np.eye(3), pairs[:1])  # SciPy is loaded
    ks = range(1, DEPTH + 1)
    begin = time.perf_counter()
    confirmed = 0.0
    for measure in families(MEASURES):
        values = np.stack([values_at_every_k(measure, ranking, DEPTH) for ranking in rankings], axis=1)
        found = separate(values, ks, pairs, procedure)
        reference, means = found.at(REFERENCE), mean_over_topics(values)
        confirmed += coverage(found, reference).sum() - inversions(found, reference).sum()
        for name in COEFFICIENTS.values():
            agreement_matrix(means[REFERENCE - 1 : REFERENCE], means, name)
        volatility(means, ks).stable_from()
    print(f"{confirmed:.0f} coverages in {time.perf_counter() - begin:.4f}")


if __name__ == "__main__":
    main()
