"""Tied scores, and how far the rule that orders them moves runs: Lu et al. (2016), Table 6."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sounding.core.policies import DEFAULT_POLICIES, Policies, Ties
from sounding.core.workers import Progress
from sounding.data.reading import map_runs
from sounding.data.tables import Qrels, Run, single_precision
from sounding.measures import Measure
from sounding.measures.summaries import mean_over_topics
from sounding.runs.align import Judged, align, prepare, treat_unjudged
from sounding.runs.ranking import Values
from sounding.statistics.rankings import kendall_tau

if TYPE_CHECKING:
    import polars

TOP = 20  # documents among which ties are counted
RULES: tuple[Ties, ...] = ("trec", "file", "average")
PERSISTENCE = 0.8  # of the RBP that Table 6 is about


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class TiedScores:
    """How many of the first documents share a score, and what each rule for them makes of the runs."""

    runs: tuple[str, ...]
    measure: Measure
    top: int
    shares: Values  # (run, topic) of the first documents, those that share a score with another of them
    rules: tuple[Ties, ...]
    means: Values  # (run, rule)
    tau: Values  # (rule, rule) between the orders of runs; NaN: not defined

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
        """One row a run: mean share of tied documents, and its value under every rule."""
        import polars

        known = ~np.isnan(self.shares)
        count = known.sum(axis=1)
        total = np.where(known, self.shares, 0.0).sum(axis=1)
        mean = np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0)
        values = {str(rule): self.means[:, place] for place, rule in enumerate(self.rules)}
        return polars.DataFrame(
            {"run": self.runs, "tied_share": mean} | values, schema_overrides={"run": polars.String}
        )


def tied_scores(
    qrels: Qrels,
    runs: Any,
    names: tuple[str, ...],
    *,
    level: float = 1,
    policies: Policies = DEFAULT_POLICIES,
    run_format: str | None = None,
    jobs: int | None = 1,
    progress: Progress | None = None,
) -> TiedScores:
    """Ties of every run, and RBP(p=0.8) with tied documents by id, in the order of lines, and averaged.

    `file` takes the lines as they stand, scores ignored: what the paper calls document-occurrence order.
    At a `level` above 1 RBP is binary: grades of that level and above are relevant.
    """
    judged = prepare(qrels, policies)
    measure = Measure.of("RBP", p=PERSISTENCE) if level == 1 else Measure.of("RBP", p=PERSISTENCE, rel=level)

    def work(run: Run) -> tuple[Values, Values]:
        values = [_values(run, judged, measure, replace(policies, ties=rule)) for rule in RULES]
        return mean_over_topics(np.array(values)), _shares(run, qrels.topics, policies)

    # The rank column is no rule of Table 6, and a run that has none good enough has its ties all the same.
    plain = replace(policies, ties="trec")
    read = map_runs(work, runs, plain, run_format=run_format, jobs=jobs, progress=progress)
    means = np.array([one for one, _ in read.results])
    tau = [[kendall_tau(means[:, first], means[:, second]) for second in range(len(RULES))]
           for first in range(len(RULES))]  # fmt: skip
    return TiedScores(
        runs=names, measure=measure, top=TOP, shares=np.array([share for _, share in read.results]),
        rules=RULES, means=means, tau=np.array(tau),
    )  # fmt: skip


def _values(run: Run, judged: Judged, measure: Measure, policies: Policies) -> Values:
    """(topic,): a run's values under one rule; NaN where a topic is skipped."""
    ranking = align(run, judged, policies)
    values = measure(treat_unjudged(ranking, policies)).copy()
    if policies.missing == "skip":
        values[ranking.missing] = np.nan
    return values


def _shares(run: Run, topics: tuple[str, ...], policies: Policies) -> Values:
    """(topic,): the share of the best-scored documents that share their score with another of them."""
    place = {topic: number for number, topic in enumerate(topics)}
    shares = np.full(len(topics), np.nan)
    scores = single_precision(run.scores) if policies.compat == "trec_eval-9" else run.scores
    for topic, begin, end in zip(run.topics, run.starts[:-1].tolist(), run.starts[1:].tolist(), strict=True):
        if topic in place and end > begin:
            best = np.sort(scores[begin:end])[::-1][:TOP]
            same = best[1:] == best[:-1]
            tied = np.append(same, False) | np.append(False, same)
            shares[place[topic]] = tied.mean()
    return shares
