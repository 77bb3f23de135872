"""Paired tests in closed form: t and sign."""

from __future__ import annotations

import numpy as np

from sounding.compare import student
from sounding.compare.pairs import Differences
from sounding.compare.registry import Floats, Outcome, Request, pair_test


@pair_test("t", needs_spread=True)
def paired_t(request: Request) -> Outcome:
    """Paired t test on the mean difference.

    Differences that are all equal leave no error to compare with: p = 1 and no limits.
    """
    p, low, high = np.empty((3, len(request.pairs)))
    for rows, gaps in request.differences():
        p[rows], low[rows], high[rows] = _t(gaps, request.alpha)
    return Outcome(p=p, low=low, high=high, method="paired t test", interval="of the mean, by t")


def _t(gaps: Differences, alpha: float) -> tuple[Floats, Floats, Floats]:
    df = np.maximum(gaps.topics - 1, 1)
    error = np.sqrt(gaps.squares / df / np.maximum(gaps.topics, 1))
    tested = (gaps.topics > 1) & (error > 0)
    same = (gaps.topics > 1) & (error == 0) & (gaps.mean == 0)
    p = np.where(tested, student.two_sided(student.ratio(gaps.mean, error), df), 1.0)
    # At a very small alpha the critical value is infinite, and no number times 0.
    half = student.critical(alpha, df) * np.where(tested, error, 1.0)
    reach = np.where(tested, half, np.where(same, 0.0, np.inf))
    return p, gaps.mean - reach, gaps.mean + reach


@pair_test("sign", by_signs=True)
def sign(request: Request) -> Outcome:
    """Sign test on the median difference, ties left out.

    The interval is that of the median between two order statistics, ties included: at least 1 - alpha.
    """
    from scipy.special import bdtr

    p, low, high = np.empty((3, len(request.pairs)))
    for rows, gaps in request.differences():
        wins = np.count_nonzero(gaps.values > 0, axis=1)
        losses = np.count_nonzero(gaps.values < 0, axis=1)
        p[rows] = np.minimum(1.0, 2 * bdtr(np.minimum(wins, losses), wins + losses, 0.5))
        low[rows], high[rows] = _median_interval(gaps, request.alpha)
    return Outcome(
        p=p, low=low, high=high,
        method="sign test (exact binomial, ties dropped)",
        interval="of the median difference, not of the mean: from order statistics", centre="median",
        least=float(0.5 ** (request.values.shape[1] - 1)),
    )  # fmt: skip


def _median_interval(gaps: Differences, alpha: float) -> tuple[Floats, Floats]:
    """From the k-th smallest to the k-th largest difference, k as large as alpha allows."""
    from scipy.special import bdtr

    ordered = gaps.ascending()
    low = np.full(len(ordered), -np.inf)
    high = np.full(len(ordered), np.inf)
    for topics in np.unique(gaps.topics).tolist():
        k = int(np.count_nonzero(bdtr(np.arange(topics), topics, 0.5) <= alpha / 2))
        if k > 0:
            rows = gaps.topics == topics
            low[rows] = ordered[rows, k - 1]
            high[rows] = ordered[rows, topics - k]
    return low, high
