"""Bounds of nDCG: discounted gains over the ideal, both of which grow with new relevant documents.

Gains go in steps from one level to the next. With m_l documents of at least level l among the first k, the
largest DCG has them at the highest unjudged ranks, level by level, and the ideal depends only on the m_l. So
the upper bound is a maximum over the numbers m_1 >= m_2 >= ..., and the lower bound needs only one number,
because there an unjudged document has either the largest gain or none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray
from sounding.measures.bounds.registry import (
    Bounds,
    Room,
    Unknowns,
    holes,
    register_bounds,
    room,
    scale,
    whole_range,
)
from sounding.measures.bounds.utility import dcg_form
from sounding.measures.graded import DcgForm, dcg_of, ideal_dcg_of
from sounding.measures.registry import Measure
from sounding.measures.totals import share
from sounding.runs.ranking import Counts, Judgments, Ranking, Values, distinct

Table = NDArray[np.float64]  # (topic, number of documents from 0)
_TABLED = 1 << 16  # ranks whose discounts are summed one by one
CLOSE = 1e-15  # ratios that differ by less, relatively, are equal


@register_bounds("nDCG")
def normalized_discounted_cumulative_gain(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound nDCG, if no grade has a negative gain; with norm 'b' the ideal stays as it is."""
    form, k = dcg_form(measure), measure.k
    if form.gain(scale(run.judgments, form.rel)).min() < 0:
        return whole_range(measure, run, unknowns)
    levels = _levels(run.judgments, form)
    space = room(run, k, unknowns)
    value = dcg_of(run, k, form)
    gained = _discounts_at_holes(run, k, form)
    if measure.get("norm") == "b" and k is not None:
        ideal = ideal_dcg_of(run.judgments, k, form, "b")
        best = gained[np.arange(len(value)), space.most_within]
        return Bounds(share(value, ideal), share(value + levels.largest * best, ideal), "exact")
    ideals = Ideals.of(levels, form, k, space)
    return Bounds(
        _least(value, gained, levels, ideals, space, k), _greatest(value, gained, ideals, space), "exact"
    )


@register_bounds("IDCG")
def ideal_discounted_cumulative_gain(measure: Measure, run: Ranking, unknowns: Unknowns) -> Bounds:
    """Bound the ideal DCG: as it is, or with the largest gain on every document that may have it."""
    form, k = dcg_form(measure), measure.k
    if form.gain(scale(run.judgments, form.rel)).min() < 0:
        return whole_range(measure, run, unknowns)
    space = room(run, k, unknowns)
    ideals = Ideals.of(_levels(run.judgments, form), form, k, space)
    return Bounds(measure(run), ideals.together(space.cap[:, np.newaxis])[:, 0], "exact")


class Levels(NamedTuple):
    """The possible gains above 0 of a document, ascending, as steps from one to the next."""

    step: Values  # (level,) above 0
    judged: Counts  # (level, topic) judged documents that gain at least this

    @property
    def largest(self) -> float:
        """The largest gain."""
        return float(self.step.sum())

    @staticmethod
    def of(
        judgments: Judgments, possible: Values, own: Values, pool: NDArray[np.bool_] | None = None
    ) -> Levels:
        """Return the possible levels of gains, and how many judgments (of a pool) have each."""
        gain = distinct(possible[possible > 0])
        topics = len(judgments.topics)
        reached = [own >= level if pool is None else (own >= level) & pool for level in gain]
        judged = [np.bincount(judgments.topic[chosen], minlength=topics) for chosen in reached]
        return Levels(np.diff(gain, prepend=0.0), np.array(judged, np.int64).reshape(-1, topics))


def _levels(judgments: Judgments, form: DcgForm) -> Levels:
    """Return the levels of a form of DCG; computed once for all runs."""

    def compute() -> Levels:
        return Levels.of(judgments, form.gain(scale(judgments, form.rel)), form.gain(judgments.grades))

    return judgments.remember(("gain levels", form.key), compute)


class Discounts(NamedTuple):
    """Sums of the discounts of the first ranks, for any number."""

    form: DcgForm
    first: Values  # (number,) the sums, as far as they are worth a table

    @staticmethod
    def of(form: DcgForm, most: int) -> Discounts:
        """Return the sums for up to `most` ranks."""
        ranks = np.arange(1, min(most, _TABLED) + 1)
        return Discounts(form, np.concatenate([[0.0], np.cumsum(form.discount(ranks))]))

    def summed(self, number: Counts) -> Table:
        """Return the sum over each number of ranks."""
        last = len(self.first) - 1
        result = self.first[np.minimum(number, last)]
        far = number > last
        if far.any():
            result[far] += self._between(np.array([float(last)]), number[far].astype(np.float64))
        return result

    def _between(self, start: Values, end: Values) -> Values:
        """Sum over the ranks after `start` to `end`, by the Euler-Maclaurin formula.

        That far down a discount is nearly linear: after two corrections the error is below rounding.
        """
        from scipy.special import expi

        def integral(rank: Values) -> Values:
            if self.form.dcg.endswith("zipf"):
                return np.log(rank)
            return np.log(2) * expi(np.log(rank if self.form.dcg.endswith("jk") else rank + 1))

        def corrected(rank: Values) -> Values:
            at, below, above = (self.form.discount(rank + step) for step in (0, -0.5, 0.5))
            return integral(rank) + at / 2 + (above - below) / 12

        return corrected(end) - corrected(start)


