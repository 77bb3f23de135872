"""Analysis of variance over all runs, pairwise tests with the pooled error, and Tukey's HSD."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sounding.core.arrays import NDArray
from sounding.core.lazy import special, stats
from sounding.runs.pairs import DIGITS, KnownLimits, blocks
from sounding.statistics import testing as student
from sounding.statistics.testing import Floats, Omnibus, Outcome, PairedSample


@dataclass(frozen=True, slots=True, eq=False)
class Variance:
    """The analysis of a complete table of values (run, topic)."""

    omnibus: Omnibus
    mean_square: float  # of the error
    topics: int

    @property
    def standard_error(self) -> float:
        """The standard error of the difference between the means of two runs."""
        return float(np.sqrt(2 * self.mean_square / self.topics))


def one_way(values: Floats) -> Variance:
    """Compare runs with the spread within runs; topics count as independent samples for every run."""
    runs, topics = values.shape
    means = values.mean(axis=1, keepdims=True)
    return _variance(values, values - means, means, runs * (topics - 1))


def two_way(values: Floats) -> Variance:
    """Compare runs with the residual after removing topics as blocks."""
    runs, topics = values.shape
    means = values.mean(axis=1, keepdims=True)
    left = values - means - values.mean(axis=0, keepdims=True) + values.mean()
    return _variance(values, left, means, (runs - 1) * (topics - 1))


def _variance(values: Floats, left: Floats, means: Floats, df_error: int) -> Variance:
    runs, topics = values.shape
    grid = np.abs(values).max() * 10.0**-DIGITS
    between = float(topics * np.sum((means - values.mean()) ** 2) / (runs - 1))
    error = float(np.sum(left**2) / df_error)
    # Anything smaller than the rounding of the values counts as zero.
    between = 0.0 if between <= topics * grid**2 else between
    error = 0.0 if error <= grid**2 else error
    if error > 0:
        f = between / error
        p = float(special.fdtrc(runs - 1, df_error, f))
    else:
        f, p = (0.0, 1.0) if between == 0 else (np.inf, 0.0)
    omnibus = Omnibus(f=f, df_runs=runs - 1, df_error=df_error, p=max(p, float(np.finfo(np.float64).tiny)))
    return Variance(omnibus, error, topics)


def anova(request: PairedSample) -> Outcome:
    """One-way analysis of variance, then t tests with the pooled error (Baillie et al.).

    The pairs count only if the omnibus F test rejects.
    """
    return _pooled(request, one_way(request.values), "one-way ANOVA")


def anova2(request: PairedSample) -> Outcome:
    """Two-way analysis of variance with topics as blocks, then t tests with the pooled error.

    The pairs count only if the omnibus F test rejects.
    """
    return _pooled(request, two_way(request.values), "two-way ANOVA (runs, topics)")


def pooled_t(request: PairedSample, variance: Variance, alpha: float) -> tuple[Floats, Floats, Floats]:
    """(pair,) each: Return the difference of means, its p by t with the pooled error, and its half-width."""
    means = request.values.mean(axis=1)
    gaps = np.round(means[request.pairs[:, 0]] - means[request.pairs[:, 1]], request.decimals)
    error = variance.standard_error
    if error == 0:
        return gaps, np.ones(len(gaps)), np.full(len(gaps), np.inf)
    df = variance.omnibus.df_error
    reach = float(student.critical(alpha, df)) * error
    return gaps, student.two_sided(gaps / error, df), np.full(len(gaps), reach)


def _pooled(request: PairedSample, variance: Variance, name: str) -> Outcome:
    count = len(request.pairs)
    joint = request.correction == "bonferroni"
    gaps, p, reach = pooled_t(request, variance, request.alpha / count if joint else request.alpha)
    f = variance.omnibus
    adjusted, silent = None, ""
    if f.p > request.alpha:
        adjusted = np.ones(count)
        silent = (
            f"the omnibus F test does not reject (F = {f.f:.4g} on {f.df_runs} and {f.df_error}"
            f" degrees of freedom, p = {f.p:.4g}): pairs are not tested"
        )
    return Outcome(
        p=p, limits=KnownLimits(np.stack([gaps - reach, gaps + reach])), adjusted=adjusted, omnibus=f,
        error=np.full(count, variance.standard_error), df_error=f.df_error, silent=silent,
        no_error=variance.mean_square == 0,
        method=f"{name}: omnibus F first, then t tests with the pooled error",
        interval=(
            "of the mean, by t with the pooled error"
            + (f", for all {count:,} pairs at once" if joint and count > 1 else "")
        ),
    )  # fmt: skip


def comparison_half_width(
    values: Floats, *, alpha: float, pairs: int, topics_as_blocks: bool = False
) -> float:
    """Return the half-width of intervals about the runs' means; runs with disjoint intervals differ.

    For `pairs` pairs at once by Bonferroni, with the pooled error: t(1 - alpha / 2 pairs) s / sqrt(2 topics),
    the error bars of Baillie et al.
    """
    variance = two_way(values) if topics_as_blocks else one_way(values)
    critical = float(student.critical(alpha / pairs, variance.omnibus.df_error))
    return critical * variance.standard_error / 2


NODES = 40  # points where the studentized range is integrated; more pairs are interpolated
TAIL = 1e-8  # below it the error of the integration shows


def tukey(request: PairedSample) -> Outcome:
    """Tukey's HSD with topics as blocks (two-way), simultaneous over all pairs of runs."""
    variance = two_way(request.values)
    df = variance.omnibus.df_error
    runs = len(request.values)
    gaps, p, _ = pooled_t(request, variance, request.alpha)
    error = variance.standard_error
    adjusted, reach = np.ones(len(gaps)), np.inf
    if error > 0:
        q = np.abs(gaps) / error * np.sqrt(2)
        adjusted = np.maximum(range_p(q, p, runs, df), p)
        reach = critical_q(request.alpha, runs, df) * error / np.sqrt(2)
    return Outcome(
        p=p, limits=KnownLimits(np.stack([gaps - reach, gaps + reach])), adjusted=adjusted,
        error=np.full(len(gaps), error), df_error=df, no_error=error == 0,
        method=f"Tukey's HSD (two-way, {runs} runs); p of a pair by itself from its t with the pooled error",
        interval="of the mean, by Tukey's range for all pairs of runs at once",
    )  # fmt: skip


