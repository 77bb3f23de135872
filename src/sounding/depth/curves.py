"""Values at every cut-off from 1 to a depth, from one pass over a ranking.

`@curve("Name")` registers the cumulative form of a measure: a function from a ranking and a depth to a
table (k, topic), with the measure's parameters but k. A measure without one is evaluated once for each k,
which is also what the tests hold every form against.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from sounding.bounds.unjudged import filled, scale
from sounding.bounds.utility import endless, thawed
from sounding.errors import DataError, SoundingError
from sounding.measures import Measure, parse_measures
from sounding.measures.binary import Norm, pool_of_depth
from sounding.measures.graded import Dcg, DcgForm, Gains, ideal_dcg_of, ideal_order, scaled, with_gains
from sounding.measures.utility import gains_above_zero, insq_weights, rank_numbers, rbp_gain, rbp_weight
from sounding.ranking import Counts, Judgments, Ranking, Values

Table = NDArray[np.float64]  # (k, topic): row i holds what the first i + 1 ranks give
Curve = Callable[..., Table]

_CURVES: dict[str, Curve] = {}


def curve(*names: str) -> Callable[[Curve], Curve]:
    """Register the cumulative form of these measures."""

    def register(function: Curve) -> Curve:
        for name in names:
            if name in _CURVES:
                raise ValueError(f"two functions give the curve of {name!r}")
            _CURVES[name] = function
        return function

    return register


def has_curve(name: str) -> bool:
    """Whether a measure has a cumulative form of its own."""
    return name in _CURVES


def families(texts: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """The measures that texts name, each cut at 1: depths are put to them later.

    A measure that names its cut-off, or has none, cannot be looked at over depth.
    """
    found: dict[Measure, None] = {}
    for text in texts:
        found[_family(text)] = None
    return tuple(found)


def _family(text: str | Measure) -> Measure:
    named = str(text)
    measure = None if "@" in named else _single(f"{named}@1") or _single(text)
    if measure is None:
        known = parse_measures([text])  # an unknown name is refused with the nearest
        example = str(known[0]).partition("@")[0]
        raise DataError(f"{named}: depths are put to measures without a cut-off; give {example} and --depths")
    if measure.definition.at != "k" or not measure.definition.takes("k"):
        raise DataError(f"{named} has no cut-off, and no values over depth; give measures such as AP or RBP")
    return measure.replace(k=1)


def _single(text: str | Measure) -> Measure | None:
    """The one measure that a text names; None: it names several, or none."""
    try:
        found = parse_measures([text])
    except SoundingError:
        return None
    return found[0] if len(found) == 1 else None


def name_of(measure: Measure) -> str:
    """The name of a family: the measure without its cut-off."""
    return str(measure).partition("@")[0]


def values_at_every_k(measure: Measure, ranking: Ranking, depth: int) -> Table:
    """(k, topic): the value of the measure cut at every k from 1 to `depth`."""
    if not has_curve(measure.name) or ranking.ties is not None:
        return values_once_per_k(measure, ranking, range(1, depth + 1))
    parameters = _parameters(measure)
    try:
        return _CURVES[measure.name](seen_by(measure, ranking), depth, **parameters)
    except _NoCumulativeFormError:
        return values_once_per_k(measure, ranking, range(1, depth + 1))


def values_once_per_k(measure: Measure, ranking: Ranking, ks: Sequence[int]) -> Table:
    """(k, topic): the measure evaluated anew for each of these cut-offs."""
    return np.array([measure.replace(k=k)(ranking) for k in ks]).reshape(len(ks), len(ranking.topics))


def seen_by(measure: Measure, ranking: Ranking) -> Ranking:
    """The ranking as the kernel of a measure sees it: condensed, or with all judged documents relevant."""
    if measure.get("assessed"):
        ranking = ranking.assessed()
    return ranking.condensed() if measure.get("judged_only") else ranking


def _parameters(measure: Measure) -> dict[str, Any]:
    """The parameters that differ from their default, without the cut-off."""
    shared = ("k", "assessed", "judged_only")
    return {
        key: dict(value) if isinstance(value, tuple) else value
        for key, value in measure.parameters
        if key not in shared
    }


class _NoCumulativeFormError(Exception):
    """With these parameters the values at one k do not follow from those above."""


# -- sums down a ranking ---------------------------------------------------------------------------


def _placed(topic: Counts, rank: Counts, weight: Values | None, depth: int, topics: int) -> Table:
    """(rank, topic): the weights (default: 1 each) where they stand, as far as `depth`."""
    near = rank <= depth
    place = (rank[near] - 1) * topics + topic[near]
    weights = None if weight is None else weight[near]
    return np.bincount(place, weights, depth * topics).astype(np.float64, copy=False).reshape(depth, topics)


def _summed(run: Ranking, topic: Counts, rank: Counts, weight: Values | None, depth: int) -> Table:
    """(k, topic): the sum of the weights of documents down to every k."""
    placed = _placed(topic, rank, weight, depth, len(run.topics))
    return np.cumsum(placed, axis=0, out=placed)


def _found(run: Ranking, depth: int, rel: float) -> Table:
    """(k, topic): relevant documents among the first k."""
    hit = run.hits(rel, depth)
    return _summed(run, hit.topic, hit.rank, None, depth)


def _judged(run: Ranking, depth: int) -> Table:
    """(k, topic): judged documents among the first k."""
    return _summed(run, run.topic, run.rank, None, depth)


def _cuts(depth: int) -> NDArray[np.int64]:
    """(k, 1): every cut-off."""
    return np.arange(1, depth + 1)[:, np.newaxis]


def _looked_at(run: Ranking, depth: int) -> NDArray[np.int64]:
    """(k, topic): how many documents there are among the first k ranks."""
    return np.minimum(run.retrieved, _cuts(depth))


def _share(gained: Table, possible: NDArray[Any]) -> Table:
    """The quotient; 0 where nothing was possible."""
    possible = np.broadcast_to(possible, gained.shape)
    return np.divide(gained, possible, out=np.zeros(gained.shape), where=possible > 0)


# -- relevant or not -------------------------------------------------------------------------------


@curve("P")
def precision(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Relevant documents found so far, by k."""
    return _found(run, depth, rel) / _cuts(depth)