class Ideals(NamedTuple):
    """The ideal DCG at k, level by level, if more documents reach a level."""

    levels: Levels
    discounts: Discounts
    most: int  # ranks that count: beyond k nothing is added

    @staticmethod
    def of(levels: Levels, form: DcgForm, k: int | None, space: Room) -> Ideals:
        """Prepare for as many documents as may turn relevant."""
        most = int((levels.judged.max(axis=0, initial=0) + space.cap).max(initial=0))
        most = most if k is None else min(k, most)
        return Ideals(levels, Discounts.of(form, most), most)

    def at_level(self, level: int, more: Counts) -> Table:
        """Return what a level adds to the ideal if `more` documents reach it; `more` is (topic, any)."""
        number = self.levels.judged[level][:, np.newaxis] + more
        return self.levels.step[level] * self.discounts.summed(np.minimum(number, self.most))

    def together(self, more: Counts) -> Table:
        """Return the ideal if `more` documents have the largest gain; `more` is (topic, any)."""
        levels = range(len(self.levels.step))
        return sum((self.at_level(level, more) for level in levels), np.zeros(more.shape))


def _discounts_at_holes(run: Ranking, k: int | None, form: DcgForm) -> Table:
    """Sum the discounts at the first unjudged ranks of each topic; constant past their number."""
    open_ranks = holes(run, k)
    table = np.zeros((len(run.topics), int(open_ranks.nth.max(initial=0)) + 1))
    table[open_ranks.topic, open_ranks.nth] = form.discount(open_ranks.rank)
    return np.cumsum(table, axis=1)


def _greatest(value: Values, gained: Table, ideals: Ideals, space: Room) -> Values:
    """Return the largest ratio, by Dinkelbach's method.

    A ratio of at least x exists if some choice has gained - x * ideal >= 0. The choice for which this is
    largest has its own ratio, the next x, until none is larger. Gained and ideal are sums over levels, so
    each level has its own best number. These fall from level to level by themselves: fewer judged documents
    reach a higher one, and the first places of an ideal cost most.
    """
    number = np.arange(gained.shape[1])[np.newaxis, :]
    allowed = number <= space.most_within[:, np.newaxis]
    step = ideals.levels.step
    by_level = [ideals.at_level(level, number) for level in range(len(step))]
    together = sum(by_level, np.zeros(gained.shape))
    all_alike = share(value[:, np.newaxis] + ideals.levels.largest * gained, together)
    best: Values = np.where(allowed, all_alike, 0.0).max(axis=1)
    topic = np.arange(len(value))
    while len(step) > 1:
        total, ideal = value.copy(), np.zeros(len(value))
        for height, costs in zip(step, by_level, strict=True):
            surplus = height * gained - best[:, np.newaxis] * costs
            picked = np.where(allowed, surplus, -np.inf).argmax(axis=1)
            total += height * gained[topic, picked]
            ideal += costs[topic, picked]
        better: Values = share(total, ideal)
        if not (better > best * (1 + CLOSE)).any():
            break
        best = np.maximum(best, better)
    return best


def _least(
    value: Values, gained: Table, levels: Levels, ideals: Ideals, space: Room, k: int | None
) -> Values:
    """Return the smallest ratio: documents elsewhere gain most first, then the lowest unjudged ones."""
    elsewhere = space.most_elsewhere
    left = space.left_within
    if k is not None and len(levels.step):
        # Once k documents have the largest gain, the ideal is constant.
        left = np.minimum(left, np.maximum(k - levels.judged[-1] - elsewhere, 0))
    number = np.arange(int(left.max(initial=0)) + 1)[np.newaxis, :]
    above = np.maximum(space.within[:, np.newaxis] - number, 0)
    at_bottom = gained[:, -1:] - np.take_along_axis(gained, above, axis=1)
    ideal = ideals.together(elsewhere[:, np.newaxis] + number)
    ratio = share(value[:, np.newaxis] + levels.largest * at_bottom, ideal)
    return np.where(number <= left[:, np.newaxis], ratio, np.inf).min(axis=1)
