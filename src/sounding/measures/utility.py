"""Measures of the gain of a reader who goes down the ranking and stops somewhere: RBP, ERR, INST etc.

None of them depends on the number of relevant documents. Unjudged documents gain nothing. If a gain is a
share of the highest grade, that is the highest of all judgments, not of the topic; RBP and ERR can use the
topic's (scale='topic').

INST, INSQ, BPM, SDCG and the NERR measures are those of cwl_eval: the mean gain of the documents that are
read, each weighted with the probability that the reader gets there, over the first k ranks. Ranks past the
end of a ranking are read too, and gain nothing.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sounding.core.errors import DataError
from sounding.measures.graded import (
    DcgForm,
    Gains,
    Scale,
    accumulate,
    highest_grade,
    scale_grades,
    with_gains,
)
from sounding.measures.registry import measure
from sounding.measures.totals import Cutoff, count_retrieved, share, weighted_sum
from sounding.runs.ranking import Counts, Hits, Judgments, Ranking, Values

ErrGain = Literal["exponential", "linear", "ntcireval", "binary"]


@measure(
    "RBP", basis="utility", monotone=True, monotone_in_k=True, additive=True,
    handles_ties=True, handles_cuts=True,
)  # fmt: skip
def rank_biased_precision(
    run: Ranking,
    *,
    k: int | None = None,
    p: float = 0.8,
    rel: float | None = None,
    gain: Literal["linear", "exponential"] = "linear",
    gains: Gains | None = None,
    scale: Scale = "judgments",
) -> Values:
    """Mean gain per document of a reader who goes on to the next document with probability p.

    Moffat & Zobel (2008): the sum over ranks i of gain * (1 - p) * p^(i-1). A gain is g / highest grade of
    the judgments ('linear') or (2^g - 1) / 2^highest ('exponential'); 0 or 1 with `rel`, the lowest grade
    that counts; or the value in `gains`. Grades that `gains` does not name are their own gain, and all gains
    are divided by the largest if that is above 1: what trec_eval intends (version 10 normalizes with two
    numbers that it never sets). With scale 'topic' the highest grade is that of the topic's own judgments. A
    better grade can then lower the value, because it can change the reference of all gains; the claims hold
    for scale 'judgments'.
    """
    worth = rbp_gain(run.judgments, run.grade, rel, gain, gains, run.topic if scale == "topic" else None)
    return _attended(run, worth, p, k)


def _attended(run: Ranking, gain: Values, p: float, k: Cutoff) -> Values:
    """Sum gain times the share of attention of its rank over the first k documents."""
    if run.ties is None:
        return weighted_sum(run, gain, lambda rank: rbp_weight(rank, p), k)
    return weighted_sum(run, gain, lambda rank: np.power(p, rank - 1, dtype=np.float64), k) * (1 - p)


def rbp_weight(rank: Counts, p: float) -> Values:
    """Return the share of a reader's attention at each of these ranks."""
    return (1 - p) * np.power(p, rank - 1, dtype=np.float64)


def rbp_gain(
    judgments: Judgments,
    grade: Values,
    rel: float | None,
    gain: Literal["linear", "exponential"],
    gains: Gains | None,
    topic: Counts | None = None,
) -> Values:
    """Return gains from 0 to 1 for grades; with `topic`, on each topic's own scale."""
    if (rel is not None) + (gains is not None) + (gain != "linear") > 1:
        raise DataError(
            f"rel={rel}, gain={gain!r} and gains= all define the gain of a grade; give one of them"
        )
    if topic is not None and (rel is not None or gains is not None):
        given = "gains=" if rel is None else f"rel={rel}"
        raise DataError(f"{given} and scale='topic' both define the gain of a grade; give one of them")
    if rel is not None:
        return (grade >= rel).astype(np.float64)
    if gains is None:
        return scale_grades(grade, gain, judgments.highest if topic is None else judgments.best_grades[topic])
    if min(gains.values(), default=0) < 0:
        raise DataError(f"the gain {min(gains.values())} is below 0; RBP needs gains of 0 or more")
    largest = max([1.0, *with_gains(judgments.levels, gains), *gains.values()])
    return with_gains(grade, gains) / largest