@curve("R")
def recall(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Relevant documents found so far, by R."""
    return _share(_found(run, depth, rel), run.relevant(rel))


@curve("RelP")
def relative_precision(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Relevant documents found so far, by min(k, R)."""
    return _share(_found(run, depth, rel), np.minimum(_cuts(depth), run.relevant(rel)))


@curve("F")
def f_measure(run: Ranking, depth: int, *, rel: float = 1, beta: float = 1.0) -> Table:
    """F from the same count."""
    return _share((beta + 1) * _found(run, depth, rel), beta * run.relevant(rel) + _cuts(depth))


@curve("Success")
def success(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """1 from the first relevant document on."""
    return np.minimum(_found(run, depth, rel), 1.0)


@curve("RR")
def reciprocal_rank(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """The reciprocal rank from the first relevant document on."""
    hit = run.hits(rel, depth)
    first = hit.nth == 1
    return _summed(run, hit.topic[first], hit.rank[first], 1 / hit.rank[first], depth)


@curve("AP")
def average_precision(run: Ranking, depth: int, *, rel: float = 1, norm: Norm = "a") -> Table:
    """Precisions at the relevant documents so far, by R, min(k, R) or R_k."""
    hit = run.hits(rel, depth)
    gained = _summed(run, hit.topic, hit.rank, hit.nth / hit.rank, depth)
    return _share(gained, _relevant_by_norm(run, depth, rel, norm, "AP"))


def _relevant_by_norm(run: Ranking, depth: int, rel: float, norm: Norm, name: str) -> NDArray[Any]:
    """What a truncated measure is averaged over: (topic,), or (k, topic) where it depends on k."""
    if norm == "a":
        return run.relevant(rel)
    if norm == "b":
        return np.minimum(run.relevant(rel), _cuts(depth))
    judgments = run.judgments
    ranks = _pool_ranks(judgments, depth, f"{name} with norm='c'")
    pooled = (ranks > 0) & (judgments.grades >= rel)
    return _summed(run, judgments.topic[pooled], ranks[pooled], None, depth)


def _pool_ranks(judgments: Judgments, depth: int, option: str) -> Counts:
    """(judgment,): the rank at which each was pooled; 0: not in a pool of this depth."""
    inside = pool_of_depth(judgments, depth, option).astype(np.int64)
    return inside if judgments.pool_ranks is None else judgments.pool_ranks * inside


@curve("Accuracy")
def pair_accuracy(run: Ranking, depth: int, *, rel: float = 1) -> Table:
    """Pairs in the right order so far."""
    hit = run.hits(rel, depth)
    found = _summed(run, hit.topic, hit.rank, None, depth)
    misplaced = _summed(run, hit.topic, hit.rank, (hit.rank - hit.nth).astype(np.float64), depth)
    others = _looked_at(run, depth) - found
    return np.where(found > 0, 1 - _share(misplaced, found * others), 0.0)


@curve("Judged")
def judged(run: Ranking, depth: int) -> Table:
    """Judged documents so far, by k or by the length of the list."""
    return _share(_judged(run, depth), _looked_at(run, depth))


@curve("Unjudged")
def unjudged(run: Ranking, depth: int) -> Table:
    """Unjudged documents so far, by k."""
    return (_looked_at(run, depth) - _judged(run, depth)) / _cuts(depth)


# -- grades ----------------------------------------------------------------------------------------


@curve("DCG")
def discounted_cumulative_gain(
    run: Ranking, depth: int, *, dcg: Dcg = "log2", gains: Gains | None = None, rel: float | None = None
) -> Table:
    """Discounted gains so far."""
    form = DcgForm(dcg, gains, rel)
    return _summed(run, run.topic, run.rank, form.gain(run.grade) * form.discount(run.rank), depth)


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
    return _share(discounted_cumulative_gain(run, depth, dcg=dcg, gains=gains, rel=rel), best)


def _ideal_dcg(judgments: Judgments, depth: int, form: DcgForm, norm: str) -> Table:
    """(k, topic): the largest DCG at every k; with norm 'b' of the documents that a pool of depth k has."""
    pool, changing = None, 0
    if norm == "b":
        ranks = _pool_ranks(judgments, depth, "nDCG with norm='b'")
        pool, changing = ranks > 0, int(ranks.max(initial=0))
    best = ideal_order(judgments, form.gain(judgments.grades), pool)
    weight = best.gain * form.discount(best.place)
    placed = _placed(best.topic, best.place, weight, depth, len(judgments.topics))
    table = np.cumsum(placed, axis=0)
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
) -> Table:
    """Blended precisions so far; where the best order changes with k, there is no such form.

    Nor is there one for parameters that contradict each other: the measure itself refuses them.
    """
    if ideal == "ii" or (gains is not None and gain != "grade"):
        raise _NoCumulativeFormError
    judgments = run.judgments

    def worth(grade: Values) -> Values:
        if gain != "grade":
            return scaled(grade, gain, judgments.highest)
        return grade if gains is None else with_gains(grade, gains)

    def most() -> Table:
        best = ideal_order(judgments, worth(judgments.grades))
        return np.cumsum(_placed(best.topic, best.place, best.gain, depth, len(judgments.topics)), axis=0)

    best = judgments.remember(("q at every k", depth, gain, DcgForm(gains=gains).key), most)
    hit = run.hits(rel, depth)
    relevant = _placed(hit.topic, hit.rank, None, depth, len(run.topics))
    gained = _summed(run, run.topic, run.rank, worth(run.grade), depth)
    blend = relevant * (np.cumsum(relevant, axis=0) + beta * gained) / (_cuts(depth) + beta * best)
    return _share(np.cumsum(blend, axis=0), _relevant_by_norm(run, depth, rel, norm, "Q"))


# -- readers who stop somewhere --------------------------------------------------------------------


@curve("RBP")
def rank_biased_precision(
    run: Ranking,
    depth: int,
    *,
    p: float = 0.8,
    rel: float | None = None,
    gain: Literal["linear", "exponential"] = "linear",
    gains: Gains | None = None,
) -> Table:
    """Weighted gains so far."""
    worth = rbp_gain(run.judgments, run.grade, rel, gain, gains)
    return _summed(run, run.topic, run.rank, worth * rbp_weight(run.rank, p), depth)


@curve("RBPResidual")
def rank_biased_precision_residual(
    run: Ranking, depth: int, *, p: float = 0.8, part: Literal["both", "unjudged", "tail"] = "both"
) -> Table:
    """Weight of unjudged documents so far, and of all ranks beyond."""
    tail = np.power(p, _looked_at(run, depth).astype(np.float64))
    if part == "tail":
        return tail
    judged = _summed(run, run.topic, run.rank, rbp_weight(run.rank, p), depth)
    unjudged = np.maximum(1 - tail - judged, 0)  # rounding could leave less than nothing
    return unjudged if part == "unjudged" else unjudged + tail


@curve("ERR")
def expected_reciprocal_rank(
    run: Ranking,
    depth: int,
    *,
    max_rel: float | None = None,
    gain: Literal["exponential", "linear"] = "exponential",
) -> Table:
    """Chances to stop so far, each by its rank."""
    satisfied = _satisfied_at(run, depth, max_rel, gain)
    return np.cumsum(satisfied * _reading(satisfied) / _cuts(depth), axis=0)


def _satisfied_at(
    run: Ranking, depth: int, max_rel: float | None, gain: Literal["exponential", "linear"]
) -> Table:
    """(rank, topic): the chance that the document there satisfies the reader of ERR."""
    highest = run.judgments.highest if max_rel is None else max_rel
    grade = np.minimum(run.grade, highest)
    chance = scaled(grade, "exponential", highest) if gain == "exponential" else grade / (highest + 1)
    return _placed(run.topic, run.rank, chance, depth, len(run.topics))


def _reading(stops: Table) -> Table:
    """(rank, topic): the chance that the reader gets there, who stops at each rank with such a chance."""
    reading = np.ones(stops.shape)
    np.cumprod(1 - stops[:-1], axis=0, out=reading[1:])
    return reading


def _gains(run: Ranking, depth: int, min_rel: float, max_rel: float | None) -> Table:
    """(rank, topic): gains from 0 at `min_rel` to 1 at `max_rel`."""
    hit, gain = gains_above_zero(run, depth, min_rel, max_rel)
    return _placed(hit.topic, hit.rank, gain, depth, len(run.topics))


def _mean_gain(weight: Table | Values, gain: Table) -> Table:
    """(k, topic): the mean gain down to every k when ranks have these weights."""
    weights = np.broadcast_to(weight if weight.ndim == 2 else weight[:, np.newaxis], gain.shape)
    return _share(np.cumsum(weights * gain, axis=0), np.cumsum(weights, axis=0))


@curve("SDCG")
def scaled_discounted_cumulative_gain(
    run: Ranking,
    depth: int,
    *,
    dcg: Literal["log2", "zipf", "jk"] = "log2",
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Table:
    """Mean gain under the discounts as weights."""
    return _mean_gain(DcgForm(dcg).discount(rank_numbers(depth)), _gains(run, depth, min_rel, max_rel))


@curve("INSQ")
def insq(
    run: Ranking,
    depth: int,
    *,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Table:
    """Mean gain under the weights of INSQ."""
    return _mean_gain(insq_weights(depth, T), _gains(run, depth, min_rel, max_rel))


@curve("INST")
def inst(
    run: Ranking,
    depth: int,
    *,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Table:
    """Mean gain of a reader who goes on with chance ((a - 1) / a)^2, a = i + 2T - gained so far."""
    gain = _gains(run, depth, min_rel, max_rel)
    a = _cuts(depth) + 2 * T - np.cumsum(gain, axis=0)
    return _mean_gain(_reading(1 - ((a - 1) / a) ** 2), gain)


@curve("BPM")
def bejeweled_player_model(
    run: Ranking,
    depth: int,
    *,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Table:
    """Mean gain as far as the reader goes, who stops where T is gained."""
    gain = _gains(run, depth, min_rel, max_rel)
    gained = np.cumsum(gain, axis=0)
    enough = gained >= T * (1 - 1e-12)  # sums of thirds and the like reach T but for rounding
    going = np.ones(enough.shape, np.bool_)
    going[1:] = ~enough[:-1]
    return np.cumsum(gain * going, axis=0) / np.cumsum(going, axis=0)


@curve("NERR8")
def nearly_err_truncated(
    run: Ranking, depth: int, *, min_rel: float = 0, max_rel: float | None = None
) -> Table:
    """Mean gain of a reader who stops with the chance of each gain."""
    return _cascade(run, np.ones(depth), min_rel, max_rel)


@curve("NERR9")
def nearly_err_discounted(
    run: Ranking, depth: int, *, min_rel: float = 0, max_rel: float | None = None
) -> Table:
    """The same with weights 1 / rank."""
    return _cascade(run, 1 / rank_numbers(depth), min_rel, max_rel)


@curve("NERR10")
def nearly_err_patient(
    run: Ranking, depth: int, *, p: float = 0.9, min_rel: float = 0, max_rel: float | None = None
) -> Table:
    """The same with weights p^(rank - 1)."""
    return _cascade(run, p ** (rank_numbers(depth) - 1), min_rel, max_rel)


@curve("NERR11")
def nearly_err_goal(
    run: Ranking,
    depth: int,
    *,
    T: float = 1,  # noqa: N803
    min_rel: float = 0,
    max_rel: float | None = None,
) -> Table:
    """The same with the weights of INSQ."""
    return _cascade(run, insq_weights(depth, T), min_rel, max_rel)


def _cascade(run: Ranking, weight: Values, min_rel: float, max_rel: float | None) -> Table:
    gain = _gains(run, len(weight), min_rel, max_rel)
    return _mean_gain(weight[:, np.newaxis] * _reading(gain), gain)


# -- what was not seen -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """What a value could still rise by, (k, topic) each."""

    unjudged: Table  # if the unjudged documents among the first k had the best grade
    tail: Table  # by documents at ranks beyond k, or beyond the end of the list


def residuals_at_every_k(measure: Measure, ranking: Ranking, depth: int) -> Residuals | None:
    """The residual of RBP and ERR in its two parts at every k; None: the measure has none.

    A ranking without its unjudged documents has none either: its value is not that of any completion.
    """
    if measure.name not in _RESIDUALS or measure.get("assessed") or measure.get("judged_only"):
        return None
    return _RESIDUALS[measure.name](measure, ranking, depth)


def _rbp_residuals(measure: Measure, run: Ranking, depth: int) -> Residuals | None:
    rel, gain, gains = measure.get("rel"), measure.get("gain"), thawed(measure, "gains")
    best = float(rbp_gain(run.judgments, scale(run.judgments, rel), rel, gain, gains).max())
    if best > 1:  # a grade that no judgment has would change what gains are divided by
        return None
    p = measure.get("p")
    unjudged = rank_biased_precision_residual(run, depth, p=p, part="unjudged")
    return Residuals(best * unjudged, best * rank_biased_precision_residual(run, depth, p=p, part="tail"))


def _err_residuals(measure: Measure, run: Ranking, depth: int) -> Residuals:
    max_rel, gain = measure.get("max_rel"), measure.get("gain")
    highest = run.judgments.highest
    most = filled(run, depth, highest, run.retrieved)
    stops = _satisfied_at(most, depth, max_rel, gain)
    value, upper = (expected_reciprocal_rank(one, depth, max_rel=max_rel, gain=gain) for one in (run, most))
    top = highest if max_rel is None else max_rel
    least = np.array([min(highest, top)])
    best = float((scaled(least, "exponential", top) if gain == "exponential" else least / (top + 1))[0])
    still_reading = np.cumprod(1 - stops, axis=0)
    beyond = endless(best, np.arange(depth + 1, dtype=np.float64))[_looked_at(run, depth)]
    return Residuals(upper - value, still_reading * beyond)


_RESIDUALS: Mapping[str, Callable[[Measure, Ranking, int], Residuals | None]] = {
    "RBP": _rbp_residuals,
    "ERR": _err_residuals,
}


def rank_weights(measure: Measure, k: int) -> Values | None:
    """(rank,): the share that each of the first k ranks has in the value; None: it depends on the ranking.

    RBP's ranks beyond k keep their share, so it sums to 1 - p^k. DCG's are the discounts themselves. The
    shares of nDCG are those of a topic with k documents of the best grade or more.
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
