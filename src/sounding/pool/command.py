"""`sounding pool`: its options."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from sounding.terminal import declare

LINES = "lines"  # topic doc
QRELS = "qrels"  # topic 0 doc grade


@dataclass(frozen=True, kw_only=True)
class PoolingOptions(declare.RankingOptions, declare.FileOptions):
    """What `sounding pool` is asked for."""

    runs: tuple[str, ...]
    info: str | None
    depth: int
    per_group: int | None
    strategy: str | None
    budget: int | None
    batches: int | None
    rate: float | None
    strata: str | None
    p: float | None
    level: float | None
    seed: int
    qrels: str | None
    pool_depth: int | None
    simulate: bool
    summary: bool
    chart: Path | None
    residual: float | None
    seconds: float


class PoolCommand(click.Command):
    """A command whose help names every strategy."""

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the strategies that are known."""
        from sounding.selection.strategies import STRATEGIES  # NumPy, which the command itself does without

        with formatter.section("Strategies"):
            formatter.write_dl([(kind.name, kind.title) for kind in STRATEGIES.values()])


@click.command("pool", cls=PoolCommand, short_help="What to judge.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@declare.text("--info", "Groups and pooled runs: run group kind priority pooled.", metavar="FILE")
@declare.count("--depth", "Documents of a run.", default=100)
@declare.count("--per-group", "Runs of a group, by priority.", metavar="N")
@declare.text(
    "--strategy",
    "How documents are chosen; listed below. With --simulate several: S,S.  [default: depth; rank with"
    " --budget or --batches]",
    metavar="S",
)
@declare.count("--budget", "List the N next documents to judge.", metavar="N")
@declare.count("--batches", "The next N of each topic, shuffled.", metavar="N")
@declare.number("--rate", "Share of the pool that a sample draws.", metavar="R")
@declare.text("--strata", "Strata of a sample: last pool rank and rate of each.", metavar="K:R,...")
@declare.number("-p p", "Persistence of RBP, for weights and residuals.  [default: 0.8]")
@declare.number("-l --level", "Lowest relevant grade.  [default: 1]", metavar="G")
@declare.seed()
@declare.text("--qrels", "What has been judged already.", metavar="FILE")
@declare.count("--pool-depth", "Of --qrels, only what a pool of this depth would have had.", metavar="D")
@declare.flag("--simulate", "Replay the judging of --qrels, document by document.")
@declare.flag("--summary", "What the pool costs and covers, instead of the pool.")
@declare.chart("Draw what --summary or --simulate shows")
@declare.number("--residual", "The depth for a mean RBP residual of X.", metavar="X")
@declare.seconds
@declare.ranking
@declare.formats
@declare.workers
@declare.output_options(LINES, QRELS, "tsv", otherwise="lines of topic and doc, or a table")
@declare.taking(PoolingOptions)
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