@measure("RBPResidual", basis="utility", monotone=False, handles_ties=True, handles_cuts=True)
def rank_biased_precision_residual(
    run: Ranking,
    *,
    k: int | None = None,
    p: float = 0.8,
    part: Literal["both", "unjudged", "tail"] = "both",
) -> Values:
    """Weight of RBP on unjudged documents: how much RBP could still rise.

    It has two parts: the unjudged documents among the first k, and all ranks after them or after the end of
    the ranking, p^min(k, retrieved). A gain is assumed to be at most 1. trec_eval's rbp_resid is the same if
    a ranking has an unjudged document and 0 otherwise, as if it had no tail.
    """
    tail = p ** count_retrieved(run, k).astype(np.float64)
    if part == "tail":
        return tail
    judged = _attended(run, np.ones(len(run.rank)), p, k)
    unjudged = np.maximum(1 - tail - judged, 0)  # rounding could make it negative
    return unjudged if part == "unjudged" else unjudged + tail


@measure("ERR", basis="utility", monotone=True, monotone_in_k=True)
def expected_reciprocal_rank(
    run: Ranking,
    *,
    k: int | None = None,
    max_rel: float | None = None,
    rel: float | None = None,
    gain: ErrGain = "exponential",
    scale: Scale = "judgments",
) -> Values:
    """Expected 1 / rank at which a reader stops who is satisfied by each document with some probability.

    Chapelle et al. (2009), with the gains of Lu et al. (2016), Table 1, as probabilities: (2^g - 1) / 2^max
    ('exponential'), g / max ('linear'), or 1 for grades of at least `rel` and 0 for others ('binary'; rel is
    1 by default, and giving it chooses 'binary'; the value is then that of RR). NTCIREVAL's g / (max + 1) is
    'ntcireval'. max is the highest grade of the judgments, with scale 'topic' of the topic's own, or
    `max_rel` (gdeval always uses 4), to which higher grades are cut. A reader who is never satisfied adds 0.
    With scale 'topic' a better grade can lower the value, as for RBP: the claims hold for scale 'judgments'.
    """
    chance = err_chance(run.judgments, run.topic, run.grade, max_rel, rel, gain, scale)
    chosen = chance > 0
    if k is not None:
        chosen &= run.rank <= k
    hit, satisfied = run.select(chosen), chance[chosen]
    return run.total(hit.topic, satisfied * _still_reading(hit, satisfied) / hit.rank)


def err_chance(
    judgments: Judgments,
    topic: Counts,
    grade: Values,
    max_rel: float | None,
    rel: float | None,
    gain: ErrGain,
    scale: Scale,
) -> Values:
    """Return the probability that documents of these topics and grades satisfy the reader of ERR."""
    if scale == "topic" and max_rel is not None:
        raise DataError(
            f"max_rel={max_rel} and scale='topic' both define the highest grade; give one of them"
        )
    if rel is not None and gain not in ("exponential", "binary"):
        raise DataError(f"rel={rel} and gain={gain!r} both define the gain of a grade; give one of them")
    highest = highest_grade(judgments, topic, scale) if max_rel is None else max_rel
    return satisfaction(grade, highest, rel, gain)


def satisfaction(grade: Values, highest: float | Values, rel: float | None, gain: ErrGain) -> Values:
    """Return the gains of grades as ERR uses them, on a scale that ends at `highest`."""
    if rel is not None or gain == "binary":
        return (grade >= (1 if rel is None else rel)).astype(np.float64)
    cut = np.minimum(grade, highest)
    return cut / (highest + 1) if gain == "ntcireval" else scale_grades(cut, gain, highest)


def _still_reading(hit: Hits, stops: Values) -> Values:
    """Return the probability that no document above made the reader stop, at each document."""
    after = accumulate(np.multiply, 1 - stops, hit.nth)
    before = np.ones(len(after))
    before[1:] = after[:-1]
    return np.where(hit.nth == 1, 1.0, before)


def linear_gains(run: Ranking, min_rel: float, max_rel: float | None) -> Values:
    """Return the gains of all documents: 0 at `min_rel` to 1 at `max_rel`."""
    highest = run.judgments.highest if max_rel is None else max_rel
    if min_rel >= highest:
        raise DataError(f"min_rel={min_rel} must be below the highest grade, {highest}")
    return (np.clip(run.grade, min_rel, highest) - min_rel) / (highest - min_rel)