@lru_cache(maxsize=64)
def critical_q(alpha: float, runs: int, df: int) -> float:
    """Return the studentized range of `runs` runs that is exceeded with probability alpha."""
    return float(stats.studentized_range.ppf(1 - alpha, runs, df))


def range_p(q: Floats, pair_p: Floats, runs: int, df: int) -> Floats:
    """Return the probability that the studentized range of `runs` runs reaches q.

    `pair_p` is that of each pair alone. The probability is exact at a few points and interpolated by a
    polynomial of its logarithm. In the far tail the sum over pairs is used, scaled to be continuous, because
    two pairs hardly ever differ that much together.
    """
    places, back = np.unique(q, return_inverse=True)
    alone = np.empty(len(places))
    alone[back] = pair_p
    everyone = runs * (runs - 1) / 2
    near = alone * everyone > TAIL
    chance = np.ones(len(places))
    if near.any():
        chance[near] = _range_tail(places[near], runs, df)
        last = np.flatnonzero(near)[-1]
        chance[~near] = chance[last] * alone[~near] / alone[last]
    else:
        chance = alone * everyone
    return np.minimum(chance[back], 1.0)


def _range_tail(q: Floats, runs: int, df: int) -> Floats:
    from numpy.polynomial.chebyshev import Chebyshev, chebpts1

    if len(q) <= NODES:
        return np.asarray(stats.studentized_range.sf(q, runs, df), np.float64)
    low, high = float(q[0]), float(q[-1])
    nodes = (low + high + (high - low) * chebpts1(NODES)) / 2
    heights = np.log(stats.studentized_range.sf(nodes, runs, df))
    curve = Chebyshev.fit(nodes, heights, NODES - 1, domain=[low, high])
    # Near a probability of 1 the polynomial may oscillate; a larger q is never more likely.
    return np.minimum.accumulate(np.minimum(np.exp(curve(q)), 1.0))


def randomized_tukey(request: PairedSample) -> Outcome:
    """Randomized Tukey HSD: runs shuffled within topics (Carterette 2012).

    A pair is compared with the largest difference between any two runs after a shuffle.
    """
    means = request.values.mean(axis=1)
    a, b = request.pairs.T
    gaps = np.round(means[a] - means[b], request.decimals)
    slack = 10.0**-request.decimals
    ranges = np.empty(request.permutations)
    reached = np.zeros(len(gaps), np.int64)
    for rows in blocks(request.permutations, request.values.size):
        shuffled = shuffled_means(request.values, rows.stop - rows.start, request.rng)
        ranges[rows] = np.ptp(shuffled, axis=1)
        for part in blocks(len(gaps), len(shuffled)):
            apart = np.abs(shuffled[:, a[part]] - shuffled[:, b[part]])
            reached[part] += np.count_nonzero(apart >= np.abs(gaps[part]) - slack, axis=0)
    ranges.sort()
    further = len(ranges) - np.searchsorted(ranges, np.abs(gaps) - slack, side="left")
    reach = _critical_range(ranges, request.alpha)
    arrangements = 1 + len(ranges)
    return Outcome(
        p=(1 + reached) / arrangements, limits=KnownLimits(np.stack([gaps - reach, gaps + reach])),
        adjusted=(1 + further) / arrangements, least=1 / arrangements, drawn=request.permutations,
        method=f"randomized Tukey HSD ({len(ranges):,} shuffles of runs within topics, {request.seed})",
        interval="of the mean, from the shuffled range for all pairs of runs at once",
    )  # fmt: skip


def shuffled_means(values: Floats, count: int, rng: np.random.Generator) -> Floats:
    """(shuffle, run): Return the runs' means after shuffling their values (run, topic) within every topic."""
    tables: NDArray[np.float64] = np.tile(values.T, (count, 1))
    rng.permuted(tables, axis=1, out=tables)
    return tables.reshape(count, values.shape[1], values.shape[0]).mean(axis=1)


def _critical_range(ordered: Floats, alpha: float) -> float:
    """Return the difference that must be exceeded for an adjusted p of at most alpha; infinite: none."""
    k = int(np.floor((len(ordered) + 1) * alpha + 1e-9))
    return float(ordered[-k]) if k > 0 else np.inf
