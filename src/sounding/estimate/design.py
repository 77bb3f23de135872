"""Choose which documents people should judge so that the intervals of `estimate` become narrow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from sounding.estimate.calibration import MOST_LEVELS, Floats
from sounding.estimate.estimable import GainForm
from sounding.estimate.estimators import Lists
from sounding.selection.samples import capped_chances

FLOOR = 0.1  # the least a document counts for, as a share of the mean


class SampleDesign(NamedTuple):
    """A sample to draw, each document independently, and what to expect of it."""

    chances: Floats  # (document,) probability of being drawn
    run_error: float  # median expected standard error of the runs' means by the first measure
    run_blind: float  # the same if the labels say nothing
    pair_error: float  # median expected standard error of the pairs' differences; NaN: one run
    pair_blind: float


def relevance_chance(labels: Floats, documents: int) -> Floats:
    """(document,): Return the place of each document's label on the scale of its judge, between 0 and 1.

    It is half a step away from the ends; the mean of several judges; 1/2 without any label.
    """
    places = []
    for own in labels:
        levels = np.unique(own[~np.isnan(own)])
        low, high = levels.min(initial=0.0), levels.max(initial=0.0)
        steps = min(len(levels), MOST_LEVELS)
        share = (own - low) / (high - low) if high > low else np.where(np.isnan(own), np.nan, 0.5)
        places.append((share * (steps - 1) + 0.5) / max(steps, 1))
    known = np.array(places).reshape(len(places), documents)
    count = (~np.isnan(known)).sum(axis=0)
    return np.where(count > 0, np.nansum(known, axis=0) / np.maximum(count, 1), 0.5)


def expected_variance(form: GainForm, labels: Floats, documents: int) -> tuple[Floats, float]:
    """Return how far gains vary among documents with the same labels, and among documents without any.

    Before anything was judged, grades are taken to be binomial, with the place of the label on its scale as
    the chance of each step; without labels, each grade is equally likely.
    """
    top = max(1, math.ceil(np.nanmax(labels))) if labels.size and not np.isnan(labels).all() else 1
    while top < MOST_LEVELS and form.gain(np.array([float(top)]))[0] <= 0:
        top += 1
    grades = np.arange(top + 1)
    p = relevance_chance(labels, documents)[:, None]
    share = special.comb(top, grades) * p**grades * (1 - p) ** (top - grades)
    gain = form.gain(grades.astype(np.float64))
    blind = float(gain.var())
    known = (~np.isnan(labels)).any(axis=0) if len(labels) else np.zeros(documents, np.bool_)
    return np.where(known, share @ gain**2 - (share @ gain) ** 2, blind), blind


def influences(form: GainForm, lists: Lists, documents: int, pair: tuple[int, int] | None = None) -> Floats:
    """(document,): Return the sum over runs of the squared weights of a document, or that of a pair."""
    cut = lists.cut(form.depth)
    weight = np.asarray(form.weight(cut.rank), np.float64)
    if pair is None:
        return np.bincount(cut.doc, weight**2, documents).astype(np.float64)
    sign = np.where(cut.run == pair[0], 1.0, 0.0) - np.where(cut.run == pair[1], 1.0, 0.0)
    moved: Floats = np.bincount(cut.doc, sign * weight, documents).astype(np.float64)
    return moved**2


def aimed_chances(
    forms: Sequence[GainForm],
    lists: Lists,
    documents: int,
    size: float,
    pair: tuple[int, int] | None = None,
) -> Floats:
    """(document,): Return the probabilities that make the intervals narrowest with about `size` judgments.

    They are proportional to the root of the summed squared weights of a document (Neyman, with errors of the
    labels that are equally likely everywhere, as nothing was judged yet); measures count equally. Every
    document that counts for any run keeps a chance: intervals are valid only then.
    """
    matter, counted = np.zeros(documents), np.zeros(documents, np.bool_)
    for form in forms:
        part = influences(form, lists, documents, pair)
        matter += part / max(part.sum(), np.finfo(np.float64).tiny)
        counted |= influences(form, lists, documents) > 0
    chances = np.zeros(documents)
    if counted.any():
        weights = np.sqrt(matter[counted])
        least = FLOOR * weights.mean()
        weights = np.maximum(weights, least if least > 0 else 1.0)
        chances[counted] = capped_chances(weights, min(size, len(weights)))
    return chances


def design_sample(
    forms: Sequence[GainForm],
    lists: Lists,
    labels: Floats,
    documents: int,
    size: float,
    pair: tuple[int, int] | None = None,
) -> SampleDesign:
    """Return the sample aimed at all runs or a pair, with the errors to expect of the first measure."""
    chances = aimed_chances(forms, lists, documents, size, pair)
    form, cut = forms[0], lists.cut(forms[0].depth)
    table = np.zeros((lists.runs, documents))
    np.add.at(table, (cut.run, cut.doc), np.asarray(form.weight(cut.rank), np.float64) / lists.topics)
    odds = np.divide(1 - chances, chances, out=np.zeros(documents), where=chances > 0)
    variance, unknown = expected_variance(form, labels, documents)
    run, one_pair = _errors(table, odds * variance, pair)
    run_blind, pair_blind = _errors(table, odds * unknown, pair)
    return SampleDesign(
        chances=chances, run_error=run, run_blind=run_blind, pair_error=one_pair, pair_blind=pair_blind
    )


def _errors(table: Floats, variance: Floats, pair: tuple[int, int] | None) -> tuple[float, float]:
    """Return the median standard error of the runs, and of the differences of pairs."""
    spread = table * np.sqrt(variance)
    covariance = spread @ spread.T
    own = np.diag(covariance)
    if pair is not None:
        one, other = np.array([pair[0]]), np.array([pair[1]])
    else:
        one, other = np.triu_indices(len(own), 1)
    squares = np.maximum(own[one] + own[other] - 2 * covariance[one, other], 0)
    return float(np.sqrt(np.median(own))), float(np.sqrt(np.median(squares))) if len(squares) else np.nan
