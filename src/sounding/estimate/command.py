"""The options of `sounding estimate`."""

from __future__ import annotations

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand


@declare.options
class EstimateOptions(declare.RankingAndGradeOptions, declare.FileOptions):
    """The options of `sounding estimate`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    labels: tuple[str, ...] = declare.texts(
        "Read machine labels from FILE; repeatable.", metavar="FILE", spelled="--labels"
    )
    judges: tuple[str, ...] = declare.texts(
        "Name the machine that made the labels of a file that does not say so, such as qrels; repeatable, in"
        " order. Without --labels, name the assessors of QRELS who are machines.",
        metavar="NAME",
        spelled="--judge",
    )
    measures: tuple[str, ...] = declare.measures(
        "Estimate measure M: P, RBP, DCG, SDCG or ERR, or any if topics were judged whole; repeatable."
        "  [default: P@10, RBP, DCG@10]"
    )
    level: float = declare.number(
        "Count grades from this one up as relevant, unless the measure sets its own.",
        default=1,
        spelled="-l --level",
    )
    all_pairs: bool = declare.flag("Show the differences between all pairs of runs.")
    alpha: float = declare.alpha("Set the significance level; intervals have a confidence of 1 - alpha.")
    seed: int = declare.seed()


@click.command(
    "estimate", cls=GroupedCommand, short_help="Estimate values from few judgments and machine labels."
)
@declare.taking(EstimateOptions)
@declare.ranking_and_grades
@declare.formats
@declare.workers
@declare.output_options()
def command(options: EstimateOptions) -> None:
    """Estimate how RUNs would score if people judged every document, from a sample and machine labels.

    QRELS holds people's judgments of a random sample of the labeled documents, with the probability of
    each (prels, a probability column, or strata), or of all labeled documents of some topics that chance
    chose. The intervals are valid however wrong the labels are;
    better labels make them narrower.

    \b
    sounding estimate prels.txt runs/ --labels labels.tsv
    sounding estimate prels.txt runs/ --labels umbrela.qrels --judge gpt-4 -m 'P(rel=2)@10' --all-pairs
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