def gains_above_zero(run: Ranking, k: int, min_rel: float, max_rel: float | None) -> tuple[Hits, Values]:
    """Return the documents of the first k with a gain, and their gains."""
    gain = linear_gains(run, min_rel, max_rel)
    chosen = (gain > 0) & (run.rank <= k)
    return run.select(chosen), gain[chosen]


def rank_numbers(k: int) -> Values:
    """Return the ranks 1 to k."""
    return np.arange(1, k + 1, dtype=np.float64)


def _fixed_weights(run: Ranking, weight: Values, min_rel: float, max_rel: float | None) -> Values:
    """Return the mean gain of the first ranks with fixed weights."""
    gain = linear_gains(run, min_rel, max_rel)
    return weighted_sum(run, gain, lambda rank: weight[rank - 1], len(weight)) / weight.sum()


def _cascade(run: Ranking, weight: Values, min_rel: float, max_rel: float | None) -> Values:
    """Return the mean gain when the weight of a rank falls by the factor 1 - gain after each document.

    Between two documents with a gain only the weights of the ranks change, so a table of their sums gives the
    total.
    """
    hit, gain = gains_above_zero(run, len(weight), min_rel, max_rel)
    reading = _still_reading(hit, gain)
    gained = run.total(hit.topic, gain * reading * weight[hit.rank - 1])
    to_rank = np.concatenate([[0.0], np.cumsum(weight)])
    previous, last = _neighbors(hit)
    total = run.total(hit.topic, reading * (to_rank[hit.rank] - to_rank[previous]))
    after_last = (reading * (1 - gain))[last] * (to_rank[-1] - to_rank[hit.rank[last]])
    return share(gained, total + run.total(hit.topic[last], after_last))


def _neighbors(hit: Hits) -> tuple[Counts, Counts]:
    """Return the rank of the previous document in the topic (0: none), and the last one of each topic."""
    previous = np.zeros(len(hit.rank), np.int64)
    previous[1:] = hit.rank[:-1]
    last = np.append(hit.nth[1:] == 1, True)[: len(hit.nth)].nonzero()[0]
    return np.where(hit.nth == 1, 0, previous), last


