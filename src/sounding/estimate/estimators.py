"""Estimate measures from a sample of judgments and predictions for every document: arrays in, arrays out.

A judged document was drawn with probability pi. Its residual is its gain by people minus the gain that its
labels predict. A linear measure is estimated by its value at the predictions plus the residuals, each divided
by pi. This is unbiased, however poor the labels are. Other measures are linearized or, if they are
multilinear, evaluated at the same unbiased gains.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.core.arrays import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


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

    def covariance(self) -> Floats:
        """(run, run): Return the covariances of the runs' means on these topics, over samples."""
        return self.spread @ self.spread.T

    def freedom(self) -> Floats:
        """(run,): Return the degrees of freedom of the runs' variances, after Satterthwaite.

        A variance is a sum over the judged documents; its own variance is about the sum of their squares.
        """
        squares = self.spread**2
        fourth = (squares**2).sum(axis=1)
        return 2 * squares.sum(axis=1) ** 2 / np.maximum(fourth, np.finfo(np.float64).tiny)


def unbiased_gains(predicted: Floats, judged_prediction: Floats, gains: Floats, sample: Sample) -> Floats:
    """(document,): Return a gain for each document of the frame whose mean over samples is the true gain."""
    values = predicted.copy()
    values[sample.doc] = judged_prediction + (gains - judged_prediction) / sample.chance
    return values


def by_judged(lists: Lists, sample: Sample, derivative: Floats, residual: Floats) -> Floats:
    """(run, judged): Return the influence of each judged document on a run's mean over the topics."""
    place = np.full(1 + int(lists.doc.max(initial=-1)) + 1, -1)
    inside = sample.doc < len(place)
    place[sample.doc[inside]] = np.arange(len(sample.doc))[inside]
    own = place[lists.doc]
    kept = own >= 0
    table = np.zeros((lists.runs, len(sample.doc)))
    table[lists.run[kept], own[kept]] = derivative[kept] / lists.topics
    return table * residual


def linear(lists: Lists, weight: Floats, gains: Floats, sample: Sample, residual: Floats) -> Estimates:
    """Estimate the sum of weight times gain over each list; `weight` has one number for each row."""
    cells = lists.runs * lists.topics
    values = np.bincount(lists.cell, weight * gains[lists.doc], cells).astype(np.float64)
    influence = by_judged(lists, sample, weight, residual)
    return Estimates(values=values.reshape(lists.runs, lists.topics), spread=sample.spread(influence))


def cascade(lists: Lists, weight: Floats, gains: Floats, sample: Sample, residual: Floats) -> Estimates:
    """Estimate the expected weight of the rank at which a reader stops; a gain is the chance of stopping.

    `weight` has a number for each rank: 1 / rank for ERR and RR, 1 for Success. The value is linear in each
    gain, so unbiased gains give an unbiased value.
    """
    deepest = len(weight)
    cells = lists.runs * lists.topics
    table = np.zeros((deepest, cells))
    table[lists.rank - 1, lists.cell] = gains[lists.doc]
    after = np.zeros((deepest + 1, cells))  # expected weight for a reader who reaches each rank
    for place in range(deepest - 1, -1, -1):
        after[place] = table[place] * weight[place] + (1 - table[place]) * after[place + 1]
    reaching = np.ones((deepest, cells))
    np.cumprod(1 - table[:-1], axis=0, out=reaching[1:])
    slope = reaching * (weight[:, None] - after[1:])
    influence = by_judged(lists, sample, slope[lists.rank - 1, lists.cell], residual)
    return Estimates(values=after[0].reshape(lists.runs, lists.topics), spread=sample.spread(influence))
