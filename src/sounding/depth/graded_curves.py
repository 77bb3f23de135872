"""Cumulative forms of measures of grades: DCG, nDCG, Q."""

from __future__ import annotations

from typing import Literal

import numpy as np

from sounding.depth.binary_curves import ranks_in_pool, relevant_by_norm
from sounding.depth.cumulative import NoCumulativeFormError, Table, curve, cuts, placed, share, summed
from sounding.measures.binary import Norm
from sounding.measures.graded import (
    Dcg,
    DcgForm,
    Gains,
    Scale,
    highest_grade,
    ideal_dcg_of,
    ideal_order,
    scaled,
    with_gains,
)
from sounding.ranking import Counts, Judgments, Ranking, Values


@curve("DCG")
def discounted_cumulative_gain(
    run: Ranking, depth: int, *, dcg: Dcg = "log2", gains: Gains | None = None, rel: float | None = None
) -> Table:
    """Discounted gains so far."""
    form = DcgForm(dcg, gains, rel)
    return summed(run, run.topic, run.rank, form.gain(run.grade) * form.discount(run.rank), depth)


@curve("nDCG")
def normalized_discounted_cumulative_gain(
    run: Ranking,
    depth: int,
    *,
    dcg: Dcg = "log2",
    gains: Gains | None = None,
    rel: float | None = None,
    norm: Literal["a", "b"] = "a",
) -> Table:
    """Discounted gains so far, by those of the best order as far."""
    form = DcgForm(dcg, gains, rel)
    key = ("ideal dcg at every k", depth, form.key, norm)
    best = run.judgments.remember(key, lambda: _ideal_dcg(run.judgments, depth, form, norm))
    return share(discounted_cumulative_gain(run, depth, dcg=dcg, gains=gains, rel=rel), best)


def _ideal_dcg(judgments: Judgments, depth: int, form: DcgForm, norm: str) -> Table:
    """(k, topic): the largest DCG at every k; with norm 'b' of the documents that a pool of depth k has."""
    pool, changing = None, 0
    if norm == "b":
        ranks = ranks_in_pool(judgments, depth, "nDCG with norm='b'")
        pool, changing = ranks > 0, int(ranks.max(initial=0))
    best = ideal_order(judgments, form.gain(judgments.grades), pool)
    weight = best.gain * form.discount(best.place)
    table = np.cumsum(placed(best.topic, best.place, weight, depth, len(judgments.topics)), axis=0)
    for k in range(1, changing):  # from the deepest pool rank on the pool is the same for every k
        table[k - 1] = ideal_dcg_of(judgments, k, form, norm)
    return table


@curve("Q")
def q_measure(
    run: Ranking,
    depth: int,
    *,
    beta: float = 1,
    rel: float = 1,
    gain: Literal["linear", "exponential", "grade"] = "linear",
    gains: Gains | None = None,
    norm: Norm = "a",
    ideal: Literal["i", "ii"] = "i",
    scale: Scale = "judgments",
) -> Table:
    """Blended precisions so far; where the best order changes with k, there is no such form.

    Nor is there one for parameters that contradict each other: the measure itself refuses them.
    """
    if ideal == "ii" or (gains is not None and gain != "grade") or (gain == "grade" and scale == "topic"):
        raise NoCumulativeFormError
    judgments = run.judgments

    def worth(grade: Values, topic: Counts) -> Values:
        if gain != "grade":
            return scaled(grade, gain, highest_grade(judgments, topic, scale))
        return grade if gains is None else with_gains(grade, gains)

    def most() -> Table:
        best = ideal_order(judgments, worth(judgments.grades, judgments.topic))
        return np.cumsum(placed(best.topic, best.place, best.gain, depth, len(judgments.topics)), axis=0)

    best = judgments.remember(("q at every k", depth, gain, scale, DcgForm(gains=gains).key), most)
    hit = run.hits(rel, depth)
    relevant = placed(hit.topic, hit.rank, None, depth, len(run.topics))
    gained = summed(run, run.topic, run.rank, worth(run.grade, run.topic), depth)
    blend = relevant * (np.cumsum(relevant, axis=0) + beta * gained) / (cuts(depth) + beta * best)
    return share(np.cumsum(blend, axis=0), relevant_by_norm(run, depth, rel, norm, "Q"))