@measure("SDCG", basis="utility", monotone=True, additive=True, handles_ties=True)
def scaled_discounted_cumulative_gain(
    run: Ranking,
    *,
    k: int,
    dcg: Literal["log2", "zipf", "jk"] = "log2",
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Values:
    """DCG at k divided by that of k documents of the highest grade, whether they exist or not.

    cwl_eval's nDCG. Gains run from 0 at `min_rel` to 1 at `max_rel` (default: the highest grade of the
    judgments); grades beyond these limits are cut. `dcg` names the discount as for nDCG.
    """
    return _fixed_weights(run, DcgForm(dcg).discount(rank_numbers(k)), min_rel, max_rel)


@measure("INSQ", basis="utility", monotone=True, additive=True, handles_ties=True)
def insq(
    run: Ranking,
    *,
    k: int = 1000,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Values:
    """Mean gain per document of a reader who wants T relevant documents; a larger T means more patience.

    Moffat, Scholer & Thomas (2012): from rank i the reader goes on with probability ((i + 2T - 1) / (i +
    2T))^2, and stops after rank k (cwl_eval: 1000). Gains as for SDCG.
    """
    return _fixed_weights(run, insq_weights(k, T), min_rel, max_rel)


def insq_weights(k: int, wanted: float) -> Values:
    """Return how likely the reader of INSQ is to reach each rank, before normalization."""
    return (2 * wanted / (rank_numbers(k) + 2 * wanted - 1)) ** 2


@measure("INST", basis="utility", monotone=True)
def inst(
    run: Ranking,
    *,
    k: int = 1000,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Values:
    """Mean gain per document of a reader who wants T relevant documents and stops sooner the more are found.

    Moffat, Bailey, Scholer & Thomas (2015): from rank i the reader goes on with probability ((a - 1) / a)^2,
    a = i + 2T - gain so far, and stops after rank k (cwl_eval: 1000). Gains as for SDCG. A better grade never
    lowers the value for T of at least 1; for a much smaller T it can.
    """
    from scipy.special import zeta

    hit, gain = gains_above_zero(run, k, min_rel, max_rel)
    previous, last = _neighbors(hit)
    a = hit.rank + 2 * T - accumulate(np.add, gain, hit.nth)
    # Over ranks without gain, a grows by 1 from rank to rank, and in a product of (a - 1) / a all but the
    # ends cancel. So the square root of a weight is a head, which changes only at gains, divided by the a of
    # the rank before; and the weights between two gains sum to a difference of zeta(2, a) = 1 / a^2 + 1 / (a
    # + 1)^2 + ...
    a_before = a - 1 + gain
    head = 2 * T * accumulate(np.multiply, (a - 1) / a_before, hit.nth)
    head_before = np.where(hit.nth == 1, 2.0 * T, np.roll(head, 1))
    gained = run.total(hit.topic, gain * (head_before / a_before) ** 2)
    stretch = zeta(2, a_before + 1 - (hit.rank - previous)) - zeta(2, a_before + 1)
    after_last = zeta(2, a[last]) - zeta(2, a[last] + k - hit.rank[last])
    total = run.total(hit.topic, head_before**2 * stretch)
    return share(gained, total + run.total(hit.topic[last], head[last] ** 2 * after_last))


@measure("BPM", basis="utility", monotone=False)
def bejeweled_player_model(
    run: Ranking,
    *,
    k: int,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Values:
    """Mean gain per document of a reader who stops once T is gained, or after k documents.

    Zhang et al. (2017), the static model with linear gains as for SDCG. A better grade can lower the value:
    the reader may stop before an even better document.
    """
    hit, gain = gains_above_zero(run, k, min_rel, max_rel)
    gained = accumulate(np.add, gain, hit.nth)
    enough = gained >= T * (1 - 1e-12)  # sums of thirds and the like reach T only up to rounding
    first = enough & ~np.where(hit.nth == 1, False, np.roll(enough, 1))
    stop = np.full(len(run.topics), k)
    stop[hit.topic[first]] = hit.rank[first]
    seen = hit.rank <= stop[hit.topic]
    return run.total(hit.topic[seen], gain[seen]) / stop


@measure("NERR8", basis="utility", monotone=True)
def nearly_err_truncated(run: Ranking, *, k: int, min_rel: float = 0, max_rel: float | None = None) -> Values:
    """Mean gain per document of a reader who stops after each with the probability of its gain, or at rank k.

    Azzopardi, Mackenzie & Moffat (2021), Equation 8. Gains as for SDCG.
    """
    return _cascade(run, np.ones(k), min_rel, max_rel)


@measure("NERR9", basis="utility", monotone=True)
def nearly_err_discounted(
    run: Ranking, *, k: int, min_rel: float = 0, max_rel: float | None = None
) -> Values:
    """Like NERR8, for a reader who also gives up after rank i with probability 1 / (i + 1).

    Azzopardi, Mackenzie & Moffat (2021), Equation 9.
    """
    return _cascade(run, 1 / rank_numbers(k), min_rel, max_rel)


@measure("NERR10", basis="utility", monotone=True)
def nearly_err_patient(
    run: Ranking, *, k: int = 1000, p: float = 0.9, min_rel: float = 0, max_rel: float | None = None
) -> Values:
    """Like NERR8, for a reader who also gives up after each document with probability 1 - p.

    Azzopardi, Mackenzie & Moffat (2021), Equation 10; the reader stops after rank k (cwl_eval: 1000).
    """
    return _cascade(run, p ** (rank_numbers(k) - 1), min_rel, max_rel)


@measure("NERR11", basis="utility", monotone=True)
def nearly_err_goal(
    run: Ranking,
    *,
    k: int = 1000,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Values:
    """Like NERR8, for a reader who also gives up like that of INSQ, wanting T documents.

    Azzopardi, Mackenzie & Moffat (2021), Equation 11; the reader stops after rank k (cwl_eval: 1000).
    """
    return _cascade(run, insq_weights(k, T), min_rel, max_rel)
