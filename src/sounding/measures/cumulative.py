"""Cumulative forms of measures: the value at every cut-off from one pass over a ranking."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.errors import DataError
from sounding.measures import Measure, parse_measures
from sounding.measures.binary import Norm, pool_of_depth
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
from sounding.measures.grammar import single_measure
from sounding.measures.utility import (
    err_chance,
    gains_above_zero,
    insq_weights,
    rank_numbers,
    rbp_gain,
    rbp_weight,
)
from sounding.runs.ranking import Counts, Judgments, Ranking, Values

Table = NDArray[np.float64]  # (k, topic): row i holds what the first i + 1 ranks give
Curve = Callable[..., Table]

CURVES: dict[str, Curve] = {}


def curve(*names: str) -> Callable[[Curve], Curve]:
    """Register the cumulative form of these measures."""

    def register(function: Curve) -> Curve:
        for name in names:
            if name in CURVES:
                raise ValueError(f"two functions give the curve of {name!r}")
            CURVES[name] = function
        return function

    return register


class NoCumulativeFormError(Exception):
    """With these parameters the values at one k do not follow from those above."""


def placed(topic: Counts, rank: Counts, weight: Values | None, depth: int, topics: int) -> Table:
    """(rank, topic): the weights (default: 1 each) where they stand, as far as `depth`."""
    near = rank <= depth
    place = (rank[near] - 1) * topics + topic[near]
    weights = None if weight is None else weight[near]
    return np.bincount(place, weights, depth * topics).astype(np.float64, copy=False).reshape(depth, topics)


def summed(run: Ranking, topic: Counts, rank: Counts, weight: Values | None, depth: int) -> Table:
    """(k, topic): the sum of the weights of documents down to every k."""
    weights = placed(topic, rank, weight, depth, len(run.topics))
    return np.cumsum(weights, axis=0, out=weights)


def found_so_far(run: Ranking, depth: int, rel: float) -> Table:
    """(k, topic): relevant documents among the first k."""
    hit = run.hits(rel, depth)
    return summed(run, hit.topic, hit.rank, None, depth)


def judged_so_far(run: Ranking, depth: int) -> Table:
    """(k, topic): judged documents among the first k."""
    return summed(run, run.topic, run.rank, None, depth)


def cuts(depth: int) -> NDArray[np.int64]:
    """(k, 1): every cut-off."""
    return np.arange(1, depth + 1)[:, np.newaxis]


def looked_at(run: Ranking, depth: int) -> NDArray[np.int64]:
    """(k, topic): how many documents there are among the first k ranks."""
    return np.minimum(run.retrieved, cuts(depth))


def share(gained: Table, possible: NDArray[Any]) -> Table:
    """The quotient; 0 where nothing was possible."""
    possible = np.broadcast_to(possible, gained.shape)
    return np.divide(gained, possible, out=np.zeros(gained.shape), where=possible > 0)


@curve("P")
def precision(run: Ranking, depth: int, *, rel: float) -> Table:
    """Relevant documents found so far, by k."""
    return found_so_far(run, depth, rel) / cuts(depth)


@curve("R")
def recall(run: Ranking, depth: int, *, rel: float) -> Table:
    """Relevant documents found so far, by R."""
    return share(found_so_far(run, depth, rel), run.relevant(rel))


@curve("RelP")
def relative_precision(run: Ranking, depth: int, *, rel: float) -> Table:
    """Relevant documents found so far, by min(k, R)."""
    return share(found_so_far(run, depth, rel), np.minimum(cuts(depth), run.relevant(rel)))


@curve("F")
def f_measure(run: Ranking, depth: int, *, rel: float, beta: float) -> Table:
    """F from the same count."""
    return share((beta + 1) * found_so_far(run, depth, rel), beta * run.relevant(rel) + cuts(depth))


@curve("Success")
def success(run: Ranking, depth: int, *, rel: float) -> Table:
    """1 from the first relevant document on."""
    return np.minimum(found_so_far(run, depth, rel), 1.0)


@curve("RR")
def reciprocal_rank(run: Ranking, depth: int, *, rel: float) -> Table:
    """The reciprocal rank from the first relevant document on."""
    hit = run.hits(rel, depth)
    first = hit.nth == 1
    return summed(run, hit.topic[first], hit.rank[first], 1 / hit.rank[first], depth)


@curve("AP")
def average_precision(run: Ranking, depth: int, *, rel: float, norm: Norm) -> Table:
    """Precisions at the relevant documents so far, by R, min(k, R) or R_k."""
    hit = run.hits(rel, depth)
    gained = summed(run, hit.topic, hit.rank, hit.nth / hit.rank, depth)
    return share(gained, relevant_by_norm(run, depth, rel, norm, "AP"))


def relevant_by_norm(run: Ranking, depth: int, rel: float, norm: Norm, name: str) -> NDArray[Any]:
    """What a truncated measure is averaged over: (topic,), or (k, topic) where it depends on k."""
    if norm == "a":
        return run.relevant(rel)
    if norm == "b":
        return np.minimum(run.relevant(rel), cuts(depth))
    judgments = run.judgments
    ranks = ranks_in_pool(judgments, depth, f"{name} with norm='c'")
    pooled = (ranks > 0) & (judgments.grades >= rel)
    return summed(run, judgments.topic[pooled], ranks[pooled], None, depth)


def ranks_in_pool(judgments: Judgments, depth: int, option: str) -> Counts:
    """(judgment,): the rank at which each was pooled; 0: not in a pool of this depth."""
    inside = pool_of_depth(judgments, depth, option).astype(np.int64)
    return inside if judgments.pool_ranks is None else judgments.pool_ranks * inside


@curve("Accuracy")
def pair_accuracy(run: Ranking, depth: int, *, rel: float) -> Table:
    """Pairs in the right order so far."""
    hit = run.hits(rel, depth)
    found = summed(run, hit.topic, hit.rank, None, depth)
    misplaced = summed(run, hit.topic, hit.rank, (hit.rank - hit.nth).astype(np.float64), depth)
    others = looked_at(run, depth) - found
    return np.where(found > 0, 1 - share(misplaced, found * others), 0.0)


@curve("Judged")
def judged(run: Ranking, depth: int) -> Table:
    """Judged documents so far, by k or by the length of the list."""
    return share(judged_so_far(run, depth), looked_at(run, depth))


@curve("Unjudged")
def unjudged(run: Ranking, depth: int) -> Table:
    """Unjudged documents so far, by k."""
    return (looked_at(run, depth) - judged_so_far(run, depth)) / cuts(depth)


@curve("DCG")
def discounted_cumulative_gain(
    run: Ranking, depth: int, *, dcg: Dcg, gains: Gains | None, rel: float | None
) -> Table:
    """Discounted gains so far."""
    form = DcgForm(dcg, gains, rel)
    return summed(run, run.topic, run.rank, form.gain(run.grade) * form.discount(run.rank), depth)


@curve("nDCG")
def normalized_discounted_cumulative_gain(
    run: Ranking, depth: int, *, dcg: Dcg, gains: Gains | None, rel: float | None, norm: Literal["a", "b"]
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
    beta: float,
    rel: float,
    gain: Literal["linear", "exponential", "grade"],
    gains: Gains | None,
    norm: Norm,
    ideal: Literal["i", "ii"],
    scale: Scale,
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


GainCurve = TypeVar("GainCurve", bound=Callable[..., Table])


@curve("RBP")
def rank_biased_precision(
    run: Ranking,
    depth: int,
    *,
    p: float,
    rel: float | None,
    gain: Literal["linear", "exponential"],
    gains: Gains | None,
    scale: Scale,
) -> Table:
    """Weighted gains so far."""
    worth = rbp_gain(run.judgments, run.grade, rel, gain, gains, run.topic if scale == "topic" else None)
    return summed(run, run.topic, run.rank, worth * rbp_weight(run.rank, p), depth)


@curve("RBPResidual")
def rank_biased_precision_residual(
    run: Ranking, depth: int, *, p: float, part: Literal["both", "unjudged", "tail"]
) -> Table:
    """Weight of unjudged documents so far, and of all ranks beyond."""
    tail = np.power(p, looked_at(run, depth).astype(np.float64))
    if part == "tail":
        return tail
    judged = summed(run, run.topic, run.rank, rbp_weight(run.rank, p), depth)
    unjudged = np.maximum(1 - tail - judged, 0)  # rounding could leave less than nothing
    return unjudged if part == "unjudged" else unjudged + tail


@curve("ERR")
def expected_reciprocal_rank(
    run: Ranking, depth: int, *, max_rel: float | None, gain: Literal["exponential", "linear"], scale: Scale
) -> Table:
    """Chances to stop so far, each by its rank."""
    satisfied = satisfied_at(run, depth, max_rel, gain, scale)
    return np.cumsum(satisfied * _reading(satisfied) / cuts(depth), axis=0)


def satisfied_at(
    run: Ranking, depth: int, max_rel: float | None, gain: Literal["exponential", "linear"], scale: Scale
) -> Table:
    """(rank, topic): the chance that the document there satisfies the reader of ERR."""
    chance = err_chance(run.judgments, run.topic, run.grade, max_rel, gain, scale)
    return placed(run.topic, run.rank, chance, depth, len(run.topics))


def _reading(stops: Table) -> Table:
    """(rank, topic): the chance that the reader gets there, who stops at each rank with such a chance."""
    reading = np.ones(stops.shape)
    np.cumprod(1 - stops[:-1], axis=0, out=reading[1:])
    return reading


def gain_curve(name: str) -> Callable[[GainCurve], GainCurve]:
    """Register a cumulative form that asks a run for nothing but its gains.

    They are (rank, topic), from 0 at `min_rel` to 1 at `max_rel`.
    """

    def register(function: GainCurve) -> GainCurve:
        @curve(name)
        def of_run(
            run: Ranking, depth: int, *, min_rel: float, max_rel: float | None, **parameters: Any
        ) -> Table:
            hit, gain = gains_above_zero(run, depth, min_rel, max_rel)
            return function(placed(hit.topic, hit.rank, gain, depth, len(run.topics)), **parameters)

        return function

    return register


def _mean_gain(weight: Table | Values, gain: Table) -> Table:
    """(k, topic): the mean gain down to every k when ranks have these weights."""
    weights = np.broadcast_to(weight if weight.ndim == 2 else weight[:, np.newaxis], gain.shape)
    return share(np.cumsum(weights * gain, axis=0), np.cumsum(weights, axis=0))


@gain_curve("SDCG")
def scaled_discounted_cumulative_gain(gain: Table, *, dcg: Literal["log2", "zipf", "jk"]) -> Table:
    """Mean gain under the discounts as weights."""
    return _mean_gain(DcgForm(dcg).discount(rank_numbers(len(gain))), gain)


@gain_curve("INSQ")
def insq(gain: Table, *, T: float) -> Table:  # noqa: N803
    """Mean gain under the weights of INSQ."""
    return _mean_gain(insq_weights(len(gain), T), gain)


@gain_curve("INST")
def inst(gain: Table, *, T: float) -> Table:  # noqa: N803
    """Mean gain of a reader who goes on with chance ((a - 1) / a)^2, a = i + 2T - gained so far."""
    a = cuts(len(gain)) + 2 * T - np.cumsum(gain, axis=0)
    return _mean_gain(_reading(1 - ((a - 1) / a) ** 2), gain)


@gain_curve("BPM")
def bejeweled_player_model(gain: Table, *, T: float) -> Table:  # noqa: N803
    """Mean gain as far as the reader goes, who stops where T is gained."""
    gained = np.cumsum(gain, axis=0)
    enough = gained >= T * (1 - 1e-12)  # sums of thirds and the like reach T but for rounding
    going = np.ones(enough.shape, np.bool_)
    going[1:] = ~enough[:-1]
    return np.cumsum(gain * going, axis=0) / np.cumsum(going, axis=0)


@gain_curve("NERR8")
def nearly_err_truncated(gain: Table) -> Table:
    """Mean gain of a reader who stops with the chance of each gain."""
    return _cascade(np.ones(len(gain)), gain)


@gain_curve("NERR9")
def nearly_err_discounted(gain: Table) -> Table:
    """The same with weights 1 / rank."""
    return _cascade(1 / rank_numbers(len(gain)), gain)


@gain_curve("NERR10")
def nearly_err_patient(gain: Table, *, p: float) -> Table:
    """The same with weights p^(rank - 1)."""
    return _cascade(p ** (rank_numbers(len(gain)) - 1), gain)


@gain_curve("NERR11")
def nearly_err_goal(gain: Table, *, T: float) -> Table:  # noqa: N803
    """The same with the weights of INSQ."""
    return _cascade(insq_weights(len(gain), T), gain)


def _cascade(weight: Values, gain: Table) -> Table:
    return _mean_gain(weight[:, np.newaxis] * _reading(gain), gain)


def has_curve(name: str) -> bool:
    """Whether a measure has a cumulative form of its own."""
    return name in CURVES


def measures_over_depth(texts: Sequence[str | Measure]) -> tuple[Measure, ...]:
    """The measures that texts name, each cut at 1: depths are put to them later.

    A measure that names its cut-off, or has none, cannot be looked at over depth.
    """
    found: dict[Measure, None] = {}
    for text in texts:
        found[_over_depth(text)] = None
    return tuple(found)


def _over_depth(text: str | Measure) -> Measure:
    named = str(text)
    measure = None if "@" in named else single_measure(f"{named}@1") or single_measure(text)
    if measure is None:
        known = parse_measures([text])  # an unknown name is refused with the nearest
        example = str(known[0]).partition("@")[0]
        raise DataError(f"{named}: depths are put to measures without a cut-off; give {example} and --depths")
    if measure.definition.at != "k" or not measure.definition.takes("k"):
        raise DataError(f"{named} has no cut-off, and no values over depth; give measures such as AP or RBP")
    return measure.replace(k=1)


def names_as_typed(texts: Sequence[str | Measure]) -> dict[Measure, str]:
    """By measure, cut at 1: its name with the parameters that were typed, be they the default or not.

    Who asks for RBP(p=0.8) finds it under that name, although it is RBP as well.
    """
    found = {}
    for text in texts:
        measure, typed = _over_depth(text), "".join(str(text).split())
        found[measure] = typed if typed.startswith(f"{measure.name}(") else name_of(measure)
    return found


def name_of(measure: Measure) -> str:
    """The name of a family: the measure without its cut-off."""
    return str(measure).partition("@")[0]


def values_at(measure: Measure, ranking: Ranking, ks: NDArray[np.int64]) -> Table:
    """(k, topic): the value of the measure cut at each of these depths, which ascend."""
    whole = _down_to(measure, ranking, int(ks[-1]))
    if whole is None:
        return values_once_per_k(measure, ranking, ks.tolist())
    return whole if len(ks) == len(whole) else whole[ks - 1]


def _down_to(measure: Measure, ranking: Ranking, depth: int) -> Table | None:
    """(k, topic): the value at every k to `depth`; None: the measure has no cumulative form here."""
    if not has_curve(measure.name) or ranking.ties is not None:
        return None
    arguments = {name: value for name, value in measure.arguments.items() if name != "k"}
    try:
        return CURVES[measure.name](measure.seen(ranking), depth, **arguments)
    except NoCumulativeFormError:
        return None


def values_once_per_k(measure: Measure, ranking: Ranking, ks: Sequence[int]) -> Table:
    """(k, topic): the measure evaluated anew for each of these cut-offs."""
    return np.array([measure.replace(k=k)(ranking) for k in ks]).reshape(len(ks), len(ranking.topics))


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
