"""The options of `sounding evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand


@declare.options
class EvaluateOptions(declare.PolicyOptions, declare.ReadingOptions):
    """The options of `sounding evaluate`."""

    qrels: str = declare.qrels
    runs: tuple[str, ...] = declare.runs
    measures: tuple[str, ...] = declare.measures(
        "Compute measure M, such as nDCG@10, P.5,10 or map; repeatable;"
        " default: AP, nDCG@10, P@10, RR and R@1000."
    )
    per_topic: bool = declare.flag("Show the value of every topic as well.", spelled="-q --per-topic")
    level: float = declare.number(
        "Count grades from this one up as relevant, unless the measure sets its own.",
        default=1,
        spelled="-l --level",
    )
    residual: str | None = declare.text(
        "Remove documents that were judged in QRELS, an earlier round.", metavar="QRELS"
    )
    judgment_groups: bool = declare.flag("Average over judgment groups (second column of the qrels).")
    z_scores: str | None = declare.text(
        "Standardize values by FILE (columns: topic, measure, mean, deviation).", metavar="FILE"
    )
    by: str | None = declare.text(
        "Show one table per group of topics; FILE has lines of topic <TAB> group.", metavar="FILE"
    )
    baseline: str | None = declare.text(
        "Mark values that differ significantly from those of RUN.", metavar="RUN"
    )
    stats: bool = declare.flag("Show standard deviation, standard error and geometric mean as well.")
    top: int | None = declare.count("Show only the N best runs.")
    chart: Path | None = declare.chart("Draw the runs with confidence intervals and judged shares")
    participant_files: Path | None = declare.option(
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Write one file for each run (or for each group named in --info) with its values beside the"
        " best, median and worst.",
    )
    _formats: ClassVar[declare.Declaration] = declare.formats
    into: Path | None = declare.option(
        type=click.Path(file_okay=False, path_type=Path),
        metavar="DIR",
        help="Store the results of each run in DIR as Parquet, and reuse those already there.",
    )


@click.command("evaluate", cls=GroupedCommand, short_help="Score runs against judgments.")
@declare.taking(EvaluateOptions)
@declare.workers
@declare.pool
@declare.policies()
@declare.output_options("trec")
def command(options: EvaluateOptions) -> None:
    """Score RUNs against QRELS, and show how much of each ranking was judged.

    Values are those of trec_eval -c: means over all judged topics. A RUN is a file, a folder, a glob,
    or - for standard input, in TREC format, CSV, JSON or Parquet, compressed or not.

    \b
    sounding evaluate qrels.txt bm25.txt dense.txt -m AP -m nDCG@20 -m 'RBP(p=0.8)'
    sounding evaluate qrels.txt runs/ -m official --per-topic --format trec
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
