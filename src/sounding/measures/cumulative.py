"""Compute the value of a measure at every cut-off in one pass over a ranking, and its residual.

Kernels that `handles_cuts` return these values themselves; this module covers the other measures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures import Measure, definition, parse_measures
from sounding.measures.binary import Norm, relevant_by_norm
from sounding.measures.bounds.registry import fill_unjudged, scale
from sounding.measures.bounds.utility import endless
from sounding.measures.graded import DcgForm, Gains, QGain, Scale, ideal_order, q_gain
from sounding.measures.grammar import single_measure
from sounding.measures.totals import count_retrieved, every_cut, place_weights, share, total
from sounding.measures.utility import (
    ErrGain,
    err_chance,
    insq_weights,
    linear_gains,
    rank_biased_precision_residual,
    rank_numbers,
    rbp_gain,
    rbp_weight,
    satisfaction,
)
from sounding.runs.ranking import Ranking, Values

Table = NDArray[np.float64]  # (k, topic): row i holds the values for the first i + 1 ranks


def _q_measure(
    run: Ranking,
    depth: int,
    *,
    beta: float,
    rel: float,
    gain: QGain,
    gains: Gains | None,
    norm: Norm,
    ideal: Literal["i", "ii"],
    scale: Scale,
) -> Table | None:
    """Accumulate the blended precisions; None if the ideal order changes with k.

    Contradictory parameters give None too: the measure itself refuses them.
    """
    if ideal == "ii" or (gains is not None and gain != "grade") or (gain == "grade" and scale == "topic"):
        return None
    judgments, k = run.judgments, every_cut(depth)

    def most() -> Table:
        own = q_gain(judgments, judgments.grades, judgments.topic, gain, gains, scale)
        best = ideal_order(judgments, own)
        return np.cumsum(
            place_weights(best.topic, best.place, best.gain, depth, len(judgments.topics)), axis=0
        )

    best = judgments.remember(("q at every k", depth, gain, scale, DcgForm(gains=gains).key), most)
    hit = run.hits(rel, depth)
    relevant = place_weights(hit.topic, hit.rank, None, depth, len(run.topics))
    worth = q_gain(judgments, run.grade, run.topic, gain, gains, scale)
    gained = total(run, run.topic, run.rank, worth, k)
    blend = relevant * (np.cumsum(relevant, axis=0) + beta * gained) / (k + beta * best)
    return share(np.cumsum(blend, axis=0), relevant_by_norm(run, k, rel, norm, "Q"))


def _expected_reciprocal_rank(
    run: Ranking, depth: int, *, max_rel: float | None, rel: float | None, gain: ErrGain, scale: Scale
) -> Table:
    """Accumulate the probability of stopping at each rank, divided by the rank."""
    satisfied = _satisfied_at(run, depth, max_rel, rel, gain, scale)
    return np.cumsum(satisfied * _reading(satisfied) / every_cut(depth), axis=0)


def _satisfied_at(
    run: Ranking, depth: int, max_rel: float | None, rel: float | None, gain: ErrGain, scale: Scale
) -> Table:
    """(rank, topic): Return the probability that the document there satisfies the reader of ERR."""
    chance = err_chance(run.judgments, run.topic, run.grade, max_rel, rel, gain, scale)
    return place_weights(run.topic, run.rank, chance, depth, len(run.topics))


def _reading(stops: Table) -> Table:
    """(rank, topic): Return the probability of reaching a rank, given the probabilities of stopping."""
    reading = np.ones(stops.shape)
    np.cumprod(1 - stops[:-1], axis=0, out=reading[1:])
    return reading


def _mean_gain(weight: Table | Values, gain: Table) -> Table:
    """(k, topic): Return the mean gain down to every k, with these weights of ranks."""
    weights = np.broadcast_to(weight if weight.ndim == 2 else weight[:, np.newaxis], gain.shape)
    return share(np.cumsum(weights * gain, axis=0), np.cumsum(weights, axis=0))


def _cascade(weight: Values, gain: Table) -> Table:
    """Return the mean gain of a reader who stops with the probability of each gain, given rank weights."""
    return _mean_gain(weight[:, np.newaxis] * _reading(gain), gain)


def _inst(gain: Table, *, T: float) -> Table:  # noqa: N803
    """Return the mean gain if the reader goes on with probability ((a-1) / a)^2, a = i + 2T - gain so far."""
    a = every_cut(len(gain)) + 2 * T - np.cumsum(gain, axis=0)
    return _mean_gain(_reading(1 - ((a - 1) / a) ** 2), gain)


def _bejeweled_player_model(gain: Table, *, T: float) -> Table:  # noqa: N803
    """Return the mean gain of a reader who stops once T is gained."""
    gained = np.cumsum(gain, axis=0)
    enough = gained >= T * (1 - 1e-12)  # sums of thirds and the like reach T only up to rounding
    going = np.ones(enough.shape, np.bool_)
    going[1:] = ~enough[:-1]
    return np.cumsum(gain * going, axis=0) / np.cumsum(going, axis=0)


# Functions of a ranking and a depth, and functions of the gains of its documents, (rank, topic), which range
# from 0 at `min_rel` to 1 at `max_rel`. Both receive the measure's other parameters.
_CURVES: Mapping[str, Callable[..., Table | None]] = {"Q": _q_measure, "ERR": _expected_reciprocal_rank}
_GAIN_CURVES: Mapping[str, Callable[..., Table]] = {
    "SDCG": lambda gain, *, dcg: _mean_gain(DcgForm(dcg).discount(rank_numbers(len(gain))), gain),
    "INSQ": lambda gain, *, T: _mean_gain(insq_weights(len(gain), T), gain),  # noqa: N803
    "INST": _inst,
    "BPM": _bejeweled_player_model,
    "NERR8": lambda gain: _cascade(np.ones(len(gain)), gain),
    "NERR9": lambda gain: _cascade(1 / rank_numbers(len(gain)), gain),
    "NERR10": lambda gain, *, p: _cascade(p ** (rank_numbers(len(gain)) - 1), gain),
    "NERR11": lambda gain, *, T: _cascade(insq_weights(len(gain), T), gain),  # noqa: N803
}


def has_curve(name: str) -> bool:
    """Return whether a measure has its own cumulative form."""
    return name in _CURVES or name in _GAIN_CURVES or definition(name).handles_cuts


def measures_over_depth(texts: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """Parse measures for a study over depth, each cut at 1; the depths are set later.

    A measure with a fixed cut-off, or without the parameter, cannot be studied over depth.
    """
    found: dict[Measure, None] = {}
    for text in texts:
        found[_over_depth(text)] = None
    return tuple(found)


def _over_depth(text: str | Measure) -> Measure:
    named = str(text)
    measure = None if "@" in named else single_measure(f"{named}@1") or single_measure(text)
    if measure is None:
        known = parse_measures([text])  # an unknown name is refused with the most similar one
        example = str(known[0]).partition("@")[0]
        raise DataError(f"{named}: --depths sets the cut-off itself; give {example} and --depths")
    if measure.definition.at != "k" or not measure.definition.takes("k"):
        raise DataError(f"{named} has no cut-off, so no values over depth; use measures such as AP or RBP")
    return measure.replace(k=1)


def names_as_typed(texts: Sequence[str | Measure]) -> dict[Measure, str]:
    """Map each measure, cut at 1, to its name as typed, including parameters that equal their defaults.

    A user who asks for RBP(p=0.8) finds it under that name, although it equals RBP.
    """
    found = {}
    for text in texts:
        measure, typed = _over_depth(text), "".join(str(text).split())
        found[measure] = typed if typed.startswith(f"{measure.name}(") else name_of(measure)
    return found


def name_of(measure: Measure) -> str:
    """Return the name of a family: the measure without its cut-off."""
    return str(measure).partition("@")[0]


def values_at(measure: Measure, ranking: Ranking, ks: NDArray[np.int64]) -> Table:
    """(k, topic): Return the values of the measure at each of these ascending cut-offs."""
    whole = _down_to(measure, ranking, int(ks[-1]))
    if whole is None:
        return values_once_per_k(measure, ranking, ks.tolist())
    return whole if len(ks) == len(whole) else whole[ks - 1]


def _down_to(measure: Measure, ranking: Ranking, depth: int) -> Table | None:
    """(k, topic): Return the value at every k to `depth`; None if there is no cumulative form here."""
    if not has_curve(measure.name) or ranking.ties is not None:
        return None
    run, arguments = measure.seen(ranking), measure.arguments
    if measure.definition.handles_cuts:
        return measure.definition.kernel(run, **arguments | {"k": every_cut(depth)})
    del arguments["k"]
    if measure.name in _CURVES:
        return _CURVES[measure.name](run, depth, **arguments)
    gain = linear_gains(run, arguments.pop("min_rel"), arguments.pop("max_rel"))
    return _GAIN_CURVES[measure.name](
        place_weights(run.topic, run.rank, gain, depth, len(run.topics)), **arguments
    )


def values_once_per_k(measure: Measure, ranking: Ranking, ks: Sequence[int]) -> Table:
    """(k, topic): Evaluate the measure separately for each of these cut-offs."""
    return np.array([measure.replace(k=k)(ranking) for k in ks]).reshape(len(ks), len(ranking.topics))


def rank_weights(measure: Measure, k: int) -> Values | None:
    """(rank,): Return the share of each of the first k ranks in the value; None if it depends on the ranking.

    In RBP, ranks beyond k keep their share, so the sum is 1 - p^k. For DCG these are the discounts. For nDCG
    the shares are those of a topic with at least k documents of the best grade.
    """
    known = _WEIGHTS.get(measure.name)
    return None if known is None else known(measure, k)


def _discounts(measure: Measure, k: int) -> Values:
    return DcgForm(measure.get("dcg")).discount(rank_numbers(k))


def _summing_to_one(weight: Values) -> Values:
    return weight / weight.sum()


_WEIGHTS: Mapping[str, Callable[[Measure, int], Values]] = {
    "P": lambda measure, k: np.full(k, 1 / k),
    "RBP": lambda measure, k: rbp_weight(np.arange(1, k + 1), measure.get("p")),
    "DCG": _discounts,
    "nDCG": lambda measure, k: _summing_to_one(_discounts(measure, k)),
    "SDCG": lambda measure, k: _summing_to_one(_discounts(measure, k)),
    "INSQ": lambda measure, k: _summing_to_one(insq_weights(k, measure.get("T"))),
}


# -- residuals -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """Amounts by which a value could still rise, (k, topic) each."""

    unjudged: Table  # if the unjudged documents among the first k had the best grade
    tail: Table  # by documents at ranks beyond k, or beyond the end of the list


def residuals_at_every_k(measure: Measure, ranking: Ranking, depth: int) -> Residuals | None:
    """Return the two parts of the residual of RBP and ERR at every k; None for other measures.

    A condensed ranking has no residual, because its value is not that of any completion. Neither has a
    topic's own scale, because an unjudged document could change it.
    """
    if measure.name not in _RESIDUALS or measure.get("assessed") or measure.get("judged_only"):
        return None
    if measure.get("scale") == "topic":
        return None
    return _RESIDUALS[measure.name](measure, ranking, depth)


def _rbp_residuals(measure: Measure, run: Ranking, depth: int) -> Residuals | None:
    rel, gain, gains = measure.get("rel"), measure.get("gain"), measure.arguments["gains"]
    best = float(rbp_gain(run.judgments, scale(run.judgments, rel), rel, gain, gains).max())
    if best > 1:  # a grade that no judgment has would change the divisor of gains
        return None
    unjudged, tail = (
        rank_biased_precision_residual(run, k=every_cut(depth), p=measure.get("p"), part=part)
        for part in ("unjudged", "tail")
    )
    return Residuals(best * unjudged, best * tail)


def _err_residuals(measure: Measure, run: Ranking, depth: int) -> Residuals:
    max_rel, rel, gain = measure.get("max_rel"), measure.get("rel"), measure.get("gain")
    highest = max(rel or 0, run.judgments.highest)
    most = fill_unjudged(run, depth, highest, run.retrieved)
    stops = _satisfied_at(most, depth, max_rel, rel, gain, "judgments")
    value, upper = (
        _expected_reciprocal_rank(one, depth, max_rel=max_rel, rel=rel, gain=gain, scale="judgments")
        for one in (run, most)
    )
    top = highest if max_rel is None else max_rel
    best = float(satisfaction(np.array([highest]), top, rel, gain)[0])
    still_reading = np.cumprod(1 - stops, axis=0)
    beyond = endless(best, np.arange(depth + 1, dtype=np.float64))[count_retrieved(run, every_cut(depth))]
    return Residuals(upper - value, still_reading * beyond)


_RESIDUALS: Mapping[str, Callable[[Measure, Ranking, int], Residuals | None]] = {
    "RBP": _rbp_residuals,
    "ERR": _err_residuals,
}
