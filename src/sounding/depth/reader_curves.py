"""Cumulative forms of measures of readers who stop somewhere: RBP, ERR, INST and their like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import numpy as np

from sounding.depth.cumulative import Table, curve, cuts, looked_at, placed, share, summed
from sounding.measures.graded import DcgForm, Gains, Scale
from sounding.measures.utility import (
    err_chance,
    gains_above_zero,
    insq_weights,
    rank_numbers,
    rbp_gain,
    rbp_weight,
)
from sounding.ranking import Ranking, Values

GainCurve = TypeVar("GainCurve", bound=Callable[..., Table])


@curve("RBP")
def rank_biased_precision(
    run: Ranking,
    depth: int,
    *,
    p: float = 0.8,
    rel: float | None = None,
    gain: Literal["linear", "exponential"] = "linear",
    gains: Gains | None = None,
    scale: Scale = "judgments",
) -> Table:
    """Weighted gains so far."""
    worth = rbp_gain(run.judgments, run.grade, rel, gain, gains, run.topic if scale == "topic" else None)
    return summed(run, run.topic, run.rank, worth * rbp_weight(run.rank, p), depth)


@curve("RBPResidual")
def rank_biased_precision_residual(
    run: Ranking, depth: int, *, p: float = 0.8, part: Literal["both", "unjudged", "tail"] = "both"
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
    run: Ranking,
    depth: int,
    *,
    max_rel: float | None = None,
    gain: Literal["exponential", "linear"] = "exponential",
    scale: Scale = "judgments",
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
            run: Ranking, depth: int, *, min_rel: float = 0, max_rel: float | None = None, **parameters: Any
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
def scaled_discounted_cumulative_gain(gain: Table, *, dcg: Literal["log2", "zipf", "jk"] = "log2") -> Table:
    """Mean gain under the discounts as weights."""
    return _mean_gain(DcgForm(dcg).discount(rank_numbers(len(gain))), gain)


@gain_curve("INSQ")
def insq(gain: Table, *, T: float = 1) -> Table:  # noqa: N803
    """Mean gain under the weights of INSQ."""
    return _mean_gain(insq_weights(len(gain), T), gain)


@gain_curve("INST")
def inst(gain: Table, *, T: float = 1) -> Table:  # noqa: N803
    """Mean gain of a reader who goes on with chance ((a - 1) / a)^2, a = i + 2T - gained so far."""
    a = cuts(len(gain)) + 2 * T - np.cumsum(gain, axis=0)
    return _mean_gain(_reading(1 - ((a - 1) / a) ** 2), gain)


@gain_curve("BPM")
def bejeweled_player_model(gain: Table, *, T: float = 1) -> Table:  # noqa: N803
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
def nearly_err_patient(gain: Table, *, p: float = 0.9) -> Table:
    """The same with weights p^(rank - 1)."""
    return _cascade(p ** (rank_numbers(len(gain)) - 1), gain)


@gain_curve("NERR11")
def nearly_err_goal(gain: Table, *, T: float = 1) -> Table:  # noqa: N803
    """The same with the weights of INSQ."""
    return _cascade(insq_weights(len(gain), T), gain)


def _cascade(weight: Values, gain: Table) -> Table:
    return _mean_gain(weight[:, np.newaxis] * _reading(gain), gain)
