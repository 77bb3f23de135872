"""Estimate measures from a sample of judgments and predictions for every document: arrays in, arrays out.

A judged document was drawn with probability pi. Its residual is its gain by people minus the gain that its
labels predict. A linear measure is estimated by its value at the predictions plus the residuals, each divided
by pi. This is unbiased, however poor the labels are. Of measures that are linear in each gain, terms of one
and of two documents are estimated in this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
TINY = 1e-12
STEPS = 60  # of a bisection
MOST_TERMS = 4_000_000  # numbers held at once, for each table of ranks or pairs of documents


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Lists:
    """Documents of the frame that runs retrieved: one row for each (run, topic, rank)."""

    runs: int
    topics: int
    run: Places
    topic: Places
    rank: Places  # from 1
    doc: Places  # number of the document in the frame

    def cut(self, depth: int | None) -> Lists:
        """Return the lists cut to the first `depth` ranks."""
        if depth is None:
            return self
        kept = self.rank <= depth
        return Lists(
            runs=self.runs, topics=self.topics, run=self.run[kept], topic=self.topic[kept],
            rank=self.rank[kept], doc=self.doc[kept],
        )  # fmt: skip

    @property
    def cell(self) -> Places:
        """Return the number of the (run, topic) of each row."""
        return self.run * self.topics + self.topic


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Sample:
    """The judged documents of the frame, and how they were drawn."""

    doc: Places  # (judged,) numbers in the frame, ascending
    chance: Floats  # (judged,) probability of being drawn
    stratum: Places | None = None  # (judged,) if strata were sampled at fixed sizes

    def spread(self, influence: Floats) -> Floats:
        """(run, judged): Scale influences so that sums of products over documents are covariances.

        `influence` is the derivative of the estimate by the gain, times the residual.
        """
        scaled = influence / self.chance
        if self.stratum is not None:
            count = np.bincount(self.stratum)
            onehot = np.zeros((len(self.stratum), len(count)))
            onehot[np.arange(len(self.stratum)), self.stratum] = 1
            several = count > 1
            mean = np.where(several, (scaled @ onehot) / np.maximum(count, 1), 0.0)
            correction = np.where(several, count / np.maximum(count - 1, 1), 1.0)
            scaled = (scaled - mean[:, self.stratum]) * np.sqrt(correction[self.stratum])
        return scaled * np.sqrt(1 - self.chance)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Estimates:
    """Values by run and topic, and the parts from which variances of their means follow."""

    values: Floats  # (run, topic)
    spread: Floats  # (run, judged): the products of two rows sum to the covariance of two runs' means
    chance: Floats  # (judged,) of being drawn
    twice: Floats | None = None  # (run, run): covariances that `spread` counts once too often

    def covariance(self) -> Floats:
        """(run, run): Return the covariances of the runs' means on these topics, over samples.

        With slopes that depend on the sample, sums of squares count terms of pairs of documents twice. They
        are taken off so that no variance falls below 0.
        """
        first = self.spread @ self.spread.T
        if self.twice is None:
            return first
        runs = _less(np.diag(first), np.diag(self.twice))
        pairs = _less(_of_differences(first), _of_differences(self.twice))
        return (runs[:, None] + runs - pairs) / 2

    def freedom(self) -> Floats:
        """(run,): Return the degrees of freedom of the runs' variances, after Satterthwaite.

        A variance is a sum over the judged documents. Its own variance is about the sum of their squares,
        less for documents that were likely to be drawn.
        """
        squares = self.spread**2
        fourth = squares**2 @ (1 - self.chance)
        return 2 * squares.sum(axis=1) ** 2 / np.maximum(fourth, np.finfo(np.float64).tiny)


def _less(variance: Floats, twice: Floats) -> Floats:
    """Return variances without what was counted twice, never less than half if that is at most all."""
    share = np.divide(twice, variance, out=np.zeros_like(variance), where=variance > 0)
    return variance / (1 + share)


def _of_differences(covariance: Floats) -> Floats:
    """(row, row): Return the variances of the differences of all rows."""
    own = np.diag(covariance)
    return np.maximum(own[:, None] + own - 2 * covariance, 0.0)


def unbiased_gains(predicted: Floats, judged_prediction: Floats, gains: Floats, sample: Sample) -> Floats:
    """(document,): Return a gain for each document of the frame whose mean over samples is the true gain."""
    values = predicted.copy()
    values[sample.doc] = judged_prediction + (gains - judged_prediction) / sample.chance
    return values


def equal_effort(contribution: Floats, chance: Floats, share: float) -> float:
    """Return how many judgments, drawn alike, would bring the sum of these variances down to a share of it.

    `contribution` has a number for each judged document, drawn with this chance. With more judgments, all
    chances grow by the same factor, at most to 1, where a document contributes nothing.
    """
    odds = np.divide(chance, 1 - chance, out=np.zeros_like(chance), where=chance < 1)
    aim, low, high = share * contribution.sum(), TINY, 1 / chance.min()
    for _ in range(STEPS):
        factor = np.sqrt(low * high)
        grown = np.minimum(factor * chance, 1)
        if (contribution * odds * (1 - grown) / grown).sum() > aim:
            low = factor
        else:
            high = factor
    return float((np.minimum(high * chance, 1) / chance).sum())


def _places(lists: Lists, sample: Sample) -> Places:
    """(row,): Return the number of each document among the judged ones; -1: not judged."""
    place = np.full(1 + max(int(lists.doc.max(initial=-1)), int(sample.doc.max(initial=-1))), -1)
    place[sample.doc] = np.arange(len(sample.doc))
    return place[lists.doc]


def by_judged(lists: Lists, sample: Sample, derivative: Floats, residual: Floats) -> Floats:
    """(run, judged): Return the influence of each judged document on a run's mean over the topics."""
    own = _places(lists, sample)
    kept = own >= 0
    table = np.zeros((lists.runs, len(sample.doc)))
    table[lists.run[kept], own[kept]] = derivative[kept] / lists.topics
    return table * residual


