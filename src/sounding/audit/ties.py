"""Tied scores, and how far the rule that orders them moves runs: Lu et al. (2016), Table 6."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np

from sounding.audit.judged_runs import RULES, TOP, JudgedRuns
from sounding.core.errors import DataError
from sounding.core.lazy import polars
from sounding.core.policies import Ties
from sounding.measures import Measure
from sounding.measures.summaries import mean_over_topics
from sounding.runs.ranking import Counts, Values
from sounding.statistics.rank_correlation import kendall_tau

PERSISTENCE = 0.8  # of the RBP that Table 6 is about


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TiedScores:
    """Number of first documents that share a score, and the effect of each tie rule on the runs."""

    runs: tuple[str, ...]
    measure: Measure
    top: int
    shares: Values  # (run, topic) of the first documents, those that share a score with another of them
    rules: tuple[Ties, ...]
    means: Values  # (run, rule)
    tau: Values  # (rule, rule) between the orders of runs; NaN: not defined

    def of_runs(self, kept: Collection[str]) -> TiedScores:
        """Return the same of some runs, with tau among them."""
        rows = np.array([run in kept for run in self.runs], np.bool_)
        runs = tuple(run for run in self.runs if run in kept)
        means = self.means[rows]
        return replace(self, runs=runs, shares=self.shares[rows], means=means, tau=_taus(means))

    def median_share(self) -> float:
        """The median share over runs and topics that have a tie; NaN: nothing is tied."""
        tied = self.shares[self.shares > 0]
        return float(np.median(tied)) if len(tied) else np.nan

    def with_ties(self) -> float:
        """The share of lists that have a tie among their first documents; NaN: there are no lists."""
        known = self.shares[~np.isnan(self.shares)]
        return float((known > 0).mean()) if len(known) else np.nan

    @property
    def frame(self) -> polars.DataFrame:
        """Return one row per run: mean share of tied documents, and its value under every rule."""
        known = ~np.isnan(self.shares)
        count = known.sum(axis=1)
        total = np.where(known, self.shares, 0.0).sum(axis=1)
        mean = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
        values = {str(rule): self.means[:, place] for place, rule in enumerate(self.rules)}
        return polars.DataFrame(
            {"run": self.runs, "tied_share": mean} | values, schema_overrides={"run": polars.String}
        )


def tied_scores(runs: JudgedRuns) -> TiedScores:
    """Ties of every run, and RBP(p=0.8) with tied documents by id, in the order of lines, and averaged.

    `file` takes the lines as they stand, scores ignored: what the paper calls document-occurrence order.
    At a level above 1 RBP is binary: grades of that level and above are relevant. New runs are left out.
    """
    if runs.tied is None:
        raise DataError("the runs were read without their scores; read them with read_judged_runs()")
    level, old = runs.level, (~runs.new).nonzero()[0]
    measure = Measure.of("RBP", p=PERSISTENCE) if level == 1 else Measure.of("RBP", p=PERSISTENCE, rel=level)
    means = np.stack([mean_over_topics(_values(runs, rule, measure, old)) for rule in RULES], axis=1)
    return TiedScores(
        runs=tuple(runs.runs[run] for run in old), measure=measure, top=TOP, shares=runs.tied[old],
        rules=RULES, means=means, tau=_taus(means),
    )  # fmt: skip


def _taus(means: Values) -> Values:
    """(rule, rule): Kendall's tau between the orders of runs; `means` is (run, rule)."""
    rules = range(means.shape[1])
    return np.array([[kendall_tau(means[:, one], means[:, other]) for other in rules] for one in rules])


def _values(runs: JudgedRuns, rule: Ties, measure: Measure, chosen: Counts) -> Values:
    """(run, topic): values under one rule; NaN where a topic is skipped."""
    if rule != runs.policies.ties:
        runs = replace(
            runs, retrieved=runs.retrieved.by_rule(rule), policies=replace(runs.policies, ties=rule)
        )
    return runs.values([measure], runs.view(), chosen)[:, 0]
