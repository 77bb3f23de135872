"""Predict people's judgments from machine labels; no judgment is used to predict itself."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sounding.core.arrays import NDArray

Floats = NDArray[np.float64]
Places = NDArray[np.int64]

MOST_LEVELS = 8  # more distinct labels of a judge are grouped into this many bins
PENALTIES = (1.0, 4.0, 16.0, 64.0, 256.0)  # strength of the prior that labels say nothing, in judgments


class Predictions(NamedTuple):
    """Predicted gains: of every document, and of the judged ones without their own judgment."""

    of_all: Floats  # (document, gain)
    of_judged: Floats  # (judged document, gain)


def label_indicators(labels: Floats) -> Floats:
    """(document, column): Return 0/1 columns for the labels of all judges; NaN is a level of its own.

    `labels` has a row for each judge.
    """
    columns = []
    for own in labels:
        known = own[~np.isnan(own)]
        levels = np.unique(known)
        if len(levels) > MOST_LEVELS:
            levels = np.unique(np.quantile(known, np.arange(MOST_LEVELS) / MOST_LEVELS))
        level = np.where(np.isnan(own), -1, np.searchsorted(levels, own, side="right") - 1)
        columns += [level == number for number in range(-1, len(levels)) if (level == number).any()]
    return np.stack(columns, axis=1).astype(np.float64)


def predict(indicators: Floats, judged: Places, gains: Floats, weights: Floats) -> Predictions:
    """Return the predicted gains by weighted ridge regression on the labels' indicators.

    `gains` has a row for each judged document. The weights say how much each judged document matters to the
    variance of the estimates. The prediction of a judged document leaves it out (in closed form). The penalty
    is the one with the smallest weighted error of these predictions.
    """
    total = weights.sum()
    weight = weights / total * len(weights) if total > 0 else np.ones(len(weights))
    design = np.concatenate([np.ones((len(indicators), 1)), indicators], axis=1)
    own = design[judged]
    gram = own.T @ (own * weight[:, None])
    moments = own.T @ (gains * weight[:, None])
    best: tuple[float, Floats, Floats] | None = None
    for penalty in PENALTIES:
        ridge = np.full(design.shape[1], penalty)
        ridge[0] = 1e-9
        inverse = np.linalg.inv(gram + np.diag(ridge))
        coefficients = inverse @ moments
        leverage = weight * np.einsum("ij,jk,ik->i", own, inverse, own)
        error = (gains - own @ coefficients) / np.maximum(1 - leverage, 1e-6)[:, None]
        loss = float((weight[:, None] * error**2).sum())
        if best is None or loss < best[0]:
            best = (loss, coefficients, error)
    if best is None:  # pragma: no cover - there are penalties
        raise AssertionError
    return Predictions(design @ best[1], gains - best[2])
