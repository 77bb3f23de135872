"""Analysis of variance over all runs, then pairs with the pooled error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sounding.compare import student
from sounding.compare.pairs import DIGITS
from sounding.compare.registry import Floats, Omnibus, Outcome, Request, pair_test


@dataclass(frozen=True, slots=True, eq=False)
class Variance:
    """A table of values (run, topic) taken apart; every run has every topic."""

    omnibus: Omnibus
    mean_square: float  # of the error
    topics: int

    @property
    def standard_error(self) -> float:
        """Of the difference between the means of two runs."""
        return float(np.sqrt(2 * self.mean_square / self.topics))


def one_way(values: Floats) -> Variance:
    """Runs against the spread within runs; topics are taken as independent for every run."""
    runs, topics = values.shape
    means = values.mean(axis=1, keepdims=True)
    return _variance(values, values - means, means, runs * (topics - 1))


def two_way(values: Floats) -> Variance:
    """Runs against what is left when topics are taken out as blocks."""
    runs, topics = values.shape
    means = values.mean(axis=1, keepdims=True)
    left = values - means - values.mean(axis=0, keepdims=True) + values.mean()
    return _variance(values, left, means, (runs - 1) * (topics - 1))


def _variance(values: Floats, left: Floats, means: Floats, df_error: int) -> Variance:
    from scipy.special import fdtrc

    runs, topics = values.shape
    grid = np.abs(values).max() * 10.0**-DIGITS
    between = float(topics * np.sum((means - values.mean()) ** 2) / (runs - 1))
    error = float(np.sum(left**2) / df_error)
    # What is smaller than the rounding of the values is nothing.
    between = 0.0 if between <= topics * grid**2 else between
    error = 0.0 if error <= grid**2 else error
    if error > 0:
        f = between / error
        p = float(fdtrc(runs - 1, df_error, f))
    else:
        f, p = (0.0, 1.0) if between == 0 else (np.inf, 0.0)
    omnibus = Omnibus(f=f, df_runs=runs - 1, df_error=df_error, p=max(p, float(np.finfo(np.float64).tiny)))
    return Variance(omnibus, error, topics)


@pair_test("anova", correction="bonferroni", whole_topics=True)
def anova(request: Request) -> Outcome:
    """One-way analysis of variance, then t tests with the pooled error (Baillie et al.).

    The pairs count only if the omnibus F test rejects.
    """
    return _pooled(request, one_way(request.values), "one-way ANOVA")


@pair_test("anova2", correction="bonferroni", whole_topics=True)
def anova2(request: Request) -> Outcome:
    """Two-way analysis of variance with topics as blocks, then t tests with the pooled error.

    The pairs count only if the omnibus F test rejects.
    """
    return _pooled(request, two_way(request.values), "two-way ANOVA (runs, topics)")


def pooled_t(request: Request, variance: Variance, alpha: float) -> tuple[Floats, Floats, Floats]:
    """(pair,) each: difference of means, p of its t with the pooled error, half-width of its interval."""
    means = request.values.mean(axis=1)
    gaps = np.round(means[request.pairs[:, 0]] - means[request.pairs[:, 1]], request.decimals)
    error = variance.standard_error
    if error == 0:
        return gaps, np.ones(len(gaps)), np.full(len(gaps), np.inf)
    df = variance.omnibus.df_error
    reach = float(student.critical(alpha, df)) * error
    return gaps, student.two_sided(gaps / error, df), np.full(len(gaps), reach)


def _pooled(request: Request, variance: Variance, name: str) -> Outcome:
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
        p=p, low=gaps - reach, high=gaps + reach, adjusted=adjusted, omnibus=f,
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
    """Half-width of an interval about each run's mean, so that runs with disjoint intervals differ.

    For so many pairs at once by Bonferroni, with the pooled error: t(1 - alpha / 2 pairs) s / sqrt(2 topics),
    the error bars of Baillie et al.
    """
    variance = two_way(values) if topics_as_blocks else one_way(values)
    critical = float(student.critical(alpha / pairs, variance.omnibus.df_error))
    return critical * variance.standard_error / 2