def linear(lists: Lists, weight: Floats, gains: Floats, sample: Sample, residual: Floats) -> Estimates:
    """Estimate the sum of weight times gain over each list; `weight` has one number for each row."""
    cells = lists.runs * lists.topics
    values = np.bincount(lists.cell, weight * gains[lists.doc], cells).astype(np.float64)
    influence = by_judged(lists, sample, weight, residual)
    return Estimates(
        values=values.reshape(lists.runs, lists.topics), spread=sample.spread(influence), chance=sample.chance
    )


def cascade(lists: Lists, weight: Floats, gains: Floats, sample: Sample, residual: Floats) -> Estimates:
    """Estimate the expected weight of the rank at which a reader stops; a gain is the chance of stopping.

    `weight` has a number for each rank: 1 / rank for ERR and RR, 1 for Success. The value is linear in each
    gain, so unbiased gains give an unbiased value. Its terms of many documents are products of many large
    errors, though: rarely enormous and hardly ever near their mean. Therefore a judged document counts with
    its gain by people, and what it stands for beyond itself enters by terms of at most two documents.
    """
    step = np.zeros(len(gains))
    step[sample.doc] = residual * (1 / sample.chance - 1)
    values, found = _expand(lists, weight, gains - step, step)
    influence = by_judged(lists, sample, found.slope, residual)
    influence += by_judged(lists, sample, found.last_slope, residual * sample.chance)
    return Estimates(
        values=values, spread=sample.spread(influence), chance=sample.chance,
        twice=_of_curvature(lists, sample, residual, found),
    )  # fmt: skip


class _Expansion(NamedTuple):
    """Derivatives of a cascade at each row of the lists."""

    slope: Floats  # by the gain of the document, with terms of at most one other document
    last_slope: Floats  # terms of two other documents
    before: Floats  # chance to reach the document, by the gains about which terms are expanded
    after: Floats  # chance to go on from it
    gap: Floats  # what stopping at it would gain


