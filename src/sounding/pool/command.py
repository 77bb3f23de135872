"""The options of `sounding pool`."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

LINES = "lines"  # topic doc
QRELS = "qrels"  # topic 0 doc grade


@declare.options
class PoolingOptions(declare.RankingOptions, declare.FileOptions):
    """The options of `sounding pool`."""

    runs: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="RUN...")
    info: str | None = declare.text(
        "Read groups and contributing runs (columns: run, group, kind, priority, pooled).", metavar="FILE"
    )
    only: tuple[str, ...] = declare.only
    depth: int = declare.count("Pool each run down to this depth.", default=100)
    runs_per_group: int | None = declare.count("Pool at most N runs per group, by priority.", metavar="N")
    strategy: str | None = declare.text(
        "Choose documents by strategy S, listed below; with --simulate, several separated by commas."
        "  [default: depth; rank with --budget or --batches]",
        metavar="S",
    )
    method: str | None = declare.choice(
        ("paper",), "Use the prior 0.5 and the selection of Carterette et al. (2006) for mtc."
    )
    budget: int | None = declare.count(
        "List the N documents to judge next; judged ones do not count.", metavar="N"
    )
    batches: int | None = declare.count("List the next N documents of each topic, shuffled.", metavar="N")
    rate: float | None = declare.number(
        "Sample this share of each pool (with --strategy uniform-sample or weighted-sample).  [default: 0.1]",
        metavar="R",
    )
    strata: str | None = declare.text(
        "Set the last pool rank and the sampling rate of each stratum (with --strategy stratified-sample).",
        metavar="K:R,...",
    )
    p: float | None = declare.number(
        "Set the persistence of RBP for weights and residuals.  [default: 0.8]", spelled="-p"
    )
    level: float | None = declare.number(
        "Count grades from G up as relevant.  [default: 1]", metavar="G", spelled="-l --level"
    )
    labels: tuple[str, ...] = declare.texts(
        "Draw only documents that have a label in FILE (with --strategy for-estimate); repeatable.",
        metavar="FILE",
        spelled="--labels",
    )
    judges: tuple[str, ...] = declare.judges
    measures: tuple[str, ...] = declare.measures(
        "Aim the sample at measure M (with --strategy for-estimate); repeatable.  [default: P@10, RBP,"
        " DCG@10]"
    )
    pair: tuple[str, str] | None = declare.option(
        nargs=2,
        metavar="A B",
        help="Aim the sample at the difference of runs A and B (with --strategy for-estimate).",
    )
    seed: int = declare.seed()
    qrels: str | None = declare.text("Read existing judgments from FILE.", metavar="FILE")
    pool_depth: int | None = declare.count(
        "Keep only the judgments of --qrels that a pool of depth D would contain.", metavar="D"
    )
    simulate: bool = declare.flag("Replay the judgments of --qrels, document by document.")
    summary: bool = declare.flag("Show what the pool costs and covers, instead of its documents.")
    chart: Path | None = declare.chart("Draw what --summary or --simulate shows")
    max_residual: float | None = declare.number(
        "Find the pool depth for a mean RBP residual of at most X.", metavar="X"
    )
    seconds: float = declare.seconds


class PoolCommand(GroupedCommand):
    """A command whose help lists the strategies."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the strategies below the options."""
        from sounding.selection.strategies import STRATEGIES  # NumPy, which the command itself does without

        with formatter.section("Strategies"):
            rows = [(kind.name, kind.title) for kind in STRATEGIES.values()]
            rows.append(("for-estimate", "A random sample that makes the intervals of estimate narrow"))
            formatter.write_dl(rows)


@click.command("pool", cls=PoolCommand, short_help="Choose which documents to judge.")
@declare.taking(PoolingOptions)
@declare.ranking
@declare.formats
@declare.workers
@declare.output_options(LINES, QRELS, "tsv", otherwise="lines of topic and doc, or a table")
def command(options: PoolingOptions) -> None:
    """Choose which documents of RUNs to judge, and see what that costs and covers.

    The output has one `topic doc` per line, sorted by doc id; the number of documents and the judging
    time go to stderr. By default the list is the pool: the first --depth documents of each contributing run.
    -o FILE.qrels writes a template to fill in.

    \b
    sounding pool runs/ --info info.tsv --depth 50 > to-judge.txt
    sounding pool runs/ --info info.tsv --summary
    sounding pool runs/ --depth 50 -o to-judge.qrels
    sounding pool runs/ --qrels so-far.txt --budget 200 -o next.qrels
    sounding pool runs/ --strategy stratified-sample --strata 10:1,100:0.1 --seed 7 > to-judge.txt
    sounding pool runs/ --strategy for-estimate --budget 300 --labels labels.tsv -o sample.tsv
    sounding pool runs/ --qrels qrels.txt --simulate --strategy depth,rank,mtf
    """  # noqa: D301 - click wants the control character
    declare.run_flow(options)
