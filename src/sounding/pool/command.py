"""`sounding pool`: its options."""

from __future__ import annotations

from pathlib import Path

import click

from sounding.terminal import declare
from sounding.terminal.help import GroupedCommand

LINES = "lines"  # topic doc
QRELS = "qrels"  # topic 0 doc grade


@declare.options
class PoolingOptions(declare.RankingOptions, declare.FileOptions):
    """What `sounding pool` is asked for."""

    runs: tuple[str, ...] = declare.argument(nargs=-1, required=True, metavar="RUN...")
    info: str | None = declare.text("Groups and pooled runs: run group kind priority pooled.", metavar="FILE")
    depth: int = declare.count("Documents of a run.", default=100)
    per_group: int | None = declare.count("Runs of a group, by priority.", metavar="N")
    strategy: str | None = declare.text(
        "How documents are chosen; listed below. With --simulate several: S,S.  [default: depth; rank with"
        " --budget or --batches]",
        metavar="S",
    )
    budget: int | None = declare.count("List the N next documents to judge.", metavar="N")
    batches: int | None = declare.count("The next N of each topic, shuffled.", metavar="N")
    rate: float | None = declare.number("Share of the pool that a sample draws.", metavar="R")
    strata: str | None = declare.text(
        "Strata of a sample: last pool rank and rate of each.", metavar="K:R,..."
    )
    p: float | None = declare.number(
        "Persistence of RBP, for weights and residuals.  [default: 0.8]", spelled="-p"
    )
    level: float | None = declare.number(
        "Lowest relevant grade.  [default: 1]", metavar="G", spelled="-l --level"
    )
    seed: int = declare.seed()
    qrels: str | None = declare.text("What has been judged already.", metavar="FILE")
    pool_depth: int | None = declare.count(
        "Of --qrels, only what a pool of this depth would have had.", metavar="D"
    )
    simulate: bool = declare.flag("Replay the judging of --qrels, document by document.")
    summary: bool = declare.flag("What the pool costs and covers, instead of the pool.")
    chart: Path | None = declare.chart("Draw what --summary or --simulate shows")
    residual: float | None = declare.number("The depth for a mean RBP residual of X.", metavar="X")
    seconds: float = declare.seconds


class PoolCommand(GroupedCommand):
    """A command whose help names every strategy."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the strategies that are known."""
        from sounding.selection.strategies import STRATEGIES  # NumPy, which the command itself does without

        with formatter.section("Strategies"):
            formatter.write_dl([(kind.name, kind.title) for kind in STRATEGIES.values()])


@click.command("pool", cls=PoolCommand, short_help="What to judge.")
@declare.taking(PoolingOptions)
@declare.ranking
@declare.formats
@declare.workers
@declare.output_options(LINES, QRELS, "tsv", otherwise="lines of topic and doc, or a table")
def command(options: PoolingOptions) -> None:
    """Choose the documents of RUNs to judge: one `topic doc` a line, by doc id.

    The default is the pool of the first --depth documents of every contributing run. Strategies with a
    budget begin with the documents that promise most. Orders that follow the judgments tell assessors
    where a document came from: hand them out by doc id, as printed, or in shuffled --batches.

    \b
    sounding pool runs/ --info info.tsv --depth 50 > to-judge.txt
    sounding pool runs/ --info info.tsv --summary
    sounding pool runs/ --strategy move-to-front --qrels so-far.txt --batches 20 -o next.csv
    sounding pool runs/ --strategy stratified-sample --strata 10:1,100:0.1 --seed 7 > to-judge.txt
    sounding pool runs/ --depth 50 -o to-fill-in.qrels
    sounding pool runs/ --qrels qrels.txt --simulate --strategy depth,rank,mtf
    """  # noqa: D301 - click wants the control character
    from sounding.pool.flow import run  # NumPy and the engine, which --help does without

    run(options)