def _expand(lists: Lists, weight: Floats, gains: Floats, step: Floats) -> tuple[Floats, _Expansion]:
    """Return (run, topic) values and derivatives at `gains` moved by `step`, with terms of two documents."""
    values = np.zeros((lists.runs, lists.topics))
    found = _Expansion(*np.zeros((5, len(lists.rank))))
    block = max(1, MOST_TERMS // (max(lists.topics, 1) * len(weight)))
    for start in range(0, lists.runs, block):
        rows = ((lists.run >= start) & (lists.run < start + block)).nonzero()[0]
        cells = min(block, lists.runs - start) * lists.topics
        at = lists.rank[rows] - 1, lists.cell[rows] - start * lists.topics
        stopping, moved = np.zeros((2, len(weight), cells))
        stopping[at], moved[at] = gains[lists.doc[rows]], step[lists.doc[rows]]
        going = 1 - stopping
        going[np.abs(going) < TINY] = TINY  # quotients of products need factors other than 0
        # The weight expected by a reader who reaches a rank, and the chance to reach it: by terms of 0, 1, 2.
        after, reaching = np.zeros((2, len(weight) + 1, 3, cells))
        reaching[0, 0] = 1
        for place in range(len(weight) - 1, -1, -1):
            after[place] = going[place] * after[place + 1]
            after[place, 1:] -= moved[place] * after[place + 1, :-1]
            after[place, 0] += stopping[place] * weight[place]
            after[place, 1] += moved[place] * weight[place]
        for place in range(len(weight)):
            reaching[place + 1] = going[place] * reaching[place]
            reaching[place + 1, 1:] -= moved[place] * reaching[place, :-1]
        values[start : start + block] = after[0].sum(axis=0).reshape(-1, lists.topics)
        gap = -after[1:]
        gap[:, 0] += weight[:, None]
        reach = reaching[:-1]
        slope = reach[:, 0] * (gap[:, 0] + gap[:, 1]) + reach[:, 1] * gap[:, 0]
        last = reach[:, 0] * gap[:, 2] + reach[:, 1] * gap[:, 1] + reach[:, 2] * gap[:, 0]
        for target, table in zip(found, (slope, last, reach[:, 0], reaching[1:, 0], gap[:, 0]), strict=True):
            target[rows] = table[at]
    return values, found


def _of_curvature(lists: Lists, sample: Sample, residual: Floats, found: _Expansion) -> Floats:
    """(run, run): Return the sums over pairs of documents of the products of two runs' second-order terms.

    Of two documents in a list, the second derivative is minus the chance to reach the first, times that to go
    on from there to the second, times what stopping there would gain. A term is the derivative times the
    scaled errors of both documents.
    """
    place = _places(lists, sample)
    error = residual * np.sqrt(1 - sample.chance) / sample.chance / np.sqrt(lists.topics)
    rows = (place >= 0).nonzero()[0]
    rows = rows[error[place[rows]] != 0]
    rows = rows[np.argsort(lists.topic[rows], kind="stable")]
    total = np.zeros((lists.runs, lists.runs))
    for own in np.split(rows, np.cumsum(np.bincount(lists.topic[rows], minlength=lists.topics))[:-1]):
        docs, column = np.unique(place[own], return_inverse=True)
        before, after, gain = np.zeros((3, lists.runs, len(docs)))
        rank = np.zeros((lists.runs, len(docs)), np.int64)
        at = lists.run[own], column
        rank[at] = lists.rank[own]
        before[at] = found.before[own] * error[docs][column]
        after[at], gain[at] = found.after[own], found.gap[own]
        going = np.divide(1, after, out=np.zeros_like(after), where=after != 0)
        block = max(1, MOST_TERMS // (lists.runs * max(len(docs), 1)))
        for start in range(0, len(docs), block):
            some = slice(start, start + block)
            terms = np.where(
                rank[:, some, None] < rank[:, None],
                going[:, some, None] * gain[:, None], gain[:, some, None] * going[:, None],
            )  # fmt: skip
            terms *= before[:, some, None] * before[:, None]
            terms[:, np.arange(terms.shape[1]), start + np.arange(terms.shape[1])] = 0
            flat = terms.reshape(lists.runs, -1)
            total += flat @ flat.T
    return total / 2  # each pair was met from both of its documents
